/* Rows of loops without a trainer. Each optimizer step is a window, and every n-th sends a row; a pass over a loader is
 * an epoch, of training or of validation as the modes of the modules say (xt_eval, xt_train), and its end sends the
 * epoch's values; the program's end sends the rest. */
#include <stdatomic.h>

#include "lazy/core/exit.h"
#include "lazy/core/unended.h"
#include "metrics/log_int.h"

static _Atomic int64_t every = 50;
void log_plain_every(int64_t steps) {
    atomic_store(&every, steps);
}

void log_plain_stage(log_engine *e) {
    if (e->manual) return;
    log_stage now = lazy_evaluates() ? LOG_VALIDATE : LOG_TRAIN;
    /* a validation that ran over no loader, or was left early, is over */
    if (e->stage == LOG_VALIDATE && now == LOG_TRAIN) e->sets[LOG_VALIDATE].pass_over = true;
    e->stage = now;
}

static bool has_rows(const log_set *set, bool epoch_level) {
    return set->n && set->rows && (epoch_level ? set->fresh : set->window > set->row_window);
}

/* Where the training is behind its step number `steps`. */
static log_moment trained_now(int64_t steps) {
    const lazy_position *p = lazy_position_of_thread();
    const lazy_pass *at = &p->passes[LAZY_TRAINED];
    return (log_moment){steps, at->epoch, at->batch, p->samples};
}

/* A validation's row may be sent late, by the training that follows, and is of the step and the epoch of the training
 * that it came behind. */
static void emit(const log_engine *e, log_stage s, bool epoch_level, int64_t steps) {
    const log_set *set = &e->sets[s];
    if (!has_rows(set, epoch_level)) return;
    log_open_default_sinks();
    log_moment at = s == LOG_VALIDATE ? set->noted : trained_now(steps);
    log_emit_at(s, epoch_level, &at);
}

/* The values of the stage's epoch, and its next step begins another one. */
static void end_pass(log_engine *e, log_stage s) {
    log_set *set = &e->sets[s];
    int64_t steps = lazy_loop_steps();
    set->pass_over = false;
    if (s == LOG_VALIDATE) emit(e, s, false, steps); /* values with .on_step: of the last batches */
    emit(e, s, true, steps);
    set->epoch_begins = set->window_begins = true;
}

/* Its first values: those of an earlier fit are in rows of its own. */
static void begin_loop(log_engine *e) {
    bool any = false;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) any = any || (e->sets[s].n_pending && !e->sets[s].holds);
    if (e->plain || !any) return;
    e->plain = true;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        log_set *set = &e->sets[s];
        set->epoch_begins = set->window_begins = true;
        set->row_window = set->window;
        set->fresh = false;
    }
}

static bool has_row(int64_t steps) {
    return steps % atomic_load(&every) == 0;
}

/* Values of optimizer step number `steps` are complete. What waits for a row is in it: where the step ends at a
 * boundary, log_plain_before has seen to that, and else it is added here. */
static void end_window(log_engine *e, int64_t steps) {
    e->open_steps = 0;
    e->sets[LOG_TRAIN].window_begins = true;
    if (!has_row(steps)) return;
    log_behind_record(&e->sets[LOG_TRAIN]);
    emit(e, LOG_TRAIN, false, steps);
}

/* What this boundary records is of the next step than the newest call's, unless something was logged behind the call
 * (which another such look at the same boundary has recorded). That waits where it can, as long as no row needs it. */
static void end_call(log_engine *e) {
    log_set *set = &e->sets[LOG_TRAIN];
    if (!e->open_steps || set->n_recorded || set->behind_recorded) return;
    bool row = has_row(e->open_steps), any = set->n_pending;
    /* nothing waits yet: a program of this step alone is smaller */
    bool waits = any && (!row || set->n_behind) && log_behind_take(set, set->n_pending);
    if (set->n_behind && (row || log_behind_full(set) || (any && !waits))) set->behind_due = true;
    if (!set->behind_due && (!any || waits)) end_window(e, e->open_steps);
}

/* An update of the program's own has come behind the newest call, so that a boundary, or what is logged now, is of a
 * later step. Of the call's is what was logged before that update's iteration began. */
