/* Diagnostics: counters, reports, memory ledger, the cost summary. */
#ifndef XTRAIN_DIAG_H
#define XTRAIN_DIAG_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

XT_API int64_t xt_counter(const char *name);        /* "compiles", "executions", "host_reads", ...; -1 for an unknown name */
XT_API void xt_metrics_report(void);                /* all counters and timers, to the sink */
XT_API void xt_memory_report(void);                 /* live device buffers by line, module path and role, to the sink */
XT_API void xt_cost_summary(void);                  /* what the run cost so far, to the sink; xt_finish prints it */
/* One row of the ledger: live device buffers grouped by creating line, path and role; largest first. Gives the number of rows. */
typedef struct xt_memory_row {
    const char *file, *path, *role; /* role: parameter, gradient, optimizer, state, batch, activation, value */
    int line;
    int64_t bytes, count;
} xt_memory_row;
XT_API int xt_memory_rows(xt_memory_row *rows, int max);

#ifdef __cplusplus
}
#endif
#endif
