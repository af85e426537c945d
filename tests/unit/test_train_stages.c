/* Passes around and after training: the order of all hooks in fit, validate, test and predict, which checkpoint a pass
 * uses, and early stopping's verdicts (the cases with numbers are Lightning's own). */
#include "train_test.h"

#include "train/train_int.h"

/* --- the order of hooks --- */
static str order = STR_INIT;
static void note(const char *what) {
    str_printf(&order, "%s ", what);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    note("step");
    return xt_mean(xt_forward(m, b.x));
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    note("val");
    xt_log("val/loss", xt_mean(xt_forward(m, b.x)));
}
static void test_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    note("test");
    xt_log("test/loss", xt_mean(xt_forward(m, b.x)));
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    note("predict");
    return xt_forward(m, b.x);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    note("configure");
    return xt_sgd(m, .lr = 0.1);
}
static xt_loader *data(int64_t batches) {
    static float x[64];
    for (int i = 0; i < 64; i++) x[i] = 1;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2 * batches), .batch = 2);
}

/* Module hooks are noted as m.NAME, the callback's as c.NAME. */
#define M0(name)                                     \
    static void m_##name(xt_module *m, void *user) { \
        (void)m;                                     \
        (void)user;                                  \
        note("m." #name);                            \
    }
#define M_EPOCH(name)                                               \
    static void m_##name(xt_module *m, int64_t epoch, void *user) { \
        (void)m;                                                    \
        (void)epoch;                                                \
        (void)user;                                                 \
        note("m." #name);                                           \
    }
#define M_BATCH(name)                                                   \
    static void m_##name(xt_module *m, const xt_batch *b, void *user) { \
        (void)m;                                                        \
        (void)b;                                                        \
        (void)user;                                                     \
        note("m." #name);                                               \
    }
#define C0(name)                                      \
    static void c_##name(xt_trainer *t, void *user) { \
        (void)t;                                      \
        (void)user;                                   \
        note("c." #name);                             \
    }
#define C_BATCH(name)                                                    \
    static void c_##name(xt_trainer *t, const xt_batch *b, void *user) { \
        (void)t;                                                         \
        (void)b;                                                         \
        (void)user;                                                      \
        note("c." #name);                                                \
    }
M0(fit_start)
M0(fit_end)
M0(train_start)
M0(train_end)
M0(after_backward)
M0(before_step)
M0(test_start)
M0(test_end)
M0(predict_start)
M0(predict_end)
M_EPOCH(epoch_start)
M_EPOCH(epoch_end)
M_EPOCH(val_start)
M_EPOCH(val_end)
M_BATCH(val_batch_start)
M_BATCH(val_batch_end)
M_BATCH(test_batch_start)
M_BATCH(test_batch_end)
M_BATCH(predict_batch_start)
C0(epoch_start)
C0(epoch_end)
C0(val_start)
C0(val_end)
C0(sanity_start)
C0(sanity_end)
C0(test_start)
C0(test_end)
C0(predict_start)
C0(predict_end)
C0(after_backward)
C0(before_step)
C0(step_end)
C_BATCH(batch_start)
C_BATCH(batch_end)
C_BATCH(val_batch_start)
C_BATCH(val_batch_end)
C_BATCH(test_batch_start)
C_BATCH(test_batch_end)
C_BATCH(predict_batch_start)
static void m_setup(xt_module *m, const char *stage, void *user) {
    (void)m;
    (void)user;
    (void)stage;
    note("m.setup");
}
static void m_teardown(xt_module *m, const char *stage, void *user) {
    (void)m;
    (void)user;
    (void)stage;
    note("m.teardown");
}
static void c_setup(xt_trainer *t, const char *stage, void *user) {
    (void)t;
    (void)user;
    (void)stage;
    note("c.setup");
}
static void c_teardown(xt_trainer *t, const char *stage, void *user) {
    (void)t;
    (void)user;
    (void)stage;
    note("c.teardown");
}
static bool m_batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)m;
    (void)b;
    (void)user;
    note("m.batch_start");
    return false;
}
static void m_before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)m;
    (void)loss;
    (void)user;
    note("m.before_backward");
}
static void c_before_backward(xt_trainer *t, xt_tensor loss, void *user) {
    (void)t;
    (void)loss;
    (void)user;
    note("c.before_backward");
}
static void m_batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m;
    (void)b;
    (void)loss;
    (void)user;
    note("m.batch_end");
}
static void m_predict_batch_end(xt_module *m, const xt_batch *b, xt_tensor out, void *user) {
    (void)m;
    (void)b;
    (void)out;
    (void)user;
    note("m.predict_batch_end");
}
static void c_predict_batch_end(xt_trainer *t, const xt_batch *b, xt_tensor out, void *user) {
    (void)t;
    (void)b;
    (void)out;
    (void)user;
    note("c.predict_batch_end");
}
static xt_status c_fit_start(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    note("c.fit_start");
    return NULL;
}
static void c_fit_end(xt_trainer *t, bool ok, void *user) {
    (void)t;
    (void)ok;
    (void)user;
    note("c.fit_end");
}
static size_t save(char *buf, size_t n, void *user) {
    (void)user;
    return (size_t)snprintf(buf, n, "1");
}
static xt_status m_load(const char *json, void *user) {
    (void)json;
    (void)user;
    note("m.load");
    return NULL;
}
static xt_status c_load(const char *json, void *user) {
    (void)json;
    (void)user;
    note("c.load");
    return NULL;
}
static xt_batch doubled(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)user;
    note("transfer");
    b.x = xt_mul_scalar(b.x, 2);
    return b;
}

