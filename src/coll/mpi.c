/* The transport between hosts: MPI carries bytes; the meaning (reduction order, key-value store, who is
 * missing) stays ours.
 *
 * Two kinds of traffic on a communicator of our own:
 *  - frames, a byte stream from each rank to each other, cut into pieces small enough for MPI to send eagerly: a put or
 *    an arrival gets through although its sender then computes for minutes without calling MPI. Barriers go through
 *    rank 0, which therefore knows who is missing and what each rank last said, and tells all;
 *  - collectives of bytes (mpi_ops.c).
 * Open MPI's communicators are never freed: that call is collective and would wait for ranks that have gone. */
#include <stdlib.h>
#include <unistd.h>

#include "coll/mpi_int.h"

#define PIECE ((size_t)2048)
enum { TAG = MPI_TAG_FRAMES };

typedef struct frame {
    uint32_t kind, a_size, b_size, step; /* then a bytes, then b bytes */
} frame;

typedef struct value {
    size_t size;
    char bytes[];
} value;

bool mpi_started(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK");
}

bool mpi_spans_hosts(void) {
    const world *w = world_get();
    return w->size > 1 && w->local_size < w->size;
}

/* --- frames --- */

static xt_status send_bytes(mpi_state *s, int to, const char *p, size_t n) {
    while (n > 0) {
        size_t piece = n < PIECE ? n : PIECE;
        pending *out = base_malloc(sizeof *out + piece);
        if (!out) return status_oom(piece, "a message to another rank");
        memcpy(out->bytes, p, piece);
        xt_status st = mpi_lib_check(
            s->mpi, s->mpi->Isend(out->bytes, (int)piece, s->mpi->byte, to, TAG, s->comm, &out->request), "MPI_Isend");
        if (st) {
            base_free(out);
            return st;
        }
        out->next = s->sending;
        s->sending = out;
        p += piece;
        n -= piece;
    }
    return NULL;
}

xt_status mpi_send_frame(mpi_state *s, int to, frame_kind kind, const char *a, size_t a_size, const char *b,
                         size_t b_size) {
    frame head = {kind, (uint32_t)a_size, (uint32_t)b_size, kind == FRAME_WAIT ? s->waits : s->step};
    str all = STR_INIT;
    str_appendn(&all, (char *)&head, sizeof head);
    if (a_size) str_appendn(&all, a, a_size);
    if (b_size) str_appendn(&all, b, b_size);
    pthread_mutex_lock(&s->io); /* whole frames: put may run beside a barrier */
    xt_status st =
        all.failed ? status_oom(a_size + b_size, "a message to another rank") : send_bytes(s, to, all.data, all.len);
    pthread_mutex_unlock(&s->io);
    str_free(&all);
    return st;
}

xt_status mpi_send_all(coll_group *g, frame_kind kind, const char *a, size_t a_size, const char *b, size_t b_size) {
    for (int r = 0; r < g->size; r++)
        if (r != g->rank) XT_TRY(mpi_send_frame(g->state, r, kind, a, a_size, b, b_size));
    return NULL;
}

static xt_status keep_value(mpi_state *s, const char *key, size_t key_size, const char *bytes, size_t n) {
    value *v = base_malloc(sizeof *v + n);
    void *old = NULL;
    if (!v) return status_oom(n, "a value of the ranks' key-value store");
    v->size = n;
    if (n) memcpy(v->bytes, bytes, n);
    if (!map_put(s->values, key, key_size, v, &old)) {
        base_free(v);
        return status_oom(n, "a value of the ranks' key-value store");
    }
    base_free(old);
    return NULL;
}

static xt_status take_frame(mpi_state *s, int from, const frame *f, const char *a) {
    peer *p = &s->peers[from];
    switch ((frame_kind)f->kind) {
    case FRAME_PUT: return keep_value(s, a, f->a_size, a + f->a_size, f->b_size);
    case FRAME_ARRIVE:
        p->arrived = f->step;
        str_clear(&p->note);
        str_appendn(&p->note, a, f->a_size);
        break;
    case FRAME_RELEASE:
        s->released = f->step;
        str_clear(&s->verdict);
        str_appendn(&s->verdict, a, f->a_size);
        break;
    case FRAME_FAILED:
        if (!s->other_failed.len) {
            str_printf(&s->other_failed, "rank %d has given up: ", from);
            str_appendn(&s->other_failed, a, f->a_size);
        }
        break;
    case FRAME_CLOSED: p->gone = true; break;
    case FRAME_WAIT: p->waits = f->step; /* fall through */
    case FRAME_NOTE:
        str_clear(&p->note);
        str_appendn(&p->note, a, f->a_size);
        break;
    }
    return NULL;
}

