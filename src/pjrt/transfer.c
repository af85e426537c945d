/* What leaves a buffer: reads to the host, copies to other devices, readiness, and pointers for zero-copy views.
 *
 * A value that is there is copied at once on the caller's thread. Otherwise the copy waits in the value's ready event
 * and runs on the executor that makes the value, before that executor goes on; the copy holds the value, so no program
 * can overwrite it meanwhile. */
#include "base/narrow.h"
#include "pjrt/face.h"

static xt_status gone(void) {
    return status_new(XT_FAILED_PRECONDITION, NULL, "the buffer has been deleted or donated to a program");
}

static xt_status hold(PJRT_Buffer *b, face_value **out) {
    *out = face_buffer_value(b);
    return *out ? NULL : gone();
}

/* --- to the host --- */
typedef struct host_read {
    face_value *value;
    char *dst;
    int64_t *strides; /* by the dims of what is stored; NULL: as it lies there */
    int64_t offset, size; /* raw reads; size < 0: the whole array in `strides` */
    face_event *done;
} host_read;

static void host_read_run(void *user, xt_status s) {
    host_read *r = user;
    if (!s && r->size == 0) {
        /* Nothing is copied: the client's memory may be NULL. */
    } else if (!s && r->size > 0) {
        memcpy(r->dst, (const char *)r->value->data + r->offset, (size_t)r->size);
        narrow_mask(r->value->type->dtype, r->dst, (size_t)r->size);
    } else if (!s)
        face_scatter(r->dst, r->strides, r->value->data, r->value->stored);
    face_event *done = r->done;
    face_value_release(r->value);
    base_free(r->strides);
    base_free(r);
    face_event_set(done, s);
    face_event_release(done);
}

/* Takes `value` and `strides` over. */
static xt_status start_host_read(face_value *value, void *dst, int64_t *strides, int64_t offset, int64_t size,
                                 face_event **out) {
    host_read *r = base_malloc(sizeof *r);
    face_event *done = r ? face_event_new() : NULL;
    if (!done) {
        base_free(r);
        base_free(strides);
        face_value_release(value);
        return status_oom(sizeof *r, "a read");
    }
    *r = (host_read){value, dst, strides, offset, size, face_event_retain(done)};
    face_event_follows(done, value->ready);
    face_value_retain(value); /* the event lives in the value: keep both while waiting is arranged */
    xt_status s = face_event_then(value->ready, host_read_run, r);
    face_value_release(value);
    if (s) {
        face_value_release(value);
        base_free(strides);
        base_free(r);
        face_event_release(done);
        face_event_release(done);
        return s;
    }
    *out = done;
    return NULL;
}

FACE(Buffer_ToHostBuffer) {
    const ir_type *t = a->src->type;
    size_t extent;
    int64_t *strides;
    face_value *v;
    XT_TRY(face_layout_strides(a->host_layout, t, &strides));
    xt_status s = face_write_extent(strides, t, &extent);
    if (!s && a->dst && a->dst_size < extent)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "dst_size is %zu: the array%s takes %zu bytes; ask for them with dst NULL", a->dst_size,
                       strides ? " in host_layout" : "", extent);
    if (!s && !a->dst) {
        base_free(strides);
        a->dst_size = extent;
        a->event = NULL;
        return NULL;
    }
    if (!s) s = hold(a->src, &v);
    if (s) {
        base_free(strides);
        return s;
    }
    if (a->host_layout && (s = face_strides_stored(&strides, v))) {
        face_value_release(v);
        return s;
    }
    XT_TRY(start_host_read(v, a->dst, strides, 0, -1, &a->event));
    FACE_GIVE(a->event);
    return NULL;
}

static xt_status check_range(int64_t offset, int64_t size, int64_t bytes) {
    if (offset >= 0 && size >= 0 && offset <= bytes && size <= bytes - offset) return NULL;
    return status_new(XT_OUT_OF_RANGE, NULL, "bytes %lld to %lld + %lld of a buffer of %lld", (long long)offset,
                      (long long)offset, (long long)size, (long long)bytes);
}

FACE(Buffer_CopyRawToHost) {
    XT_TRY(check_range(a->offset, a->transfer_size, (int64_t)ir_type_bytes(a->buffer->type)));
    face_value *v;
    XT_TRY(hold(a->buffer, &v));
    XT_TRY(start_host_read(v, a->dst, NULL, a->offset, a->transfer_size, &a->event));
    FACE_GIVE(a->event);
    return NULL;
}

/* The client names the memory later: a read that starts with its callback. */
typedef struct later_read {
    face_value *value;
    int64_t offset, size;
    face_event *done;
} later_read;

static void later_read_done(void *user, xt_status s) {
    face_event_set(user, s);
    face_event_release(user);
}

