/* The state of turning a function into a plan; shared by walk.c (ops in order), thunk.c, values.c and group*.c (fused
 * elementwise loops). */
#ifndef XT_SRC_CPU_PLAN_BUILD_INT_H
#define XT_SRC_CPU_PLAN_BUILD_INT_H

#include "cpu/plan/build.h"
#include "cpu/vector/vprog.h"

typedef enum value_state {
    VALUE_NONE,
    VALUE_DENSE, /* at `ref` */
    /* a constant, iota, or another name or window of its operand: made dense only when someone needs that */
    VALUE_LAZY,
    VALUE_MEMBER, /* of group `group`, which is open */
    VALUE_GONE /* was a member that nobody outside its group reads */
} value_state;
enum { MOST_LAZY_DEPTH = 64 }; /* programs that people write have chains of a few */
typedef struct value_info {
    const ir_value *value;
    value_state state;
    bool has_ref;
    cpu_ref ref;
    bool grouped; /* a member of group `group`, open or closed */
    uint32_t group;
    int number; /* in the vector program of the group being emitted */
    uint8_t lazy_depth; /* a lazy value's: so many lazy ones lie between it and memory, at least */
    uint32_t inside; /* uses by members of its own group */
    bool kept; /* read by a thunk that is no reader in the program */
    uint8_t feature; /* layout.h: 1 + the feature dim of a blocked image, 0: the value lies dense */
    bool has_blk;
    cpu_ref blk; /* its blocked place */
    const ir_value *stand_in; /* the same as bf16, where it has no place of its own */
} value_info;

/* Elementwise ops of one element count that will run as one loop. Groups are decided first, while the walk goes through
 * the ops: a group stays open until somebody outside reads one of its values, or until it is full. Then it is closed:
 * its thunk stands right before the reader's, and what it reads and gives is settled (group_close.c). Everything a
 * group reads from outside is made before the op that reads it joins, so open groups never depend on each other and any
 * two may be merged. When all ops have had their turn, closed groups are emitted as loops (group_emit.c). */
typedef enum group_end { /* why a group was closed */
                         GROUP_OPEN,
                         GROUP_READ, /* `closed_by` reads a value of it as an array */
                         GROUP_FULL, /* with `closed_by` it would have been too large */
                         GROUP_ALONE /* nothing is fused */
} group_end;
enum { GROUP_MAX_OPS = 160, GROUP_MAX_INPUTS = 56 };
typedef struct group {
    int64_t count;
    const ir_op **ops;
    size_t n, cap;
    size_t inputs; /* upper bound of what it reads */
    uint32_t merged_into; /* CPU_NONE while it is one of its own */
    uint8_t feature; /* of all its members; dense and blocked ones do not mix */
    const ir_type *like; /* blocked: a member's type; all have these dims */
    group_end end;
    const ir_op *closed_by;
    struct group_loop *loop; /* of a closed one: its thunk, what it reads and gives (group_int.h) */
} group;

struct cpu_builder {
    cpu_exec *exec;
    cpu_plan *plan;
    const ir_op *at; /* the op whose turn it is */
    const cpu_lowering *lowering;
    value_info *values; /* [ir_value.user - 1] */
    size_t n_values, cap_values;
    group *groups;
    size_t n_groups, cap_groups;
    uint32_t *ordinals; /* [ir_op.user - 1]: position of main's ops in the text */
    struct norm_fusion *fusions; /* layout.c */
    size_t n_fusions, cap_fusions;
    uint32_t *fusion_of; /* [ir_op.user - 1] */
    bool whole; /* the program is one thunk */
    bool kernels_on, fuse_on, layout_on; /* XT_PASSES */
    xt_status (*plan_inside)(cpu_exec *e); /* plans a program that runs inside a thunk: compile.c */
};

value_info *build_info(cpu_builder *b, const ir_value *v); /* NULL without memory */
size_t build_bytes_read(const cpu_builder *b, const ir_value *v,
                        /* of an input at that place: a broadcast one is smaller than what it looks like */
                        const cpu_ref *ref);
xt_status build_slot(cpu_builder *b, cpu_slot s, uint32_t *out);
xt_status build_by_table(cpu_builder *b, const ir_op *op, bool *out_done); /* asks the kernels of op's kind */

/* group*.c */
xt_status group_join(cpu_builder *b, const ir_op *op);
/* Whether an op that only names its operand anew (a reshape) would join the group that makes the operand. A group of
 * names alone would be a loop without results. */
bool group_takes_name(cpu_builder *b, const ir_op *op);
bool group_is_name(const ir_op *op); /* its result has its operand's elements in their order: no work for a loop */
/* Whether a concatenation would join a group that makes an operand of it. */
bool group_takes_turns(cpu_builder *b, const ir_op *op);
xt_status group_close(cpu_builder *b, uint32_t g, group_end end);
/* Rematerialises v of an open group: made by a vector program of its own that stores it as f32 and reads what the group
 * reads, and where that can be one that folds it, as vprog_fold says; the group stays open, and v counts as read inside
 * it. Left empty where v is none, or needs more than `ops`
 * ops, `slow` of them transcendental or divisions, or has other readers and reads more memory than it takes. */
typedef struct group_remat {
    fold_op fold; /* given: how rows of `run` are folded; the rest is filled */
    int64_t run;
    xt_dtype memory; /* given: what the program without a fold writes */
    vprog *vprog, *folding; /* folding: or NULL */
    const ir_value **in;
    cpu_ref *refs;
    size_t n_in;
    const ir_op *named;
    double flops, transcendentals;
} group_remat;
xt_status group_rematerialise(cpu_builder *b, const ir_value *v, size_t ops, size_t slow, group_remat *out);
/* d without inputs: they are c's */
xt_status group_remat_thunk(cpu_builder *b, const group_remat *c, const cpu_thunk_desc *d);
void group_remat_free(group_remat *c);
/* A thunk that fills a slot with v, a window on something dense (or an iota). */
xt_status group_emit_window(cpu_builder *b, const ir_value *v);
/* What fills v when it is read as an operand of a loop, without making it dense: its dense base must be there already.
 * False: read it dense. */
bool build_window(cpu_builder *b, const ir_value *v, cpu_ref *out_base, view *out_view);
/* The window that v is another name of, whose elements a loop may read in its place: they are the same in their order,
 * if not in v's dims. v itself where there is none. */
const ir_value *build_in_order(cpu_builder *b, const ir_value *v);
/* Makes sure build_window or v's dense form will work without emitting anything. */
xt_status build_prepare(cpu_builder *b, const ir_value *v);
bool build_is_lazy(const ir_op *op); /* its result stays lazy: nothing runs until a reader needs it dense */
bool build_is_alias(const ir_op *op); /* same bytes under another type: reshape, bitcast, barrier, ... */
const ir_value *build_alias_of(const ir_value *v);

#endif
