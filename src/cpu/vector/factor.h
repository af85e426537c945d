/* Factorisations of one matrix by OpenBLAS's routines for parts of it: blocks of columns, as LAPACK itself cuts them,
 * and what a block means for the columns beside it is divided over the team. How wide blocks are follows from the
 * matrix's size alone, so results do not depend on the number of threads; small matrices are one call. Matrices lie by
 * columns, as in blas.h; arguments and info are LAPACK's. */
#ifndef XT_SRC_CPU_VECTOR_FACTOR_H
#define XT_SRC_CPU_VECTOR_FACTOR_H

#include "cpu/vector/blas.h"

typedef struct factor_matrix {
    const cpu_team *team;
    blas_type kind;
    int64_t m, n; /* rows are m elements apart */
    char *a;
} factor_matrix;

blas_int factor_potrf(const factor_matrix *f, bool lower); /* square */
blas_int factor_getrf(const factor_matrix *f, blas_int *pivots);
/* work: what LAPACK's own routine asks for. */
void factor_geqrf(const factor_matrix *f, char *tau, void *work, blas_int lwork);
/* The first n columns of Q, from k reflectors in a. */
void factor_orgqr(const factor_matrix *f, int64_t k, const char *tau, void *work, blas_int lwork);

#endif
