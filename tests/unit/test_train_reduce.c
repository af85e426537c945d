/* What .reduce makes of several batches in a row of steps, and in one of an epoch: of an optimizer step's
 * micro-batches, in the Trainer and in a loop of one's own, and of a validation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/log.h"
#include <xtrain/xtrain.h>

enum { SAMPLES = 28, BATCH = 4, BATCHES = SAMPLES / BATCH };
static const char *const names[] = {"mean", "sum", "least", "most", "last"};
static const xt_reduce reduces[] = {XT_MEAN, XT_SUM, XT_MIN, XT_MAX, XT_LAST};

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "l", x, 2);
}

static xt_dataset *data(void) {
    static float x[SAMPLES * 3];
    static int64_t y[SAMPLES];
    return xt_array_dataset(x, (xt_spec){XT_F32, {3}}, y, (xt_spec){.dtype = XT_I64}, SAMPLES);
}

/* 5, 1, 6, 2, 7, 3, 8: neither the first nor the last of three is the least or the most of each window. */
static double value_of(int64_t batch) {
    return batch % 2 ? 1 + (double)(batch / 2) : 5 + (double)(batch / 2);
}

static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor v = xt_scalar(value_of(b.index), XT_F32);
    for (int i = 0; i < 5; i++) xt_log(names[i], v, .on_step = XT_ON, .on_epoch = XT_ON, .reduce = reduces[i]);
    return xt_add(xt_mul_scalar(xt_cross_entropy(xt_forward(m, b.x), b.y), 0), v);
}

static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}

static char rows[4000];
static void row(void *user, const log_row *r) {
    const int *only = user;
    size_t at = strlen(rows);
    bool ours = false;
    for (size_t i = 0; i < r->n; i++) ours = ours || strncmp(r->values[i].name, "mean", 4) == 0;
    if (r->stage != (log_stage)*only || !ours) return;
    at += (size_t)snprintf(rows + at, sizeof rows - at, "%s", r->epoch_level ? "epoch" : "step");
    for (size_t i = 0; i < r->n; i++)
        for (int k = 0; k < 5; k++)
            if (strncmp(r->values[i].name, names[k], strlen(names[k])) == 0)
                at += (size_t)snprintf(rows + at, sizeof rows - at, " %s %g", names[k], r->values[i].value);
    snprintf(rows + at, sizeof rows - at, "; ");
}

static int stage;
static void open_sink(void) {
    log_add_sink(&(log_sink){.row = row, .user = &stage});
}

static void logs(const char *what, const char *want) {
    if (strcmp(rows, want) != 0) fail_msg("%s logs\n%s\nexpected\n%s", what, rows, want);
}

/* Windows of 3, 3 and 1 micro-batches. */
static const char windows[] = "step mean 4 sum 12 least 1 most 6 last 6; step mean 4 sum 12 least 2 most 7 last 3; "
                              "step mean 8 sum 8 least 8 most 8 last 8; ",
                  epoch[] = "epoch mean 4.57143 sum 32 least 1 most 8 last 8; ";

static void begin(log_stage s) {
    stage = s;
    rows[0] = 0;
    log_set_default_sinks(open_sink);
    xt_log_every_n_steps(1);
}

static void a_fit(void **state) {
    (void)state;
    char want[sizeof windows + sizeof epoch];
    snprintf(want, sizeof want, "%s%s", windows, epoch);
    begin(LOG_TRAIN);
    open_sink();
    xt_task t = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_trainer *trainer =
        xt_trainer_new(.max_epochs = 1, .model_summary = XT_OFF, .log_every_n_steps = 1, .loggers = "csv",
                       .accumulate_grad_batches = 3, .checkpointing = XT_OFF, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(trainer, &t, xt_loader_new(data(), .batch = BATCH)), 0);
    assert_int_equal(xt_finish(), 0);
    logs("a fit", want);
}

static void a_plain_loop(void **state) {
    (void)state;
    begin(LOG_TRAIN);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = configure(m, NULL);
    xt_loader *l = xt_loader_new(data(), .batch = BATCH);
    for (xt_batch b; xt_next(l, &b);) {
        xt_backward(step(m, b, NULL));
        if (b.index % 3 == 2 || b.index == BATCHES - 1) xt_optimizer_step(o);
    }
    assert_int_equal(xt_finish(), 0);
    char want[sizeof windows + sizeof epoch];
    snprintf(want, sizeof want, "%s%s", windows, epoch);
    logs("a plain loop", want);
}

static void a_validation(void **state) {
    (void)state;
    begin(LOG_VALIDATE);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = configure(m, NULL);
    xt_loader *l = xt_loader_new(data(), .batch = BATCH);
    xt_batch b;
    assert_true(xt_next(l, &b));
    xt_backward(xt_cross_entropy(xt_forward(m, b.x), b.y));
    xt_optimizer_step(o);
    xt_eval(m);
    for (xt_loader *v = xt_loader_new(data(), .batch = BATCH); xt_next(v, &b);) step(m, b, NULL);
    xt_train(m);
    assert_int_equal(xt_finish(), 0);
    char want[300];
    snprintf(want, sizeof want, "step mean 8 sum 8 least 8 most 8 last 8; %s", epoch);
    logs("a validation", want);
}

int main(void) {
    static char dir[] = "/tmp/xt-reduce-XXXXXX";
    if (!mkdtemp(dir)) return 1;
    setenv("XT_RUNS_DIR", dir, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_loop),
        cmocka_unit_test(a_validation),
        cmocka_unit_test(a_fit),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) ? 1 : failed;
}
