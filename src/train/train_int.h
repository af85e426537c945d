/* Inside the trainer.
 *
 * Invariants
 *  1. A micro-batch's program ends at the next boundary, which xt_next makes; only then is its row emitted and its
 *     step_end called (fit_loop.c, settle). So the same boundaries happen with and without logs, callbacks and the bar.
 *  2. Nothing here reads a tensor while training runs, but rows (through the log engine), callbacks that wait for a
 *     validation's values, and checkpoints.
 *  3. `position` is that of the last optimizer step: a checkpoint taken in the middle of an accumulation window resumes
 *     at the window's begin. */
#ifndef XT_SRC_TRAIN_INT_H
#define XT_SRC_TRAIN_INT_H

#include <xtrain/train.h>

#include "base/handle.h"
#include "lazy/lazy.h"
#include "metrics/log.h"
#include "train/limits.h"
#include "train/period.h"

enum { TRAIN_MAX_OPTIMIZERS = 8, TRAIN_MAX_LOGGERS = 4 };

struct own_logger { /* xt_trainer_add_logger's */
    xt_logger_desc d;
    void *user;
};
xt_status logger_open_own(const struct own_logger *l, const char *dir, log_sink *out); /* logger_own.c */

typedef struct callback_tensors { /* tensors of a callback in checkpoints, as "callback:CALLBACK:NAME" */
    xt_tensor (*at)(int i, char *name, size_t n, void *user); /* none: there are no more */
    /* own: this rank's, after rank 0's */
    xt_status (*restore)(const char *name, xt_dtype dtype, int rank, const int64_t *dims, const void *data, bool own,
                         void *user);
    /* f32, and each rank has its own: the file has rank 0's under that name and all ranks' as
     * "xtrain:callback:CALLBACK:NAME" */
    bool of_ranks;
    xt_status (*ready)(xt_trainer *t, void *user); /* of every rank, before a save; NULL: they are at any time */
} callback_tensors;
struct xt_callback {
    xt_callback_desc d;
    void *user;
    const callback_tensors *tensors; /* NULL: it has none */
    bool own; /* the program's, made by xt_callback_new */
    bool taken; /* by the trainer that frees it */
    bool saves; /* checkpoints: they come last, so that they save what the others have decided */
    bool stops; /* ends a training early */
    /* "min val/loss": which of its kind it is, so that a resumed run may add them in another order; NULL = go
     * by the order */
    const char *watches;
    src_id made; /* where; 0: by the trainer */
};

typedef struct train_position { /* where the next micro-batch is */
    /* batch: in the epoch; batches, samples: since the start of the training, of this rank */
    int64_t epoch, batch, batches, samples;
} train_position;

typedef struct train_totals { /* of the current fit, for the result */
    int64_t began_ns, train_ns, samples, tokens, micro_batches;
    int64_t compiles, compile_ns, executions, host_reads, compiles_first_epoch;
    double flops;
    bool first_epoch_seen;
} train_totals;

typedef struct checkpoint_log { /* the ranks' sums of logged values, gathered for a checkpoint */
    char *text;
    float *sums;
    int64_t rows, ranks;
} checkpoint_log;
typedef struct checkpoint_own { /* a buffer in which ranks differ: all ranks' values, a row each */
    int tensor; /* of the module */
    void *rows;
} checkpoint_own;
typedef struct checkpoint_ranks {
    checkpoint_own *all;
    size_t n, cap;
} checkpoint_ranks;
typedef struct checkpoint_ring { /* a running mean or a callback's tensor: all ranks', a row each */
    char name[128];
    void *rows;
    xt_dtype dtype;
    int64_t ranks, n;
} checkpoint_ring;
typedef struct checkpoint_running {
    checkpoint_ring *all;
    size_t n, cap;
} checkpoint_running;
typedef struct checkpoint_values { /* the newest logged values, gathered for a checkpoint */
    char *names; /* JSON */
    double *rows; /* [ranks, n] */
    int64_t ranks, n;
} checkpoint_values;

