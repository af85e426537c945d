/* Collectives over the device's group: as thunks, and as the interpreter's hook for those inside loops and branches. */
#ifndef XT_SRC_CPU_KERNEL_COLL_H
#define XT_SRC_CPU_KERNEL_COLL_H

#include "cpu/kernel/kernel.h"

/* interp_hooks.collective; `user` is the cpu_device. */
xt_status cpu_coll_hook(void *user, const ir_op *op, const array *in, array *out);
/* interp_hooks.custom_call (kernel/callback.c). */
xt_status cpu_custom_call_hook(void *device, const ir_op *op, const array *in, array *out);

#endif
