/* Compiled control flow: loops whose state is updated in place, exchanged, passed on or captured; branches;
 * loops in loops. */
#include "cpu_check.h"

#include <math.h>

#define LESS(n)                                                                      \
    "%n = stablehlo.constant dense<" n "> : tensor<i32>\n"                           \
    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n" \
    "stablehlo.return %c : tensor<i1>\n"
#define NEXT "%one = stablehlo.constant dense<1> : tensor<i32>\n%k = stablehlo.add %i, %one : tensor<i32>\n"

static const struct {
    const char *name, *text;
    double tol;
} rows[] = {
    {"a loop that scales and counts",
     "func.func @main(%x: tensor<5xf32>) -> (tensor<i32>, tensor<5xf32>) {\n"
     "%z = stablehlo.constant dense<0> : tensor<i32>\n"
     "%h = stablehlo.constant dense<0.5> : tensor<5xf32>\n"
     "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<5xf32>\ncond {\n" LESS(
         "7") "} do {\n" NEXT "%w = stablehlo.multiply %v, %h : tensor<5xf32>\n"
              "%y = stablehlo.add %w, %x : tensor<5xf32>\n"
              "stablehlo.return %k, %y : tensor<i32>, tensor<5xf32>\n"
              "}\n"
              "return %r#0, %r#1 : tensor<i32>, tensor<5xf32>\n}\n",
     1e-6},
    {"rows written one by one",
     "func.func @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {\n"
     "%z = stablehlo.constant dense<0> : tensor<i32>\n"
     "%b = stablehlo.constant dense<0.0> : tensor<6x4xf32>\n"
     "%r:2 = stablehlo.while(%i = %z, %v = %b) : tensor<i32>, tensor<6x4xf32>\ncond {\n" LESS(
         "6") "} do {\n" NEXT "%o = stablehlo.constant dense<0> : tensor<i32>\n"
              "%s = stablehlo.dynamic_slice %x, %i, %o, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) "
              "-> tensor<1x4xf32>\n"
              "%t = stablehlo.tanh %s : tensor<1x4xf32>\n"
              "%y = stablehlo.dynamic_update_slice %v, %t, %i, %o : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, "
              "tensor<i32>) -> tensor<6x4xf32>\n"
              "stablehlo.return %k, %y : tensor<i32>, tensor<6x4xf32>\n}\nreturn %r#1 : tensor<6x4xf32>\n}\n",
     1e-6},
    {"state exchanged, passed on, started alike",
     "func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, "
     "tensor<3xf32>) {\n"
     "%z = stablehlo.constant dense<0> : tensor<i32>\n"
     "%q = stablehlo.negate %x : tensor<3xf32>\n"
     "%r:5 = stablehlo.while(%i = %z, %a = %q, %b = %y, %p = %q, %d = %q) : tensor<i32>, tensor<3xf32>, tensor<3xf32>, "
     "tensor<3xf32>, tensor<3xf32>\n"
     "cond {\n" LESS(
         "5") "} do {\n" NEXT "%e = stablehlo.add %d, %a : tensor<3xf32>\n"
              "stablehlo.return %k, %b, %a, %p, %e : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, "
              "tensor<3xf32>\n"
              "}\n"
              "return %r#1, %r#2, %r#3, %r#4 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>\n}\n",
     1e-6},
    {"columns of nothing, turned and joined in each iteration",
     "func.func @main(%x: tensor<3x5xi8>) -> tensor<3x5xi8> {\n"
     "%z = stablehlo.constant dense<0> : tensor<i32>\n"
     "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<3x5xi8>\ncond {\n" LESS(
         "3") "} do {\n" NEXT "%e = stablehlo.slice %v [0:3, 2:2] : (tensor<3x5xi8>) -> tensor<3x0xi8>\n"
              "%t = stablehlo.transpose %e, dims = [1, 0] : (tensor<3x0xi8>) -> tensor<0x3xi8>\n"
              "%u = stablehlo.add %t, %t : tensor<0x3xi8>\n"
              "%n = stablehlo.transpose %u, dims = [1, 0] : (tensor<0x3xi8>) -> tensor<3x0xi8>\n"
              "%m = stablehlo.negate %n : tensor<3x0xi8>\n"
              "%y = stablehlo.concatenate %v, %m, dim = 1 : (tensor<3x5xi8>, tensor<3x0xi8>) -> tensor<3x5xi8>\n"
              "%w = stablehlo.add %y, %y : tensor<3x5xi8>\n"
              "stablehlo.return %k, %w : tensor<i32>, tensor<3x5xi8>\n"
              "}\n"
              "return %r#1 : tensor<3x5xi8>\n}\n",
     0},
    {"a loop that never runs",
     "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
     "%z = stablehlo.constant dense<9> : tensor<i32>\n"
     "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<3xf32>\n"
     "cond {\n" LESS("5") "} do {\n" NEXT "%w = stablehlo.negate %v : tensor<3xf32>\n"
                          "stablehlo.return %k, %w : tensor<i32>, tensor<3xf32>\n"
                          "}\n"
                          "return %r#1 : tensor<3xf32>\n"
                          "}\n",
     0},
    {"a loop in a loop, products inside",
     "func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
     "%z = stablehlo.constant dense<0> : tensor<i32>\n"
     "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<4x4xf32>\n"
     "cond {\n" LESS("3") "} do {\n" NEXT "%s:2 = stablehlo.while(%j = %i, %u = %v) : tensor<i32>, tensor<4x4xf32>\n"
                          "cond {\n"
                          "%m = stablehlo.constant dense<4> : tensor<i32>\n"
                          "%c = stablehlo.compare LT, %j, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                          "stablehlo.return %c : tensor<i1>\n"
                          "} do {\n"
                          "%jj = stablehlo.add %j, %one : tensor<i32>\n"
                          "%t = stablehlo.dot_general %u, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, "
                          "tensor<4x4xf32>) -> tensor<4x4xf32>\n"
                          "%h = stablehlo.tanh %t : tensor<4x4xf32>\n"
                          "stablehlo.return %jj, %h : tensor<i32>, tensor<4x4xf32>\n"
                          "}\n"
                          "stablehlo.return %k, %s#1 : tensor<i32>, tensor<4x4xf32>\n"
                          "}\n"
                          "return %r#1 : tensor<4x4xf32>\n}\n",
     1e-4},
    {"branches",
     "func.func @main(%x: tensor<70xf32>, %i: tensor<i32>) -> (tensor<70xf32>, tensor<70xf32>, tensor<70xf32>) {\n"
     "%z = stablehlo.constant dense<2> : tensor<i32>\n"
     "%p = stablehlo.compare LT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "%a:2 = \"stablehlo.if\"(%p) ({\n"
     "%0 = stablehlo.negate %x : tensor<70xf32>\n"
     "stablehlo.return %0, %x : tensor<70xf32>, tensor<70xf32>\n"
     "}, {\n"
     "%0 = stablehlo.tanh %x : tensor<70xf32>\n"
     "stablehlo.return %x, %0 : tensor<70xf32>, tensor<70xf32>\n"
     "}) : (tensor<i1>) -> (tensor<70xf32>, tensor<70xf32>)\n"
     "%b = \"stablehlo.case\"(%i) ({\n"
     "stablehlo.return %a#0 : tensor<70xf32>\n"
     "}, {\n"
     "%0 = stablehlo.add %a#1, %x : tensor<70xf32>\n"
     "stablehlo.return %0 : tensor<70xf32>\n"
     "}, {\n"
     "%0 = stablehlo.abs %x : tensor<70xf32>\n"
     "stablehlo.return %0 : tensor<70xf32>\n"
     "}) : (tensor<i32>) -> tensor<70xf32>\n"
     "return %a#0, %a#1, %b : tensor<70xf32>, tensor<70xf32>, tensor<70xf32>\n"
     "}\n",
     1e-6},
};

