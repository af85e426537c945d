/* Loops without a trainer: what is logged before, within and behind the steps is found in the files, everything that
 * can be logged, whenever rows are due. Each loop in a process of its own, whose steps count from 1. */
#include "train_plain_test.h"

#include <pthread.h>

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

/* --- passes over loaders --- */
/* Names of a stage, `n` of them, each of the value i. */
static void log_many(const char *stage, int n, xt_tensor x) {
    char name[64];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s/%d", stage, i);
        xt_log(name, xt_add_scalar(xt_mul_scalar(xt_mean(x), 0), i), .on_step = XT_OFF, .on_epoch = XT_ON);
    }
}

/* Three epochs of four batches and validations of two: as with the Trainer one program for each, however much is
 * logged, and each validation's values when it is over. */
static void check_passes(const char *run, int names, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(2);
    xt_log_every_n_steps(every);
    int64_t before = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            train_step(&p, b.x);
            log_many("train", names, b.x);
            xt_log_value("x", epoch * 4 + b.index);
        }
        xt_eval(p.m);
        xt_no_grad_begin();
        for (xt_batch b; xt_next(val, &b);) {
            xt_forward(p.m, b.x);
            log_many("val", names, b.x);
            xt_log_value("v", epoch * 10 + b.index);
        }
        xt_no_grad_end();
        log_drain();
        double now;
        if (!log_find(NULL, "v", &now) || now != epoch * 10 + 0.5)
            same("the validation's value", "another", "its mean");
        xt_train(p.m);
        if (epoch == 0) before = counter_get(COUNTER_compiles);
    }
    char programs[32];
    snprintf(programs, sizeof programs, "%lld", (long long)(counter_get(COUNTER_compiles) - before));
    same("programs behind the first epoch", programs, "0");
    xt_finish();
    same("v", rows_of(run, "v"), "validate/epoch@4=0.5 validate/epoch@8=10.5 validate/epoch@12=20.5");
    same("x", rows_of(run, "x"),
         every == 2 ? "train/step@2=1 train/step@4=3 train/step@6=5 train/step@8=7 train/step@10=9 train/step@12=11"
                    : "train/step@12=11");
    same("train/1", rows_of(run, "train/1"), "train/epoch@4=1 train/epoch@8=1 train/epoch@12=1");
    same("val/1", rows_of(run, "val/1"), "validate/epoch@4=1 validate/epoch@8=1 validate/epoch@12=1");
}

static void passes_have_rows(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_passes, 2, 2);
    in_a_child(check_passes, 3, 50);
    in_a_child(check_passes, 70, 50);
    assert_int_equal(wrong, 0);
}

/* As with the Trainer: samples are those that were trained on, and the row of the last step, which is written at the
 * end, says where that was, though a validation has come since. */
static void check_places(const char *run, int epochs, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(2);
    int64_t size = xt_loader_batch_size(train);
    xt_log_every_n_steps(every);
    for (int epoch = 0; epoch < epochs; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            train_step(&p, b.x);
            xt_log_value("x", b.index);
        }
        xt_eval(p.m);
        xt_no_grad_begin();
        for (xt_batch b; xt_next(val, &b);) {
            xt_forward(p.m, b.x);
            xt_log_value("v", b.index);
        }
        xt_no_grad_end();
        xt_train(p.m);
    }
    xt_finish();
    char want[1024] = "";
    for (int step = 1; step <= 4 * epochs; step++)
        if (step == 4 * epochs || step % every == 0)
            add(want, sizeof want, "train/step@%d:%d.%d.%d", step, (step - 1) / 4, (step - 1) % 4, step * (int)size);
    same("x", places_of(run, "x"), want);
    want[0] = 0;
    for (int epoch = 0; epoch < epochs; epoch++)
        add(want, sizeof want, "validate/epoch@%d:%d.1.%d", 4 * (epoch + 1), epoch, 4 * (epoch + 1) * (int)size);
    same("v", places_of(run, "v"), want);
}

