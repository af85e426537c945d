/* The fit loop. Boundaries come from xt_next alone (and one explicit one where an epoch is cut short or a validation interrupts it), so a micro-batch's
 * program is the same whatever is logged. With accumulation there are up to three: a window's first micro-batch (fresh gradients), a middle one, and
 * its last, which also steps the optimizer. The loss is divided by the window's own size, which is data, so a short last window needs no program. */
#include <math.h>

#include "data/data.h"
#include "diag/diag.h"
#include "lazy/mesh.h"
#include "metrics/running.h"
#include "nn/nn.h"
#include "train/train_int.h"

typedef struct loop {
    xt_trainer *t;
    const xt_src *src;
    int64_t batches; /* of an epoch */
    bool recorded, stepped; /* since the last settle: a micro-batch; the end of a window */
    bool settled; /* the last settle had a micro-batch */
    int64_t samples; /* of it */
    int64_t row_mark; /* micro-batches at the last row, in periods */
    bool settings_checked;
    bool validates; /* the micro-batch being settled has a validation after it */
    bool asks;      /* that was within a window: whether to stop is asked at its end */
    bool leaves;    /* on_train_batch_start said so: the epoch ends with the window */
    bool loader_ready; /* the loader stands at the begin of the next epoch, its workers reading ahead */
} loop;

static bool steps_left(const xt_trainer *t) {
    return t->o.max_steps == 0 || t->global_step < t->o.max_steps;
}
static bool epochs_left(const xt_trainer *t) {
    return t->o.max_epochs <= 0 || t->epoch < t->o.max_epochs;
}

/* --- one micro-batch ------------------------------------------------------------------------------------------------------------------------ */
/* First and last loss of the fit, kept on the device: read once, at the end. The first element changes when 0 < begins, the second when -1 < begins. */
static void note_loss(xt_trainer *t, const xt_src *src, xt_tensor loss) {
    static const float below[2] = {0, -1};
    const int64_t two = 2;
    const ir_type *given = lazy_type(loss);
    if (!given || given->count != 1) return;
    if (!t->loss_state.slot) t->loss_state = lazy_state_new(src, LAZY_LOG, "first and last loss", XT_F32, 1, &two, NULL);
    xt_no_grad_begin();
    ir_value *begins = lazy_value(lazy_scalar(src, XT_F32, t->loss_begins)), *state = lazy_value(t->loss_state), *now = lazy_value(loss);
    ir_builder *b = lazy_begin(src);
    if (begins && state && now) {
        now = ir_convert(b, now, XT_F32);
        if (given->rank) now = ir_reshape(b, now, 0, NULL);
        ir_value *changes = ir_compare(b, IR_LT, ir_constant(b, state->type, below), ir_broadcast_scalar(b, begins, state->type));
        xt_tensor both = lazy_wrap(ir_select(b, changes, ir_broadcast_scalar(b, now, state->type), state), "xt_fit");
        if (lazy_type(both)) lazy_assign(t->loss_state, both);
    }
    xt_no_grad_end_at(NULL);
    t->loss_begins = false;
}

/* Every run has its loss in the rows and on the bar, unless the task logs one of that name itself. */
static void log_loss(xt_trainer *t, const xt_src *src, xt_tensor loss) {
    if (!t->own_loss && log_knows(LOG_TRAIN, "loss")) return;
    t->own_loss = true;
    xt_log_at(src, "loss", loss, (xt_log_opts){.struct_size = sizeof(xt_log_opts), .on_step = XT_ON, .on_epoch = XT_OFF, .prog_bar = XT_ON});
}

/* The window's share of the loss goes back; the last micro-batch also steps. */
static void backward_and_step(loop *l, xt_tensor loss, const window *w) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    const ir_type *type = lazy_type(loss);
    if (t->divides && type) loss = xt_mul_at(l->src, loss, lazy_scalar(l->src, type->dtype, 1.0 / (double)w->size));
    TRAIN_CALL(t, before_backward, t, loss);
    if (task->on_before_backward) task->on_before_backward(t->net, loss, task->user);
    xt_backward_at(l->src, train_scaled(t, l->src, loss));
    TRAIN_CALL(t, after_backward, t);
    if (task->on_after_backward) task->on_after_backward(t->net, task->user);
    if (!w->ends || xt_error()) return;
    TRAIN_CALL(t, before_optimizer_step, t);
    if (task->on_before_optimizer_step) task->on_before_optimizer_step(t->net, task->user);
    train_optimizer_steps(t, l->src);
}

