/* Finds OpenBLAS and its routines. */
#include "cpu/vector/blas.h"

#include <dlfcn.h>
#include <pthread.h>

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

static void open_library(void) {
    static const char *const files[] = {"libopenblas.so.0", "libopenblas.so"};
    enum { OPENMP = 2 }; /* what openblas_get_parallel says of a build */
    void *lib = NULL;
    for (size_t i = 0; i < BASE_COUNT(files) && !lib; i++) lib = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    bool ok = lib != NULL;
    for (int t = 0; t < BLAS_TYPES && ok; t++) {
        const char *p = letters[t];
        ok = routine(lib, p, "gemm", &api.gemm[t]) && routine(lib, p, "trsm", &api.trsm[t]) && routine(lib, p, "potrf", &api.potrf[t]) &&
             routine(lib, p, "getrf", &api.getrf[t]) && routine(lib, p, "geqrf", &api.geqrf[t]) &&
             routine(lib, p, t < BLAS_C ? "orgqr" : "ungqr", &api.orgqr[t]);
        ok = ok && (t < BLAS_C ? routine(lib, p, "syevd", &api.syevd[t]) && routine(lib, p, "gesdd", &api.gesdd_real[t])
                               : routine(lib, p, "heevd", &api.heevd[t - BLAS_C]) && routine(lib, p, "gesdd", &api.gesdd_complex[t - BLAS_C]));
    }
    if (ok) {
        int (*parallel)(void);
        void (*set_threads)(int);
        void *p = dlsym(lib, "openblas_get_parallel"), *q = dlsym(lib, "openblas_set_num_threads");
        memcpy(&parallel, &p, sizeof p);
        memcpy(&set_threads, &q, sizeof q);
        if (p && q && parallel() != OPENMP) set_threads(1);
    }
    found = ok;
    library = lib;
    if (!ok)
        log_once("openblas", XT_SEV_WARNING,
                 "OpenBLAS is not installed (libopenblas0-openmp; `make deps` installs it): products of f64 and complex matrices and factorisations "
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
