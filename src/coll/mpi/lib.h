/* Open MPI's library, opened at run time: nothing links against it, and a machine without MPI needs none. Its handles
 * are pointers to objects with exported names (ompi_mpi_comm_world, ompi_mpi_byte, ...): ABI facts of Open MPI 1.7 to 5
 * (libmpi.so.40 and around). */
#ifndef XT_SRC_COLL_MPI_LIB_H
#define XT_SRC_COLL_MPI_LIB_H

#include "coll/core/group.h"

typedef void *mpi_comm, *mpi_type, *mpi_op, *mpi_group, *mpi_request;
typedef struct mpi_status {
    int source, tag, error, cancelled;
    size_t ucount; /* bytes received, for byte messages */
} mpi_status;
enum { MPI_ANY_FROM = -1, MPI_MULTIPLE = 3, MPI_TEXT = 256 };

typedef struct mpi_lib {
    mpi_comm world;
    mpi_type byte;
    mpi_type whole[2][4], floating[2]; /* integers of 1, 2, 4, 8 bytes, signed or not; f32, f64 */
    mpi_op ops[COLL_OR + 1];
    void *errors_return, *info_null;
#define MPI_FN(result, name, args) result(*name) args;
#include "coll/mpi/lib.def"
#undef MPI_FN
} mpi_lib;

/* Opens and initialises MPI with threads, once; finalised at exit when the program ends with 0 and we began it. An
 * MPI_Init that has not returned by the deadline is an error; a later call waits for the same one. */
xt_status mpi_lib_get(int64_t deadline, const mpi_lib **out);
bool mpi_started(void); /* this process was started by mpirun or by srun with PMIx */
xt_status mpi_lib_check(const mpi_lib *m, int code, const char *what);
void mpi_lib_no_finalize(void); /* after a failure: finalising would wait for ranks that do not come */
bool mpi_lib_usable(const mpi_lib *m);
/* Between two polls: nothing for a while, then growing naps of at most a millisecond. *turn starts at 0. */
void mpi_backoff(int *turn);

/* --- join.c: all ranks meet, within a time limit, and get a communicator of their own --- */
typedef struct mpi_card { /* what a rank says of itself */
    char host[64];
    int pid; /* 0 = no card */
} mpi_card;
typedef struct mpi_join_as {
    const char *what; /* in messages */
    int tag; /* of the cards, one per user */
    const char *not_done; /* what a rank that does not come has not done */
} mpi_join_as;
enum { MPI_TAG_RUN = 28601, MPI_TAG_MAIL = 28602 };
/* The error on rank 0 names the ranks that did not come. out_cards (NULL = not wanted; base_free): complete on rank 0,
 * else one's own. */
xt_status mpi_join(const mpi_lib *m, const mpi_join_as *as, int rank, int size, int64_t deadline, mpi_comm *out,
                   mpi_card **out_cards);

#endif
