/* Which samples a metric counts: those whose label is not the one to ignore. */
#ifndef XT_SRC_METRICS_COUNTED_H
#define XT_SRC_METRICS_COUNTED_H

#include <xtrain/metrics.h>

#include "lazy/lazy.h"

/* i1 of the labels' shape; ignore_index as xt_metric_opts has it. */
xt_tensor metric_counted(const xt_src *src, xt_tensor labels, int64_t ignore_index);

#endif
