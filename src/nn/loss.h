/* What the losses share: operands as floats of one type, shapes checked, and the reduction at the end.
 *
 * A loss opens with loss_open, which gives its operands' values; builders pass NULL through, so a failed operand needs
 * no test of its own once the shapes are checked. Helpers below take and give NULL too. */
#ifndef XT_SRC_NN_LOSS_H
#define XT_SRC_NN_LOSS_H

#include <xtrain/losses.h>

#include "ops/expr.h"

typedef struct loss {
    const xt_src *src;
    const char *what;
    ir_builder *b;
    xt_tensor failed; /* what the loss returns when one of the steps below gives false */
} loss;

/* The values of n tensors, converted to one float type: f64 when one of them is, else f32. False when one is dead, an
 * error or complex. */
bool loss_open(loss *l, const xt_src *src, const char *what, int n, const xt_tensor *in, ir_value **out);
bool loss_same_shape(loss *l, const ir_value *x, const ir_value *y, const char *name_x, const char *name_y);
/* *w at x's shape, when its shape broadcasts to it. */
bool loss_fit(loss *l, ir_value **w, const ir_value *x, const char *name);
/* False, with the failure, for a number outside [min, max]. */
bool loss_number(loss *l, const char *field, double v, double min, double max);
/* A number of the options in a formula beside `like`: data once it changes. */
ex_number loss_given(loss *l, const ir_value *like, double v);
/* What is made of such a number on the host. */
ex_number loss_made(loss *l, const ir_value *like, double v, double made);
/* The loss from its elements. XT_BATCH_MEAN is an error here. */
xt_tensor loss_close(loss *l, ir_value *each, xt_reduce r);
/* sum / count for the mean, sum for the sum. */
bool loss_reduction(loss *l, xt_reduce r, bool batch_mean);

ir_value *loss_splat(ir_builder *b, const ir_value *like, double v);
ir_value *loss_times(ir_builder *b, ir_value *x, double v);
ir_value *loss_plus(ir_builder *b, ir_value *x, double v);
/* x dir v ? yes : no */
ir_value *loss_where(ir_builder *b, ir_cmp_dir dir, ir_value *x, double v, ir_value *yes, ir_value *no);
ir_value *loss_positive(ir_builder *b, ir_value *x); /* max(0, x) with derivative 1 at 0, as PyTorch's clamp_min */
ir_value *loss_softplus(ir_builder *b, ir_value *x); /* log(1 + exp(x)) without overflow */
ir_value *loss_root(ir_builder *b, ir_value *x); /* sqrt with derivative 0 at 0 */
/* max(x, least), its derivative that of x everywhere (clamped under no_grad) */
ir_value *loss_raise(ir_builder *b, ir_value *x, ex_number least);
ir_value *loss_sum_all(ir_builder *b, ir_value *x);
ir_value *loss_sum_axis(ir_builder *b, ir_value *x, int64_t axis);
ir_value *loss_detach(ir_builder *b, ir_value *x);

#endif
