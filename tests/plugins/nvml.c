/* A libnvidia-ml.so.1 of a machine that has NVML_GPUS GPUs (a number; "off": a driver that is not loaded): made-up
 * values by index, so that a test knows them. The second one does not tell its power, and its memory lost bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFERED __attribute__((visibility("default")))
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };
typedef struct utilization {
    unsigned gpu, memory;
} utilization;
typedef struct memory {
    unsigned long long total, free, used;
} memory;
typedef struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} process;

OFFERED int nvmlInit_v2(void);
OFFERED int nvmlDeviceGetCount_v2(unsigned *n);
OFFERED int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d);
OFFERED int nvmlDeviceGetName(void *d, char *name, unsigned n);
OFFERED int nvmlDeviceGetUtilizationRates(void *d, utilization *u);
OFFERED int nvmlDeviceGetMemoryInfo(void *d, memory *m);
OFFERED int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *t);
OFFERED int nvmlDeviceGetPowerUsage(void *d, unsigned *mw);
OFFERED int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *n);
OFFERED int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, process *p);

/* A device's handle is its place here. */
static char devices[64];
static unsigned index_of(void *d) {
    return (unsigned)((char *)d - devices);
}

int nvmlInit_v2(void) {
    const char *n = getenv("NVML_GPUS");
    return n && strcmp(n, "off") == 0 ? DRIVER_NOT_LOADED : OK;
}
int nvmlDeviceGetCount_v2(unsigned *n) {
    *n = (unsigned)atoi(getenv("NVML_GPUS") ? getenv("NVML_GPUS") : "1");
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) {
    if (i >= sizeof devices) return NOT_FOUND;
    *d = &devices[i];
    return OK;
}
int nvmlDeviceGetName(void *d, char *name, unsigned n) {
    snprintf(name, n, "Made-up GPU %u", index_of(d));
    return OK;
}
int nvmlDeviceGetUtilizationRates(void *d, utilization *u) {
    *u = (utilization){87 + index_of(d), 40};
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *d, memory *m) {
    (void)d;
    *m = (memory){80ULL << 30, 68ULL << 30, 12ULL << 30};
    return OK;
}
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *t) {
    (void)sensor;
    *t = 61 + index_of(d);
    return OK;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) {
    *mw = 412300;
    return index_of(d) == 1 ? NOT_SUPPORTED : OK;
}
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *n) {
    (void)counter;
    *n = index_of(d) == 1 ? (type == 1 ? 2 : 5) : 0;
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, process *p) {
    *n = 1;
    p[0] = (process){4242 + index_of(d), 11ULL << 30, 0, 0};
    return OK;
}
