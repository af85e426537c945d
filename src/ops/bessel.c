/* Bessel functions of order 0 and 1 by Chebyshev series (special.def): one near
 * zero and one far from it, in 1 / x, where I and K are taken times e^-x and e^x, and J and Y by Hankel's P and Q.
 * Derivatives are those of the series; a recurrence of Clenshaw's loses no digits there. */
#include <math.h>

#include <xtrain/special.h>

#include "ops/expr.h"
#include "ops/special.h"

/* x where it is on this side of the border, else the border, so that no derivative of the other side is infinite. */
static ir_value *side(ir_builder *b, ir_value *x, double border, bool near) {
    ir_value *in = ex_is(b, x, near ? IR_LE : IR_GT, border);
    return ex_keep(b, near ? ir_or(b, in, x ? ir_compare(b, IR_NE, x, x) : NULL) : in, x, border);
}
static ir_value *join(ir_builder *b, ir_value *x, double border, ir_value *near, ir_value *far) {
    return ex_pick(b, ex_is(b, x, IR_GT, border), far, near);
}
static ir_value *over(ir_builder *b, double v, ir_value *x) {
    return ir_divide(b, ex_num(b, x, v), x);
}

/* --- I and K --- */
/* times e^-x, x >= 0 */
static ir_value *i_positive(ir_builder *b, ir_value *x, int order) {
    ir_value *n = side(b, x, 8, true), *f = side(b, x, 8, false);
    ir_value *near =
        ops_series(b, ex_plus(b, ex_times(b, n, 0.25), -1), order ? &ops_table_i1_near : &ops_table_i0_near);
    if (order) near = ir_multiply(b, near, n);
    ir_value *far = ops_series(b, ex_plus(b, over(b, 16, f), -1), order ? &ops_table_i1_far : &ops_table_i0_far);
    return join(b, x, 8, near, ir_divide(b, far, ir_sqrt(b, f)));
}
/* 1, or -1 below 0: with it |x| has the slope 1 at 0, which odd functions need there. */
static ir_value *side_of_zero(ir_builder *b, ir_value *x) {
    return ex_pick(b, ex_is(b, x, IR_LT, 0), ex_num(b, x, -1), ex_num(b, x, 1));
}
ir_value *ops_bessel_ie(ir_builder *b, ir_value *x, int order) {
    if (!order) return i_positive(b, ir_abs(b, x), 0);
    ir_value *sign = side_of_zero(b, x);
    return ir_multiply(b, i_positive(b, ir_multiply(b, x, sign), 1), sign);
}
static ir_value *i_whole(ir_builder *b, ir_value *x, int order) {
    return ir_multiply(b, ops_bessel_ie(b, x, order), ir_exponential(b, ir_abs(b, x)));
}
/* times e^x where scaled; NaN below 0, infinite there */
static ir_value *k_of(ir_builder *b, ir_value *x, int order, bool scaled) {
    ir_value *n = side(b, x, 2, true), *f = side(b, x, 2, false), *positive = ex_is(b, n, IR_GT, 0);
    n = ex_keep(b, positive, n, 1);
    ir_value *t = ex_plus(b, ex_times(b, ir_multiply(b, n, n), 0.5), -1);
    ir_value *l = ir_multiply(b, ir_log(b, ex_times(b, n, 0.5)), i_whole(b, n, order));
    ir_value *near = ops_series(b, t, order ? &ops_table_k1_near : &ops_table_k0_near);
    near = order ? ir_add(b, ir_divide(b, near, n), l) : ir_subtract(b, near, l);
    if (scaled) near = ir_multiply(b, near, ir_exponential(b, n));
    near = ex_keep(b, positive, near, NAN);
    near = ex_keep(b, ex_is(b, x, IR_NE, 0), near, INFINITY);
    ir_value *far = ops_series(b, ex_plus(b, over(b, 4, f), -1), order ? &ops_table_k1_far : &ops_table_k0_far);
    far = ir_divide(b, far, ir_sqrt(b, f));
    if (!scaled) far = ir_multiply(b, far, ir_exponential(b, ir_negate(b, f)));
    return join(b, x, 2, near, far);
}

