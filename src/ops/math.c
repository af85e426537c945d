/* Elementwise functions of elementwise.h: transcendental ones, tests of floats, and arithmetic of two operands.
 *
 * Special functions are recorded as chlo ops, which have derivatives of their own and are taken apart when the program
 * is made. Where a formula has a branch that overflows, its operand is made harmless there first, so that the
 * derivative is right on both sides. */
#include <math.h>

#include <xtrain/names.h>

#include "ops/expr.h"

/* --- one operand --- */
static ir_value *make_log2(ir_builder *b, ir_value *x) {
    return ex_over(b, ir_log(b, x), M_LN2);
}
static ir_value *make_log10(ir_builder *b, ir_value *x) {
    return ex_over(b, ir_log(b, x), M_LN10);
}
static ir_value *make_exp2(ir_builder *b, ir_value *x) {
    return ir_power(b, ex_num(b, x, 2), x);
}
static ir_value *make_reciprocal(ir_builder *b, ir_value *x) {
    return ir_divide(b, ex_num(b, x, 1), x);
}
static ir_value *make_logit(ir_builder *b, ir_value *x) {
    ir_value *inside = ir_and(b, ex_is(b, x, IR_GE, 0), ex_is(b, x, IR_LE, 1));
    ir_value *logit = ir_subtract(b, ir_log(b, x), ir_log_plus_one(b, ir_negate(b, x)));
    return ex_pick(b, inside, logit, ex_unknown(b, ir_not(b, inside), x));
}
/* PyTorch's pole at zero has a sign, that of -1/x; the op has NaN there. */
static ir_value *make_digamma(ir_builder *b, ir_value *x) {
    ir_value *zero = ex_is(b, x, IR_EQ, 0);
    ir_value *pole = ir_divide(b, ex_num(b, x, -1), ex_keep(b, zero, x, 1));
    return ex_pick(b, zero, pole, ir_chlo_digamma(b, ex_keep(b, ir_not(b, zero), x, 1)));
}
static ir_value *make_deg2rad(ir_builder *b, ir_value *x) {
    return ex_times(b, x, M_PI / 180);
}
static ir_value *make_rad2deg(ir_builder *b, ir_value *x) {
    return ex_times(b, x, 180 / M_PI);
}

/* sin(pi x) / (pi x), 1 at zero. */
static ir_value *make_sinc(ir_builder *b, ir_value *x) {
    ir_value *zero = ex_is(b, x, IR_EQ, 0), *y = ex_times(b, ex_pick(b, zero, ex_num(b, x, 1), x), M_PI);
    return ex_keep(b, ir_not(b, zero), ir_divide(b, ir_sine(b, y), y), 1);
}

/* Towards zero. An integer is one already. */
static ir_value *make_trunc(ir_builder *b, ir_value *x) {
    if (!ir_dtype_is_float(x->type->dtype)) return ops_copy(b, x);
    return ex_pick(b, ex_is(b, x, IR_LT, 0), ir_ceil(b, x), ir_floor(b, x));
}
static ir_value *make_frac(ir_builder *b, ir_value *x) {
    return ir_subtract(b, x, make_trunc(b, x));
}

static ir_value *truth(ir_builder *b, const ir_value *like, bool v) {
    return ir_splat(b, ir_with_dtype(like->type, XT_BOOL), v);
}
static ir_value *make_isnan(ir_builder *b, ir_value *x) {
    return ir_compare(b, IR_NE, x, x);
}
static ir_value *equals_infinity(ir_builder *b, ir_value *x, double infinity) {
    return ir_dtype_is_float(x->type->dtype) ? ex_is(b, x, IR_EQ, infinity) : truth(b, x, false);
}
static ir_value *make_isinf(ir_builder *b, ir_value *x) {
    if (!ir_dtype_is_float(x->type->dtype)) return truth(b, x, false);
    return ex_is(b, ir_abs(b, x), IR_EQ, INFINITY);
}
static ir_value *make_isposinf(ir_builder *b, ir_value *x) {
    return equals_infinity(b, x, INFINITY);
}
static ir_value *make_isneginf(ir_builder *b, ir_value *x) {
    return equals_infinity(b, x, -INFINITY);
}

