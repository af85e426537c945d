/* Who is told of a fit's errors, and when: each when it arises, once, whatever else has failed. */
#include "train_test.h"

static int count(const char *part) {
    int n = 0;
    for (const char *p = str_cstr(&said); (p = strstr(p, part)); p++) n++;
    return n;
}

static bool fails; /* the third training step; else a pass's step */
static bool ends_badly; /* hooks at the end make errors */
static int told_by_then; /* how often the step's error had been told when the first hook behind it ran */
static int steps;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_loader *data(void) {
    static float rows[8];
    return xt_loader_new(xt_array_dataset(rows, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 8), .batch = 2);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (fails && ++steps == 3) xt_reshape(b.x, 1001);
    return xt_mean(xt_forward(m, b.x));
}
static void looks(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (fails) xt_reshape(b.x, 1001);
    xt_forward(m, b.x);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}

/* An error whose text has the number. */
static void fail_with(int n) {
    if (ends_badly) xt_reshape(xt_zeros(XT_F32, 2), n);
}
static void note_told(void) {
    if (told_by_then < 0) told_by_then = count("has 1001");
}
static void on_exception(xt_module *m, xt_status error, void *user) {
    (void)m, (void)error, (void)user;
    fail_with(2001);
}
static void c_exception(xt_trainer *t, xt_status error, void *user) {
    (void)t, (void)error, (void)user;
    note_told();
    fail_with(user ? 2003 : 2002);
}
static void on_train_end(xt_module *m, void *user) {
    (void)m, (void)user;
    fail_with(2004);
}
static void on_fit_end(xt_module *m, void *user) {
    (void)m, (void)user;
    fail_with(2005);
}
static bool last_ok;
static void c_fit_end(xt_trainer *t, bool ok, void *user) {
    (void)t;
    last_ok = ok;
    fail_with(user ? 2007 : 2006);
}
static void teardown(xt_module *m, const char *stage, void *user) {
    (void)m, (void)stage, (void)user;
    note_told();
    fail_with(2008);
}
static void c_teardown(xt_trainer *t, const char *stage, void *user) {
    (void)t, (void)stage;
    note_told();
    fail_with(user ? 2010 : 2009);
}

static const xt_task task = {.net = net,
                             .training_step = step,
                             .validation_step = looks,
                             .configure_optimizers = configure,
                             .on_exception = on_exception,
                             .on_train_end = on_train_end,
                             .on_fit_end = on_fit_end,
                             .teardown = teardown};
static const xt_callback_desc hooks = {.struct_size = sizeof hooks,
                                       .name = "hooks",
                                       .exception = c_exception,
                                       .fit_end = c_fit_end,
                                       .teardown = c_teardown};

static xt_trainer *trainer(void) {
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_trainer_add(t, xt_callback_new(&hooks, NULL));
    xt_trainer_add(t, xt_callback_new(&hooks, &steps));
    steps = 0;
    told_by_then = -1;
    str_clear(&said);
    return t;
}

static void each_once(const int *numbers, size_t n) {
    char part[32];
    for (size_t i = 0; i < n; i++) {
        snprintf(part, sizeof part, "has %d", numbers[i]);
        if (count(part) != 1) fail_msg("%s is told %d times in:\n%s", part, count(part), str_cstr(&said));
    }
}

static void at_once(void **state) {
    (void)state;
    fails = true;
    ends_badly = false;
    assert_int_equal(xt_fit(trainer(), &task, data(), NULL), 1);
    assert_int_equal(told_by_then, 1);
    assert_false(last_ok);
    each_once((int[]){1001}, 1);
    says("test_train_told.c:");
    assert_null(xt_error());
    xt_trainer *t = trainer();
    assert_int_equal(xt_validate(t, &task, data()), 1);
    assert_int_equal(told_by_then, 1);
    each_once((int[]){1001}, 1);
}

static void behind_a_failure(void **state) {
    (void)state;
    fails = ends_badly = true;
    assert_int_equal(xt_fit(trainer(), &task, data(), NULL), 1);
    each_once((int[]){1001, 2001, 2002, 2003, 2006, 2007, 2008, 2009, 2010}, 9);
    assert_int_equal(count("has 2004") + count("has 2005"), 0); /* hooks of a fit that has come to its end */
    assert_null(xt_error());
}

