/* Opening Open MPI: see mpi_lib.h. */
#include "coll/mpi_lib.h"

#include <dlfcn.h>
#include <stdlib.h>
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

static xt_status find_symbols(void *handle) {
    lib.world = dlsym(handle, "ompi_mpi_comm_world");
    lib.byte = dlsym(handle, "ompi_mpi_byte");
    lib.errors_return = dlsym(handle, "ompi_mpi_errors_return");
    const char *missing = !lib.world ? "ompi_mpi_comm_world" : !lib.byte ? "ompi_mpi_byte" : !lib.errors_return ? "ompi_mpi_errors_return" : NULL;
#define MPI_FN(result, name, args)                                                                                                                   \
    if (!(*(void **)&lib.name = dlsym(handle, "MPI_" #name)) && !missing) missing = "MPI_" #name;
#include "coll/mpi_lib.def"
#undef MPI_FN
    if (!missing) return NULL;
    return status_new(XT_UNAVAILABLE, NULL, "the MPI library of this machine lacks '%s'; Open MPI is expected (Debian: openmpi-bin libopenmpi3)",
                      missing);
}

/* The exit handler must outlive a dlclose of the library that holds this code. */
static void pin_self(void) {
    Dl_info info;
    if (dladdr((void *)&lock, &info) && info.dli_fname) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static xt_status start(void) {
    int initialized = 0, finalized = 0, threads = 0;
    lib.Finalized(&finalized);
    if (finalized) return status_new(XT_FAILED_PRECONDITION, NULL, "MPI_Finalize was already called in this process; collectives need MPI");
    lib.Initialized(&initialized);
    if (initialized) {
        XT_TRY(mpi_lib_check(&lib, lib.Query_thread(&threads), "MPI_Query_thread"));
    } else {
        XT_TRY(mpi_lib_check(&lib, lib.Init_thread(NULL, NULL, MPI_MULTIPLE, &threads), "MPI_Init_thread"));
        initialiser = getpid();
        pin_self();
        on_exit(finalize, NULL);
    }
    if (threads == MPI_MULTIPLE) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "MPI was initialised with thread level %d, but the device's threads call MPI too: initialise with MPI_Init_thread(..., "
                      "MPI_THREAD_MULTIPLE, ...), or let xtrain do it",
                      threads);
}

xt_status mpi_lib_get(const mpi_lib **out) {
    xt_status st = NULL;
    pthread_mutex_lock(&lock);
    if (!ready) {
        void *handle = open_library();
        if (handle || dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
            st = find_symbols(handle);
        else
            st = status_new(XT_UNAVAILABLE, NULL,
                            "the ranks of this run are on more than one host, which needs MPI, and no libmpi was found (%s); "
                            "Debian: apt install openmpi-bin libopenmpi3",
                            dlerror());
        if (!st) st = start();
        ready = !st;
    }
    *out = &lib;
    pthread_mutex_unlock(&lock);
    return st;
}
