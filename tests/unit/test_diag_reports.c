/* Each cause of a compile, provoked on purpose: the event names the kind, the line and what to do; what every run needs
 * is labelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "diag/diag.h"
#include <xtrain/xtrain.h>

#include "said.h"

typedef struct seen {
    lazy_why why;
    lazy_cause cause;
    lazy_program_source source;
    int line;
    char reason[1024], advice[256], expected[64];
    lazy_event e;
} seen;
static seen last;
static int n_new;

static void on_event(void *user, const lazy_event *e) {
    (void)user;
    if (e->source == LAZY_FROM_MEMORY) return;
    n_new++;
    last = (seen){.why = e->why, .cause = e->cause, .source = e->source, .line = src_get(e->src)->line, .e = *e};
    snprintf(last.reason, sizeof last.reason, "%s", e->reason);
    snprintf(last.advice, sizeof last.advice, "%s", e->advice);
    snprintf(last.expected, sizeof last.expected, "%s", e->expected ? e->expected : "");
}

static int fresh(void **state) {
    (void)state;
    n_new = 0;
    said[0] = 0;
    memset(&last, 0, sizeof last);
    xt_set_sink(sink, NULL);
    return 0;
}

static int nothing_left(void **state) {
    (void)state;
    xt_set_sink(NULL, NULL);
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
    return 0;
}

static void expect(lazy_why why, const char *text, int line) {
    char here[64];
    if (last.why != why) fail_msg("%s instead of %s: %s", lazy_why_name(last.why), lazy_why_name(why), last.reason);
    if (!strstr(last.reason, text)) fail_msg("no '%s' in: %s", text, last.reason);
    snprintf(here, sizeof here, "test_diag_reports.c:%d", line);
    if (line && !strstr(last.reason, here)) fail_msg("no %s in: %s", here, last.reason);
}

static xt_tensor rows(int64_t n) {
    static const float data[64] = {1, 2, 3, 4};
    return xt_from_data(data, XT_F32, 2, ((const int64_t[]){n, 4}));
}

static void first_and_known(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        xt_when_ready(xt_sum(rows(4)), NULL, NULL);
        assert_true(xt_mark_step());
    }
    assert_int_equal(n_new, 1);
    assert_int_equal(last.why, LAZY_WHY_FIRST);
    assert_string_equal(last.expected, "first program");
    assert_true(last.e.lower_ns > 0 && last.e.compile_ns > 0 && last.e.hash_ns > 0 && last.e.rss_before > 0 &&
                last.e.device_before > 0);
    assert_int_equal(last.e.program, 1);
}

/* Our plugin says how long each phase of compiling took; together they are within what the client measured. */
static void phases_of_compiling(void **state) {
    (void)state;
    xt_when_ready(xt_sum(xt_exp(rows(4))), NULL, NULL);
    assert_true(xt_mark_step());
    if (env_get("XT_DEVICE")) skip(); /* other plugins do not say */
    static const char *const names[] = {"read",    "verify", "passes",   "inline", "layout",
                                        "kernels", "oneDNN", "schedule", "buffers"};
    double sum = 0;
    assert_int_equal(last.e.n_phases, BASE_COUNT(names));
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        assert_string_equal(last.e.phases[i].name, names[i]);
        assert_true(last.e.phases[i].seconds >= 0);
        sum += last.e.phases[i].seconds;
    }
    assert_true(sum > 0 && sum < (double)last.e.compile_ns / 1e9);
    xt_metrics_report();
    assert_non_null(strstr(said, "compiling, by the plugin's phases"));
    assert_non_null(strstr(said, "  kernels "));
    xt_cost_summary();
    assert_non_null(strstr(said, "\n  compiling   "));
    assert_non_null(strstr(said, " compiling took "));
}

/* The summary has the first two epochs and the last three, with what compiling took of each. */
static void epochs_in_the_summary(void **state) {
    (void)state;
    diag_forget_epochs();
    for (int k = 1; k <= 7; k++)
        diag_note_epoch(&(diag_epoch){.seconds = 2,
                                      .compile_ms = k == 1 ? 500 : k,
                                      .idle_share = 0.25,
                                      .peak_mib = k,
                                      .compiles = k == 1 ? 2 : 0});
    xt_when_ready(xt_sum(rows(4)), NULL, NULL);
    assert_true(xt_mark_step());
    xt_cost_summary();
    assert_non_null(strstr(said,
                           "  epoch 1     2 compiled, 500.0 ms = 25.0 % of 2.00 s; device idle 25 %, peak 1.0 MiB\n"
                           "  epoch 2     0 compiled, 2.0 ms"));
    assert_non_null(strstr(said, "  ...\n  epoch 5     0 compiled, 5.0 ms = 0.2 %"));
    assert_non_null(strstr(said, "\n  epoch 7 "));
    assert_null(strstr(said, "epoch 3 "));
    assert_null(strstr(said, "epoch 4 "));
    diag_forget_epochs();
}

