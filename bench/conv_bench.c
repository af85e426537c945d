/* Winograd against direct convolutions, per shape and pass: time of the convolution alone (blocked images), and error.
 *
 *     conv_bench [THREADS]
 *
 * This is what the rule of src/cpu/kernel/conv_form.c (conv_winograd_is_meant) was taken from. Errors are against sums
 * in f64 of the same operands, the largest of some hundred sampled results, relative to the largest result; for bf16
 * they contain the rounding of the result itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu/run/plan.h"

typedef struct shape {
    int64_t n, in, out, side;
} shape;
static const shape shapes[] = {{16, 64, 64, 56},  {16, 128, 128, 28}, {16, 256, 256, 14}, {16, 512, 512, 7},
                               {32, 64, 64, 8},   {96, 128, 128, 4},  {96, 256, 256, 2},  {32, 32, 32, 32},
                               {16, 64, 192, 28}, {8, 64, 64, 31}};
enum { FORWARD, DATA, WEIGHTS, SAMPLES = 256, RUNS = 8 };
static const char *const passes[] = {"forward", "data", "weights"};

/* Gives freed memory again, as the device does: fresh pages cost more than the convolution. */
static struct {
    void *p;
    size_t n;
} kept[8];
static xt_status take(void *user, size_t n, void **out) {
    (void)user;
    for (size_t i = 0; i < BASE_COUNT(kept); i++)
        if (kept[i].p && kept[i].n == n) {
            *out = kept[i].p;
            kept[i].p = NULL;
            return NULL;
        }
    *out = base_aligned(64, n ? n : 1);
    return *out ? NULL : status_oom(n, "a benchmark");
}
static void give(void *user, void *p, size_t n) {
    (void)user;
    for (size_t i = 0; i < BASE_COUNT(kept); i++)
        if (!kept[i].p) {
            kept[i].p = p;
            kept[i].n = n;
            return;
        }
    base_free(p);
}

static void print_program(const shape *s, int pass, const char *type, str *out) {
    char x[64], y[64], w[64];
    snprintf(x, sizeof x, "tensor<%lldx%lldx%lldx%lldx%s>", (long long)s->n, (long long)s->in, (long long)s->side,
             (long long)s->side, type);
    snprintf(y, sizeof y, "tensor<%lldx%lldx%lldx%lldx%s>", (long long)s->n, (long long)s->out, (long long)s->side,
             (long long)s->side, type);
    snprintf(w, sizeof w, "tensor<%lldx%lldx3x3x%s>", (long long)s->out, (long long)s->in, type);
    const char *a = pass == DATA ? y : x, *b = pass == WEIGHTS ? y : w, *r = pass == FORWARD ? y : pass == DATA ? x : w;
    static const char *const numbers[] = {"[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                                          "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
                                          "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]"};
    str_printf(out,
               "func.func @main(%%a: %s, %%b: %s) -> %s {\n"
               "%%0 = stablehlo.convolution(%%a, %%b) dim_numbers = %s, window = {pad = [[1, 1], [1, 1]]%s} "
               "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s\nreturn %%0 : %s\n}\n",
               a, b, r, numbers[pass], pass == DATA ? ", reverse = [true, true]" : "", a, b, r, r);
}

static double at(const array *t, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t *n = t->type->dims;
    return c < 0 || d < 0 || c >= n[2] || d >= n[3] ? 0 : array_get(t, ((a * n[1] + b) * n[2] + c) * n[3] + d);
}

/* Element (a, b, c, d) of the result, in f64. */
static double reference(const shape *s, int pass, const array *in, int64_t a, int64_t b, int64_t c, int64_t d) {
    double sum = 0;
    if (pass == WEIGHTS) {
        for (int64_t n = 0; n < s->n; n++)
            for (int64_t y = 0; y < s->side; y++)
                for (int64_t x = 0; x < s->side; x++)
                    sum += at(&in[0], n, b, y + c - 1, x + d - 1) * at(&in[1], n, a, y, x);
        return sum;
    }
    int64_t many = pass == FORWARD ? s->in : s->out;
    for (int64_t k = 0; k < many; k++)
        for (int64_t y = 0; y < 3; y++)
            for (int64_t x = 0; x < 3; x++)
                sum += pass == FORWARD ? at(&in[0], a, k, c + y - 1, d + x - 1) * at(&in[1], b, k, y, x)
                                       : at(&in[0], a, k, c + 1 - y, d + 1 - x) * at(&in[1], k, b, y, x);
    return sum;
}

