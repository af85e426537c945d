/* NaN, infinities, signed zeros and denormals through everything that is not elementwise: folds, windows, sorts,
 * indexing, moving, products, norms. Rows of op x type x shape, interpreter against compiler, on one thread and on two
 * with the same bits.
 *
 * Most numbers are quarters, so sums are exact in f32 and in any order; a few are special, so that not every result is
 * NaN and it shows where each goes. The compiler flushes denormals as XLA:CPU does: its result may be that of the
 * program whose arguments have zeros in their place. */
#include "cpu_check.h"

typedef enum kind {
    ALL, /* numbers, zeros of both signs, denormals, infinities, NaN */
    FEW, /* the same, one in fifty */
    EDGES, /* no denormals: where they stand decides what is chosen (comparisons see them as zero) */
    ORDERED, /* no NaN and no denormals: comparisons without a total order */
    ZEROS, /* zeros of both signs alone */
} kind;
enum { BITS = 1 }; /* moved, not computed: the bits stay, those of denormals too */

typedef struct row {
    const char *name, *types, *text;
    kind values;
    double tol; /* times the type's precision */
    int flags;
} row;

/* @T is the type, @L and @H its -Inf and Inf. */
#define F(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "}\n"
#define FLOATS "f32 f64 bf16 f16"
#define REDUCE(op, init, dims, from, to)                                                                          \
    "stablehlo.reduce(%x init: " init ") applies stablehlo." op " across dimensions = [" dims "] : (tensor<" from \
    "x@T>, tensor<@T>) -> tensor<" to "@T>\n"
/* Rows, columns, everything: @op over tensor<AxB>. */
#define FOLDS(op, init, A, B)                                                                                          \
    F("%x: tensor<" A "x" B "x@T>", "tensor<" B "x@T>, tensor<" A "x@T>, tensor<@T>",                                  \
      "%i = stablehlo.constant dense<" init                                                                            \
      "> : tensor<@T>\n%0 = " REDUCE(op, "%i", "0", A "x" B, B "x") "%1 = " REDUCE(                                    \
          op, "%i", "1", A "x" B, A "x") "%2 = " REDUCE(op, "%i", "0, 1", A "x" B, "") "return %0, %1, %2 : tensor<" B \
                                                                                       "x@T>, tensor<" A               \
                                                                                       "x@T>, tensor<@T>\n")
/* JAX's argmax: the first NaN if there is one, else the first of the largest. */
#define ARGMAX(how, init, dim, A, B, to)                                                                     \
    F("%x: tensor<" A "x" B "x@T>", "tensor<" to "x@T>, tensor<" to "xi32>",                                 \
      "%n = stablehlo.iota dim = " dim " : tensor<" A "x" B "xi32>\n%i = stablehlo.constant dense<" init     \
      "> : tensor<@T>\n"                                                                                     \
      "%z = stablehlo.constant dense<0> : tensor<i32>\n"                                                     \
      "%0:2 = stablehlo.reduce(%x init: %i), (%n init: %z) across dimensions = [" dim "] : (tensor<" A "x" B \
      "x@T>, tensor<" A "x" B "xi32>, tensor<@T>, tensor<i32>) -> "                                          \
      "(tensor<" to "x@T>, tensor<" to "xi32>)\n"                                                            \
      " reducer(%a: tensor<@T>, %b: tensor<@T>) (%c: tensor<i32>, %d: tensor<i32>) {\n"                      \
      "%1 = stablehlo.compare " how ", %a, %b, FLOAT : (tensor<@T>, tensor<@T>) -> tensor<i1>\n"             \
      "%2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<@T>, tensor<@T>) -> tensor<i1>\n"                  \
      "%3 = stablehlo.or %1, %2 : tensor<i1>\n"                                                              \
      "%4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<@T>, tensor<@T>) -> tensor<i1>\n"                  \
      "%5 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"               \
      "%6 = stablehlo.and %4, %5 : tensor<i1>\n"                                                             \
      "%7 = stablehlo.or %3, %6 : tensor<i1>\n"                                                              \
      "%8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<@T>\n"                                          \
      "%9 = stablehlo.select %7, %c, %d : tensor<i1>, tensor<i32>\n"                                         \
      "stablehlo.return %8, %9 : tensor<@T>, tensor<i32>\n"                                                  \
      "}\n"                                                                                                  \
      "return %0#0, %0#1 : tensor<" to "x@T>, tensor<" to "xi32>\n")