/* Validations in the middle of epochs too: the training's rows are of its own loader, and theirs of the training's
 * epoch, whatever pass over their own it was. */
static void check_places_within(const char *run, int epochs, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(2);
    int64_t size = xt_loader_batch_size(train);
    char steps[1024] = "", ends[1024] = "", validated[1024] = "";
    xt_log_every_n_steps(every);
    for (int epoch = 0; epoch < epochs; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            train_step(&p, b.x);
            xt_log_value("x", b.index);
            xt_log_value("e", b.index, .on_step = XT_OFF, .on_epoch = XT_ON);
            int step = 4 * epoch + (int)b.index + 1;
            if (step % every == 0)
                add(steps, sizeof steps, "train/step@%d:%d.%d.%d", step, epoch, (int)b.index, step * (int)size);
            if (b.index % 2 == 0) continue;
            xt_mark_step();
            xt_eval(p.m);
            for (xt_batch q; xt_next(val, &q);) xt_log("v", xt_mean(xt_forward(p.m, q.x)));
            xt_train(p.m);
            add(validated, sizeof validated, "validate/epoch@%d:%d.1.%d", step, epoch, step * (int)size);
        }
        add(ends, sizeof ends, "train/epoch@%d:%d.3.%d", 4 * (epoch + 1), epoch, 4 * (epoch + 1) * (int)size);
    }
    xt_finish();
    same("x", places_of(run, "x"), steps);
    same("e", places_of(run, "e"), ends);
    same("v", places_of(run, "v"), validated);
}

static void rows_say_where_the_loop_was(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_places_within, 3, 1);
    in_a_child(check_places_within, 2, 2);
    in_a_child(check_places, 3, 5);
    in_a_child(check_places, 3, 4);
    in_a_child(check_places, 2, 50);
    assert_int_equal(wrong, 0);
}

/* Loops in which modes and loaders do not say it plainly. */
typedef enum oddity {
    LEFT_EARLY,
    WITHIN_AN_EPOCH,
    NO_LOADER,
    TEACHER,
    TRAINS_EVALUATING,
    SILENT_LOADER,
    ODDITIES
} oddity;
static void check_oddity(const char *run, int which, int every) {
    static float ones[2] = {1, 1};
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(4);
    p.o = xt_sgd(p.m, .lr = 0.1);
    xt_log_every_n_steps(every);
    xt_module *teacher = which == TEACHER ? xt_module_new(net, NULL) : NULL;
    if (teacher) xt_eval(teacher);
    if (which == TRAINS_EVALUATING) xt_eval(p.m);
    for (int epoch = 0; epoch < 2; epoch++)
        for (xt_batch b; xt_next(train, &b);) {
            if (teacher) xt_forward(teacher, b.x);
            xt_log_value("x", b.index, .on_epoch = XT_ON, .on_step = XT_OFF);
            if (which == TRAINS_EVALUATING) xt_log_value("s", b.index);
            train_step(&p, b.x);
            if (b.index != 1 || which == TEACHER || which == TRAINS_EVALUATING) continue;
            if (which != SILENT_LOADER) xt_eval(p.m);
            if (which == NO_LOADER)
                for (int i = 0; i < 2; i++) {
                    xt_forward(p.m, xt_from_array(ones, XT_F32, 2, 1));
                    xt_log_value("v", i);
                    xt_mark_step();
                }
            else
                for (xt_batch c; xt_next(val, &c);) {
                    xt_forward(p.m, c.x);
                    if (which != SILENT_LOADER) xt_log_value("v", c.index);
                    if (which == LEFT_EARLY && c.index == 1) break;
                }
            xt_train(p.m);
            if (which == LEFT_EARLY) xt_loader_set_epoch(val, 0, 0);
        }
    xt_finish();
    const char *v = rows_of(run, "v");
    if (which == LEFT_EARLY || which == NO_LOADER) same("v", v, "validate/epoch@2=0.5 validate/epoch@6=0.5");
    if (which == WITHIN_AN_EPOCH) same("v", v, "validate/epoch@2=1.5 validate/epoch@6=1.5");
    if (which == TRAINS_EVALUATING)
        same("s", rows_of(run, "s"),
             "train/step@1=0 train/step@2=1 train/step@3=2 train/step@4=3 train/step@5=0 train/step@6=1 "
             "train/step@7=2 train/step@8=3");
    same("x", rows_of(run, "x"), "train/epoch@4=1.5 train/epoch@8=1.5");
}

