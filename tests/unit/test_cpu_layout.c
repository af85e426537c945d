/* Blocked layouts: convolutions with and without Winograd's algorithm, batch norms with what is fused into them,
 * pooling, loops over blocked images and the copies at a region's edges, each against the interpreter. The switches
 * force what large programs get by themselves. */
#include "cpu_differential.h"

#include "cpu/run/plan.h"
#include "cpu/vector/dnnl_util.h"
#include "cpu/vector/simd.h"
#include "cpu/vector/blk.h"
#include "cpu/vector/wino.h"

static void with(const char *layout, const char *winograd) {
    setenv("XT_CPU_LAYOUT", layout, 1);
    setenv("XT_CPU_WINOGRAD", winograd, 1);
}
static int back(void **state) {
    (void)state;
    unsetenv("XT_CPU_LAYOUT");
    unsetenv("XT_CPU_WINOGRAD");
    return 0;
}

/* The plan of a program has (or lacks) a kernel of this name. */
static bool has_kernel(const char *text, const char *kernel) {
    cpu_exec *e;
    str plan = STR_INIT, word = STR_INIT;
    expect_ok(cpu_compile(text, strlen(text), NULL, &e), kernel);
    cpu_plan_print(e, &plan);
    str_printf(&word, " %s ", kernel);
    bool found = strstr(str_cstr(&plan), str_cstr(&word)) != NULL;
    str_free(&plan);
    str_free(&word);
    cpu_exec_free(e);
    return found;
}

/* "%a" and so on stand for types, so that one text serves f32 and bf16. */
static void in_type(const char *text, const char *type, char *buf, size_t n) {
    size_t at = 0;
    for (const char *p = text; *p && at + 8 < n; p++) {
        if (*p != '$') {
            buf[at++] = *p;
            continue;
        }
        at += (size_t)snprintf(buf + at, n - at, "%s", type);
    }
    buf[at] = '\0';
}

#define CONV(name, x, w, y, numbers, window)                                                                 \
    {                                                                                                        \
        name, "func.func @main(%x: tensor<" x "x$>, %w: tensor<" w "x$>) -> tensor<" y "x$> {\n"             \
              "%0 = stablehlo.convolution(%x, %w) dim_numbers = " numbers ", window = {" window              \
              "} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<" x "x$>, tensor<" w \
              "x$>) -> tensor<" y "x$>\n"                                                                    \
              "return %0 : tensor<" y "x$>\n}\n"                                                             \
    }
