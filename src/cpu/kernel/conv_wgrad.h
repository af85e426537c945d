/* What kernel/conv.c hands to kernel/conv_wgrad.c: the gradient of a convolution's kernel, both images bf16 and
 * blocked. */
#ifndef XT_SRC_CPU_KERNEL_CONV_WGRAD_H
#define XT_SRC_CPU_KERNEL_CONV_WGRAD_H

#include "cpu/kernel/kernel.h"

typedef struct conv_wgrad_problem {
    int64_t n, in[3], out[3]; /* images; features, rows and columns of what is read and of what comes from above */
    int64_t size[2], stride[2], low[2]; /* the window; positions before the image */
    int64_t w_at, w_step[4]; /* of the kernel in memory: its first tap; out's feature, in's feature, row, column */
    size_t zeros; /* bytes of a kernel of which these taps are a part, the others' gradient is zero; 0: these are all */
} conv_wgrad_problem;

xt_status cpu_build_conv_wgrad(cpu_builder *b, const conv_wgrad_problem *p, const ir_op *op,
                               const ir_value *const in[2]);

#endif
