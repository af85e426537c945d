/* The trainer end to end on a real device with a tiny network: what logging costs, windows, validation, stopping,
 * checkpoints. */
#include <sys/stat.h>

#include "train_test.h"

enum { SAMPLES = 96, FEATURES = 4 };

static xt_loader *data(int64_t batch, int64_t limit) {
    static float x[SAMPLES][FEATURES];
    static int64_t y[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < FEATURES; k++) x[i][k] = sinf((float)(i * FEATURES + k));
        y[i] = x[i][0] > 0.3f ? 0 : x[i][1] > 0 ? 1 : 2;
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {FEATURES}}, y, (xt_spec){XT_I64, {0}}, SAMPLES),
                         .batch = batch, .limit = limit ? limit : -1, .shuffle = XT_ON);
}

/* --- tasks --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_dropout(m, xt_relu(xt_linear(m, "fc1", x, 8)), 0.25);
    return xt_linear(m, "fc2", x, 3);
}

static int n_metrics, step_calls, val_calls;

static void log_many(const char *stage, xt_tensor loss) {
    for (int i = 0; i < n_metrics; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/m%d", stage, i);
        xt_log(name, loss, .on_step = XT_ON, .on_epoch = i % 2 ? XT_ON : XT_OFF, .prog_bar = i < 2 ? XT_ON : XT_OFF,
               .sync_dist = i % 3 ? XT_ON : XT_OFF);
    }
}

static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    step_calls++;
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    log_many("train", loss);
    return loss;
}

static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    val_calls++;
    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
    xt_log("val/loss", loss, .prog_bar = XT_ON);
    xt_log_metric("val/acc", xt_accuracy(out, b.y));
    log_many("val", loss);
}

static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}

static const xt_task task = {
    .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = adam};

/* --- what logging costs --- */
static xt_fit_result run_with(int metrics, xt_switch bar, bool validate) {
    n_metrics = metrics;
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .log_every_n_steps = 4, .progress_bar = bar, .runs_dir = dir);
    assert_int_equal(xt_fit(t, &task, data(16, 0), validate ? data(32, 0) : NULL), 0);
    xt_fit_result r = xt_trainer_result(t);
    assert_int_equal(r.epochs, 3);
    for (int e = 0; e < 3; e++) assert_true(r.epochs_detail[e].seconds > 0);
    r.epochs_detail = NULL;
    n_metrics = 0;
    xt_finish(); /* the next run begins from no logged names */
    return r;
}

static void logging_costs_nothing(void **state) {
    (void)state;
    xt_fit_result base = run_with(0, XT_OFF, true);
    assert_int_equal(base.steps, 18);
    assert_int_equal(base.compiles, 2); /* one for training, one for validation */
    assert_int_equal(base.compiles_after_first_epoch, 0);
    assert_int_equal(base.executions, 18 + 9);
    assert_int_equal(base.host_reads, 5 + 3 + 3 + 1); /* rows of steps, epochs, validations; the losses of the result */
    static const struct {
        int metrics;
        xt_switch bar;
    } rows[] = {{1, XT_OFF}, {100, XT_OFF}, {0, XT_ON}, {100, XT_ON}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_fit_result r = run_with(rows[i].metrics, rows[i].bar, true);
        assert_int_equal(r.compiles, base.compiles);
        assert_int_equal(r.executions, base.executions);
        assert_int_equal(r.compiles_after_first_epoch, 0);
        /* Step-level values of validation are rows of their own: one read each. */
        int64_t more = rows[i].metrics ? 3 : 0;
        assert_int_equal(r.host_reads, base.host_reads + more);
    }
    for (int metrics = 0; metrics <= 100; metrics += 100) { /* without validation */
        xt_fit_result r = run_with(metrics, XT_OFF, false);
        assert_int_equal(r.compiles, 1);
        assert_int_equal(r.executions, 18);
        assert_int_equal(r.compiles_after_first_epoch, 0);
        assert_int_equal(r.host_reads, 5 + 3 + 1);
    }
    assert_true(base.loss_first > base.loss_last || base.loss_first > base.val_loss);
    assert_true(base.samples_per_s > 0 && base.batches_per_s > 0 && isfinite(base.val_loss));
}

