/* xt_autocast_begin and its end: one that is forgotten is told, with the line of the begin. */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_use_is_silent), cmocka_unit_test(a_forward_ends_what_it_begins),
        cmocka_unit_test(an_end_alone_is_an_error), cmocka_unit_test(loops_that_forget_are_told)};
    return cmocka_run_group_tests(tests, begin, end);
}
