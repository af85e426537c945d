/* What this machine can train and plan on: plugins, versions, devices, memory, folders, and what is missing. `xtrain doctor` prints it. */
#ifndef XTRAIN_DOCTOR_H
#define XTRAIN_DOCTOR_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_plugin_report {
    char device[64];      /* as asked: "TPU" */
    bool found, loads, opens;
    char path[512];
    char problem[1024];   /* why it was not found, does not load or has no device; "" = all is well */
    char install[640];   /* the command that installs it; "" = it is no package */
    int api_major, api_minor;
    int64_t stablehlo[3]; /* zeros = not said */
    int devices;
    char platform[64], kind[64];
    int64_t memory_limit, memory_in_use; /* of one device; -1 = not said */
} xt_plugin_report;
/* Looks for the device's plugin and tries it in a process of its own (up to a minute when it hangs). device: CPU, TPU, CUDA, XLA_CPU or a path. */
XT_API void xt_doctor_plugin(const char *device, xt_plugin_report *out);
typedef struct xt_doctor_folders {
    char cache[512];       /* of compiled programs; "" = off or none */
    char cache_problem[256];
    int64_t cache_bytes, cache_files;
    char plugins[512];     /* where doctor --install puts packages */
    int64_t host_memory, host_cores;
} xt_doctor_folders;
XT_API void xt_doctor_look(xt_doctor_folders *out);
/* The package and the folder for a device ("tpu" -> "libtpu"); false when there is nothing to install for it. */
XT_API bool xt_doctor_package(const char *device, char package[64], char folder[512]);

#ifdef __cplusplus
}
#endif
#endif
