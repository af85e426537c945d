/* What plugins say about memory and work. Every number is optional: -1 stands for "does not say". */
#include "device/device_int.h"

xt_status device_memory_stats(device_client *c, device_memory *out) {
    *out = (device_memory){-1, -1, -1, -1, -1, -1};
    if (c->dry) return NULL;
    PJRT_Device_MemoryStats_Args a = PJRT_INIT(Device_MemoryStats, .device = c->device);
    xt_status s = DEVICE_CALL(c->api, Device_MemoryStats, &a, "reading memory statistics");
    if (s && status_code(s) == XT_UNIMPLEMENTED) {
        xt_status_free(s);
        return NULL;
    }
    if (s) return s;
    out->in_use = a.bytes_in_use;
    if (a.peak_bytes_in_use_is_set) out->peak = a.peak_bytes_in_use;
    if (a.bytes_limit_is_set) out->limit = a.bytes_limit;
    if (a.bytes_reserved_is_set) out->reserved = a.bytes_reserved;
    if (a.largest_free_block_bytes_is_set) out->largest_free = a.largest_free_block_bytes;
    if (a.num_allocs_is_set) out->allocations = a.num_allocs;
    return NULL;
}

static void memory_of(const PJRT_Api *api, PJRT_Executable *e, device_exec_stats *out) {
    PJRT_Executable_GetCompiledMemoryStats_Args a =
        PJRT_INIT(Executable_GetCompiledMemoryStats, .executable = e, .peak_memory_in_bytes = -1);
    xt_status s = DEVICE_CALL(api, Executable_GetCompiledMemoryStats, &a, "reading a program's memory");
    if (!s) {
        out->argument_bytes = a.argument_size_in_bytes;
        out->output_bytes = a.output_size_in_bytes;
        out->temp_bytes = a.temp_size_in_bytes;
        out->alias_bytes = a.alias_size_in_bytes;
        out->code_bytes = a.generated_code_size_in_bytes;
        if (a.peak_memory_in_bytes > 0)
            out->peak_bytes = a.peak_memory_in_bytes; /* CPU plugins say 0 */
        else
            out->peak_bytes =
                a.argument_size_in_bytes + a.output_size_in_bytes - a.alias_size_in_bytes + a.temp_size_in_bytes;
    }
    xt_status_free(s);
}

static bool named(const PJRT_NamedValue *v, const char *name) {
    return v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0 && v->type == PJRT_VALUE_FLOAT;
}

static void work_of(const PJRT_Api *api, PJRT_Executable *e, device_exec_stats *out) {
    PJRT_Executable_GetCostAnalysis_Args a = PJRT_INIT(Executable_GetCostAnalysis, .executable = e);
    xt_status s = DEVICE_CALL(api, Executable_GetCostAnalysis, &a, "reading a program's cost");
    for (size_t i = 0; !s && i < a.num_properties; i++) {
        if (named(&a.properties[i], "flops")) out->flops = a.properties[i].float_value;
        if (named(&a.properties[i], "bytes accessed")) out->bytes_accessed = a.properties[i].float_value;
        if (named(&a.properties[i], "collective bytes")) out->collective_bytes = a.properties[i].float_value;
    }
    xt_status_free(s);
}

size_t device_exec_compile_phases(const device_exec *e, device_compile_phase out[DEVICE_COMPILE_PHASES]) {
    static const char prefix[] = "compile seconds "; /* our plugin's; others that say it this way are understood too */
    size_t n = 0, skip = sizeof prefix - 1;
    if (e->client->dry) return 0;
    PJRT_Executable_GetCostAnalysis_Args a = PJRT_INIT(Executable_GetCostAnalysis, .executable = e->pjrt);
    xt_status s = DEVICE_CALL(e->client->api, Executable_GetCostAnalysis, &a, "reading a program's cost");
    for (size_t i = 0; !s && i < a.num_properties && n < DEVICE_COMPILE_PHASES; i++) {
        const PJRT_NamedValue *v = &a.properties[i];
        if (v->type != PJRT_VALUE_FLOAT || v->name_size <= skip || memcmp(v->name, prefix, skip) != 0) continue;
        snprintf(out[n].name, sizeof out[n].name, "%.*s", (int)(v->name_size - skip), v->name + skip);
        out[n++].seconds = v->float_value;
    }
    xt_status_free(s);
    return n;
}

void device_stats_of(const PJRT_Api *api, PJRT_Executable *e, device_exec_stats *out) {
    *out = (device_exec_stats){-1, -1, -1, -1, -1, -1, -1, -1, -1};
    memory_of(api, e, out);
    work_of(api, e, out);
}

void device_exec_get_stats(const device_exec *e, device_exec_stats *out) {
    if (e->client->dry)
        *out = (device_exec_stats){-1, -1, -1, -1, -1, -1, -1, -1, -1};
    else
        device_stats_of(e->client->api, e->pjrt, out);
}
