/* Memory that grows is told with the line that makes it grow, once; a normal run is never suspected; running out of
 * memory is explained and survived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "crash/crash.h"
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
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
    return 0;
}

static int times(const char *word) {
    int n = 0;
    for (const char *p = said; (p = strstr(p, word)); p++) n++;
    return n;
}

static void expect_line(int line) {
    char here[64];
    snprintf(here, sizeof here, "test_diag_growth.c:%d", line);
    if (!strstr(said, here)) fail_msg("no %s in: %s", here, said);
}

/* What is freed stays with a sanitizer for long, and the process grows by it. */
static int alarms(void) {
    int n = times("grow") + times("jump");
#ifdef __SANITIZE_ADDRESS__
    n -= times("grows: the process has");
#endif
    return n;
}

static xt_tensor numbers(void) {
    return xt_from_array(((float[4]){1, 2, 3, 4}), XT_F32, 4);
}

static xt_tensor twice(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_add(in[0], in[0]);
}

/* Results that the program may have listed are so many at most, and no leak. */
static void a_list(void **state) {
    (void)state;
    xt_step *f = xt_compile(twice);
    xt_tensor x = xt_keep(numbers());
    for (int i = 0; i < 20000; i++) (void)xt_call(f, x);
    assert_int_equal(alarms(), 0);
    xt_step_free(f);
    xt_drop(x);
    assert_true(xt_mark_step());
}

/* Forty functions in turn: none of them is called often enough for its calls to be a loop's. */
static void an_unended_loop(void **state) {
    (void)state;
    xt_step *f[40];
    for (int k = 0; k < 40; k++) f[k] = xt_compile(twice);
    for (int i = 0; i < 48 * 40; i++) xt_call(f[i % 40], numbers());
    for (int k = 0; k < 40; k++) xt_step_free(f[k]);
    assert_true(times("memory grows: ") >= 1);
    assert_true(times("xt_mark_step() at the end of the loop's body") >= 1);
    assert_int_equal(times("xt_drop"), 0);
    assert_true(xt_mark_step());
}

/* Four bytes a step. */
static void a_leak(void **state) {
    (void)state;
    enum { STEPS = 1900 };
    static xt_tensor kept[STEPS];
    int line = 0;
    for (int i = 0; i < STEPS; i++) {
        line = __LINE__ + 1;
        xt_tensor loss = xt_sum(numbers());
        kept[i] = xt_keep(loss);
        assert_true(xt_mark_step());
    }
    assert_int_equal(times("memory grows: "), 1);
    expect_line(line); /* made */
    expect_line(line + 1); /* kept */
    assert_int_equal(times(" buffers now, made at "), 1);
    assert_non_null(strstr(said, "[XT203]"));
    assert_non_null(strstr(said, "(1 a step"));
    for (int i = 0; i < STEPS; i++) xt_drop(kept[i]);
}

/* A window of the last 300 values, a validation every 400 steps that keeps nothing, a value told now and then. */
static void no_leak(void **state) {
    (void)state;
    enum { STEPS = 2400, WINDOW = 300 };
    static xt_tensor window[WINDOW];
    for (int i = 0; i < STEPS; i++) {
        if (i >= WINDOW) xt_drop(window[i % WINDOW]);
        window[i % WINDOW] = xt_keep(xt_sum(numbers()));
        assert_true(xt_mark_step());
        for (int v = 0; i % 400 == 399 && v < 20; v++) {
            xt_no_grad_begin();
            xt_when_ready(xt_mean(numbers()), NULL, NULL);
            assert_true(xt_mark_step());
            xt_no_grad_end();
        }
    }
    if (alarms()) fail_msg("a false alarm: %s", said);
    for (int i = 0; i < WINDOW; i++) xt_drop(window[i]);
}

static void programs(void **state) {
    (void)state;
    int line = 0;
    static float data[4096];
    setenv("XT_CACHE_ENTRIES", "8", 1);
    for (int i = 0; i < 1500; i++) {
        int64_t n = 10 + i / 90;
        line = __LINE__ + 1;
        xt_when_ready(xt_sum(xt_from_data(data, XT_F32, 1, &n)), NULL, NULL);
        assert_true(xt_mark_step());
    }
    unsetenv("XT_CACHE_ENTRIES");
    assert_int_equal(times("programs grow: "), 1);
    expect_line(line);
    assert_non_null(strstr(said, "shape") ? said : strstr(said, "became"));
}

