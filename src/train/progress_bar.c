/* The progress bar: one line, repainted at most ten times a second by a thread of its own, from a few numbers the loop
 * leaves under a lock and values that rows bring along. It never reads a tensor. An epoch's last line waits for the
 * rows that its validation has asked for, the loop does not. Where the sink is no terminal it writes a plain line every
 * ten seconds and at the end of each epoch. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "lazy/mesh/mesh.h"
#include "base/cpus.h"
#include "train/train_int.h"

enum { MAX_VALUES = 6, PAINT_MS = 100, PLAIN_MS = 10000, BAR_CELLS = 24 };
typedef struct bar {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t painter;
    bool running, stop, terminal, images, listening;
    log_sink sink;
    const char *stage; /* "epoch", "validating" */
    int64_t epoch, epochs, done, total, samples, tokens, first, began_ns, validated, batch_total;
    double ranks;
    struct {
        char name[64];
        double value;
        int64_t validation; /* which one's, as `seen` counts; of training: always new */
    } values[MAX_VALUES];
    int n_values;
    /* the first row of a validation in this epoch; in the pending line's: older values are not shown, they
     * would look new */
    int64_t first_row, pending_first;
    /* rows of validations: sent before this fit; arrived in it; the pending line shows the values of */
    int64_t before, seen, needed;
    str pending; /* the head of an epoch's last line, until that row has brought its values */
} bar;

/* --- text --- */
static void append_time(str *s, double seconds) {
    int64_t n = seconds < 0 || seconds > 1e8 ? 0 : (int64_t)(seconds + 0.5);
    if (n >= 3600)
        str_printf(s, "%lld:%02lld:%02lld", (long long)(n / 3600), (long long)(n / 60 % 60), (long long)(n % 60));
    else
        str_printf(s, "%lld:%02lld", (long long)(n / 60), (long long)(n % 60));
}

static void append_bar(str *s, double share) {
    int full = (int)(share * BAR_CELLS);
    str_putc(s, '[');
    for (int i = 0; i < BAR_CELLS; i++) str_putc(s, i < full ? '=' : i == full ? '>' : ' ');
    str_putc(s, ']');
}

static void append_head(const bar *b, str *s, int64_t now, bool with_bar) {
    double elapsed = (double)(now - b->began_ns) / 1e9, share = b->total > 0 ? (double)b->done / (double)b->total : 0;
    if (b->terminal) str_putc(s, '\r');
    str_printf(s, "epoch %lld", (long long)b->epoch + 1);
    if (b->epochs > 0) str_printf(s, "/%lld", (long long)b->epochs);
    str_putc(s, ' ');
    if (with_bar) append_bar(s, share);
    str_printf(s, " %lld/%lld", (long long)b->done, (long long)b->total);
    if (b->validated)
        str_printf(s, " validating %lld", (long long)b->validated);
    else if (elapsed > 0 && b->samples) {
        double rate = b->ranks * (double)b->samples / elapsed;
        str_printf(s, rate < 100 ? " %.3g %s/s" : " %.0f %s/s", rate, b->images ? "images" : "samples");
        if (b->tokens) str_printf(s, " %.0f tokens/s", rate * (double)b->tokens / (double)b->samples);
        int64_t seen = b->done - b->first;
        if (with_bar && seen > 0 && b->done < b->total) {
            str_append(s, " ETA ");
            append_time(s, elapsed / (double)seen * (double)(b->total - b->done));
        }
    }
}

static void append_values(const bar *b, str *s, int64_t first_row) {
    for (int i = 0; i < b->n_values; i++) /* not -nan */
        if (b->values[i].validation >= first_row)
            str_printf(s, " %s %.4g", b->values[i].name, isnan(b->values[i].value) ? (double)NAN : b->values[i].value);
}

static void say(const bar *b, str *s, bool final) {
    if (b->terminal) str_append(s, "\x1b[K");
    if (!b->terminal || final) str_putc(s, '\n');
    if (!s->failed) log_raw(XT_SEV_PROGRESS, str_cstr(s), s->len);
}

/* The lock is held in all of these. */
static void say_pending(bar *b) {
    if (b->pending.len == 0) return;
    append_values(b, &b->pending, b->pending_first);
    say(b, &b->pending, true);
    str_clear(&b->pending);
}

static void paint(bar *b) {
    if (b->pending.len || !b->stage || b->total == 0) return;
    str s = STR_INIT;
    append_head(b, &s, clock_ns(), b->terminal);
    append_values(b, &s, b->first_row);
    say(b, &s, false);
    str_free(&s);
}

