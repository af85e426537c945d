/* Metrics as sums: a numerator and a denominator a batch, so that batches and ranks merge by adding. Nothing here is
 * differentiated. */
#include <math.h>

#include <xtrain/metrics.h>

#include "lazy/core/labels.h"
#include "metrics/functions.h"
#include "metrics/counted.h"
#include "ops/ops.h"

/* A number that belongs to the shapes: always a constant. As a number of the user's it would be taken for one that
 * changes when a function of theirs logs batches of 32 in training and of 64 in validation, and become data, which is
 * one more program. */
static xt_tensor count_of(const xt_src *src, double n) {
    return lazy_wrap(ir_splat(lazy_begin(src), ir_scalar(XT_F32), n), "xt_log_metric");
}
static xt_tensor total(const xt_src *src, xt_tensor flags) {
    return xt_sum_at(src, xt_cast_at(src, flags, XT_F32));
}

xt_tensor metric_counted(const xt_src *src, xt_tensor labels, int64_t ignore_index) {
    return xt_ne_at(src, xt_cast_at(src, labels, XT_I64), xt_full_at(src, (double)ignore_index, XT_I64, XT_DIMS_(0)));
}

bool metric_classes_fit(const xt_src *src, const char *what, xt_tensor labels, int64_t classes, int64_t ignore_index) {
    lazy_begin(src);
    return lazy_labels_fit(
        &(lazy_classes){.what = what, .src = src_intern(src), .count = classes, .ignore = ignore_index},
        lazy_value(labels));
}

bool metric_labels_fit(const xt_src *src, const char *what, xt_tensor out, xt_tensor labels, int64_t ignore_index) {
    const ir_type *t = lazy_type(out), *l = lazy_type(labels);
    ops_text st, sl;
    if (!t || !l) return true; /* what is no tensor, or carries an error, is told by the first op over it */
    bool rows = t->rank > 0 && l->rank == t->rank - 1;
    for (uint32_t i = 0; rows && i < l->rank; i++) rows = l->dims[i] == t->dims[i];
    if (rows && (ir_dtype_is_int(l->dtype) || l->dtype == XT_BOOL))
        return metric_classes_fit(src, what, labels, t->dims[l->rank], ignore_index);
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                         "%s: out is %s and labels are %s%s: scores [...,classes] and one class number for each row of "
                         "them, an integer, are expected%s",
                         what, ops_shape(t, &st), xt_dtype_name(l->dtype), ops_shape(l, &sl),
                         !rows                         ? "; xt_reshape or xt_squeeze the labels"
                         : ir_dtype_is_float(l->dtype) ? "; xt_cast the labels to XT_I64"
                                                       : ""));
    return false;
}

static xt_metric failed(const xt_src *src) {
    xt_tensor t = lazy_failed_tensor(src);
    return (xt_metric){t, t};
}

/* Those of the counted samples for which the flag holds, of all counted ones; arg: metric_share_arg's. */
static xt_metric share_of(const xt_src *src, xt_tensor flags, xt_tensor counted, double arg) {
    return (xt_metric){.numerator = total(src, xt_logical_and_at(src, flags, counted)),
                       .denominator = total(src, counted),
                       .arg = arg};
}

xt_metric xt_accuracy_at(const xt_src *src, xt_tensor out, xt_tensor labels, xt_metric_opts o) {
    if (!metric_labels_fit(src, "xt_accuracy", out, labels, o.ignore_index)) return failed(src);
    xt_no_grad_begin();
    xt_tensor hit = xt_eq_at(src, xt_argmax_at(src, out, -1), xt_cast_at(src, labels, XT_I64));
    xt_metric m = share_of(src, hit, metric_counted(src, labels, o.ignore_index),
                           metric_ignoring(metric_share_arg(METRIC_SHARE_ACCURACY, 0), o.ignore_index));
    xt_no_grad_end_at(NULL);
    return m;
}

/* A label is among the k best when fewer than k classes are before it: those with a larger score and, as argmax has it,
 * those of a lower index with the same. */
