/* Typed builders: the type of each result, the regions they make (checked by running them), failure at each allocation,
 * lists of uses, and that types are one object for all threads. */
#include "ir/interp.h"

#include <pthread.h>
#include <stdlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct fixture {
    ir_module *m;
    ir_func *f;
    ir_builder b;
} fixture;

static fixture start(void) {
    fixture t = {.m = ir_module_new()};
    t.f = ir_func_new(t.m, "main", true);
    t.b = ir_at_end(t.m, ir_func_block(t.f));
    return t;
}

static const ir_type *type_of(const char *text) {
    int64_t dims[8];
    size_t rank = 0;
    xt_dtype t;
    for (const char *x; (x = strchr(text, 'x')) && *text >= '0' && *text <= '9'; text = x + 1)
        dims[rank++] = strtoll(text, NULL, 10);
    assert_true(ir_dtype_from_mlir(text, strlen(text), &t));
    return ir_tensor(t, rank, dims);
}

static ir_value *arg(fixture *t, const char *type) {
    return ir_func_arg(t->f, type_of(type));
}

static void has_type(fixture *t, const ir_value *v, const char *type) {
    if (!v) fail_msg("no value: %s", xt_status_message(t->b.status));
    assert_ptr_equal(v->type, type_of(type));
}

#define DIMS(...) ((int64_t[]){__VA_ARGS__})

