/* One program per kernel and shape class, interpreter against compiler. */
#include "cpu_differential.h"

typedef struct row {
    const char *name, *text;
    double tol;
} row;

#define F(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "}\n"

#define LOSS_OF(i, more)                                                                                 \
    "%c = stablehlo.broadcast_in_dim %" i ", dims = [0] : (tensor<7xi64>) -> tensor<7x5xi64>\n"          \
    "%n = stablehlo.iota dim = 1 : tensor<7x5xi64>\n"                                                    \
    "%h = stablehlo.compare EQ, %c, %n, SIGNED : (tensor<7x5xi64>, tensor<7x5xi64>) -> tensor<7x5xi1>\n" \
    "%z = stablehlo.constant dense<0.0> : "                                                              \
    "tensor<7x5xf32>\n"                                                                                  \
    "%i0 = stablehlo.constant dense<0.0> : tensor<f32>\n"                                                \
    "%b = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<7xf32>) -> "                               \
    "tensor<7x5xf32>\n" more

static const row rows[] = {
    {"pads side by side, in any order, and ones that are not",
     F("%q: tensor<3x4xf32>, %k: tensor<3x2xf32>, %v: tensor<3x5xf32>", "tensor<3x11xf32>, tensor<3x11xf32>",
       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
       "%0 = stablehlo.pad %v, %z, low = [0, 6], high = [0, 0], interior = [0, 0] : (tensor<3x5xf32>, tensor<f32>) -> "
       "tensor<3x11xf32>\n"
       "%1 = stablehlo.pad %k, %z, low = [0, 4], high = [0, 5], interior = [0, 0] : (tensor<3x2xf32>, tensor<f32>) -> "
       "tensor<3x11xf32>\n"
       "%2 = stablehlo.add %0, %1 : tensor<3x11xf32>\n"
       "%3 = stablehlo.pad %q, %z, low = [0, 0], high = [0, 7], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> "
       "tensor<3x11xf32>\n"
       "%4 = stablehlo.add %2, %3 : tensor<3x11xf32>\n"
       "%5 = stablehlo.pad %q, %z, low = [0, 5], high = [0, 2], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> "
       "tensor<3x11xf32>\n"
       "%6 = stablehlo.pad %q, %z, low = [0, 1], high = [0, 6], interior = [0, 0] : (tensor<3x4xf32>, tensor<f32>) -> "
       "tensor<3x11xf32>\n"
       "%7 = stablehlo.add %5, %6 : tensor<3x11xf32>\nreturn %4, %7 : tensor<3x11xf32>, tensor<3x11xf32>\n"),
     1e-6},
    {"sums over one-hot rows, classes that are none, and the rows themselves",
     F("%x: tensor<7x5xf32>, %v: tensor<7xf32>, %k: tensor<7xi64>", "tensor<7xf32>, tensor<7xf32>, tensor<7x5xf32>",
       "%three = stablehlo.constant dense<3> : tensor<7xi64>\n"
       "%twice = stablehlo.multiply %k, %three : tensor<7xi64>\n"
       "%idx = stablehlo.subtract %twice, %three : tensor<7xi64>\n" LOSS_OF(
           "idx", "%e = stablehlo.exponential %x : tensor<7x5xf32>\n"
                  "%s = stablehlo.subtract %e, %b : tensor<7x5xf32>\n"
                  "%p = stablehlo.select %h, %s, %z : tensor<7x5xi1>, tensor<7x5xf32>\n"
                  "%r = stablehlo.reduce(%p init: %i0) applies stablehlo.add across dimensions = [1] : "
                  "(tensor<7x5xf32>, tensor<f32>) -> tensor<7xf32>\n"
                  "%q = stablehlo.select %h, %b, %z : tensor<7x5xi1>, tensor<7x5xf32>\n"
                  "%m = stablehlo.negate %q : tensor<7x5xf32>\n"
                  "%t = stablehlo.reduce(%m init: %i0) applies stablehlo.add across dimensions = [1] : "
                  "(tensor<7x5xf32>, tensor<f32>) -> tensor<7xf32>\n"
                  "%g = stablehlo.add %q, %x : tensor<7x5xf32>\n"
                  "return %r, %t, %g : tensor<7xf32>, tensor<7xf32>, tensor<7x5xf32>\n")),
     1e-6},
    {"iotas of 32 bits along each dim",
     F("%x: tensor<3x70x5xi32>", "tensor<3x70x5xi32>, tensor<3x70x5xi32>, tensor<3x70x5xi32>",
       "%a = stablehlo.iota dim = 0 : tensor<3x70x5xi32>\n"
       "%b = stablehlo.iota dim = 1 : tensor<3x70x5xi32>\n"
       "%c = stablehlo.iota dim = 2 : tensor<3x70x5xi32>\n"
       "%0 = stablehlo.add %a, %x : tensor<3x70x5xi32>\n"
       "%1 = stablehlo.add %b, %x : tensor<3x70x5xi32>\n"
       "%2 = stablehlo.add %c, %x : tensor<3x70x5xi32>\n"
       "return %0, %1, %2 : tensor<3x70x5xi32>, tensor<3x70x5xi32>, tensor<3x70x5xi32>\n"),
     0},
    {"positions along each dim of a large i32, of which masks are made",
     F("%x: tensor<10x70x96xi32>", "tensor<10x70x96xi32>, tensor<10x70x96xi32>",
       "%a = stablehlo.iota dim = 0 : tensor<10x70x96xi32>\n"
       "%b = stablehlo.iota dim = 1 : tensor<10x70x96xi32>\n"
       "%c = stablehlo.iota dim = 2 : tensor<10x70x96xi32>\n"
       "%0 = stablehlo.add %a, %x : tensor<10x70x96xi32>\n"
       "%1 = stablehlo.compare GE, %b, %c : (tensor<10x70x96xi32>, tensor<10x70x96xi32>) -> tensor<10x70x96xi1>\n"
       "%2 = stablehlo.select %1, %0, %c : tensor<10x70x96xi1>, tensor<10x70x96xi32>\n"
       "%3 = stablehlo.subtract %b, %x : tensor<10x70x96xi32>\n"
       "return %2, %3 : tensor<10x70x96xi32>, tensor<10x70x96xi32>\n"),
     0},
    {"positions along each dim of a large ui32, of which masks are made",
     F("%x: tensor<10x70x96xui32>", "tensor<10x70x96xui32>, tensor<10x70x96xui32>",
       "%a = stablehlo.iota dim = 0 : tensor<10x70x96xui32>\n"
       "%b = stablehlo.iota dim = 1 : tensor<10x70x96xui32>\n"
       "%c = stablehlo.iota dim = 2 : tensor<10x70x96xui32>\n"
       "%0 = stablehlo.add %a, %x : tensor<10x70x96xui32>\n"
       "%1 = stablehlo.compare GE, %b, %c : (tensor<10x70x96xui32>, tensor<10x70x96xui32>) -> tensor<10x70x96xi1>\n"
       "%2 = stablehlo.select %1, %0, %c : tensor<10x70x96xi1>, tensor<10x70x96xui32>\n"
       "%3 = stablehlo.subtract %b, %x : tensor<10x70x96xui32>\n"
       "return %2, %3 : tensor<10x70x96xui32>, tensor<10x70x96xui32>\n"),
     0},
    {"positions along each dim of a large i64, of which masks are made",
     F("%x: tensor<10x70x96xi64>", "tensor<10x70x96xi64>, tensor<10x70x96xi64>",
       "%a = stablehlo.iota dim = 0 : tensor<10x70x96xi64>\n"
       "%b = stablehlo.iota dim = 1 : tensor<10x70x96xi64>\n"
       "%c = stablehlo.iota dim = 2 : tensor<10x70x96xi64>\n"
       "%0 = stablehlo.add %a, %x : tensor<10x70x96xi64>\n"
       "%1 = stablehlo.compare GE, %b, %c : (tensor<10x70x96xi64>, tensor<10x70x96xi64>) -> tensor<10x70x96xi1>\n"
       "%2 = stablehlo.select %1, %0, %c : tensor<10x70x96xi1>, tensor<10x70x96xi64>\n"
       "%3 = stablehlo.subtract %b, %x : tensor<10x70x96xi64>\n"
       "return %2, %3 : tensor<10x70x96xi64>, tensor<10x70x96xi64>\n"),
     0},
    {"positions along each dim of a large f32, of which masks are made",
     F("%x: tensor<10x70x96xf32>", "tensor<10x70x96xf32>, tensor<10x70x96xf32>",
       "%a = stablehlo.iota dim = 0 : tensor<10x70x96xf32>\n"
       "%b = stablehlo.iota dim = 1 : tensor<10x70x96xf32>\n"
       "%c = stablehlo.iota dim = 2 : tensor<10x70x96xf32>\n"
       "%0 = stablehlo.add %a, %x : tensor<10x70x96xf32>\n"
       "%1 = stablehlo.compare GE, %b, %c : (tensor<10x70x96xf32>, tensor<10x70x96xf32>) -> tensor<10x70x96xi1>\n"
       "%2 = stablehlo.select %1, %0, %c : tensor<10x70x96xi1>, tensor<10x70x96xf32>\n"
       "%3 = stablehlo.subtract %b, %x : tensor<10x70x96xf32>\n"
       "return %2, %3 : tensor<10x70x96xf32>, tensor<10x70x96xf32>\n"),
     0},
    {"positions along each dim of a large bf16, of which masks are made",
     F("%x: tensor<10x70x96xbf16>", "tensor<10x70x96xbf16>, tensor<10x70x96xbf16>",
       "%a = stablehlo.iota dim = 0 : tensor<10x70x96xbf16>\n"
       "%b = stablehlo.iota dim = 1 : tensor<10x70x96xbf16>\n"
       "%c = stablehlo.iota dim = 2 : tensor<10x70x96xbf16>\n"
       "%0 = stablehlo.add %a, %x : tensor<10x70x96xbf16>\n"
       "%1 = stablehlo.compare GE, %b, %c : (tensor<10x70x96xbf16>, tensor<10x70x96xbf16>) -> tensor<10x70x96xi1>\n"
       "%2 = stablehlo.select %1, %0, %c : tensor<10x70x96xi1>, tensor<10x70x96xbf16>\n"
       "%3 = stablehlo.subtract %b, %x : tensor<10x70x96xbf16>\n"
       "return %2, %3 : tensor<10x70x96xbf16>, tensor<10x70x96xbf16>\n"),
     0},
    {"positions along each dim of a large ui8, of which masks are made",
     F("%x: tensor<10x70x96xui8>", "tensor<10x70x96xui8>, tensor<10x70x96xui8>",
       "%a = stablehlo.iota dim = 0 : tensor<10x70x96xui8>\n"
       "%b = stablehlo.iota dim = 1 : tensor<10x70x96xui8>\n"
       "%c = stablehlo.iota dim = 2 : tensor<10x70x96xui8>\n"
       "%0 = stablehlo.add %a, %x : tensor<10x70x96xui8>\n"
       "%1 = stablehlo.compare GE, %b, %c : (tensor<10x70x96xui8>, tensor<10x70x96xui8>) -> tensor<10x70x96xi1>\n"
       "%2 = stablehlo.select %1, %0, %c : tensor<10x70x96xi1>, tensor<10x70x96xui8>\n"
       "%3 = stablehlo.subtract %b, %x : tensor<10x70x96xui8>\n"
       "return %2, %3 : tensor<10x70x96xui8>, tensor<10x70x96xui8>\n"),
     0},
    {"positions of rows longer than their table may be",
     F("%x: tensor<2x40000xi32>", "tensor<2x40000xi32>",
       "%a = stablehlo.iota dim = 1 : tensor<2x40000xi32>\n"
       "%0 = stablehlo.add %a, %x : tensor<2x40000xi32>\nreturn %0 : tensor<2x40000xi32>\n"),
     0},
    {"bytes: short rows again and again, each number of a column eight times, runs a byte away",
     F("%x: tensor<900xui8>, %r: tensor<8xui8>, %m: tensor<90x87xui8>", "tensor<900x8xui8>, tensor<90x86xui8>",
       "%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<900xui8>) -> tensor<900x8xui8>\n"
       "%1 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<8xui8>) -> tensor<900x8xui8>\n"
       "%2 = stablehlo.subtract %0, %1 : tensor<900x8xui8>\n"
       "%3 = stablehlo.slice %m [0:90, 0:86] : (tensor<90x87xui8>) -> tensor<90x86xui8>\n"
       "%4 = stablehlo.slice %m [0:90, 1:87] : (tensor<90x87xui8>) -> tensor<90x86xui8>\n"
       "%5 = stablehlo.add %3, %4 : tensor<90x86xui8>\n"
       "return %2, %5 : tensor<900x8xui8>, tensor<90x86xui8>\n"),
     0},
    {"scalar products of a batch that lies innermost on one side, on both, on neither",
     F("%x: tensor<70x37xf32>, %y: tensor<37x70xf32>, %z: tensor<37x70xf32>",
       "tensor<70xf32>, tensor<70xf32>, tensor<37xf32>",
       "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [1] x [0] : "
       "(tensor<70x37xf32>, tensor<37x70xf32>) -> tensor<70xf32>\n"
       "%1 = stablehlo.dot_general %z, %y, batching_dims = [1] x [1], contracting_dims = [0] x [0] : "
       "(tensor<37x70xf32>, tensor<37x70xf32>) -> tensor<70xf32>\n"
       "%2 = stablehlo.dot_general %z, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
       "(tensor<37x70xf32>, tensor<37x70xf32>) -> tensor<37xf32>\n"
       "return %0, %1, %2 : tensor<70xf32>, tensor<70xf32>, tensor<37xf32>\n"),
     1e-5},
    {"pads of long rows: around, on one side, cropped, with holes, of complex numbers, of nothing",
     F("%x: tensor<5x6x40xf32>, %c: tensor<3x9xcomplex<f64>>, %e: tensor<0x40xf32>, %v: tensor<f32>, "
       "%w: tensor<complex<f64>>",
       "tensor<8x9x43xf32>, tensor<5x7x40xf32>, tensor<4x8x37xf32>, tensor<9x6x42xf32>, tensor<5x6x79xf32>, "
       "tensor<4x12xcomplex<f64>>, tensor<3x41xf32>",
       "%0 = stablehlo.pad %x, %v, low = [1, 2, 3], high = [2, 1, 0], interior = [0, 0, 0] : (tensor<5x6x40xf32>, "
       "tensor<f32>) -> tensor<8x9x43xf32>\n"
       "%1 = stablehlo.pad %x, %v, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<5x6x40xf32>, "
       "tensor<f32>) -> tensor<5x7x40xf32>\n"
       "%2 = stablehlo.pad %x, %v, low = [-1, 2, 0], high = [0, 0, -3], interior = [0, 0, 0] : (tensor<5x6x40xf32>, "
       "tensor<f32>) -> tensor<4x8x37xf32>\n"
       "%3 = stablehlo.pad %x, %v, low = [0, 0, 1], high = [0, 0, 1], interior = [1, 0, 0] : (tensor<5x6x40xf32>, "
       "tensor<f32>) -> tensor<9x6x42xf32>\n"
       "%4 = stablehlo.pad %x, %v, low = [0, 0, 0], high = [0, 0, 0], interior = [0, 0, 1] : (tensor<5x6x40xf32>, "
       "tensor<f32>) -> tensor<5x6x79xf32>\n"
       "%5 = stablehlo.pad %c, %w, low = [1, 1], high = [0, 2], interior = [0, 0] : (tensor<3x9xcomplex<f64>>, "
       "tensor<complex<f64>>) -> tensor<4x12xcomplex<f64>>\n"
       "%6 = stablehlo.pad %e, %v, low = [1, 1], high = [2, 0], interior = [0, 0] : (tensor<0x40xf32>, tensor<f32>) -> "
       "tensor<3x41xf32>\n"
       "return %0, %1, %2, %3, %4, %5, %6 : tensor<8x9x43xf32>, tensor<5x7x40xf32>, tensor<4x8x37xf32>, "
       "tensor<9x6x42xf32>, tensor<5x6x79xf32>, tensor<4x12xcomplex<f64>>, tensor<3x41xf32>\n"),
     0},
    {"convolutions of one feature: padded, dilated, turned around, cropped, in several tiles",
     F("%x: tensor<2x1x4500xf32>, %k: tensor<1x1x37xf32>", "tensor<2x1x4536xf32>, tensor<2x1x4400xf32>",
       "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[36, 36]]} "
       "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x1x4500xf32>, tensor<1x1x37xf32>) -> "
       "tensor<2x1x4536xf32>\n"
       "%1 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[-20, 28]], "
       "rhs_dilate = [3], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
       "(tensor<2x1x4500xf32>, tensor<1x1x37xf32>) -> tensor<2x1x4400xf32>\n"
       "return %0, %1 : tensor<2x1x4536xf32>, tensor<2x1x4400xf32>\n"),
     1e-5},
    {"convolutions of images of one feature: rows stepped over, turned around, features last",
     F("%x: tensor<3x1x20x90xf32>, %k: tensor<1x1x5x4xf32>, %y: tensor<3x20x90x1xf32>, %l: tensor<5x4x1x1xf32>",
       "tensor<3x1x10x89xf32>, tensor<3x14x91x1xf32>",
       "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = "
       "[2, 1], pad = [[2, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
       "(tensor<3x1x20x90xf32>, tensor<1x1x5x4xf32>) -> tensor<3x1x10x89xf32>\n"
       "%1 = stablehlo.convolution(%y, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = "
       "[[1, 1], [2, 2]], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, "
       "feature_group_count = 1 : i64} : (tensor<3x20x90x1xf32>, tensor<5x4x1x1xf32>) -> tensor<3x14x91x1xf32>\n"
       "return %0, %1 : tensor<3x1x10x89xf32>, tensor<3x14x91x1xf32>\n"),
     1e-5},
    {"mixed precision: a transposed, converted weight and its gradient",
     F("%x: tensor<6x5xf32>, %w: tensor<7x5xf32>, %g: tensor<6x7xf32>", "tensor<6x7xf32>, tensor<7x5xf32>",
       "%0 = stablehlo.convert %x : (tensor<6x5xf32>) -> tensor<6x5xbf16>\n"
       "%1 = stablehlo.transpose %w, dims = [1, 0] : (tensor<7x5xf32>) -> tensor<5x7xf32>\n"
       "%2 = stablehlo.convert %1 : (tensor<5x7xf32>) -> tensor<5x7xbf16>\n"
       "%3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<6x5xbf16>, tensor<5x7xbf16>) -> "
       "tensor<6x7xbf16>\n"
       "%4 = stablehlo.convert %3 : (tensor<6x7xbf16>) -> tensor<6x7xf32>\n"
       "%5 = stablehlo.convert %g : (tensor<6x7xf32>) -> tensor<6x7xbf16>\n"
       "%6 = stablehlo.dot_general %5, %0, contracting_dims = [0] x [0] : (tensor<6x7xbf16>, tensor<6x5xbf16>) -> "
       "tensor<7x5xbf16>\n"
       "%7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<7x5xbf16>) -> tensor<5x7xbf16>\n"
       "%8 = stablehlo.convert %7 : (tensor<5x7xbf16>) -> tensor<5x7xf32>\n"
       "%9 = stablehlo.transpose %8, dims = [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>\n"
       "%10 = stablehlo.subtract %w, %9 : tensor<7x5xf32>\n"
       "return %4, %10 : tensor<6x7xf32>, tensor<7x5xf32>\n"),
     0.02 /* products in bf16 round once more or less */},
    {"elementwise chain",
     F("%a: tensor<3x5xf32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
       "%0 = stablehlo.add %a, %b : tensor<3x5xf32>\n"
       "%1 = stablehlo.multiply %0, %a : tensor<3x5xf32>\n"
       "%2 = stablehlo.exponential %1 : "
       "tensor<3x5xf32>\n"
       "%3 = stablehlo.tanh %2 : tensor<3x5xf32>\nreturn %3 : tensor<3x5xf32>\n"),
     1e-6},
    {"two results of one loop",
     F("%a: tensor<1000xf32>, %b: tensor<1000xf32>", "tensor<1000xf32>, tensor<1000xf32>",
       "%0 = stablehlo.subtract %a, %b : tensor<1000xf32>\n"
       "%1 = stablehlo.logistic %0 : tensor<1000xf32>\n"
       "return %0, %1 : tensor<1000xf32>, "
       "tensor<1000xf32>\n"),
     1e-6},
    {"the same result twice, an argument, a constant",
     F("%a: tensor<7xf32>", "tensor<7xf32>, tensor<7xf32>, tensor<7xf32>, tensor<3xi32>",
       "%c = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi32>\n%0 = stablehlo.negate %a : tensor<7xf32>\n"
       "return %0, %0, %a, %c : tensor<7xf32>, tensor<7xf32>, tensor<7xf32>, tensor<3xi32>\n"),
     0},
    {"broadcasts",
     F("%a: tensor<4x6x5xf32>, %v: tensor<6xf32>, %w: tensor<5xf32>, %s: tensor<f32>",
       "tensor<4x6x5xf32>, tensor<6x4xf32>",
       "%0 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<6xf32>) -> tensor<4x6x5xf32>\n"
       "%1 = stablehlo.broadcast_in_dim %w, dims = [2] : (tensor<5xf32>) -> tensor<4x6x5xf32>\n"
       "%2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x6x5xf32>\n"
       "%3 = stablehlo.add %a, %0 : tensor<4x6x5xf32>\n"
       "%4 = stablehlo.multiply %3, %1 : tensor<4x6x5xf32>\n"
       "%5 = stablehlo.maximum %4, %2 : "
       "tensor<4x6x5xf32>\n"
       "%6 = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<6xf32>) -> tensor<6x4xf32>\n"
       "return %5, %6 : tensor<4x6x5xf32>, tensor<6x4xf32>\n"),
     1e-6},
    {"large with a broadcast row, several chunks",
     F("%a: tensor<300x1000xf32>, %w: tensor<1000xf32>, %s: tensor<f32>", "tensor<300x1000xf32>",
       "%c = stablehlo.constant dense<0.25> : tensor<300x1000xf32>\n"
       "%0 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<1000xf32>) -> "
       "tensor<300x1000xf32>\n"
       "%1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<300x1000xf32>\n"
       "%2 = stablehlo.multiply %a, %0 : tensor<300x1000xf32>\n"
       "%3 = stablehlo.add %2, %1 : tensor<300x1000xf32>\n"
       "%4 = stablehlo.multiply %3, %c : "
       "tensor<300x1000xf32>\n"
       "return %4 : tensor<300x1000xf32>\n"),
     1e-6},
    {"compare, select, clamp, convert",
     F("%a: tensor<33xf32>, %b: tensor<33xf32>, %i: tensor<33xi32>",
       "tensor<33xf32>, tensor<33xi1>, tensor<33xi8>, tensor<33xf32>",
       "%lo = stablehlo.constant dense<-0.5> : tensor<f32>\n%hi = stablehlo.constant dense<0.75> : tensor<f32>\n"
       "%0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<33xf32>, tensor<33xf32>) -> tensor<33xi1>\n"
       "%1 = stablehlo.select %0, %a, %b : "
       "tensor<33xi1>, tensor<33xf32>\n"
       "%2 = stablehlo.clamp %lo, %1, %hi : (tensor<f32>, tensor<33xf32>, tensor<f32>) -> tensor<33xf32>\n"
       "%3 = stablehlo.convert %1 : "
       "(tensor<33xf32>) -> tensor<33xi8>\n"
       "%4 = stablehlo.convert %i : (tensor<33xi32>) -> tensor<33xf32>\n%5 = stablehlo.add %4, %2 : tensor<33xf32>\n"
       "return %2, %0, %3, %5 : tensor<33xf32>, tensor<33xi1>, tensor<33xi8>, tensor<33xf32>\n"),
     1e-6},
    {"reshape inside a loop and of its result",
     F("%a: tensor<4x6xf32>, %b: tensor<24xf32>", "tensor<24xf32>, tensor<2x12xf32>, tensor<4x6xf32>",
       "%0 = stablehlo.negate %a : tensor<4x6xf32>\n"
       "%1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>\n"
       "%2 = stablehlo.add %1, %b : "
       "tensor<24xf32>\n"
       "%3 = stablehlo.reshape %2 : (tensor<24xf32>) -> tensor<2x12xf32>\n"
       "return %2, %3, %0 : tensor<24xf32>, tensor<2x12xf32>, tensor<4x6xf32>\n"),
     0},
    {"reshape of the loop's value is all that is read",
     F("%a: tensor<4x6xf32>", "tensor<24xf32>",
       "%0 = stablehlo.abs %a : tensor<4x6xf32>\n"
       "%1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>\n"
       "return %1 : tensor<24xf32>\n"),
     0},
    {"slice, reverse, iota",
     F("%a: tensor<6x8xf32>", "tensor<3x4xf32>, tensor<6x8xf32>, tensor<2x8xf32>, tensor<3x4xi32>",
       "%0 = stablehlo.slice %a [1:6:2, 0:8:2] : (tensor<6x8xf32>) -> tensor<3x4xf32>\n"
       "%1 = stablehlo.reverse %a, dims = [0, 1] : tensor<6x8xf32>\n"
       "%2 = stablehlo.slice %a [2:4, 0:8] : (tensor<6x8xf32>) -> tensor<2x8xf32>\n"
       "%3 = stablehlo.iota dim = 1 : tensor<3x4xi32>\n"
       "%4 = stablehlo.convert %3 : (tensor<3x4xi32>) -> tensor<3x4xf32>\n"
       "%5 = stablehlo.add %0, %4 : tensor<3x4xf32>\n"
       "%6 = stablehlo.abs %1 : "
       "tensor<6x8xf32>\n"
       "return %5, %6, %2, %3 : tensor<3x4xf32>, tensor<6x8xf32>, tensor<2x8xf32>, tensor<3x4xi32>\n"),
     0},
    {"bfloat16 chain",
     F("%a: tensor<70xbf16>, %b: tensor<70xbf16>", "tensor<70xbf16>, tensor<70xf32>",
       "%0 = stablehlo.add %a, %b : tensor<70xbf16>\n"
       "%1 = stablehlo.multiply %0, %a : tensor<70xbf16>\n"
       "%2 = stablehlo.convert %1 : (tensor<70xbf16>) "
       "-> tensor<70xf32>\n"
       "%3 = stablehlo.exponential %2 : tensor<70xf32>\nreturn %1, %3 : tensor<70xbf16>, tensor<70xf32>\n"),
     1e-6},
    {"half chain",
     F("%a: tensor<70xf16>, %b: tensor<70xf16>", "tensor<70xf16>",
       "%0 = stablehlo.add %a, %b : tensor<70xf16>\n"
       "%1 = stablehlo.multiply %0, %a : tensor<70xf16>\n"
       "return %1 : tensor<70xf16>\n"),
     0},
    {"unsigned shifts and bits to float",
     F("%a: tensor<40xui32>, %b: tensor<40xui32>", "tensor<40xf32>, tensor<40xui32>",
       "%n = stablehlo.constant dense<9> : tensor<40xui32>\n"
       "%one = stablehlo.constant dense<1065353216> : tensor<40xui32>\n"
       "%0 = stablehlo.multiply %a, %b : tensor<40xui32>\n"
       "%1 = stablehlo.shift_right_logical %0, %n : tensor<40xui32>\n"
       "%2 = stablehlo.or %1, %one : "
       "tensor<40xui32>\n"
       "%3 = stablehlo.bitcast_convert %2 : (tensor<40xui32>) -> tensor<40xf32>\n"
       "%4 = stablehlo.add %3, %3 : tensor<40xf32>\n"
       "return %4, %2 : "
       "tensor<40xf32>, tensor<40xui32>\n"),
     0},
    {"integers",
     F("%a: tensor<20xi32>, %b: tensor<20xi32>", "tensor<20xi32>, tensor<20xi64>",
       "%0 = stablehlo.divide %a, %b : tensor<20xi32>\n"
       "%1 = stablehlo.remainder %a, %b : tensor<20xi32>\n"
       "%2 = stablehlo.subtract %0, %1 : "
       "tensor<20xi32>\n"
       "%3 = stablehlo.convert %2 : (tensor<20xi32>) -> tensor<20xi64>\n"
       "%4 = stablehlo.multiply %3, %3 : tensor<20xi64>\n"
       "return %2, %4 : "
       "tensor<20xi32>, tensor<20xi64>\n"),
     0},
    {"transposes",
     F("%a: tensor<5x7x9xf32>, %b: tensor<130x70xf32>, %c: tensor<3x4xi8>",
       "tensor<9x5x7xf32>, tensor<70x130xf32>, tensor<4x3xi8>, tensor<7x5x9xf32>",
       "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<5x7x9xf32>) -> tensor<9x5x7xf32>\n"
       "%1 = stablehlo.transpose %b, dims = [1, 0] : "
       "(tensor<130x70xf32>) -> tensor<70x130xf32>\n"
       "%2 = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x4xi8>) -> tensor<4x3xi8>\n"
       "%3 = stablehlo.transpose %a, dims = [1, 0, 2] : "
       "(tensor<5x7x9xf32>) -> tensor<7x5x9xf32>\n"
       "return %0, %1, %2, %3 : tensor<9x5x7xf32>, tensor<70x130xf32>, tensor<4x3xi8>, tensor<7x5x9xf32>\n"),
     0},
    {"pads",
     F("%a: tensor<4x5xf32>, %p: tensor<f32>", "tensor<9x12xf32>, tensor<2x3xf32>, tensor<7x5xf32>",
       "%0 = stablehlo.pad %a, %p, low = [2, 1], high = [3, 2], interior = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> "
       "tensor<9x12xf32>\n"
       "%1 = stablehlo.pad %a, %p, low = [-1, -1], high = [-1, -1], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) "
       "-> tensor<2x3xf32>\n"
       "%2 = stablehlo.pad %a, %p, low = [-1, 1], high = [1, -1], interior = [1, 0] : (tensor<4x5xf32>, tensor<f32>) "
       "-> tensor<7x5xf32>\n"
       "return %0, %1, %2 : tensor<9x12xf32>, tensor<2x3xf32>, tensor<7x5xf32>\n"),
     0},
    {"concatenate",
     F("%a: tensor<4x5xf32>, %b: tensor<4x2xf32>", "tensor<4x11xf32>",
       "%0 = stablehlo.concatenate %a, %b, %b, %b, dim = 1 : (tensor<4x5xf32>, tensor<4x2xf32>, tensor<4x2xf32>, "
       "tensor<4x2xf32>) -> "
       "tensor<4x11xf32>\nreturn %0 : tensor<4x11xf32>\n"),
     0},
    {"dynamic slices",
     F("%a: tensor<6x7xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>, %j: tensor<i32>",
       "tensor<2x3xf32>, tensor<6x7xf32>, tensor<6x7xf32>",
       "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 3] : (tensor<6x7xf32>, tensor<i32>, tensor<i32>) -> "
       "tensor<2x3xf32>\n"
       "%n = stablehlo.negate %a : tensor<6x7xf32>\n"
       "%1 = stablehlo.dynamic_update_slice %n, %u, %i, %j : (tensor<6x7xf32>, tensor<2x3xf32>, tensor<i32>, "
       "tensor<i32>) -> tensor<6x7xf32>\n"
       "%2 = stablehlo.dynamic_update_slice %n, %0, %j, %i : (tensor<6x7xf32>, tensor<2x3xf32>, tensor<i32>, "
       "tensor<i32>) -> tensor<6x7xf32>\n"
       "return %0, %1, %2 : tensor<2x3xf32>, tensor<6x7xf32>, tensor<6x7xf32>\n"),
     0},
    {"dots",
     F("%a: tensor<5x7xf32>, %b: tensor<7x6xf32>, %c: tensor<6x7xf32>, %v: tensor<7xf32>",
       "tensor<5x6xf32>, tensor<5x6xf32>, tensor<5xf32>, tensor<f32>",
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x6xf32>) -> "
       "tensor<5x6xf32>\n"
       "%1 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [1] : (tensor<5x7xf32>, tensor<6x7xf32>) -> "
       "tensor<5x6xf32>\n"
       "%2 = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7xf32>) -> "
       "tensor<5xf32>\n"
       "%3 = stablehlo.dot_general %v, %v, contracting_dims = [0] x [0] : (tensor<7xf32>, tensor<7xf32>) -> "
       "tensor<f32>\n"
       "return %0, %1, %2, %3 : tensor<5x6xf32>, tensor<5x6xf32>, tensor<5xf32>, tensor<f32>\n"),
     1e-5},
    {"batched and folded dots",
     F("%a: tensor<2x3x5x7xf32>, %b: tensor<2x3x7x4xf32>, %c: tensor<2x5x3x7xf32>, %d: tensor<3x7x4xf32>",
       "tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>, tensor<2x5x4xf32>, tensor<3x2x5x4xf32>",
       "%0 = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : "
       "(tensor<2x3x5x7xf32>, "
       "tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>\n"
       "%1 = stablehlo.dot_general %a, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [3] : "
       "(tensor<2x3x5x7xf32>, "
       "tensor<2x5x3x7xf32>) -> tensor<2x3x5x5xf32>\n"
       "%2 = stablehlo.dot_general %c, %d, contracting_dims = [2, 3] x [0, 1] : (tensor<2x5x3x7xf32>, "
       "tensor<3x7x4xf32>) -> tensor<2x5x4xf32>\n"
       "%3 = stablehlo.dot_general %a, %d, batching_dims = [1] x [0], contracting_dims = [3] x [1] : "
       "(tensor<2x3x5x7xf32>, tensor<3x7x4xf32>) -> "
       "tensor<3x2x5x4xf32>\n"
       "return %0, %1, %2, %3 : tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>, tensor<2x5x4xf32>, tensor<3x2x5x4xf32>\n"),
     1e-5},
    {"dots whose dims do not fold",
     F("%a: tensor<3x5x4xf32>, %b: tensor<4x3x6xf32>", "tensor<5x6xf32>",
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [2, 0] x [0, 1] : (tensor<3x5x4xf32>, tensor<4x3x6xf32>) "
       "-> tensor<5x6xf32>\n"
       "return %0 "
       ": tensor<5x6xf32>\n"),
     1e-5},
    {"bfloat16 dot",
     F("%a: tensor<8x32xbf16>, %b: tensor<32x8xbf16>", "tensor<8x8xf32>, tensor<8x8xbf16>",
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x32xbf16>, tensor<32x8xbf16>) -> "
       "tensor<8x8xf32>\n"
       "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x32xbf16>, tensor<32x8xbf16>) -> "
       "tensor<8x8xbf16>\n"
       "return %0, %1 "
       ": tensor<8x8xf32>, tensor<8x8xbf16>\n"),
     1e-2},
    {"integer and double dots",
     F("%a: tensor<3x4xi32>, %b: tensor<4x2xi32>, %c: tensor<3x4xf64>, %d: tensor<4x2xf64>",
       "tensor<3x2xi32>, tensor<3x2xf64>",
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4x2xi32>) -> "
       "tensor<3x2xi32>\n"
       "%1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<3x4xf64>, tensor<4x2xf64>) -> "
       "tensor<3x2xf64>\n"
       "return %0, %1 : "
       "tensor<3x2xi32>, tensor<3x2xf64>\n"),
     1e-12},
    {"reductions",
     F("%a: tensor<6x7x9xf32>",
       "tensor<6x7xf32>, tensor<7x9xf32>, tensor<7xf32>, tensor<f32>, tensor<6x9xf32>, tensor<6x7x9xf32>",
       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%m = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
       "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [2] : (tensor<6x7x9xf32>, "
       "tensor<f32>) -> tensor<6x7xf32>\n"
       "%1 = stablehlo.reduce(%a init: %m) applies stablehlo.maximum across dimensions = [0] : (tensor<6x7x9xf32>, "
       "tensor<f32>) -> tensor<7x9xf32>\n"
       "%2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<6x7x9xf32>, "
       "tensor<f32>) -> tensor<7xf32>\n"
       "%3 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<6x7x9xf32>, "
       "tensor<f32>) -> tensor<f32>\n"
       "%4 = stablehlo.reduce(%a init: %z) applies stablehlo.minimum across dimensions = [1] : (tensor<6x7x9xf32>, "
       "tensor<f32>) -> tensor<6x9xf32>\n"
       "%5 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [] : (tensor<6x7x9xf32>, "
       "tensor<f32>) -> tensor<6x7x9xf32>\n"
       "return %0, %1, %2, %3, %4, %5 : tensor<6x7xf32>, tensor<7x9xf32>, tensor<7xf32>, tensor<f32>, tensor<6x9xf32>, "
       "tensor<6x7x9xf32>\n"),
     1e-5},
    {"large reductions cut into parts",
     F("%a: tensor<500x300xf32>, %b: tensor<150001xf32>", "tensor<300xf32>, tensor<f32>, tensor<f32>",
       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
       "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<500x300xf32>, "
       "tensor<f32>) -> tensor<300xf32>\n"
       "%1 = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0] : (tensor<150001xf32>, "
       "tensor<f32>) -> tensor<f32>\n"
       "%2 = stablehlo.reduce(%b init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<150001xf32>, "
       "tensor<f32>) -> tensor<f32>\n"
       "return %0, %1, %2 : tensor<300xf32>, tensor<f32>, tensor<f32>\n"),
     1e-4},
    {"bfloat16, integer and bool reductions",
     F("%a: tensor<4x40xbf16>, %i: tensor<4x5xi32>, %b: tensor<4x5xi1>", "tensor<4xbf16>, tensor<5xi32>, tensor<4xi1>",
       "%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
       "%k = stablehlo.constant dense<0> : tensor<i32>\n"
       "%f = stablehlo.constant dense<false> : "
       "tensor<i1>\n"
       "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x40xbf16>, "
       "tensor<bf16>) -> tensor<4xbf16>\n"
       "%1 = stablehlo.reduce(%i init: %k) applies stablehlo.add across dimensions = [0] : (tensor<4x5xi32>, "
       "tensor<i32>) -> tensor<5xi32>\n"
       "%2 = stablehlo.reduce(%b init: %f) applies stablehlo.or across dimensions = [1] : (tensor<4x5xi1>, tensor<i1>) "
       "-> tensor<4xi1>\n"
       "return %0, %1, %2 : tensor<4xbf16>, tensor<5xi32>, tensor<4xi1>\n"),
     1e-2},
    {"softmax",
     F("%a: tensor<9x10xf32>", "tensor<9x10xf32>",
       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%m = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
       "%0 = stablehlo.reduce(%a init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<9x10xf32>, "
       "tensor<f32>) -> tensor<9xf32>\n"
       "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<9xf32>) -> tensor<9x10xf32>\n"
       "%2 = stablehlo.subtract %a, %1 : tensor<9x10xf32>\n"
       "%3 = stablehlo.exponential %2 : tensor<9x10xf32>\n"
       "%4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : "
       "(tensor<9x10xf32>, tensor<f32>) -> tensor<9xf32>\n"
       "%5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<9xf32>) -> tensor<9x10xf32>\n"
       "%6 = stablehlo.divide %3, %5 : "
       "tensor<9x10xf32>\nreturn %6 : tensor<9x10xf32>\n"),
     1e-6},
    {"batch norm over channels in the middle",
     F("%x: tensor<4x3x5x5xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %g: tensor<4x3x5x5xf32>",
       "tensor<4x3x5x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5x5xf32>, tensor<3xf32>, tensor<3xf32>",
       "%0:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) {epsilon = 1.0e-05 : f32, feature_index = 1 : i64} : "
       "(tensor<4x3x5x5xf32>, "
       "tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5x5xf32>, tensor<3xf32>, tensor<3xf32>)\n"
       "%1:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %0#1, %0#2, %g) {epsilon = 1.0e-05 : f32, feature_index = 1 : "
       "i64} : (tensor<4x3x5x5xf32>, "
       "tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5x5xf32>) -> (tensor<4x3x5x5xf32>, tensor<3xf32>, "
       "tensor<3xf32>)\n"
       "return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<4x3x5x5xf32>, tensor<3xf32>, tensor<3xf32>, "
       "tensor<4x3x5x5xf32>, tensor<3xf32>, "
       "tensor<3xf32>\n"),
     1e-4},
    {"batch norm over the last dim",
     F("%x: tensor<600x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>, %g: tensor<600x6xf32>",
       "tensor<600x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<600x6xf32>, tensor<6xf32>, tensor<6xf32>, "
       "tensor<600x6xf32>",
       "%0:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) {epsilon = 1.0e-05 : f32, feature_index = 1 : i64} : "
       "(tensor<600x6xf32>, tensor<6xf32>, "
       "tensor<6xf32>) -> (tensor<600x6xf32>, tensor<6xf32>, tensor<6xf32>)\n"
       "%1:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %0#1, %0#2, %g) {epsilon = 1.0e-05 : f32, feature_index = 1 : "
       "i64} : (tensor<600x6xf32>, "
       "tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<600x6xf32>) -> (tensor<600x6xf32>, tensor<6xf32>, "
       "tensor<6xf32>)\n"
       "%2 = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %0#1, %0#2) {epsilon = 1.0e-05 : f32, feature_index = 1 : "
       "i64} : (tensor<600x6xf32>, "
       "tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<600x6xf32>\n"
       "return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2, %2 : tensor<600x6xf32>, tensor<6xf32>, tensor<6xf32>, "
       "tensor<600x6xf32>, tensor<6xf32>, "
       "tensor<6xf32>, tensor<600x6xf32>\n"),
     1e-4},
    {"gathers",
     F("%a: tensor<9x4xf32>, %i: tensor<3x2x1xi32>, %j: tensor<6x2xi32>", "tensor<3x2x4xf32>, tensor<6xf32>",
       "%0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], "
       "collapsed_slice_dims = [0], start_index_map = "
       "[0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false} : (tensor<9x4xf32>, "
       "tensor<3x2x1xi32>) -> "
       "tensor<3x2x4xf32>\n"
       "%1 = \"stablehlo.gather\"(%a, %j) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], "
       "start_index_map = [0, 1], "
       "index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false} : (tensor<9x4xf32>, "
       "tensor<6x2xi32>) -> tensor<6xf32>\n"
       "return %0, %1 : tensor<3x2x4xf32>, tensor<6xf32>\n"),
     0},
    {"scatters",
     F("%a: tensor<9x4xf32>, %i: tensor<6x1xi32>, %u: tensor<6x4xf32>, %j: tensor<6x2xi32>, %v: tensor<6xf32>",
       "tensor<9x4xf32>, tensor<9x4xf32>",
       "%0 = \"stablehlo.scatter\"(%a, %i, %u) ({\n"
       "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
       "%s = stablehlo.add %x, %y : "
       "tensor<f32>\n"
       "stablehlo.return %s : tensor<f32>\n"
       "}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
       "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = "
       "false, unique_indices = false} : "
       "(tensor<9x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<9x4xf32>\n"
       "%1 = \"stablehlo.scatter\"(%a, %j, %v) ({\n"
       "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
       "stablehlo.return %y : tensor<f32>\n"
       "}) "
       "{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = "
       "[0, 1], index_vector_dim = 1>, "
       "indices_are_sorted = false, unique_indices = false} : (tensor<9x4xf32>, tensor<6x2xi32>, tensor<6xf32>) -> "
       "tensor<9x4xf32>\n"
       "return %0, %1 : tensor<9x4xf32>, tensor<9x4xf32>\n"),
     1e-6},
    {"a loop with a captured value",
     F("%a: tensor<3xf32>, %n: tensor<i32>", "tensor<3xf32>",
       "%z = stablehlo.constant dense<0> : tensor<i32>\n"
       "%o = stablehlo.constant dense<1> : tensor<i32>\n"
       "%b = stablehlo.negate %a : tensor<3xf32>\n"
       "%0:2 = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, tensor<3xf32>\n"
       "cond {\n"
       "%c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, "
       "tensor<i32>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n} do {\n"
       "%j = stablehlo.add %i, %o : tensor<i32>\n"
       "%y = stablehlo.add %x, %b : tensor<3xf32>\n"
       "stablehlo.return %j, %y : tensor<i32>, "
       "tensor<3xf32>\n}\nreturn %0#1 : tensor<3xf32>\n"),
     1e-6},
    {"calls are inlined",
     "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {\n"
     "%0 = call @f(%a) : (tensor<3xf32>) -> tensor<3xf32>\n"
     "%1 = call @f(%0) : (tensor<3xf32>) "
     "-> tensor<3xf32>\nreturn %1 : tensor<3xf32>\n}\n"
     "func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
     "%0 = stablehlo.add %x, %x : tensor<3xf32>\n"
     "%1 = call @g(%0) : (tensor<3xf32>) -> "
     "tensor<3xf32>\nreturn %1 : tensor<3xf32>\n}\n"
     "func.func private @g(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
     "%0 = stablehlo.negate %x : tensor<3xf32>\n"
     "return %0 : tensor<3xf32>\n"
     "}\n",
     0},
    {"windows of iota",
     F("%a: tensor<6xi32>", "tensor<6x5xf32>, tensor<3xi32>",
       "%0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<6xi32>) -> tensor<6x5xi32>\n"
       "%1 = stablehlo.iota dim = 1 : tensor<1x5xi32>\n"
       "%2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x5xi32>) -> tensor<6x5xi32>\n"
       "%3 = stablehlo.compare EQ, %0, %2, SIGNED : (tensor<6x5xi32>, tensor<6x5xi32>) -> tensor<6x5xi1>\n"
       "%4 = stablehlo.convert %3 : "
       "(tensor<6x5xi1>) -> tensor<6x5xf32>\n"
       "%5 = stablehlo.iota dim = 0 : tensor<9xi32>\n"
       "%6 = stablehlo.slice %5 [2:8:2] : (tensor<9xi32>) -> tensor<3xi32>\n"
       "return %4, %6 : tensor<6x5xf32>, tensor<3xi32>\n"),
     0},
    {"empty arrays",
     F("%a: tensor<0x4xf32>, %b: tensor<4x3xf32>", "tensor<0x3xf32>, tensor<4xf32>, tensor<0x4xf32>",
       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
       "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<0x4xf32>, "
       "tensor<4x3xf32>) -> tensor<0x3xf32>\n"
       "%1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, "
       "tensor<f32>) -> tensor<4xf32>\n"
       "%2 = "
       "stablehlo.add %a, %a : tensor<0x4xf32>\n"
       "return %0, %1, %2 : tensor<0x3xf32>, tensor<4xf32>, tensor<0x4xf32>\n"),
     0},
};

