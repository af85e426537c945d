/* Parallel regions, in the pool or in libgomp's team. */
#include "cpu/thread/team.h"
#include "base/cpus.h"
#include "base/sanitizers.h"
#include "cpu/thread/openmp.h"
#include "cpu/thread/pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

openmp_threads team_set_openmp(int threads) {
    return openmp_set_threads(BUILT_WITH_TSAN ? 1 : threads);
}

/* More threads than cores are good for tests alone, and each of them has scratch memory of its own. */
int team_default_threads(void) {
    int64_t n, cores = cpus_count(), most = cores > 64 ? cores : 64;
    const char *openmp = getenv("OMP_NUM_THREADS"); /* a list has a number per level of nesting: the first is ours */
    if (env_int("XT_THREADS", 1, &n) || (openmp && (n = strtol(openmp, NULL, 10)) > 0))
        return (int)(n < most ? n : most);
    return (int)cores;
}

/* Flush results (FTZ) and treat inputs (DAZ) below the normal range as zero, as XLA:CPU does: a denormal costs a
 * hundred cycles. */
static unsigned float_get(void) {
#if defined(__x86_64__)
    return _mm_getcsr();
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    return (unsigned)v;
#else
    return 0;
#endif
}
static void float_set(unsigned v) {
#if defined(__x86_64__)
    _mm_setcsr(v);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)v));
#else
    (void)v;
#endif
}
static unsigned float_flushing(unsigned v) {
#if defined(__x86_64__)
    return v | 0x8040u;
#elif defined(__aarch64__)
    return v | 1u << 24;
#else
    return v;
#endif
}

void team_flush_denormals(void) {
    float_set(float_flushing(float_get()));
}

/* Threads of this thread's OpenMP team that flush already. They go on doing so: the team works for us only, a thread
 * that joins it inherits the setting of the one that starts it, and a parallel region only to set and unset it would
 * cost more than a small program. */
static _Thread_local int flushing;

static void set_float(void *v) {
    float_set(*(const unsigned *)v);
}
static void set_team(int threads, unsigned v) {
    if (threads <= flushing) return;
    openmp_parallel(set_float, &v, threads);
    flushing = threads;
}

void team_enter(cpu_team *t, bool own) {
    t->own = own || BUILT_WITH_TSAN;
    t->outer_threads = team_set_openmp(t->own ? 1 : t->threads);
    t->outer_float = float_get();
    float_set(float_flushing(t->outer_float));
    if (t->threads > 1 && t->own && !t->pool) t->pool = pool_new(t->threads);
    if (t->threads > 1 && !t->own) set_team(t->threads, float_flushing(t->outer_float));
    if (t->own) openmp_enter(t->pool, t->threads);
}

void team_leave(cpu_team *t) {
    if (t->own) openmp_leave();
    float_set(t->outer_float);
    openmp_put_threads(t->outer_threads);
}

void team_deinit(cpu_team *t) {
    pool_free(t->pool);
    t->pool = NULL;
}

typedef struct loop {
    team_fn fn;
    void *ctx;
    int64_t n, grain, chunks;
    _Atomic int64_t next;
} loop;

static void take_chunks(void *ctx, int thread) {
    loop *l = ctx;
    for (;;) {
        int64_t c = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (c >= l->chunks) break;
        l->fn(l->ctx, c * l->grain, c == l->chunks - 1 ? l->n : (c + 1) * l->grain, thread);
    }
}

static void take_chunks_openmp(void *ctx) {
    take_chunks(ctx, openmp_thread());
}

void team_for(const cpu_team *t, int64_t n, int64_t grain, team_fn fn, void *ctx) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    int64_t chunks = (n - 1) / grain + 1;
    if (t->threads <= 1 || chunks == 1) {
        for (int64_t c = 0; c < chunks; c++) fn(ctx, c * grain, c == chunks - 1 ? n : (c + 1) * grain, 0);
        return;
    }
    int threads = chunks < t->threads ? (int)chunks : t->threads;
    loop l = {.fn = fn, .ctx = ctx, .n = n, .grain = grain, .chunks = chunks};
    if (!t->own) {
        openmp_parallel(take_chunks_openmp, &l, threads);
        return;
    }
    if (!t->pool) {
        take_chunks(&l, 0);
        return;
    }
    bool held = openmp_hold();
    pool_run(t->pool, threads, take_chunks, &l);
    openmp_release(held);
}

typedef struct alone {
    const team_library *library;
    team_fn fn;
    void *ctx;
} alone;
static void alone_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const alone *a = ctx;
    int before[TEAM_LIBRARY_SETTINGS];
    bool held = openmp_hold();
    a->library->enter(before);
    a->fn(a->ctx, begin, end, thread);
    a->library->leave(before);
    openmp_release(held);
}

void team_for_alone(const cpu_team *t, const team_library *l, int64_t n, int64_t grain, team_fn fn, void *ctx) {
    alone a = {l, fn, ctx};
    team_for(t, n, grain, alone_chunk, &a);
}
