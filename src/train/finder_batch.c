/* The largest batch that fits: short trials that are allowed to run out of memory. First doubled, then
 * halved intervals. */
#include <math.h>

#include "train/train_int.h"

typedef struct search {
    const xt_src *src;
    const xt_task *task;
    xt_loader *(*make)(int64_t batch, void *user);
    void *user;
    int64_t steps;
} search;

/* A loader that cannot be made ends the search where something fitted already: there are no more samples. One whose
 * dataset is gone, freed with the loader of an earlier trial, says nothing about the batch: that is an error. */
static xt_status no_loader(const search *f, int64_t batch, int64_t good) {
    xt_status s = lazy_pending()
                      ? status_clone(lazy_pending())
                      : status_new(XT_INVALID_ARGUMENT, f->src,
                                   "xt_batch_find: make gave no loader for a batch of %lld", (long long)batch);
    lazy_forget_error();
    if (!good || status_code(s) == XT_FAILED_PRECONDITION) return s;
    log_msg(XT_SEV_INFO, "batch %lld: %s", (long long)batch, status_message(s));
    xt_status_free(s);
    return NULL;
}

/* False: it does not fit, or there are not as many samples. *out: any other failure. */
static bool fits(const search *f, int64_t batch, int64_t good, xt_status *out) {
    *out = NULL;
    xt_loader *l = f->make(batch, f->user);
    if (!l) {
        *out = no_loader(f, batch, good);
        return false;
    }
    bool enough = xt_loader_batches(l) != 0;
    xt_status s = enough ? scratch_fit(f->src, f->task, l, f->steps, NULL) : NULL;
    xt_loader_free(l);
    log_msg(XT_SEV_INFO, "batch %lld: %s", (long long)batch,
            !enough                                   ? "more than there are samples"
            : !s                                      ? "fits"
            : status_code(s) == XT_RESOURCE_EXHAUSTED ? "out of memory"
                                                      : "fails");
    if (s && status_code(s) != XT_RESOURCE_EXHAUSTED)
        *out = s;
    else
        xt_status_free(s);
    return enough && !s;
}

static const option_row rows[] = {
    {"first", "first batch tried", OPTION_I64, offsetof(xt_batch_find_opts, first), 1, 1e9, NULL},
    {"most", "largest batch tried", OPTION_I64, offsetof(xt_batch_find_opts, most), 1, 1e9, NULL},
    {"steps", "optimizer steps a trial", OPTION_I64, offsetof(xt_batch_find_opts, steps), 1, 1e6, NULL},
    {"margin", "kept free after a search by halves", OPTION_DOUBLE, offsetof(xt_batch_find_opts, margin), 0, 0.9, NULL},
};

static int64_t find_batch(const xt_src *src, const xt_task *task, xt_loader *(*make)(int64_t batch, void *user),
                          void *user, xt_batch_find_opts o) {
    xt_status s = options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_batch_find_opts), "xt_batch_find");
    if (!s && !make) s = status_new(XT_INVALID_ARGUMENT, src, "xt_batch_find: the function that makes loaders is NULL");
    search f = {src, task, make, user, o.steps};
    int64_t good = 0, bad = 0;
    for (int64_t batch = o.first; !s && !bad && batch <= o.most; batch *= 2)
        if (fits(&f, batch, good, &s))
            good = batch;
        else
            bad = batch;
    if (!s && good && !bad && good < o.most && o.power_only != XT_ON) {
        /* between the last power of two and the most that is asked for */
        if (fits(&f, o.most, good, &s))
            good = o.most;
        else
            bad = o.most;
    }
    bool halved = false;
    while (!s && good && bad && o.power_only != XT_ON && bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;
        halved = true;
        if (fits(&f, middle, good, &s))
            good = middle;
        else
            bad = middle;
    }
    if (!s && !good)
        s = status_new(XT_RESOURCE_EXHAUSTED, src, "xt_batch_find: not even a batch of %lld fits", (long long)o.first);
    if (s) {
        lazy_fail(status_at(s, src));
        return 0;
    }
    if (halved && good > o.first) good = (int64_t)fmax((double)o.first, floor((double)good * (1 - o.margin)));
    return good;
}

int64_t xt_batch_find_at(const xt_src *src, const xt_task *task, size_t task_size,
                         xt_loader *(*make)(int64_t batch, void *user), void *user, xt_batch_find_opts o) {
    xt_task sized;
    lazy_hold hold = {0};
    lazy_hold_errors(&hold);
    int64_t out = find_batch(src, train_sized(src, task, task_size, &sized), make, user, o);
    lazy_release_errors(&hold);
    return out;
}
