/* The public elementwise ops: one builder function and one row each, from which the functions are made. */
#include <math.h>

#include "ops/number.h"

/* --- one operand --- */
static ir_value *make_square(ir_builder *b, ir_value *x) {
    return ir_multiply(b, x, x);
}
static ir_value *make_relu(ir_builder *b, ir_value *x) {
    return ir_maximum(b, x, ir_splat(b, x->type, 0));
}
static ir_value *make_silu(ir_builder *b, ir_value *x) {
    return ir_multiply(b, x, ir_logistic(b, x));
}
static ir_value *make_logical_not(ir_builder *b, ir_value *x) {
    return ir_not(b, ops_bool(b, x));
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): Hendrycks and Gimpel's approximation, as in GPT-2. */
static ir_value *make_gelu(ir_builder *b, ir_value *x) {
    const ir_type *t = x->type;
    ir_value *cube = ir_multiply(b, ir_multiply(b, x, x), x);
    ir_value *inner =
        ir_multiply(b, ir_add(b, x, ir_multiply(b, cube, ir_splat(b, t, 0.044715))), ir_splat(b, t, sqrt(2 / M_PI)));
    ir_value *half = ir_multiply(b, x, ir_splat(b, t, 0.5));
    return ir_multiply(b, half, ir_add(b, ir_tanh(b, inner), ir_splat(b, t, 1)));
}

/* Rounding leaves integers as they are. */
static ir_value *unless_int(ir_builder *b, ir_opcode code, ir_value *x) {
    return ir_dtype_is_float(x->type->dtype) ? ir_unary(b, code, x) : ops_copy(b, x);
}
static ir_value *make_ceil(ir_builder *b, ir_value *x) {
    return unless_int(b, OP_ceil, x);
}
static ir_value *make_floor(ir_builder *b, ir_value *x) {
    return unless_int(b, OP_floor, x);
}
static ir_value *make_round(ir_builder *b, ir_value *x) {
    return unless_int(b, OP_round_nearest_even, x);
}

static bool is_unsigned(xt_dtype t) {
    return ir_dtype_is_int(t) && !ir_dtype_is_signed(t);
}
static ir_value *make_abs(ir_builder *b, ir_value *x) {
    return is_unsigned(x->type->dtype) ? ops_copy(b, x) : ir_abs(b, x);
}
/* The sign of NaN is 0, as PyTorch has it; StableHLO's is NaN. */
static ir_value *make_sign(ir_builder *b, ir_value *x) {
    if (is_unsigned(x->type->dtype)) return ir_minimum(b, x, ir_splat(b, x->type, 1));
    ir_value *s = ir_sign(b, x);
    return ir_dtype_is_float(x->type->dtype) ? ir_select(b, ir_compare(b, IR_EQ, x, x), s, ir_splat(b, x->type, 0)) : s;
}

static ir_value *make_isfinite(ir_builder *b, ir_value *x) {
    return ir_dtype_is_float(x->type->dtype) ? ir_is_finite(b, x) : ir_splat(b, ir_with_dtype(x->type, XT_BOOL), 1);
}

/* The same value under a new name, through which no gradient flows. */
static ir_value *make_detach(ir_builder *b, ir_value *x) {
    ir_value *v = ops_copy(b, x);
    lazy_no_grad_value(v);
    return v;
}

/* What OPS_AS_REAL, OPS_AS_ORDER and OPS_AS_BITS refuse. */
static bool ops_accepts(const xt_src *src, const char *what, const char *operand, ops_operand kind, xt_dtype t,
                        xt_tensor *out) {
    const char *need = NULL;
    if ((kind == OPS_AS_REAL || kind == OPS_AS_ORDER) && ir_dtype_is_complex(t)) need = "real numbers are needed";
    if (kind == OPS_AS_BITS && (ir_dtype_is_float(t) || ir_dtype_is_complex(t)))
        need = "integers or truth values are needed";
    if (kind == OPS_AS_INT && !ir_dtype_is_int(t)) need = "integers are needed";
    if (!need) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s is %s, %s", what, operand, xt_dtype_name(t), need);
    return false;
}

