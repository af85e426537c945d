/* Inference as data. Good rows: the op is accepted, and where its results can be inferred, inference alone gives what the row states. Bad rows:
 * each breaks one constraint, and the message names it. Rows are written in MLIR's generic form, put together from their parts:
 * operand types with ';' between ("2x3xf32" is short for tensor<2x3xf32>), attributes, regions, result types. */
#include "ir/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct row {
    const char *constraint; /* NULL: a good row */
    const char *op, *in, *attrs, *regions, *out;
} row;

#define BINARY(op, e) "({\n^bb0(%p: tensor<" e ">, %q: tensor<" e ">):\n%s = \"stablehlo." op "\"(%p, %q) : (tensor<" e ">, tensor<" e ">) -> tensor<" e ">\n" \
                      "\"stablehlo.return\"(%s) : (tensor<" e ">) -> ()\n})"
#define COMPARE(e) "({\n^bb0(%p: tensor<" e ">, %q: tensor<" e ">):\n%s = \"stablehlo.compare\"(%p, %q) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<" e \
                   ">, tensor<" e ">) -> tensor<i1>\n\"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n})"
#define UNARY(e) "({\n^bb0(%p: tensor<" e ">):\n\"stablehlo.return\"(%p) : (tensor<" e ">) -> ()\n})"
#define BRANCH "{\n%s = \"stablehlo.constant\"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>\n\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n}"
#define BRANCH_I32 "{\n%s = \"stablehlo.constant\"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>\n\"stablehlo.return\"(%s) : (tensor<i32>) -> ()\n}"
#define LOOP(cond_type) "({\n^bb0(%p: tensor<f32>):\n%s = \"stablehlo.constant\"() <{value = dense<0> : tensor<" cond_type ">}> : () -> tensor<" cond_type ">\n\"stablehlo.return\"(%s) : (tensor<" cond_type \
                        ">) -> ()\n}, {\n^bb0(%p: tensor<f32>):\n\"stablehlo.return\"(%p) : (tensor<f32>) -> ()\n})"
#define DOT(lb, rb, lc, rc) "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [" lb "], rhs_batching_dimensions = [" rb "], lhs_contracting_dimensions = [" lc \
                            "], rhs_contracting_dimensions = [" rc "]>"
#define CONV_DIMS "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"
#define GROUPS "feature_group_count = 1 : i64, batch_group_count = 1 : i64"
#define GATHER(offset, collapsed, batch, start_batch, map, vector) "dimension_numbers = #stablehlo.gather<offset_dims = [" offset "], collapsed_slice_dims = [" collapsed \
    "], operand_batching_dims = [" batch "], start_indices_batching_dims = [" start_batch "], start_index_map = [" map "], index_vector_dim = " vector ">"
#define SCATTER(window, inserted, batch, index_batch, map, vector) "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" window "], inserted_window_dims = [" inserted \
    "], input_batching_dims = [" batch "], scatter_indices_batching_dims = [" index_batch "], scatter_dims_to_operand_dims = [" map "], index_vector_dim = " vector ">"

