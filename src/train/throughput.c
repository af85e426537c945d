/* The throughput monitor: time between completions of micro-batches on the device (lazy_when_step_done), over a window;
 * a row with every row of logs. Nothing waits: a row holds what has completed when it is due. Validation stops the
 * clock. FLOPs are the compiled programs' own counts. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "train/throughput_peak.h"
#include "train/throughput_window.h"
#include "train/train_int.h"

typedef struct ticket { /* a batch under way; one a place in the ring, so none is allocated in the loop */
    struct monitor *of;
    int64_t seq;
} ticket;
typedef struct monitor {
    xt_throughput_opts o;
    thr_window w;
    ticket *tickets;
    double peak;
    bool ready, told, raised, tokens; /* tokens: items are the loader's;  told: that there are no FLOPs; raised: the
                                         peak, and that was said */
} monitor;

/* The event of an execution comes on the thread that recorded it, before the next batch is recorded. */
static __thread ticket *expecting;

static void on_event(void *user, const lazy_event *e) {
    (void)user;
    if (!expecting || e->forced || (e->cause != LAZY_LOADER && e->cause != LAZY_STEP_END)) return;
    if (e->stats.flops > 0) thr_flops(&expecting->of->w, expecting->seq, e->stats.flops);
    expecting = NULL;
}

static void train_done(void *user, int64_t step, int64_t finished_ns) {
    ticket *k = user;
    (void)step;
    thr_done(&k->of->w, k->seq, finished_ns);
}

static void other_done(void *user, int64_t step, int64_t finished_ns) {
    monitor *m = user;
    (void)step;
    thr_resume(&m->w, finished_ns);
}

static xt_status fit_start(xt_trainer *t, void *user) {
    static bool listening;
    monitor *m = user;
    if (m->ready) thr_deinit(&m->w);
    m->ready = false;
    base_free(m->tickets);
    m->tickets = NULL;
    XT_TRY(thr_init(&m->w, (size_t)m->o.window * (size_t)t->o.accumulate_grad_batches));
    m->ready = true;
    m->tickets = base_calloc(m->w.cap, sizeof *m->tickets);
    if (!m->tickets) return status_oom(m->w.cap * sizeof *m->tickets, "the throughput window");
    if (!listening) lazy_on_event(on_event, NULL);
    listening = true;
    const char *source = "given";
    m->peak = m->o.peak_flops;
    if (m->peak == XT_AUTO) XT_TRY(throughput_peak(&m->peak, &source));
    if (world_get()->rank == 0) {
        if (m->peak > 0)
            log_msg(XT_SEV_INFO, "throughput: window of %d steps; MFU against %.4g TFLOP/s a device (%s)", m->o.window,
                    m->peak / 1e12, source);
        else
            log_msg(XT_SEV_INFO,
                    "throughput: window of %d steps; no MFU, for the device's peak is unknown (.peak_flops sets it)",
                    m->o.window);
    }
    return NULL;
}

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    monitor *m = user;
    (void)t;
    if (lazy_pending()) return;
    int64_t seq = thr_begin(&m->w, lazy_share_of(b->size));
    bool told = m->o.items != NULL || m->o.items_per_sample > 0; /* the program's own count goes first */
    int64_t items = m->o.items ? m->o.items(b, m->o.user) : told ? 0 : b->tokens;
    if (items > 0) thr_items(&m->w, seq, m->o.items ? lazy_share_of(items) : lazy_share_of_part(items));
    m->tokens = !told;
    ticket *k = &m->tickets[(size_t)seq % m->w.cap];
    *k = (ticket){m, seq};
    expecting = k;
    lazy_when_step_done(train_done, k);
}

static void validation_start(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    expecting = NULL;
}

static void validation_batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    (void)t;
    (void)b;
    lazy_when_step_done(other_done, user);
}

static void epoch_start(xt_trainer *t, void *user) {
    (void)t;
    thr_resume(&((monitor *)user)->w, clock_ns());
}

static void validation_end(xt_trainer *t, void *user) {
    epoch_start(t, user);
}

/* No device does more than its peak: what it was seen doing is the least that its peak can be. A peak that the program
 * gave stays, for it is the program's own measure; that it is none of this device is said. */
