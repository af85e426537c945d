/* Compiling for hardware that is not there: a plugin's compiler needs a topology, not a client.
 *
 * TPU: libtpu knows its topologies by name. CUDA: the plugin is given a description of the card (chips.c). */
#include <stdlib.h>

#include "base/proto.h"
#include "device/chips.h"
#include "device/device_int.h"

struct device_topology {
    const device_plugin *plugin;
    PJRT_TopologyDescription *pjrt;
    device_topology_info info;
    char *name, *strings[3];
};
struct device_plan_exec {
    const PJRT_Api *api;
    PJRT_Executable *pjrt;
};

void device_topology_names(str *out) {
    chip_names(out);
}

/* --- names --- */
typedef struct target { /* a name taken apart */
    const char *device; /* what device_find_plugin gets */
    char plugin_name[64];
    const device_chip *chip;
    const device_gpu *gpu;
    int gpu_count;
} target;

static xt_status unknown(const char *name, const char *why) {
    str known = STR_INIT;
    device_topology_names(&known);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL,
                             "there is no topology '%s'%s%s; known are: %s (TPU shapes as the hardware has them, 2x2 "
                             "to 16x16 or 2x2x1 to 16x16x24)",
                             name, *why ? ": " : "", why, str_cstr(&known));
    str_free(&known);
    return s;
}

/* "2x2x4": two or three numbers. */
static bool is_shape(const char *s) {
    int n = 0;
    for (;;) {
        size_t digits = strspn(s, "0123456789");
        if (digits == 0 || digits > 4 || *s == '0') return false;
        s += digits;
        n++;
        if (*s != 'x') break;
        s++;
    }
    return n >= 2 && n <= 3 && (!*s || strcmp(s, "_twisted") == 0 || strcmp(s, "_untwisted") == 0);
}

enum { GPUS_A_HOST = 8 };
static int gpu_hosts(int cards) {
    return (cards + GPUS_A_HOST - 1) / GPUS_A_HOST;
}

static xt_status read_name(const char *name, target *t) {
    static const device_chip host = {"cpu", "this host's CPU", 0, 0, 0, 0, -1};
    const char *colon = strchr(name, ':');
    size_t n = colon ? (size_t)(colon - name) : strlen(name);
    *t = (target){.gpu_count = 1};
    if (strlen(name) >= sizeof t->plugin_name) return unknown(name, "");
    if (n == 3 && strncmp(name, "cpu", 3) == 0) {
        int64_t count = 1;
        if (colon && (!parse_i64(colon + 1, &count) || count < 1 || count > 4096))
            return unknown(name, "cpu:N takes 1 to 4096 devices");
        t->device = "CPU";
        t->chip = &host;
        snprintf(t->plugin_name, sizeof t->plugin_name, "cpu:%lld", (long long)count);
        return NULL;
    }
    if (n == 4 && strncmp(name, "cuda", 4) == 0) {
        if (!colon) return unknown(name, "say which card");
        const char *card = colon + 1, *second = strchr(card, ':');
        int64_t count = 1;
        t->gpu = chip_gpu(card, second ? (size_t)(second - card) : strlen(card));
        if (!t->gpu || (second && (!parse_i64(second + 1, &count) || count < 1 || count > 512)))
            return unknown(name, "");
        int hosts = gpu_hosts((int)count);
        if (count % hosts) {
            char why[96];
            snprintf(why, sizeof why, "%lld cards do not stand evenly in %d hosts of at most %d", (long long)count,
                     hosts, GPUS_A_HOST);
            return unknown(name, why);
        }
        t->gpu_count = (int)count;
        t->device = "CUDA";
        t->chip = &t->gpu->chip;
        snprintf(t->plugin_name, sizeof t->plugin_name, "%s", t->gpu->chip.title);
        return NULL;
    }
    t->chip = chip_tpu(name, n);
    if (!t->chip) return unknown(name, "");
    if (!colon || !is_shape(colon + 1)) return unknown(name, "a shape is missing, as in v4:2x2x1");
    t->device = "TPU";
    snprintf(t->plugin_name, sizeof t->plugin_name, "%s", name);
    return NULL;
}

/* --- opening --- */
static PJRT_NamedValue text_option(const char *name, const char *v) {
    return (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_VALUE_STRING,
                             .string_value = v,
                             .value_size = strlen(v)};
}

static xt_status create(device_topology *t, const target *g) {
    str config = STR_INIT;
    char shape[32];
    PJRT_NamedValue options[2];
    PJRT_TopologyDescription_Create_Args a = PJRT_INIT(TopologyDescription_Create, .topology_name = g->plugin_name,
                                                       .topology_name_size = strlen(g->plugin_name));
    if (g->gpu) { /* partitions x hosts x devices of one */
        int hosts = gpu_hosts(g->gpu_count);
        snprintf(shape, sizeof shape, "1x%dx%d", hosts, g->gpu_count / hosts);
        chip_gpu_target(g->gpu, &config);
        options[0] = text_option("target_config", str_cstr(&config));
        options[1] = text_option("topology", shape);
        a.create_options = options;
        a.num_options = 2;
    }
    xt_status s = config.failed
                      ? status_oom(config.len, "a topology")
                      : DEVICE_CALL(t->plugin->api, TopologyDescription_Create, &a, "describing the topology");
    if (!s) t->pjrt = a.topology;
    str_free(&config);
    return s;
}

