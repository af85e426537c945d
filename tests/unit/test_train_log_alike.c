/* What a row holds is the same for a loop of the program's own, a fit and manual optimization. Each in a process of its
 * own. */
#include "train_plain_test.h"

typedef enum how { LOOP, FIT, MANUAL, HOWS } how;

static void (*logs)(xt_batch b, int line); /* what a step logs */
static int arg; /* given to it */
static int period, accumulate = 1; /* of rows; micro-batches of an optimizer step */
static xt_optimizer *optimizer;

static xt_tensor loss_of(xt_module *m, xt_batch b) {
    return xt_mean(xt_forward(m, b.x));
}
static xt_tensor fit_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    logs(b, arg);
    return loss_of(m, b);
}
static xt_tensor own_step(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = fit_step(m, b, user);
    xt_backward(xt_div(loss, accumulate));
    if ((b.index + 1) % accumulate == 0) xt_optimizer_step(optimizer);
    return loss;
}
static void measure(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    logs(b, arg);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return optimizer = xt_sgd(m, .lr = 0.1);
}

/* Samples in batches of two, the last of which may have one. */
static xt_loader *samples_of(int64_t n, xt_switch pad) {
    static float rows[64];
    return xt_loader_new(xt_array_dataset(rows, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, n), .batch = 2,
                         .drop_last = XT_OFF, .pad_last = pad);
}

static void loop(int epochs, xt_loader *train, xt_loader *val) {
    xt_module *m = xt_module_new(net, NULL);
    xt_log_every_n_steps(period);
    for (int epoch = 0; epoch < epochs; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            if (!optimizer) xt_forward(m, b.x), sgd(m, NULL);
            own_step(m, b, NULL);
        }
        if (!val) continue;
        xt_eval(m);
        xt_no_grad_begin();
        for (xt_batch b; xt_next(val, &b);) measure(m, b, NULL);
        xt_no_grad_end();
        xt_train(m);
    }
}

static void fit(char *run, how h, int epochs, xt_loader *train, xt_loader *val) {
    xt_trainer *t =
        TEST_TRAINER(.max_epochs = epochs, .log_every_n_steps = period, .loggers = "csv", .checkpointing = XT_OFF,
                     .num_sanity_val_steps = 0, .accumulate_grad_batches = h == FIT ? accumulate : 1);
    xt_task task = {.net = net,
                    .training_step = h == FIT ? fit_step : own_step,
                    .validation_step = val ? measure : NULL,
                    .configure_optimizers = sgd,
                    .manual_optimization = h == MANUAL};
    same("the fit", xt_fit(t, &task, train, val) ? str_cstr(&said) : "", "");
    snprintf(run, 300, "%s", xt_trainer_run_dir(t));
}

/* Gives the folder of the files. */
static const char *train(const char *run, how h, int epochs, xt_loader *data, xt_loader *val) {
    static char folder[300];
    snprintf(folder, sizeof folder, "%s", run);
    if (h == LOOP)
        loop(epochs, data, val);
    else
        fit(folder, h, epochs, data, val);
    if (xt_finish()) same("xt_finish", "fails", "");
    return folder;
}

static void in_all(void (*body)(const char *run, int h, int which), int n) {
    for (int h = LOOP; h < HOWS; h++)
        for (int which = 0; which < n; which++) {
            what = (thing)h;
            in_a_child(body, h, which);
        }
    assert_int_equal(wrong, 0);
}

/* --- weights --- */
static void log_indices(xt_batch b, int line) {
    (void)line;
    xt_log("tensor", xt_full(b.index, XT_F32), .on_epoch = XT_ON, .on_step = XT_OFF);
    xt_log_value("number", b.index, .on_epoch = XT_ON, .on_step = XT_OFF);
    xt_log_value("said", b.index, .on_epoch = XT_ON, .on_step = XT_OFF, .batch_size = b.size);
    xt_log_value("most", b.index, .on_epoch = XT_ON, .on_step = XT_OFF, .reduce = XT_MAX);
    xt_log_value("sum", b.index, .on_epoch = XT_ON, .on_step = XT_OFF, .reduce = XT_SUM);
}
static void check_weights(const char *run, int h, int pad) {
    logs = log_indices;
    period = 50;
    const char *of = train(run, (how)h, 1, samples_of(5, pad ? XT_ON : XT_OFF), samples_of(5, pad ? XT_ON : XT_OFF));
    same("tensor", rows_of(of, "tensor"), "train/epoch@3=0.8 validate/epoch@3=0.8");
    same("number", rows_of(of, "number"), "train/epoch@3=0.8 validate/epoch@3=0.8");
    same("said", rows_of(of, "said"), "train/epoch@3=0.8 validate/epoch@3=0.8");
    same("most", rows_of(of, "most"), "train/epoch@3=2 validate/epoch@3=2");
    same("sum", rows_of(of, "sum"), "train/epoch@3=3 validate/epoch@3=3");
}
/* A short last batch weighs less, and so does a padded one. */
static void a_number_weighs_what_a_tensor_does(void **state) {
    (void)state;
    in_all(check_weights, 2);
}

