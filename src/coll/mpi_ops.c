/* Collectives over MPI, polled under the time limit. Those of all ranks are MPI's own non-blocking ones, on bytes:
 * all_reduce is an all-to-all of shares, a fold in rank order and an all-gather, so its bits do not depend on how MPI
 * would order a sum; with several ranks on a host it goes by hosts (mpi_hosts.h). Those of some ranks (coll_among) are
 * messages between pairs of them: no communicator has to be made, which all ranks would have to wait for, and nobody
 * else takes part. When all of them are on one host that has shared memory, they use that. Messages between two ranks
 * arrive in the order of their program, which is the same on both. */
#include <limits.h>

#include "coll/mpi_int.h"
#include "coll/segment.h"

#define CHUNK ((size_t)4 << 20) /* of an all_reduce; of one rank's part of a gather */
#define WAIT_TOLD_NS 500000000

typedef struct party { /* who takes part in an exchange */
    mpi_comm comm; /* NULL: messages between pairs */
    const int *ranks; /* of the run; NULL = all */
    int n, place; /* place: this rank's among them, where they are pairs */
    call_kind kind; /* of the call it is part of */
    uint32_t id; /* of the call, for those who wait in it */
} party;

static party everyone(coll_group *g, call_kind kind) {
    mpi_state *s = g->state;
    return (party){s->comm, NULL, g->size, g->rank, kind, ++s->calls};
}

/* Nobody can ask MPI who is missing from a collective. So a rank that has waited half a second in one tells the others,
 * once; who has told nobody by the end of the time limit is missing. */
