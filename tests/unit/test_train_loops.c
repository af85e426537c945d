/* How long a fit lasts and when it validates: limits, intervals with units, lower bounds, max_time, smoke runs,
 * sanity batches, signals, and what a resumed run writes. The numbers are those of Lightning's own tests where it
 * has the case. */
#include <signal.h>

#include "train_test.h"

#include "train/limits.h"

/* --- a task that counts --- */
static int steps, validations, val_batches, stop_after, signal_after, signal_number;
static int64_t validated_at[64];
static xt_trainer *now;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (++steps == stop_after) xt_trainer_stop(now);
    if (steps == signal_after) raise(signal_number);
    xt_tensor loss = xt_mean(xt_square(xt_forward(m, b.x)));
    xt_log("epoch_loss", loss, .on_step = XT_ON, .on_epoch = XT_ON);
    return loss;
}
static int64_t val_epochs[64];
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (val_batches < 64) val_epochs[val_batches] = b.epoch;
    val_batches++;
    xt_log("val/loss", xt_mean(xt_square(xt_forward(m, b.x))));
}
static void validated(xt_module *m, int64_t epoch, void *user) {
    (void)m;
    (void)epoch;
    (void)user;
    if (validations < 64) validated_at[validations] = steps;
    validations++;
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    val_batches++;
    return xt_forward(m, b.x);
}

static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static const xt_task task = {.net = net,
                             .training_step = train_step,
                             .validation_step = val_step,
                             .predict_step = predict_step,
                             .configure_optimizers = sgd,
                             .on_validation_epoch_end = validated};

static xt_loader *data(int64_t batches, xt_switch shuffle) {
    static float x[256][3];
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 3; k++) x[i][k] = sinf((float)(3 * i + k));
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, NULL, (xt_spec){0}, batches * 2), .batch = 2,
                         .shuffle = shuffle);
}

static int fit(xt_trainer *t, int64_t batches, int64_t val) {
    steps = validations = val_batches = 0;
    now = t;
    return xt_fit(t, &task, data(batches, XT_OFF), val ? data(val, XT_OFF) : NULL);
}
#define TRAINER(...) TEST_TRAINER(.logger = XT_OFF, .checkpointing = XT_OFF, __VA_ARGS__)

/* A validation's batches say the epoch of the training that they belong to, also in a fit that goes on. */
static void validations_have_epochs(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_epochs = 3, .num_sanity_val_steps = 0);
    assert_int_equal(fit(t, 4, 2), 0);
    assert_int_equal(val_batches, 6);
    for (int i = 0; i < 6; i++) assert_int_equal(val_epochs[i], i / 2);
    xt_trainer_free(t);
}

/* --- passes of hooks --- */
static xt_loader *references;
static void look_at_references(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m, (void)loss, (void)user;
    for (xt_batch r; references && xt_next(references, &r);) {
    }
    xt_log_value("behind", (double)b->index, .on_epoch = XT_ON);
}

/* A hook's pass over a loader of its own says nothing of the fit's batches: means weigh as without it. */
static void passes_of_hooks_weigh_nothing(void **state) {
    (void)state;
    static float x[5][3] = {{1}, {0, 2}, {0, 0, 3}, {4}, {0, 5}};
    double mean[2], behind;
    xt_task looks = task;
    looks.on_train_batch_end = look_at_references;
    for (int k = 0; k < 2; k++) {
        xt_seed(7);
        references = k ? data(3, XT_OFF) : NULL;
        xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, NULL, (xt_spec){0}, 5), .batch = 2,
                                     .drop_last = XT_OFF);
        xt_trainer *t = TRAINER(.max_epochs = 2, .log_every_n_steps = 1);
        assert_int_equal(xt_fit(t, &looks, l, NULL), 0);
        mean[k] = xt_trainer_metric(t, "epoch_loss_epoch", true);
        behind = xt_trainer_metric(t, "behind_epoch", true);
        assert_true(fabs(behind - (0 * 2 + 1 * 2 + 2 * 1) / 5.0) < 1e-6);
        xt_trainer_free(t);
        xt_loader_free(l);
    }
    xt_loader_free(references);
    references = NULL;
    assert_true(isfinite(mean[0]) && fabs(mean[1] - mean[0]) < 1e-6 * mean[0]);
}

