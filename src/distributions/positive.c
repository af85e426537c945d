/* Distributions over positive numbers and over [0,1]. Parameters: a scale or a rate; of gamma: concentration, rate; of
 * beta: concentration1, concentration0. */
#include "distributions/dist.h"

#define P0 a->p[0]
#define P1 a->p[1]

/* --- half-normal: the size of a normal number --- */
static ir_value *half_normal_draw(dist_args *a, bool grad) {
    (void)grad;
    return ir_multiply(a->b, P0, ir_abs(a->b, dist_normals(a)));
}
static ir_value *half_normal_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *z = ir_divide(b, x, P0);
    ir_value *l = ir_subtract(b, ex_times(b, ir_multiply(b, z, z), -0.5), ir_log(b, P0));
    return ex_plus(b, l, 0.5 * log(2 / M_PI));
}
static ir_value *half_normal_cdf(dist_args *a, ir_value *x) {
    return ir_chlo_erf(a->b, ex_times(a->b, ir_divide(a->b, x, P0), M_SQRT1_2));
}
static ir_value *half_normal_icdf(dist_args *a, ir_value *q) {
    return ir_multiply(a->b, P0, ex_times(a->b, ir_chlo_erf_inv(a->b, q), M_SQRT2));
}
static ir_value *half_normal_mean(dist_args *a) {
    return ex_times(a->b, P0, sqrt(2 / M_PI));
}
static ir_value *half_normal_variance(dist_args *a) {
    return ex_times(a->b, ir_multiply(a->b, P0, P0), 1 - 2 / M_PI);
}
static ir_value *half_normal_entropy(dist_args *a) {
    return ex_plus(a->b, ir_log(a->b, P0), 0.5 * log(M_PI / 2) + 0.5);
}
static ir_value *half_normal_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *ratio = ir_divide(b, p->p[0], q->p[0]), *square = ir_multiply(b, ratio, ratio);
    return ex_times(b, ex_plus(b, ir_subtract(b, square, ir_log(b, square)), -1), 0.5);
}
const dist_kind dist_half_normal = {.name = "HalfNormal",
                                    .n_params = 1,
                                    .support = DIST_NONNEGATIVE,
                                    .reparameterized = true,
                                    .draw = half_normal_draw,
                                    .log_prob = half_normal_log_prob,
                                    .cdf = half_normal_cdf,
                                    .icdf = half_normal_icdf,
                                    .mean = half_normal_mean,
                                    .variance = half_normal_variance,
                                    .entropy = half_normal_entropy,
                                    .kl = half_normal_kl};

/* --- half-Cauchy --- */
static ir_value *half_cauchy_icdf(dist_args *a, ir_value *q) {
    return ir_multiply(a->b, P0, ir_tan(a->b, ex_times(a->b, q, M_PI / 2)));
}
static ir_value *half_cauchy_draw(dist_args *a, bool grad) {
    (void)grad;
    return half_cauchy_icdf(a, dist_uniforms(a));
}
static ir_value *half_cauchy_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *z = ir_divide(b, x, P0);
    ir_value *l = ir_add(b, ir_log(b, P0), ir_log_plus_one(b, ir_multiply(b, z, z)));
    return ex_plus(b, ir_negate(b, l), log(2 / M_PI));
}
static ir_value *half_cauchy_cdf(dist_args *a, ir_value *x) {
    return ex_times(a->b, ir_chlo_atan(a->b, ir_divide(a->b, x, P0)), 2 / M_PI);
}
static ir_value *infinite(dist_args *a) {
    return ex_num(a->b, P0, INFINITY);
}
static ir_value *half_cauchy_entropy(dist_args *a) {
    return ex_plus(a->b, ir_log(a->b, P0), log(2 * M_PI));
}
/* That of the Cauchy distributions at 0 whose right halves they are. */
static ir_value *half_cauchy_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *wider = ir_subtract(b, p->p[0], q->p[0]), *both = ex_times(b, ir_multiply(b, p->p[0], q->p[0]), 4);
    return ir_log_plus_one(b, ir_divide(b, ir_multiply(b, wider, wider), both));
}
const dist_kind dist_half_cauchy = {.name = "HalfCauchy",
                                    .n_params = 1,
                                    .support = DIST_NONNEGATIVE,
                                    .reparameterized = true,
                                    .draw = half_cauchy_draw,
                                    .log_prob = half_cauchy_log_prob,
                                    .cdf = half_cauchy_cdf,
                                    .icdf = half_cauchy_icdf,
                                    .mean = infinite,
                                    .variance = infinite,
                                    .entropy = half_cauchy_entropy,
                                    .kl = half_cauchy_kl};