static void odd_loops(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = 0; which < ODDITIES; which++) in_a_child(check_oddity, which, 1);
    assert_int_equal(wrong, 0);
}

/* One line logs in a validation that is left early and behind it: both are of its last batch. */
static void log_v(double v) {
    xt_log_value("v", v, .on_step = XT_ON, .on_epoch = XT_OFF);
}
static void check_behind_left(const char *run, int batches, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *val = data(4);
    xt_log_every_n_steps(every);
    for (xt_batch b; xt_next(train, &b);) {
        train_step(&p, b.x);
        xt_eval(p.m);
        for (xt_batch c; xt_next(val, &c);) {
            xt_forward(p.m, c.x);
            log_v((double)c.index);
            if (c.index == batches - 1) break;
        }
        xt_loader_set_epoch(val, 0, 0);
        log_v(batches + 1);
        xt_train(p.m);
    }
    xt_finish();
    char want[256] = "";
    for (int step = 1; step <= 4; step++) add(want, sizeof want, "validate/step@%d=%d", step, batches);
    same("v", rows_of(run, "v"), want);
}

static void what_follows_a_left_pass_is_of_its_batch(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int batches = 1; batches < 3; batches++) in_a_child(check_behind_left, batches, 50);
    assert_int_equal(wrong, 0);
}

/* Other loaders within a pass that are left, or taken in turn with its own: the epoch is that of the outer loop. */
typedef enum inner { LEFT, LEFT_EVALUATING, IN_TURN, SHORTER_IN_TURN, INNERS } inner;
static void check_inner(const char *run, int which, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4), *other = data(which == SHORTER_IN_TURN ? 3 : which == LEFT ? 20 : 4);
    int64_t size = xt_loader_batch_size(train);
    xt_log_every_n_steps(every);
    char steps[1024] = "", ends[1024] = "";
    for (int epoch = 0, step = 0; epoch < 3; epoch++) {
        for (xt_batch b, c; xt_next(train, &b); step++) {
            /* in the training's mode the other one's samples are trained on, those of one left behind its row */
            int64_t samples = size * (step + 1) * (which == LEFT_EVALUATING ? 1 : 2);
            if (which >= IN_TURN) {
                if (!xt_next(other, &c)) xt_next(other, &c);
                train_step(&p, c.x);
                xt_log_value("x", b.index);
            } else {
                train_step(&p, b.x);
                xt_log_value("x", b.index);
                if (which == LEFT_EVALUATING) xt_eval(p.m);
                for (; xt_next(other, &c);) {
                    xt_forward(p.m, c.x);
                    break;
                }
                if (which != LEFT) xt_loader_set_epoch(other, 0, 0);
                if (which == LEFT_EVALUATING) xt_train(p.m);
            }
            xt_log_value("e", b.index, .on_step = XT_OFF, .on_epoch = XT_ON);
            add(steps, sizeof steps, "train/step@%d:%d.%d.%d", step + 1, epoch, (int)b.index,
                (int)(samples - (which == LEFT ? size : 0)));
            if (b.index == 3) add(ends, sizeof ends, "train/epoch@%d:%d.3.%d", step + 1, epoch, (int)samples);
        }
    }
    xt_finish();
    same("x", places_of(run, "x"), steps);
    same("e", places_of(run, "e"), ends);
    same("e's values", rows_of(run, "e"), "train/epoch@4=1.5 train/epoch@8=1.5 train/epoch@12=1.5");
}