#define FWD "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
#define DATA "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]"
#define WEIGHTS "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]"
static const struct {
    const char *name, *text;
} convs[] = {
    CONV("forward", "2x32x9x11", "48x32x3x3", "2x48x9x11", FWD, "pad = [[1, 1], [1, 1]]"),
    CONV("forward, no padding", "2x16x8x8", "16x16x3x3", "2x16x6x6", FWD, "stride = [1, 1]"),
    CONV("forward, strides", "2x16x9x8", "32x16x3x3", "2x32x5x4", FWD, "stride = [2, 2], pad = [[1, 1], [1, 1]]"),
    CONV("forward, 1x1 strides", "2x16x8x8", "32x16x1x1", "2x32x4x4", FWD, "stride = [2, 2]"),
    CONV("forward, 5x5 uneven padding", "2x16x9x9", "16x16x5x5", "2x16x8x9", FWD, "pad = [[1, 2], [2, 2]]"),
    CONV("forward, dilated", "1x16x9x9", "16x16x3x3", "1x16x5x5", FWD, "rhs_dilate = [2, 2]"),
    CONV("forward, few features in", "2x3x12x12", "32x3x5x5", "2x32x8x8", FWD, "stride = [1, 1]"),
    CONV("forward, few features out", "2x32x6x6", "10x32x3x3", "2x10x4x4", FWD, "stride = [1, 1]"),
    CONV("forward, features last", "2x9x8x32", "3x3x32x16", "2x9x8x16", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
         "pad = [[1, 1], [1, 1]]"),
    CONV("data", "2x48x9x11", "48x32x3x3", "2x32x9x11", DATA, "pad = [[1, 1], [1, 1]], reverse = [true, true]"),
    CONV("data, kernel straight", "2x48x6x6", "48x32x3x3", "2x32x6x6", DATA, "pad = [[1, 1], [1, 1]]"),
    CONV("wide forward", "2x64x7x10", "128x64x3x3", "2x128x7x10", FWD, "pad = [[1, 1], [1, 1]]"),
    CONV("wide forward, uneven", "1x64x7x9", "64x64x3x3", "1x64x6x7", FWD, "pad = [[1, 0], [0, 0]]"),
    CONV("wide data", "2x128x7x10", "128x64x3x3", "2x64x7x10", DATA, "pad = [[1, 1], [1, 1]], reverse = [true, true]"),
    CONV("wide data, uneven", "1x64x6x7", "64x64x3x3", "1x64x7x9", DATA,
         "pad = [[1, 2], [2, 2]], reverse = [true, true]"),
    CONV("wide weights", "3x64x7x10", "3x128x7x10", "128x64x3x3", WEIGHTS, "pad = [[1, 1], [1, 1]]"),
    CONV("wide weights, uneven", "3x64x7x9", "3x64x6x7", "64x64x3x3", WEIGHTS, "pad = [[1, 0], [0, 0]]"),
    CONV("wide forward, rows of taps in padding", "2x64x2x10", "64x64x5x3", "2x64x2x10", FWD, "pad = [[2, 2], [1, 1]]"),
    CONV("wide data, rows of taps in padding", "2x64x2x10", "64x64x5x3", "2x64x2x10", DATA,
         "pad = [[2, 2], [1, 1]], reverse = [true, true]"),
    CONV("wide weights, rows of taps in padding", "3x64x2x10", "3x128x2x10", "128x64x5x3", WEIGHTS,
         "pad = [[2, 2], [1, 1]]"),
    CONV("wide weights, a row of taps in padding", "3x64x2x10", "3x128x2x10", "128x64x4x3", WEIGHTS,
         "pad = [[1, 2], [1, 1]]"),
    CONV("forward, most taps in padding", "3x32x1x1", "48x32x3x3", "3x48x1x1", FWD, "pad = [[1, 1], [1, 1]]"),
    CONV("forward, some taps in padding", "3x32x2x1", "48x32x3x3", "3x48x1x1", FWD,
         "stride = [2, 2], pad = [[1, 1], [1, 1]]"),
    CONV("forward, wide window", "2x16x2x3", "16x16x5x7", "2x16x2x3", FWD, "pad = [[2, 2], [3, 3]]"),
    CONV("data, most taps in padding", "3x48x1x1", "48x32x3x3", "3x32x1x1", DATA,
         "pad = [[1, 1], [1, 1]], reverse = [true, true]"),
    CONV("data, some taps in padding", "3x48x1x1", "48x32x3x3", "3x32x2x1", DATA,
         "pad = [[1, 2], [1, 1]], lhs_dilate = [2, 2], reverse = [true, true]"),
    CONV("weights, most taps in padding", "3x32x1x1", "3x48x1x1", "48x32x3x3", WEIGHTS, "pad = [[1, 1], [1, 1]]"),
    CONV("weights, some taps in padding", "3x32x2x1", "3x48x1x1", "48x32x3x3", WEIGHTS,
         "pad = [[1, 0], [1, 1]], rhs_dilate = [2, 2]"),
    CONV("data of strides", "2x32x4x4", "32x16x3x3", "2x16x8x8", DATA,
         "pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]"),
    CONV("weights", "3x32x9x7", "3x48x9x7", "48x32x3x3", WEIGHTS, "pad = [[1, 1], [1, 1]]"),
    CONV("weights of strides", "2x16x8x8", "2x32x4x4", "32x16x3x3", WEIGHTS,
         "pad = [[1, 0], [1, 0]], rhs_dilate = [2, 2]"),
    CONV("wide weights of strides", "3x80x9x8", "3x64x5x4", "64x80x3x3", WEIGHTS,
         "pad = [[1, 1], [1, 0]], rhs_dilate = [2, 2]"),
    CONV("wide weights of strides, 1x1", "2x64x7x7", "2x128x4x4", "128x64x1x1", WEIGHTS, "rhs_dilate = [2, 2]"),
    CONV("wide weights, one tap", "3x64x5x5", "3x64x5x5", "64x64x1x1", WEIGHTS, "stride = [1, 1]"),
    CONV("wide weights, most taps in padding", "3x64x1x1", "3x128x1x1", "128x64x3x3", WEIGHTS,
         "pad = [[1, 1], [1, 1]]"),
    CONV("wide weights of strides, some taps in padding", "3x80x2x1", "3x64x1x1", "64x80x3x3", WEIGHTS,
         "pad = [[1, 0], [1, 1]], rhs_dilate = [2, 2]"),
    CONV("weights, few features", "2x3x12x12", "2x32x8x8", "32x3x5x5", WEIGHTS, "stride = [1, 1]"),
};

