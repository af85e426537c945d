/* The pretty form of every op that has one: each line below is parsed inside a function and must be printed back byte
 * for byte, also after a detour over the generic form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/ir.h"

static const struct row {
    const char *args, *ops;
} rows[] = {
#define F "%arg0: tensor<2x3xf32>"
#define FF "%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>"
#define U(name) {F, "%0 = stablehlo." name " %arg0 : tensor<2x3xf32>"},
#define B(name) {FF, "%0 = stablehlo." name " %arg0, %arg1 : tensor<2x3xf32>"},
#define I(name) {"%arg0: tensor<4xi32>, %arg1: tensor<4xi32>", "%0 = stablehlo." name " %arg0, %arg1 : tensor<4xi32>"},
    U("abs") U("cbrt") U("ceil") U("cosine") U("exponential") U("exponential_minus_one") U("floor") U("log")
        U("log_plus_one") U("logistic") U("negate") U("round_nearest_afz") U("round_nearest_even") U("rsqrt") U("sign")
            U("sine") U("sqrt") U("tan") U("tanh") B("add") B("atan2") B("divide") B("maximum") B("minimum")
                B("multiply") B("power") B("remainder") B("subtract") I("and") I("or") I("xor") I("shift_left")
                    I("shift_right_arithmetic")
                        I("shift_right_logical"){"%arg0: tensor<4xi32>", "%0 = stablehlo.not %arg0 : tensor<4xi32>"},
    {"%arg0: tensor<4xi32>", "%0 = stablehlo.popcnt %arg0 : tensor<4xi32>"},
    {"%arg0: tensor<4xi32>", "%0 = stablehlo.count_leading_zeros %arg0 : tensor<4xi32>"},
    {F, "%0 = stablehlo.convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>"},
    {F, "%0 = stablehlo.is_finite %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi1>"},
    {F, "%0 = stablehlo.bitcast_convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi32>"},
    {F, "%0 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<2x3xf32>"},
    {FF, "%0 = stablehlo.complex %arg0, %arg1 : tensor<2x3xcomplex<f32>>"},
    {"%arg0: tensor<2xcomplex<f64>>", "%0 = stablehlo.real %arg0 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>"},
    {"%arg0: tensor<2xcomplex<f64>>", "%0 = stablehlo.imag %arg0 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>"},
    {FF, "%0 = stablehlo.compare GE, %arg0, %arg1, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>"},
    {FF, "%0 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>"},
    {"%arg0: tensor<i1>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>",
     "%0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<3xf32>"},
    {"%arg0: tensor<f32>, %arg1: tensor<3xf32>",
     "%0 = stablehlo.clamp %arg0, %arg1, %arg0 : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>"},
    {FF, "%0 = stablehlo.clamp %arg0, %arg1, %arg0 : tensor<2x3xf32>"},
    {FF, "%0 = stablehlo.add %arg0, %arg1 {mhlo.note = \"x\"} : tensor<2x3xf32>"},
    {F, "%0 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = "
        "#stablehlo.result_accuracy_mode<HIGHEST>>} : "
        "tensor<2x3xf32>"},
    {"", "%0 = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>"},
    {"", "%0 = stablehlo.constant dense<true> : tensor<4xi1>"},
    {"", "%0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>"},
    {"", "%0 = stablehlo.constant dense<> : tensor<0x3xf32>"},
    {"", "%0 = stablehlo.constant dense<(1.000000e+00,-2.500000e+00)> : tensor<complex<f32>>"},
    {"", "%0 = stablehlo.iota dim = 1 : tensor<2x3xui16>"},
    {"%arg0: tensor<1xi64>", "%0 = stablehlo.dynamic_iota %arg0, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>"},
    {F, "%0 = stablehlo.broadcast %arg0, sizes = [4] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>"},
    {F, "%0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>"},
    {"%arg0: tensor<f32>", "%0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<4xf32>"},
    {"%arg0: tensor<3xf32>, %arg1: tensor<2xi64>", "%0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [1] : "
                                                   "(tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>"},
    {FF, "%0 = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>"},
    {F, "%0 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>"},
    {"%arg0: tensor<3xf32>, %arg1: tensor<f32>", "%0 = stablehlo.pad %arg0, %arg1, low = [1], high = [-1], interior = "
                                                 "[2] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>"},
    {F, "%0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>"},
    {"%arg0: tensor<6xf32>, %arg1: tensor<2xi32>",
     "%0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x2xf32>"},
    {F, "%0 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<2x3xf32>"},
    {F, "%0 = stablehlo.slice %arg0 [0:2:2, 1:3] : (tensor<2x3xf32>) -> tensor<1x2xf32>"},
    {F, "%0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<i32>", "%0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 3] : "
                                                   "(tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<1x1xf32>, %arg2: tensor<i32>",
     "%0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<i32>, "
     "tensor<i32>) -> "
     "tensor<2x3xf32>"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>", "%0 = stablehlo.dot %arg0, %arg1, precision = [HIGHEST, HIGH] : "
                                                       "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>"},
    {"%arg0: tensor<5x2x3xf32>, %arg1: tensor<5x3x4xf32>",
     "%0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = "
     "[DEFAULT, DEFAULT], algorithm = "
     "<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, "
     "rhs_component_count = 1, "
     "num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> "
     "tensor<5x2x4xf32>"},
    {"%arg0: tensor<2xf32>, %arg1: tensor<3xf32>", "%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x "
                                                   "[] : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>", "%0 = stablehlo.einsum %arg0, %arg1, config = \"ab,bc->ac\" : "
                                                       "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>"},
    {"%arg0: tensor<2x6x8x8xf32>, %arg1: tensor<6x1x3x3xf32>",
     "%0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride "
     "= [1, 1], pad = [[1, 1], [0, "
     "2]], "
     "lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, "
     "feature_group_count = 6 : i64, "
     "precision_config = "
     "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<2x6x8x8xf32>, tensor<6x1x3x3xf32>) -> "
     "tensor<2x6x8x8xf32>"},
    {"%arg0: tensor<4x4xf32>", "%0 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>"},
    {"%arg0: tensor<8xcomplex<f32>>",
     "%0 = stablehlo.fft %arg0, type = IFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>"},
    {"%arg0: tensor<f32>, %arg1: tensor<2xi64>", "%0 = stablehlo.rng %arg0, %arg0, %arg1, distribution = NORMAL : "
                                                 "(tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>"},
    {"%arg0: tensor<2xui64>", "%0:2 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX : (tensor<2xui64>) -> "
                              "(tensor<2xui64>, tensor<3xui32>)"},
    {"%arg0: tensor<2xf32>, %arg1: tensor<i32>",
     "%0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<i32>"},
    {"%arg0: tensor<2xf32>, %arg1: tensor<i32>",
     "%0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<2xf32>, tensor<i32>>\n"
     "    %1 = "
     "stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>"},
    {"", "%0 = stablehlo.create_token : !stablehlo.token\n    %1 = stablehlo.after_all %0, %0 : !stablehlo.token"},
    {"", "%0 = stablehlo.partition_id : tensor<ui32>"},
    {"", "%0 = stablehlo.replica_id : tensor<ui32>"},
    {F, "%0 = stablehlo.custom_call @foo(%arg0) {api_version = 2 : i32, backend_config = \"a\\22b\", has_side_effect = "
        "true, operand_layouts = "
        "[dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> "
        "tensor<2x3xf32>"},
    {F, "%0 = stablehlo.composite \"my.op\" %arg0 {composite_attributes = {n = 1 : i32}, decomposition = @dec, version "
        "= 1 : i32} : "
        "(tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<f32>",
     "%0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [0, 1] : "
     "(tensor<2x3xf32>, tensor<f32>) -> tensor<f32>"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<f32>",
     "%0:2 = stablehlo.reduce(%arg0 init: %arg1), (%arg0 init: %arg1) across dimensions = [1] : (tensor<2x3xf32>, "
     "tensor<2x3xf32>, tensor<f32>, "
     "tensor<f32>) -> "
     "(tensor<2xf32>, tensor<2xf32>)\n"
     "     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>) (%arg4: tensor<f32>, %arg5: tensor<f32>)  {\n"
     "      %1 = stablehlo.add %arg2, %arg3 : tensor<f32>\n      %2 = stablehlo.multiply %arg4, %arg5 : tensor<f32>\n"
     "      stablehlo.return %1, %2 : tensor<f32>, tensor<f32>\n    }"},
    {"%arg0: tensor<i32>", "%0 = stablehlo.while(%arg1 = %arg0) : tensor<i32>\n"
                           "    cond {\n"
                           "      %1 = stablehlo.compare LT, %arg1, %arg0, SIGNED : "
                           "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                           "      stablehlo.return %1 : tensor<i1>\n"
                           "    } do {\n"
                           "      %2 = stablehlo.add %arg1, %arg1 : tensor<i32>\n"
                           "      "
                           "stablehlo.return %2 : tensor<i32>\n    }"},
    /* No pretty form: generic, with structured attributes. */
    {"%arg0: tensor<i1>, %arg1: tensor<2xf32>",
     "%0 = \"stablehlo.if\"(%arg0) ({\n"
     "      stablehlo.return %arg1 : tensor<2xf32>\n"
     "    }, {\n"
     "      %1 = stablehlo.negate %arg1 : tensor<2xf32>\n"
     "      stablehlo.return %1 : tensor<2xf32>\n    }) : (tensor<i1>) -> tensor<2xf32>"},
    {"%arg0: tensor<i32>, %arg1: tensor<2xf32>", "%0 = \"stablehlo.case\"(%arg0) ({\n"
                                                 "      stablehlo.return %arg1 : tensor<2xf32>\n"
                                                 "    }) : (tensor<i32>) -> tensor<2xf32>"},
    {"%arg0: tensor<4x2xf32>, %arg1: tensor<6x1xi32>",
     "%0 = \"stablehlo.gather\"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims = [0], start_index_map "
     "= [0], "
     "index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xf32>, "
     "tensor<6x1xi32>) -> tensor<6x2xf32>"},
    {"%arg0: tensor<4x2xf32>, %arg1: tensor<6x1xi32>, %arg2: tensor<6x2xf32>",
     "%0 = \"stablehlo.scatter\"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = "
     "#stablehlo.scatter<update_window_dims = [1], "
     "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> "
     "({\n"
     "    ^bb0(%arg3: "
     "tensor<f32>, %arg4: "
     "tensor<f32>):\n"
     "      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>\n"
     "      stablehlo.return %1 : tensor<f32>\n"
     "    }) : (tensor<4x2xf32>, "
     "tensor<6x1xi32>, "
     "tensor<6x2xf32>) -> tensor<4x2xf32>"},
    {"%arg0: tensor<20xi32>", "%0 = \"stablehlo.sort\"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({\n"
                              "    ^bb0(%arg1: tensor<i32>, %arg2: "
                              "tensor<i32>):\n      %1 = stablehlo.compare LT, "
                              "%arg1, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                              "      stablehlo.return %1 : tensor<i1>\n"
                              "    }) : "
                              "(tensor<20xi32>) -> tensor<20xi32>"},
    {"%arg0: tensor<4x4xf32>, %arg1: tensor<f32>",
     "%0 = \"stablehlo.reduce_window\"(%arg0, %arg1) <{padding = dense<[[0, 1], [0, 0]]> : "
     "tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = "
     "array<i64: 2, 2>}> ({\n"
     "    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):\n"
     "      %1 = "
     "stablehlo.maximum %arg2, %arg3 : tensor<f32>\n"
     "      stablehlo.return %1 : "
     "tensor<f32>\n"
     "    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>"},
    {"%arg0: tensor<4x4xf32>, %arg1: tensor<4xf32>",
     "%0:3 = \"stablehlo.batch_norm_training\"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-05 : f32, "
     "feature_index = 1 : i64}> : (tensor<4x4xf32>, tensor<4xf32>, "
     "tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)"},
    {"%arg0: tensor<4xf32>",
     "%0 = \"stablehlo.all_reduce\"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
     "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, "
     "use_global_device_ids}> ({\n"
     "    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):\n"
     "      %1 = stablehlo.add %arg1, %arg2 : "
     "tensor<f32>\n      stablehlo.return %1 : "
     "tensor<f32>\n    }) : (tensor<4xf32>) -> tensor<4xf32>"},
    {"%arg0: tensor<4xf32>", "%0 = \"stablehlo.collective_permute\"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, "
                             "0]]> : tensor<2x2xi64>}> : "
                             "(tensor<4xf32>) -> tensor<4xf32>"},
    {"%arg0: tensor<4x4xf32>",
     "%0 = \"stablehlo.triangular_solve\"(%arg0, %arg0) <{left_side = true, lower = true, transpose_a = "
     "#stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : "
     "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"},
    {F, "%0 = \"chlo.square\"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {FF, "\"check.expect_eq\"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()"},
};

