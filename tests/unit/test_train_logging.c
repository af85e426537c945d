/* What unusual log calls cost (R1.1): one under an `if`, a name first seen in epoch 3, one from a callback. Each may
 * make one program more than the same run without it, executions are the same, and the report names the line. */
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
static const xt_task task = {
    .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    (void)user;
    if (what == FROM_CALLBACK)
        xt_log("norm", xt_sum(xt_square(xt_module_find(xt_trainer_module(t), "fc.weight"))),
               .on_step = b->index >= 0 ? XT_ON : XT_OFF);
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
        if (c.compiles > base.compiles + rows[i].more)
            fail_msg("%s: %lld programs, without it %lld", rows[i].name, (long long)c.compiles,
                     (long long)base.compiles);
        assert_int_equal(c.executions, base.executions);
        assert_int_equal(c.reads, base.reads);
        assert_true(isfinite(c.value));
    }
}

/* --- one function of the user's for both stages, whose batches differ --- */
static bool sizes_given;
static void note(xt_batch b, xt_tensor out) {
    xt_tensor each = xt_cross_entropy(out, b.y, .reduction = XT_NONE);
    xt_log("loss_of_all", b.mask.slot ? xt_masked_mean(each, b.mask) : xt_mean(each), .on_epoch = XT_ON);
    xt_log_metric("acc", xt_accuracy(out, b.y));
    xt_log_metric("top2", xt_topk_accuracy(out, b.y, 2));
    xt_log_metric("mse", xt_mse(out, xt_zeros_like(out)));
    if (sizes_given) xt_log("by_tokens", xt_mean(out), .batch_size = 3 + b.index, .on_step = XT_OFF, .on_epoch = XT_ON);
}
static xt_tensor classes(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 3);
}
static xt_tensor classes_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x), each = xt_cross_entropy(out, b.y, .reduction = XT_NONE);
    note(b, out);
    return b.mask.slot ? xt_masked_mean(each, b.mask) : xt_mean(each);
}
static void classes_val(xt_module *m, xt_batch b, void *user) {
    (void)user;
    note(b, xt_forward(m, b.x));
}
static const xt_task classifier = {
    .net = classes, .training_step = classes_step, .validation_step = classes_val, .configure_optimizers = sgd};
static xt_loader *labelled(int64_t n, int64_t batch, xt_switch pad) {
    static float x[64][3];
    static int64_t y[64];
    for (int i = 0; i < 64; i++) {
        y[i] = i % 3;
        for (int k = 0; k < 3; k++) x[i][k] = sinf((float)(3 * i + k));
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, y, (xt_spec){XT_I64}, n), .batch = batch,
                         .pad_last = pad);
}

static void what_belongs_to_shapes_is_no_number_that_changes(void **state) {
    (void)state;
    for (int pad = 0; pad < 2; pad++) {
        sizes_given = true;
        xt_trainer *t = TEST_TRAINER(.max_epochs = 3, .log_every_n_steps = 3);
        assert_int_equal(
            xt_fit(t, &classifier, labelled(53, 5, pad ? XT_ON : XT_OFF), labelled(22, 4, pad ? XT_ON : XT_OFF)), 0);
        assert_int_equal(xt_trainer_result(t).compiles, 2);
        xt_finish();
    }
}

/* The padded batch counts with its samples: the mean over an epoch without training is the mean over all samples. */
static void a_padded_batch_weighs_its_samples(void **state) {
    (void)state;
    sizes_given = false;
    double all[2];
    for (int pad = 0; pad < 2; pad++) {
        xt_seed(3);
        xt_trainer *t = TEST_TRAINER(.ckpt = NULL);
        assert_int_equal(xt_validate(t, &classifier, pad ? labelled(22, 4, XT_ON) : labelled(22, 22, XT_OFF)), 0);
        all[pad] = xt_trainer_metric(t, "loss_of_all", true);
        xt_finish();
    }
    assert_true(fabs(all[0] - all[1]) < 1e-6 && all[0] > 0.1);
}

