/* A logged confusion matrix, as shares. */
#include <xtrain/metrics.h>

#include "lazy/lazy.h"

static double quotient(double a, double b) {
    return b > 0 ? a / b : 0;
}

static double line_sum(const double *m, int64_t n, int64_t step) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += m[i * step];
    return sum;
}

int64_t(xt_logged_confusion)(const char *name, xt_normalize how, double *out, int64_t n) {
    int64_t cells = xt_logged_sums(name, out, n), c = 0;
    while (c * c < cells) c++;
    if (cells == 0 || cells > n || c * c != cells || (unsigned)how > XT_NORMALIZE_ALL) return 0;
    if (how == XT_NORMALIZE_NONE) return c;
    double all = line_sum(out, cells, 1);
    for (int64_t i = 0; i < c && how != XT_NORMALIZE_ALL; i++) {
        int64_t first = how == XT_NORMALIZE_TRUE ? i * c : i, step = how == XT_NORMALIZE_TRUE ? 1 : c;
        double sum = line_sum(out + first, c, step);
        for (int64_t k = 0; k < c; k++) out[first + k * step] = quotient(out[first + k * step], sum);
    }
    for (int64_t i = 0; i < cells && how == XT_NORMALIZE_ALL; i++) out[i] = quotient(out[i], all);
    return c;
}