/* --- units --- */
static void limits_have_units(void **state) {
    (void)state;
    int64_t n;
    static const struct {
        double limit;
        int64_t batches, want;
    } rows[] = {{-1, 64, 64}, {0, 64, 0}, {0.1, 64, 6}, {100, 64, 64}, {7, 64, 7}, {1, 64, 1}, {5, -1, 5}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        assert_null(limit_batches("limit", rows[i].limit, rows[i].batches, &n));
        assert_int_equal(n, rows[i].want);
    }
    static const struct {
        double limit;
        int64_t batches;
        const char *says;
    } bad[] = {{0.01, 64, "no whole batch; at least 0.016"},
               {2.5, 64, "a whole number of batches, or a share below 1"},
               {0.5, -1, "a stream"}};
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        xt_status s = limit_batches("limit", bad[i].limit, bad[i].batches, &n);
        assert_non_null(s);
        if (!strstr(xt_status_message(s), bad[i].says)) fail_msg("%s", xt_status_message(s));
        xt_status_free(s);
    }
}

static void durations_and_intervals(void **state) {
    (void)state;
    int64_t ns;
    train_interval v;
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"45s", 45},
                 {"1.5min", 90},
                 {"2h", 7200},
                 {"1d", 86400},
                 {"12:34:56:65", 12 * 86400.0 + 34 * 3600.0 + 56 * 60 + 65},
                 {"0s", 0}};
    for (size_t i = 0; i < BASE_COUNT(times); i++) {
        assert_null(duration_parse("max_time", times[i].text, &ns));
        assert_int_equal(ns, (int64_t)(times[i].seconds * 1e9));
    }
    static const char *const no_times[] = {"6:00:00", "60 minutes", "", "5", "-3s", "1e99d", "nan s", "::: "};
    for (size_t i = 0; i < BASE_COUNT(no_times); i++) {
        xt_status s = duration_parse("max_time", no_times[i], &ns);
        assert_non_null(s);
        assert_non_null(strstr(xt_status_message(s), "DD:HH:MM:SS"));
        xt_status_free(s);
    }
    static const struct {
        const char *text;
        interval_unit unit;
        int64_t n;
    } rows[] = {{"2e", INTERVAL_EPOCHS, 2},
                {"2epochs", INTERVAL_EPOCHS, 2},
                {"100steps", INTERVAL_STEPS, 100},
                {"3b", INTERVAL_BATCHES, 3},
                {"10min", INTERVAL_TIME, 600000000000}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        assert_null(interval_parse("val_every", rows[i].text, &v));
        assert_int_equal(v.unit, rows[i].unit);
        assert_int_equal(v.n, rows[i].n);
    }
    assert_null(interval_parse("val_every", "0.25epochs", &v));
    assert_true(v.unit == INTERVAL_SHARE && v.share == 0.25);
    xt_status bare = interval_parse("val_every", "100", &v);
    assert_non_null(bare);
    assert_non_null(strstr(xt_status_message(bare),
                           "val_every = 100 has no unit: 100steps (optimizer steps), 100batches or 100epochs"));
    xt_status_free(bare);
    static const char *const no[] = {"0.25",  "0", "-1epochs",  "1.5epochs", "2.5steps",
                                     "often", "",  "3 parsecs", "nan",       "inf"};
    for (size_t i = 0; i < BASE_COUNT(no); i++) {
        xt_status s = interval_parse("val_every", no[i], &v);
        assert_non_null(s);
        xt_status_free(s);
    }
}

