/* Derivatives of indexing: gather and scatter transpose into each other, slices at computed positions likewise, a sort
 * into the inverse permutation.
 *
 * gather moves a start index that points outside back inside; scatter drops such an update. The transposed op would
 * do the other thing, so the gradient of gather clamps the indices first and the gradient of scatter zeroes what
 * was dropped. */
#include "grad/grad_int.h"

#include "ir/interp.h"

/* A tensor of the indices' type whose components along the index vector are the largest starts at which a window of
 * `sizes` fits into x. */
static xt_status largest_starts(grad_call *c, const ir_type *x, ir_value *indices, const int64_t *along, size_t n_along,
                                int64_t vector_dim, const int64_t *sizes, ir_value **out) {
    const ir_type *t = indices->type;
    array bound = {0};
    XT_TRY(array_new(ir_tensor(t->dtype, 1, (int64_t[]){(int64_t)n_along}), &bound));
    bool same = true;
    for (size_t i = 0; i < n_along; i++) {
        double limit = (double)(x->dims[along[i]] - sizes[along[i]]);
        /* A narrow index type may not reach the end. */
        size_t bits = 8 * xt_dtype_size(t->dtype) - ir_dtype_is_signed(t->dtype);
        if (bits < 53 && limit > (double)((INT64_C(1) << bits) - 1)) limit = (double)((INT64_C(1) << bits) - 1);
        array_set(&bound, (int64_t)i, limit);
        same &= array_get(&bound, (int64_t)i) == array_get(&bound, 0);
    }
    if (n_along == 0 || same)
        *out = ir_splat(c->b, t, n_along ? array_get(&bound, 0) : 0);
    else
        *out = ir_broadcast_in_dim(c->b, ir_constant(c->b, bound.type, bound.data), t, 1, &vector_dim);
    array_free(&bound);
    return NULL;
}

xt_status grad_gather(grad_call *c) {
    if (!c->want[0]) return NULL;
    const ir_op *op = c->op;
    ir_value *x = op->in[0], *indices = op->in[1], *last;
    size_t n;
    ir_scatter_dims s = {.index_vector_dim = ir_get_int(op, IR_A_index_vector_dim, 0)};
    s.window = ir_get_ints(op, IR_A_offset_dims, &s.n_window);
    s.inserted = ir_get_ints(op, IR_A_collapsed_slice_dims, &s.n_inserted);
    s.input_batching = ir_get_ints(op, IR_A_operand_batching_dims, &s.n_input_batching);
    s.indices_batching = ir_get_ints(op, IR_A_start_indices_batching_dims, &s.n_indices_batching);
    s.scatter_to_operand = ir_get_ints(op, IR_A_start_index_map, &s.n_scatter_to_operand);
    const int64_t *sizes = ir_get_ints(op, IR_A_slice_sizes, &n);
    XT_TRY(largest_starts(c, x->type, indices, s.scatter_to_operand, s.n_scatter_to_operand, s.index_vector_dim, sizes,
                          &last));
    indices = ir_clamp(c->b, ir_splat(c->b, indices->type, 0), indices, last);
    c->d_in[0] = ir_scatter(c->b, OP_add, grad_zeros(c->b, x->type), indices, c->d_out[0], &s,
                            ir_get_bool(op, IR_A_indices_are_sorted, false), false);
    return NULL;
}

/* A scatter op taken apart, and the gather that reads where it writes. */
typedef struct scatter_parts {
    ir_value *x, *indices, *updates;
    ir_scatter_dims s;
    ir_gather_dims g;
    int64_t *sizes; /* of the window, per dim of x */
    bool sorted, unique;
} scatter_parts;