/* Where most taps only meet padding the rest are summed in the same way as whole kernels. */
static void cropped_kernels_are_summed(void **state) {
    (void)state;
    char text[2048];
    for (size_t i = 0; i < BASE_COUNT(convs); i++) {
        if (!wino_get() || strncmp(convs[i].name, "wide weights", 12) || !strstr(convs[i].name, "in padding")) continue;
        in_type(convs[i].text, "bf16", text, sizeof text);
        with("blocked", "always");
        assert_true(has_kernel(text, "gemm-conv-weights"));
    }
}

static void convolutions_agree(void **state) {
    (void)state;
    static const char *const winograd[] = {"off", "always"};
    for (size_t i = 0; i < BASE_COUNT(convs); i++) {
        char text[2048];
        in_type(convs[i].text, "f32", text, sizeof text);
        for (size_t k = 0; k < BASE_COUNT(winograd); k++) {
            with("blocked", winograd[k]);
            differ(convs[i].name, text, k ? 1e-3 : 1e-4, 2, false); /* F(4x4,3x3): up to 1e-5 of the largest result */
        }
        with("plain", "always"); /* Winograd with its copies inside the thunk */
        differ(convs[i].name, text, 1e-3, 1, false);
        in_type(convs[i].text, "bf16", text, sizeof text);
        for (size_t k = 0; k < BASE_COUNT(winograd); k++) {
            /* Winograd rounds what its products read, sums of some hundred of them */
            with("blocked", winograd[k]);
            differ(convs[i].name, text, k ? 5e-1 : 2e-2, 1 + (int)k, false);
        }
    }
}

static void winograd_is_switched(void **state) {
    (void)state;
    char text[2048];
    if (simd_level() < 2 || !dnnl_util_has_winograd()) skip();
    static const char *const kernels[][2] = {{"forward", "winograd-conv"},
                                             {"forward, features last", "winograd-conv"},
                                             {"data", "winograd-conv-data"},
                                             {"weights", "winograd-conv-weights"}};
    static const char *const wide[][2] = {{"wide forward", "winograd-conv"},
                                          {"wide data", "winograd-conv-data"},
                                          {"wide weights", "winograd-conv-weights"}};
    for (size_t k = 0; k < BASE_COUNT(kernels); k++)
        for (size_t i = 0; i < BASE_COUNT(convs); i++) {
            if (strcmp(convs[i].name, kernels[k][0]) != 0) continue;
            in_type(convs[i].text, "f32", text, sizeof text);
            with("blocked", "always");
            assert_true(has_kernel(text, kernels[k][1]));
            with("blocked", "off");
            assert_false(has_kernel(text, kernels[k][1]));
            with("auto", "on"); /* far too small for it */
            assert_false(has_kernel(text, kernels[k][1]));
        }
    if (!wino_get()) return;
    for (size_t k = 0; k < BASE_COUNT(wide); k++)
        for (size_t i = 0; i < BASE_COUNT(convs); i++) {
            if (strcmp(convs[i].name, wide[k][0]) != 0) continue;
            in_type(convs[i].text, "bf16", text, sizeof text);
            with("blocked", "always");
            assert_true(has_kernel(text, wide[k][1]));
            with("blocked", "off");
            assert_false(has_kernel(text, wide[k][1]));
        }
}

/* A residual block's forward and backward pass around batch norms as a training step records them; T is the type of
 * what convolutions read. */
#define IMG "tensor<3x32x5x7xf32>"
#define FEW "tensor<32xf32>"
#define NORM "(" IMG ", " FEW ", " FEW ") -> (" IMG ", " FEW ", " FEW ")"
#define NORM_GRAD "(" IMG ", " FEW ", " FEW ", " FEW ", " IMG ") -> (" IMG ", " FEW ", " FEW ")"
#define ATTRS "<{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}>"
static const char block_text[] =
    "func.func @main(%x: " IMG ", %r: " IMG ", %s: " FEW ", %o: " FEW ", %g: " IMG ", %h: " IMG ") -> (" IMG ", " IMG
    ", " IMG ", " IMG ", " FEW ", " FEW ", " FEW ", " FEW ", tensor<3x32x5x7x$>) {\n"
    "%zero = stablehlo.constant dense<0.0> : " IMG "\n"
    "%n:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) " ATTRS " : " NORM
