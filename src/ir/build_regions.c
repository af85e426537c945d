/* Builders of ops that carry a computation: the region is made here from one binary op. */
#include "ir/build.h"

/* A block (E, E) -> E that applies `code`; OP_COUNT returns the second argument. */
static ir_block *binary_region(ir_builder *b, ir_opcode code, xt_dtype t) {
    if (b->status) return NULL;
    ir_block *block = ir_block_new(b->m);
    const ir_type *e = ir_scalar(t);
    ir_value *x = block ? ir_block_arg(b->m, block, e) : NULL, *y = x ? ir_block_arg(b->m, block, e) : NULL;
    if (!y) {
        b->status = status_oom(sizeof(ir_block), "a region");
        return NULL;
    }
    ir_builder inner = {.m = b->m, .block = block, .src = b->src, .path = b->path};
    ir_value *result = code == OP_COUNT ? y : ir_binary(&inner, code, x, y);
    ir_return(&inner, 1, &result);
    b->status = inner.status;
    return b->status ? NULL : block;
}

/* (x, y) -> x `dir` y for the first pair of 2 * n arguments of the dtypes of v: a comparator, or a selection
 * when n is 1. */
static ir_block *compare_region(ir_builder *b, ir_cmp_dir dir, size_t n, ir_value *const *v, bool total_order) {
    if (b->status) return NULL;
    ir_block *block = ir_block_new(b->m);
    for (size_t i = 0; block && i < 2 * n; i++)
        if (!ir_block_arg(b->m, block, ir_scalar(v[i / 2]->type->dtype))) block = NULL;
    if (!block) {
        b->status = status_oom(sizeof(ir_block), "a region");
        return NULL;
    }
    ir_builder inner = {.m = b->m, .block = block, .src = b->src, .path = b->path};
    ir_value *result = ir_compare(&inner, dir, block->args[0], block->args[1]);
    if (result && total_order && ir_dtype_is_float(v[0]->type->dtype)) {
        ir_op *compare = result->def; /* NaN must have its place for sorting, so the total order is compared */
        for (uint32_t i = 0; i < compare->n_attrs; i++)
            if (compare->attrs[i].key == IR_A_compare_type) compare->attrs[i].v.i = IR_CMP_TOTALORDER;
    }
    ir_return(&inner, 1, &result);
    b->status = inner.status;
    return b->status ? NULL : block;
}

static double float_extreme(xt_dtype t, bool largest) {
    double most = __builtin_inf();
    switch (t) { /* formats without an infinity end at their largest number */
    case XT_F8E4M3FN: most = 448; break;
    case XT_F8E4M3FNUZ: most = 240; break;
    case XT_F8E4M3B11FNUZ: most = 30; break;
    case XT_F8E5M2FNUZ: most = 57344; break;
    case XT_F4E2M1FN: most = 6; break;
    case XT_F6E2M3FN: most = 7.5; break;
    case XT_F6E3M2FN: most = 28; break;
    default: break;
    }
    return largest ? most : -most;
}

/* The smallest or largest value of a dtype, exactly (i64's do not fit a double). */
static ir_value *extreme(ir_builder *b, xt_dtype t, bool largest) {
    if (!ir_dtype_is_int(t)) return ir_splat(b, ir_scalar(t), t == XT_BOOL ? largest : float_extreme(t, largest));
    bool is_signed = ir_dtype_is_signed(t);
    int bits = t == XT_I2 || t == XT_U2 ? 2 : t == XT_I4 || t == XT_U4 ? 4 : (int)xt_dtype_size(t) * 8;
    uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t v = is_signed ? (largest ? all >> 1 : ~(all >> 1)) : (largest ? all : 0);
    return ir_constant(b, ir_scalar(t), &v); /* little endian: the low bytes are the narrower number */
}

static ir_value *identity_of(ir_builder *b, ir_opcode code, xt_dtype t) {
    switch (code) {
    case OP_multiply: return ir_splat(b, ir_scalar(t), 1);
    case OP_maximum: return extreme(b, t, false);
    case OP_minimum: return extreme(b, t, true);
    case OP_and: {
        uint64_t ones = t == XT_BOOL ? 1 : UINT64_MAX;
        if (t == XT_U2 || t == XT_U4) return extreme(b, t, true);
        return ir_constant(b, ir_scalar(t), &ones);
    }
    default: return ir_splat(b, ir_scalar(t), 0);
    }
}

