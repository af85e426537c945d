/* Beta draws and their implicit derivatives, which Dirichlet's are made of.
 *
 * Draws: the logit of one is the difference of the logarithms of two gamma draws, so small concentrations give numbers
 * near 0 or 1, not NaN.
 *
 * Derivatives (Figurnov, Mohamed, Mnih 2018), those that PyTorch's _dirichlet_grad approximates: with F the
 * distribution function and f the density, dx/da = -(dF/da) / f(x). Substituting the logit of t, y - v below that of x,
 * y, in the integral below x gives, with m = a / (a + b), all of it from one set of nodes,
 *     d y / da = -integral over v from 0 of (log(x / m) - L + r(a) - r(a + b)) e(v)
 *     d y / db = -integral of (log((1 - x) / (1 - m)) + K + r(b) - r(a + b)) e(v)
 *     L = log(x + (1 - x) e^v), K = -log(1 - x + x e^-v), e(v) = exp(b K - a L), r(a) = log a - digamma(a)
 * The integral above x is that of 1 - x below 1 - x, with a and b in each other's place, with the other sign. It is
 * taken where x is above m; then the exponent falls all the way and nothing cancels. Where (a + b) x (1 - x) is below
 * FEW the one towards the nearer end is taken in any case: its exponent is at most 2 FEW there, and the other ends in a
 * cliff. Trapezoidal rule in t, v = S exp(t - e^-t) (Takahasi and Mori 1974), S being the width of e. */
#include "distributions/dist.h"

typedef struct integrand {
    ir_value *p, *q, *x, *rest; /* of the side that is taken: its two concentrations, its number and 1 - it */
    ir_value *at_p, *at_q; /* log(x / m) + r(p) - r(p + q), and the other's */
    ir_value *scale;
} integrand;
static const double T_FIRST = -3, T_LAST = 3.625;
enum { NODES = 76 };
static const double FEW = 1.0;

/* L and K at v. */
static void falls(ir_builder *b, const integrand *f, ir_value *v, ir_value **l, ir_value **k) {
    ir_value *few = ex_is(b, v, IR_LT, 1), *fewer = ex_is(b, v, IR_LT, 30);
    ir_value *less = ir_exponential_minus_one(b, ir_negate(b, v)),
             *more = ir_exponential_minus_one(b, ex_keep(b, fewer, v, 0));
    ir_value *far = ir_log(b, ir_add(b, f->rest, ir_multiply(b, f->x, ir_exponential(b, ir_negate(b, v)))));
    ir_value *near = ir_log_plus_one(b, ir_multiply(b, f->x, ex_keep(b, few, less, 0)));
    *k = ir_negate(b, ex_pick(b, few, near, far));
    *l = ex_pick(b, fewer, ir_log_plus_one(b, ir_multiply(b, f->rest, more)), ir_add(b, v, far));
}

/* state: done (never before the last node), the two sums, each times dv/dt. */
static void add_node(ir_builder *b, ir_value *words, ir_value *round, ir_value *const *state, ir_value **out,
                     void *user) {
    const integrand *f = user;
    (void)words;
    double step = (T_LAST - T_FIRST) / (NODES - 1);
    ir_value *t = ex_plus(b, ex_times(b, ir_convert(b, round, f->x->type->dtype), step), T_FIRST), *l, *k;
    ir_value *fall = ir_exponential(b, ir_negate(b, t));
    ir_value *unit = ir_exponential(b, ir_subtract(b, t, fall));
    ir_value *weight = ir_multiply(b, unit, ex_times(b, ex_plus(b, fall, 1), step));
    falls(b, f, ir_multiply(b, f->scale, ir_broadcast_scalar(b, unit, f->x->type)), &l, &k);
    ir_value *e = ir_exponential(b, ir_subtract(b, ir_multiply(b, f->q, k), ir_multiply(b, f->p, l)));
    e = ir_multiply(b, e, ir_broadcast_scalar(b, weight, f->x->type));
    out[0] = state[0];
    out[1] = ir_add(b, state[1], ir_multiply(b, e, ir_subtract(b, f->at_p, l)));
    out[2] = ir_add(b, state[2], ir_multiply(b, e, ir_add(b, f->at_q, k)));
}

