/* Elementwise ops: values worked out by hand, edge cases of NaN, zeros, overflow and widths as rows. */
#include "interp_rows.h"

#define NAN32 "0x7FC00000"
#define INF32 "0x7F800000"
#define NINF32 "0xFF800000"

/* Unary row: op on a literal, exact. */
#define UNARY(op, type, in, want)                                                                         \
    {                                                                                                     \
        op " " type, "%x = stablehlo.constant dense<" in "> : " type "\n%y = stablehlo." op " %x : " type \
                     "\ncheck.expect_eq_const %y, dense<" want "> : " type                                \
    }
#define UNARY_NEAR(op, type, in, want)                                                                    \
    {                                                                                                     \
        op " " type, "%x = stablehlo.constant dense<" in "> : " type "\n%y = stablehlo." op " %x : " type \
                     "\ncheck.expect_almost_eq_const %y, dense<" want "> : " type                         \
    }
#define BINARY(op, type, a, b, want)                                                                                 \
    {                                                                                                                \
        op " " type, "%x = stablehlo.constant dense<" a "> : " type "\n%y = stablehlo.constant dense<" b "> : " type \
                     "\n%z = stablehlo." op " %x, %y : " type "\ncheck.expect_eq_const %z, dense<" want "> : " type  \
    }
/* The bits of a float result, where equality of numbers is not enough (NaN, -0). */
#define BINARY_BITS(op, a, b, want)                                                                                 \
    {                                                                                                               \
        op " bits", "%x = stablehlo.constant dense<" a "> : tensor<4xf32>\n%y = stablehlo.constant dense<" b        \
                    "> : tensor<4xf32>\n%z = stablehlo." op                                                         \
                    " %x, %y : tensor<4xf32>\n%b = stablehlo.bitcast_convert %z : (tensor<4xf32>) -> tensor<4xi32>" \
                    "\ncheck.expect_eq_const %b, dense<" want "> : tensor<4xi32>"                                   \
    }
#define CONVERT(from, in, to, want)                                                                               \
    {                                                                                                             \
        "convert " from " " to,                                                                                   \
            "%x = stablehlo.constant dense<" in "> : tensor<" from ">\n%y = stablehlo.convert %x : (tensor<" from \
            ">) -> tensor<" to ">\ncheck.expect_eq_const %y, dense<" want "> : tensor<" to ">"                    \
    }
#define COMPARE(dir, kind, type, a, b, n, want)                                                                  \
    {                                                                                                            \
        "compare " dir " " kind,                                                                                 \
            "%x = stablehlo.constant dense<" a "> : tensor<" n "x" type ">\n%y = stablehlo.constant dense<" b    \
            "> : tensor<" n "x" type ">\n%z = stablehlo.compare " dir ", %x, %y, " kind " : (tensor<" n "x" type \
            ">, tensor<" n "x" type ">) -> tensor<" n "xi1>"                                                     \
            "\ncheck.expect_eq_const %z, dense<" want "> : tensor<" n "xi1>"                                     \
    }

