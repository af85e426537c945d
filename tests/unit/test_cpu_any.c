/* Ops with regions of any kind, convolutions of any type and LAPACK's calls: interpreter against compiler, and that
 * none of them runs on the interpreter's code (but where OpenBLAS is missing). */
#include "cpu/vector/blas.h"
#include "cpu/run/plan.h"
#include "cpu_differential.h"

typedef struct row {
    const char *name, *text;
    double tol;
    bool blas; /* compiled only where OpenBLAS is there */
} row;
#define F(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "}\n"

/* a + b + a b, as a region of several ops. */
#define BLEND(T)                                                                                   \
    "^bb0(%x_: tensor<" T ">, %y_: tensor<" T ">):\n%p_ = stablehlo.multiply %x_, %y_ : tensor<" T \
    ">\n%q_ = stablehlo.add %x_, %y_ : tensor<" T ">\n%r_ = "                                      \
    "stablehlo.subtract %q_, %p_ : tensor<" T ">\nstablehlo.return %r_ : tensor<" T ">\n"
#define ONE(op, T)                                                                               \
    "^bb0(%x_: tensor<" T ">, %y_: tensor<" T ">):\n%r_ = stablehlo." op " %x_, %y_ : tensor<" T \
    ">\nstablehlo.return %r_ : tensor<" T ">\n"
#define WINDOW(T, region, attrs, in, out)                                                                \
    "%w = \"stablehlo.reduce_window\"(%a, %i) ({\n" region "}) {" attrs "} : (tensor<" in ">, tensor<" T \
    ">) -> tensor<" out ">\n"
#define ALL_ATTRS                                                                                                  \
    "window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 2, 3>, " \
    "window_dilations = array<i64: 1, 2>, "                                                                        \
    "padding = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>"
#define PAD22 "window_dimensions = array<i64: 2, 2>, padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"
#define SELECT(T, sel, com, attrs)                                                                               \
    "%s = \"stablehlo.select_and_scatter\"(%a, %u, %i) ({\n" sel "}, {\n" com "}) {" attrs "} : (tensor<9x11x" T \
    ">, tensor<4x6x" T ">, tensor<" T ">) -> tensor<9x11x" T ">\n"
#define PICKS(dir, T)                                                                                       \
    "^bb0(%x_: tensor<" T ">, %y_: tensor<" T ">):\n%r_ = stablehlo.compare " dir ", %x_, %y_ : (tensor<" T \
    ">, tensor<" T ">) -> tensor<i1>\nstablehlo.return %r_ : tensor<i1>\n"
#define POOL33                                                                                                      \
    "window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 0], [1, 1]]> : " \
    "tensor<2x2xi64>"
/* Keys: first falling in the first operand, ties by the second rising. */
#define TWO_KEYS(T, U)                                                                             \
    "^bb0(%a0_: tensor<" T ">, %a1_: tensor<" T ">, %b0_: tensor<" U ">, %b1_: tensor<" U          \
    ">):\n%e_ = stablehlo.compare EQ, %a0_, %a1_ : (tensor<" T ">, tensor<" T ">) -> tensor<i1>\n" \
    "%g_ = stablehlo.compare GT, %a0_, %a1_ : (tensor<" T ">, tensor<" T ">) -> tensor<i1>\n"      \
    "%l_ = stablehlo.compare LT, %b0_, %b1_ : (tensor<" U ">, tensor<" U ">) -> tensor<i1>\n"      \
    "%r_ = stablehlo.select %e_, %l_, %g_ : tensor<i1>, tensor<i1>\nstablehlo.return %r_ : tensor<i1>\n"
#define SORT2(shape, T, U, dim)                                                                            \
    "%s:2 = \"stablehlo.sort\"(%k, %v) ({\n" TWO_KEYS(T, U) "}) {dimension = " dim                         \
                                                            " : i64, is_stable = true} : (tensor<" shape T \
                                                            ">, tensor<" shape U ">) -> (tensor<" shape T  \
                                                            ">, tensor<" shape U                           \
                                                            ">)\nreturn %s#0, %s#1 : tensor<" shape T      \
                                                            ">, tensor<" shape U ">\n"
#define COMPLEX(name, re, im, T, C) \
    "%" name " = stablehlo.complex %" re ", %" im " : (tensor<" T ">, tensor<" T ">) -> tensor<" C ">\n"
