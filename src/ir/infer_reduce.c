/* Rules of ops that carry a computation over scalars: reductions, windows, map, sort. */
#include "ir/infer.h"

/* N inputs and N initial values: inputs of one shape, each initial value a scalar of its input's element type. */
static xt_status check_reduced(const ir_op *op, int c_shape, int c_dtype, int c_count, size_t *out_n) {
    size_t n = op->n_in / 2;
    if (!n || op->n_in % 2)
        return infer_fail(op, c_count, "%u operands given, expected as many initial values as inputs", op->n_in);
    for (size_t i = 0; i < n; i++) {
        const ir_type *x = infer_in(op, i), *init = infer_in(op, n + i);
        if (!infer_same_shape(x, infer_in(op, 0)))
            return infer_fail(op, c_shape, "input %zu has another shape than input 0", i);
        if (init->rank || !infer_same_element(init, x))
            return infer_fail(op, c_dtype, "initial value %zu must be a scalar of %s", i, ir_dtype_mlir(x->dtype));
    }
    *out_n = n;
    return NULL;
}

/* Results of one shape, element types from the computation. Many results are rare: 16 without an allocation. */
static xt_status reduced_results(const ir_op *op, int c, size_t n, size_t rank, const int64_t *dims,
                                 const ir_type **out, size_t *n_out) {
    xt_dtype small[16], *types = n <= 16 ? small : base_calloc(n, sizeof *types);
    if (!types) return status_oom(n * sizeof *types, "result types");
    xt_status s = infer_reducer(op, c, 0, n, 0, types);
    for (size_t i = 0; !s && i < n; i++) s = infer_tensor(op, types[i], rank, dims, &out[i]);
    *n_out = n;
    if (types != small) base_free(types);
    return s;
}

RULE(reduce) {
    size_t n, n_dims, rank = 0;
    const int64_t *axes;
    int64_t dims[IR_MAX_RANK];
    XT_TRY(check_reduced(op, 1, 2, 3, &n));
    const ir_type *x = infer_in(op, 0);
    XT_TRY(infer_ints(op, IR_A_dimensions, &axes, &n_dims));
    XT_TRY(infer_axes(op, 4, IR_A_dimensions, axes, n_dims, x->rank));
    XT_TRY(infer_unique(op, 5, IR_A_dimensions, axes, n_dims));
    for (uint32_t i = 0; i < x->rank; i++)
        if (!infer_has(axes, n_dims, i)) dims[rank++] = x->dims[i];
    return reduced_results(op, 6, n, rank, dims, out, n_out);
}

/* A window that no program can mean: text of a few bytes must not ask for years of work or memory. */
static xt_status sane_window(const ir_op *op, int c, const int64_t *size, size_t rank) {
    double places = 1;
    for (size_t i = 0; i < rank; i++) places *= (double)size[i];
    return places <= 1e12 ? NULL : infer_fail(op, c, "a window of %.3g places is larger than any tensor", places);
}

RULE(reduce_window) {
    size_t n, n_size, n_pad;
    int64_t dims[IR_MAX_RANK];
    infer_window w = {0};
    XT_TRY(check_reduced(op, 2, 3, 1, &n));
    const ir_type *x = infer_in(op, 0);
    size_t rank = x->rank;
    XT_TRY(infer_ints(op, IR_A_window_dimensions, &w.size, &n_size));
    if (n_size != rank) return infer_fail(op, 4, "window_dimensions has %zu entries, expected %zu", n_size, rank);
    XT_TRY(infer_at_least(op, 5, IR_A_window_dimensions, w.size, rank, 1));
    XT_TRY(sane_window(op, 5, w.size, rank));
    XT_TRY(infer_list(op, 6, IR_A_window_strides, rank, &w.stride));
    XT_TRY(infer_at_least(op, 7, IR_A_window_strides, w.stride, rank, 1));
    XT_TRY(infer_list(op, 8, IR_A_base_dilations, rank, &w.base_dilation));
    XT_TRY(infer_at_least(op, 9, IR_A_base_dilations, w.base_dilation, rank, 1));
    XT_TRY(infer_list(op, 10, IR_A_window_dilations, rank, &w.window_dilation));
    XT_TRY(infer_at_least(op, 11, IR_A_window_dilations, w.window_dilation, rank, 1));
    w.pad = ir_get_ints(op, IR_A_padding, &n_pad);
    if (w.pad && (n_pad != 2 * rank || (n_pad && ir_attr_find(op, IR_A_padding)->rank2 != 2)))
        return infer_fail(op, 12, "padding has %zu numbers, expected %zu pairs", n_pad, rank);
    for (size_t i = 0; i < rank; i++) dims[i] = infer_window_dim(&w, i, x->dims[i]);
    return reduced_results(op, 13, n, rank, dims, out, n_out);
}