/* The sign bit, which -0 and NaN have too. */
static ir_value *make_signbit(ir_builder *b, ir_value *x) {
    xt_dtype t = x->type->dtype;
    if (!ir_dtype_is_float(t)) return ir_dtype_is_signed(t) ? ex_is(b, x, IR_LT, 0) : truth(b, x, false);
    size_t size = xt_dtype_size(t);
    const ir_type *bits = ir_with_dtype(x->type, size == 1 ? XT_I8 : size == 2 ? XT_I16 : size == 4 ? XT_I32 : XT_I64);
    ir_op *op = ir_build(b, OP_bitcast_convert, 1, &x, 0, NULL, 0, NULL, 1, &bits);
    return op ? ex_is(b, &op->out[0], IR_LT, 0) : NULL;
}

/* x = mantissa 2^exponent, 0.5 <= |mantissa| < 1, by the bits of an f32 or f64, among which arithmetic that takes
 * numbers below the least normal one for 0 has no part; 0, infinities and NaN are their own mantissas. The mantissa's
 * derivative is 2^-exponent, in two halves, since the whole may have no normal number; a difference that is zero
 * carries it. */
typedef struct float_bits {
    xt_dtype as;
    int width, mantissa, bias;
} float_bits;
static ir_value *bits_as(ir_builder *b, ir_value *x, xt_dtype t) {
    const ir_type *type = x ? ir_with_dtype(x->type, t) : NULL;
    ir_op *op = type ? ir_build(b, OP_bitcast_convert, 1, &x, 0, NULL, 0, NULL, 1, &type) : NULL;
    return op ? &op->out[0] : NULL;
}
static ir_value *power_of_two(ir_builder *b, ir_value *k, const float_bits *f, xt_dtype t) {
    ir_value *biased = ex_plus(b, k, f->bias);
    return bits_as(b, ir_shift_left(b, biased, ex_num(b, k, f->mantissa)), t);
}
typedef struct parts_of {
    ir_value *mantissa, *exponent, *plain; /* plain: neither 0 nor infinite nor NaN */
} parts_of;
static parts_of take_apart(ir_builder *b, ir_value *x, const float_bits *f) {
    ir_value *raw = bits_as(b, x, f->as);
    double fraction = ldexp(1, f->mantissa), most = 2 * f->bias + 1;
    ir_value *rest = ir_and(b, raw, ex_num(b, raw, fraction - 1));
    ir_value *e = ir_and(b, ir_shift_right_logical(b, raw, ex_num(b, raw, f->mantissa)), ex_num(b, raw, most));
    ir_value *low = ex_is(b, e, IR_EQ, 0), *some = ex_is(b, rest, IR_NE, 0);
    ir_value *plain = ir_and(b, ex_is(b, e, IR_NE, most), ir_or(b, ir_not(b, low), some));
    ir_value *up = ex_plus(b, ir_count_leading_zeros(b, rest), f->mantissa + 1 - f->width);
    ir_value *tiny = ir_and(b, low, some), *none = ex_num(b, raw, 0);
    up = ex_pick(b, tiny, up, none);
    rest = ir_and(b, ir_shift_left(b, rest, up), ex_num(b, raw, fraction - 1));
    e = ex_plus(b, ex_pick(b, tiny, ir_subtract(b, ex_num(b, raw, 1), up), e), 1 - f->bias);
    ir_value *sign = ir_and(b, raw, ex_num(b, raw, -ldexp(1, f->width - 1)));
    ir_value *whole = ir_or(b, ir_or(b, sign, rest), ex_num(b, raw, (f->bias - 1) * fraction));
    return (parts_of){bits_as(b, whole, x->type->dtype), ex_pick(b, plain, e, none), plain};
}
void xt_frexp_at(const xt_src *src, xt_tensor x, xt_tensor *out_mantissa, xt_tensor *out_exponent) {
    static const char *const what = "xt_frexp";
    static const float_bits single = {XT_I32, 32, 23, 127}, twice = {XT_I64, 64, 52, 1023};
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_dtype t = v ? v->type->dtype : XT_F32;
    if (v && !ir_dtype_is_float(t)) {
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s: floats are expected (xt_cast)", what, xt_dtype_name(t));
        v = NULL;
    }
    const float_bits *f = t == XT_F64 ? &twice : &single;
    ir_value *wide = v ? ops_widen(b, v) : NULL, *m = NULL;
    parts_of p = {0};
    if (wide) p = take_apart(b, wide, f);
    if (p.mantissa && p.exponent) {
        ir_value *half = ir_shift_right_arithmetic(b, p.exponent, ex_num(b, p.exponent, 1));
        ir_value *halves[2] = {half, ir_subtract(b, p.exponent, half)}, *scaled = ex_keep(b, p.plain, wide, 0);
        for (int i = 0; i < 2; i++)
            scaled = ir_multiply(b, scaled, power_of_two(b, ir_negate(b, halves[i]), f, wide->type->dtype));
        m = ir_add(b, p.mantissa, ir_subtract(b, scaled, ex_detach(b, scaled)));
        m = ex_pick(b, p.plain, m, wide);
    }
    xt_tensor mantissa = lazy_wrap(m ? ops_narrow(b, m, t) : NULL, what);
    xt_tensor power = lazy_wrap(p.exponent ? ir_convert(b, p.exponent, XT_I32) : NULL, what);
    if (out_mantissa) *out_mantissa = mantissa;
    if (out_exponent) *out_exponent = power;
}

