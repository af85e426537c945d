/* Values on the host. A read in the middle of a step runs a program of its own for that value and leaves the trace
 * alone, so the training program stays the same and backward stays right; the price (what is computed twice) is counted
 * and reported with the line. */
#include "lazy/core/layout.h"
#include "lazy/core/unended.h"
#include "lazy/step/step.h"

#include <math.h>

/* The buffer that holds t's value now: its own, or that of a program run for it. Borrowed. */
static xt_status buffer_now(lazy_ctx *c, xt_tensor t, lazy_cause cause, const xt_src *src, lazy_buf **out) {
    lazy_slot *s = lazy_slot_of(c, t);
    if (s->value && s->read_buf) {
        *out = s->read_buf;
        return NULL;
    }
    if (!s->value) {
        if (!s->buf) lazy_leaf_of(c, t.slot); /* uploads a new state */
        s = lazy_slot_of(c, t);
        *out = s->buf;
        return s->buf ? NULL : status_new(XT_FAILED_PRECONDITION, src, "this tensor has no value");
    }
    lazy_repeats(LAZY_REPEATED_READ, c->step, (xt_tensor){0}, src);
    int32_t none = -1;
    lazy_requester requester = {cause == LAZY_ITEM ? "xt_item" : "xt_read", src_intern(src)};
    lazy_roots r = {.n = 1, .cap = 1, .values = &s->value, .alias_leaf = &none, .requesters = &requester};
    device_buffer *dev = NULL;
    XT_TRY(lazy_run_forced(c, &r, cause, src, &dev));
    s->read_buf = lazy_buf_new(dev, s->src, s->path, LAZY_VALUE, s->type, c->step);
    if (c->nan && s->read_buf) XT_TRY(lazy_look_for_nan(c, &r, &dev, true, src));
    s = lazy_slot_of(c, t);
    *out = s->read_buf;
    return s->read_buf ? NULL : status_oom(sizeof(lazy_buf), "a value");
}

xt_status lazy_compute_now(lazy_ctx *c, xt_tensor t, const xt_src *src) {
    lazy_buf *b = NULL;
    XT_TRY(buffer_now(c, t, LAZY_READ, src, &b));
    return device_buffer_wait(b->dev);
}

/* The whole value of a buffer that lies as `l` says: every rank must read it then. */
static xt_status read_buffer(const lazy_buf *b, const lazy_layout *l, const ir_type *type, void *dst, size_t n) {
    if (!l) return device_read(b->dev, dst, n);
    size_t bytes = device_buffer_bytes(b->dev);
    void *part = base_malloc(bytes ? bytes : 1);
    xt_status s = part ? device_read(b->dev, part, bytes) : status_oom(bytes, "a part of a tensor");
    if (!s) s = lazy_gather_parts(l, type, part, dst);
    base_free(part);
    return s;
}

static xt_status read_now(lazy_ctx *c, xt_tensor t, lazy_cause cause, const xt_src *src, void *dst, size_t n) {
    XT_TRY(lazy_forked("a read", src));
    lazy_buf *b = NULL;
    XT_TRY(buffer_now(c, t, cause, src, &b));
    int64_t began = clock_ns();
    const lazy_slot *slot = lazy_slot_of(c, t);
    xt_status s = read_buffer(b, b == slot->buf ? slot->layout : NULL, slot->type, dst, n);
    counter_add(COUNTER_read_wait_ns, clock_ns() - began);
    if (!s) return NULL;
    xt_status why = lazy_take_async_error(); /* the program's own failure says more than the read's */
    if (why) {
        xt_status_free(s);
        return why;
    }
    return s;
}

static bool readable(lazy_ctx *c, xt_tensor t, const xt_src *src, const char *what) {
    lazy_slot *s = lazy_slot_of(c, t);
    if (!s) lazy_dead_error(c, t, src, what);
    if (!s || s->failed || lazy_in_loop(c, src, what)) return false;
    if (c->error) return false; /* steps are dropped until it is cleared: the value that is there is an old one */
    if (!c->replay_log) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s inside the compiled step function %s: it is recorded here, not run, so the tensor has no "
                         "value yet; return the tensor and read the "
                         "result of xt_call, or use xt_when_ready or xt_master_printf(\"... %%t\", t)",
                         what, c->replay_log->step->name));
    return false;
}