/* Windows over the last two of four dims. */
#define WINDOW(op, init, from, to, size, stride, pad)                                         \
    F("%x: tensor<" from "x@T>", "tensor<" to "x@T>",                                         \
      "%i = stablehlo.constant dense<" init "> : tensor<@T>\n"                                \
      "%0 = \"stablehlo.reduce_window\"(%x, %i) ({\n"                                         \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>):\n"                                               \
      "%r = stablehlo." op " %a, %b : tensor<@T>\n"                                           \
      "stablehlo.return %r : tensor<@T>\n"                                                    \
      "}) {window_dimensions = array<i64: " size ">, window_strides = "                       \
      "array<i64: " stride ">, padding = dense<[" pad "]> : tensor<4x2xi64>} : (tensor<" from \
      "x@T>, tensor<@T>) -> tensor<" to "x@T>\n"                                              \
      "return %0 : tensor<" to "x@T>\n")
#define CHOOSE(from, to, size, stride, pad)                                                          \
    F("%x: tensor<" from "x@T>, %s: tensor<" to "x@T>", "tensor<" from "x@T>",                       \
      "%i = stablehlo.constant dense<0.0> : tensor<@T>\n"                                            \
      "%0 = \"stablehlo.select_and_scatter\"(%x, %s, %i) ({\n"                                       \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>):\n"                                                      \
      "%r = stablehlo.compare GE, %a, %b, FLOAT : (tensor<@T>, tensor<@T>) -> tensor<i1>\n"          \
      "stablehlo.return %r : tensor<i1>\n"                                                           \
      "}, {\n"                                                                                       \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>):\n"                                                      \
      "%r = stablehlo.add %a, %b : tensor<@T>\n"                                                     \
      "stablehlo.return %r : tensor<@T>\n"                                                           \
      "}) {window_dimensions = "                                                                     \
      "array<i64: " size ">, window_strides = array<i64: " stride ">, padding = dense<[" pad         \
      "]> : tensor<4x2xi64>} : (tensor<" from "x@T>, tensor<" to "x@T>, tensor<@T>) -> tensor<" from \
      "x@T>\nreturn %0 : tensor<" from "x@T>\n")
#define SORT(shape, dim, how, kind)                                                                                    \
    F("%x: tensor<" shape "x@T>", "tensor<" shape "x@T>, tensor<" shape "xi32>",                                       \
      "%n = stablehlo.iota dim = " dim " : tensor<" shape "xi32>\n"                                                    \
      "%0:2 = \"stablehlo.sort\"(%x, %n) ({\n"                                                                         \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>, %c: tensor<i32>, "                                                         \
      "%d: tensor<i32>):\n%r = stablehlo.compare " how ", %a, %b, " kind " : (tensor<@T>, tensor<@T>) -> tensor<i1>\n" \
      "stablehlo.return %r : tensor<i1>\n"                                                                             \
      "}) "                                                                                                            \
      "{dimension = " dim " : i64, is_stable = true} : (tensor<" shape "x@T>, tensor<" shape                           \
      "xi32>) -> (tensor<" shape "x@T>, tensor<" shape "xi32>)\n"                                                      \
      "return %0#0, %0#1 : tensor<" shape "x@T>, tensor<" shape "xi32>\n")
