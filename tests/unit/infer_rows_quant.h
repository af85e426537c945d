/* Rows about quantized tensors: see infer_rows.h. */
#ifndef XT_TESTS_INFER_ROWS_QUANT_H
#define XT_TESTS_INFER_ROWS_QUANT_H

#include "infer_rows_more.h"

#define Q8 "!quant.uniform<i8:f32, 0.5:3>"
#define Q8_OTHER "!quant.uniform<i8:f32, 0.25:-7>"
#define Q8_ZERO "!quant.uniform<i8:f32, 0.25>"
#define Q8_NARROW "!quant.uniform<i8<-127:127>:f32, 0.5:3>"
#define Q8_HALF "!quant.uniform<i8:f16, 0.5:3>"
#define Q8_HALF_ZERO "!quant.uniform<i8:f16, 0.5>"
#define Q32 "!quant.uniform<i32:f32, 0.125>"
#define Q32_AT(axis) "!quant.uniform<i32:f32:" axis ", {0.5,0.25}>"
#define Q8_AT(axis) "!quant.uniform<i8:f32:" axis ", {0.5,0.25:7}>"
#define Q8_ZERO_AT(axis) "!quant.uniform<i8:f32:" axis ", {0.5,0.25}>"
#define DOT_MATRICES DOT("", "", "1", "0")

