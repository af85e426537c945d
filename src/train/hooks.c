/* The hooks of passes that do not train: a callback's hook of a place runs before the task's where something begins; at
 * a pass's end the task's comes first, then the program's own callbacks, so that those of the library that watch values
 * find what these logged. */
#include "lazy/step/within.h"
#include "train/train_int.h"

#define TASK_CALL(t, hook, ...)                                                                    \
    do {                                                                                           \
        if ((t)->task->hook) TRAIN_APART((t)->task->hook((t)->net, __VA_ARGS__, (t)->task->user)); \
    } while (0)
#define TASK_TELL(t, hook)                                                            \
    do {                                                                              \
        if ((t)->task->hook) TRAIN_APART((t)->task->hook((t)->net, (t)->task->user)); \
    } while (0)

void hooks_setup(xt_trainer *t, const char *stage) {
    TRAIN_CALL(t, setup, t, stage);
    TASK_CALL(t, setup, stage);
}

void hooks_teardown(xt_trainer *t, const char *stage) {
    TRAIN_CALL_AT_END(t, teardown, t, stage);
    if (t->net) TRAIN_AT_END(TASK_CALL(t, teardown, stage));
}

static void may_log(train_pass pass) {
    if (pass != PASS_PREDICT) log_set_place(LOG_BETWEEN, pass == PASS_TEST ? LOG_TEST : LOG_VALIDATE);
}

void hooks_begin(xt_trainer *t, train_pass pass) {
    may_log(pass);
    switch (pass) {
    case PASS_SANITY:
        train_draws_at(t, DRAWS_SANITY_START);
        TRAIN_CALL(t, sanity_start, t);
        break;
    case PASS_VALIDATE:
        train_draws_at(t, DRAWS_VALIDATION_START);
        TRAIN_CALL(t, validation_start, t);
        TASK_CALL(t, on_validation_epoch_start, t->epoch);
        break;
    case PASS_TEST:
        TRAIN_CALL(t, test_start, t);
        TASK_TELL(t, on_test_start);
        break;
    case PASS_PREDICT:
        TRAIN_CALL(t, predict_start, t);
        TASK_TELL(t, on_predict_start);
        break;
    }
    if (pass == PASS_SANITY)
        log_between_forget();
    else if (pass != PASS_PREDICT)
        log_between_send(t->global_step);
}

/* What is logged behind a pass is of that pass, whose own values have its last batch in their row. */
static void send_of_pass(const xt_trainer *t) {
    lazy_position *at = lazy_position_of_thread();
    int64_t batch = at->batch;
    at->batch = t->pass_batch;
    log_between_send(t->global_step);
    at->batch = batch;
}

void hooks_end(xt_trainer *t, train_pass pass) {
    may_log(pass);
    switch (pass) {
    case PASS_SANITY:
        train_draws_at(t, DRAWS_SANITY_END);
        TRAIN_CALL(t, sanity_end, t);
        log_between_forget();
        break;
    case PASS_VALIDATE:
        train_draws_at(t, DRAWS_VALIDATION_END);
        TASK_CALL(t, on_validation_epoch_end, t->epoch);
        TRAIN_CALL_OWN(t, true, validation_end, t);
        send_of_pass(t);
        TRAIN_CALL_OWN(t, false, validation_end, t);
        break;
    case PASS_TEST:
        TASK_TELL(t, on_test_end);
        TRAIN_CALL_OWN(t, true, test_end, t);
        send_of_pass(t);
        TRAIN_CALL_OWN(t, false, test_end, t);
        break;
    case PASS_PREDICT:
        TASK_TELL(t, on_predict_end);
        TRAIN_CALL(t, predict_end, t);
        break;
    }
}

void hooks_batch_begin(xt_trainer *t, train_pass pass, const xt_batch *b) {
    switch (pass) {
    case PASS_SANITY: break;
    case PASS_VALIDATE:
        TRAIN_CALL(t, validation_batch_start, t, b);
        TASK_CALL(t, on_validation_batch_start, b);
        break;
    case PASS_TEST:
        TRAIN_CALL(t, test_batch_start, t, b);
        TASK_CALL(t, on_test_batch_start, b);
        break;
    case PASS_PREDICT:
        TRAIN_CALL(t, predict_batch_start, t, b);
        TASK_CALL(t, on_predict_batch_start, b);
        break;
    }
}

void hooks_batch_end(xt_trainer *t, train_pass pass, const xt_batch *b, xt_tensor out) {
    switch (pass) {
    case PASS_SANITY: break;
    case PASS_VALIDATE:
        TRAIN_CALL(t, validation_batch_end, t, b);
        TASK_CALL(t, on_validation_batch_end, b);
        break;
    case PASS_TEST:
        TRAIN_CALL(t, test_batch_end, t, b);
        TASK_CALL(t, on_test_batch_end, b);
        break;
    case PASS_PREDICT:
        TRAIN_CALL(t, predict_batch_end, t, b, out);
        TASK_CALL(t, on_predict_batch_end, b, out);
        break;
    }
}

/* --- a step with a batch, in which functions of the program's may end steps by themselves --- */
static void goes_on_with(const xt_batch *b) {
    lazy_goes_on_with(b->x);
    lazy_goes_on_with(b->y);
    lazy_goes_on_with(b->mask);
    for (size_t i = 0; i < BASE_COUNT(b->more); i++) lazy_goes_on_with(b->more[i]);
    for (int i = 0; i < b->n_parts; i++) goes_on_with(&b->parts[i]);
}

void hooks_step_begins(const xt_batch *b) {
    lazy_in_step_of_loop(b);
    if (b) goes_on_with(b);
}
void hooks_step_ends(void) {
    lazy_in_step_of_loop(false);
}

void hooks_batch(const xt_trainer *t, const xt_src *src, xt_batch *b) {
    if (t->task->on_after_batch_transfer) *b = t->task->on_after_batch_transfer(t->net, *b, t->task->user);
    train_precision_batch(t, src, b);
    goes_on_with(b);
}
