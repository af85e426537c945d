/* The callbacks of train_callbacks.h, hooks, prediction, several optimizers, the finders: each on a network small
 * enough to check by hand. */
#include "train_test.h"

#include "format/npy.h"
#include "train/train_int.h"

/* --- y = w x with w = 1 at first; the loss is w x, so each step takes lr * mean(x) from w --- */
static int steps, fail_at;
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (++steps == fail_at) return xt_matmul(b.x, b.x);
    return xt_mean(xt_forward(m, b.x));
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_forward(m, b.x);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
static const xt_task task = {
    .net = net, .training_step = train_step, .predict_step = predict_step, .configure_optimizers = sgd};

static float samples[64];
static xt_loader *data(int64_t n, int64_t batch, xt_switch drop) {
    for (int i = 0; i < 64; i++) samples[i] = 1;
    return xt_loader_new(xt_array_dataset(samples, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, n), .batch = batch,
                         .drop_last = drop);
}
static double weight(xt_trainer *t) {
    float w;
    xt_mark_step();
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "w"), &w, sizeof w));
    return w;
}
#define TRAINER(...)                                                                                   \
    xt_trainer_new(.runs_dir = dir, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF, \
                   .model_summary = XT_OFF, __VA_ARGS__)

/* --- averages --- */
static double seen_in_validation;
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/w", xt_mean(xt_forward(m, b.x)));
}

static void the_exponential_average_is_validated_and_kept(void **state) {
    (void)state;
    xt_task validated = task;
    validated.validation_step = val_step;
    xt_trainer *t = TRAINER(.max_epochs = 2);
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.5));
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir("ema")));
    assert_int_equal(xt_fit(t, &validated, data(4, 2, XT_ON), data(2, 2, XT_ON)), 0);
    /* w: .9 .8 | .7 .6; its average: .9 .85 | .775 .6875 */
    assert_true(fabs(weight(t) - 0.6875) < 1e-6);
    seen_in_validation = xt_trainer_metric(t, "val/w", true);
    assert_true(fabs(seen_in_validation - 0.6875) < 1e-6);
    assert_int_equal(xt_trainer_result(t).compiles, 2);
    xt_finish();
    /* A resumed run has the parameter itself, and its average. */
    t = TRAINER(.max_epochs = 3, .resume = in_dir("ema/last.ckpt"));
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.5));
    assert_int_equal(xt_fit(t, &validated, data(4, 2, XT_ON), data(2, 2, XT_ON)), 0);
    /* w: .5 .4; average: .59375 .496875 */
    assert_true(fabs(weight(t) - 0.496875) < 1e-6);
}

/* The file of a fit's end has averages and parameters the other way round, as the module has: whoever wrote it. A run
 * that resumes has each in its place, whether its module is there already, is made by the first batch, or is the same
 * run's without averages. */
typedef enum saver { SAVER_TRAINER, SAVER_BEFORE, SAVER_BEHIND, SAVER_COUNT } saver;
typedef enum resumed { RESUMED_NEW, RESUMED_BUILT, RESUMED_ALONE, RESUMED_COUNT } resumed;
static void resume_behind_the_end(saver by, resumed how, int64_t max_epochs) {
    xt_trainer *t = xt_trainer_new(.runs_dir = dir, .run_name = "ends", .logger = XT_OFF, .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF, .max_epochs = 2);
    if (by == SAVER_BEFORE) xt_trainer_add(t, xt_model_checkpoint());
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.5));
    if (by == SAVER_BEHIND) xt_trainer_add(t, xt_model_checkpoint());
    assert_int_equal(xt_fit(t, &task, data(4, 2, XT_ON)), 0);
    assert_true(fabs(weight(t) - 0.6875) < 1e-6);
    char path[1200];
    snprintf(path, sizeof path, "%s/checkpoints/last.ckpt", xt_trainer_run_dir(t));
    xt_finish();
    xt_task again = task;
    t = TRAINER(.max_epochs = max_epochs, .resume = path);
    again.module = how == RESUMED_BUILT ? xt_module_new(net, NULL) : NULL;
    if (again.module) assert_null(xt_module_build(again.module, (xt_spec){XT_F32, {2, 1}}));
    if (how != RESUMED_ALONE) xt_trainer_add(t, xt_weight_averaging(.decay = 0.5));
    assert_int_equal(xt_fit(t, &again, data(4, 2, XT_ON)), 0);
    /* w: .9 .8 | .7 .6 | .5 .4; its average: .9 .85 | .775 .6875 | .59375 .496875 */
    double parameter = max_epochs == 3 ? 0.4 : 0.6, average = max_epochs == 3 ? 0.496875 : 0.6875;
    assert_true(fabs(weight(t) - (how == RESUMED_ALONE ? parameter : average)) < 1e-6);
    xt_finish();
}
static void the_end_of_an_average_is_resumed(void **state) {
    (void)state;
    for (saver by = SAVER_TRAINER; by < SAVER_COUNT; by++)
        for (resumed how = RESUMED_NEW; how < RESUMED_COUNT; how++)
            for (int64_t max_epochs = 2; max_epochs <= 3; max_epochs++) /* 2: nothing is left to train */
                resume_behind_the_end(by, how, max_epochs);
}

