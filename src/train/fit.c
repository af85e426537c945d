/* A fit: what is checked before the loop (fit_loop.c), begun, and ended whatever became of it. */
#include "data/data.h"
#include "metrics/running.h"
#include "nn/nn.h"
#include "train/train_int.h"

static xt_status check_periods(const xt_trainer *t, int64_t batches) {
    if (batches < 1) return status_new(XT_INVALID_ARGUMENT, NULL, "the training loader has no batches");
    if (t->o.val_every_n_batches > batches)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "val_every_n_batches = %lld, but an epoch has %lld batches; use val_every_n_epochs, or "
                          "val_every = %lldbatches, which counts over epochs",
                          (long long)t->o.val_every_n_batches, (long long)batches, (long long)t->o.val_every_n_batches);
    if (t->task->manual_optimization && (t->o.accumulate_grad_batches > 1 || t->o.gradient_clip_val > 0))
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "the task optimizes by itself (.manual_optimization): %s is its own business, not the trainer's",
            t->o.accumulate_grad_batches > 1 ? "accumulate_grad_batches" : "gradient_clip_val");
    if (t->o.accumulate_grad_batches > batches)
        log_msg(XT_SEV_WARNING,
                "accumulate_grad_batches = %lld, but an epoch has %lld batches: each epoch is one short window",
                (long long)t->o.accumulate_grad_batches, (long long)batches);
    return NULL;
}

/* How many batches an epoch and a validation of this fit have. A smoke run and an overfitting one override the
 * other limits. */
static xt_status fit_limits(xt_trainer *t) {
    double train = t->o.limit_train_batches, val = t->o.limit_val_batches;
    if (xt_loader_batches(t->train) < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the training loader reads a stream, whose length nobody knows; give the loader .limit, the "
                          "batches of an epoch");
    if (t->o.overfit_batches) {
        train = val = t->o.overfit_batches;
        loader_set_sequential(t->train);
        if (world_get()->rank == 0) log_msg(XT_SEV_INFO, "overfit_batches: the training loader is not shuffled");
    }
    if (t->o.fast_dev_run) train = val = (double)t->o.fast_dev_run;
    if (val == 0) t->val = NULL; /* callbacks then go by epochs, as without a validation loader */
    XT_TRY(limit_batches("limit_train_batches", train, xt_loader_batches(t->train), &t->train_limit));
    if (t->val) XT_TRY(limit_batches("limit_val_batches", val, xt_loader_batches(t->val), &t->val_limit));
    for (size_t i = 0; t->val && i < t->n_vals; i++)
        XT_TRY(limit_batches("limit_val_batches", val, xt_loader_batches(t->vals[i]), &t->val_limits[i]));
    return train == 0 ? NULL : check_periods(t, t->train_limit);
}

/* A few validation batches before anything is trained: a mistake in validation_step shows now, not after the
 * first epoch. */
static bool sanity(xt_trainer *t, const xt_src *src) {
    if (!t->val || !t->o.num_sanity_val_steps || t->global_step > 0 || t->o.fast_dev_run) return true;
    log_set_sanity(true);
    hooks_begin(t, PASS_SANITY);
    bool ok = train_evaluate_all(t, src, PASS_SANITY, t->o.num_sanity_val_steps);
    hooks_end(t, PASS_SANITY);
    log_set_sanity(false);
    return ok;
}

/* Without a checkpoint callback the end of a run is kept all the same. */
static void save_last(xt_trainer *t, bool ok) {
    if (!ok || lazy_pending() || t->o.checkpointing == XT_OFF || !train_moved(t)) return;
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (callback_is(t->callbacks[i], &model_checkpoint_desc)) return;
    char *path = t->run_dir ? path_join(t->run_dir, "checkpoints/last.ckpt") : NULL;
    xt_status s = checkpoint_of_ranks(t, path);
    if (!s && t->run_dir && !path) s = status_oom(64, "last.ckpt");
    if (s)
        lazy_fail(s);
    else if (path)
        train_note_last(t, path);
    base_free(path);
}

/* Callbacks learn of an error before anything else is done, while the state is that of the last whole step: the step
 * that failed is dropped, so that no boundary of theirs runs what was recorded of it. */
