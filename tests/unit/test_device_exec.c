/* The client against a plugin: compile, run, donate, keep, read, serialise, and the errors on the way. The same tests
 * run on every plugin. */
#include "device_plugins.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const char axpy[] =
    "module @axpy {\n"
    "  func.func public @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {\n"
    "    %0 = stablehlo.multiply %a, %b : tensor<2x3xf32>\n"
    "    %1 = stablehlo.add %0, %b : tensor<2x3xf32>\n"
    "    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    "    return %1, %2 : tensor<2x3xf32>, tensor<3x2xf32>\n"
    "  }\n"
    "}\n";
static const char step[] =
    "module @step {\n"
    "  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.subtract %w, %g : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";

static const int64_t dims23[] = {2, 3}, dims4[] = {4};

static device_exec *compile(const char *text) {
    device_exec *e = NULL;
    assert_ok(device_compile(client, text, strlen(text), NULL, &e));
    return e;
}

static device_buffer *upload4(const float v[4]) {
    device_buffer *b = NULL;
    assert_ok(device_upload(client, XT_F32, 1, dims4, v, &b));
    return b;
}

static void expect4(device_buffer *b, float a, float c, float d, float e) {
    float got[4], want[] = {a, c, d, e};
    assert_ok(device_read(b, got, sizeof got));
    assert_memory_equal(got, want, sizeof got);
}

static void test_info(void **state) {
    (void)state;
    const device_info *i = device_get_info(client);
    assert_true(i->platform[0] && i->platform_version[0] && i->device_kind[0] && i->build_id[0]);
    assert_int_equal(i->api_major, 0);
    assert_true(i->api_minor >= 57);
    assert_true(i->stablehlo[0] >= 1);
    assert_true(i->n_devices >= i->n_addressable && i->n_addressable >= 1);
}

static void test_run(void **state) {
    (void)state;
    device_exec *e = compile(axpy);
    assert_int_equal(device_exec_outputs(e), 2);
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60};
    device_buffer *in[2], *out[2];
    int64_t uploads = xt_live_objects("buffer"), counted = counter_get(COUNTER_uploads),
            bytes = counter_get(COUNTER_upload_bytes);
    assert_ok(device_upload(client, XT_F32, 2, dims23, a, &in[0]));
    assert_ok(device_upload(client, XT_F32, 2, dims23, b, &in[1]));
    assert_int_equal(xt_live_objects("buffer"), uploads + 2);
    assert_int_equal(counter_get(COUNTER_uploads), counted + 2);
    assert_int_equal(counter_get(COUNTER_upload_bytes), bytes + 48);
    assert_ok(device_execute(e, 2, in, NULL, out, NULL, NULL));
    assert_int_equal(device_buffer_dtype(out[1]), XT_F32);
    assert_int_equal(device_buffer_rank(out[1]), 2);
    assert_int_equal(device_buffer_dims(out[1])[0], 3);
    assert_int_equal(device_buffer_bytes(out[1]), 24);
    float got[6];
    const float plain[] = {20, 60, 120, 200, 300, 420}, turned[] = {20, 200, 60, 300, 120, 420};
    int64_t reads = counter_get(COUNTER_host_reads);
    assert_ok(device_read(out[0], got, sizeof got));
    assert_memory_equal(got, plain, sizeof got);
    assert_ok(device_read(out[1], got, sizeof got)); /* row-major, whatever layout the device chose */
    assert_memory_equal(got, turned, sizeof got);
    assert_int_equal(counter_get(COUNTER_host_reads), reads + 2);
    assert_false(device_buffer_deleted(in[0]));
    assert_fails(device_read(out[0], got, 8), XT_INVALID_ARGUMENT, "24 bytes");
    for (int i = 0; i < 2; i++) device_buffer_release(in[i]), device_buffer_release(out[i]);
    device_exec_release(e);
}

