/* Numbers are data: one that changes from step to step costs one more program, then none, and the results are right.
 * A row a function: ten steps with ten numbers, beside the formula in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "lazy/lazy.h"

enum { N = 6, STEPS = 10 };
static const float values[N] = {-2, -0.75f, -0.1f, 0.3f, 1.25f, 4};
static xt_dtype dtype = XT_F32; /* of the rows' tensors */
static xt_tensor other(void) {
    return xt_cast(xt_from_array(((float[N]){1, 2, -1, 0.5f, 3, -2}), XT_F32, N), dtype);
}
static const double others[N] = {1, 2, -1, 0.5, 3, -2};
static xt_tensor scores(xt_tensor x) {
    return xt_reshape(x, 2, 3);
}

/* X(name, the tensor of x and v, the number of x, y (other's) and v): v runs from 0.05 to 0.95 */
#define ELEMENTS(X)                                                                                             \
    X(add, xt_add_scalar(x, v), x + v)                                                                          \
    X(mul, xt_mul_scalar(x, v), x *v)                                                                           \
    X(pow, xt_pow_scalar(xt_abs(x), v), pow(fabs(x), v))                                                        \
    X(div, xt_div_scalar(x, v), x / v)                                                                          \
    X(rsub, xt_rsub_scalar(x, v), v - x)                                                                        \
    X(full, xt_add(x, xt_full(v, dtype, N)), x + v)                                                             \
    X(full_like, xt_mul(x, xt_full_like(x, v)), x *v)                                                           \
    X(clamp, xt_clamp(x, -v, 2 * v), fmin(fmax(x, -v), 2 * v))                                                  \
    X(hardtanh, xt_hardtanh(x, -v, 2 * v), fmin(fmax(x, -v), 2 * v))                                            \
    X(leaky_relu, xt_leaky_relu(x, v), x > 0 ? x : v * x)                                                       \
    X(elu, xt_elu(x, v), x > 0 ? x : v * expm1(x))                                                              \
    X(celu, xt_celu(x, v), x > 0 ? x : v * expm1(x / v))                                                        \
    X(softplus, xt_softplus(x, .beta = 1 + v, .threshold = 3 * v),                                              \
      (1 + v) * x > 3 * v ? x : log1p(exp((1 + v) * x)) / (1 + v))                                              \
    X(threshold, xt_threshold(x, v, -v), x > v ? x : -v)                                                        \
    X(hardshrink, xt_hardshrink(x, v), fabs(x) > v ? x : 0)                                                     \
    X(softshrink, xt_softshrink(x, v), x > v ? x - v : x < -v ? x + v : 0)                                      \
    X(nan_to_num, xt_nan_to_num_with(xt_log_e(xt_relu(x)), v, 2 * v, -3 * v), x > 0 ? log(x) : -3 * v)          \
    X(lerp, xt_lerp_scalar(x, other(), v), x + v * (y - x))                                                     \
    X(addcmul, xt_addcmul(x, other(), other(), v), x + v * y * y)                                               \
    X(addcdiv, xt_addcdiv(x, other(), xt_square(other()), v), x + v / y)                                        \
    X(masked_fill, xt_masked_fill(x, xt_gt(other(), xt_zeros_like(x)), v), y > 0 ? v : x)                       \
    X(smooth_l1, xt_smooth_l1_loss(x, other(), .beta = v, .reduction = XT_NONE),                                \
      fabs(x - y) < v ? 0.5 * (x - y) * (x - y) / v : fabs(x - y) - 0.5 * v)                                    \
    X(huber, xt_huber_loss(x, other(), .delta = v, .reduction = XT_NONE),                                       \
      fabs(x - y) <= v ? 0.5 * (x - y) * (x - y) : v * (fabs(x - y) - 0.5 * v))                                 \
    X(margin_ranking, xt_margin_ranking_loss(x, other(), xt_ones(dtype, N), .margin = v, .reduction = XT_NONE), \
      fmax(0, y - x + v))                                                                                       \
    X(hinge, xt_hinge_embedding_loss(x, xt_full(-1, dtype, N), .margin = v, .reduction = XT_NONE), fmax(0, v - x))