static ir_module *parse(const char *text) {
    ir_module *m = NULL;
    xt_status s = ir_parse(text, strlen(text), "test", &m);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    return m;
}

static void each_op_prints_as_it_was_written(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str in = STR_INIT, out = STR_INIT, generic = STR_INIT, again = STR_INIT;
        str_printf(&in,
                   "module {\n"
                   "  func.func public @main(%s) {\n"
                   "    %s\n"
                   "    return\n"
                   "  }\n"
                   "}\n",
                   rows[i].args, rows[i].ops);
        ir_module *m = parse(str_cstr(&in));
        assert_null(ir_print(m, 0, &out));
        assert_string_equal(str_cstr(&in), str_cstr(&out));
        assert_null(ir_print(m, IR_PRINT_GENERIC, &generic));
        ir_module *g = parse(str_cstr(&generic));
        assert_null(ir_print(g, 0, &again));
        assert_string_equal(str_cstr(&in), str_cstr(&again));
        ir_module_free(g);
        ir_module_free(m);
        str_free(&in);
        str_free(&out);
        str_free(&generic);
        str_free(&again);
    }
}

/* Spellings that are read but written otherwise. */
static const struct row other_spellings[] = {
    {"%a: tensor<2xf32>", "%0 = stablehlo.convert %a : tensor<2xf32>"},
    {"%a: tensor<2xf32>", "%0 = chlo.square %a : tensor<2xf32> -> tensor<2xf32>"},
    {"%a: tensor<7xf32>",
     "%values, %indices = chlo.top_k(%a, k = 3) : tensor<7xf32> -> (tensor<3xf32>, tensor<3xi32>)"},
    {"%a: tensor<2xf32>, %b: tensor<2xf32>",
     "%0 = chlo.broadcast_add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"},
    {"%a: tensor<2xf32>", "check.expect_eq_const %a, dense<1.0> : tensor<2xf32>"},
    {"%a: tensor<2xf32>", "check.expect_close %a, %a, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>"},
    {"%a: tensor<2xf32>", "%0 = sdy.sharding_constraint %a <@mesh, [{\"x\"}]> : tensor<2xf32>"},
    {"%a: tensor<2xf32>", "%0 = \"stablehlo.slice\"(%a) {start_indices = dense<0> : tensor<1xi64>, limit_indices = "
                          "dense<[1]> : tensor<1xi64>, "
                          "strides = array<i64: 1>} : (tensor<2xf32>) -> tensor<1xf32>"},
    {"%a: tensor<2xf32> loc(\"x\")", "%0 = stablehlo.negate %a : tensor<2xf32> loc(fused<\"m\">[\"a\"(\"f.py\":1:2), "
                                     "unknown, callsite(\"b\" at \"g.c\":3:4 to :5)])"},
    {"", "stablehlo.return\n}\nfunc.func @g() {"}, /* MLIR lets either return end a function */
    {"", "stablehlo.return\n}\nfunc.func @g() {"}, /* either return may end a function */
    {"%a: tensor<2xf32>", "%0 = stablehlo.dot %a, %a, precision = [] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>"},
    {"", "%0 = stablehlo.constant() {value = dense<1> : tensor<i32>} : () -> tensor<i32>"},
    {"", "%0 = stablehlo.constant dense<\"0x0100000002000000\"> : tensor<2xi32> // a comment"},
};

static void other_spellings_are_read(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(other_spellings); i++) {
        str in = STR_INIT, out = STR_INIT;
        str_printf(&in, "func.func @main(%s) {\n %s\n func.return\n}\n", other_spellings[i].args,
                   other_spellings[i].ops);
        ir_module *m = parse(str_cstr(&in));
        assert_null(ir_print(m, 0, &out));
        ir_module_free(parse(str_cstr(&out)));
        ir_module_free(m);
        str_free(&in);
        str_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_op_prints_as_it_was_written),
                                       cmocka_unit_test(other_spellings_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