static void integers(void **state) {
    (void)state;
    static const interp_row rows[] = {
        BINARY("divide", "tensor<5xi32>", "[7, -7, 7, -2147483648, 0]", "[2, 2, 0, -1, 0]",
               "[3, -3, -1, -2147483648, -1]"),
        BINARY("divide", "tensor<2xui8>", "[200, 7]", "[0, 2]", "[255, 3]"),
        BINARY("divide", "tensor<2xi64>", "[-9223372036854775808, 5]", "[-1, 0]", "[-9223372036854775808, -1]"),
        BINARY("remainder", "tensor<5xi32>", "[7, -7, 7, -2147483648, 9]", "[2, 2, 0, -1, -4]", "[1, -1, 7, 0, 1]"),
        BINARY("remainder", "tensor<2xui32>", "[4294967295, 7]", "[10, 0]", "[5, 7]"),
        BINARY("add", "tensor<2xi8>", "[127, -128]", "[1, -1]", "[-128, 127]"),
        BINARY("multiply", "tensor<2xui16>", "[65535, 300]", "[65535, 300]", "[1, 24464]"),
        BINARY("subtract", "tensor<2xui32>", "[0, 5]", "[1, 3]", "[4294967295, 2]"),
        BINARY("power", "tensor<6xi32>", "[2, -2, 1, -1, 0, 5]", "[10, 3, -5, -3, 0, -1]", "[1024, -8, 1, -1, 1, 0]"),
        BINARY("power", "tensor<2xui8>", "[2, 3]", "[8, 5]", "[0, 243]"),
        BINARY("maximum", "tensor<2xi32>", "[-1, 3]", "[2, -3]", "[2, 3]"),
        BINARY("maximum", "tensor<2xui32>", "[4294967295, 3]", "[2, 1]", "[4294967295, 3]"),
        BINARY("shift_left", "tensor<4xi32>", "[1, 1, -1, 5]", "[31, 32, -1, 0]", "[-2147483648, 0, 0, 5]"),
        BINARY("shift_right_arithmetic", "tensor<4xi32>", "[-8, -8, 8, -1]", "[1, 32, 40, -1]", "[-4, -1, 0, -1]"),
        BINARY("shift_right_logical", "tensor<3xi32>", "[-1, -1, 8]", "[31, 32, 2]", "[1, 0, 2]"),
        BINARY("shift_right_logical", "tensor<2xi8>", "[-1, -128]", "[1, 7]", "[127, 1]"),
        BINARY("and", "tensor<2xi16>", "[12, -1]", "[10, 7]", "[8, 7]"),
        BINARY("xor", "tensor<2xi64>", "[12, -1]", "[10, 7]", "[6, -8]"),
        BINARY("and", "tensor<4xi1>", "[true, true, false, false]", "[true, false, true, false]",
               "[true, false, false, false]"),
        BINARY("add", "tensor<4xi1>", "[true, true, false, false]", "[true, false, true, false]",
               "[true, true, true, false]"),
        BINARY("multiply", "tensor<2xi1>", "[true, true]", "[true, false]", "[true, false]"),
        BINARY("xor", "tensor<2xi1>", "[true, true]", "[true, false]", "[false, true]"),
        UNARY("abs", "tensor<3xi32>", "[-5, 5, -2147483648]", "[5, 5, -2147483648]"),
        UNARY("negate", "tensor<2xi8>", "[-128, 1]", "[-128, -1]"),
        UNARY("sign", "tensor<3xi64>", "[-5, 0, 9]", "[-1, 0, 1]"),
        UNARY("not", "tensor<2xi32>", "[0, -1]", "[-1, 0]"),
        UNARY("not", "tensor<2xi1>", "[true, false]", "[false, true]"),
        UNARY("popcnt", "tensor<3xi8>", "[-1, 0, 5]", "[8, 0, 2]"),
        UNARY("count_leading_zeros", "tensor<3xi16>", "[0, 1, -1]", "[16, 15, 0]"),
        UNARY("count_leading_zeros", "tensor<2xi64>", "[0, 1]", "[64, 63]"),
        /* Four bits: everything wraps at -8..7 and 0..15. */
        BINARY("add", "tensor<2xi4>", "[7, -8]", "[1, -1]", "[-8, 7]"),
        BINARY("multiply", "tensor<1xui4>", "[5]", "[5]", "[9]"),
        BINARY("divide", "tensor<2xi4>", "[-8, 3]", "[-1, 0]", "[-8, -1]"),
        BINARY("shift_right_logical", "tensor<2xi4>", "[-1, -8]", "[1, 3]", "[7, 1]"),
        BINARY("shift_right_arithmetic", "tensor<3xi4>", "[-8, -2, 7]", "[1, 9, 1]", "[-4, -1, 3]"),
        BINARY("shift_right_arithmetic", "tensor<4xui4>", "[1, 8, 15, 7]", "[1, 1, 3, 1]", "[0, 12, 15, 3]"),
        BINARY("shift_right_arithmetic", "tensor<2xui2>", "[2, 1]", "[1, 1]", "[3, 0]"),
        BINARY("shift_left", "tensor<2xi4>", "[1, 1]", "[3, 4]", "[-8, 0]"),
        UNARY("count_leading_zeros", "tensor<2xi4>", "[1, -1]", "[3, 0]"),
        UNARY("popcnt", "tensor<1xi4>", "[-1]", "[4]"),
        UNARY("not", "tensor<1xui4>", "[1]", "[14]"),
    };
    run_rows(rows, BASE_COUNT(rows));
}

