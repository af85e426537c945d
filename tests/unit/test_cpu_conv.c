/* Convolutions in the three forms that training records, by PyTorch's and JAX's dimension numbers, and pooling with
 * its gradient. */
#include "cpu_differential.h"

#include "cpu/run/plan.h"

typedef struct conv_row {
    const char *name;
    const char *lhs, *rhs, *out; /* types */
    const char *dims, *window;
    int feature_groups, batch_groups;
    bool reverse_rhs; /* stablehlo.reverse over the kernel's spatial dims in front */
    const char *reverse_dims;
} conv_row;

#define NCHW "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
#define NHWC "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
static const conv_row convs[] = {
    {"forward nchw", "3x4x9x8", "6x4x3x3", "3x6x7x6", NCHW, "stride = [1, 1]", 1, 1, false, ""},
    {"forward one channel", "2x1x12x12", "10x1x5x5", "2x10x8x8", NCHW, "stride = [1, 1]", 1, 1, false, ""},
    {"forward strides, padding, dilation", "2x3x11x10", "5x3x3x2", "2x5x5x6", NCHW,
     "stride = [2, 2], pad = [[1, 2], [1, 1]], rhs_dilate = [2, 1]", 1, 1, false, ""},
    {"forward nhwc", "2x9x8x4", "3x3x4x6", "2x9x8x6", NHWC, "stride = [1, 1], pad = [[1, 1], [1, 1]]", 1, 1, false, ""},
    {"forward groups", "2x4x6x6", "6x2x3x3", "2x6x4x4", NCHW, "stride = [1, 1]", 2, 1, false, ""},
    {"depthwise", "2x4x6x6", "4x1x3x3", "2x4x6x6", NCHW, "stride = [1, 1], pad = [[1, 1], [1, 1]]", 4, 1, false, ""},
    {"forward 1-d", "2x3x10", "4x3x3", "2x4x8", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "stride = [1]", 1, 1, false, ""},
    {"forward 3-d", "2x2x5x5x5", "3x2x2x2x2", "2x3x4x4x4", "[b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2]",
     "stride = [1, 1, 1]", 1, 1, false, ""},
    {"forward kernel turned around", "2x3x8x8", "4x3x3x3", "2x4x6x6", NCHW, "stride = [1, 1], reverse = [true, true]",
     1, 1, false, ""},
    {"one by one", "2x8x6x6", "16x8x1x1", "2x16x6x6", NCHW, "stride = [1, 1]", 1, 1, false, ""},
    {"data, reversed kernel before it", "3x6x7x6", "6x4x3x3", "3x4x9x8", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[2, 2], [2, 2]]", 1, 1, true, "2, 3"},
    {"data, window reversal", "3x6x7x6", "6x4x3x3", "3x4x9x8", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[2, 2], [2, 2]], reverse = [true, true]", 1, 1, false, ""},
    {"data of a strided convolution", "2x5x4x4", "5x3x3x3", "2x3x8x8", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2]", 1, 1, true, "2, 3"},
    {"transposed, kernel straight", "2x5x4x4", "5x3x3x3", "2x3x9x9", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]", 1, 1, false, ""},
    {"data nhwc", "2x7x6x6", "3x3x4x6", "2x9x8x4", "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]",
     "stride = [1, 1], pad = [[2, 2], [2, 2]]", 1, 1, true, "0, 1"},
    {"weights nchw", "3x4x9x8", "3x6x7x6", "6x4x3x3", "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]", "stride = [1, 1]", 1,
     1, false, ""},
    {"weights one channel", "4x1x12x12", "4x10x8x8", "10x1x5x5", "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
     "stride = [1, 1]", 1, 1, false, ""},
    {"weights of a strided convolution", "2x3x8x8", "2x5x4x4", "5x3x3x3", "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
     "stride = [1, 1], pad = [[1, 0], [1, 0]], rhs_dilate = [2, 2]", 1, 1, false, ""},
    {"weights nhwc", "2x9x8x4", "2x9x8x6", "3x3x4x6", "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
     "stride = [1, 1], pad = [[1, 1], [1, 1]]", 1, 1, false, ""},
    {"weights by batch groups", "3x4x7x7", "3x6x5x5", "6x2x3x3", "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
     "stride = [1, 1]", 1, 2, false, ""},
    {"forward, kernel larger than the result", "2x8x2x2", "6x8x3x3", "2x6x2x2", NCHW,
     "stride = [1, 1], pad = [[1, 1], [1, 1]]", 1, 1, false, ""},
    {"data, kernel larger than the result", "2x6x2x2", "6x8x3x3", "2x8x2x2", "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[1, 1], [1, 1]]", 1, 1, true, "2, 3"},
    {"negative padding", "2x3x9x9", "4x3x3x3", "2x4x5x5", NCHW, "stride = [1, 1], pad = [[-1, -1], [-1, -1]]", 1, 1,
     false, ""},
    {"large enough for oneDNN's own layouts", "2x32x20x20", "32x32x3x3", "2x32x18x18", NCHW, "stride = [1, 1]", 1, 1,
     false, ""},
};

