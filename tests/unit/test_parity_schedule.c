/* Every learning rate schedule against PyTorch: the rates of two groups, and the momentum, over 50 steps, to 1e-12;
 * positions saved in the middle and loaded into a new schedule; values of tensors; what is refused. */
#include "optim/schedule.h"
#include "parity.h"

enum { STEPS = 50 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_sum(xt_mul(x, xt_add(xt_param(m, "a", "ones", 0, XT_F32, 1), xt_param(m, "b", "ones", 0, XT_F32, 1))));
}

static double inverse(int64_t t, void *user) {
    return 1 / (1 + *(const double *)user * (double)t);
}
static double falling(int64_t t, void *user) {
    (void)user;
    return 0.99 - 0.001 * (double)t;
}
static double powers(int64_t t, void *user) {
    (void)user;
    return pow(0.9, (double)t);
}

#define SCHEDULE(name, expr)                            \
    static xt_scheduler *make_##name(xt_optimizer *o) { \
        static double tenth = 0.1;                      \
        (void)tenth;                                    \
        return expr;                                    \
    }
#define SCHEDULES(R)                                                                                                 \
    R(step, xt_step_schedule(o, .step_size = 7))                                                                     \
    R(multistep, xt_multistep_schedule(o, .milestones = {5, 12, 12, 30}, .gamma = 0.3))                              \
    R(exponential, xt_exponential_schedule(o, .gamma = 0.93))                                                        \
    R(linear, xt_linear_schedule(o))                                                                                 \
    R(linear_down, xt_linear_schedule(o, .start_factor = 1, .end_factor = 0, .total_iters = 20))                     \
    R(constant, xt_constant_schedule(o, .factor = 0.25, .total_iters = 10))                                          \
    R(polynomial, xt_polynomial_schedule(o, .total_iters = 40, .power = 2))                                          \
    R(cosine, xt_cosine_schedule(o, .t_max = 12, .eta_min = 1e-3))                                                   \
    R(restarts, xt_warm_restarts_schedule(o, .t_0 = 5, .t_mult = 2, .eta_min = 1e-4))                                \
    R(restarts_1, xt_warm_restarts_schedule(o, .t_0 = 7))                                                            \
    R(one_cycle, xt_one_cycle_schedule(o, .max_lr = 0.4, .total_steps = STEPS))                                      \
    R(one_cycle_adam, xt_one_cycle_schedule(o, .max_lr = 0.4, .total_steps = STEPS))                                 \
    R(one_cycle_three, xt_one_cycle_schedule(o, .max_lr = 0.4, .total_steps = 60, .pct_start = 0.2, .linear = XT_ON, \
                                             .three_phase = XT_ON, .div_factor = 10, .final_div_factor = 100,        \
                                             .base_momentum = 0.7, .max_momentum = 0.9))                             \
    R(one_cycle_fixed, xt_one_cycle_schedule(o, .max_lr = 0.4, .total_steps = STEPS, .cycle_momentum = XT_OFF))      \
    R(cyclic, xt_cyclic_schedule(o, .base_lr = 0.1, .max_lr = 0.4, .step_size_up = 6, .step_size_down = 4))          \
    R(cyclic_2, xt_cyclic_schedule(o, .base_lr = 0.1, .max_lr = 0.4, .step_size_up = 5, .mode = XT_TRIANGULAR2,      \
                                   .base_momentum = 0.5, .max_momentum = 0.7))                                       \
    R(cyclic_exp, xt_cyclic_schedule(o, .base_lr = 0.1, .max_lr = 0.4, .step_size_up = 8, .mode = XT_EXP_RANGE,      \
                                     .gamma = 0.97, .cycle_momentum = XT_OFF))                                       \
    R(lambda, xt_lambda_schedule(o, inverse, .user = &tenth))                                                        \
    R(multiplicative, xt_lambda_schedule(o, falling, .multiplicative = XT_ON))                                       \
    R(sequential, xt_sequential_schedule(o,                                                                          \
                                         .schedules = {xt_linear_schedule(o, .start_factor = 0.1, .total_iters = 8), \
                                                       xt_cosine_schedule(o, .t_max = 20),                           \
                                                       xt_exponential_schedule(o, .gamma = 0.9)},                    \
                                         .milestones = {8, 30}))                                                     \
    R(sequential_restarts,                                                                                           \
      xt_sequential_schedule(o,                                                                                      \
                             .schedules = {xt_constant_schedule(o, .factor = 0.5, .total_iters = 100),               \
                                           xt_warm_restarts_schedule(o, .t_0 = 6),                                   \
                                           xt_step_schedule(o, .step_size = 3, .gamma = 0.5)},                       \
                             .milestones = {5, 25}))                                                                 \
    R(sequential_one, xt_sequential_schedule(o,                                                                      \
                                             .schedules = {xt_polynomial_schedule(o, .total_iters = 10),             \
                                                           xt_multistep_schedule(o, .milestones = {4, 9}),           \
                                                           xt_lambda_schedule(o, powers)},                           \
                                             .milestones = {10, 25}))                                                \
    R(chained, xt_chained_schedule(o, .schedules = {xt_constant_schedule(o, .factor = 0.1, .total_iters = 4),        \
                                                    xt_exponential_schedule(o, .gamma = 0.9)}))                      \
    R(chained_3, xt_chained_schedule(o, .schedules = {xt_linear_schedule(o, .start_factor = 0.5, .total_iters = 10), \
                                                      xt_cosine_schedule(o, .t_max = 30, .eta_min = 1e-4),           \
                                                      xt_step_schedule(o, .step_size = 12, .gamma = 0.5)}))          \
    R(nested, nested(o))                                                                                             \
    R(warmup, xt_warmup_schedule(o, 10, xt_cosine_schedule(o, .t_max = 40)))