/* --- several trainers in one process --- */
static xt_tensor quiet_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(m, b.x)));
}
static xt_tensor own_step(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = quiet_step(m, b, user);
    xt_log("m", loss, .on_epoch = user ? XT_ON : XT_OFF);
    if (user)
        xt_log("n", loss);
    else
        xt_log_metric("n", xt_auroc(xt_sigmoid(xt_forward(m, b.x)), xt_zeros(XT_I64, 2)));
    return loss;
}

static void each_fit_logs_its_own(void **state) {
    (void)state;
    xt_task quiet = {.net = net, .training_step = quiet_step, .configure_optimizers = sgd};
    double last[2];
    for (int i = 0; i < 2; i++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1 + i, .log_every_n_steps = BATCHES);
        assert_int_equal(xt_fit(t, &quiet, data(BATCHES), NULL), 0);
        last[i] = xt_trainer_result(t).loss_last;
        assert_true(fabs(xt_trainer_metric(t, "loss", true) - last[i]) < 1e-6);
    }
    assert_true(last[0] != last[1]);
}

/* The trainer's loss has the mean of each epoch beside it, unless the task has a value of that name; a monitor gets
 * what rows call so, and is told which of the two "loss" is. */
static double sum;
static enum { NOT, IN_STEPS, BEHIND_EPOCHS, BOTH_LEVELS } tasks;
static void add(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)bytes, (void)dtype;
    sum += (double)*(const float *)data;
}
static xt_tensor summed_step(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = quiet_step(m, b, user);
    xt_when_ready(loss, add, NULL);
    if (tasks == IN_STEPS && b.index > 0) xt_log_value("loss_epoch", 7, .on_step = XT_OFF, .on_epoch = XT_ON);
    if (tasks == BOTH_LEVELS) xt_log("loss", xt_add_scalar(loss, 100), .on_step = XT_ON, .on_epoch = XT_ON);
    return loss;
}
static void behind_epoch(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    if (tasks == BEHIND_EPOCHS) xt_log_value("loss_epoch", 7);
}
static void the_loss_has_an_epochs_mean(void **state) {
    (void)state;
    xt_task summed = {
        .net = net, .training_step = summed_step, .on_train_epoch_end = behind_epoch, .configure_optimizers = sgd};
    for (tasks = NOT; tasks <= BOTH_LEVELS; tasks++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = BATCHES);
        xt_trainer_add(t, xt_early_stopping(.monitor = tasks == IN_STEPS ? "loss_epoch" : "loss", .patience = 9));
        str_clear(&said);
        sum = 0;
        assert_int_equal(xt_fit(t, &summed, data(BATCHES), NULL), 0);
        xt_fit_result r = xt_trainer_result(t);
        double step = xt_trainer_metric(t, tasks == BOTH_LEVELS ? "loss_step" : "loss", true),
               epoch = xt_trainer_metric(t, "loss_epoch", true);
        sum -= sum / 2; /* of two epochs, whose means are nearly the same */
        assert_true(fabs(step - r.loss_last - (tasks == BOTH_LEVELS ? 100 : 0)) < 1e-4);
        if (tasks == NOT || tasks == BOTH_LEVELS)
            assert_true(fabs(epoch - sum / BATCHES - (tasks == BOTH_LEVELS ? 100 : 0)) < 0.05);
        else
            assert_true(epoch == 7);
        assert_true(fabs(epoch - step) > 1e-4);
        assert_true(!strstr(str_cstr(&said), "loss_epoch is its mean") == (tasks != NOT));
        xt_finish();
    }
}

static void another_fit_may_log_otherwise(void **state) {
    (void)state;
    static int on;
    for (int i = 0; i < 2; i++) {
        xt_task own = {.net = net, .training_step = own_step, .configure_optimizers = sgd, .user = i ? &on : NULL};
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .log_every_n_steps = BATCHES);
        assert_int_equal(xt_fit(t, &own, data(BATCHES), NULL), 0);
        if (i) assert_true(fabs(xt_trainer_metric(t, "n", true) - xt_trainer_result(t).loss_last) < 1e-6);
    }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(unusual_logs),
                                       T(what_belongs_to_shapes_is_no_number_that_changes),
                                       T(a_padded_batch_weighs_its_samples),
                                       T(each_fit_logs_its_own),
                                       T(the_loss_has_an_epochs_mean),
                                       T(another_fit_may_log_otherwise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