/* A pass with a checkpoint's weights sees what the fit's validation saw, in a module that is there and in one
 * that is not yet. */
static void passes_take_the_averages(void **state) {
    (void)state;
    xt_task validated = task;
    validated.validation_step = val_step;
    xt_trainer *t = TRAINER(.max_epochs = 2);
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.5));
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir("averaged"), .save_top_k = -1));
    assert_int_equal(xt_fit(t, &validated, data(4, 2, XT_ON), data(2, 2, XT_ON)), 0);
    xt_finish();
    for (int built = 0; built < 2; built++) {
        t = TRAINER(.ckpt = in_dir("averaged/epoch=0-step=2.ckpt"));
        validated.module = built ? xt_module_new(net, NULL) : NULL;
        if (built) assert_null(xt_module_build(validated.module, (xt_spec){XT_F32, {2, 1}}));
        assert_int_equal(xt_validate(t, &validated, data(2, 2, XT_ON)), 0);
        says("(their averages)");
        assert_true(fabs(xt_trainer_metric(t, "val/w", true) - 0.85) < 1e-6);
        assert_null(strstr(str_cstr(&said), "no layer of the module"));
        assert_null(strstr(str_cstr(&said), "1000 epochs"));
        if (built) xt_module_free(validated.module);
        xt_finish();
    }
}

static void stochastic_weight_averaging_takes_epochs(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_epochs = 4);
    xt_trainer_add(t, xt_weight_averaging(.swa = XT_ON, .start_epoch = 2));
    assert_int_equal(xt_fit(t, &task, data(4, 2, XT_ON), NULL), 0);
    assert_true(fabs(weight(t) - (0.4 + 0.2) / 2) < 1e-6); /* w after epochs 2 and 3 */
    xt_finish();
    t = TRAINER(.max_epochs = 3);
    xt_trainer_add(t, xt_weight_averaging(.swa = XT_ON, .start_epoch = 1, .swa_lr = 0.01, .anneal_epochs = 2));
    assert_int_equal(xt_fit(t, &task, data(4, 2, XT_ON), NULL), 0);
    double half = 0.01 + 0.09 * 0.5; /* the cosine's middle, then its end */
    assert_true(fabs(xt_optimizer_lr(xt_trainer_optimizer(t)) - 0.01) < 1e-12);
    assert_true(fabs(weight(t) - ((0.8 - 2 * half) + (0.8 - 2 * half - 2 * 0.01)) / 2) < 1e-6);
}

/* --- windows, time, errors --- */
static void accumulation_follows_its_schedule(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_epochs = 3);
    xt_trainer_add(t, xt_accumulation_schedule(.n = 2, .epochs = (int64_t[]){1, 2}, .factors = (int64_t[]){2, 4}));
    assert_int_equal(xt_fit(t, &task, data(16, 2, XT_ON), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 8 + 4 + 2);
    assert_true(fabs(weight(t) - (1 - 14 * 0.1)) < 1e-5); /* a window's gradient is the mean of its micro-batches */
    assert_null(xt_accumulation_schedule(.n = 2, .epochs = (int64_t[]){2, 1}, .factors = (int64_t[]){2, 4}));
    assert_non_null(strstr(xt_status_message(xt_error()), "epochs rise"));
    xt_clear_error();
}

static void the_timer_counts_earlier_fits(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_epochs = -1);
    xt_trainer_add(t, xt_timer(.duration = "0.02s"));
    assert_int_equal(xt_fit(t, &task, data(16, 2, XT_ON), NULL), 0);
    assert_true(xt_trainer_elapsed(t) >= 0.02);
    assert_null(xt_trainer_save(t, in_dir("timed.ckpt")));
    xt_finish();
    t = TRAINER(.max_epochs = -1, .resume = in_dir("timed.ckpt"));
    xt_trainer_add(t, xt_timer(.duration = "0.02s"));
    steps = 0;
    assert_int_equal(xt_fit(t, &task, data(16, 2, XT_ON), NULL), 0);
    assert_true(steps <= 2); /* its time is over already; the clock is looked at after a step */
    assert_null(xt_timer(.duration = "6:00:00"));
    xt_clear_error();
}

