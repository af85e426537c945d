/* The other names that PyTorch has for functions of tensor.h and ops.h (cat, clip, swapaxes, ...), and short functions
 * that are made of those: what a program that is carried over calls. Every name of PyTorch's, with ours or the reason
 * why there is none: doc/pytorch-names.md.
 *
 * The rules are those of ops.h: nothing waits, mistakes are error tensors with this line, gradients flow. */
#ifndef XTRAIN_NAMES_H
#define XTRAIN_NAMES_H

#include <xtrain/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Second names --- */
#define xt_absolute(x) xt_abs(x)
#define xt_arccos(x) xt_acos(x)
#define xt_arccosh(x) xt_acosh(x)
#define xt_arcsin(x) xt_asin(x)
#define xt_arcsinh(x) xt_asinh(x)
#define xt_arctan(x) xt_atan(x)
#define xt_arctanh(x) xt_atanh(x)
#define xt_negative(x) xt_neg(x)
#define xt_fix(x) xt_trunc(x)
#define xt_expit(x) xt_sigmoid(x)
#define xt_psi(x) xt_digamma(x)
#define xt_gammaln(x) xt_lgamma(x)
#define xt_arctan2(x, y) xt_atan2(x, y)
#define xt_divide(x, y) xt_div(x, y)
#define xt_true_divide(x, y) xt_div(x, y)
#define xt_multiply(x, y) xt_mul(x, y)
#define xt_subtract(x, y) xt_minus(x, y)
#define xt_greater(x, y) xt_gt(x, y)
#define xt_greater_equal(x, y) xt_ge(x, y)
#define xt_less(x, y) xt_lt(x, y)
#define xt_less_equal(x, y) xt_le(x, y)
#define xt_not_equal(x, y) xt_ne(x, y)
#define xt_ger(x, y) xt_outer(x, y)
#define xt_mT(x) xt_transpose(x, -2, -1)
#define xt_mH(x) xt_adjoint(x)
#define xt_reshape_as(x, y) xt_view_as(x, y)
#define xt_cat(n, ...) xt_concat(n, __VA_ARGS__) /* (n, tensors, axis) */
#define xt_concatenate(n, ...) xt_concat(n, __VA_ARGS__)
#define xt_view(x, ...) xt_reshape(x, __VA_ARGS__)
#define xt_expand(x, ...) xt_broadcast_to(x, __VA_ARGS__)
#define xt_size(x, axis) xt_dim(x, axis)
/* of all, xt_amax(x); along axes, as xt_sum: xt_amax(x, 1), xt_nansum(x, XT_AXES(0, 1), .keepdim = true) */
#define xt_amax(...) XT_REDUCE_(xt_max_at, xt_amax_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_amin(...) XT_REDUCE_(xt_min_at, xt_amin_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_nansum(...) XT_REDUCE_(XT_NANSUM_ALL_, xt_nansum_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_nanmean(...) XT_REDUCE_(XT_NANMEAN_ALL_, xt_nanmean_axes_at, xt_reduce_opts, __VA_ARGS__)
#define XT_NANSUM_ALL_(src, x) xt_nansum_axes_at(src, x, XT_ALL_AXES, XT_OPTS(xt_reduce_opts, ))
#define XT_NANMEAN_ALL_(src, x) xt_nanmean_axes_at(src, x, XT_ALL_AXES, XT_OPTS(xt_reduce_opts, ))
#define xt_rsub(x, y) xt_minus(y, x)
#define xt_inv(a) xt_inverse(a)
#define xt_linalg_inv(a) xt_inverse(a)
#define xt_linalg_det(a) xt_det(a)
#define xt_linalg_solve(a, y) xt_solve(a, y)
#define xt_linalg_cholesky(a) xt_cholesky(a, false)
#define xt_linalg_pinv(...) xt_pinverse(__VA_ARGS__)
#define xt_pinv(...) xt_pinverse(__VA_ARGS__)
#define xt_svdvals(a) xt_linalg_svdvals(a)
#define xt_vector_norm(...) xt_norm(__VA_ARGS__)
#define xt_row_stack(n, tensors) xt_vstack(n, tensors)
#define xt_svd(a, ...) xt_linalg_svd(a, __VA_ARGS__)
#define xt_qr(a, ...) xt_linalg_qr(a, __VA_ARGS__)
#define xt_eigh(a, ...) xt_linalg_eigh(a, __VA_ARGS__)
#define xt_eig(a, out_values, out_vectors) xt_linalg_eig(a, out_values, out_vectors)
#define xt_binary_cross_entropy_with_logits(x, ...) xt_bce_with_logits(x, __VA_ARGS__)
#define xt_clip_grad_norm_(opt, ...) xt_clip_grad_norm(opt, __VA_ARGS__)
#define xt_clip_grad_value_(opt, ...) xt_clip_grad_value(opt, __VA_ARGS__)
#define xt_kl_divergence(p, q) xt_dist_kl(p, q)
#define xt_manual_seed(seed) xt_seed(seed)
#define xt_seed_everything(seed) xt_seed(seed)
#define xt_get_rank() xt_rank()
#define xt_get_world_size() xt_world_size()
#define xt_clip(x, lo, hi) xt_clamp(x, lo, hi)
#define xt_clamp_min(x, lo) xt_clamp(x, lo, __builtin_inf())
#define xt_clamp_max(x, hi) xt_clamp(x, -__builtin_inf(), hi)
#define xt_swapaxes(x, a, b) xt_transpose(x, a, b)
#define xt_swapdims(x, a, b) xt_transpose(x, a, b)
#define xt_moveaxis(x, from, to) xt_movedim(x, from, to)
#define xt_t(x) xt_transpose(x, 0, 1)
#define xt_ravel(x) xt_flatten(x, 0)
#define xt_fliplr(x) xt_flip(x, XT_AXES(1))
#define xt_flipud(x) xt_flip(x, XT_AXES(0))
#define xt_take_along_dim(x, index, axis) xt_take_along_axis(x, index, axis)
#define xt_argwhere(x, size, out_count) xt_nonzero(x, size, out_count)
/* The integral by trapezoids of samples dx apart: xt_trapz(y, dx = 1, axis = -1) */
#define xt_trapz(...) XT_FILL2_(XT_TRAPZ_, 1, -1, __VA_ARGS__)
#define XT_TRAPZ_(y, dx, axis, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_trapezoid_at(XT_HERE, y, XT_NUMBER_(dx), XT_NUMBER_(axis)))
#define xt_bucketize(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_bucketize(values, sorted, ...): sorted is missing"), XT_BUCKETIZE_(x, __VA_ARGS__, ))
#define XT_BUCKETIZE_(x, boundaries, ...) \
    xt_searchsorted_at(XT_HERE, boundaries, x, XT_OPTS(xt_search_opts, __VA_ARGS__))
