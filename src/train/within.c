/* Fits and passes in a hook of another one. What they have from the thread, and not from their trainer, is given back
 * behind them: the log engine, the loop's position, the step of random draws, and the switches of the steps that are
 * recorded next. */
#include "nn/nn.h"
#include "train/train_int.h"

static __thread xt_trainer *under_way; /* the innermost */

xt_status train_may_begin(const xt_trainer *t, const char *what) {
    if (under_way && under_way->in_step)
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "%s within a step of another fit or pass, which it would end in the middle: call it in a hook "
            "around an epoch or a validation (on_train_epoch_end, on_validation_epoch_end, ...)",
            what);
    if (t && t->fitting && !under_way)
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "%s: an earlier fit of this trainer was left without returning (by longjmp or an exception), "
            "in the middle of what it did; it cannot go on: make another trainer, with .resume = \"last\" "
            "if it is to take up the last checkpoint",
            what);
    if (t && t->fitting && strcmp(what, "xt_fit") == 0)
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "xt_fit in a hook of a fit of the same trainer, which is under way; make a trainer of its own "
            "for a fit within a fit");
    return NULL;
}

log_frame train_log_enter(xt_trainer *t) {
    return log_enter(&t->log, t->fitting || t->n_sinks || t->o.logger == XT_OFF);
}

void train_take_task(xt_trainer *t, const xt_task *task) {
    t->own_task = *task;
    t->task = &t->own_task;
}

train_outer train_enter(xt_trainer *t, const xt_task *task) {
    train_outer was = {
        .t = under_way, .within = t->fitting, .position = *lazy_position_of_thread(), .draws = lazy_draws_mark()};
    if (was.within) was.task = t->own_task;
    if (log_step_waits()) lazy_boundary(LAZY_EVAL, src_get(t->src)); /* with what is logged in it */
    was.logging = train_log_enter(t);
    lazy_position_of_thread()->n_open = 0; /* its passes come within none of the loop's */
    lazy_loop_steps_pause(true);
    train_take_task(t, task);
    under_way = t;
    return was;
}

void train_stand(const xt_trainer *t) {
    lazy_position *at = lazy_position_of_thread();
    at->epoch = t->epoch;
    at->batch = t->epoch_batches > 0 ? t->epoch_batches - 1 : 0;
    at->samples = t->position.samples;
}

void train_draws_at(const xt_trainer *t, train_draws place) {
    lazy_set_draw_place(t->position.batches, (int)place);
}

void train_leave(xt_trainer *t, const train_outer *was) {
    if (was->within) train_take_task(t, &was->task);
    if (t->net && handle_look(HANDLE_module, t->net) == HANDLE_LIVES) nn_loaded_passed(t->net);
    log_leave(was->logging);
    under_way = was->t;
    *lazy_position_of_thread() = was->position;
    lazy_loop_steps_pause(was->t);
    lazy_draws_return(was->t ? was->draws : (lazy_draw_mark){.step = -1});
    if (!was->t) return;
    bool fits = was->t->fitting;
    nn_sync_batch_norms(fits && was->t->o.sync_batchnorm == XT_ON);
    lazy_check_nan(fits && was->t->o.detect_anomaly == XT_ON);
}

void train_left_by_jump(void) {
    stopping_left();
    lazy_loop_steps_pause(false);
    under_way = NULL;
}

void train_freed(const xt_trainer *t) {
    if (under_way == t) under_way = NULL;
}
