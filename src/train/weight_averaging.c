/* Averages of the parameters (EMA, SWA) as states beside them. Every optimizer step's program updates them; how much of
 * the parameter enters is data, so a step that does not update has the same program. For a validation, and at the end,
 * parameters and averages change places: two pointers, no copy. EMA: Polyak and Juditsky 1992 with exponential weights.
 * SWA: Izmailov et al. 2018, with its cosine to a constant learning rate. */
#include <cjson/cJSON.h>
#include <math.h>

#include "base/saved.h"
#include "lazy/mesh/mesh.h"
#include "optim/optim.h"
#include "train/train_int.h"

typedef struct average {
    char *name;
    xt_tensor param, mean;
} average;
typedef struct averager {
    xt_weight_averaging_opts o;
    average *all;
    size_t n, cap;
    int64_t updates, start_epoch;
    double first_lr; /* at the start of SWA */
    bool swapped; /* the module holds the averages */
    bool update_due; /* SWA: the micro-batch being recorded is the last of its epoch */
    xt_trainer *t;
} averager;

static void free_averager(void *user) {
    averager *a = user;
    for (size_t i = 0; i < a->n; i++) {
        base_free(a->all[i].name);
        if (lazy_type(a->all[i].mean)) xt_drop_at(XT_HERE, a->all[i].mean);
    }
    base_free(a->all);
    base_free(a);
}

static average *find(averager *a, const char *name) {
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->all[i].name, name) == 0) return &a->all[i];
    return NULL;
}

static average *add(averager *a, const char *name, xt_dtype dtype, int rank, const int64_t *dims, const void *data) {
    average e = {.name = base_strdup(name),
                 .mean = lazy_state_new(XT_HERE, LAZY_OPTIMIZER, name, dtype, rank, dims, data)};
    if (e.name && VEC_PUSH(a->all, a->n, a->cap, e)) return &a->all[a->n - 1];
    base_free(e.name);
    return NULL;
}

/* --- the update --- */
/* How much of the parameter enters the average now: 1 makes it the parameter. */
static double weight_now(averager *a, const xt_trainer *t) {
    if (a->o.swa != XT_ON) {
        bool due = (t->global_step + 1) % a->o.every_n_steps == 0;
        double w = a->updates == 0 ? 1 : due ? 1 - a->o.decay : 0;
        a->updates += a->updates == 0 || due;
        return w;
    }
    if (t->epoch < a->start_epoch) return 1;
    if (!a->update_due) return a->updates ? 0 : 1;
    return 1.0 / (double)++a->updates;
}

static average *find_or_add(averager *a, const char *name, xt_dtype dtype, const ir_type *like) {
    average *e = find(a, name);
    return e ? e : add(a, name, dtype, (int)like->rank, like->dims, NULL);
}

/* Each rank has the part of an average that it has of the parameter. */
static bool lies_as(xt_tensor mean, xt_tensor param) {
    xt_status s = lazy_state_lay_out(mean, lazy_layout_of(param));
    if (s) lazy_fail(s);
    return !s;
}

typedef struct weight { /* as data, in the dtypes that averages have */
    double now;
    xt_tensor single, twice;
} weight;
static xt_tensor weight_as(weight *w, xt_dtype d) {
    xt_tensor *t = d == XT_F64 ? &w->twice : &w->single;
    if (!t->slot) *t = lazy_scalar(XT_HERE, d, w->now);
    return *t;
}

/* A parameter of 16 bits has its average in f32 beside the one that changes places with it, under a name no
 * parameter has. */
