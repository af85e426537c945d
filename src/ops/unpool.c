/* Where the maxima of max pooling lie, and the way back (torch's return_indices and max_unpool). */
#include "ops/ops.h"

enum { MOST_PLACES = 4096 }; /* of a window: each is a few ops of the program */

typedef struct windows {
    char what[40];
    int n;
    int64_t kernel[OPS_SPATIAL], stride[OPS_SPATIAL], pad[OPS_SPATIAL], dilation[OPS_SPATIAL];
    int64_t in[OPS_SPATIAL], out[OPS_SPATIAL]; /* sizes */
} windows;

/* Positions of x that place k of each window sees, along spatial dim i; as an i64 row, [out]. */
static ir_value *seen(ir_builder *b, const windows *w, int i, int64_t k) {
    const ir_type *t = ir_tensor(XT_I64, 1, &w->out[i]);
    ir_value *at = ir_multiply(b, ir_iota(b, t, 0), ir_splat(b, t, (double)w->stride[i]));
    return ir_add(b, at, ir_splat(b, t, (double)(k * w->dilation[i] - w->pad[i])));
}

/* Place `at` (one number a spatial dim) of every window: its elements, -inf outside of x. */
static ir_value *elements(ir_builder *b, const windows *w, ir_value *x, const int64_t *at) {
    int64_t start[XT_MAX_RANK] = {0}, limit[XT_MAX_RANK], step[XT_MAX_RANK], low[XT_MAX_RANK] = {0},
            high[XT_MAX_RANK] = {0};
    for (uint32_t d = 0; d < x->type->rank; d++) limit[d] = x->type->dims[d], step[d] = 1;
    for (int i = 0; i < w->n; i++) {
        int64_t from = at[i] * w->dilation[i], last = from + (w->out[i] - 1) * w->stride[i], d = i + 2;
        low[d] = w->pad[i];
        high[d] = last + 1 - w->pad[i] > w->in[i] ? last + 1 - w->pad[i] - w->in[i] : 0;
        start[d] = from;
        limit[d] = last + 1;
        step[d] = w->stride[i];
    }
    xt_dtype t = x->type->dtype;
    double least = ir_dtype_is_float(t) ? -__builtin_inf() : 0;
    int64_t interior[XT_MAX_RANK] = {0};
    ir_value *around = ir_pad(b, x, ir_splat(b, ir_scalar(t), least), low, high, interior);
    return around ? ir_slice(b, around, start, limit, step) : NULL;
}

/* Flat positions of that place among its channel's elements, and whether it lies in x; both of the result's shape. */
static ir_value *positions(ir_builder *b, const windows *w, const ir_type *to, const int64_t *at,
                           ir_value **out_inside) {
    ir_value *flat = NULL, *inside = NULL;
    const ir_type *t = ir_with_dtype(to, XT_I64);
    for (int i = 0; i < w->n; i++) {
        int64_t axis = i + 2;
        ir_value *p = seen(b, w, i, at[i]);
        p = p ? ir_broadcast_in_dim(b, p, t, 1, &axis) : NULL;
        if (!p) return NULL;
        ir_value *in = ir_and(b, ir_compare(b, IR_GE, p, ir_splat(b, t, 0)),
                              ir_compare(b, IR_LT, p, ir_splat(b, t, (double)w->in[i])));
        flat = flat ? ir_add(b, ir_multiply(b, flat, ir_splat(b, t, (double)w->in[i])), p) : p;
        inside = inside ? ir_and(b, inside, in) : in;
    }
    *out_inside = inside;
    return flat;
}

