/* Inside the partitioner (lower_spmd.c): one program for all devices becomes the program of each device.
 *
 * 1. Rules (spmd_rules.c). The dims of an op's operands and results are made of *factors*: the independent directions
 *    of its iteration space. A matrix product [B,I] x [I,O] has three: B and O pass from operands to result, I is
 *    reduced. A dim that is made of no factor must be whole. A reshape splits dims into several factors, most
 *    significant first. An op divided along a passing factor is the same op on smaller operands; along a reduced
 *    factor, each device gets a partial result that is still to be combined.
 * 2. Propagation (spmd_propagate.c). Shardings of arguments, results and annotations flow along equal factors, forward
 *    and backward, until nothing changes. What a loop carries has one form before, in and after it; a branch's results
 *    have the form of the op's; values of one sharding group (shard_alike in JAX) have one form.
 * 3. Emission (lower_spmd.c). In program order, each op chooses along which factors it is divided (the least bytes
 *    moved), gets its operands in that form (spmd_reshard.c makes the collectives), and is built on the parts. An op
 *    without a rule gets whole operands and runs alike on all devices: always right, counted, and reported. Loops and
 *    branches are built with their regions (spmd_control.c).
 *
 * 4. A dim that its devices do not divide has parts of ceil(n / parts) elements, the last ones filled up with anything.
 * So may only a factor that is one whole dim wherever it stands, as the place of a dim's element says then on which
 * device it is. What fills up is never read: a factor that is reduced is masked with what changes nothing, and a form
 * is left by all its axes at once, as parts of parts would lie elsewhere.
 *
 * Along an axis devices may also hold summands of a value (`unreduced`): ops that are linear pass them on where the
 * program wants their result so (spmd_linear.c), others get the sum. A program whose devices stand in an order of its
 * own is partitioned over their places in that order.
 *
 * Source of the idea of factors: Shardy's op sharding rules; of the rest: Xu et al. 2021, GSPMD. */
#ifndef XT_SRC_PASS_SPMD_H
#define XT_SRC_PASS_SPMD_H

#include "ir/sharding.h"
#include "pass/pass.h"

enum { SPMD_DIM_FACTORS = 4 };
typedef struct spmd_dim { /* what one dim is made of, most significant first; n 0: it must be whole */
    int n;
    int16_t factor[SPMD_DIM_FACTORS];
} spmd_dim;
typedef struct spmd_factor {
    int64_t size;
    bool reduced;
    bool even; /* only devices that divide it evenly may divide it */
    bool indexed; /* the dim that a gather's or scatter's indices count: each device looks into its own part */
} spmd_factor;
typedef struct spmd_rule {
    bool known; /* false: no rule; no tensor has a factor */
    ir_opcode combine; /* joins what reduced factors leave partial */
    spmd_factor *factors;
    size_t n_factors, cap_factors;
    size_t n_tensors; /* operands, then results */
    const ir_value **values;
    const ir_type **types;
    spmd_dim **dims; /* [tensor][dim] */
    arena *mem;
    bool failed;
} spmd_rule;
xt_status spmd_rule_make(arena *mem, const ir_op *op, spmd_rule **out); /* spmd_rules.c */
/* values of one type that are to have one form */
xt_status spmd_rule_tie(arena *mem, size_t n, const ir_value *const *values, spmd_rule **out);
bool spmd_may_divide(const spmd_factor *f, int64_t parts);
ir_opcode spmd_region_op(const ir_op *op); /* the one binary op of region 0 on its two arguments, or OP_COUNT */

/* Which axes divide which factors. */
typedef struct spmd_assign {
    int16_t factor[IR_SHARD_AXES]; /* -1: none */
    uint8_t pos[IR_SHARD_AXES];
} spmd_assign;
spmd_assign spmd_assign_none(void);
int spmd_assign_axes(const spmd_assign *a, int factor, int8_t out[IR_SHARD_AXES]);
/* What a tensor's sharding says about the factors, as far as it can be said; and back, as far as tiles of the
 * tensor can say it. */
spmd_assign spmd_project(const ir_grid *g, const spmd_rule *r, size_t tensor, const ir_sharding *s);
ir_sharding spmd_unproject(const ir_grid *g, const spmd_rule *r, size_t tensor, const spmd_assign *a);