static const xt_task hooked = {.net = net,
                               .training_step = train_step,
                               .validation_step = val_step,
                               .test_step = test_step,
                               .predict_step = predict_step,
                               .configure_optimizers = sgd,
                               .setup = m_setup,
                               .teardown = m_teardown,
                               .on_fit_start = m_fit_start,
                               .on_fit_end = m_fit_end,
                               .on_train_start = m_train_start,
                               .on_train_end = m_train_end,
                               .on_after_batch_transfer = doubled,
                               .on_train_epoch_start = m_epoch_start,
                               .on_train_batch_start = m_batch_start,
                               .on_before_backward = m_before_backward,
                               .on_after_backward = m_after_backward,
                               .on_before_optimizer_step = m_before_step,
                               .on_train_batch_end = m_batch_end,
                               .on_train_epoch_end = m_epoch_end,
                               .on_validation_epoch_start = m_val_start,
                               .on_validation_epoch_end = m_val_end,
                               .on_validation_batch_start = m_val_batch_start,
                               .on_validation_batch_end = m_val_batch_end,
                               .on_test_start = m_test_start,
                               .on_test_batch_start = m_test_batch_start,
                               .on_test_batch_end = m_test_batch_end,
                               .on_test_end = m_test_end,
                               .on_predict_start = m_predict_start,
                               .on_predict_batch_start = m_predict_batch_start,
                               .on_predict_batch_end = m_predict_batch_end,
                               .on_predict_end = m_predict_end};
static const xt_callback_desc watcher = {.struct_size = sizeof(xt_callback_desc),
                                         .name = "watcher",
                                         .setup = c_setup,
                                         .teardown = c_teardown,
                                         .fit_start = c_fit_start,
                                         .fit_end = c_fit_end,
                                         .epoch_start = c_epoch_start,
                                         .batch_start = c_batch_start,
                                         .batch_end = c_batch_end,
                                         .step_end = c_step_end,
                                         .epoch_end = c_epoch_end,
                                         .before_backward = c_before_backward,
                                         .after_backward = c_after_backward,
                                         .before_optimizer_step = c_before_step,
                                         .sanity_start = c_sanity_start,
                                         .sanity_end = c_sanity_end,
                                         .validation_start = c_val_start,
                                         .validation_batch_start = c_val_batch_start,
                                         .validation_batch_end = c_val_batch_end,
                                         .validation_end = c_val_end,
                                         .test_start = c_test_start,
                                         .test_batch_start = c_test_batch_start,
                                         .test_batch_end = c_test_batch_end,
                                         .test_end = c_test_end,
                                         .predict_start = c_predict_start,
                                         .predict_batch_start = c_predict_batch_start,
                                         .predict_batch_end = c_predict_batch_end,
                                         .predict_end = c_predict_end};

static void came(const char *want) {
    if (strcmp(str_cstr(&order), want) != 0) fail_msg("came:   %s\nwanted: %s", str_cstr(&order), want);
    str_clear(&order);
}

