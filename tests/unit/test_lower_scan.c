/* chlo.scan as text, taken apart by pass_lower_chlo, by known numbers: along each dim, from either end, of nothing, of
 * several inputs, outputs and carries, and without inputs; and what is no scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/interp.h"
#include "pass/pass.h"

/* Parsed, printed, and parsed again: the printer's text is the same program. */
static xt_status parsed(const char *text, ir_module **out) {
    XT_TRY(ir_parse(text, strlen(text), "scan", out));
    XT_TRY(ir_verify(*out));
    str first = STR_INIT, second = STR_INIT;
    ir_module *again = NULL;
    assert_null(ir_print(*out, 0, &first));
    xt_status s = ir_parse(str_cstr(&first), strlen(str_cstr(&first)), "again", &again);
    if (s) fail_msg("%s\n%s", xt_status_message(s), str_cstr(&first));
    assert_null(ir_print(again, 0, &second));
    assert_string_equal(str_cstr(&first), str_cstr(&second));
    ir_module_free(again);
    str_free(&first);
    str_free(&second);
    return NULL;
}

static void run(const char *text, size_t n_in, const array *in, size_t n_out, array *out) {
    ir_module *m = NULL;
    xt_status s = parsed(text, &m);
    if (!s) s = pass_expand_chlo(m);
    if (!s) s = ir_verify(m);
    if (!s) s = interp_run(m, "main", NULL, n_in, in, n_out, out);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    str left = STR_INIT;
    assert_null(ir_print(m, 0, &left));
    assert_null(strstr(str_cstr(&left), "chlo."));
    str_free(&left);
    ir_module_free(m);
}

static const char running_sum[] =
    "  %%y, %%c = chlo.scan(%%x) inits(%%s) dimension = %d attributes {is_reverse = %s} {\n"
    "  ^bb0(%%a: %s, %%b: %s):\n"
    "    %%n = stablehlo.add %%a, %%b : %s\n"
    "    %%t = stablehlo.add %%n, %%n : %s\n"
    "    stablehlo.return %%t, %%n : %s, %s\n"
    "  } : (%s, %s) -> (%s, %s)\n";

/* Twice the running sum and the last sum itself, along a dim of x. */
static void sums_along(int dim, bool reverse, const char *whole, const char *part, const array *in, array *out) {
    str text = STR_INIT;
    str_printf(&text, "func.func @main(%%x: %s, %%s: %s) -> (%s, %s) {\n", whole, part, whole, part);
    str_printf(&text, running_sum, dim, reverse ? "true" : "false", part, part, part, part, part, part, whole, part,
               whole, part);
    str_printf(&text, "  return %%y, %%c : %s, %s\n}", whole, part);
    run(str_cstr(&text), 2, in, 2, out);
    str_free(&text);
}

static void scans_of_each_dim(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6}, start[] = {10, 20, 30};
    static const struct {
        int dim;
        bool reverse;
        const char *part;
        int64_t n;
        float y[6], c[3];
    } cases[] = {
        {0, false, "tensor<3xf32>", 3, {22, 44, 66, 30, 54, 78}, {15, 27, 39}},
        {0, true, "tensor<3xf32>", 3, {30, 54, 78, 28, 50, 72}, {15, 27, 39}},
        {1, false, "tensor<2xf32>", 2, {22, 26, 32, 48, 58, 70}, {16, 35}},
        {1, true, "tensor<2xf32>", 2, {32, 30, 26, 70, 62, 52}, {16, 35}},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        array in[] = {{ir_tensor(XT_F32, 2, (int64_t[]){2, 3}), (void *)x},
                      {ir_tensor(XT_F32, 1, (int64_t[]){cases[i].n}), (void *)start}},
              out[2];
        sums_along(cases[i].dim, cases[i].reverse, "tensor<2x3xf32>", cases[i].part, in, out);
        assert_memory_equal(out[0].data, cases[i].y, sizeof cases[i].y);
        assert_memory_equal(out[1].data, cases[i].c, (size_t)cases[i].n * sizeof(float));
        for (int k = 0; k < 2; k++) array_free(&out[k]);
    }
}

