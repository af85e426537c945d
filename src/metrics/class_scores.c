/* Scores over all classes as functions of counts: each class's hits, predictions and labels, or the whole confusion
 * matrix. Counts merge by adding. */
#include <math.h>

#include "metrics/functions.h"
#include "metrics/counted.h"
#include "ops/ops.h"

enum { MOST_CLASSES = 1024 };

static bool fits(const xt_src *src, const char *what, xt_tensor out, xt_tensor labels, int64_t ignore_index,
                 xt_metric *failed) {
    const ir_type *t = lazy_type(out), *l = lazy_type(labels);
    if (!t || !l) { /* their own errors travel on */
        *failed = (xt_metric){.numerator = t ? labels : out, .denominator = t ? labels : out};
        return false;
    }
    if (t->rank == 2 && l->rank == 1 && l->dims[0] == t->dims[0] && ir_dtype_is_int(l->dtype) &&
        t->dims[1] <= MOST_CLASSES && t->count > 0) {
        if (metric_classes_fit(src, what, labels, t->dims[1], ignore_index)) return true;
        failed->sums = failed->numerator = lazy_failed_tensor(src);
        return false;
    }
    failed->sums = failed->numerator = lazy_error(
        src, XT_INVALID_ARGUMENT,
        "%s: out has %d dims (%lld classes) and labels are %s with %d dims: [N,C] with at most %d classes, int [N]",
        what, (int)t->rank, (long long)xt_dim(out, -1), xt_dtype_name(l->dtype), (int)l->rank, MOST_CLASSES);
    return false;
}

/* [N,C] of f32: 1 at the predicted class; 1 at the label. The row of a sample that is ignored is 0 in both. */
static void hot(const xt_src *src, xt_tensor out, xt_tensor labels, int64_t ignore_index, xt_tensor *predicted,
                xt_tensor *actual) {
    int64_t classes = xt_dim(out, 1);
    xt_tensor counted = xt_unsqueeze_at(src, xt_cast_at(src, metric_counted(src, labels, ignore_index), XT_F32), -1);
    *predicted = xt_mul_at(src, ops_one_hot(src, xt_argmax_at(src, out, -1), classes, XT_F32), counted);
    *actual = xt_mul_at(src, ops_one_hot(src, labels, classes, XT_F32), counted);
}

/* --- scores of a class, averaged --- */
static double quotient(double a, double b) {
    return b > 0 ? a / b : 0;
}

static double score_of(xt_class_score score, double hits, double predicted, double actual, double all) {
    switch (score) {
    case XT_SCORE_PRECISION: return quotient(hits, predicted);
    case XT_SCORE_F1: return quotient(2 * hits, predicted + actual);
    case XT_SCORE_SPECIFICITY: return quotient(all - predicted - actual + hits, all - actual);
    default: return quotient(hits, actual);
    }
}

/* arg = score * 8 + average; sums = hits, predictions and labels of all classes. */
static double finish_scores(const double *sums, int64_t n, double arg) {
    int64_t classes = n / 3;
    const double *hits = sums, *predicted = sums + classes, *actual = sums + 2 * classes;
    int which = (int)metric_arg(arg);
    xt_class_score score = (xt_class_score)(which / 8);
    xt_average average = (xt_average)(which % 8);
    double all = 0, total = 0, weight = 0, h = 0, p = 0, a = 0, negatives = 0;
    for (int64_t c = 0; c < classes; c++) all += actual[c];
    for (int64_t c = 0; c < classes; c++) {
        bool occurs = actual[c] > 0 || (predicted[c] > 0 && score != XT_SCORE_BALANCED_ACCURACY);
        double w = average == XT_WEIGHTED ? actual[c] : occurs;
        total += w * score_of(score, hits[c], predicted[c], actual[c], all);
        weight += w;
        h += hits[c];
        p += predicted[c];
        a += actual[c];
        negatives += all - actual[c];
    }
    if (average != XT_MICRO) return quotient(total, weight);
    if (score == XT_SCORE_SPECIFICITY) return quotient(negatives - p + h, negatives);
    return score_of(score, h, p, a, all);
}
static bool takes_scores(int64_t n, double arg) {
    return n % 3 == 0 && arg >= 0 && arg < 8 * (XT_SCORE_BALANCED_ACCURACY + 1) && (int)arg % 8 <= XT_WEIGHTED;
}
static const char *const scores[] = {[XT_SCORE_PRECISION] = "xt_precision_avg",
                                     [XT_SCORE_RECALL] = "xt_recall_avg",
                                     [XT_SCORE_F1] = "xt_f1_avg",
                                     [XT_SCORE_SPECIFICITY] = "xt_specificity_avg",
                                     [XT_SCORE_BALANCED_ACCURACY] = "xt_balanced_accuracy"};
