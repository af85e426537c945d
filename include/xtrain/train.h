/* The Trainer: loops, validation, logging, checkpoints, throughput around a task described as functions. */
#ifndef XTRAIN_TRAIN_H
#define XTRAIN_TRAIN_H

#include <xtrain/data.h>
#include <xtrain/dist.h>
#include <xtrain/metrics.h>
#include <xtrain/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What trains: options, callbacks, loggers and counts of a run, which xt_fit and its like work with. */
typedef struct xt_trainer xt_trainer;
/* Something that a fit calls at its hooks; made by xt_callback_new and the functions below. */
typedef struct xt_callback xt_callback;

/* What is trained. Only net (or module), training_step and configure_optimizers are needed to fit. `user` is
 * passed to all. It may grow at its end: xt_fit and its like tell the library how large the program's is. */
typedef struct xt_task {
    xt_module_fn net XT_ZERO; /* the trainer makes the module from it ... */
    xt_module *module XT_ZERO; /* ... unless one is given here (borrowed) */
    void *user XT_ZERO; /* passed to all functions, net's too; the caller's */
    /* Returns the loss, which has rows as "loss" and "loss_epoch": of several ranks the mean over all their samples.
     * None, {0}: this micro-batch has no part in the update, and a step of none but such leaves weights and optimizers
     * as they are (and counts as a step); told once. All ranks leave out the same, and an epoch of nothing else is an
     * error. */
    xt_tensor (*training_step)(xt_module *net, xt_batch b, void *user) XT_ZERO;
    /* one batch in eval mode without gradients; logs what it finds ("val/loss") */
    void (*validation_step)(xt_module *net, xt_batch b, void *user) XT_ZERO;
    void (*test_step)(xt_module *net, xt_batch b,
                      void *user) XT_ZERO; /* the same of xt_test; NULL: validation_step serves */
    /* the result for one batch, in eval mode without gradients; NULL: the network's of b.x */
    xt_tensor (*predict_step)(xt_module *net, xt_batch b, void *user) XT_ZERO;
    /* with its schedules, which the trainer steps: see schedule.h */
    xt_optimizer *(*configure_optimizers)(xt_module *net, void *user)XT_ZERO;
    /* Instead of configure_optimizers: up to `max` optimizers, the number given back. All step after each window,
     * unless optimization is manual; each freezes the parameters that are another one's (xt_optimizer_group(o, "fc2.*",
     * .frozen = XT_ON)). */
    int (*configure_several)(xt_module *net, xt_optimizer **out, int max, void *user) XT_ZERO;
    /* On: training_step calls xt_backward, xt_optimizer_step and xt_schedule_step itself (alternating networks, several
     * losses) and may return none. A micro-batch that stepped any optimizer counts as one optimizer step; accumulation
     * and clipping are then the task's own, and refused as options. */
    bool manual_optimization XT_ZERO;
    /* Hooks, all optional, in the order they come. xt_log in those of batches is of the step; in those around an epoch
     * or a pass it is of the epoch, a row of its own; in the others it is an error (doc/logging.md has each hook, and
     * histograms, images and texts). A callback's hook of the same place runs first, but at the end of a pass or an
     * epoch, where callbacks that watch values come after the task. What ends steps in a hook or in a step function
     * (xt_wait, xt_mark_step, xt_call, xt_save, a loop over another loader) leaves the batch alone, and the loss. */
    /* rank 0 only, before anything else of each fit, validation, test and prediction; the others wait (downloads) */
    void (*prepare_data)(void *user) XT_ZERO;
    /* "fit" (before configure_optimizers), "validate", "test" or "predict"; and its counterpart at the end */
    void (*setup)(xt_module *net, const char *stage, void *user) XT_ZERO;
    void (*teardown)(xt_module *net, const char *stage,
                     void *user) XT_ZERO; /* the stage is over, also after an error */
    /* module and optimizer are there, and a resumed state; before the sanity batches. A module that .net makes has no
     * tensors yet in a fresh fit: build one (xt_module_build) and give it as .module to read them here */
    void (*on_fit_start)(xt_module *net, void *user) XT_ZERO;
    void (*on_fit_end)(xt_module *net, void *user) XT_ZERO; /* the last hook but teardown of a fit that ended well */
    void (*on_train_start)(xt_module *net, void *user) XT_ZERO; /* after the sanity batches */
    /* before on_fit_end, while validations are over too */
    void (*on_train_end)(xt_module *net, void *user) XT_ZERO;
    /* of every stage: gives the batch that hooks and the step get (augmentation on the device) */
    xt_batch (*on_after_batch_transfer)(xt_module *net, xt_batch b, void *user) XT_ZERO;
    /* Before the epoch's first batch; counts from 0. A run that is resumed within the epoch does not call it again:
     * what it has frozen or put into a mode is in the checkpoint, numbers of one's own are save_state's. */
    void (*on_train_epoch_start)(xt_module *net, int64_t epoch, void *user) XT_ZERO;
    /* true: this batch and the rest of the epoch are left out; within an accumulation window, once it has ended. With
     * several ranks on all of them: each optimizer step of a task with this hook begins with an exchange of what they
     * have given, and it is an error if one has not */
    bool (*on_train_batch_start)(xt_module *net, const xt_batch *b, void *user) XT_ZERO;
    /* the loss is recorded; of each micro-batch */
    void (*on_before_backward)(xt_module *net, xt_tensor loss, void *user) XT_ZERO;
    void (*on_after_backward)(xt_module *net, void *user) XT_ZERO; /* gradients are there (xt_grad) */
    /* gradients of the whole window, before clipping; not in every micro-batch */
    void (*on_before_optimizer_step)(xt_module *net, void *user) XT_ZERO;
    /* recorded; the loss as training_step gave it */
    void (*on_train_batch_end)(xt_module *net, const xt_batch *b, xt_tensor loss, void *user) XT_ZERO;
    /* after its last batch and the validation that is due there; counts from 0 */
    void (*on_train_epoch_end)(xt_module *net, int64_t epoch, void *user) XT_ZERO;
    /* before a validation's first batch; `epoch` is the training's */
    void (*on_validation_epoch_start)(xt_module *net, int64_t epoch, void *user) XT_ZERO;
    void (*on_validation_epoch_end)(xt_module *net, int64_t epoch, void *user) XT_ZERO; /* after its last batch */
    void (*on_validation_batch_start)(xt_module *net, const xt_batch *b,
                                      void *user) XT_ZERO; /* before validation_step */
    /* recorded; its step is still open, so xt_log works */
    void (*on_validation_batch_end)(xt_module *net, const xt_batch *b, void *user) XT_ZERO;
    /* a test is one pass, so it has no epochs of its own */
    void (*on_test_start)(xt_module *net, void *user) XT_ZERO;
    void (*on_test_batch_start)(xt_module *net, const xt_batch *b, void *user) XT_ZERO; /* before test_step */
    /* recorded; its step is still open, so xt_log works */
    void (*on_test_batch_end)(xt_module *net, const xt_batch *b, void *user) XT_ZERO;
    void (*on_test_end)(xt_module *net, void *user) XT_ZERO; /* after the last batch of the test */
    void (*on_predict_start)(xt_module *net, void *user) XT_ZERO; /* before the first batch of xt_predict */
    void (*on_predict_batch_start)(xt_module *net, const xt_batch *b, void *user) XT_ZERO; /* before predict_step */
    /* recorded: `out` is what predict_step gave */
    void (*on_predict_batch_end)(xt_module *net, const xt_batch *b, xt_tensor out, void *user) XT_ZERO;
    void (*on_predict_end)(xt_module *net, void *user) XT_ZERO; /* after the last batch of xt_predict */
    void (*on_exception)(xt_module *net, xt_status error,
                         void *user) XT_ZERO; /* the fit ends with this error (borrowed) */
    /* State of one's own in checkpoints, as JSON text; save_state as snprintf would write it. */
    size_t (*save_state)(char *buf, size_t n, void *user) XT_ZERO;
    /* gets in a resumed fit what save_state wrote, before the first batch; an error ends the fit */
    xt_status (*load_state)(const char *json, void *user) XT_ZERO;
} xt_task;

