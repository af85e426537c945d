/* The reverse walk and the choices of the rules that differences cannot show: ties and kinks, refusals, who is named,
 * what is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "grad/grad.h"
#include "ir/interp.h"

static void ok(xt_status s) {
    if (s) print_error("%s\n", xt_status_message(s));
    assert_null(s);
}
static bool always(const ir_value *v, void *user) {
    (void)v, (void)user;
    return true;
}

/* --- the table --- */
static void test_every_op_is_answered(void **state) {
    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        const grad_rule *r = &grad_rules[i];
        if (!r->why || !r->why[0]) fail_msg("%s has neither formula nor reason", ir_op_infos[i].name);
        if (r->fn && r->zero) fail_msg("%s has a rule and says zero", ir_op_infos[i].name);
    }
}

/* --- values --- */
/* Gradients of sum(f(x, y)) at given points, through the interpreter. */
typedef struct program {
    ir_module *m;
    ir_func *f;
    ir_builder b;
    ir_value *x[2];
    size_t n;
} program;

static program begin(size_t n, size_t rank, const int64_t *dims) {
    program p = {.m = ir_module_new(), .n = n};
    p.f = ir_func_new(p.m, "main", true);
    p.b = ir_at_end(p.m, ir_func_block(p.f));
    for (size_t i = 0; i < n; i++) p.x[i] = ir_func_arg(p.f, ir_tensor(XT_F64, rank, dims));
    return p;
}

static void expect_gradients(program *p, ir_value *root, const double *const *at, const double *const *want) {
    ir_value *g[2] = {0};
    ok(p->b.status);
    ok(grad_reverse(&p->b, root, NULL, p->n, p->x, always, NULL, g));
    for (size_t i = 0; i < p->n; i++)
        if (!g[i]) g[i] = ir_splat(&p->b, p->x[i]->type, 0);
    ir_return(&p->b, p->n, g);
    ok(p->b.status);
    ok(ir_verify(p->m));
    array in[2], out[2] = {0};
    for (size_t i = 0; i < p->n; i++) in[i] = (array){p->x[i]->type, (void *)at[i]};
    ok(interp_run(p->m, "main", NULL, p->n, in, p->n, out));
    for (size_t i = 0; i < p->n; i++) {
        for (int64_t k = 0; k < p->x[i]->type->count; k++)
            if (array_get(&out[i], k) != want[i][k])
                fail_msg("input %zu element %lld: %g, expected %g", i, (long long)k, array_get(&out[i], k), want[i][k]);
        array_free(&out[i]);
    }
    ir_module_free(p->m);
}
#define AT(...) ((const double[]){__VA_ARGS__})

static void test_relu_is_flat_at_zero(void **state) {
    (void)state;
    program p = begin(1, 1, (int64_t[]){3});
    ir_value *y = ir_maximum(&p.b, p.x[0], ir_splat(&p.b, p.x[0]->type, 0));
    expect_gradients(&p, y, (const double *[]){AT(-1, 0, 2)}, (const double *[]){AT(0, 0, 1)});
    p = begin(1, 1, (int64_t[]){3}); /* the constant on the left */
    y = ir_maximum(&p.b, ir_splat(&p.b, p.x[0]->type, 0), p.x[0]);
    expect_gradients(&p, y, (const double *[]){AT(-1, 0, 2)}, (const double *[]){AT(0, 0, 1)});
    p = begin(1, 1, (int64_t[]){3}); /* a number that is broadcast is an operand as others */
    y = ir_maximum(&p.b, ir_broadcast_scalar(&p.b, ir_splat(&p.b, ir_scalar(XT_F64), 0), p.x[0]->type), p.x[0]);
    expect_gradients(&p, y, (const double *[]){AT(-1, 0, 2)}, (const double *[]){AT(0, .5, 1)});
}

static void test_ties_are_shared(void **state) {
    (void)state;
    program p = begin(2, 1, (int64_t[]){3});
    expect_gradients(&p, ir_maximum(&p.b, p.x[0], p.x[1]), (const double *[]){AT(1, 2, 3), AT(3, 2, 1)},
                     (const double *[]){AT(0, .5, 1), AT(1, .5, 0)});
    p = begin(2, 1, (int64_t[]){3});
    expect_gradients(&p, ir_minimum(&p.b, p.x[0], p.x[1]), (const double *[]){AT(1, 2, 3), AT(3, 2, 1)},
                     (const double *[]){AT(1, .5, 0), AT(0, .5, 1)});
    p = begin(1, 2, (int64_t[]){2, 4});
    expect_gradients(&p, ir_reduce(&p.b, OP_maximum, p.x[0], 1, (int64_t[]){1}),
                     (const double *[]){AT(5, 1, 5, 2, 0, 0, 0, 0)},
                     (const double *[]){AT(.5, 0, .5, 0, .25, .25, .25, .25)});
}

