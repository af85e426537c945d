/* What kernel/conv.c hands to kernel/wino.c: a 3x3 convolution of stride 1 whose images lie blocked. */
#ifndef XT_SRC_CPU_KERNEL_WINO_H
#define XT_SRC_CPU_KERNEL_WINO_H

#include "cpu/kernel/conv_direct.h"

typedef enum wino_form { WINO_FORWARD, WINO_DATA, WINO_WEIGHTS } wino_form;
typedef struct wino_problem {
    wino_form form;
    bool half; /* bf16, else f32 */
    int64_t n;
    struct wino_size {
        int64_t c, h, w;
    } in, out; /* what is read tile by tile, and what has one pixel a product; of WEIGHTS, the forward convolution's */
    int64_t y0, x0; /* where the window of out's first pixel begins in `in` */
    int64_t out_step, in_step, tap_step[2]; /* of the kernel in memory, by out's and in's features and by tap */
    conv_direct *direct; /* the same computed directly, where results are not finite */
} wino_problem;

/* `in`: the image and the kernel; of WEIGHTS, both images. Takes p->direct over, also on failure. */
xt_status cpu_build_wino(cpu_builder *b, const wino_problem *p, const ir_op *op, const ir_value *const in[2]);

#endif
