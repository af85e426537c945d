/* Reductions of reductions.h: over several axes or all, with keepdim, and those made of other reductions (variance,
 * norms, log-sum-exp). Narrow floats are accumulated in f32. Where a root or a logarithm has an infinite slope at zero,
 * the derivative there is zero, as in PyTorch. */
#include <math.h>

#include "ops/expr.h"

typedef struct over {
    ir_builder *b;
    ir_value *x;
    size_t n;
    int64_t axes[XT_MAX_RANK];
    double count; /* of elements that fall together */
    bool keepdim;
    double p, correction;
    const xt_src *src;
    const char *what;
} over;
typedef ir_value *(*reduce_fn)(over *o, ir_value *x);

/* The dims of x with 1 in place of those reduced. */
static ir_value *keep_dims(over *o, ir_value *r) {
    int64_t dims[XT_MAX_RANK];
    if (!r || (o->n == 0 && r->type->rank == o->x->type->rank)) return r;
    memcpy(dims, o->x->type->dims, o->x->type->rank * sizeof *dims);
    for (size_t i = 0; i < o->n; i++) dims[o->axes[i]] = 1;
    return ir_reshape(o->b, r, o->x->type->rank, dims);
}
/* A reduced value at x's shape again. */
static ir_value *back(over *o, ir_value *r) {
    r = keep_dims(o, r);
    return r ? ops_broadcast(o->b, r, o->x->type->rank, o->x->type->dims) : NULL;
}
static ir_value *fold(over *o, ir_opcode code, ir_value *x) {
    if (!x) return NULL;
    return o->n ? ir_reduce(o->b, code, x, o->n, o->axes) : ops_copy(o->b, x);
}
static ir_value *total(over *o, ir_value *x) {
    return fold(o, OP_add, x);
}

static ir_value *sum(over *o, ir_value *x) {
    return ops_reduce(o->b, OPS_SUM, x, o->n, o->axes);
}
static ir_value *mean(over *o, ir_value *x) {
    return ops_reduce(o->b, OPS_MEAN, x, o->n, o->axes);
}
static ir_value *amax(over *o, ir_value *x) {
    return ops_reduce(o->b, OPS_MAX, x, o->n, o->axes);
}
static ir_value *amin(over *o, ir_value *x) {
    return ops_reduce(o->b, OPS_MIN, x, o->n, o->axes);
}
static ir_value *prod(over *o, ir_value *x) {
    xt_dtype t = x->type->dtype;
    bool narrow = ir_dtype_is_float(t) && xt_dtype_size(t) < 4;
    if (t == XT_BOOL || ir_dtype_is_int(t)) x = ir_convert(o->b, x, XT_I64);
    ir_value *r = fold(o, OP_multiply, narrow ? ir_convert(o->b, x, XT_F32) : x);
    return narrow && r ? ir_convert(o->b, r, t) : r;
}
static ir_value *any(over *o, ir_value *x) {
    return fold(o, OP_or, ops_bool(o->b, x));
}
static ir_value *all(over *o, ir_value *x) {
    return fold(o, OP_and, ops_bool(o->b, x));
}
static ir_value *count_nonzero(over *o, ir_value *x) {
    return total(o, ir_convert(o->b, ops_bool(o->b, x), XT_I64));
}

/* A maximum that is infinite is left out, so that the sum itself says what comes of it; it is no part of the derivative
 * (it cancels). */
static ir_value *logsumexp(over *o, ir_value *x) {
    ir_builder *b = o->b;
    ir_value *m = fold(o, OP_maximum, x);
    m = ex_detach(b, ex_keep(b, ir_is_finite(b, m), m, 0));
    ir_value *full = back(o, m);
    lazy_no_grad_value(full);
    return ir_add(b, ir_log(b, total(o, ir_exponential(b, ir_subtract(b, x, full)))), m);
}

