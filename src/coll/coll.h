/* Ranks that talk: rendezvous, key-value store, barrier, collectives over bytes. Shared memory on one host; MPI
 * (dlopen'ed) beyond it. Linked into the client library and into the CPU plugin; they share no state but the name of
 * the group. Every wait has a time limit (XT_TIMEOUT where no argument gives one); the error names the ranks that did
 * not come and what each rank said it is doing (coll_note). A dead rank is noticed within a second (its pid is in the
 * segment). Collectives are deterministic: the reduction order is by rank on one host; over hosts it is made of their
 * layout, and values are equal over runs of the same layout, not over layouts, and on all ranks. A group in which a
 * wait failed stays failed: later calls give the same error, and ranks that wait for this one hear of it at once.
 * Threads: any; collectives of one group are serialised within the process, put and get run beside them. */
#ifndef XT_SRC_COLL_H
#define XT_SRC_COLL_H

#include "base/base.h"

typedef struct coll_group coll_group;

/* Makes the rendezvous of a run before its ranks start (the launcher, or node 0 of a plugin that passes the name on by
 * its key-value callbacks); `out_name` goes into XT_RENDEZVOUS. base_free it. On one host the segment has no name in
 * any folder: it is reached through the maker's /proc/PID/fd, so nothing is left behind however the run ends, and the
 * maker must live until all ranks have joined. When the ranks of the run are on several hosts (mpirun) the name stands
 * for an MPI communicator. */
xt_status coll_create(int size, char **out_name);
void coll_destroy(const char *name); /* removes the segment; safe when gone; ranks that have joined keep theirs */
/* The launcher's word about a rank it started or saw end: other ranks then need not wait for one that never joins. Only
 * for names made by coll_create in this process; others are ignored. */
void coll_announce(const char *name, int rank, int pid);
void coll_announce_end(const char *name, int rank, const char *how); /* how: "ended with exit code 0"; may be NULL */
/* what the rank last said it was doing; false when nothing */
bool coll_last_note(const char *name, int rank, char *out, size_t n);
/* Joins as `rank` of `size` and waits until all have joined. Groups of one need no name. `name` is one of coll_create,
 * or any word of letters, digits, '.', '_' and '-' that all ranks agree on (then the first to come makes the segment,
 * the last to come unlinks it), or "mpi:WORD" for a communicator of all MPI processes. */
xt_status coll_open(const char *name, int rank, int size, double timeout, coll_group **out);
void coll_close(coll_group *g); /* a rank that is still waiting for this one gets an error at once; accepts NULL */
/* A sub-group of the same ranks for another user (the plugin): an own segment, by name. All ranks must call it with
 * the same tag. */
xt_status coll_derive_name(const char *name, const char *tag, char **out_name);
/* One more group of all ranks of g, for another thread of theirs: its collectives wait for nobody's at g. All ranks
 * call it with the same tag, each tag once. Where g's memory is its launcher's, so is this one's: no rank that is
 * killed leaves anything in a folder. */
xt_status coll_duplicate(coll_group *g, const char *tag, double timeout, coll_group **out);
/* The group of the run this process belongs to, opened at the first call from world_get() and XT_RENDEZVOUS, MPI's or
 * SLURM's variables; borrowed, closed at exit. One for the process: xt_barrier and the device's key-value store use the
 * same. A failure is remembered. */
xt_status coll_run_group(coll_group **out);
/* the same; this call waits so long for ranks that have not joined yet (<= 0: XT_TIMEOUT) */
xt_status coll_run_group_within(double seconds, coll_group **out);
void coll_run_group_close(void); /* also forgets a failure; the next call opens anew */
/* in a forked child: the parent's group is not ours; nothing is said to other ranks */
void coll_run_group_forget(void);
void coll_run_note(const char *doing); /* coll_note on the run's group if it is open; cheap enough for every step */
/* What another rank of the run said last, where ranks share memory and the group is open; a race by design,
 * for messages. */
