/* What this machine can train and plan on: plugins, versions, devices, memory, folders, and what is missing. `xtrain
 * doctor` prints it. */
#ifndef XTRAIN_DOCTOR_H
#define XTRAIN_DOCTOR_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What there is to say about one device's plugin. */
typedef struct xt_plugin_report {
    char device[64]; /* as asked: "TPU" */
    bool found, loads, opens; /* there is such a file; it is a PJRT plugin; a client was made */
    char path[512]; /* the file; "" = none */
    char problem[1024]; /* why it was not found, does not load or has no device; "" = all is well */
    char install[640]; /* the command that installs it; "" = it is no package */
    int api_major, api_minor; /* of PJRT's C API that it was built with */
    int64_t stablehlo[3]; /* zeros = not said */
    int devices; /* of this process */
    char platform[64], kind[64]; /* "cuda", "NVIDIA H200": as it names itself and its first device */
    int64_t memory_limit, memory_in_use; /* of one device; -1 = not said */
    char missing[1024]; /* libraries it needs that are nowhere, and how to get them; "" = none */
} xt_plugin_report;
/* Looks for the device's plugin and tries it in a process of its own (up to a minute when it hangs). device: CPU, TPU,
 * CUDA, XLA_CPU or a path. */
XT_API void xt_doctor_plugin(const char *device, xt_plugin_report *out);
/* Folders and means of this machine. */
typedef struct xt_doctor_folders {
    char cache[512]; /* of compiled programs; "" = off or none */
    char cache_problem[256]; /* why the folder is not used; "" = it is */
    int64_t cache_bytes, cache_files; /* what its programs take, and how many there are */
    char plugins[512]; /* where doctor --install puts packages */
    int64_t host_memory, host_cores; /* bytes, and cores that this process may use */
} xt_doctor_folders;
/* Fills `out`: which folders xtrain writes to, and what this machine has. */
XT_API void xt_doctor_look(xt_doctor_folders *out);
/* The package and the folder for a device ("tpu" -> "libtpu"); false when there is nothing to install for it. */
XT_API bool xt_doctor_package(const char *device, char package[64], char folder[512]);

/* --- The compile cache on disk: one file a program. `xtrain cache` is these three. --- */
/* A compiled program on the disk. */
typedef struct xt_cache_file {
    char name[64]; /* KEY.xtc; compile reports show the key */
    int64_t bytes, used; /* used: when it was last loaded or written, seconds since 1970 */
    const char *problem; /* of xt_cache_each with `verify`: what is wrong with it; NULL = nothing, or not looked at */
} xt_cache_file;
/* Each file, those used last first; `visit` gives false to stop. XT_NOT_FOUND without a folder (XT_CACHE=off, or never
 * used); an error too when the folder is not safe to execute from. verify reads each file whole. */
XT_API XT_CHECK xt_status xt_cache_each(bool verify, bool (*visit)(void *user, const xt_cache_file *f), void *user);
#define XT_DEFAULTS_xt_cache_prune_opts(is) is(max_bytes, -1) is(older_days, -1)
XT_DEFAULTS_OF(xt_cache_prune_opts)
typedef struct XT_OPTIONS_ xt_cache_prune_opts {
    size_t struct_size XT_SIZE(xt_cache_prune_opts);
    /* the files not used for longest go until this is left; 0 = nothing is; -1 = no limit */
    int64_t max_bytes XT_IS(xt_cache_prune_opts, max_bytes);
    /* files not used for so many days go; -1 = none for that */
    double older_days XT_IS(xt_cache_prune_opts, older_days);
    bool damaged XT_ZERO; /* files that xt_cache_each finds a problem with go */
} xt_cache_prune_opts;
enum {
    XT_CACHE_NONE = 0 /* .max_bytes = XT_CACHE_NONE: every file goes */
};
/* Removes files; leftovers of writers that died an hour ago or more go in any case. out_files and out_bytes: how much
 * went. Running programs are not disturbed: what they loaded they keep. */
#define xt_cache_prune(...) XT_CACHE_PRUNE_(__VA_ARGS__, )
#define XT_CACHE_PRUNE_(out_files, out_bytes, ...) \
    xt_cache_prune_opt(out_files, out_bytes, XT_OPTS(xt_cache_prune_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_cache_prune_opt(int64_t *out_files, int64_t *out_bytes, xt_cache_prune_opts o);

#ifdef __cplusplus
}
#endif
#endif
