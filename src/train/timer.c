/* The timer: max_time as a callback. The trainer's own clock counts, which checkpoints keep. */
#include "train/train_int.h"

typedef struct timer {
    int64_t limit_ns;
    char text[64];
} timer;

static xt_status fit_start(xt_trainer *t, void *user) {
    const timer *m = user;
    if (t->max_time_ns && world_get()->rank == 0)
        log_msg(XT_SEV_INFO, "max_time and a timer are both given: the shorter ends the fit");
    if (!t->max_time_ns || m->limit_ns < t->max_time_ns) {
        t->max_time_ns = m->limit_ns ? m->limit_ns : 1; /* 0 is "no limit" there */
        t->o.max_time = m->text;
    }
    return NULL;
}

static const xt_callback_desc desc = {
    .struct_size = sizeof(xt_callback_desc), .name = "timer", .fit_start = fit_start, .free_user = base_free};

static const option_row rows[] = {
    {"duration", "how long the fit may take", OPTION_STRING, offsetof(xt_timer_opts, duration), 0, 0, NULL},
};

xt_callback *xt_timer_opt(const xt_src *src, xt_timer_opts o) {
    SRC_CALLED_FROM(src);
    timer *m = base_calloc(1, sizeof *m);
    xt_status s = m ? options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_timer_opts), "xt_timer")
                    : status_context(status_oom(sizeof *m, "a callback"), "xt_timer");
    if (!s)
        s = status_context(o.duration
                               ? duration_parse("duration", o.duration, &m->limit_ns)
                               : status_new(XT_INVALID_ARGUMENT, NULL, "duration is missing: 90min, 2h, DD:HH:MM:SS"),
                           "xt_timer");
    if (s) {
        lazy_fail(s);
        base_free(m);
        return NULL;
    }
    snprintf(m->text, sizeof m->text, "%s", o.duration);
    return callback_make(&desc, m);
}

double xt_trainer_elapsed(const xt_trainer *t) {
    return t ? (double)stopping_elapsed(t) / 1e9 : 0;
}
