/* The public ops that change shapes. Axes may be negative; a dim of 0 cannot be spelled in a list that ends at
 * its first 0. */
#include "ops/ops.h"

/* Fills in the -1 of a new shape. False after an error. */
static bool complete_dims(const xt_src *src, const ir_type *t, int rank, int64_t *dims, xt_tensor *out) {
    int64_t known = 1;
    int hole = -1;
    ops_text from, to;
    for (int i = 0; i < rank; i++) {
        if (dims[i] == -1 && hole < 0)
            hole = i;
        else if (dims[i] == XT_DIMS_END_) {
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_reshape: %s to %s: dim %d is 0; a dim is at least 1, or -1",
                              ops_shape(t, &from), ops_dims((size_t)rank, dims, &to), i);
            return false;
        } else if (dims[i] < 0) {
            *out = lazy_error(src, XT_INVALID_ARGUMENT,
                              "xt_reshape: %s to %s: one dim may be -1, no other may be negative", ops_shape(t, &from),
                              ops_dims((size_t)rank, dims, &to));
            return false;
        } else if (__builtin_mul_overflow(known, dims[i], &known))
            known = INT64_MAX;
    }
    if (hole >= 0 ? t->count % known == 0 : t->count == known) {
        if (hole >= 0) dims[hole] = t->count / known;
        return true;
    }
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_reshape: %s has %lld elements, %s %s %lld", ops_shape(t, &from),
                      (long long)t->count, ops_dims((size_t)rank, dims, &to), hole >= 0 ? "needs a multiple of" : "has",
                      (long long)known);
    return false;
}

xt_tensor xt_reshape_at(const xt_src *src, xt_tensor x, const int64_t *dims) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_reshape");
    int rank = ops_rank(dims);
    int64_t to[XT_MAX_RANK];
    memcpy(to, dims, (size_t)rank * sizeof *to);
    xt_tensor failed;
    if (!complete_dims(src, v->type, rank, to, &failed)) return failed;
    ir_value *r = ir_reshape(b, v, (size_t)rank, to);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_reshape");
}

xt_tensor xt_flatten_at(const xt_src *src, xt_tensor x, int from, int to) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_flatten");
    const ir_type *t = v->type;
    int64_t first = 0, last = -1, dims[XT_MAX_RANK];
    xt_tensor failed;
    ops_text shape;
    if (t->rank &&
        (!ops_axis(src, "xt_flatten", t, from, &first, &failed) || !ops_axis(src, "xt_flatten", t, to, &last, &failed)))
        return failed;
    if (t->rank && first > last)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_flatten: dims %lld to %lld of %s: the first one must not stand behind the last",
                          (long long)first, (long long)last, ops_shape(t, &shape));
    memcpy(dims, t->dims, (size_t)first * sizeof *dims);
    dims[first] = 1;
    for (int64_t i = first; i <= last; i++) dims[first] *= t->dims[i];
    size_t behind = t->rank - (size_t)(last + 1);
    memcpy(dims + first + 1, t->dims + last + 1, behind * sizeof *dims);
    ir_value *r = ir_reshape(b, v, (size_t)first + 1 + behind, dims);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_flatten");
}

xt_tensor xt_transpose_at(const xt_src *src, xt_tensor x, int a, int c) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_transpose");
    int64_t first, second, perm[XT_MAX_RANK];
    xt_tensor failed;
    if (!ops_axis(src, "xt_transpose", v->type, a, &first, &failed) ||
        !ops_axis(src, "xt_transpose", v->type, c, &second, &failed))
        return failed;
    for (int64_t i = 0; i < (int64_t)v->type->rank; i++) perm[i] = i == first ? second : i == second ? first : i;
    return lazy_wrap(ir_transpose(b, v, v->type->rank, perm), "xt_transpose");
}

xt_tensor xt_permute_at(const xt_src *src, xt_tensor x, int n, const int *axes) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_permute");
    ops_text shape;
    if (n != (int)v->type->rank)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_permute: %d axes for %s: every axis must be named once", n,
                          ops_shape(v->type, &shape));
    int64_t perm[XT_MAX_RANK];
    unsigned seen = 0;
    xt_tensor failed;
    for (int i = 0; i < n; i++) {
        if (!ops_axis(src, "xt_permute", v->type, axes[i], &perm[i], &failed)) return failed;
        if (seen & 1u << perm[i])
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "xt_permute: axis %d stands twice; every axis of %s must be named once", axes[i],
                              ops_shape(v->type, &shape));
        seen |= 1u << perm[i];
    }
    return lazy_wrap(ir_transpose(b, v, (size_t)n, perm), "xt_permute");
}

/* As in Python: negative positions count from the end, and positions outside mean the ends. */
static int64_t position(int64_t at, int64_t size) {
    if (at < 0) at += size;
    return at < 0 ? 0 : at > size ? size : at;
}

