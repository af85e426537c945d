/* Pooling: window reductions with PyTorch's rules for padding, the last partial window, and what an
 * average divides by. */
#include <math.h>

#include "ops/ops.h"

typedef struct pool {
    char what[32];
    int n;
    int64_t kernel[OPS_SPATIAL], pad[OPS_SPATIAL], stride[OPS_SPATIAL], dilation[OPS_SPATIAL];
    int64_t size[XT_MAX_RANK], step[XT_MAX_RANK], reach[XT_MAX_RANK], low[XT_MAX_RANK],
        high[XT_MAX_RANK]; /* of every dim of x, as the op wants them */
} pool;

static bool options_fit(const xt_src *src, const xt_pool_opts *o, int kernel, bool average, const ir_type *x, pool *p,
                        xt_tensor *out) {
    static const char *const layout[OPS_SPATIAL] = {"L", "H,W", "D,H,W"};
    ops_text sx;
    *out = (xt_tensor){0};
    if ((int)x->rank != p->n + 2 || x->dtype == XT_BOOL || ir_dtype_is_complex(x->dtype))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s %s; numbers of shape [N,C,%s] are needed", p->what,
                          xt_dtype_name(x->dtype), ops_shape(x, &sx), layout[p->n - 1]);
    for (int i = 0; i < p->n && !out->slot; i++) {
        int64_t k = ops_per_dim(kernel, o->kernels, i);
        p->kernel[i] = k;
        p->stride[i] = ops_per_dim(o->stride != -1 ? o->stride : (int)k, o->strides, i);
        p->pad[i] = ops_per_dim(o->padding, o->paddings, i);
        p->dilation[i] = ops_per_dim(o->dilation, o->dilations, i);
        bool divides = o->divisor == -1 || o->divisor > 0;
        if (k < 1 || p->stride[i] < 1 || p->dilation[i] < 1 || !divides)
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: kernel %lld and stride %lld must be at least 1%s", p->what,
                              (long long)k, (long long)p->stride[i],
                              p->dilation[i] < 1 || !divides ? ", dilation and divisor too" : "");
        else if (average && p->dilation[i] != 1)
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: dilation %lld: only max pooling has dilation", p->what,
                              (long long)p->dilation[i]);
        else if (p->pad[i] < 0 || p->pad[i] > ((k - 1) * p->dilation[i] + 1) / 2)
            *out = lazy_error(
                src, XT_INVALID_ARGUMENT,
                "%s: padding %lld: it must be from 0 to half the kernel (%lld), so that no window lies outside x",
                p->what, (long long)p->pad[i], (long long)(((k - 1) * p->dilation[i] + 1) / 2));
        else if (x->dims[i + 2] + 2 * p->pad[i] < (k - 1) * p->dilation[i] + 1 &&
                 (o->ceil_mode != XT_ON || x->dims[i + 2] < 1)) {
            char window[64];
            int at = 0;
            for (int j = 0; j < p->n; j++)
                at += snprintf(window + at, sizeof window - (size_t)at, "%s%lld", j ? "x" : "",
                               (long long)ops_per_dim(kernel, o->kernels, j));
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s with padding %lld is smaller than the kernel %s",
                              p->what, ops_shape(x, &sx), (long long)p->pad[i], window);
        }
    }
    return !out->slot;
}

/* With ceil_mode a last window may reach beyond the padded input, if it begins inside the input or the padding in
 * front of it. */
static void lay_out(pool *p, const xt_pool_opts *o, const ir_type *x) {
    for (int i = 0; i < XT_MAX_RANK; i++) {
        p->size[i] = p->step[i] = p->reach[i] = 1;
        p->low[i] = p->high[i] = 0;
    }
    for (int i = 0; i < p->n; i++) {
        int64_t reach = (p->kernel[i] - 1) * p->dilation[i] + 1, room = x->dims[i + 2] + 2 * p->pad[i] - reach;
        int64_t windows = (room + (o->ceil_mode == XT_ON ? p->stride[i] - 1 : 0)) / p->stride[i] + 1;
        if (o->ceil_mode == XT_ON && (windows - 1) * p->stride[i] >= x->dims[i + 2] + p->pad[i]) windows--;
        if (windows < 1) windows = 1;
        int64_t beyond = (windows - 1) * p->stride[i] - room;
        p->size[i + 2] = p->kernel[i];
        p->step[i + 2] = p->stride[i];
        p->reach[i + 2] = p->dilation[i];
        p->low[i + 2] = p->pad[i];
        p->high[i + 2] = p->pad[i] + (beyond > 0 ? beyond : 0);
    }
}

static ir_value *window_sum(ir_builder *b, const pool *p, ir_value *x) {
    return ir_reduce_window(b, OP_add, x, p->size, p->step, p->low, p->high, NULL, NULL);
}

/* What each average divides by: a number, or (windows of different content) the same window sum over one
 * image of ones. */
