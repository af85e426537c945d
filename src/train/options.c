/* The trainer's options: one table of rows feeds C, --flags, XT_TRAINER_*, configuration files, checkpoints and
 * --help. */
#include "train/train_int.h"

#define ROW(field, kind, min, max, help) \
    { #field, help, kind, offsetof(xt_trainer_opts, field), min, max, NULL }
const option_row train_option_rows[] = {
    ROW(max_epochs, OPTION_I64, -1, 1e15, "epochs; -1 = no limit; unset and no max_steps = 1000"),
    ROW(max_steps, OPTION_I64, -1, 1e15, "optimizer steps; -1 = no limit"),
    ROW(accumulate_grad_batches, OPTION_I64, 1, 1e9, "micro-batches of one optimizer step"),
    ROW(log_every_n_steps, OPTION_I64, 1, 1e15, "a row of logs every so many optimizer steps"),
    ROW(log_every_n_batches, OPTION_I64, 0, 1e15, "the same in micro-batches: a multiple of accumulate_grad_batches"),
    ROW(limit_train_batches, OPTION_DOUBLE, 0, 1e15,
        "batches of a training epoch; below 1: that share of it; -1 = all"),
    ROW(limit_val_batches, OPTION_DOUBLE, 0, 1e15, "the same of a validation; 0 = none"),
    ROW(limit_test_batches, OPTION_DOUBLE, 0, 1e15, "the same of a test"),
    ROW(limit_predict_batches, OPTION_DOUBLE, 0, 1e15, "the same of a prediction"),
    ROW(val_every_n_epochs, OPTION_I64, 1, 1e15, "validate after every so many epochs"),
    ROW(val_every_n_batches, OPTION_I64, 0, 1e15,
        "validate within the epoch, every so many micro-batches; 0 = at its end"),
    ROW(val_every, OPTION_STRING, 0, 0, "2epochs, 0.25epochs, 100steps, 200batches or 10min between validations"),
    ROW(min_epochs, OPTION_I64, 0, 1e15, "epochs that are trained even when something asks to stop"),
    ROW(min_steps, OPTION_I64, 0, 1e15, "the same in optimizer steps"),
    ROW(max_time, OPTION_STRING, 0, 0, "45s, 90min, 2h, 1d or DD:HH:MM:SS of training, resumed runs counted together"),
    ROW(fast_dev_run, OPTION_I64, 0, 1e15, "smoke run of so many batches, nothing written; 0 = off"),
    ROW(overfit_batches, OPTION_DOUBLE, 0, 1e15, "train and validate on the first batches only, unshuffled; 0 = off"),
    ROW(num_sanity_val_steps, OPTION_I64, -1, 1e15,
        "validation batches before training, to find mistakes early; -1 = all"),
    ROW(signals, OPTION_STRING, 0, 0, "signals that save and stop: TERM and INT (default), HUP, USR1, USR2"),
    ROW(gradient_clip_val, OPTION_DOUBLE, 0, 1e30, "largest norm of all gradients together; 0 = off"),
    ROW(gradient_clip_algorithm, OPTION_STRING, 0, 0, "norm (default) or value: of each element"),
    ROW(precision, OPTION_STRING, 0, 0, "fp32 (default), bf16-mixed, 16-mixed, bf16-true, 16-true or 64-true"),
    ROW(strategy, OPTION_STRING, 0, 0,
        "what several ranks hold: ddp (default: everything), zero2 (optimizer state and gradients divided), fsdp "
        "(parameters too)"),
    ROW(check_replicas_every_n_steps, OPTION_I64, 0, 1e15,
        "ddp: optimizer steps between comparisons of the ranks' parameters; 0 = never"),
    ROW(run_name, OPTION_STRING, 0, 0, "folder of this run under runs_dir (default \"default\")"),
    ROW(runs_dir, OPTION_STRING, 0, 0, "folder for logs and checkpoints (default XT_RUNS_DIR or runs)"),
    ROW(progress_bar, OPTION_SWITCH, 0, 0, "default: a bar on a terminal, plain lines elsewhere"),
    ROW(logger, OPTION_SWITCH, 0, 0, "write rows to files (default on)"),
    ROW(loggers, OPTION_STRING, 0, 0, "comma list of csv, tensorboard, jsonl (default csv,tensorboard)"),
    ROW(checkpointing, OPTION_SWITCH, 0, 0, "last.ckpt at the end (default on)"),
    ROW(model_summary, OPTION_SWITCH, 0, 0, "table of layers at the start (default on)"),
    ROW(offload_optimizer, OPTION_SWITCH, 0, 0,
        "optimizer state in host memory, on the device a group at a time (default off)"),
    ROW(reinitialize_every_n_steps, OPTION_I64, 0, 1e15,
        "save a checkpoint and give back everything on the device every so many optimizer steps; 0 = never"),
    ROW(sync_batchnorm, OPTION_SWITCH, 0, 0, "batch norms take the statistics of all ranks (default off)"),
    ROW(detect_anomaly, OPTION_SWITCH, 0, 0, "the first NaN of a step is an error with its line; slow (default off)"),
    ROW(barebones, OPTION_SWITCH, 0, 0,
        "nothing but the loop, to measure it: no logs, checkpoints, bar, summary (default off)"),
    ROW(resume, OPTION_STRING, 0, 0, "checkpoint to continue from; \"last\" = newest of the run, \"best\" = its best"),
    ROW(ckpt, OPTION_STRING, 0, 0, "weights to validate, test and predict with: best, last or a path"),
    ROW(seed, OPTION_I64, 0, 9e15, "seed of the run; -1 = leave it"),
};
const size_t train_option_count = BASE_COUNT(train_option_rows);
#undef ROW

/* A period given on the command line replaces the program's own, whatever unit that was in; two on the command line
 * stay a contradiction. */
static void period_from_arguments(xt_trainer *t, const char *key) {
    bool steps = strncmp(key, "log", 3) == 0 && strstr(key, "steps"),
         batches = strncmp(key, "log", 3) == 0 && strstr(key, "batches");
    if (steps) t->steps_argument = true;
    if (batches) t->batches_argument = true;
    if (batches && !t->steps_argument) t->given.log_every_n_steps = TRAIN_DEFAULTS->log_every_n_steps;
    if (steps && !t->batches_argument) t->given.log_every_n_batches = 0;
}

xt_status train_set_option(xt_trainer *t, const char *name, const char *value) {
    XT_TRY(train_explain_name(
        options_set(train_option_rows, train_option_count, &t->given, TRAIN_DEFAULTS, name, value), name));
    period_from_arguments(t, name);
    return train_words_check(&t->given);
}