static void programs_of_a_window_are_fixed(void **state) {
    (void)state;
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .accumulate_grad_batches = 4, .log_every_n_steps = 1,
                                   .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0); /* windows of 4 and 2 */
    xt_fit_result r = xt_trainer_result(t);
    assert_int_equal(r.steps, 6);
    assert_int_equal(r.executions, 18);
    assert_int_equal(r.compiles, 3); /* first, middle, last of a window */
    assert_int_equal(r.compiles_after_first_epoch, 0);
    says("micro-batch 16 x accumulate 4 x ranks 1 = effective batch 64; a row every 1 step = 4 batches");
}

/* The gradient of the loss is 1 for every micro-batch, so each step takes the learning rate off the weight, in short
 * windows too. */
static xt_tensor one_weight(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor w = xt_param(m, "w", "zeros", 0, XT_F32, 1);
    return xt_add(xt_mul_scalar(xt_sum(x), 0), w);
}
static xt_tensor weight_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_sum(xt_forward(m, b.x));
}
static xt_optimizer *plain_sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 1);
}

static void short_windows_are_scaled_by_their_size(void **state) {
    (void)state;
    const xt_task weight = {.net = one_weight, .training_step = weight_step, .configure_optimizers = plain_sgd};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .accumulate_grad_batches = 2, .runs_dir = dir, .logger = XT_OFF,
                                   .checkpointing = XT_OFF, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &weight, data(16, 5), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 3);
    float w = 0;
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "w"), &w, sizeof w));
    assert_float_equal(w, -3, 1e-6);
    assert_null(xt_trainer_run_dir(t));
}

/* --- options --- */
static void refusals_come_before_the_first_batch(void **state) {
    (void)state;
    step_calls = 0;
    xt_trainer *t =
        xt_trainer_new(.max_epochs = 1, .accumulate_grad_batches = 10, .log_every_n_batches = 5, .runs_dir = dir);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 1);
    says("log_every_n_batches = 5 is not a multiple of accumulate_grad_batches = 10");
    t = xt_trainer_new(.max_epochs = 1, .accumulate_grad_batches = 2, .log_every_n_batches = 10, .runs_dir = dir,
                       .progress_bar = XT_OFF);
    assert_int_equal(step_calls, 0);
    assert_int_equal(xt_fit(t, &task, data(8, 0), NULL), 0); /* the combination that others refuse */
    t = xt_trainer_new(.max_epochs = 1, .val_every_n_batches = 100, .runs_dir = dir);
    assert_int_equal(xt_fit(t, &task, data(16, 0), data(16, 0)), 1);
    says("val_every_n_batches = 100, but an epoch has 6 batches");
    t = xt_trainer_new(.max_epochs = -3);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 1);
    says("max_epochs = -3 is out of range");
    t = xt_trainer_new(.max_epochs = 1, .precision = "int3");
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 1);
    says("precision = int3");
}

static void arguments(void **state) {
    (void)state;
    char *good[] = {"prog", "--max-epochs=2", "--limit_train_batches", "3", "--progress-bar", "off", NULL};
    xt_trainer *t = xt_trainer_new(.max_epochs = 50, .runs_dir = dir);
    xt_trainer_args(t, 6, good);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 6);
    char *wrong[] = {"prog", "--max_epoch", "2", NULL};
    t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir);
    xt_trainer_args(t, 3, wrong);
    assert_non_null(xt_error());
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 1);
    says("there is no option max_epoch; did you mean max_epochs?");
    assert_null(xt_error());
    char *help[] = {"prog", "--help", NULL};
    step_calls = 0;
    t = xt_trainer_new(.max_epochs = 1);
    xt_trainer_args(t, 2, help);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0);
    assert_int_equal(step_calls, 0);
    says("--accumulate_grad_batches N");
    setenv("XT_TRAINER_MAX_STEPS", "4", 1);
    t = xt_trainer_new(.max_epochs = 5, .runs_dir = dir, .progress_bar = XT_OFF);
    unsetenv("XT_TRAINER_MAX_STEPS");
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 4);
}

