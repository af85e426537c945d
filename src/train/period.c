/* The accumulation verdicts of doc/promises.md R5.2. */
#include "train/period.h"

xt_status period_check(const char *name, int64_t batches, int64_t accumulate) {
    if (batches == 0 || batches % accumulate == 0) return NULL;
    int64_t below = batches / accumulate * accumulate, above = below + accumulate;
    char nearest[64];
    if (below)
        snprintf(nearest, sizeof nearest, "%lld or %lld", (long long)below, (long long)above);
    else
        snprintf(nearest, sizeof nearest, "%lld", (long long)above);
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "%s = %lld is not a multiple of accumulate_grad_batches = %lld: between two optimizer steps "
                      "there is nothing to log; nearest valid: %s (or "
                      "log_every_n_steps, which counts optimizer steps and is always valid)",
                      name, (long long)batches, (long long)accumulate, nearest);
}

xt_status period_settle(int64_t accumulate, int64_t every_n_steps, int64_t every_n_batches, period *out) {
    *out = (period){every_n_steps, every_n_steps * accumulate};
    if (every_n_batches == 0) return NULL;
    XT_TRY(period_check("log_every_n_batches", every_n_batches, accumulate));
    *out = (period){every_n_batches / accumulate, every_n_batches};
    return NULL;
}

window window_of(int64_t index, int64_t batches, int64_t accumulate) {
    window w = {.first = index / accumulate * accumulate};
    w.size = batches > 0 && batches - w.first < accumulate ? batches - w.first : accumulate;
    w.begins = index == w.first;
    w.ends = index == w.first + w.size - 1;
    return w;
}
