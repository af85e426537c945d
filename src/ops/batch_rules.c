/* How ops compute all examples at once, where the examples are a new first dim (batch.h). */
#include "ops/batch.h"

enum { MOST_ATTRS = 24 };

ir_attr batch_ints(batch_call *c, ir_attr_key key, int64_t front, int64_t plus) {
    int64_t v[2 * IR_MAX_RANK + 2];
    size_t n, k = 0;
    const int64_t *old = ir_get_ints(c->op, key, &n);
    if (front >= 0) v[k++] = front;
    for (size_t i = 0; i < n && k < BASE_COUNT(v); i++) v[k++] = old[i] + plus;
    return ir_attr_ints(c->t->b, key, k, v);
}

/* The blocks of an op's regions, copied; what they read of the body is the same for all examples. */
static bool regions(batch_call *c, ir_block **out) {
    ir_builder *b = c->t->b;
    for (uint32_t r = 0; r < c->op->n_regions; r++) {
        const ir_block *from = c->op->regions[r].block;
        ir_block *to = out[r] = ir_block_new(b->m);
        for (size_t i = 0; to && i < from->n_args; i++)
            if (!ir_block_arg(b->m, to, from->args[i]->type)) return false;
        if (!to) return false;
        ir_builder in = ir_at_end(b->m, to);
        xt_status st = ir_copy_range(&in, from->first, NULL, from->n_args, from->args, to->args);
        if (st && !b->status)
            b->status = st;
        else
            xt_status_free(st);
        if (b->status) return false;
    }
    return true;
}

bool batch_build(batch_call *c, size_t n_in, ir_value *const *in, size_t n, const ir_attr *anew) {
    ir_attr attrs[MOST_ATTRS];
    ir_block *blocks[4];
    const ir_op *op = c->op;
    const ir_type **types = arena_alloc(c->t->b->m->mem, (op->n_out + 1) * sizeof *types);
    size_t k = 0;
    if (!types || op->n_attrs + n > MOST_ATTRS || op->n_regions > BASE_COUNT(blocks)) return false;
    for (size_t i = 0; i < n_in; i++)
        if (!in[i]) return false;
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        bool given = false;
        for (size_t j = 0; j < n; j++) given |= op->attrs[i].key && op->attrs[i].key == anew[j].key;
        if (!given) attrs[k++] = op->attrs[i];
    }
    for (size_t j = 0; j < n; j++) attrs[k++] = anew[j];
    for (uint32_t i = 0; i < op->n_out; i++) types[i] = batch_type(c->t, op->out[i].type);
    if (!regions(c, blocks)) return false;
    ir_op *all = ir_build(c->t->b, op->code, n_in, in, k, attrs, op->n_regions, blocks, op->n_out, types);
    for (uint32_t i = 0; all && i < op->n_out; i++) c->out[i] = &all->out[i];
    return all != NULL;
}

static ir_value *value_of(batch_call *c, uint32_t i) {
    return batch_all(c->t, c->in[i]);
}

/* All operands with the examples in front, and some attributes anew. */
static bool plain(batch_call *c, size_t n, const ir_attr *anew) {
    ir_value *in[64];
    if (c->op->n_in > BASE_COUNT(in)) return false;
    for (uint32_t i = 0; i < c->op->n_in; i++) in[i] = value_of(c, i);
    return batch_build(c, c->op->n_in, in, n, anew);
}

/* Operands without dims beside others with (a select's predicate, the bounds of clamp) are stretched where they differ
 * from example to example. */
static bool elementwise(batch_call *c) {
    ir_value *in[4];
    const ir_type *to = batch_type(c->t, c->op->out[0].type);
    if (c->op->n_in > BASE_COUNT(in)) return false;
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        bool scalar = c->op->in[i]->type->rank == 0 && to->rank > 1;
        int64_t first = 0;
        if (scalar && c->in[i].batched)
            in[i] = ir_broadcast_in_dim(c->t->b, c->in[i].v, ir_with_dtype(to, c->in[i].v->type->dtype), 1, &first);
        else
            in[i] = scalar ? c->in[i].v : value_of(c, i);
    }
    return batch_build(c, c->op->n_in, in, 0, NULL);
}

/* --- shapes --- */
static bool slice(batch_call *c) {
    size_t n;
    ir_get_ints(c->op, IR_A_strides, &n);
    ir_attr a[] = {batch_ints(c, IR_A_start_indices, 0, 0), batch_ints(c, IR_A_limit_indices, c->t->n, 0),
                   batch_ints(c, IR_A_strides, 1, 0)};
    return plain(c, n || c->op->in[0]->type->rank == 0 ? 3 : 2, a);
}

static bool pad(batch_call *c) {
    if (c->in[1].batched) return false;
    ir_attr a[] = {batch_ints(c, IR_A_edge_padding_low, 0, 0), batch_ints(c, IR_A_edge_padding_high, 0, 0),
                   batch_ints(c, IR_A_interior_padding, 0, 0)};
    return batch_build(c, 2, (ir_value *[]){c->in[0].v, c->in[1].v}, BASE_COUNT(a), a);
}

