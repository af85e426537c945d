/* The learning-rate range test: Leslie N. Smith, "Cyclical Learning Rates for Training Neural Networks", 2017. The rate
 * rises over a short run, exponentially or linearly; the suggestion is where the smoothed loss falls most steeply.
 * Losses stay on the device and are read every few steps. */
#include <math.h>

#include <xtrain/plot.h>

#include "train/train_int.h"

enum { LOOK_EVERY = 10 };
static const double SMOOTHING = 0.98;

typedef struct test {
    xt_lr_find_opts o;
    xt_tensor losses; /* [steps]: the newest last */
    int64_t done, read;
    double mean, best;
    bool diverged; /* at the newest loss that was read */
    double *rates, *smooth; /* [steps] */
} test;

static double rate_at(const test *m, int64_t i) {
    double share = m->o.steps > 1 ? (double)i / (double)(m->o.steps - 1) : 0;
    return m->o.linear == XT_ON ? m->o.min_lr + share * (m->o.max_lr - m->o.min_lr)
                                : m->o.min_lr * pow(m->o.max_lr / m->o.min_lr, share);
}

static xt_status fit_start(xt_trainer *t, void *user) {
    test *m = user;
    t->rates_taken = true;
    for (int i = 0; i < t->n_opts; i++) xt_optimizer_set_lr_at(NULL, t->opts[i], rate_at(m, 0));
    return NULL;
}

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    test *m = user;
    (void)b;
    if (!lazy_type(t->step_loss)) return;
    int64_t n = m->o.steps;
    if (!m->losses.slot) m->losses = lazy_state_new(XT_HERE, LAZY_LOG, "losses of the range test", XT_F32, 1, &n, NULL);
    xt_no_grad_begin();
    xt_tensor v =
        xt_reshape_at(XT_HERE, xt_cast_at(XT_HERE, xt_detach_at(XT_HERE, t->step_loss), XT_F32), XT_DIMS_(1, 0));
    xt_tensor next =
        n > 1 ? xt_concat_at(XT_HERE, 2, (xt_tensor[]){xt_slice_at(XT_HERE, m->losses, 0, 1, n), v}, 0) : v;
    if (lazy_type(next)) lazy_assign(m->losses, next);
    xt_no_grad_end_at(NULL);
}

/* Takes the losses that are new; false when the run has diverged. */
static bool take_losses(test *m) {
    float *all = base_malloc((size_t)m->o.steps * sizeof *all);
    xt_status s = all && m->losses.slot ? lazy_state_read(m->losses, all, (size_t)m->o.steps * sizeof *all)
                                        : status_oom(8, "losses");
    bool good = !s;
    for (int64_t i = m->read; good && i < m->done; i++) {
        m->mean = SMOOTHING * m->mean + (1 - SMOOTHING) * (double)all[m->o.steps - m->done + i];
        double v = m->mean / (1 - pow(SMOOTHING, (double)(i + 1)));
        m->rates[i] = rate_at(m, i);
        m->smooth[i] = v;
        m->read = i + 1;
        if (i == 0 || v < m->best) m->best = v;
        good = !(i > 0 && v > m->o.stop_factor * m->best) && isfinite(v);
        m->diverged = !good;
    }
    xt_status_free(s);
    base_free(all);
    return good;
}

static void step_end(xt_trainer *t, void *user) {
    test *m = user;
    if (m->done == m->o.steps) return; /* a batch may have several steps, of which the last ones are beyond */
    m->done++;
    if (m->done % LOOK_EVERY == 0 && !take_losses(m)) {
        xt_trainer_stop(t);
        return;
    }
    for (int i = 0; i < t->n_opts; i++) xt_optimizer_set_lr_at(NULL, t->opts[i], rate_at(m, m->done));
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    test *m = user;
    (void)t;
    if (ok && !m->diverged && m->read < m->done) take_losses(m); /* nothing behind the loss that ended it */
    if (lazy_type(m->losses)) xt_drop_at(XT_HERE, m->losses);
}

static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "lr_find",
                                      .fit_start = fit_start,
                                      .batch_end = batch_end,
                                      .step_end = step_end,
                                      .fit_end = fit_end};

int64_t lr_suggestion(const double *losses, int64_t n, int64_t skip_first, int64_t skip_last) {
    int64_t first = skip_first, last = n - skip_last, best = -1, before = -1, two = -1, finite = 0;
    double steepest = INFINITY;
    /* Central differences over the finite points, one-sided at the ends. `two` is the point before `before`. */
    for (int64_t i = first; i <= last; i++) {
        bool end = i == last;
        if (!end && !isfinite(losses[i])) continue;
        finite += !end;
        if (before >= 0) {
            int64_t a = two >= 0 ? two : before, b = end ? before : i;
            double slope = b == a ? INFINITY : (losses[b] - losses[a]) / (two >= 0 && !end ? 2 : 1);
            if (slope < steepest) {
                steepest = slope;
                best = before;
            }
        }
        two = before;
        before = end ? before : i;
    }
    return finite >= 2 ? best : -1;
}