/* By now the network, the step and the optimizers have asked for all they know, and nothing has been trained yet. */
static void check_settings(loop *l) {
    if (l->settings_checked || xt_error()) return;
    l->settings_checked = true;
    xt_status s = l->t->problem ? status_clone(l->t->problem) : config_check(l->t); /* a setting asked for after the start may be no number */
    if (s) lazy_fail(status_at(s, l->src));
}

/* Told before the loss is logged and swept, which would name the line of xt_fit: the one to look at is where the tensor was made. */
static void check_loss(const xt_src *src, xt_tensor loss) {
    const ir_type *type = loss.slot ? lazy_type(loss) : NULL;
    if (!type || type->count == 1 || xt_error()) return;
    str shape = STR_INIT;
    for (size_t i = 0; i < type->rank; i++) str_printf(&shape, "%s%lld", i ? ", " : "", (long long)type->dims[i]);
    src_id made = lazy_src(loss);
    lazy_fail(status_new(XT_INVALID_ARGUMENT, made ? src_get(made) : src,
                         "training_step returned a loss of shape [%s], made here; expected a scalar, one number to minimise: take xt_mean (or xt_sum) of it, or leave out .reduction = XT_NONE",
                         str_cstr(&shape)));
    str_free(&shape);
}

/* What comes before the step: the batch as the step gets it, and the hooks that see it. False: this batch is left out, with the rest of the epoch. A window
 * whose gradients have begun is trained to its end first, since nothing else would take them. */
static bool enter_batch(loop *l, xt_batch *b, const window *w) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    if (w->begins && l->leaves) return false;
    hooks_batch(t, l->src, b);
    TRAIN_CALL(t, batch_start, t, b);
    if (task->on_train_batch_start && task->on_train_batch_start(t->net, b, task->user)) l->leaves = true;
    return !(w->begins && l->leaves);
}

/* False: the batch was left out. */
static bool record(loop *l, const xt_batch *fetched, const window *w) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    int64_t steps_before = counter_get(COUNTER_optimizer_steps);
    if (w->begins) log_window_begin();
    log_row_next(w->ends && (t->global_step + 1) % t->every.steps == 0, t->global_step + 1);
    /* Random draws depend on the micro-batch, not on how many boundaries there were: resuming repeats them. */
    lazy_set_draw_step(t->position.batches);
    train_precision_begin(t);
    xt_batch b = *fetched;
    if (!enter_batch(l, &b, w)) {
        train_precision_end(t);
        return false;
    }
    bool outer = lazy_steps_for_caller(!task->manual_optimization);
    xt_tensor loss = task->training_step(t->net, b, task->user);
    lazy_steps_for_caller(outer);
    check_settings(l);
    check_loss(l->src, loss);
    if (loss.slot == 0 && !task->manual_optimization && !xt_error())
        lazy_fail(status_new(XT_INVALID_ARGUMENT, l->src, "training_step gave no loss ({0}); it must return the tensor to minimise (or the task says .manual_optimization = true)"));
    if (!xt_error() && loss.slot) {
        log_loss(t, l->src, loss);
        note_loss(t, l->src, loss);
    }
    if (!xt_error() && !task->manual_optimization) backward_and_step(l, loss, w);
    train_precision_end(t);
    t->step_loss = loss;
    t->step_recorded = l->stepped = task->manual_optimization ? counter_get(COUNTER_optimizer_steps) != steps_before : w->ends;
    TRAIN_CALL(t, batch_end, t, &b);
    if (task->on_train_batch_end && !xt_error()) task->on_train_batch_end(t->net, &b, loss, task->user);
    l->recorded = true;
    l->samples = lazy_share_of(fetched->size);
    return true;
}

/* --- after the boundary that ended it --------------------------------------------------------------------------------------------------------- */
static bool row_due(loop *l) {
    const xt_trainer *t = l->t;
    if (t->o.log_every_n_batches == 0) return t->global_step % t->every.steps == 0;
    int64_t mark = t->position.batches / t->o.log_every_n_batches;
    bool due = mark != l->row_mark;
    l->row_mark = mark;
    return due;
}

