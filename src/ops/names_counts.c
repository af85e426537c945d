/* Short functions of PyTorch's that count and compare: divisors, the most frequent value, histograms; and slopes. */
#include <math.h>

#include <xtrain/loop.h>
#include <xtrain/names.h>

#include "ops/ops.h"

static void fill(xt_tensor *out, xt_tensor t) {
    if (out) *out = t;
}

/* --- integers --- */
static xt_tensor zeros(const xt_src *src, xt_tensor like) {
    return xt_full_like_at(src, like, 0);
}

static xt_tensor any_left(const xt_tensor *state, void *user) {
    return xt_any_at(user, xt_ne_at(user, state[1], zeros(user, state[1])));
}

/* Euclid's step, where there is something left. */
static void euclid(xt_tensor *state, void *user) {
    xt_tensor left = xt_ne_at(user, state[1], zeros(user, state[1]));
    xt_tensor by = xt_where_at(user, left, state[1], xt_full_like_at(user, state[1], 1));
    xt_tensor rest = xt_remainder_at(user, state[0], by);
    state[0] = xt_where_at(user, left, state[1], state[0]);
    state[1] = xt_where_at(user, left, rest, state[1]);
}

/* Both at one shape and dtype, without signs; false after an error, which is in x[0]. */
static bool whole_numbers(const xt_src *src, const char *what, xt_tensor x[2]) {
    const ir_type *t[2] = {lazy_type(x[0]), lazy_type(x[1])};
    for (int i = 0; i < 2; i++) {
        if (t[i] && (t[i]->dtype == XT_BOOL || !ir_dtype_is_int(t[i]->dtype))) {
            x[0] = lazy_error(src, XT_INVALID_ARGUMENT, "%s: operand %d is %s; integers are expected (xt_cast)", what,
                              i + 1, xt_dtype_name(t[i]->dtype));
            return false;
        }
    }
    if (!t[0] || !t[1]) {
        x[0] = lazy_failed_tensor(src);
        return false;
    }
    xt_dtype dtype = ops_promote(t[0], t[1]);
    if (!xt_broadcast_tensors_at(src, 2, x, x)) return false;
    for (int i = 0; i < 2; i++) {
        x[i] = xt_cast_at(src, x[i], dtype);
        x[i] = xt_where_at(src, xt_lt_at(src, x[i], zeros(src, x[i])), xt_neg_at(src, x[i]), x[i]);
    }
    return true;
}

static bool divisors(const xt_src *src, xt_tensor x[2]) {
    return xt_while_at(src, any_left, euclid, 2, x, XT_OPTS(xt_while_opts, .user = (void *)src));
}

xt_tensor xt_gcd_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    xt_tensor both[2] = {x, y};
    if (whole_numbers(src, "xt_gcd", both)) divisors(src, both);
    return both[0];
}

xt_tensor xt_lcm_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    xt_tensor both[2] = {x, y}, state[2];
    if (!whole_numbers(src, "xt_lcm", both)) return both[0];
    memcpy(state, both, sizeof state);
    if (!divisors(src, state)) return state[0];
    xt_tensor none = xt_eq_at(src, state[0], zeros(src, state[0]));
    xt_tensor by = xt_where_at(src, none, xt_full_like_at(src, state[0], 1), state[0]);
    return xt_mul_at(src, xt_floor_divide_at(src, both[0], by), both[1]);
}

/* --- the most frequent value --- */
/* How many elements up to each, that one counted, are equal to it: `sorted` is. */
static xt_tensor run_lengths(const xt_src *src, xt_tensor sorted, int axis, int64_t n, uint32_t rank) {
    int64_t along[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < rank; i++) along[i] = 1;
    along[axis] = n;
    xt_tensor at = xt_reshape_at(src, xt_arange_at(src, n, XT_I64), along);
    xt_tensor place = xt_add_at(src, xt_cast_at(src, zeros(src, sorted), XT_I64), at);
    if (n < 2) return place;
    xt_tensor changes = xt_ne_at(src, xt_slice_at(src, sorted, axis, 1, n), xt_slice_at(src, sorted, axis, 0, n - 1));
    xt_tensor later = xt_slice_at(src, place, axis, 1, n);
    xt_tensor parts[2] = {xt_slice_at(src, place, axis, 0, 1), xt_where_at(src, changes, later, zeros(src, later))};
    xt_tensor begin, unused;
    xt_cummax_at(src, xt_concat_at(src, 2, parts, axis), axis, &begin, &unused);
    return xt_sub__at(src, place, begin);
}

