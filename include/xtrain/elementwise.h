/* Functions of each element: arithmetic, comparisons, activations. What ops.h says of all holds here. */
#ifndef XTRAIN_ELEMENTWISE_H
#define XTRAIN_ELEMENTWISE_H

#include <xtrain/lists.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Elementwise, one operand ---
 * Each is a function too, as in tensor.h. Integers and truth values become f32 where the result is no integer. */
#define xt_acos(x) xt_acos_at(XT_HERE, x)
#define xt_acosh(x) xt_acosh_at(XT_HERE, x)
#define xt_asin(x) xt_asin_at(XT_HERE, x) /* in [-pi/2,pi/2]; NaN outside [-1,1] */
#define xt_asinh(x) xt_asinh_at(XT_HERE, x) /* ln(x + sqrt(x^2 + 1)) */
#define xt_atan(x) xt_atan_at(XT_HERE, x) /* in (-pi/2,pi/2) */
#define xt_atanh(x) xt_atanh_at(XT_HERE, x) /* ln((1 + x) / (1 - x)) / 2 */
#define xt_cosh(x) xt_cosh_at(XT_HERE, x) /* (e^x + e^-x) / 2 */
#define xt_sinh(x) xt_sinh_at(XT_HERE, x) /* (e^x - e^-x) / 2 */
#define xt_tan(x) xt_tan_at(XT_HERE, x) /* sin(x) / cos(x) */
#define xt_log2(x) xt_log2_at(XT_HERE, x) /* to base 2 */
#define xt_log10(x) xt_log10_at(XT_HERE, x) /* to base 10 */
#define xt_exp2(x) xt_exp2_at(XT_HERE, x) /* 2^x */
#define xt_cbrt(x) xt_cbrt_at(XT_HERE, x) /* the cube root, of negative numbers too */
#define xt_reciprocal(x) xt_reciprocal_at(XT_HERE, x) /* 1 / x */
#define xt_erf(x) xt_erf_at(XT_HERE, x) /* 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x */
#define xt_erfc(x) xt_erfc_at(XT_HERE, x) /* 1 - erf(x), exact for large x */
#define xt_erfinv(x) xt_erfinv_at(XT_HERE, x) /* the y with erf(y) = x; x in [-1,1] */
#define xt_lgamma(x) xt_lgamma_at(XT_HERE, x) /* ln|gamma(x)| */
#define xt_digamma(x) xt_digamma_at(XT_HERE, x) /* the derivative of ln gamma(x) */
#define xt_logit(x) xt_logit_at(XT_HERE, x) /* log(x / (1 - x)) */
#define xt_sinc(x) xt_sinc_at(XT_HERE, x) /* sin(pi x) / (pi x) */
#define xt_deg2rad(x) xt_deg2rad_at(XT_HERE, x) /* x pi / 180 */
#define xt_rad2deg(x) xt_rad2deg_at(XT_HERE, x) /* x 180 / pi */
#define xt_trunc(x) xt_trunc_at(XT_HERE, x) /* towards zero */
#define xt_frac(x) xt_frac_at(XT_HERE, x) /* x - trunc(x) */
#define xt_isnan(x) xt_isnan_at(XT_HERE, x) /* bool, as the next four */
#define xt_isinf(x) xt_isinf_at(XT_HERE, x) /* bool: +Inf or -Inf */
#define xt_isposinf(x) xt_isposinf_at(XT_HERE, x) /* bool: +Inf */
#define xt_isneginf(x) xt_isneginf_at(XT_HERE, x) /* bool: -Inf */
#define xt_signbit(x) xt_signbit_at(XT_HERE, x) /* true for -0 and negative NaN too */
/* NaN: 0; infinities: the largest and smallest number */
#define xt_nan_to_num(x) xt_nan_to_num_at(XT_HERE, x)
#define xt_nan_to_num_with(x, nan, posinf, neginf) \
    xt_nan_to_num_with_at(XT_HERE, x, XT_NUMBER_(nan), XT_NUMBER_(posinf), XT_NUMBER_(neginf))