static void emit_row(loop *l) {
    xt_trainer *t = l->t;
    lazy_position *at = lazy_position_of_thread(), next = *at; /* xt_next has moved on; the row is about the batch before */
    *at = (lazy_position){next.batch_size, t->epoch_batches - 1, t->epoch, t->position.samples};
    log_emit(LOG_TRAIN, false, t->global_step);
    TRAIN_CALL(t, row, t);
    *at = next;
    t->row_seen = true;
}

/* Whether the epoch is one whose end has a validation. */
static bool ends_with_validation(const xt_trainer *t) {
    return t->val && t->val_interval.unit == INTERVAL_EPOCHS && t->o.val_every_n_batches == 0 && (t->epoch + 1) % t->val_interval.n == 0;
}

static void settle(loop *l, bool ok) {
    xt_trainer *t = l->t;
    l->settled = l->recorded;
    if (!l->recorded) return;
    l->recorded = false;
    if (!ok || xt_error()) return;
    t->epoch_batches++;
    t->at.micro_batches++;
    t->at.samples += l->samples;
    t->position.samples += l->samples;
    t->position.batches++;
    t->in_window.samples += l->samples;
    t->in_window.batches++;
    if (!l->stepped) return;
    t->global_step++;
    t->position.epoch = t->epoch;
    t->position.batch = t->epoch_batches;
    t->in_window = (train_position){0};
    t->validation_next = l->validates || ((t->epoch_batches >= l->batches || !steps_left(t)) && ends_with_validation(t));
    if (row_due(l)) emit_row(l);
    schedules_step(t); /* after the row, which shows the step's own rate; before a checkpoint of the step */
    TRAIN_CALL(t, step_end, t);
}

/* --- an epoch -------------------------------------------------------------------------------------------------------------------------------------- */
/* Every so many whole micro-batches, as Lightning has it; but where rounding would make more shares than an epoch has (0.25 of 10), they end at the micro-batch
 * that fills them. */
static bool share_ends(double share, int64_t done, int64_t batches) {
    int64_t whole = (int64_t)(share * (double)batches);
    double most = floor(1 / share + 0.1), part = fmin(share, 1 / most) * (double)batches;
    if (whole > 0 && (double)(batches / whole) <= most) return done % whole == 0;
    return floor((double)done / part + 1e-9) > floor((double)(done - 1) / part + 1e-9);
}

/* Whether a validation comes after the micro-batch just recorded, number `done` of the epoch. */
static bool validation_due(loop *l, int64_t done) {
    const xt_trainer *t = l->t;
    const train_interval *every = &t->val_interval;
    if (!t->val) return false;
    if (t->o.val_every_n_batches) return done % t->o.val_every_n_batches == 0;
    switch (every->unit) {
    case INTERVAL_EPOCHS: return false; /* finish_epoch's */
    case INTERVAL_BATCHES: return (t->position.batches + 1) % every->n == 0;
    case INTERVAL_STEPS: return l->stepped && (t->global_step + 1) % every->n == 0;
    case INTERVAL_SHARE: return share_ends(every->share, done, l->batches);
    case INTERVAL_TIME: return l->stepped && train_ranks_agree(clock_ns() - t->validated_ns >= every->n);
    }
    return false;
}

/* A fit stops where an optimizer step has ended: its checkpoint loses no micro-batch. */
static bool between_steps(const loop *l) {
    return l->settled && l->stepped;
}

static bool interrupt(loop *l) {
    l->validates = true;
    settle(l, lazy_boundary(LAZY_STEP_END, l->src));
    l->validates = false;
    log_forget_step(LOG_TRAIN);
    if (xt_error() || !train_validate(l->t, l->src)) return false;
    l->asks = !between_steps(l);
    if (!l->asks) stopping_check(l->t);
    return !xt_error();
}

