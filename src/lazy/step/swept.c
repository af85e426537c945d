/* See swept.h. */
#include "lazy/step/swept.h"

#include "lazy/step/step.h"

lazy_swept *lazy_swept_here(void) {
    static _Thread_local lazy_swept s = {.updated = -1, .mixed_step = -1};
    return &s;
}

void lazy_swept_count(const xt_src *src) {
    lazy_swept *s = lazy_swept_here();
    s->calls++;
    s->at = src_intern(src);
}

static lazy_slot *gradient_of(xt_tensor param) {
    lazy_ctx *c = lazy_ctx_there();
    const lazy_slot *s = c ? lazy_slot_of(c, param) : NULL;
    return s ? lazy_slot_of(c, s->grad) : NULL;
}

src_id lazy_swept_since(xt_tensor param, int64_t calls) {
    const lazy_slot *g = gradient_of(param);
    return g && g->swept > calls ? g->swept_at : 0;
}

void lazy_note_clipped(xt_tensor param, src_id at) {
    lazy_slot *g = gradient_of(param);
    if (g) g->clipped_at = at;
}

src_id lazy_clipped_at(xt_tensor param) {
    const lazy_slot *g = gradient_of(param);
    return g ? g->clipped_at : 0;
}

bool lazy_has_gradient(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_there();
    const lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && lazy_slot_of(c, s->grad);
}

void lazy_each_gradient(lazy_gradient_fn fn, void *user) {
    const lazy_ctx *c = lazy_ctx_there();
    for (size_t i = 0; c && i < c->n_persistent; i++) {
        uint32_t slot = c->persistent[i];
        const lazy_slot *s = &c->slots[slot];
        xt_tensor t = {slot, s->generation};
        if (s->live && s->role == LAZY_PARAMETER && lazy_has_gradient(t))
            fn(user, t, intern_text(s->name ? s->name : s->path), s->src);
    }
}

/* --- what is made of a parameter --- */
static bool reads_marked(const ir_op *op, uint64_t mark) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->mark == mark) return true;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            if (reads_marked(in, mark)) return true;
    return false;
}

typedef struct cone {
    uint64_t mark;
    bool detached; /* xt_detach ends a way on purpose */
    src_id blocked, last; /* the first op without derivative; the last op */
} cone;

static void take_in(ir_op *op, cone *k) {
    bool differentiable = false;
    if (op->user == LAZY_OP_NO_GRAD || !reads_marked(op, k->mark)) return;
    for (uint32_t i = 0; i < op->n_out; i++) {
        op->out[i].mark = k->mark;
        k->detached = k->detached || lazy_v_no_grad(&op->out[i]);
        differentiable = differentiable || grad_differentiable(op->out[i].type);
    }
    k->last = op->src;
    if (!differentiable && !k->blocked) k->blocked = op->src;
}

/* 1: a loss of this step is among what was made; 0: none is; -1: there is no loss in this step. */
static int has_loss(const lazy_ctx *c, uint64_t mark) {
    int found = -1;
    for (size_t i = 0; i < c->n_step_slots && found < 1; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && s->is_loss && s->value) found = s->value->mark == mark;
    }
    return found;
}

lazy_unreached lazy_why_unreached(xt_tensor param, src_id *out_at) {
    lazy_ctx *c = lazy_ctx_there();
    const lazy_slot *s = c ? lazy_slot_of(c, param) : NULL;
    ir_value *v = s ? s->value ? s->value : s->leaf : NULL;
    cone k = {.mark = ir_new_epoch()};
    *out_at = 0;
    if (!v || !s->requires_grad) return LAZY_NOT_READ;
    lazy_settle(c);
    v->mark = k.mark;
    for (ir_op *op = c->b.block->first; op; op = op->next) take_in(op, &k);
    int loss = has_loss(c, k.mark);
    if (!k.last || k.detached || loss < 0 || (loss == 1 && !k.blocked)) return LAZY_NOT_READ;
    *out_at = loss == 1 ? k.blocked : k.last;
    return loss == 1 ? LAZY_NO_DERIVATIVE : LAZY_NOT_IN_LOSS;
}
