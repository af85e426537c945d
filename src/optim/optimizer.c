/* Optimizers as objects: groups of parameters with numbers of their own, rates, and the arithmetic the kinds share. */
#include <fnmatch.h>
#include <math.h>

#include "optim/optim.h"

static void free_optimizer(void *o) {
    xt_optimizer_free(o);
}

const optim_name optim_names[OPTIM_COUNT] = {
#define OPTIMIZER(name, title, options) {#name, title},
#include "optim/optimizers.def"
#undef OPTIMIZER
};

/* A number of the options by its name; `fallback` when the kind has none of that name. */
static double option(const option_row *rows, size_t n, const void *opts, const char *name, double fallback) {
    for (size_t i = 0; i < n; i++) {
        const void *field = (const char *)opts + rows[i].offset;
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].kind == OPTION_SWITCH ? *(const xt_switch *)field == XT_ON : *(const double *)field;
    }
    return fallback;
}

static void take_options(xt_optimizer *o, const option_row *rows, size_t n) {
    double decay = option(rows, n, o->opts, "weight_decay", 0);
    o->groups[0].h = (optim_hyper){
        .lr = option(rows, n, o->opts, "lr", 0),
        .weight_decay = decay < 0 ? 0 : decay,
        .momentum = option(rows, n, o->opts, "momentum", option(rows, n, o->opts, "beta1", 0)),
        .maximize = option(rows, n, o->opts, "maximize", false) != 0,
        .opts = o->opts,
    };
    o->clip_norm = option(rows, n, o->opts, "clip_norm", 0);
    o->clip_norm_type = option(rows, n, o->opts, "clip_norm_type", 2);
    o->clip_value = option(rows, n, o->opts, "clip_value", 0);
}

xt_optimizer *optim_new(const optim_kind *k, xt_module *net, const option_row *rows, size_t n_rows, void *opts,
                        size_t size) {
    char what[32];
    snprintf(what, sizeof what, "xt_%s", optim_names[k->id].name);
    xt_status s = net ? options_check(rows, n_rows, opts, what)
                      : status_new(XT_INVALID_ARGUMENT, NULL, "%s: the module is NULL", what);
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    xt_optimizer *o = base_calloc(1, sizeof *o);
    optim_group first = {.lr_ratio = 1, .initial_lr = -1};
    if (!o || !(o->opts = base_malloc(size)) || !VEC_PUSH(o->groups, o->n_groups, o->cap_groups, first) ||
        !lazy_own(o, free_optimizer)) {
        if (o) {
            base_free(o->groups);
            base_free(o->opts);
        }
        base_free(o);
        lazy_fail(status_oom(sizeof *o, what));
        return NULL;
    }
    memcpy(o->opts, opts, size);
    take_options(o, rows, n_rows);
    o->kind = k;
    o->name = &optim_names[k->id];
    o->net = net;
    o->last_step = -1;
    live_add(LIVE_optimizer, 1);
    return o;
}

void xt_optimizer_free(xt_optimizer *o) {
    if (!o) return;
    lazy_disown(o);
    lazy_replay_forget(o); /* and with it every recording that refers to its groups */
    for (size_t i = 0; i < o->n_schedulers; i++) schedule_free(o->schedulers[i]);
    base_free(o->schedulers);
    optim_offload_free(o);
    optim_state_free(o);
    for (size_t i = 0; i < o->n_groups; i++) base_free(o->groups[i].pattern);
    base_free(o->groups);
    base_free(o->last);
    base_free(o->opts);
    base_free(o);
    live_add(LIVE_optimizer, -1);
}

/* --- groups --- */
static const option_row group_rows[] = {
    OPTIM_ROW(xt_group_opts, lr, 0, 0, 1e6, "learning rate of the group"),
    OPTIM_ROW(xt_group_opts, lr_scale, 1, 0, 1e6, "factor of the optimizer's learning rate"),
    OPTIM_ROW(xt_group_opts, weight_decay, 0, -1, 1e6, "negative = none"),
    OPTIM_ROW(xt_group_opts, momentum, 0, 0, 1, "momentum, or the first beta"),
    OPTIM_SWITCH(xt_group_opts, frozen, "not updated"),
};