#define XT_DEFAULTS_xt_trainer_opts(is)                                                                          \
    is(max_epochs, XT_UNSET) is(max_steps, -1) is(accumulate_grad_batches, 1) is(log_every_n_steps, 50)          \
        is(limit_train_batches, -1) is(limit_val_batches, -1) is(val_every_n_epochs, 1) is(seed, XT_SEED_OF_RUN) \
            is(limit_test_batches, -1) is(limit_predict_batches, -1) is(progress_bar, XT_DEFAULT)                \
                is(logger, XT_DEFAULT) is(checkpointing, XT_DEFAULT) is(model_summary, XT_DEFAULT)
XT_DEFAULTS_OF(xt_trainer_opts)
typedef struct XT_OPTIONS_ xt_trainer_opts {
    size_t struct_size XT_SIZE(xt_trainer_opts);
    /* -1 = no limit; XT_UNSET: 1000 where nothing else ends the fit (with a warning) */
    int64_t max_epochs XT_IS(xt_trainer_opts, max_epochs);
    int64_t max_steps XT_IS(xt_trainer_opts, max_steps); /* optimizer steps; -1 = no limit */
    /* micro-batches whose gradients are averaged to one optimizer step */
    int64_t accumulate_grad_batches XT_IS(xt_trainer_opts, accumulate_grad_batches);
    /* optimizer steps; gives way to log_every_n_batches */
    int64_t log_every_n_steps XT_IS(xt_trainer_opts, log_every_n_steps);
    int64_t log_every_n_batches XT_ZERO; /* micro-batches; 0 = unused; must be a multiple of accumulate_grad_batches */
    /* Batches of one pass: a whole number; below 1: that share of the pass (0.25); 0 = none; -1 = all. */
    double limit_train_batches XT_IS(xt_trainer_opts, limit_train_batches), limit_val_batches
        XT_IS(xt_trainer_opts, limit_val_batches);
    int64_t val_every_n_epochs XT_IS(xt_trainer_opts, val_every_n_epochs); /* epochs from one validation to the next */
    int64_t val_every_n_batches XT_ZERO; /* of the epoch; 0 = at the epoch's end */
    double gradient_clip_val XT_ZERO; /* 0 = off; norm of all gradients, after averaging */
    /* "fp32" (default; "32"), "bf16" ("bf16-mixed": products in bf16, weights f32), "16-mixed" ("fp16": f16 with a loss
     * scaler), "bf16-true" (weights, optimizer state and inputs in bf16, half the memory; each update is computed in
     * f32 and rounded once), "16-true", "64-true". */
    const char *precision XT_ZERO;
    const char *run_name XT_ZERO; /* folder under runs/; NULL = "default" */
    const char *runs_dir XT_ZERO; /* NULL = XT_RUNS_DIR or "runs" */
    /* default: on when the sink is a terminal, plain lines otherwise */
    xt_switch progress_bar XT_IS(xt_trainer_opts, progress_bar);
    /* default on: what `loggers` names; off: none, whatever it names */
    xt_switch logger XT_IS(xt_trainer_opts, logger);
    const char *loggers XT_ZERO; /* comma list of csv, tensorboard, jsonl; NULL = "csv,tensorboard" */
    xt_switch checkpointing XT_IS(xt_trainer_opts, checkpointing); /* default on: last.ckpt at the end */
    xt_switch model_summary XT_IS(xt_trainer_opts, model_summary); /* default on */
    /* checkpoint to continue from; "last" = newest of the run, and none begins anew with a warning; "best" = the best
     * that the run's xt_model_checkpoint kept */
    const char *resume XT_ZERO;
    /* weights for xt_validate, xt_test and xt_predict: "best", "last" or a path; NULL = those the trainer has,
     * else `resume` */
    const char *ckpt XT_ZERO;
    /* xt_seed, at once (make loaders after the trainer); XT_SEED_OF_RUN leaves it */
    uint64_t seed XT_IS(xt_trainer_opts, seed);
    /* of .gradient_clip_val, without which it changes nothing, as in Lightning: "norm" (default), "value" */
    const char *gradient_clip_algorithm XT_ZERO;
    double limit_test_batches XT_IS(xt_trainer_opts, limit_test_batches), limit_predict_batches
        XT_IS(xt_trainer_opts, limit_predict_batches); /* as above, of xt_test and xt_predict */
    /* When to validate, with its unit: "2epochs", "0.25epochs" (four times an epoch), "100steps" (optimizer steps, over
     * epochs), "200batches" (micro- batches, over epochs), "10min" (of wall time; several ranks go by rank 0's clock).
     * NULL = val_every_n_epochs. Not together with val_every_n_*. */
    const char *val_every XT_ZERO;
    /* a wish to stop (early stopping, xt_trainer_stop, max_time) waits for both; 0 = none */
    int64_t min_epochs XT_ZERO, min_steps XT_ZERO;
    /* "45s", "90min", "2h", "1d", "DD:HH:MM:SS": stops after so much training time, kept over a resume;
     * NULL = no limit */
    const char *max_time XT_ZERO;
    /* n: a smoke run of n batches of training, validation and test, without logs, checkpoints and early
     * stopping; 0 = off */
    int64_t fast_dev_run XT_ZERO;
    /* trains and validates on the first n batches (or that share), unshuffled, to see whether the model can learn
     * them; 0 = off */
    double overfit_batches XT_ZERO;
    /* batches of validation_step before the first training batch, whose values are thrown away: a mistake in it shows
     * at once; -1 = all; 0 = none (the default: an execution less; Lightning runs 2) */
    int64_t num_sanity_val_steps XT_ZERO;
    /* signals that save a checkpoint after the optimizer step under way and end the fit, its hooks called, which then
     * gives 128 + the signal's number: comma list of TERM, INT (Ctrl-C; a second one ends the process at once), HUP,
     * USR1, USR2; NULL = "TERM,INT", but INT only where the program has no handler of its own and does not ignore it,
     * and under SLURM USR1 too, which asks SLURM to requeue the job; "" = none */
    const char *signals XT_ZERO;
    xt_switch offload_optimizer XT_ZERO; /* optimizer state in host memory (xt_optimizer_offload); default off */
    /* optimizer steps after which last.ckpt is saved (unless checkpointing is off) and everything on the device given
     * back (xt_reinitialize), for runs whose device memory creeps; 0 = never */
    int64_t reinitialize_every_n_steps XT_ZERO;
    /* What several ranks hold: "ddp" (default): parameters and optimizer state, each all of it; "zero2" (or "zero1"):
     * optimizer state and gradients are divided; "fsdp": parameters of two dims and more, too. The losses are the same
     * to 1e-5 (batch norm takes the statistics of all ranks' samples but under ddp). Made at once, as a mesh with one
     * axis "data" (mesh.h): make loaders and modules after the trainer. With a mesh of one's own leave it unset. */
    const char *strategy XT_ZERO;
    /* "ddp": compares the ranks' parameters so often (xt_optimizer_check_replicas); 0 = never */
    int64_t check_replicas_every_n_steps XT_ZERO;
    /* batch norms of a fit over several ranks take the whole batch's statistics, as their own .sync
     * would; default off */
    xt_switch sync_batchnorm XT_ZERO;
    /* every step is looked through for NaN, and the first is an error with its line (as XT_DEBUG=nan;
     * slow); default off */
    xt_switch detect_anomaly XT_ZERO;
    /* to measure the loop alone: no logs, checkpoints, bar, summary or sanity batches; xt_log does
     * nothing; default off */
    xt_switch barebones XT_ZERO;
} xt_trainer_opts;
/* xt_trainer_new(.max_epochs = 5): strings are copied, nothing is opened or written before the fit. Yours; xt_finish
 * frees what is left. An option out of its range is a pending error, and the trainer refuses to fit. */