"\n"
    "%m1 = stablehlo.compare GT, %n#0, %zero, FLOAT : (" IMG ", " IMG ") -> tensor<3x32x5x7xi1>\n"
    "%y = stablehlo.maximum %n#0, %zero : " IMG "\n"
    "%c = stablehlo.convert %y : (" IMG ") -> tensor<3x32x5x7x$>\n"
    "%b = stablehlo.convert %c : (tensor<3x32x5x7x$>) -> " IMG "\n"
    "%k:3 = \"stablehlo.batch_norm_training\"(%b, %s, %o) " ATTRS " : " NORM
"\n"
    "%a = stablehlo.add %r, %k#0 : " IMG "\n"
    "%m2 = stablehlo.compare GT, %a, %zero, FLOAT : (" IMG ", " IMG ") -> tensor<3x32x5x7xi1>\n"
    "%z = stablehlo.maximum %a, %zero : " IMG "\n"
    "%gh = stablehlo.add %g, %h : " IMG "\n"
    "%gz = stablehlo.select %m2, %gh, %zero : tensor<3x32x5x7xi1>, " IMG "\n"
    "%d:3 = \"stablehlo.batch_norm_grad\"(%b, %s, %k#1, %k#2, %gz) " ATTRS " : " NORM_GRAD "\n"
    "%dr = stablehlo.negate %gz : " IMG "\n"
    "%gy = stablehlo.select %m1, %d#0, %zero : tensor<3x32x5x7xi1>, " IMG "\n"
    "%e:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %n#1, %n#2, %gy) " ATTRS " : " NORM_GRAD "\n"
    "return %z, %e#0, %dr, %d#0, %d#1, %d#2, %e#1, %k#2, %c : " IMG ", " IMG ", " IMG ", " IMG ", " FEW ", " FEW
    ", " FEW ", " FEW ", tensor<3x32x5x7x$>\n}\n";

static void norms_agree(void **state) {
    (void)state;
    char text[8192];
    for (int threads = 1; threads <= 3; threads++) {
        in_type(block_text, "f32", text, sizeof text);
        with("blocked", "on");
        differ("residual block", text, 1e-4, threads, true);
        in_type(block_text, "bf16", text, sizeof text);
        differ("residual block, bf16 between", text, 2e-2, threads, true);
    }
    with("plain", "on");
    differ("residual block, dense", text, 2e-2, 2, true);
}

/* Nothing of a norm's surroundings is left to a loop of its own. */
static void norms_are_fused(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%x: " IMG ", %r: " IMG ", %s: " FEW ", %o: " FEW ", %g: " IMG ") -> (" IMG ", " IMG ") {\n"
        "%zero = stablehlo.constant dense<0.0> : " IMG "\n"
        "%n:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) " ATTRS " : " NORM
    "\n"
    "%a = stablehlo.add %n#0, %r : " IMG "\n"
    "%m = stablehlo.compare GT, %a, %zero, FLOAT : (" IMG ", " IMG ") -> tensor<3x32x5x7xi1>\n"
    "%y = stablehlo.maximum %a, %zero : " IMG "\n"
    "%gy = stablehlo.select %m, %g, %zero : tensor<3x32x5x7xi1>, " IMG "\n"
    "%e:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %n#1, %n#2, %gy) " ATTRS " : " NORM_GRAD "\n"
    "return %y, %e#0 : " IMG ", " IMG "\n}\n";
    if (!blk_get()) skip();
    with("blocked", "on");
    assert_false(has_kernel(text, "fused"));
    assert_true(has_kernel(text, "batch-norm-grad"));
    differ("fused norm", text, 1e-4, 2, false);
}

/* Where relu let a gradient through follows from the norm's operand: relu's result, which nobody else reads,
 * is never made. */