/* Fourier transforms of the last two axes: xt_fft2(x, .norm, .s = {8, 8}) */
#define xt_fft2(...) XT_FFT2_(xt_fftn_at, __VA_ARGS__, )
#define xt_ifft2(...) XT_FFT2_(xt_ifftn_at, __VA_ARGS__, )
#define xt_rfft2(...) XT_FFT2_(xt_rfftn_at, __VA_ARGS__, )
#define xt_irfft2(...) XT_FFT2_(xt_irfftn_at, __VA_ARGS__, )
/* of signals that are real in frequency or in time: hfft's result is real, ihfft's has n / 2 + 1 elements */
/* xt_hfft(x, axis, .n, .norm) */
#define xt_hfft(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_hfft(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_hfft_at, xt_fft_opts, x, __VA_ARGS__, ))
/* The way back from xt_hfft: xt_ihfft(x, axis, .n = 8) */
#define xt_ihfft(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_ihfft(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_ihfft_at, xt_fft_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_hfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_ihfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
/* along several axes, the last is the halved one: xt_hfftn(x, XT_AXES(0, 1), .n, .norm); hfft2: the last two */
#define xt_hfftn(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_hfftn(x, axes, ...): axes is missing"), \
     XT_OPT2L_(xt_hfftn_at, xt_fft_opts, x, __VA_ARGS__, ))
/* The way back from xt_hfftn: xt_ihfftn(x, axes) */
#define xt_ihfftn(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_ihfftn(x, axes, ...): axes is missing"), \
     XT_OPT2L_(xt_ihfftn_at, xt_fft_opts, x, __VA_ARGS__, ))
