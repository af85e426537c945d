/* The shared-memory segment of a group: one mapping that all ranks of a host see.
 *
 * Layout: header | one slot per rank | key-value table and log | per rank two areas of `area` bytes (by parity) | two
 * for sums, of which each rank writes a share.
 * Invariants:
 *  1. A rank's `seq` counts the steps it has reached. Step s is complete when every slot's seq is >= s.
 *     Joining is step 1.
 *  2. What a rank writes before it reaches step s, into the areas and `calls` entry of parity s & 1, others read only
 *     between steps s and s + 1. It may therefore write that parity again on its way to step s + 2 without asking
 *     anyone: one wait per chunk is enough.
 *  3. A slot is written by its rank only (and by the launcher, before the rank joins or after it ended).
 *  4. A waiter first spins, then sleeps on `bell` in slices; after each slice, and when a rank has left, it looks
 *     whether the missing ranks still live.
 *  5. Only a rank that finds a step complete on its arrival rings the bell: a step of n ranks costs n arrivals and n
 *     wake-ups, however many of them share a core.
 *  6. In a segment of many ranks nobody reads all slots: `posted` counts all ranks' steps (nobody reaches step s + 1
 *     before step s is complete, so that is when `posted` is at least size * s), and `calls_sum` of a parity adds up
 * what they called in its steps. Where that differs from size times one's own, slots say who it is. */
#ifndef XT_SRC_COLL_SHM_SEGMENT_H
#define XT_SRC_COLL_SHM_SEGMENT_H

#include <stdatomic.h>

#include "coll/core/group.h"
#include "coll/shm/shm.h"

typedef enum slot_state { SLOT_EMPTY, SLOT_JOINED, SLOT_CLOSED, SLOT_FAILED } slot_state;

typedef struct seg_slot {
    _Alignas(64) _Atomic uint64_t seq;
    call_desc calls[2];
    _Alignas(64) _Atomic uint32_t state;
    _Atomic int32_t pid; /* 0 = not known yet */
    _Atomic uint64_t start; /* of the process, in clock ticks since boot: a pid alone may be used again */
    _Atomic uint64_t pid_space; /* inode of the pid namespace: pids of another one say nothing here */
    _Atomic uint32_t note_count; /* odd while the note is being written */
    char note[COLL_NOTE_SIZE]; /* racy text by design: shown in errors, always terminated by the reader */
    char why[COLL_NOTE_SIZE]; /* SLOT_FAILED: the reason */
    _Atomic uint32_t end; /* coll_end: whether `how` says how the rank ends */
    char how[COLL_END_SIZE];
} seg_slot;

typedef struct seg_header {
    uint64_t magic;
    uint32_t version, size;
    uint64_t bytes, token;
    uint64_t slots_at, kv_at, kv_bytes, areas_at, area;
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint64_t posted; /* invariant 6 */
    _Atomic uint64_t calls_sum[2];
    _Atomic uint32_t given_up; /* ranks whose state is SLOT_FAILED */
    _Atomic uint32_t left; /* how often a rank has left, given up or not */
    _Alignas(64) uint64_t kv_used; /* of the log; under kv_lock */
    pthread_mutex_t kv_lock; /* shared between processes and robust */
} seg_header;

typedef struct segment {
    seg_header *head;
    seg_slot *slots;
    int rank, size;
    uint64_t step; /* the last one this rank has completed or waits for */
    uint64_t calls_sum[2]; /* what the segment's are when all ranks make the calls of this one */
    int spins; /* before sleeping; few when there are more ranks than cores */
    /* what messages call the ranks, where they are part of a larger run; NULL = by their own numbers. Borrowed */
    const int *names;
    /* Of some ranks of another segment: whose slots say what the ranks do and whether they gave up there, and which
     * ranks of that one they are. Borrowed. */
    const struct segment *parent;
    bool later; /* its ranks have joined the run before */
    const int *parent_ranks;
} segment;

/* A sleeping rank looks at the others' processes this often; "noticed within a second" is met with room. */
#define SEGMENT_SLICE_NS 200000000

