/* Groups of parameters, by patterns of their names, with numbers of their own; and the numbers that move while it
 * trains: learning rates and momentum. */
#include <fnmatch.h>
#include <math.h>

#include "optim/optim.h"

static const option_row group_rows[] = {
    OPTIM_ROW(xt_group_opts, lr, 0, 1e6, "learning rate of the group"),
    OPTIM_ROW(xt_group_opts, lr_scale, 0, 1e6, "factor of the optimizer's learning rate"),
    OPTIM_ROW(xt_group_opts, weight_decay, 0, 1e6, "weight decay of the group"),
    OPTIM_ROW(xt_group_opts, momentum, 0, 1, "momentum, or the first beta"),
    OPTIM_SWITCH(xt_group_opts, frozen, "not updated"),
};

/* A number that the kind never reads would be taken and change nothing. */
static xt_status fits_kind(const xt_optimizer *o, const xt_group_opts *p) {
    if (o->lbfgs)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "xt_optimizer_group: %s has no groups, for each of its steps moves all parameters along one "
            "direction; xt_freeze keeps some as they are, and a rate of their own needs another optimizer",
            o->name->title);
    const char *lacks = p->momentum != XT_AUTO && !o->has_momentum    ? "momentum"
                        : p->weight_decay != XT_AUTO && !o->has_decay ? "weight_decay"
                                                                      : NULL;
    return lacks ? status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_optimizer_group: .%s is given, and %s has none: leave it out", lacks, o->name->title)
                 : NULL;
}

int xt_optimizer_group_opt(const xt_src *src, xt_optimizer *o, const char *pattern, xt_group_opts p) {
    SRC_CALLED_FROM(src);
    if (!o) return -1; /* its own error is pending */
    xt_status s =
        options_check(group_rows, BASE_COUNT(group_rows), &p, OPTION_DEFAULTS(xt_group_opts), "xt_optimizer_group");
    if (!s) s = fits_kind(o, &p);
    if (!s && (!pattern || !*pattern))
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_optimizer_group: a pattern of parameter names is needed, as \"*.bias\"");
    if (!s && p.lr != XT_AUTO && p.lr_scale != 1)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_optimizer_group: .lr = %g and .lr_scale = %g are both given; one of them is the rate", p.lr,
                       p.lr_scale);
    if (!s && o->updater.steps)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "xt_optimizer_group: make the groups before the first step; %lld were taken",
                       (long long)o->updater.steps);
    if (!s && o->n_schedulers)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "xt_optimizer_group: make the groups before the learning rate's schedule");
    optim_group g = {.h = o->groups[0].h,
                     .pattern = s ? NULL : base_strdup(pattern),
                     .frozen = p.frozen == XT_ON,
                     .initial_lr = -1,
                     .made = src_intern(src)};
    if (!s && !g.pattern) s = status_oom(64, "an optimizer's group");
    g.h.lr = p.lr != XT_AUTO ? p.lr : g.h.lr * p.lr_scale;
    g.lr_ratio = o->groups[0].h.lr > 0 ? g.h.lr / o->groups[0].h.lr : p.lr_scale;
    if (p.weight_decay != XT_AUTO) g.h.weight_decay = p.weight_decay;
    if (p.momentum != XT_AUTO) g.h.momentum = p.momentum;
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
    if (!o->has_momentum) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_optimizer_set_momentum: %s has no momentum to set",
                             o->name->title));
        return;
    }
    if (!(momentum >= 0 && momentum < 1)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_optimizer_set_momentum: %g; a momentum is at least 0 and less than 1", momentum));
        return;
    }
    const optim_group *first = &o->groups[0];
    if (o->updater.steps && (!first->h.momentum_moves || (first->h.momentum == 0 && momentum > 0)))
        lazy_note_momentum(src);
    optim_move_momentum(o);
    for (size_t i = 0; i < o->n_groups; i++) o->groups[i].h.momentum = momentum;
}
/* Compiled step functions have the momentum as a constant until then. */
void optim_move_momentum(xt_optimizer *o) {
    if (o->updater.steps && !o->groups[0].h.momentum_moves && !lazy_tracing()) lazy_replay_forget(o);
    for (size_t i = 0; i < o->n_groups; i++) o->groups[i].h.momentum_moves = true;
}
double xt_optimizer_momentum(const xt_optimizer *o) {
    return o ? o->groups[0].h.momentum : 0;
}
double xt_optimizer_lr(const xt_optimizer *o) {
    return o ? o->groups[0].h.lr : 0;
}
int64_t xt_optimizer_steps(const xt_optimizer *o) {
    return o ? o->updater.steps : 0;
}
