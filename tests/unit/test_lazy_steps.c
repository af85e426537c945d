/* Steps on a real device: what compiles, what executes, what is read, what stays alive, and what a failure leaves
 * behind. The device is XT_DEVICE's, our CPU compiler without it. Each test ends with xt_finish and no live object. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static int64_t count(const char *name) {
    return xt_counter(name);
}

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer",    "executable", "client", "graph",
                                        "module", "optimizer", "loader",     "dataset"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static bool our_device(void) {
    return !getenv("XT_DEVICE") || strcmp(getenv("XT_DEVICE"), "CPU") == 0;
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_batch_norm(m, "bn", xt_relu(xt_linear(m, "fc1", x, 8)));
    return xt_linear(m, "fc2", x, 3);
}

static xt_loader *data(int64_t batch, int64_t n) {
    static float x[96][4];
    static int64_t y[96];
    for (int i = 0; i < 96; i++) {
        for (int k = 0; k < 4; k++) x[i][k] = sinf((float)(i * 4 + k));
        y[i] = x[i][0] > 0.3f ? 0 : x[i][1] > 0 ? 1 : 2;
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64, {0}}, 96), .batch = batch,
                         .limit = n ? n : -1);
}

static void train(xt_module *m, xt_optimizer *opt, xt_loader *l, int epochs, double *first, double *last) {
    xt_tensor loss = {0};
    for (int e = 0; e < epochs; e++)
        for (xt_batch b; xt_next(l, &b);) {
            xt_tensor before = loss;
            loss = xt_keep(xt_cross_entropy(xt_forward(m, b.x), b.y));
            xt_backward(loss);
            xt_optimizer_step(opt);
            if (before.slot) {
                if (first && isnan(*first)) *first = xt_item(before);
                xt_drop(before);
            }
        }
    if (last) *last = xt_item(loss);
    xt_drop(loss);
}

static void one_program(void **state) {
    (void)state;
    int64_t compiles = count("compiles"), execs = count("executions"), reads = count("host_reads");
    xt_module *m = xt_module_new(net, NULL);
    train(m, xt_sgd(m, .lr = 0.1, .momentum = 0.9), data(32, 0), 4, NULL, NULL);
    assert_null(xt_error());
    /* the order of results does not depend on what was made before what */
    assert_int_equal(count("compiles") - compiles, 1);
    assert_int_equal(count("executions") - execs, 12);
    assert_int_equal(count("host_reads") - reads, 0);
    nothing_left();
}

static void learns(void **state) {
    (void)state;
    double first = NAN, last = NAN;
    xt_module *m = xt_module_new(net, NULL);
    train(m, xt_adamw(m, .lr = 0.02), data(32, 0), 60, &first, &last);
    assert_true(first > 0.8 && last < 0.4);
    nothing_left();
}

static void read_changes_nothing(void **state) {
    (void)state;
    double a = NAN, b = NAN;
    xt_module *m = xt_module_new(net, NULL);
    train(m, xt_sgd(m, .lr = 0.1), data(32, 0), 2, NULL, &a);
    assert_int_equal(xt_finish(), 0);
    int64_t compiles = count("compiles");
    m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    xt_loader *l = data(32, 0);
    for (int e = 0; e < 2; e++)
        for (xt_batch bt; xt_next(l, &bt);) {
            xt_tensor loss = xt_cross_entropy(xt_forward(m, bt.x), bt.y);
            b = xt_item(loss); /* before backward, in the middle of the step */
            xt_backward(loss);
            xt_optimizer_step(opt);
        }
    assert_true(fabs(a - b) <= 1e-6);
    assert_int_equal(count("compiles") - compiles, 2); /* the step and the read */
    nothing_left();
}

static void learning_rate_is_data(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    xt_loader *l = data(32, 0);
    int64_t compiles = count("compiles");
    int k = 0;
    for (int e = 0; e < 5; e++)
        for (xt_batch b; xt_next(l, &b);) {
            xt_optimizer_set_lr(opt, 0.1 / ++k);
            xt_backward(xt_cross_entropy(xt_forward(m, b.x), b.y));
            xt_optimizer_step(opt);
        }
    assert_int_equal(count("compiles") - compiles, 1);
    nothing_left();
}

static void modes_compile_once(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    int64_t compiles = count("compiles");
    xt_loader *l = data(32, 0), *v = data(32, 2);
    for (int e = 0; e < 4; e++) {
        for (xt_batch b; xt_next(l, &b);) {
            xt_backward(xt_cross_entropy(xt_forward(m, b.x), b.y));
            xt_optimizer_step(opt);
        }
        xt_eval(m);
        for (xt_batch b; xt_next(v, &b);) xt_when_ready(xt_argmax(xt_forward(m, b.x), 1), NULL, NULL);
        xt_train(m);
    }
    assert_int_equal(count("compiles") - compiles, 2);
    nothing_left();
}

/* --- gradients over several steps --- */
static void gradients_add_over_steps(void **state) {
    (void)state;
    float a[3] = {1, 2, 3};
    xt_tensor w = xt_requires_grad(xt_keep(xt_from_array(a, XT_F32, 3)), true);
    for (int i = 1; i <= 4; i++) {
        xt_backward(xt_sum(xt_mul(w, w)));
        assert_true(xt_mark_step());
        float g[3];
        assert_true(xt_read(xt_grad(w), g, sizeof g));
        for (int k = 0; k < 3; k++) assert_true(g[k] == 2 * (float)i * a[k]);
    }
    xt_drop(w);
    nothing_left();
}

