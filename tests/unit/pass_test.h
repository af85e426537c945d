/* What the tests of passes share: program in, passes, program out, compared as printed text, so spelling does not
 * matter. Included once, by a test program. */
#ifndef TESTS_UNIT_PASS_TEST_H
#define TESTS_UNIT_PASS_TEST_H

#include "pass/pass.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static __attribute__((unused)) ir_module *parse(const char *text) {
    ir_module *m = NULL;
    xt_status s = ir_parse(text, strlen(text), "test", &m);
    if (!s) s = ir_verify(m);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    return m;
}

static __attribute__((unused)) char *print(const ir_module *m) {
    str s = STR_INIT;
    xt_status bad = ir_print(m, 0, &s);
    if (bad) fail_msg("%s", xt_status_message(bad));
    return s.data;
}

static bool for_guests;
/* passes: names with spaces between. A second run must change nothing. */
static __attribute__((unused)) void check(const char *passes, bool inexact, const char *in, const char *want) {
    ir_module *m = parse(in), *w = parse(want);
    for (int again = 0; again < 2; again++) {
        bool changed = false;
        char name[32];
        for (const char *p = passes; *p; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            memcpy(name, p, n);
            name[n] = 0;
            p += n;
            pass_ctx c = {.verify = true, .inexact = inexact, .as_xla = for_guests};
            assert_non_null(pass_find(name));
            xt_status s = pass_run(&c, pass_find(name), m);
            if (s) fail_msg("%s", xt_status_message(s));
            changed |= c.changed;
        }
        if (again && changed) fail_msg("%s changes its own result:\n%s", passes, in);
    }
    char *got = print(m), *expected = print(w);
    assert_string_equal(got, expected);
    base_free(got);
    base_free(expected);
    ir_module_free(m);
    ir_module_free(w);
}

/* One function of x, y: tensor<2x3xf32>; the body gives the result's name, as text between. */
static __attribute__((unused)) void check_body(const char *passes, bool inexact, const char *in, const char *want) {
    char text[2][4096];
    const char *bodies[2] = {in, want};
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i],
                 "func.func public @main(%%x: tensor<2x3xf32>, %%y: tensor<2x3xf32>, %%i: tensor<2x3xi32>, %%p: "
                 "tensor<2x3xi1>) -> %s\n"
                 "}\n",
                 bodies[i]);
    check(passes, inexact, text[0], text[1]);
}

#define F "tensor<2x3xf32>"
#define RETURN_X "tensor<2x3xf32> {\n return %x : tensor<2x3xf32>"

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 ? 0 : -1;
}

#endif
