/* Buffers: made from host memory, asked about, deleted. Reading and copying is in transfer.c. */
#include "base/narrow.h"
#include "pjrt/face.h"

/* The row-major layout of any rank n is the last n of these. */
enum { MAX_LAYOUT_RANK = 64 };
static const int64_t descending[MAX_LAYOUT_RANK] = {63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
                                                    47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
                                                    31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                                    15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0};

/* --- from the host --- */
static xt_status check_strides(const PJRT_Client_BufferFromHostBuffer_Args *a) {
    if (a->num_byte_strides != 0 && a->num_byte_strides != a->num_dims)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%zu byte strides for %zu dims", a->num_byte_strides, a->num_dims);
    if (a->host_buffer_semantics < 0 || a->host_buffer_semantics >= PJRT_HOST_SEMANTICS_COUNT)
        return status_new(XT_INVALID_ARGUMENT, NULL, "host buffer semantics %d are unknown",
                          (int)a->host_buffer_semantics);
    return NULL;
}

/* Uses the client's memory as it is: only dense, aligned memory that stays untouched, of types that are the same here.
 * The value's end sets `done`. */
static void borrow(face_value *v, const void *data, face_event *done) {
    v->data = (void *)data;
    v->borrowed = true;
    v->on_free = face_event_retain(done);
    face_event_set(v->ready, NULL);
}

static xt_status copy_rows(face_value *v, const void *data, const int64_t *strides) {
    bool zero;
    XT_TRY(face_alloc_told(v->device, v->bytes, &v->data, &zero));
    if (face_is_dense(strides, v->stored) && narrow_bits(v->type->dtype) == 255)
        face_copy_in(v->data, data, v->bytes, zero);
    else
        face_gather(v->data, data, strides, v->stored);
    return NULL;
}

/* strides: by the dims of its type. */
static xt_status copy_in(face_value *v, const void *data, const int64_t *strides) {
    if (!v->layout) return copy_rows(v, data, strides);
    size_t n = strides ? v->type->rank * sizeof *strides : 0;
    int64_t *own = n ? base_malloc(n) : NULL;
    if (n && !own) return status_oom(n, "a layout");
    if (n) memcpy(own, strides, n);
    XT_TRY(face_strides_stored(&own, v));
    xt_status s = copy_rows(v, data, own);
    base_free(own);
    return s;
}

FACE(Client_BufferFromHostBuffer) {
    PJRT_Device *d;
    const ir_type *t;
    XT_TRY(face_pick_device(a->client, a->device, a->memory, &d));
    XT_TRY(check_strides(a));
    XT_TRY(face_type_of(a->type, a->dims, a->num_dims, &t));
    const face_layout *layout;
    XT_TRY(face_layout_asked(a->device_layout, t, &layout));
    if (!a->data && t->count > 0) return status_new(XT_INVALID_ARGUMENT, NULL, "the host memory of the buffer is NULL");
    const int64_t *strides = a->num_byte_strides ? a->byte_strides : NULL;
    XT_TRY(face_check_read(a->data, strides, t));
    bool keep =
        a->host_buffer_semantics == PJRT_HOST_ZERO_COPY || a->host_buffer_semantics == PJRT_HOST_MUTABLE_ZERO_COPY;
    face_event *done = face_event_new();
    face_value *v = NULL;
    xt_status s = done ? face_value_new(d, t, layout, &v) : status_oom(sizeof *v, "an event");
    if (!s && keep && !layout && t->count > 0 && (uintptr_t)a->data % 64 == 0 && face_is_dense(strides, t) &&
        narrow_bits(t->dtype) == 255)
        borrow(v, a->data, done);
    else if (!s) {
        s = copy_in(v, a->data, strides);
        face_event_set(v->ready, status_clone(s));
        face_event_set(done, NULL);
    }
    if (!s)
        s = face_buffer_new(v, a->memory, &a->buffer); /* a failure inside sets `done` with the value's end */
    else
        face_value_release(v);
    if (s)
        face_event_release(done);
    else
        FACE_GIVE(a->done_with_host_buffer = done);
    return s;
}

typedef struct view_end {
    void (*fn)(void *, void *);
    void *data, *arg;
} view_end;

static void view_ended(void *user, xt_status s) {
    view_end e = *(view_end *)user;
    base_free(user);
    xt_status_free(s);
    e.fn(e.data, e.arg);
}

