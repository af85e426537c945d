/* The client side of the device boundary: loads any PJRT plugin (ours too) and wraps its objects. Nothing else in the
 * library calls PJRT.
 *
 * Every call that can fail returns an xt_status with PJRT's code and the plugin's message. Buffers, executables and
 * clients are counted handles. Execution is asynchronous: an executed program's outputs may be used as inputs at once;
 * events tell completion. Threads: all functions may be called from any thread. */
#ifndef XT_SRC_DEVICE_H
#define XT_SRC_DEVICE_H

#include "base/base.h"

typedef struct device_client device_client;
typedef struct device_buffer device_buffer;
typedef struct device_exec device_exec;

/* --- plugin search (search.c) --- */
/* Resolves "CPU", "TPU", "CUDA", a path, or NULL (XT_DEVICE, then PJRT_DEVICE, then CPU) to a plugin file. On failure
 * the message lists every place looked at and the command that installs the plugin. */
xt_status device_find_plugin(const char *spec, char **out_path);
/* xtrain's own folder of plugins, one folder a package: XT_PLUGINS_DIR, else below XDG_DATA_HOME or ~/.local/share.
 * base_free; NULL = no home. */
char *device_plugins_dir(void);
/* How many devices `spec` offers on this host without opening it (R2.1): environment variable first, then the system's
 * own files, then (unknown plugin) a throw-away child process. `out_source` says where the number came from
 * ("CPU_NUM_DEVICES", "/dev/accel*", "default"). */
xt_status device_count(const char *spec, int *out_count, const char **out_source);
int device_count_list(const char *text); /* "0,2,3" is 3; NULL and "" are 0 */

/* --- client (client.c) --- */
/* Key-value store for multi-process clients; get blocks up to timeout_ms. Values are base_malloc'ed by get, freed
 * by the client. */
typedef struct device_kv {
    void *user;
    xt_status (*get)(void *user, const char *key, size_t key_size, int timeout_ms, char **value, size_t *value_size);
    xt_status (*put)(void *user, const char *key, size_t key_size, const char *value, size_t value_size);
} device_kv;
typedef struct device_open_opts {
    const char *spec; /* as device_find_plugin */
    int node_id, n_nodes; /* n_nodes > 1: one multi-process client of all ranks, bootstrapped over kv */
    const device_kv *kv;
    int local_devices; /* 0 = the plugin's default; a launched rank asks for 1 */
} device_open_opts;
xt_status device_open(const device_open_opts *opts, device_client **out);
void device_close(device_client *c);
typedef struct device_info {
    const char *plugin_path, *platform, *platform_version; /* platform: "xtrain_cpu", "cpu", "tpu", "cuda" */
    int api_major, api_minor;
    int64_t stablehlo[3]; /* current_version attribute; zeros when unknown */
    int n_devices, n_addressable; /* of the whole run; of this process */
    const char *device_kind;
    const char *build_id; /* of the plugin file: size + mtime + GNU build id, for cache keys */
} device_info;
const device_info *device_get_info(const device_client *c);
/* The version of StableHLO that programs for the device are written for; zeros: today's, which our own compiler reads
 * whatever it tells others. */
const int64_t *device_text_version(const device_client *c);
/* True for XLA's older CPU compilers, which add thousands of f32 in one accumulator: pass lower_sums is for them. */
bool device_sums_in_one_accumulator(const device_client *c);

/* --- what a plugin can do here (probe.c) --- */
typedef struct device_probe_result {
    bool loads, opens; /* the file is a plugin; it has a device here */
    char path[512], problem[1024], platform[64], kind[64];
    int api_major, api_minor, devices;
    int64_t stablehlo[3], memory_limit, memory_in_use;
    char missing[1024]; /* libraries that the plugin needs and that are nowhere, and how to get them; "" = none */
} device_probe_result;
/* Tries the plugin in a child process; an error when none is found. */
xt_status device_probe(const char *spec, device_probe_result *out);

/* --- the rehearsal device (dry.c): the spec "dry" or "dry:N" ---
 * Takes buffers without memory and programs without compiling them; a run is over at once and its results read as
 * zeros. So a training program can be gone through to see what it would send to a device. N is how many devices the run
 * pretends to have; there is one. */
bool device_is_dry(const device_client *c);
typedef struct device_dry_program { /* what a compiler would have found out */
    size_t n_outputs;
    const xt_dtype *dtypes;
    const size_t *ranks;
    const int64_t *const *dims;
    size_t n_inputs;
    const bool *donates; /* per input: an output takes its memory over */
} device_dry_program;
xt_status device_dry_compile(device_client *c, const device_dry_program *p, device_exec **out); /* copies all */

/* --- programs (exec.c) --- */
typedef struct device_compile_opts {
    int num_replicas; /* 0 = 1; > 1: one replica a process of the run */
    int num_partitions; /* 0 = 1; > 1: one partition a process of the run; then num_replicas is 1 */
    const char *tuning_dir; /* a folder where a compiler that measures kernels keeps what it found; NULL = none */
} device_compile_opts;
xt_status device_compile(device_client *c, const char *text, size_t n, const device_compile_opts *o, device_exec **out);
/* What belongs into a disk-cache key besides the text: serialised compile options. base_free. */
xt_status device_compile_options_bytes(device_client *c, const device_compile_opts *o, char **out, size_t *out_size);
/* UNIMPLEMENTED when the plugin has none; base_free */
xt_status device_serialize(device_exec *e, char **out, size_t *out_size);
xt_status device_deserialize(device_client *c, const char *data, size_t n, device_exec **out);
void device_exec_release(device_exec *e);
size_t device_exec_outputs(const device_exec *e);
typedef struct device_exec_stats { /* -1 = the plugin does not say */
    int64_t argument_bytes, output_bytes, temp_bytes, alias_bytes, code_bytes, peak_bytes;
    double flops, bytes_accessed;
    double collective_bytes; /* 0: it runs without other devices */
} device_exec_stats;
void device_exec_get_stats(const device_exec *e, device_exec_stats *out);
/* How long the plugin says it compiled, by phase of its own; gives how many there are (0: it does not say). Asked once,
 * after compiling or loading. */
