/* XT_DEBUG=nan names the op that makes the first NaN or Inf, with its line and its inputs' ranges; XT_DEBUG=eager runs
 * op by op; a profile has the ops of its steps with their lines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

#include "said.h"

static int fresh(void **state) {
    (void)state;
    said[0] = 0;
    xt_set_sink(sink, NULL);
    return 0;
}

static int nothing_left(void **state) {
    (void)state;
    xt_set_sink(NULL, NULL);
    unsetenv("XT_DEBUG");
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
    return 0;
}

static void expect(const char *text, const char *word) {
    if (!text || !strstr(text, word)) fail_msg("no '%s' in: %s", word, text ? text : "(no message)");
}

static void begin(const char *words) {
    setenv("XT_DEBUG", words, 1);
    assert_true(xt_mark_step()); /* a step reads the switch when it begins */
}

static void the_first_nan(void **state) {
    (void)state;
    begin("nan");
    int line = 0;
    xt_tensor w = xt_requires_grad(xt_keep(xt_from_array(((float[3]){1, 2, 3}), XT_F32, 3)), true);
    for (int i = 0; i < 4; i++) {
        xt_tensor x = xt_from_array(((float[3]){4, 5, i == 2 ? -6.f : 6.f}), XT_F32, 3);
        xt_tensor y = xt_mul(w, x);
        line = __LINE__ + 1;
        xt_tensor z = xt_log_e(y);
        xt_tensor kept = xt_keep(xt_sum(xt_mul_scalar(z, 2)));
        bool ok = xt_mark_step();
        if (i != 2) {
            assert_true(ok);
            assert_true(isfinite(xt_item(kept)));
            xt_drop(kept);
            continue;
        }
        assert_false(ok);
        const char *text = xt_status_message(xt_error());
        char here[64];
        snprintf(here, sizeof here, "test_diag_debug_runs.c:%d", line);
        expect(text, here);
        expect(text, "log tensor<3xf32>");
        expect(text, "makes the first NaN or Inf of step");
        expect(text, "1 of 3 elements");
        expect(text, "from -18 to 10"); /* the range of what the logarithm got */
        assert_string_equal(xt_status_id(xt_error()), "XT401");
        xt_clear_error();
        xt_drop(kept);
    }
    xt_drop(w);
}

/* A validation's loop reads its losses, and no step has them for a result. */
static void a_value_that_is_only_read(void **state) {
    (void)state;
    begin("nan");
    for (int reads = 0; reads < 2; reads++) {
        float got = 0;
        xt_tensor x = xt_from_array(((float[2]){1, 4}), XT_F32, 2);
        assert_true(isfinite(xt_item(xt_sum(xt_log_e(x)))));
        xt_tensor bad = xt_sum(xt_log_e(xt_minus(x, xt_full(2, XT_F32))));
        if (reads)
            assert_false(xt_read(bad, &got, sizeof got));
        else
            assert_true(isnan(xt_item(bad)));
        expect(xt_status_message(xt_error()), "log tensor<2xf32>");
        expect(xt_status_message(xt_error()), "1 of 2 elements");
        xt_clear_error();
        assert_true(xt_mark_step());
    }
}

/* A mask of -Inf in front of a softmax is no mistake; a row of nothing but -Inf is. */
static void masks_are_no_suspects(void **state) {
    (void)state;
    begin("nan");
    for (int i = 0; i < 2; i++) {
        xt_tensor scores = xt_from_array(((float[4]){1, 2, 3, 4}), XT_F32, 2, 2);
        xt_tensor mask = xt_from_array(((unsigned char[4]){1, 0, (unsigned char)(i ? 0 : 1), 0}), XT_BOOL, 2, 2);
        xt_when_ready(xt_softmax(xt_where(mask, scores, xt_full(-INFINITY, XT_F32, 2, 2)), 1), NULL, NULL);
        assert_true(xt_mark_step() == (i == 0));
        if (i) expect(xt_status_message(xt_error()), "makes the first NaN");
        xt_clear_error();
    }
}

static void a_bad_batch(void **state) {
    (void)state;
    begin("nan");
    int line = __LINE__ + 1;
    xt_tensor x = xt_from_array(((float[2]){1, NAN}), XT_F32, 2);
    xt_when_ready(xt_sum(xt_mul(x, x)), NULL, NULL);
    assert_false(xt_mark_step());
    char here[64];
    snprintf(here, sizeof here, "test_diag_debug_runs.c:%d", line);
    expect(xt_status_message(xt_error()), here);
    expect(xt_status_message(xt_error()), "has NaN or Inf when step");
    xt_clear_error();
}