#define PLATEAUS(R)                                                                                            \
    R(plateau, xt_plateau_schedule(o))                                                                         \
    R(plateau_rel,                                                                                             \
      xt_plateau_schedule(o, .factor = 0.5, .patience = 2, .threshold = 0.05, .cooldown = 3, .min_lr = 0.004)) \
    R(plateau_abs, xt_plateau_schedule(o, .factor = 0.5, .patience = 0, .threshold = 0.1, .absolute = XT_ON,   \
                                       .cooldown = 1, .eps = 0.02))                                            \
    R(plateau_max, xt_plateau_schedule(o, .mode = XT_MAX, .factor = 0.3, .patience = 4, .threshold = 0, .cooldown = 2))

static xt_scheduler *nested(xt_optimizer *o) {
    xt_scheduler *after = xt_cosine_schedule(o, .t_max = 20);
    xt_scheduler *both = xt_chained_schedule(
        o, .schedules = {xt_exponential_schedule(o, .gamma = 0.95), xt_step_schedule(o, .step_size = 9)});
    return xt_sequential_schedule(o, .schedules = {both, after}, .milestones = {25});
}
SCHEDULES(SCHEDULE)
PLATEAUS(SCHEDULE)

typedef struct schedule_row {
    const char *name;
    xt_scheduler *(*make)(xt_optimizer *o);
} schedule_row;
#define ROW(name, expr) {#name, make_##name},
static const schedule_row rows[] = {SCHEDULES(ROW) PLATEAUS(ROW)};

static xt_optimizer *optimizer(xt_module *m, const char *name) {
    xt_optimizer *o = strstr(name, "adam") ? xt_adamw(m, .lr = 0.1) : xt_sgd(m, .lr = 0.1, .momentum = 0.5);
    assert_int_equal(xt_optimizer_group(o, "b", .lr_scale = 0.25), 1);
    return o;
}

static void expect(const char *name, int t, const char *what, double got, double want) {
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%s: %s at step %d is %.17g, PyTorch has %.17g", name, what, t, got, want);
}

/* Steps 0 to STEPS; with `swap`, optimizer and schedule are replaced by new ones with the state of the old
 * at that step. */
static void follow(const parity_file *f, const schedule_row *r, int swap) {
    const double *want = parity_get(f, r->name)->data, *values = parity_get(f, "values")->data;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = optimizer(m, r->name);
    xt_scheduler *s = r->make(o);
    assert_non_null(s);
    for (int t = 0; t < STEPS; t++) {
        if (t == swap) {
            char *text = optim_state_text(o);
            assert_non_null(text);
            xt_optimizer_free(o);
            o = optimizer(m, r->name);
            s = r->make(o);
            xt_status e = optim_state_load(o, text);
            if (e) fail_msg("%s: %s", r->name, xt_status_message(e));
            base_free(text);
        }
        expect(r->name, t, "the rate", xt_optimizer_lr(o), want[t * 3]);
        expect(r->name, t, "the second group's rate", xt_optimizer_group_lr(o, 1), want[t * 3 + 1]);
        expect(r->name, t, "the momentum", xt_optimizer_momentum(o), want[t * 3 + 2]);
        if (s->plateau)
            xt_schedule_step_value(s, values[t]);
        else
            xt_schedule_step(s);
    }
    parity_no_error(r->name);
    xt_optimizer_free(o);
    xt_module_free(m);
}