static const row rows[] = {
    /* Elementwise. */
    {NULL, "add", "2x3xf32;2x3xf32", "", "", "2x3xf32"},
    {NULL, "add", "i1;i1", "", "", "i1"},
    {"add_c1", "add", "2xf32;3xf32", "", "", "2xf32"},
    {"add_c1", "add", "2xf32;2xf64", "", "", "2xf32"},
    {"subtract_i1", "subtract", "2xi1;2xi1", "", "", "2xi1"},
    {"and_i1", "and", "2xf32;2xf32", "", "", "2xf32"},
    {"shift_left_i1", "shift_left", "2xf32;2xf32", "", "", "2xf32"},
    {"atan2_i1", "atan2", "2xi32;2xi32", "", "", "2xi32"},
    {NULL, "abs", "2xcomplex<f32>", "", "", "2xf32"},
    {"abs_i1", "abs", "2xui32", "", "", "2xui32"},
    {"sine_i1", "sine", "2xi32", "", "", "2xi32"},
    {"ceil_i1", "ceil", "2xcomplex<f32>", "", "", "2xcomplex<f32>"},
    {"popcnt_i1", "popcnt", "2xi1", "", "", "2xi1"},
    {"not_i1", "not", "2xf32", "", "", "2xf32"},
    {"sign_i1", "sign", "2xui8", "", "", "2xui8"},
    {NULL, "is_finite", "2xf32", "", "", "2xi1"},
    {"is_finite_i1", "is_finite", "2xi32", "", "", "2xi1"},
    {NULL, "real", "2xcomplex<f64>", "", "", "2xf64"},
    {"imag_i1", "imag", "2xi32", "", "", "2xi32"},
    {NULL, "complex", "2xf32;2xf32", "", "", "2xcomplex<f32>"},
    {"complex_c1", "complex", "2xf32;3xf32", "", "", "2xcomplex<f32>"},
    {"complex_i1", "complex", "2xbf16;2xbf16", "", "", "2xcomplex<f32>"},
    {NULL, "convert", "2xf32", "", "", "2xi32"},
    {"convert_c1", "convert", "2xf32", "", "", "3xi32"},
    {NULL, "compare", "2xf32;2xf32", "comparison_direction = #stablehlo<comparison_direction LT>", "", "2xi1"},
    {"compare_c1", "compare", "2xf32;2xi32", "comparison_direction = #stablehlo<comparison_direction LT>", "", "2xi1"},
    {"compare_c2", "compare", "2xf32;3xf32", "comparison_direction = #stablehlo<comparison_direction LT>", "", "2xi1"},
    {"compare_c3", "compare", "2xf32;2xf32", "comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>", "", "2xi1"},
    {"'comparison_direction' is missing", "compare", "2xf32;2xf32", "", "", "2xi1"},
    {NULL, "clamp", "f32;2xf32;2xf32", "", "", "2xf32"},
    {"clamp_c1", "clamp", "3xf32;2xf32;f32", "", "", "2xf32"},
    {"clamp_c2", "clamp", "f32;2xf32;3xf32", "", "", "2xf32"},
    {"clamp_c3", "clamp", "f64;2xf32;f32", "", "", "2xf32"},
    {NULL, "select", "i1;2xf32;2xf32", "", "", "2xf32"},
    {"select_c1", "select", "3xi1;2xf32;2xf32", "", "", "2xf32"},
    {"select_c2", "select", "i1;2xf32;3xf32", "", "", "2xf32"},
    {"select_i1", "select", "2xi32;2xf32;2xf32", "", "", "2xf32"},
    {NULL, "reduce_precision", "2xf32", "exponent_bits = 5 : i32, mantissa_bits = 10 : i32", "", "2xf32"},
    {"reduce_precision_c2", "reduce_precision", "2xf32", "exponent_bits = 0 : i32, mantissa_bits = 10 : i32", "", "2xf32"},
    {"reduce_precision_c3", "reduce_precision", "2xf32", "exponent_bits = 5 : i32, mantissa_bits = -1 : i32", "", "2xf32"},
    {"stated differently", "negate", "2xf32", "", "", "3xf32"},
    /* Shapes. */
    {NULL, "iota", "", "iota_dimension = 1 : i64", "", "2x3xi32"},
    {"iota_c1", "iota", "", "iota_dimension = 2 : i64", "", "2x3xi32"},
    {NULL, "bitcast_convert", "2xf32", "", "", "2x4xui8"},
    {NULL, "bitcast_convert", "2x2xf32", "", "", "2xf64"},
    {"bitcast_convert_c1", "bitcast_convert", "2xf32", "", "", "2x3xui8"},
    {"bitcast_convert_c2", "bitcast_convert", "2xcomplex<f32>", "", "", "2xf64"},
    {NULL, "broadcast", "3xf32", "broadcast_sizes = array<i64: 2>", "", "2x3xf32"},
    {NULL, "broadcast_in_dim", "3x1xf32", "broadcast_dimensions = array<i64: 1, 0>", "", "4x3xf32"},
    {"broadcast_in_dim_c1", "broadcast_in_dim", "3xf32", "broadcast_dimensions = array<i64: 0>", "", "3xf64"},
    {"broadcast_in_dim_c2", "broadcast_in_dim", "3xf32", "broadcast_dimensions = array<i64>", "", "3xf32"},
    {"broadcast_in_dim_c3", "broadcast_in_dim", "3xf32", "broadcast_dimensions = array<i64: 1>", "", "3xf32"},
    {"broadcast_in_dim_c4", "broadcast_in_dim", "3x3xf32", "broadcast_dimensions = array<i64: 0, 0>", "", "3x3xf32"},
    {"broadcast_in_dim_c5", "broadcast_in_dim", "3xf32", "broadcast_dimensions = array<i64: 0>", "", "4xf32"},
    {NULL, "concatenate", "2x3xf32;2x4xf32", "dimension = 1 : i64", "", "2x7xf32"},
    {"concatenate_c1", "concatenate", "2xf32;2xf64", "dimension = 0 : i64", "", "4xf32"},
    {"concatenate_c2", "concatenate", "2x3xf32;3x3xf32", "dimension = 1 : i64", "", "2x6xf32"},
    {"concatenate_c3", "concatenate", "", "dimension = 0 : i64", "", "2xf32"},
    {"concatenate_c4", "concatenate", "2xf32", "dimension = 1 : i64", "", "2xf32"},
    {NULL, "get_dimension_size", "2x3xf32", "dimension = 1 : i64", "", "i32"},
    {"get_dimension_size_c1", "get_dimension_size", "2xf32", "dimension = 1 : i64", "", "i32"},
    {NULL, "pad", "3xf32;f32", "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: -1>, interior_padding = array<i64: 2>", "", "7xf32"},
    {"pad_c1", "pad", "3xf32;f64", "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>", "", "4xf32"},
    {"pad_c2", "pad", "3xf32;f32", "edge_padding_low = array<i64: 1, 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>", "", "4xf32"},
    {"pad_c3", "pad", "3xf32;f32", "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: -1>", "", "4xf32"},
    {"pad_c4", "pad", "3xf32;f32", "edge_padding_low = array<i64: -4>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>", "", "4xf32"},
    {NULL, "reshape", "2x3xf32", "", "", "6xf32"},
    {"reshape_c1", "reshape", "2x3xf32", "", "", "6xf64"},
    {"reshape_c2", "reshape", "2x3xf32", "", "", "5xf32"},
    {NULL, "reverse", "2x3xf32", "dimensions = array<i64: 1>", "", "2x3xf32"},
    {"reverse_c2", "reverse", "2x3xf32", "dimensions = array<i64: 1, 1>", "", "2x3xf32"},
    {"reverse_c3", "reverse", "2x3xf32", "dimensions = array<i64: 2>", "", "2x3xf32"},
    {NULL, "slice", "10xf32", "start_indices = array<i64: 1>, limit_indices = array<i64: 9>, strides = array<i64: 3>", "", "3xf32"},
    {"slice_c2", "slice", "10xf32", "start_indices = array<i64: 1, 1>, limit_indices = array<i64: 9>, strides = array<i64: 3>", "", "3xf32"},
    {"slice_c3", "slice", "10xf32", "start_indices = array<i64: 1>, limit_indices = array<i64: 11>, strides = array<i64: 3>", "", "3xf32"},
    {"slice_c4", "slice", "10xf32", "start_indices = array<i64: 1>, limit_indices = array<i64: 9>, strides = array<i64: 0>", "", "3xf32"},
    {NULL, "transpose", "2x3x4xf32", "permutation = array<i64: 2, 0, 1>", "", "4x2x3xf32"},
    {"transpose_c2", "transpose", "2x3xf32", "permutation = array<i64: 0, 0>", "", "2x3xf32"},
    {"transpose_c2", "transpose", "2x3xf32", "permutation = array<i64: 0>", "", "2x3xf32"},
    /* Dynamic shapes. */
    {NULL, "dynamic_reshape", "?xf32;2xi64", "", "", "?x2xf32"},
    {"dynamic_reshape_c4", "dynamic_reshape", "?xf32;3xi64", "", "", "?x2xf32"},
    {NULL, "dynamic_broadcast_in_dim", "3xf32;2xi64", "broadcast_dimensions = array<i64: 1>", "", "?x3xf32"},
    {"dynamic_broadcast_in_dim_c7", "dynamic_broadcast_in_dim", "3xf32;3xi64", "broadcast_dimensions = array<i64: 1>", "", "?x3xf32"},
    {"dynamic_broadcast_in_dim_c8", "dynamic_broadcast_in_dim", "3xf32;2xi64", "broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>", "", "?x3xf32"},
    {NULL, "dynamic_iota", "1xi64", "iota_dimension = 0 : i64", "", "?xi32"},
    {"dynamic_iota_c1", "dynamic_iota", "1xi64", "iota_dimension = 1 : i64", "", "?xi32"},
    {NULL, "dynamic_pad", "3xf32;f32;1xi64;1xi64;1xi64", "", "", "?xf32"},
    {"dynamic_pad_c2", "dynamic_pad", "3xf32;f32;2xi64;1xi64;1xi64", "", "", "?xf32"},
    {NULL, "real_dynamic_slice", "3xf32;1xi64;1xi64;1xi64", "", "", "?xf32"},
    {NULL, "add", "?xf32;3xf32", "", "", "3xf32"},
    /* Contractions. */
    {NULL, "dot", "2x3xf32;3x4xf32", "", "", "2x4xf32"},
    {NULL, "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "0", "2", "1"), "", "5x2x4xf32"},
    {"dot_general_c1", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "", "2", "1"), "", "5x2x4xf32"},
    {"dot_general_c2", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "0", "2", ""), "", "5x2x4xf32"},
    {"dot_general_c3", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "0", "0", "1"), "", "5x2x4xf32"},
    {"dot_general_c4", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "0", "2", "0"), "", "5x2x4xf32"},
    {"dot_general_c5", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("3", "0", "2", "1"), "", "5x2x4xf32"},
    {"dot_general_c6", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "0", "3", "1"), "", "5x2x4xf32"},
    {"dot_general_c7", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "3", "2", "1"), "", "5x2x4xf32"},
    {"dot_general_c8", "dot_general", "5x2x3xf32;5x3x4xf32", DOT("0", "0", "2", "3"), "", "5x2x4xf32"},
    {"dot_general_c9", "dot_general", "5x2x3xf32;6x3x4xf32", DOT("0", "0", "2", "1"), "", "5x2x4xf32"},
    {"dot_general_c10", "dot_general", "5x2x3xf32;5x4x4xf32", DOT("0", "0", "2", "1"), "", "5x2x4xf32"},
    {"dot_general_c11", "dot_general", "2x3xf32;3x4xf32", DOT("", "", "1", "0") ", precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]", "", "2x4xf32"},
    {"dot_general_c13", "dot_general", "2x3xf32;3x4xf64", DOT("", "", "1", "0"), "", "2x4xf32"},
    {NULL, "einsum", "2x3xf32;3x4xf32", "einsum_config = \"ab,bc->ac\"", "", "2x4xf32"},
    {"index 'b' is 3 and 5", "einsum", "2x3xf32;5x4xf32", "einsum_config = \"ab,bc->ac\"", "", "2x4xf32"},
    {NULL, "unary_einsum", "2x3xf32", "einsum_config = \"ab->ba\"", "", "3x2xf32"},
    {NULL, "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", window_strides = array<i64: 2>, padding = dense<1> : tensor<1x2xi64>, " GROUPS, "", "2x5x4xf32"},
    {"convolution_c1", "convolution", "2x3x8xf32;5x3xf32", CONV_DIMS ", " GROUPS, "", "2x5x6xf32"},
    {"convolution_c2", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", window_strides = array<i64: 2, 1>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c3", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", window_strides = array<i64: 0>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c4", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", padding = dense<1> : tensor<2x2xi64>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c5", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", lhs_dilation = array<i64: 1, 1>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c6", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", lhs_dilation = array<i64: 0>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c7", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", rhs_dilation = array<i64: 1, 1>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c8", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", rhs_dilation = array<i64: 0>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c9", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", window_reversal = array<i1: true, false>, " GROUPS, "", "2x5x6xf32"},
    {"convolution_c10", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", feature_group_count = 1 : i64, batch_group_count = 3 : i64", "", "2x5x6xf32"},
    {"convolution_c11", "convolution", "2x3x8xf32;4x3x3xf32", CONV_DIMS ", feature_group_count = 2 : i64, batch_group_count = 1 : i64", "", "2x4x6xf32"},
    {"convolution_c14", "convolution", "2x4x8xf32;5x3x3xf32", CONV_DIMS ", " GROUPS, "", "2x5x6xf32"},
    {"convolution_c15", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", feature_group_count = 1 : i64, batch_group_count = 2 : i64", "", "1x5x6xf32"},
    {"convolution_c16", "convolution", "2x4x8xf32;5x2x3xf32", CONV_DIMS ", feature_group_count = 2 : i64, batch_group_count = 1 : i64", "", "2x5x6xf32"},
    {"convolution_c21", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", feature_group_count = 0 : i64, batch_group_count = 1 : i64", "", "2x5x6xf32"},
    {"convolution_c22", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", feature_group_count = 1 : i64, batch_group_count = 0 : i64", "", "2x5x6xf32"},
    {"convolution_c23", "convolution", "2x4x8xf32;4x2x3xf32", CONV_DIMS ", feature_group_count = 2 : i64, batch_group_count = 2 : i64", "", "2x4x6xf32"},
    {"convolution_c27", "convolution", "2x3x8xf32;5x3x3xf64", CONV_DIMS ", " GROUPS, "", "2x5x6xf32"},
    {"stated differently", "convolution", "2x3x8xf32;5x3x3xf32", CONV_DIMS ", " GROUPS, "", "2x5x7xf32"},
    {NULL, "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64", CONV_DIMS ", " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c4", "dynamic_conv", "2x3x8xf32;5x3x3xf32;2x2xi64", CONV_DIMS ", " GROUPS, "", "2x5x?xf32"},
    /* Computations. */
    {NULL, "reduce", "2x3xf32;f32", "dimensions = array<i64: 1>", BINARY("add", "f32"), "2xf32"},
    {"reduce_c2", "reduce", "2x3xf32;f64", "dimensions = array<i64: 1>", BINARY("add", "f32"), "2xf32"},
    {"reduce_c3", "reduce", "2x3xf32;f32;f32", "dimensions = array<i64: 1>", BINARY("add", "f32"), "2xf32"},
    {"reduce_c4", "reduce", "2x3xf32;f32", "dimensions = array<i64: 2>", BINARY("add", "f32"), "2xf32"},
    {"reduce_c5", "reduce", "2x3xf32;f32", "dimensions = array<i64: 1, 1>", BINARY("add", "f32"), "2xf32"},
    {"reduce_c6", "reduce", "2x3xf32;f32", "dimensions = array<i64: 1>", BINARY("add", "i32"), "2xf32"},
    {"reduce_c6", "reduce", "2x3xf32;f32", "dimensions = array<i64: 1>", UNARY("f32"), "2xf32"},
    {NULL, "reduce", "2x3xbf16;bf16", "dimensions = array<i64: 1>", BINARY("add", "f32"), "2xf32"},
    {NULL, "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", BINARY("add", "f32"), "4xf32"},
    {"reduce_window_c1", "reduce_window", "8xf32", "window_dimensions = array<i64: 2>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c3", "reduce_window", "8xf32;f64", "window_dimensions = array<i64: 2>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c4", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2, 2>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c5", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 0>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c6", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 1, 1>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c7", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 0>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c8", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, base_dilations = array<i64: 1, 1>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c9", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, base_dilations = array<i64: 0>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c10", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, window_dilations = array<i64: 1, 1>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c11", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, window_dilations = array<i64: 0>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c12", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>, padding = dense<0> : tensor<2x2xi64>", BINARY("add", "f32"), "7xf32"},
    {"reduce_window_c13", "reduce_window", "8xf32;f32", "window_dimensions = array<i64: 2>", BINARY("add", "i32"), "7xf32"},
    {NULL, "select_and_scatter", "8xf32;4xf32;f32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "SELECT", "8xf32"},
    {"select_and_scatter_c1", "select_and_scatter", "8xf32;4xf64;f32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "SELECT", "8xf32"},
    {"select_and_scatter_c2", "select_and_scatter", "8xf32;5xf32;f32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "SELECT", "8xf32"},
    {"select_and_scatter_c3", "select_and_scatter", "8xf32;4xf32;f64", "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "SELECT", "8xf32"},
    {"select_and_scatter_c9", "select_and_scatter", "8xi32;4xi32;i32", "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", "SELECT", "8xi32"},
    {NULL, "map", "2x3xf32", "dimensions = array<i64: 0, 1>", UNARY("f32"), "2x3xf32"},
    {"map_c1", "map", "2xf32;3xf32", "dimensions = array<i64: 0>", BINARY("add", "f32"), "2xf32"},
    {"map_c3", "map", "2x3xf32", "dimensions = array<i64: 0>", UNARY("f32"), "2x3xf32"},
    {"map_c4", "map", "2xf32", "dimensions = array<i64: 0>", UNARY("i32"), "2xf32"},
    {NULL, "sort", "8xf32", "dimension = -1 : i64", COMPARE("f32"), "8xf32"},
    {"sort_c4", "sort", "8xf32", "dimension = 1 : i64", COMPARE("f32"), "8xf32"},
    {"sort_c5", "sort", "8xf32", "dimension = 0 : i64", BINARY("add", "f32"), "8xf32"},
    /* Indexing. */
    {NULL, "dynamic_slice", "4x5xf32;i32;i32", "slice_sizes = array<i64: 2, 3>", "", "2x3xf32"},
    {"dynamic_slice_c2", "dynamic_slice", "4x5xf32;i32", "slice_sizes = array<i64: 2, 3>", "", "2x3xf32"},
    {"dynamic_slice_c3", "dynamic_slice", "4x5xf32;i32;i64", "slice_sizes = array<i64: 2, 3>", "", "2x3xf32"},
    {"dynamic_slice_c4", "dynamic_slice", "4x5xf32;i32;i32", "slice_sizes = array<i64: 2, 6>", "", "2x6xf32"},
    {NULL, "dynamic_update_slice", "4x5xf32;2x3xf32;i32;i32", "", "", "4x5xf32"},
    {"dynamic_update_slice_c2", "dynamic_update_slice", "4x5xf32;2x3xf64;i32;i32", "", "", "4x5xf32"},
    {"dynamic_update_slice_c3", "dynamic_update_slice", "4x5xf32;2xf32;i32;i32", "", "", "4x5xf32"},
    {"dynamic_update_slice_c4", "dynamic_update_slice", "4x5xf32;2x3xf32;i32", "", "", "4x5xf32"},
    {"dynamic_update_slice_c5", "dynamic_update_slice", "4x5xf32;2x3xf32;i32;i64", "", "", "4x5xf32"},
    {"dynamic_update_slice_c6", "dynamic_update_slice", "4x5xf32;2x6xf32;i32;i32", "", "", "4x5xf32"},
    {NULL, "gather", "3x4xf32;2x1xi32", GATHER("1", "0", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {NULL, "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "0", "1", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c1", "gather", "3x4xf32;2x1xi32", GATHER("1", "", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c2", "gather", "3x4xf32;2x1xi32", GATHER("1", "0", "", "", "0", "3") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c3", "gather", "3x4xf32;2x2xi32", GATHER("1", "0", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c4", "gather", "3x4xf32;2x1xi32", GATHER("1, 1", "", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c5", "gather", "3x4xf32;2x1xi32", GATHER("2", "0", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c6", "gather", "3x4xf32;3x2x1xi32", GATHER("", "0", "0", "0", "1", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c7", "gather", "3x4xf32;2x1xi32", GATHER("", "1, 0", "", "", "0", "1") ", slice_sizes = array<i64: 1, 1>", "", "2xf32"},
    {"gather_c8", "gather", "3x4xf32;2x1xi32", GATHER("1", "2", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c9", "gather", "3x4xf32;2x1xi32", GATHER("1", "0", "", "", "0", "1") ", slice_sizes = array<i64: 2, 4>", "", "2x4xf32"},
    {"gather_c12", "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "0", "1", "2") ", slice_sizes = array<i64: 2, 1>", "", "3x2xf32"},
    {"gather_c14", "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "3", "1", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c15", "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "2", "1", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c16", "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "", "1", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c17", "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "1", "1", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c18", "gather", "3x4xf32;3x2x1xi32", GATHER("", "1", "0", "0", "0", "2") ", slice_sizes = array<i64: 1, 1>", "", "3x2xf32"},
    {"gather_c19", "gather", "3x4xf32;2x1xi32", GATHER("1", "0", "", "", "2", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {"gather_c20", "gather", "3x4xf32;2x1xi32", GATHER("1", "0", "", "", "0", "1") ", slice_sizes = array<i64: 1>", "", "2x4xf32"},
    {"gather_c21", "gather", "3x4xf32;2x1xi32", GATHER("1", "0", "", "", "0", "1") ", slice_sizes = array<i64: 1, 5>", "", "2x5xf32"},
    {"gather_i2", "gather", "3x4xf32;2x1xf32", GATHER("1", "0", "", "", "0", "1") ", slice_sizes = array<i64: 1, 4>", "", "2x4xf32"},
    {NULL, "dynamic_gather", "3x4xf32;2x1xi32;2xi32", GATHER("1", "0", "", "", "0", "1"), "", "2x?xf32"},
    {NULL, "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c2", "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("1", "", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c4", "scatter", "3x4xf32;2x1xi32;2x5xf32", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c4", "scatter", "3x4xf32;2x1xi32;3x4xf32", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c5", "scatter", "3x4xf32;2x1xi32", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c6", "scatter", "3x4xf32;2x1xi32;2x4xf64", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c8", "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("2", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c11", "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("1", "2", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c19", "scatter", "3x4xf32;2x2xi32;2x4xf32", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c21", "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("1", "0", "", "", "2", "1"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c22", "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("1", "0", "", "", "0", "3"), BINARY("add", "f32"), "3x4xf32"},
    {"scatter_c23", "scatter", "3x4xf32;2x1xi32;2x4xf32", SCATTER("1", "0", "", "", "0", "1"), BINARY("add", "i32"), "3x4xf32"},
    {NULL, "torch_index_select", "3x4xf32;2xi32", "dim = 0 : i64, batch_dims = 0 : i64", "", "2x4xf32"},
    /* Normalisation, linear algebra, random numbers. */
    {NULL, "batch_norm_training", "2x3xf32;3xf32;3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_training_c1", "batch_norm_training", "2x3xf32;3xf32;3xf32", "epsilon = 0.1 : f32, feature_index = 2 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_training_c2", "batch_norm_training", "2x3xf32;3xf64;3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_training_c3", "batch_norm_training", "2x3xf32;2xf32;3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_training_c4", "batch_norm_training", "2x3xf32;3xf32;2xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {NULL, "batch_norm_inference", "2x3xf32;3xf32;3xf32;3xf32;3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32"},
    {"batch_norm_inference_c6", "batch_norm_inference", "2x3xf32;3xf32;3xf32;3xf32;2xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32"},
    {NULL, "batch_norm_grad", "2x3xf32;3xf32;3xf32;3xf32;2x3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_grad_c3", "batch_norm_grad", "2x3xf32;3xf32;3xf32;3xf32;3x3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_grad_c5", "batch_norm_grad", "2x3xf32;2xf32;3xf32;3xf32;2x3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {NULL, "cholesky", "2x3x3xf32", "lower = true", "", "2x3x3xf32"},
    {"cholesky_c2", "cholesky", "3xf32", "lower = true", "", "3xf32"},
    {"cholesky_c3", "cholesky", "2x3xf32", "lower = true", "", "2x3xf32"},
    {NULL, "triangular_solve", "3x3xf32;3x2xf32", "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>", "", "3x2xf32"},
    {"triangular_solve_c1", "triangular_solve", "3x3xf32;3x2xf64", "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>", "", "3x2xf64"},
    {"triangular_solve_c2", "triangular_solve", "3xf32;3xf32", "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>", "", "3xf32"},
    {"triangular_solve_c3", "triangular_solve", "3x3xf32;3x2xf32", "left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>", "", "3x2xf32"},
    {NULL, "fft", "2x8xf32", "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>", "", "2x5xcomplex<f32>"},
    {NULL, "fft", "2x5xcomplex<f32>", "fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>", "", "2x8xf32"},
    {"fft_c1", "fft", "8xcomplex<f32>", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8, 8>", "", "8xcomplex<f32>"},
    {"fft_c2", "fft", "8xf32", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>", "", "8xf32"},
    {"fft_c3", "fft", "8xcomplex<f32>", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>", "", "8xcomplex<f32>"},
    {"fft_c4", "fft", "7xf32", "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>", "", "5xcomplex<f32>"},
    {"fft_c5", "fft", "6xcomplex<f32>", "fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>", "", "8xf32"},
    {NULL, "rng", "f32;f32;2xi64", "rng_distribution = #stablehlo<rng_distribution NORMAL>", "", "2x3xf32"},
    {"rng_c1", "rng", "f32;f64;2xi64", "rng_distribution = #stablehlo<rng_distribution NORMAL>", "", "2x3xf32"},
    {"rng_c2", "rng", "i32;i32;2xi64", "rng_distribution = #stablehlo<rng_distribution NORMAL>", "", "2x3xi32"},
    {"rng_c3", "rng", "f32;f32;3xi64", "rng_distribution = #stablehlo<rng_distribution UNIFORM>", "", "2x3xf32"},
    {NULL, "rng_bit_generator", "2xui64", "rng_algorithm = #stablehlo<rng_algorithm PHILOX>", "", "2xui64;4xui32"},
    {"rng_bit_generator_c1", "rng_bit_generator", "2xui64", "rng_algorithm = #stablehlo<rng_algorithm PHILOX>", "", "3xui64;4xui32"},
    {"rng_bit_generator_c2", "rng_bit_generator", "3xui64", "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>", "", "3xui64;4xui32"},
    /* Control flow. */
    {NULL, "if", "i1", "", "(" BRANCH ", " BRANCH ")", "f32"},
    {"if_i1", "if", "i32", "", "(" BRANCH ", " BRANCH ")", "f32"},
    {"if_c2", "if", "i1", "", "(" BRANCH ", " BRANCH_I32 ")", "f32"},
    {NULL, "case", "i32", "", "(" BRANCH ", " BRANCH ", " BRANCH ")", "f32"},
    {"case_c3", "case", "i32", "", "(" BRANCH_I32 ", " BRANCH ")", "i32"},
    {NULL, "while", "f32", "", LOOP("i1"), "f32"},
    {"while_c1", "while", "f32", "", LOOP("i32"), "f32"},
    {"while_c1", "while", "f64", "", LOOP("i1"), "f64"},
    {NULL, "optimization_barrier", "f32;2xi32", "", "", "f32;2xi32"},
    {NULL, "tuple", "f32;2xi32", "", "", "tuple<tensor<f32>, tensor<2xi32>>"},
    {NULL, "get_tuple_element", "tuple<tensor<f32>, tensor<2xi32>>", "index = 1 : i32", "", "2xi32"},
    {"get_tuple_element_c1", "get_tuple_element", "tuple<tensor<f32>>", "index = 1 : i32", "", "f32"},
    {NULL, "after_all", "!stablehlo.token;!stablehlo.token", "", "", "!stablehlo.token"},
    {"after_all_i1", "after_all", "f32", "", "", "!stablehlo.token"},
    {NULL, "create_token", "", "", "", "!stablehlo.token"},
    {NULL, "custom_call", "f32", "call_target_name = \"x\"", "", "3xf32"},
    {"'call_target_name' is missing", "custom_call", "f32", "", "", "3xf32"},
    {"composite_c1", "composite", "f32", "name = \"x\", decomposition = @f", "", "f32"},
    {NULL, "infeed", "!stablehlo.token", "infeed_config = \"\"", "", "2xf32;!stablehlo.token"},
    {"infeed_c3", "infeed", "!stablehlo.token", "infeed_config = \"\"", "", "2xf32"},
    {NULL, "outfeed", "2xf32;!stablehlo.token", "outfeed_config = \"\"", "", "!stablehlo.token"},
    {NULL, "send", "2xf32;!stablehlo.token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true", "", "!stablehlo.token"},
    {"send_c5", "send", "2xf32;!stablehlo.token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true", "", "!stablehlo.token"},
    {NULL, "recv", "!stablehlo.token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true", "", "2xf32;!stablehlo.token"},
    /* Between devices. */
    {NULL, "all_gather", "2x3xf32", "all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "2x6xf32"},
    {"all_gather_c1", "all_gather", "2x3xf32", "all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "2x6xf32"},
    {"all_gather_c2", "all_gather", "2x3xf32", "all_gather_dim = 1 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>", "", "2x6xf32"},
    {"all_gather_c4", "all_gather", "2x3xf32", "all_gather_dim = 1 : i64, replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>", "", "2x6xf32"},
    {"all_gather_c5", "all_gather", "2x3xf32", "all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids", "", "2x6xf32"},
    {"all_gather_c6", "all_gather", "2x3xf32", "all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "2x7xf32"},
    {NULL, "all_reduce", "2xf32", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", BINARY("add", "f32"), "2xf32"},
    {"all_reduce_c1", "all_reduce", "2xf32", "replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>", BINARY("add", "f32"), "2xf32"},
    {"all_reduce_c5", "all_reduce", "2xf32", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", BINARY("add", "i32"), "2xf32"},
    {NULL, "reduce_scatter", "4xf32", "scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", BINARY("add", "f32"), "2xf32"},
    {"reduce_scatter_c2", "reduce_scatter", "4xf32", "scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", BINARY("add", "f32"), "2xf32"},
    {"reduce_scatter_c8", "reduce_scatter", "4xf32", "scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", BINARY("add", "f32"), "3xf32"},
    {NULL, "all_to_all", "2x4xf32", "split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "4x2xf32"},
    {"all_to_all_c1", "all_to_all", "2x4xf32", "split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "4x2xf32"},
    {"all_to_all_c2", "all_to_all", "2x3xf32", "split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "4x2xf32"},
    {"all_to_all_c3", "all_to_all", "2x4xf32", "split_dimension = 1 : i64, concat_dimension = 2 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "4x2xf32"},
    {"all_to_all_c4", "all_to_all", "2x4xf32", "split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "4x2xf32"},
    {"all_to_all_c8", "all_to_all", "2x4xf32", "split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "8x1xf32"},
    {NULL, "collective_permute", "2xf32", "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>", "", "2xf32"},
    {"collective_permute_c2", "collective_permute", "2xf32", "source_target_pairs = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>", "", "2xf32"},
    {"collective_permute_c3", "collective_permute", "2xf32", "source_target_pairs = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>", "", "2xf32"},
    {NULL, "collective_broadcast", "2xf32", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "", "2xf32"},
    {NULL, "partition_id", "", "", "", "ui32"},
};

static void put_types(str *s, const char *types, bool named) {
    char names[] = "a";
    for (const char *p = types; *p; p += *p == ';', names[0]++) {
        size_t n = strcspn(p, ";");
        bool whole = *p == '!' || strncmp(p, "tuple", 5) == 0;
        if (p != types) str_append(s, ", ");
        if (named) str_printf(s, "%%%s: ", names);
        str_printf(s, whole ? "%.*s" : "tensor<%.*s>", (int)n, p);
        p += n;
    }
}

static char *text_of(const row *r) {
    str s = STR_INIT;
    str_append(&s, "func.func public @main(");
    put_types(&s, r->in, true);
    str_append(&s, ") {\n%r = \"stablehlo.");
    if (strchr(r->out, ';')) { /* several results have a number */
        int n = 1;
        for (const char *p = r->out; *p; p++) n += *p == ';';
        s.len -= strlen("%r = \"stablehlo.");
        str_printf(&s, "%%r:%d = \"stablehlo.", n);
    }
    str_printf(&s, "%s\"(", r->op);
    char name = 'a';
    for (const char *p = r->in; *p; p += strcspn(p, ";"), p += *p == ';') str_printf(&s, "%s%%%c", name > 'a' ? ", " : "", name), name++;
    str_append(&s, ")");
    if (*r->attrs) str_printf(&s, " <{%s}>", r->attrs);
    if (strcmp(r->regions, "SELECT") == 0) str_append(&s, " (" "{\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = \"stablehlo.compare\"(%p, %q) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>\n\"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n}, {\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = \"stablehlo.add\"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n})");
    else if (*r->regions) str_printf(&s, " %s", r->regions);
    str_append(&s, " : (");
    put_types(&s, r->in, false);
    str_append(&s, ") -> (");
    put_types(&s, r->out, false);
    str_append(&s, ")\nreturn\n}\n");
    return s.data;
}

/* Inference without the stated types gives what was stated, or says that they must be. */
static void infer_alone(const row *r, const ir_op *op) {
    const ir_type *types[64];
    size_t n;
    ir_op bare = *op;
    bare.n_out = 0;
    xt_status s = ir_infer(&bare, types, &n);
    if (s) {
        if (!strstr(xt_status_message(s), "must be stated")) fail_msg("%s alone: %s", r->op, xt_status_message(s));
        xt_status_free(s);
        return;
    }
    if (n == 0) return; /* custom_call: any results, all stated */
    assert_int_equal(n, op->n_out);
    for (size_t i = 0; i < n; i++)
        if (!ir_type_compatible(types[i], op->out[i].type)) fail_msg("%s: result %zu is inferred differently", r->op, i);
}

static void every_row_is_judged_as_it_says(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const row *r = &rows[i];
        char *text = text_of(r);
        ir_module *m = NULL;
        xt_status s = ir_parse(text, strlen(text), "row", &m);
        if (!s) s = ir_verify(m);
        bool right = r->constraint ? s && strstr(xt_status_message(s), r->constraint) : !s;
        if (!right) {
            print_error("row %zu, %s: expected %s, got %s\n%s\n", i, r->op, r->constraint ? r->constraint : "no error", s ? xt_status_message(s) : "no error", text);
            wrong++;
        }
        if (right && !s) infer_alone(r, m->funcs->body->first);
        xt_status_free(s);
        ir_module_free(m);
        base_free(text);
    }
    assert_int_equal(wrong, 0);
}

static void messages_name_shapes(void **state) {
    (void)state;
    ir_module *m = ir_module_new();
    ir_func *f = ir_func_new(m, "main", true);
    ir_builder b = ir_at_end(m, ir_func_block(f));
    b.src = src_intern(&(xt_src){"model.c", 41, "net"});
    ir_value *x = ir_func_arg(f, ir_tensor(XT_F32, 2, (int64_t[]){2, 3})), *y = ir_func_arg(f, ir_tensor(XT_F32, 2, (int64_t[]){4, 5}));
    assert_null(ir_dot_general(&b, x, y, 0, NULL, NULL, 1, (int64_t[]){1}, (int64_t[]){0}, IR_PREC_HIGHEST));
    assert_string_equal(xt_status_message(b.status),
                        "model.c:41: dot_general: contracting dims differ: lhs dim 1 is 3, rhs dim 0 is 4 (dot_general_c10); operands: "
                        "tensor<2x3xf32>, tensor<4x5xf32>");
    assert_null(ir_add(&b, x, x)); /* after a failure nothing is recorded */
    assert_null(ir_func_block(f)->first);
    xt_status_free(b.status);
    ir_module_free(m);
}

static void every_op_has_a_name_and_a_rule(void **state) {
    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        const ir_op_info *info = &ir_op_infos[i];
        ir_opcode found;
        assert_non_null(info->infer);
        assert_true(ir_opcode_from_name(info->dialect, info->name, &found));
        assert_int_equal(found, i);
        assert_true(strlen(info->doc) > 4);
    }
    assert_string_equal(ir_op_infos[OP_call].name, "call");
    assert_string_equal(ir_op_infos[OP_func_return].name, "return");
    assert_string_equal(ir_op_infos[OP_chlo_square].name, "square");
    assert_string_equal(ir_op_infos[OP_exponential_minus_one].name, "exponential_minus_one");
    for (int k = 1; k < IR_A_COUNT; k++) assert_int_equal(ir_attr_key_from_name(ir_attr_key_name(k), strlen(ir_attr_key_name(k))), k);
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_judged_as_it_says),
        cmocka_unit_test(messages_name_shapes),
        cmocka_unit_test(every_op_has_a_name_and_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