static void hooks_come_in_order(void **state) {
    (void)state;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .num_sanity_val_steps = 1, .accumulate_grad_batches = 2,
                                 .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_trainer_add(t, xt_callback_new(&watcher, NULL));
    str_clear(&order);
    assert_int_equal(xt_fit(t, &hooked, data(2), data(1)), 0);
#define BATCH \
    "transfer c.batch_start m.batch_start step c.before_backward m.before_backward c.after_backward m.after_backward "
    came("c.setup m.setup configure c.fit_start m.fit_start c.sanity_start transfer val c.sanity_end m.train_start "
         "c.epoch_start m.epoch_start " BATCH "c.batch_end m.batch_end " BATCH
         "c.before_step m.before_step c.batch_end m.batch_end c.step_end "
         "c.val_start m.val_start transfer c.val_batch_start m.val_batch_start val c.val_batch_end m.val_batch_end "
         "m.val_end c.val_end m.epoch_end c.epoch_end m.train_end m.fit_end c.fit_end c.teardown m.teardown ");
    assert_int_equal(xt_validate(t, &hooked, data(1)), 0);
    came("c.setup m.setup c.val_start m.val_start transfer c.val_batch_start m.val_batch_start val c.val_batch_end "
         "m.val_batch_end m.val_end c.val_end c.teardown m.teardown ");
    assert_int_equal(xt_test(t, &hooked, data(1)), 0);
    came("c.setup m.setup c.test_start m.test_start transfer c.test_batch_start m.test_batch_start test "
         "c.test_batch_end m.test_batch_end m.test_end c.test_end c.teardown m.teardown ");
    assert_int_equal(xt_predict(t, &hooked, data(1), NULL, NULL), 0);
    came("c.setup m.setup c.predict_start m.predict_start transfer c.predict_batch_start m.predict_batch_start predict "
         "c.predict_batch_end m.predict_batch_end "
         "m.predict_end c.predict_end c.teardown m.teardown ");
    xt_finish();
    /* Resumed after the first epoch: states come before the first hook of the fit, the task's before the callback's. */
    xt_task kept = hooked;
    kept.save_state = save, kept.load_state = m_load;
    xt_callback_desc keeper = watcher;
    keeper.save_state = save, keeper.load_state = c_load;
    for (int epoch = 0; epoch < 2; epoch++) {
        t = TEST_TRAINER(.max_epochs = 1 + epoch, .accumulate_grad_batches = 2, .logger = XT_OFF,
                         .checkpointing = XT_OFF, .resume = epoch ? in_dir("hooks.ckpt") : NULL);
        xt_trainer_add(t, xt_callback_new(&keeper, NULL));
        str_clear(&order);
        xt_task mine = kept;
        assert_int_equal(xt_fit(t, &mine, data(2), NULL), 0);
        memset(&mine, 0x5a, sizeof mine); /* a task that went with its function; what saves later has a copy */
        if (!epoch)
            assert_null(xt_trainer_save(t, in_dir("hooks.ckpt")));
        else
            came("c.setup m.setup configure m.load c.load c.fit_start m.fit_start m.train_start c.epoch_start "
                 "m.epoch_start " BATCH "c.batch_end m.batch_end " BATCH
                 "c.before_step m.before_step c.batch_end m.batch_end c.step_end m.epoch_end c.epoch_end m.train_end "
                 "m.fit_end c.fit_end c.teardown m.teardown ");
        xt_finish();
    }
    str_free(&order);
}

/* The library's own callbacks are about fits: a pass on its own neither saves nor gives the averages back. */
static void passes_leave_the_fit_alone(void **state) {
    (void)state;
    xt_task task = {.net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2);
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.5));
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir("kept"), .monitor = "val/loss"));
    xt_trainer_add(t, xt_early_stopping(.monitor = "val/loss"));
    xt_trainer_add(t, xt_throughput_monitor());
    assert_int_equal(xt_fit(t, &task, data(4), data(1)), 0);
    double before = xt_item(xt_module_find(xt_trainer_module(t), "w"));
    assert_int_equal(xt_validate(t, &task, data(1)), 0);
    assert_true(xt_item(xt_module_find(xt_trainer_module(t), "w")) == before);
    assert_float_equal(xt_trainer_metric(t, "val/loss", true), before, 1e-6);
    str_free(&order);
}