static void schedules(void **state) {
    (void)state;
    parity_file *f = parity_open("schedule");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        follow(f, &rows[i], -1);
        follow(f, &rows[i], 17);
    }
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* A plateau fed with tensors changes the rate without a wait or a second program. */
static void tensors(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 1e-3);
    xt_scheduler *s = xt_plateau_schedule(o, .factor = 0.5, .patience = 1);
    int64_t compiles = xt_counter("compiles"), forced = xt_counter("forced_executions");
    float one = 1;
    for (int t = 0; t < 40; t++) {
        xt_tensor loss = xt_forward(m, xt_from_array(&one, XT_F32, 1));
        xt_backward(loss);
        xt_schedule_step_tensor(s, xt_mul_scalar(loss, 0));
        xt_optimizer_step(o);
        xt_mark_step();
    }
    assert_true(xt_wait());
    assert_int_equal(xt_counter("compiles") - compiles, 1);
    assert_int_equal(xt_counter("forced_executions"), forced);
    xt_backward(xt_forward(m, xt_from_array(&one, XT_F32, 1)));
    xt_optimizer_step(o);
    assert_int_equal(xt_schedule_last_epoch(s), 40);
    assert_true(xt_optimizer_lr(o) < 1e-3 / 1024);
    assert_int_equal(xt_finish(), 0);
}

/* A chain that takes over in a sequence begins as if it was made then (PyTorch cannot). */
static void chain_in_sequence(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_scheduler *chain = xt_chained_schedule(o, .schedules = {xt_constant_schedule(o, .factor = 0.5, .total_iters = 2),
                                                               xt_exponential_schedule(o, .gamma = 0.9)});
    xt_scheduler *s = xt_warmup_schedule(o, 3, chain);
    static const double want[] = {1e-3, 0.034, 0.067, 0.05, 0.045, 0.081, 0.0729};
    for (int t = 0; t < 7; t++) {
        expect("chain", t, "the rate", xt_optimizer_lr(o), want[t]);
        xt_schedule_step(s);
    }
    assert_int_equal(xt_finish(), 0);
}

static void refused(const char *part) {
    const char *message = xt_status_message(xt_error());
    if (!strstr(message, part)) fail_msg("\"%s\" does not hold \"%s\"", message, part);
    xt_clear_error();
}

static void refusals(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adagrad(m);
    assert_null(xt_step_schedule(o));
    refused("xt_step_schedule.step_size is needed");
    assert_null(xt_multistep_schedule(o));
    refused("xt_multistep_schedule.milestones is needed");
    assert_null(xt_multistep_schedule(o, .milestones = {0, 4}));
    refused("xt_multistep_schedule.milestones: number 0 is 0, and 4 stands behind it");
    assert_null(xt_multistep_schedule(o, .milestones = {2, 0, 4}));
    refused("xt_multistep_schedule.milestones: number 1 is 0, and 4 stands behind it");
    assert_null(xt_linear_schedule(o, .start_factor = 2));
    refused("xt_linear_schedule.start_factor = 2 is out of range");
    assert_null(xt_one_cycle_schedule(o, .max_lr = 1, .total_steps = 3));
    refused("Adagrad has no momentum to cycle");
    char made[64]; /* the line that made it stands in the error, with or without debug information */
    xt_scheduler *s = xt_one_cycle_schedule(o, .max_lr = 1, .total_steps = 3, .cycle_momentum = XT_OFF);
    snprintf(made, sizeof made, "test_parity_schedule.c:%d: xt_one_cycle_schedule: step 4 of", __LINE__ - 1);
    for (int i = 0; i < 4; i++) xt_schedule_step(s);
    assert_non_null(strstr(xt_status_message(xt_error()), made));
    refused("step 4 of a schedule of .total_steps = 3");
    xt_schedule_step_value(s, 1);
    refused("only a plateau schedule goes by a value");
    assert_null(xt_sequential_schedule(o, .schedules = {s}, .milestones = {3}));
    refused("need 0 milestones");
    assert_int_equal(xt_optimizer_group(o, "b", .lr = 1), -1);
    refused("make the groups before");
    xt_schedule_step(xt_plateau_schedule(o));
    refused("goes by a value");
    xt_scheduler *part = xt_exponential_schedule(o, .gamma = 0.5);
    assert_non_null(xt_warmup_schedule(o, 2, part));
    double lr = xt_schedule_lr(part);
    xt_schedule_step(part);
    refused("this exponential schedule is a part of another one");
    assert_true(xt_schedule_lr(part) == lr);
    xt_status e = xt_schedule_load(s, "{\"kind\":\"cosine\",\"last_epoch\":3,\"base_lrs\":[1]}");
    assert_non_null(strstr(xt_status_message(e), "that of a cosine schedule, this one is one_cycle"));
    xt_status_free(e);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(schedules), cmocka_unit_test(tensors),
                                       cmocka_unit_test(chain_in_sequence), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
