/* What ranks over MPI know of each other's doing. Noting happens in every step, so a note travels once a second at
 * most; one that is held back for that would never travel when the rank then waits in a program whose collective nobody
 * else is in, which is when the others want to read it. So in the run's group a thread sends what is news, and takes in
 * what has come: a host's other ranks may wait for a value (mpi_pump). */
#include "coll/mpi/mpi_int.h"
#include "base/cpus.h"

#define NOTE_EVERY_NS 1000000000
#define NEWS_AFTER_NS 250000000

static void tell(coll_group *g, const char *note) {
    if (g->size <= MPI_TALKATIVE)
        xt_status_free(mpi_send_all(g, FRAME_NOTE, note, strlen(note), NULL, 0));
    else if (g->rank != 0)
        xt_status_free(mpi_send_frame(g->state, 0, FRAME_NOTE, note, strlen(note), NULL, 0));
}

static void *tell_news(void *group) {
    coll_group *g = group;
    mpi_state *s = g->state;
    mpi_notes *n = &s->notes;
    char note[COLL_NOTE_SIZE];
    pthread_mutex_lock(&n->lock);
    while (!n->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NEWS_AFTER_NS;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&n->changed, &n->lock, &until);
        if (n->stopping) continue;
        bool news = n->news;
        n->news = false;
        memcpy(note, s->note, sizeof note);
        pthread_mutex_unlock(&n->lock);
        if (mpi_lib_usable(s->mpi)) {
            if (news) tell(g, note);
            xt_status_free(mpi_pump(s)); /* who waits meets the failure as well */
        }
        pthread_mutex_lock(&n->lock);
    }
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

void mpi_tell_notes(coll_group *g) {
    mpi_notes *n = &((mpi_state *)g->state)->notes;
    pthread_mutex_lock(&n->lock);
    /* without it notes are a second old, or older */
    if (!n->running)
        n->running = cpus_start(&n->teller, "the thread that tells other ranks of this one", tell_news, g) == 0;
    pthread_mutex_unlock(&n->lock);
}

void mpi_notes_stop(mpi_notes *n) {
    pthread_mutex_lock(&n->lock);
    bool running = n->running;
    n->running = false;
    n->stopping = true;
    pthread_cond_signal(&n->changed);
    pthread_mutex_unlock(&n->lock);
    if (running) pthread_join(n->teller, NULL);
}

void mpi_note(coll_group *g, const char *doing) {
    mpi_state *s = g->state;
    int64_t now = coll_now();
    pthread_mutex_lock(&s->notes.lock);
    snprintf(s->note, sizeof s->note, "%s", doing);
    bool soon = now - s->told_note < NOTE_EVERY_NS;
    s->notes.news = soon;
    pthread_mutex_unlock(&s->notes.lock);
    mpi_hosts_note(&s->pipe.hosts, doing);
    if (soon || !mpi_lib_usable(s->mpi)) return;
    s->told_note = now;
    xt_status_free(mpi_pump(s)); /* where collectives never have to wait, nobody else takes in what has come */
    tell(g, s->note);
}

bool mpi_peer_note(coll_group *g, int rank, char *out, size_t n) {
    mpi_state *s = g->state;
    if (rank < 0 || rank >= g->size || !n) return false;
    pthread_mutex_lock(&s->io);
    snprintf(out, n, "%s", rank == g->rank ? s->note : str_cstr(&s->peers[rank].note));
    pthread_mutex_unlock(&s->io);
    return out[0] != 0;
}
