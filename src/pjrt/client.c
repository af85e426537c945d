/* Clients: create options, the devices of this and the other processes, and what the client is called.
 *
 * Create options: platform_name (what the client and its devices are called; default: platform.c), cpu_device_count
 * (devices of this process; beats CPU_NUM_DEVICES), node_id and num_nodes (this process among the processes of the
 * run); numbers may come as strings, as the JAX_PJRT_CLIENT_CREATE_OPTIONS variable sends them. Several processes
 * tell each other their device counts over the key-value callbacks, and node 0 the name of the group their
 * collectives use. */
#include <stdlib.h>
#include <unistd.h>

#include "cpu/thread/team.h"
#include "pjrt/face.h"

const char face_version[] = "xtrain " XT_VERSION;
enum { MAX_DEVICES = 4096, KV_TIMEOUT_MS = 120000 };

/* --- life --- */
void face_client_retain(PJRT_Client *c) {
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void face_client_release(PJRT_Client *c) {
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    atomic_store(&c->refs, 1);
    for (size_t i = 0; i < c->n_devices; i++) face_device_retire(c->all[i]);
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return; /* a call has one of them */
    for (size_t i = 0; i < c->n_devices; i++) {
        face_device_deinit(c->all[i]);
        face_handle_free(c->all[i], sizeof *c->all[i]);
    }
    base_free(c->all);
    base_free(c->mine);
    base_free(c->memories);
    base_free(c->topology.descriptions);
    base_free(c->coll_name);
    face_handle_free(c, sizeof *c);
    live_add(LIVE_plugin_client, -1);
}

void face_client_end(void *handle) {
    face_client_release(handle);
}

/* --- options --- */
typedef struct create_options {
    int64_t devices, node_id, num_nodes, ignored;
    char platform[32];
} create_options;

static xt_status option_int(const PJRT_NamedValue *v, int64_t *out) {
    char text[32], *end;
    if (v->type == PJRT_VALUE_INT64) {
        *out = v->int64_value;
        return NULL;
    }
    if (v->type == PJRT_VALUE_STRING && v->value_size > 0 && v->value_size < sizeof text) {
        snprintf(text, sizeof text, "%.*s", (int)v->value_size, v->string_value);
        *out = strtoll(text, &end, 10);
        if (!*end) return NULL;
    }
    return status_new(XT_INVALID_ARGUMENT, NULL, "the create option %.*s is no whole number", (int)v->name_size,
                      v->name);
}

/* What the client calls itself: JAX wants the name under which the plugin was registered. */
static xt_status option_platform(const PJRT_NamedValue *v, create_options *out) {
    if (v->type != PJRT_VALUE_STRING || v->value_size == 0 || v->value_size >= sizeof out->platform)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the create option platform_name is no text of 1 to %zu characters",
                          sizeof out->platform - 1);
    snprintf(out->platform, sizeof out->platform, "%.*s", (int)v->value_size, v->string_value);
    return NULL;
}

xt_status face_devices_wanted(int64_t *out) {
    const char *env = getenv("CPU_NUM_DEVICES");
    char *end = NULL;
    *out = env && *env ? strtoll(env, &end, 10) : 1;
    if (*out < 1 || (end && *end))
        return status_new(XT_INVALID_ARGUMENT, NULL, "CPU_NUM_DEVICES is '%s': expected a number of devices from 1",
                          env);
    return NULL;
}

