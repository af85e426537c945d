/* Pooling and resizing against PyTorch, with gradients. */
#include "parity.h"

#define CASE(name, call)                                                               \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m;                                                                       \
        (void)user;                                                                    \
        y[0] = call;                                                                   \
    }
CASE(max1, xt_max_pool1d(*x, 3, .stride = 2, .padding = 1))
CASE(max2, xt_max_pool2d(*x, 2))
CASE(max2_all, xt_max_pool2d(*x, 0, .kernels = {3, 2}, .strides = {2, 1}, .paddings = {1, 0}, .dilations = {1, 2},
                             .ceil_mode = XT_ON))
CASE(max3, xt_max_pool3d(*x, 2, .padding = 1))
CASE(max2_unbatched, xt_max_pool2d(*x, 2))
CASE(avg1, xt_avg_pool1d(*x, 3, .stride = 2, .padding = 1))
CASE(avg2, xt_avg_pool2d(*x, 2))
CASE(avg2_pad, xt_avg_pool2d(*x, 3, .stride = 2, .padding = 1))
CASE(avg2_nopad, xt_avg_pool2d(*x, 3, .stride = 2, .padding = 1, .count_include_pad = XT_OFF))
CASE(avg2_ceil, xt_avg_pool2d(*x, 0, .kernels = {3, 2}, .strides = {2, 3}, .paddings = {1, 0}, .ceil_mode = XT_ON))
CASE(avg2_ceil_nopad, xt_avg_pool2d(*x, 3, .stride = 2, .padding = 1, .ceil_mode = XT_ON, .count_include_pad = XT_OFF))
CASE(avg2_divisor, xt_avg_pool2d(*x, 2, .divisor = 3))
CASE(avg3, xt_avg_pool3d(*x, 0, .kernels = {2, 1, 3}, .stride = 2, .paddings = {1, 0, 1}))
CASE(lp2, xt_lp_pool2d(*x, 2, 2))
CASE(lp1_ceil, xt_lp_pool1d(xt_abs(*x), 3, 2, .ceil_mode = XT_ON))
CASE(aavg1, xt_adaptive_avg_pool1d(*x, 4))
CASE(aavg2, xt_adaptive_avg_pool2d(*x, 3, 4))
CASE(aavg2_one, xt_adaptive_avg_pool2d(*x, 1))
CASE(aavg2_up, xt_adaptive_avg_pool2d(*x, -1, 11))
CASE(aavg3, xt_adaptive_avg_pool3d(*x, 2))
CASE(amax1, xt_adaptive_max_pool1d(*x, 4))
CASE(amax2, xt_adaptive_max_pool2d(*x, 3, 4))
CASE(amax3, xt_adaptive_max_pool3d(*x, 2, 2, 3))
CASE(gavg, xt_global_avg_pool(*x))
CASE(gmax, xt_global_max_pool(*x))
CASE(near1, xt_interpolate(*x, .sizes = {5}))
CASE(near2, xt_interpolate(*x, .scale = 2))
CASE(near2_odd, xt_interpolate(*x, .scale = 1.7))
CASE(near3, xt_interpolate(*x, .sizes = {7, 4, 3}))
CASE(lin1, xt_interpolate(*x, .mode = XT_LINEAR, .sizes = {14}))
CASE(lin2, xt_interpolate(*x, .mode = XT_LINEAR, .sizes = {5, 11}))
CASE(lin2_corners, xt_interpolate(*x, .mode = XT_LINEAR, .sizes = {5, 11}, .align_corners = XT_ON))
CASE(lin2_scale, xt_interpolate(*x, .mode = XT_LINEAR, .scale = 1.5))
CASE(lin3, xt_interpolate(*x, .mode = XT_LINEAR, .scale = 2))
CASE(cub2, xt_interpolate(*x, .mode = XT_CUBIC, .sizes = {5, 11}))
CASE(cub2_corners, xt_interpolate(*x, .mode = XT_CUBIC, .scale = 1.5, .align_corners = XT_ON))
CASE(shuffle, xt_pixel_shuffle(*x, 2))
CASE(unshuffle, xt_pixel_unshuffle(*x, 2))
CASE(lp3, xt_lp_pool3d(xt_abs(*x), 3, 2))
CASE(amax1_at, xt_adaptive_max_pool1d_with_indices(*x, &y[1], 4))
CASE(amax2_at, xt_adaptive_max_pool2d_with_indices(*x, &y[1], 3, 11))
CASE(amax3_at, xt_adaptive_max_pool3d_with_indices(*x, &y[1], 2, 2, 4))
CASE(frac2, xt_fractional_max_pool2d(*x, 0, &y[1], .kernels = {3, 2}, .sizes = {3, 5}, .samples = x[1]))
CASE(frac2_ratio, xt_fractional_max_pool2d(*x, 2, &y[1], .ratio = 0.6, .samples = x[1]))
CASE(frac3, xt_fractional_max_pool3d(*x, 2, &y[1], .sizes = {3, 1, 4}, .samples = x[1]))

static const parity_row rows[] = {
#define ROW(name) \
    { #name, c_##name }
    ROW(max1),
    ROW(max2),
    ROW(max2_all),
    ROW(max3),
    ROW(max2_unbatched),
    ROW(avg1),
    ROW(avg2),
    ROW(avg2_pad),
    ROW(avg2_nopad),
    ROW(avg2_ceil),
    ROW(avg2_ceil_nopad),
    ROW(avg2_divisor),
    ROW(avg3),
    ROW(lp2),
    ROW(lp1_ceil),
    ROW(aavg1),
    ROW(aavg2),
    ROW(aavg2_one),
    ROW(aavg2_up),
    ROW(aavg3),
    ROW(amax1),
    ROW(amax2),
    ROW(amax3),
    ROW(gavg),
    ROW(gmax),
    ROW(near1),
    ROW(near2),
    ROW(near2_odd),
    ROW(near3),
    ROW(lin1),
    ROW(lin2),
    ROW(lin2_corners),
    ROW(lin2_scale),
    ROW(lin3),
    ROW(cub2),
    ROW(cub2_corners),
    ROW(shuffle),
    ROW(unshuffle),
    ROW(lp3),
    ROW(amax1_at),
    ROW(amax2_at),
    ROW(amax3_at),
    ROW(frac2),
    ROW(frac2_ratio),
    ROW(frac3),
};

PARITY_MAIN("functional", rows)
