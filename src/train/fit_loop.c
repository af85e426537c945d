/* The loop of a fit: micro-batches, optimizer steps, epochs. Boundaries come from xt_next alone (and one explicit one
 * where an epoch is cut short or a validation interrupts it), so a micro-batch's program is the same whatever is
 * logged. With accumulation there are up to three: a window's first micro-batch (fresh gradients), a middle one, and
 * its last, which also steps the optimizer. The loss is divided by the window's own size, which is data, so a short
 * last window needs no program. */
#include <math.h>

#include "base/ending.h"
#include "data/data.h"
#include "lazy/mesh/mesh.h"
#include "lazy/step/within.h"
#include "train/train_int.h"

typedef struct loop {
    xt_trainer *t;
    const xt_src *src;
    int64_t batches; /* of an epoch */
    bool recorded, stepped; /* since the last settle: a micro-batch; the end of a window */
    bool accumulates; /* manual optimization: the last micro-batch had no update, and the next is of its window */
    bool settled; /* the last settle had a micro-batch */
    int64_t samples, tokens; /* of it */
    int64_t row_mark; /* micro-batches at the last row, in periods */
    lazy_position at; /* the thread's, at the last micro-batch */
    int64_t row_step; /* of the last row that the loggers have; -1: none yet */
    bool settings_checked;
    bool validates; /* the micro-batch being settled has a validation after it */
    bool asks; /* that was within a window: whether to stop is asked at its end */
    bool has_gradients; /* of the window under way: a micro-batch of it gave a loss */
    bool had_loss, had_none; /* a micro-batch of this epoch gave one, another none */
    bool told_none;
    bool leaves; /* on_train_batch_start said so: the epoch ends with the window */
    bool loader_ready; /* the loader stands at the begin of the next epoch, its workers reading ahead */
} loop;

static bool steps_left(const xt_trainer *t) {
    return t->o.max_steps < 0 || t->global_step < t->o.max_steps;
}
static bool epochs_left(const xt_trainer *t) {
    return t->o.max_epochs < 0 || t->epoch < t->o.max_epochs;
}

/* --- one micro-batch --- */
/* First and last loss of the fit, kept on the device: read once, at the end. The first element changes when 0 < begins,
 * the second when -1 < begins. */
static void note_loss(xt_trainer *t, const xt_src *src, xt_tensor loss) {
    static const float below[2] = {0, -1};
    const int64_t two = 2;
    const ir_type *given = lazy_type(loss);
    if (!given || given->count != 1) return;
    if (!t->loss_state.slot)
        t->loss_state = lazy_state_new(src, LAZY_LOG, "first and last loss", XT_F32, 1, &two, NULL);
    xt_no_grad_begin();
    ir_value *begins = lazy_value(lazy_scalar(src, XT_F32, t->loss_begins)), *state = lazy_value(t->loss_state),
             *now = lazy_value(loss);
    ir_builder *b = lazy_begin(src);
    if (begins && state && now) {
        now = ir_convert(b, now, XT_F32);
        if (given->rank) now = ir_reshape(b, now, 0, NULL);
        ir_value *changes =
            ir_compare(b, IR_LT, ir_constant(b, state->type, below), ir_broadcast_scalar(b, begins, state->type));
        xt_tensor both = lazy_wrap(ir_select(b, changes, ir_broadcast_scalar(b, now, state->type), state), "xt_fit");
        if (lazy_type(both)) lazy_assign(t->loss_state, both);
    }
    xt_no_grad_end_at(NULL);
    t->loss_begins = false;
}

/* Every run has its loss in the rows and on the bar, of all ranks' samples: as "loss", the mean over each epoch as
 * "loss_epoch", unless the task logs one of that name itself, and in steps in which it does not as "trainer/loss". */
static void log_loss(const xt_src *src, xt_tensor loss) {
    log_own(src, "loss", "trainer/loss", loss,
            XT_OPTS(xt_log_opts, .on_step = XT_ON, .on_epoch = XT_ON, .prog_bar = XT_ON, .sync_dist = XT_ON));
}

