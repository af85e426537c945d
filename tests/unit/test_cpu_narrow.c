/* Products with narrow matrices (vector/narrow.h): every instruction set against sums in f64 over the whole range of
 * each type; a row gives the same bits alone and among others, on any number of threads; and programs that widen a
 * matrix in StableHLO's own words take this way, with the interpreter's numbers, and those that look alike do not.
 * Products in whole numbers (vector/grouped.h) likewise, against what their rounding of x allows. */
#include "cpu_check.h"

#include "cpu/vector/grouped.h"
#include "cpu/vector/simd.h"

static uint32_t next(uint32_t *seed) {
    return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* A number of the matrix, by the types' definitions. */
static double number_at(narrow_kind kind, const unsigned char *m, int64_t row, int64_t p, int64_t depth,
                        int64_t group) {
    if (kind == NARROW_I8) return ((const int8_t *)m)[row * depth + p];
    if (kind == NARROW_U4) {
        int64_t half = group / 2, k = p % group;
        unsigned byte = m[row * depth / 2 + p / group * half + k % half];
        return (double)(k < half ? byte & 15 : byte >> 4) - 8;
    }
    const ir_type *t = ir_tensor(kind == NARROW_BF16 ? XT_BF16 : XT_F16, 1, (int64_t[]){depth});
    return array_get(&(array){t, (void *)(uintptr_t)(m + row * depth * 2)}, p);
}

/* Numbers of all sizes, none infinite: bf16 of small exponents, f16 with subnormals. */
static unsigned char *make_matrix(narrow_kind kind, int64_t rows, int64_t depth) {
    size_t bytes = (size_t)rows * narrow_row_bytes(kind, depth);
    unsigned char *m = base_malloc(bytes);
    uint32_t seed = 7;
    assert_non_null(m);
    for (size_t i = 0; i < bytes; i++) m[i] = (unsigned char)next(&seed);
    for (size_t i = 0; kind <= NARROW_F16 && i < bytes / 2; i++) {
        uint16_t bits = (uint16_t)(next(&seed) & 0x8000);
        bits |= kind == NARROW_BF16 ? (uint16_t)(0x3f00 + next(&seed) % 512) : (uint16_t)(next(&seed) % 0x4000);
        memcpy(m + 2 * i, &bits, 2);
    }
    return m;
}

typedef struct size {
    int64_t m, rows, depth, group;
} size;
static const size sizes[] = {{1, 1, 32, 32},    {1, 37, 96, 32},  {3, 18, 128, 64}, {4, 5, 64, 64},
                             {7, 33, 192, 96},  {5, 19, 416, 32}, {2, 21, 320, 64}, {1, 18, 384, 128},
                             {6, 22, 512, 256}, {1, 17, 768, 96}};
static const int64_t odd_depths[] = {1, 17, 100}; /* of floats */

static void product(narrow_kind kind, size s, const narrow_set *set, const float *x, const void *matrix,
                    const float *factors, float *out) {
    narrow_product p = {.kind = kind, .batch = 1, .m = s.m, .rows = s.rows, .depth = s.depth, .group = s.group};
    cpu_team team = {.threads = 1};
    narrow_plan_for(&p, set);
    float *scratch = base_malloc(narrow_scratch(&p) + 1);
    assert_non_null(scratch);
    narrow_run(&p, &team, x, matrix, factors, out, scratch);
    base_free(scratch);
    team_deinit(&team);
}

static void check_kernel(narrow_kind kind, size s, const char *name, const narrow_set *set) {
    unsigned char *matrix = make_matrix(kind, s.rows, s.depth);
    int64_t groups = s.depth / s.group;
    float *x = base_malloc((size_t)(s.m * s.depth) * sizeof *x), *out = base_malloc((size_t)(s.m * s.rows) * 4),
          *alone = base_malloc((size_t)s.rows * 4), *factors = base_malloc((size_t)(s.rows * groups + 1) * 4);
    uint32_t seed = 3;
    assert_true(x && out && alone && factors);
    for (int64_t i = 0; i < s.m * s.depth; i++) x[i] = (float)(next(&seed) % 4096) / 2048 - 1;
    for (int64_t i = 0; i < s.rows * groups; i++) factors[i] = (float)(next(&seed) % 100) / 64;
    bool whole = kind > NARROW_F16;
    product(kind, s, set, x, matrix, whole ? factors : NULL, out);
    for (int64_t i = 0; i < s.m; i++) {
        for (int64_t r = 0; r < s.rows; r++) {
            double want = 0, size_of = 1;
            for (int64_t p = 0; p < s.depth; p++) {
                double v = number_at(kind, matrix, r, p, s.depth, s.group) * (double)x[i * s.depth + p];
                if (whole) v *= (double)factors[r * groups + p / s.group];
                want += v;
                size_of += fabs(v);
            }
            if (!(fabs(want - (double)out[i * s.rows + r]) <= 1e-6 * size_of))
                fail_msg("%s kind %d, %lld x %lld x %lld: %g instead of %g", name, (int)kind, (long long)s.m,
                         (long long)s.rows, (long long)s.depth, (double)out[i * s.rows + r], want);
        }
        product(kind, (size){1, s.rows, s.depth, s.group}, set, x + i * s.depth, matrix, whole ? factors : NULL, alone);
        assert_memory_equal(alone, out + i * s.rows, (size_t)s.rows * sizeof *alone);
    }
    base_free(matrix);
    base_free(x);
    base_free(out);
    base_free(alone);
    base_free(factors);
}

static const struct {
    const char *name;
    const narrow_set *set;
} floats[] = {{"base", &narrow_base},
#if defined(__x86_64__)
              {"avx2", &narrow_avx2},
              {"avx512", &narrow_avx512}
#endif
};
static bool set_here(size_t k) { /* by the order above: simd_level's */
    return k == 0 || simd_level() >= (int)k;
}

static void test_kernels(void **state) {
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(floats); k++)
        for (int kind = 0; set_here(k) && kind < NARROW_KINDS; kind++) {
            for (size_t i = 0; i < BASE_COUNT(sizes); i++)
                check_kernel((narrow_kind)kind, sizes[i], floats[k].name, floats[k].set);
            for (size_t i = 0; kind <= NARROW_F16 && i < BASE_COUNT(odd_depths); i++)
                check_kernel((narrow_kind)kind, (size){2, 9, odd_depths[i], odd_depths[i]}, floats[k].name,
                             floats[k].set);
        }
}