static void test_max_pooling_takes_the_first_of_equals(void **state) {
    (void)state;
    program p = begin(1, 1, (int64_t[]){4});
    ir_value *y = ir_reduce_window(&p.b, OP_maximum, p.x[0], (int64_t[]){2}, (int64_t[]){2}, NULL, NULL, NULL, NULL);
    expect_gradients(&p, y, (const double *[]){AT(7, 7, 1, 3)}, (const double *[]){AT(1, 0, 0, 1)});
    p = begin(1, 1, (int64_t[]){4}); /* dilated: elements 0,2 and 1,3 */
    y = ir_reduce_window(&p.b, OP_maximum, p.x[0], (int64_t[]){2}, (int64_t[]){1}, NULL, NULL, NULL, (int64_t[]){2});
    expect_gradients(&p, y, (const double *[]){AT(7, 1, 7, 3)}, (const double *[]){AT(1, 0, 0, 1)});
}

static void test_kinks(void **state) {
    (void)state;
    program p = begin(1, 1, (int64_t[]){3});
    expect_gradients(&p, ir_abs(&p.b, p.x[0]), (const double *[]){AT(-2, 0, 2)}, (const double *[]){AT(-1, 0, 1)});
    p = begin(1, 1, (int64_t[]){5}); /* clamp passes on its bounds */
    ir_value *lo = ir_splat(&p.b, ir_scalar(XT_F64), -1), *hi = ir_splat(&p.b, ir_scalar(XT_F64), 1);
    expect_gradients(&p, ir_clamp(&p.b, lo, p.x[0], hi), (const double *[]){AT(-2, -1, 0, 1, 2)},
                     (const double *[]){AT(0, 1, 1, 1, 0)});
    p = begin(2, 1, (int64_t[]){2}); /* 0^0 and 0^2 by both operands: zero, not NaN */
    expect_gradients(&p, ir_power(&p.b, p.x[0], p.x[1]), (const double *[]){AT(0, 0), AT(0, 2)},
                     (const double *[]){AT(0, 0), AT(0, 0)});
}

/* --- the walk --- */
static void test_depth_costs_no_stack(void **state) {
    (void)state;
    program p = begin(1, 0, NULL);
    ir_value *v = p.x[0];
    for (int i = 0; i < 40000; i++) v = ir_negate(&p.b, v);
    ir_value *g = NULL;
    ok(grad_reverse(&p.b, v, NULL, 1, p.x, always, NULL, &g));
    assert_non_null(g);
    ir_module_free(p.m);
}

static void test_leaves_inside_and_outside(void **state) {
    (void)state;
    program p = begin(2, 0, NULL);
    ir_value *mid = ir_sine(&p.b, p.x[0]), *root = ir_multiply(&p.b, mid, mid), *g[3];
    ir_value *leaves[3] = {mid, p.x[1], root};
    ok(grad_reverse(&p.b, root, NULL, 3, leaves, always, NULL, g));
    assert_non_null(g[0]);
    assert_null(g[1]); /* root does not depend on it */
    assert_non_null(g[2]);
    assert_int_equal(g[2]->def->code, OP_constant); /* the seed */
    ir_module_free(p.m);
}

static bool only(const ir_value *v, void *user) {
    return v->user || v == user;
}

static void test_refusal_names_op_and_line_and_flows_are_cut(void **state) {
    (void)state;
    static const xt_src here = {"model.c", 41, "forward"};
    program p = begin(1, 2, (int64_t[]){2, 2});
    p.b.src = src_intern(&here);
    ir_attr target = ir_attr_string(&p.b, IR_A_call_target_name, "somewhere.else");
    ir_op *call = ir_build(&p.b, OP_custom_call, 1, p.x, 1, &target, 0, NULL, 1, &p.x[0]->type);
    ok(p.b.status);
    ir_value *root = ir_add(&p.b, &call->out[0], p.x[0]), *g = NULL;
    xt_status s = grad_reverse(&p.b, root, NULL, 1, p.x, always, NULL, &g);
    assert_int_equal(xt_status_code(s), XT_UNIMPLEMENTED);
    assert_non_null(strstr(xt_status_message(s), "model.c:41"));
    assert_non_null(strstr(xt_status_message(s), "stablehlo.custom_call"));
    xt_status_free(s);
    /* Nothing that wants a gradient lies behind the op: the same program passes. */
    root->user = 1;
    ok(grad_reverse(&p.b, root, NULL, 1, &root, only, NULL, &g));
    ir_module_free(p.m);
}

