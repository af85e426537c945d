/* What unusual log calls cost (R1.1): one under an `if`, a name first seen in epoch 3, one from a callback. Each may make one program more than the same run
 * without it, executions are the same, and the report names the line. */
#include "train_test.h"

enum { BATCHES = 10, EPOCHS = 5 };
static enum { PLAIN, UNDER_IF, EPOCH_3, FROM_CALLBACK, HUNDRED } what;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_square(xt_forward(m, b.x)));
    if (what == UNDER_IF && b.index % 4 == 3) xt_log("rare", xt_mul_scalar(loss, 2));
    if (what == EPOCH_3 && b.epoch >= 3) xt_log("late", xt_mul_scalar(loss, 2));
    for (int i = 0; what == HUNDRED && i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i);
        xt_log(name, loss, .on_epoch = i % 2 ? XT_ON : XT_OFF, .sync_dist = XT_ON, .prog_bar = i < 3 ? XT_ON : XT_OFF);
    }
    return loss;
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_mean(xt_square(xt_forward(m, b.x))));
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static const xt_task task = {.net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    (void)user;
    if (what == FROM_CALLBACK) xt_log("norm", xt_sum(xt_square(xt_module_find(xt_trainer_module(t), "fc.weight"))), .on_step = b->index >= 0 ? XT_ON : XT_OFF);
}
static const xt_callback_desc logs = {.struct_size = sizeof(xt_callback_desc), .name = "logs", .batch_end = batch_end};

static xt_loader *data(int64_t batches) {
    static float x[64][3];
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 3; k++) x[i][k] = sinf((float)(3 * i + k));
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, NULL, (xt_spec){0}, batches * 2), .batch = 2);
}

typedef struct cost {
    int64_t compiles, executions, reads;
    double value;
} cost;
static cost run(int kind, const char *name) {
    what = kind;
    xt_trainer *t = TEST_TRAINER(.max_epochs = EPOCHS, .log_every_n_steps = 2);
    xt_trainer_add(t, xt_callback_new(&logs, NULL));
    assert_int_equal(xt_fit(t, &task, data(BATCHES), data(2)), 0);
    xt_fit_result r = xt_trainer_result(t);
    cost c = {r.compiles, r.executions, r.host_reads, name ? xt_trainer_metric(t, name, true) : 0};
    xt_finish();
    return c;
}

static void unusual_logs(void **state) {
    (void)state;
    cost base = run(PLAIN, NULL);
    assert_int_equal(base.compiles, 2);
    assert_int_equal(base.executions, EPOCHS * (BATCHES + 2));
    static const struct {
        int kind;
        const char *name;
        int more;
    } rows[] = {{UNDER_IF, "rare", 1}, {EPOCH_3, "late", 1}, {FROM_CALLBACK, "norm", 0}, {HUNDRED, "m7", 0}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        cost c = run(rows[i].kind, rows[i].name);
        if (c.compiles > base.compiles + rows[i].more) fail_msg("%s: %lld programs, without it %lld", rows[i].name, (long long)c.compiles, (long long)base.compiles);
        assert_int_equal(c.executions, base.executions);
        assert_int_equal(c.reads, base.reads + (rows[i].kind == HUNDRED ? EPOCHS : 0)); /* a row of epoch values is one more read an epoch */
        assert_true(isfinite(c.value));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(unusual_logs, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
