/* Adamax (Kingma and Ba 2015, section 7), NAdam (Dozat 2016) and RAdam (Liu et al. 2020), as torch.optim. */
#include <math.h>

#include "optim/optim.h"

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}

static const xt_adam_family_opts *opts_of(const optim_update *u) {
    return OPTIM_OPTS(u->h, xt_adam_family_opts);
}

/* --- Adamax: n = max(b2 n, |g| + eps);  p -= lr / (1-b1^t) * m / n --- */
static void adamax_begin(optim_update *u) {
    u->shared[0] = ir_divide(u->b, u->lr, optim_bias(u->b, u->step, u->h->momentum, u->log_m));
}
static void adamax(optim_update *u) {
    optim_decay(u, false);
    ir_value *m = u->new_state[0] = optim_mean_of(u, u->state[0], u->grad);
    ir_value *n = u->new_state[1] = ir_maximum(u->b, optim_times(u->b, u->state[1], opts_of(u)->beta2),
                                               optim_plus(u->b, ir_abs(u->b, u->grad), opts_of(u)->eps));
    optim_descend(u, ir_divide(u->b, m, n), u->shared[0]);
}
static const optim_kind adamax_kind = {.id = OPTIM_adamax,
                                       .momentum = true,
                                       .n_states = 2,
                                       .state_names = {"exp_avg", "exp_inf"},
                                       .counts = counts,
                                       .begin = adamax_begin,
                                       .update = adamax};

/* --- NAdam: mu_t = b1 (1 - 0.96^(t d) / 2);  p -= lr ((1 - mu_t) / (1 - prod mu) g + mu_(t+1) / (1 - prod mu *
 * mu_(t+1)) m) / (sqrt(v / c2) + eps) --- */
static ir_value *mu(optim_update *u, ir_value *step) {
    ir_value *power = ir_exponential(u->b, optim_times(u->b, step, opts_of(u)->momentum_decay * log(0.96)));
    ir_value *share = optim_plus(u->b, optim_times(u->b, power, -0.5), 1);
    return optim_keep(u, share);
}
static void nadam_begin(optim_update *u) {
    u->shared[0] = mu(u, u->step);
    u->shared[1] = mu(u, optim_plus(u->b, u->step, 1));
    u->shared[2] =
        ir_divide(u->b, optim_number(u, 1), ir_sqrt(u->b, optim_bias(u->b, u->step, opts_of(u)->beta2, NULL)));
}
static void nadam(optim_update *u) {
    ir_builder *b = u->b;
    ir_value *now = u->shared[0], *next = u->shared[1], *one = optim_number(u, 1);
    optim_decay(u, opts_of(u)->decoupled_weight_decay == XT_ON);
    ir_value *m = u->new_state[0] = optim_mean_of(u, u->state[0], u->grad);
    ir_value *v = u->new_state[1] = optim_mix(b, u->state[1], ir_multiply(b, u->grad, u->grad), opts_of(u)->beta2);
    ir_value *product = u->new_state[2] = ir_multiply(b, u->state[2], now);
    ir_value *denom = optim_plus(b, optim_scale(b, ir_sqrt(b, v), u->shared[2]), opts_of(u)->eps);
    ir_value *for_g = ir_divide(b, ir_subtract(b, one, now), ir_subtract(b, one, product));
    ir_value *for_m = ir_divide(b, next, ir_subtract(b, one, ir_multiply(b, product, next)));
    optim_descend(u, ir_divide(b, ir_add(b, optim_scale(b, u->grad, for_g), optim_scale(b, m, for_m)), denom), u->lr);
}
static const ir_type *nadam_state(const optim_hyper *h, int k, const ir_type *param) {
    (void)h;
    return k == 2 ? ir_scalar(param->dtype == XT_F64 ? XT_F64 : XT_F32) : param;
}
static double nadam_initial(const optim_hyper *h, int k) {
    (void)h;
    return k == 2;
}
static const optim_kind nadam_kind = {.id = OPTIM_nadam,
                                      .momentum = true,
                                      .n_states = 3,
                                      .state_names = {"exp_avg", "exp_avg_sq", "mu_product"},
                                      .counts = counts,
                                      .state_type = nadam_state,
                                      .initial = nadam_initial,
                                      .begin = nadam_begin,
                                      .update = nadam};

/* --- RAdam: rho_t = rho - 2 t b2^t / (1 - b2^t), rho = 2/(1-b2) - 1. Above 5 the step is lr m/c1 * r_t sqrt(c2) /
 * (sqrt v + eps), else lr m/c1. --- */
