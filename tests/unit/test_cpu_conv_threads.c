/* Convolutions of f32 and bf16 and both of their gradients are right and have the same bits on 1, 2, 3 and 8 threads:
 * drawn shapes, with strides, dilations, padding, groups, images by either layout. Which kernel computes one, and how
 * its sums are cut, follows from the shapes.
 *
 * The program starts itself anew for narrower vectors, as `test_cpu_conv_threads drawn SEED COUNT`;
 * `test_cpu_conv_threads all` (tests/slow/threads.sh) draws many more. */
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>

#include "cpu/vector/dnnl_util.h"
#include "cpu_check.h"

static const char *self;
static bool all;
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
static const int numbers_of_threads[] = {3};
#else
enum { SANITIZED = 0 };
static const int numbers_of_threads[] = {2, 3, 8};
#endif

static uint64_t state;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}
static int one_of(const int *values, int n) {
    return values[below(n)];
}
#define ONE_OF(...) one_of((const int[]){__VA_ARGS__}, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int)))

typedef struct problem {
    const char *type;
    int n, in, out, groups, side[2], taps[2], stride, dilation, pad;
    int result[2];
    bool last; /* features */
} problem;

static bool draw_problem(problem *p) {
    *p = (problem){.type = below(4) ? "f32" : "bf16",
                   .n = ONE_OF(1, 1, 2, 3, 4, 5, 8, 16),
                   .groups = ONE_OF(1, 1, 1, 1, 1, 2, 3, 8),
                   .stride = ONE_OF(1, 1, 1, 2, 3),
                   .dilation = ONE_OF(1, 1, 1, 1, 2),
                   .last = below(3) == 0};
    int most = p->n > 5 ? 20 : 40, square = 1 + 2 * below(3);
    p->in = p->groups * ONE_OF(1, 2, 3, 4, 8, 16, 16, 17, 32, 64);
    p->out = p->groups * ONE_OF(1, 2, 5, 8, 9, 16, 16, 32, 33, 64);
    if (p->groups > 1 && below(2)) p->in = p->groups;
    for (int i = 0; i < 2; i++) {
        p->side[i] = 3 + below(most);
        p->taps[i] = below(4) ? square : 1 + below(4);
    }
    p->pad = below(2) ? square / 2 : below(2);
    for (int i = 0; i < 2; i++) {
        int reach = (p->taps[i] - 1) * p->dilation + 1, room = p->side[i] + 2 * p->pad - reach;
        if (room < 0 || p->pad >= reach) return false;
        p->result[i] = room / p->stride + 1;
    }
    int64_t weights = (int64_t)p->in / p->groups * p->out * p->taps[0] * p->taps[1],
            products = weights * p->n * p->result[0] * p->result[1];
    return weights <= 80000 && products <= 60000000 && p->in <= 128 && p->out <= 128;
}

/* tensor<...> of batch, features and space, in the order of `dims`: "bf01" or "b01f". */
static void type_of(const problem *p, const char *dims, int batch, int features, const int space[2], str *out) {
    str_printf(out, "tensor<");
    for (const char *c = dims; *c; c++)
        str_printf(out, "%dx", *c == 'b' ? batch : *c == 'f' ? features : space[*c - '0']);
    str_printf(out, "%s>", p->type);
}
static void numbers_of(const char *dims, const char *names, str *out) { /* names: what stand for b and f */
    for (size_t i = 0; dims[i]; i++)
        str_printf(out, "%s%c", i ? ", " : "", dims[i] == 'b' ? names[0] : dims[i] == 'f' ? names[1] : dims[i]);
}

typedef enum form { FORWARD, DATA, WEIGHTS } form;
/* The program that autograd makes of a convolution: the gradient of its input reads a kernel that is turned around and
 * a result with holes, that of its kernel an image whose batch and features have changed roles. */
