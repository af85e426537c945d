/* Exchanges of bytes among all ranks of a run or some, polled under the time limit, and the reductions made of them. */
#include "coll/mpi/exchange.h"

#define CHUNK ((size_t)4 << 20) /* of an all_reduce; of one rank's part of a gather */
#define WAIT_TOLD_NS 500000000

/* Nobody can ask MPI who is missing from a collective. So a rank that has waited half a second in one tells the others,
 * once; who has told nobody by the end of the time limit is missing. */
static xt_status say_missing(coll_group *g, const char *what, const participants *who) {
    mpi_state *s = g->state;
    str missing = STR_INIT, waiting = STR_INIT;
    for (int i = 0; i < who->n; i++) {
        int r = who->ranks ? who->ranks[i] : i;
        const peer *p = &s->peers[r];
        if (r == g->rank) continue;
        str *to = p->waits == who->id ? &waiting : &missing;
        str_printf(to, "%srank %d%s", to->len ? "; " : "", r, p->gone ? ", which has left the run" : "");
        if (p->note.len) str_printf(to, "%s%s", to == &missing ? ", last seen at " : " in ", str_cstr(&p->note));
    }
    xt_status st = status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "rank %d waits in %s (%s): did not come: %s%s%s; a larger limit is set by XT_TIMEOUT",
                              g->rank, what, s->note[0] ? s->note : "no line known",
                              missing.len ? str_cstr(&missing) : "none, but the network is slow or broken",
                              waiting.len ? "; waiting too: " : "", str_cstr(&waiting));
    str_free(&missing);
    str_free(&waiting);
    return st;
}

xt_status exchange_wait(coll_group *g, mpi_request *request, int64_t deadline, const participants *who) {
    mpi_state *s = g->state;
    const char *what = call_kind_name(who->kind);
    int64_t began = coll_now();
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
            XT_TRY(mpi_send_all(g, FRAME_WAIT, s->note, strlen(s->note), NULL, 0));
        }
        if (now > deadline) return say_missing(g, what, who);
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

/* Room for `size` shares of a chunk, shares rounded up. */
static size_t buffer_bytes(const coll_group *g) {
    return CHUNK + (size_t)g->size * 64;
}

static xt_status need_buffers(coll_group *g) {
    mpi_state *s = g->state;
    if (!s->give) s->give = base_malloc(buffer_bytes(g));
    if (!s->take) s->take = base_malloc(buffer_bytes(g));
    return s->give && s->take ? NULL : status_oom(2 * buffer_bytes(g), "a collective");
}

static xt_status reduce_chunk(coll_group *g, const participants *who, coll_op op, xt_dtype t, char *data, size_t count,
                              int64_t deadline) {
    mpi_state *s = g->state;
    int n = who->n;
    size_t elem = xt_dtype_size(t), share = (count + (size_t)n - 1) / (size_t)n, bytes = share * elem;
    const void **src = base_malloc((size_t)n * sizeof *src);
    if (!src) return status_oom((size_t)n * sizeof *src, "an all_reduce");
    memcpy(s->give, data, count * elem);
    memset(s->give + count * elem, 0, share * elem * (size_t)n - count * elem);
    xt_status st = exchange_bytes(g, who, true, s->give, bytes, s->take, deadline);
    for (int r = 0; r < n; r++) src[r] = s->take + (size_t)r * bytes;
    if (!st) {
        reduce_fold(op, t, s->give, src, n, share);
        st = exchange_bytes(g, who, false, s->give, bytes, s->take, deadline);
    }
    if (!st) memcpy(data, s->take, count * elem);
    base_free(src);
    return st;
}

xt_status exchange_reduce(coll_group *g, const participants *who, coll_op op, xt_dtype t, char *data, size_t count,
                          int64_t deadline) {
    size_t elem = xt_dtype_size(t), per_chunk = CHUNK / elem, at = 0;
    XT_TRY(need_buffers(g));
    do {
        size_t part = count - at < per_chunk ? count - at : per_chunk;
        XT_TRY(reduce_chunk(g, who, op, t, data + at * elem, part, deadline));
        at += part;
    } while (at < count);
    return NULL;
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

xt_status exchange_reduce_scatter(coll_group *g, const participants *who, coll_op op, xt_dtype t, const char *src,
                                  size_t count, char *dst, int64_t deadline) {
    mpi_state *s = g->state;
    size_t n = (size_t)who->n, elem = xt_dtype_size(t), bytes = count * elem, room = CHUNK / n / elem * elem, at = 0;
    const void **from = base_malloc(n * sizeof *from);
    xt_status st = from ? need_buffers(g) : status_oom(n * sizeof *from, "a reduce_scatter");
    if (!st) do {
            size_t part = bytes - at < room ? bytes - at : room;
            for (size_t r = 0; r < n && part; r++) memcpy(s->give + r * part, src + r * bytes + at, part);
            st = exchange_bytes(g, who, true, s->give, part, s->take, deadline);
            for (size_t r = 0; r < n; r++) from[r] = s->take + r * part;
            if (!st && part) reduce_fold(op, t, dst + at, from, who->n, part / elem);
            at += part;
        } while (at < bytes && !st);
    base_free(from);
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
