/* What grows from step to step and should not: device buffers by creating line, the ops of a step, programs in the
 * cache, library objects, the process's memory; and steps whose peak jumps over the level of the run.
 *
 * A leak grows steadily; a training program's memory goes up and down, or up once. So everything is looked at every
 * SAMPLE steps, and only what has grown in STREAK samples in a row is told: once a line, with the line that creates
 * it. A tensor kept each step is told after about STREAK * SAMPLE = 1,200 steps; a list that fills up within that time
 * is not a leak. */
#include "diag/diag.h"

#include <math.h>

enum {
    SAMPLE = 100,
    STREAK = 12,
    MOST_LINES = 4096, /* lines of a program that keep buffers */
    RSS_EVERY = 2, /* samples: 12 rises are 2,400 steps */
    OPS_STREAK = 8,
    JUMP_AFTER = 50 /* steps, before a level exists */
};
static const int64_t RSS_LEAST = (int64_t)8 << 20, JUMP_LEAST = (int64_t)1 << 20;
static const double JUMP_TIMES = 1.5;

typedef struct series { /* a number that was larger at each of the last `streak` samples */
    int64_t last, base, base_step;
    int streak;
    bool told;
} series;

/* True when it has just grown STREAK times in a row; once for each series. */
static bool grows(series *s, int64_t now, int64_t step, int streak) {
    if (now > s->last && s->base_step) {
        if (s->streak++ == 0) s->base = s->last;
    } else
        s->streak = 0;
    if (!s->streak) s->base_step = step;
    s->last = now;
    if (s->streak < streak || s->told) return false;
    s->told = true;
    return true;
}

static void tell(box_kind kind, src_id src, int64_t step, int64_t amount, str *text) {
    blackbox_note(kind, src, step, amount, 0);
    blackbox_report(str_cstr(text));
    log_msg(XT_SEV_WARNING, "%s", str_cstr(text));
    diag_event_text(box_kind_name(kind), src, step, str_cstr(text));
    str_free(text);
}

/* --- buffers --- */
typedef struct line {
    src_id src, kept;
    lazy_role role;
    int64_t count, bytes; /* of this sample */
    series s;
} line;
static line *lines; /* of the training thread: only it samples */
static size_t n_lines, cap_lines;

static line *line_of(const lazy_group *g) {
    for (size_t i = 0; i < n_lines; i++)
        if (lines[i].src == g->src && lines[i].role == g->role) return &lines[i];
    line fresh = {.src = g->src, .role = g->role};
    if (n_lines >= MOST_LINES || !VEC_PUSH(lines, n_lines, cap_lines, fresh)) return NULL;
    return &lines[n_lines - 1];
}

static void tell_buffers(const line *l, int64_t step) {
    char at[256], made[256];
    str t = STR_INIT;
    int64_t steps = step - l->s.base_step;
    bool both = l->kept && l->kept != l->src;
    bool unended = !l->kept && (l->role == LAZY_ACTIVATION || l->role == LAZY_BATCH || l->role == LAZY_VALUE);
    str_printf(&t,
               "memory grows: %s keeps %lld %s buffers now%s%s, %lld more than at step %lld (%.3g a step, %.2f MiB in "
               "all). ",
               src_text(both ? l->kept : l->src, at, sizeof at), (long long)l->count, lazy_role_name(l->role),
               both ? ", made at " : "", both ? src_text(l->src, made, sizeof made) : "",
               (long long)(l->s.last - l->s.base), (long long)l->s.base_step,
               steps > 0 ? (double)(l->s.last - l->s.base) / (double)steps : 0, (double)l->bytes / 1048576);
    str_append(&t, unended
                       ? "No xt_keep has made them last, and nothing has ended them: xt_mark_step() at the end of "
                         "the loop's body does [XT203]"
                       : "xt_drop gives back what xt_keep keeps; xt_when_ready brings a value to the host and keeps "
                         "nothing [XT203]");
    tell(BOX_GROWTH, l->src, step, l->bytes, &t);
}

