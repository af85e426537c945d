/* How exact convolutions by Winograd's algorithm are: beside direct ones, and both beside sums in f64. A relu or a pool
 * behind them falls the other way where rounding decides it, and each that does is seen in gradients a thousand times
 * as large as rounding is: so an algorithm may not round much more than direct sums do. */
#include "cpu_differential.h"

#include "cpu/run/plan.h"
#include "cpu/vector/simd.h"
#include "cpu/vector/wino.h"

enum { SIDE = 12, SAMPLES = 1000, MOST = 3 };
typedef enum form { FORWARD, DATA, WEIGHTS } form;
typedef enum numbers { NORMAL, POSITIVE, SHIFTED } numbers;
static const char *const form_names[] = {"forward", "data", "weights"};
static const char *const number_names[] = {"normal", "behind a relu", "with a large mean"};

/* Tensors of each form: of both operands and of the result. `in` and `out` are the forward convolution's. */
static void print_program(form f, int64_t n, int64_t in, int64_t out, const char *type, str *text) {
    static const char *const dims[] = {"[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                                       "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
                                       "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]"};
    char x[64], y[64], w[64];
    snprintf(x, sizeof x, "tensor<%dx%dx%dx%dx%s>", (int)n, (int)in, SIDE, SIDE, type);
    snprintf(y, sizeof y, "tensor<%dx%dx%dx%dx%s>", (int)n, (int)out, SIDE, SIDE, type);
    snprintf(w, sizeof w, "tensor<%dx%dx3x3x%s>", (int)out, (int)in, type);
    const char *a = f == DATA ? y : x, *b = f == WEIGHTS ? y : w, *r = f == FORWARD ? y : f == DATA ? x : w;
    str_printf(text,
               "func.func @main(%%a: %s, %%b: %s) -> %s {\n"
               "%%0 = stablehlo.convolution(%%a, %%b) dim_numbers = %s, window = {pad = [[1, 1], [1, 1]]%s} "
               "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s\nreturn %%0 : %s\n}\n",
               a, b, r, dims[f], f == DATA ? ", reverse = [true, true]" : "", a, b, r, r);
}

/* About N(0, 1), as the sum of twelve uniform numbers. */
static double drawn(uint64_t stream, uint64_t k, numbers kind) {
    double x = -6;
    for (uint64_t i = 0; i < 12; i++) x += (double)(rng_bits(stream, i, k) >> 40) / 16777216.0;
    return kind == SHIFTED ? x + 8 : kind == POSITIVE && x < 0 ? 0 : x;
}

static double at(const array *t, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t *n = t->type->dims;
    return c < 0 || d < 0 || c >= n[2] || d >= n[3] ? 0 : array_get(t, ((a * n[1] + b) * n[2] + c) * n[3] + d);
}

/* Element (a, b, c, d) of the result, in f64. */
static double exact(form f, const array in[2], int64_t a, int64_t b, int64_t c, int64_t d) {
    double sum = 0;
    if (f == WEIGHTS) {
        for (int64_t n = 0; n < in[0].type->dims[0]; n++)
            for (int64_t y = 0; y < SIDE; y++)
                for (int64_t x = 0; x < SIDE; x++)
                    sum += at(&in[0], n, b, y + c - 1, x + d - 1) * at(&in[1], n, a, y, x);
        return sum;
    }
    for (int64_t k = 0; k < in[0].type->dims[1]; k++)
        for (int64_t y = 0; y < 3; y++)
            for (int64_t x = 0; x < 3; x++)
                sum += f == FORWARD ? at(&in[0], a, k, c + y - 1, d + x - 1) * at(&in[1], b, k, y, x)
                                    : at(&in[0], a, k, c + 1 - y, d + 1 - x) * at(&in[1], k, b, y, x);
    return sum;
}

/* The root of the mean square of errors of some results over that of the results. */
static double error_of(form f, const array in[2], const array *out) {
    double off = 0, all = 0;
    const int64_t *n = out->type->dims;
    for (int i = 0; i < SAMPLES; i++) {
        int64_t k = (int64_t)(rng_bits(7, 7, (uint64_t)i) % (uint64_t)out->type->count);
        double want = exact(f, in, k / (n[1] * n[2] * n[3]), k / (n[2] * n[3]) % n[1], k / n[3] % n[2], k % n[3]),
               e = array_get(out, k) - want;
        off += e * e;
        all += want * want;
    }
    return sqrt(off / all);
}

/* Also: whether the plan has Winograd's kernel. */
static double measured(form f, numbers kind, const char *text, const char *winograd, bool *out_winograd) {
    cpu_exec *e;
    cpu_device *d;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array in[2] = {0}, out;
    int from[1];
    setenv("XT_CPU_LAYOUT", "blocked", 1);
    setenv("XT_CPU_WINOGRAD", winograd, 1);
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), text);
    expect_ok(cpu_device_new(2, NULL, &d), text);
    *out_winograd = false;
    for (size_t t = 0; t < e->plan.n_thunks; t++)
        *out_winograd = *out_winograd || strncmp(e->plan.thunks[t].kernel->name, "winograd", 8) == 0;
    for (size_t i = 0; i < 2; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), text);
        for (int64_t k = 0; k < in[i].type->count; k++) /* what comes from above has no mean */
            array_set(&in[i], k, drawn(i, (uint64_t)k, i == 0 && f != DATA ? kind : NORMAL));
    }
    expect_ok(cpu_run(e, d, &a, in, NULL, &out, from), text);
    double error = error_of(f, in, &out);
    heap_free(&h, out.data, ir_type_bytes(out.type));
    for (int i = 0; i < 2; i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    return error;
}

static void errors_are_as_direct_ones(const char *type, const int64_t (*features)[2], size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int f = FORWARD; f <= WEIGHTS; f++)
            for (int kind = NORMAL; kind <= (f == DATA ? NORMAL : SHIFTED); kind++) {
                str text = STR_INIT;
                bool is[2];
                print_program((form)f, 3, features[i][0], features[i][1], type, &text);
                double direct = measured((form)f, (numbers)kind, str_cstr(&text), "off", &is[0]),
                       winograd = measured((form)f, (numbers)kind, str_cstr(&text), "always", &is[1]);
                str_free(&text);
                assert_false(is[0]);
                assert_true(is[1]);
                if (winograd > MOST * direct)
                    fail_msg("%s, %s, %s, %d features in, %d out: error %.2e, of a direct one %.2e", type,
                             form_names[f], number_names[kind], (int)features[i][0], (int)features[i][1], winograd,
                             direct);
            }
}

static void f32_is_as_exact_as_direct(void **state) {
    (void)state;
    static const int64_t features[][2] = {{16, 48}, {32, 32}, {64, 64}, {128, 32}, {64, 256}, {512, 128}};
    if (simd_level() < 2) skip();
    errors_are_as_direct_ones("f32", features, BASE_COUNT(features));
}

static void bf16_is_as_exact_as_direct(void **state) {
    (void)state;
    static const int64_t features[][2] = {{64, 64}, {128, 64}, {64, 256}};
    if (!wino_get()) skip();
    errors_are_as_direct_ones("bf16", features, BASE_COUNT(features));
}

static int back(void **state) {
    (void)state;
    unsetenv("XT_CPU_LAYOUT");
    unsetenv("XT_CPU_WINOGRAD");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(f32_is_as_exact_as_direct, back),
        cmocka_unit_test_teardown(bf16_is_as_exact_as_direct, back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
