/* Kernels with one image a lane: convolutions in three forms and windows whose batch is the innermost dim, the loops of
 * every instruction set this machine has, and the pass that brings networks of few channels into that layout. */
#include "cpu_differential.h"

#include "cpu/run/plan.h"
#include "cpu/vector/chwn.h"

typedef struct shape {
    int n, c, h, w, o, k, stride, pad, dil;
} shape;
static const shape shapes[] = {
    {16, 1, 9, 8, 10, 5, 1, 0, 1},  {7, 3, 6, 7, 5, 3, 1, 1, 1},   {32, 10, 7, 6, 20, 5, 1, 0, 1},
    {19, 2, 9, 11, 13, 3, 2, 1, 1}, {4, 1, 5, 5, 1, 1, 1, 0, 1},   {33, 4, 8, 9, 7, 3, 1, 2, 2},
    {16, 5, 9, 9, 3, 7, 1, 3, 1},   {40, 3, 8, 8, 25, 2, 2, 0, 1}, {96, 2, 5, 6, 6, 3, 1, 1, 1},
    {128, 3, 4, 5, 4, 4, 1, 0, 1},  {17, 6, 7, 12, 9, 6, 1, 0, 1}, {24, 2, 10, 9, 8, 3, 3, 1, 2},
};

static int out_size(const shape *s, int in) {
    return (in + 2 * s->pad - (s->k - 1) * s->dil - 1) / s->stride + 1;
}

typedef enum form { FORWARD, DATA, DATA_REVERSED, WEIGHTS, FORM_COUNT } form;
static void print_form(const shape *s, form f, char *buf, size_t size) {
    int oh = out_size(s, s->h), ow = out_size(s, s->w), reach = (s->k - 1) * s->dil, back = reach - s->pad;
    char x[64], w[64], y[64], dil[64];
    snprintf(x, sizeof x, "tensor<%dx%dx%dx%dxf32>", s->c, s->h, s->w, s->n);
    snprintf(w, sizeof w, "tensor<%dx%dx%dx%dxf32>", s->o, s->c, s->k, s->k);
    snprintf(y, sizeof y, "tensor<%dx%dx%dx%dxf32>", s->o, oh, ow, s->n);
    snprintf(dil, sizeof dil, "rhs_dilate = [%d, %d]", s->dil, s->dil);
    const char *a = f == FORWARD || f == WEIGHTS ? x : y, *b = f == WEIGHTS ? y : w,
               *r = f == FORWARD   ? y
                    : f == WEIGHTS ? w
                                   : x;
    const char *dims = f == FORWARD   ? "[f, 0, 1, b]x[o, i, 0, 1]->[f, 0, 1, b]"
                       : f == WEIGHTS ? "[b, 0, 1, f]x[o, 0, 1, i]->[f, b, 0, 1]"
                                      : "[f, 0, 1, b]x[i, o, 0, 1]->[f, 0, 1, b]";
    char window[256], reverse[256] = "";
    int spread_h = (oh - 1) * s->stride + 1, spread_w = (ow - 1) * s->stride + 1;
    if (f == FORWARD)
        snprintf(window, sizeof window, "stride = [%d, %d], pad = [[%d, %d], [%d, %d]], %s", s->stride, s->stride,
                 s->pad, s->pad, s->pad, s->pad, dil);
    else if (f == WEIGHTS)
        snprintf(window, sizeof window, "stride = [%d, %d], pad = [[%d, %d], [%d, %d]], rhs_dilate = [%d, %d]", s->dil,
                 s->dil, s->pad, reach + spread_h - s->h - s->pad, s->pad, reach + spread_w - s->w - s->pad, s->stride,
                 s->stride);
    else
        snprintf(window, sizeof window, "stride = [1, 1], pad = [[%d, %d], [%d, %d]], lhs_dilate = [%d, %d], %s%s",
                 back, s->h - spread_h + reach - back, back, s->w - spread_w + reach - back, s->stride, s->stride, dil,
                 f == DATA ? "" : ", reverse = [true, true]");
    if (f == DATA) snprintf(reverse, sizeof reverse, "%%r = stablehlo.reverse %%b, dims = [2, 3] : %s\n", w);
    snprintf(buf, size,
             "func.func @main(%%a: %s, %%b: %s) -> %s {\n"
             "%s%%0 = stablehlo.convolution(%%a, %s) dim_numbers = %s, window = {%s} "
             "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s\nreturn %%0 : %s\n}\n",
             a, b, r, reverse, f == DATA ? "%r" : "%b", dims, window, a, b, r, r);
}

