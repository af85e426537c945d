/* Rows for constraints that neither infer_rows_ops.h nor infer_rows_results.h breaks: see infer_rows.h. */
#ifndef XT_TESTS_INFER_ROWS_MORE_H
#define XT_TESTS_INFER_ROWS_MORE_H

#include "infer_rows_results.h"

#define BINARY2(e)                                                                    \
    "({\n^bb0(%p: tensor<" e ">, %q: tensor<" e ">, %r: tensor<" e ">, %s: tensor<" e \
    ">):\n\"stablehlo.return\"(%p, %q) : (tensor<" e ">, tensor<" e ">) -> ()\n})"
#define COMPARE2(e)                                                                                                  \
    "({\n^bb0(%p: tensor<" e ">, %q: tensor<" e ">, %r: tensor<" e ">, %t: tensor<" e ">):\n"                        \
    "%s = \"stablehlo.compare\"(%p, %q) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<" e \
    ">, tensor<" e ">) -> tensor<i1>\n\"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n})"
#define BODY_OF(e)                                                                           \
    "%s = \"stablehlo.constant\"() <{value = dense<1.0> : tensor<" e ">}> : () -> tensor<" e \
    ">\n\"stablehlo.return\"(%s) : (tensor<" e ">) -> ()\n"
#define WRONG_LOOP                                                                             \
    "({\n"                                                                                     \
    "^bb0(%p: tensor<f32>):\n"                                                                 \
    "%s = \"stablehlo.constant\"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>\n" \
    "\"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n}, {\n^bb0(%p: tensor<f32>):\n" BODY_OF("f64") "})"
#define SELECT_THEN(e)                                                                                          \
    "({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = \"stablehlo.compare\"(%p, %q) <{comparison_direction = " \
    "#stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"                        \
    "\"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n"                                                           \
    "}, {\n"                                                                                                    \
    "^bb0(%p: tensor<" e ">, %q: tensor<" e ">):\n%s = \"stablehlo.add\"(%p, %q) : (tensor<" e ">, tensor<" e   \
    ">) -> tensor<" e ">\n"                                                                                     \
    "\"stablehlo.return\"(%s) : (tensor<" e ">) -> ()\n})"

