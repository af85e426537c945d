/* The log engine: what xt_log records, accumulates on the device, reads in one piece, and hands to loggers.
 *
 * Each stage (training, validation, test) has one packed state [rows, LOG_COLUMNS] on the device; a step's program adds
 * the step's values to it. The program is the same in every step: whether a window or an epoch begins is data. When a
 * row is due, the state's buffer is read asynchronously (one transfer, however many metrics) and the logger thread
 * turns it into a row. With sync_dist the logger threads of the ranks combine the packed rows by one host collective;
 * ranks that logged different names get a named error.
 *
 * A metric has one row, or as many as it has sums: those are added up over batches, and over ranks, and its function of
 * the sums is the value. */
#ifndef XT_SRC_METRICS_LOG_H
#define XT_SRC_METRICS_LOG_H

#include <xtrain/metrics.h>

#include "lazy/lazy.h"

/* Of a row of the state. A window is an optimizer step's micro-batches. */
typedef enum log_column {
    LOG_EPOCH_SUM, /* of value * weight, since the epoch began */
    LOG_EPOCH_WEIGHT,
    /* Empty: infinity, -infinity. Of XT_MIN the least since the epoch began, and in the other column the window's; of
     * XT_MAX the most, and in the other column the window's. */
    LOG_LEAST,
    LOG_MOST,
    /* Of value * weight, in the newest window in which the metric was logged; of XT_LAST of the newest value alone */
    LOG_WINDOW_SUM,
    LOG_WINDOW_WEIGHT,
    /* that window's number, from 1 on again after LOG_STAMPS of them, which f32 counts exactly; 0: none */
    LOG_STAMP,
    LOG_COLUMNS,
    LOG_COLUMNS_WERE = LOG_STAMP /* in checkpoints until November 2026 */
} log_column;
enum { LOG_STAMPS = 1 << 23 };
typedef enum log_stage { LOG_TRAIN, LOG_VALIDATE, LOG_TEST, LOG_STAGE_COUNT } log_stage;
typedef struct log_value {
    const char *name;
    double value;
    bool prog_bar;
} log_value;
typedef struct log_row { /* valid during the call */
    log_stage stage;
    bool epoch_level; /* values accumulated over the epoch; else of the last window */
    bool aside; /* no row of the run's files: see log_emit_out_of_turn */
    int64_t step, epoch, batch, samples; /* step: optimizer steps; all of one moment, see log_moment */
    double wall; /* seconds since 1970 */
    size_t n;
    const log_value *values;
    const void *owner; /* see log_enter */
    int64_t of; /* log_engine_number */
} log_row;
/* What a row says of where the loop was: the end of the step that it is the row of, whenever its values were logged. */
typedef struct log_moment {
    int64_t step, epoch, batch, samples; /* samples: of this rank */
} log_moment;
typedef enum log_artifact_kind { LOG_HISTOGRAM, LOG_IMAGE, LOG_TEXT } log_artifact_kind;
enum { LOG_BINS = 30 };
typedef struct log_artifact { /* what is no number; valid during the call */
    log_artifact_kind kind;
    log_stage stage;
    const char *name, *text;
    int64_t step;
    double wall;
    double min, max, count, sum, sum_squares, bins[LOG_BINS]; /* histogram: equal bins of [min, max] */
    int width, height;
    const uint8_t *rgb; /* image: rows from the top */
    const void *owner; /* see log_enter */
} log_artifact;
/* Called on the logger thread, rank 0 only, rows in order. */
typedef struct log_sink {
    void (*row)(void *user, const log_row *row);
    bool (*artifact)(void *user, const log_artifact *a); /* false: not shown here, as where it is NULL */
    void (*close)(void *user); /* at log_close or when removed */
    void *user;
    const void *owner; /* set by log_add_sink: see log_enter */
} log_sink;
void log_add_sink(const log_sink *s);
/* `open` adds sinks when a plain loop's first row is due and there are none; once a run. */
void log_set_default_sinks(void (*open)(void));
void log_remove_sink(const log_sink *s); /* waits for rows under way, then closes it */