static void behind_a_good_fit(void **state) {
    (void)state;
    fails = false;
    ends_badly = true;
    assert_int_equal(xt_fit(trainer(), &task, data(), data()), 1);
    each_once((int[]){2004, 2005, 2006, 2007, 2008, 2009, 2010}, 7);
    assert_false(last_ok);
    assert_null(xt_error());
}

/* A program's own handler has them instead. */
static int handled;
static void handle(xt_status s, void *user) {
    (void)s, (void)user;
    handled++;
}
static void by_a_handler(void **state) {
    (void)state;
    fails = ends_badly = true;
    handled = 0;
    xt_on_error(handle, NULL);
    assert_int_equal(xt_fit(trainer(), &task, data(), NULL), 1);
    xt_on_error(NULL, NULL);
    assert_int_equal(handled, 9);
}

/* What a hook behind a failure does with the device does not run the step that failed. */
static float weight;
static void read_weight(xt_module *m, xt_status error, void *user) {
    (void)error, (void)user;
    xt_mark_step();
    weight = (float)xt_item(xt_sum(xt_module_find(m, "w")));
}
static xt_tensor fails_behind_the_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_sum(xt_forward(m, xt_add_scalar(b.x, 1)));
}
static void fail_now(xt_trainer *t, const xt_batch *b, void *user) {
    (void)t, (void)user;
    if (b->index == 1) xt_reshape(b->x, 1001);
}
static void a_failed_step_stays_undone(void **state) {
    (void)state;
    static const xt_callback_desc late = {.struct_size = sizeof late, .name = "late", .batch_end = fail_now};
    xt_task one = {.net = net,
                   .training_step = fails_behind_the_step,
                   .configure_optimizers = configure,
                   .on_exception = read_weight};
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_trainer_add(t, xt_callback_new(&late, NULL));
    assert_int_equal(xt_fit(t, &one, data(), NULL), 1);
    xt_clear_error();
    assert_true(fabsf(weight - 0.8F) < 1e-6F); /* one step of 0.1 * 2 samples */
}

/* A mean whose values all have the weight 0 is in no row, which is said once; what is no mean has no weights. */
static void no_weight_is_said(void **state) {
    (void)state;
    char runs[160];
    snprintf(runs, sizeof runs, "%s/runs", dir);
    setenv("XT_RUNS_DIR", runs, 1);
    for (int i = 0; i < 3; i++) {
        xt_log("none", xt_scalar(5, XT_F32), .batch_size = 0);
        xt_log("last", xt_scalar(6, XT_F32), .batch_size = 0, .reduce = XT_LAST);
        xt_log("some", xt_scalar(7, XT_F32), .batch_size = i);
        xt_mark_step();
    }
    assert_int_equal(count("xt_log \"none\": .batch_size = 0 gives this value no weight"), 1);
    assert_int_equal(count("xt_log \"last\""), 0);
    assert_true(xt_finish() == 0);
    unsetenv("XT_RUNS_DIR");
}

/* A number that f32 has no place for is another one in its row, which is said once a name. */
static void rounded_numbers_are_said(void **state) {
    (void)state;
    static const double fit_in[] = {0, 0.1, -3, 16777216, 16777218, 1e30, INFINITY, NAN};
    char runs[160];
    snprintf(runs, sizeof runs, "%s/runs", dir);
    setenv("XT_RUNS_DIR", runs, 1);
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < BASE_COUNT(fit_in); k++) xt_log_value("fits", fit_in[k]);
        xt_log_value("tokens", 16777217);
        xt_log_value("large", 1e300);
        xt_mark_step();
    }
    assert_int_equal(count("xt_log_value \"tokens\": 16777217 is 16777216 in its row"), 1);
    assert_int_equal(count("xt_log_value \"large\": 1.0000000000000001e+300 is inf in its row"), 1);
    assert_int_equal(count("xt_log_value \"fits\""), 0);
    assert_true(xt_finish() == 0);
    unsetenv("XT_RUNS_DIR");
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(at_once),
                                       T(behind_a_failure),
                                       T(behind_a_good_fit),
                                       T(by_a_handler),
                                       T(a_failed_step_stays_undone),
                                       T(no_weight_is_said),
                                       T(rounded_numbers_are_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
