/* What every file of src/coll stands on: what a group is made of, its two tables of functions, and what is common to
 * their calls. It knows no transport.
 *
 *   coll_transport   how groups come to be: names, rendezvous, opening. One row for each way in which ranks reach each
 *                    other; the rows stand in src/coll/open.c, the only place that knows them by name.
 *   coll_ops         what an open group does. collectives.c checks arguments, group.c serialises and keeps the failed
 *                    state, and both call this row.
 *
 * Times are CLOCK_MONOTONIC nanoseconds read directly: the waits here are between processes, so a test's fake clock
 * (clock_set_fake) must not stop them. */
#ifndef XT_SRC_COLL_GROUP_H
#define XT_SRC_COLL_GROUP_H

#include <pthread.h>
#include <time.h>

#include "coll/coll.h"

#define COLL_NOTE_SIZE 360
#define COLL_VALUE_MAX ((size_t)64 << 10)

/* --- clock.c --- */
int64_t coll_now(void); /* nanoseconds */
int64_t coll_deadline(double seconds); /* <= 0 or not finite: coll_default_timeout() */

/* --- call.c: what ranks ask for, and its words in messages --- */
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

const char *call_kind_name(unsigned kind);
void call_text(const call_desc *c, str *out); /* "all_reduce(sum) of 4096 bytes of f32" */
/* That rank `own` calls this and another one that; other NULL: something else. */
void call_differs_text(int own, const call_desc *mine, int rank, const call_desc *other, str *out);

/* --- reduce.c: element-wise folding in rank order; the same bits whoever computes it --- */
xt_status reduce_check(coll_op op, xt_dtype t); /* OK when reduce_fold can do it */
const char *reduce_name(coll_op op);
/* dst[i] = src[0][i] op src[1][i] op ...; dst may be one of the sources. */
void reduce_fold(coll_op op, xt_dtype t, void *dst, const void *const *src, int n, size_t count);

/* --- names.c --- */
/* a word equal in all ranks of this job and different between jobs, from the launcher's variables; base_free */
xt_status job_word(char **out);

/* --- group.c --- */
/* The functions of an open group. A row of some ranks of another group (coll_subgroup) has only those that such a
 * group is asked for: notes and the key-value store are the whole group's. */
typedef struct coll_ops {
    xt_status (*barrier)(coll_group *g, int64_t deadline, const char *what);
    xt_status (*put)(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size);
    xt_status (*get)(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out, size_t *out_size);
    /* An all_reduce that was started, the first of those that are not done: as far as it goes without waiting
     * (deadline 0), and those behind it where they can go at the same time; or to its end. */
    xt_status (*advance)(coll_group *g, coll_job *j, int64_t deadline);
    xt_status (*all_gather)(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline);
    xt_status (*broadcast)(coll_group *g, int root, void *data, size_t bytes, int64_t deadline);
    xt_status (*all_to_all)(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline);
    xt_status (*reduce_scatter)(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                                int64_t deadline);
    xt_status (*permute)(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline);
    /* opens sub, whose rank, size, parent and members are set; its own row cannot */
    xt_status (*subgroup)(coll_group *g, coll_group *sub, int64_t deadline);
    void (*note)(coll_group *g, const char *doing);
    /* NULL: notes are seen at once; else: from here on soon, also from a rank that calls nothing more */
    void (*tell_notes)(coll_group *g);
    bool (*peer_note)(coll_group *g, int rank, char *out, size_t n); /* NULL: cannot be seen */
    void (*leaving)(coll_group *g, coll_end end, const char *how); /* NULL, and */
    void (*exits)(coll_group *g, str *out); /* NULL: cannot be said */
    void (*fail)(coll_group *g, const char *why); /* tells the others, where the transport can */
    void (*close)(coll_group *g);
} coll_ops;

/* NULL where a transport has no such thing: then names mean nothing to it, and calls about them do nothing. */
typedef struct coll_transport {
    const char *name; /* "shared memory" */
    bool across_hosts; /* its groups may have ranks on several hosts */
    /* whether it opens groups of that name; size 0: of more than one rank, however many */
    bool (*serves)(const char *name, int size);
    bool (*creates)(int size); /* whether it makes the rendezvous of a run of so many ranks, by create */
    xt_status (*create)(int size, char **out_name);
    xt_status (*run_name)(char **out_name); /* of this process's run, whose ranks were given none */
    /* One more name that all ranks of g then know, without g's lock: other threads may be at its collectives. */
    xt_status (*duplicate_name)(coll_group *g, const char *tag, int64_t deadline, char **out_name);
    /* Joins as g's rank of its size: sets g's state and ops. Where it fails with ops set, the others are told. */
    xt_status (*open)(coll_group *g, const char *name, int64_t deadline);
    void (*destroy)(const char *name);
    void (*announce)(const char *name, int rank, int pid);
    void (*announce_end)(const char *name, int rank, const char *how);
    bool (*last_note)(const char *name, int rank, char *out, size_t n);
} coll_transport;

struct coll_group {
    const coll_transport *transport; /* NULL for groups of some ranks of another */
    const coll_ops *ops;
    void *state; /* the ops' own */
    int rank, size;
    bool later; /* group_open's */
    uint64_t tag;
    pthread_mutex_t lock; /* one collective at a time */
    coll_job *first_job, *last_job; /* started and not done, in order: the first one makes progress */
    xt_status failed; /* the first failure of a wait, kept */
    char *name; /* NULL for groups of one */
    /* A group of some ranks of another (coll_subgroup) uses the lock, the tag and the failed state of that one, and
     * none of its own. */
    coll_group *parent, *_Atomic subgroups, *next; /* subgroups: opened so far, only ever added at the front */
    int *members; /* the ranks of parent, in the order of this group */
    int *segment_ranks; /* the same as ranks of the segment whose slots say what they do; NULL without one */
    uint64_t key; /* of members: equal in all of them */
};

xt_status group_new(int rank, int size, coll_group **out);
/* A group of its own, joined by a row of the transports. `later`: its ranks have joined the run before. */
xt_status group_open(const coll_transport *t, const char *name, int rank, int size, bool later, int64_t deadline,
                     coll_group **out);
/* Every collective is bracketed by enter, or enter_alone, which finishes first what was started, and leave. */
xt_status group_enter(coll_group *g);
xt_status group_enter_alone(coll_group *g);
xt_status group_leave(coll_group *g, xt_status st);
/* Runs the jobs that were started, to `last` or all of them (NULL); without a deadline only as far as nobody has to
 * be waited for. */
xt_status group_advance(coll_group *g, const coll_job *last, int64_t deadline);
void group_give_up(coll_group *g, const char *why); /* fails it, if nothing has */
/* The group whose lock, jobs, notes and failed state count. */
static inline coll_group *group_whole(coll_group *g) {
    return g->parent ? g->parent : g;
}

#endif