xt_tensor ops_unary(const xt_src *src, const char *what, ops_operand kind, ops_unary_fn make, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if (kind == OPS_AS_NUMBER && v->type->dtype == XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is bool, numbers are needed; xt_cast it first", what);
    if (!ops_accepts(src, what, "x", kind, v->type->dtype, &failed)) return failed;
    if (kind == OPS_AS_FLOAT || kind == OPS_AS_WIDE || kind == OPS_AS_REAL) v = ops_float(b, v);
    xt_dtype t = v ? v->type->dtype : XT_DTYPE_NONE;
    if (kind == OPS_AS_WIDE || kind == OPS_AS_REAL) v = ops_widen(b, v);
    return lazy_wrap(v ? ops_narrow(b, make(b, v), t) : NULL, what);
}

OPS_UNARY(xt_abs, xt_abs_at, NUMBER, make_abs)
OPS_UNARY(xt_ceil, xt_ceil_at, NUMBER, make_ceil)
OPS_UNARY(xt_cos, xt_cos_at, FLOAT, ir_cosine)
OPS_UNARY(xt_detach, xt_detach_at, IS, make_detach)
OPS_UNARY(xt_exp, xt_exp_at, FLOAT, ir_exponential)
OPS_UNARY(xt_expm1, xt_expm1_at, FLOAT, ir_exponential_minus_one)
OPS_UNARY(xt_floor, xt_floor_at, NUMBER, make_floor)
OPS_UNARY(xt_gelu, xt_gelu_at, WIDE, make_gelu)
OPS_UNARY(xt_isfinite, xt_isfinite_at, IS, make_isfinite)
OPS_UNARY(xt_log1p, xt_log1p_at, FLOAT, ir_log_plus_one)
OPS_UNARY(xt_log_e, xt_log_e_at, FLOAT, ir_log)
OPS_UNARY(xt_logical_not, xt_logical_not_at, IS, make_logical_not)
OPS_UNARY(xt_neg, xt_neg_at, NUMBER, ir_negate)
OPS_UNARY(xt_relu, xt_relu_at, NUMBER, make_relu)
OPS_UNARY(xt_round, xt_round_at, NUMBER, make_round)
OPS_UNARY(xt_rsqrt, xt_rsqrt_at, FLOAT, ir_rsqrt)
OPS_UNARY(xt_sigmoid, xt_sigmoid_at, FLOAT, ir_logistic)
OPS_UNARY(xt_sign, xt_sign_at, NUMBER, make_sign)
OPS_UNARY(xt_silu, xt_silu_at, WIDE, make_silu)
OPS_UNARY(xt_sin, xt_sin_at, FLOAT, ir_sine)
OPS_UNARY(xt_sqrt, xt_sqrt_at, FLOAT, ir_sqrt)
OPS_UNARY(xt_square, xt_square_at, NUMBER, make_square)
OPS_UNARY(xt_tanh, xt_tanh_at, FLOAT, ir_tanh)

/* --- two operands --- */
/* Integers divide to f32, as "/" does in Python. */
static ir_value *make_div(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_divide(b, ops_float(b, x), ops_float(b, y));
}

/* The remainder with the divisor's sign, as "%" in Python; StableHLO's has the dividend's. */
static ir_value *make_remainder(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *r = ir_remainder(b, x, y);
    if (!r || is_unsigned(x->type->dtype)) return r;
    ir_value *zero = ir_splat(b, x->type, 0);
    ir_value *opposite = ir_compare(b, IR_NE, ir_compare(b, IR_LT, r, zero), ir_compare(b, IR_LT, y, zero));
    return ir_select(b, ir_and(b, opposite, ir_compare(b, IR_NE, r, zero)), ir_add(b, r, y), r);
}

static ir_value *make_eq(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_compare(b, IR_EQ, x, y);
}
static ir_value *make_ne(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_compare(b, IR_NE, x, y);
}
static ir_value *make_lt(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_compare(b, IR_LT, x, y);
}
static ir_value *make_le(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_compare(b, IR_LE, x, y);
}
static ir_value *make_gt(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_compare(b, IR_GT, x, y);
}
static ir_value *make_ge(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_compare(b, IR_GE, x, y);
}
static ir_value *make_logical_and(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_and(b, ops_bool(b, x), ops_bool(b, y));
}
static ir_value *make_logical_or(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_or(b, ops_bool(b, x), ops_bool(b, y));
}

/* Beside a tensor or a number of the caller's a tie is shared, also while it is a constant; a constant that is an
 * operand itself is a bound of a formula to the derivative (grad/rules_elementwise.c). */
static ir_value *no_bound(ir_builder *b, ir_value *v) {
    return v && v->def && v->def->code == OP_constant ? ops_copy(b, v) : v;
}
static ir_value *make_maximum(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_maximum(b, no_bound(b, x), no_bound(b, y));
}
static ir_value *make_minimum(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_minimum(b, no_bound(b, x), no_bound(b, y));
}

xt_tensor ops_binary(const xt_src *src, const char *what, ops_operand kind, ops_binary_fn make, xt_tensor x,
                     xt_tensor y) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    xt_tensor failed;
    if (!ops_meet(src, what, b, XT_DTYPE_NONE, &vx, &vy, &failed)) return failed;
    if (kind == OPS_AS_NUMBER && vx && vx->type->dtype == XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x and y are bool, numbers are needed; xt_cast one of them first", what);
    if (vx && !ops_accepts(src, what, "the common type of x and y", kind, vx->type->dtype, &failed)) return failed;
    if (kind == OPS_AS_FLOAT || kind == OPS_AS_WIDE || kind == OPS_AS_REAL) {
        vx = ops_float(b, vx);
        vy = ops_float(b, vy);
    }
    xt_dtype t = vx ? vx->type->dtype : XT_DTYPE_NONE;
    if (kind == OPS_AS_WIDE || kind == OPS_AS_REAL) {
        vx = ops_widen(b, vx);
        vy = ops_widen(b, vy);
    }
    return lazy_wrap(vx && vy ? ops_narrow(b, make(b, vx, vy), t) : NULL, what);
}

OPS_BINARY(xt_add, xt_add_at, IS, ir_add)
OPS_BINARY(xt_div, xt_div_at, IS, make_div)
OPS_BINARY(xt_eq, xt_eq_at, IS, make_eq)
OPS_BINARY(xt_ge, xt_ge_at, IS, make_ge)
OPS_BINARY(xt_gt, xt_gt_at, IS, make_gt)
OPS_BINARY(xt_le, xt_le_at, IS, make_le)
OPS_BINARY(xt_logical_and, xt_logical_and_at, IS, make_logical_and)
OPS_BINARY(xt_logical_or, xt_logical_or_at, IS, make_logical_or)
OPS_BINARY(xt_lt, xt_lt_at, IS, make_lt)
OPS_BINARY(xt_maximum, xt_maximum_at, IS, make_maximum)
OPS_BINARY(xt_minimum, xt_minimum_at, IS, make_minimum)
OPS_BINARY(xt_mul, xt_mul_at, IS, ir_multiply)
OPS_BINARY(xt_ne, xt_ne_at, IS, make_ne)
OPS_BINARY(xt_pow, xt_pow_at, NUMBER, ir_power)
OPS_BINARY(xt_remainder, xt_remainder_at, NUMBER, make_remainder)

/* Named xt_minus by users: xt_sub is a child module. */
xt_tensor xt_sub__at(const xt_src *src, xt_tensor x, xt_tensor y) {
    return ops_binary(src, "xt_minus", OPS_AS_NUMBER, ir_subtract, x, y);
}
OPS_PLAIN_BINARY(xt_sub_, xt_sub__at)

/* --- a tensor and a number --- */
static ir_value *make_rsub(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_subtract(b, y, x);
}

static xt_tensor with_number(const xt_src *src, const char *what,
                             ir_value *(*make)(ir_builder *, ir_value *, ir_value *), xt_tensor x, double v,
                             xt_dtype dtype) {
    /* Beside a narrow float a factor keeps its own precision and a summand takes the tensor's, as in PyTorch. */
    bool constant, summand = make == ir_add || make == make_rsub,
                   narrow = ir_dtype_is_float(dtype) && xt_dtype_size(dtype) < 4 && !summand;
    ir_value *number = ops_number(src, what, narrow ? XT_F32 : dtype, v, &constant);
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x);
    if (!vx || !number) return lazy_wrap(NULL, what);
    vx = ir_convert(b, vx, narrow ? XT_F32 : dtype);
    if (!vx) return lazy_wrap(NULL, what);
    number = constant ? ops_splat(b, vx->type, v) : ops_broadcast(b, number, vx->type->rank, vx->type->dims);
    return lazy_wrap(ops_narrow(b, make(b, vx, number), dtype), what);
}

