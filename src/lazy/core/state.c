/* States: tensors that outlive steps. A new one waits on the host for its upload at its first use; a step gives it a
 * new value with lazy_assign. */
#include "lazy/core/layout.h"
#include "lazy/core/ctx.h"
#include "lazy/core/replay_log.h"

xt_tensor lazy_state_take(const xt_src *src, lazy_role role, const char *name, xt_dtype dtype, int rank,
                          const int64_t *dims, void *data) {
    lazy_ctx *c = lazy_ctx_get();
    const ir_type *type = c ? lazy_checked_type(src, name, dtype, rank, dims) : NULL;
    lazy_slot *s = NULL;
    xt_tensor t = type ? lazy_slot_new(c, type, src_intern(src), &s)
                  : c  ? lazy_error_slot(c, src_intern(src))
                       : (xt_tensor){0};
    if (!s) {
        base_free(data);
        return t;
    }
    s->role = role;
    s->name = s->path = intern(name);
    s->is_state = s->has_host = true;
    s->host = data;
    lazy_slot_persist(c, t);
    return t;
}

/* Of a source that is taken over; NULL without memory, and it is freed. */
static lazy_source *keep_source(lazy_source from) {
    lazy_source *kept = base_malloc(sizeof *kept);
    if (kept)
        *kept = from;
    else
        from.free(from.user);
    return kept;
}

xt_tensor lazy_state_from(const xt_src *src, lazy_role role, const char *name, const ir_type *type, lazy_source from) {
    lazy_ctx *c = lazy_ctx_get();
    xt_tensor t = lazy_state_take(src, role, name, type->dtype, (int)type->rank, type->dims, NULL);
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s || s->failed) {
        from.free(from.user);
        return t;
    }
    if (!(s->from = keep_source(from))) lazy_fail(status_at(status_oom(sizeof from, name), src));
    return t;
}

void lazy_state_becomes(const xt_src *src, xt_tensor state, lazy_role role) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s) return;
    s->role = role;
    s->src = src_intern(src);
}

xt_status lazy_state_refill(xt_tensor state, lazy_source from) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = NULL;
    lazy_source *kept = keep_source(from);
    xt_status e = kept ? lazy_writable(c, state, &s) : status_oom(sizeof from, "a state's value");
    if (e) {
        if (kept) kept->free(kept->user);
        base_free(kept);
        return e;
    }
    lazy_host_drop(s);
    lazy_buf_release(s->buf);
    s->buf = NULL;
    s->from = kept;
    s->has_host = true;
    s->host_part = false;
    s->changed = c->b.src;
    return NULL;
}

xt_status lazy_writable(lazy_ctx *c, xt_tensor state, lazy_slot **out) {
    lazy_slot *s = *out = c ? lazy_slot_of(c, state) : NULL;
    if (!s || s->failed) return status_new(XT_INVALID_ARGUMENT, NULL, "writing a state that is gone");
    if (c->replay_log) lazy_replay_log_volatile(c, c->b.src, "a state is written from the host");
    if (s->value || s->leaf)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "%s is used in the step being recorded; end it (xt_mark_step) before writing",
                          intern_text(s->name));
    return NULL;
}

bool lazy_state_swap(xt_tensor a, xt_tensor b) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *x = c ? lazy_slot_of(c, a) : NULL, *y = c ? lazy_slot_of(c, b) : NULL;
    if (!x || !y || !x->is_state || !y->is_state || x->type != y->type || x->layout != y->layout || x->value ||
        y->value || x->leaf || y->leaf)
        return false;
    lazy_slot old = *x;
    x->buf = y->buf, y->buf = old.buf;
    x->host = y->host, y->host = old.host;
    x->from = y->from, y->from = old.from;
    x->has_host = y->has_host, y->has_host = old.has_host;
    x->host_part = y->host_part, y->host_part = old.host_part;
    return true;
}

bool lazy_state_begins_as(xt_tensor fresh, xt_tensor other) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, fresh) : NULL;
    const lazy_slot *of = c ? lazy_slot_of(c, other) : NULL;
    bool ready = s && of && s->is_state && of->is_state && of->buf && !of->value && !of->has_host && !c->replay_log;
    if (!ready || s->value || s->leaf || s->type != of->type || s->layout != of->layout) return false;
    lazy_host_drop(s);
    lazy_buf_release(s->buf);
    s->buf = of->buf;
    lazy_buf_retain(s->buf);
    return true;
}

xt_tensor lazy_state_new(const xt_src *src, lazy_role role, const char *name, xt_dtype dtype, int rank,
                         const int64_t *dims, const void *data) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    const ir_type *type = lazy_checked_type(src, name, dtype, rank, dims);
    if (!type) return lazy_error_slot(c, src_intern(src));
    size_t n = ir_type_bytes(type);
    void *host = NULL;
    if (data && !(host = base_malloc(n ? n : 1))) {
        lazy_fail(status_at(status_oom(n, name), src));
        return lazy_error_slot(c, src_intern(src));
    }
    if (host) memcpy(host, data, n);
    return lazy_state_take(src, role, name, dtype, rank, dims, host);
}

void lazy_assign(xt_tensor state, xt_tensor value) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    lazy_slot *s = lazy_slot_of(c, state);
    if (!s) {
        lazy_dead_error(c, state, src_get(c->b.src), "assigning a state");
        return;
    }
    if (c->loop) {
        char what[256];
        snprintf(what, sizeof what, "giving %s a new value", s->name ? intern_text(s->name) : "a state");
        if (lazy_in_loop(c, src_get(c->b.src), what)) return;
    }
    ir_value *v = lazy_value(value);
    s = lazy_slot_of(c, state); /* lazy_value may have moved the slots */
    if (!v || s->failed) return;
    if (v->type != s->type) {
        str text = STR_INIT;
        str_printf(&text, "assigning %s of type ", intern_text(s->name));
        ir_type_print(s->type, &text);
        str_append(&text, " a value of type ");
        ir_type_print(v->type, &text);
        lazy_fail(
            status_new(XT_INVALID_ARGUMENT, src_get(c->b.src), "%s: the types must be the same", str_cstr(&text)));
        str_free(&text);
        return;
    }
    if (c->building) return; /* of made-up inputs */
    lazy_slot_value past = {state.slot, state.generation, s->value ? s->value : s->leaf};
    if (s->grad_leaf && past.value && !VEC_PUSH(c->pasts, c->n_pasts, c->cap_pasts, past))
        lazy_fail(status_oom(sizeof past, "assigning a state"));
    s->value = v;
    s->changed = c->b.src;
    s->own = true;
    lazy_buf_release(s->read_buf); /* of the value before */
    s->read_buf = NULL;
    if (s->requires_grad) v->user |= LAZY_V_GRAD;
}
