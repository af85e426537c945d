/* The direct form of a convolution that is computed by Winograd's algorithm, for results that are not finite
 * (conv_finite.h). It is made when first wanted and kept: a network whose numbers stay finite never pays for it.
 * Programs run on several devices at once share it. */
#ifndef XT_SRC_CPU_KERNEL_CONV_DIRECT_H
#define XT_SRC_CPU_KERNEL_CONV_DIRECT_H

#include "cpu/kernel/kernel.h"

typedef struct conv_direct conv_direct;
/* Writes the thunk's result anew, by a direct convolution. */
xt_status conv_direct_run(conv_direct *p, const cpu_call *c);
/* The same for the gradient of a kernel in c->out[0], when it is not finite. */
xt_status conv_direct_unless_finite(conv_direct *p, const cpu_call *c);
void conv_direct_free(conv_direct *p); /* NULL is fine */

#endif
