/* Special functions that are short formulas: orthogonal polynomials by their recurrences, a scaled erfc, and what
 * Chebyshev series need (special.h). */
#include <math.h>

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
