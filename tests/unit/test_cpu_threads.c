/* What OpenBLAS computes has the same bits on 1, 2, 3 and 8 threads: products, convolutions and factorisations of every
 * type, under each of its sets of kernels, and whatever the environment says of threads. So have the products of f32
 * and bf16 by oneDNN, with AVX-512, with AVX2 and without.
 *
 * OpenBLAS chooses its kernels when it is loaded, so the program starts itself anew for each set (OPENBLAS_CORETYPE),
 * as `test_cpu_threads rows`: that run compares the rows over the threads and prints a number made of all their bits.
 * The environment may change neither. `all` in front of the list of sets (`test_cpu_threads all`, in
 * tests/slow/blas.sh) takes more shapes and every set. */
#include <dlfcn.h>
#include <stdio.h>
#include <strings.h>
#include <sys/wait.h>

#include <dnnl.h>

#include "cpu_check.h"
#include "cpu/vector/blas.h"
#include "cpu/vector/blas_cores.h"

static const char *self;
static bool all_rows;
enum { MOST = 8 };
/* Other sets have other code of OpenBLAS's and oneDNN's, which no sanitizer looks into: one set and one number of
 * threads are enough there. */
#ifdef __SANITIZE_ADDRESS__
enum { SETS = 1 };
static const int numbers_of_threads[] = {3};
#else
enum { SETS = 100 };
static const int numbers_of_threads[] = {2, 3, 8};
#endif

/* --- rows --- */
static uint64_t digest = 14695981039346656037u;
static size_t ran, differ_count;

static void add_bits(const void *p, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; i++) digest = (digest ^ ((const unsigned char *)p)[i]) * 1099511628211u;
}

static uint64_t scramble(uint64_t x) { /* Stafford's mix of 64 bits */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Both parts of complex numbers; the diagonal of a matrix that has to be definite is made large and the matrix its
 * own transpose. */
static void fill_parts(array *a, uint64_t seed, bool definite) {
    xt_dtype t = a->type->dtype;
    bool complex = t == XT_C64 || t == XT_C128, wide = t == XT_F64 || t == XT_C128;
    int64_t parts = complex ? 2 : 1, n = a->type->rank ? a->type->dims[a->type->rank - 1] : 1;
    for (int64_t i = 0; i < a->type->count * parts; i++) {
        int64_t at = i / parts, row = at / n % n, column = at % n,
                first = definite && row < column ? at - row * n - column + column * n + row : at;
        double v = (double)(scramble(seed << 32 | (uint64_t)(first * parts + i % parts)) >> 40) / 8388608.0 - 1.0;
        if (definite && i % parts) v = row == column ? 0 : row < column ? -v : v;
        if (definite && row == column && i % parts == 0) v = 2.0 * (double)n + v;
        if (wide)
            ((double *)a->data)[i] = v;
        else if (t == XT_F32 || t == XT_C64)
            ((float *)a->data)[i] = (float)v;
        else
            array_set(a, i, v);
    }
}

static char *results(const char *name, const char *text, int threads, bool definite, size_t *out_bytes) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[MOST] = {0}, out[MOST] = {0};
    int from[MOST];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), name);
    expect_ok(cpu_device_new(threads, NULL, &d), name);
    for (size_t t = 0; t < e->plan.n_thunks && blas_get(); t++)
        if (!strcmp(e->plan.thunks[t].kernel->name, "interpreter")) fail_msg("%s runs on the interpreter's code", name);
    size_t n_in = cpu_exec_inputs(e), n_out = cpu_exec_outputs(e), bytes = 0;
    for (size_t i = 0; i < n_in; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), name);
        fill_parts(&in[i], 100 + i, definite && i == 0);
    }
    expect_ok(cpu_run(e, d, &a, in, NULL, out, from), name);
    for (size_t j = 0; j < n_out; j++) bytes += ir_type_bytes(out[j].type);
    char *bits = base_malloc(bytes + 1), *p = bits;
    assert_non_null(bits);
    for (size_t j = 0; j < n_out; j++) {
        size_t n = ir_type_bytes(out[j].type);
        memcpy(p, out[j].data, n);
        p += n;
        heap_free(&h, out[j].data, n);
    }
    for (size_t i = 0; i < n_in; i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    assert_int_equal(h.live, 0);
    *out_bytes = bytes;
    return bits;
}