static xt_status read_scatter(grad_call *c, scatter_parts *p) {
    const ir_op *op = c->op;
    *p = (scatter_parts){.x = op->in[0], .indices = op->in[1], .updates = op->in[2]};
    ir_scatter_dims *s = &p->s;
    s->window = ir_get_ints(op, IR_A_update_window_dims, &s->n_window);
    s->inserted = ir_get_ints(op, IR_A_inserted_window_dims, &s->n_inserted);
    s->input_batching = ir_get_ints(op, IR_A_input_batching_dims, &s->n_input_batching);
    s->indices_batching = ir_get_ints(op, IR_A_scatter_indices_batching_dims, &s->n_indices_batching);
    s->scatter_to_operand = ir_get_ints(op, IR_A_scatter_dims_to_operand_dims, &s->n_scatter_to_operand);
    s->index_vector_dim = ir_get_int(op, IR_A_index_vector_dim, 0);
    p->sorted = ir_get_bool(op, IR_A_indices_are_sorted, false);
    p->unique = ir_get_bool(op, IR_A_unique_indices, false);
    p->g = (ir_gather_dims){
        .n_offset = s->n_window,
        .offset = s->window,
        .n_collapsed = s->n_inserted,
        .collapsed = s->inserted,
        .n_operand_batching = s->n_input_batching,
        .operand_batching = s->input_batching,
        .n_start_batching = s->n_indices_batching,
        .start_batching = s->indices_batching,
        .n_index_map = s->n_scatter_to_operand,
        .index_map = s->scatter_to_operand,
        .index_vector_dim = s->index_vector_dim,
    };
    size_t rank = p->x->type->rank, w = 0;
    XT_TRY(grad_ints(c, rank, &p->sizes));
    for (int64_t i = 0; i < (int64_t)rank; i++) {
        bool single = false;
        for (size_t k = 0; k < s->n_inserted; k++) single |= s->inserted[k] == i;
        for (size_t k = 0; k < s->n_input_batching; k++) single |= s->input_batching[k] == i;
        p->sizes[i] = single ? 1 : p->updates->type->dims[s->window[w++]];
    }
    return NULL;
}

static ir_value *gather_at(grad_call *c, const scatter_parts *p, ir_value *from) {
    return ir_gather(c->b, from, p->indices, &p->g, p->sizes, p->sorted);
}

/* True for the elements of updates that were not dropped. */
static xt_status inside(grad_call *c, const scatter_parts *p, ir_value **out) {
    ir_builder *b = c->b;
    ir_value *last, *idx = p->indices;
    const ir_type *u = p->updates->type;
    XT_TRY(largest_starts(c, p->x->type, idx, p->s.scatter_to_operand, p->s.n_scatter_to_operand, p->s.index_vector_dim,
                          p->sizes, &last));
    ir_value *in = ir_and(b, ir_compare(b, IR_GE, idx, ir_splat(b, idx->type, 0)), ir_compare(b, IR_LE, idx, last));
    if (p->s.index_vector_dim < (int64_t)idx->type->rank) in = ir_reduce(b, OP_and, in, 1, &p->s.index_vector_dim);
    if (!in) return NULL;
    int64_t *dims;
    XT_TRY(grad_ints(c, u->rank, &dims));
    size_t n = 0;
    for (int64_t i = 0; i < (int64_t)u->rank; i++) {
        bool window = false;
        for (size_t k = 0; k < p->s.n_window; k++) window |= p->s.window[k] == i;
        if (!window) dims[n++] = i;
    }
    *out = ir_broadcast_in_dim(b, in, ir_with_dtype(u, XT_BOOL), n, dims);
    return NULL;
}

/* Where several updates of a replacing scatter fall on one place, one wins: each update carries its number there, and
 * the one that reads its own number back has won. */
static xt_status winners(grad_call *c, const scatter_parts *p, ir_value **out) {
    ir_builder *b = c->b;
    const ir_type *u = p->updates->type;
    const ir_type *flat = ir_tensor(XT_I64, 1, &u->count);
    ir_value *number = grad_reshape_to(b, grad_plus(b, flat ? ir_iota(b, flat, 0) : NULL, 1), u);
    ir_value *places = ir_scatter(b, OP_COUNT, grad_zeros(b, ir_with_dtype(p->x->type, XT_I64)), p->indices, number,
                                  &p->s, p->sorted, p->unique);
    *out = ir_compare(b, IR_EQ, gather_at(c, p, places), number);
    return NULL;
}