typedef struct element {
    const char *name;
    xt_tensor (*make)(xt_tensor x, double v);
    double (*want)(double x, double y, double v);
} element;
#define FUNCTIONS(name, tensor, number)                       \
    static xt_tensor make_##name(xt_tensor x, double v) {     \
        return tensor;                                        \
    }                                                         \
    static double want_##name(double x, double y, double v) { \
        (void)y;                                              \
        return number;                                        \
    }
ELEMENTS(FUNCTIONS)
#define ROW(name, tensor, number) {#name, make_##name, want_##name},
static const element elements[] = {ELEMENTS(ROW)};

static double number_of(int step) {
    return 0.05 + 0.1 * step;
}
/* The tensor of a step, read after it. */
static void bytes_after(xt_tensor t, void *out, size_t bytes, const char *name) {
    t = xt_keep(t);
    if (!xt_mark_step()) fail_msg("%s: %s", name, xt_status_message(xt_error()));
    assert_true(xt_read(t, out, bytes));
    xt_drop(t);
}
static void read_after(xt_tensor t, float *out, size_t n, const char *name) {
    bytes_after(t, out, n * sizeof *out, name);
}
static void at_most_two(const char *name, int64_t before) {
    int64_t programs = xt_counter("compiles") - before;
    if (programs > 2) fail_msg("%s: %lld programs for %d numbers", name, (long long)programs, STEPS);
}

static void each_element(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(elements); i++) {
        const element *e = &elements[i];
        int64_t before = xt_counter("compiles");
        for (int s = 0; s < STEPS; s++) {
            float got[N];
            double v = number_of(s);
            read_after(e->make(xt_from_array(values, XT_F32, N), v), got, N, e->name);
            for (int k = 0; k < N; k++) {
                double want = e->want(values[k], others[k], v);
                if (!(fabs(got[k] - want) <= 2e-5 * (1 + fabs(want))))
                    fail_msg("%s of %g with %g: %g, expected %g", e->name, (double)values[k], v, (double)got[k], want);
            }
        }
        at_most_two(e->name, before);
    }
}

/* f64: a number that is data is what it is as a constant, to the last bit. */
static void in_double(const element *e, double v, const char *path, double out[static N]) {
    if (path) lazy_path_push(path); /* another place of the program: the number is a constant there */
    bytes_after(e->make(xt_cast(xt_from_array(values, XT_F32, N), XT_F64), v), out, N * sizeof *out, e->name);
    if (path) lazy_path_pop();
}
static void each_element_in_double(void **state) {
    (void)state;
    dtype = XT_F64;
    for (size_t i = 0; i < BASE_COUNT(elements); i++) {
        const element *e = &elements[i];
        for (int s = 0; s < STEPS; s++) {
            double v = number_of(s), data[N], constant[N];
            char path[32];
            snprintf(path, sizeof path, "number %d", s);
            in_double(e, v, NULL, data);
            in_double(e, v, path, constant);
            if (memcmp(data, constant, sizeof data) != 0) fail_msg("%s with %g: data and constant differ", e->name, v);
            for (int k = 0; k < N; k++) {
                double want = e->want(values[k], others[k], v);
                if (!(fabs(data[k] - want) <= 1e-13 * (1 + fabs(want))))
                    fail_msg("%s of %g with %g: %.17g, expected %.17g", e->name, (double)values[k], v, data[k], want);
            }
        }
    }
    dtype = XT_F32;
}

/* What is as wide as the widest of several tensors: the first need not be that one. */
static void beside_another_f64(void **state) {
    (void)state;
    for (int s = 0; s < STEPS; s++) {
        double got, v = number_of(s);
        xt_tensor x = xt_full(1, XT_F32, 1), y = xt_full(3, XT_F64, 1);
        bytes_after(xt_lerp_scalar(x, y, v), &got, sizeof got, "lerp of f32 and f64");
        assert_true(got == 1 + v * 2);
        x = xt_full(1, XT_F32, 1), y = xt_full(3, XT_F64, 1);
        bytes_after(xt_addcmul(x, y, y, v), &got, sizeof got, "addcmul of f32 and f64");
        assert_true(fabs(got - (1 + 3 * (3 * v))) <= 2e-15); /* an ulp of 9 */
    }
}