static void masks_follow_from_operands(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%x: " IMG ", %s: " FEW ", %o: " FEW ", %g: " IMG ") -> (" IMG ", " FEW ", " FEW ") {\n"
        "%zero = stablehlo.constant dense<0.0> : " IMG "\n"
        "%n:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) " ATTRS " : " NORM
    "\n"
    "%m = stablehlo.compare GT, %n#0, %zero, FLOAT : (" IMG ", " IMG ") -> tensor<3x32x5x7xi1>\n"
    "%y = stablehlo.maximum %n#0, %zero : " IMG "\n"
    "%gy = stablehlo.select %m, %g, %zero : tensor<3x32x5x7xi1>, " IMG "\n"
    "%e:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %n#1, %n#2, %gy) " ATTRS " : " NORM_GRAD "\n"
    "return %e#0, %e#1, %e#2 : " IMG ", " FEW ", " FEW "\n}\n";
    if (!blk_get()) skip();
    with("blocked", "on");
    assert_false(has_kernel(text, "fused"));
    for (int threads = 1; threads <= 3; threads++) differ("mask of a norm's operand", text, 1e-4, threads, false);
    /* With something added in between the sum has to be kept, though only the mask reads it. */
    static const char sum[] =
        "func.func @main(%x: " IMG ", %q: " IMG ", %s: " FEW ", %o: " FEW ", %g: " IMG ") -> " IMG " {\n"
        "%zero = stablehlo.constant dense<0.0> : " IMG "\n"
        "%n:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) " ATTRS " : " NORM
    "\n"
    "%a = stablehlo.add %n#0, %q : " IMG "\n"
    "%m = stablehlo.compare GT, %a, %zero, FLOAT : (" IMG ", " IMG ") -> tensor<3x32x5x7xi1>\n"
    "%gy = stablehlo.select %m, %g, %zero : tensor<3x32x5x7xi1>, " IMG "\n"
    "%e:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %n#1, %n#2, %gy) " ATTRS " : " NORM_GRAD "\n"
    "return %e#0 : " IMG "\n}\n";
    differ("mask of a sum", sum, 1e-4, 2, false);
}

#define POOL(name, in, out, size, stride, low, high, reducer, init)                                                   \
    {                                                                                                                 \
        name, "func.func @main(%x: tensor<" in "xf32>) -> tensor<" out "xf32> {\n%i = stablehlo.constant dense<" init \
              "> : tensor<f32>\n"                                                                                     \
              "%e = stablehlo.abs %x : tensor<" in "xf32>\n"                                                          \
              "%0 = \"stablehlo.reduce_window\"(%e, %i) <{window_dimensions = array<i64: " size                       \
              ">, window_strides = array<i64: " stride ">, padding = dense<[[0, 0], [0, 0], [" low ", " high          \
              "], [" low ", " high "]]> : tensor<4x2xi64>}> ({\n^bb0(%a: tensor<f32>, %b: "                           \
              "tensor<f32>):\n%m = stablehlo." reducer " %a, %b : tensor<f32>\n"                                      \
              "stablehlo.return %m : tensor<f32>\n"                                                                   \
              "}) : (tensor<" in "xf32>, tensor<f32>) -> tensor<" out "xf32>\nreturn %0 : tensor<" out "xf32>\n}\n"   \
    }
static const struct {
    const char *name, *text;
} pools[] = {
    POOL("max 3x3", "2x16x9x12", "2x16x5x6", "1, 1, 3, 3", "1, 1, 2, 2", "1", "1", "maximum", "0xFF800000"),
    POOL("max 2x2", "2x32x8x8", "2x32x4x4", "1, 1, 2, 2", "1, 1, 2, 2", "0", "0", "maximum", "0xFF800000"),
    POOL("max 3x3, uneven", "1x16x8x11", "1x16x6x9", "1, 1, 3, 3", "1, 1, 1, 1", "0", "0", "maximum", "0xFF800000"),
    POOL("max with a floor", "2x16x7x7", "2x16x7x7", "1, 1, 3, 3", "1, 1, 1, 1", "1", "1", "maximum", "1.0"),
    POOL("sum", "1x16x6x6", "1x16x4x4", "1, 1, 3, 3", "1, 1, 1, 1", "0", "0", "add", "0.0"),
};

