/* OpenBLAS, opened at the first op that needs it: products of f64 and complex matrices, factorisations. It is 30 MB of
 * code that most programs never run, so nothing is linked: where the library is not installed those ops run on slower
 * loops of our own.
 *
 * It never divides anything: how its own threads do depends on their number, and with other widths other kernels run at
 * the edges, with other bits. Whatever calls it does so inside team_for_alone (blas_library), where it stays on the
 * thread that calls; large work is cut there, into blocks that shapes decide.
 *
 * Matrices are in Fortran's order (columns); integers 32 bits wide; letters are read, lengths of texts never. */
#ifndef XT_SRC_CPU_VECTOR_BLAS_H
#define XT_SRC_CPU_VECTOR_BLAS_H

#include "base/base.h"
#include "cpu/thread/team.h"

typedef int32_t blas_int;
#define BLAS_IN const blas_int *

/* Of the four element types, in the order s d c z. */
typedef enum blas_type { BLAS_S, BLAS_D, BLAS_C, BLAS_Z, BLAS_TYPES } blas_type;
typedef void (*blas_gemm_fn)(const char *ta, const char *tb, BLAS_IN m, BLAS_IN n, BLAS_IN k, const void *alpha,
                             const void *a, BLAS_IN lda, const void *b, BLAS_IN ldb, const void *beta, void *c,
                             BLAS_IN ldc);
typedef void (*blas_trsm_fn)(const char *side, const char *uplo, const char *trans, const char *diag, BLAS_IN m,
                             BLAS_IN n, const void *alpha, const void *a, BLAS_IN lda, void *b, BLAS_IN ldb);
typedef void (*blas_potrf_fn)(const char *uplo, BLAS_IN n, void *a, BLAS_IN lda, blas_int *info);
typedef void (*blas_getrf_fn)(BLAS_IN m, BLAS_IN n, void *a, BLAS_IN lda, blas_int *pivots, blas_int *info);
typedef void (*blas_geqrf_fn)(BLAS_IN m, BLAS_IN n, void *a, BLAS_IN lda, void *tau, void *work, BLAS_IN lwork,
                              blas_int *info);
typedef void (*blas_orgqr_fn)(BLAS_IN m, BLAS_IN n, BLAS_IN k, void *a, BLAS_IN lda, const void *tau, void *work,
                              BLAS_IN lwork, blas_int *info);
typedef void (*blas_syevd_fn)(const char *job, const char *uplo, BLAS_IN n, void *a, BLAS_IN lda, void *w, void *work,
                              BLAS_IN lwork, blas_int *iwork, BLAS_IN liwork, blas_int *info);
typedef void (*blas_heevd_fn)(const char *job, const char *uplo, BLAS_IN n, void *a, BLAS_IN lda, void *w, void *work,
                              BLAS_IN lwork, void *rwork, BLAS_IN lrwork, blas_int *iwork, BLAS_IN liwork,
                              blas_int *info);
typedef void (*blas_gesdd_real_fn)(const char *job, BLAS_IN m, BLAS_IN n, void *a, BLAS_IN lda, void *s, void *u,
                                   BLAS_IN ldu, void *vt, BLAS_IN ldvt, void *work, BLAS_IN lwork, blas_int *iwork,
                                   blas_int *info);
typedef void (*blas_gesdd_complex_fn)(const char *job, BLAS_IN m, BLAS_IN n, void *a, BLAS_IN lda, void *s, void *u,
                                      BLAS_IN ldu, void *vt, BLAS_IN ldvt, void *work, BLAS_IN lwork, void *rwork,
                                      blas_int *iwork, blas_int *info);

typedef struct blas_api {
    blas_gemm_fn gemm[BLAS_TYPES];
    blas_trsm_fn trsm[BLAS_TYPES];
    blas_potrf_fn potrf[BLAS_TYPES];
    blas_getrf_fn getrf[BLAS_TYPES];
    blas_geqrf_fn geqrf[BLAS_TYPES];
    blas_orgqr_fn orgqr[BLAS_TYPES]; /* ungqr of complex */
    blas_syevd_fn syevd[2];
    blas_heevd_fn heevd[2];
    blas_gesdd_real_fn gesdd_real[2];
    blas_gesdd_complex_fn gesdd_complex[2];
} blas_api;
/* A routine of LAPACK by its name without the letter of its type ("geev"); NULL where the library or the
 * routine is missing. */
typedef void (*blas_any_fn)(void);
blas_any_fn blas_routine(blas_type t, const char *name);
const blas_api *blas_get(void); /* NULL where it is not installed; told once */

/* For team_for_alone: whatever calls OpenBLAS is called there, on one thread too. */
extern const team_library blas_library;

/* How many blocks a product of so many multiplications is cut into. What a call packs of its operands it packs anew: on
 * one thread, slabs of 256 rows of 1024 cost 9 percent, slabs of 512 rows of 2048 cost 6 (AVX-512; 2 to 6 with AVX2).
 * So blocks grow with the product: twice as many of them for eight times the work. Shapes alone say how many, for the
 * kernels at the edges of a block have other bits than those inside. */
int64_t blas_blocks(double work);

bool blas_type_of(xt_dtype t, blas_type *out);
const void *blas_number(blas_type t, bool one); /* 1 or 0 of the type */

#endif
