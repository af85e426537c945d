/* Products of integer matrices that wrap, and of f64, on packed panels: a stretch of the depth at a time, both operands
 * are packed into panels of ROWS rows and COLUMNS columns, of whatever strides and element type, then every tile of the
 * result is made in registers, or added to. Integers add up to the same bits in any order; the order of f64 follows
 * from the depth alone.
 *
 * A word of a panel is an element as wide as the sums, or, of elements of 8 and of signed ones of 16 bits under sums of
 * 32, a pair of neighbours along the depth: processors multiply and add such pairs in one instruction.
 *
 * Compiled once per instruction set (panel_gemm_*.c include panel_gemm.inc), picked with the vector loops. */
#ifndef XT_SRC_CPU_VECTOR_PANEL_GEMM_H
#define XT_SRC_CPU_VECTOR_PANEL_GEMM_H

#include "cpu/thread/team.h"

typedef enum panel_gemm_word {
    PANEL_GEMM_PAIRS,
    PANEL_GEMM_32,
    PANEL_GEMM_64,
    PANEL_GEMM_F64,
    PANEL_GEMM_WORDS
} panel_gemm_word;
enum { PANEL_GEMM_TYPES = 9 }; /* eight of integers, and f64 */

/* Lanes [0, have) of a panel of `lanes`, `depth` words each; lanes from `have` on are zeros, and so is what a last pair
 * lacks. Strides are in elements. */
typedef void (*panel_gemm_pack_fn)(const void *src, int64_t lane_stride, int64_t depth_stride, int64_t have,
                                   int64_t lanes, int64_t depth, void *panel);
/* A tile of the result from one panel of each side, `words` deep; more: added to what is there. */
typedef void (*panel_gemm_tile_fn)(int64_t words, const void *a, const void *b, void *c, int64_t c_stride, int64_t rows,
                                   int64_t columns, bool more);
typedef struct panel_gemm_fns {
    int64_t rows, columns[PANEL_GEMM_WORDS]; /* of a tile */
    panel_gemm_tile_fn tile[PANEL_GEMM_WORDS]; /* of f64 NULL: not with this instruction set */
    panel_gemm_pack_fn pack[PANEL_GEMM_WORDS][PANEL_GEMM_TYPES]; /* NULL: not that word of that type */
} panel_gemm_fns;
extern const panel_gemm_fns panel_gemm_base;
#if defined(__x86_64__)
extern const panel_gemm_fns panel_gemm_avx2, panel_gemm_avx512;
#endif

typedef struct panel_gemm_side {
    int64_t batch, lane, depth; /* strides in elements; lanes are rows of the left side and columns of the right one */
} panel_gemm_side;
typedef struct panel_gemm {
    const panel_gemm_fns *fns;
    panel_gemm_word word;
    int type; /* row of `pack` */
    size_t elem, word_bytes; /* of an operand's element; of a word, which is one of a sum, too */
    int64_t batch, m, n, k, depth; /* depth: what is packed at a time */
    int64_t words; /* of that */
    int64_t row_panels, column_panels;
    panel_gemm_side lhs, rhs;
    size_t rhs_at, scratch_bytes;
} panel_gemm;

/* Of operands of `type` with sums of `sum` (32 or 64 bits, or f64 of f64); false for types that are neither integers of
 * whole bytes nor f64, and for f64 where others do better. Sizes and sides are set by the caller. */
bool panel_gemm_plan(panel_gemm *g, xt_dtype type, xt_dtype sum);
/* c: dense [batch, m, n] of sums. */
void panel_gemm_run(const panel_gemm *g, const cpu_team *team, const void *a, const void *b, void *c, void *scratch);

#endif
