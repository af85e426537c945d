/* Profiles of some steps: the device's ops come from PJRT's profiler extension as an XSpace message, the host's phases
 * from events and counters; both are put on one time line (clock_ns): xspace_read.c. The k-th run the device tells of
 * is the k-th program that was started since the profile began, so an op's ordinal ("n17") leads to the line and
 * module of the program's own record. Out comes Chrome/Perfetto JSON or a TensorBoard log folder, and a table of the
 * dearest ops.
 *
 * Roofline: the time an op would take at the best rates seen in the same trace (by ops long enough to be measured), as
 * a share of the time it took. */
#include "diag/profile.h"
#include "base/shown.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ROWS = 20 };

static struct {
    bool wanted, active, looked; /* looked: for XT_PROFILE */
    char path[512];
    int64_t first, steps, began_ns, step_began_ns, counted[DIAG_PHASES];
    device_profile *device;
    diag_trace trace;
    int64_t *programs, *program_steps; /* started since the profile began, by number */
    size_t n_programs, cap_programs, n_steps_of, cap_steps_of;
    struct {
        uint32_t name;
        int64_t began_ns;
    } scopes[32];
    int depth;
} p;

static void add(span s) {
    if (s.ns < 0) s.ns = 0;
    if (!VEC_PUSH(p.trace.spans, p.trace.n, p.trace.cap, s)) p.active = false; /* without memory it ends early */
}

static void host_span(const char *name, int64_t begin_ns, int64_t ns, int64_t step) {
    if (ns > 0) add((span){.name = intern(name), .thread = HOST_THREAD, .begin_ns = begin_ns, .ns = ns, .step = step});
}

/* --- roofline and table --- */
static double best_flops, best_bytes; /* a nanosecond */

static void find_roof(void) {
    best_flops = best_bytes = 0;
    for (size_t i = 0; i < p.trace.n; i++) {
        const span *s = &p.trace.spans[i];
        if (s->kind != SPAN_OP || s->ns < 1000) continue;
        best_flops = fmax(best_flops, s->flops / (double)s->ns);
        best_bytes = fmax(best_bytes, s->bytes / (double)s->ns);
    }
}

double diag_of_roof(double flops, double bytes, double ns) {
    double least = fmax(best_flops > 0 ? flops / best_flops : 0, best_bytes > 0 ? bytes / best_bytes : 0);
    return ns > 0 && least > 0 ? 100 * fmin(least / ns, 1) : NAN;
}

typedef struct row {
    uint32_t name, path, kernel;
    src_id src;
    int64_t ns, n;
    double flops, bytes;
} row;

