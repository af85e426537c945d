/* Special functions that are short formulas: orthogonal polynomials by their recurrences, a scaled erfc, and what
 * Chebyshev series need (special.h); the entropy's term and the normal distribution's inverse. */
#include <math.h>

#include <xtrain/names.h>
#include <xtrain/special.h>

#include "ops/expr.h"
#include "ops/special.h"

/* --- series --- */
#define COUNT_OF(...) (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define TABLE(name, ...) const ops_table ops_table_##name = {COUNT_OF(__VA_ARGS__), {__VA_ARGS__}};
#include "ops/special.def"
#undef TABLE

/* Clenshaw: b_k = c[k] + 2 t b_(k+1) - b_(k+2). Terms below the dtype's digits are left out. */
ir_value *ops_series(ir_builder *b, ir_value *t, const ops_table *s) {
    if (!t) return NULL;
    int n = s->n;
    double least = t->type->dtype == XT_F64 ? 0 : 0x1p-27, largest = 0;
    for (int k = 0; k < n; k++) largest = fmax(largest, fabs(s->c[k]));
    while (n > 2 && fabs(s->c[n - 1]) < least * largest) n--;
    ir_value *twice = ex_times(b, t, 2), *one = ex_num(b, t, s->c[n - 1]), *two = ex_num(b, t, 0);
    for (int k = n - 2; k >= 1; k--) {
        ir_value *next = ex_plus(b, ir_subtract(b, ir_multiply(b, twice, one), two), s->c[k]);
        two = one, one = next;
    }
    return ex_plus(b, ir_subtract(b, ir_multiply(b, t, one), two), s->c[0]);
}

/* e^(x^2) erfc(x) (Shepherd and Laframboise 1981); below 0: 2 e^(x^2) - that of -x. */
static ir_value *erfcx(ir_builder *b, ir_value *x) {
    ir_value *below_zero = ex_is(b, x, IR_LT, 0), *size = ex_pick(b, below_zero, ir_negate(b, x), x);
    ir_value *far = ir_not(b, ir_is_finite(b, size));
    ir_value *at = ex_keep(b, ir_not(b, far), size, 1);
    ir_value *t = ir_divide(b, ex_plus(b, at, -3.75), ex_plus(b, at, 3.75));
    ir_value *y = ir_divide(b, ops_series(b, t, &ops_table_erfcx_table), ex_plus(b, ex_times(b, at, 2), 1));
    ir_value *low = ex_keep(b, below_zero, x, 0);
    ir_value *below = ir_subtract(b, ex_times(b, ir_exponential(b, ir_multiply(b, low, low)), 2), y);
    y = ex_pick(b, below_zero, below, y);
    y = ex_keep(b, x ? ir_compare(b, IR_EQ, x, x) : NULL, y, NAN);
    return ex_pick(b, ex_is(b, x, IR_EQ, INFINITY), ex_num(b, y, 0), y);
}
OPS_UNARY(xt_erfcx, xt_erfcx_at, REAL, erfcx)

/* --- the entropy's term and the normal distribution's inverse --- */
/* -x log(x): 0 at zero, where its derivative is infinite, as that of the root that stands for it; -infinity below. */
static ir_value *entr(ir_builder *b, ir_value *x) {
    ir_value *above = ex_is(b, x, IR_GT, 0), *zero = ex_is(b, x, IR_EQ, 0), *some = ex_keep(b, above, x, 1);
    ir_value *rest = ex_pick(b, ex_is(b, x, IR_LT, 0), ex_num(b, x, -INFINITY), x); /* NaN stays */
    rest = ex_pick(b, zero, ir_sqrt(b, ex_keep(b, zero, x, 1)), rest);
    return ex_pick(b, above, ir_negate(b, ir_multiply(b, some, ir_log(b, some))), rest);
}
xt_tensor xt_entr_at(const xt_src *src, xt_tensor x) {
    return ops_unary(src, "xt_entr", OPS_AS_REAL, entr, x);
}

/* Cephes' ndtri (Moshier), which is PyTorch's: rational functions of p - 1/2 in the middle and of z = 1/sqrt(-2 log p)
 * at the ends, where 2p - 1 has none of p's digits. Highest powers first. */
