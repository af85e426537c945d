/* Loops without a trainer that validate: which rows what is logged there is in, and of which step. Each in a process of
 * its own. */
#include "train_plain_test.h"

static float samples[8];
static xt_tensor batch(void) {
    return xt_from_array(samples, XT_F32, 8, 1);
}

/* What ends the steps of a validation that has no loader, or comes behind it */
typedef enum ends { MARKS, NOTHING, WAITS, READS, CALLS, ENDS } ends;

static xt_tensor measure(const xt_tensor *in, int n, void *user) {
    (void)n;
    xt_tensor now = xt_mean(xt_forward(((plain *)user)->m, in[0]));
    xt_log("v", xt_add_scalar(xt_mul_scalar(now, 0), 5));
    return now;
}

/* Three epochs of four steps; x is the step, v 5, in rows of the steps that they came behind. `loader`: batches of the
 * training are a loader's. */
static void check_arrays(const char *run, int how, int loader) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4);
    xt_step *f = xt_compile(measure, .user = &p, .name = "measure");
    xt_log_every_n_steps(2);
    for (int epoch = 0, step = 0; epoch < 3; epoch++) {
        xt_batch b = {.x = {0}};
        for (int k = 0; loader ? xt_next(train, &b) : k < 4; k++) {
            train_step(&p, loader ? b.x : batch());
            xt_log_value("x", ++step);
            if (!loader) xt_mark_step();
        }
        xt_eval(p.m);
        for (int k = 0; k < 3; k++) {
            if (how == CALLS) {
                xt_call(f, batch());
                continue;
            }
            xt_log("v", xt_add_scalar(xt_mul_scalar(xt_mean(xt_forward(p.m, batch())), 0), 5));
            if (how != NOTHING) xt_mark_step();
            if (how == WAITS) xt_wait();
        }
        if (how == READS) xt_item(xt_mean(xt_forward(p.m, batch())));
        xt_train(p.m);
    }
    xt_finish();
    same("x", rows_of(run, "x"),
         "train/step@2=2 train/step@4=4 train/step@6=6 train/step@8=8 train/step@10=10 train/step@12=12");
    same("v", rows_of(run, "v"), "validate/epoch@4=5 validate/epoch@8=5 validate/epoch@12=5");
    same("where v was", places_of(run, "v"),
         loader ? "validate/epoch@4:0.3.8 validate/epoch@8:1.3.16 validate/epoch@12:2.3.24"
                : "validate/epoch@4:0.0.0 validate/epoch@8:0.0.0 validate/epoch@12:0.0.0");
}

static void a_validation_over_arrays_is_of_its_step(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int how = MARKS; how < ENDS; how++)
        for (int loader = 0; loader < 2; loader++) in_a_child(check_arrays, how, loader);
    assert_int_equal(wrong, 0);
}

/* xt_eval before each validation, and no xt_train behind it. */
typedef enum kind { PLAIN, COMPILED, ENDED, KINDS } kind; /* ENDED: trained in evaluation mode, with xt_eval_begin */
static xt_tensor learn(const xt_tensor *in, int n, void *user) {
    (void)n;
    train_step(user, in[0]);
    xt_log("x", xt_add_scalar(xt_mul_scalar(xt_mean(in[0]), 0), 3));
    return in[0];
}
static void check_forgotten(const char *run, int which, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(3);
    int size = (int)xt_loader_batch_size(train);
    xt_forward(p.m, batch());
    p.o = xt_sgd(p.m, .lr = 0.1);
    xt_mark_step();
    xt_step *f = xt_compile(learn, .user = &p, .name = "learn");
    xt_log_every_n_steps(every);
    char rows[1024] = "", validated[1024] = "";
    if (which == ENDED) xt_eval(p.m);
    for (int epoch = 0; epoch < 3; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            int step = 4 * epoch + (int)b.index + 1;
            if (step % every == 0)
                add(rows, sizeof rows, "train/step@%d:%d.%d.%d", step, epoch, (int)b.index, step * size);
            if (which == COMPILED)
                xt_call(f, b.x);
            else
                learn(&b.x, 1, &p);
        }
        add(validated, sizeof validated, "validate/epoch@%d:%d.2.%d", 4 * epoch + 4, epoch, (4 * epoch + 4) * size);
        if (which == ENDED)
            xt_eval_begin(p.m);
        else
            xt_eval(p.m);
        for (xt_batch b; xt_next(val, &b);) {
            xt_forward(p.m, b.x);
            xt_log_value("v", b.index);
        }
        if (which == ENDED) xt_eval_end(p.m);
        log_drain();
        double now;
        if (!log_find(NULL, "v", &now) || now != 1) same("the validation's value", "another", "its mean");
    }
    xt_finish();
    same("x", places_of(run, "x"), rows);
    same("v", places_of(run, "v"), validated);
    same("v", rows_of(run, "v"), "validate/epoch@4=1 validate/epoch@8=1 validate/epoch@12=1");
}

