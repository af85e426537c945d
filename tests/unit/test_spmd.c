/* The partitioner against the interpreter: a table of small programs, each partitioned over 2, 4 and 6 devices under
 * many shardings of its arguments, results and intermediate values, run by the interpreter's grid of processes, and put
 * together again: what comes out must be what one device computes, and values that are whole must be the same
 * everywhere. */
#include "spmd_test.h"

static const struct {
    const char *name, *text;
} programs[] = {
    {"elementwise", F("%a: " T ", %b: " T, T ", " T,
                      "%0 = stablehlo.add %a, %b : " T "\n%1 = stablehlo.tanh %0 : " T
                      "\n%2 = stablehlo.multiply %1, %a : " T "\nreturn %2, %0 : " T ", " T)},
    {"broadcasts",
     F("%a: " T ", %b: tensor<8xf32>, %c: tensor<f32>", T,
       "%0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> " T "\n%1 = stablehlo.add %a, %0 : " T "\n"
       "%2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> " T "\n%3 = stablehlo.multiply %1, %2 : " T
       "\n%4 = stablehlo.constant dense<2.0> : " T "\n%5 = stablehlo.maximum %3, %4 : " T "\nreturn %5 : " T)},
    {"shapes", F("%a: tensor<4x6x8xf32>", "tensor<8x24xf32>, tensor<24x8xf32>, tensor<4x2x3x8xf32>",
                 "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<4x6x8xf32>) -> tensor<8x4x6xf32>\n"
                 "%1 = stablehlo.reshape %0 : (tensor<8x4x6xf32>) -> tensor<8x24xf32>\n"
                 "%2 = stablehlo.reshape %a : (tensor<4x6x8xf32>) -> tensor<24x8xf32>\n"
                 "%3 = stablehlo.reshape %2 : (tensor<24x8xf32>) -> tensor<4x2x3x8xf32>\n"
                 "return %1, %2, %3 : tensor<8x24xf32>, tensor<24x8xf32>, tensor<4x2x3x8xf32>")},
    {"odd reshape", F("%a: tensor<6x4xf32>", "tensor<4x6xf32>, tensor<24xf32>",
                      "%0 = stablehlo.reshape %a : (tensor<6x4xf32>) -> tensor<4x6xf32>\n"
                      "%1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>\n"
                      "return %0, %1 : tensor<4x6xf32>, tensor<24xf32>")},
    {"product", F("%a: tensor<12x8xf32>, %b: tensor<8x4xf32>", "tensor<12x4xf32>",
                  "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<12x8xf32>, "
                  "tensor<8x4xf32>) -> tensor<12x4xf32>\n"
                  "return %0 : tensor<12x4xf32>")},
    {"batched product", F("%a: tensor<4x6x8xf32>, %b: tensor<4x8x12xf32>", "tensor<4x6x12xf32>",
                          "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] "
                          ": (tensor<4x6x8xf32>, tensor<4x8x12xf32>) -> tensor<4x6x12xf32>\n"
                          "return %0 : tensor<4x6x12xf32>")},
    {"mlp and its gradient", mlp},
    {"reductions", F("%a: " T, "tensor<8xf32>, tensor<12xf32>, tensor<f32>, tensor<f32>",
                     Z "%n = stablehlo.constant dense<-1.0> : tensor<f32>\n"
                       "%0 = \"stablehlo.reduce\"(%a, %z) " ADD " {dimensions = array<i64: 0>} : (" T
                       ", tensor<f32>) -> tensor<8xf32>\n"
                       "%1 = \"stablehlo.reduce\"(%a, %n) " MAX " {dimensions = array<i64: 1>} : (" T
                       ", tensor<f32>) -> tensor<12xf32>\n"
                       "%2 = \"stablehlo.reduce\"(%a, %z) " MAX " {dimensions = array<i64: 0, 1>} : (" T
                       ", tensor<f32>) -> tensor<f32>\n"
                       "%3 = \"stablehlo.reduce\"(%a, %n) " ADD " {dimensions = array<i64: 0, 1>} : (" T
                       ", tensor<f32>) -> tensor<f32>\n"
                       "return %0, %1, %2, %3 : tensor<8xf32>, tensor<12xf32>, tensor<f32>, tensor<f32>")},
    {"softmax", F("%a: " T, T,
                  Z "%n = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                    "%0 = \"stablehlo.reduce\"(%a, %n) " MAX " {dimensions = array<i64: 1>} : (" T
                    ", tensor<f32>) -> tensor<12xf32>\n"
                    "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<12xf32>) -> " T
                    "\n%2 = stablehlo.subtract %a, %1 : " T "\n%3 = stablehlo.exponential %2 : " T "\n"
                    "%4 = \"stablehlo.reduce\"(%3, %z) " ADD " {dimensions = array<i64: 1>} : (" T
                    ", tensor<f32>) -> tensor<12xf32>\n"
                    "%5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<12xf32>) -> " T
                    "\n%6 = stablehlo.divide %3, %5 : " T "\nreturn %6 : " T)},
    {"slices and joins",
     F("%a: " T ", %b: tensor<12x4xf32>", "tensor<12x12xf32>, tensor<6x8xf32>, tensor<12x4xf32>, tensor<14x8xf32>",
       Z "%0 = stablehlo.concatenate %a, %b, dim = 1 : (" T ", tensor<12x4xf32>) -> tensor<12x12xf32>\n"
         "%1 = stablehlo.slice %a [2:8, 0:8] : (" T ") -> tensor<6x8xf32>\n"
         "%2 = stablehlo.slice %a [0:12, 0:8:2] : (" T ") -> tensor<12x4xf32>\n"
         "%3 = stablehlo.pad %a, %z, low = [1, 0], high = [1, 0], interior = [0, 0] : (" T
         ", tensor<f32>) -> tensor<14x8xf32>\n"
         "return %0, %1, %2, %3 : tensor<12x12xf32>, tensor<6x8xf32>, tensor<12x4xf32>, tensor<14x8xf32>")},
    {"counting", F("%a: " T, T ", tensor<12x8xi32>",
                   "%0 = stablehlo.iota dim = 0 : " T "\n"
                   "%1 = stablehlo.iota dim = 1 : tensor<12x8xi32>\n"
                   "%2 = stablehlo.convert %1 : (tensor<12x8xi32>) -> " T "\n"
                   "%3 = stablehlo.multiply %0, %2 : " T "\n%4 = stablehlo.add %3, %a : " T "\nreturn %4, %1 : " T
                   ", tensor<12x8xi32>")},
    {"constants",
     F("%a: tensor<4x2xf32>", "tensor<4x2xf32>",
       "%0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>\n"
       "%1 = stablehlo.add %a, %0 : tensor<4x2xf32>\n"
       "return %1 : tensor<4x2xf32>")},
    {"embedding",
     F("%t: tensor<8x6xf32>, %i: tensor<4x12xi32>, %d: tensor<4x12x6xf32>", "tensor<4x12x6xf32>, tensor<8x6xf32>",
       "%0 = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 6>} : "
       "(tensor<8x6xf32>, tensor<4x12xi32>) -> tensor<4x12x6xf32>\n"
       "%1 = stablehlo.constant dense<0.0> : tensor<8x6xf32>\n"
       "%2 = \"stablehlo.scatter\"(%1, %i, %d) " ADD
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 2>} : "
       "(tensor<8x6xf32>, tensor<4x12xi32>, tensor<4x12x6xf32>) -> tensor<8x6xf32>\n"
       "return %0, %2 : tensor<4x12x6xf32>, tensor<8x6xf32>")},
    {"scatter into values",
     F("%t: tensor<8x6xf32>, %i: tensor<12xi32>, %d: tensor<12x6xf32>", "tensor<8x6xf32>",
       "%2 = \"stablehlo.scatter\"(%t, %i, %d) " ADD
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<8x6xf32>, tensor<12xi32>, tensor<12x6xf32>) -> tensor<8x6xf32>\n"
       "return %2 : tensor<8x6xf32>")},
    {"large table",
     F("%t: tensor<24x6xf32>, %i: tensor<6x1xi32>, %d: tensor<6x6xf32>, %u: tensor<6xui32>",
       "tensor<6x6xf32>, tensor<24x6xf32>, tensor<6x6xf32>, tensor<24x6xf32>",
       "%g = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>} : "
       "(tensor<24x6xf32>, tensor<6x1xi32>) -> tensor<6x6xf32>\n"
       "%z = stablehlo.constant dense<0.0> : tensor<24x6xf32>\n"
       "%c = stablehlo.constant dense<5> : tensor<6x1xi32>\n"
       "%k = stablehlo.multiply %i, %c : tensor<6x1xi32>\n"
       "%o = stablehlo.constant dense<7> : tensor<6x1xi32>\n"
       "%j = stablehlo.subtract %k, %o : tensor<6x1xi32>\n" /* some lie outside the table */
       "%2 = \"stablehlo.scatter\"(%z, %j, %d) " ADD
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<24x6xf32>, tensor<6x1xi32>, tensor<6x6xf32>) -> tensor<24x6xf32>\n"
       "%3 = \"stablehlo.gather\"(%t, %j) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>} : "
       "(tensor<24x6xf32>, tensor<6x1xi32>) -> tensor<6x6xf32>\n"
       "%4 = stablehlo.add %g, %3 : tensor<6x6xf32>\n"
       "%5 = \"stablehlo.scatter\"(%t, %u, %d) " MAX
       " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<24x6xf32>, tensor<6xui32>, tensor<6x6xf32>) -> tensor<24x6xf32>\n"
       "return %4, %2, %3, %5 : tensor<6x6xf32>, tensor<24x6xf32>, tensor<6x6xf32>, tensor<24x6xf32>")},
    {"convolution", F("%x: tensor<4x4x6x6xf32>, %w: tensor<8x4x3x3xf32>", "tensor<4x8x4x4xf32>, tensor<8x4x3x3xf32>",
                      "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], "
                      "window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
                      "(tensor<4x4x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<4x8x4x4xf32>\n"
                      "%1 = stablehlo.convolution(%x, %0) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], "
                      "window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
                      "(tensor<4x4x6x6xf32>, tensor<4x8x4x4xf32>) -> tensor<8x4x3x3xf32>\n"
                      "return %0, %1 : tensor<4x8x4x4xf32>, tensor<8x4x3x3xf32>")},
    {"pooling", F("%x: tensor<4x2x4x4xf32>, %d: tensor<4x2x2x2xf32>", "tensor<4x2x2x2xf32>, tensor<4x2x4x4xf32>",
                  Z "%n = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                    "%0 = \"stablehlo.reduce_window\"(%x, %n) " MAX
                    " {window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>} : "
                    "(tensor<4x2x4x4xf32>, tensor<f32>) -> tensor<4x2x2x2xf32>\n"
                    "%1 = \"stablehlo.select_and_scatter\"(%x, %d, %z) ({\n"
                    "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                    "%s = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                    "stablehlo.return %s : tensor<i1>\n"
                    "}, " ADDS ") {window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, "
                    "2>} : (tensor<4x2x4x4xf32>, tensor<4x2x2x2xf32>, tensor<f32>) -> tensor<4x2x4x4xf32>\n"
                    "return %0, %1 : tensor<4x2x2x2xf32>, tensor<4x2x4x4xf32>")},
    {"batch norm",
     F("%x: tensor<12x4x2xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>, %d: tensor<12x4x2xf32>",
       "tensor<12x4x2xf32>, tensor<4xf32>, tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<12x4x2xf32>",
       "%0:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64} : "
       "(tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>)\n"
       "%1:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %0#1, %0#2, %d) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64} "
       ": (tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<12x4x2xf32>) -> "
       "(tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>)\n"
       "%2 = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %0#1, %0#2) {epsilon = 1.0e-5 : f32, feature_index = 1 : "
       "i64} : (tensor<12x4x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12x4x2xf32>\n"
       "return %0#0, %0#2, %1#0, %1#1, %1#2, %2 : tensor<12x4x2xf32>, tensor<4xf32>, tensor<12x4x2xf32>, "
       "tensor<4xf32>, tensor<4xf32>, tensor<12x4x2xf32>")},
    {"moving windows", F("%a: " T ", %u: tensor<3x8xf32>, %i: tensor<i32>", "tensor<4x8xf32>, " T,
                         "%c = stablehlo.constant dense<0> : tensor<i32>\n"
                         "%0 = stablehlo.dynamic_slice %a, %i, %c, sizes = [4, 8] : (" T
                         ", tensor<i32>, tensor<i32>) -> tensor<4x8xf32>\n"
                         "%1 = stablehlo.dynamic_update_slice %a, %u, %i, %c : (" T
                         ", tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> " T "\nreturn %0, %1 : tensor<4x8xf32>, " T)},
    {"sorting, turning", F("%a: " T, T ", " T,
                           "%0 = \"stablehlo.sort\"(%a) ({\n"
                           "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                           "%s = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                           "stablehlo.return %s : tensor<i1>\n"
                           "}) {dimension = 1 : i64, is_stable = true} : (" T ") -> " T
                           "\n%1 = stablehlo.reverse %0, dims = [0] : " T "\nreturn %0, %1 : " T ", " T)},
    {"turning round", F("%a: " T ", %b: " T, T ", " T ", tensor<4x8xf32>",
                        "%0 = stablehlo.slice %a [10:12, 0:8] : (" T ") -> tensor<2x8xf32>\n"
                        "%1 = stablehlo.slice %a [0:10, 0:8] : (" T ") -> tensor<10x8xf32>\n"
                        "%2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x8xf32>, tensor<10x8xf32>) -> " T "\n"
                        "%3 = stablehlo.add %2, %b : " T "\n"
                        "%4 = stablehlo.slice %3 [0:12, 4:8] : (" T ") -> tensor<12x4xf32>\n"
                        "%5 = stablehlo.slice %3 [0:12, 0:4] : (" T ") -> tensor<12x4xf32>\n"
                        "%6 = stablehlo.concatenate %4, %5, dim = 1 : (tensor<12x4xf32>, tensor<12x4xf32>) -> " T "\n"
                        /* one slice is read elsewhere too, and two that are no turn */
                        "%7 = stablehlo.slice %b [8:12, 0:8] : (" T ") -> tensor<4x8xf32>\n"
                        "%8 = stablehlo.slice %b [0:8, 0:8] : (" T ") -> tensor<8x8xf32>\n"
                        "%9 = stablehlo.concatenate %7, %8, dim = 0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> " T "\n"
                        "%10 = stablehlo.slice %9 [0:4, 0:8] : (" T ") -> tensor<4x8xf32>\n"
                        "%11 = stablehlo.slice %6 [4:12, 0:8] : (" T ") -> tensor<8x8xf32>\n"
                        "%12 = stablehlo.concatenate %10, %11, dim = 0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> " T
                        "\nreturn %6, %12, %7 : " T ", " T ", tensor<4x8xf32>")},
    {"a loop", F("%a: " T ", %b: " T, T,
                 "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                 "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                 "%n = stablehlo.constant dense<3> : tensor<i32>\n"
                 "%0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, " T "\n"
                 "cond {\n"
                 "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                 "stablehlo.return %c : tensor<i1>\n"
                 "} do {\n"
                 "%j = stablehlo.add %i, %o : tensor<i32>\n"
                 "%w = stablehlo.add %v, %b : " T "\nstablehlo.return %j, %w : tensor<i32>, " T
                 "\n}\n%1 = stablehlo.add %0#1, %a : " T "\nreturn %1 : " T)},
    {"a scan", a_scan},
    {"branches in a loop",
     F("%a: " T ", %b: " T, T ", tensor<8xf32>",
       Z
       "%zi = stablehlo.constant dense<0> : tensor<i32>\n"
       "%o = stablehlo.constant dense<1> : tensor<i32>\n"
       "%n = stablehlo.constant dense<4> : tensor<i32>\n"
       "%k = stablehlo.constant dense<0.0> : tensor<8xf32>\n"
       "%0:3 = stablehlo.while(%i = %zi, %v = %a, %t = %k) : tensor<i32>, " T ", tensor<8xf32>\n"
       "cond {\n"
       "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
       "stablehlo.return %c : tensor<i1>\n"
       "} do {\n"
       "%j = stablehlo.add %i, %o : tensor<i32>\n"
       "%r = \"stablehlo.reduce\"(%v, %z) " ADD " {dimensions = array<i64: 0, 1>} : (" T
       ", tensor<f32>) -> tensor<f32>\n"
       "%up = stablehlo.compare GT, %r, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
       "%w = \"stablehlo.if\"(%up) ({\n"
       "%x = stablehlo.subtract %v, %b : " T "\nstablehlo.return %x : " T "\n}, {\n%x = stablehlo.multiply %v, %b : " T
       "\n%q = stablehlo.add %x, %a : " T "\nstablehlo.return %q : " T "\n}) : (tensor<i1>) -> " T "\n"
       "%u = \"stablehlo.reduce\"(%w, %z) " ADD " {dimensions = array<i64: 0>} : (" T
       ", tensor<f32>) -> tensor<8xf32>\n"
       "%m = stablehlo.add %t, %u : tensor<8xf32>\n"
       "stablehlo.return %j, %w, %m : tensor<i32>, " T ", tensor<8xf32>\n}\nreturn %0#1, %0#2 : " T ", tensor<8xf32>")},
    {"sums passed on",
     F("%a: " T ", %b: tensor<12x8xf32>, %i: tensor<2xi32>",
       "tensor<4x24xf32>, tensor<20x8xf32>, tensor<8xbf16>, tensor<2x8xf32>, " T,
       Z "%0 = stablehlo.add %a, %b : " T "\n%1 = stablehlo.negate %0 : " T
         "\n%2 = stablehlo.transpose %1, dims = [1, 0] : (" T ") -> tensor<8x12xf32>\n"
         "%3 = stablehlo.reshape %2 : (tensor<8x12xf32>) -> tensor<4x24xf32>\n"
         "%4 = stablehlo.slice %a [2:10, 0:8] : (" T ") -> tensor<8x8xf32>\n"
         "%5 = stablehlo.concatenate %4, %b, dim = 0 : (tensor<8x8xf32>, " T ") -> tensor<20x8xf32>\n"
         "%6 = \"stablehlo.reduce\"(%5, %z) " ADD
         " {dimensions = array<i64: 0>} : (tensor<20x8xf32>, tensor<f32>) -> tensor<8xf32>\n"
         "%h = stablehlo.constant dense<4.0> : tensor<8xf32>\n"
         "%7 = stablehlo.divide %6, %h : tensor<8xf32>\n"
         "%8 = stablehlo.convert %7 : (tensor<8xf32>) -> tensor<8xbf16>\n"
         "%9 = stablehlo.constant dense<2.0> : tensor<8xbf16>\n"
         "%10 = stablehlo.maximum %8, %9 : tensor<8xbf16>\n"
         "%11 = \"stablehlo.gather\"(%1, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
         "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : "
         "(" T ", tensor<2xi32>) -> tensor<2x8xf32>\n"
         "%12 = stablehlo.multiply %0, %1 : " T "\n%13 = stablehlo.multiply %12, %a : " T "\n"
         "return %3, %5, %10, %11, %13 : tensor<4x24xf32>, tensor<20x8xf32>, tensor<8xbf16>, tensor<2x8xf32>, " T)},
    {"problems side by side", side_by_side},
    {"a triangle", F("%a: tensor<4x4xf32>", "tensor<4x4xf32>",
                     "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x4xf32>, "
                     "tensor<4x4xf32>) -> tensor<4x4xf32>\n"
                     "%i = stablehlo.iota dim = 0 : tensor<4x4xi32>\n"
                     "%j = stablehlo.iota dim = 1 : tensor<4x4xi32>\n"
                     "%e = stablehlo.compare EQ, %i, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>\n"
                     "%f = stablehlo.convert %e : (tensor<4x4xi1>) -> tensor<4x4xf32>\n"
                     "%g = stablehlo.add %0, %f : tensor<4x4xf32>\n"
                     "%1 = stablehlo.cholesky %g, lower = true : tensor<4x4xf32>\n"
                     "return %1 : tensor<4x4xf32>")},
    {"choices", F("%c: tensor<12x8xi1>, %a: " T ", %p: tensor<i1>", T,
                  Z "%o = stablehlo.constant dense<0.5> : tensor<f32>\n"
                    "%0 = stablehlo.negate %a : " T "\n%1 = stablehlo.select %c, %a, %0 : tensor<12x8xi1>, " T "\n"
                    "%2 = stablehlo.select %p, %1, %a : tensor<i1>, " T
                    "\n%3 = stablehlo.clamp %z, %2, %o : (tensor<f32>, " T ", tensor<f32>) -> " T
                    "\n%4, %5 = stablehlo.optimization_barrier %3, %c : " T ", tensor<12x8xi1>\nreturn %4 : " T)},
};

