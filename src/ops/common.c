/* Operands of the public tensor ops: promotion, broadcasting, axes, and how shapes read in messages. */
#include "ops/number.h"

#include <limits.h>

const char *ops_dims(size_t rank, const int64_t *dims, ops_text *buf) {
    size_t n = 0;
    if (rank > INT_MAX) rank = 0; /* a caller's count below 0 */
    buf->s[n++] = '[';
    for (size_t i = 0; i < rank && n + 24 < sizeof buf->s; i++)
        n += (size_t)snprintf(buf->s + n, sizeof buf->s - n, "%s%lld", i ? "," : "",
                              dims[i] == XT_DIMS_END_ ? 0 : (long long)dims[i]);
    buf->s[n++] = ']';
    buf->s[n] = 0;
    return buf->s;
}

const char *ops_shape(const ir_type *t, ops_text *buf) {
    return ops_dims(t->rank, t->dims, buf);
}

bool ops_axis(const xt_src *src, const char *what, const ir_type *t, int axis, int64_t *out_axis, xt_tensor *out) {
    int64_t rank = (int64_t)t->rank, a = axis < 0 ? axis + rank : axis;
    if (a >= 0 && a < rank) {
        *out_axis = a;
        return true;
    }
    ops_text shape;
    if (rank == 0)
        *out = lazy_error(src, XT_OUT_OF_RANGE, "%s: axis %d of a tensor without dims", what, axis);
    else
        *out = lazy_error(src, XT_OUT_OF_RANGE, "%s: axis %d of %s: axes run from %lld to %lld", what, axis,
                          ops_shape(t, &shape), (long long)-rank, (long long)rank - 1);
    return false;
}

int ops_rank(const int64_t *dims) {
    int n = 0;
    while (n < XT_MAX_RANK && dims[n] != 0) n++;
    return n;
}

/* --- promotion --- */
static int category(xt_dtype t) {
    return t == XT_BOOL ? 0 : ir_dtype_is_int(t) ? 1 : ir_dtype_is_float(t) ? 2 : 3;
}

int ops_bits(xt_dtype t) {
    switch (t) {
    case XT_I1:
    case XT_U1: return 1;
    case XT_I2:
    case XT_U2: return 2;
    case XT_I4:
    case XT_U4: return 4;
    default: return 8 * (int)xt_dtype_size(t);
    }
}

/* Two integer types: the wider one of equal signedness; else the narrowest signed type that holds both (i64
 * beside u64). */
static xt_dtype promote_ints(xt_dtype a, xt_dtype b) {
    if (ir_dtype_is_signed(a) == ir_dtype_is_signed(b)) return ops_bits(a) >= ops_bits(b) ? a : b;
    xt_dtype s = ir_dtype_is_signed(a) ? a : b, u = ir_dtype_is_signed(a) ? b : a;
    if (ops_bits(s) > ops_bits(u)) return s;
    return ops_bits(u) < 8 ? XT_I8 : ops_bits(u) == 8 ? XT_I16 : ops_bits(u) == 16 ? XT_I32 : XT_I64;
}

static xt_dtype promote_floats(xt_dtype a, xt_dtype b) {
    if (a == b) return a;
    if (ops_bits(a) != ops_bits(b)) return ops_bits(a) > ops_bits(b) ? a : b;
    return XT_F32; /* f16 beside bf16, or two 8-bit formats: neither holds the other */
}

static xt_dtype promote_dtypes(xt_dtype a, xt_dtype b) {
    int ca = category(a), cb = category(b);
    if (ca < cb) return promote_dtypes(b, a);
    if (ca == 3) return a == XT_C128 || b == XT_C128 || b == XT_F64 ? XT_C128 : XT_C64;
    if (ca != cb) return a;
    return ca == 0 ? XT_BOOL : ca == 1 ? promote_ints(a, b) : promote_floats(a, b);
}

xt_dtype ops_promote(const ir_type *a, const ir_type *b) {
    if (a->dtype == b->dtype) return a->dtype;
    int ca = category(a->dtype), cb = category(b->dtype);
    if (a->rank == 0 && b->rank > 0 && ca <= cb) return b->dtype;
    if (b->rank == 0 && a->rank > 0 && cb <= ca) return a->dtype;
    return promote_dtypes(a->dtype, b->dtype);
}

ir_value *ops_float(ir_builder *b, ir_value *x) {
    if (!x || ir_dtype_is_float(x->type->dtype) || ir_dtype_is_complex(x->type->dtype)) return x;
    return ir_convert(b, x, XT_F32);
}

ir_value *ops_widen(ir_builder *b, ir_value *x) {
    return x && ir_dtype_is_float(x->type->dtype) && xt_dtype_size(x->type->dtype) < 4 ? ir_convert(b, x, XT_F32) : x;
}

/* Truth values stay what they are. */
ir_value *ops_narrow(ir_builder *b, ir_value *x, xt_dtype t) {
    bool widened = x && x->type->dtype == XT_F32 && ir_dtype_is_float(t) && xt_dtype_size(t) < 4;
    return widened ? ir_convert(b, x, t) : x;
}

