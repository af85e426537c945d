/* Constants and the ops that move elements without looking at them: each works out strides and leaves the loop to
 * copy_strided. The forms with shapes given as tensors come here too: their result type says the shape. */
#include "ir/interp_int.h"

static size_t elem_size(const array *a) {
    return xt_dtype_size(a->type->dtype);
}
static char *elem_at(const array *a, int64_t i) {
    return (char *)a->data + i * (int64_t)elem_size(a);
}

/* Whole `src` into `out` from element `at` on, by given strides of out. */
static void copy_all(const array *src, const array *out, int64_t at, const int64_t *out_strides) {
    int64_t strides[INTERP_MAX_RANK];
    strides_of(src->type->rank, src->type->dims, strides);
    copy_strided(src->type->rank, src->type->dims, elem_at(out, at), out_strides, src->data, strides, elem_size(src));
}

xt_status interp_constant(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    (void)in;
    const ir_literal *lit = ir_get_literal(op);
    if (!lit) return interp_unsupported(op, "a constant without a value");
    if (lit->splat)
        fill_elems(out->data, out->type->count, lit->data, elem_size(out));
    else
        memcpy(out->data, lit->data, ir_type_bytes(out->type));
    return NULL;
}

/* One line 0, 1, 2, ... is converted, then repeated in and around. */
xt_status interp_iota(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    (void)in;
    const ir_type *t = out->type;
    size_t d = (size_t)ir_get_int(op, IR_A_iota_dimension, 0), size = elem_size(out);
    if (d >= t->rank || t->count == 0) return NULL;
    int64_t n = t->dims[d], *line;
    char *converted;
    XT_TRY(interp_temp((size_t)n, sizeof *line, &line));
    xt_status s = interp_temp((size_t)n, size, &converted);
    for (int64_t i = 0; i < n && !s; i++) line[i] = i;
    if (!s) {
        convert_elems(n, XT_I64, line, t->dtype, converted);
        int64_t strides[INTERP_MAX_RANK], from[INTERP_MAX_RANK] = {0};
        strides_of(t->rank, t->dims, strides);
        from[d] = 1;
        copy_strided(t->rank, t->dims, out->data, strides, converted, from, size);
        base_free(converted);
    }
    base_free(line);
    return s;
}

/* in -> out where operand dim k becomes result dim dims[k]; dims of size 1 stand still. */
static void broadcast(const array *in, array *out, const int64_t *dims) {
    int64_t from[INTERP_MAX_RANK], src[INTERP_MAX_RANK] = {0}, dst[INTERP_MAX_RANK];
    strides_of(in->type->rank, in->type->dims, from);
    strides_of(out->type->rank, out->type->dims, dst);
    for (uint32_t k = 0; k < in->type->rank; k++)
        if (in->type->dims[k] != 1) src[dims[k]] = from[k];
    copy_strided(out->type->rank, out->type->dims, out->data, dst, in->data, src, elem_size(in));
}

xt_status interp_broadcast_in_dim(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    broadcast(in, out, dims);
    return NULL;
}

xt_status interp_broadcast(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    (void)op;
    int64_t dims[INTERP_MAX_RANK];
    for (uint32_t k = 0; k < in->type->rank; k++) dims[k] = out->type->rank - in->type->rank + k;
    broadcast(in, out, dims);
    return NULL;
}

xt_status interp_transpose(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    size_t n;
    const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
    int64_t from[INTERP_MAX_RANK], src[INTERP_MAX_RANK], dst[INTERP_MAX_RANK];
    strides_of(in->type->rank, in->type->dims, from);
    strides_of(out->type->rank, out->type->dims, dst);
    for (size_t k = 0; k < n; k++) src[k] = from[perm[k]];
    copy_strided(n, out->type->dims, out->data, dst, in->data, src, elem_size(in));
    return NULL;
}

/* A 1-D integer operand as int64 numbers; for ops whose attributes arrive as tensors. */
static void read_ints(const array *a, int64_t *out) {
    convert_elems(a->type->count, a->type->dtype, a->data, XT_I64, out);
}

