/* Distributions over 0, 1, 2, ...: Bernoulli, geometric and binomial with p[0] the log odds and p[1] the probability of
 * success, Poisson with a rate.
 *
 * Draws of a binomial (a Poisson) number with a mean below 10 go through the distribution function from 0 on; others
 * are Hörmann's transformed rejection (1993, BTRS and PTRS). Both are rounds of one loop. Log-probabilities there are
 * written by deviances from the mean, which keep their digits in f32 where n log n would not. */
#include "distributions/dist.h"

#define ODDS a->p[0]
#define PROB a->p[1]
#define RATE a->p[0]

/* --- Bernoulli --- */
static ir_value *bernoulli_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *u = dist_uniforms(a);
    return u ? ir_convert(a->b, ir_compare(a->b, IR_LT, u, PROB), a->t->dtype) : NULL;
}
static ir_value *bernoulli_log_prob(dist_args *a, ir_value *x) {
    return ir_subtract(a->b, ir_multiply(a->b, x, ODDS), dist_softplus(a->b, ODDS));
}
static ir_value *bernoulli_mean(dist_args *a) {
    return ops_copy(a->b, PROB);
}
static ir_value *bernoulli_variance(dist_args *a) {
    return ir_multiply(a->b, PROB, ir_subtract(a->b, ex_num(a->b, PROB, 1), PROB));
}
static ir_value *bernoulli_entropy(dist_args *a) {
    return ir_subtract(a->b, dist_softplus(a->b, ODDS), ir_multiply(a->b, PROB, ODDS));
}
static ir_value *bernoulli_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *no = ir_subtract(b, ex_num(b, p->p[1], 1), p->p[1]);
    ir_value *yes = ir_subtract(b, dist_softplus(b, ir_negate(b, q->p[0])), dist_softplus(b, ir_negate(b, p->p[0])));
    ir_value *not = ir_subtract(b, dist_softplus(b, q->p[0]), dist_softplus(b, p->p[0]));
    /* an outcome that q does not have, and p has: infinite, whatever the odds of a 0 are written as */
    yes = ex_keep(b, ex_is(b, q->p[1], IR_NE, 0), yes, INFINITY);
    not = ex_keep(b, ex_is(b, q->p[1], IR_NE, 1), not, INFINITY);
    yes = ex_pick(b, ex_is(b, p->p[1], IR_EQ, 0), ex_num(b, yes, 0), ir_multiply(b, p->p[1], yes));
    return ir_add(b, yes, ex_pick(b, ex_is(b, p->p[1], IR_EQ, 1), ex_num(b, yes, 0), ir_multiply(b, no, not )));
}
const dist_kind dist_bernoulli = {.name = "Bernoulli",
                                  .n_params = 2,
                                  .support = DIST_COUNTS,
                                  .draw = bernoulli_draw,
                                  .log_prob = bernoulli_log_prob,
                                  .mean = bernoulli_mean,
                                  .variance = bernoulli_variance,
                                  .entropy = bernoulli_entropy,
                                  .kl = bernoulli_kl};

/* --- geometric: failures before the first success --- */
static ir_value *log_failure(dist_args *a) {
    return ir_log_plus_one(a->b, ir_negate(a->b, PROB));
}
static ir_value *geometric_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *u = dist_uniforms(a);
    return u ? ir_floor(a->b, ir_divide(a->b, ir_log(a->b, u), log_failure(a))) : NULL;
}
static ir_value *geometric_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *sure = ir_and(b, ex_is(b, PROB, IR_EQ, 1), ex_is(b, x, IR_EQ, 0));
    ir_value *fails = ir_multiply(b, x, ex_keep(b, ir_not(b, sure), log_failure(a), 0));
    return ir_add(b, fails, ir_log(b, PROB));
}
static ir_value *geometric_mean(dist_args *a) {
    return ex_plus(a->b, ir_divide(a->b, ex_num(a->b, PROB, 1), PROB), -1);
}
static ir_value *geometric_variance(dist_args *a) {
    return ir_divide(a->b, geometric_mean(a), PROB);
}
static ir_value *geometric_entropy(dist_args *a) {
    return ir_divide(a->b, bernoulli_entropy(a), PROB);
}
static ir_value *geometric_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *fails = ir_divide(b, ir_log_plus_one(b, ir_negate(b, q->p[1])), p->p[1]);
    return ir_negate(b, ir_add(b, ir_add(b, geometric_entropy(p), fails), q->p[0]));
}
const dist_kind dist_geometric = {.name = "Geometric",
                                  .n_params = 2,
                                  .support = DIST_COUNTS,
                                  .draw = geometric_draw,
                                  .log_prob = geometric_log_prob,
                                  .mean = geometric_mean,
                                  .variance = geometric_variance,
                                  .entropy = geometric_entropy,
                                  .kl = geometric_kl};

