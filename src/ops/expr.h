/* A small language for formulas over whole tensors: builders that also take plain numbers. As all builders they give
 * NULL for a NULL operand, so a formula needs no checks; lazy_wrap finds the failure at its end. */
#ifndef XT_SRC_OPS_EXPR_H
#define XT_SRC_OPS_EXPR_H

#include "ops/ops.h"

static inline ir_value *ex_num(ir_builder *b, const ir_value *like, double v) {
    return like ? ir_splat(b, like->type, v) : NULL;
}
static inline ir_value *ex_plus(ir_builder *b, ir_value *x, double v) {
    return ir_add(b, x, ex_num(b, x, v));
}
static inline ir_value *ex_times(ir_builder *b, ir_value *x, double v) {
    return ir_multiply(b, x, ex_num(b, x, v));
}
static inline ir_value *ex_over(ir_builder *b, ir_value *x, double v) {
    return ir_divide(b, x, ex_num(b, x, v));
}
static inline ir_value *ex_is(ir_builder *b, ir_value *x, ir_cmp_dir dir, double v) {
    return ir_compare(b, dir, x, ex_num(b, x, v));
}
static inline ir_value *ex_pick(ir_builder *b, ir_value *pred, ir_value *yes, ir_value *no) {
    return ir_select(b, pred, yes, no);
}
/* x where pred holds, else a number. */
static inline ir_value *ex_keep(ir_builder *b, ir_value *pred, ir_value *x, double otherwise) {
    return ir_select(b, pred, x, ex_num(b, x, otherwise));
}
/* The same value, through which no gradient flows. */
static inline ir_value *ex_detach(ir_builder *b, ir_value *x) {
    ir_value *v = ops_copy(b, x);
    lazy_no_grad_value(v);
    return v;
}
/* A square root whose derivative at zero is zero, as that of PyTorch's norm and std. */
static inline ir_value *ex_root(ir_builder *b, ir_value *x) {
    ir_value *zero = ex_is(b, x, IR_EQ, 0);
    ir_value *root = ir_sqrt(b, ex_pick(b, zero, ex_num(b, x, 1), x));
    return ex_keep(b, ir_not(b, zero), root, 0);
}

#endif