static int dearest(const void *a, const void *b) {
    const row *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void table(void) {
    row *rows = NULL;
    size_t n = 0, cap = 0;
    int64_t total = 0;
    for (size_t i = 0; i < p.trace.n; i++) {
        const span *s = &p.trace.spans[i];
        if (s->kind != SPAN_OP) continue;
        size_t k = 0;
        while (k < n && !(rows[k].name == s->name && rows[k].src == s->src && rows[k].path == s->path &&
                          rows[k].kernel == s->kernel))
            k++;
        row fresh = {.name = s->name, .path = s->path, .kernel = s->kernel, .src = s->src};
        if (k == n && !VEC_PUSH(rows, n, cap, fresh)) break;
        rows[k].ns += s->self_ns;
        rows[k].n++;
        rows[k].flops += s->flops;
        rows[k].bytes += s->bytes;
        total += s->self_ns;
    }
    if (n) qsort(rows, n, sizeof *rows, dearest);
    str t = STR_INIT;
    str_printf(&t, "profile of steps %lld to %lld: %s\n", (long long)p.first, (long long)(p.first + p.steps - 1),
               p.path);
    if (n == 0)
        str_append(&t, "  the device's plugin told of no ops: the trace has the host's phases only\n");
    else
        str_printf(&t,
                   "  device ops: %.3f ms in all; roofline = the best rates in this trace, %.1f GFLOP/s and %.1f GB/s\n"
                   "        ms      %%     n    GFLOP/s     GB/s  %% of roofline  op\n",
                   (double)total / 1e6, best_flops, best_bytes);
    for (size_t k = 0; k < n && k < MOST_ROWS; k++) {
        const row *r = &rows[k];
        char at[256];
        double roof = diag_of_roof(r->flops, r->bytes, (double)r->ns);
        str_printf(&t, "%10.3f %5.1f%% %5lld %10.1f %8.1f  ", (double)r->ns / 1e6,
                   total ? 100 * (double)r->ns / (double)total : 0, (long long)r->n,
                   r->ns ? r->flops / (double)r->ns : 0, r->ns ? r->bytes / (double)r->ns : 0);
        if (isnan(roof))
            str_append(&t, "            -  ");
        else
            str_printf(&t, "%12.0f%%  ", roof);
        str_printf(&t, "%s  %s", intern_text(r->name), src_text(r->src, at, sizeof at));
        if (r->path) str_printf(&t, "  %s", intern_text(r->path));
        if (r->kernel) str_printf(&t, "  [%s]", intern_text(r->kernel));
        str_putc(&t, '\n');
    }
    log_raw(XT_SEV_INFO, str_cstr(&t), t.len);
    str_free(&t);
    base_free(rows);
}

/* --- files --- */
static void thread_name(str *t, int thread, const char *name) {
    str_printf(t, "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": ",
               (int)getpid(), thread);
    str_append_json(t, name);
    str_append(t, "}},\n");
}

static xt_status write_json(void) {
    str t = STR_INIT;
    str_append(&t, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    thread_name(&t, HOST_THREAD, "host: steps and phases");
    thread_name(&t, SCOPE_THREAD, "host: xt_scope");
    thread_name(&t, DEVICE_PROGRAMS, "device: programs");
    thread_name(&t, DEVICE_OPS, "device: ops");
    for (size_t i = 0; i < p.trace.n_lines; i++)
        thread_name(&t, FOREIGN_THREADS + (int)i, intern_text(p.trace.lines[i]));
    for (size_t i = 0; i < p.trace.n; i++) {
        const span *s = &p.trace.spans[i];
        const xt_src *at = src_get(s->src);
        str_append(&t, "{\"name\": ");
        str_append_json(&t, intern_text(s->name));
        str_printf(&t, ", \"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {",
                   (int)getpid(), s->thread, (double)(s->begin_ns - p.began_ns) / 1e3, (double)s->ns / 1e3);
        if (s->step >= 0)
            str_printf(&t, "\"step\": %lld", (long long)s->step);
        else
            str_append(&t, "\"step\": null");
        if (s->src) {
            str_append(&t, ", \"file\": ");
            str_append_json(&t, at->file);
            str_printf(&t, ", \"line\": %d", at->line);
        }
        if (s->path) {
            str_append(&t, ", \"module\": ");
            str_append_json(&t, intern_text(s->path));
        }
        if (s->kind == SPAN_OP) {
            double roof = diag_of_roof(s->flops, s->bytes, (double)s->ns);
            str_printf(&t, ", \"bytes\": %.0f, \"flops\": %.0f", s->bytes, s->flops);
            if (!isnan(roof)) str_printf(&t, ", \"percent_of_roofline\": %.1f", roof);
            if (s->kernel) str_append(&t, ", \"kernel\": "), str_append_json(&t, intern_text(s->kernel));
        }
        str_printf(&t, "}}%s\n", i + 1 < p.trace.n ? "," : "");
    }
    str_append(&t, "]}\n");
    xt_status s = t.failed ? status_oom(t.len, "a trace") : file_write_all(p.path, str_cstr(&t), t.len);
    str_free(&t);
    return s;
}

/* TensorBoard's profile plugin looks for runs in such folders. */
static xt_status write_tensorboard(const char *space, size_t size) {
    char dir[700], file[900], host[128] = "host", when[64] = "run";
    time_t now = time(NULL);
    struct tm tm;
    gethostname(host, sizeof host - 1);
    if (localtime_r(&now, &tm)) strftime(when, sizeof when, "%Y_%m_%d_%H_%M_%S", &tm);
    snprintf(dir, sizeof dir, "%s/plugins/profile/%s", p.path, when);
    snprintf(file, sizeof file, "%s/%s.xplane.pb", dir, host);
    XT_TRY(file_make_dirs(dir, 0755));
    str t = STR_INIT;
    diag_write_xspace(p.trace.spans, p.trace.n, p.began_ns, space, size, &t);
    xt_status s = t.failed ? status_oom(t.len, "a trace") : file_write_all(file, str_cstr(&t), t.len);
    str_free(&t);
    return s;
}

/* --- from step to step --- */
static void forget(void) {
    base_free(p.trace.spans);
    base_free(p.trace.lines);
    base_free(p.programs);
    base_free(p.program_steps);
    p.trace = (diag_trace){0};
    p.programs = p.program_steps = NULL;
    p.n_programs = p.cap_programs = p.n_steps_of = p.cap_steps_of = 0;
    p.active = p.wanted = false;
    p.depth = 0;
}

static void count_phases(void) {
    static const counter of[DIAG_PHASES] = {[DIAG_LOADER] = COUNTER_loader_wait_ns,
                                            [DIAG_QUEUE] = COUNTER_queue_wait_ns,
                                            [DIAG_READ_WAIT] = COUNTER_read_wait_ns,
                                            [DIAG_UPLOAD] = COUNTER_upload_ns};
    for (int k = 0; k < DIAG_PHASES; k++) p.counted[k] = of[k] ? counter_get(of[k]) : 0;
}

static void begin(void) {
    device_client *client;
    lazy_wait_idle();
    xt_status s = lazy_device(&client);
    p.began_ns = p.step_began_ns = clock_ns();
    if (!s) s = device_profile_start(client, &p.device);
    if (s) log_msg(XT_SEV_WARNING, "profile: %s", status_message(s));
    xt_status_free(s);
    p.active = true;
    count_phases();
}

static void finish(void) {
    char *space = NULL;
    size_t size = 0;
    lazy_wait_idle();
    xt_status s = device_profile_stop(p.device, &space, &size);
    p.device = NULL;
    diag_runs runs = {p.programs, p.program_steps, p.n_programs < p.n_steps_of ? p.n_programs : p.n_steps_of,
                      p.began_ns};
    if (!s && space) diag_read_xspace(&p.trace, space, size, &runs);
    find_roof();
    size_t n = strlen(p.path);
    bool json = n > 5 && strcmp(p.path + n - 5, ".json") == 0;
    if (!s) s = json ? write_json() : write_tensorboard(space, size);
    if (s)
        log_msg(XT_SEV_WARNING, "profile %s: %s", p.path, status_message(s));
    else if (world_get()->rank == 0)
        table();
    xt_status_free(s);
    base_free(space);
    forget();
}

/* Phases without a place of their own in time are put where they happen: loader and read waits at the begin of a step,
 * the rest before its program starts. */
static void step_spans(int64_t now, int64_t step) {
    int64_t before[DIAG_PHASES];
    memcpy(before, p.counted, sizeof before);
    count_phases();
    int64_t at = p.step_began_ns;
    char name[48];
    snprintf(name, sizeof name, "step %lld", (long long)step);
    host_span(name, at, now - at, step);
    static const diag_phase in_order[] = {DIAG_LOADER, DIAG_READ_WAIT, DIAG_UPLOAD};
    for (size_t i = 0; i < BASE_COUNT(in_order); i++) {
        int64_t ns = p.counted[in_order[i]] - before[in_order[i]];
        host_span(diag_phase_name(in_order[i]), at, ns, step);
        at += ns > 0 ? ns : 0;
    }
    int64_t waited = p.counted[DIAG_QUEUE] - before[DIAG_QUEUE];
    if (now - waited > at) host_span("record", at, now - waited - at, step);
    host_span(diag_phase_name(DIAG_QUEUE), now - waited, waited, step);
    p.step_began_ns = now;
}

void diag_profile_step(int64_t now, int64_t step) {
    if (!p.wanted) return;
    if (p.active) {
        step_spans(now, step);
        if (step + 1 >= p.first + p.steps) finish();
    } else if (step + 1 >= p.first) {
        p.first = step + 1;
        begin();
    }
}

void diag_profile_event(const lazy_event *e) {
    if (!p.active) return;
    if (!VEC_PUSH(p.programs, p.n_programs, p.cap_programs, e->program) ||
        !VEC_PUSH(p.program_steps, p.n_steps_of, p.cap_steps_of, e->step))
        p.active = false;
    int64_t at = clock_ns() - e->store_ns - e->compile_ns - e->disk_ns - e->lower_ns - e->hash_ns;
    const struct {
        const char *name;
        int64_t ns;
    } phases[] = {{"hash", e->hash_ns},
                  {"lowering", e->lower_ns},
                  {"disk cache", e->disk_ns},
                  {"compile", e->compile_ns},
                  {"store", e->store_ns}};
    for (size_t i = 0; i < BASE_COUNT(phases); i++) {
        host_span(phases[i].name, at, phases[i].ns, e->step);
        at += phases[i].ns;
    }
}

static void on_scope(const char *name, bool begins) {
    if (!p.active) return;
    if (begins) {
        if (p.depth < (int)BASE_COUNT(p.scopes)) {
            p.scopes[p.depth].name = intern(name);
            p.scopes[p.depth].began_ns = clock_ns();
        }
        p.depth++;
        return;
    }
    if (p.depth == 0) return;
    if (--p.depth < (int)BASE_COUNT(p.scopes))
        add((span){.name = p.scopes[p.depth].name,
                   .thread = SCOPE_THREAD,
                   .begin_ns = p.scopes[p.depth].began_ns,
                   .ns = clock_ns() - p.scopes[p.depth].began_ns,
                   .step = lazy_step()});
}

xt_status xt_profile_opt(const char *path, xt_profile_opts o) {
    if (!path || !*path || strlen(path) >= sizeof p.path)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_profile: the path is empty or too long");
    if (o.first < 0 || o.steps < 1 || o.steps > 100000)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_profile: .first %lld, .steps %lld: a step that is not negative, and 1 to 100000 steps",
                          (long long)o.first, (long long)o.steps);
    if (p.wanted)
        return status_new(XT_FAILED_PRECONDITION, NULL, "xt_profile: the profile for %s is not complete yet", p.path);
    forget();
    const world *w = world_get();
    size_t n = strlen(path);
    bool json = n > 5 && strcmp(path + n - 5, ".json") == 0;
    if (w->size > 1)
        snprintf(p.path, sizeof p.path, "%.*s.rank%d%s", (int)(json ? n - 5 : n), path, w->rank, json ? ".json" : "");
    else
        snprintf(p.path, sizeof p.path, "%s", path);
    p.first = o.first == 0 ? lazy_step() + 1 : o.first;
    p.steps = o.steps;
    p.wanted = true;
    lazy_on_scope(on_scope);
    return NULL;
}

/* XT_PROFILE=PATH, XT_PROFILE_STEPS=10-12 (or 100). */
void diag_profile_start(void) {
    if (p.looked) return;
    p.looked = true;
    const char *path = env_get("XT_PROFILE"), *steps = env_get("XT_PROFILE_STEPS");
    long long first = 10, last = 12;
    if (!path) return;
    int n = steps ? sscanf(steps, "%lld-%lld", &first, &last) : 2;
    if (n == 1) last = first;
    if (n < 1 || first < 1 || last < first) {
        log_msg(XT_SEV_WARNING, "XT_PROFILE_STEPS=%s is not understood: a step (100) or a range (10-12) is expected",
                steps);
        return;
    }
    xt_status s = xt_profile_opt(path, XT_OPTS(xt_profile_opts, .first = first, .steps = last - first + 1));
    if (s) log_msg(XT_SEV_WARNING, "XT_PROFILE: %s", status_message(s));
    xt_status_free(s);
}

/* The run ends inside of the profiled steps: what is there is written. */
void diag_profile_finish(void) {
    if (p.active)
        finish();
    else if (p.wanted)
        log_msg(XT_SEV_WARNING, "the profile %s is empty: the run ended before step %lld", p.path, (long long)p.first);
    forget();
    p.looked = false;
}