XT_API xt_tensor xt_nan_to_num_with_at(const xt_src *src, xt_tensor x, double nan, double posinf, double neginf);
#define xt_bitwise_not(x) xt_bitwise_not_at(XT_HERE, x) /* integers and bool */
XT_API xt_tensor xt_acos_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_acos)(xt_tensor x);
XT_API xt_tensor xt_acosh_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_acosh)(xt_tensor x);
XT_API xt_tensor xt_asin_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_asin)(xt_tensor x);
XT_API xt_tensor xt_asinh_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_asinh)(xt_tensor x);
XT_API xt_tensor xt_atan_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_atan)(xt_tensor x);
XT_API xt_tensor xt_atanh_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_atanh)(xt_tensor x);
XT_API xt_tensor xt_cosh_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_cosh)(xt_tensor x);
XT_API xt_tensor xt_sinh_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_sinh)(xt_tensor x);
XT_API xt_tensor xt_tan_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_tan)(xt_tensor x);
XT_API xt_tensor xt_log2_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_log2)(xt_tensor x);
XT_API xt_tensor xt_log10_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_log10)(xt_tensor x);
XT_API xt_tensor xt_exp2_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_exp2)(xt_tensor x);
XT_API xt_tensor xt_cbrt_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_cbrt)(xt_tensor x);
XT_API xt_tensor xt_reciprocal_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_reciprocal)(xt_tensor x);
XT_API xt_tensor xt_erf_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_erf)(xt_tensor x);
XT_API xt_tensor xt_erfc_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_erfc)(xt_tensor x);
XT_API xt_tensor xt_erfinv_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_erfinv)(xt_tensor x);
XT_API xt_tensor xt_lgamma_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_lgamma)(xt_tensor x);
XT_API xt_tensor xt_digamma_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_digamma)(xt_tensor x);
XT_API xt_tensor xt_logit_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_logit)(xt_tensor x);
XT_API xt_tensor xt_sinc_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_sinc)(xt_tensor x);
XT_API xt_tensor xt_deg2rad_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_deg2rad)(xt_tensor x);
XT_API xt_tensor xt_rad2deg_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_rad2deg)(xt_tensor x);
XT_API xt_tensor xt_trunc_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_trunc)(xt_tensor x);
XT_API xt_tensor xt_frac_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_frac)(xt_tensor x);
XT_API xt_tensor xt_isnan_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_isnan)(xt_tensor x);
XT_API xt_tensor xt_isinf_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_isinf)(xt_tensor x);
XT_API xt_tensor xt_isposinf_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_isposinf)(xt_tensor x);
XT_API xt_tensor xt_isneginf_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_isneginf)(xt_tensor x);
XT_API xt_tensor xt_signbit_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_signbit)(xt_tensor x);
XT_API xt_tensor xt_nan_to_num_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_nan_to_num)(xt_tensor x);
XT_API xt_tensor xt_bitwise_not_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_bitwise_not)(xt_tensor x);