/* --- draws of counts --- */
/* (1 + z) log(1 + z) - z; m times it is the deviance of a count m (1 + z) from a mean m. */
static ir_value *deviance(ir_builder *b, ir_value *count, ir_value *mean) {
    ir_value *z = ir_divide(b, ir_subtract(b, count, mean), mean), *none = ex_is(b, count, IR_EQ, 0);
    ir_value *l = ir_log_plus_one(b, ex_pick(b, none, ex_num(b, z, 0), z));
    ir_value *d = ir_subtract(b, ir_multiply(b, ex_plus(b, z, 1), l), z);
    return ir_multiply(b, mean, ex_pick(b, none, ex_num(b, z, 1), d));
}
/* log k! - (k log k - k), by Stirling's series; 0 for k = 0. */
static ir_value *factorial_rest(ir_builder *b, ir_value *k) {
    ir_value *some = ex_is(b, k, IR_GT, 0), *c = ex_keep(b, some, k, 1);
    ir_value *i = ir_divide(b, ex_num(b, k, 1), c);
    ir_value *series = ir_multiply(b, i, ex_plus(b, ex_times(b, ir_multiply(b, i, i), -1.0 / 360), 1.0 / 12));
    ir_value *rest = ir_add(b, ex_times(b, ir_log(b, ex_times(b, c, 2 * M_PI)), 0.5), series);
    return ex_keep(b, some, rest, 0);
}

typedef struct count_draw {
    int64_t n; /* of the binomial; 0: Poisson */
    ir_value *mean, *p, *u; /* p: of the binomial, at most 1/2 */
    ir_value *large, *a, *b, *v_r, *alpha, *at_mode, *shift;
} count_draw;

/* Of the binomial less what does not depend on k; of Poisson the whole. */
static ir_value *log_mass(ir_builder *b, const count_draw *c, ir_value *k) {
    ir_value *l = ir_add(b, deviance(b, k, c->mean), factorial_rest(b, k));
    if (c->n) {
        ir_value *misses = ir_subtract(b, ex_num(b, k, (double)c->n), k);
        ir_value *miss_mean = ir_subtract(b, ex_num(b, k, (double)c->n), c->mean);
        l = ir_add(b, l, ir_add(b, deviance(b, misses, miss_mean), factorial_rest(b, misses)));
    }
    return ir_negate(b, l);
}

/* What a count's probability is times that of the count before it. */
static ir_value *next_ratio(ir_builder *b, const count_draw *c, ir_value *k) {
    ir_value *after = ex_plus(b, k, 1);
    if (!c->n) return ir_divide(b, c->mean, after);
    ir_value *odds = ir_divide(b, c->p, ir_subtract(b, ex_num(b, k, 1), c->p));
    return ir_multiply(b, odds, ir_divide(b, ir_subtract(b, ex_num(b, k, (double)c->n), k), after));
}

/* state: done, k, probability of k, probability of at most k. */
static void count_round(ir_builder *b, ir_value *words, ir_value *round, ir_value *const *state, ir_value **out,
                        void *user) {
    const count_draw *c = user;
    xt_dtype t = c->mean->type->dtype;
    (void)round;
    ir_value *u = ex_plus(b, dist_word_uniform(b, words, 0, t), -0.5), *v = dist_word_uniform(b, words, 1, t);
    ir_value *us = ir_subtract(b, ex_num(b, u, 0.5), ir_abs(b, u));
    ir_value *slope = ir_add(b, ir_divide(b, ex_times(b, c->a, 2), us), c->b);
    ir_value *k = ir_floor(b, ir_add(b, ir_multiply(b, slope, u), c->shift));
    ir_value *sure = ir_and(b, ex_is(b, us, IR_GE, 0.07), ir_compare(b, IR_LE, v, c->v_r));
    ir_value *valid = ex_is(b, k, IR_GE, 0);
    if (c->n) valid = ir_and(b, valid, ex_is(b, k, IR_LE, (double)c->n));
    ir_value *curve = ir_add(b, ir_divide(b, c->a, ir_multiply(b, us, us)), c->b);
    ir_value *height = ir_log(b, ir_divide(b, ir_multiply(b, v, c->alpha), curve));
    ir_value *mass = ir_subtract(b, log_mass(b, c, ex_keep(b, valid, k, 0)), c->at_mode);
    ir_value *taken = ir_and(b, valid, ir_or(b, sure, ir_compare(b, IR_LE, height, mass)));
    /* The other way. Its sum may stay below u by rounding: it ends where probabilities vanish, behind the mean. */
    ir_value *vanished = ir_and(b, ir_compare(b, IR_GT, state[1], c->mean), ex_is(b, state[2], IR_LT, 1e-10));
    ir_value *reached = ir_or(b, ir_compare(b, IR_LT, c->u, state[3]), vanished);
    ir_value *done = ir_or(b, state[0], ir_select(b, c->large, taken, reached));
    ir_value *p = ir_multiply(b, state[2], next_ratio(b, c, state[1]));
    ir_value *next = ex_pick(b, c->large, k, ex_plus(b, state[1], 1));
    ir_value *last = ex_pick(b, c->large, k, state[1]);
    out[0] = done;
    out[1] = ex_pick(b, state[0], state[1], ex_pick(b, done, last, next));
    out[2] = ex_pick(b, done, state[2], p);
    out[3] = ex_pick(b, done, state[3], ir_add(b, state[3], p));
}

