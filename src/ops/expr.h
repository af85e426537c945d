/* A small language for formulas over whole tensors: builders that also take plain numbers. As all builders they give
 * NULL for a NULL operand, so a formula needs no checks; lazy_wrap finds the failure at its end. */
#ifndef XT_SRC_OPS_EXPR_H
#define XT_SRC_OPS_EXPR_H

#include <math.h>

#include "ops/number.h"

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
/* NaN, and where pred holds so is the derivative in x, as PyTorch's of formulas that divide by what they have counted;
 * elsewhere there is none. */
static inline ir_value *ex_unknown(ir_builder *b, ir_value *pred, ir_value *x) {
    ir_value *there = ex_keep(b, pred, x, 0);
    return ir_multiply(b, there, ex_num(b, there, NAN));
}
/* A number of the caller's: a constant of the formula, or, since it changed from step to step, data (number.c). What is
 * computed from such a number on the host (-lambda, 1 / beta) is data as it is. Shapes of formulas may depend on
 * constants alone. */
typedef struct ex_number {
    double v;
    ir_value *data; /* a scalar; NULL: the constant v */
} ex_number;
static inline ex_number ex_constant(double v) {
    return (ex_number){v, NULL};
}
/* Made of the caller's v alone. */
static inline ex_number ex_made(const xt_src *src, const char *what, xt_dtype t, double v, double made) {
    bool constant;
    ir_value *s = ops_made_number(src, what, t, v, made, &constant);
    return (ex_number){made, constant ? NULL : s};
}
static inline ex_number ex_given(const xt_src *src, const char *what, xt_dtype t, double v) {
    return ex_made(src, what, t, v, v);
}
/* Computed on the host from several numbers of the caller's, some of which are data: then it is too. */
static inline ex_number ex_derived(const xt_src *src, xt_dtype t, bool data, double v) {
    if (!data) return ex_constant(v);
    xt_tensor s = lazy_scalar(src, t, v);
    lazy_begin(src);
    return (ex_number){v, lazy_value(s)};
}
static inline bool ex_always(ex_number n, double v) {
    return !n.data && n.v == v;
}
static inline ir_value *ex_of(ir_builder *b, const ir_value *like, ex_number n) {
    if (!n.data || !like) return like ? ops_splat(b, like->type, n.v) : NULL;
    return ops_broadcast(b, ir_convert(b, n.data, like->type->dtype), like->type->rank, like->type->dims);
}
/* Which norm it is. Data has all of them in its program, and numbers say which is taken: with an exponent that changes
 * nothing in those of which it is none. */
typedef struct ex_norm {
    double order;
    ex_number p, inverse /* 1/p */, kind;
} ex_norm;
ex_norm ex_norm_given(const xt_src *src, const char *what, xt_dtype t, double order);
/* (sum |x|^order)^(1/order) over n axes, of which none is a copy; derivatives are 0 where it is 0 (reduce_axes.c). */
ir_value *ex_norm_of(ir_builder *b, ir_value *x, size_t n, const int64_t *axes, const ex_norm *o);
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
