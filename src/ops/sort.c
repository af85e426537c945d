/* Sorting and what is read off a sorted axis. NaN counts as larger than every number and +0 as equal to -0, as in
 * PyTorch: the key is made so before the device's total order is applied. Values are gathered by the indices, so their
 * gradients go back to where they came from. */
#include <math.h>

#include "ops/expr.h"

static ir_value *sort_key(ir_builder *b, ir_value *x) {
    if (x->type->dtype == XT_BOOL) return ir_convert(b, x, XT_I32);
    if (!ir_dtype_is_float(x->type->dtype)) return x;
    ir_value *key = ex_pick(b, ex_is(b, x, IR_EQ, 0), ex_num(b, x, 0), x);
    key = ex_pick(b, ir_compare(b, IR_EQ, x, x), key, ex_num(b, x, NAN));
    lazy_no_grad_value(key);
    return key;
}

/* Indices that put the axis in order; stable. */
static ir_value *order_of(ir_builder *b, ir_value *x, int64_t axis, bool descending) {
    ir_value *pair[2] = {sort_key(b, x), ops_positions(b, x->type, axis)}, *sorted[2];
    if (!pair[0] || !pair[1] || !ir_sort(b, 2, pair, axis, descending, true, sorted)) return NULL;
    return sorted[1];
}

/* x and its axis; NULL with an error in *out, or with operands that failed already. */
static ir_value *sortable(const xt_src *src, const char *what, xt_tensor x, int axis, int64_t *a, xt_tensor *out) {
    ir_value *v = lazy_value(x);
    *out = (xt_tensor){0};
    if (!v) {
        *out = lazy_wrap(NULL, what);
        return NULL;
    }
    if (ir_dtype_is_complex(v->type->dtype)) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: complex numbers have no order", what);
        return NULL;
    }
    return ops_axis(src, what, v->type, axis, a, out) ? v : NULL;
}

static void give(ir_builder *b, const char *what, ir_value *values, ir_value *indices, xt_tensor *out_values,
                 xt_tensor *out_indices) {
    *out_indices = lazy_wrap(indices ? ir_convert(b, indices, XT_I64) : NULL, what);
    *out_values = lazy_wrap(values, what);
}

void xt_sort_at(const xt_src *src, xt_tensor x, int axis, xt_sort_opts o, xt_tensor *out_values,
                xt_tensor *out_indices) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    ir_value *v = sortable(src, "xt_sort", x, axis, &a, out_values);
    if (!v) {
        *out_indices = *out_values;
        return;
    }
    ir_value *i = order_of(b, v, a, o.descending);
    give(b, "xt_sort", ops_gather_axis(b, v, a, i), i, out_values, out_indices);
}

xt_tensor xt_argsort_at(const xt_src *src, xt_tensor x, int axis, xt_sort_opts o) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ir_value *v = sortable(src, "xt_argsort", x, axis, &a, &failed);
    if (!v) return failed;
    ir_value *i = order_of(b, v, a, o.descending);
    return lazy_wrap(i ? ir_convert(b, i, XT_I64) : NULL, "xt_argsort");
}

void xt_topk_at(const xt_src *src, xt_tensor x, int64_t k, int axis, xt_topk_opts o, xt_tensor *out_values,
                xt_tensor *out_indices) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    ir_value *v = sortable(src, "xt_topk", x, axis, &a, out_values);
    ops_text shape;
    if (v && (k < 0 || k > v->type->dims[a])) {
        *out_values = lazy_error(src, XT_OUT_OF_RANGE, "xt_topk: k is %lld, and axis %lld of %s holds %lld elements",
                                 (long long)k, (long long)a, ops_shape(v->type, &shape), (long long)v->type->dims[a]);
        v = NULL;
    }
    if (!v) {
        *out_indices = *out_values;
        return;
    }
    ir_value *i = ops_part(b, order_of(b, v, a, !o.smallest), a, 0, k);
    give(b, "xt_topk", ops_gather_axis(b, v, a, i), i, out_values, out_indices);
}

