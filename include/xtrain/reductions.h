/* Reductions, running sums, sorting, and results whose size depends on values. What ops.h says of all holds here. */
#ifndef XTRAIN_REDUCTIONS_H
#define XTRAIN_REDUCTIONS_H

#include <xtrain/lists.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Reductions ---
 * With several of them:
 *     .keepdim: reduced dims stay, with one element; else they go
 * Over several axes or all (XT_ALL_AXES), narrow floats accumulated in f32. Sums and products of integers are i64,
 * means of integers f32. The gradient of amax and amin is shared by equal extremes; that of xt_max_with_index goes to
 * the one element named. xt_sum, mean, max, min: tensor.h. */
#define XT_DEFAULTS_xt_reduce_opts(is)
typedef struct XT_OPTIONS_ xt_reduce_opts {
    size_t struct_size XT_SIZE(xt_reduce_opts);
    bool keepdim XT_ZERO; /* reduced dims stay as 1 */
    xt_dtype dtype XT_ZERO; /* cast to this first; none: as said above */
} xt_reduce_opts;
#define xt_sum_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_sum_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_sum_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_mean_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_mean_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_mean_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_prod_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_prod_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_prod_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_amax_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_amax_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_amax_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_amin_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_amin_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_amin_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_any_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_any_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_any_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_all_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_all_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_all_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_logsumexp_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_logsumexp_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_logsumexp_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_count_nonzero_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_count_nonzero_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_count_nonzero_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
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
    bool keepdim XT_ZERO;
    bool population XT_ZERO; /* divide by the count itself: correction 0, and beside any other an error */
    double correction XT_IS(xt_var_opts, correction); /* what is taken off the count */
} xt_var_opts;
#define xt_var_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_var_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_var_axes_at, xt_var_opts, x, __VA_ARGS__, ))
/* the slope at 0 is 0 */
#define xt_std_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_std_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_std_axes_at, xt_var_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_var_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_var_opts o);
XT_API xt_tensor xt_std_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_var_opts o);
#define XT_DEFAULTS_xt_vector_norm_opts(is) is(p, 2)
XT_DEFAULTS_OF(xt_vector_norm_opts)
typedef struct XT_OPTIONS_ xt_vector_norm_opts {
    size_t struct_size XT_SIZE(xt_vector_norm_opts);
    bool keepdim XT_ZERO;
    bool zero XT_ZERO; /* the 0-norm: how many are not zero */
    /* 0: how many are not zero; INFINITY and -INFINITY: the largest and smallest magnitude */
    double p XT_IS(xt_vector_norm_opts, p);
} xt_vector_norm_opts;
/* sum(|x|^p)^(1/p); the slope at 0 is 0 */
#define xt_norm_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_norm_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_norm_axes_at, xt_vector_norm_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_norm_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_vector_norm_opts o);
/* Over everything, or as above: xt_std(x, 0, .keepdim = true). */
#define xt_prod(...) XT_REDUCE_(xt_prod_at, xt_prod_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_any(...) XT_REDUCE_(xt_any_at, xt_any_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_all(...) XT_REDUCE_(xt_all_at, xt_all_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_var(...) XT_REDUCE_(xt_var_at, xt_var_axes_at, xt_var_opts, __VA_ARGS__)
#define xt_std(...) XT_REDUCE_(xt_std_at, xt_std_axes_at, xt_var_opts, __VA_ARGS__)
#define xt_logsumexp(...) XT_REDUCE_(xt_logsumexp_at, xt_logsumexp_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_count_nonzero(...) XT_REDUCE_(xt_count_nonzero_at, xt_count_nonzero_axes_at, xt_reduce_opts, __VA_ARGS__)
/* xt_norm(x, p = 2, axes = all): xt_norm(x, 1), xt_norm(x, 2, -1, .keepdim = true); the p is the one in its place,
 * whatever .p says (C++ takes no .p here) */
#define xt_norm(...) \
    XT_FILL_BY_(__VA_ARGS__, XT_NORM_AXES_, XT_NORM_AXES_, XT_NORM_AXES_, XT_NORM_P_, XT_NORM_TWO_, )(__VA_ARGS__)