static double largest(xt_dtype t) {
    switch (t) {
    case XT_F64: return 0x1.fffffffffffffp1023;
    case XT_BF16: return 0x1.fep127;
    case XT_F16: return 65504;
    default: return 0x1.fffffep127;
    }
}
/* n: in the place of NaN, of infinity, of minus infinity. */
static ir_value *replace_special(ir_builder *b, ir_value *x, const ex_number n[3]) {
    if (!ir_dtype_is_float(x->type->dtype)) return ops_copy(b, x);
    ir_value *r = ex_pick(b, ir_compare(b, IR_EQ, x, x), x, ex_of(b, x, n[0]));
    r = ex_pick(b, ex_is(b, x, IR_NE, INFINITY), r, ex_of(b, x, n[1]));
    return ex_pick(b, ex_is(b, x, IR_NE, -INFINITY), r, ex_of(b, x, n[2]));
}
static ir_value *make_nan_to_num(ir_builder *b, ir_value *x) {
    double most = largest(x->type->dtype);
    return replace_special(b, x, (ex_number[]){ex_constant(0), ex_constant(most), ex_constant(-most)});
}
xt_tensor xt_nan_to_num_with_at(const xt_src *src, xt_tensor x, double nan, double posinf, double neginf) {
    const char *what = "xt_nan_to_num_with";
    lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, what);
    xt_dtype t = v->type->dtype;
    const double values[3] = {nan, posinf, neginf};
    ex_number n[3];
    for (int i = 0; i < 3; i++) n[i] = ir_dtype_is_float(t) ? ex_given(src, what, t, values[i]) : ex_constant(0);
    return lazy_wrap(replace_special(lazy_begin(src), v, n), what);
}

