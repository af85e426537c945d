/* Logging and metrics: accumulated on the device, read in one packed transfer when a row is due, written by a logger thread. A log call
 * never waits, never compiles (after the first step) and never executes anything by itself. */
#ifndef XTRAIN_METRICS_H
#define XTRAIN_METRICS_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_log_opts {
    size_t struct_size;
    xt_switch on_step;   /* default: on in training, off in validation */
    xt_switch on_epoch;  /* default: off in training, on in validation */
    xt_reduce reduce;    /* default mean, weighted by batch size; up to XT_LAST */
    xt_switch sync_dist; /* default off: one collective for all metrics when a row is due */
    xt_switch prog_bar;  /* default off; shows the newest value that has arrived, never reads one */
    int64_t batch_size;  /* weight of the mean; 0 = the current batch's size */
} xt_log_opts;
#define xt_log(name, ...) XT_LOG_(name, __VA_ARGS__, )
#define XT_LOG_(name, t, ...) xt_log_at(XT_HERE, name, t, XT_OPTS(xt_log_opts, __VA_ARGS__))
XT_API void xt_log_at(const xt_src *src, const char *name, xt_tensor t, xt_log_opts o);
#define xt_log_value(name, ...) XT_LOG_VALUE_(name, __VA_ARGS__, )
#define XT_LOG_VALUE_(name, v, ...) xt_log_value_at(XT_HERE, name, v, XT_OPTS(xt_log_opts, __VA_ARGS__))
XT_API void xt_log_value_at(const xt_src *src, const char *name, double v, xt_log_opts o);

/* A metric is a sum of numerators over a sum of denominators on the device, with a name of its own when logged. */
typedef struct xt_metric {
    xt_tensor numerator, denominator; /* one element each */
} xt_metric;
#define xt_accuracy(out, labels) xt_accuracy_at(XT_HERE, out, labels) /* [N,C], int [N]: correct / N */
XT_API xt_metric xt_accuracy_at(const xt_src *src, xt_tensor out, xt_tensor labels);
/* More of the kind; all merge over batches and ranks by adding numerators and denominators. A batch without the class counts for nothing. */
#define xt_topk_accuracy(out, labels, k) xt_topk_accuracy_at(XT_HERE, out, labels, k) /* the label is among the k largest */
#define xt_mse(out, target) xt_mse_at(XT_HERE, out, target)                           /* mean squared difference over all elements */
#define xt_mae(out, target) xt_mae_at(XT_HERE, out, target)
#define xt_precision(out, labels, cls) xt_precision_at(XT_HERE, out, labels, cls)     /* of class cls, by argmax */
#define xt_recall(out, labels, cls) xt_recall_at(XT_HERE, out, labels, cls)
#define xt_f1(out, labels, cls) xt_f1_at(XT_HERE, out, labels, cls)
XT_API xt_metric xt_topk_accuracy_at(const xt_src *src, xt_tensor out, xt_tensor labels, int k);
XT_API xt_metric xt_mse_at(const xt_src *src, xt_tensor out, xt_tensor target);
XT_API xt_metric xt_mae_at(const xt_src *src, xt_tensor out, xt_tensor target);
XT_API xt_metric xt_precision_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls);
XT_API xt_metric xt_recall_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls);
XT_API xt_metric xt_f1_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls);
#define xt_log_metric(name, ...) XT_LOG_METRIC_(name, __VA_ARGS__, )
#define XT_LOG_METRIC_(name, m, ...) xt_log_metric_at(XT_HERE, name, m, XT_OPTS(xt_log_opts, __VA_ARGS__))
XT_API void xt_log_metric_at(const xt_src *src, const char *name, xt_metric m, xt_log_opts o);
XT_API void xt_log_every_n_steps(int64_t n);         /* plain loops: row period in optimizer steps (default 50) */

#ifdef __cplusplus
}
#endif
#endif
