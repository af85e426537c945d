/* One of K: p[0] are logarithms of probabilities, p[1] the probabilities, both [...,K]. */
#include "distributions/dist.h"

#define LOGS a->p[0]
#define PROBS a->p[1]

static int64_t last_of(const ir_value *x) {
    return (int64_t)x->type->rank - 1;
}
/* Positions 0 .. K-1 along the last dim. */
static ir_value *positions(dist_args *a) {
    return LOGS ? ir_iota(a->b, LOGS->type, last_of(LOGS)) : NULL;
}
/* The largest of log p + Gumbel noise. */
static ir_value *draw_index(dist_args *a) {
    ir_value *u = dist_uniforms(a);
    ir_builder *b = a->b;
    ir_value *noise = ir_negate(b, ir_log(b, ir_negate(b, u ? ir_log(b, u) : NULL)));
    ir_value *key = ir_add(b, LOGS, noise);
    return key ? ops_arg_extreme(b, key, last_of(key), false) : NULL;
}

static ir_value *categorical_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *i = draw_index(a);
    return i ? ir_convert(a->b, i, XT_I64) : NULL;
}
static ir_value *categorical_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *wide = LOGS ? ops_spread(b, x, LOGS->type, last_of(LOGS)) : NULL;
    ir_value *hit = wide ? ir_compare(b, IR_EQ, positions(a), wide) : NULL;
    int64_t last = LOGS ? last_of(LOGS) : 0;
    ir_value *any = hit ? ir_reduce(b, OP_or, hit, 1, &last) : NULL;
    return ex_keep(b, any, dist_sum_last(b, ex_keep(b, hit, LOGS, 0), 1), -INFINITY);
}
static ir_value *p_times(dist_args *a, ir_value *logs) { /* sum of p logs, 0 where p is 0 */
    ir_builder *b = a->b;
    ir_value *none = ex_is(b, PROBS, IR_EQ, 0);
    return dist_sum_last(b, ir_multiply(b, PROBS, ex_pick(b, none, ex_num(b, PROBS, 0), logs)), 1);
}
/* PyTorch's logarithm of a probability 0 is that of the dtype's epsilon: it is times 0, and the derivative is it. */
static ir_value *choice_entropy(dist_args *a) {
    ir_builder *b = a->b;
    double least = PROBS && PROBS->type->dtype == XT_F64 ? log(0x1p-52) : log(0x1p-23);
    ir_value *logs = ex_keep(b, ex_is(b, PROBS, IR_GT, 0), LOGS, least);
    return ir_negate(b, dist_sum_last(b, ir_multiply(b, PROBS, logs), 1));
}
/* Infinite where a choice of p's is none of q's, whatever the logarithm of q's 0 is there. */
static ir_value *choice_kl(dist_args *p, dist_args *q) {
    ir_value *apart = ir_subtract(p->b, p->p[0], q->p[0]);
    return p_times(p, ex_keep(p->b, ex_is(p->b, q->p[1], IR_NE, 0), apart, INFINITY));
}
static ir_value *categorical_mean(dist_args *a) { /* choices are no numbers */
    return dist_sum_last(a->b, ex_num(a->b, LOGS, NAN), 1);
}
const dist_kind dist_categorical = {.name = "Categorical",
                                    .n_params = 2,
                                    .dims = {1, 1},
                                    .support = DIST_OWN,
                                    .draw = categorical_draw,
                                    .log_prob = categorical_log_prob,
                                    .mean = categorical_mean,
                                    .variance = categorical_mean,
                                    .entropy = choice_entropy,
                                    .kl = choice_kl};

static ir_value *one_hot_draw(dist_args *a, bool grad) {
    ir_value *i = categorical_draw(a, grad);
    ir_builder *b = a->b;
    ir_value *wide = i ? ops_spread(b, ir_convert(b, i, LOGS->type->dtype), LOGS->type, last_of(LOGS)) : NULL;
    return wide ? ir_convert(b, ir_compare(b, IR_EQ, positions(a), wide), LOGS->type->dtype) : NULL;
}
static ir_value *one_hot_log_prob(dist_args *a, ir_value *x) {
    return dist_sum_last(a->b, ex_keep(a->b, ex_is(a->b, x, IR_GT, 0.5), LOGS, 0), 1);
}
static ir_value *one_hot_mean(dist_args *a) {
    return ops_copy(a->b, PROBS);
}
static ir_value *one_hot_variance(dist_args *a) {
    return ir_multiply(a->b, PROBS, ir_subtract(a->b, ex_num(a->b, PROBS, 1), PROBS));
}
const dist_kind dist_one_hot_categorical = {.name = "OneHotCategorical",
                                            .n_params = 2,
                                            .dims = {1, 1},
                                            .event = 1,
                                            .support = DIST_OWN,
                                            .draw = one_hot_draw,
                                            .log_prob = one_hot_log_prob,
                                            .mean = one_hot_mean,
                                            .variance = one_hot_variance,
                                            .entropy = choice_entropy,
                                            .kl = choice_kl};

/* The draw itself, with the gradient of the probabilities. */
static ir_value *straight_draw(dist_args *a, bool grad) {
    ir_value *x = one_hot_draw(a, grad);
    if (!x || !grad) return x;
    ir_value *one = ex_num(a->b, PROBS, 1);
    return dist_with_slopes(a->b, x, 1, &one, &PROBS);
}
const dist_kind dist_one_hot_straight_through = {.name = "OneHotCategoricalStraightThrough",
                                                 .n_params = 2,
                                                 .dims = {1, 1},
                                                 .event = 1,
                                                 .support = DIST_OWN,
                                                 .reparameterized = true,
                                                 .draw = straight_draw,
                                                 .log_prob = one_hot_log_prob,
                                                 .mean = one_hot_mean,
                                                 .variance = one_hot_variance,
                                                 .entropy = choice_entropy,
                                                 .kl = choice_kl};