static xt_status take_frames(mpi_state *s, int from) {
    str *in = &s->peers[from].in;
    size_t at = 0;
    frame f;
    xt_status st = NULL;
    while (!st && in->len - at >= sizeof f) {
        memcpy(&f, in->data + at, sizeof f);
        size_t whole = sizeof f + f.a_size + f.b_size;
        if (in->len - at < whole) break;
        st = take_frame(s, from, &f, in->data + at + sizeof f);
        at += whole;
    }
    memmove(in->data, in->data + at, in->len - at);
    in->len -= at;
    return st;
}

static void finish_sends(mpi_state *s) {
    for (pending **at = &s->sending; *at;) {
        int done = 0;
        pending *p = *at;
        if (s->mpi->Test(&p->request, &done, NULL) != 0 || !done) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        base_free(p);
    }
}

/* Takes in what has arrived and moves what is on its way out. */
xt_status mpi_pump(mpi_state *s) {
    char piece[PIECE];
    pthread_mutex_lock(&s->io);
    finish_sends(s);
    xt_status st = NULL;
    for (int there = 1; !st && there;) {
        mpi_status got = {0};
        st = mpi_lib_check(s->mpi, s->mpi->Iprobe(MPI_ANY_FROM, TAG, s->comm, &there, &got), "MPI_Iprobe");
        if (st || !there) break;
        st = mpi_lib_check(s->mpi, s->mpi->Recv(piece, (int)PIECE, s->mpi->byte, got.source, TAG, s->comm, &got),
                           "MPI_Recv");
        if (st) break;
        str *in = &s->peers[got.source].in;
        str_appendn(in, piece, got.ucount);
        st = in->failed ? status_oom(got.ucount, "a message of another rank") : take_frames(s, got.source);
    }
    pthread_mutex_unlock(&s->io);
    return st;
}

xt_status mpi_other_failure(mpi_state *s) {
    return s->other_failed.len ? status_new(XT_ABORTED, NULL, "%s", str_cstr(&s->other_failed)) : NULL;
}

/* --- barrier --- */

static bool all_arrived(coll_group *g) {
    mpi_state *s = g->state;
    for (int r = 1; r < g->size; r++)
        if (s->peers[r].arrived < s->step) return false;
    return true;
}

static void name_missing(coll_group *g, const char *what, str *out) {
    mpi_state *s = g->state;
    str_printf(out, "%s: did not come: ", what);
    for (int r = 1, n = 0; r < g->size; r++) {
        if (s->peers[r].arrived >= s->step) continue;
        str_printf(out, "%srank %d", n++ ? "; " : "", r);
        if (s->peers[r].gone) str_append(out, ", which has left the run");
        if (s->peers[r].note.len) str_printf(out, ", last seen at %s", str_cstr(&s->peers[r].note));
    }
    str_printf(out, "; waiting: rank 0 in %s", s->note[0] ? s->note : what);
    for (int r = 1; r < g->size; r++)
        if (s->peers[r].arrived >= s->step)
            str_printf(out, "; rank %d in %s", r, s->peers[r].note.len ? str_cstr(&s->peers[r].note) : what);
    str_append(out, "; a larger limit is set by XT_TIMEOUT or the call's own argument");
}

static bool missing_gone(coll_group *g) {
    mpi_state *s = g->state;
    for (int r = 1; r < g->size; r++)
        if (s->peers[r].arrived < s->step && s->peers[r].gone) return true;
    return false;
}

/* Rank 0 collects the arrivals and gives its verdict to all, also when it is that someone is missing. */
static xt_status lead_barrier(coll_group *g, int64_t deadline, const char *what) {
    mpi_state *s = g->state;
    str verdict = STR_INIT;
    xt_status st = NULL;
    for (int turn = 0; !st && !all_arrived(g); mpi_nap(&turn)) {
        st = mpi_pump(s);
        if (!st) st = mpi_other_failure(s);
        if (!st && (coll_now() > deadline || missing_gone(g))) {
            name_missing(g, what, &verdict);
            st = status_new(XT_DEADLINE_EXCEEDED, NULL, "%s", str_cstr(&verdict));
        }
    }
    xt_status sent = mpi_send_all(g, FRAME_RELEASE, str_cstr(&verdict), verdict.len, NULL, 0);
    str_free(&verdict);
    if (st) xt_status_free(sent);
    return st ? st : sent;
}

static xt_status follow_barrier(coll_group *g, int64_t deadline, const char *what) {
    mpi_state *s = g->state;
    deadline += 2000000000; /* rank 0 began to wait at another time; its verdict says more than ours would */
    XT_TRY(mpi_send_frame(s, 0, FRAME_ARRIVE, s->note, strlen(s->note), NULL, 0));
    for (int turn = 0; s->released < s->step; mpi_nap(&turn)) {
        XT_TRY(mpi_pump(s));
        XT_TRY(mpi_other_failure(s));
        if (s->released < s->step && (coll_now() > deadline || s->peers[0].gone))
            return status_new(XT_DEADLINE_EXCEEDED, NULL, "rank %d waits in %s: rank 0 %s", g->rank, what,
                              s->peers[0].gone ? "has left the run" : "did not answer");
    }
    if (s->verdict.len) return status_new(XT_DEADLINE_EXCEEDED, NULL, "%s", str_cstr(&s->verdict));
    return NULL;
}

