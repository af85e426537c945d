/* Layers' arithmetic without parameters (PyTorch's torch.nn.functional): convolution, pooling, resizing.
 * xtrain/layers.h has the layers that make the weights themselves.
 *
 * Inputs are [N,C,spatial...] with one to three spatial dims as the name says; without N they are [C,spatial...], and
 * so is the result. An option that is one number holds for every spatial dim; its plural ({2, 1}) gives each dim its
 * own, and a 0 there means the plain field:
 *     .strides, .paddings, .dilations, .output_paddings: one a dim, in place of the option without the s
 *     .kernels: one a dim, in place of the argument `kernel`
 *     .stride: places from one window to the next
 *     .dilation: places from one element of a window to the next
 * Wrong shapes give error tensors that name function, shapes and line.
 * Nothing here waits for the device. */
#ifndef XTRAIN_FUNCTIONAL_H
#define XTRAIN_FUNCTIONAL_H

#include <xtrain/base.h>
#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Convolution --- */
/* What stands outside of a tensor's edges. */
typedef enum xt_pad_mode {
    XT_PAD_ZEROS = 0, /* zeros */
    XT_PAD_CONSTANT = 0, /* the same; xt_pad: its .value */
    XT_PAD_REFLECT = 1, /* the inside, mirrored at the outermost element, which is not repeated */
    XT_PAD_REPLICATE = 2, /* the outermost element */
    XT_PAD_CIRCULAR = 3 /* the inside from the other end */
} xt_pad_mode;
#define XT_DEFAULTS_xt_conv_opts(is) is(stride, 1) is(dilation, 1) is(groups, 1) is(bias, XT_ON)
XT_DEFAULTS_OF(xt_conv_opts)
typedef struct XT_OPTIONS_ xt_conv_opts {
    size_t struct_size XT_SIZE(xt_conv_opts);
    int stride XT_IS(xt_conv_opts, stride);
    int padding XT_ZERO; /* on each side; default 0 */
    int dilation XT_IS(xt_conv_opts, dilation);
    int groups XT_IS(xt_conv_opts, groups); /* must divide the channels of input and output */
    xt_switch bias XT_IS(xt_conv_opts, bias); /* default on (layers only) */
    int strides[3] XT_ZERO, paddings[3] XT_ZERO, dilations[3] XT_ZERO;
    int kernels[3] XT_ZERO; /* layers only: instead of the kernel argument */
    /* default off; on: as much padding as keeps the input's size (stride 1 only), one more behind than in
     * front when odd */
    xt_switch same XT_ZERO;
    xt_pad_mode padding_mode XT_ZERO; /* what the padding holds; transposed: zeros only */
    int output_padding XT_ZERO; /* transposed only: rows added behind, less than stride or dilation */
    int output_paddings[3] XT_ZERO;
} xt_conv_opts;
/* x: [N,C,H,W], weight: [O,C/groups,KH,KW], bias: [O] or none -> [N,O,H',W'] */
#define xt_conv1d_fn(x, weight, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_conv1d_fn(x, weight, bias, ...): bias is missing"), \
     XT_CONV_FN_(1, x, weight, __VA_ARGS__, ))
#define xt_conv2d_fn(x, weight, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_conv2d_fn(x, weight, bias, ...): bias is missing"), \
     XT_CONV_FN_(2, x, weight, __VA_ARGS__, ))
#define xt_conv3d_fn(x, weight, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_conv3d_fn(x, weight, bias, ...): bias is missing"), \
     XT_CONV_FN_(3, x, weight, __VA_ARGS__, ))
#define XT_CONV_FN_(n, x, weight, bias, ...) \
    xt_conv_fn_at(XT_HERE, n, x, weight, bias, XT_OPTS(xt_conv_opts, __VA_ARGS__))
XT_API xt_tensor xt_conv_fn_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor weight, xt_tensor bias,
                               xt_conv_opts o);
