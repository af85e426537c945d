/* LAPACK's eigenvalue routines and tridiagonal solvers as JAX calls them: programs whose results have to be zero,
 * because they put the parts together again and take what they started from away. */
#include "cpu_check.h"
#include "cpu/vector/blas.h"

#define MUL(to, a, b, t)                                                                                            \
    "%" to " = stablehlo.dot_general %" a ", %" b ", batching_dims = [0] x [0], contracting_dims = [2] x [1] : (" t \
    ", " t ") -> " t "\n"
#define MUL_T(to, a, b, t)                                                                                          \
    "%" to " = stablehlo.dot_general %" a ", %" b ", batching_dims = [0] x [0], contracting_dims = [2] x [2] : (" t \
    ", " t ") -> " t "\n"
#define MINUS(to, a, b, t) "%" to " = stablehlo.subtract %" a ", %" b " : " t "\n"
#define CALL(outs, name, opts) \
    "%r:" outs " = stablehlo.custom_call @lapack_" name "_ffi(%x) {mhlo.backend_config = {" opts "}} : "
#define S "tensor<2x5x5xf32>"
#define D "tensor<2x5x5xf64>"
#define C "tensor<2x5x5xcomplex<f32>>"

static const struct {
    const char *name, *text;
    bool own; /* needs no library */
} rows[] = {
    {"gees: q t q' = x",
     "func.func @main(%x: " D ") -> " D " {\n" CALL(
         "6", "dgees",
         "mode = 86 : ui8, sort = 78 : ui8") "(" D ") -> (" D ", " D
                                             ", tensor<2x5xf64>, tensor<2x5xf64>, tensor<2xi32>, tensor<2xi32>)\n" MUL(
                                                 "a", "r#1", "r#0", D) MUL_T("b", "a", "r#1", D)
                                                 MINUS("z", "b", "x", D) "return %z : " D "\n}\n",
     false},
    {"geev: x v = v w",
     "func.func @main(%x: " S ") -> " C
     " {\n" CALL("5", "sgeev",
                 "compute_left = 78 : ui8, compute_right = 86 : ui8") "(" S ") -> (tensor<2x5xf32>, tensor<2x5xf32>, " C
                                                                      ", " C ", tensor<2xi32>)\n"
                                                                      "%w = stablehlo.complex %r#0, %r#1 : "
                                                                      "tensor<2x5xcomplex<f32>>\n"
                                                                      "%ww = stablehlo.broadcast_in_dim %w, dims = [0, "
                                                                      "2] : (tensor<2x5xcomplex<f32>>) -> " C "\n"
                                                                      "%vw = stablehlo.multiply %r#3, %ww : " C
                                                                      "\n%im = stablehlo.constant dense<0.0> : " S
                                                                      "\n%xc = stablehlo.complex %x, %im : " C
                                                                      "\n" MUL("xv", "xc", "r#3", C) MINUS(
                                                                          "z", "xv", "vw", C) "return %z : " C "\n}\n",
     false},
    {"geev, complex, from the left: u' x = w u'",
     "func.func @main(%x: " C ") -> " C " {\n" CALL(
         "4", "cgeev",
         "compute_left = 86 : ui8, compute_right = 78 : ui8") "(" C ") -> (tensor<2x5xcomplex<f32>>, " C ", " C
                                                              ", tensor<2xi32>)\n"
                                                              "%re = stablehlo.real %r#1 : (" C ") -> " S
                                                              "\n%im = stablehlo.imag %r#1 : (" C ") -> " S
                                                              "\n%ni = stablehlo.negate %im : " S
                                                              "\n%cc = stablehlo.complex %re, %ni : " C "\n"
                                                              "%u = stablehlo.transpose %cc, dims = [0, 2, 1] : (" C
                                                              ") -> " C "\n"
                                                              "%ww = stablehlo.broadcast_in_dim %r#0, dims = [0, 1] : "
                                                              "(tensor<2x5xcomplex<f32>>) -> " C "\n"
                                                              "%wu = stablehlo.multiply %u, %ww : " C
                                                              "\n" MUL("ux", "u", "x", C)
                                                                  MINUS("z", "ux", "wu", C) "return %z : " C "\n}\n",
     false},
    {"gehrd, orgqr-free: the trace stays",
     "func.func @main(%x: " D ") -> tensor<2xf64> {\n" CALL(
         "3", "dgehrd",
         "high = 5 : i32, low = 1 : i32") "(" D ") -> (" D ", tensor<2x4xf64>, tensor<2xi32>)\n"
                                          "%i = stablehlo.iota dim = 1 : tensor<2x5x5xi32>\n"
                                          "%j = stablehlo.iota dim = 2 : tensor<2x5x5xi32>\n"
                                          "%d = stablehlo.compare EQ, %i, %j : (tensor<2x5x5xi32>, tensor<2x5x5xi32>) "
                                          "-> tensor<2x5x5xi1>\n" MINUS(
                                              "y", "r#0", "x",
                                              D) "%o = stablehlo.constant dense<0.0> : " D
                                                 "\n%k = stablehlo.select %d, %y, %o : tensor<2x5x5xi1>, " D
                                                 "\n%n = stablehlo.constant dense<0.0> : tensor<f64>\n"
                                                 "%z = stablehlo.reduce(%k init: %n) applies stablehlo.add across "
                                                 "dimensions = [1, 2] : (" D ", tensor<f64>) -> tensor<2xf64>\n"
                                                 "return %z : tensor<2xf64>\n"
                                                 "}\n",
     false},
    {"sytrd of a symmetric matrix: the diagonal's sum",
     "func.func @main(%y: " S ") -> tensor<2xf32> {\n"
     "%t = stablehlo.transpose %y, dims = [0, 2, 1] : (" S ") -> " S "\n%x = stablehlo.add %y, %t : " S "\n" CALL(
         "5", "ssytrd",
         "uplo = 76 : ui8") "(" S ") -> (" S ", tensor<2x5xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xi32>)\n"
                            "%i = stablehlo.iota dim = 1 : tensor<2x5x5xi32>\n"
                            "%j = stablehlo.iota dim = 2 : tensor<2x5x5xi32>\n"
                            "%d = stablehlo.compare EQ, %i, %j : (tensor<2x5x5xi32>, tensor<2x5x5xi32>) -> "
                            "tensor<2x5x5xi1>\n"
                            "%o = stablehlo.constant dense<0.0> : " S
                            "\n%k = stablehlo.select %d, %x, %o : tensor<2x5x5xi1>, " S
                            "\n%n = stablehlo.constant dense<0.0> : tensor<f32>\n"
                            "%p = stablehlo.reduce(%k init: %n) applies stablehlo.add across dimensions = [1, 2] : (" S
                            ", tensor<f32>) -> tensor<2xf32>\n"
                            "%q = stablehlo.reduce(%r#1 init: %n) applies stablehlo.add across dimensions = [1] : "
                            "(tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>\n" MINUS(
                                "z", "p", "q", "tensor<2xf32>") "return %z : tensor<2xf32>\n}\n",
     false},
    {"gesvd, thin: u s v' = x",
     "func.func @main(%x: tensor<2x7x5xf64>) -> tensor<2x7x5xf64> {\n" CALL(
         "5", "dgesvd",
         "mode = 83 : ui8") "(tensor<2x7x5xf64>) -> (tensor<2x7x5xf64>, tensor<2x5xf64>, tensor<2x7x5xf64>, " D
                            ", tensor<2xi32>)\n"
                            "%s = stablehlo.broadcast_in_dim %r#1, dims = [0, 2] : (tensor<2x5xf64>) -> "
                            "tensor<2x7x5xf64>\n"
                            "%us = stablehlo.multiply %r#2, %s : tensor<2x7x5xf64>\n"
                            "%y = stablehlo.dot_general %us, %r#3, batching_dims = [0] x [0], contracting_dims = [2] x "
                            "[1] : (tensor<2x7x5xf64>, " D ") -> tensor<2x7x5xf64>\n" MINUS(
                                "z", "y", "x", "tensor<2x7x5xf64>") "return %z : tensor<2x7x5xf64>\n}\n",
     false},
    {"gtsv: a x = b",
     "func.func @main(%l: tensor<2x6xf32>, %m: tensor<2x6xf32>, %u: tensor<2x6xf32>, %b: tensor<2x6x3xf32>) -> "
     "tensor<2x6x3xf32> {\n"
     "%r:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%l, %m, %u, %b) {mhlo.backend_config = {}} : (tensor<2x6xf32>, "
     "tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6x3xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, "
     "tensor<2x6xf32>, tensor<2x6x3xf32>, tensor<2xi32>)\n%o = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "%dn = stablehlo.pad %r#3, %o, low = [0, 1, 0], high = [0, -1, 0], interior = [0, 0, 0] : (tensor<2x6x3xf32>, "
     "tensor<f32>) -> tensor<2x6x3xf32>\n"
     "%up = stablehlo.pad %r#3, %o, low = [0, -1, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<2x6x3xf32>, "
     "tensor<f32>) -> tensor<2x6x3xf32>\n"
     "%lw = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x3xf32>\n"
     "%mw = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x3xf32>\n"
     "%uw = stablehlo.broadcast_in_dim %u, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x3xf32>\n"
     "%p = stablehlo.multiply %lw, %dn : tensor<2x6x3xf32>\n"
     "%q = stablehlo.multiply %mw, %r#3 : tensor<2x6x3xf32>\n"
     "%s = stablehlo.multiply %uw, %up : tensor<2x6x3xf32>\n"
     "%v = stablehlo.add %p, %q : tensor<2x6x3xf32>\n"
     "%w = stablehlo.add %v, %s : tensor<2x6x3xf32>\n" MINUS("z", "w", "b",
                                                             "tensor<2x6x3xf32>") "return %z : tensor<2x6x3xf32>\n}\n",
     true},
};