/* --- validation --- */
static void validation_at_its_interval(void **state) {
    (void)state;
    static const struct {
        const char *every;
        int64_t epochs, batches, accumulate;
        int runs;
        int64_t at[8];
    } rows[] = {{"1epochs", 2, 4, 1, 2, {4, 8}},
                {"2epochs", 1, 4, 1, 0, {0}},
                {"2epochs", 4, 4, 1, 2, {8, 16}},
                {"2epochs", 5, 4, 1, 2, {8, 16}},
                {"0.34epochs", 2, 12, 1, 6, {4, 8, 12, 16, 20, 24}},
                {"3batches", 3, 4, 1, 4, {3, 6, 9, 12}},
                {"2steps", 2, 4, 2, 2, {4, 8}},
                {"0.01epochs", 1, 4, 1, 4, {1, 2, 3, 4}},
                {"0.25epochs", 2, 64, 1, 8, {16, 32, 48, 64, 80, 96, 112, 128}},
                {"0.34epochs", 1, 64, 1, 3, {21, 42, 63}},
                {"0.25epochs", 1, 10, 1, 4, {3, 5, 8, 10}}, /* four, also of ten */
                {"0.1epochs", 1, 7, 1, 7, {1, 2, 3, 4, 5, 6, 7}},
                {"100h", 1, 4, 1, 0, {0}}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        assert_int_equal(fit(TRAINER(.max_epochs = rows[i].epochs, .val_every = rows[i].every,
                                     .accumulate_grad_batches = rows[i].accumulate),
                             rows[i].batches, 1),
                         0);
        if (validations != rows[i].runs)
            fail_msg("%s: %d validations, not %d", rows[i].every, validations, rows[i].runs);
        for (int k = 0; k < validations; k++) assert_int_equal(validated_at[k], rows[i].at[k]);
        xt_finish();
    }
    assert_int_equal(fit(TRAINER(.max_epochs = 1, .val_every = "2epochs", .val_every_n_batches = 2), 4, 1), 1);
    says("val_every = 2epochs and val_every_n_batches are both given");
}

/* A validation inside a window leaves the window's gradients alone; after the step there are none. */
static bool had_gradient[4];
static void look_at_gradient(xt_module *m, int64_t epoch, void *user) {
    (void)epoch;
    (void)user;
    if (validations < 4) had_gradient[validations++] = xt_grad(xt_module_find(m, "fc.weight")).slot != 0;
}
static void a_validation_keeps_gradients(void **state) {
    (void)state;
    xt_task looks = task;
    looks.on_validation_epoch_end = look_at_gradient;
    validations = 0;
    xt_trainer *t = TRAINER(.max_epochs = 1, .accumulate_grad_batches = 3, .val_every = "2batches");
    assert_int_equal(xt_fit(t, &looks, data(6, XT_OFF), data(1, XT_OFF)), 0);
    assert_int_equal(validations, 3);
    assert_true(had_gradient[0] && had_gradient[1] && !had_gradient[2]);
}

static void sanity_batches_leave_no_trace(void **state) {
    (void)state;
    double loss[2];
    for (int i = 0; i < 2; i++) {
        xt_trainer *t = TRAINER(.max_epochs = 1, .num_sanity_val_steps = i ? 2 : 0, .seed = 3);
        assert_int_equal(fit(t, 4, 3), 0);
        assert_int_equal(val_batches, 3 + (i ? 2 : 0));
        assert_int_equal(validations, 1);
        loss[i] = xt_trainer_result(t).loss_last;
        xt_finish();
    }
    assert_true(loss[0] == loss[1]);
}

/* --- the end --- */
static void lower_bounds_win(void **state) {
    (void)state;
    /* A stop asked for in the first epoch's last batch: batches of an epoch, min_epochs, min_steps -> steps done. */
    static const int64_t rows[][4] = {{3, 0, 10, 10}, {5, 0, 10, 10}, {3, 2, 0, 6},  {5, 2, 0, 10},
                                      {3, 1, 10, 10}, {3, 3, 10, 10}, {5, 3, 10, 15}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        stop_after = (int)rows[i][0];
        xt_trainer *t = TRAINER(.max_epochs = 100, .min_epochs = rows[i][1], .min_steps = rows[i][2]);
        assert_int_equal(fit(t, rows[i][0], 0), 0);
        assert_int_equal(xt_trainer_global_step(t), rows[i][3]);
        xt_finish();
    }
    stop_after = 5; /* in the middle of an epoch: one more validation, as the loop stops after this step */
    xt_trainer *t = TRAINER(.max_epochs = 3);
    assert_int_equal(fit(t, 10, 1), 0);
    assert_int_equal(xt_trainer_global_step(t), 5);
    assert_int_equal(validations, 1);
    stop_after = 0;
}

