/* Logging and metrics: accumulated on the device, read in one packed transfer when a row is due, written by a logger
 * thread. A log call never waits, never compiles (after the first step; under an `if`, when that first holds) and never
 * executes anything by itself. */
#ifndef XTRAIN_METRICS_H
#define XTRAIN_METRICS_H

#include <xtrain/losses.h>

#ifdef __cplusplus
extern "C" {
#endif
/* xt_log("val/loss", loss, .sync_dist = XT_ON): a tensor of one element under a name. The same name must have the same
 * options everywhere. Logged again in the same step it has one more value, as if there were one more step in the epoch:
 * a mean has both with their weights, a sum, the least and the most both, XT_LAST the later one. Errors are
 * xt_error()'s, with the line of the call. */
#define XT_DEFAULTS_xt_log_opts(is) is(batch_size, -1) is(on_step, XT_DEFAULT) is(on_epoch, XT_DEFAULT)
XT_DEFAULTS_OF(xt_log_opts)
typedef struct XT_OPTIONS_ xt_log_opts {
    size_t struct_size XT_SIZE(xt_log_opts);
    /* default: on in training, off in validation. A row has the newest step in which it was logged since
     * the row before */
    xt_switch on_step XT_IS(xt_log_opts, on_step);
    xt_switch on_epoch XT_IS(xt_log_opts, on_epoch); /* default: off in training, on in validation */
    xt_reduce reduce XT_ZERO; /* default mean, weighted by batch size; up to XT_LAST */
    xt_switch sync_dist XT_ZERO; /* default off: one collective for all metrics when a row is due */
    xt_switch prog_bar XT_ZERO; /* default off; shows the newest value that has arrived, never reads one */
    /* weight of the mean; -1 = the current batch's size, of tensors and numbers alike; in hooks between steps 1 */
    int64_t batch_size XT_IS(xt_log_opts, batch_size);
} xt_log_opts;
#define xt_log(name, ...) XT_LOG_(name, __VA_ARGS__, )
#define XT_LOG_(name, t, ...)                                                                                   \
    (XT_CHECK_(sizeof(#t) > 1, "xt_log(\"loss\", tensor) logs a metric; the natural logarithm is xt_log_e(x)"), \
     xt_log_at(XT_HERE, name, XT_TENSOR_OR_NONE_(t), XT_OPTS(xt_log_opts, __VA_ARGS__)))
#ifdef __cplusplus
}
inline xt_tensor xt_tensor_or_none_(xt_tensor t = {}) {
    return t;
}
xt_tensor xt_tensor_or_none_(double) = delete; /* xt_log_value_logs_numbers(name, v) */
extern "C" {
#define XT_TENSOR_OR_NONE_(t) xt_tensor_or_none_(t)
#else
static inline xt_tensor xt_logged_(xt_tensor t) {
    return t;
}
xt_tensor xt_log_value_logs_numbers(xt_tensor not_a_number); /* none: its name is what the compiler says */
#define XT_TENSOR_OR_NONE_(t) _Generic((t), xt_tensor : xt_logged_, default : xt_log_value_logs_numbers)(t)
#endif
XT_API void xt_log_at(const xt_src *src, const char *name, xt_tensor t, xt_log_opts o);
/* A number the host has: data of the step, never a constant of its program. Of f32, as all that is logged: a whole
 * number that has no place there, or one beyond its range, is told once. */
#define xt_log_value(name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_log_value(name, v, ...): v is missing"), XT_LOG_VALUE_(name, __VA_ARGS__, ))
#define XT_LOG_VALUE_(name, v, ...) xt_log_value_at(XT_HERE, name, XT_NUMBER_(v), XT_OPTS(xt_log_opts, __VA_ARGS__))
XT_API void xt_log_value_at(const xt_src *src, const char *name, double v, xt_log_opts o);

/* A metric is a sum of numerators over a sum of denominators on the device, with a name of its own when logged. Or,
 * where `finish` is given, a function of sums: `sums` are added up on the device over batches and over ranks, and
 * finish(sums, n, arg) runs on the logger thread when a row is due. */
typedef double (*xt_metric_finish)(const double *sums, int64_t n, double arg);
/* The value of a metric for one batch, as tensors of the step. */
typedef struct xt_metric {
    xt_tensor numerator, denominator; /* one element each */
    xt_tensor sums; /* any shape, n elements */
    xt_metric_finish finish; /* NULL: the metric is numerator / denominator */
    double arg; /* handed to finish */
} xt_metric;
/* Of all metrics with classes: xt_accuracy(out, labels, .ignore_index = 255). A sample with that label is as if it were
 * not there: neither a hit nor a prediction. */
#define XT_DEFAULTS_xt_metric_opts(is) is(ignore_index, -100)
XT_DEFAULTS_OF(xt_metric_opts)
typedef struct XT_OPTIONS_ xt_metric_opts {
    size_t struct_size XT_SIZE(xt_metric_opts);
    int64_t ignore_index XT_IS(xt_metric_opts, ignore_index); /* labels that count for nothing, as the losses have it */
} xt_metric_opts;
/* (out, labels): [N,C], int [N]; correct / N */
#define xt_accuracy(out, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_accuracy(out, labels, ...): labels is missing"), XT_ACCURACY_(out, __VA_ARGS__, ))
#define XT_ACCURACY_(out, labels, ...) xt_accuracy_at(XT_HERE, out, labels, XT_OPTS(xt_metric_opts, __VA_ARGS__))
XT_API xt_metric xt_accuracy_at(const xt_src *src, xt_tensor out, xt_tensor labels, xt_metric_opts o);
/* More of the kind; all merge over batches and ranks by adding numerators and denominators. A batch without the class
 * counts for nothing. */
/* (out, labels, k): the label is among the k largest; of equal ones the lower index is first, as for xt_accuracy */
#define xt_topk_accuracy(out, labels, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_topk_accuracy(out, labels, k, ...): k is missing"), \
     XT_TOPK_ACCURACY_(out, labels, __VA_ARGS__, ))
#define XT_TOPK_ACCURACY_(out, labels, k, ...) \
    xt_topk_accuracy_at(XT_HERE, out, labels, XT_NUMBER_(k), XT_OPTS(xt_metric_opts, __VA_ARGS__))
/* mean squared difference over all elements */
#define xt_mse(out, target) xt_mse_at(XT_HERE, out, target)
#define xt_mae(out, target) xt_mae_at(XT_HERE, out, target)
/* (out, labels, cls): of class cls, by argmax */
#define xt_precision(out, labels, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_precision(out, labels, cls, ...): cls is missing"), \
     XT_PRECISION_(out, labels, __VA_ARGS__, ))
#define XT_PRECISION_(out, labels, cls, ...) \
    xt_precision_at(XT_HERE, out, labels, XT_NUMBER_(cls), XT_OPTS(xt_metric_opts, __VA_ARGS__))
#define xt_recall(out, labels, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_recall(out, labels, cls, ...): cls is missing"), \
     XT_RECALL_(out, labels, __VA_ARGS__, ))