static void pools_agree(void **state) {
    (void)state;
    with("blocked", "on");
    for (size_t i = 0; i < BASE_COUNT(pools); i++) {
        differ(pools[i].name, pools[i].text, 1e-5, 2, false);
        char text[2048];
        snprintf(text, sizeof text, "%s", pools[i].text);
        char *op = strstr(text, "stablehlo.abs ");
        assert_non_null(op);
        memcpy(op, "stablehlo.log ", strlen("stablehlo.log ")); /* NaN of half the pixels: no window may lose one */
        differ(pools[i].name, text, 1e-5, 2, false);
    }
    /* Of zeros of both signs the largest is +0, wherever it stands. */
    static const char zeros[] = "func.func @main(%a: tensor<1x16x4x6xf32>) -> tensor<1x16x2x3xf32> {\n"
                                "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                                "%z = stablehlo.constant dense<0.0> : tensor<1x16x4x6xf32>\n"
                                "%x = stablehlo.multiply %a, %z : tensor<1x16x4x6xf32>\n"
                                "%0 = \"stablehlo.reduce_window\"(%x, %i) <{window_dimensions = array<i64: 1, 1, 2, "
                                "2>, window_strides = array<i64: 1, 1, 2, 2>}> "
                                "({\n"
                                "^bb0(%b: tensor<f32>, %c: tensor<f32>):\n"
                                "%m = stablehlo.maximum %b, %c : tensor<f32>\n"
                                "stablehlo.return %m : tensor<f32>\n"
                                "}) "
                                ": (tensor<1x16x4x6xf32>, tensor<f32>) -> tensor<1x16x2x3xf32>\n"
                                "%one = stablehlo.constant dense<1.0> : tensor<1x16x2x3xf32>\n"
                                "%r = stablehlo.divide %one, %0 : tensor<1x16x2x3xf32>\n"
                                "return %r : tensor<1x16x2x3xf32>\n"
                                "}\n";
    differ("largest of zeros", zeros, 1e-5, 2, false);
    static const char grad[] =
        "func.func @main(%x: tensor<2x16x9x12xf32>, %g: tensor<2x16x5x6xf32>) -> tensor<2x16x9x12xf32> {\n"
        "%i = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%0 = \"stablehlo.select_and_scatter\"(%x, %g, %i) <{window_dimensions = array<i64: 1, 1, 3, 3>, "
        "window_strides = array<i64: 1, 1, 2, 2>, padding = "
        "dense<[[0, 0], [0, 0], [1, 1], [1, 1]]> : tensor<4x2xi64>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "%c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n"
        "}, {\n"
        "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "%c = stablehlo.add %a, %b : tensor<f32>\n"
        "stablehlo.return %c : tensor<f32>\n"
        "}) : "
        "(tensor<2x16x9x12xf32>, tensor<2x16x5x6xf32>, tensor<f32>) -> tensor<2x16x9x12xf32>\n"
        "return %0 : tensor<2x16x9x12xf32>\n"
        "}\n";
    differ("gradient of max pooling", grad, 1e-5, 2, false);
    if (!blk_get()) return;
    assert_true(has_kernel(grad, "pool-grad"));
    assert_true(has_kernel(pools[0].text, "pool"));
}

/* Loops over blocked images read features' values and parts of other arrays where they are; what leaves the region is
 * dense again. */
static void loops_and_edges_agree(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%x: tensor<2x32x6x5xf32>, %w: tensor<16x32x3x3xf32>, %b: tensor<16xf32>, %p: "
        "tensor<4x16x6x5xf32>) -> (tensor<2x16x6x5xf32>, "
        "tensor<2x480xf32>, tensor<16x2x6x5xf32>, tensor<2x16x6x5xi1>, tensor<16xf32>) {\n"
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%0 = stablehlo.convolution(%x, %w) dim_numbers = " FWD
        ", window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 "
        ": i64} : (tensor<2x32x6x5xf32>, tensor<16x32x3x3xf32>) -> tensor<2x16x6x5xf32>\n"
        "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<2x16x6x5xf32>\n"
        "%2 = stablehlo.add %0, %1 : tensor<2x16x6x5xf32>\n"
        "%3 = stablehlo.slice %p [1:3, 0:16, 0:6, 0:5] : (tensor<4x16x6x5xf32>) -> tensor<2x16x6x5xf32>\n"
        "%4 = stablehlo.multiply %2, %3 : tensor<2x16x6x5xf32>\n"
        "%5 = stablehlo.iota dim = 2 : tensor<2x16x6x5xf32>\n"
        "%6 = stablehlo.add %4, %5 : tensor<2x16x6x5xf32>\n"
        "%7 = stablehlo.tanh %6 : tensor<2x16x6x5xf32>\n"
        "%8 = stablehlo.reshape %7 : (tensor<2x16x6x5xf32>) -> tensor<2x480xf32>\n"
        "%9 = stablehlo.transpose %4, dims = [1, 0, 2, 3] : (tensor<2x16x6x5xf32>) -> tensor<16x2x6x5xf32>\n"
        "%10 = stablehlo.compare GT, %7, %2 : (tensor<2x16x6x5xf32>, tensor<2x16x6x5xf32>) -> tensor<2x16x6x5xi1>\n"
        "%11 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0, 2, 3] : "
        "(tensor<2x16x6x5xf32>, tensor<f32>) -> "
        "tensor<16xf32>\n"
        "return %7, %8, %9, %10, %11 : tensor<2x16x6x5xf32>, tensor<2x480xf32>, tensor<16x2x6x5xf32>, "
        "tensor<2x16x6x5xi1>, tensor<16xf32>\n"
        "}\n";
    with("blocked", "on");
    for (int threads = 1; threads <= 2; threads++) differ("loops and edges", text, 1e-4, threads, true);
}