static void build_everything(fixture *t, bool check) {
    ir_builder *b = &t->b;
    ir_value *x = arg(t, "2x3xf32"), *y = arg(t, "2x3xf32"), *i = arg(t, "2x3xi32"), *s = arg(t, "f32"),
             *k = arg(t, "i32");
    ir_value *img = arg(t, "2x4x8x8xf32"), *w = arg(t, "6x4x3x3xf32"), *c4 = arg(t, "4xf32"), *idx = arg(t, "5x1xi32"),
             *out[3];
    if (!idx) return;
    struct {
        ir_value *v;
        const char *type;
    } rows[] = {
        {ir_add(b, x, y), "2x3xf32"},
        {ir_and(b, i, i), "2x3xi32"},
        {ir_exponential(b, x), "2x3xf32"},
        {ir_is_finite(b, x), "2x3xi1"},
        {ir_complex(b, x, y), "2x3xcomplex<f32>"},
        {ir_abs(b, ir_complex(b, x, y)), "2x3xf32"},
        {ir_compare(b, IR_LT, x, y), "2x3xi1"},
        {ir_compare(b, IR_EQ, i, i), "2x3xi1"},
        {ir_select(b, ir_compare(b, IR_LT, x, y), x, y), "2x3xf32"},
        {ir_clamp(b, s, x, s), "2x3xf32"},
        {ir_convert(b, x, XT_BF16), "2x3xbf16"},
        {ir_reshape(b, x, 1, DIMS(6)), "6xf32"},
        {ir_broadcast_in_dim(b, c4, type_of("2x4x8x8xf32"), 1, DIMS(1)), "2x4x8x8xf32"},
        {ir_broadcast_scalar(b, s, type_of("7xf32")), "7xf32"},
        {ir_transpose(b, x, 2, DIMS(1, 0)), "3x2xf32"},
        {ir_slice(b, x, DIMS(0, 1), DIMS(2, 3), NULL), "2x2xf32"},
        {ir_slice(b, x, DIMS(0, 0), DIMS(2, 3), DIMS(1, 2)), "2x2xf32"},
        {ir_pad(b, x, s, DIMS(1, 0), NULL, NULL), "3x3xf32"},
        {ir_concatenate(b, 2, (ir_value *[]){x, y}, 0), "4x3xf32"},
        {ir_reverse(b, x, 1, DIMS(0)), "2x3xf32"},
        {ir_iota(b, type_of("2x3xi32"), 1), "2x3xi32"},
        {ir_constant(b, type_of("2xf32"), (float[]){1, 2}), "2xf32"},
        {ir_splat(b, type_of("5xf64"), 3), "5xf64"},
        {ir_reduce(b, OP_add, x, 1, DIMS(1)), "2xf32"},
        {ir_reduce(b, OP_maximum, i, 2, DIMS(0, 1)), "i32"},
        {ir_dot_general(b, x, y, 0, NULL, NULL, 1, DIMS(1), DIMS(1), IR_PREC_HIGHEST), "2x2xf32"},
        {ir_dot_general(b, x, y, 1, DIMS(0), DIMS(0), 1, DIMS(1), DIMS(1), IR_PREC_DEFAULT), "2xf32"},
        {ir_convolution(b, img, w,
                        &(ir_conv_dims){.lhs_feature = 1,
                                        .rhs_in = 1,
                                        .out_feature = 1,
                                        .lhs_spatial = DIMS(2, 3),
                                        .rhs_spatial = DIMS(2, 3),
                                        .out_spatial = DIMS(2, 3),
                                        .n_spatial = 2,
                                        .strides = DIMS(2, 1),
                                        .pad_low = DIMS(1, 1),
                                        .pad_high = DIMS(1, 1)},
                        IR_PREC_HIGHEST),
         "2x6x4x8xf32"},
        {ir_reduce_window(b, OP_maximum, img, DIMS(1, 1, 2, 2), DIMS(1, 1, 2, 2), NULL, NULL, NULL, NULL),
         "2x4x4x4xf32"},
        {ir_select_and_scatter_max(
             b, img, ir_reduce_window(b, OP_maximum, img, DIMS(1, 1, 2, 2), DIMS(1, 1, 2, 2), NULL, NULL, NULL, NULL),
             DIMS(1, 1, 2, 2), DIMS(1, 1, 2, 2), NULL, NULL),
         "2x4x8x8xf32"},
        {ir_gather(b, x, idx,
                   &(ir_gather_dims){.n_offset = 1,
                                     .offset = DIMS(1),
                                     .n_collapsed = 1,
                                     .collapsed = DIMS(0),
                                     .n_index_map = 1,
                                     .index_map = DIMS(0),
                                     .index_vector_dim = 1},
                   DIMS(1, 3), false),
         "5x3xf32"},
        {ir_scatter(b, OP_add, x, idx, arg(t, "5x3xf32"),
                    &(ir_scatter_dims){.n_window = 1,
                                       .window = DIMS(1),
                                       .n_inserted = 1,
                                       .inserted = DIMS(0),
                                       .n_scatter_to_operand = 1,
                                       .scatter_to_operand = DIMS(0),
                                       .index_vector_dim = 1},
                    false, false),
         "2x3xf32"},
        {ir_dynamic_slice(b, x, 2, (ir_value *[]){k, k}, DIMS(1, 2)), "1x2xf32"},
        {ir_dynamic_update_slice(b, x, ir_slice(b, x, DIMS(0, 0), DIMS(1, 1), NULL), 2, (ir_value *[]){k, k}),
         "2x3xf32"},
        {ir_batch_norm_inference(b, img, c4, c4, c4, c4, 1e-5f, 1), "2x4x8x8xf32"},
        {ir_batch_norm_training(b, img, c4, c4, 1e-5f, 1, out) ? out[1] : NULL, "4xf32"},
        {ir_batch_norm_grad(b, img, c4, c4, c4, img, 1e-5f, 1, out) ? out[0] : NULL, "2x4x8x8xf32"},
        {ir_sort(b, 2, (ir_value *[]){x, i}, 1, true, true, out) ? out[1] : NULL, "2x3xi32"},
        {ir_all_reduce(b, OP_add, 2, (ir_value *[]){x, s}, 4, 1, out) ? out[1] : NULL, "f32"},
    };
    for (size_t r = 0; check && r < BASE_COUNT(rows); r++) has_type(t, rows[r].v, rows[r].type);
    ir_return(b, 1, &rows[0].v);
}

