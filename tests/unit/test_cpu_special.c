/* NaN, infinities, signed zeros, denormals and the ends of the range through every elementwise op and fold: interpreter
 * against compiler. The compiler flushes denormals as XLA:CPU does, so a denormal operand counts as zero, and where the
 * result would be one, zero of its sign is as good. */
#include "cpu_check.h"

static const double values[] = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.5,
                                -2.5,
                                3.0,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                3.4028234663852886e38,
                                -3.4028234663852886e38,
                                1.1754943508222875e-38,
                                -1.1754943508222875e-38,
                                1e-40,
                                -1e-40,
                                1e30,
                                -1e-30,
                                88.8,
                                -104.5,
                                2147483648.0,
                                1.5,
                                1e-310,
                                -1e-310 /* of f64 */};
enum { N = BASE_COUNT(values) };

/* Operand k of an op with `n` operands: all pairs (or triples of some) of values are met. */
static void fill(array *a, int k, bool flush) {
    int64_t step = 1;
    for (int i = 0; i < k; i++) step *= N;
    for (int64_t i = 0; i < a->type->count; i++) {
        double v = values[i / step % N];
        if (flush && fabs(v) < (a->type->dtype == XT_F64 ? 2.2e-308 : 1.1e-38)) v = copysign(0, v);
        if (a->type->dtype == XT_BOOL) v = (double)(i & 1);
        array_set(a, i, v);
    }
}

static bool tiny(double v, xt_dtype t) {
    return fabs(v) <= (t == XT_F16 ? 6.2e-5 : t == XT_F64 ? 2.3e-308 : 1.2e-38);
}

static bool same(double w, double g, xt_dtype t, double tol) {
    if (isnan(w) || isnan(g)) return isnan(w) && isnan(g);
    /* a denormal or a zero; zeros have signs */
    if (tiny(w, t) && tiny(g, t)) return w != 0 || g != 0 || signbit(w) == signbit(g);
    if (isinf(w) || isinf(g)) return w == g;
    return fabs(w - g) <= tol * fabs(w) || w == g;
}

/* libm under flushed denormals gives wrong answers and NaN for denormal operands (XLA:CPU too, the same ones): nothing
 * is promised there. */
static bool by_libm(const char *name) {
    return strncmp(name, "cbrt", 4) == 0 || strncmp(name, "power", 5) == 0 || strncmp(name, "atan2", 5) == 0;
}
static bool has_denormal(const array *in, size_t n, int64_t i) {
    for (size_t k = 0; k < n; k++) {
        double v = fabs(array_get(&in[k], i));
        if (v > 0 && v < 1.1e-38) return true;
    }
    return false;
}

static void one_op(const char *name, const char *text, double tol) {
    ir_module *m = NULL;
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[4] = {0}, flushed[4] = {0}, want[2] = {0}, other[2] = {0}, got[2] = {0};
    int from[2];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(ir_parse(text, strlen(text), name, &m), name);
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 1}, &e), name);
    expect_ok(cpu_device_new(1, NULL, &d), name);
    size_t n_in = cpu_exec_inputs(e), bad = 0;
    for (size_t i = 0; i < n_in; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), name);
        expect_ok(array_new(cpu_exec_input_type(e, i), &flushed[i]), name);
        fill(&in[i], (int)i, false);
        fill(&flushed[i], (int)i, true);
    }
    expect_ok(interp_run(m, "main", NULL, n_in, in, 1, want), name);
    expect_ok(interp_run(m, "main", NULL, n_in, flushed, 1, other), name);
    expect_ok(cpu_run(e, d, &a, in, NULL, got, from), name);
    xt_dtype t = got[0].type->dtype;
    for (int64_t i = 0; i < got[0].type->count; i++) {
        double w = array_get(&want[0], i), o = array_get(&other[0], i), g = array_get(&got[0], i);
        if (same(w, g, t, tol) || same(o, g, t, tol) || (by_libm(name) && has_denormal(in, n_in, i))) continue;
        if (bad++ < 4)
            print_error("%s(%.9g, %.9g): interpreter %.9g, compiler %.9g\n", name,
                        array_get(&in[0], i % in[0].type->count),
                        n_in > 1 ? array_get(&in[1], i % in[1].type->count) : 0.0, w, g);
    }
    if (bad) fail_msg("%s: %zu elements differ", name, bad);
    heap_free(&h, got[0].data, ir_type_bytes(got[0].type));
    for (size_t i = 0; i < n_in; i++) array_free(&in[i]), array_free(&flushed[i]);
    array_free(&want[0]);
    array_free(&other[0]);
    cpu_device_free(d);
    cpu_exec_free(e);
    ir_module_free(m);
}

static double tolerance(const char *t) {
    return !strcmp(t, "bf16") ? 8e-3 : !strcmp(t, "f16") ? 1e-3 : !strcmp(t, "f32") ? 1e-6 : 1e-13;
}
static const char *const types[] = {"f32", "f64", "bf16", "f16"};

static void unary_ops(void **state) {
    (void)state;
    static const char *const ops[] = {"abs",
                                      "negate",
                                      "sign",
                                      "sqrt",
                                      "rsqrt",
                                      "cbrt",
                                      "exponential",
                                      "exponential_minus_one",
                                      "log",
                                      "log_plus_one",
                                      "tanh",
                                      "logistic",
                                      "floor",
                                      "ceil",
                                      "round_nearest_afz",
                                      "round_nearest_even",
                                      "is_finite",
                                      "sine",
                                      "cosine",
                                      "tan"};
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t i = 0; i < BASE_COUNT(ops); i++) {
            char text[1024], name[64];
            const char *out = !strcmp(ops[i], "is_finite") ? "i1" : types[t];
            snprintf(name, sizeof name, "%s.%s", ops[i], types[t]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%dx%s>) -> tensor<%dx%s> {\n"
                     "%%r = \"stablehlo.%s\"(%%x) : (tensor<%dx%s>) -> tensor<%dx%s>\n"
                     "return %%r : tensor<%dx%s>\n"
                     "}\n",
                     (int)N, types[t], (int)N, out, ops[i], (int)N, types[t], (int)N, out, (int)N, out);
            one_op(name, text, 4 * tolerance(types[t]));
        }
}