/* --- a name that is logged again --- */
typedef enum form { NUMBERS, TENSORS, BOTH, SHARES, SUMS, WEIGHED, FORMS } form;
static double total_of(const double *sums, int64_t n, double scale) {
    return n == 2 ? (sums[0] + sums[1]) * scale : NAN;
}
static void log_as(form f, const char *name, double v, bool second, xt_reduce reduce) {
    static const float pair[2] = {1, 1};
    xt_tensor t = xt_full(v, XT_F32);
    if (f == NUMBERS || (f == BOTH && second))
        xt_log_value(name, v, .on_epoch = XT_ON, .reduce = reduce);
    else if (f == WEIGHED) /* the second three times as much */
        xt_log(name, t, .on_epoch = XT_ON, .reduce = reduce, .batch_size = second ? 3 : 1);
    else if (f == SHARES)
        xt_log_metric(name, ((xt_metric){.numerator = xt_mul(t, 2), .denominator = xt_full(2, XT_F32)}),
                      .on_epoch = XT_ON, .reduce = reduce);
    else if (f == SUMS)
        xt_log_metric(name,
                      ((xt_metric){.sums = xt_mul(xt_from_array(pair, XT_F32, 2), t), .finish = total_of, .arg = 0.5}),
                      .on_epoch = XT_ON);
    else
        xt_log(name, t, .on_epoch = XT_ON, .reduce = reduce);
}
static void log_again(xt_batch b, int f) {
    (void)b;
    for (int k = 0; k < 2; k++) { /* one line twice */
        log_as((form)f, "mean", k ? 2 : 1, k, XT_MEAN);
        if (f != SHARES) log_as((form)f, "sum", k ? 2 : 1, k, XT_SUM);
        log_as((form)f, "least", k ? 5 : 2, k, XT_MIN);
        log_as((form)f, "most", k ? 2 : 5, k, XT_MAX);
        log_as((form)f, "last", k ? 2 : 5, k, XT_LAST);
    }
    xt_log_value("lines", 1, .on_epoch = XT_ON);
    xt_log_value("lines", 2, .on_epoch = XT_ON);
    xt_log_value("lines", 6, .on_epoch = XT_ON);
}
static void is_in_rows(const char *of, const char *name, const char *step, const char *epoch) {
    char column[64], want[256] = "";
    snprintf(column, sizeof column, "%s_step", name);
    for (int k = 2; k <= 4; k += 2) add(want, sizeof want, "train/step@%d=%s", k, step);
    same(column, rows_of(of, column), want);
    snprintf(column, sizeof column, "%s_epoch", name);
    snprintf(want, sizeof want, "train/epoch@4=%s", epoch);
    same(column, rows_of(of, column), want);
}
static void check_again(const char *run, int h, int f) {
    logs = log_again;
    arg = f;
    period = 2;
    const char *of = train(run, (how)h, 1, samples_of(8, XT_OFF), NULL);
    is_in_rows(of, "lines", "3", "3");
    if (f == SUMS) {
        is_in_rows(of, "mean", "3", "12");
        return;
    }
    is_in_rows(of, "mean", f == WEIGHED ? "1.75" : "1.5", f == WEIGHED ? "1.75" : "1.5");
    if (f != SHARES) is_in_rows(of, "sum", "3", "12");
    is_in_rows(of, "least", "2", "2");
    is_in_rows(of, "most", "5", "5");
    is_in_rows(of, "last", "2", "2");
}
static void a_name_logged_again_has_both_values(void **state) {
    (void)state;
    in_all(check_again, FORMS);
}

