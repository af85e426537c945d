/* Counts of trials: negative binomial (successes before so many failures: total_count, log odds) and multinomial (how
 * often each of K came in a->count trials: logarithms of probabilities, probabilities, [...,K]). */
#include "distributions/dist.h"

/* --- negative binomial --- */
#define TOTAL a->p[0]
#define ODDS a->p[1]
/* A Poisson number whose rate is a gamma number. */
static ir_value *negative_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *total = ex_detach(a->b, TOTAL), *some = ex_is(a->b, total, IR_GT, 0);
    ir_value *l = total ? dist_log_gamma_draw(a, ex_keep(a->b, some, total, 1), false) : NULL;
    if (!l) return NULL;
    dist_args rate = *a;
    rate.p[0] = ex_keep(a->b, some, ir_exponential(a->b, ir_add(a->b, l, ODDS)), 0);
    ir_value *x = rate.p[0] ? dist_poisson.draw(&rate, false) : NULL;
    a->b = rate.b;
    return x;
}
static ir_value *negative_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *l = ir_multiply(b, TOTAL, dist_softplus(b, ODDS));
    l = ir_negate(b, ir_add(b, l, ir_multiply(b, x, dist_softplus(b, ir_negate(b, ODDS)))));
    /* no failure to wait for, and no success: certain, where both gammas are infinite */
    ir_value *sure = ex_is(b, ir_add(b, TOTAL, x), IR_EQ, 0), *total = ex_keep(b, ir_not(b, sure), TOTAL, 1);
    ir_value *ways = ir_subtract(b, ir_chlo_lgamma(b, ir_add(b, total, x)), ir_chlo_lgamma(b, ex_plus(b, x, 1)));
    ways = ir_subtract(b, ways, ir_chlo_lgamma(b, total));
    return ir_add(b, l, ex_keep(b, ir_not(b, sure), ways, 0));
}
static ir_value *negative_mean(dist_args *a) {
    return ir_multiply(a->b, TOTAL, ir_exponential(a->b, ODDS));
}
static ir_value *negative_variance(dist_args *a) {
    return ir_divide(a->b, negative_mean(a), ir_logistic(a->b, ir_negate(a->b, ODDS)));
}
const dist_kind dist_negative_binomial = {.name = "NegativeBinomial",
                                          .n_params = 2,
                                          .support = DIST_COUNTS,
                                          .draw = negative_draw,
                                          .log_prob = negative_log_prob,
                                          .mean = negative_mean,
                                          .variance = negative_variance};

