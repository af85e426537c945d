/* SGD with momentum, weight decay and Nesterov, as torch.optim.SGD:
 *   g += wd * p;  buf = mu * buf + (1 - dampening) * g  (first step: buf = g);  g = nesterov ? g + mu * buf : buf;  p -= lr * g
 * The first step's exception needs no case of its own: with dampening 0 a buffer of zeros gives the same; with dampening it is data (a step count). */
#include "optim/optim.h"

static bool uses_state(const xt_optimizer *o, int k) {
    (void)k;
    return o->momentum != 0;
}

/* shared[0] = what g is multiplied with on its way into the buffer: 1 at the first step, 1 - dampening later. */
static void begin(ir_builder *b, const xt_optimizer *o, ir_value *step, ir_value *shared[2]) {
    ir_value *first = ir_compare(b, IR_LE, step, ir_splat(b, step->type, 1));
    shared[0] = ir_select(b, first, ir_splat(b, step->type, 1), ir_splat(b, step->type, 1 - o->dampening));
}

static void update(optim_update *u) {
    const xt_optimizer *o = u->opt;
    ir_builder *b = u->b;
    ir_value *g = u->grad;
    if (o->weight_decay != 0) g = ir_add(b, g, optim_times(b, u->param, o->weight_decay));
    if (o->momentum != 0) {
        ir_value *in = o->dampening != 0 ? optim_scale(b, g, u->shared[0]) : g;
        ir_value *buf = ir_add(b, optim_times(b, u->state[0], o->momentum), in);
        u->new_state[0] = buf;
        g = o->nesterov ? ir_add(b, g, optim_times(b, buf, o->momentum)) : buf;
    }
    u->new_param = ir_subtract(b, u->param, optim_scale(b, g, u->lr));
}

const optim_kind optim_sgd = {"sgd", 1, {"momentum_buffer"}, false, uses_state, begin, update};
static const optim_kind sgd_dampened = {"sgd", 1, {"momentum_buffer"}, true, uses_state, begin, update};

static const option_row rows[] = {
    {"lr", "learning rate", OPTION_DOUBLE, offsetof(xt_sgd_opts, lr), 0.01, 0, 1e6, NULL},
    {"momentum", "factor of the running sum of gradients", OPTION_DOUBLE, offsetof(xt_sgd_opts, momentum), 0, 0, 1, NULL},
    {"dampening", "keeps this share of each gradient out of the running sum", OPTION_DOUBLE, offsetof(xt_sgd_opts, dampening), 0, 0, 1, NULL},
    {"weight_decay", "L2 penalty", OPTION_DOUBLE, offsetof(xt_sgd_opts, weight_decay), 0, 0, 1e6, NULL},
    {"clip_norm", "largest norm of all gradients together; 0 = off", OPTION_DOUBLE, offsetof(xt_sgd_opts, clip_norm), 0, 0, 1e30, NULL},
    {"clip_value", "largest absolute value of a gradient; 0 = off", OPTION_DOUBLE, offsetof(xt_sgd_opts, clip_value), 0, 0, 1e30, NULL},
};

xt_optimizer *xt_sgd_opt(xt_module *net, xt_sgd_opts p) {
    xt_status s = options_check(rows, BASE_COUNT(rows), &p, "xt_sgd");
    if (!s && p.nesterov == XT_ON && (p.momentum == 0 || p.dampening != 0))
        s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_sgd: nesterov needs a momentum (it is %g) and no dampening (it is %g)", p.momentum, p.dampening);
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    xt_optimizer *o = optim_new(p.dampening != 0 && p.momentum != 0 ? &sgd_dampened : &optim_sgd, net, "xt_sgd");
    if (!o) return NULL;
    o->lr = p.lr;
    o->momentum = p.momentum;
    o->dampening = p.dampening;
    o->weight_decay = p.weight_decay;
    o->nesterov = p.nesterov == XT_ON;
    o->clip_norm = p.clip_norm;
    o->clip_value = p.clip_value;
    return o;
}