/* The gradient of a convolution with respect to its input, as an op: x: [N,C,H,W], weight: [C,O/groups,KH,KW] ->
 * [N,O,(H-1)*stride - 2*padding + dilation*(KH-1) + output_padding + 1, ...] */
#define xt_conv_transpose1d_fn(x, weight, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_conv_transpose1d_fn(x, weight, bias, ...): bias is missing"), \
     XT_CONV_TRANSPOSE_FN_(1, x, weight, __VA_ARGS__, ))
#define xt_conv_transpose2d_fn(x, weight, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_conv_transpose2d_fn(x, weight, bias, ...): bias is missing"), \
     XT_CONV_TRANSPOSE_FN_(2, x, weight, __VA_ARGS__, ))
#define xt_conv_transpose3d_fn(x, weight, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_conv_transpose3d_fn(x, weight, bias, ...): bias is missing"), \
     XT_CONV_TRANSPOSE_FN_(3, x, weight, __VA_ARGS__, ))
#define XT_CONV_TRANSPOSE_FN_(n, x, weight, bias, ...) \
    xt_conv_transpose_fn_at(XT_HERE, n, x, weight, bias, XT_OPTS(xt_conv_opts, __VA_ARGS__))
XT_API xt_tensor xt_conv_transpose_fn_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor weight,
                                         xt_tensor bias, xt_conv_opts o);

/* --- Pooling --- */
#define XT_DEFAULTS_xt_pool_opts(is) is(stride, -1) is(dilation, 1) is(divisor, -1) is(count_include_pad, XT_ON)
XT_DEFAULTS_OF(xt_pool_opts)
typedef struct XT_OPTIONS_ xt_pool_opts {
    size_t struct_size XT_SIZE(xt_pool_opts);
    int stride XT_IS(xt_pool_opts, stride); /* -1 = the kernel size */
    int padding XT_ZERO; /* at most half the kernel; maxima see -inf there, averages 0 */
    xt_switch count_include_pad XT_IS(xt_pool_opts, count_include_pad); /* average pooling: default on */
    int dilation XT_IS(xt_pool_opts, dilation); /* max pooling only */
    xt_switch ceil_mode XT_ZERO; /* default off: a last window that only partly fits counts too */
    int divisor XT_IS(xt_pool_opts, divisor); /* average pooling; -1 = the number of elements in the window */
    int kernels[3] XT_ZERO, strides[3] XT_ZERO, paddings[3] XT_ZERO, dilations[3] XT_ZERO;
} xt_pool_opts;
/* xt_max_pool2d(x, kernel, .stride = 2) on [N,C,H,W] */
#define xt_max_pool1d(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_pool1d(x, kernel, ...): kernel is missing"), XT_POOL_(0, 1, x, __VA_ARGS__, ))
#define xt_max_pool2d(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_pool2d(x, kernel, ...): kernel is missing"), XT_POOL_(0, 2, x, __VA_ARGS__, ))
#define xt_max_pool3d(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_pool3d(x, kernel, ...): kernel is missing"), XT_POOL_(0, 3, x, __VA_ARGS__, ))
#define xt_avg_pool1d(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_avg_pool1d(x, kernel, ...): kernel is missing"), XT_POOL_(1, 1, x, __VA_ARGS__, ))
#define xt_avg_pool2d(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_avg_pool2d(x, kernel, ...): kernel is missing"), XT_POOL_(1, 2, x, __VA_ARGS__, ))
#define xt_avg_pool3d(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_avg_pool3d(x, kernel, ...): kernel is missing"), XT_POOL_(1, 3, x, __VA_ARGS__, ))
#define XT_POOL_(average, n, x, kernel, ...) \
    xt_pool_at(XT_HERE, average, n, x, XT_NUMBER_(kernel), XT_OPTS(xt_pool_opts, __VA_ARGS__))
XT_API xt_tensor xt_pool_at(const xt_src *src, bool average, int n_spatial, xt_tensor x, int kernel, xt_pool_opts o);
/* max_pool with return_indices: *out_indices, i64 of the result's dims, is where each maximum lies among its channel's
 * H*W elements, the first of equals. */