static void test_threads(void **state) {
    (void)state;
    enum { M = 2, ROWS = 1003, DEPTH = 256 };
    unsigned char *matrix = make_matrix(NARROW_BF16, ROWS, DEPTH);
    static float x[M * DEPTH], out[2][M * ROWS];
    for (int i = 0; i < M * DEPTH; i++) x[i] = (float)(i % 13) - 6;
    for (int t = 0; t < 2; t++) {
        narrow_product p = {.kind = NARROW_BF16, .batch = 1, .m = M, .rows = ROWS, .depth = DEPTH };
        cpu_team team = {.threads = t ? 3 : 1};
        narrow_plan(&p);
        team_enter(&team, true);
        narrow_run(&p, &team, x, matrix, NULL, out[t], NULL);
        team_leave(&team);
        team_deinit(&team);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    base_free(matrix);
}

/* --- batches --- */
typedef struct batch_size {
    int64_t n, m, rows, depth;
} batch_size;
static const batch_size batch_sizes[] = {{1, 1, 64, 640},   {3, 1, 65, 33},   {4, 8, 64, 200},
                                         {2, 5, 130, 64},   {2, 32, 16, 17},  {12, 1, 64, 128},
                                         {1, 9, 300, 1000}, {1, 1, 16, 5000}, {5, 3, 17, 1}};

static void batch(narrow_kind kind, bool across, batch_size s, const narrow_set *set, int threads, const float *x,
                  const void *matrix, float *out) {
    narrow_product p = {
        .kind = kind, .across = across, .batch = s.n, .m = s.m, .rows = s.rows, .depth = s.depth, .group = s.depth};
    cpu_team team = {.threads = threads};
    narrow_plan_for(&p, set);
    float *scratch = base_malloc(narrow_scratch(&p) + 1);
    assert_non_null(scratch);
    team_enter(&team, true);
    narrow_run(&p, &team, x, matrix, NULL, out, scratch);
    team_leave(&team);
    base_free(scratch);
    team_deinit(&team);
}

/* Against sums in f64; on three threads; each row of x alone. */
static void check_batch(narrow_kind kind, bool across, batch_size s, const char *name, const narrow_set *set) {
    unsigned char *matrix = make_matrix(kind, s.n * s.rows, s.depth);
    int64_t given = s.n * s.m * s.depth, cells = s.n * s.m * s.rows;
    float *x = base_malloc((size_t)given * sizeof *x), *out = base_malloc((size_t)cells * sizeof *out),
          *again = base_malloc((size_t)cells * sizeof *out), *one = base_malloc((size_t)(s.n * s.depth) * sizeof *one);
    uint32_t seed = 5;
    assert_true(x && out && again && one);
    for (int64_t i = 0; i < given; i++) x[i] = (float)(next(&seed) % 4096) / 2048 - 1;
    batch(kind, across, s, set, 1, x, matrix, out);
    batch(kind, across, s, set, 3, x, matrix, again);
    assert_memory_equal(out, again, (size_t)cells * sizeof *out);
    for (int64_t i = 0; i < cells; i++) {
        int64_t q = i / (s.m * s.rows), r = i % s.rows;
        double want = 0, size_of = 1;
        for (int64_t p = 0; p < s.depth; p++) {
            int64_t at = across ? (q * s.depth + p) * s.rows + r : (q * s.rows + r) * s.depth + p;
            double v = number_at(kind, matrix, 0, at, s.n * s.rows * s.depth, 1) * (double)x[i / s.rows * s.depth + p];
            want += v;
            size_of += fabs(v);
        }
        if (!(fabs(want - (double)out[i]) <= 1e-6 * size_of))
            fail_msg("%s kind %d%s, %lld x %lld x %lld x %lld: %g instead of %g", name, (int)kind,
                     across ? " across" : "", (long long)s.n, (long long)s.m, (long long)s.rows, (long long)s.depth,
                     (double)out[i], want);
    }
    for (int64_t j = 0; j < s.m; j++) {
        for (int64_t q = 0; q < s.n; q++)
            memcpy(one + q * s.depth, x + (q * s.m + j) * s.depth, (size_t)s.depth * sizeof *x);
        batch(kind, across, (batch_size){s.n, 1, s.rows, s.depth}, set, 1, one, matrix, again);
        for (int64_t q = 0; q < s.n; q++)
            assert_memory_equal(again + q * s.rows, out + (q * s.m + j) * s.rows, (size_t)s.rows * sizeof *out);
    }
    base_free(matrix);
    base_free(x);
    base_free(out);
    base_free(again);
    base_free(one);
}

static void test_batches(void **state) {
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(floats); k++)
        for (size_t i = 0; set_here(k) && i < 4 * BASE_COUNT(batch_sizes); i++)
            check_batch(i & 1 ? NARROW_F16 : NARROW_BF16, i & 2, batch_sizes[i / 4], floats[k].name, floats[k].set);
}