static void inner_loaders_end_no_epoch(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = 0; which < INNERS; which++) in_a_child(check_inner, which, 1);
    assert_int_equal(wrong, 0);
}

/* --- behind a compiled call --- */
static plain *compiled;
static xt_tensor compiled_step(const xt_tensor *in, int n, void *user) {
    (void)n;
    plain *p = user;
    xt_tensor loss = xt_mean(xt_forward(p->m, in[0]));
    xt_backward(loss);
    xt_optimizer_step(p->o);
    return loss;
}
static void check_call(const char *run, int inside, int every) {
    (void)every;
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4);
    xt_forward(p.m, xt_zeros(XT_F32, 2, 1));
    p.o = xt_sgd(p.m, .lr = 0.1);
    compiled = &p;
    xt_log_every_n_steps(1);
    xt_step *f = xt_compile(compiled_step, .user = &p, .name = "step");
    static float ones[2] = {1, 1};
    for (int i = 0; i < 4; i++) {
        xt_batch b;
        if (inside) xt_next(train, &b);
        xt_tensor loss = xt_call(f, inside ? b.x : xt_from_array(ones, XT_F32, 2, 1));
        xt_log("x", xt_add_scalar(xt_mul_scalar(loss, 0), 7));
        xt_log_value("n", i + 1);
    }
    xt_finish();
    found got = look(run);
    same("metrics.csv", got.rows[0], "1=7 2=7 3=7 4=7");
    same("n", rows_of(run, "n"), "train/step@1=1 train/step@2=2 train/step@3=3 train/step@4=4");
}
static void what_follows_a_call_is_of_its_step(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_call, 0, 1);
    in_a_child(check_call, 1, 2);
    assert_int_equal(wrong, 0);
}

/* 40 steps, each of which gives its number; `when`: LOADER reads them from a loader, four a pass; SOMETIMES logs one
 * more in every second step; SHORT ends between two rows. */
enum { NUMBERS, SOMETIMES, LOADER, SHORT };
static xt_tensor numbered_step(const xt_tensor *in, int n, void *user) {
    (void)n;
    plain *p = user;
    xt_backward(xt_mean(xt_forward(p->m, in[0])));
    xt_optimizer_step(p->o);
    return xt_mean(in[0]);
}
static void log_numbers_of(xt_tensor now, int i, int which) {
    xt_log("x", now);
    xt_log("e", now, .on_step = XT_OFF, .on_epoch = XT_ON, .batch_size = 1);
    xt_log("least", now, .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_MIN);
    xt_log("most", now, .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_MAX);
    xt_log("sum", now, .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_SUM);
    xt_log_value("w", i, .on_step = XT_OFF, .on_epoch = XT_ON, .batch_size = i);
    if (which == SOMETIMES && i % 2) xt_log("odd", now);
}
static void check_many(const char *run, int which, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4);
    int steps = which == LOADER ? 8 : which == SHORT ? 34 : 40;
    xt_forward(p.m, xt_zeros(XT_F32, 2, 1));
    p.o = xt_sgd(p.m, .lr = 0.1);
    xt_mark_step();
    xt_log_every_n_steps(every);
    xt_step *f = xt_compile(numbered_step, .user = &p, .name = "step");
    int64_t before = xt_counter("executions");
    for (int i = 1; i <= steps; i++) {
        float v[2] = {(float)i, (float)i};
        xt_batch b;
        if (which == LOADER && !xt_next(train, &b) && !xt_next(train, &b)) break;
        log_numbers_of(xt_call(f, xt_from_array(v, XT_F32, 2, 1)), i, which);
    }
    /* no program a step: one of the first step's values, and one a row or a pass */
    int64_t more = xt_counter("executions") - before - steps;
    if (which != SOMETIMES && more > 5) print_error("%lld programs behind %d calls\n", (long long)more, steps), wrong++;
    xt_finish();
    same("x", rows_of(run, "x"),
         which == LOADER  ? "train/step@8=8"
         : which == SHORT ? "train/step@10=10 train/step@20=20 train/step@30=30 train/step@34=34"
                          : "train/step@10=10 train/step@20=20 train/step@30=30 train/step@40=40");
    if (which == SOMETIMES)
        same("odd", rows_of(run, "odd"), "train/step@10=9 train/step@20=19 train/step@30=29 train/step@40=39");
    static const char *const names[] = {"e", "least", "most", "sum", "w"};
    static const char *const want[][5] = {
        {"train/epoch@40=20.5", "train/epoch@40=1", "train/epoch@40=40", "train/epoch@40=820", "train/epoch@40=27"},
        {"train/epoch@34=17.5", "train/epoch@34=1", "train/epoch@34=34", "train/epoch@34=595", "train/epoch@34=23"},
        {"train/epoch@4=2.5 train/epoch@8=6.5", "train/epoch@4=1 train/epoch@8=5", "train/epoch@4=4 train/epoch@8=8",
         "train/epoch@4=10 train/epoch@8=26", "train/epoch@4=3 train/epoch@8=6.69231"}};
    for (int k = 0; k < 5; k++) same(names[k], rows_of(run, names[k]), want[which == LOADER ? 2 : which == SHORT][k]);
}
static void what_follows_calls_runs_no_program_a_step(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = NUMBERS; which <= SHORT; which++) in_a_child(check_many, which, 10);
    assert_int_equal(wrong, 0);
}

