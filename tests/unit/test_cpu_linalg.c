/* Products that oneDNN does not make, factorisations, Fourier transforms: one generated row per element
 * type and shape. */
#include "cpu_check.h"

/* --- products and factorisations --- */
static void products_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f64", "complex<f32>", "complex<f64>", "f16",     "i32",
                                        "i8",  "ui64",         "i64",          "f8E4M3FN"};
    static const struct {
        const char *lhs, *rhs, *out, *dims;
    } rows[] = {
        {"5x7", "7x6", "5x6", "contracting_dims = [1] x [0]"},
        {"7x5", "6x7", "5x6", "contracting_dims = [0] x [1]"},
        {"40x70", "70x33", "40x33", "contracting_dims = [1] x [0]"},
        {"13x1500", "1500x19", "13x19", "contracting_dims = [1] x [0]"},
        {"2x3x5x7", "2x3x7x4", "2x3x5x4", "batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]"},
        {"5x3x7", "4x7x3", "3x5x4", "batching_dims = [1] x [2], contracting_dims = [2] x [1]"},
        {"3x4x5", "5x3x4", "5x5", "contracting_dims = [0, 1] x [1, 2]"},
        {"7", "7", "", "contracting_dims = [0] x [0]"},
        {"3", "4", "3x4", "contracting_dims = [] x []"},
        {"3x0", "0x4", "3x4", "contracting_dims = [1] x [0]"},
    };
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t r = 0; r < BASE_COUNT(rows); r++) {
            char text[1024], name[128];
            const char *out = !strcmp(types[t], "f8E4M3FN") ? "f32" : types[t];
            snprintf(name, sizeof name, "product of %s: %s, %s", types[t], rows[r].lhs, rows[r].rhs);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%sx%s>, %%y: tensor<%sx%s>) -> tensor<%s%s%s> {\n"
                     "%%r = stablehlo.dot_general %%x, %%y, %s : (tensor<%sx%s>, "
                     "tensor<%sx%s>) -> tensor<%s%s%s>\nreturn %%r : tensor<%s%s%s>\n}\n",
                     rows[r].lhs, types[t], rows[r].rhs, types[t], rows[r].out, *rows[r].out ? "x" : "", out,
                     rows[r].dims, rows[r].lhs, types[t], rows[r].rhs, types[t], rows[r].out, *rows[r].out ? "x" : "",
                     out, rows[r].out, *rows[r].out ? "x" : "", out);
            check(name, text, !strcmp(types[t], "f16") ? 4e-3 : strchr("fc", *types[t]) ? 2e-5 : 0);
        }
}

/* Integers wrap, whatever the width of their sums: operands either way around, with depths that are no pairs and edges
 * that are no tiles; the last are oneDNN's where it has tiles for bytes. */
static void integer_products_agree(void **state) {
    (void)state;
    static const struct { /* step and first spread the test's small numbers over the type, its ends among them */
        const char *in, *sum, *step, *first;
    } types[] = {{"i8", "i32", "85", "-128"},
                 {"i8", "i16", "85", "-128"},
                 {"i8", "i64", "85", "-128"},
                 {"ui8", "ui32", "85", "170"},
                 {"i16", "i32", "21845", "-32768"},
                 {"i16", "i16", "21845", "-32768"},
                 {"ui16", "ui32", "21845", "43690"},
                 {"i32", "i32", "1431655765", "-2147483648"},
                 {"i32", "i64", "1431655765", "-2147483648"},
                 {"ui64", "ui64", "6148914691236517205", "12297829382473034410"}};
    static const struct {
        const char *lhs, *rhs, *out, *dims;
    } rows[] = {{"1x33", "33x50", "1x50", "contracting_dims = [1] x [0]"},
                {"37x65", "65x70", "37x70", "contracting_dims = [1] x [0]"},
                {"64x29", "70x64", "29x70", "contracting_dims = [0] x [1]"},
                {"3x12x8", "3x8x64", "3x12x64", "batching_dims = [0] x [0], contracting_dims = [2] x [1]"},
                {"200x99", "99x210", "200x210", "contracting_dims = [1] x [0]"},
                {"99x200", "210x99", "200x210", "contracting_dims = [0] x [1]"}};
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (size_t r = 0; r < BASE_COUNT(rows); r++) {
            char text[2048], name[128], side[2][512];
            const char *in = types[t].in, *sum = types[t].sum, *dims[] = {rows[r].lhs, rows[r].rhs};
            for (int i = 0; i < 2; i++)
                snprintf(side[i], sizeof side[i],
                         "%%k%d = stablehlo.constant dense<%s> : tensor<%sx%s>\n"
                         "%%b%d = stablehlo.constant dense<%s> : tensor<%sx%s>\n"
                         "%%m%d = stablehlo.multiply %%x%d, %%k%d : tensor<%sx%s>\n"
                         "%%s%d = stablehlo.add %%m%d, %%b%d : tensor<%sx%s>\n",
                         i, types[t].step, dims[i], in, i, types[t].first, dims[i], in, i, i, i, dims[i], in, i, i, i,
                         dims[i], in);
            snprintf(name, sizeof name, "%s of %s: %s, %s", sum, in, rows[r].lhs, rows[r].rhs);
            snprintf(text, sizeof text,
                     "func.func @main(%%x0: tensor<%sx%s>, %%x1: tensor<%sx%s>) -> tensor<%sx%s> {\n%s%s"
                     "%%r = stablehlo.dot_general %%s0, %%s1, %s : (tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\n"
                     "return %%r : tensor<%sx%s>\n}\n",
                     dims[0], in, dims[1], in, rows[r].out, sum, side[0], side[1], rows[r].dims, dims[0], in, dims[1],
                     in, rows[r].out, sum, rows[r].out, sum);
            check(name, text, 0);
        }
}