/* Runs a program on so many threads; out[] are the caller's to free. */
static size_t run_on(const char *text, int threads, array out[DIFF_MAX]) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[DIFF_MAX] = {0}, got[DIFF_MAX] = {0};
    bool donated[DIFF_MAX] = {0};
    int from[DIFF_MAX];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), "threads");
    expect_ok(cpu_device_new(threads, NULL, &d), "threads");
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), "threads");
        fill_random(&in[i], 100 + i);
    }
    expect_ok(cpu_run(e, d, &a, in, donated, got, from), "threads");
    size_t n = cpu_exec_outputs(e);
    for (size_t j = 0; j < n; j++) {
        expect_ok(array_new(got[j].type, &out[j]), "threads");
        memcpy(out[j].data, got[j].data, ir_type_bytes(got[j].type));
        heap_free(&h, got[j].data, ir_type_bytes(got[j].type));
    }
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    return n;
}

static void bits_do_not_depend_on_threads(void **state) {
    (void)state;
    static const char *const named[] = {"wide forward", "wide data", "wide weights",
                                        "wide weights, most taps in padding"};
    char text[8192];
    with("blocked", "always");
    for (size_t k = 0; k <= BASE_COUNT(named); k++) {
        if (k == BASE_COUNT(named)) in_type(block_text, "bf16", text, sizeof text);
        for (size_t i = 0; i < BASE_COUNT(convs) && k < BASE_COUNT(named); i++)
            if (strcmp(convs[i].name, named[k]) == 0) in_type(convs[i].text, "bf16", text, sizeof text);
        array one[DIFF_MAX] = {0}, more[DIFF_MAX] = {0};
        size_t n = run_on(text, 1, one);
        for (int threads = 2; threads <= 3; threads++) {
            run_on(text, threads, more);
            for (size_t j = 0; j < n; j++) {
                assert_memory_equal(one[j].data, more[j].data, ir_type_bytes(one[j].type));
                array_free(&more[j]);
            }
        }
        for (size_t j = 0; j < n; j++) array_free(&one[j]);
    }
}

/* --- Inf, NaN and overflow in convolutions by Winograd's algorithm --- */
typedef struct opened {
    cpu_exec *e;
    cpu_device *d;
    heap h;
} opened;

static void open_text(opened *o, const char *text) {
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &o->e), "compile");
    expect_ok(cpu_device_new(2, NULL, &o->d), "device");
}
static void close_text(opened *o) {
    assert_int_equal(o->h.live, 0);
    cpu_device_free(o->d);
    cpu_exec_free(o->e);
}
static void run_opened(opened *o, const array in[2], array *out) {
    cpu_alloc a = {&o->h, heap_alloc, heap_free};
    int from[1];
    expect_ok(cpu_run(o->e, o->d, &a, in, NULL, out, from), "run");
}
static void drop(opened *o, array *a) {
    heap_free(&o->h, a->data, ir_type_bytes(a->type));
}

/* As the direct convolution: NaN and Inf at the same places, numbers where it has numbers. False: the same
 * bits everywhere. */