/* log(x / m) + r(p) - r(p + q), where x q - rest p = (p + q) (x - m). */
static ir_value *against_mean(ir_builder *b, ir_value *p, ir_value *q, ir_value *x, ir_value *rest, ir_value *log_x) {
    ir_value *sum = ir_add(b, p, q);
    ir_value *apart = ir_divide(b, ir_subtract(b, ir_multiply(b, x, q), ir_multiply(b, rest, p)), p);
    ir_value *near = ir_compare(b, IR_LT, ir_abs(b, apart), ex_num(b, x, 0.5));
    ir_value *far = ir_add(b, log_x, ir_subtract(b, ir_log(b, sum), ir_log(b, p)));
    ir_value *ratio = ex_pick(b, near, ir_log_plus_one(b, ex_keep(b, near, apart, 0)), far);
    return ir_add(b, ratio, ir_subtract(b, dist_log_less_digamma(b, p), dist_log_less_digamma(b, sum)));
}

bool dist_beta_slopes(dist_args *a, ir_value *one, ir_value *other, ir_value *logit, ir_value *slopes[2]) {
    ir_builder *b = a->b;
    ir_value *x = ir_logistic(b, logit), *rest = ir_logistic(b, ir_negate(b, logit));
    ir_value *log_x = ir_negate(b, dist_softplus(b, ir_negate(b, logit)));
    ir_value *log_rest = ir_negate(b, dist_softplus(b, logit));
    ir_value *sum = ir_add(b, one, other), *spread = ir_multiply(b, ir_multiply(b, sum, x), rest);
    ir_value *few = ex_is(b, spread, IR_LT, FEW);
    ir_value *drop = ir_subtract(b, ir_multiply(b, one, rest), ir_multiply(b, other, x));
    ir_value *below = ex_pick(b, few, ex_is(b, logit, IR_LE, 0), ex_is(b, drop, IR_GE, 0));
    ir_value *root = ir_sqrt(b, spread);
    integrand f = {.p = ex_pick(b, below, one, other), .q = ex_pick(b, below, other, one)};
    f.x = ex_pick(b, below, x, rest);
    f.rest = ex_pick(b, below, rest, x);
    ir_value *log_near = ex_pick(b, below, log_x, log_rest), *log_far = ex_pick(b, below, log_rest, log_x);
    ir_value *curve = ir_add(b, ir_abs(b, drop), ir_minimum(b, root, spread));
    f.at_p = against_mean(b, f.p, f.q, f.x, f.rest, log_near);
    f.at_q = against_mean(b, f.q, f.p, f.rest, f.x, log_far);
    f.scale = ir_divide(b, ex_num(b, f.x, 1), ex_pick(b, few, f.p, curve));
    ir_value *zero = ex_num(b, x, 0);
    ir_value *state[3] = {zero ? ir_splat(b, ir_with_dtype(x->type, XT_BOOL), 0) : NULL, zero, zero};
    if (!f.at_p || !f.at_q || !f.scale || !state[0]) return false;
    dist_rounds r = {.n = 3, .state = state, .most = NODES, .next = add_node, .user = &f};
    if (!dist_rounds_run(a, &r)) return false;
    b = a->b;
    ir_value *of_p = ir_multiply(b, state[1], f.scale), *of_q = ir_multiply(b, state[2], f.scale);
    slopes[0] = ex_pick(b, below, ir_negate(b, of_p), of_q);
    slopes[1] = ex_pick(b, below, ir_negate(b, of_q), of_p);
    return slopes[0] && slopes[1];
}

