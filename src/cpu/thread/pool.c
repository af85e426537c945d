/* See pool.h. One word tells everything about the region: its number, whether it is open, and how many helpers are
 * inside. A helper comes in by raising the count of an open region, so once the caller has closed it nobody can, and
 * what the region's fields say may change when the last one has left. Sleepers wait on a futex of their own: each
 * checks the word again after it has said that it sleeps, and the caller looks for sleepers after it has opened, so one
 * of the two always sees the other. */
#include "cpu/thread/pool.h"
#include "base/cpus.h"
#include "base/relax.h"
#include "cpu/thread/openmp.h"
#include "cpu/thread/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOK_NS = 200000, /* how long a helper looks out for the next region */
    LOOK_CROWDED_NS = 50000, /* on shared cores: about what it takes to wake a sleeper */
    MEET_NS = 50000, /* how long a thread looks out for the others of its region */
    GAP_NS = 100000, /* looking takes far less than this from one look to the next, unless the core was taken away */
    CROWDED_NS = 50000000, /* for so long after such a gap the cores count as shared */
};

typedef struct helper {
    struct pool *pool;
    pthread_t thread;
    int number;
} helper;

#define OPEN ((uint64_t)1 << 31)
#define INSIDE(word) ((uint32_t)(word)&0x7fffffffu)
#define REGION(word) ((uint32_t)((word) >> 32))
struct pool {
    _Atomic uint64_t word; /* region number, OPEN, helpers inside */
    _Atomic uint32_t most; /* helpers that the open region takes */
    pool_fn fn;
    void *ctx;
    char apart[64]; /* what helpers write when they sleep is on another line than what they look at */
    _Atomic uint32_t bell, asleep; /* for sleeping helpers */
    _Atomic uint32_t left, waiting; /* for a caller that waits for the last helper */
    _Atomic int64_t crowded; /* until when the cores count as shared */
    _Atomic bool stop;
    int n;
    helper helpers[];
};

static void futex_wait(_Atomic uint32_t *at, uint32_t while_equal) {
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_equal, NULL, NULL, 0);
}
static void futex_wake(_Atomic uint32_t *at, int n) {
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static bool may_enter(const pool *p, uint64_t word, uint32_t seen) {
    return (word & OPEN) && REGION(word) != seen && INSIDE(word) < atomic_load_explicit(&p->most, memory_order_relaxed);
}

static void note_crowd(pool *p, int64_t now) {
    atomic_store_explicit(&p->crowded, now + CROWDED_NS, memory_order_relaxed);
}
static int64_t look_ns(const pool *p, int64_t now) {
    return now < atomic_load_explicit(&p->crowded, memory_order_relaxed) ? LOOK_CROWDED_NS : LOOK_NS;
}

/* True when something is up; false after a while of nothing. */
static bool look_out(pool *p, uint32_t seen) {
    int64_t begin = clock_ns(), last = begin;
    for (;;) {
        for (int i = 0; i < 32; i++) {
            if (may_enter(p, atomic_load_explicit(&p->word, memory_order_acquire), seen) ||
                atomic_load_explicit(&p->stop, memory_order_relaxed))
                return true;
            base_relax();
        }
        int64_t now = clock_ns();
        if (now - last > GAP_NS) note_crowd(p, now);
        if (now - begin > look_ns(p, begin)) return false;
        last = now;
    }
}

static void sleep_until_rung(pool *p, uint32_t seen) {
    uint32_t bell = atomic_load(&p->bell);
    atomic_fetch_add(&p->asleep, 1);
    if (!may_enter(p, atomic_load(&p->word), seen) && !atomic_load(&p->stop)) futex_wait(&p->bell, bell);
    atomic_fetch_sub(&p->asleep, 1);
}

static void *help(void *arg) {
    helper *h = arg;
    pool *p = h->pool;
    uint32_t seen = 0;
    team_flush_denormals();
    openmp_set_threads(1); /* what oneDNN and OpenBLAS do in here they do alone */
    openmp_enter(NULL, 1);
    openmp_hold();
    while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
        uint64_t word = atomic_load_explicit(&p->word, memory_order_acquire);
        if (!may_enter(p, word, seen)) {
            if (!look_out(p, seen)) sleep_until_rung(p, seen);
            continue;
        }
        if (!atomic_compare_exchange_strong(&p->word, &word, word + 1)) continue;
        seen = REGION(word);
        p->fn(p->ctx, h->number);
        word = atomic_fetch_sub(&p->word, 1) - 1;
        if (!(word & OPEN) && INSIDE(word) == 0 && atomic_load(&p->waiting)) {
            atomic_fetch_add(&p->left, 1);
            futex_wake(&p->left, 1);
        }
    }
    return NULL;
}

static void wait_for_helpers(pool *p) {
    int64_t begin = clock_ns(), limit = look_ns(p, begin);
    while (INSIDE(atomic_load_explicit(&p->word, memory_order_acquire))) {
        for (int i = 0; i < 32; i++) {
            if (!INSIDE(atomic_load_explicit(&p->word, memory_order_acquire))) return;
            base_relax();
        }
        int64_t now = clock_ns();
        if (now - begin < limit) continue;
        note_crowd(p, now);
        uint32_t left = atomic_load(&p->left);
        atomic_store(&p->waiting, 1);
        if (INSIDE(atomic_load(&p->word))) futex_wait(&p->left, left);
        atomic_store(&p->waiting, 0);
    }
}

void pool_run(pool *p, int threads, pool_fn fn, void *ctx) {
    uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);
    p->fn = fn;
    p->ctx = ctx;
    atomic_store_explicit(&p->most, (uint32_t)(threads - 1), memory_order_relaxed);
    uint32_t region = REGION(word) + 1;
    if (region == 0) region = 1; /* 0 is what a helper has seen that has seen none */
    atomic_store(&p->word, (uint64_t)region << 32 | OPEN);
    if (atomic_load(&p->asleep)) {
        atomic_fetch_add(&p->bell, 1);
        futex_wake(&p->bell, threads - 1);
    }
    fn(ctx, 0);
    atomic_fetch_and(&p->word, ~OPEN);
    wait_for_helpers(p);
}

int pool_threads(const pool *p) {
    return p->n + 1;
}

void pool_await(_Atomic uint32_t *word, uint32_t seen) {
    int64_t begin = clock_ns();
    while (atomic_load_explicit(word, memory_order_acquire) == seen) {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen) return;
            base_relax();
        }
        if (clock_ns() - begin > MEET_NS) futex_wait(word, seen);
    }
}
void pool_signal(_Atomic uint32_t *word) {
    atomic_fetch_add(word, 1);
    futex_wake(word, INT_MAX);
}

pool *pool_new(int threads) {
    int n = threads - 1;
    pool *p = n > 0 ? base_calloc(1, sizeof *p + (size_t)n * sizeof *p->helpers) : NULL;
    if (!p) return NULL;
    sigset_t all, before; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < n; i++) {
        p->helpers[i] = (helper){.pool = p, .number = i + 1};
        if (cpus_start(&p->helpers[i].thread, "a thread of the CPU device", help, &p->helpers[i]) != 0) break;
        p->n++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->n) return p;
    base_free(p);
    return NULL;
}

void pool_free(pool *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    atomic_fetch_add(&p->bell, 1);
    futex_wake(&p->bell, INT_MAX);
    for (int i = 0; i < p->n; i++) pthread_join(p->helpers[i].thread, NULL);
    base_free(p);
}
