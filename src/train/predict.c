/* xt_predict: one pass in eval mode; each batch's tensor goes to the program's function and to the callbacks while its
 * step is open, so nothing waits. */
#include "base/ending.h"
#include "data/data.h"
#include "lazy/step/within.h"
#include "nn/nn.h"
#include "train/train_int.h"

static bool predict_all(const xt_src *src, xt_trainer *t, xt_loader *l, int64_t limit, xt_prediction_fn fn,
                        void *user) {
    const xt_task *task = t->task;
    bool cut = limit == 0;
    int64_t done = 0;
    nn_mode_begin(src, t->net, NN_EVALUATING);
    xt_no_grad_begin();
    loader_pass pass = {l, 0, -1};
    for (xt_batch b; !cut && loader_pass_next(src, &pass, &b);) {
        ending_cancel_point();
        lazy_set_draw_step(done);
        train_precision_begin(t);
        t->in_step = true;
        hooks_step_begins(&b);
        hooks_batch(t, src, &b);
        hooks_batch_begin(t, PASS_PREDICT, &b);
        xt_tensor out =
            task->predict_step ? task->predict_step(t->net, b, task->user) : xt_forward_at(src, t->net, b.x);
        lazy_goes_on_with(out);
        train_precision_end(t);
        if (out.slot == 0 && task->predict_step && !lazy_pending())
            lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "predict_step gave no tensor ({0})"));
        t->in_step = !lazy_pending();
        if (lazy_pending()) break;
        hooks_batch_end(t, PASS_PREDICT, &b, out);
        if (fn) fn(&b, out, user);
        hooks_step_ends();
        t->in_step = false;
        cut = ++done == limit;
    }
    hooks_step_ends();
    if (cut && !lazy_pending()) lazy_boundary(LAZY_EVAL, src);
    xt_no_grad_end_at(NULL);
    nn_mode_end(src, t->net);
    return lazy_drain() && !lazy_pending();
}

void train_tell_left_out(const xt_loader *l, const char *what) {
    int64_t n = loader_left_out(l);
    if (n && world_get()->rank == 0)
        log_msg(XT_SEV_WARNING,
                "%s: the last %lld sample%s fill no batch and are left out; .pad_last = XT_ON (b.mask tells) or "
                ".drop_last = XT_OFF in the loader keeps them",
                what, (long long)n, n == 1 ? "" : "s");
}

static int predict(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *loader, xt_prediction_fn fn,
                   void *user) {
    if (t && t->help) return 0;
    int64_t limit = 0;
    xt_status s = t ? train_settle(t) : status_new(XT_INVALID_ARGUMENT, src, "xt_predict: the trainer is NULL");
    if (!s) s = by_name_callbacks(t);
    if (!s && lazy_pending()) return train_report(NULL);
    if (!s && (!task || !loader))
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_predict: the %s is NULL", !task ? "task" : "loader");
    if (!s) s = train_may_begin(t, "xt_predict");
    if (!s) s = train_module(t, task);
    if (!s)
        s = limit_batches("limit_predict_batches",
                          t->o.fast_dev_run ? (double)t->o.fast_dev_run : t->o.limit_predict_batches,
                          xt_loader_batches(loader), &limit);
    if (!s) s = checkpoint_for_pass(t);
    if (s) return train_report(status_at(s, src));
    s = train_open_for_pass(t, "xt_predict");
    if (s) return train_report(status_at(s, src));
    train_outer outer_pass = train_enter(t, task);
    train_tell_left_out(loader, "xt_predict");
    loader_pass outer = loader_mark(loader);
    xt_loader_set_epoch(loader, 0, 0);
    log_tell_anew();
    log_at_step(t->global_step);
    log_set_place(LOG_NOWHERE, LOG_TEST);
    hooks_setup(t, "predict");
    hooks_begin(t, PASS_PREDICT);
    bool ok = !lazy_pending() && predict_all(src, t, loader, limit, fn, user);
    if (ok) hooks_end(t, PASS_PREDICT);
    hooks_teardown(t, "predict");
    log_artifacts_send();
    log_drain();
    config_tell(t);
    train_leave(t, &outer_pass);
    train_pass_ended(t, "xt_predict");
    xt_loader_set_epoch(loader, outer.epoch, outer.next);
    lazy_at_rest();
    return ok && !lazy_pending() ? 0 : train_report(s);
}

int xt_predict_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size, xt_loader *loader,
                  xt_prediction_fn fn, void *user) {
    xt_task sized;
    lazy_hold hold = {.tells = true};
    lazy_hold_errors(&hold);
    if (!hold.outer) lazy_steps_for_caller(false), train_left_by_jump();
    int out = predict(src, t, train_sized(src, task, task_size, &sized), loader, fn, user);
    lazy_release_errors(&hold);
    lazy_call_ended(LAZY_CALL_PREDICT, src, out != 0);
    return out;
}
