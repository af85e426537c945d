/* Extraction of what some values need, copies of modules, and verification; every live count back at zero, every
 * allocation failing in turn. */
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void assert_ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

static bool in_list(const ir_value *v, void *user) {
    for (ir_value **list = user; *list; list++)
        if (*list == v) return true;
    return false;
}

static char *text_of(const ir_module *m) {
    str s = STR_INIT;
    assert_ok(ir_print(m, 0, &s));
    return s.data;
}

typedef struct fixture {
    ir_module *m;
    ir_func *f;
    ir_builder b;
    ir_value *x, *y;
} fixture;

static fixture start(void) {
    fixture t = {.m = ir_module_new()};
    t.f = ir_func_new(t.m, "main", true);
    t.x = ir_func_arg(t.f, ir_tensor(XT_F32, 2, (int64_t[]){2, 3}));
    t.y = ir_func_arg(t.f, ir_tensor(XT_F32, 2, (int64_t[]){2, 3}));
    t.b = ir_at_end(t.m, ir_func_block(t.f));
    return t;
}

static void extract_copies_only_what_is_needed(void **state) {
    (void)state;
    fixture t = start();
    ir_value *unused = ir_multiply(&t.b, t.x, t.x);
    ir_value *sum = ir_add(&t.b, t.y, t.x), *e = ir_exponential(&t.b, sum),
             *r = ir_reduce(&t.b, OP_add, e, 1, (int64_t[]){1});
    assert_ok(t.b.status);
    assert_non_null(unused);
    ir_module *copy;
    ir_value **leaves;
    size_t n;
    assert_ok(
        ir_extract(2, (ir_value *[]){r, sum}, "step", in_list, (ir_value *[]){t.x, t.y, NULL}, &copy, &leaves, &n));
    assert_ok(ir_verify(copy));
    assert_int_equal(n, 2);
    assert_ptr_equal(leaves[0], t.y); /* the first use is add's first operand */
    assert_ptr_equal(leaves[1], t.x);
    char *text = text_of(copy);
    assert_null(strstr(text, "multiply"));
    assert_non_null(strstr(text, "module @step"));
    assert_non_null(strstr(text, "-> (tensor<2xf32>, tensor<2x3xf32>)"));
    base_free(text);
    ir_module_free(copy);
    ir_module_free(t.m);
}

static void extract_stops_at_leaves_and_serves_roots_that_are_leaves(void **state) {
    (void)state;
    fixture t = start();
    ir_value *sum = ir_add(&t.b, t.x, t.y), *e = ir_exponential(&t.b, sum);
    ir_module *copy;
    ir_value **leaves;
    size_t n;
    assert_ok(ir_extract(2, (ir_value *[]){e, sum}, NULL, in_list, (ir_value *[]){sum, NULL}, &copy, &leaves, &n));
    assert_ok(ir_verify(copy));
    assert_int_equal(n, 1);
    assert_int_equal(copy->funcs->body->n_args, 1);
    assert_int_equal(copy->funcs->body->first->code, OP_exponential);
    ir_module_free(copy);
    ir_module_free(t.m);
}

static void extract_refuses_an_argument_that_is_no_leaf(void **state) {
    (void)state;
    fixture t = start();
    ir_value *sum = ir_add(&t.b, t.x, t.y), *none[] = {NULL};
    ir_module *copy;
    ir_value **leaves;
    size_t n;
    xt_status s = ir_extract(1, &sum, NULL, in_list, none, &copy, &leaves, &n);
    assert_int_equal(xt_status_code(s), XT_INTERNAL);
    assert_null(copy);
    xt_status_free(s);
    ir_module_free(t.m);
}

static void equal_graphs_recorded_in_another_order_give_equal_programs(void **state) {
    (void)state;
    char *texts[2];
    for (int order = 0; order < 2; order++) {
        fixture t = start();
        ir_value *a = order ? NULL : ir_sine(&t.b, t.x), *c = ir_cosine(&t.b, t.y);
        if (order) a = ir_sine(&t.b, t.x);
        ir_value *r = ir_subtract(&t.b, a, c), **leaves;
        ir_module *copy;
        size_t n;
        assert_ok(ir_extract(1, &r, NULL, in_list, (ir_value *[]){t.x, t.y, NULL}, &copy, &leaves, &n));
        texts[order] = text_of(copy);
        ir_module_free(copy);
        ir_module_free(t.m);
    }
    assert_string_equal(texts[0], texts[1]);
    base_free(texts[0]);
    base_free(texts[1]);
}