/* Rows of an operand at computed places; columns of it; single elements. */
#define SCATTER(body)                                                                                                 \
    F("%x: tensor<9x40x@T>, %u: tensor<30x40x@T>, %v: tensor<9x70x@T>, %n: tensor<30x1xi32>, %m: tensor<70x1xi32>, "  \
      "%k: tensor<60x2xi32>, %w: tensor<60x@T>",                                                                      \
      "tensor<9x40x@T>, tensor<9x40x@T>, tensor<9x40x@T>",                                                            \
      "%0 = \"stablehlo.scatter\"(%x, %n, %u) ({\n"                                                                   \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>):\n" body "}) {scatter_dimension_numbers = #stablehlo.scatter<"            \
      "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = " \
      "1>} : (tensor<9x40x@T>, "                                                                                      \
      "tensor<30x1xi32>, tensor<30x40x@T>) -> tensor<9x40x@T>\n"                                                      \
      "%1 = \"stablehlo.scatter\"(%x, %m, %v) ({\n"                                                                   \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>):\n" body "}) {scatter_dimension_numbers = #stablehlo.scatter<"            \
      "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = " \
      "1>} : (tensor<9x40x@T>, "                                                                                      \
      "tensor<70x1xi32>, tensor<9x70x@T>) -> tensor<9x40x@T>\n"                                                       \
      "%2 = \"stablehlo.scatter\"(%x, %k, %w) ({\n"                                                                   \
      "^bb0(%a: tensor<@T>, %b: tensor<@T>):\n" body "}) {scatter_dimension_numbers = #stablehlo.scatter<"            \
      "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : "               \
      "(tensor<9x40x@T>, tensor<60x2xi32>, "                                                                          \
      "tensor<60x@T>) -> tensor<9x40x@T>\nreturn %0, %1, %2 : tensor<9x40x@T>, tensor<9x40x@T>, tensor<9x40x@T>\n")
#define FOLD_WITH(op) "%r = stablehlo." op " %a, %b : tensor<@T>\nstablehlo.return %r : tensor<@T>\n"
#define DOT(m, k, n)                                                                                               \
    F("%x: tensor<" m "x" k "x@T>, %w: tensor<" k "x" n "x@T>", "tensor<" m "x" n "x@T>",                          \
      "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<" m "x" k "x@T>, tensor<" k "x" n \
      "x@T>) -> tensor<" m "x" n "x@T>\n"                                                                          \
      "return %0 : tensor<" m "x" n "x@T>\n")
#define CONV(x, w, y, stride)                                                                                         \
    F("%x: tensor<" x "x@T>, %w: tensor<" w "x@T>", "tensor<" y "x@T>",                                               \
      "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = " \
      "[" stride "], pad = [[0, 0], [0, 0]]} "                                                                        \
      "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<" x "x@T>, tensor<" w                   \
      "x@T>) -> tensor<" y "x@T>\nreturn %0 : tensor<" y "x@T>\n")