/* --- tensors that are dropped behind the log call --- */
/* `when`: of the step, a call's result, of an earlier step; `every`: steps */
static void check_dropped(const char *run, int when, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_forward(p.m, xt_zeros(XT_F32, 2, 1));
    p.o = xt_sgd(p.m, .lr = 0.1);
    xt_mark_step();
    xt_log_every_n_steps(1);
    xt_step *f = xt_compile(numbered_step, .user = &p, .name = "step");
    for (int i = 1; i <= every; i++) {
        float v[2] = {(float)i, (float)i};
        xt_tensor x = xt_from_array(v, XT_F32, 2, 1), now = xt_keep(when == 1 ? xt_call(f, x) : xt_mean(x));
        if (when != 1) train_step(&p, x);
        if (when == 2) xt_mark_step();
        xt_log("x", now);
        xt_log("twice", now);
        xt_drop(now);
        if (when == 0) xt_mark_step();
    }
    same("an error", xt_error() ? xt_status_message(xt_error()) : "", "");
    xt_clear_error();
    xt_finish();
    /* behind the boundary a value goes with the next step, and the last has none */
    const char *want =
        when == 2 ? "train/step@2=1 train/step@3=2 train/step@3=3" : "train/step@1=1 train/step@2=2 train/step@3=3";
    same("x", rows_of(run, "x"), want);
    same("twice", rows_of(run, "twice"), want);
}
static void dropped_values_are_logged(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int when = 0; when < 3; when++) in_a_child(check_dropped, when, 3);
    assert_int_equal(wrong, 0);
}

/* --- a boundary between the update and the log call, in some of the steps --- */
static void check_saves(const char *run, int which, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(6);
    char path[400];
    snprintf(path, sizeof path, "%s.safetensors", run);
    xt_log_every_n_steps(every);
    for (xt_batch b; xt_next(train, &b);) {
        train_step(&p, b.x);
        if (b.index % 3 == which) same("xt_save", xt_save(p.m, path) ? "fails" : "", "");
        xt_log_value("x", b.index);
    }
    xt_finish();
    same("x", rows_of(run, "x"), "train/step@3=2 train/step@6=5");
}
static void a_save_before_the_log_call_mixes_no_steps(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = 0; which < 2; which++) in_a_child(check_saves, which, 3);
    in_a_child(check_saves, 9, 3); /* never */
    assert_int_equal(wrong, 0);
}