static xt_tensor number_op(const xt_src *src, const char *what, ir_value *(*make)(ir_builder *, ir_value *, ir_value *),
                           xt_tensor x, double v) {
    const ir_type *t = lazy_type(x);
    if (!t) {
        lazy_begin(src);
        lazy_value(x);
        return lazy_wrap(NULL, what);
    }
    return with_number(src, what, make, x, v, ops_beside_number(t->dtype, v));
}

/* Powers that need no arithmetic, or a product, are spelled out: the derivatives are those of the power, to the bit, so
 * that a number that becomes data changes nothing. */
static ir_value *make_power(ir_builder *b, ir_value *x, ir_value *y) {
    double v = 0;
    const ir_literal *lit = y && y->def && y->def->code == OP_constant ? ir_get_literal(y->def) : NULL;
    if (lit && lit->splat && ir_dtype_is_float(lit->type->dtype)) v = lazy_as_double(lit->data, lit->type->dtype);
    return v == 2 ? ir_multiply(b, x, x) : v == 1 ? ops_copy(b, x) : ir_power(b, x, y);
}

xt_tensor xt_add_scalar_at(const xt_src *src, xt_tensor x, double v) {
    return number_op(src, "xt_add_scalar", ir_add, x, v);
}
xt_tensor xt_mul_scalar_at(const xt_src *src, xt_tensor x, double v) {
    return number_op(src, "xt_mul_scalar", ir_multiply, x, v);
}