#define xt_trainer_new(...) xt_trainer_opt(XT_HERE, XT_OPTS(xt_trainer_opts, __VA_ARGS__))
XT_API xt_trainer *xt_trainer_opt(const xt_src *src, xt_trainer_opts o);
/* --max_epochs 5, --max-epochs=5, --trainer.max_epochs 5, --help; unknown names are errors with the nearest one, kept
 * until fit, which prints them and gives 1. After --help fit gives 0 without training. XT_TRAINER_MAX_EPOCHS=5 and the
 * like set options too; --config FILE.json (may be given again) has them under "trainer". A later argument wins over an
 * earlier one, the command line over the environment, and both over the program's own values. --optimizer adamw
 * --optimizer.lr 0.1 (sgd, adam, rmsprop, lion, ...; the numbers of its struct in optim.h) takes the place of the
 * task's configure_optimizers; --scheduler cosine --scheduler.t_max 100 --scheduler.interval step adds a schedule
 * (schedule.h), with .monitor and .mode for plateau and .milestones 30,80 for multistep; the file has them as sections
 * "optimizer" and "scheduler" with a "name". --model.NAME and --data.NAME, and the file's sections of these names, are
 * the program's settings (below). --print-config prints what all of it comes to, as such a file, instead of training.
 * The same file is written beside the logs (config.json) and into checkpoints. */
