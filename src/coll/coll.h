/* Ranks that talk: rendezvous, key-value store, barrier, collectives over bytes. Shared memory on one host; MPI (dlopen'ed) beyond it.
 * Linked into the client library and into the CPU plugin; they share no state but the name of the group.
 * Every wait has a time limit; the error names the ranks that did not come and what each rank said it is doing (coll_note). A dead rank is
 * noticed within a second (its pid is in the segment). Collectives are deterministic: the reduction order is by rank.
 * Threads: one call at a time per group. */
#ifndef XT_SRC_COLL_H
#define XT_SRC_COLL_H

#include "base/base.h"

typedef struct coll_group coll_group;

/* Makes the rendezvous of a run before its ranks start (the launcher); `out_name` goes into XT_RENDEZVOUS. base_free it. */
xt_status coll_create(int size, char **out_name);
void coll_destroy(const char *name); /* removes the segment; safe when gone */
/* Joins as `rank` of `size`. Groups of one need no name. */
xt_status coll_open(const char *name, int rank, int size, double timeout, coll_group **out);
void coll_close(coll_group *g);
/* A sub-group of the same ranks for another user (the plugin): an own segment, by name. All ranks must call it with the same tag. */
xt_status coll_derive_name(const char *name, const char *tag, char **out_name);
int coll_rank(const coll_group *g);
int coll_size(const coll_group *g);

void coll_note(coll_group *g, const char *doing); /* "train.c:41 all_reduce of 24 gradients": shown by other ranks' errors */
xt_status coll_barrier(coll_group *g, double timeout, const char *what);
/* Key-value store of the run; get waits up to timeout_ms. Values up to 64 KiB. `out` is base_malloc'ed. */
xt_status coll_put(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size);
xt_status coll_get(coll_group *g, const char *key, size_t key_size, int timeout_ms, char **out, size_t *out_size);

typedef enum coll_op { COLL_SUM, COLL_PROD, COLL_MIN, COLL_MAX, COLL_AND, COLL_OR } coll_op;
xt_status coll_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count); /* in place; f32/f64/bf16/f16, ints, bool; bf16 and f16 sum in f32 */
xt_status coll_all_gather(coll_group *g, const void *src, size_t bytes, void *dst);          /* dst: size * bytes, by rank */
xt_status coll_broadcast(coll_group *g, int root, void *data, size_t bytes);
xt_status coll_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst);

#endif
