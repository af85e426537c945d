/* A window sliding over f32: what the kernels of reduce_window and select_and_scatter share. */
#ifndef XT_SRC_CPU_KERNEL_WINDOW_H
#define XT_SRC_CPU_KERNEL_WINDOW_H

#include "cpu/kernel/kernel.h"
#include "cpu/vector/fold.h"

typedef struct window {
    int n;
    int64_t in[VIEW_MAX], out[VIEW_MAX], size[VIEW_MAX], stride[VIEW_MAX], dil[VIEW_MAX], low[VIEW_MAX];
    fold_op fold;
    bool pair; /* 2x2, stride 2, no padding, over the last two dims: pooling as most networks have it */
} window;

/* False when the operand is empty, dilated itself, of too many dims or another type. */
bool window_read(const ir_op *op, const ir_type *in, const ir_type *out, window *w);

/* kernel/pool_chwn.c: take windows over one or two dims with many neighbouring elements behind each position. */
xt_status cpu_lower_chwn_window(cpu_builder *b, const ir_op *op, const window *w, bool *out_done);
xt_status cpu_lower_chwn_scatter(cpu_builder *b, const ir_op *op, const window *w, bool *out_done);

#endif