/* --- whole numbers --- */
static void whole_product(narrow_kind kind, size s, const grouped_set *set, int threads, const float *x,
                          const void *matrix, const float *factors, float *out) {
    grouped_product p = {.kind = kind, .m = s.m, .rows = s.rows, .depth = s.depth, .group = s.group};
    cpu_team team = {.threads = threads};
    grouped_plan_for(&p, set, threads);
    void *scratch = base_malloc(p.scratch_bytes);
    assert_non_null(scratch);
    team_enter(&team, true);
    grouped_run(&p, &team, x, matrix, factors, out, scratch);
    team_leave(&team);
    team_deinit(&team);
    base_free(scratch);
}

/* How far a sum may be from that of f32: half a step of x, 1/32767 of its group's largest size, at each number, besides
 * what f32 sums lose. */
static double largest_of(const float *x, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)x[i]));
    return most;
}
static void check_whole(narrow_kind kind, size s, const char *name, const grouped_set *set) {
    unsigned char *matrix = make_matrix(kind, s.rows, s.depth);
    int64_t groups = s.depth / s.group, cells = s.m * s.rows;
    float *x = base_malloc((size_t)(s.m * s.depth) * sizeof *x), *out[2], *alone = base_malloc((size_t)s.rows * 4),
          *factors = base_malloc((size_t)(s.rows * groups) * 4);
    uint32_t seed = 3;
    for (int i = 0; i < 2; i++) assert_non_null(out[i] = base_malloc((size_t)cells * sizeof **out));
    assert_true(x && alone && factors);
    /* Groups of sizes from 2^-20 to 2^11, some of zeros. */
    for (int64_t i = 0; i < s.m * s.depth; i++)
        x[i] = ldexpf((float)(next(&seed) % 4096) / 2048 - 1, (int)(i / s.group % 32) - 20) * (i / s.group % 7 != 5);
    for (int64_t i = 0; i < s.rows * groups; i++) factors[i] = (float)(next(&seed) % 100) / 64;
    for (int t = 0; t < 2; t++) whole_product(kind, s, set, t ? 3 : 1, x, matrix, factors, out[t]);
    assert_memory_equal(out[0], out[1], (size_t)cells * sizeof **out);
    for (int64_t i = 0; i < s.m; i++) {
        for (int64_t r = 0; r < s.rows; r++) {
            double want = 0, most = 1e-30;
            for (int64_t p = 0; p < s.depth; p++) {
                double w = number_at(kind, matrix, r, p, s.depth, s.group) * (double)factors[r * groups + p / s.group];
                double v = w * (double)x[i * s.depth + p];
                want += v;
                most += fabs(v) * 1e-6 +
                        fabs(w) * largest_of(x + i * s.depth + p / s.group * s.group, s.group) / 32767 * 0.502;
            }
            if (!(fabs(want - (double)out[0][i * s.rows + r]) <= most))
                fail_msg("%s kind %d, %lld x %lld x %lld: %g instead of %g, %g apart at most", name, (int)kind,
                         (long long)s.m, (long long)s.rows, (long long)s.depth, (double)out[0][i * s.rows + r], want,
                         most);
        }
        whole_product(kind, (size){1, s.rows, s.depth, s.group}, set, 1, x + i * s.depth, matrix, factors, alone);
        assert_memory_equal(alone, out[0] + i * s.rows, (size_t)s.rows * sizeof *alone);
    }
    /* What is no number is none in its row, and in no other. */
    x[s.depth - 1] = s.m % 2 ? NAN : -INFINITY;
    whole_product(kind, s, set, 1, x, matrix, factors, out[1]);
    for (int64_t r = 0; r < s.rows; r++) assert_true(isnan(out[1][r]));
    assert_memory_equal(out[0] + s.rows, out[1] + s.rows, (size_t)(cells - s.rows) * sizeof **out);
    base_free(matrix);
    base_free(x);
    base_free(out[0]);
    base_free(out[1]);
    base_free(alone);
    base_free(factors);
}

