/* What a resumed run must repeat to the bit where the plain cases do not reach: windows that a validation interrupts,
 * running means, spikes, values that no row has shown yet; and which file belongs to which validation. */
#include "train_test.h"

#include <dirent.h>

enum { SAMPLES = 44, WIDTH = 6 };
static xt_running *running;
static int64_t spike_at;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_batch_norm(m, "bn", xt_linear(m, "a", x, 16)));
    return xt_linear(m, "b", xt_dropout(m, x, 0.3), 4);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    xt_trainer *t = *(xt_trainer **)user;
    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
    bool spikes = xt_trainer_global_step(t) + 1 == spike_at; /* data of the step, not another program */
    loss = xt_mul(loss, xt_full(spikes ? 50 : 1, XT_F32));
    if (!running) running = xt_running_new(5);
    xt_log("avg", xt_running_mean(running, loss), .reduce = XT_LAST);
    xt_log("epoch", loss, .on_step = XT_OFF, .on_epoch = XT_ON);
    /* in windows whose step has no row, too */
    if (b.index % 5 == 1) xt_log("rare", loss, .on_step = XT_ON, .on_epoch = XT_ON);
    /* functions of sums, that no later step of the epoch brings again */
    if (b.index == 1) {
        xt_log_metric("f1", xt_f1_avg(out, b.y, XT_MACRO), .on_step = XT_ON, .on_epoch = XT_ON);
        xt_log_metric("matrix", xt_confusion_matrix(out, b.y), .on_epoch = XT_ON);
        xt_log_metric("r2", xt_r2(out, xt_mul(out, 2)), .on_epoch = XT_ON);
        xt_log_metric("perplexity", xt_perplexity(out, b.y), .on_epoch = XT_ON);
        xt_log_metric("auroc", xt_auroc(xt_softmax(out, -1), b.y), .on_epoch = XT_ON);
    }
    if (b.index == 10) xt_log("late", loss); /* which a row of the next epoch may be the first to show */
    return loss;
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y));
}
static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return xt_adamw(m, .lr = 0.01);
}

static xt_loader *data(bool shuffle) {
    static float x[SAMPLES * WIDTH];
    static int64_t y[SAMPLES];
    for (int i = 0; i < SAMPLES * WIDTH; i++) x[i] = (float)sin(i * i + 1);
    for (int i = 0; i < SAMPLES; i++) y[i] = i * 7 % 4;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {WIDTH}}, y, (xt_spec){XT_I64}, SAMPLES), .batch = 4,
                         .shuffle = shuffle ? XT_ON : XT_OFF);
}

/* Rows as text, but for the wall time. */
static xt_status take_row(const xt_log_row *r, void *user) {
    for (int64_t i = 0; i < r->n; i++)
        str_printf(user, "%s%s %lld %lld %lld %lld %s %.9g\n", r->stage, r->epoch_level ? " epoch" : "",
                   (long long)r->step, (long long)r->epoch, (long long)r->batch, (long long)r->samples, r->names[i],
                   r->values[i]);
    return NULL;
}
static const xt_logger_desc logger = {.struct_size = sizeof(xt_logger_desc), .name = "text", .row = take_row};

static float weights[2][WIDTH * 16];
static int64_t period = 1;
static bool by_epochs; /* files at the ends of epochs, not after validations */
/* After the step: it goes with the next one, over the end of an epoch and over a validation. */
static void after_step(xt_trainer *t, void *user) {
    int64_t step = xt_trainer_global_step(t);
    (void)user;
    xt_log_value("after", (double)step / 3, .on_step = XT_ON, .on_epoch = XT_ON);
    if (step % 4 == 0) xt_log("norm", xt_sum(xt_square(xt_module_find(xt_trainer_module(t), "b.bias"))));
}
static const xt_callback_desc after = {
    .struct_size = sizeof(xt_callback_desc), .name = "after", .step_end = after_step};

