/* leaves WHERE HOW: a function of the user's does not return to the library that called it.
 *   WHERE  net, scan, call, task, batch_end, row, epoch_end, validation, predict, schedule, sink: which function
 *   HOW    longjmp to main, exit, or xt_finish from inside
 * Behind a longjmp the program trains on: what was under way is an error or is gone, and nothing waits for it. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>

static const char *where, *how;
static jmp_buf back;
static int calls;

static void leave(const char *here) {
    if (strcmp(here, where) != 0 || calls++) return;
    if (!strcmp(how, "longjmp")) longjmp(back, 1);
    if (!strcmp(how, "exit")) exit(7);
    if (!strcmp(how, "finish")) xt_finish();
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor y = xt_linear(m, "fc", x, 3);
    leave("net");
    return y;
}

static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)y, (void)user;
    carry[0] = xt_add(carry[0], x[0]);
    leave("scan");
}

static xt_tensor called(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    xt_tensor y = xt_sum(xt_exp(in[0]));
    leave("call");
    return y;
}

static xt_status get(void *user, int64_t i, void *x, void *y) {
    (void)user;
    float *to = x;
    to[0] = (float)i;
    to[1] = 1;
    *(int32_t *)y = (int32_t)(i % 3);
    return NULL;
}

static xt_loader *samples(void) {
    xt_dataset_desc d = {
        .struct_size = sizeof d, .count = 16, .x = {XT_F32, {2}}, .y = {XT_I32, {0}}, .get = get, .name = "samples"};
    return xt_loader_new(xt_dataset_new(&d), .batch = 4);
}

static xt_tensor training(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    xt_log("loss", loss);
    leave("task");
    return loss;
}
static void validation(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y));
    leave("validation");
}
static void prediction(const xt_batch *b, xt_tensor y, void *user) {
    (void)b, (void)y, (void)user;
    leave("predict");
}
static double rate(int64_t epoch, void *user) {
    (void)epoch, (void)user;
    leave("schedule");
    return 1;
}
static void sink(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    fwrite(text, 1, n, stderr);
    leave("sink");
}
static xt_optimizer *optimizers(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_lambda_schedule(o, rate);
    return o;
}
static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    (void)t, (void)b, (void)user;
    leave("batch_end");
}
static void row(xt_trainer *t, void *user) {
    (void)t, (void)user;
    leave("row");
}
static void epoch_end(xt_trainer *t, void *user) {
    (void)t, (void)user;
    leave("epoch_end");
}

static xt_trainer *left; /* its fit was not ended */
static int fit(void) {
    xt_callback_desc d = {
        .struct_size = sizeof d, .name = "leaves", .batch_end = batch_end, .row = row, .epoch_end = epoch_end};
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .log_every_n_steps = 1, .checkpointing = XT_OFF);
    xt_trainer_add(t, xt_callback_new(&d, NULL));
    xt_task task = {
        .net = net, .training_step = training, .validation_step = validation, .configure_optimizers = optimizers};
    xt_loader *l = samples(), *val = samples();
    left = t;
    int code = xt_fit(t, &task, l, val);
    left = NULL;
    if (!code) code = xt_predict(t, &task, val, prediction, NULL);
    xt_loader_free(l);
    xt_loader_free(val);
    xt_trainer_free(t);
    return code;
}

/* What was left in the middle is not taken up again; a pass of another trainer is none of its hooks. */
static void with_the_same(void) {
    xt_task task = {
        .net = net, .training_step = training, .validation_step = training, .configure_optimizers = optimizers};
    xt_loader *l = samples();
    printf("the same: fit %d", xt_fit(left, &task, l, NULL));
    xt_clear_error();
    printf(", validate %d", xt_validate(left, &task, l));
    xt_clear_error();
    xt_trainer *t = xt_trainer_new(.logger = XT_OFF, .checkpointing = XT_OFF);
    printf(", another validates %d\n", xt_validate(t, &task, l));
    xt_trainer_free(t);
    xt_trainer_free(left);
    xt_loader_free(l);
}

static int steps(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_tensor carry = xt_zeros(XT_F32, 3), x = xt_ones(XT_F32, 4, 3);
    xt_tensor y = xt_sum(xt_forward(m, xt_ones(XT_F32, 2, 2)));
    xt_scan(body, 1, &carry, 1, &x, 0, NULL);
    xt_when_ready(xt_add(y, xt_sum(carry)), NULL, NULL);
    xt_mark_step();
    xt_step *f = xt_compile(called);
    for (int i = 0; i < 3; i++) xt_call(f, xt_ones(XT_F32, 2));
    xt_mark_step();
    xt_step_free(f);
    xt_module_free(m);
    return xt_error() != NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    where = argv[1];
    how = argv[2];
    if (!strcmp(where, "sink")) xt_set_sink(sink, NULL);
    if (setjmp(back) == 0)
        printf("steps %d, fit %d\n", steps(), fit());
    else
        printf("jumped\n");
    fflush(stdout);
    xt_clear_error();
    if (left) with_the_same();
    xt_clear_error();
    int again = steps();
    xt_clear_error();
    printf("again: steps %d, fit %d\n", again, fit());
    fflush(stdout);
    xt_clear_error();
    return xt_finish();
}