/* The first place whose element no later one exceeds; a NaN is above all, and the last of them counts, as PyTorch's. */
static ir_value *first_largest(ir_builder *b, const windows *w, ir_value *x, const ir_type *to) {
    ir_value *best = NULL, *where = NULL;
    int64_t at[OPS_SPATIAL] = {0}, places = 1;
    for (int i = 0; i < w->n; i++) places *= w->kernel[i];
    for (int64_t k = 0; k < places; k++) {
        int64_t rest = k;
        for (int i = w->n; i-- > 0; rest /= w->kernel[i]) at[i] = rest % w->kernel[i];
        ir_value *inside = NULL, *p = positions(b, w, to, at, &inside), *v = elements(b, w, x, at);
        if (!p || !v || !inside) return NULL;
        if (!best) { /* what lies outside is below everything: the first place inside takes over */
            best = v;
            where = ir_select(b, inside, p, ir_splat(b, p->type, -1));
            continue;
        }
        ir_value *above = ir_or(b, ir_compare(b, IR_GT, v, best), ir_compare(b, IR_NE, v, v));
        above = ir_or(b, above, ir_compare(b, IR_LT, where, ir_splat(b, where->type, 0)));
        above = ir_and(b, above, inside);
        best = ir_select(b, above, v, best);
        where = ir_select(b, above, p, where);
    }
    return where;
}

xt_tensor xt_max_pool_with_indices_at(const xt_src *src, int n_spatial, xt_tensor x, int kernel, xt_tensor *out_indices,
                                      xt_pool_opts o) {
    xt_tensor y = xt_pool_at(src, false, n_spatial, x, kernel, o);
    const ir_type *t = lazy_type(y);
    ir_builder *b = lazy_begin(src);
    bool added;
    ir_value *v = t ? ops_batched(b, lazy_value(x), n_spatial, &added) : NULL;
    windows w = {.n = n_spatial};
    int64_t places = 1;
    if (!v) {
        *out_indices = lazy_failed_tensor(src);
        return y;
    }
    snprintf(w.what, sizeof w.what, "xt_max_pool%dd_with_indices", n_spatial);
    for (int i = 0; i < n_spatial; i++) {
        w.kernel[i] = ops_per_dim(kernel, o.kernels, i);
        w.stride[i] = ops_per_dim(o.stride != -1 ? o.stride : (int)w.kernel[i], o.strides, i);
        w.pad[i] = ops_per_dim(o.padding, o.paddings, i);
        w.dilation[i] = ops_per_dim(o.dilation, o.dilations, i);
        w.in[i] = v->type->dims[i + 2];
        w.out[i] = t->dims[(int)t->rank - n_spatial + i];
        places *= w.kernel[i];
    }
    if (places > MOST_PLACES) {
        *out_indices = lazy_error(src, XT_INVALID_ARGUMENT, "%s: windows of %lld elements: at most %d with indices",
                                  w.what, (long long)places, MOST_PLACES);
        return *out_indices;
    }
    int64_t dims[XT_MAX_RANK] = {v->type->dims[0], v->type->dims[1]};
    for (int i = 0; i < n_spatial; i++) dims[i + 2] = w.out[i];
    const ir_type *to = ir_tensor(v->type->dtype, v->type->rank, dims);
    *out_indices = lazy_wrap(to ? ops_unbatched(b, first_largest(b, &w, v, to), added) : NULL, w.what);
    lazy_note_places(*out_indices, v->type);
    return y;
}

/* --- the way back --- */
/* x [R,n] into zeros [R,size] at `at` [R,n]: both as one list of places. They are called unique though windows that
 * share a maximum have the same: any of them may be the one that stays, and each has its gradient, as PyTorch's. */