static void read_memory(device_topology *t, PJRT_DeviceDescription *d) {
    PJRT_DeviceDescription_Attributes_Args a = PJRT_INIT(DeviceDescription_Attributes, .device_description = d);
    xt_status s = DEVICE_CALL(t->plugin->api, DeviceDescription_Attributes, &a, "reading a device's attributes");
    static const char key[] = "device_memory_bytes_limit";
    for (size_t i = 0; !s && i < a.num_attributes; i++) {
        const PJRT_NamedValue *v = &a.attributes[i];
        if (v->name_size == sizeof key - 1 && memcmp(v->name, key, sizeof key - 1) == 0 && v->type == PJRT_VALUE_INT64)
            t->info.memory_bytes = v->int64_value;
    }
    xt_status_free(s);
}

static xt_status read_info(device_topology *t) {
    const PJRT_Api *api = t->plugin->api;
    PJRT_TopologyDescription_PlatformName_Args n = PJRT_INIT(TopologyDescription_PlatformName, .topology = t->pjrt);
    XT_TRY(DEVICE_CALL(api, TopologyDescription_PlatformName, &n, "reading the topology's platform"));
    PJRT_TopologyDescription_PlatformVersion_Args v =
        PJRT_INIT(TopologyDescription_PlatformVersion, .topology = t->pjrt);
    XT_TRY(DEVICE_CALL(api, TopologyDescription_PlatformVersion, &v, "reading the topology's version"));
    PJRT_TopologyDescription_GetDeviceDescriptions_Args d =
        PJRT_INIT(TopologyDescription_GetDeviceDescriptions, .topology = t->pjrt);
    XT_TRY(DEVICE_CALL(api, TopologyDescription_GetDeviceDescriptions, &d, "listing the topology's devices"));
    if (d.num_descriptions == 0) return status_new(XT_INTERNAL, NULL, "the topology %s has no devices", t->name);
    t->strings[0] = device_text(n.platform_name, n.platform_name_size);
    t->strings[1] = device_text(v.platform_version, v.platform_version_size);
    PJRT_DeviceDescription_Kind_Args k = PJRT_INIT(DeviceDescription_Kind, .device_description = d.descriptions[0]);
    XT_TRY(DEVICE_CALL(api, DeviceDescription_Kind, &k, "reading a device's kind"));
    t->strings[2] = device_text(k.device_kind, k.device_kind_size);
    if (!t->strings[0] || !t->strings[1] || !t->strings[2]) return status_oom(64, "a topology");
    t->info.platform = t->strings[0];
    t->info.platform_version = t->strings[1];
    t->info.kind = t->strings[2];
    t->info.devices = (int)d.num_descriptions;
    for (size_t i = 0; i < d.num_descriptions; i++) {
        PJRT_DeviceDescription_ProcessIndex_Args p =
            PJRT_INIT(DeviceDescription_ProcessIndex, .device_description = d.descriptions[i]);
        XT_TRY(DEVICE_CALL(api, DeviceDescription_ProcessIndex, &p, "reading a device's process"));
        if (p.process_index >= t->info.processes) t->info.processes = p.process_index + 1;
    }
    t->info.memory_bytes = t->info.chip.memory_bytes;
    read_memory(t, d.descriptions[0]);
    return NULL;
}

/* A plugin that XT_DEVICE gives by its path serves the topologies of its kind; one of no known name those that nothing
 * else serves. */
static xt_status find_compiler(const char *device, char **out) {
    const char *own = device_spec(NULL);
    device_family family = strchr(own, '/') ? device_family_of(own) : DEVICE_FAMILY_UNKNOWN;
    if (strchr(own, '/') && family == device_family_of_spec(device)) return device_find_plugin(own, out);
    xt_status s = device_find_plugin(device, out);
    if (!s || !strchr(own, '/') || family != DEVICE_FAMILY_UNKNOWN) return s;
    xt_status_free(s);
    return device_find_plugin(own, out);
}

static xt_status open_named(device_topology *t, const target *g) {
    char *path = NULL;
    if (strcmp(g->device, "TPU") == 0) device_quiet_tpu();
    XT_TRY(status_context(find_compiler(g->device, &path), "topology %s", t->name));
    xt_status s = device_plugin_load(path, &t->plugin);
    base_free(path);
    XT_TRY(s);
    t->info = (device_topology_info){.name = t->name, .plugin_path = t->plugin->path, .chip = *g->chip};
    t->info.api_major = t->plugin->api->pjrt_api_version.major_version;
    t->info.api_minor = t->plugin->api->pjrt_api_version.minor_version;
    memcpy(t->info.stablehlo, t->plugin->stablehlo, sizeof t->info.stablehlo);
    s = create(t, g);
    if (s && status_code(s) == XT_INVALID_ARGUMENT && strcmp(g->device, "TPU") == 0) {
        xt_status bad = unknown(t->name, status_text(s));
        xt_status_free(s);
        return bad;
    }
    XT_TRY(status_context(s, "topology %s, %s", t->name, t->plugin->path));
    return status_context(read_info(t), "topology %s, %s", t->name, t->plugin->path);
}

