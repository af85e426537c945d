/* Inside the MPI transport: its state, and what frames (frames.c), notes (notes.c) and collectives (ops.c) give to
 * those above them. */
#ifndef XT_SRC_COLL_MPI_INT_H
#define XT_SRC_COLL_MPI_INT_H

#include "coll/mpi/pipe.h"

enum {
    MPI_TAG_FRAMES = 17,
    MPI_TAG_SOME = 18,
    MPI_TAG_PERMUTE = 19,
    MPI_TALKATIVE = 64 /* ranks: in a larger run only rank 0 hears what others do */
};

typedef enum frame_kind { FRAME_PUT, FRAME_FAILED, FRAME_CLOSED, FRAME_NOTE, FRAME_WAIT } frame_kind;
typedef struct pending {
    mpi_request request;
    struct pending *next;
    char bytes[];
} pending;

typedef struct peer {
    str in; /* the stream so far, whole frames taken off the front */
    uint32_t waits; /* which collective it was last seen waiting in */
    bool gone;
    uint32_t calls; /* of all ranks that it had begun when it went */
    str note;
} peer;

typedef struct stored_value { /* of the key-value store */
    size_t size;
    char bytes[];
} stored_value;

typedef struct mpi_notes { /* notes.c */
    pthread_mutex_t lock; /* of the rest, and of the state's note */
    pthread_cond_t changed;
    pthread_t teller;
    bool running, stopping, news; /* news: noted, and not told yet */
} mpi_notes;

typedef struct mpi_progress { /* progress.c */
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t changed;
    pthread_t thread;
    bool running, wanted; /* wanted: something is under way */
    _Atomic bool stopping;
} mpi_progress;

typedef struct mpi_state {
    const mpi_lib *mpi;
    mpi_comm comm;
    pthread_mutex_t io; /* frames: put and get run beside collectives */
    peer *peers;
    pending *sending;
    map *values; /* stored_value by key, under io; of what is not in memory that a host shares */
    uint32_t calls; /* collectives of all ranks so far, this one included */
    uint32_t waits; /* the one this rank waits in: a number that its members agree on */
    int64_t told_note; /* when the others last heard what this rank is doing */
    str other_failed; /* why another rank gave up */
    char note[COLL_NOTE_SIZE];
    mpi_notes notes;
    mpi_pipe pipe; /* of all ranks */
    mpi_progress progress;
    xt_status late; /* what went wrong while nobody called: the next call's */
} mpi_state;

/* --- frames.c */
xt_status mpi_send_frame(mpi_state *s, int to, frame_kind kind, const char *a, size_t a_size, const char *b,
                         size_t b_size);
xt_status mpi_send_all(coll_group *g, frame_kind kind, const char *a, size_t a_size, const char *b, size_t b_size);
/* Takes in what has arrived and moves what is on its way out. */
xt_status mpi_pump(mpi_state *s);
xt_status mpi_other_failure(mpi_state *s);
/* under io: what a put stores, here or in another rank; for all ranks of the host where they share memory */
xt_status mpi_keep_value(mpi_state *s, const char *key, size_t key_size, const char *bytes, size_t n);

/* --- notes.c */
void mpi_note(coll_group *g, const char *doing);
void mpi_tell_notes(coll_group *g);
bool mpi_peer_note(coll_group *g, int rank, char *out, size_t n);
void mpi_notes_stop(mpi_notes *n);

/* --- progress.c: what was started goes on while nobody calls */
void mpi_progress_begin(coll_group *g); /* something has been started */
void mpi_progress_stop(mpi_state *s);

/* --- ops.c: of a group of all ranks, or of some (subgroup.c) */
xt_status mpi_barrier(coll_group *g, int64_t deadline, const char *what);
xt_status mpi_advance(coll_group *g, coll_job *j, int64_t deadline);
xt_status mpi_all_gather(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline);
xt_status mpi_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline);
xt_status mpi_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                             int64_t deadline);
xt_status mpi_broadcast(coll_group *g, int root, void *data, size_t bytes, int64_t deadline);
xt_status mpi_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline);
xt_status mpi_subgroup(coll_group *g, coll_group *sub, int64_t deadline);

#endif
