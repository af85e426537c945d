/* Stops when a logged value has not become better for `patience` checks. A check is after each validation, or each
 * epoch when there is none. Order of tests: not finite, good enough, diverged, improvement, patience. */
#include <cjson/cJSON.h>
#include <math.h>

#include "base/saved.h"
#include "train/train_int.h"

typedef enum reason { NOT_STOPPED, GOOD_ENOUGH, DIVERGED, OUT_OF_PATIENCE, NOT_FINITE } reason;

typedef struct stopper {
    xt_early_stopping_opts o;
    double best; /* smaller is better */
    int64_t waited;
    bool any;
    reason why; /* of the newest stop, in checkpoints */
    bool held; /* told that a lower bound keeps the fit going: its end is told at the end */
    char words[256];
} stopper;

static double signed_value(const stopper *e, double v) {
    return e->o.mode == XT_MAX ? -v : v;
}

static reason judge(stopper *e, double v) {
    double s = signed_value(e, v);
    if (!isfinite(v) && e->o.check_finite != XT_OFF) return NOT_FINITE;
    if (e->o.stop_at != XT_AUTO && s < signed_value(e, e->o.stop_at)) return GOOD_ENOUGH;
    if (e->o.diverge_at != XT_AUTO && s > signed_value(e, e->o.diverge_at)) return DIVERGED;
    if (!isnan(v) && (!e->any || s < e->best - e->o.min_delta)) {
        e->best = s;
        e->any = true;
        e->waited = 0;
        return NOT_STOPPED;
    }
    return ++e->waited >= e->o.patience ? OUT_OF_PATIENCE : NOT_STOPPED;
}

static void tell_end(const xt_trainer *t, const stopper *e, int64_t epochs) {
    if (world_get()->rank == 0)
        log_msg(XT_SEV_INFO, "early stopping after %lld epoch%s, step %lld: %s", (long long)epochs,
                epochs > 1 ? "s" : "", (long long)t->global_step, e->words);
}

/* The wish stays; what is said depends on whether the fit may end now. */
static void tell_stop(const xt_trainer *t, stopper *e) {
    char by[48];
    if (!e->held && !stopping_held(t, by, sizeof by)) {
        tell_end(t, e, t->epoch + 1);
    } else if (!e->held) {
        e->held = true;
        if (world_get()->rank == 0)
            log_msg(XT_SEV_INFO, "early stopping would stop after epoch %lld, step %lld: %s; %s holds it",
                    (long long)t->epoch + 1, (long long)t->global_step, e->words, by);
    }
}

static void check_value(xt_trainer *t, stopper *e) {
    double v = xt_trainer_metric(t, e->o.monitor, true);
    double probe;
    if (isnan(v) && !log_find(t->log, e->o.monitor, &probe)) {
        if (e->o.strict != XT_OFF) lazy_fail(log_not_logged("xt_early_stopping", e->o.monitor));
        return;
    }
    /* NaN it tells itself: it stops there, or was asked not to */
    monitors_tell(t, "xt_early_stopping", e->o.monitor, 0);
    e->why = judge(e, v);
    if (e->why == NOT_STOPPED) return;
    char *why = e->words;
    size_t n = sizeof e->words;
    switch (e->why) {
    case NOT_FINITE:
        snprintf(why, n, "%s is %s", e->o.monitor, isnan(v) ? "NaN" : v > 0 ? "inf" : "-inf");
        break; /* not -nan */
    case GOOD_ENOUGH: snprintf(why, n, "%s = %.6g is better than %g", e->o.monitor, v, e->o.stop_at); break;
    case DIVERGED: snprintf(why, n, "%s = %.6g is worse than %g", e->o.monitor, v, e->o.diverge_at); break;
    default:
        snprintf(why, n, "%s has not become better than %.6g in %lld checks", e->o.monitor, signed_value(e, e->best),
                 (long long)e->waited);
    }
    xt_trainer_stop(t);
    tell_stop(t, e);
}

static xt_status fit_start(xt_trainer *t, void *user) {
    (void)t;
    ((stopper *)user)->held = false;
    return NULL;
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    const stopper *e = user;
    if (ok && e->held && t->stopping && !t->stop_signal) tell_end(t, e, t->epoch + (t->position.batch > 0));
}