/* A log's smallest value starts with Inf, which is no mistake; what is logged is looked at all the same, and so is what
 * user code does with Inf. */
static void logs_are_no_suspects(void **state) {
    (void)state;
    begin("nan");
    int line = 0;
    for (int i = 0; i < 4; i++) {
        xt_tensor x = xt_from_array(((float[2]){1, i == 3 ? -1.f : 2.f}), XT_F32, 2);
        line = __LINE__ + 1;
        xt_tensor y = xt_sum(xt_sqrt(x));
        xt_log("plain", y);
        /* the state keeps smallest and largest values */
        if (i > 0) xt_log("least", y, .reduce = XT_MIN, .on_epoch = XT_ON);
        bool ok = xt_mark_step();
        if (!ok != (i == 3)) fail_msg("step %d: %s", i, xt_error() ? xt_status_message(xt_error()) : "no error");
    }
    char here[64];
    snprintf(here, sizeof here, "test_diag_debug_runs.c:%d", line);
    expect(xt_status_message(xt_error()), here);
    expect(xt_status_message(xt_error()), "sqrt tensor<2xf32>");
    xt_clear_error();
}

/* The loss answers a label that is no class, and that the host has not seen, with NaN of its own making. */
static void a_label_that_is_no_class(void **state) {
    (void)state;
    begin("nan");
    for (int i = 0; i < 3; i++) {
        xt_tensor scores = xt_from_array(((float[6]){1, 2, 3, 4, 5, 6}), XT_F32, 3, 2);
        xt_tensor labels = xt_add_scalar(xt_from_array(((int64_t[3]){0, 1,
                                                                     i == 0   ? 1
                                                                     : i == 1 ? 5
                                                                              : -3}),
                                                       XT_I64, 3),
                                         0);
        int line = __LINE__ + 1;
        xt_when_ready(xt_cross_entropy(scores, labels), NULL, NULL);
        assert_true(xt_mark_step() == (i == 0));
        if (i == 0) continue;
        char here[64];
        snprintf(here, sizeof here, "test_diag_debug_runs.c:%d", line);
        expect(xt_status_message(xt_error()), here);
        expect(xt_status_message(xt_error()),
               i == 1 ? "label 5 (element 2) is outside 0..1" : "label -3 (element 2) is outside 0..1");
        xt_clear_error();
    }
}

static void op_by_op(void **state) {
    (void)state;
    begin("eager");
    int64_t before = xt_counter("executions");
    xt_tensor x = xt_from_array(((float[4]){1, 2, 3, 4}), XT_F32, 4);
    xt_tensor y = xt_exp(x);
    assert_int_equal(xt_counter("executions"), before + 1);
    xt_tensor z = xt_sum(y);
    assert_int_equal(xt_counter("executions"), before + 2);
    assert_int_equal(lazy_in_flight(), 0); /* it has run, not just been started */
    assert_true(fabs(xt_item(z) - 84.79102) < 1e-3);
    assert_int_equal(xt_counter("executions"), before + 2);
    assert_true(xt_mark_step());
}

/* An op's program reads what was computed before it: as many programs as ops, of one size each, and the same few
 * again and again. */
static void op_by_op_in_a_long_step(void **state) {
    (void)state;
    enum { OPS = 300 };
    begin("eager");
    xt_tensor x = xt_from_array(((float[4]){1, 2, 3, 4}), XT_F32, 4);
    int64_t runs = xt_counter("executions"), compiles = xt_counter("compiles");
    for (int i = 0; i < OPS; i++) x = xt_tanh(x);
    assert_int_equal(xt_counter("executions"), runs + OPS);
    assert_true(xt_counter("compiles") - compiles <= 2);
    double want = 1;
    for (int i = 0; i < OPS; i++) want = tanh(want);
    assert_true(fabs(xt_item(xt_slice(x, 0, 0, 1)) - want) < 1e-5);
    assert_true(xt_mark_step());
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_relu(xt_linear(m, "in", x, 64)), 10);
}

static double number_of(const cJSON *e, const char *key) {
    const cJSON *v = cJSON_GetObjectItem(e, key);
    if (!cJSON_IsNumber(v)) fail_msg("an event has no number \"%s\": %s", key, cJSON_PrintUnformatted(e));
    return v->valuedouble;
}

/* The rules of Chrome's trace format that viewers depend on: metadata has args.name; complete events have a name, whole
 * pid and tid, and times not below 0; on one thread they lie beside or inside each other, for a viewer draws nothing of
 * those that overlap in part. */
