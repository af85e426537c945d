/* The rest of PyTorch's tensor functions, over the core of tensor.h, with PyTorch's meaning: promotion of dtypes,
 * negative axes, NaN, ties, defaults. doc/from-pytorch.md lists every name and what has none.
 *
 *  - Nothing here waits for the device. Whatever the user gets wrong gives an error tensor that names function,
 *    shapes and line.
 *  - Lists of axes and of numbers are XT_AXES(0, -1) and XT_LIST(2, 3); XT_ALL_AXES is an empty list and means all.
 *  - Options stand last and read like named arguments: xt_sum_axes(x, XT_AXES(1), .keepdim = true). Several results
 *    come back through pointers.
 *  - Gradients flow through everything that has a derivative; where a function is not smooth, PyTorch's choice is taken
 *    and said here if it surprises.
 *  - A program is compiled for shapes, so what has a size that depends on values (nonzero, unique, masked_select) is
 *    given the largest one, and says how much of it counts; or it waits for the values.
 *
 *     xt_tensor v, i;
 *     xt_topk(scores, 5, -1, &v, &i);                              // values and i64 indices
 *     xt_tensor d = xt_std_axes(x, XT_AXES(0, 2), .keepdim = true);
 *     xt_tensor y = xt_einsum("bhld,bhsd->bhls", 2, XT_TENSORS(q, k)); */
#ifndef XTRAIN_OPS_H
#define XTRAIN_OPS_H

#include <xtrain/functional.h>
#include <xtrain/tensor.h>

/* --- Lists --- */
/* Up to 16 numbers by value, and an array of tensors: xt_stack(2, XT_TENSORS(x, y), 0). */
typedef struct xt_list {
    int n;
    int64_t v[2 * XT_MAX_RANK];
} xt_list;
#ifdef __cplusplus
struct xt_numbers_ {
    xt_number_ given[2 * XT_MAX_RANK];
    xt_list list() const {
        xt_list l = {0, {}};
        for (; l.n < 2 * XT_MAX_RANK && given[l.n] != INT64_MIN; l.n++) l.v[l.n] = given[l.n];
        return l;
    }
};
#define XT_LIST(...) (xt_numbers_{{__VA_ARGS__}}.list())
#define XT_ALL_AXES (xt_list{})
template <int N> struct xt_tensor_array_ { xt_tensor d[N]; };
template <class... T> inline xt_tensor_array_<sizeof...(T)> xt_tensor_array_of_(T... v) {
    return {{v...}};
}
#define XT_TENSORS(...) (xt_tensor_array_of_(__VA_ARGS__).d)
#else
#define XT_LIST(...) \
    (XT_NUMBERS_(__VA_ARGS__), (xt_list){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define XT_ALL_AXES ((xt_list){.n = 0})
#define XT_TENSORS(...) ((const xt_tensor[]){__VA_ARGS__})
#endif
#define XT_AXES(...) XT_LIST(__VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#endif

/* How the macros below put options into a struct, after one to four arguments. */
#define XT_OPT1_(f, opts, a, ...) f(XT_HERE, a, XT_OPTS(opts, __VA_ARGS__))
#define XT_OPT2_(f, opts, a, b, ...) f(XT_HERE, a, b, XT_OPTS(opts, __VA_ARGS__))
#define XT_OPT2N_(f, opts, a, n, ...) f(XT_HERE, a, XT_NUMBER_(n), XT_OPTS(opts, __VA_ARGS__)) /* n: a number */
#define XT_OPT3_(f, opts, a, b, c, ...) f(XT_HERE, a, b, c, XT_OPTS(opts, __VA_ARGS__))
#define XT_OPT4_(f, opts, a, b, c, d, ...) f(XT_HERE, a, b, c, d, XT_OPTS(opts, __VA_ARGS__))

/* --- Elementwise, one operand ---
 * Each is a function too, as in tensor.h. Integers and truth values become f32 where the result is no integer. */
#define xt_acos(x) xt_acos_at(XT_HERE, x)
#define xt_acosh(x) xt_acosh_at(XT_HERE, x)
#define xt_asin(x) xt_asin_at(XT_HERE, x)
#define xt_asinh(x) xt_asinh_at(XT_HERE, x)
#define xt_atan(x) xt_atan_at(XT_HERE, x)
#define xt_atanh(x) xt_atanh_at(XT_HERE, x)
#define xt_cosh(x) xt_cosh_at(XT_HERE, x)
#define xt_sinh(x) xt_sinh_at(XT_HERE, x)
#define xt_tan(x) xt_tan_at(XT_HERE, x)
#define xt_log2(x) xt_log2_at(XT_HERE, x)
#define xt_log10(x) xt_log10_at(XT_HERE, x)
#define xt_exp2(x) xt_exp2_at(XT_HERE, x)
#define xt_cbrt(x) xt_cbrt_at(XT_HERE, x)
#define xt_reciprocal(x) xt_reciprocal_at(XT_HERE, x)
#define xt_erf(x) xt_erf_at(XT_HERE, x)
#define xt_erfc(x) xt_erfc_at(XT_HERE, x) /* 1 - erf(x), exact for large x */
#define xt_erfinv(x) xt_erfinv_at(XT_HERE, x)
#define xt_lgamma(x) xt_lgamma_at(XT_HERE, x) /* ln|gamma(x)| */
#define xt_digamma(x) xt_digamma_at(XT_HERE, x)
#define xt_logit(x) xt_logit_at(XT_HERE, x) /* log(x / (1 - x)) */
#define xt_sinc(x) xt_sinc_at(XT_HERE, x) /* sin(pi x) / (pi x) */
#define xt_deg2rad(x) xt_deg2rad_at(XT_HERE, x)
#define xt_rad2deg(x) xt_rad2deg_at(XT_HERE, x)
#define xt_trunc(x) xt_trunc_at(XT_HERE, x) /* towards zero */
#define xt_frac(x) xt_frac_at(XT_HERE, x) /* x - trunc(x) */
#define xt_isnan(x) xt_isnan_at(XT_HERE, x) /* bool, as the next four */
#define xt_isinf(x) xt_isinf_at(XT_HERE, x)
#define xt_isposinf(x) xt_isposinf_at(XT_HERE, x)
#define xt_isneginf(x) xt_isneginf_at(XT_HERE, x)
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
#define xt_hardsigmoid(x) xt_hardsigmoid_at(XT_HERE, x)
#define xt_hardswish(x) xt_hardswish_at(XT_HERE, x)
#define xt_mish(x) xt_mish_at(XT_HERE, x)
#define xt_relu6(x) xt_relu6_at(XT_HERE, x)
#define xt_selu(x) xt_selu_at(XT_HERE, x)
#define xt_softsign(x) xt_softsign_at(XT_HERE, x)
#define xt_tanhshrink(x) xt_tanhshrink_at(XT_HERE, x)
#define xt_logsigmoid(x) xt_logsigmoid_at(XT_HERE, x)
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
/* xt_elu(x, alpha = 1) */
#define xt_elu(...) XT_ELU_(__VA_ARGS__, 1, )
#define XT_ELU_(x, alpha, ...) (XT_LAST_(1, __VA_ARGS__), xt_elu_at(XT_HERE, x, XT_NUMBER_(alpha)))
/* xt_celu(x, alpha = 1) */
#define xt_celu(...) XT_CELU_(__VA_ARGS__, 1, )
#define XT_CELU_(x, alpha, ...) (XT_LAST_(1, __VA_ARGS__), xt_celu_at(XT_HERE, x, XT_NUMBER_(alpha)))
/* xt_leaky_relu(x, slope = 0.01) */
#define xt_leaky_relu(...) XT_LEAKY_RELU_(__VA_ARGS__, 0.01, )
#define XT_LEAKY_RELU_(x, slope, ...) (XT_LAST_(1, __VA_ARGS__), xt_leaky_relu_at(XT_HERE, x, XT_NUMBER_(slope)))
/* xt_hardtanh(x, lo = -1, hi = 1): no gradient at the bounds */
#define xt_hardtanh(...) XT_FILL2_(XT_HARDTANH_, -1, 1, __VA_ARGS__)
#define XT_HARDTANH_(x, lo, hi, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_hardtanh_at(XT_HERE, x, XT_NUMBER_(lo), XT_NUMBER_(hi)))
/* xt_hardshrink(x, lambda = 0.5) */
#define xt_hardshrink(...) XT_HARDSHRINK_(__VA_ARGS__, 0.5, )
#define XT_HARDSHRINK_(x, lambda, ...) (XT_LAST_(1, __VA_ARGS__), xt_hardshrink_at(XT_HERE, x, XT_NUMBER_(lambda)))
/* xt_softshrink(x, lambda = 0.5) */
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
#define xt_softmin(x, axis) xt_softmin_at(XT_HERE, x, XT_NUMBER_(axis))
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
    double beta XT_IS(xt_softplus_opts, beta);
    double threshold XT_IS(xt_softplus_opts, threshold); /* linear where beta x is above it */
} xt_softplus_opts;
#define xt_softplus(...) XT_OPT1_(xt_softplus_at, xt_softplus_opts, __VA_ARGS__, )
XT_API xt_tensor xt_softplus_at(const xt_src *src, xt_tensor x, xt_softplus_opts o);

/* --- Elementwise, two or three operands ---
 * They broadcast and promote as in tensor.h. */
#define xt_atan2(x, y) xt_atan2_at(XT_HERE, x, y)
#define xt_hypot(x, y) xt_hypot_at(XT_HERE, x, y) /* no overflow on the way */
#define xt_copysign(x, y) xt_copysign_at(XT_HERE, x, y)
#define xt_nextafter(x, y) xt_nextafter_at(XT_HERE, x, y)
#define xt_ldexp(x, y) xt_ldexp_at(XT_HERE, x, y) /* x 2^y */
/* remainder with the sign of x (xt_remainder: of y) */
#define xt_fmod(x, y) xt_fmod_at(XT_HERE, x, y)
#define xt_floor_divide(x, y) xt_floor_divide_at(XT_HERE, x, y) /* rounds down, as // in Python */
#define xt_logaddexp(x, y) xt_logaddexp_at(XT_HERE, x, y) /* log(e^x + e^y) */
#define xt_logaddexp2(x, y) xt_logaddexp2_at(XT_HERE, x, y)
#define xt_xlogy(x, y) xt_xlogy_at(XT_HERE, x, y) /* x log(y), 0 where x is 0 */
#define xt_xlog1py(x, y) xt_xlog1py_at(XT_HERE, x, y)
#define xt_heaviside(x, y) xt_heaviside_at(XT_HERE, x, y) /* y where x is 0 */
/* a number beside NaN wins (xt_maximum: NaN wins) */
#define xt_fmax(x, y) xt_fmax_at(XT_HERE, x, y)
#define xt_fmin(x, y) xt_fmin_at(XT_HERE, x, y)
/* n: a tensor of whole numbers, as floats */
#define xt_polygamma(n, x) xt_polygamma_at(XT_HERE, n, x)
#define xt_zeta(x, q) xt_zeta_at(XT_HERE, x, q) /* Hurwitz */
#define xt_logical_xor(x, y) xt_logical_xor_at(XT_HERE, x, y)
#define xt_bitwise_and(x, y) xt_bitwise_and_at(XT_HERE, x, y) /* integers and bool, as the next two */
#define xt_bitwise_or(x, y) xt_bitwise_or_at(XT_HERE, x, y)
#define xt_bitwise_xor(x, y) xt_bitwise_xor_at(XT_HERE, x, y)
#define xt_bitwise_left_shift(x, y) xt_bitwise_left_shift_at(XT_HERE, x, y) /* integers */
#define xt_bitwise_right_shift(x, y) xt_bitwise_right_shift_at(XT_HERE, x, y) /* the sign bit repeated */
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
#define xt_div_scalar(x, v) xt_div_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_rsub_scalar(x, v) xt_rsub_scalar_at(XT_HERE, x, XT_NUMBER_(v)) /* v - x */
/* x + weight (y - x), exact at both ends */
#define xt_lerp(x, y, weight) xt_lerp_at(XT_HERE, x, y, weight)
#define xt_lerp_scalar(x, y, weight) xt_lerp_scalar_at(XT_HERE, x, y, XT_NUMBER_(weight))
/* xt_addcmul(x, y, z, value = 1): x + value y z */
#define xt_addcmul(x, y, ...) XT_ADDCMUL_(x, y, __VA_ARGS__, 1, )
#define XT_ADDCMUL_(x, y, z, value, ...) (XT_LAST_(1, __VA_ARGS__), xt_addcmul_at(XT_HERE, x, y, z, XT_NUMBER_(value)))
/* xt_addcdiv(x, y, z, value = 1): x + value y / z */
#define xt_addcdiv(x, y, ...) XT_ADDCDIV_(x, y, __VA_ARGS__, 1, )
#define XT_ADDCDIV_(x, y, z, value, ...) (XT_LAST_(1, __VA_ARGS__), xt_addcdiv_at(XT_HERE, x, y, z, XT_NUMBER_(value)))
/* either bound may be none; where they cross, hi wins */
#define xt_clamp_tensor(x, lo, hi) xt_clamp_tensor_at(XT_HERE, x, lo, hi)
XT_API xt_tensor xt_div_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_rsub_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_lerp_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor weight);
XT_API xt_tensor xt_lerp_scalar_at(const xt_src *src, xt_tensor x, xt_tensor y, double weight);
XT_API xt_tensor xt_addcmul_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor z, double value);
XT_API xt_tensor xt_addcdiv_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor z, double value);
XT_API xt_tensor xt_clamp_tensor_at(const xt_src *src, xt_tensor x, xt_tensor lo, xt_tensor hi);
#define XT_DEFAULTS_xt_close_opts(is) is(rtol, 1e-5) is(atol, 1e-8)
XT_DEFAULTS_OF(xt_close_opts)
typedef struct XT_OPTIONS_ xt_close_opts {
    size_t struct_size XT_SIZE(xt_close_opts);
    double rtol XT_IS(xt_close_opts, rtol), atol XT_IS(xt_close_opts, atol);
    bool equal_nan;
} xt_close_opts;
#define xt_isclose(x, ...) XT_OPT2_(xt_isclose_at, xt_close_opts, x, __VA_ARGS__, ) /* |x - y| <= atol + rtol |y| */
#define xt_allclose(x, ...) XT_OPT2_(xt_allclose_at, xt_close_opts, x, __VA_ARGS__, ) /* a bool tensor without dims */
/* whether each element is one of set's; compares all with all */
#define xt_isin(x, set) xt_isin_at(XT_HERE, x, set)
XT_API xt_tensor xt_isin_at(const xt_src *src, xt_tensor x, xt_tensor set);
/* a bool tensor without dims; false where the shapes differ */
#define xt_equal(x, y) xt_equal_at(XT_HERE, x, y)
XT_API xt_tensor xt_isclose_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_close_opts o);
XT_API xt_tensor xt_allclose_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_close_opts o);
XT_API xt_tensor xt_equal_at(const xt_src *src, xt_tensor x, xt_tensor y);