static void step_optimizers(loop *l) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    train_unscale(t, l->src); /* what these look at, or clip, are the gradients themselves */
    TRAIN_CALL(t, before_optimizer_step, t);
    if (task->on_before_optimizer_step) task->on_before_optimizer_step(t->net, task->user);
    train_optimizer_steps(t, l->src);
}

/* The window's share of the loss goes back. */
static void window_backward(loop *l, xt_tensor loss, const window *w) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    const ir_type *type = lazy_type(loss);
    if (t->divides && type) loss = xt_mul_at(l->src, loss, lazy_scalar(l->src, type->dtype, 1.0 / (double)w->size));
    lazy_goes_on_with(loss);
    TRAIN_CALL(t, before_backward, t, loss);
    if (task->on_before_backward) task->on_before_backward(t->net, loss, task->user);
    xt_backward_at(l->src, train_scaled(t, l->src, loss));
    TRAIN_CALL(t, after_backward, t);
    if (task->on_after_backward) task->on_after_backward(t->net, task->user);
    l->has_gradients = true;
}

/* A step that gave no loss, as it meant to or forgot to. */
static void tell_left_out(loop *l, const xt_batch *b) {
    const xt_trainer *t = l->t;
    if (lazy_pending()) return;
    l->had_none = true;
    if (l->told_none) return;
    l->told_none = true;
    if (world_get()->rank == 0 && !t->quiet)
        log_msg(XT_SEV_WARNING,
                "training_step gave no loss ({0}) for batch %lld of epoch %lld, which has no part in the update; told "
                "once (a step that steps optimizers itself says .manual_optimization = true)",
                (long long)b->index, (long long)t->epoch);
}

/* By now the network, the step and the optimizers have asked for all they know, and nothing has been trained yet. */
static void check_settings(loop *l) {
    if (l->settings_checked || lazy_pending()) return;
    l->settings_checked = true;
    /* a setting asked for after the start may be no number */
    xt_status s = l->t->problem ? status_clone(l->t->problem) : config_check(l->t);
    if (s) lazy_fail(status_at(s, l->src));
}

/* Told before the loss is logged and swept, which would name the line of xt_fit: the one to look at is where the
 * tensor was made. */
static void check_loss(const xt_src *src, xt_tensor loss) {
    const ir_type *type = loss.slot ? lazy_type(loss) : NULL;
    if (!type || type->count == 1 || lazy_pending()) return;
    str shape = STR_INIT;
    for (size_t i = 0; i < type->rank; i++) str_printf(&shape, "%s%lld", i ? ", " : "", (long long)type->dims[i]);
    src_id made = lazy_src(loss);
    lazy_fail(status_new(XT_INVALID_ARGUMENT, made ? src_get(made) : src,
                         "training_step returned a loss of shape [%s], made here; expected a scalar, one number to "
                         "minimise: take xt_mean (or xt_sum) of it, or leave out .reduction = XT_NONE",
                         str_cstr(&shape)));
    str_free(&shape);
}

/* Whether the epoch ends before the window that begins with b. Ranks train and validate together, so a rank that left
 * alone would wait for the others in its validation, and they for it in their steps. Each comes here once a window. */
static bool ends_before(const loop *l, const xt_batch *b) {
    const world *w = world_get();
    if (w->size < 2 || !l->t->task->on_train_batch_start || lazy_pending()) return l->leaves;
    char *all;
    uint8_t mine = l->leaves;
    xt_status s = lazy_ranks_gather(&mine, sizeof mine, &all);
    for (int r = 1; r < w->size && !s; r++)
        if (all[r] != all[0])
            s = status_new(XT_FAILED_PRECONDITION, l->src,
                           "on_train_batch_start: rank %d leaves out the rest of epoch %lld from batch %lld on (it "
                           "gave true), rank %d does not; all ranks leave an epoch at the same batch, or none",
                           all[0] ? 0 : r, (long long)l->t->epoch, (long long)b->index, all[0] ? r : 0);
    base_free(all);
    if (!s) return l->leaves;
    lazy_fail(s);
    return true;
}