static void compare(const char *name, const char *text, bool definite) {
    size_t n, m;
    char *one = results(name, text, 1, definite, &n);
    for (size_t i = 0; i < BASE_COUNT(numbers_of_threads); i++) {
        char *more = results(name, text, numbers_of_threads[i], definite, &m);
        if (n != m || memcmp(one, more, n) != 0) {
            print_error("%s: other bits on %d threads than on one\n", name, numbers_of_threads[i]);
            differ_count++;
        }
        base_free(more);
    }
    add_bits(one, n);
    base_free(one);
    ran++;
}

static const struct {
    const char *lhs, *rhs, *out, *dims;
    const char *types; /* NULL: all four */
    bool slow;
} products[] = {
    {"5x7", "7x6", "5x6", "contracting_dims = [1] x [0]", NULL, false},
    {"7", "7", "", "contracting_dims = [0] x [0]", NULL, false},
    {"1x300", "300x1030", "1x1030", "contracting_dims = [1] x [0]", NULL, false},
    {"1030x300", "300x1", "1030x1", "contracting_dims = [1] x [0]", NULL, false},
    {"1030x300", "300x3", "1030x3", "contracting_dims = [1] x [0]", NULL, false},
    {"70x96", "96x80", "70x80", "contracting_dims = [1] x [0]", NULL, false},
    {"96x70", "81x96", "70x81", "contracting_dims = [0] x [1]", NULL, false},
    {"257x129", "129x131", "257x131", "contracting_dims = [1] x [0]", NULL, false},
    {"256x300", "300x250", "256x250", "contracting_dims = [1] x [0]", NULL, false},
    {"301x250", "199x301", "250x199", "contracting_dims = [0] x [1]", NULL, false},
    {"9x40x33", "9x33x21", "9x40x21", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", NULL, false},
    {"3x101x130", "3x130x150", "3x101x150", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", NULL, false},
    {"5x30x7", "40x7x30", "30x5x40", "batching_dims = [1] x [2], contracting_dims = [2] x [1]", NULL, false},
    {"33x2100", "2100x1001", "33x1001", "contracting_dims = [1] x [0]", "f64", false},
    {"1x2048", "2048x2050", "1x2050", "contracting_dims = [1] x [0]", "f64", false},
    {"601x500", "500x907", "601x907", "contracting_dims = [1] x [0]", "f64", false},
    {"601x500", "500x907", "601x907", "contracting_dims = [1] x [0]", "f16 complex<f32> complex<f64>", true},
    {"1301x1200", "1200x1407", "1301x1407", "contracting_dims = [1] x [0]", "f64 complex<f32>", true},
    {"64x130x130", "64x130x130", "64x130x130", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", NULL, true},
    {"20000x40", "40x30", "20000x30", "contracting_dims = [1] x [0]", NULL, true},
};

static void run_product(const char *type, const char *lhs, const char *rhs, const char *out, const char *dims) {
    char text[1024], name[128];
    const char *x = *out ? "x" : "";
    snprintf(name, sizeof name, "product of %s: %s, %s", type, lhs, rhs);
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%sx%s>, %%y: tensor<%sx%s>) -> tensor<%s%s%s> {\n"
             "%%r = stablehlo.dot_general %%x, %%y, %s : (tensor<%sx%s>, tensor<%sx%s>) -> tensor<%s%s%s>\n"
             "return %%r : tensor<%s%s%s>\n"
             "}\n",
             lhs, type, rhs, type, out, x, type, dims, lhs, type, rhs, type, out, x, type, out, x, type);
    compare(name, text, false);
}

static void run_products(const char *type) {
    for (size_t r = 0; r < BASE_COUNT(products); r++) {
        if ((products[r].types && !strstr(products[r].types, type)) || (products[r].slow && !all_rows)) continue;
        run_product(type, products[r].lhs, products[r].rhs, products[r].out, products[r].dims);
    }
}

/* Products by oneDNN and on panels: [m x k] x [k x n], as they lie and with either operand transposed. Tiny ones,
 * vectors, thin ones, sums that are long beside the result, a vocabulary, sizes that no block divides. */
static const struct {
    int m, k, n;
} matrices[] = {
    {1, 1, 1},        {3, 5, 2},       {17, 31, 13},   {64, 64, 64},    {128, 784, 10},  {128, 784, 128},
    {1, 768, 5003},   {5003, 768, 1},  {300, 7, 500},  {7, 4001, 9},    {10, 50257, 8},  {48, 50257, 8},
    {48, 8, 50257},   {1, 100003, 1},  {2, 33333, 65}, {257, 513, 129}, {256, 768, 768}, {301, 1024, 517},
    {33, 2100, 1001}, {600, 96, 1300}, {64, 9000, 64},
};
/* bf16, of the class that is left to oneDNN's threads, and one beside it (matmul.h). */
static const struct {
    int m, k, n;
} wholes[] = {
    {128, 1024, 128}, {129, 1000, 131},   {512, 768, 3072}, {512, 1024, 768},
    {2048, 768, 768}, {1024, 1024, 1024}, {512, 3072, 768}, {160, 96, 20011},
};
static const struct {
    const char *lhs, *rhs, *out;
} batches[] = {
    {"3x128x130", "3x130x150", "3x128x150"}, {"24x64x32", "24x32x64", "24x64x64"},
    {"7x33x1001", "7x1001x5", "7x33x5"},     {"101x9x21", "101x21x11", "101x9x11"},
    {"2x300x257", "2x257x301", "2x300x301"},
};

static void run_wholes(void) {
    for (size_t r = 0; r < BASE_COUNT(wholes); r++) {
        char lhs[32], rhs[32], out[32];
        snprintf(lhs, sizeof lhs, "%dx%d", wholes[r].m, wholes[r].k);
        snprintf(rhs, sizeof rhs, "%dx%d", wholes[r].k, wholes[r].n);
        snprintf(out, sizeof out, "%dx%d", wholes[r].m, wholes[r].n);
        run_product("bf16", lhs, rhs, out, "contracting_dims = [1] x [0]");
    }
}

static void run_matrices(const char *type) {
    for (size_t r = 0; r < BASE_COUNT(matrices); r++)
        for (int flipped = 0; flipped < 3; flipped++) { /* neither, the left one, the right one */
            char lhs[32], rhs[32], out[32], dims[64];
            int m = matrices[r].m, k = matrices[r].k, n = matrices[r].n;
            if (flipped && (double)m * n * k > 1e8 && !all_rows) continue;
            snprintf(lhs, sizeof lhs, "%dx%d", flipped == 1 ? k : m, flipped == 1 ? m : k);
            snprintf(rhs, sizeof rhs, "%dx%d", flipped == 2 ? n : k, flipped == 2 ? k : n);
            snprintf(out, sizeof out, "%dx%d", m, n);
            snprintf(dims, sizeof dims, "contracting_dims = [%d] x [%d]", flipped != 1, flipped == 2);
            run_product(type, lhs, rhs, out, dims);
        }
    for (size_t r = 0; r < BASE_COUNT(batches); r++)
        run_product(type, batches[r].lhs, batches[r].rhs, batches[r].out,
                    "batching_dims = [0] x [0], contracting_dims = [2] x [1]");
    for (size_t r = 0; r < BASE_COUNT(products); r++)
        if (!products[r].slow) run_product(type, products[r].lhs, products[r].rhs, products[r].out, products[r].dims);
}

static const struct {
    const char *x, *kernel, *out, *numbers, *window;
    int groups;
    bool slow;
} convolutions[] = {
    {"2x3x12x12", "16x3x3x3", "2x16x10x10", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[0, 0], [0, 0]]", 1, false},
    {"2x16x12x12", "16x16x3x3", "2x16x5x5", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
     "stride = [2, 2], pad = [[0, 0], [0, 0]]", 1, false},
    {"1x33x33x7", "3x3x7x19", "1x33x33x19", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
     "stride = [1, 1], pad = [[1, 1], [1, 1]]", 1, false},
    {"3x8x23x21", "12x2x3x3", "3x12x21x19", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[0, 0], [0, 0]]", 4, false},
    {"2x5x701", "9x5x7", "2x9x695", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "stride = [1], pad = [[0, 0]]", 1, false},
    {"4x64x34x34", "64x64x3x3", "4x64x32x32", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
     "stride = [1, 1], pad = [[0, 0], [0, 0]]", 1, true},
};

static void run_convolutions(const char *type) {
    for (size_t r = 0; r < BASE_COUNT(convolutions); r++) {
        char text[1024], name[128];
        const char *x = convolutions[r].x, *k = convolutions[r].kernel, *y = convolutions[r].out;
        if (convolutions[r].slow && !all_rows) continue;
        snprintf(name, sizeof name, "convolution of %s: %s, %s", type, x, k);
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<%sx%s>, %%w: tensor<%sx%s>) -> tensor<%sx%s> {\n"
                 "%%r = stablehlo.convolution(%%x, %%w) dim_numbers = %s, window = {%s} {batch_group_count = 1 : i64, "
                 "feature_group_count = %d : i64} : "
                 "(tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\nreturn %%r : tensor<%sx%s>\n}\n",
                 x, type, k, type, y, type, convolutions[r].numbers, convolutions[r].window, convolutions[r].groups, x,
                 type, k, type, y, type, y, type);
        compare(name, text, false);
    }
}

/* LAPACK's calls. In the results: M, U and V matrices of m x n, m x least and least x n, C a complex M, v and r vectors
 * of `least` numbers of the type and of its real one, t one number less, p pivots, i a status. */
static const struct {
    const char *name, *complex_name, *results, *complex_results, *options;
    bool square, definite;
} calls[] = {
    {"potrf", "potrf", "Mi", "Mi", "uplo = 76 : ui8", true, true},
    {"potrf", "potrf", "Mi", "Mi", "uplo = 85 : ui8", true, true},
    {"getrf", "getrf", "Mpi", "Mpi", "", false, false},
    {"geqrf", "geqrf", "Mv", "Mv", "", false, false},
    {"syevd", "heevd", "Mri", "Mri", "mode = 86 : ui8, uplo = 76 : ui8", true, true},
    {"gesdd", "gesdd", "MrUVi", "MrUVi", "mode = 83 : ui8", false, false},
    {"geev", "geev", "vvCCi", "vMMi", "compute_left = 86 : ui8, compute_right = 86 : ui8", true, false},
    {"gees", "gees", "MMvvii", "MMvii", "mode = 86 : ui8, sort = 78 : ui8", true, false},
    {"gehrd", "gehrd", "Mti", "Mti", "", true, false},
    {"sytrd", "hetrd", "Mrsti", "Mrsti", "uplo = 76 : ui8", true, true},
    {"gesvd", "gesvd", "MrUVi", "MrUVi", "mode = 83 : ui8", false, false},
};

static void type_of_result(char part, const char *type, const char *lead, int m, int n, str *out) {
    int least = m < n ? m : n;
    const char *real = strstr(type, "32") ? "f32" : "f64";
    switch (part) {
    case 'M': str_printf(out, "tensor<%s%dx%dx%s>", lead, m, n, type); break;
    case 'U': str_printf(out, "tensor<%s%dx%dx%s>", lead, m, least, type); break;
    case 'V': str_printf(out, "tensor<%s%dx%dx%s>", lead, least, n, type); break;
    case 'C': str_printf(out, "tensor<%s%dx%dxcomplex<%s>>", lead, m, n, real); break;
    case 'v': str_printf(out, "tensor<%s%dx%s>", lead, least, type); break;
    case 'r': str_printf(out, "tensor<%s%dx%s>", lead, least, real); break;
    case 't': str_printf(out, "tensor<%s%dx%s>", lead, least - 1, type); break;
    case 's': str_printf(out, "tensor<%s%dx%s>", lead, least - 1, real); break;
    case 'p': str_printf(out, "tensor<%s%dxi32>", lead, least); break;
    default: str_printf(out, "tensor<%.*si32>", (int)strlen(lead), lead); break;
    }
}

static void run_call(size_t r, const char *type, int batch, int m, int n) {
    bool complex = *type == 'c', wide = strstr(type, "64") != NULL;
    const char *parts = complex ? calls[r].complex_results : calls[r].results;
    char name[128], lead[16] = "", letter = complex ? (wide ? 'z' : 'c') : wide ? 'd' : 's';
    str types = {0}, values = {0}, text = {0}, operand = {0};
    if (batch) snprintf(lead, sizeof lead, "%dx", batch);
    for (size_t i = 0; parts[i]; i++) {
        str_printf(&types, "%s", i ? ", " : "");
        str_printf(&values, "%s%%r#%zu", i ? ", " : "", i);
        type_of_result(parts[i], type, lead, m, n, &types);
    }
    type_of_result('M', type, lead, m, n, &operand);
    const char *from = str_cstr(&operand), *to = str_cstr(&types),
               *call = complex ? calls[r].complex_name : calls[r].name;
    snprintf(name, sizeof name, "%s of %s", call, from);
    str_printf(&text,
               "func.func @main(%%x: %s) -> (%s) {\n"
               "%%r:%zu = stablehlo.custom_call @lapack_%c%s_ffi(%%x) {mhlo.backend_config = {%s%s}} : (%s) -> (%s)\n"
               "return %s : %s\n}\n",
               from, to, strlen(parts), letter, call, calls[r].options, strcmp(call, "gehrd") ? "" : "low = 1 : i32",
               from, to, str_cstr(&values), to);
    compare(name, str_cstr(&text), calls[r].definite);
    str_free(&types), str_free(&values), str_free(&text), str_free(&operand);
}

static void run_calls(const char *type) {
    static const struct {
        int batch, m, n;
        bool slow;
        const char *types;
    } shapes[] = {{0, 9, 9, false, NULL},      {5, 40, 40, false, NULL},  {0, 90, 90, false, NULL},
                  {3, 90, 50, false, NULL},    {0, 50, 90, true, NULL},   {3, 90, 90, true, NULL},
                  {0, 350, 350, false, "f64"}, {0, 520, 520, true, NULL}, {0, 600, 350, true, NULL}};
    for (size_t r = 0; r < BASE_COUNT(calls); r++)
        for (size_t i = 0; i < BASE_COUNT(shapes); i++) {
            bool slow = shapes[i].slow || (shapes[i].m >= 350 && r > 3);
            if ((slow && !all_rows) || (calls[r].square && shapes[i].m != shapes[i].n) ||
                (shapes[i].types && !strstr(shapes[i].types, type)))
                continue;
            run_call(r, type, shapes[i].batch, shapes[i].m, shapes[i].n);
        }
}

/* Systems of a triangle from both sides; Q from its reflectors, products with it, and QR with pivots, which have
 * operands besides a matrix. */
static void run_solves(const char *type) {
    for (int left = 0; left < 2; left++)
        for (int n = 40; n <= (all_rows ? 640 : 160); n *= 4) {
            char text[1024], name[128], rhs[64];
            snprintf(rhs, sizeof rhs, "tensor<%dx%dx%s>", left ? n : 301, left ? 301 : n, type);
            snprintf(name, sizeof name, "%d x %d system of %s, left %d", n, n, type, left);
            snprintf(text, sizeof text,
                     "func.func @main(%%a: tensor<%dx%dx%s>, %%b: %s) -> %s {\n"
                     "%%r = \"stablehlo.triangular_solve\"(%%a, %%b) <{left_side = %s, "
                     "lower = true, "
                     "transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<%dx%dx%s>, "
                     "%s) -> %s\n"
                     "return %%r : %s\n"
                     "}\n",
                     n, n, type, rhs, rhs, left ? "true" : "false", n, n, type, rhs, rhs, rhs);
            compare(name, text, true);
        }
}

static void run_reflectors(const char *type) {
    bool complex = *type == 'c', wide = strstr(type, "64") != NULL;
    char letter = complex ? (wide ? 'z' : 'c') : wide ? 'd' : 's', text[1600], name[128];
    for (int n = 60; n <= (all_rows || !strcmp(type, "f64") ? 360 : 60); n *= 6) {
        int m = n + 25;
        snprintf(name, sizeof name, "Q and products with it, %d x %d of %s", m, n, type);
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<%dx%dx%s>, %%c: tensor<%dx%dx%s>, %%p: tensor<%dxi32>) -> "
                 "(tensor<%dx%dx%s>, tensor<%dx%dx%s>, "
                 "tensor<%dx%dx%s>, tensor<%dxi32>) {\n"
                 "%%r:2 = stablehlo.custom_call @lapack_%cgeqrf_ffi(%%x) {mhlo.backend_config = {}} : "
                 "(tensor<%dx%dx%s>) -> (tensor<%dx%dx%s>, "
                 "tensor<%dx%s>)\n"
                 "%%q = stablehlo.custom_call @lapack_%c%s_ffi(%%r#0, %%r#1) {mhlo.backend_config = {}} : "
                 "(tensor<%dx%dx%s>, tensor<%dx%s>) -> "
                 "tensor<%dx%dx%s>\n"
                 "%%o = stablehlo.custom_call @lapack_%c%s_ffi(%%r#0, %%r#1, %%c) {mhlo.backend_config = {left = true, "
                 "transpose = true}} : "
                 "(tensor<%dx%dx%s>, tensor<%dx%s>, "
                 "tensor<%dx%dx%s>) -> tensor<%dx%dx%s>\n"
                 "%%z = stablehlo.constant dense<0> : tensor<%dxi32>\n"
                 "%%s:3 = stablehlo.custom_call @lapack_%cgeqp3_ffi(%%x, %%z) "
                 "{mhlo.backend_config = {}} : (tensor<%dx%dx%s>, "
                 "tensor<%dxi32>) -> (tensor<%dx%dx%s>, tensor<%dxi32>, tensor<%dx%s>)\n"
                 "return %%q, %%o, %%s#0, %%s#1 : tensor<%dx%dx%s>, "
                 "tensor<%dx%dx%s>, tensor<%dx%dx%s>, tensor<%dxi32>\n}\n",
                 m, n, type, m, 70, type, n, m, n, type, m, 70, type, m, n, type, n, letter, m, n, type, m, n, type, n,
                 type, letter, complex ? "ungqr" : "orgqr", m, n, type, n, type, m, n, type, letter,
                 complex ? "unmqr" : "ormqr", m, n, type, n, type, m, 70, type, m, 70, type, n, letter, m, n, type, n,
                 m, n, type, n, n, type, m, n, type, m, 70, type, m, n, type, n);
        compare(name, text, false);
    }
}

