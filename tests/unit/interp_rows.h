/* Table tests of the interpreter: each row is a StableHLO program that checks its own values (check.expect_*). A row
 * that does not start with "func" is the body of @main; its `return` is added. A row with `error` must fail with that
 * text in the message. */
#ifndef XT_TESTS_INTERP_ROWS_H
#define XT_TESTS_INTERP_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/interp.h"

typedef struct interp_row {
    const char *name, *text, *error;
} interp_row;

static inline xt_status run_text(const char *text, size_t n_out, array *out) {
    str program = STR_INIT;
    bool whole = strncmp(text, "func", 4) == 0 || strncmp(text, "module", 6) == 0;
    str_printf(&program, whole ? "%s" : "func.func @main() {\n%s\nfunc.return\n}\n", text);
    ir_module *m = NULL;
    xt_status s = ir_parse(program.data, program.len, "row", &m);
    if (!s) s = interp_run(m, NULL, NULL, 0, NULL, n_out, out);
    ir_module_free(m);
    str_free(&program);
    return s;
}

/* Runs every row; reports all that fail before failing. Nothing stays alive. */
static inline void run_rows(const interp_row *rows, size_t n) {
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t before = live_get(LIVE_array);
        xt_status s = run_text(rows[i].text, 0, NULL);
        const char *message = xt_status_message(s);
        bool ok = rows[i].error ? s && strstr(message, rows[i].error) : !s;
        if (!ok) {
            print_error("row '%s': %s%s%s\n", rows[i].name, s ? message : "ran without an error",
                        rows[i].error ? ", expected: " : "", rows[i].error ? rows[i].error : "");
            failed++;
        }
        xt_status_free(s);
        if (live_get(LIVE_array) != before) {
            print_error("row '%s': %lld arrays left alive\n", rows[i].name, (long long)(live_get(LIVE_array) - before));
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

#endif
