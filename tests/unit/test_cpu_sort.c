/* Sorts and selections by keys: one generated row per element type, comparator and shape; equal keys keep
 * their order. */
#include "cpu_check.h"

static const char *const types[] = {"f32", "f64", "bf16", "f16",  "i8",   "i16",
                                    "i32", "i64", "ui8",  "ui16", "ui32", "ui64"};

typedef struct comparator {
    const char *what, *body; /* $T: the element type; %a %b the key's elements */
    bool floats;
} comparator;
static const comparator comparators[] = {
    {"less", "%k = stablehlo.compare LT, %a, %b : (tensor<$T>, tensor<$T>) -> tensor<i1>\n", false},
    {"greater", "%k = stablehlo.compare GT, %a, %b : (tensor<$T>, tensor<$T>) -> tensor<i1>\n", false},
    {"crossed", "%k = stablehlo.compare GT, %b, %a : (tensor<$T>, tensor<$T>) -> tensor<i1>\n", false},
    {"total order", "%k = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<$T>, tensor<$T>) -> tensor<i1>\n", true},
    {"of magnitudes",
     "%p = stablehlo.abs %a : tensor<$T>\n"
     "%q = stablehlo.abs %b : tensor<$T>\n"
     "%k = stablehlo.compare LT, %p, %q : (tensor<$T>, tensor<$T>) -> tensor<i1>\n",
     true},
    {"as jax writes it",
     "%z = stablehlo.constant dense<0.0> : tensor<$T>\n%n = stablehlo.constant dense<0x$N> : tensor<$T>\n"
     "%e = stablehlo.compare EQ, %a, %z : (tensor<$T>, tensor<$T>) -> tensor<i1>\n"
     "%f = stablehlo.select %e, %z, %a : tensor<i1>, tensor<$T>\n"
     "%g = stablehlo.compare NE, %a, %a : (tensor<$T>, tensor<$T>) -> tensor<i1>\n"
     "%h = stablehlo.select %g, %n, %f : tensor<i1>, tensor<$T>\n"
     "%i = stablehlo.compare EQ, %b, %z : (tensor<$T>, tensor<$T>) -> tensor<i1>\n"
     "%j = stablehlo.select %i, %z, %b : tensor<i1>, tensor<$T>\n"
     "%l = stablehlo.compare NE, %b, %b : (tensor<$T>, tensor<$T>) -> tensor<i1>\n"
     "%m = stablehlo.select %l, %n, %j : tensor<i1>, tensor<$T>\n"
     "%k = stablehlo.compare LT, %h, %m, TOTALORDER : (tensor<$T>, tensor<$T>) -> tensor<i1>\n",
     true},
};

static void put(str *s, const char *text, const char *t) {
    const char *nan = !strcmp(t, "f64")    ? "7FF8000000000000"
                      : !strcmp(t, "f32")  ? "7FC00000"
                      : !strcmp(t, "bf16") ? "7FC0"
                                           : "7E00";
    for (; *text; text++) {
        if (text[0] == '$') {
            str_append(s, *++text == 'T' ? t : nan);
            continue;
        }
        str_putc(s, *text);
    }
}

/* The key and its positions sorted along `dim`; of the results, `keep` places of a last dim are read. */
static void one_sort(const char *t, const comparator *c, const char *shape, int dim, const char *slice,
                     const char *kept) {
    str s = STR_INIT;
    char name[128];
    snprintf(name, sizeof name, "sort %s of %sx%s along %d%s", c->what, shape, t, dim, slice);
    str_printf(&s,
               "func.func @main(%%x: tensor<%sx%s>) -> (tensor<%sx%s>, tensor<%sxi32>) {\n"
               "%%o = stablehlo.iota dim = %d : tensor<%sxi32>\n"
               "%%s:2 = \"stablehlo.sort\"(%%x, %%o) <{dimension = %d : i64, is_stable = true}> ({\n"
               "^bb0(%%a: tensor<%s>, %%b: tensor<%s>, %%c: tensor<i32>, %%d: tensor<i32>):\n",
               shape, t, kept, t, kept, dim, shape, dim, t, t);
    put(&s, c->body, t);
    str_printf(&s,
               "stablehlo.return %%k : tensor<i1>\n"
               "}) : (tensor<%sx%s>, tensor<%sxi32>) -> (tensor<%sx%s>, tensor<%sxi32>)\n",
               shape, t, shape, shape, t, shape);
    if (*slice)
        str_printf(&s,
                   "%%u = stablehlo.slice %%s#0 %s : (tensor<%sx%s>) -> tensor<%sx%s>\n"
                   "%%v = stablehlo.slice %%s#1 %s : (tensor<%sxi32>) -> tensor<%sxi32>\n"
                   "return %%u, %%v",
                   slice, shape, t, kept, t, slice, shape, kept);
    else
        str_append(&s, "return %s#0, %s#1");
    str_printf(&s, " : tensor<%sx%s>, tensor<%sxi32>\n}\n", kept, t, kept);
    check(name, str_cstr(&s), 0);
    str_free(&s);
}

