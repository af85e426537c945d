/* Gathers, scatters and running folds: one generated row per op, element type and shape. */
#include "cpu_check.h"

/* Sums of few elements, or integers. */
static double tolerance(const char *t) {
    return !strcmp(t, "bf16")  ? 2e-2
           : !strcmp(t, "f16") ? 2e-3
           : !strcmp(t, "f32") ? 1e-5
           : !strcmp(t, "f64") ? 1e-13
                               : 0;
}

static const char *const numbers[] = {"f32", "f64", "bf16", "f16",  "i8",   "i16",
                                      "i32", "i64", "ui8",  "ui16", "ui32", "ui64"};

/* --- scatter and gather --- */
typedef struct index_row {
    const char *what, *operand, *indices, *update, *numbers;
} index_row;
static const index_row scatters[] = {
    {"elements of a vector", "5", "400x1", "400",
     "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
    {"elements, index vectors without a dim", "5", "70x300", "70x300",
     "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2"},
    {"rows", "4x70", "300x1", "300x70",
     "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
    {"short rows, threads divide them by where they go", "4x16", "1100x1", "1100x16",
     "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
    {"short rows at two indices", "4x3x16", "1100x2", "1100x16",
     "update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], "
     "index_vector_dim = 1"},
    {"short rows that overlap", "20", "1100x1", "1100x16",
     "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
    {"shorter rows that overlap", "7", "6000x1", "6000x3",
     "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"},
    {"columns", "40x4", "25x1", "40x25",
     "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1"},
    {"columns of matrices", "50x9x4", "40x1", "50x9x40",
     "update_window_dims = [0, 1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [2], index_vector_dim = "
     "1"},
    {"columns, batches of them", "3x40x4", "3x25x1", "3x40x25",
     "update_window_dims = [1], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = "
     "[0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2"},
    {"boxes", "6x7", "9x2", "9x2x3",
     "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1"},
    {"batches", "3x5", "3x200x1", "3x200",
     "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], "
     "scatter_dims_to_operand_dims = [1], index_vector_dim = 2"},
    {"batches in the last dim", "5x64", "300x64x1", "300x64",
     "inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], "
     "scatter_dims_to_operand_dims = [0], index_vector_dim = 2"},
};

static void one_scatter(const index_row *r, const char *t, const char *index, const char *op) {
    char text[2048], name[128];
    snprintf(name, sizeof name, "scatter %s of %s, %s, %s", op, r->what, t, index);
    char body[200] = "";
    if (*op) snprintf(body, sizeof body, "%%v = stablehlo.%s %%a, %%b : tensor<%s>\\n", op, t);
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%sx%s>, %%i: tensor<%sx%s>, %%u: tensor<%sx%s>) -> tensor<%sx%s> {\n"
             "%%r = \"stablehlo.scatter\"(%%x, %%i, %%u) <{indices_are_sorted = false, scatter_dimension_numbers = "
             "#stablehlo.scatter<%s>, unique_indices = "
             "false}> ({\n"
             "^bb0(%%a: tensor<%s>, %%b: tensor<%s>):\n"
             "%sstablehlo.return %%%s : tensor<%s>\n"
             "}) : (tensor<%sx%s>, tensor<%sx%s>, tensor<%sx%s>) -> "
             "tensor<%sx%s>\nreturn %%r : tensor<%sx%s>\n}\n",
             r->operand, t, r->indices, index, r->update, t, r->operand, t, r->numbers, t, t, *op ? body : "",
             *op ? "v" : "b", t, r->operand, t, r->indices, index, r->update, t, r->operand, t, r->operand, t);
    for (char *p = strstr(text, "\\n"); p; p = strstr(p, "\\n")) p[0] = ' ', p[1] = '\n';
    /* Sums of hundreds of narrow numbers are rounded at each step, in the same order by both. */
    check(name, text, tolerance(t));
}

static void scatters_agree(void **state) {
    (void)state;
    static const char *const folds[] = {"add", "multiply", "maximum", "minimum", "", "and", "xor", "or"};
    static const char *const indices[] = {"i32", "i64", "ui8", "i16", "ui64", "i8", "ui32", "ui16"};
    size_t k = 0;
    for (size_t r = 0; r < BASE_COUNT(scatters); r++)
        for (size_t t = 0; t < BASE_COUNT(numbers); t++) {
            bool floats = strchr("bf", *numbers[t]);
            one_scatter(&scatters[r], numbers[t], indices[k % 8], folds[k % (floats ? 5 : 8)]);
            k += 1 + (t == 0); /* steps through ops and index types at different paces */
        }
    for (size_t f = 0; f < BASE_COUNT(folds); f++) {
        const char *t = f < 5 ? "f32" : "i32";
        one_scatter(&scatters[0], t, "i32", folds[f]);
        for (size_t rows = 2; rows < 7; rows++) one_scatter(&scatters[rows], t, "i32", folds[f]);
    }
    one_scatter(&scatters[2], "i1", "i32", "or");
    /* Long enough for pieces that are summed apart; index 4 is outside. */
    static const index_row histogram = {
        "a histogram", "4", "300x250x1", "300x250",
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2"};
    one_scatter(&histogram, "f64", "i64", "add");
    one_scatter(&histogram, "i32", "i32", "add");
    one_scatter(&histogram, "ui8", "i64", "add");
    one_scatter(&histogram, "f32", "i32", "maximum");
}

static const struct {
    const char *what, *operand, *indices, *result, *sizes, *numbers;
} gathers[] = {
    {"elements by two indices", "30x20", "500x2", "500", "1, 1",
     "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1"},
    {"elements of a vector", "5", "400x1", "400", "1",
     "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"},
    {"rows", "4x70", "300x1", "300x70", "1, 70",
     "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"},
    {"columns", "40x4", "25x1", "40x25", "40, 1",
     "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1"},
    {"columns, threads divide the rows", "700x40", "50x1", "700x50", "700, 1",
     "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1"},
    {"columns of matrices, threads divide the rows of all", "3x400x3", "40x1", "3x400x40", "3, 400, 1",
     "offset_dims = [0, 1], collapsed_slice_dims = [2], start_index_map = [2], index_vector_dim = 1"},
    {"boxes", "6x7", "9x2", "9x2x3", "2, 3", "offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 1"},
    {"batches", "3x5", "3x700x1", "3x700", "1, 1",
     "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = "
     "[1], index_vector_dim = 2"},
};

static void gathers_agree(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "bf16", "i8", "i1", "i64", "complex<f32>", "complex<f64>"};
    static const char *const indices[] = {"i32", "i64", "ui8", "i16", "ui64", "ui32", "i8", "ui16"};
    for (size_t r = 0; r < BASE_COUNT(gathers); r++)
        for (size_t t = 0; t < BASE_COUNT(types); t++) {
            char text[1024], name[128];
            const char *index = indices[(r + t) % BASE_COUNT(indices)];
            snprintf(name, sizeof name, "gather of %s, %s, %s", gathers[r].what, types[t], index);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<%sx%s>, %%i: tensor<%sx%s>) -> tensor<%sx%s> {\n"
                     "%%r = \"stablehlo.gather\"(%%x, %%i) <{dimension_numbers = "
                     "#stablehlo.gather<%s>, slice_sizes = array<i64: %s>}> : (tensor<%sx%s>, tensor<%sx%s>) -> "
                     "tensor<%sx%s>\n"
                     "return %%r : tensor<%sx%s>\n"
                     "}\n",
                     gathers[r].operand, types[t], gathers[r].indices, index, gathers[r].result, types[t],
                     gathers[r].numbers, gathers[r].sizes, gathers[r].operand, types[t], gathers[r].indices, index,
                     gathers[r].result, types[t], gathers[r].result, types[t]);
            check(name, text, 0);
        }
}

/* Index vectors that count one of their own dims become batching dims: the join and the iota go. */
static void counted_indices_become_batches(void **state) {
    (void)state;
    const char *text = "func.func @main(%x: tensor<40x64xf32>, %i: tensor<30x64xi32>, %u: tensor<30x64xf32>) -> "
                       "(tensor<40x64xf32>, tensor<30x64xf32>) {\n"
                       "%0 = stablehlo.reshape %i : (tensor<30x64xi32>) -> tensor<30x64x1xi32>\n"
                       "%1 = stablehlo.iota dim = 1 : tensor<30x64xi32>\n"
                       "%2 = stablehlo.reshape %1 : (tensor<30x64xi32>) -> tensor<30x64x1xi32>\n"
                       "%3 = stablehlo.concatenate %0, %2, dim = 2 : (tensor<30x64x1xi32>, tensor<30x64x1xi32>) -> "
                       "tensor<30x64x2xi32>\n"
                       "%4 = \"stablehlo.scatter\"(%x, %3, %u) <{indices_are_sorted = false, scatter_dimension_numbers "
                       "= #stablehlo.scatter<inserted_window_dims = [0, 1], "
                       "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>, unique_indices = false}> ({\n"
                       "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                       "%s = stablehlo.add %a, %b : tensor<f32>\n"
                       "stablehlo.return %s : tensor<f32>\n"
                       "}) : (tensor<40x64xf32>, tensor<30x64x2xi32>, tensor<30x64xf32>) -> "
                       "tensor<40x64xf32>\n"
                       "%5 = \"stablehlo.gather\"(%x, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims "
                       "= [0, 1], start_index_map = [0, 1], "
                       "index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<40x64xf32>, "
                       "tensor<30x64x2xi32>) -> tensor<30x64xf32>\n"
                       "return %4, %5 : tensor<40x64xf32>, tensor<30x64xf32>\n}\n";
    cpu_exec *e = NULL;
    size_t n;
    check("counted indices", text, 1e-6);
    expect_ok(cpu_compile(text, strlen(text), NULL, &e), "counted indices");
    if (strstr(cpu_exec_text(e, &n), "concatenate") || strstr(cpu_exec_text(e, &n), "iota"))
        fail_msg("%s", cpu_exec_text(e, &n));
    assert_non_null(strstr(cpu_exec_text(e, &n), "input_batching_dims = [1]"));
    cpu_exec_free(e);
}

/* --- running folds --- */
static void one_scan(const char *shape, int rank, int dim, int64_t n, const char *t, const char *op, const char *init,
                     bool reverse, double tol) {
    char text[2048], name[128], window[64] = "", pad[128] = "";
    for (int d = 0; d < rank; d++) {
        char one[32];
        snprintf(one, sizeof one, "%s%lld", d ? ", " : "", d == dim ? (long long)n : 1LL);
        strcat(window, one);
        snprintf(one, sizeof one, "%s[%lld, %lld]", d ? ", " : "", d == dim && !reverse ? (long long)n - 1 : 0,
                 d == dim && reverse ? (long long)n - 1 : 0);
        strcat(pad, one);
    }
    snprintf(name, sizeof name, "running %s of %s along %d of %s%s", op, t, dim, shape, reverse ? ", backwards" : "");
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%sx%s>) -> tensor<%sx%s> {\n%%z = stablehlo.constant dense<%s> : tensor<%s>\n"
             "%%r = \"stablehlo.reduce_window\"(%%x, %%z) <{padding = dense<[%s]> : tensor<%dx2xi64>, "
             "window_dimensions = array<i64: %s>}> ({\n"
             "^bb0(%%a: tensor<%s>, %%b: tensor<%s>):\n"
             "%%s = stablehlo.%s %%a, %%b : tensor<%s>\n"
             "stablehlo.return %%s : tensor<%s>\n"
             "}) : (tensor<%sx%s>, "
             "tensor<%s>) -> tensor<%sx%s>\nreturn %%r : tensor<%sx%s>\n}\n",
             shape, t, shape, t, init, t, pad, rank, window, t, t, op, t, t, shape, t, t, shape, t, shape, t);
    check(name, text, tol);
}

static void scans_agree(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        int rank, dim;
        int64_t n;
    } shapes[] = {{"7x9x5", 3, 1, 9},   {"33x65", 2, 1, 65},    {"65x33", 2, 0, 65},
                  {"9000", 1, 0, 9000}, {"3x8300", 2, 1, 8300}, {"4x600", 2, 0, 4}};
    static const struct {
        const char *type, *op, *init;
        double tol;
    } folds[] = {
        {"f32", "add", "0.0", 1e-5},
        {"f64", "add", "0.0", 1e-12},
        {"i32", "add", "0", 0},
        {"i64", "add", "0", 0},
        {"f32", "maximum", "0xFF800000", 0},
        {"i32", "maximum", "-2147483648", 0},
        {"f32", "minimum", "0x7F800000", 0},
        {"f32", "multiply", "1.0", 1e-5},
        {"ui32", "add", "0", 0},
        {"ui64", "maximum", "0", 0},
        {"f64", "multiply", "1.0", 1e-12},
        {"i64", "minimum", "9223372036854775807", 0},
    };
    for (size_t s = 0; s < BASE_COUNT(shapes); s++)
        for (size_t f = 0; f < BASE_COUNT(folds); f++)
            one_scan(shapes[s].shape, shapes[s].rank, shapes[s].dim, shapes[s].n, folds[f].type, folds[f].op,
                     folds[f].init, (s + f) & 1, folds[f].tol);
}

