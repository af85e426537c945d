/* What NVIDIA's plugin needs that others do not: the CUDA libraries that pip installs in packages of their own, the
 * folder of CUDA's tools, and the options of its allocator.
 *
 * The plugin's run path names the nvidia/ folder of the site-packages it lies in. JAX loads each library by its path
 * before the plugin, wherever Python would import nvidia.* from; the plugin, which opens them by soname, then gets
 * those copies. The same is done here, but for libraries that the run path leads to anyway: cuBLAS alone takes a third
 * of a second to load, and a program that multiplies nothing does not need it.
 *
 * Source of names and folders: jax_plugins/xla_cuda12 and xla_cuda13 of JAX 0.10 and 0.11. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include "device/device_int.h"

typedef struct cuda_library {
    int cuda; /* its major version; 0 = of any */
    const char *package; /* below nvidia/ */
    const char *file;
    bool always; /* the plugin's run path does not lead to it, or another library wants it there */
    const char *pip; /* the package that has it */
} cuda_library;

static const cuda_library libraries[] = {
    {12, "cuda_runtime", "libcudart.so.12", false, "nvidia-cuda-runtime-cu12"},
    {13, "cu13", "libcudart.so.13", false, "nvidia-cuda-runtime"},
    {12, "cuda_nvrtc", "libnvrtc.so.12", true, "nvidia-cuda-nvrtc-cu12"}, /* cuDNN's, which looks elsewhere */
    {13, "cu13", "libnvrtc.so.13", true, "nvidia-cuda-nvrtc"},
    {12, "cublas", "libcublas.so.12", false, "nvidia-cublas-cu12"},
    {13, "cu13", "libcublas.so.13", false, "nvidia-cublas"},
    {12, "cublas", "libcublasLt.so.12", false, "nvidia-cublas-cu12"},
    {13, "cu13", "libcublasLt.so.13", false, "nvidia-cublas"},
    {12, "nccl", "libnccl.so.2", false, "nvidia-nccl-cu12"},
    {13, "nccl", "libnccl.so.2", false, "nvidia-nccl-cu13"},
    {12, "cuda_cupti", "libcupti.so.12", false, "nvidia-cuda-cupti-cu12"},
    {13, "cu13", "libcupti.so.13", false, "nvidia-cuda-cupti"},
    {12, "cusparse", "libcusparse.so.12", false, "nvidia-cusparse-cu12"},
    {13, "cu13", "libcusparse.so.12", false, "nvidia-cusparse"},
    {12, "cufft", "libcufft.so.11", false, "nvidia-cufft-cu12"},
    {13, "cu13", "libcufft.so.12", false, "nvidia-cufft"},
    {12, "cudnn", "libcudnn.so.9", false, "nvidia-cudnn-cu12"},
    {13, "cudnn", "libcudnn.so.9", false, "nvidia-cudnn-cu13"},
};

/* 13 for .../xla_cuda13/xla_cuda_plugin.so; 0 when the folder does not say. */
static int cuda_version(const char *path) {
    const char *at = strstr(path, "/xla_cuda1");
    return !at ? 0 : at[10] == '2' ? 12 : at[10] == '3' ? 13 : 0;
}

/* The site-packages the plugin lies in: three levels up. */
static bool site_of(const char *path, char out[PATH_MAX]) {
    snprintf(out, PATH_MAX, "%s", path);
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out) return false;
        *slash = '\0';
    }
    return true;
}

/* The library's file in a Python folder, the plugin's own first; base_free, NULL = none. */
static char *find(const cuda_library *l, const char *site, bool *beside) {
    char path[PATH_MAX + 64], rest[128];
    snprintf(rest, sizeof rest, "nvidia/%s/lib/%s", l->package, l->file);
    snprintf(path, sizeof path, "%s/%s", site, rest);
    *beside = *site && file_exists(path);
    return *beside ? base_strdup(path) : device_find_in_python(rest);
}

void device_cuda_preload(const char *plugin) {
    int cuda = cuda_version(plugin);
    char site[PATH_MAX];
    if (!site_of(plugin, site)) *site = '\0';
    for (size_t i = 0; i < BASE_COUNT(libraries); i++) {
        const cuda_library *l = &libraries[i];
        bool beside;
        if (cuda && l->cuda != cuda) continue;
        char *path = find(l, site, &beside);
        if (path && (l->always || !beside) && !dlopen(path, RTLD_LAZY | RTLD_LOCAL))
            log_once(l->file, XT_SEV_WARNING, "%s could not be loaded: %s", path, dlerror());
        else if (path && env_has_word("XT_DEBUG", "plugin"))
            log_msg(XT_SEV_INFO, "CUDA library %s%s", path, beside && !l->always ? ", which the plugin finds" : "");
        base_free(path);
    }
}

