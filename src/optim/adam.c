/* Adam (Kingma and Ba 2015), AMSGrad (Reddi et al. 2018) and AdamW (Loshchilov and Hutter 2019), as torch.optim:
 *   m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  p -= lr / (1-b1^t) * m / (sqrt(v / (1-b2^t)) + eps)
 * AdamW first shrinks p by lr * wd; Adam adds wd * p to the gradient. AMSGrad divides by the root of the
 * largest v so far. Moments may be kept as integers of 8 bits (narrow_state.c); what is computed is the same. */
#include "optim/optim.h"

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}
/* States 3 and 4 are the factors of narrow moments. */
static const ir_type *state_type(const optim_hyper *h, int k, const ir_type *param) {
    const xt_adamw_opts *p = OPTIM_OPTS(h, xt_adamw_opts);
    if (k == 2) return p->amsgrad == XT_ON ? param : NULL;
    if (p->state_bits != 8 || !narrow_state_fits(param)) return k < 2 ? param : NULL;
    return k < 2 ? narrow_state_type(param, k ? NARROW_SQUARE : NARROW_MEAN) : narrow_state_factors(param);
}

/* shared = lr/(1-b1^t), 1/sqrt(1-b2^t) */
static void begin(optim_update *u) {
    ir_builder *b = u->b;
    ir_value *one = optim_number(u, 1);
    u->shared[0] = ir_divide(b, u->lr, optim_bias(b, u->step, u->h->momentum, u->log_m));
    u->shared[1] = ir_divide(b, one, ir_sqrt(b, optim_bias(b, u->step, OPTIM_OPTS(u->h, xt_adamw_opts)->beta2, NULL)));
}

static void update(optim_update *u, bool decoupled) {
    ir_builder *b = u->b;
    const xt_adamw_opts *p = OPTIM_OPTS(u->h, xt_adamw_opts);
    optim_decay(u, decoupled);
    bool narrow = u->state[3];
    if (narrow)
        for (int k = 0; k < 2; k++)
            u->state[k] =
                narrow_state_read(b, u->state[k], u->state[3 + k], u->grad->type, k ? NARROW_SQUARE : NARROW_MEAN);
    ir_value *m = u->new_state[0] = optim_mean_of(u, u->state[0], u->grad);
    ir_value *v = u->new_state[1] = optim_mix(b, u->state[1], ir_multiply(b, u->grad, u->grad), p->beta2);
    if (p->amsgrad == XT_ON) v = u->new_state[2] = ir_maximum(b, u->state[2], v);
    ir_value *root = optim_scale(b, ir_sqrt(b, v), u->shared[1]);
    optim_descend(u, ir_divide(b, m, optim_plus(b, root, p->eps)), u->shared[0]);
    for (int k = 0; narrow && k < 2; k++)
        u->new_state[k] = narrow_state_write(b, u->new_state[k], k ? NARROW_SQUARE : NARROW_MEAN, &u->new_state[3 + k]);
}
static void update_adam(optim_update *u) {
    update(u, false);
}
static void update_adamw(optim_update *u) {
    update(u, true);
}

#define ADAM(name, function)                                                                                 \
    {                                                                                                        \
        .id = OPTIM_##name, .momentum = true, .n_states = 5,                                                 \
        .state_names = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_avg_factors", "exp_avg_sq_factors"}, \
        .counts = counts, .state_type = state_type, .begin = begin, .update = function                       \
    }
static const optim_kind adam = ADAM(adam, update_adam), adamw = ADAM(adamw, update_adamw);

#define ADAM_ROWS                                                                                              \
    OPTIM_ROW(xt_adamw_opts, lr, 0, 1e6, "learning rate"),                                                     \
        OPTIM_ROW(xt_adamw_opts, beta1, 0, 1, "decay of the mean of gradients"),                               \
        OPTIM_ROW(xt_adamw_opts, beta2, 0, 1, "decay of the mean of squared gradients"),                       \
        OPTIM_ROW(xt_adamw_opts, eps, 0, 1, "added to the root"),                                              \
        OPTIM_ROW(xt_adamw_opts, weight_decay, 0, 1e6, "shrinks parameters"),                                  \
        OPTIM_SWITCH(xt_adamw_opts, amsgrad, "divides by the largest second moment so far"),                   \
        OPTIM_SWITCH(xt_adamw_opts, maximize, "climbs"), OPTIM_CLIP_ROWS(xt_adamw_opts), {                     \
        "state_bits", "of the moments: 32, or 8", OPTION_I64, offsetof(xt_adamw_opts, state_bits), 8, 32, NULL \
    }

/* What no row can say, of the options as they were settled. */
static xt_optimizer *checked(const char *what, xt_optimizer *o) {
    const xt_adamw_opts *p = o ? o->opts : NULL;
    if (!p || p->state_bits == 32 || (p->state_bits == 8 && p->amsgrad != XT_ON)) return o;
    lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "%s: .state_bits = %lld%s; 32 or 8 are known, 8 without .amsgrad",
                         what, (long long)p->state_bits, p->amsgrad == XT_ON ? " and .amsgrad" : ""));
    xt_optimizer_free(o);
    return NULL;
}

xt_optimizer *xt_adamw_opt(const xt_src *src, xt_module *net, xt_adamw_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {ADAM_ROWS};
    return checked("xt_adamw", optim_new(&adamw, net, rows, BASE_COUNT(rows), &p,
                                         &XT_OPTS(xt_adamw_opts, .weight_decay = 0.01), sizeof p));
}
xt_optimizer *xt_adam_opt(const xt_src *src, xt_module *net, xt_adamw_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {ADAM_ROWS};
    return checked("xt_adam", optim_new(&adam, net, rows, BASE_COUNT(rows), &p,
                                        &XT_OPTS(xt_adamw_opts, .weight_decay = 0), sizeof p));
}
