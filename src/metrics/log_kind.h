/* log_kind.c. */
#ifndef XT_SRC_METRICS_LOG_KIND_H
#define XT_SRC_METRICS_LOG_KIND_H

#include <xtrain/metrics.h>

#include "base/base.h"

typedef struct log_kind {
    bool share; /* of xt_log_metric: numerator over denominator; `arg` is metric_share's */
    xt_reduce reduce;
    int64_t count; /* of sums; 1 without `finish` */
    xt_metric_finish finish;
    double arg;
} log_kind;
enum { LOG_KIND_BYTES = 320 };
/* "xt_topk_accuracy with k = 3", "a value with XT_MAX"; equal for the same kind in all processes of a program. Gives
 * out. */
const char *log_kind_text(const log_kind *k, char out[static LOG_KIND_BYTES]);
double log_kind_finish(const log_kind *k, const double *sums); /* by the program's function */
bool log_kind_same(const log_kind *a, const log_kind *b); /* but for how values are reduced */

#endif
