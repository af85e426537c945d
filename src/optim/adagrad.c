/* Adagrad (Duchi et al. 2011), as torch.optim: s += g^2;  p -= lr / (1 + (t-1) lr_decay) * g / (sqrt(s) + eps). */
#include "optim/optim.h"

static bool counts(const optim_hyper *h) {
    return OPTIM_OPTS(h, xt_adagrad_opts)->lr_decay != 0;
}
static double initial(const optim_hyper *h, int k) {
    (void)k;
    return OPTIM_OPTS(h, xt_adagrad_opts)->initial_accumulator_value;
}

static void begin(optim_update *u) {
    double decay = OPTIM_OPTS(u->h, xt_adagrad_opts)->lr_decay;
    u->shared[0] = u->lr;
    if (u->step)
        u->shared[0] =
            ir_divide(u->b, u->lr, optim_plus(u->b, optim_times(u->b, optim_plus(u->b, u->step, -1), decay), 1));
}

static void update(optim_update *u) {
    optim_decay(u, false);
    ir_value *s = u->new_state[0] = ir_add(u->b, u->state[0], ir_multiply(u->b, u->grad, u->grad));
    ir_value *root = optim_plus(u->b, ir_sqrt(u->b, s), OPTIM_OPTS(u->h, xt_adagrad_opts)->eps);
    optim_descend(u, ir_divide(u->b, u->grad, root), u->shared[0]);
}

static const optim_kind kind = {.id = OPTIM_adagrad,
                                .n_states = 1,
                                .state_names = {"sum"},
                                .counts = counts,
                                .initial = initial,
                                .begin = begin,
                                .update = update};

xt_optimizer *xt_adagrad_opt(const xt_src *src, xt_module *net, xt_adagrad_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_adagrad_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_adagrad_opts, lr_decay, 0, 1e6, "the rate falls as 1 / (1 + (t-1) lr_decay)"),
        OPTIM_ROW(xt_adagrad_opts, weight_decay, 0, 1e6, "L2 penalty"),
        OPTIM_ROW(xt_adagrad_opts, initial_accumulator_value, 0, 1e30, "first value of the sums"),
        OPTIM_ROW(xt_adagrad_opts, eps, 0, 1, "added to the root"),
        OPTIM_SWITCH(xt_adagrad_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_adagrad_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_adagrad_opts), sizeof p);
}