ir_value *ops_bool(ir_builder *b, ir_value *x) {
    if (!x || x->type->dtype == XT_BOOL) return x;
    return ir_compare(b, IR_NE, x, ir_splat(b, x->type, 0));
}

/* --- broadcasting --- */
bool ops_common_dims(const ir_type *a, const ir_type *b, size_t *rank, int64_t *dims, size_t *bad) {
    size_t n = a->rank > b->rank ? a->rank : b->rank;
    *rank = n;
    for (size_t i = 0; i < n; i++) {
        int64_t da = i + a->rank >= n ? a->dims[i + a->rank - n] : 1,
                db = i + b->rank >= n ? b->dims[i + b->rank - n] : 1;
        if (da != db && da != 1 && db != 1) {
            *bad = i;
            return false;
        }
        dims[i] = da == 1 ? db : da;
    }
    return true;
}

static bool same_dims(const ir_type *t, size_t rank, const int64_t *dims) {
    return t->rank == rank && (rank == 0 || memcmp(t->dims, dims, rank * sizeof *dims) == 0);
}

ir_value *ops_broadcast(ir_builder *b, ir_value *x, size_t rank, const int64_t *dims) {
    if (!x || same_dims(x->type, rank, dims)) return x;
    int64_t axes[XT_MAX_RANK];
    for (size_t i = 0; i < x->type->rank; i++) axes[i] = (int64_t)(rank - x->type->rank + i);
    return ir_broadcast_in_dim(b, x, ir_tensor(x->type->dtype, rank, dims), x->type->rank, axes);
}

bool ops_meet(const xt_src *src, const char *what, ir_builder *b, xt_dtype dtype, ir_value **x, ir_value **y,
              xt_tensor *out) {
    if (!*x || !*y) {
        *out = lazy_wrap(NULL, what);
        return false;
    }
    const ir_type *tx = (*x)->type, *ty = (*y)->type;
    size_t rank, bad = 0;
    int64_t dims[XT_MAX_RANK];
    if (!ops_common_dims(tx, ty, &rank, dims, &bad)) {
        ops_text sx, sy;
        int64_t dx = tx->dims[bad + tx->rank - rank], dy = ty->dims[bad + ty->rank - rank];
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x %s and y %s do not broadcast: %lld and %lld differ in dim %d (from the end), where "
                          "equal sizes or a 1 are needed",
                          what, ops_shape(tx, &sx), ops_shape(ty, &sy), (long long)dx, (long long)dy,
                          (int)bad - (int)rank);
        return false;
    }
    if (!dtype) dtype = ops_promote(tx, ty);
    *x = ops_broadcast(b, ir_convert(b, *x, dtype), rank, dims);
    *y = ops_broadcast(b, ir_convert(b, *y, dtype), rank, dims);
    return true;
}

ir_value *ops_copy(ir_builder *b, ir_value *x) {
    if (!x) return NULL;
    ir_op *op = ir_build(b, OP_reshape, 1, &x, 0, NULL, 0, NULL, 1, &x->type); /* ir_reshape would give x back */
    return op ? &op->out[0] : NULL;
}

/* --- contractions and sums --- */
xt_dtype ops_autocast(ir_builder *b, ir_value **x, ir_value **y) {
    xt_dtype to = lazy_autocast(), t = (*x)->type->dtype;
    if (!to || t != XT_F32 || (*y)->type->dtype != XT_F32) return t;
    *x = ir_convert(b, *x, to);
    *y = ir_convert(b, *y, to);
    return t;
}

ir_precision ops_precision(xt_dtype t) {
    return t == XT_F32 ? IR_PREC_HIGHEST : IR_PREC_DEFAULT;
}

ir_value *ops_sum(ir_builder *b, ir_value *x, size_t n, const int64_t *axes) {
    if (n == 0) return ops_copy(b, x);
    xt_dtype t = x->type->dtype;
    bool narrow = ir_dtype_is_float(t) && xt_dtype_size(t) < 4;
    ir_value *sum = ir_reduce(b, OP_add, narrow ? ir_convert(b, x, XT_F32) : x, n, axes);
    return sum && narrow ? ir_convert(b, sum, t) : sum;
}

/* --- pieces of composite ops --- */
bool ops_same_dims(const ir_type *a, const ir_type *b) {
    return same_dims(a, b->rank, b->dims);
}

ir_value *ops_part(ir_builder *b, ir_value *x, int64_t axis, int64_t start, int64_t stop) {
    int64_t first[XT_MAX_RANK + 2] = {0}, limit[XT_MAX_RANK + 2];
    if (!x) return NULL;
    memcpy(limit, x->type->dims, x->type->rank * sizeof *limit);
    first[axis] = start;
    limit[axis] = stop;
    return ir_slice(b, x, first, limit, NULL);
}