static const row rows[] = {
    {"maximum, few", FLOATS, FOLDS("maximum", "@L", "9", "7"), ALL, 0, 0},
    {"maximum, many", FLOATS, FOLDS("maximum", "@L", "70", "67"), FEW, 0, 0},
    {"maximum, in pieces", FLOATS, FOLDS("maximum", "@L", "300", "260"), FEW, 0, 0},
    {"maximum of zeros", FLOATS, FOLDS("maximum", "@L", "35", "33"), ZEROS, 0, 0},
    {"minimum, few", FLOATS, FOLDS("minimum", "@H", "9", "7"), ALL, 0, 0},
    {"minimum, many", FLOATS, FOLDS("minimum", "@H", "70", "67"), FEW, 0, 0},
    {"minimum, in pieces", FLOATS, FOLDS("minimum", "@H", "300", "260"), FEW, 0, 0},
    {"minimum of zeros", FLOATS, FOLDS("minimum", "@H", "35", "33"), ZEROS, 0, 0},
    {"maximum, rows of 4", FLOATS, FOLDS("maximum", "@L", "203", "4"), FEW, 0, 0},
    {"maximum, rows of 8", FLOATS, FOLDS("maximum", "@L", "203", "8"), FEW, 0, 0},
    {"maximum, rows of 12", FLOATS, FOLDS("maximum", "@L", "203", "12"), FEW, 0, 0},
    {"maximum, rows of 16", FLOATS, FOLDS("maximum", "@L", "203", "16"), FEW, 0, 0},
    {"maximum, rows of 20", FLOATS, FOLDS("maximum", "@L", "203", "20"), FEW, 0, 0},
    {"minimum, rows of 4", FLOATS, FOLDS("minimum", "@H", "203", "4"), FEW, 0, 0},
    {"minimum, rows of 8", FLOATS, FOLDS("minimum", "@H", "203", "8"), FEW, 0, 0},
    {"minimum, rows of 12", FLOATS, FOLDS("minimum", "@H", "203", "12"), FEW, 0, 0},
    {"minimum, rows of 16", FLOATS, FOLDS("minimum", "@H", "203", "16"), FEW, 0, 0},
    {"minimum, rows of 20", FLOATS, FOLDS("minimum", "@H", "203", "20"), FEW, 0, 0},
    {"maximum of zeros, rows of 16", FLOATS, FOLDS("maximum", "@L", "35", "16"), ZEROS, 0, 0},
    {"minimum that begins at 0", FLOATS, FOLDS("minimum", "0.0", "35", "16"), FEW, 0, 0},
    {"sum, few", FLOATS, FOLDS("add", "0.0", "9", "7"), ALL, 16, 0},
    {"sum, many", FLOATS, FOLDS("add", "0.0", "70", "67"), FEW, 16, 0},
    {"sum, in pieces", FLOATS, FOLDS("add", "0.0", "300", "260"), FEW, 16, 0},
    {"sum of zeros", FLOATS, FOLDS("add", "-0.0", "35", "33"), ZEROS, 0, 0},
    {"product, few", FLOATS, FOLDS("multiply", "1.0", "5", "6"), ALL, 16, 0},
    {"product of zeros", FLOATS, FOLDS("multiply", "1.0", "35", "33"), ZEROS, 0, 0},
    {"argmax of short rows", FLOATS, ARGMAX("GT", "@L", "1", "40", "9", "40"), EDGES, 0, 0},
    {"argmax of rows", FLOATS, ARGMAX("GT", "@L", "1", "5", "700", "5"), FEW, 0, 0},
    {"argmax of a long row", FLOATS, ARGMAX("GT", "@L", "1", "1", "90001", "1"), FEW, 0, 0},
    {"argmin of zeros", FLOATS, ARGMAX("LT", "@H", "1", "3", "1100", "3"), ZEROS, 0, 0},
    {"argmin of columns", FLOATS, ARGMAX("LT", "@H", "0", "300", "40", "40"), EDGES, 0, 0},
    {"maximum pool 2x2", FLOATS,
     WINDOW("maximum", "@L", "2x17x8x8", "2x17x4x4", "1, 1, 2, 2", "1, 1, 2, 2", "[0, 0], [0, 0], [0, 0], [0, 0]"), ALL,
     0, 0},
    {"maximum pool 3x3", FLOATS,
     WINDOW("maximum", "@L", "2x16x9x9", "2x16x5x5", "1, 1, 3, 3", "1, 1, 2, 2", "[0, 0], [0, 0], [1, 1], [1, 1]"), FEW,
     0, 0},
    {"minimum pool 3x3", FLOATS,
     WINDOW("minimum", "@H", "2x16x9x9", "2x16x5x5", "1, 1, 3, 3", "1, 1, 2, 2", "[0, 0], [0, 0], [1, 1], [1, 1]"), FEW,
     0, 0},
    {"maximum pool, features last", FLOATS,
     WINDOW("maximum", "@L", "2x8x8x32", "2x4x4x32", "1, 2, 2, 1", "1, 2, 2, 1", "[0, 0], [0, 0], [0, 0], [0, 0]"), ALL,
     0, 0},
    {"sum pool 3x3", FLOATS,
     WINDOW("add", "0.0", "2x16x9x9", "2x16x9x9", "1, 1, 3, 3", "1, 1, 1, 1", "[0, 0], [0, 0], [1, 1], [1, 1]"), FEW,
     16, 0},
    {"running sum", FLOATS,
     WINDOW("add", "0.0", "1x1x6x33", "1x1x6x33", "1, 1, 1, 33", "1, 1, 1, 1", "[0, 0], [0, 0], [0, 0], [32, 0]"), FEW,
     32, 0},
    {"running maximum", FLOATS,
     WINDOW("maximum", "@L", "1x1x40x33", "1x1x40x33", "1, 1, 1, 33", "1, 1, 1, 1", "[0, 0], [0, 0], [0, 0], [32, 0]"),
     FEW, 0, 0},
    {"running minimum of zeros", FLOATS,
     WINDOW("minimum", "@H", "1x1x40x33", "1x1x40x33", "1, 1, 40, 1", "1, 1, 1, 1", "[0, 0], [0, 0], [39, 0], [0, 0]"),
     ZEROS, 0, 0},
    {"pool gradient 2x2", FLOATS,
     CHOOSE("2x17x8x8", "2x17x4x4", "1, 1, 2, 2", "1, 1, 2, 2", "[0, 0], [0, 0], [0, 0], [0, 0]"), EDGES, 4, 0},
    {"pool gradient 3x3", FLOATS,
     CHOOSE("2x16x9x9", "2x16x5x5", "1, 1, 3, 3", "1, 1, 2, 2", "[0, 0], [0, 0], [1, 1], [1, 1]"), EDGES, 4, 0},
    {"pool gradient, features last", FLOATS,
     CHOOSE("2x8x8x32", "2x4x4x32", "1, 2, 2, 1", "1, 2, 2, 1", "[0, 0], [0, 0], [0, 0], [0, 0]"), EDGES, 4, 0},
    {"sort in total order", FLOATS, SORT("5x90", "1", "LT", "TOTALORDER"), EDGES, 0, 0},
    {"sort in total order, falling, along 0", FLOATS, SORT("90x5", "0", "GT", "TOTALORDER"), EDGES, 0, 0},
    {"sort in total order, long", FLOATS, SORT("3000", "0", "LT", "TOTALORDER"), EDGES, 0, 0},
    {"sort", FLOATS, SORT("5x90", "1", "LT", "FLOAT"), ORDERED, 0, 0},
    {"sort, falling", FLOATS, SORT("2000", "0", "GT", "FLOAT"), ORDERED, 0, 0},
    {"scatter of sums", FLOATS, SCATTER(FOLD_WITH("add")), FEW, 16, 0},
    {"scatter of maxima", FLOATS, SCATTER(FOLD_WITH("maximum")), ALL, 0, 0},
    {"scatter of minima of zeros", FLOATS, SCATTER(FOLD_WITH("minimum")), ZEROS, 0, 0},
    {"scatter of products", FLOATS, SCATTER(FOLD_WITH("multiply")), FEW, 64, 0},
    {"scatter that replaces", FLOATS, SCATTER("stablehlo.return %b : tensor<@T>\n"), ALL, 0, BITS},
    {"moved", FLOATS,
     F("%x: tensor<12x10x@T>, %n: tensor<5x1xi32>, %i: tensor<i32>, %c: tensor<12x10xi1>",
       "tensor<10x12x@T>, tensor<12x10x@T>, tensor<6x5x@T>, tensor<12x20x@T>, tensor<15x23x@T>, tensor<5x10x@T>, "
       "tensor<3x10x@T>, tensor<12x10x@T>, tensor<3x12x10x@T>",
       "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<12x10x@T>) -> tensor<10x12x@T>\n"
       "%1 = stablehlo.reverse %x, dims = [0, 1] : tensor<12x10x@T>\n"
       "%2 = stablehlo.slice %x [0:12:2, 1:10:2] : (tensor<12x10x@T>) -> tensor<6x5x@T>\n"
       "%3 = stablehlo.concatenate %x, %1, dim = 1 : (tensor<12x10x@T>, tensor<12x10x@T>) -> tensor<12x20x@T>\n"
       "%p = stablehlo.constant dense<-0.0> : tensor<@T>\n"
       "%4 = stablehlo.pad %x, %p, low = [1, 2], high = [2, 2], interior = [0, 1] : (tensor<12x10x@T>, tensor<@T>) -> "
       "tensor<15x23x@T>\n"
       "%5 = \"stablehlo.gather\"(%x, %n) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
       "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
       "array<i64: 1, 10>, indices_are_sorted = false} : (tensor<12x10x@T>, tensor<5x1xi32>) -> tensor<5x10x@T>\n"
       "%z = stablehlo.constant dense<0> : tensor<i32>\n"
       "%6 = stablehlo.dynamic_slice %x, %i, %z, sizes = [3, 10] : (tensor<12x10x@T>, tensor<i32>, tensor<i32>) -> "
       "tensor<3x10x@T>\n"
       "%7 = stablehlo.select %c, %x, %1 : tensor<12x10xi1>, tensor<12x10x@T>\n"
       "%8 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<12x10x@T>) -> tensor<3x12x10x@T>\n"
       "return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<10x12x@T>, tensor<12x10x@T>, tensor<6x5x@T>, "
       "tensor<12x20x@T>, tensor<15x23x@T>, tensor<5x10x@T>, tensor<3x10x@T>, "
       "tensor<12x10x@T>, tensor<3x12x10x@T>\n"),
     ALL, 0, BITS},
    {"clamp, relu and its mask", FLOATS,
     F("%x: tensor<40x20x@T>, %g: tensor<40x20x@T>", "tensor<40x20x@T>, tensor<40x20x@T>, tensor<40x20x@T>",
       "%z = stablehlo.constant dense<0.0> : tensor<40x20x@T>\n"
       "%l = stablehlo.constant dense<-1.0> : tensor<@T>\n"
       "%h = stablehlo.constant dense<6.0> : tensor<@T>\n"
       "%0 = stablehlo.maximum %x, %z : tensor<40x20x@T>\n"
       "%1 = stablehlo.clamp %l, %x, %h : (tensor<@T>, tensor<40x20x@T>, tensor<@T>) -> tensor<40x20x@T>\n"
       "%c = stablehlo.compare GT, %0, %z, FLOAT : (tensor<40x20x@T>, tensor<40x20x@T>) -> tensor<40x20xi1>\n"
       "%2 = stablehlo.select %c, %g, %z : tensor<40x20xi1>, tensor<40x20x@T>\n"
       "return %0, %1, %2 : tensor<40x20x@T>, tensor<40x20x@T>, tensor<40x20x@T>\n"),
     ALL, 0, 0},
    {"product, few", FLOATS, DOT("5", "7", "6"), FEW, 64, 0},
    {"product, vectors", FLOATS, DOT("1", "70", "65"), FEW, 64, 0},
    {"product, many", FLOATS, DOT("70", "96", "80"), FEW, 64, 0},
    {"product, large", "f32 bf16", DOT("256", "300", "520"), FEW, 64, 0},
    {"product of zeros", FLOATS, DOT("33", "20", "35"), ZEROS, 0, 0},
    {"convolution of 3 features", "f32 f64 f16" /* bf16: doc/convolutions.md */,
     CONV("2x3x12x12", "16x3x3x3", "2x16x10x10", "1, 1"), FEW, 128, 0},
    {"convolution of 16 features", FLOATS, CONV("2x16x12x12", "16x16x3x3", "2x16x5x5", "2, 2"), FEW, 128, 0},
    {"softmax of rows", FLOATS,
     F("%x: tensor<40x37x@T>", "tensor<40x37x@T>",
       "%z = stablehlo.constant dense<0.0> : tensor<@T>\n%m = stablehlo.constant dense<@L> : tensor<@T>\n"
       "%0 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<40x37x@T>, "
       "tensor<@T>) -> tensor<40x@T>\n"
       "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<40x@T>) -> tensor<40x37x@T>\n"
       "%2 = stablehlo.subtract %x, %1 : tensor<40x37x@T>\n"
       "%3 = stablehlo.exponential %2 : tensor<40x37x@T>\n"
       "%4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<40x37x@T>, "
       "tensor<@T>) -> tensor<40x@T>\n"
       "%5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<40x@T>) -> tensor<40x37x@T>\n"
       "%6 = stablehlo.divide %3, %5 : tensor<40x37x@T>\n"
       "return %6 : tensor<40x37x@T>\n"),
     FEW, 64, 0},
    {"batch norm and its gradient", "f32 f64",
     F("%x: tensor<4x24x5x5x@T>, %s: tensor<24x@T>, %o: tensor<24x@T>, %g: tensor<4x24x5x5x@T>",
       "tensor<4x24x5x5x@T>, tensor<24x@T>, tensor<24x@T>, tensor<4x24x5x5x@T>, tensor<24x@T>, tensor<24x@T>",
       "%0:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) {epsilon = 1.0e-05 : f32, feature_index = 1 : i64} : "
       "(tensor<4x24x5x5x@T>, tensor<24x@T>, tensor<24x@T>) -> (tensor<4x24x5x5x@T>, "
       "tensor<24x@T>, tensor<24x@T>)\n"
       "%1:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %0#1, %0#2, %g) {epsilon = 1.0e-05 : f32, feature_index = 1 : "
       "i64} : (tensor<4x24x5x5x@T>, tensor<24x@T>, "
       "tensor<24x@T>, tensor<24x@T>, tensor<4x24x5x5x@T>) -> (tensor<4x24x5x5x@T>, tensor<24x@T>, tensor<24x@T>)\n"
       "return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<4x24x5x5x@T>, tensor<24x@T>, tensor<24x@T>, "
       "tensor<4x24x5x5x@T>, tensor<24x@T>, tensor<24x@T>\n"),
     FEW, 512, 0},
};

