/* A message is its length and its bytes, cut into pieces of one MPI send each. The receiver joins what a rank sends to
 * a stream and takes whole messages off its front. Buffers of sends that never end (the other rank has gone) are left
 * to MPI, which may still read them. */
#include "coll/mpi/channel.h"

#include "coll/mpi/lib.h"

#define PIECE ((size_t)256 << 10)
enum { TAG = 18 };

typedef struct outgoing {
    size_t n, open; /* pieces, those not yet sent */
    struct outgoing *next;
    mpi_request *requests;
    char *bytes;
} outgoing;

struct coll_channel {
    const mpi_lib *mpi;
    mpi_comm comm;
    int rank, size;
    mpi_card *cards;
    str *in; /* by rank */
    char *piece;
    outgoing *sending;
};

static void free_channel(coll_channel *m) {
    for (int r = 0; m->in && r < m->size; r++) str_free(&m->in[r]);
    base_free(m->in);
    base_free(m->piece);
    base_free(m->cards);
    base_free(m);
}

static xt_status set_up(coll_channel *m, const char *what, int64_t deadline) {
    mpi_join_as as = {what, MPI_TAG_MAIL, "come to this"};
    XT_TRY(mpi_lib_get(deadline, &m->mpi));
    XT_TRY(mpi_lib_check(m->mpi, m->mpi->Comm_rank(m->mpi->world, &m->rank), "MPI_Comm_rank"));
    XT_TRY(mpi_lib_check(m->mpi, m->mpi->Comm_size(m->mpi->world, &m->size), "MPI_Comm_size"));
    m->in = base_calloc((size_t)m->size, sizeof *m->in);
    m->piece = base_malloc(PIECE);
    if (!m->in || !m->piece) return status_oom(PIECE, "messages between ranks");
    return mpi_join(m->mpi, &as, m->rank, m->size, deadline, &m->comm, &m->cards);
}

xt_status coll_channel_open(const char *what, double timeout, coll_channel **out) {
    const world *w = world_get();
    *out = NULL;
    if (!mpi_started())
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "%s goes over MPI, and this process was not started by mpirun%s%s: start it by `mpirun -np N PROGRAM` or "
            "`xtrain launch -n N --host LIST -- PROGRAM`",
            what, w->launched ? " but by the launcher of " : "", w->launched ? w->source : "");
    coll_channel *m = base_calloc(1, sizeof *m);
    if (!m) return status_oom(sizeof *m, "messages between ranks");
    xt_status st = set_up(m, what, coll_deadline(timeout));
    if (st) {
        free_channel(m);
        return st;
    }
    *out = m;
    return NULL;
}

int coll_channel_rank(const coll_channel *m) {
    return m->rank;
}
int coll_channel_size(const coll_channel *m) {
    return m->size;
}
const char *coll_channel_host(const coll_channel *m, int rank) {
    return m->cards[rank].host;
}
int coll_channel_pid(const coll_channel *m, int rank) {
    return m->cards[rank].pid;
}

static void free_outgoing(outgoing *p) {
    base_free(p->requests);
    base_free(p->bytes);
    base_free(p);
}

static void finish_sends(coll_channel *m) {
    for (outgoing **at = &m->sending; *at;) {
        outgoing *p = *at;
        for (size_t i = 0; i < p->n; i++) {
            int done = 0;
            if (p->requests[i] && m->mpi->Test(&p->requests[i], &done, NULL) == 0 && done) {
                p->requests[i] = NULL;
                p->open--;
            }
        }
        if (p->open) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free_outgoing(p);
    }
}

static xt_status post(coll_channel *m, outgoing *p, int to, size_t total) {
    for (size_t at = 0; at < total; at += PIECE) {
        size_t n = total - at < PIECE ? total - at : PIECE;
        XT_TRY(mpi_lib_check(m->mpi,
                             m->mpi->Isend(p->bytes + at, (int)n, m->mpi->byte, to, TAG, m->comm, &p->requests[p->n]),
                             "MPI_Isend"));
        p->n++;
        p->open++;
    }
    return NULL;
}

xt_status coll_channel_send(coll_channel *m, int to, const void *head, size_t head_n, const void *body, size_t body_n) {
    uint64_t n = head_n + body_n;
    size_t total = sizeof n + (size_t)n;
    outgoing *p = base_calloc(1, sizeof *p);
    if (p) p->bytes = base_malloc(total);
    if (p) p->requests = base_calloc(total / PIECE + 1, sizeof *p->requests);
    if (!p || !p->bytes || !p->requests) {
        if (p) free_outgoing(p);
        return status_oom(total, "a message to another rank");
    }
    memcpy(p->bytes, &n, sizeof n);
    if (head_n) memcpy(p->bytes + sizeof n, head, head_n);
    if (body_n) memcpy(p->bytes + sizeof n + head_n, body, body_n);
    xt_status st = post(m, p, to, total);
    p->next = m->sending;
    m->sending = p;
    return st;
}

static int64_t until(double seconds) {
    return seconds > 0 ? coll_deadline(seconds) : coll_now();
}

xt_status coll_channel_flush(coll_channel *m, double seconds) {
    int64_t deadline = until(seconds);
    for (int turn = 0; finish_sends(m), m->sending; mpi_backoff(&turn))
        if (coll_now() > deadline)
            return status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "a message to another rank was not taken within the time limit");
    return NULL;
}

/* A whole message at the front of what `from` sent. */
static xt_status take_message(coll_channel *m, int from, coll_message *out) {
    str *in = &m->in[from];
    uint64_t n;
    if (in->failed) return status_oom(PIECE, "a message of another rank");
    if (in->len < sizeof n) return NULL;
    memcpy(&n, in->data, sizeof n);
    if (in->len - sizeof n < n) return NULL;
    out->bytes = base_malloc((size_t)n + 1);
    if (!out->bytes) return status_oom((size_t)n, "a message of another rank");
    memcpy(out->bytes, in->data + sizeof n, (size_t)n);
    out->bytes[n] = 0;
    out->n = (size_t)n;
    out->from = from;
    memmove(in->data, in->data + sizeof n + n, in->len - sizeof n - (size_t)n);
    in->len -= sizeof n + (size_t)n;
    return NULL;
}

xt_status coll_channel_receive(coll_channel *m, double seconds, coll_message *out) {
    int64_t deadline = until(seconds);
    *out = (coll_message){0};
    for (int turn = 0;;) {
        mpi_status got = {0};
        int there = 0;
        finish_sends(m);
        for (int r = 0; r < m->size; r++) {
            XT_TRY(take_message(m, r, out));
            if (out->bytes) return NULL;
        }
        XT_TRY(mpi_lib_check(m->mpi, m->mpi->Iprobe(MPI_ANY_FROM, TAG, m->comm, &there, &got), "MPI_Iprobe"));
        if (there) {
            XT_TRY(mpi_lib_check(
                m->mpi, m->mpi->Recv(m->piece, (int)PIECE, m->mpi->byte, got.source, TAG, m->comm, &got), "MPI_Recv"));
            str_appendn(&m->in[got.source], m->piece, got.ucount);
            turn = 0;
            continue;
        }
        if (coll_now() > deadline) return NULL;
        mpi_backoff(&turn);
    }
}

void coll_channel_close(coll_channel *m) {
    if (!m) return;
    if (mpi_lib_usable(m->mpi)) xt_status_free(coll_channel_flush(m, 1));
    free_channel(m);
}
