/* For machines: XT_EVENTS=FILE gets a JSON line for each compile, execution and report; XT_METRICS=FILE holds all
 * counters in Prometheus' text form, written anew every few seconds (what node_exporter's textfile collector reads).
 * With ranks each has its own file, with .rankN before the ending. */
#include "base/private_file.h"
#include "base/shown.h"
#include "diag/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <math.h>
#include <unistd.h>

enum { METRICS_EVERY_S = 5 };

/* FILE, or FILE.rank2 / NAME.rank2.EXT when there are ranks. */
static void rank_path(const char *name, char *out, size_t n) {
    const world *w = world_get();
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    if (w->size <= 1)
        snprintf(out, n, "%s", name);
    else if (dot && (!slash || dot > slash))
        snprintf(out, n, "%.*s.rank%d%s", (int)(dot - name), name, w->rank, dot);
    else
        snprintf(out, n, "%s.rank%d", name, w->rank);
}

static void field(str *t, const char *name, const char *text) {
    str_printf(t, ", \"%s\": ", name);
    str_append_json(t, text);
}

static void place(str *t, src_id src) {
    const xt_src *at = src_get(src);
    field(t, "file", at->file);
    str_printf(t, ", \"line\": %d", at->line);
}

/* A disk that is full takes a part, and only the next write says so. */
static bool write_whole(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno != EINTR) return false;
        if (k > 0) p += k, n -= (size_t)k;
    }
    return true;
}

static void write_line(const str *t) {
    const char *name = env_get("XT_EVENTS");
    char path[512];
    if (!name || t->failed) return;
    rank_path(name, path, sizeof path);
    char *target = NULL;
    xt_status s = file_output_target(path, &target);
    int fd = s ? -1 : file_open_output(target, O_CREAT | O_APPEND);
    if (fd < 0 && !s) s = file_output_failed(path);
    if (fd < 0 || !write_whole(fd, t->data, t->len))
        log_once("XT_EVENTS", XT_SEV_WARNING, "XT_EVENTS=%s cannot be written: %s", path,
                 s ? status_message(s) : strerror(errno));
    if (fd >= 0) close(fd);
    base_free(target);
    xt_status_free(s);
}

static void begin(str *t, const char *kind, int64_t step) {
    str_printf(t, "{\"event\": \"%s\", \"time_s\": %.6f, \"rank\": %d, \"step\": %lld", kind, (double)clock_ns() / 1e9,
               world_get()->rank, (long long)step);
}

void diag_event_json(const lazy_event *e) {
    if (!getenv("XT_EVENTS")) return;
    str t = STR_INIT;
    char key[33];
    hash_hex(e->key, key);
    begin(&t,
          e->source == LAZY_COMPILED    ? "compile"
          : e->source == LAZY_FROM_DISK ? "disk_hit"
                                        : "execution",
          lazy_shown_step(e->step));
    str_printf(
        &t, ", \"program\": %lld, \"execution\": %lld, \"forced\": %s, \"ops\": %zu, \"inputs\": %zu, \"outputs\": %zu",
        (long long)e->program, (long long)e->number, e->forced ? "true" : "false", e->ops, e->inputs, e->outputs);
    field(&t, "cause", lazy_cause_name(e->cause));
    place(&t, e->src);
    if (e->path) field(&t, "module", intern_text(e->path));
    field(&t, "key", key);
    field(&t, "source", lazy_source_name(e->source));
    if (e->source != LAZY_FROM_MEMORY) {
        field(&t, "why", lazy_why_name(e->why));
        field(&t, "reason", e->reason);
        field(&t, "advice", e->advice);
        if (e->expected) field(&t, "expected", e->expected);
        str_printf(&t,
                   ", \"hash_ms\": %.4f, \"lower_ms\": %.4f, \"disk_ms\": %.4f, \"compile_ms\": %.4f, \"store_ms\": "
                   "%.4f, \"device_bytes_before\": %lld, \"rss_bytes_before\": %lld",
                   (double)e->hash_ns / 1e6, (double)e->lower_ns / 1e6, (double)e->disk_ns / 1e6,
                   (double)e->compile_ns / 1e6, (double)e->store_ns / 1e6, (long long)e->device_before,
                   (long long)e->rss_before);
        diag_append_phases_json(&t, e);
    }
    str_printf(&t, ", \"device_bytes\": %lld, \"temp_bytes\": %lld}\n", (long long)counter_get(COUNTER_device_bytes),
               (long long)e->stats.temp_bytes);
    write_line(&t);
    str_free(&t);
}

void diag_event_text(const char *kind, src_id src, int64_t step, const char *text) {
    if (!getenv("XT_EVENTS")) return;
    str t = STR_INIT;
    begin(&t, kind, step);
    place(&t, src);
    field(&t, "text", text);
    str_append(&t, "}\n");
    write_line(&t);
    str_free(&t);
}

/* The last line: every counter and the spread of every duration. */
static void write_totals(void) {
    if (!getenv("XT_EVENTS")) return;
    str t = STR_INIT;
    begin(&t, "totals", lazy_step());
    for (int c = 0; c < COUNTER_COUNT; c++)
        str_printf(&t, ", \"%s\": %lld", counter_name((counter)c), (long long)counter_get((counter)c));
    for (int p = 0; p < DIAG_PHASES; p++) {
        if (diag_time_count((diag_phase)p) == 0) continue;
        str_printf(&t, ", \"%s_ms\": {\"p50\": %.6f, \"p95\": %.6f, \"p99\": %.6f}", diag_phase_name((diag_phase)p),
                   diag_time_percentile((diag_phase)p, 0.5) / 1e6, diag_time_percentile((diag_phase)p, 0.95) / 1e6,
                   diag_time_percentile((diag_phase)p, 0.99) / 1e6);
    }
    diag_append_phase_sums_json(&t);
    str_append(&t, "}\n");
    write_line(&t);
    str_free(&t);
}

xt_status xt_metrics_write(const char *path) {
    if (!path || !*path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_metrics_write: the path is empty");
    str t = STR_INIT;
    diag_append_prometheus(&t);
    xt_status s = t.failed ? status_oom(t.len, "the metrics") : file_write_all(path, str_cstr(&t), t.len);
    str_free(&t);
    return s;
}

static void write_metrics(void) {
    const char *name = env_get("XT_METRICS");
    char path[512];
    if (!name) return;
    rank_path(name, path, sizeof path);
    xt_status s = xt_metrics_write(path);
    if (s) log_once("XT_METRICS", XT_SEV_WARNING, "XT_METRICS: %s", status_message(s));
    xt_status_free(s);
}

void diag_metrics_due(int64_t now_ns) {
    static int64_t written_ns;
    if (now_ns - written_ns < (int64_t)METRICS_EVERY_S * 1000000000) return;
    written_ns = now_ns;
    write_metrics();
}

void diag_metrics_finish(void) {
    write_metrics();
    write_totals();
}
