/* Derivatives of collectives, and of what says how values lie over devices. Every member's loss counts, so the
 * cotangent of a result is that of the sum of all members' losses, and each op's rule is its transpose: a sum
 * over members gives every member the sum of the cotangents, gathering and scattering change places, what was
 * sent is sent back. */
#include "grad/grad_int.h"
#include "ir/sharding.h"

/* (x, y) -> x `code` y of scalars of dtype t. */
static ir_block *region_of(grad_call *c, ir_opcode code, xt_dtype t) {
    ir_builder *b = c->b;
    ir_block *block = b->status ? NULL : ir_block_new(b->m);
    ir_value *x = block ? ir_block_arg(b->m, block, ir_scalar(t)) : NULL,
             *y = x ? ir_block_arg(b->m, block, ir_scalar(t)) : NULL;
    if (!y) {
        if (!b->status) b->status = status_oom(sizeof *block, "gradients");
        return NULL;
    }
    ir_builder in = ir_at_end(b->m, block);
    in.src = b->src;
    in.path = b->path;
    ir_value *result = ir_binary(&in, code, x, y);
    ir_return(&in, 1, &result);
    b->status = in.status;
    return b->status ? NULL : block;
}

/* The collective `code` over the members of c->op, with its attributes but those of keys in `with`, which replace them.
 * Summing ones get their region. NULL after a failure, which the builder keeps. */
static ir_op *collective(grad_call *c, ir_opcode code, size_t n, ir_value *const *in, size_t n_with,
                         const ir_attr *with, size_t n_out, const ir_type *const *types) {
    const ir_op *op = c->op;
    ir_attr *attrs = arena_alloc(c->b->m->mem, (op->n_attrs + n_with + 1) * sizeof *attrs);
    size_t n_attrs = 0;
    bool sums = code == OP_all_reduce || code == OP_reduce_scatter || code == OP_collective_reduce;
    ir_block *region = sums ? region_of(c, OP_add, in[0]->type->dtype) : NULL;
    if (!attrs || (sums && !region)) {
        if (!c->b->status) c->b->status = status_oom(op->n_attrs * sizeof *attrs, "gradients");
        return NULL;
    }
    for (size_t i = 0; i < op->n_attrs; i++) {
        ir_attr_key k = op->attrs[i].key;
        if (k == IR_A_replica_groups || k == IR_A_channel_id || k == IR_A_channel_type ||
            k == IR_A_use_global_device_ids)
            attrs[n_attrs++] = op->attrs[i];
    }
    for (size_t i = 0; i < n_with; i++) attrs[n_attrs++] = with[i];
    return ir_build(c->b, code, n, in, n_attrs, attrs, sums, &region, n_out, types);
}

/* The cotangents that matter, in a row; where[k] is the operand that d[k] belongs to. */
static xt_status arriving(grad_call *c, ir_value ***d, size_t **where, size_t *n) {
    XT_TRY(grad_values(c, c->op->n_in, d));
    *where = arena_alloc(c->b->m->mem, (c->op->n_in + 1) * sizeof **where);
    if (!*where) return status_oom(sizeof **where, "gradients");
    *n = 0;
    for (size_t i = 0; i < c->op->n_out; i++)
        if (c->want[i] && c->d_out[i]) {
            (*where)[*n] = i;
            (*d)[(*n)++] = c->d_out[i];
        }
    return NULL;
}

/* All results at once by one op of the same kind: d_in[where[k]] = result k, in the operand's dtype (a computation may
 * have widened it). */
static void hand_out(grad_call *c, const ir_op *op, size_t n, const size_t *where) {
    for (size_t k = 0; op && k < n; k++)
        c->d_in[where[k]] = ir_convert(c->b, &((ir_op *)(uintptr_t)op)->out[k], c->op->in[where[k]]->type->dtype);
}

static ir_value *sum_over_members(grad_call *c, ir_value *x) {
    ir_op *sum = x ? collective(c, OP_all_reduce, 1, &x, 0, NULL, 0, NULL) : NULL;
    return sum ? &sum->out[0] : NULL;
}

