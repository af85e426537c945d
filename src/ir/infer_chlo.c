/* Rules of the chlo ops that are not simply elementwise: implicit broadcasting and top_k. */
#include "ir/infer.h"

/* Shapes broadcast as numpy's do: aligned at the last dim, or where broadcast_dimensions puts the one of lower rank;
 * 1 stretches. */
static xt_status broadcast_shape(const ir_op *op, const ir_type *x, const ir_type *y, int64_t *dims, size_t *rank) {
    const ir_type *big = x->rank >= y->rank ? x : y, *small = x->rank >= y->rank ? y : x;
    size_t n, lead = big->rank - small->rank;
    const int64_t *axes = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (axes && n != small->rank)
        return infer_fail(op, 0, "broadcast_dimensions = %s, expected %u entries", infer_dims(n, axes).text,
                          small->rank);
    if (axes) XT_TRY(infer_axes(op, 0, IR_A_broadcast_dimensions, axes, n, big->rank));
    memcpy(dims, big->dims, big->rank * sizeof *dims);
    for (uint32_t i = 0; i < small->rank; i++) {
        int64_t *d = &dims[axes ? (size_t)axes[i] : lead + i], s = small->dims[i];
        if (*d == s || s == 1) continue;
        if (*d == 1 || *d == IR_DYNAMIC)
            *d = s;
        else if (s != IR_DYNAMIC)
            return infer_fail(op, 0, "shapes %s and %s do not broadcast", infer_dims(x->rank, x->dims).text,
                              infer_dims(y->rank, y->dims).text);
    }
    *rank = big->rank;
    return NULL;
}

static xt_status broadcast_pair(const ir_op *op, size_t i, size_t j, xt_dtype t, const ir_type **out) {
    int64_t dims[IR_MAX_RANK];
    size_t rank;
    if (infer_in(op, i)->dtype != infer_in(op, j)->dtype)
        return infer_fail(op, 0, "operands %zu and %zu must have the same element type", i, j);
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
    if (t != XT_F32 && t != XT_F64)
        return infer_fail(op, 0, "element type is %s, expected f32 or f64", ir_dtype_mlir(t));
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
    if (k < 0 || (*last != IR_DYNAMIC && k > *last))
        return infer_fail(op, 0, "k is %lld, the last dim %lld", (long long)k, (long long)*last);
    *last = k;
    *n_out = 2;
    XT_TRY(infer_tensor(op, x->dtype, x->rank, dims, &out[0]));
    return infer_tensor(op, XT_I32, x->rank, dims, &out[1]);
}

/* [b,m,k] x [g,b,k,n] -> [b,m,n] when rows are in groups; [b,m,k] x [b,k,n] -> [g,b,m,n] when the contracted dim is; a
 * plain product when a batching dim is. */
RULE(ragged_dot) {
    const ir_type *x = infer_in(op, 0), *y = infer_in(op, 1), *groups = infer_in(op, 2);
    size_t nb, nyb, nc, nyc, nr, ng, n = 0;
    const int64_t *xb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nb),
                  *yb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nyb);
    const int64_t *xc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nc),
                  *yc = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nyc);
    const int64_t *ragged = ir_get_ints(op, IR_A_lhs_ragged_dimensions, &nr),
                  *group = ir_get_ints(op, IR_A_rhs_group_dimensions, &ng);
    int64_t dims[3 * IR_MAX_RANK];
    if (nb != nyb || nc != nyc)
        return infer_fail(op, 0, "lhs and rhs have another number of batching or contracting dims");
    if (nr != 1) return infer_fail(op, 0, "lhs must have one ragged dim, %zu are named", nr);
    XT_TRY(infer_axes(op, 0, IR_A_lhs_batching_dimensions, xb, nb, x->rank));
    XT_TRY(infer_axes(op, 0, IR_A_rhs_batching_dimensions, yb, nb, y->rank));
    XT_TRY(infer_axes(op, 0, IR_A_lhs_contracting_dimensions, xc, nc, x->rank));
    XT_TRY(infer_axes(op, 0, IR_A_rhs_contracting_dimensions, yc, nc, y->rank));
    XT_TRY(infer_axes(op, 0, IR_A_lhs_ragged_dimensions, ragged, nr, x->rank));
    XT_TRY(infer_axes(op, 0, IR_A_rhs_group_dimensions, group, ng, y->rank));
    XT_TRY(infer_unique(op, 0, IR_A_lhs_batching_dimensions, xb, nb));
    XT_TRY(infer_unique(op, 0, IR_A_rhs_batching_dimensions, yb, nb));
    XT_TRY(infer_unique(op, 0, IR_A_lhs_contracting_dimensions, xc, nc));
    XT_TRY(infer_unique(op, 0, IR_A_rhs_contracting_dimensions, yc, nc));
    bool contracted = infer_has(xc, nc, ragged[0]), batched = infer_has(xb, nb, ragged[0]),
         rows = !contracted && !batched;
    if (ng != rows) return infer_fail(op, 0, "rhs has %zu group dims, expected %d", ng, rows);
    if (!ir_dtype_is_int(groups->dtype) || groups->rank != 1)
        return infer_fail(op, 0, "the group sizes must be a list of integers");
    if (rows && !infer_dim_eq(groups->dims[0], y->dims[group[0]]))
        return infer_fail(op, 0, "%lld group sizes for %lld groups of rhs", (long long)groups->dims[0],
                          (long long)y->dims[group[0]]);
    if (x->dtype != y->dtype)
        return infer_fail(op, 0, "element types differ: lhs is %s, rhs is %s", ir_dtype_mlir(x->dtype),
                          ir_dtype_mlir(y->dtype));
    for (size_t i = 0; i < nb; i++)
        if (!infer_dim_eq(x->dims[xb[i]], y->dims[yb[i]])) return infer_fail(op, 0, "batching dims differ in size");
    for (size_t i = 0; i < nc; i++)
        if (!infer_dim_eq(x->dims[xc[i]], y->dims[yc[i]])) return infer_fail(op, 0, "contracting dims differ in size");
    if (contracted) dims[n++] = groups->dims[0];
    for (size_t i = 0; i < nb; i++) dims[n++] = x->dims[xb[i]];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!infer_has(xb, nb, i) && !infer_has(xc, nc, i)) dims[n++] = x->dims[i];
    for (uint32_t i = 0; i < y->rank; i++)
        if (!infer_has(yb, nb, i) && !infer_has(yc, nc, i) && !infer_has(group, ng, i)) dims[n++] = y->dims[i];
    if (n > IR_MAX_RANK) return infer_fail(op, 0, "the result would have %zu dims", n);
    const ir_type *stated = infer_stated(op, 0);
    return infer_one_tensor(op, stated && stated->kind == IR_TENSOR ? stated->dtype : x->dtype, n, dims, out, n_out);
}