/* x with dim 0 as the dim before `dim` of one example, and joined with it. */
static ir_value *merged(ir_builder *b, ir_value *x, int64_t dim) {
    int64_t perm[IR_MAX_RANK], dims[IR_MAX_RANK];
    size_t k = 0, rank = x->type->rank;
    for (int64_t i = 1; i < (int64_t)rank; i++) {
        if (i - 1 == dim) perm[k++] = 0;
        perm[k++] = i;
    }
    for (int64_t i = 0; i < (int64_t)rank - 1; i++) dims[i] = x->type->dims[i + 1] * (i == dim ? x->type->dims[0] : 1);
    return ir_reshape(b, ir_transpose(b, x, rank, perm), rank - 1, dims);
}

static ir_value *to_front(ir_builder *b, ir_value *x, int64_t dim) {
    int64_t perm[IR_MAX_RANK];
    size_t k = 0;
    if (!x || dim == 0) return x;
    perm[k++] = dim;
    for (int64_t i = 0; i < (int64_t)x->type->rank; i++)
        if (i != dim) perm[k++] = i;
    return ir_transpose(b, x, k, perm);
}

/* The way back: the first factor of `dim`, of n, in front. */
static ir_value *split(ir_builder *b, ir_value *x, int64_t dim, int64_t n) {
    int64_t dims[IR_MAX_RANK];
    size_t k = 0;
    if (!x) return NULL;
    for (int64_t i = 0; i < (int64_t)x->type->rank; i++) {
        if (i == dim) dims[k++] = n;
        dims[k++] = x->type->dims[i] / (i == dim ? n : 1);
    }
    return to_front(b, ir_reshape(b, x, k, dims), dim);
}

/* --- products --- */
/* Where both differ from example to example the examples are a batching dim; else they are one of the free dims of
 * their operand, and come to the front. */
static bool dot_general(batch_call *c) {
    static const ir_attr_key batch_keys[2] = {IR_A_lhs_batching_dimensions, IR_A_rhs_batching_dimensions};
    static const ir_attr_key contract_keys[2] = {IR_A_lhs_contracting_dimensions, IR_A_rhs_contracting_dimensions};
    int64_t dims[4][IR_MAX_RANK];
    size_t n_batch = 0, n_contract = 0, n_precision;
    bool both = c->in[0].batched && c->in[1].batched;
    for (int i = 0; i < 2; i++) {
        const int64_t *batching = ir_get_ints(c->op, batch_keys[i], &n_batch);
        const int64_t *contract = ir_get_ints(c->op, contract_keys[i], &n_contract);
        if (both) dims[i][0] = 0;
        for (size_t k = 0; k < n_batch; k++) dims[i][k + both] = batching[k] + c->in[i].batched;
        for (size_t k = 0; k < n_contract; k++) dims[2 + i][k] = contract[k] + c->in[i].batched;
    }
    const int64_t *precision = ir_get_ints(c->op, IR_A_precision_config, &n_precision);
    if (ir_attr_find(c->op, IR_A_algorithm)) return false;
    ir_value *v = ir_dot_general(c->t->b, c->in[0].v, c->in[1].v, n_batch + both, dims[0], dims[1], n_contract, dims[2],
                                 dims[3], n_precision ? (ir_precision)precision[0] : IR_PREC_DEFAULT);
    int64_t at = both ? 0 : (int64_t)n_batch;
    if (!both && c->in[1].batched) at = (int64_t)(c->op->in[0]->type->rank - n_contract);
    c->out[0] = to_front(c->t->b, v, at);
    if (c->out[0] && c->out[0]->type->dtype != c->op->out[0].type->dtype) return false;
    return c->out[0] != NULL;
}

/* One convolution of a larger batch, of more output channels, or of as many groups as there are examples. */
static bool convolution(batch_call *c) {
    const ir_op *op = c->op;
    ir_builder *b = c->t->b;
    int64_t groups = ir_get_int(op, IR_A_feature_group_count, 1),
            batch_groups = ir_get_int(op, IR_A_batch_group_count, 1);
    bool x = c->in[0].batched, w = c->in[1].batched;
    if (batch_groups != 1 || (w && groups != 1)) return false;
    ir_value *in[2] = {c->in[0].v, c->in[1].v};
    if (x) in[0] = merged(b, in[0], ir_get_int(op, w ? IR_A_input_feature_dimension : IR_A_input_batch_dimension, 0));
    if (w) in[1] = merged(b, in[1], ir_get_int(op, IR_A_kernel_output_feature_dimension, 0));
    if (!in[0] || !in[1]) return false;
    ir_attr attrs[MOST_ATTRS];
    if (op->n_attrs > MOST_ATTRS) return false;
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        attrs[i] = op->attrs[i];
        if (attrs[i].key == IR_A_feature_group_count && x && w) attrs[i].v.i = c->t->n;
    }
    const ir_op *all = ir_build(b, OP_convolution, 2, in, op->n_attrs, attrs, 0, NULL, 0, NULL);
    int64_t at = ir_get_int(op, w ? IR_A_output_feature_dimension : IR_A_output_batch_dimension, 0);
    c->out[0] = all ? split(b, &all->out[0], at, c->t->n) : NULL;
    return c->out[0] != NULL;
}

