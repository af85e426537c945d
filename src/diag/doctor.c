/* What this machine can train and plan on; see xtrain/doctor.h. */
#include <dirent.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xtrain/doctor.h>

#include "diag/diag.h"

static const struct {
    const char *device, *package;
} packages[] = {{"TPU", "libtpu"}, {"CUDA", "jax-cuda13-pjrt"}, {"XLA_CPU", "lammps-jax-pjrt-cpu"}};

bool xt_doctor_package(const char *device, char package[64], char folder[512]) {
    for (size_t i = 0; i < BASE_COUNT(packages); i++) {
        if (strcasecmp(packages[i].device, device) != 0) continue;
        char *own = device_plugins_dir();
        snprintf(package, 64, "%s", packages[i].package);
        snprintf(folder, 512, "%s/%s", own ? own : ".", packages[i].package);
        base_free(own);
        return true;
    }
    return false;
}

void xt_doctor_plugin(const char *device, xt_plugin_report *out) {
    device_probe_result p;
    char package[64], folder[512];
    *out = (xt_plugin_report){.memory_limit = -1, .memory_in_use = -1};
    snprintf(out->device, sizeof out->device, "%s", device);
    if (xt_doctor_package(device, package, folder))
        snprintf(out->install, sizeof out->install, "python3 -m pip install --target %s %s", folder, package);
    xt_status s = device_probe(device, &p);
    if (s) {
        /* a page of folders: the error of XT_DEVICE has them */
        const char *why = status_message(s), *places = strstr(why, ". Looked at:");
        snprintf(out->problem, sizeof out->problem, "%.*s", (int)(places ? (size_t)(places - why) : strcspn(why, "\n")),
                 why);
        xt_status_free(s);
        return;
    }
    out->found = true;
    out->loads = p.loads;
    out->opens = p.opens;
    out->api_major = p.api_major;
    out->api_minor = p.api_minor;
    memcpy(out->stablehlo, p.stablehlo, sizeof out->stablehlo);
    out->devices = p.devices;
    out->memory_limit = p.memory_limit;
    out->memory_in_use = p.memory_in_use;
    snprintf(out->path, sizeof out->path, "%s", p.path);
    snprintf(out->problem, sizeof out->problem, "%s", p.problem);
    snprintf(out->platform, sizeof out->platform, "%s", p.platform);
    snprintf(out->missing, sizeof out->missing, "%s", p.missing);
    snprintf(out->kind, sizeof out->kind, "%s", p.kind);
}

void xt_doctor_look(xt_doctor_folders *out) {
    *out = (xt_doctor_folders){.host_memory = -1, .host_cores = sysconf(_SC_NPROCESSORS_ONLN)};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) out->host_memory = (int64_t)pages * page;
    char *own = device_plugins_dir();
    if (own) snprintf(out->plugins, sizeof out->plugins, "%s", own);
    base_free(own);
    char *dir = lazy_cache_folder(out->cache_problem, sizeof out->cache_problem);
    if (!dir) return;
    snprintf(out->cache, sizeof out->cache, "%s", dir);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *path = path_join(dir, e->d_name);
        struct stat st;
        if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            out->cache_files++;
            out->cache_bytes += st.st_size;
        }
        base_free(path);
    }
    if (d) closedir(d);
    base_free(dir);
}