static void test_rules_are_filed_under_the_forward_op(void **state) {
    (void)state;
    static const xt_src at_tanh = {"model.c", 7, "f"}, at_exp = {"model.c", 8, "f"}, at_loss = {"model.c", 9, "f"};
    program p = begin(1, 0, NULL);
    p.b.src = src_intern(&at_tanh);
    p.b.path = intern("h.0.attn");
    ir_value *t = ir_tanh(&p.b, p.x[0]);
    p.b.src = src_intern(&at_exp);
    p.b.path = 0;
    ir_value *root = ir_exponential(&p.b, t), *g;
    p.b.src = src_intern(&at_loss);
    ir_op *last = p.b.block->last;
    ok(grad_reverse(&p.b, root, NULL, 1, p.x, always, NULL, &g));
    assert_int_equal(p.b.src, src_intern(&at_loss));
    assert_int_equal(p.b.path, 0);
    bool tanh_seen = false;
    for (ir_op *op = last->next; op; op = op->next) {
        if (op->src == src_intern(&at_tanh)) {
            tanh_seen = true;
            assert_int_equal(op->path, intern("h.0.attn"));
        } else
            assert_true(op->src == src_intern(&at_exp) || op->src == src_intern(&at_loss)); /* at_loss: the seed */
    }
    assert_true(tanh_seen);
    ir_module_free(p.m);
}

static void test_types_and_seeds_are_checked(void **state) {
    (void)state;
    program p = begin(1, 1, (int64_t[]){2});
    ir_value *g, *ints = ir_convert(&p.b, p.x[0], XT_I32);
    xt_status s = grad_reverse(&p.b, ints, NULL, 1, p.x, always, NULL, &g);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    xt_status_free(s);
    ir_value *root = ir_negate(&p.b, p.x[0]);
    s = grad_reverse(&p.b, root, ir_splat(&p.b, ir_scalar(XT_F64), 1), 1, p.x, always, NULL, &g);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    xt_status_free(s);
    /* Nothing flows through an integer. */
    root = ir_convert(&p.b, ints, XT_F64);
    ok(grad_reverse(&p.b, root, NULL, 1, p.x, always, NULL, &g));
    assert_null(g);
    ir_module_free(p.m);
}

/* A walk inside a walk (batch_norm_grad's rule) must leave the outer one's marks as they were, and so must
 * the outer one. */
