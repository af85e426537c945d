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

void lazy_note_batch(const void *loader, bool partial) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->batch = (lazy_batch_of){loader, partial};
    lazy_flags_anew(c);
}
