/* The threads of one device. Only team.c starts parallel regions; everything else hands it a function and a range.
 *
 * There are two kinds of them. A program runs in a pool of ours (`own`), which waits for no thread that another program
 * keeps from its core (pool.h); oneDNN's regions come to it too (openmp.h), and OpenBLAS has no regions (blas.h). A
 * program with large oneDNN calls in a process that brings an OpenMP runtime of its own runs all its regions in
 * libgomp's team, so that the two never fight for cores.
 *
 * Ranges are cut into chunks of a fixed size that threads take one after the other, so which thread runs a chunk
 * changes from run to run but the chunks never do: a kernel that combines its chunks' results in order is deterministic
 * for any number of threads. libgomp keeps one team per calling thread: a device is used from one thread at a time (its
 * executor). Thread sanitizer does not know libgomp's barriers: there every program runs in the pool, and oneDNN on one
 * thread where its regions do not come to us. */
#ifndef XT_SRC_CPU_THREAD_TEAM_H
#define XT_SRC_CPU_THREAD_TEAM_H

#include "base/base.h"
#include "cpu/thread/openmp.h"

typedef struct cpu_team {
    int threads;
    struct pool *pool; /* our own threads; made when first wanted */
    bool own; /* regions run in the pool */
    openmp_threads outer_threads; /* the caller's OpenMP setting, put back by team_leave */
    unsigned outer_float; /* the caller's floating point control word */
} cpu_team;

int team_default_threads(void); /* XT_THREADS, else OMP_NUM_THREADS, else the cores this
                                   process may use; no more than those or 64 */
/* Between enter and leave the calling thread and the team flush denormals to zero, and oneDNN uses
 * `threads` threads. */
void team_enter(cpu_team *t, bool own);
void team_leave(cpu_team *t);
void team_deinit(cpu_team *t);
void team_flush_denormals(void); /* the calling thread, for good */

/* openmp_set_threads, but one thread under the thread sanitizer. */
openmp_threads team_set_openmp(int threads);

typedef void (*team_fn)(void *ctx, int64_t begin, int64_t end, int thread);
/* fn over [0, n) in chunks of `grain`; one chunk or one thread runs on the caller without a region. */
void team_for(const cpu_team *t, int64_t n, int64_t grain, team_fn fn, void *ctx);
/* A library with threads of its own. What it must not divide, it is called for on one thread: between enter and leave
 * its regions stay on the thread that calls. Both are called on that thread; leave gets what enter has kept in
 * `before`. */
enum { TEAM_LIBRARY_SETTINGS = 2 };
typedef struct team_library {
    void (*enter)(int before[TEAM_LIBRARY_SETTINGS]);
    void (*leave)(const int before[TEAM_LIBRARY_SETTINGS]);
} team_library;
/* team_for, where each call of fn has the library to itself on its thread, also where there is one chunk only. */
void team_for_alone(const cpu_team *t, const team_library *l, int64_t n, int64_t grain, team_fn fn, void *ctx);

#endif
