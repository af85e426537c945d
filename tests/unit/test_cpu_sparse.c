/* Sums and dots of gathered rows (vector/sparse.h): every instruction set against sums in f64, over widths around the
 * vectors', edges in order and not, duplicates, rows without edges, places outside, masks; the same bits on any number
 * of threads; and programs that say so in StableHLO's own words take this way, with the interpreter's numbers, and
 * those that look alike do not. */
#include "cpu_check.h"

#include "cpu/vector/simd.h"
#include "cpu/vector/sparse.h"

static uint32_t next(uint32_t *seed) {
    return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}
static const xt_dtype dtypes[SPARSE_KINDS] = {XT_F32, XT_F64, XT_BF16};

typedef struct size {
    int64_t edges, from, to, groups, width;
    bool ordered, wide;
} size;
static const size sizes[] = {
    {1, 1, 1, 1, 1, true, true},         {7, 3, 5, 1, 3, true, false},       {300, 40, 31, 1, 7, true, true},
    {300, 40, 31, 1, 7, false, true},    {1000, 9, 200, 1, 64, true, true},  {1000, 9, 200, 1, 64, false, false},
    {513, 20, 3, 1, 129, true, false},   {513, 20, 3, 1, 129, false, true},  {271, 50, 60, 3, 5, true, true},
    {271, 50, 60, 3, 5, false, true},    {900, 30, 1, 2, 21, true, true},    {5000, 300, 700, 1, 33, true, true},
    {5000, 300, 700, 4, 8, false, true}, {3000, 10, 400, 1, 1, false, true},
};

typedef struct problem {
    size s;
    sparse_kind kind;
    array x, other, weight, begin, out;
    void *from, *to, *scratch;
    bool *mask;
    bool with_mask, with_weight, with_begin, dots;
} problem;

static array numbers(xt_dtype t, int64_t n, uint32_t *seed) {
    array a = {0};
    assert_null(array_new(ir_tensor(t, 1, &n), &a));
    for (int64_t i = 0; i < n; i++) array_set(&a, i, (double)(next(seed) % 512) / 256 - 1);
    return a;
}
static int64_t place(const problem *p, const void *places, int64_t e) {
    return p->s.wide ? ((const int64_t *)places)[e] : ((const int32_t *)places)[e];
}
static void set_place(const problem *p, void *places, int64_t e, int64_t to) {
    if (p->s.wide)
        ((int64_t *)places)[e] = to;
    else
        ((int32_t *)places)[e] = (int32_t)to;
}
static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Places from two before the first row to two behind the last. */
static problem make(size s, sparse_kind kind) {
    problem p = {.s = s, .kind = kind};
    uint32_t seed = 5;
    int64_t row = s.groups * s.width, *to = base_malloc((size_t)s.edges * sizeof *to);
    p.x = numbers(dtypes[kind], s.from * row, &seed);
    p.other = numbers(dtypes[kind], s.to * row, &seed);
    p.weight = numbers(dtypes[kind], s.edges * s.groups, &seed);
    p.begin = numbers(dtypes[kind], s.to * row, &seed);
    p.from = base_malloc((size_t)s.edges * 8);
    p.to = base_malloc((size_t)s.edges * 8);
    p.mask = base_malloc((size_t)s.edges);
    assert_true(to && p.from && p.to && p.mask);
    for (int64_t e = 0; e < s.edges; e++) {
        to[e] = (int64_t)(next(&seed) % (uint32_t)(s.to + 4)) - 2;
        if (s.to > 100 && to[e] % 3 == 0) to[e] = 50; /* a row of many edges, others of none */
        set_place(&p, p.from, e, (int64_t)(next(&seed) % (uint32_t)(s.from + 4)) - 2);
        p.mask[e] = next(&seed) % 4 != 0;
    }
    if (s.ordered) qsort(to, (size_t)s.edges, sizeof *to, by_number);
    for (int64_t e = 0; e < s.edges; e++) set_place(&p, p.to, e, to[e]);
    base_free(to);
    return p;
}
static void drop(problem *p) {
    array *all[] = {&p->x, &p->other, &p->weight, &p->begin};
    for (size_t i = 0; i < BASE_COUNT(all); i++) array_free(all[i]);
    base_free(p->from);
    base_free(p->to);
    base_free(p->mask);
}