static xt_status say_missing(coll_group *g, const char *what, const party *who) {
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

static xt_status wait_for(coll_group *g, mpi_request *request, int64_t deadline, const party *who) {
    mpi_state *s = g->state;
    const char *what = call_kind_name(who->kind);
    int64_t began = coll_now();
    bool told = false;
    s->waits = who->id;
    /* others began at another time, and among the ranks of one host the missing one is known first */
    deadline += 1000000000;
    for (int turn = 0;; mpi_nap(&turn)) {
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

static xt_status wait_all(coll_group *g, mpi_request *requests, int n, int64_t deadline, const party *who) {
    for (int i = 0; i < n; i++)
        if (requests[i]) XT_TRY(wait_for(g, &requests[i], deadline, who));
    return NULL;
}

/* Part i of src (or, for a gather, src) goes to member i; what it sends becomes part i of dst. */
static xt_status exchange_pairs(coll_group *g, const party *who, bool to_all, const char *src, size_t n, char *dst,
                                int64_t deadline) {
    mpi_state *s = g->state;
    const mpi_lib *m = s->mpi;
    mpi_request *requests = base_calloc(2 * (size_t)who->n, sizeof *requests);
    if (!requests) return status_oom(2 * (size_t)who->n * sizeof *requests, "a collective");
    xt_status st = NULL;
    for (int i = 0; i < who->n && !st; i++)
        if (i != who->place)
            st = mpi_lib_check(
                m, m->Irecv(dst + (size_t)i * n, (int)n, m->byte, who->ranks[i], MPI_TAG_SOME, s->comm, &requests[i]),
                "MPI_Irecv");
    for (int i = 0; i < who->n && !st; i++)
        if (i != who->place)
            st = mpi_lib_check(m,
                               m->Isend(to_all ? src + (size_t)i * n : src, (int)n, m->byte, who->ranks[i],
                                        MPI_TAG_SOME, s->comm, &requests[who->n + i]),
                               "MPI_Isend");
    if (!st && n) memcpy(dst + (size_t)who->place * n, to_all ? src + (size_t)who->place * n : src, n);
    if (!st) st = wait_all(g, requests, 2 * who->n, deadline, who);
    base_free(requests);
    return st;
}

static xt_status exchange(coll_group *g, const party *who, bool to_all, const void *src, size_t n, void *dst,
                          int64_t deadline) {
    mpi_state *s = g->state;
    mpi_request request;
    const mpi_lib *m = s->mpi;
    if (!who->comm) return exchange_pairs(g, who, to_all, src, n, dst, deadline);
    int code = to_all ? m->Ialltoall(src, (int)n, m->byte, dst, (int)n, m->byte, who->comm, &request)
                      : m->Iallgather(src, (int)n, m->byte, dst, (int)n, m->byte, who->comm, &request);
    XT_TRY(mpi_lib_check(m, code, call_kind_name(who->kind)));
    return wait_for(g, &request, deadline, who);
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

static xt_status reduce_chunk(coll_group *g, const party *who, coll_op op, xt_dtype t, char *data, size_t count,
                              int64_t deadline) {
    mpi_state *s = g->state;
    int n = who->n;
    size_t elem = xt_dtype_size(t), share = (count + (size_t)n - 1) / (size_t)n, bytes = share * elem;
    const void **src = base_malloc((size_t)n * sizeof *src);
    if (!src) return status_oom((size_t)n * sizeof *src, "an all_reduce");
    memcpy(s->give, data, count * elem);
    memset(s->give + count * elem, 0, share * elem * (size_t)n - count * elem);
    xt_status st = exchange(g, who, true, s->give, bytes, s->take, deadline);
    for (int r = 0; r < n; r++) src[r] = s->take + (size_t)r * bytes;
    if (!st) {
        reduce_fold(op, t, s->give, src, n, share);
        st = exchange(g, who, false, s->give, bytes, s->take, deadline);
    }
    if (!st) memcpy(data, s->take, count * elem);
    base_free(src);
    return st;
}

static xt_status reduce_among(coll_group *g, const party *who, coll_op op, xt_dtype t, char *data, size_t count,
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

xt_status mpi_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline) {
    mpi_state *s = g->state;
    party all = everyone(g, CALL_ALL_REDUCE),
          leaders = {s->hosts.leaders, s->hosts.leading, s->hosts.n, 0, CALL_ALL_REDUCE, all.id};
    if (!s->hosts.local) return reduce_among(g, &all, op, t, data, count, deadline);
    XT_TRY(mpi_hosts_gather(&s->hosts, g->tag, op, t, data, count, deadline));
    if (s->hosts.n) XT_TRY(reduce_among(g, &leaders, op, t, data, count, deadline));
    /* the leader waits longer, for what the other hosts say */
    return mpi_hosts_spread(&s->hosts, data, count * xt_dtype_size(t), deadline + 2000000000);
}

/* Parts above CHUNK go piecewise through a packed buffer, as the pieces of an exchange lie side by side. */
static xt_status exchange_parts(coll_group *g, const party *who, bool to_all, const char *src, size_t bytes, char *dst,
                                int64_t deadline) {
    if (bytes <= CHUNK) return exchange(g, who, to_all, src, bytes, dst, deadline);
    size_t ranks = (size_t)who->n;
    char *give = to_all ? base_malloc(CHUNK * ranks) : NULL, *take = base_malloc(CHUNK * ranks);
    xt_status st = take && (give || !to_all) ? NULL : status_oom(CHUNK * ranks, "a collective");
    for (size_t at = 0, n; !st && at < bytes; at += n) {
        n = bytes - at < CHUNK ? bytes - at : CHUNK;
        for (size_t r = 0; to_all && r < ranks; r++) memcpy(give + r * n, src + r * bytes + at, n);
        st = exchange(g, who, to_all, to_all ? give : src + at, n, take, deadline);
        for (size_t r = 0; !st && r < ranks; r++) memcpy(dst + r * bytes + at, take + r * n, n);
    }
    base_free(give);
    base_free(take);
    return st;
}

xt_status mpi_all_gather(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline) {
    party all = everyone(g, CALL_ALL_GATHER);
    return exchange_parts(g, &all, false, src, bytes, dst, deadline);
}

xt_status mpi_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline) {
    party all = everyone(g, CALL_ALL_TO_ALL);
    return exchange_parts(g, &all, true, src, bytes_each, dst, deadline);
}

static xt_status scatter_among(coll_group *g, const party *who, coll_op op, xt_dtype t, const char *src, size_t count,
                               char *dst, int64_t deadline) {
    mpi_state *s = g->state;
    size_t n = (size_t)who->n, elem = xt_dtype_size(t), bytes = count * elem, room = CHUNK / n / elem * elem, at = 0;
    const void **from = base_malloc(n * sizeof *from);
    xt_status st = from ? need_buffers(g) : status_oom(n * sizeof *from, "a reduce_scatter");
    if (!st) do {
            size_t part = bytes - at < room ? bytes - at : room;
            for (size_t r = 0; r < n && part; r++) memcpy(s->give + r * part, src + r * bytes + at, part);
            st = exchange(g, who, true, s->give, part, s->take, deadline);
            for (size_t r = 0; r < n; r++) from[r] = s->take + r * part;
            if (!st && part) reduce_fold(op, t, dst + at, from, who->n, part / elem);
            at += part;
        } while (at < bytes && !st);
    base_free(from);
    return st;
}

/* With shared memory on the hosts the sum of all is cheaper: it sends each host's values once. */
xt_status mpi_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                             int64_t deadline) {
    const mpi_state *s = g->state;
    size_t part = count * xt_dtype_size(t), bytes = part * (size_t)g->size;
    if (!s->hosts.local) {
        party all = everyone(g, CALL_REDUCE_SCATTER);
        return scatter_among(g, &all, op, t, src, count, dst, deadline);
    }
    char *all = base_malloc(bytes ? bytes : 1);
    if (!all) return status_oom(bytes, "a reduce_scatter");
    memcpy(all, src, bytes);
    xt_status st = mpi_all_reduce(g, op, t, all, count * (size_t)g->size, deadline);
    if (!st) memcpy(dst, all + (size_t)g->rank * part, part);
    base_free(all);
    return st;
}

xt_status mpi_broadcast(coll_group *g, int root, void *data, size_t bytes, int64_t deadline) {
    mpi_state *s = g->state;
    party all = everyone(g, CALL_BROADCAST);
    size_t at = 0;
    do {
        size_t n = bytes - at < (size_t)INT_MAX / 2 ? bytes - at : (size_t)INT_MAX / 2;
        mpi_request request;
        XT_TRY(mpi_lib_check(s->mpi, s->mpi->Ibcast((char *)data + at, (int)n, s->mpi->byte, root, s->comm, &request),
                             "broadcast"));
        XT_TRY(wait_for(g, &request, deadline, &all));
        at += n;
    } while (at < bytes);
    return NULL;
}

/* to, from: ranks of the run, -1 = nobody. */
static xt_status send_and_receive(coll_group *g, const party *who, int tag, int to, int from, const char *src,
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

xt_status mpi_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline) {
    party all = everyone(g, CALL_PERMUTE);
    return send_and_receive(g, &all, MPI_TAG_PERMUTE, to, from, src, bytes, dst, deadline);
}

/* --- some ranks --- */

static party members(coll_group *sub, call_kind kind) {
    uint32_t *calls = sub->state;
    return (party){NULL,      sub->members, sub->size,
                   sub->rank, kind,         ((uint32_t)(sub->key >> 32) + ++*calls) | 0x80000000u};
}

static xt_status some_barrier(coll_group *sub, int64_t deadline, const char *what) {
    party who = members(sub, CALL_BARRIER);
    char own = 1, *all = base_malloc((size_t)sub->size);
    if (!all) return status_oom((size_t)sub->size, what);
    xt_status st = exchange(sub->parent, &who, false, &own, 1, all, deadline);
    base_free(all);
    return st;
}

static xt_status some_all_reduce(coll_group *sub, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline) {
    party who = members(sub, CALL_ALL_REDUCE);
    return reduce_among(sub->parent, &who, op, t, data, count, deadline);
}

static xt_status some_all_gather(coll_group *sub, const void *src, size_t bytes, void *dst, int64_t deadline) {
    party who = members(sub, CALL_ALL_GATHER);
    return exchange_parts(sub->parent, &who, false, src, bytes, dst, deadline);
}

static xt_status some_all_to_all(coll_group *sub, const void *src, size_t bytes_each, void *dst, int64_t deadline) {
    party who = members(sub, CALL_ALL_TO_ALL);
    return exchange_parts(sub->parent, &who, true, src, bytes_each, dst, deadline);
}

static xt_status some_reduce_scatter(coll_group *sub, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                                     int64_t deadline) {
    party who = members(sub, CALL_REDUCE_SCATTER);
    return scatter_among(sub->parent, &who, op, t, src, count, dst, deadline);
}

static xt_status some_broadcast(coll_group *sub, int root, void *data, size_t bytes, int64_t deadline) {
    party who = members(sub, CALL_BROADCAST);
    for (int i = 0; i < sub->size && sub->rank == root; i++)
        if (i != root)
            XT_TRY(send_and_receive(sub->parent, &who, MPI_TAG_SOME, sub->members[i], -1, data, bytes, NULL, deadline));
    return sub->rank == root
               ? NULL
               : send_and_receive(sub->parent, &who, MPI_TAG_SOME, -1, sub->members[root], NULL, bytes, data, deadline);
}

static xt_status some_permute(coll_group *sub, int to, int from, const void *src, size_t bytes, void *dst,
                              int64_t deadline) {
    party who = members(sub, CALL_PERMUTE);
    return send_and_receive(sub->parent, &who, MPI_TAG_SOME, to < 0 ? -1 : sub->members[to],
                            from < 0 ? -1 : sub->members[from], src, bytes, dst, deadline);
}

static void some_fail(coll_group *sub, const char *why) {
    (void)sub, (void)why;
} /* the whole group tells all */
static void some_close(coll_group *sub) {
    base_free(sub->state);
}

static const coll_transport some_transport = {
    .barrier = some_barrier,
    .all_reduce = some_all_reduce,
    .all_gather = some_all_gather,
    .broadcast = some_broadcast,
    .all_to_all = some_all_to_all,
    .reduce_scatter = some_reduce_scatter,
    .permute = some_permute,
    .fail = some_fail,
    .close = some_close,
};

/* Their places in the host's group when all are on this host; NULL: they are not. base_free. */
static int *places_on_host(const mpi_hosts *h, const coll_group *sub) {
    int *places = h->local ? base_malloc((size_t)sub->size * sizeof *places) : NULL;
    for (int i = 0; i < sub->size && places; i++) {
        int at = 0;
        while (at < h->local->size && h->ranks[at] != sub->members[i]) at++;
        places[i] = at;
        if (at < h->local->size) continue;
        base_free(places);
        places = NULL;
    }
    return places;
}

xt_status mpi_among(coll_group *g, coll_group *sub, int64_t deadline) {
    const mpi_state *s = g->state;
    int *places = places_on_host(&s->hosts, sub);
    if (places) return shm_among(s->hosts.local, sub, places, deadline);
    sub->state = base_calloc(1, sizeof(uint32_t));
    if (!sub->state) return status_oom(sizeof(uint32_t), "a group of ranks");
    sub->transport = &some_transport;
    return NULL;
}