static void extract_survives_a_chain_of_100000_ops(void **state) {
    (void)state;
    fixture t = start();
    ir_value *v = t.x, **leaves;
    for (int i = 0; i < 100000; i++) v = ir_negate(&t.b, v);
    ir_module *copy;
    size_t n, ops = 0;
    assert_ok(ir_extract(1, &v, NULL, in_list, (ir_value *[]){t.x, NULL}, &copy, &leaves, &n));
    for (ir_op *op = copy->funcs->body->first; op; op = op->next) ops++;
    assert_int_equal(ops, 100001);
    assert_ok(ir_verify(copy));
    ir_module_free(copy);
    ir_module_free(t.m);
}

/* A branch that reads a value from outside: it is needed although no operand names it. */
static ir_value *branchy(fixture *t, ir_value *captured) {
    ir_value *pred = ir_splat(&t->b, ir_scalar(XT_BOOL), 0);
    ir_block *blocks[2];
    for (int i = 0; i < 2; i++) {
        blocks[i] = ir_block_new(t->m);
        ir_builder in = ir_at_end(t->m, blocks[i]);
        ir_value *v = i ? ir_negate(&in, captured) : ir_abs(&in, captured);
        ir_return(&in, 1, &v);
        assert_ok(in.status);
    }
    ir_op *op = ir_build(&t->b, OP_if, 1, &pred, 0, NULL, 2, blocks, 0, NULL);
    assert_ok(t->b.status);
    return &op->out[0];
}

static void extract_follows_what_regions_capture(void **state) {
    (void)state;
    fixture t = start();
    ir_value *r = branchy(&t, ir_tanh(&t.b, t.y)), **leaves;
    ir_module *copy;
    size_t n;
    assert_ok(ir_extract(1, &r, NULL, in_list, (ir_value *[]){t.y, NULL}, &copy, &leaves, &n));
    assert_ok(ir_verify(copy));
    assert_int_equal(n, 1);
    ir_module_free(copy);
    ir_module_free(t.m);
}

static fixture complete(void) {
    fixture t = start();
    ir_value *r = branchy(&t, ir_add(&t.b, t.x, ir_constant(&t.b, t.x->type, (float[]){1, 2, 3, 4, 5, 6})));
    ir_return(&t.b, 1, &r);
    assert_ok(t.b.status);
    assert_true(ir_func_set_arg_attr(t.f, 1, ir_attr_named_int("tf.aliasing_output", XT_I32, 0)));
    assert_true(ir_func_set_result_attr(t.f, 0, ir_attr_named_string(t.m, "jax.result_info", "r")));
    assert_true(ir_module_set_attr(t.m, ir_attr_named_int("mhlo.num_replicas", XT_I32, 1)));
    ir_func *g = ir_func_new(t.m, "helper", false);
    ir_value *a = ir_func_arg(g, ir_scalar(XT_I32));
    ir_builder b = ir_at_end(t.m, ir_func_block(g));
    ir_return(&b, 1, &a);
    return t;
}

static void module_clone_is_equal_and_independent(void **state) {
    (void)state;
    fixture t = complete();
    ir_module *copy;
    assert_ok(ir_verify(t.m));
    char *before = text_of(t.m);
    assert_ok(ir_module_clone(t.m, &copy));
    ir_module_free(t.m);
    assert_ok(ir_verify(copy));
    char *after = text_of(copy);
    assert_string_equal(before, after);
    assert_non_null(strstr(after, "tf.aliasing_output"));
    base_free(before);
    base_free(after);
    ir_module_free(copy);
}

static void each_failing_allocation_is_a_status_and_no_leak(void **state) {
    (void)state;
    fixture t = complete();
    ir_value *root = t.f->body->last->in[0], **leaves;
    int64_t live = live_get(LIVE_graph), live_status = live_get(LIVE_status);
    for (int what = 0; what < 3; what++) {
        bool failed = true;
        for (int64_t i = 0; failed; i++) {
            assert_true(i < 1000);
            ir_module *copy = NULL;
            size_t n;
            base_fail_alloc_after(i);
            xt_status s = what == 0 ? ir_module_clone(t.m, &copy)
                          : what == 1
                              ? ir_extract(1, &root, "x", in_list, (ir_value *[]){t.x, t.y, NULL}, &copy, &leaves, &n)
                              : ir_verify(t.m);
            base_fail_alloc_after(-1);
            failed = s;
            if (s) assert_null(copy);
            xt_status_free(s);
            ir_module_free(copy);
        }
    }
    assert_int_equal(live_get(LIVE_graph), live);
    assert_int_equal(live_get(LIVE_status), live_status);
    ir_module_free(t.m);
}

/* --- Verification --- */
static void refuses(ir_module *m, const char *part) {
    xt_status s = ir_verify(m);
    if (!s) fail_msg("verified, expected: %s", part);
    if (!strstr(xt_status_message(s), part)) fail_msg("'%s' lacks '%s'", xt_status_message(s), part);
    xt_status_free(s);
    ir_module_free(m);
}

