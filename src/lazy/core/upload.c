/* What waits in host memory goes to the device: first values of states, and those that were taken off it. */
#include "lazy/core/ctx.h"
#include "lazy/core/layout.h"

static xt_status in_slot(lazy_ctx *c, lazy_slot *s, device_buffer *dev) {
    s->buf = lazy_buf_new(dev, s->src, s->path, s->role, s->type, c->step);
    if (s->buf) s->buf->layout = s->layout;
    if (!s->buf) return status_oom(sizeof(lazy_buf), "a buffer");
    s->has_host = false;
    return NULL;
}

/* The source writes into memory of the device; *done stays false where that cannot be: on another device, or when each
 * rank has only a part of a state. */
static xt_status make_there(lazy_ctx *c, lazy_slot *s, device_client *client, bool *done) {
    enum { LARGE = 1 << 20 }; /* smaller ones are not worth a call */
    device_buffer *dev = NULL;
    void *memory = NULL;
    *done = false;
    if (ir_type_bytes(s->type) < LARGE || s->layout || lazy_spmd()) return NULL;
    xt_status e = device_blank(client, s->type->dtype, s->type->rank, s->type->dims, &dev, &memory);
    if (e || !memory) {
        xt_status_free(e); /* it is met again, and told, where the value is uploaded */
        return NULL;
    }
    *done = true;
    e = s->from->fill(s->from->user, s->type, memory);
    if (!e) return in_slot(c, s, dev);
    device_buffer_release(dev);
    return e;
}

/* Into s->host, which other ranks' parts are cut from. A rehearsal's values are zeros: a model larger than this host
 * can be planned. */
static xt_status make_here(lazy_slot *s) {
    if (lazy_rehearsing() || rehearsal_on()) return NULL;
    size_t n = ir_type_bytes(s->type);
    void *host = base_malloc(n ? n : 1);
    xt_status e = host ? s->from->fill(s->from->user, s->type, host) : status_oom(n, intern_text(s->name));
    if (e)
        base_free(host);
    else
        s->host = host;
    return e;
}

static xt_status make_value(lazy_ctx *c, lazy_slot *s, device_client *client, bool *done) {
    xt_status e = lazy_rehearsing() || rehearsal_on() ? NULL : make_there(c, s, client, done);
    if (!e && !*done) e = make_here(s);
    if (e) return status_at(status_context(e, "making %s", intern_text(s->name)), src_get(s->src));
    s->from->free(s->from->user);
    base_free(s->from);
    s->from = NULL;
    return NULL;
}

static xt_status upload_host(lazy_ctx *c, lazy_slot *s) {
    device_client *client;
    bool done = false;
    XT_TRY(lazy_device(&client));
    if (s->from) XT_TRY(make_value(c, s, client, &done));
    if (done) return NULL;
    size_t n = ir_type_bytes(s->type);
    void *own = NULL; /* this rank's part */
    const void *data = s->host;
    const ir_type *local = lazy_layout_local(s->layout, s->type);
    if (s->layout && local) n = ir_type_bytes(local);
    if (data && s->layout && !s->host_part) {
        own = base_malloc(n ? n : 1);
        if (own) lazy_layout_slice(s->layout, s->type, data, own);
        data = own;
    } else if (!data)
        data = base_zeros(n ? n : 1);
    if (!data) return status_oom(n, "the first value of a state");
    device_buffer *dev;
    xt_status st =
        local ? device_upload(client, s->type->dtype, local->rank, local->dims, data, &dev) : status_oom(n, "a type");
    base_free(own);
    if (st) return status_at(status_context(st, "uploading %s", intern_text(s->name)), src_get(s->src));
    return in_slot(c, s, dev);
}

xt_status lazy_upload_state(lazy_ctx *c, lazy_slot *s) {
    XT_TRY(upload_host(c, s));
    base_free(s->host);
    s->host = NULL;
    return NULL;
}

xt_status lazy_state_upload(xt_tensor state, void **out_memory) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    *out_memory = NULL;
    if (!s || s->buf || !s->has_host) return NULL;
    XT_TRY(upload_host(c, s));
    *out_memory = s->host;
    s->host = NULL;
    return NULL;
}