static void test_whole(void **state) {
    (void)state;
    struct {
        const char *name;
        const grouped_set *set;
        bool here;
    } sets[] = {
#if defined(__x86_64__)
        {"avx2", &grouped_avx2, simd_level() >= 1},
        {"avx512", &grouped_avx512, simd_level() >= 2},
        {"vnni", &grouped_vnni, simd_level() >= 2 && __builtin_cpu_supports("avx512vnni")},
#endif
        {"this processor's", grouped_set_here(), grouped_set_here() != NULL},
    };
    for (size_t k = 0; k < BASE_COUNT(sets); k++)
        for (int kind = NARROW_I8; sets[k].here && kind < NARROW_KINDS; kind++)
            for (size_t i = 0; i < BASE_COUNT(sizes); i++)
                check_whole((narrow_kind)kind, sizes[i], sets[k].name, sets[k].set);
}

/* The largest sums that integers of 32 bits hold, and a group that is longer. */
static void test_whole_extremes(void **state) {
    (void)state;
    assert_true(grouped_fits(NARROW_I8, 512) && !grouped_fits(NARROW_I8, 544));
    assert_true(grouped_fits(NARROW_U4, 8192) && !grouped_fits(NARROW_U4, 8224) && !grouped_fits(NARROW_U4, 48));
    assert_false(grouped_fits(NARROW_BF16, 32));
    enum { GROUP = 512 };
    static float x[2 * GROUP], factors[2] = {1, 1}, out[2];
    static int8_t matrix[2 * GROUP];
    for (int i = 0; i < 2 * GROUP; i++) x[i] = -3, matrix[i] = -128;
    if (!grouped_set_here()) return;
    whole_product(NARROW_I8, (size){1, 1, 2 * GROUP, GROUP}, grouped_set_here(), 1, x, matrix, factors, out);
    assert_float_equal(out[0], 3 * 128 * 2 * GROUP, 1);
}

