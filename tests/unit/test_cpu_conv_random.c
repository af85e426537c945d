/* Random convolutions with both gradients, interpreter against compiler: sizes, strides, dilations, padding and groups
 * that no model uses are as right as those that all use, whichever kernel (ours or oneDNN's) the instruction set has
 * for them. XT_TEST_SEED and XT_TEST_COUNT choose others than the usual ones (tests/slow/layouts.sh). */
#include <stdio.h>

#include "cpu_layouts.h"
#include "cpu_levels.h"

static long number_from(const char *name, long fallback) {
    const char *v = getenv(name);
    return v ? strtol(v, NULL, 10) : fallback;
}

/* Along both dims of space alike, but for the image's size. `in` and `out` are channels of one group. */
typedef struct shape {
    int n, groups, in, out, h, w, kernel, stride, dilation, pad, out_h, out_w;
    bool last; /* channels are innermost */
} shape;

static int pick(uint64_t *state, const int *from, size_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return from[(*state >> 33) % n];
}
#define PICK(state, ...) pick(state, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static int reach(const shape *s) {
    return (s->kernel - 1) * s->dilation + 1;
}

static shape shape_of(uint64_t seed) {
    uint64_t *g = &seed;
    shape s = {0};
    for (int i = 0; i < 3; i++) (void)PICK(g, 0); /* neighbouring seeds begin alike */
    s.last = PICK(g, 0, 1);
    s.n = PICK(g, 1, 2, 3, 4);
    s.groups = PICK(g, 1, 1, 1, 1, 2, 3, 8);
    s.in = PICK(g, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32);
    s.out = PICK(g, 1, 2, 3, 5, 8, 11, 16, 20, 32);
    s.kernel = PICK(g, 1, 1, 1, 2, 3, 3, 5);
    s.stride = PICK(g, 1, 1, 2, 2, 3);
    s.dilation = PICK(g, 1, 1, 1, 2);
    s.pad = PICK(g, 0, 1) * (s.kernel / 2);
    s.h = PICK(g, 1, 2, 4, 5, 6, 8, 9, 12);
    s.w = PICK(g, 1, 3, 4, 6, 7, 8, 10, 12);
    if (s.h + 2 * s.pad < reach(&s)) s.h = reach(&s);
    if (s.w + 2 * s.pad < reach(&s)) s.w = reach(&s);
    s.out_h = (s.h + 2 * s.pad - reach(&s)) / s.stride + 1;
    s.out_w = (s.w + 2 * s.pad - reach(&s)) / s.stride + 1;
    return s;
}

static void image(str *to, const shape *s, int channels, int h, int w) {
    if (s->last)
        str_printf(to, "tensor<%dx%dx%dx%dxf32>", s->n, h, w, channels);
    else
        str_printf(to, "tensor<%dx%dx%dx%dxf32>", s->n, channels, h, w);
}

/* What the second padding of a dim has to be for the gradients: of the image (its size `n`, the result's `m`), and of
 * the kernel. */
static int data_pad(const shape *s, int n, int m) {
    return n - ((m - 1) * s->stride + 1) + s->pad;
}
static int kernel_pad(const shape *s, int n, int m) {
    return (s->kernel - 1) * s->dilation + (m - 1) * s->stride + 1 - n - s->pad;
}

