/* JAX's linear algebra calls on the interpreter: factors multiply back to what was factored, and LAPACK's conventions
 * hold. The programs put the factors together with StableHLO's own ops, so nothing here repeats the routines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

#include <xtrain/program.h>

#define M "tensor<3x3xf64>"
#define V "tensor<3xf64>"
#define DOT(name, a, b, d) \
    "%" name " = stablehlo.dot_general %" a ", %" b ", contracting_dims = [" d "] x [0] : (" M ", " M ") -> " M "\n"
#define TRIANGLE(name, from, dir)                                                                                    \
    "%" name "i = stablehlo.iota dim = 0 : tensor<3x3xi32>\n%" name                                                  \
    "j = stablehlo.iota dim = 1 : tensor<3x3xi32>\n%" name "m = stablehlo.compare " dir ", %" name "i, %" name       \
    "j : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>\n"                                                     \
    "%" name "z = stablehlo.constant dense<0.0> : " M "\n%" name " = stablehlo.select %" name "m, %" from ", %" name \
    "z : tensor<3x3xi1>, " M "\n"

/* Over %a, symmetric and positive, and %b, general; %y is compared with the matrix named. */
static const struct row {
    const char *name, *body;
    char like; /* 'a', 'b', 'i': the identity */
} rows[] = {
    {"cholesky, lower",
     "%l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (" M ") -> (" M
     ", tensor<i32>)\n" TRIANGLE(
         "t", "l#0", "GE") "%y = stablehlo.dot_general %t, %t, contracting_dims = [1] x [1] : (" M ", " M ") -> " M,
     'a'},
    {"cholesky, upper",
     "%l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo = 85 : ui8}} : (" M ") -> (" M
     ", tensor<i32>)\n" TRIANGLE(
         "t", "l#0", "LE") "%y = stablehlo.dot_general %t, %t, contracting_dims = [0] x [0] : (" M ", " M ") -> " M,
     'a'},
    {"solving on the left",
     "%x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, "
     "trans_x = 84 : ui8, uplo = 76 : "
     "ui8}} : (" M ", " M ") -> " M "\n" TRIANGLE("t", "a", "GE") DOT("y", "t", "x", "0"),
     'b'},
    {"solving on the right",
     "%x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, "
     "trans_x = 78 : ui8, uplo = 85 : "
     "ui8}} : (" M ", " M ") -> " M "\n" TRIANGLE("t", "a", "LE") DOT("y", "x", "t", "1"),
     'b'},
    {"q r",
     "%f:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%b) {mhlo.backend_config = {}} : (" M ") -> (" M ", " V
     ")\n%q = stablehlo.custom_call "
     "@lapack_dorgqr_ffi(%f#0, %f#1) {mhlo.backend_config = {}} : (" M ", " V ") -> " M "\n" TRIANGLE("t", "f#0", "LE")
         DOT("y", "q", "t", "1"),
     'b'},
    {"q is orthogonal",
     "%f:2 = stablehlo.custom_call @Qr(%b) : (" M ") -> (" M ", " V ")\n"
     "%q = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%f#0, "
     "%f#1) : (" M ", " V ") -> " M "\n" DOT("y", "q", "q", "0"),
     'i'},
    {"u s v^H",
     "%f:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%b) {mhlo.backend_config = {mode = 65 : ui8}} : (" M ") -> (" M
     ", " V ", " M ", " M ", tensor<i32>)\n"
     "%s = stablehlo.broadcast_in_dim %f#1, dims = [1] : (" V ") -> " M "\n%u = stablehlo.multiply %f#2, %s : " M
     "\n%v = stablehlo.negate %f#3 : " M "\n%w = stablehlo.negate %v : " M "\n" DOT("y", "u", "w", "1"),
     'b'},
    {"v diag(w) v^H",
     "%f:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : "
     "(" M ") -> (" M ", " V ", tensor<i32>)\n"
     "%s = stablehlo.broadcast_in_dim %f#1, dims = [1] : (" V ") -> " M "\n%u = stablehlo.multiply %f#0, %s : " M
     "\n%y = stablehlo.dot_general %u, %f#0, contracting_dims = [1] x [1] : (" M ", " M ") -> " M,
     'a'},
    {"p^T l u",
     "%f:3 = stablehlo.custom_call @LuDecomposition(%b) : (" M ") -> (" M
     ", tensor<3xi32>, tensor<3xi32>)\n" TRIANGLE("t", "f#0", "GT") TRIANGLE(
         "u", "f#0",
         "LE") "%d = stablehlo.compare EQ, %ti, %tj : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>\n"
               "%e = stablehlo.convert %d : (tensor<3x3xi1>) -> " M "\n%l = stablehlo.add %t, %e : " M "\n" DOT(
                   "lu", "l", "u",
                   "1") "%r = stablehlo.broadcast_in_dim %f#2, dims = [0] : (tensor<3xi32>) -> tensor<3x3xi32>\n"
                        "%g = stablehlo.compare EQ, %r, %tj : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>\n"
                        "%p = "
                        "stablehlo.convert %g : (tensor<3x3xi1>) -> " M "\n" DOT("y", "p", "lu", "0"),
     'b'},
};