static int told;
static void on_exception(xt_module *m, xt_status error, void *user) {
    (void)m;
    (void)user;
    told += strstr(xt_status_message(error), "matmul") != NULL || xt_status_message(error)[0] != 0;
}

static void an_error_leaves_a_checkpoint(void **state) {
    (void)state;
    xt_task failing = task;
    failing.on_exception = on_exception;
    steps = told = 0;
    fail_at = 4;
    xt_trainer *t = TRAINER(.max_epochs = 1);
    xt_trainer_add(t, xt_exception_checkpoint(.dirpath = in_dir("broken")));
    assert_int_equal(xt_fit(t, &failing, data(16, 2, XT_ON), NULL), 1);
    assert_int_equal(told, 1);
    fail_at = 0;
    says("the state before the error is in");
    xt_finish();
    char file[256];
    snprintf(file, sizeof file, "%s", in_dir("broken/on_exception.ckpt"));
    assert_true(file_exists(file));
    t = TRAINER(.max_epochs = 1, .resume = file);
    xt_trainer_add(t, xt_exception_checkpoint(.dirpath = in_dir("broken")));
    assert_int_equal(xt_fit(t, &task, data(16, 2, XT_ON), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 8);
    assert_true(fabs(weight(t) - 0.2) < 1e-6);
    assert_false(file_exists(file));
}

/* --- spikes, statistics --- */
static xt_optimizer *hardly(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 1e-6);
}

static void spikes_are_found_on_the_device(void **state) {
    (void)state;
    static float x[40];
    for (int i = 0; i < 40; i++) x[i] = i == 20 ? 50 : i == 30 ? NAN : 1;
    xt_task still = task;
    still.configure_optimizers = hardly;
    xt_trainer *t = TRAINER(.max_epochs = 1, .log_every_n_steps = 5);
    xt_trainer_add(t, xt_spike_detection(.window = 5));
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 20), .batch = 1);
    assert_int_equal(xt_fit(t, &still, l, NULL), 0);
    assert_null(strstr(str_cstr(&said), "spiked"));
    int64_t reads = xt_trainer_result(t).host_reads;
    xt_finish();
    t = TRAINER(.max_epochs = 1, .log_every_n_steps = 5);
    l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 20), .batch = 1);
    assert_int_equal(xt_fit(t, &still, l, NULL), 0);
    assert_true(reads <= xt_trainer_result(t).host_reads + 1); /* watching costs no read a batch */
    xt_finish();
    t = TRAINER(.max_epochs = 1, .log_every_n_steps = 5);
    xt_trainer_add(t, xt_spike_detection(.window = 5));
    l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 30), .batch = 1);
    char *text;
    size_t n;
    char here[1024];
    if (!getcwd(here, sizeof here) || chdir(dir) != 0) fail();
    assert_int_equal(xt_fit(t, &still, l, NULL), 0);
    assert_int_equal(chdir(here), 0);
    says("the loss spiked in micro-batch 20 ");
    assert_null(file_read_all(in_dir("skip_batches.json"), &text, &n));
    assert_string_equal(text, "[20]\n");
    base_free(text);
    assert_null(xt_spike_detection(.window = 5, .warmup = 9));
    xt_clear_error();
}

/* A row tells of a spike when later batches have had theirs: each is listed once, by its own number. */
static void spikes_close_together_have_their_numbers(void **state) {
    (void)state;
    static float x[68];
    static const char *const list = "[13, 14, 16, 30, 31, 33, 47, 48, 50, 64, 65, 67]\n";
    xt_task still = task;
    still.configure_optimizers = hardly;
    for (int i = 0; i < 68; i++) x[i] = i % 17 == 13 || i % 17 == 14 || i % 17 == 16 ? 50 : 1;
    for (int every = 1; every <= 50; every += 7) {
        char here[1024], *text;
        size_t n;
        xt_trainer *t = TRAINER(.max_epochs = 1, .log_every_n_steps = every);
        xt_trainer_add(t, xt_spike_detection(.window = 5));
        xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 68), .batch = 1);
        if (!getcwd(here, sizeof here) || chdir(dir) != 0) fail();
        assert_int_equal(xt_fit(t, &still, l, NULL), 0);
        assert_int_equal(chdir(here), 0);
        assert_null(file_read_all(in_dir("skip_batches.json"), &text, &n));
        assert_string_equal(text, list);
        base_free(text);
        xt_finish();
    }
}