static double error_of(const shape *s, int pass, const array *in, const array *out) {
    double worst = 0, largest = 0;
    const int64_t *n = out->type->dims;
    for (int i = 0; i < SAMPLES; i++) {
        int64_t k = (int64_t)(rng_bits(7, 7, (uint64_t)i) % (uint64_t)out->type->count);
        double want = reference(s, pass, in, k / (n[1] * n[2] * n[3]), k / (n[2] * n[3]) % n[1], k / n[3] % n[2],
                                k % n[3]),
               e = fabs(array_get(out, k) - want);
        if (e > worst) worst = e;
        if (fabs(want) > largest) largest = fabs(want);
    }
    return worst / largest;
}

static xt_status measure(const shape *s, int pass, const char *type, int threads, const char *winograd, double *out_ms,
                         double *out_error, const char **out_kernel) {
    str text = STR_INIT;
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[2] = {0}, out = {0};
    int from;
    cpu_alloc a = {NULL, take, give};
    setenv("XT_CPU_LAYOUT", "blocked", 1);
    setenv("XT_CPU_WINOGRAD", winograd, 1);
    print_program(s, pass, type, &text);
    xt_status st = cpu_compile(str_cstr(&text), text.len, &(cpu_compile_opts){.threads = threads}, &e);
    if (!st) st = cpu_device_new(threads, NULL, &d);
    if (!st && !(e->profile = base_calloc(2 * e->plan.n_thunks + 1, sizeof *e->profile)))
        st = status_oom(0, "a benchmark");
    for (size_t i = 0; i < 2 && !st; i++) {
        st = array_new(cpu_exec_input_type(e, i), &in[i]);
        for (int64_t k = 0; !st && k < in[i].type->count; k++)
            array_set(&in[i], k, (double)(rng_bits(i, 1, (uint64_t)k) >> 40) / 8388608.0 - 1.0);
    }
    for (int i = 0; i < RUNS && !st; i++) {
        st = cpu_run(e, d, &a, in, (bool[2]){false, false}, &out, &from);
        if (!st && i == RUNS - 1) *out_error = error_of(s, pass, in, &out);
        if (!st) give(NULL, out.data, ir_type_bytes(out.type));
    }
    for (size_t t = 0; t < e->plan.n_thunks && !st; t++)
        if (strstr(e->plan.thunks[t].kernel->name, "conv")) {
            *out_ms = (double)e->profile[2 * t + 1] / 1e6;
            *out_kernel = e->plan.thunks[t].kernel->name;
        }
    if (e) base_free((void *)(uintptr_t)e->profile), e->profile = NULL;
    for (int i = 0; i < 2; i++) array_free(&in[i]);
    for (size_t i = 0; i < BASE_COUNT(kept); i++) base_free(kept[i].p), kept[i].p = NULL;
    cpu_device_free(d);
    cpu_exec_free(e);
    str_free(&text);
    return st;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : team_default_threads();
    printf("%-22s %-8s %-5s %9s %9s %7s %10s %10s  by rule\n", "images, features, side", "pass", "type", "direct ms",
           "wino ms", "ratio", "error", "error wino");
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (int t = 0; t < 2; t++)
            for (int pass = FORWARD; pass <= WEIGHTS; pass++) {
                const shape *s = &shapes[i];
                double ms[3] = {0}, error[3] = {0};
                const char *kernel[3] = {"", "", ""}, *type = t ? "bf16" : "f32";
                static const char *const ways[] = {"off", "always", "on"};
                for (int k = 0; k < 3; k++) {
                    xt_status st = measure(s, pass, type, threads, ways[k], &ms[k], &error[k], &kernel[k]);
                    if (!st) continue;
                    fprintf(stderr, "conv_bench: %s\n", xt_status_message(st));
                    xt_status_free(st);
                    return 1;
                }
                bool has = strstr(kernel[1], "winograd") != NULL;
                printf("%3lld %4lld->%-4lld %4lld      %-8s %-5s %9.3f %9.3f %7.2f %10.1e %10.1e  %s\n",
                       (long long)s->n, (long long)s->in, (long long)s->out, (long long)s->side, passes[pass], type,
                       ms[0], has ? ms[1] : 0, has ? ms[0] / ms[1] : 0, error[0], has ? error[1] : 0,
                       strstr(kernel[2], "winograd") ? "winograd" : "direct");
                fflush(stdout);
            }
    return 0;
}
