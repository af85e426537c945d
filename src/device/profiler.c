/* The client side of PJRT's profiler extension: what a plugin without it cannot tell is simply missing
 * from the trace. */
#include "base/proto.h"
#include "device/device_int.h"

struct device_profile {
    const PLUGIN_Profiler_Api *api;
    PLUGIN_Profiler *profiler;
};

static const PLUGIN_Profiler_Api *api_of(const device_client *c) {
    for (const PJRT_Extension_Base *e = c->api->extension_start; e; e = e->next)
        if (e->type == PJRT_EXTENSION_PROFILER &&
            e->struct_size >= offsetof(PJRT_Profiler_Extension, profiler_api) + sizeof(void *))
            return ((const PJRT_Profiler_Extension *)e)->profiler_api;
    return NULL;
}

static xt_status taken(const PLUGIN_Profiler_Api *api, PLUGIN_Profiler_Error *e, const char *what) {
    if (!e) return NULL;
    PLUGIN_Profiler_Error_Message_Args m = {.struct_size = sizeof m, .error = e};
    api->error_message(&m);
    xt_status s = status_new(XT_UNKNOWN, NULL, "%s: %.*s", what, (int)m.message_size, m.message ? m.message : "");
    PLUGIN_Profiler_Error_Args d = {.struct_size = sizeof d, .error = e};
    api->error_destroy(&d);
    return s;
}

/* tensorflow.ProfileOptions {2 host_tracer_level, 3 device_tracer_level, 5 version}: without them XLA's plugins
 * trace nothing. */
static void append_options(str *out) {
    proto_int(out, 2, 2);
    proto_int(out, 3, 1);
    proto_int(out, 5, 1);
}

xt_status device_profile_start(device_client *c, device_profile **out) {
    *out = NULL;
    const PLUGIN_Profiler_Api *api = api_of(c);
    if (!api) return NULL;
    str options = STR_INIT;
    append_options(&options);
    PLUGIN_Profiler_Create_Args a = {
        .struct_size = sizeof a, .options = str_cstr(&options), .options_size = options.len};
    xt_status made = taken(api, api->create(&a), "starting the device's profiler");
    str_free(&options);
    XT_TRY(made);
    device_profile *p = a.profiler ? base_calloc(1, sizeof *p) : NULL;
    if (!p) return status_oom(sizeof *p, "a profile");
    *p = (device_profile){api, a.profiler};
    PLUGIN_Profiler_Args go = {.struct_size = sizeof go, .profiler = p->profiler};
    xt_status s = taken(api, api->start(&go), "starting the device's profiler");
    if (s) {
        taken(api, api->destroy(&go), "");
        base_free(p);
        return s;
    }
    *out = p;
    return NULL;
}

xt_status device_profile_stop(device_profile *p, char **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    if (!p) return NULL;
    PLUGIN_Profiler_Args a = {.struct_size = sizeof a, .profiler = p->profiler};
    xt_status s = taken(p->api, p->api->stop(&a), "stopping the device's profiler");
    PLUGIN_Profiler_CollectData_Args d = {.struct_size = sizeof d, .profiler = p->profiler};
    if (!s) s = taken(p->api, p->api->collect_data(&d), "reading the device's profile");
    if (!s && d.buffer_size_in_bytes > 0 && (*out = base_malloc(d.buffer_size_in_bytes))) {
        *out_size = d.buffer_size_in_bytes;
        if (d.buffer)
            memcpy(*out, d.buffer, *out_size);
        else { /* a plugin that wants the caller's memory */
            d.buffer = (uint8_t *)*out;
            s = taken(p->api, p->api->collect_data(&d), "reading the device's profile");
        }
    }
    xt_status_free(taken(p->api, p->api->destroy(&a), "ending the device's profiler"));
    base_free(p);
    return s;
}
