/* Averages of the parameters (EMA, SWA) as states beside them. Every optimizer step's program updates them; how much of
 * the parameter enters is data, so a step that does not update has the same program. For a validation, and at the end,
 * parameters and averages change places: two pointers, no copy. A parameter that waits in a resumed run for the layer
 * that takes it (nn_waiting) is as good as one that is there: its average is updated, and changes places with it. EMA:
 * Polyak and Juditsky 1992 with exponential weights. SWA: Izmailov et al. 2018, with its cosine to a constant learning
 * rate. */
#include <cjson/cJSON.h>
#include <math.h>

#include "base/saved.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"
#include "train/train_int.h"

typedef struct average {
    char *name;
    xt_tensor mean;
} average;
typedef struct averager {
    xt_weight_averaging_opts o;
    average *all;
    size_t n, cap;
    map *by_name; /* index in all, + 1 */
    uint64_t of; /* the module's number; 0: of none yet, or of the one that a checkpoint is of */
    int begun_of; /* so many of the module's tensors have their averages, if they are to have any */
    int64_t updates, start_epoch;
    double first_lr; /* at the start of SWA */
    bool swapped; /* the module holds the averages */
    bool update_due; /* SWA: the micro-batch being recorded is the last of its epoch */
    xt_trainer *t;
} averager;

static void forget_all(averager *a) {
    for (size_t i = 0; i < a->n; i++) {
        base_free(a->all[i].name);
        if (lazy_type(a->all[i].mean)) xt_drop_at(XT_HERE, a->all[i].mean);
    }
    base_free(a->all);
    map_free(a->by_name, NULL);
    a->all = NULL;
    a->by_name = NULL;
    a->n = a->cap = 0;
    a->begun_of = 0;
}

static void free_averager(void *user) {
    forget_all(user);
    base_free(user);
}

static average *find(averager *a, const char *name) {
    uintptr_t i = a->by_name ? (uintptr_t)map_get(a->by_name, name, strlen(name)) : 0;
    return i ? &a->all[i - 1] : NULL;
}

static average *add(averager *a, const char *name, xt_dtype dtype, int rank, const int64_t *dims, const void *data) {
    average e = {.name = base_strdup(name),
                 .mean = lazy_state_new(XT_HERE, LAZY_OPTIMIZER, name, dtype, rank, dims, data)};
    if (!a->by_name) a->by_name = map_new();
    if (e.name && a->by_name && VEC_PUSH(a->all, a->n, a->cap, e)) {
        if (map_put(a->by_name, name, strlen(name), (void *)(uintptr_t)a->n, NULL)) return &a->all[a->n - 1];
        a->n--;
    }
    if (lazy_type(e.mean)) xt_drop_at(XT_HERE, e.mean);
    base_free(e.name);
    return NULL;
}

