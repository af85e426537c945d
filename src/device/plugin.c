/* Loading a plugin: dlopen, the checks that keep a wrong or too old file from crashing later, Plugin_Initialize once,
 * its attributes. */
#include <dlfcn.h>
#include <elf.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"
#include "device/device_int.h"

/* The oldest table we can work with: 0.57 fixed the order of slots, and 0.40 has everything the client needs
 * unconditionally. */
enum { OLDEST_MINOR = 57 };

static pthread_mutex_t plugins_lock = PTHREAD_MUTEX_INITIALIZER;
static device_plugin *plugins; /* guarded; entries never leave */

static xt_status check_api(const char *path, const PJRT_Api *api) {
    if (!api) return status_new(XT_FAILED_PRECONDITION, NULL, "%s: GetPjrtApi gave no function table", path);
    const PJRT_Api_Version *v = &api->pjrt_api_version;
    if (api->struct_size < offsetof(PJRT_Api, Error_Destroy) || v->major_version != 0)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "%s speaks PJRT C API %d.%d with a table of %zu bytes; xtrain speaks 0.%d and newer 0.x",
                          path, v->major_version, v->minor_version, api->struct_size, OLDEST_MINOR);
    if (v->minor_version < OLDEST_MINOR)
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "%s speaks PJRT C API 0.%d, which is older than 0.%d, the oldest xtrain can use; install a newer plugin",
            path, v->minor_version, OLDEST_MINOR);
    /* Every slot of the base order must be there: calls to them are not checked one by one. */
    static const struct {
        const char *name;
        size_t offset;
        int since;
    } slots[] = {
#define PJRT_FN(name, since, size, ...) {#name, offsetof(PJRT_Api, name), since},
#define PJRT_FN_VOID PJRT_FN
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
    };
    for (size_t i = 0; i < BASE_COUNT(slots); i++) {
        if (slots[i].since > 0) continue;
        void *const *slot = (void *const *)((const char *)api + slots[i].offset);
        if (slots[i].offset + sizeof *slot > api->struct_size)
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "%s: its table of %zu bytes ends before PJRT_%s; the file is no working PJRT plugin",
                              path, api->struct_size, slots[i].name);
    }
    static const size_t needed[] = {offsetof(PJRT_Api, Error_Destroy), offsetof(PJRT_Api, Error_Message),
                                    offsetof(PJRT_Api, Error_GetCode)};
    for (size_t i = 0; i < BASE_COUNT(needed); i++)
        if (!*(void *const *)((const char *)api + needed[i]))
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "%s: its table has no function to read errors; the file is no working PJRT plugin", path);
    return NULL;
}

static void read_attributes(device_plugin *p) {
    PJRT_Plugin_Attributes_Args a = PJRT_INIT(Plugin_Attributes);
    xt_status s = DEVICE_CALL(p->api, Plugin_Attributes, &a, "reading the plugin's attributes");
    static const char key[] = "stablehlo_current_version";
    for (size_t i = 0; !s && i < a.num_attributes; i++) {
        const PJRT_NamedValue *v = &a.attributes[i];
        if (v->name_size == sizeof key - 1 && memcmp(v->name, key, sizeof key - 1) == 0 &&
            v->type == PJRT_VALUE_INT64_LIST && v->value_size == 3)
            memcpy(p->stablehlo, v->int64_array_value, sizeof p->stablehlo);
    }
    xt_status_free(s); /* the attributes are advice */
}

/* libgomp, which our CPU plugin brings along, lets a thread that waits for its team spin for milliseconds before it
 * sleeps. On a machine whose cores are busy with something else those milliseconds are taken from the very thread that
 * is waited for (measured: a step of 6 ms took 150 ms beside five other jobs, 45 ms with this). So it gets the count
 * libgomp uses when there are more threads than cores; who sets a policy keeps it. It is read when the library is
 * loaded, hence from the environment and here. */
static void calm_waiting_threads(void) {
    if (!getenv("OMP_WAIT_POLICY")) env_default("GOMP_SPINCOUNT", "1000");
}

/* libtpu asks a metadata server on the network and keeps a lock file unless it is told not to: where no TPU is, these
 * are set, in this process only, before it is loaded, unless the user has set them. */