static void factors_multiply_back(void **state) {
    (void)state;
    double a[] = {4, 1, -1, 1, 5, 2, -1, 2, 6}, b[] = {1, -2, 3, 8, 5, -1, 2, 7, 0.5},
           unit[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str text = STR_INIT;
        xt_array in[] = {{.dtype = XT_F64, .rank = 2, .dims = {3, 3}, .data = a, .bytes = sizeof a},
                         {.dtype = XT_F64, .rank = 2, .dims = {3, 3}, .data = b, .bytes = sizeof b}};
        xt_array out = {0};
        xt_program *p = NULL;
        str_printf(&text, "func.func @main(%%a: " M ", %%b: " M ") -> " M " {\n%s\nreturn %%y : " M "\n}\n",
                   rows[i].body);
        xt_status s = xt_program_parse(str_cstr(&text), text.len, rows[i].name, &p);
        if (!s) s = xt_program_run(p, "interpreter", in, 2, &out, 1);
        if (s) fail_msg("%s: %s", rows[i].name, xt_status_message(s));
        const double *want = rows[i].like == 'a' ? a : rows[i].like == 'b' ? b : unit, *got = out.data;
        for (int k = 0; k < 9; k++)
            if (!(fabs(got[k] - want[k]) < 1e-12))
                fail_msg("%s: element %d is %.17g, expected %.17g", rows[i].name, k, got[k], want[k]);
        xt_array_free(&out);
        xt_program_free(p);
        str_free(&text);
    }
}

static void bad_input_is_told(void **state) {
    (void)state;
    double a[] = {1, 2, 0, 2, 1, 0, 0, 0, 1};
    static const char text[] = "func.func @main(%a: " M ") -> tensor<i32> {\n"
                               "%l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo "
                               "= 76 : ui8}} : (" M ") -> (" M ", tensor<i32>)\nreturn %l#1 : tensor<i32>\n}\n";
    static const char shapes[] = "func.func @main(%a: " M ") -> tensor<i32> {\n"
                                 "%l:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) : (" M
                                 ") -> (tensor<9xf64>, tensor<i32>)\nreturn %l#1 : tensor<i32>\n}\n";
    xt_array in = {.dtype = XT_F64, .rank = 2, .dims = {3, 3}, .data = a, .bytes = sizeof a}, out = {0};
    xt_program *p;
    assert_null(xt_program_parse(text, sizeof text - 1, "info", &p));
    assert_null(xt_program_run(p, "interpreter", &in, 1, &out, 1));
    assert_int_equal(*(int32_t *)out.data, 2); /* the second minor is negative */
    xt_array_free(&out);
    xt_program_free(p);
    assert_null(xt_program_parse(shapes, sizeof shapes - 1, "shapes", &p));
    xt_status s = xt_program_run(p, "interpreter", &in, 1, &out, 1);
    assert_non_null(s);
    xt_status_free(s);
    xt_program_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_multiply_back), cmocka_unit_test(bad_input_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