static bool average_one(averager *a, const char *name, xt_tensor p, const ir_type *type, weight *w) {
    bool narrow = xt_dtype_size(type->dtype) < 4;
    xt_dtype d = narrow ? XT_F32 : type->dtype;
    char wide_name[1100];
    snprintf(wide_name, sizeof wide_name, "%s%s", name, narrow ? " in f32" : "");
    average *wide = find_or_add(a, wide_name, d, type);
    xt_tensor mean = wide ? wide->mean : (xt_tensor){0};
    average *e = wide ? find_or_add(a, name, type->dtype, type) : NULL;
    if (!e || !lies_as(mean, p) || !lies_as(e->mean, p)) return false;
    e->param = p;
    xt_tensor mine = weight_as(w, d), now = xt_cast_at(XT_HERE, p, d);
    /* mean + w (p - mean): exactly p for w = 1 only where the difference is exact, so that case is chosen,
     * not computed. */
    xt_tensor step = xt_add_at(XT_HERE, mean, xt_mul_at(XT_HERE, mine, xt_sub__at(XT_HERE, now, mean)));
    xt_tensor whole = xt_eq_at(XT_HERE, mine, xt_full_at(XT_HERE, 1, d, XT_DIMS_(0)));
    xt_tensor next = xt_where_at(XT_HERE, whole, now, step);
    if (lazy_type(next)) lazy_assign(mean, next);
    if (narrow && lazy_type(next)) lazy_assign(e->mean, xt_cast_at(XT_HERE, next, type->dtype));
    return true;
}

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    averager *a = user;
    a->update_due = b->index + 1 >= t->train_limit;
    if (!t->step_recorded || lazy_pending()) return;
    xt_no_grad_begin();
    weight w = {.now = weight_now(a, t)};
    for (int i = 0; i < xt_module_tensors(t->net); i++) {
        xt_tensor p = xt_module_tensor(t->net, i);
        const ir_type *type = lazy_type(p);
        if (!xt_module_tensor_is_param(t->net, i) || !type) continue;
        if (!average_one(a, xt_module_tensor_name(t->net, i), p, type, &w)) break;
    }
    xt_no_grad_end_at(NULL);
}

/* --- changing places --- */
/* Averages that a checkpoint brought find their parameters here where no step has done so: a resumed fit that has
 * nothing left to train makes its module's tensors after fit_start. */
static void bind_params(averager *a, const xt_trainer *t, bool anew) {
    for (size_t i = 0; i < a->n; i++)
        if (anew || !a->all[i].param.slot) a->all[i].param = xt_module_find(t->net, a->all[i].name);
}

static void swap(averager *a, const xt_trainer *t, bool to_average) {
    if (a->swapped == to_average) return;
    if (to_average) bind_params(a, t, false);
    for (size_t i = 0; i < a->n; i++)
        if (a->all[i].param.slot && lies_as(a->all[i].mean, a->all[i].param) &&
            !lazy_state_swap(a->all[i].param, a->all[i].mean))
            lazy_fail(status_new(XT_INTERNAL, NULL, "weight averaging: %s and its average could not change places",
                                 a->all[i].name));
    a->swapped = to_average;
}

static xt_status fit_start(xt_trainer *t, void *user) {
    averager *a = user;
    a->t = t;
    a->start_epoch = a->o.start_epoch >= 0 ? a->o.start_epoch
                     : t->o.max_epochs > 0 ? (int64_t)(0.8 * (double)t->o.max_epochs)
                                           : 0;
    bind_params(a, t, true);
    swap(a, t, false); /* an earlier fit left the averages in the module */
    return NULL;
}

static void epoch_start(xt_trainer *t, void *user) {
    averager *a = user;
    if (a->o.swa != XT_ON || a->o.swa_lr == XT_AUTO || t->epoch < a->start_epoch) return;
    if (!t->rates_taken) a->first_lr = a->first_lr > 0 ? a->first_lr : xt_optimizer_lr(t->opt);
    t->rates_taken = true;
    double done = fmin(1, (double)(t->epoch - a->start_epoch + 1) / (double)a->o.anneal_epochs);
    xt_optimizer_set_lr_at(NULL, t->opt, a->o.swa_lr + (a->first_lr - a->o.swa_lr) * 0.5 * (1 + cos(M_PI * done)));
}

static void validation_start(xt_trainer *t, void *user) {
    swap(user, t, true);
}
static void validation_end(xt_trainer *t, void *user) {
    swap(user, t, false);
}
static void fit_end(xt_trainer *t, bool ok, void *user) {
    averager *a = user;
    if (ok && !t->stop_signal && a->n) swap(a, t, true);
    a->t = NULL;
}

/* --- checkpoints --- */
static size_t save_state(char *buf, size_t n, void *user) {
    const averager *a = user;
    return (size_t)snprintf(buf, n, "{\"updates\": %lld, \"swapped\": %s, \"first_lr\": %.17g}", (long long)a->updates,
                            a->swapped ? "true" : "false", a->first_lr);
}