static array run(const problem *p, const sparse_set *set, int threads, bool in_place) {
    int64_t n = p->dots ? p->s.edges * p->s.groups : p->s.to * p->s.groups * p->s.width;
    sparse_plan plan = {.kind = p->kind,
                        .edges = p->s.edges,
                        .groups = p->s.groups,
                        .width = p->s.width,
                        .from = {p->s.wide, p->s.from},
                        .to = {p->s.wide, p->s.to}};
    cpu_team team = {.threads = threads};
    array out = {0};
    assert_null(array_new(ir_tensor(dtypes[p->kind], 1, &n), &out));
    if (in_place) memcpy(out.data, p->begin.data, ir_type_bytes(out.type));
    sparse_begin(&plan, set, threads);
    void *scratch = base_malloc(plan.scratch_bytes);
    assert_non_null(scratch);
    sparse_arrays a = {.x = p->x.data,
                       .other = p->other.data,
                       .from = p->from,
                       .to = p->to,
                       .weight = p->with_weight ? p->weight.data : NULL,
                       .mask = p->with_mask ? p->mask : NULL,
                       .begin = !p->with_begin ? NULL
                                : in_place     ? out.data
                                               : p->begin.data,
                       .out = out.data,
                       .scratch = scratch};
    team_enter(&team, true);
    (p->dots ? sparse_dots : sparse_sums)(&plan, &team, &a);
    team_leave(&team);
    team_deinit(&team);
    base_free(scratch);
    return out;
}

static int64_t within(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}
/* In f64, with the sizes of what is summed. */
static void want(const problem *p, double *out, double *size_of) {
    const size *s = &p->s;
    int64_t row = s->groups * s->width, n = p->dots ? s->edges * s->groups : s->to * row;
    for (int64_t i = 0; i < n; i++) {
        out[i] = p->dots || !p->with_begin ? 0 : array_get(&p->begin, i);
        size_of[i] = fabs(out[i]);
    }
    for (int64_t e = 0; e < s->edges; e++) {
        int64_t to = place(p, p->to, e), from = within(place(p, p->from, e), s->from);
        if (!p->dots && (to < 0 || to >= s->to)) continue;
        to = within(to, s->to);
        for (int64_t c = 0; c < row; c++) {
            double w = p->with_weight ? array_get(&p->weight, e * s->groups + c / s->width) : 1;
            double v = p->with_mask && !p->mask[e] ? 0 : array_get(&p->x, from * row + c);
            v *= p->dots ? array_get(&p->other, to * row + c) : w;
            int64_t at = p->dots ? e * s->groups + c / s->width : to * row + c;
            out[at] += v;
            size_of[at] += fabs(v);
        }
    }
}

static void check_problem(const problem *p, const char *name, const sparse_set *set) {
    array one = run(p, set, 1, false);
    size_t bytes = ir_type_bytes(one.type);
    double *out = base_malloc((size_t)one.type->count * sizeof *out),
           *size_of = base_malloc((size_t)one.type->count * 8);
    double close = p->kind == SPARSE_F64 ? 1e-14 : p->kind == SPARSE_F32 ? 2e-6 : 4e-3;
    assert_true(out && size_of);
    want(p, out, size_of);
    for (int64_t i = 0; i < one.type->count; i++)
        if (!(fabs(array_get(&one, i) - out[i]) <= close * size_of[i]))
            fail_msg("%s %s, %lld edges, %lld x %lld%s%s%s%s: [%lld] is %g instead of %g", name,
                     xt_dtype_name(dtypes[p->kind]), (long long)p->s.edges, (long long)p->s.groups,
                     (long long)p->s.width, p->dots ? ", dots" : ", sums", p->s.ordered ? ", in order" : "",
                     p->with_mask ? ", mask" : "", p->with_begin ? ", added" : "", (long long)i, array_get(&one, i),
                     out[i]);
    for (int threads = 2; threads <= 5; threads += 3) {
        array many = run(p, set, threads, p->with_begin && !p->dots);
        if (memcmp(one.data, many.data, bytes) != 0)
            fail_msg("%s %s, %lld edges of %lld numbers: other bits on %d threads", name,
                     xt_dtype_name(dtypes[p->kind]), (long long)p->s.edges, (long long)p->s.width, threads);
        array_free(&many);
    }
    array_free(&one);
    base_free(out);
    base_free(size_of);
}

