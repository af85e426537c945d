/* Derivatives of the ops that work element by element. x, y are operands, r the result, d its cotangent.
 *
 * At kinks and ties: |x|'(0) = 0; max/min against a constant of the result's own type, the bound of a formula, pass
 * nothing where x equals it (so relu'(0) = 0); between two others, numbers that are broadcast among them, a tie is
 * shared half and half; clamp passes on its bounds. These are PyTorch's choices. */
#include "grad/grad_int.h"

#include <math.h>

/* --- one operand --- */
typedef ir_value *(*unary_fn)(ir_builder *b, ir_value *x, ir_value *r, ir_value *d);

static ir_value *d_abs(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    if (!ir_dtype_is_complex(x->type->dtype)) { /* NaN has no sign, as in PyTorch */
        ir_value *sign = ir_select(b, ir_compare(b, IR_EQ, x, x), ir_sign(b, x), grad_zeros(b, x->type));
        return ir_multiply(b, d, sign);
    }
    /* |x| = sqrt(re^2 + im^2): d * (re - i im) / |x|, zero at zero. */
    ir_value *zero = ir_compare(b, IR_EQ, r, grad_zeros(b, r->type));
    ir_value *k = ir_divide(b, d, ir_select(b, zero, ir_splat(b, r->type, 1), r));
    return ir_complex(b, ir_multiply(b, k, ir_real(b, x)), ir_negate(b, ir_multiply(b, k, ir_imag(b, x))));
}

static ir_value *d_cbrt(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_divide(b, d, grad_times(b, ir_multiply(b, r, r), 3));
}

static ir_value *d_cosine(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_negate(b, ir_multiply(b, d, ir_sine(b, x)));
}

static ir_value *d_exponential(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, r);
}

static ir_value *d_exponential_minus_one(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, grad_plus(b, r, 1));
}

static ir_value *d_imag(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x, (void)r;
    return ir_complex(b, grad_zeros(b, d->type), ir_negate(b, d));
}

static ir_value *d_log(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, x);
}

static ir_value *d_log_plus_one(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_divide(b, d, grad_plus(b, x, 1));
}

static ir_value *d_logistic(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, ir_multiply(b, r, ir_subtract(b, ir_splat(b, r->type, 1), r)));
}

static ir_value *d_negate(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x, (void)r;
    return ir_negate(b, d);
}

static ir_value *d_real(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x, (void)r;
    return ir_complex(b, d, grad_zeros(b, d->type));
}

static ir_value *d_rsqrt(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    return ir_multiply(b, d, grad_times(b, ir_divide(b, r, x), -0.5));
}

static ir_value *d_sine(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, ir_cosine(b, x));
}

static ir_value *d_sqrt(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_divide(b, grad_times(b, d, 0.5), r);
}

static ir_value *d_tan(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, grad_plus(b, ir_multiply(b, r, r), 1));
}

static ir_value *d_tanh(ir_builder *b, ir_value *x, ir_value *r, ir_value *d) {
    (void)x;
    return ir_multiply(b, d, ir_subtract(b, ir_splat(b, r->type, 1), ir_multiply(b, r, r)));
}

/* d_NAME for each op whose row says GRAD(unary, ...), or GRAD(binary, ...) below. */
#define GRAD(function, formula) FORMULA_##function
#define ZERO(reason) FORMULA_none
#define NO_GRAD(reason) FORMULA_none
#define FORMULA_none(name) NULL
#define FORMULA_unary(name) d_##name
#define FORMULA_binary(name) d_##name
#define FORMULA_chlo_unary(name) NULL
#define FORMULA_chlo_binary(name) NULL
#define FORMULA_chlo_next_after(name) NULL
#define OP(name, ...)
#define UNARY_OP(name, dialect, rule, flags, derivative, ...) [OP_##name] = derivative(name),
#define BINARY_OP(name, ...)
static const unary_fn unary_rules[OP_COUNT] = {
#include "ir/ops.def"
};

xt_status grad_unary(grad_call *c) {
    const ir_op *op = c->op;
    ir_value *r = &((ir_op *)op)->out[0];
    if (c->want[0]) c->d_in[0] = unary_rules[op->code](c->b, op->in[0], r, c->d_out[0]);
    return NULL;
}