static void without_xt_train_validations_have_their_rows(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = PLAIN; which < KINDS; which++)
        for (int every = 1; every <= 3; every++) in_a_child(check_forgotten, which, every);
    assert_int_equal(wrong, 0);
}

/* The training's values have a name that the validation logs otherwise. */
typedef enum otherwise { BAR, LEVELS, COLUMN, OTHERWISE } otherwise;
static void log_n(int how, int step) {
    if (how == BAR)
        xt_log_value("n", step, .prog_bar = XT_ON);
    else
        xt_log_value("n", step, .on_step = XT_ON, .on_epoch = XT_ON);
}
static void check_otherwise(const char *run, int how, int loader) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(3);
    xt_log_every_n_steps(2);
    for (int epoch = 0, step = 0; epoch < 3; epoch++) {
        xt_batch b = {.x = {0}};
        for (int k = 0; loader ? xt_next(train, &b) : k < 4; k++) {
            log_n(how, ++step);
            train_step(&p, loader ? b.x : batch());
            if (!loader) xt_mark_step();
        }
        xt_eval(p.m);
        while (xt_next(val, &b)) xt_log_value(how == COLUMN ? "n_epoch" : "n", 100);
    }
    xt_finish();
    bool both = how == LEVELS || how == COLUMN;
    const char *steps = "train/step@2=2 train/step@4=4 %strain/step@6=6 train/step@8=8 %strain/step@10=10 "
                        "train/step@12=12%s%s";
    const char *v[] = {"validate/epoch@4=100 ", "validate/epoch@8=100 ", " ", "validate/epoch@12=100"};
    char want[512];
    snprintf(want, sizeof want, steps, both ? "" : v[0], both ? "" : v[1], both ? "" : v[2], both ? "" : v[3]);
    same("steps", rows_of(run, both ? "n_step" : "n"), want);
    if (how == LEVELS && loader)
        same("v", rows_of(run, "n"), "validate/epoch@4=100 validate/epoch@8=100 validate/epoch@12=100");
    if (how == LEVELS && loader)
        same("epochs", rows_of(run, "n_epoch"), "train/epoch@4=2.5 train/epoch@8=6.5 train/epoch@12=10.5");
}

/* The same line, which is of a validation after all. */
static char refused[512];
static void keep_error(xt_status s, void *user) {
    (void)user;
    if (!*refused) snprintf(refused, sizeof refused, "%s", xt_status_message(s));
    xt_clear_error();
}
static void check_refused(const char *run, int how, int loader) {
    (void)run, (void)loader;
    plain p = {xt_module_new(net, NULL), NULL};
    xt_on_error(keep_error, NULL);
    log_n(how, 1);
    train_step(&p, batch());
    xt_mark_step();
    xt_eval(p.m);
    xt_log_value(how == COLUMN ? "n_epoch" : "n", 100);
    xt_mark_step();
    same("no error yet", refused, "");
    log_n(how, 2);
    xt_mark_step();
    if (!strstr(refused, "this line logs values of the training") || !strstr(refused, "test_train_log_validation.c:"))
        same("refused", refused, "with its line");
    xt_finish();
}