/* Runs have more batches than an f32 counts, and more spikes between two rows than the device remembers. */
static int64_t batches_before;
static void far_on(xt_trainer *t, void *user) {
    (void)user;
    t->position.batches = batches_before;
}
static void spikes_of_long_runs_have_their_numbers(void **state) {
    (void)state;
    static const xt_callback_desc begins = {.struct_size = sizeof begins, .name = "far", .epoch_start = far_on};
    static float x[1200];
    xt_task still = task;
    still.configure_optimizers = hardly;
    batches_before = (1 << 24) + 1;
    for (int i = 0; i < 1200; i++) x[i] = i == 20 || i == 22 ? 50 : 1;
    xt_trainer *t = TRAINER(.max_epochs = 1, .log_every_n_steps = 5);
    xt_trainer_add(t, xt_callback_new(&begins, NULL));
    xt_trainer_add(t, xt_spike_detection(.window = 5));
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 30), .batch = 1);
    char here[1024];
    if (!getcwd(here, sizeof here) || chdir(dir) != 0) fail();
    assert_int_equal(xt_fit(t, &still, l, NULL), 0);
    says(" 16777237");
    says(" 16777239");
    xt_finish();
    str_clear(&said);
    for (int i = 20; i < 1060; i++) x[i] = 50;
    t = TRAINER(.max_epochs = 1, .log_every_n_steps = 5000);
    xt_trainer_add(t, xt_spike_detection(.window = 5));
    l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 1200), .batch = 1);
    assert_int_equal(xt_fit(t, &still, l, NULL), 0);
    assert_int_equal(chdir(here), 0);
    says("1040 spikes so far; of 16 before these, more than 1024 since the row before, the numbers are not known");
}

static void device_stats_are_in_the_rows(void **state) {
    (void)state;
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .log_every_n_steps = 2, .runs_dir = dir, .loggers = "csv",
                                   .progress_bar = XT_OFF);
    xt_trainer_add(t, xt_device_stats());
    assert_int_equal(xt_fit(t, &task, data(8, 2, XT_ON), NULL), 0);
    char *text;
    size_t n;
    char path[256];
    snprintf(path, sizeof path, "%s/metrics.csv", xt_trainer_run_dir(t));
    assert_null(file_read_all(path, &text, &n));
    static const char *const names[] = {"device/memory_mib", "device/memory_peak_mib", "host/rss_mib",
                                        "host/cpu_percent", "host/memory_percent"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        int rows = 0;
        for (const char *at = text; (at = strstr(at, names[i])); at++) rows++;
        assert_int_equal(rows, 2); /* of four steps, a row every 2 */
    }
    base_free(text);
}

/* Rows that nobody would have are an error, before the first step; a smoke run, which has no logger of its own accord,
 * goes through. */
static void monitors_need_a_logger(void **state) {
    (void)state;
    for (int which = 0; which < 4; which++) {
        xt_trainer *t = which < 2 ? TRAINER(.max_epochs = 1)
                                  : xt_trainer_new(.fast_dev_run = 1, .runs_dir = dir, .progress_bar = XT_OFF);
        xt_trainer_add(t, which % 2 ? xt_device_stats() : xt_lr_monitor());
        assert_int_equal(xt_fit(t, &task, data(8, 2, XT_ON), NULL) == 0, which >= 2);
        assert_int_equal(xt_trainer_global_step(t), which >= 2);
        if (which < 2)
            says(which ? "xt_device_stats: the trainer has no logger" : "xt_lr_monitor: the trainer has no logger");
        xt_clear_error();
    }
}

/* --- predictions, samples --- */
static int64_t predicted;
static void count(const xt_batch *b, xt_tensor out, void *user) {
    (void)user;
    assert_int_equal(xt_dim(out, 0), b->size);
    predicted += b->size;
}

static void predictions_are_written_in_order(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_epochs = 1);
    xt_trainer_add(t, xt_prediction_writer(.path = in_dir("out.npy")));
    predicted = 0;
    xt_loader *l = data(7, 3, XT_OFF);
    for (int i = 0; i < 7; i++) samples[i] = (float)i;
    assert_int_equal(xt_predict(t, &task, l, count, NULL), 0);
    assert_int_equal(predicted, 7);
    char *bytes;
    size_t n;
    xt_array a = {0};
    assert_null(file_read_all(in_dir("out.npy"), &bytes, &n));
    assert_null(npy_decode(bytes, n, "out.npy", &a));
    assert_true(a.rank == 2 && a.dims[0] == 7 && a.dims[1] == 1);
    for (int i = 0; i < 7; i++) assert_true(((const float *)a.data)[i] == (float)i);
    xt_array_free(&a);
    base_free(bytes);
    /* without predict_step it is what the network makes of x */
    predicted = 0;
    assert_int_equal(xt_predict(t, &(xt_task){.net = net}, l, count, NULL), 0);
    assert_int_equal(predicted, 7);
}