/* What comes before the step: the batch as the step gets it, and the hooks that see it. False: this batch is left out,
 * with the rest of the epoch. A window whose gradients have begun is trained to its end first, since nothing else
 * would take them. */
static bool enter_batch(loop *l, xt_batch *b, const window *w) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    if (w->begins && l->leaves) return !ends_before(l, b);
    hooks_batch(t, l->src, b);
    TRAIN_CALL(t, batch_start, t, b);
    if (task->on_train_batch_start && task->on_train_batch_start(t->net, b, task->user)) l->leaves = true;
    return !(w->begins && ends_before(l, b));
}

/* Whether the step being recorded has a row: one is due then, or the fit ends with it and has had none, as far as
 * that is known beforehand. */
static bool row_comes(const loop *l, const xt_batch *b, const window *w) {
    const xt_trainer *t = l->t;
    int64_t step = t->global_step + 1, batches = t->position.batches + 1, every = t->o.log_every_n_batches;
    if (!w->ends) return false;
    if (every ? batches / every != l->row_mark : step % t->every.steps == 0) return true;
    return (t->o.max_steps >= 0 && step >= t->o.max_steps) ||
           (t->o.max_epochs > 0 && t->epoch + 1 >= t->o.max_epochs && b->index + 1 >= l->batches);
}

/* False: the batch was left out. */
static bool record(loop *l, const xt_batch *fetched, const window *w) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    int64_t steps_before = counter_get(COUNTER_optimizer_steps);
    log_resume_step(LOG_TRAIN);
    lazy_position_of_thread()->step = t->global_step + 1; /* reports name the step as its row does */
    if (w->begins && !l->accumulates) log_window_begin();
    log_row_next(row_comes(l, fetched, w), t->global_step + 1);
    /* Random draws depend on the micro-batch, not on how many boundaries there were: resuming repeats them. */
    lazy_set_draw_step(t->position.batches);
    train_precision_begin(t);
    xt_batch b = *fetched;
    const lazy_position here = *lazy_position_of_thread(); /* hooks and the step may go over loaders of their own */
    bool enters = enter_batch(l, &b, w);
    *lazy_position_of_thread() = here;
    if (!enters) {
        train_precision_end(t);
        return false;
    }
    bool outer = lazy_steps_for_caller(!task->manual_optimization);
    xt_tensor loss = task->training_step(t->net, b, task->user);
    lazy_steps_for_caller(outer);
    *lazy_position_of_thread() = here;
    lazy_goes_on_with(loss);
    check_settings(l);
    check_loss(l->src, loss);
    if (loss.slot == 0 && !task->manual_optimization) tell_left_out(l, &b);
    if (w->begins) l->has_gradients = false;
    if (!lazy_pending() && loss.slot) {
        log_loss(l->src, loss);
        note_loss(t, l->src, loss);
        l->had_loss = true;
        if (!task->manual_optimization) window_backward(l, loss, w);
    }
    if (w->ends && l->has_gradients && !lazy_pending()) step_optimizers(l);
    train_precision_end(t);
    t->step_loss = loss;
    t->step_recorded = l->stepped =
        task->manual_optimization ? counter_get(COUNTER_optimizer_steps) != steps_before : w->ends;
    l->accumulates = task->manual_optimization && !l->stepped;
    t->in_step = false; /* all of it is recorded: a pass in these hooks ends it and no more */
    TRAIN_CALL(t, batch_end, t, &b);
    if (task->on_train_batch_end && !lazy_pending()) task->on_train_batch_end(t->net, &b, loss, task->user);
    *lazy_position_of_thread() = here;
    l->at = *lazy_position_of_thread();
    l->recorded = true;
    l->samples = lazy_share_of(fetched->size);
    l->tokens = lazy_share_of_part(fetched->tokens);
    return true;
}

