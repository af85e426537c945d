/* Chains of ops over the same rows (plan/rowwise.h): the interpreter's numbers, the same bits on any number of threads,
 * for sizes that blocks divide and those that they do not; which programs are such chains, and what they leave out; and
 * what the stage makes, as a text that reads back. */
#include <stdio.h>

#include "cpu_check.h"
#include "cpu_levels.h"

#include "ir/ir.h"

typedef struct shape { /* rows of `dims` before the last `n_row`, which are a row */
    const char *full, *rows, *cols; /* as in tensor<...xT> */
    const char *reduced, *to_full, *of_cols; /* dims of reductions, and of broadcasts */
} shape;
static const shape shapes[] = {
    {"1024x256", "1024", "256", "1", "0", "1"},
    {"4x6x32x200", "4x6x32", "200", "3", "0, 1, 2", "3"},
    {"1021x160", "1021", "160", "1", "0", "1"},
    {"17x9001", "17", "9001", "1", "0", "1"},
    {"64x8x12x25", "64x8", "12x25", "2, 3", "0, 1", "2, 3"},
    {"9001x17", "9001", "17", "1", "0", "1"},
};
static const char *const dtypes[] = {"f32", "bf16"};

/* A program is lines in which $F, $R and $C stand for the three types, $T for the element's, and macros for the ops
 * that have attributes: SUM(x), MAX(x): of rows; UP(r): a number of each row, along it; OVER(c): c along all rows. */
typedef struct program {
    const char *name, *args, *body, *result_types, *results;
    bool chain; /* it is one */
    double tol, half_tol;
} program;
#define NORM                                                                                                        \
    "m = SUM x\nmb = UP m\nk = dense<0.01> $F\nmk = stablehlo.multiply mb, k : $F\nc = stablehlo.subtract x, mk : " \
    "$F\n"                                                                                                          \
    "q = stablehlo.multiply c, c : $F\nv = SUM q\nr = dense<0.01> $R\nvr = stablehlo.multiply v, r : $R\n"          \
    "one = dense<1.0> $R\nve = stablehlo.add vr, one : $R\ns = stablehlo.rsqrt ve : $R\nsb = UP s\n"                \
    "n = stablehlo.multiply c, sb : $F\n"
#define SOFTMAX                                                                                              \
    "m = MAX x\nmb = UP m\nc = stablehlo.subtract x, mb : $F\ne = stablehlo.exponential c : $F\ns = SUM e\n" \
    "sb = UP s\np = stablehlo.divide e, sb : $F\n"
static const program programs[] = {
    {"softmax", "x F", SOFTMAX, "$F", "p", true, 1e-5, 0.02},
    {"softmax, its parts read too", "x F", SOFTMAX, "$F, $R, $F, $R", "p, m, e, s", true, 1e-4, 0.02},
    {"softmax and its gradient", "x F, d F",
     SOFTMAX "pd = stablehlo.multiply p, d : $F\nt = SUM pd\ntb = UP t\nu = stablehlo.subtract d, tb : $F\n"
             "g = stablehlo.multiply u, p : $F\n",
     "$F, $F", "p, g", true, 1e-5, 0.02},
    {"log-softmax of a sum", "a F, d C",
     "db = OVER d\nx = stablehlo.add a, db : $F\nm = MAX x\nmb = UP m\nc = stablehlo.subtract x, mb : $F\n"
     "e = stablehlo.exponential c : $F\ns = SUM e\nl = stablehlo.log s : $R\nlb = UP l\ny = stablehlo.subtract c, lb : "
     "$F\n",
     "$F", "y", true, 1e-5, 0.05},
    {"layer norm", "x F, w C, b C",
     NORM "wb = OVER w\nbb = OVER b\ny = stablehlo.multiply n, wb : $F\nz = stablehlo.add y, bb : $F\n", "$F", "z",
     true, 1e-4, 0.1},
    {"layer norm between others' numbers", "x F, w C, z R",
     NORM "zb = UP z\nzz = UP s\ny = stablehlo.multiply n, zb : $F\nwb = OVER w\nt = stablehlo.tanh y : $F\n"
          "o = stablehlo.multiply t, wb : $F\n",
     "$F, $F, $R", "o, zz, s", true, 1e-4, 0.1},
    /* what comes back by way of an op that no chain holds stays outside */
    {"there and back", "x F",
     SOFTMAX "back = stablehlo.reverse p, dims = [0] : $F\na = stablehlo.add p, back : $F\nt = SUM a\ntb = UP t\n"
             "o = stablehlo.multiply tb, p : $F\nh = SUM o\n",
     "$F, $R", "o, h", true, 1e-4, 0.05},
    {"one pass", "x F", "m = MAX x\nmb = UP m\nc = stablehlo.subtract x, mb : $F\n", "$F", "c", false, 1e-6, 0.02},
};