struct xt_trainer {
    bool has_mesh; /* made for .strategy */
    xt_trainer_opts given, o; /* o: with defaults, while fitting */
    src_id src;
    xt_status problem; /* of options, arguments or environment: refused at fit */
    struct train_setting *settings; /* the program's own: config.c */
    size_t n_settings, cap_settings;
    bool help, quiet, prints_config; /* quiet: a trial, which has no header */
    bool no_end; /* neither epochs nor steps nor a time are limited, which a fit tells */
    bool steps_argument, batches_argument; /* log_every_n_* stood on the command line */
    xt_callback **callbacks;
    size_t n_callbacks, cap_callbacks;
    bool built_ins_added, named_callbacks_added;

    xt_task own_task; /* the caller's, copied: what saves after a fit asks it for its state */
    const xt_task *task; /* own_task, or NULL before the first pass */
    xt_data_module data; /* of the newest call with one, for checkpoints; without functions: none */
    xt_status (*prepared)(void *user); /* the data module's that has been done, with its user */
    void *prepared_user;
    xt_module *net;
    xt_module_fn net_fn; /* what net was made from, to know it again */
    xt_optimizer *opt, *opts[TRAIN_MAX_OPTIMIZERS]; /* opt: the first */
    int n_opts;
    int64_t accumulate; /* micro-batches of a window of the current epoch */
    bool divides; /* losses are divided by the window: another program than without */
    bool rates_taken; /* a callback sets the learning rates: schedules rest */
    xt_tensor step_loss; /* of the micro-batch being recorded, as training_step gave it */
    bool window_open; /* manual optimization: what the resumed run had recorded last was no optimizer step */
    bool step_recorded; /* the micro-batch being recorded ends with an optimizer step */
    xt_loss_scaler *scaler; /* made at the first fit in f16; xt_finish frees it */
    bool scales; /* this fit scales its loss */
    period every;
    train_position position;
    int64_t
        samples_rest; /* of all ranks, beside `position`'s of each: what other ranks had seen and these cannot share */
    train_position in_window; /* micro-batches and samples since the last optimizer step: not in a checkpoint */
    int64_t epoch, global_step, epochs_done, epoch_batches;
    int64_t begun_epoch; /* of the position that the fit began at */
    bool fitting;
    bool signals_taken[8]; /* see stopping.c */
    bool in_step; /* a fit or a pass has a batch, whose step a boundary would cut in two */
    struct log_engine *log;
    bool stop, stopping, validating; /* stop: a wish; stopping: agreed on (stopping.c) */
    bool validation_next; /* in step_end: a validation comes before the next micro-batch */
    int64_t validated_step; /* the newest validation's; -1 */
    bool whole_epoch; /* the current epoch's batches are done */
    bool row_seen; /* a row of step values has been written in this epoch */
    int64_t valued_step; /* the newest whose values callbacks have, in a row or aside; -1 */
    int stop_signal; /* that ended the fit; 0 = none */
    bool late_signal; /* which came when the training was over */
    train_interval val_interval;
    int64_t max_time_ns, elapsed_before_ns, clock_began_ns; /* 0 = no limit; of earlier fits; 0 = no fit is running */
    int64_t train_limit, val_limit; /* batches of this fit's epochs and validations */
    xt_loader *added[7]; /* xt_trainer_add_val_loader's, for all fits */
    size_t n_added;
    xt_loader *vals[7]; /* of a fit: those behind `val`, with a sequential loader's parts in its place */
    int64_t val_limits[7];
    size_t n_vals;
    int val_index; /* of the loader validated on: 0 = `val` */
    int64_t pass_batch; /* the last one of the newest validation or test */
    int64_t validated_ns; /* when the last validation ended */
    bool validated; /* this fit has had a validation */
    xt_tensor loss_state; /* [2] first and last loss, written by the steps' programs, read once at the end */
    bool loss_begins;
    bool run_dir_fresh; /* made for this fit */
    bool pass_opened, pass_wrote; /* a pass has opened the run; and written something there */
    char *run_dir, *saved_last; /* saved_last: the newest last.ckpt of this trainer; NULL = none */
    checkpoint_log log_sums;
    checkpoint_ranks own_buffers, gradients;
    checkpoint_running running;
    checkpoint_values newest;
    struct checkpoint_writer *writer; /* of the background; made at its first file */
    log_sink sinks[16];
    struct own_logger loggers[TRAIN_MAX_LOGGERS]; /* of the program */
    size_t n_loggers;
    size_t n_sinks;
    struct history *history; /* points of the loss curve */
    xt_loader *train, *val; /* while fitting */
    int64_t effective_batch, epoch_batches_known; /* of the last fit; 0 before */