/* How many libraries are nowhere; their names and pip's, separated by commas. Loads what the system has. */
int device_cuda_missing(const char *plugin, str *names, str *packages) {
    int cuda = cuda_version(plugin), n = 0;
    char site[PATH_MAX];
    if (!site_of(plugin, site)) *site = '\0';
    for (size_t i = 0; cuda && i < BASE_COUNT(libraries); i++) {
        const cuda_library *l = &libraries[i];
        bool beside;
        if (l->cuda != cuda) continue;
        char *path = find(l, site, &beside);
        if (!path && !dlopen(l->file, RTLD_LAZY | RTLD_LOCAL)) {
            str_printf(names, "%s%s", n ? ", " : "", l->file);
            if (!packages->len || !strstr(str_cstr(packages), l->pip)) str_printf(packages, " %s", l->pip);
            n++;
        }
        base_free(path);
    }
    return n;
}

char *device_cuda_data_dir(const char *plugin) {
    static const char *const folders[] = {"nvidia/cu13", "nvidia/cuda_nvcc"};
    const char *root = getenv("CUDA_ROOT");
    char site[PATH_MAX], path[PATH_MAX + 32];
    if (root && *root) return base_strdup(root);
    if (!site_of(plugin, site)) return NULL;
    for (size_t i = 0; i < BASE_COUNT(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", site, folders[i]);
        if (cuda_version(plugin) != (i ? 13 : 12) && file_exists(path)) return base_strdup(path);
    }
    return NULL;
}

/* --- create options --- */
typedef enum value_kind { VALUE_TEXT, VALUE_FRACTION, VALUE_FLAG, VALUE_BYTES, VALUE_MEBIBYTES } value_kind;
static const struct {
    const char *ours;
    const char *jax; /* JAX's variable of the same meaning, read where ours is not set */
    const char *option; /* the plugin's name for it */
    value_kind kind, jax_kind;
} options[DEVICE_CUDA_OPTIONS] = {
    {"XT_GPU_ALLOCATOR", "XLA_PYTHON_CLIENT_ALLOCATOR", "allocator", VALUE_TEXT, VALUE_TEXT},
    {"XT_GPU_PREALLOCATE", "XLA_PYTHON_CLIENT_PREALLOCATE", "preallocate", VALUE_FLAG, VALUE_FLAG},
    {"XT_GPU_MEMORY_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "memory_fraction", VALUE_FRACTION, VALUE_FRACTION},
    {"XT_GPU_COLLECTIVE_MEMORY", "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "collective_memory_size", VALUE_BYTES,
     VALUE_MEBIBYTES},
};

static bool read_value(value_kind kind, const char *text, PJRT_NamedValue *v, const char **expected) {
    double fraction;
    switch (kind) {
    case VALUE_TEXT:
        v->type = PJRT_VALUE_STRING;
        v->string_value = text;
        v->value_size = strlen(text);
        *expected = "a name";
        return true;
    case VALUE_FLAG:
        v->type = PJRT_VALUE_BOOL;
        *expected = "on or off (also 1/0, true/false, yes/no)";
        return parse_flag(text, &v->bool_value);
    case VALUE_FRACTION:
        v->type = PJRT_VALUE_FLOAT;
        *expected = "a part of the GPU's memory, above 0 and at most 1, as 0.75";
        if (!parse_double(text, &fraction) || !(fraction > 0 && fraction <= 1)) return false;
        v->float_value = (float)fraction;
        return true;
    case VALUE_BYTES:
        v->type = PJRT_VALUE_INT64;
        *expected = "bytes, as 300M or 2GiB";
        return parse_bytes(text, &v->int64_value) && v->int64_value >= 0;
    case VALUE_MEBIBYTES:
        v->type = PJRT_VALUE_INT64;
        *expected = "a whole number of MiB";
        if (!parse_i64(text, &v->int64_value) || v->int64_value < 0 || v->int64_value > INT64_MAX >> 20) return false;
        v->int64_value <<= 20;
        return true;
    }
    return false;
}

xt_status device_cuda_options(PJRT_NamedValue *out, size_t *n) {
    for (size_t i = 0; i < BASE_COUNT(options); i++) {
        const char *name = options[i].ours, *text = env_get(name), *expected = "";
        value_kind kind = options[i].kind;
        if (!text) {
            name = options[i].jax;
            text = getenv(name);
            kind = options[i].jax_kind;
        }
        if (!text || !*text) continue;
        PJRT_NamedValue v = {.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = options[i].option,
                             .name_size = strlen(options[i].option),
                             .value_size = 1};
        if (!read_value(kind, text, &v, &expected))
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s is '%s': expected %s", name, text, expected);
        out[(*n)++] = v;
    }
    return NULL;
}
