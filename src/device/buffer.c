/* Buffers: host memory to the device and back. The host side is always dense row-major; what the device does inside is
 * its own affair.
 *
 * Accounting: `device_bytes` counts a buffer from its creation until it is released or the plugin has consumed it,
 * exactly once. */
#include "base/narrow.h"
#include "device/device_int.h"

static void count_in(int64_t bytes) {
    counter_add(COUNTER_device_bytes, bytes);
    counter_max(COUNTER_device_peak_bytes, counter_get(COUNTER_device_bytes));
}

/* True for the one caller that finds the buffer gone first. */
void device_buffer_mark_gone(device_buffer *b) {
    if (!atomic_exchange(&b->gone, true)) counter_add(COUNTER_device_bytes, -b->device_bytes);
}

static void destroy_pjrt(const PJRT_Api *api, PJRT_Buffer *p) {
    if (!p) return; /* of a rehearsal */
    PJRT_Buffer_Destroy_Args d = PJRT_INIT(Buffer_Destroy, .buffer = p);
    xt_status_free(DEVICE_CALL(api, Buffer_Destroy, &d, "releasing a buffer"));
}

static int64_t ask_size(device_client *c, PJRT_Buffer *p, size_t otherwise) {
    PJRT_Buffer_OnDeviceSizeInBytes_Args a = PJRT_INIT(Buffer_OnDeviceSizeInBytes, .buffer = p);
    xt_status s = DEVICE_CALL(c->api, Buffer_OnDeviceSizeInBytes, &a, "asking for a buffer's size");
    bool known = !s;
    xt_status_free(s);
    return known ? (int64_t)a.on_device_size_in_bytes : (int64_t)otherwise;
}

xt_status device_buffer_blank(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, device_buffer **out) {
    *out = NULL;
    int64_t count;
    size_t bytes = 0;
    bool fits = dims_count(dims, rank, &count) && size_mul((size_t)count, xt_dtype_size(t), &bytes);
    device_buffer *b = fits ? base_malloc(sizeof *b + 2 * rank * sizeof b->dims[0]) : NULL;
    if (!b)
        return fits ? status_oom(sizeof *b, "a buffer")
                    : status_new(XT_INVALID_ARGUMENT, NULL, "the plugin made a buffer too large to address");
    *b = (device_buffer){.client = c, .dtype = t, .rank = rank, .bytes = bytes};
    atomic_init(&b->refs, 1);
    for (size_t i = 0; i < rank; i++) {
        b->dims[i] = dims[i];
        b->dims[rank + i] = (int64_t)(rank - 1 - i);
    }
    device_client_retain(c);
    live_add(LIVE_buffer, 1);
    *out = b;
    return NULL;
}

void device_buffer_fill(device_buffer *b, PJRT_Buffer *p, int64_t device_bytes) {
    b->pjrt = p;
    b->device_bytes = device_bytes >= 0 ? device_bytes : ask_size(b->client, p, b->bytes);
    count_in(b->device_bytes);
}

xt_status device_buffer_wrap(device_client *c, PJRT_Buffer *p, xt_dtype t, size_t rank, const int64_t *dims,
                             int64_t device_bytes, device_buffer **out) {
    xt_status s = device_buffer_blank(c, t, rank, dims, out);
    if (s)
        destroy_pjrt(c->api, p);
    else
        device_buffer_fill(*out, p, device_bytes);
    return s;
}