    train_totals at;
    xt_epoch_detail *details;
    size_t n_details, cap_details;
    xt_fit_result result;
    struct nn_mark
        *at_start; /* what was frozen when the fit's hooks of the start were over; NULL: no fit has been there */
    /* of the checkpoint, until they are said again; NULL: none (checkpoint_modes.c) */
    char *said_frozen, *said_freezes, *said_modes;
    char *resumed_from; /* the file; NULL when the fit began anew */
    bool resumed_asked; /* settings of the run that wrote it were asked for, and are these (resumed.c) */
    struct train_setting *resumed;
    size_t n_resumed, cap_resumed;
    double mfu; /* by the throughput monitor; 0 without one */
};

/* trainer.c */
extern const option_row train_option_rows[];
extern const size_t train_option_count;
#define TRAIN_DEFAULTS OPTION_DEFAULTS(xt_trainer_opts)
xt_trainer *trainer_new(const xt_src *src, xt_trainer_opts o, bool environment); /* XT_TRAINER_* counts */
xt_status train_settle(xt_trainer *t); /* environment and defaults into t->o; checks */
void train_values_now(xt_trainer *t); /* in step_end, on all ranks: the step's values are the newest, row or not */
double train_metric_of(const xt_trainer *t, const char *name); /* as xt_trainer_metric, without waiting */

/* predict.c: says when a pass meant to see every sample does not. */
void train_tell_left_out(const xt_loader *l, const char *what);

/* config.c */
bool config_is_setting(const char *name); /* model.X, data.X */
xt_status config_give(xt_trainer *t, const char *name, const char *value); /* a setting */
xt_status config_read(xt_trainer *t, const char *path);
/* settings that nobody asked for: known when a training step has been recorded */
xt_status config_check(const xt_trainer *t);
/* The settings of a section but its "name", up to `room`; they count as asked for. */
void config_ask(xt_trainer *t, const char *section, options_by_name *out, const char **names, const char **values,
                int room);
void config_tell(const xt_trainer *t); /* the same as a warning: a pass on its own asks for less than a fit */
char *config_text(const xt_trainer *t); /* pretty JSON; base_free; NULL without memory */
xt_status config_save(const xt_trainer *t, const char *dir); /* DIR/config.json */
/* What a checkpoint's configuration says, kept beside t's own (resumed.c); and one setting of it, NULL: none. */
void config_keep_resumed(xt_trainer *t, const char *text);
const char *config_resumed(const xt_trainer *t, const char *name);
void config_free(xt_trainer *t);
/* Each setting with its text, for loggers. */
size_t config_count(const xt_trainer *t);
const char *config_at(const xt_trainer *t, size_t i, const char **out_value);
void train_take_task(xt_trainer *t, const xt_task *task); /* the task of the pass that begins */
/* within.c: a fit, or a pass that is none, maybe in a hook of this trainer's fit or of another's, which goes on as it
 * was behind it: what they share by the thread is as it was. */
typedef struct train_outer {
    xt_trainer *t; /* whose fit or pass it is in; NULL: in none */
    bool within; /* this trainer's fit */
    xt_task task; /* of that */
    log_frame logging;
    lazy_position position;
    lazy_draw_mark draws;
} train_outer;
/* NULL: it may begin. An error in a step of another one, and of a fit in its own trainer's fit. */
xt_status train_may_begin(const xt_trainer *t, const char *what);
train_outer train_enter(xt_trainer *t, const xt_task *task);
/* Between steps: the position is where the trainer is, whatever other loops have done. */
void train_stand(const xt_trainer *t);
/* Random draws of what comes between steps are of the number of micro-batches before it and of its place, so that a run
 * that resumes right before it draws what the unbroken one drew, behind other steps, hooks and passes. */
