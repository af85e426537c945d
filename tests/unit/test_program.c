/* xt_program on the interpreter: one main with inputs, files of several modules, assertions in both spellings, literals
 * as arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include <xtrain/program.h>

static xt_program *parse(const char *text) {
    xt_program *p;
    xt_status s = xt_program_parse(text, strlen(text), "test.mlir", &p);
    if (s) fail_msg("%s", xt_status_message(s));
    return p;
}

static void expect(xt_status s, const char *message) {
    if (!s) fail_msg("no error, expected \"%s\"", message);
    if (!strstr(xt_status_message(s), message)) fail_msg("\"%s\" lacks \"%s\"", xt_status_message(s), message);
    xt_status_free(s);
}

static const char add_text[] =
    "module @m {\n"
    "  func.func public @main(%a: tensor<2xf32>, %b: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xi1>) {\n"
    "    %0 = stablehlo.convert %b : (tensor<2xbf16>) -> tensor<2xf32>\n"
    "    %1 = stablehlo.add %a, %0 : tensor<2xf32>\n"
    "    %2 = stablehlo.compare GT, %a, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>\n"
    "    return %1, %2 : tensor<2xf32>, tensor<2xi1>\n  }\n}\n";

static void main_runs_on_inputs(void **state) {
    (void)state;
    xt_program *p = parse(add_text);
    float a[] = {1.5f, -4};
    uint16_t b[] = {0x4000, 0xC0A0}; /* 2, -5 in bf16, as the u16 that numpy has for it */
    xt_array in[2] = {{.dtype = XT_F32, .rank = 1, .dims = {2}, .data = a, .bytes = 8},
                      {.dtype = XT_U16, .rank = 1, .dims = {2}, .data = b, .bytes = 4}},
             out[2];
    assert_true(xt_program_has_main(p));
    assert_int_equal(xt_program_inputs(p), 2);
    assert_int_equal(xt_program_outputs(p), 2);
    assert_int_equal(xt_program_input(p, 1).dtype, XT_BF16);
    assert_int_equal(xt_program_input(p, 1).dims[0], 2);
    assert_int_equal(xt_program_input(p, 7).dtype, XT_DTYPE_NONE);
    xt_status s = xt_program_run(p, "interpreter", in, 2, out, 2);
    if (s) fail_msg("%s", xt_status_message(s));
    assert_true(((float *)out[0].data)[0] == 3.5f && ((float *)out[0].data)[1] == -9);
    assert_int_equal(out[1].dtype, XT_BOOL);
    assert_int_equal(((uint8_t *)out[1].data)[0], 0);
    assert_int_equal(((uint8_t *)out[1].data)[1], 1);
    assert_null(xt_array_compare(
        &out[0], &(xt_array){.dtype = XT_F32, .rank = 1, .dims = {2}, .data = (float[]){3.5f, -9.00001f}, .bytes = 8},
        1e-5, 0));
    expect(xt_array_compare(
               &out[0],
               &(xt_array){.dtype = XT_F32, .rank = 1, .dims = {2}, .data = (float[]){3.5f, -9.1f}, .bytes = 8}, 1e-5,
               0),
           "1 of 2 elements differ; the first, [1], is -9, expected -9.1");
    expect(xt_array_compare(&out[0], &out[1], 1, 1), "f32 of rank 1");
    for (int i = 0; i < 2; i++) xt_array_free(&out[i]);
    expect(xt_program_run(p, "interpreter", in, 1, out, 2), "@main takes 2 inputs, 1 are given");
    in[0] = (xt_array){.dtype = XT_F32, .rank = 1, .dims = {3}, .data = (float[3]){0}, .bytes = 12};
    expect(xt_program_run(p, "interpreter", in, 2, out, 2),
           "input 0 is a tensor<3xf32>, the program wants tensor<2xf32>");
    xt_program_free(p);
}