static void later_read_start(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *a) {
    xt_status s = face_check_read_callback(a);
    if (!a || !PJRT_REACHES(a, callback_data) || !face_take_back(a->callback_data, FACE_PENDING)) {
        xt_status_free(s); /* called before, or not by who was given it: nobody waits for it */
        return;
    }
    later_read r = *(later_read *)a->callback_data;
    face_handle_free(a->callback_data, sizeof r);
    face_event *read = NULL;
    if (s) {
        /* It has been said. */
    } else if (a->error_code != PJRT_OK)
        s = face_take_error(face_callback_error(a->error_code, a->error_message, a->error_message_size),
                            "set by the client");
    else if (!a->dst && r.size > 0)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "the host memory of a read is NULL");
    if (s)
        face_value_release(r.value);
    else
        s = start_host_read(r.value, a->dst, NULL, r.offset, r.size, &read);
    if (!s) s = face_event_then(read, later_read_done, r.done);
    if (s) later_read_done(r.done, s);
    face_event_release(read);
}

FACE(Buffer_CopyRawToHostFuture) {
    int64_t bytes = (int64_t)ir_type_bytes(a->buffer->type);
    XT_TRY(check_range(a->offset, a->transfer_size, bytes));
    later_read *r = face_handle_new(sizeof *r);
    face_event *done = r ? face_event_new() : NULL;
    face_value *v = NULL;
    xt_status s = done ? hold(a->buffer, &v) : status_oom(sizeof *r, "a read");
    if (s) {
        face_event_release(done);
        face_handle_free(r, sizeof *r);
        return s;
    }
    *r = (later_read){v, a->offset, a->transfer_size, face_event_retain(done)};
    FACE_GIVE(a->event = done);
    face_give(a->callback_data = r, FACE_PENDING);
    a->future_ready_callback = later_read_start;
    return NULL;
}

/* --- to another device of this process --- */
typedef struct device_copy {
    face_value *from, *to;
} device_copy;

static void device_copy_run(void *user, xt_status s) {
    device_copy *c = user;
    if (!s) s = face_alloc(c->to->device, c->to->bytes, &c->to->data);
    if (!s) memcpy(c->to->data, c->from->data, c->to->bytes);
    face_value_release(c->from);
    face_event_set(c->to->ready, s);
    face_value_release(c->to);
    base_free(c);
}

static xt_status copy_to(PJRT_Buffer *b, PJRT_Device *d, PJRT_Memory *memory, PJRT_Buffer **out) {
    face_value *from, *to = NULL;
    XT_TRY(hold(b, &from));
    device_copy *c = base_malloc(sizeof *c);
    xt_status s = c ? face_value_new(d, b->type, b->layout, &to) : status_oom(sizeof *c, "a copy");
    if (s) {
        base_free(c);
        face_value_release(from);
        return s;
    }
    *c = (device_copy){face_value_retain(from), face_value_retain(to)};
    face_event_follows(to->ready, from->ready);
    s = face_event_then(from->ready, device_copy_run, c);
    face_value_release(from);
    if (s) {
        face_value_release(from);
        face_value_release(to);
        face_value_release(to);
        base_free(c);
        return s;
    }
    return face_buffer_new(to, memory, out);
}

FACE(Buffer_CopyToDevice) {
    PJRT_Device *d;
    XT_TRY(face_pick_device(a->buffer->device->client, a->dst_device, NULL, &d));
    return copy_to(a->buffer, d, NULL, &a->dst_buffer);
}

FACE(Buffer_CopyToMemory) {
    PJRT_Device *d;
    XT_TRY(face_pick_device(a->buffer->device->client, NULL, a->dst_memory, &d));
    return copy_to(a->buffer, d, a->dst_memory, &a->dst_buffer);
}

/* --- readiness and pointers --- */
FACE(Buffer_ReadyEvent) {
    face_value *v = face_buffer_value(a->buffer);
    /* clients treat a refusal here as fatal, an event's error not */
    if (!v) return face_event_given(gone(), &a->event);
    face_event_asked(v->ready);
    FACE_GIVE(a->event = face_event_retain(v->ready));
    face_value_release(v);
    return NULL;
}

/* The address of the data, once it is there; stays valid while the buffer (or an external reference) lives. */
static xt_status address(PJRT_Buffer *b, void **out) {
    face_value *v;
    XT_TRY(hold(b, &v));
    xt_status s = face_event_wait(v->ready);
    if (!s) *out = v->data;
    face_value_release(v);
    return s;
}

FACE(Buffer_UnsafePointer) {
    void *p = NULL;
    XT_TRY(address(a->buffer, &p));
    a->buffer_pointer = (uintptr_t)p;
    return NULL;
}

FACE(Buffer_OpaqueDeviceMemoryDataPointer) {
    return address(a->buffer, &a->device_memory_ptr);
}

/* An external reference keeps the value itself, so deletion and donation leave the bytes alone until it goes. */
FACE(Buffer_IncreaseExternalReferenceCount) {
    PJRT_Buffer *b = a->buffer;
    pthread_mutex_lock(&b->lock);
    bool there = b->value || b->external > 0;
    if (there && b->external++ == 0) b->pinned = face_value_retain(b->value);
    pthread_mutex_unlock(&b->lock);
    return there ? NULL : gone();
}

FACE(Buffer_DecreaseExternalReferenceCount) {
    PJRT_Buffer *b = a->buffer;
    face_value *last = NULL;
    pthread_mutex_lock(&b->lock);
    bool there = b->external > 0;
    if (there && --b->external == 0) {
        last = b->pinned;
        b->pinned = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    face_value_release(last);
    return there ? NULL : status_new(XT_FAILED_PRECONDITION, NULL, "the buffer has no external reference to give back");
}