static void tell_exception(xt_trainer *t) {
    xt_status error = lazy_pending() ? status_clone(lazy_pending()) : NULL;
    if (!error) return;
    lazy_aside failure;
    lazy_boundary(LAZY_STEP_END, src_get(t->src));
    log_forget_failed_step(LOG_TRAIN);
    lazy_set_aside(&failure);
    TRAIN_CALL_AT_END(t, exception, t, error);
    if (t->task->on_exception) TRAIN_AT_END(t->task->on_exception(t->net, error, t->task->user));
    lazy_forget_error(); /* of a hook, told by now */
    log_drain(); /* while what these asked for can be computed */
    lazy_forget_error();
    lazy_put_back(&failure);
    xt_status_free(error);
}

/* A fit that was refused, or had nothing left to do, leaves no folder of its own. */
static void forget_empty_run(xt_trainer *t) {
    bool fresh = t->run_dir_fresh;
    t->run_dir_fresh = false;
    if (!fresh || t->at.micro_batches || !t->run_dir) return;
    train_forget_run(t, "nothing was trained");
}

static void forget_loaders(xt_trainer *t) {
    t->train = t->val = NULL;
    t->n_vals = 0;
}

static void end_fit(xt_trainer *t, bool ok) {
    int64_t from = clock_ns();
    ok = lazy_drain() && ok;
    t->at.train_ns += clock_ns() - from;
    log_drain();
    tell_exception(t);
    result_end(t);
    train_draws_at(t, DRAWS_TRAIN_END);
    if (ok && t->task->on_train_end) TRAIN_AT_END(t->task->on_train_end(t->net, t->task->user));
    if (ok && t->task->on_fit_end) TRAIN_AT_END(t->task->on_fit_end(t->net, t->task->user));
    bool good = ok && !lazy_pending();
    TRAIN_CALL_AT_END(t, fit_end, t, good);
    if (good && !t->stop_signal && t->at.micro_batches) log_last_send(t->global_step);
    log_artifacts_send();
    log_drain();
    log_unread_tell(t->every.steps);
    save_last(t, ok);
    xt_status unsaved = checkpoint_wait(t);
    if (unsaved) lazy_fail(unsaved);
    /* once more: who wrote there may still have been dying when this fit began */
    train_sweep_behind(t);
    model_checkpoint_sweep(t);
    log_forget_step(LOG_TRAIN); /* a run that resumes has it from the checkpoint */
    if (ok) stopping_meet();
    forget_empty_run(t);
    if (ok && t->resumed_from && !t->quiet && world_get()->rank == 0 && t->epoch > t->begun_epoch)
        nn_resumed_left(t->net->root);
    if (t->history && t->run_dir && world_get()->rank == 0) {
        char *path = path_join(t->run_dir, "loss.png");
        xt_status s = path ? history_draw(t->history, path) : NULL;
        if (s) log_msg(XT_SEV_WARNING, "the loss curve was not drawn: %s", status_message(s));
        xt_status_free(s);
        base_free(path);
    }
    xt_loader_set_epoch(t->train, t->position.epoch, 0); /* ends the workers */
    train_rewind_validation(t);
    forget_loaders(t);
    log_set_manual(false);
    log_set_mute(false);
    nn_sync_batch_norms(false);
    lazy_check_nan(false);
    running_forget_waiting();
    log_set_stage(LOG_TRAIN);
}

/* Without "file.c:12: " in front. */
static const char *without_place(const char *text) {
    const char *colon = strchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return digits && colon[1 + digits] == ':' && colon[2 + digits] == ' ' ? colon + 3 + digits : text;
}

static void tell(xt_code code, const char *text) {
    xt_status s = status_new(code, NULL, "%s", text);
    lazy_tell(s);
    xt_status_free(s);
}

/* The pending error often is the same one with another line in front. One that was there before the trainer began
 * has been told. */
int train_report(xt_status extra) {
    xt_status e = lazy_pending();
    bool told = lazy_error_told();
    const char *first = extra ? status_message(extra) : "", *second = e ? status_message(e) : "";
    if (e && extra && strstr(second, without_place(first)))
        first = "";
    else if (e && extra && strstr(first, without_place(second)))
        *(told ? &first : &second) = "";
    if (told) second = "";
    if (*first) tell(status_code(extra), first);
    if (*second) tell(status_code(e), second);
    bool failed = e || extra;
    xt_status_free(extra);
    lazy_forget_error();
    return failed ? 1 : 0;
}

