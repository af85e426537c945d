/* Every hook x everything that can be logged x when rows are due x which loggers there are: what is found in the
 * files, or which error names the line. */
#include "train_log_test.h"

#include "launched.h"

static const char *place = ""; /* the hook that logs */
static void here(const char *name) {
    if (strcmp(name, place) == 0) log_it();
}

/* --- a task and a callback with every hook --- */
static int fails_at; /* training_step number that fails; 0: none */
static int steps_seen;
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    here("training_step");
    if (++steps_seen == fails_at) xt_reshape(b.x, 1000);
    return loss;
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    here("configure_optimizers");
    return xt_sgd(m, .lr = 0.001);
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    here("predict_step");
    return xt_forward(m, b.x);
}
static xt_batch on_after_batch_transfer(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    here("on_after_batch_transfer");
    return b;
}
static bool on_train_batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)m, (void)b, (void)user;
    here("on_train_batch_start");
    return false;
}
/* Hooks by the arguments they have besides the first one and `user`. */
#define TASK_PLAIN(X)    \
    X(on_fit_start)      \
    X(on_fit_end)        \
    X(on_train_start)    \
    X(on_train_end)      \
    X(on_after_backward) \
    X(on_before_optimizer_step) X(on_test_start) X(on_test_end) X(on_predict_start) X(on_predict_end)
#define TASK_EPOCH(X) \
    X(on_train_epoch_start) X(on_train_epoch_end) X(on_validation_epoch_start) X(on_validation_epoch_end)
#define TASK_BATCH(X)            \
    X(on_validation_batch_start) \
    X(on_validation_batch_end) X(on_test_batch_start) X(on_test_batch_end) X(on_predict_batch_start)
#define TASK_STEP(X) X(validation_step) X(test_step)
#define TASK_STAGE(X) X(setup) X(teardown)
#define CALL_PLAIN(X)   \
    X(epoch_start)      \
    X(step_end)         \
    X(row)              \
    X(validation_start) \
    X(validation_end)   \
    X(epoch_end)        \
    X(sanity_start)     \
    X(sanity_end) X(test_start) X(test_end) X(predict_start) X(predict_end) X(after_backward) X(before_optimizer_step)
#define CALL_BATCH(X) \
    X(batch_start)    \
    X(batch_end)      \
    X(validation_batch_start) X(validation_batch_end) X(test_batch_start) X(test_batch_end) X(predict_batch_start)
