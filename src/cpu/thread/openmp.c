/* See openmp.h. A region hands out the numbers 0 to size - 1; a thread of the pool takes one after the other, so a
 * region without barriers ends whoever comes. At a barrier each number needs a thread of its own: therefore a region
 * that is wider than the pool goes to libgomp. */
#include "cpu/thread/openmp.h"
#include "cpu/thread/pool.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct region {
    void (*fn)(void *);
    void *ctx;
    int size;
    _Atomic int next; /* the first number that nobody has taken */
    _Atomic uint32_t arrived, barriers; /* at this barrier; barriers that all have passed */
} region;

typedef struct here { /* what OpenMP is on this thread */
    int most; /* threads of a region; 0: whatever libgomp says */
    pool *pool;
    bool held;
    region *region; /* the one this thread works in, under this number */
    int number;
} here;
static _Thread_local here now;
static _Atomic bool reached;

typedef struct runtime { /* libgomp's */
    void (*parallel)(void (*fn)(void *), void *ctx, unsigned threads, unsigned flags);
    void (*barrier)(void);
    int (*max_threads)(void), (*num_threads)(void), (*thread_num)(void), (*in_parallel)(void);
    void (*set_threads)(int);
} runtime;
static runtime gomp;
static pthread_once_t gomp_once = PTHREAD_ONCE_INIT;

/* The exported names; libgomp's prototypes. */
#define EXPORT __attribute__((visibility("default")))
EXPORT void GOMP_parallel(void (*fn)(void *), void *ctx, unsigned threads, unsigned flags);
EXPORT void GOMP_barrier(void);
EXPORT int omp_get_max_threads(void);
EXPORT int omp_get_num_threads(void);
EXPORT int omp_get_thread_num(void);
EXPORT int omp_in_parallel(void);

/* The same functions under names that no other library can take: where the process's own libgomp comes first, a plain
 * &GOMP_parallel is libgomp's, and what is found there would be thrown away as if it were ours. */
#define OURS(name) extern __typeof__(name) own_##name __attribute__((alias(#name), visibility("hidden")))
OURS(GOMP_parallel);
OURS(GOMP_barrier);
OURS(omp_get_max_threads);
OURS(omp_get_num_threads);
OURS(omp_get_thread_num);
OURS(omp_in_parallel);

static void find(void *lib, const char *name, const void *ours, void *out) {
    void *p = dlsym(lib, name);
    if (p && p != ours) memcpy(out, &p, sizeof p);
}

static void open_runtime(void) {
    void *lib = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    Dl_info info;
    const void *inside;
    dnnl_status_t (*fn)(dnnl_engine_t) = dnnl_engine_destroy;
    memcpy(&inside, &fn, sizeof inside);
    if (!lib && dladdr(inside, &info) && info.dli_fname)
        lib = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD); /* under another name: what oneDNN was linked with */
    if (!lib) return;
#define FIND(field, name)                    \
    do {                                     \
        const void *ours;                    \
        __typeof__(&name) at = own_##name;   \
        memcpy(&ours, &at, sizeof ours);     \
        find(lib, #name, ours, &gomp.field); \
    } while (0)
    FIND(parallel, GOMP_parallel);
    FIND(barrier, GOMP_barrier);
    FIND(max_threads, omp_get_max_threads);
    FIND(num_threads, omp_get_num_threads);
    FIND(thread_num, omp_get_thread_num);
    FIND(in_parallel, omp_in_parallel);
    find(lib, "omp_set_num_threads", NULL, &gomp.set_threads);
}
static const runtime *theirs(void) {
    pthread_once(&gomp_once, open_runtime);
    return &gomp;
}

/* --- what oneDNN calls --- */
static void alone(void (*fn)(void *), void *ctx) {
    region r = {.size = 1};
    here before = now;
    now.region = &r;
    now.number = 0;
    fn(ctx);
    now = before;
}

static void take_numbers(void *ctx, int thread) {
    (void)thread;
    region *r = ctx;
    here before = now;
    now.region = r;
    if (now.most == 0) now.most = 1;
    for (;;) {
        int number = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
        if (number >= r->size) break;
        now.number = number;
        r->fn(r->ctx);
    }
    now = before;
}

void openmp_parallel(void (*fn)(void *), void *ctx, int threads) {
    const runtime *t = theirs();
    here before = now;
    if (!t->parallel) {
        alone(fn, ctx);
        return;
    }
    now = (here){0};
    t->parallel(fn, ctx, (unsigned)threads, 0);
    now = before;
}

void GOMP_parallel(void (*fn)(void *), void *ctx, unsigned threads, unsigned flags) {
    if (now.most == 0 && theirs()->parallel) {
        gomp.parallel(fn, ctx, threads, flags);
        return;
    }
    int size = threads ? (int)threads : omp_get_max_threads();
    if (size <= 1 || now.region || now.held) {
        alone(fn, ctx);
    } else if (!now.pool || pool_threads(now.pool) < size) {
        openmp_parallel(fn, ctx, size);
    } else {
        region r = {.fn = fn, .ctx = ctx, .size = size};
        pool_run(now.pool, size, take_numbers, &r);
    }
}

void GOMP_barrier(void) {
    region *r = now.region;
    if (!r) {
        if (theirs()->barrier) gomp.barrier();
        return;
    }
    uint32_t passed = atomic_load(&r->barriers);
    if (atomic_fetch_add(&r->arrived, 1) + 1 < (uint32_t)r->size) {
        pool_await(&r->barriers, passed);
        return;
    }
    atomic_store(&r->arrived, 0);
    pool_signal(&r->barriers);
}

int omp_get_max_threads(void) {
    if (!openmp_is_ours()) atomic_store_explicit(&reached, true, memory_order_relaxed);
    if (now.most == 0) return theirs()->max_threads ? gomp.max_threads() : 1;
    return now.region ? now.region->size : now.held ? 1 : now.most;
}
int omp_get_num_threads(void) {
    if (now.region) return now.region->size;
    return now.most == 0 && theirs()->num_threads ? gomp.num_threads() : 1;
}
int omp_get_thread_num(void) {
    if (now.region) return now.number;
    return now.most == 0 && theirs()->thread_num ? gomp.thread_num() : 0;
}
int omp_in_parallel(void) {
    if (now.region) return now.region->size > 1;
    return now.most == 0 && theirs()->in_parallel ? gomp.in_parallel() : 0;
}

/* --- what the team calls --- */
bool openmp_is_ours(void) {
    return atomic_load_explicit(&reached, memory_order_relaxed);
}

void openmp_put_threads(openmp_threads n) {
    const runtime *t = theirs();
    if (t->set_threads) t->set_threads(n.runtime);
    if (now.most) now.most = n.pool;
}

openmp_threads openmp_set_threads(int threads) {
    const runtime *t = theirs();
    openmp_threads before = {t->max_threads ? t->max_threads() : 1, now.most};
    openmp_put_threads((openmp_threads){threads, threads});
    return before;
}

int openmp_thread(void) {
    return theirs()->thread_num ? gomp.thread_num() : 0;
}

void openmp_enter(pool *p, int threads) {
    now = (here){.most = threads, .pool = p};
}
void openmp_leave(void) {
    now = (here){0};
}

bool openmp_hold(void) {
    bool before = now.held;
    now.held = true;
    return before;
}
void openmp_release(bool held_before) {
    now.held = held_before;
}
