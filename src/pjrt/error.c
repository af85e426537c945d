/* Errors: a PJRT_Error is a status in a box. Without memory for the box there is one static error that says so. */
#include "pjrt/face.h"

struct PJRT_Error {
    xt_status status;
};

static PJRT_Error no_memory; /* status NULL stands for RESOURCE_EXHAUSTED */
static const char no_memory_text[] = "out of host memory while reporting an error";

PJRT_Error *face_error(xt_status s) {
    if (!s) return NULL;
    PJRT_Error *e = face_handle_new(sizeof *e);
    if (!e) {
        xt_status_free(s);
        return &no_memory;
    }
    e->status = s;
    FACE_GIVE(e);
    return e;
}

void face_error_end(void *handle) {
    PJRT_Error *e = handle;
    xt_status_free(e->status);
    face_handle_free(e, sizeof *e);
}

void face_Error_Destroy(PJRT_Error_Destroy_Args *a) {
    xt_status s = face_check(a, FACE_SLOT_Error_Destroy);
    bool unusable = s != NULL;
    xt_status_free(s); /* nobody can be told */
    face_call call = face_call_begin();
    if (!unusable) face_end(a->error, FACE_ERROR);
    face_call_end(call);
}

void face_Error_Message(PJRT_Error_Message_Args *a) {
    xt_status s = face_check(a, FACE_SLOT_Error_Message);
    bool unusable = s != NULL;
    xt_status_free(s);
    if (unusable) return;
    face_call call = face_call_begin();
    bool has = face_hold(a->error, FACE_ERROR);
    a->message = has                      ? status_message(a->error->status)
                 : a->error == &no_memory ? no_memory_text
                                          : "the error has been destroyed, or is none of this plugin's";
    a->message_size = strlen(a->message);
    face_call_end(call);
}

FACE(Error_GetCode) {
    if (a->error != &no_memory) XT_TRY(FACE_CHECK(a->error, "Error_GetCode", "error"));
    a->code = a->error->status ? (PJRT_Error_Code)status_code(a->error->status) : PJRT_RESOURCE_EXHAUSTED;
    return NULL;
}

/* Errors carry no payloads. An error from here would make clients ask for the error's payloads without end, so
 * nothing is checked. */
PJRT_Error *face_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args *a) {
    (void)a;
    return NULL;
}

static PJRT_Error *callback_error(PJRT_Error_Code code, const char *message, size_t n) {
    return face_error(status_new(code > PJRT_OK && code <= PJRT_UNAUTHENTICATED ? (xt_code)code : XT_UNKNOWN, NULL,
                                 "%.*s", (int)(n > 65536 ? 65536 : n), message ? message : ""));
}
PJRT_CallbackError face_callback_error = callback_error;

xt_status face_take_error(PJRT_Error *e, const char *what) {
    if (!e) return NULL;
    xt_status s = e->status ? status_context(e->status, "%s", what) : status_oom(sizeof *e, what);
    e->status = NULL;
    face_call call = face_call_begin();
    face_end(e, FACE_ERROR);
    face_call_end(call);
    return s;
}

PJRT_NamedValue face_float(const char *name, double v) {
    return (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_VALUE_FLOAT,
                             .float_value = (float)v,
                             .value_size = 1};
}

PJRT_NamedValue face_int64s(const char *name, const int64_t *v, size_t n) {
    return (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_VALUE_INT64_LIST,
                             .int64_array_value = v,
                             .value_size = n};
}