/* --- after the boundary that ended it --- */
static bool row_due(loop *l) {
    const xt_trainer *t = l->t;
    if (t->o.log_every_n_batches == 0) return t->global_step % t->every.steps == 0;
    int64_t mark = t->position.batches / t->o.log_every_n_batches;
    bool due = mark != l->row_mark;
    l->row_mark = mark;
    return due;
}

typedef enum row_kind { ROW_DUE, ROW_ASIDE, ROW_LAST } row_kind;

/* What a `row` logs goes with the next step, wherever the row is sent from; so do a last row's pictures with the step
 * that has ended. */
static void call_row(xt_trainer *t, row_kind kind) {
    log_place was = log_set_place(LOG_IN_STEP, LOG_TRAIN);
    log_set_stage(LOG_TRAIN);
    if (kind == ROW_LAST) log_row_next(true, t->global_step);
    TRAIN_CALL(t, row, t);
    log_set_place(was, LOG_TRAIN);
}

/* Where the last step was: xt_next has moved on, and what is written or logged behind the step is about its batch.
 * Gives where the thread is. */
static lazy_position back_at_step(const loop *l) {
    const xt_trainer *t = l->t;
    lazy_position *at = lazy_position_of_thread(), next = *at;
    *at = l->at;
    at->batch = t->epoch_batches - 1;
    at->samples = t->position.samples;
    at->step = next.step;
    return next;
}

static void go_on(lazy_position next) {
    log_step_left(LOG_TRAIN);
    *lazy_position_of_thread() = next;
}

static void emit_row(loop *l, row_kind kind) {
    xt_trainer *t = l->t;
    lazy_position next = back_at_step(l);
    if (kind == ROW_DUE)
        log_emit(LOG_TRAIN, false, t->global_step);
    else
        log_emit_out_of_turn(LOG_TRAIN, t->global_step, kind == ROW_ASIDE);
    if (kind == ROW_LAST) train_draws_at(t, DRAWS_ROW_OUT_OF_TURN);
    if (kind != ROW_ASIDE) call_row(t, kind);
    go_on(next);
    t->valued_step = t->global_step;
    if (kind == ROW_DUE) t->row_seen = true;
    if (kind != ROW_ASIDE) l->row_step = t->global_step;
}

/* The step that the training ends with has a row, of what was logged since the last one that was due: a name under an
 * `if` waits for the next row, and a short run shows its loss. A run that a signal ends leaves that to the one that
 * resumes. An epoch that had no row shows its last step's values to those who look at the newest, callbacks and the
 * bar. */
static void epoch_without_row(loop *l) {
    const xt_trainer *t = l->t;
    bool ends =
        !steps_left(t) || t->stopping || (t->whole_epoch && t->o.max_epochs > 0 && t->epoch + 1 >= t->o.max_epochs);
    if (!l->stepped || !(t->whole_epoch || ends)) return;
    if (ends && !t->stop_signal && l->row_step != t->global_step)
        emit_row(l, ROW_LAST);
    else if (!t->row_seen)
        emit_row(l, ROW_ASIDE);
}

/* A callback has ended the fit behind its epoch. */
static void fit_without_row(loop *l) {
    const xt_trainer *t = l->t;
    if (l->row_step != t->global_step && t->at.micro_batches > 0 && t->global_step > 0 &&
        !(t->stop_signal && steps_left(t) && epochs_left(t)))
        emit_row(l, ROW_LAST);
}

static void settle_step(loop *l) {
    xt_trainer *t = l->t;
    log_at_step(++t->global_step);
    t->position.epoch = t->epoch;
    t->position.batch = t->epoch_batches;
    t->in_window = (train_position){0};
    bool ends = t->whole_epoch || t->epoch_batches >= l->batches || !steps_left(t);
    t->validation_next = l->validates || (ends && train_ends_with_validation(t));
    if (row_due(l)) emit_row(l, ROW_DUE);
    schedules_step(t); /* after the row, which shows the step's own rate; before a checkpoint of the step */
    lazy_position next = back_at_step(l);
    TRAIN_CALL(t, step_end, t);
    go_on(next);
}

