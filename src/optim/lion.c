/* Lion (Chen et al. 2023, arXiv 2302.06675, algorithm 2): p -= lr (sign(b1 m + (1-b1) g) + wd p);  m = b2
 * m + (1-b2) g. */
#include <math.h>

#include "optim/optim.h"

static void update(optim_update *u) {
    optim_decay(u, true);
    ir_value *direction = ir_sign(u->b, optim_mean_of(u, u->state[0], u->grad));
    u->new_state[0] = optim_mix(u->b, u->state[0], u->grad, u->h->beta2);
    optim_descend(u, direction, u->lr);
}

const optim_kind optim_lion = {
    .name = "lion", .title = "Lion", .momentum = true, .n_states = 1, .state_names = {"exp_avg"}, .update = update};

xt_optimizer *xt_lion_opt(const xt_src *src, xt_module *net, xt_lion_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_lion_opts, lr, 1e-4, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_lion_opts, beta1, 0.9, 0, 1, "share of the momentum in the direction"),
        OPTIM_ROW(xt_lion_opts, beta2, 0.99, 0, 1, "decay of the momentum"),
        OPTIM_ROW(xt_lion_opts, weight_decay, 0, 0, 1e6, "shrinks parameters"),
        OPTIM_SWITCH(xt_lion_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_lion_opts),
    };
    xt_optimizer *o = optim_new(&optim_lion, net, "xt_lion", rows, BASE_COUNT(rows), &p);
    if (!o) return NULL;
    o->groups[0].h = (optim_hyper){.lr = p.lr,
                                   .momentum = p.beta1,
                                   .beta2 = p.beta2,
                                   .weight_decay = p.weight_decay,
                                   .maximize = p.maximize == XT_ON};
    optim_set_clip(o, p.clip_norm, p.clip_norm_type, p.clip_value);
    return o;
}