static ir_value *window_counts(ir_builder *b, const pool *p, const xt_pool_opts *o, ir_value *x, const ir_type *sums) {
    bool differ = false;
    double whole = 1;
    for (int i = 0; i < p->n; i++) {
        whole *= (double)p->kernel[i];
        differ |= p->high[i + 2] != p->pad[i] || (o->count_include_pad == XT_OFF && p->pad[i]);
    }
    if (o->divisor > 0 || !differ) return ir_splat(b, sums, o->divisor == -1 ? whole : o->divisor);
    pool q = *p;
    int64_t image[OPS_SPATIAL + 2] = {1, 1}, axes[OPS_SPATIAL] = {2, 3, 4};
    for (int i = 2; i < p->n + 2; i++) {
        image[i] = x->type->dims[i];
        if (o->count_include_pad == XT_OFF) continue;
        image[i] += 2 * p->pad[i - 2]; /* the padding counts, what a last window reaches beyond it does not */
        q.low[i] = 0;
        q.high[i] = p->high[i] - p->pad[i - 2];
    }
    ir_value *ones = ir_splat(b, ir_tensor(sums->dtype, (size_t)p->n + 2, image), 1);
    ir_value *held = ones ? window_sum(b, &q, ones) : NULL;
    held = held ? ir_reshape(b, held, (size_t)p->n, held->type->dims + 2) : NULL;
    return held ? ir_broadcast_in_dim(b, held, sums, (size_t)p->n, axes) : NULL;
}

static ir_value *reduce_windows(ir_builder *b, bool average, const pool *p, const xt_pool_opts *o, ir_value *x) {
    if (!average) return ir_reduce_window(b, OP_maximum, x, p->size, p->step, p->low, p->high, NULL, p->reach);
    xt_dtype t = x->type->dtype;
    bool narrow = ir_dtype_is_float(t) && xt_dtype_size(t) < 4; /* summed wider */
    x = narrow ? ir_convert(b, x, XT_F32) : ops_float(b, x);
    ir_value *sum = x ? window_sum(b, p, x) : NULL;
    ir_value *y = sum ? ir_divide(b, sum, window_counts(b, p, o, x, sum->type)) : NULL;
    return y && narrow ? ir_convert(b, y, t) : y;
}

xt_tensor xt_pool_at(const xt_src *src, bool average, int n_spatial, xt_tensor x, int kernel, xt_pool_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    pool p = {.n = n_spatial};
    xt_tensor failed;
    bool added;
    if (n_spatial < 1 || n_spatial > OPS_SPATIAL)
        return lazy_error(src, XT_INVALID_ARGUMENT, "pooling over %d spatial dims: 1 to %d are there", n_spatial,
                          OPS_SPATIAL);
    snprintf(p.what, sizeof p.what, "xt_%s_pool%dd", average ? "avg" : "max", n_spatial);
    v = ops_batched(b, v, n_spatial, &added);
    if (!v) return lazy_wrap(NULL, p.what);
    if (!options_fit(src, &o, kernel, average, v->type, &p, &failed)) return failed;
    lay_out(&p, &o, v->type);
    return lazy_wrap(ops_unbatched(b, reduce_windows(b, average, &p, &o, v), added), p.what);
}

/* As PyTorch: the average times the number of elements, which differs from the sum in a window that
 * ceil_mode cuts off; where the sum is zero, so is the derivative, which the root's would make infinite. */
xt_tensor xt_lp_pool_at(const xt_src *src, int n_spatial, xt_tensor x, double p, int kernel, xt_pool_opts o) {
    if (!(p > 0))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_lp_pool%dd: the power is %g; it must be positive", n_spatial,
                          p);
    double elements = 1;
    for (int i = 0; i < n_spatial && i < OPS_SPATIAL; i++) elements *= (double)ops_per_dim(kernel, o.kernels, i);
    o.divisor = -1;
    o.padding = 0;
    memset(o.paddings, 0, sizeof o.paddings);
    xt_tensor mean = xt_pool_at(src, true, n_spatial, xt_pow_scalar_at(src, x, p), kernel, o);
    xt_tensor zero = xt_eq_at(src, mean, xt_full_like_at(src, mean, 0)), none = xt_full_like_at(src, mean, 0);
    xt_tensor some = xt_where_at(src, zero, xt_full_like_at(src, mean, 1), mean);
    return xt_where_at(src, zero, none, xt_pow_scalar_at(src, xt_mul_scalar_at(src, some, elements), 1 / p));
}

/* --- adaptive --- */
static ir_value *one_mean(ir_builder *b, ir_value *x, size_t axis, int64_t from, int64_t to) {
    int64_t start[XT_MAX_RANK] = {0}, limit[XT_MAX_RANK], dims[XT_MAX_RANK], at = (int64_t)axis;
    memcpy(limit, x->type->dims, x->type->rank * sizeof *limit);
    start[axis] = from;
    limit[axis] = to;
    ir_value *r = ir_slice(b, x, start, limit, NULL);
    r = r ? ops_sum(b, r, 1, &at) : NULL;
    if (!r) return NULL;
    r = ir_divide(b, r, ir_splat(b, r->type, (double)(to - from)));
    memcpy(dims, x->type->dims, x->type->rank * sizeof *dims);
    dims[axis] = 1;
    return r ? ir_reshape(b, r, x->type->rank, dims) : NULL;
}

