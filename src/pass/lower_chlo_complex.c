/* Inverse sine and its family of complex numbers, in the arithmetic of their parts. Source: T. Hull, T. Fairgrieve,
 * P. Tang, "Implementing the complex arcsine and arccosine functions using exception handling" (1997): with r = |z +
 * 1|, s = |z - 1| and a = (r + s) / 2, asin z = atan(x / sqrt(a^2 - x^2)) + i log(a + sqrt(a^2 - 1)) in the first
 * quadrant; a - x and a - 1 are formed without cancellation. Parts so large that squares would overflow have limits
 * of their own. */
#include <float.h>
#include <math.h>

#include "pass/lower_chlo_int.h"

static const ir_type *enter_parts(chlo *c) {
    const ir_type *whole = c->t;
    c->t = ir_with_dtype(whole, whole->dtype == XT_C64 ? XT_F32 : XT_F64);
    return whole;
}

static value bits(chlo *c, value x, xt_dtype to) {
    const ir_type *t = ir_with_dtype(c->t, to);
    ir_op *op = x ? ir_build(c->b, OP_bitcast_convert, 1, &x, 0, NULL, 0, NULL, 1, &t) : NULL;
    return op ? &op->out[0] : NULL;
}

/* magnitude >= 0 with the sign of s, that of zeros included */
static value with_sign(chlo *c, value magnitude, value s) {
    xt_dtype real = c->t->dtype, word = real == XT_F32 ? XT_U32 : XT_U64;
    value minus = bits(c, num(c, -0.0), word);
    return bits(c, ir_or(c->b, bits(c, magnitude, word), ir_and(c->b, bits(c, s, word), minus)), real);
}

static double too_large(const chlo *c) {
    return is_f64(c) ? 0x1p508 : 0x1p60;
}

/* sqrt(p^2 + q^2) of non-negative numbers without underflow */
static value hypotenuse(chlo *c, value p, value q) {
    value most = ir_maximum(c->b, p, q), least = ir_minimum(c->b, p, q), ratio = quo(c, least, most);
    value h = mul(c, most, ir_sqrt(c->b, add_num(c, mul(c, ratio, ratio), 1)));
    return pick(c, cmp_num(c, IR_EQ, most, 0), most, h);
}

typedef struct arcsine {
    value root; /* sqrt(a^2 - x^2): the real part is atan2(x, root) for asin, atan2(root, x) for acos */
    value logarithm; /* log(a + sqrt(a^2 - 1)) */
} arcsine;

/* Of the point (x, y) with x, y >= 0. */
static arcsine kernel(chlo *c, value x, value y) {
    ir_builder *b = c->b;
    value one = num(c, 1), xp = add_num(c, x, 1), xm = ir_abs(b, sub(c, x, one));
    value r = hypotenuse(c, xp, y), s = hypotenuse(c, xm, y), a = mul_num(c, add(c, r, s), 0.5);
    value inside = ir_compare(b, IR_LT, x, one), rx = add(c, r, xp), sx = add(c, s, xm), yy = mul(c, y, y);
    value a_plus_x = add(c, a, x), far_term = quo(c, yy, rx);
    /* a - x = (y^2 / rx + sx) / 2 inside the unit strip, (y^2 / rx + y^2 / sx) / 2 outside; a - 1 the
     * other way round */
    value near_root = ir_sqrt(b, mul_num(c, mul(c, a_plus_x, add(c, far_term, sx)), 0.5));
    value far_root = mul(c, y, ir_sqrt(b, mul_num(c, add(c, quo(c, a_plus_x, rx), quo(c, a_plus_x, sx)), 0.5)));
    value root = pick(c, ir_compare(b, IR_LE, x, one), near_root, far_root);
    value a_plus_1 = add_num(c, a, 1), inverses = mul_num(c, add(c, quo(c, one, rx), quo(c, one, sx)), 0.5);
    value m_in = mul(c, yy, inverses), root_in = mul(c, y, ir_sqrt(b, mul(c, inverses, a_plus_1)));
    value m_out = mul_num(c, add(c, far_term, sx), 0.5), root_out = ir_sqrt(b, mul(c, m_out, a_plus_1));
    value logarithm = ir_log_plus_one(b, pick(c, inside, add(c, m_in, root_in), add(c, m_out, root_out)));
    /* far out asin z is about atan2(x, y) + i log(2 |z|) */
    value most = ir_maximum(b, x, y), least = ir_minimum(b, x, y), ratio = quo(c, least, most);
    ratio = pick(c, cmp_num(c, IR_EQ, most, INFINITY), num(c, 0), ratio);
    value huge = cmp_num(c, IR_GT, most, too_large(c));
    value log_huge =
        add(c, add_num(c, ir_log(b, most), M_LN2), mul_num(c, ir_log_plus_one(b, mul(c, ratio, ratio)), 0.5));
    return (arcsine){pick(c, huge, y, root), pick(c, huge, log_huge, logarithm)};
}

