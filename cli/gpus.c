/* GPUs by NVML; see gpus.h. Names, numbers and structs of NVML's C interface, version 1 and 2, as its manual has them:
 * they have been the same since driver 450. */
#include "cli/gpus.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { NVML_OK = 0, NVML_TEMPERATURE_GPU = 0, NVML_CORRECTED = 0, NVML_UNCORRECTED = 1, NVML_VOLATILE = 0 };
typedef void *nvml_device;
typedef struct nvml_utilization {
    unsigned gpu, memory; /* percent */
} nvml_utilization;
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;
typedef struct nvml_process { /* of ..._v3 */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} nvml_process;

static struct {
    int (*init)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, nvml_device *);
    int (*name)(nvml_device, char *, unsigned);
    int (*utilization)(nvml_device, nvml_utilization *);
    int (*memory)(nvml_device, nvml_memory *);
    int (*temperature)(nvml_device, int, unsigned *);
    int (*power)(nvml_device, unsigned *); /* milliwatts */
    int (*ecc)(nvml_device, int, int, unsigned long long *);
    int (*processes)(nvml_device, unsigned *, nvml_process *);
} nvml;

static const struct {
    const char *symbol;
    void *at;
} symbols[] = {
    {"nvmlInit_v2", &nvml.init},
    {"nvmlDeviceGetCount_v2", &nvml.count},
    {"nvmlDeviceGetHandleByIndex_v2", &nvml.handle},
    {"nvmlDeviceGetName", &nvml.name},
    {"nvmlDeviceGetUtilizationRates", &nvml.utilization},
    {"nvmlDeviceGetMemoryInfo", &nvml.memory},
    {"nvmlDeviceGetTemperature", &nvml.temperature},
    {"nvmlDeviceGetPowerUsage", &nvml.power},
    {"nvmlDeviceGetTotalEccErrors", &nvml.ecc},
    {"nvmlDeviceGetComputeRunningProcesses_v3", &nvml.processes},
};

/* Opened once and left open: NVML's own clean-up takes longer than a look. */
static bool opened(const char **why) {
    static bool tried, usable;
    static const char *problem;
    if (!tried) {
        tried = true;
        void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!lib) lib = dlopen("/usr/local/nvidia/lib64/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        problem = lib ? NULL : "no libnvidia-ml.so.1, which comes with NVIDIA's driver";
        for (size_t i = 0; lib && i < sizeof symbols / sizeof symbols[0]; i++) {
            void *f = dlsym(lib, symbols[i].symbol);
            memcpy(symbols[i].at, &f, sizeof f);
        }
        if (lib && (!nvml.init || !nvml.count || !nvml.handle)) problem = "libnvidia-ml.so.1 is too old";
        if (!problem && nvml.init() != NVML_OK) problem = "NVIDIA's driver is not loaded";
        usable = !problem;
    }
    *why = problem;
    return usable;
}

static void processes_of(nvml_device d, gpu *g) {
    nvml_process p[GPU_PIDS];
    unsigned n = GPU_PIDS;
    if (!nvml.processes || nvml.processes(d, &n, p) != NVML_OK) return;
    for (unsigned i = 0; i < n && i < GPU_PIDS; i++) {
        g->pids[i].pid = (int)p[i].pid;
        g->pids[i].bytes = p[i].used > 1ULL << 60 ? -1 : (long long)p[i].used; /* all ones: not told */
        g->n_pids++;
    }
}