static ir_value *without_nan(over *o, ir_value *x) {
    return ir_dtype_is_float(x->type->dtype) ? ex_keep(o->b, ir_compare(o->b, IR_EQ, x, x), x, 0) : x;
}
static ir_value *nansum(over *o, ir_value *x) {
    x = without_nan(o, x);
    return x ? sum(o, x) : NULL;
}
static ir_value *nanmean(over *o, ir_value *x) {
    ir_builder *b = o->b;
    ir_value *number = ir_compare(b, IR_EQ, x, x), *count = total(o, ir_convert(b, number, x->type->dtype));
    ir_value *mean = ir_divide(b, total(o, without_nan(o, x)), count), *none = ex_is(b, count, IR_EQ, 0);
    ir_value *of_none = total(o, ex_unknown(b, back(o, none), x));
    return ex_pick(b, none, ir_add(b, mean, of_none), mean);
}

/* Two passes: the squares of what the mean leaves. The correction is the caller's number; what it leaves of the count
 * changes with shapes, which are programs of their own. */
static ir_value *variance(over *o, ir_value *x) {
    ir_builder *b = o->b;
    xt_dtype t = x->type->dtype;
    double left = o->count - o->correction;
    bool data = ex_given(o->src, o->what, t, o->correction).data != NULL;
    ex_number rest = ex_derived(o->src, t, data, left > 0 ? left : 0);
    ir_value *d = ir_subtract(b, x, back(o, ex_over(b, total(o, x), o->count)));
    ir_value *squares = total(o, ir_multiply(b, d, d));
    return ir_divide(b, squares, ex_of(b, squares, rest));
}
static ir_value *deviation(over *o, ir_value *x) {
    return ex_root(o->b, variance(o, x));
}

enum norm_kind { OF_POWERS, OF_SQUARES, LARGEST, SMALLEST };

ex_norm ex_norm_given(const xt_src *src, const char *what, xt_dtype t, double order) {
    enum norm_kind kind = order == 2 ? OF_SQUARES : !isinf(order) ? OF_POWERS : order > 0 ? LARGEST : SMALLEST;
    bool data = ops_number_moves(src, what, order);
    double p = kind == OF_POWERS ? order : 1;
    return (ex_norm){order, ex_derived(src, t, data, p), ex_derived(src, t, data, 1 / p),
                     ex_derived(src, t, data, kind)};
}

static ir_value *norm_of_kind(over *o, ir_value *x, enum norm_kind kind, const ex_norm *n) {
    ir_builder *b = o->b;
    ir_value *size = ir_abs(b, x);
    if (kind == OF_SQUARES) return ex_root(b, total(o, ir_multiply(b, x, x)));
    if (kind != OF_POWERS) return fold(o, kind == LARGEST ? OP_maximum : OP_minimum, size);
    if (ex_always(n->p, 1)) return total(o, size);
    ir_value *zero = ex_is(b, size, IR_EQ, 0), *safe = ex_pick(b, zero, ex_num(b, x, 1), size);
    ir_value *power = ir_power(b, safe, ex_of(b, x, n->p)), *at_zero = ex_num(b, x, n->order > 0 ? 0 : INFINITY);
    if (n->p.data) at_zero = ex_pick(b, ex_is(b, n->p.data, IR_GT, 0), ex_num(b, x, 0), ex_num(b, x, INFINITY));
    ir_value *s = total(o, ex_pick(b, zero, at_zero, power)), *none = ex_is(b, s, IR_EQ, 0);
    ir_value *root = ir_power(b, ex_pick(b, none, ex_num(b, s, 1), s), ex_of(b, s, n->inverse));
    return ex_keep(b, ir_not(b, none), root, 0);
}

static ir_value *norm_of(over *o, ir_value *x, const ex_norm *n) {
    ir_value *kind = n->kind.data, *r = NULL;
    if (!kind) return norm_of_kind(o, x, (enum norm_kind)n->kind.v, n);
    r = norm_of_kind(o, x, OF_POWERS, n);
    for (int k = OF_SQUARES; k <= SMALLEST; k++)
        r = ex_pick(o->b, ex_is(o->b, kind, IR_EQ, k), norm_of_kind(o, x, (enum norm_kind)k, n), r);
    return r;
}