/* With a mean below 10 a count above 60 has a probability of 1e-26; a round of the rejection takes 0.7 or more. */
enum { COUNT_ROUNDS = 96 };
static const double SMALL_MEAN = 10;

static ir_value *draw_counts(dist_args *a, count_draw *c) {
    ir_builder *b = a->b;
    dist_args of = *a;
    of.t = c->mean->type;
    c->u = dist_uniforms(&of);
    b = a->b = lazy_begin(a->src);
    ir_value *none = c->n ? ir_exponential(b, ex_times(b, ir_log_plus_one(b, ir_negate(b, c->p)), (double)c->n))
                          : ir_exponential(b, ir_negate(b, c->mean));
    int64_t dims[XT_MAX_RANK] = {2};
    if (!c->u || !none || of.t->rank + 1 > XT_MAX_RANK) return NULL;
    memcpy(dims + 1, of.t->dims, of.t->rank * sizeof *dims);
    ir_value *state[4] = {ir_splat(b, ir_with_dtype(of.t, XT_BOOL), 0), ex_num(b, c->mean, 0), none, none};
    dist_rounds r = {.n = 4,
                     .state = state,
                     .most = COUNT_ROUNDS,
                     .word_type = ir_tensor(XT_U32, of.t->rank + 1, dims),
                     .next = count_round,
                     .user = c};
    return dist_rounds_run(a, &r) ? state[1] : NULL;
}

