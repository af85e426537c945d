/* Rprop (Riedmiller and Braun 1993), as torch.optim: a step size for each element, which grows while its gradient keeps
 * its sign and shrinks when the sign turns; such an element then rests for one step:
 *   s = clamp(s * (eta_plus, eta_minus or 1 by the sign of g prev));  where it turned g = 0;  p -= s sign(g);  prev = g
 * The learning rate is only where step sizes begin. */
#include "optim/optim.h"

enum { PREVIOUS, SIZE };

static double initial(const optim_hyper *h, int k) {
    return k == SIZE ? h->lr : 0;
}

static void update(optim_update *u) {
    ir_builder *b = u->b;
    const xt_rprop_opts *p = OPTIM_OPTS(u->h, xt_rprop_opts);
    if (!u->grad) return;
    const ir_type *t = u->grad->type;
    ir_value *zero = ir_splat(b, t, 0), *product = ir_multiply(b, u->grad, u->state[PREVIOUS]);
    ir_value *kept = ir_compare(b, IR_GT, product, zero), *turned = ir_compare(b, IR_LT, product, zero);
    ir_value *factor = ir_select(b, kept, ir_splat(b, t, p->eta_plus),
                                 ir_select(b, turned, ir_splat(b, t, p->eta_minus), ir_splat(b, t, 1)));
    ir_value *size = ir_multiply(b, u->state[SIZE], factor);
    size = u->new_state[SIZE] =
        ir_clamp(b, ir_splat(b, ir_scalar(t->dtype), p->step_min), size, ir_splat(b, ir_scalar(t->dtype), p->step_max));
    ir_value *g = u->new_state[PREVIOUS] = ir_select(b, turned, zero, u->grad);
    u->new_param = ir_subtract(b, u->param, ir_multiply(b, size, ir_sign(b, g)));
}

static const optim_kind kind = {
    .id = OPTIM_rprop, .n_states = 2, .state_names = {"prev", "step_size"}, .initial = initial, .update = update};

xt_optimizer *xt_rprop_opt(const xt_src *src, xt_module *net, xt_rprop_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_rprop_opts, lr, 0, 1e6, "where step sizes begin"),
        OPTIM_ROW(xt_rprop_opts, eta_minus, 0, 1, "factor of a step size whose gradient turned"),
        OPTIM_ROW(xt_rprop_opts, eta_plus, 1, 1e6, "factor of a step size whose gradient did not"),
        OPTIM_ROW(xt_rprop_opts, step_min, 0, 1e6, "least step size"),
        OPTIM_ROW(xt_rprop_opts, step_max, 0, 1e30, "largest step size"),
        OPTIM_SWITCH(xt_rprop_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_rprop_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_rprop_opts), sizeof p);
}
