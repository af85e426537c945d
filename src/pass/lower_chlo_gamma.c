/* The gamma function's relatives. Sources: Lanczos' approximation with g = 7 and nine terms; in f32
 * Stirling's series and the one around 2 (Abramowitz and Stegun 6.1.33, 6.1.40); reflection formulas; the
 * Hurwitz zeta function by the Euler-Maclaurin sum. */
#include <math.h>

#include "pass/lower_chlo_int.h"

static const double lanczos_g = 7, lanczos_base = 0.99999999999980993227684700473478;
static const double lanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                                 771.3234287776530788486528258894,   -176.61502916214059906584551354,
                                 12.507343278686904814458936853,     -0.13857109526572011689554707,
                                 9.984369578019570859563e-6,         1.50563273514931155834e-7};

static value ln(chlo *c, value x) {
    return ir_log(c->b, x);
}

/* log(g + 1/2 + z) */
static value log_t(chlo *c, value z) {
    return add_num(c, ir_log_plus_one(c->b, mul_num(c, z, 1 / (lanczos_g + 0.5))), log(lanczos_g + 0.5));
}

/* ln gamma of z + 1 >= 1/2, by Lanczos. Near 1 and 2, where it is 0, large terms cancel: for f64. */
static value lgamma_wide(chlo *c, value z) {
    value sum = num(c, lanczos_base);
    for (size_t i = 0; i < BASE_COUNT(lanczos); i++)
        sum = add(c, sum, quo(c, num(c, lanczos[i]), add_num(c, z, (double)i + 1)));
    value t = add_num(c, z, lanczos_g + 0.5), lt = log_t(c, z);
    /* (z + 1/2) log t - t, in a form that does not subtract large numbers */
    value body = mul(c, sub(c, add_num(c, z, 0.5), quo(c, t, lt)), lt);
    return add(c, add_num(c, body, 0.5 * (log(2) + log(M_PI))), ln(c, sum));
}

/* The same of w >= 1/2 in f32, to its last digits: from 8 on by Stirling's series; below by the series around 2, to
 * which gamma(w + 1) = w gamma(w) leads in steps of 1: ln gamma(w) = ln gamma(y) + ln p, or - ln p on the way up. */
enum { STEPS_DOWN = 6 };
static const double stirling_from = 8;
static const double near_two[] = {/* of (lgamma(2 + t)) / t: 1 - gamma, then (-1)^k (zeta(k) - 1) / k */
                                  -9.439488275268395e-06, 2.0507212775670674e-05,  -4.4926236738133142e-05,
                                  9.9457512781808531e-05, -0.00022315475845357898, 0.00050966952474304267,
                                  -0.0011927539117032617, 0.0028905103307415199,   -0.0073855510286739961,
                                  0.020580808427784529,   -0.067352301053198158,   0.32246703342411315,
                                  0.42278433509846713};
static value lgamma_f32(chlo *c, value w) {
    value up = cmp_num(c, IR_LT, w, 1.5), y = w, p = num(c, 1);
    for (int i = 0; i < STEPS_DOWN; i++) {
        value down = cmp_num(c, IR_GE, y, 2.5), less = add_num(c, y, -1);
        y = pick(c, down, less, y);
        p = pick(c, down, mul(c, p, y), p);
    }
    value t = pick(c, up, add_num(c, w, -1), add_num(c, y, -2)), lp = ln(c, pick(c, up, w, p));
    value near = add(c, mul(c, t, POLY(c, t, near_two)), pick(c, up, neg(c, lp), lp));
    value r = quo(c, num(c, 1), w), rr = mul(c, r, r);
    value tail = mul(c, r, add_num(c, mul(c, rr, add_num(c, mul_num(c, rr, 1.0 / 1260), -1.0 / 360)), 1.0 / 12));
    value far = mul(c, add_num(c, w, -0.5), add_num(c, ln(c, w), -1));
    far = add(c, add_num(c, far, 0.5 * (log(2 * M_PI) - 1)), tail);
    return pick(c, cmp_num(c, IR_LT, w, stirling_from), near, far);
}

/* ln|gamma|; below 1/2 ln pi - ln|sin(pi x)| - the same at 1 - x. */
value chlo_lgamma(chlo *c, value x) {
    value reflect = cmp_num(c, IR_LT, x, 0.5);
    value y = is_f64(c) ? lgamma_wide(c, pick(c, reflect, neg(c, x), add_num(c, x, -1)))
                        : lgamma_f32(c, pick(c, reflect, sub(c, num(c, 1), x), x));
    value a = ir_abs(c->b, x), fraction = sub(c, a, ir_floor(c->b, a));
    fraction = pick(c, cmp_num(c, IR_GT, fraction, 0.5), sub(c, num(c, 1), fraction), fraction);
    value log_sine = ln(c, ir_sine(c->b, mul_num(c, fraction, M_PI)));
    value reflected = sub(c, sub(c, num(c, log(M_PI)), log_sine), y);
    reflected = pick(c, ir_is_finite(c->b, log_sine), reflected, neg(c, log_sine)); /* a pole */
    value result = pick(c, reflect, reflected, y);
    return pick(c, cmp_num(c, IR_EQ, a, INFINITY), num(c, INFINITY), result);
}

/* The logarithmic derivative of Lanczos' formula, for f64. */
static value digamma_wide(chlo *c, value z) {
    value up = num(c, 0), down = num(c, lanczos_base);
    for (size_t i = 0; i < BASE_COUNT(lanczos); i++) {
        value d = add_num(c, z, (double)i + 1), term = quo(c, num(c, lanczos[i]), d);
        up = sub(c, up, quo(c, term, d));
        down = add(c, down, term);
    }
    value t = add_num(c, z, lanczos_g + 0.5);
    return sub(c, add(c, log_t(c, z), quo(c, up, down)), quo(c, num(c, lanczos_g), t));
}

