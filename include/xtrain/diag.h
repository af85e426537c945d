/* Diagnostics: why a program was compiled or run, what the device's memory holds by line, how long things take, what a
 * dead run was doing.
 *
 * Counters, timers, the ledger and the black box are always on (bench/dispatch_bench measures what they cost: under 1 %
 * of a small step). Reports go to the sink (xt_set_sink). XT_DEBUG=compile,exec,read tells each compile, execution and
 * early read with its cause and line; `xtrain explain switches` lists what the switches cost. A message that ends in
 * [XT203] is told at length by `xtrain explain XT203`. Any thread may call what is here.
 *
 *     xt_scope("attention") { x = attend(x); }        names a region for reports and profiles
 *     xt_memory_report();                             who holds the device's memory
 *     xt_profile("trace.json", .first = 10, .steps = 3); */
#ifndef XTRAIN_DIAG_H
#define XTRAIN_DIAG_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Counters and timers --- */
/* "compiles", "executions", "host_reads", ...; -1 for an unknown name */
XT_API int64_t xt_counter(const char *name);
/* all counters, and p50/p95/p99 of each phase of a step, to the sink */
XT_API void xt_metrics_report(void);
/* Seconds that the phase took in `share` of the steps (0.5 = median): "step", "trace", "hash", "compile", "upload",
 * "queue wait", "execute", "host read", "loader wait"; within 9 %. NaN for an unknown phase or before the first. */
XT_API double xt_percentile(const char *phase, double share);
/* the same as Prometheus text; whole or not at all. XT_METRICS=FILE does it every 5 seconds */
XT_API XT_CHECK xt_status xt_metrics_write(const char *path);
XT_API void xt_cost_summary(void); /* what the run cost so far, to the sink; xt_finish prints it */

/* --- Memory --- */
/* live device buffers by line, module path and role; peak, rate, fragmentation; to the sink */
XT_API void xt_memory_report(void);
/* One row of the ledger: live device buffers grouped by creating line, path and role; largest first. xt_memory_rows
 * fills up to `max` of them and gives the number of rows there are. */
typedef struct xt_memory_row {
    const char *file, *path, *role; /* role: parameter, gradient, optimizer, state, batch, activation, value */
    int line; /* of `file`, that made the buffers */
    int64_t bytes, count; /* of all buffers of the row, and how many they are */
} xt_memory_row;
XT_API int xt_memory_rows(xt_memory_row *rows, int max);
typedef struct xt_memory_info { /* of the device; -1 = its plugin does not say */
    int64_t live_bytes, live_buffers; /* by the ledger */
    /* most that was live, with the temporaries of the program that ran then, and when */
    int64_t peak_bytes, peak_step;
    int64_t limit_bytes; /* what the process may have of it */
    int64_t reserved_bytes; /* what the device's allocator holds, with blocks kept for reuse */
    /* the largest block among them: far below reserved - live means fragmentation */
    int64_t largest_free_bytes;
    double bytes_per_step, buffers_per_step; /* made, on average over the run */
} xt_memory_info;
XT_API xt_memory_info xt_memory(void); /* of this process, now; no wait */

/* --- Profiles --- */
#define XT_DEFAULTS_xt_profile_opts(is) is(steps, 3)
XT_DEFAULTS_OF(xt_profile_opts)
typedef struct XT_OPTIONS_ xt_profile_opts {
    size_t struct_size XT_SIZE(xt_profile_opts);
    int64_t first XT_ZERO; /* the first step it covers; one that is over, as 0 is: the next one */
    int64_t steps XT_IS(xt_profile_opts, steps); /* how many steps it covers */
} xt_profile_opts;
/* A trace of some steps: the host's phases and the device's ops with op, line, module, bytes, flops and share of the
 * roofline. PATH.json is Chrome/Perfetto JSON; a path without that ending is a log folder for TensorBoard's profile
 * plugin. A table of the dearest ops goes to the sink. XT_PROFILE=PATH does it too. */
#define xt_profile(...) XT_PROFILE_(__VA_ARGS__, )
#define XT_PROFILE_(path, ...) xt_profile_opt(path, XT_OPTS(xt_profile_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_profile_opt(const char *path, xt_profile_opts o);
/* A named region as a block: xt_scope("name") { ... }. Leaving it by break, return or goto skips its end: use
 * xt_scope_begin and xt_scope_end there. */
#define xt_scope(name) \
    for (int xt_scope_once_ = (xt_scope_begin(name), 1); xt_scope_once_; xt_scope_once_ = 0, xt_scope_end())

/* --- Programs that run, and programs that died --- */
/* What a program of xtrain's tells about itself, as of its last step. */
typedef struct xt_process {
    int pid, rank, world; /* world: how many ranks there are */
    bool alive; /* it runs: xt_processes gives no others */
    char program[256]; /* its command line */
    char device[128]; /* what it trains on, by its name */
    char place[128]; /* FILE:LINE of the call that it is in, or was in last */
    char loss_name[32]; /* of `loss`, as it was logged; "" = nothing was */
    int64_t step, epoch, compiles, device_bytes, peak_bytes, limit_bytes, rss_bytes; /* limit: 0 or -1 when unknown */
    double loss, steps_per_s, idle_share, seconds; /* NaN when unknown; seconds: since its last step */
    int64_t history[120]; /* device bytes over the run, oldest first */
    int n_history; /* how many of them there are */
    char host[64]; /* its name */
    int launcher; /* the process that started it, on its host: that of all ranks which one launcher started there */
} xt_process;
/* xtrain programs of this user from their status files (XT_STATUS_DIR): those of this host, and of others where the
 * folder lies on a file system that hosts share (each that said something within the last hour). Files of programs that
 * ended are removed. Gives how many there are. */
XT_API int xt_processes(xt_process *out, int max);
/* What the programs of a crash folder (xt-crash-PID) were doing, as text that xt_text_free (program.h) frees; DIR may
 * also be a folder with such folders (the newest is taken), or hold none while the status folder has a dead program's
 * box, which is moved into DIR then. NULL: XT_POSTMORTEM_DIR, else the working folder. */
XT_API XT_CHECK xt_status xt_postmortem(const char *dir, char **out_text);

/* --- Messages by code --- */
/* The code of a status ("XT101"): stable over versions. Never NULL; "XT000" for OK. */
XT_API const char *xt_status_id(xt_status s);
/* What a code means and what to do, at length; `language` "en" or "zh"; NULL for an unknown code. */
XT_API const char *xt_explain(const char *code, const char *language);
XT_API const char *xt_code_at(int i); /* the codes in order; NULL at the end */

/* --- Header and library agree --- */
/* Each object file built against these headers says so when it is loaded. A library of another version refuses to
 * record anything, with both versions. */
XT_API void xt_built_with(int version, const char *where);
#if defined(__GNUC__) && !defined(XT_BUILDING)
__attribute__((constructor, unused)) static void xt_built_with_these_headers_(void) {
    xt_built_with(XT_VERSION_MAJOR * 10000 + XT_VERSION_MINOR * 100 + XT_VERSION_PATCH, __FILE__);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
