/* Learning rate schedules in the fit loop: the optimizer carries them; each is stepped after every optimizer step or
 * epoch, as it says, but where the task optimizes by itself: then who steps the optimizers steps their schedules.
 * Plateau schedules go by a logged value, the mean over the ranks of what each has, so that all take
 * the same rate. */
#include <math.h>

#include "coll/coll.h"
#include "optim/schedule.h"
#include "train/train_int.h"

/* false: there is none, which is an error unless the fit's first validation has yet to come. */
static bool monitored(xt_trainer *t, const xt_scheduler *s, double *out) {
    const char *name = s->plateau->o.monitor;
    double probe;
    *out = xt_trainer_metric(t, name, true);
    if (!isnan(*out) || log_find(t->log, name, &probe)) return true;
    if (t->val && !t->validated) return false;
    schedule_fail(s, log_not_logged("xt_plateau_schedule", name));
    return false;
}

static xt_status mean_of_ranks(double *v) {
    coll_group *g;
    if (world_get()->size <= 1) return NULL;
    XT_TRY(coll_run_group(&g));
    XT_TRY(coll_all_reduce(g, COLL_SUM, XT_F64, v, 1));
    *v /= world_get()->size;
    return NULL;
}

static void step_plateau(xt_trainer *t, xt_scheduler *s) {
    double v;
    if (!s->plateau->o.monitor) {
        schedule_fail(s, status_new(XT_INVALID_ARGUMENT, NULL,
                                    "xt_plateau_schedule: .monitor is missing: the name of the logged value that the "
                                    "trainer watches"));
        return;
    }
    if (!monitored(t, s, &v)) return;
    xt_status e = mean_of_ranks(&v);
    if (e)
        lazy_fail(status_context(e, "a plateau schedule's value"));
    else
        schedule_value_of_fit(s, v);
}

/* What is watched has none in an epoch that validations by epochs pass over. */
static bool has_no_new_value(const xt_trainer *t) {
    return t->val && train_validates_by_epochs(t) && !train_ends_with_validation(t);
}

static void step_those_of(xt_trainer *t, const xt_optimizer *opt, xt_interval interval) {
    for (size_t i = 0; i < opt->n_schedulers && !lazy_pending(); i++) {
        xt_scheduler *s = opt->schedulers[i];
        if (s->interval != interval) continue;
        if (s->plateau && interval == XT_EACH_EPOCH && has_no_new_value(t)) continue;
        if (s->plateau)
            step_plateau(t, s);
        else
            schedule_step_of_fit(s);
    }
}

static void step_all(xt_trainer *t, xt_interval interval) {
    for (int i = 0; i < t->n_opts && !t->rates_taken && !t->task->manual_optimization; i++)
        step_those_of(t, t->opts[i], interval);
}

void schedules_step(xt_trainer *t) {
    step_all(t, XT_EACH_STEP);
}
void schedules_epoch(xt_trainer *t) {
    step_all(t, XT_EACH_EPOCH);
}

void schedules_end(const xt_trainer *t) {
    for (int i = 0; i < t->n_opts && t->task->manual_optimization; i++) schedule_watch_manual(t->opts[i], t->epoch);
}
