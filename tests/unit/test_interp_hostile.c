/* Broken and malicious programs on the interpreter: what the fuzzer found is replayed, and each text of a few bytes
 * that asks for the impossible is refused in words, at once. Memory errors show under `make asan`. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../fuzz/fuzz_run.c"

#include <xtrain/program.h>

static void the_corpus_is_harmless(void **state) {
    (void)state;
    int count = 0;
    DIR *d = opendir("tests/fuzz/corpus/run");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512], *text;
        size_t n;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "tests/fuzz/corpus/run/%s", e->d_name);
        assert_null(file_read_all(path, &text, &n));
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
        base_free(text);
        count++;
    }
    closedir(d);
    assert_true(count >= 3);
}

#define HUGE "tensor<1000000x10000000xf32>"
#define SUM                                     \
    "({\n"                                      \
    "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n" \
    "%s = stablehlo.add %p, %q : tensor<f32>\n" \
    "stablehlo.return %s : tensor<f32>\n"       \
    "})"

static const struct row {
    const char *name, *body, *message;
} rows[] = {
    {"a constant of 40 TB", "%x = stablehlo.constant dense<1.0> : " HUGE "\n%y = stablehlo.add %x, %x : " HUGE, ""},
    {"an iota of 40 TB", "%x = stablehlo.iota dim = 0 : " HUGE, ""},
    {"a broadcast of 40 TB", "%y = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> " HUGE, ""},
    {"a shape that overflows", "%x = stablehlo.iota dim = 0 : tensor<4294967296x4294967296x4294967296xf32>",
     "larger than any memory"},
    {"an enormous window",
     "%y = \"stablehlo.reduce_window\"(%v, %c) <{window_dimensions = array<i64: 9000000000000000>, padding = "
     "dense<[[8999999999999999, 0]]> : "
     "tensor<1x2xi64>}> " SUM " : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>",
     "reduce_window_c5"},
    {"padding that overflows",
     "%y = stablehlo.pad %v, %c, low = [9223372036854775807], high = [1], interior = [0] : (tensor<1xf32>, "
     "tensor<f32>) -> "
     "tensor<1xf32>",
     "pad_c4"},
    {"more dims than there can be",
     "%y = stablehlo.reshape %v : (tensor<1xf32>) -> "
     "tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x"
     "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>",
     "dims"},
    {"scattering nothing",
     "%e = stablehlo.constant dense<> : tensor<4x0xf32>\n"
     "%y = \"stablehlo.reduce_scatter\"(%e) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
     "tensor<1x4xi64>, scatter_dimension = 1 : i64}> " SUM " : (tensor<4x0xf32>) -> tensor<4x4xf32>",
     "reduce_scatter_c8"},
    {"results by the thousand million",
     "%y:1000000000 = \"stablehlo.custom_call\"() {call_target_name = \"x\"} : () -> ()", "has 0 results"},
};

static void the_impossible_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str text = STR_INIT;
        xt_program *p = NULL;
        int ran;
        str_printf(&text,
                   "func.func @main() {\n"
                   "%%c = stablehlo.constant dense<1.0> : tensor<f32>\n"
                   "%%v = stablehlo.constant dense<1.0> : "
                   "tensor<1xf32>\n%s\nreturn\n}\n",
                   rows[i].body);
        xt_status s = xt_program_parse(str_cstr(&text), text.len, rows[i].name, &p);
        if (!s) s = xt_program_check(p, "interpreter", &ran);
        if (!s || !strstr(xt_status_message(s), rows[i].message))
            fail_msg("%s: %s", rows[i].name, s ? xt_status_message(s) : "it ran");
        xt_status_free(s);
        xt_program_free(p);
        str_free(&text);
    }
}

/* 2^40 calls in 40 functions: inlining stops, and memory stays small. Only compiled, as running takes its time. */
static void doubling_calls_stay_small(void **state) {
    (void)state;
    str text = STR_INIT;
    str_append(&text, "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
                      "%0 = func.call @f40(%a) : (tensor<f32>) -> tensor<f32>\n"
                      "return %0 : tensor<f32>\n"
                      "}\n");
    for (int i = 40; i > 0; i--)
        str_printf(&text,
                   "func.func private @f%d(%%a: tensor<f32>) -> tensor<f32> {\n"
                   "%%0 = func.call @f%d(%%a) : (tensor<f32>) -> tensor<f32>\n"
                   "%%1 = func.call @f%d(%%0) : (tensor<f32>) -> tensor<f32>\nreturn %%1 : tensor<f32>\n}\n",
                   i, i - 1, i - 1);
    str_append(&text, "func.func private @f0(%a: tensor<f32>) -> tensor<f32> {\n"
                      "%0 = stablehlo.add %a, %a : tensor<f32>\n"
                      "return %0 : tensor<f32>\n"
                      "}\n");
    ir_module *m = NULL;
    assert_null(ir_parse(str_cstr(&text), text.len, "calls", &m));
    assert_null(ir_verify(m));
    pass_ctx c = {0};
    assert_null(pass_lower_call(&c, m));
    size_t ops = 0;
    for (const ir_func *f = m->funcs; f; f = f->next)
        for (const ir_op *op = f->body->first; op; op = op->next) ops++;
    assert_true(ops < 200000);
    ir_module_free(m);
    str_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_corpus_is_harmless),
                                       cmocka_unit_test(the_impossible_is_refused),
                                       cmocka_unit_test(doubling_calls_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