typedef struct spmd_value { /* of the program before partitioning */
    ir_sharding want;
    bool fixed; /* said by the program */
    uint32_t open_dims; /* where it may be divided further all the same */
    bool manual; /* inside a region partitioned by hand: its type is one device's already */
    ir_value *now; /* in the new program */
    ir_sharding have; /* its form */
    /* a form that was made of it, after how many ops and in which region: used again while it is young and there */
    ir_value *other;
    ir_sharding other_form;
    size_t other_born, other_region;
} spmd_value;
typedef struct spmd_op {
    ir_op *op;
    spmd_rule *rule;
    bool manual; /* reads or is part of what is partitioned by hand */
    bool control; /* a loop or branch whose regions are partitioned too; their ops follow */
    bool turns; /* a dim is turned by whole parts (spmd_turn.c): its operands are skipped */
    bool skipped;
    spmd_rule *
        *ties; /* of a loop or branch, a turn, or of the first op that names a group: values that have one form */
    size_t n_ties;
} spmd_op;
enum { SPMD_DEPTH = 32 }; /* of loops and branches in each other; what lies deeper is whole */
typedef struct spmd {
    ir_module *m;
    ir_func *f;
    arena *mem;
    ir_grid grid;
    uint64_t epoch;
    spmd_value *values;
    size_t n_values;
    spmd_op *ops; /* of the body, in order, a region's behind its op */
    size_t n_ops;
    const int64_t *order, *place; /* the device at each place of the grid, and back; NULL: 0, 1, ... */
    /* emission */
    ir_builder b;
    ir_value *digits[IR_SHARD_AXES]; /* i32: this device's place along an axis; made at the first need */
    ir_value *partition;
    size_t emitted, at; /* ops built; the next of `ops` */
    size_t open[SPMD_DEPTH], n_open, n_regions; /* the regions around what is built */
    pass_spmd_stats *stats;
    bool keep_divided; /* as in pass_ctx */
    bool by_name; /* the program's texts name devices one by one; clients compare texts */
} spmd;
spmd_value *spmd_value_of(const spmd *s, const ir_value *v);
xt_status spmd_propagate(spmd *s); /* spmd_propagate.c */
/* spmd_emit.c: the value in the form `to`, made of what there is of it; and a region that stays as it is, with whole
 * values of the program around it. */
ir_value *spmd_in_form(spmd *s, const ir_value *old, const ir_sharding *to);
void spmd_whole_captures(spmd *s, ir_block *b);
xt_status spmd_emit(spmd *s, ir_op *op, const spmd_rule *r);
/* spmd_control.c: loops, branches, barriers. spmd_is_control: what can be partitioned with its regions. */
bool spmd_is_control(const ir_op *op);
xt_status spmd_tie(spmd *s, spmd_op *o);
xt_status spmd_emit_control(spmd *s, spmd_op *o);
xt_status spmd_emit_barrier(spmd *s, const ir_op *op);
xt_status spmd_find_turns(spmd *s); /* spmd_turn.c: dims that are turned; marks ops, and ties what is turned */
xt_status spmd_emit_turn(spmd *s, spmd_op *o);
xt_status spmd_emit_op(spmd *s, spmd_op *o); /* lower_spmd.c: the next of s->ops, with its regions; not a return */
/* spmd_linear.c: whether op's first result is a sum over devices when operands are: which operands have to be summands
 * (a set), `any`: exactly one of them. */
typedef struct spmd_linear {
    unsigned operands;
    bool one;
} spmd_linear;
spmd_linear spmd_linear_of(const ir_op *op);
/* spmd_inspect.c: a call that wants to know how its operand is divided, and telling it. */
bool spmd_is_inspect(const ir_op *op);
xt_status spmd_inspect(const ir_op *op, const char *sharding);
bool spmd_is_number(const ir_value *v, double want); /* spmd_rules.c: v is this number everywhere */
/* Takes a value whose devices stand in the order of `text` to the order of the program, or (out) the
 * other way round. */
ir_value *spmd_reorder(spmd *s, ir_value *v, const char *text, bool out);
/* spmd_reshard.c: v, a tensor of whole type `type`, from one form to another; NULL with s->b.status after a failure. */
ir_value *spmd_reshard(spmd *s, ir_value *v, const ir_type *type, ir_sharding from, const ir_sharding *to);
/* Combines a partial value over `axes` (a set); along axes that `want` divides next it is left divided. *have is its
 * form, before and after. */
ir_value *spmd_combine(spmd *s, ir_value *v, const ir_type *type, ir_opcode combine, unsigned axes, ir_sharding *have,
                       const ir_sharding *want);
/* Each device's v goes to another: pairs of devices, [devices, 2], by place. */
ir_value *spmd_permute(spmd *s, ir_value *v, const int64_t *pairs);
ir_value *spmd_axis_index(spmd *s, int axis); /* this device's place along an axis, i32 */
/* v, a part in this form of a value of type `type`, with `fill` (of its element type, rank 0) in dim `dim` behind the
 * whole dim's end. */
ir_value *spmd_masked(spmd *s, ir_value *v, const ir_type *type, const ir_sharding *form, int dim, ir_value *fill);
/* This device's number among those along `axes` (most significant first), i32. */
ir_value *spmd_index(spmd *s, const int8_t *axes, int n);

xt_status spmd_merge(spmd *s); /* spmd_merge.c: all-reduces that can meet in one */
xt_status spmd_lower_norm(ir_module *m, ir_block *block); /* lower_spmd_norm.c: batch norm in ops that have rules */

#endif
