/* The loss curve: step rows named "loss" or ending in "/loss", training and validation, as they pass through the log
 * engine; drawn at the end of fit. */
#include <math.h>
#include <pthread.h>

#include <xtrain/plot.h>

#include "train/train_int.h"

enum { MAX_CURVES = 4, MAX_POINTS = 4096 };
typedef struct curve {
    char *name;
    double *x, *y;
    int64_t n, stride, skipped; /* every stride-th row is kept, so that a long run keeps a bounded number of points */
} curve;
struct history {
    pthread_mutex_t lock;
    curve curves[MAX_CURVES];
    int n;
};

history *history_new(void) {
    history *h = base_calloc(1, sizeof *h);
    if (h) pthread_mutex_init(&h->lock, NULL);
    return h;
}

void history_free(history *h) {
    if (!h) return;
    for (int i = 0; i < h->n; i++) {
        base_free(h->curves[i].name);
        base_free(h->curves[i].x);
        base_free(h->curves[i].y);
    }
    pthread_mutex_destroy(&h->lock);
    base_free(h);
}

static bool is_loss(const char *name) {
    size_t n = strlen(name);
    return strcmp(name, "loss") == 0 ||
           (n > 5 && (strcmp(name + n - 5, "/loss") == 0 || strcmp(name + n - 5, "_loss") == 0));
}

static curve *curve_of(history *h, const char *name) {
    for (int i = 0; i < h->n; i++)
        if (strcmp(h->curves[i].name, name) == 0) return &h->curves[i];
    if (h->n == MAX_CURVES) return NULL;
    curve c = {
        base_strdup(name), base_malloc(MAX_POINTS * sizeof(double)), base_malloc(MAX_POINTS * sizeof(double)), 0, 1, 0};
    if (!c.name || !c.x || !c.y) {
        base_free(c.name);
        base_free(c.x);
        base_free(c.y);
        return NULL;
    }
    h->curves[h->n] = c;
    return &h->curves[h->n++];
}

static void add_point(curve *c, double x, double y) {
    if (++c->skipped < c->stride) return;
    c->skipped = 0;
    if (c->n == MAX_POINTS) {
        for (int64_t i = 0; i < MAX_POINTS / 2; i++) {
            c->x[i] = c->x[2 * i];
            c->y[i] = c->y[2 * i];
        }
        c->n = MAX_POINTS / 2;
        c->stride *= 2;
    }
    c->x[c->n] = x;
    c->y[c->n++] = y;
}

static void take_row(void *user, const log_row *row) {
    history *h = user;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < row->n; i++) {
        if (!is_loss(row->values[i].name)) continue;
        curve *c = curve_of(h, row->values[i].name);
        if (c) add_point(c, (double)row->step, row->values[i].value);
    }
    pthread_mutex_unlock(&h->lock);
}

log_sink history_sink(history *h) {
    return (log_sink){.row = take_row, .user = h};
}

/* The trainer's own "loss" is the same curve as the task's "train/loss", where it logs one. */
static bool told_by_another(const history *h, int i) {
    const curve *c = &h->curves[i];
    for (int k = 0; k < h->n; k++) {
        const curve *d = &h->curves[k];
        if (k != i && strcmp(c->name, "loss") == 0 && c->n == d->n &&
            memcmp(c->y, d->y, (size_t)c->n * sizeof *c->y) == 0)
            return true;
    }
    return false;
}

xt_status history_draw(history *h, const char *path) {
    xt_plot_series series[MAX_CURVES];
    pthread_mutex_lock(&h->lock);
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (h->curves[i].n > 0 && !told_by_another(h, i))
            series[n++] = (xt_plot_series){h->curves[i].name, h->curves[i].x, h->curves[i].y, h->curves[i].n};
    xt_status s = n ? xt_plot_lines(path, "loss", "optimizer step", series, n) : NULL;
    pthread_mutex_unlock(&h->lock);
    return s;
}