static bool run_batches(loop *l) {
    xt_trainer *t = l->t;
    int64_t began = clock_ns(), paused = 0;
    bool limited = l->batches < xt_loader_batches(t->train), cut = t->epoch_batches >= l->batches;
    xt_batch b;
    l->loader_ready = l->leaves = false;
    log_set_place(LOG_IN_STEP, LOG_TRAIN);
    while (!cut) {
        bool more = xt_next_at(l->src, t->train, &b);
        settle(l, !xt_error());
        l->loader_ready = !more && !xt_error();
        if (!more) break;
        if (between_steps(l) && (l->asks || stopping_polls(t))) {
            l->asks = false;
            if (stopping_check(t)) break; /* the batch fetched in vain is dropped */
        }
        window w = window_of(b.index, l->batches, t->accumulate);
        b.epoch = t->epoch;
        lazy_position_of_thread()->epoch = t->epoch;
        if (!record(l, &b, &w)) {
            t->whole_epoch = true;
            break;
        }
        if (!xt_error() && validation_due(l, b.index + 1)) {
            int64_t from = clock_ns();
            if (!interrupt(l)) break;
            paused += clock_ns() - from;
            if (t->stopping) break;
        }
        int64_t steps = t->global_step + (l->recorded && l->stepped); /* counting the one that is recorded */
        cut = (limited && b.index + 1 >= l->batches) || (t->o.max_steps && steps >= t->o.max_steps) || xt_error();
    }
    if (l->recorded && !xt_error()) settle(l, lazy_boundary(LAZY_STEP_END, l->src));
    log_forget_step(LOG_TRAIN);
    log_set_place(LOG_BETWEEN, LOG_TRAIN);
    t->whole_epoch = t->whole_epoch || t->epoch_batches >= l->batches;
    t->at.train_ns += clock_ns() - began - paused;
    return !xt_error();
}

static bool finish_epoch(loop *l) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    if (t->stop_signal && !t->whole_epoch) return !xt_error(); /* the rest of the epoch is for the run that resumes */
    /* An epoch shorter than the period, and one that the fit ends in, have their last step's row: a short run shows its loss. */
    if (!t->row_seen && l->stepped && (t->whole_epoch || !steps_left(t) || t->stopping)) emit_row(l);
    lazy_position *at = lazy_position_of_thread(); /* a run that resumes behind the epoch's last batch has met none of it */
    at->epoch = t->epoch;
    at->batch = t->epoch_batches > 0 ? t->epoch_batches - 1 : 0;
    log_emit(LOG_TRAIN, true, t->global_step);
    bool due = ends_with_validation(t) && (t->whole_epoch || !steps_left(t));
    bool by_epochs = t->val_interval.unit == INTERVAL_EPOCHS && t->o.val_every_n_batches == 0;
    bool last = t->val && t->stopping && (!by_epochs || ends_with_validation(t)) && t->validated_step != t->global_step; /* what a fit that was asked to stop has come to */
    if ((due || last) && !t->stop_signal && !train_validate(t, l->src)) return false;
    if (t->whole_epoch) {
        t->position.epoch = t->epoch + 1;
        t->position.batch = 0;
        schedules_epoch(t);
    }
    if (task->on_train_epoch_end) task->on_train_epoch_end(t->net, t->epoch, task->user);
    TRAIN_CALL_OWN(t, true, epoch_end, t);
    log_between_send(t->global_step);
    TRAIN_CALL_OWN(t, false, epoch_end, t);
    return !xt_error();
}

static bool run_epoch(loop *l) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    int64_t began = clock_ns();
    xt_epoch_detail before = result_counters();
    t->epoch_batches = t->position.batch;
    t->whole_epoch = false;
    if (t->position.batch == 0) t->row_seen = false; /* else the epoch goes on */
    t->accumulate = t->o.accumulate_grad_batches;
    if (!l->loader_ready || xt_loader_epoch(t->train) != t->epoch || t->position.batch) xt_loader_set_epoch(t->train, t->epoch, t->position.batch);
    xt_train(t->net);
    log_set_stage(LOG_TRAIN);
    if (t->position.batch == 0) log_epoch_begin(LOG_TRAIN); /* else the epoch's sums go on */
    log_set_place(LOG_BETWEEN, LOG_TRAIN);
    TRAIN_CALL(t, epoch_start, t);
    if (task->on_train_epoch_start) task->on_train_epoch_start(t->net, t->epoch, task->user);
    log_between_send(t->global_step);
    bool ok = run_batches(l) && finish_epoch(l);
    result_epoch(t, began, &before);
    return ok;
}