void log_set_stage(log_stage s); /* of this thread; LOG_TRAIN at first */
/* The trainer drives rows itself: switches the automatic rows of plain loops off. */
void log_set_manual(bool on);
void log_loop_ends(void); /* before a fit has loggers: what a loop before it has logged is in the loop's own files */
/* A value of the trainer's own, unless the step logs one of that name itself: the name is the task's then, also before
 * and after, and the trainer's is called `otherwise` in steps without it. In rows of an epoch it is NAME_epoch, unless
 * the task has a value of that name. */
void log_own(const xt_src *src, const char *name, const char *otherwise, xt_tensor t, xt_log_opts o);
bool log_own_has_epochs(const char *name); /* of the training: it is logged by log_own, and has NAME_epoch */
/* The trainer: the number of the optimizer step being recorded, and whether its row is written: histograms and images
 * are read in no other. */
void log_row_next(bool due, int64_t step);
void log_tell_anew(void); /* a fit or a pass begins: what is not written is told again */
/* At a fit's begin, and at its end, which says which of them no step has read. */
void log_unread_forget(void);
void log_unread_tell(int64_t every);
/* The trainer: optimizer steps done so far. What is no number and logged outside of training steps is of that step. */
void log_at_step(int64_t done);
/* Samples of all ranks in front of those that this rank's position counts for each of them: of a run that is resumed by
 * another number of ranks. */
void log_samples_rest(int64_t samples);
/* The hooks of a place outside of the steps are over: what they asked to be shown is computed and on its way.
 * log_between_send does it too. */
void log_artifacts_send(void);
/* Where a trainer's thread is. Between steps, in hooks around an epoch or a pass, values are of the stage's epoch:
 * log_between_send writes them, numbers without a program or a read. All ranks send at the same places. Where nothing
 * is trained or validated, logging is an error that names the alternative. */
typedef enum log_place {
    LOG_IN_STEP,
    LOG_BETWEEN,
    LOG_NOWHERE,
    LOG_CLOSED
} log_place; /* LOG_CLOSED: nowhere, and the loggers are not open yet */
log_place log_set_place(log_place place, log_stage of); /* gives what it was; of: the stage, between steps */
/* A fit or a pass begins, and ends: maybe in a hook of another one, or between two fits of another trainer, which go on
 * as they were. Each trainer has an engine of its own, *of (NULL: not yet), with its sums and what it has noted; the
 * thread's is back behind log_leave. Sinks that are added meanwhile get the rows of that engine alone, and its rows go
 * to no others that have one; not `own_sinks`: rows go to all sinks, as those of plain loops do, and are at the
 * step and in the epoch of the loop that they come in or behind. */
typedef struct log_frame {
    struct log_engine *outer;
    bool manual; /* these of the engine that is entered */
    log_place place;
    log_stage stage;
} log_frame;
log_frame log_enter(struct log_engine **of, bool own_sinks);
bool log_step_waits(void); /* the step being recorded has logged values, which go with this thread's engine */
void log_leave(log_frame was);
void log_engine_end(struct log_engine *e); /* a trainer's; NULL is allowed */
void log_between_send(int64_t step);
void log_between_forget(void);
/* A fit ends: what its last hooks have noted for a next step, which there is none of, has a row of step values of its
 * own. It is noted still: a checkpoint has it for the run that resumes. All ranks send. */
void log_last_send(int64_t step);
/* Values noted after a step of the stage go with its next one. Where others may come between, they are held until
 * log_resume_step; or there is no next one. */
void log_hold_step(log_stage s);
void log_resume_step(log_stage s);
void log_forget_step(log_stage s);
/* The hooks behind a step are over, and the thread's position is still its: what they have noted weighs its batch. */
void log_step_left(log_stage s);
/* The last step of a training's epoch has been: what is noted behind it for the epoch is added to its sums, by a small
 * program, and is in the next step's window. */
