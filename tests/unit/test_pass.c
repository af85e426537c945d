/* Passes: program in, pass, program out. Each row's output is compared as printed text, so spelling in the row
 * does not matter. */
#include "pass/pass.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static ir_module *parse(const char *text) {
    ir_module *m = NULL;
    xt_status s = ir_parse(text, strlen(text), "test", &m);
    if (!s) s = ir_verify(m);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    return m;
}

static char *print(const ir_module *m) {
    str s = STR_INIT;
    xt_status bad = ir_print(m, 0, &s);
    if (bad) fail_msg("%s", xt_status_message(bad));
    return s.data;
}

static bool for_guests;
/* passes: names with spaces between. A second run must change nothing. */
static void check(const char *passes, bool inexact, const char *in, const char *want) {
    ir_module *m = parse(in), *w = parse(want);
    for (int again = 0; again < 2; again++) {
        bool changed = false;
        char name[32];
        for (const char *p = passes; *p; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            memcpy(name, p, n);
            name[n] = 0;
            p += n;
            pass_ctx c = {.verify = true, .inexact = inexact, .as_xla = for_guests};
            assert_non_null(pass_find(name));
            xt_status s = pass_run(&c, pass_find(name), m);
            if (s) fail_msg("%s", xt_status_message(s));
            changed |= c.changed;
        }
        if (again && changed) fail_msg("%s changes its own result:\n%s", passes, in);
    }
    char *got = print(m), *expected = print(w);
    assert_string_equal(got, expected);
    base_free(got);
    base_free(expected);
    ir_module_free(m);
    ir_module_free(w);
}

/* One function of x, y: tensor<2x3xf32>; the body gives the result's name, as text between. */
static void check_body(const char *passes, bool inexact, const char *in, const char *want) {
    char text[2][4096];
    const char *bodies[2] = {in, want};
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i],
                 "func.func public @main(%%x: tensor<2x3xf32>, %%y: tensor<2x3xf32>, %%i: tensor<2x3xi32>, %%p: "
                 "tensor<2x3xi1>) -> %s\n"
                 "}\n",
                 bodies[i]);
    check(passes, inexact, text[0], text[1]);
}

#define F "tensor<2x3xf32>"
#define RETURN_X "tensor<2x3xf32> {\n return %x : tensor<2x3xf32>"

static void dce_removes_what_nobody_reads(void **state) {
    (void)state;
    check_body("opt_dce", false,
               F " {\n %a = stablehlo.add %x, %y : " F "\n %b = stablehlo.negate %a : " F "\n"
                 "%c = stablehlo.custom_call @f(%x) {has_side_effect = false} : (" F ") -> " F "\n return %x : " F,
               RETURN_X);
}

static void dce_keeps_effects(void **state) {
    (void)state;
    const char *text =
        F " {\n %a = stablehlo.negate %y : " F "\n"
          "%c = stablehlo.custom_call @f(%a) {has_side_effect = true} : (" F ") -> " F "\n return %x : " F;
    check_body("opt_dce", false, text, text);
}

static void dce_drops_functions_nobody_reaches(void **state) {
    (void)state;
    const char *main_and_g = "func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
                             " %r = call @g(%x) : (tensor<f32>) -> tensor<f32>\n"
                             " return %r : tensor<f32>\n"
                             "}\n"
                             "func.func private @g(%x: tensor<f32>) -> tensor<f32> {\n"
                             " return %x : tensor<f32>\n"
                             "}\n";
    char in[1024];
    snprintf(in, sizeof in,
             "%sfunc.func private @h(%%x: tensor<f32>) -> tensor<f32> {\n"
             " return %%x : tensor<f32>\n"
             "}\n",
             main_and_g);
    check("opt_dce", false, in, main_and_g);
}

static void cse_merges_equal_ops(void **state) {
    (void)state;
    check_body("opt_cse opt_dce", false,
               F " {\n %a = stablehlo.add %x, %y : " F "\n %b = stablehlo.add %y, %x : " F
                 "\n %c = stablehlo.subtract %a, %b : " F "\n"
                 " %d = stablehlo.subtract %b, %a : " F "\n %e = stablehlo.multiply %c, %d : " F "\n return %e : " F,
               F " {\n %a = stablehlo.add %x, %y : " F "\n %c = stablehlo.subtract %a, %a : " F
                 "\n %e = stablehlo.multiply %c, %c : " F "\n return %e : " F);
}

static void cse_compares_regions_and_attributes(void **state) {
    (void)state;
    const char *reduce = " %%%s = stablehlo.reduce(%%x init: %%z) applies stablehlo.%s across dimensions = [%d] : "
                         "(tensor<2x3xf32>, tensor<f32>) -> tensor<%dxf32>\n";
    char in[2048], want[2048], sum[256], sum2[256], most[256], other[256];
    snprintf(sum, sizeof sum, reduce, "a", "add", 1, 2);
    snprintf(sum2, sizeof sum2, reduce, "b", "add", 1, 2);
    snprintf(most, sizeof most, reduce, "c", "maximum", 1, 2);
    snprintf(other, sizeof other, reduce, "d", "add", 0, 3);
    const char *types = "tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>";
    snprintf(in, sizeof in,
             "(%s) {\n"
             " %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
             "%s%s%s%s return %%a, %%b, %%c, %%d : %s",
             types, sum, sum2, most, other, types);
    snprintf(want, sizeof want,
             "(%s) {\n"
             " %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
             "%s%s%s return %%a, %%a, %%c, %%d : %s",
             types, sum, most, other, types);
    check_body("opt_cse opt_dce", false, in, want);
}

static void cse_respects_scopes_and_barriers(void **state) {
    (void)state;
    const char *text =
        F " {\n %s = stablehlo.constant dense<true> : tensor<i1>\n"
          " %r = \"stablehlo.if\"(%s) ({\n"
          " %a = stablehlo.negate %x : " F "\n stablehlo.return %a : " F "\n}, {\n"
          " %b = stablehlo.negate %x : " F "\n stablehlo.return %b : " F "\n}) : (tensor<i1>) -> " F "\n"
          " %k = stablehlo.optimization_barrier %r : " F "\n %l = stablehlo.optimization_barrier %r : " F "\n"
          " %t = stablehlo.add %k, %l : " F "\n return %t : " F;
    check_body("opt_cse opt_dce", false, text, text);
}

static void simplify_applies_patterns(void **state) {
    (void)state;
    const char *one = " {\n %c = stablehlo.constant dense<1.0> : " F "\n %a = stablehlo.multiply %c, %x : " F
                      "\n %n = stablehlo.negate %a : " F "\n %m = stablehlo.negate %n : " F "\n return %m : " F;
    char in[1024];
    snprintf(in, sizeof in, "%s%s", F, one);
    check_body("opt_simplify opt_dce", false, in, RETURN_X);
}

