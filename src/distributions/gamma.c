/* Gamma draws, their implicit derivatives, and the incomplete gamma function.
 *
 * Draws: Marsaglia and Tsang 2000, for concentrations below 1 with their factor u^(1/a), all as logarithms, so that
 * draws of small concentrations, which underflow, keep their value for ratios of two.
 *
 * Derivatives (Figurnov, Mohamed, Mnih 2018): with F the distribution function and f the density of a standard gamma
 * draw x, dx/da = -(dF/da) / f(x). Substituting t = x e^(s v) in the integral below x (s = -1) or, as the whole is 1,
 * above it (s = 1) gives, with y = log x,
 *     F / (x f)       = integral over v from 0 of e(v)                       (1 - F above)
 *     d log x / da    = s times the integral of (y + s v - digamma(a)) e(v)
 *     e(v) = exp(s (a - x) v - x (expm1(s v) - s v))
 * Both exponents' terms are negative where s is chosen by the sign of x - a, so nothing cancels. (Below FEW the lower
 * one is taken in any case: its exponent is at most x there, and the upper one ends in a cliff.) The integrals are
 * taken by the trapezoidal rule in t, v = S exp(t - e^-t) (Takahasi and Mori 1974), S being the width of e. */
#include <xtrain/special.h>

#include "distributions/dist.h"

/* --- draws --- */
typedef struct tsang {
    ir_value *d, *c; /* a - 1/3 and 1 / (3 sqrt d) */
    xt_dtype t;
} tsang;

/* state: done, log of the draw. Words: two for the normal number, one for the choice. */
static void tsang_round(ir_builder *b, ir_value *words, ir_value *round, ir_value *const *state, ir_value **out,
                        void *user) {
    const tsang *g = user;
    (void)round;
    ir_value *x = dist_word_normal(b, words, 0, g->t), *u = dist_word_uniform(b, words, 2, g->t);
    ir_value *root = ex_plus(b, ir_multiply(b, g->c, x), 1);
    ir_value *valid = ex_is(b, root, IR_GT, 0);
    ir_value *log_v = ex_times(b, ir_log(b, ex_keep(b, valid, root, 1)), 3);
    ir_value *v = ir_multiply(b, ir_multiply(b, root, root), root);
    ir_value *bound = ir_multiply(b, g->d, ir_add(b, ir_subtract(b, ex_num(b, v, 1), v), log_v));
    bound = ir_add(b, bound, ex_times(b, ir_multiply(b, x, x), 0.5));
    ir_value *taken = ir_and(b, valid, ir_compare(b, IR_LT, ir_log(b, u), bound));
    ir_value *fresh = ir_and(b, taken, ir_not(b, state[0]));
    out[0] = ir_or(b, state[0], taken);
    out[1] = ex_pick(b, fresh, ir_add(b, ir_log(b, g->d), log_v), state[1]);
}

/* The share that is taken in a round is above 0.95 for every concentration. */
enum { TSANG_ROUNDS = 64 };

static ir_value *draw_log(dist_args *a, ir_value *shape) {
    ir_builder *b = a->b;
    if (!shape) return NULL;
    const ir_type *t = shape->type;
    ir_value *small = ex_is(b, shape, IR_LT, 1), *whole = ex_pick(b, small, ex_plus(b, shape, 1), shape);
    ir_value *d = ex_plus(b, whole, -1.0 / 3), *c = ir_divide(b, ex_num(b, d, 1.0 / 3), ir_sqrt(b, d));
    int64_t dims[XT_MAX_RANK] = {3};
    if (t->rank + 1 > XT_MAX_RANK) return NULL;
    memcpy(dims + 1, t->dims, t->rank * sizeof *dims);
    tsang g = {d, c, t->dtype};
    ir_value *state[2] = {ir_splat(b, ir_with_dtype(t, XT_BOOL), 0), ex_num(b, d, 0)};
    dist_rounds r = {.n = 2,
                     .state = state,
                     .most = TSANG_ROUNDS,
                     .word_type = ir_tensor(XT_U32, t->rank + 1, dims),
                     .next = tsang_round,
                     .user = &g};
    if (!dist_rounds_run(a, &r)) return NULL;
    dist_args of = *a;
    of.t = t;
    ir_value *u = dist_uniforms(&of);
    b = a->b = lazy_begin(a->src);
    ir_value *more = ir_divide(b, u ? ir_log(b, u) : NULL, ex_keep(b, small, shape, 1));
    return ir_add(b, state[1], ex_keep(b, small, more, 0));
}