/* --- Activations --- */
/* x times the normal distribution function: PyTorch's gelu (xt_gelu is the tanh form) */
#define xt_gelu_erf(x) xt_gelu_erf_at(XT_HERE, x)
#define xt_hardsigmoid(x) xt_hardsigmoid_at(XT_HERE, x) /* clamp(x / 6 + 0.5, 0, 1) */
#define xt_hardswish(x) xt_hardswish_at(XT_HERE, x) /* x clamp(x / 6 + 0.5, 0, 1) */
#define xt_mish(x) xt_mish_at(XT_HERE, x) /* x tanh(ln(1 + e^x)) */
#define xt_relu6(x) xt_relu6_at(XT_HERE, x) /* clamp(x, 0, 6) */
#define xt_selu(x) xt_selu_at(XT_HERE, x) /* 1.0507 (x for x > 0, else 1.67326 (e^x - 1)) */
#define xt_softsign(x) xt_softsign_at(XT_HERE, x) /* x / (1 + |x|) */
#define xt_tanhshrink(x) xt_tanhshrink_at(XT_HERE, x) /* x - tanh(x) */
#define xt_logsigmoid(x) xt_logsigmoid_at(XT_HERE, x) /* ln(1 / (1 + e^-x)), without overflow */
XT_API xt_tensor xt_gelu_erf_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_gelu_erf)(xt_tensor x);
XT_API xt_tensor xt_hardsigmoid_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_hardsigmoid)(xt_tensor x);
XT_API xt_tensor xt_hardswish_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_hardswish)(xt_tensor x);
XT_API xt_tensor xt_mish_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_mish)(xt_tensor x);
XT_API xt_tensor xt_relu6_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_relu6)(xt_tensor x);
XT_API xt_tensor xt_selu_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_selu)(xt_tensor x);
XT_API xt_tensor xt_softsign_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_softsign)(xt_tensor x);
XT_API xt_tensor xt_tanhshrink_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_tanhshrink)(xt_tensor x);
XT_API xt_tensor xt_logsigmoid_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_logsigmoid)(xt_tensor x);
/* x for x > 0, else alpha (e^x - 1): xt_elu(x, alpha = 1) */
#define xt_elu(...) XT_ELU_(__VA_ARGS__, 1, )
#define XT_ELU_(x, alpha, ...) (XT_LAST_(1, __VA_ARGS__), xt_elu_at(XT_HERE, x, XT_NUMBER_(alpha)))
/* x for x > 0, else alpha (e^(x / alpha) - 1): xt_celu(x, alpha = 1) */
#define xt_celu(...) XT_CELU_(__VA_ARGS__, 1, )
#define XT_CELU_(x, alpha, ...) (XT_LAST_(1, __VA_ARGS__), xt_celu_at(XT_HERE, x, XT_NUMBER_(alpha)))
/* x for x > 0, else slope x: xt_leaky_relu(x, slope = 0.01) */
#define xt_leaky_relu(...) XT_LEAKY_RELU_(__VA_ARGS__, 0.01, )
#define XT_LEAKY_RELU_(x, slope, ...) (XT_LAST_(1, __VA_ARGS__), xt_leaky_relu_at(XT_HERE, x, XT_NUMBER_(slope)))
/* xt_hardtanh(x, lo = -1, hi = 1): no gradient at the bounds */
#define xt_hardtanh(...) XT_FILL2_(XT_HARDTANH_, -1, 1, __VA_ARGS__)
#define XT_HARDTANH_(x, lo, hi, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_hardtanh_at(XT_HERE, x, XT_NUMBER_(lo), XT_NUMBER_(hi)))
/* x where |x| > lambda, else 0: xt_hardshrink(x, lambda = 0.5) */
#define xt_hardshrink(...) XT_HARDSHRINK_(__VA_ARGS__, 0.5, )
#define XT_HARDSHRINK_(x, lambda, ...) (XT_LAST_(1, __VA_ARGS__), xt_hardshrink_at(XT_HERE, x, XT_NUMBER_(lambda)))
/* x nearer to 0 by lambda, 0 between: xt_softshrink(x, lambda = 0.5) */
#define xt_softshrink(...) XT_SOFTSHRINK_(__VA_ARGS__, 0.5, )
#define XT_SOFTSHRINK_(x, lambda, ...) (XT_LAST_(1, __VA_ARGS__), xt_softshrink_at(XT_HERE, x, XT_NUMBER_(lambda)))
#define xt_threshold(x, limit, value) \
    xt_threshold_at(XT_HERE, x, XT_NUMBER_(limit), XT_NUMBER_(value)) /* x above the limit, else value */
/* first half times the sigmoid of the second; axis of even size */
/* xt_glu(x, axis = -1) */
#define xt_glu(...) XT_GLU_(__VA_ARGS__, -1, )
#define XT_GLU_(x, axis, ...) (XT_LAST_(1, __VA_ARGS__), xt_glu_at(XT_HERE, x, XT_NUMBER_(axis)))
/* weight: one element, or one per channel (dim 1) */
#define xt_prelu_fn(x, weight) xt_prelu_fn_at(XT_HERE, x, weight)
#define xt_softmin(x, axis) xt_softmin_at(XT_HERE, x, XT_NUMBER_(axis)) /* softmax of -x along the axis */
XT_API xt_tensor xt_elu_at(const xt_src *src, xt_tensor x, double alpha);
XT_API xt_tensor xt_celu_at(const xt_src *src, xt_tensor x, double alpha);
XT_API xt_tensor xt_leaky_relu_at(const xt_src *src, xt_tensor x, double slope);
XT_API xt_tensor xt_hardtanh_at(const xt_src *src, xt_tensor x, double lo, double hi);
XT_API xt_tensor xt_hardshrink_at(const xt_src *src, xt_tensor x, double lambda);
XT_API xt_tensor xt_softshrink_at(const xt_src *src, xt_tensor x, double lambda);
XT_API xt_tensor xt_threshold_at(const xt_src *src, xt_tensor x, double limit, double value);
XT_API xt_tensor xt_glu_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_prelu_fn_at(const xt_src *src, xt_tensor x, xt_tensor weight);
XT_API xt_tensor xt_softmin_at(const xt_src *src, xt_tensor x, int axis);
#define XT_DEFAULTS_xt_softplus_opts(is) is(beta, 1) is(threshold, 20)
XT_DEFAULTS_OF(xt_softplus_opts)
typedef struct XT_OPTIONS_ xt_softplus_opts {
    size_t struct_size XT_SIZE(xt_softplus_opts);
    double beta XT_IS(xt_softplus_opts, beta); /* log(1 + e^(beta x)) / beta */
    double threshold XT_IS(xt_softplus_opts, threshold); /* linear where beta x is above it */
} xt_softplus_opts;
#define xt_softplus(...) XT_OPT1_(xt_softplus_at, xt_softplus_opts, __VA_ARGS__, ) /* log(1 + e^(beta x)) / beta */
XT_API xt_tensor xt_softplus_at(const xt_src *src, xt_tensor x, xt_softplus_opts o);