static void print_conv(const conv_row *r, char *buf, size_t n, const char *type) {
    char reverse[256] = "";
    if (r->reverse_rhs)
        snprintf(reverse, sizeof reverse, "%%r = stablehlo.reverse %%w, dims = [%s] : tensor<%sx%s>\n", r->reverse_dims,
                 r->rhs, type);
    snprintf(buf, n,
             "func.func @main(%%x: tensor<%sx%s>, %%w: tensor<%sx%s>) -> tensor<%sx%s> {\n%s"
             "%%0 = stablehlo.convolution(%%x, %s) dim_numbers = %s, window = {%s} {batch_group_count = %d : i64, "
             "feature_group_count = %d : i64} : "
             "(tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\nreturn %%0 : tensor<%sx%s>\n}\n",
             r->lhs, type, r->rhs, type, r->out, type, reverse, r->reverse_rhs ? "%r" : "%w", r->dims, r->window,
             r->batch_groups, r->feature_groups, r->lhs, type, r->rhs, type, r->out, type, r->out, type);
}

static void convolutions_agree(void **state) {
    (void)state;
    const char *only = getenv("ROW");
    for (size_t i = 0; i < BASE_COUNT(convs); i++) {
        char text[2048];
        if (only && !strstr(convs[i].name, only)) continue;
        print_conv(&convs[i], text, sizeof text, "f32");
        differ(convs[i].name, text, 1e-4, 2, false);
        print_conv(&convs[i], text, sizeof text, "bf16"); /* eight bits of mantissa, sums in f32 on both sides */
        differ(convs[i].name, text, 2e-2, 1, false);
    }
}

/* A form that falls to the interpreter's loops would pass the test above as well: here the kernels must be
 * the fast ones. */
static void forms_are_recognised(void **state) {
    (void)state;
    static const struct {
        const char *name, *kernel;
    } want[] = {{"forward nchw", "onednn-conv "},
                {"forward, kernel larger than the result", "onednn-conv "},
                {"data, kernel larger than the result", "onednn-conv-data "},
                {"data, reversed kernel before it", "onednn-conv-data "},
                {"data of a strided convolution", "onednn-conv-data "},
                {"weights nchw", "onednn-conv-weights "},
                {"weights of a strided convolution", "onednn-conv-weights "},
                {"data nhwc", "onednn-conv-data "},
                {"weights nhwc", "onednn-conv-weights "},
                {"weights by batch groups", "onednn-conv-weights "}};
    for (size_t k = 0; k < BASE_COUNT(want); k++)
        for (size_t i = 0; i < BASE_COUNT(convs); i++) {
            if (strcmp(want[k].name, convs[i].name) != 0) continue;
            char text[2048];
            str plan = STR_INIT;
            cpu_exec *e;
            print_conv(&convs[i], text, sizeof text, "f32");
            expect_ok(cpu_compile(text, strlen(text), NULL, &e), want[k].name);
            cpu_plan_print(e, &plan);
            if (!strstr(str_cstr(&plan), want[k].kernel)) {
                print_error("%s: no %s in\n%s", want[k].name, want[k].kernel, str_cstr(&plan));
                fail();
            }
            str_free(&plan);
            cpu_exec_free(e);
        }
}

/* The three convolutions of one training step do the same number of products, however they are padded and dilated. */
static void gradients_count_the_same_flops(void **state) {
    (void)state;
    static const char *const names[2][3] = {
        {"forward nchw", "data, reversed kernel before it", "weights nchw"},
        {NULL, "data of a strided convolution", "weights of a strided convolution"}};
    /* 3x6x7x6 results of 4x3x3 products; 2x5x4x4 results of 3x3x3 products less what reads padding: one row and one
     * column of windows. */
    static const double want[2] = {2.0 * 3 * 6 * 7 * 6 * 4 * 3 * 3, 2.0 * 2 * 5 * 3 * (4 * 3 - 1) * (4 * 3 - 1)};
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 3; j++)
            for (size_t i = 0; i < BASE_COUNT(convs); i++) {
                if (!names[k][j] || strcmp(names[k][j], convs[i].name) != 0) continue;
                char text[2048];
                cpu_exec *e;
                print_conv(&convs[i], text, sizeof text, "f32");
                expect_ok(cpu_compile(text, strlen(text), NULL, &e), convs[i].name);
                if (cpu_exec_stats(e)->flops != want[k])
                    fail_msg("%s: %.0f flops, expected %.0f", convs[i].name, cpu_exec_stats(e)->flops, want[k]);
                cpu_exec_free(e);
            }
}