static void settle(loop *l, bool ok) {
    xt_trainer *t = l->t;
    l->settled = l->recorded;
    if (!l->recorded) return;
    l->recorded = false;
    if (!ok || lazy_pending()) return;
    t->epoch_batches++;
    t->at.micro_batches++;
    t->at.samples += l->samples;
    t->at.tokens += l->tokens;
    t->position.samples += l->samples;
    t->position.batches++;
    t->in_window.samples += l->samples;
    t->in_window.batches++;
    if (l->stepped) settle_step(l);
}

/* --- an epoch --- */
/* Every so many whole micro-batches, as Lightning has it; but where rounding would make more shares than an epoch has
 * (0.25 of 10), they end at the micro-batch that fills them. */
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
    log_hold_step(LOG_TRAIN); /* what hooks logged after the step goes with the next one, not with the validation */
    if (lazy_pending() || !train_validate(l->t, l->src)) return false;
    l->asks = !between_steps(l);
    if (!l->asks) stopping_check(l->t);
    return !lazy_pending();
}

/* A stream has ended before the epoch had its batches, which is then as long as the stream. Gradients of a window that
 * is not full are stepped with: nothing else would take them. */
static void end_of_stream(loop *l) {
    xt_trainer *t = l->t;
    t->whole_epoch = true;
    if (t->in_window.batches == 0 || t->task->manual_optimization || !l->has_gradients) return;
    log_resume_step(LOG_TRAIN);
    train_precision_begin(t);
    step_optimizers(l);
    train_precision_end(t);
    l->stepped = true;
    if (lazy_boundary(LAZY_STEP_END, l->src)) settle_step(l);
}

static bool run_batches(loop *l) {
    xt_trainer *t = l->t;
    int64_t began = clock_ns(), paused = 0;
    bool limited = l->batches < xt_loader_batches(t->train), cut = t->epoch_batches >= l->batches;
    loader_pass pass = {t->train, t->epoch, t->position.batch};
    xt_batch b;
    l->loader_ready = l->leaves = l->had_loss = l->had_none = false;
    log_set_place(LOG_IN_STEP, LOG_TRAIN);
    while (!cut) {
        ending_cancel_point();
        bool more = loader_pass_next(l->src, &pass, &b);
        t->in_step = more;
        hooks_step_begins(more ? &b : NULL);
        settle(l, !lazy_pending());
        l->loader_ready = !more && !lazy_pending();
        if (!more) {
            if (!lazy_pending() && t->epoch_batches < l->batches) end_of_stream(l);
            break;
        }
        if (between_steps(l) && (l->asks || stopping_polls(t))) {
            l->asks = false;
            if (stopping_check(t)) break; /* the batch fetched in vain is dropped */
        }
        window w = window_of(b.index, l->batches, t->accumulate);
        b.epoch = t->epoch;
        lazy_position_of_thread()->epoch = t->epoch;
        bool recorded = record(l, &b, &w);
        hooks_step_ends();
        if (!recorded) {
            t->whole_epoch = true;
            break;
        }
        if (!lazy_pending() && validation_due(l, b.index + 1)) {
            int64_t from = clock_ns();
            if (!interrupt(l)) break;
            paused += clock_ns() - from;
            if (t->stopping) break;
        }
        int64_t steps = t->global_step + (l->recorded && l->stepped); /* counting the one that is recorded */
        cut = (limited && b.index + 1 >= l->batches) || (t->o.max_steps >= 0 && steps >= t->o.max_steps) ||
              lazy_pending();
    }
    t->in_step = false;
    hooks_step_ends();
    if (l->recorded && !lazy_pending()) settle(l, lazy_boundary(LAZY_STEP_END, l->src));
    log_hold_step(LOG_TRAIN);
    log_set_place(LOG_BETWEEN, LOG_TRAIN);
    t->whole_epoch = t->whole_epoch || t->epoch_batches >= l->batches;
    t->at.train_ns += clock_ns() - began - paused;
    return !lazy_pending();
}

