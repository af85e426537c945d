/* Why a program is new, and numbers that change: at most one extra program each, and a reason that names the
 * user's line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static char reasons[4][768]; /* of the newest programs, newest first */
static char advice[256]; /* for the newest */
static int n_new;

static void on_event(void *user, const lazy_event *e) {
    (void)user;
    if (e->source == LAZY_FROM_MEMORY) return;
    memmove(reasons[1], reasons[0], sizeof reasons - sizeof reasons[0]);
    snprintf(reasons[0], sizeof reasons[0], "%s", e->reason);
    snprintf(advice, sizeof advice, "%s", e->advice);
    n_new++;
}

static char notices[2000];
static void sink(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    size_t have = strlen(notices);
    if (n > sizeof notices - 1 - have) n = sizeof notices - 1 - have;
    memcpy(notices + have, text, n);
    notices[have + n] = 0;
}

static void nothing_left(void) {
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

static void expect_line(const char *text, int line) {
    char here[64];
    snprintf(here, sizeof here, "test_lazy_reasons.c:%d", line);
    if (!strstr(text, here)) fail_msg("no %s in: %s", here, text);
}

static xt_tensor numbers(float first) {
    float a[4] = {first, 2, 3, 4};
    return xt_from_array(a, XT_F32, 4);
}

static void a_changing_constant(void **state) {
    (void)state;
    n_new = 0;
    notices[0] = 0;
    xt_set_sink(sink, NULL);
    int line = 0;
    for (int i = 0; i < 20; i++) {
        line = __LINE__ + 1;
        xt_tensor y = xt_mul_scalar(numbers(1), 1.0 / (1 + i));
        xt_when_ready(xt_sum(y), NULL, NULL);
        assert_true(xt_mark_step());
    }
    assert_true(xt_wait());
    xt_set_sink(NULL, NULL);
    assert_int_equal(n_new, 2); /* the constant, then the data */
    expect_line(reasons[0], line);
    expect_line(notices, line); /* one notice */
    assert_null(strstr(strstr(notices, "test_lazy_reasons.c") + 1, "test_lazy_reasons.c"));
    nothing_left();
}

/* The values are right whichever form the number has, and two numbers at one line (a loop) are told apart. */
static void values_of_numbers(void **state) {
    (void)state;
    n_new = 0;
    xt_set_sink(sink, NULL);
    for (int i = 0; i < 6; i++) {
        xt_tensor y = numbers((float)i);
        for (int k = 0; k < 3; k++) y = xt_add_scalar(y, k == 1 ? i : k); /* only the middle one changes */
        float got[4];
        assert_true(xt_read(y, got, sizeof got));
        assert_true(got[0] == (float)(2 * i + 2));
        assert_true(xt_mark_step());
    }
    xt_set_sink(NULL, NULL);
    assert_int_equal(n_new, 2);
    nothing_left();
}

static void back_and_forth(void **state) {
    (void)state;
    n_new = 0;
    xt_set_sink(sink, NULL);
    for (int i = 0; i < 12; i++) {
        xt_when_ready(xt_pow_scalar(numbers(2), i % 2 ? 2 : 3), NULL, NULL);
        assert_true(xt_mark_step());
    }
    xt_set_sink(NULL, NULL);
    assert_true(n_new <= 2);
    nothing_left();
}

/* --- values told under an `if` --- */
static void a_print_under_an_if(void **state) {
    (void)state;
    n_new = 0;
    int line = 0;
    fflush(stdout);
    for (int i = 0; i < 21; i++) {
        /* the mean is recorded always, used rarely */
        xt_tensor x = numbers((float)i), y = xt_keep(xt_sum(xt_mul(x, x))), mean = xt_mean(x);
        line = __LINE__ + 1;
        if (i % 10 == 0) xt_master_printf("# mean %t\n", mean);
        assert_true(xt_mark_step());
        xt_drop(y);
    }
    assert_int_equal(n_new, 2);
    if (!strstr(reasons[0], "xt_master_printf") && !strstr(reasons[1], "xt_master_printf"))
        fail_msg("no xt_master_printf in: %s", reasons[0]);
    expect_line(reasons[0], line);
    nothing_left();
}

/* The same nodes, one more of them told: no op differs, so only the print's line can say why. */
static void a_value_that_is_there(void **state) {
    (void)state;
    n_new = 0;
    int line = 0;
    for (int i = 0; i < 12; i++) {
        xt_tensor y = xt_sum(numbers((float)i)), z = xt_mul_scalar(y, 2);
        xt_when_ready(z, NULL, NULL);
        line = __LINE__ + 1;
        if (i == 5) xt_when_ready(y, NULL, NULL);
        assert_true(xt_mark_step());
    }
    assert_int_equal(n_new, 2);
    if (!strstr(reasons[0], "xt_when_ready at ")) fail_msg("no xt_when_ready in: %s", reasons[0]);
    expect_line(reasons[0], line);
    nothing_left();
}

static void a_log_under_an_if(void **state) {
    (void)state;
    setenv("XT_RUNS_DIR", "/tmp/xtrain_test_reasons", 1);
    xt_log_every_n_steps(1000);
    n_new = 0;
    int line = 0;
    for (int i = 0; i < 25; i++) {
        xt_tensor x = numbers((float)i), loss = xt_sum(x), rare = xt_mean(x);
        xt_log("loss", loss);
        line = __LINE__ + 1;
        if (i % 10 == 3) xt_log("rare", rare);
        assert_true(xt_mark_step());
    }
    assert_int_equal(n_new, 2);
    expect_line(reasons[0], line);
    nothing_left();
}

static void a_kept_tensor(void **state) {
    (void)state;
    n_new = 0;
    xt_tensor kept = {0};
    int line = 0;
    for (int i = 0; i < 6; i++) {
        xt_tensor y = xt_sum(numbers((float)i));
        xt_when_ready(xt_mul_scalar(y, 2), NULL, NULL);
        line = __LINE__ - 2;
        if (i == 3) kept = xt_keep(y);
        assert_true(xt_mark_step());
    }
    assert_int_equal(n_new, 2);
    if (!strstr(reasons[0], "xt_keep")) fail_msg("no xt_keep in: %s", reasons[0]);
    expect_line(reasons[0], line);
    xt_drop(kept);
    nothing_left();
}

/* --- a value read between forward and backward --- */
/* What is recorded in some steps only, before what all have, makes them read their inputs in another order: the advice
 * is about that, not about states that are assigned. */
static void another_order_of_inputs(void **state) {
    (void)state;
    xt_tensor besides = xt_state("besides", XT_F32, 4), w = xt_state("w", XT_F32, 4);
    char at[64];
    int line = 0;
    n_new = 0;
    for (int i = 0; i < 6; i++) {
        if (i % 2) xt_sum(besides), line = __LINE__;
        xt_assign(w, xt_mul(xt_exp(w), besides));
        xt_when_ready(xt_sum(w), NULL, NULL);
        assert_true(xt_mark_step());
        if (strstr(reasons[0], "in another order")) break;
    }
    snprintf(at, sizeof at, "test_lazy_reasons.c:%d, was recorded before it", line);
    if (!strstr(reasons[0], "read some of its inputs in another order") || !strstr(reasons[0], at))
        fail_msg("%d: %s", n_new, reasons[0]);
    if (strstr(advice, "assign") || !strstr(advice, "behind what all steps have")) fail_msg("advice: %s", advice);
    xt_drop(besides);
    xt_drop(w);
    nothing_left();
}

static lazy_event forced;
static void note_forced(void *user, const lazy_event *e) {
    (void)user;
    if (e->forced) forced = *e;
}

/* The gradients are those without the read; the event that reports are made from has the line that read, and how many
 * operations were computed for it alone. */
static void backward_after_a_read(void **state) {
    (void)state;
    float plain[4], read[4];
    lazy_on_event(note_forced, NULL);
    for (int k = 0; k < 2; k++) {
        xt_tensor w = xt_requires_grad(xt_keep(numbers(2)), true), h = xt_mul(w, w),
                  loss = xt_sum(xt_mul(h, xt_add_scalar(h, 1)));
        if (k) xt_item(loss);
        int line = __LINE__ - 1;
        xt_backward(loss);
        assert_true(xt_mark_step());
        assert_true(xt_read(xt_grad(w), k ? read : plain, sizeof plain));
        if (k) {
            assert_int_equal(forced.cause, LAZY_ITEM);
            assert_int_equal(src_get(forced.src)->line, line);
            assert_true(forced.ops >= 5); /* the input, two products, the sum with one, the sum */
        }
        xt_drop(w);
    }
    for (int i = 0; i < 4; i++) {
        float w = i ? (float)(i + 1) : 2;
        assert_true(plain[i] == read[i]);
        assert_true(plain[i] == 4 * w * w * w + 2 * w);
    }
    nothing_left();
}

/* Where neither step has gradients, whether they are on makes no program: what the steps ask for does. */
static void steps_without_gradients(void **state) {
    (void)state;
    n_new = 0;
    xt_no_grad_begin();
    xt_when_ready(xt_sum(numbers(1)), NULL, NULL);
    xt_no_grad_end();
    assert_true(xt_mark_step());
    int line = __LINE__ + 1;
    xt_when_ready(xt_mean(numbers(2)), NULL, NULL);
    assert_true(xt_mark_step());
    assert_int_equal(n_new, 2);
    assert_null(strstr(reasons[0], "no_grad"));
    expect_line(reasons[0], line);
    nothing_left();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    lazy_on_event(on_event, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changing_constant),     cmocka_unit_test(values_of_numbers),
        cmocka_unit_test(back_and_forth),          cmocka_unit_test(a_print_under_an_if),
        cmocka_unit_test(a_value_that_is_there),   cmocka_unit_test(a_log_under_an_if),
        cmocka_unit_test(another_order_of_inputs), cmocka_unit_test(a_kept_tensor),
        cmocka_unit_test(backward_after_a_read),   cmocka_unit_test(steps_without_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
