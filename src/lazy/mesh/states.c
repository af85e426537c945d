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
    lazy_whole *w = s ? lazy_whole_of(s) : NULL;
    if (w) w->refs++;
    return w;
}

static xt_status bring_together(lazy_slot *s, int rank, const void *part) {
    size_t n = ir_type_bytes(s->type);
    bool here = world_get()->rank == rank;
    lazy_whole *w = here ? base_malloc(sizeof *w + n) : NULL;
    if (here && !w) return status_oom(n, intern_text(s->name));
    if (w) w->refs = 1;
    xt_status e = lazy_gather_parts_to(rank, s->layout, s->type, part, w ? w->bytes : NULL);
    if (e) {
        lazy_whole_release(w);
        return e;
    }
    s->whole = w;
    s->whole_of = lazy_part_of(s);
    return NULL;
}

/* One state at a time: what this rank has of it is read and given back before the next. A part that waits on the host
 * stays there. A state that no rank has a part of yet is made by each rank for itself where it is read. */
static xt_status gather_state(lazy_ctx *c, lazy_slot *s, int rank) {
    if (!s->layout) return NULL;
    if (s->from && !s->buf) XT_TRY(lazy_upload_state(c, s)); /* else one rank alone would, when it reads it */
    const void *there = lazy_part_of(s);
    if (!there) return NULL;
    if (!s->buf) return bring_together(s, rank, there);
    size_t bytes = device_buffer_bytes(s->buf->dev);
    void *part = base_malloc(bytes ? bytes : 1);
    xt_status e = part ? device_read(s->buf->dev, part, bytes) : status_oom(bytes, intern_text(s->name));
    if (!e) e = bring_together(s, rank, part);
    base_free(part);
    return e;
}

xt_status lazy_gather_states(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !lazy_spmd()) return NULL;
    lazy_forget_states();
    for (size_t k = 0; k < c->n_persistent; k++) { /* in the order of birth, the same on all ranks */
        lazy_slot *s = &c->slots[c->persistent[k]];
        if (s->is_state) XT_TRY(gather_state(c, s, 0));
    }
    return NULL;
}

xt_status lazy_gather_state(xt_tensor state, int rank) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c && lazy_spmd() ? lazy_slot_of(c, state) : NULL;
    return s ? gather_state(c, s, rank) : NULL;
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