/* The sum so far is computed again from the start in each step: the graph grows. */
static void graph(void **state) {
    (void)state;
    for (int i = 1; i < 14; i++) {
        xt_tensor y = numbers();
        for (int k = 0; k < i; k++) y = xt_exp(y);
        xt_when_ready(xt_sum(y), NULL, NULL);
        assert_true(xt_mark_step());
    }
    assert_int_equal(times("the graph grows: "), 1);
    assert_non_null(strstr(said, "[XT207]"));
    int now = 0, steps = 0, before = 0;
    const char *has = strstr(said, " has ");
    assert_int_equal(has ? sscanf(has, " has %d ops, %d steps before it had %d,", &now, &steps, &before) : 0, 3);
    if (before <= 0 || now - before != steps) fail_msg("each step has an op more, and not: %s", has); /* xt_exp */
}

static void objects(void **state) {
    (void)state;
    static float x[4];
    static xt_dataset *made[1700];
    xt_spec spec = {XT_F32, {1}};
    for (int i = 0; i < 1700; i++) {
        made[i] = xt_array_dataset(x, spec, x, spec, 4);
        assert_true(xt_mark_step());
    }
    assert_int_equal(times("live objects of kind dataset"), 1);
    for (int i = 0; i < 1700; i++) xt_dataset_free(made[i]);
}

static void a_jump(void **state) {
    (void)state;
    int line = 0;
    for (int i = 0; i < 70; i++) {
        int64_t n = i == 60 ? 2000000 : 200000;
        xt_tensor x = xt_full(1, XT_F32, n);
        xt_tensor y = xt_keep(xt_exp(xt_mul(x, xt_from_array(((float[1]){2}), XT_F32, 1))));
        line = __LINE__ + 1;
        assert_true(xt_mark_step());
        xt_drop(y);
    }
    assert_true(xt_wait());
    assert_int_equal(times("memory jumps: "), 1);
    assert_non_null(strstr(said, "step 60 "));
    expect_line(line);
}

static bool length(int64_t n) {
    xt_tensor x = xt_full(1, XT_F32, n), y = xt_keep(xt_exp(xt_mul(x, xt_from_array(((float[1]){2}), XT_F32, 1))));
    bool ok = xt_mark_step();
    xt_drop(y);
    return ok;
}

/* Sequences in buckets: each length has a program and needs what it needed before. A length nobody has seen is told. */
static void buckets(void **state) {
    (void)state;
    for (int i = 0; i < 120; i++) assert_true(length(i % 29 == 8 ? 2100000 : i % 3 ? 210000 : 150000));
    assert_true(xt_wait());
    if (times("jump")) fail_msg("a false alarm: %s", said);
    assert_true(length(4000000));
    assert_true(xt_wait());
    assert_int_equal(times("memory jumps: "), 1);
}

static bool our_device(void) {
    return !getenv("XT_DEVICE") || strcmp(getenv("XT_DEVICE"), "CPU") == 0;
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_relu(xt_linear(m, "in", x, 64)), 1);
}

/* After training, an evaluation with a loader of its own, whose first batches wait on the device beside what the
 * training's loader has read ahead. */
static void a_second_loader(void **state) {
    (void)state;
    enum { COUNT = 600, WIDTH = 4096 };
    float *x = calloc(COUNT, WIDTH * sizeof *x);
    assert_non_null(x);
    xt_spec spec = {XT_F32, {WIDTH}}, label = {XT_F32, {1}};
    xt_loader *train = xt_loader_new(xt_array_dataset(x, spec, x, label, COUNT), .batch = 8, .workers = 2);
    xt_loader *check = xt_loader_new(xt_array_dataset(x, spec, x, label, COUNT), .batch = 75);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 1e-3);
    for (int epoch = 0; epoch < 2; epoch++) {
        xt_train(m);
        for (xt_batch b; xt_next(train, &b);) {
            xt_backward(xt_mean(xt_square(xt_forward(m, b.x))));
            xt_optimizer_step(sgd);
        }
        xt_eval(m);
        xt_no_grad_begin();
        for (xt_batch b; xt_next(check, &b);) xt_when_ready(xt_mean(xt_square(xt_forward(m, b.x))), NULL, NULL);
        xt_no_grad_end();
    }
    assert_true(xt_wait());
    if (times("jump")) fail_msg("a false alarm: %s", said);
    xt_optimizer_free(sgd);
    xt_module_free(m);
    xt_loader_free(train);
    xt_loader_free(check);
    free(x);
}