static int run_of_onednn(void) {
    run_matrices("f32");
    run_matrices("bf16");
    /* only AVX-512 has kernels for bf16 */
    if (!env_get("XT_CPU_FEATURES") || !strcmp(env_get("XT_CPU_FEATURES"), "avx512")) run_wholes();
    printf("%zu rows, kernels onednn, bits %016llx\n", ran, (unsigned long long)digest);
    return differ_count > 0;
}

/* The run that is started: rows on threads, then what kernels they had and the number of their bits. */
static int run_rows(void) {
    static const char *const types[] = {"f64", "f16", "f32", "complex<f32>", "complex<f64>"};
    for (size_t t = 0; t < BASE_COUNT(types); t++) {
        if (t != 2) run_products(types[t]), run_convolutions(types[t]);
        if (t != 1) run_calls(types[t]), run_solves(types[t]), run_reflectors(types[t]);
    }
    char *(*name)(void);
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD),
         *p = lib ? dlsym(lib, "openblas_get_corename") : NULL;
    memcpy(&name, &p, sizeof p);
    printf("%zu rows, kernels %s, bits %016llx\n", ran, p ? name() : "none", (unsigned long long)digest);
    return differ_count > 0;
}

/* --- sets of kernels and environments --- */
static const struct {
    const char *core;
    bool slow;
} cores[] = {
    {"Haswell", false}, {"Zen", false},  {"SkylakeX", false}, {"Sandybridge", false}, {"Nehalem", false},
    {"Prescott", true}, {"Core2", true}, {"Penryn", true},    {"Cooperlake", true},
};

