/* PJRT's profiler extension (type 1): a profiler is started, stopped, and gives its data as an XSpace message. There is
 * one trace a process, so a second profiler that is started begins it anew. Its Args are not PJRT's, so they are
 * checked here; errors are constants that nobody has to free. */
#include "cpu/run/trace.h"
#include "pjrt/face.h"

struct PLUGIN_Profiler {
    str data;
    bool collected;
};
struct PLUGIN_Profiler_Error {
    PJRT_Error_Code code;
    const char *text;
};
static PLUGIN_Profiler_Error short_args = {PJRT_INVALID_ARGUMENT,
                                           "the argument struct is NULL, or its struct_size is too small"};
static PLUGIN_Profiler_Error no_profiler = {PJRT_FAILED_PRECONDITION,
                                            "the profiler is NULL, has been destroyed, or is none of this plugin's"};
static PLUGIN_Profiler_Error no_memory = {PJRT_RESOURCE_EXHAUSTED, "out of memory for a profiler"};
static PLUGIN_Profiler_Error no_room = {PJRT_INVALID_ARGUMENT,
                                        "the buffer is smaller than the profile: collect without one to hear its size"};

#define REACHES_END(a, last) ((a) && PJRT_REACHES(a, last))

static PLUGIN_Profiler_Error *error_destroy(PLUGIN_Profiler_Error_Args *a) {
    (void)a;
    return NULL;
}

static bool is_error(const PLUGIN_Profiler_Error *e) {
    return e == &short_args || e == &no_profiler || e == &no_memory || e == &no_room;
}

static PLUGIN_Profiler_Error *error_message(PLUGIN_Profiler_Error_Message_Args *a) {
    if (!REACHES_END(a, message_size)) return &short_args;
    face_tell(is_error(a->error) ? a->error->text : "", &a->message, &a->message_size);
    return NULL;
}

static PLUGIN_Profiler_Error *error_code(PLUGIN_Profiler_Error_Code_Args *a) {
    if (!REACHES_END(a, code)) return &short_args;
    a->code = is_error(a->error) ? (int32_t)a->error->code : PJRT_UNKNOWN;
    return NULL;
}

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *a) {
    if (!REACHES_END(a, profiler)) return &short_args;
    a->profiler = face_handle_new(sizeof *a->profiler);
    if (!a->profiler) return &no_memory;
    face_give(a->profiler, FACE_PROFILER);
    return NULL;
}

static PLUGIN_Profiler_Error *check(const PLUGIN_Profiler_Args *a) {
    if (!REACHES_END(a, profiler)) return &short_args;
    return face_is_given(a->profiler, FACE_PROFILER) ? NULL : &no_profiler;
}

/* NULL is a profiler that nobody has to destroy. */
static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Args *a) {
    if (!REACHES_END(a, profiler)) return &short_args;
    if (!a->profiler) return NULL;
    if (!face_take_back(a->profiler, FACE_PROFILER)) return &no_profiler;
    str_free(&a->profiler->data);
    face_handle_free(a->profiler, sizeof *a->profiler);
    return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Args *a) {
    PLUGIN_Profiler_Error *e = check(a);
    if (e) return e;
    a->profiler->collected = false;
    cpu_trace_start();
    return NULL;
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Args *a) {
    PLUGIN_Profiler_Error *e = check(a);
    if (!e) cpu_trace_stop();
    return e;
}

/* The first call, without a buffer, gives one of ours; a caller that brings its own gets a copy. */
static PLUGIN_Profiler_Error *collect(PLUGIN_Profiler_CollectData_Args *a) {
    if (!REACHES_END(a, buffer_size_in_bytes)) return &short_args;
    PLUGIN_Profiler *p = a->profiler;
    if (!face_is_given(p, FACE_PROFILER)) return &no_profiler;
    if (!p->collected) {
        str_clear(&p->data);
        cpu_trace_write(&p->data);
        p->collected = true;
    }
    if (a->buffer && a->buffer_size_in_bytes < p->data.len) return &no_room;
    if (!a->buffer)
        a->buffer = (uint8_t *)p->data.data;
    else if (p->data.len > 0)
        memcpy(a->buffer, p->data.data, p->data.len);
    a->buffer_size_in_bytes = p->data.len;
    return NULL;
}

static PLUGIN_Profiler_Api table = {.struct_size = sizeof(PLUGIN_Profiler_Api),
                                    .error_destroy = error_destroy,
                                    .error_message = error_message,
                                    .error_get_code = error_code,
                                    .create = create,
                                    .destroy = destroy,
                                    .start = start,
                                    .stop = stop,
                                    .collect_data = collect};
PJRT_Profiler_Extension face_profiler = {.base = {.struct_size = sizeof(PJRT_Profiler_Extension),
                                                  .type = PJRT_EXTENSION_PROFILER,
                                                  .next = &face_layouts.base},
                                         .profiler_api = &table,
                                         .traceme_context_id = -1};