#define XT_RECALL_(out, labels, cls, ...) \
    xt_recall_at(XT_HERE, out, labels, XT_NUMBER_(cls), XT_OPTS(xt_metric_opts, __VA_ARGS__))
#define xt_f1(out, labels, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_f1(out, labels, cls, ...): cls is missing"), XT_F1_(out, labels, __VA_ARGS__, ))
#define XT_F1_(out, labels, cls, ...) \
    xt_f1_at(XT_HERE, out, labels, XT_NUMBER_(cls), XT_OPTS(xt_metric_opts, __VA_ARGS__))
XT_API xt_metric xt_topk_accuracy_at(const xt_src *src, xt_tensor out, xt_tensor labels, int k, xt_metric_opts o);
XT_API xt_metric xt_mse_at(const xt_src *src, xt_tensor out, xt_tensor target);
XT_API xt_metric xt_mae_at(const xt_src *src, xt_tensor out, xt_tensor target);
XT_API xt_metric xt_precision_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o);
XT_API xt_metric xt_recall_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o);
XT_API xt_metric xt_f1_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o);
/* Over all classes, by argmax of out [N,C] against int labels [N]; the sums are each class's hits, predictions and
 * labels. XT_MACRO is the mean over the classes that occur (labelled or predicted), XT_WEIGHTED weighs it by the
 * labels, XT_MICRO counts all together. A quotient 0/0 is 0. */
typedef enum xt_average {
    XT_MACRO = 0, /* each class that occurs counts alike */
    XT_MICRO, /* each sample counts alike */
    XT_WEIGHTED /* each class counts by its labels */
} xt_average;
/* What xt_class_score_at computes of each class; the macros below have the words. */
typedef enum xt_class_score {
    XT_SCORE_PRECISION, /* hits / predictions */
    XT_SCORE_RECALL, /* hits / labels */
    XT_SCORE_F1, /* 2 hits / (predictions + labels) */
    XT_SCORE_SPECIFICITY, /* of the samples with other labels, those that were not predicted as this class */
    XT_SCORE_BALANCED_ACCURACY /* the mean recall of the classes with labels */
} xt_class_score;
#define XT_CLASS_SCORE_(score, out, labels, average, ...) \
    xt_class_score_at(XT_HERE, out, labels, score, XT_WORD_(xt_average, average), XT_OPTS(xt_metric_opts, __VA_ARGS__))