static void simplify_sees_through_broadcast_constants(void **state) {
    (void)state;
    check_body("opt_simplify opt_dce", false,
               F " {\n"
                 " %c = stablehlo.constant dense<1.0> : tensor<f32>\n"
                 " %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> " F
                 "\n %a = stablehlo.divide %x, %b : " F "\n return %a : " F,
               RETURN_X);
}

static void inexact_rules_wait_for_leave(void **state) {
    (void)state;
    const char *text =
        F " {\n %c = stablehlo.constant dense<0.0> : " F "\n %a = stablehlo.add %x, %c : " F "\n return %a : " F;
    check_body("opt_simplify opt_dce", false, text, text);
    check_body("opt_simplify opt_dce", true, text, RETURN_X);
}

/* Inf and NaN under a mask are 0 for programs that were written for XLA, and NaN for those that were not. */
static void masks_are_selections_for_guests(void **state) {
    (void)state;
    const char *text = F " {\n %m = stablehlo.convert %p : (tensor<2x3xi1>) -> " F
                         "\n %a = stablehlo.multiply %m, %x : " F "\n return %a : " F;
    const char *want = F " {\n %c = stablehlo.constant dense<0.0> : " F
                         "\n %a = stablehlo.select %p, %x, %c : tensor<2x3xi1>, " F "\n return %a : " F;
    check_body("opt_simplify opt_dce", true, text, text);
    for_guests = true;
    check_body("opt_simplify opt_dce", false, text, want);
    for_guests = false;
    const char *numbers = F " {\n %m = stablehlo.convert %i : (tensor<2x3xi32>) -> " F
                            "\n %a = stablehlo.multiply %m, %x : " F "\n return %a : " F;
    for_guests = true;
    check_body("opt_simplify opt_dce", true, numbers, numbers);
    for_guests = false;
}

static void simplify_shapes(void **state) {
    (void)state;
    static const char *const rows[] = {
        " %a = stablehlo.reshape %x : (" F ") -> tensor<6xf32>\n %r = stablehlo.reshape %a : (tensor<6xf32>) -> " F,
        " %a = stablehlo.transpose %x, dims = [1, 0] : (" F ") -> tensor<3x2xf32>\n"
        " %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x2xf32>) -> " F,
        " %r = stablehlo.transpose %x, dims = [0, 1] : (" F ") -> " F,
        " %r = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (" F ") -> " F,
        " %r = stablehlo.slice %x [0:2, 0:3] : (" F ") -> " F,
        " %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        " %r = stablehlo.pad %x, %z, low = [0, 0], high = [0, 0], interior = [0, 0] : (" F ", tensor<f32>) -> " F,
        " %r = stablehlo.concatenate %x, dim = 0 : (" F ") -> " F,
        " %r = stablehlo.convert %x : " F,
        " %a = stablehlo.convert %x : (" F ") -> tensor<2x3xf64>\n %r = stablehlo.convert %a : (tensor<2x3xf64>) -> " F,
        " %a = stablehlo.reverse %x, dims = [] : " F "\n %r = stablehlo.reverse %a, dims = [] : " F,
        " %t = stablehlo.tuple %y, %x : tuple<" F ", " F ">\n %r = stablehlo.get_tuple_element %t[1] : (tuple<" F ", " F
        ">) -> " F,
        " %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n"
        " %r = stablehlo.dynamic_reshape %x, %s : (" F ", tensor<2xi32>) -> " F,
        " %r = stablehlo.select %p, %x, %x : tensor<2x3xi1>, " F,
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char in[1024];
        snprintf(in, sizeof in, F " {\n%s\n return %%r : " F, rows[i]);
        check_body("opt_simplify opt_dce", false, in, RETURN_X);
    }
}

static void simplify_keeps_conversions_that_round(void **state) {
    (void)state;
    const char *text = F " {\n %a = stablehlo.convert %x : (" F ") -> tensor<2x3xbf16>\n"
                         " %r = stablehlo.convert %a : (tensor<2x3xbf16>) -> " F "\n return %r : " F;
    check_body("opt_simplify opt_dce", false, text, text);
}

static void simplify_joins_broadcasts_and_transposes(void **state) {
    (void)state;
    check("opt_simplify opt_dce", false,
          "func.func public @main(%x: tensor<3xf32>) -> tensor<5x3x2xf32> {\n"
          " %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>\n"
          " %b = stablehlo.broadcast_in_dim %a, dims = [2, 1] : (tensor<2x3xf32>) -> tensor<5x3x2xf32>\n"
          " return %b : tensor<5x3x2xf32>\n"
          "}\n",
          "func.func public @main(%x: tensor<3xf32>) -> tensor<5x3x2xf32> {\n"
          " %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<5x3x2xf32>\n"
          " return %b : tensor<5x3x2xf32>\n"
          "}\n");
    check("opt_simplify opt_dce", false,
          "func.func public @main(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {\n"
          " %a = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>\n"
          " %b = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>\n"
          " return %b : tensor<4x2x3xf32>\n"
          "}\n",
          "func.func public @main(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {\n"
          " %b = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>\n"
          " return %b : tensor<4x2x3xf32>\n"
          "}\n");
}

/* A fold of one element each is gone where the initial value is its region's own, and only there. */
static void folds_of_one_element(void **state) {
    (void)state;
    static const struct {
        const char *op, *type, *init;
        bool gone;
    } rows[] = {{"and", "i1", "true", true},       {"and", "i1", "false", false},
                {"or", "i1", "false", true},       {"or", "i32", "0", true},
                {"and", "i32", "1", false},        {"add", "i32", "0", true},
                {"add", "f32", "0.0", false},      {"multiply", "f32", "1.0", true},
                {"multiply", "f32", "0.5", false}, {"maximum", "f32", "0xFF800000", true},
                {"maximum", "f32", "0.0", false},  {"minimum", "f64", "0x7FF0000000000000", true}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char in[900], want[400];
        const char *t = rows[i].type;
        snprintf(in, sizeof in,
                 "func.func public @main(%%x: tensor<3x1x4x1x%s>) -> tensor<3x4x%s> {\n"
                 " %%i = stablehlo.constant dense<%s> : tensor<%s>\n"
                 " %%r = stablehlo.reduce(%%x init: %%i) applies stablehlo.%s across dimensions = [1, 3] : "
                 "(tensor<3x1x4x1x%s>, tensor<%s>) -> tensor<3x4x%s>\n return %%r : tensor<3x4x%s>\n}\n",
                 t, t, rows[i].init, t, rows[i].op, t, t, t, t);
        snprintf(want, sizeof want,
                 "func.func public @main(%%x: tensor<3x1x4x1x%s>) -> tensor<3x4x%s> {\n"
                 " %%r = stablehlo.reshape %%x : (tensor<3x1x4x1x%s>) -> tensor<3x4x%s>\n"
                 " return %%r : tensor<3x4x%s>\n}\n",
                 t, t, t, t, t);
        check("opt_simplify opt_dce", false, in, rows[i].gone ? want : in);
    }
}