/* --- best and last --- */
static const double *scores;
static void val_scored(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)b;
    xt_log_value("val/score", scores[xt_trainer_epoch(*(xt_trainer **)user)]);
}

/* The weight falls by 0.1 an epoch, so it says which epoch a file is from. */
static double tested_weight(const char *ckpt, const char *resume, xt_callback *kept) {
    xt_task task = {.net = net,
                    .training_step = train_step,
                    .validation_step = val_step,
                    .test_step = test_step,
                    .configure_optimizers = sgd};
    xt_trainer *t = TEST_TRAINER(.run_name = "scored", .ckpt = ckpt, .resume = resume);
    if (kept) xt_trainer_add(t, kept);
    if (xt_test(t, &task, data(1))) return NAN;
    return xt_trainer_metric(t, "test/loss", true);
}

static void best_and_last(void **state) {
    (void)state;
    static const double v[] = {0.5, 0.2, 0.9, 0.4};
    scores = v;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 4, .run_name = "scored", .ckpt = "best");
    xt_task task = {.net = net,
                    .training_step = train_step,
                    .validation_step = val_scored,
                    .test_step = test_step,
                    .predict_step = predict_step,
                    .configure_optimizers = sgd,
                    .user = &t};
    double score;
    assert_null(xt_trainer_best_checkpoint(t, &score));
    xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/score", .mode = XT_MIN, .save_top_k = 2));
    assert_int_equal(xt_fit(t, &task, data(1), data(1)), 0);
    assert_non_null(strstr(xt_trainer_best_checkpoint(t, &score), "epoch=1-step=2"));
    assert_float_equal(score, 0.2, 1e-7);
    /* the fit itself does not go by ckpt */
    assert_float_equal(xt_item(xt_module_find(xt_trainer_module(t), "w")), 0.6, 1e-6);
    char best[512], last[512];
    snprintf(best, sizeof best, "%s", xt_trainer_best_checkpoint(t, NULL));
    snprintf(last, sizeof last, "%s/checkpoints/last.ckpt", xt_trainer_run_dir(t));
    assert_int_equal(xt_test(t, &task, data(1)), 0);
    assert_float_equal(xt_trainer_metric(t, "test/loss", true), 0.8, 1e-6);
    xt_finish();
    /* Another process knows it from the list in the newest checkpoint. */
    static const struct {
        const char *ckpt, *resume;
        double want;
    } rows[] = {
        {"best", NULL, 0.8}, {"last", NULL, 0.6}, {NULL, "best", 0.8}, {NULL, "last", 0.6}, {"best", "last", 0.8}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        assert_float_equal(tested_weight(rows[i].ckpt, rows[i].resume, NULL), rows[i].want, 1e-6);
    assert_float_equal(tested_weight(best, NULL, NULL), 0.8, 1e-6);
    assert_float_equal(tested_weight(last, NULL, NULL), 0.6, 1e-6);
    assert_true(isnan(tested_weight("/nowhere.ckpt", NULL, NULL)));
    says("/nowhere.ckpt");
    assert_int_equal(unlink(best), 0);
    /* the best of those that are still there: epoch 3, 0.4 */
    assert_float_equal(tested_weight("best", NULL, NULL), 0.6, 1e-6);
    str_free(&order);
}

/* A resumed run writes to a folder of its own, with a worse file; the best is the first run's until it is beaten. */
static void best_of_a_resumed_run(void **state) {
    (void)state;
    static const double v[] = {0.5, 0.2, 0.9, 0.4, 0.1};
    static const struct {
        int epochs;
        double want;
    } rows[] = {{2, 0.2}, {3, 0.2}, {4, 0.2}, {5, 0.1}};
    scores = v;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = rows[i].epochs, .run_name = "again", .resume = i ? "last" : NULL);
        xt_task task = {.net = net,
                        .training_step = train_step,
                        .validation_step = val_scored,
                        .test_step = test_step,
                        .configure_optimizers = sgd,
                        .user = &t};
        xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/score", .mode = XT_MIN));
        assert_int_equal(xt_fit(t, &task, data(1), data(1)), 0);
        double score;
        const char *best = xt_trainer_best_checkpoint(t, &score);
        assert_non_null(best);
        assert_non_null(strstr(best, rows[i].want > 0.15 ? "version_0" : "version_3"));
        assert_float_equal(score, rows[i].want, 1e-7);
        xt_finish();
    }
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .run_name = "again", .ckpt = "best");
    xt_task task = {.net = net, .training_step = train_step, .configure_optimizers = sgd};
    assert_int_equal(xt_fit(t, &task, data(1)), 1); /* said before the training */
    assert_int_equal(xt_trainer_global_step(t), 0);
    says("no xt_model_checkpoint");
    xt_finish();
    str_free(&order);
}