#define PARTS(from, C, T)                                                                                            \
    "%re = stablehlo.real %" from " : (tensor<" C ">) -> tensor<" T ">\n%im = stablehlo.imag %" from " : (tensor<" C \
    ">) -> tensor<" T ">\nreturn %re, %im : tensor<" T ">, tensor<" T ">\n"
#define CONV(lhs, rhs, out, window)                                                                               \
    "%c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {" window \
    "} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" lhs ", " rhs ") -> " out "\n"

static const row rows[] = {
    {"map of three operands and a captured number",
     F("%a: tensor<700x3xf32>, %b: tensor<700x3xf32>, %c: tensor<f32>", "tensor<700x3xf32>",
       "%m = \"stablehlo.map\"(%a, %b) ({\n"
       "^bb0(%x_: tensor<f32>, %y_: tensor<f32>):\n"
       "%p_ = stablehlo.multiply %x_, %c : tensor<f32>\n"
       "%r_ = stablehlo.maximum %p_, %y_ : tensor<f32>\n"
       "stablehlo.return %r_ : tensor<f32>\n"
       "}) {dimensions = array<i64: 0, 1>} : (tensor<700x3xf32>, tensor<700x3xf32>) -> tensor<700x3xf32>\n"
       "return %m : tensor<700x3xf32>\n"),
     1e-6, false},
    {"windows by a region, all dilations, f32",
     F("%a: tensor<9x11xf32>, %i: tensor<f32>", "tensor<9x32xf32>",
       WINDOW("f32", BLEND("f32"), ALL_ATTRS, "9x11xf32", "9x32xf32") "return %w : tensor<9x32xf32>\n"),
     1e-5, false},
    {"windows by a region, bf16",
     F("%a: tensor<9x11xbf16>, %i: tensor<bf16>", "tensor<9x32xbf16>",
       WINDOW("bf16", BLEND("bf16"), ALL_ATTRS, "9x11xbf16", "9x32xbf16") "return %w : tensor<9x32xbf16>\n"),
     1e-6, false},
    {"windows of integers, or",
     F("%a: tensor<9x11xi16>, %i: tensor<i16>", "tensor<9x32xi16>",
       WINDOW("i16", ONE("or", "i16"), ALL_ATTRS, "9x11xi16", "9x32xi16") "return %w : tensor<9x32xi16>\n"),
     0, false},
    {"sums of f64 windows, and of f16 ones longer than 64",
     F("%a: tensor<40x41xf64>, %i: tensor<f64>, %h: tensor<40x41xf16>, %j: tensor<f16>",
       "tensor<31x32xf64>, tensor<31x32xf16>",
       WINDOW(
           "f64", ONE("add", "f64"), "window_dimensions = array<i64: 10, 10>", "40x41xf64",
           "31x32xf64") "%w2 = \"stablehlo.reduce_window\"(%h, %j) ({\n" ONE("add",
                                                                             "f16") "}) {window_dimensions = "
                                                                                    "array<i64: 10, 10>} : "
                                                                                    "(tensor<40x41xf16>, tensor<f16>) "
                                                                                    "-> tensor<31x32xf16>\n"
                                                                                    "return %w, %w2 : "
                                                                                    "tensor<31x32xf64>, "
                                                                                    "tensor<31x32xf16>\n"),
     1e-6, false},
    {"sums over padding that holds a 1 (spec: as often as it lies under the window), constant and handed in",
     F("%a: tensor<9x64xf32>, %o: tensor<f32>", "tensor<9x64xf32>, tensor<9x64xf32>",
       "%i = stablehlo.constant dense<1.0> : tensor<f32>\n" WINDOW(
           "f32", ONE("add", "f32"), PAD22, "9x64xf32",
           "9x64xf32") "%v = \"stablehlo.reduce_window\"(%a, %o) ({\n" ONE("add",
                                                                           "f32") "}) {" PAD22
                                                                                  "} : (tensor<9x64xf32>, tensor<f32>) "
                                                                                  "-> tensor<9x64xf32>\n"
                                                                                  "return %w, %v : tensor<9x64xf32>, "
                                                                                  "tensor<9x64xf32>\n"),
     1e-5, false},
    {"a convolution of bytes with a result of floats, as JAX states it",
     F("%x: tensor<2x9x8x3xi8>, %k: tensor<3x3x3x4xi8>", "tensor<2x7x6x4xf32>",
       CONV("tensor<2x9x8x3xi8>", "tensor<3x3x3x4xi8>", "tensor<2x7x6x4xf32>",
            "stride = [1, 1]") "return %c : tensor<2x7x6x4xf32>\n"),
     1e-6, false},
    {"windows of two operands: the largest and where it was",
     F("%a: tensor<30x20xf32>, %b: tensor<30x20xi32>, %i: tensor<f32>, %j: tensor<i32>",
       "tensor<28x18xf32>, tensor<28x18xi32>",
       "%w:2 = \"stablehlo.reduce_window\"(%a, %b, %i, %j) ({\n"
       "^bb0(%x_: tensor<f32>, %n_: tensor<i32>, %y_: tensor<f32>, %o_: tensor<i32>):\n"
       "%g_ = stablehlo.compare GE, %x_, %y_ : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
       "%p_ = stablehlo.select %g_, %x_, %y_ : tensor<i1>, tensor<f32>\n"
       "%q_ = stablehlo.select %g_, %n_, %o_ : tensor<i1>, tensor<i32>\n"
       "stablehlo.return %p_, %q_ : tensor<f32>, tensor<i32>\n"
       "}) "
       "{window_dimensions = array<i64: 3, 3>} : (tensor<30x20xf32>, tensor<30x20xi32>, tensor<f32>, tensor<i32>) -> "
       "(tensor<28x18xf32>, tensor<28x18xi32>)\n"
       "return %w#0, %w#1 : tensor<28x18xf32>, tensor<28x18xi32>\n"),
     0, false},
    {"windows of complex numbers",
     F("%r: tensor<9x11xf32>, %q: tensor<9x11xf32>, %ir: tensor<f32>, %ii: tensor<f32>",
       "tensor<9x32xf32>, tensor<9x32xf32>",
       COMPLEX("a", "r", "q", "9x11xf32", "9x11xcomplex<f32>") COMPLEX("i", "ir", "ii", "f32", "complex<f32>")
           WINDOW("complex<f32>", ONE("add", "complex<f32>"), ALL_ATTRS, "9x11xcomplex<f32>", "9x32xcomplex<f32>")
               PARTS("w", "9x32xcomplex<f32>", "9x32xf32")),
     1e-5, false},
    {"the smallest of each window, scattered by a region",
     F("%a: tensor<9x11xf32>, %u: tensor<4x6xf32>, %i: tensor<f32>", "tensor<9x11xf32>",
       SELECT("f32", PICKS("LE", "f32"), BLEND("f32"), POOL33) "return %s : tensor<9x11xf32>\n"),
     1e-5, false},
    {"select_and_scatter of f64, bf16, i32",
     F("%a: tensor<9x11xf64>, %u: tensor<4x6xf64>, %i: tensor<f64>", "tensor<9x11xf64>",
       SELECT("f64", PICKS("GE", "f64"), ONE("add", "f64"), POOL33) "return %s : tensor<9x11xf64>\n"),
     1e-9, false},
    {"select_and_scatter of bf16",
     F("%a: tensor<9x11xbf16>, %u: tensor<4x6xbf16>, %i: tensor<bf16>", "tensor<9x11xbf16>",
       SELECT("bf16", PICKS("GT", "bf16"), ONE("add", "bf16"), POOL33) "return %s : tensor<9x11xbf16>\n"),
     1e-6, false},
    {"select_and_scatter of integers, products",
     F("%a: tensor<9x11xi32>, %u: tensor<4x6xi32>, %i: tensor<i32>", "tensor<9x11xi32>",
       SELECT("i32", PICKS("GE", "i32"), ONE("multiply", "i32"), POOL33) "return %s : tensor<9x11xi32>\n"),
     0, false},
    {"scatter by a region, places that meet",
     F("%o: tensor<5x3xf32>, %k: tensor<4000xi32>, %u: tensor<4000x3xf32>", "tensor<5x3xf32>",
       "%c = stablehlo.constant dense<0.001> : tensor<f32>\n"
       "%s = \"stablehlo.scatter\"(%o, %k, %u) ({\n"
       "^bb0(%x_: tensor<f32>, %y_: tensor<f32>):\n"
       "%d_ = stablehlo.multiply %y_, %c : tensor<f32>\n"
       "%r_ = stablehlo.subtract %x_, %d_ : tensor<f32>\n"
       "stablehlo.return %r_ : tensor<f32>\n"
       "}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
       "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
       "(tensor<5x3xf32>, tensor<4000xi32>, tensor<4000x3xf32>) -> tensor<5x3xf32>\n"
       "return %s : tensor<5x3xf32>\n"),
     1e-5, false},
    {"scatter of two operands by one region",
     F("%o: tensor<7xf32>, %p: tensor<7xi32>, %k: tensor<900x1xi32>, %u: tensor<900xf32>, %v: tensor<900xi32>",
       "tensor<7xf32>, tensor<7xi32>",
       "%s:2 = \"stablehlo.scatter\"(%o, %p, %k, %u, %v) ({\n"
       "^bb0(%x_: tensor<f32>, %n_: tensor<i32>, %y_: tensor<f32>, %m_: tensor<i32>):\n"
       "%g_ = stablehlo.compare GE, %x_, %y_ : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
       "%a_ = stablehlo.select %g_, %x_, %y_ : tensor<i1>, tensor<f32>\n"
       "%b_ = stablehlo.select %g_, %n_, %m_ : tensor<i1>, tensor<i32>\n"
       "stablehlo.return %a_, %b_ : tensor<f32>, tensor<i32>\n"
       "}) "
       "{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = "
       "[0], index_vector_dim = 1>} : "
       "(tensor<7xf32>, tensor<7xi32>, tensor<900x1xi32>, tensor<900xf32>, tensor<900xi32>) -> (tensor<7xf32>, "
       "tensor<7xi32>)\n"
       "return %s#0, %s#1 : tensor<7xf32>, tensor<7xi32>\n"),
     0, false},
    {"scatter of two operands that trades them",
     F("%o: tensor<7xf32>, %p: tensor<7xf32>, %k: tensor<90x1xi32>, %u: tensor<90xf32>, %v: tensor<90xf32>",
       "tensor<7xf32>, tensor<7xf32>",
       "%s:2 = \"stablehlo.scatter\"(%o, %p, %k, %u, %v) ({\n"
       "^bb0(%x_: tensor<f32>, %n_: tensor<f32>, %y_: tensor<f32>, %m_: tensor<f32>):\n"
       "stablehlo.return %n_, %x_ : tensor<f32>, tensor<f32>\n"
       "}) "
       "{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = "
       "[0], index_vector_dim = 1>} : "
       "(tensor<7xf32>, tensor<7xf32>, tensor<90x1xi32>, tensor<90xf32>, tensor<90xf32>) -> (tensor<7xf32>, "
       "tensor<7xf32>)\n"
       "return %s#0, %s#1 : tensor<7xf32>, tensor<7xf32>\n"),
     0, false},
    {"scatter of complex numbers, sums",
     F("%r: tensor<5xf64>, %q: tensor<5xf64>, %k: tensor<300x1xi64>, %ur: tensor<300xf64>, %ui: tensor<300xf64>",
       "tensor<5xf64>, tensor<5xf64>",
       COMPLEX("o", "r", "q", "5xf64", "5xcomplex<f64>")
           COMPLEX("u", "ur", "ui", "300xf64", "300xcomplex<f64>") "%s = \"stablehlo.scatter\"(%o, %k, %u) ({\n" ONE(
               "add", "complex<f64>") "}) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
                                      "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
                                      "(tensor<5xcomplex<f64>>, tensor<300x1xi64>, tensor<300xcomplex<f64>>) -> "
                                      "tensor<5xcomplex<f64>>\n" PARTS("s", "5xcomplex<f64>", "5xf64")),
     1e-12, false},
    {"sort by two keys, one long line",
     F("%k: tensor<30011xi32>, %v: tensor<30011xf32>", "tensor<30011xi32>, tensor<30011xf32>",
       SORT2("30011x", "i32", "f32", "0")),
     0, false},
    {"sort by two keys, many short lines",
     F("%k: tensor<301x7xi8>, %v: tensor<301x7xf64>", "tensor<301x7xi8>, tensor<301x7xf64>",
       SORT2("301x7x", "i8", "f64", "1")),
     0, false},
    {"sort by two keys along the first dim",
     F("%k: tensor<2x900x3xi32>, %v: tensor<2x900x3xbf16>", "tensor<2x900x3xi32>, tensor<2x900x3xbf16>",
       SORT2("2x900x3x", "i32", "bf16", "1")),
     0, false},
    {"sort of complex numbers by their imaginary parts",
     F("%r: tensor<500xf32>, %q: tensor<500xf32>", "tensor<500xf32>, tensor<500xf32>",
       COMPLEX("z", "r", "q", "500xf32",
               "500xcomplex<f32>") "%s = \"stablehlo.sort\"(%z) ({\n"
                                   "^bb0(%x_: tensor<complex<f32>>, %y_: tensor<complex<f32>>):\n"
                                   "%a_ = stablehlo.imag %x_ : (tensor<complex<f32>>) -> tensor<f32>\n"
                                   "%b_ = stablehlo.imag %y_ : (tensor<complex<f32>>) -> tensor<f32>\n"
                                   "%g_ = stablehlo.compare LT, %a_, %b_ : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                                   "stablehlo.return %g_ : tensor<i1>\n"
                                   "}) {dimension = 0 : i64, is_stable = true} : (tensor<500xcomplex<f32>>) -> "
                                   "tensor<500xcomplex<f32>>\n" PARTS("s", "500xcomplex<f32>", "500xf32")),
     0, false},
    {"sums and products of complex numbers, over both dims",
     F("%r: tensor<60x33xf32>, %q: tensor<60x33xf32>, %i: tensor<f32>, %j: tensor<f32>",
       "tensor<60xf32>, tensor<60xf32>",
       COMPLEX("z", "r", "q", "60x33xf32", "60x33xcomplex<f32>")
           COMPLEX("o", "i", "j", "f32",
                   "complex<f32>") "%s = stablehlo.reduce(%z init: %o) applies stablehlo.add across dimensions = [1] : "
                                   "(tensor<60x33xcomplex<f32>>, tensor<complex<f32>>) -> "
                                   "tensor<60xcomplex<f32>>\n" PARTS("s", "60xcomplex<f32>", "60xf32")),
     1e-5, false},
    {"sums of complex columns",
     F("%r: tensor<60x33xf64>, %q: tensor<60x33xf64>, %i: tensor<f64>, %j: tensor<f64>",
       "tensor<33xf64>, tensor<33xf64>",
       COMPLEX("z", "r", "q", "60x33xf64", "60x33xcomplex<f64>")
           COMPLEX("o", "i", "j", "f64",
                   "complex<f64>") "%s = stablehlo.reduce(%z init: %o) applies stablehlo.add across dimensions = [0] : "
                                   "(tensor<60x33xcomplex<f64>>, tensor<complex<f64>>) -> "
                                   "tensor<33xcomplex<f64>>\n" PARTS("s", "33xcomplex<f64>", "33xf64")),
     1e-12, false},
    {"reduce with a captured factor",
     F("%a: tensor<60x33xf32>, %i: tensor<f32>, %c: tensor<f32>", "tensor<33xf32>",
       "%h = stablehlo.constant dense<0.25> : tensor<f32>\n"
       "%d = stablehlo.multiply %c, %h : tensor<f32>\n"
       "%s = \"stablehlo.reduce\"(%a, %i) ({\n"
       "^bb0(%x_: tensor<f32>, %y_: tensor<f32>):\n"
       "%p_ = stablehlo.minimum %y_, %d : tensor<f32>\n"
       "%r_ = stablehlo.minimum %x_, %p_ : tensor<f32>\n"
       "stablehlo.return %r_ : tensor<f32>\n"
       "}) "
       "{dimensions = array<i64: 0>} : (tensor<60x33xf32>, tensor<f32>) -> tensor<33xf32>\n"
       "return %s : tensor<33xf32>\n"),
     1e-6, false},
    {"convolution of f64, strides, padding, dilations",
     F("%x: tensor<3x13x11x4xf64>, %k: tensor<3x2x4x5xf64>", "tensor<3x7x12x5xf64>",
       CONV("tensor<3x13x11x4xf64>", "tensor<3x2x4x5xf64>", "tensor<3x7x12x5xf64>",
            "stride = [2, 1], pad = [[1, 1], [2, 1]], rhs_dilate = [1, 2]") "return %c : tensor<3x7x12x5xf64>\n"),
     1e-12, false},
    {"convolution of f64, the left side dilated, the kernel turned around",
     F("%x: tensor<2x6x5x3xf64>, %k: tensor<3x3x3x4xf64>", "tensor<2x11x9x4xf64>",
       CONV("tensor<2x6x5x3xf64>", "tensor<3x3x3x4xf64>", "tensor<2x11x9x4xf64>",
            "stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2], reverse = [true, true]") "return %c : "
                                                                                                    "tensor<"
                                                                                                    "2x11x9x4xf64>\n"),
     1e-12, false},
    {"convolution of f16",
     F("%x: tensor<2x9x9x3xf16>, %k: tensor<3x3x3x6xf16>", "tensor<2x7x7x6xf16>",
       CONV("tensor<2x9x9x3xf16>", "tensor<3x3x3x6xf16>", "tensor<2x7x7x6xf16>",
            "stride = [1, 1]") "return %c : tensor<2x7x7x6xf16>\n"),
     2e-3, false},
    {"convolution of integers",
     F("%x: tensor<2x9x9x3xi32>, %k: tensor<3x3x3x6xi32>", "tensor<2x7x7x6xi32>",
       CONV("tensor<2x9x9x3xi32>", "tensor<3x3x3x6xi32>", "tensor<2x7x7x6xi32>",
            "stride = [1, 1]") "return %c : tensor<2x7x7x6xi32>\n"),
     0, false},
    {"convolution of complex numbers",
     F("%r: tensor<2x9x9x3xf32>, %q: tensor<2x9x9x3xf32>, %s: tensor<3x3x3x6xf32>, %t: tensor<3x3x3x6xf32>",
       "tensor<2x7x7x6xf32>, tensor<2x7x7x6xf32>",
       COMPLEX("x", "r", "q", "2x9x9x3xf32", "2x9x9x3xcomplex<f32>")
           COMPLEX("k", "s", "t", "3x3x3x6xf32", "3x3x3x6xcomplex<f32>")
               CONV("tensor<2x9x9x3xcomplex<f32>>", "tensor<3x3x3x6xcomplex<f32>>", "tensor<2x7x7x6xcomplex<f32>>",
                    "stride = [1, 1]") PARTS("c", "2x7x7x6xcomplex<f32>", "2x7x7x6xf32")),
     1e-4, false},
    {"convolution of f64 by groups of features and of images",
     F("%x: tensor<4x6x5x8xf64>, %k: tensor<3x3x2x8xf64>, %l: tensor<3x3x8x6xf64>",
       "tensor<4x4x3x8xf64>, tensor<2x4x3x6xf64>",
       "%c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
       "{batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<4x6x5x8xf64>, tensor<3x3x2x8xf64>) -> "
       "tensor<4x4x3x8xf64>\n"
       "%d = stablehlo.convolution(%x, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
       "{batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x6x5x8xf64>, tensor<3x3x8x6xf64>) -> "
       "tensor<2x4x3x6xf64>\n"
       "return %c, %d : tensor<4x4x3x8xf64>, tensor<2x4x3x6xf64>\n"),
     1e-12, false},
    {"lu of tall and wide matrices",
     F("%a: tensor<3x6x4xf64>, %b: tensor<4x7xf32>",
       "tensor<3x6x4xf64>, tensor<3x4xi32>, tensor<3xi32>, tensor<4x7xf32>, tensor<4xi32>",
       "%l:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<3x6x4xf64>) -> "
       "(tensor<3x6x4xf64>, tensor<3x4xi32>, tensor<3xi32>)\n"
       "%m:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%b) {mhlo.backend_config = {}} : (tensor<4x7xf32>) -> "
       "(tensor<4x7xf32>, tensor<4xi32>, tensor<i32>)\n"
       "return %l#0, %l#1, %l#2, %m#0, %m#1 : tensor<3x6x4xf64>, tensor<3x4xi32>, tensor<3xi32>, tensor<4x7xf32>, "
       "tensor<4xi32>\n"),
     1e-4, true},
    {"solving by calls, each side and triangle, and a cholesky call",
     F("%a: tensor<3x4x4xf64>, %b: tensor<3x4x5xf64>, %c: tensor<3x5x4xf64>, %d: tensor<4x4xf32>",
       "tensor<3x4x5xf64>, tensor<3x5x4xf64>, tensor<4x4xf32>, tensor<i32>, tensor<i32>",
       "%i = stablehlo.iota dim = 1 : tensor<3x4x4xf64>\n"
       "%j = stablehlo.iota dim = 2 : tensor<3x4x4xf64>\n"
       "%e = stablehlo.compare EQ, %i, %j : (tensor<3x4x4xf64>, tensor<3x4x4xf64>) -> tensor<3x4x4xi1>\n"
       "%w = stablehlo.convert %e : (tensor<3x4x4xi1>) -> tensor<3x4x4xf64>\n"
       "%w2 = stablehlo.add %w, %w : tensor<3x4x4xf64>\n"
       "%w4 = stablehlo.add %w2, %w2 : tensor<3x4x4xf64>\n"
       "%m = stablehlo.add %a, %w4 : tensor<3x4x4xf64>\n"
       "%x = stablehlo.custom_call @lapack_dtrsm_ffi(%m, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, "
       "trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<3x4x4xf64>, tensor<3x4x5xf64>) -> tensor<3x4x5xf64>\n"
       "%y = stablehlo.custom_call @lapack_dtrsm_ffi(%m, %c) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, "
       "trans_x = 78 : ui8, uplo = 85 : ui8}} : (tensor<3x4x4xf64>, tensor<3x5x4xf64>) -> tensor<3x5x4xf64>\n"
       "%dd = stablehlo.dot_general %d, %d, contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> "
       "tensor<4x4xf32>\n"
       "%l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%dd) {mhlo.backend_config = {uplo = 85 : ui8}} : "
       "(tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)\n"
       "%n = stablehlo.negate %dd : tensor<4x4xf32>\n"
       "%g:2 = stablehlo.custom_call @lapack_spotrf_ffi(%n) {mhlo.backend_config = {uplo = 76 : ui8}} : "
       "(tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)\n"
       "return %x, %y, %l#0, %l#1, %g#1 : tensor<3x4x5xf64>, tensor<3x5x4xf64>, tensor<4x4xf32>, tensor<i32>, "
       "tensor<i32>\n"),
     1e-4, true},
    {"qr",
     F("%a: tensor<2x6x4xf64>", "tensor<2x6x4xf64>, tensor<2x4xf64>, tensor<2x6x4xf64>, tensor<2x6x6xf64>",
       "%f:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x6x4xf64>) -> "
       "(tensor<2x6x4xf64>, tensor<2x4xf64>)\n"
       "%q = stablehlo.custom_call @lapack_dorgqr_ffi(%f#0, %f#1) {mhlo.backend_config = {}} : (tensor<2x6x4xf64>, "
       "tensor<2x4xf64>) -> tensor<2x6x4xf64>\n"
       "%z = stablehlo.constant dense<0.0> : tensor<f64>\n"
       "%p = stablehlo.pad %f#0, %z, low = [0, 0, 0], high = [0, 0, 2], interior = [0, 0, 0] : (tensor<2x6x4xf64>, "
       "tensor<f64>) -> tensor<2x6x6xf64>\n"
       "%w = stablehlo.custom_call @lapack_dorgqr_ffi(%p, %f#1) {mhlo.backend_config = {}} : (tensor<2x6x6xf64>, "
       "tensor<2x4xf64>) -> tensor<2x6x6xf64>\n"
       "return %f#0, %f#1, %q, %w : tensor<2x6x4xf64>, tensor<2x4xf64>, tensor<2x6x4xf64>, tensor<2x6x6xf64>\n"),
     1e-9, true},
    {"eigenvalues and what the vectors put together, real and complex",
     F("%a: tensor<5x5xf64>, %r: tensor<4x4xf32>, %q: tensor<4x4xf32>", "tensor<5xf64>, tensor<5x5xf64>, tensor<4xf32>",
       "%f:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} "
       ": (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5xf64>, tensor<i32>)\n"
       "%s = stablehlo.broadcast_in_dim %f#1, dims = [1] : (tensor<5xf64>) -> tensor<5x5xf64>\n"
       "%u = stablehlo.multiply %f#0, %s : tensor<5x5xf64>\n"
       "%y = stablehlo.dot_general %u, %f#0, contracting_dims = [1] x [1] : (tensor<5x5xf64>, tensor<5x5xf64>) -> "
       "tensor<5x5xf64>\n" COMPLEX(
           "c", "r", "q", "4x4xf32",
           "4x4xcomplex<f32>") "%g:3 = stablehlo.custom_call @lapack_cheevd_ffi(%c) {mhlo.backend_config = {mode = 86 "
                               ": ui8, uplo = 85 : ui8}} : (tensor<4x4xcomplex<f32>>) -> (tensor<4x4xcomplex<f32>>, "
                               "tensor<4xf32>, tensor<i32>)\n"
                               "return %f#1, %y, %g#1 : tensor<5xf64>, tensor<5x5xf64>, tensor<4xf32>\n"),
     1e-4, true},
    {"singular values and what the vectors put together",
     F("%a: tensor<6x4xf64>, %b: tensor<3x4x6xf32>", "tensor<4xf64>, tensor<6x4xf64>, tensor<3x4xf32>, tensor<3x4xf32>",
       "%f:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%a) {mhlo.backend_config = {mode = 83 : ui8}} : "
       "(tensor<6x4xf64>) -> (tensor<6x4xf64>, tensor<4xf64>, tensor<6x4xf64>, tensor<4x4xf64>, tensor<i32>)\n"
       "%s = stablehlo.broadcast_in_dim %f#1, dims = [1] : (tensor<4xf64>) -> tensor<6x4xf64>\n"
       "%u = stablehlo.multiply %f#2, %s : tensor<6x4xf64>\n"
       "%y = stablehlo.dot_general %u, %f#3, contracting_dims = [1] x [0] : (tensor<6x4xf64>, tensor<4x4xf64>) -> "
       "tensor<6x4xf64>\n"
       "%g:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%b) {mhlo.backend_config = {mode = 65 : ui8}} : "
       "(tensor<3x4x6xf32>) -> (tensor<3x4x6xf32>, tensor<3x4xf32>, tensor<3x4x4xf32>, tensor<3x6x6xf32>, "
       "tensor<3xi32>)\n"
       "%h:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%b) {mhlo.backend_config = {mode = 78 : ui8}} : "
       "(tensor<3x4x6xf32>) -> (tensor<3x4x6xf32>, tensor<3x4xf32>, tensor<3x4x4xf32>, tensor<3x6x6xf32>, "
       "tensor<3xi32>)\n"
       "return %f#1, %y, %g#1, %h#1 : tensor<4xf64>, tensor<6x4xf64>, tensor<3x4xf32>, tensor<3x4xf32>\n"),
     1e-4, true},
};