static xt_status read_options(const PJRT_NamedValue *v, size_t n, create_options *out) {
    static const struct {
        const char *name;
        size_t offset;
    } known[] = {
        {"cpu_device_count", offsetof(create_options, devices)},
        {"node_id", offsetof(create_options, node_id)},
        {"num_nodes", offsetof(create_options, num_nodes)},
        /* JAX sends it with node_id; there are no partitions here */
        {"partition_index", offsetof(create_options, ignored)},
    };
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        if (v[i].name_size == 13 && memcmp(v[i].name, "platform_name", 13) == 0) {
            XT_TRY(option_platform(&v[i], out));
            continue;
        }
        while (k < BASE_COUNT(known) &&
               (strlen(known[k].name) != v[i].name_size || memcmp(known[k].name, v[i].name, v[i].name_size) != 0))
            k++;
        if (k == BASE_COUNT(known))
            return status_new(
                XT_INVALID_ARGUMENT, NULL,
                "unknown create option '%.*s': this plugin knows cpu_device_count, node_id, num_nodes, platform_name",
                (int)v[i].name_size, v[i].name);
        XT_TRY(option_int(&v[i], (int64_t *)((char *)out + known[k].offset)));
    }
    if (out->devices == 0) XT_TRY(face_devices_wanted(&out->devices));
    if (out->num_nodes == 0) out->num_nodes = 1;
    if (out->devices < 1 || out->devices > MAX_DEVICES)
        return status_new(XT_INVALID_ARGUMENT, NULL, "cpu_device_count is %lld: expected 1 to %d",
                          (long long)out->devices, MAX_DEVICES);
    if (out->num_nodes < 1 || out->num_nodes > MAX_DEVICES || out->node_id < 0 || out->node_id >= out->num_nodes)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "node_id %lld of num_nodes %lld: expected 0 <= node_id < num_nodes <= %d",
                          (long long)out->node_id, (long long)out->num_nodes, MAX_DEVICES);
    return NULL;
}

/* Cores this process may use, shared by its devices and by the other processes of this host, unless OMP_NUM_THREADS
 * says what is this one's. */
static int threads_per_device(int64_t devices) {
    int64_t threads = team_default_threads();
    if (env_int("XT_THREADS", 1, &(int64_t){0})) return (int)threads;
    int local = world_get()->local_size;
    int64_t share = threads / (devices * (local > 0 && !getenv("OMP_NUM_THREADS") ? local : 1));
    return share < 1 ? 1 : (int)share;
}

/* --- meeting the other processes --- */
static xt_status kv_put(const PJRT_Client_Create_Args *a, const char *key, const char *value) {
    PJRT_KeyValuePutCallback_Args p = {.struct_size = PJRT_SIZE_OF(PJRT_KeyValuePutCallback_Args),
                                       .key = key,
                                       .key_size = strlen(key),
                                       .value = value,
                                       .value_size = strlen(value),
                                       .callback_error = &face_callback_error,
                                       .user_arg = a->kv_put_user_arg};
    return face_take_error(a->kv_put_callback(&p), "telling the other processes");
}

static xt_status kv_get(const PJRT_Client_Create_Args *a, const char *key, char **out) {
    PJRT_KeyValueGetCallback_Args g = {.struct_size = PJRT_SIZE_OF(PJRT_KeyValueGetCallback_Args),
                                       .key = key,
                                       .key_size = strlen(key),
                                       .timeout_in_ms = KV_TIMEOUT_MS,
                                       .callback_error = &face_callback_error,
                                       .user_arg = a->kv_get_user_arg};
    XT_TRY(face_take_error(a->kv_get_callback(&g), "waiting for another process"));
    XT_TRY(status_context(face_check_kv_get(&g), "the value that another process gave for %s", key));
    *out = base_strndup(g.value ? g.value : "", g.value_size);
    if (g.value_deleter_callback) g.value_deleter_callback(g.value);
    return *out ? NULL : status_oom(g.value_size, "a key's value");
}

/* Fills counts[0..num_nodes). `round` tells apart the clients a process opens one after the other: all processes open
 * them in the same order. */
static xt_status exchange_counts(const PJRT_Client_Create_Args *a, const create_options *o, int round,
                                 int64_t *counts) {
    char key[96], value[32], *text;
    snprintf(key, sizeof key, "xtrain_cpu/%d/devices/%lld", round, (long long)o->node_id);
    snprintf(value, sizeof value, "%lld", (long long)o->devices);
    XT_TRY(kv_put(a, key, value));
    for (int64_t i = 0; i < o->num_nodes; i++) {
        snprintf(key, sizeof key, "xtrain_cpu/%d/devices/%lld", round, (long long)i);
        XT_TRY(kv_get(a, key, &text));
        counts[i] = strtoll(text, NULL, 10);
        base_free(text);
        if (counts[i] < 1 || counts[i] > MAX_DEVICES)
            return status_new(XT_INTERNAL, NULL, "process %lld told a wrong number of devices", (long long)i);
    }
    return NULL;
}