static void test_kernels(void **state) {
    (void)state;
    struct {
        const char *name;
        const sparse_set *set;
        bool here;
    } sets[] = {
        {"base", &sparse_base, true},
#if defined(__x86_64__)
        {"avx2", &sparse_avx2, simd_level() >= 1},
        {"avx512", &sparse_avx512, simd_level() >= 2},
#endif
    };
    for (size_t k = 0; k < BASE_COUNT(sets); k++)
        for (size_t i = 0; sets[k].here && i < BASE_COUNT(sizes); i++)
            for (int kind = 0; kind < SPARSE_KINDS; kind++) {
                problem p = make(sizes[i], (sparse_kind)kind);
                for (int way = 0; way < 16; way++) {
                    p.dots = way & 1, p.with_mask = way & 2, p.with_weight = way & 4, p.with_begin = way & 8;
                    check_problem(&p, sets[k].name, sets[k].set);
                }
                drop(&p);
            }
}

/* Of an edge without a mask, weights that are no numbers spread as IEEE says; a masked edge reads zeros. */
static void test_not_finite(void **state) {
    (void)state;
    problem p = make((size){4, 2, 3, 1, 20, true, true}, SPARSE_F32);
    const int64_t from[] = {0, 1, 0, 1}, to[] = {0, 0, 1, 2};
    memcpy(p.from, from, sizeof from);
    memcpy(p.to, to, sizeof to);
    p.with_mask = p.with_weight = true;
    for (int e = 0; e < 4; e++) p.mask[e] = e != 2;
    for (int c = 0; c < 20; c++) array_set(&p.x, 20 + c, (double)INFINITY);
    array_set(&p.weight, 2, (double)INFINITY); /* times the zeros that a masked edge reads */
    array_set(&p.weight, 3, 2);
    array out = run(&p, NULL, 2, false);
    for (int c = 0; c < 20; c++) {
        assert_true(isinf(array_get(&out, 0 + c)) || isnan(array_get(&out, 0 + c)));
        assert_true(isnan(array_get(&out, 20 + c)));
        assert_true(isinf(array_get(&out, 40 + c)));
    }
    array_free(&out);
    drop(&p);
}

/* --- programs --- */
typedef struct program {
    const char *name, *text, *kernel; /* kernel: NULL where the chain is not one */
} program;
#define GATHER(out, x, at, rows, rest, sizes, dims)                                                                 \
    "%" out " = \"stablehlo.gather\"(%" x ", %" at ") <{dimension_numbers = #stablehlo.gather<offset_dims = [" dims \
    "], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, "     \
    "slice_sizes = array<i64: 1" sizes ">}> : (tensor<" rows rest ">, tensor<90xi64>) -> tensor<90x" rest ">\n"
#define SCATTER(out, begin, at, update, rows, rest, dims, fold)                                                    \
    "%" out " = \"stablehlo.scatter\"(%" begin ", %" at ", %" update                                               \
    ") <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" dims "], inserted_window_dims = [" \
    "0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = " \
    "false}> ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo." fold                                    \
    " %p, %q : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : (tensor<" rows rest                            \
    ">, tensor<90xi64>, tensor<90x" rest ">) -> tensor<" rows rest ">\n"
#define HEAD(rest, more) \
    "func.func @main(%x: tensor<40x" rest ">, %from: tensor<90xi64>, %to: tensor<90xi64>, %b: tensor<30x" rest ">" more
#define SUM_OF(rest, sizes, dims, weight, weight_dims, begin, fold, extra)                                             \
    HEAD(rest, ", %w: tensor<" weight ">) -> tensor<30x" rest "> {\n")                                                 \
    "%zero = stablehlo.constant dense<0.0> : tensor<30x" rest ">\n" GATHER("g", "x", "from", "40x", rest, sizes, dims) \
    "%v = stablehlo.broadcast_in_dim %w, dims = [" weight_dims "] : (tensor<" weight ">) -> tensor<90x" rest ">\n"     \
    "%u = stablehlo.multiply %v, %g : tensor<90x" rest                                                                 \
    ">\n" extra SCATTER("y", begin, "to", "u", "30x", rest, dims, fold) "return %y : tensor<30x" rest ">\n}\n"