static void a_second_fit_goes_on(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_steps = 10);
    assert_int_equal(fit(t, 4, 0), 0);
    assert_int_equal(steps, 10);
    assert_int_equal(fit(t, 4, 0), 0); /* nothing is left to do */
    assert_int_equal(steps, 0);
    says("max_steps 10 is reached already: nothing to train; raise --max_steps");
    assert_int_equal(xt_trainer_global_step(t), 10);
    t = TRAINER(.max_epochs = 2);
    assert_int_equal(fit(t, 4, 0), 0);
    assert_int_equal(fit(t, 4, 0), 0);
    assert_int_equal(steps, 0);
    says("max_epochs 2 is reached already: nothing to train; raise --max_epochs");
    t = TRAINER(.max_epochs = 3, .max_time = "0s");
    assert_int_equal(fit(t, 4, 0), 0);
    assert_int_equal(steps, 0);
    t = TRAINER(.max_epochs = 3);
    xt_trainer_add(t, xt_timer(.duration = "0s"));
    assert_int_equal(fit(t, 4, 0), 0);
    assert_int_equal(steps, 0);
}

/* A run that resumes behind its end trains nothing, and has its weights all the same: as tensors that can be found,
 * read and saved, and for a validation. */
static void a_resumed_end_has_its_weights(void **state) {
    (void)state;
    float trained[8] = {0}, resumed[8] = {0};
    xt_trainer *t = TRAINER(.max_epochs = 2);
    assert_int_equal(fit(t, 4, 0), 0);
    assert_null(xt_trainer_save(t, in_dir("end.ckpt")));
    int n = xt_module_tensors(xt_trainer_module(t));
    xt_tensor w = xt_module_tensor(xt_trainer_module(t), 0);
    size_t bytes = (size_t)xt_numel(w) * sizeof *trained;
    assert_true(n > 0 && bytes <= sizeof trained && xt_read(w, trained, bytes));
    xt_finish();
    t = TRAINER(.max_epochs = 2, .resume = in_dir("end.ckpt"));
    assert_int_equal(fit(t, 4, 0), 0);
    assert_int_equal(steps, 0);
    assert_int_equal(xt_module_tensors(xt_trainer_module(t)), n);
    assert_true(xt_read(xt_module_tensor(xt_trainer_module(t), 0), resumed, bytes));
    assert_memory_equal(resumed, trained, bytes);
    assert_null(xt_save(xt_trainer_module(t), in_dir("end.safetensors")));
    assert_null(xt_error());
    xt_finish();
}

static void weights_of(xt_trainer *t, float out[6]) {
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "fc.weight"), out, 6 * sizeof *out));
}

/* Two epochs of four steps, each of which leaves a checkpoint. */
static void train_with_all_steps(float out[6]) {
    xt_trainer *t = TRAINER(.max_epochs = 2);
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir("cut"), .every_n_steps = 1, .save_top_k = -1));
    assert_int_equal(fit(t, 4, 0), 0);
    weights_of(t, out);
    xt_finish();
}

/* A run that was killed behind the last step of an epoch, and before the epoch's end: no batch of it is left. Hooks and
 * checkpoints of that end, and the program behind the fit, have the weights, also where it was the last epoch. */
static int without_weights;
static void look_for_weights(xt_trainer *t, void *user) {
    (void)user;
    without_weights += xt_module_tensors(xt_trainer_module(t)) == 0;
}
static void a_run_cut_behind_an_epochs_last_step(void **state) {
    (void)state;
    static const xt_callback_desc looks = {.struct_size = sizeof looks, .name = "looks", .epoch_end = look_for_weights};
    static const char *const files[] = {"cut/epoch=0-step=4.ckpt", "cut/epoch=1-step=8.ckpt"};
    float want[6] = {0}, got[6] = {0};
    train_with_all_steps(want);
    for (int i = 0; i < 2; i++) {
        without_weights = 0;
        xt_trainer *t = TRAINER(.max_epochs = 2, .resume = in_dir(files[i]));
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir(i ? "on1" : "on0"), .every_n_epochs = 1));
        xt_trainer_add(t, xt_callback_new(&looks, NULL));
        assert_int_equal(fit(t, 4, 0), 0);
        assert_int_equal(steps, i ? 0 : 4);
        assert_int_equal(without_weights, 0);
        weights_of(t, got);
        assert_memory_equal(got, want, sizeof want);
        assert_true(file_exists(in_dir(i ? "on1/last.ckpt" : "on0/last.ckpt")));
        xt_finish();
    }
}

