/* Products of f32 matrices and vectors, also of a batch of them; a scalar product is a matrix of one row. They read
 * each number of the matrix once, so nothing is packed: where the matrix's rows lie along the sum, four of them are
 * summed abreast, else multiples of them are added to the results. And products of small matrices, which take less time
 * than a call of a library.
 *
 * The number of tasks and the order of their sums follow from the shapes alone. Compiled once per instruction set
 * (matvec_*.c include matvec.inc), picked with the vector loops. */
#ifndef XT_SRC_CPU_VECTOR_MATVEC_H
#define XT_SRC_CPU_VECTOR_MATVEC_H

#include "cpu/thread/team.h"

typedef struct small_product { /* strides in elements; the result is dense [batch, m, n] */
    int64_t batch, m, n, k;
    int64_t lhs_batch, lhs_row, lhs_column, rhs_batch, rhs_row; /* rows of the right side are contiguous */
} small_product;

typedef struct matvec_fns {
    /* out[i] = the sum of a[i * stride + p] * x[p] over p < n; ahead: ask for rows before they are read. */
    void (*along)(float *out, const float *a, int64_t stride, const float *x, int64_t rows, int64_t n, bool ahead);
    /* out[j] += the sum of b[p * stride + j] * x[p * x_stride] over p < depth, for j < n. */
    void (*across)(float *out, const float *b, int64_t stride, const float *x, int64_t x_stride, int64_t depth,
                   int64_t n, bool ahead);
    /* out[i * p->n + j] = the sum of a[i * lhs_row + d * lhs_column] * b[d * rhs_row + j] over d < p->k. */
    void (*small)(float *out, const float *a, const float *b, const small_product *p, int64_t rows, int64_t columns);
} matvec_fns;
extern const matvec_fns matvec_base;
#if defined(__x86_64__)
extern const matvec_fns matvec_avx2, matvec_avx512;
#endif

const matvec_fns *matvec_loops(void); /* this machine's */

typedef struct matvec {
    /* Set by the caller: strides in elements; the result is dense [batch, rows]. */
    int64_t batch, rows, depth;
    int64_t matrix_batch, matrix_row, matrix_depth, vector_batch, vector_depth;
    /* Set by matvec_plan: */
    const matvec_fns *fns;
    bool across;
    int64_t tile, tiles, parts; /* rows of a task; pieces of the sum, each with results of its own */
    size_t scratch_bytes;
} matvec;
/* False: it lies so that a product of matrices does better. */
bool matvec_plan(matvec *p);
void matvec_run(const matvec *p, const cpu_team *team, const float *matrix, const float *vector, float *out,
                void *scratch);

/* Does it take less time than a call of a library? by_rows: rows of the right side are contiguous already. */
bool small_product_pays(int64_t m, int64_t n, int64_t k, bool by_rows);
void small_product_run(const small_product *p, const cpu_team *team, const float *lhs, const float *rhs, float *out);

#endif
