/* Where the samples of a tar dataset lie. */
#ifndef XT_SRC_DATA_TAR_SHARDS_H
#define XT_SRC_DATA_TAR_SHARDS_H

#include "data/data.h"

/* The first sample of shard k; of the number of shards: how many samples there are. */
int64_t tar_shard_first(const xt_dataset *d, int64_t k);

#endif
