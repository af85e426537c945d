/* How many steps optimizers have taken, and loops. They are counted where they are recorded: what is recorded next asks
 * for them. A step that is dropped takes its own back, and with them what it drew, so that those behind it are what
 * they would have been without it. */
#include "lazy/step/step.h"

static _Atomic int64_t loop_steps;
static __thread bool loop_steps_paused;

void lazy_loop_steps_pause(bool on) {
    loop_steps_paused = on;
}

static void context_freed(lazy_ctx *c) {
    base_free(c->updates);
    c->updates = NULL;
    c->n_updates = c->cap_updates = 0;
}

static const lazy_guest guest = {.freed = context_freed};

void lazy_count_update(lazy_updater *u, bool recorded) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_update now = {.by = u, .loop_step = u->loop_step};
    u->steps++;
    counter_add(COUNTER_optimizer_steps, 1);
    lazy_draws_updated();
    if (!c) return;
    if (!loop_steps_paused) {
        lazy_at_work();
        bool first = c->loop_steps.step_plus_1 != c->step + 1;
        if (first) c->loop_steps.recorded = c->loop_steps.before = 0;
        if (first || c->loop_steps.over || u->loop_step == c->loop_steps.of_thread) {
            now.is_loop_step = true;
            c->loop_steps.of_thread++;
            c->loop_steps.recorded++;
            c->loop_steps.over = false;
            atomic_fetch_add(&loop_steps, 1);
        }
        c->loop_steps.step_plus_1 = c->step + 1;
        u->loop_step = c->loop_steps.of_thread;
    }
    lazy_attend(c, &guest);
    if (recorded && !VEC_PUSH(c->updates, c->n_updates, c->cap_updates, now))
        lazy_fail(status_oom(sizeof now, "an optimizer's step"));
}

void lazy_count_loop_step(lazy_ctx *c, lazy_updater *u) {
    for (size_t i = c->n_updates; i-- > 0;) {
        if (c->updates[i].by != u || c->updates[i].is_loop_step) continue;
        c->updates[i].is_loop_step = true;
        c->loop_steps.of_thread++;
        c->loop_steps.recorded++;
        for (; i < c->n_updates; i++) /* they are of it, too */
            if (c->updates[i].by) c->updates[i].by->loop_step = c->loop_steps.of_thread;
        atomic_fetch_add(&loop_steps, 1);
        return;
    }
}

int64_t lazy_loop_steps(void) {
    return atomic_load_explicit(&loop_steps, memory_order_relaxed);
}

int lazy_loop_steps_recorded(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c && c->loop_steps.step_plus_1 == c->step + 1 ? c->loop_steps.recorded : 0;
}

static void take_back(lazy_ctx *c, const lazy_update *u) {
    if (u->by) {
        u->by->steps--;
        u->by->loop_step = u->loop_step;
    }
    counter_add(COUNTER_optimizer_steps, -1);
    if (!u->is_loop_step) return;
    c->loop_steps.of_thread--;
    c->loop_steps.recorded--;
    atomic_fetch_sub(&loop_steps, 1);
}

void lazy_updates_settle(lazy_ctx *c, bool ok) {
    if (!ok) {
        lazy_draws_dropped(c, c->n_updates > 0);
        while (c->n_updates > 0) take_back(c, &c->updates[--c->n_updates]);
    }
    c->n_updates = 0;
    c->drawn_before = c->drawn;
}

void lazy_updates_forget(lazy_ctx *c, const lazy_updater *u) {
    for (size_t i = 0; i < c->n_updates; i++)
        if (c->updates[i].by == u) c->updates[i].by = NULL;
}