static const double middle_above[] = {-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968,
                                      -1.2391658386738125};
static const double middle_below[] = {1.0,
                                      1.9544885833814176,
                                      4.676279128988815,
                                      86.36024213908905,
                                      -225.46268785411937,
                                      200.26021238006066,
                                      -82.03722561683334,
                                      15.90562251262117,
                                      -1.1833162112133};
static const double end_above[] = {4.0554489230596245,  31.525109459989388,   57.16281922464213,
                                   44.08050738932008,   14.684956192885803,   2.1866330685079025,
                                   -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854};
static const double end_below[] = {1.0,
                                   15.779988325646675,
                                   45.39076351288792,
                                   41.3172038254672,
                                   15.04253856929075,
                                   2.504649462083094,
                                   -0.14218292285478779,
                                   -0.03808064076915783,
                                   -0.0009332594808954574};
static const double far_above[] = {3.2377489177694603,     6.915228890689842,      3.9388102529247444,
                                   1.3330346081580755,     0.20148538954917908,    0.012371663481782003,
                                   0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09};
static const double far_below[] = {1.0,
                                   6.02427039364742,
                                   3.6798356385616087,
                                   1.3770209948908132,
                                   0.21623699359449663,
                                   0.013420400608854318,
                                   0.00032801446468212774,
                                   2.8924786474538068e-06,
                                   6.790194080099813e-09};