bool xt_read_at(const xt_src *src, xt_tensor t, void *buf, size_t bytes) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !readable(c, t, src, "xt_read")) return false;
    size_t need = ir_type_bytes(lazy_slot_of(c, t)->type);
    if (bytes != need || (!buf && need)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_read: the buffer has %zu bytes, the tensor %zu",
                             buf ? bytes : (size_t)0, need));
        return false;
    }
    xt_status s = read_now(c, t, LAZY_READ, src, buf, bytes);
    if (!s) return true;
    lazy_fail(status_at(s, src));
    lazy_end_if_lost("xt_read", src);
    return false;
}

double xt_item_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !readable(c, t, src, "xt_item")) return NAN;
    const ir_type *type = lazy_slot_of(c, t)->type;
    if (type->count != 1) {
        str text = STR_INIT;
        ir_type_print(type, &text);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_item: the tensor is %s; it must have one element (xt_read reads all of it)",
                             str_cstr(&text)));
        str_free(&text);
        return NAN;
    }
    unsigned char raw[16] = {0};
    xt_status s = read_now(c, t, LAZY_ITEM, src, raw, ir_type_bytes(type));
    if (s) {
        lazy_fail(status_at(s, src));
        lazy_end_if_lost("xt_item", src);
        return NAN;
    }
    return lazy_as_double(raw, type->dtype);
}

xt_status lazy_state_read_last(xt_tensor state, void *dst, size_t n) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s || s->failed || !s->from || s->buf || s->layout || lazy_spmd() || lazy_rehearsing() || rehearsal_on() ||
        n != ir_type_bytes(s->type))
        return lazy_state_read(state, dst, n);
    xt_status e = s->from->fill(s->from->user, s->type, dst);
    return e ? status_at(status_context(e, "making %s", intern_text(s->name)), src_get(s->src)) : NULL;
}

xt_status lazy_state_read(xt_tensor state, void *dst, size_t n) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s || s->failed) return status_new(XT_INVALID_ARGUMENT, NULL, "reading a state that is gone");
    if (n != ir_type_bytes(s->type))
        return status_new(XT_INVALID_ARGUMENT, NULL, "reading %s: %zu bytes wanted, it has %zu", intern_text(s->name),
                          n, ir_type_bytes(s->type));
    const lazy_whole *whole = lazy_whole_of(s);
    if (whole) {
        memcpy(dst, whole->bytes, n);
        return NULL;
    }
    bool made_there = s->host_part || s->from; /* the other ranks have the rest; the value is made once */
    if (s->has_host && !s->buf && made_there) XT_TRY(lazy_upload_state(c, s));
    if (s->has_host && !s->buf) { /* not on the device: a first value, or one that was taken off it */
        if (s->host)
            memcpy(dst, s->host, n);
        else
            memset(dst, 0, n);
        return NULL;
    }
    if (!s->buf)
        return status_new(XT_FAILED_PRECONDITION, NULL, "%s has no value yet: its step has not ended",
                          intern_text(s->name));
    return read_buffer(s->buf, s->layout, s->type, dst, n);
}

xt_status lazy_state_write(xt_tensor state, const void *data, size_t n) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s;
    XT_TRY(lazy_writable(c, state, &s));
    if (n != ir_type_bytes(s->type))
        return status_new(XT_INVALID_ARGUMENT, NULL, "writing %s: %zu bytes given, it has %zu", intern_text(s->name), n,
                          ir_type_bytes(s->type));
    void *host = base_malloc(n ? n : 1);
    if (!host) return status_oom(n, intern_text(s->name));
    memcpy(host, data, n);
    lazy_host_drop(s);
    lazy_buf_release(s->buf);
    s->buf = NULL;
    s->host = host;
    s->has_host = true;
    s->host_part = false;
    s->changed = c->b.src;
    return NULL;
}

/* --- values that come when they come --- */
void lazy_request_value(const xt_src *src, const char *what, xt_tensor t, xt_ready_fn fn, void (*failed)(void *),
                        void *user) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    lazy_begin(src);
    ir_value *v = lazy_in_loop(c, src, what) ? NULL : lazy_value(t);
    lazy_request q = {.t = t, .value = v, .fn = fn, .failed = failed, .user = user, .asked = {what, src_intern(src)}};
    lazy_slot *s = v ? lazy_slot_of(c, t) : NULL;
    if (s && !s->value && !s->layout) { /* a buffer already, and whole: no program needs to give it out */
        q.value = NULL;
        q.buf = s->buf;
        lazy_buf_retain(q.buf);
    }
    if (!v || !VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q)) {
        if (v) lazy_fail(status_at(status_oom(sizeof q, what), src));
        lazy_buf_release(q.buf);
        if (failed) failed(user);
    }
}