/* --- two operands --- */
/* The contribution to operand i (0 or 1); NULL is a zero derivative (or a builder that failed). */
typedef ir_value *(*binary_fn)(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d);

static ir_value *d_add(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)b, (void)i, (void)x, (void)y, (void)r;
    return d;
}

static ir_value *d_subtract(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)x, (void)y, (void)r;
    return i == 0 ? d : ir_negate(b, d);
}

static ir_value *d_multiply(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)r;
    return ir_multiply(b, d, i == 0 ? y : x);
}

static ir_value *d_divide(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)x;
    ir_value *dx = ir_divide(b, d, y);
    return i == 0 ? dx : ir_negate(b, ir_multiply(b, dx, r));
}

/* x^y. By x: d y x^(y-1), where y = 0 gives 0 even at x = 0. By y: d r log(x), where x = 0 gives 0. */
static ir_value *d_power(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    ir_value *one = ir_splat(b, x->type, 1);
    if (i == 1) {
        /* 0^y is 0 for every y above 0, and infinite below, where it falls without bound. Complex y have no order. */
        ir_value *level = ir_compare(b, IR_EQ, x, grad_zeros(b, x->type));
        if (!ir_dtype_is_complex(y->type->dtype))
            level = ir_and(b, level, ir_compare(b, IR_GE, y, grad_zeros(b, y->type)));
        ir_value *log_x = ir_log(b, ir_select(b, level, one, x));
        return ir_multiply(b, d, ir_multiply(b, r, log_x));
    }
    double k;
    if (ir_is_constant(y, &k) && !isnan(k)) {
        if (k == 0) return grad_times(b, d, 0); /* a gradient, as of a y that is data: an optimizer's decay meets it */
        if (k == 1) return d;
        if (k == 2) return ir_multiply(b, d, grad_times(b, x, 2));
        return ir_multiply(b, d, grad_times(b, ir_power(b, x, ir_splat(b, y->type, k - 1)), k));
    }
    ir_value *slope = ir_multiply(b, y, ir_power(b, x, ir_subtract(b, y, one)));
    ir_value *flat = ir_compare(b, IR_EQ, y, grad_zeros(b, y->type));
    return ir_multiply(b, d, ir_select(b, flat, grad_zeros(b, x->type), slope));
}

static bool is_bound(const ir_value *v) {
    return v->def && v->def->code == OP_constant;
}

static ir_value *pick(ir_builder *b, bool most, ir_value *self, ir_value *other, ir_value *d) {
    ir_value *zero = grad_zeros(b, d->type);
    if (is_bound(other)) return ir_select(b, ir_compare(b, most ? IR_LE : IR_GE, self, other), zero, d);
    ir_value *behind = ir_compare(b, most ? IR_LT : IR_GT, self, other), *tie = ir_compare(b, IR_EQ, self, other);
    return ir_select(b, behind, zero, ir_select(b, tie, grad_times(b, d, 0.5), d));
}

static ir_value *d_maximum(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)r;
    return i == 0 ? pick(b, true, x, y, d) : pick(b, true, y, x, d);
}

static ir_value *d_minimum(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)r;
    return i == 0 ? pick(b, false, x, y, d) : pick(b, false, y, x, d);
}

/* x - y trunc(x / y): the sign of the result is x's. */
static ir_value *d_remainder(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)r;
    if (i == 0) return d;
    ir_value *q = ir_divide(b, x, y);
    ir_value *whole = ir_multiply(b, ir_sign(b, q), ir_floor(b, ir_abs(b, q)));
    return ir_negate(b, ir_multiply(b, d, whole));
}

static ir_value *d_atan2(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)r;
    ir_value *k = ir_divide(b, d, ir_add(b, ir_multiply(b, x, x), ir_multiply(b, y, y)));
    return i == 0 ? ir_multiply(b, k, y) : ir_negate(b, ir_multiply(b, k, x));
}

static ir_value *d_complex(ir_builder *b, int i, ir_value *x, ir_value *y, ir_value *r, ir_value *d) {
    (void)x, (void)y, (void)r;
    return i == 0 ? ir_real(b, d) : ir_negate(b, ir_imag(b, d));
}

