/* What is wrong with a program is said with line, column and what was expected; nothing huge is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/ir.h"

static const struct row {
    const char *text, *message; /* a part of the message */
} rows[] = {
    {"", "test:1:1: expected a module or a function, found the end of the text"},
    {"module {", "test:1:9: expected func.func, found the end"},
    {"module { } module { }", "test:1:12: a second module"},
    {"module @m attributes {a = } {}", "test:1:27: expected an attribute, found '}'"},
    {"hello", "test:1:1: expected func.func, found 'hello'"},
    {"func.func @f(%a: tensor<2xf32>)", "the function @f has no body"},
    {"func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}", "test:4:11: the function @f is defined twice"},
    {"func.func @f() {\n}", "does not end with a return"},
    {"func.func @f() -> tensor<f32> {\n return\n}", "0 values returned, function"},
    {"func.func @f(%a: tensor<2xi32>) -> tensor<f32> {\n"
     " return %a : tensor<2xi32>\n"
     "}",
     "test:2:2: return: value 0 has another type than result 0"},
    {"func.func @f(%a: tensor<f32>, %a: tensor<f32>) {\n return\n}", "test:1:31: the name %a is already in use"},
    {"func.func @f(%a: tensor<2x3) {}", "test:1:28: expected 'x' and an element type"},
    {"func.func @f(%a: tensor<f32>) {\n return %a : tensor<f32>\n}", "return"},
    {"func.func @f(%a: tensor<2 x3xf32>) {}", "expected 'x' and an element type"},
    {"func.func @f(%a: tensor<*xf32>) {}", "without a rank"},
    {"func.func @f(%a: tensor<2xf33>) {}", "expected an element type such as"},
    {"func.func @f(%a: tensor<complex<i32>>) {}", "parts of f32 or f64"},
    {"func.func @f(%a: tensor<1000000000x1000000000xf32>) {}", "larger than any memory"},
    {"func.func @f(%a: tensor<99999999999999999999xf32>) {}", "does not fit in 64 bits"},
    {"func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.0>>) {}", "test:1:27: quantized type: scale 0 is 0"},
    {"func.func @f(%a: !foo) {}", "expected a type, found '!foo'"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<0> : tensor<1000000000x1000000000xf32>\n"
     "  return\n"
     "}",
     "test:2:38: a tensor of 4e+18 bytes"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<[1, 2]> : tensor<1000000000xi8>\n"
     "  return\n"
     "}",
     "more than this list can hold"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi8>\n"
     "  return\n"
     "}",
     "a list has 2 elements, but dimension 0 is 3"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi8>\n"
     "  return\n"
     "}",
     "a list has more elements than dimension 0"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<[[1], 2]> : tensor<2x1xi8>\n"
     "  return\n"
     "}",
     "expected '[' at the start of a list"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<300> : tensor<2xi8>\n"
     "  return\n"
     "}",
     "test:2:33: 300 does not fit in i8"},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<-1> : tensor<2xui8>\n  return\n}", "does not fit in ui8"},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<2> : tensor<2xi1>\n  return\n}", "2 is not an i1"},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<0x1FFFF> : tensor<bf16>\n  return\n}", "more bits than bf16"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<\"0x00\"> : tensor<3xf32>\n"
     "  return\n"
     "}",
     "the string holds 1 bytes, but the type needs 12"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense<\"0xGG\"> : tensor<1xi8>\n"
     "  return\n"
     "}",
     "is not a byte in hexadecimal"},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<1> : tensor<?xi8>\n  return\n}", "known dimensions"},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<1 : tensor<2xi8>\n  return\n}", "expected the '>'"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.constant dense_resource<x> : tensor<2xi8>\n"
     "  return\n"
     "}",
     "expected dense<...>"},
    {"func.func @f() {\n  %0 = stablehlo.add %1, %1 : tensor<f32>\n  return\n}", "test:2:22: %1 is used but no value"},
    {"func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.ad %a, %a : tensor<f32>\n  return\n}",
     "test:2:8: 'stablehlo.ad' is not an op that is known here"},
    {"func.func @f(%a: tensor<f32>) {\n  %0 = add %a, %a : tensor<f32>\n  return\n}", "ops are written dialect.name"},
    {"func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.add %a : tensor<f32>\n  return\n}", "test:2:8: add"},
    {"func.func @f(%a: tensor<f32>) {\n"
     "  %0 = stablehlo.add %a, %a\n"
     "  return\n"
     "}",
     "expected ':' and the op's type, found 'return'"},
    {"func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.add %a, %a : tensor<i32>\n  return\n}",
     "operand 0 is a tensor<f32>, but tensor<i32> is written here"},
    {"func.func @f(%a: tensor<f32>) {\n"
     "  %0:2 = stablehlo.add %a, %a : tensor<f32>\n"
     "  return\n"
     "}",
     "add has 1 results, fewer than are named here"},
    {"func.func @f(%a: tensor<f32>) {\n"
     "  %0:1000000000 = stablehlo.add %a, %a : tensor<f32>\n"
     "  return\n"
     "}",
     "fewer than are named here"},
    {"func.func @f(%a: tensor<f32>) {\n"
     "  %0 = stablehlo.negate %a#1 : tensor<f32>\n"
     "  return\n"
     "}",
     "%a has 1 results, so #1 does not exist"},
    {"func.func @f(%a: tensor<f32>) {\n"
     "  %0 = stablehlo.negate %a {x = 1, x = 2} : tensor<f32>\n"
     "  return\n"
     "}",
     "attribute 'x' is given twice"},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.transpose %a : (tensor<2xf32>) -> tensor<2xf32>\n  return\n}",
     "expected 'dims = ...', found ':'"},
    {"func.func @f(%a: tensor<2xf32>) {\n"
     "  %0 = stablehlo.transpose %a, dims = [0 : (tensor<2xf32>) -> tensor<2xf32>\n"
     "  return\n"
     "}",
     "or ']' in a list of integers"},
    {"func.func @f(%a: tensor<2xf32>) {\n"
     "  %0 = stablehlo.compare XX, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>\n"
     "  return\n"
     "}",
     "expected one of EQ NE GE GT LE LT, found 'XX'"},
    {"func.func @f(%a: tensor<2xf32>) {\n"
     "  %0 = stablehlo.reduce_precision %a, format = e5 : tensor<2xf32>\n"
     "  return\n"
     "}",
     "expected a format such as e5m10"},
    {"func.func @f(%a: tensor<2xf32>) {\n"
     "  %0 = \"stablehlo.fft\"(%a) <{fft_length = 3}> : (tensor<2xf32>) -> tensor<2xf32>\n"
     "  return\n"
     "}",
     "expected a list of integers"},
    {"func.func @f(%a: tensor<2xf32>) {\n"
     "  %0 = \"stablehlo.iota\"() <{iota_dimension = \"x\"}> : () -> tensor<2xf32>\n"
     "  return\n"
     "}",
     "expected an integer for attribute 'iota_dimension'"},
    {"func.func @f(%a: tensor<2xf32>) {\n"
     "  %0 = \"stablehlo.negate\"(%a) [^bb1] : (tensor<2xf32>) -> tensor<2xf32>\n"
     "  return\n"
     "}",
     "successor blocks"},
    {"func.func @f(%a: tensor<2xf32>) {\n ^bb1:\n  return\n}", "exactly one"},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.negate %a : tensor<2xf32> loc(#nowhere)\n  return\n}",
     "test:2:48: location '#nowhere' is not defined"},
    {"func.func @f() {\n"
     "  %0 = stablehlo.custom_call @\"x() : () -> tensor<f32>\n"
     "  return\n"
     "}",
     "without a closing quote"},
    {"{-# x #-}", "resources outside the program"},
};

