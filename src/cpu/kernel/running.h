/* Running folds: a reduce_window whose window is as long as the operand's dim and padded on one side, so that each
 * result folds all that lies before it (or behind it). scan.c has loops for sums and extremes, running.c takes any
 * region. */
#ifndef XT_SRC_CPU_KERNEL_RUNNING_H
#define XT_SRC_CPU_KERNEL_RUNNING_H

#include "cpu/kernel/kernel.h"
#include "cpu/kernel/region_rows.h"

/* The one dim whose window covers it, padded by all but one on one side; `reverse`: on the side behind. */
bool running_dim(const ir_op *op, int64_t *dim, bool *reverse);

/* The operand is [outer, n, inner], n cut into segments where there are few lines. */
typedef struct running {
    int64_t outer, n, inner, segments, segment;
    bool reverse;
} running;
/* False where op is no running fold. */
bool running_of(const ir_op *op, running *out);

typedef struct running_fold {
    const running *shape;
    const region_rows *region;
    size_t n, elem[FOLD_MOST]; /* operands; bytes in memory */
    xt_dtype wide; /* 0, or the type of narrow floats that are folded in f32 */
} running_fold;
size_t running_scratch(const running_fold *f, int threads);
/* *out_done is false, and nothing written, where the initial values are no start of a fold: those of the padding would
 * change them. */
xt_status running_run(const running_fold *f, const cpu_call *c, void *scratch, bool *out_done);

#endif