ir_value *ir_reduce(ir_builder *b, ir_opcode code, ir_value *x, size_t n, const int64_t *dims) {
    if (!x) return NULL;
    ir_value *init = identity_of(b, code, x->type->dtype);
    ir_block *region = binary_region(b, code, x->type->dtype);
    ir_attr attr = ir_attr_ints(b, IR_A_dimensions, n, dims);
    ir_op *op = ir_build(b, OP_reduce, 2, (ir_value *[]){x, init}, 1, &attr, 1, &region, 0, NULL);
    return op ? &op->out[0] : NULL;
}

/* [n,2] pairs of two lists, NULL meaning zeros; a rank is at most IR_MAX_RANK. */
static ir_attr padding(ir_builder *b, size_t n, const int64_t *low, const int64_t *high) {
    int64_t pad[2 * IR_MAX_RANK];
    for (size_t i = 0; i < n; i++) {
        pad[2 * i] = low ? low[i] : 0;
        pad[2 * i + 1] = high ? high[i] : 0;
    }
    return ir_attr_ints2(b, IR_A_padding, n, 2, pad);
}

ir_value *ir_reduce_window(ir_builder *b, ir_opcode code, ir_value *x, const int64_t *window, const int64_t *strides,
                           const int64_t *pad_low, const int64_t *pad_high, const int64_t *base_dilation,
                           const int64_t *window_dilation) {
    if (!x) return NULL;
    size_t rank = x->type->rank;
    int64_t ones[IR_MAX_RANK];
    for (size_t i = 0; i < rank; i++) ones[i] = 1;
    ir_value *init = identity_of(b, code, x->type->dtype);
    ir_block *region = binary_region(b, code, x->type->dtype);
    ir_attr attrs[] = {ir_attr_ints(b, IR_A_window_dimensions, rank, window),
                       ir_attr_ints(b, IR_A_window_strides, rank, strides ? strides : ones),
                       ir_attr_ints(b, IR_A_base_dilations, rank, base_dilation ? base_dilation : ones),
                       ir_attr_ints(b, IR_A_window_dilations, rank, window_dilation ? window_dilation : ones),
                       padding(b, rank, pad_low, pad_high)};
    ir_op *op =
        ir_build(b, OP_reduce_window, 2, (ir_value *[]){x, init}, BASE_COUNT(attrs), attrs, 1, &region, 0, NULL);
    return op ? &op->out[0] : NULL;
}

ir_value *ir_select_and_scatter_max(ir_builder *b, ir_value *x, ir_value *source, const int64_t *window,
                                    const int64_t *strides, const int64_t *pad_low, const int64_t *pad_high) {
    if (!x || !source) return NULL;
    size_t rank = x->type->rank;
    int64_t ones[IR_MAX_RANK];
    for (size_t i = 0; i < rank; i++) ones[i] = 1;
    ir_value *zero = ir_splat(b, ir_scalar(x->type->dtype), 0);
    ir_block *regions[2] = {compare_region(b, IR_GE, 1, &x, false), binary_region(b, OP_add, x->type->dtype)};
    ir_attr attrs[] = {ir_attr_ints(b, IR_A_window_dimensions, rank, window),
                       ir_attr_ints(b, IR_A_window_strides, rank, strides ? strides : ones),
                       padding(b, rank, pad_low, pad_high)};
    ir_op *op = ir_build(b, OP_select_and_scatter, 3, (ir_value *[]){x, source, zero}, BASE_COUNT(attrs), attrs, 2,
                         regions, 0, NULL);
    return op ? &op->out[0] : NULL;
}

ir_value *ir_scatter(ir_builder *b, ir_opcode combine, ir_value *x, ir_value *indices, ir_value *updates,
                     const ir_scatter_dims *d, bool sorted, bool unique) {
    if (!x || !indices || !updates) return NULL;
    ir_block *region = binary_region(b, combine, x->type->dtype);
    ir_attr attrs[] = {
        ir_attr_ints(b, IR_A_update_window_dims, d->n_window, d->window),
        ir_attr_ints(b, IR_A_inserted_window_dims, d->n_inserted, d->inserted),
        ir_attr_ints(b, IR_A_input_batching_dims, d->n_input_batching, d->input_batching),
        ir_attr_ints(b, IR_A_scatter_indices_batching_dims, d->n_indices_batching, d->indices_batching),
        ir_attr_ints(b, IR_A_scatter_dims_to_operand_dims, d->n_scatter_to_operand, d->scatter_to_operand),
        ir_attr_int(IR_A_index_vector_dim, d->index_vector_dim),
        ir_attr_bool(IR_A_indices_are_sorted, sorted),
        ir_attr_bool(IR_A_unique_indices, unique)};
    ir_op *op =
        ir_build(b, OP_scatter, 3, (ir_value *[]){x, indices, updates}, BASE_COUNT(attrs), attrs, 1, &region, 0, NULL);
    return op ? &op->out[0] : NULL;
}