/* Loops in which nothing else ends a step, and each value is its iteration's. */
static void check_files(const char *run, int which, int every) {
    static const char *const names[] = {"above", "a", "b", "c", "behind"};
    plain p = {xt_module_new(net, NULL), NULL};
    char path[400];
    snprintf(path, sizeof path, "%s.safetensors", run);
    xt_log_every_n_steps(1);
    xt_status_free(xt_module_build(p.m, (xt_spec){XT_F32, {2, 1}}));
    for (int i = 0; i < 6; i++) {
        float x[2] = {(float)i, 1};
        bool writes = i % every == every - 1;
#define FILE_HERE(place) \
    if (writes && which == (place)) same("xt_save", xt_save(p.m, path) ? "fails" : "", "")
        xt_log_value("above", i);
        FILE_HERE(0);
        xt_tensor loss = xt_mean(xt_forward(p.m, xt_from_array(x, XT_F32, 2, 1)));
        if (!p.o) p.o = xt_sgd(p.m, .lr = 0.1);
        xt_log("a", xt_add_scalar(xt_mul_scalar(loss, 0), i));
        FILE_HERE(1);
        xt_log_value("b", i);
        xt_backward(loss);
        FILE_HERE(2);
        xt_log_value("c", i);
        xt_optimizer_step(p.o);
        FILE_HERE(3);
        xt_log_value("behind", i);
    }
    xt_finish();
    same("an error", xt_error() ? xt_status_message(xt_error()) : "", "");
    char late[256] = ""; /* what is logged behind a file, which ended the step and sent its row, is in the next one */
    for (int i = 0; i < 6; i++)
        if ((i + 1) % every || i == 5)
            add(late, sizeof late, "train/step@%d=%d", i + 1, i);
        else if (every == 1)
            add(late, sizeof late, "train/step@%d=%d", i + 2, i);
    for (size_t k = 0; k < BASE_COUNT(names); k++)
        same(names[k], rows_of(run, names[k]),
             which == 3 && k == 4
                 ? late
                 : "train/step@1=0 train/step@2=1 train/step@3=2 train/step@4=3 train/step@5=4 train/step@6=5");
}
static void files_within_iterations_mix_no_steps(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = 0; which < 4; which++)
        for (int every = 1; every < 4; every++) in_a_child(check_files, which, every);
    assert_int_equal(wrong, 0);
}

/* What stands below the update is of an iteration without one all the same, where the loop has come round since. */
static void check_micro_batches(const char *run, int which, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    float ones[2] = {1, 1};
    char path[400];
    snprintf(path, sizeof path, "%s.safetensors", run);
    xt_log_every_n_steps(1);
    xt_status_free(xt_module_build(p.m, (xt_spec){XT_F32, {2, 1}}));
    p.o = xt_sgd(p.m, .lr = 0.1);
    for (int i = 0; i < 6; i++) {
        same("xt_save", xt_save(p.m, path) ? "fails" : "", "");
        xt_tensor loss = xt_mean(xt_forward(p.m, xt_from_array(ones, XT_F32, 2, 1)));
        if (which) same("xt_save", xt_save(p.m, path) ? "fails" : "", "");
        xt_backward(loss);
        if (i % every == every - 1) xt_optimizer_step(p.o);
        if (i % 2) xt_log_value("x", i);
    }
    xt_finish();
    same("x", rows_of(run, "x"), "train/step@1=1 train/step@2=4");
}
static void micro_batches_are_of_the_next_step(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = 0; which < 2; which++) in_a_child(check_micro_batches, which, 3);
    assert_int_equal(wrong, 0);
}