static void control_agrees(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) check(rows[i].name, rows[i].text, rows[i].tol);
    setenv("XT_PASSES", "-buffers,-schedule", 1);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) check(rows[i].name, rows[i].text, rows[i].tol);
    unsetenv("XT_PASSES");
}

/* The loop that writes rows keeps one copy of its state: the body updates it where it lies. */
static void slices_are_updated_in_place(void **state) {
    (void)state;
    cpu_exec *e = NULL;
    expect_ok(cpu_compile(rows[1].text, strlen(rows[1].text), NULL, &e), rows[1].name);
    for (size_t t = 0; t < e->plan.n_thunks; t++) {
        const cpu_thunk *th = &e->plan.thunks[t];
        if (strcmp(th->kernel->name, "while") != 0) continue;
        cpu_exec *const *subs = NULL;
        size_t n = th->kernel->programs(th->state, &subs), memory = 0, values = 0;
        for (size_t k = 0; k < n; k++) { /* the programs share the memory behind the loop's own */
            if (subs[k]->plan.arena_bytes > memory) memory = subs[k]->plan.arena_bytes;
            if (peak_of_values(&subs[k]->plan) > values) values = peak_of_values(&subs[k]->plan);
        }
        size_t own = e->plan.slots[th->scratch].bytes - memory; /* second places of the state, and alignment */
        if (own + values >= 6 * 4 * sizeof(float) + 256)
            fail_msg("%zu bytes of second places, %zu of values in the body", own, values);
    }
    cpu_exec_free(e);
}

