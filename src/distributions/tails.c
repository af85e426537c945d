/* Distributions of which powers decide the tails. Parameters: Pareto: scale, alpha; generalized Pareto: loc, scale,
 * concentration; Weibull: scale, concentration; Kumaraswamy: concentration1, concentration0; inverse gamma:
 * concentration, rate; Fisher and Snedecor's F: df1, df2. What lies outside of a support that depends on parameters is
 * told by the formula itself. */
#include "distributions/dist.h"

#define P0 a->p[0]
#define P1 a->p[1]
#define P2 a->p[2]
static const double EULER = 0.57721566490153286061;

static ir_value *inverse_of(ir_builder *b, ir_value *x) {
    return ir_divide(b, ex_num(b, x, 1), x);
}
/* log(1 - q) */
static ir_value *log_rest(ir_builder *b, ir_value *q) {
    return ir_log_plus_one(b, ir_negate(b, q));
}
/* 1 - e^l */
static ir_value *one_less_exp(ir_builder *b, ir_value *l) {
    return ir_negate(b, ir_exponential_minus_one(b, l));
}
/* v where ok holds or x is NaN, else a number. */
static ir_value *where_known(ir_builder *b, ir_value *ok, ir_value *x, ir_value *v, double otherwise) {
    return ex_keep(b, ir_or(b, ok, x ? ir_compare(b, IR_NE, x, x) : NULL), v, otherwise);
}

/* --- Pareto: from scale on --- */
static ir_value *pareto_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    return ir_multiply(b, P0, ir_exponential(b, ir_negate(b, ir_divide(b, log_rest(b, q), P1))));
}
static ir_value *pareto_draw(dist_args *a, bool grad) {
    (void)grad;
    return pareto_icdf(a, dist_uniforms(a));
}
static ir_value *pareto_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *ok = x ? ir_compare(b, IR_GE, x, P0) : NULL, *at = ex_pick(b, ok, x, P0);
    ir_value *l = ir_subtract(b, ir_log(b, P1), ir_multiply(b, P1, ir_log(b, ir_divide(b, at, P0))));
    return where_known(b, ok, x, ir_subtract(b, l, ir_log(b, where_known(b, ok, x, x, 1))), -INFINITY);
}
static ir_value *pareto_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *ok = x ? ir_compare(b, IR_GE, x, P0) : NULL, *at = ex_pick(b, ok, x, P0);
    ir_value *l = ir_negate(b, ir_multiply(b, P1, ir_log(b, ir_divide(b, at, P0))));
    return where_known(b, ok, x, one_less_exp(b, l), 0);
}
static ir_value *pareto_mean(dist_args *a) {
    ir_value *alpha = ir_maximum(a->b, P1, ex_num(a->b, P1, 1));
    return ir_divide(a->b, ir_multiply(a->b, alpha, P0), ex_plus(a->b, alpha, -1));
}
static ir_value *pareto_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *alpha = ir_maximum(b, P1, ex_num(b, P1, 2)), *less = ex_plus(b, alpha, -1);
    ir_value *below = ir_multiply(b, ir_multiply(b, less, less), ex_plus(b, alpha, -2));
    return ir_divide(b, ir_multiply(b, ir_multiply(b, P0, P0), alpha), below);
}
static ir_value *pareto_entropy(dist_args *a) {
    return ex_plus(a->b, ir_add(a->b, ir_log(a->b, ir_divide(a->b, P0, P1)), inverse_of(a->b, P1)), 1);
}
/* Infinite where p reaches below q. */
static ir_value *pareto_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *scales = ir_divide(b, p->p[0], q->p[0]), *alphas = ir_divide(b, q->p[1], p->p[1]);
    ir_value *l = ir_subtract(b, ir_multiply(b, q->p[1], ir_log(b, scales)), ir_log(b, alphas));
    ir_value *inside = ir_not(b, scales ? ir_compare(b, IR_LT, p->p[0], q->p[0]) : NULL);
    return ex_keep(b, inside, ex_plus(b, ir_add(b, l, alphas), -1), INFINITY);
}
const dist_kind dist_pareto = {.name = "Pareto",
                               .n_params = 2,
                               .support = DIST_OWN,
                               .reparameterized = true,
                               .draw = pareto_draw,
                               .log_prob = pareto_log_prob,
                               .cdf = pareto_cdf,
                               .icdf = pareto_icdf,
                               .mean = pareto_mean,
                               .variance = pareto_variance,
                               .entropy = pareto_entropy,
                               .kl = pareto_kl};