static xt_status check_task(xt_trainer *t, const xt_task *task) {
    const char *missing = !task                         ? "the task is NULL"
                          : !task->net && !task->module ? "the task has no .net and no .module"
                          : !task->training_step        ? "the task has no .training_step"
                                                        : NULL;
    if (!missing && !task->configure_optimizers && !task->configure_several && !by_name_optimizer(t))
        missing = "the task has no .configure_optimizers (or --optimizer NAME)";
    return missing ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_fit: %s", missing) : NULL;
}

/* The run's newest checkpoint will be this fit's own, which then lists no best: known before the training,
 * not after it. */
static xt_status check_best(const xt_trainer *t) {
    if (!t->o.ckpt || strcmp(t->o.ckpt, "best") != 0) return NULL;
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (callback_is(t->callbacks[i], &model_checkpoint_desc)) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "xt_fit: ckpt = best, but the trainer has no xt_model_checkpoint, so this fit will keep no best; "
                      "add one, or give ckpt = last or a path");
}

/* One of the two that a validation takes is there without the other. */
static void tell_no_validation(const xt_trainer *t, const xt_loader *val) {
    if (world_get()->rank != 0 || t->quiet || !val == !t->task->validation_step) return;
    log_msg(XT_SEV_WARNING,
            val ? "xt_fit: there is a validation loader, but the task has no .validation_step: this fit "
                  "does not validate"
                : "xt_fit: the task has a .validation_step, but there is no validation loader (the "
                  "argument behind the training loader): this fit does not validate");
}

/* The fit trains in the mode that the network has, which may be meant: fine-tuning with frozen statistics. */
static void tell_evaluating(const xt_trainer *t) {
    char at[256];
    if (world_get()->rank != 0 || t->quiet || !t->net || xt_is_training(t->net)) return;
    src_id said = t->net->mode_said;
    log_msg(XT_SEV_WARNING,
            "xt_fit: the network is in evaluation mode%s%s%s and is trained in it: dropout is off, and batch norms use "
            "their running statistics and keep them; xt_train(net) before the fit sets training mode",
            said ? " (since " : "", said ? src_text(said, at, sizeof at) : "", said ? ")" : "");
}

/* A sequential loader's parts are validation loaders of their own, wherever it was given. */
static size_t take_parts(xt_trainer *t, xt_loader *l, size_t n) {
    xt_loader *const *parts = &l;
    int in = loader_parts(l, &parts);
    for (int i = 0; i < (in ? in : 1); i++, n++) {
        if (n == 0) t->val = parts[i];
        if (n > 0 && n <= BASE_COUNT(t->vals)) t->vals[n - 1] = parts[i];
    }
    return n;
}

static xt_status take_val(xt_trainer *t, xt_loader *val) {
    size_t n = val ? take_parts(t, val, 0) : 0;
    for (size_t i = 0; i < t->n_added; i++) {
        XT_TRY(train_use(HANDLE_loader, t->added[i], "xt_trainer_add_val_loader"));
        if (val) n = take_parts(t, t->added[i], n);
    }
    if (n > 1 + BASE_COUNT(t->vals))
        return status_new(XT_OUT_OF_RANGE, NULL,
                          "xt_fit: %zu validation loaders, those of combined ones (XT_SEQUENTIAL) and of "
                          "xt_trainer_add_val_loader counted one by one: %zu in all at most",
                          n, 1 + BASE_COUNT(t->vals));
    t->n_vals = n ? n - 1 : 0;
    return NULL;
}

