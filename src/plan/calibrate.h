/* What the CPU of this host reaches in a product of matrices and in moving memory, measured once a process on its own
 * plugin (some tenths of a second). */
#ifndef XT_SRC_PLAN_CALIBRATE_H
#define XT_SRC_PLAN_CALIBRATE_H

#include "plan/plan.h"

typedef struct plan_host {
    double flops_f32, flops_bf16, bytes_per_s; /* 0: could not be measured */
} plan_host;
plan_host plan_host_measure(void);

#endif
