/* xt_predict: one pass in eval mode, over each loader of a sequential one; each batch's tensor goes to the program's
 * function and to the callbacks while its step is open, so nothing waits. */
#include "base/ending.h"
#include "data/data.h"
#include "lazy/step/within.h"
#include "nn/nn.h"
#include "train/train_int.h"

typedef struct predictions {
    const xt_src *src;
    xt_trainer *t;
    xt_prediction_fn fn;
    void *user;
    int64_t done; /* batches, of all loaders: random draws are counted by them */
} predictions;

/* Over one loader, which is number k. */
static bool predict_loader(predictions *p, xt_loader *l, int k, int64_t limit) {
    const xt_src *src = p->src;
    xt_trainer *t = p->t;
    const xt_task *task = t->task;
    int64_t end = limit < 0 ? -1 : p->done + limit;
    bool cut = limit == 0;
    loader_pass pass = {l, 0, -1};
    for (xt_batch b; !cut && loader_pass_next(src, &pass, &b);) {
        ending_cancel_point();
        if (k) b.loader = k; /* a part of a sequential one */
        lazy_set_draw_step(p->done);
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
        if (p->fn) p->fn(&b, out, p->user);
        hooks_step_ends();
        t->in_step = false;
        cut = ++p->done == end;
    }
    hooks_step_ends();
    if (cut && !lazy_pending()) lazy_boundary(LAZY_EVAL, src);
    return !lazy_pending();
}

static xt_status limit_of(const xt_trainer *t, const xt_loader *l, int64_t *out) {
    return limit_batches("limit_predict_batches",
                         t->o.fast_dev_run ? (double)t->o.fast_dev_run : t->o.limit_predict_batches,
                         xt_loader_batches(l), out);
}

/* Several loaders, one after the other, each from its begin and as far as the limit says. */
static bool predict_all(predictions *p, xt_loader *l) {
    xt_loader *const *parts = &l;
    int n = loader_parts(l, &parts);
    bool ok = true;
    nn_mode_begin(p->src, p->t->net, NN_EVALUATING);
    xt_no_grad_begin();
    for (int k = 0; ok && k < (n ? n : 1); k++) {
        int64_t limit = 0;
        xt_status s = limit_of(p->t, parts[k], &limit);
        if (s) lazy_fail(status_at(s, p->src));
        loader_pass outer = loader_mark(parts[k]);
        if (n) xt_loader_set_epoch(parts[k], 0, 0);
        ok = !s && predict_loader(p, parts[k], k, limit);
        if (n) xt_loader_set_epoch(parts[k], outer.epoch, outer.next);
    }
    xt_no_grad_end_at(NULL);
    nn_mode_end(p->src, p->t->net);
    return lazy_drain() && !lazy_pending();
}

void train_tell_left_out(const xt_loader *l, const char *what) {
    xt_loader *const *parts;
    int in = loader_parts(l, &parts);
    for (int k = 0; k < in; k++) {
        char part[128];
        snprintf(part, sizeof part, "%s, loader %d", what, k);
        train_tell_left_out(parts[k], part);
    }
    int64_t n = loader_left_out(l);
    if (n && world_get()->rank == 0)
        log_msg(XT_SEV_WARNING,
                "%s: the last %lld sample%s no batch and %s left out; .pad_last = XT_ON (b.mask tells) or "
                ".drop_last = XT_OFF in the loader keeps %s",
                what, (long long)n, n == 1 ? " fills" : "s fill", n == 1 ? "is" : "are", n == 1 ? "it" : "them");
}

static int predict(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *loader, xt_prediction_fn fn,
                   void *user) {
    if (t && t->help) return 0;
    xt_status s = t ? train_settle(t) : status_new(XT_INVALID_ARGUMENT, src, "xt_predict: the trainer is NULL");
    if (!s) s = by_name_callbacks(t);
    if (!s && lazy_pending()) return train_report(NULL);
    if (!s && (!task || !loader))
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_predict: the %s is NULL", !task ? "task" : "loader");
    if (!s) s = train_may_begin(t, "xt_predict");
    if (!s) s = train_module(t, task);
    if (!s) s = limit_of(t, loader, &(int64_t){0});
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
    predictions p = {src, t, fn, user, 0};
    bool ok = !lazy_pending() && predict_all(&p, loader);
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