xt_metric xt_topk_accuracy_at(const xt_src *src, xt_tensor out, xt_tensor labels, int k, xt_metric_opts o) {
    if (!metric_labels_fit(src, "xt_topk_accuracy", out, labels, o.ignore_index)) return failed(src);
    xt_no_grad_begin();
    xt_metric m = {.denominator = count_of(src, 1)};
    if (k < 1 || (xt_rank_of(out) == 2 && k > xt_dim(out, 1)))
        m.numerator = lazy_error(src, XT_INVALID_ARGUMENT,
                                 "xt_topk_accuracy: k = %d of %lld classes; 1 to the number of classes is needed", k,
                                 (long long)xt_dim(out, 1));
    else {
        xt_tensor scores = xt_cast_at(src, out, XT_F32), one_hot = ops_one_hot(src, labels, xt_dim(out, -1), XT_F32);
        xt_tensor own = xt_unsqueeze_at(
            src,
            xt_sum_axis_at(src, xt_where_at(src, xt_gt_at(src, one_hot, count_of(src, 0)), scores, count_of(src, 0)),
                           -1),
            -1);
        xt_tensor lower = xt_lt_at(src, xt_arange_at(src, xt_dim(out, -1), XT_I64),
                                   xt_unsqueeze_at(src, xt_cast_at(src, labels, XT_I64), -1));
        xt_tensor before = xt_logical_or_at(src, xt_gt_at(src, scores, own),
                                            xt_logical_and_at(src, xt_eq_at(src, scores, own), lower));
        xt_tensor hit = xt_lt_at(src, xt_sum_axis_at(src, xt_cast_at(src, before, XT_F32), -1), count_of(src, k));
        m = share_of(src, hit, metric_counted(src, labels, o.ignore_index),
                     metric_ignoring(metric_share_arg(METRIC_SHARE_TOPK, k), o.ignore_index));
    }
    xt_no_grad_end_at(NULL);
    return m;
}

static xt_metric mean_of(const xt_src *src, xt_tensor each, metric_share kind) {
    return (xt_metric){.numerator = xt_sum_at(src, each),
                       .denominator = count_of(src, (double)xt_numel(each)),
                       .arg = metric_share_arg(kind, 0)};
}

xt_metric xt_mse_at(const xt_src *src, xt_tensor out, xt_tensor target) {
    xt_no_grad_begin();
    xt_metric m =
        mean_of(src, xt_square_at(src, xt_cast_at(src, xt_sub__at(src, out, target), XT_F32)), METRIC_SHARE_MSE);
    xt_no_grad_end_at(NULL);
    return m;
}

xt_metric xt_mae_at(const xt_src *src, xt_tensor out, xt_tensor target) {
    xt_no_grad_begin();
    xt_metric m = mean_of(src, xt_abs_at(src, xt_cast_at(src, xt_sub__at(src, out, target), XT_F32)), METRIC_SHARE_MAE);
    xt_no_grad_end_at(NULL);
    return m;
}

/* Of one class against the rest: true positives, and what was predicted or labelled as the class. */
typedef struct hits {
    xt_tensor both, predicted, actual;
} hits;

static hits hits_of(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o) {
    xt_tensor c = xt_full_at(src, (double)cls, XT_I64, XT_DIMS_(0)),
              counted = metric_counted(src, labels, o.ignore_index);
    xt_tensor predicted = xt_logical_and_at(src, xt_eq_at(src, xt_argmax_at(src, out, -1), c), counted);
    xt_tensor actual = xt_logical_and_at(src, xt_eq_at(src, xt_cast_at(src, labels, XT_I64), c), counted);
    return (hits){total(src, xt_logical_and_at(src, predicted, actual)), total(src, predicted), total(src, actual)};
}

static bool class_fits(const xt_src *src, const char *what, xt_tensor out, xt_tensor labels, int64_t cls,
                       int64_t ignore_index) {
    if (!metric_labels_fit(src, what, out, labels, ignore_index)) return false;
    if (cls >= 0 && cls < xt_dim(out, -1)) return true;
    lazy_fail(status_new(XT_OUT_OF_RANGE, src, "%s: class %lld of out's %lld classes: they are 0 to %lld", what,
                         (long long)cls, (long long)xt_dim(out, -1), (long long)xt_dim(out, -1) - 1));
    return false;
}

static double class_arg(metric_share kind, int64_t cls, xt_metric_opts o) {
    return metric_ignoring(metric_share_arg(kind, cls), o.ignore_index);
}

xt_metric xt_precision_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o) {
    if (!class_fits(src, "xt_precision", out, labels, cls, o.ignore_index)) return failed(src);
    xt_no_grad_begin();
    hits h = hits_of(src, out, labels, cls, o);
    xt_no_grad_end_at(NULL);
    return (xt_metric){
        .numerator = h.both, .denominator = h.predicted, .arg = class_arg(METRIC_SHARE_PRECISION, cls, o)};
}

xt_metric xt_recall_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o) {
    if (!class_fits(src, "xt_recall", out, labels, cls, o.ignore_index)) return failed(src);
    xt_no_grad_begin();
    hits h = hits_of(src, out, labels, cls, o);
    xt_no_grad_end_at(NULL);
    return (xt_metric){.numerator = h.both, .denominator = h.actual, .arg = class_arg(METRIC_SHARE_RECALL, cls, o)};
}

