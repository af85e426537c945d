/* Latency and bandwidth of the collectives between ranks of one host.    coll_bench [RANKS [SECONDS]]
 * Prints per message size the median and best time of all_reduce(f32 sum), barrier time, and the bytes each rank reduces per second; under
 * mpirun it measures the transport the run has. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/coll.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(xt_status st) {
    if (!st) return;
    fprintf(stderr, "coll_bench: %s\n", xt_status_message(st));
    exit(1);
}

static void measure(coll_group *g, size_t bytes, double seconds) {
    enum { MOST = 4000 };
    static double us[MOST];
    float *data = calloc(bytes ? bytes : 4, 1);
    int n = 0, go = 1;
    int64_t began = clock_ns();
    while (go && n < MOST) {
        int64_t t = clock_ns();
        fail(bytes ? coll_all_reduce(g, COLL_SUM, XT_F32, data, bytes / 4) : coll_barrier(g, 30, NULL));
        us[n++] = (double)(clock_ns() - t) / 1e3;
        if (n % 20 == 0) { /* rank 0's clock decides for all */
            go = (double)(clock_ns() - began) < seconds * 1e9;
            fail(coll_broadcast(g, 0, &go, sizeof go));
        }
    }
    qsort(us, (size_t)n, sizeof *us, by_value);
    if (coll_rank(g) == 0 && bytes)
        printf("all_reduce %10zu B  median %10.1f us  best %10.1f us  %8.2f GB/s\n", bytes, us[n / 2], us[0], (double)bytes / us[n / 2] / 1e3);
    if (coll_rank(g) == 0 && !bytes) printf("barrier                  median %10.1f us  best %10.1f us\n", us[n / 2], us[0]);
    free(data);
}

static void run(coll_group *g, double seconds) {
    static const size_t sizes[] = {0, 4, 4096, 32768, 65536, 1 << 20, 16 << 20, 64 << 20};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) measure(g, sizes[i], seconds);
}

int main(int argc, char **argv) {
    int ranks = argc > 1 ? atoi(argv[1]) : 2, code = 0, status;
    double seconds = argc > 2 ? atof(argv[2]) : 0.3;
    coll_group *g;
    char *name = NULL;
    if (world_get()->size > 1) {
        fail(coll_run_group(&g));
        run(g, seconds);
        return 0;
    }
    fail(coll_create(ranks, &name));
    for (int r = 0; r < ranks; r++)
        if (fork() == 0) {
            fail(coll_open(name, r, ranks, 30, &g));
            run(g, seconds);
            fflush(stdout);
            coll_close(g);
            _exit(0);
        }
    while (wait(&status) > 0) code |= status != 0;
    coll_destroy(name);
    base_free(name);
    return code;
}