/* The combining opcode; OP_COUNT when the second argument is returned (replace); -1 for anything else. */
static int scatter_kind(const ir_op *op) {
    const ir_block *body = op->n_regions ? op->regions[0].block : NULL;
    const ir_op *end = body ? ir_block_return(body) : NULL;
    if (end && body->first == end && body->n_args == 2 && end->n_in == 1 && end->in[0] == body->args[1])
        return OP_COUNT;
    ir_opcode code = grad_region_op(op, 0);
    return code == OP_COUNT ? -1 : (int)code;
}

/* What holds the extreme (the operand, each update) shares the cotangent evenly, as PyTorch's amax of a
 * scatter_reduce. */
static void scatter_extreme(grad_call *c, const scatter_parts *p, ir_value *kept) {
    ir_builder *b = c->b;
    ir_value *r = &((ir_op *)(uintptr_t)c->op)->out[0], *d = c->d_out[0];
    ir_value *x_holds = ir_compare(b, IR_EQ, p->x, r), *u_holds = ir_compare(b, IR_EQ, p->updates, gather_at(c, p, r));
    if (!x_holds || !u_holds) return;
    ir_value *x_mask = ir_convert(b, x_holds, p->x->type->dtype),
             *u_mask = ir_convert(b, ir_and(b, u_holds, kept), p->x->type->dtype);
    ir_value *holders = ir_scatter(b, OP_add, x_mask, p->indices, u_mask, &p->s, p->sorted, p->unique);
    ir_value *share = ir_divide(b, d, ir_maximum(b, holders, ir_splat(b, d->type, 1))); /* none hold a NaN */
    if (c->want[0]) c->d_in[0] = ir_multiply(b, x_mask, share);
    if (c->want[2]) c->d_in[2] = ir_multiply(b, u_mask, gather_at(c, p, share));
}

/* The operand's is multiplied likewise. An update's is d times all other factors: where indices are unique that is the
 * operand, else the product with zeros left out, over the update where no update at its place is zero; the same without
 * dividing for the only zero. */
static void scatter_product(grad_call *c, const scatter_parts *p, ir_value *kept) {
    ir_builder *b = c->b;
    ir_value *d = c->d_out[0], *u = p->updates, *zero = grad_zeros(b, u->type), *one = ir_splat(b, u->type, 1);
    if (c->want[0]) c->d_in[0] = ir_scatter(b, OP_multiply, d, p->indices, p->updates, &p->s, p->sorted, p->unique);
    if (!c->want[2]) return;
    ir_value *slope = NULL;
    if (p->unique)
        slope = gather_at(c, p, ir_multiply(b, d, p->x));
    else {
        ir_value *at_zero = ir_compare(b, IR_EQ, u, zero), *filled = ir_select(b, at_zero, one, u), *sums[2];
        ir_value *product = ir_scatter(b, OP_multiply, p->x, p->indices, filled, &p->s, p->sorted, false);
        ir_value *zeros = ir_scatter(b, OP_add, grad_zeros(b, p->x->type), p->indices, ir_select(b, at_zero, one, zero),
                                     &p->s, p->sorted, false);
        for (int n = 0; n < 2; n++) {
            ir_value *these = zeros ? ir_compare(b, IR_EQ, zeros, ir_splat(b, zeros->type, n)) : NULL;
            sums[n] = gather_at(c, p, ir_select(b, these, ir_multiply(b, d, product), grad_zeros(b, d->type)));
        }
        slope = ir_select(b, at_zero, sums[1], ir_divide(b, sums[0], filled));
    }
    c->d_in[2] = ir_select(b, kept, slope, zero);
}