/* A loop's programs die with it, also when a later allocation fails. */
static void failures_leak_nothing(void **state) {
    (void)state;
    bool failed = true;
    for (int64_t i = 0; failed; i++) {
        assert_true(i < 5000);
        cpu_exec *e = NULL;
        base_fail_alloc_after(i);
        xt_status s = cpu_compile(rows[4].text, strlen(rows[4].text), NULL, &e);
        base_fail_alloc_after(-1);
        failed = s;
        xt_status_free(s);
        cpu_exec_free(e);
    }
}

/* --- the work of a run --- */
#define MATRIX "tensor<24x24xf32>"
#define LAYER(to, from)                                                                                   \
    "%t" to " = stablehlo.dot_general %" from ", %x, contracting_dims = [1] x [0] : (" MATRIX ", " MATRIX \
    ") -> " MATRIX "\n%" to " = stablehlo.tanh %t" to " : " MATRIX "\n"
#define WHOLE(name, n) "%" name " = stablehlo.constant dense<" n "> : tensor<i32>\n"
#define HEAD                                                                                 \
    "func.func @main(%x: " MATRIX ", %limit: tensor<i32>) -> " MATRIX " {\n" WHOLE("z", "0") \
    WHOLE("one", "1")                                                                        \
    WHOLE("few", "3")                                                                        \
    WHOLE("many", "12")
/* A loop over %to from %from, counted by %i and without constants of its own. */
#define LOOP(r, i, u, from, until, body, to)                                                               \
    "%" r ":2 = stablehlo.while(%" i " = %z, %" u " = %" from ") : tensor<i32>, " MATRIX                   \
    "\ncond {\n%c = stablehlo.compare LT, %" i ", %" until " : (tensor<i32>, tensor<i32>) -> tensor<i1>\n" \
    "stablehlo.return %c : tensor<i1>\n"                                                                   \
    "} do {\n" body "%k" i " = stablehlo.add %" i ", %one : tensor<i32>\nstablehlo.return %k" i ", %" to   \
    " : tensor<i32>, " MATRIX "\n}\n"
#define END(v) "return %" v " : " MATRIX "\n}\n"

static cpu_stats work_of(const char *text) {
    cpu_exec *e = NULL;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 1}, &e), text);
    cpu_stats s = *cpu_exec_stats(e);
    cpu_exec_free(e);
    return s;
}