static void sample_buffers(int64_t step, const lazy_group *g, size_t n) {
    for (size_t i = 0; i < n_lines; i++) lines[i].count = lines[i].bytes = 0;
    for (size_t i = 0; i < n; i++) {
        line *l = line_of(&g[i]);
        if (!l) continue;
        l->count += g[i].count;
        l->kept = g[i].kept;
        l->bytes += g[i].bytes;
    }
    for (size_t i = 0; i < n_lines; i++)
        if (grows(&lines[i].s, lines[i].count, step, STREAK)) tell_buffers(&lines[i], step);
}

/* --- programs, objects, the process --- */
static series programs, process, objects[LIVE_COUNT];
static struct { /* of the last program that was made */
    src_id src;
    char reason[600];
} newest;

static void sample_programs(int64_t step) {
    if (!grows(&programs, lazy_programs_seen(), step, STREAK)) return;
    char at[256];
    str t = STR_INIT;
    str_printf(&t,
               "programs grow: %lld different ones by now, %lld more than at step %lld; the newest for %s: %s [XT204]",
               (long long)programs.last, (long long)(programs.last - programs.base), (long long)programs.base_step,
               src_text(newest.src, at, sizeof at), newest.reason);
    tell(BOX_GROWTH, newest.src, step, programs.last, &t);
}

/* Buffers and tensors have lines of their own; the rest are objects a program makes and does not free. */
static void sample_objects(int64_t step) {
    for (int k = 0; k < LIVE_COUNT; k++) {
        if (k == LIVE_tensor || k == LIVE_buffer || k == LIVE_plugin_buffer || k == LIVE_event ||
            k == LIVE_plugin_event || k == LIVE_executable || k == LIVE_plugin_executable)
            continue;
        if (!grows(&objects[k], live_get((live_kind)k), step, STREAK)) continue;
        str t = STR_INIT;
        str_printf(&t,
                   "host memory grows: %lld live objects of kind %s, %lld more than at step %lld; what is made in each "
                   "step must be freed in it [XT205]",
                   (long long)objects[k].last, live_name((live_kind)k), (long long)(objects[k].last - objects[k].base),
                   (long long)objects[k].base_step);
        tell(BOX_GROWTH, 0, step, objects[k].last, &t);
    }
}

static void sample_process(int64_t step, int64_t rss) {
    if (!grows(&process, rss, step, STREAK)) return;
    if (process.last - process.base < RSS_LEAST) {
        process.told = false; /* it may become more */
        process.streak = STREAK - 1;
        return;
    }
    str t = STR_INIT;
    str_printf(&t,
               "host memory grows: the process has %.1f MiB of its own, %.1f more than at step %lld, while device "
               "buffers have %.1f MiB: memory that the program itself allocates in its loop, or that it takes from "
               "readers and callbacks [XT206]",
               (double)process.last / 1048576, (double)(process.last - process.base) / 1048576,
               (long long)process.base_step, (double)counter_get(COUNTER_device_bytes) / 1048576);
    tell(BOX_GROWTH, 0, step, process.last, &t);
}

void diag_growth_sample(int64_t step, const lazy_group *groups, size_t n, int64_t rss) {
    static int64_t samples;
    if (!env_flag("XT_GROWTH", true)) return;
    sample_buffers(step, groups, n);
    sample_programs(step);
    sample_objects(step);
    if (samples++ % RSS_EVERY == 0) sample_process(step, rss);
}

bool diag_growth_due(int64_t step) {
    return step > 0 && step % SAMPLE == 0;
}

/* --- ops of a step --- */
/* A step that is longer than the one before, time and again, is a graph that is carried from step to step: each is a
 * program of its own. */
static void watch_ops(const lazy_event *e) {
    static size_t before;
    static series ops;
    if (e->forced) return;
    if (e->source == LAZY_FROM_MEMORY) {
        ops.streak = 0;
        return;
    }
    newest.src = e->src;
    snprintf(newest.reason, sizeof newest.reason, "%s", e->reason);
    ops.streak = before && e->ops > before ? ops.streak + 1 : 0;
    if (ops.streak == 1) ops.base = (int64_t)before;
    before = e->ops;
    if (ops.streak < OPS_STREAK || ops.told) return;
    ops.told = true;
    char at[256];
    str t = STR_INIT;
    str_printf(&t,
               "the graph grows: the step that ends at %s has %zu ops, %d steps before it had %lld, and each is a "
               "program of its own; %s [XT207]",
               src_text(e->src, at, sizeof at), e->ops, OPS_STREAK, (long long)ops.base, e->reason);
    tell(BOX_GROWTH, e->src, e->step, (int64_t)e->ops, &t);
}