/* log2(n) steps of doubling distance are one running fold. */
static void doubling_steps_become_a_scan(void **state) {
    (void)state;
    str text = STR_INIT;
    str_append(&text, "func.func @main(%y0: tensor<3x20xf32>) -> tensor<3x20xf32> {\n"
                      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    int k = 0;
    for (int by = 1; by < 20; by *= 2, k++)
        str_printf(&text,
                   "%%s%d = stablehlo.slice %%y%d [0:3, 0:%d] : (tensor<3x20xf32>) -> tensor<3x%dxf32>\n"
                   "%%p%d = stablehlo.pad %%s%d, %%z, low = [0, %d], high = [0, 0], interior = [0, 0] : "
                   "(tensor<3x%dxf32>, tensor<f32>) -> tensor<3x20xf32>\n"
                   "%%y%d = stablehlo.add %%p%d, %%y%d : tensor<3x20xf32>\n",
                   k, k, 20 - by, 20 - by, k, k, by, 20 - by, k + 1, k, k);
    str_printf(&text, "return %%y%d : tensor<3x20xf32>\n}\n", k);
    cpu_exec *e = NULL;
    check("doubling steps", str_cstr(&text), 1e-5);
    expect_ok(cpu_compile(str_cstr(&text), text.len, NULL, &e), "doubling steps");
    assert_int_equal(e->plan.n_thunks, 1);
    assert_string_equal(e->plan.thunks[0].kernel->name, "scan");
    cpu_exec_free(e);
    str_free(&text);
}

/* Pieces of each width side by side, in short rows and in such that threads divide. */
static void concatenations_agree(void **state) {
    (void)state;
    static const struct {
        int rows, widths[5];
    } rows[] = {{3000, {1, 1, 1, 1}}, {500, {1, 2, 0, 4, 8}}, {200, {3, 16, 17, 100}},
                {90, {5, 300}},       {3, {70000, 0, 50001}}, {1, {90000, 1, 40000}}};
    static const char *const types[] = {"f32", "i8", "bf16", "f64", "complex<f64>", "i1"};
    for (size_t r = 0; r < BASE_COUNT(rows); r++)
        for (size_t t = 0; t < BASE_COUNT(types); t++) {
            str text = STR_INIT, names = STR_INIT, operands = STR_INIT;
            char name[100];
            int all = 0;
            str_printf(&text, "func.func @main(");
            for (int i = 0; i < 5; i++) {
                const char *comma = i ? ", " : "";
                int w = rows[r].widths[i];
                str_printf(&text, "%s%%x%d: tensor<%dx%dx%s>", comma, i, rows[r].rows, w, types[t]);
                str_printf(&names, "%s%%x%d", comma, i);
                str_printf(&operands, "%stensor<%dx%dx%s>", comma, rows[r].rows, w, types[t]);
                all += w;
            }
            snprintf(name, sizeof name, "tensor<%dx%dx%s>", rows[r].rows, all, types[t]);
            str_printf(&text, ") -> %s {\n%%r = stablehlo.concatenate %s, dim = 1 : (%s) -> %s\nreturn %%r : %s\n}\n",
                       name, str_cstr(&names), str_cstr(&operands), name, name);
            check(name, str_cstr(&text), 0);
            str_free(&text), str_free(&names), str_free(&operands);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concatenations_agree), cmocka_unit_test(scatters_agree),
        cmocka_unit_test(gathers_agree),        cmocka_unit_test(counted_indices_become_batches),
        cmocka_unit_test(scans_agree),          cmocka_unit_test(doubling_steps_become_a_scan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
