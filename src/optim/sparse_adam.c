/* Adam for tables of which a step uses a few rows, as torch.optim.SparseAdam: rows (of the first dim) whose gradient is
 * zero keep their values and their moments, where Adam would let the moments decay and move them on.
 *   m, v as Adam's in the rows that have a gradient;  there p -= lr sqrt(1-b2^t) / (1-b1^t) * m / (sqrt(v) + eps)
 * t counts all steps. */
#include "optim/optim.h"

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}

/* shared = lr sqrt(1-b2^t) / (1-b1^t) */
static void begin(optim_update *u) {
    ir_builder *b = u->b;
    ir_value *root = ir_sqrt(b, optim_bias(b, u->step, OPTIM_OPTS(u->h, xt_sparse_adam_opts)->beta2, NULL));
    ir_value *rate = ir_multiply(b, u->lr, root);
    u->shared[0] = ir_divide(b, rate, optim_bias(b, u->step, u->h->momentum, u->log_m));
}

/* Of the gradient's dims: whether its row has an element that is not zero. */
static ir_value *used_rows(ir_builder *b, ir_value *g) {
    int64_t axes[XT_MAX_RANK], first = 0;
    ir_value *used = ir_compare(b, IR_NE, g, ir_splat(b, g->type, 0));
    if (g->type->rank < 2) return used;
    for (int64_t i = 1; i < (int64_t)g->type->rank; i++) axes[i - 1] = i;
    ir_value *any = ir_reduce(b, OP_or, used, g->type->rank - 1, axes);
    return ir_broadcast_in_dim(b, any, ir_with_dtype(g->type, XT_BOOL), 1, &first);
}

static void update(optim_update *u) {
    ir_builder *b = u->b;
    const xt_sparse_adam_opts *p = OPTIM_OPTS(u->h, xt_sparse_adam_opts);
    if (!u->grad) return;
    ir_value *used = used_rows(b, u->grad);
    ir_value *m = optim_mean_of(u, u->state[0], u->grad);
    ir_value *v = optim_mix(b, u->state[1], ir_multiply(b, u->grad, u->grad), p->beta2);
    ir_value *was = u->param;
    optim_descend(u, ir_divide(b, m, optim_plus(b, ir_sqrt(b, v), p->eps)), u->shared[0]);
    u->new_state[0] = ir_select(b, used, m, u->state[0]);
    u->new_state[1] = ir_select(b, used, v, u->state[1]);
    u->new_param = ir_select(b, used, u->new_param, was);
}

static const optim_kind kind = {.id = OPTIM_sparse_adam,
                                .momentum = true,
                                .n_states = 2,
                                .state_names = {"exp_avg", "exp_avg_sq"},
                                .counts = counts,
                                .begin = begin,
                                .update = update};

xt_optimizer *xt_sparse_adam_opt(const xt_src *src, xt_module *net, xt_sparse_adam_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_sparse_adam_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_sparse_adam_opts, beta1, 0, 1, "decay of the mean of gradients"),
        OPTIM_ROW(xt_sparse_adam_opts, beta2, 0, 1, "decay of the mean of squared gradients"),
        OPTIM_ROW(xt_sparse_adam_opts, eps, 0, 1, "added to the root"),
        OPTIM_SWITCH(xt_sparse_adam_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_sparse_adam_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_sparse_adam_opts), sizeof p);
}
