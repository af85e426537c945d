/* Choices with gradients. The relaxed ones (Maddison, Mnih and Teh 2017) are logistic and Gumbel noise over a
 * temperature, here before the sigmoid or the exponential, which are layers: temperature, log odds; logarithms of
 * probabilities [...,K], temperature. The continuous Bernoulli distribution over [0,1] (Loaiza-Ganem and Cunningham
 * 2019): log odds, probability. */
#include "distributions/dist.h"

#define TEMPERATURE a->p[0]
#define ODDS a->p[1]

/* --- logit of a relaxed Bernoulli draw --- */
static ir_value *relaxed_bernoulli_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *u = dist_uniforms(a);
    ir_builder *b = a->b;
    ir_value *noise = u ? ir_subtract(b, ir_log(b, u), ir_log_plus_one(b, ir_negate(b, u))) : NULL;
    return ir_divide(b, ir_add(b, ODDS, noise), TEMPERATURE);
}
static ir_value *relaxed_bernoulli_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *d = ir_subtract(b, ODDS, ir_multiply(b, x, TEMPERATURE));
    return ir_subtract(b, ir_add(b, ir_log(b, TEMPERATURE), d), ex_times(b, dist_softplus(b, d), 2));
}
const dist_kind dist_relaxed_bernoulli = {.name = "LogitRelaxedBernoulli",
                                          .transformed = "RelaxedBernoulli",
                                          .n_params = 2,
                                          .reparameterized = true,
                                          .draw = relaxed_bernoulli_draw,
                                          .log_prob = relaxed_bernoulli_log_prob};
#undef TEMPERATURE
#undef ODDS

/* --- logarithm of a relaxed choice of K --- */
#define LOGS a->p[0]
static int64_t last_of(const ir_value *x) {
    return (int64_t)x->type->rank - 1;
}
static ir_value *temperature_over(dist_args *a, const ir_value *like) {
    return like ? ops_spread(a->b, a->p[1], like->type, last_of(like)) : NULL;
}
static ir_value *relaxed_choice_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *u = dist_uniforms(a);
    ir_builder *b = a->b;
    ir_value *noise = u ? ir_negate(b, ir_log(b, ir_negate(b, ir_log(b, u)))) : NULL;
    ir_value *score = ir_divide(b, ir_add(b, LOGS, noise), temperature_over(a, LOGS));
    return score ? ops_log_softmax(b, score, last_of(score)) : NULL;
}
static ir_value *relaxed_choice_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *score = ir_subtract(b, LOGS, ir_multiply(b, x, temperature_over(a, x)));
    if (!score) return NULL;
    double k = (double)score->type->dims[last_of(score)];
    ir_value *l = dist_sum_last(b, ops_log_softmax(b, score, last_of(score)), 1);
    return ex_plus(b, ir_add(b, l, ex_times(b, ir_log(b, a->p[1]), k - 1)), lgamma(k));
}
const dist_kind dist_relaxed_one_hot = {.name = "ExpRelaxedCategorical",
                                        .transformed = "RelaxedOneHotCategorical",
                                        .n_params = 2,
                                        .dims = {1, 0},
                                        .event = 1,
                                        .support = DIST_OWN,
                                        .reparameterized = true,
                                        .draw = relaxed_choice_draw,
                                        .log_prob = relaxed_choice_log_prob};
#undef LOGS