#define xt_hfft2(...) XT_FFT2_(xt_hfftn_at, __VA_ARGS__, )
#define xt_ihfft2(...) XT_FFT2_(xt_ihfftn_at, __VA_ARGS__, )
XT_API xt_tensor xt_hfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_ihfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
#define XT_FFT2_(f, x, ...) f(XT_HERE, x, XT_AXES(-2, -1), XT_OPTS(xt_fft_opts, __VA_ARGS__))

/* --- Of each element --- */
#define xt_sgn(x) xt_sgn_at(XT_HERE, x) /* the sign; of a complex number x / |x| */
#define xt_isreal(x) xt_isreal_at(XT_HERE, x) /* bool: the imaginary part is 0 */
#define xt_float_power(x, y) xt_float_power_at(XT_HERE, x, y) /* in f64 */
#define xt_entr(x) xt_entr_at(XT_HERE, x) /* -x log(x) */
#define xt_ndtr(x) xt_ndtr_at(XT_HERE, x) /* the normal distribution function */
#define xt_log_ndtr(x) xt_log_ndtr_at(XT_HERE, x) /* its logarithm, exact far below 0 */
#define xt_ndtri(x) xt_ndtri_at(XT_HERE, x) /* its inverse */
#define xt_mvlgamma(x, p) xt_mvlgamma_at(XT_HERE, x, XT_NUMBER_(p)) /* ln of the gamma function of p dims */
/* slopes between lower and upper drawn for each element while training, their mean otherwise */
/* xt_rrelu(x, lower = 1.0 / 8, upper = 1.0 / 3, training = false) */
#define xt_rrelu(...) XT_FILL3_(XT_RRELU_, 1.0 / 8, 1.0 / 3, false, __VA_ARGS__)
#define XT_RRELU_(x, lower, upper, training, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_rrelu_at(XT_HERE, x, XT_NUMBER_(lower), XT_NUMBER_(upper), training))
XT_API xt_tensor xt_sgn_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_isreal_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_float_power_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_entr_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_ndtr_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_log_ndtr_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_ndtri_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_mvlgamma_at(const xt_src *src, xt_tensor x, int p);
XT_API xt_tensor xt_rrelu_at(const xt_src *src, xt_tensor x, double lower, double upper, bool training);

/* --- Along axes --- */
/* both at once; either pointer may be NULL */
#define xt_aminmax(x, axes, out_min, out_max) xt_aminmax_at(XT_HERE, x, XT_AXES_OF_(axes), out_min, out_max)
/* variance and mean over the axes; the sum of squares is divided by n - correction */
#define xt_var_mean(x, axes, correction, out_var, out_mean) \
    xt_var_mean_at(XT_HERE, x, XT_AXES_OF_(axes), XT_NUMBER_(correction), out_var, out_mean)
/* the same with the root of the variance */
#define xt_std_mean(x, axes, correction, out_std, out_mean) \
    xt_std_mean_at(XT_HERE, x, XT_AXES_OF_(axes), XT_NUMBER_(correction), out_std, out_mean)
#define xt_msort(x) xt_msort_at(XT_HERE, x) /* sorted along the first axis */
XT_API void xt_aminmax_at(const xt_src *src, xt_tensor x, xt_list axes, xt_tensor *out_min, xt_tensor *out_max);
XT_API void xt_var_mean_at(const xt_src *src, xt_tensor x, xt_list axes, double correction, xt_tensor *out_var,
                           xt_tensor *out_mean);
XT_API void xt_std_mean_at(const xt_src *src, xt_tensor x, xt_list axes, double correction, xt_tensor *out_std,
                           xt_tensor *out_mean);
XT_API xt_tensor xt_msort_at(const xt_src *src, xt_tensor x);

/* --- Shapes: (n, tensors) --- */
/* along axis 1; vectors along 0 */
#define xt_hstack(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_hstack(n, tensors, ...): tensors is missing"), \
     xt_hstack_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* rows; a vector is one */
#define xt_vstack(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_vstack(n, tensors, ...): tensors is missing"), \
     xt_vstack_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* along axis 2 */
#define xt_dstack(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_dstack(n, tensors, ...): tensors is missing"), \
     xt_dstack_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* vectors as columns */
#define xt_column_stack(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_column_stack(n, tensors, ...): tensors is missing"), \
     xt_column_stack_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* of n vectors: [combinations,n] */
