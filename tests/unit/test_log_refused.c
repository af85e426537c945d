/* Log calls that cannot mean anything are errors with their line: within a loop's body, which runs many times for one
 * recording, and under a name that another value's column has already. */
#include "train_log_test.h"

/* --- in a loop's body --- */
static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user, (void)y;
    log_it();
    carry[0] = xt_add(carry[0], x[0]);
}

static void in_a_scan(void **state) {
    (void)state;
    static const float w[4] = {1, 2, 3, 4};
    char line[64];
    for (int k = 0; k < THINGS; k++) {
        what = (thing)k;
        limit("%s in a scan", thing_names[k]);
        xt_tensor carry = xt_scalar(0, XT_F32), x = xt_from_array(w, XT_F32, 4);
        xt_scan(body, 1, &carry, 1, &x, 0, NULL);
        snprintf(line, sizeof line, LOG_FILE ":%d", log_line);
        const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
        if (!strstr(text, line) || !strstr(text, "xt_scan")) same("the error", text, line);
        xt_clear_error();
        xt_mark_step();
    }
    alarm(0);
    assert_int_equal(wrong, 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(in_a_scan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
