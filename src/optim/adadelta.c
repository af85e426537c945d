/* Adadelta (Zeiler 2012), as torch.optim: v = r v + (1-r) g^2;  d = sqrt(a + eps) / sqrt(v + eps) g;  a = r a + (1-r)
 * d^2;  p -= lr d. */
#include "optim/optim.h"

static void update(optim_update *u) {
    ir_builder *b = u->b;
    const xt_adadelta_opts *p = OPTIM_OPTS(u->h, xt_adadelta_opts);
    double r = p->rho, eps = p->eps;
    optim_decay(u, false);
    ir_value *v = u->new_state[0] = optim_mix(b, u->state[0], ir_multiply(b, u->grad, u->grad), r);
    ir_value *ratio = ir_divide(b, ir_sqrt(b, optim_plus(b, u->state[1], eps)), ir_sqrt(b, optim_plus(b, v, eps)));
    ir_value *d = ir_multiply(b, ratio, u->grad);
    u->new_state[1] = optim_mix(b, u->state[1], ir_multiply(b, d, d), r);
    optim_descend(u, d, u->lr);
}

static const optim_kind kind = {
    .id = OPTIM_adadelta, .n_states = 2, .state_names = {"square_avg", "acc_delta"}, .update = update};

xt_optimizer *xt_adadelta_opt(const xt_src *src, xt_module *net, xt_adadelta_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_adadelta_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_adadelta_opts, rho, 0, 1, "decay of both means"),
        OPTIM_ROW(xt_adadelta_opts, eps, 0, 1, "added under the roots"),
        OPTIM_ROW(xt_adadelta_opts, weight_decay, 0, 1e6, "L2 penalty"),
        OPTIM_SWITCH(xt_adadelta_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_adadelta_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_adadelta_opts), sizeof p);
}
