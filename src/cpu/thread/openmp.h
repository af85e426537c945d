/* oneDNN's parallel regions, in threads of ours.
 *
 * oneDNN splits its work by OpenMP. libgomp's threads meet at barriers where they spin for milliseconds, which costs
 * nothing on an idle machine and several times a program's share of one that others use as well. So the six
 * functions of OpenMP that oneDNN calls are defined here and exported: a library that was opened together with
 * oneDNN is asked before libgomp is. On a thread between openmp_enter and openmp_leave they divide a region over the
 * pool, and whoever of its threads is there takes the numbers of those who are not; on every other thread they hand
 * the call on to libgomp.
 *
 * Where the program itself brings libgomp (linked with -fopenmp, PyTorch), its libgomp comes first and nothing arrives
 * here: openmp_is_ours tells. Then a program with large oneDNN calls runs in libgomp's team (team.h). */
#ifndef XT_SRC_CPU_THREAD_OPENMP_H
#define XT_SRC_CPU_THREAD_OPENMP_H

#include "base/base.h"

struct pool;

/* How many threads regions of this thread get, in libgomp's team and in the pool; gives what openmp_put_threads takes.
 * Primitives are made for this number. */
typedef struct openmp_threads {
    int runtime, pool; /* pool 0: regions do not come to it */
} openmp_threads;
openmp_threads openmp_set_threads(int threads);
void openmp_put_threads(openmp_threads before);
/* oneDNN has asked us for the number of threads, so its regions come here too. False before the first
 * primitive is made. */
bool openmp_is_ours(void);
/* Regions of this thread run in the pool, from enter to leave. */
void openmp_enter(struct pool *p, int threads);
void openmp_leave(void);
/* While the pool is at work on something else, what this thread calls runs on it alone; gives what
 * openmp_release takes. */
bool openmp_hold(void);
void openmp_release(bool held_before);

/* A region of libgomp's own team. */
void openmp_parallel(void (*fn)(void *), void *ctx, int threads);
int openmp_thread(void); /* the number of this thread in it */

#endif
