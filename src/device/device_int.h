/* Shared by the files of src/device: what a plugin, a client, a buffer and an executable are made of, and how a PJRT
 * call becomes a status.
 *
 * Invariants:
 *  1. A plugin file is loaded at most once in a process and never unloaded (XLA's plugins cannot be).
 *  2. Buffers and executables hold a reference to their client, so device_close before their release is safe.
 *  3. A callback of the plugin touches its client for the last time when it lowers `pending`; device_close waits for
 *     that, so a client is never destroyed on one of the plugin's own threads by us. */
#ifndef XT_SRC_DEVICE_INT_H
#define XT_SRC_DEVICE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/ending.h"
#include "device/device.h"
#include "device/pjrt_abi.h"

/* What we know of a plugin before asking it: by its file's name. */
typedef enum device_family {
    DEVICE_FAMILY_UNKNOWN,
    DEVICE_FAMILY_CPU,
    DEVICE_FAMILY_XLA_CPU,
    DEVICE_FAMILY_TPU,
    DEVICE_FAMILY_CUDA
} device_family;
device_family device_family_of(const char *path);
/* The family a spec stands for, without looking for files: a name of the table, or the base name of a path. NULL as in
 * device_find_plugin. */
device_family device_family_of_spec(const char *spec);
const char *device_spec(const char *spec); /* spec, or XT_DEVICE, or PJRT_DEVICE, or "CPU" */

typedef struct device_plugin {
    char *path, *build_id;
    device_family family;
    const PJRT_Api *api;
    int64_t stablehlo[3];
    struct device_plugin *next;
} device_plugin;
/* Loads, checks and initialises the plugin, or gives the one loaded before. */
xt_status device_plugin_load(const char *path, const device_plugin **out);
/* A plugin, or a program, is there: from the exit handlers that are older on, device_leaving is an error. */
void device_watch_exit(bool program);
xt_status device_leaving(void);
/* A program has run for the first time: exit() waits for those that run before it takes down what that has made. */
void device_rest_at_exit(void);
void device_quiet_tpu(void); /* plugin.c: libtpu shall not look for a TPU; before it is loaded */
bool device_lacks_tpu(device_family f); /* plugin.c: a TPU plugin, on a machine that has none */
char *device_build_id(const char *path); /* size-mtime-GNU build id; base_free; NULL without memory */

struct device_client {
    atomic_int refs;
    const device_plugin *plugin;
    const PJRT_Api *api;
    PJRT_Client *pjrt;
    bool dry; /* no plugin: see dry.c */
    PJRT_Device *device; /* where buffers go and programs run: the first addressable one */
    int32_t device_id;
    int32_t *replica_ids; /* global id of the first device of each process, by process */
    int n_processes;
    int node_id, n_nodes;
    device_kv kv;
    device_info info;
    char *strings[3]; /* platform, version, kind: owned */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    int64_t pending, running; /* callbacks that are still to come; those of programs among them */
};
void device_client_retain(device_client *c);
void device_client_unref(device_client *c);
void device_pending_add(device_client *c);
void device_pending_done(device_client *c);
void device_run_add(device_client *c); /* the same for a program's completion */
void device_run_done(device_client *c);
/* until no program runs; true when one did. Not from a completion callback */
bool device_wait_running(device_client *c);

struct device_buffer {
    atomic_int refs;
    device_client *client;
    PJRT_Buffer *pjrt;
    xt_dtype dtype;
    size_t rank, bytes;
    int64_t device_bytes;
    atomic_bool gone; /* donated or deleted; device_bytes is no longer counted */
    int64_t dims[]; /* rank dims, then rank numbers n-1 .. 0: the row-major layout */
};
/* A buffer that a program is to fill; its filling cannot fail. */
xt_status device_buffer_blank(device_client *c, xt_dtype t, size_t rank, const int64_t *dims, device_buffer **out);
void device_buffer_fill(device_buffer *b, PJRT_Buffer *pjrt, int64_t device_bytes); /* as device_buffer_wrap */
/* Wraps a plugin's buffer; takes it over, also on failure. device_bytes < 0 = ask the plugin. */
xt_status device_buffer_wrap(device_client *c, PJRT_Buffer *pjrt, xt_dtype t, size_t rank, const int64_t *dims,
                             int64_t device_bytes, device_buffer **out);