/* --- Reductions ---
 * Over several axes or all (XT_ALL_AXES), narrow floats accumulated in f32. Sums and products of integers are i64,
 * means of integers f32. The gradient of amax and amin is shared by equal extremes; that of xt_max_with_index goes to
 * the one element named. xt_sum, mean, max, min: tensor.h. */
#define XT_DEFAULTS_xt_reduce_opts(is)
typedef struct XT_OPTIONS_ xt_reduce_opts {
    size_t struct_size XT_SIZE(xt_reduce_opts);
    bool keepdim; /* reduced dims stay as 1 */
    xt_dtype dtype; /* cast to this first; none: as said above */
} xt_reduce_opts;
#define xt_sum_axes(x, ...) XT_OPT2_(xt_sum_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_mean_axes(x, ...) XT_OPT2_(xt_mean_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_prod_axes(x, ...) XT_OPT2_(xt_prod_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_amax_axes(x, ...) XT_OPT2_(xt_amax_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_amin_axes(x, ...) XT_OPT2_(xt_amin_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_any_axes(x, ...) XT_OPT2_(xt_any_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_all_axes(x, ...) XT_OPT2_(xt_all_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_logsumexp_axes(x, ...) XT_OPT2_(xt_logsumexp_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_count_nonzero_axes(x, ...) XT_OPT2_(xt_count_nonzero_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_sum_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_mean_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_prod_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_amax_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_amin_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_any_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_all_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_logsumexp_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_count_nonzero_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
#define XT_DEFAULTS_xt_var_opts(is) is(correction, 1)
XT_DEFAULTS_OF(xt_var_opts)
typedef struct XT_OPTIONS_ xt_var_opts {
    size_t struct_size XT_SIZE(xt_var_opts);
    bool keepdim;
    bool population; /* divide by the count itself: correction 0 */
    double correction XT_IS(xt_var_opts, correction); /* what is taken off the count */
} xt_var_opts;
#define xt_var_axes(x, ...) XT_OPT2_(xt_var_axes_at, xt_var_opts, x, __VA_ARGS__, )
#define xt_std_axes(x, ...) XT_OPT2_(xt_std_axes_at, xt_var_opts, x, __VA_ARGS__, ) /* the slope at 0 is 0 */
XT_API xt_tensor xt_var_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_var_opts o);
XT_API xt_tensor xt_std_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_var_opts o);
#define XT_DEFAULTS_xt_vector_norm_opts(is) is(p, 2)
XT_DEFAULTS_OF(xt_vector_norm_opts)
typedef struct XT_OPTIONS_ xt_vector_norm_opts {
    size_t struct_size XT_SIZE(xt_vector_norm_opts);
    bool keepdim;
    bool zero; /* the 0-norm: how many are not zero */
    /* 0: how many are not zero; INFINITY and -INFINITY: the largest and smallest magnitude */
    double p XT_IS(xt_vector_norm_opts, p);
} xt_vector_norm_opts;
/* sum(|x|^p)^(1/p); the slope at 0 is 0 */
#define xt_norm_axes(x, ...) XT_OPT2_(xt_norm_axes_at, xt_vector_norm_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_norm_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_vector_norm_opts o);
/* Over everything. */
#define xt_prod(x) xt_prod_at(XT_HERE, x)
#define xt_any(x) xt_any_at(XT_HERE, x)
#define xt_all(x) xt_all_at(XT_HERE, x)
#define xt_var(x) xt_var_at(XT_HERE, x) /* divided by the count less 1, as std */
#define xt_std(x) xt_std_at(XT_HERE, x)
#define xt_norm(x) xt_norm_at(XT_HERE, x) /* of two */
#define xt_logsumexp(x) xt_logsumexp_at(XT_HERE, x)
#define xt_count_nonzero(x) xt_count_nonzero_at(XT_HERE, x)
/* the lower one of an even count; NaN if there is one */
#define xt_median(x) xt_median_at(XT_HERE, x)
XT_API xt_tensor xt_prod_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_any_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_all_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_var_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_std_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_norm_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_logsumexp_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_count_nonzero_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_median_at(const xt_src *src, xt_tensor x);
/* NaN counts for nothing; a mean of none is NaN. */
#define xt_nansum_axes(x, ...) XT_OPT2_(xt_nansum_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
#define xt_nanmean_axes(x, ...) XT_OPT2_(xt_nanmean_axes_at, xt_reduce_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_nansum_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_nanmean_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
#define XT_DEFAULTS_xt_normalize_opts(is) is(p, 2) is(eps, 1e-12)
XT_DEFAULTS_OF(xt_normalize_opts)
typedef struct XT_OPTIONS_ xt_normalize_opts {
    size_t struct_size XT_SIZE(xt_normalize_opts);
    double p XT_IS(xt_normalize_opts, p), eps XT_IS(xt_normalize_opts, eps);
} xt_normalize_opts;
/* xt_normalize(x, axis): x / max(norm, eps) */
#define xt_normalize(x, ...) XT_OPT2N_(xt_normalize_at, xt_normalize_opts, x, __VA_ARGS__, )
#define XT_DEFAULTS_xt_pairwise_distance_opts(is) is(p, 2) is(eps, 1e-6)
XT_DEFAULTS_OF(xt_pairwise_distance_opts)
typedef struct XT_OPTIONS_ xt_pairwise_distance_opts {
    size_t struct_size XT_SIZE(xt_pairwise_distance_opts);
    double p XT_IS(xt_pairwise_distance_opts, p); /* which norm */
    double eps XT_IS(xt_pairwise_distance_opts, eps); /* added to each difference */
    bool keepdim;
} xt_pairwise_distance_opts;
/* norm of x - y over the last dim: [...,D] -> [...] */
#define xt_pairwise_distance(x, ...) XT_OPT2_(xt_pairwise_distance_at, xt_pairwise_distance_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_pairwise_distance_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_pairwise_distance_opts o);
/* rows are variables: [n,samples] -> [n,n] */
#define xt_cov(x) xt_cov_at(XT_HERE, x)
#define xt_corrcoef(x) xt_corrcoef_at(XT_HERE, x)
/* xt_cumulative_trapezoid(y, dx = 1, axis = -1) */
#define xt_cumulative_trapezoid(...) XT_FILL2_(XT_CUMULATIVE_TRAPEZOID_, 1, -1, __VA_ARGS__)
#define XT_CUMULATIVE_TRAPEZOID_(y, dx, axis, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_cumulative_trapezoid_at(XT_HERE, y, XT_NUMBER_(dx), XT_NUMBER_(axis)))
/* slices of an axis whose p-norm is above `most` scaled down to it */
#define xt_renorm(x, p, axis, most) xt_renorm_at(XT_HERE, x, XT_NUMBER_(p), XT_NUMBER_(axis), XT_NUMBER_(most))
XT_API xt_tensor xt_cumulative_trapezoid_at(const xt_src *src, xt_tensor y, double dx, int axis);
XT_API xt_tensor xt_renorm_at(const xt_src *src, xt_tensor x, double p, int axis, double most);
/* xt_trapezoid(y, dx = 1, axis = -1): integral over points dx apart */
#define xt_trapezoid(...) XT_FILL2_(XT_TRAPEZOID_, 1, -1, __VA_ARGS__)
#define XT_TRAPEZOID_(y, dx, axis, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_trapezoid_at(XT_HERE, y, XT_NUMBER_(dx), XT_NUMBER_(axis)))
XT_API xt_tensor xt_normalize_at(const xt_src *src, xt_tensor x, int axis, xt_normalize_opts o);
XT_API xt_tensor xt_cov_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_corrcoef_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_trapezoid_at(const xt_src *src, xt_tensor y, double dx, int axis);
/* i64, first of equals; NaN counts as smallest */
#define xt_argmin(x, axis) xt_argmin_at(XT_HERE, x, XT_NUMBER_(axis))
#define xt_max_with_index(x, axis, out_values, out_indices) \
    xt_max_with_index_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
