/* Opening a client of a plugin: its options, its devices, what it says of itself. See device_int.h for who
 * keeps whom alive. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "device/kv.h"

static atomic_llong running_here; /* programs, of all clients */

/* --- life --- */
void device_client_retain(device_client *c) {
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static void client_free(device_client *c) {
    rehearsal_device(-(int)c->dry);
    if (c->pjrt) {
        PJRT_Client_Destroy_Args d = PJRT_INIT(Client_Destroy, .client = c->pjrt);
        xt_status s = DEVICE_CALL(c->api, Client_Destroy, &d, "closing the device");
        if (s) log_msg(XT_SEV_WARNING, "%s", status_message(s));
        xt_status_free(s);
    }
    for (size_t i = 0; i < BASE_COUNT(c->strings); i++) base_free(c->strings[i]);
    base_free(c->replica_ids);
    pthread_cond_destroy(&c->idle);
    pthread_mutex_destroy(&c->lock);
    base_free(c);
    live_add(LIVE_client, -1);
}

void device_client_unref(device_client *c) {
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) client_free(c);
}

void device_pending_add(device_client *c) {
    pthread_mutex_lock(&c->lock);
    c->pending++;
    pthread_mutex_unlock(&c->lock);
}

void device_pending_done(device_client *c) {
    pthread_mutex_lock(&c->lock);
    if (--c->pending == 0) pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
}

void device_run_add(device_client *c) {
    pthread_mutex_lock(&c->lock);
    c->pending++;
    c->running++;
    atomic_fetch_add(&running_here, 1);
    pthread_mutex_unlock(&c->lock);
}

void device_run_done(device_client *c) {
    pthread_mutex_lock(&c->lock);
    c->pending--;
    atomic_fetch_sub(&running_here, 1);
    if (--c->running == 0) pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
}

bool device_wait_running(device_client *c) {
    pthread_mutex_lock(&c->lock);
    bool any = c->running > 0;
    while (c->running > 0) pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return any;
}

void device_close(device_client *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    while (c->pending > 0) pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
    device_client_unref(c);
}

/* --- what the plugin says --- */
static xt_status describe(device_client *c, PJRT_Device *d, int32_t *out_id, int32_t *out_process, char **out_kind) {
    PJRT_Device_GetDescription_Args g = PJRT_INIT(Device_GetDescription, .device = d);
    XT_TRY(DEVICE_CALL(c->api, Device_GetDescription, &g, "describing a device"));
    PJRT_DeviceDescription_Id_Args i = PJRT_INIT(DeviceDescription_Id, .device_description = g.device_description);
    XT_TRY(DEVICE_CALL(c->api, DeviceDescription_Id, &i, "reading a device's id"));
    PJRT_DeviceDescription_ProcessIndex_Args p =
        PJRT_INIT(DeviceDescription_ProcessIndex, .device_description = g.device_description);
    XT_TRY(DEVICE_CALL(c->api, DeviceDescription_ProcessIndex, &p, "reading a device's process"));
    *out_id = i.id;
    *out_process = p.process_index;
    if (!out_kind) return NULL;
    PJRT_DeviceDescription_Kind_Args k = PJRT_INIT(DeviceDescription_Kind, .device_description = g.device_description);
    XT_TRY(DEVICE_CALL(c->api, DeviceDescription_Kind, &k, "reading a device's kind"));
    *out_kind = device_text(k.device_kind, k.device_kind_size);
    return *out_kind ? NULL : status_oom(k.device_kind_size, "a device's kind");
}

/* The first device of each process, by process: where the replicas of a multi-process program run. */
static xt_status find_replicas(device_client *c, PJRT_Device *const *devices, size_t n) {
    c->replica_ids = base_malloc((n ? n : 1) * sizeof *c->replica_ids);
    if (!c->replica_ids) return status_oom(n * sizeof *c->replica_ids, "the list of devices");
    for (size_t i = 0; i < n; i++) c->replica_ids[i] = -1;
    for (size_t i = 0; i < n; i++) {
        int32_t id, process;
        XT_TRY(describe(c, devices[i], &id, &process, NULL));
        if (process < 0 || (size_t)process >= n) continue;
        if (process >= c->n_processes) c->n_processes = process + 1;
        if (c->replica_ids[process] < 0 || id < c->replica_ids[process]) c->replica_ids[process] = id;
    }
    return NULL;
}

static xt_status does_not_join(const device_client *c) {
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "this plugin does not join processes, and %d were started; run one process, or use XT_DEVICE=CPU",
                      c->n_nodes);
}

