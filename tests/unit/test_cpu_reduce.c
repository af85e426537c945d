/* Reductions of every element type, by ops and by regions of several operands: one generated row per type and shape. */
#include "cpu_check.h"

static const struct {
    const char *in, *out, *dims;
} shapes[] = {
    {"7x9", "9", "0"},
    {"7x9", "7", "1"},
    {"7x9", "", "0, 1"},
    {"300x5", "300", "1"},
    {"5x3000", "5", "1"},
    {"3000x5", "5", "0"},
    {"4x6x5", "4x5", "1"},
    {"4x6x5", "6", "0, 2"},
    {"4x6x50", "6", "0, 2"},
    {"70000", "", "0"},
    {"3x40x7x9", "3x7", "1, 3"},
    {"1x8x1", "1", "1, 2"},
    {"5001x16", "16", "0"},
    {"7001x3", "3", "0"},
    {"259x511", "511", "0"},
    {"5x1030x33", "5x33", "1"},
    {"65x4x2", "4", "0, 2"},
    {"2x1500x2", "2x2", "1"},
    {"90x40x3", "90x40", "2"},
    {"2x300x8x8", "2x8", "1, 3"},
    {"2x9x500x3", "2x500", "1, 3"},
    {"40x31", "40", "1"},
    {"40x33", "40", "1"},
    {"3x64x65", "64", "0, 2"},
    {"9x257", "9", "1"},
};

static void one_fold(const char *t, const char *op, const char *init, size_t s, double tol) {
    char text[1024], name[128];
    const char *sep = *shapes[s].out ? "x" : "";
    snprintf(name, sizeof name, "reduce %s of %sx%s over %s", op, shapes[s].in, t, shapes[s].dims);
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%sx%s>) -> tensor<%s%s%s> {\n"
             "%%z = stablehlo.constant dense<%s> : tensor<%s>\n"
             "%%r = stablehlo.reduce(%%x init: %%z) applies stablehlo.%s across dimensions = [%s] : (tensor<%sx%s>, "
             "tensor<%s>) -> tensor<%s%s%s>\n"
             "return %%r : tensor<%s%s%s>\n}\n",
             shapes[s].in, t, shapes[s].out, sep, t, init, t, op, shapes[s].dims, shapes[s].in, t, t, shapes[s].out,
             sep, t, shapes[s].out, sep, t);
    check(name, text, tol);
}

static void folds_agree(void **state) {
    (void)state;
    static const struct {
        const char *type, *op, *init;
        double tol;
    } folds[] = {
        {"f64", "add", "1.5", 1e-12},
        {"f64", "maximum", "0xFFF0000000000000", 0},
        {"f16", "add", "0.0", 4e-3},
        {"f16", "minimum", "0x7C00", 0},
        {"bf16", "maximum", "0xFF80", 0},
        {"i32", "add", "3", 0},
        {"i8", "add", "0", 0},
        {"i64", "minimum", "2", 0},
        {"ui8", "maximum", "0", 0},
        {"ui64", "multiply", "1", 0},
        {"i1", "and", "true", 0},
        {"i1", "or", "false", 0},
        {"i32", "xor", "0", 0},
        {"ui16", "add", "1", 0},
        {"i16", "maximum", "-32768", 0},
        {"f32", "multiply", "1.0", 1e-4},
        {"f32", "add", "1.5", 1e-5},
        {"f32", "maximum", "0xFF800000", 0},
        {"bf16", "add", "0.5", 2e-2},
        {"ui32", "or", "0", 0},
        {"i64", "add", "-9223372036854775807", 0},
        {"ui32", "add", "4294967290", 0},
        {"ui64", "add", "7", 0},
    };
    for (size_t f = 0; f < BASE_COUNT(folds); f++)
        for (size_t s = 0; s < BASE_COUNT(shapes); s++)
            if ((f + s) % 2 == 0 || s < 3 || strcmp(folds[f].op, "add") == 0)
                one_fold(folds[f].type, folds[f].op, folds[f].init, s, folds[f].tol);
}

