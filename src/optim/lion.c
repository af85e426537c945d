/* Lion (Chen et al. 2023, arXiv 2302.06675, algorithm 2): p -= lr (sign(b1 m + (1-b1) g) + wd p);  m = b2
 * m + (1-b2) g. */
#include "optim/optim.h"

static void update(optim_update *u) {
    optim_decay(u, true);
    ir_value *direction = ir_sign(u->b, optim_mean_of(u, u->state[0], u->grad));
    u->new_state[0] = optim_mix(u->b, u->state[0], u->grad, OPTIM_OPTS(u->h, xt_lion_opts)->beta2);
    optim_descend(u, direction, u->lr);
}

static const optim_kind kind = {
    .id = OPTIM_lion, .momentum = true, .n_states = 1, .state_names = {"exp_avg"}, .update = update};

xt_optimizer *xt_lion_opt(const xt_src *src, xt_module *net, xt_lion_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_lion_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_lion_opts, beta1, 0, 1, "share of the momentum in the direction"),
        OPTIM_ROW(xt_lion_opts, beta2, 0, 1, "decay of the momentum"),
        OPTIM_ROW(xt_lion_opts, weight_decay, 0, 1e6, "shrinks parameters"),
        OPTIM_SWITCH(xt_lion_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_lion_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_lion_opts), sizeof p);
}
