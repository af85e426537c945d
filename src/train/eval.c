/* Validation and test: one pass in eval mode without gradients. Each batch is one execution of one program; the stage's
 * values stay on the device until the pass is over and leave it in one read. */
#include <math.h>

#include "base/ending.h"
#include "data/data.h"
#include "nn/nn.h"
#include "train/train_int.h"

bool train_evaluate(xt_trainer *t, const xt_src *src, train_pass kind, xt_loader *l, int64_t limit) {
    const xt_task *task = t->task;
    log_stage stage = kind == PASS_TEST ? LOG_TEST : LOG_VALIDATE;
    void (*step)(xt_module *, xt_batch, void *) =
        stage == LOG_TEST && task->test_step ? task->test_step : task->validation_step;
    lazy_position train_at = *lazy_position_of_thread(), here = train_at;
    int64_t done = 0;
    loader_pass outer = loader_mark(l), pass = {l, 0, -1};
    if (outer.next > 0) xt_loader_set_epoch(l, 0, 0); /* another pass is within an epoch of it */
    nn_mode_begin(src, t->net, NN_EVALUATING);
    xt_no_grad_begin();
    log_set_stage(stage);
    log_set_place(LOG_IN_STEP, stage);
    log_epoch_begin(stage);
    lazy_position_of_thread()->pass = kind == PASS_SANITY ? "sanity check" : stage == LOG_TEST ? "test" : "validation";
    xt_batch b;
    bool cut = limit == 0;
    while (!cut && loader_pass_next(src, &pass, &b)) {
        ending_cancel_point();
        b.epoch = lazy_position_of_thread()->epoch = t->epoch;
        if (t->val_index) b.loader = t->val_index; /* a part of a sequential one */
        lazy_position_of_thread()->samples = train_at.samples;
        lazy_set_draw_step(done);
        train_precision_begin(t);
        log_window_begin(); /* a step of a validation is a batch */
        t->in_step = true;
        hooks_step_begins(&b);
        here = *lazy_position_of_thread(); /* hooks and the step may go over loaders of their own */
        hooks_batch(t, src, &b);
        hooks_batch_begin(t, kind, &b);
        *lazy_position_of_thread() = here;
        step(t->net, b, task->user);
        *lazy_position_of_thread() = here;
        train_precision_end(t);
        t->in_step = false;
        hooks_batch_end(t, kind, &b, (xt_tensor){0});
        hooks_step_ends();
        *lazy_position_of_thread() = here;
        cut = ++done == limit;
    }
    if (cut && !lazy_pending()) lazy_boundary(LAZY_EVAL, src);
    if (cut || lazy_pending()) xt_loader_set_epoch(l, 0, 0); /* else it stands at its begin again, reading ahead */
    loader_return(&outer);
    *lazy_position_of_thread() = here; /* rows are of the last batch */
    if (!lazy_pending() && kind != PASS_SANITY) {
        log_emit(stage, false, t->global_step); /* values logged with on_step: of the last batch */
        log_emit(stage, true, t->global_step);
    }
    t->pass_batch = lazy_position_of_thread()->batch;
    log_set_stage(LOG_TRAIN);
    log_set_place(LOG_NOWHERE, stage);
    xt_no_grad_end_at(NULL);
    nn_mode_end(src, t->net);
    *lazy_position_of_thread() = train_at;
    return !lazy_pending();
}

bool train_evaluate_all(xt_trainer *t, const xt_src *src, train_pass pass, int64_t most) {
    bool ok = true;
    for (size_t i = 0; ok && i <= t->n_vals; i++) {
        int64_t limit = i ? t->val_limits[i - 1] : t->val_limit;
        t->val_index = (int)i;
        if (t->n_vals) log_set_loader((int)i);
        ok = train_evaluate(t, src, pass, i ? t->vals[i - 1] : t->val,
                            most < 1 || (limit >= 0 && limit < most) ? limit : most);
    }
    t->val_index = 0;
    log_set_loader(-1);
    return ok;
}

void train_rewind_validation(xt_trainer *t) {
    if (t->val) xt_loader_set_epoch(t->val, 0, 0);
    for (size_t i = 0; i < t->n_vals; i++) xt_loader_set_epoch(t->vals[i], 0, 0);
}

bool train_validate(xt_trainer *t, const xt_src *src) {
    log_place was = log_set_place(LOG_BETWEEN, LOG_VALIDATE);
    t->validating = true;
    hooks_begin(t, PASS_VALIDATE);
    bool ok = train_evaluate_all(t, src, PASS_VALIDATE, 0);
    t->validating = false;
    t->validated = true;
    t->validated_step = t->global_step;
    t->validated_ns = clock_ns();
    if (ok) hooks_end(t, PASS_VALIDATE);
    log_set_place(was, LOG_TRAIN);
    return ok && !lazy_pending();
}

/* --- on their own --- */
/* The option that limits the pass, as a number of this loader's batches. */
static xt_status limit_of(const xt_trainer *t, log_stage stage, const xt_loader *loader, int64_t *out) {
    bool test = stage == LOG_TEST;
    return limit_batches(test ? "limit_test_batches" : "limit_val_batches",
                         t->o.fast_dev_run ? (double)t->o.fast_dev_run
                         : test            ? t->o.limit_test_batches
                                           : t->o.limit_val_batches,
                         xt_loader_batches(loader), out);
}

