/* Chains through a large matrix, computed tile by tile: attention above all.
 *
 * Scores [batch..., T, S] come from a product of narrow operands, go through elementwise ops, sums and maxima over S and what those give, and leave through products
 * that contract S or T. Every row t can be computed by itself, so the stage `tile` (tile_find.c, tile_build.c) cuts such a chain out of the program: one
 * custom_call @xtrain_tile takes its place, and a private function computes a tile of some rows of one batch element. Nothing of the size T x S is in memory then.
 * What leaves by contracting T (gradients of keys and values) is summed over the tiles, in order. What the backward chain wants of the forward one is
 * computed again from its narrow operands; maxima and sums of rows are kept. This is the scheme of Dao et al. 2022 (FlashAttention), with whole rows in place
 * of running maxima, and for any chain of this kind rather than for one formula.
 *
 * Each dim of a value in the chain has a tag: what of it a tile sees. */
#ifndef XT_SRC_CPU_TILE_H
#define XT_SRC_CPU_TILE_H

#include "cpu/cpu_int.h"

enum { TILE_RANK = 8 };
/* All of the dim; the tile's rows; S, all of it; TILE_FLAT - k: batch, rows and k elements of each in one dim, as random numbers are made; above 0: one index,
 * (batch number / tag) % size of the dim. */
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
const ir_type *tile_type(const ir_type *t, const tile_tags *g, int64_t rows); /* of a tile; NULL without memory */

typedef struct tile_place { /* an operand or result of the call */
    tile_tags tags;
    bool summed; /* result: over the tiles of a batch element, in f32 (f64 for f64) */
} tile_place;
typedef struct tile_call {
    const ir_op *op;
    const ir_func *body, *rest; /* a tile of `rows` rows; of the last T % rows ones, NULL when there are none. Arguments: the operands' tiles, first row, batch number */
    int64_t batch, total_rows, rows;
    tile_place *in, *out;
    struct tile_call *next;
} tile_call;

/* --- between tile_find.c and tile_build.c --- */
typedef enum tile_kind { TILE_OTHER, TILE_FULL, TILE_GIVEN, TILE_ROWS } tile_kind; /* FULL: T x S and made in the chain; GIVEN: made outside; ROWS: numbers of rows */
typedef struct tile_value {
    ir_value *value;
    tile_kind kind;
    bool chained; /* FULL: depends on a product */
    bool exits; /* leaves by a product or a sum over T */
    bool wanted; /* ROWS: somebody outside its group reads it */
    bool need; /* by the group that is being built */
    uint32_t inner, level; /* how often one has to leave and enter the chain before it: for readers in the chain, and outside */
    uint32_t order; /* of its op in the block */
    size_t first_user, n_users;
    tile_tags tags;
    ir_value *copy;
} tile_value;
typedef struct tile_chain {
    cpu_exec *e;
    ir_block *body;
    tile_value *values; /* [ir_value.user - 1] */
    size_t n_values;
    ir_op **users; /* by value: [first_user, n_users) */
    int64_t batch, rows, cols;
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
/* Cuts the groups of a chain out. */
xt_status tile_build(tile_chain *c);
/* The stage. */
xt_status cpu_tile(cpu_exec *e);

#endif
