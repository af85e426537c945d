/* Blocked images, and what runs on them as one thunk.
 *
 * A value of rank 4 may lie as [N, C/16, H, W, 16] instead of row-major (with AVX2: 8 for 16): one vector is one pixel
 * of 16 features, which is what oneDNN's convolutions (Winograd's among them), normalisation and pooling want. layout.c
 * decides which values do, by connected region, and where the ops around a batch norm become part of its thunk; walk.c
 * asks it op by op. Bytes are the same in both layouts.
 *
 * A value has its dense place, its blocked place, or both: whoever needs the other one gets a copy (a
 * "reorder" thunk). */
#ifndef XT_SRC_CPU_PLAN_LAYOUT_H
#define XT_SRC_CPU_PLAN_LAYOUT_H

#include "cpu/plan/build_int.h"

/* A batch norm with its surroundings. Values named here are read or written by the thunk; what lies between them is
 * never in memory. */
typedef struct norm_fusion {
    const ir_op *norm; /* batch_norm_training or batch_norm_grad */
    const ir_value *x; /* its operand, or the bf16 value that is converted to it */
    bool relu;
    const ir_value *residual; /* training: added before relu; NULL: none */
    const ir_value *g[2]; /* grad: the gradient, or the two it is the sum of; g[1] may be NULL */
    /* grad, with relu: what relu gave; the gradient counts where it is positive. NULL: where x, normalised with
     * this offset, is */
    const ir_value *z;
    const ir_value *offset;
    const ir_value *masked; /* grad: the gradient after relu's mask, when others read it too */
    const ir_value *out, *narrow; /* the result, and the same as bf16; either may be NULL */
    const ir_value *covers[6]; /* results of the ops that it stands for, besides norm */
    size_t n_covers;
} norm_fusion;

/* The stage layout decides; nothing has been lowered yet. Afterwards value_info.feature tells blocked values. */
/* True when op is part of a fusion: *out is the one to emit now, or NULL when there is nothing to do at this op. */
bool layout_fusion_at(const cpu_builder *b, const ir_op *op, const norm_fusion **out);

/* Features of a block. Only where blk_get() gives loops over them. */
int64_t layout_block(void);
/* The dim of v that is blocked, or -1. */
int layout_feature(cpu_builder *b, const ir_value *v);
/* An error where v has no blocked layout: nothing may be read or written as if it had one. */
xt_status layout_check(cpu_builder *b, const ir_value *v);
/* v's elements in blocked order: [N, C/16, spatial, spatial, 16] (8 with AVX2). `v` has the 4 dims of the array. */
view layout_blocked_view(const view *v, int feature);
/* 1 + the feature dim of the images that the elementwise op goes over, 0: it works on dense arrays. */
uint8_t layout_of_loop(cpu_builder *b, const ir_op *op);
/* v is read as a whole image of these dims by a loop: it is no constant of one value and no window on something. */
bool layout_is_image(const ir_value *v, const ir_type *like);
/* The place of v in the blocked layout, copied there if need be. */
xt_status layout_blocked(cpu_builder *b, const ir_value *v, cpu_ref *out);
/* Makes v's dense place from its blocked one. */
xt_status layout_make_dense(cpu_builder *b, const ir_value *v);

/* mask.c */
bool layout_is_zero(const ir_value *v);
const ir_value *layout_relu_of(const ir_op *op); /* x of max(x, 0), or NULL */
const ir_value *layout_mask_of(const ir_op *op); /* x of x > 0, or NULL */

/* a reduce_window or select_and_scatter whose images lie blocked */
bool layout_is_window(cpu_builder *b, const ir_op *op);

#endif
