/* The lists of functions.h. */
#include "metrics/functions.h"

#include <string.h>

#include "base/base.h"

static const metric_function *const all[] = {&metric_auroc, &metric_class_score, &metric_confusion_matrix,
                                             &metric_perplexity, &metric_r2};

static const metric_function *of(xt_metric_finish finish) {
    for (size_t i = 0; i < BASE_COUNT(all); i++)
        if (all[i]->finish == finish) return all[i];
    return NULL;
}

const char *metric_function_name(xt_metric_finish finish) {
    const metric_function *f = of(finish);
    return f ? f->name : "";
}

bool metric_function_text(xt_metric_finish finish, int64_t n, double arg, char *out, size_t size) {
    const metric_function *f = of(finish);
    if (!f || !f->takes(n, metric_arg(arg))) return false;
    f->text(n, metric_arg(arg), out, size);
    size_t end = strlen(out);
    metric_ignored_text(arg, out + end, size - end);
    return true;
}

xt_metric_finish metric_function_named(const char *name, int64_t n, double arg) {
    for (size_t i = 0; i < BASE_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0) return all[i]->takes(n, metric_arg(arg)) ? all[i]->finish : NULL;
    return NULL;
}
