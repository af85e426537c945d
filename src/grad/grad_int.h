/* What the files of src/grad share: the rules, named after their op, and small builders they are written with.
 *
 * Conventions of the rules. `d` is the cotangent of the result; builders pass NULL through, so a rule checks nothing on
 * the way and grad_reverse looks at the builder's status once. Complex values follow JAX: a rule is the transposed
 * derivative without conjugation, so the formulas of holomorphic functions are those of the real ones (the gradient of
 * a real loss is the conjugate of PyTorch's). */
#ifndef XT_SRC_GRAD_INT_H
#define XT_SRC_GRAD_INT_H

#include "grad/grad.h"

/* --- helpers.c --- */
ir_value *grad_zeros(ir_builder *b, const ir_type *t);
ir_value *grad_times(ir_builder *b, ir_value *x, double k); /* x * k */
ir_value *grad_plus(ir_builder *b, ir_value *x, double k); /* x + k */
ir_value *grad_scalar(ir_builder *b, xt_dtype t, double k);
/* dims of t, dtype of x; x itself when they agree */
ir_value *grad_reshape_to(ir_builder *b, ir_value *x, const ir_type *t);
ir_value *grad_reverse_dims(ir_builder *b, ir_value *x, size_t n, const int64_t *dims); /* x itself when n is 0 */
/* Sums x down to a scalar. */
ir_value *grad_sum_all(ir_builder *b, ir_value *x);
/* Broadcasts x, whose dims are those of `to` without `dims`, back to `to`: the transpose of a sum over `dims`. */
ir_value *grad_spread(ir_builder *b, ir_value *x, const ir_type *to, size_t n, const int64_t *dims);
/* The cotangent of result i, zeros when nothing flows into it. */
ir_value *grad_d(grad_call *c, size_t i);
/* n zeroed ints in the module's arena. */
xt_status grad_ints(grad_call *c, size_t n, int64_t **out);
xt_status grad_values(grad_call *c, size_t n, ir_value ***out);
/* "no derivative of stablehlo.sort: ..." with the user's line of c->op. */
xt_status grad_refuse(const grad_call *c, const char *why);
/* The opcode of region r when it is one binary op of its two arguments (the body of a plain reduction),
 * OP_COUNT otherwise. */
ir_opcode grad_region_op(const ir_op *op, size_t r);
/* A copy of c->op with other operands. Its regions are copied, each with the extra block arguments `extra` appended;
 * NULL after a failure. Result types are inferred. */
ir_op *grad_clone(grad_call *c, size_t n_in, ir_value *const *in, size_t n_extra, const ir_type *const *extra);

/* True when v is defined in this block, or in a region inside it. */
bool grad_within(const ir_value *v, const ir_block *block);
const ir_op *grad_last_op(const ir_builder *b); /* the op before the place where b builds, NULL when there is none */
/* Whether, and which, values from outside that want a gradient are read by the regions of an op. */
bool grad_reads_wanted(const ir_op *op, const grad_walk *w);
xt_status grad_captured(grad_call *c, ir_value ***out, size_t *out_n);
xt_status grad_builder_status(ir_builder *b); /* taken from it */
/* A builder at the end of a new block with arguments of these types. */
xt_status grad_new_region(grad_call *c, size_t n, const ir_type *const *types, ir_builder *out);
/* The ops of a region's block where b stands, its arguments replaced; out_results: what its return would return. */
xt_status grad_copy_body(ir_builder *b, const ir_block *from, ir_value *const *args, ir_value **out_results);
/* A walk inside a new block that is to become a region. Values made there depend on something wanted if an
 * operand does. */
typedef struct grad_inner {
    const ir_block *block;
    const grad_walk *outer;
} grad_inner;
void grad_set_depends(ir_value *v); /* for arguments of the block */
void grad_mark_dependence(grad_inner *in);
bool grad_depends(const ir_value *v, const grad_inner *in);
xt_status grad_sweep_inner(grad_inner *in, ir_builder *b, size_t n_roots, ir_value *const *roots,
                           ir_value *const *seeds, size_t n, ir_value *const *leaves, ir_value **out);
/* Differentiates what was appended after `stop` in place of c->op: parts[i] is the same value as its result i. */
xt_status grad_through(grad_call *c, const ir_op *stop, ir_value *const *parts);

/* recompute.c: the region w->regions[k] computed again behind a barrier with the cotangents of its values, and
 * differentiated there. What it gives: cotangents for the values that the region reads, and those of w's leaves that
 * are made inside (NULL: nothing flows). Arrays of the arena. */
typedef struct grad_recomputed {
    size_t n;
    ir_value **in, **d_in;
    ir_value **d_leaf; /* w->n_leaves */
} grad_recomputed;
xt_status grad_recompute(ir_builder *b, const grad_walk *w, size_t k, size_t n_seeds, ir_value *const *values,
                         ir_value *const *seeds, grad_recomputed *out);

/* rules_linalg.c: matrices are the last two dims. */
enum { GRAD_NO_TRANSPOSE = 1, GRAD_TRANSPOSE = 2, GRAD_ADJOINT = 3 }; /* StableHLO's numbers */
typedef struct grad_system {
    bool left, lower, unit;
    int transpose;
} grad_system;
ir_value *grad_matrix_turn(grad_call *c, ir_value *x);
ir_value *grad_matrix_product(grad_call *c, ir_value *x, ir_value *y);
/* the lower (or upper) triangle of x; the diagonal times `diagonal` */
ir_value *grad_triangle(grad_call *c, ir_value *x, bool lower, double diagonal);
/* op(a) y = x, or y op(a) = x */
ir_value *grad_triangular_system(grad_call *c, ir_value *a, ir_value *x, grad_system s);

/* --- rules: the column `derivative` of ops.def, in the files rules_*.c --- */
#define GRAD(function, formula) xt_status grad_##function(grad_call *c);
#define ZERO(reason)
#define NO_GRAD(reason)
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, derivative, ...) derivative
#include "ir/ops.def"
#undef OP
#undef GRAD
#undef ZERO
#undef NO_GRAD

/* rules_fold.c */
typedef struct grad_window {
    const int64_t *size, *strides, *base, *dilation;
    int64_t *low, *high; /* padding of the forward op */
    size_t rank;
} grad_window;
xt_status grad_fold_dims(grad_call *c);
xt_status grad_fold_windows(grad_call *c, const grad_window *w);
/* The elementwise ops of a computation over scalars, on whole tensors of the dims of `like`. */
xt_status grad_apply_scalars(grad_call *c, const ir_block *body, const ir_type *like, ir_value *const *args,
                             ir_value **out_results);
/* rules_factor.c: of a custom call that is a factorisation; false: it is none. */
bool grad_factorisation(grad_call *c, xt_status *out);

#endif
