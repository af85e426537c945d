/* Rules of constants and of ops that rearrange: their results follow from operand shapes and attributes. */
#include "ir/infer.h"

RULE(constant) {
    const ir_literal *lit = ir_get_literal(op);
    if (!lit || !lit->type || lit->type->kind != IR_TENSOR || !lit->data)
        return infer_fail(op, 0, "attribute 'value' is missing");
    if (lit->type->count < 0) return infer_fail(op, 1, "a literal cannot have dynamic dims");
    return infer_one(out, n_out, lit->type);
}

RULE(iota) {
    int64_t dim;
    XT_TRY(infer_need_stated(op, 1));
    XT_TRY(infer_int(op, IR_A_iota_dimension, &dim));
    const ir_type *t = infer_stated(op, 0);
    if (t->kind != IR_TENSOR || t->dtype == XT_BOOL)
        return infer_fail(op, -1, "the result must be a tensor of numbers");
    XT_TRY(infer_axis(op, 1, IR_A_iota_dimension, dim, t->rank));
    return infer_one(out, n_out, t);
}

/* Equal widths keep the shape; a narrower result gains a last dim, a wider one loses it. */
RULE(bitcast_convert) {
    XT_TRY(infer_need_stated(op, 1));
    const ir_type *x = infer_in(op, 0), *t = infer_stated(op, 0);
    if (t->kind != IR_TENSOR) return infer_fail(op, 1, "the result must be a tensor");
    if (ir_dtype_is_complex(x->dtype) != ir_dtype_is_complex(t->dtype))
        return infer_fail(op, 2, "complex converts to complex only");
    int from = ir_dtype_bits(x->dtype), to = ir_dtype_bits(t->dtype);
    const ir_type *narrow = to < from ? t : x, *wide = to < from ? x : t;
    int ratio = to < from ? from / to : to / from;
    bool fits = narrow->rank == wide->rank + (ratio > 1) && (to < from ? from % to : to % from) == 0;
    for (uint32_t i = 0; fits && i < wide->rank; i++) fits = infer_dim_eq(narrow->dims[i], wide->dims[i]);
    if (fits && ratio > 1) fits = infer_dim_eq(narrow->dims[wide->rank], ratio);
    if (!fits)
        return infer_fail(op, 1, "%s and %s of these shapes do not hold the same bits", ir_dtype_mlir(x->dtype),
                          ir_dtype_mlir(t->dtype));
    return infer_one(out, n_out, t);
}

RULE(broadcast) {
    const ir_type *x = infer_in(op, 0);
    const int64_t *sizes;
    size_t n;
    int64_t dims[IR_MAX_RANK];
    XT_TRY(infer_ints(op, IR_A_broadcast_sizes, &sizes, &n));
    XT_TRY(infer_at_least(op, 0, IR_A_broadcast_sizes, sizes, n, 0));
    if (n + x->rank > IR_MAX_RANK) return infer_fail(op, 0, "the result would have more than %d dims", IR_MAX_RANK);
    for (size_t i = 0; i < n; i++) dims[i] = sizes[i];
    for (size_t i = 0; i < x->rank; i++) dims[n + i] = x->dims[i];
    return infer_one_tensor(op, x->dtype, n + x->rank, dims, out, n_out);
}

static xt_status check_broadcast(const ir_op *op, const ir_type *t) {
    const ir_type *x = infer_in(op, 0);
    const int64_t *dims;
    size_t n;
    XT_TRY(infer_ints(op, IR_A_broadcast_dimensions, &dims, &n));
    if (t->kind != IR_TENSOR || t->dtype != x->dtype)
        return infer_fail(op, 1, "the result must have the operand's element type");
    if (n != x->rank)
        return infer_fail(op, 2, "broadcast_dimensions = %s, expected one entry for each of %u dims",
                          infer_dims(n, dims).text, x->rank);
    XT_TRY(infer_axes(op, 3, IR_A_broadcast_dimensions, dims, n, t->rank));
    XT_TRY(infer_unique(op, 4, IR_A_broadcast_dimensions, dims, n));
    for (size_t i = 0; i < n; i++) {
        int64_t have = x->dims[i], want = t->dims[dims[i]];
        if (have != 1 && !infer_dim_eq(have, want))
            return infer_fail(op, 5,
                              "operand dim %zu is %lld and goes to result dim %lld, which is %lld; expected 1 or equal",
                              i, (long long)have, (long long)dims[i], (long long)want);
    }
    return NULL;
}

RULE(broadcast_in_dim) {
    XT_TRY(infer_need_stated(op, 1));
    XT_TRY(check_broadcast(op, infer_stated(op, 0)));
    return infer_one(out, n_out, infer_stated(op, 0));
}