static void pooling_agrees(void **state) {
    (void)state;
    static const struct {
        const char *name, *in, *out, *window, *strides, *padding;
    } pools[] = {
        {"2x2", "3x4x8x6", "3x4x4x3", "1, 1, 2, 2", "1, 1, 2, 2", "[0, 0], [0, 0], [0, 0], [0, 0]"},
        {"2x2 with a row and a column left over", "3x4x7x9", "3x4x3x4", "1, 1, 2, 2", "1, 1, 2, 2",
         "[0, 0], [0, 0], [0, 0], [0, 0]"},
        {"3x3 overlapping, padded", "2x3x9x9", "2x3x5x5", "1, 1, 3, 3", "1, 1, 2, 2", "[0, 0], [0, 0], [1, 1], [1, 1]"},
        {"nhwc", "2x8x6x5", "2x4x3x5", "1, 2, 2, 1", "1, 2, 2, 1", "[0, 0], [0, 0], [0, 0], [0, 0]"},
        {"stride 1", "2x6x6", "2x5x4", "1, 2, 3", "1, 1, 1", "[0, 0], [0, 0], [0, 0]"},
    };
    for (size_t i = 0; i < BASE_COUNT(pools); i++) {
        char text[4096];
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<%sxf32>, %%s: tensor<%sxf32>) -> (tensor<%sxf32>, tensor<%sxf32>, "
                 "tensor<%sxf32>) {\n"
                 "%%m = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                 "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                 "%%0 = \"stablehlo.reduce_window\"(%%x, %%m) <{padding = dense<[%s]> : tensor<%zux2xi64>, "
                 "window_dimensions = array<i64: %s>, "
                 "window_strides = array<i64: %s>}> ({\n"
                 "^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                 "%%q = stablehlo.maximum %%a, %%b : tensor<f32>\n"
                 "stablehlo.return %%q : tensor<f32>\n"
                 "}) "
                 ": (tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n"
                 "%%1 = \"stablehlo.reduce_window\"(%%x, %%z) <{padding = dense<[%s]> : tensor<%zux2xi64>, "
                 "window_dimensions = array<i64: %s>, "
                 "window_strides = array<i64: %s>}> ({\n"
                 "^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                 "%%q = stablehlo.add %%a, %%b : tensor<f32>\n"
                 "stablehlo.return %%q : tensor<f32>\n"
                 "}) : "
                 "(tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n"
                 "%%2 = \"stablehlo.select_and_scatter\"(%%x, %%s, %%z) <{padding = dense<[%s]> : tensor<%zux2xi64>, "
                 "window_dimensions = array<i64: "
                 "%s>, window_strides = array<i64: %s>}> ({\n"
                 "^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                 "%%q = stablehlo.compare GE, %%a, %%b, FLOAT : (tensor<f32>, tensor<f32>) -> "
                 "tensor<i1>\nstablehlo.return %%q : tensor<i1>\n}, {\n"
                 "^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                 "%%q = stablehlo.add %%a, %%b : tensor<f32>\n"
                 "stablehlo.return %%q : tensor<f32>\n"
                 "}) : "
                 "(tensor<%sxf32>, tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n"
                 "return %%0, %%1, %%2 : tensor<%sxf32>, tensor<%sxf32>, tensor<%sxf32>\n}\n",
                 pools[i].in, pools[i].out, pools[i].out, pools[i].out, pools[i].in, pools[i].padding,
                 strlen(pools[i].in) / 2 + 1, pools[i].window, pools[i].strides, pools[i].in, pools[i].out,
                 pools[i].padding, strlen(pools[i].in) / 2 + 1, pools[i].window, pools[i].strides, pools[i].in,
                 pools[i].out, pools[i].padding, strlen(pools[i].in) / 2 + 1, pools[i].window, pools[i].strides,
                 pools[i].in, pools[i].out, pools[i].in, pools[i].out, pools[i].out, pools[i].in);
        differ(pools[i].name, text, 1e-5, 2, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_agree), cmocka_unit_test(forms_are_recognised),
                                       cmocka_unit_test(gradients_count_the_same_flops),
                                       cmocka_unit_test(pooling_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