static void tell_nothing_left(const xt_trainer *t) {
    bool epochs = !epochs_left(t);
    if (world_get()->rank == 0 && t->resumed_from && !t->quiet && (epochs || !steps_left(t)))
        log_msg(XT_SEV_INFO, "%s %lld is reached already: nothing to train; raise --%s", epochs ? "max_epochs" : "max_steps", (long long)(epochs ? t->o.max_epochs : t->o.max_steps), epochs ? "max_epochs" : "max_steps");
}

static bool run_epochs(loop *l) {
    xt_trainer *t = l->t;
    tell_nothing_left(t);
    if (t->max_time_ns && train_ranks_agree(t->max_time_ns == 1 || t->elapsed_before_ns >= t->max_time_ns)) stopping_check(t); /* an earlier fit used the time */
    while (!t->stopping && epochs_left(t) && steps_left(t)) {
        int64_t steps = t->global_step;
        if (!run_epoch(l)) return false;
        if (t->global_step == steps && t->task->manual_optimization && t->epochs_done++ == 0 && world_get()->rank == 0)
            log_msg(XT_SEV_WARNING, "no optimizer stepped in this epoch: with .manual_optimization the training step calls xt_optimizer_step itself");
        else if (t->global_step != steps || !t->task->manual_optimization)
            t->epochs_done++;
        if (t->whole_epoch) {
            t->epoch++;
            t->whole_epoch = false;
            t->position = (train_position){t->epoch, 0, t->position.batches, t->position.samples};
        }
        if (stopping_check(t)) break;
    }
    return !xt_error();
}

/* --- fit ------------------------------------------------------------------------------------------------------------------------------------------- */
static xt_status check_periods(const xt_trainer *t, int64_t batches) {
    if (batches < 1) return status_new(XT_INVALID_ARGUMENT, NULL, "the training loader has no batches");
    if (t->o.val_every_n_batches > batches)
        return status_new(XT_INVALID_ARGUMENT, NULL, "val_every_n_batches = %lld, but an epoch has %lld batches; use val_every_n_epochs, or val_every = %lldbatches, which counts over epochs",
                          (long long)t->o.val_every_n_batches, (long long)batches, (long long)t->o.val_every_n_batches);
    if (t->task->manual_optimization && (t->o.accumulate_grad_batches > 1 || t->o.gradient_clip_val > 0))
        return status_new(XT_INVALID_ARGUMENT, NULL, "the task optimizes by itself (.manual_optimization): %s is its own business, not the trainer's",
                          t->o.accumulate_grad_batches > 1 ? "accumulate_grad_batches" : "gradient_clip_val");
    if (t->o.accumulate_grad_batches > batches)
        log_msg(XT_SEV_WARNING, "accumulate_grad_batches = %lld, but an epoch has %lld batches: each epoch is one short window",
                (long long)t->o.accumulate_grad_batches, (long long)batches);
    return NULL;
}