static void test_donation(void **state) {
    (void)state;
    device_exec *e = compile(step);
    int64_t bytes = counter_get(COUNTER_device_bytes);
    device_buffer *w = upload4((float[]){10, 20, 30, 40}), *g = upload4((float[]){1, 2, 3, 4}), *out;
    assert_ok(device_execute(e, 2, (device_buffer *[]){w, g}, NULL, &out, NULL, NULL));
    assert_true(device_buffer_deleted(w));
    assert_false(device_buffer_deleted(g));
    assert_int_equal(counter_get(COUNTER_device_bytes), bytes + 32);
    expect4(out, 9, 18, 27, 36);
    float got[4];
    assert_fails(device_read(w, got, sizeof got), XT_FAILED_PRECONDITION, "donated");
    device_buffer *again;
    assert_fails(device_execute(e, 2, (device_buffer *[]){w, g}, NULL, &again, NULL, NULL), XT_FAILED_PRECONDITION,
                 "input 0");
    device_buffer_release(w);
    /* kept: the input survives and the result is the same */
    assert_ok(device_execute(e, 2, (device_buffer *[]){out, g}, (const bool[]){true, false}, &again, NULL, NULL));
    assert_false(device_buffer_deleted(out));
    expect4(out, 9, 18, 27, 36);
    expect4(again, 8, 16, 24, 32);
    device_buffer_release(out), device_buffer_release(again), device_buffer_release(g);
    device_exec_release(e);
    assert_int_equal(counter_get(COUNTER_device_bytes), bytes);
}

/* Outputs feed the next call at once; completion callbacks come one per execution and in order. */
typedef struct chain {
    pthread_mutex_t lock;
    int done;
    int64_t last_ns;
    bool ordered;
} chain;

static void chain_done(void *user, xt_status error, int64_t finished_ns) {
    chain *c = user;
    pthread_mutex_lock(&c->lock);
    c->done++;
    if (error || finished_ns < c->last_ns) c->ordered = false;
    c->last_ns = finished_ns;
    pthread_mutex_unlock(&c->lock);
    xt_status_free(error);
}

static bool wait_for(chain *c, int n) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&c->lock);
        bool there = c->done >= n;
        pthread_mutex_unlock(&c->lock);
        if (there) return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static void test_chain(void **state) {
    (void)state;
    enum { STEPS = 100 };
    chain c = {.lock = PTHREAD_MUTEX_INITIALIZER, .ordered = true};
    device_exec *e = compile(step);
    device_buffer *w = upload4((float[]){1000, 2000, 3000, 4000}), *g = upload4((float[]){1, 2, 3, 4});
    for (int i = 0; i < STEPS; i++) {
        device_buffer *next;
        assert_ok(device_execute(e, 2, (device_buffer *[]){w, g}, NULL, &next, chain_done, &c));
        device_buffer_release(w);
        w = next;
    }
    assert_ok(device_buffer_wait(w));
    expect4(w, 900, 1800, 2700, 3600);
    assert_true(wait_for(&c, STEPS));
    assert_int_equal(c.done, STEPS);
    assert_true(c.ordered);
    device_buffer_release(w), device_buffer_release(g);
    device_exec_release(e);
}

static void read_arrived(void *user, xt_status error) {
    atomic_int *n = user;
    atomic_fetch_add(n, error ? 100 : 1);
    xt_status_free(error);
}

static void test_read_async(void **state) {
    (void)state;
    atomic_int arrived = 0;
    float got[8][4];
    device_exec *e = compile(step);
    device_buffer *g = upload4((float[]){1, 1, 1, 1});
    for (int i = 0; i < 8; i++) {
        device_buffer *w = upload4((float[]){(float)i, 0, 0, 0}), *out;
        assert_ok(device_execute(e, 2, (device_buffer *[]){w, g}, NULL, &out, NULL, NULL));
        assert_ok(device_read_async(out, got[i], sizeof got[i], read_arrived, &arrived));
        device_buffer_release(w), device_buffer_release(out); /* the read holds it */
    }
    for (int i = 0; i < 2000 && atomic_load(&arrived) < 8; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&arrived), 8);
    for (int i = 0; i < 8; i++) assert_true(got[i][0] == (float)i - 1 && got[i][3] == -1);
    device_buffer_release(g);
    device_exec_release(e);
}

