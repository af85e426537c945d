/* Inside the partitioner (lower_spmd.c): one program for all devices becomes the program of each device.
 *
 * 1. Rules (spmd_rules.c). The dims of an op's operands and results are made of *factors*: the independent directions of its iteration space. A
 *    matrix product [B,I] x [I,O] has three: B and O pass from operands to result, I is reduced. A dim that is made of no factor must be whole. A
 *    reshape splits dims into several factors, most significant first. An op divided along a passing factor is the same op on smaller operands;
 *    along a reduced factor, each device gets a partial result that is still to be combined.
 * 2. Propagation (spmd_propagate.c). Shardings of arguments, results and annotations flow along equal factors, forward and backward, until nothing
 *    changes.
 * 3. Emission (lower_spmd.c). In program order, each op chooses along which factors it is divided (the least bytes moved), gets its operands in that
 *    form (spmd_reshard.c makes the collectives), and is built on the parts. An op without a rule gets whole operands and runs alike on all devices:
 *    always right, counted, and reported.
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
    bool indexed; /* the dim that a gather's or scatter's indices count: each device looks into its own part */
} spmd_factor;
typedef struct spmd_rule {
    bool known;         /* false: no rule; no tensor has a factor */
    ir_opcode combine;  /* joins what reduced factors leave partial */
    spmd_factor *factors;
    size_t n_factors, cap_factors;
    size_t n_tensors;   /* operands, then results */
    const ir_type **types;
    spmd_dim **dims;    /* [tensor][dim] */
    arena *mem;
    bool failed;
} spmd_rule;
xt_status spmd_rule_make(arena *mem, const ir_op *op, spmd_rule **out); /* spmd_rules.c */
ir_opcode spmd_region_op(const ir_op *op); /* the one binary op of region 0 on its two arguments, or OP_COUNT */

/* Which axes divide which factors. */
typedef struct spmd_assign {
    int16_t factor[IR_SHARD_AXES]; /* -1: none */
    uint8_t pos[IR_SHARD_AXES];
} spmd_assign;
spmd_assign spmd_assign_none(void);
int spmd_assign_axes(const spmd_assign *a, int factor, int8_t out[IR_SHARD_AXES]);
/* What a tensor's sharding says about the factors, as far as it can be said; and back, as far as tiles of the tensor can say it. */
spmd_assign spmd_project(const ir_grid *g, const spmd_rule *r, size_t tensor, const ir_sharding *s);
ir_sharding spmd_unproject(const ir_grid *g, const spmd_rule *r, size_t tensor, const spmd_assign *a);

typedef struct spmd_value { /* of the program before partitioning */
    ir_sharding want;
    bool fixed; /* said by the program */
    bool manual; /* inside a region partitioned by hand: its type is one device's already */
    ir_value *now; /* in the new program */
    ir_sharding have; /* its form */
    ir_value *other; /* a form that was made of it, and after how many ops: used again while it is young */
    ir_sharding other_form;
    size_t other_born;
} spmd_value;
typedef struct spmd {
    ir_module *m;
    ir_func *f;
    arena *mem;
    ir_grid grid;
    uint64_t epoch;
    spmd_value *values;
    size_t n_values;
    ir_op **ops; /* of the body, in order */
    spmd_rule **rules;
    size_t n_ops;
    /* emission */
    ir_builder b;
    ir_value *digits[IR_SHARD_AXES]; /* i32: this device's place along an axis; made at the first need */
    ir_value *partition;
    size_t emitted;
    pass_spmd_stats *stats;
    bool keep_divided; /* as in pass_ctx */
} spmd;
spmd_value *spmd_value_of(const spmd *s, const ir_value *v);
xt_status spmd_propagate(spmd *s); /* spmd_propagate.c */
/* spmd_reshard.c: v, a tensor of whole type `type`, from one form to another; NULL with s->b.status after a failure. */
ir_value *spmd_reshard(spmd *s, ir_value *v, const ir_type *type, ir_sharding from, const ir_sharding *to);
/* Combines a partial value over `axes` (a set); along axes that `want` divides next it is left divided. *have is its form, before and after. */
ir_value *spmd_combine(spmd *s, ir_value *v, const ir_type *type, ir_opcode combine, unsigned axes, ir_sharding *have, const ir_sharding *want);
/* This device's number among those along `axes` (most significant first), i32. */
ir_value *spmd_index(spmd *s, const int8_t *axes, int n);

xt_status spmd_merge(spmd *s);                           /* spmd_merge.c: all-reduces that can meet in one */
xt_status spmd_lower_norm(ir_module *m, ir_func *f); /* lower_spmd_norm.c: batch norm in ops that have rules */

#endif