#define xt_cartesian_prod(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_cartesian_prod(n, tensors, ...): tensors is missing"), \
     xt_cartesian_prod_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
#define xt_atleast_1d(x) xt_atleast_at(XT_HERE, x, 1)
#define xt_atleast_2d(x) xt_atleast_at(XT_HERE, x, 2)
#define xt_atleast_3d(x) xt_atleast_at(XT_HERE, x, 3)
#define xt_adjoint(x) xt_adjoint_at(XT_HERE, x) /* the last two axes swapped, conjugated */
/* A matrix with all elements of x on diagonal k: xt_diagflat(x, k = 0) */
#define xt_diagflat(...) XT_DIAGFLAT_(__VA_ARGS__, 0, )
#define XT_DIAGFLAT_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_diagflat_at(XT_HERE, x, XT_NUMBER_(k)))
#define xt_vander(x, n, increasing) \
    xt_vander_at(XT_HERE, x, XT_NUMBER_(n), increasing) /* powers of a vector: [..., n] */
XT_API xt_tensor xt_hstack_at(const xt_src *src, int n, const xt_tensor *tensors);
XT_API xt_tensor xt_vstack_at(const xt_src *src, int n, const xt_tensor *tensors);
XT_API xt_tensor xt_dstack_at(const xt_src *src, int n, const xt_tensor *tensors);
XT_API xt_tensor xt_column_stack_at(const xt_src *src, int n, const xt_tensor *tensors);
XT_API xt_tensor xt_cartesian_prod_at(const xt_src *src, int n, const xt_tensor *tensors);
/* dims of 1 until there are `rank`: the first two in front, the third behind, as PyTorch has them */
XT_API xt_tensor xt_atleast_at(const xt_src *src, xt_tensor x, int rank);
XT_API xt_tensor xt_adjoint_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_diagflat_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_vander_at(const xt_src *src, xt_tensor x, int64_t n, bool increasing);

/* xt_combinations(x, r = 2, with_replacement = false): of r elements of a vector, in order: [combinations,r] */
#define xt_combinations(...) XT_FILL2_(XT_COMBINATIONS_, 2, false, __VA_ARGS__)
#define XT_COMBINATIONS_(x, r, with_replacement, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_combinations_at(XT_HERE, x, XT_NUMBER_(r), with_replacement))
XT_API xt_tensor xt_combinations_at(const xt_src *src, xt_tensor x, int r, bool with_replacement);
/* x with values at flat places, negative ones from the end: xt_put(x, index, values, .accumulate = true) adds. */
#define xt_put(x, index, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_put(x, index, values, ...): values is missing"), \
     XT_OPT3_(xt_put_at, xt_index_put_opts, x, index, __VA_ARGS__, ))
XT_API xt_tensor xt_put_at(const xt_src *src, xt_tensor x, xt_tensor index, xt_tensor values, xt_index_put_opts o);
/* The way back from flat places: xt_unravel_index(index, XT_LIST(3, 4), out) gives the row and the column of each in
 * out[2], i64 of index's dims. False after an error, which each of them carries. */
#define xt_unravel_index(index, dims, out) xt_unravel_index_at(XT_HERE, index, XT_AXES_OF_(dims), out)
XT_API bool xt_unravel_index_at(const xt_src *src, xt_tensor index, xt_list dims, xt_tensor *out);

/* --- Floats as bits, and as steps --- */
/* x = mantissa 2^exponent with 0.5 <= |mantissa| < 1; 0, infinities and NaN are their own mantissas, of exponent 0.
 * The exponent is i32. xt_frexp(x, &mantissa, &exponent): either pointer may be NULL. */
#define xt_frexp(x, out_mantissa, out_exponent) xt_frexp_at(XT_HERE, x, out_mantissa, out_exponent)
XT_API void xt_frexp_at(const xt_src *src, xt_tensor x, xt_tensor *out_mantissa, xt_tensor *out_exponent);
/* What x is after it was quantized to whole steps of `scale`, from `low` to `high`, `zero_point` of them for 0
 * (training with quantization): xt_fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127). Gradients reach x where it is
 * in range. Per channel: scale and zero_point [channels], of x's axis. */
