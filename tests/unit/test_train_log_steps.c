/* Loops without a trainer: how the steps count that rows, pictures and texts have. Each in a process of its own. */
#include "train_plain_test.h"

static float samples[8];
static xt_tensor batch(void) {
    return xt_from_array(samples, XT_F32, 8, 1);
}

/* --- several optimizers --- */
typedef enum ends { LOADER, MARKS, NOTHING, CALLS, ENDS } ends;
typedef enum order { ONE, IN_TURN, TOGETHER, ODD_STEPS, EVEN_STEPS, THIRD_STEPS, LAST_STEP, ORDERS } order;
enum { OPTIMIZERS = 3 };
typedef struct several {
    xt_module *m[OPTIMIZERS];
    xt_optimizer *o[OPTIMIZERS];
    order order;
    int batch;
} several;

/* Here all optimizers step. */
static bool is_all(const several *p) {
    switch (p->order) {
    case ONE: return false;
    case ODD_STEPS: return p->batch % 2;
    case EVEN_STEPS: return p->batch % 2 == 0;
    case THIRD_STEPS: return p->batch % 3 == 2;
    case LAST_STEP: return p->batch == 7;
    default: return true;
    }
}

static xt_tensor loss_of(const several *p, int i, xt_tensor x) {
    return xt_mean(xt_forward(p->m[i], x));
}

static void others(const several *p, xt_tensor x) {
    for (int i = 1; i < OPTIMIZERS; i++) {
        xt_backward(loss_of(p, i, x));
        if (p->order != TOGETHER) xt_optimizer_step(p->o[i]);
    }
}

static void update(const several *p, xt_tensor x) {
    xt_backward(loss_of(p, 0, x));
    if (p->order != TOGETHER) xt_optimizer_step(p->o[0]);
    if (is_all(p)) others(p, x);
    for (int i = 0; i < OPTIMIZERS && p->order == TOGETHER; i++) xt_optimizer_step(p->o[i]);
}
static xt_tensor compiled(const xt_tensor *in, int n, void *user) {
    (void)n;
    update(user, in[0]);
    return xt_mean(in[0]);
}

/* Eight batches are eight steps, as the Trainer counts, with a row every two. */
static void check_several(const char *run, int how, int in_order) {
    several p = {.order = (order)in_order};
    xt_loader *train = data(8);
    for (int i = 0; i < OPTIMIZERS; i++) {
        xt_forward(p.m[i] = xt_module_new(net, NULL), batch());
        p.o[i] = xt_sgd(p.m[i], .lr = 0.1);
    }
    xt_mark_step();
    xt_step *f = xt_compile(compiled, .user = &p, .name = "several");
    xt_log_every_n_steps(2);
    xt_batch b = {.x = {0}};
    for (; how == LOADER ? xt_next(train, &b) : p.batch < 8; p.batch++) {
        if (how == CALLS)
            xt_call(f, batch());
        else
            update(&p, how == LOADER ? b.x : batch());
        xt_log_value("x", p.batch + 1);
        if (how == MARKS) xt_mark_step();
    }
    xt_finish();
    same("x", rows_of(run, "x"), "train/step@2=2 train/step@4=4 train/step@6=6 train/step@8=8");
}

static void several_optimizers_are_a_step(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int how = LOADER; how < ENDS; how++)
        for (int in_order = ONE; in_order < ORDERS; in_order++)
            if (in_order <= TOGETHER || how != CALLS) in_a_child(check_several, how, in_order);
    assert_int_equal(wrong, 0);
}

/* --- runs one behind the other, in which nothing but what stands behind them ends a step --- */
typedef enum ender { NO_ENDER, SAVE, OPTIMIZER_SAVE, WAIT, ITEM, READ, SUM, EVALUATION, ALL_FREED, ENDERS } ender;
typedef enum runs { OWN_OPTIMIZER, SHORT, ONE_OPTIMIZER, TURNS, RUNS } runs;

