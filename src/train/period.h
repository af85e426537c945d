/* Periods carry their unit in the name. Optimizer steps are always valid; micro-batches must be whole windows of
 * accumulation. Pure functions. */
#ifndef XT_SRC_TRAIN_PERIOD_H
#define XT_SRC_TRAIN_PERIOD_H

#include "base/base.h"

/* Error unless `batches` (a period in micro-batches, 0 = unused) is a multiple of `accumulate`; `name` is the option
 * the user wrote. */
xt_status period_check(const char *name, int64_t batches, int64_t accumulate);
/* The period of rows in optimizer steps and micro-batches, for the header line: "a row every 10 steps = 40 batches". */
typedef struct period {
    int64_t steps, batches;
} period;
xt_status period_settle(int64_t accumulate, int64_t every_n_steps, int64_t every_n_batches, period *out);

/* The window that micro-batch `index` of an epoch of `batches` belongs to. The last window of an epoch may be short;
 * its loss is divided by its own size, not by `accumulate`. */
typedef struct window {
    int64_t first, size;
    bool begins, ends; /* this micro-batch is the window's first; its last */
} window;
window window_of(int64_t index, int64_t batches, int64_t accumulate);

#endif
