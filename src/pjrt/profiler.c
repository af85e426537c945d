/* PJRT's profiler extension (type 1): a profiler is started, stopped, and gives its data as an XSpace message. There is one trace a process, so a second
 * profiler that is started begins it anew. Nothing here fails. */
#include "cpu/run/trace.h"
#include "pjrt/face.h"

struct PLUGIN_Profiler {
    str data;
    bool collected;
};

static PLUGIN_Profiler_Error *error_destroy(PLUGIN_Profiler_Error_Args *a) {
    (void)a;
    return NULL;
}

static PLUGIN_Profiler_Error *error_message(PLUGIN_Profiler_Error_Message_Args *a) {
    a->message = "";
    a->message_size = 0;
    return NULL;
}

static PLUGIN_Profiler_Error *error_code(PLUGIN_Profiler_Error_Code_Args *a) {
    a->code = PJRT_UNKNOWN;
    return NULL;
}

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *a) {
    a->profiler = base_calloc(1, sizeof *a->profiler);
    return NULL;
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Args *a) {
    if (a->profiler) str_free(&a->profiler->data);
    base_free(a->profiler);
    return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Args *a) {
    if (a->profiler) a->profiler->collected = false;
    cpu_trace_start();
    return NULL;
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Args *a) {
    (void)a;
    cpu_trace_stop();
    return NULL;
}

/* The first call, without a buffer, gives one of ours; a caller that brings its own gets a copy. */
static PLUGIN_Profiler_Error *collect(PLUGIN_Profiler_CollectData_Args *a) {
    PLUGIN_Profiler *p = a->profiler;
    if (!p) return NULL;
    if (!p->collected) {
        str_clear(&p->data);
        cpu_trace_write(&p->data);
        p->collected = true;
    }
    if (a->buffer) memcpy(a->buffer, str_cstr(&p->data), p->data.len);
    else a->buffer = (uint8_t *)p->data.data;
    a->buffer_size_in_bytes = p->data.len;
    return NULL;
}

static PLUGIN_Profiler_Api table = {.struct_size = sizeof(PLUGIN_Profiler_Api), .error_destroy = error_destroy, .error_message = error_message, .error_get_code = error_code, .create = create,
                                    .destroy = destroy, .start = start, .stop = stop, .collect_data = collect};
PJRT_Profiler_Extension face_profiler = {.base = {.struct_size = sizeof(PJRT_Profiler_Extension), .type = PJRT_EXTENSION_PROFILER, .next = &face_layouts.base}, .profiler_api = &table, .traceme_context_id = -1};
