/* Derivatives of chlo ops, which recorded programs may hold until pass lower_chlo takes them apart. A formula is
 * smaller than the derivative of a decomposition into polynomials, and more exact. x, y are operands, r the result, d
 * its cotangent. */
#include "grad/grad_int.h"

#include <math.h>

static ir_value *op1(ir_builder *b, ir_opcode code, ir_value *x) {
    return x ? ir_unary(b, code, x) : NULL;
}
static ir_value *op2(ir_builder *b, ir_opcode code, ir_value *x, ir_value *y) {
    return x && y ? ir_binary(b, code, x, y) : NULL;
}
static ir_value *square(ir_builder *b, ir_value *x) {
    return ir_multiply(b, x, x);
}
/* 1 - x^2 */
static ir_value *below_one(ir_builder *b, ir_value *x) {
    return grad_plus(b, ir_negate(b, square(b, x)), 1);
}

/* digamma, and at zero, where that op has NaN, the pole that PyTorch gives it. */
static ir_value *lgamma_slope(ir_builder *b, ir_value *x) {
    ir_value *zero = ir_compare(b, IR_EQ, x, ir_splat(b, x->type, 0)), *minus = ir_splat(b, x->type, -1);
    return ir_select(b, zero, ir_divide(b, minus, x), op1(b, OP_chlo_digamma, x));
}

xt_status grad_chlo_unary(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *x = c->op->in[0], *r = &((ir_op *)(uintptr_t)c->op)->out[0], *d = c->d_out[0], *g = NULL;
    if (!c->want[0]) return NULL;
    switch (c->op->code) {
    case OP_chlo_acos: g = ir_negate(b, ir_multiply(b, d, ir_rsqrt(b, below_one(b, x)))); break;
    case OP_chlo_acosh:
        g = ir_multiply(b, d, ir_multiply(b, ir_rsqrt(b, grad_plus(b, x, -1)), ir_rsqrt(b, grad_plus(b, x, 1))));
        break;
    case OP_chlo_asin: g = ir_multiply(b, d, ir_rsqrt(b, below_one(b, x))); break;
    case OP_chlo_asinh: g = ir_multiply(b, d, ir_rsqrt(b, grad_plus(b, square(b, x), 1))); break;
    case OP_chlo_atan: g = ir_divide(b, d, grad_plus(b, square(b, x), 1)); break;
    case OP_chlo_atanh: g = ir_divide(b, d, below_one(b, x)); break;
    case OP_chlo_conj: g = op1(b, OP_chlo_conj, d); break;
    case OP_chlo_cosh: g = ir_multiply(b, d, op1(b, OP_chlo_sinh, x)); break;
    case OP_chlo_sinh: g = ir_multiply(b, d, op1(b, OP_chlo_cosh, x)); break;
    case OP_chlo_tan: g = ir_multiply(b, d, grad_plus(b, square(b, r), 1)); break;
    case OP_chlo_square: g = ir_multiply(b, d, grad_times(b, x, 2)); break;
    case OP_chlo_erf:
        g = ir_multiply(b, d, grad_times(b, ir_exponential(b, ir_negate(b, square(b, x))), M_2_SQRTPI));
        break;
    case OP_chlo_erfc:
        g = ir_multiply(b, d, grad_times(b, ir_exponential(b, ir_negate(b, square(b, x))), -M_2_SQRTPI));
        break;
    case OP_chlo_erf_inv: g = ir_multiply(b, d, grad_times(b, ir_exponential(b, square(b, r)), 1 / M_2_SQRTPI)); break;
    case OP_chlo_lgamma: g = ir_multiply(b, d, lgamma_slope(b, x)); break;
    case OP_chlo_digamma: g = ir_multiply(b, d, op2(b, OP_chlo_polygamma, ir_splat(b, x->type, 1), x)); break;
    default: return grad_refuse(c, "its formula is missing");
    }
    c->d_in[0] = g;
    return NULL;
}

