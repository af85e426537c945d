/* Finds OpenBLAS and its routines, and keeps it to the thread that calls it.
 *
 * A build of OpenBLAS for OpenMP asks OpenMP, at each call, how many threads a region of the calling thread has, and
 * stays on that thread where the answer is one. Who answers depends on the process: libgomp, our functions (openmp.c)
 * where a program is linked with them, or a runtime that the program brought (PyTorch's). The setting is the calling
 * thread's own in each of them, so nobody else notices. A build with threads of its own has one number for the process:
 * it is one while any of our calls is under way, and afterwards what it was, unless somebody set it meanwhile. */
#include "cpu/vector/blas.h"
#include "cpu/vector/addresses.h"
#include "cpu/vector/blas_cores.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static blas_api api;
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool routine(void *lib, const char *prefix, const char *name, void *out) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "%s%s_", prefix, name);
    void *p = dlsym(lib, symbol);
    memcpy(out, &p, sizeof p);
    return p != NULL;
}

static const char *const letters[BLAS_TYPES] = {"s", "d", "c", "z"};
static void *library;

/* --- one thread --- */
enum { RUNTIMES = TEAM_LIBRARY_SETTINGS };
typedef struct runtime { /* of OpenMP */
    void (*set)(int threads);
    int (*get)(void);
} runtime;
static runtime runtimes[RUNTIMES]; /* those that may be asked; known once the library is open */
static size_t n_runtimes;

static struct { /* of a build with threads of its own */
    void (*set)(int threads);
    int (*get)(void);
    pthread_mutex_t lock;
    int inside, before;
} own_threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The functions of the runtime that `lib` is or was linked with; a library's own dependencies are
 * searched, never ours. */
static void add_runtime(void *lib) {
    runtime r = {0};
    void *set = lib ? dlsym(lib, "omp_set_num_threads") : NULL, *get = lib ? dlsym(lib, "omp_get_max_threads") : NULL;
    if (!set || !get || n_runtimes == RUNTIMES) return;
    memcpy(&r.set, &set, sizeof set);
    memcpy(&r.get, &get, sizeof get);
    for (size_t i = 0; i < n_runtimes; i++)
        if (runtimes[i].set == r.set) return;
    runtimes[n_runtimes++] = r;
}

static void find_threads(void *lib) {
    enum { OWN_THREADS = 1 }; /* what openblas_get_parallel says of a build; 2: OpenMP, 0: none */
    int (*parallel)(void);
    Dl_info info;
    void *p = dlsym(lib, "openblas_get_parallel"), *set = dlsym(lib, "openblas_set_num_threads"),
         *get = dlsym(lib, "openblas_get_num_threads");
    memcpy(&parallel, &p, sizeof p);
    if (p && set && get && parallel() == OWN_THREADS) {
        memcpy(&own_threads.set, &set, sizeof set);
        memcpy(&own_threads.get, &get, sizeof get);
    }
    add_runtime(lib);
    void *global = dlsym(RTLD_DEFAULT, "omp_set_num_threads"); /* found before the library's own when it was opened */
    if (global && dladdr(global, &info) && info.dli_fname) add_runtime(dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD));
}

static void enter(int before[RUNTIMES]) {
    for (size_t i = 0; i < n_runtimes; i++)
        if ((before[i] = runtimes[i].get()) != 1) runtimes[i].set(1);
    if (!own_threads.set) return;
    pthread_mutex_lock(&own_threads.lock);
    if (own_threads.inside++ == 0) own_threads.before = own_threads.get();
    if (own_threads.get() != 1) own_threads.set(1);
    pthread_mutex_unlock(&own_threads.lock);
}
static void leave(const int before[RUNTIMES]) {
    for (size_t i = 0; i < n_runtimes; i++)
        if (before[i] != 1) runtimes[i].set(before[i]);
    if (!own_threads.set) return;
    pthread_mutex_lock(&own_threads.lock);
    if (--own_threads.inside == 0 && own_threads.before != 1 && own_threads.get() == 1)
        own_threads.set(own_threads.before);
    pthread_mutex_unlock(&own_threads.lock);
}
const team_library blas_library = {enter, leave};

int64_t blas_blocks(double work) {
    int64_t n = work < 0x1p22 ? 1 : 2;
    for (double more = 0x1p28; work >= more && n < 1024; more *= 8) n *= 2;
    return n;
}

/* --- the library --- */
/* OpenBLAS takes 128 MiB for each thread of its own (when it is loaded) and each that calls it, and asks again for ever
 * where the system refuses them. So a process whose addresses are limited (`ulimit -v`) loads it only while there are
 * as many as it can come to ask for. */
static bool has_room(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t bytes = (2 * (size_t)(cores > 0 ? cores : 1) + 1) * ((size_t)129 << 20);
    bool free = addresses_are_free(bytes);
    if (!free)
        log_once("openblas", XT_SEV_WARNING,
                 "OpenBLAS is left alone, as %zu MiB of addresses are not free: products of f64 and complex matrices "
                 "and factorisations are slow; raise the limit of this process (ulimit -v)",
                 bytes >> 20);
    return free;
}

static void open_library(void) {
    static const char *const files[] = {"libopenblas.so.0", "libopenblas.so"};
    void *lib = NULL;
    if (!has_room()) return;
    blas_cores_check_wish();
    for (size_t i = 0; i < BASE_COUNT(files) && !lib; i++) lib = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    bool ok = lib != NULL;
    for (int t = 0; t < BLAS_TYPES && ok; t++) {
        const char *p = letters[t];
        ok = routine(lib, p, "gemm", &api.gemm[t]) && routine(lib, p, "trsm", &api.trsm[t]) &&
             routine(lib, p, "potrf", &api.potrf[t]) && routine(lib, p, "getrf", &api.getrf[t]) &&
             routine(lib, p, "geqrf", &api.geqrf[t]) && routine(lib, p, t < BLAS_C ? "orgqr" : "ungqr", &api.orgqr[t]);
        ok = ok && (t < BLAS_C ? routine(lib, p, "syevd", &api.syevd[t]) && routine(lib, p, "gesdd", &api.gesdd_real[t])
                               : routine(lib, p, "heevd", &api.heevd[t - BLAS_C]) &&
                                     routine(lib, p, "gesdd", &api.gesdd_complex[t - BLAS_C]));
    }
    if (ok) find_threads(lib);
    found = ok;
    library = lib;
    if (!ok)
        log_once("openblas", XT_SEV_WARNING,
                 "OpenBLAS is not installed (libopenblas0-openmp; `make deps` installs it): products of f64 and "
                 "complex matrices and factorisations "
                 "are slow");
}

const blas_api *blas_get(void) {
    pthread_once(&once, open_library);
    return found ? &api : NULL;
}

blas_any_fn blas_routine(blas_type t, const char *name) {
    blas_any_fn fn = NULL;
    return blas_get() && routine(library, letters[t], name, &fn) ? fn : NULL;
}

bool blas_type_of(xt_dtype t, blas_type *out) {
    *out = t == XT_F32 ? BLAS_S : t == XT_F64 ? BLAS_D : t == XT_C64 ? BLAS_C : BLAS_Z;
    return t == XT_F32 || t == XT_F64 || t == XT_C64 || t == XT_C128;
}

const void *blas_number(blas_type t, bool one) {
    static const float f[2][2] = {{0, 0}, {1, 0}};
    static const double d[2][2] = {{0, 0}, {1, 0}};
    return t == BLAS_S || t == BLAS_C ? (const void *)f[one] : (const void *)d[one];
}
