/* Status values: texts, positions, context, and that an error survives running out of memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

static void parts_of_a_status(void **state) {
    (void)state;
    int64_t before = live_get(LIVE_status);
    xt_status s = status_new(XT_INVALID_ARGUMENT, &(xt_src){"train.c", 41, "main"}, "dim %d is %d", 1, 7);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    assert_string_equal(xt_status_message(s), "train.c:41: dim 1 is 7");
    assert_string_equal(status_text(s), "dim 1 is 7");
    assert_int_equal(status_where(s)->line, 41);
    s = status_context(s, "layer %s", "fc1");
    assert_string_equal(xt_status_message(s), "train.c:41: layer fc1: dim 1 is 7");
    s = status_at(s, &(xt_src){"other.c", 1, "f"}); /* has a line already */
    assert_string_equal(status_where(s)->file, "train.c");
    xt_status c = status_clone(s);
    assert_ptr_not_equal(c, s);
    assert_int_equal(xt_live_objects("status"), before + 2);
    xt_status_free(s);
    assert_string_equal(xt_status_message(c), "train.c:41: layer fc1: dim 1 is 7");
    xt_status_free(c);
    assert_int_equal(live_get(LIVE_status), before);
}

/* Who meets a lack of memory reports memory, and may try again with less: of a lack of threads that says nothing. */
static void a_thread_that_cannot_start_is_no_lack_of_memory(void **state) {
    (void)state;
    xt_status s = status_no_thread(EAGAIN, "a thread");
    assert_int_equal(xt_status_code(s), XT_UNAVAILABLE);
    assert_non_null(strstr(xt_status_message(s), "a thread could not be started"));
    xt_status_free(s);
}

static void line_given_later(void **state) {
    (void)state;
    xt_status s = status_new(XT_INTERNAL, NULL, "100%% wrong");
    assert_null(status_where(s));
    assert_string_equal(xt_status_message(s), "100% wrong");
    s = status_at(s, &(xt_src){"a.c", 3, "f"});
    assert_string_equal(xt_status_message(s), "a.c:3: 100% wrong");
    xt_status_free(s);
}

static void null_is_success(void **state) {
    (void)state;
    assert_int_equal(xt_status_code(NULL), XT_OK);
    assert_string_equal(xt_status_message(NULL), "");
    assert_null(status_context(NULL, "x"));
    assert_null(status_at(NULL, XT_HERE));
    assert_null(status_clone(NULL));
    assert_null(status_where(NULL));
    xt_status_free(NULL);
    xt_status s = status_new(XT_OK, NULL, "an error cannot be OK");
    assert_int_equal(xt_status_code(s), XT_UNKNOWN);
    xt_status_free(s);
}

static void code_names(void **state) {
    (void)state;
    assert_string_equal(xt_code_name(XT_OK), "OK");
    assert_string_equal(xt_code_name(XT_UNAUTHENTICATED), "UNAUTHENTICATED");
    assert_string_equal(xt_code_name((xt_code)99), "UNKNOWN");
    assert_string_equal(xt_code_name((xt_code)-1), "UNKNOWN");
}

static void errno_becomes_a_code(void **state) {
    (void)state;
    errno = ENOENT;
    xt_status s = status_errno("cannot open", "data/x");
    assert_int_equal(xt_status_code(s), XT_NOT_FOUND);
    assert_string_equal(xt_status_message(s), "cannot open data/x: No such file or directory");
    xt_status_free(s);
    errno = ENOSPC; /* a full disk is told as that, not as memory that has run out */
    s = status_errno("cannot write", "data/x");
    assert_int_equal(xt_status_code(s), XT_UNAVAILABLE);
    xt_status_free(s);
}

/* Whichever allocation fails, the code is right, the message readable, and nothing leaks. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    int64_t before = live_get(LIVE_status);
    char lengthy[600];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    int static_ones = 0;
    for (int n = 1; n <= 12; n++) {
        base_fail_alloc_after(n);
        xt_status s = status_new(XT_NOT_FOUND, &(xt_src){"fresh.c", n, "f"}, "no %s", lengthy);
        s = status_context(s, "while %d", n);
        s = status_at(s, &(xt_src){"later.c", n, "g"});
        xt_status c = status_clone(s);
        base_fail_alloc_after(-1);
        assert_int_equal(xt_status_code(s), XT_NOT_FOUND);
        assert_int_equal(xt_status_code(c), XT_NOT_FOUND);
        assert_true(strlen(xt_status_message(s)) > 10);
        static_ones += strstr(xt_status_message(s), "out of memory") != NULL;
        xt_status_free(c);
        xt_status_free(s);
    }
    assert_true(static_ones > 0);
    assert_int_equal(live_get(LIVE_status), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_status),
        cmocka_unit_test(line_given_later),
        cmocka_unit_test(a_thread_that_cannot_start_is_no_lack_of_memory),
        cmocka_unit_test(null_is_success),
        cmocka_unit_test(code_names),
        cmocka_unit_test(errno_becomes_a_code),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