XT_API void xt_trainer_args(xt_trainer *t, int argc, char **argv);
/* A setting of the program's own, "model.lr", "data.dir": as given by the command line or a file, else the fallback.
 * What was asked for is in config.json, in the header of checkpoints and in TensorBoard's table of runs. A setting
 * given but never asked for before the fit is an error: it is misspelt. */
XT_API double xt_trainer_number(xt_trainer *t, const char *name, double fallback);
/* valid until the trainer is freed */
XT_API const char *xt_trainer_text(xt_trainer *t, const char *name, const char *fallback);
/* What the run that wrote the checkpoint which a fit of t goes on from (.resume) had for a setting, as text: what makes
 * the network, such as its adapters, is asked for before it is made. NULL where that says nothing of it, where there is
 * no such checkpoint, and where it cannot be read, which the fit says. Valid until the trainer is freed. */
XT_API const char *xt_trainer_resumed_text(xt_trainer *t, const char *name);
/* The configuration as JSON text, written as snprintf would: returns the length it has. */
XT_API size_t xt_trainer_config(const xt_trainer *t, char *buf, size_t n);

/* What a configuration file says, in its order: take("trainer.max_epochs", "5", user), true and false as "on" and
 * "off". An error of `take` ends it. */
XT_API XT_CHECK xt_status xt_config_read(const char *path,
                                         xt_status (*take)(const char *name, const char *value, void *user),
                                         void *user);

/* A model of one's own for `xtrain fit ./model.so`: the shared object has this variable, named xt_model. The functions
 * may use xt_trainer_number and xt_trainer_text for their settings; `user` is what `task` put into the task.
 *     const xt_model_desc xt_model = {.struct_size = sizeof(xt_model_desc), .name = "mine", .task = my_task,
 *                                     .train = my_data, .val = my_test_data};
 * cc -shared -fPIC mine.c -o mine.so -lxtrain; xtrain fit ./mine.so --model.lr 0.1 --max_epochs 3 */
typedef struct xt_model_desc {
    size_t struct_size XT_ZERO;
    const char *name XT_ZERO, *help XT_ZERO; /* name of the run's folder; what --help prints */
    /* the task, made once the arguments are known; `user` in it goes to the next functions */
    xt_task (*task)(xt_trainer *t) XT_ZERO;
    xt_loader *(*train)(xt_trainer *t, void *user)XT_ZERO; /* the training loader; the trainer takes it over */
    xt_loader *(*val)(xt_trainer *t, void *user)XT_ZERO; /* may be NULL */
    xt_loader *(*test)(xt_trainer *t, void *user)XT_ZERO; /* may be NULL; tested after the fit */
} xt_model_desc;
XT_API void xt_trainer_add(xt_trainer *t, xt_callback *c); /* takes c over */
/* Trains; 0, or 1 with the message printed, which is for the program's exit code: a compiler warns of a call whose
 * result nobody looks at, and xt_finish gives 1 and an exit code of 0 becomes 1 unless the program looks at errors
 * (xt_error, xt_clear_error) or a later fit succeeds. Loaders are taken over (xt_finish frees them); val may be NULL.
 * On return everything has run and is written, and the cost summary is printed: main may end with `return xt_fit(...)`.
 * Calling it again goes on from where it stopped. The task is copied: what its `user` points to is the caller's, as
 * long as t is. */
#define xt_fit(t, task, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fit(t, task, train, ...): train is missing"), XT_FIT_(t, task, __VA_ARGS__, NULL, ))
#define XT_FIT_(t, task, train, val, ...) xt_fit_at(XT_HERE, t, task, sizeof(xt_task), train, val)
/* task_size: of the task as the program knows it, which may be an older or a newer header's */
XT_API XT_CHECK int xt_fit_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size, xt_loader *train,
                              xt_loader *val);
/* xt_validate (xt_test): one pass over the loader with validation_step (test_step), a table of the results; 0 or 1.
 * task->module NULL: the module of the last fit. Several loaders are one xt_combined_loader with XT_SEQUENTIAL: a pass
 * over each, of as many batches as the limit says, with b.index from 0, b.loader K, and values named
 * NAME/dataloader_idx_K (xt_trainer_val_index: K); xt_predict goes over each, too. */
