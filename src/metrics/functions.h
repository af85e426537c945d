/* The library's own functions of sums (xt_metric.finish), by the names that checkpoints have for them: a resumed run
 * goes on with their sums before they are logged again. */
#ifndef XT_SRC_METRICS_FUNCTIONS_H
#define XT_SRC_METRICS_FUNCTIONS_H

#include <xtrain/metrics.h>

typedef struct metric_function {
    const char *name; /* in checkpoints: stays as it is */
    xt_metric_finish finish;
    bool (*takes)(int64_t n, double arg); /* n sums and this argument: a file's are anything */
} metric_function;
extern const metric_function metric_auroc, metric_class_score, metric_confusion_matrix, metric_perplexity, metric_r2;

/* "" for a function of the program's own, and for none */
const char *metric_function_name(xt_metric_finish finish);
/* NULL: there is none of this name that takes n sums and arg */
xt_metric_finish metric_function_named(const char *name, int64_t n, double arg);

#endif
