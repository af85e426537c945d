/* What a number, a tensor, a value logged in each hook becomes in the rows, in the order of the hooks. */
#include "train_rows_test.h"

#include "metrics/log.h"

#define M0(name)                                 \
    static void name(xt_module *m, void *user) { \
        (void)m;                                 \
        (void)user;                              \
        here(#name);                             \
    }
#define M_EPOCH(name)                                           \
    static void name(xt_module *m, int64_t epoch, void *user) { \
        (void)m;                                                \
        (void)user;                                             \
        (void)epoch;                                            \
        here(#name);                                            \
    }
#define M_BATCH(name)                                               \
    static void name(xt_module *m, const xt_batch *b, void *user) { \
        (void)m;                                                    \
        (void)user;                                                 \
        (void)b;                                                    \
        here(#name);                                                \
    }
#define C0(name)                                      \
    static void c_##name(xt_trainer *t, void *user) { \
        (void)t;                                      \
        (void)user;                                   \
        here("c_" #name);                             \
    }
#define C_BATCH(name)                                                    \
    static void c_##name(xt_trainer *t, const xt_batch *b, void *user) { \
        (void)t;                                                         \
        (void)user;                                                      \
        (void)b;                                                         \
        here("c_" #name);                                                \
    }
M0(on_fit_start)
M0(on_fit_end)
M0(on_train_start)
M0(on_train_end)
M0(on_after_backward)
M0(on_before_optimizer_step)
M_EPOCH(on_train_epoch_start)
M_EPOCH(on_train_epoch_end)
M_EPOCH(on_validation_epoch_start)
M_EPOCH(on_validation_epoch_end)
M_BATCH(on_validation_batch_start)
M_BATCH(on_validation_batch_end)
C0(epoch_start)
C0(epoch_end)
C0(validation_start)
C0(validation_end)
C0(step_end)
C_BATCH(batch_start)
C_BATCH(batch_end)
C_BATCH(validation_batch_end)
static void setup(xt_module *m, const char *stage, void *user) {
    (void)m;
    (void)stage;
    (void)user;
    here("setup");
}
static void teardown(xt_module *m, const char *stage, void *user) {
    (void)m;
    (void)stage;
    (void)user;
    here("teardown");
}
static bool on_train_batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)m;
    (void)b;
    (void)user;
    here("on_train_batch_start");
    return false;
}
static void on_before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)m;
    (void)loss;
    (void)user;
    here("on_before_backward");
}
static void on_train_batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m;
    (void)b;
    (void)loss;
    (void)user;
    here("on_train_batch_end");
}
static xt_status c_fit_start(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    here("c_fit_start");
    return NULL;
}
static void c_fit_end(xt_trainer *t, bool ok, void *user) {
    (void)t;
    (void)ok;
    (void)user;
    here("c_fit_end");
}
static const xt_task hooked = {.net = net,
                               .training_step = train_step,
                               .validation_step = val_step,
                               .configure_optimizers = sgd,
                               .setup = setup,
                               .teardown = teardown,
                               .on_fit_start = on_fit_start,
                               .on_fit_end = on_fit_end,
                               .on_train_start = on_train_start,
                               .on_train_end = on_train_end,
                               .on_train_epoch_start = on_train_epoch_start,
                               .on_train_batch_start = on_train_batch_start,
                               .on_before_backward = on_before_backward,
                               .on_after_backward = on_after_backward,
                               .on_before_optimizer_step = on_before_optimizer_step,
                               .on_train_batch_end = on_train_batch_end,
                               .on_train_epoch_end = on_train_epoch_end,
                               .on_validation_epoch_start = on_validation_epoch_start,
                               .on_validation_epoch_end = on_validation_epoch_end,
                               .on_validation_batch_start = on_validation_batch_start,
                               .on_validation_batch_end = on_validation_batch_end};
static const xt_callback_desc everywhere = {.struct_size = sizeof(xt_callback_desc),
                                            .name = "everywhere",
                                            .fit_start = c_fit_start,
                                            .fit_end = c_fit_end,
                                            .epoch_start = c_epoch_start,
                                            .epoch_end = c_epoch_end,
                                            .batch_start = c_batch_start,
                                            .batch_end = c_batch_end,
                                            .step_end = c_step_end,
                                            .validation_start = c_validation_start,
                                            .validation_end = c_validation_end,
                                            .validation_batch_end = c_validation_batch_end};

