/* Exchanges of bytes among all ranks of a run or some, polled under the time limit. */
#include "coll/mpi/exchange.h"

#define CHUNK ((size_t)4 << 20) /* of one rank's part */
#define WAIT_TOLD_NS 500000000
#define GONE_NS 1000000000

/* Nobody can ask MPI who is missing from a collective. So a rank that has waited half a second in one tells the others,
 * once; who has told nobody by the end of the time limit is missing. */
xt_status mpi_tell_waiting(coll_group *g) {
    mpi_state *s = g->state;
    if (g->size <= MPI_TALKATIVE) return mpi_send_all(g, FRAME_WAIT, s->note, strlen(s->note), NULL, 0);
    return g->rank == 0 ? NULL : mpi_send_frame(s, 0, FRAME_WAIT, s->note, strlen(s->note), NULL, 0);
}

static void name_rank(const mpi_state *s, int r, bool waits, str *to) {
    const peer *p = &s->peers[r];
    str_printf(to, "%srank %d%s", to->len ? "; " : "", r, p->gone ? ", which has left the run" : "");
    if (p->note.len) str_printf(to, "%s%s", waits ? " in " : ", last seen at ", str_cstr(&p->note));
}

static void name_own(const mpi_state *s, int r, const char *what, str *to) {
    str_printf(to, "%srank %d in %s", to->len ? "; " : "", r, s->note[0] ? s->note : what);
}

xt_status exchange_missing(coll_group *g, const participants *who) {
    mpi_state *s = g->state;
    const char *what = who->what ? who->what : call_kind_name(who->kind),
               *line = s->note[0] ? s->note : "no line known";
    str missing = STR_INIT, waiting = STR_INIT, text = STR_INIT;
    pthread_mutex_lock(&s->io); /* other threads take in what ranks say */
    for (int i = 0; i < who->n; i++) {
        int r = who->ranks ? who->ranks[i] : i;
        bool waits = s->peers[r].waits == who->id;
        if (r != g->rank) name_rank(s, r, waits, waits ? &waiting : &missing);
        if (r == g->rank && who->what) name_own(s, r, what, &waiting);
    }
    pthread_mutex_unlock(&s->io);
    if (who->what)
        str_append(&text, what);
    else
        str_printf(&text, "rank %d waits in %s (%s)", g->rank, what, line);
    str_printf(&text, ": did not come: %s",
               missing.len ? str_cstr(&missing) : "none, but the network is slow or broken");
    if (waiting.len) str_printf(&text, "; %s: %s", who->what ? "waiting" : "waiting too", str_cstr(&waiting));
    str_printf(&text, "; a larger limit is set by XT_TIMEOUT%s", who->what ? " or the call's own argument" : "");
    xt_status st = status_new(XT_DEADLINE_EXCEEDED, NULL, "%s", str_cstr(&text));
    str_free(&missing);
    str_free(&waiting);
    str_free(&text);
    return st;
}

bool exchange_gone(coll_group *g, const participants *who, int64_t now, int64_t *since) {
    mpi_state *s = g->state;
    bool gone = false;
    pthread_mutex_lock(&s->io);
    for (int r = 0; r < g->size && !who->ranks && !gone; r++) gone = s->peers[r].gone && s->peers[r].calls < who->id;
    pthread_mutex_unlock(&s->io);
    if (gone && !*since) *since = now;
    return gone && now - *since > GONE_NS;
}

xt_status exchange_wait(coll_group *g, mpi_request *request, int64_t deadline, const participants *who) {
    mpi_state *s = g->state;
    const char *what = call_kind_name(who->kind);
    int64_t began = coll_now(), gone = 0;
    bool told = false;
    s->waits = who->id;
    /* others began at another time, and among the ranks of one host the missing one is known first */
    deadline += 1000000000;
    for (int turn = 0;; mpi_backoff(&turn)) {
        int done = 0;
        XT_TRY(mpi_lib_check(s->mpi, s->mpi->Test(request, &done, NULL), what));
        if (done) return NULL;
        if (turn % 64 == 63 || turn > 1000) {
            XT_TRY(mpi_pump(s));
            XT_TRY(mpi_other_failure(s));
        }
        int64_t now = coll_now();
        if (!told && now - began > WAIT_TOLD_NS) {
            told = true;
            XT_TRY(mpi_tell_waiting(g));
        }
        if (now > deadline || exchange_gone(g, who, now, &gone)) return exchange_missing(g, who);
    }
}