/* (out, labels, average) */
#define xt_precision_avg(out, labels, ...) XT_CLASS_SCORE_(XT_SCORE_PRECISION, out, labels, __VA_ARGS__, )
#define xt_recall_avg(out, labels, ...) XT_CLASS_SCORE_(XT_SCORE_RECALL, out, labels, __VA_ARGS__, )
#define xt_f1_avg(out, labels, ...) XT_CLASS_SCORE_(XT_SCORE_F1, out, labels, __VA_ARGS__, )
#define xt_specificity_avg(out, labels, ...) XT_CLASS_SCORE_(XT_SCORE_SPECIFICITY, out, labels, __VA_ARGS__, )
/* (out, labels): mean recall of the labelled classes */
#define xt_balanced_accuracy(out, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_balanced_accuracy(out, labels, ...): labels is missing"), \
     XT_BALANCED_ACCURACY_(out, __VA_ARGS__, ))
#define XT_BALANCED_ACCURACY_(out, labels, ...) \
    XT_CLASS_SCORE_(XT_SCORE_BALANCED_ACCURACY, out, labels, XT_MACRO, __VA_ARGS__)
XT_API xt_metric xt_class_score_at(const xt_src *src, xt_tensor out, xt_tensor labels, xt_class_score score,
                                   xt_average average, xt_metric_opts o);
/* C*C sums, row = label, column = prediction: read them with xt_logged_confusion. The logged value is the accuracy. Up
 * to 1024 classes. */
#define xt_confusion_matrix(out, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_confusion_matrix(out, labels, ...): labels is missing"), \
     XT_CONFUSION_MATRIX_(out, __VA_ARGS__, ))
#define XT_CONFUSION_MATRIX_(out, labels, ...) \
    xt_confusion_matrix_at(XT_HERE, out, labels, XT_OPTS(xt_metric_opts, __VA_ARGS__))
XT_API xt_metric xt_confusion_matrix_at(const xt_src *src, xt_tensor out, xt_tensor labels, xt_metric_opts o);
/* Area under the ROC curve, binned at `thresholds` equal steps of [0,1] as torchmetrics. Scores are probabilities: [N]
 * with labels 0 or 1, or [N,C] with class labels (one against the rest, mean over the classes that have both kinds).
 * Needs 2 thresholds + 2 sums a class. */
#define XT_DEFAULTS_xt_auroc_opts(is) is(thresholds, 200) is(ignore_index, -100)
XT_DEFAULTS_OF(xt_auroc_opts)
typedef struct XT_OPTIONS_ xt_auroc_opts {
    size_t struct_size XT_SIZE(xt_auroc_opts);
    int thresholds XT_IS(xt_auroc_opts, thresholds); /* 2 to 10000 */
    int64_t ignore_index XT_IS(xt_auroc_opts, ignore_index); /* as xt_metric_opts' */
} xt_auroc_opts;
#define xt_auroc(scores, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_auroc(scores, labels, ...): labels is missing"), XT_AUROC_(scores, __VA_ARGS__, ))
#define XT_AUROC_(scores, labels, ...) xt_auroc_at(XT_HERE, scores, labels, XT_OPTS(xt_auroc_opts, __VA_ARGS__))
XT_API xt_metric xt_auroc_at(const xt_src *src, xt_tensor scores, xt_tensor labels, xt_auroc_opts o);
/* The exact area, for scores kept on the host: O(n log n), ties count half. NaN when there is only one kind of label,
 * or no memory. */
XT_API double xt_auroc_exact(const float *scores, const int64_t *labels, size_t n);
/* 1 - residual / total sum of squares; of [N,D] the mean over the D outputs (a constant one: 1 when met
 * exactly, else 0) */
#define xt_r2(out, target) xt_r2_at(XT_HERE, out, target)
XT_API xt_metric xt_r2_at(const xt_src *src, xt_tensor out, xt_tensor target);
/* exp of the mean cross entropy; options as xt_cross_entropy (ignore_index, axis). */
#define xt_perplexity(logits, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_perplexity(logits, labels, ...): labels is missing"), \
     XT_PERPLEXITY_(logits, __VA_ARGS__, ))
#define XT_PERPLEXITY_(logits, labels, ...) \
    xt_perplexity_at(XT_HERE, logits, labels, XT_OPTS(xt_class_loss_opts, __VA_ARGS__))