/* --- the integrals --- */
/* From 8 on by its asymptotic series. */
ir_value *dist_log_less_digamma(ir_builder *b, ir_value *x) {
    ir_value *large = ex_is(b, x, IR_GT, 8), *some = ex_pick(b, large, ex_num(b, x, 1), x);
    ir_value *plain = ir_subtract(b, ir_log(b, some), ir_chlo_digamma(b, some));
    ir_value *i = ir_divide(b, ex_num(b, x, 1), ex_pick(b, large, x, ex_num(b, x, 8))), *s = ir_multiply(b, i, i);
    static const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    ir_value *sum = ex_num(b, x, c[6]);
    for (int k = 5; k >= 0; k--) sum = ex_plus(b, ir_multiply(b, sum, s), c[k]);
    return ex_pick(b, large, ir_add(b, ex_times(b, i, 0.5), ir_multiply(b, sum, s)), plain);
}

/* e^z - 1 - z, by its series where the difference would cancel. */
static ir_value *exp_rest(ir_builder *b, ir_value *z) {
    ir_value *near = ir_compare(b, IR_LT, ir_abs(b, z), ex_num(b, z, 0.5));
    ir_value *w = ex_keep(b, near, z, 0), *series = ex_num(b, z, 1);
    for (int k = 12; k > 2; k--) series = ex_plus(b, ex_over(b, ir_multiply(b, series, w), k), 1);
    series = ex_times(b, ir_multiply(b, ir_multiply(b, w, w), series), 0.5);
    return ex_pick(b, near, series, ir_subtract(b, ir_exponential_minus_one(b, z), z));
}

typedef struct integrand {
    ir_value *side, *shape, *x, *log_ratio, *scale; /* log_ratio: log x - digamma(a) */
} integrand;
static const double T_FIRST = -3.5, T_LAST = 3.625;
enum { NODES = 96 };
static const double FEW = 1.5;

/* state: done (never before the last node), sum of e, sum of (log_ratio + s v) e, each times dv/dt. */
static void add_node(ir_builder *b, ir_value *words, ir_value *round, ir_value *const *state, ir_value **out,
                     void *user) {
    const integrand *f = user;
    (void)words;
    double step = (T_LAST - T_FIRST) / (NODES - 1);
    ir_value *t = ex_plus(b, ex_times(b, ir_convert(b, round, f->x->type->dtype), step), T_FIRST);
    ir_value *fall = ir_exponential(b, ir_negate(b, t));
    ir_value *unit = ir_exponential(b, ir_subtract(b, t, fall));
    ir_value *weight = ir_multiply(b, unit, ex_times(b, ex_plus(b, fall, 1), step));
    ir_value *v = ir_multiply(b, f->scale, ir_broadcast_scalar(b, unit, f->x->type));
    ir_value *sv = ir_multiply(b, f->side, v);
    ir_value *e = ir_subtract(b, ir_multiply(b, ir_subtract(b, f->shape, f->x), sv),
                              ir_multiply(b, f->x, exp_rest(b, ir_minimum(b, sv, ex_num(b, sv, 80)))));
    e = ir_multiply(b, ir_exponential(b, e), ir_broadcast_scalar(b, weight, f->x->type));
    out[0] = state[0];
    out[1] = ir_add(b, state[1], e);
    out[2] = ir_add(b, state[2], ir_multiply(b, e, ir_add(b, f->log_ratio, sv)));
}

