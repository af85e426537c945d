/* Passes that clean up and those around functions: dead code, common expressions, simplification, calls. */
#include "pass_test.h"

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

/* What is cut out of one operand of a concatenation is cut out of that operand, and one that only another along the
 * same dim reads is a part of that. */
static void simplify_looks_into_concatenations(void **state) {
    (void)state;
    check_body("opt_simplify opt_dce", false,
               F " {\n %a = stablehlo.concatenate %y, %x, %y, dim = 0 : (" F ", " F ", " F ") -> tensor<6x3xf32>\n"
                 " %r = stablehlo.slice %a [2:4, 0:3] : (tensor<6x3xf32>) -> " F "\n return %r : " F,
               RETURN_X);
    check_body("opt_simplify opt_dce", false,
               "tensor<1x2xf32> {\n %a = stablehlo.concatenate %y, %x, dim = 0 : (" F ", " F ") -> tensor<4x3xf32>\n"
               " %r = stablehlo.slice %a [2:4:2, 0:3:2] : (tensor<4x3xf32>) -> tensor<1x2xf32>\n"
               " return %r : tensor<1x2xf32>",
               "tensor<1x2xf32> {\n %r = stablehlo.slice %x [0:1:2, 0:3:2] : (" F ") -> tensor<1x2xf32>\n"
               " return %r : tensor<1x2xf32>");
    check_body("opt_simplify opt_dce", false,
               "tensor<6x3xf32> {\n %a = stablehlo.concatenate %y, %x, dim = 0 : (" F ", " F ") -> tensor<4x3xf32>\n"
               " %r = stablehlo.concatenate %a, %x, dim = 0 : (tensor<4x3xf32>, " F ") -> tensor<6x3xf32>\n"
               " return %r : tensor<6x3xf32>",
               "tensor<6x3xf32> {\n %r = stablehlo.concatenate %y, %x, %x, dim = 0 : (" F ", " F ", " F
               ") -> tensor<6x3xf32>\n return %r : tensor<6x3xf32>");
    const char *across = /* of both operands, along another dim, read twice */
        "tensor<6x6xf32> {\n %a = stablehlo.concatenate %y, %x, dim = 0 : (" F ", " F ") -> tensor<4x3xf32>\n"
        " %b = stablehlo.slice %a [1:3, 0:3] : (tensor<4x3xf32>) -> " F "\n"
        " %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4x3xf32>, " F ") -> tensor<6x3xf32>\n"
        " %d = stablehlo.concatenate %c, %c, dim = 1 : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x6xf32>\n"
        " return %d : tensor<6x6xf32>";
    check_body("opt_simplify opt_dce", false, across, across);
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
        cmocka_unit_test(simplify_looks_into_concatenations),
        cmocka_unit_test(simplify_keeps_conversions_that_round),
        cmocka_unit_test(simplify_joins_broadcasts_and_transposes),
        cmocka_unit_test(folds_of_one_element),
        cmocka_unit_test(constants_of_one_element_are_common),
        cmocka_unit_test(calls_are_inlined_innermost_first),
        cmocka_unit_test(calls_in_regions_are_inlined),
        cmocka_unit_test(begun_collectives_stand_by_themselves),
        cmocka_unit_test(inlining_has_a_budget),
        cmocka_unit_test(stages_are_dumped),
        cmocka_unit_test(optimize_fails_cleanly_at_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
