/* Padding of spatial dims: zeros (or a value), reflected without the edge, the edge repeated, or the other end. Only
 * zeros are one op; the others are slices, reversed slices and broadcasts put side by side, dim after dim, so that
 * corners come out as PyTorch's do. */
#include "ops/ops.h"

ir_value *ops_batched(ir_builder *b, ir_value *x, int n_spatial, bool *out_added) {
    *out_added = x && (int)x->type->rank == n_spatial + 1;
    if (!*out_added) return x;
    int64_t dims[OPS_SPATIAL + 2] = {1};
    memcpy(dims + 1, x->type->dims, x->type->rank * sizeof *dims);
    return ir_reshape(b, x, x->type->rank + 1, dims);
}

ir_value *ops_unbatched(ir_builder *b, ir_value *x, bool added) {
    return x && added ? ir_reshape(b, x, x->type->rank - 1, x->type->dims + 1) : x;
}

static ir_value *part(ir_builder *b, ir_value *x, size_t axis, int64_t from, int64_t to) {
    int64_t start[XT_MAX_RANK] = {0}, limit[XT_MAX_RANK];
    if (!x) return NULL;
    memcpy(limit, x->type->dims, x->type->rank * sizeof *limit);
    start[axis] = from;
    limit[axis] = to;
    return ir_slice(b, x, start, limit, NULL);
}

/* The edge, n times. */
static ir_value *repeated(ir_builder *b, ir_value *edge, size_t axis, int64_t n) {
    int64_t dims[XT_MAX_RANK], all[XT_MAX_RANK];
    if (!edge) return NULL;
    memcpy(dims, edge->type->dims, edge->type->rank * sizeof *dims);
    dims[axis] = n;
    for (size_t i = 0; i < edge->type->rank; i++) all[i] = (int64_t)i;
    return ir_broadcast_in_dim(b, edge, ir_tensor(edge->type->dtype, edge->type->rank, dims), edge->type->rank, all);
}

/* The n elements that go beyond one end of dim `axis`. */
static ir_value *beyond(ir_builder *b, ir_value *x, size_t axis, int64_t n, bool behind, xt_pad_mode mode) {
    int64_t size = x->type->dims[axis], at = (int64_t)axis;
    if (mode == XT_PAD_REPLICATE)
        return repeated(b, part(b, x, axis, behind ? size - 1 : 0, behind ? size : 1), axis, n);
    if (mode == XT_PAD_CIRCULAR) return behind ? part(b, x, axis, 0, n) : part(b, x, axis, size - n, size);
    ir_value *mirror = behind ? part(b, x, axis, size - 1 - n, size - 1) : part(b, x, axis, 1, n + 1);
    return mirror ? ir_reverse(b, mirror, 1, &at) : NULL;
}

ir_value *ops_pad(ir_builder *b, ir_value *x, size_t first, size_t n, const int64_t *low, const int64_t *high,
                  xt_pad_mode mode, ir_value *value) {
    if (!x) return NULL;
    if (mode == XT_PAD_ZEROS) {
        int64_t front[XT_MAX_RANK] = {0}, behind[XT_MAX_RANK] = {0};
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            front[first + i] = low[i];
            behind[first + i] = high[i];
            any |= low[i] || high[i];
        }
        if (!value) value = ir_splat(b, ir_scalar(x->type->dtype), 0);
        return any ? ir_pad(b, x, value, front, behind, NULL) : x;
    }
    for (size_t i = 0; i < n && x; i++) {
        ir_value *pieces[3];
        size_t k = 0;
        if (low[i]) pieces[k++] = beyond(b, x, first + i, low[i], false, mode);
        pieces[k++] = x;
        if (high[i]) pieces[k++] = beyond(b, x, first + i, high[i], true, mode);
        if (k > 1) x = ir_concatenate(b, k, pieces, (int64_t)(first + i));
    }
    return x;
}

bool ops_pad_fits(const xt_src *src, const char *what, const ir_type *x, size_t first, size_t n, const int64_t *low,
                  const int64_t *high, xt_pad_mode mode, xt_tensor *out) {
    static const char *const names[] = {"zeros", "reflect", "replicate", "circular"};
    ops_text shape;
    if ((unsigned)mode >= BASE_COUNT(names)) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: padding mode %d: zeros, reflect, replicate and circular (0 to 3) are known", what,
                          (int)mode);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t size = x->dims[first + i], most = mode == XT_PAD_REFLECT    ? size - 1
                                                  : mode == XT_PAD_CIRCULAR ? size
                                                  : size                    ? INT32_MAX
                                                                            : 0;
        int64_t least = mode == XT_PAD_ZEROS ? -INT32_MAX : 0;
        bool fits = mode == XT_PAD_ZEROS ? low[i] + high[i] + size >= 0 : low[i] <= most && high[i] <= most;
        if (fits && low[i] >= least && high[i] >= least) continue;
        *out =
            lazy_error(src, XT_INVALID_ARGUMENT,
                       "%s: x %s cannot be padded by %lld and %lld in dim %d with mode %s; from %s to %lld go there",
                       what, ops_shape(x, &shape), (long long)low[i], (long long)high[i], (int)(first + i), names[mode],
                       mode ? "0" : "minus its size", (long long)(mode == XT_PAD_ZEROS ? INT32_MAX : most));
        return false;
    }
    return true;
}

/* --- sequences of several lengths --- */
xt_tensor xt_pad_sequence_at(const xt_src *src, int n, const xt_tensor *tensors, xt_pad_sequence_opts o) {
    int64_t most = 0;
    ops_text a, c;
    const ir_type *first = NULL;
    if (n < 1 || !tensors)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_pad_sequence: %d sequences: expected at least one", n);
    for (int i = 0; i < n; i++) {
        const ir_value *v = lazy_value(tensors[i]);
        if (!v) return lazy_failed_tensor(src);
        if (!first) first = v->type;
        bool fits = v->type->rank >= 1 && v->type->rank == first->rank && v->type->dtype == first->dtype &&
                    memcmp(v->type->dims + 1, first->dims + 1, (first->rank - 1) * sizeof *first->dims) == 0;
        if (!fits)
            return lazy_error(
                src, XT_INVALID_ARGUMENT,
                "xt_pad_sequence: sequence %d is %s %s and sequence 0 %s %s: expected [T_i,...] that differ "
                "in the first dim alone",
                i, xt_dtype_name(v->type->dtype), ops_shape(v->type, &a), xt_dtype_name(first->dtype),
                ops_shape(first, &c));
        if (v->type->dims[0] > most) most = v->type->dims[0];
    }
    xt_tensor *rows = base_calloc((size_t)n, sizeof *rows), y = {0};
    if (!rows) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_pad_sequence: no memory for %d sequences", n);
    for (int i = 0; i < n; i++) {
        xt_list amounts = {.n = 2 * (int)first->rank};
        amounts.v[amounts.n - 1] = most - xt_dim(tensors[i], 0);
        rows[i] = xt_pad_at(src, tensors[i], amounts, (xt_pad_opts){.value = o.padding_value});
    }
    y = xt_stack_at(src, n, rows, o.batch_first ? 0 : 1);
    base_free(rows);
    return y;
}
