/* Monotonic time in nanoseconds, CLOCK_MONOTONIC's. Every step reads it several times, so on x86 it is told by the
 * processor's counter where the system itself trusts that one: half the cost of a call of the system's clock. Each
 * thread goes on from a reading of the system's clock (its anchor) for at most SPAN_NS, then takes a new one, so that
 * it agrees with the system's clock, and with other threads' and processes', to some tens of nanoseconds. The rate is
 * measured over at least RATE_NS again and again: the system's clock is slewed. A test's fake is installed while
 * nothing else runs; the release store orders `user` before it. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/tally.h"

typedef int64_t (*clock_fn)(void *);
static _Atomic(clock_fn) fake;
static void *_Atomic fake_user;

static int64_t system_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__)
#include <x86intrin.h>

#define SPAN_NS 1000000
#define RATE_NS 50000000
#define NEAR_NS 1000 /* what a new anchor may be behind the old one's clock without time going back for it */
/* the counter read before and after the system's clock; more lies between when the thread was interrupted there */
#define NEAR_TICKS 4000
#define RATE_BITS 32

static struct {
    _Atomic int trusted; /* 0: not asked, 1: yes, -1: no */
    _Atomic uint64_t rate; /* nanoseconds a tick, << RATE_BITS; 0: not measured */
} counter_clock;

typedef struct anchor {
    uint64_t at, span, rate; /* of the counter; span 0: no anchor */
    int64_t ns;
    uint64_t rate_at; /* where the measurement of the rate began */
    int64_t rate_ns;
} anchor;
static __thread anchor of_thread;
static anchor of_owner; /* the thread that steps: found without a call (tally.h) */

/* The kernel compares the counter of all cores and leaves it as soon as it is wrong. */
static bool trusted(void) {
    int known = atomic_load_explicit(&counter_clock.trusted, memory_order_relaxed);
    if (known) return known > 0;
    char name[16] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (f && !fgets(name, sizeof name, f)) name[0] = '\0';
    if (f) fclose(f);
    bool yes = strncmp(name, "tsc", 3) == 0;
    atomic_store_explicit(&counter_clock.trusted, yes ? 1 : -1, memory_order_relaxed);
    return yes;
}

static void measure_rate(anchor *a, uint64_t at, int64_t ns) {
    if (!a->rate_at || ns - a->rate_ns > 100 * (int64_t)RATE_NS) { /* far apart: the machine may have slept */
        a->rate_at = at;
        a->rate_ns = ns;
    } else if (ns - a->rate_ns > RATE_NS && at > a->rate_at) {
        double rate = (double)(ns - a->rate_ns) / (double)(at - a->rate_at);
        if (rate > 0.05 && rate < 100)
            atomic_store_explicit(&counter_clock.rate, (uint64_t)(rate * (double)((uint64_t)1 << RATE_BITS)),
                                  memory_order_relaxed);
        a->rate_at = at;
        a->rate_ns = ns;
    }
}

/* Where the old anchor is still near, time does not go back from what it gave last. */
static int64_t not_before(const anchor *a, int64_t ns, uint64_t at, uint64_t span) {
    if (!span || at - a->at >= 2 * span) return ns;
    int64_t old = a->ns + (int64_t)(((at - a->at) * a->rate) >> RATE_BITS);
    return old > ns && old - ns < NEAR_NS ? old : ns;
}

static int64_t new_anchor(anchor *a) {
    if (!trusted()) return system_ns();
    uint64_t before = __rdtsc(), expected = a->span;
    int64_t system = system_ns(), ns = not_before(a, system, before, expected);
    uint64_t at = __rdtsc();
    /* the two belong to different moments: neither an anchor nor a measure of the rate */
    if (at - before > NEAR_TICKS) return ns;
    measure_rate(a, at, system);
    uint64_t rate = atomic_load_explicit(&counter_clock.rate, memory_order_relaxed);
    a->span = 0;
    if (!rate) return ns;
    a->at = at;
    a->ns = ns;
    a->rate = rate;
    a->span = (uint64_t)((double)SPAN_NS * (double)((uint64_t)1 << RATE_BITS) / (double)rate);
    return ns;
}

static inline int64_t real_ns(void) {
    anchor *a = tally_mine() ? &of_owner : &of_thread;
    /* The choice is made before anything is read: a compiler may read both (clang does) and drop one of the values,
     * and the owner's changes under the others' reads. */
    __asm__("" : "+r"(a));
    uint64_t past = __rdtsc() - a->at;
    return past < a->span ? a->ns + (int64_t)((past * a->rate) >> RATE_BITS) : new_anchor(a);
}
#else
static inline int64_t real_ns(void) {
    return system_ns();
}
#endif

int64_t clock_ns(void) {
    clock_fn fn = atomic_load_explicit(&fake, memory_order_acquire);
    return fn ? fn(atomic_load_explicit(&fake_user, memory_order_relaxed)) : real_ns();
}

void clock_set_fake(int64_t (*fn)(void *), void *user) {
    atomic_store_explicit(&fake_user, user, memory_order_relaxed);
    atomic_store_explicit(&fake, fn, memory_order_release);
}