typedef enum train_draws {
    DRAWS_TRAIN_START = 1,
    DRAWS_EPOCH_START,
    DRAWS_ROW_OUT_OF_TURN,
    DRAWS_SANITY_START,
    DRAWS_SANITY_END,
    DRAWS_VALIDATION_START,
    DRAWS_VALIDATION_END,
    DRAWS_EPOCH_END,
    DRAWS_TRAIN_END,
} train_draws;
void train_draws_at(const xt_trainer *t, train_draws place);
void train_leave(xt_trainer *t, const train_outer *was);
void train_left_by_jump(void); /* no fit or pass is under way in this thread */
void train_freed(const xt_trainer *t);
/* The trainer's log engine is the thread's until log_leave. */
log_frame train_log_enter(xt_trainer *t);
/* The program's task as this library knows it, in `room`: what an older program's lacks is 0. NULL stays NULL; what a
 * newer one's has and this library does not know is an error, which is pending. */
const xt_task *train_sized(const xt_src *src, const xt_task *task, size_t size, xt_task *room);
xt_status train_set_option(xt_trainer *t, const char *name, const char *value);
/* of an option that is not there: what Lightning's is called here; takes s */
xt_status train_explain_name(xt_status s, const char *name);

/* A hook may go over loaders of its own: behind it the thread is where the trainer has left it. */
#define TRAIN_APART(call)                                       \
    do {                                                        \
        const lazy_position here_ = *lazy_position_of_thread(); \
        call;                                                   \
        *lazy_position_of_thread() = here_;                     \
    } while (0)
/* callback.c: what a callback of the library's records has the line that made it (else the trainer's); gives what
 * src_called_from was. */
const xt_src *callback_enters(const xt_trainer *t, const xt_callback *c);
#define TRAIN_HOOK(gives, t, c, hook, ...)                   \
    do {                                                     \
        const xt_src *outer_ = callback_enters(t, (c));      \
        TRAIN_APART(gives(c)->hook(__VA_ARGS__, (c)->user)); \
        src_called_from = outer_;                            \
    } while (0)
/* Calls the hook of every callback, in order. */
#define TRAIN_CALL(t, hook, ...)                                                      \
    do {                                                                              \
        for (size_t i_ = 0; i_ < (t)->n_callbacks; i_++)                              \
            if ((t)->callbacks[i_]->d.hook && !callback_rests(t, (t)->callbacks[i_])) \
                TRAIN_HOOK(, t, (t)->callbacks[i_], d.hook, __VA_ARGS__);             \
    } while (0)
/* The same of some: the program's own callbacks, which may log, and the library's, which watch values. */
#define TRAIN_CALL_OWN(t, is_own, hook, ...)                                         \
    do {                                                                             \
        for (size_t i_ = 0; i_ < (t)->n_callbacks; i_++)                             \
            if ((t)->callbacks[i_]->own == (is_own) && (t)->callbacks[i_]->d.hook && \
                !callback_rests(t, (t)->callbacks[i_]))                              \
                TRAIN_HOOK(, t, (t)->callbacks[i_], d.hook, __VA_ARGS__);            \
    } while (0)
/* At the end of a fit or a pass: each hook runs whatever became of what was before it, and an error of its own is told
 * beside the one that the fit ends with. */
#define TRAIN_AT_END(call)       \
    do {                         \
        lazy_aside aside_;       \
        lazy_set_aside(&aside_); \
        call;                    \
        lazy_put_back(&aside_);  \
    } while (0)
#define TRAIN_CALL_AT_END(t, hook, ...)                                                 \
    do {                                                                                \
        for (size_t i_ = 0; i_ < (t)->n_callbacks; i_++)                                \
            if ((t)->callbacks[i_]->d.hook && !callback_rests(t, (t)->callbacks[i_]))   \
                TRAIN_AT_END(TRAIN_HOOK(, t, (t)->callbacks[i_], d.hook, __VA_ARGS__)); \
    } while (0)
/* accumulation_schedule.c: the window's size in this epoch, if a callback says one; gives the epoch at which
 * it may change */
int64_t accumulation_change(const xt_trainer *t, int64_t epoch, int64_t *k);
bool callback_rests(const xt_trainer *t, const xt_callback *c);
void callback_free(xt_callback *c);
/* sets .watches; NULL stays NULL */
xt_callback *callback_watching(xt_callback *c, const char *monitor, xt_reduce mode);
/* monitors.c: what is said of watched values. `who` is the callback's name. */
void monitors_begin(const xt_trainer *t);
void monitors_tell(const xt_trainer *t, const char *who, const char *name, double v);
xt_status callback_needs_logger(const xt_trainer *t, const char *who); /* an error where rows go nowhere */
xt_callback *callback_make(const xt_callback_desc *d, void *user); /* frees user when it fails */
void callback_insert(xt_trainer *t, xt_callback *c); /* checkpoints stay last */
bool callback_is(const xt_callback *c, const xt_callback_desc *kind);
/* Of the library's callbacks of that kind the first: what is added twice, by the program and by --callbacks, writes its
 * columns once. */