/* Two epochs of four batches, a row every two steps, a validation each: what a number logged in one hook becomes, and
 * that it costs no program and no execution more (but after a step, where it goes with the next one, so the first has a
 * program of its own). */
static void each_hook_has_its_level(void **state) {
    (void)state;
    static const char of_steps[] = "2=7 4=7 6=7 8=7", of_epochs[] = "4=7 8=7", starts[] = "0=7 4=7";
    static const struct {
        const char *hook, *level, *want; /* level NULL: refused */
        int programs;
    } rows[] = {{"", "step", "", 2},
                {"training_step", "step", of_steps, 2},
                {"on_train_batch_start", "step", of_steps, 2},
                {"on_before_backward", "step", of_steps, 2},
                {"on_after_backward", "step", of_steps, 2},
                {"on_before_optimizer_step", "step", of_steps, 2},
                {"on_train_batch_end", "step", of_steps, 2},
                {"c_batch_start", "step", of_steps, 2},
                {"c_batch_end", "step", of_steps, 2},
                {"c_step_end", "step", "2=7 4=7 6=7 8=7 8=7", 3},
                {"validation_step", "epoch", of_epochs, 2},
                {"on_validation_batch_start", "epoch", of_epochs, 2},
                {"on_validation_batch_end", "epoch", of_epochs, 2},
                {"c_validation_batch_end", "epoch", of_epochs, 2},
                {"on_train_start", "epoch", "0=7", 2},
                {"on_train_epoch_start", "epoch", starts, 2},
                {"on_train_epoch_end", "epoch", of_epochs, 2},
                {"c_epoch_start", "epoch", starts, 2},
                {"c_epoch_end", "epoch", of_epochs, 2},
                {"on_validation_epoch_start", "epoch", of_epochs, 2},
                {"on_validation_epoch_end", "epoch", of_epochs, 2},
                {"c_validation_start", "epoch", of_epochs, 2},
                {"c_validation_end", "epoch", of_epochs, 2},
                {"setup", NULL, NULL, 0},
                {"configure_optimizers", NULL, NULL, 0},
                {"on_fit_start", NULL, NULL, 0},
                {"c_fit_start", NULL, NULL, 0},
                {"on_train_end", NULL, NULL, 0},
                {"on_fit_end", NULL, NULL, 0},
                {"c_fit_end", NULL, NULL, 0},
                {"teardown", NULL, NULL, 0}};
    int64_t executions = 0, reads = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        place = rows[i].hook;
        str_clear(&said);
        xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = 2, .run_name = *place ? place : "none");
        xt_trainer_add(t, xt_callback_new(&everywhere, NULL));
        if (xt_fit(t, &hooked, data(4, 1), data(2, 1)) != !rows[i].level) fail_msg("%s: %s", place, str_cstr(&said));
        if (rows[i].level) {
            xt_fit_result r = xt_trainer_result(t);
            if (!*place) executions = r.executions, reads = r.host_reads;
            if (r.executions != executions || r.host_reads != reads || r.compiles > rows[i].programs)
                fail_msg("%s: %d programs, %d executions, %d reads; at most %d, %d, %d are expected", place,
                         (int)r.compiles, (int)r.executions, (int)r.host_reads, rows[i].programs, (int)executions,
                         (int)reads);
            if (*place && strcmp(rows_of(xt_trainer_run_dir(t), rows[i].level, place), rows[i].want) != 0)
                fail_msg("%s: %s", place, rows_of(xt_trainer_run_dir(t), rows[i].level, place));
        } else {
            says("nothing is trained, validated or tested here");
            says("train_rows_test.h:");
        }
        place = "";
        xt_finish();
    }
}

/* A tensor takes one small program and one read at each such place; a callback that watches the value finds it in
 * the same epoch. */