#define DOT_OF(rest, sizes, dims, over, out)                                                                        \
    HEAD(rest, ") -> tensor<" out "> {\n")                                                                          \
    "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n" GATHER("g", "x", "from", "40x", rest, sizes, dims)      \
    GATHER("h", "b", "to", "30x", rest, sizes, dims)                                                                \
    "%u = stablehlo.multiply %h, %g : tensor<90x" rest ">\n"                                                        \
    "%y = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [" over "] : (tensor<90x" rest \
    ">, tensor<f32>) -> tensor<" out ">\nreturn %y : tensor<" out ">\n}\n"
static const program programs[] = {
    {"weights", SUM_OF("17xf32", ", 17", "1", "90xf32", "0", "zero", "add", ""), "sparse-sums"},
    {"weights in a column", SUM_OF("17xf32", ", 17", "1", "90x1xf32", "0, 1", "zero", "add", ""), "sparse-sums"},
    {"added", SUM_OF("17xf32", ", 17", "1", "90xf32", "0", "b", "add", ""), "sparse-sums"},
    {"heads", SUM_OF("3x8xf32", ", 3, 8", "1, 2", "90x3xf32", "0, 1", "zero", "add", ""), "sparse-sums"},
    {"heads in a column", SUM_OF("3x8xf32", ", 3, 8", "1, 2", "90x3x1xf32", "0, 1, 2", "zero", "add", ""),
     "sparse-sums"},
    {"the largest", SUM_OF("17xf32", ", 17", "1", "90xf32", "0", "b", "maximum", ""), NULL},
    {"a number a column", SUM_OF("17xf32", ", 17", "1", "17xf32", "1", "zero", "add", ""), NULL},
    {"a number for each", SUM_OF("17xf32", ", 17", "1", "90x17xf32", "0, 1", "zero", "add", ""), NULL},
    {"dots", DOT_OF("17xf32", ", 17", "1", "1", "90xf32"), "sparse-dots"},
    {"dots of heads", DOT_OF("3x8xf32", ", 3, 8", "1, 2", "2", "90x3xf32"), "sparse-dots"},
    {"dots over all heads", DOT_OF("3x8xf32", ", 3, 8", "1, 2", "1, 2", "90xf32"), "sparse-dots"},
    {"dots over heads", DOT_OF("3x8xf32", ", 3, 8", "1, 2", "1", "90x8xf32"), NULL},
    {"no weights",
     HEAD("17xf32", ") -> tensor<30x17xf32> {\n") "%zero = stablehlo.constant dense<0.0> : tensor<30x17xf32>\n" GATHER(
         "u", "x", "from", "40x", "17xf32", ", 17", "1")
         SCATTER("y", "zero", "to", "u", "30x", "17xf32", "1", "add") "return %y : tensor<30x17xf32>\n}\n",
     "sparse-sums"},
    {"a vector",
     HEAD("f32", ", %w: tensor<90xf32>) -> tensor<30xf32> {\n") "%zero = stablehlo.constant dense<0.0> : "
                                                                "tensor<30xf32>\n" GATHER(
                                                                    "g", "x", "from", "40x", "f32", "",
                                                                    "") "%u = stablehlo.multiply %g, %w : "
                                                                        "tensor<90xf32>\n" SCATTER(
                                                                            "y", "zero", "to", "u", "30x", "f32", "",
                                                                            "add") "return %y : "
                                                                                   "tensor<"
                                                                                   "30xf32>\n}"
                                                                                   "\n",
     NULL},
};

static size_t thunks_called(const program *p, const char *kernel) {
    cpu_exec *e = NULL;
    size_t n = 0;
    expect_ok(cpu_compile(p->text, strlen(p->text), &(cpu_compile_opts){.threads = 2}, &e), p->name);
    for (size_t t = 0; t < e->plan.n_thunks; t++) n += strcmp(e->plan.thunks[t].kernel->name, kernel) == 0;
    cpu_exec_free(e);
    return n;
}

static void test_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(programs); i++) {
        const program *p = &programs[i];
        size_t n = thunks_called(p, "sparse-sums") + thunks_called(p, "sparse-dots");
        if (n != (p->kernel != NULL) || (p->kernel && thunks_called(p, p->kernel) != 1))
            fail_msg("%s: it is %sone kernel", p->name, p->kernel ? "not " : "");
        check(p->name, p->text, 1e-5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