static xt_tensor bad_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_matmul(xt_forward(m, b.x), b.x);
}

static void errors_end_the_fit_with_their_line(void **state) {
    (void)state;
    const xt_task bad = {.net = net, .training_step = bad_step, .configure_optimizers = adam};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &bad, data(16, 0), NULL), 1);
    says("test_train_fit.c:");
    assert_null(xt_error());
    t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0); /* the process stays usable */
}

/* --- validation and stopping --- */
static double script[16];
static int script_at;
static void scripted_val(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/ignored", xt_mean(xt_forward(m, b.x)));
    xt_log_value("val/score", script[script_at]);
    if (b.index == 0) script_at++;
}
static const xt_task scripted = {
    .net = net, .training_step = train_step, .validation_step = scripted_val, .configure_optimizers = adam};

static void early_stopping_is_patient(void **state) {
    (void)state;
    static const struct {
        double values[8];
        int patience, last_epoch;
    } rows[] = {
        {{6, 5, 5, 5, 5, 5}, 3, 4}, {{6, 5, 4, 4, 3, 3}, 1, 3}, {{6, 5, 6, 5, 5, 5}, 3, 4}, {{6, NAN, 1}, 3, 1}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        memcpy(script, rows[i].values, sizeof rows[i].values);
        script_at = 0;
        xt_trainer *t = xt_trainer_new(.max_epochs = 6, .limit_train_batches = 1, .runs_dir = dir, .logger = XT_OFF,
                                       .checkpointing = XT_OFF, .progress_bar = XT_OFF);
        xt_trainer_add(t, xt_early_stopping(.monitor = "val/score", .patience = rows[i].patience));
        assert_int_equal(xt_fit(t, &scripted, data(16, 0), data(32, 1)), 0);
        assert_int_equal(xt_trainer_result(t).epochs - 1, rows[i].last_epoch);
    }
    says("early stopping after 5 epochs");
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .limit_train_batches = 1, .runs_dir = dir, .progress_bar = XT_OFF);
    xt_trainer_add(t, xt_early_stopping(.monitor = "val/scorr"));
    script_at = 0;
    assert_int_equal(xt_fit(t, &scripted, data(16, 0), data(32, 1)), 1);
    says("monitor = val/scorr was not logged; logged so far: val/ignored, val/score");
    says("did you mean val/score?");
    assert_null(xt_early_stopping(.patience = 2));
    xt_clear_error();
}

static void validation_within_the_epoch(void **state) {
    (void)state;
    val_calls = 0;
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .val_every_n_batches = 2, .accumulate_grad_batches = 3,
                                   .limit_val_batches = 2, .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), data(16, 0)), 0);
    assert_int_equal(val_calls, 2 * 3 * 2);
    xt_fit_result r = xt_trainer_result(t);
    assert_int_equal(r.steps, 4);
    assert_int_equal(r.executions, 12 + 12);
    assert_int_equal(r.compiles, 3 + 1); /* a validation between micro-batches makes no other programs */
    assert_int_equal(xt_validate(t, &task, data(16, 0)), 0);
    says("validation:\n");
    says("val/acc");
    double acc = xt_trainer_metric(t, "val/acc", true);
    assert_true(acc >= 0 && acc <= 1);
    assert_true(isnan(xt_trainer_metric(t, "nothing", true)));
}

static void stop_after_two(xt_trainer *t, const xt_batch *b, void *user) {
    int *calls = user;
    (void)b;
    if (++*calls == 2) xt_trainer_stop(t);
}