static void floats(void **state) {
    (void)state;
    static const interp_row rows[] = {
        BINARY_BITS("maximum", "[" NAN32 ", 1.0, -0.0, 0.0]", "[1.0, " NAN32 ", 0.0, -0.0]",
                    "[0x7FC00000, 0x7FC00000, 0, 0]"),
        BINARY_BITS("minimum", "[" NAN32 ", 1.0, -0.0, 0.0]", "[1.0, " NAN32 ", 0.0, -0.0]",
                    "[0x7FC00000, 0x7FC00000, 0x80000000, 0x80000000]"),
        BINARY("maximum", "tensor<3xf32>", "[" INF32 ", " NINF32 ", -1.0]", "[1.0, -1.0, -2.0]",
               "[" INF32 ", -1.0, -1.0]"),
        BINARY("add", "tensor<2xf64>", "[0.1, 1.0e308]", "[0.2, 1.0e308]", "[0.30000000000000004, 0x7FF0000000000000]"),
        BINARY("divide", "tensor<3xf32>", "[1.0, -1.0, 7.0]", "[0.0, 0.0, 2.0]", "[" INF32 ", " NINF32 ", 3.5]"),
        BINARY("remainder", "tensor<3xf32>", "[5.5, -5.5, 1.0]", "[2.0, 2.0, " INF32 "]", "[1.5, -1.5, 1.0]"),
        BINARY("power", "tensor<4xf32>", "[2.0, -2.0, 0.0, 4.0]", "[3.0, 3.0, 0.0, 0.5]", "[8.0, -8.0, 1.0, 2.0]"),
        UNARY("round_nearest_even", "tensor<5xf32>", "[0.5, 1.5, 2.5, -0.5, -1.5]", "[0.0, 2.0, 2.0, 0.0, -2.0]"),
        UNARY("round_nearest_afz", "tensor<5xf32>", "[0.5, 1.5, 2.5, -0.5, 0.4]", "[1.0, 2.0, 3.0, -1.0, 0.0]"),
        UNARY("floor", "tensor<2xf32>", "[-1.5, 1.5]", "[-2.0, 1.0]"),
        UNARY("ceil", "tensor<2xf64>", "[-1.5, 1.5]", "[-1.0, 2.0]"),
        UNARY("sign", "tensor<4xf32>", "[-3.0, 4.0, 0.0, -0.0]", "[-1.0, 1.0, 0.0, 0.0]"),
        UNARY("sqrt", "tensor<2xf32>", "[9.0, 0.25]", "[3.0, 0.5]"),
        UNARY("rsqrt", "tensor<2xf32>", "[4.0, 0.0]", "[0.5, " INF32 "]"),
        UNARY_NEAR("cbrt", "tensor<1xf64>", "[-27.0]", "[-3.0]"),
        UNARY_NEAR("tanh", "tensor<3xf32>", "[0.5, 100.0, -100.0]", "[0.462117, 1.0, -1.0]"),
        UNARY_NEAR("logistic", "tensor<3xf32>", "[0.0, 100.0, -200.0]", "[0.5, 1.0, 0.0]"),
        UNARY_NEAR("exponential", "tensor<2xbf16>", "[0.0, 1.0]", "[1.0, 2.71875]"),
        UNARY_NEAR("log", "tensor<2xf32>", "[2.718281828, 0.0]", "[1.0, " NINF32 "]"),
        UNARY_NEAR("log_plus_one", "tensor<1xf64>", "[1.0e-9]", "[1.0e-9]"),
        UNARY_NEAR("sine", "tensor<1xf16>", "[1.0]", "[0.8413]"),
        {"is_finite", "%x = stablehlo.constant dense<[1.0, " NAN32 ", " INF32 ", " NINF32
                      "]> : tensor<4xf32>\n%y = stablehlo.is_finite %x : "
                      "(tensor<4xf32>) -> tensor<4xi1>\n"
                      "check.expect_eq_const %y, dense<[true, false, false, false]> : tensor<4xi1>"},
        {"clamp", "%lo = stablehlo.constant dense<-1.0> : tensor<f32>\n"
                  "%hi = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
                  "%x = stablehlo.constant dense<[-9.0, 9.0, 0.5]> : tensor<3xf32>\n"
                  "%y = stablehlo.clamp %lo, %x, %hi : (tensor<f32>, tensor<3xf32>, "
                  "tensor<3xf32>) -> tensor<3xf32>\ncheck.expect_eq_const %y, dense<[-1.0, 2.0, 0.5]> : tensor<3xf32>"},
        {"select by one predicate",
         "%p = stablehlo.constant dense<false> : tensor<i1>\n%a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
         "%b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>\n"
         "%y = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2xi32>\n"
         "check.expect_eq_const %y, dense<[3, 4]> : tensor<2xi32>"},
        {"select", "%p = stablehlo.constant dense<[true, false]> : tensor<2xi1>\n"
                   "%a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>\n"
                   "%b = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf64>\n"
                   "%y = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xf64>\n"
                   "check.expect_eq_const %y, dense<[1.0, 4.0]> : tensor<2xf64>"},
        /* 8 + 3 mantissa bits: 1 + 2^-8 rounds to even 1, 1 + 3*2^-8 to 1 + 2^-6; 2^-8 against 256 is lost in bf16. */
        BINARY("add", "tensor<3xbf16>", "[1.0, 256.0, 1.0]", "[0.00390625, 1.0, 0.01171875]", "[1.0, 256.0, 1.015625]"),
        {"reduce_precision",
         "%x = stablehlo.constant dense<[1.0009765625, 65519.0, 65520.0, 1.0e-8]> : tensor<4xf32>\n"
         "%y = stablehlo.reduce_precision %x, "
         "format = e5m10 : tensor<4xf32>\n"
         "check.expect_eq_const %y, dense<[1.0009765625, 65504.0, " INF32 ", 0.0]> : tensor<4xf32>"},
        COMPARE("LT", "FLOAT", "f32", "[1.0, " NAN32 ", -0.0, " NINF32 "]", "[2.0, 1.0, 0.0, " INF32 "]", "4",
                "[true, false, false, true]"),
        COMPARE("NE", "FLOAT", "f32", "[1.0, " NAN32 "]", "[1.0, " NAN32 "]", "2", "[false, true]"),
        COMPARE("EQ", "FLOAT", "f16", "[1.0, -0.0]", "[1.0, 0.0]", "2", "[true, true]"),
        COMPARE("LT", "TOTALORDER", "f32", "[-0.0, " INF32 ", 0xFFC00000, 0.0]", "[0.0, " NAN32 ", " NINF32 ", -0.0]",
                "4", "[true, true, true, false]"),
        COMPARE("GE", "UNSIGNED", "ui8", "[200, 1]", "[100, 2]", "2", "[true, false]"),
        COMPARE("GT", "SIGNED", "i8", "[-56, 1]", "[100, -2]", "2", "[false, true]"),
        COMPARE("GT", "UNSIGNED", "i1", "[true, false]", "[false, false]", "2", "[true, false]"),
    };
    run_rows(rows, BASE_COUNT(rows));
}

