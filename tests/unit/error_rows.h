/* What the user gets wrong in a tensor op, as a table: define cases and rows with these macros, then
 * ERROR_MAIN("group"). A row's result must be an error tensor; the message must hold the row's text and name the line
 * of the case; what the error feeds records nothing and changes no message. */
#ifndef XT_TESTS_ERROR_ROWS_H
#define XT_TESTS_ERROR_ROWS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lazy/core/ctx.h"
#include <xtrain/xtrain.h>

typedef xt_tensor T;
#define F(...) xt_full(1, XT_F32, __VA_ARGS__)
#define LABELS(...) xt_full(1, XT_I64, __VA_ARGS__)
#define TRUTH xt_ge(F(2), F(2))
#define CASE(name, expr)      \
    static T e_##name(void) { \
        return expr;          \
    }
typedef struct row {
    const char *name;
    T (*build)(void);
    const char *text;
} row;
#define ROW(name, text) \
    { #name, e_##name, text }

static void check_row(void **state) {
    const row *r = *state;
    T t = r->build();
    assert_true(xt_is_error(t));
    const char *message = xt_status_message(xt_error());
    if (!strstr(message, r->text))
        fail_msg("%s: message is \"%s\", expected to hold \"%s\"", r->name, message, r->text);
    if (!strstr(message, __BASE_FILE__)) fail_msg("%s: \"%s\" names no line", r->name, message);
    /* The first error stays; what it feeds is an error too and adds nothing. */
    char first[1024];
    snprintf(first, sizeof first, "%s", message);
    const ir_op *last = lazy_ctx_get()->b.block->last;
    assert_true(xt_is_error(xt_sum(xt_exp(xt_add(t, t)))));
    assert_string_equal(xt_status_message(xt_error()), first);
    assert_ptr_equal(lazy_ctx_get()->b.block->last, last);
    xt_clear_error();
    lazy_reset_thread();
}

#define ERROR_MAIN(group)                                                                             \
    int main(int argc, char **argv) {                                                                 \
        struct CMUnitTest tests[BASE_COUNT(rows)];                                                    \
        size_t n = 0;                                                                                 \
        for (size_t i = 0; i < BASE_COUNT(rows); i++)                                                 \
            if (argc < 2 || strcmp(argv[1], rows[i].name) == 0)                                       \
                tests[n++] = (struct CMUnitTest){                                                     \
                    .name = rows[i].name, .test_func = check_row, .initial_state = (void *)&rows[i]}; \
        return n ? _cmocka_run_group_tests(group, tests, n, NULL, NULL) : 1;                          \
    }

#endif