static double unit(xt_dtype t) {
    return t == XT_BF16 ? 4e-3 : t == XT_F16 ? 5e-4 : t == XT_F32 ? 6e-8 : 1.2e-16;
}
static double denormal(xt_dtype t) {
    return t == XT_F64 ? 1e-310 : t == XT_F16 ? 3e-6 : 1e-40;
}
static bool tiny(double v, xt_dtype t) {
    return fabs(v) < (t == XT_F64 ? 2.2250738585072014e-308 : t == XT_F16 ? 6.1e-5 : 1.17549435e-38);
}

static void fill(array *a, kind k, uint64_t seed, bool flushed) {
    xt_dtype t = a->type->dtype;
    double d = flushed ? 0 : denormal(t);
    const double all[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, d, -d}, ordered[] = {0.0, -0.0, INFINITY, -INFINITY},
                 edges[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
    for (int64_t i = 0; i < a->type->count; i++) {
        uint64_t r = rng_bits(seed, 3, (uint64_t)i), s = r >> 20;
        double v = (double)((int64_t)(r % 17) - 8) / 4;
        bool special = (r >> 8) % (k == FEW ? 50 : 4) == 0;
        if (!ir_dtype_is_float(t))
            v = t == XT_BOOL ? (double)(r & 1) : (double)(r % 12) - 1; /* places, some of them outside */
        else if (k == ZEROS)
            v = s & 1 ? -0.0 : 0.0;
        else if (special && k == ORDERED)
            v = ordered[s % BASE_COUNT(ordered)];
        else if (special && k == EDGES)
            v = edges[s % BASE_COUNT(edges)];
        else if (special)
            v = flushed && s % BASE_COUNT(all) == BASE_COUNT(all) - 1 ? -0.0 : all[s % BASE_COUNT(all)];
        array_set(a, i, v);
    }
}

static bool same(double w, double g, xt_dtype t, double tol) {
    if (isnan(w) || isnan(g)) return isnan(w) && isnan(g);
    if (isinf(w) || isinf(g)) return w == g;
    /* a denormal is as good as zero of its sign */
    if (tiny(w, t) && tiny(g, t) && (w == 0 || g == 0)) return signbit(w) == signbit(g);
    return fabs(w - g) <= tol * fmax(fabs(w), 1);
}

enum { MOST = 10 };
typedef struct outcome {
    array in[MOST], flushed[MOST], want[MOST], other[MOST], got[MOST];
} outcome;

static void compile_and_run(const char *name, const char *text, int threads, const array *in, array *out, heap *h) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    cpu_alloc a = {h, heap_alloc, heap_free};
    int from[MOST];
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), name);
    expect_ok(cpu_device_new(threads, NULL, &d), name);
    expect_ok(cpu_run(e, d, &a, in, NULL, out, from), name);
    cpu_device_free(d);
    cpu_exec_free(e);
}

