/* The watchdog: a step that takes far longer than the others (20 times their median, at least MIN_S;
 * XT_WATCHDOG=SECONDS sets the limit, off switches it off) is told once with where each rank is: its last boundary,
 * what is in flight, the line that was recorded last. It only tells: the program goes on. Off until WARM_UP steps have
 * passed, unless a number of seconds is given. Time in which the whole process did not run (stopped, starved, a machine
 * asleep) does not count: the watchdog itself wakes late then. */
#include "base/cpus.h"
#include "coll/coll.h"
#include "diag/diag.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { WARM_UP = 20, TIMES = 20, MIN_S = 2, COMPILE_S = 30 };
/* apart: by more than the ranks' watchdogs wake up apart (0.2 s) and a value takes to another host (0.25 s) */
enum { TABLE_S = 60, APART_MS = 500, APART_MOST_MS = 3000 };

static const int64_t LATE_NS = 1000000000; /* it wakes every 0.2 s */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t stop;
    pthread_t thread;
    bool running, stopping;
    _Atomic int64_t last_ns, limit_ns, told_ns, steps;
} dog = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop = PTHREAD_COND_INITIALIZER};

/* Where each rank is, by the first of them that comes to it: all wait for the same, and n tables of n lines say no more
 * than one. A step that lasts is told by one rank after another, in their order. */
static void tell_ranks(str *t) {
    const world *w = world_get();
    int64_t ms = w->rank * APART_MS < APART_MOST_MS ? w->rank * APART_MS : APART_MOST_MS;
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
    if (!coll_run_claim("watchdog/ranks", TABLE_S)) {
        str_append(t, "; where the other ranks are, another one has told");
        return;
    }
    for (int r = 0; r < w->size; r++) {
        char note[256];
        if (coll_run_last_note(r, note, sizeof note)) str_printf(t, "\n  rank %d: %s", r, note);
    }
}

static void tell(int64_t waited_ns, int64_t limit_ns) {
    str t = STR_INIT;
    char at[256];
    src_id place; /* the black box's are its writer's */
    int64_t step = diag_watch_seen(&place);
    str_printf(&t,
               "the step after step %lld takes %.1f s by now, longer than its limit of %.1f s (median %.3f s). This "
               "process was last seen at %s, %lld programs in flight",
               (long long)step, (double)waited_ns / 1e9, (double)limit_ns / 1e9,
               diag_time_percentile(DIAG_STEP, 0.5) / 1e9, place ? src_text(place, at, sizeof at) : "its start",
               (long long)lazy_in_flight());
    src_id now = lazy_recording_at();
    if (now) str_printf(&t, ", recording %s", src_text(now, at, sizeof at));
    if (world_get()->size > 1) tell_ranks(&t);
    str_append(&t, " [XT301]");
    blackbox_note(BOX_WATCHDOG, now, step, waited_ns, 0);
    blackbox_report(str_cstr(&t));
    log_msg(XT_SEV_WARNING, "%s", str_cstr(&t));
    diag_event_text("watchdog", now, step, str_cstr(&t));
    str_free(&t);
}

/* How long the step that began at `last` has been waited for, without the time in which the watchdog did
 * not run either. */
static int64_t waited(int64_t now, int64_t last) {
    static int64_t woke, of, excused; /* of the one watching thread */
    if (of != last) excused = 0;
    of = last;
    if (woke && now - woke > LATE_NS) excused += now - (woke > last ? woke : last);
    woke = now;
    return now - last - excused;
}

static void *watch(void *unused) {
    (void)unused;
    pthread_mutex_lock(&dog.lock);
    while (!dog.stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&dog.stop, &dog.lock, &until);
        int64_t limit = atomic_load(&dog.limit_ns), last = atomic_load(&dog.last_ns), now = clock_ns();
        /* a new program is no hang */
        if (limit && lazy_compiling() && limit < COMPILE_S * (int64_t)1000000000)
            limit = COMPILE_S * (int64_t)1000000000;
        int64_t ns = waited(now, last);
        if (dog.stopping || !limit || !last || ns < limit || atomic_load(&dog.told_ns) == last) continue;
        atomic_store(&dog.told_ns, last); /* once for each step */
        pthread_mutex_unlock(&dog.lock);
        tell(ns, limit);
        pthread_mutex_lock(&dog.lock);
    }
    pthread_mutex_unlock(&dog.lock);
    return NULL;
}

static void start(void) {
    pthread_mutex_lock(&dog.lock);
    if (!dog.running) {
        dog.stopping = false;
        dog.running = cpus_start(&dog.thread, "the watchdog", watch, NULL) == 0;
    }
    pthread_mutex_unlock(&dog.lock);
}

/* The limit in ns; 0: none yet, or switched off. */
static int64_t limit(int64_t steps) {
    const char *text = env_get("XT_WATCHDOG");
    double seconds;
    if (rehearsal_on()) return 0; /* no step runs there; what takes long is the compiler that plans */
    if (text && parse_double(text, &seconds) && seconds > 0) return (int64_t)(seconds * 1e9);
    if (text && !env_flag("XT_WATCHDOG", true)) return 0;
    if (steps < WARM_UP) return 0;
    double median = diag_time_percentile(DIAG_STEP, 0.5) * TIMES;
    return (int64_t)(median > MIN_S * 1e9 ? median : MIN_S * 1e9);
}

void diag_watchdog_step(int64_t now_ns, int64_t ns) {
    (void)ns;
    int64_t steps = atomic_fetch_add_explicit(&dog.steps, 1, memory_order_relaxed);
    atomic_store_explicit(&dog.last_ns, now_ns, memory_order_relaxed);
    if (steps > WARM_UP && steps % 64 != 0) return; /* the median moves slowly */
    int64_t l = limit(steps);
    atomic_store_explicit(&dog.limit_ns, l, memory_order_relaxed);
    if (l && !dog.running) start();
}

void diag_watchdog_stop(void) {
    pthread_mutex_lock(&dog.lock);
    bool running = dog.running;
    dog.stopping = true;
    atomic_store(&dog.last_ns, 0);
    atomic_store(&dog.steps, 0);
    pthread_cond_broadcast(&dog.stop);
    pthread_mutex_unlock(&dog.lock);
    if (running) pthread_join(dog.thread, NULL);
    dog.running = false;
}