/* --- J and Y --- */
/* beyond 8: sqrt(2 / (pi x)) (P cos c - Q sin c), or with sin and -cos for Y */
static ir_value *hankel(ir_builder *b, ir_value *x, int order, bool second) {
    ir_value *square = ir_multiply(b, x, x), *t = ex_plus(b, over(b, 128, square), -1);
    ir_value *p = ops_series(b, t, order ? &ops_table_p1_far : &ops_table_p0_far);
    ir_value *q = ir_divide(b, ops_series(b, t, order ? &ops_table_q1_far : &ops_table_q0_far), x);
    /* of x itself: (2 order + 1) pi / 4 less would round it */
    ir_value *s = ir_sine(b, x), *c = ir_cosine(b, x), *plus = ir_add(b, s, c), *minus = ir_subtract(b, s, c);
    ir_value *cosine = order ? minus : plus, *sine = order ? ir_negate(b, plus) : minus;
    ir_value *wave = second ? ir_add(b, ir_multiply(b, p, sine), ir_multiply(b, q, cosine))
                            : ir_subtract(b, ir_multiply(b, p, cosine), ir_multiply(b, q, sine));
    return ir_divide(b, ex_times(b, wave, 1 / sqrt(M_PI)), ir_sqrt(b, x));
}
static ir_value *near_t(ir_builder *b, ir_value *x) {
    return ex_plus(b, ex_times(b, ir_multiply(b, x, x), 1.0 / 32), -1);
}
static ir_value *j_near(ir_builder *b, ir_value *n, int order) {
    ir_value *y = ops_series(b, near_t(b, n), order ? &ops_table_j1_near : &ops_table_j0_near);
    return order ? ir_multiply(b, y, n) : y;
}
static ir_value *j_of(ir_builder *b, ir_value *x, int order) {
    ir_value *sign = side_of_zero(b, x), *size = ir_multiply(b, x, sign);
    ir_value *n = side(b, size, 8, true), *f = side(b, size, 8, false);
    ir_value *y = join(b, size, 8, j_near(b, n, order), hankel(b, f, order, false));
    return order ? ir_multiply(b, y, sign) : y;
}
static ir_value *y_of(ir_builder *b, ir_value *x, int order) {
    ir_value *n = side(b, x, 8, true), *f = side(b, x, 8, false), *positive = ex_is(b, n, IR_GT, 0);
    n = ex_keep(b, positive, n, 1);
    ir_value *l = ir_multiply(b, ir_log(b, n), j_near(b, n, order)),
             *near = ops_series(b, near_t(b, n), &ops_table_y0_near);
    if (order) {
        near = ir_multiply(b, ops_series(b, near_t(b, n), &ops_table_y1_near), n);
        l = ir_subtract(b, l, over(b, 1, n));
    }
    near = ex_keep(b, positive, ir_add(b, near, ex_times(b, l, M_2_PI)), NAN);
    near = ex_keep(b, ex_is(b, x, IR_NE, 0), near, -INFINITY);
    return join(b, x, 8, near, hankel(b, f, order, true));
}
/* sin(x) / x, a series near 0, where its derivative would be 0 / 0 */
static ir_value *spherical(ir_builder *b, ir_value *x) {
    ir_value *small = ex_is(b, ir_abs(b, x), IR_LT, 0.5), *at = ex_keep(b, ir_not(b, small), x, 1);
    ir_value *s = ex_keep(b, small, x, 0), *square = ir_multiply(b, s, s), *sum = ex_num(b, x, 0);
    for (int k = 8; k >= 1; k--)
        sum = ir_multiply(b, ex_times(b, square, -1.0 / (2 * k * (2 * k + 1))), ex_plus(b, sum, 1));
    ir_value *zero = ir_and(b, ir_not(b, ir_is_finite(b, x)), x ? ir_compare(b, IR_EQ, x, x) : NULL);
    ir_value *y = ex_pick(b, small, ex_plus(b, sum, 1), ir_divide(b, ir_sine(b, at), at));
    return ex_keep(b, ir_not(b, zero), y, 0);
}

#define BESSEL(name, call)                              \
    static ir_value *name(ir_builder *b, ir_value *x) { \
        return call;                                    \
    }
BESSEL(i0e, ops_bessel_ie(b, x, 0))
BESSEL(i1e, ops_bessel_ie(b, x, 1))
BESSEL(i0, i_whole(b, x, 0))
BESSEL(i1, i_whole(b, x, 1))
BESSEL(k0, k_of(b, x, 0, false))
BESSEL(k1, k_of(b, x, 1, false))
BESSEL(k0_scaled, k_of(b, x, 0, true))
BESSEL(k1_scaled, k_of(b, x, 1, true))
BESSEL(j0_of, j_of(b, x, 0))
BESSEL(j1_of, j_of(b, x, 1))
BESSEL(y0_of, y_of(b, x, 0))
BESSEL(y1_of, y_of(b, x, 1))
OPS_UNARY(xt_i0, xt_i0_at, REAL, i0)
OPS_UNARY(xt_i0e, xt_i0e_at, REAL, i0e)
OPS_UNARY(xt_i1, xt_i1_at, REAL, i1)
OPS_UNARY(xt_i1e, xt_i1e_at, REAL, i1e)
OPS_UNARY(xt_bessel_j0, xt_bessel_j0_at, REAL, j0_of)
OPS_UNARY(xt_bessel_j1, xt_bessel_j1_at, REAL, j1_of)
OPS_UNARY(xt_bessel_y0, xt_bessel_y0_at, REAL, y0_of)
OPS_UNARY(xt_bessel_y1, xt_bessel_y1_at, REAL, y1_of)
OPS_UNARY(xt_modified_bessel_k0, xt_modified_bessel_k0_at, REAL, k0)
OPS_UNARY(xt_modified_bessel_k1, xt_modified_bessel_k1_at, REAL, k1)
OPS_UNARY(xt_scaled_modified_bessel_k0, xt_scaled_modified_bessel_k0_at, REAL, k0_scaled)
OPS_UNARY(xt_scaled_modified_bessel_k1, xt_scaled_modified_bessel_k1_at, REAL, k1_scaled)
OPS_UNARY(xt_spherical_bessel_j0, xt_spherical_bessel_j0_at, REAL, spherical)
