/* Optimizers and schedules by name, as the command line and configuration files ask for them: --optimizer adamw
 * --optimizer.lr 3e-4 replaces the task's configure_optimizers; --scheduler cosine --scheduler.t_max 100 adds a
 * schedule. The names of their numbers are those of the structs in optim.h and schedule.h: each constructor's own table
 * of rows reads them (options_give). */
#include <stdlib.h>

#include "optim/optim.h"
#include "train/train_int.h"

enum { MOST = 24 };

#define OPTIMIZER(name, type)                                                   \
    static xt_optimizer *new_##name(xt_module *net) {                           \
        return xt_##name##_opt(NULL, net, (type){.struct_size = sizeof(type)}); \
    }
OPTIMIZER(sgd, xt_sgd_opts)
OPTIMIZER(adam, xt_adamw_opts)
OPTIMIZER(adamw, xt_adamw_opts)
OPTIMIZER(adagrad, xt_adagrad_opts)
OPTIMIZER(rmsprop, xt_rmsprop_opts)
OPTIMIZER(adadelta, xt_adadelta_opts)
OPTIMIZER(adamax, xt_adam_family_opts)
OPTIMIZER(nadam, xt_adam_family_opts)
OPTIMIZER(radam, xt_adam_family_opts)
OPTIMIZER(lion, xt_lion_opts)
OPTIMIZER(lamb, xt_lamb_opts)
OPTIMIZER(adafactor, xt_adafactor_opts)

static const struct {
    const char *name;
    xt_optimizer *(*make)(xt_module *net);
} optimizers[] = {{"sgd", new_sgd},         {"adam", new_adam},       {"adamw", new_adamw},
                  {"adagrad", new_adagrad}, {"rmsprop", new_rmsprop}, {"adadelta", new_adadelta},
                  {"adamax", new_adamax},   {"nadam", new_nadam},     {"radam", new_radam},
                  {"lion", new_lion},       {"lamb", new_lamb},       {"adafactor", new_adafactor}};

/* What a schedule needs that is no number of its table. */
typedef struct schedule_words {
    xt_interval interval;
    const char *monitor, *milestones;
    xt_reduce mode;
} schedule_words;

#define SCHEDULE(name, type)                                                                                    \
    static xt_scheduler *new_##name(xt_optimizer *o, const schedule_words *w) {                                 \
        return xt_##name##_schedule_opt(NULL, o, (type){.struct_size = sizeof(type), .interval = w->interval}); \
    }
SCHEDULE(step, xt_step_schedule_opts)
SCHEDULE(exponential, xt_exponential_schedule_opts)
SCHEDULE(linear, xt_linear_schedule_opts)
SCHEDULE(constant, xt_constant_schedule_opts)
SCHEDULE(polynomial, xt_polynomial_schedule_opts)
SCHEDULE(cosine, xt_cosine_schedule_opts)
SCHEDULE(warm_restarts, xt_warm_restarts_schedule_opts)
SCHEDULE(one_cycle, xt_one_cycle_schedule_opts)
SCHEDULE(cyclic, xt_cyclic_schedule_opts)
static xt_scheduler *new_plateau(xt_optimizer *o, const schedule_words *w) {
    return xt_plateau_schedule_opt(NULL, o,
                                   (xt_plateau_schedule_opts){.struct_size = sizeof(xt_plateau_schedule_opts),
                                                              .monitor = w->monitor,
                                                              .mode = w->mode});
}
static xt_scheduler *new_multistep(xt_optimizer *o, const schedule_words *w) {
    xt_multistep_schedule_opts p = {.struct_size = sizeof p, .interval = w->interval};
    const char *at = w->milestones ? w->milestones : "";
    for (int n = 0; *at && n < XT_SCHEDULE_MOST; n++) {
        char *end;
        p.milestones[n] = strtoll(at, &end, 10);
        at = end > at ? end + (*end == ',') : "";
    }
    return xt_multistep_schedule_opt(NULL, o, p);
}

static const struct {
    const char *name;
    xt_scheduler *(*make)(xt_optimizer *o, const schedule_words *w);
} schedules[] = {{"step", new_step},
                 {"multistep", new_multistep},
                 {"exponential", new_exponential},
                 {"linear", new_linear},
                 {"constant", new_constant},
                 {"polynomial", new_polynomial},
                 {"cosine", new_cosine},
                 {"warm_restarts", new_warm_restarts},
                 {"one_cycle", new_one_cycle},
                 {"cyclic", new_cyclic},
                 {"plateau", new_plateau}};

static int optimizer_named(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(optimizers); i++)
        if (strcmp(optimizers[i].name, name) == 0) return (int)i;
    return -1;
}
static int schedule_named(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(schedules); i++)
        if (strcmp(schedules[i].name, name) == 0) return (int)i;
    return -1;
}

