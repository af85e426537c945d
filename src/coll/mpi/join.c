/* The start of a group over MPI. Duplicating a communicator has no time limit of its own and cannot say who is missing,
 * so the ranks meet before it: each sends rank 0 its card, a few bytes that MPI sends at once, and rank 0 begins the
 * duplication when it has all of them. */
#include <stdlib.h>
#include <unistd.h>

#include "coll/mpi/lib.h"

static mpi_card own_card(void) {
    mpi_card c = {.pid = getpid()};
    if (gethostname(c.host, sizeof c.host - 1) != 0) strcpy(c.host, "?");
    return c;
}

static xt_status missing_cards(const mpi_card *cards, int size, const mpi_join_as *as) {
    str text = STR_INIT;
    int n = 0;
    for (int r = 1; r < size; r++)
        if (!cards[r].pid) str_printf(&text, "%s%d", n++ ? ", " : "", r);
    xt_status st = status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "%s: did not come: rank%s %s, which %s not %s; a larger limit is set by XT_TIMEOUT",
                              as->what, n == 1 ? "" : "s", str_cstr(&text), n == 1 ? "has" : "have", as->not_done);
    str_free(&text);
    return st;
}

static xt_status collect(const mpi_lib *m, const mpi_join_as *as, int size, int64_t deadline, mpi_card *cards) {
    for (int have = 1, turn = 0; have < size;) {
        int there = 0;
        mpi_status got = {0};
        XT_TRY(mpi_lib_check(m, m->Iprobe(MPI_ANY_FROM, as->tag, m->world, &there, &got), "MPI_Iprobe"));
        if (there) {
            mpi_card c;
            XT_TRY(
                mpi_lib_check(m, m->Recv(&c, (int)sizeof c, m->byte, got.source, as->tag, m->world, &got), "MPI_Recv"));
            c.host[sizeof c.host - 1] = 0;
            cards[got.source] = c;
            have++;
            continue;
        }
        if (coll_now() > deadline) return missing_cards(cards, size, as);
        mpi_backoff(&turn);
    }
    return NULL;
}

static xt_status finish(const mpi_lib *m, mpi_request *request, int64_t deadline, const mpi_join_as *as) {
    for (int done = 0, turn = 0; !done; mpi_backoff(&turn)) {
        XT_TRY(mpi_lib_check(m, m->Test(request, &done, NULL), as->what));
        if (!done && coll_now() > deadline)
            return status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "%s: rank 0 has not brought the ranks together within the time limit; its own message "
                              "says who is missing",
                              as->what);
    }
    return NULL;
}

/* What MPI may still read or write after a failure is not freed. */
static xt_status join(const mpi_lib *m, const mpi_join_as *as, int rank, int size, int64_t deadline, mpi_comm *comm,
                      mpi_card *cards) {
    mpi_request sent = NULL, made = NULL;
    if (rank == 0)
        XT_TRY(collect(m, as, size, deadline, cards));
    else {
        deadline += 2000000000; /* rank 0 began to wait at another time, and its message says more than ours */
        XT_TRY(mpi_lib_check(m, m->Isend(&cards[rank], (int)sizeof *cards, m->byte, 0, as->tag, m->world, &sent),
                             "MPI_Isend"));
    }
    XT_TRY(mpi_lib_check(m, m->Comm_idup(m->world, comm, &made), "MPI_Comm_idup"));
    XT_TRY(finish(m, &made, deadline, as));
    if (rank != 0) XT_TRY(finish(m, &sent, deadline, as));
    return mpi_lib_check(m, m->Comm_set_errhandler(*comm, m->errors_return), "MPI_Comm_set_errhandler");
}

xt_status mpi_join(const mpi_lib *m, const mpi_join_as *as, int rank, int size, int64_t deadline, mpi_comm *out,
                   mpi_card **out_cards) {
    mpi_card *cards = base_calloc((size_t)size, sizeof *cards);
    mpi_comm *comm = base_calloc(1, sizeof *comm);
    if (!cards || !comm) {
        base_free(cards);
        base_free(comm);
        return status_oom((size_t)size * sizeof *cards, "a group of ranks");
    }
    cards[rank] = own_card();
    XT_TRY(join(m, as, rank, size, deadline, comm, cards));
    *out = *comm;
    base_free(comm);
    if (out_cards)
        *out_cards = cards;
    else
        base_free(cards);
    return NULL;
}
