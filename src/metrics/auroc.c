/* Area under the ROC curve: binned on the device, so that it merges by adding, and exact on the host. */
#include <math.h>
#include <stdlib.h>

#include "metrics/functions.h"
#include "metrics/counted.h"
#include "ops/ops.h"

/* Sums of one class: positives at or above each threshold, negatives at or above each, all positives, all negatives.
 * The curve goes through the thresholds from the highest to the lowest. */
static double area(const double *positives, const double *negatives, int64_t thresholds, double all_positives,
                   double all_negatives) {
    double sum = 0, x = 0, y = 0;
    for (int64_t i = thresholds; i-- > 0;) {
        double fpr = negatives[i] / all_negatives, tpr = positives[i] / all_positives;
        if (i < thresholds - 1) sum += (fpr - x) * (tpr + y) / 2;
        x = fpr;
        y = tpr;
    }
    return sum;
}

/* arg: thresholds. Layout: positives [C,T], negatives [C,T], all positives [C], all negatives [C]. */
static double finish(const double *sums, int64_t n, double arg) {
    int64_t t = (int64_t)metric_arg(arg), classes = n / (2 * t + 2), used = 0;
    double total = 0;
    for (int64_t c = 0; c < classes; c++) {
        double p = sums[2 * t * classes + c], q = sums[2 * t * classes + classes + c];
        if (!(p > 0 && q > 0)) continue;
        total += area(sums + c * t, sums + (classes + c) * t, t, p, q);
        used++;
    }
    return used ? total / (double)used : NAN;
}
static bool takes(int64_t n, double arg) {
    return arg >= 2 && arg <= (double)n && n % (2 * (int64_t)arg + 2) == 0;
}
static void text(int64_t n, double arg, char *out, size_t size) {
    snprintf(out, size, "xt_auroc with %g thresholds (%lld sums)", arg, (long long)n);
}
const metric_function metric_auroc = {"auroc", finish, takes, text};

static bool fits(const ir_type *s, const ir_type *l) {
    bool binary = s->rank == 1 && l->rank == 1, classes = s->rank == 2 && l->rank == 1;
    return (binary || classes) && s->dims[0] == l->dims[0] && ir_dtype_is_float(s->dtype) &&
           ir_dtype_is_int(l->dtype) && s->count > 0;
}

/* scores, truth [N,C] of f32; counted [N]: others are neither positive nor negative */
static xt_tensor sums_of(const xt_src *src, xt_tensor scores, xt_tensor truth, xt_tensor counted, int64_t t) {
    xt_tensor there = xt_unsqueeze_at(src, xt_cast_at(src, counted, XT_F32), -1);
    truth = xt_mul_at(src, truth, there);
    xt_tensor levels = xt_mul_scalar_at(src, xt_arange_at(src, t, XT_F32), 1.0 / (double)(t - 1)); /* [T] */
    xt_tensor above = xt_cast_at(src, xt_ge_at(src, xt_unsqueeze_at(src, scores, -1), levels), XT_F32); /* [N,C,T] */
    xt_tensor is = xt_unsqueeze_at(src, truth, -1), not = xt_unsqueeze_at(src, xt_sub__at(src, there, truth), -1);
    xt_tensor parts[4] = {xt_sum_axis_at(src, xt_mul_at(src, above, is), 0),
                          xt_sum_axis_at(src, xt_mul_at(src, above, not ), 0), xt_sum_axis_at(src, truth, 0),
                          xt_sum_axis_at(src, xt_squeeze_at(src, not, -1), 0)};
    for (int i = 0; i < 4; i++) parts[i] = xt_flatten_at(src, parts[i], 0, -1);
    return xt_concat_at(src, 4, parts, 0);
}

xt_metric xt_auroc_at(const xt_src *src, xt_tensor scores, xt_tensor labels, xt_auroc_opts o) {
    int64_t t = o.thresholds;
    xt_metric m = {.finish = finish, .arg = metric_ignoring((double)t, o.ignore_index)};
    const ir_type *s = lazy_type(scores), *l = lazy_type(labels);
    lazy_begin(src);
    if (!s || !l) {
        m.sums = s ? labels : scores;
        return m;
    }
    if (t < 2 || t > 10000)
        m.sums =
            lazy_error(src, XT_INVALID_ARGUMENT,
                       "xt_auroc.thresholds = %d is out of range: expected 2 to 10000 (default 200)", o.thresholds);
    else if (!fits(s, l))
        m.sums = lazy_error(src, XT_INVALID_ARGUMENT,
                            "xt_auroc: scores are %s with %d dims and labels %s with %d dims: float [N] or [N,C] and "
                            "int [N] of the same N",
                            xt_dtype_name(s->dtype), (int)s->rank, xt_dtype_name(l->dtype), (int)l->rank);
    else if (!metric_classes_fit(src, "xt_auroc", labels, s->rank == 2 ? s->dims[1] : 2, o.ignore_index))
        m.sums = lazy_failed_tensor(src);
    if (lazy_is_error(m.sums)) return m;
    xt_no_grad_begin();
    scores = xt_cast_at(src, scores, XT_F32);
    xt_tensor counted = metric_counted(src, labels, o.ignore_index);
    if (s->rank == 1)
        m.sums = sums_of(src, xt_unsqueeze_at(src, scores, -1),
                         xt_unsqueeze_at(src, xt_cast_at(src, labels, XT_F32), -1), counted, t);
    else
        m.sums = sums_of(src, scores, ops_one_hot(src, labels, s->dims[1], XT_F32), counted, t);
    xt_no_grad_end_at(NULL);
    return m;
}

/* --- exact --- */
typedef struct scored {
    float score;
    bool positive;
} scored;

static int by_score(const void *a, const void *b) {
    float x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* Mann and Whitney: the share of pairs in which the positive one has the higher score. */
double xt_auroc_exact(const float *scores, const int64_t *labels, size_t n) {
    scored *all = n && n <= SIZE_MAX / sizeof *all ? base_malloc(n * sizeof *all) : NULL;
    double pairs = 0, below = 0, positives = 0;
    if (!all) return NAN;
    for (size_t i = 0; i < n; i++) all[i] = (scored){scores[i], labels[i] != 0};
    qsort(all, n, sizeof *all, by_score);
    for (size_t i = 0; i < n;) {
        double p = 0, q = 0;
        size_t from = i;
        for (; i < n && all[i].score == all[from].score; i++) *(all[i].positive ? &p : &q) += 1;
        if (i == from) { /* a NaN equals nothing, itself neither */
            base_free(all);
            return NAN;
        }
        pairs += p * (below + q / 2);
        below += q;
        positives += p;
    }
    base_free(all);
    return positives > 0 && below > 0 ? pairs / (positives * below) : NAN;
}