RULE(concatenate) {
    int64_t dim, dims[IR_MAX_RANK];
    if (op->n_in == 0) return infer_fail(op, 3, "it needs at least one operand");
    const ir_type *first = infer_in(op, 0);
    XT_TRY(infer_int(op, IR_A_dimension, &dim));
    XT_TRY(infer_axis(op, 4, IR_A_dimension, dim, first->rank));
    memcpy(dims, first->dims, first->rank * sizeof *dims);
    for (uint32_t i = 1; i < op->n_in; i++) {
        const ir_type *t = infer_in(op, i);
        if (t->dtype != first->dtype) return infer_fail(op, 1, "operand %u has another element type than operand 0", i);
        bool same = t->rank == first->rank;
        for (uint32_t d = 0; same && d < t->rank; d++) {
            if (d == dim) continue;
            same = infer_dim_eq(t->dims[d], dims[d]);
            if (dims[d] == IR_DYNAMIC) dims[d] = t->dims[d];
        }
        if (!same) return infer_fail(op, 2, "operand %u differs from operand 0 outside dim %lld", i, (long long)dim);
        if (dims[dim] == IR_DYNAMIC || t->dims[dim] == IR_DYNAMIC)
            dims[dim] = IR_DYNAMIC;
        else if (__builtin_add_overflow(dims[dim], t->dims[dim], &dims[dim]))
            return infer_fail(op, 6, "dim %lld would overflow", (long long)dim);
    }
    return infer_one_tensor(op, first->dtype, first->rank, dims, out, n_out);
}

RULE(get_dimension_size) {
    int64_t dim;
    XT_TRY(infer_int(op, IR_A_dimension, &dim));
    XT_TRY(infer_axis(op, 1, IR_A_dimension, dim, infer_in(op, 0)->rank));
    return infer_one_tensor(op, XT_I32, 0, NULL, out, n_out);
}

RULE(set_dimension_size) {
    int64_t dim;
    XT_TRY(infer_int(op, IR_A_dimension, &dim));
    XT_TRY(infer_axis(op, 1, IR_A_dimension, dim, infer_in(op, 0)->rank));
    if (infer_in(op, 1) != ir_scalar(XT_I32)) return infer_fail(op, -2, "the size must be a scalar i32");
    return infer_one(out, n_out, infer_stated(op, 0) ? infer_stated(op, 0) : infer_in(op, 0));
}

RULE(reshape) {
    XT_TRY(infer_need_stated(op, 1));
    const ir_type *x = infer_in(op, 0), *t = infer_stated(op, 0);
    if (t->kind != IR_TENSOR || t->dtype != x->dtype)
        return infer_fail(op, 1, "the result must have the operand's element type");
    if (t->count >= 0 && x->count >= 0 && t->count != x->count)
        return infer_fail(op, 2, "%s has %lld elements, %s has %lld", infer_dims(x->rank, x->dims).text,
                          (long long)x->count, infer_dims(t->rank, t->dims).text, (long long)t->count);
    return infer_one(out, n_out, t);
}

RULE(reverse) {
    const ir_type *x = infer_in(op, 0);
    const int64_t *dims;
    size_t n;
    XT_TRY(infer_ints(op, IR_A_dimensions, &dims, &n));
    XT_TRY(infer_unique(op, 2, IR_A_dimensions, dims, n));
    XT_TRY(infer_axes(op, 3, IR_A_dimensions, dims, n, x->rank));
    return infer_one(out, n_out, x);
}

RULE(slice) {
    const ir_type *x = infer_in(op, 0);
    const int64_t *start, *limit, *stride;
    int64_t dims[IR_MAX_RANK];
    size_t ns, nl;
    XT_TRY(infer_ints(op, IR_A_start_indices, &start, &ns));
    XT_TRY(infer_ints(op, IR_A_limit_indices, &limit, &nl));
    if (ns != x->rank || nl != x->rank)
        return infer_fail(op, 2, "start_indices and limit_indices have %zu and %zu entries, expected %u", ns, nl,
                          x->rank);
    XT_TRY(infer_list(op, 2, IR_A_strides, x->rank, &stride));
    XT_TRY(infer_at_least(op, 4, IR_A_strides, stride, x->rank, 1));
    for (uint32_t i = 0; i < x->rank; i++) {
        if (start[i] < 0 || start[i] > limit[i] || (x->dims[i] != IR_DYNAMIC && limit[i] > x->dims[i]))
            return infer_fail(op, 3, "dim %u is cut from %lld to %lld, expected 0 <= start <= limit <= %lld", i,
                              (long long)start[i], (long long)limit[i], (long long)x->dims[i]);
        int64_t step = stride ? stride[i] : 1, length = limit[i] - start[i];
        dims[i] = length / step + (length % step != 0);
    }
    return infer_one_tensor(op, x->dtype, x->rank, dims, out, n_out);
}