static void test_marks_are_put_back(void **state) {
    (void)state;
    program p = begin(2, 1, (int64_t[]){2});
    ir_value *x = ir_broadcast_in_dim(&p.b, p.x[0], ir_tensor(XT_F64, 2, (int64_t[]){3, 2}), 1, (int64_t[]){1}),
             *out[3];
    assert_true(ir_batch_norm_grad(&p.b, x, p.x[0], p.x[0], p.x[1], ir_sine(&p.b, x), 1e-3f, 1, out));
    uint64_t mark = 1000;
    p.x[0]->mark = ++mark;
    p.x[1]->mark = ++mark;
    for (ir_op *op = p.b.block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = ++mark;
    const ir_op *last = p.b.block->last;
    ir_value *g[2];
    ok(grad_reverse(&p.b, out[0], NULL, 2, p.x, always, NULL, g));
    assert_non_null(g[0]);
    assert_non_null(g[1]);
    mark = 1000;
    assert_int_equal(p.x[0]->mark, ++mark);
    assert_int_equal(p.x[1]->mark, ++mark);
    for (ir_op *op = p.b.block->first; op != last->next; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) assert_int_equal(op->out[i].mark, ++mark);
    ir_module_free(p.m);
}

static void text_of(str *out) {
    program p = begin(2, 1, (int64_t[]){4});
    ir_value *a = ir_multiply(&p.b, p.x[0], p.x[1]), *root = a, *g[2];
    for (int i = 0; i < 5; i++) root = ir_add(&p.b, ir_multiply(&p.b, root, a), i % 2 ? p.x[0] : p.x[1]);
    ok(grad_reverse(&p.b, root, NULL, 2, p.x, always, NULL, g));
    ir_return(&p.b, 2, g);
    ok(p.b.status);
    ok(ir_print(p.m, 0, out));
    ir_module_free(p.m);
}

static void test_fan_in_is_deterministic(void **state) {
    (void)state;
    str first = STR_INIT, second = STR_INIT;
    text_of(&first);
    void *shift_the_heap = base_malloc(12345);
    text_of(&second);
    base_free(shift_the_heap);
    assert_string_equal(str_cstr(&first), str_cstr(&second));
    str_free(&first);
    str_free(&second);
}

/* Whatever allocation fails, the answer is a status or all gradients. */
static void test_without_memory_there_is_a_status(void **state) {
    (void)state;
    int refused = 0;
    for (int64_t n = 0; n < 40; n++) {
        program p = begin(2, 2, (int64_t[]){4, 6});
        ir_builder *b = &p.b;
        ir_value *out[3], *g[2] = {0};
        assert_true(ir_sort(b, 2, p.x, 1, false, true, out));
        ir_value *v = ir_reduce_window(b, OP_maximum, ir_multiply(b, out[0], out[1]), (int64_t[]){2, 2},
                                       (int64_t[]){2, 2}, NULL, NULL, NULL, NULL);
        v = ir_add(b, ir_reduce(b, OP_multiply, v, 1, (int64_t[]){0}), ir_reduce(b, OP_maximum, v, 1, (int64_t[]){0}));
        assert_non_null(v);
        /* Deep enough that tables and arenas have to grow. */
        for (int i = 0; i < 300; i++) v = ir_tanh(b, v);
        base_fail_alloc_after(n);
        xt_status s = grad_reverse(b, v, NULL, 2, p.x, always, NULL, g);
        base_fail_alloc_after(-1);
        refused += s != NULL;
        if (!s) assert_true(g[0] && g[1]);
        xt_status_free(s);
        ir_module_free(p.m);
    }
    assert_true(refused > 3);
}

/* Compilers look for these two forms. */
static void test_convolution_gradients_have_jax_forms(void **state) {
    (void)state;
    ir_module *m = ir_module_new();
    ir_func *f = ir_func_new(m, "main", true);
    ir_value *x[2] = {ir_func_arg(f, ir_tensor(XT_F32, 4, (int64_t[]){2, 3, 11, 11})),
                      ir_func_arg(f, ir_tensor(XT_F32, 4, (int64_t[]){4, 3, 3, 3}))},
             *g[2];
    ir_builder b = ir_at_end(m, ir_func_block(f));
    static const int64_t spatial[2] = {2, 3};
    ir_conv_dims d = {.lhs_feature = 1,
                      .rhs_in = 1,
                      .out_feature = 1,
                      .lhs_spatial = spatial,
                      .rhs_spatial = spatial,
                      .out_spatial = spatial,
                      .n_spatial = 2};
    ir_value *y = ir_convolution(&b, x[0], x[1], &d, IR_PREC_DEFAULT);
    ok(grad_reverse(&b, y, NULL, 2, x, always, NULL, g));
    ir_return(&b, 2, g);
    ok(b.status);
    str text = STR_INIT;
    ok(ir_print(m, 0, &text));
    assert_non_null(strstr(str_cstr(&text), "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]"));
    assert_non_null(strstr(
        str_cstr(&text), "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]]"));
    str_free(&text);
    ir_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_is_answered),
        cmocka_unit_test(test_relu_is_flat_at_zero),
        cmocka_unit_test(test_ties_are_shared),
        cmocka_unit_test(test_max_pooling_takes_the_first_of_equals),
        cmocka_unit_test(test_kinks),
        cmocka_unit_test(test_depth_costs_no_stack),
        cmocka_unit_test(test_leaves_inside_and_outside),
        cmocka_unit_test(test_refusal_names_op_and_line_and_flows_are_cut),
        cmocka_unit_test(test_rules_are_filed_under_the_forward_op),
        cmocka_unit_test(test_types_and_seeds_are_checked),
        cmocka_unit_test(test_marks_are_put_back),
        cmocka_unit_test(test_fan_in_is_deterministic),
        cmocka_unit_test(test_without_memory_there_is_a_status),
        cmocka_unit_test(test_convolution_gradients_have_jax_forms),
    };
    return cmocka_run_group_tests_name("grad_reverse", tests, NULL, NULL);
}
