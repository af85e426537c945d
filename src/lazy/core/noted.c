/* See noted.h. */
#include "lazy/core/noted.h"

#include "lazy/core/ctx.h"

void lazy_note_optimizer(const char *kind, src_id made) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->used.optimizer = kind;
    c->used.optimizer_at = made;
    hash128 own = hash_bytes(kind, strlen(kind), (hash128){made, 1});
    c->used.optimizers = hash_mix((hash128){c->used.optimizers, 0x6f7074}, own).lo;
}

void lazy_note_parted(const xt_src *src, const char *param) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->switched_at.parted = c->used.switched_at.parted = src_intern(src);
    c->switched_at.parted_of = c->used.switched_at.parted_of = intern(param);
    c->used.parted = ++c->parted;
}

const ir_op *lazy_recorded_last(void) {
    const lazy_ctx *c = lazy_ctx_get();
    return c ? c->b.block->last : NULL;
}

void lazy_note_derived(const ir_op *behind) {
    lazy_ctx *c = lazy_ctx_get();
    for (ir_op *op = !c ? NULL : behind ? behind->next : c->b.block->first; op; op = op->next)
        if (op->n_out) op->out[0].user |= LAZY_V_DERIVED;
}

void lazy_note_batch(const void *loader, bool partial) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->batch = (lazy_batch_of){loader, partial};
    lazy_flags_anew(c);
}
