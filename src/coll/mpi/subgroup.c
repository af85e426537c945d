/* Groups of some ranks over MPI (coll_subgroup). All on one host: its shared memory. On several: a pipe of their own
 * (pipe.h), with segments of the members on each host and communicators of the first of them. Nobody else takes part:
 * a communicator is made by its own members (MPI_Comm_create_group), who meet before, because that call has no time
 * limit and cannot say who is missing. Messages between two ranks arrive in the order of their program, which is the
 * same on both. */
#include "coll/mpi/exchange.h"

static void some_fail(coll_group *sub, const char *why) { /* the whole group tells all */
    mpi_hosts_fail(&((mpi_pipe *)sub->state)->hosts, why);
}

static void some_close(coll_group *sub) {
    mpi_pipe_close(sub->state);
    base_free(sub->state);
}

static const coll_ops some_ops = {
    .barrier = mpi_barrier,
    .advance = mpi_advance,
    .all_gather = mpi_all_gather,
    .broadcast = mpi_broadcast,
    .all_to_all = mpi_all_to_all,
    .reduce_scatter = mpi_reduce_scatter,
    .permute = mpi_permute,
    .fail = some_fail,
    .close = some_close,
};

static xt_status meet(coll_group *g, coll_group *sub, int64_t deadline) {
    participants who = {.ranks = sub->members,
                        .n = sub->size,
                        .rank = sub->rank,
                        .kind = CALL_JOIN,
                        .id = (uint32_t)(sub->key >> 32) | 0x80000000u};
    char own = 1, *all = base_malloc((size_t)sub->size);
    if (!all) return status_oom((size_t)sub->size, "a group of ranks");
    xt_status st = exchange_bytes(g, &who, false, &own, 1, all, deadline);
    if (!st) base_free(all); /* else left to MPI */
    return st;
}

static bool on_one_host(const mpi_hosts *all, const coll_group *sub) {
    for (int i = 0; i < sub->size; i++)
        if (all->lead[sub->members[i]] != all->lead[sub->members[0]]) return false;
    return true;
}

static int *places_on_host(const mpi_hosts *all, const coll_group *sub) {
    int *places = base_malloc((size_t)sub->size * sizeof *places);
    for (int i = 0; i < sub->size && places; i++) mpi_hosts_of(all, sub->members[i], &places[i]);
    return places;
}

xt_status mpi_subgroup(coll_group *g, coll_group *sub, int64_t deadline) {
    mpi_state *s = g->state;
    const mpi_hosts *all = &s->pipe.hosts;
    if (all->sum && on_one_host(all, sub)) {
        int *places = places_on_host(all, sub);
        if (!places) return status_oom((size_t)sub->size * sizeof *places, "a group of ranks");
        return shm_subgroup(all->sum, sub, places, deadline);
    }
    mpi_pipe *p = base_calloc(1, sizeof *p);
    if (!p) return status_oom(sizeof *p, "a group of ranks");
    xt_status st = meet(g, sub, deadline);
    if (!st) st = mpi_hosts_open_some(s->mpi, s->comm, all, sub, deadline, &p->hosts);
    if (!st) st = mpi_pipe_open(p, sub, s);
    sub->state = p;
    sub->ops = &some_ops;
    return st;
}