#define xt_max_pool1d_with_indices(x, kernel, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_pool1d_with_indices(x, kernel, out_indices, ...): out_indices is missing"), \
     XT_POOL_INDICES_(1, x, kernel, __VA_ARGS__, ))
#define xt_max_pool2d_with_indices(x, kernel, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_pool2d_with_indices(x, kernel, out_indices, ...): out_indices is missing"), \
     XT_POOL_INDICES_(2, x, kernel, __VA_ARGS__, ))
#define xt_max_pool3d_with_indices(x, kernel, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_pool3d_with_indices(x, kernel, out_indices, ...): out_indices is missing"), \
     XT_POOL_INDICES_(3, x, kernel, __VA_ARGS__, ))
#define XT_POOL_INDICES_(n, x, kernel, out_indices, ...) \
    xt_max_pool_with_indices_at(XT_HERE, n, x, XT_NUMBER_(kernel), out_indices, XT_OPTS(xt_pool_opts, __VA_ARGS__))
XT_API xt_tensor xt_max_pool_with_indices_at(const xt_src *src, int n_spatial, xt_tensor x, int kernel,
                                             xt_tensor *out_indices, xt_pool_opts o);
/* The way back: zeros, with x where the indices say; where windows have shared a maximum each has its gradient. What is
 * known to be pooled of other rows than the result has is an error that names .sizes. */
#define XT_DEFAULTS_xt_unpool_opts(is) is(stride, -1)
XT_DEFAULTS_OF(xt_unpool_opts)
typedef struct XT_OPTIONS_ xt_unpool_opts {
    size_t struct_size XT_SIZE(xt_unpool_opts);
    int stride XT_IS(xt_unpool_opts, stride); /* -1 = the kernel size */
    int padding XT_ZERO; /* the pooling's */
    int kernels[3] XT_ZERO, strides[3] XT_ZERO, paddings[3] XT_ZERO;
    /* of the result, as of what was pooled; default (size - 1) * stride - 2 padding + kernel, which an odd one is not
     */
    int64_t sizes[3] XT_ZERO;
} xt_unpool_opts;
/* xt_max_unpool2d(y, indices, 2): [N,C,H,W] -> [N,C,2H,2W] */
#define xt_max_unpool1d(x, indices, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_unpool1d(x, indices, kernel, ...): kernel is missing"), \
     XT_UNPOOL_(1, x, indices, __VA_ARGS__, ))
#define xt_max_unpool2d(x, indices, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_unpool2d(x, indices, kernel, ...): kernel is missing"), \
     XT_UNPOOL_(2, x, indices, __VA_ARGS__, ))
#define xt_max_unpool3d(x, indices, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_max_unpool3d(x, indices, kernel, ...): kernel is missing"), \
     XT_UNPOOL_(3, x, indices, __VA_ARGS__, ))
#define XT_UNPOOL_(n, x, indices, kernel, ...) \
    xt_max_unpool_at(XT_HERE, n, x, indices, XT_NUMBER_(kernel), XT_OPTS(xt_unpool_opts, __VA_ARGS__))
XT_API xt_tensor xt_max_unpool_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor indices, int kernel,
                                  xt_unpool_opts o);
/* (sum of x^p over the window)^(1/p); no padding. */
#define xt_lp_pool1d(x, p, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lp_pool1d(x, p, kernel, ...): kernel is missing"), XT_LP_POOL_(1, x, p, __VA_ARGS__, ))
#define xt_lp_pool2d(x, p, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lp_pool2d(x, p, kernel, ...): kernel is missing"), XT_LP_POOL_(2, x, p, __VA_ARGS__, ))
#define xt_lp_pool3d(x, p, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lp_pool3d(x, p, kernel, ...): kernel is missing"), XT_LP_POOL_(3, x, p, __VA_ARGS__, ))
#define XT_LP_POOL_(n, x, p, kernel, ...) \
    xt_lp_pool_at(XT_HERE, n, x, XT_NUMBER_(p), XT_NUMBER_(kernel), XT_OPTS(xt_pool_opts, __VA_ARGS__))
