/* Which of oneDNN's three forms a convolution is, and its problem as that form sees it: plain windows (forward), the
 * gradient of the input (data) or of the kernel (weights). The dims of a stablehlo.convolution become strides of
 * descriptors, so no operand is transposed. Then which kernel such a problem is for, by rules on shapes. */
#ifndef XT_SRC_CPU_KERNEL_CONV_FORM_H
#define XT_SRC_CPU_KERNEL_CONV_FORM_H

#include "cpu/kernel/conv_read.h"
#include "cpu/kernel/conv_wgrad.h"
#include "cpu/kernel/wino.h"
#include "cpu/vector/dnnl_util.h"

typedef enum conv_form { CONV_FORWARD, CONV_DATA, CONV_WEIGHTS } conv_form;
enum { SRC, WEI, DST };
typedef struct conv_desc {
    conv_form form;
    dnnl_memory_desc_t md[3]; /* of SRC, WEI, DST */
    dnnl_dims_t strides, dilates, pad_l, pad_r;
    int input[2], output; /* which of them the op's operands and its result are */
} conv_desc;

/* False: the convolution has not this form. */
bool conv_as_forward(const conv *c, conv_desc *d);
/* the kernel must come turned around already (or be turned back by the caller) */
bool conv_as_data(const conv *c, conv_desc *d);
bool conv_as_weights(const conv *c, conv_desc *d);
/* Leaves out what of the kernel only ever meets padding: on small images that is most of it. False: nothing
 * to leave out. */
bool conv_crop_kernel(conv_desc *d);

/* The same problem for kernel/wino.c and for kernel/conv_wgrad.c; false where it is not for them. */
bool conv_wino_of(const conv_desc *d, wino_problem *p);
bool conv_wgrad_of(const conv_desc *d, conv_wgrad_problem *p);
bool conv_winograd_is_meant(const conv_desc *d);

#endif