RULE(transpose) {
    const ir_type *x = infer_in(op, 0);
    const int64_t *perm;
    int64_t dims[IR_MAX_RANK];
    size_t n;
    XT_TRY(infer_ints(op, IR_A_permutation, &perm, &n));
    if (n != x->rank)
        return infer_fail(op, 2, "permutation = %s, expected one entry for each of %u dims", infer_dims(n, perm).text,
                          x->rank);
    XT_TRY(infer_axes(op, 2, IR_A_permutation, perm, n, x->rank));
    XT_TRY(infer_unique(op, 2, IR_A_permutation, perm, n));
    for (size_t i = 0; i < n; i++) dims[i] = x->dims[perm[i]];
    return infer_one_tensor(op, x->dtype, n, dims, out, n_out);
}

static xt_status padded_dims(const ir_op *op, const int64_t *low, const int64_t *high, const int64_t *interior,
                             int64_t *dims) {
    const ir_type *x = infer_in(op, 0);
    XT_TRY(infer_at_least(op, 3, IR_A_interior_padding, interior, x->rank, 0));
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t inner;
        dims[i] = x->dims[i];
        if (dims[i] == IR_DYNAMIC) continue;
        if (__builtin_mul_overflow(dims[i] ? dims[i] - 1 : 0, interior[i], &inner) ||
            __builtin_add_overflow(dims[i], inner, &dims[i]) || __builtin_add_overflow(dims[i], low[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], high[i], &dims[i]) || dims[i] < 0)
            return infer_fail(op, 4, "dim %u of %lld cannot take padding low %lld, high %lld, interior %lld", i,
                              (long long)x->dims[i], (long long)low[i], (long long)high[i], (long long)interior[i]);
    }
    return NULL;
}

RULE(pad) {
    const ir_type *x = infer_in(op, 0), *value = infer_in(op, 1);
    const int64_t *low, *high, *interior;
    int64_t dims[IR_MAX_RANK];
    size_t nl, nh, ni;
    if (value->rank || value->dtype != x->dtype)
        return infer_fail(op, 1, "the padding value must be a scalar of the operand's element type");
    XT_TRY(infer_ints(op, IR_A_edge_padding_low, &low, &nl));
    XT_TRY(infer_ints(op, IR_A_edge_padding_high, &high, &nh));
    XT_TRY(infer_ints(op, IR_A_interior_padding, &interior, &ni));
    if (nl != x->rank || nh != x->rank || ni != x->rank)
        return infer_fail(
            op, 2,
            "edge_padding_low, edge_padding_high and interior_padding have %zu, %zu and %zu entries, expected %u", nl,
            nh, ni, x->rank);
    XT_TRY(padded_dims(op, low, high, interior, dims));
    return infer_one_tensor(op, x->dtype, x->rank, dims, out, n_out);
}

/* --- Shapes that are operands --- */
/* Operand i holds one index per dim of an n-dimensional tensor. */
static xt_status shape_operand(const ir_op *op, int c, size_t i, size_t n) {
    const ir_type *t = infer_in(op, i);
    if (t->rank != 1 || !ir_dtype_is_int(t->dtype))
        return infer_fail(op, -(int)(i + 1), "operand %zu must be a list of integers", i);
    if (t->dims[0] == IR_DYNAMIC) return infer_fail(op, c, "operand %zu must have a known length, one entry a dim", i);
    if (t->dims[0] != (int64_t)n)
        return infer_fail(op, c, "operand %zu has %lld entries, expected %zu", i, (long long)t->dims[0], n);
    return NULL;
}

static xt_status stated_like(const ir_op *op, int c, xt_dtype t, int64_t rank) {
    XT_TRY(infer_need_stated(op, 1));
    const ir_type *r = infer_stated(op, 0);
    if (r->kind != IR_TENSOR || r->dtype != t || (rank >= 0 && r->rank != rank))
        return infer_fail(op, c, "the result must be a tensor of %s with the right rank", ir_dtype_mlir(t));
    return NULL;
}

