/* Inverse trigonometric and hyperbolic functions of real numbers (complex ones: lower_chlo_complex.c), and hyperbolic
 * ones of both. Source: the usual identities, arranged so that nothing cancels and no intermediate overflows before the
 * result does. */
#include <float.h>
#include <math.h>

#include "pass/lower_chlo_int.h"

/* --- Inverse --- */

value chlo_atan(chlo *c, value x) {
    if (is_complex(c)) return chlo_complex_atan(c, x);
    return ir_atan2(c->b, x, num(c, 1));
}

/* 2 atan2(x, 1 + sqrt(1 - x^2)), with 1 - x^2 as a product, exact near 1. */
static value sqrt_one_minus_square(chlo *c, value x) {
    return ir_sqrt(c->b, mul(c, sub(c, num(c, 1), x), add_num(c, x, 1)));
}

value chlo_asin(chlo *c, value x) {
    if (is_complex(c)) return chlo_complex_asin(c, x);
    return mul_num(c, ir_atan2(c->b, x, add_num(c, sqrt_one_minus_square(c, x), 1)), 2);
}

value chlo_acos(chlo *c, value x) {
    if (is_complex(c)) return chlo_complex_acos(c, x);
    value general = mul_num(c, ir_atan2(c->b, sqrt_one_minus_square(c, x), add_num(c, x, 1)), 2);
    return pick(c, cmp_num(c, IR_EQ, x, -1), num(c, M_PI), general);
}

static double half_of_largest(const chlo *c) {
    return is_f64(c) ? DBL_MAX / 2 : FLT_MAX / 2;
}

/* With t = x - 1: log1p(t + sqrt(t) sqrt(t + 2)). */
value chlo_acosh(chlo *c, value x) {
    if (is_complex(c)) return chlo_complex_acosh(c, x);
    value t = add_num(c, x, -1);
    value near = ir_log_plus_one(c->b, add(c, t, mul(c, ir_sqrt(c->b, t), ir_sqrt(c->b, add_num(c, t, 2)))));
    value far = add_num(c, ir_log(c->b, x), M_LN2);
    return pick(c, cmp_num(c, IR_GT, x, half_of_largest(c)), far, near);
}

/* sign(x) log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); log(2|x|) where the square would overflow. */
value chlo_asinh(chlo *c, value x) {
    if (is_complex(c)) return chlo_complex_asinh(c, x);
    value a = ir_abs(c->b, x), square = mul(c, a, a);
    value near = ir_log_plus_one(c->b, add(c, a, quo(c, square, add_num(c, ir_sqrt(c->b, add_num(c, square, 1)), 1))));
    value far = add_num(c, ir_log(c->b, a), M_LN2);
    value magnitude = pick(c, cmp_num(c, IR_GT, a, is_f64(c) ? 0x1p500 : 0x1p60), far, near);
    return mul(c, ir_sign(c->b, x), magnitude);
}

value chlo_atanh(chlo *c, value x) {
    if (is_complex(c)) return chlo_complex_atanh(c, x);
    return mul_num(c, sub(c, ir_log_plus_one(c->b, x), ir_log_plus_one(c->b, neg(c, x))), 0.5);
}

/* --- Hyperbolic: e^x / 2 as e^(x - ln 2), which overflows no earlier than the result --- */

static value half_exp(chlo *c, value x) {
    return ir_exponential(c->b, add_num(c, x, -M_LN2));
}

value chlo_cosh(chlo *c, value x) {
    return add(c, half_exp(c, x), half_exp(c, neg(c, x)));
}

value chlo_sinh(chlo *c, value x) {
    value far = sub(c, half_exp(c, x), half_exp(c, neg(c, x)));
    if (is_complex(c)) return far;
    value e = ir_exponential_minus_one(c->b, x), near = mul_num(c, add(c, e, quo(c, e, add_num(c, e, 1))), 0.5);
    return pick(c, cmp_num(c, IR_LT, ir_abs(c->b, x), 1), near, far);
}