xt_status grad_scatter(grad_call *c) {
    int kind = c->op->n_in == 3 ? scatter_kind(c->op) : -1;
    bool extreme = kind == OP_maximum || kind == OP_minimum;
    if (kind != OP_add && kind != OP_COUNT && kind != OP_multiply && !extreme)
        return grad_refuse(
            c, "only scatters of one tensor that add, multiply, replace, or take the larger or smaller have one");
    scatter_parts p;
    XT_TRY(read_scatter(c, &p));
    ir_builder *b = c->b;
    ir_value *d = c->d_out[0];
    if (c->want[0] && kind == OP_add) c->d_in[0] = d;
    if (c->want[0] && kind == OP_COUNT)
        c->d_in[0] = ir_scatter(b, OP_COUNT, d, p.indices, grad_zeros(b, p.updates->type), &p.s, p.sorted, p.unique);
    if (p.updates->type->count == 0) {
        if (c->want[0] && !c->d_in[0]) c->d_in[0] = d;
        return NULL;
    }
    ir_value *keep = NULL, *won = NULL;
    if (c->want[2] || extreme) XT_TRY(inside(c, &p, &keep));
    if (extreme)
        scatter_extreme(c, &p, keep);
    else if (kind == OP_multiply)
        scatter_product(c, &p, keep);
    if (!c->want[2] || extreme || kind == OP_multiply) return NULL;
    if (kind == OP_COUNT && !p.unique) {
        XT_TRY(winners(c, &p, &won));
        keep = ir_and(b, keep, won);
    }
    c->d_in[2] = ir_select(b, keep, gather_at(c, &p, d), grad_zeros(b, p.updates->type));
    return NULL;
}

xt_status grad_dynamic_slice(grad_call *c) {
    const ir_op *op = c->op;
    if (c->want[0])
        c->d_in[0] =
            ir_dynamic_update_slice(c->b, grad_zeros(c->b, op->in[0]->type), c->d_out[0], op->n_in - 1, op->in + 1);
    return NULL;
}

xt_status grad_dynamic_update_slice(grad_call *c) {
    const ir_op *op = c->op;
    const ir_type *u = op->in[1]->type;
    if (c->want[0])
        c->d_in[0] = ir_dynamic_update_slice(c->b, c->d_out[0], grad_zeros(c->b, u), op->n_in - 2, op->in + 2);
    if (c->want[1]) c->d_in[1] = ir_dynamic_slice(c->b, c->d_out[0], op->n_in - 2, op->in + 2, u->dims);
    return NULL;
}

/* Sorts again with positions carried along, then sorts the cotangents by those positions: back to where the
 * elements came from. */
xt_status grad_sort(grad_call *c) {
    const ir_op *op = c->op;
    ir_builder *b = c->b;
    const ir_type *t = op->in[0]->type, *index[2] = {ir_scalar(XT_I32), ir_scalar(XT_I32)};
    int64_t dim = ir_get_int(op, IR_A_dimension, -1);
    if (dim < 0) dim += t->rank;
    if (t->rank == 0) {
        for (size_t i = 0; i < op->n_in; i++) c->d_in[i] = c->d_out[i];
        return NULL;
    }
    ir_value **in, **moved, **back;
    XT_TRY(grad_values(c, op->n_in + 1, &in));
    XT_TRY(grad_values(c, op->n_in + 1, &moved));
    XT_TRY(grad_values(c, op->n_in + 1, &back));
    memcpy(in, op->in, op->n_in * sizeof *in);
    in[op->n_in] = ir_iota(b, ir_with_dtype(t, XT_I32), dim);
    ir_op *again = grad_clone(c, op->n_in + 1, in, 2, index);
    if (!again) return b->status ? NULL : grad_refuse(c, "its comparator could not be copied");
    size_t n = 1;
    moved[0] = &again->out[op->n_in];
    for (size_t i = 0; i < op->n_in; i++)
        if (c->want[i] && c->d_out[i]) moved[n++] = c->d_out[i];
    if (!ir_sort(b, n, moved, dim, false, false, back)) return NULL;
    n = 1;
    for (size_t i = 0; i < op->n_in; i++)
        if (c->want[i] && c->d_out[i]) c->d_in[i] = back[n++];
    return NULL;
}