#define xt_fake_quantize_per_tensor_affine(x, scale, zero_point, low, high)                                       \
    xt_fake_quantize_per_tensor_affine_at(XT_HERE, x, XT_NUMBER_(scale), XT_NUMBER_(zero_point), XT_NUMBER_(low), \
                                          XT_NUMBER_(high))
/* the same with scale and zero_point of each slice of the axis */
#define xt_fake_quantize_per_channel_affine(x, scale, zero_point, axis, low, high)                           \
    xt_fake_quantize_per_channel_affine_at(XT_HERE, x, scale, zero_point, XT_NUMBER_(axis), XT_NUMBER_(low), \
                                           XT_NUMBER_(high))
XT_API xt_tensor xt_fake_quantize_per_tensor_affine_at(const xt_src *src, xt_tensor x, double scale, int64_t zero_point,
                                                       int64_t low, int64_t high);
XT_API xt_tensor xt_fake_quantize_per_channel_affine_at(const xt_src *src, xt_tensor x, xt_tensor scale,
                                                        xt_tensor zero_point, int axis, int64_t low, int64_t high);

/* --- Comparisons with a number: xt_gt_scalar(x, 0); bools of x's dims. Beside integers a fraction is an f32. --- */
#define xt_eq_scalar(x, v) xt_eq_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_ne_scalar(x, v) xt_ne_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_lt_scalar(x, v) xt_lt_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_le_scalar(x, v) xt_le_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_gt_scalar(x, v) xt_gt_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_ge_scalar(x, v) xt_ge_scalar_at(XT_HERE, x, XT_NUMBER_(v))

/* --- Windows of signals, f32: (n, periodic = true); xt_window has all kinds, and other dtypes --- */
#define xt_hann_window(...) XT_WINDOW_NAMED_(XT_WINDOW_HANN, __VA_ARGS__, true, )
#define xt_blackman_window(...) XT_WINDOW_NAMED_(XT_WINDOW_BLACKMAN, __VA_ARGS__, true, )
#define xt_bartlett_window(...) XT_WINDOW_NAMED_(XT_WINDOW_BARTLETT, __VA_ARGS__, true, )
#define XT_WINDOW_NAMED_(kind, n, periodic, ...) \
    (XT_LAST_(1, __VA_ARGS__),                   \
     xt_window_at(XT_HERE, kind, XT_NUMBER_(n), !(periodic), XT_F32, XT_OPTS(xt_window_opts, )))
/* xt_hamming_window(n, periodic = true, alpha = 0.54), xt_kaiser_window(n, periodic = true, beta = 12) */
#define xt_hamming_window(...) XT_FILL2_(XT_HAMMING_WINDOW_, true, 0.54, __VA_ARGS__)
#define xt_kaiser_window(...) XT_FILL2_(XT_KAISER_WINDOW_, true, 12, __VA_ARGS__)
#define XT_HAMMING_WINDOW_(n, periodic, number, ...) \
    XT_WINDOW_OF_(XT_WINDOW_HAMMING, alpha, n, periodic, number, __VA_ARGS__)
#define XT_KAISER_WINDOW_(n, periodic, number, ...) \
    XT_WINDOW_OF_(XT_WINDOW_KAISER, beta, n, periodic, number, __VA_ARGS__)
#define XT_WINDOW_OF_(kind, field, n, periodic, number, ...)                                   \
    (XT_LAST_(0, __VA_ARGS__), xt_window_at(XT_HERE, kind, XT_NUMBER_(n), !(periodic), XT_F32, \
                                            XT_OPTS(xt_window_opts, .field = XT_NUMBER_(number))))

/* --- Integers --- */
#define xt_gcd(x, y) xt_gcd_at(XT_HERE, x, y) /* the greatest common divisor, >= 0; of 0 and 0 it is 0 */
#define xt_lcm(x, y) xt_lcm_at(XT_HERE, x, y) /* the least common multiple, >= 0; with 0 it is 0 */
XT_API xt_tensor xt_gcd_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_lcm_at(const xt_src *src, xt_tensor x, xt_tensor y);

/* --- Counts, slopes, signals --- */
/* The value that comes up most often along an axis, the least of equals, and where it stands last (i64); the axis goes.
 * xt_mode(x, axis, &values, &indices): either pointer may be NULL. */
