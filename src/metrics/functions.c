/* The list of functions.h. */
#include "metrics/functions.h"

#include <string.h>

#include "base/base.h"

static const metric_function *const all[] = {&metric_auroc, &metric_class_score, &metric_confusion_matrix,
                                             &metric_perplexity, &metric_r2};

const char *metric_function_name(xt_metric_finish finish) {
    for (size_t i = 0; i < BASE_COUNT(all); i++)
        if (all[i]->finish == finish) return all[i]->name;
    return "";
}

xt_metric_finish metric_function_named(const char *name, int64_t n, double arg) {
    for (size_t i = 0; i < BASE_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0) return all[i]->takes(n, arg) ? all[i]->finish : NULL;
    return NULL;
}