static void callbacks_may_stop(void **state) {
    (void)state;
    int calls = 0;
    xt_trainer *t = xt_trainer_new(.max_epochs = 5, .runs_dir = dir, .progress_bar = XT_OFF);
    xt_trainer_add(t, xt_callback_new(&(xt_callback_desc){.struct_size = sizeof(xt_callback_desc),
                                                          .name = "stop",
                                                          .batch_end = stop_after_two},
                                      &calls));
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 2);
}

/* --- checkpoints --- */
static void weights(xt_trainer *t, float out[67]) {
    int n = 0;
    xt_module *m = xt_trainer_module(t);
    for (int i = 0; i < xt_module_tensors(m); i++) {
        xt_tensor w = xt_module_tensor(m, i);
        assert_true(n + xt_numel(w) <= 67);
        assert_true(xt_read(w, out + n, (size_t)xt_numel(w) * sizeof *out));
        n += (int)xt_numel(w);
    }
    assert_int_equal(n, 67);
}

/* Dropout and shuffling included: a run cut in the middle of an epoch and of nothing else goes on with
 * the same bits. */
static void resuming_repeats_the_bits(void **state) {
    (void)state;
    float whole[67], resumed[67];
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .seed = 3, .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), data(32, 0)), 0);
    double loss = xt_trainer_result(t).loss_last;
    weights(t, whole);
    xt_finish();
    t = xt_trainer_new(.max_epochs = 3, .max_steps = 8, .seed = 3, .run_name = "cut", .runs_dir = dir,
                       .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), data(32, 0)), 0);
    xt_finish();
    t = xt_trainer_new(.max_epochs = 3, .resume = "last", .run_name = "cut", .runs_dir = dir, .progress_bar = XT_OFF,
                       .accumulate_grad_batches = 1);
    assert_int_equal(xt_fit(t, &task, data(16, 0), data(32, 0)), 0);
    says("epoch 1, batch 2, step 8");
    assert_int_equal(xt_trainer_global_step(t), 18);
    weights(t, resumed);
    assert_memory_equal(whole, resumed, sizeof whole);
    assert_true(xt_trainer_result(t).loss_last == loss);
    /* The same file is a module's too. */
    xt_module *m = xt_module_new(net, NULL);
    assert_null(xt_load(m, in_dir("cut/version_1/checkpoints/last.ckpt")));
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, FEATURES}}));
    float w[32];
    xt_mark_step();
    assert_true(xt_read(xt_module_find(m, "fc1.weight"), w, sizeof w));
    assert_memory_equal(w, whole, sizeof w);
}

static void damaged_checkpoints_change_nothing(void **state) {
    (void)state;
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0);
    assert_null(xt_trainer_save(t, in_dir("whole.ckpt")));
    char *bytes;
    size_t n;
    assert_null(file_read_all(in_dir("whole.ckpt"), &bytes, &n));
    bytes[n - 40] ^= 1;
    assert_null(file_write_all(in_dir("flipped.ckpt"), bytes, n));
    bytes[n - 40] ^= 1;
    char *seed = strstr(bytes + 8, "\"elapsed_ns\":\""); /* still JSON, still a number */
    assert_non_null(seed);
    seed[14] ^= 1;
    assert_null(file_write_all(in_dir("header.ckpt"), bytes, n));
    assert_null(file_write_all(in_dir("cut.ckpt"), bytes, n - 30));
    base_free(bytes);
    assert_null(xt_save(xt_trainer_module(t), in_dir("weights.ckpt")));
    static const char *const rows[][2] = {
        {"flipped.ckpt", "the data does not match its checksum"},
        {"header.ckpt", "the header (names, shapes, the run's position) does not match its checksum"},
        {"cut.ckpt", "cut off or damaged"},
        {"none.ckpt", "none.ckpt"},
        {"weights.ckpt", "xt_load reads weights alone"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str_clear(&said);
        step_calls = 0;
        t = xt_trainer_new(.max_epochs = 2, .resume = in_dir(rows[i][0]), .runs_dir = dir, .progress_bar = XT_OFF);
        assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 1);
        says(rows[i][1]);
        assert_int_equal(step_calls, 0);
    }
    str_clear(&said);
    t = xt_trainer_new(.max_epochs = 2, .resume = in_dir("whole.ckpt"), .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(32, 0), NULL), 0);
    says("was written with another effective batch (16, now 32)");
}