/* A file between the updates of two optimizers parts no step of the loop's. */
static void check_two(const char *run, int which, int every) {
    plain p = {xt_module_new(net, NULL), NULL}, q = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(6);
    float ones[2] = {1, 1};
    char path[400];
    snprintf(path, sizeof path, "%s.safetensors", run);
    xt_log_every_n_steps(1);
    for (int i = 0; i < 6; i++) {
        xt_batch b = {.x = xt_from_array(ones, XT_F32, 2, 1)};
        if (which) xt_next(train, &b);
        xt_log_value("x", i);
        train_step(&p, b.x);
        if (i % every == every - 1) same("xt_save", xt_save(p.m, path) ? "fails" : "", "");
        train_step(&q, b.x);
    }
    xt_finish();
    same("an error", xt_error() ? xt_status_message(xt_error()) : "", "");
    same("x", rows_of(run, "x"),
         "train/step@1=0 train/step@2=1 train/step@3=2 train/step@4=3 train/step@5=4 train/step@6=5");
}
static void files_between_two_updates_part_no_steps(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int which = 0; which < 2; which++)
        for (int every = 1; every < 4; every++) in_a_child(check_two, which, every);
    assert_int_equal(wrong, 0);
}

/* --- a fit behind a loop --- */
static xt_tensor fit_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_forward(m, b.x));
}
static xt_optimizer *fit_sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
/* What the loop has not yet a row for has one when the fit begins, in the loop's files, and is in none of the fit's. */
static void check_fit_behind(const char *run, int when, int every) {
    (void)when, (void)every;
    for (int i = 0; i < 4; i++) {
        xt_log_value("x", 4 + 2 * i, .on_epoch = XT_ON, .on_step = XT_OFF);
        xt_log_value("y", i);
        if (i < 3) xt_mark_step();
    }
    xt_task task = {.net = net, .training_step = fit_step, .configure_optimizers = fit_sgd};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF);
    same("the fit", xt_fit(t, &task, data(4), NULL) ? "fails" : "", "");
    xt_finish();
    same("x", rows_of(run, "x"), "train/epoch@0=7");
    same("y", rows_of(run, "y"), "train/step@0=1.5"); /* without an optimizer, one window */
}
/* A fit between two passes has steps and samples of its own, and the loop's go on as if it had not been. */
static void check_fit_between(const char *run, int epochs, int every) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4);
    int64_t size = xt_loader_batch_size(train);
    char want[1024] = "";
    xt_log_every_n_steps(every);
    xt_task task = {.net = net, .training_step = fit_step, .configure_optimizers = fit_sgd};
    for (int epoch = 0, step = 0; epoch < epochs; epoch++) {
        for (xt_batch b; xt_next(train, &b);) {
            train_step(&p, b.x);
            xt_log_value("x", ++step);
            if (step % every == 0)
                add(want, sizeof want, "train/step@%d:%d.%d.%d", step, epoch, (int)b.index, step * (int)size);
        }
        xt_trainer *t =
            xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF);
        same("the fit", xt_fit(t, &task, data(3), NULL) ? "fails" : "", "");
    }
    xt_finish();
    same("x", places_of(run, "x"), want);
}
static void a_fit_between_passes_has_its_own_steps(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_fit_between, 3, 2);
    in_a_child(check_fit_between, 2, 4);
    assert_int_equal(wrong, 0);
}
static void a_fit_ends_the_loop_before_it(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_fit_behind, 11, 50);
    assert_int_equal(wrong, 0);
}

/* --- threads that end before xt_finish --- */
static void *a_thread(void *unused) {
    for (int i = 0; i < 3; i++) {
        log_it();
        xt_mark_step();
    }
    xt_log_value("n", 1);
    return unused;
}
static void check_thread(const char *run, int when, int every) {
    (void)when, (void)every;
    xt_mark_step();
    pthread_t t;
    pthread_create(&t, NULL, a_thread, NULL);
    pthread_join(t, NULL);
    same("objects that the thread has left", live_get(LIVE_tensor) ? "some" : "", "");
    xt_finish();
    found f = look(run);
    same("metrics.csv", f.rows[0], is_row(what) ? "0=7" : "");
    same("the event file", is_row(what) ? f.rows[2] : f.others[2], is_row(what) ? "0=7" : "0 0 0");
    same("n", rows_of(run, "n"), "train/step@0=1");
}
static void a_thread_ends(void **state) {
    (void)state;
    for (int k = 0; k < THINGS; k++) {
        what = (thing)k;
        in_a_child(check_thread, 20, 50);
    }
    assert_int_equal(wrong, 0);
}

