/* The hosts of a group over MPI, which collectives go by (pipe.h): in shared memory inside a host, by MPI between the
 * hosts' first ranks, so that bytes travel once for all ranks of a host. */
#ifndef XT_SRC_COLL_MPI_HOSTS_H
#define XT_SRC_COLL_MPI_HOSTS_H

#include "coll/mpi/lib.h"

typedef struct mpi_hosts {
    int n, own; /* hosts, in the order of their first ranks; the place of this one */
    int here, place; /* ranks of the group on this host; this one's place among them, 0 = it speaks for the host */
    int most; /* ranks on the fullest host */
    int *order, *begins; /* ranks of the group host after host; where each host's begin in it, [n + 1] */
    int *lead; /* of each rank of the group the first rank on its host */
    /* This host's shared memory, NULL where here is 1: sums and gathers go by the one, results by the other, so that
     * the next piece is added up while results of the one before are awaited. */
    coll_group *sum, *spread;
    /* Of the first ranks; NULL on others. Each carries one kind of message in the order of the pieces: what is begun
     * when a piece is complete on the host, and what is begun when its parts have come back. */
    mpi_comm parts, joins;
} mpi_hosts;

/* After all ranks have joined. tag: of the group, so that two users' segments differ. */
xt_status mpi_hosts_open(const mpi_lib *m, mpi_comm comm, const char *tag, int rank, int size, int64_t deadline,
                         mpi_hosts *out);
/* Of some ranks of that group (sub->members), which have all come and call this together. */
xt_status mpi_hosts_open_some(const mpi_lib *m, mpi_comm comm, const mpi_hosts *all, const coll_group *sub,
                              int64_t deadline, mpi_hosts *out);
void mpi_hosts_close(mpi_hosts *h);
void mpi_hosts_note(mpi_hosts *h, const char *doing);
void mpi_hosts_fail(mpi_hosts *h, const char *why); /* those who wait for this rank in shared memory hear of it */
int mpi_hosts_of(const mpi_hosts *h, int rank, int *out_place); /* the rank's host, and its place there */

#endif