static void best_checkpoints_are_kept(void **state) {
    (void)state;
    double values[] = {5, 3, NAN, 4, 1, 6};
    memcpy(script, values, sizeof values);
    script_at = 0;
    xt_trainer *t = xt_trainer_new(.max_epochs = 6, .limit_train_batches = 2, .runs_dir = dir, .progress_bar = XT_OFF);
    xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/score", .save_top_k = 2, .dirpath = in_dir("best"),
                                          .filename = "{epoch:02d}-{step}-{val/score:.1f}"));
    assert_int_equal(xt_fit(t, &scripted, data(16, 0), data(32, 1)), 0);
    assert_true(file_exists(in_dir("best/epoch=01-step=4-val_score=3.0.ckpt")));
    assert_true(file_exists(in_dir("best/epoch=04-step=10-val_score=1.0.ckpt")));
    assert_false(file_exists(in_dir("best/epoch=00-step=2-val_score=5.0.ckpt")));
    assert_false(file_exists(in_dir("best/epoch=03-step=8-val_score=4.0.ckpt")));
    assert_true(file_exists(in_dir("best/last.ckpt")));
    t = xt_trainer_new(.max_epochs = 7, .limit_train_batches = 2, .resume = in_dir("best/last.ckpt"), .runs_dir = dir,
                       .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(16, 0), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 14);
    assert_null(xt_model_checkpoint(.save_top_k = 3));
    assert_non_null(strstr(xt_status_message(xt_error()), "needs a monitor"));
    xt_clear_error();
    assert_null(xt_model_checkpoint(.filename = "{epoch:x}"));
    xt_clear_error();
}

/* Two batches of a fixed output: what is logged is the ratio of sums, a batch without the class adding nothing. */
static xt_tensor identity(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "one", "ones", 0, XT_F32, 1));
}
static void metric_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x);
    xt_log_metric("top1", xt_topk_accuracy(out, b.y, 1));
    xt_log_metric("top2", xt_topk_accuracy(out, b.y, 2));
    xt_log_metric("precision", xt_precision(out, b.y, 1));
    xt_log_metric("recall", xt_recall(out, b.y, 1));
    xt_log_metric("f1", xt_f1(out, b.y, 1));
    xt_log_metric("mse", xt_mse(out, xt_zeros(XT_F32, 2, 3)));
    xt_log_metric("mae", xt_mae(out, xt_zeros(XT_F32, 2, 3)));
}

static void metrics_merge_by_adding(void **state) {
    (void)state;
    static const float x[4][3] = {{3, 2, 1}, {1, 2, 3}, {1, 3, 2}, {0, 2, 1}};
    static const int64_t y[4] = {1, 2, 1, 0}; /* predicted 0, 2, 1, 1; class 1 is predicted in the second batch only */
    const xt_task t1 = {
        .net = identity, .training_step = train_step, .validation_step = metric_step, .configure_optimizers = adam};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir);
    assert_int_equal(
        xt_validate(
            t, &t1,
            xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, y, (xt_spec){XT_I64, {0}}, 4), .batch = 2)),
        0);
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"top1", 0.5}, {"top2", 0.75},     {"precision", 0.5}, {"recall", 0.5},
                {"f1", 0.5},   {"mse", 47.0 / 12}, {"mae", 21.0 / 12}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        double v = xt_trainer_metric(t, rows[i].name, true);
        if (fabs(v - rows[i].value) > 1e-6) fail_msg("%s is %g, not %g", rows[i].name, v, rows[i].value);
    }
}