static void text_of(const problem *p, form f, str *out) {
    const char *image = p->last ? "b01f" : "bf01", *kernel = "bf01"; /* a kernel: out, in */
    str x = {0}, w = {0}, y = {0}, window = {0}, numbers = {0};
    type_of(p, image, p->n, p->in, p->side, &x);
    type_of(p, kernel, p->out, p->in / p->groups, p->taps, &w);
    type_of(p, image, p->n, p->out, p->result, &y);
    const char *a = str_cstr(f == DATA ? &y : &x), *b = str_cstr(f == WEIGHTS ? &y : &w),
               *r = str_cstr(f == FORWARD ? &y
                             : f == DATA  ? &x
                                          : &w);
    int low[2], high[2];
    for (int i = 0; i < 2; i++) {
        int reach = (p->taps[i] - 1) * p->dilation + 1, spread = (p->result[i] - 1) * p->stride + 1;
        low[i] = f == DATA ? reach - 1 - p->pad : p->pad;
        high[i] = f == FORWARD ? p->pad
                  : f == DATA  ? p->side[i] + reach - 1 - low[i] - spread
                               : (p->taps[i] - 1) * p->dilation + spread - p->side[i] - low[i];
    }
    int one = 1;
    const int *step = f == FORWARD ? &p->stride
                      : f == DATA  ? &one
                                   : &p->dilation,
              *holes = f == DATA ? &p->stride : &one, *apart = f == WEIGHTS ? &p->stride : &p->dilation;
    str_printf(&window,
               "stride = [%d, %d], pad = [[%d, %d], [%d, %d]], lhs_dilate = [%d, %d], rhs_dilate = [%d, %d], reverse = "
               "[%s, %s]",
               *step, *step, low[0], high[0], low[1], high[1], *holes, *holes, *apart, *apart,
               f == DATA ? "true" : "false", f == DATA ? "true" : "false");
    str_printf(&numbers, "[");
    numbers_of(image, f == WEIGHTS ? "fb" : "bf", &numbers);
    str_printf(&numbers, "]x[");
    numbers_of(f == WEIGHTS ? image : kernel, f == FORWARD ? "oi" : f == DATA ? "io" : "io", &numbers);
    str_printf(&numbers, "]->[");
    numbers_of(f == WEIGHTS ? kernel : image, f == WEIGHTS ? "fb" : "bf", &numbers);
    str_printf(&numbers, "]");
    str_printf(
        out,
        "func.func @main(%%a: %s, %%b: %s) -> %s {\n%%0 = stablehlo.convolution(%%a, %%b) dim_numbers = %s, window "
        "= {%s} {feature_group_count = %d : i64, batch_group_count = %d : i64} : (%s, %s) -> %s\nreturn %%0 : "
        "%s\n}\n",
        a, b, r, str_cstr(&numbers), str_cstr(&window), f == WEIGHTS ? 1 : p->groups, f == WEIGHTS ? p->groups : 1, a,
        b, r, r);
    str_free(&x), str_free(&w), str_free(&y), str_free(&window), str_free(&numbers);
}

/* Whether it is left to the kernel for all of them, which is several times slower. */
static bool is_by_any(const char *name, const char *text) {
    cpu_exec *e = NULL;
    bool found = false;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), name);
    for (size_t i = 0; i < e->plan.n_thunks; i++)
        found = found || !strcmp(e->plan.thunks[i].kernel->name, "convolution-any");
    cpu_exec_free(e);
    return found;
}

/* --- what it should be: sums in f64 --- */
typedef struct operand {
    double *at;
    int64_t first, second,
        space[2]; /* strides: of batch and features of an image, of features out and in of a kernel */
} operand;