OPS_UNARY(xt_acos, xt_acos_at, FLOAT, ir_chlo_acos)
OPS_UNARY(xt_acosh, xt_acosh_at, FLOAT, ir_chlo_acosh)
OPS_UNARY(xt_asin, xt_asin_at, FLOAT, ir_chlo_asin)
OPS_UNARY(xt_asinh, xt_asinh_at, FLOAT, ir_chlo_asinh)
OPS_UNARY(xt_atan, xt_atan_at, FLOAT, ir_chlo_atan)
OPS_UNARY(xt_atanh, xt_atanh_at, FLOAT, ir_chlo_atanh)
OPS_UNARY(xt_bitwise_not, xt_bitwise_not_at, BITS, ir_not)
OPS_UNARY(xt_cbrt, xt_cbrt_at, REAL, ir_cbrt)
OPS_UNARY(xt_conj, xt_conj_at, NUMBER, ir_chlo_conj)
OPS_UNARY(xt_cosh, xt_cosh_at, FLOAT, ir_chlo_cosh)
OPS_UNARY(xt_deg2rad, xt_deg2rad_at, REAL, make_deg2rad)
OPS_UNARY(xt_digamma, xt_digamma_at, REAL, make_digamma)
OPS_UNARY(xt_erf, xt_erf_at, REAL, ir_chlo_erf)
OPS_UNARY(xt_erfc, xt_erfc_at, REAL, ir_chlo_erfc)
OPS_UNARY(xt_erfinv, xt_erfinv_at, REAL, ir_chlo_erf_inv)
OPS_UNARY(xt_exp2, xt_exp2_at, WIDE, make_exp2)
OPS_UNARY(xt_frac, xt_frac_at, REAL, make_frac)
OPS_UNARY(xt_isinf, xt_isinf_at, ORDER, make_isinf)
OPS_UNARY(xt_isnan, xt_isnan_at, IS, make_isnan)
OPS_UNARY(xt_isneginf, xt_isneginf_at, ORDER, make_isneginf)
OPS_UNARY(xt_isposinf, xt_isposinf_at, ORDER, make_isposinf)
OPS_UNARY(xt_lgamma, xt_lgamma_at, REAL, ir_chlo_lgamma)
OPS_UNARY(xt_log10, xt_log10_at, WIDE, make_log10)
OPS_UNARY(xt_log2, xt_log2_at, WIDE, make_log2)
OPS_UNARY(xt_logit, xt_logit_at, REAL, make_logit)
OPS_UNARY(xt_nan_to_num, xt_nan_to_num_at, ORDER, make_nan_to_num)
OPS_UNARY(xt_rad2deg, xt_rad2deg_at, REAL, make_rad2deg)
OPS_UNARY(xt_reciprocal, xt_reciprocal_at, FLOAT, make_reciprocal)
OPS_UNARY(xt_signbit, xt_signbit_at, ORDER, make_signbit)
OPS_UNARY(xt_sinc, xt_sinc_at, REAL, make_sinc)
OPS_UNARY(xt_sinh, xt_sinh_at, FLOAT, ir_chlo_sinh)
OPS_UNARY(xt_tan, xt_tan_at, FLOAT, ir_tan)
OPS_UNARY(xt_trunc, xt_trunc_at, ORDER, make_trunc)

/* --- two operands --- */
/* The largest whole number not above the quotient. Floats by way of the exact remainder, since x / y may round up to
 * the next whole number. */
static ir_value *make_floor_divide(ir_builder *b, ir_value *x, ir_value *y) {
    xt_dtype t = x->type->dtype;
    if (ir_dtype_is_float(t)) {
        ir_value *rest = ir_remainder(b, x, y), *exact = ir_divide(b, ir_subtract(b, x, rest), y);
        ir_value *apart = ir_compare(b, IR_NE, ex_is(b, rest, IR_LT, 0), ex_is(b, y, IR_LT, 0));
        ir_value *down = ir_and(b, apart, ex_is(b, rest, IR_NE, 0));
        ir_value *whole = ir_round_nearest_even(b, ex_pick(b, down, ex_plus(b, exact, -1), exact));
        return ex_pick(b, ex_is(b, y, IR_EQ, 0), ir_divide(b, x, y), whole);
    }
    ir_value *q = ir_divide(b, x, y);
    if (!ir_dtype_is_signed(t)) return q;
    ir_value *rest = ir_remainder(b, x, y);
    ir_value *apart = ir_compare(b, IR_NE, ex_is(b, rest, IR_LT, 0), ex_is(b, y, IR_LT, 0));
    return ex_pick(b, ir_and(b, apart, ex_is(b, rest, IR_NE, 0)), ex_plus(b, q, -1), q);
}

/* Scaled by the larger operand so that the squares stay in range; the scale is no part of the derivative
 * (it cancels). */