xt_status interp_slice(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *t = in->type;
    size_t n;
    int64_t given[2][INTERP_MAX_RANK], from[INTERP_MAX_RANK], dst[INTERP_MAX_RANK], at = 0;
    const int64_t *start = ir_get_ints(op, IR_A_start_indices, &n), *stride = ir_get_ints(op, IR_A_strides, &n);
    if (op->code == OP_real_dynamic_slice) {
        read_ints(&in[1], given[0]);
        read_ints(&in[3], given[1]);
        start = given[0];
        stride = given[1];
    }
    strides_of(t->rank, t->dims, from);
    strides_of(t->rank, out->type->dims, dst);
    for (uint32_t k = 0; k < t->rank; k++) {
        int64_t step = stride ? stride[k] : 1, count = out->type->dims[k];
        if (start[k] < 0 || step < 1 || (count > 0 && start[k] + (count - 1) * step >= t->dims[k]))
            return status_new(XT_OUT_OF_RANGE, NULL,
                              "slice of dim %u starts at %lld in steps of %lld and takes %lld of %lld elements", k,
                              (long long)start[k], (long long)step, (long long)count, (long long)t->dims[k]);
        at += start[k] * from[k];
        from[k] *= step;
    }
    if (out->type->count) copy_strided(t->rank, out->type->dims, out->data, dst, elem_at(in, at), from, elem_size(in));
    return NULL;
}

/* Negative edges cut: of each dim only the operand elements that land inside the result are copied. */
xt_status interp_pad(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *t = in->type;
    size_t n;
    int64_t given[3][INTERP_MAX_RANK], from[INTERP_MAX_RANK], dst[INTERP_MAX_RANK], dims[INTERP_MAX_RANK], src_at = 0,
                                                                                                           dst_at = 0;
    const int64_t *low = ir_get_ints(op, IR_A_edge_padding_low, &n),
                  *interior = ir_get_ints(op, IR_A_interior_padding, &n);
    if (op->code == OP_dynamic_pad) {
        for (int k = 0; k < 3; k++) read_ints(&in[2 + k], given[k]);
        low = given[0];
        interior = given[2];
    }
    fill_elems(out->data, out->type->count, in[1].data, elem_size(out));
    strides_of(t->rank, t->dims, from);
    strides_of(t->rank, out->type->dims, dst);
    for (uint32_t k = 0; k < t->rank; k++) {
        int64_t step = (interior ? interior[k] : 0) + 1, lo = low ? low[k] : 0;
        int64_t first = lo < 0 ? (-lo + step - 1) / step : 0; /* first operand element at a place >= 0 */
        int64_t room = out->type->dims[k] - 1 - lo; /* places i*step <= room fit */
        int64_t last = room < 0 ? -1 : room / step < t->dims[k] - 1 ? room / step : t->dims[k] - 1;
        if (last < first) return NULL;
        dims[k] = last - first + 1;
        src_at += first * from[k];
        dst_at += (lo + first * step) * dst[k];
        dst[k] *= step;
    }
    copy_strided(t->rank, dims, elem_at(out, dst_at), dst, elem_at(in, src_at), from, elem_size(in));
    return NULL;
}

xt_status interp_concatenate(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    size_t d = (size_t)ir_get_int(op, IR_A_dimension, 0);
    int64_t dst[INTERP_MAX_RANK], at = 0;
    strides_of(out->type->rank, out->type->dims, dst);
    for (uint32_t j = 0; j < op->n_in; j++) {
        if (in[j].type->count) copy_all(&in[j], out, at * dst[d], dst);
        at += in[j].type->dims[d];
    }
    return NULL;
}

xt_status interp_reverse(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *t = in->type;
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    int64_t src[INTERP_MAX_RANK], dst[INTERP_MAX_RANK], at = 0;
    strides_of(t->rank, t->dims, src);
    strides_of(t->rank, t->dims, dst);
    if (!t->count) return NULL;
    for (size_t k = 0; k < n; k++) {
        at += src[dims[k]] * (t->dims[dims[k]] - 1);
        src[dims[k]] = -src[dims[k]];
    }
    copy_strided(t->rank, t->dims, out->data, dst, elem_at(in, at), src, elem_size(in));
    return NULL;
}

xt_status interp_get_dimension_size(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    array_set(out, 0, (double)in->type->dims[ir_get_int(op, IR_A_dimension, 0)]);
    return NULL;
}