#define xt_min_with_index(x, axis, out_values, out_indices) \
    xt_min_with_index_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
XT_API xt_tensor xt_argmin_at(const xt_src *src, xt_tensor x, int axis);
XT_API void xt_max_with_index_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values,
                                 xt_tensor *out_indices);
XT_API void xt_min_with_index_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values,
                                 xt_tensor *out_indices);
/* Running totals along an axis; sums and products of integers are i64. cummax, cummin name the later of equals. */
#define xt_cumsum(x, axis) xt_cumsum_at(XT_HERE, x, XT_NUMBER_(axis))
#define xt_cumprod(x, axis) xt_cumprod_at(XT_HERE, x, XT_NUMBER_(axis))
#define xt_logcumsumexp(x, axis) xt_logcumsumexp_at(XT_HERE, x, XT_NUMBER_(axis))
#define xt_cummax(x, axis, out_values, out_indices) xt_cummax_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
#define xt_cummin(x, axis, out_values, out_indices) xt_cummin_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
/* xt_diff(x, n = 1, axis = -1): differences of neighbours, n times */
#define xt_diff(...) XT_FILL2_(XT_DIFF_, 1, -1, __VA_ARGS__)
#define XT_DIFF_(x, n, axis, ...) (XT_LAST_(0, __VA_ARGS__), xt_diff_at(XT_HERE, x, XT_NUMBER_(n), XT_NUMBER_(axis)))
XT_API xt_tensor xt_cumsum_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_cumprod_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_logcumsumexp_at(const xt_src *src, xt_tensor x, int axis);
XT_API void xt_cummax_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices);
XT_API void xt_cummin_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices);
XT_API xt_tensor xt_diff_at(const xt_src *src, xt_tensor x, int n, int axis);

/* --- Sorting ---
 * NaN counts as larger than every number. Always stable. Indices are i64; gradients of values go back to where
 * they came from. */
#define XT_DEFAULTS_xt_sort_opts(is)
typedef struct XT_OPTIONS_ xt_sort_opts {
    size_t struct_size XT_SIZE(xt_sort_opts);
    bool descending;
} xt_sort_opts;
#define xt_sort(x, axis, out_values, ...) XT_SORT_(x, axis, out_values, __VA_ARGS__, )
#define XT_SORT_(x, axis, out_values, out_indices, ...) \
    xt_sort_at(XT_HERE, x, XT_NUMBER_(axis), XT_OPTS(xt_sort_opts, __VA_ARGS__), out_values, out_indices)
#define xt_argsort(x, ...) XT_OPT2N_(xt_argsort_at, xt_sort_opts, x, __VA_ARGS__, )
XT_API void xt_sort_at(const xt_src *src, xt_tensor x, int axis, xt_sort_opts o, xt_tensor *out_values,
                       xt_tensor *out_indices);
XT_API xt_tensor xt_argsort_at(const xt_src *src, xt_tensor x, int axis, xt_sort_opts o);
#define XT_DEFAULTS_xt_topk_opts(is)
typedef struct XT_OPTIONS_ xt_topk_opts {
    size_t struct_size XT_SIZE(xt_topk_opts);
    bool smallest; /* the k smallest, in ascending order */
} xt_topk_opts;
/* in order; of equals the first ones */
#define xt_topk(x, k, axis, out_values, ...) XT_TOPK_(x, k, axis, out_values, __VA_ARGS__, )
#define XT_TOPK_(x, k, axis, out_values, out_indices, ...) \
    xt_topk_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(axis), XT_OPTS(xt_topk_opts, __VA_ARGS__), out_values, out_indices)
XT_API void xt_topk_at(const xt_src *src, xt_tensor x, int64_t k, int axis, xt_topk_opts o, xt_tensor *out_values,
                       xt_tensor *out_indices);
/* k from 1: the smallest */
#define xt_kthvalue(x, k, axis, out_values, out_indices) \
    xt_kthvalue_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(axis), out_values, out_indices)
#define xt_median_axis(x, axis, out_values, out_indices) \
    xt_median_axis_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
/* NaN counts for nothing */
#define xt_nanmedian_axis(x, axis, out_values, out_indices) \
    xt_nanmedian_axis_at(XT_HERE, x, XT_NUMBER_(axis), out_values, out_indices)
XT_API void xt_nanmedian_axis_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values,
                                 xt_tensor *out_indices);
/* The number below which a share q of an axis lies. Between neighbours of the sorted axis it is found as
 * .interpolation says; the axis goes. NaN: of NaN. xt_quantile(x, 0.9, -1, .interpolation = XT_QUANTILE_LOWER) */
typedef enum xt_quantile_rule {
    XT_QUANTILE_LINEAR,
    XT_QUANTILE_LOWER,
    XT_QUANTILE_HIGHER,
    XT_QUANTILE_MIDPOINT,
    XT_QUANTILE_NEAREST
} xt_quantile_rule;
#define XT_DEFAULTS_xt_quantile_opts(is)
typedef struct XT_OPTIONS_ xt_quantile_opts {
    size_t struct_size XT_SIZE(xt_quantile_opts);
    xt_quantile_rule interpolation; /* default linear */
    bool keepdim; /* the axis stays, with one element */
} xt_quantile_opts;
#define xt_quantile(x, q, ...) XT_QUANTILE_(xt_quantile_at, x, q, __VA_ARGS__, )
/* NaN counts for nothing; a row of nothing else gives NaN. */
#define xt_nanquantile(x, q, ...) XT_QUANTILE_(xt_nanquantile_at, x, q, __VA_ARGS__, )
#define XT_QUANTILE_(f, x, q, axis, ...) \
    f(XT_HERE, x, XT_NUMBER_(q), XT_NUMBER_(axis), XT_OPTS(xt_quantile_opts, __VA_ARGS__))
XT_API void xt_kthvalue_at(const xt_src *src, xt_tensor x, int64_t k, int axis, xt_tensor *out_values,
                           xt_tensor *out_indices);
XT_API void xt_median_axis_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices);
XT_API xt_tensor xt_quantile_at(const xt_src *src, xt_tensor x, double q, int axis, xt_quantile_opts o);
XT_API xt_tensor xt_nanquantile_at(const xt_src *src, xt_tensor x, double q, int axis, xt_quantile_opts o);
#define XT_DEFAULTS_xt_search_opts(is)
typedef struct XT_OPTIONS_ xt_search_opts {
    size_t struct_size XT_SIZE(xt_search_opts);
    bool right; /* after equal numbers; else before them */
} xt_search_opts;
/* Where values belong in a sorted last axis ([n], or the same dims in front): i64. Compares all with all: memory
 * grows with both. */
#define xt_searchsorted(sorted, ...) XT_OPT2_(xt_searchsorted_at, xt_search_opts, sorted, __VA_ARGS__, )
XT_API xt_tensor xt_searchsorted_at(const xt_src *src, xt_tensor sorted, xt_tensor values, xt_search_opts o);

/* --- Sizes that depend on values ---
 * The caller says how many results there is room for: `size` along the first dim. *out_count (i64, no dims; may be
 * NULL) is how many there are; the first of them, in PyTorch's order, come first, and behind them stand zeros. size -1
 * waits for the count, so that the result has exactly the size it has in PyTorch: another count is another program. */