/* A buffer over memory someone else owns (DLPack); on_delete_callback tells its end. */
FACE(Client_CreateViewOfDeviceBuffer) {
    PJRT_Device *d;
    const ir_type *t;
    XT_TRY(face_pick_device(a->client, a->device, a->memory, &d));
    XT_TRY(face_type_of(a->element_type, a->dims, a->num_dims, &t));
    const face_layout *layout;
    XT_TRY(face_layout_asked(a->layout, t, &layout));
    if (!a->device_buffer_ptr && t->count > 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the memory to view is NULL");
    face_value *v;
    XT_TRY(face_value_new(d, t, layout, &v));
    face_event *done = face_event_new();
    view_end *end = base_malloc(sizeof *end);
    xt_status s = done && end ? NULL : status_oom(sizeof *end, "a view");
    if (end) *end = (view_end){a->on_delete_callback, a->device_buffer_ptr, a->on_delete_callback_arg};
    if (!s && end->fn) s = face_event_then(done, view_ended, end);
    if (s || !end->fn) base_free(end);
    if (!s) {
        borrow(v, a->device_buffer_ptr, done);
        s = face_buffer_new(v, a->memory, &a->buffer); /* its failure ends the view like a deletion */
    } else
        face_value_release(v);
    face_event_release(done);
    return s;
}

FACE(Client_CreateUninitializedBuffer) {
    PJRT_Device *d;
    const ir_type *t;
    face_value *v;
    XT_TRY(face_pick_device(a->client, a->device, a->memory, &d));
    XT_TRY(face_type_of(a->shape_element_type, a->shape_dims, a->shape_num_dims, &t));
    const face_layout *layout;
    XT_TRY(face_layout_asked(a->shape_layout, t, &layout));
    XT_TRY(face_value_new(d, t, layout, &v));
    bool zero;
    xt_status s = face_alloc_told(d, v->bytes, &v->data, &zero);
    if (s) {
        face_value_release(v);
        return s;
    }
    if (!zero) memset(v->data, 0, v->bytes);
    face_event_set(v->ready, NULL);
    return face_buffer_new(v, a->memory, &a->buffer);
}

/* A buffer that stands for a failure: whatever uses it gets the error. */
FACE(Client_CreateErrorBuffer) {
    PJRT_Device *d;
    const ir_type *t;
    face_value *v;
    XT_TRY(face_pick_device(a->client, NULL, a->memory, &d));
    XT_TRY(face_type_of(a->shape_element_type, a->shape_dims, a->shape_num_dims, &t));
    XT_TRY(face_value_new(d, t, NULL, &v));
    face_event_set(v->ready,
                   face_take_error(face_callback_error(a->error_code, a->error_message, a->error_message_size),
                                   "set by the client"));
    return face_buffer_new(v, a->memory, &a->buffer);
}

/* --- questions --- */
FACE(Buffer_ElementType) {
    a->type = (PJRT_Buffer_Type)a->buffer->type->dtype;
    return NULL;
}

FACE(Buffer_Dimensions) {
    a->dims = a->buffer->type->dims; /* types live as long as the process */
    a->num_dims = a->buffer->type->rank;
    return NULL;
}

FACE(Buffer_UnpaddedDimensions) {
    a->unpadded_dims = a->buffer->type->dims;
    a->num_dims = a->buffer->type->rank;
    return NULL;
}

FACE(Buffer_DynamicDimensionIndices) {
    a->dynamic_dim_indices = NULL;
    a->num_dynamic_dims = 0;
    return NULL;
}

FACE(Buffer_GetMemoryLayout) {
    uint32_t rank = a->buffer->type->rank;
    if (rank > MAX_LAYOUT_RANK)
        return status_new(XT_UNIMPLEMENTED, NULL, "layouts of more than %d dims", MAX_LAYOUT_RANK);
    a->layout = (PJRT_Buffer_MemoryLayout){
        .struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
        .tiled = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Tiled),
                  .minor_to_major = a->buffer->layout ? face_layout_minor_to_major(a->buffer->layout)
                                                      : descending + MAX_LAYOUT_RANK - rank,
                  .minor_to_major_size = rank},
        .type = PJRT_LAYOUT_TILED,
    };
    return NULL;
}

FACE(Buffer_OnDeviceSizeInBytes) {
    a->on_device_size_in_bytes = ir_type_bytes(a->buffer->type);
    return NULL;
}

FACE(Buffer_Device) {
    a->device = a->buffer->device;
    return NULL;
}

FACE(Buffer_Memory) {
    a->memory = a->buffer->memory;
    return NULL;
}

FACE(Buffer_IsOnCpu) {
    a->is_on_cpu = true;
    return NULL;
}

FACE(Buffer_IsDeleted) {
    pthread_mutex_lock(&a->buffer->lock);
    a->is_deleted = a->buffer->value == NULL;
    pthread_mutex_unlock(&a->buffer->lock);
    return NULL;
}

/* --- the end --- */
FACE(Buffer_Delete) {
    face_value_release(face_buffer_take(a->buffer));
    return NULL;
}

void face_buffer_end(void *handle) {
    PJRT_Buffer *b = handle;
    PJRT_Client *c = b->device->client;
    face_value_release(b->value);
    face_value_release(b->pinned);
    pthread_mutex_destroy(&b->lock);
    face_handle_free(b, sizeof *b);
    live_add(LIVE_plugin_buffer, -1);
    face_client_release(c);
}

FACE(Buffer_Destroy) {
    (void)a;
    return NULL;
}