xt_tensor xt_slice_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t stop) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_slice");
    int64_t a, first[XT_MAX_RANK] = {0}, limit[XT_MAX_RANK];
    xt_tensor failed;
    if (!ops_axis(src, "xt_slice", v->type, axis, &a, &failed)) return failed;
    memcpy(limit, v->type->dims, v->type->rank * sizeof *limit);
    first[a] = position(start, v->type->dims[a]);
    limit[a] = position(stop, v->type->dims[a]);
    if (limit[a] < first[a]) limit[a] = first[a];
    return lazy_wrap(ir_slice(b, v, first, limit, NULL), "xt_slice");
}

xt_tensor xt_concat_at(const xt_src *src, int n, const xt_tensor *tensors, int axis) {
    ir_builder *b = lazy_begin(src);
    if (n < 1) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_concat: %d tensors; at least one is needed", n);
    ir_value **v = base_calloc((size_t)n, sizeof *v);
    if (!v) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_concat: no memory for %d operands", n);
    xt_tensor failed = {0};
    ir_value *result = NULL;
    const ir_type *common = NULL;
    int64_t a = 0;
    for (int i = 0; i < n; i++) {
        if (!(v[i] = lazy_value(tensors[i]))) goto done;
        const ir_type *t = v[i]->type;
        if (i == 0) {
            common = t;
            if (!ops_axis(src, "xt_concat", t, axis, &a, &failed)) goto done;
            continue;
        }
        bool fits = t->rank == common->rank;
        for (uint32_t k = 0; fits && k < t->rank; k++) fits = (int64_t)k == a || t->dims[k] == common->dims[k];
        if (!fits) {
            ops_text sx, sy;
            failed = lazy_error(src, XT_INVALID_ARGUMENT,
                                "xt_concat: tensor 0 is %s and tensor %d is %s: all dims but axis %lld must agree",
                                ops_shape(v[0]->type, &sx), i, ops_shape(t, &sy), (long long)a);
            goto done;
        }
        common = ir_with_dtype(common, ops_promote(common, t));
    }
    for (int i = 0; i < n; i++) v[i] = ir_convert(b, v[i], common->dtype);
    result = n == 1 ? ops_copy(b, v[0]) : ir_concatenate(b, (size_t)n, v, a);
done:
    base_free(v);
    return failed.slot ? failed : lazy_wrap(result, "xt_concat");
}

xt_tensor xt_broadcast_to_at(const xt_src *src, xt_tensor x, const int64_t *dims) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_broadcast_to");
    size_t rank = (size_t)ops_rank(dims), own = v->type->rank;
    int64_t to[XT_MAX_RANK];
    bool fits = own <= rank;
    for (size_t i = 0; fits && i < rank; i++) {
        int64_t from = i + own >= rank ? v->type->dims[i + own - rank] : 1;
        to[i] = dims[i] == -1 ? from : dims[i]; /* -1 keeps the dim, as in PyTorch's expand */
        fits = to[i] >= 0 && (from == 1 || from == to[i]);
    }
    ops_text sx, sy;
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_broadcast_to: %s does not broadcast to %s: from the end, dims must be equal or 1",
                          ops_shape(v->type, &sx), ops_dims(rank, dims, &sy));
    ir_value *r = ops_broadcast(b, v, rank, to);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_broadcast_to");
}

xt_tensor xt_unsqueeze_at(const xt_src *src, xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_unsqueeze");
    int rank = (int)v->type->rank, at = axis < 0 ? axis + rank + 1 : axis;
    ops_text shape;
    if (rank == XT_MAX_RANK)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_unsqueeze: %s has the most dims a tensor can have",
                          ops_shape(v->type, &shape));
    if (at < 0 || at > rank)
        return lazy_error(src, XT_OUT_OF_RANGE, "xt_unsqueeze: axis %d of %s: a new axis can stand at %d to %d", axis,
                          ops_shape(v->type, &shape), -rank - 1, rank);
    int64_t dims[XT_MAX_RANK];
    for (int i = 0; i <= rank; i++) dims[i] = i == at ? 1 : v->type->dims[i < at ? i : i - 1];
    return lazy_wrap(ir_reshape(b, v, (size_t)rank + 1, dims), "xt_unsqueeze");
}

/* An axis that is not of size 1 stays, as in PyTorch. */
xt_tensor xt_squeeze_all_at(const xt_src *src, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_squeeze");
    int64_t dims[XT_MAX_RANK];
    size_t n = 0;
    for (size_t i = 0; i < v->type->rank; i++)
        if (v->type->dims[i] != 1) dims[n++] = v->type->dims[i];
    return n == v->type->rank ? x : lazy_wrap(ir_reshape(b, v, n, dims), "xt_squeeze");
}

xt_tensor xt_squeeze_at(const xt_src *src, xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_squeeze");
    int64_t a, dims[XT_MAX_RANK];
    xt_tensor failed;
    if (!ops_axis(src, "xt_squeeze", v->type, axis, &a, &failed)) return failed;
    if (v->type->dims[a] != 1) return x;
    size_t n = 0;
    for (int64_t i = 0; i < (int64_t)v->type->rank; i++)
        if (i != a) dims[n++] = v->type->dims[i];
    return lazy_wrap(ir_reshape(b, v, n, dims), "xt_squeeze");
}
