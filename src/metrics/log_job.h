/* A row on its way: made by the thread that trains (log_rows.c), queued and written by the logger thread (log_queue.c),
 * which lets the ranks meet over it (log_ranks.c) and makes values of its sums (log_values.c). */
#ifndef XT_SRC_METRICS_LOG_JOB_H
#define XT_SRC_METRICS_LOG_JOB_H

#include <pthread.h>

#include "metrics/log_int.h"

typedef struct row_metric {
    char *name;
    src_id src;
    log_kind kind;
    bool on_level, sync, prog_bar; /* on_level: belongs to this row */
    int64_t at; /* its first row of the state */
    bool unknown, restored; /* see log_metric */
} row_metric;

typedef struct log_job {
    log_row row;
    row_metric *metrics; /* NULL: a host row, whose values are ready */
    size_t n;
    bool all_meet; /* of a trainer with several ranks: each of them has this row */
    int64_t own_step; /* as ranks compare it: row.step, unless only this rank's row is among a loop's */
    int64_t meeting; /* of a loop without a trainer: its number among the rows that ranks meet at, from 1; 0: none */
    int64_t window, seen; /* a row of step values: windows begun so far, and how many of them the row before has seen */
    float *data; /* [rows, LOG_COLUMNS] */
    log_value *values;
    void (*work)(void *user); /* instead of a row */
    void *work_user;
    int64_t number; /* of the row, from 1 */
    bool lost; /* its values never came */
    struct log_job *next;
} log_job;

/* log_queue.c */
void log_job_free(log_job *j);
/* a row: under way from now on, at this place among the others. Then one of the next two, from any thread, which
 * take it over. */
void log_job_number(log_job *j);
void log_job_queue(log_job *j);
void log_job_lost(void *job); /* its values will not come */
void log_wait_at_exit(void); /* for the rows that are on their way, but not for long */

/* log_ranks.c */
void log_ranks_made(log_job *j); /* by the thread that trains, of a row whose metrics are there */
/* on the logger thread; what the ranks cannot agree on waits for log_ranks_take_failure */
void log_ranks_combine(log_job *j);
void log_ranks_take_failure(void); /* the error of the thread that trains */
/* From here on this rank starts no more programs: it waits for no rank that waits for one of it. Until log_ranks_close.
 */
void log_ranks_last(void);
void log_ranks_close(void);

/* log_values.c. On the logger thread: */
void log_values_drop_seen(log_job *j);
void log_values_fill(log_job *j); /* from data */
void log_values_remember(const log_row *row);
void log_values_forget(void);

#endif