/* One element, whether it was written or folded. */
static void constants_of_one_element_are_common(void **state) {
    (void)state;
    check("opt_fold opt_cse opt_dce", false,
          "func.func public @main() -> (tensor<i32>, tensor<i32>) {\n"
          " %a = stablehlo.constant dense<7> : tensor<i32>\n %b = stablehlo.constant dense<3> : tensor<i32>\n"
          " %c = stablehlo.constant dense<4> : tensor<i32>\n %d = stablehlo.add %b, %c : tensor<i32>\n"
          " return %a, %d : tensor<i32>, tensor<i32>\n}\n",
          "func.func public @main() -> (tensor<i32>, tensor<i32>) {\n"
          " %a = stablehlo.constant dense<7> : tensor<i32>\n return %a, %a : tensor<i32>, tensor<i32>\n}\n");
}

#define H "tensor<2x3xbf16>"
#define HT "tensor<3x2xbf16>"
static void layout_lets_transposes_meet(void **state) {
    (void)state;
    /* Between two transposes a conversion: all that stays is the conversion. */
    check_body("opt_layout opt_dce", false,
               F " {\n %b = stablehlo.convert %x : (" F ") -> " H "\n %t = stablehlo.transpose %b, dims = [1, 0] : (" H
                 ") -> " HT "\n %c = stablehlo.convert %t : (" HT ") -> tensor<3x2xf32>\n"
                 " %u = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x2xf32>) -> " F "\n return %u : " F,
               F " {\n %b = stablehlo.convert %x : (" F ") -> " H "\n %c = stablehlo.convert %b : (" H ") -> " F
                 "\n return %c : " F);
    /* A loop that reads the conversion would have to transpose the result instead of the operand. */
    const char *loop = "tensor<3x2xbf16> {\n"
                       " %t = stablehlo.transpose %x, dims = [1, 0] : (" F ") -> tensor<3x2xf32>\n"
                       " %b = stablehlo.convert %t : (tensor<3x2xf32>) -> " HT "\n %n = stablehlo.negate %b : " HT
                       "\n return %n : " HT;
    check_body("opt_layout opt_dce", false, loop, loop);
}

/* A transpose that a product can make by itself is gone; one that asks for a mixture of the operands' dims, or for what
 * others read as it lies, stays. */