/* --- values of the open step that this thread is about to wait for --- */
/* Moves the requests for fn behind the others; gives how many others there are. The order among each kind stays. */
static size_t set_apart(lazy_ctx *c, xt_ready_fn fn) {
    lazy_request *q = c->requests;
    size_t others = 0;
    for (size_t i = 0; i < c->n_requests; i++) {
        if (q[i].fn == fn) continue;
        lazy_request other = q[i];
        memmove(q + others + 1, q + others, (i - others) * sizeof *q);
        q[others++] = other;
    }
    return others;
}

/* What the step computes has no buffer yet: one program for all of it. */
static xt_status compute_requests(lazy_ctx *c, lazy_request *q, size_t n) {
    lazy_roots r = {.values = base_calloc(n, sizeof *r.values),
                    .alias_leaf = base_calloc(n, sizeof *r.alias_leaf),
                    .requesters = base_calloc(n, sizeof *r.requesters),
                    .cap = n};
    device_buffer **out = base_calloc(n, sizeof *out);
    const xt_src *src = NULL;
    xt_status s =
        r.values && r.alias_leaf && r.requesters && out ? NULL : status_oom(n * sizeof *out, "values asked for");
    for (size_t i = 0; !s && i < n; i++) {
        if (q[i].buf || !q[i].value) continue;
        if (!src) src = src_get(q[i].asked.src);
        r.values[r.n] = q[i].value;
        r.alias_leaf[r.n] = -1;
        r.requesters[r.n++] = q[i].asked;
    }
    if (!s && r.n && c->replay_log)
        s = status_new(XT_FAILED_PRECONDITION, src,
                       "%s inside the compiled step function %s: something there waits for its value, which a step has "
                       "only when it has run; wait after xt_call",
                       r.requesters[0].what, c->replay_log->step->name);
    if (!s && r.n && !c->error) s = lazy_run_forced(c, &r, LAZY_READ, src, out);
    for (size_t i = 0, k = 0; !s && r.n && !c->error && i < n; i++)
        if (!q[i].buf && q[i].value)
            q[i].buf = lazy_buf_new(out[k++], q[i].asked.src, 0, LAZY_VALUE, q[i].value->type, c->step);
    base_free(out);
    lazy_roots_free(&r);
    return s ? status_at(s, src) : NULL;
}

void lazy_requests_now(xt_ready_fn fn) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !c->n_requests || c->in_boundary) return;
    size_t at = set_apart(c, fn), end = c->n_requests;
    if (at == end) return;
    xt_status s = compute_requests(c, c->requests + at, end - at);
    c->n_requests = at;
    for (size_t i = at; i < end; i++) {
        lazy_request *q = &c->requests[i];
        xt_status lost = q->buf ? lazy_reader_add(q->buf, q) : NULL;
        if ((lost || !q->buf) && q->failed) q->failed(q->user);
        lazy_buf_release(q->buf);
        if (!s)
            s = lost;
        else
            xt_status_free(lost);
    }
    if (s) lazy_fail(s);
}

void lazy_note_requester(const xt_src *src, const char *what) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_requester a = {.what = what, .src = src_intern(src)};
    if (c && !VEC_PUSH(c->requesters, c->n_requesters, c->cap_requesters, a)) return; /* a report says less */
}

void lazy_request_again(void *(*again)(void *), void *again_user) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !c->replay_log || !c->n_requests) return;
    c->requests[c->n_requests - 1].again = again;
    c->requests[c->n_requests - 1].again_user = again_user;
}

void xt_when_ready_at(const xt_src *src, xt_tensor t, xt_ready_fn fn, void *user) {
    lazy_request_value(src, "xt_when_ready", t, fn, NULL, user);
}

void lazy_state_when_ready(xt_tensor state, xt_ready_fn fn, void (*failed)(void *), void *user) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (s && s->value) { /* the step being recorded has changed it */
        lazy_request_value(src_get(c->b.src), "xt_log", state, fn, failed, user);
        return;
    }
    xt_status e = s && s->has_host && !s->buf ? lazy_upload_state(c, s) : NULL; /* restored, and no step since */
    if (!e && !(s && s->buf)) e = status_new(XT_FAILED_PRECONDITION, NULL, "the state has no value on the device");
    if (!e) e = lazy_reader_add(s->buf, &(lazy_request){.fn = fn, .failed = failed, .user = user});
    if (!e) return;
    if (failed) failed(user);
    lazy_fail(e);
}
