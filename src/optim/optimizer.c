/* Optimizers as objects: made with the numbers of their kind, freed. */

#include "base/handle.h"
#include "nn/nn.h"
#include "optim/optim.h"

static void free_optimizer(void *o) {
    xt_optimizer_free(o);
}

const optim_name optim_names[OPTIM_COUNT] = {
#define OPTIMIZER(name, title, options) {#name, title},
#include "optim/optimizers.def"
#undef OPTIMIZER
};

static const optim_name with_closure = {"lbfgs", "LBFGS"};

static const optim_name *name_of(optim_id id) {
    return id < OPTIM_COUNT ? &optim_names[id] : &with_closure;
}

static bool has_option(const option_row *rows, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) return true;
    return false;
}

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
    o->groups[0].h = (optim_hyper){
        .lr = option(rows, n, o->opts, "lr", 0),
        .weight_decay = option(rows, n, o->opts, "weight_decay", 0),
        .momentum = option(rows, n, o->opts, "momentum", option(rows, n, o->opts, "beta1", 0)),
        .maximize = option(rows, n, o->opts, "maximize", false) != 0,
        .opts = o->opts,
    };
    o->has_momentum = has_option(rows, n, "momentum") || has_option(rows, n, "beta1");
    o->has_decay = has_option(rows, n, "weight_decay");
    o->clip_norm = option(rows, n, o->opts, "clip_norm", 0);
    o->clip_norm_type = option(rows, n, o->opts, "clip_norm_type", 2);
    o->clip_value = option(rows, n, o->opts, "clip_value", 0);
}

xt_optimizer *optim_new(const optim_kind *k, xt_module *net, const option_row *rows, size_t n_rows, void *opts,
                        const void *defaults, size_t size) {
    char what[32];
    snprintf(what, sizeof what, "xt_%s", name_of(k->id)->name);
    xt_status s = net ? options_check(rows, n_rows, opts, defaults, what)
                      : status_new(XT_INVALID_ARGUMENT, NULL, "%s: the module is NULL", what);
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    xt_optimizer *o = handle_new(HANDLE_optimizer, sizeof *o);
    optim_group first = {.lr_ratio = 1, .initial_lr = -1};
    if (!o || !(o->opts = base_malloc(size)) || !VEC_PUSH(o->groups, o->n_groups, o->cap_groups, first) ||
        !lazy_own(o, free_optimizer)) {
        if (o) {
            base_free(o->groups);
            base_free(o->opts);
        }
        handle_free(o);
        lazy_fail(status_oom(sizeof *o, what));
        return NULL;
    }
    memcpy(o->opts, opts, size);
    take_options(o, rows, n_rows);
    o->rows = rows; /* each kind's own table */
    o->n_rows = n_rows;
    o->kind = k;
    o->name = name_of(k->id);
    o->net = net;
    o->root = net->root->module;
    o->last_step = -1;
    lazy_updater_begin(&o->updater);
    lazy_module_now(nn_network(o->root), LAZY_MODULE_OPTIMIZED);
    handle_needs(o, o->root);
    forgotten_begin(o);
    live_add(LIVE_optimizer, 1);
    return o;
}

void xt_optimizer_free(xt_optimizer *o) {
    if (!o) return;
    lazy_disown(o);
    forgotten_end(o);
    lazy_replay_forget(o); /* and with it every recording that refers to its groups */
    lazy_updater_forget(&o->updater);
    optim_forget_finite(o);
    scaler_forget_waiting(o);
    for (size_t i = 0; i < o->n_schedulers; i++) schedule_free(o->schedulers[i]);
    base_free(o->schedulers);
    optim_offload_free(o);
    optim_lbfgs_free(o);
    optim_state_free(o);
    scaler_forget_found(&o->found);
    for (size_t i = 0; i < o->n_groups; i++) base_free(o->groups[i].pattern);
    base_free(o->groups);
    base_free(o->last);
    base_free(o->compared.text);
    base_free(o->opts);
    handle_free(o);
    live_add(LIVE_optimizer, -1);
}

const ir_type *optim_state_type(const xt_optimizer *o, const optim_param *p, int k, const ir_type *param) {
    const ir_type *t = o->kind->state_type ? o->kind->state_type(&o->groups[p->group].h, k, param) : param;
    bool widens = t && o->state_dtype != XT_DTYPE_NONE && ir_dtype_is_float(t->dtype) &&
                  xt_dtype_size(t->dtype) < xt_dtype_size(o->state_dtype);
    return widens ? ir_with_dtype(t, o->state_dtype) : t;
}

void xt_optimizer_set_state_dtype_at(const xt_src *src, xt_optimizer *o, xt_dtype dtype) {
    SRC_CALLED_FROM(src);
    if (!o) return;
    if (!ir_dtype_is_float(dtype))
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_optimizer_set_state_dtype: %s is no float dtype; XT_F32 is the usual one",
                             xt_dtype_name(dtype)));
    else if (o->n)
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                             "xt_optimizer_set_state_dtype: the state of %s is there already; call it before the "
                             "first step",
                             o->params[0].name));
    else
        o->state_dtype = dtype;
}