RULE(dynamic_broadcast_in_dim) {
    XT_TRY(stated_like(op, 1, infer_in(op, 0)->dtype, -1));
    XT_TRY(check_broadcast(op, infer_stated(op, 0)));
    XT_TRY(shape_operand(op, 7, 1, infer_stated(op, 0)->rank));
    size_t na, nb, nk;
    int64_t known[IR_MAX_RANK];
    if (infer_known(op, 1, known, IR_MAX_RANK, &nk)) {
        const ir_type *x = infer_in(op, 0);
        const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &na);
        XT_TRY(infer_known_shape(op, 7, nk, known));
        for (size_t i = 0; i < na; i++)
            if (x->dims[i] != 1 && !infer_dim_eq(x->dims[i], known[dims[i]]))
                return infer_fail(op, 5, "operand dim %zu is %lld and goes to a dim of %lld", i, (long long)x->dims[i],
                                  (long long)known[dims[i]]);
    }
    const int64_t *a = ir_get_ints(op, IR_A_known_expanding_dimensions, &na),
                  *b = ir_get_ints(op, IR_A_known_nonexpanding_dimensions, &nb);
    XT_TRY(infer_unique(op, 8, IR_A_known_expanding_dimensions, a, na));
    XT_TRY(infer_unique(op, 8, IR_A_known_nonexpanding_dimensions, b, nb));
    for (size_t i = 0; i < na; i++)
        if (infer_has(b, nb, a[i])) return infer_fail(op, 8, "dim %lld is said to expand and not to", (long long)a[i]);
    XT_TRY(infer_axes(op, 9, IR_A_known_expanding_dimensions, a, na, infer_in(op, 0)->rank));
    XT_TRY(infer_axes(op, 10, IR_A_known_nonexpanding_dimensions, b, nb, infer_in(op, 0)->rank));
    return infer_one(out, n_out, infer_stated(op, 0));
}

RULE(dynamic_iota) {
    int64_t dim;
    XT_TRY(infer_need_stated(op, 1));
    const ir_type *t = infer_stated(op, 0);
    if (t->kind != IR_TENSOR) return infer_fail(op, 2, "the result must be a tensor");
    XT_TRY(infer_int(op, IR_A_iota_dimension, &dim));
    XT_TRY(infer_axis(op, 1, IR_A_iota_dimension, dim, t->rank));
    XT_TRY(shape_operand(op, 2, 0, t->rank));
    size_t n;
    int64_t known[IR_MAX_RANK];
    if (infer_known(op, 0, known, IR_MAX_RANK, &n)) XT_TRY(infer_known_shape(op, 2, n, known));
    return infer_one(out, n_out, t);
}

RULE(dynamic_reshape) {
    XT_TRY(stated_like(op, 1, infer_in(op, 0)->dtype, -1));
    const ir_type *x = infer_in(op, 0), *t = infer_stated(op, 0);
    if (x->count >= 0 && t->count >= 0 && x->count != t->count)
        return infer_fail(op, 2, "the result has %lld elements, the operand %lld", (long long)t->count,
                          (long long)x->count);
    XT_TRY(shape_operand(op, 4, 1, t->rank));
    size_t n;
    int64_t known[IR_MAX_RANK], count = 1;
    if (!infer_known(op, 1, known, IR_MAX_RANK, &n)) return infer_one(out, n_out, t);
    XT_TRY(infer_known_shape(op, 3, n, known));
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(count, known[i], &count))
            return infer_fail(op, 2, "the shape %s is too large", infer_dims(n, known).text);
    if (x->count >= 0 && x->count != count)
        return infer_fail(op, 2, "the shape %s has %lld elements, the operand %lld", infer_dims(n, known).text,
                          (long long)count, (long long)x->count);
    return infer_one(out, n_out, t);
}

RULE(dynamic_pad) {
    const ir_type *x = infer_in(op, 0), *value = infer_in(op, 1);
    if (value->rank || value->dtype != x->dtype)
        return infer_fail(op, 1, "the padding value must be a scalar of the operand's element type");
    for (size_t i = 2; i < 5; i++) XT_TRY(shape_operand(op, 2, i, x->rank));
    XT_TRY(stated_like(op, 4, x->dtype, x->rank));
    size_t n;
    int64_t low[IR_MAX_RANK], high[IR_MAX_RANK], interior[IR_MAX_RANK], dims[IR_MAX_RANK];
    bool some = infer_known(op, 4, interior, IR_MAX_RANK, &n);
    if (some) XT_TRY(infer_at_least(op, 3, IR_A_interior_padding, interior, n, 0));
    if (some && infer_known(op, 2, low, IR_MAX_RANK, &n) && infer_known(op, 3, high, IR_MAX_RANK, &n)) {
        XT_TRY(padded_dims(op, low, high, interior, dims));
        for (uint32_t i = 0; i < x->rank; i++)
            if (!infer_dim_eq(dims[i], infer_stated(op, 0)->dims[i]))
                return infer_fail(op, 4, "the padded shape is %s", infer_dims(x->rank, dims).text);
    }
    return infer_one(out, n_out, infer_stated(op, 0));
}

RULE(real_dynamic_slice) {
    const ir_type *x = infer_in(op, 0);
    for (size_t i = 1; i < 4; i++) XT_TRY(shape_operand(op, 2, i, x->rank));
    XT_TRY(stated_like(op, 1, x->dtype, x->rank));
    return infer_one(out, n_out, infer_stated(op, 0));
}
