/* Every code has both texts and a phrase that the library really says; a status finds its code; switches and headers
 * are told apart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "diag/diag.h"
#include <xtrain/xtrain.h>

static bool in_sources(const char *phrase) {
    char command[600];
    snprintf(command, sizeof command, "grep -rqF --include=*.c -- \"%s\" src", phrase);
    return system(command) == 0;
}

static void every_code_has_both_texts(void **state) {
    (void)state;
    int n = 0;
    for (; xt_code_at(n); n++) {
        const char *id = xt_code_at(n), *en = xt_explain(id, "en"), *zh = xt_explain(id, "zh");
        if (!en || !zh || strlen(en) < 40 || strlen(zh) < 20 || strcmp(en, zh) == 0) fail_msg("%s lacks a text", id);
        if (!strchr(en, '.') || !strstr(zh, "。")) fail_msg("%s: a text is no sentence", id);
        for (int k = 0; k < n; k++) assert_string_not_equal(xt_code_at(k), id);
        if (*diag_code_phrase(n) && !in_sources(diag_code_phrase(n)))
            fail_msg("%s: nothing in src says '%s'", id, diag_code_phrase(n));
    }
    assert_true(n >= 40);
    assert_null(xt_explain("XT999", "en"));
    assert_null(xt_explain(NULL, "en"));
    assert_null(xt_code_at(-1));
}

/* Each status code has a row, so every message of the library has a code. */
static void every_status_has_a_code(void **state) {
    (void)state;
    assert_string_equal(xt_status_id(NULL), "XT000");
    for (int c = XT_CANCELLED; c <= XT_UNAUTHENTICATED; c++) {
        char id[8];
        xt_status s = status_new((xt_code)c, NULL, "something");
        snprintf(id, sizeof id, "XT%03d", c);
        assert_string_equal(xt_status_id(s), id);
        assert_non_null(xt_explain(xt_status_id(s), "zh"));
        xt_status_free(s);
    }
    xt_tensor t = xt_ones(XT_F32, 2);
    assert_true(xt_mark_step());
    xt_sum(t);
    assert_string_equal(xt_status_id(xt_error()), "XT101");
    xt_clear_error();
    xt_matmul(xt_ones(XT_F32, 2, 3), xt_ones(XT_F32, 4, 5));
    assert_string_equal(xt_status_id(xt_error()), "XT109");
    xt_clear_error();
    assert_int_equal(xt_finish(), 0);
}

static void headers_and_library(void **state) {
    (void)state;
    assert_null(diag_disagreement());
    xt_built_with(XT_VERSION_MAJOR * 10000 + XT_VERSION_MINOR * 100 + XT_VERSION_PATCH, "x.h");
    assert_null(diag_disagreement());
    xt_built_with(30201, "/opt/old/include/xtrain/diag.h");
    xt_status s = diag_disagreement();
    assert_non_null(
        strstr(xt_status_message(s), "was built against the headers of xtrain 3.2.1 (/opt/old/include/xtrain/diag.h)"));
    assert_non_null(strstr(xt_status_message(s), XT_VERSION));
    assert_string_equal(xt_status_id(s), "XT501");
    xt_status_free(s);
}

static void durations(void **state) {
    (void)state;
    for (int i = 1; i <= 1000; i++) diag_time_step(i * 1000);
    assert_true(fabs(xt_percentile("step", 0.5) / 500e-6 - 1) < 0.09);
    assert_true(fabs(xt_percentile("step", 0.95) / 950e-6 - 1) < 0.09);
    assert_true(isnan(xt_percentile("nothing", 0.5)));
    char path[] = "/tmp/xtrain_prom_XXXXXX", line[300];
    assert_true(mkstemp(path) >= 0);
    assert_null(xt_metrics_write(path));
    FILE *f = fopen(path, "r");
    int samples = 0;
    while (fgets(line, sizeof line, f)) {
        char name[200];
        double v;
        if (line[0] == '#')
            assert_true(strncmp(line, "# HELP xtrain_", 14) == 0 || strncmp(line, "# TYPE xtrain_", 14) == 0);
        else if (sscanf(line, "%199[^ ] %lf", name, &v) == 2 && strstr(name, "{rank=\"0\""))
            samples++;
        else
            fail_msg("no Prometheus line: %s", line);
    }
    fclose(f);
    remove(path);
    assert_true(samples > COUNTER_COUNT);
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_code_has_both_texts),
                                       cmocka_unit_test(every_status_has_a_code), cmocka_unit_test(durations),
                                       cmocka_unit_test(headers_and_library)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
