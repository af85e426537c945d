/* RMSprop (Tieleman and Hinton 2012), centred as in Graves 2013, as torch.optim:
 *   v = a v + (1-a) g^2;  centred: m = a m + (1-a) g, n = v - m^2, else n = v;  d = g / (sqrt(n) + eps);  buf = mu buf
 *   + d;  p -= lr buf (or d) */
#include "optim/optim.h"

enum { SQUARES, BUFFER, MEANS };

static const ir_type *state_type(const optim_hyper *h, int k, const ir_type *param) {
    return k == SQUARES || (k == BUFFER && optim_has_momentum(h)) ||
                   (k == MEANS && OPTIM_OPTS(h, xt_rmsprop_opts)->centered == XT_ON)
               ? param
               : NULL;
}

static void update(optim_update *u) {
    ir_builder *b = u->b;
    const xt_rmsprop_opts *p = OPTIM_OPTS(u->h, xt_rmsprop_opts);
    double a = p->alpha;
    optim_decay(u, false);
    ir_value *v = u->new_state[SQUARES] = optim_mix(b, u->state[SQUARES], ir_multiply(b, u->grad, u->grad), a);
    if (p->centered == XT_ON) {
        ir_value *m = u->new_state[MEANS] = optim_mix(b, u->state[MEANS], u->grad, a);
        v = ir_subtract(b, v, ir_multiply(b, m, m));
    }
    ir_value *d = ir_divide(b, u->grad, optim_plus(b, ir_sqrt(b, v), p->eps));
    if (optim_has_momentum(u->h)) {
        d = ir_add(b, optim_keep(u, u->state[BUFFER]), d); /* d itself in a step without momentum */
        u->new_state[BUFFER] = optim_if_momentum(u, d, u->state[BUFFER]);
    }
    optim_descend(u, d, u->lr);
}

static const optim_kind kind = {.id = OPTIM_rmsprop,
                                .momentum = true,
                                .n_states = 3,
                                .state_names = {"square_avg", "momentum_buffer", "grad_avg"},
                                .state_type = state_type,
                                .update = update};

xt_optimizer *xt_rmsprop_opt(const xt_src *src, xt_module *net, xt_rmsprop_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_rmsprop_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_rmsprop_opts, alpha, 0, 1, "decay of the mean of squared gradients"),
        OPTIM_ROW(xt_rmsprop_opts, eps, 0, 1, "added to the root"),
        OPTIM_ROW(xt_rmsprop_opts, weight_decay, 0, 1e6, "L2 penalty"),
        OPTIM_ROW(xt_rmsprop_opts, momentum, 0, 1, "factor of the running sum"),
        OPTIM_SWITCH(xt_rmsprop_opts, centered, "divides by the standard deviation"),
        OPTIM_SWITCH(xt_rmsprop_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_rmsprop_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_rmsprop_opts), sizeof p);
}