xt_status device_topology_open(const char *name, device_topology **out) {
    *out = NULL;
    target g;
    XT_TRY(read_name(name, &g));
    device_topology *t = base_calloc(1, sizeof *t);
    if (!t) return status_oom(sizeof *t, "a topology");
    live_add(LIVE_topology, 1);
    t->name = base_strdup(name);
    xt_status s = t->name ? open_named(t, &g) : status_oom(strlen(name), "a topology");
    if (s)
        device_topology_close(t);
    else
        *out = t;
    return s;
}

void device_topology_close(device_topology *t) {
    if (!t) return;
    if (t->pjrt) {
        PJRT_TopologyDescription_Destroy_Args d = PJRT_INIT(TopologyDescription_Destroy, .topology = t->pjrt);
        xt_status_free(DEVICE_CALL(t->plugin->api, TopologyDescription_Destroy, &d, "closing the topology"));
    }
    for (size_t i = 0; i < BASE_COUNT(t->strings); i++) base_free(t->strings[i]);
    base_free(t->name);
    base_free(t);
    live_add(LIVE_topology, -1);
}

const device_topology_info *device_topology_get_info(const device_topology *t) {
    return &t->info;
}

/* --- compiling --- */
/* Device lists as in exec.c: one a partition. Ids of a topology's devices count from 0. */
static void assign_devices(str *build, int partitions) {
    str all = STR_INIT;
    proto_int(&all, 1, 1);
    proto_int(&all, 2, partitions);
    for (int p = 0; p < partitions; p++) {
        str id = STR_INIT, list = STR_INIT;
        proto_varint(&id, (uint64_t)p);
        proto_message(&list, 1, &id);
        proto_message(&all, 3, &list);
        build->failed |= id.failed || list.failed;
        str_free(&id), str_free(&list);
    }
    proto_message(build, 9, &all);
    build->failed |= all.failed;
    str_free(&all);
}

static void write_options(const device_topology *t, const device_plan_opts *o, str *options) {
    str build = STR_INIT;
    int partitions = o->num_partitions > 1 ? o->num_partitions : 1;
    proto_int(&build, 4, 1);
    proto_int(&build, 5, partitions);
    if (partitions > 1) {
        proto_int(&build, 6, 1); /* use_spmd_partitioning */
        assign_devices(&build, partitions);
    }
    if (t->plugin->family == DEVICE_FAMILY_CUDA) proto_int(&build, 15, t->info.memory_bytes);
    proto_message(options, 3, &build);
    options->failed |= build.failed;
    str_free(&build);
    if (t->plugin->family == DEVICE_FAMILY_CUDA) device_option_text(options, "xla_gpu_autotune_level", "0");
    if (!o->dump_dir) return;
    device_option_text(options, "xla_dump_to", o->dump_dir);
    device_option_bool(options, "xla_dump_hlo_as_text", true);
}

xt_status device_topology_compile(device_topology *t, const char *text, size_t n, const device_plan_opts *o,
                                  device_plan_exec **out) {
    *out = NULL;
    if (o->num_partitions > t->info.devices)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the program is for %d devices, the topology %s has %d",
                          o->num_partitions, t->name, t->info.devices);
    device_plan_exec *e = base_calloc(1, sizeof *e);
    if (!e) return status_oom(sizeof *e, "a program");
    str options = STR_INIT;
    write_options(t, o, &options);
    PJRT_Program program = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                            .code = (char *)text,
                            .code_size = n,
                            .format = "mlir",
                            .format_size = 4};
    PJRT_Compile_Args a = PJRT_INIT(Compile, .topology = t->pjrt, .program = &program, .compile_options = options.data,
                                    .compile_options_size = options.len);
    xt_status s = options.failed ? status_oom(options.len, "compile options")
                                 : DEVICE_WORK(t->plugin->api, Compile, &a, "compiling");
    str_free(&options);
    if (s) {
        base_free(e);
        return status_context(s, "topology %s", t->name);
    }
    *e = (device_plan_exec){t->plugin->api, a.executable};
    live_add(LIVE_plan_program, 1);
    *out = e;
    return NULL;
}

void device_plan_exec_free(device_plan_exec *e) {
    if (!e) return;
    PJRT_Executable_Destroy_Args d = PJRT_INIT(Executable_Destroy, .executable = e->pjrt);
    xt_status_free(DEVICE_CALL(e->api, Executable_Destroy, &d, "releasing a program"));
    base_free(e);
    live_add(LIVE_plan_program, -1);
}

void device_plan_exec_get_stats(const device_plan_exec *e, device_exec_stats *out) {
    device_stats_of(e->api, e->pjrt, out);
}