static void put_type(str *s, const shape *h, char kind, const char *dtype) {
    str_printf(s, "tensor<%sx%s>", kind == 'F' ? h->full : kind == 'R' ? h->rows : h->cols, dtype);
}
static void put(str *s, const char *from, size_t n, const shape *h, const char *dtype) {
    for (size_t i = 0; i < n; i++) {
        if (from[i] == '$')
            put_type(s, h, from[++i], dtype);
        else
            str_printf(s, "%c", from[i]);
    }
}
/* Names are words of one or two letters, and "back" and "one". */
static void put_names(str *s, const char *from, size_t n, const shape *h, const char *dtype) {
    for (size_t i = 0; i < n; i++) {
        bool word = from[i] >= 'a' && from[i] <= 'z' && (i == 0 || from[i - 1] == ' ' || from[i - 1] == ',');
        size_t end = i;
        while (end < n && from[end] >= 'a' && from[end] <= 'z') end++;
        bool name = word && (end == n || from[end] == ',' || from[end] == ' ') && strncmp(from + i, "dims", 4) != 0;
        if (from[i] == ':' || strncmp(from + i, ", dims", 6) == 0) {
            put(s, from + i, n - i, h, dtype);
            return;
        }
        str_printf(s, name ? "%%%c" : "%c", from[i]);
    }
}

static void put_line(str *s, const char *line, size_t n, const shape *h, const char *dtype) {
    const char *eq = strstr(line, " = "), *rhs = eq + 3;
    size_t left = n - (size_t)(rhs - line);
    str_printf(s, "%%%.*s = ", (int)(eq - line), line);
    if (!strncmp(rhs, "SUM ", 4) || !strncmp(rhs, "MAX ", 4)) {
        bool sum = rhs[0] == 'S';
        str_printf(s, "stablehlo.reduce(%%%.*s init: %%%s) applies stablehlo.%s across dimensions = [%s] : (",
                   (int)left - 4, rhs + 4, sum ? "zero" : "low", sum ? "add" : "maximum", h->reduced);
        put_type(s, h, 'F', dtype);
        str_printf(s, ", tensor<%s>) -> ", dtype);
        put_type(s, h, 'R', dtype);
    } else if (!strncmp(rhs, "UP ", 3) || !strncmp(rhs, "OVER ", 5)) {
        bool up = rhs[0] == 'U';
        size_t skip = up ? 3 : 5;
        str_printf(s, "stablehlo.broadcast_in_dim %%%.*s, dims = [%s] : (", (int)(left - skip), rhs + skip,
                   up ? h->to_full : h->of_cols);
        put_type(s, h, up ? 'R' : 'C', dtype);
        str_printf(s, ") -> ");
        put_type(s, h, 'F', dtype);
    } else if (!strncmp(rhs, "dense", 5)) {
        str_printf(s, "stablehlo.constant ");
        const char *type = memchr(rhs, '$', left);
        str_printf(s, "%.*s: ", (int)(type - rhs), rhs);
        put(s, type, left - (size_t)(type - rhs), h, dtype);
    } else {
        const char *args = memchr(rhs, ' ', left);
        str_printf(s, "%.*s", (int)(args - rhs), rhs);
        put_names(s, args, left - (size_t)(args - rhs), h, dtype);
    }
    str_printf(s, "\n");
}

static void write_program(const program *p, const shape *h, const char *dtype, str *s) {
    bool half = strcmp(dtype, "f32") != 0;
    str_printf(s, "func.func @main(");
    for (const char *a = p->args; *a; a += 3) {
        str_printf(s, "%s%%%c: ", a == p->args ? "" : ", ", *a);
        put_type(s, h, a[2], dtype);
        if (a[3] == ',') a += 2;
    }
    str_printf(s, ") -> (");
    put(s, p->result_types, strlen(p->result_types), h, dtype);
    str_printf(s, ") {\n%%zero = stablehlo.constant dense<0.0> : tensor<%s>\n", dtype);
    str_printf(s, "%%low = stablehlo.constant dense<%s> : tensor<%s>\n", half ? "0xFF80" : "0xFF800000", dtype);
    for (const char *line = p->body, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        put_line(s, line, (size_t)(end - line), h, dtype);
    }
    str_printf(s, "return");
    str names = STR_INIT;
    str_printf(&names, " %s", p->results);
    put_names(s, str_cstr(&names), names.len, h, dtype);
    str_free(&names);
    str_printf(s, " : ");
    put(s, p->result_types, strlen(p->result_types), h, dtype);
    str_printf(s, "\n}\n");
}