/* --- exponential --- */
static ir_value *exponential_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    return ir_divide(b, ir_negate(b, ir_log_plus_one(b, ir_negate(b, q))), P0);
}
static ir_value *exponential_draw(dist_args *a, bool grad) {
    (void)grad;
    return exponential_icdf(a, dist_uniforms(a));
}
static ir_value *exponential_log_prob(dist_args *a, ir_value *x) {
    return ir_subtract(a->b, ir_log(a->b, P0), ir_multiply(a->b, P0, x));
}
static ir_value *exponential_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    return ir_negate(b, ir_exponential_minus_one(b, ir_negate(b, ir_multiply(b, P0, x))));
}
static ir_value *exponential_mean(dist_args *a) {
    return ir_divide(a->b, ex_num(a->b, P0, 1), P0);
}
static ir_value *exponential_variance(dist_args *a) {
    return ir_divide(a->b, ex_num(a->b, P0, 1), ir_multiply(a->b, P0, P0));
}
static ir_value *exponential_entropy(dist_args *a) {
    return ex_plus(a->b, ir_negate(a->b, ir_log(a->b, P0)), 1);
}
static ir_value *exponential_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *ratio = ir_divide(b, q->p[0], p->p[0]);
    return ex_plus(b, ir_subtract(b, ratio, ir_log(b, ratio)), -1);
}
const dist_kind dist_exponential = {.name = "Exponential",
                                    .n_params = 1,
                                    .support = DIST_NONNEGATIVE,
                                    .reparameterized = true,
                                    .draw = exponential_draw,
                                    .log_prob = exponential_log_prob,
                                    .cdf = exponential_cdf,
                                    .icdf = exponential_icdf,
                                    .mean = exponential_mean,
                                    .variance = exponential_variance,
                                    .entropy = exponential_entropy,
                                    .kl = exponential_kl};

/* --- gamma --- */
/* The smallest normal number of the dtype, which a draw that underflows becomes, as in PyTorch. */
static double smallest(xt_dtype t) {
    return t == XT_F64 ? 0x1p-1022 : 0x1p-126;
}
static ir_value *gamma_draw(dist_args *a, bool grad) {
    ir_value *l = dist_log_gamma_draw(a, P0, grad);
    ir_builder *b = a->b;
    ir_value *x = ir_divide(b, ir_exponential(b, l), P1);
    return x ? ir_maximum(b, x, ex_num(b, x, smallest(x->type->dtype))) : NULL;
}
static ir_value *gamma_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *l = ir_add(b, dist_xlogy(b, P0, P1), dist_xlogy(b, ex_plus(b, P0, -1), x));
    return ir_subtract(b, ir_subtract(b, l, ir_multiply(b, P1, x)), ir_chlo_lgamma(b, P0));
}
static ir_value *gamma_cdf(dist_args *a, ir_value *x) {
    return dist_igamma(a, P0, ir_multiply(a->b, P1, x));
}
static ir_value *gamma_mean(dist_args *a) {
    return ir_divide(a->b, P0, P1);
}
static ir_value *gamma_variance(dist_args *a) {
    return ir_divide(a->b, P0, ir_multiply(a->b, P1, P1));
}
static ir_value *gamma_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *l = ir_add(b, ir_subtract(b, P0, ir_log(b, P1)), ir_chlo_lgamma(b, P0));
    return ir_add(b, l, ir_multiply(b, ir_subtract(b, ex_num(b, P0, 1), P0), ir_chlo_digamma(b, P0)));
}
static ir_value *gamma_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *pc = p->p[0], *pr = p->p[1], *qc = q->p[0], *qr = q->p[1];
    ir_value *rates = ir_multiply(b, qc, ir_log(b, ir_divide(b, pr, qr)));
    ir_value *gammas = ir_subtract(b, ir_chlo_lgamma(b, qc), ir_chlo_lgamma(b, pc));
    ir_value *shapes = ir_multiply(b, ir_subtract(b, pc, qc), ir_chlo_digamma(b, pc));
    ir_value *means = ir_multiply(b, ir_subtract(b, qr, pr), ir_divide(b, pc, pr));
    return ir_add(b, ir_add(b, rates, gammas), ir_add(b, shapes, means));
}
const dist_kind dist_gamma = {.name = "Gamma",
                              .n_params = 2,
                              .support = DIST_NONNEGATIVE,
                              .reparameterized = true,
                              .draw = gamma_draw,
                              .log_prob = gamma_log_prob,
                              .cdf = gamma_cdf,
                              .mean = gamma_mean,
                              .variance = gamma_variance,
                              .entropy = gamma_entropy,
                              .kl = gamma_kl};

/* --- beta --- */
/* One gamma draw over the sum of two, by their logarithms: small concentrations give numbers near 0 or 1, not NaN. */
static ir_value *beta_draw(dist_args *a, bool grad) {
    ir_value *one = dist_log_gamma_draw(a, P0, grad), *other = dist_log_gamma_draw(a, P1, grad);
    ir_builder *b = a->b;
    ir_value *x = ir_logistic(b, ir_subtract(b, one, other));
    if (!x) return NULL;
    xt_dtype t = x->type->dtype;
    ir_value *hi = ex_num(b, x, t == XT_F64 ? 1 - 0x1p-53 : 1 - 0x1p-24);
    return ir_minimum(b, ir_maximum(b, x, ex_num(b, x, smallest(t))), hi);
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
