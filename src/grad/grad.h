/* Reverse-mode differentiation of IR values: one rule per op (rules.c), found by opcode.
 * Sources: the StableHLO specification for meanings; PyTorch's choices at ties and kinks (relu'(0) = 0, max takes the first of equals in
 * pooling, |x|'(0) = 0). */
#ifndef XT_SRC_GRAD_H
#define XT_SRC_GRAD_H

#include "ir/ir.h"

/* What the rule of an op is given and gives. d_out[i] is NULL when nothing flows into result i; the rule sets d_in[j] for each operand j with
 * want[j], or leaves NULL for a zero derivative. It builds with `b`, whose source and path are already those of the forward op. */
typedef struct grad_call {
    ir_builder *b;
    const ir_op *op;
    ir_value *const *d_out;
    const bool *want;
    ir_value **d_in;
} grad_call;
typedef struct grad_rule {
    xt_status (*fn)(grad_call *c); /* NULL: `why` says the reason */
    const char *why;               /* the formula, or why there is no rule */
    bool zero;                     /* derivative is zero (almost) everywhere: flows stop without an error */
} grad_rule;
extern const grad_rule grad_rules[OP_COUNT];

/* Appends to `b` the gradients of `root` (seeded with `seed`, NULL = ones) with respect to wanted leaves. `needs(v)` says whether v depends on
 * something that wants a gradient (flows elsewhere are cut); out[i] is the gradient of leaves[i] or NULL. All forward ops must be in the block of b. */
xt_status grad_reverse(ir_builder *b, ir_value *root, ir_value *seed, size_t n, ir_value *const *leaves, bool (*needs)(const ir_value *, void *), void *user,
                       ir_value **out);

#endif