/* F / (x f) below a or (1 - F) / (x f) above it, as *below says, and d log x / da. */
static bool integrals(dist_args *a, ir_value *shape, ir_value *x, ir_value *log_x, ir_value **below, ir_value **mass,
                      ir_value **slope) {
    ir_builder *b = a->b;
    ir_value *apart = ir_subtract(b, x, shape), *relative = ir_divide(b, apart, shape);
    ir_value *near = ir_compare(b, IR_LT, ir_abs(b, relative), ex_num(b, x, 0.5));
    ir_value *ratio =
        ex_pick(b, near, ir_log_plus_one(b, ex_keep(b, near, relative, 0)), ir_subtract(b, log_x, ir_log(b, shape)));
    ir_value *root = ir_sqrt(b, x);
    *below = ir_or(b, ex_is(b, apart, IR_LT, 0), ex_is(b, x, IR_LT, FEW));
    ir_value *curve = ex_pick(b, *below, ir_minimum(b, root, x), root);
    ir_value *one = ex_num(b, x, 1);
    ir_value *width = ir_divide(b, one, ir_add(b, ir_abs(b, apart), curve));
    width = ex_pick(b, ir_and(b, *below, ex_is(b, apart, IR_GT, 0)), ir_divide(b, one, shape), width);
    integrand f = {.side = ex_pick(b, *below, ex_num(b, x, -1), one),
                   .shape = shape,
                   .x = x,
                   .log_ratio = ir_add(b, ratio, dist_log_less_digamma(b, shape)),
                   .scale = width};
    ir_value *zero = ex_num(b, x, 0);
    ir_value *state[3] = {zero ? ir_splat(b, ir_with_dtype(x->type, XT_BOOL), 0) : NULL, zero, zero};
    if (!f.side || !f.log_ratio || !f.scale || !state[0]) return false;
    dist_rounds r = {.n = 3, .state = state, .most = NODES, .next = add_node, .user = &f};
    if (!dist_rounds_run(a, &r)) return false;
    *mass = ir_multiply(a->b, state[1], f.scale);
    *slope = ir_multiply(a->b, f.side, ir_multiply(a->b, state[2], f.scale));
    return *mass && *slope;
}

ir_value *dist_log_gamma_draw(dist_args *a, ir_value *concentration, bool grad) {
    ir_value *fixed = ex_detach(a->b, concentration), *y = draw_log(a, fixed), *below, *mass, *slope;
    if (!y || !grad) return y;
    y = ex_detach(a->b, y);
    if (!integrals(a, fixed, ir_exponential(a->b, y), y, &below, &mass, &slope)) return NULL;
    return dist_with_slopes(a->b, y, 1, &slope, &concentration);
}

/* log gamma(1 + a) of an a below SMALL, with all its digits. */
static const double SMALL = 0.02;
static ir_value *log_gamma_above_1(ir_builder *b, ir_value *a) {
    static const double c[] = {-0.57721566490153286061, 0.82246703342411321824,  -0.40068563438653142847,
                               0.27058080842778454788,  -0.20738555102867398527, 0.16955717699740818995,
                               -0.14404989676884611812, 0.12550966952474304242,  -0.11133426586956469049};
    ir_value *sum = ex_num(b, a, c[8]);
    for (int k = 7; k >= 0; k--) sum = ex_plus(b, ir_multiply(b, sum, a), c[k]);
    return ir_multiply(b, sum, a);
}
/* The lower or the upper part for a shape below SMALL and x below FEW, where the one that is small, about -shape log x,
 * would be what 1 minus the other leaves: x^a / gamma(1 + a) (1 + a sum of (-x)^n / (n! (a + n))). */
static ir_value *of_small_shape(ir_builder *b, ir_value *shape, ir_value *x, bool upper) {
    ir_value *front = ir_subtract(b, ir_multiply(b, shape, ir_log(b, x)), log_gamma_above_1(b, shape));
    ir_value *sum = ex_num(b, x, 0), *power = ex_num(b, x, 1);
    for (int n = 1; n <= 22; n++) {
        power = ex_over(b, ir_multiply(b, power, ir_negate(b, x)), n);
        sum = ir_add(b, sum, ir_divide(b, power, ex_plus(b, shape, n)));
    }
    ir_value *more = ir_multiply(b, ir_multiply(b, ir_exponential(b, front), shape), sum);
    if (upper) return ir_negate(b, ir_add(b, ir_exponential_minus_one(b, front), more));
    return ir_add(b, ir_exponential(b, front), more);
}