/* shared = lr/(1-b1^t), r_t sqrt(c2), whether rho_t > 5 */
static void radam_begin(optim_update *u) {
    ir_builder *b = u->b;
    double rho = 2 / (1 - opts_of(u)->beta2) - 1;
    ir_value *c2 = optim_bias(b, u->step, opts_of(u)->beta2, NULL), *power = ir_subtract(b, optim_number(u, 1), c2);
    ir_value *length =
        optim_plus(b, ir_negate(b, ir_divide(b, optim_times(b, ir_multiply(b, u->step, power), 2), c2)), rho);
    ir_value *above = ir_compare(b, IR_GT, length, optim_number(u, 5)),
             *safe = ir_select(b, above, length, optim_number(u, 6));
    ir_value *rect = ir_divide(b, ir_multiply(b, optim_plus(b, safe, -4), optim_plus(b, safe, -2)), safe);
    u->shared[0] = ir_divide(b, u->lr, optim_bias(b, u->step, u->h->momentum, u->log_m));
    u->shared[1] = ir_sqrt(b, ir_multiply(b, optim_times(b, rect, rho / ((rho - 4) * (rho - 2))), c2));
    u->shared[2] = above;
}
static void radam(optim_update *u) {
    ir_builder *b = u->b;
    optim_decay(u, opts_of(u)->decoupled_weight_decay == XT_ON);
    ir_value *m = u->new_state[0] = optim_mean_of(u, u->state[0], u->grad);
    ir_value *v = u->new_state[1] = optim_mix(b, u->state[1], ir_multiply(b, u->grad, u->grad), opts_of(u)->beta2);
    ir_value *adapted = ir_divide(b, optim_scale(b, m, u->shared[1]), optim_plus(b, ir_sqrt(b, v), opts_of(u)->eps));
    ir_value *above = m ? ir_broadcast_scalar(b, u->shared[2], ir_with_dtype(m->type, XT_BOOL)) : NULL;
    optim_descend(u, ir_select(b, above, adapted, m), u->shared[0]);
}
static const optim_kind radam_kind = {.id = OPTIM_radam,
                                      .momentum = true,
                                      .n_states = 2,
                                      .state_names = {"exp_avg", "exp_avg_sq"},
                                      .counts = counts,
                                      .begin = radam_begin,
                                      .update = radam};

/* --- making --- */
/* What all of them read; momentum_decay and decoupled_weight_decay stand in the rows of those that do. */
#define FAMILY_ROWS                                                                        \
    OPTIM_ROW(xt_adam_family_opts, lr, 0, 1e6, "learning rate"),                           \
        OPTIM_ROW(xt_adam_family_opts, beta1, 0, 1, "decay of the mean of gradients"),     \
        OPTIM_ROW(xt_adam_family_opts, beta2, 0, 0.9999999, "decay of the second moment"), \
        OPTIM_ROW(xt_adam_family_opts, eps, 0, 1, "added to the denominator"),             \
        OPTIM_ROW(xt_adam_family_opts, weight_decay, 0, 1e6, "L2 penalty"),                \
        OPTIM_SWITCH(xt_adam_family_opts, maximize, "climbs"), OPTIM_CLIP_ROWS(xt_adam_family_opts),
#define DECOUPLED_ROW OPTIM_SWITCH(xt_adam_family_opts, decoupled_weight_decay, "as AdamW"),

static xt_optimizer *make(const optim_kind *k, xt_module *net, const option_row *rows, size_t n,
                          xt_adam_family_opts p) {
    return optim_new(k, net, rows, n, &p, &XT_OPTS(xt_adam_family_opts, .lr = k == &radam_kind ? 1e-3 : 2e-3),
                     sizeof p);
}

xt_optimizer *xt_adamax_opt(const xt_src *src, xt_module *net, xt_adam_family_opts p) {
    static const option_row rows[] = {FAMILY_ROWS};
    SRC_CALLED_FROM(src);
    return make(&adamax_kind, net, rows, BASE_COUNT(rows), p);
}
xt_optimizer *xt_nadam_opt(const xt_src *src, xt_module *net, xt_adam_family_opts p) {
    static const option_row rows[] = {
        FAMILY_ROWS DECOUPLED_ROW OPTIM_ROW(xt_adam_family_opts, momentum_decay, 0, 1, "of the momentum's schedule")};
    SRC_CALLED_FROM(src);
    return make(&nadam_kind, net, rows, BASE_COUNT(rows), p);
}
xt_optimizer *xt_radam_opt(const xt_src *src, xt_module *net, xt_adam_family_opts p) {
    static const option_row rows[] = {FAMILY_ROWS DECOUPLED_ROW};
    SRC_CALLED_FROM(src);
    return make(&radam_kind, net, rows, BASE_COUNT(rows), p);
}
