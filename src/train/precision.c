/* The trainer's precision: what matrix products and convolutions are computed in, and the loss scaler
 * that f16 needs. */
#include "optim/optim.h"
#include "train/train_int.h"

typedef struct precision {
    const char *name;
    xt_dtype autocast; /* XT_F32: none */
    bool scales;
    xt_dtype all; /* weights, the optimizer's states and inputs; XT_F32 where they stay what they are */
} precision;

static const precision known[] = {
    {"fp32", XT_F32, false, XT_F32},    {"f32", XT_F32, false, XT_F32},     {"32", XT_F32, false, XT_F32},
    {"32-true", XT_F32, false, XT_F32}, {"bf16", XT_BF16, false, XT_F32},   {"bf16-mixed", XT_BF16, false, XT_F32},
    {"16-mixed", XT_F16, true, XT_F32}, {"fp16", XT_F16, true, XT_F32},     {"bf16-true", XT_F32, false, XT_BF16},
    {"16-true", XT_F32, false, XT_F16}, {"64-true", XT_F32, false, XT_F64}, {"64", XT_F32, false, XT_F64}};

static const precision *find(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (!name || strcmp(known[i].name, name) == 0) return &known[i];
    return NULL;
}

xt_status train_precision_check(const char *name) {
    return find(name) ? NULL
                      : status_new(XT_INVALID_ARGUMENT, NULL,
                                   "precision = %s: fp32 (32, 32-true), bf16 (bf16-mixed), bf16-true, 16-mixed (fp16), "
                                   "16-true and 64-true are known",
                                   name);
}

xt_status train_precision_module(const xt_trainer *t) {
    const precision *p = find(t->o.precision);
    return p && p->all != XT_F32 ? status_context(xt_module_set_dtype(t->net, p->all), "precision = %s", p->name)
                                 : NULL;
}

/* A loss keeps its targets as they are: it is computed in the wider of the two. */
void train_precision_batch(const xt_trainer *t, const xt_src *src, xt_batch *b) {
    const precision *p = find(t->o.precision);
    const ir_type *x = lazy_type(b->x);
    if (p && p->all != XT_F32 && x && x->dtype == XT_F32) b->x = xt_cast_at(src, b->x, p->all);
}

void train_precision_begin(const xt_trainer *t) {
    const precision *p = find(t->o.precision);
    if (p && p->autocast != XT_F32) xt_autocast_begin_at(NULL, p->autocast);
}
void train_precision_end(const xt_trainer *t) {
    const precision *p = find(t->o.precision);
    if (p && p->autocast != XT_F32) xt_autocast_end_at(NULL);
}

xt_status train_precision_attach(xt_trainer *t) {
    const precision *p = find(t->o.precision);
    bool scales = p && p->scales;
    if (scales && !t->scaler) {
        t->scaler = xt_loss_scaler_new();
        if (!t->scaler) return status_clone(lazy_pending());
    }
    for (int i = 0; scales && i < t->n_opts; i++) scaler_attach(t->opts[i], t->scaler);
    t->scales = scales;
    return NULL;
}

xt_tensor train_scaled(const xt_trainer *t, const xt_src *src, xt_tensor loss) {
    return t->scales ? xt_scale_loss_at(src, t->scaler, loss) : loss;
}

void train_unscale(const xt_trainer *t, const xt_src *src) {
    for (int i = 0; i < t->n_opts && t->scales && !lazy_pending(); i++)
        xt_scaler_unscale_at(src, t->scaler, t->opts[i]);
}

void train_optimizer_steps(const xt_trainer *t, const xt_src *src) {
    for (int i = 0; i < t->n_opts && !lazy_pending(); i++)
        if (t->scales)
            xt_scaler_step_at(src, t->scaler, t->opts[i]);
        else
            xt_optimizer_step_at(src, t->opts[i]);
    if (t->scales) xt_scaler_update_at(src, t->scaler);
}
