/* Transfers in pieces: buffers whose memory exists from the start and becomes ready when the client has sent its last
 * piece, or said that it failed.
 *
 * Invariants: a slot's value is set exactly once (`open` under the lock says who may); pieces are copied before
 * the call returns, so their events are set already; a manager that goes leaves the buffers it has not finished
 * with an error. */
#include "base/narrow.h"
#include "pjrt/face.h"

typedef struct slot {
    face_value *value;
    bool open, retrieved; /* guarded */
} slot;
struct PJRT_AsyncHostToDeviceTransferManager {
    PJRT_Device *device;
    PJRT_Memory *memory;
    pthread_mutex_t lock;
    size_t n;
    slot *slots;
};
typedef PJRT_AsyncHostToDeviceTransferManager manager;

static void manager_free(manager *m) {
    PJRT_Client *c = m->device->client;
    for (size_t i = 0; i < m->n; i++) {
        if (m->slots[i].open)
            face_event_set(
                m->slots[i].value->ready,
                status_new(XT_CANCELLED, NULL, "the transfer manager went before buffer %zu was sent whole", i));
        face_value_release(m->slots[i].value);
    }
    pthread_mutex_destroy(&m->lock);
    base_free(m->slots);
    face_handle_free(m, sizeof *m);
    face_client_release(c);
}

static xt_status slot_init(slot *s, PJRT_Device *d, const PJRT_ShapeSpec *shape,
                           const PJRT_Buffer_MemoryLayout *layout) {
    const ir_type *t;
    XT_TRY(face_type_of(shape->element_type, shape->dims, shape->num_dims, &t));
    const face_layout *order;
    XT_TRY(face_layout_asked(layout, t, &order));
    XT_TRY(face_value_new(d, t, order, &s->value));
    s->open = true;
    return face_alloc(d, s->value->bytes, &s->value->data);
}

FACE(Client_CreateBuffersForAsyncHostToDevice) {
    PJRT_Device *d;
    XT_TRY(face_pick_device(a->client, NULL, a->memory, &d));
    if (a->num_device_layouts != 0 && a->num_device_layouts != a->num_shape_specs)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%zu layouts for %zu shapes", a->num_device_layouts,
                          a->num_shape_specs);
    manager *m = face_handle_new(sizeof *m);
    slot *slots = base_calloc(a->num_shape_specs, sizeof *slots);
    if (!m || !slots) {
        face_handle_free(m, sizeof *m);
        base_free(slots);
        return status_oom(a->num_shape_specs, "a transfer");
    }
    m->slots = slots;
    m->device = d;
    m->memory = a->memory;
    pthread_mutex_init(&m->lock, NULL);
    face_client_retain(d->client);
    for (size_t i = 0; i < a->num_shape_specs; i++) {
        m->n = i + 1;
        xt_status s =
            slot_init(&m->slots[i], d, &a->shape_specs[i], a->num_device_layouts ? a->device_layouts[i] : NULL);
        if (!s) continue;
        manager_free(m);
        return status_context(s, "buffer %zu of a transfer", i);
    }
    FACE_GIVE(a->transfer_manager = m);
    return NULL;
}

void face_transfer_end(void *handle) {
    manager_free(handle);
}

FACE(AsyncHostToDeviceTransferManager_Destroy) {
    (void)a;
    return NULL;
}

static xt_status find(manager *m, int32_t index, slot **out) {
    if (index < 0 || (size_t)index >= m->n)
        return status_new(XT_OUT_OF_RANGE, NULL, "buffer %d of a transfer of %zu", index, m->n);
    *out = &m->slots[index];
    return NULL;
}

/* Ends the slot's transfer with `s`, which it takes over; an error when it has ended already. */
static xt_status finish(manager *m, slot *at, xt_status s) {
    pthread_mutex_lock(&m->lock);
    bool mine = at->open;
    at->open = false;
    pthread_mutex_unlock(&m->lock);
    if (mine) {
        face_event_set(at->value->ready, s);
        return NULL;
    }
    xt_status_free(s);
    return status_new(XT_FAILED_PRECONDITION, NULL, "buffer %zu of the transfer has been sent whole or has failed",
                      (size_t)(at - m->slots));
}

static xt_status check_open(manager *m, const slot *at) {
    pthread_mutex_lock(&m->lock);
    bool open = at->open;
    pthread_mutex_unlock(&m->lock);
    return open ? NULL
                : status_new(XT_FAILED_PRECONDITION, NULL,
                             "buffer %zu of the transfer has been sent whole or has failed", (size_t)(at - m->slots));
}