static operand image_of(const problem *p, int features, const int space[2]) {
    operand o = {.first = (int64_t)features * space[0] * space[1]};
    o.second = p->last ? 1 : (int64_t)space[0] * space[1];
    o.space[1] = p->last ? features : 1;
    o.space[0] = o.space[1] * space[1];
    return o;
}
static void convolve(const problem *p, form f, const operand *x, const operand *w, const operand *y) {
    const int in = p->in / p->groups, out = p->out / p->groups;
    for (int n = 0; n < p->n; n++)
        for (int o = 0; o < p->out; o++)
            for (int i = 0; i < in; i++)
                for (int k = 0; k < p->taps[0] * p->taps[1]; k++)
                    for (int r = 0; r < p->result[0]; r++) {
                        const int kr = k / p->taps[1], kc = k % p->taps[1];
                        const int row = r * p->stride - p->pad + kr * p->dilation;
                        if (row < 0 || row >= p->side[0]) continue;
                        double *a = x->at + n * x->first + (o / out * in + i) * x->second + row * x->space[0],
                               *b = w->at + o * w->first + i * w->second + kr * w->space[0] + kc,
                               *c = y->at + n * y->first + o * y->second + r * y->space[0];
                        for (int q = 0; q < p->result[1]; q++) {
                            const int column = q * p->stride - p->pad + kc * p->dilation;
                            if (column < 0 || column >= p->side[1]) continue;
                            double *from = a + column * x->space[1], *to = c + q * y->space[1];
                            if (f == FORWARD) *to += *from * *b;
                            if (f == DATA) *from += *to * *b;
                            if (f == WEIGHTS) *b += *from * *to;
                        }
                    }
}

static double *doubles(const array *a) {
    double *d = base_malloc(sizeof *d * (size_t)a->type->count);
    assert_non_null(d);
    for (int64_t i = 0; i < a->type->count; i++) d[i] = array_get(a, i);
    return d;
}

static bool is_right(const problem *p, form f, const char *name, const char *text, const void *bits) {
    cpu_exec *e = NULL;
    array in[2] = {0}, result = {0};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 1}, &e), name);
    for (size_t i = 0; i < 2; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), name);
        fill_random(&in[i], 100 + i);
    }
    expect_ok(array_new(cpu_exec_output_type(e, 0), &result), name);
    operand x = image_of(p, p->in, p->side), y = image_of(p, p->out, p->result),
            w = {.first = (int64_t)p->in / p->groups * p->taps[0] * p->taps[1], .second = p->taps[0] * p->taps[1]};
    w.space[0] = p->taps[1];
    double *a = doubles(&in[0]), *b = doubles(&in[1]), *sums = doubles(&result), most = 0, worst = 0;
    x.at = f == DATA ? sums : a;
    w.at = f == WEIGHTS ? sums : b;
    y.at = f == FORWARD ? sums : f == DATA ? a : b;
    memset(sums, 0, sizeof *sums * (size_t)result.type->count);
    convolve(p, f, &x, &w, &y);
    memcpy(result.data, bits, ir_type_bytes(result.type));
    for (int64_t i = 0; i < result.type->count; i++) {
        double off = fabs(array_get(&result, i) - sums[i]);
        most = fmax(most, fabs(sums[i]));
        worst = off <= worst ? worst : off; /* NaN stays */
    }
    bool half = p->type[0] == 'b', right = worst <= most * (half ? 0x1p-6 : 1e-5);
    if (!right) print_error("%s: off by %g, the largest is %g\n", name, worst, most);
    base_free(a), base_free(b), base_free(sums);
    for (size_t i = 0; i < 2; i++) array_free(&in[i]);
    array_free(&result);
    cpu_exec_free(e);
    return right;
}

static int ran, by_any, differ_count, wrong_count;

/* Forward and both gradients; whether none is left to the slow kernel. */
static bool run_problem(const problem *p, unsigned long long number) {
    static const char *const forms[] = {"forward", "input's gradient", "kernel's gradient"};
    int slow = by_any;
    for (form f = FORWARD; f <= WEIGHTS; f++) {
        if (f == DATA && p->groups > 1) continue; /* XLA's form of it regroups the kernel first */
        str text = {0};
        char name[200];
        snprintf(name, sizeof name,
                 "%llu %s %s: n %d in %d out %d groups %d %dx%d taps %dx%d stride %d dil %d pad %d%s", number, forms[f],
                 p->type, p->n, p->in, p->out, p->groups, p->side[0], p->side[1], p->taps[0], p->taps[1], p->stride,
                 p->dilation, p->pad, p->last ? " channels last" : "");
        text_of(p, f, &text);
        size_t n, m;
        char *one = bits_on(name, str_cstr(&text), 1, &n);
        wrong_count += !is_right(p, f, name, str_cstr(&text), one);
        for (size_t t = 0; t < BASE_COUNT(numbers_of_threads); t++) {
            char *more = bits_on(name, str_cstr(&text), numbers_of_threads[t], &m);
            bool same = n == m && memcmp(one, more, n) == 0;
            base_free(more);
            if (same) continue;
            print_error("%s: other bits on %d threads than on one\n", name, numbers_of_threads[t]);
            differ_count++;
            break;
        }
        base_free(one);
        by_any += is_by_any(name, str_cstr(&text));
        str_free(&text);
        ran++;
    }
    return by_any == slow;
}

