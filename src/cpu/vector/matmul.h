/* Matrix products by oneDNN whose bits do not depend on the number of threads.
 *
 * oneDNN divides a product over the threads that it is made for: its AVX2 kernels add up shares of the sums when the
 * result is small beside them, and at every level blocks and kernels follow the number of threads. So a product is cut
 * here, by its shape alone, into blocks of the result, each made by one thread with a primitive that was made for one.
 * Where the result has too few elements for all threads, the sums are cut too: each piece makes a result of its own in
 * f32, and these are added in order.
 *
 * One class is left to oneDNN's threads: bf16 products with at least 128 rows and columns and sums of at most 1024. Its
 * kernels for AVX-512 and AMX divide these by blocks of the result and share what they pack, which is up to twice as
 * fast; test_cpu_threads compares them over 1 to 8 threads.
 *
 * Equal blocks share a primitive; the last block of an axis may be shorter, so there are at most two to the power of
 * the axes that have such a block. */
#ifndef XT_SRC_CPU_VECTOR_MATMUL_H
#define XT_SRC_CPU_VECTOR_MATMUL_H

#include "cpu/vector/dnnl_util.h"

enum { MATMUL_BATCH, MATMUL_ROWS, MATMUL_COLUMNS, MATMUL_DEPTH, MATMUL_AXES, MATMUL_KINDS = 1 << MATMUL_AXES };

typedef struct matmul {
    /* Set by the caller: the result is dense [batch, rows, columns]; an operand has stride 0 along the
     * axis it lacks. */
    xt_dtype in, out;
    int64_t size[MATMUL_AXES], lhs[MATMUL_AXES], rhs[MATMUL_AXES]; /* strides in elements */
    bool block_lhs, block_rhs; /* bring blocks of it into a layout of oneDNN's choice first */
    /* Set by matmul_plan: */
    bool whole; /* not cut: one primitive, made for all threads */
    int64_t block[MATMUL_AXES], count[MATMUL_AXES];
    /* Set by matmul_make. Kinds of blocks: bit i says that it is the last, shorter one along axis i. */
    dnnl_prim prims[MATMUL_KINDS], lhs_moves[MATMUL_KINDS], rhs_moves[MATMUL_KINDS];
    size_t lhs_bytes, rhs_bytes, own_bytes; /* of a block in oneDNN's layout; of a thread's scratch */
    size_t lhs_at, rhs_at, sums_at, own_at; /* in the scratch memory */
    size_t scratch_bytes;
} matmul;

/* Decides the blocks, by the shape alone. Sizes and types are set; no size is 0. */
void matmul_plan(matmul *p);
/* Makes the primitives; *out_ok false: oneDNN has none (no error), and nothing is left to free. */
xt_status matmul_make(matmul *p, int threads, bool *out_ok);
xt_status matmul_run(const matmul *p, const cpu_team *team, void **stream, const void *lhs, const void *rhs, void *out,
                     void *scratch);
void matmul_free(matmul *p);

#endif
