/* Every row of rules.def: both sides are interpreted on edge and random values of each element type the row names.
 * Exact rows must agree in every bit (any NaN equals any other), inexact ones nearly, XLA's where numbers are finite.
 * Then constant folding against running the program. */
#include "ir/interp.h"
#include "pass/rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { N = 64 };

static void assert_ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

/* Numbers that break wrong rules: signed zeros, infinities, NaN, the largest and least, and many ordinary ones. */
static void fill(array *a, unsigned seed) {
    static const double edges[] = {0,   -0.0, 1,   -1,   2,     INFINITY, -INFINITY, NAN,
                                   0.5, -2.5, 127, -128, 65504, 3.5,      1e-3,      -1e-3};
    xt_dtype t = a->type->dtype;
    for (int64_t i = 0; i < a->type->count; i++) {
        double v = (size_t)i < BASE_COUNT(edges) ? edges[(i * 5 + seed) % BASE_COUNT(edges)]
                                                 : rng_normal(seed, 7, (uint64_t)i) * 10;
        if (t == XT_BOOL) v = (i + seed) & 1;
        if (ir_dtype_is_int(t)) {
            v = isfinite(v) ? v : 100;
            if (!ir_dtype_is_signed(t)) v = fabs(v);
        }
        if (!ir_dtype_is_complex(t)) {
            array_set(a, i, v);
        } else {
            float parts[2] = {(float)v, rng_normal(seed, 8, (uint64_t)i)};
            memcpy((char *)a->data + i * 8, parts, 8);
        }
    }
}

/* The type of a variable: `p` is a predicate, the others are like the result. */
static const ir_type *var_type(char var, const ir_type *result) {
    return var == 'p' ? ir_with_dtype(result, XT_BOOL) : result;
}

static ir_module *program(const rule_row *r, const char *pattern, const ir_type *type) {
    ir_module *m = ir_module_new();
    ir_func *f = ir_func_new(m, "main", true);
    ir_builder b = ir_at_end(m, ir_func_block(f));
    rule_vars vars = {0};
    for (const char *v = "abp"; *v; v++) vars.v[*v - 'a'] = ir_func_arg(f, var_type(*v, type));
    ir_value *out = rule_build(&b, pattern, &vars, type);
    ir_return(&b, 1, &out);
    if (b.status) fail_msg("%s '%s': %s", r->name, pattern, xt_status_message(b.status));
    assert_ok(ir_verify(m));
    return m;
}

/* Inexact rows may be off by a few units in the last place of their type. */
static bool same_float(double x, double y, xt_dtype t, bool exact) {
    double ulps = 4 * (t == XT_BF16 ? 0x1p-8 : t == XT_F16 ? 0x1p-11 : 0x1p-23);
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (exact) return x == y && signbit(x) == signbit(y);
    return x == y || fabs(x - y) <= ulps * fmax(1, fmax(fabs(x), fabs(y)));
}

static bool same(const array *x, const array *y, int64_t i, bool exact) {
    xt_dtype t = x->type->dtype;
    size_t size = xt_dtype_size(t);
    if (ir_dtype_is_float(t)) return same_float(array_get(x, i), array_get(y, i), t, exact);
    if (!ir_dtype_is_complex(t)) return memcmp((char *)x->data + i * size, (char *)y->data + i * size, size) == 0;
    const float *p = (const float *)x->data + 2 * i, *q = (const float *)y->data + 2 * i;
    return same_float(p[0], q[0], t, exact) && same_float(p[1], q[1], t, exact);
}

static bool is_finite(const array *x, int64_t i) {
    const float *p = (const float *)x->data + 2 * i;
    return ir_dtype_is_complex(x->type->dtype) ? isfinite(p[0]) && isfinite(p[1]) : isfinite(array_get(x, i));
}

static void check_row(const rule_row *r, xt_dtype t) {
    const ir_type *type = ir_tensor(t, 1, (int64_t[]){N});
    array in[3], out[2];
    for (int i = 0; i < 3; i++) {
        assert_ok(array_new(var_type("abp"[i], type), &in[i]));
        fill(&in[i], (unsigned)(3 * i + 1));
    }
    for (int side = 0; side < 2; side++) {
        ir_module *m = program(r, side ? r->to : r->from, type);
        assert_ok(interp_run(m, "main", NULL, 3, in, 1, &out[side]));
        ir_module_free(m);
    }
    for (int64_t i = 0; i < N; i++) {
        /* log(exp(x)) is x only where exp neither overflows nor vanishes. */
        if (strcmp(r->name, "log_of_exponential") == 0 && fabs(array_get(&in[0], i)) > 5) continue;
        if (r->kind == AS_XLA && !is_finite(&in[0], i)) continue;
        if (!same(&out[0], &out[1], i, r->kind == EXACT))
            fail_msg("rule %s of %s, element %lld of a = %g, b = %g: %g and %g", r->name, ir_dtype_mlir(t),
                     (long long)i, array_get(&in[0], i), array_get(&in[1], i), array_get(&out[0], i),
                     array_get(&out[1], i));
    }
    for (int i = 0; i < 3; i++) array_free(&in[i]);
    array_free(&out[0]);
    array_free(&out[1]);
}