static void expect_kernel(const char *text, const char *kernel, bool want) {
    cpu_exec *e;
    str plan = STR_INIT;
    expect_ok(cpu_compile(text, strlen(text), NULL, &e), kernel);
    cpu_plan_print(e, &plan);
    if ((strstr(str_cstr(&plan), kernel) != NULL) != want)
        fail_msg("%s is %sexpected in\n%s%s", kernel, want ? "" : "not ", str_cstr(&plan), text);
    str_free(&plan);
    cpu_exec_free(e);
}

/* These lie with their images last already: the pass that looks for a better layout would take the channels of some for
 * images, depending on how many lanes the processor has. */
static void as_they_lie(bool on) {
    if (on)
        setenv("XT_PASSES", "-opt_batch_last", 1);
    else
        unsetenv("XT_PASSES");
}

static void convolutions_agree(void **state) {
    (void)state;
    as_they_lie(true);
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (form f = FORWARD; f < FORM_COUNT; f++) {
            char text[2048], name[64];
            const shape *s = &shapes[i];
            int window = out_size(s, s->h) * out_size(s, s->w);
            print_form(s, f, text, sizeof text);
            snprintf(name, sizeof name, "shape %zu form %d", i, (int)f);
            differ(name, text, 1e-4, 2, false);
            if (f != WEIGHTS || window >= 2 * s->k * s->k)
                expect_kernel(text, f == WEIGHTS ? "chwn-conv-weights" : "chwn-conv ", true);
        }
    as_they_lie(false);
}

/* What one thread computes and what three compute are the same bits. */
static void run(const char *text, int threads, array *out) {
    cpu_exec *e;
    cpu_device *d;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array in[DIFF_MAX] = {0};
    int from[DIFF_MAX];
    bool donated[DIFF_MAX] = {0};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), "compile");
    expect_ok(cpu_device_new(threads, NULL, &d), "device");
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), "input");
        fill_random(&in[i], 7 + i);
    }
    expect_ok(cpu_run(e, d, &a, in, donated, out, from), "run");
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
}
static void threads_do_not_matter(void **state) {
    (void)state;
    as_they_lie(true);
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (form f = FORWARD; f < FORM_COUNT; f++) {
            char text[2048];
            array one[1], three[1];
            print_form(&shapes[i], f, text, sizeof text);
            run(text, 1, one);
            run(text, 3, three);
            assert_memory_equal(one[0].data, three[0].data, ir_type_bytes(one[0].type));
            base_free(one[0].data);
            base_free(three[0].data);
        }
    as_they_lie(false);
}

/* --- windows --- */
static void print_pool(char *buf, size_t size, const char *in, const char *out, const char *padding, const char *window,
                       const char *strides, const char *rest) {
    int n = snprintf(buf, size,
                     "func.func @main(%%x: tensor<%sxf32>, %%s: tensor<%sxf32>) -> (tensor<%sxf32>, tensor<%sxf32>, "
                     "tensor<%sxf32>) {\n"
                     "%%m = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                     "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n",
                     in, out, out, out, in);
    static const char *const folds[2][2] = {{"maximum", "%m"}, {"add", "%z"}};
    for (int i = 0; i < 2; i++)
        n += snprintf(buf + n, size - (size_t)n,
                      "%%%d = \"stablehlo.reduce_window\"(%%x, %s) <{padding = dense<[%s]> : tensor<4x2xi64>, "
                      "window_dimensions = array<i64: %s>, "
                      "window_strides = array<i64: %s>%s}> ({\n"
                      "^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                      "%%q = stablehlo.%s %%a, %%b : tensor<f32>\n"
                      "stablehlo.return %%q : tensor<f32>\n}) : (tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n",
                      i, folds[i][1], padding, window, strides, rest, folds[i][0], in, out);
    snprintf(buf + n, size - (size_t)n,
             "%%2 = \"stablehlo.select_and_scatter\"(%%x, %%s, %%z) <{padding = dense<[%s]> : tensor<4x2xi64>, "
             "window_dimensions = array<i64: %s>, "
             "window_strides = array<i64: %s>}> ({\n^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
             "%%q = stablehlo.compare GE, %%a, %%b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
             "stablehlo.return %%q : tensor<i1>\n"
             "}, {\n"
             "^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
             "%%q = stablehlo.add %%a, %%b : tensor<f32>\n"
             "stablehlo.return %%q : tensor<f32>\n"
             "}) : "
             "(tensor<%sxf32>, tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n"
             "return %%0, %%1, %%2 : tensor<%sxf32>, tensor<%sxf32>, tensor<%sxf32>\n"
             "}\n",
             padding, window, strides, in, out, in, out, out, in);
}

