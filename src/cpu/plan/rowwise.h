/* Chains of ops over the same rows, run block by block.
 *
 * Seen as matrices of R rows, arrays go through elementwise ops, reductions of their rows and what those give: softmax,
 * the norms of rows, cross entropy, with their gradients. Thunk by thunk each step would stream the arrays through
 * memory. So the stage `rowwise` cuts such a chain out of the program: a custom_call @xtrain_rows takes its place, and
 * a private function computes a block of some rows, whose arrays stay in the caches (kernel/rowwise.c runs it block by
 * block). The call says all in IR: called_computations are the block's function and, where the blocks do not divide the
 * rows, the last block's. Arguments and results of two dims are [rows of the block, elements of a row], the next rows
 * of an operand or result; arguments of fewer dims are an operand as it is.
 *
 * Blocks are cut by shapes alone, and each row is computed by itself, so results do not depend on threads.
 *
 * rowwise.c finds chains, rowwise_build.c takes them out. */
#ifndef XT_SRC_CPU_PLAN_ROWWISE_H
#define XT_SRC_CPU_PLAN_ROWWISE_H

#include "cpu/plan/build.h"

#define ROWWISE_TARGET "xtrain_rows"

typedef enum rowwise_kind {
    ROWWISE_NONE,
    ROWWISE_FULL, /* R rows of C elements, in order */
    ROWWISE_ROWS, /* R numbers, in order */
    ROWWISE_COLS, /* C numbers that each row reads */
    ROWWISE_ONE /* a number */
} rowwise_kind;
typedef struct rowwise_value { /* a value that the chain makes */
    ir_value *value;
    bool outside; /* depends on the chain, and is none of it */
    bool wanted; /* a reduction of the chain is made of it; none of the chain yet */
    bool source; /* made outside, and read by the chain */
    bool deep; /* depends on a reduction of the chain */
    uint64_t inside; /* reads by the chain */
    ir_value *copy; /* in the function being made */
} rowwise_value;
typedef struct rowwise_given { /* an operand of the call */
    ir_value *value;
    rowwise_kind kind;
    ir_value *arg; /* in the function being made */
} rowwise_given;
typedef struct rowwise_chain {
    cpu_exec *e;
    int64_t rows, cols, block; /* rows of a block */
    uint64_t epoch; /* of the marks: epoch | number in `values` + 1 */
    rowwise_value *values;
    size_t n, cap;
    ir_op **ops; /* of the chain, in the program's order */
    size_t n_ops, cap_ops;
    rowwise_given *given;
    size_t n_given, cap_given;
    bool images; /* convolutions read or make its arrays, which may lie blocked */
    bool failed; /* no memory */
} rowwise_chain;

rowwise_value *rowwise_info(const rowwise_chain *c, const ir_value *v); /* NULL: the chain knows nothing of it */
bool rowwise_is_inside(const rowwise_chain *c, const ir_value *v); /* computed by an op of the chain */
rowwise_kind rowwise_kind_of(const rowwise_chain *c, const ir_type *t);
/* What the operand of a broadcast to a value of the chain's kinds is there; NONE: neither of these. */
rowwise_kind rowwise_broadcast_of(const rowwise_chain *c, const ir_op *op);
bool rowwise_is_splat(const ir_value *v);
/* Values that are made anew in the block, wherever else they are read: constants, counts, broadcasts. */
bool rowwise_is_free(const ir_op *op);
/* Puts the call in the chain's place; *out: it, or NULL when nobody reads what the chain gives. */
xt_status rowwise_build(rowwise_chain *c, ir_op **out);

#endif
