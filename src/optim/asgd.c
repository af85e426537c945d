/* Averaged stochastic gradient descent (Polyak and Juditsky 1992), as torch.optim:
 *   eta = lr / (1 + lambd lr (t-1))^alpha;  p = (1 - lambd eta) p - eta g;  ax += (p - ax) / max(1, t - 1 - t0)
 * A rate that a schedule changes counts at once, where PyTorch's eta is that of the step before. */
#include "optim/optim.h"

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}

/* shared = eta, 1 - lambd eta, 1 - mu */
static void begin(optim_update *u) {
    ir_builder *b = u->b;
    const xt_asgd_opts *p = OPTIM_OPTS(u->h, xt_asgd_opts);
    ir_value *before = optim_plus(b, u->step, -1);
    ir_value *base = optim_plus(b, ir_multiply(b, optim_times(b, u->lr, p->lambd), before), 1);
    ir_value *eta = base ? ir_divide(b, u->lr, ir_power(b, base, ir_splat(b, base->type, p->alpha))) : NULL;
    ir_value *averaged = ir_maximum(b, optim_plus(b, before, -p->t0), optim_number(u, 1));
    u->shared[0] = eta;
    u->shared[1] = optim_plus(b, optim_times(b, eta, -p->lambd), 1);
    u->shared[2] = ir_subtract(b, optim_number(u, 1), ir_divide(b, optim_number(u, 1), averaged));
}

static void update(optim_update *u) {
    ir_builder *b = u->b;
    optim_decay(u, false);
    u->param = optim_scale(b, u->param, u->shared[1]);
    optim_descend(u, u->grad, u->shared[0]);
    ir_value *apart = ir_subtract(b, u->state[0], u->new_param);
    u->new_state[0] = ir_add(b, u->new_param, optim_scale(b, apart, u->shared[2]));
}

static const optim_kind kind = {
    .id = OPTIM_asgd, .n_states = 1, .state_names = {"ax"}, .counts = counts, .begin = begin, .update = update};

xt_optimizer *xt_asgd_opt(const xt_src *src, xt_module *net, xt_asgd_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_asgd_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_asgd_opts, lambd, 0, 1e6, "how fast the rate falls, and what shrinks parameters"),
        OPTIM_ROW(xt_asgd_opts, alpha, 0, 1e3, "power of the rate's fall"),
        OPTIM_ROW(xt_asgd_opts, t0, 0, 1e30, "step from which parameters are averaged"),
        OPTIM_ROW(xt_asgd_opts, weight_decay, 0, 1e6, "L2 penalty"),
        OPTIM_SWITCH(xt_asgd_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_asgd_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_asgd_opts), sizeof p);
}