FACE(AsyncHostToDeviceTransferManager_TransferData) {
    slot *at = NULL;
    XT_TRY(find(a->transfer_manager, a->buffer_index, &at));
    int64_t bytes = (int64_t)at->value->bytes;
    if (a->offset < 0 || a->transfer_size < 0 || a->offset > bytes || a->transfer_size > bytes - a->offset)
        return status_new(XT_OUT_OF_RANGE, NULL, "%lld bytes at %lld of a buffer of %lld", (long long)a->transfer_size,
                          (long long)a->offset, (long long)bytes);
    XT_TRY(check_open(a->transfer_manager, at));
    face_event *done;
    XT_TRY(face_event_done(NULL, &done));
    if (a->transfer_size > 0) memcpy((char *)at->value->data + a->offset, a->data, (size_t)a->transfer_size);
    if (a->transfer_size > 0)
        narrow_extend(at->value->type->dtype, (char *)at->value->data + a->offset, (size_t)a->transfer_size);
    xt_status s = a->is_last_transfer ? finish(a->transfer_manager, at, NULL) : NULL;
    if (s)
        face_event_release(done);
    else
        FACE_GIVE(a->done_with_h2d_transfer = done);
    return s;
}

FACE(AsyncHostToDeviceTransferManager_TransferLiteral) {
    slot *at = NULL;
    const ir_type *t;
    int64_t *strides;
    XT_TRY(find(a->transfer_manager, a->buffer_index, &at));
    XT_TRY(face_type_of(a->shape_element_type, a->shape_dims, a->shape_num_dims, &t));
    if (t != at->value->type) {
        char got[200], want[200];
        return status_new(XT_INVALID_ARGUMENT, NULL, "a literal of %s for a buffer of %s",
                          face_type_text(t, got, sizeof got), face_type_text(at->value->type, want, sizeof want));
    }
    if (!a->data && t->count > 0) return status_new(XT_INVALID_ARGUMENT, NULL, "the literal is NULL");
    XT_TRY(check_open(a->transfer_manager, at));
    XT_TRY(face_layout_strides(a->shape_layout, t, &strides));
    xt_status s = face_check_read(a->data, strides, t);
    if (!s) s = face_strides_stored(&strides, at->value);
    face_event *done;
    if (!s) s = face_event_done(NULL, &done);
    if (!s) {
        face_gather(at->value->data, a->data, strides, at->value->stored);
        if ((s = finish(a->transfer_manager, at, NULL)))
            face_event_release(done);
        else
            FACE_GIVE(a->done_with_h2d_transfer = done);
    }
    base_free(strides);
    return s;
}

FACE(AsyncHostToDeviceTransferManager_SetBufferError) {
    slot *at = NULL;
    XT_TRY(find(a->transfer_manager, a->buffer_index, &at));
    return finish(a->transfer_manager, at,
                  face_take_error(face_callback_error(a->error_code, a->error_message, a->error_message_size),
                                  "set by the client"));
}

FACE(AsyncHostToDeviceTransferManager_RetrieveBuffer) {
    manager *m = a->transfer_manager;
    slot *at = NULL;
    XT_TRY(find(m, a->buffer_index, &at));
    pthread_mutex_lock(&m->lock);
    bool again = at->retrieved;
    at->retrieved = true;
    pthread_mutex_unlock(&m->lock);
    if (again)
        return status_new(XT_FAILED_PRECONDITION, NULL, "buffer %d of the transfer has been retrieved already",
                          a->buffer_index);
    return face_buffer_new(face_value_retain(at->value), m->memory, &a->buffer_out);
}

FACE(AsyncHostToDeviceTransferManager_Device) {
    a->device_out = a->transfer_manager->device;
    return NULL;
}

FACE(AsyncHostToDeviceTransferManager_BufferCount) {
    a->buffer_count = a->transfer_manager->n;
    return NULL;
}

FACE(AsyncHostToDeviceTransferManager_BufferSize) {
    slot *at = NULL;
    XT_TRY(find(a->transfer_manager, a->buffer_index, &at));
    a->buffer_size = at->value->bytes;
    return NULL;
}

FACE(AsyncHostToDeviceTransferManager_AddMetadata) {
    (void)a; /* for a log of transfers, which is not kept */
    return NULL;
}