#define XT_NORM_TWO_(x) xt_norm_at(XT_HERE, x)
#define XT_NORM_P_(x, power) (XT_UNNAMED_(power, XT_NAME_IN_PLACE_), xt_norm_axes(x, XT_ALL_AXES, .p = power))
#define XT_NORM_AXES_(x, power, ...) XT_NORM_OVER_(x, power, __VA_ARGS__, )
#define XT_NORM_OVER_(x, power, axes, ...)  \
    (XT_UNNAMED_(power, XT_NAME_IN_PLACE_), \
     xt_norm_axes_at(XT_HERE, x, XT_AXES_OF_(axes), XT_OPTS(xt_vector_norm_opts, __VA_ARGS__.p = power)))
/* the lower one of an even count; NaN if there is one */
#define xt_median(x) xt_median_at(XT_HERE, x)
#define xt_nanmedian(x) xt_nanmedian_at(XT_HERE, x) /* of those that are not NaN; NaN where none is */
XT_API xt_tensor xt_prod_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_any_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_all_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_var_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_std_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_norm_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_logsumexp_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_count_nonzero_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_median_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_nanmedian_at(const xt_src *src, xt_tensor x);
/* NaN counts for nothing; a mean of none is NaN. */
#define xt_nansum_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_nansum_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_nansum_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
#define xt_nanmean_axes(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_nanmean_axes(x, axes, ...): axes is missing"), \
     XT_OPT_AXES_(xt_nanmean_axes_at, xt_reduce_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_nansum_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
XT_API xt_tensor xt_nanmean_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o);
#define XT_DEFAULTS_xt_normalize_opts(is) is(p, 2) is(eps, 1e-12)
XT_DEFAULTS_OF(xt_normalize_opts)
typedef struct XT_OPTIONS_ xt_normalize_opts {
    size_t struct_size XT_SIZE(xt_normalize_opts);
    double p XT_IS(xt_normalize_opts, p); /* which norm: as xt_vector_norm_opts' */
    double eps XT_IS(xt_normalize_opts, eps); /* smaller norms count as this */
} xt_normalize_opts;
/* xt_normalize(x, axis): x / max(norm, eps) */
#define xt_normalize(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_normalize(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_normalize_at, xt_normalize_opts, x, __VA_ARGS__, ))
#define XT_DEFAULTS_xt_pairwise_distance_opts(is) is(p, 2) is(eps, 1e-6)
XT_DEFAULTS_OF(xt_pairwise_distance_opts)
typedef struct XT_OPTIONS_ xt_pairwise_distance_opts {
    size_t struct_size XT_SIZE(xt_pairwise_distance_opts);
    double p XT_IS(xt_pairwise_distance_opts, p); /* which norm */
    double eps XT_IS(xt_pairwise_distance_opts, eps); /* added to each difference */
    bool keepdim XT_ZERO;
} xt_pairwise_distance_opts;
/* norm of x - y over the last dim: [...,D] -> [...] */
#define xt_pairwise_distance(x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_pairwise_distance(x, y, ...): y is missing"), \
     XT_OPT2_(xt_pairwise_distance_at, xt_pairwise_distance_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_pairwise_distance_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_pairwise_distance_opts o);
#define XT_DEFAULTS_xt_cov_opts(is) is(correction, 1)
XT_DEFAULTS_OF(xt_cov_opts)
typedef struct XT_OPTIONS_ xt_cov_opts {
    size_t struct_size XT_SIZE(xt_cov_opts);
    double correction XT_IS(xt_cov_opts, correction); /* what is taken off the count of samples */
    xt_tensor fweights XT_ZERO; /* integers [samples]: how often each was seen */
    xt_tensor aweights XT_ZERO; /* floats [samples], of x's dtype: how much each counts */
} xt_cov_opts;
/* rows are variables: [n,samples] -> [n,n]; of one variable, [samples] or [1,samples], a number -> []. Where the
 * correction leaves no samples, the products are divided by 0. */
