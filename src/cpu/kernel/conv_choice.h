/* Which of oneDNN's primitives computes a convolution, over operands that lie as given or in layouts of its choice:
 * by an estimate that follows from shapes. */
#ifndef XT_SRC_CPU_KERNEL_CONV_CHOICE_H
#define XT_SRC_CPU_KERNEL_CONV_CHOICE_H

#include "cpu/kernel/conv_form.h"

/* Ways of laying the operands out; oneDNN always chooses the kernel's. */
typedef enum conv_layout { LAYOUT_GIVEN, LAYOUT_ANY, LAYOUT_CHANNELS_LAST, LAYOUT_WINOGRAD } conv_layout;
typedef struct conv_choice {
    dnnl_prim prim; /* the caller's to free */
    dnnl_memory_desc_t used[3]; /* how the primitive wants SRC, WEI, DST */
    double seconds; /* estimate */
    conv_layout layout;
    bool ok; /* false: oneDNN has none, which is no error */
    bool by_threads; /* its blocks, and with them the order of sums, follow the number of threads it is made for */
} conv_choice;

xt_status conv_try(const conv_desc *d, conv_layout layout, double flops, int threads, conv_choice *out);
/* The best of the layouts up to `last`. */
xt_status conv_choose(const conv_desc *d, conv_layout last, double flops, int threads, conv_choice *out);

#endif