static void sorts_agree(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        int dim;
        const char *slice, *kept;
    } rows[] = {
        {"40", 0, "", "40"},           {"7x130", 1, "", "7x130"},         {"130x7", 0, "", "130x7"},
        {"2x300x3", 1, "", "2x300x3"}, {"5x400", 1, "[0:5, 0:7]", "5x7"}, {"9x1", 1, "", "9x1"},
    };
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t c = 0; c < BASE_COUNT(comparators); c++) {
            bool floats = strchr("bf", *types[t]);
            if (comparators[c].floats && !floats) continue;
            for (size_t r = 0; r < BASE_COUNT(rows); r++)
                if ((r + t + c) % 2 == 0)
                    one_sort(types[t], &comparators[c], rows[r].shape, rows[r].dim, rows[r].slice, rows[r].kept);
        }
}

/* -NaN, -inf, numbers, -0, 0, inf, NaN: the total order; without it zeros are equal and NaN comes last. */
static void special_values_have_places(void **state) {
    (void)state;
    static const char *const programs[] = {
        "func.func @main() -> tensor<8xf32> {\n"
        "%x = stablehlo.constant dense<[0x7FC00000, 0.0, -0.0, 0x7F800000, -1.5, 0xFFC00000, 0xFF800000, 2.0]> : "
        "tensor<8xf32>\n"
        "%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n"
        "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "%k = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %k : tensor<i1>\n"
        "}) : (tensor<8xf32>) -> tensor<8xf32>\n"
        "return %r : tensor<8xf32>\n}\n",
        "func.func @main() -> tensor<5xi32> {\n"
        "%x = stablehlo.constant dense<[0.0, -0.0, 3.0, -0.0, -1.0]> : tensor<5xf32>\n"
        "%o = stablehlo.iota dim = 0 : tensor<5xi32>\n"
        "%r:2 = \"stablehlo.sort\"(%x, %o) <{dimension = 0 : i64, is_stable = true}> ({\n"
        "^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):\n"
        "%k = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %k : tensor<i1>\n"
        "}) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)\n"
        "return %r#1 : tensor<5xi32>\n}\n"};
    setenv("XT_PASSES", "-opt_fold", 1); /* else constants are sorted while compiling */
    for (size_t i = 0; i < BASE_COUNT(programs); i++) check("special values", programs[i], 0);
    unsetenv("XT_PASSES");
}

/* pass lower_chlo keeps top_k. */
static void top_k_agrees(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
        int k;
    } rows[] = {{"600", "5", 5}, {"3x700", "3x9", 9}, {"4x20", "4x20", 20}};
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t r = 0; r < BASE_COUNT(rows); r++) {
            char text[512], name[96];
            snprintf(name, sizeof name, "top %d of %sx%s", rows[r].k, rows[r].in, types[t]);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%sx%s>) -> (tensor<%sx%s>, tensor<%sxi32>) {\n"
                     "%%v, %%i = chlo.top_k(%%x, k = %d) : tensor<%sx%s> -> (tensor<%sx%s>, "
                     "tensor<%sxi32>)\nreturn %%v, %%i : tensor<%sx%s>, tensor<%sxi32>\n}\n",
                     rows[r].in, types[t], rows[r].out, types[t], rows[r].out, rows[r].k, rows[r].in, types[t],
                     rows[r].out, types[t], rows[r].out, rows[r].out, types[t], rows[r].out);
            check(name, text, 0);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorts_agree), cmocka_unit_test(special_values_have_places),
                                       cmocka_unit_test(top_k_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