static bool one(const char *name, const row *r, const char *text) {
    ir_module *m = NULL;
    cpu_exec *e = NULL;
    heap h = {0};
    outcome o = {0};
    size_t bad = 0;
    expect_ok(ir_parse(text, strlen(text), name, &m), name);
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 1}, &e), name);
    size_t n_in = cpu_exec_inputs(e), n_out = cpu_exec_outputs(e);
    assert_true(n_in <= MOST && n_out <= MOST);
    for (size_t i = 0; i < n_in; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &o.in[i]), name);
        expect_ok(array_new(cpu_exec_input_type(e, i), &o.flushed[i]), name);
        fill(&o.in[i], r->values, 40 + i, false);
        fill(&o.flushed[i], r->values, 40 + i, true);
    }
    expect_ok(interp_run(m, "main", NULL, n_in, o.in, n_out, o.want), name);
    expect_ok(interp_run(m, "main", NULL, n_in, o.flushed, n_out, o.other), name);
    array first[MOST];
    for (int threads = 1; threads <= 2; threads++) {
        compile_and_run(name, text, threads, o.in, o.got, &h);
        for (size_t j = 0; j < n_out; j++) {
            xt_dtype t = o.got[j].type->dtype;
            size_t bytes = ir_type_bytes(o.got[j].type);
            if (threads == 2 && memcmp(first[j].data, o.got[j].data, bytes) != 0)
                bad++, print_error("%s: result %zu has other bits on two threads than on one\n", name, j);
            if ((r->flags & BITS) && memcmp(o.want[j].data, o.got[j].data, bytes) != 0)
                bad++, print_error("%s: result %zu is moved and has other bits\n", name, j);
            for (int64_t i = 0; i < o.got[j].type->count; i++) {
                double w = array_get(&o.want[j], i), f = array_get(&o.other[j], i), g = array_get(&o.got[j], i),
                       tol = r->tol * unit(t);
                if (same(w, g, t, tol) || same(f, g, t, tol)) continue;
                if (bad++ == 0)
                    print_error("%s, %d threads: result %zu element %lld: interpreter %.9g (%.9g with zeros for "
                                "denormals), compiler %.9g\n",
                                name, threads, j, (long long)i, w, f, g);
            }
            if (threads == 1)
                first[j] = o.got[j];
            else
                heap_free(&h, o.got[j].data, bytes), heap_free(&h, first[j].data, bytes);
        }
    }
    for (size_t i = 0; i < n_in; i++) array_free(&o.in[i]), array_free(&o.flushed[i]);
    for (size_t j = 0; j < n_out; j++) array_free(&o.want[j]), array_free(&o.other[j]);
    assert_int_equal(h.live, 0);
    cpu_exec_free(e);
    ir_module_free(m);
    return bad == 0;
}

