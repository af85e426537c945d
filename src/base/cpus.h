/* The processors that this process may use. OpenMP's runtime binds threads to places (OMP_PROC_BIND, OMP_PLACES,
 * GOMP_CPU_AFFINITY), the one that loads it first of all, and threads that are made later inherit that: all of the
 * library would share one processor with it. What it does with its own threads is no wish about ours. */
#ifndef XT_SRC_BASE_CPUS_H
#define XT_SRC_BASE_CPUS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/* Those that the calling thread may use, or, where OpenMP has bound it, those of all its places. */
int cpus_count(void);
/* pthread_create of a thread that may use all of them. All of the library's threads are begun here. `what` says what it
 * is for ("the thread that writes checkpoints"), and is not copied. */
int cpus_start(pthread_t *out, const char *what, void *(*fn)(void *), void *arg);
/* A thread that serves a queue. Its fields, and the queue, are under the queue's lock. */
typedef struct cpus_server {
    pthread_t thread;
    bool running;
    bool ends; /* it is to, as soon as nothing waits; it clears both when it does */
} cpus_server;
/* Called under the lock, which it gives back: an idle one is told to end, by `changed`, and waited for; one that has
 * something to do stays, as it may never be done. */
void cpus_server_end(cpus_server *s, bool idle, pthread_mutex_t *lock, pthread_cond_t *changed);
/* Of one that has not ended, what it is for; NULL: there is none. A forked process asks: such a thread is its parent's,
 * and whoever waited for it here would wait for good. */
const char *cpus_at_work(void);
/* In front of exec: what is run next finds all of them. */
void cpus_unbind(void);

#endif