static void fit(int64_t steps, const char *resume, const char *folder, str *rows, int into) {
    static xt_trainer *t;
    xt_task task = {
        .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = adam, .user = &t};
    running = NULL;
    spike_at = 9;
    t = TEST_TRAINER(.max_epochs = 4, .max_steps = steps, .accumulate_grad_batches = 3, .log_every_n_steps = period,
                     .val_every = "2batches", .seed = 5, .loggers = "jsonl", .resume = resume);
    xt_trainer_add_logger(t, &logger, rows);
    xt_trainer_add(t, xt_spike_detection(.window = 4));
    xt_trainer_add(t, xt_callback_new(&after, NULL));
    if (folder)
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = folder, .save_top_k = -1, .save_last = XT_OFF,
                                              .filename = "{step}", .every_n_epochs = by_epochs));
    str_clear(&said);
    if (xt_fit(t, &task, data(true), data(false)))
        fail_msg("%s", said.len > 400 ? str_cstr(&said) + said.len - 400 : str_cstr(&said));
    xt_tensor w = xt_module_find(xt_trainer_module(t), "a.weight");
    assert_true(xt_read(w, weights[into], sizeof weights[into]));
    xt_finish();
}

/* Without the lines of `head` that are before the first of `tail`, both end alike. */
static void ends_with(const char *whole, const char *tail, const char *what) {
    size_t n = strlen(whole), k = strlen(tail);
    if (k == 0 || k > n || strcmp(whole + n - k, tail) != 0)
        fail_msg("%s: rows\n%sdo not end the unbroken run's\n%s", what, tail, whole);
}

/* 11 micro-batches an epoch, windows of 3, 3, 3 and 2, a validation after each second micro-batch: most are within a
 * window, and their files wait for its end. */
static void resume_each(const char *name) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s", in_dir(name));
    str whole = STR_INIT;
    fit(-1, NULL, folder, &whole, 0);
    if (period == 1) assert_non_null(strstr(str_cstr(&whole), "spikes 3\n"));
    assert_non_null(strstr(str_cstr(&whole), "rare_step"));
    DIR *d = opendir(folder);
    int files = 0;
    for (struct dirent *e; (e = readdir(d));) {
        /* the last has nothing left to train */
        if (e->d_name[0] == '.' || strcmp(e->d_name, "step=16.ckpt") == 0) continue;
        char path[520];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        str rows = STR_INIT;
        fit(-1, path, NULL, &rows, 1);
        ends_with(str_cstr(&whole), str_cstr(&rows), e->d_name);
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
        str_free(&rows);
        files++;
    }
    closedir(d);
    assert_in_range(files, by_epochs ? 3 : 10, by_epochs ? 3 : 16);
    str_free(&whole);
}
static void resumed_within_windows(void **state) {
    (void)state;
    resume_each("kept");
}
/* A row every third of an epoch's four steps; one in two epochs, with what was logged in either; and none but the
 * last step's. */
static void resumed_after_the_row(void **state) {
    (void)state;
    static const int64_t periods[] = {3, 7, 100};
    for (size_t i = 0; i < 2 * BASE_COUNT(periods); i++) {
        char name[32];
        by_epochs = i % 2;
        snprintf(name, sizeof name, "kept%d%s", (int)(period = periods[i / 2]), by_epochs ? "epochs" : "");
        resume_each(name);
    }
    period = 1;
    by_epochs = false;
}