xt_status train_fit(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *train, xt_loader *val) {
    loader_pass outer = loader_mark(train);
    train_take_task(t, task);
    t->train = train;
    xt_status s = take_val(t, task->validation_step ? val : NULL);
    tell_no_validation(t, val);
    s = train_agree(t, s ? s : fit_limits(t));
    if (s) {
        forget_loaders(t);
        return s;
    }
    log_loop_ends();
    t->fitting = true;
    train_outer outer_fit = train_enter(t, task);
    t->in_step = false;
    t->loss_begins = true;
    nn_mark_free(t->at_start);
    t->at_start = NULL;
    t->validated = t->validation_next = false;
    t->validated_step = t->valued_step = -1;
    t->position.batches -= t->in_window.batches; /* of a window that was cut short, and begins anew */
    t->position.samples -= t->in_window.samples;
    t->in_window = (train_position){0};
    for (int stage = 0; stage < LOG_STAGE_COUNT; stage++) log_names_anew((log_stage)stage);
    stopping_begin(t);
    log_set_manual(true);
    log_set_mute(t->o.barebones == XT_ON);
    nn_sync_batch_norms(t->o.sync_batchnorm == XT_ON);
    lazy_check_nan(t->o.detect_anomaly == XT_ON);
    result_begin(t);
    log_tell_anew();
    log_unread_forget();
    log_set_place(LOG_CLOSED, LOG_TRAIN);
    s = train_begin(t, src);
    if (!t->quiet) lazy_tell_at_once(true); /* from here on it may be long until the end */
    log_set_place(LOG_NOWHERE, LOG_TRAIN);
    log_at_step(t->global_step);
    t->epoch_batches = t->position.batch;
    train_stand(t);
    for (size_t i = 0; i < t->n_callbacks && !s; i++)
        if (t->callbacks[i]->d.fit_start && !callback_rests(t, t->callbacks[i])) {
            TRAIN_HOOK(s =, t, t->callbacks[i], d.fit_start, t);
            s = lazy_returned(s, "a callback's fit_start");
        }
    if (!s && task->on_fit_start) TRAIN_APART(task->on_fit_start(t->net, task->user));
    log_artifacts_send();
    t->validated_ns = clock_ns();
    bool ok = !s && sanity(t, src);
    log_set_place(LOG_BETWEEN, LOG_TRAIN);
    train_draws_at(t, DRAWS_TRAIN_START);
    if (ok && task->on_train_start) TRAIN_APART(task->on_train_start(t->net, task->user));
    if (ok) log_between_send(t->global_step);
    if (ok && (s = checkpoint_modes_say(t))) ok = false;
    if (ok) tell_evaluating(t);
    ok = ok && fit_epochs(t, src);
    log_set_place(LOG_NOWHERE, LOG_TRAIN);
    stopping_trained(t);
    if (ok) schedules_end(t);
    end_fit(t, ok);
    loader_return(&outer);
    lazy_position_of_thread()->step = 0;
    hooks_teardown(t, "fit");
    log_artifacts_send();
    log_drain();
    log_set_place(LOG_IN_STEP, LOG_TRAIN);
    stopping_end(t);
    if (!t->quiet) lazy_tell_at_once(false);
    t->fitting = false;
    train_leave(t, &outer_fit);
    return s;
}

static int fit(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *train, xt_loader *val) {
    if (t && t->help) return 0;
    xt_status s = t ? check_task(t, task) : status_new(XT_INVALID_ARGUMENT, src, "xt_fit: the trainer is NULL");
    if (!s) s = train_may_begin(t, "xt_fit");
    if (!s) s = train_settle(t);
    if (!s) s = by_name_callbacks(t);
    if (!s && lazy_pending()) return train_report(NULL); /* what made the loaders or callbacks fail */
    if (!s && t->prints_config) { /* by now the program has asked for its settings */
        char *text = config_text(t);
        if (text) fputs(text, stdout); /* asked for, and meant for a file */
        base_free(text);
        return 0;
    }
    if (!s && !train) s = status_new(XT_INVALID_ARGUMENT, src, "xt_fit: the training loader is NULL");
    if (!s) s = check_best(t);
    if (!s && t->no_end)
        log_msg(
            XT_SEV_WARNING,
            "neither max_epochs nor max_steps is set: training for 1000 epochs (max_epochs = -1 trains without end)");
    if (!s) s = train_fit(src, t, task, train, val);
    lazy_at_rest();
    if (s || lazy_pending()) return train_report(status_at(s, src));
    int ruined = result_summary(t, src);
    return ruined ? ruined : stopping_result(t, t->saved_last);
}

int xt_fit_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size, xt_loader *train,
              xt_loader *val) {
    lazy_hold hold = {0};
    xt_task sized;
    lazy_hold_errors(&hold);
    if (!hold.outer) lazy_steps_for_caller(false), train_left_by_jump(); /* of a fit that was left by longjmp */
    int out = fit(src, t, train_sized(src, task, task_size, &sized), train, val);
    lazy_release_errors(&hold);
    lazy_call_ended(LAZY_CALL_FIT, src, out == 1);
    return out;
}
