/* What NVIDIA's driver says of the machine's GPUs, by its library libnvidia-ml.so.1, which is opened and not linked:
 * use, memory, temperature, power, errors of the memory. For commands that look on; nothing is changed. */
#ifndef XTRAIN_CLI_GPUS_H
#define XTRAIN_CLI_GPUS_H

#include <stdbool.h>
#include <stdio.h>

enum { GPUS_MOST = 64, GPU_PIDS = 32 };
typedef struct gpu { /* -1 = the driver does not say */
    char name[96];
    int busy_percent, celsius;
    double watts;
    long long memory_used, memory_total;
    long long corrected, uncorrected; /* ECC errors since the driver was loaded */
    int n_pids;
    struct {
        int pid;
        long long bytes;
    } pids[GPU_PIDS]; /* processes that compute on it */
} gpu;
/* How many there are, at most GPUS_MOST; 0 without a driver. *why gets the reason then, or NULL. */
int gpus_look(gpu *out, const char **why);
void gpus_print(FILE *f, const gpu *g, int n, int columns); /* columns: of the terminal, 0 = any */
void gpus_json(const gpu *g, int n); /* "gpus": [...] */

#endif