static ir_value *put_back(ir_builder *b, ir_value *x, ir_value *at, int64_t rows, int64_t size) {
    int64_t n = x->type->count, all = rows * size, column[2] = {n, 1}, box[2] = {rows, rows ? n / rows : 0}, first = 0;
    const ir_type *t = ir_tensor(XT_I64, 2, box);
    ir_value *place = ir_reshape(b, ir_convert(b, at, XT_I64), 2, box);
    if (!place || !t) return NULL;
    /* a place outside its own channel is none in another one either */
    ir_value *ok = ir_and(b, ir_compare(b, IR_GE, place, ir_splat(b, t, 0)),
                          ir_compare(b, IR_LT, place, ir_splat(b, t, (double)size)));
    place = ir_add(b, place, ir_multiply(b, ir_iota(b, t, 0), ir_splat(b, t, (double)size)));
    place = ir_select(b, ok, place, ir_splat(b, t, -1));
    ir_scatter_dims d = {.n_inserted = 1,
                         .n_scatter_to_operand = 1,
                         .inserted = &first,
                         .scatter_to_operand = &first,
                         .index_vector_dim = 1};
    return ir_scatter(b, OP_COUNT, ir_splat(b, ir_tensor(x->type->dtype, 1, &all), 0), ir_reshape(b, place, 2, column),
                      ir_reshape(b, x, 1, &n), &d, false, true);
}

/* Where it is known what x was pooled of: rows (and planes) of another length have other places. */
static bool places_fit(const xt_src *src, const char *what, int n_spatial, const ir_type *pooled,
                       const int64_t *sizes) {
    const int64_t *were = pooled ? pooled->dims + pooled->rank - n_spatial : sizes;
    ops_text of, now;
    if (memcmp(were + 1, sizes + 1, (size_t)(n_spatial - 1) * sizeof *sizes) == 0) return true;
    lazy_error(
        src, XT_INVALID_ARGUMENT,
        "%s: the indices are places in %s, which was pooled, and the result is %s: its places are others; .sizes "
        "says what size it shall have, as output_size in PyTorch",
        what, ops_dims((size_t)n_spatial, were, &of), ops_dims((size_t)n_spatial, sizes, &now));
    return false;
}

xt_tensor xt_max_unpool_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor indices, int kernel,
                           xt_unpool_opts o) {
    char what[24];
    ops_text sx, si;
    snprintf(what, sizeof what, "xt_max_unpool%dd", n_spatial);
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *at = lazy_value(indices);
    if (!v || !at) return lazy_wrap(NULL, what);
    int rank = (int)v->type->rank;
    bool fits = n_spatial >= 1 && n_spatial <= OPS_SPATIAL && (rank == n_spatial + 1 || rank == n_spatial + 2) &&
                ops_same_dims(v->type, at->type) && ir_dtype_is_int(at->type->dtype);
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x is %s and the indices are %s %s: [N,C,...] with %d dims behind C, and integers of the "
                          "same shape, are needed",
                          what, ops_shape(v->type, &sx), xt_dtype_name(at->type->dtype), ops_shape(at->type, &si),
                          n_spatial);
    int64_t dims[XT_MAX_RANK], size = 1, rows = 1;
    memcpy(dims, v->type->dims, v->type->rank * sizeof *dims);
    for (int i = 0; i < rank - n_spatial; i++) rows *= dims[i];
    for (int i = 0; i < n_spatial; i++) {
        int64_t k = ops_per_dim(kernel, o.kernels, i),
                step = ops_per_dim(o.stride != -1 ? o.stride : (int)k, o.strides, i);
        int64_t *d = &dims[rank - n_spatial + i];
        *d = o.sizes[i] ? o.sizes[i] : (*d - 1) * step - 2 * ops_per_dim(o.padding, o.paddings, i) + k;
        if (k < 1 || step < 1 || *d < 1 || size > INT64_MAX / *d)
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "%s: kernel %lld and stride %lld give a size of %lld from x %s: each is at least 1", what,
                              (long long)k, (long long)step, (long long)*d, ops_shape(v->type, &sx));
        size *= *d;
    }
    if (!places_fit(src, what, n_spatial, lazy_places_of(indices), dims + rank - n_spatial) ||
        !lazy_index_fits(src, what, size, false, at))
        return lazy_failed_tensor(src);
    b = lazy_begin(src);
    ir_value *y = put_back(b, v, at, rows, size);
    return lazy_wrap(y ? ir_reshape(b, y, (size_t)rank, dims) : NULL, what);
}