static void test_types(void **state) {
    (void)state;
    /* scalars, empty arrays, booleans and wide integers survive the way there and back */
    double d = 3.25, d_back = 0;
    device_buffer *b;
    assert_ok(device_upload(client, XT_F64, 0, NULL, &d, &b));
    assert_ok(device_read(b, &d_back, sizeof d_back));
    assert_true(d == d_back);
    device_buffer_release(b);
    bool flags[] = {true, false, true}, flags_back[3];
    assert_ok(device_upload(client, XT_BOOL, 1, (int64_t[]){3}, flags, &b));
    assert_ok(device_read(b, flags_back, sizeof flags_back));
    assert_memory_equal(flags, flags_back, sizeof flags);
    device_buffer_release(b);
    assert_ok(device_upload(client, XT_I64, 2, (int64_t[]){0, 7}, NULL, &b));
    assert_int_equal(device_buffer_bytes(b), 0);
    assert_ok(device_read(b, NULL, 0));
    device_buffer_release(b);
    assert_fails(device_upload(client, XT_DTYPE_NONE, 0, NULL, &d, &b), XT_INVALID_ARGUMENT, "no array type");
    assert_fails(device_upload(client, XT_F32, 1, (int64_t[]){-1}, &d, &b), XT_INVALID_ARGUMENT, NULL);
    assert_fails(device_upload(client, XT_F32, 2, (int64_t[]){INT64_MAX, 8}, &d, &b), XT_INVALID_ARGUMENT, NULL);
}

static void test_compile_errors(void **state) {
    (void)state;
    device_exec *e = NULL;
    xt_status s = device_compile(client, "not a program", 13, NULL, &e);
    assert_non_null(s);
    assert_null(e);
    assert_non_null(strstr(xt_status_message(s), "compiling"));
    xt_status_free(s);
    assert_fails(device_compile(client, step, strlen(step), &(device_compile_opts){.num_replicas = 2}, &e),
                 XT_INVALID_ARGUMENT, "2 processes");
}

static void test_serialize(void **state) {
    (void)state;
    device_exec *e = compile(axpy), *copy = NULL;
    char *data;
    size_t n;
    xt_status s = device_serialize(e, &data, &n);
    if (xt_status_code(s) == XT_UNIMPLEMENTED) {
        xt_status_free(s);
        device_exec_release(e);
        skip();
    }
    assert_ok(s);
    device_exec_release(e);
    assert_ok(device_deserialize(client, data, n, &copy));
    base_free(data);
    const float a[] = {1, 2, 3, 4, 5, 6};
    device_buffer *in, *out[2];
    assert_ok(device_upload(client, XT_F32, 2, dims23, a, &in));
    assert_ok(device_execute(copy, 2, (device_buffer *[]){in, in}, NULL, out, NULL, NULL));
    float got[6];
    const float want[] = {2, 6, 12, 20, 30, 42};
    assert_ok(device_read(out[0], got, sizeof got));
    assert_memory_equal(got, want, sizeof got);
    device_buffer_release(in), device_buffer_release(out[0]), device_buffer_release(out[1]);
    device_exec_release(copy);
}

static void test_stats(void **state) {
    (void)state;
    device_exec *e = compile(axpy);
    device_exec_stats s;
    device_exec_get_stats(e, &s);
    assert_true(s.argument_bytes == 48 || s.argument_bytes == -1);
    assert_true(s.output_bytes >= 48 || s.output_bytes == -1); /* XLA counts the tuple's table of pointers too */
    assert_true(s.flops == -1 || s.flops >= 12);
    device_memory m;
    assert_ok(device_memory_stats(client, &m));
    assert_true(m.in_use >= -1 && m.peak >= -1);
    device_exec_release(e);
}

static void test_early_close(void **state) {
    (void)state;
    /* A client whose buffers and programs outlive device_close is destroyed with the last of them. */
    device_client *second;
    assert_ok(device_open(&(device_open_opts){.spec = device_get_info(client)->plugin_path}, &second));
    int64_t clients = xt_live_objects("client");
    device_exec *e;
    device_buffer *b, *out;
    assert_ok(device_compile(second, step, strlen(step), NULL, &e));
    assert_ok(device_upload(second, XT_F32, 1, dims4, (float[]){4, 3, 2, 1}, &b));
    device_buffer *foreign = upload4((float[]){1, 1, 1, 1});
    assert_fails(device_execute(e, 2, (device_buffer *[]){b, foreign}, NULL, &out, NULL, NULL), XT_INVALID_ARGUMENT,
                 "a device that was closed since");
    device_buffer_release(foreign);
    device_close(second);
    assert_int_equal(xt_live_objects("client"), clients);
    assert_ok(device_execute(e, 2, (device_buffer *[]){b, b}, (const bool[]){true, true}, &out, NULL, NULL));
    expect4(out, 0, 0, 0, 0);
    device_buffer_release(out), device_buffer_release(b);
    device_exec_release(e);
    assert_int_equal(xt_live_objects("client"), clients - 1);
}

