/* Chains through a large matrix, computed tile by tile: attention above all.
 *
 * Scores [batch..., T, S] come from a product of narrow operands, go through elementwise ops, sums and maxima over S
 * and what those give, and leave through products that contract S or T. Every row t can be computed by itself, so the
 * stage `tile` (tile_find.c, tile_build.c) cuts such a chain out of the program: one custom_call @xtrain_tile takes its
 * place, and a private function computes a tile of some rows of one batch element. Nothing of the size T x S is in
 * memory then. All products of a chain make it of narrow operands or leave narrow results: layers of a wide network are
 * left alone. What leaves by contracting T (gradients of keys and values) is summed over the tiles, in order. What the
 * backward chain wants of the forward one is computed again from its narrow operands; maxima and sums of rows are kept.
 * This is the scheme of Dao et al. 2022 (FlashAttention), with whole rows in place of running maxima, and for any chain
 * of this kind rather than for one formula.
 *
 * Where a mask made of positions hides the last columns of a tile, as a causal one does (tile_mask.c), or a mask that
 * is an argument does in some eighths of the columns (looked at tile by tile when the program runs), the tile is
 * computed without them: a function of fewer columns, which also bounds what the hidden ones would have given
 * (tile_hidden.c). When that may be anything but nothing (a row that sees nothing, a mask of moderate numbers, NaN or
 * Inf in an operand) the tile is computed again, whole. So results are those of whole tiles but for the order of sums.
 *
 * Each dim of a value in the chain has a tag: what of it a tile sees. */
#ifndef XT_SRC_CPU_PLAN_ATTENTION_TILE_H
#define XT_SRC_CPU_PLAN_ATTENTION_TILE_H

#include "cpu/plan/build.h"

enum { TILE_RANK = 8, TILE_CUTS = 8 };
/* All of the dim; the tile's rows; S, all of it; TILE_FLAT - k: batch, rows and k elements of each in one dim, as
 * random numbers are made; above 0: one index, (batch number / tag) % size of the dim. */
enum { TILE_ALL = 0, TILE_ROW = -1, TILE_COL = -2, TILE_FLAT = -16 };
typedef struct tile_tags {
    int64_t at[TILE_RANK];
    int64_t batch; /* elements in the batch */
} tile_tags;
static inline int64_t tile_flat(int64_t tag) { /* k of a flat dim; 0: it is none */
    return tag < TILE_FLAT ? TILE_FLAT - tag : 0;
}

/* Operand i's tags from those of the result, and the other way round; false: not that simple. */
bool tile_tags_back(const ir_op *op, uint32_t i, const tile_tags *out, tile_tags *in);
bool tile_tags_on(const ir_op *op, uint32_t i, const tile_tags *in, tile_tags *out);
/* The tags of a product's other operand, operand i having these. */
void tile_tags_beside(const ir_op *dot, uint32_t i, const tile_tags *in, tile_tags *other);
bool tile_tags_equal(const ir_type *t, const tile_tags *a, const tile_tags *b);
bool tile_tags_have(const ir_type *t, const tile_tags *g, int64_t tag);
bool tile_tags_full(const ir_type *t, const tile_tags *g); /* rows and columns */
/* of a tile, cols 0: all columns; NULL without memory */
const ir_type *tile_type(const ir_type *t, const tile_tags *g, int64_t rows, int64_t cols);
bool tile_has_flat(const ir_type *t, const tile_tags *g);

/* What a value made of positions and constants only is between rows [row, row_end) and columns [col, col_end); false:
 * it is made of something else, or may be NaN. */
typedef struct tile_range { /* of booleans: 0 and 1 */
    double lo, hi;
} tile_range;
typedef struct tile_mask {
    /* a mask that the program is given, and what it is where it hides: taken for granted here, looked at when the
     * program runs */
    const ir_value *value; /* NULL: none */
    tile_tags tags;
    tile_range hides;
} tile_mask;
typedef struct tile_block {
    int64_t row, row_end, col, col_end;
    tile_mask mask;
} tile_block;
bool tile_range_of(const ir_value *v, const tile_tags *g, const tile_block *in, tile_range *out);