/* --- multinomial --- */
#define LOGS a->p[0]
#define PROBS a->p[1]
static int64_t last_of(const ir_value *x) {
    return (int64_t)x->type->rank - 1;
}
static xt_tensor handed(dist_args *a, ir_value *v) {
    return lazy_wrap(v, a->what);
}
static ir_value *taken(dist_args *a, xt_tensor t) {
    a->b = lazy_begin(a->src);
    return lazy_value(t);
}
/* x [...] and y [...] at their dims with one more, of n: x's numbers along it, or y's. */
static ir_value *at_dims(ir_builder *b, ir_value *x, const ir_type *wide, int64_t skip) {
    int64_t axes[XT_MAX_RANK];
    if (!x || !wide) return NULL;
    for (int64_t i = 0, k = 0; i < wide->rank; i++)
        if (i != skip) axes[k++] = i;
    return ir_broadcast_in_dim(b, x, ir_with_dtype(wide, x->type->dtype), x->type->rank, axes);
}
/* Each trial is a uniform number; how many of them lie below each of the sums of probabilities. */
static ir_value *multinomial_draw(dist_args *a, bool grad) {
    (void)grad;
    if (a->count == 0) return ex_num(a->b, PROBS, 0);
    int64_t dims[XT_MAX_RANK], last = last_of(PROBS);
    if (last + 2 > XT_MAX_RANK) return NULL;
    ir_value *sums = taken(a, xt_cumsum_at(a->src, handed(a, ex_detach(a->b, PROBS)), -1));
    memcpy(dims, PROBS->type->dims, (size_t)last * sizeof *dims);
    dims[last] = a->count;
    dist_args trials = *a;
    trials.t = ir_tensor(PROBS->type->dtype, (size_t)last + 1, dims);
    ir_value *u = dist_uniforms(&trials);
    ir_builder *b = a->b = trials.b;
    if (!u || !sums) return NULL;
    int64_t k = PROBS->type->dims[last];
    u = ir_multiply(b, u, ops_spread(b, ops_squeeze(b, ops_part(b, sums, last, k - 1, k), last), u->type, last));
    dims[last] = k;
    dims[last + 1] = a->count;
    const ir_type *wide = ir_tensor(PROBS->type->dtype, (size_t)last + 2, dims);
    ir_value *below = ir_compare(b, IR_LE, at_dims(b, u, wide, last), at_dims(b, sums, wide, last + 1));
    below = dist_sum_last(b, ir_convert(b, below, PROBS->type->dtype), 1);
    ir_value *before = below && k > 1 ? ops_part(b, below, last, 0, k - 1) : NULL, *rest = below;
    if (k > 1 && below) {
        ir_value *parts[2] = {ops_part(b, below, last, 0, 1), ir_subtract(b, ops_part(b, below, last, 1, k), before)};
        rest = parts[0] && parts[1] ? ir_concatenate(b, 2, parts, last) : NULL;
    }
    return rest;
}
static ir_value *multinomial_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *none = ir_and(b, ex_is(b, x, IR_EQ, 0), ex_is(b, LOGS, IR_EQ, -INFINITY));
    ir_value *power = ir_multiply(b, x, ex_keep(b, ir_not(b, none), LOGS, 0));
    ir_value *all = ir_chlo_lgamma(b, ex_plus(b, dist_sum_last(b, x, 1), 1));
    ir_value *each = ir_subtract(b, power, ir_chlo_lgamma(b, ex_plus(b, x, 1)));
    return ir_add(b, all, dist_sum_last(b, each, 1));
}
static ir_value *multinomial_mean(dist_args *a) {
    return ex_times(a->b, PROBS, (double)a->count);
}
static ir_value *multinomial_variance(dist_args *a) {
    ir_value *rest = ir_subtract(a->b, ex_num(a->b, PROBS, 1), PROBS);
    return ex_times(a->b, ir_multiply(a->b, PROBS, rest), (double)a->count);
}
/* By the marginal distributions, which are binomial: a sum over all counts, as PyTorch's. */
static ir_value *multinomial_entropy(dist_args *a) {
    ir_builder *b = a->b;
    double n = (double)a->count;
    ir_value *none = ex_is(b, PROBS, IR_EQ, 0);
    ir_value *one = dist_sum_last(b, ir_multiply(b, PROBS, ex_keep(b, ir_not(b, none), LOGS, 0)), 1);
    ir_value *e = ex_plus(b, ex_times(b, one, -n), -lgamma(n + 1));
    int64_t dims[XT_MAX_RANK], last = PROBS ? last_of(PROBS) : 0;
    if (!e || last + 2 > XT_MAX_RANK || a->count == 0) return e;
    memcpy(dims, PROBS->type->dims, PROBS->type->rank * sizeof *dims);
    dims[last + 1] = a->count;
    const ir_type *wide = ir_tensor(PROBS->type->dtype, (size_t)last + 2, dims);
    dist_args each = *a;
    ir_value *odds = ir_subtract(b, ir_log(b, PROBS), ir_log_plus_one(b, ir_negate(b, PROBS)));
    each.p[0] = at_dims(b, odds, wide, last + 1);
    each.p[1] = at_dims(b, PROBS, wide, last + 1);
    ir_value *k = wide ? ex_plus(b, ir_iota(b, wide, last + 1), 1) : NULL;
    ir_value *p = each.p[0] && k ? ir_exponential(b, dist_binomial.log_prob(&each, k)) : NULL;
    return ir_add(b, e, dist_sum_last(b, ir_multiply(b, p, ir_chlo_lgamma(b, ex_plus(b, k, 1))), 2));
}
const dist_kind dist_multinomial = {.name = "Multinomial",
                                    .n_params = 2,
                                    .dims = {1, 1},
                                    .event = 1,
                                    .support = DIST_OWN,
                                    .draw = multinomial_draw,
                                    .log_prob = multinomial_log_prob,
                                    .mean = multinomial_mean,
                                    .variance = multinomial_variance,
                                    .entropy = multinomial_entropy};
