/* See throughput_window.h. Percentiles are of the nearest rank. */
#include "train/throughput_window.h"

#include <math.h>
#include <stdlib.h>

enum { UNDER_WAY = 8 };

xt_status thr_init(thr_window *w, size_t window) {
    size_t cap = window + UNDER_WAY;
    *w = (thr_window){.window = window, .cap = cap, .clock_ns = -1};
    w->ring = base_calloc(cap, sizeof *w->ring);
    if (!w->ring) return status_oom(cap * sizeof *w->ring, "the throughput window");
    for (size_t i = 0; i < cap; i++) w->ring[i] = (thr_batch){.seq = -1, .took_ns = -1};
    pthread_mutex_init(&w->lock, NULL);
    return NULL;
}

void thr_deinit(thr_window *w) {
    if (!w->ring) return;
    base_free(w->ring);
    w->ring = NULL;
    pthread_mutex_destroy(&w->lock);
}

static thr_batch *batch_of(thr_window *w, int64_t seq) {
    thr_batch *b = &w->ring[(size_t)seq % w->cap];
    return b->seq == seq ? b : NULL;
}

int64_t thr_begin(thr_window *w, int64_t samples) {
    pthread_mutex_lock(&w->lock);
    int64_t seq = w->next_seq++;
    w->ring[(size_t)seq % w->cap] = (thr_batch){.seq = seq, .samples = samples, .took_ns = -1};
    pthread_mutex_unlock(&w->lock);
    return seq;
}

void thr_items(thr_window *w, int64_t seq, int64_t items) {
    pthread_mutex_lock(&w->lock);
    thr_batch *b = batch_of(w, seq);
    if (b && items > 0) b->items = items;
    pthread_mutex_unlock(&w->lock);
}

void thr_flops(thr_window *w, int64_t seq, double flops) {
    pthread_mutex_lock(&w->lock);
    thr_batch *b = batch_of(w, seq);
    if (b && flops > 0) b->flops = flops;
    pthread_mutex_unlock(&w->lock);
}

void thr_done(thr_window *w, int64_t seq, int64_t finished_ns) {
    pthread_mutex_lock(&w->lock);
    thr_batch *b = batch_of(w, seq);
    if (b) {
        if (w->clock_ns >= 0) b->took_ns = finished_ns > w->clock_ns ? finished_ns - w->clock_ns : 0;
        w->batches++;
        w->samples += b->samples;
    }
    if (finished_ns > w->clock_ns) w->clock_ns = finished_ns;
    pthread_mutex_unlock(&w->lock);
}

void thr_resume(thr_window *w, int64_t now_ns) {
    pthread_mutex_lock(&w->lock);
    if (w->clock_ns >= 0 && now_ns > w->clock_ns) w->clock_ns = now_ns;
    pthread_mutex_unlock(&w->lock);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const double *sorted, size_t n, double p) {
    size_t rank = (size_t)ceil(p * (double)n);
    return sorted[rank > 0 ? rank - 1 : 0];
}

bool thr_get(thr_window *w, thr_stats *out) {
    *out = (thr_stats){0};
    double *times = base_malloc(w->window * sizeof *times), total = 0, flops = 0;
    int64_t samples = 0, items = 0;
    if (!times) return false;
    pthread_mutex_lock(&w->lock);
    for (int64_t seq = w->next_seq - 1; seq >= 0 && seq >= w->next_seq - (int64_t)w->cap && out->n < w->window; seq--) {
        const thr_batch *b = batch_of(w, seq);
        if (!b || b->took_ns < 0) continue;
        times[out->n++] = (double)b->took_ns * 1e-9;
        total += (double)b->took_ns * 1e-9;
        samples += b->samples;
        items += b->items;
        flops += b->flops;
    }
    pthread_mutex_unlock(&w->lock);
    if (out->n && total > 0) {
        qsort(times, out->n, sizeof *times, by_size);
        out->mean_s = total / (double)out->n;
        out->p50_s = percentile(times, out->n, 0.5);
        out->p95_s = percentile(times, out->n, 0.95);
        out->batches_per_s = (double)out->n / total;
        out->samples_per_s = (double)samples / total;
        out->items_per_s = (double)items / total;
        out->flops_per_s = flops / total;
    }
    base_free(times);
    return out->n > 0 && total > 0;
}

double thr_mfu(const thr_stats *s, double peak) {
    return s->flops_per_s > 0 && peak > 0 ? s->flops_per_s / peak : 0;
}

double thr_items_per_s(const thr_stats *s, double items) {
    return s->items_per_s > 0 ? s->items_per_s : s->samples_per_s * items;
}

int thr_values(const thr_stats *s, double devices, double peak, double items, bool tokens,
               const char *names[THR_VALUES], double values[THR_VALUES]) {
    int n = 0;
    double items_per_s = thr_items_per_s(s, items);
#define VALUE(name, v) (names[n] = "throughput/" name, values[n++] = (v))
    VALUE("batch_ms_mean", 1e3 * s->mean_s);
    VALUE("batch_ms_p50", 1e3 * s->p50_s);
    VALUE("batch_ms_p95", 1e3 * s->p95_s);
    VALUE("batches_per_sec", devices * s->batches_per_s);
    VALUE("samples_per_sec", devices * s->samples_per_s);
    VALUE("device/batches_per_sec", s->batches_per_s);
    VALUE("device/samples_per_sec", s->samples_per_s);
    if (items_per_s > 0 && tokens) {
        VALUE("tokens_per_sec", devices * items_per_s);
        VALUE("device/tokens_per_sec", items_per_s);
    } else if (items_per_s > 0) {
        VALUE("items_per_sec", devices * items_per_s);
        VALUE("device/items_per_sec", items_per_s);
    }
    if (s->flops_per_s > 0) {
        VALUE("flops_per_sec", devices * s->flops_per_s);
        VALUE("device/flops_per_sec", s->flops_per_s);
    }
    if (thr_mfu(s, peak) > 0) VALUE("mfu", thr_mfu(s, peak));
#undef VALUE
    return n;
}