static void errors_say_where_and_what(void **state) {
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        ir_module *m = NULL;
        xt_status s = ir_parse(rows[i].text, strlen(rows[i].text), "test", &m);
        if (!s || m || !strstr(xt_status_message(s), rows[i].message)) {
            print_error("row %zu: \"%s\"\nlacks \"%s\"\n", i, xt_status_message(s), rows[i].message);
            bad++;
        }
        xt_status_free(s);
    }
    assert_int_equal(bad, 0);
}

static void nesting_is_bounded(void **state) {
    (void)state;
    static const char *const openers[] = {"[", "{a = ", "tuple<", "#x<", "loc(\"a\"("};
    for (size_t i = 0; i < BASE_COUNT(openers); i++) {
        str text = STR_INIT;
        ir_module *m;
        str_append(&text, i == 4 ? "#l = " : "module attributes {x = ");
        for (int k = 0; k < 100000; k++) str_append(&text, i == 4 && k ? "\"a\"(" : openers[i]);
        xt_status s = ir_parse(str_cstr(&text), text.len, "deep", &m);
        assert_non_null(s);
        xt_status_free(s);
        str_free(&text);
    }
}

/* #b0 = 1, #b1 = [#b0, #b0], ... would be 2^40 values. */
static void aliases_do_not_unfold_for_ever(void **state) {
    (void)state;
    str text = STR_INIT;
    ir_module *m;
    str_append(&text, "#b0 = 1 : i64\n");
    for (int i = 1; i < 40; i++) str_printf(&text, "#b%d = [#b%d, #b%d]\n", i, i - 1, i - 1);
    xt_status s = ir_parse(str_cstr(&text), text.len, "bomb", &m);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "aliases are used more than"));
    xt_status_free(s);
    str_free(&text);
}