#define xt_cov(...) XT_OPT1_(xt_cov_at, xt_cov_opts, __VA_ARGS__, )
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
XT_API xt_tensor xt_cov_at(const xt_src *src, xt_tensor x, xt_cov_opts o);
XT_API xt_tensor xt_corrcoef_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_trapezoid_at(const xt_src *src, xt_tensor y, double dx, int axis);
/* i64, first of equals; NaN counts as smallest */
#define xt_argmin(...) XT_ARG_(xt_argmin_at, __VA_ARGS__)
/* xt_max_with_index and xt_min_with_index: the largest (smallest) along an axis, which goes, and its place, i64, the
 * first of equals; NaN wins */
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
    bool descending XT_ZERO; /* largest first; equal ones keep their order */
} xt_sort_opts;
#define xt_sort(x, axis, out_values, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_sort(x, axis, out_values, out_indices, ...): out_indices is missing"), \
     XT_SORT_(x, axis, out_values, __VA_ARGS__, ))
#define XT_SORT_(x, axis, out_values, out_indices, ...) \
    xt_sort_at(XT_HERE, x, XT_NUMBER_(axis), XT_OPTS(xt_sort_opts, __VA_ARGS__), out_values, out_indices)
#define xt_argsort(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_argsort(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_argsort_at, xt_sort_opts, x, __VA_ARGS__, ))
XT_API void xt_sort_at(const xt_src *src, xt_tensor x, int axis, xt_sort_opts o, xt_tensor *out_values,
                       xt_tensor *out_indices);
XT_API xt_tensor xt_argsort_at(const xt_src *src, xt_tensor x, int axis, xt_sort_opts o);
#define XT_DEFAULTS_xt_topk_opts(is)
typedef struct XT_OPTIONS_ xt_topk_opts {
    size_t struct_size XT_SIZE(xt_topk_opts);
    bool smallest XT_ZERO; /* the k smallest, in ascending order */
} xt_topk_opts;
/* in order; of equals the first ones */
#define xt_topk(x, k, axis, out_values, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_topk(x, k, axis, out_values, out_indices, ...): out_indices is missing"), \
     XT_TOPK_(x, k, axis, out_values, __VA_ARGS__, ))
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
    XT_QUANTILE_LINEAR, /* on the straight line between the two */
    XT_QUANTILE_LOWER, /* the smaller one */
    XT_QUANTILE_HIGHER, /* the larger one */
    XT_QUANTILE_MIDPOINT, /* the middle of the two */
    XT_QUANTILE_NEAREST /* the nearer one */
} xt_quantile_rule;
#define XT_DEFAULTS_xt_quantile_opts(is)
typedef struct XT_OPTIONS_ xt_quantile_opts {
    size_t struct_size XT_SIZE(xt_quantile_opts);
    xt_quantile_rule interpolation XT_ZERO; /* default linear */
    bool keepdim XT_ZERO; /* the axis stays, with one element */
} xt_quantile_opts;
#define xt_quantile(x, q, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_quantile(x, q, axis, ...): axis is missing"), \
     XT_QUANTILE_(xt_quantile_at, x, q, __VA_ARGS__, ))
/* NaN counts for nothing; a row of nothing else gives NaN. */
#define xt_nanquantile(x, q, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_nanquantile(x, q, axis, ...): axis is missing"), \
     XT_QUANTILE_(xt_nanquantile_at, x, q, __VA_ARGS__, ))
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
    bool right XT_ZERO; /* after equal numbers; else before them */
} xt_search_opts;
/* Where values belong in a sorted last axis ([n], or the same dims in front): i64. Compares all with all: memory
 * grows with both. */
#define xt_searchsorted(sorted, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_searchsorted(sorted, values, ...): values is missing"), \
     XT_OPT2_(xt_searchsorted_at, xt_search_opts, sorted, __VA_ARGS__, ))
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
    xt_tensor *inverse XT_ZERO; /* to be filled: i64 of x's dims, which of the values each element is */
    xt_tensor *counts XT_ZERO; /* to be filled: i64 [size], how often each value stands in x */
    xt_tensor *count XT_ZERO; /* to be filled: i64, how many values there are */
    bool consecutive XT_ZERO; /* unique_consecutive: x as it lies, only equal neighbours are joined; default: sorted */
} xt_unique_opts;
/* [size]: the values of x, each once; every NaN is a value of its own. What is behind `size` is left out, and inverse
 * still says where it would be. */
#define xt_unique(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_unique(x, size, ...): size is missing"), \
     XT_OPT2N_(xt_unique_at, xt_unique_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_unique_at(const xt_src *src, xt_tensor x, int64_t size, xt_unique_opts o);

#ifdef __cplusplus
}
#endif
#endif
