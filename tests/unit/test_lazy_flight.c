/* Steps in the background: the host records the next one while one runs, at most two are in flight, and what fails
 * there is reported with its lines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static bool our_device(void) {
    return !getenv("XT_DEVICE") || strcmp(getenv("XT_DEVICE"), "CPU") == 0;
}

static void nothing_left(void) {
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

enum { SIDE = 384, CHAIN = 8, STEPS = 12 };
static atomic_int finished;

static void count_done(void *user, int64_t step, int64_t finished_ns) {
    (void)user;
    (void)step;
    (void)finished_ns;
    atomic_fetch_add(&finished, 1);
}

/* Milliseconds of work; the values stay small. */
static xt_tensor slow(xt_tensor x) {
    for (int i = 0; i < CHAIN; i++) x = xt_mul_scalar(xt_matmul(x, x), 1.0 / SIDE);
    return x;
}

/* Runs STEPS slow steps; *out_overlaps: boundaries that came back while their own step was not finished. */
static void run(int *out_overlaps, int *out_most) {
    xt_tensor x = xt_keep(xt_full(0.5, XT_F32, SIDE, SIDE));
    assert_true(xt_mark_step());
    xt_when_ready(slow(x), NULL, NULL);
    assert_true(xt_wait()); /* compiled */
    atomic_store(&finished, 0);
    *out_overlaps = *out_most = 0;
    for (int i = 0; i < STEPS; i++) {
        xt_when_ready(slow(x), NULL, NULL); /* recorded while the steps before run */
        lazy_when_step_done(count_done, NULL);
        assert_true(xt_mark_step());
        int unfinished = i + 1 - atomic_load(&finished);
        *out_overlaps += unfinished > 0;
        if (unfinished > *out_most) *out_most = unfinished;
    }
    assert_true(xt_wait());
    assert_int_equal(atomic_load(&finished), STEPS);
    xt_drop(x);
}

static void at_most_two(void **state) {
    (void)state;
    int overlaps, most;
    run(&overlaps, &most);
    assert_true(overlaps > STEPS / 2); /* the host did not wait for its own step */
    assert_int_equal(most, 2);
    assert_int_equal(xt_counter("in_flight_peak"), 2);
    assert_true(xt_counter("queue_wait_ns") > 0); /* the third had to wait */
    nothing_left();
    setenv("XT_IN_FLIGHT", "1", 1);
    run(&overlaps, &most);
    assert_true(most <= 1);
    unsetenv("XT_IN_FLIGHT");
    nothing_left();
}

static xt_tensor slow_step(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return slow(in[0]);
}

static void calls_too(void **state) {
    (void)state;
    xt_step *f = xt_compile(slow_step);
    xt_tensor x = xt_keep(xt_full(0.5, XT_F32, SIDE, SIDE));
    xt_call(f, x);
    assert_true(xt_wait());
    atomic_store(&finished, 0);
    int overlaps = 0;
    for (int i = 0; i < STEPS; i++) {
        lazy_when_step_done(count_done, NULL);
        xt_call(f, x);
        int unfinished = i + 1 - atomic_load(&finished);
        assert_true(unfinished <= 2);
        overlaps += unfinished > 0;
    }
    assert_true(overlaps > STEPS / 2);
    assert_true(xt_wait());
    assert_int_equal(xt_step_replays(f), STEPS);
    assert_int_equal(xt_counter("in_flight_peak"), 2);
    xt_drop(x);
    nothing_left();
}

static void nobody(void *user) {
    atomic_fetch_add((atomic_int *)user, 1);
}
static void value(void *user, const void *p, size_t n, xt_dtype t) {
    (void)user;
    (void)p;
    (void)n;
    (void)t;
}

/* The failing step is one of three on their way: its own op's line is named, once, and what waited for its value
 * hears of it. */
