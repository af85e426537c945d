/* Loops without a trainer: what is logged before, within and behind the steps is found in the files, everything that
 * can be logged, whenever rows are due. Each loop in a process of its own, whose steps count from 1. */
#include "train_log_test.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "train/logger.h"

typedef enum moment { BEFORE, WITHIN, AFTER, FINISHED } moment;

/* Three optimizer steps; x is logged before them, in the second, behind the last, or after xt_finish. */
static void plain_loop(moment when, int every) {
    static float x[4] = {1, 2, 3, 4};
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = NULL;
    xt_log_every_n_steps(every);
    if (when == BEFORE) log_it();
    for (int i = 0; i < 3; i++) {
        xt_tensor loss = xt_mean(xt_forward(m, xt_from_array(x, XT_F32, 4, 1)));
        if (!o) o = xt_sgd(m, .lr = 0.1);
        if (when == WITHIN && i == 1) log_it();
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_mark_step();
    }
    if (when == AFTER) log_it();
    assert_int_equal(xt_finish(), 0);
    if (when == FINISHED) log_it();
    assert_int_equal(xt_finish(), 0);
}

/* What plain_log.c does in the library, which the linker leaves out of a program that does not name it. */
static char opens[300];
static void open_loggers(void) {
    log_sink sinks[4];
    size_t n;
    xt_status s = mkdir(opens, 0777) ? status_errno("mkdir", opens) : NULL;
    if (!s) s = loggers_open("csv,tensorboard", opens, (logger_settings){0}, sinks, BASE_COUNT(sinks), &n);
    same("opening the loggers", s ? xt_status_message(s) : "", "");
}

/* Forked while this one has no thread of the library yet. */
static void in_a_child(void (*body)(const char *run, int when, int every), int when, int every) {
    snprintf(opens, sizeof opens, "%s/%d-%d-%d", dir, when, (int)what, every);
    fflush(NULL);
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        limit("a plain loop, %d, %s, a row every %d", when, thing_names[what], every);
        log_set_default_sinks(open_loggers);
        body(opens, when, every);
        fflush(NULL);
        _exit(wrong != 0);
    }
    waitpid(pid, &status, 0);
    wrong += status != 0;
}

static void check_plain(const char *run, int when, int every) {
    plain_loop((moment)when, every);
    found f = look(run);
    bool number = is_row(what);
    int step = when == BEFORE   ? (number ? every == 1 ? 1 : 3 : 0)
               : when == WITHIN ? (number ? every == 1 ? 2 : 3 : 1)
                                : 3;
    char want[32];
    snprintf(want, sizeof want, number ? "%d=7" : "%d", step);
    same("the event file", number ? f.rows[2] : f.others[2], want);
    if (number) same("metrics.csv", f.rows[0], want);
}

static void plain_loops(void **state) {
    (void)state;
    for (int when = BEFORE; when <= FINISHED; when++)
        for (int k = 0; k < THINGS; k++)
            for (int every = 1; every <= 50; every += 49) {
                what = (thing)k;
                in_a_child(check_plain, when, every);
            }
    assert_int_equal(wrong, 0);
}

static void check_epoch(const char *run, int when, int every) {
    (void)when, (void)every;
    for (int i = 0; i < 4; i++) {
        xt_log_value("x", 4 + 2 * i, .on_epoch = XT_ON, .on_step = XT_OFF);
        xt_mark_step();
    }
    xt_finish();
    found f = look(run);
    same("metrics.csv", f.rows[0], "0=7");
    same("the level", f.levels, "train/epoch");
}

/* With both levels on, the loop is the epoch. */
static void a_plain_loop_is_an_epoch(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_epoch, 9, 50);
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(plain_loops), T(a_plain_loop_is_an_epoch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
