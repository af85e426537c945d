/* What was started (coll_start) goes on between hosts while the program computes: MPI moves bytes only inside its
 * functions, and a thunk may take longer than the network. A thread of the group looks after what is under way, ten
 * thousand times a second at most, and sleeps when nothing is. It takes the group's lock only where nobody else has it:
 * who has it makes progress himself. */
#include <unistd.h>

#include "coll/mpi/mpi_int.h"
#include "base/cpus.h"

enum { POLL_US = 100, IDLE_POLLS = 200 /* then it sleeps until something is started */ };

/* A failure is kept for the next call that looks at the group. */
static bool poll_once(coll_group *g) {
    mpi_state *s = g->state;
    if (pthread_mutex_trylock(&g->lock) != 0) return true;
    bool busy = g->first_job && !g->failed && mpi_lib_usable(s->mpi);
    xt_status st = busy ? group_advance(g, NULL, 0) : NULL;
    if (st) s->late = st;
    bool idle = !g->failed && mpi_lib_usable(s->mpi);
    pthread_mutex_unlock(&g->lock);
    if (!busy && idle) xt_status_free(mpi_pump(s)); /* what MPI has taken over may still have to leave this host */
    return busy && !st;
}

static void *look_after(void *group) {
    coll_group *g = group;
    mpi_progress *p = &((mpi_state *)g->state)->progress;
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        while (!p->wanted && !p->stopping) pthread_cond_wait(&p->changed, &p->lock);
        p->wanted = false;
        pthread_mutex_unlock(&p->lock);
        for (int idle = 0; idle < IDLE_POLLS && !p->stopping; idle++) {
            if (poll_once(g)) idle = 0;
            usleep(POLL_US);
        }
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void mpi_progress_begin(coll_group *g) {
    mpi_progress *p = &((mpi_state *)g->state)->progress;
    if (!g->first_job) return;
    pthread_mutex_lock(&p->lock);
    p->wanted = true;
    /* without it what was started goes on in the calls that follow */
    if (!p->running && !p->stopping)
        p->running = cpus_start(&p->thread, "the thread of collectives", look_after, g) == 0;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void mpi_progress_stop(mpi_state *s) {
    mpi_progress *p = &s->progress;
    pthread_mutex_lock(&p->lock);
    bool running = p->running;
    p->running = false;
    p->stopping = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    if (running) pthread_join(p->thread, NULL);
}
