/* Values that stay in a file until they are used, and draws that wait for a use: what a file has is never drawn, large
 * tensors have the file's values in every dtype, whichever comes first of loading and building, and a file that is
 * written over in between is told. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <xtrain/program.h>
#include <xtrain/xtrain.h>

#include "format/safetensors.h"
#include "nn/nn.h"
#include "said.h"

enum { IN = 640, OUT = 832 }; /* more than a megabyte of any dtype of at least two bytes */
static char path[64], other[64];

static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

/* Halves of small whole numbers: every dtype has them. */
static float value(int64_t i) {
    return (float)(i % 251 - 125) / 2;
}

static void write_file(const char *to, xt_dtype dtype, int64_t rows, int64_t columns) {
    array a;
    st_writer *w;
    float bias[OUT];
    ok(array_new(ir_tensor(dtype, 2, (int64_t[]){rows, columns}), &a));
    for (int64_t i = 0; i < rows * columns; i++) array_set(&a, i, value(i));
    for (int i = 0; i < OUT; i++) bias[i] = value(i);
    ok(st_create(to, &w));
    ok(st_declare(w, "fc.weight", dtype, 2, (int64_t[]){rows, columns}));
    ok(st_declare(w, "fc.bias", XT_F32, 1, (int64_t[]){OUT}));
    ok(st_data(w, a.data, ir_type_bytes(a.type)));
    ok(st_data(w, bias, sizeof bias));
    ok(st_commit(w));
    array_free(&a);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, OUT);
}

static xt_module *new_net(xt_dtype dtype) {
    xt_module *m = xt_module_new(net, NULL);
    if (dtype != XT_F32) ok(xt_module_set_dtype(m, dtype));
    return m;
}
static void build(xt_module *m) {
    ok(xt_module_build(m, (xt_spec){XT_F32, {1, IN}}));
}

/* The weight's numbers, turned: those of a file that has [in,out]. */
static void expect_values(xt_module *m, bool turned) {
    xt_tensor t = xt_module_find(m, "fc.weight");
    float *v = malloc(sizeof(float) * IN * OUT);
    assert_non_null(v);
    assert_true(xt_read(xt_cast(t, XT_F32), v, sizeof(float) * IN * OUT));
    for (int64_t r = 0; r < OUT; r++)
        for (int64_t q = 0; q < IN; q++)
            if (v[r * IN + q] != value(turned ? q * OUT + r : r * IN + q))
                fail_msg("[%lld,%lld] is %g", (long long)r, (long long)q, v[r * IN + q]);
    free(v);
}

static int begin(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/xt_stored_%d.safetensors", (int)getpid());
    snprintf(other, sizeof other, "/tmp/xt_stored_%d_other.safetensors", (int)getpid());
    return 0;
}
static int end(void **state) {
    (void)state;
    unlink(path);
    unlink(other);
    return 0;
}

static void nothing_is_drawn_that_a_file_has(void **state) {
    (void)state;
    write_file(path, XT_F32, OUT, IN);
    for (int built = 0; built < 2; built++) {
        int64_t drawn = xt_counter("parameters_drawn");
        xt_module *m = new_net(XT_F32);
        if (built) build(m);
        ok(xt_load(m, path));
        if (!built) build(m);
        expect_values(m, false);
        assert_true(xt_mark_step());
        assert_int_equal(xt_counter("parameters_drawn"), drawn);
        xt_module *n = new_net(XT_F32); /* and what no file has is */
        xt_tensor y = xt_forward(n, xt_ones(XT_F32, 1, IN));
        assert_true(xt_item(xt_sum(xt_abs(y))) > 0);
        assert_int_equal(xt_counter("parameters_drawn"), drawn + 2);
        assert_true(xt_mark_step());
    }
    assert_int_equal(xt_finish(), 0);
}

static void every_width_and_order(void **state) {
    (void)state;
    static const xt_dtype dtypes[] = {XT_F32, XT_BF16, XT_F16, XT_F64};
    for (int have = 0; have < 4; have++)
        for (int want = 0; want < 3; want++)
            for (int how = 0; how < 4; how++) {
                bool built = how & 1, turned = how & 2;
                write_file(path, dtypes[have], turned ? IN : OUT, turned ? OUT : IN);
                xt_module *m = new_net(dtypes[want]);
                if (built) build(m);
                ok(xt_load_with(m, path, .transposed = turned ? "*.weight" : NULL));
                unlink(path); /* what was opened is there still */
                if (!built) build(m);
                expect_values(m, turned);
                assert_true(xt_mark_step());
                xt_module_free(m);
            }
    assert_int_equal(xt_finish(), 0);
}

/* The seed counts that was the run's when a tensor was made, and the values are those of an immediate draw. */
static void draws_are_those_of_the_seed(void **state) {
    (void)state;
    static float first[IN * OUT], again[IN * OUT];
    for (int i = 0; i < 2; i++) {
        xt_seed(7);
        xt_module *m = new_net(XT_F32);
        build(m);
        if (i) xt_seed(8);
        ok(lazy_state_read(xt_module_find(m, "fc.weight"), i ? again : first, sizeof first));
    }
    assert_memory_equal(first, again, sizeof first);
    void *now;
    xt_seed(7);
    nn_recipe r = {NN_UNIFORM, .a = 1 / sqrt(IN)};
    ok(nn_first_value("fc.weight", &r, ir_tensor(XT_F32, 2, (int64_t[]){OUT, IN}), &now));
    assert_memory_equal(first, now, sizeof first);
    base_free(now);
    assert_int_equal(xt_finish(), 0);
}

