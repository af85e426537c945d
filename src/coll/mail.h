/* Messages of any size between the ranks of an MPI run, on a communicator of their own: what remote calls travel by.
 * Messages from one rank to another arrive in order. One thread uses a mail at a time. Nothing moves while no rank
 * calls into here. */
#ifndef XT_SRC_COLL_MAIL_H
#define XT_SRC_COLL_MAIL_H

#include "base/base.h"

typedef struct coll_mail coll_mail;
typedef struct coll_letter {
    int from;
    char *bytes; /* base_free */
    size_t n;
} coll_letter;

/* All ranks call it and wait for each other, at most `timeout` seconds (0: XT_TIMEOUT). Refused in a process that
 * mpirun did not start. */
xt_status coll_mail_open(const char *what, double timeout, coll_mail **out);
void coll_mail_close(coll_mail *m); /* what is still on its way has a second; accepts NULL */
int coll_mail_rank(const coll_mail *m);
int coll_mail_size(const coll_mail *m);
const char *coll_mail_host(const coll_mail *m, int rank); /* rank 0 knows all, the others only their own: "" */
int coll_mail_pid(const coll_mail *m, int rank);
/* head, then body, as one message; copied, sent while later calls run. */
xt_status coll_mail_send(coll_mail *m, int to, const void *head, size_t head_n, const void *body, size_t body_n);
xt_status coll_mail_flush(coll_mail *m, double seconds); /* until all is sent */
/* The next letter; bytes NULL when none has come within `seconds` (0 = look once). */
xt_status coll_mail_take(coll_mail *m, double seconds, coll_letter *out);

#endif