/* Runs the rows under `env` and reads what they say: the kernels' name and the number of all bits. */
static bool rows_of(const char *what, const char *env, bool all, char kernels[64], char bits[32]) {
    char command[2048], text[16384];
    snprintf(command, sizeof command, "env %s '%s' %s%s 2>&1", env, self, all ? "all-" : "", what);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(text, 1, sizeof text - 1, p);
    int status = pclose(p);
    text[n] = 0;
    const char *last = strstr(text, " rows, kernels ");
    if (last && sscanf(last, " rows, kernels %63[^,], bits %31s", kernels, bits) == 2 && status == 0) return true;
    print_error("%s: exit %d\n%s\n", env, WIFEXITED(status) ? WEXITSTATUS(status) : 1000, text);
    return false;
}

static bool rows_under(const char *env, bool all, char kernels[64], char bits[32]) {
    return rows_of("rows", env, all, kernels, bits);
}

/* f32 and bf16, at each level of the processor's instructions. */
static void products_by_onednn(void **state) {
    (void)state;
    static const char *const levels[] = {"avx512", "avx2", "base"};
    char kernels[64], bits[32], env[64];
    size_t failed = 0;
    for (size_t i = 0; i < BASE_COUNT(levels) && i < SETS; i++) {
        snprintf(env, sizeof env, "XT_CPU_FEATURES=%s", levels[i]);
        failed += !rows_of("onednn", env, all_rows, kernels, bits);
    }
    if (failed) fail_msg("%zu levels", failed);
}