static void end_run(ender what_ends, plain *p, const char *path) {
    float w;
    switch (what_ends) {
    case SAVE: same("xt_save", xt_save(p->m, path) ? "fails" : "", ""); break;
    case OPTIMIZER_SAVE: same("xt_optimizer_save", xt_optimizer_save(p->o, path) ? "fails" : "", ""); break;
    case WAIT: xt_wait(); break;
    case ITEM: xt_item(xt_module_tensor(p->m, 0)); break;
    case READ: xt_read(xt_module_tensor(p->m, 0), &w, sizeof w); break;
    case SUM: xt_item(xt_sum(xt_module_tensor(p->m, 0))); break;
    case EVALUATION:
        xt_eval(p->m);
        xt_item(xt_mean(xt_forward(p->m, batch())));
        xt_train(p->m);
        break;
    case ALL_FREED:
        same("xt_save", xt_save(p->m, path) ? "fails" : "", "");
        xt_optimizer_free(p->o);
        xt_module_free(p->m);
        *p = (plain){xt_module_new(net, NULL), NULL};
        break;
    default: break;
    }
}

/* Each update is a step with a row of its own, as it is with an xt_mark_step behind it. */
static void check_runs(const char *run, int how, int what_ends) {
    plain p[2] = {{xt_module_new(net, NULL), NULL}, {xt_module_new(net, NULL), NULL}};
    char path[400], want[1024] = "";
    int n = 0;
    snprintf(path, sizeof path, "%s.safetensors", run);
    xt_log_every_n_steps(1);
    for (int round = 0; round < 3; round++)
        for (int k = 0; k <= (how == TURNS); k++) {
            if (how <= SHORT) p[k] = (plain){xt_module_new(net, NULL), NULL};
            for (int i = 0; i < (how == SHORT ? 1 : 3); i++) {
                train_step(&p[k], batch());
                xt_log_value("x", ++n);
                add(want, sizeof want, "train/step@%d=%d", n, n);
            }
            end_run((ender)what_ends, &p[k], path);
        }
    xt_finish();
    same("x", rows_of(run, "x"), want);
}

static void runs_have_steps_of_their_own(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int how = 0; how < RUNS; how++)
        for (int what_ends = 0; what_ends < ENDERS; what_ends++) in_a_child(check_runs, how, what_ends);
    assert_int_equal(wrong, 0);
}

/* Two ways through a loop, each with its update: what some iterations log behind the upper one is theirs. */
static void check_ways(const char *run, int when, int every) {
    (void)when;
    plain p = {xt_module_new(net, NULL), NULL};
    p.o = xt_sgd(p.m, .lr = 0.1);
    xt_log_every_n_steps(every);
    for (int i = 0; i < 9; i++) {
        xt_tensor loss;
        if (i % 3) {
            loss = xt_mean(xt_forward(p.m, batch()));
            xt_backward(loss);
            xt_optimizer_step(p.o);
            if (i % 2 == 0) xt_log_value("x", i);
        } else {
            loss = xt_mean(xt_forward(p.m, batch()));
            xt_backward(loss);
            xt_optimizer_step(p.o);
            xt_log_value("y", i);
        }
    }
    xt_finish();
    same("x", rows_of(run, "x"), "train/step@3=2 train/step@5=4 train/step@9=8");
    same("y", rows_of(run, "y"), "train/step@1=0 train/step@4=3 train/step@7=6");
}

static void two_ways_through_a_loop(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_ways, RUNS, 1);
    assert_int_equal(wrong, 0);
}

/* --- loops one behind the other of optimizers that were all made beforehand --- */
typedef enum phases { ONE_THEN_ANOTHER, WARM_UP, TWO_OTHERS, ALL_IN_TURN, PHASES } phases;
static int at; /* of the iteration */
static void above(void) {
    xt_log_value("above", ++at);
}
static void below(void) {
    xt_log_value("below", at);
}

