/* Frames: a byte stream from each rank to each other, cut into pieces small enough for MPI to send eagerly, so a put or
 * a note gets through although its sender then computes for minutes without calling MPI. */
#include "coll/mpi/mpi_int.h"

#define PIECE ((size_t)2048)
enum { TAG = MPI_TAG_FRAMES };

typedef struct frame {
    uint32_t kind, a_size, b_size, calls; /* then a bytes, then b bytes */
} frame;

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

/* Under io. */
static xt_status send_frame(mpi_state *s, int to, frame_kind kind, const char *a, size_t a_size, const char *b,
                            size_t b_size) {
    frame head = {kind, (uint32_t)a_size, (uint32_t)b_size, kind == FRAME_WAIT ? s->waits : s->calls};
    str all = STR_INIT;
    str_appendn(&all, (char *)&head, sizeof head);
    if (a_size) str_appendn(&all, a, a_size);
    if (b_size) str_appendn(&all, b, b_size);
    xt_status st =
        all.failed ? status_oom(a_size + b_size, "a message to another rank") : send_bytes(s, to, all.data, all.len);
    str_free(&all);
    return st;
}

xt_status mpi_send_frame(mpi_state *s, int to, frame_kind kind, const char *a, size_t a_size, const char *b,
                         size_t b_size) {
    pthread_mutex_lock(&s->io); /* whole frames: put may run beside a barrier */
    xt_status st = send_frame(s, to, kind, a, a_size, b, b_size);
    pthread_mutex_unlock(&s->io);
    return st;
}

xt_status mpi_send_all(coll_group *g, frame_kind kind, const char *a, size_t a_size, const char *b, size_t b_size) {
    for (int r = 0; r < g->size; r++)
        if (r != g->rank) XT_TRY(mpi_send_frame(g->state, r, kind, a, a_size, b, b_size));
    return NULL;
}

static xt_status keep_here(mpi_state *s, const char *key, size_t key_size, const char *bytes, size_t n) {
    stored_value *v = base_malloc(sizeof *v + n);
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

/* Where the host's store is full its ranks keep the value themselves, each its own. */
static xt_status keep_each(mpi_state *s, const char *key, size_t key_size, const char *bytes, size_t n) {
    const mpi_hosts *h = &s->pipe.hosts;
    xt_status st = keep_here(s, key, key_size, bytes, n);
    for (int i = 0; i < h->here && !st; i++)
        if (i != h->place) st = send_frame(s, h->order[h->begins[h->own] + i], FRAME_PUT, key, key_size, bytes, n);
    return st;
}

xt_status mpi_keep_value(mpi_state *s, const char *key, size_t key_size, const char *bytes, size_t n) {
    coll_group *here = s->pipe.hosts.sum;
    if (!here) return keep_here(s, key, key_size, bytes, n);
    xt_status st = shm_put(here, key, key_size, bytes, n);
    if (!st || status_code(st) != XT_OUT_OF_RANGE) return st; /* else it is full */
    xt_status_free(st);
    return keep_each(s, key, key_size, bytes, n);
}

static xt_status take_value(mpi_state *s, int from, const frame *f, const char *a) {
    const mpi_hosts *h = &s->pipe.hosts;
    bool neighbour = h->sum && h->lead[from] == h->order[h->begins[h->own]];
    return (neighbour ? keep_here : mpi_keep_value)(s, a, f->a_size, a + f->a_size, f->b_size);
}

static xt_status take_frame(mpi_state *s, int from, const frame *f, const char *a) {
    peer *p = &s->peers[from];
    switch ((frame_kind)f->kind) {
    case FRAME_PUT: return take_value(s, from, f, a);
    case FRAME_FAILED:
        if (!s->other_failed.len) {
            str_printf(&s->other_failed, "rank %d has given up: ", from);
            str_appendn(&s->other_failed, a, f->a_size);
        }
        break;
    case FRAME_CLOSED:
        p->gone = true;
        p->calls = f->calls;
        break;
    case FRAME_WAIT: p->waits = f->calls; /* fall through */
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
    pthread_mutex_lock(&s->io);
    xt_status st = s->other_failed.len ? status_new(XT_ABORTED, NULL, "%s", str_cstr(&s->other_failed)) : NULL;
    pthread_mutex_unlock(&s->io);
    return st;
}
