/* The library's own metrics. Functions of sums (xt_metric.finish) have the names that checkpoints have for them: a
 * resumed run goes on with their sums before they are logged again. A numerator over a denominator says in `arg`, which
 * nothing else uses there, which metric it is. */
#ifndef XT_SRC_METRICS_FUNCTIONS_H
#define XT_SRC_METRICS_FUNCTIONS_H

#include <xtrain/metrics.h>

typedef struct metric_function {
    const char *name; /* in checkpoints: stays as it is */
    xt_metric_finish finish;
    /* n sums and this argument, as metric_arg gives it: a file's are anything */
    bool (*takes)(int64_t n, double arg);
    void (*text)(int64_t n, double arg, char *out, size_t size); /* as the program calls it: "xt_r2 of 3 outputs" */
} metric_function;
extern const metric_function metric_auroc, metric_class_score, metric_confusion_matrix, metric_perplexity, metric_r2;

/* "" for a function of the program's own, and for none */
const char *metric_function_name(xt_metric_finish finish);
/* NULL: there is none of this name that takes n sums and arg */
xt_metric_finish metric_function_named(const char *name, int64_t n, double arg);
bool metric_function_text(xt_metric_finish finish, int64_t n, double arg, char *out,
                          size_t size); /* false: it is none of them */

/* Which label a metric leaves out is part of what it is: `arg` with it, and what `arg` was. */
double metric_ignoring(double arg, int64_t ignore_index);
double metric_arg(double arg);
void metric_ignored_text(double arg, char *out, size_t size); /* " without label 255"; "" of the default */

typedef enum metric_share {
    METRIC_SHARE_OWN, /* the program's */
    METRIC_SHARE_ACCURACY,
    METRIC_SHARE_TOPK, /* number: k */
    METRIC_SHARE_MSE,
    METRIC_SHARE_MAE,
    METRIC_SHARE_PRECISION, /* number: the class, as of the next two */
    METRIC_SHARE_RECALL,
    METRIC_SHARE_F1
} metric_share;
double metric_share_arg(metric_share kind, int64_t number); /* of the kinds without a number: 0 */
double metric_share_settled(double arg); /* any other than such a one is 0: METRIC_SHARE_OWN */
void metric_share_text(double arg, char *out, size_t size);

#endif