void xt_mode_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    const ir_type *t = lazy_type(x);
    int64_t a = 0;
    xt_tensor failed = {0}, sorted, from;
    if (!t)
        failed = lazy_failed_tensor(src);
    else if (ops_axis(src, "xt_mode", t, axis, &a, &failed) && !t->dims[a])
        failed = lazy_error(src, XT_INVALID_ARGUMENT, "xt_mode: axis %d has no elements", axis);
    if (!xt_is_none(failed)) {
        fill(out_values, failed);
        fill(out_indices, failed);
        return;
    }
    xt_sort_at(src, x, (int)a, XT_OPTS(xt_sort_opts, ), &sorted, &from);
    xt_tensor length = run_lengths(src, xt_detach_at(src, sorted), (int)a, t->dims[a], t->rank);
    xt_tensor best = xt_unsqueeze_at(src, xt_argmax_at(src, length, (int)a), (int)a);
    xt_tensor index = xt_take_along_axis_at(src, from, best, (int)a);
    fill(out_values, xt_squeeze_at(src, xt_take_along_axis_at(src, x, index, (int)a), (int)a));
    fill(out_indices, xt_squeeze_at(src, index, (int)a));
}

/* --- slopes --- */
typedef struct slope { /* along one axis of x */
    const xt_src *src;
    xt_tensor x, d; /* d: [n - 1, 1, ...], as many dims as x has from the axis on: the distances; none: all are h */
    int axis;
    double h;
} slope;

static xt_tensor sample(const slope *s, int64_t from, int64_t to) {
    return xt_slice_at(s->src, s->x, s->axis, from, to);
}
static xt_tensor gap(const slope *s, int64_t from, int64_t to) {
    return xt_slice_at(s->src, s->d, 0, from, to);
}
static xt_tensor scaled(const slope *s, xt_tensor x, double by) {
    return xt_mul_scalar_at(s->src, x, by);
}
static xt_tensor sum_of(const slope *s, xt_tensor x, xt_tensor y, xt_tensor z) {
    return xt_add_at(s->src, xt_add_at(s->src, x, y), z);
}

/* p x[i-1] + q x[i] + r x[i+1] of the samples from, from + 1, from + 2 ..., with d1 and d2 between them; at: which of
 * the three the slope is of. */
static xt_tensor three(const slope *s, int64_t from, int64_t count, int at) {
    const xt_src *src = s->src;
    xt_tensor x[3];
    for (int i = 0; i < 3; i++) x[i] = sample(s, from + i, from + i + count);
    if (xt_is_none(s->d)) {
        static const double of[3][3] = {{-1.5, 2, -0.5}, {-0.5, 0, 0.5}, {0.5, -2, 1.5}};
        xt_tensor ends = xt_add_at(src, scaled(s, x[0], of[at][0]), scaled(s, x[2], of[at][2]));
        return scaled(s, at == 1 ? ends : xt_add_at(src, ends, scaled(s, x[1], of[at][1])), 1 / s->h);
    }
    xt_tensor d1 = gap(s, from, from + count), d2 = gap(s, from + 1, from + 1 + count);
    xt_tensor both = xt_add_at(src, d1, d2), product = xt_mul_at(src, d1, d2);
    xt_tensor low = xt_mul_at(src, d1, both), high = xt_mul_at(src, d2, both); /* what the outer two are divided by */
    xt_tensor p, q, r;
    if (at == 1) {
        p = xt_neg_at(src, xt_div_at(src, d2, low));
        q = xt_div_at(src, xt_sub__at(src, d2, d1), product);
        r = xt_div_at(src, d1, high);
    } else {
        xt_tensor near = at ? d2 : d1, far = xt_add_at(src, both, near); /* 2 near + the other */
        p = xt_div_at(src, at ? d2 : xt_neg_at(src, far), low);
        q = xt_div_at(src, at ? xt_neg_at(src, both) : both, product);
        r = xt_div_at(src, at ? far : xt_neg_at(src, d1), high);
    }
    return sum_of(s, xt_mul_at(src, p, x[0]), xt_mul_at(src, q, x[1]), xt_mul_at(src, r, x[2]));
}

