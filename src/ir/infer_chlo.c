/* Rules of the chlo ops that are not simply elementwise: implicit broadcasting and top_k. */
#include "ir/infer.h"

/* Shapes broadcast as numpy's do: aligned at the last dim, or where broadcast_dimensions puts the one of lower rank; 1 stretches. */
static xt_status broadcast_shape(const ir_op *op, const ir_type *x, const ir_type *y, int64_t *dims, size_t *rank) {
    const ir_type *big = x->rank >= y->rank ? x : y, *small = x->rank >= y->rank ? y : x;
    size_t n, lead = big->rank - small->rank;
    const int64_t *axes = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (axes && n != small->rank) return infer_fail(op, 0, "broadcast_dimensions = %s, expected %u entries", infer_dims(n, axes).text, small->rank);
    if (axes) XT_TRY(infer_axes(op, 0, IR_A_broadcast_dimensions, axes, n, big->rank));
    memcpy(dims, big->dims, big->rank * sizeof *dims);
    for (uint32_t i = 0; i < small->rank; i++) {
        int64_t *d = &dims[axes ? (size_t)axes[i] : lead + i], s = small->dims[i];
        if (*d == s || s == 1) continue;
        if (*d == 1 || *d == IR_DYNAMIC)
            *d = s;
        else if (s != IR_DYNAMIC)
            return infer_fail(op, 0, "shapes %s and %s do not broadcast", infer_dims(x->rank, x->dims).text, infer_dims(y->rank, y->dims).text);
    }
    *rank = big->rank;
    return NULL;
}

static xt_status broadcast_pair(const ir_op *op, size_t i, size_t j, xt_dtype t, const ir_type **out) {
    int64_t dims[IR_MAX_RANK];
    size_t rank;
    if (infer_in(op, i)->dtype != infer_in(op, j)->dtype) return infer_fail(op, 0, "operands %zu and %zu must have the same element type", i, j);
    XT_TRY(broadcast_shape(op, infer_in(op, i), infer_in(op, j), dims, &rank));
    return infer_tensor(op, t, rank, dims, out);
}

RULE(broadcast_binary) {
    *n_out = 1;
    return broadcast_pair(op, 0, 1, infer_in(op, 0)->dtype, out);
}

RULE(broadcast_compare) {
    int64_t dir;
    XT_TRY(infer_int(op, IR_A_comparison_direction, &dir));
    *n_out = 1;
    return broadcast_pair(op, 0, 1, XT_BOOL, out);
}

RULE(broadcast_complex) {
    xt_dtype t = infer_in(op, 0)->dtype;
    if (t != XT_F32 && t != XT_F64) return infer_fail(op, 0, "element type is %s, expected f32 or f64", ir_dtype_mlir(t));
    *n_out = 1;
    return broadcast_pair(op, 0, 1, t == XT_F32 ? XT_C64 : XT_C128, out);
}

RULE(broadcast_select) {
    const ir_type *t;
    int64_t dims[IR_MAX_RANK];
    size_t rank;
    if (infer_in(op, 0)->dtype != XT_BOOL) return infer_fail(op, -1, "the predicate must be i1");
    XT_TRY(broadcast_pair(op, 1, 2, infer_in(op, 1)->dtype, &t));
    XT_TRY(broadcast_shape(op, infer_in(op, 0), t, dims, &rank));
    return infer_one_tensor(op, t->dtype, rank, dims, out, n_out);
}

RULE(constant_like) {
    const ir_attr *a = ir_attr_find(op, IR_A_value);
    if (!a) return infer_fail(op, 0, "attribute 'value' is missing");
    const ir_type *lit = a->v.dense.type, *x = infer_in(op, 0);
    if (!lit || lit->kind != IR_TENSOR || lit->rank) return infer_fail(op, 0, "the value must be a scalar");
    return infer_one_tensor(op, lit->dtype, x->rank, x->dims, out, n_out);
}

RULE(top_k) {
    const ir_type *x = infer_in(op, 0);
    int64_t k, dims[IR_MAX_RANK];
    XT_TRY(infer_int(op, IR_A_k, &k));
    if (!x->rank) return infer_fail(op, 0, "the operand needs at least one dim");
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    int64_t *last = &dims[x->rank - 1];
    if (k < 0 || (*last != IR_DYNAMIC && k > *last)) return infer_fail(op, 0, "k is %lld, the last dim %lld", (long long)k, (long long)*last);
    *last = k;
    *n_out = 2;
    XT_TRY(infer_tensor(op, x->dtype, x->rank, dims, &out[0]));
    return infer_tensor(op, XT_I32, x->rank, dims, &out[1]);
}