/* --- generalized Pareto: an exponential distribution where the concentration is 0 --- */
static ir_value *is_exponential(dist_args *a) {
    return ex_is(a->b, ir_abs(a->b, P2), IR_LE, 1e-8);
}
static ir_value *safe_concentration(dist_args *a) {
    return ex_keep(a->b, ir_not(a->b, is_exponential(a)), P2, 1);
}
static ir_value *general_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    ir_value *l = log_rest(b, q), *c = safe_concentration(a);
    ir_value *other = ir_divide(b, ir_exponential_minus_one(b, ir_negate(b, ir_multiply(b, c, l))), c);
    return ir_add(b, P0, ir_multiply(b, P1, ex_pick(b, is_exponential(a), ir_negate(b, l), other)));
}
static ir_value *general_draw(dist_args *a, bool grad) {
    (void)grad;
    return general_icdf(a, dist_uniforms(a));
}
/* log(1 + c z), and it over c (z for c = 0), of a value inside. */
typedef struct general_log {
    ir_value *ok, *whole, *over_c; /* ok: whether it is inside */
} general_log;
static general_log general_log_of(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *z = dist_standard(b, x, P0, P1), *c = safe_concentration(a), *zero = is_exponential(a);
    ir_value *cz = ir_multiply(b, c, z);
    ir_value *ok = ir_and(b, ex_is(b, z, IR_GE, 0), ir_or(b, zero, ex_is(b, cz, IR_GT, -1)));
    ir_value *l = ir_log_plus_one(b, where_known(b, ok, x, cz, 0));
    return (general_log){ok, ex_keep(b, ir_not(b, zero), l, 0), ex_pick(b, zero, z, ir_divide(b, l, c))};
}
/* (1 + c) log(1 + c z) / c as a sum of two, neither of which is rounded twice. */
static ir_value *general_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    general_log l = general_log_of(a, x);
    ir_value *sum = ir_add(b, ir_add(b, l.whole, ir_log(b, P1)), l.over_c);
    return where_known(b, l.ok, x, ir_negate(b, sum), -INFINITY);
}
static ir_value *general_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    general_log l = general_log_of(a, x);
    ir_value *above = ir_convert(b, x ? ir_compare(b, IR_GE, x, P0) : NULL, x ? x->type->dtype : XT_F32);
    ir_value *known = ir_or(b, l.ok, x ? ir_compare(b, IR_NE, x, x) : NULL);
    return ex_pick(b, known, one_less_exp(b, ir_negate(b, l.over_c)), above);
}
static ir_value *general_mean(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *ok = ex_is(b, P2, IR_LT, 1), *rest = ir_subtract(b, ex_num(b, P2, 1), ex_keep(b, ok, P2, 0.5));
    return ex_keep(b, ok, ir_add(b, P0, ir_divide(b, P1, rest)), NAN);
}
static ir_value *general_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *ok = ex_is(b, P2, IR_LT, 0.5), *c = ex_keep(b, ok, P2, 0.25);
    ir_value *rest = ir_subtract(b, ex_num(b, c, 1), c), *twice = ex_plus(b, ex_times(b, c, -2), 1);
    ir_value *below = ir_multiply(b, ir_multiply(b, rest, rest), twice);
    return ex_keep(b, ok, ir_divide(b, ir_multiply(b, P1, P1), below), NAN);
}
static ir_value *general_entropy(dist_args *a) {
    return ex_plus(a->b, ir_add(a->b, ir_log(a->b, P1), P2), 1);
}
const dist_kind dist_generalized_pareto = {.name = "GeneralizedPareto",
                                           .n_params = 3,
                                           .support = DIST_OWN,
                                           .reparameterized = true,
                                           .draw = general_draw,
                                           .log_prob = general_log_prob,
                                           .cdf = general_cdf,
                                           .icdf = general_icdf,
                                           .mean = general_mean,
                                           .variance = general_variance,
                                           .entropy = general_entropy};

