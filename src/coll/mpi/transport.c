/* The transport between hosts: MPI carries bytes; the meaning (reduction order, key-value store, who is
 * missing) stays ours.
 *
 * Two kinds of traffic on a communicator of our own:
 *  - frames (frames.c): puts, notes, who waits where;
 *  - collectives (ops.c), by hosts and in pieces (pipe.h).
 * Open MPI's communicators are never freed: that call is collective and would wait for ranks that have gone. */
#include "coll/mpi/mpi.h"
#include "coll/mpi/mpi_int.h"

/* --- key-value store ---
 * A value goes to each host once: to the first of its ranks that share memory, whose store all of them read. Where a
 * rank is alone on its host, hosts have no memory to share, or their store is full, it is kept by each rank. What comes
 * is taken in by who waits in MPI (mpi_pump), by the thread that tells notes a quarter of a second later (notes.c), and
 * where a piece of a collective has come from the network: who met the others in it finds what they had put before. */

static xt_status mpi_put(coll_group *g, const char *key, size_t key_size, const char *bytes, size_t n) {
    mpi_state *s = g->state;
    const mpi_hosts *h = &s->pipe.hosts;
    pthread_mutex_lock(&s->io);
    xt_status st = mpi_keep_value(s, key, key_size, bytes, n);
    pthread_mutex_unlock(&s->io);
    for (int i = 0; i < h->n && !st; i++)
        if (i != h->own) st = mpi_send_frame(s, h->order[h->begins[i]], FRAME_PUT, key, key_size, bytes, n);
    return st;
}

static xt_status look(mpi_state *s, const char *key, size_t key_size, char **out, size_t *out_size, bool *out_found) {
    coll_group *here = s->pipe.hosts.sum;
    xt_status st = NULL;
    pthread_mutex_lock(&s->io);
    stored_value *v = map_get(s->values, key, key_size);
    *out_found = v != NULL;
    if (v && !(*out = base_malloc(v->size + 1))) st = status_oom(v->size, "a value of the ranks' key-value store");
    if (v && !st) {
        memcpy(*out, v->bytes, v->size);
        (*out)[v->size] = 0;
        *out_size = v->size;
    }
    pthread_mutex_unlock(&s->io);
    return st || v || !here ? st : shm_look(here, key, key_size, out, out_size, out_found);
}

static xt_status mpi_get(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out,
                         size_t *out_size) {
    mpi_state *s = g->state;
    for (int turn = 0;; mpi_backoff(&turn)) {
        bool found = false;
        XT_TRY(mpi_pump(s));
        XT_TRY(look(s, key, key_size, out, out_size, &found));
        if (found) return NULL;
        XT_TRY(mpi_other_failure(s));
        if (coll_now() > deadline)
            return status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "no rank has put a value under the key '%.*s' within the time limit",
                              (int)(key_size > 80 ? 80 : key_size), key);
    }
}

/* --- life --- */

#define PREFIX "mpi:" /* of names: what follows tells the groups of a job apart */

static void mpi_fail(coll_group *g, const char *why) {
    mpi_lib_no_finalize();
    mpi_hosts_fail(&((mpi_state *)g->state)->pipe.hosts, why);
    xt_status_free(mpi_send_all(g, FRAME_FAILED, why, strlen(why), NULL, 0));
    xt_status_free(mpi_pump(g->state));
}

static void free_state(coll_group *g) {
    mpi_state *s = g->state;
    mpi_notes_stop(&s->notes);
    mpi_pipe_close(&s->pipe);
    xt_status_free(s->late);
    for (int r = 0; s->peers && r < g->size; r++) {
        str_free(&s->peers[r].in);
        str_free(&s->peers[r].note);
    }
    map_free(s->values, base_free);
    str_free(&s->other_failed);
    base_free(s->peers);
    pthread_mutex_destroy(&s->io);
    pthread_mutex_destroy(&s->notes.lock);
    pthread_cond_destroy(&s->notes.changed);
    pthread_mutex_destroy(&s->progress.lock);
    pthread_cond_destroy(&s->progress.changed);
    base_free(s);
}

