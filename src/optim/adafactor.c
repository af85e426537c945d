/* Adafactor (Shazeer and Stern 2018, arXiv 1804.04235), in the form of torch.optim.Adafactor: with b = t^beta2_decay,
 *   R += b (row mean of g^2 - R);  C += b (column mean - C);  v = R C / max(mean R, eps1)   (vectors: v += b (g^2 - v))
 *   u = g / sqrt(max(v, eps1^2));  p -= max(eps2, rms(p)) min(lr, 1/sqrt(t)) / max(1, rms(u) / d) * u
 * after p shrank by lr wd. */
#include <float.h>
#include <math.h>

#include "optim/optim.h"

enum { ROWS, COLUMNS, WHOLE };

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}

static const ir_type *state_type(const optim_hyper *h, int k, const ir_type *param) {
    int64_t dims[XT_MAX_RANK];
    (void)h;
    if (param->rank < 2) return k == WHOLE
    ? param : NULL;
    if (k == WHOLE) return NULL;
    memcpy(dims, param->dims, param->rank * sizeof *dims);
    dims[param->rank - (k == ROWS ? 1 : 2)] = 1;
    return ir_tensor(param->dtype, param->rank, dims);
}

/* shared = b, min(lr, 1/sqrt(t)) */
static void begin(optim_update *u) {
    ir_builder *b = u->b;
    u->shared[0] =
        u->step ? ir_power(b, u->step, ir_splat(b, u->step->type, OPTIM_OPTS(u->h, xt_adafactor_opts)->beta2_decay))
                : NULL;
    u->shared[1] = ir_minimum(b, u->lr, ir_rsqrt(b, u->step));
}

/* Over one axis, which stays with size 1; NULL passes. */
static ir_value *mean_along(ir_builder *b, ir_value *x, int64_t axis) {
    if (!x) return NULL;
    int64_t dims[XT_MAX_RANK], n = x->type->dims[axis];
    memcpy(dims, x->type->dims, x->type->rank * sizeof *dims);
    dims[axis] = 1;
    return optim_times(b, ir_reshape(b, ir_reduce(b, OP_add, x, 1, &axis), x->type->rank, dims), 1.0 / (double)n);
}

/* Root of the mean square, a scalar. */
static ir_value *rms(ir_builder *b, ir_value *x) {
    ir_value *norm = x ? gradients_norm(b, &x, 1, 2) : NULL;
    return norm ? optim_times(b, norm, 1 / sqrt((double)x->type->count)) : NULL;
}

static ir_value *toward(optim_update *u, ir_value *old, ir_value *x) {
    return ir_add(u->b, old, optim_scale(u->b, ir_subtract(u->b, x, old), u->shared[0]));
}

static ir_value *wide(ir_builder *b, ir_value *x, const ir_type *to) {
    int64_t axes[XT_MAX_RANK];
    for (int64_t i = 0; i < (int64_t)to->rank; i++) axes[i] = i;
    return x ? ir_broadcast_in_dim(b, x, to, to->rank, axes) : NULL;
}

static ir_value *second_moment(optim_update *u, double eps1) {
    ir_builder *b = u->b;
    const ir_type *t = u->grad->type;
    ir_value *square = ir_multiply(b, u->grad, u->grad);
    if (t->rank < 2) return u->new_state[WHOLE] = toward(u, u->state[WHOLE], square);
    int64_t row = (int64_t)t->rank - 1, column = row - 1;
    ir_value *r = u->new_state[ROWS] = toward(u, u->state[ROWS], mean_along(b, square, row));
    ir_value *c = u->new_state[COLUMNS] = toward(u, u->state[COLUMNS], mean_along(b, square, column));
    ir_value *mean = mean_along(b, r, column);
    ir_value *least = mean ? ir_maximum(b, mean, ir_splat(b, mean->type, eps1)) : NULL;
    return ir_divide(b, ir_multiply(b, wide(b, r, t), wide(b, c, t)), wide(b, least, t));
}

static void update(optim_update *u) {
    ir_builder *b = u->b;
    const xt_adafactor_opts *p = OPTIM_OPTS(u->h, xt_adafactor_opts);
    if (!u->param || !u->grad) return;
    xt_dtype t = u->param->type->dtype;
    double eps1 = p->eps1 != XT_AUTO ? p->eps1
                  : t == XT_F64      ? DBL_EPSILON
                  : t == XT_BF16     ? 0x1p-7
                  : t == XT_F16      ? 0x1p-10
                                     : FLT_EPSILON;
    ir_value *size = rms(b, u->param);
    ir_value *alpha = size ? ir_multiply(b, ir_maximum(b, size, ir_splat(b, size->type, p->eps2)), u->shared[1]) : NULL;
    optim_decay(u, true);
    ir_value *v = second_moment(u, eps1);
    ir_value *direction =
        v ? ir_multiply(b, u->grad, ir_rsqrt(b, ir_maximum(b, v, ir_splat(b, v->type, eps1 * eps1)))) : NULL;
    ir_value *length = optim_times(b, rms(b, direction), 1 / p->d);
    ir_value *denom = length ? ir_maximum(b, length, ir_splat(b, length->type, 1)) : NULL;
    optim_descend(u, direction, ir_divide(b, alpha, denom));
}

static const optim_kind kind = {.id = OPTIM_adafactor,
                                .n_states = 3,
                                .state_names = {"row_var", "col_var", "variance"},
                                .counts = counts,
                                .state_type = state_type,
                                .begin = begin,
                                .update = update};

xt_optimizer *xt_adafactor_opt(const xt_src *src, xt_module *net, xt_adafactor_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_adafactor_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_adafactor_opts, beta2_decay, -10, 0, "exponent of the step in the second moment's decay"),
        OPTIM_ROW(xt_adafactor_opts, eps1, 0, 1, "least root of the second moment"),
        OPTIM_ROW(xt_adafactor_opts, eps2, 0, 1, "least size of a parameter"),
        OPTIM_ROW(xt_adafactor_opts, d, 1, 1e6, "clipping threshold"),
        OPTIM_ROW(xt_adafactor_opts, weight_decay, 0, 1e6, "shrinks parameters"),
        OPTIM_SWITCH(xt_adafactor_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_adafactor_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_adafactor_opts), sizeof p);
}