/* The element with number k (from 0) of the sorted axis. */
static void nth(const xt_src *src, const char *what, xt_tensor x, int64_t k, int axis, bool median,
                xt_tensor *out_values, xt_tensor *out_indices) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    ir_value *v = sortable(src, what, x, axis, &a, out_values);
    ops_text shape;
    if (v && median) k = (v->type->dims[a] - 1) / 2;
    if (v && (k < 0 || k >= v->type->dims[a])) {
        *out_values =
            lazy_error(src, XT_OUT_OF_RANGE, "%s: axis %lld of %s holds %lld elements, there is no number %lld", what,
                       (long long)a, ops_shape(v->type, &shape), (long long)v->type->dims[a], (long long)k + 1);
        v = NULL;
    }
    if (!v) {
        *out_indices = *out_values;
        return;
    }
    ir_value *i = ops_part(b, order_of(b, v, a, false), a, k, k + 1);
    if (median && i && ir_dtype_is_float(v->type->dtype)) {
        /* NaN anywhere makes the median NaN: the first one is named */
        ir_value *nan = ir_reduce(b, OP_or, ir_compare(b, IR_NE, v, v), 1, &a),
                 *first = ops_arg_extreme(b, v, a, false);
        i = ex_pick(b, ops_unsqueeze(b, nan, a), ops_unsqueeze(b, first, a), i);
    }
    ir_value *values = ops_gather_axis(b, v, a, i);
    int64_t dims[XT_MAX_RANK];
    size_t n = 0;
    for (int64_t d = 0; d < (int64_t)v->type->rank; d++)
        if (d != a) dims[n++] = v->type->dims[d];
    give(b, what, values ? ir_reshape(b, values, n, dims) : NULL, i ? ir_reshape(b, i, n, dims) : NULL, out_values,
         out_indices);
}
void xt_kthvalue_at(const xt_src *src, xt_tensor x, int64_t k, int axis, xt_tensor *out_values,
                    xt_tensor *out_indices) {
    nth(src, "xt_kthvalue", x, k - 1, axis, false, out_values, out_indices);
}
void xt_median_axis_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    nth(src, "xt_median_axis", x, 0, axis, true, out_values, out_indices);
}
/* `values`: the median of all elements of `flat`, which share its derivative where they equal it, as PyTorch's do. */
static xt_tensor of_equals(const xt_src *src, const char *what, xt_tensor flat, xt_tensor values) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(flat), *m = lazy_value(values);
    if (!v || !m || !ir_dtype_is_float(m->type->dtype)) return values;
    m = ex_detach(b, m);
    ir_value *equals = ops_broadcast(b, m, 1, v->type->dims);
    ir_value *both_nan = ir_and(b, ir_compare(b, IR_NE, v, v), ir_compare(b, IR_NE, equals, equals));
    ir_value *equal = ir_or(b, ir_compare(b, IR_EQ, v, equals), both_nan);
    int64_t axis = 0;
    ir_value *w = ops_widen(b, v);
    if (!equal || !w) return lazy_wrap(NULL, what);
    ir_value *count = ir_reduce(b, OP_add, ir_convert(b, equal, w->type->dtype), 1, &axis);
    ir_value *sum = ir_reduce(b, OP_add, ex_keep(b, equal, w, 0), 1, &axis);
    ir_value *mean = ops_narrow(b, ir_divide(b, sum, count), v->type->dtype);
    ir_value *exact = ir_add(b, m, ir_subtract(b, mean, ex_detach(b, mean))); /* the mean may be rounded */
    return lazy_wrap(ex_pick(b, ir_is_finite(b, m), exact, mean), what);
}
/* Floats without elements, whose median is no number. */
static bool is_empty(xt_tensor x) {
    const ir_type *t = lazy_type(x);
    return t && t->count == 0 && ir_dtype_is_float(t->dtype);
}
static xt_tensor no_number(const xt_src *src, xt_tensor x) {
    return xt_full_at(src, NAN, xt_dtype_of(x), (int64_t[]){0});
}

xt_tensor xt_median_at(const xt_src *src, xt_tensor x) {
    xt_tensor values, indices, flat = xt_flatten_at(src, x, 0, -1);
    if (is_empty(flat)) return no_number(src, flat);
    nth(src, "xt_median", flat, 0, 0, true, &values, &indices);
    return of_equals(src, "xt_median", flat, values);
}

/* NaN is sorted to the end, so the median of the numbers is at half their count. A slice of nothing but NaN
 * gives its first. */
