/* Softmax, one-hot, lookups. Softmax subtracts the row's maximum, which is left out of the derivative (it cancels), and
 * works in f32 on narrower floats. Labels become a mask by comparison with an iota: the compiler fuses that into what
 * uses it, and its gradient needs no scatter. */
#include "ops/ops.h"

/* A value over all axes but one, back at x's shape. */
static ir_value *along(ir_builder *b, ir_value *v, const ir_type *to, int64_t axis) {
    int64_t axes[XT_MAX_RANK];
    size_t n = 0;
    if (!v) return NULL;
    for (int64_t i = 0; i < (int64_t)to->rank; i++)
        if (i != axis) axes[n++] = i;
    return ir_broadcast_in_dim(b, v, ir_with_dtype(to, v->type->dtype), n, axes);
}

static ir_value *centred(ir_builder *b, ir_value *x, int64_t axis) {
    ir_value *max = ir_reduce(b, OP_maximum, x, 1, &axis);
    lazy_no_grad_value(max);
    ir_value *full = along(b, max, x->type, axis);
    lazy_no_grad_value(full);
    return ir_subtract(b, x, full);
}

static ir_value *softmax(ir_builder *b, ir_value *x, int64_t axis) {
    ir_value *e = ir_exponential(b, centred(b, x, axis));
    return e ? ir_divide(b, e, along(b, ir_reduce(b, OP_add, e, 1, &axis), e->type, axis)) : NULL;
}

ir_value *ops_log_softmax(ir_builder *b, ir_value *x, int64_t axis) {
    ir_value *c = centred(b, x, axis), *e = ir_exponential(b, c);
    return e ? ir_subtract(b, c, along(b, ir_log(b, ir_reduce(b, OP_add, e, 1, &axis)), e->type, axis)) : NULL;
}

static ir_value *in_f32(ir_builder *b, ir_value *x) {
    x = ops_float(b, x);
    return x && ir_dtype_is_float(x->type->dtype) && xt_dtype_size(x->type->dtype) < 4 ? ir_convert(b, x, XT_F32) : x;
}

static xt_tensor softmax_op(const xt_src *src, const char *what, ir_value *(*make)(ir_builder *, ir_value *, int64_t),
                            xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed)) return failed;
    if (ir_dtype_is_complex(v->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is complex, which has no maximum", what);
    xt_dtype t = ir_dtype_is_float(v->type->dtype) ? v->type->dtype : XT_F32;
    v = in_f32(b, v);
    ir_value *r = v ? make(b, v, a) : NULL;
    return lazy_wrap(r ? ir_convert(b, r, t) : NULL, what);
}

xt_tensor xt_softmax_at(const xt_src *src, xt_tensor x, int axis) {
    return softmax_op(src, "xt_softmax", softmax, x, axis);
}
xt_tensor xt_log_softmax_at(const xt_src *src, xt_tensor x, int axis) {
    return softmax_op(src, "xt_log_softmax", ops_log_softmax, x, axis);
}

/* --- labels --- */
static bool are_labels(const xt_src *src, const char *what, const ir_type *t, xt_tensor *out) {
    if (ir_dtype_is_int(t->dtype)) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: labels are %s; class numbers are integers, xt_cast them to XT_I64",
                      what, xt_dtype_name(t->dtype));
    return false;
}

/* labels [...] -> truth [..., classes]. */
static ir_value *label_mask(ir_builder *b, ir_value *labels, int64_t classes) {
    const ir_type *t = labels->type;
    int64_t dims[XT_MAX_RANK + 1];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[t->rank] = classes;
    const ir_type *full = ir_tensor(t->dtype, t->rank + 1, dims);
    if (!full) return NULL;
    return ir_compare(b, IR_EQ, along(b, labels, full, (int64_t)t->rank), ir_iota(b, full, (int64_t)t->rank));
}

xt_tensor ops_one_hot(const xt_src *src, xt_tensor labels, int64_t classes, xt_dtype dtype) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(labels);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_one_hot");
    if (!are_labels(src, "xt_one_hot", v->type, &failed)) return failed;
    if (classes < 1 || v->type->rank == XT_MAX_RANK || !xt_dtype_size(dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_one_hot: %lld classes of dtype %s for labels with %d dims: at least 1 class, a known "
                          "dtype, at most %d dims",
                          (long long)classes, xt_dtype_name(dtype), (int)v->type->rank, XT_MAX_RANK - 1);
    ir_value *mask = label_mask(b, v, classes);
    return lazy_wrap(mask ? ir_convert(b, mask, dtype) : NULL, "xt_one_hot");
}

xt_tensor xt_one_hot_at(const xt_src *src, xt_tensor labels, int64_t classes, xt_dtype dtype) {
    const ir_type *t = lazy_type(labels);
    lazy_begin(src);
    if (t && ir_dtype_is_int(t->dtype) && classes > 0 &&
        !lazy_index_fits(src, "xt_one_hot", classes, false, lazy_value(labels)))
        return lazy_failed_tensor(src);
    return ops_one_hot(src, labels, classes, dtype);
}

/* --- lookups --- */
/* An index outside the table takes the nearest row (StableHLO's gather), where nobody finds it. */
xt_tensor xt_take_at(const xt_src *src, xt_tensor table, xt_tensor indices) {
    return ops_take(src, "xt_take", table, indices);
}

xt_tensor ops_take(const xt_src *src, const char *what, xt_tensor table, xt_tensor indices) {
    ir_builder *b = lazy_begin(src);
    ir_value *x = lazy_value(table), *at = lazy_value(indices);
    if (!x || !at) return lazy_wrap(NULL, what);
    const ir_type *tx = x->type, *ti = at->type;
    ops_text sx, si;
    if (tx->rank < 1 || tx->dims[0] < 1 || !ir_dtype_is_int(ti->dtype) || tx->rank - 1 + ti->rank > XT_MAX_RANK)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: table %s and indices %s %s: a table with rows, integer indices, and at most %d dims in "
                          "the result",
                          what, ops_shape(tx, &sx), xt_dtype_name(ti->dtype), ops_shape(ti, &si), XT_MAX_RANK);
    if (!lazy_index_fits(src, what, tx->dims[0], false, at)) return lazy_failed_tensor(src);
    int64_t offset[XT_MAX_RANK], sizes[XT_MAX_RANK], zero = 0;
    for (uint32_t i = 0; i + 1 < tx->rank; i++) offset[i] = (int64_t)(ti->rank + i);
    memcpy(sizes, tx->dims, tx->rank * sizeof *sizes);
    sizes[0] = 1;
    ir_gather_dims d = {.n_offset = tx->rank - 1,
                        .offset = offset,
                        .n_collapsed = 1,
                        .collapsed = &zero,
                        .n_index_map = 1,
                        .index_map = &zero,
                        .index_vector_dim = (int64_t)ti->rank};
    return lazy_wrap(ops_gather(b, x, at, &d, sizes), what);
}