static void norm_of_weights(xt_module *m, int64_t epoch, void *user) {
    (void)user;
    xt_log("val/norm", xt_sum(xt_square(xt_module_find(m, "w"))));
    xt_metric hits = {.numerator = xt_scalar((double)epoch, XT_F32), .denominator = xt_scalar(4, XT_F32)};
    xt_log_metric("val/hits", hits);
}
static void on_step(xt_module *m, int64_t epoch, void *user) {
    (void)m;
    (void)user;
    (void)epoch;
    xt_log_value("wrong", 1, .on_step = XT_ON);
}
static void tensors_at_an_epochs_end(void **state) {
    (void)state;
    xt_task at_end = task;
    xt_trainer *t = LOGGED(.max_epochs = 3, .log_every_n_steps = 2);
    assert_int_equal(xt_fit(t, &task, data(4, 1), data(2, 1)), 0);
    xt_fit_result without = xt_trainer_result(t);
    xt_finish();
    at_end.on_validation_epoch_end = norm_of_weights;
    t = LOGGED(.max_epochs = 3, .log_every_n_steps = 2);
    /* the norm falls: stops after epoch 2 */
    xt_trainer_add(t, xt_early_stopping(.monitor = "val/norm", .mode = XT_MAX, .patience = 2));
    assert_int_equal(xt_fit(t, &at_end, data(4, 1), data(2, 1)), 0);
    says("early stopping after 3 epochs");
    xt_fit_result r = xt_trainer_result(t);
    assert_in_range(r.compiles, 0, without.compiles + 1);
    assert_int_equal(r.executions, without.executions + 3);
    assert_int_equal(r.host_reads, without.host_reads + 3);
    assert_float_equal(xt_trainer_metric(t, "val/norm", true), pow(1 - 12 * 0.001, 2), 1e-5);
    ROWS("epoch", "val/hits", "4=0 8=0.25 12=0.5");
    at_end.on_validation_epoch_end = on_step;
    xt_finish();
    assert_int_equal(xt_fit(LOGGED(.max_epochs = 1), &at_end, data(4, 1), data(2, 1)), 1);
    says("on_step is on, but between steps a value is of the whole epoch");
}

/* A callback's `row` in fits of four batches each epoch, with and without a validation, and one that ends early: the
 * value goes with the next step, behind the last one in a row of its own; a picture is of the step that has ended. */
static int pictures[8], n_pictures;
static bool take_picture(void *user, const log_artifact *a) {
    (void)user;
    if (a->kind == LOG_IMAGE && n_pictures < 8) pictures[n_pictures++] = (int)a->step;
    return true;
}
static void no_row(void *user, const log_row *row) {
    (void)user, (void)row;
}
static bool stops;
static void log_row_hook(xt_trainer *t, void *user) {
    (void)t, (void)user;
    xt_log_value("r", 7);
    xt_log_image("p", xt_full(0.5, XT_F32, 4, 4));
}
static void stop_behind(xt_trainer *t, void *user) {
    (void)user;
    if (stops) xt_trainer_stop(t);
}
static void a_row_hook_has_its_level(void **state) {
    (void)state;
    static const xt_callback_desc mine = {
        .struct_size = sizeof mine, .name = "mine", .row = log_row_hook, .epoch_end = stop_behind};
    for (int k = 0; k < 8; k++) {
        int every = k & 1 ? 50 : 4;
        bool validates = k & 2;
        stops = k & 4;
        n_pictures = 0;
        xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = every);
        xt_trainer_add(t, xt_callback_new(&mine, NULL));
        log_sink s = {.row = no_row, .artifact = take_picture};
        log_add_sink(&s);
        assert_int_equal(xt_fit(t, &task, data(4, 1), validates ? data(2, 1) : NULL), 0);
        log_remove_sink(&s);
        int last = stops ? 4 : 8;
        char want[64];
        snprintf(want, sizeof want, last == 8 && every == 4 ? "8=7 8=7" : "%d=7", last);
        ROWS("train,step", "r", want);
        ROWS("train,epoch", "r", "");
        ROWS("validate,epoch", "r", "");
        assert_int_equal(n_pictures, last == 8 && every == 4 ? 2 : 1);
        assert_int_equal(pictures[n_pictures - 1], last);
        xt_trainer_free(t);
    }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_row_hook_has_its_level),
        T(each_hook_has_its_level),
        T(tensors_at_an_epochs_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