static void builders_infer_their_types(void **state) {
    (void)state;
    fixture t = start();
    build_everything(&t, true);
    assert_null(t.b.status);
    xt_status s = ir_verify(t.m);
    if (s) fail_msg("%s", xt_status_message(s));
    ir_module_free(t.m);
}

static void builders_fail_cleanly_at_each_allocation(void **state) {
    (void)state;
    bool failed = true;
    for (int64_t i = 0; failed; i++) {
        assert_true(i < 1000);
        fixture t = start();
        int64_t graphs = live_get(LIVE_graph);
        base_fail_alloc_after(i);
        build_everything(&t, false);
        base_fail_alloc_after(-1);
        failed = t.b.status || t.f->body->n_args < 10;
        if (t.b.status) assert_int_equal(xt_status_code(t.b.status), XT_RESOURCE_EXHAUSTED);
        xt_status_free(t.b.status);
        assert_int_equal(live_get(LIVE_graph), graphs);
        ir_module_free(t.m);
    }
}

/* --- What the made regions and identities mean --- */
static void run(fixture *t, ir_value *result, array *out) {
    ir_return(&t->b, 1, &result);
    if (t->b.status) fail_msg("%s", xt_status_message(t->b.status));
    xt_status s = interp_run(t->m, "main", NULL, 0, NULL, 1, out);
    if (s) fail_msg("%s", xt_status_message(s));
    ir_module_free(t->m);
}

static void reduces_to(ir_opcode code, const char *type, const void *data, double want) {
    fixture t = start();
    array out;
    run(&t, ir_reduce(&t.b, code, ir_constant(&t.b, type_of(type), data), 1, DIMS(0)), &out);
    assert_true(array_get(&out, 0) == want);
    array_free(&out);
}

static void identities_are_neutral(void **state) {
    (void)state;
    reduces_to(OP_add, "3xf32", (float[]){1, 2, 3}, 6);
    reduces_to(OP_multiply, "3xi32", (int32_t[]){2, 3, -4}, -24);
    reduces_to(OP_maximum, "2xf32", (float[]){-5, -7}, -5);
    reduces_to(OP_minimum, "2xf64", (double[]){1e300, 2e300}, 1e300);
    reduces_to(OP_maximum, "2xi8", (int8_t[]){-100, -128}, -100);
    reduces_to(OP_minimum, "2xi8", (int8_t[]){100, 127}, 100);
    reduces_to(OP_minimum, "1xi64", (int64_t[]){INT64_MAX}, (double)INT64_MAX);
    reduces_to(OP_minimum, "2xui16", (uint16_t[]){65535, 65534}, 65534);
    reduces_to(OP_maximum, "1xui16", (uint16_t[]){0}, 0);
    reduces_to(OP_and, "2xi32", (int32_t[]){6, 12}, 4);
    reduces_to(OP_or, "2xui8", (uint8_t[]){1, 8}, 9);
    reduces_to(OP_and, "2xi1", (uint8_t[]){1, 1}, 1);
    reduces_to(OP_or, "2xi1", (uint8_t[]){0, 0}, 0);
    reduces_to(OP_maximum, "2xi1", (uint8_t[]){0, 1}, 1);
    reduces_to(OP_xor, "2xi32", (int32_t[]){5, 6}, 3);
}

static void scatter_replaces_or_combines(void **state) {
    (void)state;
    for (int add = 0; add < 2; add++) {
        fixture t = start();
        ir_value *x = ir_constant(&t.b, type_of("3xf32"), (float[]){1, 2, 3}),
                 *idx = ir_constant(&t.b, type_of("1x1xi32"), (int32_t[]){1});
        ir_value *u = ir_constant(&t.b, type_of("1xf32"), (float[]){10});
        ir_scatter_dims d = {.n_inserted = 1,
                             .inserted = DIMS(0),
                             .n_scatter_to_operand = 1,
                             .scatter_to_operand = DIMS(0),
                             .index_vector_dim = 1};
        array out;
        run(&t, ir_scatter(&t.b, add ? OP_add : OP_COUNT, x, idx, u, &d, false, false), &out);
        assert_true(array_get(&out, 1) == (add ? 12 : 10));
        assert_true(array_get(&out, 2) == 3);
        array_free(&out);
    }
}