/* A function of the program's own comes with its log call: what the sums of the first half were is told. */
static double most(const double *sums, int64_t n, double arg) {
    return n == 4 && sums[0] > sums[1] ? sums[0] * arg : sums[1] * arg;
}
static xt_tensor logs_its_own(xt_module *m, xt_batch b, void *user) {
    xt_tensor out = xt_forward(m, b.x);
    (void)user;
    if (b.index == 1)
        xt_log_metric("own", ((xt_metric){.sums = xt_sum(out, 0), .finish = most, .arg = 2}), .on_epoch = XT_ON);
    return xt_cross_entropy(out, b.y);
}
static void a_function_of_its_own_is_told(void **state) {
    (void)state;
    char folder[256], half[300];
    snprintf(folder, sizeof folder, "%s", in_dir("own"));
    snprintf(half, sizeof half, "%s/step=4.ckpt", folder);
    xt_task task = {.net = net, .training_step = logs_its_own, .configure_optimizers = adam};
    for (int resumed = 0; resumed < 2; resumed++) {
        str rows = STR_INIT;
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .seed = 5, .loggers = "jsonl", .resume = resumed ? half : NULL);
        xt_trainer_add_logger(t, &logger, &rows);
        if (!resumed)
            xt_trainer_add(t, xt_model_checkpoint(.dirpath = folder, .every_n_steps = 4, .save_top_k = -1,
                                                  .save_last = XT_OFF, .filename = "{step}"));
        str_clear(&said);
        assert_int_equal(xt_fit(t, &task, data(true), NULL), 0);
        xt_finish();
        assert_int_equal(strstr(str_cstr(&rows), "own_epoch") != NULL, !resumed);
        assert_int_equal(strstr(str_cstr(&said), "\"own_epoch\" has no value in the row of step 11") != NULL, resumed);
        str_free(&rows);
    }
}

/* --- files and validations --- */
static double score;
static xt_tensor one(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor mean_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_forward(m, b.x));
}
static void scored(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)b;
    (void)user;
    if (b.index == 0) score += 1;
    xt_log_value("val/score", score);
}
static const xt_task simple = {
    .net = one, .training_step = mean_step, .validation_step = scored, .configure_optimizers = adam};

static const float zeros[256];
static xt_loader *ones(int64_t batches) {
    return xt_loader_new(xt_array_dataset(zeros, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, batches), .batch = 1);
}

static bool kept(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "files/%s.ckpt", name);
    return file_exists(in_dir(path));
}

/* A save that is due with a validation is of that validation's value, within an epoch and at its end. */
static void saved_after_the_validation(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", in_dir("files"));
    score = 0;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .val_every = "2steps", .logger = XT_OFF);
    xt_trainer_add(t,
                   xt_model_checkpoint(.dirpath = folder, .monitor = "val/score", .mode = XT_MAX, .every_n_steps = 2,
                                       .save_top_k = -1, .save_last = XT_OFF, .filename = "a{step}-{val/score:.0f}"));
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = folder, .every_n_steps = 3, .save_top_k = -1, .save_last = XT_OFF,
                                          .filename = "b{step}-{val/score:.0f}"));
    assert_int_equal(xt_fit(t, &simple, ones(4), ones(1)), 0);
    xt_finish();
    assert_true(kept("astep=2-val_score=1") && kept("astep=4-val_score=2") && kept("astep=6-val_score=3") &&
                kept("astep=8-val_score=4"));
    assert_true(kept("bstep=3-val_score=1") && kept("bstep=6-val_score=3"));
    score = 0;
    t = TEST_TRAINER(.max_epochs = 2, .logger = XT_OFF);
    xt_trainer_add(t,
                   xt_model_checkpoint(.dirpath = folder, .monitor = "val/score", .mode = XT_MAX, .every_n_steps = 4,
                                       .save_top_k = -1, .save_last = XT_OFF, .filename = "c{step}-{val/score:.0f}"));
    assert_int_equal(xt_fit(t, &simple, ones(4), ones(1)), 0);
    double best;
    xt_trainer_best_checkpoint(t, &best);
    assert_true(best == 2);
    xt_finish();
    assert_true(kept("cstep=4-val_score=1") && kept("cstep=8-val_score=2"));
}

