/* Which of the library's numerators over denominators a metric is, and which label a metric leaves out, in `arg`
 * (functions.h). A double has room for both, exactly. */
#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "metrics/functions.h"

#define NUMBERS 0x1p24 /* more than there are classes */
#define ARGS 0x1p27 /* above all numbers of all kinds, and above other metrics' arguments */
enum { DEFAULT_IGNORED = -100, MOST_IGNORED = 1 << 24 }; /* labels beyond are one */
static const char *const shares[] = {[METRIC_SHARE_OWN] = "a numerator over a denominator of its own",
                                     [METRIC_SHARE_ACCURACY] = "xt_accuracy",
                                     [METRIC_SHARE_TOPK] = "xt_topk_accuracy with k = ",
                                     [METRIC_SHARE_MSE] = "xt_mse",
                                     [METRIC_SHARE_MAE] = "xt_mae",
                                     [METRIC_SHARE_PRECISION] = "xt_precision of class ",
                                     [METRIC_SHARE_RECALL] = "xt_recall of class ",
                                     [METRIC_SHARE_F1] = "xt_f1 of class "};

/* --- the label that is left out --- */
double metric_ignoring(double arg, int64_t ignore_index) {
    bool below = ignore_index < 0;
    if (ignore_index == DEFAULT_IGNORED) return arg;
    if (ignore_index <= -MOST_IGNORED || ignore_index >= MOST_IGNORED) ignore_index = MOST_IGNORED - 1, below = false;
    return arg + ARGS * (double)(2 * (below ? -ignore_index : ignore_index) + below + 1);
}

double metric_arg(double arg) {
    return arg >= ARGS ? arg - ARGS * floor(arg / ARGS) : arg;
}

void metric_ignored_text(double arg, char *out, size_t size) {
    int64_t code = arg >= ARGS ? (int64_t)(arg / ARGS) - 1 : -1, label = code % 2 ? -(code / 2) : code / 2;
    *out = 0;
    if (code >= 0) snprintf(out, size, " without label %lld%s", (long long)label, label < MOST_IGNORED - 1 ? "" : "+");
}

/* --- shares --- */
double metric_share_arg(metric_share kind, int64_t number) {
    return (double)kind * NUMBERS + (number < NUMBERS ? (double)number : NUMBERS - 1);
}

double metric_share_settled(double arg) {
    double share = metric_arg(arg);
    return share >= NUMBERS && share < NUMBERS * (double)BASE_COUNT(shares) ? arg : 0;
}

void metric_share_text(double arg, char *out, size_t size) {
    arg = metric_share_settled(arg);
    size_t kind = (size_t)(metric_arg(arg) / NUMBERS);
    int n = snprintf(out, size, "%s", shares[kind]);
    if (shares[kind][n - 1] == ' ')
        n += snprintf(out + n, size - (size_t)n, "%lld", (long long)(metric_arg(arg) - NUMBERS * (double)kind));
    metric_ignored_text(arg, out + n, size - (size_t)n);
}