static void windows_agree(void **state) {
    (void)state;
    static const struct {
        const char *name, *in, *out, *window, *strides, *padding;
    } pools[] = {
        {"2x2", "3x6x8x33", "3x3x4x33", "1, 2, 2, 1", "1, 2, 2, 1", "[0, 0], [0, 0], [0, 0], [0, 0]"},
        {"2x2 with a row left over", "3x7x8x16", "3x3x4x16", "1, 2, 2, 1", "1, 2, 2, 1",
         "[0, 0], [0, 0], [0, 0], [0, 0]"},
        {"3x3 overlapping, padded", "2x9x7x100", "2x5x4x100", "1, 3, 3, 1", "1, 2, 2, 1",
         "[0, 0], [1, 1], [1, 1], [0, 0]"},
        {"one dim", "4x6x5x20", "4x6x2x20", "1, 1, 2, 1", "1, 1, 2, 1", "[0, 0], [0, 0], [0, 0], [0, 0]"},
        {"wholly in the padding", "1x4x4x16", "1x4x3x16", "1, 1, 2, 1", "1, 1, 3, 1", "[0, 0], [0, 0], [3, 1], [0, 0]"},
        {"leading", "5x4x4x8", "4x2x4x8", "2, 2, 1, 1", "1, 2, 1, 1", "[0, 0], [0, 0], [0, 0], [0, 0]"},
    };
    for (size_t i = 0; i < BASE_COUNT(pools); i++) {
        char text[4096];
        print_pool(text, sizeof text, pools[i].in, pools[i].out, pools[i].padding, pools[i].window, pools[i].strides,
                   "");
        differ(pools[i].name, text, 1e-5, 2, false);
        expect_kernel(text, "chwn-pool ", true);
        expect_kernel(text, "chwn-pool-grad", true);
    }
}

/* --- every instruction set --- */
static size_t tables(const chwn_ops *out[3]) {
    size_t n = 0;
    out[n++] = &chwn_base;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) out[n++] = &chwn_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        out[n++] = &chwn_avx512;
#endif
    return n;
}

static void close_to(double want, float got, const char *what, int block, int n) {
    if (fabs(want - (double)got) > 1e-4 * (1 + fabs(want)))
        fail_msg("%s block %d, %d images: %g instead of %g", what, block, n, (double)got, want);
}

enum { CHANNELS = 2, ROWS = 3, COLUMNS = 3, KERNEL = 2, WIDEST = 64, FULL = COLUMNS + KERNEL - 1 };
static void loops_agree(void **state) {
    (void)state;
    const chwn_ops *all[3];
    static float in[CHANNELS * ROWS * FULL * WIDEST], w[CHANNELS * KERNEL * KERNEL * CHWN_BLOCK_MAX],
        out[CHWN_BLOCK_MAX * COLUMNS * WIDEST];
    for (size_t i = 0; i < BASE_COUNT(in); i++) in[i] = (float)(rng_bits(1, 1, i) % 64) / 16.0f - 2.0f;
    for (size_t i = 0; i < BASE_COUNT(w); i++) w[i] = (float)(rng_bits(2, 1, i) % 64) / 16.0f - 2.0f;
    chwn_line x[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) x[i] = (chwn_line){0, 1, KERNEL, i, 1};
    for (size_t t = 0, n_tables = tables(all); t < n_tables; t++)
        for (int b = 1; b <= all[t]->block_max; b++)
            for (int images = 1; images <= all[t]->vectors[b] * all[t]->lanes; images += 5) {
                for (size_t i = 0; i < BASE_COUNT(out); i++) out[i] = 77;
                chwn_conv c = {
                    in,
                    ROWS * FULL * WIDEST,
                    FULL * WIDEST,
                    WIDEST,
                    CHANNELS,
                    w,
                    KERNEL * KERNEL * b,
                    KERNEL * b,
                    b,
                    {0, 1, KERNEL, 1, 1},
                    x,
                    COLUMNS,
                    out,
                    COLUMNS * WIDEST,
                    WIDEST,
                    images
                };
                all[t]->conv[b](&c);
                for (int o = 0; o < b; o++)
                    for (int p = 0; p < COLUMNS; p++)
                        for (int i = 0; i < WIDEST; i++) {
                            double want = i < images ? 0 : 77;
                            for (int k = 0; i < images && k < CHANNELS * KERNEL * KERNEL; k++)
                                want += (double)in[((k / 4 * ROWS + 1 + k / 2 % 2) * FULL + p + k % 2) * WIDEST + i] *
                                        (double)w[k * b + o];
                            close_to(want, out[(o * COLUMNS + p) * WIDEST + i], "conv", b, images);
                        }
            }
}

