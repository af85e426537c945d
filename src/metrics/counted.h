/* Labels of metrics over classes: which a metric takes, and which samples it counts, those whose label is not the one
 * to ignore. */
#ifndef XT_SRC_METRICS_COUNTED_H
#define XT_SRC_METRICS_COUNTED_H

#include <xtrain/metrics.h>

#include "lazy/lazy.h"

/* i1 of the labels' shape; ignore_index as xt_metric_opts has it. */
xt_tensor metric_counted(const xt_src *src, xt_tensor labels, int64_t ignore_index);

/* Labels are integers, one for each row of `out`, [...,classes], and classes of it, as far as the host has seen them
 * (under XT_DEBUG=bounds: as the boundary will), or `ignore_index`: the rules of the losses over classes, since a label
 * that is none would merely never be hit. False with the error pending. */
bool metric_labels_fit(const xt_src *src, const char *what, xt_tensor out, xt_tensor labels, int64_t ignore_index);
/* The same of labels of other shapes, that the metric has looked at itself. */
bool metric_classes_fit(const xt_src *src, const char *what, xt_tensor labels, int64_t classes, int64_t ignore_index);

#endif
