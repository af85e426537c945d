/* Fused attention, tile by tile, and every other chain of ops through a large matrix.
 *
 * Scores [batch..., T, S] come from a product of narrow operands, go through elementwise ops, sums and maxima over S
 * and what those give, and leave through products that contract S or T. Every row t can be computed by itself, so the
 * stage `tile` (attn_find.c, attn_build.c) cuts such a chain out of the program: one custom_call @xtrain_attention
 * takes its place, and a private function computes a tile of some rows of one batch element. Nothing of the size T x S
 * is in memory then. All products of a chain make it of narrow operands or leave narrow results: layers of a wide
 * network are left alone. What leaves by contracting T (gradients of keys and values) is summed over the tiles, in
 * order. What the backward chain wants of the forward one is computed again from its narrow operands; maxima and sums
 * of rows are kept. This is the scheme of Dao et al. 2022 (FlashAttention), with whole rows in place of running maxima,
 * and for any chain of this kind rather than for one formula.
 *
 * Where a mask made of positions hides the last columns of a tile, as a causal one does (attn_mask.c), or a mask that
 * is an argument does in some eighths of the columns (looked at tile by tile when the program runs), the tile is
 * computed without them: a function of fewer columns, which also bounds what the hidden ones would have given
 * (attn_bounds.c). When that may be anything but nothing (a row that sees nothing, a mask of moderate numbers, NaN or
 * Inf in an operand) the tile is computed again, whole. So results are those of whole tiles but for the order of sums.
 *
 * Each dim of a value in the chain has a tag: what of it a tile sees. */
#ifndef XT_SRC_CPU_PLAN_ATTENTION_ATTN_H
#define XT_SRC_CPU_PLAN_ATTENTION_ATTN_H

#include "cpu/plan/build.h"

enum { ATTN_RANK = 8, ATTN_SKIPS = 8 };
/* All of the dim; the tile's rows; S, all of it; ATTN_FLAT - k: batch, rows and k elements of each in one dim, as
 * random numbers are made; above 0: one index, (batch number / tag) % size of the dim. */
enum { ATTN_ALL = 0, ATTN_ROW = -1, ATTN_COL = -2, ATTN_FLAT = -16 };
typedef struct attn_tags {
    int64_t at[ATTN_RANK];
    int64_t batch; /* elements in the batch */
} attn_tags;
static inline int64_t attn_flat(int64_t tag) { /* k of a flat dim; 0: it is none */
    return tag < ATTN_FLAT ? ATTN_FLAT - tag : 0;
}

/* Operand i's tags from those of the result, and the other way round; false: not that simple. */
bool attn_tags_back(const ir_op *op, uint32_t i, const attn_tags *out, attn_tags *in);
bool attn_tags_on(const ir_op *op, uint32_t i, const attn_tags *in, attn_tags *out);
/* The tags of a product's other operand, operand i having these. */
void attn_tags_beside(const ir_op *dot, uint32_t i, const attn_tags *in, attn_tags *other);
bool attn_tags_equal(const ir_type *t, const attn_tags *a, const attn_tags *b);
bool attn_tags_have(const ir_type *t, const attn_tags *g, int64_t tag);
bool attn_tags_full(const ir_type *t, const attn_tags *g); /* rows and columns */
/* of a tile, cols 0: all columns; NULL without memory */
const ir_type *attn_tile_type(const ir_type *t, const attn_tags *g, int64_t rows, int64_t cols);
bool attn_has_flat(const ir_type *t, const attn_tags *g);

/* What a value made of positions and constants only is between rows [row, row_end) and columns [col, col_end); false:
 * it is made of something else, or may be NaN. */
typedef struct attn_range { /* of booleans: 0 and 1 */
    double lo, hi;
} attn_range;
typedef struct attn_mask {
    /* a mask that the program is given, and what it is where it hides: taken for granted here, looked at when the
     * program runs */
    const ir_value *value; /* NULL: none */
    attn_tags tags;
    attn_range hides;
} attn_mask;
typedef struct attn_block {
    int64_t row, row_end, col, col_end;
    attn_mask mask;
} attn_block;
bool attn_range_of(const ir_value *v, const attn_tags *g, const attn_block *in, attn_range *out);