static bool same_kinds(const char *name, const array *want, const array *got, double tol) {
    double most = 0;
    for (int64_t i = 0; i < want->type->count; i++)
        if (isfinite(array_get(want, i))) most = fmax(most, fabs(array_get(want, i)));
    for (int64_t i = 0; i < want->type->count; i++) {
        double w = array_get(want, i), g = array_get(got, i);
        bool same = isnan(w) ? isnan(g) : isinf(w) ? w == g : fabs(w - g) <= tol * (1 + most);
        if (!same) fail_msg("%s: element %lld: direct %.9g, Winograd %.9g", name, (long long)i, w, g);
    }
    return memcmp(want->data, got->data, ir_type_bytes(want->type)) != 0;
}

/* An Inf makes nothing of results that do not read it, wherever in a tile it stands and in whichever operand. */
static void winograd_keeps_to_what_is_read(void **state) {
    (void)state;
    static const struct {
        const char *name, *dtype;
        double tol;
    } rows[] = {{"forward", "f32", 1e-5},       {"forward, no padding", "f32", 1e-5},
                {"data", "f32", 1e-5},          {"weights", "f32", 1e-5},
                {"wide forward", "bf16", 2e-2}, {"wide forward, uneven", "bf16", 2e-2},
                {"wide data", "bf16", 2e-2},    {"wide weights", "bf16", 2e-2}};
    static const double bad[] = {INFINITY, -INFINITY, NAN, 3e38};
    if (simd_level() < 2 || !dnnl_util_has_winograd()) skip();
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        if (rows[r].dtype[0] == 'b' && !wino_get()) continue;
        char text[2048], name[128];
        opened wino = {0}, direct = {0};
        array in[2] = {0}, want, got;
        for (size_t i = 0; i < BASE_COUNT(convs); i++)
            if (strcmp(convs[i].name, rows[r].name) == 0) in_type(convs[i].text, rows[r].dtype, text, sizeof text);
        with("blocked", "always");
        open_text(&wino, text);
        with("blocked", "off");
        open_text(&direct, text);
        for (size_t i = 0; i < 2; i++) {
            expect_ok(array_new(cpu_exec_input_type(wino.e, i), &in[i]), text);
            fill_random(&in[i], 100 + i);
        }
        run_opened(&direct, in, &want);
        run_opened(&wino, in, &got);
        if (!same_kinds(rows[r].name, &want, &got, rows[r].tol))
            fail_msg("%s: finite numbers went the direct way", rows[r].name);
        drop(&direct, &want);
        drop(&wino, &got);
        for (size_t side = 0; side < 2; side++) {
            const ir_type *t = in[side].type;
            int64_t places = t->dims[2] * t->dims[3], last = t->count / places - 1;
            bool of_weights = strstr(rows[r].name, "weights") && side == 1;
            for (int64_t k = 0; k < places; k++) {
                int64_t y = k / t->dims[3], x = k % t->dims[3];
                /* meets padding: whether 0 times Inf counts there differs between direct kernels */
                if (of_weights && (y == 0 || x == 0 || y + 1 == t->dims[2] || x + 1 == t->dims[3])) continue;
                double value = bad[k % (int64_t)BASE_COUNT(bad)];
                int64_t at = (k % 3 == 2 ? last : k % 3) * places + k;
                double was = array_get(&in[side], at);
                array_set(&in[side], at, value);
                run_opened(&direct, in, &want);
                run_opened(&wino, in, &got);
                snprintf(name, sizeof name, "%s %s, %g in element %lld of operand %zu", rows[r].name, rows[r].dtype,
                         value, (long long)at, side);
                same_kinds(name, &want, &got, rows[r].dtype[0] == 'b' ? rows[r].tol : 0);
                drop(&direct, &want);
                drop(&wino, &got);
                array_set(&in[side], at, was);
            }
        }
        array_free(&in[0]);
        array_free(&in[1]);
        close_text(&wino);
        close_text(&direct);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(convolutions_agree, back),
        cmocka_unit_test_teardown(winograd_is_switched, back),
        cmocka_unit_test_teardown(cropped_kernels_are_summed, back),
        cmocka_unit_test_teardown(norms_agree, back),
        cmocka_unit_test_teardown(norms_are_fused, back),
        cmocka_unit_test_teardown(masks_follow_from_operands, back),
        cmocka_unit_test_teardown(pools_agree, back),
        cmocka_unit_test_teardown(loops_and_edges_agree, back),
        cmocka_unit_test_teardown(bits_do_not_depend_on_threads, back),
        cmocka_unit_test_teardown(winograd_keeps_to_what_is_read, back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