static const struct {
    const char *name, *low, *high;
} types[] = {{"f32", "0xFF800000", "0x7F800000"},
             {"f64", "0xFFF0000000000000", "0x7FF0000000000000"},
             {"bf16", "0xFF80", "0x7F80"},
             {"f16", "0xFC00", "0x7C00"}};

static void special_rows(void **state) {
    (void)state;
    const char *only = getenv("ROW");
    size_t failed = 0, ran = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        for (size_t t = 0; t < BASE_COUNT(types); t++) {
            char name[128];
            str text = {0};
            snprintf(name, sizeof name, "%s, %s", rows[i].name, types[t].name);
            if (!strstr(rows[i].types, types[t].name) || (only && !strstr(name, only))) continue;
            for (const char *c = rows[i].text; *c; c++) {
                const char *put = *c != '@'     ? NULL
                                  : c[1] == 'T' ? types[t].name
                                  : c[1] == 'L' ? types[t].low
                                  : c[1] == 'H' ? types[t].high
                                                : NULL;
                if (put)
                    str_append(&text, put), c++;
                else
                    str_appendn(&text, c, 1);
            }
            failed += !one(name, &rows[i], str_cstr(&text));
            ran++;
            str_free(&text);
        }
    print_message("%zu rows\n", ran);
    if (failed || !ran) fail_msg("%zu of %zu rows differ", failed, ran);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(special_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
