/* Loggers of the program: its functions as a sink. */
#include <pthread.h>

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

static void left(void *user) {
    settle(user, status_new(XT_ABORTED, NULL, "its function has left by pthread_exit; it must return"));
}

static xt_status give(own *o, const xt_log_row *row, const log_artifact *text) {
    if (row) return o->d.row(row, o->user);
    if (text) return o->d.text(text->name, text->text, text->step, o->user);
    o->d.close(o->user);
    return NULL;
}

/* Calls what the program gave, which may end the thread. */
static void call(own *o, const char *what, const xt_log_row *row, const log_artifact *text) {
    lazy_called c;
    lazy_call_begin(&c, what, NULL);
    pthread_cleanup_push(left, o);
    settle(o, lazy_call_end(&c, give(o, row, text)));
    pthread_cleanup_pop(0);
}

/* A row's columns, for the time of a call. */
typedef struct columns {
    const char **names;
    double *values;
} columns;
static void free_columns(void *user) {
    columns *c = user;
    base_free(c->names);
    base_free(c->values);
}

static void give_row(void *user, const log_row *row) {
    own *o = user;
    if (o->failed || row->aside) return;
    columns c = {base_calloc(row->n + 1, sizeof *c.names), base_calloc(row->n + 1, sizeof *c.values)};
    for (size_t i = 0; c.names && c.values && i < row->n; i++) {
        c.names[i] = row->values[i].name;
        c.values[i] = row->values[i].value;
    }
    xt_log_row r = {logger_stage_name(row->stage),
                    row->epoch_level,
                    row->step,
                    row->epoch,
                    row->batch,
                    row->samples,
                    row->wall,
                    (int64_t)row->n,
                    c.names,
                    c.values};
    pthread_cleanup_push(free_columns, &c);
    if (c.names && c.values)
        call(o, "a logger's row", &r, NULL);
    else
        settle(o, status_oom(row->n, o->d.name));
    pthread_cleanup_pop(1);
}

static bool give_artifact(void *user, const log_artifact *a) {
    own *o = user;
    if (a->kind != LOG_TEXT || !o->d.text) return false;
    if (!o->failed) call(o, "a logger's text", NULL, a);
    return true; /* a failure has been told */
}

static void close_own(void *user) {
    own *o = user;
    if (o->d.close) call(o, "a logger's close", NULL, NULL);
    base_free(o);
    live_add(LIVE_logger, -1);
}

xt_status logger_open_own(const struct own_logger *l, const char *dir, log_sink *out) {
    own *o = base_calloc(1, sizeof *o);
    if (!o) return status_oom(sizeof *o, l->d.name);
    *o = (own){l->d, l->user, false};
    lazy_called c;
    lazy_call_begin(&c, "a logger's open", NULL);
    xt_status s = lazy_call_end(&c, l->d.open ? l->d.open(dir, l->user) : NULL);
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