XT_API xt_tensor xt_lp_pool_at(const xt_src *src, int n_spatial, xt_tensor x, double p, int kernel, xt_pool_opts o);
/* Windows chosen so that the output has these sizes: output i of O covers floor(i*L/O) up to ceil((i+1)*L/O). A -1
 * keeps the dim; further sizes left out repeat the first: xt_adaptive_avg_pool2d(x, 7), xt_adaptive_avg_pool2d(x, 5,
 * 7). Size 1 is global pooling (dims of 1 stay). */
#define xt_adaptive_avg_pool1d(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_avg_pool1d(x, sizes, ...): sizes is missing"), \
     xt_adaptive_pool_at(XT_HERE, true, 1, x, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_avg_pool2d(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_avg_pool2d(x, sizes, ...): sizes is missing"), \
     xt_adaptive_pool_at(XT_HERE, true, 2, x, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_avg_pool3d(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_avg_pool3d(x, sizes, ...): sizes is missing"), \
     xt_adaptive_pool_at(XT_HERE, true, 3, x, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_max_pool1d(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_max_pool1d(x, sizes, ...): sizes is missing"), \
     xt_adaptive_pool_at(XT_HERE, false, 1, x, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_max_pool2d(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_max_pool2d(x, sizes, ...): sizes is missing"), \
     xt_adaptive_pool_at(XT_HERE, false, 2, x, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_max_pool3d(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_max_pool3d(x, sizes, ...): sizes is missing"), \
     xt_adaptive_pool_at(XT_HERE, false, 3, x, XT_DIMS_(__VA_ARGS__, 0)))
XT_API xt_tensor xt_adaptive_pool_at(const xt_src *src, bool average, int n_spatial, xt_tensor x, const int64_t *sizes);
/* The largest of each window, and in *out_indices where it lies, as of xt_max_pool2d_with_indices:
 * xt_adaptive_max_pool2d_with_indices(x, &indices, 5, 7) */
#define xt_adaptive_max_pool1d_with_indices(x, out_indices, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_max_pool1d_with_indices(x, out_indices, sizes, ...): sizes is missing"), \
     xt_adaptive_max_pool_with_indices_at(XT_HERE, 1, x, out_indices, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_max_pool2d_with_indices(x, out_indices, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_max_pool2d_with_indices(x, out_indices, sizes, ...): sizes is missing"), \
     xt_adaptive_max_pool_with_indices_at(XT_HERE, 2, x, out_indices, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_adaptive_max_pool3d_with_indices(x, out_indices, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_max_pool3d_with_indices(x, out_indices, sizes, ...): sizes is missing"), \
     xt_adaptive_max_pool_with_indices_at(XT_HERE, 3, x, out_indices, XT_DIMS_(__VA_ARGS__, 0)))
XT_API xt_tensor xt_adaptive_max_pool_with_indices_at(const xt_src *src, int n_spatial, xt_tensor x,
                                                      xt_tensor *out_indices, const int64_t *sizes);
/* Max pooling over windows whose places are drawn anew for each channel of each sample (Graham 2014), from
 * [N,C,...]: the result has .sizes, or .ratio of x's; one of the two is needed. *out_indices as above; NULL: not
 * wanted. xt_fractional_max_pool2d(x, 2, NULL, .ratio = 0.7) */
#define XT_DEFAULTS_xt_fractional_opts(is)
typedef struct XT_OPTIONS_ xt_fractional_opts {
    size_t struct_size XT_SIZE(xt_fractional_opts);
    int64_t sizes[3] XT_ZERO; /* of the result; further ones left out repeat the first */
    double ratio XT_ZERO; /* of the result's sizes to x's, in (0,1) */
    int kernels[3] XT_ZERO; /* one a dim, instead of `kernel` */
    xt_tensor samples XT_ZERO; /* [N,C,dims] in [0,1), as PyTorch's _random_samples; none: drawn */
} xt_fractional_opts;
#define xt_fractional_max_pool2d(x, kernel, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fractional_max_pool2d(x, kernel, out_indices, ...): out_indices is missing"), \
     XT_FRACTIONAL_(2, x, kernel, __VA_ARGS__, ))
#define xt_fractional_max_pool3d(x, kernel, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fractional_max_pool3d(x, kernel, out_indices, ...): out_indices is missing"), \
     XT_FRACTIONAL_(3, x, kernel, __VA_ARGS__, ))
#define XT_FRACTIONAL_(n, x, kernel, out_indices, ...) \
    xt_fractional_max_pool_at(XT_HERE, n, x, XT_NUMBER_(kernel), out_indices, XT_OPTS(xt_fractional_opts, __VA_ARGS__))
XT_API xt_tensor xt_fractional_max_pool_at(const xt_src *src, int n_spatial, xt_tensor x, int kernel,
                                           xt_tensor *out_indices, xt_fractional_opts o);
/* The mean (or the largest) over all dims behind [N,C] -> [N,C]. */
#define xt_global_avg_pool(x) xt_global_pool_at(XT_HERE, true, x)
#define xt_global_max_pool(x) xt_global_pool_at(XT_HERE, false, x)
XT_API xt_tensor xt_global_pool_at(const xt_src *src, bool average, xt_tensor x);

/* --- Resizing --- */
/* How xt_interpolate finds values between elements. */
typedef enum xt_resize {
    XT_NEAREST = 0, /* the element below, as PyTorch's "nearest" */
    XT_LINEAR = 1, /* straight lines between neighbours */
    XT_CUBIC = 2, /* cubic convolution over four neighbours a dim (a = -0.75) */
    XT_NEAREST_EXACT = 3, /* the element whose middle is nearest, as PyTorch's "nearest-exact" and Pillow */
    XT_AREA = 4 /* means of areas, as xt_adaptive_avg_pool's */
} xt_resize;
#define XT_DEFAULTS_xt_interpolate_opts(is)
typedef struct XT_OPTIONS_ xt_interpolate_opts {
    size_t struct_size XT_SIZE(xt_interpolate_opts);
    /* default nearest; linear is PyTorch's linear, bilinear or trilinear by rank; cubic is for [N,C,H,W] */
    xt_resize mode XT_ZERO;
    /* output size = floor(size * scale), and the places of elements go by it (XT_AREA: by the sizes; as in PyTorch,
     * XT_LINEAR leaves a dim alone whose size stays, and so does XT_NEAREST, which also takes each element of one whose
     * size doubles twice; PyTorch's own kernels of 1 and 3 dims do so in the gradient alone); or name the sizes: */
    double scale XT_ZERO;
    int64_t sizes[3] XT_ZERO; /* of the result, one a dim, or one for all; instead of scale */
    xt_switch align_corners XT_ZERO; /* linear and cubic; default off */
    /* linear and cubic, of [N,C,H,W]: where a dim shrinks, means over all that an element covers, as Pillow's */
    bool antialias XT_ZERO;
} xt_interpolate_opts;
/* .scale = 2, .mode = XT_LINEAR */
#define xt_interpolate(x, ...) xt_interpolate_at(XT_HERE, x, XT_OPTS(xt_interpolate_opts, __VA_ARGS__))
XT_API xt_tensor xt_interpolate_at(const xt_src *src, xt_tensor x, xt_interpolate_opts o);
#define xt_pixel_shuffle(x, r) xt_pixel_shuffle_at(XT_HERE, x, XT_NUMBER_(r)) /* [...,C*r*r,H,W] -> [...,C,H*r,W*r] */
#define xt_pixel_unshuffle(x, r) xt_pixel_unshuffle_at(XT_HERE, x, XT_NUMBER_(r)) /* the way back */
XT_API xt_tensor xt_pixel_shuffle_at(const xt_src *src, xt_tensor x, int r);
XT_API xt_tensor xt_pixel_unshuffle_at(const xt_src *src, xt_tensor x, int r);

#ifdef __cplusplus
}
#endif
#endif
