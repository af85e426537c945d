/* The log engine of a thread, from the first call that needs it to the program's end: told where the thread is, at work
 * around each of its boundaries, freed with what the other parts keep in it. It stands on these parts, which look the
 * engine up (log_engine.c); only what notes something for it (log_record.c, log_artifact.c, log_state.c) opens it. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "lazy/core/exit.h"
#include "metrics/log_job.h"

static atomic_bool finished; /* no boundary has come since the newest xt_finish */
/* a boundary, be it the program's first, which opens the device */
static bool may_run(void) {
    return lazy_device_is_open(NULL) || !atomic_load(&finished);
}

/* --- boundaries --- */
static void before(void *user, lazy_cause cause) {
    (void)user;
    log_engine *e = log_engine_peek();
    if (!e) return;
    if (!e->manual) log_plain_before(e, cause);
    log_record_step(e);
}

static void after(void *user, lazy_cause cause, int64_t step, bool ok) {
    (void)user;
    (void)step;
    log_engine *e = log_engine_peek();
    atomic_store_explicit(&finished, false, memory_order_relaxed);
    log_step_ended();
    if (e && !e->manual && ok) log_plain_after(e, cause);
}

static void came_round(void *user, size_t calls) {
    (void)user;
    log_engine *e = log_engine_peek();
    if (e && !e->manual) log_plain_came_round(e, calls);
}

static void pass_ended(void *user, const void *loader, const lazy_pass *outer) {
    (void)user;
    log_engine *e = log_engine_peek();
    if (e && !e->manual) log_plain_pass_ended(e, loader, outer);
}

static void pass_left(void *user, const void *loader, const void *outer, int kind) {
    (void)user;
    log_engine *e = log_engine_peek();
    if (e && !e->manual) log_plain_pass_left(e, loader, outer, kind);
}

static void finish(void *user) {
    (void)user;
    log_engine *e = log_engine_peek();
    atomic_store(&finished, true);
    log_ranks_last();
    if (e) log_plain_last_rows(e, lazy_device_is_open(NULL));
    log_close();
}

/* The device's threads go on beneath the exit handlers behind ours, which take down what they use. */
static void wait_in_flight(void) {
    enum { PATIENCE_MS = 1000 };
    for (int ms = 0; ms < PATIENCE_MS && lazy_in_flight() > 0 && !lazy_on_reader(); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The program ends without xt_finish. Rows that are on their way need no step of this thread any more. */
static void unfinished(void) {
    const log_engine *e = log_engine_peek();
    if (!lazy_pending()) log_wait_at_exit();
    if (e) log_plain_tell_lost(e);
    wait_in_flight();
}

/* --- opened and freed --- */
static void engine_free(void *p) {
    log_engine *e = p;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        log_set *set = &e->sets[s];
        for (size_t i = 0; i < set->n; i++) base_free(set->metrics[i].name);
        base_free(set->metrics);
        map_free(set->names, NULL);
        for (size_t i = 0; i < set->n_pending || i < set->n_recorded; i++) log_pending_drop(&set->pending[i]);
        base_free(set->pending);
        log_behind_drop(set);
        base_free(set->behind);
        if (lazy_type(set->state)) xt_drop_at(XT_HERE, set->state);
        lazy_replay_forget(set);
        lazy_optional_forget(set);
    }
    log_between_free(e);
    log_columns_end(e);
    log_unread_free(e);
    base_free(e);
    if (log_engine_peek() == e) log_engine_set(NULL);
}

/* A thread's rows and pictures are written by its end, since nobody else can end its last step. That may be the first
 * boundary of the program, which opens the device. */
static void thread_ends(void) {
    log_engine *e = log_engine_peek();
    if (e && !e->manual && e->asked && may_run() && !lazy_pending()) lazy_boundary(LAZY_FINISH, src_get(e->asked));
    log_step_ended();
    if (e && e->number) log_engine_set(NULL); /* a thread that left its fit: the trainer's end is the engine's */
    if (!e || e->number) return;
    log_plain_last_rows(e, may_run());
    lazy_disown(e);
    engine_free(e);
}

/* Without it an engine would log nothing: whoever has no memory for it tries again. */
static bool observe_boundaries(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool done;
    xt_status s = NULL;
    pthread_mutex_lock(&lock);
    if (!done)
        s = lazy_observe(&(lazy_observer){.before = before,
                                          .after = after,
                                          .came_round = came_round,
                                          .pass_ended = pass_ended,
                                          .pass_left = pass_left});
    if (!done && !s) {
        lazy_at_thread_end(thread_ends);
        lazy_at_unfinished(unfinished);
    }
    done = !s;
    pthread_mutex_unlock(&lock);
    if (s) lazy_fail(s);
    return !s;
}

static log_engine *engine_new(void) {
    lazy_at_finish(finish, NULL);
    log_engine *e = observe_boundaries() ? base_calloc(1, sizeof *e) : NULL;
    if (!e) return NULL;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) e->sets[s].epoch_begins = e->sets[s].window_begins = true;
    return e;
}