ir_value *ops_spread(ir_builder *b, ir_value *x, const ir_type *to, int64_t axis) {
    int64_t axes[XT_MAX_RANK + 2];
    size_t n = 0;
    if (!x) return NULL;
    for (int64_t i = 0; i < (int64_t)to->rank; i++)
        if (i != axis) axes[n++] = i;
    return ir_broadcast_in_dim(b, x, ir_with_dtype(to, x->type->dtype), n, axes);
}

ir_value *ops_positions(ir_builder *b, const ir_type *t, int64_t axis) {
    return ir_iota(b, ir_with_dtype(t, t->dims[axis] > INT32_MAX ? XT_I64 : XT_I32), axis);
}

bool ops_axes(const xt_src *src, const char *what, const ir_type *t, xt_list axes, size_t *n, int64_t *out_axes,
              xt_tensor *out) {
    unsigned seen = 0;
    *n = axes.n > 0 ? (size_t)axes.n : t->rank;
    if (axes.n <= 0) {
        for (size_t i = 0; i < *n; i++) out_axes[i] = (int64_t)i;
        return true;
    }
    for (size_t i = 0; i < *n; i++) {
        ops_text shape;
        int64_t a = axes.v[i] >= INT32_MIN && axes.v[i] <= INT32_MAX ? axes.v[i] : INT32_MAX;
        if (*n > t->rank && t->rank > 0) {
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d axes for %s", what, axes.n, ops_shape(t, &shape));
            return false;
        }
        if (!ops_axis(src, what, t, (int)a, &out_axes[i], out)) return false;
        if (seen & 1u << out_axes[i]) {
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: axis %lld of %s stands twice", what,
                              (long long)out_axes[i], ops_shape(t, &shape));
            return false;
        }
        seen |= 1u << out_axes[i];
    }
    return true;
}

/* Every coordinate of the place is spelled out: the index along the axis, positions along the others. */
ir_value *ops_places(ir_builder *b, const ir_type *like, const ir_type *x, int64_t axis, ir_value *index) {
    ir_value *at[XT_MAX_RANK];
    int64_t dims[XT_MAX_RANK + 1];
    bool wide = false;
    for (uint32_t i = 0; i < x->rank; i++) wide |= x->dims[i] > INT32_MAX;
    xt_dtype t = wide ? XT_I64 : XT_I32;
    memcpy(dims, like->dims, like->rank * sizeof *dims);
    dims[like->rank] = 1;
    for (int64_t i = 0; i < (int64_t)like->rank; i++) {
        ir_value *v = i == axis ? (index ? ir_convert(b, index, t) : NULL) : ir_iota(b, ir_with_dtype(like, t), i);
        at[i] = v ? ir_reshape(b, v, like->rank + 1, dims) : NULL;
        if (!at[i]) return NULL;
    }
    return like->rank == 1 ? at[0] : ir_concatenate(b, like->rank, at, (int64_t)like->rank);
}

/* An array without elements is given one along each empty dim: slices of one element do not fit into it, and none is
 * read where the result is empty too. */
ir_value *ops_gather(ir_builder *b, ir_value *x, ir_value *index, const ir_gather_dims *d, const int64_t *sizes) {
    int64_t none[XT_MAX_RANK] = {0}, behind[XT_MAX_RANK] = {0};
    if (!x || !index) return NULL;
    for (uint32_t i = 0; i < x->type->rank; i++) behind[i] = x->type->dims[i] == 0 && sizes[i] == 1;
    if (x->type->count == 0) x = ir_pad(b, x, ir_splat(b, ir_scalar(x->type->dtype), 0), none, behind, none);
    return ir_gather(b, x, index, d, sizes, false);
}

ir_value *ops_gather_axis(ir_builder *b, ir_value *x, int64_t axis, ir_value *index) {
    if (!x || !index) return NULL;
    static const int64_t ones[XT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, all[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t rank = x->type->rank;
    ir_value *at = ops_places(b, index->type, x->type, axis, index);
    ir_gather_dims d = {
        .n_collapsed = rank, .collapsed = all, .n_index_map = rank, .index_map = all, .index_vector_dim = rank};
    return ops_gather(b, x, at, &d, ones);
}

ir_value *ops_unsqueeze(ir_builder *b, ir_value *x, int64_t axis) {
    int64_t dims[XT_MAX_RANK + 2];
    if (!x) return NULL;
    for (int64_t i = 0; i <= (int64_t)x->type->rank; i++) dims[i] = i == axis ? 1 : x->type->dims[i < axis ? i : i - 1];
    return ir_reshape(b, x, x->type->rank + 1, dims);
}

ir_value *ops_squeeze(ir_builder *b, ir_value *x, int64_t axis) {
    int64_t dims[XT_MAX_RANK + 2];
    size_t n = 0;
    if (!x) return NULL;
    for (int64_t i = 0; i < (int64_t)x->type->rank; i++)
        if (i != axis) dims[n++] = x->type->dims[i];
    return ir_reshape(b, x, n, dims);
}