/* --- computations --- */
static bool reduce(batch_call *c) {
    ir_value *in[32];
    uint32_t n = c->op->n_in / 2;
    if (c->op->n_in > BASE_COUNT(in)) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (c->in[n + i].batched) return false;
        in[i] = value_of(c, i);
        in[n + i] = c->in[n + i].v;
    }
    ir_attr a = batch_ints(c, IR_A_dimensions, -1, 1);
    return batch_build(c, c->op->n_in, in, 1, &a);
}

static bool windows(batch_call *c) {
    static const ir_attr_key keys[] = {IR_A_window_dimensions, IR_A_window_strides, IR_A_base_dilations,
                                       IR_A_window_dilations};
    ir_value *in[32];
    ir_attr a[BASE_COUNT(keys) + 1];
    size_t k = 0, n_pads;
    bool scatters = c->op->code == OP_select_and_scatter;
    uint32_t n = scatters ? 2 : c->op->n_in / 2;
    if (c->op->n_in > BASE_COUNT(in)) return false;
    for (uint32_t i = 0; i < c->op->n_in; i++) {
        if (i >= n && c->in[i].batched) return false;
        in[i] = i < n ? value_of(c, i) : c->in[i].v;
    }
    for (size_t i = 0; i < BASE_COUNT(keys); i++)
        if (ir_attr_find(c->op, keys[i])) a[k++] = batch_ints(c, keys[i], 1, 0);
    const int64_t *pads = ir_get_ints(c->op, IR_A_padding, &n_pads);
    int64_t more[2 * IR_MAX_RANK + 2] = {0, 0};
    if (n_pads) {
        memcpy(more + 2, pads, n_pads * sizeof *pads);
        a[k++] = ir_attr_ints2(c->t->b, IR_A_padding, n_pads / 2 + 1, 2, more);
    }
    return batch_build(c, c->op->n_in, in, k, a);
}

/* At one place for all examples; places of their own go one by one. */
static bool at_place(batch_call *c) {
    ir_value *in[IR_MAX_RANK + 3];
    bool writes = c->op->code == OP_dynamic_update_slice;
    uint32_t first = writes ? 2 : 1, k = 0;
    if (c->op->n_in <= first) return false;
    for (uint32_t i = first; i < c->op->n_in; i++)
        if (c->in[i].batched) return false;
    in[k++] = value_of(c, 0);
    if (writes) in[k++] = value_of(c, 1);
    in[k++] = ir_splat(c->t->b, c->op->in[first]->type, 0);
    for (uint32_t i = first; i < c->op->n_in; i++) in[k++] = c->in[i].v;
    ir_attr a = batch_ints(c, IR_A_slice_sizes, c->t->n, 0);
    return batch_build(c, k, in, !writes, &a);
}

static bool with_ints(batch_call *c, ir_attr_key key, int64_t front) {
    ir_attr a = batch_ints(c, key, front, 1);
    return plain(c, 1, &a);
}

static bool with_dim(batch_call *c, ir_attr_key key) {
    int64_t last = (int64_t)c->op->in[0]->type->rank - 1,
            dim = ir_get_int(c->op, key, key == IR_A_dimension ? last : 0);
    ir_attr a = ir_attr_int(key, dim < 0 ? dim : dim + 1);
    return plain(c, 1, &a);
}

bool batch_rule(batch_call *c) {
    switch (c->op->code) {
    case OP_broadcast_in_dim: return with_ints(c, IR_A_broadcast_dimensions, 0);
    case OP_transpose: return with_ints(c, IR_A_permutation, 0);
    case OP_reverse: return with_ints(c, IR_A_dimensions, -1);
    case OP_concatenate: return with_dim(c, IR_A_dimension);
    case OP_sort: return with_dim(c, IR_A_dimension);
    case OP_slice: return slice(c);
    case OP_pad: return pad(c);
    case OP_dot_general: return dot_general(c);
    case OP_convolution: return convolution(c);
    case OP_reduce: return reduce(c);
    case OP_reduce_window:
    case OP_select_and_scatter: return windows(c);
    case OP_dynamic_slice:
    case OP_dynamic_update_slice: return at_place(c);
    case OP_gather: return batch_gather(c);
    case OP_scatter: return batch_scatter(c);
    case OP_sdy_sharding_constraint: /* said of one example's dims */
    case OP_sdy_reshard: return (c->out[0] = c->in[0].v) != NULL;
    case OP_reshape:
    case OP_bitcast_convert:
    case OP_optimization_barrier:
    case OP_cholesky:
    case OP_triangular_solve:
    case OP_fft:
    case OP_chlo_top_k: return plain(c, 0, NULL);
    default: return (ir_op_infos[c->op->code].flags & IR_ELEMENTWISE) && c->op->n_out == 1 && elementwise(c);
    }
}