typedef struct tile_place { /* an operand or result of the call */
    tile_tags tags;
    bool summed; /* result: over the tiles of a batch element, in f32 (f64 for f64) */
    bool bounded; /* operand: functions of fewer columns want its largest absolute value */
} tile_place;
typedef struct tile_cut {
    /* full tiles [first, last) that need only their first `cols` columns; with a given mask: those where it
     * hides all others */
    int64_t first, last, cols;
    const ir_func *
        /* as that of tile_call, with the bounds as further arguments, and 1.0 as a further result where the rest gives
         * nothing; NULL: cannot be told */
        body;
} tile_cut;
typedef struct tile_call {
    const ir_op *op;
    const ir_func *body,
        /* a tile of `rows` rows; of the last T % rows ones, NULL when there are none. Arguments: the operands' tiles,
         * first row, batch number */
        *rest;
    int64_t batch, total_rows, rows;
    tile_place *in, *out;
    tile_cut cuts[TILE_CUTS]; /* with a given mask: from few columns to many */
    uint32_t n_cuts;
    tile_mask mask; /* given: operand `mask_in` */
    uint32_t mask_in;
    struct tile_call *next;
} tile_call;

/* --- between tile_find.c and tile_build.c --- */
typedef enum tile_kind {
    TILE_OTHER,
    TILE_FULL,
    TILE_GIVEN,
    TILE_ROWS
} tile_kind; /* FULL: T x S and made in the chain; GIVEN: made outside; ROWS: numbers of rows */
typedef struct tile_value {
    ir_value *value;
    tile_kind kind;
    bool chained; /* FULL: depends on a product */
    bool exits; /* leaves by a product or a sum over T */
    bool wanted; /* ROWS: somebody outside its group reads it */
    bool need; /* by the group that is being built */
    /* how often one has to leave and enter the chain before it: for readers in the chain, and outside */
    uint32_t inner, level;
    uint32_t order; /* of its op in the block */
    size_t first_user, n_users;
    tile_tags tags;
    ir_value *copy;
    /* in a function of fewer columns: lo and hi are set, to NULL when nothing is known of the columns that
     * it leaves out */
    bool bounds_known;
    ir_value *lo, *hi;
} tile_value;
typedef struct tile_chain {
    cpu_exec *e;
    ir_block *body;
    tile_value *values; /* [ir_value.user - 1] */
    size_t n_values;
    ir_op **users; /* by value: [first_user, n_users) */
    int64_t batch, rows, cols;
    int64_t tile_rows;
    tile_cut cuts[TILE_CUTS];
    uint32_t n_cuts;
    tile_mask mask;
    uint32_t most_level;
    bool failed;
    uint32_t *stack; /* values to look at: those before, those after */
    size_t n_stack, cap_stack;
} tile_chain;

static inline tile_value *tile_info(const tile_chain *c, const ir_value *v) {
    return v->user ? &c->values[v->user - 1] : NULL;
}
static inline tile_kind tile_kind_of(const tile_chain *c, const ir_value *v) {
    const tile_value *i = tile_info(c, v);
    return i ? i->kind : TILE_OTHER;
}
int64_t tile_rows(const tile_chain *c);
/* Cuts the groups of a chain out. */
xt_status tile_build(tile_chain *c);
/* tile_mask.c: which tiles need less than all columns, or which given mask will say that */
void tile_find_cuts(tile_chain *c);
/* Of an op in the chain: the tags of its operand i, whatever that is. */
void tile_chain_operand(const tile_chain *c, const ir_op *op, uint32_t i, tile_tags *out);

/* --- between tile_build.c and tile_hidden.c */
typedef struct tile_group { /* what is computed between entering the chain and leaving it */
    tile_chain *c;
    uint32_t level;
    const ir_op **roots; /* what leaves the chain, in order */
    size_t n_roots, cap_roots;
    struct tile_given { /* an operand of the call */
        ir_value *value;
        tile_tags tags;
        bool bounded;
        ir_value *arg, *bound; /* in the function being made */
    } * given;
    size_t n_given, cap_given;
    ir_builder b; /* in the function being made */
    int64_t rows, cols;
    ir_value *row, *batch; /* its arguments behind those of the operands */
    tile_block hidden; /* what a function of fewer columns leaves out */
    ir_value *ok; /* 1.0: it gives nothing */
    bool unknown; /* whether it does cannot be told */
} tile_group;
void tile_operand_tags(const tile_group *g, const ir_op *op, uint32_t i, tile_tags *out);
ir_value *tile_operand(tile_group *g, const ir_op *op, uint32_t i);
struct tile_given *tile_given_of(const tile_group *g, const ir_op *op, uint32_t i);
/* After op was made: what its hidden columns have to be for it to be right, to g->ok. */
void tile_demand(tile_group *g, const ir_op *op);
#endif