static void binary_ops(void **state) {
    (void)state;
    static const char *const ops[] = {"add",     "subtract", "multiply", "divide", "remainder",
                                      "maximum", "minimum",  "power",    "atan2"};
    static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    int n = N * N;
    char text[1024], name[64];
    for (size_t t = 0; t < BASE_COUNT(types); t++) {
        for (size_t i = 0; i < BASE_COUNT(ops); i++) {
            snprintf(name, sizeof name, "%s.%s", ops[i], types[t]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%dx%s>, %%y: tensor<%dx%s>) -> tensor<%dx%s> {\n"
                     "%%r = stablehlo.%s %%x, %%y : tensor<%dx%s>\n"
                     "return %%r : tensor<%dx%s>\n"
                     "}\n",
                     n, types[t], n, types[t], n, types[t], ops[i], n, types[t], n, types[t]);
            one_op(name, text, 8 * tolerance(types[t]));
        }
        for (size_t i = 0; i < BASE_COUNT(directions); i++) {
            snprintf(name, sizeof name, "compare %s.%s", directions[i], types[t]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%dx%s>, %%y: tensor<%dx%s>) -> tensor<%dxi1> {\n"
                     "%%r = stablehlo.compare %s, %%x, %%y : (tensor<%dx%s>, tensor<%dx%s>) -> tensor<%dxi1>\n"
                     "return %%r : "
                     "tensor<%dxi1>\n}\n",
                     n, types[t], n, types[t], n, directions[i], n, types[t], n, types[t], n, n);
            one_op(name, text, 0);
        }
    }
}

/* Squares and cubes are products, and others roots. */
static void small_powers(void **state) {
    (void)state;
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (int k = 0; k < 4; k++) {
            static const double exponents[] = {2, 3, 0.5, -0.5};
            double e = exponents[k];
            char text[1024], name[64];
            snprintf(name, sizeof name, "power of %g.%s", e, types[t]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%dx%s>) -> tensor<%dx%s> {\n"
                     "%%e = stablehlo.constant dense<%.1f> : tensor<%dx%s>\n"
                     "%%r = stablehlo.power %%x, %%e : tensor<%dx%s>\n"
                     "return %%r : tensor<%dx%s>\n"
                     "}\n",
                     (int)N, types[t], (int)N, types[t], e, (int)N, types[t], (int)N, types[t], (int)N, types[t]);
            one_op(name, text, 8 * tolerance(types[t]));
        }
}

static void conversions(void **state) {
    (void)state;
    static const char *const to[] = {"f32", "f64", "bf16", "f16", "i32", "i64", "i8", "ui8", "ui32", "i1"};
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t i = 0; i < BASE_COUNT(to); i++) {
            char text[1024], name[64];
            snprintf(name, sizeof name, "convert.%s.%s", types[t], to[i]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%dx%s>) -> tensor<%dx%s> {\n"
                     "%%r = stablehlo.convert %%x : (tensor<%dx%s>) -> tensor<%dx%s>\n"
                     "return %%r : tensor<%dx%s>\n"
                     "}\n",
                     (int)N, types[t], (int)N, to[i], (int)N, types[t], (int)N, to[i], (int)N, to[i]);
            one_op(name, text, 0);
        }
}

/* Rows of pairs, folded. */
static void folds(void **state) {
    (void)state;
    static const struct {
        const char *op, *init;
    } ops[] = {{"maximum", "0xFF800000"}, {"minimum", "0x7F800000"}, {"add", "0.0"}, {"multiply", "1.0"}};
    for (size_t i = 0; i < BASE_COUNT(ops); i++) {
        char text[1024], name[64];
        snprintf(name, sizeof name, "fold %s.f32", ops[i].op);
        snprintf(
            text, sizeof text,
            "func.func @main(%%x: tensor<%dxf32>, %%y: tensor<%dxf32>) -> tensor<%dxf32> {\n"
            "%%z = stablehlo.constant dense<%s> : tensor<f32>\n"
            "%%a = stablehlo.reshape %%x : (tensor<%dxf32>) -> tensor<%dx1xf32>\n"
            "%%b = stablehlo.reshape %%y : (tensor<%dxf32>) -> tensor<%dx1xf32>\n"
            "%%c = stablehlo.concatenate %%a, %%b, dim = 1 : (tensor<%dx1xf32>, tensor<%dx1xf32>) -> tensor<%dx2xf32>\n"
            "%%r = stablehlo.reduce(%%c init: %%z) applies stablehlo.%s across dimensions = [1] : (tensor<%dx2xf32>, "
            "tensor<f32>) -> tensor<%dxf32>\n"
            "return %%r : tensor<%dxf32>\n"
            "}\n",
            N * N, N * N, N * N, ops[i].init, N * N, N * N, N * N, N * N, N * N, N * N, N * N, ops[i].op, N * N, N * N,
            N * N);
        one_op(name, text, 1e-6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unary_ops), cmocka_unit_test(binary_ops),
                                       cmocka_unit_test(small_powers), cmocka_unit_test(conversions),
                                       cmocka_unit_test(folds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