#define xt_validate(t, task, loader) xt_validate_at(XT_HERE, t, task, sizeof(xt_task), loader)
#define xt_test(t, task, loader) xt_test_at(XT_HERE, t, task, sizeof(xt_task), loader)
XT_API XT_CHECK int xt_validate_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                                   xt_loader *loader);
XT_API XT_CHECK int xt_test_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                               xt_loader *loader);
/* xt_predict: one pass in eval mode without gradients; predict_step's tensor of each batch goes to `fn` (may be NULL)
 * while its step is open, where xt_when_ready reads it without waiting, and to the callbacks (xt_prediction_writer). 0
 * or 1. */
typedef void (*xt_prediction_fn)(const xt_batch *b, xt_tensor out, void *user);
#define xt_predict(t, task, loader, fn, user) xt_predict_at(XT_HERE, t, task, sizeof(xt_task), loader, fn, user)
XT_API XT_CHECK int xt_predict_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                                  xt_loader *loader, xt_prediction_fn fn, void *user);
/* Lightning's LightningDataModule: the data of a task in one place, in the order of its calls. All functions may be
 * NULL but the one that makes the pass's loader (`train`, `val`, `test`, `predict`); `user` is passed to all. An error
 * that one gives, or leaves pending, ends the call. static const xt_data_module data = {.struct_size = sizeof data,
 * .prepare = download, .train = make_train}; return xt_fit_data(t, &task, &data); */
typedef struct xt_data_module {
    size_t struct_size XT_ZERO; /* sizeof(xt_data_module) */
    void *user XT_ZERO;
    /* Downloads, unpacks, tokenizes: before anything else, once for a trainer, on rank 0 of the run while the others
     * wait. It keeps nothing in `user`, which other ranks would not have. */
    xt_status (*prepare)(void *user) XT_ZERO;
    bool prepare_per_host XT_ZERO; /* on the first rank of each host, where hosts share no file system */
    /* On every rank, "fit", "validate", "test" or "predict": opens, splits; then loaders are made, with the mesh, the
     * ranks and the seed of the run at hand. teardown is its counterpart, also after an error. */
    xt_status (*setup)(xt_trainer *t, const char *stage, void *user) XT_ZERO;
    xt_loader *(*train)(xt_trainer *t, void *user)XT_ZERO; /* several: xt_combined_loader */
    xt_loader *(*val)(xt_trainer *t, void *user)XT_ZERO; /* several for val, test and predict: with XT_SEQUENTIAL */
    xt_loader *(*test)(xt_trainer *t, void *user)XT_ZERO; /* of xt_test_data */
    xt_loader *(*predict)(xt_trainer *t, void *user)XT_ZERO; /* of xt_predict_data */
    void (*teardown)(xt_trainer *t, const char *stage, void *user) XT_ZERO; /* the stage is over, also after an error */
    /* State of one's own in checkpoints, as JSON text; save_state as snprintf would write it. A resumed fit has
     * load_state called behind setup and before its loaders are made, which then stand where the checkpoint's did. */
    size_t (*save_state)(char *buf, size_t n, void *user) XT_ZERO;
    /* what save_state wrote, in a resumed fit; an error ends it */
    xt_status (*load_state)(const char *json, void *user) XT_ZERO;
} xt_data_module;
/* (t, &task, &data): xt_fit_data, xt_validate_data, xt_test_data and xt_predict_data are xt_fit, xt_validate, xt_test
 * and xt_predict with a data module's loaders, freed behind it. The module is the caller's; its `user` must live as
 * long as t where it has save_state. */
#define xt_fit_data(t, task, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fit_data(t, task, data, ...): data is missing"), \
     xt_fit_data_at(XT_HERE, t, task, sizeof(xt_task), __VA_ARGS__))
#define xt_validate_data(t, task, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_validate_data(t, task, data, ...): data is missing"), \
     xt_validate_data_at(XT_HERE, t, task, sizeof(xt_task), __VA_ARGS__))
#define xt_test_data(t, task, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_test_data(t, task, data, ...): data is missing"), \
     xt_test_data_at(XT_HERE, t, task, sizeof(xt_task), __VA_ARGS__))
#define xt_predict_data(t, task, data, fn, user) xt_predict_data_at(XT_HERE, t, task, sizeof(xt_task), data, fn, user)
XT_API XT_CHECK int xt_fit_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                                   const xt_data_module *data);
XT_API XT_CHECK int xt_validate_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                                        const xt_data_module *data);
XT_API XT_CHECK int xt_test_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                                    const xt_data_module *data);
XT_API XT_CHECK int xt_predict_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                                       const xt_data_module *data, xt_prediction_fn fn, void *user);
/* One more validation loader of the coming fits (up to 7; xt_finish frees it). Each validation passes over the fit's
 * own loader and then over these, in order, and over each part of a sequential one (xt_combined_loader); values are
 * named NAME/dataloader_idx_K then, a row a loader. xt_trainer_val_index: K, in validation_step and its hooks. */
