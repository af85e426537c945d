/* Convolution layers against PyTorch: outputs and the gradients of input, weight and bias. */
#include "parity.h"

#define CASE(name, call)                                                               \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)user;                                                                    \
        y[0] = call;                                                                   \
    }
CASE(conv1d, xt_conv1d(m, "", *x, 4, 3, .stride = 2, .padding = 1))
CASE(conv2d, xt_conv2d(m, "", *x, 4, 3))
CASE(conv2d_dims, xt_conv2d(m, "", *x, 6, 0, .kernels = {3, 2}, .strides = {2, 1}, .paddings = {0, 2},
                            .dilations = {1, 2}, .groups = 2))
CASE(conv2d_depthwise, xt_conv2d(m, "", *x, 8, 3, .padding = 1, .groups = 4, .bias = XT_OFF))
CASE(conv2d_unbatched, xt_conv2d(m, "", *x, 2, 2))
CASE(conv2d_same, xt_conv2d(m, "", *x, 3, 0, .kernels = {4, 3}, .same = XT_ON, .dilations = {1, 2}))
CASE(reflect, xt_conv2d(m, "", *x, 3, 3, .padding = 2, .padding_mode = XT_PAD_REFLECT))
CASE(replicate, xt_conv2d(m, "", *x, 3, 3, .paddings = {1, 2}, .padding_mode = XT_PAD_REPLICATE))
CASE(circular, xt_conv2d(m, "", *x, 3, 3, .padding = 2, .stride = 2, .padding_mode = XT_PAD_CIRCULAR))
CASE(conv3d, xt_conv3d(m, "", *x, 4, 0, .kernels = {2, 3, 2}, .paddings = {1, 0, 1}, .groups = 2))
CASE(transpose1d, xt_conv_transpose1d(m, "", *x, 4, 3, .stride = 2, .padding = 1, .output_padding = 1))
CASE(transpose2d, xt_conv_transpose2d(m, "", *x, 2, 3))
CASE(transpose2d_all, xt_conv_transpose2d(m, "", *x, 6, 0, .kernels = {3, 2}, .strides = {2, 3}, .paddings = {1, 0},
                                          .output_paddings = {1, 2}, .dilations = {1, 2}, .groups = 2))
CASE(transpose2d_cut, xt_conv_transpose2d(m, "", *x, 2, 2, .padding = 2, .stride = 2))
CASE(transpose3d, xt_conv_transpose3d(m, "", *x, 3, 2, .stride = 2, .bias = XT_OFF))

static const parity_row rows[] = {
#define ROW(name) \
    { #name, c_##name }
    ROW(conv1d),      ROW(conv2d),      ROW(conv2d_dims),     ROW(conv2d_depthwise), ROW(conv2d_unbatched),
    ROW(conv2d_same), ROW(reflect),     ROW(replicate),       ROW(circular),         ROW(conv3d),
    ROW(transpose1d), ROW(transpose2d), ROW(transpose2d_all), ROW(transpose2d_cut),  ROW(transpose3d),
};

PARITY_MAIN("conv", rows)