value chlo_complex_asin(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value x = ir_real(c->b, z), y = ir_imag(c->b, z), ax = ir_abs(c->b, x);
    arcsine k = kernel(c, ax, ir_abs(c->b, y));
    value result = ir_complex(c->b, with_sign(c, ir_atan2(c->b, ax, k.root), x), with_sign(c, k.logarithm, y));
    c->t = whole;
    return result;
}

value chlo_complex_acos(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value x = ir_real(c->b, z), y = ir_imag(c->b, z);
    arcsine k = kernel(c, ir_abs(c->b, x), ir_abs(c->b, y));
    value result = ir_complex(c->b, ir_atan2(c->b, k.root, x), with_sign(c, k.logarithm, neg(c, y)));
    c->t = whole;
    return result;
}

/* -i asin(i z) */
value chlo_complex_asinh(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value x = ir_real(c->b, z), y = ir_imag(c->b, z), ay = ir_abs(c->b, y);
    arcsine k = kernel(c, ay, ir_abs(c->b, x));
    value result = ir_complex(c->b, with_sign(c, k.logarithm, x), with_sign(c, ir_atan2(c->b, ay, k.root), y));
    c->t = whole;
    return result;
}

/* i acos(z), with a real part that is not negative */
value chlo_complex_acosh(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value x = ir_real(c->b, z), y = ir_imag(c->b, z);
    arcsine k = kernel(c, ir_abs(c->b, x), ir_abs(c->b, y));
    value result = ir_complex(c->b, k.logarithm, with_sign(c, ir_atan2(c->b, k.root, x), y));
    c->t = whole;
    return result;
}

/* log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 and atan2(2 y, (1 - x)(1 + x) - y^2) / 2; far out x / |z|^2 and a
 * quarter turn */
static void arctangent(chlo *c, value x, value y, value *out_re, value *out_im) {
    ir_builder *b = c->b;
    value one = num(c, 1), ax = ir_abs(b, x), ay = ir_abs(b, y), gap = sub(c, one, ax);
    value re = mul_num(c, ir_log_plus_one(b, quo(c, mul_num(c, ax, 4), add(c, mul(c, gap, gap), mul(c, y, y)))), 0.25);
    value im = mul_num(c, ir_atan2(b, mul_num(c, y, 2), sub(c, mul(c, gap, add_num(c, ax, 1)), mul(c, y, y))), 0.5);
    value most = ir_maximum(b, ax, ay), px = quo(c, ax, most), py = quo(c, ay, most);
    value re_far = quo(c, quo(c, px, add(c, mul(c, px, px), mul(c, py, py))), most);
    re_far = pick(c, cmp_num(c, IR_EQ, most, INFINITY), num(c, 0), re_far);
    value huge = cmp_num(c, IR_GT, most, too_large(c));
    *out_re = with_sign(c, pick(c, huge, re_far, re), x);
    *out_im = pick(c, huge, with_sign(c, num(c, M_PI_2), y), im);
}

value chlo_complex_atanh(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value re, im;
    arctangent(c, ir_real(c->b, z), ir_imag(c->b, z), &re, &im);
    value result = ir_complex(c->b, re, im);
    c->t = whole;
    return result;
}

/* -i atanh(i z) */
value chlo_complex_atan(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value re, im;
    arctangent(c, neg(c, ir_imag(c->b, z)), ir_real(c->b, z), &re, &im);
    value result = ir_complex(c->b, im, neg(c, re));
    c->t = whole;
    return result;
}

/* (x - y)(x + y) subtracts no infinities that x^2 - y^2 would make of finite parts; where |x| = |y| it is zero even if
 * the sum overflows. */
value chlo_complex_square(chlo *c, value z) {
    const ir_type *whole = enter_parts(c);
    value x = ir_real(c->b, z), y = ir_imag(c->b, z), xy = mul(c, x, y);
    value same = ir_compare(c->b, IR_EQ, ir_abs(c->b, x), ir_abs(c->b, y));
    same = ir_and(c->b, same, ir_is_finite(c->b, x));
    value re = pick(c, same, num(c, 0), mul(c, sub(c, x, y), add(c, x, y)));
    value result = ir_complex(c->b, re, add(c, xy, xy));
    c->t = whole;
    return result;
}
