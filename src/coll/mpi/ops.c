/* Collectives of all ranks over MPI: MPI's own non-blocking ones, on bytes. all_reduce is an all-to-all of shares, a
 * fold in rank order and an all-gather, so its bits do not depend on how MPI would order a sum; with several ranks on a
 * host it goes by hosts (hosts.h). */
#include <limits.h>

#include "coll/mpi/exchange.h"

static participants everyone(coll_group *g, call_kind kind) {
    mpi_state *s = g->state;
    return (participants){s->comm, NULL, g->size, g->rank, kind, ++s->calls};
}

xt_status mpi_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline) {
    mpi_state *s = g->state;
    participants all = everyone(g, CALL_ALL_REDUCE),
                 leaders = {s->hosts.leaders, s->hosts.leader_ranks, s->hosts.n, 0, CALL_ALL_REDUCE, all.id};
    if (!s->hosts.local) return exchange_reduce(g, &all, op, t, data, count, deadline);
    XT_TRY(mpi_hosts_gather(&s->hosts, g->tag, op, t, data, count, deadline));
    if (s->hosts.n) XT_TRY(exchange_reduce(g, &leaders, op, t, data, count, deadline));
    /* the leader waits longer, for what the other hosts say */
    return mpi_hosts_spread(&s->hosts, data, count * xt_dtype_size(t), deadline + 2000000000);
}

xt_status mpi_all_gather(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline) {
    participants all = everyone(g, CALL_ALL_GATHER);
    return exchange_parts(g, &all, false, src, bytes, dst, deadline);
}

xt_status mpi_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline) {
    participants all = everyone(g, CALL_ALL_TO_ALL);
    return exchange_parts(g, &all, true, src, bytes_each, dst, deadline);
}

/* With shared memory on the hosts the sum of all is cheaper: it sends each host's values once. */
xt_status mpi_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                             int64_t deadline) {
    const mpi_state *s = g->state;
    size_t part = count * xt_dtype_size(t), bytes = part * (size_t)g->size;
    if (!s->hosts.local) {
        participants all = everyone(g, CALL_REDUCE_SCATTER);
        return exchange_reduce_scatter(g, &all, op, t, src, count, dst, deadline);
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
    participants all = everyone(g, CALL_BROADCAST);
    size_t at = 0;
    do {
        size_t n = bytes - at < (size_t)INT_MAX / 2 ? bytes - at : (size_t)INT_MAX / 2;
        mpi_request request;
        XT_TRY(mpi_lib_check(s->mpi, s->mpi->Ibcast((char *)data + at, (int)n, s->mpi->byte, root, s->comm, &request),
                             "broadcast"));
        XT_TRY(exchange_wait(g, &request, deadline, &all));
        at += n;
    } while (at < bytes);
    return NULL;
}

xt_status mpi_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline) {
    participants all = everyone(g, CALL_PERMUTE);
    return exchange_send_receive(g, &all, MPI_TAG_PERMUTE, to, from, src, bytes, dst, deadline);
}
