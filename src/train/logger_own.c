/* Loggers of the program: its functions as a sink. */
#include "train/logger.h"
#include "train/train_int.h"

typedef struct own {
    xt_logger_desc d;
    void *user;
    bool failed;
} own;

static void settle(own *o, xt_status s) {
    if (!s) return;
    o->failed = true;
    log_msg(XT_SEV_ERROR, "logger %s: %s; it gets nothing from here on", o->d.name, status_message(s));
    xt_status_free(s);
}

static void give_row(void *user, const log_row *row) {
    own *o = user;
    if (o->failed || row->aside) return;
    const char **names = base_calloc(row->n + 1, sizeof *names);
    double *values = base_calloc(row->n + 1, sizeof *values);
    for (size_t i = 0; names && values && i < row->n; i++) {
        names[i] = row->values[i].name;
        values[i] = row->values[i].value;
    }
    xt_log_row r = {logger_stage_name(row->stage),
                    row->epoch_level,
                    row->step,
                    row->epoch,
                    row->batch,
                    row->samples,
                    row->wall,
                    (int64_t)row->n,
                    names,
                    values};
    lazy_thread_calls("a logger's row");
    settle(o, names && values ? o->d.row(&r, o->user) : status_oom(row->n, o->d.name));
    lazy_thread_calls(NULL);
    base_free(names);
    base_free(values);
}

static bool give_artifact(void *user, const log_artifact *a) {
    own *o = user;
    if (a->kind != LOG_TEXT || !o->d.text) return false;
    lazy_thread_calls("a logger's text");
    if (!o->failed) settle(o, o->d.text(a->name, a->text, a->step, o->user));
    lazy_thread_calls(NULL);
    return true; /* a failure has been told */
}

static void close_own(void *user) {
    own *o = user;
    lazy_thread_calls("a logger's close");
    if (o->d.close) o->d.close(o->user);
    lazy_thread_calls(NULL);
    base_free(o);
    live_add(LIVE_logger, -1);
}

xt_status logger_open_own(const struct own_logger *l, const char *dir, log_sink *out) {
    own *o = base_calloc(1, sizeof *o);
    if (!o) return status_oom(sizeof *o, l->d.name);
    *o = (own){l->d, l->user, false};
    xt_status s = l->d.open ? l->d.open(dir, l->user) : NULL;
    if (s) {
        base_free(o);
        return status_context(s, "logger %s", l->d.name);
    }
    live_add(LIVE_logger, 1);
    *out = (log_sink){.row = give_row, .artifact = give_artifact, .close = close_own, .user = o};
    log_add_sink(out);
    return NULL;
}

void xt_trainer_add_logger(xt_trainer *t, const xt_logger_desc *d, void *user) {
    if (!t) return;
    if (!d || !d->row || t->n_loggers == TRAIN_MAX_LOGGERS) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_trainer_add_logger: %s",
                             !d        ? "the description is NULL"
                             : !d->row ? "it has no .row"
                                       : "there are four already"));
        return;
    }
    struct own_logger *l = &t->loggers[t->n_loggers++];
    *l = (struct own_logger){.user = user};
    memcpy(&l->d, d, d->struct_size && d->struct_size < sizeof l->d ? d->struct_size : sizeof l->d);
    l->d.name = intern_text(intern(d->name ? d->name : "of the program"));
}