static ir_value *igamma(dist_args *a, ir_value *shape, ir_value *x, bool upper) {
    ir_builder *b = a->b;
    ir_value *usable = ir_and(b, ex_is(b, x, IR_GT, 0), ex_is(b, shape, IR_GT, 0)), *below, *mass, *slope;
    usable = ir_and(b, usable, ir_and(b, ir_is_finite(b, x), ir_is_finite(b, shape)));
    ir_value *of[2] = {ex_keep(b, usable, shape, 1), ex_keep(b, usable, x, 1)};
    ir_value *small = ir_and(b, ex_is(b, of[0], IR_LT, SMALL), ex_is(b, of[1], IR_LT, FEW)), *large = ir_not(b, small);
    ir_value *few[2] = {ex_keep(b, small, of[0], SMALL), ex_keep(b, small, of[1], 1)};
    for (int i = 0; i < 2; i++) of[i] = ex_keep(b, large, of[i], 1);
    ir_value *s = ex_detach(b, of[0]), *at = ex_detach(b, of[1]);
    ir_value *log_x = at ? ir_log(b, at) : NULL;
    if (!log_x || !integrals(a, s, at, log_x, &below, &mass, &slope)) return NULL;
    b = a->b;
    ir_value *density = /* times x */
        ir_exponential(b, ir_subtract(b, ir_subtract(b, ir_multiply(b, s, log_x), at), ir_chlo_lgamma(b, s)));
    ir_value *part = ir_multiply(b, density, mass);
    part = ir_minimum(b, part, ex_num(b, part, 1)); /* rounding leads above */
    if (upper) below = ir_not(b, below);
    ir_value *p = ex_pick(b, below, part, ex_plus(b, ir_negate(b, part), 1));
    ir_value *slopes[2] = {ir_negate(b, ir_multiply(b, density, slope)), ir_divide(b, density, at)};
    for (int i = 0; i < 2 && upper; i++) slopes[i] = ir_negate(b, slopes[i]);
    p = ex_pick(b, large, dist_with_slopes(b, p, 2, slopes, of), of_small_shape(b, few[0], few[1], upper));
    /* where one of the two is 0 or infinite all lies on one side, as in PyTorch; else, and below 0, there is none */
    ir_value *more = ir_compare(b, IR_GT, x, shape), *less = ir_compare(b, IR_LT, x, shape);
    ir_value *known = ir_and(b, ex_is(b, x, IR_GE, 0), ex_is(b, shape, IR_GE, 0));
    ir_value *outside = ex_keep(b, upper ? less : more, ex_num(b, x, 1), 0);
    return ex_pick(b, usable, p, ex_keep(b, ir_and(b, known, ir_or(b, more, less)), outside, NAN));
}
ir_value *dist_igamma(dist_args *a, ir_value *shape, ir_value *x) {
    return igamma(a, shape, x, false);
}

static xt_tensor incomplete(const xt_src *src, const char *what, xt_tensor shape, xt_tensor x, bool upper) {
    xt_tensor failed;
    dist_args a = {.src = src, .what = what, .b = lazy_begin(src)};
    ir_value *s = ops_float(a.b, lazy_value(shape)), *v = ops_float(a.b, lazy_value(x));
    if (!s || !v) return lazy_wrap(NULL, what);
    if (!ops_meet(src, what, a.b, XT_DTYPE_NONE, &s, &v, &failed)) return failed;
    xt_dtype t = s ? s->type->dtype : XT_F32;
    if (ir_dtype_is_complex(t))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: complex numbers: real ones are needed", what);
    s = ops_widen(a.b, s), v = ops_widen(a.b, v);
    a.t = s ? s->type : NULL;
    ir_value *y = s && v ? igamma(&a, s, v, upper) : NULL;
    return lazy_wrap(ops_narrow(lazy_begin(src), y, t), what);
}
xt_tensor xt_gammainc_at(const xt_src *src, xt_tensor a, xt_tensor x) {
    return incomplete(src, "xt_gammainc", a, x, false);
}
xt_tensor xt_gammaincc_at(const xt_src *src, xt_tensor a, xt_tensor x) {
    return incomplete(src, "xt_gammaincc", a, x, true);
}