static xt_status read_devices(device_client *c) {
    PJRT_Client_Devices_Args all = PJRT_INIT(Client_Devices, .client = c->pjrt);
    XT_TRY(DEVICE_CALL(c->api, Client_Devices, &all, "listing the devices"));
    PJRT_Client_AddressableDevices_Args mine = PJRT_INIT(Client_AddressableDevices, .client = c->pjrt);
    XT_TRY(DEVICE_CALL(c->api, Client_AddressableDevices, &mine, "listing this process's devices"));
    if (mine.num_addressable_devices == 0)
        return status_new(XT_NOT_FOUND, NULL, "the plugin %s offers no device to this process", c->plugin->path);
    c->device = mine.addressable_devices[0];
    int32_t process;
    XT_TRY(describe(c, c->device, &c->device_id, &process, &c->strings[2]));
    XT_TRY(find_replicas(c, all.devices, all.num_devices));
    if (c->n_nodes > 1 && c->n_processes != c->n_nodes) return does_not_join(c);
    c->info.n_devices = (int)all.num_devices;
    c->info.n_addressable = (int)mine.num_addressable_devices;
    c->info.device_kind = c->strings[2];
    return NULL;
}

static xt_status read_info(device_client *c) {
    PJRT_Client_PlatformName_Args n = PJRT_INIT(Client_PlatformName, .client = c->pjrt);
    XT_TRY(DEVICE_CALL(c->api, Client_PlatformName, &n, "reading the platform's name"));
    PJRT_Client_PlatformVersion_Args v = PJRT_INIT(Client_PlatformVersion, .client = c->pjrt);
    XT_TRY(DEVICE_CALL(c->api, Client_PlatformVersion, &v, "reading the platform's version"));
    c->strings[0] = device_text(n.platform_name, n.platform_name_size);
    c->strings[1] = device_text(v.platform_version, v.platform_version_size);
    if (!c->strings[0] || !c->strings[1]) return status_oom(v.platform_version_size, "the platform's name");
    c->info.plugin_path = c->plugin->path;
    c->info.build_id = c->plugin->build_id;
    c->info.platform = c->strings[0];
    c->info.platform_version = c->strings[1];
    c->info.api_major = c->api->pjrt_api_version.major_version;
    c->info.api_minor = c->api->pjrt_api_version.minor_version;
    memcpy(c->info.stablehlo, c->plugin->stablehlo, sizeof c->info.stablehlo);
    return read_devices(c);
}

/* --- opening --- */
static PJRT_NamedValue int_option(const char *name, int64_t v) {
    return (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_VALUE_INT64,
                             .int64_value = v,
                             .value_size = 1};
}

/* How many devices a CPU client shall have: XLA's CPU plugins make four unless told, so CPU plugins are always told. */
static int cpu_devices(const device_open_opts *o) {
    if (o->local_devices > 0) return o->local_devices;
    int n = 1;
    const char *source;
    xt_status s = device_count("CPU", &n, &source);
    if (s) log_once("CPU_NUM_DEVICES", XT_SEV_WARNING, "%s; one device is used", status_message(s));
    xt_status_free(s);
    return n;
}

static xt_status create(device_client *c, const device_open_opts *o, bool with_device_count) {
    PJRT_NamedValue options[3 + DEVICE_CUDA_OPTIONS];
    size_t n = 0;
    device_family f = c->plugin->family;
    if (with_device_count) options[n++] = int_option("cpu_device_count", cpu_devices(o));
    if (c->n_nodes > 1 && f != DEVICE_FAMILY_TPU) { /* a TPU learns its topology from the environment */
        options[n++] = int_option("node_id", c->node_id);
        options[n++] = int_option("num_nodes", c->n_nodes);
    }
    if (f == DEVICE_FAMILY_CUDA) XT_TRY(device_cuda_options(options, &n));
    PJRT_Client_Create_Args a = PJRT_INIT(Client_Create, .create_options = options, .num_options = n);
    if (o->kv) {
        a.kv_get_callback = device_kv_get;
        a.kv_try_get_callback = device_kv_try_get;
        a.kv_put_callback = device_kv_put;
        a.kv_get_user_arg = a.kv_put_user_arg = a.kv_try_get_user_arg = &c->kv;
    }
    XT_TRY(DEVICE_CALL(c->api, Client_Create, &a, "opening the device"));
    c->pjrt = a.client;
    return NULL;
}

static xt_status open_client(device_client *c, const device_open_opts *o) {
    device_family f = c->plugin->family;
    bool cpu = f == DEVICE_FAMILY_CPU || f == DEVICE_FAMILY_XLA_CPU;
    xt_status s = f == DEVICE_FAMILY_XLA_CPU && c->n_nodes > 1 ? does_not_join(c) : create(c, o, cpu);
    if (s && f == DEVICE_FAMILY_XLA_CPU && status_code(s) == XT_INVALID_ARGUMENT) {
        /* some builds take no options: four devices do no harm */
        xt_status_free(s);
        s = create(c, o, false);
    }
    s = status_context(s, "%s", c->plugin->path);
    if (s && device_lacks_tpu(f))
        s = status_context(
            s, "this machine has no TPU (no /dev/accel* and no /dev/vfio; TPU_NUM_DEVICES says otherwise); "
               "XT_DEVICE=CPU runs here, and xtrain plan --topology v4:2x2x1 compiles for one all the same");
    XT_TRY(s);
    return status_context(read_info(c), "%s", c->plugin->path);
}

