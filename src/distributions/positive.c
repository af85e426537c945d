/* Distributions over positive numbers. Parameters: a scale or a rate; of gamma: concentration, rate. */
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
static ir_value *gamma_draw(dist_args *a, bool grad) {
    ir_value *l = dist_log_gamma_draw(a, P0, grad);
    ir_builder *b = a->b;
    ir_value *x = ir_divide(b, ir_exponential(b, l), P1);
    return x ? ir_maximum(b, x, ex_num(b, x, dist_smallest(x->type->dtype))) : NULL;
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
