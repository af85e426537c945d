/* Compile and execution reports (XT_DEBUG=compile,exec,read). Each begins with a line that says what happened and why,
 * the same on all ranks, so that the launcher can fold it; its figures stand on a second line. Without XT_DEBUG two
 * things are still said: compiles that go on after the run has warmed up, and the first line that reads a value too
 * early in a training loop. Other early reads are then a number in the summary. */
#include "diag/diag.h"

#include <pthread.h>
#include <stdlib.h>

enum { WARM_UP_STEPS = 200, LATE_COMPILES_TOLD = 3 };

/* XT_DEBUG as bits, parsed again when the variable changed: an event a step must cost nothing. */
unsigned diag_debug(void) {
    static __thread char seen[128];
    static __thread unsigned bits;
    static __thread bool any;
    static const char *const words[] = {"compile", "exec", "read", "nan", "eager"};
    const char *now = getenv("XT_DEBUG");
    if (!now) now = "";
    if (any && strcmp(now, seen) == 0) return bits;
    any = true;
    bits = 0;
    snprintf(seen, sizeof seen, "%s", now);
    for (unsigned i = 0; i < BASE_COUNT(words); i++)
        if (env_has_word("XT_DEBUG", words[i])) bits |= 1u << i;
    return bits;
}

static double ms(int64_t ns) {
    return (double)ns / 1e6;
}
static double mib(int64_t bytes) {
    return (double)bytes / 1048576;
}

/* "loader at train.c:41 in h.3.attn, step 7" */
static void who(str *t, const lazy_event *e) {
    char at[256];
    str_printf(t, "%s at %s", lazy_cause_name(e->cause), src_text(e->src, at, sizeof at));
    if (e->path) str_printf(t, " in %s", intern_text(e->path));
    str_printf(t, ", step %lld", (long long)lazy_shown_step(e->step));
}

static void report_compile(const lazy_event *e) {
    str t = STR_INIT;
    char key[33];
    hash_hex(e->key, key);
    if (e->source == LAZY_COMPILED)
        str_printf(&t, "compile %lld: program %lld for ", (long long)e->compile_number, (long long)e->program);
    else
        str_printf(&t, "disk hit: program %lld for ", (long long)e->program);
    who(&t, e);
    str_printf(&t, " | why: %s", lazy_why_name(e->why));
    if (strcmp(e->reason, lazy_why_name(e->why)) != 0) str_printf(&t, ": %s", e->reason);
    if (*e->advice) str_printf(&t, ": %s", e->advice);
    if (e->expected) str_printf(&t, " (expected: %s)", e->expected);
    str_printf(&t,
               "\n"
               "  %zu ops, %zu inputs, %zu outputs | hash %.2f, lowering %.2f, disk %.2f",
               e->ops, e->inputs, e->outputs, ms(e->hash_ns), ms(e->lower_ns), ms(e->disk_ns));
    if (e->source == LAZY_FROM_DISK) diag_append_phases(&t, e);
    str_printf(&t, ", compile %.2f", ms(e->compile_ns));
    if (e->source == LAZY_COMPILED) diag_append_phases(&t, e);
    str_printf(
        &t, ", store %.2f ms | device %.2f -> %.2f MiB, temporaries %.2f MiB, process %.1f -> %.1f MiB | key %s, %s\n",
        ms(e->store_ns), mib(e->device_before), mib(counter_get(COUNTER_device_bytes)),
        mib(e->stats.temp_bytes > 0 ? e->stats.temp_bytes : 0), mib(e->rss_before), mib(base_rss()), key,
        e->source == LAZY_COMPILED ? "not in memory, not on disk" : "loaded from disk");
    log_raw(XT_SEV_INFO, str_cstr(&t), t.len);
    str_free(&t);
}

static void report_exec(const lazy_event *e) {
    str t = STR_INIT;
    char key[33];
    hash_hex(e->key, key);
    str_printf(&t, "execution %lld: program %lld for ", (long long)e->number, (long long)e->program);
    who(&t, e);
    if (e->forced) str_append(&t, ", forced before its step ended");
    str_printf(&t, "\n  %zu ops from %s | device %.2f MiB, temporaries %.2f MiB | key %.8s\n", e->ops,
               e->source == LAZY_FROM_MEMORY ? "memory"
               : e->source == LAZY_FROM_DISK ? "disk"
                                             : "the compiler",
               mib(counter_get(COUNTER_device_bytes)), mib(e->stats.temp_bytes > 0 ? e->stats.temp_bytes : 0), key);
    log_raw(XT_SEV_INFO, str_cstr(&t), t.len);
    str_free(&t);
}

