/* Optimizers and schedules by name, as the command line and configuration files ask for them: --optimizer adamw
 * --optimizer.lr 3e-4 replaces the task's configure_optimizers; --scheduler cosine --scheduler.t_max 100 adds a
 * schedule. Which there are stands in optimizers.def and schedules.def. The names of their numbers are those of the
 * structs in optim.h and schedule.h: each constructor's own table of rows reads them (options_give). */
#include <stdlib.h>

#include "optim/optim.h"
#include "train/train_int.h"

enum { MOST = 24 };

#define OPTIMIZER(name, title, type)                        \
    static xt_optimizer *new_##name(xt_module *net) {       \
        return xt_##name##_opt(NULL, net, XT_OPTS(type, )); \
    }
#include "optim/optimizers.def"
#undef OPTIMIZER
static xt_optimizer *(*const optimizers[OPTIM_COUNT])(xt_module *net) = {
#define OPTIMIZER(name, title, type) new_##name,
#include "optim/optimizers.def"
};

/* What a schedule needs that is no number of its table. */
typedef struct schedule_words {
    xt_interval interval;
    const char *monitor, *milestones;
    xt_reduce mode;
} schedule_words;

#define SCHEDULE(name, type)                                                              \
    static xt_scheduler *new_##name(xt_optimizer *o, const schedule_words *w) {           \
        return xt_##name##_schedule_opt(NULL, o, XT_OPTS(type, .interval = w->interval)); \
    }
#define SCHEDULE_OF_WORDS(name)
#include "optim/schedules.def"
#undef SCHEDULE
#undef SCHEDULE_OF_WORDS
static xt_scheduler *new_plateau(xt_optimizer *o, const schedule_words *w) {
    return xt_plateau_schedule_opt(NULL, o, XT_OPTS(xt_plateau_schedule_opts, .monitor = w->monitor, .mode = w->mode));
}
static xt_scheduler *new_multistep(xt_optimizer *o, const schedule_words *w) {
    xt_multistep_schedule_opts p = XT_OPTS(xt_multistep_schedule_opts, .interval = w->interval);
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
} schedules[] = {
#define SCHEDULE(name, type) {#name, new_##name},
#define SCHEDULE_OF_WORDS(name) {#name, new_##name},
#include "optim/schedules.def"
};

static int optimizer_named(const char *name) {
    for (int i = 0; i < OPTIM_COUNT; i++)
        if (strcmp(optim_names[i].name, name) == 0) return i;
    return -1;
}
static int schedule_named(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(schedules); i++)
        if (strcmp(schedules[i].name, name) == 0) return (int)i;
    return -1;
}

static xt_status unknown(const char *what, const char *name) {
    const char *names[(size_t)OPTIM_COUNT + BASE_COUNT(schedules)];
    bool schedule = strcmp(what, "scheduler") == 0;
    size_t n = schedule ? BASE_COUNT(schedules) : (size_t)OPTIM_COUNT;
    str list = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        names[i] = schedule ? schedules[i].name : optim_names[i].name;
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
    t->opts[0] = optimizers[optimizer_named(name)](t->net);
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