static bool runs_on(const char *text, const char *kernel) {
    cpu_exec *e = NULL;
    bool found = false;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 1}, &e), kernel);
    for (size_t t = 0; t < e->plan.n_thunks; t++) found = found || !strcmp(e->plan.thunks[t].kernel->name, kernel);
    cpu_exec_free(e);
    return found;
}

/* Either side the vector, the matrix's rows along the sum and across it, sums and rows of several tasks. */
static void products_with_vectors_agree(void **state) {
    (void)state;
    static const struct {
        const char *lhs, *rhs, *out, *dims;
    } rows[] = {{"1x37x", "37x50x", "1x50x", "contracting_dims = [1] x [0]"},
                {"1x300x", "70x300x", "1x70x", "contracting_dims = [1] x [1]"},
                {"33x129x", "129x1x", "33x1x", "contracting_dims = [1] x [0]"},
                {"129x33x", "129x1x", "33x1x", "contracting_dims = [0] x [0]"},
                {"9001x", "9001x", "", "contracting_dims = [0] x [0]"},
                {"300x", "300x1100x", "1100x", "contracting_dims = [0] x [0]"},
                {"5x40x", "5x40x17x", "5x17x", "batching_dims = [0] x [0], contracting_dims = [1] x [1]"},
                {"5x17x40x", "5x40x", "5x17x", "batching_dims = [0] x [0], contracting_dims = [2] x [1]"},
                {"70x100x", "70x100x", "70x", "batching_dims = [0] x [0], contracting_dims = [1] x [1]"}};
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        char text[512], name[64];
        snprintf(name, sizeof name, "%s by %s", rows[r].lhs, rows[r].rhs);
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<%sf32>, %%y: tensor<%sf32>) -> tensor<%sf32> {\n"
                 "%%r = stablehlo.dot_general %%x, %%y, %s : (tensor<%sf32>, tensor<%sf32>) -> tensor<%sf32>\n"
                 "return %%r : tensor<%sf32>\n}\n",
                 rows[r].lhs, rows[r].rhs, rows[r].out, rows[r].dims, rows[r].lhs, rows[r].rhs, rows[r].out,
                 rows[r].out);
        check(name, text, 2e-4);
        if (!runs_on(text, "matrix-vector")) fail_msg("%s is no product with a vector", name);
    }
}

