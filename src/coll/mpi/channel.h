/* Messages of any size between the ranks of an MPI run, on a communicator of their own: what remote calls travel by.
 * Messages from one rank to another arrive in order. One thread uses a channel at a time. Nothing moves while no rank
 * calls into here. */
#ifndef XT_SRC_COLL_MPI_CHANNEL_H
#define XT_SRC_COLL_MPI_CHANNEL_H

#include "base/base.h"

typedef struct coll_channel coll_channel;
typedef struct coll_message {
    int from;
    char *bytes; /* base_free */
    size_t n;
} coll_message;

/* All ranks call it and wait for each other, at most `timeout` seconds (0: XT_TIMEOUT). Refused in a process that
 * mpirun did not start. */
xt_status coll_channel_open(const char *what, double timeout, coll_channel **out);
void coll_channel_close(coll_channel *m); /* what is still on its way has a second; accepts NULL */
int coll_channel_rank(const coll_channel *m);
int coll_channel_size(const coll_channel *m);
const char *coll_channel_host(const coll_channel *m, int rank); /* rank 0 knows all, the others only their own: "" */
int coll_channel_pid(const coll_channel *m, int rank);
/* head, then body, as one message; copied, sent while later calls run. */
xt_status coll_channel_send(coll_channel *m, int to, const void *head, size_t head_n, const void *body, size_t body_n);
xt_status coll_channel_flush(coll_channel *m, double seconds); /* until all is sent */
/* The next message; bytes NULL when none has come within `seconds` (0 = look once). */
xt_status coll_channel_receive(coll_channel *m, double seconds, coll_message *out);

#endif