#define CALL_STAGE(X) X(setup) X(teardown)
#define X(n)                                  \
    static void n(xt_module *m, void *user) { \
        (void)m, (void)user;                  \
        here(#n);                             \
    }
TASK_PLAIN(X)
#undef X
#define X(n)                                                 \
    static void n(xt_module *m, int64_t epoch, void *user) { \
        (void)m, (void)epoch, (void)user;                    \
        here(#n);                                            \
    }
TASK_EPOCH(X)
#undef X
#define X(n)                                                     \
    static void n(xt_module *m, const xt_batch *b, void *user) { \
        (void)m, (void)b, (void)user;                            \
        here(#n);                                                \
    }
TASK_BATCH(X)
#undef X
#define X(n)                                              \
    static void n(xt_module *m, xt_batch b, void *user) { \
        (void)m, (void)b, (void)user;                     \
        here(#n);                                         \
    }
TASK_STEP(X)
#undef X
#define X(n)                                                     \
    static void n(xt_module *m, const char *stage, void *user) { \
        (void)m, (void)stage, (void)user;                        \
        here(#n);                                                \
    }
TASK_STAGE(X)
#undef X
#define X(n)                                       \
    static void c_##n(xt_trainer *t, void *user) { \
        (void)t, (void)user;                       \
        here("c_" #n);                             \
    }
CALL_PLAIN(X)
#undef X
#define X(n)                                                          \
    static void c_##n(xt_trainer *t, const xt_batch *b, void *user) { \
        (void)t, (void)b, (void)user;                                 \
        here("c_" #n);                                                \
    }
CALL_BATCH(X)
#undef X
#define X(n)                                                          \
    static void c_##n(xt_trainer *t, const char *stage, void *user) { \
        (void)t, (void)stage, (void)user;                             \
        here("c_" #n);                                                \
    }
CALL_STAGE(X)
#undef X
static void on_before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)m, (void)loss, (void)user;
    here("on_before_backward");
}
static void on_train_batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m, (void)b, (void)loss, (void)user;
    here("on_train_batch_end");
}
static void on_predict_batch_end(xt_module *m, const xt_batch *b, xt_tensor out, void *user) {
    (void)m, (void)b, (void)out, (void)user;
    here("on_predict_batch_end");
}
static void on_exception(xt_module *m, xt_status error, void *user) {
    (void)m, (void)error, (void)user;
    here("on_exception");
}
static xt_status c_fit_start(xt_trainer *t, void *user) {
    (void)t, (void)user;
    here("c_fit_start");
    return NULL;
}
static void c_fit_end(xt_trainer *t, bool ok, void *user) {
    (void)t, (void)ok, (void)user;
    here("c_fit_end");
}
static void c_exception(xt_trainer *t, xt_status error, void *user) {
    (void)t, (void)error, (void)user;
    here("c_exception");
}
static void c_before_backward(xt_trainer *t, xt_tensor loss, void *user) {
    (void)t, (void)loss, (void)user;
    here("c_before_backward");
}
static void c_predict_batch_end(xt_trainer *t, const xt_batch *b, xt_tensor out, void *user) {
    (void)t, (void)b, (void)out, (void)user;
    here("c_predict_batch_end");
}
static void prediction(const xt_batch *b, xt_tensor out, void *user) {
    (void)b, (void)out, (void)user;
    here("prediction");
}

static const xt_task task = {.net = net,
                             .training_step = training_step,
                             .configure_optimizers = configure,
                             .predict_step = predict_step,
                             .on_after_batch_transfer = on_after_batch_transfer,
                             .on_train_batch_start = on_train_batch_start,
                             .on_before_backward = on_before_backward,
                             .on_train_batch_end = on_train_batch_end,
                             .on_predict_batch_end = on_predict_batch_end,
                             .on_exception = on_exception,
#define X(n) .n = n,
                             TASK_PLAIN(X) TASK_EPOCH(X) TASK_BATCH(X) TASK_STEP(X) TASK_STAGE(X)
#undef X
};
static const xt_callback_desc everywhere = {.struct_size = sizeof(xt_callback_desc),
                                            .name = "everywhere",
                                            .fit_start = c_fit_start,
                                            .fit_end = c_fit_end,
                                            .exception = c_exception,
                                            .before_backward = c_before_backward,
                                            .predict_batch_end = c_predict_batch_end,
#define X(n) .n = c_##n,
                                            CALL_PLAIN(X) CALL_BATCH(X) CALL_STAGE(X)
#undef X
};

/* --- the table --- */
typedef enum pass { FIT, FAILING, VALIDATE, TEST, PREDICT } pass;
static const char EACH[] = "1 2 3 4 5 6 7 8", LATER[] = "2 3 4 5 6 7 8 8", ENDS[] = "4 8", TWICE[] = "4 4 8 8";
/* Steps at which x is found with a row every step, and every 50 steps (a fit of 8 has one at its end). rows NULL:
 * refused; "": thrown away. `others` are histograms and images; texts NULL: as `others` of a row every step. */
typedef struct cell {
    pass pass;
    const char *hook, *level, *rows, *rows50, *others, *others50, *texts;
} cell;
#define SAME(list) list, list
#define IN_STEP(hook) \
    { FIT, hook, "train/step", EACH, "8", EACH, "8", NULL }
#define AT(pass, hook, level, list) \
    { pass, hook, level, SAME(list), SAME(list), NULL }
#define NO_ROW(pass, hook, list) \
    { pass, hook, NULL, SAME(NULL), SAME(list), NULL }
static const cell table[] = {
    IN_STEP("training_step"),
    IN_STEP("on_train_batch_start"),
    IN_STEP("on_before_backward"),
    IN_STEP("on_after_backward"),
    IN_STEP("on_before_optimizer_step"),
    IN_STEP("on_train_batch_end"),
    IN_STEP("c_batch_start"),
    IN_STEP("c_batch_end"),
    IN_STEP("c_before_backward"),
    IN_STEP("c_after_backward"),
    IN_STEP("c_before_optimizer_step"),
    /* a number behind a step goes with the next one, and behind the last in a row of its own */
    {FIT, "c_step_end", "train/step", LATER, "8 8", EACH, "8", NULL},
    {FIT, "c_row", "train/step", LATER, NULL, EACH, NULL, NULL},
    AT(FIT, "on_train_start", "train/epoch", "0"),
    AT(FIT, "on_train_epoch_start", "train/epoch", "0 4"),
    AT(FIT, "c_epoch_start", "train/epoch", "0 4"),
    AT(FIT, "on_train_epoch_end", "train/epoch", ENDS),
    AT(FIT, "c_epoch_end", "train/epoch", ENDS),
    AT(FIT, "on_validation_epoch_start", "validate/epoch", ENDS),
    AT(FIT, "on_validation_epoch_end", "validate/epoch", ENDS),
    AT(FIT, "c_validation_start", "validate/epoch", ENDS),
    AT(FIT, "c_validation_end", "validate/epoch", ENDS),
    {FIT, "validation_step", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "on_validation_batch_start", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "on_validation_batch_end", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "c_validation_batch_start", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "c_validation_batch_end", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    AT(FIT, "c_sanity_start", "", ""),
    AT(FIT, "c_sanity_end", "", ""),
    NO_ROW(FIT, "setup", NULL),
    NO_ROW(FIT, "c_setup", NULL),
    NO_ROW(FIT, "configure_optimizers", NULL),
    NO_ROW(FIT, "on_fit_start", "0"),
    NO_ROW(FIT, "c_fit_start", "0"),
    NO_ROW(FIT, "on_train_end", "8"),
    NO_ROW(FIT, "on_fit_end", "8"),
    NO_ROW(FIT, "c_fit_end", "8"),
    NO_ROW(FIT, "teardown", "8"),
    NO_ROW(FIT, "c_teardown", "8"),
    NO_ROW(FAILING, "on_exception", "2"),
    NO_ROW(FAILING, "c_exception", "2"),
    NO_ROW(FAILING, "c_fit_end", "2"),
    NO_ROW(FAILING, "teardown", "2"),
    NO_ROW(FAILING, "c_teardown", "2"),
    AT(VALIDATE, "on_validation_epoch_start", "validate/epoch", "8"),
    AT(VALIDATE, "on_validation_epoch_end", "validate/epoch", "8"),
    AT(VALIDATE, "c_validation_start", "validate/epoch", "8"),
    AT(VALIDATE, "c_validation_end", "validate/epoch", "8"),
    {VALIDATE, "validation_step", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "on_validation_batch_end", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "on_after_batch_transfer", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "on_validation_batch_start", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "c_validation_batch_start", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "c_validation_batch_end", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    NO_ROW(VALIDATE, "c_setup", "8"),
    NO_ROW(VALIDATE, "c_teardown", "8"),
    NO_ROW(VALIDATE, "setup", "8"),
    NO_ROW(VALIDATE, "teardown", "8"),
    AT(TEST, "on_test_start", "test/epoch", "8"),
    AT(TEST, "on_test_end", "test/epoch", "8"),
    AT(TEST, "c_test_start", "test/epoch", "8"),
    AT(TEST, "c_test_end", "test/epoch", "8"),
    {TEST, "test_step", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "on_test_batch_start", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "on_test_batch_end", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "c_test_batch_start", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "c_test_batch_end", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "on_after_batch_transfer", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    NO_ROW(TEST, "setup", "8"),
    NO_ROW(TEST, "teardown", "8"),
    NO_ROW(TEST, "c_setup", "8"),
    NO_ROW(TEST, "c_teardown", "8"),
    NO_ROW(PREDICT, "on_predict_start", "8"),
    NO_ROW(PREDICT, "on_predict_end", "8"),
    NO_ROW(PREDICT, "c_predict_start", "8"),
    NO_ROW(PREDICT, "c_predict_end", "8"),
    NO_ROW(PREDICT, "predict_step", "8 8"),
    NO_ROW(PREDICT, "on_predict_batch_start", "8 8"),
    NO_ROW(PREDICT, "on_predict_batch_end", "8 8"),
    NO_ROW(PREDICT, "c_predict_batch_start", "8 8"),
    NO_ROW(PREDICT, "c_predict_batch_end", "8 8"),
    NO_ROW(PREDICT, "prediction", "8 8"),
    NO_ROW(PREDICT, "on_after_batch_transfer", "8 8"),
    NO_ROW(PREDICT, "c_setup", "8"),
    NO_ROW(PREDICT, "c_teardown", "8"),
    NO_ROW(PREDICT, "setup", "8"),
    NO_ROW(PREDICT, "teardown", "8"),
};

static int run_case(xt_trainer *t, const cell *r) {
    bool alone = r->pass >= VALIDATE;
    steps_seen = 0;
    fails_at = r->pass == FAILING ? 3 : 0;
    place = alone ? "" : r->hook;
    int rc = xt_fit(t, &task, data(4), data(2));
    if (!alone) return rc;
    if (rc) fail_msg("%s: the fit before it: %s", now_at, str_cstr(&said));
    place = r->hook;
    return r->pass == VALIDATE ? xt_validate(t, &task, data(2))
           : r->pass == TEST   ? xt_test(t, &task, data(2))
                               : xt_predict(t, &task, data(2), prediction, NULL);
}

static void check_case(const cell *r, thing k, int every) {
    static const char *const passes[] = {"fit", "failing fit", "validate", "test", "predict"};
    const char *want = is_row(k)    ? (every == 1 ? r->rows : r->rows50)
                       : k == TEXT  ? (r->texts ? r->texts : r->others)
                       : every == 1 ? r->others
                                    : r->others50;
    char line[160];
    what = k;
    str_clear(&said);
    limit("%s of %s, %s, a row every %d", r->hook, passes[r->pass], thing_names[k], every);
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = every, .loggers = "csv,tensorboard,jsonl",
                                 .checkpointing = XT_OFF, .num_sanity_val_steps = 1);
    xt_trainer_add(t, xt_callback_new(&everywhere, NULL));
    int rc = run_case(t, r);
    found f = look(xt_trainer_run_dir(t));
    place = "";
    snprintf(line, sizeof line, LOG_FILE ":%d: xt_log", log_line);
    same("the result", rc ? "an error" : "", r->pass == FAILING || !want ? "an error" : "");
    if (!want && !strstr(str_cstr(&said), line)) same("what is said", "no line", line);
    bool computes = k == IMAGE || k == COMPUTED, told = r->pass == FAILING && computes && !strstr(r->hook, "exception");
    if (told) { /* nothing is computed for a fit that has failed */
        want = "";
        strcat(line, k == IMAGE ? "_image \"x\" is not written" : "_histogram \"x\" is not written");
        if (!strstr(str_cstr(&said), line)) same("what is said", "no line", line);
    }
    if (!want) want = "";
    for (int i = 0; i < 3; i++) {
        bool shows = is_row(k) || i == 2 || (i == 1 && k == TEXT);
        same(i == 0   ? "metrics.csv"
             : i == 1 ? "metrics.jsonl"
                      : "the event file",
             is_row(k) ? f.rows[i] : f.others[i],
             !shows      ? ""
             : is_row(k) ? sevens(want)
                         : want);
    }
    if (is_row(k) && *want) same("the level in metrics.csv", f.levels, r->level);
    if (r->pass == FIT && strstr(str_cstr(&said), "is not written")) fail_msg("%s: %s", now_at, str_cstr(&said));
    xt_finish();
}

static void every_hook(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(table); i++)
        for (int k = 0; k < THINGS; k++)
            for (int every = 1; every <= 50; every += 49)
                if (every == 1 || (table[i].pass == FIT && strcmp(table[i].hook, "c_row") != 0))
                    check_case(&table[i], (thing)k, every);
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* --- one logger, or none --- */
static void each_logger(void **state) {
    (void)state;
    static const struct {
        const char *loggers;
        bool rows, texts, pictures;
        int file; /* of `found` */
    } rows[] = {{"csv", true, false, false, 0},
                {"jsonl", true, true, false, 1},
                {"tensorboard", true, true, true, 2},
                {NULL, true, false, false, 0}};
    static const struct {
        const char *hook, *steps;
    } hooks[] = {
        {"training_step", EACH}, {"on_train_epoch_end", ENDS}, {"on_validation_epoch_end", ENDS}, {"on_fit_end", "8"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        for (size_t h = 0; h < BASE_COUNT(hooks); h++)
            for (int k = 0; k < THINGS; k++) {
                bool shown = is_row((thing)k) ? rows[i].rows : k == TEXT ? rows[i].texts : rows[i].pictures;
                char line[160];
                if (is_row((thing)k) && strcmp(hooks[h].hook, "on_fit_end") == 0) continue; /* refused: above */
                what = (thing)k;
                str_clear(&said);
                limit("%s, %s, loggers %s", hooks[h].hook, thing_names[k], rows[i].loggers ? rows[i].loggers : "none");
                xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1, .loggers = rows[i].loggers,
                                             .logger = rows[i].loggers ? XT_ON : XT_OFF, .checkpointing = XT_OFF);
                place = hooks[h].hook;
                assert_int_equal(xt_fit(t, &task, data(4), data(2)), 0);
                place = "";
                found f = look(rows[i].loggers ? xt_trainer_run_dir(t) : NULL);
                if (rows[i].loggers)
                    same("the file", is_row((thing)k) ? f.rows[rows[i].file] : f.others[rows[i].file],
                         !shown             ? ""
                         : is_row((thing)k) ? sevens(hooks[h].steps)
                                            : hooks[h].steps);
                else if (is_row((thing)k) && xt_trainer_metric(t, "x", true) != 7)
                    same("the newest value", "another value", "7");
                snprintf(line, sizeof line, LOG_FILE ":%d: xt_log_%s \"x\" is not written: no logger of this run shows",
                         log_line,
                         k == IMAGE  ? "image"
                         : k == TEXT ? "text"
                                     : "histogram");
                const char *once = strstr(str_cstr(&said), line);
                same("what is said", once ? strstr(once + 1, line) ? "twice" : "once" : "", shown ? "" : "once");
                xt_finish();
            }
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* A short fit has its histograms at its last step, known beforehand; one that is stopped says what it has not
 * written. */
static void stop_it(xt_trainer *t, void *user) {
    (void)user;
    if (xt_trainer_global_step(t) == 2) xt_trainer_stop(t);
}
static void what_no_step_read_is_told(void **state) {
    (void)state;
    static const xt_callback_desc stops = {.struct_size = sizeof stops, .name = "stops", .step_end = stop_it};
    what = HISTOGRAM;
    for (int i = 0; i < 2; i++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .loggers = "tensorboard", .checkpointing = XT_OFF);
        if (i) xt_trainer_add(t, xt_callback_new(&stops, NULL));
        str_clear(&said);
        limit("a fit that %s", i ? "is stopped" : "is short");
        place = "training_step";
        assert_int_equal(xt_fit(t, &task, data(4), NULL), 0);
        place = "";
        same("the event file", look(xt_trainer_run_dir(t)).others[2], i ? "" : "8");
        if (i)
            says("xt_log_histogram \"x\" is not written: training steps read it when their row is due, and none of "
                 "them was");
        else
            assert_null(strstr(str_cstr(&said), "is not written"));
        xt_finish();
    }
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* --- two ranks --- */
static int rank_fits(int rank, void *user) {
    (void)user;
    alarm(60);
    static const char *const hooks[] = {"training_step", "on_train_epoch_end", "on_validation_epoch_end",
                                        "c_validation_end", "c_fit_end"};
    static const thing things[] = {HISTOGRAM, IMAGE, COMPUTED, TENSOR};
    for (size_t h = 0; h < BASE_COUNT(hooks); h++)
        for (size_t k = 0; k < BASE_COUNT(things); k++) {
            if (is_row(things[k]) && h == 4) continue;
            place = hooks[h];
            what = things[k];
            xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1, .loggers = "tensorboard",
                                         .checkpointing = XT_OFF);
            xt_trainer_add(t, xt_callback_new(&everywhere, NULL));
            if (xt_fit(t, &task, data(8), data(4))) return 1;
            found f = look(xt_trainer_run_dir(t));
            const char *want = h == 0 ? EACH : h == 4 ? "8" : ENDS;
            if (rank == 0)
                same("the event file", is_row(things[k]) ? f.rows[2] : f.others[2],
                     is_row(things[k]) ? sevens(want) : want);
            if (wrong) return 2;
            xt_trainer_free(t);
        }
    return xt_finish();
}
static void two_ranks(void **state) {
    (void)state;
    assert_int_equal(launched(2, rank_fits, NULL), 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(two_ranks), T(every_hook), T(each_logger), T(what_no_step_read_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