static int sampled;
static void sample(xt_module *m, int64_t step, const char *to, void *user) {
    (void)user;
    assert_false(xt_is_training(m));
    assert_non_null(strstr(to, step == 8 ? "samples/step_0000008" : "samples/step_0000004"));
    sampled++;
}

static void samples_come_at_their_interval(void **state) {
    (void)state;
    sampled = 0;
    xt_trainer *t = TRAINER(.max_epochs = 1);
    xt_trainer_add(t, xt_sample_writer(.sample = sample, .every = "4steps"));
    assert_int_equal(xt_fit(t, &task, data(16, 2, XT_ON), NULL), 0);
    assert_int_equal(sampled, 2);
    assert_null(xt_sample_writer(.every = "4steps"));
    xt_clear_error();
}

/* --- hooks, manual optimization, several optimizers --- */
static str order = STR_INIT;
#define NOTE(letter) str_append(&order, letter)
static void h_setup(xt_module *m, const char *stage, void *u) {
    (void)m, (void)u, str_printf(&order, "<%s>", stage);
}
static void h_teardown(xt_module *m, const char *stage, void *u) {
    (void)m, (void)u, str_printf(&order, "</%s>", stage);
}
static void h_prepare(void *u) {
    (void)u, NOTE("prepare ");
}
static void h_fit_start(xt_module *m, void *u) {
    (void)m, (void)u, NOTE("fit ");
}
static void h_fit_end(xt_module *m, void *u) {
    (void)m, (void)u, NOTE("end");
}
static void h_epoch(xt_module *m, int64_t e, void *u) {
    (void)m, (void)e, (void)u, NOTE("epoch ");
}
static void h_epoch_end(xt_module *m, int64_t e, void *u) {
    (void)m, (void)e, (void)u, NOTE("epoch_end ");
}
static bool h_batch(xt_module *m, const xt_batch *b, void *u) {
    return (void)m, (void)u, NOTE("batch "), b->index == 2;
}
static void h_batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *u) {
    (void)m, (void)b, (void)u, NOTE(xt_numel(loss) == 1 ? "batch_end " : "?");
}
static void h_before(xt_module *m, xt_tensor loss, void *u) {
    (void)m, (void)loss, (void)u, NOTE("backward ");
}
static void h_after(xt_module *m, void *u) {
    (void)u, NOTE(xt_grad(xt_module_find(m, "w")).slot ? "gradients " : "?");
}
static void h_step(xt_module *m, void *u) {
    (void)m, (void)u, NOTE("step ");
}
static void h_val(xt_module *m, int64_t e, void *u) {
    (void)m, (void)e, (void)u, NOTE("val ");
}
static void h_val_end(xt_module *m, int64_t e, void *u) {
    (void)m, (void)e, (void)u, NOTE("val_end ");
}

static void hooks_run_in_order(void **state) {
    (void)state;
    xt_task hooked = task;
    hooked.validation_step = val_step;
    hooked.setup = h_setup, hooked.teardown = h_teardown, hooked.prepare_data = h_prepare;
    hooked.on_fit_start = h_fit_start, hooked.on_fit_end = h_fit_end, hooked.on_train_epoch_start = h_epoch,
    hooked.on_train_epoch_end = h_epoch_end;
    hooked.on_train_batch_start = h_batch, hooked.on_train_batch_end = h_batch_end,
    hooked.on_before_backward = h_before, hooked.on_after_backward = h_after;
    hooked.on_before_optimizer_step = h_step, hooked.on_validation_epoch_start = h_val,
    hooked.on_validation_epoch_end = h_val_end;
    xt_trainer *t = TRAINER(.max_epochs = 1, .accumulate_grad_batches = 2);
    assert_int_equal(xt_fit(t, &hooked, data(8, 2, XT_ON), data(2, 2, XT_ON)), 0);
    assert_string_equal(str_cstr(&order), "prepare <fit>fit epoch batch backward gradients batch_end batch backward "
                                          "gradients step batch_end batch val val_end epoch_end end</fit>");
    str_free(&order);
    /* a pass of its own prepares too, of another trainer and of the one that has fitted */
    xt_trainer *const of_passes[] = {TRAINER(.max_epochs = 1), t};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(xt_validate(of_passes[i], &hooked, data(2, 2, XT_ON)), 0);
        assert_int_equal(xt_test(of_passes[i], &hooked, data(2, 2, XT_ON)), 0);
        assert_int_equal(xt_predict(of_passes[i], &hooked, data(2, 2, XT_ON), count, NULL), 0);
        assert_string_equal(str_cstr(&order), "prepare <validate>val val_end </validate>prepare <test></test>"
                                              "prepare <predict></predict>");
        str_free(&order);
    }
}