static void ops_agree(void **state) {
    (void)state;
    const char *only = getenv("ROW");
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (only && !strstr(rows[i].name, only)) continue;
        for (int threads = 1; threads <= 3; threads += 2)
            differ(rows[i].name, rows[i].text, rows[i].tol, threads, false);
    }
}

/* Squares of a cache line, what is left beside and below them, several of them, and rows that threads share, for each
 * size of element. */
static void transposes_of_any_size(void **state) {
    (void)state;
    static const char *const types[] = {"i8", "bf16", "f32", "f64", "complex<f64>"};
    static const int shapes[][3] = {{2, 128, 192}, {1, 63, 65}, {1, 64, 64}, {3, 16, 48},
                                    {1, 70, 300},  {1, 8, 129}, {1, 1, 17}};
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t i = 0; i < BASE_COUNT(shapes); i++) {
            const int *d = shapes[i];
            char from[64], to[64], text[600];
            snprintf(from, sizeof from, "tensor<%dx%dx%dx%s>", d[0], d[1], d[2], types[t]);
            snprintf(to, sizeof to, "tensor<%dx%dx%dx%s>", d[0], d[2], d[1], types[t]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: %s) -> %s {\n"
                     "%%0 = stablehlo.transpose %%x, dims = [0, 2, 1] : (%s) -> %s\n"
                     "return %%0 : %s\n"
                     "}\n",
                     from, to, from, to, to);
            differ(text, text, 0, 2, false);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ops_agree), cmocka_unit_test(transposes_of_any_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