/* --- continuous Bernoulli; its formulas divide 0 by 0 at a half --- */
#define ODDS a->p[0]
#define PROB a->p[1]
static ir_value *apart(dist_args *a) {
    ir_builder *b = a->b;
    return ir_or(b, ex_is(b, PROB, IR_LE, 0.499), ex_is(b, PROB, IR_GT, 0.501));
}
static ir_value *cut(dist_args *a) {
    return ex_keep(a->b, apart(a), PROB, 0.499);
}
/* log(1 - p) - log p */
static ir_value *log_against(ir_builder *b, ir_value *p) {
    return ir_subtract(b, ir_log_plus_one(b, ir_negate(b, p)), ir_log(b, p));
}
/* With z = 2 p - 1: atanh(z) / z, and what it is above 1, over z^2: a series near 0, where both are 0 / 0. */
static ir_value *atanh_ratio(dist_args *a, ir_value **above) {
    ir_builder *b = a->b;
    ir_value *z = ex_plus(b, ex_times(b, PROB, 2), -1), *near = ex_is(b, ir_abs(b, z), IR_LT, 0.25);
    ir_value *small = ex_keep(b, near, z, 0), *square = ir_multiply(b, small, small), *q = ex_num(b, z, 1.0 / 27);
    for (int k = 25; k >= 3; k -= 2) q = ex_plus(b, ir_multiply(b, q, square), 1.0 / k);
    ir_value *p = ex_keep(b, ir_not(b, near), PROB, 0.75), *far = ex_plus(b, ex_times(b, p, 2), -1);
    ir_value *ratio = ir_divide(b, ex_times(b, log_against(b, p), -0.5), far);
    *above = ex_pick(b, near, q, ir_divide(b, ex_plus(b, ratio, -1), ir_multiply(b, far, far)));
    return ex_pick(b, near, ex_plus(b, ir_multiply(b, q, square), 1), ratio);
}
static ir_value *log_norm(dist_args *a) {
    ir_value *q, *ratio = atanh_ratio(a, &q);
    return ex_plus(a->b, ir_log(a->b, ratio), M_LN2);
}
/* log(1 + t) / t, and (e^t - 1) / t: series near 0, where quotients and their slopes lose digits. */
static ir_value *log_share(ir_builder *b, ir_value *t) {
    ir_value *near = ex_is(b, ir_abs(b, t), IR_LT, 0.25), *x = ex_keep(b, near, t, 0), *y = ex_num(b, t, 1.0 / 27);
    for (int k = 26; k >= 1; k--) y = ex_plus(b, ir_negate(b, ir_multiply(b, y, x)), 1.0 / k);
    ir_value *far = ex_keep(b, ir_not(b, near), t, 1);
    return ex_pick(b, near, y, ir_divide(b, ir_log_plus_one(b, far), far));
}
static ir_value *exp_share(ir_builder *b, ir_value *t) {
    ir_value *near = ex_is(b, ir_abs(b, t), IR_LT, 0.5), *x = ex_keep(b, near, t, 0), *y = ex_num(b, t, 1);
    for (int k = 15; k >= 2; k--) y = ex_plus(b, ex_over(b, ir_multiply(b, y, x), k), 1);
    ir_value *far = ex_keep(b, ir_not(b, near), t, 1);
    return ex_pick(b, near, y, ir_divide(b, ir_exponential_minus_one(b, far), far));
}
/* Close to a half the distribution is as good as uniform, here as in PyTorch. */
static ir_value *continuous_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    ir_value *above, *ratio = atanh_ratio(a, &above), *p = cut(a);
    ir_value *share = ir_divide(b, q, ir_subtract(b, ex_num(b, p, 1), p));
    ir_value *t = ir_multiply(b, ex_plus(b, ex_times(b, p, 2), -1), share);
    ir_value *x = ir_divide(b, ir_multiply(b, log_share(b, t), share), ex_times(b, ratio, 2));
    return ex_pick(b, apart(a), x, q);
}
static ir_value *continuous_draw(dist_args *a, bool grad) {
    (void)grad;
    return continuous_icdf(a, dist_uniforms(a));
}
static ir_value *continuous_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    return ir_add(b, ir_subtract(b, ir_multiply(b, x, ODDS), dist_softplus(b, ODDS)), log_norm(a));
}
static ir_value *continuous_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *above, *ratio = atanh_ratio(a, &above), *p = cut(a);
    ir_value *at = ir_minimum(b, ir_maximum(b, x, ex_num(b, x, 0)), ex_num(b, x, 1));
    ir_value *t = ir_negate(b, ir_multiply(b, log_against(b, p), at));
    ir_value *y = ex_times(b, ir_multiply(b, ir_multiply(b, at, ratio), exp_share(b, t)), 2);
    y = ir_multiply(b, y, ir_subtract(b, ex_num(b, p, 1), p));
    return ex_pick(b, apart(a), y, at);
}
static ir_value *continuous_mean(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *q, *ratio = atanh_ratio(a, &q), *z = ex_plus(b, ex_times(b, PROB, 2), -1);
    return ex_plus(b, ex_times(b, ir_divide(b, ir_multiply(b, z, q), ratio), 0.5), 0.5);
}
static ir_value *continuous_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *q, *ratio = atanh_ratio(a, &q);
    ir_value *v = ir_divide(b, ir_multiply(b, q, ex_plus(b, ratio, 1)), ir_multiply(b, ratio, ratio));
    return ex_plus(b, ex_times(b, v, -0.25), 0.25);
}
static ir_value *continuous_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *e = ir_multiply(b, continuous_mean(a), log_against(b, PROB));
    return ir_subtract(b, ir_subtract(b, e, log_norm(a)), ir_log_plus_one(b, ir_negate(b, PROB)));
}
static ir_value *continuous_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *odds = ir_multiply(b, continuous_mean(p), ir_subtract(b, p->p[0], q->p[0]));
    ir_value *one = ir_add(b, log_norm(p), ir_log_plus_one(b, ir_negate(b, p->p[1])));
    ir_value *other = ir_add(b, log_norm(q), ir_log_plus_one(b, ir_negate(b, q->p[1])));
    return ir_add(b, odds, ir_subtract(b, one, other));
}
const dist_kind dist_continuous_bernoulli = {.name = "ContinuousBernoulli",
                                             .n_params = 2,
                                             .support = DIST_UNIT,
                                             .reparameterized = true,
                                             .draw = continuous_draw,
                                             .log_prob = continuous_log_prob,
                                             .cdf = continuous_cdf,
                                             .icdf = continuous_icdf,
                                             .mean = continuous_mean,
                                             .variance = continuous_variance,
                                             .entropy = continuous_entropy,
                                             .kl = continuous_kl};
