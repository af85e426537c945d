/* Reductions, windows, sorting: known ops and regions of any form, edge values, and shapes that reach every loop. */
#include "interp_rows.h"

#define NAN32 "0x7FC00000"
#define X23 "%x = stablehlo.constant dense<[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]> : tensor<2x3xf32>\n"
#define F0 "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
#define WANT(type, v) "\ncheck.expect_eq_const %y, dense<" v "> : " type

static void reductions(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"sum of rows", X23 F0 "%y = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : "
                               "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>" WANT("tensor<2xf32>", "[9.0, 12.0]")},
        {"sum of columns with an initial value",
         X23 "%z = stablehlo.constant dense<10.0> : tensor<f32>\n%y = stablehlo.reduce(%x init: %z) applies "
             "stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>" WANT(
                 "tensor<3xf32>", "[15.0, 17.0, 19.0]")},
        {"all dims", X23 F0 "%y = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1] : "
                            "(tensor<2x3xf32>, tensor<f32>) -> "
                            "tensor<f32>" WANT("tensor<f32>", "6.0")},
        {"no dims", X23 F0 "%y = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [] : "
                           "(tensor<2x3xf32>, tensor<f32>) -> "
                           "tensor<2x3xf32>\ncheck.expect_eq %x, %y : tensor<2x3xf32>"},
        {"an empty dim gives the initial value",
         F0 "%x = stablehlo.constant dense<> : tensor<0x2xf32>\n"
            "%y = stablehlo.reduce(%x init: %z) applies stablehlo.add "
            "across dimensions = [0] : (tensor<0x2xf32>, tensor<f32>) -> tensor<2xf32>" WANT("tensor<2xf32>",
                                                                                             "[0.0, 0.0]")},
        {"product of ints wraps",
         "%x = stablehlo.constant dense<[16, 16, 3]> : tensor<3xi8>\n%z = stablehlo.constant dense<1> : tensor<i8>\n"
         "%y = stablehlo.reduce(%x init: %z) applies stablehlo.multiply across dimensions = [0] : (tensor<3xi8>, "
         "tensor<i8>) -> tensor<i8>" WANT("tensor<i8>", "0")},
        {"and", "%x = stablehlo.constant dense<[[true, true], [true, false]]> : tensor<2x2xi1>\n"
                "%z = stablehlo.constant dense<true> : tensor<i1>\n"
                "%y = stablehlo.reduce(%x init: %z) applies stablehlo.and across dimensions = [1] : (tensor<2x2xi1>, "
                "tensor<i1>) -> tensor<2xi1>" WANT("tensor<2xi1>", "[true, false]")},
        {"max of NaN is NaN",
         "%x = stablehlo.constant dense<[1.0, " NAN32 ", 2.0]> : tensor<3xf32>\n" F0
         "%y = stablehlo.reduce(%x init: %z) applies "
         "stablehlo.maximum across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>\n"
         "%f = stablehlo.is_finite %y : (tensor<f32>) -> "
         "tensor<i1>\n"
         "check.expect_eq_const %f, dense<false> : tensor<i1>"},
        /* A running f32 sum would stop at 2^24: 16777216 + 1 is 16777216. */
        {"a long sum keeps small terms",
         "%one = stablehlo.constant dense<1.0> : tensor<4000xf32>\n"
         "%z = stablehlo.constant dense<16777216.0> : tensor<f32>\n"
         "%y = stablehlo.reduce(%one init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4000xf32>, "
         "tensor<f32>) -> tensor<f32>" WANT("tensor<f32>", "16781216.0")},
        {"bf16 sums in more than bf16",
         "%one = stablehlo.constant dense<1.0> : tensor<1000xbf16>\n%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
         "%y = stablehlo.reduce(%one init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000xbf16>, "
         "tensor<bf16>) -> "
         "tensor<bf16>" WANT("tensor<bf16>", "1000.0")},
        {"captured value in the region", X23 F0
         "%k = stablehlo.constant dense<2.0> : tensor<f32>\n%y = \"stablehlo.reduce\"(%x, %z) ({\n"
         "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
         "%m = stablehlo.multiply %b, %k : tensor<f32>\n"
         "%s = stablehlo.add %a, %m : tensor<f32>\n"
         "stablehlo.return %s : tensor<f32>\n"
         "}) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>" WANT("tensor<2xf32>",
                                                                                                  "[18.0, 24.0]")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

/* argmax as frameworks write it: two inputs, select on both; over many results and over one long row (two ways of
 * the evaluator). */
#define ARGMAX(n, m, dim, out_type, iota)                                                                             \
    "%i = stablehlo.iota dim = " iota " : tensor<" n "x" m "xi32>\n%v = stablehlo.constant dense<-1> : tensor<i32>\n" \
    "%w = stablehlo.constant dense<0> : tensor<i32>\n%k = stablehlo.constant dense<37> : tensor<" n "x" m "xi32>\n"   \
    "%p = stablehlo.constant dense<101> : tensor<" n "x" m "xi32>\n%t = stablehlo.multiply %i, %k : tensor<" n "x" m  \
    "xi32>\n"                                                                                                         \
    "%x = stablehlo.remainder %t, %p : tensor<" n "x" m "xi32>\n%r:2 = \"stablehlo.reduce\"(%x, %i, %v, %w) ({\n"     \
    "^bb0(%a: tensor<i32>, %ai: tensor<i32>, %b: tensor<i32>, %bi: tensor<i32>):\n"                                   \
    "%g = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"                                  \
    "%q = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) "                                                 \
    "-> tensor<i1>\n"                                                                                                 \
    "%l = stablehlo.compare LT, %ai, %bi : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"                                \
    "%ql = stablehlo.and %q, %l : tensor<i1>\n"                                                                       \
    "%keep = stablehlo.or %g, %ql : tensor<i1>\n%s = stablehlo.select %g, %a, %b : tensor<i1>, tensor<i32>\n"         \
    "%si = stablehlo.select %keep, %ai, %bi : tensor<i1>, tensor<i32>\n"                                              \
    "stablehlo.return %s, %si : tensor<i32>, tensor<i32>\n"                                                           \
    "}) {dimensions = array<i64: " dim ">} : (tensor<" n "x" m "xi32>, tensor<" n "x" m                               \
    "xi32>, tensor<i32>, tensor<i32>) -> (" out_type ", " out_type ")\n"

static void general_regions(void **state) {
    (void)state;
    static const interp_row rows[] = {
        /* 37 * i mod 101 is first 100 at i = 30 (37 * 30 = 1110 = 10 * 101 + 100). */
        {"argmax over one long row",
         ARGMAX("1", "1000", "1", "tensor<1xi32>", "1") "check.expect_eq_const %r#0, dense<100> : tensor<1xi32>\n"
                                                        "check.expect_eq_const %r#1, dense<30> : tensor<1xi32>"},
        {"argmax of many columns",
         ARGMAX("150", "700", "0", "tensor<700xi32>", "0") "check.expect_eq_const %r#0, dense<100> : tensor<700xi32>\n"
                                                           "check.expect_eq_const %r#1, dense<30> : tensor<700xi32>"},
        {"a region with a loop runs per element",
         "%x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n%z = stablehlo.constant dense<0> : tensor<i32>\n"
         "%one = stablehlo.constant dense<1> : tensor<i32>\n"
         "%y = \"stablehlo.reduce\"(%x, %z) ({\n"
         "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
         "%r:2 = stablehlo.while(%n = %b, %s = %a) : tensor<i32>, tensor<i32> cond {\n"
         "%c = stablehlo.compare GT, %n, %z : (tensor<i32>, tensor<i32>) "
         "-> "
         "tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n"
         "} do {\n"
         "%m = stablehlo.subtract %n, %one : tensor<i32>\n"
         "%t = stablehlo.add %s, %one : "
         "tensor<i32>\n"
         "stablehlo.return %m, %t : tensor<i32>, tensor<i32>\n"
         "}\n"
         "stablehlo.return %r#1 : tensor<i32>\n"
         "}) {dimensions = array<i64: 0>} : "
         "(tensor<3xi32>, tensor<i32>) -> tensor<i32>" WANT("tensor<i32>", "6")},
        {"map with a call", "module {\n"
                            "func.func private @twice(%a: tensor<i32>) -> tensor<i32> {\n"
                            "%s = stablehlo.add %a, %a : tensor<i32>\n"
                            "return %s : tensor<i32>\n"
                            "}\n"
                            "func.func @main() {\n"
                            "%x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
                            "%y = \"stablehlo.map\"(%x) ({\n"
                            "^bb0(%a: tensor<i32>):\n"
                            "%s = func.call @twice(%a) : (tensor<i32>) -> tensor<i32>\n"
                            "%t = func.call @twice(%s) : (tensor<i32>) -> "
                            "tensor<i32>\n"
                            "stablehlo.return %t : tensor<i32>\n"
                            "}) {dimensions = array<i64: 0>} : (tensor<3xi32>) -> tensor<3xi32>" WANT(
                                "tensor<3xi32>", "[4, 8, 12]") "\nreturn\n}\n}"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define REGION(op, t)                                                                           \
    "({\n^bb0(%a: tensor<" t ">, %b: tensor<" t ">):\n%m = stablehlo." op " %a, %b : tensor<" t \
    ">\nstablehlo.return %m : tensor<" t ">\n})"
#define ONE_TO_6                                                          \
    "%x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>\n" \
    "%z = stablehlo.constant dense<0> : tensor<i32>\n"

static void windows(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"max of 2x2",
         "%x = stablehlo.constant dense<[[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 8.0, 7.0]]> : tensor<2x4xf32>\n"
         "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
         "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "maximum",
             "f32") " {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>} : (tensor<2x4xf32>, "
                    "tensor<f32>) -> tensor<1x2xf32>" WANT("tensor<1x2xf32>", "[[5.0, 8.0]]")},
        {"padding, strides, dilated window",
         ONE_TO_6 "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "add", "i32") " {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, "
                           "window_dilations = array<i64: 3>, padding = dense<[[1, 2]]> : tensor<1x2xi64>} : "
                           "(tensor<6xi32>, tensor<i32>) -> tensor<3xi32>" WANT("tensor<3xi32>", "[3, 7, 4]")},
        {"dilated base",
         "%x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
         "%z = stablehlo.constant dense<0> : tensor<i32>\n"
         "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "add", "i32") " {window_dimensions = array<i64: 3>, base_dilations = array<i64: 2>} : "
                           "(tensor<3xi32>, tensor<i32>) -> tensor<3xi32>" WANT("tensor<3xi32>", "[3, 2, 5]")},
        {"padding counts the initial value",
         "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n%z = stablehlo.constant dense<10> : tensor<i32>\n"
         "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "add", "i32") " {window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>} : "
                           "(tensor<2xi32>, tensor<i32>) -> tensor<2xi32>" WANT("tensor<2xi32>", "[21, 13]")},
        {"cumulative sum",
         ONE_TO_6 "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "add", "i32") " {window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>} : "
                           "(tensor<6xi32>, "
                           "tensor<i32>) -> tensor<6xi32>" WANT("tensor<6xi32>", "[1, 3, 6, 10, 15, 21]")},
        {"cumulative sum from the end",
         ONE_TO_6 "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "add", "i32") " {window_dimensions = array<i64: 6>, padding = dense<[[0, 5]]> : tensor<1x2xi64>} : "
                           "(tensor<6xi32>, tensor<i32>) -> "
                           "tensor<6xi32>" WANT("tensor<6xi32>", "[21, 20, 18, 15, 11, 6]")},
        {"cumulative product of columns",
         "%x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>\n"
         "%z = stablehlo.constant dense<1.0> : tensor<f32>\n%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "multiply", "f32") " {window_dimensions = array<i64: 3, 1>, padding = dense<[[2, 0], [0, 0]]> : "
                                "tensor<2x2xi64>} : (tensor<3x2xf32>, "
                                "tensor<f32>) -> tensor<3x2xf32>" WANT("tensor<3x2xf32>",
                                                                       "[[1.0, 2.0], [3.0, 8.0], [15.0, 48.0]]")},
        {"bf16 window sums in f32",
         "%x = stablehlo.constant dense<1.0> : tensor<300xbf16>\n"
         "%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
         "%y = \"stablehlo.reduce_window\"(%x, %z) " REGION(
             "add", "bf16") " {window_dimensions = array<i64: 299>} : (tensor<300xbf16>, tensor<bf16>) -> "
                            "tensor<2xbf16>" WANT("tensor<2xbf16>", "[300.0, 300.0]")},
        {"select_and_scatter, ties to the first",
         "%x = stablehlo.constant dense<[[1, 5], [2, 5], [3, 6], [4, 4]]> : tensor<4x2xi64>\n"
         "%s = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>\n"
         "%z = stablehlo.constant dense<0> : tensor<i64>\n"
         "%y = \"stablehlo.select_and_scatter\"(%x, %s, %z) ({\n"
         "^bb0(%a: tensor<i64>, %b: tensor<i64>):\n"
         "%c = stablehlo.compare GE, %a, %b : "
         "(tensor<i64>, tensor<i64>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n}, "
         "{\n^bb0(%a: tensor<i64>, %b: tensor<i64>):\n%c = stablehlo.add %a, %b : "
         "tensor<i64>\n"
         "stablehlo.return %c : tensor<i64>\n"
         "}) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, "
         "padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>} : (tensor<4x2xi64>, tensor<2x2xi64>, tensor<i64>) -> "
         "tensor<4x2xi64>" WANT("tensor<4x2xi64>", "[[0, 0], [0, 0], [5, 14], [7, 0]]")},
        {"select_and_scatter f32, overlapping windows",
         "%x = stablehlo.constant dense<[1.0, 9.0, 2.0]> : tensor<3xf32>\n"
         "%s = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>\n%z = stablehlo.constant dense<0.5> : tensor<f32>\n"
         "%y = \"stablehlo.select_and_scatter\"(%x, %s, %z) ({\n"
         "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
         "%c = stablehlo.compare GE, %a, %b : "
         "(tensor<f32>, tensor<f32>) -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n"
         "}, {\n"
         "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
         "%c = "
         "stablehlo.add %a, %b : "
         "tensor<f32>\n"
         "stablehlo.return %c : tensor<f32>\n"
         "}) {window_dimensions = array<i64: 2>} : (tensor<3xf32>, tensor<2xf32>, tensor<f32>) -> "
         "tensor<3xf32>" WANT("tensor<3xf32>", "[0.5, 7.5, 0.5]")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define SORT1(dim, t, n, body)                                                                              \
    "%y = \"stablehlo.sort\"(%x) ({\n^bb0(%a: tensor<" t ">, %b: tensor<" t ">):\n" body                    \
    "stablehlo.return %c : tensor<i1>\n}) {dimension = " dim " : i64, is_stable = true} : (tensor<" n "x" t \
    ">) -> tensor<" n "x" t ">"
#define CMP(dir, kind, t) \
    "%c = stablehlo.compare " dir ", %a, %b, " kind " : (tensor<" t ">, tensor<" t ">) -> tensor<i1>\n"

static void sorting(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"ascending", "%x = stablehlo.constant dense<[3, 1, 2, -5]> : tensor<4xi32>\n" SORT1(
                          "0", "i32", "4", CMP("LT", "SIGNED", "i32")) WANT("tensor<4xi32>", "[-5, 1, 2, 3]")},
        {"descending unsigned",
         "%x = stablehlo.constant dense<[3, 18446744073709551615, 2]> : tensor<3xui64>\n" SORT1(
             "0", "ui64", "3", CMP("GT", "UNSIGNED", "ui64")) WANT("tensor<3xui64>", "[18446744073709551615, 3, 2]")},
        {"columns",
         "%x = stablehlo.constant dense<[[3, 1], [1, 2], [2, 0]]> : tensor<3x2xi32>\n" SORT1(
             "0", "i32", "3x2", CMP("LT", "SIGNED", "i32")) WANT("tensor<3x2xi32>", "[[1, 0], [2, 1], [3, 2]]")},
        {"total order puts NaN last",
         "%x = stablehlo.constant dense<[2.0, " NAN32 ", -1.0, 0x7F800000]> : tensor<4xf32>\n" SORT1(
             "0", "f32", "4",
             CMP("LT", "TOTALORDER",
                 "f32")) "\n"
                         "%s = stablehlo.slice %y [0:3] : (tensor<4xf32>) -> tensor<3xf32>\n"
                         "check.expect_eq_const %s, dense<[-1.0, 2.0, 0x7F800000]> : tensor<3xf32>"},
        {"a comparator of two keys",
         "%x = stablehlo.constant dense<[13, 22, 11, 21, 12]> : tensor<5xi32>\n" /* by last digit, then by number,
                                                                                    downwards */
         SORT1("0", "i32", "5",
               "%t = stablehlo.constant dense<10> : tensor<i32>\n"
               "%p = stablehlo.remainder %a, %t : tensor<i32>\n"
               "%q = stablehlo.remainder %b, %t : "
               "tensor<i32>\n"
               "%l = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "%e = stablehlo.compare EQ, %p, %q : (tensor<i32>, "
               "tensor<i32>) -> tensor<i1>\n"
               "%g = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "%h = stablehlo.and %e, %g : tensor<i1>\n"
               "%c = "
               "stablehlo.or %l, %h : tensor<i1>\n") WANT("tensor<5xi32>", "[21, 11, 22, 12, 13]")},
        {"a key of the element, stable",
         "%x = stablehlo.constant dense<[13, 22, 11, 21, 12]> : tensor<5xi32>\n" SORT1(
             "0", "i32", "5",
             "%t = stablehlo.constant dense<10> : tensor<i32>\n"
             "%p = stablehlo.remainder %a, %t : tensor<i32>\n"
             "%q = stablehlo.remainder %b, %t : "
             "tensor<i32>\n"
             "%c = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>\n")
             WANT("tensor<5xi32>", "[11, 21, 22, 12, 13]")},
        {"values carried along",
         "%x = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>\n"
         "%v = stablehlo.constant dense<[0.3, 0.1, 0.2]> : tensor<3xf64>\n"
         "%y:2 = \"stablehlo.sort\"(%x, %v) ({\n"
         "^bb0(%a: tensor<i32>, %b: tensor<i32>, %p: tensor<f64>, %q: tensor<f64>):\n" CMP(
             "GT", "SIGNED", "i32") "stablehlo.return %c : tensor<i1>\n"
                                    "}) {dimension = 0 : i64, is_stable = false} : (tensor<3xi32>, tensor<3xf64>) "
                                    "-> (tensor<3xi32>, tensor<3xf64>)\n"
                                    "check.expect_eq_const %y#1, dense<[0.3, 0.2, 0.1]> : tensor<3xf64>"},
        {"long", "%i = stablehlo.iota dim = 0 : tensor<2001xi32>\n"
                 "%k = stablehlo.constant dense<997> : tensor<2001xi32>\n"
                 "%p = stablehlo.constant "
                 "dense<2001> : tensor<2001xi32>\n"
                 "%t = stablehlo.multiply %i, %k : tensor<2001xi32>\n"
                 "%x = stablehlo.remainder %t, %p : tensor<2001xi32>\n" SORT1(
                     "0", "i32", "2001", CMP("LT", "SIGNED", "i32")) "\ncheck.expect_eq %i, %y : tensor<2001xi32>"},
        {"top_k", "%x = stablehlo.constant dense<[[1.0, 4.0, 4.0], [9.0, -1.0, 0.0]]> : tensor<2x3xf32>\n"
                  "%v, %i = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> "
                  "(tensor<2x2xf32>, tensor<2x2xi32>)\n"
                  "check.expect_eq_const %v, dense<[[4.0, 4.0], [9.0, 0.0]]> : tensor<2x2xf32>\n"
                  "check.expect_eq_const %i, dense<[[1, 2], [0, 2]]> : tensor<2x2xi32>"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reductions), cmocka_unit_test(general_regions),
                                       cmocka_unit_test(windows), cmocka_unit_test(sorting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