/* [size]: the elements where mask, a bool that broadcasts to x, is true. Gradients go back to where they were. */
#define xt_masked_select(x, mask, size, out_count) xt_masked_select_at(XT_HERE, x, mask, XT_NUMBER_(size), out_count)
XT_API xt_tensor xt_masked_select_at(const xt_src *src, xt_tensor x, xt_tensor mask, int64_t size,
                                     xt_tensor *out_count);
/* i64 [size,rank of x]: where x is not 0, row by row (argwhere too) */
#define xt_nonzero(x, size, out_count) xt_nonzero_at(XT_HERE, x, XT_NUMBER_(size), out_count)
XT_API xt_tensor xt_nonzero_at(const xt_src *src, xt_tensor x, int64_t size, xt_tensor *out_count);
#define XT_DEFAULTS_xt_unique_opts(is)
typedef struct XT_OPTIONS_ xt_unique_opts {
    size_t struct_size XT_SIZE(xt_unique_opts);
    xt_tensor *inverse; /* to be filled: i64 of x's dims, which of the values each element is */
    xt_tensor *counts; /* to be filled: i64 [size], how often each value stands in x */
    xt_tensor *count; /* to be filled: i64, how many values there are */
    bool consecutive; /* unique_consecutive: x as it lies, only equal neighbours are joined; default: sorted */
} xt_unique_opts;
/* [size]: the values of x, each once; every NaN is a value of its own. What is behind `size` is left out, and inverse
 * still says where it would be. */
#define xt_unique(x, ...) XT_OPT2N_(xt_unique_at, xt_unique_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_unique_at(const xt_src *src, xt_tensor x, int64_t size, xt_unique_opts o);

/* --- Shapes --- */
#define xt_narrow(x, axis, start, length) \
    xt_narrow_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(length))
#define xt_select(x, axis, index) \
    xt_select_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(index)) /* x[..., index, ...]: one dim less */
#define xt_slice_step(x, axis, start, stop, step)                                                                      \
    xt_slice_step_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step)) /* step >= 1 \
                                                                                                           */
XT_API xt_tensor xt_narrow_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t length);
XT_API xt_tensor xt_select_at(const xt_src *src, xt_tensor x, int axis, int64_t index);
XT_API xt_tensor xt_slice_step_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t stop, int64_t step);
/* x with part of it replaced, as x[..., start:stop:step, ...] = y and x[..., index, ...] = y do. */
#define xt_slice_scatter(x, y, axis, start, stop, step) \
    xt_slice_scatter_at(XT_HERE, x, y, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step))
#define xt_select_scatter(x, y, axis, index) xt_select_scatter_at(XT_HERE, x, y, XT_NUMBER_(axis), XT_NUMBER_(index))
XT_API xt_tensor xt_slice_scatter_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis, int64_t start, int64_t stop,
                                     int64_t step);
XT_API xt_tensor xt_select_scatter_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis, int64_t index);
/* Parts into `out`; they give the number of parts, 0 after an error (which is in every part). `max`: room in out. */
/* parts of `size`, the last one smaller */
#define xt_split(x, size, axis, max, out) \
    xt_split_at(XT_HERE, x, XT_NUMBER_(size), XT_NUMBER_(axis), XT_NUMBER_(max), out)
/* room for `parts`; may give fewer */
#define xt_chunk(x, parts, axis, out) xt_chunk_at(XT_HERE, x, XT_NUMBER_(parts), XT_NUMBER_(axis), out)
/* exactly `parts`, sizes as equal as can be */
#define xt_tensor_split(x, parts, axis, out) xt_tensor_split_at(XT_HERE, x, XT_NUMBER_(parts), XT_NUMBER_(axis), out)
/* (x, n, sizes, axis, out) */
#define xt_split_sizes(x, n, ...) (XT_NO_DTYPE_(__VA_ARGS__), xt_split_sizes_at(XT_HERE, x, XT_NUMBER_(n), __VA_ARGS__))
/* slices without that axis */
#define xt_unbind(x, axis, max, out) xt_unbind_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(max), out)
XT_API int xt_split_at(const xt_src *src, xt_tensor x, int64_t size, int axis, int max, xt_tensor *out);
XT_API int xt_chunk_at(const xt_src *src, xt_tensor x, int parts, int axis, xt_tensor *out);
XT_API int xt_tensor_split_at(const xt_src *src, xt_tensor x, int parts, int axis, xt_tensor *out);
XT_API int xt_split_sizes_at(const xt_src *src, xt_tensor x, int n, const int64_t *sizes, int axis, xt_tensor *out);
XT_API int xt_unbind_at(const xt_src *src, xt_tensor x, int axis, int max, xt_tensor *out);
/* (n, tensors, axis): along a new axis; xt_concat: along an old one */
#define xt_stack(n, ...) (XT_NO_DTYPE_(__VA_ARGS__), xt_stack_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* xt_repeat(x, XT_LIST(2, 3)): a number for every dim, more in front */
#define xt_repeat(x, times) xt_repeat_at(XT_HERE, x, times)
#define xt_tile(x, times) xt_tile_at(XT_HERE, x, times) /* a short list is for the last dims */
#define xt_repeat_interleave(x, times, axis) xt_repeat_interleave_at(XT_HERE, x, XT_NUMBER_(times), XT_NUMBER_(axis))
/* counts [n] of integers, one for each slice; output_size says how many there are in all: slices behind their sum are
 * zeros, what is behind output_size is left out */
#define xt_repeat_interleave_counts(x, counts, axis, output_size) \
    xt_repeat_interleave_counts_at(XT_HERE, x, counts, XT_NUMBER_(axis), XT_NUMBER_(output_size))
XT_API xt_tensor xt_repeat_interleave_counts_at(const xt_src *src, xt_tensor x, xt_tensor counts, int axis,
                                                int64_t output_size);
#define xt_flip(x, axes) xt_flip_at(XT_HERE, x, axes)
/* one shift and XT_ALL_AXES: over all elements in a row */
#define xt_roll(x, shifts, axes) xt_roll_at(XT_HERE, x, shifts, axes)
/* k quarter turns from axis a towards b */
/* xt_rot90(x, k = 1, a = 0, b = 1) */
#define xt_rot90(...) XT_FILL3_(XT_ROT90_, 1, 0, 1, __VA_ARGS__)
#define XT_ROT90_(x, k, a, b, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_rot90_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(a), XT_NUMBER_(b)))
/* xt_movedim(x, XT_AXES(0), XT_AXES(-1)) */
#define xt_movedim(x, from, to) xt_movedim_at(XT_HERE, x, from, to)
#define xt_unflatten(x, axis, ...) \
    xt_unflatten_at(XT_HERE, x, XT_NUMBER_(axis), XT_DIMS_(__VA_ARGS__, 0)) /* one dim may be -1 */
#define xt_view_as(x, other) xt_view_as_at(XT_HERE, x, other) /* reshape to other's dims */
#define xt_expand_as(x, other) xt_expand_as_at(XT_HERE, x, other)
XT_API xt_tensor xt_stack_at(const xt_src *src, int n, const xt_tensor *tensors, int axis);
XT_API xt_tensor xt_repeat_at(const xt_src *src, xt_tensor x, xt_list times);
XT_API xt_tensor xt_tile_at(const xt_src *src, xt_tensor x, xt_list times);
XT_API xt_tensor xt_repeat_interleave_at(const xt_src *src, xt_tensor x, int64_t times, int axis);
XT_API xt_tensor xt_flip_at(const xt_src *src, xt_tensor x, xt_list axes);
XT_API xt_tensor xt_roll_at(const xt_src *src, xt_tensor x, xt_list shifts, xt_list axes);
XT_API xt_tensor xt_rot90_at(const xt_src *src, xt_tensor x, int k, int a, int b);
XT_API xt_tensor xt_movedim_at(const xt_src *src, xt_tensor x, xt_list from, xt_list to);
XT_API xt_tensor xt_unflatten_at(const xt_src *src, xt_tensor x, int axis, const int64_t *dims);
XT_API xt_tensor xt_view_as_at(const xt_src *src, xt_tensor x, xt_tensor other);
XT_API xt_tensor xt_expand_as_at(const xt_src *src, xt_tensor x, xt_tensor other);
/* n tensors at their common shape; coordinates of a grid ("ij": out[i] varies along axis i; xy: the first two axes
 * swapped). False after an error. */
#define xt_broadcast_tensors(n, ...) \
    xt_broadcast_tensors_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__) /* (n, tensors, out) */
#define xt_meshgrid(n, ...) xt_meshgrid_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__) /* (n, tensors, xy, out) */
XT_API bool xt_broadcast_tensors_at(const xt_src *src, int n, const xt_tensor *tensors, xt_tensor *out);
XT_API bool xt_meshgrid_at(const xt_src *src, int n, const xt_tensor *tensors, bool xy, xt_tensor *out);
#define XT_DEFAULTS_xt_pad_opts(is)
typedef struct XT_OPTIONS_ xt_pad_opts {
    size_t struct_size XT_SIZE(xt_pad_opts);
    xt_pad_mode mode; /* default XT_PAD_CONSTANT */
    double value; /* of constant padding */
} xt_pad_opts;
/* xt_pad(x, XT_LIST(1, 2, 3, 4)): 1 before and 2 after the last axis, 3 and 4 around the one before it; negative
 * amounts cut (constant mode only). */