void device_buffer_retain(device_buffer *b) {
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void device_buffer_release(device_buffer *b) {
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    device_client *c = b->client;
    device_buffer_mark_gone(b);
    destroy_pjrt(c->api, b->pjrt);
    base_free(b);
    live_add(LIVE_buffer, -1);
    device_client_unref(c);
}

xt_dtype device_buffer_dtype(const device_buffer *b) {
    return b->dtype;
}
size_t device_buffer_rank(const device_buffer *b) {
    return b->rank;
}
const int64_t *device_buffer_dims(const device_buffer *b) {
    return b->dims;
}
size_t device_buffer_bytes(const device_buffer *b) {
    return b->bytes;
}

bool device_buffer_check_gone(device_buffer *b) {
    if (atomic_load(&b->gone) || b->client->dry) return atomic_load(&b->gone);
    PJRT_Buffer_IsDeleted_Args a = PJRT_INIT(Buffer_IsDeleted, .buffer = b->pjrt);
    xt_status s = DEVICE_CALL(b->client->api, Buffer_IsDeleted, &a, "asking whether a buffer is there");
    bool gone = !s && a.is_deleted;
    xt_status_free(s);
    if (gone) device_buffer_mark_gone(b);
    return gone;
}

/* The flag is a cache of the plugin's answer, so a const buffer may fill it. */
bool device_buffer_deleted(const device_buffer *b) {
    return device_buffer_check_gone((device_buffer *)b);
}

/* --- to the device --- */
static xt_status upload(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, const void *data,
                        PJRT_Event **out_done, device_buffer **out) {
    *out = NULL;
    *out_done = NULL;
    int64_t count;
    size_t bytes;
    if (t <= XT_DTYPE_NONE || t >= XT_DTYPE_COUNT || t == XT_TOKEN || !dims_count(dims, rank, &count) ||
        !size_mul((size_t)count, xt_dtype_size(t), &bytes)) {
        char shape[200];
        return status_new(XT_INVALID_ARGUMENT, NULL, "cannot upload %s: it is no array type",
                          device_shape_text(t, rank, dims, shape, sizeof shape));
    }
    static const char nothing[64]; /* an empty array still needs an address */
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(
        Client_BufferFromHostBuffer, .client = c->pjrt, .data = data ? data : nothing, .type = (PJRT_Buffer_Type)t,
        .dims = dims, .num_dims = rank, .host_buffer_semantics = PJRT_HOST_ONLY_DURING_CALL, .device = c->device);
    if (c->dry) {
        counter_add(COUNTER_uploads, 1);
        counter_add(COUNTER_upload_bytes, (int64_t)bytes);
        return device_buffer_wrap(c, NULL, t, rank, dims, (int64_t)bytes, out);
    }
    if (!data && bytes > 0) return status_new(XT_INVALID_ARGUMENT, NULL, "cannot upload %zu bytes from NULL", bytes);
    int64_t began = clock_ns();
    xt_status full = DEVICE_WORK(c->api, Client_BufferFromHostBuffer, &a, "uploading");
    if (status_code(full) == XT_RESOURCE_EXHAUSTED && device_wait_running(c)) {
        /* what runs gives its temporaries and inputs back */
        xt_status_free(full);
        full = DEVICE_WORK(c->api, Client_BufferFromHostBuffer, &a, "uploading");
    }
    XT_TRY(full);
    counter_add(COUNTER_upload_ns, clock_ns() - began);
    xt_status s = device_buffer_wrap(c, a.buffer, t, rank, dims, -1, out);
    if (s) {
        xt_status_free(device_event_finish(c->api, a.done_with_host_buffer, "uploading"));
        return s;
    }
    counter_add(COUNTER_uploads, 1);
    counter_add(COUNTER_upload_bytes, (int64_t)bytes);
    *out_done = a.done_with_host_buffer;
    return NULL;
}

xt_status device_upload(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, const void *data,
                        device_buffer **out) {
    PJRT_Event *done;
    XT_TRY(upload(c, t, rank, dims, data, &done, out));
    /* The plugin has copied by now; waiting costs nothing and holds for plugins that take the semantics lightly. */
    xt_status s = device_event_finish(c->api, done, "uploading");
    if (s) {
        device_buffer_release(*out);
        *out = NULL;
    }
    return s;
}

xt_status device_blank(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, device_buffer **out,
                       void **out_memory) {
    *out = NULL;
    *out_memory = NULL;
    if (c->dry || strcmp(c->info.platform, "xtrain_cpu") != 0) return NULL;
    PJRT_Client_CreateUninitializedBuffer_Args a =
        PJRT_INIT(Client_CreateUninitializedBuffer, .client = c->pjrt, .shape_dims = dims, .shape_num_dims = rank,
                  .shape_element_type = (PJRT_Buffer_Type)t, .device = c->device);
    XT_TRY(DEVICE_WORK(c->api, Client_CreateUninitializedBuffer, &a, "making a buffer"));
    XT_TRY(device_buffer_wrap(c, a.buffer, t, rank, dims, -1, out));
    PJRT_Buffer_UnsafePointer_Args p = PJRT_INIT(Buffer_UnsafePointer, .buffer = a.buffer);
    xt_status s = DEVICE_CALL(c->api, Buffer_UnsafePointer, &p, "finding a buffer's memory");
    if (!s) {
        *out_memory = (void *)p.buffer_pointer;
        return NULL;
    }
    device_buffer_release(*out);
    *out = NULL;
    return s;
}

/* --- from the device --- */
static xt_status start_read(device_buffer *b, void *dst, size_t n, PJRT_Event **out_event) {
    char shape[200];
    if (n != b->bytes)
        return status_new(XT_INVALID_ARGUMENT, NULL, "reading %s needs %zu bytes of memory, %zu were given",
                          device_shape_text(b->dtype, b->rank, b->dims, shape, sizeof shape), b->bytes, n);
    if (device_buffer_check_gone(b))
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "the buffer %s was donated to a program or deleted; it has no value any more",
                          device_shape_text(b->dtype, b->rank, b->dims, shape, sizeof shape));
    if (b->client->dry) {
        memset(dst, 0, n);
        counter_add(COUNTER_host_reads, 1);
        counter_add(COUNTER_host_read_bytes, (int64_t)n);
        *out_event = NULL;
        return NULL;
    }
    char nothing[1];
    PJRT_Buffer_MemoryLayout layout = {
        .struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
        .tiled = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Tiled),
                  .minor_to_major = b->dims + b->rank,
                  .minor_to_major_size = b->rank},
        .type = PJRT_LAYOUT_TILED,
    };
    PJRT_Buffer_ToHostBuffer_Args a = PJRT_INIT(Buffer_ToHostBuffer, .src = b->pjrt, .host_layout = &layout,
                                                .dst = dst ? dst : nothing, .dst_size = n);
    XT_TRY(DEVICE_WORK(b->client->api, Buffer_ToHostBuffer, &a, "reading a buffer"));
    counter_add(COUNTER_host_reads, 1);
    counter_add(COUNTER_host_read_bytes, (int64_t)n);
    *out_event = a.event;
    return NULL;
}