static void end_call_before_update(log_engine *e) {
    log_set *set = &e->sets[LOG_TRAIN];
    int64_t updates = lazy_loop_steps_recorded(), before = lazy_loop_steps() - updates;
    if (!e->open_steps || !updates || lazy_tracing() || lazy_pending()) return;
    size_t n = 0;
    while (n < set->n_pending && set->pending[n].updates <= before && !lazy_call_trains(set->pending[n].call)) n++;
    begin_loop(e);
    bool waits = n && (!has_row(e->open_steps) || set->n_behind) && log_behind_take(set, n);
    if (n && !waits) log_record_round(set, n);
    if (log_behind_full(set)) log_behind_record(set);
    end_window(e, e->open_steps);
}

/* What is pending was logged behind a save or a read that ended its step: it is none of the next step's micro-batches.
 * The batch shows that, or where the calls stand. */
static bool is_late(const log_engine *e) {
    const lazy_position *now = lazy_position_of_thread(), *then = &e->ended;
    const log_set *set = &e->sets[LOG_TRAIN];
    if (!set->n_pending) return false;
    if (then->loader && then->loader == now->loader && then->epoch == now->epoch && then->batch == now->batch &&
        lazy_loop_steps() == e->seen_steps)
        return true;
    return e->goes_on && lazy_call_is_late(set->pending[set->n_pending - 1].call);
}

void log_plain_goes_on(log_engine *e, size_t call) {
    end_call_before_update(e);
    log_set *set = &e->sets[LOG_TRAIN];
    if (!e->goes_on || lazy_call_is_late(call)) return;
    if (is_late(e)) {
        begin_loop(e);
        log_record_round(set, set->n_pending);
        set->window_begins = true;
    }
    e->goes_on = false;
}

enum { BY_PLACE = -1 };
/* Those of the iteration that is over first; how many they are: noted before call number `calls`, or BY_PLACE. */
static size_t over_first(log_set *set, int64_t calls) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_pending; i++) {
        log_pending p = set->pending[i];
        if (calls == BY_PLACE ? lazy_call_is_ahead(p.call) : p.call >= (size_t)calls) continue;
        set->pending[i] = set->pending[n];
        set->pending[n++] = p;
    }
    if (n) log_pending_index(set);
    return n;
}

static bool is_pending(const log_set *set, int metric) {
    return log_pending_first(set, (size_t)metric) != LOG_NONE;
}

/* Of an evaluation over a loader, whose batches end its steps; what comes behind its pass, before another update, is of
 * the last one. */
static bool within_batch(void) {
    const lazy_pass *at = &lazy_position_of_thread()->passes[LAZY_EVALUATED];
    return at->loader && (!at->over || at->over == lazy_loop_steps() + 1);
}

/* A loop whose step goes on: a row that is due has the state's value as it is now. */
void log_plain_round(log_engine *e, log_set *set, int metric, int64_t updates, bool ahead) {
    int64_t now = lazy_loop_steps();
    begin_loop(e);
    end_call_before_update(e);
    if (set != &e->sets[LOG_TRAIN]) /* a training has notes of its own for what it repeats */
        lazy_repeats(LAZY_REPEATED_LOG, lazy_step(), (xt_tensor){0}, src_get(set->metrics[metric].src));
    size_t over = over_first(set, BY_PLACE);
    if (over) log_record_round(set, over);
    bool both = is_pending(set, metric); /* of the iteration that goes on, twice: a micro-batch */
    if (set != &e->sets[LOG_TRAIN]) {
        if (set->pass_over && over && (updates != now || ahead)) end_pass(e, LOG_VALIDATE); /* of an iteration before */
        set->window_begins = !within_batch();
    } else if (updates != now || ((ahead || both) && now > e->seen_steps)) {
        /* logged behind the update of its iteration, or before it; what is there twice is of the next iteration */
        e->seen_steps = updates > e->seen_steps ? updates : now;
        end_window(e, e->seen_steps);
    }
    if (both) log_record_round(set, set->n_pending);
}

/* The pass is of the iteration that goes on, all of it. */
static bool pass_goes_on(const log_set *set, int64_t calls) {
    if (set->first_step != lazy_step() || set->first_call == SIZE_MAX) return false;
    return calls == BY_PLACE ? lazy_call_is_ahead(set->first_call) : set->first_call >= (size_t)calls;
}

/* What was noted before call number `calls`, or BY_PLACE, is of an iteration that is over. */
static void come_round(log_engine *e, int64_t calls) {
    end_call_before_update(e);
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        size_t n = e->sets[s].holds ? 0 : over_first(&e->sets[s], calls);
        if (n) log_record_round(&e->sets[s], n);
        if (n && e->goes_on) e->sets[s].window_begins = true; /* behind what ended the step of its update */
    }
    e->goes_on = false;
    int64_t now = lazy_loop_steps();
    if (now != e->seen_steps) end_window(e, e->seen_steps = now); /* else a round has ended it */
    log_set *validation = &e->sets[LOG_VALIDATE];
    if (!validation->pass_over || pass_goes_on(validation, calls)) return;
    end_pass(e, LOG_VALIDATE);
    validation->pass_over = validation->n_pending > 0; /* that of the iteration that goes on */
}