static void products_make_their_transposes(void **state) {
    (void)state;
#define HEAD "func.func public @main(%a: tensor<7x2x3x5xf32>, %b: tensor<7x2x5x4xf32>, %w: tensor<6x3xbf16>) -> "
#define DOT(batch_a, batch_b, type)                                              \
    " %d = stablehlo.dot_general %a, %b, batching_dims = " batch_a " x " batch_b \
    ", contracting_dims = [3] x [2], precision = [HIGH, DEFAULT] : "             \
    "(tensor<7x2x3x5xf32>, tensor<7x2x5x4xf32>) -> " type "\n"
#define MADE(batch_a, batch_b, type)                                             \
    " %d = stablehlo.dot_general %b, %a, batching_dims = " batch_a " x " batch_b \
    ", contracting_dims = [2] x [3], precision = [DEFAULT, HIGH] : "             \
    "(tensor<7x2x5x4xf32>, tensor<7x2x3x5xf32>) -> " type "\n"
#define TRANSPOSE(dims, from, to) " %t = stablehlo.transpose %d, dims = " dims " : (" from ") -> " to "\n"
#define B "tensor<7x2x3x4xf32>"
    check("opt_products opt_dce", false,
          HEAD "tensor<7x2x4x3xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
              TRANSPOSE("[0, 1, 3, 2]", B, "tensor<7x2x4x3xf32>") " return %t : tensor<7x2x4x3xf32>\n}\n",
          HEAD "tensor<7x2x4x3xf32> {\n" MADE("[0, 1]", "[0, 1]",
                                              "tensor<7x2x4x3xf32>") " return %d : tensor<7x2x4x3xf32>\n}\n");
    check("opt_products opt_dce", false,
          HEAD "tensor<2x7x4x3xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
              TRANSPOSE("[1, 0, 3, 2]", B, "tensor<2x7x4x3xf32>") " return %t : tensor<2x7x4x3xf32>\n}\n",
          HEAD "tensor<2x7x4x3xf32> {\n" MADE("[1, 0]", "[1, 0]",
                                              "tensor<2x7x4x3xf32>") " return %d : tensor<2x7x4x3xf32>\n}\n");
    check("opt_products opt_dce", false,
          HEAD "tensor<2x7x3x4xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
              TRANSPOSE("[1, 0, 2, 3]", B, "tensor<2x7x3x4xf32>") " return %t : tensor<2x7x3x4xf32>\n}\n",
          HEAD "tensor<2x7x3x4xf32> {\n" DOT("[1, 0]", "[1, 0]",
                                             "tensor<2x7x3x4xf32>") " return %d : tensor<2x7x3x4xf32>\n}\n");
    /* several free dims, and a conversion between */
    check("opt_products opt_dce", false,
          HEAD "tensor<6x7x2x5xf32> {\n"
               " %d = stablehlo.dot_general %a, %w, contracting_dims = [2] x [1] : (tensor<7x2x3x5xf32>, "
               "tensor<6x3xbf16>) -> tensor<7x2x5x6xf32>\n"
               " %t = stablehlo.transpose %d, dims = [3, 0, 1, 2] : (tensor<7x2x5x6xf32>) -> tensor<6x7x2x5xf32>\n"
               " return %t : tensor<6x7x2x5xf32>\n"
               "}\n",
          HEAD "tensor<6x7x2x5xf32> {\n"
               " %d = stablehlo.dot_general %w, %a, contracting_dims = [1] x [2] : (tensor<6x3xbf16>, "
               "tensor<7x2x3x5xf32>) -> tensor<6x7x2x5xf32>\n"
               " return %d : tensor<6x7x2x5xf32>\n}\n");
    check("opt_products opt_dce", false,
          HEAD
          "tensor<6x6xf32> {\n"
          " %g = stablehlo.constant dense<1.0> : tensor<6x3xbf16>\n"
          " %d = stablehlo.dot_general %g, %w, contracting_dims = [1] x [1] : (tensor<6x3xbf16>, tensor<6x3xbf16>) -> "
          "tensor<6x6xbf16>\n"
          " %c = stablehlo.convert %d : (tensor<6x6xbf16>) -> tensor<6x6xf32>\n"
          " %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>\n"
          " return %t : tensor<6x6xf32>\n}\n",
          HEAD
          "tensor<6x6xf32> {\n"
          " %g = stablehlo.constant dense<1.0> : tensor<6x3xbf16>\n"
          " %d = stablehlo.dot_general %w, %g, contracting_dims = [1] x [1] : (tensor<6x3xbf16>, tensor<6x3xbf16>) -> "
          "tensor<6x6xbf16>\n"
          " %c = stablehlo.convert %d : (tensor<6x6xbf16>) -> tensor<6x6xf32>\n"
          " return %c : tensor<6x6xf32>\n"
          "}\n");
    const char *stay[] = {
        /* a batch dim between free ones */
        HEAD "tensor<7x3x2x4xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
            TRANSPOSE("[0, 2, 1, 3]", B, "tensor<7x3x2x4xf32>") " return %t : tensor<7x3x2x4xf32>\n}\n",
        HEAD "(" B ", tensor<7x2x4x3xf32>) {\n" DOT("[0, 1]", "[0, 1]", B)
            TRANSPOSE("[0, 1, 3, 2]", B, "tensor<7x2x4x3xf32>") " return %d, %t : " B ", tensor<7x2x4x3xf32>\n}\n",
        HEAD "tensor<6x5x7x2xf32> {\n"
             " %d = stablehlo.dot_general %a, %w, contracting_dims = [2] x [1] : (tensor<7x2x3x5xf32>, "
             "tensor<6x3xbf16>) -> tensor<7x2x5x6xf32>\n"
             " %t = stablehlo.transpose %d, dims = [3, 2, 0, 1] : (tensor<7x2x5x6xf32>) -> tensor<6x5x7x2xf32>\n"
             " return %t : tensor<6x5x7x2xf32>\n"
             "}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(stay); i++) check("opt_products opt_dce", false, stay[i], stay[i]);
#undef HEAD
#undef DOT
#undef MADE
#undef TRANSPOSE
#undef B
}

static void layout_adds_a_scatter_into_its_addend(void **state) {
    (void)state;
#define SCATTER(into)                                                                                                  \
    "\"stablehlo.scatter\"(" into ", %k, %u) <{indices_are_sorted = false, scatter_dimension_numbers = "               \
    "#stablehlo.scatter<update_window_dims = [1], "                                                                    \
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> " \
    "({\n"                                                                                                             \
    " ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                                                                       \
    " %s = stablehlo.add %a, %b : tensor<f32>\n"                                                                       \
    " stablehlo.return %s : tensor<f32>\n"                                                                             \
    "}) : (" F ", tensor<4xi64>, tensor<4x3xf32>) -> " F "\n"
#define OPERANDS                                                    \
    "%k = stablehlo.constant dense<[0, 1, 0, 1]> : tensor<4xi64>\n" \
    " %u = stablehlo.constant dense<1.5> : tensor<4x3xf32>\n"
    check_body("opt_layout opt_dce", false,
               F " {\n %z = stablehlo.constant dense<0.0> : " F "\n" OPERANDS
                 " %c = " SCATTER("%z") " %r = stablehlo.add %x, %c : " F "\n return %r : " F,
               F " {\n " OPERANDS " %c = " SCATTER("%x") " return %c : " F);
    const char *ones = F " {\n %z = stablehlo.constant dense<1.0> : " F "\n" OPERANDS
                         " %c = " SCATTER("%z") " %r = stablehlo.add %x, %c : " F "\n return %r : " F;
    check_body("opt_layout opt_dce", false, ones, ones);
}

/* Cross entropy's pick of one class: a gather, and what is left of the comparison in 32 bits; a class that does not
 * exist gives 0. */
static void onehot_sums_become_gathers(void **state) {
    (void)state;
    static const char head[] =
        "func.func public @main(%x: tensor<4x6xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4x6xf32>) {\n";
    static const char *const bodies[2] = {
        " %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        " %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi64>) -> tensor<4x6xi64>\n"
        " %c = stablehlo.iota dim = 1 : tensor<4x6xi64>\n"
        " %m = stablehlo.compare EQ, %b, %c, SIGNED : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<4x6xi1>\n"
        " %zz = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n %e = stablehlo.exponential %x : tensor<4x6xf32>\n"
        " %s = stablehlo.select %m, %e, %zz : tensor<4x6xi1>, tensor<4x6xf32>\n"
        " %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, "
        "tensor<f32>) -> tensor<4xf32>\n"
        " return %r, %s : tensor<4xf32>, tensor<4x6xf32>\n}\n",
        " %most = stablehlo.constant dense<6> : tensor<i64>\n %least = stablehlo.constant dense<-1> : tensor<i64>\n"
        " %cut = stablehlo.clamp %least, %i, %most : (tensor<i64>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>\n"
        " %narrow = stablehlo.convert %cut : (tensor<4xi64>) -> tensor<4xi32>\n"
        " %b = stablehlo.broadcast_in_dim %narrow, dims = [0] : (tensor<4xi32>) -> tensor<4x6xi32>\n"
        " %c = stablehlo.iota dim = 1 : tensor<4x6xi32>\n"
        " %m = stablehlo.compare EQ, %b, %c, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>\n"
        " %zz = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n %e = stablehlo.exponential %x : tensor<4x6xf32>\n"
        " %s = stablehlo.select %m, %e, %zz : tensor<4x6xi1>, tensor<4x6xf32>\n"
        " %g = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], "
        "operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : "
        "(tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>\n"
        " %eg = stablehlo.exponential %g : tensor<4xf32>\n"
        " %zero = stablehlo.constant dense<0> : tensor<4xi64>\n"
        " %six = stablehlo.constant dense<6> : tensor<4xi64>\n"
        " %below = stablehlo.compare LT, %i, %six, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n"
        " %above = stablehlo.compare GE, %i, %zero, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n"
        " %in = stablehlo.and %above, %below : tensor<4xi1>\n"
        " %none = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
        " %r = stablehlo.select %in, %eg, %none : tensor<4xi1>, tensor<4xf32>\n"
        " return %r, %s : tensor<4xf32>, tensor<4x6xf32>\n}\n"};
    char text[2][4096];
    for (int i = 0; i < 2; i++) snprintf(text[i], sizeof text[i], "%s%s", head, bodies[i]);
    check("opt_onehot opt_dce", false, text[0], text[1]);
}

/* What is gathered of an expression is that expression of what is gathered, window dims and batching dims where the
 * result has them. An expression stays that is read by others too, made of two arrays in memory, or of what differs
 * along a dim that is picked from. */
static void gathers_look_through_expressions(void **state) {
    (void)state;
#define X "tensor<64x5x2xf32>"
#define PICKED "tensor<2x5xf32>"
#define GATHER(out, of)                                                                                              \
    " " out " = \"stablehlo.gather\"(" of                                                                            \
    ", %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], "                  \
    "operand_batching_dims = [1], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, " \
    "indices_are_sorted = false, "                                                                                   \
    "slice_sizes = array<i64: 1, 1, 2>}> : (" X ", tensor<5x1xi32>) -> " PICKED "\n"
#define HEAD "func.func public @main(%x: " X ", %r: tensor<5xf32>, %l: tensor<64xf32>, %i: tensor<5x1xi32>) -> "
#define TWO " %c = stablehlo.constant dense<2.0> : "
    check("opt_gather opt_dce", false,
          HEAD PICKED " {\n" TWO X "\n"
                      " %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<5xf32>) -> " X
                      "\n %s = stablehlo.subtract %x, %b : " X "\n %p = stablehlo.multiply %s, %c : " X
                      "\n" GATHER("%g", "%p") " return %g : " PICKED "\n}\n",
          HEAD PICKED
          " {\n" GATHER("%g", "%x") " %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<5xf32>) -> " PICKED
                                    "\n %s = stablehlo.subtract %g, %b : " PICKED "\n" TWO PICKED
                                    "\n %p = stablehlo.multiply %s, %c : " PICKED "\n return %p : " PICKED "\n}\n");
    static const char *const stay[] = {
        HEAD "(" PICKED ", " X ") {\n" TWO X "\n %p = stablehlo.multiply %x, %c : " X
             "\n" GATHER("%g", "%p") " return %g, %p : " PICKED ", " X "\n}\n",
        HEAD PICKED " {\n %u = stablehlo.reverse %x, dims = [0] : " X "\n %v = stablehlo.reverse %x, dims = [1] : " X
                    "\n %p = stablehlo.multiply %u, %v : " X "\n" GATHER("%g", "%p") " return %g : " PICKED "\n}\n",
        HEAD PICKED " {\n"
                    " %b = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<64xf32>) -> " X
                    "\n %p = stablehlo.subtract %x, %b : " X "\n" GATHER("%g", "%p") " return %g : " PICKED "\n}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(stay); i++) check("opt_gather opt_dce", false, stay[i], stay[i]);
#undef X
#undef PICKED
#undef GATHER
#undef HEAD
#undef TWO
}

/* One number a row into zeros is a choice by the class: read by loops, not where a product needs it in memory, and not
 * two numbers a row. */
static void scattered_numbers_become_choices(void **state) {
    (void)state;
#define NUMBERS(n)                                                                                                    \
    " %z = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n"                                                         \
    " %h = \"stablehlo.scatter\"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = "              \
    "#stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], " \
    "scatter_dims_to_operand_dims = [1], "                                                                            \
    "index_vector_dim = 2>, unique_indices = false}> ({\n"                                                            \
    " ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                                                                      \
    " %s = stablehlo.add %a, %b : tensor<f32>\n"                                                                      \
    " stablehlo.return %s : tensor<f32>\n"                                                                            \
    " "                                                                                                               \
    "}) : (tensor<4x6xf32>, tensor<4x" #n "x1xi32>, tensor<4x" #n "xf32>) -> tensor<4x6xf32>\n"
#define HEAD(n) "func.func public @main(%x: tensor<4x6xf32>, %i: tensor<4x" #n "x1xi32>, %u: tensor<4x" #n "xf32>) -> "
#define SUM " %y = stablehlo.add %h, %x : tensor<4x6xf32>\n return %y : tensor<4x6xf32>\n}\n"
    check("opt_onehot opt_dce", false, HEAD(1) "tensor<4x6xf32> {\n" NUMBERS(1) SUM,
          HEAD(1) "tensor<4x6xf32> {\n %r = stablehlo.reshape %i : (tensor<4x1x1xi32>) -> tensor<4xi32>\n"
                  " %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4xi32>) -> tensor<4x6xi32>\n"
                  " %c = stablehlo.iota dim = 1 : tensor<4x6xi32>\n"
                  " %m = stablehlo.compare EQ, %rb, %c, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>\n"
                  " %v = stablehlo.reshape %u : (tensor<4x1xf32>) -> tensor<4xf32>\n"
                  " %n = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
                  " %w = stablehlo.add %n, %v : tensor<4xf32>\n"
                  " %wb = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>\n"
                  " %z = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n"
                  " %h = stablehlo.select %m, %wb, %z : tensor<4x6xi1>, tensor<4x6xf32>\n" SUM);
    static const char *const stay[] = {
        HEAD(2) "tensor<4x6xf32> {\n" NUMBERS(2) SUM,
        HEAD(1) "tensor<4x4xf32> {\n" NUMBERS(1) " %y = stablehlo.dot_general %h, %x, contracting_dims = [1] x [1] : "
                                                 "(tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>\n"
                                                 " return %y : tensor<4x4xf32>\n}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(stay); i++) check("opt_onehot opt_dce", false, stay[i], stay[i]);
#undef NUMBERS
#undef HEAD
#undef SUM
}

/* Pads that lie side by side are joined; those that leave a gap, or that someone else reads too, stay. */
static void pads_become_concatenations(void **state) {
    (void)state;
    static const char head[] = "func.func public @main(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>, %c: tensor<4x1xf32>) "
                               "-> (tensor<4x6xf32>, tensor<4x6xf32>) {\n"
                               " %z = stablehlo.constant dense<0.0> : tensor<f32>\n";
    static const char gap[] = " %qa = stablehlo.pad %a, %z, low = [0, 2], high = [0, 2], interior = [0, 0] : "
                              "(tensor<4x2xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                              " %qb = stablehlo.pad %c, %z, low = [0, 0], high = [0, 5], interior = [0, 0] : "
                              "(tensor<4x1xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                              " %u = stablehlo.add %qa, %qb : tensor<4x6xf32>\n"
                              " return %t, %u : tensor<4x6xf32>, tensor<4x6xf32>\n"
                              "}\n";
    static const char pads[] = " %pa = stablehlo.pad %a, %z, low = [0, 3], high = [0, 1], interior = [0, 0] : "
                               "(tensor<4x2xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                               " %pb = stablehlo.pad %b, %z, low = [0, 0], high = [0, 3], interior = [0, 0] : "
                               "(tensor<4x3xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                               " %pc = stablehlo.pad %c, %z, low = [0, 5], high = [0, 0], interior = [0, 0] : "
                               "(tensor<4x1xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                               " %s = stablehlo.add %pa, %pb : tensor<4x6xf32>\n"
                               " %t = stablehlo.add %s, %pc : tensor<4x6xf32>\n";
    static const char joined[] = " %t = stablehlo.concatenate %b, %a, %c, dim = 1 : (tensor<4x3xf32>, tensor<4x2xf32>, "
                                 "tensor<4x1xf32>) -> tensor<4x6xf32>\n";
    static const char shared[] = " return %t, %pb : tensor<4x6xf32>, tensor<4x6xf32>\n}\n";
    char text[2][4096];
    snprintf(text[0], sizeof text[0], "%s%s%s", head, pads, gap);
    snprintf(text[1], sizeof text[1], "%s%s%s", head, joined, gap);
    check("opt_pads opt_dce", false, text[0], text[1]);
    snprintf(text[0], sizeof text[0], "%s%s%s", head, pads, shared);
    check("opt_pads opt_dce", false, text[0], text[0]);
}

/* What follows from a value that waits for the backward pass anyway is computed there again, in the order it had; the
 * value that a product made it of is gone by then, so it stays; so does what a product reads later. */
static void derived_values_do_not_wait_for_the_backward_pass(void **state) {
    (void)state;
#define L "tensor<512x512xf32>"
#define PRODUCT(out, a, b) \
    " " out " = stablehlo.dot_general " a ", " b ", contracting_dims = [1] x [0] : (" L ", " L ") -> " L "\n"
    static const char head[] = "func.func public @main(%a: " L ", %w: " L ", %v: " L ") -> (" L ", " L
                               ") {\n %c = stablehlo.constant dense<2.0> : " L "\n";
    static const char forward[] = PRODUCT("%p", "%a", "%w")
    " %x = stablehlo.add %p, %v : " L "\n %s = stablehlo.multiply %x, %x : " L "\n %h = stablehlo.multiply %s, %c : " L
    "\n %t = stablehlo.tanh %h : " L "\n %y = stablehlo.multiply %x, %t : " L "\n";
    static const char after[] = PRODUCT("%z", "%y", "%v");
    static const char backward[] = " %e = stablehlo.multiply %z, %x : " L "\n";
    static const char again[] = " %s2 = stablehlo.multiply %x, %x : " L "\n %h2 = stablehlo.multiply %s2, %c : " L
                                "\n %t2 = stablehlo.tanh %h2 : " L "\n";
    static const char last[] = PRODUCT("%g", "%f", "%y")
    " return %g, %f : " L ", " L "\n}\n";
    char in[4096], want[4096];
    snprintf(in, sizeof in, "%s%s%s%s %%f = stablehlo.add %%e, %%t : " L "\n%s", head, forward, after, backward, last);
    snprintf(want, sizeof want, "%s%s%s%s%s %%f = stablehlo.add %%e, %%t2 : " L "\n%s", head, forward, after, backward,
             again, last);
    check("opt_recompute opt_dce", false, in, want);
    /* x is not read later itself: keeping it for the sake of the others saves nothing, so all is as it was */
    snprintf(in, sizeof in, "%s%s%s %%f = stablehlo.add %%z, %%t : " L "\n%s", head, forward, after, last);
    check("opt_recompute opt_dce", false, in, in);
}

static void calls_are_inlined_innermost_first(void **state) {
    (void)state;
    check("lower_call opt_dce", false,
          "func.func public @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
          " %r:2 = call @g(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
          " return %r#1, %r#0 : tensor<f32>, tensor<f32>\n}\n"
          "func.func private @g(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
          " %a = call @h(%x) : (tensor<f32>) -> tensor<f32>\n"
          " %b = stablehlo.sine %a : tensor<f32>\n return %x, %b : tensor<f32>, tensor<f32>\n}\n"
          "func.func private @h(%x: tensor<f32>) -> tensor<f32> {\n"
          " %a = stablehlo.negate %x : tensor<f32>\n"
          " return %a : tensor<f32>\n"
          "}\n",
          "func.func public @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
          " %a = stablehlo.negate %x : tensor<f32>\n"
          " %b = stablehlo.sine %a : tensor<f32>\n return %b, %x : tensor<f32>, tensor<f32>\n}\n");
}

static void calls_in_regions_are_inlined(void **state) {
    (void)state;
    const char *text = "func.func public @main(%%x: tensor<f32>) -> tensor<f32> {\n"
                       " %%r = stablehlo.while(%%v = %%x) : tensor<f32>\n"
                       " cond {\n"
                       " %%c = stablehlo.is_finite %%v : (tensor<f32>) -> tensor<i1>\n"
                       " stablehlo.return %%c : tensor<i1>\n"
                       " } do {\n"
                       " %s\n"
                       " stablehlo.return %%n : tensor<f32>\n"
                       " }\n"
                       " return %%r : tensor<f32>\n"
                       "}\n"
                       "%s";
    char in[2048], want[2048];
    snprintf(in, sizeof in, text, "%n = func.call @h(%v) : (tensor<f32>) -> tensor<f32>",
             "func.func private @h(%x: tensor<f32>) -> tensor<f32> {\n"
             " %a = stablehlo.exponential %x : tensor<f32>\n"
             " return %a : tensor<f32>\n"
             "}\n");
    snprintf(want, sizeof want, text, "%n = stablehlo.exponential %v : tensor<f32>", "");
    check("lower_call opt_dce", false, in, want);
}

#define GATHER(f, x)                                                                                     \
    f " = \"stablehlo.all_gather\"(" x                                                                   \
      ") <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, " \
      "replica_groups = dense<[[0]]> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<4xf32>\n"

/* Also where a loop carries the future from one turn to the next. */
static void begun_collectives_stand_by_themselves(void **state) {
    (void)state;
#define START(f, x)                                                                           \
    f " = \"stablehlo.async_start\"(" x ") ({\n^bb0(%i: tensor<4xf32>):\n" GATHER("%g", "%i") \
    "stablehlo.return %g : tensor<4xf32>\n"                                                   \
    "}) : (tensor<4xf32>) -> " FUTURE "\n"
#define FUTURE "!stablehlo.future<tensor<4xf32>>"
#define DONE(x, f) x " = \"stablehlo.async_done\"(" f ") : (" FUTURE ") -> tensor<4xf32>\n"
#define WISH "stablehlo.custom_call @control_dep(%f, %x) {has_side_effect = true} : (" FUTURE ", tensor<4xf32>) -> ()\n"
#define LOOP(type, first, body, last)                                                                            \
    "func.func public @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {\n" first                       \
    "%r:2 = stablehlo.while(%c = %p, %v = %f) : tensor<i1>, " type                                               \
    "\n cond {\n stablehlo.return %c : tensor<i1>\n } do {\n" body "stablehlo.return %n, %w : tensor<i1>, " type \
    "\n }\n" last "return %y : tensor<4xf32>\n}\n"
    check("lower_call opt_dce", false,
          LOOP(FUTURE, START("%f", "%x"), DONE("%d", "%v") START("%w", "%d") "%n = stablehlo.not %c : tensor<i1>\n",
               DONE("%z", "%r#1") WISH "%y = stablehlo.negate %z : tensor<4xf32>\n"),
          LOOP("tensor<4xf32>", GATHER("%f", "%x"), GATHER("%w", "%v") "%n = stablehlo.not %c : tensor<i1>\n",
               "%y = stablehlo.negate %r#1 : tensor<4xf32>\n"));
}

/* 40 functions, each calling the next twice, would be 2^40 ops: what exceeds the budget is still called, and the
 * program stays valid. */
static void inlining_has_a_budget(void **state) {
    (void)state;
    str s = STR_INIT;
    for (int i = 0; i < 40; i++)
        str_printf(&s,
                   "func.func %s @f%d(%%x: tensor<f32>) -> tensor<f32> {\n"
                   " %%a = call @f%d(%%x) : (tensor<f32>) -> tensor<f32>\n"
                   " %%b = call @f%d(%%a) : (tensor<f32>) -> tensor<f32>\n"
                   " return %%b : tensor<f32>\n"
                   "}\n",
                   i ? "private" : "public", i, i + 1, i + 1);
    str_append(&s, "func.func private @f40(%x: tensor<f32>) -> tensor<f32> {\n"
                   " %a = stablehlo.negate %x : tensor<f32>\n"
                   " return %a : tensor<f32>\n"
                   "}\n");
    ir_module *m = parse(s.data);
    pass_ctx c = {.verify = true};
    xt_status bad = pass_run(&c, pass_find("lower_call"), m);
    if (bad) fail_msg("%s", xt_status_message(bad));
    ir_module_free(m);
    str_free(&s);
}

static void optimize_fails_cleanly_at_each_allocation(void **state) {
    (void)state;
    const char *text = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                       " %c = stablehlo.constant dense<1.0> : tensor<2xf32>\n"
                       " %a = stablehlo.multiply %x, %c : tensor<2xf32>\n"
                       " %b = call @h(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
                       " %d = stablehlo.transpose %b, dims = [0] : (tensor<2xf32>) -> tensor<2xf32>\n"
                       " return %d : tensor<2xf32>\n"
                       "}\n"
                       "func.func private @h(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                       " %a = stablehlo.negate %x : tensor<2xf32>\n"
                       " return %a : tensor<2xf32>\n"
                       "}\n";
    bool failed = true;
    for (int64_t i = 0; failed; i++) {
        assert_true(i < 2000);
        ir_module *m = parse(text);
        pass_ctx c = {.verify = true};
        base_fail_alloc_after(i);
        xt_status s = pass_optimize(&c, m);
        base_fail_alloc_after(-1);
        failed = s;
        xt_status_free(s);
        ir_module_free(m);
    }
}

#define LOOP_HEAD "func.func public @main(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
#define LOOP_TAIL "}\n"
static void loops_read_what_they_do_not_change(void **state) {
    (void)state;
    check("opt_loops", false,
          LOOP_HEAD "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                    "%r:3 = stablehlo.while(%k = %w, %i = %z, %v = %x) : tensor<4xf32>, tensor<i32>, tensor<4xf32>\n"
                    "cond {\n"
                    "%n = stablehlo.constant dense<7> : tensor<i32>\n"
                    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                    "stablehlo.return %c : tensor<i1>\n"
                    "} do {\n"
                    "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                    "%j = stablehlo.add %i, %o : tensor<i32>\n"
                    "%u = stablehlo.multiply %v, %k : tensor<4xf32>\n"
                    "stablehlo.return %k, %j, %u : tensor<4xf32>, tensor<i32>, tensor<4xf32>\n"
                    "}\n"
                    "return %r#0, %r#2 : tensor<4xf32>, tensor<4xf32>\n" LOOP_TAIL,
          LOOP_HEAD "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                    "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<4xf32>\n"
                    "cond {\n"
                    "%n = stablehlo.constant dense<7> : tensor<i32>\n"
                    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                    "stablehlo.return %c : tensor<i1>\n"
                    "} do {\n"
                    "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                    "%j = stablehlo.add %i, %o : tensor<i32>\n"
                    "%u = stablehlo.multiply %v, %w : tensor<4xf32>\n"
                    "stablehlo.return %j, %u : tensor<i32>, tensor<4xf32>\n"
                    "}\n"
                    "return %w, %r#1 : tensor<4xf32>, tensor<4xf32>\n" LOOP_TAIL);
}

/* A loop over x, which reads w and k from outside: `inside` makes %u of them and of the state %v. */
#define HOIST_FRONT(before)                                                                        \
    "func.func public @main(%x: tensor<80x80xf32>, %w: tensor<80x80xf32>, %k: tensor<80xf32>) -> " \
    "tensor<80x80xf32> {\n"                                                                        \
    "%z = stablehlo.constant dense<0> : tensor<i32>\n" before                                      \
    "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<80x80xf32>\n"                  \
    "cond {\n"                                                                                     \
    "%n = stablehlo.constant dense<7> : tensor<i32>\n"                                             \
    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"               \
    "stablehlo.return %c : tensor<i1>\n"                                                           \
    "} do {\n"                                                                                     \
    "%o = stablehlo.constant dense<1> : tensor<i32>\n"                                             \
    "%j = stablehlo.add %i, %o : tensor<i32>\n"
#define HOIST_END                                                \
    "stablehlo.return %j, %u : tensor<i32>, tensor<80x80xf32>\n" \
    "}\n"                                                        \
    "return %r#1 : tensor<80x80xf32>\n}\n"
#define HOIST(before, inside) HOIST_FRONT(before) inside HOIST_END
#define BIG "tensor<80x80xf32>"
#define TIMES(of) \
    "%u = stablehlo.dot_general %v, " of ", contracting_dims = [1] x [0] : (" BIG ", " BIG ") -> " BIG "\n"
static void loops_begin_with_what_does_not_change(void **state) {
    (void)state;
#define SCALED                                       \
    "%h = stablehlo.constant dense<0.5> : " BIG "\n" \
    "%t = stablehlo.transpose %w, dims = [1, 0] : (" BIG ") -> " BIG "\n%m = stablehlo.multiply %h, %t : " BIG "\n"
    check("opt_hoist opt_dce", false, HOIST("", SCALED TIMES("%m")), HOIST(SCALED, TIMES("%m")));
    /* A chain, whose end alone is read inside, with a region of its own. */
#define SUMS                                                                                                        \
    "%f = stablehlo.constant dense<0.0> : tensor<f32>\n%q = stablehlo.multiply %w, %w : " BIG "\n"                  \
    "%s = stablehlo.reduce(%q init: %f) applies stablehlo.add across dimensions = [1] : (" BIG ", tensor<f32>) -> " \
    "tensor<80xf32>\n%e = stablehlo.sqrt %s : tensor<80xf32>\n"
#define ADDED                                                                        \
    "%b = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<80xf32>) -> " BIG "\n" \
    "%u = stablehlo.add %v, %b : " BIG "\n"
    check("opt_hoist opt_dce", false, HOIST("", SUMS ADDED), HOIST(SUMS, ADDED));
}

static void loops_keep_what_costs_less_inside(void **state) {
    (void)state;
    static const char *const rows[] = {
        /* what depends on the state */
        "%m = stablehlo.multiply %v, %w : " BIG "\n" TIMES("%m"),
        /* a name of an array */
        "%m = stablehlo.transpose %w, dims = [1, 0] : (" BIG ") -> " BIG "\n" TIMES("%m"),
        /* larger than what it is made of */
        "%a = stablehlo.broadcast_in_dim %k, dims = [0] : (tensor<80xf32>) -> " BIG "\n"
        "%b = stablehlo.broadcast_in_dim %k, dims = [1] : (tensor<80xf32>) -> " BIG "\n"
        "%m = stablehlo.multiply %a, %b : " BIG "\n" TIMES("%m"),
        /* an instruction more in a loop over elements */
        "%m = stablehlo.add %w, %w : " BIG "\n%u = stablehlo.multiply %v, %m : " BIG "\n",
        /* behind a barrier */
        "%a = stablehlo.optimization_barrier %w : " BIG "\n%m = stablehlo.multiply %a, %a : " BIG "\n" TIMES("%m"),
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s", HOIST_FRONT(""), rows[i], HOIST_END);
        check("opt_hoist opt_dce", false, text, text);
    }
}

static void branches_make_their_own_constants(void **state) {
    (void)state;
#define BRANCH_HEAD "func.func public @main(%x: tensor<2x2xf32>, %p: tensor<i1>) -> tensor<2x2xf32> {\n"
#define MASK                                          \
    "%i = stablehlo.iota dim = 0 : tensor<2x2xi32>\n" \
    "%j = stablehlo.iota dim = 1 : tensor<2x2xi32>\n" \
    "%m = stablehlo.compare GE, %i, %j : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>\n"
#define BRANCHES(mask)                                                                                           \
    "%r = \"stablehlo.if\"(%p) ({\n" mask "%s = stablehlo.select %m, %x, %y : tensor<2x2xi1>, tensor<2x2xf32>\n" \
    "stablehlo.return %s : tensor<2x2xf32>\n"                                                                    \
    "}, {\n"                                                                                                     \
    "stablehlo.return %x : tensor<2x2xf32>\n"                                                                    \
    "}) : (tensor<i1>) -> tensor<2x2xf32>\n"                                                                     \
    "return %r : tensor<2x2xf32>\n"                                                                              \
    "}\n"
    check("opt_sink opt_dce", false, BRANCH_HEAD "%y = stablehlo.negate %x : tensor<2x2xf32>\n" MASK BRANCHES(""),
          BRANCH_HEAD "%y = stablehlo.negate %x : tensor<2x2xf32>\n" BRANCHES(MASK));
}

/* XT_DUMP gets the text before the first pass and after each that changed something. */
static void stages_are_dumped(void **state) {
    (void)state;
    char folder[] = "/tmp/xt_dump_XXXXXX", file[128];
    assert_non_null(mkdtemp(folder));
    setenv("XT_DUMP", folder, 1);
    ir_module *m = parse("module @net {\n"
                         "func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
                         " %a = stablehlo.negate %x : tensor<f32>\n"
                         " %b = stablehlo.negate %a : tensor<f32>\n return %b : tensor<f32>\n}\n}\n");
    pass_ctx c = PASS_CTX_INIT;
    assert_null(pass_optimize(&c, m));
    unsetenv("XT_DUMP");
    /* Numbered by their place in passes.def, wherever that is. */
    const struct {
        const char *stage;
        bool negates;
    } want[] = {{"input", true}, {"opt_simplify", true}, {"opt_dce", false}};
    char before[sizeof file] = "";
    for (size_t i = 0; i < BASE_COUNT(want); i++) {
        char *text;
        size_t n;
        glob_t found;
        snprintf(file, sizeof file, "%s/net.%04d.[0-9][0-9].%s.mlir", folder, c.program, want[i].stage);
        if (glob(file, 0, NULL, &found) != 0) fail_msg("no %s", file);
        assert_int_equal(found.gl_pathc, 1);
        assert_null(file_read_all(found.gl_pathv[0], &text, &n));
        assert_int_equal(strstr(text, "negate") != NULL, want[i].negates);
        assert_true(strcmp(before, found.gl_pathv[0]) < 0);
        snprintf(before, sizeof before, "%s", found.gl_pathv[0]);
        base_free(text);
        unlink(before);
        globfree(&found);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing else was written */
    ir_module_free(m);
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dce_removes_what_nobody_reads),
        cmocka_unit_test(dce_keeps_effects),
        cmocka_unit_test(dce_drops_functions_nobody_reaches),
        cmocka_unit_test(cse_merges_equal_ops),
        cmocka_unit_test(cse_compares_regions_and_attributes),
        cmocka_unit_test(cse_respects_scopes_and_barriers),
        cmocka_unit_test(simplify_applies_patterns),
        cmocka_unit_test(simplify_sees_through_broadcast_constants),
        cmocka_unit_test(inexact_rules_wait_for_leave),
        cmocka_unit_test(masks_are_selections_for_guests),
        cmocka_unit_test(simplify_shapes),
        cmocka_unit_test(simplify_keeps_conversions_that_round),
        cmocka_unit_test(simplify_joins_broadcasts_and_transposes),
        cmocka_unit_test(folds_of_one_element),
        cmocka_unit_test(constants_of_one_element_are_common),
        cmocka_unit_test(layout_lets_transposes_meet),
        cmocka_unit_test(products_make_their_transposes),
        cmocka_unit_test(layout_adds_a_scatter_into_its_addend),
        cmocka_unit_test(onehot_sums_become_gathers),
        cmocka_unit_test(gathers_look_through_expressions),
        cmocka_unit_test(scattered_numbers_become_choices),
        cmocka_unit_test(pads_become_concatenations),
        cmocka_unit_test(derived_values_do_not_wait_for_the_backward_pass),
        cmocka_unit_test(calls_are_inlined_innermost_first),
        cmocka_unit_test(calls_in_regions_are_inlined),
        cmocka_unit_test(begun_collectives_stand_by_themselves),
        cmocka_unit_test(inlining_has_a_budget),
        cmocka_unit_test(loops_read_what_they_do_not_change),
        cmocka_unit_test(loops_begin_with_what_does_not_change),
        cmocka_unit_test(loops_keep_what_costs_less_inside),
        cmocka_unit_test(branches_make_their_own_constants),
        cmocka_unit_test(stages_are_dumped),
        cmocka_unit_test(optimize_fails_cleanly_at_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