/* --- rates --- */
static void throughput_rows(void **state) {
    (void)state;
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .accumulate_grad_batches = 2, .log_every_n_steps = 1,
                                   .loggers = "csv,jsonl", .runs_dir = dir, .progress_bar = XT_ON);
    xt_trainer_add(t, xt_throughput_monitor(.window = 10, .peak_flops = 1e12, .items_per_sample = 4));
    xt_trainer_add(t, xt_lr_monitor());
    assert_int_equal(xt_fit(t, &task, data(16, 0), data(16, 0)), 0);
    xt_fit_result r = xt_trainer_result(t);
    assert_int_equal(r.compiles, 3); /* windows of two have no middle: first, last, validation */
    assert_int_equal(r.executions, 12 + 12);
    char *csv;
    size_t n;
    assert_null(file_read_all(in_dir("default/version_0/metrics.csv"), &csv, &n));
    static const char *const names[] = {"throughput/batch_ms_p50",         "throughput/samples_per_sec",
                                        "throughput/device/items_per_sec", "lr-Adam,0.01",
                                        "validate,epoch,val/acc",          ",loss,"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) assert_non_null(strstr(csv, names[i]));
    base_free(csv);
    assert_true(file_exists(in_dir("default/version_0/loss.png")));
    assert_true(file_exists(in_dir("default/version_0/checkpoints/last.ckpt")));
    says("epoch 2/2");
    says("throughput of the last");
}

/* --- the progress bar --- */
static int rounds;

static void round_val(xt_module *m, xt_batch b, void *user) {
    (void)user;
    (void)m;
    (void)b;
    xt_log("val/round", xt_scalar(rounds, XT_F32), .prog_bar = XT_ON);
}
static void next_round(xt_module *m, int64_t epoch, void *user) {
    (void)user;
    (void)m;
    (void)epoch;
    rounds++;
}

/* The last line of each epoch has the values of that epoch's validation, also when an epoch takes no time. */
static void epoch_lines_are_of_their_epoch(void **state) {
    (void)state;
    enum { EPOCHS = 12 };
    const xt_task of_rounds = {.net = net,
                               .training_step = train_step,
                               .validation_step = round_val,
                               .configure_optimizers = adam,
                               .on_validation_epoch_end = next_round};
    rounds = 1;
    xt_trainer *t = xt_trainer_new(.max_epochs = EPOCHS, .runs_dir = dir, .progress_bar = XT_ON);
    assert_int_equal(xt_fit(t, &of_rounds, data(32, 1), data(32, 1)), 0);
    for (int e = 1; e <= EPOCHS; e++) {
        char head[32], value[32];
        snprintf(head, sizeof head, "epoch %d/%d", e, EPOCHS);
        snprintf(value, sizeof value, "val/round %d\n", e);
        const char *line = strstr(str_cstr(&said), head), *end = line ? strchr(line, '\n') : NULL;
        const char *found = line ? strstr(line, value) : NULL;
        if (!end || !found || found > end)
            fail_msg("the line of epoch %d has no \"val/round %d\":\n%s", e, e, str_cstr(&said));
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(logging_costs_nothing),
        TEST(programs_of_a_window_are_fixed),
        TEST(short_windows_are_scaled_by_their_size),
        TEST(refusals_come_before_the_first_batch),
        TEST(arguments),
        TEST(errors_end_the_fit_with_their_line),
        TEST(early_stopping_is_patient),
        TEST(validation_within_the_epoch),
        TEST(callbacks_may_stop),
        TEST(resuming_repeats_the_bits),
        TEST(damaged_checkpoints_change_nothing),
        TEST(best_checkpoints_are_kept),
        TEST(metrics_merge_by_adding),
        TEST(throughput_rows),
        TEST(epoch_lines_are_of_their_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