static xt_tensor two(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_add(xt_mul(x, xt_param(m, "a.w", "ones", 0, XT_F32, 1)),
                  xt_mul(x, xt_param(m, "b.w", "ones", 0, XT_F32, 1)));
}
static xt_optimizer *both[2];
static int configure_two(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)user;
    assert_true(max >= 2);
    both[0] = out[0] = xt_sgd(m, .lr = 0.1);
    both[1] = out[1] = xt_sgd(m, .lr = 0.01);
    xt_optimizer_group(out[0], "b.*", .frozen = XT_ON);
    xt_optimizer_group(out[1], "a.*", .frozen = XT_ON);
    return 2;
}
static xt_tensor alternate(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    xt_backward(loss);
    xt_optimizer_step(both[steps++ % 2]);
    xt_zero_grad(both[0]);
    return loss;
}

static void manual_optimization_steps_by_itself(void **state) {
    (void)state;
    xt_task manual = {
        .net = two, .training_step = alternate, .configure_several = configure_two, .manual_optimization = true};
    steps = 0;
    xt_trainer *t = TRAINER(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &manual, data(8, 2, XT_ON), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 4);
    float a, b;
    xt_mark_step();
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "a.w"), &a, sizeof a) &&
                xt_read(xt_module_find(xt_trainer_module(t), "b.w"), &b, sizeof b));
    assert_true(fabsf(a - 0.8f) < 1e-6f && fabsf(b - 0.98f) < 1e-6f);
    assert_int_equal(xt_fit(TRAINER(.max_epochs = 1, .accumulate_grad_batches = 2), &manual, data(8, 2, XT_ON), NULL),
                     1);
    says("the task optimizes by itself");
}

/* A checkpoint has no weights of a network beside the task's, and a fit says so when it begins. */
static xt_module *second;
static xt_tensor second_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "d", x, 1);
}
static int configure_beside(xt_module *m, xt_optimizer **out, int max, void *user) {
    int n = configure_two(m, out, max, user);
    out[n] = xt_sgd(second, .lr = 0.1);
    return n + 1;
}
static void a_network_beside_the_task_is_told(void **state) {
    (void)state;
    static const char words[] = "of a module beside the task's network";
    for (int beside = 0; beside < 2; beside++) {
        xt_task manual = {.net = two,
                          .training_step = alternate,
                          .configure_several = beside ? configure_beside : configure_two,
                          .manual_optimization = true};
        second = xt_module_new(second_net, NULL);
        str_clear(&said);
        assert_int_equal(xt_fit(TRAINER(.max_epochs = 1, .checkpointing = XT_ON), &manual, data(8, 2, XT_ON), NULL), 0);
        assert_int_equal(strstr(str_cstr(&said), words) != NULL, beside);
        xt_finish();
    }
    second = xt_module_new(second_net, NULL);
    str_clear(&said);
    xt_task manual = {
        .net = two, .training_step = alternate, .configure_several = configure_beside, .manual_optimization = true};
    assert_int_equal(xt_fit(TRAINER(.max_epochs = 1), &manual, data(8, 2, XT_ON), NULL), 0);
    assert_null(strstr(str_cstr(&said), words));
    xt_finish();
}

/* Who steps the optimizers steps their schedules: the trainer does not do it as well. */
static xt_scheduler *scheduled;
static double rate_then;
static int configure_scheduled(xt_module *m, xt_optimizer **out, int max, void *user) {
    int n = configure_two(m, out, max, user);
    scheduled = xt_step_schedule(out[0], .step_size = 1, .gamma = 0.5);
    return n;
}
static void step_schedule(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    xt_schedule_step(scheduled);
    rate_then = xt_optimizer_lr(both[0]);
}
static void note_rate(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    rate_then = xt_optimizer_lr(both[0]);
}

static void manual_optimization_steps_its_schedules(void **state) {
    (void)state;
    xt_task manual = {.net = two,
                      .training_step = alternate,
                      .configure_several = configure_scheduled,
                      .on_train_epoch_end = step_schedule,
                      .manual_optimization = true};
    str_clear(&said);
    assert_int_equal(xt_fit(TRAINER(.max_epochs = 3), &manual, data(8, 2, XT_ON), NULL), 0);
    assert_true(fabs(rate_then - 0.0125) < 1e-9);
    assert_null(strstr(str_cstr(&said), "schedule"));
    xt_finish();
    manual.on_train_epoch_end = note_rate;
    assert_int_equal(xt_fit(TRAINER(.max_epochs = 3), &manual, data(8, 2, XT_ON), NULL), 0);
    assert_true(fabs(rate_then - 0.1) < 1e-9);
    says("has never stepped");
    says("With .manual_optimization the task steps its schedules");
}