#define xt_pad(x, ...) XT_OPT2_(xt_pad_at, xt_pad_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_pad_at(const xt_src *src, xt_tensor x, xt_list amounts, xt_pad_opts o);
#define XT_DEFAULTS_xt_pad_sequence_opts(is)
typedef struct XT_OPTIONS_ xt_pad_sequence_opts {
    size_t struct_size XT_SIZE(xt_pad_sequence_opts);
    bool batch_first; /* [n,T,...]; default [T,n,...] */
    double padding_value;
} xt_pad_sequence_opts;
/* n sequences [T_i,...] of one dtype as one tensor, T the longest: xt_pad_sequence(3, parts, .batch_first = true) */
#define xt_pad_sequence(n, ...) XT_OPT2_(xt_pad_sequence_at, xt_pad_sequence_opts, XT_NUMBER_(n), __VA_ARGS__, )
XT_API xt_tensor xt_pad_sequence_at(const xt_src *src, int n, const xt_tensor *tensors, xt_pad_sequence_opts o);
#define XT_DEFAULTS_xt_unfold_opts(is) is(stride, 1) is(dilation, 1)
XT_DEFAULTS_OF(xt_unfold_opts)
typedef struct XT_OPTIONS_ xt_unfold_opts {
    size_t struct_size XT_SIZE(xt_unfold_opts);
    int stride XT_IS(xt_unfold_opts, stride), padding, dilation XT_IS(xt_unfold_opts, dilation);
} xt_unfold_opts;
/* [N,C,H,W] -> [N, C KH KW, places] */
#define xt_unfold(x, kernel_h, ...) XT_UNFOLD_(x, kernel_h, __VA_ARGS__, )
#define XT_UNFOLD_(x, kernel_h, kernel_w, ...) \
    xt_unfold_at(XT_HERE, x, XT_NUMBER_(kernel_h), XT_NUMBER_(kernel_w), XT_OPTS(xt_unfold_opts, __VA_ARGS__))
/* The way back, places that overlap added: [N, C KH KW, places] -> [N,C,height,width]. */
#define xt_fold(x, height, width, kernel_h, ...) XT_FOLD_(x, height, width, kernel_h, __VA_ARGS__, )
#define XT_FOLD_(x, height, width, kernel_h, kernel_w, ...)                                                   \
    xt_fold_at(XT_HERE, x, XT_NUMBER_(height), XT_NUMBER_(width), XT_NUMBER_(kernel_h), XT_NUMBER_(kernel_w), \
               XT_OPTS(xt_unfold_opts, __VA_ARGS__))
XT_API xt_tensor xt_fold_at(const xt_src *src, xt_tensor x, int64_t height, int64_t width, int kernel_h, int kernel_w,
                            xt_unfold_opts o);
/* Tensor.unfold: windows, their elements as a last dim */
#define xt_unfold_axis(x, axis, size, step) \
    xt_unfold_axis_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(size), XT_NUMBER_(step))
XT_API xt_tensor xt_unfold_at(const xt_src *src, xt_tensor x, int kernel_h, int kernel_w, xt_unfold_opts o);
XT_API xt_tensor xt_unfold_axis_at(const xt_src *src, xt_tensor x, int axis, int64_t size, int64_t step);
typedef enum xt_grid_padding { XT_GRID_ZEROS, XT_GRID_BORDER } xt_grid_padding;
#define XT_DEFAULTS_xt_grid_opts(is)
typedef struct XT_OPTIONS_ xt_grid_opts {
    size_t struct_size XT_SIZE(xt_grid_opts);
    xt_grid_padding padding; /* what is seen outside: default zeros */
    bool nearest; /* default bilinear */
    bool align_corners; /* -1 and 1 are the centres of the corner pixels; default their outer edges */
} xt_grid_opts;
/* x [N,C,H,W] at places grid [N,P,Q,2], (x, y) from -1 to 1 -> [N,C,P,Q]; the grid of affine maps theta [N,2,3] ->
 * [N,height,width,2]. */
#define xt_grid_sample(x, ...) XT_OPT2_(xt_grid_sample_at, xt_grid_opts, x, __VA_ARGS__, )
/* xt_affine_grid(theta, height, width, align_corners = false) */
#define xt_affine_grid(theta, height, ...) XT_AFFINE_GRID_(theta, height, __VA_ARGS__, false, )
#define XT_AFFINE_GRID_(theta, height, width, align_corners, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_affine_grid_at(XT_HERE, theta, XT_NUMBER_(height), XT_NUMBER_(width), align_corners))
XT_API xt_tensor xt_grid_sample_at(const xt_src *src, xt_tensor x, xt_tensor grid, xt_grid_opts o);
XT_API xt_tensor xt_affine_grid_at(const xt_src *src, xt_tensor theta, int64_t height, int64_t width,
                                   bool align_corners);
/* Triangles and diagonals; k counts diagonals to the right of the main one. */
/* xt_tril(x, k = 0) */
#define xt_tril(...) XT_TRIL_(__VA_ARGS__, 0, )
#define XT_TRIL_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_tril_at(XT_HERE, x, XT_NUMBER_(k)))
/* xt_triu(x, k = 0) */
#define xt_triu(...) XT_TRIU_(__VA_ARGS__, 0, )
#define XT_TRIU_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_triu_at(XT_HERE, x, XT_NUMBER_(k)))
/* xt_diag(x, k = 0): [n] -> [n,n]; [n,m] -> its diagonal */
#define xt_diag(...) XT_DIAG_(__VA_ARGS__, 0, )
#define XT_DIAG_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_diag_at(XT_HERE, x, XT_NUMBER_(k)))
/* xt_diagonal(x, k = 0, a = 0, b = 1): of axes a and b, as a last dim */
#define xt_diagonal(...) XT_FILL3_(XT_DIAGONAL_, 0, 0, 1, __VA_ARGS__)
#define XT_DIAGONAL_(x, k, a, b, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_diagonal_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(a), XT_NUMBER_(b)))
/* the last dim along a diagonal of two */
/* xt_diag_embed(x, k = 0) */
#define xt_diag_embed(...) XT_DIAG_EMBED_(__VA_ARGS__, 0, )
#define XT_DIAG_EMBED_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_diag_embed_at(XT_HERE, x, XT_NUMBER_(k)))
/* (n, tensors): matrices along a diagonal of zeros */
#define xt_block_diag(n, ...) xt_block_diag_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__)
XT_API xt_tensor xt_block_diag_at(const xt_src *src, int n, const xt_tensor *tensors);
#define xt_trace(x) xt_trace_at(XT_HERE, x)
XT_API xt_tensor xt_tril_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_triu_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_diag_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_diagonal_at(const xt_src *src, xt_tensor x, int64_t k, int a, int b);
XT_API xt_tensor xt_diag_embed_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_trace_at(const xt_src *src, xt_tensor x);

#define xt_channel_shuffle(x, groups) \
    xt_channel_shuffle_at(XT_HERE, x, XT_NUMBER_(groups)) /* [N,C,...]: groups divides C */
XT_API xt_tensor xt_channel_shuffle_at(const xt_src *src, xt_tensor x, int64_t groups);

/* --- Making --- */
/* i64 [2,n]: rows and columns of the places on and below (above) diagonal k of a matrix, row by row */
/* xt_tril_indices(rows, columns, k = 0) */
#define xt_tril_indices(rows, ...) XT_TRIL_INDICES_(rows, __VA_ARGS__, 0, )
#define XT_TRIL_INDICES_(rows, columns, k, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_tril_indices_at(XT_HERE, XT_NUMBER_(rows), XT_NUMBER_(columns), XT_NUMBER_(k)))
/* xt_triu_indices(rows, columns, k = 0) */
#define xt_triu_indices(rows, ...) XT_TRIU_INDICES_(rows, __VA_ARGS__, 0, )
#define XT_TRIU_INDICES_(rows, columns, k, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_triu_indices_at(XT_HERE, XT_NUMBER_(rows), XT_NUMBER_(columns), XT_NUMBER_(k)))
XT_API xt_tensor xt_tril_indices_at(const xt_src *src, int64_t rows, int64_t columns, int64_t k);
XT_API xt_tensor xt_triu_indices_at(const xt_src *src, int64_t rows, int64_t columns, int64_t k);
/* torch.arange(start, stop, step) */
#define xt_range(start, stop, step, dtype) \
    xt_range_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step), XT_DTYPE_(dtype))
/* both ends included */
#define xt_linspace(start, stop, n, dtype) \
    xt_linspace_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(n), XT_DTYPE_(dtype))
/* base^start .. base^stop */
#define xt_logspace(start, stop, n, base, dtype) \
    xt_logspace_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(n), XT_NUMBER_(base), XT_DTYPE_(dtype))
#define xt_eye(rows, columns, dtype) \
    xt_eye_at(XT_HERE, XT_NUMBER_(rows), XT_NUMBER_(columns), XT_DTYPE_(dtype)) /* columns 0: as many as rows */
#define xt_full_like(x, value) xt_full_like_at(XT_HERE, x, XT_NUMBER_(value))
#define xt_zeros_like(x) xt_full_like_at(XT_HERE, x, 0)
#define xt_ones_like(x) xt_full_like_at(XT_HERE, x, 1)
XT_API xt_tensor xt_range_at(const xt_src *src, double start, double stop, double step, xt_dtype dtype);
XT_API xt_tensor xt_linspace_at(const xt_src *src, double start, double stop, int64_t n, xt_dtype dtype);
XT_API xt_tensor xt_logspace_at(const xt_src *src, double start, double stop, int64_t n, double base, xt_dtype dtype);
XT_API xt_tensor xt_eye_at(const xt_src *src, int64_t rows, int64_t columns, xt_dtype dtype);
XT_API xt_tensor xt_full_like_at(const xt_src *src, xt_tensor x, double value);

/* --- Reading and writing at indices ---
 * Indices are integers. One that is outside is an error where the host has seen it (small arrays of xt_from_array, a
 * loader's batches), and under XT_DEBUG=bounds, at the step, where the device computes it; else it reads the nearest
 * element and writes nothing: the device cannot stop for it. A list of writes to one place adds up where the name says
 * so, else one of them wins. x itself is never changed: the result is a new tensor. */
/* r[i][j] = x[index[i][j]][j] for axis 0; dims of index */
#define xt_gather(x, axis, index) xt_gather_at(XT_HERE, x, XT_NUMBER_(axis), index)
/* as gather, the other dims broadcast */
#define xt_take_along_axis(x, index, axis) xt_take_along_axis_at(XT_HERE, x, index, XT_NUMBER_(axis))
#define xt_index_select(x, axis, index)                                          \
    xt_index_select_at(XT_HERE, x, XT_NUMBER_(axis), index) /* slices, index [n] \
                                                             */
