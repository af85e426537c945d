/* Literals and locations in text: floats come back bit for bit, long literals as hexadecimal, locations both ways,
 * names that need quotes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/ir.h"

static ir_module *parse(const char *text) {
    ir_module *m = NULL;
    xt_status s = ir_parse(text, strlen(text), "test.mlir", &m);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    return m;
}

/* A module with one constant of n elements of type t; its text; the constant's bytes read back must be the same. */
static void check_constant(xt_dtype t, int64_t n, const void *data) {
    ir_module *m = ir_module_new(), *again;
    ir_func *f = ir_func_new(m, "main", true);
    ir_builder b = ir_at_end(m, ir_func_block(f));
    ir_value *c = ir_constant(&b, ir_tensor(t, 1, &n), data);
    ir_return(&b, 1, &c);
    assert_null(b.status);
    str text = STR_INIT;
    assert_null(ir_print(m, 0, &text));
    again = parse(str_cstr(&text));
    const ir_literal *l = ir_get_literal(again->funcs->body->first);
    size_t size = xt_dtype_size(t);
    for (int64_t i = 0; i < n; i++)
        if (memcmp((const char *)l->data + (l->splat ? 0 : (size_t)i * size), (const char *)data + (size_t)i * size,
                   size))
            fail_msg("element %lld of %s changed\n%s", (long long)i, xt_dtype_name(t), str_cstr(&text));
    ir_module_free(m);
    ir_module_free(again);
    str_free(&text);
}

static uint64_t next_random(uint64_t *state) {
    return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

static void every_bit_survives(void **state) {
    (void)state;
    static const xt_dtype types[] = {XT_F32, XT_F64, XT_F16, XT_BF16, XT_F8E4M3FN, XT_F8E5M2, XT_C64, XT_C128,
                                     XT_I8,  XT_U8,  XT_I16, XT_U16,  XT_I32,      XT_U32,    XT_I64, XT_U64};
    uint64_t seed = 7;
    for (size_t k = 0; k < BASE_COUNT(types); k++) {
        uint64_t raw[40 * 2];
        for (size_t i = 0; i < BASE_COUNT(raw); i++) raw[i] = next_random(&seed) ^ next_random(&seed) >> 32;
        check_constant(types[k], 40, raw); /* a list */
        for (int n = 0; n < 20; n++) {
            for (size_t i = 0; i < BASE_COUNT(raw); i++) raw[i] = next_random(&seed) ^ next_random(&seed) >> 32;
            check_constant(types[k], 3, raw);
        }
        raw[0] = raw[1];
        check_constant(types[k], 1, raw);
    }
    static const float special[] = {0.0f,          -0.0f,           INFINITY, -INFINITY,   1e-45f,
                                    3.4028235e38f, 1.17549435e-38f, 0.1f,     16777216.0f, 1.0f / 3};
    check_constant(XT_F32, BASE_COUNT(special), special);
    static const int8_t nibbles[] = {-8, 7, 0, -1};
    check_constant(XT_I4, BASE_COUNT(nibbles), nibbles);
}

static void long_literals_are_hexadecimal(void **state) {
    (void)state;
    int16_t v[65];
    uint8_t b[200];
    for (int i = 0; i < 65; i++) v[i] = (int16_t)(i * 1000 - 30000);
    for (int i = 0; i < 200; i++) b[i] = i % 3 == 0;
    check_constant(XT_I16, 65, v);
    check_constant(XT_BOOL, 200, b);
    ir_module *m = parse("func.func @main() {\n"
                         "  %0 = stablehlo.constant dense<\"0x0102\"> : tensor<12xi1>\n"
                         "  return\n"
                         "}");
    /* as MLIR wrote booleans before it gave each a byte */
    static const uint8_t packed[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0};
    assert_memory_equal(ir_get_literal(m->funcs->body->first)->data, packed, 12);
    ir_module_free(m);
}

static void equal_elements_print_as_a_splat(void **state) {
    (void)state;
    static const float same[] = {2, 2, 2};
    int64_t n = 3;
    ir_module *m = ir_module_new();
    ir_builder b = ir_at_end(m, ir_func_block(ir_func_new(m, "main", true)));
    ir_value *c = ir_constant(&b, ir_tensor(XT_F32, 1, &n), same);
    ir_return(&b, 1, &c);
    str text = STR_INIT;
    assert_null(ir_print(m, 0, &text));
    assert_non_null(strstr(str_cstr(&text), "dense<2.000000e+00> : tensor<3xf32>"));
    str_free(&text);
    ir_module_free(m);
}

static const char program[] =
    "module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<2xf32> {jax.result_info "
    "= \"r\"}) {\n"
    "    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32> loc(#loc1)\n"
    "    %1 = func.call @\"a b\"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(\"call\"(\"g.c\":9:1))\n"
    "    return %1 : tensor<2xf32> loc(unknown)\n"
    "  }\n"
    "  func.func private @\"a b\"(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n"
    "    return %arg0 : tensor<2xf32>\n"
    "  }\n"
    "}\n"
    "#loc = loc(\"f.c\":41:7)\n"
    "#loc1 = loc(\"h.3\"(#loc))\n";

static void locations_are_read_and_printed(void **state) {
    (void)state;
    ir_module *m = parse(program);
    const ir_op *add = m->funcs->body->first;
    assert_string_equal(src_get(add->src)->file, "f.c");
    assert_int_equal(src_get(add->src)->line, 41);
    assert_string_equal(intern_text(add->path), "h.3");
    assert_string_equal(src_get(add->next->next->src)->file, "test.mlir"); /* no location of its own: the text's line */
    assert_int_equal(src_get(add->next->next->src)->line, 5);
    str source = STR_INIT, ordinal = STR_INIT;
    assert_null(ir_print(m, IR_PRINT_LOC_SOURCE, &source));
    assert_non_null(strstr(str_cstr(&source), ": tensor<2xf32> loc(\"h.3\"(\"f.c\":41:1))\n"));
    assert_non_null(strstr(str_cstr(&source), "-> tensor<2xf32> loc(\"call\"(\"g.c\":9:1))\n"));
    assert_null(ir_print(m, IR_PRINT_LOC_ORDINAL, &ordinal));
    assert_non_null(strstr(str_cstr(&ordinal), "loc(\"n0\")"));
    assert_non_null(strstr(str_cstr(&ordinal), "return %1 : tensor<2xf32> loc(\"n2\")"));
    assert_null(strstr(str_cstr(&ordinal), "loc(\"n3\")"));
    ir_module *again = parse(str_cstr(&ordinal));
    assert_string_equal(intern_text(again->funcs->body->first->path), "n0");
    ir_module_free(again);
    ir_module_free(m);
    str_free(&source);
    str_free(&ordinal);
}

static void attributes_of_functions_and_modules_survive(void **state) {
    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        ir_module *m = parse(program), *again;
        str a = STR_INIT, b = STR_INIT;
        assert_null(ir_print(m, form, &a));
        again = parse(str_cstr(&a));
        assert_string_equal(again->name, "jit_f");
        assert_int_equal(again->n_attrs, 2);
        assert_int_equal(again->funcs->arg_attrs[0][0].v.i, 0);
        assert_string_equal(again->funcs->arg_attrs[0][0].name, "tf.aliasing_output");
        assert_string_equal(again->funcs->result_attrs[0][0].v.s, "r");
        assert_false(again->funcs->next->is_public);
        assert_null(ir_print(again, form, &b));
        assert_string_equal(str_cstr(&a), str_cstr(&b));
        ir_module_free(m);
        ir_module_free(again);
        str_free(&a);
        str_free(&b);
    }
}

