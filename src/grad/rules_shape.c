/* Derivatives of the ops that move elements: each is the transposed move. */
#include "grad/grad_int.h"

xt_status grad_broadcast(grad_call *c) {
    size_t n = c->op->out[0].type->rank - c->op->in[0]->type->rank;
    int64_t *leading;
    XT_TRY(grad_ints(c, n, &leading));
    for (size_t i = 0; i < n; i++) leading[i] = (int64_t)i;
    if (c->want[0]) c->d_in[0] = n ? ir_reduce(c->b, OP_add, c->d_out[0], n, leading) : c->d_out[0];
    return NULL;
}

/* Sums over the dims that the broadcast made or stretched, then puts the rest into the operand's order. */
xt_status grad_broadcast_in_dim(grad_call *c) {
    if (!c->want[0]) return NULL;
    const ir_op *op = c->op;
    const ir_type *from = op->in[0]->type, *to = op->out[0].type;
    size_t n;
    const int64_t *placed = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    int64_t *summed, *axes, *perm;
    XT_TRY(grad_ints(c, to->rank, &summed));
    XT_TRY(grad_ints(c, to->rank, &axes));
    XT_TRY(grad_ints(c, to->rank, &perm));
    size_t n_summed = 0, n_kept = 0;
    for (int64_t i = 0; i < (int64_t)to->rank; i++) {
        int64_t axis = -1; /* the operand's axis that runs along i */
        for (size_t k = 0; k < n; k++)
            if (placed[k] == i && from->dims[k] == to->dims[i]) axis = (int64_t)k;
        if (axis < 0)
            summed[n_summed++] = i;
        else
            axes[n_kept++] = axis;
    }
    /* perm[rank of axes[k] among them] = k */
    bool in_order = true;
    for (size_t k = 0; k < n_kept; k++) {
        size_t at = 0;
        for (size_t j = 0; j < n_kept; j++) at += axes[j] < axes[k];
        perm[at] = (int64_t)k;
        in_order &= at == k;
    }
    ir_value *d = c->d_out[0];
    if (n_summed) d = ir_reduce(c->b, OP_add, d, n_summed, summed);
    if (d && !in_order) d = ir_transpose(c->b, d, n_kept, perm);
    c->d_in[0] = grad_reshape_to(c->b, d, from);
    return NULL;
}

xt_status grad_reshape(grad_call *c) {
    if (c->want[0]) c->d_in[0] = grad_reshape_to(c->b, c->d_out[0], c->op->in[0]->type);
    return NULL;
}

xt_status grad_transpose(grad_call *c) {
    if (!c->want[0]) return NULL;
    size_t n;
    const int64_t *perm = ir_get_ints(c->op, IR_A_permutation, &n);
    int64_t *inverse;
    XT_TRY(grad_ints(c, n, &inverse));
    for (size_t i = 0; i < n; i++) inverse[perm[i]] = (int64_t)i;
    c->d_in[0] = ir_transpose(c->b, c->d_out[0], n, inverse);
    return NULL;
}

xt_status grad_slice(grad_call *c) {
    if (!c->want[0]) return NULL;
    const ir_type *from = c->op->in[0]->type, *to = c->op->out[0].type;
    size_t n;
    const int64_t *start = ir_get_ints(c->op, IR_A_start_indices, &n), *stride = ir_get_ints(c->op, IR_A_strides, &n);
    if (to->count == 0) return NULL;
    int64_t *high, *interior;
    XT_TRY(grad_ints(c, from->rank, &high));
    XT_TRY(grad_ints(c, from->rank, &interior));
    for (uint32_t i = 0; i < from->rank; i++) {
        int64_t step = stride ? stride[i] : 1;
        interior[i] = step - 1;
        high[i] = from->dims[i] - (start[i] + (to->dims[i] - 1) * step + 1);
    }
    c->d_in[0] = ir_pad(c->b, c->d_out[0], grad_scalar(c->b, to->dtype, 0), start, high, interior);
    return NULL;
}

/* The operand's elements sit at low + i * (interior + 1); where low or high is negative some of them were cut away and
 * get zeros back. The padding value receives what is left of the sum. */
xt_status grad_pad(grad_call *c) {
    const ir_op *op = c->op;
    const ir_type *from = op->in[0]->type;
    ir_value *d = c->d_out[0];
    size_t n;
    const int64_t *low = ir_get_ints(op, IR_A_edge_padding_low, &n),
                  *high = ir_get_ints(op, IR_A_edge_padding_high, &n);
    const int64_t *interior = ir_get_ints(op, IR_A_interior_padding, &n);
    int64_t *grow_low, *grow_high, *zero, *start, *limit, *stride;
    XT_TRY(grad_ints(c, from->rank, &grow_low));
    XT_TRY(grad_ints(c, from->rank, &grow_high));
    XT_TRY(grad_ints(c, from->rank, &zero));
    XT_TRY(grad_ints(c, from->rank, &start));
    XT_TRY(grad_ints(c, from->rank, &limit));
    XT_TRY(grad_ints(c, from->rank, &stride));
    bool cut = false;
    for (uint32_t i = 0; i < from->rank; i++) {
        grow_low[i] = low[i] < 0 ? -low[i] : 0;
        grow_high[i] = high[i] < 0 ? -high[i] : 0;
        cut |= grow_low[i] || grow_high[i];
        stride[i] = interior[i] + 1;
        start[i] = low[i] > 0 ? low[i] : 0;
        limit[i] = from->dims[i] ? start[i] + (from->dims[i] - 1) * stride[i] + 1 : start[i];
    }
    ir_value *whole = cut ? ir_pad(c->b, d, grad_scalar(c->b, from->dtype, 0), grow_low, grow_high, zero) : d;
    ir_value *dx = ir_slice(c->b, whole, start, limit, stride);
    if (c->want[0]) c->d_in[0] = dx;
    if (c->want[1]) c->d_in[1] = ir_subtract(c->b, grad_sum_all(c->b, d), grad_sum_all(c->b, dx));
    return NULL;
}

xt_status grad_concatenate(grad_call *c) {
    const ir_op *op = c->op;
    const ir_type *whole = op->out[0].type;
    int64_t dim = ir_get_int(op, IR_A_dimension, 0), at = 0;
    int64_t *start, *limit;
    XT_TRY(grad_ints(c, whole->rank, &start));
    XT_TRY(grad_ints(c, whole->rank, &limit));
    memcpy(limit, whole->dims, whole->rank * sizeof *limit);
    for (size_t i = 0; i < op->n_in; i++) {
        start[dim] = at;
        limit[dim] = at += op->in[i]->type->dims[dim];
        if (c->want[i]) c->d_in[i] = ir_slice(c->b, c->d_out[0], start, limit, NULL);
    }
    return NULL;
}

xt_status grad_reverse_op(grad_call *c) {
    size_t n;
    const int64_t *dims = ir_get_ints(c->op, IR_A_dimensions, &n);
    if (c->want[0]) c->d_in[0] = grad_reverse_dims(c->b, c->d_out[0], n, dims);
    return NULL;
}