/* Of two samples. */
static xt_tensor two(const slope *s, int64_t from) {
    xt_tensor rise = xt_sub__at(s->src, sample(s, from + 1, from + 2), sample(s, from, from + 1));
    return xt_is_none(s->d) ? scaled(s, rise, 1 / s->h) : xt_div_at(s->src, rise, gap(s, from, from + 1));
}

xt_tensor xt_gradient_at(const xt_src *src, xt_tensor x, int axis, xt_gradient_opts o) {
    const ir_type *t = lazy_type(x), *c = xt_is_none(o.coordinates) ? NULL : lazy_type(o.coordinates);
    int64_t a = 0;
    xt_tensor failed;
    ops_text sx, sc;
    if (!t || (!xt_is_none(o.coordinates) && !c)) return lazy_failed_tensor(src);
    if (!ops_axis(src, "xt_gradient", t, axis, &a, &failed)) return failed;
    int64_t n = t->dims[a];
    if ((o.edge_order != 1 && o.edge_order != 2) || n <= o.edge_order || !(o.spacing != 0) || !isfinite(o.spacing) ||
        (c && (c->rank != 1 || c->dims[0] != n)))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_gradient: axis %d of %s, .edge_order %d, .spacing %g, .coordinates %s: an edge order of 1 "
            "or 2, more samples than that, a spacing other than 0, and a coordinate for each sample",
            axis, ops_shape(t, &sx), o.edge_order, o.spacing, c ? ops_shape(c, &sc) : "none");
    slope s = {.src = src, .x = x, .axis = (int)a, .h = o.spacing};
    if (c) {
        int64_t along[XT_MAX_RANK + 1] = {n - 1};
        for (uint32_t i = 1; i < t->rank - (uint32_t)a; i++) along[i] = 1;
        s.d = xt_reshape_at(src, xt_diff_at(src, o.coordinates, 1, 0), along);
    }
    xt_tensor parts[3];
    int k = 0;
    parts[k++] = o.edge_order == 1 ? two(&s, 0) : three(&s, 0, 1, 0);
    if (n > 2) parts[k++] = three(&s, 0, n - 2, 1);
    parts[k++] = o.edge_order == 1 ? two(&s, n - 2) : three(&s, n - 3, 1, 2);
    return xt_concat_at(src, k, parts, (int)a);
}

/* --- histograms --- */
/* [bins + 1], as torch.linspace rounds them: from both ends to the middle. */
static xt_tensor equal_edges(const xt_src *src, xt_tensor x, int64_t bins, const xt_histogram_opts *o, xt_dtype dtype) {
    static const int64_t none[] = {0};
    xt_tensor lo = o->lo == XT_AUTO ? xt_min_at(src, x) : xt_full_at(src, o->lo, dtype, none);
    xt_tensor hi = o->hi == XT_AUTO ? xt_max_at(src, x) : xt_full_at(src, o->hi, dtype, none);
    xt_tensor same = xt_eq_at(src, lo, hi);
    lo = xt_where_at(src, same, xt_add_scalar_at(src, lo, -0.5), lo);
    hi = xt_where_at(src, same, xt_add_scalar_at(src, hi, 0.5), hi);
    xt_tensor step = xt_div_scalar_at(src, xt_sub__at(src, hi, lo), (double)bins);
    xt_tensor i = xt_cast_at(src, xt_arange_at(src, bins + 1, XT_I64), dtype);
    xt_tensor up = xt_add_at(src, lo, xt_mul_at(src, step, i));
    xt_tensor back = xt_rsub_scalar_at(src, i, (double)bins), down = xt_sub__at(src, hi, xt_mul_at(src, step, back));
    return xt_where_at(src, xt_lt_at(src, i, xt_full_like_at(src, i, (double)((bins + 1) / 2))), up, down);
}