/* --- beta --- */
#define P0 a->p[0]
#define P1 a->p[1]
static ir_value *beta_draw(dist_args *a, bool grad) {
    ir_value *one = dist_log_gamma_draw(a, P0, false), *other = dist_log_gamma_draw(a, P1, false), *slopes[2];
    ir_builder *b = a->b;
    ir_value *logit = ir_subtract(b, one, other), *x = ir_logistic(b, logit);
    if (!x) return NULL;
    xt_dtype t = x->type->dtype;
    ir_value *hi = ex_num(b, x, t == XT_F64 ? 1 - 0x1p-53 : 1 - 0x1p-24);
    x = ir_minimum(b, ir_maximum(b, x, ex_num(b, x, dist_smallest(t))), hi);
    if (!grad || !x) return x;
    logit = ex_detach(b, logit);
    if (!dist_beta_slopes(a, ex_detach(b, P0), ex_detach(b, P1), logit, slopes)) return NULL;
    b = a->b;
    ir_value *moves = ir_multiply(b, x, ir_logistic(b, ir_negate(b, logit))), *of[2] = {P0, P1};
    for (int i = 0; i < 2; i++) slopes[i] = ir_multiply(b, slopes[i], moves);
    return dist_with_slopes(b, x, 2, slopes, of);
}
static ir_value *log_beta(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *both = ir_add(b, ir_chlo_lgamma(b, x), ir_chlo_lgamma(b, y));
    return ir_subtract(b, both, ir_chlo_lgamma(b, ir_add(b, x, y)));
}
static ir_value *beta_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *rest = ir_subtract(b, ex_num(b, x, 1), x);
    ir_value *l = ir_add(b, dist_xlogy(b, ex_plus(b, P0, -1), x), dist_xlogy(b, ex_plus(b, P1, -1), rest));
    return ir_subtract(b, l, log_beta(b, P0, P1));
}
static ir_value *beta_mean(dist_args *a) {
    return ir_divide(a->b, P0, ir_add(a->b, P0, P1));
}
static ir_value *beta_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *sum = ir_add(b, P0, P1);
    ir_value *below = ir_multiply(b, ir_multiply(b, sum, sum), ex_plus(b, sum, 1));
    return ir_divide(b, ir_multiply(b, P0, P1), below);
}
static ir_value *less_one_digamma(ir_builder *b, ir_value *x) { /* (x - 1) digamma(x) */
    return ir_multiply(b, ex_plus(b, x, -1), ir_chlo_digamma(b, x));
}
static ir_value *beta_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *sum = ir_add(b, P0, P1);
    ir_value *whole = ir_multiply(b, ex_plus(b, sum, -2), ir_chlo_digamma(b, sum));
    ir_value *each = ir_add(b, less_one_digamma(b, P0), less_one_digamma(b, P1));
    return ir_add(b, log_beta(b, P0, P1), ir_subtract(b, whole, each));
}
static ir_value *beta_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *p1 = p->p[0], *p0 = p->p[1], *q1 = q->p[0], *q0 = q->p[1];
    ir_value *sum = ir_add(b, p1, p0);
    ir_value *l = ir_subtract(b, log_beta(b, q1, q0), log_beta(b, p1, p0));
    ir_value *one = ir_multiply(b, ir_subtract(b, p1, q1), ir_chlo_digamma(b, p1));
    ir_value *other = ir_multiply(b, ir_subtract(b, p0, q0), ir_chlo_digamma(b, p0));
    ir_value *rest = ir_multiply(b, ir_subtract(b, ir_add(b, q1, q0), sum), ir_chlo_digamma(b, sum));
    return ir_add(b, ir_add(b, l, one), ir_add(b, other, rest));
}
const dist_kind dist_beta = {.name = "Beta",
                             .n_params = 2,
                             .support = DIST_UNIT,
                             .reparameterized = true,
                             .draw = beta_draw,
                             .log_prob = beta_log_prob,
                             .mean = beta_mean,
                             .variance = beta_variance,
                             .entropy = beta_entropy,
                             .kl = beta_kl};