static ir_value *make_hypot(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *scale = ir_maximum(b, ir_abs(b, x), ir_abs(b, y));
    ir_value *plain = ir_or(b, ex_is(b, scale, IR_EQ, 0), ex_is(b, scale, IR_EQ, INFINITY));
    ir_value *k = ex_detach(b, ex_pick(b, plain, ex_num(b, x, 1), scale));
    ir_value *u = ir_divide(b, x, k), *v = ir_divide(b, y, k);
    ir_value *r = ir_multiply(b, k, ir_sqrt(b, ir_add(b, ir_multiply(b, u, u), ir_multiply(b, v, v))));
    ir_value *far = ir_or(b, ex_is(b, ir_abs(b, x), IR_EQ, INFINITY), ex_is(b, ir_abs(b, y), IR_EQ, INFINITY));
    return ex_keep(b, ir_not(b, ir_and(b, far, ir_compare(b, IR_NE, r, r))), r, INFINITY); /* beside a NaN, too */
}

/* m + log(1 + e^-|x-y|) with m the larger; equal infinities are their own sum. Both choices are made by one comparison:
 * where x = y, each operand's derivative is then a half. */
static ir_value *log_add(ir_builder *b, ir_value *x, ir_value *y, double log_base) {
    ir_value *first = ir_compare(b, IR_GE, x, y);
    ir_value *m = ex_pick(b, first, x, y),
             *below = ir_negate(b, ex_pick(b, first, ir_subtract(b, x, y), ir_subtract(b, y, x)));
    ir_value *same = ir_and(b, ir_compare(b, IR_EQ, x, y), ir_not(b, ir_is_finite(b, x)));
    ir_value *e = ir_exponential(b, ex_times(b, ex_keep(b, ir_not(b, same), below, 0), log_base));
    ir_value *more = ex_over(b, ir_log_plus_one(b, e), log_base);
    return ex_pick(b, same, ir_maximum(b, x, y), ir_add(b, m, more));
}
static ir_value *make_logaddexp(ir_builder *b, ir_value *x, ir_value *y) {
    return log_add(b, x, y, 1);
}
static ir_value *make_logaddexp2(ir_builder *b, ir_value *x, ir_value *y) {
    return log_add(b, x, y, M_LN2);
}

/* x log(y), and zero where x is zero, unless y is NaN. There the derivative by x is log(y) where that is a
 * number, else zero; by y it is x over y, which a root has at the pole too, whose derivative is infinite there. */
static ir_value *x_log(ir_builder *b, ir_value *x, ir_value *y, ops_unary_fn log, double pole) {
    ir_value *zero = ir_and(b, ex_is(b, x, IR_EQ, 0), ir_compare(b, IR_EQ, y, y));
    ir_value *usable = ir_and(b, ex_is(b, y, IR_GT, pole), ir_is_finite(b, y));
    ir_value *l = log(b, ex_keep(b, ir_or(b, ir_not(b, zero), usable), y, pole + 1));
    ir_value *at = ir_and(b, zero, ex_is(b, y, IR_EQ, pole));
    ir_value *root = ir_sqrt(b, ex_keep(b, at, ex_plus(b, y, -pole), 1));
    return ir_multiply(b, x, ex_pick(b, at, root, l));
}
static ir_value *make_xlogy(ir_builder *b, ir_value *x, ir_value *y) {
    return x_log(b, x, y, ir_log, 0);
}
static ir_value *make_xlog1py(ir_builder *b, ir_value *x, ir_value *y) {
    return x_log(b, x, y, ir_log_plus_one, -1);
}

