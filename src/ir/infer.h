/* Inference rules and what they share. A rule computes an op's result types from its operands, attributes and regions,
 * and checks the numbered constraints of the StableHLO specification on the way: a message ends in the constraint's
 * name, "dot_general_c10" (or "add_i1" for a rule about what one input may be), followed by the operand types.
 *
 * Before a rule runs, ir_infer has checked: operand and region counts of the op's row, that operands are tensors
 * (except for control flow and ops between devices), that known attributes have the kind attrs.def says. A stated
 * result type stands in op->out.
 *
 * Dynamic dims (IR_DYNAMIC) match any dim; what cannot be known from them becomes dynamic in the result. */
#ifndef XT_SRC_IR_INFER_H
#define XT_SRC_IR_INFER_H

#include "ir/ir.h"

#if defined(__GNUC__) || defined(__clang__)
#define INFER_NONNULL __attribute__((returns_nonnull))
#else
#define INFER_NONNULL
#endif
#define RULE(name) xt_status ir_infer_##name(const ir_op *op, const ir_type **out, size_t *n_out)
#define OP(name, dialect, cls, nin, nout, nregions, rule, ...) RULE(rule);
#include "ir/ops.def"
#undef OP

/* All checks that need no rule, then the rule, then that stated types agree. `out` has room for
 * infer_room(op) types. */
xt_status ir_infer(const ir_op *op, const ir_type **out, size_t *n_out);
size_t infer_room(const ir_op *op);

/* A failure of constraint `c` (0: none has a number; -k: input rule k) with the operands' types
 * appended. Never NULL. */
xt_status infer_fail(const ir_op *op, int c, const char *fmt, ...) BASE_PRINTF(3, 4) INFER_NONNULL;
typedef struct dims_text {
    char text[160];
} dims_text;
dims_text infer_dims(size_t n, const int64_t *dims); /* "[2, 3, ?]", cut off when long */

static inline const ir_type *infer_in(const ir_op *op, size_t i) {
    return op->in[i]->type;
}
static inline const ir_type *infer_stated(const ir_op *op, size_t i) {
    return i < op->n_out ? op->out[i].type : NULL;
}
static inline bool infer_dim_eq(int64_t a, int64_t b) {
    return a == b || a == IR_DYNAMIC || b == IR_DYNAMIC;
}
bool infer_same_shape(const ir_type *a, const ir_type *b);
xt_status infer_need_stated(const ir_op *op, size_t n); /* ops whose results only the caller knows */
xt_status infer_tensors(const ir_op *op, size_t first, size_t end);

static inline xt_status infer_one(const ir_type **out, size_t *n_out, const ir_type *t) {
    out[0] = t;
    *n_out = 1;
    return NULL;
}
/* One tensor result of that shape; fails when it is too large. */
xt_status infer_tensor(const ir_op *op, xt_dtype t, size_t rank, const int64_t *dims, const ir_type **out);
xt_status infer_one_tensor(const ir_op *op, xt_dtype t, size_t rank, const int64_t *dims, const ir_type **out,
                           size_t *n_out);
/* The type that says most of two compatible shapes: static dims win. */
xt_status infer_merge(const ir_op *op, int c, const ir_type *a, const ir_type *b, const ir_type **out);

/* Attributes that must be there. */
xt_status infer_int(const ir_op *op, ir_attr_key k, int64_t *out);
xt_status infer_ints(const ir_op *op, ir_attr_key k, const int64_t **out, size_t *n);
/* A list that must have n entries; absent gives NULL, which means "the neutral value everywhere". */
xt_status infer_list(const ir_op *op, int c, ir_attr_key k, size_t n, const int64_t **out);
xt_status infer_at_least(const ir_op *op, int c, ir_attr_key k, const int64_t *v, size_t n, int64_t least);
xt_status infer_axis(const ir_op *op, int c, ir_attr_key k, int64_t v, int64_t end); /* 0 <= v < end */
xt_status infer_axes(const ir_op *op, int c, ir_attr_key k, const int64_t *v, size_t n, int64_t end); /* all of them */
xt_status infer_unique(const ir_op *op, int c, ir_attr_key k, const int64_t *v, size_t n);
xt_status infer_sorted(const ir_op *op, int c, ir_attr_key k, const int64_t *v, size_t n);
bool infer_has(const int64_t *v, size_t n, int64_t x);
/* The elements of operand i, an integer list, when it is a constant of at most `max`; false when they are not known. */
bool infer_known(const ir_op *op, size_t i, int64_t *out, size_t max, size_t *n);
/* A known result shape must fit the stated one. */
xt_status infer_known_shape(const ir_op *op, int c, size_t n, const int64_t *dims);
xt_status infer_precision(const ir_op *op, int c); /* precision_config has two members */

/* infer_quant.c: the op's rule, quantized tensors minded. */
xt_status infer_rule(const ir_op *op, const ir_type **out, size_t *n_out);
/* The specification's constraint on result i: its number for the shape, and for the element type; 0: there is none. */
int infer_stated_rule(const ir_op *op, uint32_t i, bool element);
static inline bool infer_same_element(const ir_type *a, const ir_type *b) {
    return a->dtype == b->dtype && a->quant == b->quant;
}

/* Windows: result dims of sliding `window` over dims; NULL lists mean ones (pad: zeros, [n,2]). */
typedef struct infer_window {
    const int64_t *size, *stride, *pad, *base_dilation, *window_dilation;
} infer_window;
int64_t infer_window_dim(const infer_window *w, size_t i, int64_t dim);

/* Regions. */
/* counts; the terminator is there */
xt_status infer_region(const ir_op *op, int c, size_t r, size_t n_args, const ir_op **out_return);
/* A computation over scalars, (E0.., E0..) -> (E0..), as reduce, scatter and the collectives take: Ei is out_types[i],
 * to which the dtype of operand `first + i` must promote. */
xt_status infer_reducer(const ir_op *op, int c, size_t r, size_t n, size_t first, xt_dtype *out_types);
bool infer_promotable(const ir_type *from, const ir_type *to); /* by their element types */

xt_status infer_pairs(const ir_op *op); /* source_target_pairs: constraints 1 to 4 of the ops that have them */

/* Shared by convolution and dynamic_conv, gather and dynamic_gather. `pad`, `sizes` NULL: known only when running. */
xt_status infer_conv(const ir_op *op, bool dynamic, const ir_type **out);

#endif