static xt_status mpi_barrier(coll_group *g, int64_t deadline, const char *what) {
    mpi_state *s = g->state;
    s->step++;
    return g->rank == 0 ? lead_barrier(g, deadline, what) : follow_barrier(g, deadline, what);
}

/* --- key-value store --- */

static xt_status mpi_put(coll_group *g, const char *key, size_t key_size, const char *bytes, size_t n) {
    mpi_state *s = g->state;
    pthread_mutex_lock(&s->io);
    xt_status st = keep_value(s, key, key_size, bytes, n);
    pthread_mutex_unlock(&s->io);
    XT_TRY(st);
    return mpi_send_all(g, FRAME_PUT, key, key_size, bytes, n);
}

static xt_status mpi_get(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out,
                         size_t *out_size) {
    mpi_state *s = g->state;
    for (int turn = 0;; mpi_nap(&turn)) {
        XT_TRY(mpi_pump(s));
        pthread_mutex_lock(&s->io);
        value *v = map_get(s->values, key, key_size);
        if (v && (*out = base_malloc(v->size + 1))) {
            memcpy(*out, v->bytes, v->size);
            (*out)[v->size] = 0;
            *out_size = v->size;
        }
        pthread_mutex_unlock(&s->io);
        if (v) return *out ? NULL : status_oom(v->size, "a value of the ranks' key-value store");
        XT_TRY(mpi_other_failure(s));
        if (coll_now() > deadline)
            return status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "no rank has put a value under the key '%.*s' within the time limit",
                              (int)(key_size > 80 ? 80 : key_size), key);
    }
}

/* --- life --- */

static void mpi_fail(coll_group *g, const char *why) {
    mpi_lib_no_finalize();
    mpi_hosts_fail(&((mpi_state *)g->state)->hosts, why);
    xt_status_free(mpi_send_all(g, FRAME_FAILED, why, strlen(why), NULL, 0));
    xt_status_free(mpi_pump(g->state));
}

static void free_state(coll_group *g) {
    mpi_state *s = g->state;
    mpi_notes_stop(&s->notes);
    mpi_hosts_close(&s->hosts);
    for (int r = 0; s->peers && r < g->size; r++) {
        str_free(&s->peers[r].in);
        str_free(&s->peers[r].note);
    }
    map_free(s->values, base_free);
    str_free(&s->verdict);
    str_free(&s->other_failed);
    base_free(s->peers);
    base_free(s->give);
    base_free(s->take);
    pthread_mutex_destroy(&s->io);
    pthread_mutex_destroy(&s->notes.lock);
    pthread_cond_destroy(&s->notes.changed);
    base_free(s);
}

static void mpi_close(coll_group *g) {
    mpi_state *s = g->state;
    mpi_notes_stop(&s->notes);
    if (s->mpi && s->comm && mpi_lib_usable(s->mpi)) {
        if (!g->failed) xt_status_free(mpi_send_all(g, FRAME_CLOSED, NULL, 0, NULL, 0));
        int64_t limit = coll_now() + 1000000000;
        for (int turn = 0; s->sending && coll_now() < limit; mpi_nap(&turn)) xt_status_free(mpi_pump(s));
    }
    free_state(g); /* what could not be sent stays with MPI, which may still read it */
}

static const coll_transport mpi_transport = {
    .barrier = mpi_barrier,
    .put = mpi_put,
    .get = mpi_get,
    .all_reduce = mpi_all_reduce,
    .all_gather = mpi_all_gather,
    .broadcast = mpi_broadcast,
    .all_to_all = mpi_all_to_all,
    .reduce_scatter = mpi_reduce_scatter,
    .permute = mpi_permute,
    .among = mpi_among,
    .note = mpi_note,
    .tell_notes = mpi_tell_notes,
    .peer_note = mpi_peer_note,
    .fail = mpi_fail,
    .close = mpi_close,
};

static xt_status make_comm(coll_group *g, mpi_state *s, int64_t deadline) {
    static const mpi_join_as as = {"joining the other ranks by MPI", MPI_TAG_RUN};
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

xt_status mpi_open_group(const char *tag, coll_group *g, int64_t deadline) {
    mpi_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a group of ranks");
    pthread_mutex_init(&s->io, NULL);
    pthread_mutex_init(&s->notes.lock, NULL);
    pthread_cond_init(&s->notes.changed, NULL);
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
    g->transport = &mpi_transport;
    XT_TRY(mpi_barrier(g, deadline, call_kind_name(CALL_JOIN)));
    return mpi_hosts_open(s->mpi, s->comm, tag, g->rank, g->size, deadline, &s->hosts);
}