ir_value *ex_norm_of(ir_builder *b, ir_value *x, size_t n, const int64_t *axes, const ex_norm *number) {
    over o = {.b = b, .x = x, .n = n};
    memcpy(o.axes, axes, n * sizeof *axes);
    return x ? norm_of(&o, x, number) : NULL;
}

static ir_value *norm(over *o, ir_value *x) {
    ex_norm n = ex_norm_given(o->src, o->what, x->type->dtype, o->p);
    o->b = lazy_begin(o->src);
    return norm_of(o, x, &n);
}
static ir_value *norm_of_zero(over *o, ir_value *x) {
    ir_value *n = count_nonzero(o, x);
    return n ? ir_convert(o->b, n, x->type->dtype) : NULL;
}

/* What a reduction works on and needs. */
enum { IN_FLOAT = 1, ORDERED = 2, HAS_ELEMENTS = 4, WIDE = 8 };

static bool prepare(const xt_src *src, const char *what, unsigned needs, xt_tensor x, xt_list axes, xt_dtype dtype,
                    over *o, xt_tensor *out) {
    ops_text shape;
    o->b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (v && dtype) {
        if (dtype == XT_TOKEN || !xt_dtype_size(dtype)) {
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: .dtype %d is no dtype of numbers", what, (int)dtype);
            return false;
        }
        v = ir_convert(o->b, v, dtype);
    }
    if (v && (needs & IN_FLOAT)) v = ops_float(o->b, v);
    if (!v) {
        *out = lazy_wrap(NULL, what);
        return false;
    }
    if (!ops_axes(src, what, v->type, axes, &o->n, o->axes, out)) return false;
    o->count = 1;
    for (size_t i = 0; i < o->n; i++) o->count *= (double)v->type->dims[o->axes[i]];
    if ((needs & ORDERED) && ir_dtype_is_complex(v->type->dtype)) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s: complex numbers are not taken", what,
                          xt_dtype_name(v->type->dtype));
        return false;
    }
    if ((needs & HAS_ELEMENTS) && o->count == 0) {
        *out =
            lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s has no elements there, so there is no largest or smallest",
                       what, ops_shape(v->type, &shape));
        return false;
    }
    o->x = v;
    return true;
}

static xt_tensor reduced(const xt_src *src, const char *what, unsigned needs, reduce_fn make, xt_tensor x, xt_list axes,
                         xt_reduce_opts opts, double p, double correction) {
    over o = {.keepdim = opts.keepdim, .p = p, .correction = correction, .src = src, .what = what};
    xt_tensor failed;
    if (!prepare(src, what, needs, x, axes, opts.dtype, &o, &failed)) return failed;
    xt_dtype t = o.x->type->dtype;
    bool narrow = (needs & WIDE) && ir_dtype_is_float(t) && xt_dtype_size(t) < 4;
    if (narrow) o.x = ir_convert(o.b, o.x, XT_F32);
    ir_value *r = o.x ? make(&o, o.x) : NULL;
    if (narrow && r) r = ir_convert(o.b, r, t);
    return lazy_wrap(opts.keepdim ? keep_dims(&o, r) : r, what);
}