static void a_file_that_changes(void **state) {
    (void)state;
    for (int built = 0; built < 2; built++) {
        write_file(path, XT_F32, OUT, IN);
        xt_module *m = new_net(XT_F32);
        if (built) build(m);
        ok(xt_load(m, path));
        struct timespec long_ago[2] = {{1000, 0}, {1000, 0}}; /* written over in place, as far as its time says */
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
        xt_tensor y = xt_forward(m, xt_ones(XT_F32, 1, IN));
        assert_true(xt_is_error(y) || !xt_mark_step());
        const char *told = xt_error() ? xt_status_message(xt_error()) : "";
        if (!strstr(told, path) || !strstr(told, "was written over after it was loaded")) fail_msg("\"%s\"", told);
        xt_clear_error();
        xt_mark_step();
        xt_clear_error();
        write_file(other, XT_F32, OUT, IN); /* another file in its place is none of its business */
        xt_module *n = new_net(XT_F32);
        write_file(path, XT_F32, OUT, IN);
        if (built) build(n);
        ok(xt_load(n, path));
        assert_int_equal(rename(other, path), 0);
        if (!built) build(n);
        expect_values(n, false);
        assert_true(xt_mark_step());
    }
    assert_int_equal(xt_finish(), 0);
}

/* Loaded and not used: saved again, replaced by another file's, or freed. */
static void without_a_use(void **state) {
    (void)state;
    write_file(path, XT_BF16, OUT, IN);
    for (int built = 0; built < 2; built++) {
        xt_module *m = new_net(XT_F32);
        if (built) build(m);
        ok(xt_load(m, path));
        ok(xt_load(m, path));
        ok(xt_save(m, other));
        xt_module *n = new_net(XT_F32);
        ok(xt_load(n, other));
        build(n);
        expect_values(n, false);
        assert_true(xt_mark_step());
    }
    xt_module *gone = new_net(XT_F32);
    ok(xt_load(gone, path));
    xt_module_free(gone);
    assert_int_equal(xt_finish(), 0);
}

/* Layers beside the module's function, and such as only a later step calls, take what the file has for them; a file
 * that is written in between has it too, and what nobody takes is told once, when it is sure. */
static xt_tensor half(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "a", x, 3);
}
static double weight_sum(xt_module *m, const char *name) {
    return xt_item(xt_sum(xt_mul(xt_module_find(m, name), xt_module_find(m, name))));
}
static void layers_beside_the_function(void **state) {
    (void)state;
    float x[2][4] = {{1, 2, 3, 4}, {2, 1, 0, 1}};
    double b, c;
    xt_seed(3);
    xt_module *m = xt_module_new(half, NULL);
    xt_linear(m, "c", xt_linear(m, "b", xt_forward(m, xt_from_array(x, XT_F32, 2, 4)), 3), 2);
    b = weight_sum(m, "b.weight"), c = weight_sum(m, "c.weight");
    assert_true(xt_mark_step());
    ok(xt_save(m, path));
    xt_module_free(m);

    said[0] = 0;
    xt_set_sink(sink, NULL);
    xt_seed(4);
    m = xt_module_new(half, NULL);
    ok(xt_load(m, path));
    for (int i = 0; i < 2; i++) {
        xt_linear(m, "b", xt_forward(m, xt_from_array(x, XT_F32, 2, 4)), 3);
        assert_true(weight_sum(m, "b.weight") == b);
        assert_true(xt_mark_step());
    }
    ok(xt_save(m, other)); /* c waits still */
    assert_string_equal(said, "");
    xt_linear(m, "c", xt_from_array(x, XT_F32, 2, 3), 2);
    assert_true(weight_sum(m, "c.weight") == c);
    assert_true(xt_mark_step());
    xt_module_free(m);
    assert_string_equal(said, "");

    m = xt_module_new(half, NULL);
    ok(xt_load(m, other));
    xt_optimizer *o = xt_sgd(m, .lr = 0.5);
    for (int i = 0; i < 3; i++) {
        xt_tensor y = xt_linear(m, "b", xt_forward(m, xt_from_array(x, XT_F32, 2, 4)), 3);
        xt_backward(xt_mean(y));
        xt_optimizer_step(o);
        assert_true(xt_mark_step());
        assert_int_equal(strstr(said, "holds 2 tensors that no layer of the module has taken") != NULL, i > 0);
    }
    said[0] = 0;
    xt_linear(m, "c", xt_from_array(x, XT_F32, 2, 3), 2);
    assert_true(weight_sum(m, "c.weight") == c);
    xt_optimizer_free(o);
    xt_module_free(m);
    assert_string_equal(said, "");

    m = xt_module_new(half, NULL);
    ok(xt_load(m, other));
    xt_forward(m, xt_from_array(x, XT_F32, 2, 4));
    assert_true(xt_mark_step());
    xt_module_free(m);
    assert_non_null(strstr(said, "holds 4 tensors that no layer of the module has taken"));
    xt_set_sink(NULL, NULL);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_drawn_that_a_file_has),
                                       cmocka_unit_test(every_width_and_order),
                                       cmocka_unit_test(draws_are_those_of_the_seed),
                                       cmocka_unit_test(a_file_that_changes),
                                       cmocka_unit_test(without_a_use),
                                       cmocka_unit_test(layers_beside_the_function)};
    return cmocka_run_group_tests(tests, begin, end);
}
