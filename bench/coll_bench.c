/* Latency and bandwidth of the collectives between ranks of one host.
 *
 *     coll_bench [RANKS [SECONDS]]
 *     mpirun -np 2 coll_bench beside [SECONDS]
 *
 * Prints per message size the median and best time of all_reduce(f32 sum), barrier time, and the bytes each rank
 * reduces per second; under mpirun it measures the transport the run has. `beside` measures the shared-memory
 * all_reduce and Open MPI's MPI_Allreduce (in place, f32 sum) in turns, on the same data. */
#include <dlfcn.h>
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
        printf("all_reduce %10zu B  median %10.1f us  best %10.1f us  %8.2f GB/s\n", bytes, us[n / 2], us[0],
               (double)bytes / us[n / 2] / 1e3);
    if (coll_rank(g) == 0 && !bytes)
        printf("barrier                  median %10.1f us  best %10.1f us\n", us[n / 2], us[0]);
    free(data);
}

static void run(coll_group *g, double seconds) {
    static const size_t sizes[] = {0, 4, 4096, 32768, 65536, 1 << 20, 16 << 20, 64 << 20};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) measure(g, sizes[i], seconds);
}

/* --- beside Open MPI --- */
typedef struct open_mpi {
    /* as its headers have it: handles are addresses of its own symbols, MPI_IN_PLACE is (void *)1 */
    int (*init)(int *, char ***), (*finalize)(void), (*comm_rank)(void *, int *), (*comm_size)(void *, int *),
        (*barrier)(void *);
    int (*all_reduce)(const void *, void *, int, void *, void *, void *);
    void *world, *f32, *sum;
} open_mpi;

static bool open_mpi_load(open_mpi *m) {
    void *lib = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    if (!lib) return false;
    const struct {
        void *to;
        const char *name;
    } symbols[] = {{&m->init, "MPI_Init"},
                   {&m->finalize, "MPI_Finalize"},
                   {&m->comm_rank, "MPI_Comm_rank"},
                   {&m->comm_size, "MPI_Comm_size"},
                   {&m->barrier, "MPI_Barrier"},
                   {&m->all_reduce, "MPI_Allreduce"},
                   {&m->world, "ompi_mpi_comm_world"},
                   {&m->f32, "ompi_mpi_float"},
                   {&m->sum, "ompi_mpi_op_sum"}};
    for (size_t i = 0; i < BASE_COUNT(symbols); i++) {
        void *p = dlsym(lib, symbols[i].name);
        if (!p) return false;
        memcpy(symbols[i].to, &p, sizeof p);
    }
    return true;
}

static double once(coll_group *g, const open_mpi *m, bool ours, float *data, size_t count) {
    m->barrier(m->world);
    int64_t t = clock_ns();
    if (ours)
        fail(coll_all_reduce(g, COLL_SUM, XT_F32, data, count));
    else
        m->all_reduce((void *)1, data, (int)count, m->f32, m->sum, m->world);
    return (double)(clock_ns() - t) / 1e3;
}

static int beside(double seconds) {
    enum { MOST = 2000, SIZES = 4 };
    static const size_t sizes[SIZES] = {4096, 65536, 1 << 20, 100 << 20};
    static double us[2][MOST];
    open_mpi m;
    coll_group *g;
    int rank, size;
    char name[64];
    if (!open_mpi_load(&m) || m.init(NULL, NULL) || m.comm_rank(m.world, &rank) || m.comm_size(m.world, &size)) {
        fprintf(stderr, "coll_bench: Open MPI (libmpi.so.40) is not there; run it as mpirun -np 2 coll_bench beside\n");
        return 1;
    }
    snprintf(name, sizeof name, "beside-%d", (int)getppid()); /* mpirun's pid, the same for all */
    fail(coll_open(name, rank, size, 30, &g));
    for (size_t k = 0; k < SIZES; k++) {
        float *data = calloc(sizes[k], 1); /* zeros stay zeros, however often they are summed */
        int n = 0, go = 1;
        if (!data) return 1;
        for (int i = 0; i < 4; i++) once(g, &m, i % 2, data, sizes[k] / 4);
        int64_t began = clock_ns();
        while (go && n < MOST) {
            for (int side = 0; side < 2; side++) us[side][n] = once(g, &m, side == 0, data, sizes[k] / 4);
            n++;
            go = (double)(clock_ns() - began) < seconds * 1e9;
            fail(coll_broadcast(g, 0, &go, sizeof go));
        }
        for (int side = 0; side < 2; side++) qsort(us[side], (size_t)n, sizeof(double), by_value);
        if (rank == 0)
            printf("all_reduce %10zu B  xtrain %10.1f us (best %.1f, %.2f GB/s)  Open MPI %10.1f us (best %.1f, %.2f "
                   "GB/s)  %.2f times as fast\n",
                   sizes[k], us[0][n / 2], us[0][0], (double)sizes[k] / us[0][n / 2] / 1e3, us[1][n / 2], us[1][0],
                   (double)sizes[k] / us[1][n / 2] / 1e3, us[1][n / 2] / us[0][n / 2]);
        free(data);
    }
    coll_close(g);
    return m.finalize();
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "beside") == 0) return beside(argc > 2 ? atof(argv[2]) : 2);
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