/* polygamma(n, x)' by x = polygamma(n + 1, x); zeta(s, q)' by q = -s zeta(s + 1, q). The first arguments are orders. */
xt_status grad_chlo_binary(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *n = c->op->in[0], *x = c->op->in[1], *next = grad_plus(b, n, 1);
    if (c->want[0] && !ir_is_constant(n, NULL))
        return grad_refuse(c, "the order is not differentiated, only the second operand is");
    if (!c->want[1]) return NULL;
    ir_value *g = op2(b, c->op->code, next, x);
    if (c->op->code == OP_chlo_zeta) g = ir_negate(b, ir_multiply(b, n, g));
    c->d_in[1] = ir_multiply(b, c->d_out[0], g);
    return NULL;
}

/* A step of one bit is as good as none. */
xt_status grad_chlo_next_after(grad_call *c) {
    if (c->want[0]) c->d_in[0] = c->d_out[0];
    return NULL;
}

/* The op with equal shapes that a broadcasting one stands for. */
static const ir_opcode plain[OP_COUNT] = {
    [OP_chlo_broadcast_add] = OP_add,           [OP_chlo_broadcast_atan2] = OP_atan2,
    [OP_chlo_broadcast_complex] = OP_complex,   [OP_chlo_broadcast_divide] = OP_divide,
    [OP_chlo_broadcast_maximum] = OP_maximum,   [OP_chlo_broadcast_minimum] = OP_minimum,
    [OP_chlo_broadcast_multiply] = OP_multiply, [OP_chlo_broadcast_polygamma] = OP_chlo_polygamma,
    [OP_chlo_broadcast_power] = OP_power,       [OP_chlo_broadcast_remainder] = OP_remainder,
    [OP_chlo_broadcast_select] = OP_select,     [OP_chlo_broadcast_subtract] = OP_subtract,
    [OP_chlo_broadcast_zeta] = OP_chlo_zeta,    [OP_chlo_broadcast_next_after] = OP_chlo_next_after,
};

/* x in the result's shape: dims aligned at the end, or placed by broadcast_dimensions for the operand of lower rank. */
static ir_value *spread(grad_call *c, ir_value *x) {
    const ir_type *like = c->op->out[0].type, *to = ir_with_dtype(like, x->type->dtype);
    int64_t dims[IR_MAX_RANK];
    size_t n;
    const int64_t *axes = ir_get_ints(c->op, IR_A_broadcast_dimensions, &n);
    if (x->type == to) return x;
    for (uint32_t i = 0; i < x->type->rank; i++)
        dims[i] = axes && n == x->type->rank ? axes[i] : (int64_t)(like->rank - x->type->rank + i);
    return ir_broadcast_in_dim(c->b, x, to, x->type->rank, dims);
}

xt_status grad_chlo_broadcast(grad_call *c) {
    ir_value *in[3], *y;
    const ir_op *stop = grad_last_op(c->b);
    if (c->op->out[0].type->count < 0) return grad_refuse(c, "shapes are known only when running");
    for (size_t i = 0; i < c->op->n_in; i++) in[i] = spread(c, c->op->in[i]);
    ir_op *op = ir_build(c->b, plain[c->op->code], c->op->n_in, in, 0, NULL, 0, NULL, 0, NULL);
    y = op ? &op->out[0] : NULL;
    return grad_through(c, stop, &y);
}

/* The k largest go back to where they were. */
xt_status grad_chlo_top_k(grad_call *c) {
    const ir_op *op = c->op;
    const ir_type *t = op->in[0]->type;
    int64_t *dims;
    if (!c->want[0] || !c->d_out[0]) return NULL;
    XT_TRY(grad_ints(c, t->rank, &dims));
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = i;
    size_t before = t->rank - 1;
    ir_scatter_dims s = {.n_inserted = 1,
                         .inserted = dims + before,
                         .n_input_batching = before,
                         .input_batching = dims,
                         .n_indices_batching = before,
                         .indices_batching = dims,
                         .n_scatter_to_operand = 1,
                         .scatter_to_operand = dims + before,
                         .index_vector_dim = t->rank};
    c->d_in[0] =
        ir_scatter(c->b, OP_add, grad_zeros(c->b, t), &((ir_op *)(uintptr_t)op)->out[1], c->d_out[0], &s, false, true);
    return NULL;
}
