/* Which ranks of an MPI group share a host, and the shared memory between them. MPI says who shares memory (its own
 * division, so two network namespaces that mpirun takes for two hosts are two); the segment's name carries the leader's
 * rank, the first of its host, which makes it different on each host of a job. All ranks take part in each step here,
 * and all agree on the result: where one host cannot have its segment, nobody uses any. */
#include "coll/mpi/hosts.h"

#include <stdlib.h>

#include "coll/shm/shm.h"

enum { TYPE_SHARED = 0, UNDEFINED_COLOR = -32766 }; /* MPI_COMM_TYPE_SHARED, MPI_UNDEFINED of Open MPI */

static xt_status wait(const mpi_lib *m, mpi_request *request, int64_t deadline, const char *what) {
    for (int done = 0, turn = 0;; mpi_backoff(&turn)) {
        XT_TRY(mpi_lib_check(m, m->Test(request, &done, NULL), what));
        if (done) return NULL;
        if (coll_now() > deadline)
            return status_new(XT_DEADLINE_EXCEEDED, NULL, "%s: not all ranks came within the time limit", what);
    }
}

/* The ranks of the run that belong to comm, in its order; base_free. */
static xt_status list_ranks(const mpi_lib *m, mpi_comm comm, int size, int rank, int64_t deadline, int **out) {
    int *list = base_calloc((size_t)size + 1, sizeof *list); /* left to MPI when the wait fails */
    mpi_request request;
    if (!list) return status_oom((size_t)size * sizeof *list, "a group of ranks");
    list[size] = rank;
    XT_TRY(mpi_lib_check(
        m, m->Iallgather(list + size, (int)sizeof *list, m->byte, list, (int)sizeof *list, m->byte, comm, &request),
        "MPI_Iallgather"));
    XT_TRY(wait(m, &request, deadline, "finding the ranks of a host"));
    *out = list;
    return NULL;
}

/* Whether all ranks said yes. */
static xt_status all_agree(const mpi_lib *m, mpi_comm comm, int size, bool yes, int64_t deadline, bool *out) {
    char *votes = base_calloc((size_t)size + 1, 1);
    mpi_request request;
    if (!votes) return status_oom((size_t)size, "a group of ranks");
    votes[size] = yes;
    XT_TRY(
        mpi_lib_check(m, m->Iallgather(votes + size, 1, m->byte, votes, 1, m->byte, comm, &request), "MPI_Iallgather"));
    XT_TRY(wait(m, &request, deadline, "agreeing on shared memory"));
    *out = !memchr(votes, 0, (size_t)size);
    base_free(votes);
    return NULL;
}

static xt_status open_local(mpi_hosts *h, const char *tag, int rank, int size, int64_t deadline) {
    str name = STR_INIT;
    char *job = NULL;
    XT_TRY(job_word(&job));
    str_printf(&name, "%s.%s.host%d", job, tag, h->ranks[0]);
    base_free(job);
    int64_t soonest = coll_now() + 1000000000;
    xt_status st = group_open(size == 1 ? &alone_transport : &shm_transport, str_cstr(&name), rank, size,
                              deadline > soonest ? deadline : soonest, &h->local);
    str_free(&name);
    return st;
}

xt_status mpi_hosts_open(const mpi_lib *m, mpi_comm comm, const char *tag, int rank, int size, int64_t deadline,
                         mpi_hosts *out) {
    mpi_comm node = NULL;
    int place, here;
    bool use;
    *out = (mpi_hosts){0};
    XT_TRY(mpi_lib_check(m, m->Comm_split_type(comm, TYPE_SHARED, rank, m->info_null, &node), "MPI_Comm_split_type"));
    XT_TRY(mpi_lib_check(m, m->Comm_rank(node, &place), "MPI_Comm_rank"));
    XT_TRY(mpi_lib_check(m, m->Comm_size(node, &here), "MPI_Comm_size"));
    XT_TRY(list_ranks(m, node, here, rank, deadline, &out->ranks));
    XT_TRY(
        mpi_lib_check(m, m->Comm_split(comm, place == 0 ? 0 : UNDEFINED_COLOR, rank, &out->leaders), "MPI_Comm_split"));
    if (place == 0) XT_TRY(mpi_lib_check(m, m->Comm_size(out->leaders, &out->n), "MPI_Comm_size"));
    if (place == 0) XT_TRY(list_ranks(m, out->leaders, out->n, rank, deadline, &out->leader_ranks));
    /* One host, or one rank on each: nothing to gain. Every rank learns it the same way. */
    XT_TRY(all_agree(m, comm, size, here == 1, deadline, &use));
    if (use) return NULL;
    XT_TRY(all_agree(m, comm, size, here == size, deadline, &use));
    if (use) return NULL;
    xt_status st = open_local(out, tag, place, here, deadline);
    if (st)
        log_msg(XT_SEV_WARNING,
                "the ranks of this host cannot share memory, so all they say to each other goes by MPI: %s",
                status_message(st));
    if (!st) shm_rename_ranks(out->local, out->ranks);
    xt_status agreed = all_agree(m, comm, size, !st, deadline, &use);
    xt_status_free(st);
    if (!agreed && use) return NULL;
    coll_close(out->local);
    out->local = NULL;
    return agreed;
}

void mpi_hosts_close(mpi_hosts *h) {
    coll_close(h->local);
    base_free(h->ranks);
    base_free(h->leader_ranks);
    *h = (mpi_hosts){0};
}

void mpi_hosts_note(mpi_hosts *h, const char *doing) {
    if (h->local) h->local->ops->note(h->local, doing);
}

void mpi_hosts_fail(mpi_hosts *h, const char *why) {
    if (h->local) h->local->ops->fail(h->local, why);
}

xt_status mpi_hosts_gather(mpi_hosts *h, uint64_t tag, coll_op op, xt_dtype t, void *data, size_t count,
                           int64_t deadline) {
    coll_job j = {.op = op, .dtype = t, .data = data, .count = count, .tag = tag};
    h->local->tag = tag;
    while (h->local->size > 1 && !j.done) XT_TRY(h->local->ops->advance(h->local, &j, deadline));
    return NULL;
}

xt_status mpi_hosts_spread(mpi_hosts *h, void *data, size_t bytes, int64_t deadline) {
    return h->local->ops->broadcast(h->local, 0, data, bytes, deadline);
}
