/* The hosts of an MPI group: an all_reduce adds up inside each host in shared memory, then between the hosts' first
 * ranks by MPI, and spreads the result in shared memory. So a host sends its ranks' sum once, not each rank's values;
 * the order of the sum is by rank within a host, then by host. */
#ifndef XT_SRC_COLL_MPI_HOSTS_H
#define XT_SRC_COLL_MPI_HOSTS_H

#include "coll/mpi/lib.h"

typedef struct mpi_hosts {
    coll_group *local; /* NULL: no rank shares a host with another, or all do; all_reduce then goes flat */
    mpi_comm leaders; /* the first ranks of the hosts; on these only */
    int n; /* of them; 0 on other ranks */
    int *ranks; /* this host's, as ranks of the run; the first is the leader */
    int *leader_ranks; /* of the run; on leaders only */
} mpi_hosts;

/* After all ranks have joined. tag: of the group, so that two users' segments differ. */
xt_status mpi_hosts_open(const mpi_lib *m, mpi_comm comm, const char *tag, int rank, int size, int64_t deadline,
                         mpi_hosts *out);
void mpi_hosts_close(mpi_hosts *h);
void mpi_hosts_note(mpi_hosts *h, const char *doing);
void mpi_hosts_fail(mpi_hosts *h, const char *why); /* those who wait for this rank in shared memory hear of it */
xt_status mpi_hosts_gather(mpi_hosts *h, uint64_t tag, coll_op op, xt_dtype t, void *data, size_t count,
                           int64_t deadline);
xt_status mpi_hosts_spread(mpi_hosts *h, void *data, size_t bytes, int64_t deadline);

#endif