bool coll_run_last_note(int rank, char *out, size_t n);
/* How this rank ends, for the others' messages ("has finished after 12 steps"), where ranks share memory: of its own
 * accord or because another one has. */
typedef enum coll_end { COLL_NO_END, COLL_OWN_END, COLL_FOLLOWS } coll_end;
enum { COLL_END_SIZE = 200 };
void coll_run_leaving(coll_end end, const char *how);
void coll_run_exits(str *out); /* how the other ranks of the run have ended; nothing while all are there */
/* Whether this rank is to say what one is enough for: true when none of the run has asked for so many seconds. Ranks
 * that ask within the same moment may all hear true. */
bool coll_run_claim(const char *what, int seconds);
void coll_run_give_up(const char *why); /* the run's group fails: whoever waits in it hears at once */
double coll_default_timeout(void); /* XT_TIMEOUT, or 300 seconds */

int coll_rank(const coll_group *g);
int coll_size(const coll_group *g);

/* "train.c:41 all_reduce of 24 gradients": shown by other ranks' errors */
void coll_note(coll_group *g, const char *doing);
/* What the caller's collectives belong to, 0 = anything: where ranks meet with different tags they get an error instead
 * of each other's data. */
void coll_set_tag(coll_group *g, uint64_t tag);
xt_status coll_barrier(coll_group *g, double timeout, const char *what);
/* Key-value store of the run; get waits up to timeout_ms. Values up to 64 KiB. `out` is base_malloc'ed. */
xt_status coll_put(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size);
xt_status coll_get(coll_group *g, const char *key, size_t key_size, int timeout_ms, char **out, size_t *out_size);

typedef enum coll_op { COLL_SUM, COLL_PROD, COLL_MIN, COLL_MAX, COLL_AND, COLL_OR } coll_op;
xt_status coll_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data,
                          size_t count); /* in place; f32/f64/bf16/f16, ints, bool; bf16 and f16 sum in f32 */
/* The same in two halves: data belong to the group until the job is done. Jobs are done in the order they were started,
 * which must be the same on all ranks; any other collective finishes them first. Progress is made in calls of this
 * group, where coll_poll never waits, and between hosts by a thread of the group too: there several are under way at
 * once, and go on while nobody calls. */
typedef struct coll_job {
    struct coll_job *next;
    coll_op op;
    xt_dtype dtype;
    void *data;
    size_t count, turn;
    uint64_t tag;
    bool posted, done; /* done: ask coll_finish, which takes the group's lock */
    /* The transports' own: also what other collectives are to them. */
    bool taken;
    int kind, root;
    uint32_t id;
    const void *src;
    const char *what;
} coll_job;
xt_status coll_start(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, coll_job *out);
xt_status coll_poll(coll_group *g);
xt_status coll_finish(coll_group *g, coll_job *j); /* waits for it and those before */
void coll_scale_half(void *data, xt_dtype t, size_t count, float factor); /* bf16 or f16, in place, rounded once */
xt_status coll_all_gather(coll_group *g, const void *src, size_t bytes, void *dst); /* dst: size * bytes, by rank */
xt_status coll_broadcast(coll_group *g, int root, void *data, size_t bytes);
xt_status coll_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst);
/* src: size * count elements, part r for rank r; dst: count elements, the reduction of this rank's parts. dst lies
 * apart from src. */
xt_status coll_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst);
/* Sends src to rank `to` and receives dst from rank `from`, -1: nobody. All ranks of g call it with the same size, in
 * pairs that match; bytes go only between these. */
xt_status coll_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst);
/* The group of n ranks of g, this one among them, in the order given: its collectives cost and wait for these alone,
 * and may run while other groups are at theirs. Its members call this with the same list; others need not. Opened at
 * the first call (members wait for each other then), kept with g and closed by it: borrowed. What was started on g is
 * finished first in each of its collectives; a failure in it is one of g. */
xt_status coll_subgroup(coll_group *g, const int *ranks, int n, coll_group **out);

#endif
