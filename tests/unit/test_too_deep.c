/* Functions of the program's that the library calls and that call themselves through it without an end: an error with
 * the line while there is stack left, not the end of the process. Those that have an end reach it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <pthread.h>
#include <cmocka.h>

#include "base/base.h"
#include <xtrain/xtrain.h>

static int levels, most;
static xt_step *step;

static xt_tensor forward_again(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return ++levels == most ? x : xt_forward(m, x);
}

static xt_tensor call_again(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return ++levels == most ? xt_exp(in[0]) : xt_call(step, in[0]);
}

static void body_again(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x, (void)y, (void)user;
    xt_tensor inner = carry[0], of = xt_ones(XT_F32, 2);
    if (++levels != most) xt_scan(body_again, 1, &inner, 1, &of, 0, NULL);
    carry[0] = xt_add(carry[0], inner);
}

static xt_tensor forwards(void) {
    return xt_forward(xt_module_new(forward_again, NULL), xt_ones(XT_F32, 2));
}
static xt_tensor calls(void) {
    step = xt_compile(call_again);
    return xt_call(step, xt_ones(XT_F32, 2));
}
static xt_tensor scans(void) {
    xt_tensor carry = xt_ones(XT_F32), of = xt_ones(XT_F32, 2);
    xt_scan(body_again, 1, &carry, 1, &of, 0, NULL);
    return carry;
}

static const struct {
    const char *name;
    xt_tensor (*fn)(void);
    int ends; /* a depth that is no fault */
} rows[] = {{"xt_forward", forwards, 100}, {"xt_call", calls, 100}, {"xt_scan", scans, 3}};

static char failure[2048];
static void *run(void *unused) {
    (void)unused;
    for (size_t i = 0; i < BASE_COUNT(rows) && !*failure; i++) {
        levels = 0, most = -1;
        (void)rows[i].fn();
        const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
        char want[64];
        snprintf(want, sizeof want, "%s: functions that the library calls have called it again", rows[i].name);
        if (!strstr(text, want) || !strstr(text, "test_too_deep.c:") || levels < 20)
            snprintf(failure, sizeof failure, "%s, %d levels: %.1500s", rows[i].name, levels, text);
        xt_clear_error();
        xt_mark_step();
        xt_clear_error();
        levels = 0, most = rows[i].ends;
        double v = xt_item(xt_sum(rows[i].fn()));
        if (xt_error() && !*failure)
            snprintf(failure, sizeof failure, "%s with an end: %.1500s", rows[i].name, xt_status_message(xt_error()));
        (void)v;
        xt_clear_error();
    }
    return NULL;
}

/* A thread of its own, whose stack ends sooner than that of the process. */
static void endless(void **state) {
    (void)state;
    pthread_t t;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 2 << 20);
    assert_int_equal(pthread_create(&t, &attr, run, NULL), 0);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
    if (*failure) fail_msg("%s", failure);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(endless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