static void gradient_loops_agree(void **state) {
    (void)state;
    const chwn_ops *all[3];
    static float in[ROWS * 8 * WIDEST], dy[CHWN_BLOCK_MAX * ROWS * COLUMNS * WIDEST],
        sums[CHWN_COLUMNS_MAX * CHWN_BLOCK_MAX * 16] __attribute__((aligned(64))), got[64];
    for (size_t i = 0; i < BASE_COUNT(in); i++) in[i] = (float)(rng_bits(3, 1, i) % 64) / 16.0f - 2.0f;
    for (size_t i = 0; i < BASE_COUNT(dy); i++) dy[i] = (float)(rng_bits(4, 1, i) % 64) / 16.0f - 2.0f;
    for (size_t t = 0, n_tables = tables(all); t < n_tables; t++)
        for (int k = 1; k <= CHWN_COLUMNS_MAX; k++)
            for (int b = 1; b <= all[t]->grad_block[k]; b++)
                for (int images = 1; images <= WIDEST; images += 9) {
                    memset(sums, 0, sizeof sums);
                    chwn_grad g = {
                        in,
                        WIDEST,
                        WIDEST,
                        8 * WIDEST,
                        dy,
                        ROWS * COLUMNS * WIDEST,
                        WIDEST,
                        COLUMNS * WIDEST,
                        COLUMNS,
                        ROWS,
                        images,
                        sums
                    };
                    all[t]->grad[k][b](&g);
                    all[t]->fold(sums, k * b, got);
                    for (int e = 0; e < k * b; e++) {
                        double want = 0;
                        for (int i = 0; i < ROWS * COLUMNS * images; i++) {
                            int n = i % images, px = i / images % COLUMNS, py = i / images / COLUMNS;
                            want += (double)in[(py * 8 + px + e / b) * WIDEST + n] *
                                    (double)dy[((e % b * ROWS + py) * COLUMNS + px) * WIDEST + n];
                        }
                        close_to(want, got[e], "gradient", b, images);
                    }
                }
}

/* NaN and ties, as the plain loops have them. */
static void pool_loops_agree(void **state) {
    (void)state;
    const chwn_ops *all[3];
    enum { N = 37, MOST = 5 };
    float in[MOST][N], out[MOST][N], src[N], got[N];
    const float *rows[MOST];
    float *to[MOST];
    for (int k = 0; k < MOST; k++) {
        rows[k] = in[k], to[k] = out[k];
        for (int i = 0; i < N; i++)
            in[k][i] = rng_bits(5, (uint64_t)k, (uint64_t)i) % 9 == 0
                           ? NAN
                           : (float)(rng_bits(6, (uint64_t)k, (uint64_t)i) % 4);
    }
    for (int i = 0; i < N; i++) src[i] = (float)i + 1;
    for (size_t t = 0, n_tables = tables(all); t < n_tables; t++)
        for (int n = 1; n <= MOST; n++)
            for (int add = 0; add < 2; add++) {
                all[t]->pool[FOLD_MAX](got, rows, n, -INFINITY, N);
                for (int k = 0; k < n; k++)
                    for (int i = 0; i < N; i++) out[k][i] = add ? 100 : NAN;
                all[t]->pool_grad(to, rows, n, src, N, add);
                for (int i = 0; i < N; i++) {
                    int best = 0;
                    float most = -INFINITY;
                    for (int k = 0; k < n; k++) {
                        if (!(in[best][i] >= in[k][i])) best = k;
                        most = isnan(most) || isnan(in[k][i]) ? NAN : fmaxf(most, in[k][i]);
                    }
                    assert_true(isnan(most) ? isnan(got[i]) : most == got[i]);
                    for (int k = 0; k < n; k++)
                        if (out[k][i] != (k == best ? src[i] : 0) + (add ? 100 : 0))
                            fail_msg("table %zu, %d rows, row %d, element %d: %g", t, n, k, i, (double)out[k][i]);
                }
            }
}

