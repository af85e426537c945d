/* Ranks of one host: what other files of src/coll use of it. */
#ifndef XT_SRC_COLL_SHM_H
#define XT_SRC_COLL_SHM_H

#include "coll/core/group.h"

extern const coll_transport shm_transport, alone_transport;

/* A collective of a host's ranks that can be left while another rank is late: one half of what a collective of several
 * hosts does (src/coll/mpi). Works of one group are done in the order in which they were begun, which must be the same
 * on all its ranks. */
typedef enum shm_how {
    SHM_REDUCE, /* data, of count elements, in place */
    SHM_GATHER, /* count bytes of each rank's src; on the root to data, by rank */
    SHM_SPREAD /* count bytes of the root's data, to everybody's */
} shm_how;
typedef struct shm_work {
    shm_how how;
    coll_op op;
    xt_dtype dtype;
    int root;
    const void *src;
    void *data;
    size_t count;
    call_desc call; /* what the ranks say that they call, and compare */
    size_t turn; /* from here on its own: all 0 at first */
    bool posted, done;
} shm_work;
/* As far as it goes without waiting (deadline 0), or to the end. */
xt_status shm_advance_work(coll_group *g, shm_work *w, int64_t deadline);
/* Sleeps until all ranks have come to where w, which is neither done nor can go on, waits for them, at most so long;
 * false: they have not. */
bool shm_rest(coll_group *g, const shm_work *w, int64_t ns);
/* An error when a rank that it waits for has ended, left or given up; NULL while they may still come. */
xt_status shm_check_work(coll_group *g, const shm_work *w, int64_t *since); /* since: begins at 0 */
/* One more segment of some ranks of g, or of all, told apart by key; takes segment_ranks. Their slots in g say what
 * they do. */
xt_status shm_side_group(coll_group *g, int *segment_ranks, int rank, int size, uint64_t key, int64_t deadline,
                         coll_group **out);

/* Of g's key-value store: puts a value, and looks whether there is one (base_free), without waiting for it. */
xt_status shm_put(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size);
xt_status shm_look(coll_group *g, const char *key, size_t key_size, char **out, size_t *out_size, bool *out_found);

/* Messages call the ranks of g by these numbers, where they are part of a larger run. Borrowed. */
void shm_rename_ranks(coll_group *g, const int *ranks);
/* Some ranks of g, which shares memory; takes segment_ranks, those of sub's members in g. */
xt_status shm_subgroup(coll_group *g, coll_group *sub, int *segment_ranks, int64_t deadline);

#endif