/* --- buffers --- */
static void put(void *user, const void *p, size_t n, xt_dtype t) {
    (void)n;
    (void)t;
    *(float *)user = *(const float *)p;
}

/* The state's buffer is held by a read under way while the next steps want to take it over: the read sees its own
 * step's value. */
static void a_read_holds_its_value(void **state) {
    (void)state;
    enum { STEPS = 20 };
    static float seen[STEPS];
    float zero = 0;
    xt_tensor s = lazy_state_new(XT_HERE, LAZY_BUFFER, "counter", XT_F32, 0, NULL, &zero);
    for (int i = 0; i < STEPS; i++) {
        lazy_assign(s, xt_add_scalar(s, 1));
        assert_true(xt_mark_step());
        lazy_state_when_ready(s, put, NULL, &seen[i]);
    }
    assert_true(xt_wait());
    for (int i = 0; i < STEPS; i++) assert_true(seen[i] == (float)(i + 1));
    xt_drop(s);
    nothing_left();
}

static void values_in_order(void **state) {
    (void)state;
    static float seen[50];
    for (int i = 0; i < 50; i++) {
        xt_when_ready(xt_scalar(i * 0.5, XT_F32), put, &seen[i]);
        assert_true(xt_mark_step());
    }
    assert_true(xt_wait());
    for (int i = 0; i < 50; i++) assert_true(seen[i] == (float)i * 0.5f);
    nothing_left();
}

static void integers_are_exact(void **state) {
    (void)state;
    int64_t v;
    assert_true(xt_read(xt_scalar(9007199254740991.0, XT_I64), &v, sizeof v));
    assert_true(v == 9007199254740991);
    assert_true(xt_read(xt_scalar(-5, XT_I64), &v, sizeof v));
    assert_true(v == -5);
    nothing_left();
}

/* --- failures --- */
static void memory_runs_out(void **state) {
    (void)state;
    if (!our_device()) skip();
    setenv("XT_MEMORY_LIMIT", "1M", 1);
    float *a = calloc(512 * 256, sizeof *a);
    assert_non_null(a);
    xt_tensor x = xt_from_array(a, XT_F32, 512, 256);
    xt_tensor y = xt_keep(xt_matmul(x, xt_transpose(x, 0, 1))); /* [512,512]: one MiB beside the half that x takes */
    bool ok = xt_mark_step() && xt_wait();
    assert_false(ok);
    assert_int_equal(xt_status_code(xt_error()), XT_RESOURCE_EXHAUSTED);
    const char *text = xt_status_message(xt_error());
    if (!strstr(text, "test_lazy_steps.c") || !strstr(text, "what helps"))
        fail_msg("no line or no advice in: %s", text);
    if (strstr(text, " bytes") || strstr(text, "argument ")) fail_msg("sizes are in MiB, inputs have names: %s", text);
    if (!strstr(text, "0.50 MiB  tensor<512x256xf32>  value  ")) fail_msg("the input is not named: %s", text);
    xt_clear_error();
    xt_drop(y);
    float v[2] = {3, 4};
    assert_true(xt_item(xt_sum(xt_from_array(v, XT_F32, 2))) == 7); /* the process goes on */
    unsetenv("XT_MEMORY_LIMIT");
    free(a);
    nothing_left();
}

static void failed_step_keeps_states(void **state) {
    (void)state;
    float one = 1;
    xt_tensor s = lazy_state_new(XT_HERE, LAZY_BUFFER, "s", XT_F32, 0, NULL, &one);
    float a[6] = {0};
    lazy_assign(s, xt_add_scalar(s, 1));
    xt_matmul(xt_from_array(a, XT_F32, 2, 3), xt_from_array(a, XT_F32, 2, 3));
    assert_false(xt_mark_step());
    xt_clear_error();
    float v = 0;
    assert_null(lazy_state_read(s, &v, sizeof v));
    assert_true(v == 1);
    lazy_assign(s, xt_add_scalar(s, 5));
    assert_true(xt_mark_step());
    assert_null(lazy_state_read(s, &v, sizeof v));
    assert_true(v == 6);
    xt_drop(s);
    nothing_left();
}

static void without_memory(void **state) {
    (void)state;
    for (int64_t n = 0; n < 400; n += n < 60 ? 1 : 17) {
        /* the n-th allocation of a step fails: an error, and the next step works */
        float a[4] = {1, 2, 3, 4};
        xt_tensor x = xt_keep(xt_from_array(a, XT_F32, 4));
        base_fail_alloc_after(n);
        xt_tensor y = xt_sum(xt_mul(x, xt_add_scalar(x, (double)n))); /* a new constant: a new program each time */
        double v = xt_item(y);
        base_fail_alloc_after(-1);
        bool right = v == 30 + 10.0 * (double)n;
        if (!right && !xt_error()) fail_msg("allocation %lld: wrong value %g and no error", (long long)n, v);
        xt_clear_error();
        if (!xt_is_none(x) && !xt_is_error(x)) xt_drop(x);
        xt_clear_error();
        assert_true(xt_mark_step());
    }
    nothing_left();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_program),
        cmocka_unit_test(learns),
        cmocka_unit_test(read_changes_nothing),
        cmocka_unit_test(learning_rate_is_data),
        cmocka_unit_test(modes_compile_once),
        cmocka_unit_test(gradients_add_over_steps),
        cmocka_unit_test(a_read_holds_its_value),
        cmocka_unit_test(values_in_order),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(failed_step_keeps_states),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
