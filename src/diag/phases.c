/* Where compile time goes: what the plugin says of each program it compiled (or planned again, when it came from disk),
 * and the sums of this process. A plugin that says nothing has no phases: its compile time stands as one number. */
#include "diag/diag.h"

#include <pthread.h>

enum { LEAST_SHARE = 100 }; /* a phase that took less than this part of the whole is left out of texts, not of JSON */

static struct {
    pthread_mutex_t lock; /* programs are made under the cache's lock, reports are asked for from anywhere */
    device_compile_phase sums[DEVICE_COMPILE_PHASES];
    size_t n;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static device_compile_phase *sum_of(const char *name) {
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.sums[i].name, name) == 0) return &all.sums[i];
    if (all.n == DEVICE_COMPILE_PHASES) return NULL;
    snprintf(all.sums[all.n].name, sizeof all.sums[0].name, "%s", name);
    return &all.sums[all.n++];
}

void diag_phases_event(const lazy_event *e) {
    if (e->source == LAZY_FROM_MEMORY || !e->n_phases) return;
    pthread_mutex_lock(&all.lock);
    for (size_t i = 0; i < e->n_phases; i++) {
        device_compile_phase *p = sum_of(e->phases[i].name);
        if (p) p->seconds += e->phases[i].seconds;
    }
    pthread_mutex_unlock(&all.lock);
}

static size_t sums(device_compile_phase out[DEVICE_COMPILE_PHASES]) {
    pthread_mutex_lock(&all.lock);
    size_t n = all.n;
    memcpy(out, all.sums, n * sizeof *out);
    pthread_mutex_unlock(&all.lock);
    return n;
}

/* "read 0.3, passes 1.2, ..." in milliseconds, between `begin` and `end`; nothing without phases. */
static void append_text(str *t, const device_compile_phase *p, size_t n, const char *begin, const char *end) {
    double whole = 0;
    const char *between = begin;
    for (size_t i = 0; i < n; i++) whole += p[i].seconds;
    for (size_t i = 0; i < n; i++) {
        if (p[i].seconds * LEAST_SHARE < whole) continue;
        str_printf(t, "%s%s %.2f", between, p[i].name, p[i].seconds * 1e3);
        between = ", ";
    }
    if (between != begin) str_append(t, end);
}

static void append_json(str *t, const device_compile_phase *p, size_t n) {
    str_append(t, ", \"compile_phases_ms\": {");
    for (size_t i = 0; i < n; i++) str_printf(t, "%s\"%s\": %.4f", i ? ", " : "", p[i].name, p[i].seconds * 1e3);
    str_putc(t, '}');
}

void diag_append_phases(str *t, const lazy_event *e) {
    append_text(t, e->phases, e->n_phases, " (", ")");
}
void diag_append_phases_json(str *t, const lazy_event *e) {
    append_json(t, e->phases, e->n_phases);
}

void diag_append_phase_sums(str *t) {
    device_compile_phase p[DEVICE_COMPILE_PHASES];
    append_text(t, p, sums(p), "  compiling   ", " ms\n");
}

void diag_append_phase_sums_json(str *t) {
    device_compile_phase p[DEVICE_COMPILE_PHASES];
    append_json(t, p, sums(p));
}

void diag_append_phase_table(str *t) {
    device_compile_phase p[DEVICE_COMPILE_PHASES];
    size_t n = sums(p);
    if (n) str_append(t, "compiling, by the plugin's phases (of loading from disk too)\n");
    for (size_t i = 0; i < n; i++) str_printf(t, "  %-20s %14.3f ms\n", p[i].name, p[i].seconds * 1e3);
}

void diag_append_phase_prometheus(str *t) {
    device_compile_phase p[DEVICE_COMPILE_PHASES];
    size_t n = sums(p);
    if (n)
        str_append(t, "# HELP xtrain_compile_phase_seconds_total time in the device's compiler, by its phases\n"
                      "# TYPE xtrain_compile_phase_seconds_total counter\n");
    for (size_t i = 0; i < n; i++)
        str_printf(t, "xtrain_compile_phase_seconds_total{rank=\"%d\",phase=\"%s\"} %.9g\n", world_get()->rank,
                   p[i].name, p[i].seconds);
}