/* Node 0 makes the rendezvous of the devices' group and tells its name; a client of one process needs no telling. */
static xt_status agree_on_group(PJRT_Client *c, const PJRT_Client_Create_Args *a, int round) {
    char key[96];
    snprintf(key, sizeof key, "xtrain_cpu/%d/group", round);
    if (c->n_devices < 2) return NULL;
    if (c->node_id != 0) return kv_get(a, key, &c->coll_name);
    XT_TRY(coll_create((int)c->n_devices, &c->coll_name));
    return c->n_nodes > 1 ? kv_put(a, key, c->coll_name) : NULL;
}

/* --- creation --- */
static xt_status make_devices(PJRT_Client *c, const int64_t *counts) {
    size_t total = 0;
    for (int i = 0; i < c->n_nodes; i++) total += (size_t)counts[i];
    size_t mine = (size_t)counts[c->node_id];
    c->all = base_calloc(total, sizeof *c->all);
    c->mine = base_calloc(mine, sizeof *c->mine);
    c->memories = base_calloc(mine * FACE_KINDS, sizeof *c->memories);
    PJRT_DeviceDescription **descriptions = base_calloc(total, sizeof *descriptions);
    c->topology.descriptions = descriptions;
    if (!c->all || !c->mine || !c->memories || !descriptions) return status_oom(total * sizeof **c->all, "devices");
    int64_t limit = 0;
    const char *text = env_get("XT_MEMORY_LIMIT");
    if (text && (!parse_bytes(text, &limit) || limit <= 0))
        return status_new(XT_INVALID_ARGUMENT, NULL, "XT_MEMORY_LIMIT is '%s': expected bytes, as 300M or 2GiB", text);
    for (int node = 0; node < c->n_nodes; node++)
        for (int64_t i = 0; i < counts[node]; i++) {
            PJRT_Device *d = face_handle_new(sizeof *d);
            if (!d) return status_oom(sizeof *d, "a device");
            bool local = node == c->node_id;
            face_device_init(d, c, (int32_t)c->n_devices, node, local ? (int32_t)i : -1, limit);
            c->all[c->n_devices] = d;
            descriptions[c->n_devices++] = &d->description;
            if (!local) continue;
            for (int k = 0; k < FACE_KINDS; k++) c->memories[c->n_mine * FACE_KINDS + (size_t)k] = &d->memory[k];
            c->mine[c->n_mine++] = d;
        }
    return face_topology_init(&c->topology, descriptions, c->n_devices);
}

static xt_status start_executors(PJRT_Client *c) {
    xt_status first = NULL;
    for (size_t i = 0; i < c->n_mine; i++) {
        if (!first) first = face_executor_start(c->mine[i]);
        if (first) face_executor_missing(c->mine[i]);
    }
    for (size_t i = 0; i < c->n_mine; i++) {
        xt_status s = c->mine[i]->started ? face_executor_wait_started(c->mine[i]) : NULL;
        bool better =
            /* the cause, not what waited for it */
            s && (!first || (status_code(first) == XT_ABORTED && status_code(s) != XT_ABORTED));
        xt_status_free(better ? first : s);
        if (better) first = s;
    }
    return first;
}

static void stop_executors(PJRT_Client *c) {
    for (size_t i = 0; i < c->n_mine; i++) face_executor_stop(c->mine[i]);
    if (c->coll_name && c->node_id == 0) coll_destroy(c->coll_name);
}

static xt_status set_up(PJRT_Client *c, const PJRT_Client_Create_Args *a, const create_options *o) {
    static atomic_int rounds;
    int round = c->n_nodes > 1 ? atomic_fetch_add(&rounds, 1) : 0;
    int64_t *counts = base_calloc((size_t)c->n_nodes, sizeof *counts);
    if (!counts) return status_oom((size_t)c->n_nodes * sizeof *counts, "devices");
    counts[0] = o->devices;
    xt_status s = c->n_nodes > 1 ? exchange_counts(a, o, round, counts) : NULL;
    if (!s) s = make_devices(c, counts);
    base_free(counts);
    if (!s) s = agree_on_group(c, a, round);
    if (!s) s = start_executors(c);
    return s;
}

