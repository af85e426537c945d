/* Collectives over MPI. Those of bytes that are added up or go to several ranks pass through a pipe, by hosts (pipe.h);
 * a permutation, and an all_to_all of many bytes, which has nothing to gain there, go from rank to rank. */
#include "coll/mpi/exchange.h"

static mpi_pipe *pipe_of(coll_group *g) {
    return g->parent ? g->state : &((mpi_state *)g->state)->pipe;
}

xt_status mpi_advance(coll_group *g, coll_job *j, int64_t deadline) {
    mpi_pipe *p = pipe_of(g);
    xt_status late = p->s->late;
    p->s->late = NULL;
    if (late) return late;
    for (coll_job *k = j; k; k = k->next)
        if (!k->id) mpi_pipe_name(p, k);
    if (deadline) return mpi_pipe_finish(p, j, j, deadline);
    XT_TRY(mpi_pipe_advance(p, j));
    mpi_progress_begin(group_whole(g));
    return NULL;
}

static xt_status at_once(coll_group *g, coll_job *j, int64_t deadline) {
    if (j->kind != CALL_BARRIER) j->tag = g->tag;
    return mpi_advance(g, j, deadline);
}

xt_status mpi_barrier(coll_group *g, int64_t deadline, const char *what) {
    coll_job j = {.kind = CALL_BARRIER, .dtype = XT_U8, .what = what};
    return at_once(g, &j, deadline);
}

xt_status mpi_all_gather(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline) {
    coll_job j = {.kind = CALL_ALL_GATHER, .dtype = XT_U8, .src = src, .data = dst, .count = bytes};
    return at_once(g, &j, deadline);
}

xt_status mpi_broadcast(coll_group *g, int root, void *data, size_t bytes, int64_t deadline) {
    coll_job j = {.kind = CALL_BROADCAST, .dtype = XT_U8, .data = data, .count = bytes, .root = root};
    return at_once(g, &j, deadline);
}

xt_status mpi_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                             int64_t deadline) {
    coll_job j = {.kind = CALL_REDUCE_SCATTER, .op = op, .dtype = t, .src = src, .data = dst, .count = count};
    return at_once(g, &j, deadline);
}

/* Straight from rank to rank, in messages between pairs where these are not all ranks of the run. */
static participants in_pairs(coll_group *g, call_kind kind, bool pairs) {
    coll_job j = {.kind = (int)kind};
    mpi_pipe_name(pipe_of(g), &j);
    return (participants){.comm = pairs ? NULL : ((mpi_state *)g->state)->comm,
                          .ranks = g->members,
                          .n = g->size,
                          .rank = g->rank,
                          .kind = kind,
                          .id = j.id};
}

xt_status mpi_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline) {
    coll_job j = {.kind = CALL_ALL_TO_ALL, .dtype = XT_U8, .src = src, .data = dst, .count = bytes_each};
    if (bytes_each <= MPI_ALL_TO_ALL) return at_once(g, &j, deadline);
    participants who = in_pairs(g, CALL_ALL_TO_ALL, g->parent != NULL);
    return exchange_parts(group_whole(g), &who, true, src, bytes_each, dst, deadline);
}

static int run_rank(const coll_group *g, int r) {
    return r < 0 || !g->members ? r : g->members[r];
}

xt_status mpi_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline) {
    participants who = in_pairs(g, CALL_PERMUTE, true);
    return exchange_send_receive(group_whole(g), &who, g->parent ? MPI_TAG_SOME : MPI_TAG_PERMUTE, run_rank(g, to),
                                 run_rank(g, from), src, bytes, dst, deadline);
}
