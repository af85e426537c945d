/* Where things are found by name, in a step that logs thousands: the metrics of a stage, and of each the first of its
 * values that are pending. A pending value is entered where it is pushed; whatever else changes the list enters all of
 * them anew (log_pending_index), so that what stands here is never older than the list. */
#include "metrics/log_int.h"

size_t log_metric_named(const log_set *set, const char *name) {
    void *place = set->names && *name ? map_get(set->names, name, strlen(name)) : NULL;
    return place ? (size_t)(uintptr_t)place - 1 : LOG_NONE;
}

bool log_metric_push(log_set *set, log_metric m) {
    bool known =
        log_metric_named(set, m.name) != LOG_NONE; /* a damaged checkpoint may have one twice: the first counts */
    if (!set->names) set->names = map_new();
    if (!set->names || !VEC_PUSH(set->metrics, set->n, set->cap, m)) return false;
    if (known || map_put(set->names, m.name, strlen(m.name), (void *)(uintptr_t)set->n, NULL)) return true;
    set->n--;
    return false;
}

void log_metric_pop(log_set *set) {
    log_metric_unname(set, set->n - 1);
    base_free(set->metrics[--set->n].name);
}

void log_metric_unname(log_set *set, size_t which) {
    char *name = set->metrics[which].name;
    if (log_metric_named(set, name) == which) map_remove(set->names, name, strlen(name));
    name[0] = 0;
}

static size_t without(const log_set *set, const char *column, const char *end) {
    char name[LOG_COLUMN_BYTES];
    size_t n = strlen(column), k = strlen(end);
    if (n <= k || n >= sizeof name || strcmp(column + n - k, end) != 0) return LOG_NONE;
    memcpy(name, column, n - k);
    name[n - k] = 0;
    return log_metric_named(set, name);
}

/* A column is the metric's name with one of few ends, so few names can have it. */
void log_metrics_beside(const log_set *set, const log_metric *m, size_t out[static LOG_BESIDE]) {
    char column[LOG_COLUMN_BYTES];
    size_t n = 0;
    out[n++] = log_metric_named(set, m->name);
    for (int epoch = 0; epoch < 2; epoch++) {
        log_column_name(m, 0, epoch, column);
        out[n++] = log_metric_named(set, column);
        out[n++] = without(set, column, "_step");
        out[n++] = without(set, column, "_epoch");
    }
}

/* --- pending --- */
static void enter(log_set *set, size_t i) {
    log_metric *m = &set->metrics[set->pending[i].metric];
    if (m->listed == set->listing) return;
    m->listed = set->listing;
    m->first_pending = i;
}

void log_pending_index(log_set *set) {
    set->listing++;
    for (size_t i = 0; i < set->n_pending; i++) enter(set, i);
}

bool log_pending_push(log_set *set, log_pending p) {
    if (!set->listing) set->listing = 1; /* 0: a metric that was never entered */
    if (!VEC_PUSH(set->pending, set->n_pending, set->cap_pending, p)) return false;
    enter(set, set->n_pending - 1);
    return true;
}

size_t log_pending_first(const log_set *set, size_t metric) {
    const log_metric *m = &set->metrics[metric];
    return set->listing && m->listed == set->listing ? m->first_pending : LOG_NONE;
}
