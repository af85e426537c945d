/* Inside src/coll: what a group is made of. A transport is a row of functions; group.c checks arguments, serialises,
 * keeps the failed state and calls the row. Times are CLOCK_MONOTONIC nanoseconds read directly: the waits here are
 * between processes, so a test's fake clock (clock_set_fake) must not stop them. */
#ifndef XT_SRC_COLL_INT_H
#define XT_SRC_COLL_INT_H

#include <pthread.h>
#include <time.h>

#include "coll/coll.h"

#define COLL_NOTE_SIZE 360
#define COLL_VALUE_MAX ((size_t)64 << 10)

typedef enum call_kind {
    CALL_JOIN,
    CALL_BARRIER,
    CALL_ALL_REDUCE,
    CALL_ALL_GATHER,
    CALL_BROADCAST,
    CALL_ALL_TO_ALL,
    CALL_REDUCE_SCATTER,
    CALL_PERMUTE
} call_kind;

/* What one rank is asking for; ranks compare theirs, so that an all_reduce meeting a barrier is an error and
 * not garbage. */
typedef struct call_desc {
    uint8_t kind, op, dtype, pad;
    uint32_t root;
    uint64_t bytes;
    uint64_t tag; /* coll_set_tag */
} call_desc;

typedef struct coll_transport {
    xt_status (*barrier)(coll_group *g, int64_t deadline, const char *what);
    xt_status (*put)(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size);
    xt_status (*get)(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out, size_t *out_size);
    /* or NULL, and */
    xt_status (*all_reduce)(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline);
    /* as far as it goes without waiting (deadline 0), or to the end; NULL: all_reduce */
    xt_status (*advance)(coll_group *g, coll_job *j, int64_t deadline);
    xt_status (*all_gather)(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline);
    xt_status (*broadcast)(coll_group *g, int root, void *data, size_t bytes, int64_t deadline);
    xt_status (*all_to_all)(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline);
    xt_status (*reduce_scatter)(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                                int64_t deadline);
    xt_status (*permute)(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline);
    /* opens sub, whose rank, size, parent and members are set; its own row cannot */
    xt_status (*among)(coll_group *g, coll_group *sub, int64_t deadline);
    void (*note)(coll_group *g, const char *doing);
    /* NULL: notes are seen at once; else: from here on soon, also from a rank that calls nothing more */
    void (*tell_notes)(coll_group *g);
    bool (*peer_note)(coll_group *g, int rank, char *out, size_t n); /* NULL: cannot be seen */
    void (*leaving)(coll_group *g, coll_end end, const char *how); /* NULL, and */
    void (*fates)(coll_group *g, str *out); /* NULL: cannot be said */
    void (*fail)(coll_group *g, const char *why); /* tells the others, where the transport can */
    void (*close)(coll_group *g);
} coll_transport;

struct coll_group {
    const coll_transport *transport;
    void *state; /* the transport's own */
    int rank, size;
    uint64_t tag;
    pthread_mutex_t lock; /* one collective at a time */
    coll_job *first_job, *last_job; /* started and not done, in order: the first one makes progress */
    xt_status failed; /* the first failure of a wait, kept */
    char *name; /* NULL for groups of one */
    /* A group of some ranks of another (coll_among) uses the lock, the tag and the failed state of that one, and
     * none of its own. */
    coll_group *parent, *_Atomic subs, *next; /* subs: opened so far, only ever added at the front */
    int *members; /* the ranks of parent, in the order of this group */
    int *places; /* the same as places in the segment that theirs is a part of; NULL over MPI */
    uint64_t key; /* of members: equal in all of them */
};

int64_t coll_now(void); /* nanoseconds */
int64_t coll_deadline(double seconds); /* <= 0 or not finite: coll_default_timeout() */
xt_status group_new(int rank, int size, coll_group **out);
void group_give_up(coll_group *g, const char *why); /* fails it, if nothing has */
const char *call_kind_name(unsigned kind);
void call_text(const call_desc *c, str *out); /* "all_reduce(sum) of 4096 bytes of f32" */

/* --- reduce.c: element-wise folding in rank order; the same bits whoever computes it --- */
xt_status reduce_check(coll_op op, xt_dtype t); /* OK when reduce_fold can do it */
const char *reduce_name(coll_op op);
/* dst[i] = src[0][i] op src[1][i] op ...; dst may be one of the sources. */
void reduce_fold(coll_op op, xt_dtype t, void *dst, const void *const *src, int n, size_t count);

/* --- run.c --- */
/* a word equal in all ranks of this job and different between jobs, from the launcher's variables; base_free */
xt_status run_job_word(char **out);

/* --- shm.c, mpi.c --- */
xt_status shm_create(int size, char **out_name);
/* among: the group it is a part of, by g->places; or NULL */
xt_status shm_open_group(const char *name, coll_group *g, const coll_group *among, int64_t deadline);
/* takes places, those of sub's members in g */
xt_status shm_among(coll_group *g, coll_group *sub, int *places, int64_t deadline);
xt_status shm_twin_name(coll_group *g, const char *tag, int64_t deadline, char **out_name); /* coll_twin */
xt_status mpi_open_group(const char *tag, coll_group *g, int64_t deadline);
bool mpi_started(void); /* this process was started by mpirun or by srun with PMIx */
bool mpi_spans_hosts(void); /* and its ranks are on more than one host */

#endif