static xt_status unknown(const char *what, const char *name) {
    const char *names[BASE_COUNT(optimizers)];
    bool schedule = strcmp(what, "scheduler") == 0;
    size_t n = schedule ? BASE_COUNT(schedules) : BASE_COUNT(optimizers);
    str list = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        names[i] = schedule ? schedules[i].name : optimizers[i].name;
        str_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = text_nearest(name, names, n);
    xt_status s = status_new(XT_NOT_FOUND, NULL, "--%s %s: there is none of this name%s%s%s; there are %s", what, name,
                             near ? "; did you mean " : "", near ? near : "", near ? "?" : "", str_cstr(&list));
    str_free(&list);
    return s;
}

bool by_name_optimizer(xt_trainer *t) {
    return xt_trainer_text(t, "optimizer.name", NULL) != NULL;
}

xt_status by_name_settle(xt_trainer *t) {
    const char *optimizer = xt_trainer_text(t, "optimizer.name", NULL),
               *schedule = xt_trainer_text(t, "scheduler.name", NULL), *names[MOST], *values[MOST];
    options_by_name o, s;
    config_ask(t, "optimizer", &o, names, values, MOST);
    if (o.n && !optimizer)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "--optimizer.%s is given without --optimizer NAME (sgd, adamw, ...), which says whose it is",
                          names[0]);
    config_ask(t, "scheduler", &s, names, values, MOST);
    if (s.n && !schedule)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "--scheduler.%s is given without --scheduler NAME (cosine, step, ...), which says whose it is", names[0]);
    if (optimizer && optimizer_named(optimizer) < 0) return unknown("optimizer", optimizer);
    return schedule && schedule_named(schedule) < 0 ? unknown("scheduler", schedule) : NULL;
}

static xt_status make_optimizer(xt_trainer *t) {
    const char *name = xt_trainer_text(t, "optimizer.name", NULL), *names[MOST], *values[MOST];
    options_by_name g;
    config_ask(t, "optimizer", &g, names, values, MOST);
    options_give(&g);
    t->opts[0] = optimizers[optimizer_named(name)].make(t->net);
    options_give(NULL);
    t->n_opts = t->opts[0] ? 1 : 0;
    return t->opts[0] ? NULL : status_context(status_clone(lazy_pending()), "--optimizer %s", name);
}

/* Takes the words out of the list, so that the rest are the schedule's numbers. */
static xt_status words_of(options_by_name *g, const char **names, const char **values, schedule_words *w) {
    int kept = 0;
    *w = (schedule_words){.interval = XT_EACH_EPOCH};
    for (int i = 0; i < g->n; i++) {
        const char *v = values[i];
        bool each_step = strcmp(v, "step") == 0, max = strcmp(v, "max") == 0;
        if (strcmp(names[i], "interval") == 0) {
            if (!each_step && strcmp(v, "epoch") != 0)
                return status_new(XT_INVALID_ARGUMENT, NULL, "--scheduler.interval %s: step or epoch is expected", v);
            w->interval = each_step ? XT_EACH_STEP : XT_EACH_EPOCH;
        } else if (strcmp(names[i], "mode") == 0) {
            if (!max && strcmp(v, "min") != 0)
                return status_new(XT_INVALID_ARGUMENT, NULL, "--scheduler.mode %s: min or max is expected", v);
            w->mode = max ? XT_MAX : XT_MIN;
        } else if (strcmp(names[i], "monitor") == 0)
            w->monitor = v;
        else if (strcmp(names[i], "milestones") == 0)
            w->milestones = v;
        else {
            names[kept] = names[i];
            values[kept++] = v;
        }
    }
    g->n = kept;
    return NULL;
}

static xt_status make_schedule(xt_trainer *t) {
    const char *name = xt_trainer_text(t, "scheduler.name", NULL), *names[MOST], *values[MOST];
    options_by_name g;
    schedule_words w;
    if (!name) return NULL;
    config_ask(t, "scheduler", &g, names, values, MOST);
    XT_TRY(words_of(&g, names, values, &w));
    for (int i = 0; i < t->n_opts; i++) {
        if (t->opts[i]->n_schedulers)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "--scheduler %s: the model's optimizer has a schedule of its own; --optimizer NAME takes "
                              "another optimizer, without it",
                              name);
        options_by_name each = g;
        options_give(&each);
        xt_scheduler *s = schedules[schedule_named(name)].make(t->opts[i], &w);
        options_give(NULL);
        if (!s) return status_context(status_clone(lazy_pending()), "--scheduler %s", name);
    }
    return NULL;
}

xt_status by_name_configure(xt_trainer *t) {
    if (by_name_optimizer(t)) XT_TRY(make_optimizer(t));
    return make_schedule(t);
}