int xt_optimizer_group_opt(const xt_src *src, xt_optimizer *o, const char *pattern, xt_group_opts p) {
    SRC_CALLED_FROM(src);
    if (!o) return -1; /* its own error is pending */
    xt_status s = options_check(group_rows, BASE_COUNT(group_rows), &p, "xt_optimizer_group");
    if (!s && (!pattern || !*pattern))
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_optimizer_group: a pattern of parameter names is needed, as \"*.bias\"");
    if (!s && p.lr != 0 && p.lr_scale != 1)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_optimizer_group: .lr = %g and .lr_scale = %g are both given; one of them is the rate", p.lr,
                       p.lr_scale);
    if (!s && o->steps)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "xt_optimizer_group: make the groups before the first step; %lld were taken",
                       (long long)o->steps);
    if (!s && o->n_schedulers)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "xt_optimizer_group: make the groups before the learning rate's schedule");
    optim_group g = {
        .h = o->groups[0].h, .pattern = s ? NULL : base_strdup(pattern), .frozen = p.frozen == XT_ON, .initial_lr = -1};
    if (!s && !g.pattern) s = status_oom(64, "an optimizer's group");
    g.h.lr = p.lr != 0 ? p.lr : g.h.lr * p.lr_scale;
    g.lr_ratio = o->groups[0].h.lr > 0 ? g.h.lr / o->groups[0].h.lr : p.lr_scale;
    if (p.weight_decay != 0) g.h.weight_decay = p.weight_decay < 0 ? 0 : p.weight_decay;
    if (p.momentum != 0) g.h.momentum = p.momentum;
    if (!s && !VEC_PUSH(o->groups, o->n_groups, o->cap_groups, g)) {
        base_free(g.pattern);
        s = status_oom(sizeof g, "an optimizer's group");
    }
    if (s) {
        lazy_fail(s);
        return -1;
    }
    for (size_t i = 0; i < o->n; i++) o->params[i].group = optim_group_of(o, o->params[i].name);
    o->patterns_checked = false;
    return (int)o->n_groups - 1;
}

int optim_group_of(const xt_optimizer *o, const char *param) {
    for (size_t g = o->n_groups; g-- > 1;)
        if (fnmatch(o->groups[g].pattern, param, 0) == 0) return (int)g;
    return 0;
}

int xt_optimizer_groups(const xt_optimizer *o) {
    return o ? (int)o->n_groups : 0;
}

static optim_group *group_at(const xt_optimizer *o, int g, const char *what) {
    if (o && g >= 0 && (size_t)g < o->n_groups) return &o->groups[g];
    if (o) lazy_fail(status_new(XT_OUT_OF_RANGE, NULL, "%s: group %d of %zu", what, g, o->n_groups));
    return NULL;
}

static bool good_rate(double lr, const char *what) {
    if (lr >= 0 && isfinite(lr)) return true;
    lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "%s: %g; a finite rate of at least 0 is needed", what, lr));
    return false;
}

void xt_optimizer_set_lr_at(const xt_src *src, xt_optimizer *o, double lr) {
    SRC_CALLED_FROM(src);
    if (!o || !good_rate(lr, "xt_optimizer_set_lr")) return;
    for (size_t i = 0; i < o->n_groups; i++) o->groups[i].h.lr = lr * o->groups[i].lr_ratio;
}
void xt_optimizer_set_group_lr_at(const xt_src *src, xt_optimizer *o, int group, double lr) {
    SRC_CALLED_FROM(src);
    optim_group *g = group_at(o, group, "xt_optimizer_set_group_lr");
    if (g && good_rate(lr, "xt_optimizer_set_group_lr")) g->h.lr = lr;
}
double xt_optimizer_group_lr(const xt_optimizer *o, int group) {
    const optim_group *g = group_at(o, group, "xt_optimizer_group_lr");
    return g ? g->h.lr : 0;
}
void xt_optimizer_set_momentum_at(const xt_src *src, xt_optimizer *o, double momentum) {
    SRC_CALLED_FROM(src);
    if (!o) return;
    if (!(momentum >= 0 && momentum < 1)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_optimizer_set_momentum: %g; a momentum is at least 0 and less than 1", momentum));
        return;
    }
    o->momentum_moves = true;
    for (size_t i = 0; i < o->n_groups; i++) o->groups[i].h.momentum = momentum;
}
double xt_optimizer_momentum(const xt_optimizer *o) {
    return o ? o->groups[0].h.momentum : 0;
}
double xt_optimizer_lr(const xt_optimizer *o) {
    return o ? o->groups[0].h.lr : 0;
}
int64_t xt_optimizer_steps(const xt_optimizer *o) {
    return o ? o->steps : 0;
}
bool optim_counts(const xt_optimizer *o) {
    return o->kind->counts && o->kind->counts(&o->groups[0].h);
}

const ir_type *optim_state_type(const xt_optimizer *o, const optim_param *p, int k, const ir_type *param) {
    return o->kind->state_type ? o->kind->state_type(&o->groups[p->group].h, k, param) : param;
}

/* --- arithmetic --- */
ir_value *optim_scale(ir_builder *b, ir_value *x, ir_value *scalar) {
    if (!x || !scalar) return NULL;
    return ir_multiply(b, x, ir_broadcast_scalar(b, ir_convert(b, scalar, x->type->dtype), x->type));
}

ir_value *optim_times(ir_builder *b, ir_value *x, double c) {
    return x ? ir_multiply(b, x, ir_splat(b, x->type, c)) : NULL;
}

ir_value *optim_plus(ir_builder *b, ir_value *x, double c) {
    return x ? ir_add(b, x, ir_splat(b, x->type, c)) : NULL;
}

ir_value *optim_keep(optim_update *u, ir_value *x) {
    return u->momentum ? optim_scale(u->b, x, u->momentum) : optim_times(u->b, x, u->h->momentum);
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
    if (beta == 0) return step ? ir_splat(b, step->type, 1) : NULL;
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