static ir_value *horner(ir_builder *b, ir_value *x, const double *c, size_t n) {
    ir_value *y = ex_num(b, x, c[0]);
    for (size_t i = 1; i < n; i++) y = ex_plus(b, ir_multiply(b, y, x), c[i]);
    return y;
}
#define RATIO(b, x, name)                                              \
    ir_divide(b, horner(b, x, name##_above, BASE_COUNT(name##_above)), \
              horner(b, x, name##_below, BASE_COUNT(name##_below)))

static ir_value *ndtri(ir_builder *b, ir_value *p) {
    static const double END = 0.13533528323661269189, SQRT_2PI = 2.50662827463100050242, FAR = 8;
    ir_value *upper = ex_is(b, p, IR_GT, 1 - END), *small = ex_pick(b, upper, ir_subtract(b, ex_num(b, p, 1), p), p);
    ir_value *inside = ir_and(b, ex_is(b, p, IR_GT, 0), ex_is(b, p, IR_LT, 1));
    ir_value *middle = ex_is(b, small, IR_GT, END);
    ir_value *c = ex_plus(b, ex_keep(b, middle, small, 0.5), -0.5), *cc = ir_multiply(b, c, c);
    ir_value *near = ex_times(b, ir_add(b, c, ir_multiply(b, c, ir_multiply(b, cc, RATIO(b, cc, middle)))), SQRT_2PI);
    ir_value *at_end = ir_and(b, inside, ir_not(b, middle));
    ir_value *r = ir_sqrt(b, ex_times(b, ir_log(b, ex_keep(b, at_end, small, END)), -2));
    ir_value *z = ir_divide(b, ex_num(b, r, 1), r);
    ir_value *less = ir_multiply(b, z, ex_pick(b, ex_is(b, r, IR_LT, FAR), RATIO(b, z, end), RATIO(b, z, far)));
    ir_value *tail = ir_subtract(b, ir_subtract(b, r, ir_divide(b, ir_log(b, r), r)), less);
    tail = ex_pick(b, upper, tail, ir_negate(b, tail));
    /* 0 and 1: log's pole, with its derivative; beyond them, NaN */
    ir_value *low = ex_is(b, p, IR_EQ, 0), *high = ex_is(b, p, IR_EQ, 1);
    ir_value *pole = ir_log(b, ex_keep(b, low, p, 1));
    pole = ex_pick(b, high, ir_negate(b, ir_log(b, ir_subtract(b, ex_num(b, p, 1), ex_keep(b, high, p, 0)))), pole);
    ir_value *outside = ex_keep(b, ir_or(b, low, high), pole, NAN);
    return ex_pick(b, inside, ex_pick(b, middle, near, tail), outside);
}
xt_tensor xt_ndtri_at(const xt_src *src, xt_tensor x) {
    return ops_unary(src, "xt_ndtri", OPS_AS_REAL, ndtri, x);
}

/* --- polynomials: p_(k+1) = (a x + d) p_k - c p_(k-1), by k --- */
enum { MOST_DEGREE = 256 };
typedef struct polynomial {
    double first, at_zero; /* p_1 = first x + at_zero */
    void (*step)(double k, double *a, double *d, double *c);
} polynomial;
static void chebyshev(double k, double *a, double *d, double *c) {
    (void)k;
    *a = 2, *d = 0, *c = 1;
}
static void hermite(double k, double *a, double *d, double *c) {
    *a = 2, *d = 0, *c = 2 * k;
}
static void hermite_e(double k, double *a, double *d, double *c) {
    *a = 1, *d = 0, *c = k;
}
static void laguerre(double k, double *a, double *d, double *c) {
    *a = -1 / (k + 1), *d = (2 * k + 1) / (k + 1), *c = k / (k + 1);
}
static void legendre(double k, double *a, double *d, double *c) {
    *a = (2 * k + 1) / (k + 1), *d = 0, *c = k / (k + 1);
}
static xt_tensor evaluate(const xt_src *src, const char *what, xt_tensor x, int n, bool shifted, polynomial p) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (n > MOST_DEGREE)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: n is %d: expected at most %d", what, n, (int)MOST_DEGREE);
    if (v && ir_dtype_is_complex(v->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s: real numbers are needed", what,
                          xt_dtype_name(v->type->dtype));
    v = ops_float(b, v);
    xt_dtype t = v ? v->type->dtype : XT_F32;
    v = ops_widen(b, v);
    if (shifted) v = ex_plus(b, ex_times(b, v, 2), -1);
    ir_value *one = ex_num(b, v, n < 0 ? 0 : 1), *last = ex_num(b, v, 0);
    for (int k = 0; k < n && v; k++) {
        double a = p.first, d = p.at_zero, c = 0;
        if (k) p.step(k, &a, &d, &c);
        ir_value *next = ir_multiply(b, ex_plus(b, ex_times(b, v, a), d), one);
        if (k) next = ir_subtract(b, next, ex_times(b, last, c));
        last = one, one = next;
    }
    return lazy_wrap(ops_narrow(b, one, t), what);
}
#define POLYNOMIAL(name, function, shifted, ...)                               \
    xt_tensor function(const xt_src *src, xt_tensor x, int n) {                \
        return evaluate(src, #name, x, n, shifted, (polynomial){__VA_ARGS__}); \
    }
POLYNOMIAL(xt_chebyshev_polynomial_t, xt_chebyshev_polynomial_t_at, false, 1, 0, chebyshev)
POLYNOMIAL(xt_chebyshev_polynomial_u, xt_chebyshev_polynomial_u_at, false, 2, 0, chebyshev)
POLYNOMIAL(xt_chebyshev_polynomial_v, xt_chebyshev_polynomial_v_at, false, 2, -1, chebyshev)
POLYNOMIAL(xt_chebyshev_polynomial_w, xt_chebyshev_polynomial_w_at, false, 2, 1, chebyshev)
POLYNOMIAL(xt_shifted_chebyshev_polynomial_t, xt_shifted_chebyshev_polynomial_t_at, true, 1, 0, chebyshev)
POLYNOMIAL(xt_shifted_chebyshev_polynomial_u, xt_shifted_chebyshev_polynomial_u_at, true, 2, 0, chebyshev)
POLYNOMIAL(xt_shifted_chebyshev_polynomial_v, xt_shifted_chebyshev_polynomial_v_at, true, 2, -1, chebyshev)
POLYNOMIAL(xt_shifted_chebyshev_polynomial_w, xt_shifted_chebyshev_polynomial_w_at, true, 2, 1, chebyshev)
POLYNOMIAL(xt_hermite_polynomial_h, xt_hermite_polynomial_h_at, false, 2, 0, hermite)
POLYNOMIAL(xt_hermite_polynomial_he, xt_hermite_polynomial_he_at, false, 1, 0, hermite_e)
POLYNOMIAL(xt_laguerre_polynomial_l, xt_laguerre_polynomial_l_at, false, -1, 1, laguerre)
POLYNOMIAL(xt_legendre_polynomial_p, xt_legendre_polynomial_p_at, false, 1, 0, legendre)