/* Passes hash the names of all attributes: none is NULL, not even an element's. */
static void check_names(const ir_attr *a) {
    assert_non_null(a->name);
    for (size_t i = 0; (a->kind == IR_AK_ARRAY || a->kind == IR_AK_DICT) && i < a->n; i++) check_names(&a->v.list[i]);
}

static void every_attribute_has_a_name(void **state) {
    (void)state;
    ir_module *m = parse("#a = [1, {x = [unit]}]\nfunc.func @main(%a: tensor<3xf32>) {\n"
                         "  %0 = stablehlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = {k = [1, [2]]}, "
                         "operand_layouts = [dense<0> : "
                         "tensor<1xindex>], "
                         "result_layouts = [dense<0> : tensor<1xindex>], "
                         "called_computations = [@g], "
                         "z = #a} : (tensor<3xf32>) -> tensor<3xf32>\n  return\n}");
    const ir_op *op = m->funcs->body->first;
    assert_int_equal(op->n_attrs, 7);
    for (uint32_t i = 0; i < op->n_attrs; i++) check_names(&op->attrs[i]);
    ir_module_free(m);
}

static void one_op_for_messages(void **state) {
    (void)state;
    ir_module *m = parse("func.func @main(%a: tensor<3xf32>, %b: tensor<f32>) {\n"
                         "  %0 = stablehlo.pad %a, %b, low = [1], high = [0], interior = [0] : (tensor<3xf32>, "
                         "tensor<f32>) -> tensor<4xf32>\n"
                         "  %1 = stablehlo.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<9xi8>\n  return\n}");
    str text = STR_INIT;
    ir_op_print(m->funcs->body->first, &text);
    assert_string_equal(str_cstr(&text), "stablehlo.pad(tensor<3xf32>, tensor<f32>) {edge_padding_high = array<i64: "
                                         "0>, edge_padding_low = array<i64: 1>, "
                                         "interior_padding = array<i64: 0>} -> tensor<4xf32>");
    str_clear(&text);
    ir_op_print(m->funcs->body->first->next, &text);
    assert_string_equal(str_cstr(&text), "stablehlo.constant() -> tensor<9xi8>");
    str_free(&text);
    ir_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_bit_survives),
                                       cmocka_unit_test(long_literals_are_hexadecimal),
                                       cmocka_unit_test(equal_elements_print_as_a_splat),
                                       cmocka_unit_test(locations_are_read_and_printed),
                                       cmocka_unit_test(attributes_of_functions_and_modules_survive),
                                       cmocka_unit_test(every_attribute_has_a_name),
                                       cmocka_unit_test(one_op_for_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