static void mpi_close(coll_group *g) {
    mpi_state *s = g->state;
    mpi_progress_stop(s);
    mpi_notes_stop(&s->notes);
    if (s->mpi && s->comm && mpi_lib_usable(s->mpi)) {
        if (!g->failed) xt_status_free(mpi_send_all(g, FRAME_CLOSED, NULL, 0, NULL, 0));
        int64_t limit = coll_now() + 1000000000;
        for (int turn = 0; s->sending && coll_now() < limit; mpi_backoff(&turn)) xt_status_free(mpi_pump(s));
    }
    free_state(g); /* what could not be sent stays with MPI, which may still read it */
}

static const coll_ops mpi_ops = {
    .barrier = mpi_barrier,
    .put = mpi_put,
    .get = mpi_get,
    .advance = mpi_advance,
    .all_gather = mpi_all_gather,
    .broadcast = mpi_broadcast,
    .all_to_all = mpi_all_to_all,
    .reduce_scatter = mpi_reduce_scatter,
    .permute = mpi_permute,
    .subgroup = mpi_subgroup,
    .note = mpi_note,
    .tell_notes = mpi_tell_notes,
    .peer_note = mpi_peer_note,
    .fail = mpi_fail,
    .close = mpi_close,
};

static xt_status make_comm(coll_group *g, mpi_state *s, int64_t deadline) {
    static const mpi_join_as as = {"joining the other ranks by MPI", MPI_TAG_RUN, "joined the run"};
    int rank, size;
    XT_TRY(mpi_lib_get(deadline, &s->mpi));
    XT_TRY(mpi_lib_check(s->mpi, s->mpi->Comm_rank(s->mpi->world, &rank), "MPI_Comm_rank"));
    XT_TRY(mpi_lib_check(s->mpi, s->mpi->Comm_size(s->mpi->world, &size), "MPI_Comm_size"));
    if (rank != g->rank || size != g->size)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "this process is rank %d of %d for xtrain but %d of %d for MPI: unset the variables of the other launcher "
            "(XT_RANK, XT_WORLD_SIZE), or start all ranks by one mpirun",
            g->rank, g->size, rank, size);
    return mpi_join(s->mpi, &as, rank, size, deadline, &s->comm, NULL);
}

static xt_status open_group(coll_group *g, const char *name, int64_t deadline) {
    mpi_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a group of ranks");
    pthread_mutex_init(&s->io, NULL);
    pthread_mutex_init(&s->notes.lock, NULL);
    pthread_cond_init(&s->notes.changed, NULL);
    pthread_mutex_init(&s->progress.lock, NULL);
    pthread_cond_init(&s->progress.changed, NULL);
    g->state = s;
    s->peers = base_calloc((size_t)g->size, sizeof *s->peers);
    s->values = map_new();
    xt_status st = s->peers && s->values ? make_comm(g, s, deadline)
                                         : status_oom((size_t)g->size * sizeof *s->peers, "a group of ranks");
    if (st) {
        free_state(g);
        g->state = NULL;
        return st;
    }
    g->ops = &mpi_ops;
    XT_TRY(mpi_hosts_open(s->mpi, s->comm, name + strlen(PREFIX), g->rank, g->size, deadline, &s->pipe.hosts));
    return mpi_pipe_open(&s->pipe, g, s);
}

/* --- names --- */

static bool serves(const char *name, int size) {
    (void)size;
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

static bool creates(int size) {
    const world *w = world_get();
    return size > 1 && w->size > 1 && w->local_size < w->size;
}

static xt_status give_name(const char *name, char **out_name) {
    *out_name = base_strdup(name);
    return *out_name ? NULL : status_oom(strlen(name), "the name of a group");
}

static xt_status create(int size, char **out_name) {
    (void)size;
    return give_name(PREFIX "made", out_name);
}

static xt_status run_name(char **out_name) {
    return give_name(PREFIX "run", out_name);
}

static xt_status duplicate_name(coll_group *g, const char *tag, int64_t deadline, char **out_name) {
    (void)deadline;
    return coll_derive_name(g->name, tag, out_name);
}

const coll_transport mpi_transport = {
    .name = "MPI",
    .across_hosts = true,
    .serves = serves,
    .creates = creates,
    .create = create,
    .run_name = run_name,
    .duplicate_name = duplicate_name,
    .open = open_group,
};
