/* Groups of some ranks over MPI (coll_subgroup): their collectives are messages between pairs of them: no communicator
 * has to be made, which all ranks would have to wait for, and nobody else takes part. When all of them are on one host
 * that has shared memory, they use that. Messages between two ranks arrive in the order of their program, which is the
 * same on both. */
#include "coll/mpi/exchange.h"
#include "coll/shm/shm.h"

static participants members_of(coll_group *sub, call_kind kind) {
    uint32_t *calls = sub->state;
    return (participants){NULL,      sub->members, sub->size,
                          sub->rank, kind,         ((uint32_t)(sub->key >> 32) + ++*calls) | 0x80000000u};
}

static xt_status pair_barrier(coll_group *sub, int64_t deadline, const char *what) {
    participants who = members_of(sub, CALL_BARRIER);
    char own = 1, *all = base_malloc((size_t)sub->size);
    if (!all) return status_oom((size_t)sub->size, what);
    xt_status st = exchange_bytes(sub->parent, &who, false, &own, 1, all, deadline);
    base_free(all);
    return st;
}

static xt_status pair_all_reduce(coll_group *sub, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline) {
    participants who = members_of(sub, CALL_ALL_REDUCE);
    return exchange_reduce(sub->parent, &who, op, t, data, count, deadline);
}

static xt_status pair_all_gather(coll_group *sub, const void *src, size_t bytes, void *dst, int64_t deadline) {
    participants who = members_of(sub, CALL_ALL_GATHER);
    return exchange_parts(sub->parent, &who, false, src, bytes, dst, deadline);
}

static xt_status pair_all_to_all(coll_group *sub, const void *src, size_t bytes_each, void *dst, int64_t deadline) {
    participants who = members_of(sub, CALL_ALL_TO_ALL);
    return exchange_parts(sub->parent, &who, true, src, bytes_each, dst, deadline);
}

static xt_status pair_reduce_scatter(coll_group *sub, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                                     int64_t deadline) {
    participants who = members_of(sub, CALL_REDUCE_SCATTER);
    return exchange_reduce_scatter(sub->parent, &who, op, t, src, count, dst, deadline);
}

static xt_status pair_broadcast(coll_group *sub, int root, void *data, size_t bytes, int64_t deadline) {
    participants who = members_of(sub, CALL_BROADCAST);
    for (int i = 0; i < sub->size && sub->rank == root; i++)
        if (i != root)
            XT_TRY(exchange_send_receive(sub->parent, &who, MPI_TAG_SOME, sub->members[i], -1, data, bytes, NULL,
                                         deadline));
    return sub->rank == root ? NULL
                             : exchange_send_receive(sub->parent, &who, MPI_TAG_SOME, -1, sub->members[root], NULL,
                                                     bytes, data, deadline);
}

static xt_status pair_permute(coll_group *sub, int to, int from, const void *src, size_t bytes, void *dst,
                              int64_t deadline) {
    participants who = members_of(sub, CALL_PERMUTE);
    return exchange_send_receive(sub->parent, &who, MPI_TAG_SOME, to < 0 ? -1 : sub->members[to],
                                 from < 0 ? -1 : sub->members[from], src, bytes, dst, deadline);
}

static void pair_fail(coll_group *sub, const char *why) {
    (void)sub, (void)why;
} /* the whole group tells all */
static void pair_close(coll_group *sub) {
    base_free(sub->state);
}

static const coll_ops pair_ops = {
    .barrier = pair_barrier,
    .all_reduce = pair_all_reduce,
    .all_gather = pair_all_gather,
    .broadcast = pair_broadcast,
    .all_to_all = pair_all_to_all,
    .reduce_scatter = pair_reduce_scatter,
    .permute = pair_permute,
    .fail = pair_fail,
    .close = pair_close,
};

/* The members' ranks in the host's group when all are on this host; NULL: they are not. base_free. */
static int *ranks_on_host(const mpi_hosts *h, const coll_group *sub) {
    int *ranks = h->local ? base_malloc((size_t)sub->size * sizeof *ranks) : NULL;
    for (int i = 0; i < sub->size && ranks; i++) {
        int at = 0;
        while (at < h->local->size && h->ranks[at] != sub->members[i]) at++;
        ranks[i] = at;
        if (at < h->local->size) continue;
        base_free(ranks);
        ranks = NULL;
    }
    return ranks;
}

xt_status mpi_subgroup(coll_group *g, coll_group *sub, int64_t deadline) {
    const mpi_state *s = g->state;
    int *ranks = ranks_on_host(&s->hosts, sub);
    if (ranks) return shm_subgroup(s->hosts.local, sub, ranks, deadline);
    sub->state = base_calloc(1, sizeof(uint32_t));
    if (!sub->state) return status_oom(sizeof(uint32_t), "a group of ranks");
    sub->ops = &pair_ops;
    return NULL;
}