static void shape_change(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 2; i++) {
        line = __LINE__ + 1;
        xt_tensor x = i ? xt_from_data((float[12]){0}, XT_F32, 2, ((const int64_t[]){3, 4})) : rows(4);
        xt_when_ready(xt_sum(xt_mul(x, x)), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_SHAPE, "[4,4]", line);
    assert_non_null(strstr(last.reason, "became [3,4]"));
    assert_true(last.advice[0] != 0);
    assert_string_equal(last.expected, "");
}

static void last_batch(void **state) {
    (void)state;
    float x[10][2] = {{0}};
    xt_spec spec = {XT_F32, {2}};
    xt_loader *l = xt_loader_new(xt_array_dataset(x, spec, x, spec, 10), .batch = 4, .drop_last = XT_OFF);
    int line = 0;
    xt_batch b;
    for (;;) {
        line = __LINE__ + 1;
        if (!xt_next(l, &b)) break;
        xt_when_ready(xt_sum(b.x), NULL, NULL);
    }
    expect(LAZY_WHY_SHAPE, "batch [4,2] became [2,2]", line);
    assert_non_null(strstr(last.advice, "last batch of the epoch"));
    assert_int_equal(last.cause, LAZY_LOADER);
    assert_int_equal(last.line, line);
}

static void dtype_change(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        int32_t ints[4] = {0};
        float floats[4] = {0};
        xt_tensor x = i ? xt_from_array(ints, XT_I32, 4) : xt_from_array(floats, XT_F32, 4);
        xt_when_ready(xt_add(x, x), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_DTYPE, "f32[4]", 0);
    assert_non_null(strstr(last.reason, "i32[4]"));
}

/* Casts inside of the step: another one at the same line, and one more before what follows. */
static void cast_change(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 2; i++) {
        line = __LINE__ + 1;
        xt_when_ready(xt_exp(xt_cast(rows(4), i ? XT_BF16 : XT_F16)), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_DTYPE, "convert f16[4,4] became bf16[4,4] at ", line);
    for (int i = 0; i < 2; i++) {
        xt_tensor x = rows(8);
        line = __LINE__ + 1;
        if (i) x = xt_cast(x, XT_F16);
        xt_when_ready(xt_sum(x), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_DTYPE, "convert f16[8,4] at ", line);
}

static void scalar_constant(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 2; i++) {
        line = __LINE__ + 1;
        xt_when_ready(xt_mul_scalar(rows(4), i ? 0.25 : 1), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_CONSTANT, "changed from 1 to 0.25", line);
}

static void constant_in_the_graph(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 2; i++) {
        line = __LINE__ + 1;
        xt_when_ready(xt_add(rows(4), xt_full(i ? 7 : 5, XT_F32, 4)), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_CONSTANT, "5", line);
    assert_non_null(strstr(last.reason, "7"));
}

static void attribute_change(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 2; i++) {
        line = __LINE__ + 1;
        xt_when_ready(xt_slice(rows(4), 0, i, i + 2), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_OPS, "slice", line);
    assert_non_null(strstr(last.reason, "became"));
    for (int i = 0; i < 2; i++) { /* the axis is the cause, not the shape that follows from it */
        line = __LINE__ + 1;
        xt_when_ready(xt_sum_axis(xt_tanh(rows(3)), i), NULL, NULL);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_OPS, "reduce [4] {dimensions = array<i64: 0>} became [3] {dimensions = array<i64: 1>} at ", line);
}

static void print_under_an_if(void **state) {
    (void)state;
    int line = 0;
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        xt_tensor y = xt_sum(rows(4));
        xt_when_ready(xt_mul_scalar(y, 2), NULL, NULL);
        line = __LINE__ + 1;
        if (i) xt_master_printf("# y %t\n", y);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_PRINT, "xt_master_printf", line);
}