/* One step with any call allowed to fail; what was made is given back. */
static xt_status try_step(device_exec *e, float got[4], chain *c, int *expected) {
    device_buffer *w = NULL, *g = NULL, *out = NULL;
    xt_status s = device_upload(client, XT_F32, 1, dims4, (float[]){4, 4, 4, 4}, &w);
    if (!s) s = device_upload(client, XT_F32, 1, dims4, (float[]){1, 2, 3, 4}, &g);
    if (!s) s = device_execute(e, 2, (device_buffer *[]){w, g}, NULL, &out, chain_done, c);
    if (!s) ++*expected;
    if (!s) s = device_read(out, got, 16);
    device_buffer_release(w), device_buffer_release(g), device_buffer_release(out);
    return s;
}

static void test_out_of_memory(void **state) {
    (void)state;
    device_exec *e = compile(step);
    chain c = {.lock = PTHREAD_MUTEX_INITIALIZER, .ordered = true};
    int64_t buffers = xt_live_objects("buffer"), bytes = counter_get(COUNTER_device_bytes);
    int failures = 0, expected = 0;
    for (int n = 0; n < 12; n++) { /* a step makes fewer allocations than that on this side of the boundary */
        float got[4] = {0};
        base_fail_alloc_after(n);
        xt_status s = try_step(e, got, &c, &expected);
        base_fail_alloc_after(-1);
        if (s)
            assert_int_equal(xt_status_code(s), XT_RESOURCE_EXHAUSTED);
        else
            assert_true(got[0] == 3 && got[3] == 0);
        failures += s != NULL;
        xt_status_free(s);
        assert_int_equal(xt_live_objects("buffer"), buffers);
        assert_int_equal(counter_get(COUNTER_device_bytes), bytes);
    }
    assert_in_range(failures, 4, 11);
    assert_true(wait_for(&c, expected));
    device_exec_release(e);
}

static xt_status no_kv_get(void *user, const char *key, size_t n, int timeout_ms, char **value, size_t *value_size) {
    (void)user, (void)key, (void)n, (void)timeout_ms, (void)value, (void)value_size;
    return status_new(XT_DEADLINE_EXCEEDED, NULL, "nobody answers");
}
static xt_status no_kv_put(void *user, const char *key, size_t n, const char *value, size_t value_size) {
    (void)user, (void)key, (void)n, (void)value, (void)value_size;
    return NULL;
}

/* A client of two processes whose other process never comes is an error, and so is asking a plugin that cannot join. */
static void test_not_joining(void **state) {
    (void)state;
    const device_info *i = device_get_info(client);
    device_kv kv = {.get = no_kv_get, .put = no_kv_put};
    device_client *c;
    assert_fails(device_open(&(device_open_opts){.spec = i->plugin_path, .n_nodes = 2, .node_id = 1, .kv = &kv}, &c),
                 strcmp(i->platform, "xtrain_cpu") == 0 ? XT_DEADLINE_EXCEEDED : XT_FAILED_PRECONDITION,
                 strcmp(i->platform, "xtrain_cpu") == 0 ? "nobody answers" : "XT_DEVICE=CPU");
    assert_null(c);
}

static int run(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),           cmocka_unit_test(test_run),         cmocka_unit_test(test_donation),
        cmocka_unit_test(test_chain),          cmocka_unit_test(test_read_async),  cmocka_unit_test(test_types),
        cmocka_unit_test(test_compile_errors), cmocka_unit_test(test_serialize),   cmocka_unit_test(test_stats),
        cmocka_unit_test(test_early_close),    cmocka_unit_test(test_not_joining), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    return run_on_plugins(run);
}