/* Largest and where, the first of equals. */
static void arg_extremes_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "bf16", "i32", "i8", "f16"};
    for (size_t k = 0; k < BASE_COUNT(types); k++)
        for (size_t s = 0; s < BASE_COUNT(shapes); s++) {
            char text[2048], name[128];
            const char *t = types[k], *sep = *shapes[s].out ? "x" : "", *in = shapes[s].in, *out = shapes[s].out;
            const char *least = strchr("bf", *t) ? "-9.0" : "-9";
            snprintf(name, sizeof name, "argmax of %sx%s over %s", in, t, shapes[s].dims);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%sx%s>, %%i: tensor<%sxi32>) -> (tensor<%s%s%s>, tensor<%s%si32>) {\n"
                     "%%l = stablehlo.constant dense<%s> : tensor<%s>\n"
                     "%%z = stablehlo.constant dense<0> : tensor<i32>\n"
                     "%%r:2 = stablehlo.reduce(%%x init: %%l), (%%i init: %%z) across dimensions = [%s] : "
                     "(tensor<%sx%s>, tensor<%sxi32>, tensor<%s>, tensor<i32>) -> (tensor<%s%s%s>, tensor<%s%si32>)\n"
                     "reducer(%%a: tensor<%s>, %%c: tensor<%s>) (%%b: tensor<i32>, %%d: tensor<i32>) {\n"
                     "%%g = stablehlo.compare GT, %%a, %%c : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                     "%%e = stablehlo.compare EQ, %%a, %%c : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                     "%%f = stablehlo.compare LT, %%b, %%d : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                     "%%h = stablehlo.and %%e, %%f : tensor<i1>\n"
                     "%%p = stablehlo.or %%g, %%h : tensor<i1>\n"
                     "%%v = stablehlo.select %%p, %%a, %%c : tensor<i1>, tensor<%s>\n"
                     "%%w = stablehlo.select %%p, %%b, %%d : tensor<i1>, tensor<i32>\n"
                     "stablehlo.return %%v, %%w : tensor<%s>, tensor<i32>\n"
                     "}\n"
                     "return %%r#0, %%r#1 : tensor<%s%s%s>, tensor<%s%si32>\n}\n",
                     in, t, in, out, sep, t, out, sep, least, t, shapes[s].dims, in, t, in, t, out, sep, t, out, sep, t,
                     t, t, t, t, t, t, t, out, sep, t, out, sep);
            check(name, text, 0);
        }
}

/* x -> a x + b, one after the other: elements meet in their order, since such pairs do not commute. Numbers wrap, so
 * each bit counts. */
static void order_is_kept(void **state) {
    (void)state;
    for (size_t s = 0; s < BASE_COUNT(shapes); s++) {
        char text[2048], name[128];
        const char *sep = *shapes[s].out ? "x" : "", *in = shapes[s].in, *out = shapes[s].out;
        snprintf(name, sizeof name, "compositions of %s over %s", in, shapes[s].dims);
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<%sxi32>, %%y: tensor<%sxi32>) -> (tensor<%s%si32>, tensor<%s%si32>) {\n"
                 "%%one = stablehlo.constant dense<1> : tensor<i32>\n"
                 "%%z = stablehlo.constant dense<0> : tensor<i32>\n"
                 "%%k = stablehlo.constant dense<2> : tensor<%sxi32>\n"
                 "%%t = stablehlo.multiply %%x, %%k : tensor<%sxi32>\n"
                 "%%l = stablehlo.constant dense<1> : tensor<%sxi32>\n%%m = stablehlo.add %%t, %%l : tensor<%sxi32>\n"
                 "%%r:2 = stablehlo.reduce(%%m init: %%one), (%%y init: %%z) across dimensions = [%s] : "
                 "(tensor<%sxi32>, tensor<%sxi32>, tensor<i32>, tensor<i32>) -> "
                 "(tensor<%s%si32>, tensor<%s%si32>)\n"
                 "reducer(%%a: tensor<i32>, %%c: tensor<i32>) (%%b: tensor<i32>, %%d: tensor<i32>) {\n"
                 "%%0 = stablehlo.multiply %%a, %%c : tensor<i32>\n"
                 "%%1 = stablehlo.multiply %%b, %%c : tensor<i32>\n"
                 "%%2 = stablehlo.add %%1, %%d : tensor<i32>\n"
                 "stablehlo.return %%0, %%2 : tensor<i32>, tensor<i32>\n"
                 "}\n"
                 "return %%r#0, %%r#1 : tensor<%s%si32>, tensor<%s%si32>\n"
                 "}\n",
                 in, in, out, sep, out, sep, in, in, in, in, shapes[s].dims, in, in, out, sep, out, sep, out, sep, out,
                 sep);
        check(name, text, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(folds_agree), cmocka_unit_test(arg_extremes_agree),
                                       cmocka_unit_test(order_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