/* A validation that the program has left out is no missing loader. */
static void a_watched_value_without_validations(void **state) {
    (void)state;
    xt_task validated = task;
    validated.validation_step = val_step;
    xt_trainer *t = TRAINER(.max_epochs = 1, .limit_val_batches = 0);
    xt_trainer_add(t, xt_early_stopping(.monitor = "val/w"));
    str_clear(&said);
    int code = xt_fit(t, &validated, data(4, 2, XT_ON), data(2, 2, XT_ON));
    assert_true(code == 0 || code == 1); /* what early stopping does without its value is its own test */
    says("watches val/w, but this fit does not validate: limit_val_batches = 0 leaves validations out");
    assert_null(strstr(str_cstr(&said), "is NULL"));
    xt_clear_error();
}

/* The trainer does both itself: a second call would double every gradient and be seen by nobody. A loss of several
 * elements is told where it was made. */
static int mistake, mistake_line;
static xt_optimizer *only;
static xt_optimizer *keep_sgd(xt_module *m, void *user) {
    return only = sgd(m, user);
}
static xt_tensor mistaken(xt_module *m, xt_batch b, void *user) {
    (void)user;
    mistake_line = __LINE__ + 1;
    xt_tensor each = xt_forward(m, b.x);
    xt_tensor loss = xt_mean(each);
    if (mistake == 0) mistake_line = __LINE__, xt_backward(loss);
    if (mistake == 1) mistake_line = __LINE__, xt_optimizer_step(only);
    if (mistake == 2) mistake_line = __LINE__, each = xt_mul(each, each);
    return mistake == 2 ? each : loss;
}
static void mistakes_of_an_automatic_step_are_told(void **state) {
    (void)state;
    static const char *const messages[] = {"xt_backward in training_step: the trainer calls",
                                           "xt_optimizer_step in training_step: the trainer calls",
                                           "training_step returned a loss of shape [2, 1]"};
    const xt_task wrong = {.net = net, .training_step = mistaken, .configure_optimizers = keep_sgd};
    for (mistake = 0; mistake < 3; mistake++) {
        char at[64];
        assert_int_equal(xt_fit(TRAINER(.max_epochs = 1), &wrong, data(4, 2, XT_ON), NULL), 1);
        says(messages[mistake]);
        snprintf(at, sizeof at, "test_train_callbacks.c:%d", mistake_line);
        says(at);
        xt_clear_error();
    }
    assert_int_equal(xt_fit(TRAINER(.max_epochs = 1), &wrong, data(4, 2, XT_ON), NULL), 0);
}

/* --- finders --- */
static void the_steepest_fall_is_suggested(void **state) {
    (void)state;
    assert_int_equal(lr_suggestion((double[]){0, 1, 2}, 3, 0, 1), 0);
    assert_int_equal(lr_suggestion((double[]){0, 1, 2}, 3, 1, 1), -1);
    assert_int_equal(lr_suggestion((double[]){9, 9, 8, 4, 3, 3}, 6, 0, 0), 2);
    assert_int_equal(lr_suggestion((double[]){9, 8, NAN, 2, 1.5, 1.4}, 6, 0, 0), 1);
    assert_int_equal(lr_suggestion((double[]){NAN, NAN, 1}, 3, 0, 0), -1);
}

static xt_tensor square_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(m, b.x)));
}

static void the_range_test_leaves_nothing_behind(void **state) {
    (void)state;
    xt_task bowl = task;
    bowl.training_step = square_step;
    xt_loader *l = data(64, 2, XT_ON);
    double lr = xt_lr_find(&bowl, l, .min_lr = 1e-4, .max_lr = 10, .steps = 60, .plot = in_dir("lr.png"));
    assert_true(lr > 1e-4 && lr < 1); /* beyond 1 the bowl's steps overshoot */
    assert_true(file_exists(in_dir("lr.png")));
    assert_null(xt_error());
    /* rates a hundredth apart */
    double even =
        xt_lr_find(&bowl, l, .min_lr = 0.01, .max_lr = 0.6, .steps = 60, .linear = XT_ON, .plot = in_dir("linear.png"));
    assert_true(even >= 0.01 && even <= 0.6 && fabs(100 * even - round(100 * even)) < 1e-6);
    assert_true(fabs(100 * lr - round(100 * lr)) > 1e-6);
    assert_true(file_exists(in_dir("linear.png")));
    xt_trainer *t = TRAINER(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &bowl, l, NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 32);
    assert_true(isnan(xt_lr_find(&(xt_task){.training_step = square_step}, l)));
    xt_clear_error();
    assert_true(isnan(xt_lr_find(&bowl, l, .min_lr = 0)));
    assert_non_null(strstr(xt_status_message(xt_error()), "xt_lr_find: min_lr = 0: rates that rise by equal factors"));
    xt_clear_error();
    assert_true(isnan(xt_lr_find(&bowl, l, .stop_factor = 0)));
    says("stop_factor");
    xt_clear_error();
    assert_true(xt_lr_find(&bowl, l, .min_lr = 0, .max_lr = 0.6, .steps = 60, .linear = XT_ON) >= 0);
    assert_null(xt_error());
    assert_true(isnan(xt_lr_find(&bowl, l, .steps = 5)));
    assert_non_null(
        strstr(xt_status_message(xt_error()),
               "5 losses, which is too few for a suggestion after leaving out 10 and 1; try .steps = 13 or more"));
    xt_clear_error();
    assert_true(xt_lr_find(&bowl, l, .steps = 13) > 0);
    assert_null(xt_error());
}