void log_plain_came_round(log_engine *e, size_t calls) {
    if (lazy_pending()) return;
    begin_loop(e);
    log_plain_stage(e);
    come_round(e, (int64_t)calls);
}

/* A step, or the program, ends in the middle of an iteration that follows another one in the step. */
static bool ends_in_next(const log_engine *e, lazy_cause cause) {
    const log_set *set = &e->sets[LOG_TRAIN];
    bool ahead = false;
    for (size_t i = 0; i < set->n_pending && !ahead; i++) ahead = lazy_call_is_ahead(set->pending[i].call);
    return ahead && (lazy_within_iteration(cause) || cause == LAZY_FINISH || lazy_loops_may_part()) && !lazy_pending();
}

/* No update has come since the pass over the training's loader. */
static bool is_behind_pass(void) {
    return lazy_position_of_thread()->passes[LAZY_TRAINED].over == lazy_loop_steps() + 1;
}

static bool has_values_of_steps(const log_set *set) {
    for (size_t i = 0; i < set->n_pending; i++)
        if (set->metrics[set->pending[i].metric].o.on_step == XT_ON) return true;
    return false;
}

void log_plain_before(log_engine *e, lazy_cause cause) {
    log_set *set = &e->sets[LOG_TRAIN];
    /* a network that is trained in evaluation mode: what its first step has logged is none of a validation */
    if (lazy_stepped_evaluating())
        log_pending_move(e, LOG_VALIDATE, LOG_TRAIN);
    else if (lazy_evaluates())
        log_pending_refuse_strayed(e);
    log_plain_stage(e);
    begin_loop(e);
    end_call_before_update(e);
    e->late = is_late(e);
    set->behind_pass = is_behind_pass() && has_values_of_steps(set);
    if (ends_in_next(e, cause)) come_round(e, BY_PLACE);
    if (lazy_tracing()) return; /* what the compiled function has logged is the call's that is under way */
    end_call(e);
    e->updated = lazy_loop_steps() != e->seen_steps;
    if (e->updated && has_row(lazy_loop_steps()) && set->n_behind) set->behind_due = true;
}

/* Values of the training that were logged behind its pass, and behind a validation that came there, before another
 * batch or update: they are of the epoch that has ended, in a row of their own. */
static void end_behind_pass(log_engine *e) {
    log_set *set = &e->sets[LOG_TRAIN];
    if (set->behind_pass && is_behind_pass()) {
        emit(e, LOG_TRAIN, false, lazy_loop_steps());
        set->window_begins = true;
    }
    set->behind_pass = false;
    if (set->fresh && is_behind_pass()) end_pass(e, LOG_TRAIN);
}

void log_plain_after(log_engine *e, lazy_cause cause) {
    for (int s = 0; s < LOG_STAGE_COUNT; s++) e->sets[s].within = false;
    e->sets[LOG_VALIDATE].window_begins = true; /* a step of a validation is a batch */
    e->sets[LOG_TRAIN].behind_recorded = false;
    if (e->late) e->sets[LOG_TRAIN].window_begins = true;
    if (e->open_steps) end_window(e, e->open_steps);
    int64_t steps = lazy_loop_steps();
    if (steps != e->seen_steps) {
        e->seen_steps = steps;
        if (cause == LAZY_CALL && !e->updated) /* else it has ended the step in front of the call */
            e->open_steps = steps;
        else
            end_window(e, steps);
        e->ended = lazy_within_iteration(cause) ? *lazy_position_of_thread() : (lazy_position){0};
        e->goes_on = true;
    }
    e->updated = false;
    e->goes_on &= lazy_within_iteration(cause);
    if (e->sets[LOG_VALIDATE].pass_over) end_pass(e, LOG_VALIDATE);
    end_behind_pass(e);
}

/* A loader of batches that nothing was logged of ends no pass, be it a validation's within an epoch of training. Nor
 * does one whose pass came within that of another loader, if values of both are there: all of them are of the outer
 * one's epoch, as are those of a pass that was left. What was logged before any batch is of the first pass. */
