/* xt_autocast_begin and its end: one that is forgotten is told, with the line of the begin; recurrences in between. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

static char told[4096];
static int n_told;
static void sink(xt_severity severity, const char *message, size_t n, void *user) {
    (void)severity;
    (void)user;
    if (!memmem(message, n, "xt_autocast_", 12)) return;
    snprintf(told, sizeof told, "%.*s", (int)n, message);
    n_told++;
}

static bool narrow(void) {
    float a[4] = {1 + 1.f / 512, 0, 0, 1}, v[4]; /* no number of bf16 */
    xt_tensor x = xt_from_array(a, XT_F32, 2, 2);
    assert_true(xt_read(xt_matmul(x, xt_from_array(((float[]){1, 0, 0, 1}), XT_F32, 2, 2)), v, sizeof v));
    return v[0] != a[0];
}

static void nested(bool around) {
    xt_autocast_begin(XT_BF16);
    assert_true(narrow());
    xt_autocast_begin(XT_F32);
    assert_false(narrow());
    xt_autocast_end();
    assert_true(narrow());
    xt_autocast_end();
    assert_int_equal(narrow(), around);
}
static void *of_a_thread(void *user) {
    (void)user;
    for (int i = 0; i < 3; i++) nested(false);
    return xt_error() ? (void *)1 : NULL;
}

static void right_use_is_silent(void **state) {
    pthread_t thread;
    void *failed;
    (void)state;
    for (int i = 0; i < 4; i++) {
        nested(false);
        assert_true(xt_mark_step());
    }
    xt_autocast_begin(XT_BF16); /* around a whole loop */
    for (int i = 0; i < 4; i++) {
        nested(true);
        assert_true(narrow());
        assert_true(xt_mark_step());
    }
    pthread_create(&thread, NULL, of_a_thread, NULL);
    pthread_join(thread, &failed);
    assert_null(failed);
    xt_autocast_end();
    assert_false(narrow());
    assert_int_equal(n_told, 0);
}

static xt_tensor forgets(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_autocast_begin(XT_BF16); /* line 68 */
    return xt_linear(m, "fc", x, 2);
}

static void a_forward_ends_what_it_begins(void **state) {
    (void)state;
    xt_module *m = xt_module_new(forgets, NULL);
    xt_forward(m, xt_ones(XT_F32, 2, 3));
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), "has called xt_autocast_begin at "));
    assert_non_null(strstr(xt_status_message(xt_error()), "test_autocast.c:68"));
    xt_clear_error();
    assert_false(narrow());
    xt_module_free(m);
}

static void an_end_alone_is_an_error(void **state) {
    (void)state;
    xt_autocast_end();
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), "xt_autocast_end without xt_autocast_begin"));
    xt_clear_error();
}

/* The loop's begin has no end: said once, with its line; and once more at the end of the program. */
static void loops_that_forget_are_told(void **state) {
    (void)state;
    n_told = 0;
    for (int i = 0; i < 6; i++) {
        xt_autocast_begin(XT_BF16); /* line 97 */
        assert_true(narrow());
        assert_true(xt_mark_step());
    }
    assert_int_equal(n_told, 1);
    assert_non_null(strstr(told, "test_autocast.c:97: xt_autocast_begin came here in step "));
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(n_told, 2);
    assert_non_null(strstr(told, "test_autocast.c:97: what xt_autocast_begin began here has not ended by xt_finish"));
    assert_false(narrow()); /* the next run begins anew */
}

/* --- recurrences --- */
enum { STEPS = 64, INPUTS = 4, HIDDEN = 8 };
static xt_rnn_kind kind;
static xt_switch loop;
static xt_tensor recurrence(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_rnn_opts o = XT_OPTS(xt_rnn_opts, .loop = loop);
    return xt_rnn_at(XT_HERE, kind, m, "r", x, HIDDEN, o).output;
}

/* The sum of what comes out, and the gradient of weight_hh, whose parts come from all steps. */
static double train(xt_dtype input, xt_dtype narrow, double *grad) {
    double x[STEPS * INPUTS];
    for (int i = 0; i < STEPS * INPUTS; i++) x[i] = 1 + 0.1 * ((i * 7919 % 13) / 6.5 - 1);
    xt_seed(3);
    xt_module *m = xt_module_new(recurrence, NULL);
    xt_tensor in = xt_cast(xt_from_array(x, XT_F64, STEPS, 1, INPUTS), input);
    if (narrow) xt_autocast_begin(narrow);
    xt_tensor sum = xt_sum(xt_forward(m, in));
    if (narrow) xt_autocast_end();
    xt_backward(sum);
    xt_tensor g = xt_cast(xt_grad(xt_module_find(m, "r.weight_hh_l0")), XT_F64);
    assert_true(xt_read(g, grad, (size_t)xt_numel(g) * sizeof *grad));
    double value = xt_item(sum);
    assert_true(xt_mark_step());
    xt_module_free(m);
    return value;
}

static void recurrences_of_f64_are_left_alone(void **state) {
    (void)state;
    static double plain[4 * HIDDEN * HIDDEN], narrowed[4 * HIDDEN * HIDDEN];
    for (int i = 0; i < 6; i++) {
        kind = (xt_rnn_kind)(i / 2), loop = i % 2 ? XT_ON : XT_OFF;
        assert_true(train(XT_F64, XT_DTYPE_NONE, plain) == train(XT_F64, XT_BF16, narrowed));
        assert_memory_equal(plain, narrowed, (kind ? kind == XT_RNN_LSTM ? 4 : 3 : 1) * HIDDEN * HIDDEN * 8);
    }
}

/* What the steps give to a weight's gradient is added in f32, however many there are: rounding each part to bf16 is
 * an error of 1/256 at most, rounding the sum after each step one of several of them. */
static void gradients_of_unrolled_steps_are_added_in_f32(void **state) {
    (void)state;
    static double exact[4 * HIDDEN * HIDDEN], got[4 * HIDDEN * HIDDEN];
    for (int i = 0; i < 6; i++) {
        kind = (xt_rnn_kind)(i / 2), loop = i % 2 ? XT_ON : XT_OFF;
        int n = (kind ? kind == XT_RNN_LSTM ? 4 : 3 : 1) * HIDDEN * HIDDEN;
        train(XT_F32, XT_DTYPE_NONE, exact);
        train(XT_F32, XT_BF16, got);
        double off = 0, all = 0;
        for (int k = 0; k < n; k++) off += (got[k] - exact[k]) * (got[k] - exact[k]), all += exact[k] * exact[k];
        assert_true(off > 0); /* it was narrowed */
        assert_true(off <= all / (256. * 256.));
    }
}

static int begin(void **state) {
    (void)state;
    xt_set_sink(sink, NULL);
    return 0;
}
static int end(void **state) {
    (void)state;
    xt_set_sink(NULL, NULL);
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_use_is_silent),
                                       cmocka_unit_test(a_forward_ends_what_it_begins),
                                       cmocka_unit_test(an_end_alone_is_an_error),
                                       cmocka_unit_test(recurrences_of_f64_are_left_alone),
                                       cmocka_unit_test(gradients_of_unrolled_steps_are_added_in_f32),
                                       cmocka_unit_test(loops_that_forget_are_told)};
    return cmocka_run_group_tests(tests, begin, end);
}