/* --- Elementwise, two or three operands ---
 * They broadcast and promote as in tensor.h. */
#define xt_atan2(x, y) xt_atan2_at(XT_HERE, x, y)
#define xt_hypot(x, y) xt_hypot_at(XT_HERE, x, y) /* no overflow on the way */
#define xt_copysign(x, y) xt_copysign_at(XT_HERE, x, y) /* |x| with the sign of y */
#define xt_nextafter(x, y) xt_nextafter_at(XT_HERE, x, y) /* the next number from x towards y */
#define xt_ldexp(x, y) xt_ldexp_at(XT_HERE, x, y) /* x 2^y */
/* remainder with the sign of x (xt_remainder: of y) */
#define xt_fmod(x, y) XT_TWO_(xt_fmod, x, y)
#define xt_floor_divide(x, y) XT_TWO_(xt_floor_divide, x, y) /* rounds down, as // in Python */
#define xt_logaddexp(x, y) xt_logaddexp_at(XT_HERE, x, y) /* log(e^x + e^y) */
#define xt_logaddexp2(x, y) xt_logaddexp2_at(XT_HERE, x, y)
#define xt_xlogy(x, y) xt_xlogy_at(XT_HERE, x, y) /* x log(y), 0 where x is 0 */
#define xt_xlog1py(x, y) xt_xlog1py_at(XT_HERE, x, y) /* x ln(1 + y); 0 where x is 0 */
#define xt_heaviside(x, y) xt_heaviside_at(XT_HERE, x, y) /* y where x is 0 */
/* a number beside NaN wins (xt_maximum: NaN wins) */
#define xt_fmax(x, y) xt_fmax_at(XT_HERE, x, y)
#define xt_fmin(x, y) xt_fmin_at(XT_HERE, x, y) /* the smaller; of a NaN and a number the number */
/* n: a tensor of whole numbers, as floats */
#define xt_polygamma(n, x) xt_polygamma_at(XT_HERE, n, x)
#define xt_zeta(x, q) xt_zeta_at(XT_HERE, x, q) /* Hurwitz */
#define xt_logical_xor(x, y) xt_logical_xor_at(XT_HERE, x, y) /* bool: one of them, not both, is not 0 */
#define xt_bitwise_and(x, y) XT_TWO_(xt_bitwise_and, x, y) /* integers and bool, as the next two */
#define xt_bitwise_or(x, y) XT_TWO_(xt_bitwise_or, x, y) /* integers and bool */
#define xt_bitwise_xor(x, y) XT_TWO_(xt_bitwise_xor, x, y) /* integers and bool */
#define xt_bitwise_left_shift(x, y) XT_TWO_(xt_bitwise_left_shift, x, y) /* integers */
#define xt_bitwise_right_shift(x, y) XT_TWO_(xt_bitwise_right_shift, x, y) /* the sign bit repeated */
XT_API xt_tensor xt_atan2_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_atan2)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_hypot_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_hypot)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_copysign_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_copysign)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_nextafter_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_nextafter)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_ldexp_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_ldexp)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_fmod_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_fmod)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_floor_divide_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_floor_divide)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_logaddexp_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_logaddexp)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_logaddexp2_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_logaddexp2)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_xlogy_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_xlogy)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_xlog1py_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_xlog1py)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_heaviside_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_heaviside)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_fmax_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_fmax)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_fmin_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_fmin)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_polygamma_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_polygamma)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_zeta_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_zeta)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_logical_xor_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_logical_xor)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bitwise_and_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_bitwise_and)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bitwise_or_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_bitwise_or)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bitwise_xor_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_bitwise_xor)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bitwise_left_shift_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_bitwise_left_shift)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bitwise_right_shift_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_bitwise_right_shift)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bitwise_and_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_bitwise_and_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_bitwise_or_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_bitwise_or_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_bitwise_xor_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_bitwise_xor_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_bitwise_left_shift_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_bitwise_left_shift_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_bitwise_right_shift_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_bitwise_right_shift_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_fmod_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_fmod_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_floor_divide_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_floor_divide_of_scalar_at(const xt_src *src, double v, xt_tensor y);
#define xt_div_scalar(x, v) xt_div_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_rsub_scalar(x, v) xt_rsub_scalar_at(XT_HERE, x, XT_NUMBER_(v)) /* v - x */
/* x + weight (y - x), exact at both ends; the weight may be a number */
#define xt_lerp(x, y, weight) XT_LERP_(x, y, weight, __COUNTER__)
#define XT_LERP_(x, y, weight, n) XT_LERP_AS_(x, y, weight, n)
#define XT_LERP_AS_(x, y, weight, n)                                                   \
    (__extension__({                                                                   \
        xt_tensor xt_x##n##_ = (x);                                                    \
        XT_ONCE_(xt_y##n##_, weight);                                                  \
        XT_FORM_(xt_lerp, xt_x##n##_, xt_y##n##_)(XT_HERE, xt_x##n##_, y, xt_y##n##_); \
    }))
#define xt_lerp_scalar(x, y, weight) xt_lerp_scalar_at(XT_HERE, x, y, XT_NUMBER_(weight))
/* xt_addcmul(x, y, z, value = 1): x + value y z */
#define xt_addcmul(x, y, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_addcmul(x, y, z, ...): z is missing"), XT_ADDCMUL_(x, y, __VA_ARGS__, 1, ))
#define XT_ADDCMUL_(x, y, z, value, ...) (XT_LAST_(1, __VA_ARGS__), xt_addcmul_at(XT_HERE, x, y, z, XT_NUMBER_(value)))
/* xt_addcdiv(x, y, z, value = 1): x + value y / z */
#define xt_addcdiv(x, y, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_addcdiv(x, y, z, ...): z is missing"), XT_ADDCDIV_(x, y, __VA_ARGS__, 1, ))
#define XT_ADDCDIV_(x, y, z, value, ...) (XT_LAST_(1, __VA_ARGS__), xt_addcdiv_at(XT_HERE, x, y, z, XT_NUMBER_(value)))
/* either bound may be none; where they cross, hi wins */
#define xt_clamp_tensor(x, lo, hi) xt_clamp_tensor_at(XT_HERE, x, lo, hi)
XT_API xt_tensor xt_rsub_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_lerp_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor weight);
XT_API xt_tensor xt_lerp_scalar_at(const xt_src *src, xt_tensor x, xt_tensor y, double weight);
XT_API xt_tensor xt_lerp_of_scalar_at(const xt_src *src, double x, xt_tensor y, xt_tensor weight);
XT_API xt_tensor xt_addcmul_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor z, double value);
XT_API xt_tensor xt_addcdiv_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor z, double value);
XT_API xt_tensor xt_clamp_tensor_at(const xt_src *src, xt_tensor x, xt_tensor lo, xt_tensor hi);
#define XT_DEFAULTS_xt_close_opts(is) is(rtol, 1e-5) is(atol, 1e-8)
XT_DEFAULTS_OF(xt_close_opts)
typedef struct XT_OPTIONS_ xt_close_opts {
    size_t struct_size XT_SIZE(xt_close_opts);
    double rtol XT_IS(xt_close_opts, rtol); /* how far x may be from y, as a share of |y| */
    double atol XT_IS(xt_close_opts, atol); /* and beside it, whatever y is */
    bool equal_nan XT_ZERO; /* NaN is close to NaN */
} xt_close_opts;
/* |x - y| <= atol + rtol |y| */
#define xt_isclose(x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_isclose(x, y, ...): y is missing"), \
     XT_OPT2_(xt_isclose_at, xt_close_opts, x, __VA_ARGS__, ))
/* a bool tensor without dims */
#define xt_allclose(x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_allclose(x, y, ...): y is missing"), \
     XT_OPT2_(xt_allclose_at, xt_close_opts, x, __VA_ARGS__, ))
/* whether each element is one of set's; compares all with all */
#define xt_isin(x, set) xt_isin_at(XT_HERE, x, set)
XT_API xt_tensor xt_isin_at(const xt_src *src, xt_tensor x, xt_tensor set);
/* a bool tensor without dims; false where the shapes differ */
#define xt_equal(x, y) xt_equal_at(XT_HERE, x, y)
XT_API xt_tensor xt_isclose_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_close_opts o);
XT_API xt_tensor xt_allclose_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_close_opts o);
XT_API xt_tensor xt_equal_at(const xt_src *src, xt_tensor x, xt_tensor y);

#ifdef __cplusplus
}
#endif
#endif