static void check_trace_format(const cJSON *events) {
    const cJSON *a, *b;
    assert_true(cJSON_IsArray(events));
    cJSON_ArrayForEach(a, events) {
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(a, "ph"));
        assert_non_null(kind);
        assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(a, "name")));
        assert_true(number_of(a, "pid") == floor(number_of(a, "pid")) &&
                    number_of(a, "tid") == floor(number_of(a, "tid")));
        if (strcmp(kind, "M") == 0) {
            assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(a, "args"), "name")));
            continue;
        }
        assert_string_equal(kind, "X");
        double begin = number_of(a, "ts"), end = begin + number_of(a, "dur");
        assert_true(begin >= 0 && end >= begin);
        for (b = a->next; b; b = b->next) {
            if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(b, "ph")), "X") != 0 ||
                number_of(b, "tid") != number_of(a, "tid"))
                continue;
            /* the file has nanoseconds, rounded */
            double from = number_of(b, "ts"), to = from + number_of(b, "dur"), eps = 0.002;
            bool apart = to <= begin + eps || from >= end - eps,
                 inside = (from >= begin - eps && to <= end + eps) || (begin >= from - eps && end <= to + eps);
            if (!apart && !inside)
                fail_msg("%s overlaps %s in part", cJSON_PrintUnformatted(a), cJSON_PrintUnformatted(b));
        }
    }
}

static void a_profile(void **state) {
    (void)state;
    char dir[] = "/tmp/xtrain_profile_XXXXXX", path[100], command[200];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/trace.json", dir);
    static float data[32 * 64];
    xt_module *m = xt_module_new(net, NULL);
    assert_null(xt_profile(path, .first = lazy_step() + 3, .steps = 2));
    xt_status second = xt_profile(path); /* one at a time */
    assert_non_null(second);
    xt_status_free(second);
    int line = 0;
    for (int i = 0; i < 8; i++) {
        xt_tensor x = xt_from_array(data, XT_F32, 32, 64), y = {0};
        xt_scope("my region") {
            line = __LINE__ + 1;
            y = xt_sum(xt_softmax(xt_forward(m, x), 1));
        }
        xt_when_ready(y, NULL, NULL);
        assert_true(xt_mark_step());
    }
    assert_true(xt_wait());
    char *text = NULL;
    size_t n;
    assert_null(file_read_all(path, &text, &n));
    cJSON *all = cJSON_Parse(text), *events = cJSON_GetObjectItem(all, "traceEvents");
    assert_non_null(events);
    int steps = 0, ops = 0, with_line = 0, scopes = 0, module = 0;
    cJSON *e;
    check_trace_format(events);
    cJSON_ArrayForEach(e, events) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(e, "name"));
        cJSON *args = cJSON_GetObjectItem(e, "args"), *tid = cJSON_GetObjectItem(e, "tid");
        if (!cJSON_GetObjectItem(e, "ts")) continue;
        assert_true(cJSON_GetObjectItem(e, "dur")->valuedouble >= 0);
        steps += strncmp(name, "step ", 5) == 0 && tid->valuedouble == 1;
        scopes += strcmp(name, "my region") == 0;
        if (tid->valuedouble != 12) continue;
        ops++;
        cJSON *at = cJSON_GetObjectItem(args, "line");
        with_line += at && at->valuedouble == line;
        module += cJSON_GetObjectItem(args, "module") &&
                  strstr(cJSON_GetStringValue(cJSON_GetObjectItem(args, "module")), "my region");
        assert_non_null(cJSON_GetObjectItem(args, "bytes"));
    }
    cJSON_Delete(all);
    base_free(text);
    assert_int_equal(steps, 2);
    assert_true(scopes >= 2);
    bool ours = !getenv("XT_DEVICE") || strcmp(getenv("XT_DEVICE"), "CPU") == 0;
    if (ours) {
        assert_true(ops >= 2 && with_line >= 2 && module >= 2);
        expect(said, "% of roofline");
        expect(said, "test_diag_debug_runs.c:");
    }
    /* the other form */
    snprintf(path, sizeof path, "%s/log", dir);
    assert_null(xt_profile(path, .steps = 1));
    for (int i = 0; i < 3; i++) {
        xt_when_ready(xt_sum(xt_forward(m, xt_from_array(data, XT_F32, 32, 64))), NULL, NULL);
        assert_true(xt_mark_step());
    }
    snprintf(command, sizeof command, "test -s %s/plugins/profile/*/*.xplane.pb", path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, fresh, nothing_left)
int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        CASE(the_first_nan),
        CASE(a_value_that_is_only_read),
        CASE(masks_are_no_suspects),
        CASE(a_bad_batch),
        CASE(logs_are_no_suspects),
        CASE(a_label_that_is_no_class),
        CASE(op_by_op),
        CASE(op_by_op_in_a_long_step),
        CASE(a_profile)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
