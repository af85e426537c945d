/* Products of f32 rows with matrices that lie narrower in memory: bf16, f16, and integers of 8 or 4 bits with a factor
 * for each group of a row. Numbers are widened in registers on their way into the sum, so a product reads the narrow
 * bytes and nothing else: generation, which reads each weight once a token, is as fast as memory gives these bytes.
 *
 * A matrix is [rows, depth], the sum along its rows. A group's 4-bit integers lie in depth / 2 bytes, the first half of
 * the group in the low bits and the second in the high bits, each with 8 added.
 *
 * 4-bit integers come out of words of 32 bits, a vector of them at a time: the lowest four bits of each word, then the
 * next. So that they meet vectors of x, x is put into that order before: element k * lanes + i of a block is that of
 * the k-th four bits of word i. What is left of a row that is no whole block stays as it is.
 *
 * Of bf16 and f16 there are batches too, also of matrices [depth, rows], the sum along their columns: the keys and
 * values of attention, of which a token reads all.
 *
 * Every number of the result is one sum in an order that the matrix's shape and the instruction set alone decide, so
 * that a row of x gives the same bits alone and among others. Compiled once per instruction set (narrow_*.c include
 * narrow.inc). */
#ifndef XT_SRC_CPU_VECTOR_NARROW_H
#define XT_SRC_CPU_VECTOR_NARROW_H

#include "cpu/thread/team.h"

typedef enum narrow_kind { NARROW_BF16, NARROW_F16, NARROW_I8, NARROW_U4, NARROW_KINDS } narrow_kind;
enum { NARROW_FLOATS = NARROW_F16 + 1 };

typedef struct narrow_call { /* rows [0, rows) of the matrix with m rows of x */
    const void *matrix;
    const float *factors; /* [rows, depth / group]; NULL for floats */
    const float *x; /* [m, depth], the first `ordered` of each row in the order of the words of the matrix */
    float *out; /* out[i * out_stride + row] */
    int64_t rows, depth, group, m, out_stride, ordered;
    int64_t stride, x_stride; /* across: from one row of the matrix to the next, and of x */
} narrow_call;
typedef void (*narrow_fn)(const narrow_call *c);
typedef struct narrow_set { /* of an instruction set */
    narrow_fn fn[NARROW_KINDS];
    narrow_fn across[NARROW_FLOATS];
    int lanes; /* of a vector of floats */
} narrow_set;
extern const narrow_set narrow_base;
#if defined(__x86_64__)
extern const narrow_set narrow_avx2, narrow_avx512;
#endif

typedef struct narrow_product {
    /* Set by the caller; dense operands, x is [batch, m, depth] and the result [batch, m, rows]. */
    narrow_kind kind;
    bool across; /* matrices are [depth, rows], of floats */
    int64_t batch, m, rows, depth, group; /* group: of integers, a multiple of 32 that divides depth; batch is 1 then */
    /* Set by narrow_plan: */
    narrow_fn fn;
    int64_t lanes, ordered;
    int64_t parts; /* across: pieces of the sum, each with results of its own */
} narrow_product;
void narrow_plan(narrow_product *p); /* for this processor */
void narrow_plan_for(narrow_product *p, const narrow_set *set);
/* Bytes of scratch memory that narrow_run wants. */
size_t narrow_scratch(const narrow_product *p);
void narrow_run(const narrow_product *p, const cpu_team *team, const float *x, const void *matrix, const float *factors,
                float *out, float *scratch);
size_t narrow_row_bytes(narrow_kind kind, int64_t depth);

#endif