/* A step that gave no loss in a whole epoch has forgotten its return. */
static bool check_had_loss(const loop *l, bool from_start) {
    const xt_trainer *t = l->t;
    if (!from_start || !t->whole_epoch || l->had_loss || !l->had_none) return true;
    lazy_fail(status_new(XT_INVALID_ARGUMENT, l->src,
                         "training_step gave no loss ({0}) for any batch of epoch %lld; it must return the tensor to "
                         "minimise, if not of every batch (or the task says .manual_optimization = true)",
                         (long long)t->epoch));
    return false;
}

static bool finish_epoch(loop *l) {
    xt_trainer *t = l->t;
    const xt_task *task = t->task;
    /* the rest of the epoch is for the run that resumes */
    if (t->stop_signal && !t->whole_epoch) return !lazy_pending();
    epoch_without_row(l);
    train_stand(t);
    log_epoch_ends();
    log_emit(LOG_TRAIN, true, t->global_step);
    bool due = train_ends_with_validation(t) && (t->whole_epoch || !steps_left(t));
    bool by_epochs = train_validates_by_epochs(t);
    /* what a fit that was asked to stop has come to */
    bool last =
        t->val && t->stopping && (!by_epochs || train_ends_with_validation(t)) && t->validated_step != t->global_step;
    if ((due || last) && !t->stop_signal && !train_validate(t, l->src)) return false;
    if (t->whole_epoch) {
        t->position.epoch = t->epoch + 1;
        t->position.batch = 0;
        t->in_window = (train_position){0}; /* manual optimization: its gradients go on into the next epoch */
        schedules_epoch(t);
    }
    train_draws_at(t, DRAWS_EPOCH_END);
    if (task->on_train_epoch_end) TRAIN_APART(task->on_train_epoch_end(t->net, t->epoch, task->user));
    TRAIN_CALL_OWN(t, true, epoch_end, t);
    log_between_send(t->global_step);
    TRAIN_CALL_OWN(t, false, epoch_end, t);
    return !lazy_pending();
}

/* A run that resumes behind the last batch of the fit, or of an epoch, has weights that no pass has asked for. A
 * forward pass over a batch's shape, which is recorded and not run, makes tensors of them, for hooks, for checkpoints
 * and for the program behind the fit. A network that takes something else than a batch's x keeps them for its first
 * pass. */
static void make_tensors(const xt_trainer *t) {
    lazy_hold trial = {.trial = true};
    if (!t->resumed_from || xt_module_tensors(t->net) || lazy_pending()) return;
    lazy_hold_errors(&trial);
    xt_status s = xt_module_build(t->net, loader_x(t->train));
    if (s) lazy_forget_error();
    xt_status_free(s);
    lazy_release_errors(&trial);
}

/* An epoch begins once: a run that goes on within it, or has only its end left, calls the library's callbacks alone,
 * which look where they are. */
static void begin_epoch(xt_trainer *t) {
    const xt_task *task = t->task;
    if (t->position.batch > 0) {
        TRAIN_CALL_OWN(t, false, epoch_start, t);
        return;
    }
    train_draws_at(t, DRAWS_EPOCH_START);
    TRAIN_CALL(t, epoch_start, t);
    if (task->on_train_epoch_start) TRAIN_APART(task->on_train_epoch_start(t->net, t->epoch, task->user));
}