log_engine *log_engine_get(void) {
    log_engine *e = log_engine_peek();
    if (e) return e;
    e = engine_new();
    if (!e) return NULL;
    e->seen_steps = lazy_loop_steps() - lazy_loop_steps_recorded();
    lazy_own(e, engine_free);
    log_engine_set(e);
    return e;
}

void log_engine_end(log_engine *e) {
    if (e) engine_free(e);
}

/* --- told by who trains --- */
void log_set_stage(log_stage s) {
    log_engine *e = log_engine_get();
    if (e) e->stage = s;
}

void log_loop_ends(void) {
    log_engine *e = log_engine_peek();
    if (e && !e->manual) log_plain_last_rows(e, may_run());
}

/* Of a plain loop that follows: only its own steps make rows. */
static void steps_seen(log_engine *e) {
    e->seen_steps = lazy_loop_steps();
    e->open_steps = 0;
}

void log_set_manual(bool on) {
    log_engine *e = log_engine_get();
    if (!e) return;
    e->manual = on;
    steps_seen(e);
}

log_place log_set_place(log_place place, log_stage of) {
    log_engine *e = log_engine_get();
    log_place was = e ? e->place : LOG_IN_STEP;
    if (e) e->place = place, e->given_stage = of;
    return was;
}

bool log_step_waits(void) {
    const log_engine *e = log_engine_peek();
    for (int s = 0; e && s < LOG_STAGE_COUNT; s++)
        if (e->sets[s].n_pending && !e->sets[s].holds) return true;
    return false;
}

/* The engine's rows are among those of a loop that `outer`, if it logs, has logged in. */
static void join_loop(log_engine *e, const log_engine *outer) {
    const lazy_position *at = lazy_position_of_thread();
    const lazy_pass *trained = &at->passes[LAZY_TRAINED];
    e->joins = !e->own_sinks && !(outer && outer->manual) && lazy_loop_steps() > 0;
    e->loop = (log_moment){lazy_loop_steps(), trained->loader ? trained->epoch : at->epoch, 0, at->samples};
}

log_frame log_enter(log_engine **of, bool own_sinks) {
    log_frame f = {.outer = log_engine_peek(), .place = LOG_IN_STEP};
    static _Atomic int64_t trainers;
    if (!*of && (*of = engine_new())) (*of)->number = ++trainers;
    log_engine *e = *of ? *of : log_engine_get();
    if (!e) return f;
    log_engine_set(e);
    if (*of) {
        e->own_sinks = own_sinks;
        join_loop(e, f.outer);
    }
    f.manual = e->manual, f.place = e->place, f.stage = e->given_stage;
    return f;
}

void log_leave(log_frame was) {
    log_engine *e = log_engine_get();
    if (!e) return;
    if (e->manual && !was.manual) log_set_manual(false);
    e->manual = was.manual;
    log_set_place(was.manual ? was.place : LOG_IN_STEP, was.manual ? was.stage : LOG_TRAIN);
    log_engine_set(was.outer);
    if (was.outer && was.outer != e && !was.outer->manual) steps_seen(was.outer);
}

void log_set_mute(bool on) {
    log_engine *e = log_engine_get();
    if (e) e->mute = on, e->mute_said = false;
}

void log_set_sanity(bool on) {
    log_engine *e = log_engine_get();
    if (e) e->sanity = on;
}

void log_set_loader(int k) {
    log_engine *e = log_engine_get();
    if (e) e->loader_plus_1 = k + 1;
}

static void begin_window(log_set *set) {
    set->window_begins = set->window_begins || !set->opened;
}

void log_window_begin(void) {
    log_engine *e = log_engine_get();
    if (!e) return;
    begin_window(&e->sets[e->stage]);
    e->sets[e->stage].opened = false;
}

void log_epoch_begin(log_stage s) {
    log_engine *e = log_engine_get();
    if (!e) return;
    e->sets[s].epoch_begins = true;
    begin_window(&e->sets[s]);
}

void xt_log_every_n_steps_at(const xt_src *src, int64_t n) {
    SRC_CALLED_FROM(src);
    if (n < 1)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_log_every_n_steps: %lld; a period of at least 1 step is needed", (long long)n));
    else if (log_engine_get()) /* which counts the loop's steps from here on */
        log_plain_every(n);
}