static void equal(const char *name, const char *text, double tol) {
    differ(name, text, tol, 1, false);
    differ(name, text, tol, 3, true);
}

static void compiled(const row *r) {
    cpu_exec *e = NULL;
    if (r->blas && !blas_get()) return;
    expect_ok(cpu_compile(r->text, strlen(r->text), NULL, &e), r->name);
    for (size_t t = 0; t < e->plan.n_thunks; t++)
        if (!strncmp(e->plan.thunks[t].kernel->name, "interpret", 9))
            fail_msg("%s: %s runs on the interpreter's code", r->name, ir_op_infos[e->plan.thunks[t].op->code].name);
    cpu_exec_free(e);
}

static void all_rows(void **state) {
    (void)state;
    const char *only = getenv("ONLY");
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (only && !strstr(rows[i].name, only)) continue;
        equal(rows[i].name, rows[i].text, rows[i].tol);
        compiled(&rows[i]);
    }
}

/* A comparator that contradicts itself: whatever the order, every element is there once. */
static void a_comparator_without_order(void **state) {
    (void)state;
    enum { N = 5000 };
    static const char text[] =
        "func.func @main(%k: tensor<5000xf32>, %v: tensor<5000xi32>) -> (tensor<5000xf32>, tensor<5000xi32>) {\n"
        "%s:2 = \"stablehlo.sort\"(%k, %v) ({\n"
        "^bb0(%a_: tensor<f32>, %b_: tensor<f32>, %c_: tensor<i32>, %d_: tensor<i32>):\n"
        "%p_ = stablehlo.multiply %a_, %b_ : tensor<f32>\n"
        "%z_ = stablehlo.constant dense<0.3> : tensor<f32>\n"
        "%r_ = stablehlo.compare GT, %p_, %z_ : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %r_ : tensor<i1>\n"
        "}) {dimension = 0 : i64, is_stable = true} : (tensor<5000xf32>, tensor<5000xi32>) -> (tensor<5000xf32>, "
        "tensor<5000xi32>)\n"
        "return %s#0, %s#1 : tensor<5000xf32>, tensor<5000xi32>\n}\n";
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[2], out[2] = {0};
    bool donated[2] = {0}, seen[N] = {0};
    int from[2];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), "sort");
    expect_ok(cpu_device_new(2, NULL, &d), "sort");
    for (size_t i = 0; i < 2; i++) expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), "sort");
    fill_random(&in[0], 5);
    for (int i = 0; i < N; i++) ((int32_t *)in[1].data)[i] = i;
    expect_ok(cpu_run(e, d, &a, in, donated, out, from), "sort");
    for (int i = 0; i < N; i++) {
        int32_t at = ((int32_t *)out[1].data)[i];
        assert_in_range(at, 0, N - 1);
        assert_false(seen[at]);
        seen[at] = true;
        assert_true(((float *)out[0].data)[i] == ((float *)in[0].data)[at]);
    }
    for (size_t i = 0; i < 2; i++) {
        heap_free(&h, out[i].data, ir_type_bytes(out[i].type));
        array_free(&in[i]);
    }
    cpu_device_free(d);
    cpu_exec_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_rows), cmocka_unit_test(a_comparator_without_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