/* --- the pass --- */
#define IMG(c, h, w) "tensor<" N "x" #c "x" #h "x" #w "xf32>"
/* Convolution, bias, pooling, relu, batch norm, convolution, mean over positions, a product, and the gradients of
 * both kernels. */
/* clang-format off */
#define NET \
    "func.func @main(%x: " IMG(1, 18, 18) ", %w1: tensor<6x1x3x3xf32>, %c: tensor<6xf32>, %w2: " \
        "tensor<12x6x3x3xf32>, %f: tensor<432x10xf32>, %dy: tensor<" N "x432xf32>, %g: tensor<" N \
        "x10xf32>) -> (tensor<" N "x10xf32>, tensor<6x1x3x3xf32>, tensor<12x6x3x3xf32>, tensor<6xf32>, tensor<" N \
        "x6xf32>) {\n" \
    "%m = stablehlo.constant dense<0xFF800000> : tensor<f32>\n" \
    "%z = stablehlo.constant dense<0.0> : tensor<f32>\n" \
    "%zz = stablehlo.constant dense<0.0> : " IMG(6, 8, 8) "\n" \
    "%0 = stablehlo.convolution(%x, %w1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = " \
        "[1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG(1, 18, 18) \
        ", tensor<6x1x3x3xf32>) -> " IMG(6, 16, 16) "\n" \
    "%1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> " IMG(6, 16, 16) "\n" \
    "%2 = stablehlo.add %0, %1 : " IMG(6, 16, 16) "\n" \
    "%3 = \"stablehlo.reduce_window\"(%2, %m) <{window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = " \
        "array<i64: 1, 1, 2, 2>}> ({\n" \
    "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" \
    "%q = stablehlo.maximum %a, %b : tensor<f32>\n" \
    "stablehlo.return %q : tensor<f32>\n" \
    "}) : (" IMG(6, 16, 16) ", tensor<f32>) -> " IMG(6, 8, 8) "\n" \
    "%4 = stablehlo.maximum %3, %zz : " IMG(6, 8, 8) "\n" \
    "%p = stablehlo.compare GT, %3, %zz, FLOAT : (" IMG(6, 8, 8) ", " IMG(6, 8, 8) ") -> tensor<" N "x6x8x8xi1>\n" \
    "%5:3 = \"stablehlo.batch_norm_training\"(%4, %c, %c) <{epsilon = 1.0e-05 : f32, feature_index = 1 : i64}> : (" \
        IMG(6, 8, 8) ", tensor<6xf32>, tensor<6xf32>) -> (" IMG(6, 8, 8) ", tensor<6xf32>, tensor<6xf32>)\n" \
    "%6 = stablehlo.convolution(%5#0, %w2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride " \
        "= [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG(6, 8, 8) \
        ", tensor<12x6x3x3xf32>) -> " IMG(12, 6, 6) "\n" \
    "%7 = stablehlo.reshape %6 : (" IMG(12, 6, 6) ") -> tensor<" N "x432xf32>\n" \
    "%8 = stablehlo.dot_general %7, %f, contracting_dims = [1] x [0] : (tensor<" N "x432xf32>, tensor<432x10xf32>) " \
        "-> tensor<" N "x10xf32>\n" \
    "%9 = stablehlo.reduce(%5#0 init: %z) applies stablehlo.add across dimensions = [2, 3] : (" IMG(6, 8, 8) \
        ", tensor<f32>) -> tensor<" N "x6xf32>\n" \
    "%10 = stablehlo.dot_general %g, %f, contracting_dims = [1] x [1] : (tensor<" N "x10xf32>, tensor<432x10xf32>) " \
        "-> tensor<" N "x432xf32>\n" \
    "%11 = stablehlo.add %10, %dy : tensor<" N "x432xf32>\n" \
    "%12 = stablehlo.reshape %11 : (tensor<" N "x432xf32>) -> " IMG(12, 6, 6) "\n" \
    "%13 = stablehlo.reverse %w2, dims = [2, 3] : tensor<12x6x3x3xf32>\n" \
    "%14 = stablehlo.convolution(%12, %13) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride " \
        "= [1, 1], pad = [[2, 2], [2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" \
        IMG(12, 6, 6) ", tensor<12x6x3x3xf32>) -> " IMG(6, 8, 8) "\n" \
    "%15:3 = \"stablehlo.batch_norm_grad\"(%4, %c, %5#1, %5#2, %14) <{epsilon = 1.0e-05 : f32, feature_index = 1 : " \
        "i64}> : (" IMG(6, 8, 8) ", tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, " IMG(6, 8, 8) ") -> (" IMG(6, 8, 8) \
        ", tensor<6xf32>, tensor<6xf32>)\n" \
    "%16 = stablehlo.select %p, %15#0, %zz : tensor<" N "x6x8x8xi1>, " IMG(6, 8, 8) "\n" \
    "%17 = \"stablehlo.select_and_scatter\"(%2, %16, %z) <{window_dimensions = array<i64: 1, 1, 2, 2>, " \
        "window_strides = array<i64: 1, 1, 2, 2>}> ({\n" \
    "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" \
    "%q = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n" \
    "stablehlo.return %q : tensor<i1>\n" \
    "}, {\n" \
    "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" \
    "%q = stablehlo.add %a, %b : tensor<f32>\n" \
    "stablehlo.return %q : tensor<f32>\n" \
    "}) : (" IMG(6, 16, 16) ", " IMG(6, 8, 8) ", tensor<f32>) -> " IMG(6, 16, 16) "\n" \
    "%18 = stablehlo.convolution(%x, %17) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride " \
        "= [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG(1, 18, 18) ", " \
        IMG(6, 16, 16) ") -> tensor<6x1x3x3xf32>\n" \
    "%19 = stablehlo.convolution(%5#0, %12) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = " \
        "{stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" IMG(6, 8, 8) ", " \
        IMG(12, 6, 6) ") -> tensor<12x6x3x3xf32>\n" \
    "%20 = stablehlo.reduce(%17 init: %z) applies stablehlo.add across dimensions = [0, 2, 3] : (" IMG(6, 16, 16) \
        ", tensor<f32>) -> tensor<6xf32>\n" \
    "return %8, %18, %19, %20, %9 : tensor<" N "x10xf32>, tensor<6x1x3x3xf32>, tensor<12x6x3x3xf32>, " \
        "tensor<6xf32>, tensor<" N "x6xf32>\n" \
    "}\n"
/* clang-format on */

static void a_network_moves_its_batch(void **state) {
    (void)state;
#define N "64"
    static const char net[] = NET;
    differ("network of few channels", net, 1e-3, 2, false);
    expect_kernel(net, "chwn-conv ", true);
    expect_kernel(net, "chwn-conv-weights", true);
    expect_kernel(net, "chwn-pool-grad", true);
    expect_kernel(net, "onednn-conv", false);
    setenv("XT_PASSES", "-opt_batch_last", 1);
    expect_kernel(net, "chwn-conv", false);
    differ("network of few channels, channels first", net, 1e-3, 2, false);
    unsetenv("XT_PASSES");
#undef N
#define N "5"
    static const char small[] = NET; /* lanes would be empty */
    differ("five images", small, 1e-3, 2, false);
    if (chwn_get()->lanes > 5) expect_kernel(small, "chwn-conv", false);
#undef N
#define N "3"
    static const char tiny[] = NET; /* fewer images than any processor has lanes */
    differ("three images", tiny, 1e-3, 2, false);
    expect_kernel(tiny, "chwn-conv", false);
#undef N
}

/* Many channels stay with oneDNN. */
static void many_channels_stay(void **state) {
    (void)state;
    expect_kernel("func.func @main(%x: tensor<32x32x8x8xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<32x32x6x6xf32> {\n"
                  "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = "
                  "{stride = [1, 1]} "
                  "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<32x32x8x8xf32>, "
                  "tensor<32x32x3x3xf32>) -> tensor<32x32x6x6xf32>\n"
                  "return %0 : tensor<32x32x6x6xf32>\n}\n",
                  "chwn-conv", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_agree),
                                       cmocka_unit_test(threads_do_not_matter),
                                       cmocka_unit_test(windows_agree),
                                       cmocka_unit_test(loops_agree),
                                       cmocka_unit_test(gradient_loops_agree),
                                       cmocka_unit_test(pool_loops_agree),
                                       cmocka_unit_test(a_network_moves_its_batch),
                                       cmocka_unit_test(many_channels_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