/* After an execution: notes that the plugin consumed b, if it did. */
bool device_buffer_check_gone(device_buffer *b);

typedef struct device_output {
    xt_dtype dtype;
    size_t rank;
    const int64_t *dims;
    _Atomic int64_t device_bytes; /* -1 until the first execution has told */
} device_output;
struct device_exec {
    device_client *client;
    PJRT_LoadedExecutable *loaded;
    PJRT_Executable *pjrt;
    size_t n_out;
    device_output *out;
    int64_t *dims; /* of all outputs */
    bool *donates; /* of a rehearsal: which inputs are consumed */
    atomic_bool ran;
};

void device_stats_of(const PJRT_Api *api, PJRT_Executable *e, device_exec_stats *out); /* stats.c */
/* An entry of the override map of compile options (CompileOptionsProto 7): a bool, or a text. */
void device_option_bool(str *options, const char *name, bool value);
void device_option_text(str *options, const char *name, const char *value);

/* cuda.c: what NVIDIA's plugin needs. */
char *device_find_in_python(const char *file); /* search.c: below a Python's site-packages; base_free, NULL = nowhere */
/* Loads CUDA libraries that lie where the plugin would not look for them; before the plugin is loaded. */
void device_cuda_preload(const char *plugin);
/* Appends the libraries that are neither in a Python folder nor where the system looks, and pip's packages that have
 * them; how many. */
int device_cuda_missing(const char *plugin, str *names, str *packages);
char *device_cuda_data_dir(const char *plugin); /* where ptxas and libdevice are, as JAX says it; base_free, or NULL */
/* Adds the allocator's options that variables ask for, at most DEVICE_CUDA_OPTIONS of them. Their texts are borrowed
 * from the environment. */
enum { DEVICE_CUDA_OPTIONS = 4 };
xt_status device_cuda_options(PJRT_NamedValue *out, size_t *n);

/* dry.c: what the files of the real objects call for a dry client. */
xt_status device_dry_open(const char *spec, device_client *c);
xt_status device_dry_execute(device_exec *e, size_t n_in, device_buffer *const *in, const bool *keep,
                             device_buffer **out);
void device_buffer_mark_gone(device_buffer *b);

/* --- errors (error.c) --- */
/* The plugin's error as a status, "what: message"; destroys the error. NULL stays NULL. */
xt_status device_error(const PJRT_Api *api, PJRT_Error *e, const char *what);
xt_status device_missing(const PJRT_Api *api, const char *function);
/* Waits for the event and destroys it; its error is the result. */
xt_status device_event_finish(const PJRT_Api *api, PJRT_Event *e, const char *what);
void device_event_destroy(const PJRT_Api *api, PJRT_Event *e); /* NULL is fine */
/* Calls slot `name`, which may be missing, with &args. */
#define DEVICE_CALL(api, name, args, what) \
    (PJRT_HAS(api, name) ? device_error(api, (api)->name(args), what) : device_missing(api, #name))
/* The same for a call that computes: the process does not go while one is under way. */
#define DEVICE_WORK(api, name, args, what)                      \
    __extension__({                                             \
        ending_enter_within();                                  \
        xt_status worked_ = DEVICE_CALL(api, name, args, what); \
        ending_leave();                                         \
        worked_;                                                \
    })
char *device_text(const char *p, size_t n); /* a copy with NUL; base_free */
/* "f32[2,3]" for messages. */
const char *device_shape_text(xt_dtype t, size_t rank, const int64_t *dims, char *buf, size_t n);

/* The roots below which device_count looks for the system's files: "" but in tests. */
extern const char *device_fs_root;

#endif
