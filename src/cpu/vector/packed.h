/* Large f32 products C[m,n] = A[m,k] B[k,n] on operands that are packed into panels on the way: each thread goes over
 * one operand panel by panel, as it lies in the second-level cache, and over the other, packed once for all threads,
 * again and again (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). Sums run over k
 * in order and in blocks that shapes choose, so the number of threads changes no bit. For processors with AVX-512
 * (packed_avx512.c) and of aarch64 (packed_neon.c). */
#ifndef XT_SRC_CPU_VECTOR_PACKED_H
#define XT_SRC_CPU_VECTOR_PACKED_H

#include "cpu/thread/team.h"

#define PACKED_ROWS 8 /* of A's panels */
#define PACKED_COLUMNS 48 /* of B's */

typedef struct packed_ahead { /* lines of the operand to be packed next, fetched while tiles are computed */
    const char *at;
    int64_t left; /* lines */
    int64_t in_row, row; /* lines left in this row; in a whole one */
    int64_t jump; /* bytes from behind one row to the next */
} packed_ahead;

typedef struct packed_ops {
    /* `rows` <= 8 rows of A as [k][8], zeros beyond; element (i, p) at a + i * row + p * col, one of them 1. */
    void (*pack_a)(const float *a, int64_t row, int64_t col, int64_t rows, int64_t k, float *out);
    /* `cols` <= 48 columns of B as [k][48]; element (p, j) at b + p * row + j * col, one of them 1. */
    void (*pack_b)(const float *b, int64_t row, int64_t col, int64_t cols, int64_t k, float *out);
    /* c = (add ? c : 0) + a b for one panel of each. */
    void (*tile)(int64_t k, const float *a, const float *b, float *c, int64_t c_row, int64_t rows, int64_t cols,
                 bool add, packed_ahead *ahead);
} packed_ops;
#if defined(__aarch64__)
extern const packed_ops packed_neon;
#endif
const packed_ops *packed_get(void); /* NULL: not on this processor */

typedef struct packed_product {
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col; /* strides in elements; of each pair one is 1 */
    /* Set by packed_plan: */
    int64_t k_block, parts; /* steps of k in one pass; how often the tasks of one pass are cut */
    bool by_rows; /* threads take rows of A and share B, else columns of B and share A */
    size_t shared, own; /* floats of scratch: of all, of each thread */
} packed_product;

/* False where this is not the way to compute it: too small, or the wrong processor. */
bool packed_plan(packed_product *p, int threads);
size_t packed_scratch(const packed_product *p, int threads); /* bytes */
void packed_run(const packed_product *p, const cpu_team *team, const float *a, const float *b, float *c, void *scratch);

#endif
