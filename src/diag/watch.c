/* What is looked at after each step: the black box gets the step's numbers, timers their durations, and every hundred
 * steps the ledger is read for growth. Called in the training thread at each boundary: what it costs is measured by
 * bench/dispatch_bench. Programs may train in several threads: what is known of steps and of events is one thread's at
 * a time. */
#include "diag/diag.h"

#include <math.h>
#include <pthread.h>

#include "lazy/core/older.h"

enum { REMEMBERED_STEP = 100, HISTORY_EVERY_NS = 1000000000 };

static struct {
    int64_t last_ns, sampled_ns;
    double interval_ns; /* between boundaries, smoothed */
    /* the step that has ended last, and its line; the watchdog asks for them from its thread */
    _Atomic int64_t step;
    _Atomic src_id place;
    int64_t history_every; /* samples between two points of the history, doubled when it is full */
    int64_t samples;
    /* at_finish is registered: hooks are called by one xt_finish, and the next run of this process needs them again */
    bool armed;
} w = {.history_every = 1};

static void history(blackbox *b, int64_t step) {
    if (w.samples++ % w.history_every != 0) return;
    if (b->n_history == BOX_HISTORY) { /* every second point goes */
        for (int i = 0; i < BOX_HISTORY / 2; i++) b->history[i] = b->history[2 * i];
        b->n_history = BOX_HISTORY / 2;
        w.history_every *= 2;
    }
    b->history[b->n_history++] = counter_get(COUNTER_device_bytes);
    b->history_step = lazy_shown_step(step);
}

static void rows(blackbox *b, int64_t step, const lazy_group *g, size_t n) {
    for (size_t i = 0; i < n && i < BOX_ROWS; i++) {
        box_row *r = &b->rows[i];
        r->bytes = g[i].bytes;
        r->count = g[i].count;
        snprintf(r->role, sizeof r->role, "%s", lazy_role_name(g[i].role));
        src_text(g[i].src, r->where, sizeof r->where);
        snprintf(r->path, sizeof r->path, "%s", intern_text(g[i].path));
    }
    b->n_rows = (int64_t)(n < BOX_ROWS ? n : BOX_ROWS);
    b->rows_step = lazy_shown_step(step);
}

/* The ledger, for growth and for the box; point: of the history too. */
static void sample(int64_t step, bool growth, bool point) {
    blackbox *b = blackbox_get();
    size_t n = lazy_ledger_groups(NULL, 0), cap = n;
    lazy_group *g = base_malloc((n + 1) * sizeof *g);
    if (!g) return;
    n = lazy_ledger_groups(g, cap);
    if (n > cap) n = cap;
    int64_t rss = base_rss();
    if (growth) diag_growth_sample(step, g, n, base_rss_own() - lazy_older_memory());
    if (b) {
        rows(b, step, g, n);
        if (point) history(b, step);
        b->rss = rss;
        for (int c = 0; c < COUNTER_COUNT && c < BOX_COUNTERS; c++) b->counters[c] = counter_get((counter)c);
        double wall = (double)(clock_ns() - b->began_ns);
        b->idle_share = wall > 0 ? 1 - (double)counter_get(COUNTER_execute_ns) / wall : (double)NAN;
    }
    base_free(g);
}

static void describe_device(void) {
    blackbox *b = blackbox_get();
    device_client *client = NULL;
    if (!b || b->device[0]) return;
    b->device[0] = '?'; /* asked once */
    if (!lazy_device_is_open(NULL)) {
        b->device[0] = '\0';
        return;
    }
    xt_status s = lazy_device(&client);
    if (!s) {
        const device_info *d = device_get_info(client);
        device_memory m;
        snprintf(b->device, sizeof b->device, "%s", d->platform);
        xt_status_free(device_memory_stats(client, &m));
        b->device_limit = m.limit;
        str t = STR_INIT;
        diag_run_header(&t);
        snprintf(b->versions, sizeof b->versions, "%s", str_cstr(&t));
        str_free(&t);
    }
    xt_status_free(s);
}

