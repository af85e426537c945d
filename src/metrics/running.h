/* Running means as checkpoints keep them: by their order among those alive, for they have no names. On the thread
 * that trains. */
#ifndef XT_SRC_METRICS_RUNNING_H
#define XT_SRC_METRICS_RUNNING_H

#include "lazy/lazy.h"

size_t running_count(void);
xt_tensor running_ring(size_t i); /* [window + 1] of f32, behind the values how many there have been */
/* The value of the i-th, n floats; of one that is not made yet it waits until it is. One of another window
 * begins anew. */
xt_status running_restore(size_t i, const float *ring, int64_t n);
void running_forget_waiting(void);

#endif