typedef struct attn_arg { /* an operand or result of the call */
    attn_tags tags;
    bool summed; /* result: over the tiles of a batch element, in f32 (f64 for f64) */
    bool bounded; /* operand: functions of fewer columns want its largest absolute value */
} attn_arg;
typedef struct attn_skip {
    /* full tiles [first, last) that need only their first `cols` columns; with a given mask: those where it
     * hides all others */
    int64_t first, last, cols;
    const ir_func *
        /* as that of attn_call, with the bounds as further arguments, and 1.0 as a further result where the rest gives
         * nothing; NULL: cannot be told */
        body;
} attn_skip;
typedef struct attn_call {
    const ir_op *op;
    const ir_func *body,
        /* a tile of `rows` rows; of the last T % rows ones, NULL when there are none. Arguments: the operands' tiles,
         * first row, batch number */
        *rest;
    int64_t batch, total_rows, rows;
    attn_arg *in, *out;
    attn_skip skips[ATTN_SKIPS]; /* with a given mask: from few columns to many */
    uint32_t n_skips;
    attn_mask mask; /* given: operand `mask_in` */
    uint32_t mask_in;
    struct attn_call *next;
} attn_call;

/* --- between attn_find.c and attn_build.c --- */
typedef enum attn_kind {
    ATTN_OTHER,
    ATTN_FULL,
    ATTN_GIVEN,
    ATTN_ROWS
} attn_kind; /* FULL: T x S and made in the chain; GIVEN: made outside; ROWS: numbers of rows */
typedef struct attn_value {
    ir_value *value;
    attn_kind kind;
    bool chained; /* FULL: depends on a product */
    bool exits; /* leaves by a product or a sum over T */
    bool wanted; /* ROWS: somebody outside its group reads it */
    bool need; /* by the group that is being built */
    /* how often one has to leave and enter the chain before it: for readers in the chain, and outside */
    uint32_t inner, level;
    uint32_t order; /* of its op in the block */
    size_t first_user, n_users;
    attn_tags tags;
    ir_value *copy;
    /* in a function of fewer columns: lo and hi are set, to NULL when nothing is known of the columns that
     * it leaves out */
    bool bounds_known;
    ir_value *lo, *hi;
} attn_value;
typedef struct attn_chain {
    cpu_exec *e;
    ir_block *body;
    attn_value *values; /* [ir_value.user - 1] */
    size_t n_values;
    ir_op **users; /* by value: [first_user, n_users) */
    int64_t batch, rows, cols;
    int64_t tile_rows;
    attn_skip skips[ATTN_SKIPS];
    uint32_t n_skips;
    attn_mask mask;
    uint32_t most_level;
    bool failed;
    uint32_t *stack; /* values to look at: those before, those after */
    size_t n_stack, cap_stack;
} attn_chain;

static inline attn_value *attn_info(const attn_chain *c, const ir_value *v) {
    return v->user ? &c->values[v->user - 1] : NULL;
}
static inline attn_kind attn_kind_of(const attn_chain *c, const ir_value *v) {
    const attn_value *i = attn_info(c, v);
    return i ? i->kind : ATTN_OTHER;
}
int64_t attn_tile_rows(const attn_chain *c);
/* Cuts the groups of a chain out. */
xt_status attn_build(attn_chain *c);
/* attn_mask.c: which tiles need less than all columns, or which given mask will say that */
void attn_find_skips(attn_chain *c);
/* Of an op in the chain: the tags of its operand i, whatever that is. */
void attn_chain_operand(const attn_chain *c, const ir_op *op, uint32_t i, attn_tags *out);

/* --- between attn_build.c and attn_bounds.c */
typedef struct attn_group { /* what is computed between entering the chain and leaving it */
    attn_chain *c;
    uint32_t level;
    const ir_op **roots; /* what leaves the chain, in order */
    size_t n_roots, cap_roots;
    struct attn_given { /* an operand of the call */
        ir_value *value;
        attn_tags tags;
        bool bounded;
        ir_value *arg, *bound; /* in the function being made */
    } * given;
    size_t n_given, cap_given;
    ir_builder b; /* in the function being made */
    int64_t rows, cols;
    ir_value *row, *batch; /* its arguments behind those of the operands */
    attn_block hidden; /* what a function of fewer columns leaves out */
    ir_value *ok; /* 1.0: it gives nothing */
    bool unknown; /* whether it does cannot be told */
} attn_group;
void attn_operand_tags(const attn_group *g, const ir_op *op, uint32_t i, attn_tags *out);
ir_value *attn_operand(attn_group *g, const ir_op *op, uint32_t i);
struct attn_given *attn_given_of(const attn_group *g, const ir_op *op, uint32_t i);
/* After op was made: what its hidden columns have to be for it to be right, to g->ok. */
void attn_demand(attn_group *g, const ir_op *op);
#endif
