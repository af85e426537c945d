/* Diagnostics inside the library: what runs at the start and end of a run, and reports made of counters, events and the ledger. */
#ifndef XT_SRC_DIAG_H
#define XT_SRC_DIAG_H

#include <xtrain/diag.h>

#include "lazy/lazy.h"

void diag_start(void);             /* registers the reports; once; called by whatever records first (xt_next, trainer, xt_mark_step) */
void diag_summary(str *out);       /* the cost summary as text */
void diag_summary_once(void);      /* to the sink, on rank 0, unless XT_SUMMARY=off or nothing was executed since the last time */
void diag_run_header(str *out);    /* versions, device, effective batch: what every run, checkpoint and report carries */

#endif