static void every_set_of_kernels(void **state) {
    (void)state;
    char own[64], kernels[64], bits[32], env[64];
    size_t failed = !rows_under("-u OPENBLAS_CORETYPE", all_rows, own, bits);
    bool library = blas_get() != NULL;
    for (size_t i = 0; i < BASE_COUNT(cores) && i < SETS && library; i++) {
        if (cores[i].slow && !all_rows) continue;
        /* a set that would end the process is not taken: the processor's own is */
        const char *expected = blas_core_runs(cores[i].core) ? cores[i].core : own;
        snprintf(env, sizeof env, "OPENBLAS_CORETYPE=%s", cores[i].core);
        if (!rows_under(env, all_rows, kernels, bits)) {
            failed++;
        } else if (strcasecmp(kernels, expected) != 0) {
            failed++;
            print_error("%s ran the kernels of %s\n", env, kernels);
        }
    }
    if (SETS > 1) failed += !rows_under("XT_CPU_FEATURES=avx2", all_rows, kernels, bits);
    if (failed) fail_msg("%zu sets of kernels", failed);
    if (!library) printf("skip all sets of kernels but one: OpenBLAS is not installed\n");
}

/* What it says of threads, languages, places and memory: the bits are those of an environment that says nothing. */
static void whatever_the_environment_says(void **state) {
    (void)state;
    static const struct {
        const char *env;
        bool slow;
    } envs[] = {
        {"OMP_NUM_THREADS=7 OMP_DYNAMIC=true OMP_NESTED=true OPENBLAS_NUM_THREADS=3 GOTO_NUM_THREADS=5 "
         "MKL_NUM_THREADS=6 MKL_DYNAMIC=false LC_ALL=xx "
         "TZ=garbage "
         "MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 -u HOME",
         false},
        {"OMP_NUM_THREADS=1", true},
        {"OMP_NUM_THREADS=7", true},
        {"OMP_NUM_THREADS=64 OMP_MAX_ACTIVE_LEVELS=4 OMP_NESTED=true", true},
        {"OMP_THREAD_LIMIT=1", true},
        {"OMP_PROC_BIND=close OMP_PLACES=cores OMP_WAIT_POLICY=active", true},
        {"OPENBLAS_NUM_THREADS=3", true},
        {"OMP_DYNAMIC=true", true},
        {"GOTO_NUM_THREADS=4 OPENBLAS_MAIN_FREE=1", true},
        {"LC_ALL=xx LANG=de_DE.UTF-8 TZ=garbage -u HOME", true},
        {"MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1", true},
    };
    const char *core = blas_core_runs("Haswell") ? "Haswell" : "Nehalem";
    char kernels[64], bits[32], plain[32], env[1024];
    snprintf(env, sizeof env, "OPENBLAS_CORETYPE=%s", core);
    assert_true(rows_under(env, false, kernels, plain));
    for (size_t i = 0; i < BASE_COUNT(envs); i++) {
        if (envs[i].slow && !all_rows) continue;
        const char *gone = strstr(envs[i].env, " -u "); /* env's options come first */
        snprintf(env, sizeof env, "%s %.*s OPENBLAS_CORETYPE=%s", gone ? gone + 1 : "",
                 gone ? (int)(gone - envs[i].env) : 1000, envs[i].env, core);
        if (!rows_under(env, false, kernels, bits)) fail_msg("under %s", env);
        if (strcmp(bits, plain) != 0) fail_msg("under %s the bits are %s, without %s", env, bits, plain);
    }
}

