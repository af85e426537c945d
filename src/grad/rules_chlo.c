/* Derivatives of the chlo ops that the front end records: closed formulas, where those of their decompositions would be less exact and much longer.
 * x is the operand, r the result, d its cotangent. */
#include <math.h>

#include "grad/grad_int.h"

typedef ir_value *(*chlo_fn)(ir_builder *b, ir_value *x, ir_value *r, ir_value *d);

static ir_value *square(ir_builder *b, ir_value *x) {
    return ir_multiply(b, x, x);
}
/* sqrt(sign x^2 + add) */
static ir_value *root_of(ir_builder *b, ir_value *x, double sign, double add) {
    ir_value *s = square(b, x);
    return ir_sqrt(b, grad_plus(b, sign < 0 ? ir_negate(b, s) : s, add));
}

static ir_value *d_acos(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_negate(b, ir_divide(b, d, root_of(b, x, -1, 1)));
}
/* The product of two roots stays right for complex numbers, where sqrt(x^2 - 1) would change branches. */
static ir_value *d_acosh(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, ir_multiply(b, ir_sqrt(b, grad_plus(b, x, -1)), ir_sqrt(b, grad_plus(b, x, 1))));
}
static ir_value *d_asin(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, root_of(b, x, -1, 1));
}
static ir_value *d_asinh(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, root_of(b, x, 1, 1));
}
static ir_value *d_atan(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, grad_plus(b, square(b, x), 1));
}
static ir_value *d_atanh(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, grad_plus(b, ir_negate(b, square(b, x)), 1));
}
static ir_value *d_conj(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x, (void)r;
    return ir_unary(b, OP_chlo_conj, d);
}
static ir_value *d_cosh(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, ir_unary(b, OP_chlo_sinh, x));
}
static ir_value *d_sinh(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, ir_unary(b, OP_chlo_cosh, x));
}
static ir_value *d_erf(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, grad_times(b, ir_exponential(b, ir_negate(b, square(b, x))), M_2_SQRTPI));
}
static ir_value *d_erfc(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    return ir_negate(b, d_erf(b, x, r, d));
}
static ir_value *d_erf_inv(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, grad_times(b, ir_exponential(b, square(b, r)), 1 / M_2_SQRTPI));
}
static ir_value *d_lgamma(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, ir_unary(b, OP_chlo_digamma, x));
}
static ir_value *d_digamma(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, ir_binary(b, OP_chlo_polygamma, ir_splat(b, x->type, 1), x));
}
static ir_value *d_square(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, grad_times(b, x, 2));
}
static ir_value *d_tan(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, grad_plus(b, square(b, r), 1));
}

static const chlo_fn rules[OP_COUNT] = {
    [OP_chlo_acos] = d_acos, [OP_chlo_acosh] = d_acosh,     [OP_chlo_asin] = d_asin,       [OP_chlo_asinh] = d_asinh,
    [OP_chlo_atan] = d_atan, [OP_chlo_atanh] = d_atanh,     [OP_chlo_conj] = d_conj,       [OP_chlo_cosh] = d_cosh,
    [OP_chlo_erf] = d_erf,   [OP_chlo_digamma] = d_digamma, [OP_chlo_erf_inv] = d_erf_inv, [OP_chlo_erfc] = d_erfc,
    [OP_chlo_sinh] = d_sinh, [OP_chlo_lgamma] = d_lgamma,   [OP_chlo_square] = d_square,   [OP_chlo_tan] = d_tan,
};

xt_status grad_chlo_unary(grad_call *c) {
    const ir_op *op = c->op;
    ir_value *r = &((ir_op *)op)->out[0];
    if (c->want[0]) c->d_in[0] = rules[op->code](c->b, op->in[0], r, c->d_out[0]);
    return NULL;
}

xt_status grad_chlo_polygamma(grad_call *c) {
    ir_value *n = c->op->in[0], *x = c->op->in[1];
    if (c->want[1]) c->d_in[1] = ir_multiply(c->b, c->d_out[0], ir_binary(c->b, OP_chlo_polygamma, grad_plus(c->b, n, 1), x));
    return NULL;
}

xt_status grad_chlo_next_after(grad_call *c) {
    if (c->want[0]) c->d_in[0] = c->d_out[0];
    return NULL;
}
