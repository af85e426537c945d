/* What the program does with its handles: asking, keeping, dropping. */
#include "lazy/core/replay_log.h"

bool xt_is_none(xt_tensor t) {
    return t.slot == 0;
}

bool xt_is_error(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (t.slot == 0 || !c) return false;
    lazy_slot *s = lazy_slot_of(c, t);
    return !s || s->failed;
}

bool lazy_is_error(xt_tensor t) {
    return xt_is_error(t);
}

bool lazy_has_failed(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && s->failed;
}

void lazy_tell_dead(const xt_src *src, const char *what, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) lazy_dead_error(c, t, src, what);
}

xt_tensor xt_keep_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return t;
    if (!lazy_slot_of(c, t)) {
        lazy_dead_error(c, t, src, "xt_keep");
        return t;
    }
    if (c->loop && lazy_slot_of(c, t)->value && lazy_in_loop(c, src, "xt_keep")) return t;
    lazy_slot_persist(c, t);
    lazy_slot *s = lazy_slot_of(c, t);
    s->kept = src_intern(src);
    s->which = lazy_call_number(c, s->kept);
    lazy_buf_kept(s->buf, s->kept, s->which);
    return t;
}

bool lazy_is_kept(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && s->kept && !s->is_state;
}

xt_tensor lazy_share(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *of = c ? lazy_slot_of(c, t) : NULL;
    if (!of || of->failed || of->value || !of->buf || of->is_state) return (xt_tensor){0};
    lazy_slot from = *of, *s;
    xt_tensor out = lazy_slot_new(c, from.type, src_intern(src), &s);
    if (!s) return (xt_tensor){0};
    s->role = from.role;
    s->layout = from.layout;
    s->buf = from.buf;
    lazy_buf_retain(s->buf);
    lazy_slot_persist(c, out);
    return out;
}

void xt_drop_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || t.slot == 0) return;
    lazy_slot *s = lazy_slot_of(c, t);
    if (!s) { /* a free as any other: behind xt_finish, in destructors, there is nothing to do */
        if (!lazy_was_finished(t)) lazy_dead_error(c, t, src, "xt_drop");
        return;
    }
    if (s->role == LAZY_GRADIENT && s->kept) { /* a tensor's gradient still: that is not the program's to end */
        s->kept = 0;
        return;
    }
    if (c->replay_log && c->replay_log->in_fn && t.slot < c->replay_log->n_entry && c->replay_log->entry[t.slot].live &&
        c->replay_log->entry[t.slot].generation == t.generation)
        lazy_replay_log_volatile(c, src_intern(src), "the function drops a tensor that is not its own");
    lazy_slot_free(c, t.slot, src_intern(src));
    c->slots[t.slot].past[0].died_step = -1;
}

const ir_type *lazy_type(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && !s->failed ? s->type : NULL;
}

src_id lazy_src(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s ? s->src : 0;
}

xt_dtype xt_dtype_of(xt_tensor t) {
    const ir_type *y = lazy_type(t);
    return y ? y->dtype : XT_DTYPE_NONE;
}

int xt_rank_of(xt_tensor t) {
    const ir_type *y = lazy_type(t);
    return y ? (int)y->rank : 0;
}

int64_t xt_dim(xt_tensor t, int i) {
    const ir_type *y = lazy_type(t);
    if (!y) return 0;
    if (i < 0) i += (int)y->rank;
    return i >= 0 && i < (int)y->rank ? y->dims[i] : 0;
}

int64_t xt_numel(xt_tensor t) {
    const ir_type *y = lazy_type(t);
    return y ? y->count : 0;
}
