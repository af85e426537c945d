/* A convolution read from its op: what the kernels share. */
#ifndef XT_SRC_CPU_KERNEL_CONV_READ_H
#define XT_SRC_CPU_KERNEL_CONV_READ_H

#include "cpu/kernel/kernel.h"

#define SPATIAL_MAX 3
typedef struct conv { /* a convolution by logical dims */
    int n; /* spatial dims */
    int64_t lhs_b, lhs_f, rhs_i, rhs_o, out_b, out_f; /* dim numbers */
    const int64_t *lhs_s, *rhs_s, *out_s;
    int64_t stride[SPATIAL_MAX], low[SPATIAL_MAX], high[SPATIAL_MAX], lhs_dil[SPATIAL_MAX], rhs_dil[SPATIAL_MAX];
    bool reverse[SPATIAL_MAX];
    int64_t groups, batch_groups;
    const ir_type *lhs, *rhs, *out;
    view lv, rv, ov;
} conv;

bool conv_read(const ir_op *op, conv *out); /* false: empty, of unknown shape, or more spatial dims than SPATIAL_MAX */
/* The kernel operand before the program turned it around over all spatial dims, or NULL. */
const ir_value *conv_unreversed(const conv *c, const ir_value *rhs);
bool conv_is_reversed(const conv *c); /* by window_reversal, in all spatial dims */
bool conv_is_straight(const conv *c); /* in none */

/* kernel/conv_chwn.c: takes convolutions of f32 whose batch is the innermost dim. */
xt_status cpu_lower_conv_chwn(cpu_builder *b, const ir_op *op, const conv *c, bool *out_done);

#endif