/* --- Weibull --- */
static ir_value *weibull_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    ir_value *l = ir_log(b, ir_negate(b, log_rest(b, q)));
    return ir_multiply(b, P0, ir_exponential(b, ir_divide(b, l, P1)));
}
static ir_value *weibull_draw(dist_args *a, bool grad) {
    (void)grad;
    return weibull_icdf(a, dist_uniforms(a));
}
static ir_value *weibull_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *r = ir_divide(b, x, P0), *power = ir_power(b, r, P1);
    ir_value *l = ir_add(b, ir_log(b, ir_divide(b, P1, P0)), dist_xlogy(b, ex_plus(b, P1, -1), r));
    return ir_subtract(b, l, power);
}
static ir_value *weibull_cdf(dist_args *a, ir_value *x) {
    return one_less_exp(a->b, ir_negate(a->b, ir_power(a->b, ir_divide(a->b, x, P0), P1)));
}
/* Gamma(1 + n / concentration) */
static ir_value *weibull_gamma(dist_args *a, double n) {
    ir_builder *b = a->b;
    return ir_exponential(b, ir_chlo_lgamma(b, ex_plus(b, ir_divide(b, ex_num(b, P1, n), P1), 1)));
}
static ir_value *weibull_mean(dist_args *a) {
    return ir_multiply(a->b, P0, weibull_gamma(a, 1));
}
static ir_value *weibull_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *one = weibull_gamma(a, 1), *v = ir_subtract(b, weibull_gamma(a, 2), ir_multiply(b, one, one));
    return ir_multiply(b, ir_multiply(b, P0, P0), v);
}
static ir_value *weibull_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *i = inverse_of(b, P1), *l = ir_log(b, ir_multiply(b, P0, i));
    return ex_plus(b, ir_subtract(b, l, ex_times(b, i, EULER)), 1 + EULER);
}
const dist_kind dist_weibull = {.name = "Weibull",
                                .n_params = 2,
                                .support = DIST_NONNEGATIVE,
                                .reparameterized = true,
                                .draw = weibull_draw,
                                .log_prob = weibull_log_prob,
                                .cdf = weibull_cdf,
                                .icdf = weibull_icdf,
                                .mean = weibull_mean,
                                .variance = weibull_variance,
                                .entropy = weibull_entropy};

/* --- Kumaraswamy: in [0,1] --- */
static ir_value *kumaraswamy_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    ir_value *power = one_less_exp(b, ir_divide(b, log_rest(b, q), P1));
    return ir_power(b, power, inverse_of(b, P0));
}
static ir_value *kumaraswamy_draw(dist_args *a, bool grad) {
    (void)grad;
    return kumaraswamy_icdf(a, dist_uniforms(a));
}
static ir_value *kumaraswamy_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *rest = ir_subtract(b, ex_num(b, x, 1), ir_power(b, x, P0));
    ir_value *l = ir_add(b, dist_xlogy(b, ex_plus(b, P0, -1), x), dist_xlogy(b, ex_plus(b, P1, -1), rest));
    return ir_add(b, l, ir_log(b, ir_multiply(b, P0, P1)));
}
static ir_value *kumaraswamy_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    x = ir_minimum(b, ir_maximum(b, x, ex_num(b, x, 0)), ex_num(b, x, 1));
    ir_value *rest = ir_subtract(b, ex_num(b, x, 1), ir_power(b, x, P0));
    return ir_subtract(b, ex_num(b, x, 1), ir_power(b, rest, P1));
}
/* E[x^n] */
static ir_value *kumaraswamy_moment(dist_args *a, double n) {
    ir_builder *b = a->b;
    ir_value *s = ex_plus(b, ir_divide(b, ex_num(b, P0, n), P0), 1);
    ir_value *l = ir_add(b, ir_add(b, ir_chlo_lgamma(b, s), ir_chlo_lgamma(b, P1)), ir_log(b, P1));
    return ir_exponential(b, ir_subtract(b, l, ir_chlo_lgamma(b, ir_add(b, s, P1))));
}
static ir_value *kumaraswamy_mean(dist_args *a) {
    return kumaraswamy_moment(a, 1);
}
static ir_value *kumaraswamy_variance(dist_args *a) {
    ir_value *m = kumaraswamy_moment(a, 1);
    return ir_subtract(a->b, kumaraswamy_moment(a, 2), ir_multiply(a->b, m, m));
}
static ir_value *kumaraswamy_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *h = ex_plus(b, ir_chlo_digamma(b, ex_plus(b, P1, 1)), EULER);
    ir_value *t1 = ir_subtract(b, ex_num(b, P0, 1), inverse_of(b, P0));
    ir_value *t0 = ir_subtract(b, ex_num(b, P1, 1), inverse_of(b, P1));
    return ir_subtract(b, ir_add(b, t0, ir_multiply(b, t1, h)), ir_log(b, ir_multiply(b, P0, P1)));
}
const dist_kind dist_kumaraswamy = {.name = "Kumaraswamy",
                                    .n_params = 2,
                                    .support = DIST_UNIT,
                                    .reparameterized = true,
                                    .draw = kumaraswamy_draw,
                                    .log_prob = kumaraswamy_log_prob,
                                    .cdf = kumaraswamy_cdf,
                                    .icdf = kumaraswamy_icdf,
                                    .mean = kumaraswamy_mean,
                                    .variance = kumaraswamy_variance,
                                    .entropy = kumaraswamy_entropy};