static const char *const tpu_env[][2] = {
    {"TPU_SKIP_MDS_QUERY", "1"}, {"TPU_WORKER_HOSTNAMES", "localhost"},
    {"TPU_WORKER_ID", "0"},      {"TPU_ACCELERATOR_TYPE", "v5litepod-4"},
    {"TPU_MIN_LOG_LEVEL", "3"},  {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
};

void device_quiet_tpu(void) {
    bool said = false;
    for (size_t i = 0; i < BASE_COUNT(tpu_env); i++) {
        if (getenv(tpu_env[i][0])) continue;
        env_set(tpu_env[i][0], tpu_env[i][1]);
        said = true;
    }
    if (said && env_has_word("XT_DEBUG", "plugin"))
        for (size_t i = 0; i < BASE_COUNT(tpu_env); i++)
            log_msg(XT_SEV_INFO, "for compiling without a TPU: %s=%s in this process", tpu_env[i][0],
                    getenv(tpu_env[i][0]));
}

/* libtpu where no TPU is asks a metadata server on the network for minutes before it says so. */
bool device_lacks_tpu(device_family f) {
    int n = 0;
    const char *source;
    xt_status s = f == DEVICE_FAMILY_TPU ? device_count("TPU", &n, &source) : NULL;
    bool none = f == DEVICE_FAMILY_TPU && !s && n == 0;
    xt_status_free(s);
    return none;
}

/* A file that ends before what it wants in memory (a download that broke off) would end the process by SIGBUS in
 * dlopen. What is no ELF file of 64 bits is left to dlopen, which has a sentence for it. */
static xt_status check_whole(const char *path) {
    Elf64_Ehdr h;
    Elf64_Phdr part;
    struct stat st;
    uint64_t need = 0;
    int fd;
    xt_status s = file_open_input(path, false, &fd, NULL); /* neither is a FIFO waited for by dlopen */
    if (s && status_code(s) == XT_INVALID_ARGUMENT) return s;
    xt_status_free(s);
    if (fd < 0) return NULL;
    bool elf = fstat(fd, &st) == 0 && pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
               memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == ELFCLASS64 &&
               h.e_phentsize == sizeof part;
    for (int i = 0; elf && i < h.e_phnum; i++) {
        uint64_t end = h.e_phoff + ((uint64_t)i + 1) * sizeof part;
        if (pread(fd, &part, sizeof part, (off_t)(end - sizeof part)) != (ssize_t)sizeof part)
            part.p_type = PT_NULL;
        else if (part.p_type == PT_LOAD && part.p_offset <= INT64_MAX && part.p_filesz <= INT64_MAX)
            end = part.p_offset + part.p_filesz;
        if (end > need) need = end;
    }
    close(fd);
    if (!elf || need <= (uint64_t)st.st_size) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "the plugin %s is cut short: it has %lld of the %llu bytes it needs; install it again", path,
                      (long long)st.st_size, (unsigned long long)need);
}

static xt_status load(const char *path, device_plugin *p) {
    XT_TRY(check_whole(path));
    if (device_lacks_tpu(device_family_of(path))) device_quiet_tpu();
    if (device_family_of(path) == DEVICE_FAMILY_CUDA) device_cuda_preload(path);
    if (device_family_of(path) == DEVICE_FAMILY_CPU) calm_waiting_threads();
    cpu_set_t ours;
    bool known = sched_getaffinity(0, sizeof ours, &ours) == 0;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (known) sched_setaffinity(0, sizeof ours, &ours); /* an OpenMP runtime that came along binds this thread */
    if (!lib) return status_new(XT_FAILED_PRECONDITION, NULL, "the plugin could not be loaded: %s", dlerror());
    PJRT_GetApi get;
    *(void **)&get = dlsym(lib, "GetPjrtApi");
    if (!get)
        return status_new(XT_FAILED_PRECONDITION, NULL, "%s is not a PJRT plugin: it does not export GetPjrtApi", path);
    p->api = get();
    XT_TRY(check_api(path, p->api));
    PJRT_Plugin_Initialize_Args a = PJRT_INIT(Plugin_Initialize);
    XT_TRY(DEVICE_CALL(p->api, Plugin_Initialize, &a, "initialising the plugin"));
    p->family = device_family_of(path);
    p->path = base_strdup(path);
    p->build_id = device_build_id(path);
    if (!p->path || !p->build_id) return status_oom(strlen(path), "a plugin's name");
    read_attributes(p);
    return NULL;
}

xt_status device_plugin_load(const char *path, const device_plugin **out) {
    xt_status s = NULL;
    pthread_mutex_lock(&plugins_lock);
    device_plugin *p = plugins;
    while (p && strcmp(p->path, path) != 0) p = p->next;
    if (!p) {
        p = base_calloc(1, sizeof *p);
        s = p ? load(path, p) : status_oom(sizeof *p, "a plugin");
        if (!s) {
            p->next = plugins;
            plugins = p;
        } else if (p) {
            base_free(p->path);
            base_free(p->build_id);
            base_free(p);
        }
    }
    pthread_mutex_unlock(&plugins_lock);
    *out = s ? NULL : p;
    return s;
}