/* !t0 = tuple<f32, f32>, !t1 = tuple<!t0, !t0>, ...; and the same by ops, wide and deep. */
static void tuples_do_not_unfold_for_ever(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        str text = STR_INIT;
        ir_module *m = NULL;
        str_append(&text, "!t0 = tuple<tensor<f32>, tensor<f32>>\n");
        for (int i = 1; i < 40; i++) str_printf(&text, "!t%d = tuple<!t%d, !t%d>\n", i, i - 1, i - 1);
        str_append(&text, "func.func @main(%a: !t39) -> !t39 {\nreturn %a : !t39\n}\n");
        xt_status s = kind == 0 ? ir_parse(str_cstr(&text), text.len, "tuples", &m) : NULL;
        if (kind > 0) { /* a chain of ops: types are inferred as they are built */
            m = ir_module_new();
            ir_func *f = ir_func_new(m, "main", true);
            ir_value *v[2] = {ir_func_arg(f, ir_scalar(XT_F32))};
            ir_builder b = ir_at_end(m, ir_func_block(f));
            for (int i = 0; i < (kind == 1 ? 40 : 100) && v[0]; i++) {
                v[1] = v[0];
                ir_op *op = ir_build(&b, OP_tuple, kind == 1 ? 2 : 1, v, 0, NULL, 0, NULL, 0, NULL);
                v[0] = op ? &op->out[0] : NULL;
            }
            s = b.status;
        }
        if (!s || !strstr(xt_status_message(s), "a tuple of more than 65536 types, or nested deeper than 64"))
            fail_msg("%d: %s", kind, s ? xt_status_message(s) : "no error");
        xt_status_free(s);
        ir_module_free(m);
        str_free(&text);
    }
}

static void binary_files_are_named_as_such(void **state) {
    (void)state;
    ir_module *m;
    xt_status s = ir_parse("ML\xefR\0\1\2", 7, "x.mlirbc", &m);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "NUL byte at offset 4"));
    xt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_where_and_what), cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(aliases_do_not_unfold_for_ever), cmocka_unit_test(tuples_do_not_unfold_for_ever),
        cmocka_unit_test(binary_files_are_named_as_such)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