static void errors_keep_their_line(void **state) {
    (void)state;
    if (!our_device()) skip();
    atomic_int unheard = 0;
    xt_tensor x = xt_keep(xt_full(0.5, XT_F32, SIDE, SIDE));
    assert_true(xt_wait());
    xt_when_ready(slow(x), NULL, NULL);
    assert_true(xt_wait());
    setenv("XT_MEMORY_LIMIT", "4M", 1);
    assert_int_equal(xt_finish(), 0); /* the limit is read when the device opens */
    x = xt_keep(xt_full(0.5, XT_F32, SIDE, SIDE));
    assert_true(xt_wait());
    xt_when_ready(slow(x), NULL, NULL);
    bool ok = xt_mark_step();
    xt_tensor four[] = {x, x, x, x}, wide = xt_concat(4, four, 1);
    int line = __LINE__ + 1;
    xt_tensor large = xt_matmul(xt_transpose(wide, 0, 1), wide); /* [4*SIDE, 4*SIDE]: 9 MiB */
    lazy_request_value(XT_HERE, "the test", large, value, nobody, &unheard);
    ok = ok && xt_mark_step();
    xt_when_ready(slow(x), NULL, NULL); /* recorded while the failing step runs */
    ok = ok && xt_mark_step();
    ok = ok && xt_wait();
    assert_false(ok);
    char here[64];
    snprintf(here, sizeof here, "test_lazy_flight.c:%d", line);
    const char *text = xt_status_message(xt_error());
    assert_int_equal(xt_status_code(xt_error()), XT_RESOURCE_EXHAUSTED);
    if (!strstr(text, here)) fail_msg("no %s in: %s", here, text);
    xt_clear_error();
    assert_true(xt_wait());
    assert_null(xt_error()); /* once */
    assert_int_equal(atomic_load(&unheard), 1);
    xt_drop(x);
    unsetenv("XT_MEMORY_LIMIT");
    nothing_left();
}

/* Large steps follow each other without a wait, under limits from one that takes a batch to one that takes two steps at
 * once. Wherever memory ends, in an upload or in a program on its way, the parameters are those of the last step that
 * went well, nothing is left behind, and smaller steps go on. */
enum { IN = 64, HIDDEN = 128, LARGE_BATCH = 4096 };

static xt_tensor two_layers(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_relu(xt_linear(m, "in", x, HIDDEN)), 4);
}

static bool train(xt_module *m, xt_optimizer *adam, const float *data, int64_t batch) {
    xt_backward(xt_mean(xt_square(xt_forward(m, xt_from_data(data, XT_F32, 2, ((const int64_t[]){batch, IN}))))));
    xt_optimizer_step(adam);
    return xt_mark_step();
}

static double sum_of(xt_module *m) {
    static float w[HIDDEN * IN];
    double sum = 0;
    assert_true(xt_read(xt_module_find(m, "in.weight"), w, sizeof w));
    for (int i = 0; i < HIDDEN * IN; i++) sum += (double)w[i] * (i % 7 + 1);
    return sum;
}

static void memory_ends(void **state) {
    (void)state;
    if (!our_device()) skip();
    static float data[LARGE_BATCH * IN];
    int failures = 0, successes = 0;
    for (int i = 0; i < LARGE_BATCH * IN; i++) data[i] = (float)(i % 17) / 17;
    for (int64_t limit = 1536 << 10; limit <= 12 << 20; limit += 1024 << 10) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        setenv("XT_MEMORY_LIMIT", text, 1);
        xt_module *m = xt_module_new(two_layers, NULL);
        xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
        for (int i = 0; i < 3; i++) assert_true(train(m, adam, data, 16));
        double before = sum_of(m);
        int64_t buffers = xt_live_objects("buffer"), bytes = xt_counter("device_bytes"), steps = 0;
        while (steps < 6 && train(m, adam, data, LARGE_BATCH)) steps++;
        if (xt_wait() && !xt_error())
            successes++;
        else {
            failures++;
            assert_int_equal(xt_status_code(xt_error()), XT_RESOURCE_EXHAUSTED);
            xt_clear_error();
            double after = sum_of(m);
            if (steps == 0 && after != before)
                fail_msg("limit %s: the parameters changed from %g to %g", text, before, after);
            assert_true(isfinite(after));
            assert_int_equal(xt_live_objects("buffer"), buffers);
            assert_int_equal(xt_counter("device_bytes"), bytes);
        }
        for (int i = 0; i < 3; i++) assert_true(train(m, adam, data, 16));
        assert_true(sum_of(m) != before);
        nothing_left();
    }
    assert_true(failures > 0 && successes > 0);
    unsetenv("XT_MEMORY_LIMIT");
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_two),
        cmocka_unit_test(calls_too),
        cmocka_unit_test(errors_keep_their_line),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