bool callback_leads(const xt_trainer *t, const xt_callback_desc *kind, const void *user);
xt_status
callbacks_built_in(xt_trainer *t); /* built_in_callbacks.c: adds the default ones: summary, bar, last checkpoint */
/* Built-in kinds, for callback_is and for the default ones. */
extern const xt_callback_desc accumulation_schedule_desc, model_checkpoint_desc, early_stopping_desc, throughput_desc,
    lr_monitor_desc, progress_bar_desc, model_summary_desc;
xt_callback *progress_bar_new(void);
xt_callback *model_summary_new(void);

/* hooks.c: those of the callbacks and of the task together. Errors become pending. */
typedef enum train_pass { PASS_SANITY, PASS_VALIDATE, PASS_TEST, PASS_PREDICT } train_pass;
void hooks_setup(xt_trainer *t, const char *stage);
void hooks_teardown(xt_trainer *t, const char *stage);
void hooks_begin(xt_trainer *t, train_pass pass);
void hooks_end(xt_trainer *t, train_pass pass);
void hooks_batch_begin(xt_trainer *t, train_pass pass, const xt_batch *b);
void hooks_batch_end(xt_trainer *t, train_pass pass, const xt_batch *b, xt_tensor out); /* out: of a prediction */
/* what a step gets: the task's transform, then the precision's */
void hooks_batch(const xt_trainer *t, const xt_src *src, xt_batch *b);
/* Around all that the program is called for with a batch: its tensors, and what a step gives out, live over whatever
 * ends steps there, but not over the boundary of the pass itself, which comes behind hooks_step_ends. b NULL: there is
 * none. */
void hooks_step_begins(const xt_batch *b);
void hooks_step_ends(void);

/* by_name.c: --optimizer adamw --optimizer.lr 0.1 --scheduler cosine --scheduler.t_max 100. */
/* words.c: options that are words, as they are given; the error has the words there are */
xt_status train_words_check(const xt_trainer_opts *o);
xt_status by_name_settle(xt_trainer *t); /* names and combinations that cannot be */
bool by_name_optimizer(xt_trainer *t); /* the user asks for one */
xt_status by_name_configure(xt_trainer *t); /* makes what is asked for */
xt_status by_name_callbacks(xt_trainer *t); /* callbacks_by_name.c: adds those of --callbacks, once */
extern const char *const callback_modes[]; /* of .mode in tables of options: xt_reduce, as far as XT_MAX */

/* start.c */
xt_status train_begin(xt_trainer *t, const xt_src *src); /* module, optimizer, run folder, header, resume */
xt_status train_open_for_pass(xt_trainer *t, const char *what); /* the loggers, where there are to be some */
void train_pass_ended(xt_trainer *t, const char *what); /* a pass that has written nothing leaves no folder */
void train_forget_run(xt_trainer *t, const char *why); /* closes the loggers, and removes the folder if it is bare */
void train_sweep_behind(const xt_trainer *t); /* what the run that was resumed left unfinished */
xt_status train_strategy(xt_trainer *t, const xt_src *src); /* makes the mesh that .strategy needs; once */
static inline bool train_validates_by_epochs(const xt_trainer *t) {
    return t->val_interval.unit == INTERVAL_EPOCHS && t->o.val_every_n_batches == 0;
}
/* Whether the epoch is one whose end has a validation. */
static inline bool train_ends_with_validation(const xt_trainer *t) {
    return t->val && train_validates_by_epochs(t) && (t->epoch + 1) % t->val_interval.n == 0;
}
xt_status train_module(xt_trainer *t, const xt_task *task); /* behind the task's prepare_data */