RULE(select_and_scatter) {
    const ir_type *x = infer_in(op, 0), *source = infer_in(op, 1), *init = infer_in(op, 2);
    size_t n_size, n_pad, rank = x->rank;
    infer_window w = {0};
    if (!infer_same_element(source, x)) return infer_fail(op, 1, "operand and source must have the same element type");
    if (init->rank || !infer_same_element(init, x))
        return infer_fail(op, 3, "the initial value must be a scalar of %s", ir_dtype_mlir(x->dtype));
    XT_TRY(infer_ints(op, IR_A_window_dimensions, &w.size, &n_size));
    if (n_size != rank) return infer_fail(op, 4, "window_dimensions has %zu entries, expected %zu", n_size, rank);
    XT_TRY(infer_at_least(op, 5, IR_A_window_dimensions, w.size, rank, 1));
    XT_TRY(sane_window(op, 5, w.size, rank));
    XT_TRY(infer_list(op, 6, IR_A_window_strides, rank, &w.stride));
    XT_TRY(infer_at_least(op, 7, IR_A_window_strides, w.stride, rank, 1));
    w.pad = ir_get_ints(op, IR_A_padding, &n_pad);
    if (w.pad && (n_pad != 2 * rank || (n_pad && ir_attr_find(op, IR_A_padding)->rank2 != 2)))
        return infer_fail(op, 8, "padding has %zu numbers, expected %zu pairs", n_pad, rank);
    if (source->rank != rank) return infer_fail(op, 2, "source must have the operand's %zu dims", rank);
    for (size_t i = 0; i < rank; i++) {
        int64_t want = infer_window_dim(&w, i, x->dims[i]);
        if (!infer_dim_eq(source->dims[i], want))
            return infer_fail(op, 2, "source dim %zu is %lld, the windows of the operand give %lld", i,
                              (long long)source->dims[i], (long long)want);
    }
    const ir_op *ret;
    const ir_type *e = ir_element(x);
    XT_TRY(infer_region(op, 9, 0, 2, &ret));
    const ir_block *select = op->regions[0].block;
    if (select->args[0]->type != e || select->args[1]->type != e || ret->n_in != 1 ||
        ret->in[0]->type != ir_scalar(XT_BOOL))
        return infer_fail(op, 9, "the select computation must be (%s, %s) -> i1 over scalars", ir_dtype_mlir(x->dtype),
                          ir_dtype_mlir(x->dtype));
    xt_dtype t;
    XT_TRY(infer_reducer(op, 10, 1, 1, 0, &t));
    return infer_one_tensor(op, t, rank, x->dims, out, n_out);
}

RULE(map) {
    size_t n;
    const int64_t *dims;
    if (!op->n_in) return infer_fail(op, 2, "it needs at least one operand");
    const ir_type *x = infer_in(op, 0);
    for (uint32_t i = 1; i < op->n_in; i++)
        if (!infer_same_shape(infer_in(op, i), x))
            return infer_fail(op, 1, "operand %u has another shape than operand 0", i);
    XT_TRY(infer_ints(op, IR_A_dimensions, &dims, &n));
    bool all = n == x->rank;
    for (size_t i = 0; all && i < n; i++) all = dims[i] == (int64_t)i;
    if (!all)
        return infer_fail(op, 3, "dimensions = %s, expected all of 0..%u in order", infer_dims(n, dims).text, x->rank);
    const ir_op *ret;
    XT_TRY(infer_region(op, 4, 0, op->n_in, &ret));
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->regions[0].block->args[i]->type != ir_element(infer_in(op, i)))
            return infer_fail(op, 4, "argument %u of the computation must be a scalar of %s", i,
                              ir_dtype_mlir(infer_in(op, i)->dtype));
    if (ret->n_in != 1 || ret->in[0]->type->kind != IR_TENSOR || ret->in[0]->type->rank)
        return infer_fail(op, 4, "the computation must return one scalar");
    return infer_one_tensor(op, ret->in[0]->type->dtype, x->rank, x->dims, out, n_out);
}

RULE(sort) {
    if (!op->n_in) return infer_fail(op, 1, "it needs at least one operand");
    const ir_type *x = infer_in(op, 0);
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!infer_same_shape(infer_in(op, i), x))
            return infer_fail(op, 3, "operand %u has another shape than operand 0", i);
        out[i] = infer_in(op, i);
    }
    *n_out = op->n_in;
    int64_t dim = ir_get_int(op, IR_A_dimension, -1), rank = x->rank;
    if (dim < -rank || dim >= rank)
        return infer_fail(op, 4, "dimension is %lld, expected %lld <= dimension < %lld", (long long)dim,
                          (long long)-rank, (long long)rank);
    const ir_op *ret;
    XT_TRY(infer_region(op, 5, 0, 2 * (size_t)op->n_in, &ret));
    for (uint32_t i = 0; i < 2 * op->n_in; i++)
        if (op->regions[0].block->args[i]->type != ir_element(infer_in(op, i / 2)))
            return infer_fail(op, 5, "argument %u of the comparator must be a scalar of %s", i,
                              ir_dtype_mlir(infer_in(op, i / 2)->dtype));
    if (ret->n_in != 1 || ret->in[0]->type != ir_scalar(XT_BOOL))
        return infer_fail(op, 5, "the comparator must return one scalar i1");
    return NULL;
}