static void a_name_that_validations_log_otherwise(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int how = 0; how < OTHERWISE; how++) {
        for (int loader = 0; loader < 2; loader++) in_a_child(check_otherwise, how, loader);
        in_a_child(check_refused, how, 2);
    }
    assert_int_equal(wrong, 0);
}

/* Another network has an optimizer too, and stays in training mode beside a validation: it is never trained (0), or was
 * before the first one's passes (1); or both are trained, and validated together (2). */
static void check_beside(const char *run, int how, int unused) {
    (void)unused;
    plain p = {xt_module_new(net, NULL), NULL}, q = {xt_module_new(net, NULL), NULL};
    xt_loader *val = data(3);
    xt_log_every_n_steps(2);
    if (how == 0) xt_sgd(q.m, .lr = 0.1);
    for (int k = 0; how == 1 && k < 2; k++) {
        train_step(&q, batch());
        xt_mark_step();
    }
    if (how == 1) { /* its own validation */
        xt_eval(q.m);
        xt_train(q.m);
    }
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int k = 0; k < 4; k++) {
            train_step(&p, batch());
            if (how == 2) train_step(&q, batch());
            xt_mark_step();
        }
        xt_eval(p.m);
        if (how == 2) xt_eval(q.m);
        for (xt_batch b; xt_next(val, &b);) xt_log_value("v", 5 + epoch);
        xt_train(p.m);
        if (how == 2) xt_train(q.m);
    }
    xt_finish();
    same("v", rows_of(run, "v"),
         how == 1 ? "validate/epoch@6=5 validate/epoch@10=6" : "validate/epoch@4=5 validate/epoch@8=6");
}

static void others_that_are_not_trained_do_not_count(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int how = 0; how < 3; how++) in_a_child(check_beside, how, 0);
    assert_int_equal(wrong, 0);
}

/* --- xt_validate in a loop --- */
static void validate_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_forward(m, b.x);
    xt_log_value("v", 5);
}
/* A trainer without loggers: what its pass logs is in the loop's files, where the loop was. */
static void check_validate(const char *run, int within, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(2);
    int64_t size = xt_loader_batch_size(train);
    char want[1024] = "", steps[1024] = "";
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .progress_bar = XT_OFF);
    xt_task task = {.module = p.m, .validation_step = validate_step};
    xt_log_every_n_steps(every);
    for (int epoch = 0, step = 0; epoch < 2; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            train_step(&p, b.x);
            step++;
            xt_log_value("x", b.index);
            if (step % every == 0)
                add(steps, sizeof steps, "train/step@%d:%d.%d.%d", step, epoch, (int)b.index, step * (int)size);
            if (within ? b.index != 1 : b.index != 3) continue;
            add(want, sizeof want, "validate/epoch@%d:%d.1.%d", step, epoch, step * (int)size);
            if (within) same("xt_validate", xt_validate(t, &task, val) ? "fails" : "", "");
        }
        if (!within) same("xt_validate", xt_validate(t, &task, val) ? "fails" : "", "");
    }
    xt_finish();
    same("v", places_of(run, "v"), want);
    same("x", places_of(run, "x"), steps);
}
static void a_pass_of_a_trainer_is_where_the_loop_is(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_validate, 0, 2);
    in_a_child(check_validate, 1, 2);
    in_a_child(check_validate, 1, 1);
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_validation_over_arrays_is_of_its_step), T(without_xt_train_validations_have_their_rows),
        T(a_name_that_validations_log_otherwise), T(others_that_are_not_trained_do_not_count),
        T(a_pass_of_a_trainer_is_where_the_loop_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
