/* LAMB (You et al. 2020, arXiv 1904.00962, algorithm 2): Adam's direction with weight decay in it, scaled by |p| /
 * |direction| a parameter:
 *   r = m / (1-b1^t) / (sqrt(v / (1-b2^t)) + eps) + wd p;  p -= lr |p| / |r| r  (the ratio is 1 where a norm is 0) */
#include "optim/optim.h"

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}

/* shared = 1/(1-b1^t), 1/sqrt(1-b2^t) */
static void begin(optim_update *u) {
    ir_value *one = optim_number(u, 1);
    u->shared[0] = ir_divide(u->b, one, optim_bias(u->b, u->step, u->h->momentum, u->log_m));
    u->shared[1] =
        ir_divide(u->b, one, ir_sqrt(u->b, optim_bias(u->b, u->step, OPTIM_OPTS(u->h, xt_lamb_opts)->beta2, NULL)));
}

/* scalar */
static ir_value *trust(ir_builder *b, ir_value *param, ir_value *direction) {
    ir_value *size = gradients_norm(b, &param, 1, 2), *length = gradients_norm(b, &direction, 1, 2);
    if (!size || !length) return NULL;
    ir_value *zero = ir_splat(b, size->type, 0), *one = ir_splat(b, size->type, 1);
    ir_value *both = ir_and(b, ir_compare(b, IR_GT, size, zero), ir_compare(b, IR_GT, length, zero));
    return ir_select(b, both, ir_divide(b, size, ir_select(b, both, length, one)), one);
}

static void update(optim_update *u) {
    ir_builder *b = u->b;
    const xt_lamb_opts *p = OPTIM_OPTS(u->h, xt_lamb_opts);
    ir_value *m = u->new_state[0] = optim_mean_of(u, u->state[0], u->grad);
    ir_value *v = u->new_state[1] = optim_mix(b, u->state[1], ir_multiply(b, u->grad, u->grad), p->beta2);
    ir_value *root = optim_plus(b, optim_scale(b, ir_sqrt(b, v), u->shared[1]), p->eps);
    ir_value *direction = ir_divide(b, optim_scale(b, m, u->shared[0]), root);
    if (u->h->weight_decay != 0) direction = ir_add(b, direction, optim_times(b, u->param, u->h->weight_decay));
    optim_descend(u, direction, ir_multiply(b, u->lr, trust(b, u->param, direction)));
}

static const optim_kind kind = {.id = OPTIM_lamb,
                                .momentum = true,
                                .n_states = 2,
                                .state_names = {"exp_avg", "exp_avg_sq"},
                                .counts = counts,
                                .begin = begin,
                                .update = update};

xt_optimizer *xt_lamb_opt(const xt_src *src, xt_module *net, xt_lamb_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_lamb_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_lamb_opts, beta1, 0, 1, "decay of the mean of gradients"),
        OPTIM_ROW(xt_lamb_opts, beta2, 0, 1, "decay of the mean of squared gradients"),
        OPTIM_ROW(xt_lamb_opts, eps, 0, 1, "added to the root"),
        OPTIM_ROW(xt_lamb_opts, weight_decay, 0, 1e6, "part of the direction"),
        OPTIM_SWITCH(xt_lamb_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_lamb_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_lamb_opts), sizeof p);
}