/* x is this member's operand, y what all members' became, d the sum of their cotangents. The members that hold the
 * extreme share d. */
static ir_value *of_extreme(grad_call *c, ir_value *x, ir_value *y, ir_value *d) {
    ir_builder *b = c->b;
    ir_value *hit = ir_compare(b, IR_EQ, x, y), *mask = hit ? ir_convert(b, hit, d->type->dtype) : NULL,
             *holders = sum_over_members(c, mask);
    return holders ? ir_divide(b, ir_multiply(b, mask, d), holders) : NULL;
}

/* d times the product of the others' operands. Where no operand is 0 that is y / x; with one 0 among them only its
 * member has a derivative, the product of all others; with more nobody has. */
static ir_value *of_product(grad_call *c, ir_value *x, ir_value *d) {
    ir_builder *b = c->b;
    ir_block *region = region_of(c, OP_multiply, x->type->dtype);
    ir_value *one = ir_splat(b, x->type, 1), *zero = ir_splat(b, x->type, 0), *none = ir_compare(b, IR_EQ, x, zero);
    ir_value *safe = none ? ir_select(b, none, one, x) : NULL,
             *zeros = sum_over_members(c, none ? ir_convert(b, none, x->type->dtype) : NULL);
    const ir_attr *groups = ir_attr_find(c->op, IR_A_replica_groups);
    ir_op *all = safe && region && groups ? ir_build(b, OP_all_reduce, 1, &safe, 1, groups, 1, &region, 0, NULL) : NULL;
    if (!all || !zeros) return NULL;
    ir_value *p = &all->out[0], *others = ir_divide(b, p, safe);
    ir_value *alone = ir_and(b, none, ir_compare(b, IR_EQ, zeros, one));
    ir_value *factor = ir_select(b, ir_compare(b, IR_EQ, zeros, zero), others, ir_select(b, alone, p, zero));
    return ir_multiply(b, d, factor);
}

static bool has_rule(ir_opcode code) {
    return code == OP_add || code == OP_maximum || code == OP_minimum || code == OP_multiply;
}

/* The derivative of operand i, given its result and the sum of all members' cotangents, both whole. */
static void of_members(grad_call *c, ir_opcode code, size_t i, ir_value *y, ir_value *d) {
    if (!d || !y) return;
    ir_value *x = ir_convert(c->b, c->op->in[i], d->type->dtype);
    ir_value *dx = !x                    ? NULL
                   : code == OP_multiply ? of_product(c, x, d)
                                         : of_extreme(c, x, ir_convert(c->b, y, d->type->dtype), d);
    if (dx) c->d_in[i] = ir_convert(c->b, dx, c->op->in[i]->type->dtype);
}

xt_status grad_all_reduce(grad_call *c) {
    ir_opcode code = grad_region_op(c->op, 0);
    if (!has_rule(code)) return grad_refuse(c, "only sums, products, maxima and minima over members have one");
    ir_value **d;
    size_t *where, n;
    XT_TRY(arriving(c, &d, &where, &n));
    if (!n) return NULL;
    ir_op *sum = collective(c, OP_all_reduce, n, d, 0, NULL, 0, NULL);
    if (code == OP_add)
        hand_out(c, sum, n, where);
    else
        for (size_t k = 0; sum && k < n; k++)
            of_members(c, code, where[k], &((ir_op *)(uintptr_t)c->op)->out[where[k]], &sum->out[k]);
    return NULL;
}

xt_status grad_all_gather(grad_call *c) {
    ir_attr dim = ir_attr_int(IR_A_scatter_dimension, ir_get_int(c->op, IR_A_all_gather_dim, 0));
    for (size_t i = 0; i < c->op->n_in; i++) {
        if (!c->want[i] || !c->d_out[i]) continue;
        ir_op *mine = collective(c, OP_reduce_scatter, 1, &c->d_out[i], 1, &dim, 1, &c->op->in[i]->type);
        c->d_in[i] = mine ? &mine->out[0] : NULL;
    }
    return NULL;
}