XT_API xt_metric xt_perplexity_at(const xt_src *src, xt_tensor logits, xt_tensor labels, xt_class_loss_opts o);
/* The newest written sums of a metric logged under this name (with "_epoch" or "_step" where both are on), merged over
 * ranks if it was; fills up to n and gives their number, 0 when there are none yet. Waits for rows under way. */
XT_API int64_t xt_logged_sums(const char *name, double *out, int64_t n);
/* The same of a confusion matrix, as shares: of the row (what became of each label), of the column (what each
 * prediction was), of all; the share of an empty one is
 * 0. Ranks and batches are merged first. Gives C, which `out` must have room for squared (n elements); 0 when there is
 *    none yet, or no room. */
typedef enum xt_normalize {
    XT_NORMALIZE_NONE = 0, /* counts */
    XT_NORMALIZE_TRUE, /* shares of the row: of each label */
    XT_NORMALIZE_PRED, /* shares of the column: of each prediction */
    XT_NORMALIZE_ALL /* shares of all samples */
} xt_normalize;
XT_API int64_t xt_logged_confusion(const char *name, xt_normalize how, double *out, int64_t n);
#define xt_logged_confusion(name, how, out, n) (xt_logged_confusion)(name, XT_WORD_(xt_normalize, how), out, n)

/* The mean of the last `window` values of one element each, kept on the device: xt_log("loss/avg", xt_running_mean(r,
 * loss), .reduce = XT_LAST). Of this rank: with .sync_dist the row has the mean of the ranks' means, weighted by their
 * batches of the row's step; with batches of one size that is the mean over all ranks' last values. */
typedef struct xt_running xt_running;
#define xt_running_new(window) xt_running_new_at(XT_HERE, XT_NUMBER_(window))
XT_API xt_running *xt_running_new_at(const xt_src *src, int64_t window); /* xt_finish frees what is left */
XT_API void xt_running_free(xt_running *r); /* NULL is allowed */
#define xt_running_mean(r, t) xt_running_mean_at(XT_HERE, r, t)
XT_API xt_tensor xt_running_mean_at(const xt_src *src, xt_running *r, xt_tensor t);
/* A metric under a name: xt_log_metric("acc", xt_accuracy(out, y)); options as xt_log's, but the weights are the
 * metric's own. */
#define xt_log_metric(name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_log_metric(name, m, ...): m is missing"), XT_LOG_METRIC_(name, __VA_ARGS__, ))
#define XT_LOG_METRIC_(name, m, ...) xt_log_metric_at(XT_HERE, name, m, XT_OPTS(xt_log_opts, __VA_ARGS__))
XT_API void xt_log_metric_at(const xt_src *src, const char *name, xt_metric m, xt_log_opts o);
/* Distributions, pictures and texts for the loggers that can show them (TensorBoard; texts also in metrics.jsonl). They
 * wait for the device on the logger's side only. In a trainer's training steps the two that read a tensor do so only in
 * steps whose row of logs is due, at the cost of one more program; in hooks around an epoch, a pass or a fit they are
 * given always, with the steps done so far (doc/logging.md). */
/* of all elements: weights, gradients, activations; 30 bins */
#define xt_log_histogram(name, t) xt_log_histogram_at(XT_HERE, name, t)
XT_API void xt_log_histogram_at(const xt_src *src, const char *name, xt_tensor t);
/* [H,W], [1,H,W] or [3,H,W]; a batch [N,1,H,W] or [N,3,H,W] is one picture, 8 in a row with lines of 2 pixels
 * (torchvision's make_grid). Floats 0 to 1 (clamped), u8 0 to 255. */
#define xt_log_image(name, t) xt_log_image_at(XT_HERE, name, t)
XT_API void xt_log_image_at(const xt_src *src, const char *name, xt_tensor t);
#define xt_log_text(name, text) xt_log_text_at(XT_HERE, name, text) /* copied; TensorBoard takes it as Markdown */
XT_API void xt_log_text_at(const xt_src *src, const char *name, const char *text);
/* Plain loops: row period in steps of the loop that hold an optimizer step, of however many optimizers (default 50), as
 * rows' steps count. An optimizer that steps again begins another of them, whatever ends the loop's steps, and so does
 * an inner loop of updates behind another one. Of all the program's threads from here on, also behind xt_finish. */
#define xt_log_every_n_steps(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_log_every_n_steps_at(XT_HERE, __VA_ARGS__))
XT_API void xt_log_every_n_steps_at(const xt_src *src, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
