/* What the parts of a step note in the replay log of a compiled step function while it is recorded. They stand below
 * what makes a plan of it (replay_plan.c). */
#include "lazy/core/replay_log.h"

bool lazy_tracing(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c && c->replay_log;
}

void lazy_replay_log_add(lazy_ctx *c, lazy_replay_item item) {
    lazy_replay_log *t = c->replay_log;
    if (VEC_PUSH(t->items, t->n_items, t->cap_items, item)) return;
    t->failed = true;
    if (item.kind == LAZY_REPLAY_ACTION && item.action.release) item.action.release(item.action.user);
}

void lazy_on_replay(const lazy_replay *r) {
    lazy_ctx *c = lazy_ctx_get();
    if (c && c->replay_log)
        lazy_replay_log_add(c, (lazy_replay_item){.kind = LAZY_REPLAY_ACTION, .action = *r});
    else if (r->release)
        r->release(r->user);
}

void lazy_replay_log_volatile(lazy_ctx *c, src_id src, const char *what) {
    if (c->replay_log->volatile_what) return;
    c->replay_log->volatile_what = what;
    c->replay_log->volatile_src = src;
}

void lazy_replay_log_asked(lazy_ctx *c, uint32_t slot) {
    lazy_replay_log *t = c->replay_log;
    if (!VEC_PUSH(t->asked, t->n_asked, t->cap_asked, slot)) t->failed = true;
}

void lazy_replay_log_labels(lazy_ctx *c, const lazy_classes *classes, xt_tensor labels) {
    lazy_replay_log *t = c->replay_log;
    for (size_t i = 0; i < t->sig.n; i++) {
        if (t->in[i].slot != labels.slot || t->in[i].generation != labels.generation) continue;
        lazy_label_check check = {*classes, i};
        if (!VEC_PUSH(t->labels, t->n_labels, t->cap_labels, check)) t->failed = true;
        return;
    }
}

void lazy_note_freeze(const xt_src *src, const char *call, const char *of) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->switched_at.frozen = src_intern(src ? src : src_called_from);
    c->switched_at.froze = call;
    c->switched_at.froze_of = of ? intern(of) : 0;
    c->used.switched_at = c->switched_at;
    c->used.freezes = ++c->freezes;
    c->used.frozen = c->frozen;
}

void lazy_note_momentum(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->switched_at.momentum = c->used.switched_at.momentum = src_intern(src ? src : src_called_from);
    c->used.momenta = ++c->momenta;
}

void lazy_mode_toggle(const xt_src *src, uint64_t module) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->switched_at.mode = c->used.switched_at.mode = src_intern(src ? src : src_called_from);
    c->mode ^= hash_mix((hash128){module, 0x6d6f6465}, (hash128){1, 2}).lo;
    if (c->mode) c->used.mode = c->mode;
    lazy_flags_anew(c);
}