/* --- programs --- */
typedef struct program {
    const char *name, *text;
    bool narrow; /* it reads the narrow matrix */
} program;
#define FLOATS(type, m, out)                                                                            \
    "func.func @main(%x: tensor<" m "x48xf32>, %w: tensor<20x48x" type ">) -> tensor<" m "x20xf32> {\n" \
    "%f = stablehlo.convert %w : (tensor<20x48x" type ">) -> tensor<20x48xf32>\n"                       \
    "%t = stablehlo.transpose %f, dims = [1, 0] : (tensor<20x48xf32>) -> tensor<48x20xf32>\n"           \
    "%y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<" m "x48xf32>, "         \
    "tensor<48x20xf32>) -> tensor<" m "x20xf32>\nreturn " out " : tensor<" m "x20xf32>\n}\n"
/* Queries [2,3,m,32] with keys [2,3,20,32] or values [2,3,32,20], each with a transpose that is one or none. */
#define BATCH(type, m, kept, dims, turned, contract)                                                               \
    "func.func @main(%x: tensor<2x3x" m "x32xf32>, %w: tensor<" kept "x" type ">) -> tensor<2x3x" m "x20xf32> {\n" \
    "%f = stablehlo.convert %w : (tensor<" kept "x" type ">) -> tensor<" kept "xf32>\n"                            \
    "%t = stablehlo.transpose %f, dims = [" dims "] : (tensor<" kept "xf32>) -> tensor<" turned "xf32>\n"          \
    "%y = stablehlo.dot_general %x, %t, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [" contract "] " \
    ": (tensor<2x3x" m "x32xf32>, tensor<" turned "xf32>) -> tensor<2x3x" m "x20xf32>\n"                           \
    "return %y : tensor<2x3x" m "x20xf32>\n}\n"
/* 33 rows of x that bf16 holds exactly, so that rounding them again changes nothing. */
#define EXACT(type)                                                                                                \
    "func.func @main(%g: tensor<33x48xf32>, %w: tensor<20x48x" type ">) -> tensor<33x20xf32> {\n"                  \
    "%r = stablehlo.convert %g : (tensor<33x48xf32>) -> tensor<33x48xbf16>\n"                                      \
    "%x = stablehlo.convert %r : (tensor<33x48xbf16>) -> tensor<33x48xf32>\n"                                      \
    "%f = stablehlo.convert %w : (tensor<20x48x" type ">) -> tensor<20x48xf32>\n"                                  \
    "%y = stablehlo.dot_general %x, %f, contracting_dims = [1] x [1] : (tensor<33x48xf32>, tensor<20x48xf32>) -> " \
    "tensor<33x20xf32>\nreturn %y : tensor<33x20xf32>\n}\n"
#define I8(group, groups)                                                                                            \
    "func.func @main(%x: tensor<1x3x64xf32>, %q: tensor<10x" groups "x" group "xi8>, %s: tensor<10x" groups          \
    "xf32>) -> tensor<1x3x10xf32> {\n"                                                                               \
    "%f = stablehlo.convert %q : (tensor<10x" groups "x" group "xi8>) -> tensor<10x" groups "x" group "xf32>\n"      \
    "%b = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<10x" groups "xf32>) -> tensor<10x" groups "x" group \
    "xf32>\n"                                                                                                        \
    "%p = stablehlo.multiply %f, %b : tensor<10x" groups "x" group "xf32>\n"                                         \
    "%w = stablehlo.reshape %p : (tensor<10x" groups "x" group "xf32>) -> tensor<10x64xf32>\n"                       \
    "%y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1] : (tensor<1x3x64xf32>, tensor<10x64xf32>) "     \
    "-> tensor<1x3x10xf32>\nreturn %y : tensor<1x3x10xf32>\n}\n"
