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

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(a_validation_over_arrays_is_of_its_step),
                                       T(without_xt_train_validations_have_their_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
