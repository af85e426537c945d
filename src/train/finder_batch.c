/* The largest batch that fits: short trials that are allowed to run out of memory. First doubled, or halved until one
 * fits, then halved intervals. */
#include <math.h>

#include "data/data.h"
#include "train/train_int.h"

typedef enum verdict { FITS, TOO_LARGE, NO_SAMPLES } verdict;

typedef struct search {
    const xt_src *src;
    const xt_task *task;
    xt_loader *(*make)(int64_t batch, void *user);
    void *user;
    xt_batch_find_opts o;
    int64_t good, bad; /* the largest that fitted, and the smallest that did not; 0: none yet */
    int64_t trials;
    bool over; /* larger ones say nothing about memory: there are no more samples, or trials */
    bool halved;
    xt_status s; /* why it failed */
} search;

/* A loader that cannot be made has fewer samples than a batch: it ends the search where something fitted already, and
 * else the search goes on below, until a batch of 1 shows that it was something else. One whose dataset is gone, freed
 * with the loader of an earlier trial, says nothing about the batch: that is an error. */
static verdict no_loader(search *f, int64_t batch) {
    xt_status s = lazy_pending()
                      ? status_clone(lazy_pending())
                      : status_new(XT_INVALID_ARGUMENT, f->src,
                                   "xt_batch_find: make gave no loader for a batch of %lld", (long long)batch);
    lazy_forget_error();
    if ((!f->good && batch == 1) || status_code(s) == XT_FAILED_PRECONDITION) {
        f->s = s;
        return NO_SAMPLES;
    }
    log_msg(XT_SEV_INFO, "batch %lld: %s", (long long)batch, status_message(s));
    xt_status_free(s);
    return NO_SAMPLES;
}

static verdict trial(search *f, int64_t batch) {
    xt_loader *l = f->make(batch, f->user);
    if (!l) return no_loader(f, batch);
    loader_keep_full(l);
    bool enough = xt_loader_batches(l) != 0;
    xt_status s = enough ? scratch_fit(f->src, "xt_batch_find", f->task, l, f->o.steps, NULL) : NULL;
    bool memory = status_code(s) == XT_RESOURCE_EXHAUSTED, fits = !s;
    xt_loader_free(l);
    log_msg(XT_SEV_INFO, "batch %lld: %s", (long long)batch,
            !enough  ? "more than there are samples"
            : fits   ? "fits"
            : memory ? "out of memory"
                     : "fails");
    if (!fits && !memory)
        f->s = s;
    else
        xt_status_free(s);
    return !enough ? NO_SAMPLES : fits ? FITS : TOO_LARGE;
}

/* Tries one size, and notes what it says. */
static void try_size(search *f, int64_t batch) {
    if (f->trials++ == f->o.max_trials) {
        log_msg(XT_SEV_INFO, "%lld trials were made: the search ends (.max_trials)", (long long)f->o.max_trials);
        f->over = true;
        return;
    }
    verdict v = trial(f, batch);
    if (v == FITS) f->good = batch;
    if (v == TOO_LARGE) f->bad = batch;
    if (v == NO_SAMPLES && f->good) f->over = true;
}

static bool goes_on(const search *f) {
    return !f->s && !f->over;
}

/* Between what fits and what does not. */
static void halve_interval(search *f) {
    while (goes_on(f) && f->good && f->bad && f->bad - f->good > 1) {
        f->halved = true;
        try_size(f, f->good + (f->bad - f->good) / 2);
    }
}

static void run_search(search *f) {
    /* The first that fits: memory or samples may not do for `first`. */
    for (int64_t batch = f->o.first < f->o.most ? f->o.first : f->o.most; goes_on(f) && !f->good && batch; batch /= 2)
        try_size(f, batch);
    while (goes_on(f) && f->good && !f->bad && f->good <= f->o.most / 2) try_size(f, f->good * 2);
    if (f->o.power_only == XT_ON) return;
    /* between the last power of two and the most that is asked for */
    if (goes_on(f) && f->good && !f->bad && f->good < f->o.most) try_size(f, f->o.most);
    halve_interval(f);
}

static const option_row rows[] = {
    {"first", "first batch tried", OPTION_I64, offsetof(xt_batch_find_opts, first), 1, 1e9, NULL},
    {"most", "largest batch tried", OPTION_I64, offsetof(xt_batch_find_opts, most), 1, 1e9, NULL},
    {"steps", "optimizer steps a trial", OPTION_I64, offsetof(xt_batch_find_opts, steps), 1, 1e6, NULL},
    {"margin", "kept free after a search by halves", OPTION_DOUBLE, offsetof(xt_batch_find_opts, margin), 0, 0.9, NULL},
    {"max_trials", "most batches tried", OPTION_I64, offsetof(xt_batch_find_opts, max_trials), 1, 1e6, NULL},
};

static int64_t find_batch(const xt_src *src, const xt_task *task, xt_loader *(*make)(int64_t batch, void *user),
                          void *user, xt_batch_find_opts o) {
    search f = {.src = src, .task = task, .make = make, .user = user};
    f.s = options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_batch_find_opts), "xt_batch_find");
    f.o = o;
    if (!f.s && !make)
        f.s = status_new(XT_INVALID_ARGUMENT, src, "xt_batch_find: the function that makes loaders is NULL");
    if (!f.s && o.first > o.most)
        f.s = status_new(XT_INVALID_ARGUMENT, src, "xt_batch_find: .first = %lld is more than .most = %lld",
                         (long long)o.first, (long long)o.most);
    if (!f.s) run_search(&f);
    if (!f.s && !f.good)
        f.s = f.over
                  ? status_new(XT_OUT_OF_RANGE, src,
                               "xt_batch_find: none of %lld batches from %lld on fits; a smaller .first, or a larger "
                               ".max_trials",
                               (long long)o.max_trials, (long long)o.first)
              : f.bad ? status_new(XT_OUT_OF_RANGE, src, "xt_batch_find: not even a batch of 1 fits in memory")
                      : status_new(XT_INVALID_ARGUMENT, src,
                                   "xt_batch_find: the loaders of `make` have no batch, not "
                                   "even of 1 sample: its dataset is empty");
    if (f.s) {
        lazy_fail(status_at(f.s, src));
        return 0;
    }
    if (f.halved && f.good > 1) f.good = (int64_t)fmax(1, floor((double)f.good * (1 - o.margin)));
    return f.good;
}

int64_t xt_batch_find_at(const xt_src *src, const xt_task *task, size_t task_size,
                         xt_loader *(*make)(int64_t batch, void *user), void *user, xt_batch_find_opts o) {
    xt_task sized;
    lazy_hold hold = {.trial = true}; /* memory that runs out is what is looked for */
    lazy_hold_errors(&hold);
    int64_t out = find_batch(src, train_sized(src, task, task_size, &sized), make, user, o);
    lazy_release_errors(&hold);
    return out;
}