/* A folder of the program's own is looked into first. */
static void last_of_a_folder(void **state) {
    (void)state;
    xt_task task = {.net = net, .training_step = train_step, .configure_optimizers = sgd};
    for (int i = 0; i < 2; i++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = i + 1, .resume = "last");
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir("mine"), .last_only = XT_ON));
        assert_int_equal(xt_fit(t, &task, data(3)), 0);
        if (i == 0) says("has no checkpoint yet; training begins anew");
        assert_int_equal(xt_trainer_global_step(t), 3 * (i + 1));
        assert_null(xt_trainer_best_checkpoint(t, NULL)); /* nothing but last.ckpt */
        xt_finish();
    }
    assert_true(file_exists(in_dir("mine/last.ckpt")));
    xt_trainer *t = TEST_TRAINER(.resume = "last", .run_name = "never"); /* a pass has nothing to begin */
    task.validation_step = val_step;
    assert_int_equal(xt_validate(t, &task, data(1)), 1);
    says("give the checkpoint's path");
    xt_finish();
    str_free(&order);
}

/* Resumed when there is nothing left to do: the weights are there, to be saved, to be looked at and to go on from. */
static void a_finished_fit_is_resumed(void **state) {
    (void)state;
    xt_task task = {.net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};
    for (int again = 0; again < 2; again++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .resume = "last", .run_name = "finished");
        assert_int_equal(xt_fit(t, &task, data(3)), 0);
        if (again) says("is reached already: nothing to train");
        assert_null(xt_save(xt_trainer_module(t), in_dir(again ? "second.safetensors" : "first.safetensors")));
        assert_int_equal(xt_validate(t, &task, data(1)), 0);
        assert_null(xt_save(xt_trainer_module(t), in_dir("third.safetensors")));
        assert_null(xt_trainer_save(t, in_dir("whole.ckpt")));
        xt_finish();
    }
    char *bytes[3];
    size_t n[3];
    const char *const names[] = {"first.safetensors", "second.safetensors", "third.safetensors"};
    for (int i = 0; i < 3; i++) assert_null(file_read_all(in_dir(names[i]), &bytes[i], &n[i]));
    for (int i = 1; i < 3; i++) {
        assert_int_equal(n[i], n[0]);
        assert_memory_equal(bytes[i], bytes[0], n[0]);
    }
    for (int i = 0; i < 3; i++) base_free(bytes[i]);
    str_free(&order);
}

/* --- early stopping --- */
static void early_stopping_rows(void **state) {
    (void)state;
    static const double a[] = {6, 5, 5, 5, 5, 5}, b[] = {6, 5, 4, 4, 3, 3}, c[] = {6, 5, 6, 5, 5, 5},
                        up[] = {1, 2, 3, 30, 4, 4}, down[] = {6, 5, 0.5, 4, 3, 2},
                        nan_at_2[] = {6, 5, -NAN, /* as x86 computes it */ 4, 3, 2},
                        falls[] = {0.9, 0.8, 0.2, 0.9, 0.9, 0.9};
    const struct {
        const double *v;
        xt_early_stopping_opts o;
        int last; /* zero-based last epoch */
        const char *says;
    } rows[] = {
        {a, XT_OPTS(xt_early_stopping_opts, .patience = 3), 4, "not become better"},
        {b, XT_OPTS(xt_early_stopping_opts, .patience = 1), 3, "not become better"},
        {c, XT_OPTS(xt_early_stopping_opts, .patience = 3), 4, "not become better"},
        {up, XT_OPTS(xt_early_stopping_opts, .patience = 5, .diverge_at = 20), 3, "= 30 is worse than 20"},
        {up, XT_OPTS(xt_early_stopping_opts, .patience = 5, .diverge_at = 30), 5, "not become better"}, /* strictly */
        {down, XT_OPTS(xt_early_stopping_opts, .stop_at = 1), 2, "= 0.5 is better than 1"},
        {down, XT_OPTS(xt_early_stopping_opts, .stop_at = 0.5), 5, NULL},
        {nan_at_2, XT_OPTS(xt_early_stopping_opts, .patience = 3), 2, "is NaN"},
        {nan_at_2, XT_OPTS(xt_early_stopping_opts, .patience = 3, .check_finite = XT_OFF), 5, NULL},
        {nan_at_2, XT_OPTS(xt_early_stopping_opts, .patience = 1, .check_finite = XT_OFF), 2, "not become better"},
        {falls, XT_OPTS(xt_early_stopping_opts, .mode = XT_MAX, .patience = 9, .diverge_at = 0.3), 2,
         "= 0.2 is worse than 0.3"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        scores = rows[i].v;
        str_clear(&said);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 6, .logger = XT_OFF, .checkpointing = XT_OFF);
        xt_task task = {.net = net,
                        .training_step = train_step,
                        .validation_step = val_scored,
                        .configure_optimizers = sgd,
                        .user = &t};
        xt_early_stopping_opts o = rows[i].o;
        o.monitor = "val/score";
        xt_trainer_add(t, xt_early_stopping_opt(XT_HERE, o));
        assert_int_equal(xt_fit(t, &task, data(1), data(1)), 0);
        if (xt_trainer_global_step(t) - 1 != rows[i].last)
            fail_msg("row %zu: ended after epoch %lld", i, (long long)xt_trainer_global_step(t) - 1);
        if (rows[i].says) says(rows[i].says);
        xt_finish();
    }
    str_free(&order);
}