static const row rows_of_more[] = {
    {"batch_norm_grad_c1", "batch_norm_grad", "2x3xf32;3xf32;3xf32;3xf32;2x3xf32",
     "epsilon = 0.1 : f32, feature_index = 2 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_grad_c4", "batch_norm_grad", "2x3xf32;3xf32;2xf32;3xf32;2x3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;3xf32"},
    {"batch_norm_inference_c1", "batch_norm_inference", "2x3xf32;3xf32;3xf32;3xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 2 : i64", "", "2x3xf32"},
    {"batch_norm_inference_c2", "batch_norm_inference", "2x3xf32;3xf64;3xf32;3xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32"},
    {"batch_norm_inference_c3", "batch_norm_inference", "2x3xf32;2xf32;3xf32;3xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32"},
    {"batch_norm_inference_c4", "batch_norm_inference", "2x3xf32;3xf32;2xf32;3xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32"},
    {"batch_norm_inference_c5", "batch_norm_inference", "2x3xf32;3xf32;3xf32;2xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32"},
    {"batch_norm_training_c5", "batch_norm_training", "2x3xf32;3xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;2xf32;3xf32"},
    {"batch_norm_training_c6", "batch_norm_training", "2x3xf32;3xf32;3xf32",
     "epsilon = 0.1 : f32, feature_index = 1 : i64", "", "2x3xf32;3xf32;2xf32"},
    {"case_c1", "case", "i32", "", "", "f32"},
    {"case_c2", "case", "i32", "",
     "({\n"
     "^bb0(%p: tensor<f32>):\n"
     "\"stablehlo.return\"(%p) : (tensor<f32>) -> ()\n"
     "})",
     "f32"},
    {"if_c1", "if", "i1", "",
     "({\n"
     "^bb0(%p: tensor<f32>):\n"
     "\"stablehlo.return\"(%p) : (tensor<f32>) -> ()\n"
     "}, " BRANCH ")",
     "f32"},
    {"while_c2", "while", "f32", "", WRONG_LOOP, "f32"},
    {"collective_broadcast_c5", "collective_broadcast", "2xf32;1xi64",
     "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root = true", "", "2xf32;1xi64"},
    {"collective_reduce_c1", "collective_reduce", "2xf32", "replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>",
     BINARY("add", "f32"), "2xf32"},
    {"collective_reduce_c2", "collective_reduce", "2xf32", "replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>",
     BINARY("add", "f32"), "2xf32"},
    {"collective_reduce_c3", "collective_reduce", "2xf32", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>",
     BINARY("add", "f32"), "3xf32"},
    {"collective_reduce_c4", "collective_reduce", "2xf32", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>",
     BINARY("add", "i32"), "2xf32"},
    {"constant_c1", "constant", "", "value = dense<1.0> : tensor<3xf32>", "", "2xf32"},
    {"dynamic_conv_c5", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", lhs_dilation = array<i64: 1, 1>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c6", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", lhs_dilation = array<i64: 0>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c7", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", rhs_dilation = array<i64: 1, 1>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c8", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", rhs_dilation = array<i64: 0>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c9", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", window_reversal = array<i1: true, false>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c10", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 1 : i64, batch_group_count = 3 : i64", "", "2x5x?xf32"},
    {"dynamic_conv_c11", "dynamic_conv", "2x3x8xf32;4x3x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 2 : i64, batch_group_count = 1 : i64", "", "2x4x?xf32"},
    {"dynamic_conv_c12", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     "dimension_numbers = #stablehlo.conv<[b, f]x[o, i, 0]->[b, f, 0]>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c13", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     RAW_CONV("0", "0", "2", "1", "0", "2", "0", "1", "2"), "", "2x5x?xf32"},
    {"dynamic_conv_c15", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 1 : i64, batch_group_count = 2 : i64", "", "1x5x?xf32"},
    {"dynamic_conv_c16", "dynamic_conv", "2x4x8xf32;5x2x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 2 : i64, batch_group_count = 1 : i64", "", "2x5x?xf32"},
    {"dynamic_conv_c17", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i]->[b, f, 0]>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c18", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     RAW_CONV("0", "1", "2", "1", "3", "2", "0", "1", "2"), "", "2x5x?xf32"},
    {"dynamic_conv_c19", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f]>, " GROUPS, "", "2x5x?xf32"},
    {"dynamic_conv_c20", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     RAW_CONV("0", "1", "2", "1", "0", "2", "0", "1", "3"), "", "2x5x?xf32"},
    {"dynamic_conv_c21", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 0 : i64, batch_group_count = 1 : i64", "", "2x5x?xf32"},
    {"dynamic_conv_c22", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 1 : i64, batch_group_count = 0 : i64", "", "2x5x?xf32"},
    {"dynamic_conv_c23", "dynamic_conv", "2x4x8xf32;4x2x3xf32;1x2xi64",
     CONV_DIMS ", feature_group_count = 2 : i64, batch_group_count = 2 : i64", "", "1x4x?xf32"},
    {"dynamic_conv_c24", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64",
     CONV_DIMS ", " GROUPS ", precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, "
               "#stablehlo<precision DEFAULT>]",
     "", "2x5x?xf32"},
    {"dynamic_conv_c25", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64", CONV_DIMS ", " GROUPS, "", "2x7x?xf32"},
    {"dynamic_conv_c26", "dynamic_conv", "2x3x8xf32;5x3x3xf32;1x2xi64", CONV_DIMS ", " GROUPS, "", "2x5xf32"},
    {"dynamic_gather_c6", "dynamic_gather", "3x4xf32;2x1xi32;2xi32", GATHER("", "1, 0", "", "", "0", "1"), "", "2xf32"},
    {"dynamic_gather_c7", "dynamic_gather", "3x4xf32;2x1xi32;2xi32", GATHER("1", "2", "", "", "0", "1"), "", "2x?xf32"},
    {"dynamic_gather_c8", "dynamic_gather", "3x4xf32;2x1xi32;SIZES 2, 4", GATHER("1", "0", "", "", "0", "1"), "",
     "2x?xf32"},
    {"dynamic_gather_c9", "dynamic_gather", "3x4xf32;2x2xi32;2xi32", GATHER("1", "0", "", "", "0, 0", "1"), "",
     "2x?xf32"},
    {"dynamic_gather_c10", "dynamic_gather", "3x4xf32;2x1xi32;2xi32", GATHER("1", "0", "", "", "2", "1"), "",
     "2x?xf32"},
    {"dynamic_gather_c12", "dynamic_gather", "3x4xf32;2x1xi32;SIZES 1, 5", GATHER("1", "0", "", "", "0", "1"), "",
     "2x?xf32"},
    {"dynamic_gather_c13", "dynamic_gather", "3x4xf32;2x1xi32;2xi32", GATHER("1", "0", "", "", "0", "1"), "",
     "7x?xf32"},
    {"dynamic_gather_c14", "dynamic_gather", "3x4xf32;2x1xi32;2xi32", GATHER("1", "0", "", "", "0", "1"), "",
     "2x?xf64"},
    {"dynamic_pad_c3", "dynamic_pad", "3xf32;f32;1xi64;1xi64;SIZES -1", "", "", "?xf32"},
    {"get_tuple_element_c2", "get_tuple_element", "tuple<tensor<f32>, tensor<2xi32>>", "index = 1 : i32", "", "f32"},
    {"imag_c1", "imag", "2xcomplex<f32>", "", "", "3xf32"},
    {"imag_c2", "imag", "2xcomplex<f32>", "", "", "2xf64"},
    {"infeed_c1", "infeed", "!stablehlo.token", "infeed_config = \"\"", "", ""},
    {"infeed_c2", "infeed", "!stablehlo.token", "infeed_config = \"\"", "", "!stablehlo.token;!stablehlo.token"},
    {"map_c2", "map", "", "dimensions = array<i64>",
     "({\n"
     "%s = \"stablehlo.constant\"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>\n"
     "\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n"
     "})",
     "f32"},
    {"reduce_c1", "reduce", "2x3xf32;2x4xf32;f32;f32", "dimensions = array<i64: 1>", BINARY2("f32"), "2xf32;2xf32"},
    {"reduce_window_c2", "reduce_window", "8xf32;7xf32;f32;f32", "window_dimensions = array<i64: 2>", BINARY2("f32"),
     "7xf32;7xf32"},
    {"reduce_window_c14", "reduce_window", "8xf32;8xf32;f32;f32", "window_dimensions = array<i64: 2>", BINARY2("f32"),
     "7xf32;6xf32"},
    {"reduce_scatter_c1", "reduce_scatter", "5xf32",
     "scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", BINARY("add", "f32"), "2xf32"},
    {"scatter_c1", "scatter", "3x4xf32;3x5xf32;2x1xi32;2x4xf32;2x4xf32", SCATTER("1", "0", "", "", "0", "1"),
     BINARY2("f32"), "3x4xf32;3x5xf32"},
    {"scatter_c3", "scatter", "3x4xf32;3x4xf32;2x1xi32;2x4xf32;2x3xf32", SCATTER("1", "0", "", "", "0", "1"),
     BINARY2("f32"), "3x4xf32;3x4xf32"},
    {"scatter_c10", "scatter", "3x4xf32;2x1xi32;2xf32", SCATTER("", "1, 0", "", "", "0", "1"), BINARY("add", "f32"),
     "3x4xf32"},
    {"scatter_c12", "scatter", "3x4x5xf32;3x4x1xi32;3x4xf32", SCATTER("", "2", "1, 0", "1, 0", "2", "2"),
     BINARY("add", "f32"), "3x4x5xf32"},
    {"scatter_c13", "scatter", "3x4xf32;3x2x1xi32;3x2xf32", SCATTER("", "1", "2", "0", "1", "2"), BINARY("add", "f32"),
     "3x4xf32"},
    {"scatter_c14", "scatter", "3x3x4xf32;3x2x1xi32;3x2xf32", SCATTER("", "2", "0, 1", "0, 0", "2", "2"),
     BINARY("add", "f32"), "3x3x4xf32"},
    {"scatter_c15", "scatter", "3x4xf32;3x2x1xi32;3x2xf32", SCATTER("", "1", "0", "3", "1", "2"), BINARY("add", "f32"),
     "3x4xf32"},
    {"scatter_c16", "scatter", "3x4xf32;3x2x1xi32;3x2xf32", SCATTER("", "1", "0", "2", "1", "2"), BINARY("add", "f32"),
     "3x4xf32"},
    {"scatter_c17", "scatter", "3x4xf32;3x2x1xi32;3x2xf32", SCATTER("", "1", "0", "", "1", "2"), BINARY("add", "f32"),
     "3x4xf32"},
    {"scatter_c18", "scatter", "3x4xf32;3x2x1xi32;3x2xf32", SCATTER("", "1", "0", "1", "1", "2"), BINARY("add", "f32"),
     "3x4xf32"},
    {"select_and_scatter_c10", "select_and_scatter", "8xf32;4xf32;f32",
     "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>", SELECT_THEN("i32"), "8xf32"},
    {"sort_c1", "sort", "", "dimension = 0 : i64", COMPARE("f32"), "8xf32"},
    {"sort_c3", "sort", "8xf32;7xf32", "dimension = 0 : i64", COMPARE2("f32"), "8xf32;7xf32"},
    {"tuple_c1", "tuple", "f32;2xi32", "", "", "tuple<tensor<f32>, tensor<3xi32>>"},
    {"send_c1", "send", "2xf32;!stablehlo.token",
     "source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = "
     "1, type = 1>",
     "", "!stablehlo.token"},
    {"send_c2", "send", "2xf32;!stablehlo.token",
     "source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>, channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 1>",
     "", "!stablehlo.token"},
    {"send_c3", "send", "2xf32;!stablehlo.token",
     "source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>, channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 1>",
     "", "!stablehlo.token"},
    {"send_c4", "send", "2xf32;!stablehlo.token",
     "source_target_pairs = dense<[[-1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, "
     "type = 1>",
     "", "!stablehlo.token"},
    {"recv_c1", "recv", "!stablehlo.token",
     "source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = "
     "1, type = 1>",
     "", "2xf32;!stablehlo.token"},
    {"recv_c2", "recv", "!stablehlo.token",
     "source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>, channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 1>",
     "", "2xf32;!stablehlo.token"},
    {"recv_c3", "recv", "!stablehlo.token",
     "source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>, channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 1>",
     "", "2xf32;!stablehlo.token"},
    {"recv_c4", "recv", "!stablehlo.token",
     "source_target_pairs = dense<[[-1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, "
     "type = 1>",
     "", "2xf32;!stablehlo.token"},
    {"recv_c5", "recv", "!stablehlo.token",
     "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true", "",
     "2xf32;!stablehlo.token"},
    {NULL, "async_start", "2xf32", "",
     "({\n"
     "^bb0(%p: tensor<2xf32>):\n"
     "%s = \"stablehlo.collective_permute\"(%p) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : "
     "(tensor<2xf32>) -> tensor<2xf32>\n"
     "\"stablehlo.return\"(%s) : (tensor<2xf32>) -> ()\n"
     "})",
     "!stablehlo.future<tensor<2xf32>>"},
    {NULL, "async_start", "2xf32", "",
     "({\n"
     "^bb0(%p: tensor<2xf32>):\n"
     "%s = \"stablehlo.slice\"(%p) <{start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = "
     "array<i64: 1>}> : (tensor<2xf32>) -> tensor<1xf32>\n"
     "\"stablehlo.return\"(%s) : (tensor<1xf32>) -> ()\n"
     "})",
     "!stablehlo.future<tensor<1xf32>>"},
    {"async_start_c1", "async_start", "2xf32", "",
     "({\n"
     "^bb0(%p: tensor<2xf32>):\n"
     "\"stablehlo.return\"(%p) : (tensor<2xf32>) -> ()\n"
     "})",
     "!stablehlo.future<tensor<2xf32>>"},
    {"async_start_c2", "async_start", "2xf32", "",
     "({\n"
     "^bb0(%p: tensor<2xf32>):\n"
     "%s = \"stablehlo.negate\"(%p) : (tensor<2xf32>) -> tensor<2xf32>\n"
     "\"stablehlo.return\"(%s) : (tensor<2xf32>) -> ()\n"
     "})",
     "!stablehlo.future<tensor<2xf32>>"},
    {"async_start_c3", "async_start", "2xf32;2xf32", "",
     "({\n"
     "^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>):\n"
     "%s = \"stablehlo.collective_permute\"(%p) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : "
     "(tensor<2xf32>) -> tensor<2xf32>\n"
     "\"stablehlo.return\"(%s) : (tensor<2xf32>) -> ()\n"
     "})",
     "!stablehlo.future<tensor<2xf32>>"},
    {"async_start_c4", "async_start", "2xf32", "",
     "({\n"
     "^bb0(%p: tensor<2xf32>):\n"
     "%s = \"stablehlo.collective_permute\"(%p) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : "
     "(tensor<2xf32>) -> tensor<2xf32>\n"
     "\"stablehlo.return\"(%s) : (tensor<2xf32>) -> ()\n"
     "})",
     "!stablehlo.future<tensor<3xf32>>"},
    {"async_done_c1", "async_done", "!stablehlo.future<tensor<2xf32>>", "", "", "3xf32"},
    {"composite_c2", "composite", "f32", "name = \"a.b\", decomposition = @nowhere", "", "f32"},
    {"composite_c3", "composite", "2xf32", "name = \"a.b\", decomposition = @half", "", "f32"},
    {"composite_c4", "composite", "f32", "name = \"a.b\", decomposition = @half", "", "2xf32"},
    {NULL, "composite", "f32", "name = \"a.b\", decomposition = @half", "", "f32"},
};

#endif