xt_metric xt_f1_at(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t cls, xt_metric_opts o) {
    if (!class_fits(src, "xt_f1", out, labels, cls, o.ignore_index)) return failed(src);
    xt_no_grad_begin();
    hits h = hits_of(src, out, labels, cls, o);
    xt_metric m = {.numerator = xt_mul_scalar_at(src, h.both, 2),
                   .denominator = xt_add_at(src, h.predicted, h.actual),
                   .arg = class_arg(METRIC_SHARE_F1, cls, o)};
    xt_no_grad_end_at(NULL);
    return m;
}

/* --- functions of sums --- */
/* n; of each output the sum of the target, of its square, and of the squared error. A constant target (as far as f32
 * sums tell) is explained wholly or not at all. */
static double finish_r2(const double *s, int64_t n, double arg) {
    (void)arg;
    int64_t outputs = (n - 1) / 3;
    double sum = 0;
    for (int64_t i = 0; i < outputs; i++) {
        double y = s[1 + i], squares = s[1 + outputs + i], residual = s[1 + 2 * outputs + i],
               all = squares - y * y / s[0];
        sum += !(s[0] > 0) ? NAN : all > 3e-7 * squares ? 1 - residual / all : isnan(all) ? NAN : residual == 0;
    }
    return sum / (double)outputs;
}
static bool takes_r2(int64_t n, double arg) {
    return n >= 4 && n % 3 == 1 && arg == 0;
}
static void text_r2(int64_t n, double arg, char *out, size_t size) {
    (void)arg;
    snprintf(out, size, "xt_r2 of %lld output%s", (long long)(n - 1) / 3, n == 4 ? "" : "s");
}
const metric_function metric_r2 = {"r2", finish_r2, takes_r2, text_r2};

static xt_tensor row(const xt_src *src, xt_tensor t) {
    return xt_reshape_at(src, xt_cast_at(src, t, XT_F32), XT_DIMS_(1, 0));
}

xt_metric xt_r2_at(const xt_src *src, xt_tensor out, xt_tensor target) {
    xt_no_grad_begin();
    int64_t outputs = xt_rank_of(target) == 2 ? xt_dim(target, 1) : 1;
    xt_tensor y = xt_cast_at(src, target, XT_F32), d = xt_sub__at(src, xt_cast_at(src, out, XT_F32), y);
    xt_tensor each[] = {y, xt_square_at(src, y), xt_square_at(src, d)},
              parts[4] = {row(src, count_of(src, outputs ? (double)(xt_numel(target) / outputs) : 0))};
    for (int i = 0; i < 3; i++)
        parts[i + 1] = outputs > 1 ? xt_sum_axis_at(src, each[i], 0) : row(src, xt_sum_at(src, each[i]));
    xt_metric m = {.sums = xt_concat_at(src, 4, parts, 0), .finish = finish_r2};
    if (xt_numel(out) != xt_numel(target) && !lazy_is_error(m.sums))
        m.sums =
            lazy_error(src, XT_INVALID_ARGUMENT, "xt_r2: out has %lld elements and the target %lld; they must agree",
                       (long long)xt_numel(out), (long long)xt_numel(target));
    xt_no_grad_end_at(NULL);
    return m;
}

static double finish_perplexity(const double *s, int64_t n, double arg) {
    (void)n;
    (void)arg;
    return exp(s[0] / s[1]);
}
static bool takes_perplexity(int64_t n, double arg) {
    return n == 2 && arg == 0;
}
static void text_perplexity(int64_t n, double arg, char *out, size_t size) {
    (void)n;
    (void)arg;
    snprintf(out, size, "xt_perplexity");
}
const metric_function metric_perplexity = {"perplexity", finish_perplexity, takes_perplexity, text_perplexity};

/* An ignored label reads class 0's weight, and has none. */
static xt_tensor weights_of(const xt_src *src, xt_tensor weight, xt_tensor labels, xt_tensor counted) {
    xt_tensor at = xt_mul_at(src, xt_cast_at(src, labels, XT_I64), xt_cast_at(src, counted, XT_I64));
    return xt_mul_at(src, xt_take_at(src, xt_cast_at(src, weight, XT_F32), at), xt_cast_at(src, counted, XT_F32));
}

/* The sum of the losses, and how many labels count, or what those weigh. */
xt_metric xt_perplexity_at(const xt_src *src, xt_tensor logits, xt_tensor labels, xt_class_loss_opts o) {
    xt_no_grad_begin();
    o.reduction = XT_SUM;
    xt_tensor sum = xt_cross_entropy_at(src, logits, labels, o);
    xt_tensor counted = metric_counted(src, labels, o.ignore_index);
    xt_tensor count = total(src, xt_is_none(o.weight) ? counted : weights_of(src, o.weight, labels, counted));
    xt_metric m = {.sums = xt_concat_at(src, 2, (xt_tensor[]){row(src, sum), row(src, count)}, 0),
                   .finish = finish_perplexity,
                   .arg = metric_ignoring(0, o.ignore_index)};
    xt_no_grad_end_at(NULL);
    return m;
}