static ir_value *means_of_windows(ir_builder *b, ir_value *x, size_t axis, int64_t out) {
    int64_t size = x->type->dims[axis];
    ir_value **parts = base_calloc((size_t)out, sizeof *parts), *y = NULL;
    bool ok = parts != NULL;
    for (int64_t i = 0; ok && i < out; i++)
        ok = (parts[i] = one_mean(b, x, axis, i * size / out, ((i + 1) * size + out - 1) / out)) != NULL;
    if (ok) y = out == 1 ? parts[0] : ir_concatenate(b, (size_t)out, parts, (int64_t)axis);
    base_free(parts);
    return y;
}

/* Equal windows: a reshape and one reduction. */
static ir_value *means_of_equal(ir_builder *b, ir_value *x, size_t axis, int64_t out) {
    int64_t dims[XT_MAX_RANK], window = (int64_t)axis + 1, size = x->type->dims[axis];
    for (size_t k = 0, j = 0; k < x->type->rank; k++) {
        dims[j++] = k == axis ? out : x->type->dims[k];
        if (k == axis) dims[j++] = size / out;
    }
    x = ir_reshape(b, x, x->type->rank + 1, dims);
    x = x ? ops_sum(b, x, 1, &window) : NULL;
    return x ? ir_divide(b, x, ir_splat(b, x->type, (double)(size / out))) : NULL;
}

/* Dim after dim: a mean of means over a grid is the mean, for all windows of one dim hold the same number of rows. */
static ir_value *adaptive_mean(ir_builder *b, int n, ir_value *x, const int64_t *out) {
    xt_dtype t = x->type->dtype;
    if (xt_dtype_size(t) < 4) x = ir_convert(b, x, XT_F32);
    for (int i = 0; i < n && x; i++) {
        int64_t size = x->type->dims[i + 2];
        if (out[i] == size) continue;
        x = (size % out[i] ? means_of_windows : means_of_equal)(b, x, (size_t)i + 2, out[i]);
    }
    return x ? ir_convert(b, x, t) : NULL;
}

/* Of the largest elements of a window the first has the derivative, as in xt_max_pool, so all dims are looked at
 * together; windows of one size are those of xt_max_pool. */
static xt_tensor adaptive_max(const xt_src *src, int n, xt_tensor x, const ir_type *t, const int64_t *out) {
    xt_pool_opts o = XT_OPTS(xt_pool_opts, );
    bool even = true;
    for (int i = 0; i < n; i++) {
        even = even && t->dims[i + 2] % out[i] == 0;
        o.kernels[i] = (int)(t->dims[i + 2] / out[i]);
    }
    return even ? xt_pool_at(src, false, n, x, 0, o) : xt_adaptive_max_pool_with_indices_at(src, n, x, NULL, out);
}

xt_tensor xt_adaptive_pool_at(const xt_src *src, bool average, int n_spatial, xt_tensor x, const int64_t *sizes) {
    ir_builder *b = lazy_begin(src);
    char what[32];
    ops_text sx;
    bool added;
    int64_t out[OPS_SPATIAL + 1] = {0};
    snprintf(what, sizeof what, "xt_adaptive_%s_pool%dd", average ? "avg" : "max", n_spatial);
    ir_value *v = ops_batched(b, lazy_value(x), n_spatial, &added);
    if (!v) return lazy_wrap(NULL, what);
    if (n_spatial < 1 || n_spatial > OPS_SPATIAL || (int)v->type->rank != n_spatial + 2 ||
        !ir_dtype_is_float(v->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s %s; floats [N,C,...] with %d dims behind C are needed",
                          what, xt_dtype_name(v->type->dtype), ops_shape(v->type, &sx), n_spatial);
    for (int i = 0; i < n_spatial; i++) {
        int64_t size = v->type->dims[i + 2];
        out[i] = ops_given(i < ops_rank(sizes) ? sizes[i] : sizes[0]);
        if (out[i] == -1) out[i] = size;
        if (out[i] != size && (out[i] < 1 || size < 1))
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "%s: x %s to size %lld in dim %d: sizes are at least 1, or -1 to keep the dim", what,
                              ops_shape(v->type, &sx), (long long)out[i], i + 2);
    }
    if (!average && v->type->count > 0) return adaptive_max(src, n_spatial, x, v->type, out);
    if (average) v = adaptive_mean(b, n_spatial, v, out);
    v = ops_unbatched(b, v, added);
    return lazy_wrap(v && v == lazy_value(x) ? ops_copy(b, v) : v, what);
}

xt_tensor xt_global_pool_at(const xt_src *src, bool average, xt_tensor x) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 2) {
        lazy_begin(src);
        ops_text sx;
        const char *what = average ? "xt_global_avg_pool" : "xt_global_max_pool";
        return t ? lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s; [N,C,...] is needed", what, ops_shape(t, &sx))
                 : lazy_wrap(lazy_value(x), what);
    }
    if (t->rank == 2) return x;
    xt_tensor flat = xt_flatten_at(src, x, 2, -1);
    return average ? xt_mean_axis_at(src, flat, 2) : xt_max_axis_at(src, flat, 2);
}