/* Several loaders, one after the other, each with values of its own. */
static bool evaluate_parts(xt_trainer *t, const xt_src *src, train_pass pass, log_stage stage, int n,
                           xt_loader *const *parts) {
    bool ok = true;
    for (int k = 0; k < n && ok; k++) {
        int64_t limit;
        xt_status s = limit_of(t, stage, parts[k], &limit);
        if (s) lazy_fail(status_at(s, src));
        t->val_index = k;
        log_set_loader(k);
        loader_pass outer = loader_mark(parts[k]);
        xt_loader_set_epoch(parts[k], 0, 0);
        ok = !s && train_evaluate(t, src, pass, parts[k], limit);
        xt_loader_set_epoch(parts[k], outer.epoch, outer.next);
    }
    t->val_index = 0;
    log_set_loader(-1);
    return ok;
}

typedef struct table {
    str text;
    log_stage stage;
} table;

static void take_row(void *user, const log_row *row) {
    table *tb = user;
    if (row->stage != tb->stage || !row->epoch_level) return;
    /* not -nan */
    for (size_t i = 0; i < row->n; i++)
        str_printf(&tb->text, "  %-28s %.6g\n", row->values[i].name,
                   isnan(row->values[i].value) ? (double)NAN : row->values[i].value);
}

static int pass_alone(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *loader, log_stage stage,
                      const char *what) {
    if (t && t->help) return 0;
    xt_status s = t ? train_settle(t) : status_new(XT_INVALID_ARGUMENT, src, "%s: the trainer is NULL", what);
    if (!s) s = by_name_callbacks(t);
    if (!s && lazy_pending()) return train_report(NULL);
    if (!s && (!task || !loader)) s = status_new(XT_INVALID_ARGUMENT, src, "%s: the task or the loader is NULL", what);
    if (!s && !task->validation_step && !(stage == LOG_TEST && task->test_step))
        s = status_new(XT_INVALID_ARGUMENT, src, "%s: the task has no %s", what,
                       stage == LOG_TEST ? ".test_step and no .validation_step" : ".validation_step");
    if (!s) s = train_may_begin(t, what);
    if (!s) s = train_module(t, task);
    if (!s) s = checkpoint_for_pass(t);
    if (s) return train_report(status_at(s, src));
    int64_t limit = 0;
    s = limit_of(t, stage, loader, &limit);
    if (s) return train_report(status_at(s, src));
    s = train_open_for_pass(t, what);
    if (s) return train_report(status_at(s, src));
    train_outer outer_pass = train_enter(t, task);
    table tb = {.text = STR_INIT, .stage = stage};
    log_sink sink = {.row = take_row, .user = &tb};
    log_add_sink(&sink);
    log_set_manual(true);
    log_names_anew(stage);
    train_tell_left_out(loader, what);
    loader_pass outer = loader_mark(loader);
    xt_loader_set_epoch(loader, 0, 0);
    const char *name = stage == LOG_TEST ? "test" : "validate";
    train_pass pass = stage == LOG_TEST ? PASS_TEST : PASS_VALIDATE;
    log_tell_anew();
    log_at_step(t->global_step);
    train_stand(t);
    log_set_place(LOG_NOWHERE, stage);
    hooks_setup(t, name);
    hooks_begin(t, pass);
    xt_loader *const *parts;
    int n = loader_parts(loader, &parts);
    bool ok = !lazy_pending() &&
              (n ? evaluate_parts(t, src, pass, stage, n, parts) : train_evaluate(t, src, pass, loader, limit));
    ok = lazy_drain() && ok;
    if (ok) hooks_end(t, pass); /* the values are there: xt_trainer_metric */
    log_set_place(LOG_NOWHERE, stage);
    hooks_teardown(t, name);
    log_artifacts_send();
    log_remove_sink(&sink);
    train_leave(t, &outer_pass);
    train_pass_ended(t, what);
    xt_loader_set_epoch(loader, outer.epoch, outer.next);
    config_tell(t);
    if (ok && tb.text.len)
        log_msg(XT_SEV_INFO, "%s:\n%s", stage == LOG_TEST ? "test" : "validation", str_cstr(&tb.text));
    str_free(&tb.text);
    lazy_at_rest();
    return ok && !lazy_pending() ? 0 : train_report(NULL); /* teardown may have failed */
}

static int run_alone(const xt_src *src, xt_trainer *t, const xt_task *task, size_t size, xt_loader *loader,
                     log_stage stage, const char *what) {
    xt_task sized;
    lazy_hold hold = {.tells = true};
    lazy_hold_errors(&hold);
    if (!hold.outer) lazy_steps_for_caller(false), train_left_by_jump();
    int code = pass_alone(src, t, train_sized(src, task, size, &sized), loader, stage, what);
    lazy_release_errors(&hold);
    lazy_call_ended(stage == LOG_TEST ? LAZY_CALL_TEST : LAZY_CALL_VALIDATE, src, code != 0);
    return code;
}

int xt_validate_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size, xt_loader *loader) {
    return run_alone(src, t, task, task_size, loader, LOG_VALIDATE, "xt_validate");
}
int xt_test_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size, xt_loader *loader) {
    return run_alone(src, t, task, task_size, loader, LOG_TEST, "xt_test");
}