/* Of (x, kernel, gradient of the result): result, gradient of the kernel, and without groups that of x. */
static void program(const shape *s, str *to) {
    str x = STR_INIT, y = STR_INIT, k = STR_INIT;
    const char *dims = s->last ? "b, 0, 1, f" : "b, f, 0, 1", *turned = s->last ? "f, 0, 1, b" : "f, b, 0, 1";
    int lead = reach(s) - 1 - s->pad;
    bool one = s->groups == 1;
    image(&x, s, s->groups * s->in, s->h, s->w);
    image(&y, s, s->groups * s->out, s->out_h, s->out_w);
    str_printf(&k, "tensor<%dx%dx%dx%dxf32>", s->groups * s->out, s->in, s->kernel, s->kernel);
    str_printf(to, "func.func @main(%%x: %s, %%k: %s, %%g: %s) -> (%s, %s%s%s) {\n", str_cstr(&x), str_cstr(&k),
               str_cstr(&y), str_cstr(&y), str_cstr(&k), one ? ", " : "", one ? str_cstr(&x) : "");
    str_printf(to,
               "%%y = stablehlo.convolution(%%x, %%k) dim_numbers = [%s]x[o, i, 0, 1]->[%s], window = {stride = "
               "[%d, %d], pad = [[%d, %d], [%d, %d]], rhs_dilate = [%d, %d]} {batch_group_count = 1 : i64, "
               "feature_group_count = %d : i64} : (%s, %s) -> %s\n",
               dims, dims, s->stride, s->stride, s->pad, s->pad, s->pad, s->pad, s->dilation, s->dilation, s->groups,
               str_cstr(&x), str_cstr(&k), str_cstr(&y));
    str_printf(to,
               "%%dk = stablehlo.convolution(%%x, %%g) dim_numbers = [%s]x[%s]->[f, b, 0, 1], window = {stride = "
               "[%d, %d], pad = [[%d, %d], [%d, %d]], rhs_dilate = [%d, %d]} {batch_group_count = %d : i64, "
               "feature_group_count = 1 : i64} : (%s, %s) -> %s\n",
               turned, s->last ? "i, 0, 1, o" : "i, o, 0, 1", s->dilation, s->dilation, s->pad,
               kernel_pad(s, s->h, s->out_h), s->pad, kernel_pad(s, s->w, s->out_w), s->stride, s->stride, s->groups,
               str_cstr(&x), str_cstr(&y), str_cstr(&k));
    if (one)
        str_printf(to,
                   "%%r = stablehlo.reverse %%k, dims = [2, 3] : %s\n"
                   "%%dx = stablehlo.convolution(%%g, %%r) dim_numbers = [%s]x[i, o, 0, 1]->[%s], window = {pad = "
                   "[[%d, %d], [%d, %d]], lhs_dilate = [%d, %d], rhs_dilate = [%d, %d]} {batch_group_count = 1 : i64, "
                   "feature_group_count = 1 : i64} : (%s, %s) -> %s\n",
                   str_cstr(&k), dims, dims, lead, data_pad(s, s->h, s->out_h), lead, data_pad(s, s->w, s->out_w),
                   s->stride, s->stride, s->dilation, s->dilation, str_cstr(&y), str_cstr(&k), str_cstr(&x));
    str_printf(to, "return %%y, %%dk%s : %s, %s%s%s\n}\n", one ? ", %dx" : "", str_cstr(&y), str_cstr(&k),
               one ? ", " : "", one ? str_cstr(&x) : "");
    str_free(&x);
    str_free(&y);
    str_free(&k);
}

static bool agrees(const shape *s, const char *name, int threads) {
    str text = STR_INIT;
    layout_terms c = {.tol = 1e-4, .n_layouts = 1, .threads = threads};
    program(s, &text);
    bool same = layouts_agree(name, str_cstr(&text), &c);
    if (!same) fprintf(stderr, "%s\n", str_cstr(&text));
    str_free(&text);
    return same;
}

static void convolutions_agree(void **state) {
    (void)state;
    long first = number_from("XT_TEST_SEED", 1), count = number_from("XT_TEST_COUNT", 300), failed = 0;
    for (long i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "seed %ld", first + i);
        shape s = shape_of((uint64_t)(first + i));
        failed += !agrees(&s, name, 1 + (int)(i % 2));
    }
    if (failed) fail_msg("%ld of %ld convolutions give something else than the interpreter", failed, count);
}

/* What oneDNN 2.6.3 computes wrongly with AVX2, writing behind its scratchpad (dnnl_util.c). */
static void few_channels_at_strides(void **state) {
    (void)state;
    for (int in = 1; in < 8; in++)
        for (int side = 8; side <= 16; side += 4) {
            shape s = {1, 1, in, 5, side, side, 1, 2, 1, 0, side / 2, side / 2, true};
            char name[40];
            snprintf(name, sizeof name, "%d channels, %d x %d", in, side, side);
            assert_true(agrees(&s, name, 1));
        }
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_agree), cmocka_unit_test(few_channels_at_strides),
                                       cmocka_unit_test(other_instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