xt_status device_read(device_buffer *b, void *dst, size_t n) {
    PJRT_Event *e = NULL;
    XT_TRY(start_read(b, dst, n, &e));
    XT_TRY(device_event_finish(b->client->api, e, "reading a buffer"));
    narrow_extend(b->dtype, dst, n);
    return NULL;
}

typedef struct read_state {
    device_buffer *buffer;
    void *dst;
    size_t n;
    device_read_fn fn;
    void *user;
} read_state;

static void read_done(PJRT_Error *e, void *user_arg) {
    read_state *r = user_arg;
    device_client *c = r->buffer->client;
    if (!e) narrow_extend(r->buffer->dtype, r->dst, r->n);
    r->fn(r->user, device_error(c->api, e, "reading a buffer"));
    device_buffer_release(r->buffer);
    base_free(r);
    live_add(LIVE_event, -1);
    device_pending_done(c);
}

xt_status device_read_async(device_buffer *b, void *dst, size_t n, device_read_fn fn, void *user) {
    read_state *r = base_malloc(sizeof *r);
    if (!r) return status_oom(sizeof *r, "a read");
    *r = (read_state){b, dst, n, fn, user};
    PJRT_Event *e = NULL;
    device_client *c = b->client;
    xt_status s = start_read(b, dst, n, &e);
    if (s) {
        base_free(r);
        return s;
    }
    device_buffer_retain(b);
    live_add(LIVE_event, 1);
    device_pending_add(c);
    if (!e) {
        read_done(NULL, r);
        return NULL;
    }
    PJRT_Event_OnReady_Args a = PJRT_INIT(Event_OnReady, .event = e, .callback = read_done, .user_arg = r);
    s = DEVICE_CALL(c->api, Event_OnReady, &a, "reading a buffer");
    if (!s)
        device_event_destroy(c->api, e);
    else {
        xt_status_free(device_event_finish(c->api, e, "reading a buffer")); /* nothing may write dst after we return */
        device_buffer_release(b);
        base_free(r);
        live_add(LIVE_event, -1);
        device_pending_done(c);
    }
    return s;
}

xt_status device_buffer_wait(device_buffer *b) {
    if (b->client->dry) return NULL;
    PJRT_Buffer_ReadyEvent_Args a = PJRT_INIT(Buffer_ReadyEvent, .buffer = b->pjrt);
    XT_TRY(DEVICE_CALL(b->client->api, Buffer_ReadyEvent, &a, "waiting for a buffer"));
    return device_event_finish(b->client->api, a.event, "waiting for a buffer");
}