/* --- binomial --- */
static ir_value *binomial_draw(dist_args *a, bool grad) {
    ir_builder *b = a->b;
    double n = (double)a->count;
    (void)grad;
    if (a->count == 0) return ex_num(b, PROB, 0);
    ir_value *prob = ex_detach(b, PROB), *flip = ex_is(b, prob, IR_GT, 0.5);
    ir_value *p = ex_pick(b, flip, ir_subtract(b, ex_num(b, prob, 1), prob), prob);
    count_draw c = {.n = a->count, .p = p, .mean = ex_times(b, p, n)};
    ir_value *q = p ? ir_subtract(b, ex_num(b, p, 1), p) : NULL;
    c.large = ex_is(b, c.mean, IR_GE, SMALL_MEAN);
    ir_value *spread = ir_sqrt(b, ir_multiply(b, ex_keep(b, c.large, c.mean, SMALL_MEAN), q));
    c.b = ex_plus(b, ex_times(b, spread, 2.53), 1.15);
    c.a = ir_add(b, ex_plus(b, ex_times(b, c.b, 0.0248), -0.0873), ex_times(b, p, 0.01));
    c.shift = ex_plus(b, c.mean, 0.5);
    c.v_r = ex_plus(b, ir_divide(b, ex_num(b, p, -4.2), c.b), 0.92);
    c.alpha = ir_multiply(b, ex_plus(b, ir_divide(b, ex_num(b, p, 5.1), c.b), 2.83), spread);
    ir_value *mode = ir_floor(b, ex_times(b, p, n + 1));
    c.at_mode = mode ? log_mass(b, &c, mode) : NULL;
    ir_value *k = c.at_mode ? draw_counts(a, &c) : NULL;
    b = a->b;
    return k ? ex_pick(b, flip, ir_subtract(b, ex_num(b, k, n), k), k) : NULL;
}
static ir_value *binomial_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    double n = (double)a->count;
    ir_value *misses = ir_subtract(b, ex_num(b, x, n), x);
    ir_value *ways = ir_add(b, ir_chlo_lgamma(b, ex_plus(b, x, 1)), ir_chlo_lgamma(b, ex_plus(b, misses, 1)));
    ways = ex_plus(b, ir_negate(b, ways), lgamma(n + 1));
    ir_value *l = ir_subtract(b, ir_multiply(b, x, ODDS), ex_times(b, dist_softplus(b, ODDS), n));
    return ir_add(b, l, ways);
}
static ir_value *binomial_mean(dist_args *a) {
    return ex_times(a->b, PROB, (double)a->count);
}
static ir_value *binomial_variance(dist_args *a) {
    return ex_times(a->b, bernoulli_variance(a), (double)a->count);
}
/* The sum over all counts, as PyTorch's: memory grows with their number. */
static ir_value *binomial_entropy(dist_args *a) {
    int64_t dims[XT_MAX_RANK], axes[XT_MAX_RANK];
    size_t rank = a->t->rank;
    if (rank + 1 > XT_MAX_RANK) return NULL;
    memcpy(dims, a->t->dims, rank * sizeof *dims);
    dims[rank] = a->count + 1;
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    const ir_type *t = ir_tensor(a->t->dtype, rank + 1, dims);
    dist_args wide = *a;
    for (int i = 0; i < 2; i++) wide.p[i] = ir_broadcast_in_dim(a->b, a->p[i], t, rank, axes);
    ir_value *k = t ? ir_iota(a->b, t, (int64_t)rank) : NULL, *l = k ? binomial_log_prob(&wide, k) : NULL;
    return ir_negate(a->b, dist_sum_last(a->b, ir_multiply(a->b, ir_exponential(a->b, l), l), 1));
}
static ir_value *binomial_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    if (p->count > q->count) return ex_num(b, p->p[0], INFINITY);
    ir_value *hits = ir_multiply(b, p->p[1], ir_subtract(b, p->p[0], q->p[0]));
    ir_value *rest = ir_subtract(b, dist_softplus(b, q->p[0]), dist_softplus(b, p->p[0]));
    return ex_times(b, ir_add(b, hits, rest), (double)p->count);
}
const dist_kind dist_binomial = {.name = "Binomial",
                                 .n_params = 2,
                                 .support = DIST_COUNTS,
                                 .draw = binomial_draw,
                                 .log_prob = binomial_log_prob,
                                 .mean = binomial_mean,
                                 .variance = binomial_variance,
                                 .entropy = binomial_entropy,
                                 .kl = binomial_kl};

/* --- Poisson --- */
static ir_value *poisson_draw(dist_args *a, bool grad) {
    ir_builder *b = a->b;
    (void)grad;
    count_draw c = {.mean = ex_detach(b, RATE)};
    c.large = ex_is(b, c.mean, IR_GE, SMALL_MEAN);
    ir_value *rate = ex_keep(b, c.large, c.mean, SMALL_MEAN);
    c.b = ex_plus(b, ex_times(b, ir_sqrt(b, rate), 2.53), 0.931);
    c.a = ex_plus(b, ex_times(b, c.b, 0.02483), -0.059);
    c.shift = ex_plus(b, c.mean, 0.43);
    c.alpha = ex_plus(b, ir_divide(b, ex_num(b, rate, 1.1328), ex_plus(b, c.b, -3.4)), 1.1239);
    c.v_r = ex_plus(b, ir_divide(b, ex_num(b, rate, -3.6224), ex_plus(b, c.b, -2)), 0.9277);
    c.at_mode = ex_num(b, rate, 0);
    return c.v_r && c.at_mode ? draw_counts(a, &c) : NULL;
}
static ir_value *poisson_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *l = ir_subtract(b, dist_xlogy(b, x, RATE), RATE);
    return ir_subtract(b, l, ir_chlo_lgamma(b, ex_plus(b, x, 1)));
}
static ir_value *poisson_mean(dist_args *a) {
    return ops_copy(a->b, RATE);
}
static ir_value *poisson_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *l = ir_multiply(b, p->p[0], ir_log(b, ir_divide(b, p->p[0], q->p[0])));
    return ir_add(b, l, ir_subtract(b, q->p[0], p->p[0]));
}
const dist_kind dist_poisson = {.name = "Poisson",
                                .n_params = 1,
                                .support = DIST_COUNTS,
                                .draw = poisson_draw,
                                .log_prob = poisson_log_prob,
                                .mean = poisson_mean,
                                .variance = poisson_mean,
                                .kl = poisson_kl};