/* A range that begins too high: what the message advises finds a rate. */
static void a_range_that_diverges_at_once(void **state) {
    (void)state;
    xt_task bowl = task;
    bowl.training_step = square_step;
    xt_loader *l = data(64, 2, XT_ON);
    assert_true(isnan(xt_lr_find(&bowl, l, .min_lr = 3, .max_lr = 100)));
    const char *text = xt_status_message(xt_error()), *advice = strstr(text, "try lower rates (");
    double low = 0, high = 0;
    if (!strstr(text, "the loss diverged at rate 3.11, loss 2 of 100 (smoothed ")) fail_msg("%s", text);
    if (!advice || sscanf(advice, "try lower rates (.min_lr = %lf, .max_lr = %lf)", &low, &high) != 2)
        fail_msg("%s", text);
    xt_clear_error();
    double lr = xt_lr_find(&bowl, l, .min_lr = low, .max_lr = high);
    assert_true(lr > low && lr < 1.5);
    assert_null(xt_error());
    samples[0] = NAN;
    assert_true(isnan(xt_lr_find(
        &bowl, xt_loader_new(xt_array_dataset(samples, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2), .batch = 2))));
    if (!strstr(xt_status_message(xt_error()), "the first loss is NaN, before any rate was used"))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
}

static xt_loader *of_size(int64_t batch, void *user) {
    (void)user;
    return data(40, batch, XT_ON);
}

static xt_loader *of_no_size(int64_t batch, void *user) {
    (void)batch;
    (void)user;
    return NULL;
}

static void the_largest_batch_is_found(void **state) {
    (void)state;
    /* More than 40 samples there are not: that ends the search, and says nothing of memory. */
    assert_int_equal(xt_batch_find(&task, of_size, NULL, .power_only = XT_ON), 32);
    assert_int_equal(xt_batch_find(&task, of_size, NULL), 32);
    assert_int_equal(xt_batch_find(&task, of_size, NULL, .most = 16), 16);
    /* Nor does a first one that is more than there are. */
    assert_int_equal(xt_batch_find(&task, of_size, NULL, .first = 64), 32);
    assert_int_equal(xt_batch_find(&task, of_size, NULL, .first = 100, .power_only = XT_ON), 25);
    says("batch 100: ");
    assert_null(xt_error());
    assert_int_equal(xt_batch_find(&task, of_no_size, NULL, .first = 64), 0);
    if (!strstr(xt_status_message(xt_error()), "make gave no loader for a batch of 1"))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(the_exponential_average_is_validated_and_kept),
        T(passes_take_the_averages),
        T(the_end_of_an_average_is_resumed),
        T(stochastic_weight_averaging_takes_epochs),
        T(accumulation_follows_its_schedule),
        T(the_timer_counts_earlier_fits),
        T(an_error_leaves_a_checkpoint),
        T(spikes_are_found_on_the_device),
        T(spikes_close_together_have_their_numbers),
        T(spikes_of_long_runs_have_their_numbers),
        T(device_stats_are_in_the_rows),
        T(monitors_need_a_logger),
        T(predictions_are_written_in_order),
        T(samples_come_at_their_interval),
        T(hooks_run_in_order),
        T(manual_optimization_steps_by_itself),
        T(a_network_beside_the_task_is_told),
        T(manual_optimization_steps_its_schedules),
        T(a_watched_value_without_validations),
        T(mistakes_of_an_automatic_step_are_told),
        cmocka_unit_test(the_steepest_fall_is_suggested),
        T(the_range_test_leaves_nothing_behind),
        T(a_range_that_diverges_at_once),
        T(the_largest_batch_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
