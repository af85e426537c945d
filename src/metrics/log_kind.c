/* What kind of value a name stands for: a plain value and how it is reduced, a metric and its argument. One name is one
 * kind, within a process and on all ranks, which compare the kind's text: what a function's address says in one process
 * says nothing in another. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "lazy/lazy.h"
#include "metrics/functions.h"
#include "metrics/log_kind.h"

static const char *reduce_text(xt_reduce reduce) {
    static const char *const names[] = {
        [XT_SUM] = "XT_SUM", [XT_MIN] = "XT_MIN", [XT_MAX] = "XT_MAX", [XT_LAST] = "XT_LAST"};
    return (unsigned)reduce < BASE_COUNT(names) && names[reduce] ? names[reduce] : "XT_MEAN";
}

/* Of a function of the program's own: its name where its library has it, and its place there. */
static void own_function(const log_kind *k, char out[static LOG_KIND_BYTES]) {
    Dl_info info = {0};
    void *address;
    memcpy(&address, &k->finish, sizeof address);
    if (!dladdr(address, &info) || !info.dli_fname) info = (Dl_info){0};
    const char *file = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    bool named = info.dli_sname && info.dli_saddr == address;
    int n = snprintf(out, LOG_KIND_BYTES, "a metric with a function of its own");
    if (info.dli_fbase)
        n += snprintf(out + n, LOG_KIND_BYTES - (size_t)n, " (%.60s%s%.60s+0x%zx)", named ? info.dli_sname : "",
                      named ? ", " : "", file ? file + 1 : info.dli_fname,
                      (size_t)((const char *)address - (const char *)info.dli_fbase));
    snprintf(out + n, LOG_KIND_BYTES - (size_t)n, ", %lld sums and arg %g", (long long)k->count, k->arg);
}

const char *log_kind_text(const log_kind *k, char out[static LOG_KIND_BYTES]) {
    bool mean = k->reduce == XT_MEAN || k->reduce == XT_REDUCE_DEFAULT;
    if (k->finish) {
        if (!metric_function_text(k->finish, k->count, k->arg, out, LOG_KIND_BYTES)) own_function(k, out);
    } else if (k->share) {
        char metric[LOG_KIND_BYTES / 2];
        metric_share_text(k->arg, metric, sizeof metric);
        snprintf(out, LOG_KIND_BYTES, "%s%s%s", metric, mean ? "" : " with ", mean ? "" : reduce_text(k->reduce));
    } else
        snprintf(out, LOG_KIND_BYTES, "a value with %s", reduce_text(k->reduce));
    return out;
}

bool log_kind_same(const log_kind *a, const log_kind *b) {
    bool same_arg = a->arg == b->arg || (isnan(a->arg) && isnan(b->arg));
    return a->share == b->share && a->count == b->count && a->finish == b->finish && same_arg;
}

double log_kind_finish(const log_kind *k, const double *sums) {
    lazy_inside_fn call;
    lazy_enter(&call, "a metric's finish", NULL);
    double v = k->finish(sums, k->count, k->arg);
    lazy_leave(&call);
    return v;
}
