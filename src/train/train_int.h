/* Inside the trainer.
 *
 * Invariants
 *  1. A micro-batch's program ends at the next boundary, which xt_next makes; only then is its row emitted and its step_end called (fit.c, settle).
 *     So the same boundaries happen with and without logs, callbacks and the bar.
 *  2. Nothing here reads a tensor while training runs, but rows (through the log engine), callbacks that wait for a validation's values, and checkpoints.
 *  3. `position` is that of the last optimizer step: a checkpoint taken in the middle of an accumulation window resumes at the window's begin. */
#ifndef XT_SRC_TRAIN_INT_H
#define XT_SRC_TRAIN_INT_H

#include <xtrain/train.h>

#include "lazy/lazy.h"
#include "metrics/log.h"
#include "train/period.h"

struct xt_callback {
    xt_callback_desc d;
    void *user;
};

typedef struct train_position { /* where the next micro-batch is */
    int64_t epoch, batch, batches, samples; /* batch: in the epoch; batches, samples: since the start of the training, of this rank */
} train_position;

typedef struct train_totals { /* of the current fit, for the result */
    int64_t began_ns, train_ns, samples, micro_batches;
    int64_t compiles, compile_ns, executions, host_reads, compiles_first_epoch;
    double flops;
    bool first_epoch_seen;
} train_totals;

struct xt_trainer {
    xt_trainer_opts given, o; /* o: with defaults, while fitting */
    src_id src;
    xt_status problem; /* of options, arguments or environment: refused at fit */
    bool help;
    bool steps_argument, batches_argument; /* log_every_n_* stood on the command line */
    xt_callback **callbacks;
    size_t n_callbacks, cap_callbacks;
    bool built_ins_added;

    const xt_task *task;
    xt_module *net;
    xt_module_fn net_fn; /* what net was made from, to know it again */
    xt_optimizer *opt;
    xt_loss_scaler *scaler; /* made at the first fit in f16; xt_finish frees it */
    bool scales;            /* this fit scales its loss */
    period every;
    train_position position;
    int64_t epoch, global_step, epochs_done, epoch_batches;
    bool stop, validating;
    xt_tensor loss_state; /* [2] first and last loss, written by the steps' programs, read once at the end */
    bool loss_begins, own_loss; /* own_loss: the trainer logs "loss", not the task */
    char *run_dir;
    log_sink sinks[8];
    size_t n_sinks;
    struct history *history; /* points of the loss curve */
    xt_loader *train, *val; /* while fitting */
    int64_t effective_batch, epoch_batches_known; /* of the last fit; 0 before */

    train_totals at;
    xt_epoch_detail *details;
    size_t n_details, cap_details;
    xt_fit_result result;
    double mfu; /* by the throughput monitor; 0 without one */
};

/* trainer.c */
extern const option_row train_option_rows[];
extern const size_t train_option_count;
xt_status train_settle(xt_trainer *t); /* environment and defaults into t->o; checks */
double train_metric_of(const char *name); /* as xt_trainer_metric, without waiting */

/* callback.c: calls the hook of every callback, in order. */
#define TRAIN_CALL(t, hook, ...)                                                                                                                     \
    do {                                                                                                                                             \
        for (size_t i_ = 0; i_ < (t)->n_callbacks; i_++)                                                                                             \
            if ((t)->callbacks[i_]->d.hook) (t)->callbacks[i_]->d.hook(__VA_ARGS__, (t)->callbacks[i_]->user);                                       \
    } while (0)
void callback_free(xt_callback *c);
xt_callback *callback_make(const xt_callback_desc *d, void *user); /* frees user when it fails */
void callback_insert(xt_trainer *t, xt_callback *c); /* checkpoints stay last */
bool callback_is(const xt_callback *c, const xt_callback_desc *kind);
xt_status callbacks_built_in(xt_trainer *t); /* adds the default ones: summary, bar, last checkpoint */
/* Built-in kinds, for callback_is and for the default ones. */
extern const xt_callback_desc model_checkpoint_desc, early_stopping_desc, throughput_desc, lr_monitor_desc, progress_bar_desc, model_summary_desc;
xt_callback *progress_bar_new(void);
xt_callback *model_summary_new(void);

/* start.c */
xt_status train_begin(xt_trainer *t, const xt_src *src); /* module, optimizer, run folder, header, resume */
xt_status train_module(xt_trainer *t, const xt_task *task);

/* precision.c */
xt_status train_precision_check(const xt_trainer *t);
xt_status train_precision_attach(xt_trainer *t); /* the loss scaler, where the precision needs one; after the optimizer, before a checkpoint is read */
void train_precision_begin(const xt_trainer *t);
void train_precision_end(const xt_trainer *t);
xt_tensor train_scaled(const xt_trainer *t, const xt_src *src, xt_tensor loss); /* what xt_backward gets */
void train_optimizer_step(const xt_trainer *t, const xt_src *src);

/* schedules.c: those of the interval; errors become pending. */
void schedules_step(xt_trainer *t);
void schedules_epoch(xt_trainer *t);

/* fit.c, eval.c */
bool train_validate(xt_trainer *t, const xt_src *src); /* one pass over t->val */
/* One pass over a loader: stage's values accumulate on the device; the row is on its way when it returns. False with a pending error. */
bool train_evaluate(xt_trainer *t, const xt_src *src, log_stage stage, xt_loader *l, int64_t limit);
int train_report(xt_status extra); /* prints the pending error (and extra), clears it: 1, or 0 when there is none */

/* result.c */
void result_begin(xt_trainer *t);
void result_epoch(xt_trainer *t, int64_t began_ns, const xt_epoch_detail *before);
xt_epoch_detail result_counters(void); /* counters now, to be subtracted */
void result_end(xt_trainer *t);

/* run_dir.c */
xt_status run_dir_make(const char *runs, const char *name, char **out); /* runs/NAME/version_N, N the next free; base_free */
xt_status run_dir_last(const char *runs, const char *name, char **out_checkpoint); /* newest last.ckpt of the run */
const char *train_runs_dir(const xt_trainer *t);
const char *train_run_name(const xt_trainer *t);

/* checkpoint.c */
xt_status checkpoint_save(xt_trainer *t, const char *path);
xt_status checkpoint_load(xt_trainer *t, const char *path);

/* history.c: remembers the loss rows of the fit and draws loss.png. */
typedef struct history history;
history *history_new(void);
void history_free(history *h);
log_sink history_sink(history *h);
xt_status history_draw(history *h, const char *path);

#endif