/* The file of that name is replaced while it is read, as by a run that still goes on: all that is taken is of one. */
static void replace(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)n;
    if (strstr(text, "was written with another") && user) assert_int_equal(rename(user, in_dir("moves.ckpt")), 0);
}
static void a_checkpoint_that_moves_on_is_read_as_one(void **state) {
    (void)state;
    float got[3][6], trained[6];
    char early[300], later[300];
    train_with_all_steps(trained);
    snprintf(early, sizeof early, "%s", in_dir("cut/epoch=0-step=4.ckpt"));
    snprintf(later, sizeof later, "%s", in_dir("cut/epoch=1-step=8.ckpt"));
    for (int i = 0; i < 3; i++) {
        if (i < 2) assert_int_equal(link(early, in_dir("moves.ckpt")), 0);
        xt_set_sink(replace, i == 1 ? later : NULL);
        xt_trainer *t = TRAINER(.max_steps = 4, .accumulate_grad_batches = 2, .resume = in_dir("moves.ckpt"));
        assert_int_equal(fit(t, 4, 0), 0);
        assert_int_equal(xt_trainer_global_step(t), i == 2 ? 8 : 4);
        weights_of(t, got[i]);
        xt_finish();
        if (i == 0) assert_int_equal(unlink(in_dir("moves.ckpt")), 0);
    }
    xt_set_sink(listen, NULL);
    assert_memory_equal(got[1], got[0], sizeof got[0]);
    assert_memory_not_equal(trained, got[0], sizeof got[0]);
    assert_memory_equal(got[2], trained, sizeof trained); /* what the name has come to mean */
}

static void time_and_smoke_runs_end(void **state) {
    (void)state;
    xt_trainer *t = TRAINER(.max_time = "0.02s");
    assert_int_equal(fit(t, 4, 0), 0); /* without max_epochs: the clock alone ends it */
    assert_true(xt_trainer_global_step(t) > 0);
    says("max_time = 0.02s is over");
    static const int64_t sizes[] = {1, 4};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        xt_finish();
        t = xt_trainer_new(.runs_dir = dir, .fast_dev_run = sizes[i], .max_epochs = 7, .max_steps = 99,
                           .progress_bar = XT_OFF);
        xt_trainer_add(t, xt_model_checkpoint(.every_n_steps = 1));
        xt_trainer_add(t, xt_early_stopping(.monitor = "never/logged"));
        assert_int_equal(fit(t, 10, 10), 0);
        assert_int_equal(steps, sizes[i]);
        assert_int_equal(val_batches, sizes[i]);
        assert_null(xt_trainer_run_dir(t));
        assert_int_equal(xt_test(t, &task, data(10, XT_OFF)), 0);
        assert_int_equal(val_batches, 2 * sizes[i]);
    }
    xt_finish();
    t = TRAINER(.max_epochs = 2, .overfit_batches = 2);
    assert_int_equal(fit(t, 10, 10), 0);
    assert_int_equal(steps, 4);
    assert_int_equal(val_batches, 4);
}

static void mistakes_are_told_before_the_first_batch(void **state) {
    (void)state;
    static const struct {
        const char *field, *value, *says;
    } rows[] = {{"max_time", "6:00:00", "DD:HH:MM:SS"},
                {"val_every", "often", "100steps"},
                {"signals", "TERM,KILL", "KILL is not one of"},
                {"limit_train_batches", "0.1", "no whole batch"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char option[64], value[64], program[] = "p";
        snprintf(option, sizeof option, "--%s", rows[i].field);
        snprintf(value, sizeof value, "%s", rows[i].value);
        str_clear(&said);
        xt_trainer *t = TRAINER(.max_epochs = 1);
        xt_trainer_args(t, 3, (char *[]){program, option, value, NULL});
        assert_int_equal(fit(t, 4, 0), 1);
        assert_int_equal(steps, 0);
        says(rows[i].says);
        xt_finish();
    }
}

/* --- signals, and going on --- */
static int older_handler_ran;
static void older_handler(int number) {
    (void)number;
    older_handler_ran++;
}

/* The value a run's CSV has under a name, in the last row that has it. */
static double last_csv_value(const char *run, const char *name) {
    char path[256], *text, *save = NULL;
    size_t n;
    double v = NAN;
    snprintf(path, sizeof path, "%s/%s", run, "metrics.csv");
    assert_null(file_read_all(path, &text, &n));
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *at = strstr(line, name);
        const char *comma = at ? strrchr(line, ',') : NULL;
        if (comma) v = strtod(comma + 1, NULL);
    }
    base_free(text);
    return v;
}