/* --- the painter --- */
static void *serve(void *user) {
    bar *b = user;
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t ns = until.tv_nsec + (int64_t)(b->terminal ? PAINT_MS : PLAIN_MS) * 1000000;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        int rc = 0;
        while (!b->stop && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&b->changed, &b->lock, &until);
        if (!b->stop) paint(b);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void take_row(void *user, const log_row *row) {
    bar *b = user;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < row->n; i++) {
        if (!row->values[i].prog_bar) continue;
        int k = 0;
        while (k < b->n_values && strncmp(b->values[k].name, row->values[i].name, sizeof b->values[k].name - 1) != 0)
            k++;
        if (k == MAX_VALUES) continue;
        if (k == b->n_values)
            snprintf(b->values[b->n_values++].name, sizeof b->values[k].name, "%s", row->values[i].name);
        b->values[k].value = row->values[i].value;
        b->values[k].validation = row->stage == LOG_VALIDATE ? b->seen : INT64_MAX;
    }
    if (row->stage == LOG_VALIDATE && row->epoch_level) {
        if (++b->seen >= b->needed) say_pending(b);
    }
    pthread_mutex_unlock(&b->lock);
}

static bool wanted(const xt_trainer *t) {
    const char *env = env_get("XT_PROGRESS");
    bool on;
    if (env && parse_flag(env, &on)) return on;
    return t->o.progress_bar != XT_OFF;
}

static xt_status fit_start(xt_trainer *t, void *user) {
    bar *b = user;
    if (world_get()->rank != 0 || !wanted(t)) return NULL;
    b->terminal = log_to_terminal();
    b->ranks = world_get()->size;
    b->stop = false;
    b->stage = NULL;
    b->before = log_epoch_rows(LOG_VALIDATE);
    b->seen = b->needed = b->first_row = b->pending_first = 0;
    b->sink = (log_sink){.row = take_row, .user = b};
    log_add_sink(&b->sink);
    b->listening = true;
    b->running = cpus_start(&b->painter, "the thread of the progress bar", serve, b) ==
                 0; /* without a thread: no bar, the training goes on */
    return NULL;
}

static void stop_painter(bar *b) {
    if (b->listening) log_remove_sink(&b->sink);
    b->listening = false;
    if (!b->running) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->painter, NULL);
    b->running = false;
}

/* --- what the loop tells --- */
static void epoch_start(xt_trainer *t, void *user) {
    bar *b = user;
    pthread_mutex_lock(&b->lock);
    b->epoch = t->epoch;
    b->epochs = t->o.max_epochs;
    b->first_row = log_epoch_rows(LOG_VALIDATE) - b->before;
    b->total = t->train_limit;
    b->first = b->done = t->position.batch;
    b->samples = b->tokens = b->validated = 0;
    b->began_ns = clock_ns();
    pthread_mutex_unlock(&b->lock);
}

static void batch_end(xt_trainer *t, const xt_batch *batch, void *user) {
    bar *b = user;
    (void)t;
    bool images = xt_rank_of(batch->x) == 4;
    pthread_mutex_lock(&b->lock);
    b->stage = "epoch";
    b->done = batch->index + 1;
    b->samples += lazy_share_of(batch->size);
    b->tokens += lazy_share_of_part(batch->tokens);
    b->images = images;
    pthread_mutex_unlock(&b->lock);
}

static void validation_batch_end(xt_trainer *t, const xt_batch *batch, void *user) {
    bar *b = user;
    (void)t;
    pthread_mutex_lock(&b->lock);
    b->validated = batch->index + 1;
    pthread_mutex_unlock(&b->lock);
}

static void validation_end(xt_trainer *t, void *user) {
    bar *b = user;
    (void)t;
    pthread_mutex_lock(&b->lock);
    b->validated = 0;
    pthread_mutex_unlock(&b->lock);
}

static void epoch_end(xt_trainer *t, void *user) {
    bar *b = user;
    (void)t;
    if (!b->running) return;
    pthread_mutex_lock(&b->lock);
    if (b->pending.len) { /* values asked for a whole epoch ago */
        pthread_mutex_unlock(&b->lock);
        log_drain();
        pthread_mutex_lock(&b->lock);
        say_pending(b); /* if a row was lost */
    }
    b->needed = log_epoch_rows(LOG_VALIDATE) - b->before;
    b->pending_first = b->first_row;
    if (b->stage) append_head(b, &b->pending, clock_ns(), b->terminal);
    b->stage = NULL;
    if (b->seen >= b->needed) say_pending(b);
    pthread_mutex_unlock(&b->lock);
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    bar *b = user;
    if (!ok && t->at.micro_batches == 0) b->stage = NULL; /* nothing has run: the error is all there is to say */
    if (b->stage) epoch_end(t, b); /* ended by an error */
    stop_painter(b);
    say_pending(b);
}

static void free_bar(void *user) {
    bar *b = user;
    stop_painter(b);
    str_free(&b->pending);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    base_free(b);
}

const xt_callback_desc progress_bar_desc = {
    .struct_size = sizeof(xt_callback_desc),
    .name = "progress_bar",
    .fit_start = fit_start,
    .epoch_start = epoch_start,
    .batch_end = batch_end,
    .validation_batch_end = validation_batch_end,
    .validation_end = validation_end,
    .epoch_end = epoch_end,
    .fit_end = fit_end,
    .free_user = free_bar,
};

xt_callback *progress_bar_new(void) {
    bar *b = base_calloc(1, sizeof *b);
    if (!b) return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return callback_make(&progress_bar_desc, b);
}