static void say(const device_info *i) {
    log_msg(
        XT_SEV_INFO,
        "plugin %s: platform %s (%s), PJRT API %d.%d, StableHLO %lld.%lld.%lld, device kind %s, %d of %d devices here",
        i->plugin_path, i->platform, i->platform_version, i->api_major, i->api_minor, (long long)i->stablehlo[0],
        (long long)i->stablehlo[1], (long long)i->stablehlo[2], i->device_kind, i->n_addressable, i->n_devices);
}

/* A CUDA plugin without a GPU logs a page before it says so in its status. Where the system's files show none its
 * log is switched off, and our message says what that rests on; XT_DEBUG=plugin, or a log level of the user's own,
 * leaves it on. */
static bool without_gpu(const char *path) {
    int n = 0;
    const char *source;
    if (device_family_of(path) != DEVICE_FAMILY_CUDA) return false;
    xt_status s = device_count("CUDA", &n, &source);
    bool none = !s && n == 0;
    xt_status_free(s);
    if (none && !env_has_word("XT_DEBUG", "plugin")) env_default("TF_CPP_MIN_LOG_LEVEL", "3");
    return none;
}

/* Handlers of exit() run from the newest to the oldest, and what a plugin and its libraries have to be taken down (the
 * static objects of oneDNN, of XLA) is as old as they are, or as their first program. Behind that, nothing may run. */
static atomic_bool leaving;
static void leave(void) {
    atomic_store(&leaving, true);
}
static void watch(void) {
    atexit(leave);
}

void device_watch_exit(bool program) {
    static pthread_once_t plugin_once = PTHREAD_ONCE_INIT, program_once = PTHREAD_ONCE_INIT;
    pthread_once(program ? &program_once : &plugin_once, watch);
}

/* exit() while programs run takes down what they work with (oneDNN makes some of it in a program's first run): they
 * are waited for, but not one that waits itself, for a rank that is gone say. */
enum { REST_MS = 2000 };
static pid_t runs_in; /* a forked process has no threads that would run them */
static void rest(void) {
    const struct timespec ms = {.tv_nsec = 1000000};
    for (int i = 0; i < REST_MS && getpid() == runs_in && atomic_load(&running_here) > 0; i++) nanosleep(&ms, NULL);
}

void device_rest_at_exit(void) {
    runs_in = getpid();
    atexit(rest);
}

xt_status device_leaving(void) {
    if (!atomic_load_explicit(&leaving, memory_order_relaxed)) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "the program is ending: exit() has begun to take down what the device works with, so a static "
                      "object's destructor or an older exit handler computes nothing any more; compute before main "
                      "returns");
}

xt_status device_open(const device_open_opts *o, device_client **out) {
    *out = NULL;
    XT_TRY(device_leaving());
    if (o->n_nodes > 1 && (!o->kv || o->node_id < 0 || o->node_id >= o->n_nodes))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "a client of %d processes needs a key-value store and a node id from 0 to %d; node id is %d",
                          o->n_nodes, o->n_nodes - 1, o->node_id);
    const char *spec = device_spec(o->spec);
    bool dry = rehearsal_is(spec);
    char *path = NULL;
    const device_plugin *plugin = NULL;
    xt_status s = dry ? NULL : device_find_plugin(o->spec, &path);
    bool no_gpu = !s && !dry && without_gpu(path);
    if (!s && !dry) s = device_plugin_load(path, &plugin);
    if (plugin) device_watch_exit(false);
    base_free(path);
    if (s) return s;
    device_client *c = base_calloc(1, sizeof *c);
    if (!c) return status_oom(sizeof *c, "a client");
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->idle, NULL);
    live_add(LIVE_client, 1);
    c->plugin = plugin;
    c->api = plugin ? plugin->api : NULL;
    c->dry = dry;
    rehearsal_device(dry);
    c->node_id = o->node_id;
    c->n_nodes = o->n_nodes > 1 ? o->n_nodes : 1;
    if (o->kv) c->kv = *o->kv;
    if ((s = dry ? device_dry_open(spec, c) : open_client(c, o))) {
        device_client_unref(c);
        if (no_gpu)
            s = status_context(
                s, "there is no NVIDIA GPU in this machine, or its driver is not loaded (/proc/driver/nvidia/gpus "
                   "names none and CUDA_VISIBLE_DEVICES none); XT_DEVICE=CPU trains without one, XT_DEBUG=plugin "
                   "shows what the plugin says");
        return s;
    }
    if (env_has_word("XT_DEBUG", "plugin")) say(&c->info);
    *out = c;
    return NULL;
}

const device_info *device_get_info(const device_client *c) {
    return &c->info;
}
