/* Values and the handles to them: who keeps an array's memory, and when it goes. */
#include "pjrt/face.h"

xt_status face_value_new(PJRT_Device *d, const ir_type *type, const face_layout *layout, face_value **out) {
    const ir_type *stored;
    *out = NULL;
    XT_TRY(face_layout_stored(layout, type, &stored));
    face_value *v = base_calloc(1, sizeof *v);
    face_event *ready = v ? face_event_new() : NULL;
    if (!ready) {
        base_free(v);
        return status_oom(sizeof *v, "a value");
    }
    *v = (face_value){
        .device = d, .type = type, .stored = stored, .layout = layout, .bytes = ir_type_bytes(type), .ready = ready};
    atomic_init(&v->refs, 1);
    face_client_retain(d->client);
    *out = v;
    return NULL;
}

face_value *face_value_retain(face_value *v) {
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void face_value_release(face_value *v) {
    if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
    PJRT_Client *c = v->device->client;
    if (!v->borrowed) face_free(v->device, v->data, v->bytes);
    if (v->on_free) face_event_set(v->on_free, NULL);
    face_event_release(v->on_free);
    face_value_release(v->of);
    face_event_release(v->ready);
    base_free(v);
    face_client_release(c);
}

/* --- values that are another's memory --- */
/* The view waits for `of`, then for `also`; it holds itself meanwhile. */
typedef struct view_wait {
    face_value *view;
    face_event *also; /* NULL when it is not waited for any more */
} view_wait;

static void view_ready(void *user, xt_status s) {
    view_wait *w = user;
    face_event *also = w->also;
    w->also = NULL;
    if (!s && also) {
        s = face_event_then(also, view_ready, w);
        face_event_release(also);
        if (!s) return; /* w may be gone */
    } else
        face_event_release(also);
    if (!s) w->view->data = w->view->of->data;
    face_event_set(w->view->ready, s);
    face_value_release(w->view);
    base_free(w);
}

xt_status face_value_view(face_value *of, const ir_type *type, const face_layout *layout, face_event *also,
                          face_value **out) {
    XT_TRY(face_value_new(of->device, type, layout, out));
    view_wait *w = base_malloc(sizeof *w);
    xt_status s = w ? NULL : status_oom(sizeof *w, "a view");
    (*out)->borrowed = true;
    (*out)->of = face_value_retain(of);
    if (w) *w = (view_wait){face_value_retain(*out), also ? face_event_retain(also) : NULL};
    face_event_follows((*out)->ready, of->ready);
    if (!s && (s = face_event_then(of->ready, view_ready, w))) {
        face_event_release(w->also);
        face_value_release(*out);
        base_free(w);
    }
    if (s) {
        face_value_release(*out);
        *out = NULL;
    }
    return s;
}

xt_status face_buffer_new(face_value *v, PJRT_Memory *memory, PJRT_Buffer **out) {
    PJRT_Buffer *b = face_handle_new(sizeof *b);
    if (!b) {
        face_value_release(v);
        return status_oom(sizeof *b, "a buffer");
    }
    b->device = v->device;
    b->memory = memory ? memory : &v->device->memory[0];
    b->type = v->type;
    b->layout = v->layout;
    b->value = v;
    pthread_mutex_init(&b->lock, NULL);
    face_client_retain(b->device->client);
    live_add(LIVE_plugin_buffer, 1);
    FACE_GIVE(b);
    *out = b;
    return NULL;
}

face_value *face_buffer_value(PJRT_Buffer *b) {
    pthread_mutex_lock(&b->lock);
    face_value *v = b->value ? face_value_retain(b->value) : NULL;
    pthread_mutex_unlock(&b->lock);
    return v;
}

face_value *face_buffer_take(PJRT_Buffer *b) {
    pthread_mutex_lock(&b->lock);
    face_value *v = b->value;
    b->value = NULL;
    pthread_mutex_unlock(&b->lock);
    return v;
}

xt_status face_type_of(PJRT_Buffer_Type t, const int64_t *dims, size_t n, const ir_type **out) {
    *out = NULL;
    if (t <= PJRT_TYPE_INVALID || t > PJRT_TYPE_LAST || (xt_dtype)t == XT_TOKEN)
        return status_new(XT_INVALID_ARGUMENT, NULL, "element type %d is not one of this plugin's", (int)t);
    for (size_t i = 0; i < n && i < IR_MAX_RANK; i++)
        if (dims[i] < 0) return status_new(XT_INVALID_ARGUMENT, NULL, "dim %zu is %lld", i, (long long)dims[i]);
    int64_t count;
    size_t bytes;
    if (n > IR_MAX_RANK || !dims_count(dims, n, &count) ||
        !size_mul((size_t)count, xt_dtype_size((xt_dtype)t), &bytes) || bytes > PTRDIFF_MAX)
        return status_new(XT_INVALID_ARGUMENT, NULL, "an array of %zu dims of %s is too large", n,
                          xt_dtype_name((xt_dtype)t));
    *out = ir_tensor((xt_dtype)t, n, dims);
    return *out ? NULL : status_oom(sizeof **out, "a type");
}

const char *face_type_text(const ir_type *t, char *buf, size_t n) {
    str s = STR_INIT;
    ir_type_print(t, &s);
    snprintf(buf, n, "%s", str_cstr(&s));
    str_free(&s);
    return buf;
}