/* One name for all files, in quick succession: the newest stays, whatever the writer has still to do. */
static void one_name_for_all(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", in_dir("files"));
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
    xt_trainer_add(t,
                   xt_model_checkpoint(.dirpath = folder, .every_n_steps = 1, .save_last = XT_OFF, .filename = "best"));
    assert_int_equal(xt_fit(t, &simple, ones(20), NULL), 0);
    assert_true(kept("best") && !kept("best-v1") && !kept("best-v2"));
    xt_trainer *more = TEST_TRAINER(.max_epochs = 2, .logger = XT_OFF, .resume = in_dir("files/best.ckpt"));
    assert_int_equal(xt_fit(more, &simple, ones(20), NULL), 0);
    assert_int_equal(xt_trainer_global_step(more), 40); /* it was of step 20 */
}

/* --- the end of a fit --- */
static int64_t stops_at, passes;
static void stop_there(xt_trainer *t, void *user) {
    (void)user;
    if (xt_trainer_global_step(t) == stops_at) xt_trainer_stop(t);
}
static void count_pass(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    passes++;
}
static void stopped_fits_are_validated(void **state) {
    (void)state;
    static const xt_callback_desc stopper = {.struct_size = sizeof(xt_callback_desc),
                                             .name = "stopper",
                                             .step_end = stop_there,
                                             .validation_end = count_pass};
    static const struct {
        const char *every;
        int64_t at, passes;
    } rows[] = {{"3steps", 5, 2},  {"3steps", 6, 2},   {"1epochs", 5, 1},
                {"2epochs", 5, 0}, {"4batches", 5, 2}, {"100h", 5, 1}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        stops_at = rows[i].at;
        passes = 0;
        xt_trainer *t =
            TEST_TRAINER(.max_epochs = 2, .val_every = rows[i].every, .logger = XT_OFF, .checkpointing = XT_OFF);
        xt_trainer_add(t, xt_callback_new(&stopper, NULL));
        assert_int_equal(xt_fit(t, &simple, ones(10), ones(1)), 0);
        if (passes != rows[i].passes || xt_trainer_global_step(t) != rows[i].at)
            fail_msg("%s stopped at %lld: %lld passes, step %lld", rows[i].every, (long long)stops_at,
                     (long long)passes, (long long)xt_trainer_global_step(t));
        xt_finish();
    }
}

static bool any_version(void) {
    return file_exists(in_dir("default/version_0"));
}
static xt_tensor refuses(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)user;
    return b.x;
}
static void log_early(xt_module *m, void *user) {
    (void)m;
    (void)user;
    xt_log_value("early", 3);
}

/* Nothing trained, no folder: a refused first step, a callback's refusal, a resumed run that is through. What was
 * logged before stays. */
static void no_folder_for_nothing(void **state) {
    (void)state;
    xt_task task = simple;
    task.training_step = refuses;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .loggers = "csv,tensorboard,jsonl");
    xt_trainer_add(t, xt_model_checkpoint());
    xt_loader *two = xt_loader_new(xt_array_dataset(zeros, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 4), .batch = 2);
    assert_int_equal(xt_fit(t, &task, two, NULL), 1);
    assert_false(any_version());
    assert_null(xt_trainer_run_dir(t));
    says("is not kept");
    assert_int_equal(xt_fit(t, &simple, ones(4), NULL), 0); /* the same trainer goes on with a good task */
    assert_true(any_version() && file_exists(in_dir("default/version_0/checkpoints/last.ckpt")) &&
                file_exists(in_dir("default/version_0/metrics.csv")));
    xt_finish();
    t = TEST_TRAINER(.max_epochs = 1, .resume = in_dir("default/version_0"));
    assert_int_equal(xt_fit(t, &simple, ones(4), NULL), 0);
    assert_false(file_exists(in_dir("default/version_1")));
    xt_finish();
    task.on_train_start = log_early;
    two = xt_loader_new(xt_array_dataset(zeros, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 4), .batch = 2);
    t = TEST_TRAINER(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &task, two, NULL), 1);
    assert_true(file_exists(in_dir("default/version_1/metrics.csv")));
}

