/* Every wait, with a value of the open step pending: it is given when it has to be and nothing waits for ever; threads
 * of the library, which values go through, wait for none. */
#include "train_log_test.h"

static xt_trainer *waiter;
static int given;
static bool count_given(void *user, const log_artifact *a) {
    (void)user;
    given += strcmp(a->name, "x") == 0 && a->kind == LOG_HISTOGRAM && a->count == 4;
    return true;
}
static void no_row(void *user, const log_row *row) {
    (void)user, (void)row;
}

static void w_wait(xt_tensor t) {
    (void)t, xt_wait();
}
static void w_mark(xt_tensor t) {
    (void)t, xt_mark_step();
}
static void w_item(xt_tensor t) {
    assert_true(xt_item(xt_sum(t)) == 20);
}
static void w_read(xt_tensor t) {
    float v[4];
    assert_true(xt_read(t, v, sizeof v) && v[3] == 8);
}
static void w_sums(xt_tensor t) {
    (void)t;
    double v;
    xt_logged_sums("none", &v, 1);
}
static void w_confusion(xt_tensor t) {
    (void)t;
    double v;
    xt_logged_confusion("none", XT_NORMALIZE_ALL, &v, 1);
}
static void w_metric(xt_tensor t) {
    (void)t, xt_trainer_metric(waiter, "none", true);
}
static void w_drain(xt_tensor t) {
    (void)t, lazy_drain();
}
static void w_log_drain(xt_tensor t) {
    (void)t, log_drain();
}
static void w_log_close(xt_tensor t) {
    (void)t;
    log_sink s = {.row = no_row, .user = &wrong};
    log_add_sink(&s);
    log_remove_sink(&s);
}
static void w_free(xt_tensor t) {
    (void)t, xt_trainer_free(waiter), waiter = NULL;
}
static void w_finish(xt_tensor t) {
    (void)t, waiter = NULL, xt_finish();
}
static void w_reinitialize(xt_tensor t) {
    (void)t, xt_reinitialize();
}

static void every_wait(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*wait)(xt_tensor t);
        bool gives; /* the histogram has been given when it returns */
    } waits[] = {{"xt_wait", w_wait, false},
                 {"xt_mark_step", w_mark, false},
                 {"xt_item", w_item, false},
                 {"xt_read", w_read, false},
                 {"xt_logged_sums", w_sums, true},
                 {"xt_logged_confusion", w_confusion, true},
                 {"xt_trainer_metric", w_metric, true},
                 {"lazy_drain", w_drain, false},
                 {"log_drain", w_log_drain, true},
                 {"log_remove_sink", w_log_close, true},
                 {"xt_trainer_free", w_free, false},
                 {"xt_finish", w_finish, true},
                 {"xt_reinitialize", w_reinitialize, false}};
    static const float w[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < BASE_COUNT(waits); i++) {
        limit("%s", waits[i].name);
        given = 0;
        waiter = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
        log_sink s = {.row = no_row, .artifact = count_given};
        log_add_sink(&s);
        xt_tensor t = xt_from_array(w, XT_F32, 4), twice = xt_add(t, t);
        xt_log_histogram("x", twice);
        xt_master_printf("%t", xt_sum(twice)); /* another's value of the step, which nobody waits for here */
        waits[i].wait(twice);
        if (waits[i].gives) assert_int_equal(given, 1);
        xt_wait();
        log_drain();
        assert_int_equal(given, 1);
        log_remove_sink(&s);
        assert_null(xt_error());
        xt_finish();
    }
    alarm(0);
}

/* Threads of the library that values go through: what asks for values there is what they would wait for. */
static int asked;
static xt_status asks_on_the_logger(const xt_log_row *r, void *user) {
    double v;
    (void)r;
    xt_trainer_metric(user, "loss", true);
    xt_logged_sums("loss", &v, 1);
    asked++;
    return NULL;
}
static void asks_on_the_reader(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    double v;
    (void)user, (void)data, (void)bytes, (void)dtype;
    xt_logged_sums("loss", &v, 1);
    xt_wait();
    asked++;
}
static void ask_when_ready(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    xt_when_ready(xt_scalar(1, XT_F32), asks_on_the_reader, NULL);
    xt_log_histogram("x", xt_exp(xt_scalar(1, XT_F32)));
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_forward(m, b.x));
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.001);
}
static void threads_of_the_library_do_not_wait(void **state) {
    (void)state;
    xt_task asking = {.net = net,
                      .training_step = training_step,
                      .configure_optimizers = configure,
                      .on_train_epoch_end = ask_when_ready};
    limit("a logger and an xt_when_ready function that ask for values");
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 2, .checkpointing = XT_OFF);
    xt_trainer_add_logger(
        t, &(xt_logger_desc){.struct_size = sizeof(xt_logger_desc), .name = "asks", .row = asks_on_the_logger}, t);
    assert_int_equal(xt_fit(t, &asking, data(4), NULL), 0);
    assert_int_equal(asked, 4 + 2 + 2); /* rows of steps and of epochs, values */
    alarm(0);
}

/* A wait within a compiled step function, whose values come only when it has run, fails with the line of what it
 * waits for. */