#define xt_mode(x, axis, out_values, out_indices) xt_mode_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
XT_API void xt_mode_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices);
/* torch.gradient along one axis: differences of the neighbours on both sides, at the ends of one side. */
#define XT_DEFAULTS_xt_gradient_opts(is) is(spacing, 1) is(edge_order, 1)
XT_DEFAULTS_OF(xt_gradient_opts)
typedef struct XT_OPTIONS_ xt_gradient_opts {
    size_t struct_size XT_SIZE(xt_gradient_opts);
    double spacing XT_IS(xt_gradient_opts, spacing); /* between samples */
    xt_tensor coordinates XT_ZERO; /* [n]: where the samples are, instead of .spacing; none: not given */
    int edge_order XT_IS(xt_gradient_opts, edge_order); /* at the ends: of two samples (1) or three (2) */
} xt_gradient_opts;
/* xt_gradient(x, axis) */
#define xt_gradient(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_gradient(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_gradient_at, xt_gradient_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_gradient_at(const xt_src *src, xt_tensor x, int axis, xt_gradient_opts o);
/* torch.histogram: how many elements of x lie in each bin, in x's dtype, and the bins' edges [bins + 1]. The last bin
 * takes its upper edge too, what lies outside counts nowhere. xt_histogram(x, bins, &hist, &edges): `out_edges` may be
 * NULL. */
#define XT_DEFAULTS_xt_histogram_opts(is) is(lo, XT_AUTO) is(hi, XT_AUTO)
XT_DEFAULTS_OF(xt_histogram_opts)
typedef struct XT_OPTIONS_ xt_histogram_opts {
    size_t struct_size XT_SIZE(xt_histogram_opts);
    double lo XT_IS(xt_histogram_opts, lo), hi XT_IS(xt_histogram_opts, hi); /* XT_AUTO: x's least and largest */
    xt_tensor edges XT_ZERO; /* [bins + 1], ascending, instead of equal bins; none: not given */
    xt_tensor weights XT_ZERO; /* of x's shape: what each element counts; none: 1 */
    bool density XT_ZERO; /* divided by the sum and the bins' widths */
} xt_histogram_opts;
#define xt_histogram(x, bins, out_hist, ...)                                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_histogram(x, bins, out_hist, out_edges, ...): out_edges is missing"), \
     XT_HISTOGRAM_(x, bins, out_hist, __VA_ARGS__, ))
#define XT_HISTOGRAM_(x, bins, out_hist, out_edges, ...) \
    xt_histogram_at(XT_HERE, x, XT_NUMBER_(bins), out_hist, out_edges, XT_OPTS(xt_histogram_opts, __VA_ARGS__))
XT_API void xt_histogram_at(const xt_src *src, xt_tensor x, int64_t bins, xt_tensor *out_hist, xt_tensor *out_edges,
                            xt_histogram_opts o);
/* torch.histogramdd: of points x [...,D] how many lie in each box of bins, [bins of the first dim, ...] in x's dtype,
 * and the edges of each dim's bins. Edges are as xt_histogram's. xt_histogramdd(x, XT_LIST(5, 7), &hist, edges):
 * `out_edges` [D] may be NULL. Gradients do not flow. */
#define XT_DEFAULTS_xt_histogramdd_opts(is)
typedef struct XT_OPTIONS_ xt_histogramdd_opts {
    size_t struct_size XT_SIZE(xt_histogramdd_opts);
    const double *ends XT_ZERO; /* [2 D]: least and largest of each dim; NULL: x's */
    const xt_tensor *edges XT_ZERO; /* [D] of [bins + 1], ascending, instead of equal bins; NULL: not given */
    xt_tensor weights XT_ZERO; /* [...]: what each point counts; none: 1 */
    bool density XT_ZERO; /* divided by the sum and the boxes' sizes */
} xt_histogramdd_opts;
#define xt_histogramdd(x, bins, out_hist, ...)                                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_histogramdd(x, bins, out_hist, out_edges, ...): out_edges is missing"), \
     XT_HISTOGRAMDD_(x, bins, out_hist, __VA_ARGS__, ))
#define XT_HISTOGRAMDD_(x, bins, out_hist, out_edges, ...) \
    xt_histogramdd_at(XT_HERE, x, XT_AXES_OF_(bins), out_hist, out_edges, XT_OPTS(xt_histogramdd_opts, __VA_ARGS__))