/* --- accumulation --- */
static int counted;
static void log_count(xt_batch b, int line) {
    (void)b, (void)line;
    counted++;
    xt_log_value("sum", counted, .reduce = XT_SUM);
    xt_log_value("mean", counted);
    xt_log_value("least", counted, .reduce = XT_MIN);
}
static void check_windows(const char *run, int h, int every) {
    logs = log_count;
    accumulate = 2;
    period = every + 1;
    const char *of = train(run, (how)h, 1, samples_of(16, XT_OFF), NULL);
    same("sum", rows_of(of, "sum"),
         every ? "train/step@2=7 train/step@4=15" : "train/step@1=3 train/step@2=7 train/step@3=11 train/step@4=15");
    same("mean", rows_of(of, "mean"),
         every ? "train/step@2=3.5 train/step@4=7.5"
               : "train/step@1=1.5 train/step@2=3.5 train/step@3=5.5 train/step@4=7.5");
    same("least", rows_of(of, "least"),
         every ? "train/step@2=3 train/step@4=7" : "train/step@1=1 train/step@2=3 train/step@3=5 train/step@4=7");
}
/* A row has all micro-batches of its step. */
static void a_row_has_its_whole_window(void **state) {
    (void)state;
    in_all(check_windows, 2);
}

/* --- behind the last row that is due --- */
static int micro_batches;
static void log_rarely(xt_batch b, int line) {
    (void)b, (void)line;
    int step = micro_batches++ / accumulate + 1;
    xt_log_value("each", step);
    if (step == 7) xt_log_value("seventh", 66);
    if (step == 2) xt_log_value("second", 22);
    xt_log_value("mean", step, .on_step = XT_OFF, .on_epoch = XT_ON);
}
/* Eight steps and a row every five: the last step has one, with what was logged since. */
static void check_last_row(const char *run, int h, int windows) {
    logs = log_rarely;
    period = 5;
    accumulate = windows + 1;
    const char *of = train(run, (how)h, 1, samples_of(16 * accumulate, XT_OFF), NULL);
    same("each", rows_of(of, "each"), "train/step@5=5 train/step@8=8");
    same("seventh", rows_of(of, "seventh"), "train/step@8=66");
    same("second", rows_of(of, "second"), "train/step@5=22");
    same("mean", rows_of(of, "mean"), "train/epoch@8=4.5");
}
static void the_last_step_has_a_row(void **state) {
    (void)state;
    in_all(check_last_row, 2);
}

/* --- behind a pass --- */
/* Values of an epoch that a loop logs when its pass is over, and its validation: on_epoch, as the epoch's, or as a
 * step's, which is then a row of the step that it came behind. */
enum { AS_STEPS = 1, EACH_STEP = 2, EACH_THIRD = 4, WAYS = 8 };
static void check_behind_pass(const char *run, int validates, int way) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *over = samples_of(8, XT_OFF), *val = samples_of(6, XT_OFF);
    xt_log_every_n_steps(way & EACH_THIRD ? 3 : 50);
    for (int epoch = 0, n = 0; epoch < 3; epoch++) {
        for (xt_batch b; xt_next(over, &b);) {
            train_step(&p, b.x);
            if (way & EACH_STEP) xt_log_value("k", b.index, .on_step = XT_OFF, .on_epoch = XT_ON);
            xt_log_value("n", ++n);
        }
        if (validates) xt_eval(p.m);
        for (xt_batch b; validates && xt_next(val, &b);) {
            xt_forward(p.m, b.x);
            xt_log_value("v", b.index);
        }
        if (validates) xt_train(p.m);
        xt_log_value("seconds", 70 + epoch, .on_step = way & AS_STEPS ? XT_ON : XT_OFF,
                     .on_epoch = way & AS_STEPS ? XT_OFF : XT_ON);
    }
    xt_finish();
    if (way & EACH_STEP)
        same("k", places_of(run, "k"), "train/epoch@4:0.3.8 train/epoch@8:1.3.16 train/epoch@12:2.3.24");
    same("n", rows_of(run, "n"),
         (const char *[]){"train/step@12=12", "train/step@4=4 train/step@8=8 train/step@12=12",
                          "train/step@3=3 train/step@6=6 train/step@9=9 train/step@12=12",
                          "train/step@3=3 train/step@4=4 train/step@6=6 train/step@8=8 train/step@9=9 "
                          "train/step@12=12"}[(way & EACH_THIRD ? 2 : 0) + (way & AS_STEPS)]);
    same("seconds", rows_of(run, "seconds"),
         way & AS_STEPS ? "train/step@4=70 train/step@8=71 train/step@12=72"
                        : "train/epoch@4=70 train/epoch@8=71 train/epoch@12=72");
    same("seconds", places_of(run, "seconds"),
         way & AS_STEPS ? "train/step@4:0.3.8 train/step@8:1.3.16 train/step@12:2.3.24"
                        : "train/epoch@4:0.3.8 train/epoch@8:1.3.16 train/epoch@12:2.3.24");
    if (validates) same("v", rows_of(run, "v"), "validate/epoch@4=1 validate/epoch@8=1 validate/epoch@12=1");
}
static void values_behind_a_pass_are_of_its_epoch(void **state) {
    (void)state;
    for (int validates = 0; validates < 2; validates++)
        for (int way = 0; way < WAYS; way++) in_a_child(check_behind_pass, validates, way);
    assert_int_equal(wrong, 0);
}