static void conversions(void **state) {
    (void)state;
    static const interp_row rows[] = {
        CONVERT("6xf32", "[1.9, -1.9, 3.0e9, -3.0e9, " NAN32 ", " INF32 "]", "6xi32",
                "[1, -1, 2147483647, -2147483648, 0, 2147483647]"),
        CONVERT("4xf32", "[-1.0, 255.9, 256.0, " NAN32 "]", "4xui8", "[0, 255, 255, 0]"),
        CONVERT("3xf64", "[1.0e19, -1.0e19, 2.5]", "3xi64", "[9223372036854775807, -9223372036854775808, 2]"),
        CONVERT("2xf32", "[8.0, -9.5]", "2xi4", "[7, -8]"),
        CONVERT("3xi32", "[300, -1, 65]", "3xui8", "[44, 255, 65]"),
        CONVERT("3xi32", "[7, 8, -9]", "3xi4", "[7, -8, 7]"),
        CONVERT("3xf32", "[0.0, " NAN32 ", -0.5]", "3xi1", "[false, true, true]"),
        CONVERT("2xi1", "[true, false]", "2xf32", "[1.0, 0.0]"),
        /* One rounding: 2^24 + 1 halves exactly at f32; through f64 to bf16 the sticky bit must survive. */
        CONVERT("2xi64", "[16777217, 16777219]", "2xf32", "[16777216.0, 16777220.0]"),
        CONVERT("1xf64", "[1.00390625000001]", "1xbf16", "[1.0078125]"),
        CONVERT("1xi64", "[36169534507319297]", "1xbf16", "[0x5B01]"),
        CONVERT("4xf32", "[65504.0, 65520.0, 5.9604644775390625e-08, 2.9e-08]", "4xf16",
                "[65504.0, 0x7C00, 5.9604644775390625e-08, 0.0]"),
        CONVERT("2xf16", "[5.9604644775390625e-08, -0.0]", "2xf32", "[5.9604644775390625e-08, 0.0]"),
        CONVERT("4xf32", "[448.0, 460.0, 1.0625, -1.1875]", "4xf8E4M3FN", "[448.0, 448.0, 1.0, -1.25]"),
        CONVERT("2xf32", "[57344.0, 1.0e6]", "2xf8E5M2", "[57344.0, 0x7C]"),
        CONVERT("2xcomplex<f32>", "[(1.5, 2.0), (0.0, 1.0)]", "2xf32", "[1.5, 0.0]"),
        CONVERT("2xi32", "[1, -2]", "2xcomplex<f64>", "[(1.0, 0.0), (-2.0, 0.0)]"),
        {"f8E4M3FN overflow is NaN", "%x = stablehlo.constant dense<[480.0, 1.0]> : tensor<2xf32>\n"
                                     "%y = stablehlo.convert %x : (tensor<2xf32>) -> "
                                     "tensor<2xf8E4M3FN>\n"
                                     "%z = stablehlo.is_finite %y : (tensor<2xf8E4M3FN>) -> tensor<2xi1>\n"
                                     "check.expect_eq_const %z, dense<[false, true]> : tensor<2xi1>"},
        {"bitcast f32 to bytes", "%x = stablehlo.constant dense<[1.0]> : tensor<1xf32>\n"
                                 "%y = stablehlo.bitcast_convert %x : (tensor<1xf32>) -> "
                                 "tensor<1x4xui8>\n"
                                 "check.expect_eq_const %y, dense<[[0, 0, 128, 63]]> : tensor<1x4xui8>"},
        {"bitcast i8 to i4", "%x = stablehlo.constant dense<[-31]> : tensor<1xi8>\n"
                             "%y = stablehlo.bitcast_convert %x : (tensor<1xi8>) -> "
                             "tensor<1x2xi4>\ncheck.expect_eq_const %y, dense<[[1, -2]]> : tensor<1x2xi4>"},
        {"bitcast i4 to i8", "%x = stablehlo.constant dense<[[1, -2]]> : tensor<1x2xi4>\n"
                             "%y = stablehlo.bitcast_convert %x : (tensor<1x2xi4>) -> "
                             "tensor<1xi8>\ncheck.expect_eq_const %y, dense<[-31]> : tensor<1xi8>"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

static void complex_numbers(void **state) {
    (void)state;
    static const interp_row rows[] = {
        BINARY("multiply", "tensor<1xcomplex<f32>>", "[(1.0, 2.0)]", "[(3.0, -1.0)]", "[(5.0, 5.0)]"),
        BINARY("divide", "tensor<1xcomplex<f64>>", "[(4.0, 4.0)]", "[(0.0, 2.0)]", "[(2.0, -2.0)]"),
        UNARY_NEAR("exponential", "tensor<1xcomplex<f64>>", "[(0.0, 3.14159265358979)]", "[(-1.0, 0.0)]"),
        UNARY_NEAR("sqrt", "tensor<1xcomplex<f32>>", "[(-4.0, 0.0)]", "[(0.0, 2.0)]"),
        UNARY("sign", "tensor<2xcomplex<f64>>", "[(3.0, 4.0), (0.0, 0.0)]", "[(0.6, 0.8), (0.0, 0.0)]"),
        {"abs", "%x = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f32>>\n"
                "%y = stablehlo.abs %x : (tensor<1xcomplex<f32>>) -> tensor<1xf32>\n"
                "check.expect_eq_const %y, dense<[5.0]> : tensor<1xf32>"},
        {"complex, real, imag", "%a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
                                "%b = stablehlo.constant dense<[3.0, " INF32 "]> : tensor<2xf32>\n"
                                "%z = stablehlo.complex %a, %b : tensor<2xcomplex<f32>>\n"
                                "%r = stablehlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
                                "%i = stablehlo.imag %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
                                "check.expect_eq %a, %r : tensor<2xf32>\n"
                                "check.expect_eq %b, %i : "
                                "tensor<2xf32>"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

/* What keeps the other tables honest: the checks must fail when values differ. */
static void checks_fail(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"exact",
         "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
         "check.expect_eq_const %x, dense<[1, 3]> : tensor<2xi32>",
         "element [1] is 2, expected 3"},
        {"nan",
         "%x = stablehlo.constant dense<" NAN32 "> : tensor<f32>\n"
         "check.expect_eq_const %x, dense<1.0> : tensor<f32>",
         "expect_eq"},
        {"near",
         "%x = stablehlo.constant dense<1.0> : tensor<f32>\n"
         "check.expect_almost_eq_const %x, dense<1.01> : tensor<f32>",
         "within"},
        {"in two dims",
         "%x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>\n"
         "check.expect_eq_const %x, dense<[[1, 2], [0, 4]]> : tensor<2x2xui8>",
         "element [1, 0] is 3, expected 0"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

/* Every op of the spec has a meaning here; the exceptions are stated. */
static void every_op(void **state) {
    (void)state;
    int missing = 0;
    for (int code = 0; code < OP_COUNT; code++) {
        const ir_op_info *info = &ir_op_infos[code];
        /* pass/lower_chlo decomposes them; the interpreter knows some for comparison */
        if (strcmp(info->dialect, "chlo") == 0) continue;
        /* pass/lower_sdy takes them apart */
        if (code == OP_sdy_manual_computation || code == OP_sdy_sharding_group) continue;
        if (!interp_knows((ir_opcode)code)) {
            print_error("%s.%s has no meaning\n", info->dialect, info->name);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),        cmocka_unit_test(floats),      cmocka_unit_test(conversions),
        cmocka_unit_test(complex_numbers), cmocka_unit_test(checks_fail), cmocka_unit_test(every_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
