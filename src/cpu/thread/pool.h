/* Threads of our own for regions of microseconds, on machines that others use as well.
 *
 * A region belongs to the thread that opens it: the others help if they are there. One that is asleep, or whose core
 * another program has, is not waited for: the region closes when the caller finds nothing left to do and those that did
 * come in have left. Between regions the threads look out for the next one for a while and then sleep; when they notice
 * that the cores are shared (a pause that took far too long) they sleep almost at once, so that what others leave of
 * the cores is spent on work.
 *
 * A pool is used from one thread at a time. */
#ifndef XT_SRC_CPU_THREAD_POOL_H
#define XT_SRC_CPU_THREAD_POOL_H

#include "base/base.h"

#include <stdatomic.h>

typedef struct pool pool;
typedef void (*pool_fn)(void *ctx, int thread); /* thread: 0 is the caller, each number at most once at a time */

/* The caller and threads - 1 others; NULL when not even one could be started. */
pool *pool_new(int threads);
void pool_free(pool *p);
/* fn on the caller and on at most threads - 1 others, until all have returned. fn takes its work from a shared counter:
 * whoever comes in late finds nothing to do. */
void pool_run(pool *p, int threads, pool_fn fn, void *ctx);
int pool_threads(const pool *p); /* with the caller */

/* Threads inside one region that wait for each other: until *word is no longer `seen`, and the one that changes it. */
void pool_await(_Atomic uint32_t *word, uint32_t seen);
void pool_signal(_Atomic uint32_t *word);

#endif