static void sort_orders_all_operands_by_the_first(void **state) {
    (void)state;
    fixture t = start();
    ir_value *sorted[2], *in[] = {ir_constant(&t.b, type_of("3xf32"), (float[]){2, __builtin_nanf(""), 1}),
                                  ir_iota(&t.b, type_of("3xi32"), 0)};
    assert_true(ir_sort(&t.b, 2, in, 0, false, true, sorted));
    array out;
    run(&t, sorted[1], &out);
    static const int order[] = {2, 0, 1}; /* NaN last */
    for (int i = 0; i < 3; i++) assert_true(array_get(&out, i) == order[i]);
    array_free(&out);
}

/* --- Changing --- */
static void uses_are_counted(void **state) {
    (void)state;
    fixture t = start();
    ir_value *x = arg(&t, "f32"), *a = ir_negate(&t.b, x), *c = ir_add(&t.b, a, a);
    assert_int_equal(a->uses, 2);
    ir_replace_uses(t.m, a, x);
    assert_int_equal(a->uses, 0);
    assert_int_equal(x->uses, 3);
    ir_erase(a->def);
    assert_int_equal(x->uses, 2);
    ir_builder before = ir_before(t.m, c->def);
    ir_value *s = ir_sine(&before, x);
    ir_set_operand(c->def, 1, s);
    ir_return(&t.b, 1, &c);
    assert_null(ir_verify(t.m));
    assert_ptr_equal(t.f->body->first, s->def);
    assert_int_equal(t.f->n_results, 1);
    ir_module_free(t.m);
}

static void *make_types(void *user) {
    const ir_type **out = user;
    for (int i = 0; i < 2000; i++) out[i] = ir_tensor(i % 2 ? XT_F32 : XT_I64, 3, DIMS(i, 5, i % 7));
    return NULL;
}

static void types_are_one_object_for_all_threads(void **state) {
    (void)state;
    static const ir_type *made[4][2000];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, make_types, made[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++) assert_memory_equal(made[0], made[i], sizeof made[0]);
    for (int i = 0; i < 2000; i++) assert_int_equal(made[0][i]->dims[0], i);
}

static void impossible_types_do_not_exist(void **state) {
    (void)state;
    int64_t many[IR_MAX_RANK + 1];
    for (size_t i = 0; i < BASE_COUNT(many); i++) many[i] = 1;
    assert_null(ir_tensor(XT_F32, 1, DIMS(-1)));
    assert_null(ir_tensor(XT_F32, 3, DIMS(1LL << 31, 1LL << 31, 4)));
    assert_null(ir_tensor(XT_F32, 1, DIMS(INT64_MAX)));
    assert_null(ir_tensor(XT_F32, BASE_COUNT(many), many));
    assert_null(ir_tensor(XT_DTYPE_NONE, 0, NULL));
    assert_int_equal(ir_tensor(XT_F32, 2, DIMS(IR_DYNAMIC, 3))->count, -1);
    fixture t = start();
    assert_null(ir_splat(&t.b, ir_tensor(XT_F32, 1, DIMS(-1)), 0));
    assert_int_equal(xt_status_code(t.b.status), XT_INVALID_ARGUMENT);
    xt_status_free(t.b.status);
    ir_module_free(t.m);
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 && live_get(LIVE_array) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builders_infer_their_types),
        cmocka_unit_test(builders_fail_cleanly_at_each_allocation),
        cmocka_unit_test(identities_are_neutral),
        cmocka_unit_test(scatter_replaces_or_combines),
        cmocka_unit_test(sort_orders_all_operands_by_the_first),
        cmocka_unit_test(uses_are_counted),
        cmocka_unit_test(types_are_one_object_for_all_threads),
        cmocka_unit_test(impossible_types_do_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