/* The loops are written out: that they stand in different places is what tells them apart. */
static void one_then_another(plain *p, int n) {
    for (int i = 0; i < n; i++) {
        above();
        train_step(&p[0], batch());
        below();
    }
    for (int i = 0; i < 20; i++) {
        above();
        train_step(&p[1], batch());
        below();
    }
}
static void warm_up(plain *p, int n) {
    for (int i = 0; i < n; i++) {
        above();
        train_step(&p[0], batch());
        below();
    }
    for (int i = 0; i < 20; i++) {
        above();
        train_step(&p[1], batch());
        train_step(&p[0], batch());
        below();
    }
}
static void two_others(plain *p, int n) {
    for (int i = 0; i < n; i++) {
        above();
        train_step(&p[0], batch());
        below();
    }
    for (int i = 0; i < 20; i++) {
        above();
        train_step(&p[1], batch());
        train_step(&p[2], batch());
        below();
    }
}
static void all_in_turn(plain *p, int n) {
    for (int i = 0; i < n; i++) {
        above();
        train_step(&p[0], batch());
        train_step(&p[1], batch());
        below();
    }
    for (int i = 0; i < n; i++) {
        above();
        train_step(&p[2], batch());
        below();
    }
    for (int i = 0; i < 20; i++) {
        above();
        train_step(&p[1], batch());
        train_step(&p[2], batch());
        train_step(&p[0], batch());
        below();
    }
}

/* Each iteration has a row of its own, and all but those that show something of the loops are runs of a program. */
static void check_phases(const char *run, int how, int n) {
    static void (*const loops[])(plain * p, int n) = {one_then_another, warm_up, two_others, all_in_turn};
    plain p[3];
    char want[1024] = "";
    for (int k = 0; k < 3; k++) {
        p[k] = (plain){xt_module_new(net, NULL), NULL};
        p[k].o = xt_sgd(p[k].m, .lr = 0.1);
    }
    xt_log_every_n_steps(1);
    int64_t programs = xt_counter("executions");
    loops[how](p, n);
    xt_finish();
    programs = xt_counter("executions") - programs;
    for (int i = 1; i <= at; i++) add(want, sizeof want, "train/step@%d=%d", i, i);
    same("above", rows_of(run, "above"), want);
    same("below", rows_of(run, "below"), want);
    if (programs < at - 6) same("the program", "has too few steps", "has one for each iteration");
}

static void phases_have_steps_of_their_own(void **state) {
    (void)state;
    what = THINGS - 1;
    for (int how = 0; how < PHASES; how++)
        for (int n = 2; n <= 4; n++) in_a_child(check_phases, how, n);
    assert_int_equal(wrong, 0);
}

/* --- pictures and texts in a compiled function --- */
/* `behind`: the update of the call. */
static bool behind;
static xt_tensor shows(const xt_tensor *in, int n, void *user) {
    (void)n;
    plain *p = user;
    if (!behind) log_it();
    train_step(p, in[0]);
    if (behind) log_it();
    return xt_mean(in[0]);
}
static void check_pictures(const char *run, int where, int calls) {
    plain p = {xt_module_new(net, NULL), NULL};
    xt_loader *train = data(4);
    behind = where;
    xt_forward(p.m, batch());
    p.o = xt_sgd(p.m, .lr = 0.1);
    xt_mark_step();
    xt_step *f = xt_compile(shows, .user = &p, .name = "shows");
    for (xt_batch b; xt_next(train, &b);)
        if (calls)
            xt_call(f, b.x);
        else
            shows(&b.x, 1, &p);
    xt_finish();
    found got = look(run);
    same("the event file", got.others[2], behind ? "1 2 3 4" : "0 1 2 3");
}

static void pictures_of_calls_have_their_steps(void **state) {
    (void)state;
    for (int k = 0; k < THINGS; k++) {
        what = (thing)k;
        for (int where = 0; where < 2 && !is_row(what); where++)
            for (int calls = 0; calls < 2; calls++) in_a_child(check_pictures, where, calls);
    }
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(several_optimizers_are_a_step), T(runs_have_steps_of_their_own),
                                       T(phases_have_steps_of_their_own), T(two_ways_through_a_loop),
                                       T(pictures_of_calls_have_their_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