xt_tensor xt_div_scalar_at(const xt_src *src, xt_tensor x, double v) {
    const ir_type *t = lazy_type(x);
    return with_number(src, "xt_div_scalar", ir_divide, x, v,
                       t && (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype)) ? t->dtype : XT_F32);
}

xt_tensor xt_rsub_scalar_at(const xt_src *src, xt_tensor x, double v) {
    const ir_type *t = lazy_type(x);
    if (t && t->dtype == XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_rsub_scalar: x is bool, numbers are needed; xt_cast it first");
    return number_op(src, "xt_rsub_scalar", make_rsub, x, v);
}

/* A power below 0 of integers is a fraction. */
xt_tensor xt_pow_scalar_at(const xt_src *src, xt_tensor x, double v) {
    const ir_type *t = lazy_type(x);
    xt_dtype dtype = t ? ops_beside_number(t->dtype, v) : XT_F32;
    xt_tensor failed;
    if (v < 0 && ir_dtype_is_int(dtype)) dtype = XT_F32;
    if (t && !ops_number_fits(src, "xt_pow_scalar", dtype, v, true, &failed)) return failed;
    return with_number(src, "xt_pow_scalar", make_power, x, v, dtype);
}

/* Of integers, and of one bound: an infinite one is none. Where they cross, hi wins, as it may once they have wrapped.
 */
static ir_value *clamp_ints(const xt_src *src, ir_value *v, double lo, double hi) {
    ir_builder *b = lazy_begin(src);
    for (int k = 0; k < 2 && v; k++) {
        if (isinf(k ? hi : lo)) continue;
        ir_value *bound = ops_number(src, "xt_clamp", v->type->dtype, k ? hi : lo, NULL);
        b = lazy_begin(src);
        bound = ops_broadcast(b, bound, v->type->rank, v->type->dims);
        v = k ? ir_minimum(b, v, bound) : ir_maximum(b, v, bound);
    }
    return v;
}

xt_tensor xt_clamp_at(const xt_src *src, xt_tensor x, double lo, double hi) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_clamp");
    xt_dtype t = v->type->dtype;
    if (ir_dtype_is_complex(t))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_clamp: x is %s, which has no order", xt_dtype_name(t));
    if (isnan(lo) || isnan(hi) || lo > hi)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_clamp: bounds %g and %g: the first must not be above the second", lo, hi);
    for (int k = 0; k < 2; k++)
        if (!isinf(k ? hi : lo)) t = ops_beside_number(t, k ? hi : lo);
    if ((!isinf(lo) && !ops_number_fits(src, "xt_clamp", t, lo, true, &failed)) ||
        (!isinf(hi) && !ops_number_fits(src, "xt_clamp", t, hi, true, &failed)))
        return failed;
    v = ir_convert(b, v, t);
    if (t == XT_BOOL || ir_dtype_is_int(t)) {
        ir_value *r = clamp_ints(src, v, lo, hi);
        return lazy_wrap(r == v ? ops_copy(lazy_begin(src), v) : r, "xt_clamp");
    }
    ir_value *low = ops_number(src, "xt_clamp", t, lo, NULL), *high = ops_number(src, "xt_clamp", t, hi, NULL);
    b = lazy_begin(src);
    return lazy_wrap(ir_clamp(b, low, v, high), "xt_clamp");
}