XT_API void xt_histogramdd_at(const xt_src *src, xt_tensor x, xt_list bins, xt_tensor *out_hist, xt_tensor *out_edges,
                              xt_histogramdd_opts o);
/* torch.istft: complex [...,frequencies,frames] of xt_stft with the same options -> [...,samples]. Where the windows
 * that lie over a sample are all zero it is no number (PyTorch raises an error). */
#define XT_DEFAULTS_xt_istft_opts(is) is(hop, -1) is(win_length, -1) is(center, XT_ON) is(length, -1)
XT_DEFAULTS_OF(xt_istft_opts)
typedef struct XT_OPTIONS_ xt_istft_opts {
    size_t struct_size XT_SIZE(xt_istft_opts);
    int64_t hop XT_IS(xt_istft_opts, hop), win_length XT_IS(xt_istft_opts, win_length); /* as in xt_stft_opts */
    xt_tensor window XT_ZERO; /* [win_length], that of xt_stft; none: ones */
    xt_switch center XT_IS(xt_istft_opts, center); /* default on: the padding of n_fft / 2 at both ends is cut off */
    bool normalized XT_ZERO, two_sided XT_ZERO; /* what x is: divided by sqrt(n_fft); all n_fft frequencies */
    int64_t length XT_IS(xt_istft_opts, length); /* samples: the end is cut off or filled with 0; -1 = what there is */
} xt_istft_opts;
/* xt_istft(x, n_fft, .hop) */
#define xt_istft(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_istft(x, n_fft, ...): n_fft is missing"), \
     XT_OPT2N_(xt_istft_at, xt_istft_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_istft_at(const xt_src *src, xt_tensor x, int64_t n_fft, xt_istft_opts o);

/* --- Linear algebra --- */
#define xt_inner(x, y) xt_inner_at(XT_HERE, x, y) /* sums over the last axes of both */
/* xt_vecdot(x, y, axis = -1): of conj(x) */
#define xt_vecdot(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_vecdot(x, y, ...): y is missing"), XT_VECDOT_(x, __VA_ARGS__, -1, ))
#define XT_VECDOT_(x, y, axis, ...) (XT_LAST_(1, __VA_ARGS__), xt_vecdot_at(XT_HERE, x, y, XT_NUMBER_(axis)))
#define xt_vdot(x, y) xt_vecdot_at(XT_HERE, x, y, -1)
/* xt_addmv(c, a, x, beta = 1, alpha = 1): beta c + alpha a x */
#define xt_addmv(c, a, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_addmv(c, a, x, ...): x is missing"), XT_ADDMV_(c, a, __VA_ARGS__, 1, 1, ))
#define XT_ADDMV_(c, a, x, beta, alpha, ...) \
    (XT_LAST_(2, __VA_ARGS__), xt_addmv_at(XT_HERE, c, a, x, XT_NUMBER_(beta), XT_NUMBER_(alpha)))
/* xt_addr(c, x, y, beta = 1, alpha = 1): beta c + alpha x y^T */
#define xt_addr(c, x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_addr(c, x, y, ...): y is missing"), XT_ADDR_(c, x, __VA_ARGS__, 1, 1, ))
#define XT_ADDR_(c, x, y, beta, alpha, ...) \
    (XT_LAST_(2, __VA_ARGS__), xt_addr_at(XT_HERE, c, x, y, XT_NUMBER_(beta), XT_NUMBER_(alpha)))
/* in the order of fewest products */
#define xt_multi_dot(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_multi_dot(n, tensors, ...): tensors is missing"), \
     xt_multi_dot_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
#define xt_chain_matmul(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_chain_matmul(n, tensors, ...): tensors is missing"), \
     xt_multi_dot_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* The inverse of l l^T, from its factor l: xt_cholesky_inverse(l, upper = false) */
#define xt_cholesky_inverse(...) XT_CHOLESKY_INVERSE_(__VA_ARGS__, false, )
#define XT_CHOLESKY_INVERSE_(l, upper, ...) (XT_LAST_(1, __VA_ARGS__), xt_cholesky_inverse_at(XT_HERE, l, upper))
/* xt_pinverse(a, rcond = -1), xt_matrix_rank(a, rcond = -1), which is i64: by svd; values up to rcond times the largest
 * count as 0; below 0: the dtype's epsilon times the larger size */
#define xt_pinverse(...) XT_PINVERSE_(__VA_ARGS__, -1, )
#define XT_PINVERSE_(a, rcond, ...) (XT_LAST_(1, __VA_ARGS__), xt_pinverse_at(XT_HERE, a, XT_NUMBER_(rcond)))
#define xt_matrix_rank(...) XT_MATRIX_RANK_(__VA_ARGS__, -1, )
#define XT_MATRIX_RANK_(a, rcond, ...) (XT_LAST_(1, __VA_ARGS__), xt_matrix_rank_at(XT_HERE, a, XT_NUMBER_(rcond)))
#define xt_lstsq(a, y) xt_lstsq_at(XT_HERE, a, y) /* of full column rank [...,m,n], m >= n; y [...,m,k] */
/* torch.linalg.matrix_norm of the last two axes: 'f', 'n' (nuclear), 2, -2, 1, -1, INFINITY and -INFINITY */
/* xt_matrix_norm(a, ord = 'f') */
#define xt_matrix_norm(...) XT_MATRIX_NORM_(__VA_ARGS__, 'f', )
#define XT_MATRIX_NORM_(a, ord, ...) (XT_LAST_(1, __VA_ARGS__), xt_matrix_norm_at(XT_HERE, a, XT_NUMBER_(ord)))
/* torch.linalg.norm: xt_linalg_norm(x): of all elements; xt_linalg_norm(x, ord): of a vector, or of a matrix as
 * xt_matrix_norm; xt_linalg_norm(x, ord, axes, .keepdim): along one axis or of the matrices in two. */
#define xt_linalg_norm(...)                                                                                         \
    XT_FILL_BY_(__VA_ARGS__, XT_LINALG_NORM_AXES_, XT_LINALG_NORM_AXES_, XT_LINALG_NORM_AXES_, XT_LINALG_NORM_ORD_, \
                XT_NORM_TWO_, )                                                                                     \
    (__VA_ARGS__)
#define XT_LINALG_NORM_ORD_(x, ord) \
    xt_linalg_norm_at(XT_HERE, x, XT_NUMBER_(ord), XT_ALL_AXES, XT_OPTS(xt_reduce_opts, ))
#define XT_LINALG_NORM_AXES_(x, ord, ...) XT_LINALG_NORM_OVER_(x, ord, __VA_ARGS__, )
#define XT_LINALG_NORM_OVER_(x, ord, axes, ...) \
    xt_linalg_norm_at(XT_HERE, x, XT_NUMBER_(ord), XT_AXES_OF_(axes), XT_OPTS(xt_reduce_opts, __VA_ARGS__))
XT_API xt_tensor xt_linalg_norm_at(const xt_src *src, xt_tensor x, double ord, xt_list axes, xt_reduce_opts o);
/* xt_pdist(x, p = 2): [n,d]: distances of pairs i < j */
#define xt_pdist(...) XT_PDIST_(__VA_ARGS__, 2, )
#define XT_PDIST_(x, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_pdist_at(XT_HERE, x, XT_NUMBER_(p)))
XT_API xt_tensor xt_inner_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_vecdot_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis);
XT_API xt_tensor xt_addmv_at(const xt_src *src, xt_tensor c, xt_tensor a, xt_tensor x, double beta, double alpha);
XT_API xt_tensor xt_addr_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, double beta, double alpha);
XT_API xt_tensor xt_multi_dot_at(const xt_src *src, int n, const xt_tensor *tensors);
XT_API xt_tensor xt_cholesky_inverse_at(const xt_src *src, xt_tensor l, bool upper);
XT_API xt_tensor xt_pinverse_at(const xt_src *src, xt_tensor a, double rcond); /* rcond < 0: PyTorch's */
XT_API xt_tensor xt_matrix_rank_at(const xt_src *src, xt_tensor a, double rcond);
XT_API xt_tensor xt_lstsq_at(const xt_src *src, xt_tensor a, xt_tensor y);
XT_API xt_tensor xt_matrix_norm_at(const xt_src *src, xt_tensor a, double ord);
XT_API xt_tensor xt_pdist_at(const xt_src *src, xt_tensor x, double p);

#ifdef __cplusplus
}
#endif
#endif
