/* Exchanges of bytes over MPI, among all ranks of a group or some: what collectives are made of (ops.c, subgroup.c). */
#ifndef XT_SRC_COLL_MPI_EXCHANGE_H
#define XT_SRC_COLL_MPI_EXCHANGE_H

#include "coll/mpi/mpi_int.h"

typedef struct participants { /* in an exchange */
    mpi_comm comm; /* NULL: messages between pairs */
    const int *ranks; /* of the run; NULL = all */
    int n, rank; /* rank: this one's among them, where they are pairs */
    call_kind kind; /* of the call it is part of */
    uint32_t id; /* of the call, for those who wait in it */
    const char *what; /* of a barrier: the caller's words for it; may be NULL */
} participants;

/* That the time limit is over: who has not come, and where those wait who have. */
xt_status exchange_missing(coll_group *g, const participants *who);
/* Whether a participant has left the run before this call, for a second (*since begins at 0): nobody need wait for the
 * time limit then, the launcher has seen that rank end before those that end for want of it, and who waits has said
 * so. */
bool exchange_gone(coll_group *g, const participants *who, int64_t now, int64_t *since);
xt_status mpi_tell_waiting(coll_group *g); /* tells the others that this rank waits in call number `waits` */

/* Until the request is done; the error says who did not come. */
xt_status exchange_wait(coll_group *g, mpi_request *request, int64_t deadline, const participants *who);
/* Part i of src (or, for a gather, src) goes to participant i; what it sends becomes part i of dst. */
xt_status exchange_bytes(coll_group *g, const participants *who, bool to_all, const void *src, size_t n, void *dst,
                         int64_t deadline);
/* The same for parts of any size. */
xt_status exchange_parts(coll_group *g, const participants *who, bool to_all, const char *src, size_t bytes, char *dst,
                         int64_t deadline);
/* to, from: ranks of the run, -1 = nobody. */
xt_status exchange_send_receive(coll_group *g, const participants *who, int tag, int to, int from, const char *src,
                                size_t bytes, char *dst, int64_t deadline);

#endif