/* --- three operands, and casts --- */
xt_tensor xt_where_at(const xt_src *src, xt_tensor cond, xt_tensor x, xt_tensor y) {
    ir_builder *b = lazy_begin(src);
    ir_value *vc = lazy_value(cond), *vx = lazy_value(x), *vy = lazy_value(y);
    xt_tensor failed;
    if (!vc) return lazy_wrap(NULL, "xt_where");
    if (!ops_meet(src, "xt_where", b, XT_DTYPE_NONE, &vx, &vy, &failed)) return failed;
    size_t rank, bad;
    int64_t dims[XT_MAX_RANK];
    if (vx && !ops_common_dims(vc->type, vx->type, &rank, dims, &bad)) {
        ops_text sc, sx;
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_where: the condition %s does not broadcast with x and y %s",
                          ops_shape(vc->type, &sc), ops_shape(vx->type, &sx));
    }
    if (!vx || !vy) return lazy_wrap(NULL, "xt_where");
    vc = ops_broadcast(b, ops_bool(b, vc), rank, dims);
    return lazy_wrap(ir_select(b, vc, ops_broadcast(b, vx, rank, dims), ops_broadcast(b, vy, rank, dims)), "xt_where");
}

xt_tensor xt_cast_at(const xt_src *src, xt_tensor x, xt_dtype dtype) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, "xt_cast");
    if (dtype == XT_TOKEN || !xt_dtype_size(dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_cast: %d is no dtype of numbers", (int)dtype);
    if (dtype == v->type->dtype) return x;
    if (dtype == XT_BOOL) return lazy_wrap(ops_bool(b, v), "xt_cast");
    if (ir_dtype_is_complex(v->type->dtype) && !ir_dtype_is_complex(dtype)) v = ir_real(b, v);
    return lazy_wrap(v ? ir_convert(b, v, dtype) : NULL, "xt_cast");
}