static void at_finish(void *user) {
    (void)user;
    w.armed = false;
    w.last_ns = 0;
    diag_watchdog_stop();
    diag_profile_finish();
    diag_metrics_finish();
    diag_growth_reset();
    lazy_ledger_forget();
}

static void arm(void) {
    w.armed = true;
    lazy_at_finish(at_finish, NULL);
}

static void look(int64_t step, bool ok) {
    if (!w.armed) arm();
    int64_t now = lazy_step_began();
    if (w.last_ns) {
        double ns = (double)(now - w.last_ns);
        w.interval_ns += (w.interval_ns > 0 ? 0.05 : 1) * (ns - w.interval_ns);
        diag_time_step(now - w.last_ns);
        diag_watchdog_step(now, now - w.last_ns);
    }
    diag_metrics_due(now);
    diag_profile_start();
    diag_profile_step(now, step);
    w.last_ns = now;
    atomic_store_explicit(&w.step, lazy_shown_step(step), memory_order_relaxed);
    blackbox *b = blackbox_get();
    if (b) {
        if (b->state == BOX_ENDED) blackbox_at_rest(false);
        b->beat_ns = now;
        b->step = lazy_shown_step(step);
        b->epoch = lazy_position_of_thread()->epoch;
        b->step_rate = w.interval_ns > 0 ? 1e9 / w.interval_ns : (double)NAN;
        b->device_bytes = counter_get(COUNTER_device_bytes);
        b->device_peak = counter_get(COUNTER_device_peak_bytes);
        if (!b->device[0]) describe_device();
        if (!ok && lazy_pending()) {
            snprintf(b->last_error, sizeof b->last_error, "%s", status_message(lazy_pending()));
            blackbox_note(BOX_ERROR, atomic_load_explicit(&w.place, memory_order_relaxed), b->step,
                          status_code(lazy_pending()), 0);
        }
    }
    if (step == REMEMBERED_STEP) lazy_ledger_remember(step);
    bool due = diag_growth_due(step);
    /* a run may die young */
    bool point = due || now - w.sampled_ns >= HISTORY_EVERY_NS,
         early = step > 0 && step < REMEMBERED_STEP && (step & (step - 1)) == 0;
    if (!point && !early) return;
    if (point) w.sampled_ns = now;
    sample(step, due, point);
}

int64_t diag_watch_seen(src_id *out_place) {
    *out_place = atomic_load_explicit(&w.place, memory_order_relaxed);
    return atomic_load_explicit(&w.step, memory_order_relaxed);
}

static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER;
void diag_watch_enter(void) {
    pthread_mutex_lock(&watching);
    log_hold();
}
void diag_watch_leave(void) {
    pthread_mutex_unlock(&watching);
    log_release();
}

static void on_step(void *user, lazy_cause cause, int64_t step, bool ok) {
    (void)user;
    (void)cause;
    diag_watch_enter();
    look(step, ok);
    diag_watch_leave();
}

void diag_watch_event(const lazy_event *e) {
    blackbox *b = blackbox_get();
    box_kind kind = e->source == LAZY_COMPILED    ? BOX_COMPILE
                    : e->source == LAZY_FROM_DISK ? BOX_DISK_HIT
                                                  : BOX_EXECUTION;
    if (!b) return;
    blackbox_note_at(e->at_ns ? e->at_ns : clock_ns(), e->forced ? BOX_READ : kind, e->src, lazy_shown_step(e->step),
                     e->program, counter_get(COUNTER_device_bytes));
    if (e->src == atomic_load_explicit(&w.place, memory_order_relaxed)) return;
    atomic_store_explicit(&w.place, e->src, memory_order_relaxed);
    src_text(e->src, b->place, sizeof b->place);
}

void diag_watch_start(void) {
    static bool on;
    xt_status s = on ? NULL : lazy_observe(&(lazy_observer){.after = on_step});
    on = !s;
    if (s) lazy_fail(s);
    blackbox_recording(lazy_recording_at);
    blackbox_calling(lazy_thread_in);
    arm();
}