/* precision.c */
xt_status train_precision_check(const char *name);
/* the loss scaler, where the precision needs one; after the optimizer, before a checkpoint is read */
xt_status train_precision_attach(xt_trainer *t);
xt_status train_precision_module(const xt_trainer *t); /* before the module's first pass */
void train_precision_batch(const xt_trainer *t, const xt_src *src, xt_batch *b); /* the input as the weights are */
void train_precision_begin(const xt_trainer *t);
void train_precision_end(const xt_trainer *t);
xt_tensor train_scaled(const xt_trainer *t, const xt_src *src, xt_tensor loss); /* what xt_backward gets */
void train_unscale(const xt_trainer *t, const xt_src *src); /* the gradients of all optimizers, with a loss scaler */
void train_optimizer_steps(const xt_trainer *t, const xt_src *src); /* of all optimizers */

/* stopping.c */
xt_status stopping_check_names(const char *list); /* of signals */
xt_status stopping_settle(xt_trainer *t);
void stopping_begin(xt_trainer *t);
/* complete from now on, or what the fit began from; NULL = none. Any thread */
void stopping_saved(const char *checkpoint);
void stopping_trained(xt_trainer *t); /* the training is over, whose time counts */
void stopping_meet(void); /* all ranks, behind what rank 0 has written */
void stopping_end(xt_trainer *t); /* and so is all that it writes: signals are the program's again */
void stopping_left(void); /* no fit is under way in this thread, whatever was begun: left by longjmp */
bool stopping_held(const xt_trainer *t, char *by, size_t n); /* by: the lower bound that keeps a wish waiting */
bool stopping_polls(const xt_trainer *t); /* whether ranks meet here, between two optimizer steps */
bool stopping_check(xt_trainer *t); /* all ranks meet; true: the fit ends here */
int stopping_result(xt_trainer *t, const char *checkpoint); /* 128 + the signal, after saying so; 0 without one */
int64_t stopping_elapsed(const xt_trainer *t); /* nanoseconds of training, resumed ones included */

/* schedules.c: those of the interval; errors become pending. With .manual_optimization the program steps them. */
void schedules_step(xt_trainer *t);
void schedules_epoch(xt_trainer *t);
void schedules_end(const xt_trainer *t); /* of a fit */

/* agree.c: the ranks have the same lengths; s: this rank's own error so far, which is given back */
xt_status train_agree(const xt_trainer *t, xt_status s);

/* fit_loop.c: the epochs that are left; false with a pending error. */
bool fit_epochs(xt_trainer *t, const xt_src *src);

/* fit.c, eval.c */
/* An object that a task or the program gave: an error where it was freed since, else it stays until the call ends. */
xt_status train_use(handle_kind kind, const void *p, const char *from);
xt_status train_use_optimizers(const xt_trainer *t);
/* The fit has come further than what it began from: by a batch, or by an epoch's end that was all that was left. */
static inline bool train_moved(const xt_trainer *t) {
    return t->at.micro_batches > 0 || t->position.epoch != t->begun_epoch;
}
bool train_validate(xt_trainer *t, const xt_src *src); /* one pass over t->val */
/* One pass over a loader: its values accumulate on the device; the row is on its way when it returns. False with a
 * pending error. */
bool train_evaluate(xt_trainer *t, const xt_src *src, train_pass pass, xt_loader *l, int64_t limit);
/* A pass over each validation loader; most < 1: as many batches as the fit's limits say. */
bool train_evaluate_all(xt_trainer *t, const xt_src *src, train_pass pass, int64_t most);
void train_rewind_validation(xt_trainer *t); /* all loaders to their begin */
int train_report(xt_status extra); /* prints the pending error (and extra), clears it: 1, or 0 when there is none */

/* A fit after its options are settled; what xt_fit does around it is reporting. Its error may also be the
 * pending one. */
xt_status train_fit(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *train, xt_loader *val);

/* scratch.c: a short fit of a finder, with a module, optimizer and trainer of its own, which leaves nothing behind
 * but the loader, at the begin of its epoch. `callback` (taken over) may be NULL. Gives what went wrong; nothing
 * stays pending. */
/* `what`: for whom, in messages: "xt_lr_find" */
xt_status scratch_fit(const xt_src *src, const char *what, const xt_task *task, xt_loader *loader, int64_t steps,
                      xt_callback *callback);
/* finder_lr.c: the index of the suggestion among n smoothed losses, -1 when there are fewer than two finite points
 * between the ones left out. */