/* --- inverse gamma: 1 / a gamma number --- */
static ir_value *inverse_gamma_draw(dist_args *a, bool grad) {
    return inverse_of(a->b, dist_gamma.draw(a, grad));
}
static ir_value *inverse_gamma_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *l = ir_subtract(b, ir_multiply(b, P0, ir_log(b, P1)), ir_chlo_lgamma(b, P0));
    return ir_subtract(b, ir_subtract(b, l, ir_multiply(b, ex_plus(b, P0, 1), ir_log(b, x))), ir_divide(b, P1, x));
}
static ir_value *inverse_gamma_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *ok = ex_is(b, x, IR_GT, 0);
    ir_value *below = dist_igamma(a, P0, ir_divide(b, P1, where_known(b, ok, x, x, 1)));
    b = a->b;
    return where_known(b, ok, x, ex_plus(b, ir_negate(b, below), 1), 0);
}
static ir_value *inverse_gamma_mean(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *ok = ex_is(b, P0, IR_GT, 1);
    return ex_keep(b, ok, ir_divide(b, P1, ex_plus(b, ex_keep(b, ok, P0, 2), -1)), INFINITY);
}
static ir_value *inverse_gamma_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *ok = ex_is(b, P0, IR_GT, 2), *c = ex_keep(b, ok, P0, 3), *m = ir_divide(b, P1, ex_plus(b, c, -1));
    return ex_keep(b, ok, ir_divide(b, ir_multiply(b, m, m), ex_plus(b, c, -2)), INFINITY);
}
static ir_value *inverse_gamma_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *l = ir_add(b, ir_add(b, P0, ir_log(b, P1)), ir_chlo_lgamma(b, P0));
    return ir_subtract(b, l, ir_multiply(b, ex_plus(b, P0, 1), ir_chlo_digamma(b, P0)));
}
static ir_value *inverse_gamma_kl(dist_args *p, dist_args *q) {
    return dist_gamma.kl(p, q);
}
const dist_kind dist_inverse_gamma = {.name = "InverseGamma",
                                      .n_params = 2,
                                      .support = DIST_POSITIVE,
                                      .reparameterized = true,
                                      .draw = inverse_gamma_draw,
                                      .log_prob = inverse_gamma_log_prob,
                                      .cdf = inverse_gamma_cdf,
                                      .mean = inverse_gamma_mean,
                                      .variance = inverse_gamma_variance,
                                      .entropy = inverse_gamma_entropy,
                                      .kl = inverse_gamma_kl};

/* --- F: the ratio of two chi-squared numbers over their degrees of freedom --- */
static ir_value *fisher_draw(dist_args *a, bool grad) {
    ir_value *half[2] = {ex_times(a->b, P0, 0.5), ex_times(a->b, P1, 0.5)}, *l[2];
    for (int i = 0; i < 2; i++)
        if (!half[i] || !(l[i] = dist_log_gamma_draw(a, half[i], grad))) return NULL;
    ir_value *ratio = ir_exponential(a->b, ir_subtract(a->b, l[0], l[1]));
    return ir_multiply(a->b, ratio, ir_divide(a->b, half[1], half[0]));
}
static ir_value *fisher_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *one = ex_times(b, P0, 0.5), *other = ex_times(b, P1, 0.5), *both = ir_add(b, one, other);
    ir_value *ratio = ir_divide(b, P0, P1);
    ir_value *gammas = ir_add(b, ir_chlo_lgamma(b, one), ir_chlo_lgamma(b, other));
    ir_value *l = ir_subtract(b, ir_chlo_lgamma(b, both), gammas);
    l = ir_add(b, l, ir_multiply(b, one, ir_log(b, ratio)));
    l = ir_add(b, l, dist_xlogy(b, ex_plus(b, one, -1), x));
    return ir_subtract(b, l, ir_multiply(b, both, ir_log_plus_one(b, ir_multiply(b, ratio, x))));
}
static ir_value *fisher_mean(dist_args *a) {
    ir_value *ok = ex_is(a->b, P1, IR_GT, 2), *df = ex_keep(a->b, ok, P1, 3);
    return ex_keep(a->b, ok, ir_divide(a->b, df, ex_plus(a->b, df, -2)), NAN);
}
static ir_value *fisher_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *ok = ex_is(b, P1, IR_GT, 4), *df = ex_keep(b, ok, P1, 5), *less = ex_plus(b, df, -2);
    ir_value *above = ir_multiply(b, ex_times(b, ir_multiply(b, df, df), 2), ir_add(b, P0, less));
    ir_value *below = ir_multiply(b, ir_multiply(b, P0, ir_multiply(b, less, less)), ex_plus(b, df, -4));
    return ex_keep(b, ok, ir_divide(b, above, below), NAN);
}
const dist_kind dist_fisher_snedecor = {.name = "FisherSnedecor",
                                        .n_params = 2,
                                        .support = DIST_NONNEGATIVE,
                                        .reparameterized = true,
                                        .draw = fisher_draw,
                                        .log_prob = fisher_log_prob,
                                        .mean = fisher_mean,
                                        .variance = fisher_variance};