XT_API void xt_trainer_add_val_loader(xt_trainer *t, xt_loader *l);
XT_API int xt_trainer_val_index(const xt_trainer *t);
/* What its fits have made, a module and optimizers, stays behind it; xt_finish frees what is left, the trainer too */
XT_API void xt_trainer_free(xt_trainer *t);
XT_API void xt_trainer_stop(xt_trainer *t); /* after this batch; from any callback */
/* of the fit or pass under way, else of the last one; borrowed, NULL before */
XT_API xt_module *xt_trainer_module(xt_trainer *t);
XT_API int64_t xt_trainer_epoch(const xt_trainer *t); /* of the fit under way; counts from 0 */
XT_API int64_t xt_trainer_global_step(const xt_trainer *t); /* optimizer steps */
/* Newest arrived value of a logged name (epoch value if there is one; the Trainer's own "loss" has none, it is the
 * newest step's); NaN if none. Waits only when `wait`: then what a hook around an epoch or a pass has just logged is
 * computed and given, in it and in those behind it, but for what several ranks put together (.sync_dist), which is
 * there behind these hooks. */
XT_API double xt_trainer_metric(xt_trainer *t, const char *name, bool wait);
/* Optimizer steps that the fit means to make in all, for schedules over a whole training (xt_cosine_schedule's
 * t_max), from configure_optimizers on: of max_epochs and max_steps, whichever ends first. -1: no end is set. 0
 * outside a fit. */
XT_API int64_t xt_trainer_planned_steps(const xt_trainer *t);
XT_API xt_optimizer *xt_trainer_optimizer(xt_trainer *t); /* the first one */
XT_API double xt_trainer_elapsed(const xt_trainer *t); /* seconds of training, resumed ones included */
/* "runs/NAME/version_N"; NULL while nothing is written there */
XT_API const char *xt_trainer_run_dir(const xt_trainer *t);
/* The best file that its model checkpoint keeps, rank 0 only (NULL on others), and its monitored value (NaN without a
 * monitor; may be NULL). NULL: none yet. Valid until the next save. */
XT_API const char *xt_trainer_best_checkpoint(const xt_trainer *t, double *out_value);
/* Everything needed to go on from here (weights, optimizer, position, callbacks), as a safetensors file that xt_load
 * reads too. Waits. With several ranks all make the call, at the same place, and rank 0 writes; a rank that makes it
 * alone gets an error, after XT_TIMEOUT at the latest, that names the others. */
XT_API XT_CHECK xt_status xt_trainer_save(xt_trainer *t, const char *path);

/* What the last fit did and cost. Rates are over the time spent training: validation, checkpoints and the first
 * compile's epoch start are not in it. */
typedef struct xt_epoch_detail {
    double seconds; /* training and validation */
    int64_t compiles; /* programs compiled in this epoch */
    /* idle_share: of the epoch, the device had nothing to do; peak_mib: of device memory so far */
    double compile_ms, idle_share, peak_mib;
} xt_epoch_detail;
/* What the last fit did and cost: figures of this call alone, but for `steps`. */
typedef struct xt_fit_result {
    int64_t epochs, steps; /* epochs of this call; optimizer steps in all, those of the resumed run too */
    /* of the first and last micro-batch, of this rank's samples; NaN if none. val_loss: "val/loss" or "val_loss" */
    double loss_first, loss_last, val_loss;
    /* of all ranks together; mfu 0 without a throughput monitor */
    double seconds, samples_per_s, batches_per_s, flops_per_s, mfu;
    /* programs compiled, and how many of them behind the first epoch, where none should be */
    int64_t compiles, compiles_after_first_epoch;
    double compile_ms; /* time spent in compiling */
    int64_t executions, host_reads; /* programs run on the device, and values read from it */
    double peak_rss_mib; /* most host memory that the process had since it began */
    const xt_epoch_detail *epochs_detail; /* `epochs` entries; valid until the next fit or xt_trainer_free */
    double tokens_per_s; /* real tokens (b.tokens) of all ranks together; 0 where nobody counts them */
} xt_fit_result;
XT_API xt_fit_result xt_trainer_result(const xt_trainer *t); /* of the last fit; losses are NaN before */

/* A callback of one's own: any function may be NULL. Functions get `user` last. All run on the fitting thread; none may
 * read a tensor's value without paying for it (xt_when_ready and xt_log are free). */