static bool by_epoch(const xt_trainer *t, const stopper *e) {
    return e->o.on_train_epoch_end == XT_ON || (!t->val && e->o.on_train_epoch_end != XT_OFF);
}

static void validation_end(xt_trainer *t, void *user) {
    if (!by_epoch(t, user)) check_value(t, user);
}

static void epoch_end(xt_trainer *t, void *user) {
    if (by_epoch(t, user)) check_value(t, user);
}

static size_t save_state(char *buf, size_t n, void *user) {
    const stopper *e = user;
    /* JSON knows no infinity: the next value is then the first */
    double best = e->any && isfinite(e->best) ? e->best : 0.0;
    return (size_t)snprintf(buf, n, "{\"best\": %.17g, \"waited\": %lld, \"any\": %s, \"reason\": %d}", best,
                            (long long)e->waited, e->any && isfinite(e->best) ? "true" : "false", (int)e->why);
}

static xt_status load_state(const char *json, void *user) {
    stopper *e = user;
    cJSON *o = cJSON_Parse(json);
    const cJSON *best = cJSON_GetObjectItemCaseSensitive(o, "best"),
                *waited = cJSON_GetObjectItemCaseSensitive(o, "waited");
    bool ok = cJSON_IsNumber(best) && cJSON_IsNumber(waited);
    xt_status s = ok ? saved_number("waited", waited->valuedouble, 0, SAVED_COUNT, &e->waited)
                     : status_new(XT_DATA_LOSS, NULL, "its state is incomplete");
    if (!s) {
        e->best = best->valuedouble;
        e->any = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "any"));
    }
    cJSON_Delete(o);
    return s;
}

const xt_callback_desc early_stopping_desc = {
    .struct_size = sizeof(xt_callback_desc),
    .name = "early_stopping",
    .fit_start = fit_start,
    .fit_end = fit_end,
    .validation_end = validation_end,
    .epoch_end = epoch_end,
    .save_state = save_state,
    .load_state = load_state,
    .free_user = base_free,
};

static const option_row rows[] = {
    {"patience", "checks without improvement", OPTION_INT, offsetof(xt_early_stopping_opts, patience), 0, 1e9, NULL},
    {"check_finite", "stop at NaN or infinity", OPTION_SWITCH, offsetof(xt_early_stopping_opts, check_finite), 0, 0,
     NULL},
    {"strict", "a value nobody logged is an error", OPTION_SWITCH, offsetof(xt_early_stopping_opts, strict), 0, 0,
     NULL},
    {"min_delta", "an improvement is more than this", OPTION_DOUBLE, offsetof(xt_early_stopping_opts, min_delta), 0,
     1e30, NULL},
    {"monitor", "the logged value to watch", OPTION_STRING, offsetof(xt_early_stopping_opts, monitor), 0, 0, NULL},
    {"mode", "what is better", OPTION_ENUM, offsetof(xt_early_stopping_opts, mode), 0, 0, callback_modes},
    {"stop_at", "stop when it is better than this", OPTION_DOUBLE, offsetof(xt_early_stopping_opts, stop_at), 0, 0,
     NULL},
    {"diverge_at", "stop when it is worse than this", OPTION_DOUBLE, offsetof(xt_early_stopping_opts, diverge_at), 0, 0,
     NULL},
    {"on_train_epoch_end", "looks after each epoch", OPTION_SWITCH,
     offsetof(xt_early_stopping_opts, on_train_epoch_end), 0, 0, NULL},
};

xt_callback *xt_early_stopping_opt(const xt_src *src, xt_early_stopping_opts o) {
    SRC_CALLED_FROM(src);
    xt_status s =
        options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_early_stopping_opts), "xt_early_stopping");
    if (!s && !o.monitor)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_early_stopping: .monitor is missing: the name of the logged value to watch");
    if (!s && o.mode != XT_REDUCE_DEFAULT && o.mode != XT_MIN && o.mode != XT_MAX)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_early_stopping: mode is XT_MIN or XT_MAX");
    stopper *e = s ? NULL : base_calloc(1, sizeof *e);
    if (!e) {
        lazy_fail(s ? s : status_oom(sizeof *e, "a callback"));
        return NULL;
    }
    e->o = o;
    e->o.monitor = intern_text(intern(o.monitor));
    xt_callback *c = callback_make(&early_stopping_desc, e);
    if (c) c->stops = true;
    return callback_watching(c, o.monitor, o.mode);
}
