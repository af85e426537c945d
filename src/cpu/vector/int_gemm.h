/* Products of integer matrices that wrap, on packed panels: both operands are first packed into panels of ROWS rows and
 * COLUMNS columns, of whatever strides and element type, then every tile of the result is made in registers. Integers
 * add up to the same bits in any order.
 *
 * A word of a panel is an element as wide as the sums, or, of elements of 8 and of signed ones of 16 bits under sums of
 * 32, a pair of neighbours along the depth: processors multiply and add such pairs in one instruction.
 *
 * Compiled once per instruction set (int_gemm_*.c include int_gemm.inc), picked with the vector loops. */
#ifndef XT_SRC_CPU_VECTOR_INT_GEMM_H
#define XT_SRC_CPU_VECTOR_INT_GEMM_H

#include "cpu/thread/team.h"

typedef enum int_gemm_word { INT_GEMM_PAIRS, INT_GEMM_32, INT_GEMM_64, INT_GEMM_WORDS } int_gemm_word;

/* Lanes [0, have) of a panel of `lanes`, `depth` words each; lanes from `have` on are zeros, and so is what a last pair
 * lacks. Strides are in elements. */
typedef void (*int_gemm_pack_fn)(const void *src, int64_t lane_stride, int64_t depth_stride, int64_t have,
                                 int64_t lanes, int64_t depth, void *panel);
/* A tile of the result from one panel of each side, `words` deep. */
typedef void (*int_gemm_tile_fn)(int64_t words, const void *a, const void *b, void *c, int64_t c_stride, int64_t rows,
                                 int64_t columns);
typedef struct int_gemm_fns {
    int64_t rows, columns[INT_GEMM_WORDS]; /* of a tile */
    int_gemm_tile_fn tile[INT_GEMM_WORDS];
    int_gemm_pack_fn pack[INT_GEMM_WORDS][8]; /* by int_gemm_type; NULL: not that word of that type */
} int_gemm_fns;
extern const int_gemm_fns int_gemm_base;
#if defined(__x86_64__)
extern const int_gemm_fns int_gemm_avx2, int_gemm_avx512;
#endif

typedef struct int_gemm_side {
    int64_t batch, lane, depth; /* strides in elements; lanes are rows of the left side and columns of the right one */
} int_gemm_side;
typedef struct int_gemm {
    const int_gemm_fns *fns;
    int_gemm_word word;
    int type; /* row of `pack` */
    size_t elem, word_bytes; /* of an operand's element; of a word, which is one of a sum, too */
    int64_t batch, m, n, k, words; /* words: of the depth */
    int64_t row_panels, column_panels;
    int_gemm_side lhs, rhs;
    size_t rhs_at, scratch_bytes;
} int_gemm;

/* Of operands of `type` with sums of `sum` (32 or 64 bits); false for types that are no integers of whole bytes. Sizes
 * and sides are set by the caller. */
bool int_gemm_plan(int_gemm *g, xt_dtype type, xt_dtype sum);
/* c: dense [batch, m, n] of sums. */
void int_gemm_run(const int_gemm *g, const cpu_team *team, const void *a, const void *b, void *c, void *scratch);

#endif