static bool run_epoch(loop *l) {
    xt_trainer *t = l->t;
    int64_t began = clock_ns();
    xt_epoch_detail before = result_counters();
    t->epoch_batches = t->position.batch;
    t->whole_epoch = false;
    if (t->position.batch == 0) t->row_seen = false; /* else the epoch goes on */
    if (t->epoch_batches >= l->batches) make_tensors(t);
    t->accumulate = t->o.accumulate_grad_batches;
    if (!l->loader_ready || xt_loader_epoch(t->train) != t->epoch || t->position.batch)
        xt_loader_set_epoch(t->train, t->epoch, t->position.batch);
    log_set_stage(LOG_TRAIN);
    if (t->position.batch == 0) log_epoch_begin(LOG_TRAIN); /* else the epoch's sums go on */
    train_stand(t);
    log_set_place(LOG_BETWEEN, LOG_TRAIN);
    bool from_start = t->position.batch == 0;
    begin_epoch(t);
    log_between_send(t->global_step);
    bool ok = run_batches(l) && check_had_loss(l, from_start);
    if (ok) make_tensors(t); /* of a stream only now it is known that it has no more */
    ok = ok && finish_epoch(l);
    result_epoch(t, began, &before);
    return ok;
}

static void tell_nothing_left(const xt_trainer *t) {
    bool epochs = !epochs_left(t);
    bool went_on = t->resumed_from || t->global_step > 0; /* a checkpoint's, or an earlier fit's of this trainer */
    if (world_get()->rank == 0 && !t->quiet && t->train_limit == 0)
        log_msg(XT_SEV_WARNING, "limit_train_batches = 0: nothing to train on");
    else if (world_get()->rank == 0 && went_on && !t->quiet && (epochs || !steps_left(t)))
        log_msg(XT_SEV_INFO, "%s %lld is reached already: nothing to train; raise --%s",
                epochs ? "max_epochs" : "max_steps", (long long)(epochs ? t->o.max_epochs : t->o.max_steps),
                epochs ? "max_epochs" : "max_steps");
}

/* Of two limits one is met first, and the other's number is none that the run has come to. */
static void tell_steps_left(const xt_trainer *t) {
    if (world_get()->rank == 0 && !t->quiet && t->o.max_steps > 0 && steps_left(t) && !epochs_left(t))
        log_msg(XT_SEV_INFO, "the fit ends at step %lld, with max_epochs = %lld, before max_steps = %lld is reached",
                (long long)t->global_step, (long long)t->o.max_epochs, (long long)t->o.max_steps);
}

bool fit_epochs(xt_trainer *t, const xt_src *src) {
    loop l = {.t = t, .src = src, .batches = t->train_limit, .row_step = -1, .accumulates = t->window_open};
    t->window_open = false;
    l.row_mark = t->o.log_every_n_batches ? t->position.batches / t->o.log_every_n_batches : 0;
    tell_nothing_left(t);
    if (!(epochs_left(t) && steps_left(t))) make_tensors(t);
    /* an earlier fit used the time */
    if (t->max_time_ns && train_ranks_agree(t->max_time_ns == 1 || t->elapsed_before_ns >= t->max_time_ns))
        stopping_check(t);
    while (!t->stopping && epochs_left(t) && steps_left(t) && l.batches > 0) {
        int64_t steps = t->global_step, batches = t->position.batches;
        if (!run_epoch(&l)) return false;
        bool ran = t->position.batches != batches; /* one that was resumed behind its last batch has none left */
        if (ran && t->global_step == steps && t->task->manual_optimization && t->epochs_done++ == 0 &&
            world_get()->rank == 0)
            log_msg(XT_SEV_WARNING, "no optimizer stepped in this epoch: with .manual_optimization the training step "
                                    "calls xt_optimizer_step itself");
        else if (t->global_step != steps || !t->task->manual_optimization)
            t->epochs_done++;
        if (t->whole_epoch) {
            t->epoch++;
            t->whole_epoch = false;
            t->position = (train_position){t->epoch, 0, t->position.batches, t->position.samples};
        }
        if (stopping_check(t)) break;
    }
    if (!lazy_pending()) fit_without_row(&l);
    if (!lazy_pending() && !t->stopping && t->global_step > 0) tell_steps_left(t);
    return !lazy_pending();
}