/* Some as models have them, which no level leaves to the slow kernel. bf16 is oneDNN's with AVX-512 only. */
static int run_models(void) {
    static const problem models[] = {
        {"f32", 4, 3, 64, 1, {40, 40}, {7, 7}, 2, 1, 3, {20, 20}, false},
        {"f32", 4, 64, 64, 1, {15, 14}, {3, 3}, 1, 1, 1, {15, 14}, false},
        {"f32", 8, 64, 128, 1, {10, 10}, {3, 3}, 2, 1, 1, {5, 5}, false},
        {"f32", 3, 128, 64, 1, {14, 14}, {1, 1}, 1, 1, 0, {14, 14}, true},
        {"f32", 5, 128, 128, 1, {7, 7}, {3, 3}, 1, 1, 1, {7, 7}, false},
        {"f32", 4, 96, 96, 96, {14, 14}, {3, 3}, 1, 1, 1, {14, 14}, false},
    };
    int missing = 0;
    dnnl_util_engine(); /* heeds XT_CPU_FEATURES */
    const unsigned asked = (unsigned)dnnl_cpu_isa_avx512_core, has = (unsigned)dnnl_get_effective_cpu_isa();
    for (size_t i = 0; i < BASE_COUNT(models); i++)
        for (int half = 0; half < ((has & asked) == asked ? 2 : 1); half++) {
            problem p = models[i];
            if (half) p.type = "bf16";
            if (run_problem(&p, i)) continue;
            print_error("model %zu of %s: by the slow kernel\n", i, p.type);
            missing++;
        }
    return missing;
}

static int run_drawn(uint64_t seed, int count) {
    int missing = count > 1 ? run_models() : 0;
    for (int i = 0; i < count; i++) {
        problem p;
        state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15u;
        while (!draw_problem(&p)) continue;
        run_problem(&p, seed + (uint64_t)i);
    }
    printf("%d convolutions, %d of them by the slow kernel, %d differ, %d wrong\n", ran, by_any, differ_count,
           wrong_count);
    return differ_count > 0 || wrong_count > 0 || missing > 0;
}

static void drawn(void **unused) {
    (void)unused;
    static const int once_wrong[] = {21, 5303, 5321, 5887};
    static const char *const levels[] = {"avx512", "avx2", "base"};
    int failed = 0;
    for (size_t i = 0; i < BASE_COUNT(levels); i++) {
        char command[2048];
        snprintf(command, sizeof command, "XT_CPU_FEATURES=%s '%s' drawn 1 %d", levels[i], self,
                 all         ? 1000
                 : SANITIZED ? 8
                             : 40);
        int status = system(command);
        for (size_t k = 0; k < BASE_COUNT(once_wrong) && status == 0; k++) {
            snprintf(command, sizeof command, "XT_CPU_FEATURES=%s '%s' drawn %d 1", levels[i], self, once_wrong[k]);
            status = system(command);
        }
        if (status != 0) {
            failed++;
            print_error("%s: exit %d\n", levels[i], WIFEXITED(status) ? WEXITSTATUS(status) : 1000);
        }
    }
    if (failed) fail_msg("%d levels", failed);
}

int main(int argc, char **argv) {
    self = argv[0];
    all = argc > 1 && !strcmp(argv[1], "all");
    if (argc > 3 && !strcmp(argv[1], "drawn")) return run_drawn(strtoull(argv[2], NULL, 10), atoi(argv[3]));
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
