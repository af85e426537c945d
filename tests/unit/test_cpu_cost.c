/* What compiling costs grows as the program does: programs of one kind, n and 4 n ops of it, take at most GROWTH times
 * the processor's time. What is linear takes four times, with its caches colder up to six, what is quadratic
 * sixteen. The best of some runs counts, so other work on the machine does not. */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "cpu/cpu.h"

enum { RUNS = 2, TRIES = 4, SIZES = 3 };
static const double GROWTH = 7.5;
static const char vec[] = "tensor<8xf32>", mat[] = "tensor<4x4xf32>";

static void begin(str *s, const char *args, const char *results) {
    str_printf(s, "func.func @main(%s) -> %s {\n", args, results);
}
static void end(str *s, int n, const char *type) {
    str_printf(s, "  return %%v%d : %s\n}\n", n, type);
}

static void elementwise(str *s, int n) {
    static const char *const ops[] = {"add", "multiply", "subtract", "maximum"};
    begin(s, "%v0: tensor<8xf32>, %k: tensor<8xf32>", vec);
    for (int i = 0; i < n; i++) str_printf(s, "  %%v%d = stablehlo.%s %%v%d, %%k : %s\n", i + 1, ops[i % 4], i, vec);
    end(s, n, vec);
}

static void sums(str *s, int n) { /* of n products, which nothing else reads */
    begin(s, "%a: tensor<8xf32>, %v0: tensor<8xf32>", vec);
    for (int i = 0; i < n; i++)
        str_printf(s, "  %%c%d = stablehlo.constant dense<%d.5> : %s\n  %%m%d = stablehlo.multiply %%a, %%c%d : %s\n",
                   i, i, vec, i, i, vec);
    for (int i = 0; i < n; i++) str_printf(s, "  %%v%d = stablehlo.add %%v%d, %%m%d : %s\n", i + 1, i, i, vec);
    end(s, n, vec);
}

static void products(str *s, int n) {
    begin(s, "%v0: tensor<4x4xf32>, %k: tensor<4x4xf32>", mat);
    for (int i = 0; i < n; i++)
        str_printf(s, "  %%v%d = stablehlo.dot_general %%v%d, %%k, contracting_dims = [1] x [0] : (%s, %s) -> %s\n",
                   i + 1, i, mat, mat, mat);
    end(s, n, mat);
}

static void slices(str *s, int n) {
    str arg = STR_INIT;
    str_printf(&arg, "%%v0: tensor<%dxf32>", n + 2);
    begin(s, str_cstr(&arg), "tensor<2xf32>");
    for (int i = 0; i < n; i++)
        str_printf(s, "  %%v%d = stablehlo.slice %%v%d [%d:%d] : (tensor<%dxf32>) -> tensor<%dxf32>\n", i + 1, i, i % 2,
                   i % 2 + n + 1 - i, n + 2 - i, n + 1 - i);
    end(s, n, "tensor<2xf32>");
    str_free(&arg);
}