static void verify_wants_a_terminator(void **state) {
    (void)state;
    fixture t = start();
    refuses(t.m, "empty block");
    t = start();
    ir_add(&t.b, t.x, t.y);
    refuses(t.m, "must end in a return");
    t = start();
    ir_return(&t.b, 1, &t.x);
    ir_add(&t.b, t.x, t.y);
    refuses(t.m, "ops follow a return");
    t = start();
    ir_build(&t.b, OP_return, 1, &t.x, 0, NULL, 0, NULL, 0, NULL);
    refuses(t.m, "must end in func.return");
}

static void verify_wants_definitions_before_uses(void **state) {
    (void)state;
    fixture t = start();
    ir_value *a = ir_negate(&t.b, t.x), *c = ir_negate(&t.b, t.y);
    ir_set_operand(a->def, 0, c);
    ir_return(&t.b, 1, &a);
    refuses(t.m, "before it is defined");

    t = start(); /* a value of one branch, read outside of it */
    ir_value *r = branchy(&t, t.x);
    ir_value *inner = &r->def->regions[0].block->first->out[0];
    ir_return(&t.b, 1, &inner);
    refuses(t.m, "out of its scope");
}

static void verify_infers_again(void **state) {
    (void)state;
    fixture t = start();
    ir_value *r = ir_reduce(&t.b, OP_add, t.x, 1, (int64_t[]){1});
    ir_return(&t.b, 1, &r);
    r->type = ir_tensor(XT_F32, 1, (int64_t[]){7});
    t.f->result_types[0] = r->type;
    refuses(t.m, "stated differently");
}

static void verify_recounts_uses(void **state) {
    (void)state;
    fixture t = start();
    ir_return(&t.b, 1, &t.x);
    t.y->uses = 3;
    refuses(t.m, "argument 1 has 0 uses, 3 are counted");
}

static ir_op *call(ir_builder *b, const char *name, ir_value *x) {
    ir_attr callee = ir_attr_string(b, IR_A_callee, name);
    return ir_build(b, OP_call, 1, &x, 1, &callee, 0, NULL, 1, (const ir_type *[]){x->type});
}

static void verify_checks_calls(void **state) {
    (void)state;
    fixture t = start();
    ir_op *op = call(&t.b, "nobody", t.x);
    ir_return(&t.b, 1, (ir_value *[]){&op->out[0]});
    refuses(t.m, "no function is called 'nobody'");

    t = start(); /* main calls g, g calls main */
    op = call(&t.b, "g", t.x);
    ir_return(&t.b, 1, (ir_value *[]){&op->out[0]});
    ir_func *g = ir_func_new(t.m, "g", false);
    ir_value *a = ir_func_arg(g, t.x->type);
    ir_builder b = ir_at_end(t.m, ir_func_block(g));
    op = call(&b, "g", a);
    assert_ok(b.status);
    ir_return(&b, 1, (ir_value *[]){&op->out[0]});
    refuses(t.m, "may not call themselves");

    t = start();
    ir_return(&t.b, 1, &t.x);
    ir_func_new(t.m, "main", false);
    refuses(t.m, "two functions are called 'main'");
}

/* 60 functions, each calling the next twice: 2^60 paths, but each function is looked at once. */
static void verify_is_linear_in_calls(void **state) {
    (void)state;
    ir_module *m = ir_module_new();
    for (int i = 0; i < 60; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        ir_func *f = ir_func_new(m, name, i == 0);
        ir_value *x = ir_func_arg(f, ir_scalar(XT_F32));
        ir_builder b = ir_at_end(m, ir_func_block(f));
        for (int k = 0; k < 2 && i < 59; k++) x = &call(&b, next, x)->out[0];
        ir_return(&b, 1, &x);
        assert_ok(b.status);
    }
    assert_ok(ir_verify(m));
    ir_module_free(m);
}

static int all_graphs_are_gone(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extract_copies_only_what_is_needed),
        cmocka_unit_test(extract_stops_at_leaves_and_serves_roots_that_are_leaves),
        cmocka_unit_test(extract_refuses_an_argument_that_is_no_leaf),
        cmocka_unit_test(equal_graphs_recorded_in_another_order_give_equal_programs),
        cmocka_unit_test(extract_survives_a_chain_of_100000_ops),
        cmocka_unit_test(extract_follows_what_regions_capture),
        cmocka_unit_test(module_clone_is_equal_and_independent),
        cmocka_unit_test(each_failing_allocation_is_a_status_and_no_leak),
        cmocka_unit_test(verify_wants_a_terminator),
        cmocka_unit_test(verify_wants_definitions_before_uses),
        cmocka_unit_test(verify_infers_again),
        cmocka_unit_test(verify_recounts_uses),
        cmocka_unit_test(verify_checks_calls),
        cmocka_unit_test(verify_is_linear_in_calls),
    };
    return cmocka_run_group_tests(tests, NULL, all_graphs_are_gone);
}