typedef struct xt_callback_desc {
    size_t struct_size XT_ZERO;
    const char *name XT_ZERO; /* key of its state in checkpoints */
    /* before the first batch; an error ends the fit */
    xt_status (*fit_start)(xt_trainer *t, void *user) XT_ZERO;
    /* before the epoch's first batch (xt_trainer_epoch): as on_train_epoch_start, not at a resume within the epoch */
    void (*epoch_start)(xt_trainer *t, void *user) XT_ZERO;
    void (*batch_start)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO; /* before training_step */
    /* recorded; its step is still open, so xt_log works */
    void (*batch_end)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO;
    /* an optimizer step is on its way to the device */
    void (*step_end)(xt_trainer *t, void *user) XT_ZERO;
    /* a row of logs is due: xt_trainer_log_host */
    void (*row)(xt_trainer *t, void *user) XT_ZERO;
    /* before a validation's first batch; not of the sanity batches */
    void (*validation_start)(xt_trainer *t, void *user) XT_ZERO;
    /* recorded; its step is still open, so xt_log works */
    void (*validation_batch_end)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO;
    void (*validation_end)(xt_trainer *t, void *user) XT_ZERO; /* after its last batch; what it logs is of the epoch */
    /* after the epoch's validation, if it had one */
    void (*epoch_end)(xt_trainer *t, void *user) XT_ZERO;
    /* recorded; its step is still open (xt_when_ready) */
    void (*predict_batch_end)(xt_trainer *t, const xt_batch *b, xt_tensor out, void *user) XT_ZERO;
    /* the fit ends with this error; fit_end follows */
    void (*exception)(xt_trainer *t, xt_status error, void *user) XT_ZERO;
    void (*fit_end)(xt_trainer *t, bool ok, void *user) XT_ZERO; /* whatever ended the fit; `ok`: without an error */
    size_t (*save_state)(char *buf, size_t n, void *user) XT_ZERO; /* JSON text as snprintf would write it */
    /* what save_state wrote, in a resumed fit; an error ends it */
    xt_status (*load_state)(const char *json, void *user) XT_ZERO;
    void (*free_user)(void *user) XT_ZERO;
    /* Of 0.2: passes on their own (xt_validate, xt_test, xt_predict) call the hooks of a program's own
     * callbacks too. */
    void (*setup)(xt_trainer *t, const char *stage, void *user) XT_ZERO;
    void (*teardown)(xt_trainer *t, const char *stage, void *user) XT_ZERO; /* the stage is over, also after an error */
    void (*sanity_start)(xt_trainer *t, void *user) XT_ZERO; /* before the sanity batches */
    void (*sanity_end)(xt_trainer *t, void *user) XT_ZERO; /* behind them; their values are gone */
    void (*validation_batch_start)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO; /* before validation_step */
    void (*test_start)(xt_trainer *t, void *user) XT_ZERO; /* before the first batch of a test */
    void (*test_batch_start)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO; /* before test_step */
    /* recorded; its step is still open, so xt_log works */
    void (*test_batch_end)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO;
    void (*test_end)(xt_trainer *t, void *user) XT_ZERO; /* after its last batch */
    void (*predict_start)(xt_trainer *t, void *user) XT_ZERO; /* before the first batch of xt_predict */
    void (*predict_batch_start)(xt_trainer *t, const xt_batch *b, void *user) XT_ZERO; /* before predict_step */
    void (*predict_end)(xt_trainer *t, void *user) XT_ZERO; /* after its last batch */
    void (*before_backward)(xt_trainer *t, xt_tensor loss,
                            void *user) XT_ZERO; /* the loss is recorded; of each micro-batch */
    void (*after_backward)(xt_trainer *t, void *user) XT_ZERO; /* gradients are there (xt_grad) */
    /* gradients of the whole window, before clipping */
    void (*before_optimizer_step)(xt_trainer *t, void *user) XT_ZERO;
} xt_callback_desc;
XT_API xt_callback *xt_callback_new(const xt_callback_desc *d, void *user); /* d is copied */
/* A row of values the host has already (learning rates, times): x axis is the optimizer step; no device read. */
XT_API void xt_trainer_log_host(xt_trainer *t, int n, const char *const *names, const double *values);

/* A logger of one's own beside those of the option `loggers`: rows come in order on a thread of the log engine, rank 0
 * only. An error ends the logger, not the training. */
typedef struct xt_log_row { /* valid during the call */
    const char *stage; /* "train", "validate", "test" */
    bool epoch_level; /* values accumulated over the epoch; else of the last window */
    int64_t step, epoch, batch, samples; /* step: optimizer steps */
    double wall; /* seconds since 1970 */
    int64_t n; /* how many values */
    const char *const *names; /* [n], as they were logged */
    const double *values; /* [n], one a name */
} xt_log_row;
/* Where rows and texts of a run go to besides the loggers that the library has. */
typedef struct xt_logger_desc {
    size_t struct_size XT_ZERO;
    const char *name XT_ZERO; /* for messages */
    xt_status (*open)(const char *run_dir, void *user) XT_ZERO; /* may be NULL */
    xt_status (*row)(const xt_log_row *row, void *user) XT_ZERO; /* needed */
    xt_status (*text)(const char *name, const char *text, int64_t step,
                      void *user) XT_ZERO; /* xt_log_text; may be NULL */
    void (*close)(void *user) XT_ZERO; /* at the end of the run; may be NULL */
} xt_logger_desc;
/* before the fit; up to 4; d is copied */
XT_API void xt_trainer_add_logger(xt_trainer *t, const xt_logger_desc *d, void *user);

#define XT_DEFAULTS_xt_model_checkpoint_opts(is) \
    is(save_top_k, 1) is(save_last, XT_ON) is(background, XT_ON) is(auto_insert_metric_name, XT_ON)
