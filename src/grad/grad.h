/* Reverse-mode differentiation of IR values: one rule per op (rules.c), found by opcode. Sources: the StableHLO
 * specification for meanings; PyTorch's choices at ties and kinks (relu'(0) = 0, max takes the first of equals in
 * pooling, |x|'(0) = 0). */
#ifndef XT_SRC_GRAD_H
#define XT_SRC_GRAD_H

#include "ir/ir.h"

/* What the rule of an op is given and gives. d_out[i] is NULL when nothing flows into result i; the rule sets d_in[j]
 * for each operand j with want[j], or leaves NULL for a zero derivative. It builds with `b`, whose source and path are
 * already those of the forward op. */
typedef struct grad_call {
    ir_builder *b;
    const ir_op *op;
    ir_value *const *d_out;
    const bool *want;
    ir_value **d_in;
    const struct grad_walk *walk; /* the walk that came here */
    /* Set by rules of ops whose regions read values from outside: those, and what flows to them. Arrays
     * of the arena. */
    size_t n_captured;
    ir_value **captured, **d_captured;
} grad_call;
typedef struct grad_rule {
    xt_status (*fn)(grad_call *c); /* NULL: `why` says the reason */
    const char *why; /* the formula, or why there is no rule */
    bool zero; /* derivative is zero (almost) everywhere: flows stop without an error */
} grad_rule;
extern const grad_rule grad_rules[OP_COUNT];

/* Ops that a backward pass computes again instead of keeping their results (activation checkpointing): those from
 * `first` to `last`. Regions nest; they are listed in the order in which they end, and the ones inside another are
 * those from number `inside` up to itself. */
typedef struct grad_region {
    const ir_op *first, *last;
    size_t inside;
} grad_region;

/* One walk from roots back to leaves. All forward ops must be in the block of the builder. */
typedef struct grad_walk {
    const ir_op *stop; /* only ops after this one are walked; NULL = all of the block */
    size_t n_roots;
    ir_value *const *roots, *const *seeds; /* seeds NULL, or seeds[i] NULL: ones */
    size_t n_leaves;
    ir_value *const *leaves;
    /* whether v depends on something that wants a gradient: flows elsewhere are cut */
    bool (*needs)(const ir_value *v, void *user);
    /* whether what has come to the result of an op goes on to its operands; NULL = always */
    bool (*flows)(const ir_value *result, void *user);
    void *user;
    const grad_region *regions;
    size_t n_regions;
    /* Asked before the rule of an optimization_barrier: fills d_in in its place, or leaves *out_done false. NULL: there
     * are none. */
    xt_status (*custom)(grad_call *c, bool *out_done);
} grad_walk;

/* Appends to `b` the gradients of the roots; out[i] is that of leaves[i], or NULL when nothing reaches it. A leaf may
 * be any value. Copies that regions are computed again with keep the `user` words of their ops and values. */
xt_status grad_sweep(ir_builder *b, const grad_walk *w, ir_value **out);
/* The same for one root, which is checked: floating point, and a seed of its type (NULL = ones). For tests. */
xt_status grad_reverse(ir_builder *b, ir_value *root, ir_value *seed, size_t n, ir_value *const *leaves,
                       bool (*needs)(const ir_value *, void *), void *user, ir_value **out);
bool grad_differentiable(const ir_type *t); /* floating point or complex */

#endif