static const option_row rows[] = {
    {"min_lr", "first rate", OPTION_DOUBLE, offsetof(xt_lr_find_opts, min_lr), 0, 1e6, NULL},
    {"max_lr", "last rate", OPTION_DOUBLE, offsetof(xt_lr_find_opts, max_lr), 0, 1e6, NULL},
    {"steps", "optimizer steps", OPTION_I64, offsetof(xt_lr_find_opts, steps), 1, 1e6, NULL},
    {"stop_factor", "ends above so many times the best loss", OPTION_DOUBLE, offsetof(xt_lr_find_opts, stop_factor), 1,
     1e9, NULL},
    {"skip_first", "points left out at the begin", OPTION_I64, offsetof(xt_lr_find_opts, skip_first), 0, 1e6, NULL},
    {"skip_last", "points left out at the end", OPTION_I64, offsetof(xt_lr_find_opts, skip_last), 0, 1e6, NULL},
    {"linear", "rates rise by equal amounts", OPTION_SWITCH, offsetof(xt_lr_find_opts, linear), 0, 0, NULL},
};

static xt_status draw(const test *m, int64_t suggested) {
    double *at = base_malloc((size_t)m->read * sizeof *at);
    bool linear = m->o.linear == XT_ON;
    char mark[64];
    if (!at) return status_oom(64, "the plot");
    for (int64_t i = 0; i < m->read; i++) at[i] = linear ? m->rates[i] : log10(m->rates[i]);
    xt_plot_series series[2] = {{"smoothed loss", at, m->smooth, m->read}};
    if (suggested >= 0) {
        snprintf(mark, sizeof mark, "suggested: %.3g", m->rates[suggested]);
        series[1] = (xt_plot_series){mark, at + suggested, m->smooth + suggested, 1};
    }
    xt_status s = xt_plot_lines(m->o.plot, "learning rate range test",
                                linear ? "learning rate" : "log10(learning rate)", series, suggested >= 0 ? 2 : 1);
    base_free(at);
    return s;
}

/* Why there is no suggestion. After a divergence more steps are no help where the first rate was too high already: the
 * range has to move. */
static xt_status no_suggestion(const test *m) {
    const xt_lr_find_opts *o = &m->o;
    long long n = m->read, need = o->skip_first + o->skip_last + 2;
    double newest = n ? m->smooth[n - 1] : NAN, rate = n ? m->rates[n - 1] : NAN;
    char word[32];
    snprintf(word, sizeof word, "%g", newest);
    if (isnan(newest)) snprintf(word, sizeof word, "NaN"); /* not -nan */
    if (m->diverged && n == 1)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "xt_lr_find: the first loss is %s, before any rate was used; look at the data and the loss "
                          "(.detect_anomaly = XT_ON of a trainer names the place)",
                          word);
    if (m->diverged)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "xt_lr_find: the loss diverged at rate %.3g, loss %lld of %lld (smoothed %.3g, best %.3g), "
                          "which is too few for a suggestion: %lld are left out at the begin, %lld at the end, two are "
                          "needed between; try lower rates (.min_lr = %.2g, .max_lr = %.2g), or a smaller .skip_first",
                          rate, n, (long long)o->steps, newest, m->best, (long long)o->skip_first,
                          (long long)o->skip_last, o->min_lr / 1000, rate);
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "xt_lr_find: %lld losses, which is too few for a suggestion after leaving out %lld and %lld; try "
                      ".steps = %lld or more, or a smaller .skip_first",
                      n, (long long)o->skip_first, (long long)o->skip_last, need);
}

static double find_rate(const xt_src *src, const xt_task *task, xt_loader *loader, xt_lr_find_opts o) {
    xt_status s = options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_lr_find_opts), "xt_lr_find");
    if (!s && o.min_lr >= o.max_lr)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_lr_find: min_lr = %g is not below max_lr = %g", o.min_lr,
                       o.max_lr);
    if (!s && o.min_lr == 0 && o.linear != XT_ON)
        s = status_new(
            XT_INVALID_ARGUMENT, NULL,
            "xt_lr_find: min_lr = 0: rates that rise by equal factors begin above 0; .linear = XT_ON has them "
            "rise by equal amounts");
    test m = {.o = o};
    double lr = NAN;
    if (!s) {
        m.rates = base_calloc((size_t)o.steps, sizeof *m.rates);
        m.smooth = base_calloc((size_t)o.steps, sizeof *m.smooth);
        if (!m.rates || !m.smooth) s = status_oom((size_t)o.steps * sizeof *m.rates, "xt_lr_find");
    }
    if (!s) {
        xt_callback *c = callback_make(&desc, &m);
        if (c) c->made = src_intern(src);
        s = c ? scratch_fit(src, "xt_lr_find", task, loader, o.steps, c) : status_clone(lazy_pending());
    }
    if (!s) {
        int64_t at = lr_suggestion(m.smooth, m.read, o.skip_first, o.skip_last);
        if (at >= 0) lr = m.rates[at];
        if (o.plot && m.read > 1) s = draw(&m, at);
        if (!s && at < 0) s = no_suggestion(&m);
    }
    base_free(m.rates);
    base_free(m.smooth);
    if (s) lazy_fail(status_at(s, src));
    return lr;
}

double xt_lr_find_at(const xt_src *src, const xt_task *task, size_t task_size, xt_loader *loader, xt_lr_find_opts o) {
    xt_task sized;
    lazy_hold hold = {0};
    lazy_hold_errors(&hold);
    double out = find_rate(src, train_sized(src, task, task_size, &sized), loader, o);
    lazy_release_errors(&hold);
    return out;
}