#define UNARY_OP(name, ...)
#define BINARY_OP(name, dialect, rule, flags, derivative, ...) [OP_##name] = derivative(name),
static const binary_fn binary_rules[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP

xt_status grad_binary(grad_call *c) {
    const ir_op *op = c->op;
    ir_value *r = &((ir_op *)op)->out[0];
    for (int i = 0; i < 2; i++)
        if (c->want[i]) c->d_in[i] = binary_rules[op->code](c->b, i, op->in[0], op->in[1], r, c->d_out[0]);
    return NULL;
}

/* --- the others --- */
xt_status grad_select(grad_call *c) {
    ir_value *d = c->d_out[0], *zero = grad_zeros(c->b, d->type), *pred = c->op->in[0];
    if (c->want[1]) c->d_in[1] = ir_select(c->b, pred, d, zero);
    if (c->want[2]) c->d_in[2] = ir_select(c->b, pred, zero, d);
    return NULL;
}

/* Bounds may be scalars beside a tensor: then theirs is the sum over all elements that they hold. */
xt_status grad_clamp(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *d = c->d_out[0], *zero = grad_zeros(b, d->type), *x = c->op->in[1];
    ir_value *lo = c->op->in[0], *hi = c->op->in[2];
    ir_value *full_lo = lo->type == x->type ? lo : ir_broadcast_scalar(b, lo, x->type);
    ir_value *full_hi = hi->type == x->type ? hi : ir_broadcast_scalar(b, hi, x->type);
    ir_value *below = ir_compare(b, IR_LT, x, full_lo), *above = ir_compare(b, IR_GT, x, full_hi);
    /* what is NaN lies between no bounds */
    ir_value *inside = ir_and(b, ir_compare(b, IR_GE, x, full_lo), ir_compare(b, IR_LE, x, full_hi));
    if (c->want[1]) c->d_in[1] = ir_select(b, inside, d, zero);
    /* clamp is min(max(x, lo), hi): hi wins where the bounds cross, and there lo is not seen at all. Nor is it where
     * they meet, as in PyTorch and JAX. */
    ir_value *crossed = ir_compare(b, IR_GT, full_lo, full_hi);
    if (c->want[0]) {
        ir_value *apart = ir_compare(b, IR_LT, full_lo, full_hi);
        ir_value *held = ir_select(b, ir_and(b, below, apart), d, zero);
        c->d_in[0] = lo->type == x->type ? held : grad_sum_all(b, held);
    }
    if (c->want[2]) {
        ir_value *held = ir_select(b, ir_or(b, above, crossed), d, zero);
        c->d_in[2] = hi->type == x->type ? held : grad_sum_all(b, held);
    }
    return NULL;
}

xt_status grad_convert(grad_call *c) {
    xt_dtype from = c->op->in[0]->type->dtype, to = c->op->out[0].type->dtype;
    if (!c->want[0]) return NULL;
    ir_value *d = c->d_out[0];
    if (!ir_dtype_is_float(to) && !ir_dtype_is_complex(to)) return NULL; /* through integers nothing flows */
    if (ir_dtype_is_complex(to) && !ir_dtype_is_complex(from)) d = ir_real(c->b, d);
    if (ir_dtype_is_complex(from) && !ir_dtype_is_complex(to)) d = ir_complex(c->b, d, grad_zeros(c->b, d->type));
    c->d_in[0] = d ? ir_convert(c->b, d, from) : NULL;
    return NULL;
}

/* The cotangent is rounded the same way, as a tensor of that precision would be. */
xt_status grad_reduce_precision(grad_call *c) {
    if (!c->want[0]) return NULL;
    ir_op *op = grad_clone(c, 1, c->d_out, 0, NULL);
    c->d_in[0] = op ? &op->out[0] : NULL;
    return NULL;
}

xt_status grad_barrier(grad_call *c) {
    for (size_t i = 0; i < c->op->n_in; i++) c->d_in[i] = c->want[i] ? c->d_out[i] : NULL;
    return NULL;
}