static void a_signal_saves_and_the_rest_is_the_same(void **state) {
    (void)state;
    struct sigaction act = {.sa_handler = older_handler}, left;
    sigaction(SIGTERM, &act, NULL);
    char whole_run[256];
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .seed = 5, .runs_dir = dir, .run_name = "whole",
                                   .progress_bar = XT_OFF, .loggers = "csv");
    assert_int_equal(fit(t, 8, 0), 0);
    double loss = xt_trainer_result(t).loss_last;
    snprintf(whole_run, sizeof whole_run, "%s", xt_trainer_run_dir(t));
    xt_finish();

    signal_after = 11, signal_number = SIGTERM; /* in the second epoch */
    t = xt_trainer_new(.max_epochs = 2, .seed = 5, .runs_dir = dir, .run_name = "cut", .progress_bar = XT_OFF,
                       .loggers = "csv");
    assert_int_equal(fit(t, 8, 0), 128 + SIGTERM);
    assert_int_equal(xt_trainer_global_step(t), 11);
    says("stopped by SIGTERM at step 11");
    says("last.ckpt goes on from here");
    assert_int_equal(older_handler_ran, 1);
    sigaction(SIGTERM, NULL, &left);
    assert_true(left.sa_handler == older_handler);
    signal(SIGTERM, SIG_DFL);
    signal_after = 0;
    xt_finish();

    t = xt_trainer_new(.max_epochs = 2, .resume = "last", .runs_dir = dir, .run_name = "cut", .progress_bar = XT_OFF,
                       .loggers = "csv");
    assert_int_equal(fit(t, 8, 0), 0);
    assert_int_equal(steps, 5);
    assert_true(xt_trainer_result(t).loss_last == loss);
    /* The epoch's mean holds the batches before the signal as well. */
    double want = last_csv_value(whole_run, "epoch_loss_epoch"),
           got = last_csv_value(xt_trainer_run_dir(t), "epoch_loss_epoch");
    assert_true(isfinite(want) && want == got);
}

static void a_damaged_file_offers_the_one_before(void **state) {
    (void)state;
    char path[256], *bytes;
    size_t n;
    xt_trainer *t = TRAINER(.max_epochs = 2);
    snprintf(path, sizeof path, "%s/kept", dir);
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = path, .save_top_k = -1, .save_last = XT_OFF));
    assert_int_equal(fit(t, 4, 0), 0);
    snprintf(path, sizeof path, "%s/kept/epoch=1-step=8.ckpt", dir);
    assert_null(file_read_all(path, &bytes, &n));
    bytes[n - 30] ^= 4;
    assert_null(file_write_all(path, bytes, n));
    base_free(bytes);
    t = TRAINER(.max_epochs = 3, .resume = path);
    assert_int_equal(fit(t, 4, 0), 1);
    says("epoch=1-step=8.ckpt: the data does not match its checksum");
    says("the newest whole checkpoint beside it is");
    says("epoch=0-step=4.ckpt");
}

/* Zero epochs, steps and batches are none of them; of C and of the command line. */
static void zeros_are_zero(void **state) {
    (void)state;
    assert_int_equal(fit(TRAINER(.max_epochs = 2, .limit_val_batches = 0), 3, 2), 0);
    assert_true(steps == 6 && val_batches == 0 && validations == 0);
    xt_trainer *t = TRAINER(.max_epochs = 1);
    xt_trainer_args(t, 3, (char *[]){"prog", "--limit_val_batches", "0"});
    assert_int_equal(fit(t, 3, 2), 0);
    assert_true(steps == 3 && val_batches == 0);
    assert_int_equal(fit(TRAINER(.max_epochs = 2, .max_steps = 0), 3, 2), 0);
    assert_int_equal(steps, 0);
    assert_int_equal(fit(TRAINER(.max_epochs = 0), 3, 2), 0);
    assert_int_equal(steps, 0);
    t = TRAINER(.max_epochs = 1);
    xt_trainer_args(t, 3, (char *[]){"prog", "--max_steps", "0"});
    assert_int_equal(fit(t, 3, 2), 0);
    assert_int_equal(steps, 0);
    t = TRAINER(.max_epochs = 1, .limit_val_batches = 0, .limit_test_batches = 0, .limit_predict_batches = 0);
    assert_int_equal(fit(t, 3, 2), 0);
    assert_int_equal(xt_validate(t, &task, data(2, XT_OFF)), 0);
    assert_int_equal(xt_test(t, &task, data(2, XT_OFF)), 0);
    assert_int_equal(xt_predict(t, &task, data(2, XT_OFF), NULL, NULL), 0);
    assert_int_equal(val_batches, 0);
}