/* kv_try_get came after the base; it is not used. */
FACE(Client_Create) {
    create_options o = {0};
    XT_TRY(read_options(a->create_options, a->num_options, &o));
    if (o.num_nodes > 1 && (!a->kv_get_callback || !a->kv_put_callback))
        return status_new(XT_INVALID_ARGUMENT, NULL, "a client of %lld processes needs the key-value callbacks",
                          (long long)o.num_nodes);
    PJRT_Client *c = face_handle_new(sizeof *c);
    if (!c) return status_oom(sizeof *c, "a client");
    atomic_init(&c->refs, 1);
    live_add(LIVE_plugin_client, 1);
    c->node_id = (int)o.node_id;
    c->n_nodes = (int)o.num_nodes;
    if (*o.platform)
        snprintf(c->platform, sizeof c->platform, "%s", o.platform);
    else
        face_own_platform(sizeof c->platform, c->platform);
    c->topology.platform = c->platform;
    c->topology.client = c;
    c->threads = threads_per_device(o.devices);
    xt_status s = set_up(c, a, &o);
    if (s) {
        stop_executors(c);
        face_client_release(c);
        return s;
    }
    FACE_GIVE(&c->topology);
    FACE_GIVE(a->client = c);
    return NULL;
}

FACE(Client_Destroy) {
    for (size_t i = 0; i < a->client->n_mine; i++)
        if (a->client->mine[i]->started && pthread_equal(a->client->mine[i]->executor, pthread_self()))
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "PJRT_Client_Destroy in a callback on %s's own thread would wait for itself: destroy the "
                              "client on another thread",
                              a->client->mine[i]->description.text);
    XT_TRY(face_end_handle(a->client, FACE_CLIENT, "Client_Destroy", "client"));
    face_client_retain(a->client);
    if (!face_retire(&a->client->topology, FACE_TOPOLOGY)) face_client_release(a->client);
    atomic_store(&a->client->closed, true);
    stop_executors(a->client);
    return NULL;
}

void face_tell(const char *text, const char **out, size_t *out_size) {
    *out = text;
    *out_size = strlen(text);
}

/* --- what it is --- */
FACE(Client_PlatformName) {
    face_tell(a->client->platform, &a->platform_name, &a->platform_name_size);
    return NULL;
}

FACE(Client_PlatformVersion) {
    face_tell(face_version, &a->platform_version, &a->platform_version_size);
    return NULL;
}

FACE(Client_ProcessIndex) {
    a->process_index = a->client->node_id;
    return NULL;
}

FACE(Client_Devices) {
    a->devices = a->client->all;
    a->num_devices = a->client->n_devices;
    return NULL;
}

FACE(Client_AddressableDevices) {
    a->addressable_devices = a->client->mine;
    a->num_addressable_devices = a->client->n_mine;
    return NULL;
}

FACE(Client_AddressableMemories) {
    a->addressable_memories = a->client->memories;
    a->num_addressable_memories = a->client->n_mine * FACE_KINDS;
    return NULL;
}

FACE(Client_LookupDevice) {
    if (a->id < 0 || (size_t)a->id >= a->client->n_devices)
        return status_new(XT_NOT_FOUND, NULL, "there is no device %d: the client has %zu", a->id, a->client->n_devices);
    a->device = a->client->all[a->id];
    return NULL;
}

FACE(Client_LookupAddressableDevice) {
    if (a->local_hardware_id < 0 || (size_t)a->local_hardware_id >= a->client->n_mine)
        return status_new(XT_NOT_FOUND, NULL, "there is no local device %d: this process has %zu", a->local_hardware_id,
                          a->client->n_mine);
    a->addressable_device = a->client->mine[a->local_hardware_id];
    return NULL;
}

/* Replica r of partition p runs on device r * partitions + p, as in XLA's default. */
FACE(Client_DefaultDeviceAssignment) {
    int64_t n = (int64_t)a->num_replicas * a->num_partitions;
    if (a->num_replicas < 1 || a->num_partitions < 1 || n > (int64_t)a->client->n_devices ||
        (size_t)n > a->default_assignment_size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%d replicas of %d partitions do not fit %zu devices",
                          a->num_replicas, a->num_partitions, a->client->n_devices);
    for (int64_t i = 0; i < n; i++) a->default_assignment[i] = (int32_t)i;
    return NULL;
}

FACE(Client_TopologyDescription) {
    a->topology = &a->client->topology;
    return NULL;
}

/* Host memory is device memory here, so there is nothing to map. */
FACE(Client_DmaMap) {
    (void)a;
    return NULL;
}

FACE(Client_DmaUnmap) {
    (void)a;
    return NULL;
}

FACE(Client_UpdateGlobalProcessInfo) {
    (void)a; /* the group notices a dead process by itself */
    return NULL;
}
