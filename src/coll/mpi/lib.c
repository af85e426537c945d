/* Opening Open MPI: see lib.h. */
#include "coll/mpi/lib.h"
#include "base/cpus.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static mpi_lib lib;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready, keep_open;
static int initialiser; /* pid that called MPI_Init_thread; 0 when the program did */

xt_status mpi_lib_check(const mpi_lib *m, int code, const char *what) {
    char text[MPI_TEXT] = "";
    int n;
    if (code == 0) return NULL;
    m->Error_string(code, text, &n);
    return status_new(XT_UNAVAILABLE, NULL, "MPI: %s: %s", what, text);
}

void mpi_lib_no_finalize(void) {
    keep_open = true;
}

void mpi_backoff(int *turn) {
    if (++*turn < 200) return;
    usleep(*turn < 1000 ? 20 : 1000);
}

bool mpi_started(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK");
}

bool mpi_lib_usable(const mpi_lib *m) {
    int finalized = 1;
    return m->Finalized(&finalized) == 0 && !finalized;
}

/* mpirun complains about ranks that end without finalising, and a failed rank must not wait for the others in it. */
static void finalize(int exit_code, void *unused) {
    (void)unused;
    if (exit_code == 0 && !keep_open && initialiser == getpid() && mpi_lib_usable(&lib)) lib.Finalize();
}

static void *open_library(void) {
    static const char *const names[] = {"libmpi.so.40", "libmpi.so", "libmpi.so.20", "libmpi.so.12"};
    if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world")) return RTLD_DEFAULT;
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        /* Global: Open MPI's own components look their symbols up in the program. */
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
        if (handle) return handle;
    }
    return NULL;
}

/* Objects of the library: a handle is the address of one. */
static const struct {
    const char *name;
    void **to;
} objects[] = {
    {"ompi_mpi_comm_world", &lib.world},
    {"ompi_mpi_byte", &lib.byte},
    {"ompi_mpi_errors_return", &lib.errors_return},
    {"ompi_mpi_info_null", &lib.info_null},
    {"ompi_mpi_uint8_t", &lib.whole[0][0]},
    {"ompi_mpi_uint16_t", &lib.whole[0][1]},
    {"ompi_mpi_uint32_t", &lib.whole[0][2]},
    {"ompi_mpi_uint64_t", &lib.whole[0][3]},
    {"ompi_mpi_int8_t", &lib.whole[1][0]},
    {"ompi_mpi_int16_t", &lib.whole[1][1]},
    {"ompi_mpi_int32_t", &lib.whole[1][2]},
    {"ompi_mpi_int64_t", &lib.whole[1][3]},
    {"ompi_mpi_float", &lib.floating[0]},
    {"ompi_mpi_double", &lib.floating[1]},
    {"ompi_mpi_op_sum", &lib.ops[COLL_SUM]},
    {"ompi_mpi_op_prod", &lib.ops[COLL_PROD]},
    {"ompi_mpi_op_min", &lib.ops[COLL_MIN]},
    {"ompi_mpi_op_max", &lib.ops[COLL_MAX]},
    {"ompi_mpi_op_band", &lib.ops[COLL_AND]},
    {"ompi_mpi_op_bor", &lib.ops[COLL_OR]},
};

static xt_status find_symbols(void *handle) {
    const char *missing = NULL;
    for (size_t i = 0; i < BASE_COUNT(objects); i++)
        if (!(*objects[i].to = dlsym(handle, objects[i].name)) && !missing) missing = objects[i].name;
#define MPI_FN(result, name, args) \
    if (!(*(void **)&lib.name = dlsym(handle, "MPI_" #name)) && !missing) missing = "MPI_" #name;
#include "coll/mpi/lib.def"
#undef MPI_FN
    if (!missing) return NULL;
    return status_new(
        XT_UNAVAILABLE, NULL,
        "the MPI library of this machine lacks '%s'; Open MPI is expected (Debian: openmpi-bin libopenmpi3)", missing);
}

/* The exit handler must outlive a dlclose of the library that holds this code. */
static void pin_self(void) {
    Dl_info info;
    if (dladdr((void *)&lock, &info) && info.dli_fname) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* MPI_Init waits for all ranks and for the network between their hosts, without a limit of its own. So it runs in a
 * thread, which is left behind when it takes too long: there is no way to call it off. The caller keeps what it fills
 * in static memory. */
static struct {
    pthread_cond_t changed; /* under `lock` */
    bool begun, done;
    int code, threads;
} init = {.changed = PTHREAD_COND_INITIALIZER};

static void *init_thread(void *unused) {
    int threads = 0, code = lib.Init_thread(NULL, NULL, MPI_MULTIPLE, &threads);
    (void)unused;
    pthread_mutex_lock(&lock);
    init.code = code;
    init.threads = threads;
    init.done = true;
    pthread_cond_broadcast(&init.changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Under the lock. */
static xt_status init_within(int64_t deadline, int *out_threads) {
    pthread_t thread;
    int64_t began = coll_now();
    if (!init.begun) {
        int err = cpus_start(&thread, "the thread for MPI_Init", init_thread, NULL);
        if (err) return status_no_thread(err, "the thread for MPI_Init");
        pthread_detach(thread);
        init.begun = true;
    }
    while (!init.done && coll_now() < deadline) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 100000000;
        if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&init.changed, &lock, &soon);
    }
    *out_threads = init.threads;
    if (init.done) return mpi_lib_check(&lib, init.code, "MPI_Init_thread");
    keep_open = true;
    return status_new(XT_DEADLINE_EXCEEDED, NULL,
                      "MPI_Init has not returned within %.0f s on rank %d of %d: it waits until every rank has called "
                      "it, so either one does not come to its first barrier, "
                      "collective or device, or the hosts do not reach each other (mpirun --mca btl_tcp_if_include "
                      "NETWORK names the network). XT_TIMEOUT sets the limit",
                      (double)(coll_now() - began) * 1e-9, world_get()->rank, world_get()->size);
}

static xt_status start(int64_t deadline) {
    int initialized = 0, finalized = 0, threads = 0;
    lib.Finalized(&finalized);
    if (finalized)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "MPI_Finalize was already called in this process; collectives need MPI");
    lib.Initialized(&initialized);
    if (initialized && !init.begun) {
        XT_TRY(mpi_lib_check(&lib, lib.Query_thread(&threads), "MPI_Query_thread"));
    } else {
        XT_TRY(init_within(deadline, &threads));
        initialiser = getpid();
        /* Errors of requests of collectives go there, whatever their communicator says. */
        lib.Comm_set_errhandler(lib.world, lib.errors_return);
        pin_self();
        on_exit(finalize, NULL);
    }
    if (threads == MPI_MULTIPLE) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "MPI was initialised with thread level %d, but the device's threads call MPI too: initialise "
                      "with MPI_Init_thread(..., "
                      "MPI_THREAD_MULTIPLE, ...), or let xtrain do it",
                      threads);
}

xt_status mpi_lib_get(int64_t deadline, const mpi_lib **out) {
    xt_status st = NULL;
    pthread_mutex_lock(&lock);
    if (!ready) {
        void *handle = open_library();
        if (handle || dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
            st = find_symbols(handle);
        else
            st = status_new(
                XT_UNAVAILABLE, NULL,
                "the ranks of this run are on more than one host, which needs MPI, and no libmpi was found (%s); "
                "Debian: apt install openmpi-bin libopenmpi3",
                dlerror());
        if (!st) st = start(deadline);
        ready = !st;
    }
    *out = &lib;
    pthread_mutex_unlock(&lock);
    return st;
}