static size_t count_chains(const cpu_exec *e) {
    size_t n = 0;
    for (size_t t = 0; t < e->plan.n_thunks; t++) n += strcmp(e->plan.thunks[t].kernel->name, "row-blocks") == 0;
    return n;
}

/* What the stage leaves is a program like any other: printed, read, verified, and printed again it is the same text. */
static void expect_reads_back(const char *name, const ir_module *m) {
    str once = STR_INIT, twice = STR_INIT;
    ir_module *again = NULL;
    expect_ok(ir_print(m, 0, &once), name);
    expect_ok(ir_parse(str_cstr(&once), once.len, name, &again), name);
    expect_ok(ir_verify(again), name);
    expect_ok(ir_print(again, 0, &twice), name);
    assert_string_equal(str_cstr(&once), str_cstr(&twice));
    ir_module_free(again);
    str_free(&once);
    str_free(&twice);
}

/* The interpreter is what takes the time, and with a sanitizer ten times as much: each shape then goes with every other
 * program. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 2 };
#else
enum { EVERY = 1 };
#endif
static void each_program(void (*run)(const char *name, const char *text, const program *p, double tol)) {
    for (size_t i = 0; i < BASE_COUNT(programs); i++)
        for (size_t k = 0; k < BASE_COUNT(shapes); k++)
            for (size_t d = 0; d < BASE_COUNT(dtypes); d++) {
                if ((i + k + d) % EVERY) continue;
                str text = STR_INIT, name = STR_INIT;
                str_printf(&name, "%s of %s, %s", programs[i].name, shapes[k].full, dtypes[d]);
                write_program(&programs[i], &shapes[k], dtypes[d], &text);
                run(str_cstr(&name), str_cstr(&text), &programs[i], d ? programs[i].half_tol : programs[i].tol);
                str_free(&text);
                str_free(&name);
            }
}

static void compare_one(const char *name, const char *text, const program *p, double tol) {
    (void)p;
    check(name, text, tol);
}
static void same_numbers_on_any_threads(void **state) {
    (void)state;
    each_program(compare_one);
}

static void look_at_one(const char *name, const char *text, const program *p, double tol) {
    (void)tol;
    cpu_exec *e = NULL;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), name);
    if ((count_chains(e) > 0) != p->chain) fail_msg("%s: %zu chains", name, count_chains(e));
    expect_reads_back(name, e->module);
    cpu_exec_free(e);
    setenv("XT_PASSES", "-rowwise", 1);
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), name);
    unsetenv("XT_PASSES");
    assert_int_equal(count_chains(e), 0);
    cpu_exec_free(e);
}
static void chains_are_found_and_read_back(void **state) {
    (void)state;
    each_program(look_at_one);
}

/* The array that softmax reads dies there, and gives its memory to the result: the program needs one array, not two. */
static void results_take_over_what_dies(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%a: tensor<512x8xf32>, %w: tensor<8x1024xf32>, %u: tensor<1024x8xf32>) -> tensor<512x8xf32> "
        "{\n"
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%x = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<512x8xf32>, tensor<8x1024xf32>) -> "
        "tensor<512x1024xf32>\n"
        "%m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : "
        "(tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>\n"
        "%mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>\n"
        "%c = stablehlo.subtract %x, %mb : tensor<512x1024xf32>\n"
        "%e = stablehlo.exponential %c : tensor<512x1024xf32>\n"
        "%s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : "
        "(tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>\n"
        "%sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>\n"
        "%p = stablehlo.divide %e, %sb : tensor<512x1024xf32>\n"
        "%r = stablehlo.reverse %p, dims = [0] : tensor<512x1024xf32>\n"
        "%o = stablehlo.dot_general %r, %u, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x8xf32>) "
        "-> tensor<512x8xf32>\n"
        "return %o : tensor<512x8xf32>\n}\n";
    cpu_exec *e = NULL;
    setenv("XT_PASSES", "-tile", 1);
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), "softmax of a product");
    unsetenv("XT_PASSES");
    assert_int_equal(count_chains(e), 1);
    bool shared = false;
    for (size_t t = 0; t < e->plan.n_thunks; t++) {
        const cpu_thunk *th = &e->plan.thunks[t];
        if (strcmp(th->kernel->name, "row-blocks") == 0) shared = th->in_place[0] == 1;
    }
    assert_true(shared);
    cpu_exec_free(e);
    check("softmax of a product", text, 1e-5);
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_numbers_on_any_threads), cmocka_unit_test(chains_are_found_and_read_back),
        cmocka_unit_test(results_take_over_what_dies), cmocka_unit_test(other_instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
