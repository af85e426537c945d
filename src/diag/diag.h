/* Diagnostics inside the library: reports made of counters, events and the ledger; the black box; what a step costs. */
#ifndef XT_SRC_DIAG_H
#define XT_SRC_DIAG_H

#include <xtrain/diag.h>

#include "crash/crash.h"
#include "lazy/lazy.h"

/* --- events.c --- */
enum { DIAG_COMPILE_WORD = 1, DIAG_EXEC_WORD = 2, DIAG_READ_WORD = 4, DIAG_NAN_WORD = 8, DIAG_EAGER_WORD = 16 };
unsigned diag_debug(void); /* the words of XT_DEBUG */
void diag_events_start(void); /* reports of compiles and executions from now on */

/* --- finish.c, header.c --- */
void diag_summary(str *out); /* the cost summary as text */
/* to the sink, on rank 0, unless XT_SUMMARY=off or nothing was executed since the last time */
void diag_summary_once(void);
/* What an epoch cost, for the summary: the first and the last few have a line there. */
typedef struct diag_epoch {
    double seconds, compile_ms, idle_share, peak_mib;
    int64_t compiles;
} diag_epoch;
void diag_note_epoch(const diag_epoch *e);
void diag_forget_epochs(void); /* a fit begins */
/* versions and device: what every run, checkpoint and report carries; a fit adds its effective batch */
void diag_run_header(str *out);

/* --- timing.c: durations by step --- */
typedef enum diag_phase {
    DIAG_STEP,
    DIAG_TRACE,
    DIAG_HASH,
    DIAG_COMPILE,
    DIAG_UPLOAD,
    DIAG_QUEUE,
    DIAG_EXECUTE,
    DIAG_READ_WAIT,
    DIAG_LOADER,
    DIAG_PHASES
} diag_phase;
void diag_time_step(int64_t ns); /* at each boundary: ns since the one before */
int64_t diag_time_count(diag_phase p);
double diag_time_percentile(diag_phase p, double share); /* ns; NaN before the first */
const char *diag_phase_name(diag_phase p);
void diag_append_times(str *out);
void diag_append_idle(str *out, double wall_s); /* how long the device had nothing to do, and why */
void diag_append_prometheus(str *out);

/* --- phases.c: where compile time goes, by what the plugin says --- */
void diag_phases_event(const lazy_event *e);
void diag_append_phases(str *out, const lazy_event *e); /* " (read 0.31, passes 1.20, ...)", milliseconds */
void diag_append_phases_json(str *out, const lazy_event *e); /* , "compile_phases_ms": {...} */
/* the same of all programs of this process, a line of the summary */
void diag_append_phase_sums(str *out);
void diag_append_phase_sums_json(str *out);
void diag_append_phase_table(str *out);
void diag_append_phase_prometheus(str *out);

/* --- watch.c, growth.c: after each step --- */
void diag_watch_start(void);
void diag_watch_event(const lazy_event *e);
int64_t diag_watch_seen(src_id *out_place); /* the step that has ended last, and its line (0: none); any thread */
/* Around looking at a step or an event: one thread at a time; what it says leaves at the end. */
void diag_watch_enter(void);
void diag_watch_leave(void);
bool diag_growth_due(int64_t step);
void diag_growth_sample(int64_t step, const lazy_group *groups, size_t n, int64_t rss);
void diag_growth_event(const lazy_event *e);
void diag_growth_reset(void);

/* --- jsonl.c: XT_EVENTS and XT_METRICS --- */
void diag_event_json(const lazy_event *e);
void diag_event_text(const char *kind, src_id src, int64_t step, const char *text);
void diag_metrics_due(int64_t now_ns); /* writes XT_METRICS every few seconds */
void diag_metrics_finish(void);

/* --- profile.c --- */
void diag_profile_start(void); /* XT_PROFILE */
void diag_profile_step(int64_t now_ns, int64_t step);
void diag_profile_event(const lazy_event *e);
void diag_profile_finish(void);

/* --- codes.c, agree.c --- */
const char *
diag_code_phrase(int i); /* text that messages of the code in row i contain; "" = none; NULL at the end. For tests */
xt_status diag_disagreement(void); /* the program's headers or a second copy of the library do not fit; NULL */

/* --- watchdog.c --- */
void diag_watchdog_step(int64_t now_ns, int64_t ns); /* a step has ended that took ns */
void diag_watchdog_stop(void);

#endif
