/* Which of the library's numerators over denominators a metric is (functions.h). */
#include <stdio.h>

#include "base/base.h"
#include "metrics/functions.h"

#define NUMBERS 0x1p40 /* more than there are classes; kinds above it leave the number exact */
static const char *const shares[] = {[METRIC_SHARE_OWN] = "a numerator over a denominator of its own",
                                     [METRIC_SHARE_ACCURACY] = "xt_accuracy",
                                     [METRIC_SHARE_TOPK] = "xt_topk_accuracy with k = ",
                                     [METRIC_SHARE_MSE] = "xt_mse",
                                     [METRIC_SHARE_MAE] = "xt_mae",
                                     [METRIC_SHARE_PRECISION] = "xt_precision of class ",
                                     [METRIC_SHARE_RECALL] = "xt_recall of class ",
                                     [METRIC_SHARE_F1] = "xt_f1 of class "};

double metric_share_arg(metric_share kind, int64_t number) {
    return (double)kind * NUMBERS + (double)number;
}

double metric_share_settled(double arg) {
    return arg >= NUMBERS && arg < NUMBERS * (double)BASE_COUNT(shares) ? arg : 0;
}

void metric_share_text(double arg, char *out, size_t size) {
    size_t kind = (size_t)(metric_share_settled(arg) / NUMBERS);
    int n = snprintf(out, size, "%s", shares[kind]);
    if (shares[kind][n - 1] == ' ')
        snprintf(out + n, size - (size_t)n, "%lld", (long long)(arg - NUMBERS * (double)kind));
}