/* No place to scan: the carry is what it began with. */
static void a_scan_of_nothing(void **state) {
    (void)state;
    static const float start[] = {10, 20, 30};
    array in[] = {{ir_tensor(XT_F32, 2, (int64_t[]){0, 3}), (void *)start},
                  {ir_tensor(XT_F32, 1, (int64_t[]){3}), (void *)start}},
          out[2];
    sums_along(0, false, "tensor<0x3xf32>", "tensor<3xf32>", in, out);
    assert_int_equal(out[0].type->count, 0);
    assert_memory_equal(out[1].data, start, sizeof start);
    for (int k = 0; k < 2; k++) array_free(&out[k]);
}

/* Two inputs of other types and ranks, two outputs and two carries; the results stand outputs first. */
static void a_scan_of_many(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6}, sum[] = {0, 100};
    static const int32_t k[] = {2, 0, 1}, count = 7;
    static const float y[] = {2, 8, 0, 0, 3, 6}, last[] = {5, 114};
    static const int32_t seen[] = {9, 9, 10};
    array in[] = {{ir_tensor(XT_F32, 2, (int64_t[]){2, 3}), (void *)x},
                  {ir_tensor(XT_I32, 1, (int64_t[]){3}), (void *)k},
                  {ir_tensor(XT_F32, 1, (int64_t[]){2}), (void *)sum},
                  {ir_tensor(XT_I32, 0, NULL), (void *)&count}},
          out[4];
    /* y[:, i] = x[:, i] * k[i]; the sum of those; how much k there was so far */
    run("func.func @main(%x: tensor<2x3xf32>, %k: tensor<3xi32>, %s: tensor<2xf32>, %n: tensor<i32>) -> "
        "(tensor<3x2xf32>, tensor<3xi32>, tensor<2xf32>, tensor<i32>) {\n"
        "  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
        "  %y, %m, %u, %v = chlo.scan(%t, %k) inits(%s, %n) dimension = 0 {\n"
        "  ^bb0(%a: tensor<2xf32>, %b: tensor<i32>, %c: tensor<2xf32>, %d: tensor<i32>):\n"
        "    %f = stablehlo.convert %b : (tensor<i32>) -> tensor<f32>\n"
        "    %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
        "    %p = stablehlo.multiply %a, %g : tensor<2xf32>\n"
        "    %q = stablehlo.add %c, %p : tensor<2xf32>\n"
        "    %r = stablehlo.add %d, %b : tensor<i32>\n"
        "    stablehlo.return %p, %r, %q, %r : tensor<2xf32>, tensor<i32>, tensor<2xf32>, tensor<i32>\n"
        "  } : (tensor<3x2xf32>, tensor<3xi32>, tensor<2xf32>, tensor<i32>) -> "
        "(tensor<3x2xf32>, tensor<3xi32>, tensor<2xf32>, tensor<i32>)\n"
        "  return %y, %m, %u, %v : tensor<3x2xf32>, tensor<3xi32>, tensor<2xf32>, tensor<i32>\n}",
        4, in, 4, out);
    assert_memory_equal(out[0].data, y, sizeof y);
    assert_memory_equal(out[1].data, seen, sizeof seen);
    assert_memory_equal(out[2].data, last, sizeof last);
    assert_int_equal(*(int32_t *)out[3].data, 10);
    for (int i = 0; i < 4; i++) array_free(&out[i]);
}

/* Without inputs an attribute says how often. */
static void a_scan_without_inputs(void **state) {
    (void)state;
    static const float start = 3, powers[] = {3, 6, 12, 24};
    array in = {ir_scalar(XT_F32), (void *)&start}, out[2];
    run("func.func @main(%s: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {\n"
        "  %y, %c = chlo.scan() inits(%s) dimension = 0 attributes {scan_dim_size = 4 : i64} {\n"
        "  ^bb0(%a: tensor<f32>):\n"
        "    %t = stablehlo.add %a, %a : tensor<f32>\n"
        "    stablehlo.return %a, %t : tensor<f32>, tensor<f32>\n"
        "  } : (tensor<f32>) -> (tensor<4xf32>, tensor<f32>)\n"
        "  return %y, %c : tensor<4xf32>, tensor<f32>\n}",
        1, &in, 2, out);
    assert_memory_equal(out[0].data, powers, sizeof powers);
    assert_true(*(float *)out[1].data == 48);
    for (int k = 0; k < 2; k++) array_free(&out[k]);
}

