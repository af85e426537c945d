/* How tensors lie over the ranks of a run with a mesh: what the core has to know of it. Which mesh there is, and which
 * layouts follow from it, is the business of mesh.h. */
#ifndef XT_SRC_LAZY_LAYOUT_H
#define XT_SRC_LAZY_LAYOUT_H

#include "ir/sharding.h"
#include "lazy/lazy.h"

/* How a tensor lies over the ranks, and which part is this rank's. Interned for the whole process; NULL =
 * whole everywhere. */
typedef struct lazy_layout {
    ir_grid grid;
    ir_sharding sharding;
    uint32_t rank;
    uint32_t text; /* interned: what mhlo.sharding says */
    int64_t parts[XT_MAX_RANK], index[XT_MAX_RANK];
    struct lazy_layout *next;
} lazy_layout;

bool lazy_spmd(void); /* a mesh of several devices is in use: programs have that many partitions */
int64_t lazy_partitions(void); /* devices of the mesh; 1 without */
void lazy_set_partitions(int64_t devices); /* the run has a mesh of so many devices from here on; 1: it has none */
/* The interned layout of tensors of this rank whose dims `s` divides over g; NULL: it divides none. */
const lazy_layout *lazy_layout_intern(const ir_grid *g, const ir_sharding *s, uint32_t rank);
/* of this rank's part; type itself for NULL. Of a dim that is not divisible each part has ceil(n / parts), the last
 * ones filled up (ir_shard_type) */
const ir_type *lazy_layout_local(const lazy_layout *l, const ir_type *type);
struct lazy_slot;
/* How the optimizer's state of a parameter lies, and its gradient where it outlives its step: as the parameter, or
 * divided further (xt_mesh_zero). */
const lazy_layout *lazy_layout_of_state(const struct lazy_slot *param);
/* Between the whole (row-major) and this rank's part. */
void lazy_layout_slice(const lazy_layout *l, const ir_type *type, const void *whole, void *part);
/* Moves the elements of this rank's part that are the tensor's, not what fills it up, to the front: how many. */
int64_t lazy_layout_pack(const lazy_layout *l, const ir_type *type, void *part);

/* Fills `whole` from the parts of all ranks: every rank must call it. `part` is this rank's. */
xt_status lazy_gather_parts(const lazy_layout *l, const ir_type *type, const void *part, void *whole);
/* The same for one rank alone; the others give NULL and need no room. */
xt_status lazy_gather_parts_to(int rank, const lazy_layout *l, const ir_type *type, const void *part, void *whole);
/* A tensor of `type` over dev, which holds this rank's part of it; takes dev over. */
xt_tensor lazy_from_laid_out(const xt_src *src, lazy_role role, const ir_type *type, const lazy_layout *layout,
                             device_buffer *dev);

/* All of a divided state, brought together on one rank (lazy_gather_states). Shared, not copied, as a checkpoint of all
 * states in memory is the most that rank 0 ever holds. */
typedef struct lazy_whole {
    _Atomic int refs;
    _Alignas(16) char bytes[];
} lazy_whole;
void lazy_whole_release(lazy_whole *w); /* any thread; accepts NULL */

/* Compiling for devices that are not there (plan): meshes may have so many devices; 0 = those of the run. */
void lazy_mesh_pretend(int64_t devices);
int64_t lazy_pretended_devices(void);

#endif