enum { DEVICE_COMPILE_PHASES = 12 };
typedef struct device_compile_phase {
    char name[16];
    double seconds;
} device_compile_phase;
size_t device_exec_compile_phases(const device_exec *e, device_compile_phase out[DEVICE_COMPILE_PHASES]);

/* Called once per execution from any thread when the device has finished it; `error` is the callee's to free. */
typedef void (*device_done_fn)(void *user, xt_status error, int64_t finished_ns);
/* Runs e on n_in buffers. An input whose parameter is aliased to an output in the program (tf.aliasing_output) is
 * consumed unless `keep[i]` (may be NULL: none kept); release it still. out: device_exec_outputs(e) buffers, yours.
 * Does not wait. */
xt_status device_execute(device_exec *e, size_t n_in, device_buffer *const *in, const bool *keep, device_buffer **out,
                         device_done_fn done, void *user);

/* --- buffers (buffer.c) --- */
/* Copies `data` (dense row-major host bytes) to the device; the host memory is free again on return. */
xt_status device_upload(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, const void *data,
                        device_buffer **out);
/* A buffer of zeros that the host fills in place, before its first use: *out_memory is its bytes. Both NULL where the
 * device's memory is not the host's, or its plugin is not ours. */
xt_status device_blank(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, device_buffer **out,
                       void **out_memory);
void device_buffer_retain(device_buffer *b);
void device_buffer_release(device_buffer *b);
xt_dtype device_buffer_dtype(const device_buffer *b);
size_t device_buffer_rank(const device_buffer *b);
const int64_t *device_buffer_dims(const device_buffer *b);
size_t device_buffer_bytes(const device_buffer *b); /* dense host bytes */
bool device_buffer_deleted(const device_buffer *b); /* donated or deleted */
/* Blocks until the value is there; row-major. `n` must be the buffer's bytes. Counts a host read. */
xt_status device_read(device_buffer *b, void *dst, size_t n);
/* Starts the read and calls `fn` when `dst` is filled (from a plugin thread; keep it short). The buffer is
 * retained meanwhile. */
typedef void (*device_read_fn)(void *user, xt_status error);
xt_status device_read_async(device_buffer *b, void *dst, size_t n, device_read_fn fn, void *user);
xt_status device_buffer_wait(device_buffer *b); /* until the program that makes it has finished */

/* --- compiling for hardware that need not be there (topology.c, chips.c) --- */
/* A set of devices that a plugin's compiler knows by name. Names: "cpu", "cpu:4" (our compiler), "v4:2x2x1", "v5e:2x2",
 * "tpu7x:2x2x1" (libtpu), "cuda:h100", "cuda:a100:8" (the CUDA plugin with a description of the card). */
typedef struct device_topology device_topology;
typedef struct device_chip { /* what vendors publish, for one device of the topology: a TPU core where a chip has two */
    const char *name, *title;
    double flops_bf16, flops_f32; /* a second, dense */
    double bytes_per_s; /* device memory */
    double link_bytes_per_s; /* out of one device to its neighbours, all links together; 0 = unknown */
    int64_t memory_bytes;
    double host_bytes_per_s; /* from and to the host's memory, one way */
} device_chip;
typedef struct device_topology_info {
    const char *name, *plugin_path, *platform, *platform_version, *kind;
    int devices, processes; /* processes: hosts the devices stand in */
    int64_t memory_bytes; /* of one device; -1 unknown */
    int api_major, api_minor;
    int64_t stablehlo[3];
    device_chip chip;
} device_topology_info;
xt_status device_topology_open(const char *name, device_topology **out);
void device_topology_close(device_topology *t);
const device_topology_info *device_topology_get_info(const device_topology *t);
/* Appends the names that device_topology_open knows, for messages and help. */
void device_topology_names(str *out);
typedef struct device_plan_exec device_plan_exec; /* a compiled program that nobody can run here */
typedef struct device_plan_opts {
    int num_partitions; /* 0 = 1; else over the first devices of the topology */
    const char *dump_dir; /* the compiler's own files about the program: also when it does not fit; NULL = none */
} device_plan_opts;
xt_status device_topology_compile(device_topology *t, const char *text, size_t n, const device_plan_opts *o,
                                  device_plan_exec **out);
void device_plan_exec_free(device_plan_exec *e);
void device_plan_exec_get_stats(const device_plan_exec *e, device_exec_stats *out);

typedef struct device_memory { /* -1 = the plugin does not say */
    int64_t in_use, peak, limit;
    /* reserved: with what its allocator keeps; largest_free: block of that */
    int64_t reserved, largest_free, allocations;
} device_memory;
xt_status device_memory_stats(device_client *c, device_memory *out);

/* --- profiler.c: what the plugin's profiler tells of the time between the two, as an XSpace message; NULL where a
 * plugin has none --- */
typedef struct device_profile device_profile;
xt_status device_profile_start(device_client *c, device_profile **out);
/* also of NULL: nothing; base_free `out` */
xt_status device_profile_stop(device_profile *p, char **out, size_t *out_size);

#endif