static void text_scores(int64_t n, double arg, char *out, size_t size) {
    static const char *const averages[] = {
        [XT_MACRO] = "XT_MACRO", [XT_MICRO] = "XT_MICRO", [XT_WEIGHTED] = "XT_WEIGHTED"};
    size_t score = (size_t)((int)arg / 8), average = (size_t)((int)arg % 8);
    bool averaged = score != XT_SCORE_BALANCED_ACCURACY;
    snprintf(out, size, "%s%s%s over %lld classes", scores[score], averaged ? " with " : "",
             averaged ? averages[average] : "", (long long)n / 3);
}
const metric_function metric_class_score = {"class score", finish_scores, takes_scores, text_scores};

xt_metric xt_class_score_at(const xt_src *src, xt_tensor out, xt_tensor labels, xt_class_score score,
                            xt_average average, xt_metric_opts o) {
    xt_metric m = {.finish = finish_scores,
                   .arg = metric_ignoring((double)score * 8 + (double)average, o.ignore_index)};
    lazy_begin(src);
    if ((unsigned)score > XT_SCORE_BALANCED_ACCURACY || (unsigned)average > XT_WEIGHTED) {
        m.sums = lazy_error(src, XT_INVALID_ARGUMENT,
                            "xt_class_score: score %d, average %d: an xt_class_score and an xt_average are needed",
                            (int)score, (int)average);
        return m;
    }
    if (!fits(src, scores[score], out, labels, o.ignore_index, &m)) return m;
    xt_tensor predicted, actual;
    xt_no_grad_begin();
    hot(src, out, labels, o.ignore_index, &predicted, &actual);
    xt_tensor parts[] = {xt_sum_axis_at(src, xt_mul_at(src, predicted, actual), 0), xt_sum_axis_at(src, predicted, 0),
                         xt_sum_axis_at(src, actual, 0)};
    m.sums = xt_concat_at(src, 3, parts, 0);
    xt_no_grad_end_at(NULL);
    return m;
}

/* --- the matrix --- */
static double finish_matrix(const double *sums, int64_t n, double arg) {
    int64_t classes = (int64_t)metric_arg(arg);
    double hits = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        all += sums[i];
        if (i % (classes + 1) == 0) hits += sums[i];
    }
    return quotient(hits, all);
}
static bool takes_matrix(int64_t n, double arg) {
    return arg >= 1 && arg <= (double)n && n == (int64_t)arg * (int64_t)arg;
}
static void text_matrix(int64_t n, double arg, char *out, size_t size) {
    (void)n;
    snprintf(out, size, "xt_confusion_matrix of %g classes", arg);
}
const metric_function metric_confusion_matrix = {"confusion matrix", finish_matrix, takes_matrix, text_matrix};

xt_metric xt_confusion_matrix_at(const xt_src *src, xt_tensor out, xt_tensor labels, xt_metric_opts o) {
    xt_metric m = {.finish = finish_matrix, .arg = metric_ignoring((double)xt_dim(out, 1), o.ignore_index)};
    lazy_begin(src);
    if (!fits(src, "xt_confusion_matrix", out, labels, o.ignore_index, &m)) return m;
    xt_tensor predicted, actual;
    xt_no_grad_begin();
    hot(src, out, labels, o.ignore_index, &predicted, &actual);
    m.sums = xt_matmul_at(src, xt_transpose_at(src, actual, 0, 1), predicted);
    xt_no_grad_end_at(NULL);
    return m;
}