/* Angles are computed in x's dtype: places counted or given, and an offset that is a constant or data. */
static void rotary_in_double(void **state) {
    (void)state;
    enum { T = 40, D = 4 };
    double x[T * D], got[T * D];
    for (int i = 0; i < T * D; i++) x[i] = i % D < D / 2;
    for (int s = 0; s < 6; s++) {
        double offset = s / 2;
        xt_tensor in = xt_from_array(x, XT_F64, T, D), at = xt_add_scalar(xt_arange(T, XT_I64), offset);
        xt_tensor y = s % 2 ? xt_rotary(in, 10000, .positions = at) : xt_rotary(in, 10000, .offset = offset);
        bytes_after(y, got, sizeof got, "rotary");
        for (int t = 0; t < T; t++)
            for (int i = 0; i < D / 2; i++) {
                double want = cos((t + offset) * pow(10000, -2.0 * i / D));
                if (!(fabs(got[t * D + i] - want) <= 1e-13))
                    fail_msg("row %d: %.17g, not %.17g", t, got[t * D + i], want);
            }
    }
}

/* Fractions beside complex numbers. */
static void complex_numbers(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++)
        for (int s = 0; s < STEPS; s++) {
            double v = number_of(s);
            xt_dtype real = wide ? XT_F64 : XT_F32;
            xt_tensor x = xt_complex(xt_full(2, real, 1), xt_full(-4, real, 1)), y = xt_mul_scalar(x, v);
            double got[2] = {0};
            float narrow[2];
            bytes_after(y, wide ? (void *)got : narrow, wide ? sizeof got : sizeof narrow, "complex");
            for (int k = 0; k < 2 && !wide; k++) got[k] = narrow[k];
            assert_true(fabs(got[0] - 2 * v) <= (wide ? 0 : 1e-6) && fabs(got[1] + 4 * v) <= (wide ? 0 : 1e-6));
        }
}

/* (1 - s) nll + s times the mean of all classes' */
static double smoothed(double s, const int64_t *labels) {
    double sum = 0;
    for (int r = 0; r < 2; r++) {
        double whole = 0, all = 0, own = 0;
        for (int c = 0; c < 3; c++) whole += exp(values[3 * r + c]);
        for (int c = 0; c < 3; c++) {
            double nll = log(whole) - values[3 * r + c];
            all += nll / 3;
            if (c == labels[r]) own = nll;
        }
        sum += ((1 - s) * own + s * all) / 2;
    }
    return sum;
}
static void label_smoothing(void **state) {
    (void)state;
    static const int64_t labels[2] = {2, 0};
    int64_t before = xt_counter("compiles");
    for (int s = 0; s < STEPS; s++) {
        float got;
        xt_tensor x = scores(xt_from_array(values, XT_F32, N)), y = xt_from_array(labels, XT_I64, 2);
        read_after(xt_cross_entropy(x, y, .label_smoothing = number_of(s)), &got, 1, "label_smoothing");
        assert_float_equal(got, smoothed(number_of(s), labels), 2e-5);
    }
    at_most_two("label_smoothing", before);
}

static xt_tensor dropping(xt_module *m, xt_tensor x, void *user) {
    return xt_dropout(m, x, *(const double *)user);
}
enum { MANY = 4000 };
static void dropouts(void **state) {
    (void)state;
    double p;
    xt_module *m = xt_module_new(dropping, &p);
    for (int function = 0; function < 2; function++) {
        int64_t before = xt_counter("compiles");
        for (int s = 0; s < STEPS; s++) {
            static float got[MANY];
            int zeros = 0;
            p = number_of(s);
            xt_tensor ones = xt_from_data(memset(got, 0, sizeof got), XT_F32, 1, ((int64_t[]){MANY}));
            ones = xt_exp(ones);
            read_after(function ? xt_dropout_fn(ones, p) : xt_forward(m, ones), got, MANY, "dropout");
            for (int k = 0; k < MANY; k++) {
                zeros += got[k] == 0;
                if (got[k] != 0) assert_float_equal(got[k], 1 / (1 - p), 1e-4 / (1 - p));
            }
            assert_float_equal((double)zeros / MANY, p, 5 * sqrt(p * (1 - p) / MANY));
        }
        at_most_two(function ? "dropout_fn" : "dropout", before);
    }
    xt_module_free(m);
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element),       cmocka_unit_test(each_element_in_double),
        cmocka_unit_test(beside_another_f64), cmocka_unit_test(rotary_in_double),
        cmocka_unit_test(complex_numbers),    cmocka_unit_test(label_smoothing),
        cmocka_unit_test(dropouts),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