/* x[i, j, ...] with n index tensors for the first n axes; negative: from the end */
#define xt_index(x, n, ...) xt_index_at(XT_HERE, x, XT_NUMBER_(n), __VA_ARGS__)
XT_API xt_tensor xt_gather_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index);
XT_API xt_tensor xt_take_along_axis_at(const xt_src *src, xt_tensor x, xt_tensor index, int axis);
XT_API xt_tensor xt_index_select_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index);
XT_API xt_tensor xt_index_at(const xt_src *src, xt_tensor x, int n, const xt_tensor *indices);
/* r[index[i][j]][j] = updates[i][j] for axis 0; updates: at least index's dims, or without dims: the same for all. */
#define xt_scatter(x, axis, index, updates) xt_scatter_at(XT_HERE, x, XT_NUMBER_(axis), index, updates)
#define xt_scatter_add(x, axis, index, updates) xt_scatter_add_at(XT_HERE, x, XT_NUMBER_(axis), index, updates)
XT_API xt_tensor xt_scatter_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates);
XT_API xt_tensor xt_scatter_add_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates);
typedef enum xt_reduction {
    XT_REDUCE_SUM,
    XT_REDUCE_PROD,
    XT_REDUCE_MEAN,
    XT_REDUCE_AMAX,
    XT_REDUCE_AMIN
} xt_reduction;
#define XT_DEFAULTS_xt_scatter_opts(is)
typedef struct XT_OPTIONS_ xt_scatter_opts {
    size_t struct_size XT_SIZE(xt_scatter_opts);
    bool exclude_self; /* what x holds where updates go does not count */
} xt_scatter_opts;
#define xt_scatter_reduce(x, axis, index, updates, ...) XT_SCATTER_REDUCE_(x, axis, index, updates, __VA_ARGS__, )
#define XT_SCATTER_REDUCE_(x, axis, index, updates, how, ...)                                       \
    xt_scatter_reduce_at(XT_HERE, x, XT_NUMBER_(axis), index, updates, XT_WORD_(xt_reduction, how), \
                         XT_OPTS(xt_scatter_opts, __VA_ARGS__))
XT_API xt_tensor xt_scatter_reduce_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                                      xt_reduction how, xt_scatter_opts o);
/* slices times alpha added */
/* xt_index_add(x, axis, index, updates, alpha = 1) */
#define xt_index_add(x, axis, index, ...) XT_INDEX_ADD_(x, axis, index, __VA_ARGS__, 1, )
#define XT_INDEX_ADD_(x, axis, index, updates, alpha, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_index_add_at(XT_HERE, x, XT_NUMBER_(axis), index, updates, XT_NUMBER_(alpha)))
#define xt_index_copy(x, axis, index, updates) xt_index_copy_at(XT_HERE, x, XT_NUMBER_(axis), index, updates)
#define xt_index_fill(x, axis, index, value) xt_index_fill_at(XT_HERE, x, XT_NUMBER_(axis), index, XT_NUMBER_(value))
/* Slices folded in as `how` says: xt_index_reduce(x, 0, index, updates, XT_REDUCE_PROD, .exclude_self = true);
 * PyTorch's include_self=False */
#define xt_index_reduce(x, axis, index, updates, ...) XT_INDEX_REDUCE_(x, axis, index, updates, __VA_ARGS__, )
#define XT_INDEX_REDUCE_(x, axis, index, updates, how, ...)                                       \
    xt_index_reduce_at(XT_HERE, x, XT_NUMBER_(axis), index, updates, XT_WORD_(xt_reduction, how), \
                       XT_OPTS(xt_scatter_opts, __VA_ARGS__))
XT_API xt_tensor xt_index_reduce_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                                    xt_reduction how, xt_scatter_opts o);
XT_API xt_tensor xt_index_add_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                                 double alpha);
XT_API xt_tensor xt_index_copy_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates);
XT_API xt_tensor xt_index_fill_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, double value);
#define XT_DEFAULTS_xt_index_put_opts(is)
typedef struct XT_OPTIONS_ xt_index_put_opts {
    size_t struct_size XT_SIZE(xt_index_put_opts);
    bool accumulate; /* add instead of replace */
} xt_index_put_opts;
/* x[i, j, ...] = values; indices XT_TENSORS(i, j) */
#define xt_index_put(x, n, indices, ...) \
    XT_OPT4_(xt_index_put_at, xt_index_put_opts, x, XT_NUMBER_(n), indices, __VA_ARGS__, )
XT_API xt_tensor xt_index_put_at(const xt_src *src, xt_tensor x, int n, const xt_tensor *indices, xt_tensor values,
                                 xt_index_put_opts o);
/* value where the bool mask is true */
#define xt_masked_fill(x, mask, value) xt_masked_fill_at(XT_HERE, x, mask, XT_NUMBER_(value))
/* source's elements in order where the mask is true */
#define xt_masked_scatter(x, mask, source) xt_masked_scatter_at(XT_HERE, x, mask, source)
/* counts in equal bins from lo to hi, as x's dtype; others are not counted */
#define xt_histc(x, bins, lo, hi) xt_histc_at(XT_HERE, x, XT_NUMBER_(bins), XT_NUMBER_(lo), XT_NUMBER_(hi))
XT_API xt_tensor xt_masked_scatter_at(const xt_src *src, xt_tensor x, xt_tensor mask, xt_tensor source);
XT_API xt_tensor xt_histc_at(const xt_src *src, xt_tensor x, int64_t bins, double lo, double hi);
typedef enum xt_bag_mode { XT_BAG_MEAN, XT_BAG_SUM, XT_BAG_MAX } xt_bag_mode;
/* Rows of a table [V,D] reduced over the last axis of indices [...,n] -> [...,D]; weights (sum only) like
 * indices, or none. */
#define xt_embedding_bag(indices, table, mode, weights) \
    xt_embedding_bag_at(XT_HERE, indices, table, XT_WORD_(xt_bag_mode, mode), weights)
XT_API xt_tensor xt_embedding_bag_at(const xt_src *src, xt_tensor indices, xt_tensor table, xt_bag_mode mode,
                                     xt_tensor weights);
/* [n] -> [bins]; weights may be none; others are not counted */
#define xt_bincount(x, bins, weights) xt_bincount_at(XT_HERE, x, XT_NUMBER_(bins), weights)
XT_API xt_tensor xt_masked_fill_at(const xt_src *src, xt_tensor x, xt_tensor mask, double value);
XT_API xt_tensor xt_bincount_at(const xt_src *src, xt_tensor x, int64_t bins, xt_tensor weights);

/* --- Linear algebra ---
 * Batch dims come first, matrices are the last two. f32 products are exact to f32; under autocast they take bf16. */
/* "bij,bjk->bik": letters, "..." and spaces; without an arrow the labels that stand once, sorted. A repeated label in
 * one operand is its diagonal. */
/* xt_einsum("ij,j->i", 2, XT_TENSORS(a, x)) */
#define xt_einsum(spec, n, ...) xt_einsum_at(XT_HERE, spec, XT_NUMBER_(n), __VA_ARGS__)
/* empty lists: the outer product */
#define xt_tensordot(x, y, x_axes, y_axes) xt_tensordot_at(XT_HERE, x, y, x_axes, y_axes)
XT_API xt_tensor xt_einsum_at(const xt_src *src, const char *spec, int n, const xt_tensor *operands);
XT_API xt_tensor xt_tensordot_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_list x_axes, xt_list y_axes);
#define xt_mm(x, y) xt_mm_at(XT_HERE, x, y) /* [n,k] [k,m] */
#define xt_bmm(x, y) xt_bmm_at(XT_HERE, x, y) /* [B,n,k] [B,k,m] */
#define xt_mv(x, y) xt_mv_at(XT_HERE, x, y) /* [n,k] [k] */
#define xt_dot(x, y) xt_dot_at(XT_HERE, x, y) /* [n] [n] */
#define xt_outer(x, y) xt_outer_at(XT_HERE, x, y) /* [n] [m] */
#define xt_kron(x, y) xt_kron_at(XT_HERE, x, y)
XT_API xt_tensor xt_mm_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bmm_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_mv_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_dot_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_outer_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_kron_at(const xt_src *src, xt_tensor x, xt_tensor y);
#define XT_DEFAULTS_xt_addmm_opts(is) is(alpha, 1) is(beta, 1)
XT_DEFAULTS_OF(xt_addmm_opts)
typedef struct XT_OPTIONS_ xt_addmm_opts {
    size_t struct_size XT_SIZE(xt_addmm_opts);
    double alpha XT_IS(xt_addmm_opts, alpha), beta XT_IS(xt_addmm_opts, beta); /* beta c + alpha x y */
    bool no_input; /* beta 0: c only says the shape */
} xt_addmm_opts;
#define xt_addmm(c, x, ...) XT_OPT3_(xt_addmm_at, xt_addmm_opts, c, x, __VA_ARGS__, )
#define xt_baddbmm(c, x, ...) XT_OPT3_(xt_baddbmm_at, xt_addmm_opts, c, x, __VA_ARGS__, )
XT_API xt_tensor xt_addmm_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, xt_addmm_opts o);
XT_API xt_tensor xt_baddbmm_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, xt_addmm_opts o);
#define xt_cross(x, y, axis) xt_cross_at(XT_HERE, x, y, XT_NUMBER_(axis)) /* an axis of size 3 */
/* [...,n,d] [...,m,d] -> [...,n,m]; p > 0 */
/* xt_cdist(x, y, p = 2) */
#define xt_cdist(x, ...) XT_CDIST_(x, __VA_ARGS__, 2, )
#define XT_CDIST_(x, y, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_cdist_at(XT_HERE, x, y, XT_NUMBER_(p)))
#define xt_matrix_power(a, n) xt_matrix_power_at(XT_HERE, a, XT_NUMBER_(n)) /* n < 0: of the inverse */
/* NaN where x is not positive definite */
/* xt_cholesky(x, upper = false) */
#define xt_cholesky(...) XT_CHOLESKY_(__VA_ARGS__, false, )
#define XT_CHOLESKY_(x, upper, ...) (XT_LAST_(1, __VA_ARGS__), xt_cholesky_at(XT_HERE, x, upper))
/* xt_cholesky_solve(y, l, upper = false): y [...,n,k]; l from xt_cholesky */
#define xt_cholesky_solve(y, ...) XT_CHOLESKY_SOLVE_(y, __VA_ARGS__, false, )
#define XT_CHOLESKY_SOLVE_(y, l, upper, ...) (XT_LAST_(1, __VA_ARGS__), xt_cholesky_solve_at(XT_HERE, y, l, upper))
XT_API xt_tensor xt_cross_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis);
XT_API xt_tensor xt_cdist_at(const xt_src *src, xt_tensor x, xt_tensor y, double p);
XT_API xt_tensor xt_matrix_power_at(const xt_src *src, xt_tensor a, int n);
XT_API xt_tensor xt_cholesky_at(const xt_src *src, xt_tensor x, bool upper);
XT_API xt_tensor xt_cholesky_solve_at(const xt_src *src, xt_tensor y, xt_tensor l, bool upper);
#define XT_DEFAULTS_xt_triangular_opts(is)
typedef struct XT_OPTIONS_ xt_triangular_opts {
    size_t struct_size XT_SIZE(xt_triangular_opts);
    bool upper, transpose, unit_diagonal;
    bool right; /* x a = y instead of a x = y */
} xt_triangular_opts;
#define xt_triangular_solve(a, ...) XT_OPT2_(xt_triangular_solve_at, xt_triangular_opts, a, __VA_ARGS__, )
XT_API xt_tensor xt_triangular_solve_at(const xt_src *src, xt_tensor a, xt_tensor y, xt_triangular_opts o);
/* Of general matrices: with at most 64 rows by an elimination that is recorded step by step, beyond by LU, a custom
 * call (linalg.h); infinities or NaN where a matrix is singular. */
