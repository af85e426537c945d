/* The mesh of the run as the layers above and the lazy core see it: layouts of states and batches, and who loads which
 * part of a batch. */
#ifndef XT_SRC_LAZY_MESH_H
#define XT_SRC_LAZY_MESH_H

#include <xtrain/mesh.h>

#include "lazy/core/layout.h"

/* Which part of a global batch this process loads: of the mesh's batch axes, or its rank among the ranks. */
void lazy_batch_part(int64_t *out_index, int64_t *out_count);
/* This rank's share of a batch's samples, which on a mesh are those of the whole batch. */
int64_t lazy_share_of(int64_t samples);
/* Of what this rank's part of a batch has n of: ranks that stand at the same place along the batch axes have the same
 * ones. */
int64_t lazy_share_of_part(int64_t n);
/* A tensor over a loader's buffer, which holds this rank's part: its type is that of the whole batch. Takes the
 * reference over. */
xt_tensor lazy_from_batch(const xt_src *src, device_buffer *b);

/* of a loader's batch of this (whole) type */
xt_status lazy_batch_layout(const ir_type *type, const lazy_layout **out);
/* The layout of a type by one axis list a dim; *out NULL: whole. `what` names the tensor in messages. */
xt_status lazy_layout_make(const xt_mesh *m, const ir_type *type, int n, const char *const *axes, const char *what,
                           const lazy_layout **out);
/* `base` with `axes` added to the first whole dim they divide evenly, or else to the largest; base itself when all are
 * smaller than that. */
const lazy_layout *lazy_layout_add(const xt_mesh *m, const lazy_layout *base, const ir_type *type, const char *axes);
const lazy_layout *lazy_layout_of(xt_tensor t);
/* How the optimizer's state of a parameter lies: as the parameter, or divided further (xt_mesh_zero). */
const lazy_layout *lazy_optimizer_layout(xt_tensor param);
void lazy_divide_optimizer(xt_tensor param, const lazy_layout *l);
/* A state that is laid out so from here on. One that is on the device is brought there in its new form. */
xt_status lazy_state_lay_out(xt_tensor state, const lazy_layout *l);
/* Brings all states that are divided over the ranks together in rank 0's memory, where lazy_state_read finds them:
 * every rank calls it, then rank 0 may save alone. lazy_forget_states gives the memory back; any rank, any time. */
xt_status lazy_gather_states(void);
/* One of them, in that rank's memory. */
xt_status lazy_gather_state(xt_tensor state, int rank);
void lazy_forget_states(void);
void lazy_forget_state(xt_tensor state);
lazy_whole *lazy_state_whole(xt_tensor state); /* what was brought together of it, retained; NULL: nothing was */
/* an error for a list that names an unknown axis, or one twice */
xt_status lazy_mesh_axes(const xt_mesh *m, const char *axes);
bool lazy_mesh_is(const xt_mesh *m); /* it is the run's mesh */
xt_mesh *lazy_mesh_of_run(void); /* NULL: there is none */
const char *lazy_mesh_batch_axes(void); /* of the run's mesh; "" without one */
bool lazy_mesh_has_axes(const char *list, const char *axes); /* each of the second list stands in the first */

/* --- replicas.c: states that every rank holds whole, in a run of several ranks without a mesh. Every rank calls them
 * at the same place; they wait. --- */
/* Hashes of the values as of the last boundary: out_all [ranks, n]. An error when the ranks' names or shapes differ. */
xt_status lazy_replicas_compare(const char *what, size_t n, const xt_tensor *states, const char *const *names,
                                hash128 *out_all);
/* a step has given it a value, which other ranks need not have; false: all have what it began with */
bool lazy_state_own(xt_tensor state);
void lazy_state_set_own(xt_tensor state); /* the value that it has been given is this rank's, as from a step */
/* n bytes of each rank, by rank; base_free. All ranks call it at the same place, and wait for each other. */
xt_status lazy_ranks_gather(const void *own, size_t n, char **out_all);
/* Short texts that ranks leave for each other by a name, without waiting. */
void lazy_ranks_note(const char *key, const char *text);
bool lazy_ranks_look(const char *key, char *out, size_t n); /* false: it is not there, or not yet */
/* saves.c: a file under one path that several ranks save is rank 0's. Around writing it: */
typedef struct lazy_save {
    const char *path; /* borrowed */
    char key[48];
    int64_t number; /* this rank's so many-th of the path; 0: nobody else is to be looked at */
} lazy_save;
lazy_save lazy_save_begin(const char *path);
/* Before anything is written, and before it gets its name: rank 0 has come to it, or has written it, and this rank
 * leaves it alone. Waits for rank 0's file then; *out says what became of it. `last`: the file gets its name behind
 * this call. */
bool lazy_save_is_rank_0s(const lazy_save *s, bool last, xt_status *out);
xt_status lazy_save_end(const lazy_save *s, xt_status e); /* gives e */
/* How many programs with collectives this rank has started, in the order that all ranks have alike; and whether rank
 * `rank` has started more than `sequence` of them, and where it is (n bytes). By what it says of itself: false where
 * that cannot be seen, or not yet. */
int64_t lazy_rank_sequence(void);
bool lazy_rank_is_past(int rank, int64_t sequence, char *out_there, size_t n);
/* For a rank that starts no more programs: whether rank `rank` has started one with collectives that this one has not,
 * so that it waits there for ever. out: where each of them is (n bytes each). By what it says of itself: false where
 * that cannot be seen, or not yet. */
bool lazy_rank_goes_on(int rank, char *out_there, char *out_here, size_t n);
/* rank 0's value, also for what the step being recorded has read of it already */
xt_status lazy_replicas_take(xt_tensor state, const char *name);

/* --- shards.c: an error where the loaders that gave the ranks their last batches divide the samples in different ways.
 * Every rank calls it at the same place; it waits. --- */
xt_status lazy_shards_agree(void);

#endif