static void differential(void **state) {
    (void)state;
    static const int64_t devices[] = {2, 4, 6, 3, 8};
    const char *more = getenv("XT_TEST_ROUNDS");
    int rounds = more ? atoi(more) : 40;
    for (size_t p = 0; p < BASE_COUNT(programs); p++)
        for (int round = 0; round < rounds; round++) {
            run r;
            seed = p * 1000000 + (uint64_t)round;
            prepare(&r, programs[p].text, devices[round % 5]);
            ir_module *m = parsed(programs[p].text);
            ir_func *f = ir_func_find(m, "main");
            for (size_t i = 0; i < r.n_in; i++) r.in_form[i] = random_sharding(&r.grid, f->body->args[i]->type);
            for (size_t i = 0; i < r.n_out; i++) r.out_form[i] = random_sharding(&r.grid, f->result_types[i]);
            if (round >= 15) annotate(m, &r, f->body, round % 10 >= 5);
            partition(m, &r, programs[p].text);
            ir_module_free(m);
            finish(&r);
        }
}

/* Devices in an order that is no mesh: one order for the whole program, and one for some arguments and results only. */
static void orders(void **state) {
    (void)state;
    static const int64_t turned[] = {3, 2, 1, 0}, mixed[] = {2, 0, 3, 1};
    for (size_t p = 0; p < BASE_COUNT(programs); p++)
        for (int round = 0; round < 6; round++) {
            run r;
            seed = p * 100 + (uint64_t)round;
            prepare(&r, programs[p].text, 4);
            ir_module *m = parsed(programs[p].text);
            ir_func *f = ir_func_find(m, "main");
            for (size_t i = 0; i < r.n_in; i++) r.in_form[i] = random_sharding(&r.grid, f->body->args[i]->type);
            for (size_t i = 0; i < r.n_out; i++) r.out_form[i] = random_sharding(&r.grid, f->result_types[i]);
            for (size_t i = 0; i < r.n_in; i++) r.in_order[i] = round < 3 || draw(2) ? mixed : draw(2) ? turned : NULL;
            for (size_t i = 0; i < r.n_out; i++) r.out_order[i] = round < 3 || draw(2) ? mixed : NULL;
            partition(m, &r, programs[p].text);
            ir_module_free(m);
            finish(&r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differential),
        cmocka_unit_test(orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
