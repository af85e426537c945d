/* Collectives of a group over MPI go by hosts, in pieces, in a pipe: while the network carries one piece, the host adds
 * up the next and spreads the one before. A piece passes through these stages in order, on every rank:
 *
 *   host      in shared memory: the sum of the host's ranks, or what they give, to the first of them
 *   network   MPI's collectives among the first ranks of the hosts; others skip it
 *   spread    in shared memory: the result, from the first rank to the others
 *
 * Invariants:
 *  1. Pieces enter each stage in the order of the calls, which is that of the program on all ranks; so the steps of a
 *     segment and the operations on a communicator meet their like.
 *  2. What MPI reads and writes are buffers of the pipe. After a failure they are left to it.
 *  3. With the first piece of a call the hosts exchange what they call: where calls differ both are named, and nobody's
 *     bytes are taken for another's.
 *
 * Nothing waits in here but mpi_pipe_finish; mpi_pipe_advance moves on what can be moved. The caller holds the lock of
 * the run's group. */
#ifndef XT_SRC_COLL_MPI_PIPE_H
#define XT_SRC_COLL_MPI_PIPE_H

#include "coll/mpi/hosts.h"
#include "coll/shm/shm.h"

enum {
    MPI_FLIGHTS = 16, /* pieces in a pipe at once */
    MPI_PIECE = 512 << 10, /* bytes of a piece on a host */
    /* Of an all_reduce, from all hosts together: up to here each host gets all of them and adds them up itself, which
     * takes one way through the network instead of two. */
    MPI_GATHERED = 32 << 10,
    /* Hosts from which on MPI's all_reduce is taken. Of fewer, Open MPI adds up on one host, whose line then carries
     * all bytes twice: 1.30 s for 16 MB between 2 hosts at 200 Mbit/s, 0.86 s as parts that each host folds. */
    MPI_NATIVE = 4,
    MPI_ALL_TO_ALL = 4 << 10 /* bytes from a rank to a rank up to which an all_to_all goes by hosts */
};

typedef enum mpi_stage { STAGE_HOST, STAGE_NETWORK, STAGE_SPREAD } mpi_stage;

typedef struct flight { /* a piece under way */
    coll_job *job;
    size_t at, n; /* elements of the job: from, how many */
    mpi_stage stage;
    shm_work work; /* of the stage, where has_work */
    bool has_work, begun;
    bool meeting, posted; /* requests under way: the calls; the bytes */
    int arrived; /* 0: the bytes are awaited; 1: a second time, of what was made of them; 2: no more */
    mpi_request meet, request;
    call_desc own, *calls; /* of this host, and of all */
    char *give, *take, *out; /* out: the one of the two that holds the result */
    int *counts; /* for MPI: what goes to each host and where it lies, what comes and where; [4 n] */
} flight;

typedef struct mpi_pipe {
    coll_group *g; /* whose calls these are */
    struct mpi_state *s; /* of the whole run */
    mpi_hosts hosts;
    flight flights[MPI_FLIGHTS]; /* of piece number k: k % MPI_FLIGHTS */
    size_t first, network, added; /* piece numbers: the oldest; the first that is still on the host; the next */
    size_t buffer; /* bytes of give and take */
    uint32_t calls; /* of this group so far */
    bool broken; /* buffers are MPI's for good */
} mpi_pipe;

/* hosts must be open. */
xt_status mpi_pipe_open(mpi_pipe *p, coll_group *g, struct mpi_state *s);
void mpi_pipe_close(mpi_pipe *p);
/* Moves the pieces of `jobs` and of those behind it as far as nobody has to be waited for. */
xt_status mpi_pipe_advance(mpi_pipe *p, coll_job *jobs);
/* The same until j, which is jobs or behind it, is done; the error says who did not come. */
xt_status mpi_pipe_finish(mpi_pipe *p, coll_job *jobs, coll_job *j, int64_t deadline);
void mpi_pipe_name(mpi_pipe *p, coll_job *j); /* gives it the number that those who wait for it tell each other */

/* --- routes.c: what each kind of call does in each stage --- */
typedef struct route {
    /* bytes of a buffer that an element of the job takes */
    size_t (*unit)(const mpi_pipe *p, const coll_job *j);
    /* What the host's ranks do first: false = nothing. */
    bool (*host)(mpi_pipe *p, flight *f);
    xt_status (*post)(mpi_pipe *p, flight *f); /* starts f's request, if there is one */
    /* its bytes have come; it may start another, on the communicator of joins */
    xt_status (*arrived)(mpi_pipe *p, flight *f);
    bool (*spread)(mpi_pipe *p, flight *f); /* false = nothing to do in shared memory */
    void (*take)(mpi_pipe *p, flight *f); /* the result to where the caller wants it */
} route;
const route *route_of(const coll_job *j);

#endif