static void nanmedian(const xt_src *src, const char *what, xt_tensor x, int axis, xt_tensor *out_values,
                      xt_tensor *out_indices) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    ir_value *v = sortable(src, what, x, axis, &a, out_values);
    ops_text shape;
    if (v && v->type->dims[a] == 0) {
        *out_values = lazy_error(src, XT_OUT_OF_RANGE, "%s: axis %lld of %s holds no elements", what, (long long)a,
                                 ops_shape(v->type, &shape));
        v = NULL;
    }
    if (!v) {
        *out_indices = *out_values;
        return;
    }
    ir_value *number = ir_convert(b, ir_compare(b, IR_EQ, v, v), XT_I32),
             *count = number ? ir_reduce(b, OP_add, number, 1, &a) : NULL;
    ir_value *middle =
        count ? ir_divide(b, ir_maximum(b, ex_plus(b, count, -1), ex_num(b, count, 0)), ex_num(b, count, 2)) : NULL;
    ir_value *at = ops_gather_axis(b, order_of(b, v, a, false), a, ops_unsqueeze(b, middle, a)),
             *values = ops_gather_axis(b, v, a, at);
    give(b, what, ops_squeeze(b, values, a), ops_squeeze(b, at, a), out_values, out_indices);
}
void xt_nanmedian_axis_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    nanmedian(src, "xt_nanmedian_axis", x, axis, out_values, out_indices);
}
xt_tensor xt_nanmedian_at(const xt_src *src, xt_tensor x) {
    xt_tensor values, indices, flat = xt_flatten_at(src, x, 0, -1);
    if (is_empty(flat)) return no_number(src, flat);
    nanmedian(src, "xt_nanmedian", flat, 0, &values, &indices);
    return of_equals(src, "xt_nanmedian", flat, values);
}

/* Of the order i along axis a, the place of the element with that rank. */
static ir_value *at_rank(const xt_src *src, ir_value *i, int64_t a, ex_number rank) {
    ir_builder *b = lazy_begin(src);
    int64_t dims[XT_MAX_RANK];
    if (!rank.data) return ops_part(b, i, a, (int64_t)rank.v, (int64_t)rank.v + 1);
    memcpy(dims, i->type->dims, i->type->rank * sizeof *dims);
    dims[a] = 1;
    return ops_gather_axis(b, i, a, ops_broadcast(b, rank.data, i->type->rank, dims));
}

/* --- quantiles --- */
/* Where a quantile lies among n sorted numbers. Its rank q (n - 1) is rounded as PyTorch rounds it, in x's dtype. */
typedef struct rank_of {
    double low, high, part;
} rank_of;
static rank_of rank_among(double q, int64_t n, xt_dtype t, xt_quantile_rule how) {
    double most = (double)(n - 1), rank = t == XT_F64 ? q * most : (double)((float)q * (float)most);
    if (how == XT_QUANTILE_NEAREST) rank = rint(rank);
    if (how == XT_QUANTILE_LOWER) rank = floor(rank);
    if (how == XT_QUANTILE_HIGHER) rank = ceil(rank);
    return (rank_of){floor(rank), ceil(rank), how == XT_QUANTILE_MIDPOINT ? 0.5 : rank - floor(rank)};
}

typedef struct neighbours {
    ir_value *low, *high, *part; /* the numbers before and behind, and how far from the first */
} neighbours;

/* The same number of elements in each row. */
static neighbours of_all(const xt_src *src, ir_value *v, ir_value *order, int64_t a, double q, bool data,
                         xt_quantile_rule how) {
    xt_dtype t = v->type->dtype;
    rank_of r = rank_among(q, v->type->dims[a], t, how);
    ir_value *low = at_rank(src, order, a, ex_derived(src, XT_I64, data, r.low)),
             *high = at_rank(src, order, a, ex_derived(src, XT_I64, data, r.high));
    ir_builder *b = lazy_begin(src);
    low = ops_gather_axis(b, v, a, low);
    return (neighbours){low, ops_gather_axis(b, v, a, high), ex_of(b, low, ex_derived(src, t, data, r.part))};
}

/* As many as are numbers: NaN is sorted to the end, and a row of nothing else gives its first. */
static neighbours of_numbers(const xt_src *src, ir_value *v, ir_value *order, int64_t a, ex_number q,
                             xt_quantile_rule how) {
    ir_builder *b = lazy_begin(src);
    ir_value *count = ir_reduce(b, OP_add, ir_convert(b, ir_compare(b, IR_EQ, v, v), v->type->dtype), 1, &a);
    ir_value *most = count ? ops_unsqueeze(b, ir_maximum(b, ex_plus(b, count, -1), ex_num(b, count, 0)), a) : NULL;
    ir_value *rank = ir_multiply(b, most, ex_of(b, most, q));
    if (how == XT_QUANTILE_NEAREST) rank = ir_round_nearest_even(b, rank);
    ir_value *floor = how == XT_QUANTILE_HIGHER ? ir_ceil(b, rank) : ir_floor(b, rank);
    ir_value *ceil = how == XT_QUANTILE_LOWER ? floor : ir_ceil(b, rank);
    bool between = how == XT_QUANTILE_LINEAR;
    ir_value *part = between ? ir_subtract(b, rank, floor) : ex_num(b, rank, how == XT_QUANTILE_MIDPOINT ? 0.5 : 0);
    ir_value *low = ops_gather_axis(b, order, a, floor ? ir_convert(b, floor, XT_I64) : NULL),
             *high = ops_gather_axis(b, order, a, ceil ? ir_convert(b, ceil, XT_I64) : NULL);
    return (neighbours){ops_gather_axis(b, v, a, low), ops_gather_axis(b, v, a, high), part};
}