#define U4(mask, shift, less, dims)                                                                                \
    "func.func @main(%x: tensor<2x64xf32>, %q: tensor<64x2x16xui8>, %s: tensor<64x2xf32>) -> tensor<2x64xf32> {\n" \
    "%c = stablehlo.constant dense<" mask "> : tensor<64x2x16xui8>\n"                                              \
    "%four = stablehlo.constant dense<" shift "> : tensor<64x2x16xui8>\n"                                          \
    "%less = stablehlo.constant dense<" less "> : tensor<64x2x32xf32>\n"                                           \
    "%l = stablehlo.and %q, %c : tensor<64x2x16xui8>\n"                                                            \
    "%h = stablehlo.shift_right_logical %q, %four : tensor<64x2x16xui8>\n"                                         \
    "%n = stablehlo.concatenate %l, %h, dim = 2 : (tensor<64x2x16xui8>, tensor<64x2x16xui8>) -> "                  \
    "tensor<64x2x32xui8>\n"                                                                                        \
    "%f = stablehlo.convert %n : (tensor<64x2x32xui8>) -> tensor<64x2x32xf32>\n"                                   \
    "%d = stablehlo.subtract %f, %less : tensor<64x2x32xf32>\n"                                                    \
    "%b = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<64x2xf32>) -> tensor<64x2x32xf32>\n"              \
    "%p = stablehlo.multiply %b, %d : tensor<64x2x32xf32>\n"                                                       \
    "%w = stablehlo.reshape %p : (tensor<64x2x32xf32>) -> tensor<64x64xf32>\n"                                     \
    "%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [" dims "] : (tensor<2x64xf32>, "                 \
    "tensor<64x64xf32>) -> tensor<2x64xf32>\nreturn %y : tensor<2x64xf32>\n}\n"
/* 40 rows of x, and what else the program makes of the matrix %w. */
#define MANY(more, result, type)                                                                                   \
    "func.func @main(%x: tensor<40x64xf32>, %q: tensor<16x2x32xi8>, %s: tensor<16x2xf32>) -> " type " {\n"         \
    "%f = stablehlo.convert %q : (tensor<16x2x32xi8>) -> tensor<16x2x32xf32>\n"                                    \
    "%b = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<16x2xf32>) -> tensor<16x2x32xf32>\n"              \
    "%p = stablehlo.multiply %f, %b : tensor<16x2x32xf32>\n"                                                       \
    "%w = stablehlo.reshape %p : (tensor<16x2x32xf32>) -> tensor<16x64xf32>\n"                                     \
    "%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<40x64xf32>, tensor<16x64xf32>) -> " \
    "tensor<40x16xf32>\n" more "return " result " : " type "\n}\n"
#define BACK                                                                                                       \
    "%d = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<40x16xf32>, tensor<16x64xf32>) -> " \
    "tensor<40x64xf32>\n"
static const program programs[] = {{"bf16", FLOATS("bf16", "3", "%y"), true},
                                   {"f16", FLOATS("f16", "1", "%y"), true},
                                   {"f64", FLOATS("f64", "3", "%y"), false},
                                   {"many rows", FLOATS("bf16", "33", "%y"), false},
                                   {"i8", I8("32", "2"), true},
                                   {"i8, one group", I8("64", "1"), true},
                                   {"i8, small groups", I8("16", "4"), false},
                                   {"u4", U4("15", "4", "8.0", "1"), true},
                                   {"other bits", U4("7", "4", "8.0", "1"), false},
                                   {"other places", U4("15", "3", "8.0", "1"), false},
                                   {"no sign", U4("15", "4", "0.0", "1"), false},
                                   {"summed over the rows", U4("15", "4", "8.0", "0"), false}};

