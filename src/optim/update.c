/* What updates are made of: products with numbers of the host's or the device's, running means, weight decay. */
#include <math.h>

#include "optim/optim.h"

ir_value *optim_scale(ir_builder *b, ir_value *x, ir_value *scalar) {
    if (!x || !scalar) return NULL;
    return ir_multiply(b, x, ir_broadcast_scalar(b, ir_convert(b, scalar, x->type->dtype), x->type));
}

ir_value *optim_times(ir_builder *b, ir_value *x, double c) {
    return x ? ir_multiply(b, x, ir_splat(b, x->type, c)) : NULL;
}

ir_value *optim_number(const optim_update *u, double v) {
    return u->lr ? ir_splat(u->b, u->lr->type, v) : NULL;
}

ir_value *optim_plus(ir_builder *b, ir_value *x, double c) {
    return x ? ir_add(b, x, ir_splat(b, x->type, c)) : NULL;
}

ir_value *optim_keep(optim_update *u, ir_value *x) {
    return u->momentum ? optim_scale(u->b, x, u->momentum) : optim_times(u->b, x, u->h->momentum);
}

bool optim_has_momentum(const optim_hyper *h) {
    return h->momentum != 0 || h->momentum_moves;
}

ir_value *optim_if_momentum(optim_update *u, ir_value *with, ir_value *without) {
    if (!u->momentum || !with || !without) return with;
    ir_value *none = ir_compare(u->b, IR_EQ, u->momentum, ir_splat(u->b, u->momentum->type, 0));
    return none ? ir_select(u->b, ir_broadcast_scalar(u->b, none, ir_with_dtype(with->type, XT_BOOL)), without, with)
                : NULL;
}

ir_value *optim_take(optim_update *u, ir_value *x) {
    return u->rest ? optim_scale(u->b, x, u->rest) : optim_times(u->b, x, 1 - u->h->momentum);
}

ir_value *optim_mean_of(optim_update *u, ir_value *old, ir_value *x) {
    return ir_add(u->b, optim_keep(u, old), optim_take(u, x));
}

ir_value *optim_mix(ir_builder *b, ir_value *old, ir_value *x, double keep) {
    return ir_add(b, optim_times(b, old, keep), optim_times(b, x, 1 - keep));
}

/* -expm1(step log beta): 1 - beta^step in f32 would lose half its digits at the first steps of beta = 0.999. */
ir_value *optim_bias(ir_builder *b, ir_value *step, double beta, ir_value *log_beta) {
    if (beta == 0 && !log_beta) return step ? ir_splat(b, step->type, 1) : NULL;
    ir_value *power = log_beta ? ir_multiply(b, step, log_beta) : optim_times(b, step, log(beta));
    return ir_negate(b, ir_exponential_minus_one(b, power));
}

void optim_decay(optim_update *u, bool decoupled) {
    double wd = u->h->weight_decay;
    if (wd == 0) return;
    if (decoupled)
        u->param = ir_subtract(u->b, u->param, optim_scale(u->b, optim_times(u->b, u->param, wd), u->lr));
    else
        u->grad = ir_add(u->b, u->grad, optim_times(u->b, u->param, wd));
}

void optim_descend(optim_update *u, ir_value *direction, ir_value *rate) {
    u->new_param = ir_subtract(u->b, u->param, optim_scale(u->b, direction, rate));
}