static xt_tensor quantile(const xt_src *src, const char *what, xt_tensor x, double q, int axis, xt_quantile_opts o,
                          bool skip_nan) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ir_value *v = sortable(src, what, x, axis, &a, &failed);
    if (!v) return failed;
    ops_text shape;
    if (!(q >= 0 && q <= 1)) return lazy_error(src, XT_OUT_OF_RANGE, "%s: q is %g: it runs from 0 to 1", what, q);
    if ((unsigned)o.interpolation > XT_QUANTILE_NEAREST)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: .interpolation = %d: an xt_quantile_rule is expected", what,
                          (int)o.interpolation);
    if (v->type->dims[a] == 0)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: axis %lld of %s holds no elements", what, (long long)a,
                          ops_shape(v->type, &shape));
    v = ops_float(b, v);
    ir_value *i = v ? order_of(b, v, a, false) : NULL;
    if (!i) return lazy_wrap(NULL, what);
    ex_number given = ex_given(src, what, v->type->dtype, q);
    neighbours n = skip_nan ? of_numbers(src, v, i, a, given, o.interpolation)
                            : of_all(src, v, i, a, q, given.data != NULL, o.interpolation);
    b = lazy_begin(src);
    ir_value *r = ir_add(b, n.low, ir_multiply(b, ir_subtract(b, n.high, n.low), n.part));
    if (r && !skip_nan) {
        ir_value *nan = ops_unsqueeze(b, ir_reduce(b, OP_or, ir_compare(b, IR_NE, v, v), 1, &a), a);
        r = ex_keep(b, ir_not(b, nan), r, NAN);
    }
    return lazy_wrap(r && !o.keepdim ? ops_squeeze(b, r, a) : r, what);
}

xt_tensor xt_quantile_at(const xt_src *src, xt_tensor x, double q, int axis, xt_quantile_opts o) {
    return quantile(src, "xt_quantile", x, q, axis, o, false);
}
xt_tensor xt_nanquantile_at(const xt_src *src, xt_tensor x, double q, int axis, xt_quantile_opts o) {
    return quantile(src, "xt_nanquantile", x, q, axis, o, true);
}

/* --- search --- */
/* How many of the sorted numbers come before each value: all comparisons at once, [..., values, sorted]. */
xt_tensor xt_searchsorted_at(const xt_src *src, xt_tensor sorted, xt_tensor values, xt_search_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *s = lazy_value(sorted), *v = lazy_value(values);
    ops_text ss, sv;
    if (!s || !v) return lazy_wrap(NULL, "xt_searchsorted");
    const ir_type *ts = s->type, *tv = v->type;
    bool fits = ts->rank == 1 || (ts->rank == tv->rank && ts->rank > 0);
    for (uint32_t i = 0; fits && ts->rank > 1 && i + 1 < ts->rank; i++) fits = ts->dims[i] == tv->dims[i];
    if (!fits || tv->rank == XT_MAX_RANK)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_searchsorted: sorted %s and values %s: sorted has one dim, or all dims but the last agree",
            ops_shape(ts, &ss), ops_shape(tv, &sv));
    xt_dtype t = ops_promote(ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), ts->dtype),
                             ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), tv->dtype));
    if (ir_dtype_is_complex(t))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_searchsorted: complex numbers have no order");
    int64_t dims[XT_MAX_RANK], axes[XT_MAX_RANK], last = (int64_t)tv->rank;
    memcpy(dims, tv->dims, tv->rank * sizeof *dims);
    dims[last] = ts->dims[ts->rank - 1];
    const ir_type *all = ir_tensor(t, tv->rank + 1, dims);
    for (int64_t i = 0; i < last; i++) axes[i] = i;
    ir_value *wide_v = ir_broadcast_in_dim(b, ir_convert(b, v, t), all, tv->rank, axes);
    if (ts->rank == 1)
        axes[0] = last;
    else
        axes[ts->rank - 1] = last;
    ir_value *wide_s = ir_broadcast_in_dim(b, ir_convert(b, s, t), all, ts->rank, axes);
    ir_value *before = ir_compare(b, o.right ? IR_LE : IR_LT, wide_s, wide_v);
    /* NaN comes last */
    if (t != XT_BOOL && ir_dtype_is_float(t)) before = ir_or(b, before, ir_compare(b, IR_NE, wide_v, wide_v));
    return lazy_wrap(before ? ir_reduce(b, OP_add, ir_convert(b, before, XT_I64), 1, &last) : NULL, "xt_searchsorted");
}