static bool give_results(const ir_op *op, size_t n, ir_value **out) {
    for (size_t i = 0; i < n; i++) out[i] = op ? &op->out[i] : NULL;
    return op;
}

bool ir_sort(ir_builder *b, size_t n, ir_value *const *x, int64_t dim, bool descending, bool stable, ir_value **out) {
    for (size_t i = 0; i < n; i++)
        if (!x[i]) return give_results(NULL, n, out);
    ir_block *region = n ? compare_region(b, descending ? IR_GT : IR_LT, n, x, true) : NULL;
    ir_attr attrs[] = {ir_attr_int(IR_A_dimension, dim), ir_attr_bool(IR_A_is_stable, stable)};
    return give_results(ir_build(b, OP_sort, n, x, BASE_COUNT(attrs), attrs, 1, &region, 0, NULL), n, out);
}

ir_op *ir_collective(ir_builder *b, ir_opcode code, ir_opcode combine, const ir_rank_groups *g, size_t n,
                     ir_value *const *x, size_t n_more, const ir_attr *more, const ir_type *const *types) {
    for (size_t i = 0; i < n; i++)
        if (!x[i]) return NULL;
    ir_block *region = combine != OP_COUNT && n ? binary_region(b, combine, x[0]->type->dtype) : NULL;
    ir_attr attrs[8];
    size_t k = 0;
    if (b->status || n_more > BASE_COUNT(attrs) - 3) return NULL;
    if (g) attrs[k++] = ir_attr_ints2(b, IR_A_replica_groups, g->n, g->size, g->ranks);
    if (g && g->channel) {
        attrs[k++] = ir_attr_int(IR_A_channel_id, g->channel);
        attrs[k++] = ir_attr_int(IR_A_channel_type, 1);
    }
    for (size_t i = 0; i < n_more; i++) attrs[k++] = more[i];
    return ir_build(b, code, n, x, k, attrs, region != NULL, &region, types ? n : 0, types);
}

/* One group of the first `members` ranks; without ranks after a failure, which the builder keeps. */
static ir_rank_groups everyone(ir_builder *b, int64_t members, int64_t channel) {
    int64_t *ids = members > 0 ? arena_alloc(b->m->mem, (size_t)members * sizeof *ids) : NULL;
    for (int64_t i = 0; ids && i < members; i++) ids[i] = i;
    if (members > 0 && !ids && !b->status) b->status = status_oom((size_t)members * sizeof *ids, "replica groups");
    return (ir_rank_groups){1, (size_t)members, ids, channel};
}

bool ir_all_reduce(ir_builder *b, ir_opcode combine, size_t n, ir_value *const *x, int64_t members, int64_t channel,
                   ir_value **out) {
    ir_rank_groups g = n && x[0] ? everyone(b, members, channel) : (ir_rank_groups){0};
    return give_results(g.ranks ? ir_collective(b, OP_all_reduce, combine, &g, n, x, 0, NULL, NULL) : NULL, n, out);
}

ir_value *ir_all_gather(ir_builder *b, ir_value *x, int64_t dim, int64_t members, int64_t channel) {
    ir_rank_groups g = x ? everyone(b, members, channel) : (ir_rank_groups){0};
    int64_t dims[IR_MAX_RANK];
    if (!g.ranks) return NULL;
    memcpy(dims, x->type->dims, x->type->rank * sizeof *dims);
    dims[dim] *= members;
    const ir_type *whole = ir_tensor(x->type->dtype, x->type->rank, dims);
    ir_attr at = ir_attr_int(IR_A_all_gather_dim, dim);
    ir_op *op = ir_collective(b, OP_all_gather, OP_COUNT, &g, 1, &x, 1, &at, &whole);
    return op ? &op->out[0] : NULL;
}
