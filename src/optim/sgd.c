/* SGD with momentum, weight decay and Nesterov, as torch.optim.SGD:
 *   g += wd * p;  buf = mu * buf + (1 - dampening) * g  (first step: buf = g);  g = nesterov ? g + mu * buf :
 *   buf;  p -= lr * g
 * The first step's exception needs no case of its own: with dampening 0 a buffer of zeros gives the same; with
 * dampening it is data (the step count). */
#include "optim/optim.h"

static const ir_type *state_type(const optim_hyper *h, int k, const ir_type *param) {
    (void)k;
    return optim_has_momentum(h) ? param : NULL;
}
static bool counts(const optim_hyper *h) {
    return optim_has_momentum(h) && OPTIM_OPTS(h, xt_sgd_opts)->dampening != 0;
}

/* shared[0] = what g is multiplied with on its way into the buffer: 1 at the first step, 1 - dampening later. */
static void begin(optim_update *u) {
    if (!u->step) return;
    ir_value *one = ir_splat(u->b, u->step->type, 1);
    u->shared[0] = ir_select(u->b, ir_compare(u->b, IR_LE, u->step, one), one,
                             ir_splat(u->b, u->step->type, 1 - OPTIM_OPTS(u->h, xt_sgd_opts)->dampening));
}

static void update(optim_update *u) {
    optim_decay(u, false);
    ir_value *g = u->grad;
    if (optim_has_momentum(u->h)) {
        ir_value *buf = ir_add(u->b, optim_keep(u, u->state[0]), u->step ? optim_scale(u->b, g, u->shared[0]) : g);
        u->new_state[0] = optim_if_momentum(u, buf, u->state[0]);
        bool nesterov = OPTIM_OPTS(u->h, xt_sgd_opts)->nesterov == XT_ON;
        g = nesterov ? ir_add(u->b, g, optim_keep(u, buf)) : optim_if_momentum(u, buf, g);
    }
    optim_descend(u, g, u->lr);
}

static const optim_kind kind = {.id = OPTIM_sgd,
                                .momentum = true,
                                .n_states = 1,
                                .state_names = {"momentum_buffer"},
                                .counts = counts,
                                .state_type = state_type,
                                .begin = begin,
                                .update = update};

xt_optimizer *xt_sgd_opt(const xt_src *src, xt_module *net, xt_sgd_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_sgd_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_sgd_opts, momentum, 0, 1, "factor of the running sum of gradients"),
        OPTIM_ROW(xt_sgd_opts, dampening, 0, 1, "keeps this share of each gradient out of the running sum"),
        OPTIM_ROW(xt_sgd_opts, weight_decay, 0, 1e6, "L2 penalty"),
        OPTIM_SWITCH(xt_sgd_opts, nesterov, "looks one step ahead"),
        OPTIM_SWITCH(xt_sgd_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_sgd_opts),
    };
    if (p.nesterov == XT_ON && (p.momentum == 0 || p.dampening != 0)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_sgd: nesterov needs a momentum (it is %g) and no dampening (it is %g)", p.momentum,
                             p.dampening));
        return NULL;
    }
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_sgd_opts), sizeof p);
}