/* --- streams --- */
static int64_t stream_samples;
static xt_status stream_open(void *user, int64_t epoch, void **out) {
    (void)user;
    if (epoch > 0 && stream_samples < 0) stream_samples = 0; /* of one epoch alone */
    *out = calloc(1, sizeof(int64_t));
    return NULL;
}
static xt_status stream_next(void *state, void *x, void *y, bool *at_end) {
    int64_t *at = state;
    (void)y;
    if ((*at_end = *at == llabs(stream_samples))) return NULL;
    for (int k = 0; k < 3; k++) ((float *)x)[k] = sinf((float)(3 * *at + k));
    ++*at;
    return NULL;
}
static int fit_stream(xt_trainer *t, int64_t samples, int64_t limit, int64_t val_samples) {
    steps = validations = val_batches = 0;
    stream_samples = samples;
    const xt_stream_desc d = {.struct_size = sizeof d,
                              .x = {XT_F32, {3}},
                              .open = stream_open,
                              .next = stream_next,
                              .close = free,
                              .name = "events"};
    return xt_fit(t, &task, xt_loader_new(xt_stream_dataset(&d), .batch = 2, .limit = limit),
                  val_samples ? xt_loader_new(xt_stream_dataset(&d), .batch = 2, .limit = val_samples) : NULL);
}

/* A stream that ends before its .limit ends the epoch, which is told; it is no epoch that begins anew for ever. */
static void streams_end_before_their_limit(void **state) {
    (void)state;
    static const struct {
        int64_t samples, limit, accumulate;
        double limit_train;
        int64_t micro_batches, steps;
    } rows[] = {{20, 40, 1, -1, 20, 20}, {20, 40, 1, 30, 20, 20}, {20, 40, 1, 10, 20, 20},
                {20, 40, 3, -1, 20, 8},  {19, 40, 2, -1, 18, 10}, {20, 40, 20, -1, 20, 2}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str_clear(&said);
        xt_trainer *t = TRAINER(.max_epochs = 2, .max_steps = 100, .accumulate_grad_batches = rows[i].accumulate,
                                .limit_train_batches = rows[i].limit_train);
        assert_int_equal(fit_stream(t, rows[i].samples, rows[i].limit, i % 2 ? 50 : 0), 0);
        assert_int_equal(steps, rows[i].micro_batches);
        assert_int_equal(xt_trainer_global_step(t), rows[i].steps);
        assert_int_equal(validations, i % 2 ? 2 : 0);
        char text[200];
        if (rows[i].limit_train != 10) {
            snprintf(text, sizeof text, "the stream events ended after %lld batches of epoch 0, before .limit = 40",
                     (long long)rows[i].samples / 2);
            says(text);
        }
        snprintf(text, sizeof text, "the fit ends at step %lld, with max_epochs = 2, before max_steps = 100",
                 (long long)rows[i].steps);
        says(text);
        xt_finish();
    }
    /* a source that is read once has nothing for the second epoch */
    xt_trainer *t = TRAINER(.max_epochs = -1, .max_steps = 100);
    assert_int_not_equal(fit_stream(t, -20, 10, 0), 0);
    says("the stream events had no batch in epoch 1: its open function must begin it anew");
    assert_int_equal(xt_trainer_global_step(t), 10);
    xt_clear_error();
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_have_units),
        cmocka_unit_test(durations_and_intervals),
        T(zeros_are_zero),
        T(passes_of_hooks_weigh_nothing),
        T(validation_at_its_interval),
        T(a_validation_keeps_gradients),
        T(validations_have_epochs),
        T(sanity_batches_leave_no_trace),
        T(a_second_fit_goes_on),
        T(a_resumed_end_has_its_weights),
        T(a_run_cut_behind_an_epochs_last_step),
        T(a_checkpoint_that_moves_on_is_read_as_one),
        T(lower_bounds_win),
        T(time_and_smoke_runs_end),
        T(mistakes_are_told_before_the_first_batch),
        T(a_signal_saves_and_the_rest_is_the_same),
        T(a_damaged_file_offers_the_one_before),
        T(streams_end_before_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