static bool step(xt_module *m, xt_optimizer *opt, int64_t batch, const float *data, double *out_loss) {
    xt_tensor x = xt_from_data(data, XT_F32, 2, ((const int64_t[]){batch, 16}));
    xt_tensor loss = xt_mean(xt_square(xt_add_scalar(xt_forward(m, x), -1)));
    xt_backward(loss);
    xt_optimizer_step(opt);
    loss = xt_keep(loss);
    if (!xt_mark_step() || !xt_wait()) {
        xt_drop(loss);
        return false;
    }
    *out_loss = xt_item(loss);
    xt_drop(loss);
    return !xt_error();
}

/* After running out of memory the same process trains on with a smaller batch: parameters as they were, nothing leaked,
 * the report on disk. */
static void out_of_memory(void **state) {
    (void)state;
    if (!our_device()) skip(); /* only our device has a limit that can be set */
    enum { BIG = 120000, SMALL = 64 };
    char dir[] = "/tmp/xtrain_oom_XXXXXX", command[200];
    assert_non_null(mkdtemp(dir));
    float *data = calloc(BIG * 16, sizeof *data);
    for (int i = 0; i < BIG * 16; i++) data[i] = (float)(i % 7) / 7;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.05);
    double first = 0, after = 0, loss = 0;
    for (int i = 0; i < 5; i++) assert_true(step(m, opt, SMALL, data, i ? &loss : &first));
    float before[64], now[64];
    xt_tensor bias = xt_module_find(m, "in.bias");
    assert_true(xt_read(bias, before, sizeof before));
    int64_t buffers = xt_live_objects("buffer"), tensors = xt_live_objects("tensor");
    assert_false(step(m, opt, BIG, data, &loss));
    assert_int_equal(xt_status_code(xt_error()), XT_RESOURCE_EXHAUSTED);
    const char *text = xt_status_message(xt_error());
    assert_non_null(strstr(text, "test_diag_growth.c:"));
    assert_non_null(strstr(text, "what helps: "));
    assert_string_equal(xt_status_id(xt_error()), "XT201");
    assert_non_null(strstr(said, "the report is in "));
    xt_clear_error();
    assert_true(xt_read(bias, now, sizeof now));
    assert_memory_equal(before, now, sizeof before);
    for (int i = 0; i < 20; i++) assert_true(step(m, opt, SMALL, data, &after));
    assert_true(after < first);
    assert_int_equal(xt_live_objects("buffer"), buffers);
    assert_int_equal(xt_live_objects("tensor"), tensors);
    free(data);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

static void report(void **state) {
    (void)state;
    xt_tensor a = xt_keep(xt_from_array(((float[4]){1, 2, 3, 4}), XT_F32, 4));
    int line = __LINE__ - 1;
    xt_when_ready(xt_sum(a), NULL, NULL);
    assert_true(xt_wait());
    xt_memory_report();
    expect_line(line);
    assert_non_null(strstr(said, "peak "));
    assert_non_null(strstr(said, "made a step"));
    xt_memory_info m = xt_memory();
    assert_true(m.live_bytes >= 16 && m.live_buffers >= 1 && m.peak_bytes >= 16 && m.bytes_per_step > 0);
    if (our_device()) assert_true(m.reserved_bytes >= m.live_bytes && m.limit_bytes > 0);
    xt_drop(a);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, fresh, nothing_left)
int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_MEMORY_LIMIT", "24M", 1); /* read when the device is opened */
    const struct CMUnitTest tests[] = {
        CASE(a_leak),
        CASE(a_list),
        CASE(an_unended_loop),
        CASE(no_leak),
        CASE(programs),
        CASE(graph),
        CASE(objects),
        CASE(a_jump),
        CASE(buckets),
        CASE(a_second_loader),
        CASE(out_of_memory),
        CASE(report)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