int64_t lr_suggestion(const double *losses, int64_t n, int64_t skip_first, int64_t skip_last);

/* result.c */
void result_begin(xt_trainer *t);
void result_epoch(xt_trainer *t, int64_t began_ns, const xt_epoch_detail *before);
xt_epoch_detail result_counters(void); /* counters now, to be subtracted */
void result_end(xt_trainer *t);
/* The summary of a fit without an error. Behind it what there is to say of a last loss that is not finite: 1 when
 * parameters are not either, and what was trained is of no use; else 0. */
int result_summary(xt_trainer *t, const xt_src *src);

/* run_dir.c */
/* runs/NAME/version_N, N the next free; base_free */
xt_status run_dir_make(const char *runs, const char *name, char **out);
/* removes what a run that trained nothing has begun; false, and nothing is removed, when there is more in it */
bool run_dir_unmake(const char *dir);
/* The newest last.ckpt (or on_exception.ckpt) of the run, or of the folder `also` (NULL: none). */
xt_status run_dir_last(const char *asked, const char *runs, const char *name, const char *also, char **out_checkpoint);
void model_checkpoint_sweep(const xt_trainer *t); /* what killed runs left unfinished in its folders */
const char *model_checkpoint_folder(const xt_trainer *t); /* the first one's own dirpath; NULL */
const char *train_runs_dir(const xt_trainer *t);
const char *train_run_name(const xt_trainer *t);

/* checkpoint.c, checkpoint_load.c. All ranks gather before rank 0 saves, and release afterwards. */
xt_status checkpoint_gather(xt_trainer *t);
/* The same where every rank writes a share of the tensors, which it gets here. */
xt_status checkpoint_gather_shards(xt_trainer *t);
void checkpoint_release(xt_trainer *t);
xt_callback *reinitialize_new(void); /* reinitialize.c: .reinitialize_every_n_steps */
xt_status checkpoint_save(xt_trainer *t, const char *path);
/* All of it, called by all ranks: rank 0 writes the file (NULL: nowhere), behind those that are under way. */
xt_status checkpoint_of_ranks(xt_trainer *t, const char *path);
/* The hooks of a fit's start are over: what is frozen and the modes of modules are what the checkpoint has, if the fit
 * goes on from one (checkpoint_modes.c). */
xt_status checkpoint_modes_say(xt_trainer *t);
xt_status checkpoint_load(xt_trainer *t, const char *path); /* "last": the newest of the run; "best": its best */
/* Metadata of the checkpoint that the coming fit goes on from (base_free); NULL: there is none. sums: of a file whose
 * checksums are right, which costs reading it. */
xt_status checkpoint_resume_meta(xt_trainer *t, const char *key, bool sums, char **out);
/* the weights that a validation, test or prediction on its own is meant to use */
xt_status checkpoint_for_pass(xt_trainer *t);
/* checkpoint_writer.c: files written while training goes on. A failure is given by the next call of either. */
typedef struct checkpoint_old { /* a file that goes; the first `root` characters are the folder of its saver */
    char *path;
    size_t root;
    bool claimed; /* its name, until it is gone (checkpoint_claim.h) */
} checkpoint_old;
typedef struct checkpoint_job { /* strings are copied; NULL = no such part */
    /* the file, whose name is claimed; another name for it, or a file of its own where there is no path */
    const char *path, *last;
    checkpoint_old *drop; /* removed when the new file is complete; taken over with its strings */
    size_t n_drop;
    const struct shard_plan *shards; /* copied; NULL: in one file. Ranks other than 0 write their shard alone */
} checkpoint_job;
xt_status checkpoint_background(xt_trainer *t, checkpoint_job job); /* waits when two files are under way already */
void checkpoint_job_forget(const checkpoint_job *job); /* instead: its claims and what it drops are given back */
xt_status checkpoint_wait(xt_trainer *t); /* until all is written */
void checkpoint_writer_free(xt_trainer *t);
void train_note_last(xt_trainer *t, const char *path);
bool train_ranks_agree(bool mine); /* rank 0's answer, on all ranks */

/* history.c: remembers the loss rows of the fit and draws loss.png. */
typedef struct history history;
history *history_new(void);
void history_free(history *h);
log_sink history_sink(history *h);
xt_status history_draw(history *h, const char *path);

#endif