/* The thread alone uses the library before xt_finish, and ends no step; it returns, or leaves by pthread_exit. */
static int leaves;
static void *a_silent_thread(void *unused) {
    log_it();
    if (leaves) pthread_exit(NULL);
    return unused;
}
static void check_silent_thread(const char *run, int how, int threads) {
    char want[2][32] = {"", ""};
    leaves = how;
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        pthread_create(&t, NULL, a_silent_thread, NULL);
        pthread_join(t, NULL);
        add(want[0], sizeof want[0], "0");
        add(want[1], sizeof want[1], "0=7");
    }
    if (xt_finish()) same("xt_finish", "fails", "");
    found f = look(run);
    same("the event file", is_row(what) ? f.rows[2] : f.others[2], want[is_row(what)]);
    same("metrics.csv", f.rows[0], is_row(what) ? want[1] : "");
    same("what is said", strstr(str_cstr(&said), "not written") ? "that it is not written" : "", "");
}
static void a_thread_ends_without_a_boundary(void **state) {
    (void)state;
    for (int k = 0; k < THINGS; k++)
        for (int how = 0; how < 2; how++)
            for (int threads = 1; threads < 3; threads++) {
                what = (thing)k;
                in_a_child(check_silent_thread, how, threads);
            }
    assert_int_equal(wrong, 0);
}

/* --- how often --- */
/* Asked for before xt_finish, by the main thread: behind it, and in another one, it is what was asked for. */
static void *a_loop_elsewhere(void *unused) {
    for (int i = 1; i <= 6; i++) {
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *o = xt_sgd(m, .lr = 0.1);
        xt_backward(xt_mean(xt_forward(m, xt_zeros(XT_F32, 2, 1))));
        xt_optimizer_step(o);
        xt_log_value("n", i);
        xt_mark_step();
    }
    return unused;
}
static void check_period(const char *run, int elsewhere, int every) {
    xt_log_every_n_steps(every);
    xt_mark_step();
    xt_finish();
    pthread_t t;
    if (elsewhere) {
        pthread_create(&t, NULL, a_loop_elsewhere, NULL);
        pthread_join(t, NULL);
    } else
        a_loop_elsewhere(NULL);
    xt_finish();
    same("n", rows_of(run, "n"), "train/step@2=2 train/step@4=4 train/step@6=6");
}
static void a_period_stays(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_period, 0, 2);
    in_a_child(check_period, 1, 2);
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(plain_loops),
                                       T(a_plain_loop_is_an_epoch),
                                       T(rows_say_where_the_loop_was),
                                       T(passes_have_rows),
                                       T(odd_loops),
                                       T(inner_loaders_end_no_epoch),
                                       T(what_follows_a_left_pass_is_of_its_batch),
                                       T(what_follows_a_call_is_of_its_step),
                                       T(what_follows_calls_runs_no_program_a_step),
                                       T(dropped_values_are_logged),
                                       T(a_save_before_the_log_call_mixes_no_steps),
                                       T(files_within_iterations_mix_no_steps),
                                       T(files_between_two_updates_part_no_steps),
                                       T(micro_batches_are_of_the_next_step),
                                       T(a_fit_ends_the_loop_before_it),
                                       T(a_fit_between_passes_has_its_own_steps),
                                       T(a_thread_ends),
                                       T(a_thread_ends_without_a_boundary),
                                       T(a_period_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