XT_DEFAULTS_OF(xt_model_checkpoint_opts)
typedef struct XT_OPTIONS_ xt_model_checkpoint_opts {
    size_t struct_size XT_SIZE(xt_model_checkpoint_opts);
    const char *monitor XT_ZERO; /* NULL = keep the newest; without validations a value may be missing: told once */
    xt_reduce mode XT_ZERO; /* XT_MIN (default) or XT_MAX */
    /* -1 = all, 0 = none (but last.ckpt); more than 1 needs a monitor */
    int save_top_k XT_IS(xt_model_checkpoint_opts, save_top_k);
    xt_switch save_last XT_IS(xt_model_checkpoint_opts, save_last); /* default on: last.ckpt, beside the best ones */
    const char *dirpath XT_ZERO; /* NULL = the run's checkpoints/ */
    /* NULL = "{epoch}-{step}" -> epoch=0-step=468.ckpt; {val/acc:.3f} -> val/acc=0.981 with '/' as '_' */
    const char *filename XT_ZERO;
    /* 0,0 = after each validation, or each epoch when there is none. A save due in a step that a validation follows
     * waits for it, and one within an accumulation window for its end. With a monitor, in a fit that validates,
     * every_n_epochs are those whose validations save: a file is of the step whose value it is kept by */
    int64_t every_n_epochs XT_ZERO, every_n_steps XT_ZERO;
    /* default on: the states are copied to the host, and written while training goes on; a failure to write ends the
     * fit at the next save. xt_fit returns when all files are complete */
    xt_switch background XT_IS(xt_model_checkpoint_opts, background);
    xt_switch last_only XT_ZERO; /* default off; on: nothing but last.ckpt is kept (save_top_k 0 elsewhere) */
    /* "30min": at the first optimizer step after so much time since the last save, beside the others; NULL = off */
    const char *every_time XT_ZERO;
    /* default on: {epoch} is written "epoch=3"; off: "3", for patterns that have names of their own */
    xt_switch auto_insert_metric_name XT_IS(xt_model_checkpoint_opts, auto_insert_metric_name);
    /* default off; on: every rank writes a share of the tensors, beside the .ckpt file, which names the shards
     * (FILE-*-of-*.safetensors, with an index as Hugging Face's); no rank's memory holds them all. Ranks share the
     * folder */
    xt_switch sharded XT_ZERO;
} xt_model_checkpoint_opts;
/* checkpoints of the fit by these rules; as every callback the trainer's */
#define xt_model_checkpoint(...) xt_model_checkpoint_opt(XT_HERE, XT_OPTS(xt_model_checkpoint_opts, __VA_ARGS__))
XT_API xt_callback *xt_model_checkpoint_opt(const xt_src *src, xt_model_checkpoint_opts o);
#define XT_DEFAULTS_xt_early_stopping_opts(is)                                                             \
    is(patience, 3) is(stop_at, XT_AUTO) is(diverge_at, XT_AUTO) is(check_finite, XT_ON) is(strict, XT_ON) \
        is(on_train_epoch_end, XT_DEFAULT)
XT_DEFAULTS_OF(xt_early_stopping_opts)
typedef struct XT_OPTIONS_ xt_early_stopping_opts {
    size_t struct_size XT_SIZE(xt_early_stopping_opts);
    const char *monitor XT_ZERO; /* needed */
    xt_reduce mode XT_ZERO; /* XT_MIN (default) or XT_MAX */
    /* checks without improvement; 0: the first such check ends the fit */
    int patience XT_IS(xt_early_stopping_opts, patience);
    double min_delta XT_ZERO; /* better by more than this counts */
    /* stop as soon as the value is better than this; XT_AUTO: never */
    double stop_at XT_IS(xt_early_stopping_opts, stop_at);
    /* stop as soon as the value is worse than this; XT_AUTO: never */
    double diverge_at XT_IS(xt_early_stopping_opts, diverge_at);
    /* default on: stop when the value is NaN or infinite; off: such a value is no improvement, and no more */
    xt_switch check_finite XT_IS(xt_early_stopping_opts, check_finite);
    /* default on: a value that nobody logged is an error; off: it is waited for */
    xt_switch strict XT_IS(xt_early_stopping_opts, strict);
    /* default: after each validation, or each epoch when there is none; on: after each epoch in any case */
    xt_switch on_train_epoch_end XT_IS(xt_early_stopping_opts, on_train_epoch_end);
} xt_early_stopping_opts;
/* ends the fit when a value has stopped getting better; all ranks at the same step */
#define xt_early_stopping(...) xt_early_stopping_opt(XT_HERE, XT_OPTS(xt_early_stopping_opts, __VA_ARGS__))
XT_API xt_callback *xt_early_stopping_opt(const xt_src *src, xt_early_stopping_opts o);
#define XT_DEFAULTS_xt_throughput_opts(is) is(window, 100) is(peak_flops, XT_AUTO)
XT_DEFAULTS_OF(xt_throughput_opts)
typedef struct XT_OPTIONS_ xt_throughput_opts {
    size_t struct_size XT_SIZE(xt_throughput_opts);
    int window XT_IS(xt_throughput_opts, window); /* optimizer steps */
    double peak_flops XT_IS(
        xt_throughput_opts,
        peak_flops); /* of one device, for MFU; XT_AUTO: from a table, or measured with a matrix product; printed */
    int64_t items_per_sample XT_ZERO; /* tokens of a sequence: items/s; 0 = not logged */
    /* instead: how many items the batch has, of the samples that b->size counts, where batches differ (the lengths that
     * the host knows, b->longest times b->size, ...); NULL = items_per_sample. Called with each batch of training */
    int64_t (*items)(const xt_batch *b, void *user) XT_ZERO;
    void *user XT_ZERO; /* passed to items */
} xt_throughput_opts;
/* batch times, samples, items, FLOPs a second, MFU with every row; never waits */
#define xt_throughput_monitor(...) xt_throughput_monitor_opt(XT_HERE, XT_OPTS(xt_throughput_opts, __VA_ARGS__))
XT_API xt_callback *xt_throughput_monitor_opt(const xt_src *src, xt_throughput_opts o);
/* The learning rates with each row: lr-SGD; of groups lr-AdamW/pg1, /pg2; a second optimizer of the same kind is
 * lr-SGD-1. An error of the fit when the trainer has no logger. */
XT_API xt_callback *xt_lr_monitor(void);

/* --- More callbacks: train_callbacks.h --- */
#ifdef __cplusplus
}
#endif

#include <xtrain/train_callbacks.h>

#endif