/* These and the rows of WHOLE name the functions they make in full, so that a search finds them. */
#define REDUCTION(name, function, needs, make)                                           \
    xt_tensor function(const xt_src *src, xt_tensor x, xt_list axes, xt_reduce_opts o) { \
        return reduced(src, #name, needs, make, x, axes, o, 0, 0);                       \
    }
REDUCTION(xt_all_axes, xt_all_axes_at, 0, all)
REDUCTION(xt_amax_axes, xt_amax_axes_at, ORDERED | HAS_ELEMENTS, amax)
REDUCTION(xt_amin_axes, xt_amin_axes_at, ORDERED | HAS_ELEMENTS, amin)
REDUCTION(xt_any_axes, xt_any_axes_at, 0, any)
REDUCTION(xt_count_nonzero_axes, xt_count_nonzero_axes_at, 0, count_nonzero)
REDUCTION(xt_logsumexp_axes, xt_logsumexp_axes_at, IN_FLOAT | ORDERED | WIDE, logsumexp)
REDUCTION(xt_mean_axes, xt_mean_axes_at, 0, mean)
REDUCTION(xt_nanmean_axes, xt_nanmean_axes_at, IN_FLOAT | ORDERED | WIDE, nanmean)
REDUCTION(xt_nansum_axes, xt_nansum_axes_at, ORDERED, nansum)
REDUCTION(xt_prod_axes, xt_prod_axes_at, 0, prod)
REDUCTION(xt_sum_axes, xt_sum_axes_at, 0, sum)

#define WHOLE(name, function, needs, make)                                                         \
    xt_tensor function(const xt_src *src, xt_tensor x) {                                           \
        return reduced(src, #name, needs, make, x, (xt_list){0}, XT_OPTS(xt_reduce_opts, ), 2, 1); \
    }
WHOLE(xt_all, xt_all_at, 0, all)
WHOLE(xt_any, xt_any_at, 0, any)
WHOLE(xt_count_nonzero, xt_count_nonzero_at, 0, count_nonzero)
WHOLE(xt_logsumexp, xt_logsumexp_at, IN_FLOAT | ORDERED | WIDE, logsumexp)
WHOLE(xt_norm, xt_norm_at, IN_FLOAT | ORDERED | WIDE, norm)
WHOLE(xt_prod, xt_prod_at, 0, prod)
WHOLE(xt_std, xt_std_at, IN_FLOAT | ORDERED | WIDE, deviation)
WHOLE(xt_var, xt_var_at, IN_FLOAT | ORDERED | WIDE, variance)

static double correction_of(xt_var_opts o) {
    return o.population ? 0 : o.correction;
}
xt_tensor xt_var_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_var_opts o) {
    return reduced(src, "xt_var_axes", IN_FLOAT | ORDERED | WIDE, variance, x, axes,
                   (xt_reduce_opts){.keepdim = o.keepdim}, 0, correction_of(o));
}
xt_tensor xt_std_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_var_opts o) {
    return reduced(src, "xt_std_axes", IN_FLOAT | ORDERED | WIDE, deviation, x, axes,
                   (xt_reduce_opts){.keepdim = o.keepdim}, 0, correction_of(o));
}

xt_tensor xt_norm_axes_at(const xt_src *src, xt_tensor x, xt_list axes, xt_vector_norm_opts o) {
    const char *what = "xt_norm_axes";
    double p = o.p;
    if (isnan(p)) return lazy_error(src, XT_INVALID_ARGUMENT, "%s: .p is NaN: a number or an infinity is needed", what);
    unsigned needs = IN_FLOAT | ORDERED | WIDE | (isinf(p) && p < 0 ? HAS_ELEMENTS : 0);
    return reduced(src, what, needs, o.zero || p == 0 ? norm_of_zero : norm, x, axes,
                   (xt_reduce_opts){.keepdim = o.keepdim}, p, 0);
}

/* --- made of them --- */
xt_tensor xt_normalize_at(const xt_src *src, xt_tensor x, int axis, xt_normalize_opts o) {
    const ir_type *t = lazy_type(x);
    int64_t a;
    xt_tensor failed;
    if (t && !ops_axis(src, "xt_normalize", t, axis, &a, &failed)) return failed;
    if (!(o.eps >= 0) || isnan(o.p))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_normalize: .p %g, .eps %g: p is a number or infinity, eps is not negative", o.p, o.eps);
    xt_tensor n =
        xt_norm_axes_at(src, x, (xt_list){1, {axis}}, XT_OPTS(xt_vector_norm_opts, .keepdim = true, .p = o.p));
    return xt_div_at(src, x, xt_clamp_at(src, n, o.eps, INFINITY));
}