static void both_sides_of_every_rule_agree(void **state) {
    (void)state;
    static const xt_dtype types[] = {XT_BOOL, XT_I8,  XT_I32,  XT_I64, XT_U8, XT_U32,
                                     XT_F32,  XT_F64, XT_BF16, XT_F16, XT_C64};
    for (size_t i = 0; i < rule_row_count; i++)
        for (size_t k = 0; k < BASE_COUNT(types); k++)
            if (rule_takes_dtype(&rule_rows[i], types[k]) &&
                !(strstr(rule_rows[i].name, "_complex") && types[k] != XT_F32 && types[k] != XT_F64))
                check_row(&rule_rows[i], types[k]);
}

/* Each row fires on its own left side, written out in ops. */
static void every_rule_fires(void **state) {
    (void)state;
    for (size_t i = 0; i < rule_row_count; i++) {
        const rule_row *r = &rule_rows[i];
        xt_dtype t = strchr(r->dtypes, 'i') ? XT_I32 : strchr(r->dtypes, 'f') ? XT_F32 : XT_C64;
        const ir_type *type = ir_tensor(t, 1, (int64_t[]){N});
        ir_module *m = program(r, r->from, type);
        const ir_op *root = ir_block_return(m->funcs->body)->in[0]->def;
        rule_vars vars;
        if (!rule_match(r, root, &vars)) fail_msg("rule %s does not match its own pattern", r->name);
        ir_module_free(m);
    }
}

/* --- Folding --- */
static ir_module *parse(const char *text) {
    ir_module *m = NULL;
    assert_ok(ir_parse(text, strlen(text), "test", &m));
    return m;
}

static size_t ops_of(const ir_module *m) {
    size_t n = 0;
    for (const ir_op *op = m->funcs->body->first; op; op = op->next) n++;
    return n;
}

/* The program becomes `ops` ops and still gives the same bytes. */
static void check_fold(const char *body, const char *type, size_t ops) {
    char text[2048];
    snprintf(text, sizeof text, "func.func public @main() -> %s {\n%s\n return %%r : %s\n}\n", type, body, type);
    ir_module *m = parse(text);
    array before, after;
    pass_ctx c = PASS_CTX_INIT;
    assert_ok(interp_run(m, "main", NULL, 0, NULL, 1, &before));
    assert_ok(pass_run(&c, pass_find("opt_fold"), m));
    assert_ok(pass_run(&c, pass_find("opt_dce"), m));
    assert_int_equal(ops_of(m), ops);
    assert_ok(interp_run(m, "main", NULL, 0, NULL, 1, &after));
    assert_memory_equal(before.data, after.data, ir_type_bytes(before.type));
    array_free(&before);
    array_free(&after);
    ir_module_free(m);
}

static void constants_fold(void **state) {
    (void)state;
    check_fold(" %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
               " %b = stablehlo.constant dense<4> : tensor<3xi32>\n"
               " %c = stablehlo.multiply %a, %b : tensor<3xi32>\n"
               " %r = stablehlo.negate %c : tensor<3xi32>",
               "tensor<3xi32>", 2);
    check_fold(" %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>\n"
               " %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               " %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, "
               "tensor<f32>) -> tensor<2xf32>",
               "tensor<2xf32>", 2);
    check_fold(" %a = stablehlo.constant dense<2.0> : tensor<f32>\n"
               " %r = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<1000xf32>",
               "tensor<1000xf32>", 2);
}

static void folding_leaves_what_would_be_long_or_random(void **state) {
    (void)state;
    check_fold(" %a = stablehlo.iota dim = 0 : tensor<100xi32>\n"
               " %r = stablehlo.negate %a : tensor<100xi32>",
               "tensor<100xi32>", 3);
    check_fold(" %a = stablehlo.constant dense<2.0> : tensor<f32>\n"
               " %r = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<5000xf32>",
               "tensor<5000xf32>", 3);
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 && live_get(LIVE_array) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_of_every_rule_agree),
        cmocka_unit_test(every_rule_fires),
        cmocka_unit_test(constants_fold),
        cmocka_unit_test(folding_leaves_what_would_be_long_or_random),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