#define xt_solve(a, y) xt_solve_at(XT_HERE, a, y) /* y [...,n,k] or [n] */
#define xt_inverse(a) xt_inverse_at(XT_HERE, a)
#define xt_det(a) xt_det_at(XT_HERE, a)
#define xt_logdet(a) xt_logdet_at(XT_HERE, a)
#define xt_slogdet(a, out_sign, out_logabsdet) xt_slogdet_at(XT_HERE, a, out_sign, out_logabsdet)
XT_API xt_tensor xt_solve_at(const xt_src *src, xt_tensor a, xt_tensor y);
XT_API xt_tensor xt_inverse_at(const xt_src *src, xt_tensor a);
XT_API xt_tensor xt_det_at(const xt_src *src, xt_tensor a);
XT_API xt_tensor xt_logdet_at(const xt_src *src, xt_tensor a);
XT_API void xt_slogdet_at(const xt_src *src, xt_tensor a, xt_tensor *out_sign, xt_tensor *out_logabsdet);
/* Factorisations with torch.linalg's meanings, of matrices [...,m,n] of floats or complex numbers (16-bit floats in
 * f32); derivatives of real ones, of vectors only where the values differ. Signs of vectors are free. On xtrain's CPU
 * compiler by LAPACK; a device without them gets an error with this line. A LAPACK routine that does not converge gives
 * what it has. */
#define XT_DEFAULTS_xt_svd_opts(is) is(full_matrices, XT_ON)
XT_DEFAULTS_OF(xt_svd_opts)
typedef struct XT_OPTIONS_ xt_svd_opts {
    size_t struct_size XT_SIZE(xt_svd_opts);
    /* u [...,m,m] and vh [...,n,n]; off: [...,m,k] and [...,k,n], k = min(m,n); default on, as PyTorch's */
    xt_switch full_matrices XT_IS(xt_svd_opts, full_matrices);
} xt_svd_opts;
#define XT_DEFAULTS_xt_eigh_opts(is)
typedef struct XT_OPTIONS_ xt_eigh_opts {
    size_t struct_size XT_SIZE(xt_eigh_opts);
    bool upper; /* read the upper triangle; default: the lower one */
} xt_eigh_opts;
#define XT_DEFAULTS_xt_qr_opts(is)
typedef struct XT_OPTIONS_ xt_qr_opts {
    size_t struct_size XT_SIZE(xt_qr_opts);
    /* q [...,m,m], r [...,m,n]; default: [...,m,k] and [...,k,n]. With m > n a complete q has no derivative */
    bool complete;
} xt_qr_opts;
/* s [...,k] falling, real: x = u diag(s) vh */
#define xt_linalg_svd(x, out_u, out_s, ...) XT_SVD_(x, out_u, out_s, __VA_ARGS__, )
#define XT_SVD_(x, out_u, out_s, out_vh, ...) \
    xt_linalg_svd_at(XT_HERE, x, XT_OPTS(xt_svd_opts, __VA_ARGS__), out_u, out_s, out_vh)
/* of a symmetric (Hermitian) x [...,n,n]: values [...,n] rising, vectors in columns */
#define xt_linalg_eigh(x, out_values, ...) XT_EIGH_(x, out_values, __VA_ARGS__, )
#define XT_EIGH_(x, out_values, out_vectors, ...) \
    xt_linalg_eigh_at(XT_HERE, x, XT_OPTS(xt_eigh_opts, __VA_ARGS__), out_values, out_vectors)
#define xt_linalg_qr(x, out_q, ...) XT_QR_(x, out_q, __VA_ARGS__, )
#define XT_QR_(x, out_q, out_r, ...) xt_linalg_qr_at(XT_HERE, x, XT_OPTS(xt_qr_opts, __VA_ARGS__), out_q, out_r)
#define xt_linalg_svdvals(x) xt_linalg_svdvals_at(XT_HERE, x)
#define xt_linalg_eigvalsh(...) XT_OPT1_(xt_linalg_eigvalsh_at, xt_eigh_opts, __VA_ARGS__, )
XT_API void xt_linalg_svd_at(const xt_src *src, xt_tensor x, xt_svd_opts o, xt_tensor *out_u, xt_tensor *out_s,
                             xt_tensor *out_vh);
XT_API void xt_linalg_eigh_at(const xt_src *src, xt_tensor x, xt_eigh_opts o, xt_tensor *out_values,
                              xt_tensor *out_vectors);
XT_API void xt_linalg_qr_at(const xt_src *src, xt_tensor x, xt_qr_opts o, xt_tensor *out_q, xt_tensor *out_r);
XT_API xt_tensor xt_linalg_svdvals_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_linalg_eigvalsh_at(const xt_src *src, xt_tensor x, xt_eigh_opts o);
#define XT_DEFAULTS_xt_sdpa_opts(is) is(scale, XT_AUTO)
XT_DEFAULTS_OF(xt_sdpa_opts)
typedef struct XT_OPTIONS_ xt_sdpa_opts {
    size_t struct_size XT_SIZE(xt_sdpa_opts);
    xt_tensor mask; /* broadcasts to [...,L,S]: bool (true: may be seen) or floats to be added; none: everything */
    xt_switch causal; /* query i sees keys 0 .. i; default off; not beside a mask */
    double scale XT_IS(xt_sdpa_opts, scale); /* XT_AUTO: 1 / sqrt(E) */
    double dropout; /* of the weights, always applied: give it in training only */
    bool enable_gqa; /* q has several heads (dim -3) for each of k and v */
} xt_sdpa_opts;
/* softmax(q k^T scale + mask) v: q [...,L,E], k [...,S,E], v [...,S,F] -> [...,L,F]. A row that may see nothing
 * gives zeros. */
#define xt_scaled_dot_product_attention(q, k, ...) \
    XT_OPT3_(xt_scaled_dot_product_attention_at, xt_sdpa_opts, q, k, __VA_ARGS__, )
XT_API xt_tensor xt_scaled_dot_product_attention_at(const xt_src *src, xt_tensor q, xt_tensor k, xt_tensor v,
                                                    xt_sdpa_opts o);

/* --- Complex numbers and Fourier transforms --- */
#define xt_complex(x, y) xt_complex_at(XT_HERE, x, y) /* real and imaginary part, f32 or f64 */
#define xt_polar(size, angle) xt_polar_at(XT_HERE, size, angle)
#define xt_real(x) xt_real_at(XT_HERE, x)
#define xt_imag(x) xt_imag_at(XT_HERE, x)
#define xt_conj(x) xt_conj_at(XT_HERE, x)
#define xt_angle(x) xt_angle_at(XT_HERE, x)
#define xt_view_as_real(x) xt_view_as_real_at(XT_HERE, x) /* [...] complex -> [...,2] */
#define xt_view_as_complex(x) xt_view_as_complex_at(XT_HERE, x) /* [...,2] -> [...] */
XT_API xt_tensor xt_complex_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_complex)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_polar_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_polar)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_real_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_real)(xt_tensor x);
XT_API xt_tensor xt_imag_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_imag)(xt_tensor x);
XT_API xt_tensor xt_conj_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_conj)(xt_tensor x);
XT_API xt_tensor xt_angle_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_angle)(xt_tensor x);
XT_API xt_tensor xt_view_as_real_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_view_as_real)(xt_tensor x);
XT_API xt_tensor xt_view_as_complex_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_view_as_complex)(xt_tensor x);
typedef enum xt_fft_norm { XT_FFT_BACKWARD, XT_FFT_ORTHO, XT_FFT_FORWARD } xt_fft_norm;
#define XT_DEFAULTS_xt_fft_opts(is) is(n, -1)
XT_DEFAULTS_OF(xt_fft_opts)
typedef struct XT_OPTIONS_ xt_fft_opts {
    size_t struct_size XT_SIZE(xt_fft_opts);
    int64_t n XT_IS(xt_fft_opts, n); /* the axis is cut or filled up to it; -1 = its size (irfft: 2 (size - 1)) */
    xt_fft_norm norm; /* which direction is divided by n; default the inverse */
} xt_fft_opts;
#define xt_fft(x, ...) XT_OPT2N_(xt_fft_at, xt_fft_opts, x, __VA_ARGS__, ) /* xt_fft(x, axis, .n, .norm) */
#define xt_ifft(x, ...) XT_OPT2N_(xt_ifft_at, xt_fft_opts, x, __VA_ARGS__, ) /* xt_ifft(x, axis, .n, .norm) */
#define xt_rfft(x, ...) XT_OPT2N_(xt_rfft_at, xt_fft_opts, x, __VA_ARGS__, ) /* xt_rfft(x, axis, .n, .norm) */
#define xt_irfft(x, ...) XT_OPT2N_(xt_irfft_at, xt_fft_opts, x, __VA_ARGS__, ) /* xt_irfft(x, axis, .n, .norm) */
XT_API xt_tensor xt_fft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_ifft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_rfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_irfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);