static void look(nvml_device d, gpu *g) {
    nvml_utilization u;
    nvml_memory m;
    unsigned v;
    unsigned long long errors;
    *g = (gpu){.name = "GPU",
               .busy_percent = -1,
               .celsius = -1,
               .watts = -1,
               .memory_used = -1,
               .memory_total = -1,
               .corrected = -1,
               .uncorrected = -1};
    if (nvml.name) nvml.name(d, g->name, sizeof g->name);
    if (nvml.utilization && nvml.utilization(d, &u) == NVML_OK) g->busy_percent = (int)u.gpu;
    if (nvml.memory && nvml.memory(d, &m) == NVML_OK) {
        g->memory_used = (long long)m.used;
        g->memory_total = (long long)m.total;
    }
    if (nvml.temperature && nvml.temperature(d, NVML_TEMPERATURE_GPU, &v) == NVML_OK) g->celsius = (int)v;
    if (nvml.power && nvml.power(d, &v) == NVML_OK) g->watts = v / 1000.0;
    if (nvml.ecc && nvml.ecc(d, NVML_CORRECTED, NVML_VOLATILE, &errors) == NVML_OK) g->corrected = (long long)errors;
    if (nvml.ecc && nvml.ecc(d, NVML_UNCORRECTED, NVML_VOLATILE, &errors) == NVML_OK)
        g->uncorrected = (long long)errors;
    processes_of(d, g);
}

int gpus_look(gpu *out, const char **why) {
    unsigned n = 0;
    int found = 0;
    if (!opened(why) || nvml.count(&n) != NVML_OK) return 0;
    for (unsigned i = 0; i < n && found < GPUS_MOST; i++) {
        nvml_device d;
        if (nvml.handle(i, &d) == NVML_OK) look(d, &out[found++]);
    }
    return found;
}

/* --- text and JSON --- */
static const char *or_dash(char *buf, size_t n, long long v, const char *unit) {
    if (v < 0)
        snprintf(buf, n, "-");
    else
        snprintf(buf, n, "%lld%s", v, unit);
    return buf;
}

void gpus_print(FILE *f, const gpu *g, int n, int columns) {
    char line[400], busy[16], hot[16], used[16], all[16], fixed[24], lost[24];
    for (int i = 0; i < n; i++, g++) {
        snprintf(line, sizeof line, "GPU %-2d %-24.24s busy %5s  memory %s of %s MiB  %s C  %.0f W  ECC errors %s%s", i,
                 g->name, or_dash(busy, sizeof busy, g->busy_percent, "%"),
                 or_dash(used, sizeof used, g->memory_used < 0 ? -1 : g->memory_used >> 20, ""),
                 or_dash(all, sizeof all, g->memory_total < 0 ? -1 : g->memory_total >> 20, ""),
                 or_dash(hot, sizeof hot, g->celsius, ""), g->watts, or_dash(lost, sizeof lost, g->uncorrected, ""),
                 g->corrected > 0 ? ", corrected " : "");
        if (g->corrected > 0)
            strncat(line, or_dash(fixed, sizeof fixed, g->corrected, ""), sizeof line - strlen(line) - 1);
        cli_fprintf(f, "%.*s\n", columns > 0 ? columns : (int)sizeof line, line);
        if (g->uncorrected > 0)
            cli_fprintf(f, "       its memory lost bits: what ran on it is not to be trusted (nvidia-smi -q -d ECC)\n");
    }
}

void gpus_json(const gpu *g, int n) {
    cli_printf("\"gpus\": [");
    for (int i = 0; i < n; i++, g++) {
        cli_printf("%s{\"name\": \"%s\", \"busy_percent\": %d, \"memory_used\": %lld, \"memory_total\": %lld, "
                   "\"celsius\": %d, \"watts\": %.1f, \"ecc_uncorrected\": %lld, \"ecc_corrected\": %lld, "
                   "\"processes\": [",
                   i ? ", " : "", g->name, g->busy_percent, g->memory_used, g->memory_total, g->celsius, g->watts,
                   g->uncorrected, g->corrected);
        for (int k = 0; k < g->n_pids; k++)
            cli_printf("%s{\"pid\": %d, \"bytes\": %lld}", k ? ", " : "", g->pids[k].pid, g->pids[k].bytes);
        cli_printf("]}");
    }
    cli_printf("]");
}