/* The same of w >= 1/2 in f32: psi(w + 1) = psi(w) + 1/w leads to where the asymptotic series holds. */
static value digamma_f32(chlo *c, value w) {
    enum { STEPS_UP = 6 };
    value sum = NULL;
    for (int i = 0; i < STEPS_UP; i++) {
        value term = quo(c, num(c, 1), i ? add_num(c, w, i) : w);
        sum = sum ? add(c, sum, term) : term;
    }
    value z = add_num(c, w, STEPS_UP), r = quo(c, num(c, 1), z), rr = mul(c, r, r);
    value series = add_num(c, mul(c, rr, add_num(c, mul_num(c, rr, -1.0 / 252), 1.0 / 120)), -1.0 / 12);
    value small = add(c, mul_num(c, r, -0.5), mul(c, rr, series));
    return add(c, sub(c, ln(c, z), sum), small);
}

/* Below 1/2 minus pi cot(pi x). */
value chlo_digamma(chlo *c, value x) {
    value reflect = cmp_num(c, IR_LT, x, 0.5);
    value y = is_f64(c) ? digamma_wide(c, pick(c, reflect, neg(c, x), add_num(c, x, -1)))
                        : digamma_f32(c, pick(c, reflect, sub(c, num(c, 1), x), x));
    /* cot has period 1: the argument is brought near zero first, where pi x keeps its digits */
    value turn = mul_num(c, add(c, x, ir_abs(c->b, ir_floor(c->b, add_num(c, x, 0.5)))), M_PI);
    value cot = quo(c, ir_cosine(c->b, turn), ir_sine(c->b, turn));
    value result = pick(c, reflect, sub(c, y, mul_num(c, cot, M_PI)), y);
    value pole = ir_and(c->b, cmp_num(c, IR_LE, x, 0), ir_compare(c->b, IR_EQ, x, ir_floor(c->b, x)));
    return pick(c, pole, num(c, NAN), result);
}

/* B(2j) / (2j)! */
static const double bernoulli[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
};

/* sum over k of (q + k)^-x: ten terms, the integral, and a series in 1 / (q + 10). */
static value zeta_above_0(chlo *c, value x, value q) {
    value minus_x = neg(c, x), a = q, sum = ir_power(c->b, q, minus_x), power = sum;
    for (int k = 1; k < 10; k++) {
        a = add_num(c, a, 1);
        sum = add(c, sum, ir_power(c->b, a, minus_x));
    }
    a = add_num(c, a, 1);
    power = ir_power(c->b, a, minus_x);
    sum = add(c, sum, add(c, quo(c, mul(c, power, a), add_num(c, x, -1)), mul_num(c, power, 0.5)));
    value rising = x, inverse = quo(c, num(c, 1), a), scale = mul(c, power, inverse);
    for (size_t j = 0; j < BASE_COUNT(bernoulli); j++) {
        sum = add(c, sum, mul_num(c, mul(c, rising, scale), bernoulli[j]));
        double next = 2 * (double)j + 1;
        rising = mul(c, rising, mul(c, add_num(c, x, next), add_num(c, x, next + 1)));
        scale = mul(c, scale, mul(c, inverse, inverse));
    }
    return pick(c, ir_compare(c->b, IR_EQ, q, num(c, INFINITY)), num(c, 0), sum);
}
/* Below 0, where x is whole, with f = q - floor(q): the sum over all f + k, less those below q, which are
 * (-1)^x zeta(x, 1 - q). Else there is none. */
value chlo_zeta(chlo *c, value x, value q) {
    value below = cmp_num(c, IR_LT, q, 0), lowest = ir_floor(c->b, q), f = ir_subtract(c->b, q, lowest);
    value sum = zeta_above_0(c, x, pick(c, below, f, q)), one = num(c, 1);
    value others = ir_subtract(c->b, zeta_above_0(c, x, pick(c, below, ir_subtract(c->b, one, f), one)),
                               zeta_above_0(c, x, pick(c, below, ir_subtract(c->b, one, q), one)));
    value even = cmp_num(c, IR_EQ, ir_remainder(c->b, x, num(c, 2)), 0);
    sum = pick(c, below, add(c, sum, pick(c, even, others, neg(c, others))), sum);
    value broken = ir_compare(c->b, IR_NE, x, ir_floor(c->b, x));
    sum = pick(c, ir_and(c->b, below, broken), num(c, NAN), sum);
    value whole = ir_compare(c->b, IR_EQ, q, lowest);
    value pole = ir_or(c->b, cmp_num(c, IR_EQ, x, 1), ir_and(c->b, cmp_num(c, IR_LE, q, 0), whole));
    sum = pick(c, pole, num(c, INFINITY), sum);
    return pick(c, cmp_num(c, IR_LT, x, 1), num(c, NAN), sum);
}

/* psi^(n)(x) = (-1)^(n+1) n! zeta(n + 1, x), and digamma for n = 0. */
value chlo_polygamma(chlo *c, value n, value x) {
    value next = add_num(c, n, 1), size = mul(c, ir_exponential(c->b, chlo_lgamma(c, next)), chlo_zeta(c, next, x));
    value odd = cmp_num(c, IR_EQ, ir_remainder(c->b, n, num(c, 2)), 1);
    value general = pick(c, cmp_num(c, IR_EQ, n, 0), chlo_digamma(c, x), pick(c, odd, size, neg(c, size)));
    value bad = ir_or(c->b, cmp_num(c, IR_LT, n, 0), ir_compare(c->b, IR_NE, n, ir_floor(c->b, n)));
    return pick(c, bad, num(c, NAN), general);
}
