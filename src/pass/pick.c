/* See pick.h. What is followed: elementwise ops whose operands are as large as their result (or scalars), constants of
 * one value, and broadcasts of what has one element for all that could be picked from a row. Where an operand can be
 * neither followed nor picked from, the op's own result is taken from memory if it has another reader, for whom it is
 * there: a sum with a bias along the classes, say. */
#include "pass/pick.h"

enum { DEPTH = 10 };

const ir_literal *pick_splat(const ir_value *v) {
    while (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape)) v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    return l && (l->splat || l->type->count == 1) ? l : NULL;
}

void pick_undo(pick *p, size_t n_made) {
    while (p->n_made > n_made) ir_erase(p->made[--p->n_made]);
}

static ir_value *make(pick *p, ir_opcode code, size_t n_in, ir_value *const *in, size_t n_attrs, const ir_attr *attrs,
                      const ir_type *t) {
    if (p->n_made == PICK_MOST_OPS || !t) return NULL;
    ir_op *op = ir_build(p->b, code, n_in, in, n_attrs, attrs, 0, NULL, 1, &t);
    if (!op) return NULL;
    p->made[p->n_made++] = op;
    return &op->out[0];
}

static ir_value *splat(pick *p, xt_dtype dtype, const void *one) {
    const ir_type *t = ir_with_dtype(p->rows, dtype);
    if (!t) return NULL;
    ir_attr value = ir_attr_dense(p->b, IR_A_value, t, one, true);
    return p->b->status ? NULL : make(p, OP_constant, 0, NULL, 1, &value, t);
}

/* A broadcast whose source has one element for all that could be picked: its dims of more than one element are dims
 * of the rows. */
static ir_value *spread(pick *p, const ir_op *op) {
    size_t n, kept = 0;
    const int64_t *at = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    ir_value *x = op->in[0];
    const ir_type *t = x->type, *rows = p->rows;
    int64_t dims[IR_MAX_RANK], where[IR_MAX_RANK];
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        if (t->dims[i] == 1) continue;
        int64_t to = p->to[at[i]];
        if (to < 0 || rows->dims[to] != t->dims[i] || (kept && to <= where[kept - 1])) return NULL;
        dims[kept] = t->dims[i];
        where[kept++] = to;
    }
    if (kept < n) {
        const ir_type *small = ir_tensor(t->dtype, (uint32_t)kept, dims);
        if (!(x = make(p, OP_reshape, 1, &x, 0, NULL, small))) return NULL;
    }
    for (size_t i = 0; i < kept; i++) same &= where[i] == (int64_t)i;
    if (same && kept == rows->rank) return x;
    ir_attr a = ir_attr_ints(p->b, IR_A_broadcast_dimensions, kept, where);
    return p->b->status ? NULL : make(p, OP_broadcast_in_dim, 1, &x, 1, &a, ir_with_dtype(rows, t->dtype));
}

static bool can_follow(const ir_value *v) {
    const ir_op *op = v->def;
    if (!(ir_op_infos[op->code].flags & IR_ELEMENTWISE) || op->n_in > 3 || op->n_out != 1 || op->n_regions)
        return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->rank && op->in[i]->type->rank != v->type->rank) return false;
    return true;
}

static ir_value *value(pick *p, ir_value *v, int depth);

static ir_value *follow(pick *p, ir_value *v, int depth) {
    const ir_op *op = v->def;
    ir_value *in[3];
    if (op->code == OP_select && p->mask && op->in[0] == p->mask) return value(p, op->in[p->mask_is ? 1 : 2], depth);
    for (uint32_t i = 0; i < op->n_in; i++) {
        in[i] = op->in[i]->type->rank ? value(p, op->in[i], depth - 1) : op->in[i];
        if (!in[i]) return NULL;
    }
    return make(p, op->code, op->n_in, in, op->n_attrs, op->attrs, ir_with_dtype(p->rows, v->type->dtype));
}

static ir_value *value(pick *p, ir_value *v, int depth) {
    const ir_literal *l = pick_splat(v);
    size_t made = p->n_made;
    if (p->mask && v == p->mask) return splat(p, XT_BOOL, &p->mask_is);
    if (l && l->type->dtype == v->type->dtype) return splat(p, l->type->dtype, l->data);
    if (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_iota)) { /* no loop has these in memory */
        ir_value *small = v->def->code == OP_iota ? NULL : spread(p, v->def);
        if (!small) pick_undo(p, made);
        return small;
    }
    if (v->def && can_follow(v)) {
        ir_value *small = depth > 0 ? follow(p, v, depth) : NULL;
        if (small) return small;
        pick_undo(p, made);
        if (v->uses < 2 || p->b->status) return NULL;
    }
    if (!p->leaf || p->n_made == PICK_MOST_OPS) return NULL;
    ir_value *small = p->leaf(p, v);
    if (small) p->made[p->n_made++] = small->def;
    return small;
}

ir_value *pick_value(pick *p, ir_value *whole) {
    size_t made = p->n_made;
    ir_value *v = value(p, whole, DEPTH);
    if (!v) pick_undo(p, made);
    return v;
}