/* Making and finding segments (segment_file.c). segment_attach registers the rank; segment_detach unmaps. */
xt_status segment_attach(const char *name, int rank, int size, int64_t deadline, segment *out);
void segment_detach(segment *s);

/* Steps (segment.c). Publishes `call` and waits for every rank; ranks whose calls differ get an error. */
xt_status segment_step(segment *s, const call_desc *call, int64_t deadline, const char *what);
/* The two halves of a step: `post` announces it and returns; once `reached` says true `settle` does not wait. One step
 * is posted at a time. */
void segment_post(segment *s, const call_desc *call);
bool segment_reached(segment *s);
bool segment_rest(segment *s, int64_t ns); /* sleeps until it is reached, or a rank leaves, at most so long: reached? */
xt_status segment_settle(segment *s, const call_desc *call, int64_t deadline, const char *what);
void segment_ring(segment *s);
void segment_note(segment *s, const char *text);
/* the whole of a rank's note, or "" where it does not stop to change */
void segment_read_note(const seg_slot *slot, char *out, size_t n);
void segment_leave(segment *s, slot_state state, const char *why);
/* the first word stays, until the rank notes that it goes on */
void segment_say_end(seg_slot *slot, coll_end end, const char *how);
/* "rank 1 (pid 12) has finished after 5 steps; rank 2 ...": of the ranks that have ended or left of their own accord;
 * if there are none, of those that followed. */
void segment_exits(const segment *s, str *out);
/* Sleeps on a futex word until it differs from `seen`, at most to the end of a slice or the deadline. */
void segment_sleep(_Atomic uint32_t *word, uint32_t seen, int64_t deadline);
xt_status segment_check_missing(segment *s, uint64_t want, const char *what); /* of any rank below that step */
/* An error when rank r has ended, left or given up; NULL while it may still come. */
xt_status segment_check_rank(segment *s, int r, const char *what);
xt_status segment_late(segment *s, int r, const char *what); /* rank r did not come within the time limit */
/* Whether the failure `st` of another rank counts now; it is freed if not. *since begins at 0. It has to last a
 * moment, so that the launcher sees the rank that is its cause end before those that suffer from it. */
bool segment_confirm(xt_status *st, int64_t *since);
/* "rank 1 (pid 12) at a.c:3 ...; rank 2 ..." of those below step `want` */
void segment_describe(segment *s, uint64_t want, str *out);
void segment_fill_slot(seg_slot *slot, int pid);
bool segment_slot_lives(const seg_slot *slot); /* its process; also one that cannot be judged from here */

/* Names of segments that this process made, or words (segment_file.c). */
xt_status shm_create(int size, char **out_name);
void shm_destroy(const char *name);
void shm_announce(const char *name, int rank, int pid);
void shm_announce_end(const char *name, int rank, const char *how);
bool shm_last_note(const char *name, int rank, char *out, size_t n);

/* Joining (join.c). Opens the segment of that name as g's state, with its row of functions, and waits until all are
 * in; whole: the group that g is a part of by its segment_ranks, or NULL. */
xt_status shm_join(coll_group *g, const char *name, const coll_ops *ops, const coll_group *whole, int64_t deadline);
xt_status shm_duplicate_name(coll_group *g, const char *tag, int64_t deadline, char **out_name);

/* Key-value log (kv.c). */
size_t kv_bytes(void);
/* What rings when a value is put under that key, or one that shares its chain. */
_Atomic uint32_t *kv_bell(seg_header *h, const char *key, size_t key_size);
xt_status kv_init(seg_header *h);
xt_status shm_get(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out, size_t *out_size);

/* Collectives over areas (ops.c). */
xt_status shm_advance(coll_group *g, coll_job *j, int64_t deadline);
xt_status shm_all_gather(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline);
xt_status shm_broadcast(coll_group *g, int root, void *data, size_t bytes, int64_t deadline);
xt_status shm_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline);
xt_status shm_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                             int64_t deadline);
xt_status shm_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline);

static inline char *segment_area(const segment *s, int rank, int parity) {
    return (char *)s->head + s->head->areas_at + ((size_t)rank * 2 + (size_t)parity) * s->head->area;
}

static inline char *segment_sums(const segment *s, int parity) {
    return segment_area(s, s->size, parity);
}

#endif
