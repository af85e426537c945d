/* Contractions, normalisation, linear algebra, random bits. */
#include "interp_rows.h"

#define WANT(type, v) "\ncheck.expect_eq_const %y, dense<" v "> : " type
#define NEAR(name, type, v) "\ncheck.expect_almost_eq_const " name ", dense<" v "> : " type
#define X23(t) "%x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3x" t ">\n"

static void dots(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"matrix by its transpose",
         X23("i32") "%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<2x3xi32>, "
                    "tensor<2x3xi32>) -> tensor<2x2xi32>" WANT("tensor<2x2xi32>", "[[14, 32], [32, 77]]")},
        {"contracting the first dims", X23("i64") "%y = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : "
                                                  "(tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<3x3xi64>" WANT(
                                                      "tensor<3x3xi64>", "[[17, 22, 27], [22, 29, 36], [27, 36, 45]]")},
        {"batch in the middle", X23("i32") "%y = stablehlo.dot_general %x, %x, batching_dims = [1] x [1], "
                                           "contracting_dims = [0] x [0] : (tensor<2x3xi32>, tensor<2x3xi32>) "
                                           "-> tensor<3xi32>" WANT("tensor<3xi32>", "[17, 29, 45]")},
        {"outer product", "%x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>\n"
                          "%y = stablehlo.dot_general %x, %x, contracting_dims = [] x [] : (tensor<2xf64>, "
                          "tensor<2xf64>) -> tensor<2x2xf64>" WANT("tensor<2x2xf64>", "[[1.0, 2.0], [2.0, 4.0]]")},
        {"bytes into words", "%x = stablehlo.constant dense<100> : tensor<3xi8>\n"
                             "%y = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<3xi8>, "
                             "tensor<3xi8>) -> tensor<i32>" WANT("tensor<i32>", "30000")},
        {"bf16 accumulates in f32",
         "%x = stablehlo.constant dense<1.0> : tensor<1000xbf16>\n"
         "%y = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : "
         "(tensor<1000xbf16>, tensor<1000xbf16>) -> tensor<f32>" WANT("tensor<f32>", "1000.0")},
        {"complex", "%x = stablehlo.constant dense<[(1.0, 1.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>\n"
                    "%y = stablehlo.dot_general %x, %x, "
                    "contracting_dims = [0] x [0] : "
                    "(tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<complex<f32>>" WANT(
                        "tensor<complex<f32>>", "(-4.0, 2.0)")},
        {"empty contraction", "%x = stablehlo.constant dense<> : tensor<2x0xf32>\n"
                              "%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<2x0xf32>, "
                              "tensor<2x0xf32>) -> tensor<2x2xf32>" WANT("tensor<2x2xf32>", "0.0")},
        /* Odd sizes reach the tails of the tiles; iota makes every product known: row i is i, column j is j. */
        {"sizes beside the tiles",
         "%a = stablehlo.iota dim = 0 : tensor<7x300xf32>\n"
         "%b = stablehlo.iota dim = 1 : tensor<300x11xf32>\n"
         "%y = stablehlo.dot_general %a, %b, "
         "contracting_dims = [1] x [0] : (tensor<7x300xf32>, tensor<300x11xf32>) -> tensor<7x11xf32>\n"
         "%i = stablehlo.iota dim = 0 : "
         "tensor<7x11xf32>\n"
         "%j = stablehlo.iota dim = 1 : tensor<7x11xf32>\n"
         "%k = stablehlo.constant dense<300.0> : tensor<7x11xf32>\n"
         "%p = stablehlo.multiply %i, %j : "
         "tensor<7x11xf32>\n"
         "%q = stablehlo.multiply %p, %k : tensor<7x11xf32>\ncheck.expect_eq %y, %q : tensor<7x11xf32>"},
        {"dot of matrix and vector", X23("i32") "%v = stablehlo.constant dense<[1, 0, -1]> : tensor<3xi32>\n"
                                                "%y = stablehlo.dot %x, %v : (tensor<2x3xi32>, tensor<3xi32>) -> "
                                                "tensor<2xi32>" WANT("tensor<2xi32>", "[-2, -2]")},
        {"einsum",
         X23("f32") "%y = \"stablehlo.einsum\"(%x, %x) {einsum_config = \"ij,kj->ki\"} : (tensor<2x3xf32>, "
                    "tensor<2x3xf32>) -> tensor<2x2xf32>" WANT("tensor<2x2xf32>", "[[14.0, 32.0], [32.0, 77.0]]")},
        {"unary einsum: a trace", "%x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>\n"
                                  "%y = \"stablehlo.unary_einsum\"(%x) "
                                  "{einsum_config = \"ii->\"} : "
                                  "(tensor<2x2xf32>) -> tensor<f32>" WANT("tensor<f32>", "5.0")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define CONV(x, w, y, dims, window, groups, batch_groups)                                                             \
    "%y = stablehlo.convolution(%x, %w) dim_numbers = " dims ", window = {" window "} {feature_group_count = " groups \
    " : i64, batch_group_count = " batch_groups " : i64} : (" x ", " w ") -> " y

static void convolutions(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"one dim, padded", "%x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>\n"
                            "%w = stablehlo.constant dense<[[[1.0, 10.0, 100.0]]]> : "
                            "tensor<1x1x3xf32>\n" CONV("tensor<1x1x4xf32>", "tensor<1x1x3xf32>", "tensor<1x1x4xf32>",
                                                       "[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[1, 1]]", "1", "1")
                                WANT("tensor<1x1x4xf32>", "[[[210.0, 321.0, 432.0, 43.0]]]")},
        {"strides and reversal",
         "%x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>\n"
         "%w = stablehlo.constant dense<[[[1.0, 10.0, 100.0]]]> : "
         "tensor<1x1x3xf32>\n" CONV("tensor<1x1x5xf32>", "tensor<1x1x3xf32>", "tensor<1x1x2xf32>",
                                    "[b, f, 0]x[o, i, 0]->[b, f, 0]", "stride = [2], reverse = [true]", "1", "1")
             WANT("tensor<1x1x2xf32>", "[[[123.0, 345.0]]]")},
        {"both dilations",
         "%x = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>\n"
         "%w = stablehlo.constant dense<[[[1.0, 10.0]]]> : "
         "tensor<1x1x2xf32>\n" CONV("tensor<1x1x3xf32>", "tensor<1x1x2xf32>", "tensor<1x1x3xf32>",
                                    "[b, f, 0]x[o, i, 0]->[b, f, 0]", "lhs_dilate = [2], rhs_dilate = [2]", "1", "1")
             WANT("tensor<1x1x3xf32>", "[[[21.0, 0.0, 32.0]]]")},
        {"channels last",
         "%x = stablehlo.constant dense<[[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]> : tensor<1x2x2x2xf32>\n"
         "%w = stablehlo.constant dense<[[[[1.0], [10.0]]]]> : tensor<1x1x2x1xf32>\n" CONV(
             "tensor<1x2x2x2xf32>", "tensor<1x1x2x1xf32>", "tensor<1x2x2x1xf32>",
             "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", "1", "1")
             WANT("tensor<1x2x2x1xf32>", "[[[[21.0], [43.0]], [[65.0], [87.0]]]]")},
        {"feature groups", "%x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>\n"
                           "%w = stablehlo.constant dense<[[[10.0]], [[100.0]]]> : "
                           "tensor<2x1x1xf32>\n" CONV("tensor<1x2x2xf32>", "tensor<2x1x1xf32>", "tensor<1x2x2xf32>",
                                                      "[b, f, 0]x[o, i, 0]->[b, f, 0]", "", "2", "1")
                               WANT("tensor<1x2x2xf32>", "[[[10.0, 20.0], [300.0, 400.0]]]")},
        {"batch groups", "%x = stablehlo.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>\n"
                         "%w = stablehlo.constant dense<[[[10.0]], [[100.0]]]> : "
                         "tensor<2x1x1xf32>\n" CONV("tensor<2x1x2xf32>", "tensor<2x1x1xf32>", "tensor<1x2x2xf32>",
                                                    "[b, f, 0]x[o, i, 0]->[b, f, 0]", "", "1", "2")
                             WANT("tensor<1x2x2xf32>", "[[[10.0, 20.0], [300.0, 400.0]]]")},
        {"no spatial dims", "%x = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>\n"
                            "%w = stablehlo.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi32>\n" CONV(
                                "tensor<1x2xi32>", "tensor<2x2xi32>", "tensor<1x2xi32>", "[b, f]x[i, o]->[b, f]", "",
                                "1", "1") WANT("tensor<1x2xi32>", "[[13, 16]]")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define X222                                                                                                    \
    "%x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>\n" \
    "%one = stablehlo.constant dense<1.0> "                                                                     \
    ": tensor<2xf64>\n"
#define BN3 "(tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)"

static void norms(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"training",
         X222 "%y:3 = \"stablehlo.batch_norm_training\"(%x, %one, %one) {epsilon = 0.0 : f32, feature_index = 2 : i64} "
              ": " BN3 NEAR("%y#0", "tensor<2x2x2xf64>", "[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]")
                  NEAR("%y#1", "tensor<2xf64>", "[2.0, 3.0]") NEAR("%y#2", "tensor<2xf64>", "[1.0, 1.0]")},
        {"training, feature in the middle",
         "%x = stablehlo.constant dense<[[[1.0, 3.0], [10.0, 10.0]]]> : tensor<1x2x2xf32>\n"
         "%s = stablehlo.constant dense<[2.0, 1.0]> : "
         "tensor<2xf32>\n"
         "%o = stablehlo.constant dense<[0.0, 5.0]> : tensor<2xf32>\n"
         "%y:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) {epsilon = "
         "1.0e-12 : f32, "
         "feature_index = 1 : i64} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, "
         "tensor<2xf32>, tensor<2xf32>)" NEAR("%y#0", "tensor<1x2x2xf32>", "[[[-2.0, 2.0], [5.0, 5.0]]]")
             NEAR("%y#1", "tensor<2xf32>", "[2.0, 10.0]") NEAR("%y#2", "tensor<2xf32>", "[1.0, 0.0]")},
        {"inference", X222 "%m = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>\n"
                           "%y = \"stablehlo.batch_norm_inference\"(%x, %one, %one, %m, %one) {epsilon "
                           "= 0.0 : f32, "
                           "feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, "
                           "tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>" NEAR(
                               "%y", "tensor<2x2x2xf64>", "[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]")},
        /* Channel of x = 1, 3, g = 1, 0: d = 1, sum(g) = 1, sum(g*(x-2)) = -1: d_x = g - 1/2 + (x-2)/2. */
        {"grad", "%x = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>\n"
                 "%g = stablehlo.constant dense<[[1.0], [0.0]]> : tensor<2x1xf32>\n"
                 "%s = stablehlo.constant dense<4.0> : tensor<1xf32>\n"
                 "%m = stablehlo.constant dense<2.0> : tensor<1xf32>\n"
                 "%v = stablehlo.constant "
                 "dense<1.0> : tensor<1xf32>\n"
                 "%y:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %m, %v, %g) {epsilon = 0.0 : f32, feature_index = 1 : "
                 "i64} : (tensor<2x1xf32>, "
                 "tensor<1xf32>, tensor<1xf32>, "
                 "tensor<1xf32>, tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)" NEAR(
                     "%y#0", "tensor<2x1xf32>", "[[0.0], [0.0]]") NEAR("%y#1", "tensor<1xf32>", "-1.0")
                     NEAR("%y#2", "tensor<1xf32>", "1.0")},
        {"grad of three", "%x = stablehlo.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf64>\n"
                          "%g = stablehlo.constant dense<[[3.0, 0.0, 0.0]]> : tensor<1x3xf64>\n"
                          "%s = stablehlo.constant dense<3.0> : tensor<1xf64>\n"
                          "%m = stablehlo.constant dense<2.0> : tensor<1xf64>\n"
                          "%v = stablehlo.constant dense<1.0> "
                          ": tensor<1xf64>\n"
                          "%y:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %m, %v, %g) {epsilon = 0.0 : f32, "
                          "feature_index = 0 : i64} : (tensor<1x3xf64>, tensor<1xf64>, "
                          "tensor<1xf64>, "
                          "tensor<1xf64>, tensor<1x3xf64>) -> (tensor<1x3xf64>, tensor<1xf64>, tensor<1xf64>)" NEAR(
                              "%y#0", "tensor<1x3xf64>", "[[3.0, -3.0, 0.0]]") NEAR("%y#1", "tensor<1xf64>", "-3.0")
                              NEAR("%y#2", "tensor<1xf64>", "3.0")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

static void linear_algebra(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"cholesky", "%x = stablehlo.constant dense<[[4.0, 9.0], [2.0, 10.0]]> : tensor<2x2xf32>\n"
                     "%y = stablehlo.cholesky %x, lower = true : "
                     "tensor<2x2xf32>" NEAR("%y", "tensor<2x2xf32>", "[[2.0, 0.0], [1.0, 3.0]]")},
        {"cholesky of an upper triangle", "%x = stablehlo.constant dense<[[4.0, 2.0], [9.0, 10.0]]> : tensor<2x2xf64>\n"
                                          "%y = stablehlo.cholesky %x, lower = false : "
                                          "tensor<2x2xf64>" NEAR("%y", "tensor<2x2xf64>", "[[2.0, 1.0], [0.0, 3.0]]")},
        {"solve",
         "%a = stablehlo.constant dense<[[2.0, 0.0], [1.0, 4.0]]> : tensor<2x2xf32>\n"
         "%b = stablehlo.constant dense<[[4.0], [10.0]]> : "
         "tensor<2x1xf32>\n"
         "%y = \"stablehlo.triangular_solve\"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, "
         "transpose_a = "
         "#stablehlo<transpose NO_TRANSPOSE>} : "
         "(tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>" NEAR("%y", "tensor<2x1xf32>", "[[2.0], [2.0]]")},
        {"solve the transpose from the right",
         "%a = stablehlo.constant dense<[[2.0, 0.0], [1.0, 4.0]]> : tensor<2x2xf32>\n"
         "%b = stablehlo.constant dense<[[4.0, 10.0]]> : "
         "tensor<1x2xf32>\n"
         "%y = \"stablehlo.triangular_solve\"(%a, %b) {left_side = false, lower = true, unit_diagonal = false, "
         "transpose_a = "
         "#stablehlo<transpose TRANSPOSE>} : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>" NEAR(
             "%y", "tensor<1x2xf32>", "[[2.0, 2.0]]")},
        {"fft of four",
         "%x = stablehlo.constant dense<[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)]> : tensor<4xcomplex<f32>>\n"
         "%y = "
         "stablehlo.fft %x, type = FFT, length = [4] : "
         "(tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>" NEAR(
             "%y", "tensor<4xcomplex<f32>>", "[(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0), (-2.0, -2.0)]")},
        {"three is no power of two",
         "%x = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf64>\n"
         "%y = stablehlo.fft %x, type = RFFT, length = [3] : (tensor<3xf64>) -> "
         "tensor<2xcomplex<f64>>\n" NEAR(
             "%y", "tensor<2xcomplex<f64>>",
             "[(7.0, 0.0), (-2.0, 1.7320508)]") "\n%z = stablehlo.fft %y, type = IRFFT, length = [3] : "
                                                "(tensor<2xcomplex<f64>>) -> tensor<3xf64>" NEAR("%z", "tensor<3xf64>",
                                                                                                 "[1.0, 2.0, 4.0]")},
        {"there and back in two dims",
         "%i = stablehlo.iota dim = 0 : tensor<5x6xf32>\n"
         "%j = stablehlo.iota dim = 1 : tensor<5x6xf32>\n"
         "%x = stablehlo.multiply %i, %j : "
         "tensor<5x6xf32>\n"
         "%f = stablehlo.fft %x, type = RFFT, length = [5, 6] : (tensor<5x6xf32>) -> tensor<5x4xcomplex<f32>>\n"
         "%y = stablehlo.fft "
         "%f, type = IRFFT, "
         "length = [5, 6] : (tensor<5x4xcomplex<f32>>) -> tensor<5x6xf32>\n"
         "check.expect_almost_eq %x, %y : tensor<5x6xf32>"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define BITS(algorithm, state, out) \
    "%s, %y = stablehlo.rng_bit_generator %x, algorithm = " algorithm " : (" state ") -> (" state ", " out ")\n"

static void random_bits(void **state) {
    (void)state;
    static const interp_row rows[] = {
        /* The example of the StableHLO specification. */
        {"three_fry of 64 bits",
         "%x = stablehlo.constant dense<[1, 2]> : tensor<2xui64>\n" BITS(
             "THREE_FRY", "tensor<2xui64>", "tensor<2x2xui64>") "check.expect_eq_const %s, dense<[1, 6]> : "
                                                                "tensor<2xui64>" WANT("tensor<2x2xui64>",
                                                                                      "[[9236835810183407956, "
                                                                                      "16087790271692313299], "
                                                                                      "[18212823393184779219, "
                                                                                      "2658481902456610144]]")},
        /* The same words: the low and high halves of the first counter alternate along the even dim. */
        {"three_fry of 32 bits",
         "%x = stablehlo.constant dense<[1, 2]> : tensor<2xui64>\n" BITS(
             "THREE_FRY", "tensor<2xui64>",
             "tensor<2xui32>") "check.expect_eq_const %s, dense<[1, 3]> : tensor<2xui64>\n"
                               "%b = "
                               "stablehlo.bitcast_convert %y : (tensor<2xui32>) -> tensor<ui64>\n"
                               "check.expect_eq_const %b, dense<9236835810183407956> : tensor<ui64>"},
        /* Known answer of Random123 for key 0, counter 0. */
        {"philox of 32 bits", "%x = stablehlo.constant dense<[0, 0, 0]> : tensor<3xui64>\n" BITS(
                                  "PHILOX", "tensor<3xui64>",
                                  "tensor<4xui32>") "check.expect_eq_const %s, dense<[0, 1, 0]> : "
                                                    "tensor<3xui64>" WANT("tensor<4xui32>", "[1713891541, 3781805453, "
                                                                                            "3159862348, 2600524760]")},
        {"philox of 64 bits, short state",
         "%x = stablehlo.constant dense<[0, 0]> : tensor<2xui64>\n" BITS(
             "DEFAULT", "tensor<2xui64>",
             "tensor<2xui64>") "check.expect_eq_const %s, dense<[0, 1]> : tensor<2xui64>\n"
                               "%b = stablehlo.bitcast_convert %y : (tensor<2xui64>) -> "
                               "tensor<2x2xui32>\n"
                               "check.expect_eq_const %b, dense<[[1713891541, 3781805453], [3159862348, 2600524760]]> "
                               ": tensor<2x2xui32>"},
        {"rng stays in its range",
         "%a = stablehlo.constant dense<-2.0> : tensor<f32>\n"
         "%b = stablehlo.constant dense<3.0> : tensor<f32>\n"
         "%n = stablehlo.constant dense<[1000]> "
         ": "
         "tensor<1xi64>\n"
         "%x = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> "
         "tensor<1000xf32>\n"
         "%y = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32>\n"
         "check.expect_eq %x, %y : "
         "tensor<1000xf32>"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots),           cmocka_unit_test(convolutions), cmocka_unit_test(norms),
        cmocka_unit_test(linear_algebra), cmocka_unit_test(random_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