static cpu_stats work_of_layers(int n) {
    str text = STR_INIT;
    str_append(&text, HEAD "%v0 = stablehlo.reshape %x : (" MATRIX ") -> " MATRIX "\n");
    for (int i = 0; i < n; i++)
        str_printf(&text,
                   "%%t%d = stablehlo.dot_general %%v%d, %%x, contracting_dims = [1] x [0] : (" MATRIX ", " MATRIX
                   ") -> " MATRIX "\n%%v%d = stablehlo.tanh %%t%d : " MATRIX "\n",
                   i, i, i + 1, i);
    str_printf(&text, "return %%v%d : " MATRIX "\n}\n", n);
    cpu_stats s = work_of(str_cstr(&text));
    str_free(&text);
    return s;
}

static void expect_work(const char *text, int layers) {
    cpu_stats got = work_of(text), want = work_of_layers(layers);
    if (fabs(got.flops - want.flops) > 0.05 * want.flops)
        fail_msg("%.0f flops, %d layers have %.0f:\n%s", got.flops, layers, want.flops, text);
    if (fabs(got.bytes_accessed - want.bytes_accessed) > 0.1 * want.bytes_accessed)
        fail_msg("%.0f bytes, %d layers move %.0f:\n%s", got.bytes_accessed, layers, want.bytes_accessed, text);
    assert_true(got.transcendentals == want.transcendentals);
}

static void loops_count_their_iterations(void **state) {
    (void)state;
    expect_work(HEAD LOOP("r", "i", "u", "x", "many", LAYER("v", "u"), "v") END("r#1"), 12);
    expect_work(HEAD LOOP("r", "i", "u", "x", "many", LOOP("s", "j", "w", "u", "few", LAYER("v", "w"), "v"), "s#1")
                    END("r#1"),
                36);
    expect_work(HEAD LOOP("r", "i", "u", "x", "limit", LAYER("v", "u"), "v") END("r#1"), 1);
    expect_work(HEAD LOOP("r", "i", "u", "x", "limit", LOOP("s", "j", "w", "u", "few", LAYER("v", "w"), "v"), "s#1")
                    END("r#1"),
                3);
}

static void branches_count_the_largest(void **state) {
    (void)state;
    expect_work(HEAD "%r = \"stablehlo.case\"(%limit) ({\n" LAYER(
                    "a", "x") "stablehlo.return %a : " MATRIX "\n}, {\n" LAYER("a", "x") LAYER("b", "a")
                    LAYER("d", "b") "stablehlo.return %d : " MATRIX "\n}, {\n" LAYER("a", "x")
                        LAYER("b", "a") "stablehlo.return %b : " MATRIX "\n}) : (tensor<i32>) -> " MATRIX "\n" END("r"),
                3);
}

/* Rows that are read and written one by one move once, however often the stacks are handed on. */
static void rows_move_once(void **state) {
    (void)state;
    cpu_stats s = work_of(rows[1].text);
    assert_true(s.flops >= 24 && s.flops <= 24 + 6 + 7); /* and the counter */
    assert_true(s.bytes_accessed < 6 * (6 * 16 + 64)); /* slice, tanh, update: 16 bytes in, 16 out each */
}

/* A loop from `first` by one a step, up or down, while it compares with a bound: a constant, or a number from outside,
 * on either side. */
static void one_condition(const char *type, const char *dir, bool down, uint64_t first, uint64_t bound, int form) {
    char text[1400], name[96], last[40] = "%q";
    const char *of = form == 2 ? last : "%b", *left = form == 1 ? of : "%i", *right = form == 1 ? "%i" : of;
    snprintf(name, sizeof name, "%s %s, form %d", dir, type, form);
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<4xf32>, %%a: tensor<%s>) -> (tensor<%s>, tensor<4xf32>) {\n"
             "%%one = stablehlo.constant dense<1> : tensor<%s>\n%%q = stablehlo.add %%a, %%one : tensor<%s>\n"
             "%%z = stablehlo.constant dense<%llu> : tensor<%s>\n"
             "%%r:2 = stablehlo.while(%%i = %%z, %%v = %%x) : tensor<%s>, tensor<4xf32>\ncond {\n"
             "%%b = stablehlo.constant dense<%llu> : tensor<%s>\n"
             "%%c = stablehlo.compare %s, %s, %s : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
             "stablehlo.return %%c : tensor<i1>\n} do {\n"
             "%%k = stablehlo.%s %%i, %%one : tensor<%s>\n%%w = stablehlo.add %%v, %%x : tensor<4xf32>\n"
             "stablehlo.return %%k, %%w : tensor<%s>, tensor<4xf32>\n}\n"
             "return %%r#0, %%r#1 : tensor<%s>, tensor<4xf32>\n}\n",
             type, type, type, type, (unsigned long long)first, type, type, (unsigned long long)bound, type, dir, left,
             right, type, type, down ? "subtract" : "add", type, type, type);
    check(name, text, 1e-6);
}