xt_tensor xt_pairwise_distance_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_pairwise_distance_opts o) {
    if (isnan(o.p) || !isfinite(o.eps))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_pairwise_distance: .p %g, .eps %g: p is a number or infinity, eps is finite", o.p, o.eps);
    xt_tensor d = xt_add_scalar_at(src, xt_sub__at(src, x, y), o.eps);
    return xt_norm_axes_at(src, d, (xt_list){1, {-1}}, XT_OPTS(xt_vector_norm_opts, .keepdim = o.keepdim, .p = o.p));
}

static bool is_rows(const xt_src *src, const char *what, xt_tensor x, xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    ops_text shape;
    if (!t || ((t->rank == 1 || t->rank == 2) && t->dims[t->rank - 1] > 0)) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s: [variables,samples] or [samples] is needed", what,
                      ops_shape(t, &shape));
    return false;
}
/* Whose covariance is its variance, a number without dims. */
static bool is_one_variable(xt_tensor x) {
    const ir_type *t = lazy_type(x);
    return t && (t->rank == 1 || t->dims[0] == 1);
}
/* Weights [samples], as x's dtype; false: they do not fit. */
static bool weights_fit(const xt_src *src, xt_tensor x, xt_tensor w, bool whole, xt_tensor *out) {
    const ir_type *t = lazy_type(x), *tw = xt_is_none(w) ? NULL : lazy_type(w);
    ops_text sw, sx;
    if (!t || !tw) return true;
    bool dtype = whole ? ir_dtype_is_int(tw->dtype) : tw->dtype == t->dtype;
    if (dtype && tw->rank == 1 && tw->dims[0] == t->dims[t->rank - 1]) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_cov: .%s %s %s for x %s %s: %s, one for each sample",
                      whole ? "fweights" : "aweights", xt_dtype_name(tw->dtype), ops_shape(tw, &sw),
                      xt_dtype_name(t->dtype), ops_shape(t, &sx), whole ? "integers" : "floats of its dtype");
    return false;
}