/* A lower bound keeps the fit going: that is told once, and the end at the end. */
static void early_stopping_is_held(void **state) {
    (void)state;
    static const double worse[] = {1, 2, 3, 4, 5, 6}, better_again[] = {1, 2, 0, 4, 5, 6};
    static const struct {
        const double *v;
        int64_t min_epochs, min_steps;
        const char *held, *ends; /* NULL: max_epochs comes first */
    } rows[] = {{worse, 4, 0,
                 "would stop after epoch 2, step 2: val/score has not become better than 1 in 1 checks; min_epochs = 4 "
                 "holds it",
                 "early stopping after 4 epochs, step 4: "},
                {better_again, 0, 3, "; min_steps = 3 holds it", "early stopping after 3 epochs, step 3: "},
                {worse, 9, 0, "; min_epochs = 9 holds it", NULL},
                {worse, 2, 0, NULL, "early stopping after 2 epochs, step 2: "}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        scores = rows[i].v;
        str_clear(&said);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 6, .min_epochs = rows[i].min_epochs, .min_steps = rows[i].min_steps,
                                     .logger = XT_OFF, .checkpointing = XT_OFF);
        xt_task task = {.net = net,
                        .training_step = train_step,
                        .validation_step = val_scored,
                        .configure_optimizers = sgd,
                        .user = &t};
        xt_trainer_add(t, xt_early_stopping(.monitor = "val/score", .patience = 1));
        assert_int_equal(xt_fit(t, &task, data(1), data(1)), 0);
        const char *held = strstr(str_cstr(&said), "would stop"),
                   *ends = strstr(str_cstr(&said), "early stopping after");
        if (rows[i].held) says(rows[i].held);
        if (rows[i].ends) says(rows[i].ends);
        assert_true(!held == !rows[i].held && !ends == !rows[i].ends);
        assert_true(!held || !strstr(held + 1, "would stop"));
        assert_true(!ends || (!strstr(ends + 1, "early stopping") && ends > held));
        xt_finish();
    }
    str_free(&order);
}

static void a_value_that_is_late(void **state) {
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        xt_task task = {
            .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};
        xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .logger = XT_OFF, .checkpointing = XT_OFF);
        xt_trainer_add(t, xt_early_stopping(.monitor = "val/never", .strict = strict ? XT_DEFAULT : XT_OFF));
        assert_int_equal(xt_fit(t, &task, data(1), data(1)), strict);
        xt_finish();
    }
    says("val/never was not logged; logged so far: val/loss");
    str_free(&order);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(hooks_come_in_order),   T(passes_leave_the_fit_alone), T(best_and_last),
        T(best_of_a_resumed_run), T(last_of_a_folder),           T(a_finished_fit_is_resumed),
        T(early_stopping_rows),   T(early_stopping_is_held),     T(a_value_that_is_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