static void conditions_agree(void **state) {
    (void)state;
    static const char *const types[] = {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"}, *const dirs[] = {
                                                                                                       "LT", "LE",
                                                                                                       "NE", "EQ",
                                                                                                       "GT", "GE"};
    for (int t = 0; t < 8; t++)
        for (int d = 0; d < 6; d++) {
            bool down = d >= 4;
            uint64_t half = t < 4 ? 60 : UINT64_C(1) << (8 * (1 << (t - 4)) - 1); /* where a sign would begin */
            uint64_t first = d == 3 ? half : down ? half + 10 : half - 10, bound = down ? half - 7 : half;
            one_condition(types[t], dirs[d], down, first, bound, 0);
            /* bound OP i: the way back */
            one_condition(types[t], dirs[d], !down && d != 2 && d != 3,
                          d == 2 || d == 3 ? first
                          : down           ? bound
                                           : half + 9,
                          down ? half + 10 : half, 1);
            one_condition(types[t], dirs[d], down, down ? 9 : d == 3 ? 1 : 0, 0, 2);
        }
}

/* Short loops run on the thread that starts them, where how often they go round is known. */
static void short_loops_are_tiny(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%%x: tensor<4xf32>, %%m: tensor<i32>) -> tensor<4xf32> {\n"
        "%%z = stablehlo.constant dense<0> : tensor<i32>\n%%n = stablehlo.constant dense<%d> : tensor<i32>\n"
        "%%r:2 = stablehlo.while(%%i = %%z, %%v = %%x) : tensor<i32>, tensor<4xf32>\ncond {\n"
        "%%c = stablehlo.compare LT, %%i, %%%c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %%c : tensor<i1>\n} do {\n"
        "%%one = stablehlo.constant dense<1> : tensor<i32>\n%%k = stablehlo.add %%i, %%one : tensor<i32>\n"
        "%%w = stablehlo.add %%v, %%x : tensor<4xf32>\n"
        "stablehlo.return %%k, %%w : tensor<i32>, tensor<4xf32>\n}\nreturn %%r#1 : tensor<4xf32>\n}\n";
    static const struct {
        int times;
        char until;
        bool tiny;
    } loops[] = {{20, 'n', true}, {20, 'm', false}, {100000, 'n', false}};
    for (size_t i = 0; i < BASE_COUNT(loops); i++) {
        char one[1000];
        cpu_exec *e = NULL;
        snprintf(one, sizeof one, text, loops[i].times, loops[i].until);
        expect_ok(cpu_compile(one, strlen(one), &(cpu_compile_opts){.threads = 2}, &e), "loop");
        if (cpu_exec_tiny(e) != loops[i].tiny)
            fail_msg("%d times, until %c: tiny is %d", loops[i].times, loops[i].until, !loops[i].tiny);
        cpu_exec_free(e);
    }
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 && live_get(LIVE_array) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(control_agrees, nothing_is_left),
                                       cmocka_unit_test(slices_are_updated_in_place),
                                       cmocka_unit_test(short_loops_are_tiny),
                                       cmocka_unit_test_teardown(conditions_agree, nothing_is_left),
                                       cmocka_unit_test_teardown(loops_count_their_iterations, nothing_is_left),
                                       cmocka_unit_test_teardown(branches_count_the_largest, nothing_is_left),
                                       cmocka_unit_test_teardown(rows_move_once, nothing_is_left),
                                       cmocka_unit_test_teardown(failures_leak_nothing, nothing_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