/* --- convolutions by oneDNN --- */
/* Which of oneDNN's kernels computes one does not depend on the threads: near the line between two of them, too. With
 * AVX-512 one of those is a direct one, whose bits tell; both of narrower vectors divide sums by the threads. */
static void convolutions_by_onednn(void **state) {
    (void)state;
    static const struct {
        int n, in, out, high, wide, taps, stride, pad;
    } rows[] = {{4, 3, 9, 33, 31, 3, 1, 1}, {4, 3, 9, 31, 29, 3, 1, 1},  {2, 3, 9, 33, 31, 3, 1, 1},
                {8, 3, 8, 20, 21, 3, 2, 1}, {3, 4, 20, 17, 19, 5, 1, 2}, {1, 16, 33, 40, 38, 3, 1, 0},
                {6, 1, 8, 28, 28, 3, 1, 1}, {4, 16, 32, 33, 31, 3, 1, 0}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[700], name[64];
        int high = (rows[i].high + 2 * rows[i].pad - rows[i].taps) / rows[i].stride + 1,
            wide = (rows[i].wide + 2 * rows[i].pad - rows[i].taps) / rows[i].stride + 1;
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<%dx%dx%dx%dxf32>, %%k: tensor<%dx%dx%dx%dxf32>) -> "
                 "tensor<%dx%dx%dx%dxf32> {\n%%0 = stablehlo.convolution(%%x, %%k) dim_numbers = [b, f, 0, 1]x[o, i, "
                 "0, 1]->[b, f, 0, 1], window = {stride = [%d, %d], pad = [[%d, %d], [%d, %d]]} {feature_group_count = "
                 "1 : i64, batch_group_count = 1 : i64} : (tensor<%dx%dx%dx%dxf32>, tensor<%dx%dx%dx%dxf32>) -> "
                 "tensor<%dx%dx%dx%dxf32>\nreturn %%0 : tensor<%dx%dx%dx%dxf32>\n}\n",
                 rows[i].n, rows[i].in, rows[i].high, rows[i].wide, rows[i].out, rows[i].in, rows[i].taps, rows[i].taps,
                 rows[i].n, rows[i].out, high, wide, rows[i].stride, rows[i].stride, rows[i].pad, rows[i].pad,
                 rows[i].pad, rows[i].pad, rows[i].n, rows[i].in, rows[i].high, rows[i].wide, rows[i].out, rows[i].in,
                 rows[i].taps, rows[i].taps, rows[i].n, rows[i].out, high, wide, rows[i].n, rows[i].out, high, wide);
        snprintf(name, sizeof name, "convolution %zu", i);
        size_t n, m;
        char *one = bits_on(name, text, 1, &n);
        const unsigned asked = (unsigned)dnnl_cpu_isa_avx512_core, has = (unsigned)dnnl_get_effective_cpu_isa();
        for (int threads = 2; threads < 4 && (has & asked) == asked; threads++) {
            char *more = bits_on(name, text, threads, &m);
            if (n != m || memcmp(one, more, n) != 0)
                fail_msg("%s: other bits on %d threads than on one", name, threads);
            base_free(more);
        }
        base_free(one);
    }
}

int main(int argc, char **argv) {
    self = argv[0];
    all_rows = argc > 1 && strncmp(argv[1], "all", 3) == 0;
    if (argc > 1 && strstr(argv[1], "rows")) return run_rows();
    if (argc > 1 && strstr(argv[1], "onednn")) return run_of_onednn();
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_by_onednn), cmocka_unit_test(convolutions_by_onednn),
                                       cmocka_unit_test(every_set_of_kernels),
                                       cmocka_unit_test(whatever_the_environment_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