static void pads(str *s, int n) {
    begin(s, "%v0: tensor<16xf32>", "tensor<16xf32>");
    str_append(s, "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    for (int i = 0; i < n; i++)
        str_printf(s,
                   "  %%s%d = stablehlo.slice %%v%d [1:15] : (tensor<16xf32>) -> tensor<14xf32>\n"
                   "  %%v%d = stablehlo.pad %%s%d, %%z, low = [%d], high = [%d], interior = [0] : (tensor<14xf32>, "
                   "tensor<f32>) -> tensor<16xf32>\n",
                   i, i, i + 1, i, i % 3, 2 - i % 3);
    end(s, n, "tensor<16xf32>");
}

static void reductions(str *s, int n) { /* each with a place of its own */
    begin(s, "%v0: tensor<4x4xf32>", mat);
    str_append(s, "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    for (int i = 0; i < n; i++)
        str_printf(s,
                   "  %%r%d = stablehlo.reduce(%%v%d init: %%z) applies stablehlo.add across dimensions = [1] : (%s, "
                   "tensor<f32>) -> tensor<4xf32>\n"
                   "  %%b%d = stablehlo.broadcast_in_dim %%r%d, dims = [%d] : (tensor<4xf32>) -> %s\n"
                   "  %%v%d = stablehlo.tanh %%b%d : %s\n",
                   i, i, mat, i, i, i % 2, mat, i + 1, i, mat);
    end(s, n, mat);
}

static void joined(str *s, int n) { /* n values at one op, all alive at once */
    begin(s, "%a: tensor<8xf32>", "");
    s->len -= 3; /* the result's type follows */
    str_printf(s, "tensor<%dxf32> {\n", 8 * n);
    for (int i = 0; i < n; i++)
        str_printf(s, "  %%c%d = stablehlo.constant dense<%d.5> : %s\n  %%m%d = stablehlo.multiply %%a, %%c%d : %s\n",
                   i, i, vec, i, i, vec);
    str_append(s, "  %v0 = stablehlo.concatenate ");
    for (int i = 0; i < n; i++) str_printf(s, "%s%%m%d", i ? ", " : "", i);
    str_append(s, ", dim = 0 : (");
    for (int i = 0; i < n; i++) str_printf(s, "%s%s", i ? ", " : "", vec);
    str_printf(s, ") -> tensor<%dxf32>\n  return %%v0 : tensor<%dxf32>\n}\n", 8 * n, 8 * n);
}

static void sorts(str *s, int n) { /* names that come and go with each region */
    begin(s, "%v0: tensor<8xf32>", vec);
    for (int i = 0; i < n; i++)
        str_printf(s,
                   "  %%v%d = \"stablehlo.sort\"(%%v%d) ({ ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                   "    %%s = stablehlo.compare LT, %%a, %%b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                   "    stablehlo.return %%s : tensor<i1> }) {dimension = 0 : i64, is_stable = true} : (%s) -> %s\n",
                   i + 1, i, vec, vec);
    end(s, n, vec);
}

static void calls(str *s, int n) { /* of n functions */
    for (int i = 0; i < n; i++)
        str_printf(s, "func.func private @f%d(%%a: %s) -> %s { %%0 = stablehlo.tanh %%a : %s\n  return %%0 : %s }\n", i,
                   vec, vec, vec, vec);
    begin(s, "%v0: tensor<8xf32>", vec);
    for (int i = 0; i < n; i++) str_printf(s, "  %%v%d = call @f%d(%%v%d) : (%s) -> %s\n", i + 1, i, i, vec, vec);
    end(s, n, vec);
}

static void loops(str *s, int n) {
    begin(s, "%v0: tensor<8xf32>, %n: tensor<i32>", vec);
    str_append(s, "  %z = stablehlo.constant dense<0> : tensor<i32>\n  %one = stablehlo.constant dense<1> : "
                  "tensor<i32>\n");
    for (int i = 0; i < n; i++)
        str_printf(s,
                   "  %%w%d:2 = stablehlo.while(%%i = %%z, %%x = %%v%d) : tensor<i32>, %s\n"
                   "  cond { %%c = stablehlo.compare LT, %%i, %%n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                   "    stablehlo.return %%c : tensor<i1>\n"
                   "  } do { %%d = stablehlo.add %%i, %%one : tensor<i32>\n    %%e = stablehlo.tanh %%x : %s\n"
                   "    stablehlo.return %%d, %%e : tensor<i32>, %s }\n"
                   "  %%v%d = stablehlo.negate %%w%d#1 : %s\n",
                   i, i, vec, vec, vec, i + 1, i, vec);
    end(s, n, vec);
}

static void functions_of_chlo(str *s, int n) { /* each is taken apart, and its readers are given the parts */
    begin(s, "%v0: tensor<8xf32>", vec);
    for (int i = 0; i < n; i++) str_printf(s, "  %%v%d = chlo.erf %%v%d : %s -> %s\n", i + 1, i, vec, vec);
    end(s, n, vec);
}

static void barriers(str *s, int n) { /* names of names, each read */
    begin(s, "%v0: tensor<8xf32>", "(tensor<8xf32>, tensor<8xf32>)");
    str_printf(s, "  %%s0 = stablehlo.tanh %%v0 : %s\n", vec);
    for (int i = 0; i < n; i++)
        str_printf(s,
                   "  %%v%d = stablehlo.optimization_barrier %%v%d : %s\n"
                   "  %%s%d = stablehlo.add %%s%d, %%v%d : %s\n",
                   i + 1, i, vec, i + 1, i, i + 1, vec);
    str_printf(s, "  return %%v%d, %%s%d : %s, %s\n}\n", n, n, vec, vec);
}

/* n arguments, each with a result that may take over its memory. */
static void donated(str *s, int n) {
    str_append(s, "func.func @main(");
    for (int i = 0; i < n; i++) str_printf(s, "%s%%a%d: %s {jax.buffer_donor = true}", i ? ", " : "", i, vec);
    str_append(s, ") -> (");
    for (int i = 0; i < n; i++) str_printf(s, "%s%s", i ? ", " : "", vec);
    str_append(s, ") {\n");
    for (int i = 0; i < n; i++) str_printf(s, "  %%v%d = stablehlo.tanh %%a%d : %s\n", i, i, vec);
    str_append(s, "  return ");
    for (int i = 0; i < n; i++) str_printf(s, "%s%%v%d", i ? ", " : "", i);
    str_append(s, " : ");
    for (int i = 0; i < n; i++) str_printf(s, "%s%s", i ? ", " : "", vec);
    str_append(s, "\n}\n");
}

/* A forward and a backward half: what the first makes lives until the second has read it, in reverse order. */
static void nested_lives(str *s, int n) {
    static const char sort[] =
        "  %%%c%d = \"stablehlo.sort\"(%%%c%d) ({ ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
        "    %%s = stablehlo.compare LT, %%a, %%b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    stablehlo.return %%s : tensor<i1> }) {dimension = 0 : i64, is_stable = true} : (%s) -> %s\n";
    begin(s, "%h0: tensor<8xf32>", vec);
    for (int i = 0; i < n; i++) str_printf(s, sort, 'h', i + 1, 'h', i, vec, vec);
    str_printf(s, "  %%v0 = stablehlo.tanh %%h%d : %s\n", n, vec);
    for (int i = 0; i < n; i++) {
        str_printf(s, "  %%p%d = stablehlo.multiply %%v%d, %%h%d : %s\n", i, i, n - i, vec);
        str_printf(s, sort, 'v', i + 1, 'p', i, vec, vec);
    }
    end(s, n, vec);
}

/* Divided over two devices, where an argument says so; every tenth op asks for the other division. */
static void partitioned(str *s, int n) {
    begin(s, "%v0: tensor<4x4xf32> {mhlo.sharding = \"{devices=[2,1]<=[2]}\"}, %k: tensor<4x4xf32>", mat);
    for (int i = 0; i < n; i++) {
        if (i % 10 == 9)
            str_printf(s,
                       "  %%v%d = stablehlo.custom_call @Sharding(%%v%d) {mhlo.sharding = \"{devices=[1,2]<=[2]}\"} : "
                       "(%s) -> %s\n",
                       i + 1, i, mat, mat);
        else if (i % 5 == 0)
            str_printf(s, "  %%v%d = stablehlo.dot_general %%v%d, %%k, contracting_dims = [1] x [0] : (%s, %s) -> %s\n",
                       i + 1, i, mat, mat, mat);
        else
            str_printf(s, "  %%v%d = stablehlo.add %%v%d, %%k : %s\n", i + 1, i, mat);
    }
    end(s, n, mat);
}

/* What the last op says goes back through all the others. */
static void propagated(str *s, int n) {
    begin(s, "%v0: tensor<4x4xf32>, %k: tensor<4x4xf32>", mat);
    for (int i = 0; i < n - 1; i++)
        str_printf(s, "  %%v%d = stablehlo.%s %%v%d : %s\n", i + 1, i % 2 ? "negate" : "tanh", i, mat);
    str_printf(s,
               "  %%v%d = stablehlo.custom_call @Sharding(%%v%d) {mhlo.sharding = \"{devices=[2,1]<=[2]}\"} : (%s) -> "
               "%s\n",
               n, n - 1, mat, mat);
    end(s, n, mat);
}

typedef struct kind {
    const char *name;
    void (*text)(str *s, int n);
    int n; /* of the smaller program: such that a quadratic pass would take most of the larger one's time */
    int partitions; /* 0: one */
} kind;
static const kind kinds[] = {
    {"elementwise", elementwise, 5000},
    {"sums", sums, 5000},
    {"products", products, 500},
    {"slices", slices, 5000},
    {"pads", pads, 10000},
    {"reductions", reductions, 5000},
    {"joined", joined, 10000},
    {"sorts", sorts, 5000},
    {"calls", calls, 5000},
    {"loops", loops, 500},
    {"chlo", functions_of_chlo, 1000},
    {"barriers", barriers, 5000},
    {"donated", donated, 1000},
    {"nested lives", nested_lives, 5000},
    {"partitioned", partitioned, 2000, 2},
    {"propagated", propagated, 5000, 2},
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cost(const kind *k, int n) {
    double best = 1e9;
    str text = STR_INIT;
    k->text(&text, n);
    assert_false(text.failed);
    for (int run = 0; run < RUNS; run++) {
        cpu_exec *e = NULL;
        double from = seconds();
        xt_status s =
            cpu_compile(text.data, text.len, &(cpu_compile_opts){1, k->partitions ? k->partitions : 1, false, 1}, &e);
        double took = seconds() - from;
        if (s) fail_msg("%s: %s", k->name, status_message(s));
        cpu_exec_free(e);
        if (took < best) best = took;
    }
    str_free(&text);
    return best;
}

/* Other work beside it only adds to what either size costs, so the least of some tries is nearest to the truth, for
 * each of the two. The size at which a program leaves the caches passes (each op costs up to twice as much behind it):
 * larger ones are tried; a quadratic pass stays, and weighs more the larger the programs are. */
static void compiling_is_linear(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* there, what is measured is the sanitizer */
#endif
    int wrong = 0;
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        const kind *k = &kinds[i];
        bool good = false;
        double one = 0, four = 0;
        int n = k->n / 2;
        for (int size = 0; size < SIZES && !good; size++) {
            n *= 2;
            one = four = 1e9;
            for (int again = 0; again < TRIES && !good; again++) {
                one = fmin(one, cost(k, n));
                four = fmin(four, cost(k, 4 * n));
                good = four < GROWTH * one;
            }
        }
        print_message("%-14s %6d: %7.1f ms, %6d: %7.1f ms, %.1f times%s\n", k->name, n, one * 1e3, 4 * n, four * 1e3,
                      four / one, good ? "" : "  <-- too much");
        wrong += !good;
    }
    if (wrong) fail_msg("%d kinds of programs take more than %g times for four times their size", wrong, GROWTH);
}

/* A chain of names that is longer than any stack, and temporaries beyond those that are compared with each other: the
 * plan's own checks find a wrong place, and a chain needs no more memory because it is long. */
static void long_chains_stay_small(void **state) {
    (void)state;
    static const kind long_ones[] = {{"slices", slices, 100000}, {"sorts", sorts, 20000}, {"pads", pads, 20000}};
    for (size_t i = 0; i < BASE_COUNT(long_ones); i++) {
        str text = STR_INIT;
        cpu_exec *e = NULL;
        long_ones[i].text(&text, long_ones[i].n);
        xt_status s = cpu_compile(text.data, text.len, &(cpu_compile_opts){1, 1, false, 1}, &e);
        if (s) fail_msg("%s: %s", long_ones[i].name, status_message(s));
        if (i) assert_in_range(cpu_exec_stats(e)->temp_bytes, 0, 4096);
        cpu_exec_free(e);
        str_free(&text);
    }
}

static size_t in_use(void) {
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* A product of four by four keeps its primitive and little else: thousands of them are a model, not gigabytes. */
static void products_stay_small(void **state) {
    (void)state;
    enum { N = 400, MOST = 32 << 10 };
#ifdef __SANITIZE_ADDRESS__
    skip(); /* whose memory is not malloc's own */
#endif
    str text = STR_INIT;
    cpu_exec *e = NULL;
    products(&text, N);
    size_t before = in_use();
    xt_status s = cpu_compile(text.data, text.len, &(cpu_compile_opts){1, 1, false, 1}, &e);
    if (s) fail_msg("%s", status_message(s));
    size_t each = (in_use() - before) / N;
    if (each > MOST) fail_msg("%zu bytes are kept for each of %d products", each, N);
    cpu_exec_free(e);
    str_free(&text);
}

/* Each function calls the next one twice: 2^40 ops, if all stood in the place of the calls. */
static void calls_that_double_are_refused(void **state) {
    (void)state;
    str text = STR_INIT;
    cpu_exec *e = NULL;
    enum { LEVELS = 40 };
    for (int i = 0; i <= LEVELS; i++) {
        str_printf(&text, i ? "func.func private @f%d" : "func.func @main", i);
        str_printf(&text, "(%%a: %s) -> %s {\n", vec, vec);
        for (int k = 0; k < 2 && i < LEVELS; k++)
            str_printf(&text, "  %%%d = func.call @f%d(%%%s) : (%s) -> %s\n", k, i + 1, k ? "0" : "a", vec, vec);
        if (i == LEVELS) str_printf(&text, "  %%1 = stablehlo.add %%a, %%a : %s\n", vec);
        str_printf(&text, "  return %%1 : %s\n}\n", vec);
    }
    xt_status s = cpu_compile(text.data, text.len, &(cpu_compile_opts){1, 1, false, 1}, &e);
    if (!s || !strstr(status_message(s), "function 'main' would be more than 4194304 ops"))
        fail_msg("%s", s ? status_message(s) : "compiled");
    assert_int_equal(status_code(s), XT_UNIMPLEMENTED);
    xt_status_free(s);
    str_free(&text);
}

int main(void) {
    /* MALLOC_PERTURB_ has each realloc fill all that is free behind it, up to the heap's end: a cost of its own. */
    mallopt(M_PERTURB, 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(compiling_is_linear), cmocka_unit_test(long_chains_stay_small),
                                       cmocka_unit_test(calls_that_double_are_refused),
                                       cmocka_unit_test(products_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
