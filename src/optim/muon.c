/* Muon (Jordan et al. 2024), as torch.optim.Muon: the momentum of a matrix with its singular values brought near 1 by
 * Newton and Schulz's iteration, which needs products only:
 *   buf = mu buf + (1-mu) g;  x = nesterov ? mu buf + (1-mu) g : buf;  x /= max(|x|, eps);
 *   ns_steps times: a = x x^T, x = 3.4445 x + (-4.7750 a + 2.0315 a a) x;  p -= lr sqrt(max(1, rows / columns)) x
 * after p shrank by lr wd. The iteration is in f32 (PyTorch's in bf16). Parameters that are no matrices, which
 * PyTorch's refuses, are AdamW's, with the same rate. */
#include "optim/optim.h"

enum { MOMENTUM, MEAN, SQUARE };

static bool counts(const optim_hyper *h) {
    (void)h;
    return true;
}
static const ir_type *state_type(const optim_hyper *h, int k, const ir_type *param) {
    (void)h;
    return (k == MOMENTUM) == (param->rank == 2) ? param : NULL;
}

/* shared = lr/(1-b1^t), 1/sqrt(1-b2^t), of AdamW */
static void begin(optim_update *u) {
    ir_builder *b = u->b;
    const xt_muon_opts *p = OPTIM_OPTS(u->h, xt_muon_opts);
    u->shared[0] = ir_divide(b, u->lr, optim_bias(b, u->step, p->adam_beta1, NULL));
    u->shared[1] = ir_divide(b, optim_number(u, 1), ir_sqrt(b, optim_bias(b, u->step, p->adam_beta2, NULL)));
}

static ir_value *product(ir_builder *b, ir_value *x, ir_value *y, int64_t of_y) {
    int64_t last = 1;
    return x && y ? ir_dot_general(b, x, y, 0, NULL, NULL, 1, &last, &of_y, IR_PREC_HIGHEST) : NULL;
}
/* x of at most as many rows as columns, with its singular values near 1. */
static ir_value *iterate(ir_builder *b, ir_value *x, const xt_muon_opts *p) {
    static const double A = 3.4445, B = -4.7750, C = 2.0315;
    ir_value *norm = x ? gradients_norm(b, &x, 1, 2) : NULL;
    if (!norm) return NULL;
    ir_value *one = ir_splat(b, norm->type, 1);
    x = optim_scale(b, x, ir_divide(b, one, ir_maximum(b, norm, ir_splat(b, norm->type, p->eps))));
    for (int i = 0; i < p->ns_steps && x; i++) {
        ir_value *gram = product(b, x, x, 1);
        ir_value *change = ir_add(b, optim_times(b, gram, B), optim_times(b, product(b, gram, gram, 0), C));
        x = ir_add(b, optim_times(b, x, A), product(b, change, x, 0));
    }
    return x;
}
static ir_value *orthogonal(ir_builder *b, ir_value *x, const xt_muon_opts *p) {
    static const int64_t swap[] = {1, 0};
    if (!x) return NULL;
    xt_dtype t = x->type->dtype;
    bool tall = x->type->dims[0] > x->type->dims[1];
    if (xt_dtype_size(t) < 4) x = ir_convert(b, x, XT_F32);
    x = iterate(b, tall ? ir_transpose(b, x, 2, swap) : x, p);
    if (tall && x) x = ir_transpose(b, x, 2, swap);
    return x ? ir_convert(b, x, t) : NULL;
}

static void update_matrix(optim_update *u, const xt_muon_opts *p) {
    double rows = (double)u->grad->type->dims[0], columns = (double)u->grad->type->dims[1];
    double factor = p->match_rms_adamw == XT_ON ? 0.2 * sqrt(fmax(rows, columns)) : sqrt(fmax(1, rows / columns));
    ir_value *buf = u->new_state[MOMENTUM] = optim_mean_of(u, u->state[MOMENTUM], u->grad);
    ir_value *x = p->nesterov != XT_OFF ? optim_mean_of(u, buf, u->grad) : buf;
    optim_descend(u, optim_times(u->b, orthogonal(u->b, x, p), factor), u->lr);
}
static void update_other(optim_update *u, const xt_muon_opts *p) {
    ir_builder *b = u->b;
    ir_value *m = u->new_state[MEAN] = optim_mix(b, u->state[MEAN], u->grad, p->adam_beta1);
    ir_value *v = optim_mix(b, u->state[SQUARE], ir_multiply(b, u->grad, u->grad), p->adam_beta2);
    u->new_state[SQUARE] = v;
    ir_value *root = optim_scale(b, ir_sqrt(b, v), u->shared[1]);
    optim_descend(u, ir_divide(b, m, optim_plus(b, root, p->adam_eps)), u->shared[0]);
}
static void update(optim_update *u) {
    const xt_muon_opts *p = OPTIM_OPTS(u->h, xt_muon_opts);
    optim_decay(u, true);
    if (!u->param || !u->grad) return;
    if (u->param->type->rank == 2)
        update_matrix(u, p);
    else
        update_other(u, p);
}

static const optim_kind kind = {.id = OPTIM_muon,
                                .momentum = true,
                                .n_states = 3,
                                .state_names = {"momentum_buffer", "exp_avg", "exp_avg_sq"},
                                .counts = counts,
                                .state_type = state_type,
                                .begin = begin,
                                .update = update};

xt_optimizer *xt_muon_opt(const xt_src *src, xt_module *net, xt_muon_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_muon_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_muon_opts, momentum, 0, 1, "decay of the mean of gradients"),
        OPTIM_ROW(xt_muon_opts, weight_decay, 0, 1e6, "shrinks parameters"),
        OPTIM_ROW(xt_muon_opts, eps, 0, 1, "least norm that is divided by"),
        {"ns_steps", "Newton-Schulz steps", OPTION_INT, offsetof(xt_muon_opts, ns_steps), 1, 99, NULL},
        OPTIM_ROW(xt_muon_opts, adam_beta1, 0, 1, "AdamW's, for parameters that are no matrices"),
        OPTIM_ROW(xt_muon_opts, adam_beta2, 0, 1, "likewise"),
        OPTIM_ROW(xt_muon_opts, adam_eps, 0, 1, "likewise"),
        OPTIM_SWITCH(xt_muon_opts, nesterov, "looks one step ahead (default on)"),
        OPTIM_SWITCH(xt_muon_opts, match_rms_adamw, "steps as large as AdamW's"),
        OPTIM_SWITCH(xt_muon_opts, maximize, "climbs"),
        OPTIM_CLIP_ROWS(xt_muon_opts),
    };
    return optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_muon_opts), sizeof p);
}
