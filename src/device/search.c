/* Where plugins are: a table of device names, each with the files that serve it and the places they are usually
 * installed at.
 *
 * The order of places is the order of preference; the first file that exists wins. On failure the message lists
 * all of them. */
#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "device/device_int.h"

typedef struct known_device {
    const char *name;
    device_family family;
    bool ours; /* beside the library rather than in Python's folders */
    const char *path_env; /* a variable other tools use for the file's path; NULL = none */
    const char *files[3]; /* below site-packages, or base names when ours */
    const char *install;
} known_device;

static const known_device known[] = {
    {"CPU",
     DEVICE_FAMILY_CPU,
     true,
     NULL,
     {"pjrt_plugin_xtrain_cpu.so"},
     "build xtrain (make) or set XT_PLUGIN_DIR to the folder that holds it"},
    {"TPU", DEVICE_FAMILY_TPU, false, "TPU_LIBRARY_PATH", {"libtpu/libtpu.so"}, "install it with: pip install libtpu"},
    {"CUDA",
     DEVICE_FAMILY_CUDA,
     false,
     NULL,
     {"jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
     "install it with: pip install jax-cuda13-pjrt"},
    {"XLA_CPU",
     DEVICE_FAMILY_XLA_CPU,
     false,
     NULL,
     {"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
     "install it with: pip install lammps-jax-pjrt-cpu"},
};

enum { FEW = 3 }; /* places that an error lists */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const known_device *by_name(const char *name) {
    if (strcasecmp(name, "GPU") == 0) name = "CUDA";
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (strcasecmp(known[i].name, name) == 0) return &known[i];
    return NULL;
}

device_family device_family_of(const char *path) {
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        for (size_t f = 0; f < BASE_COUNT(known[i].files) && known[i].files[f]; f++)
            if (strcmp(base_name(known[i].files[f]), base_name(path)) == 0) return known[i].family;
    return DEVICE_FAMILY_UNKNOWN;
}

const char *device_spec(const char *spec) {
    if (spec && *spec) return spec;
    if ((spec = env_get("XT_DEVICE"))) return spec;
    spec = getenv("PJRT_DEVICE");
    if (spec && strcmp(spec, "LIBRARY") == 0 && getenv("PJRT_LIBRARY_PATH")) spec = getenv("PJRT_LIBRARY_PATH");
    return spec && *spec ? spec : "CPU";
}

static bool is_path(const char *spec) {
    size_t n = strlen(spec);
    return strchr(spec, '/') || (n > 3 && strcmp(spec + n - 3, ".so") == 0);
}

device_family device_family_of_spec(const char *spec) {
    spec = device_spec(spec);
    if (is_path(spec)) return device_family_of(spec);
    const known_device *k = by_name(spec);
    return k ? k->family : DEVICE_FAMILY_UNKNOWN;
}

/* The search in progress: the file found, or the places looked at so far. */
typedef struct search {
    char *found;
    str tried;
    int n_tried;
    bool no_memory;
} search;

static void try_file(search *s, const char *dir, const char *file) {
    if (s->found) return;
    char *path = dir ? path_join(dir, file) : base_strdup(file);
    if (!path) {
        s->no_memory = true;
        return;
    }
    if (file_exists(path)) {
        s->found = path;
        return;
    }
    str_printf(&s->tried, "\n  %s", path);
    s->n_tried++;
    base_free(path);
}

/* Looks in every folder that matches `pattern`; names the pattern when there is none. */
static void try_glob(search *s, const char *pattern, const char *file) {
    glob_t g;
    if (s->found) return;
    int rc = glob(pattern, 0, NULL, &g);
    if (rc != 0) {
        str_printf(&s->tried, "\n  %s/%s", pattern, file);
        s->n_tried++;
        return;
    }
    for (size_t i = g.gl_pathc; i-- > 0;) try_file(s, g.gl_pathv[i], file); /* newest Python first */
    globfree(&g);
}

static void try_below(search *s, const char *prefix, const char *rest, const char *file) {
    if (!prefix || !*prefix) return;
    char *pattern = path_join(prefix, rest);
    if (pattern)
        try_glob(s, pattern, file);
    else
        s->no_memory = true;
    base_free(pattern);
}

/* The prefix of the python3 on the PATH: /opt/venv for /opt/venv/bin/python3. The file is not run. */
static bool python_prefix(char out[PATH_MAX]) {
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char exe[PATH_MAX];
        if (n && snprintf(exe, sizeof exe, "%.*s/python3", (int)n, path) < (int)sizeof exe && access(exe, X_OK) == 0) {
            snprintf(out, PATH_MAX, "%.*s/..", (int)n, path);
            return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

char *device_plugins_dir(void) {
    const char *dir = env_get("XT_PLUGINS_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (dir) return base_strdup(dir);
    if (data && *data == '/') return path_join(data, "xtrain/plugins");
    return home && *home ? path_join(home, ".local/share/xtrain/plugins") : NULL;
}

static void search_python(search *s, const char *file) {
    char *own = device_plugins_dir();
    try_below(s, own, "*", file);
    base_free(own);
    for (const char *p = getenv("PYTHONPATH"); p && *p;) {
        size_t n = strcspn(p, ":");
        char *dir = n ? base_strndup(p, n) : NULL;
        if (dir) try_file(s, dir, file);
        base_free(dir);
        p += n + (p[n] == ':');
    }
    char prefix[PATH_MAX];
    try_below(s, getenv("VIRTUAL_ENV"), "lib/python3*/site-packages", file);
    try_below(s, getenv("CONDA_PREFIX"), "lib/python3*/site-packages", file);
    if (python_prefix(prefix)) try_below(s, prefix, "lib/python3*/site-packages", file);
    try_below(s, getenv("HOME"), ".local/lib/python3*/site-packages", file);
    try_below(s, getenv("HOME"), ".pyenv/versions/*/lib/python3*/site-packages", file);
    try_glob(s, "/usr/local/lib/python3*/site-packages", file);
    try_glob(s, "/usr/local/lib/python3*/dist-packages", file);
    try_glob(s, "/usr/lib/python3/dist-packages", file);
}

char *device_find_in_python(const char *file) {
    search s = {0};
    search_python(&s, file);
    str_free(&s.tried);
    return s.found;
}

/* Our own plugin: beside the library (the build tree has both in one folder), in its xtrain folder, or around
 * the program. */
static void search_ours(search *s, const char *file) {
    const char *dir = env_get("XT_PLUGIN_DIR");
    if (dir) try_file(s, dir, file);
    Dl_info self;
    char path[PATH_MAX];
    if (dladdr(known, &self) && self.dli_fname && realpath(self.dli_fname, path)) {
        *strrchr(path, '/') = '\0';
        try_file(s, path, file);
        try_below(s, path, "xtrain", file);
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = '\0';
        *strrchr(path, '/') = '\0';
        try_file(s, path, file);
        try_below(s, path, "../lib/xtrain", file);
        try_below(s, path, "../lib/*-linux-gnu/xtrain", file);
    }
}

static xt_status search_known(const known_device *k, char **out_path) {
    search s = {0};
    const char *given = k->path_env ? getenv(k->path_env) : NULL;
    if (given && *given) try_file(&s, NULL, given);
    for (size_t f = 0; f < BASE_COUNT(k->files) && k->files[f]; f++)
        (k->ours ? search_ours : search_python)(&s, k->files[f]);
    xt_status e = NULL;
    if (s.found)
        *out_path = s.found;
    else if (s.no_memory)
        e = status_oom(PATH_MAX, "a path");
    else {
        bool all = s.n_tried <= 2 * FEW || env_has_word("XT_DEBUG", "plugin");
        size_t n = s.tried.len; /* one line a place */
        char more[160] = "";
        for (int line = 0; !all && line <= FEW; line++) n = line == 0 ? 0 : n + 1 + strcspn(s.tried.data + n + 1, "\n");
        if (!all)
            snprintf(more, sizeof more,
                     "\n"
                     "  and %d more, the site-packages of every Python here among them (XT_DEBUG=plugin lists them)",
                     s.n_tried - FEW);
        e = status_new(
            XT_NOT_FOUND, NULL,
            "no plugin for the device %s was found; %s; or give a plugin's path in XT_DEVICE. Looked at:%.*s%s",
            k->name, k->install, (int)n, str_cstr(&s.tried), more);
    }
    str_free(&s.tried);
    return e;
}

xt_status device_find_plugin(const char *spec, char **out_path) {
    *out_path = NULL;
    spec = device_spec(spec);
    if (is_path(spec)) {
        if (!file_exists(spec))
            return status_new(
                XT_NOT_FOUND, NULL,
                "the plugin file %s does not exist (XT_DEVICE is CPU, TPU, CUDA or the path of a PJRT plugin)", spec);
        char full[PATH_MAX];
        *out_path = base_strdup(realpath(spec, full) ? full : spec);
        return *out_path ? NULL : status_oom(strlen(spec), "a path");
    }
    const known_device *k = by_name(spec);
    if (!k)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "there is no device called '%s': give CPU, TPU, CUDA, XLA_CPU or the path of a PJRT plugin",
                          spec);
    return search_known(k, out_path);
}