static const program batches[] = {
    {"keys", BATCH("f16", "1", "2x3x20x32", "0, 1, 3, 2", "2x3x32x20", "2"), true},
    {"keys as they lie", BATCH("bf16", "4", "2x3x20x32", "0, 1, 2, 3", "2x3x20x32", "3"), true},
    {"values", BATCH("f16", "8", "2x3x32x20", "0, 1, 2, 3", "2x3x32x20", "2"), true},
    {"values, turned", BATCH("bf16", "1", "2x3x32x20", "0, 1, 3, 2", "2x3x20x32", "3"), true},
    {"many queries", BATCH("f16", "33", "2x3x20x32", "0, 1, 3, 2", "2x3x32x20", "2"), false},
    {"another batch", BATCH("f16", "1", "3x2x20x32", "1, 0, 2, 3", "2x3x20x32", "3"), false},
    {"f64", BATCH("f64", "1", "2x3x20x32", "0, 1, 3, 2", "2x3x32x20", "2"), false}};

static size_t thunks_of(const char *kernel, const char *text) {
    cpu_exec *e = NULL;
    size_t n = 0;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), text);
    for (size_t t = 0; t < e->plan.n_thunks; t++) n += strcmp(e->plan.thunks[t].kernel->name, kernel) == 0;
    cpu_exec_free(e);
    return n;
}

/* Many rows with a matrix of bf16: rounded to bf16 where XT_CPU_ROUNDED_PRODUCTS says so and the processor multiplies
 * such numbers; never with one of f16. */
static void test_rounded_rows(void **state) {
    (void)state;
    const char *texts[2] = {EXACT("bf16"), EXACT("f16")};
    for (size_t k = 0; k < 4; k++) {
        const char *text = texts[k % 2];
        cpu_exec *e = NULL;
        size_t rounded = 0;
        setenv("XT_CPU_ROUNDED_PRODUCTS", k < 2 ? "on" : "off", 1);
        expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), text);
        for (size_t t = 0; t < e->plan.n_thunks; t++) {
            const ir_op *op = e->plan.thunks[t].op;
            rounded += op && op->code == OP_dot_general && op->in[0]->type->dtype == XT_BF16;
        }
        cpu_exec_free(e);
        assert_int_equal(rounded, k == 0 && simd_has_bf16());
        differ("rounded rows", text, 1e-5, 2, false);
    }
    unsetenv("XT_CPU_ROUNDED_PRODUCTS");
}

/* Many rows in whole numbers where XT_CPU_ROUNDED_PRODUCTS says so, and the way of a derivative never. */
static void test_many_rows(void **state) {
    (void)state;
    const char *forward = MANY("", "%y", "tensor<40x16xf32>"), *both = MANY(BACK, "%d", "tensor<40x64xf32>");
    for (size_t on = 0; on < 2; on++) {
        setenv("XT_CPU_ROUNDED_PRODUCTS", on ? "on" : "off", 1);
        size_t here = on && grouped_set_here();
        assert_int_equal(thunks_of("grouped-product", forward), here);
        assert_int_equal(thunks_of("grouped-product", both), here);
        differ("many rows", forward, on ? 1e-3 : 1e-5, 2, false);
        if (!on) differ("many rows, both ways", both, 1e-4, 2, false); /* sums of thousands nearly meet */
    }
    unsetenv("XT_CPU_ROUNDED_PRODUCTS");
    assert_int_equal(thunks_of("grouped-product", forward), 0);
}

static void test_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(programs); i++) {
        if (thunks_of("narrow-product", programs[i].text) != programs[i].narrow)
            fail_msg("%s: it is %sread as it lies", programs[i].name, programs[i].narrow ? "not " : "");
        differ(programs[i].name, programs[i].text, 1e-5, 2, false);
    }
    for (size_t i = 0; i < BASE_COUNT(batches); i++) {
        if (thunks_of("narrow-product", batches[i].text) != batches[i].narrow)
            fail_msg("%s: they are %sread as they lie", batches[i].name, batches[i].narrow ? "not " : "");
        differ(batches[i].name, batches[i].text, 1e-5, 2, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels),        cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_batches),        cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_whole_extremes), cmocka_unit_test(test_programs),
                                       cmocka_unit_test(test_many_rows),      cmocka_unit_test(test_rounded_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
