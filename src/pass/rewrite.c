/* See rewrite.h. A replacement may itself be replaced later; chains are followed to their end. */
#include "pass/rewrite.h"

void rewriter_deinit(rewriter *r) {
    base_free(r->to);
}

static ir_value *target(const rewriter *r, const ir_value *v) {
    return v->mark >> 32 == r->epoch >> 32 ? r->to[(uint32_t)v->mark] : NULL;
}

bool rewrite_value(rewriter *r, ir_value *old, ir_value *with) {
    if (old == with) return true;
    if (r->n >= UINT32_MAX || !VEC_PUSH(r->to, r->n, r->cap, with)) return false;
    old->mark = r->epoch | (r->n - 1);
    return true;
}

bool rewrite_operands(rewriter *r, ir_op *op) {
    bool changed = false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        ir_value *v = op->in[i];
        for (ir_value *next; (next = target(r, v));) v = next;
        if (v == op->in[i]) continue;
        ir_set_operand(op, i, v);
        changed = true;
    }
    return changed;
}

static xt_status walk(rewriter *r, pass_ctx *c, ir_block *b, rewrite_visit visit, void *user) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        c->changed |= rewrite_operands(r, op);
        for (uint32_t i = 0; i < op->n_regions; i++) XT_TRY(walk(r, c, op->regions[i].block, visit, user));
        XT_TRY(visit(r, c, op, user));
    }
    return NULL;
}

xt_status rewrite_module(rewriter *r, pass_ctx *c, ir_module *m, rewrite_visit visit, void *user) {
    for (ir_func *f = m->funcs; f; f = f->next) XT_TRY(walk(r, c, f->body, visit, user));
    return NULL;
}

bool pass_constant(const ir_value *v, pass_literal *out) {
    bool repeated = false;
    while (v->def &&
           (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape || v->def->code == OP_broadcast)) {
        v = v->def->in[0];
        repeated = true;
    }
    const ir_literal *lit = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    if (!lit || lit->type->count == 0) return false;
    *out = (pass_literal){lit, lit->splat || lit->type->count == 1};
    return out->splat || !repeated;
}
