/* Checkpoints that all ranks write together. FILE.ckpt has the metadata, what is rank 0's alone, and the list of
 * shards; the tensors lie beside it, about as many bytes of them in each rank's:
 *
 *     epoch=0-step=10.ckpt
 *     epoch=0-step=10.ckpt-0123456789abcdef-00001-of-00004.safetensors   and three more
 *     epoch=0-step=10.ckpt-0123456789abcdef.safetensors.index.json       as Hugging Face's, for its readers
 *
 * Invariants
 *  1. A tensor is whole in one shard: a divided one is brought together on the rank that writes it, and no rank holds
 *     more than its share. So any number of ranks, on any mesh, reads them, and so does everybody else.
 *  2. FILE.ckpt is written last, when all shards are complete, and names them by a word that no other save has: until
 *     then the checkpoint before is what there is, and a link of another name (last.ckpt) means the same.
 *  3. Shards are removed when no .ckpt file of their folder names them any more, by whoever took the last name away
 *     or, where a run was killed, when nobody can still be waiting for them. */
#ifndef XT_SRC_TRAIN_CHECKPOINT_SHARDS_H
#define XT_SRC_TRAIN_CHECKPOINT_SHARDS_H

#include <limits.h>

#include "base/base.h"

typedef struct shard_plan {
    int count; /* 0: in one file */
    char stem[PATH_MAX]; /* ".../FILE.ckpt-0123456789abcdef" */
} shard_plan;

/* Who writes which tensor: begins as zeros; asked for each in the same order on every rank. */
typedef struct shard_loads {
    int64_t *bytes; /* of each rank; base_free */
    int count;
} shard_loads;
int shard_writer(shard_loads *l, size_t bytes);

xt_status shard_plan_make(const char *path, int count, shard_plan *out);
xt_status shard_path(const shard_plan *p, int rank, str *out);
/* The metadata of FILE.ckpt that names the shards (format/safetensors.h: ST_SHARDS). */
xt_status shard_list(const shard_plan *p, str *out);
/* Rank 0, in its writer's thread: waits until all shards are there and whole, then writes the index. */
xt_status shard_gather(const shard_plan *p);
/* The shards of the checkpoint `name` in a folder; base_free, NULL when it has none. */
char *shards_of(int folder, const char *name);
/* Removes them when no checkpoint of the folder names them any more. */
void shards_remove(int folder, const char *list);
/* Of a folder: shards that no checkpoint names and whose writers gave up long ago; of one whose writers are known to be
 * gone (nobodys) all that none names. */
int shards_sweep(int folder, bool nobodys);

#endif