static void kept_and_dropped(void **state) {
    (void)state;
    int line = 0;
    xt_tensor kept[3];
    for (int i = 0; i < 3; i++) {
        line = __LINE__ + 1;
        xt_tensor y = xt_sum(rows(4));
        xt_when_ready(xt_mul_scalar(y, 3), NULL, NULL);
        if (i == 1) kept[i] = xt_keep(y);
        assert_true(xt_mark_step());
        if (i == 1) expect(LAZY_WHY_NEW_VALUE, "xt_keep", line);
    }
    xt_drop(kept[1]);
    n_new = 0;
    for (int i = 0; i < 2; i++) { /* the other way round */
        line = __LINE__ + 1;
        xt_tensor y = xt_mean(rows(4));
        xt_when_ready(xt_mul_scalar(y, 3), NULL, NULL);
        if (i == 0) kept[0] = xt_keep(y);
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_LOST_VALUE, "xt_keep", line);
    xt_drop(kept[0]);
}

static void flag_change(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 2; i++) {
        line = __LINE__ + 1;
        if (i) xt_autocast_begin(XT_BF16);
        xt_when_ready(xt_matmul(rows(4), rows(4)), NULL, NULL);
        if (i) xt_autocast_end();
        assert_true(xt_mark_step());
    }
    expect(LAZY_WHY_FLAG, "autocast is bf16 instead of off", line);
    for (int i = 0; i < 2; i++) {
        if (i) xt_no_grad_begin();
        xt_tensor mean = xt_mean(xt_exp(xt_requires_grad(rows(4), true)));
        xt_when_ready(mean, NULL, NULL);
        if (i)
            xt_when_ready(xt_sum(rows(4)), NULL, NULL);
        else
            xt_backward(mean);
        assert_true(xt_mark_step());
        if (i) xt_no_grad_end();
    }
    expect(LAZY_WHY_FLAG, "xt_no_grad is on", 0);
    assert_string_equal(last.expected, "first evaluation");
}

static void value_read(void **state) {
    (void)state;
    xt_tensor y = xt_sum(rows(4));
    int line = __LINE__ + 1;
    xt_item(y);
    expect(LAZY_WHY_READ, "xt_item", line);
    assert_non_null(strstr(last.advice, "xt_when_ready"));
    assert_int_equal(last.cause, LAZY_ITEM);
    assert_true(xt_mark_step());
}

static xt_tensor line_net(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_linear(m, "fc", x, 1);
}

static void checkpoint(void **state) {
    (void)state;
    xt_module *net = xt_module_new(line_net, NULL);
    xt_when_ready(xt_sum(xt_forward(net, rows(4))), NULL, NULL);
    char path[64];
    snprintf(path, sizeof path, "/tmp/xtrain_reports_%d.safetensors", (int)getpid());
    int line = __LINE__ + 1;
    assert_null(xt_save(net, path));
    assert_int_equal(last.cause, LAZY_CHECKPOINT);
    assert_int_equal(last.line, line);
    assert_non_null(strstr(src_get(last.e.src)->file, "test_diag_reports.c"));
    unlink(path);
}

static void explicit_sync(void **state) {
    (void)state;
    xt_when_ready(xt_sum(rows(4)), NULL, NULL);
    int line = __LINE__ + 1;
    assert_true(xt_wait());
    assert_int_equal(last.cause, LAZY_WAIT);
    assert_int_equal(last.line, line);
}

static void evicted(void **state) {
    (void)state;
    setenv("XT_CACHE_ENTRIES", "2", 1);
    for (int i = 0; i < 4; i++) {
        xt_when_ready(xt_sum(rows(i % 3 + 1)), NULL, NULL);
        assert_true(xt_mark_step());
    }
    unsetenv("XT_CACHE_ENTRIES");
    expect(LAZY_WHY_EVICTED, "dropped", 0);
    assert_non_null(strstr(last.advice, "XT_CACHE_ENTRIES"));
}

static void the_report(void **state) {
    (void)state;
    setenv("XT_DEBUG", "compile,exec", 1);
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_sum(xt_exp(rows(i ? 3 : 4))), NULL, NULL);
        assert_true(xt_mark_step());
    }
    unsetenv("XT_DEBUG");
    assert_non_null(strstr(said, "compile "));
    assert_non_null(strstr(said, "(expected: first program)"));
    assert_non_null(strstr(said, "| why: shape change: "));
    assert_non_null(strstr(said, " ops, 1 inputs, 1 outputs | hash "));
    assert_non_null(strstr(said, "not in memory, not on disk"));
    assert_non_null(strstr(said, "execution "));
}

/* A sink is the user's: what it computes itself is a step like any other. */
static int steps_in_the_sink;
static void stepping_sink(xt_severity sev, const char *text, size_t n, void *user) {
    static bool busy;
    if (!busy) {
        busy = true;
        if (xt_item(xt_sum(rows(7))) == xt_item(xt_sum(rows(7)))) steps_in_the_sink++;
        busy = false;
    }
    sink(sev, text, n, user);
}

