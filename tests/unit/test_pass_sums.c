/* lower_sums: the same values up to the rounding of f32 sums, every long sum in stages, short sums and other
 * types left alone. */
#include "ir/interp.h"
#include "pass/pass.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void assert_ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

static ir_module *parse(const char *text) {
    ir_module *m = NULL;
    assert_ok(ir_parse(text, strlen(text), "test", &m));
    assert_ok(ir_verify(m));
    return m;
}

static int count(const ir_module *m, ir_opcode code) {
    int n = 0;
    for (const ir_op *op = m->funcs->body->first; op; op = op->next) n += op->code == code;
    return n;
}

static bool lower(ir_module *m) {
    pass_ctx c = {.verify = true};
    assert_ok(pass_run(&c, pass_find("lower_sums"), m));
    return c.changed;
}

enum { MOST = 8 };
/* Runs `text` as it is and lowered, on the same random arguments; results may differ by `tolerance` of their
 * largest element. */
static void check_same(const char *text, double tolerance) {
    ir_module *sides[2] = {parse(text), parse(text)};
    assert_true(lower(sides[1]));
    assert_false(lower(sides[1])); /* its own result needs nothing more */
    const ir_func *f = sides[0]->funcs;
    size_t n_in = f->body->n_args, n_out = f->n_results;
    array in[MOST], out[2][MOST];
    assert_true(n_in <= MOST && n_out <= MOST);
    for (size_t k = 0; k < n_in; k++) {
        assert_ok(array_new(f->body->args[k]->type, &in[k]));
        for (int64_t i = 0; i < in[k].type->count; i++)
            array_set(&in[k], i, 0.5 + fabs(rng_normal(3, (uint32_t)k, (uint64_t)i)));
    }
    for (int s = 0; s < 2; s++) assert_ok(interp_run(sides[s], "main", NULL, n_in, in, n_out, out[s]));
    for (size_t k = 0; k < n_out; k++) {
        double most = 0;
        for (int64_t i = 0; i < out[0][k].type->count; i++) most = fmax(most, fabs(array_get(&out[0][k], i)));
        for (int64_t i = 0; i < out[0][k].type->count; i++)
            if (!(fabs(array_get(&out[0][k], i) - array_get(&out[1][k], i)) <= tolerance * most))
                fail_msg("result %zu, element %lld: %g, lowered %g", k, (long long)i, array_get(&out[0][k], i),
                         array_get(&out[1][k], i));
        array_free(&out[0][k]), array_free(&out[1][k]);
    }
    for (size_t k = 0; k < n_in; k++) array_free(&in[k]);
    ir_module_free(sides[0]), ir_module_free(sides[1]);
}

static const char long_sum[] =
    "func.func public @main(%x: tensor<16x3x10x12xf32>, %z: tensor<f32>) -> tensor<3xf32> {\n"
    "  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 2, 3] : "
    "(tensor<16x3x10x12xf32>, "
    "tensor<f32>) -> tensor<3xf32>\n  return %r : tensor<3xf32>\n}\n";
static const char norm[] =
    "func.func public @main(%x: tensor<16x3x10x12xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) -> "
    "(tensor<16x3x10x12xf32>, "
    "tensor<3xf32>, tensor<3xf32>) {\n"
    "  %r:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : "
    "(tensor<16x3x10x12xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<16x3x10x12xf32>, tensor<3xf32>, tensor<3xf32>)\n"
    "  return %r#0, %r#1, %r#2 : tensor<16x3x10x12xf32>, tensor<3xf32>, tensor<3xf32>\n}\n";
static const char norm_grad[] = "func.func public @main(%x: tensor<700x2x3xf32>, %s: tensor<2xf32>, %m: tensor<2xf32>, "
                                "%v: tensor<2xf32>, %g: tensor<700x2x3xf32>) -> "
                                "(tensor<700x2x3xf32>, tensor<2xf32>, tensor<2xf32>) {\n"
                                "  %r:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %m, %v, %g) <{epsilon = 1.0e-03 : f32, "
                                "feature_index = 1 : i64}> : (tensor<700x2x3xf32>, "
                                "tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<700x2x3xf32>) -> "
                                "(tensor<700x2x3xf32>, tensor<2xf32>, tensor<2xf32>)\n"
                                "  return %r#0, %r#1, %r#2 : tensor<700x2x3xf32>, tensor<2xf32>, tensor<2xf32>\n}\n";

static void values_stay(void **state) {
    (void)state;
    check_same(long_sum, 1e-6);
    check_same(norm, 2e-6);
    check_same(norm_grad, 2e-6);
}

static void long_sums_are_staged(void **state) {
    (void)state;
    ir_module *m = parse(long_sum);
    lower(m);
    assert_int_equal(count(m, OP_reduce), 3);
    assert_int_equal(count(m, OP_optimization_barrier), 2);
    ir_module_free(m);
    m = parse(norm);
    lower(m);
    assert_int_equal(count(m, OP_batch_norm_training), 0);
    assert_int_equal(count(m, OP_reduce), 6);
    ir_module_free(m);
}

/* Short, of another type, over one dim, or no sum. */
static void others_stay(void **state) {
    (void)state;
    static const struct {
        const char *type, *op, *dims, *to;
    } rows[] = {
        {"16x3x4x12xf32", "add", "0, 2, 3", "3xf32"},
        {"16x3x10x12xf64", "add", "0, 2, 3", "3xf64"},
        {"4096x3xf32", "add", "0", "3xf32"},
        {"16x3x10x12xf32", "maximum", "0, 2, 3", "3xf32"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[512];
        const char *scalar = strrchr(rows[i].type, 'x') + 1;
        snprintf(text, sizeof text,
                 "func.func public @main(%%x: tensor<%s>, %%z: tensor<%s>) -> tensor<%s> {\n"
                 "  %%r = stablehlo.reduce(%%x init: %%z) applies stablehlo.%s "
                 "across dimensions = [%s] : (tensor<%s>, tensor<%s>) -> tensor<%s>\n  return %%r : tensor<%s>\n}\n",
                 rows[i].type, scalar, rows[i].to, rows[i].op, rows[i].dims, rows[i].type, scalar, rows[i].to,
                 rows[i].to);
        ir_module *m = parse(text);
        if (lower(m)) fail_msg("row %zu was changed", i);
        ir_module_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_stay), cmocka_unit_test(long_sums_are_staged),
                                       cmocka_unit_test(others_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
