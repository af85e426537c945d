/* Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), as torch.optim:
 *   m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  p -= lr / (1-b1^t) * m / (sqrt(v / (1-b2^t)) + eps)
 * AdamW first shrinks p by lr * wd; Adam adds wd * p to the gradient. t is counted on the device. */
#include "optim/optim.h"

static bool uses_state(const xt_optimizer *o, int k) {
    (void)o;
    (void)k;
    return true;
}

/* shared = 1/(1-b1^t), 1/sqrt(1-b2^t) */
static void begin(ir_builder *b, const xt_optimizer *o, ir_value *step, ir_value *shared[2]) {
    ir_value *one = ir_splat(b, step->type, 1);
    ir_value *c1 = ir_subtract(b, one, ir_power(b, ir_splat(b, step->type, o->beta1), step));
    ir_value *c2 = ir_subtract(b, one, ir_power(b, ir_splat(b, step->type, o->beta2), step));
    shared[0] = ir_divide(b, one, c1);
    shared[1] = ir_divide(b, one, ir_sqrt(b, c2));
}

static void moments(optim_update *u, ir_value *g) {
    const xt_optimizer *o = u->opt;
    ir_builder *b = u->b;
    ir_value *m = ir_add(b, optim_times(b, u->state[0], o->beta1), optim_times(b, g, 1 - o->beta1));
    ir_value *v = ir_add(b, optim_times(b, u->state[1], o->beta2), optim_times(b, ir_multiply(b, g, g), 1 - o->beta2));
    ir_value *root = optim_scale(b, ir_sqrt(b, v), u->shared[1]);
    ir_value *denom = root ? ir_add(b, root, ir_splat(b, root->type, o->eps)) : NULL;
    ir_value *step = ir_divide(b, optim_scale(b, m, u->shared[0]), denom);
    u->new_state[0] = m;
    u->new_state[1] = v;
    u->new_param = ir_subtract(b, u->param, optim_scale(b, step, u->lr));
}

static void update_adam(optim_update *u) {
    double wd = u->opt->weight_decay;
    moments(u, wd != 0 ? ir_add(u->b, u->grad, optim_times(u->b, u->param, wd)) : u->grad);
}

static void update_adamw(optim_update *u) {
    double wd = u->opt->weight_decay;
    if (wd != 0) u->param = ir_subtract(u->b, u->param, optim_scale(u->b, optim_times(u->b, u->param, wd), u->lr));
    moments(u, u->grad);
}

const optim_kind optim_adam = {"adam", 2, {"exp_avg", "exp_avg_sq"}, true, uses_state, begin, update_adam};
const optim_kind optim_adamw = {"adamw", 2, {"exp_avg", "exp_avg_sq"}, true, uses_state, begin, update_adamw};

static const option_row rows[] = {
    {"lr", "learning rate", OPTION_DOUBLE, offsetof(xt_adamw_opts, lr), 1e-3, 0, 1e6, NULL},
    {"beta1", "decay of the mean of gradients", OPTION_DOUBLE, offsetof(xt_adamw_opts, beta1), 0.9, 0, 1, NULL},
    {"beta2", "decay of the mean of squared gradients", OPTION_DOUBLE, offsetof(xt_adamw_opts, beta2), 0.999, 0, 1, NULL},
    {"eps", "added to the root", OPTION_DOUBLE, offsetof(xt_adamw_opts, eps), 1e-8, 0, 1, NULL},
    {"weight_decay", "shrinks parameters; negative = none", OPTION_DOUBLE, offsetof(xt_adamw_opts, weight_decay), 0, -1, 1e6, NULL},
    {"clip_norm", "largest norm of all gradients together; 0 = off", OPTION_DOUBLE, offsetof(xt_adamw_opts, clip_norm), 0, 0, 1e30, NULL},
    {"clip_value", "largest absolute value of a gradient; 0 = off", OPTION_DOUBLE, offsetof(xt_adamw_opts, clip_value), 0, 0, 1e30, NULL},
};

static xt_optimizer *make(const optim_kind *k, const char *what, xt_module *net, xt_adamw_opts p, double decay) {
    xt_status s = options_check(rows, BASE_COUNT(rows), &p, what);
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    xt_optimizer *o = optim_new(k, net, what);
    if (!o) return NULL;
    o->lr = p.lr;
    o->beta1 = p.beta1;
    o->beta2 = p.beta2;
    o->eps = p.eps;
    o->weight_decay = p.weight_decay < 0 ? 0 : p.weight_decay == 0 ? decay : p.weight_decay;
    o->clip_norm = p.clip_norm;
    o->clip_value = p.clip_value;
    return o;
}

xt_optimizer *xt_adamw_opt(xt_module *net, xt_adamw_opts o) { return make(&optim_adamw, "xt_adamw", net, o, 0.01); }
xt_optimizer *xt_adam_opt(xt_module *net, xt_adamw_opts o) { return make(&optim_adam, "xt_adam", net, o, 0); }
