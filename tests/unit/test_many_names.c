/* What is known by name costs as much for each of thousands as for each of some: names that a step logs, tensors of a
 * file, attributes of an op. Sixteen times as many are compared in processor time with a bound of sixty-four times:
 * what compares each name with all others would take two hundred and fifty-six. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "format/safetensors.h"
#include "ir/ir.h"
#include <xtrain/xtrain.h>

enum { SOME = 256, MANY = 16 * SOME, TIMES = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The least of some runs, of which the first warm up. */
static double least(void (*run)(int n), int n) {
    double best = 1e9;
    for (int k = 0; k < 5; k++) {
        double began = now();
        run(n);
        double took = now() - began;
        if (k > 1 && took < best) best = took;
    }
    return best;
}

static void compare(const char *what, void (*run)(int n)) {
    double some = least(run, SOME), many = least(run, MANY);
    if (many > TIMES * some) fail_msg("%s: %.5f s for %d, %.5f s for %d", what, some, SOME, many, MANY);
}

static const char *name_of(int i) {
    static char name[32];
    snprintf(name, sizeof name, "layers.%d.norm", i);
    return name;
}

/* --- logged in a step --- */
static xt_tensor value;
static void log_numbers(int n) {
    for (int i = 0; i < n; i++) xt_log_value(name_of(i), i);
    xt_mark_step();
}
static void log_tensors(int n) {
    value = xt_exp(xt_ones(XT_F32));
    for (int i = 0; i < n; i++) xt_log(name_of(i), value);
    xt_mark_step();
}

/* In the other order than the first time: no guess of what comes next is right. */
static void log_backwards(int n) {
    for (int i = n; i-- > 0;) xt_log_value(name_of(i), i);
    xt_mark_step();
}

static void logged(void **state) {
    (void)state;
    compare("xt_log_value", log_numbers);
    compare("xt_log_value backwards", log_backwards);
    compare("xt_log", log_tensors);
    assert_int_equal(xt_finish(), 0);
}

/* --- tensors of a file --- */
static char file[] = "/tmp/xt_many_XXXXXX";
static void write_tensors(int n) {
    st_writer *w;
    int64_t one = 1;
    float x = 0;
    assert_null(st_create(file, &w));
    for (int i = 0; i < n; i++) assert_null(st_declare(w, name_of(i), XT_F32, 1, &one));
    for (int i = 0; i < n; i++) assert_null(st_data(w, &x, sizeof x));
    assert_null(st_commit(w));
}
static void write_shards(int n) { /* each of one tensor would be a file each: all in two */
    st_set *w;
    int64_t one = 1;
    float x = 0;
    str path = STR_INIT;
    str_printf(&path, "%s.safetensors", file);
    assert_null(st_set_create(str_cstr(&path), (uint64_t)n * 2, &w));
    for (int i = 0; i < n; i++) assert_null(st_set_declare(w, name_of(i), XT_F32, 1, &one));
    for (int i = 0; i < n; i++) assert_null(st_set_data(w, &x, sizeof x));
    assert_null(st_set_commit(w));
    for (int k = 1; k <= 2; k++) {
        str_clear(&path);
        str_printf(&path, "%s-%05d-of-00002.safetensors", file, k);
        unlink(str_cstr(&path));
    }
    str_clear(&path);
    str_printf(&path, "%s.safetensors.index.json", file);
    unlink(str_cstr(&path));
    str_free(&path);
}

static void written(void **state) {
    (void)state;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    compare("st_declare", write_tensors);
    compare("st_set_declare", write_shards);
    unlink(file);
}

/* --- attributes --- */
static void parse(int n) {
    str text = STR_INIT;
    ir_module *m = NULL;
    str_append(&text, "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %a, %a {");
    for (int i = 0; i < n; i++) str_printf(&text, "%sx%d = %d : i32", i ? ", " : "", i, i);
    str_append(&text, "} : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n");
    xt_status s = ir_parse(str_cstr(&text), text.len, "many", &m);
    if (s) fail_msg("%s", xt_status_message(s));
    ir_module_free(m);
    str_free(&text);
}
static void parse_module(int n) {
    str text = STR_INIT;
    ir_module *m = NULL;
    str_append(&text, "module @m attributes {");
    for (int i = 0; i < n; i++) str_printf(&text, "%sx%d = %d : i32", i ? ", " : "", i, i);
    str_append(&text, "} {\n  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n    return %a : tensor<2xf32>\n  "
                      "}\n}\n");
    xt_status s = ir_parse(str_cstr(&text), text.len, "many", &m);
    if (s) fail_msg("%s", xt_status_message(s));
    ir_module_free(m);
    str_free(&text);
}

static void parsed(void **state) {
    (void)state;
    compare("attributes of an op", parse);
    compare("attributes of a module", parse_module);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_CACHE", "off", 1);
    static const struct CMUnitTest tests[] = {cmocka_unit_test(logged), cmocka_unit_test(written),
                                              cmocka_unit_test(parsed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
