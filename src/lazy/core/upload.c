/* What waits in host memory goes to the device: first values of states, and those that were taken off it. */
#include "lazy/core/ctx.h"
#include "lazy/core/layout.h"

static xt_status upload_host(lazy_ctx *c, lazy_slot *s) {
    device_client *client;
    XT_TRY(lazy_device(&client));
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
    s->buf = lazy_buf_new(dev, s->src, s->path, s->role, s->type, c->step);
    if (s->buf) s->buf->layout = s->layout;
    if (!s->buf) return status_oom(sizeof(lazy_buf), "a buffer");
    s->has_host = false;
    return NULL;
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