static xt_status load_state(const char *json, void *user) {
    averager *a = user;
    cJSON *o = cJSON_Parse(json);
    const cJSON *updates = cJSON_GetObjectItemCaseSensitive(o, "updates"),
                *lr = cJSON_GetObjectItemCaseSensitive(o, "first_lr");
    xt_status s =
        cJSON_IsNumber(updates) ? saved_number("updates", updates->valuedouble, 0, SAVED_COUNT, &a->updates) : NULL;
    if (cJSON_IsNumber(lr)) a->first_lr = lr->valuedouble;
    a->swapped = false; /* what loads the file for a fit puts both in their places */
    cJSON_Delete(o);
    return s;
}

static xt_tensor tensor_at(int i, char *name, size_t n, void *user) {
    const averager *a = user;
    if ((size_t)i >= a->n) return (xt_tensor){0};
    snprintf(name, n, "%s", a->all[i].name);
    return a->all[i].mean;
}

static xt_status restore(const char *name, xt_dtype dtype, int rank, const int64_t *dims, const void *data, bool own,
                         void *user) {
    averager *a = user;
    (void)own; /* ranks have the same weights */
    average *e = find(a, name);
    if (!e) return add(a, name, dtype, rank, dims, data) ? NULL : status_oom(64, name);
    const ir_type *type = lazy_type(e->mean), *given = ir_tensor(dtype, (size_t)rank, dims);
    if (type != given)
        return status_new(XT_DATA_LOSS, NULL, "the average of %s has another type in the checkpoint", name);
    return lazy_state_write(e->mean, data, ir_type_bytes(type));
}

static const callback_tensors tensors = {tensor_at, restore};
static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "weight_averaging",
                                      .fit_start = fit_start,
                                      .epoch_start = epoch_start,
                                      .batch_end = batch_end,
                                      .validation_start = validation_start,
                                      .validation_end = validation_end,
                                      .fit_end = fit_end,
                                      .save_state = save_state,
                                      .load_state = load_state,
                                      .free_user = free_averager};

static const option_row rows[] = {
    {"decay", "of the exponential average", OPTION_DOUBLE, offsetof(xt_weight_averaging_opts, decay), 0, 1, NULL},
    {"every_n_steps", "optimizer steps between updates", OPTION_I64, offsetof(xt_weight_averaging_opts, every_n_steps),
     1, 1e15, NULL},
    {"swa", "the plain mean of epochs' ends", OPTION_SWITCH, offsetof(xt_weight_averaging_opts, swa), 0, 0, NULL},
    {"start_epoch", "first epoch of SWA", OPTION_I64, offsetof(xt_weight_averaging_opts, start_epoch), 0, 1e15, NULL},
    {"swa_lr", "learning rate of SWA", OPTION_DOUBLE, offsetof(xt_weight_averaging_opts, swa_lr), 0, 1e6, NULL},
    {"anneal_epochs", "epochs to swa_lr", OPTION_I64, offsetof(xt_weight_averaging_opts, anneal_epochs), 1, 1e15, NULL},
};

/* An option that is given and of the other average; NULL: none. */
static const char *of_the_other(const xt_weight_averaging_opts *o) {
    const xt_weight_averaging_opts d = XT_OPTS(xt_weight_averaging_opts, );
    if (o->swa == XT_ON)
        return o->decay != d.decay ? "decay" : o->every_n_steps != d.every_n_steps ? "every_n_steps" : NULL;
    if (o->start_epoch != d.start_epoch) return "start_epoch";
    return o->swa_lr != d.swa_lr ? "swa_lr" : o->anneal_epochs != d.anneal_epochs ? "anneal_epochs" : NULL;
}

static xt_status all_are_read(const xt_weight_averaging_opts *o) {
    const char *option = of_the_other(o);
    if (!option) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL, "xt_weight_averaging: .%s would change nothing here: %s", option,
                      o->swa == XT_ON ? "it is EMA's; .swa = XT_ON takes the mean of the parameters at each epoch's end"
                                      : "it belongs to .swa = XT_ON; without that the average is EMA's, by .decay and "
                                        ".every_n_steps");
}

xt_callback *xt_weight_averaging_opt(const xt_src *src, xt_weight_averaging_opts o) {
    SRC_CALLED_FROM(src);
    xt_status s =
        options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_weight_averaging_opts), "xt_weight_averaging");
    if (!s) s = all_are_read(&o);
    averager *a = s ? NULL : base_calloc(1, sizeof *a);
    if (!s && !a) s = status_oom(sizeof *a, "a callback");
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    a->o = o;
    xt_callback *c = callback_make(&desc, a);
    if (c) c->tensors = &tensors;
    return c;
}