/* How many batches an epoch and a validation of this fit have. A smoke run and an overfitting one override the other limits. */
static xt_status fit_limits(xt_trainer *t) {
    double train = t->o.limit_train_batches, val = t->o.limit_val_batches;
    if (xt_loader_batches(t->train) < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the training loader reads a stream, whose length nobody knows; give the loader .limit, the batches of an epoch");
    if (t->o.overfit_batches) {
        train = val = t->o.overfit_batches;
        loader_set_sequential(t->train);
        if (world_get()->rank == 0) log_msg(XT_SEV_INFO, "overfit_batches: the training loader is not shuffled");
    }
    if (t->o.fast_dev_run) train = val = (double)t->o.fast_dev_run;
    XT_TRY(limit_batches("limit_train_batches", train, xt_loader_batches(t->train), &t->train_limit));
    if (t->val) XT_TRY(limit_batches("limit_val_batches", val, xt_loader_batches(t->val), &t->val_limit));
    for (size_t i = 0; t->val && i < t->n_vals; i++) XT_TRY(limit_batches("limit_val_batches", val, xt_loader_batches(t->vals[i]), &t->val_limits[i]));
    return check_periods(t, t->train_limit);
}

/* A few validation batches before anything is trained: a mistake in validation_step shows now, not after the first epoch. */
static bool sanity(xt_trainer *t, const xt_src *src) {
    if (!t->val || !t->o.num_sanity_val_steps || t->global_step > 0 || t->o.fast_dev_run) return true;
    hooks_begin(t, PASS_SANITY);
    bool ok = train_evaluate_all(t, src, PASS_SANITY, t->o.num_sanity_val_steps);
    hooks_end(t, PASS_SANITY);
    return ok;
}

/* Without a checkpoint callback the end of a run is kept all the same. */
static void save_last(xt_trainer *t, bool ok) {
    if (!ok || xt_error() || t->o.checkpointing == XT_OFF || t->at.micro_batches == 0) return;
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (callback_is(t->callbacks[i], &model_checkpoint_desc)) return;
    char *path = NULL;
    xt_status s = checkpoint_gather(t);
    if (!s && t->run_dir && world_get()->rank == 0) {
        path = path_join(t->run_dir, "checkpoints/last.ckpt");
        s = path ? checkpoint_save(t, path) : status_oom(64, "last.ckpt");
    }
    checkpoint_release(t);
    if (s)
        lazy_fail(s);
    else if (path)
        train_note_last(t, path);
    base_free(path);
}

/* Callbacks learn of an error before anything else is done, while the state is that of the last whole step. */
static void tell_exception(xt_trainer *t) {
    xt_status error = xt_error() ? status_clone(xt_error()) : NULL;
    if (!error) return;
    xt_clear_error();
    TRAIN_CALL(t, exception, t, error);
    if (t->task->on_exception) t->task->on_exception(t->net, error, t->task->user);
    xt_status later = xt_error();
    if (later) log_msg(XT_SEV_ERROR, "while ending the fit: %s", xt_status_message(later));
    xt_clear_error();
    lazy_fail(error);
}

/* A fit that was refused, or had nothing left to do, leaves no folder of its own. */
static void forget_empty_run(xt_trainer *t) {
    bool fresh = t->run_dir_fresh;
    t->run_dir_fresh = false;
    if (!fresh || t->at.micro_batches || !t->run_dir) return;
    for (size_t i = 0; i < t->n_sinks; i++) log_remove_sink(&t->sinks[i]);
    t->n_sinks = 0;
    history_free(t->history);
    t->history = NULL;
    if (run_dir_unmake(t->run_dir) && !t->quiet) log_msg(XT_SEV_INFO, "nothing was trained: %s is not kept", t->run_dir);
    base_free(t->run_dir);
    t->run_dir = NULL;
}

static void end_fit(xt_trainer *t, bool ok) {
    int64_t from = clock_ns();
    ok = lazy_drain() && ok;
    t->at.train_ns += clock_ns() - from;
    log_drain();
    tell_exception(t);
    result_end(t);
    if (ok && t->task->on_train_end) t->task->on_train_end(t->net, t->task->user);
    if (ok && t->task->on_fit_end) t->task->on_fit_end(t->net, t->task->user);
    TRAIN_CALL(t, fit_end, t, ok && !xt_error());
    log_drain();
    save_last(t, ok);
    xt_status unsaved = checkpoint_wait(t);
    if (unsaved) lazy_fail(unsaved);
    if (t->stop_signal && ok && !xt_error() && world_get()->size > 1) xt_barrier(0); /* none ends before rank 0's checkpoint is written: the launcher would end the rest */
    forget_empty_run(t);
    if (t->history && t->run_dir && world_get()->rank == 0) {
        char *path = path_join(t->run_dir, "loss.png");
        xt_status s = path ? history_draw(t->history, path) : NULL;
        if (s) log_msg(XT_SEV_WARNING, "the loss curve was not drawn: %s", xt_status_message(s));
        xt_status_free(s);
        base_free(path);
    }
    xt_loader_set_epoch(t->train, t->position.epoch, 0); /* ends the workers */
    train_rewind_validation(t);
    t->train = t->val = NULL;
    log_set_manual(false);
    log_set_mute(false);
    nn_sync_batch_norms(false);
    lazy_check_nan(false);
    running_forget_waiting();
    log_set_stage(LOG_TRAIN);
    lazy_set_draw_step(-1);
}

/* Without "file.c:12: " in front. */
static const char *without_place(const char *text) {
    const char *colon = strchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return digits && colon[1 + digits] == ':' && colon[2 + digits] == ' ' ? colon + 3 + digits : text;
}

/* The pending error often is the same one with another line in front. */
int train_report(xt_status extra) {
    xt_status e = xt_error();
    const char *first = extra ? xt_status_message(extra) : "", *second = e ? xt_status_message(e) : "";
    if (e && extra && strstr(second, without_place(first))) first = "";
    else if (e && extra && strstr(first, without_place(second))) second = "";
    if (*first) log_msg(XT_SEV_ERROR, "%s", first);
    if (*second) log_msg(XT_SEV_ERROR, "%s", second);
    bool failed = e || extra;
    xt_status_free(extra);
    xt_clear_error();
    return failed ? 1 : 0;
}

static xt_status check_task(xt_trainer *t, const xt_task *task) {
    const char *missing = !task                         ? "the task is NULL"
                          : !task->net && !task->module ? "the task has no .net and no .module"
                          : !task->training_step        ? "the task has no .training_step"
                                                        : NULL;
    if (!missing && !task->configure_optimizers && !task->configure_several && !by_name_optimizer(t)) missing = "the task has no .configure_optimizers (or --optimizer NAME)";
    return missing ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_fit: %s", missing) : NULL;
}

/* The run's newest checkpoint will be this fit's own, which then lists no best: known before the training, not after it. */
static xt_status check_best(const xt_trainer *t) {
    if (!t->o.ckpt || strcmp(t->o.ckpt, "best") != 0) return NULL;
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (callback_is(t->callbacks[i], &model_checkpoint_desc)) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL, "xt_fit: ckpt = best, but the trainer has no xt_model_checkpoint, so this fit will keep no best; add one, or give ckpt = last or a path");
}