static ir_value *make_copysign(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *flip = ir_compare(b, IR_NE, make_signbit(b, x), make_signbit(b, y));
    ir_value *r = ex_pick(b, flip, ir_negate(b, x), ops_copy(b, x));
    return ir_dtype_is_float(x->type->dtype) ? ex_pick(b, ex_is(b, x, IR_EQ, 0), ex_detach(b, r), r) : r;
}
static ir_value *make_heaviside(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *step = ex_keep(b, ex_is(b, x, IR_GT, 0), ex_num(b, x, 1), 0);
    return ex_pick(b, ex_is(b, x, IR_EQ, 0), y, step);
}
/* NaN loses, unlike in xt_maximum, and of equal numbers the first is taken, with the whole derivative. */
static ir_value *extreme_of_numbers(ir_builder *b, ir_cmp_dir wins, ir_value *x, ir_value *y) {
    ir_value *first = ir_compare(b, wins, x, y);
    if (ir_dtype_is_float(x->type->dtype)) first = ir_or(b, first, ir_compare(b, IR_NE, y, y));
    return ex_pick(b, first, x, y);
}
static ir_value *make_fmax(ir_builder *b, ir_value *x, ir_value *y) {
    return extreme_of_numbers(b, IR_GE, x, y);
}
static ir_value *make_fmin(ir_builder *b, ir_value *x, ir_value *y) {
    return extreme_of_numbers(b, IR_LE, x, y);
}
static ir_value *make_ldexp(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_multiply(b, x, make_exp2(b, y));
}
static ir_value *make_nextafter(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_binary(b, OP_chlo_next_after, x, y);
}
static ir_value *make_polygamma(ir_builder *b, ir_value *n, ir_value *x) {
    return ir_binary(b, OP_chlo_polygamma, n, x);
}
static ir_value *make_zeta(ir_builder *b, ir_value *x, ir_value *q) {
    return ir_binary(b, OP_chlo_zeta, x, q);
}
static ir_value *make_logical_xor(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_xor(b, ops_bool(b, x), ops_bool(b, y));
}
static ir_value *make_right_shift(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_dtype_is_signed(x->type->dtype) ? ir_shift_right_arithmetic(b, x, y) : ir_shift_right_logical(b, x, y);
}

OPS_BINARY(xt_atan2, xt_atan2_at, REAL, ir_atan2)
OPS_BINARY(xt_bitwise_and, xt_bitwise_and_at, BITS, ir_and)
OPS_BINARY(xt_bitwise_left_shift, xt_bitwise_left_shift_at, INT, ir_shift_left)
OPS_BINARY(xt_bitwise_or, xt_bitwise_or_at, BITS, ir_or)
OPS_BINARY(xt_bitwise_right_shift, xt_bitwise_right_shift_at, INT, make_right_shift)
OPS_BINARY(xt_bitwise_xor, xt_bitwise_xor_at, BITS, ir_xor)
OPS_BINARY(xt_copysign, xt_copysign_at, REAL, make_copysign)
OPS_BINARY(xt_floor_divide, xt_floor_divide_at, NUMBER, make_floor_divide)
OPS_BINARY(xt_fmax, xt_fmax_at, ORDER, make_fmax)
OPS_BINARY(xt_fmin, xt_fmin_at, ORDER, make_fmin)
OPS_BINARY(xt_fmod, xt_fmod_at, NUMBER, ir_remainder)
OPS_BINARY(xt_heaviside, xt_heaviside_at, NUMBER, make_heaviside)
OPS_BINARY(xt_hypot, xt_hypot_at, REAL, make_hypot)
OPS_BINARY(xt_ldexp, xt_ldexp_at, REAL, make_ldexp)
OPS_BINARY(xt_logaddexp, xt_logaddexp_at, REAL, make_logaddexp)
OPS_BINARY(xt_logaddexp2, xt_logaddexp2_at, REAL, make_logaddexp2)
OPS_BINARY(xt_logical_xor, xt_logical_xor_at, IS, make_logical_xor)
OPS_BINARY(xt_nextafter, xt_nextafter_at, FLOAT, make_nextafter)
OPS_BINARY(xt_polygamma, xt_polygamma_at, REAL, make_polygamma)
OPS_BINARY(xt_xlog1py, xt_xlog1py_at, REAL, make_xlog1py)
OPS_BINARY(xt_xlogy, xt_xlogy_at, REAL, make_xlogy)
OPS_BINARY(xt_zeta, xt_zeta_at, REAL, make_zeta)