/* Over several axes, one after the other; the zero frequency moved to the middle and back. */
#define xt_fftn(x, ...) XT_OPT2_(xt_fftn_at, xt_fft_opts, x, __VA_ARGS__, )
#define xt_ifftn(x, ...) XT_OPT2_(xt_ifftn_at, xt_fft_opts, x, __VA_ARGS__, )
#define xt_rfftn(x, ...) XT_OPT2_(xt_rfftn_at, xt_fft_opts, x, __VA_ARGS__, ) /* the last axis real, .n is about it */
#define xt_irfftn(x, ...) XT_OPT2_(xt_irfftn_at, xt_fft_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_rfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_irfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
/* f32 [n]: frequencies of n samples d apart */
/* xt_fftfreq(n, d = 1) */
#define xt_fftfreq(...) XT_FFTFREQ_(__VA_ARGS__, 1, )
#define XT_FFTFREQ_(n, d, ...) (XT_LAST_(1, __VA_ARGS__), xt_fftfreq_at(XT_HERE, XT_NUMBER_(n), XT_NUMBER_(d), false))
/* xt_rfftfreq(n, d = 1): f32 [n/2+1] */
#define xt_rfftfreq(...) XT_RFFTFREQ_(__VA_ARGS__, 1, )
#define XT_RFFTFREQ_(n, d, ...) (XT_LAST_(1, __VA_ARGS__), xt_fftfreq_at(XT_HERE, XT_NUMBER_(n), XT_NUMBER_(d), true))
XT_API xt_tensor xt_fftfreq_at(const xt_src *src, int64_t n, double d, bool half);
/* torch.signal.windows: [n], of floats. PyTorch's stft takes periodic ones (symmetric false), whose next element
 * would be the first again. xt_window(XT_WINDOW_KAISER, 400, false, XT_F32, .beta = 14) */
typedef enum xt_window_kind {
    XT_WINDOW_HANN,
    XT_WINDOW_HAMMING, /* .alpha */
    XT_WINDOW_BLACKMAN,
    XT_WINDOW_BARTLETT,
    XT_WINDOW_COSINE,
    XT_WINDOW_KAISER, /* .beta */
    XT_WINDOW_GAUSSIAN, /* .std */
    XT_WINDOW_EXPONENTIAL, /* .tau */
    XT_WINDOW_NUTTALL
} xt_window_kind;
#define XT_DEFAULTS_xt_window_opts(is) is(alpha, 0.54) is(beta, 12) is(std, 1) is(tau, 1)
XT_DEFAULTS_OF(xt_window_opts)
typedef struct XT_OPTIONS_ xt_window_opts {
    size_t struct_size XT_SIZE(xt_window_opts);
    double alpha XT_IS(xt_window_opts, alpha); /* alpha - (1 - alpha) cos */
    double beta XT_IS(xt_window_opts, beta); /* the larger, the smaller the ends */
    double std XT_IS(xt_window_opts, std), tau XT_IS(xt_window_opts, tau); /* in elements; above 0 */
} xt_window_opts;
#define xt_window(kind, n, symmetric, ...) XT_WINDOW_(kind, n, symmetric, __VA_ARGS__, )
#define XT_WINDOW_(kind, n, symmetric, dtype, ...)                                                    \
    xt_window_at(XT_HERE, XT_WORD_(xt_window_kind, kind), XT_NUMBER_(n), symmetric, XT_DTYPE_(dtype), \
                 XT_OPTS(xt_window_opts, __VA_ARGS__))
XT_API xt_tensor xt_window_at(const xt_src *src, xt_window_kind kind, int64_t n, bool symmetric, xt_dtype dtype,
                              xt_window_opts o);
#define XT_DEFAULTS_xt_stft_opts(is) is(hop, -1) is(win_length, -1) is(center, XT_ON)
XT_DEFAULTS_OF(xt_stft_opts)
typedef struct XT_OPTIONS_ xt_stft_opts {
    size_t struct_size XT_SIZE(xt_stft_opts);
    int64_t hop XT_IS(xt_stft_opts, hop); /* -1 = n_fft / 4 */
    int64_t win_length XT_IS(xt_stft_opts, win_length); /* -1 = n_fft; a shorter window stands in the middle */
    xt_tensor window; /* [win_length]; none: ones */
    xt_switch center XT_IS(xt_stft_opts, center); /* default on: frames are centred, the ends padded by n_fft / 2 */
    bool zero_pad; /* with zeros; default: reflected */
    bool normalized; /* divided by sqrt(n_fft) */
    bool two_sided; /* n_fft frequencies; default n_fft / 2 + 1 */
} xt_stft_opts;
/* xt_stft(x, n_fft, .hop): [...,samples] -> complex [...,frequencies,frames] */
#define xt_stft(x, ...) XT_OPT2N_(xt_stft_at, xt_stft_opts, x, __VA_ARGS__, )
XT_API xt_tensor xt_stft_at(const xt_src *src, xt_tensor x, int64_t n_fft, xt_stft_opts o);
#define xt_fftshift(x, axes) xt_fftshift_at(XT_HERE, x, axes)
#define xt_ifftshift(x, axes) xt_ifftshift_at(XT_HERE, x, axes)
XT_API xt_tensor xt_fftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_ifftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_fftshift_at(const xt_src *src, xt_tensor x, xt_list axes);
XT_API xt_tensor xt_ifftshift_at(const xt_src *src, xt_tensor x, xt_list axes);

/* --- Random ---
 * As xt_rand: Philox by element index, another draw at every call, the same draws after the same xt_seed, the same bits
 * on every device. No gradient flows to a draw. PyTorch's streams of bits are others. */
/* xt_uniform(-1, 1, XT_F32, 2, 3): in [lo,hi) */
#define xt_uniform(lo, hi, ...) XT_DIMS2_(xt_uniform_at, lo, hi, __VA_ARGS__, 0)
#define xt_normal(mean, std, ...) XT_DIMS2_(xt_normal_at, mean, std, __VA_ARGS__, 0)
/* whole numbers lo .. hi-1 */
#define xt_randint(lo, hi, ...) XT_DIMS2_(xt_randint_at, lo, hi, __VA_ARGS__, 0)
#define xt_exponential(rate, ...) XT_DIMS1_(xt_exponential_at, rate, __VA_ARGS__, 0)
#define xt_trunc_normal(mean, std, lo, hi, ...) XT_DIMS4_(xt_trunc_normal_at, mean, std, lo, hi, __VA_ARGS__, 0)
#define XT_DIMS1_(f, a, dtype, ...) f(XT_HERE, XT_NUMBER_(a), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define XT_DIMS2_(f, a, b, dtype, ...) f(XT_HERE, XT_NUMBER_(a), XT_NUMBER_(b), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define XT_DIMS4_(f, a, b, c, d, dtype, ...) \
    f(XT_HERE, XT_NUMBER_(a), XT_NUMBER_(b), XT_NUMBER_(c), XT_NUMBER_(d), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define xt_rand_like(x) xt_rand_like_at(XT_HERE, x)
#define xt_randn_like(x) xt_randn_like_at(XT_HERE, x)
#define xt_randperm(n) xt_randperm_at(XT_HERE, XT_NUMBER_(n)) /* i64 [n] */
/* 1 with the probability that stands there, else 0 */
#define xt_bernoulli(p) xt_bernoulli_at(XT_HERE, p)
/* [classes] or [N,classes] -> i64 [n] or [N,n] */
/* xt_multinomial(weights, n, replacement = false) */
#define xt_multinomial(weights, ...) XT_MULTINOMIAL_(weights, __VA_ARGS__, false, )
#define XT_MULTINOMIAL_(weights, n, replacement, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_multinomial_at(XT_HERE, weights, XT_NUMBER_(n), replacement))
/* hard: one-hot, with the soft one's gradient */
/* xt_gumbel_softmax(x, tau = 1, hard = false, axis = -1) */
#define xt_gumbel_softmax(...) XT_FILL3_(XT_GUMBEL_SOFTMAX_, 1, false, -1, __VA_ARGS__)
#define XT_GUMBEL_SOFTMAX_(x, tau, hard, axis, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_gumbel_softmax_at(XT_HERE, x, XT_NUMBER_(tau), hard, XT_NUMBER_(axis)))
/* always drops; the layer xt_dropout knows the mode */
#define xt_dropout_fn(x, p) xt_dropout_fn_at(XT_HERE, x, XT_NUMBER_(p))
XT_API xt_tensor xt_uniform_at(const xt_src *src, double lo, double hi, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_normal_at(const xt_src *src, double mean, double std, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_randint_at(const xt_src *src, int64_t lo, int64_t hi, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_exponential_at(const xt_src *src, double rate, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_trunc_normal_at(const xt_src *src, double mean, double std, double lo, double hi, xt_dtype dtype,
                                    const int64_t *dims);
XT_API xt_tensor xt_rand_like_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_randn_like_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_randperm_at(const xt_src *src, int64_t n);
XT_API xt_tensor xt_bernoulli_at(const xt_src *src, xt_tensor p);
XT_API xt_tensor xt_multinomial_at(const xt_src *src, xt_tensor weights, int64_t n, bool replacement);
XT_API xt_tensor xt_gumbel_softmax_at(const xt_src *src, xt_tensor x, double tau, bool hard, int axis);
XT_API xt_tensor xt_dropout_fn_at(const xt_src *src, xt_tensor x, double p);

#ifdef __cplusplus
}
#endif
#endif