xt_status train_fit(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *train, xt_loader *val) {
    t->task = task;
    t->train = train;
    t->val = task->validation_step ? val : NULL;
    xt_status s = fit_limits(t);
    if (s) {
        t->train = t->val = NULL;
        return s;
    }
    loop l = {.t = t, .src = src, .batches = t->train_limit};
    t->loss_begins = t->fitting = true;
    t->own_loss = t->validated = t->validation_next = false;
    t->validated_step = -1;
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
    log_set_place(LOG_NOWHERE, LOG_TRAIN);
    s = train_begin(t, src);
    lazy_position_of_thread()->samples = t->position.samples; /* not those of an earlier fit of this process */
    l.row_mark = t->o.log_every_n_batches ? t->position.batches / t->o.log_every_n_batches : 0;
    for (size_t i = 0; i < t->n_callbacks && !s; i++)
        if (t->callbacks[i]->d.fit_start && !callback_rests(t, t->callbacks[i])) s = t->callbacks[i]->d.fit_start(t, t->callbacks[i]->user);
    if (!s && task->on_fit_start) task->on_fit_start(t->net, task->user);
    t->validated_ns = clock_ns();
    bool ok = !s && sanity(t, src);
    log_set_place(LOG_BETWEEN, LOG_TRAIN);
    if (ok && task->on_train_start) task->on_train_start(t->net, task->user);
    if (ok) log_between_send(t->global_step);
    ok = ok && run_epochs(&l);
    log_set_place(LOG_NOWHERE, LOG_TRAIN);
    stopping_end(t);
    end_fit(t, ok);
    hooks_teardown(t, "fit");
    log_set_place(LOG_IN_STEP, LOG_TRAIN);
    t->fitting = false;
    return s;
}

int xt_fit_at(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *train, xt_loader *val) {
    if (t && t->help) return 0;
    xt_status s = t ? check_task(t, task) : status_new(XT_INVALID_ARGUMENT, src, "xt_fit: the trainer is NULL");
    if (!s) s = train_settle(t);
    if (!s && xt_error()) return train_report(NULL); /* what made the loaders or callbacks fail */
    if (!s && t->prints_config) { /* by now the program has asked for its settings */
        char *text = config_text(t);
        if (text) fputs(text, stdout); /* asked for, and meant for a file */
        base_free(text);
        return 0;
    }
    if (!s && !train) s = status_new(XT_INVALID_ARGUMENT, src, "xt_fit: the training loader is NULL");
    if (!s) s = check_best(t);
    if (!s && t->no_end) log_msg(XT_SEV_WARNING, "neither max_epochs nor max_steps is set: training for 1000 epochs (max_epochs = -1 trains without end)");
    if (!s) s = train_fit(src, t, task, train, val);
    lazy_at_rest();
    if (s || xt_error()) return train_report(status_at(s, src));
    int ruined = result_summary(t, src);
    return ruined ? ruined : stopping_result(t, t->saved_last);
}