/* --- samples --- */
static xt_trainer *stopping;
static bool leaves_out;
static xt_tensor stop_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (!leaves_out && b.index == 5) xt_trainer_stop(stopping);
    return loss_of(m, b);
}
static bool at_seventh(xt_module *m, const xt_batch *b, void *user) {
    (void)m, (void)user;
    return leaves_out && b->index == 6;
}
static xt_tensor silent(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return loss_of(m, b);
}
/* The batch that the loader gives in vain is in no row, nor in those of the fit that goes on. */
static void check_samples(const char *run, int skips, int every) {
    (void)run;
    leaves_out = skips;
    stopping = TEST_TRAINER(.max_epochs = 1, .log_every_n_steps = every, .loggers = "csv", .checkpointing = XT_OFF);
    xt_task task = {
        .net = net, .training_step = stop_step, .configure_optimizers = sgd, .on_train_batch_start = at_seventh};
    same("the fit", xt_fit(stopping, &task, samples_of(16, XT_OFF), NULL) ? str_cstr(&said) : "", "");
    const char *of = xt_trainer_run_dir(stopping);
    same("loss", places_of(of, "loss"), "train/step@3:0.2.6 train/step@6:0.5.12");
    same("loss_epoch", places_of(of, "loss_epoch"), "train/epoch@6:0.5.12");
    xt_finish();
}
static void a_batch_given_in_vain_does_not_count(void **state) {
    (void)state;
    for (int skips = 0; skips < 2; skips++) in_a_child(check_samples, skips, 3);
    assert_int_equal(wrong, 0);
}

/* --- between steps --- */
static void log_between(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    log_again((xt_batch){.size = 1}, arg);
}
static void check_between(const char *run, int f, int hook) {
    (void)run;
    arg = f;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .loggers = "csv", .checkpointing = XT_OFF);
    xt_task task = {.net = net,
                    .training_step = silent,
                    .configure_optimizers = sgd,
                    .on_train_epoch_start = hook ? NULL : log_between,
                    .on_train_epoch_end = hook ? log_between : NULL};
    same("the fit", xt_fit(t, &task, samples_of(5, XT_OFF), NULL) ? str_cstr(&said) : "", "");
    const char *of = xt_trainer_run_dir(t), *row = hook ? "train/epoch@3" : "train/epoch@0";
    char want[8][64];
    static const double values[FORMS][2] = {{1.5, 3}, {1.5, 3}, {1.5, 3}, {1.5, NAN}, {3, 3}, {1.75, 3}};
    snprintf(want[0], 64, "%s=%g", row, values[f][0]);
    same("mean", rows_of(of, "mean"), want[0]);
    snprintf(want[1], 64, "%s=3", row);
    same("sum", rows_of(of, "sum"), isnan(values[f][1]) ? "" : want[1]);
    same("lines", rows_of(of, "lines"), want[1]);
    snprintf(want[2], 64, "%s=2", row);
    same("least", rows_of(of, "least"), f == SUMS ? rows_of(of, "least") : want[2]);
    same("last", rows_of(of, "last"), f == SUMS ? rows_of(of, "last") : want[2]);
    xt_finish();
}
static void hooks_between_steps_do_the_same(void **state) {
    (void)state;
    for (int f = NUMBERS; f < FORMS; f++)
        for (int hook = 0; hook < 2; hook++) in_a_child(check_between, f, hook);
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(a_number_weighs_what_a_tensor_does),
                                       T(a_name_logged_again_has_both_values),
                                       T(a_row_has_its_whole_window),
                                       T(the_last_step_has_a_row),
                                       T(values_behind_a_pass_are_of_its_epoch),
                                       T(a_batch_given_in_vain_does_not_count),
                                       T(hooks_between_steps_do_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