static void end_stage(log_engine *e, log_stage s, const void *loader, const lazy_pass *outer) {
    log_set *set = &e->sets[s];
    int kind = s == LOG_VALIDATE ? LAZY_EVALUATED : LAZY_TRAINED;
    const lazy_pass *its = &lazy_position_of_thread()->passes[kind];
    if (!set->fresh || its->loader != loader) return;
    if (set->loader && set->loader != loader) return;
    set->noted.batch = its->batch; /* the last one, whichever logged something */
    if (outer[kind].loader && set->first_loader && set->first_loader != loader)
        set->loader = outer[kind].loader;
    else
        end_pass(e, s);
}

void log_plain_pass_ended(log_engine *e, const void *loader, const lazy_pass *outer) {
    log_plain_stage(e);
    if (e->sets[LOG_TRAIN].loader == loader) log_behind_send(&e->sets[LOG_TRAIN]);
    end_stage(e, LOG_TRAIN, loader, outer);
    end_stage(e, LOG_VALIDATE, loader, outer);
}

void log_plain_pass_left(log_engine *e, const void *loader, const void *outer, int kind) {
    log_set *set = &e->sets[kind == LAZY_EVALUATED ? LOG_VALIDATE : LOG_TRAIN];
    if (set->loader == loader) set->loader = outer;
    if (set->first_loader == loader) set->first_loader = outer;
}

/* The stage's metric has values that the end would write: recorded ones, or such as the last step has noted. */
static bool is_unwritten(const log_engine *e, log_stage s, size_t which) {
    const log_set *set = &e->sets[s];
    const log_metric *m = &set->metrics[which];
    if (log_pending_first(set, which) != LOG_NONE) return true;
    for (size_t i = 0; i < set->n_behind; i++)
        if ((size_t)set->behind[i].metric == which) return true;
    if (!e->plain || m->restored) return false;
    return (m->o.on_epoch == XT_ON && has_rows(set, true)) || (m->o.on_step == XT_ON && has_rows(set, false));
}

static const char *name_of_call(const log_metric *m) {
    return m->call ? m->call : "xt_log";
}

static void tell_lost_pictures(const log_engine *e) {
    char at[256];
    if (e->asked)
        log_msg(XT_SEV_WARNING, "%s: %s \"%s\" is not written: the program ended %s", src_text(e->asked, at, sizeof at),
                e->asked_call, e->asked_name, lazy_unfinished());
}

void log_plain_tell_lost(const log_engine *e) {
    const log_metric *first = NULL;
    size_t n = 0;
    char at[256], more[48] = "";
    for (int s = 0; s < LOG_STAGE_COUNT; s++)
        for (size_t i = 0; i < e->sets[s].n; i++) {
            if (!is_unwritten(e, (log_stage)s, i)) continue;
            if (!n++) first = &e->sets[s].metrics[i];
        }
    if (e->manual || world_get()->rank != 0) return;
    tell_lost_pictures(e);
    if (!first) return;
    if (n > 1) snprintf(more, sizeof more, " and %zu more name%s", n - 1, n > 2 ? "s" : "");
    log_msg(XT_SEV_WARNING, "%s: %s \"%s\"%s: what was logged since the last row is not written: the program ended %s",
            src_text(first->src, at, sizeof at), name_of_call(first), first->name, more, lazy_unfinished());
}

/* What a plain loop has logged since its last row: a name under an `if` waits for the next one, which this is. And the
 * values with .on_epoch of a loop without a loader, whose epoch is the loop. */
void log_plain_last_rows(log_engine *e, bool may_run) {
    const log_metric *first = NULL;
    for (int s = 0; s < LOG_STAGE_COUNT && !first; s++)
        if (e->sets[s].n_pending) first = &e->sets[s].metrics[e->sets[s].pending[0].metric];
    if (e->manual || lazy_pending() || (!first && !e->plain)) return;
    if (!may_run) {
        char at[256];
        if (first)
            log_msg(XT_SEV_WARNING,
                    "%s: %s \"%s\" is not written: it was logged after xt_finish, and the program ended without "
                    "another one",
                    src_text(first->src, at, sizeof at), name_of_call(first), first->name);
        for (int s = 0; s < LOG_STAGE_COUNT; s++) log_forget_step((log_stage)s);
        return;
    }
    if (first) lazy_boundary(LAZY_FINISH, src_get(first->src));
    log_behind_send(&e->sets[LOG_TRAIN]);
    if (!e->plain) return;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        emit(e, (log_stage)s, false, lazy_loop_steps());
        emit(e, (log_stage)s, true, lazy_loop_steps());
    }
    e->plain = false;
    lazy_drain(); /* the reader holds what it reads until it has handed it out */
}