static void warn_forced(const lazy_event *e) {
    char at[256], key[300];
    src_text(e->src, at, sizeof at);
    snprintf(key, sizeof key, "forced %s", at);
    log_once(key, XT_SEV_WARNING,
             "%s reads a value before its step has ended: an extra program runs for it and the host waits. "
             "xt_when_ready or xt_master_printf(\"... %%t\", t) "
             "give the value when it arrives and cost nothing",
             at);
}

/* A read that comes again after the optimizer has stepped is in a loop that trains; one that does not is none to worry
 * about. The first such line is named. */
static void note_forced(const lazy_event *e) {
    enum { LINES = 16 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        src_id src;
        int64_t steps;
    } lines[LINES];
    static int n;
    static bool told;
    int64_t steps = counter_get(COUNTER_optimizer_steps);
    bool again = false;
    if (!e->src || e->evaluation || steps == 0) return;
    pthread_mutex_lock(&lock);
    int k = 0;
    while (k < n && lines[k].src != e->src) k++;
    if (k < n)
        again = !told && steps > lines[k].steps;
    else if (n < LINES)
        lines[n].src = e->src, lines[n++].steps = steps;
    told = told || again;
    pthread_mutex_unlock(&lock);
    char at[256];
    if (again)
        log_msg(XT_SEV_WARNING,
                "%s reads a value before its step has ended, in each step anew: an extra program runs for it and the "
                "host waits. xt_when_ready or xt_master_printf(\"... %%t\", t) give the value "
                "when it arrives (XT_DEBUG=read names all such lines, the summary counts them)",
                src_text(e->src, at, sizeof at));
}

static void warn_late(const lazy_event *e) {
    static int told;
    int64_t steps = counter_get(COUNTER_steps);
    if (steps < WARM_UP_STEPS || told >= LATE_COMPILES_TOLD) return;
    if (e->evaluation || e->expected) return; /* evaluation after training is a program of its own, and expected */
    told++;
    char at[256];
    log_msg(XT_SEV_WARNING, "a new program was compiled after %lld steps (%.0f ms), at %s: %s: %s%s%s",
            (long long)steps, ms(e->compile_ns), src_text(e->src, at, sizeof at), lazy_why_name(e->why), e->reason,
            *e->advice ? ": " : "", e->advice);
}

/* Steps one after the other that each needed a program of their own: what varies will not stop to. A loop of reads
 * without a boundary (a sampling loop) is all one step: its reads at one line count. Told once. */
static void note_streak(const lazy_event *e) {
    enum { STREAK = 8 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int64_t last = -2;
    static int streak;
    static src_id line;
    pthread_mutex_lock(&lock);
    bool made = e->source != LAZY_FROM_MEMORY, varies = made && !e->expected && e->why != LAZY_WHY_EVICTED;
    bool reads = e->forced && e->step == last && e->src == line && e->why != LAZY_WHY_READ;
    if (reads) streak = varies ? streak + 1 : 0;
    if (varies && e->step > last) streak = e->step == last + 1 ? streak + 1 : 1, line = e->src;
    if (varies && e->step > last) last = e->step;
    bool due = varies && streak == STREAK;
    if (due) streak = STREAK + 1, last = INT64_MAX - 1;
    pthread_mutex_unlock(&lock);
    char at[256];
    if (due)
        log_msg(XT_SEV_WARNING, "%d %s in a row each needed a new program, the last at %s: %s: %s%s%s [XT210]", STREAK,
                reads ? "reads" : "steps", src_text(e->src, at, sizeof at), lazy_why_name(e->why), e->reason,
                *e->advice ? ": " : "", e->advice);
}

static void tell(const lazy_event *e) {
    unsigned debug = diag_debug();
    diag_watch_event(e);
    diag_growth_event(e);
    diag_phases_event(e);
    diag_event_json(e);
    diag_profile_event(e);
    if (e->forced && !e->debugs && !debug) note_forced(e);
    bool made = e->source != LAZY_FROM_MEMORY;
    if ((made || e->forced) && !e->debugs && !(debug & DIAG_COMPILE_WORD)) note_streak(e);
    if (!made && !debug) return;
    if (made && debug & DIAG_COMPILE_WORD)
        report_compile(e);
    else if (e->source == LAZY_COMPILED && !e->forced)
        warn_late(e);
    if (debug & DIAG_EXEC_WORD) report_exec(e);
    if (e->forced && !e->debugs && debug & (DIAG_READ_WORD | DIAG_COMPILE_WORD | DIAG_EXEC_WORD)) warn_forced(e);
}

static void on_event(void *user, const lazy_event *e) {
    (void)user;
    diag_watch_enter();
    tell(e);
    diag_watch_leave();
}

void diag_events_start(void) {
    lazy_on_event(on_event, NULL);
    diag_watch_start();
}