static xt_tensor waits_inside(const xt_tensor *in, int n, void *user) {
    double v;
    (void)n;
    xt_tensor twice = xt_add(in[0], in[0]);
    log_line = __LINE__ + 1;
    xt_log_histogram("x", twice);
    if (user) xt_logged_sums("none", &v, 1);
    return xt_sum(twice);
}
static void compiled_functions(void **state) {
    (void)state;
    static const float w[4] = {1, 2, 3, 4};
    char line[64];
    limit("compiled step functions");
    log_sink s = {.row = no_row, .artifact = count_given};
    log_add_sink(&s);
    given = 0;
    xt_step *f = xt_compile(waits_inside, .name = "logs");
    for (int i = 0; i < 5; i++) assert_true(xt_item(xt_call(f, xt_from_array(w, XT_F32, 4))) == 20);
    log_drain();
    assert_int_equal(given, 5); /* at replays too */
    xt_call(xt_compile(waits_inside, .user = &given, .name = "waits"), xt_from_array(w, XT_F32, 4));
    snprintf(line, sizeof line, "test_train_log_waits.c:%d", log_line);
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), line));
    xt_clear_error();
    log_drain();
    log_remove_sink(&s);
    alarm(0);
}

/* --- what a hook has just logged --- */
static double sum_of_squares(const double *sums, int64_t n, double arg) {
    double all = arg;
    for (int64_t i = 0; i < n; i++) all += sums[i] * sums[i];
    return all;
}

/* In each hook another name, in all ways; the value is of the epoch: asked for where it is logged. */
static int epochs_seen;
static void log_and_ask(const char *name, double v) {
    static const float two[2] = {3, 4};
    char now[64], all[64];
    const xt_metric share = {.numerator = xt_full(3 * v, XT_F32), .denominator = xt_full(3, XT_F32)};
    const xt_metric of_sums = {
        .sums = xt_mul(xt_from_array(two, XT_F32, 2), xt_full(v, XT_F32)), .finish = sum_of_squares, .arg = 1};
    double sums[2];
    snprintf(now, sizeof now, "%s_number", name);
    xt_log_value(now, v);
    assert_true(xt_trainer_metric(waiter, now, true) == v);
    xt_log_value(now, v + 1); /* both count */
    assert_true(xt_trainer_metric(waiter, now, true) == v + 0.5);
    xt_log_value(now, v - 1);
    snprintf(now, sizeof now, "%s_tensor", name);
    xt_log(now, xt_mean(xt_full(v, XT_F32, 4)));
    assert_true(xt_trainer_metric(waiter, now, true) == v);
    snprintf(now, sizeof now, "%s_sum", name);
    xt_log_value(now, v, .reduce = XT_SUM);
    assert_true(xt_trainer_metric(waiter, now, true) == v);
    snprintf(now, sizeof now, "%s_share", name);
    xt_log_metric(now, share);
    assert_true(fabs(xt_trainer_metric(waiter, now, true) - v) < 1e-6);
    snprintf(all, sizeof all, "%s_sums", name);
    xt_log_metric(all, of_sums);
    assert_true(xt_trainer_metric(waiter, all, true) == 25 * v * v + 1);
    assert_int_equal(xt_logged_sums(all, sums, 2), 2);
    assert_true(sums[0] == 3 * v && sums[1] == 4 * v);
}
static void ask_again(const char *name, double v) {
    char now[64];
    static const char *const ways[] = {"number", "tensor", "sum", "share"};
    for (size_t i = 0; i < BASE_COUNT(ways); i++) {
        snprintf(now, sizeof now, "%s_%s", name, ways[i]);
        assert_true(fabs(xt_trainer_metric(waiter, now, true) - v) < 1e-6);
    }
}
static void h_train_start(xt_module *m, void *user) {
    (void)m, (void)user, log_and_ask("train_start", 9);
}
static void h_epoch_start(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)user, log_and_ask("epoch_start", 10.0 + (double)epoch);
}
static void h_epoch_end(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)user, log_and_ask("epoch_end", 20.0 + (double)epoch);
}
static void h_validation_start(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)user, log_and_ask("validation_start", 30.0 + (double)epoch);
}
static void h_validation_end(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)user, log_and_ask("validation_end", 40.0 + (double)epoch);
}
static void c_epoch_end(xt_trainer *t, void *user) {
    (void)user, ask_again("epoch_end", 20.0 + (double)xt_trainer_epoch(t)), epochs_seen++;
}
static void c_validation_end(xt_trainer *t, void *user) {
    (void)user, ask_again("validation_end", 40.0 + (double)xt_trainer_epoch(t)), epochs_seen++;
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user, xt_forward(m, b.x);
}
static void what_a_hook_has_logged_is_there(void **state) {
    (void)state;
    const xt_task task = {.net = net,
                          .training_step = training_step,
                          .validation_step = validation_step,
                          .configure_optimizers = configure,
                          .on_train_start = h_train_start,
                          .on_train_epoch_start = h_epoch_start,
                          .on_train_epoch_end = h_epoch_end,
                          .on_validation_epoch_start = h_validation_start,
                          .on_validation_epoch_end = h_validation_end};
    const xt_callback_desc later = {
        .struct_size = sizeof later, .name = "later", .epoch_end = c_epoch_end, .validation_end = c_validation_end};
    limit("hooks that ask for what they have logged");
    waiter = TEST_TRAINER(.max_epochs = 3, .checkpointing = XT_OFF, .num_sanity_val_steps = 0);
    xt_trainer_add(waiter, xt_callback_new(&later, NULL));
    assert_int_equal(xt_fit(waiter, &task, data(4), data(2)), 0);
    assert_int_equal(epochs_seen, 6);
    ask_again("validation_end", 42); /* the rows have the same */
    ask_again("epoch_end", 22);
    alarm(0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(every_wait), T(threads_of_the_library_do_not_wait), T(compiled_functions),
                                       T(what_a_hook_has_logged_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
