/* Buffers made of other buffers without a copy: another type over the same bytes, a promise that is kept later, a
 * donation that waits.
 *
 * All are views (value.c): they hold the value whose memory they read, so that no program writes over it. */
#include "pjrt/face.h"

static xt_status hold(PJRT_Buffer *b, face_value **out) {
    *out = face_buffer_value(b);
    return *out ? NULL
                : status_new(XT_FAILED_PRECONDITION, NULL, "the buffer has been deleted or donated to a program");
}

FACE(Buffer_Bitcast) {
    const ir_type *t;
    face_value *v, *view;
    XT_TRY(face_type_of(a->element_type, a->dims, a->num_dims, &t));
    const face_layout *layout;
    XT_TRY(face_layout_asked(a->device_layout, t, &layout));
    if (ir_type_bytes(t) != ir_type_bytes(a->buffer->type)) {
        char got[200], want[200];
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s cannot be seen as %s: it has %zu bytes, not %zu",
                          face_type_text(a->buffer->type, got, sizeof got), face_type_text(t, want, sizeof want),
                          ir_type_bytes(a->buffer->type), ir_type_bytes(t));
    }
    XT_TRY(hold(a->buffer, &v));
    xt_status s = face_value_view(v, t, layout, NULL, &view);
    face_value_release(v);
    return s ? s : face_buffer_new(view, a->buffer->memory, &a->out_buffer);
}

/* --- a buffer that waits for the buffer it stands for --- */
struct PJRT_FulfillAliasBufferCallback {
    face_value *alias; /* not ready, without memory */
};

FACE(Client_CreateAliasBuffer) {
    PJRT_Device *d;
    const ir_type *t;
    face_value *v;
    XT_TRY(face_pick_device(a->client, NULL, a->memory, &d));
    XT_TRY(face_type_of(a->shape_element_type, a->shape_dims, a->shape_num_dims, &t));
    const face_layout *layout;
    XT_TRY(face_layout_asked(a->shape_layout, t, &layout));
    PJRT_FulfillAliasBufferCallback *keep = face_handle_new(sizeof *keep);
    if (!keep) return status_oom(sizeof *keep, "an alias");
    xt_status s = face_value_new(d, t, layout, &v);
    if (!s) {
        v->borrowed = true;
        keep->alias = face_value_retain(v);
        if ((s = face_buffer_new(v, a->memory, &a->alias_buffer))) {
            face_event_set(keep->alias->ready, NULL);
            face_value_release(keep->alias);
        }
    }
    if (s)
        face_handle_free(keep, sizeof *keep);
    else
        FACE_GIVE(a->fulfill_alias_buffer_cb = keep);
    return s;
}

static void alias_ready(void *user, xt_status s) {
    face_value *alias = user;
    if (!s) alias->data = alias->of->data;
    face_event_set(alias->ready, s);
    face_value_release(alias);
}

void face_alias_end(void *handle) {
    face_handle_free(handle, sizeof(PJRT_FulfillAliasBufferCallback));
}

FACE(Client_FulfillAliasBuffer) {
    if (a->status_code == PJRT_OK) XT_TRY(FACE_CHECK(a->buffer, "Client_FulfillAliasBuffer", "buffer"));
    face_value *alias = a->fulfill_alias_buffer_cb->alias, *v = NULL;
    xt_status failed = NULL;
    if (a->status_code != PJRT_OK)
        failed = face_take_error(face_callback_error(a->status_code, a->error_message, a->error_message_size),
                                 "set by the client");
    else if (a->buffer->type != alias->type || !face_layout_same(a->buffer->layout, alias->layout, alias->type)) {
        char got[200], want[200];
        return status_new(
            XT_INVALID_ARGUMENT, NULL, "an alias of %s cannot stand for %s, or lies in memory in another order",
            face_type_text(alias->type, want, sizeof want), face_type_text(a->buffer->type, got, sizeof got));
    } else
        XT_TRY(hold(a->buffer, &v));
    /* of two threads one fulfils it; its reference goes to the end of the waiting */
    xt_status other =
        face_end_handle(a->fulfill_alias_buffer_cb, FACE_ALIAS, "Client_FulfillAliasBuffer", "fulfill_alias_buffer_cb");
    if (other) {
        face_value_release(v);
        xt_status_free(failed);
        return other;
    }
    alias->of = v;
    if (failed)
        alias_ready(alias, failed);
    else if ((failed = face_event_then(v->ready, alias_ready, alias)))
        alias_ready(alias, failed);
    return NULL;
}

/* --- a donation that waits --- */
static void dependency_ready(PJRT_Buffer_DonateWithControlDependency_Callback_Args *a) {
    xt_status s = face_check_donation_callback(a);
    if (!a || !PJRT_REACHES(a, callback_data) || !face_take_back(a->callback_data, FACE_DEPENDENCY)) {
        xt_status_free(s); /* called before, or not by who was given it: nobody waits for it */
        return;
    }
    face_event *e = a->callback_data;
    if (!s && a->error_code != PJRT_OK)
        s = face_take_error(face_callback_error(a->error_code, a->error_message, a->error_message_size),
                            "the control dependency failed");
    face_event_set(e, s);
    face_event_release(e);
}

/* The new buffer is the old one's array, ready only after the callback; the old one is gone at once. */
FACE(Buffer_DonateWithControlDependency) {
    face_value *v, *view = NULL;
    face_event *dependency = face_event_new();
    if (!dependency) return status_oom(sizeof *v, "an event");
    xt_status s = hold(a->buffer, &v);
    if (!s) {
        s = face_value_view(v, v->type, v->layout, dependency, &view);
        face_value_release(v);
    }
    if (!s) s = face_buffer_new(view, a->buffer->memory, &a->out_buffer);
    if (s) { /* a view that waits hears of the end of its dependency */
        face_event_release(dependency);
        return s;
    }
    face_value_release(face_buffer_take(a->buffer));
    face_give(a->callback_data = dependency, FACE_DEPENDENCY);
    a->dependency_ready_callback = dependency_ready;
    return NULL;
}