/* --- schedules and finders --- */
static int64_t planned;
static xt_trainer *asked;
static xt_optimizer *asks(xt_module *m, void *user) {
    (void)user;
    planned = xt_trainer_planned_steps(asked);
    return xt_sgd(m, .lr = 0.1);
}
static void planned_steps_know_the_windows(void **state) {
    (void)state;
    xt_task task = simple;
    task.configure_optimizers = asks;
    xt_trainer *t = asked =
        TEST_TRAINER(.max_epochs = 5, .accumulate_grad_batches = 2, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_trainer_add(t, xt_accumulation_schedule(.n = 2, .epochs = (int64_t[]){1, 3}, .factors = (int64_t[]){3, 7}));
    assert_int_equal(xt_fit(t, &task, ones(7), NULL), 0);
    assert_int_equal(planned, 4 + 2 * 3 + 2 * 1);
    assert_int_equal(xt_trainer_global_step(t), planned);
}

static int64_t largest;
static xt_loader *sized(int64_t batch, void *user) {
    (void)user;
    if (batch > largest) largest = batch;
    return xt_loader_new(xt_array_dataset(zeros, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 256), .batch = batch);
}
static void trials_are_their_own(void **state) {
    (void)state;
    largest = 0;
    assert_int_equal(xt_batch_find(&simple, sized, NULL, .most = 100), 100); /* all of it fits: nothing is kept free */
    assert_int_equal(largest, 100);
    assert_int_equal(xt_batch_find(&simple, sized, NULL, .most = 100, .power_only = XT_ON), 64);
    setenv("XT_TRAINER_MAX_STEPS", "2", 1); /* of the fit to come */
    double lr = xt_lr_find(&simple, ones(30), .steps = 20, .skip_first = 1);
    unsetenv("XT_TRAINER_MAX_STEPS");
    assert_true(isfinite(lr));
}

/* --- batch norms of averaged weights --- */
static xt_tensor normed(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_batch_norm(m, "bn", x);
}
static void statistics_made_anew(void **state) {
    (void)state;
    enum { BATCHES = 6, B = 7 };
    static float x[BATCHES * B * 2];
    double mean[2] = {0}, var[2] = {0};
    for (int i = 0; i < BATCHES * B * 2; i++) x[i] = (float)(sin(i * i) * (i % 2 ? 3 : 1) + i % 2);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < BATCHES; k++) {
            double m = 0, v = 0;
            for (int i = 0; i < B; i++) m += x[(k * B + i) * 2 + c] / B;
            for (int i = 0; i < B; i++) v += pow(x[(k * B + i) * 2 + c] - m, 2) / (B - 1);
            mean[c] += m / BATCHES;
            var[c] += v / BATCHES;
        }
    xt_module *m = xt_module_new(normed, NULL);
    xt_loader *l =
        xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){0}, BATCHES * B), .batch = B);
    for (xt_batch b; xt_next(l, &b);) xt_forward(m, b.x); /* by momentum 0.1 */
    xt_eval(m);
    assert_null(xt_update_batch_norms(m, l));
    assert_false(xt_is_training(m));
    float got[2];
    assert_true(xt_read(xt_module_find(m, "bn.running_mean"), got, sizeof got));
    for (int c = 0; c < 2; c++) assert_float_equal(got[c], mean[c], 1e-6);
    assert_true(xt_read(xt_module_find(m, "bn.running_var"), got, sizeof got));
    for (int c = 0; c < 2; c++) assert_float_equal(got[c], var[c], 1e-5);
    xt_status s = xt_update_batch_norms(m, NULL);
    assert_non_null(s);
    xt_status_free(s);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(resumed_within_windows),
                                       T(resumed_after_the_row),
                                       T(a_function_of_its_own_is_told),
                                       T(saved_after_the_validation),
                                       T(one_name_for_all),
                                       T(stopped_fits_are_validated),
                                       T(no_folder_for_nothing),
                                       T(planned_steps_know_the_windows),
                                       T(trials_are_their_own),
                                       T(statistics_made_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
