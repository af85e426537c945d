/* Products of f32 rows with matrices that lie narrower in memory: bf16, f16, and integers of 8 or 4 bits with a factor
 * for each group of a row. Numbers are widened in registers on their way into the sum, so a product reads the narrow
 * bytes and nothing else: generation, which reads each weight once a token, is as fast as memory gives these bytes.
 *
 * A matrix is [rows, depth], the sum along its rows. A group's 4-bit integers lie in depth / 2 bytes, the first half of
 * the group in the low bits and the second in the high bits, each with 8 added.
 *
 * Every number of the result is one sum in an order that depth and the instruction set alone decide, so that a row of x
 * gives the same bits alone and among others. Compiled once per instruction set (narrow_*.c include narrow.inc). */
#ifndef XT_SRC_CPU_VECTOR_NARROW_H
#define XT_SRC_CPU_VECTOR_NARROW_H

#include "cpu/thread/team.h"

typedef enum narrow_kind { NARROW_BF16, NARROW_F16, NARROW_I8, NARROW_U4, NARROW_KINDS } narrow_kind;

typedef struct narrow_call { /* rows [0, rows) of the matrix with m rows of x */
    const void *matrix;
    const float *factors; /* [rows, depth / group]; NULL for floats */
    const float *x; /* [m, depth] */
    float *out; /* out[i * out_stride + row] */
    int64_t rows, depth, group, m, out_stride;
} narrow_call;
typedef void (*narrow_fn)(const narrow_call *c);
extern const narrow_fn narrow_base[NARROW_KINDS];
#if defined(__x86_64__)
extern const narrow_fn narrow_avx2[NARROW_KINDS], narrow_avx512[NARROW_KINDS];
#endif

typedef struct narrow_product {
    /* Set by the caller; dense operands, the result is [m, rows]. */
    narrow_kind kind;
    int64_t m, rows, depth, group; /* group: of integers, a multiple of 32 that divides depth */
    /* Set by narrow_plan: */
    narrow_fn fn;
} narrow_product;
void narrow_plan(narrow_product *p);
void narrow_run(const narrow_product *p, const cpu_team *team, const float *x, const void *matrix, const float *factors,
                float *out);
size_t narrow_row_bytes(narrow_kind kind, int64_t depth);

#endif
