/* Windows that slide over rows and columns of f32, by each fold, size, step and dilation, with padding on either side:
 * interpreter against compiler, the same bits whatever the threads. */
#include "cpu_check.h"

static int64_t results(int64_t n, int64_t size, int64_t step, int64_t dilation, int64_t padding) {
    int64_t reach = (size - 1) * dilation + 1;
    return (n + padding - reach) / step + 1;
}

static void one_window(const char *op, const char *init, const int64_t *size, int64_t step, int64_t dilation, int low,
                       int high) {
    enum { IMAGES = 40, H = 11, W = 39 };
    char text[900], name[128];
    long long h = results(H, size[0], step, dilation, low + high), w = results(W, size[1], step, dilation, low + high);
    snprintf(name, sizeof name, "%s of %lld x %lld, step %lld, dilation %lld, padding %d and %d", op,
             (long long)size[0], (long long)size[1], (long long)step, (long long)dilation, low, high);
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%dx%dx%dxf32>) -> tensor<%dx%lldx%lldxf32> {\n"
             "%%i = stablehlo.constant dense<%s> : tensor<f32>\n"
             "%%r = \"stablehlo.reduce_window\"(%%x, %%i) ({\n^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
             "%%v = stablehlo.%s %%a, %%b : tensor<f32>\nstablehlo.return %%v : tensor<f32>\n"
             "}) {window_dimensions = array<i64: 1, %lld, %lld>, window_strides = array<i64: 1, %lld, %lld>, "
             "window_dilations = array<i64: 1, %lld, %lld>, padding = dense<[[0, 0], [%d, %d], [%d, %d]]> : "
             "tensor<3x2xi64>} : (tensor<%dx%dx%dxf32>, tensor<f32>) -> tensor<%dx%lldx%lldxf32>\n"
             "return %%r : tensor<%dx%lldx%lldxf32>\n}\n",
             IMAGES, H, W, IMAGES, h, w, init, op, (long long)size[0], (long long)size[1], (long long)step,
             (long long)step, (long long)dilation, (long long)dilation, low, high, low, high, IMAGES, H, W, IMAGES, h,
             w, IMAGES, h, w);
    check(name, text, !strcmp(op, "add") || !strcmp(op, "multiply") ? 1e-5 : 0);
}

static void windows_agree(void **state) {
    (void)state;
    static const char *const folds[][2] = {
        {"add", "0.0"}, {"multiply", "1.0"}, {"maximum", "0xFF800000"}, {"minimum", "0x7F800000"}, {"maximum", "0.25"}};
    static const int64_t sizes[][2] = {{3, 3}, {2, 5}, {4, 1}, {1, 3}};
    static const int paddings[][2] = {{0, 0}, {1, 0}, {0, 2}, {5, 4}}; /* the last: windows in the padding altogether */
    int k = 0;
    for (size_t f = 0; f < BASE_COUNT(folds); f++)
        for (size_t s = 0; s < BASE_COUNT(sizes); s++)
            for (int64_t step = 1; step <= 5; step++, k++)
                one_window(folds[f][0], folds[f][1], sizes[s], step, k % 3 ? 1 : 2, paddings[k % 4][0],
                           paddings[k % 4][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