/* The bin of each element of x [n]; `bins` where it is in none. */
static xt_tensor bin_of(const xt_src *src, xt_tensor x, xt_tensor edges, int64_t bins) {
    xt_tensor at = xt_searchsorted_at(src, edges, x, XT_OPTS(xt_search_opts, .right = true));
    at = xt_add_scalar_at(src, xt_cast_at(src, at, XT_I64), -1);
    xt_tensor last = xt_eq_at(src, x, xt_select_at(src, edges, 0, bins));
    at = xt_where_at(src, last, xt_full_like_at(src, at, (double)bins - 1), at);
    return xt_where_at(src, xt_lt_at(src, at, zeros(src, at)), xt_full_like_at(src, at, (double)bins), at);
}

void xt_histogram_at(const xt_src *src, xt_tensor x, int64_t bins, xt_tensor *out_hist, xt_tensor *out_edges,
                     xt_histogram_opts o) {
    static const int64_t flat[] = {-1, 0};
    const ir_type *t = lazy_type(x), *e = xt_is_none(o.edges) ? NULL : lazy_type(o.edges),
                  *w = xt_is_none(o.weights) ? NULL : lazy_type(o.weights);
    bool there = t && (e || xt_is_none(o.edges)) && (w || xt_is_none(o.weights));
    bool given = o.lo != XT_AUTO && o.hi != XT_AUTO;
    if (there && (!ir_dtype_is_float(t->dtype) || t->count < 1 || bins < 1 || (given && !(o.lo <= o.hi)) ||
                  (e && (e->rank != 1 || e->dims[0] != bins + 1)) || (w && !ops_same_dims(t, w)))) {
        ops_text sx, se, sw;
        lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_histogram: x is %s %s, %lld bins from %g to %g, .edges %s, .weights %s: floats, at least one bin, "
            "ends in order, one edge more than bins, and weights of x's shape",
            xt_dtype_name(t->dtype), ops_shape(t, &sx), (long long)bins, o.lo, o.hi, e ? ops_shape(e, &se) : "none",
            w ? ops_shape(w, &sw) : "none");
        there = false;
    }
    if (!there) {
        fill(out_hist, lazy_failed_tensor(src));
        fill(out_edges, lazy_failed_tensor(src));
        return;
    }
    xt_tensor values = xt_reshape_at(src, xt_detach_at(src, x), flat);
    xt_tensor edges = e ? xt_cast_at(src, o.edges, t->dtype) : equal_edges(src, values, bins, &o, t->dtype);
    xt_tensor weights = w ? xt_cast_at(src, xt_reshape_at(src, o.weights, flat), t->dtype) : (xt_tensor){0};
    xt_tensor hist = xt_bincount_at(src, bin_of(src, values, edges, bins), bins + 1, weights);
    hist = xt_cast_at(src, xt_slice_at(src, hist, 0, 0, bins), t->dtype);
    if (o.density) hist = xt_div_at(src, xt_div_at(src, hist, xt_sum_at(src, hist)), xt_diff_at(src, edges, 1, 0));
    fill(out_hist, hist);
    fill(out_edges, edges);
}

/* What is wrong with bins, edges and weights of points t [...,D]; NULL: nothing. */
static const char *wrong_boxes(const ir_type *t, const xt_list *bins, const xt_histogramdd_opts *o, const ir_type *w) {
    int64_t boxes = 1;
    if (!ir_dtype_is_float(t->dtype) || t->rank < 1 || t->count < 1) return "x is to be floats, and at least one point";
    if (bins->n < 1 || bins->n != t->dims[t->rank - 1]) return "bins are to be as many as x's last dim has numbers";
    if (bins->n > XT_MAX_RANK) return "there are too many of them";
    for (int d = 0; d < bins->n; d++) {
        const ir_type *e = o->edges ? lazy_type(o->edges[d]) : NULL;
        if (bins->v[d] < 1) return "each dim has at least one bin";
        if (bins->v[d] > INT32_MAX / boxes) return "there are more than 2^31 boxes";
        boxes *= bins->v[d];
        if (e && (e->rank != 1 || e->dims[0] != bins->v[d] + 1)) return ".edges are one more than the bins";
        if (o->ends && !(o->ends[2 * d] <= o->ends[2 * d + 1])) return ".ends are to be in order, two a dim";
    }
    if (w && (w->rank + 1 != t->rank || w->count != t->count / bins->n)) return ".weights are one a point";
    return NULL;
}