/* (inputs, initial values) -> (outputs, carries); the computation sees the inputs without the scanned dim, and gives
 * outputs without it. */
RULE(scan) {
    size_t n_seg;
    const int64_t *segments = ir_get_ints(op, IR_A_operandSegmentSizes, &n_seg);
    int64_t dim, size = ir_get_int(op, IR_A_scan_dim_size, IR_DYNAMIC), dims[IR_MAX_RANK];
    XT_TRY(infer_int(op, IR_A_dimension, &dim));
    if (!segments || n_seg != 2 || segments[0] < 0 || segments[1] < 0 || segments[0] + segments[1] != op->n_in)
        return infer_fail(op, 0, "operandSegmentSizes must count the inputs and the initial values");
    if (dim < 0) return infer_fail(op, 0, "dimension is %lld, expected at least 0", (long long)dim);
    size_t n = (size_t)segments[0], carries = (size_t)segments[1];
    const ir_op *ret;
    XT_TRY(infer_region(op, 0, 0, op->n_in, &ret));
    for (size_t i = 0; i < n; i++) {
        const ir_type *x = infer_in(op, i), *arg = op->regions[0].block->args[i]->type;
        if (dim >= x->rank) return infer_fail(op, 0, "input %zu has no dim %lld", i, (long long)dim);
        if (!infer_dim_eq(size, x->dims[dim]))
            return infer_fail(op, 0, "input %zu has %lld places, expected %lld", i, (long long)x->dims[dim],
                              (long long)size);
        if (size == IR_DYNAMIC) size = x->dims[dim];
        size_t k = 0;
        for (uint32_t d = 0; d < x->rank; d++)
            if (d != dim) dims[k++] = x->dims[d];
        const ir_type *part;
        XT_TRY(infer_tensor(op, x->dtype, k, dims, &part));
        if (!ir_type_compatible(part, arg))
            return infer_fail(op, 0, "argument %zu of the computation is no place of input %zu", i, i);
    }
    if (ret->n_in < carries)
        return infer_fail(op, 0, "the computation returns %u values, fewer than the %zu carries", ret->n_in, carries);
    size_t outputs = ret->n_in - carries;
    for (size_t i = 0; i < carries; i++) {
        const ir_type *init = infer_in(op, n + i);
        if (!ir_type_compatible(op->regions[0].block->args[n + i]->type, init) ||
            !ir_type_compatible(ret->in[outputs + i]->type, init))
            return infer_fail(op, 0, "carry %zu changes its type", i);
        out[outputs + i] = init;
    }
    for (size_t i = 0; i < outputs; i++) {
        const ir_type *t = ret->in[i]->type;
        if (t->kind != IR_TENSOR || t->rank == IR_MAX_RANK || dim > t->rank)
            return infer_fail(op, 0, "output %zu cannot have the dim %lld", i, (long long)dim);
        for (uint32_t d = 0; d <= t->rank; d++) dims[d] = d < dim ? t->dims[d] : d == dim ? size : t->dims[d - 1];
        XT_TRY(infer_tensor(op, t->dtype, t->rank + 1, dims, &out[i]));
    }
    *n_out = ret->n_in;
    return NULL;
}