/* What a scan must be, with the words that say so. */
static void scans_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *scan, *args, *types, *says;
    } cases[] = {
        {"(%x) inits(%s) dimension = 2", "%a: tensor<3xf32>, %b: tensor<3xf32>",
         "(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)", "input 0 has no dim 2"},
        {"(%x) inits(%s) dimension = -1", "%a: tensor<3xf32>, %b: tensor<3xf32>",
         "(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)",
         "dimension is -1, expected at least 0"},
        {"(%x) inits(%s) dimension = 0", "%a: tensor<2xf32>, %b: tensor<2xf32>",
         "(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)",
         "argument 0 of the computation is no place of input 0"},
        {"(%x) inits(%s) dimension = 1", "%a: tensor<2xf32>, %b: tensor<2xf32>",
         "(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)", "carry 0 changes its type"},
        {"(%x, %s) inits() dimension = 0", "%a: tensor<3xf32>, %b: tensor<3xf32>",
         "(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)", "input 1 has 3 places, expected 2"},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        str text = STR_INIT;
        const char *type = strstr(cases[i].args, "tensor<2xf32>") ? "tensor<2xf32>" : "tensor<3xf32>";
        str_printf(&text,
                   "func.func @main(%%x: tensor<2x3xf32>, %%s: tensor<3xf32>) -> tensor<3xf32> {\n"
                   "  %%y, %%c = chlo.scan%s {\n  ^bb0(%s):\n    %%n = stablehlo.add %%a, %%b : %s\n"
                   "    stablehlo.return %%n, %%n : %s, %s\n  } : %s\n  return %%s : tensor<3xf32>\n}",
                   cases[i].scan, cases[i].args, type, type, type, cases[i].types);
        ir_module *m = NULL;
        xt_status s = ir_parse(str_cstr(&text), strlen(str_cstr(&text)), "scan", &m);
        if (!s) s = ir_verify(m);
        if (!s || !strstr(xt_status_message(s), cases[i].says))
            fail_msg("row %zu, '%s' is not said: %s", i, cases[i].says, s ? xt_status_message(s) : "all is well");
        xt_status_free(s);
        ir_module_free(m);
        str_free(&text);
    }
}

/* A scan carries at most 32 values. */
static void a_scan_of_too_many(void **state) {
    (void)state;
    str names = STR_INIT, args = STR_INIT, types = STR_INIT, results = STR_INIT, text = STR_INIT;
    for (int i = 0; i < 33; i++) {
        const char *comma = i ? ", " : "";
        str_printf(&names, "%s%%s", comma);
        str_printf(&args, "%s%%a%d: tensor<f32>", comma, i);
        str_printf(&results, "%s%%a%d", comma, i);
        str_printf(&types, "%stensor<f32>", comma);
    }
    str_printf(&text,
               "func.func @main(%%s: tensor<f32>) -> tensor<f32> {\n"
               "  %%c:33 = chlo.scan() inits(%s) dimension = 0 attributes {scan_dim_size = 4 : i64} {\n  ^bb0(%s):\n"
               "    stablehlo.return %s : %s\n  } : (%s) -> (%s)\n  return %%c#32 : tensor<f32>\n}",
               str_cstr(&names), str_cstr(&args), str_cstr(&results), str_cstr(&types), str_cstr(&types),
               str_cstr(&types));
    ir_module *m = NULL;
    xt_status s = ir_parse(str_cstr(&text), strlen(str_cstr(&text)), "scan", &m);
    if (!s) s = ir_verify(m);
    if (s) fail_msg("%s", xt_status_message(s));
    s = pass_expand_chlo(m);
    assert_int_equal(xt_status_code(s), XT_UNIMPLEMENTED);
    assert_non_null(strstr(xt_status_message(s), "a scan of more than 32 operands or results"));
    xt_status_free(s);
    ir_module_free(m);
    str *all[] = {&names, &args, &types, &results, &text};
    for (size_t i = 0; i < BASE_COUNT(all); i++) str_free(all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_of_each_dim),      cmocka_unit_test(a_scan_of_nothing),
        cmocka_unit_test(a_scan_of_many),         cmocka_unit_test(a_scan_without_inputs),
        cmocka_unit_test(scans_that_are_refused), cmocka_unit_test(a_scan_of_too_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