/* The parts of all members, joined again. */
static ir_value *joined(grad_call *c, ir_value *part) {
    const ir_type *whole = ir_with_dtype(c->op->in[0]->type, part->type->dtype);
    ir_attr dim = ir_attr_int(IR_A_all_gather_dim, ir_get_int(c->op, IR_A_scatter_dimension, 0));
    ir_op *all = collective(c, OP_all_gather, 1, &part, 1, &dim, 1, &whole);
    return all ? &all->out[0] : NULL;
}

xt_status grad_reduce_scatter(grad_call *c) {
    ir_opcode code = grad_region_op(c->op, 0);
    if (!has_rule(code)) return grad_refuse(c, "only sums, products, maxima and minima over members have one");
    if (!c->want[0] || !c->d_out[0]) return NULL;
    ir_value *d = joined(c, c->d_out[0]);
    if (code == OP_add)
        c->d_in[0] = d ? ir_convert(c->b, d, c->op->in[0]->type->dtype) : NULL;
    else
        of_members(c, code, 0, code == OP_multiply ? d : joined(c, &((ir_op *)(uintptr_t)c->op)->out[0]), d);
    return NULL;
}

xt_status grad_all_to_all(grad_call *c) {
    ir_value **d;
    size_t *where, n;
    XT_TRY(arriving(c, &d, &where, &n));
    ir_attr back[] = {ir_attr_int(IR_A_split_dimension, ir_get_int(c->op, IR_A_concat_dimension, 0)),
                      ir_attr_int(IR_A_concat_dimension, ir_get_int(c->op, IR_A_split_dimension, 0)),
                      ir_attr_int(IR_A_split_count, ir_get_int(c->op, IR_A_split_count, 1))};
    if (n) hand_out(c, collective(c, OP_all_to_all, n, d, BASE_COUNT(back), back, 0, NULL), n, where);
    return NULL;
}

xt_status grad_collective_permute(grad_call *c) {
    ir_value **d;
    size_t *where, n, n_pairs;
    int64_t *pairs;
    const int64_t *sent = ir_get_ints(c->op, IR_A_source_target_pairs, &n_pairs);
    XT_TRY(arriving(c, &d, &where, &n));
    XT_TRY(grad_ints(c, n_pairs, &pairs));
    for (size_t i = 0; i < n_pairs; i++) pairs[i] = sent[i ^ 1];
    ir_attr back = ir_attr_ints2(c->b, IR_A_source_target_pairs, n_pairs / 2, 2, pairs);
    if (n) hand_out(c, collective(c, OP_collective_permute, n, d, 1, &back, 0, NULL), n, where);
    return NULL;
}

/* Each is the transpose of the other: the first member of a group receives the sum of what the others have, and the
 * other way round. */
static xt_status between_one_and_all(grad_call *c, ir_opcode code) {
    ir_value **d;
    size_t *where, n;
    if (ir_get_bool(c->op, IR_A_has_dynamic_root, false))
        return grad_refuse(c, "a root known only when running has none; let the first member of the group be the root");
    XT_TRY(arriving(c, &d, &where, &n));
    if (n) hand_out(c, collective(c, code, n, d, 0, NULL, 0, NULL), n, where);
    return NULL;
}

xt_status grad_collective_broadcast(grad_call *c) {
    return between_one_and_all(c, OP_collective_reduce);
}

xt_status grad_collective_reduce(grad_call *c) {
    if (grad_region_op(c->op, 0) != OP_add) return grad_refuse(c, "only sums over members have one");
    return between_one_and_all(c, OP_collective_broadcast);
}

/* A cotangent lies as its value does. */
xt_status grad_custom_call(grad_call *c) {
    xt_status s = NULL;
    if (grad_factorisation(c, &s)) return s;
    if (!ir_is_sharding(c->op))
        return grad_refuse(c, "only its author knows what it computes; record the computation as ops, or make it a "
                              "composite with a decomposition");
    c->d_in[0] = ir_annotate_sharding(c->b, c->d_out[0], ir_sharding_text(c->op->n_attrs, c->op->attrs));
    return NULL;
}
