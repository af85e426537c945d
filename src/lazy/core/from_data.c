/* Tensors of values that are there already: in host memory, or in a buffer of the device. */
#include "lazy/core/ctx.h"
#include "lazy/core/labels.h"
#include "lazy/core/layout.h"

#include "ir/types.h"

const ir_type *lazy_checked_type(const xt_src *src, const char *what, xt_dtype dtype, int rank, const int64_t *dims) {
    const ir_type *type = NULL;
    if (rank >= 0 && rank <= XT_MAX_RANK && xt_dtype_size(dtype) && dtype != XT_TOKEN)
        type = ir_tensor(dtype, (size_t)rank, dims);
    xt_status lacking = type ? NULL : ir_type_oom(what);
    if (lacking)
        lazy_fail(status_at(lacking, src));
    else if (!type || type->count < 0)
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "%s: dtype %s with rank %d is no tensor: a known dtype, at most %d dims, none negative, and a size "
                   "that fits memory are needed",
                   what, xt_dtype_name(dtype), rank, XT_MAX_RANK);
    return type && type->count >= 0 ? type : NULL;
}

/* What may be a step's labels is looked at on the way; images and tables are more, and bytes are rarely labels. */
enum { MANY_LABELS = 65536, FEW_LABELS = 4096 };

xt_tensor xt_from_data_at(const xt_src *src, const void *data, xt_dtype dtype, int rank, const int64_t *dims) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    const ir_type *type = lazy_checked_type(src, "xt_from_data", dtype, rank, dims);
    if (!type) return lazy_error_slot(c, src_intern(src));
    if (!data && type->count > 0) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_from_data: data is NULL");
    device_client *client;
    device_buffer *dev = NULL;
    c->b.src = src_intern(src); /* the device may be opened here, and is then said to be open since this line */
    xt_status s = lazy_device(&client);
    if (!s) s = device_upload(client, dtype, (size_t)rank, dims, data, &dev);
    if (s) {
        lazy_fail(status_at(s, src));
        return lazy_error_slot(c, src_intern(src));
    }
    xt_tensor t = lazy_from_buffer(src, LAZY_VALUE, dev);
    if (ir_dtype_is_int(dtype) && type->count <= (xt_dtype_size(dtype) >= 4 ? MANY_LABELS : FEW_LABELS))
        lazy_note_extremes(t, lazy_extremes_of(dtype, data, type->count));
    return t;
}

bool lazy_dims_fit(const xt_src *src, const char *what, int rank, const int64_t *dims) {
    for (int i = 0; i < rank; i++) {
        if (dims[i] != XT_DIMS_END_) continue;
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "%s: dim %d of the shape is 0; each is at least 1 (xt_from_data makes tensors without "
                             "elements)",
                             what, i));
        return false;
    }
    return true;
}

xt_tensor xt_from_array_at(const xt_src *src, const void *data, xt_dtype dtype, const int64_t *dims) {
    int rank = 0;
    while (rank < XT_MAX_RANK && dims[rank] != 0) rank++;
    if (!lazy_dims_fit(src, "xt_from_array", rank, dims)) return lazy_failed_tensor(src);
    return xt_from_data_at(src, data, dtype, rank, dims);
}

xt_tensor lazy_from_laid_out(const xt_src *src, lazy_role role, const ir_type *type, const lazy_layout *layout,
                             device_buffer *dev) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) {
        device_buffer_release(dev);
        return (xt_tensor){0};
    }
    lazy_slot *s;
    xt_tensor t = lazy_slot_new(c, type, src_intern(src), &s);
    if (!s || !type) {
        device_buffer_release(dev);
        return t;
    }
    s->role = role;
    s->layout = layout;
    s->way = lazy_way_here(c);
    s->buf = lazy_buf_new(dev, s->src, s->path, role, type, c->step);
    if (s->buf) {
        s->buf->layout = layout;
        s->buf->which = lazy_call_number(c, s->src);
    }
    if (!s->buf) {
        s->failed = true;
        lazy_fail(status_oom(sizeof(lazy_buf), "a buffer"));
    }
    return t;
}

xt_tensor lazy_from_buffer(const xt_src *src, lazy_role role, device_buffer *dev) {
    return lazy_from_laid_out(
        src, role, ir_tensor(device_buffer_dtype(dev), device_buffer_rank(dev), device_buffer_dims(dev)), NULL, dev);
}