static xt_status wait_all(coll_group *g, mpi_request *requests, int n, int64_t deadline, const participants *who) {
    for (int i = 0; i < n; i++)
        if (requests[i]) XT_TRY(exchange_wait(g, &requests[i], deadline, who));
    return NULL;
}

/* exchange_bytes as messages between pairs. */
static xt_status exchange_pairs(coll_group *g, const participants *who, bool to_all, const char *src, size_t n,
                                char *dst, int64_t deadline) {
    mpi_state *s = g->state;
    const mpi_lib *m = s->mpi;
    mpi_request *requests = base_calloc(2 * (size_t)who->n, sizeof *requests);
    if (!requests) return status_oom(2 * (size_t)who->n * sizeof *requests, "a collective");
    xt_status st = NULL;
    for (int i = 0; i < who->n && !st; i++)
        if (i != who->rank)
            st = mpi_lib_check(
                m, m->Irecv(dst + (size_t)i * n, (int)n, m->byte, who->ranks[i], MPI_TAG_SOME, s->comm, &requests[i]),
                "MPI_Irecv");
    for (int i = 0; i < who->n && !st; i++)
        if (i != who->rank)
            st = mpi_lib_check(m,
                               m->Isend(to_all ? src + (size_t)i * n : src, (int)n, m->byte, who->ranks[i],
                                        MPI_TAG_SOME, s->comm, &requests[who->n + i]),
                               "MPI_Isend");
    if (!st && n) memcpy(dst + (size_t)who->rank * n, to_all ? src + (size_t)who->rank * n : src, n);
    if (!st) st = wait_all(g, requests, 2 * who->n, deadline, who);
    base_free(requests);
    return st;
}

xt_status exchange_bytes(coll_group *g, const participants *who, bool to_all, const void *src, size_t n, void *dst,
                         int64_t deadline) {
    mpi_state *s = g->state;
    mpi_request request;
    const mpi_lib *m = s->mpi;
    if (!who->comm) return exchange_pairs(g, who, to_all, src, n, dst, deadline);
    int code = to_all ? m->Ialltoall(src, (int)n, m->byte, dst, (int)n, m->byte, who->comm, &request)
                      : m->Iallgather(src, (int)n, m->byte, dst, (int)n, m->byte, who->comm, &request);
    XT_TRY(mpi_lib_check(m, code, call_kind_name(who->kind)));
    return exchange_wait(g, &request, deadline, who);
}

/* Parts above CHUNK go piecewise through a packed buffer, as the pieces of an exchange lie side by side. */
xt_status exchange_parts(coll_group *g, const participants *who, bool to_all, const char *src, size_t bytes, char *dst,
                         int64_t deadline) {
    if (bytes <= CHUNK) return exchange_bytes(g, who, to_all, src, bytes, dst, deadline);
    size_t ranks = (size_t)who->n;
    char *give = to_all ? base_malloc(CHUNK * ranks) : NULL, *take = base_malloc(CHUNK * ranks);
    xt_status st = take && (give || !to_all) ? NULL : status_oom(CHUNK * ranks, "a collective");
    for (size_t at = 0, n; !st && at < bytes; at += n) {
        n = bytes - at < CHUNK ? bytes - at : CHUNK;
        for (size_t r = 0; to_all && r < ranks; r++) memcpy(give + r * n, src + r * bytes + at, n);
        st = exchange_bytes(g, who, to_all, to_all ? give : src + at, n, take, deadline);
        for (size_t r = 0; !st && r < ranks; r++) memcpy(dst + r * bytes + at, take + r * n, n);
    }
    base_free(give);
    base_free(take);
    return st;
}

xt_status exchange_send_receive(coll_group *g, const participants *who, int tag, int to, int from, const char *src,
                                size_t bytes, char *dst, int64_t deadline) {
    mpi_state *s = g->state;
    const mpi_lib *m = s->mpi;
    if (to == g->rank) {
        memcpy(dst, src, bytes);
        return NULL; /* pairs match: it receives from itself too */
    }
    for (size_t at = 0, n; at < bytes; at += n) {
        mpi_request requests[2] = {NULL, NULL};
        n = bytes - at < CHUNK ? bytes - at : CHUNK;
        if (from >= 0)
            XT_TRY(
                mpi_lib_check(m, m->Irecv(dst + at, (int)n, m->byte, from, tag, s->comm, &requests[0]), "MPI_Irecv"));
        if (to >= 0)
            XT_TRY(mpi_lib_check(m, m->Isend(src + at, (int)n, m->byte, to, tag, s->comm, &requests[1]), "MPI_Isend"));
        XT_TRY(wait_all(g, requests, 2, deadline, who));
    }
    return NULL;
}