static double mfu_of(monitor *m, const thr_stats *s) {
    double mfu = thr_mfu(s, m->peak);
    bool given = m->o.peak_flops != XT_AUTO;
    if (mfu <= 1) return mfu;
    if (!m->raised && world_get()->rank == 0)
        log_msg(XT_SEV_WARNING,
                "throughput: the device did %.4g TFLOP/s over a window of %zu batches, more than its peak of %.4g "
                "TFLOP/s%s",
                s->flops_per_s / 1e12, s->n, m->peak / 1e12,
                given ? " (.peak_flops), so MFU is above 1: give the device's own peak, or leave .peak_flops out"
                      : ", which was measured too low: from here on MFU is against the most that it was seen doing");
    m->raised = true;
    if (given) return mfu;
    m->peak = s->flops_per_s;
    return 1;
}

static void row(xt_trainer *t, void *user) {
    monitor *m = user;
    thr_stats s;
    if (!callback_leads(t, &throughput_desc, user) || !thr_get(&m->w, &s)) return;
    const char *names[THR_VALUES];
    double values[THR_VALUES], mfu = mfu_of(m, &s);
    if (mfu > 0) t->mfu = mfu;
    if (s.flops_per_s <= 0 && !m->told && world_get()->rank == 0)
        log_msg(XT_SEV_WARNING,
                "throughput: the device does not tell its programs' FLOPs, so there are no flops_per_sec and no MFU");
    m->told = m->told || s.flops_per_s <= 0;
    int n = thr_values(&s, world_get()->size, m->peak, (double)m->o.items_per_sample, m->tokens, names, values);
    xt_trainer_log_host(t, n, names, values);
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    monitor *m = user;
    thr_stats s;
    expecting = NULL;
    if (!m->ready || !thr_get(&m->w, &s)) return;
    double mfu = mfu_of(m, &s);
    if (mfu > 0) t->result.mfu = t->mfu = mfu;
    double items = thr_items_per_s(&s, (double)m->o.items_per_sample), ranks = world_get()->size;
    char more[64] = "";
    if (items > 0) snprintf(more, sizeof more, ", %.1f %s/s", ranks * items, m->tokens ? "tokens" : "items");
    if (ok && world_get()->rank == 0)
        log_msg(XT_SEV_INFO,
                "throughput of the last %zu batches: %.3f ms each (p50 %.3f, p95 %.3f), %.1f samples/s%s%s", s.n,
                1e3 * s.mean_s, 1e3 * s.p50_s, 1e3 * s.p95_s, ranks * s.samples_per_s, more,
                ranks > 1 ? " over all ranks" : "");
}

static void free_monitor(void *user) {
    monitor *m = user;
    if (expecting && expecting->of == m) expecting = NULL; /* of a fit that was left by longjmp */
    lazy_drain(); /* completions point into it */
    if (m->ready) thr_deinit(&m->w);
    base_free(m->tickets);
    base_free(m);
}

const xt_callback_desc throughput_desc = {
    .struct_size = sizeof(xt_callback_desc),
    .name = "throughput",
    .fit_start = fit_start,
    .epoch_start = epoch_start,
    .batch_end = batch_end,
    .row = row,
    .validation_start = validation_start,
    .validation_batch_end = validation_batch_end,
    .validation_end = validation_end,
    .fit_end = fit_end,
    .free_user = free_monitor,
};

static const option_row rows[] = {
    {"window", "optimizer steps the rates are over", OPTION_INT, offsetof(xt_throughput_opts, window), 1, 1e6, NULL},
    {"peak_flops", "peak of one device, for MFU", OPTION_DOUBLE, offsetof(xt_throughput_opts, peak_flops), 0, 1e20,
     NULL},
    {"items_per_sample", "tokens of a sequence", OPTION_I64, offsetof(xt_throughput_opts, items_per_sample), 0, 1e12,
     NULL},
};

xt_callback *xt_throughput_monitor_opt(const xt_src *src, xt_throughput_opts o) {
    SRC_CALLED_FROM(src);
    xt_status s =
        options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_throughput_opts), "xt_throughput_monitor");
    monitor *m = s ? NULL : base_calloc(1, sizeof *m);
    if (!m) {
        lazy_fail(s ? s : status_oom(sizeof *m, "a callback"));
        return NULL;
    }
    m->o = o;
    return callback_make(&throughput_desc, m);
}
