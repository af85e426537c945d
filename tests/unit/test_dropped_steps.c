/* Steps that end in an error which the program looks at and forgets: the run goes on as if they had not been. No
 * update of theirs is counted, nothing of their gradients is left, and the steps behind them draw what they would have
 * drawn. */
#include "train_test.h"

#include "lazy/lazy.h"

enum { STEPS = 9, ROWS = 4 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_dropout(m, xt_tanh(xt_linear(m, "in", x, 8)), 0.3), 1);
}

/* How a step goes wrong, and when the program looks at it: in the step, or behind its end. */
typedef enum fault { NONE, IS_NAN, SHAPE, EARLY, FAULTS } fault;
static const char *const fault_names[FAULTS] = {"none", "NaN", "a shape", "a shape before the loss"};
typedef struct run {
    fault fault;
    bool looks_early, compiled;
    int window; /* micro-batches an update */
} run;

static xt_module *model;
static xt_optimizer *opt;
static bool fails, updates;
static const run *of;

static void wrong_shape(void) {
    float two[2] = {1, 2}, three[3] = {1, 2, 3};
    xt_add(xt_from_array(two, XT_F32, 2), xt_from_array(three, XT_F32, 3));
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    if (fails && of->fault == EARLY) wrong_shape();
    xt_tensor loss = xt_mean(xt_square(xt_forward(model, in[0])));
    if (fails && of->fault == IS_NAN) loss = xt_mul(loss, xt_sqrt(xt_mul_scalar(xt_detach(loss), -1)));
    xt_backward(loss);
    if (fails && of->fault == SHAPE) wrong_shape();
    if (updates) xt_optimizer_step(opt);
    return loss;
}

/* Windows 2 and 5 go wrong in their last micro-batch; without `with` they are not in the run at all. */
static double trained(const run *r, bool with) {
    of = r;
    xt_seed(3);
    lazy_check_nan(r->fault == IS_NAN);
    xt_mark_step();
    model = xt_module_new(net, NULL);
    opt = xt_adam(model, .lr = 0.01);
    xt_step_schedule(opt, .step_size = 2, .gamma = 0.5, .interval = XT_EACH_STEP);
    xt_step *compiled = xt_compile(step);
    int64_t counted = xt_counter("optimizer_steps"), loop = lazy_loop_steps();
    for (int i = 0; i < STEPS; i++) {
        bool bad = i == 2 || i == 5;
        for (int k = 0; k < r->window && (with || !bad); k++) {
            float x[ROWS][3];
            for (int j = 0; j < ROWS * 3; j++) x[j / 3][j % 3] = sinf((float)(i * 100 + k * 12 + j));
            xt_tensor in = xt_from_array(x, XT_F32, ROWS, 3);
            updates = k + 1 == r->window;
            fails = bad && updates;
            xt_tensor loss = r->compiled ? xt_call(compiled, in) : step(&in, 1, NULL);
            bool told = xt_error() != NULL;
            if (r->looks_early && told) xt_clear_error();
            xt_mark_step();
            told |= xt_error() != NULL;
            if (told != fails) fail_msg("%s: step %d: %s", fault_names[r->fault], i, xt_status_message(xt_error()));
            xt_clear_error();
            (void)loss;
        }
    }
    int64_t n = STEPS - 2;
    bool right =
        xt_optimizer_steps(opt) == n && xt_counter("optimizer_steps") - counted == n && lazy_loop_steps() - loop == n;
    if (!right)
        print_error("%lld steps of the optimizer, %lld of the process, %lld of the loop instead of %lld\n",
                    (long long)xt_optimizer_steps(opt), (long long)(xt_counter("optimizer_steps") - counted),
                    (long long)(lazy_loop_steps() - loop), (long long)n);
    double sum = 0;
    for (int i = 0; i < xt_module_tensors(model); i++)
        sum += (i + 1) * xt_item(xt_sum(xt_square(xt_module_tensor(model, i))));
    sum += xt_item(xt_randn(XT_F32, 1)); /* what is drawn next */
    lazy_check_nan(false);
    xt_step_free(compiled);
    xt_optimizer_free(opt);
    xt_module_free(model);
    xt_mark_step();
    return right ? sum : NAN;
}

static void dropped_steps_leave_nothing(void **state) {
    (void)state;
    int failed = 0;
    for (int f = IS_NAN; f < FAULTS; f++)
        for (int form = 0; form < 8; form++) {
            if ((form & 2) && f != IS_NAN) continue; /* a replay runs no lines of the function */
            run r = {.fault = (fault)f, .looks_early = form & 1, .compiled = form & 2, .window = form & 4 ? 3 : 1};
            double with = trained(&r, true), without = trained(&r, false);
            if (fabs(with - without) <= 1e-6 * fabs(without)) continue;
            print_error("%s%s%s, %d micro-batches an update: %.9g instead of %.9g\n", fault_names[f],
                        r.looks_early ? ", looked at in the step" : "", r.compiled ? ", compiled" : "", r.window, with,
                        without);
            failed++;
        }
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(dropped_steps_leave_nothing, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