/* Whoever reads as many elements as the dims say reads beyond an array that has fewer: every door looks first. */
static void arrays_that_are_not_whole_are_refused(void **state) {
    (void)state;
    float data[4] = {0};
    const xt_array whole = {.dtype = XT_F32, .rank = 1, .dims = {4}, .data = data, .bytes = sizeof data};
    const struct {
        xt_array a;
        const char *says;
    } rows[] = {
        {{.dtype = XT_F32, .rank = 1, .dims = {4000}, .data = data, .bytes = 16}, "other bytes than its dims need"},
        {{.dtype = XT_F32, .rank = 1, .dims = {4}, .data = data, .bytes = 32}, "other bytes than its dims need"},
        {{.dtype = XT_F32, .rank = 1, .dims = {4}, .data = data, .bytes = 0}, "other bytes than its dims need"},
        {{.dtype = XT_F32, .rank = 1, .dims = {4}, .bytes = 16}, "its data is NULL"},
        {{.dtype = XT_F32, .rank = 1, .dims = {-4}, .data = data, .bytes = 16}, "no such dims"},
        {{.dtype = XT_F32, .rank = 2, .dims = {INT64_MAX, 8}, .data = data, .bytes = 16}, "no such dims"},
        {{.dtype = XT_F32, .rank = -1, .dims = {4}, .data = data, .bytes = 16}, "no such rank"},
        {{.dtype = XT_F32, .rank = 33, .dims = {4}, .data = data, .bytes = 16}, "no such rank"},
        {{.dtype = (xt_dtype)99, .rank = 1, .dims = {4}, .data = data, .bytes = 16}, "no such dtype"},
        {{.rank = 1, .dims = {4}, .data = data, .bytes = 16}, "no such dtype"},
    };
    xt_program *p = parse("func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }");
    char path[] = "/tmp/xt_whole_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_array out;
        expect(xt_program_run(p, "interpreter", &rows[i].a, 1, &out, 1), rows[i].says);
        expect(xt_array_compare(&rows[i].a, &whole, 0, 0), rows[i].says);
        expect(xt_array_compare(&whole, &rows[i].a, 0, 0), rows[i].says);
        expect(xt_npy_write(path, &rows[i].a), rows[i].says);
    }
    unlink(path);
    xt_program_free(p);
}

/* ml_dtypes writes a 4-bit integer as a raw byte whose upper bits may be anything. */
static void small_integers_are_bits(void **state) {
    (void)state;
    xt_program *p = parse("func.func @main(%a: tensor<3xi4>) -> (tensor<3xi4>, tensor<3xi32>) {\n"
                          "  %0 = stablehlo.add %a, %a : tensor<3xi4>\n"
                          "  %1 = stablehlo.convert %a : (tensor<3xi4>) -> tensor<3xi32>\n"
                          "  return %0, %1 : tensor<3xi4>, tensor<3xi32>\n"
                          "}\n");
    static const xt_dtype spellings[] = {XT_I8, XT_U8, XT_F8E4M3FN};
    for (size_t i = 0; i < 3; i++) {
        uint8_t raw[] = {0x0F, 0x03, 0xF8};
        xt_array in = {.dtype = spellings[i], .rank = 1, .dims = {3}, .data = raw, .bytes = 3}, out[2];
        xt_status s = xt_program_run(p, "interpreter", &in, 1, out, 2);
        if (s) fail_msg("%s", xt_status_message(s));
        assert_int_equal(((int32_t *)out[1].data)[0], -1);
        assert_int_equal(((int32_t *)out[1].data)[2], -8);
        assert_null(xt_array_compare(
            &out[0], &(xt_array){.dtype = XT_U8, .rank = 1, .dims = {3}, .data = (uint8_t[]){0x0E, 6, 0}, .bytes = 3},
            0, 0));
        expect(xt_array_compare(
                   &out[0],
                   &(xt_array){.dtype = XT_U8, .rank = 1, .dims = {3}, .data = (uint8_t[]){0x0E, 6, 1}, .bytes = 3}, 0,
                   0),
               "1 of 3 elements differ");
        assert_int_equal(raw[0], 0x0F); /* the caller's array is not touched */
        for (int k = 0; k < 2; k++) xt_array_free(&out[k]);
    }
    xt_program_free(p);
}