/* a a^T + n, which is positive definite, its factor, and systems of it. */
static void factors_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "complex<f32>", "complex<f64>"};
    static const char *const kinds[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    for (size_t t = 0; t < BASE_COUNT(types); t++)
        for (int lower = 0; lower < 2; lower++) {
            char text[2048], name[128], matrix[64];
            snprintf(matrix, sizeof matrix, "2x9x9x%s", types[t]);
            snprintf(name, sizeof name, "cholesky of %s, lower %d", types[t], lower);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%s>) -> tensor<%s> {\n"
                     "%%c = stablehlo.constant dense<%s> : tensor<9x9x%s>\n"
                     "%%i = stablehlo.iota dim = 0 : tensor<9x9xi32>\n%%j = stablehlo.iota dim = 1 : tensor<9x9xi32>\n"
                     "%%e = stablehlo.compare EQ, %%i, %%j : (tensor<9x9xi32>, tensor<9x9xi32>) -> tensor<9x9xi1>\n"
                     "%%f = stablehlo.convert %%e : (tensor<9x9xi1>) "
                     "-> tensor<9x9x%s>\n%%g = stablehlo.multiply %%f, %%c : tensor<9x9x%s>\n"
                     "%%h = stablehlo.broadcast_in_dim %%g, dims = [1, 2] : (tensor<9x9x%s>) -> tensor<%s>\n"
                     "%%p = stablehlo.dot_general %%x, %%x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : "
                     "(tensor<%s>, tensor<%s>) -> tensor<%s>\n"
                     "%%a = stablehlo.add %%p, %%h : tensor<%s>\n"
                     "%%r = stablehlo.cholesky %%a, lower = %s : tensor<%s>\n"
                     "return %%r : tensor<%s>\n"
                     "}\n",
                     matrix, matrix, *types[t] == 'c' ? "(20.0, 0.0)" : "20.0", types[t], types[t], types[t], types[t],
                     matrix, matrix, matrix, matrix, matrix, lower ? "true" : "false", matrix, matrix);
            check(name, text, 1e-4);
            for (int left = 0; left < 2; left++)
                for (int unit = 0; unit < 2; unit++)
                    for (int k = 0; k < 3; k++) {
                        snprintf(name, sizeof name, "system of %s, lower %d, left %d, unit %d, %s", types[t], lower,
                                 left, unit, kinds[k]);
                        const char *rhs = left ? "2x6x4" : "2x4x6";
                        snprintf(text, sizeof text,
                                 "func.func @main(%%x: tensor<2x6x6x%s>, %%b: tensor<%sx%s>) -> tensor<%sx%s> {\n"
                                 "%%c = stablehlo.constant dense<%s> : tensor<2x6x6x%s>\n"
                                 "%%a = stablehlo.add %%x, %%c : tensor<2x6x6x%s>\n"
                                 "%%r = \"stablehlo.triangular_solve\"(%%a, %%b) <{left_side = %s, lower = %s, "
                                 "transpose_a = #stablehlo<transpose %s>, "
                                 "unit_diagonal = %s}> : (tensor<2x6x6x%s>, tensor<%sx%s>) -> tensor<%sx%s>\n"
                                 "return %%r : tensor<%sx%s>\n"
                                 "}\n",
                                 types[t], rhs, types[t], rhs, types[t], *types[t] == 'c' ? "(4.0, 1.0)" : "4.0",
                                 types[t], types[t], left ? "true" : "false", lower ? "true" : "false", kinds[k],
                                 unit ? "true" : "false", types[t], rhs, types[t], rhs, types[t], rhs, types[t]);
                        check(name, text, unit ? 0.05 : 2e-3); /* unit: values grow by 6 at each of 6 steps */
                    }
        }
}

/* --- Fourier transforms --- */
static void one_fft(const char *kind, const char *lead, int64_t n, const char *real, const char *more) {
    char text[1024], name[128], whole[96], half[96];
    bool f = !strcmp(kind, "FFT") || !strcmp(kind, "IFFT");
    snprintf(whole, sizeof whole, f ? "%s%lldxcomplex<%s>" : "%s%lldx%s", lead, (long long)n, real);
    snprintf(half, sizeof half, "%s%lldxcomplex<%s>", lead, (long long)(f ? n : n / 2 + 1), real);
    const char *from = !strcmp(kind, "IRFFT") ? half : whole, *to = !strcmp(kind, "IRFFT") ? whole : half;
    snprintf(name, sizeof name, "%s of %s", kind, from);
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%s>) -> tensor<%s> {\n"
             "%%r = stablehlo.fft %%x, type = %s, length = [%s%lld] : (tensor<%s>) -> tensor<%s>\n"
             "return %%r : tensor<%s>\n"
             "}\n",
             from, to, kind, more, (long long)n, from, to, to);
    /* sums of n numbers up to 2: some grow to tens, others cancel */
    check(name, text, !strcmp(real, "f32") ? 3e-4 : 1e-11);
}

static void transforms_agree(void **state) {
    (void)state;
    static const char *const kinds[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 20, 31, 64, 97, 105, 128, 338};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++)
        for (size_t k = 0; k < 4; k++)
            one_fft(kinds[k], i % 3 ? "3x" : "18x", sizes[i], (i + k) % 3 ? "f32" : "f64", "");
    for (size_t k = 0; k < 4; k++) {
        one_fft(kinds[k], "", 1009, "f32", ""); /* a large prime, one line */
        one_fft(kinds[k], "", 1200, "f32", ""); /* cut into rows and columns */
        one_fft(kinds[k], "2x", 1024, "f64", "");
        one_fft(kinds[k], "3x20x", 12, "f32", "20, "); /* two dims */
        one_fft(kinds[k], "9x20x", 38, k % 2 ? "f32" : "f64", "20, "); /* lines side by side, and past an end */
        one_fft(kinds[k], "33x", 64, k % 2 ? "f64" : "f32", ""); /* lines one behind the other, in whole blocks */
        one_fft(kinds[k], "17x", 34, "f32", ""); /* half of it is prime */
        one_fft(kinds[k], "3x5x6x", 9, "f64", "5, 6, ");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_agree), cmocka_unit_test(integer_products_agree),
                                       cmocka_unit_test(products_with_vectors_agree), cmocka_unit_test(factors_agree),
                                       cmocka_unit_test(transforms_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
