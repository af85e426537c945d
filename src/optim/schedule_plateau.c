/* Reduce on plateau, as torch.optim.lr_scheduler.ReduceLROnPlateau. Values come from the host, or from tensors when
 * they arrive: the reader thread leaves them in order, the training thread takes them at its next optimizer step. */
#include <math.h>

#include "optim/schedule.h"

const schedule_kind schedule_on_plateau = {.name = "plateau"};

static bool better(const schedule_plateau *p, double v) {
    double t = p->o.threshold;
    if (p->o.mode == XT_MAX) return p->o.absolute == XT_ON ? v > p->best + t : v > p->best * (1 + t);
    return p->o.absolute == XT_ON ? v < p->best - t : v < p->best * (1 - t);
}

static void reduce(xt_scheduler *s) {
    for (size_t g = 0; g < s->n_base; g++) {
        optim_hyper *h = &s->opt->groups[g].h;
        double next = fmax(h->lr * s->plateau->o.factor, s->plateau->o.min_lr);
        if (h->lr - next > s->plateau->o.eps) h->lr = next;
    }
}

void schedule_value(xt_scheduler *s, double v) {
    schedule_plateau *p = s->plateau;
    s->at++;
    if (better(p, v)) {
        p->best = v;
        p->bad = 0;
    } else
        p->bad++;
    if (p->cooling > 0) {
        p->cooling--;
        p->bad = 0;
    }
    if (p->bad <= p->o.patience) return;
    reduce(s);
    p->cooling = p->o.cooldown;
    p->bad = 0;
}

static bool is_plateau(const xt_scheduler *s, const char *what) {
    if (s && s->plateau) return true;
    if (s)
        schedule_fail(s,
                      status_new(XT_INVALID_ARGUMENT, NULL,
                                 "%s: only a plateau schedule goes by a value; this one is %s", what, s->kind->name));
    return false;
}

static void step_by_value(xt_scheduler *s, double v, bool by_trainer) {
    if (!is_plateau(s, "xt_schedule_step_value")) return;
    schedule_watch_step(s, by_trainer);
    schedule_poll(s->opt);
    schedule_value(s, v);
}

void xt_schedule_step_value(xt_scheduler *s, double v) {
    step_by_value(s, v, false);
}

void schedule_value_of_fit(xt_scheduler *s, double v) {
    step_by_value(s, v, true);
}

static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    schedule_plateau *p = ((xt_scheduler *)user)->plateau;
    if (bytes < xt_dtype_size(dtype)) return;
    double v = lazy_as_double(data, dtype);
    pthread_mutex_lock(&p->lock);
    if (p->n_arrived < BASE_COUNT(p->arrived))
        p->arrived[p->n_arrived++] = v;
    else
        p->arrived[BASE_COUNT(p->arrived) - 1] = v; /* nobody steps the optimizer: the newest counts */
    pthread_mutex_unlock(&p->lock);
}

void xt_schedule_step_tensor_at(const xt_src *src, xt_scheduler *s, xt_tensor t) {
    if (!is_plateau(s, "xt_schedule_step_tensor")) return;
    schedule_watch_step(s, false);
    const ir_type *type = lazy_type(t);
    if (type && type->count != 1)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_schedule_step_tensor: the tensor has %lld elements; one is needed",
                             (long long)type->count));
    else
        xt_when_ready_at(src, t, arrived, s);
}

void schedule_poll(xt_optimizer *o) {
    for (size_t i = 0; i < o->n_schedulers; i++) {
        xt_scheduler *s = o->schedulers[i];
        if (!s->plateau) continue;
        double values[BASE_COUNT(s->plateau->arrived)];
        pthread_mutex_lock(&s->plateau->lock);
        size_t n = s->plateau->n_arrived;
        memcpy(values, s->plateau->arrived, n * sizeof *values);
        s->plateau->n_arrived = 0;
        pthread_mutex_unlock(&s->plateau->lock);
        for (size_t k = 0; k < n; k++) schedule_value(s, values[k]);
    }
}

xt_scheduler *xt_plateau_schedule_opt(const xt_src *src, xt_optimizer *o, xt_plateau_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_plateau_schedule_opts, factor, 0, 0.999999999, "of the rate"),
        {"patience", "values without improvement", OPTION_I64, offsetof(xt_plateau_schedule_opts, patience), 0, 1e15,
         NULL},
        OPTIM_ROW(xt_plateau_schedule_opts, threshold, 0, 1e30, "better by more than this counts"),
        OPTIM_SWITCH(xt_plateau_schedule_opts, absolute, "the threshold is absolute"),
        {"cooldown", "values after a reduction that do not count", OPTION_I64,
         offsetof(xt_plateau_schedule_opts, cooldown), 0, 1e15, NULL},
        OPTIM_ROW(xt_plateau_schedule_opts, min_lr, 0, 1e6, "the lowest rate"),
        OPTIM_ROW(xt_plateau_schedule_opts, eps, 0, 1, "smaller changes are not made"),
    };
    xt_status e =
        options_check(rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_plateau_schedule_opts), "xt_plateau_schedule");
    if (!e && p.mode != XT_REDUCE_DEFAULT && p.mode != XT_MIN && p.mode != XT_MAX)
        e = status_new(XT_INVALID_ARGUMENT, NULL, "xt_plateau_schedule.mode = %d: expected XT_MIN or XT_MAX",
                       (int)p.mode);
    if (p.monitor) p.monitor = intern_text(intern(p.monitor));
    schedule_plateau *state = e ? NULL : base_calloc(1, sizeof *state);
    if (!e && !state) e = status_oom(sizeof *state, "xt_plateau_schedule");
    xt_scheduler *s = schedule_new(&schedule_on_plateau, o, "xt_plateau_schedule", e, NULL, XT_EACH_EPOCH, false);
    if (!s) {
        base_free(state);
        return NULL;
    }
    state->o = p;
    state->best = p.mode == XT_MAX ? -INFINITY : INFINITY;
    pthread_mutex_init(&state->lock, NULL);
    s->plateau = state;
    s->at = 0;
    return s;
}
