/* Inside checkpoints: what checkpoint.c (taking a snapshot), checkpoint_writer.c (files, in the background too) and
 * checkpoint_load.c share. */
#ifndef XT_SRC_TRAIN_CHECKPOINT_H
#define XT_SRC_TRAIN_CHECKPOINT_H

#include "format/safetensors.h"
#include "train/checkpoint_shards.h"
#include "train/train_int.h"

#define CHECKPOINT_CHECKSUM ST_SUMS /* a tensor, last in the file; its header's has where the run goes on */
#define CHECKPOINT_HOLDS "holds" /* metadata: the names of its tensors, as a list in JSON */
/* [ranks, rows, columns] f32: sums of logged values; metadata "log" names the rows */
#define CHECKPOINT_LOG "xtrain:log"

typedef struct checkpoint_fact { /* compared at resume: a difference is a warning */
    const char *key, *what;
    char value[256];
} checkpoint_fact;
enum { FACT_XTRAIN, FACT_PLUGIN, FACT_PJRT, FACT_STABLEHLO, FACT_EFFECTIVE, FACT_OPTIMIZER, FACT_BATCHES, FACT_COUNT };
void checkpoint_facts(const xt_trainer *t, checkpoint_fact out[FACT_COUNT]);

/* Written by a rehearsal (an earlier version did): its tensors are zeros, and nothing may go on from it. False also
 * when it cannot be read. */
bool checkpoint_rehearsed(const char *path);

/* checkpoint_folder.c */
/* Removes what processes that are dead were writing. nobodys: the run that wrote there has ended, and this one goes on
 * from it. */
void checkpoint_folder_sweep(const char *folder, bool nobodys);
/* gives the file there, if any, the name last-v1.ckpt too, or the next that is free; told */
xt_status checkpoint_keep_last(const char *last);
/* a checkpoint beside it that is younger and further, told; base_free. NULL: none */
xt_status checkpoint_after_last(const char *last, char **out);

/* the name of optimizer k's tensor in the file */
void checkpoint_optimizer_key(int k, const char *name, char *out, size_t n);

/* Everything a checkpoint holds, in host memory: training may go on while it is written. */
typedef struct snapshot snapshot;
/* waits for the device; path is for messages */
xt_status snapshot_take(xt_trainer *t, const char *path, snapshot **out);
/* Of a checkpoint in shards: *out_shard is this rank's, *out what rank 0 writes behind all of them (NULL elsewhere). */
xt_status snapshot_take_shard(xt_trainer *t, const shard_plan *p, snapshot **out, snapshot **out_shard);
/* snapshot.c */
snapshot *snapshot_new(void); /* NULL without memory */
void snapshot_free(snapshot *s);
void snapshot_note_rows(snapshot *s); /* rows made so far are in their files before the snapshot is in its own */
typedef xt_status (*snapshot_tensor_fn)(void *user, const char *name, xt_tensor tensor);
/* fn gets {0} for the tensor */
xt_status snapshot_each_name(const snapshot *s, snapshot_tensor_fn fn, void *user);
xt_status snapshot_add_tensor(snapshot *s, const char *name, xt_tensor tensor);
xt_status snapshot_write_shard(const snapshot *s, const char *path);
/* data: taken over, also on failure */
xt_status snapshot_add(snapshot *s, const char *name, const ir_type *type, void *data, size_t bytes);
xt_status snapshot_add_meta(snapshot *s, const char *key, const char *value);
xt_status snapshot_write(const snapshot *s, const char *path); /* makes the folders; whole or not at all */

/* checkpoint_ranks.c: buffers that each rank has of its own. Every rank gathers and restores; rank 0 takes what was
 * gathered into its snapshot. */
xt_status checkpoint_ranks_gather(checkpoint_ranks *r, const xt_module *m);
xt_status checkpoint_ranks_take(const checkpoint_ranks *r, const xt_module *m, snapshot *s);
/* The rows of tensors as entries "UNDER" + NAME. */
xt_status checkpoint_rows_take(const checkpoint_ranks *r, const char *under, const xt_module *m, snapshot *s);
void checkpoint_ranks_forget(checkpoint_ranks *r);
xt_status checkpoint_ranks_restore(xt_module *m, st_file *f, const char *path);

/* checkpoint_hosts.c: of a run of several ranks, whose hosts may not share folders. Every rank calls these at the same
 * place. */
typedef struct checkpoint_source {
    char *path; /* as it is named to the user */
    st_file *f;
} checkpoint_source;
/* What a group that was started again goes on from; base_free, NULL: there is nothing. */
xt_status checkpoint_restart_point(char **out);
/* Opens c->path, which ranks that do not have it get from one that has; of several states, the furthest. To be closed
 * in any case. */
xt_status checkpoint_source_open(checkpoint_source *c);
void checkpoint_source_close(checkpoint_source *c);

/* checkpoint_running.c: as checkpoint_ranks.c, for running means, and for tensors of callbacks that are of_ranks. */
xt_status checkpoint_running_gather(checkpoint_running *r, const xt_trainer *t);
xt_status checkpoint_running_take(const checkpoint_running *r, snapshot *s);
void checkpoint_running_forget(checkpoint_running *r);
xt_status checkpoint_running_restore(const xt_trainer *t, st_file *f, const char *path);

/* checkpoint_gradients.c: as checkpoint_ranks.c, for gradients that wait for an optimizer's step, in manual
 * optimization. */
xt_status checkpoint_gradients_gather(checkpoint_ranks *r, const xt_trainer *t);
bool checkpoint_gradients_wait(const xt_trainer *t); /* on this rank, without meeting the others */
xt_status checkpoint_gradients_take(const checkpoint_ranks *r, const xt_module *m, snapshot *s);
xt_status checkpoint_gradients_restore(xt_module *m, st_file *f, const char *path);

/* checkpoint_modes.c */
xt_status checkpoint_modes_take(const xt_trainer *t, snapshot *s);
void checkpoint_modes_read(xt_trainer *t, const st_file *f);

/* checkpoint_values.c: as checkpoint_ranks.c, for the newest value of each logged name. */
xt_status checkpoint_values_gather(checkpoint_values *v, const xt_trainer *t);
xt_status checkpoint_values_take(const checkpoint_values *v, snapshot *s);
void checkpoint_values_forget(checkpoint_values *v);
xt_status checkpoint_values_restore(const xt_trainer *t, st_file *f, const char *path);

#endif
