/* Ranks of one host: what other files of src/coll use of it. */
#ifndef XT_SRC_COLL_SHM_H
#define XT_SRC_COLL_SHM_H

#include "coll/core/group.h"

extern const coll_transport shm_transport, alone_transport;

/* Messages call the ranks of g by these numbers, where they are part of a larger run. Borrowed. */
void shm_rename_ranks(coll_group *g, const int *ranks);
/* Some ranks of g, which shares memory; takes segment_ranks, those of sub's members in g. */
xt_status shm_subgroup(coll_group *g, coll_group *sub, int *segment_ranks, int64_t deadline);

#endif