/* The parameter of that name, be it there or not yet; none: the module has none. */
static xt_tensor param_of(const xt_trainer *t, const char *name) {
    const nn_entry *e = nn_find(t->net->root, name);
    if (e) return e->is_param ? e->t : (xt_tensor){0};
    return nn_waiting(t->net->root, name, true);
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

/* The averages of a parameter: one that changes places with it, and for one of 16 bits another beside that in f32,
 * under a name no parameter has. */
typedef struct means {
    xt_dtype dtype; /* that it is computed in */
    bool narrow, fresh;
    xt_tensor wide, own; /* of 32 bits and more they are one */
} means;

static bool means_of(averager *a, const char *name, xt_tensor p, const ir_type *type, means *out) {
    char wide_name[1100];
    out->narrow = xt_dtype_size(type->dtype) < 4;
    out->dtype = out->narrow ? XT_F32 : type->dtype;
    out->fresh = !find(a, name);
    snprintf(wide_name, sizeof wide_name, "%s%s", name, out->narrow ? " in f32" : "");
    average *e = find_or_add(a, wide_name, out->dtype, type);
    out->wide = e ? e->mean : (xt_tensor){0};
    e = e ? find_or_add(a, name, type->dtype, type) : NULL;
    out->own = e ? e->mean : (xt_tensor){0};
    return e && lies_as(out->wide, p) && lies_as(out->own, p);
}

/* --- the begin --- */
/* The state's value, as it was at the last boundary, for another of as many elements. */
static xt_status copy_value(xt_tensor to, xt_tensor from) {
    nn_loaded v = {.type = lazy_type(from)};
    const ir_type *type = lazy_type(to);
    size_t n = ir_type_bytes(v.type);
    if (!(v.data = base_malloc(n + 1))) return status_oom(n, "an average");
    xt_status s = lazy_state_read(from, v.data, n);
    if (!s) s = nn_convert(&v, type);
    if (!s) s = lazy_state_write(to, v.data, ir_type_bytes(type));
    base_free(v.data);
    return s;
}

/* A parameter that has come into being between two steps (a validation has called its layer) has had that value all the
 * time: its average begins as that. One that a step makes has its average behind the step (average_one). */
static xt_status begin_all(averager *a, const xt_trainer *t) {
    int n = xt_module_tensors(t->net);
    for (; a->begun_of < n; a->begun_of++) {
        const char *name = xt_module_tensor_name(t->net, a->begun_of);
        xt_tensor p = xt_module_tensor(t->net, a->begun_of);
        const ir_type *type = lazy_type(p);
        means m;
        if (!xt_module_tensor_is_param(t->net, a->begun_of) || !type || find(a, name)) continue;
        if (!means_of(a, name, p, type, &m))
            return lazy_pending() ? status_clone(lazy_pending()) : status_oom(sizeof m, name);
        if (!lazy_state_begins_as(m.own, p)) XT_TRY(copy_value(m.own, p));
        if (m.narrow) XT_TRY(copy_value(m.wide, p));
    }
    return NULL;
}

/* Before the first update that would be for nothing: it makes averages the parameters. */
static void batch_start(xt_trainer *t, const xt_batch *b, void *user) {
    averager *a = user;
    (void)b;
    xt_status s = a->updates ? begin_all(a, t) : NULL;
    if (s) lazy_fail(s);
}

static xt_status ready(xt_trainer *t, void *user) {
    return t->net ? begin_all(user, t) : NULL;
}

static bool average_one(averager *a, const char *name, xt_tensor p, const ir_type *type, weight *now, weight *all) {
    means m;
    if (!means_of(a, name, p, type, &m)) return false;
    xt_tensor mine = weight_as(m.fresh ? all : now, m.dtype), wide = xt_cast_at(XT_HERE, p, m.dtype);
    /* mean + w (p - mean): exactly p for w = 1 only where the difference is exact, so that case is chosen,
     * not computed. */
    xt_tensor step = xt_add_at(XT_HERE, m.wide, xt_mul_at(XT_HERE, mine, xt_sub__at(XT_HERE, wide, m.wide)));
    xt_tensor whole = xt_eq_at(XT_HERE, mine, xt_full_at(XT_HERE, 1, m.dtype, XT_DIMS_(0)));
    xt_tensor next = xt_where_at(XT_HERE, whole, wide, step);
    if (lazy_type(next)) lazy_assign(m.wide, next);
    if (m.narrow && lazy_type(next)) lazy_assign(m.own, xt_cast_at(XT_HERE, next, type->dtype));
    return !lazy_pending();
}

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    averager *a = user;
    a->update_due = b->index + 1 >= t->train_limit;
    if (!t->step_recorded || lazy_pending()) return;
    xt_no_grad_begin();
    weight now = {.now = weight_now(a, t)}, all = {.now = 1};
    bool ok = true;
    for (int i = 0; ok && i < xt_module_tensors(t->net); i++) {
        xt_tensor p = xt_module_tensor(t->net, i);
        const ir_type *type = lazy_type(p);
        if (xt_module_tensor_is_param(t->net, i) && type)
            ok = average_one(a, xt_module_tensor_name(t->net, i), p, type, &now, &all);
    }
    for (size_t i = 0; ok && i < a->n; i++) { /* none is added here */
        const char *name = a->all[i].name;
        xt_tensor p = nn_find(t->net->root, name) ? (xt_tensor){0} : param_of(t, name);
        if (p.slot) ok = average_one(a, name, p, lazy_type(p), &now, &all);
    }
    xt_no_grad_end_at(NULL);
}

/* --- changing places --- */
/* What the program has recorded of the weights since the last boundary (it has read a sum of them, say) is of them as
 * they are. */
static bool change_places(const xt_trainer *t, xt_tensor param, xt_tensor mean) {
    return lazy_state_swap(param, mean) || (lazy_boundary(LAZY_EVAL, src_get(t->src)) && lazy_state_swap(param, mean));
}

static void swap(averager *a, const xt_trainer *t, bool to_average) {
    if (a->swapped == to_average) return;
    for (size_t i = 0; i < a->n && !lazy_pending(); i++) {
        xt_tensor param = param_of(t, a->all[i].name);
        if (param.slot && lies_as(a->all[i].mean, param) && !change_places(t, param, a->all[i].mean) && !lazy_pending())
            lazy_fail(status_new(XT_INTERNAL, NULL, "weight averaging: %s and its average could not change places",
                                 a->all[i].name));
    }
    a->swapped = to_average;
}

static xt_status fit_start(xt_trainer *t, void *user) {
    averager *a = user;
    a->t = t;
    a->start_epoch = a->o.start_epoch >= 0 ? a->o.start_epoch
                     : t->o.max_epochs > 0 ? (int64_t)(0.8 * (double)t->o.max_epochs)
                                           : 0;
    uint64_t of = t->net->root->number;
    if (a->of && a->of != of) { /* another module's, and no checkpoint's */
        forget_all(a);
        a->updates = 0;
        a->swapped = false;
    }
    a->of = of;
    swap(a, t, false); /* an earlier fit left the averages in the module */
    return NULL;
}

static void epoch_start(xt_trainer *t, void *user) {
    averager *a = user;
    if (a->o.swa != XT_ON || a->o.swa_lr == XT_AUTO || t->epoch < a->start_epoch) return;
    if (!t->rates_taken) a->first_lr = a->first_lr > 0 ? a->first_lr : xt_optimizer_lr(t->opt);
    t->rates_taken = true;
    /* a fit that goes on within the epoch has the rate that was in force, which may be a hook's by then */
    if (t->position.batch > 0) return;
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
    a->of = 0;
    a->begun_of = 0;
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

static const callback_tensors tensors = {tensor_at, restore, .ready = ready};
static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "weight_averaging",
                                      .fit_start = fit_start,
                                      .epoch_start = epoch_start,
                                      .batch_start = batch_start,
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