void log_epoch_ends(void);
void log_forget_failed_step(log_stage s); /* but for what was noted behind the step before it (see log_row_next) */
void log_set_sanity(bool on); /* what is logged is thrown away */
void log_set_mute(bool on); /* log calls do nothing, which the first of them says */
/* Of several validation loaders, the one being passed over: rows' names end with /dataloader_idx_K. -1:
 * there is one. */
void log_set_loader(int k);
void log_window_begin(void); /* the current stage's next step begins a new window (plain loops: every optimizer step) */
/* A fit or a pass begins: names logged before it are not known until it logs them itself, and may come with
 * other options. */
void log_names_anew(log_stage s);
void log_epoch_begin(log_stage s); /* the next step of that stage begins from empty sums */
/* After a boundary: sends the row of the stage on its way (values logged with on_step, or on_epoch). Nothing logged:
 * nothing happens. */
void log_emit(log_stage s, bool epoch_level, int64_t step);
/* A row of step values out of turn: the row after it has all that it would have without this one. `aside`: for those
 * who look at the newest values (callbacks, the bar, the loss curve); loggers leave it out. */
void log_emit_out_of_turn(log_stage s, int64_t step, bool aside);
int64_t log_epoch_rows(log_stage s); /* rows of epoch values that log_emit has sent on their way in this process */
void log_drain(void); /* until all rows are written (validation results, end of fit) */
/* A checkpoint is of the rows that were sent on their way before it: who goes on from it does not make them again, so
 * they are on disk first. Waits until the first n are written, but not for a sink in which nothing moves. */
int64_t log_rows_issued(void);
void log_wait_rows(int64_t n);
void log_close(void); /* drains, closes the sinks, forgets the metrics */
/* Warns of the first loss of a training, and of the first value of a validation or test, that is not finite since
 * log_loss_watch. */
void log_loss_seen(log_stage stage, const char *name, double v, int64_t step);
void log_loss_watch(void);
/* The newest value of that name in the rows of a trainer's engine, or NULL: of loops without a trainer; false: there is
 * none. Any thread. */
bool log_find(const struct log_engine *of, const char *name, double *out);
/* The newest values of a trainer's engine, for its checkpoints, in the order of their names; to be called with no row
 * under way (log_drain). base_free both; names: a JSON array. */
xt_status log_values_save(const struct log_engine *of, char **out_names, double **out, size_t *out_n);
void log_values_restore(const struct log_engine *of, const char *name, double value);
double log_latest(const char *name); /* of a loop without a trainer; NaN: none */
/* newest written sums of a metric that has some; their number, 0 if none */
size_t log_sums(const char *name, double *out, size_t n);
/* The same of what the hooks under way have logged between steps, and whose row is not sent yet; computed now, as by
 * xt_item. False: nothing of that name, or the ranks put it together behind the hooks. */
bool log_between_find(const struct log_engine *of, const char *name, double *out);
bool log_knows(log_stage s, const char *name); /* logged in the stage before, or in the step being recorded */
/* the error of a monitor nobody logs: what is logged, and the name that was meant */
xt_status log_not_logged(const char *who, const char *name);
/* What `name` names, as rows have it, was logged without sync_dist; *out: where. */
bool log_of_one_rank(const char *name, src_id *out);
/* log_state.c: the training stage's sums, for checkpoints. `text` says which rows are whose; base_free both. Nothing
 * logged: NULL. Waits for the device. */
xt_status log_state_save(char **out_text, float **out_sums, int64_t *out_rows);
xt_status log_state_restore(const char *text, const float *sums, int64_t rows); /* sums NULL: none of this rank */
void log_state_add(float *into, const float *sums, int64_t rows); /* what two ranks' sums are together */
/* an older version's; base_free, NULL without memory */
float *log_state_widen(const float *sums, int64_t rows, int64_t columns);
/* Host scalars that did not come from the device (throughput, learning rate): a row of their own, no read. */
void log_host_row(log_stage s, int64_t step, size_t n, const log_value *values);

#endif
