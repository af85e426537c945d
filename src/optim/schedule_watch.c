/* Schedules that a loop steps in the wrong place, twice, or never. Nothing fails then, the rate is another one; each is
 * said once, with the line where the schedule was made. */
#include "optim/schedule.h"

enum { CERTAIN = 100 }; /* optimizer steps after which a schedule that never stepped is taken for forgotten */

static const char *made_at(const xt_scheduler *s, char *buf, size_t n) {
    char at[256];
    *buf = 0;
    if (s->made) snprintf(buf, n, " made at %s", src_text(s->made, at, sizeof at));
    return buf;
}

static bool tells(xt_scheduler *s) {
    if (s->watch.told || world_get()->rank != 0 || lazy_pending() || lazy_rehearsing()) return false;
    return s->watch.told = true;
}

void schedule_watch_step(xt_scheduler *s, bool by_trainer) {
    char made[300];
    if (!s->watch.by_program && !s->watch.by_trainer && s->opt->n_groups) s->watch.first_lr = s->opt->groups[0].h.lr;
    if (by_trainer)
        s->watch.by_trainer++;
    else
        s->watch.by_program++;
    if (s->watch.by_trainer && s->watch.by_program && tells(s))
        log_msg(XT_SEV_WARNING,
                "the schedule%s is stepped by the program (xt_schedule_step) and by the Trainer, which steps the "
                "schedules of its optimizers itself, each .interval: the rate goes twice as fast. A task leaves "
                "xt_schedule_step out",
                made_at(s, made, sizeof made));
}

/* One step before the first update is at the head of a loop; several of them go to a place in the schedule. */
void schedule_watch_update(const xt_src *src, const xt_optimizer *o) {
    char made[300];
    for (size_t i = 0; i < o->n_schedulers && o->updater.steps == 0; i++) {
        xt_scheduler *s = o->schedulers[i];
        if (s->watch.by_program != 1 || s->watch.by_trainer || s->plateau || !tells(s)) continue;
        log_msg(XT_SEV_WARNING,
                "%s:%d: the schedule%s has stepped (xt_schedule_step) before the first update here: its first rate, "
                "%g, is never used, and the later ones come early. xt_schedule_step stands behind "
                "xt_optimizer_step",
                src ? src->file : "?", src ? src->line : 0, made_at(s, made, sizeof made), s->watch.first_lr);
    }
}

void schedule_watch_end(const xt_optimizer *o, int64_t passes) {
    char made[300];
    if (o->updater.steps < CERTAIN && passes < 2) return;
    for (size_t i = 0; i < o->n_schedulers; i++) {
        xt_scheduler *s = o->schedulers[i];
        if (s->watch.by_program || s->watch.by_trainer || o->forgets.in_fit || !tells(s)) continue;
        log_msg(
            XT_SEV_WARNING,
            "the schedule%s has never stepped, in %lld steps of its optimizer: the rate is %g, as at the "
            "beginning. In a loop of one's own xt_schedule_step%s behind xt_optimizer_step moves it, once a step or "
            "once an epoch",
            made_at(s, made, sizeof made), (long long)o->updater.steps, o->groups[0].h.lr, s->plateau ? "_value" : "");
    }
}

void schedule_watch_manual(const xt_optimizer *o, int64_t epochs) {
    char made[300];
    if (o->updater.steps < CERTAIN && epochs < 2) return;
    for (size_t i = 0; i < o->n_schedulers; i++) {
        xt_scheduler *s = o->schedulers[i];
        if (s->watch.by_program || s->watch.by_trainer || !tells(s)) continue;
        log_msg(
            XT_SEV_WARNING,
            "the schedule%s has never stepped, in %lld steps of its optimizer: the rate is %g, as at the beginning. "
            "With .manual_optimization the task steps its schedules as it steps its optimizers: xt_schedule_step%s "
            "behind xt_optimizer_step, or in on_train_epoch_end",
            made_at(s, made, sizeof made), (long long)o->updater.steps, o->groups[0].h.lr, s->plateau ? "_value" : "");
    }
}