static void parts_make_the_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (!rows[i].own && !blas_get()) continue;
        cpu_exec *e = NULL;
        cpu_device *d = NULL;
        array in[4] = {0}, out[1] = {0};
        int from[1];
        heap h = {0};
        cpu_alloc a = {&h, heap_alloc, heap_free};
        expect_ok(cpu_compile(rows[i].text, strlen(rows[i].text), &(cpu_compile_opts){.threads = 2}, &e), rows[i].name);
        expect_ok(cpu_device_new(2, NULL, &d), rows[i].name);
        for (size_t k = 0; k < cpu_exec_inputs(e); k++) {
            expect_ok(array_new(cpu_exec_input_type(e, k), &in[k]), rows[i].name);
            fill_random(&in[k], 7 + k);
        }
        expect_ok(cpu_run(e, d, &a, in, NULL, out, from), rows[i].name);
        for (int64_t k = 0; k < out[0].type->count; k++)
            if (!(fabs(array_get(&out[0], k)) < 2e-4))
                fail_msg("%s: element %d is %g away", rows[i].name, (int)k, array_get(&out[0], k));
        heap_free(&h, out[0].data, ir_type_bytes(out[0].type));
        for (size_t k = 0; k < cpu_exec_inputs(e); k++) array_free(&in[k]);
        cpu_device_free(d);
        cpu_exec_free(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_make_the_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