static const row rows_of_quantized[] = {
    {NULL, "add", "2x3x" Q8 ";2x3x" Q8_OTHER, "", "", "2x3x" Q8_NARROW},
    {NULL, "add", "2x3x" Q8_AT("0") ";2x3x" Q8_OTHER, "", "", "2x3x" Q8_AT("0")},
    {"add_c1", "add", "2x3x" Q8 ";3x2x" Q8, "", "", "2x3x" Q8},
    {"add_c2", "add", "2x3x" Q8 ";2x3xi8", "", "", "2x3x" Q8},
    {"add_c2", "add", "2x3x" Q8 ";2x3x" Q8, "", "", "2x3xi8"},
    {"add_c3", "add", "2x3x" Q8 ";2x3x" Q32, "", "", "2x3x" Q8},
    {"add_c4", "add", "2x3x" Q8 ";2x3x" Q8_HALF, "", "", "2x3x" Q8},
    {"add_c5", "add", "2x2x" Q8_AT("0") ";2x2x" Q8, "", "", "2x2x" Q8},
    {"add_c6", "add", "2x2x" Q8_AT("0") ";2x2x" Q8, "", "", "2x2x" Q8_AT("1")},
    {"add_c7", "add", "2x2x" Q8 ";2x2x" Q8_AT("0"), "", "", "2x2x" Q8_AT("1")},
    {NULL, "multiply", "4x" Q8 ";4x" Q8_OTHER, "", "", "4x" Q8_ZERO},
    {"multiply_c1", "multiply", "4x" Q8 ";4xi8", "", "", "4x" Q8},
    {"multiply_c1", "multiply", "4x" Q8 ";4x" Q8_NARROW, "", "", "4x" Q8},
    {"multiply_c1", "multiply", "4x" Q8 ";4x" Q8, "", "", "4xi8"},
    {"multiply_i1", "multiply", "2x" Q8_AT("0") ";2x" Q8_AT("0"), "", "", "2x" Q8_AT("0")},
    {NULL, "tanh", "?x4x" Q8, "", "", "?x4x" Q8_OTHER},
    {"tanh_c1", "tanh", "4x" Q8, "", "", "5x" Q8},
    {"tanh_c1", "tanh", "4x" Q8, "", "", "4x" Q32},
    {"takes and gives no quantized tensors", "fft", "4x" Q8,
     "fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type FFT>", "", "4x" Q8},
    {"takes and gives no quantized tensors", "and", "4x" Q8 ";4x" Q8, "", "", "4x" Q8},
    {NULL, "is_finite", "4x" Q8, "", "", "4xi1"},
    {NULL, "compare", "4x" Q8 ";4x" Q8_OTHER, "comparison_direction = #stablehlo<comparison_direction LT>", "", "4xi1"},
    {"compare_c1", "compare", "4x" Q8 ";4x" Q32, "comparison_direction = #stablehlo<comparison_direction LT>", "",
     "4xi1"},
    {NULL, "select", "4xi1;4x" Q8 ";4x" Q8_OTHER, "", "", "4x" Q8},
    {"select_c2", "select", "4xi1;4x" Q8 ";4x" Q32, "", "", "4x" Q8},
    {"select_i1", "select", "4x" Q8 ";4x" Q8 ";4x" Q8, "", "", "4x" Q8},
    {NULL, "clamp", Q8 ";4x" Q8 ";" Q8_OTHER, "", "", "4x" Q8},
    {"clamp_c3", "clamp", Q32 ";4x" Q8 ";" Q8, "", "", "4x" Q8},
    {"clamp_c4", "clamp", Q8 ";4x" Q8 ";" Q8, "", "", "4x" Q32},
    {NULL, "iota", "", "iota_dimension = 0 : i64", "", "4x" Q8},
    {NULL, "concatenate", "4x" Q8 ";5x" Q8, "dimension = 0 : i64", "", "9x" Q8},
    {"concatenate_c1", "concatenate", "4x" Q8 ";5x" Q8_OTHER, "dimension = 0 : i64", "", "9x" Q8},
    {"concatenate_c5", "concatenate", "4x" Q8 ";5x" Q8, "dimension = 0 : i64", "", "9x" Q8_OTHER},
    {"slice_c1", "slice", "4x" Q8,
     "start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>", "", "2x" Q8_OTHER},
    {"slice_i1", "slice", "2x" Q8_AT("0"),
     "start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>", "", "2x" Q8_AT("0")},
    {"dynamic_slice_i2", "dynamic_slice", "4x" Q8 ";" Q32, "slice_sizes = array<i64: 2>", "", "2x" Q8},
    {NULL, "reduce", "4x" Q8 ";" Q8, "dimensions = array<i64: 0>", BINARY("add", Q8), Q8},
    {"reduce_c2", "reduce", "4x" Q8 ";" Q8_OTHER, "dimensions = array<i64: 0>", BINARY("add", Q8), Q8},
    {"reduce_c6", "reduce", "4xi8;i8", "dimensions = array<i64: 0>", BINARY("add", Q8), Q8},
    {"reduce_c6", "reduce", "4x" Q8_HALF ";" Q8_HALF, "dimensions = array<i64: 0>", BINARY("add", Q8), Q8},
    {"reduce_c8", "reduce", "4x" Q8 ";" Q8, "dimensions = array<i64: 0>", BINARY("add", Q8), Q8_OTHER},
    {NULL, "reduce", "4x" Q8 ";" Q8, "dimensions = array<i64: 0>", BINARY("add", Q32), Q32},
    {NULL, "reshape", "2x3x" Q8, "", "", "6x" Q8},
    {NULL, "reshape", "3x2x2x" Q8_AT("1"), "", "", "3x2x2x1x" Q8_AT("1")},
    {"reshape_c1", "reshape", "2x3x" Q8, "", "", "6x" Q8_OTHER},
    {"reshape_c1", "reshape", "2x3x" Q8_AT("0"), "", "", "2x3x" Q8_ZERO_AT("0")},
    {"reshape_c3", "reshape", "2x2x3x" Q8_AT("0"), "", "", "2x2x3x" Q8_AT("1")},
    {"dynamic_reshape_c3", "dynamic_reshape", "2x2x3x" Q8_AT("0") ";SIZES 2, 2, 3", "", "", "2x2x3x" Q8_AT("1")},
    {NULL, "transpose", "2x3x" Q8_AT("0"), "permutation = array<i64: 1, 0>", "", "3x2x" Q8_AT("1")},
    {"transpose_c1", "transpose", "2x3x" Q8_AT("0"), "permutation = array<i64: 1, 0>", "", "3x2x" Q8},
    {"transpose_c3", "transpose", "2x3x" Q8_AT("0"), "permutation = array<i64: 1, 0>", "", "2x2x" Q8_AT("1")},
    {"transpose_c4", "transpose", "2x2x" Q8_AT("0"), "permutation = array<i64: 1, 0>", "", "2x2x" Q8_AT("0")},
    {NULL, "broadcast_in_dim", "2x" Q8_AT("0"), "broadcast_dimensions = array<i64: 1>", "", "3x2x" Q8_AT("1")},
    {NULL, "broadcast_in_dim", "1x!quant.uniform<i8:f32:0, {0.5:3}>", "broadcast_dimensions = array<i64: 1>", "",
     "3x2x!quant.uniform<i8:f32:1, {0.5:3, 0.5:3}>"},
    {"broadcast_in_dim_c1", "broadcast_in_dim", "2x" Q8, "broadcast_dimensions = array<i64: 1>", "", "3x2x" Q8_OTHER},
    {"broadcast_in_dim_c6", "broadcast_in_dim", "2x" Q8_AT("0"), "broadcast_dimensions = array<i64: 1>", "",
     "2x2x" Q8_AT("0")},
    {"broadcast_in_dim_c6", "broadcast_in_dim", "1x!quant.uniform<i8:f32:0, {0.5:3}>",
     "broadcast_dimensions = array<i64: 1>", "", "3x2x" Q8_AT("1")},
    {"dynamic_broadcast_in_dim_c6", "dynamic_broadcast_in_dim", "2x" Q8_AT("0") ";SIZES 2, 2",
     "broadcast_dimensions = array<i64: 1>", "", "2x2x" Q8_AT("0")},
    {NULL, "bitcast_convert", "2x" Q8_AT("0"), "", "", "2xi8"},
    {NULL, "bitcast_convert", "2xi32", "", "", "2x4x" Q8},
    {"bitcast_convert_c1", "bitcast_convert", "2x" Q8, "", "", "2xi16"},
    {NULL, "uniform_quantize", "2xf32", "", "", "2x" Q8_AT("0")},
    {NULL, "uniform_quantize", "2x" Q8, "", "", "2x" Q32_AT("0")},
    {"uniform_quantize_i1", "uniform_quantize", "2xi32", "", "", "2x" Q8},
    {"uniform_quantize_c1", "uniform_quantize", "2xf32", "", "", "3x" Q8},
    {"uniform_quantize_c2", "uniform_quantize", "2xf64", "", "", "2x" Q8},
    {"uniform_quantize_c2", "uniform_quantize", "2x" Q8_HALF, "", "", "2x" Q8},
    {NULL, "uniform_dequantize", "2x" Q8_AT("0"), "", "", "2xf32"},
    {"uniform_dequantize_i1", "uniform_dequantize", "2xi8", "", "", "2xf32"},
    {"uniform_dequantize_c1", "uniform_dequantize", "2x" Q8, "", "", "3xf32"},
    {"uniform_dequantize_c2", "uniform_dequantize", "2x" Q8, "", "", "2xf16"},
    {NULL, "dot_general", "2x3x" Q8 ";3x2x" Q8_ZERO, DOT_MATRICES, "", "2x2x" Q32},
    {NULL, "dot_general", "2x3x" Q8 ";3x2x" Q8_ZERO_AT("1"), DOT_MATRICES, "", "2x2x" Q32_AT("1")},
    {NULL, "dot_general", "2x3xf32;3x2x" Q8_ZERO, DOT_MATRICES, "", "2x2xf32"},
    {"dot_general_c12", "dot_general", "2x3x" Q8 ";3x2x" Q8_ZERO, DOT_MATRICES, "", "2x3x" Q32},
    {"dot_general_c14", "dot_general", "2x3x" Q8 ";3x2xf32", DOT_MATRICES, "", "2x2x" Q32},
    {"dot_general_c14", "dot_general", "2x3xf32;3x2x" Q8_ZERO, DOT_MATRICES, "", "2x2x" Q32},
    {"dot_general_c15", "dot_general", "2x3x" Q8 ";3x2x" Q8, DOT_MATRICES, "", "2x2x" Q32},
    {"dot_general_c16", "dot_general", "3x2x" Q8 ";2x2x" Q8_ZERO_AT("0"), DOT_MATRICES, "", "3x2x" Q32},
    {"dot_general_c17", "dot_general", "2x3x" Q8 ";3x2x" Q32, DOT_MATRICES, "", "2x2x" Q32},
    {"dot_general_c18", "dot_general", "2x3x" Q8 ";3x2x" Q8_HALF_ZERO, DOT_MATRICES, "", "2x2x" Q32},
    {"dot_general_c19", "dot_general", "2x3x" Q8 ";3x2x" Q8_ZERO, DOT_MATRICES, "", "2x2x" Q32_AT("1")},
    {"dot_general_c20", "dot_general", "2x3xf16;3x2x" Q8_ZERO, DOT_MATRICES, "", "2x2xf16"},
    {"dot_general_i1", "dot_general", "2x3x" Q8_AT("0") ";3x2x" Q8_ZERO, DOT_MATRICES, "", "2x2x" Q32},
#define CONVS(name, pads)                                                                                            \
    {NULL, name, "1x3x8x" Q8 ";2x3x3x" Q8 pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32},                            \
        {NULL, name, "1x3x8x" Q8 ";2x3x3x" Q8_AT("0") pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32_AT("1")},        \
        {NULL, name, "1x3x8xf32;2x3x3x" Q8_AT("0") pads, CONV_DIMS ", " GROUPS, "", "1x2x6xf32"},                    \
        {name "_c28", name, "1x3x8x" Q8 ";2x3x3xf32" pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32},                 \
        {name "_c29", name, "1x2x8x" Q8 ";2x2x3x" Q8_AT("1") pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32},         \
        {name "_c30", name, "2x3x8x" Q8 ";2x3x3x" Q8_AT("0") pads, CONV_DIMS ", " GROUPS, "", "2x2x6x" Q32_AT("0")}, \
        {name "_c31", name, "1x3x8x" Q8 ";2x3x3x" Q32 pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32},                \
        {name "_c32", name, "1x3x8x" Q8 ";2x3x3x" Q8_HALF pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32},            \
        {name "_c33", name, "1x3x8x" Q8 ";2x3x3x" Q8 pads, CONV_DIMS ", " GROUPS, "", "1x2x6x" Q32_AT("1")}, {       \
        name "_c34", name, "1x3x8xf16;2x3x3x" Q8 pads, CONV_DIMS ", " GROUPS, "", "1x2x6xf16"                        \
    }
    CONVS("convolution", ""),
    CONVS("dynamic_conv", ";1x2xi64"),
};

#endif