xt_tensor xt_cov_at(const xt_src *src, xt_tensor x, xt_cov_opts o) {
    static const char *const what = "xt_cov";
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!is_rows(src, what, x, &failed) || !weights_fit(src, x, o.fweights, true, &failed) ||
        !weights_fit(src, x, o.aweights, false, &failed))
        return failed;
    if (t && !ir_dtype_is_float(t->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s: floats are needed", what, xt_dtype_name(t->dtype));
    bool one = is_one_variable(x), often = !xt_is_none(o.fweights), much = !xt_is_none(o.aweights);
    xt_list last = {1, {-1}}, all = {0};
    xt_reduce_opts keep = XT_OPTS(xt_reduce_opts, .keepdim = true), drop = XT_OPTS(xt_reduce_opts, );
    xt_tensor w = {0};
    if (often) w = xt_cast_at(src, o.fweights, t ? t->dtype : XT_F32);
    if (much) w = often ? xt_mul_at(src, w, o.aweights) : o.aweights;
    xt_tensor mean, count, d, products;
    if (often || much) {
        count = xt_sum_axes_at(src, w, all, drop);
        mean = xt_div_at(src, xt_sum_axes_at(src, xt_mul_at(src, x, w), last, keep), count);
    } else {
        double samples = t ? (double)t->dims[t->rank - 1] : 1;
        count = lazy_wrap(ir_splat(lazy_begin(src), ir_scalar(t ? t->dtype : XT_F32), samples), what);
        mean = xt_mean_axes_at(src, x, last, keep);
    }
    d = xt_sub__at(src, x, mean);
    xt_tensor weighted = often || much ? xt_mul_at(src, d, w) : d;
    products = one ? xt_sum_axes_at(src, xt_mul_at(src, d, weighted), all, drop)
                   : xt_matmul_at(src, d, xt_transpose_at(src, weighted, 0, 1));
    xt_tensor share = much ? xt_div_at(src, xt_sum_axes_at(src, xt_mul_at(src, w, o.aweights), all, drop), count)
                           : xt_full_like_at(src, count, 1);
    xt_tensor divisor = xt_sub__at(src, count, xt_mul_scalar_at(src, share, o.correction));
    return xt_div_at(src, products, xt_clamp_at(src, divisor, 0, INFINITY));
}
xt_tensor xt_corrcoef_at(const xt_src *src, xt_tensor x) {
    xt_tensor failed;
    if (!is_rows(src, "xt_corrcoef", x, &failed)) return failed;
    if (is_one_variable(x)) {
        xt_tensor one = xt_cov_at(src, x, XT_OPTS(xt_cov_opts, ));
        return xt_div_at(src, one, one);
    }
    xt_tensor c = xt_cov_at(src, x, XT_OPTS(xt_cov_opts, )), s = xt_sqrt_at(src, xt_diagonal_at(src, c, 0, 0, 1));
    xt_tensor r = xt_div_at(src, xt_div_at(src, c, xt_unsqueeze_at(src, s, 1)), xt_unsqueeze_at(src, s, 0));
    return xt_clamp_at(src, r, -1, 1);
}

/* Sums of neighbours, times half their distance. */
static xt_tensor areas(const xt_src *src, const char *what, xt_tensor y, double dx, int axis, int64_t *a,
                       xt_tensor *failed) {
    const ir_type *t = lazy_type(y);
    *failed = (xt_tensor){0};
    *a = 0;
    if (t && !ops_axis(src, what, t, axis, a, failed)) return *failed;
    int64_t n = t ? t->dims[*a] : 0;
    xt_tensor later = xt_slice_at(src, y, (int)*a, n ? 1 : 0, n),
              earlier = xt_slice_at(src, y, (int)*a, 0, n ? n - 1 : 0);
    return xt_mul_scalar_at(src, xt_add_at(src, earlier, later), dx / 2);
}
xt_tensor xt_trapezoid_at(const xt_src *src, xt_tensor y, double dx, int axis) {
    int64_t a;
    xt_tensor failed, parts = areas(src, "xt_trapezoid", y, dx, axis, &a, &failed);
    return failed.slot ? failed : xt_sum_axes_at(src, parts, (xt_list){1, {a}}, XT_OPTS(xt_reduce_opts, ));
}
xt_tensor xt_cumulative_trapezoid_at(const xt_src *src, xt_tensor y, double dx, int axis) {
    int64_t a;
    xt_tensor failed, parts = areas(src, "xt_cumulative_trapezoid", y, dx, axis, &a, &failed);
    return failed.slot ? failed : xt_cumsum_at(src, parts, (int)a);
}

/* The scale is no part of the derivative where the norm is small enough. */
xt_tensor xt_renorm_at(const xt_src *src, xt_tensor x, double p, int axis, double most) {
    const ir_type *t = lazy_type(x);
    int64_t a = 0;
    xt_tensor failed;
    ops_text shape;
    if (!(p > 0) || !(most >= 0))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_renorm: p %g, most %g: p above 0, and a norm that is not negative", p, most);
    if (t && t->rank < 2)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_renorm: x %s: at least two dims are needed",
                          ops_shape(t, &shape));
    if (t && !ops_axis(src, "xt_renorm", t, axis, &a, &failed)) return failed;
    xt_list rest = {0, {0}};
    for (int64_t i = 0; t && i < (int64_t)t->rank; i++)
        if (i != a) rest.v[rest.n++] = i;
    xt_tensor norm = xt_norm_axes_at(src, x, rest, XT_OPTS(xt_vector_norm_opts, .keepdim = true, .p = p));
    xt_tensor limit = xt_full_like_at(src, norm, most),
              scale = xt_div_at(src, limit, xt_add_scalar_at(src, norm, 1e-7));
    return xt_mul_at(src, x, xt_where_at(src, xt_gt_at(src, norm, limit), scale, xt_full_like_at(src, norm, 1)));
}