static const char checks[] =
    "// a comment before anything\n\n"
    "func.func @first() {\n"
    "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
    "  check.expect_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>\n  return\n}\n"
    "func.func private @helper() {\n  return\n}\n"
    "// -----\n\n"
    "func.func @second() -> tensor<i1> {\n"
    "  %0 = stablehlo.constant dense<3> : tensor<2xi32>\n"
    "  %1 = stablehlo.add %0, %0 : "
    "tensor<2xi32>\n"
    "  stablehlo.custom_call @check.expect_eq(%0, %0) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()\n"
    "  %2 = stablehlo.custom_call @check.eq(%1, %%d) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>\n"
    "  return %2 : tensor<i1>\n"
    "}\n"
    "// -----\n";

static void assertions_are_checked(void **state) {
    (void)state;
    str text = STR_INIT;
    int n;
    for (int other = 0; other < 2; other++) {
        const char *at = strstr(checks, "%%d");
        str_clear(&text);
        str_appendn(&text, checks, (size_t)(at - checks));
        str_append(&text, other ? "%1" : "%0");
        str_append(&text, at + 3);
        xt_program *p = parse(str_cstr(&text));
        assert_false(xt_program_has_main(p));
        xt_status s = xt_program_check(p, "interpreter", &n);
        if (other) {
            if (s) fail_msg("%s", xt_status_message(s));
            assert_int_equal(n, 2);
        } else {
            assert_int_equal(n, 1);
            /* the line counts from the top of the file */
            expect(s, "test.mlir:17: @second: eq: element [0] is 6, expected 3");
        }
        xt_program_free(p);
    }
    str_free(&text);
}

static void bad_files_are_errors(void **state) {
    (void)state;
    xt_program *p;
    int n;
    expect(xt_program_parse("// nothing\n", 11, "e.mlir", &p), "there is no program in this file");
    static const char second[] = "func.func @f() {\n return\n}\n// -----\nfunc.func @g() {\n oops\n}\n";
    expect(xt_program_parse(second, sizeof second - 1, "two.mlir", &p), "two.mlir:6:2:");
    expect(xt_program_load("/nonexistent.mlir", &p), "/nonexistent.mlir");
    p = parse("func.func @f(%a: tensor<2xf32>) {\n return\n}");
    expect(xt_program_check(p, "interpreter", &n), "neither a function @main nor");
    xt_program_free(p);
    p = parse(add_text);
    expect(xt_program_check(p, "interpreter", &n), "@main takes 2 arguments");
    char *out;
    expect(xt_program_text(p, "fancy", &out), "neither pretty nor generic");
    xt_program_free(p);
}

static void literals_are_read(void **state) {
    (void)state;
    xt_array a[4];
    int n;
    xt_status s = xt_arrays_parse(
        " [dense<1> : tensor<i32>, dense<[[1.0, 2.0]]> : tensor<1x2xf32>, dense<\"0x0100\"> : tensor<1xi16>, "
        "dense<(1.0,2.0)> : tensor<2xcomplex<f32>>]",
        a, 4, &n);
    if (s) fail_msg("%s", xt_status_message(s));
    assert_int_equal(n, 4);
    assert_int_equal(*(int32_t *)a[0].data, 1);
    assert_true(((float *)a[1].data)[1] == 2);
    assert_int_equal(*(int16_t *)a[2].data, 1);
    assert_true(((float *)a[3].data)[3] == 2); /* a splat is unfolded */
    for (int i = 0; i < n; i++) xt_array_free(&a[i]);
    expect(xt_arrays_parse("dense<1> : tensor<i32>, dense<2> : tensor<i32>", a, 1, &n), "more than 1 literals");
    expect(xt_arrays_parse("dense<1> : tensor<i32>, 7", a, 4, &n), "expected dense<...>");
    assert_int_equal(n, 0);
}

static void nothing_leaks(void **state) {
    (void)state;
    assert_int_equal(xt_live_objects("graph"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(main_runs_on_inputs),
                                       cmocka_unit_test(arrays_that_are_not_whole_are_refused),
                                       cmocka_unit_test(small_integers_are_bits),
                                       cmocka_unit_test(assertions_are_checked),
                                       cmocka_unit_test(bad_files_are_errors),
                                       cmocka_unit_test(literals_are_read),
                                       cmocka_unit_test(nothing_leaks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
