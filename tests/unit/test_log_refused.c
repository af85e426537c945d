/* Log calls that cannot mean anything are errors with their line: within a loop's body, which runs many times for one
 * recording, and under a name that another value's column has already. */
#include "train_log_test.h"

/* --- in a loop's body --- */
static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user, (void)y;
    log_it();
    carry[0] = xt_add(carry[0], x[0]);
}

static void in_a_scan(void **state) {
    (void)state;
    static const float w[4] = {1, 2, 3, 4};
    char line[64];
    for (int k = 0; k < THINGS; k++) {
        what = (thing)k;
        limit("%s in a scan", thing_names[k]);
        xt_tensor carry = xt_scalar(0, XT_F32), x = xt_from_array(w, XT_F32, 4);
        xt_scan(body, 1, &carry, 1, &x, 0, NULL);
        snprintf(line, sizeof line, LOG_FILE ":%d", log_line);
        const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
        if (!strstr(text, line) || !strstr(text, "xt_scan")) same("the error", text, line);
        xt_clear_error();
        xt_mark_step();
    }
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* --- two values under one name --- */
static int columns; /* which case */
static int lines[2];
#define TWICE(first, second)            \
    do {                                \
        lines[0] = lines[1] = __LINE__; \
        first;                          \
        second;                         \
    } while (0)

static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    switch (columns) {
    case 0: TWICE(xt_log_value("a_step", 1), xt_log_value("a", 2, .on_epoch = XT_ON)); break;
    case 1: TWICE(xt_log_value("a", 2, .on_epoch = XT_ON), xt_log_value("a_step", 1)); break;
    case 2:
        TWICE(xt_log_value("a", 2, .on_epoch = XT_ON),
              xt_log_value("a_epoch", 1, .on_step = XT_OFF, .on_epoch = XT_ON));
        break;
    case 4:
    case 5: lines[0] = __LINE__, xt_log_value("e", 1, .on_step = XT_OFF, .on_epoch = XT_ON); break;
    case 7: xt_log_value("a", 1), xt_log_value("a_step", 1); break; /* as they are */
    default: break;
    }
    return xt_mean(xt_forward(m, b.x));
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (columns == 3 || columns == 6) lines[0] = __LINE__, xt_log("v", xt_mean(xt_forward(m, b.x)));
}
static void epoch_start(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    if (columns == 5) lines[1] = __LINE__, xt_log_value("e", 2);
}
static void epoch_end(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    if (columns == 4) lines[1] = __LINE__, xt_log_value("e", 2);
}
static void validation_end(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    if (columns == 3) lines[1] = __LINE__, xt_log_value("v", 2);
    if (columns == 6) lines[1] = __LINE__, xt_log_value("v/dataloader_idx_1", 2);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.001);
}

static void one_name_one_value(void **state) {
    (void)state;
    xt_task task = {.net = net,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .configure_optimizers = configure,
                    .on_train_epoch_start = epoch_start,
                    .on_train_epoch_end = epoch_end,
                    .on_validation_epoch_end = validation_end};
    for (columns = 0; columns < 8; columns++) {
        limit("columns %d", columns);
        str_clear(&said);
        lines[0] = lines[1] = 0;
        xt_trainer *t =
            TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1, .loggers = "csv", .checkpointing = XT_OFF);
        if (columns == 6) xt_trainer_add_val_loader(t, data(2));
        bool good = columns == 7;
        assert_int_equal(xt_fit(t, &task, data(2), data(2)), !good);
        for (int i = 0; i < 2 && !good; i++) {
            char line[64];
            snprintf(line, sizeof line, "test_log_refused.c:%d", lines[i]);
            says(line);
        }
        if (!good) says("rows would have two values named");
        xt_trainer_free(t);
    }
    alarm(0);
}

/* --- the trainer's own loss --- */
typedef enum beside { SUM_IN_VALIDATION, SUM_OF_EPOCH, SUM_LATER, SHARE_LATER, MEAN_TOO, SUM_FROM_THE_FIRST_ON } beside;
static beside beside_own;
static int logged_at;

static xt_tensor own_training(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    bool later = b.index > 0;
    if (beside_own == SUM_LATER && later) logged_at = __LINE__, xt_log("loss", loss, .reduce = XT_SUM);
    if (beside_own == SHARE_LATER && later)
        logged_at = __LINE__, xt_log_metric("loss", xt_accuracy(b.x, xt_zeros(XT_I64, 2)));
    if (beside_own == MEAN_TOO && later) xt_log("loss", loss);
    if (beside_own == SUM_FROM_THE_FIRST_ON) xt_log("loss", loss, .reduce = XT_SUM);
    return loss;
}
static void own_validation(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    if (beside_own == SUM_IN_VALIDATION) logged_at = __LINE__, xt_log("loss", loss, .reduce = XT_SUM);
    if (beside_own == SUM_OF_EPOCH) logged_at = __LINE__, xt_log("loss_epoch", loss, .reduce = XT_SUM);
    if (beside_own == MEAN_TOO) xt_log("loss", loss);
}

static void beside_the_trainers(void **state) {
    (void)state;
    xt_task task = {.net = net,
                    .training_step = own_training,
                    .validation_step = own_validation,
                    .configure_optimizers = configure};
    for (int sanity = 0; sanity < 2; sanity++)
        for (int k = SUM_IN_VALIDATION; k <= SUM_FROM_THE_FIRST_ON; k++) {
            char line[64];
            beside_own = (beside)k;
            limit("beside the trainer's own, case %d", k);
            str_clear(&said);
            xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1, .loggers = "csv",
                                         .checkpointing = XT_OFF, .num_sanity_val_steps = sanity);
            bool good = k >= MEAN_TOO;
            int fit_at = __LINE__ + 1;
            assert_int_equal(xt_fit(t, &task, data(2), data(2)), !good);
            if (!good) {
                says("the trainer's own \"loss\"");
                snprintf(line, sizeof line, "test_log_refused.c:%d: xt_log", logged_at);
                says(line);
                snprintf(line, sizeof line, "test_log_refused.c:%d) is", fit_at);
                says(line);
            }
            xt_trainer_free(t);
        }
    alarm(0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(in_a_scan), T(one_name_one_value), T(beside_the_trainers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