/* Live buffers without batches: what waits in loaders (not in the ledger yet) comes and goes with a second loader's
 * first batches, and how much it may become is fixed by their .prefetch. */
static int64_t bytes_without_batches(void) {
    size_t n = lazy_ledger_groups(NULL, 0), cap = n + 8;
    int64_t bytes = 0;
    lazy_group *g = base_malloc(cap * sizeof *g);
    n = g ? lazy_ledger_groups(g, cap) : 0;
    for (size_t i = 0; i < n && i < cap; i++)
        if (g[i].role != LAZY_BATCH) bytes += g[i].bytes;
    base_free(g);
    return bytes;
}

/* The most that a program's steps needed so far: buckets of lengths, each a program of its own, take turns
 * all the time. */
enum { REMEMBERED = 1024 };
static struct { int64_t program, most; } seen_of[REMEMBERED];
static int64_t most_of(int64_t program, int64_t peak) {
    size_t k = (size_t)program % REMEMBERED;
    int64_t before = seen_of[k].program == program ? seen_of[k].most : 0;
    if (peak > before || seen_of[k].program != program) {
        seen_of[k].program = program;
        seen_of[k].most = peak;
    }
    return before;
}

/* --- a step's peak --- */
/* Training steps, evaluation steps, and reads in the middle of each have a level of their own. A read is held against
 * the level of its steps too, so that the first one of a run can be told; a jump that lasts is told once. */
static struct {
    double level;
    int64_t seen;
    bool high;
} of[4];
static int64_t told;

static void watch_peak(const lazy_event *e) {
    int steps = e->evaluation, k = steps + (e->forced ? 2 : 0);
    if (e->cause == LAZY_CHECKPOINT || e->cause == LAZY_FINISH) return;
    int64_t temps = e->stats.temp_bytes > 0 ? e->stats.temp_bytes : 0,
            results = e->stats.output_bytes > 0 ? e->stats.output_bytes : 0,
            peak = counter_get(COUNTER_device_bytes) + temps;
    double level = fmax(fmax(of[steps].level, of[k].level), (double)most_of(e->program, peak));
    bool jumps =
        of[steps].seen >= JUMP_AFTER && (double)peak > JUMP_TIMES * level && (double)peak - level > (double)JUMP_LEAST;
    if (jumps && !of[steps].high && e->program != told &&
        (double)(bytes_without_batches() + temps + results) > JUMP_TIMES * level) {
        told = e->program;
        char at[256];
        str t = STR_INIT;
        str_printf(&t,
                   "memory jumps: step %lld needs %.1f MiB at its peak, the steps before it needed %.1f: program %lld "
                   "at %s (temporaries %.1f MiB)",
                   (long long)lazy_shown_step(e->step), (double)peak / 1048576, level / 1048576, (long long)e->program,
                   src_text(e->src, at, sizeof at), (double)temps / 1048576);
        if (e->forced) str_append(&t, ", forced by a read before its step ended");
        if (*e->reason) str_printf(&t, "; it is new: %s", e->reason);
        str_append(&t, " [XT208]");
        tell(BOX_JUMP, e->src, lazy_shown_step(e->step), peak, &t);
    }
    of[steps].high = jumps;
    /* The level follows slowly, and most slowly after a jump. */
    double far = (double)peak > 1.25 * of[k].level ? 0.05 : 0.2;
    of[k].level = of[k].seen++ == 0 ? (double)peak : of[k].level + far * ((double)peak - of[k].level);
}

void diag_growth_event(const lazy_event *e) {
    watch_ops(e);
    watch_peak(e);
}

/* The run is over: what the next one does in this process is compared with itself. */
void diag_growth_reset(void) {
    base_free(lines);
    lines = NULL;
    n_lines = cap_lines = 0;
    memset(&programs, 0, sizeof programs);
    memset(&process, 0, sizeof process);
    memset(objects, 0, sizeof objects);
    memset(seen_of, 0, sizeof seen_of);
    memset(of, 0, sizeof of);
    told = 0;
}