static void a_sink_may_step(void **state) {
    (void)state;
    setenv("XT_DEBUG", "compile,exec", 1);
    xt_set_sink(stepping_sink, NULL);
    alarm(60); /* waited for itself */
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_sum(xt_exp(rows(i ? 5 : 6))), NULL, NULL);
        assert_true(xt_mark_step());
    }
    alarm(0);
    unsetenv("XT_DEBUG");
    assert_true(steps_in_the_sink >= 2);
    assert_non_null(strstr(said, "execution "));
}

static xt_tensor one_unit(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}

/* Without XT_DEBUG: a line of the loop that reads in each step is named, once; one that read once is not, nor are
 * further lines. */
static void the_first_early_read(void **state) {
    (void)state;
    static const char words[] = " reads a value before its step has ended, in each step anew";
    xt_module *m = xt_module_new(one_unit, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01);
    int line = 0;
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, rows(4))));
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (i == 1) sum += xt_item(loss);
        if (i == 2) assert_null(strstr(said, words));
        if (i > 2) line = __LINE__, sum += xt_item(loss);
        if (i > 3) sum += xt_item(xt_exp(loss));
        assert_true(xt_mark_step());
    }
    char want[200];
    snprintf(want, sizeof want, "%s:%d%s", __FILE__, line, words);
    const char *first = strstr(said, want);
    if (!first) fail_msg("no \"%s\" in:\n%s", want, said);
    assert_null(strstr(first + strlen(want), words));
    assert_true(sum > 0);
    xt_optimizer_free(sgd);
    xt_module_free(m);
}

static void advice_on_workers(void **state) {
    (void)state;
    str t = STR_INIT;
    int64_t steps = counter_get(COUNTER_optimizer_steps);
    counter_max(COUNTER_loader_workers, 1);
    counter_add(COUNTER_loader_wait_ns, 100000000000);
    counter_add(COUNTER_optimizer_steps, -steps);
    diag_summary(&t);
    assert_null(strstr(str_cstr(&t), "workers")); /* a program that only reads waits for nothing else */
    counter_add(COUNTER_optimizer_steps, steps + 1);
    diag_summary(&t);
    assert_non_null(strstr(str_cstr(&t), " workers instead of "));
    assert_non_null(strstr(str_cstr(&t), " (the loader's .workers)")); /* --workers is the command's */
    assert_null(strstr(str_cstr(&t), "--workers"));
    counter_add(COUNTER_loader_wait_ns, -100000000000);
    str_free(&t);
}

static void a_limit(void **state) {
    (void)state;
    char text[24];
    for (int i = 0; i < 2; i++) {
        xt_when_ready(xt_sum(rows(i + 1)), NULL, NULL);
        int line = __LINE__ + 1;
        bool ok = xt_mark_step();
        assert_true(ok == (i == 0));
        if (i) {
            assert_int_equal(xt_status_code(xt_error()), XT_FAILED_PRECONDITION);
            assert_non_null(strstr(xt_status_message(xt_error()), "shape change: "));
            char here[64];
            snprintf(here, sizeof here, "test_diag_reports.c:%d: ", line);
            assert_non_null(strstr(xt_status_message(xt_error()), here));
        }
        snprintf(text, sizeof text, "%lld", (long long)xt_counter("compiles"));
        setenv("XT_MAX_COMPILES", text, 1);
    }
    unsetenv("XT_MAX_COMPILES");
    xt_clear_error();
}

#define CAUSE(f) cmocka_unit_test_setup_teardown(f, fresh, nothing_left)
int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    lazy_on_event(on_event, NULL);
    const struct CMUnitTest tests[] = {CAUSE(first_and_known),
                                       CAUSE(phases_of_compiling),
                                       CAUSE(epochs_in_the_summary),
                                       CAUSE(shape_change),
                                       CAUSE(last_batch),
                                       CAUSE(dtype_change),
                                       CAUSE(cast_change),
                                       CAUSE(scalar_constant),
                                       CAUSE(constant_in_the_graph),
                                       CAUSE(attribute_change),
                                       CAUSE(print_under_an_if),
                                       CAUSE(kept_and_dropped),
                                       CAUSE(flag_change),
                                       CAUSE(value_read),
                                       CAUSE(checkpoint),
                                       CAUSE(explicit_sync),
                                       CAUSE(evicted),
                                       CAUSE(the_report),
                                       CAUSE(a_sink_may_step),
                                       CAUSE(the_first_early_read),
                                       CAUSE(advice_on_workers),
                                       CAUSE(a_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
