/* Passes on their own, with no fit of the trainer before them: what their steps and hooks log is in the files of the
 * loggers that the program chose, as behind a fit. */
#include "train_log_test.h"

static const char *place;
static void here(const char *name) {
    if (strcmp(name, place) == 0) log_it();
}
static void step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_forward(m, b.x);
    here("step");
}
static xt_tensor predict(xt_module *m, xt_batch b, void *user) {
    (void)user;
    here("step");
    return xt_forward(m, b.x);
}
static void starts(xt_module *m, void *user) {
    (void)m, (void)user, here("start");
}
static void ends(xt_module *m, void *user) {
    (void)m, (void)user, here("end");
}
static void epoch_starts(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)user, (void)epoch, here("start");
}
static void epoch_ends(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)user, (void)epoch, here("end");
}
static void predicted(const xt_batch *b, xt_tensor out, void *user) {
    (void)b, (void)out, (void)user;
}
static const xt_task task = {.net = net,
                             .validation_step = step,
                             .test_step = step,
                             .predict_step = predict,
                             .on_validation_epoch_start = epoch_starts,
                             .on_validation_epoch_end = epoch_ends,
                             .on_test_start = starts,
                             .on_test_end = ends,
                             .on_predict_start = starts,
                             .on_predict_end = ends};
typedef enum pass { VALIDATES, TESTS, PREDICTS, PASSES } pass;
static const char *const pass_names[] = {"xt_validate", "xt_test", "xt_predict"};

static int run(xt_trainer *t, pass which) {
    if (which == PREDICTS) return xt_predict(t, &task, data(2), predicted, NULL);
    return which == TESTS ? xt_test(t, &task, data(2)) : xt_validate(t, &task, data(2));
}

static void check(pass which, const char *where) {
    place = where;
    limit("%s alone, %s in %s", pass_names[which], thing_names[what], where);
    xt_trainer *t = TEST_TRAINER(.loggers = "csv,tensorboard,jsonl", .checkpointing = XT_OFF);
    same("an error", run(t, which) ? "some" : "", "");
    found f = look(xt_trainer_run_dir(t));
    bool step = strcmp(where, "step") == 0, pictures = !is_row(what);
    same("the event file", pictures ? f.others[2] : f.rows[2], pictures ? step ? "0 0" : "0" : "0=7");
    if (is_row(what)) same("metrics.csv", f.rows[0], "0=7"), same("metrics.jsonl", f.rows[1], "0=7");
    if (is_row(what)) same("the level", f.levels, which == TESTS ? "test/epoch" : "validate/epoch");
    same("what is said", strstr(str_cstr(&said), "not written") ? "that it is not written" : "", "");
    xt_trainer_free(t);
}

static void passes_alone_write(void **state) {
    (void)state;
    static const char *const places[] = {"start", "step", "end"};
    for (int which = 0; which < PASSES; which++)
        for (int k = 0; k < THINGS; k++) {
            what = (thing)k;
            if (which == PREDICTS && is_row(what)) continue; /* an error there */
            for (size_t i = 0; i < BASE_COUNT(places); i++) check((pass)which, places[i]);
        }
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* A trainer that chose none makes no folder for a pass. */
static void without_loggers_no_folder(void **state) {
    (void)state;
    what = NUMBER;
    place = "step";
    for (int which = 0; which < PREDICTS; which++) {
        xt_trainer *t = TEST_TRAINER(.checkpointing = XT_OFF);
        assert_int_equal(run(t, (pass)which), 0);
        assert_null(xt_trainer_run_dir(t));
        assert_true(xt_trainer_metric(t, "x", true) == 7);
        xt_trainer_free(t);
    }
}

/* Nor does one whose passes log nothing, be it one that logs later. */
static void without_a_row_no_folder(void **state) {
    (void)state;
    what = NUMBER;
    for (int which = 0; which < PASSES; which++) {
        xt_trainer *t = TEST_TRAINER(.loggers = "csv,tensorboard,jsonl", .checkpointing = XT_OFF);
        place = "nowhere";
        for (int k = 0; k < 2; k++) {
            assert_int_equal(run(t, (pass)which), 0);
            assert_null(xt_trainer_run_dir(t));
        }
        char runs[300];
        snprintf(runs, sizeof runs, "%s/default", dir);
        DIR *d = opendir(runs);
        for (struct dirent *e; d && (e = readdir(d));) assert_null(strstr(e->d_name, "version"));
        if (d) closedir(d);
        place = "step";
        if (which == PREDICTS) what = TEXT;
        assert_int_equal(run(t, (pass)which), 0);
        assert_non_null(xt_trainer_run_dir(t));
        found f = look(xt_trainer_run_dir(t));
        if (which != PREDICTS)
            same("metrics.csv", f.rows[0], "0=7");
        else
            same("the event file", f.others[2], "0 0");
        char removed[600];
        snprintf(removed, sizeof removed, "rm -rf '%s'", runs);
        xt_trainer_free(t);
        assert_int_equal(system(removed), 0);
    }
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(passes_alone_write), T(without_loggers_no_folder), T(without_a_row_no_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
