/* States that lie divided over the mesh: their layouts, and each brought together on one rank. */
#include "lazy/core/ctx.h"
#include "lazy/mesh/mesh.h"

void lazy_forget_states(void) {
    lazy_ctx *c = lazy_ctx_get();
    for (size_t k = 0; c && k < c->n_persistent; k++) {
        lazy_slot *s = &c->slots[c->persistent[k]];
        lazy_whole_release(s->whole);
        s->whole = NULL;
    }
}

void lazy_forget_state(xt_tensor state) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s) return;
    lazy_whole_release(s->whole);
    s->whole = NULL;
}

lazy_whole *lazy_state_whole(xt_tensor state) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s || !s->buf || !s->whole || s->whole_of != s->buf) return NULL;
    s->whole->refs++;
    return s->whole;
}

/* One state at a time: what this rank has of it is read and given back before the next. */
static xt_status gather_state(lazy_slot *s, int rank) {
    size_t n = ir_type_bytes(s->type), bytes = device_buffer_bytes(s->buf->dev);
    bool here = world_get()->rank == rank;
    lazy_whole *w = here ? base_malloc(sizeof *w + n) : NULL;
    void *part = base_malloc(bytes ? bytes : 1);
    if (w) w->refs = 1;
    xt_status e = part && (w || !here) ? device_read(s->buf->dev, part, bytes) : status_oom(n, intern_text(s->name));
    if (!e) e = lazy_gather_parts_to(rank, s->layout, s->type, part, w ? w->bytes : NULL);
    base_free(part);
    if (e) {
        lazy_whole_release(w);
        return e;
    }
    s->whole = w;
    s->whole_of = s->buf;
    return NULL;
}

xt_status lazy_gather_states(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !lazy_spmd()) return NULL;
    lazy_forget_states();
    for (size_t k = 0; k < c->n_persistent; k++) { /* in the order of birth, the same on all ranks */
        lazy_slot *s = &c->slots[c->persistent[k]];
        if (s->layout && s->buf && s->is_state) XT_TRY(gather_state(s, 0));
    }
    return NULL;
}

xt_status lazy_gather_state(xt_tensor state, int rank) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c && lazy_spmd() ? lazy_slot_of(c, state) : NULL;
    return s && s->layout && s->buf ? gather_state(s, rank) : NULL;
}

const lazy_layout *lazy_layout_of(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s ? s->layout : NULL;
}

const lazy_layout *lazy_optimizer_layout(xt_tensor param) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, param) : NULL;
    return s ? lazy_layout_of_state(s) : NULL;
}

void lazy_divide_optimizer(xt_tensor param, const lazy_layout *l) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, param) : NULL;
    if (s) s->of_state = l;
}

xt_status lazy_state_lay_out(xt_tensor state, const lazy_layout *l) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s || s->failed || s->layout == l) return NULL;
    if (!s->buf && !s->host_part) {
        s->layout = l;
        return NULL;
    }
    size_t n = ir_type_bytes(s->type);
    void *whole = base_malloc(n ? n : 1);
    xt_status e = whole ? lazy_state_read(state, whole, n) : status_oom(n, intern_text(s->name));
    if (!e) e = lazy_state_write(state, whole, n);
    if (!e) s->layout = l;
    base_free(whole);
    return e;
}