void xt_histogramdd_at(const xt_src *src, xt_tensor x, xt_list bins, xt_tensor *out_hist, xt_tensor *out_edges,
                       xt_histogramdd_opts o) {
    const ir_type *t = lazy_type(x), *w = xt_is_none(o.weights) ? NULL : lazy_type(o.weights);
    bool there = t && (w || xt_is_none(o.weights));
    for (int d = 0; there && o.edges && d < bins.n; d++) there = lazy_type(o.edges[d]) != NULL;
    const char *wrong = there ? wrong_boxes(t, &bins, &o, w) : NULL;
    if (wrong) {
        ops_text sx, sw;
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_histogramdd: x is %s %s, %d numbers of bins, .weights %s: %s",
                   xt_dtype_name(t->dtype), ops_shape(t, &sx), bins.n, w ? ops_shape(w, &sw) : "none", wrong);
    }
    if (!there || wrong) {
        fill(out_hist, lazy_failed_tensor(src));
        for (int d = 0; out_edges && d < bins.n; d++) out_edges[d] = lazy_failed_tensor(src);
        return;
    }
    int64_t boxes = 1, dims[XT_MAX_RANK + 1] = {0};
    xt_tensor edges[XT_MAX_RANK], place = {0}, outside = {0};
    xt_tensor points = xt_reshape_at(src, xt_detach_at(src, x), (int64_t[]){-1, bins.n, 0});
    for (int d = 0; d < bins.n; d++) {
        xt_histogram_opts each = {.lo = o.ends ? o.ends[2 * d] : XT_AUTO, .hi = o.ends ? o.ends[2 * d + 1] : XT_AUTO};
        xt_tensor values = xt_select_at(src, points, 1, d);
        edges[d] =
            o.edges ? xt_cast_at(src, o.edges[d], t->dtype) : equal_edges(src, values, bins.v[d], &each, t->dtype);
        xt_tensor bin = bin_of(src, values, edges[d], bins.v[d]);
        xt_tensor none = xt_eq_at(src, bin, xt_full_like_at(src, bin, (double)bins.v[d]));
        place = d ? xt_add_at(src, xt_mul_scalar_at(src, place, (double)bins.v[d]), bin) : bin;
        outside = d ? xt_logical_or_at(src, outside, none) : none;
        boxes *= dims[d] = bins.v[d];
    }
    place = xt_where_at(src, outside, xt_full_like_at(src, place, (double)boxes), place);
    xt_tensor weights =
        w ? xt_cast_at(src, xt_reshape_at(src, o.weights, (int64_t[]){-1, 0}), t->dtype) : (xt_tensor){0};
    xt_tensor hist = xt_slice_at(src, xt_bincount_at(src, place, boxes + 1, weights), 0, 0, boxes);
    hist = xt_reshape_at(src, xt_cast_at(src, hist, t->dtype), dims);
    if (o.density) hist = xt_div_at(src, hist, xt_sum_at(src, hist));
    for (int d = 0; d < bins.n; d++) {
        int64_t along[XT_MAX_RANK + 1] = {0};
        for (int i = 0; i < bins.n; i++) along[i] = i == d ? bins.v[d] : 1;
        if (o.density) hist = xt_div_at(src, hist, xt_reshape_at(src, xt_diff_at(src, edges[d], 1, 0), along));
        if (out_edges) out_edges[d] = edges[d];
    }
    fill(out_hist, hist);
}
