/* Reductions fused with what makes their operand (kernel/reduce_fused.c): the loss over a large vocabulary and its
 * gradient, against separate loops, on one thread and two; how much memory that takes; and what must not be computed
 * twice. */
#include "cpu_check.h"

typedef struct run_result {
    array out[4];
    size_t n, loops, values; /* bytes of temporary values */
} run_result;

static run_result run(const char *name, const char *text, int threads) {
    run_result r = {0};
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[4] = {0};
    int from[4];
    heap h = {0};
    cpu_alloc mem = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), name);
    expect_ok(cpu_device_new(threads, NULL, &d), name);
    for (size_t t = 0; t < e->plan.n_thunks; t++) r.loops += strcmp(e->plan.thunks[t].kernel->name, "loop-reduce") == 0;
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), name);
        fill_random(&in[i], 100 + i);
    }
    r.n = cpu_exec_outputs(e);
    r.values = peak_of_values(&e->plan);
    expect_ok(cpu_run(e, d, &mem, in, NULL, r.out, from), name);
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    return r;
}
static void run_free(run_result *r) {
    for (size_t i = 0; i < r->n; i++) base_free(r->out[i].data);
}

/* logits [rows, classes] of a product, as `dtype`; softmax in f32; gives the rows' log-sums and the product of the
 * softmax (as `dtype`) with another matrix. */
static void write_softmax(const char *dtype, int rows, int classes, str *s) {
    bool half = strcmp(dtype, "f32") != 0;
    char full[48], wide[48], row[32];
    snprintf(full, sizeof full, "tensor<%dx%dx%s>", rows, classes, dtype);
    snprintf(wide, sizeof wide, "tensor<%dx%dxf32>", rows, classes);
    snprintf(row, sizeof row, "tensor<%dxf32>", rows);
    str_printf(s, "func.func @main(%%a: tensor<%dx8x%s>, %%w: tensor<%dx8x%s>) -> (%s, tensor<%dx8x%s>) {\n", rows,
               dtype, classes, dtype, row, rows, dtype);
    str_printf(s, "%%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
                  "%%zero = stablehlo.constant dense<0.0> : tensor<f32>\n");
    str_printf(s,
               "%%l = stablehlo.dot_general %%a, %%w, contracting_dims = [1] x [1] : (tensor<%dx8x%s>, "
               "tensor<%dx8x%s>) -> %s\n",
               rows, dtype, classes, dtype, full);
    if (half)
        str_printf(s, "%%x = stablehlo.convert %%l : (%s) -> %s\n", full, wide);
    else
        str_printf(s, "%%x = stablehlo.add %%l, %%l : %s\n", full);
    str_printf(s,
               "%%m = stablehlo.reduce(%%x init: %%low) applies stablehlo.maximum across dimensions = [1] : (%s, "
               "tensor<f32>) -> %s\n",
               wide, row);
    str_printf(s,
               "%%mb = stablehlo.broadcast_in_dim %%m, dims = [0] : (%s) -> %s\n"
               "%%c = stablehlo.subtract %%x, %%mb : %s\n"
               "%%e = stablehlo.exponential "
               "%%c : %s\n",
               row, wide, wide, wide);
    str_printf(s,
               "%%s = stablehlo.reduce(%%e init: %%zero) applies stablehlo.add across dimensions = [1] : (%s, "
               "tensor<f32>) -> %s\n"
               "%%log = "
               "stablehlo.log %%s : %s\n",
               wide, row, row);
    str_printf(s,
               "%%sb = stablehlo.broadcast_in_dim %%s, dims = [0] : (%s) -> %s\n"
               "%%p = stablehlo.divide %%e, %%sb : %s\n",
               row, wide, wide);
    if (half) str_printf(s, "%%g = stablehlo.convert %%p : (%s) -> %s\n", wide, full);
    str_printf(s,
               "%%d = stablehlo.dot_general %%%s, %%w, contracting_dims = [1] x [0] : (%s, tensor<%dx8x%s>) -> "
               "tensor<%dx8x%s>\n",
               half ? "g" : "p", full, classes, dtype, rows, dtype);
    str_printf(s, "return %%log, %%d : %s, tensor<%dx8x%s>\n}\n", row, rows, dtype);
}

/* `by_tiles`: with XT_CPU_SMALL, which makes attention's tiles of a softmax between two products, if it has some rows.
 */
static void compare_softmax(bool by_tiles) {
    static const struct {
        const char *dtype;
        int rows, classes;
        size_t most; /* bytes of temporary values: one copy of the logits in their type and little else */
        double tol;
        size_t loops_beside_tiles;
    } all[] = {
        {"f32", 48, 50257, 10 << 20, 1e-5, 0},
        {"bf16", 48, 50257, 5 << 20, 1e-2, 0},
        {"f32", 3, 700003, 9 << 20, 1e-5, 2},
    };
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        str text = STR_INIT;
        write_softmax(all[i].dtype, all[i].rows, all[i].classes, &text);
        if (by_tiles) setenv("XT_CPU_SMALL", "1", 1);
        run_result one = run(all[i].dtype, str_cstr(&text), 1), two = run(all[i].dtype, str_cstr(&text), 2);
        unsetenv("XT_CPU_SMALL");
        setenv("XT_PASSES", "-fuse", 1);
        run_result apart = run(all[i].dtype, str_cstr(&text), 2);
        unsetenv("XT_PASSES");
        assert_int_equal(one.loops, by_tiles ? all[i].loops_beside_tiles : 2);
        assert_int_equal(apart.loops, 0);
        if (!by_tiles && (one.values > all[i].most || one.values * 2 < all[i].most))
            fail_msg("%s: %zu bytes of temporary values, at most %zu wanted", all[i].dtype, one.values, all[i].most);
        compare_results(all[i].dtype, one.n, apart.out, one.out, all[i].tol);
        for (size_t j = 0; j < one.n; j++)
            if (memcmp(one.out[j].data, two.out[j].data, ir_type_bytes(one.out[j].type)) != 0)
                fail_msg("%s: other bits on two threads", all[i].dtype);
        run_free(&one);
        run_free(&two);
        run_free(&apart);
        str_free(&text);
    }
}

static void softmax_of_a_vocabulary(void **state) {
    (void)state;
    compare_softmax(false);
}
static void softmax_of_a_vocabulary_by_tiles(void **state) {
    (void)state;
    compare_softmax(true);
}

/* One reduction of what `body` makes of %x (and %y), both of 1024 x 2100. */
static size_t loops_of(const char *body, const char *returns) {
    static const char *const t = "tensor<1024x2100xf32>";
    str s = STR_INIT;
    str_printf(&s,
               "func.func @main(%%x: %s, %%y: %s) -> (tensor<1024xf32>, %s) {\n"
               "%%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%s",
               t, t, t, body);
    str_printf(&s,
               "%%r = stablehlo.reduce(%%v init: %%zero) applies stablehlo.add across dimensions = [1] : (%s, "
               "tensor<f32>) -> tensor<1024xf32>\n",
               t);
    str_printf(&s, "return %%r, %%%s : tensor<1024xf32>, %s\n}\n", returns, t);
    run_result r = run(body, str_cstr(&s), 2);
    setenv("XT_PASSES", "-fuse", 1);
    run_result apart = run(body, str_cstr(&s), 2);
    unsetenv("XT_PASSES");
    compare_results(body, r.n, apart.out, r.out, 1e-5);
    size_t n = r.loops;
    run_free(&r);
    run_free(&apart);
    str_free(&s);
    return n;
}

static void what_is_worth_it(void **state) {
    (void)state;
    assert_int_equal(loops_of("%v = stablehlo.multiply %x, %x : tensor<1024x2100xf32>\n", "v"), 1);
    assert_int_equal(loops_of("%w = stablehlo.negate %x : tensor<1024x2100xf32>\n"
                              "%v = stablehlo.exponential %w : tensor<1024x2100xf32>\n",
                              "w"),
                     1);
    assert_int_equal(loops_of("%v = stablehlo.multiply %x, %y : tensor<1024x2100xf32>\n", "x"), 1);
    /* Two large operands: reading both twice costs what the product would. */
    assert_int_equal(loops_of("%v = stablehlo.multiply %x, %y : tensor<1024x2100xf32>\n", "v"), 0);
    assert_int_equal(loops_of("%w = stablehlo.tanh %x : tensor<1024x2100xf32>\n"
                              "%v = stablehlo.exponential %w : tensor<1024x2100xf32>\n",
                              "x"),
                     0);
}

/* Rows that many of go into a block, one, or a part of one; folds that begin with more than nothing. */
static void rows_of_every_length(void **state) {
    (void)state;
    static const struct {
        int rows, run;
    } shapes[] = {{600, 16}, {300, 64}, {129, 65}, {40, 257}, {9, 1000}, {3, 4096}, {3, 5000}, {70, 4097}, {1, 70001}};
    static const char *const folds[] = {"add", "maximum", "minimum", "multiply"}, *const types[] = {"f32", "bf16"};
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (size_t k = 0; k < BASE_COUNT(folds) * BASE_COUNT(types); k++) {
            const char *fold = folds[k % BASE_COUNT(folds)], *type = types[k / BASE_COUNT(folds)];
            if (k % 4 == 3 && shapes[i].run > 5000) continue; /* the interpreter's own product is off by then */
            char text[2048], name[128], full[64], row[64];
            snprintf(full, sizeof full, "tensor<%dx%dx%s>", shapes[i].rows, shapes[i].run, type);
            snprintf(row, sizeof row, "tensor<%dx%s>", shapes[i].rows, type);
            snprintf(name, sizeof name, "%s of %s", fold, full);
            /* Products stay near one: factors lie between 1 - 1/2000 and 1 + 1/2000. */
            snprintf(text, sizeof text,
                     "func.func @main(%%x: %s, %%y: %s) -> %s {\n"
                     "%%i = stablehlo.constant dense<1.5> : tensor<%s>\n%%c = stablehlo.constant dense<%s> : %s\n"
                     "%%o = stablehlo.constant dense<%s> : %s\n%%p = stablehlo.multiply %%x, %%y : %s\n"
                     "%%q = stablehlo.multiply %%p, %%c : %s\n%%v = stablehlo.add %%q, %%o : %s\n"
                     "%%r = stablehlo.reduce(%%v init: %%i) applies stablehlo.%s across dimensions = [1] : (%s, "
                     "tensor<%s>) -> %s\nreturn %%r : %s\n}\n",
                     full, full, row, type, k % 4 == 3 ? "1.25e-4" : "0.5", full, k % 4 == 3 ? "1.0" : "0.0", full,
                     full, full, full, fold, full, type, row, row);
            check(name, text, k < BASE_COUNT(folds) ? 1e-4 : 3e-2);
            run_result r = run(name, text, 2);
            if (r.loops != 1 || r.values >= (size_t)shapes[i].rows * (size_t)shapes[i].run)
                fail_msg("%s: what is folded is written first", name);
            run_free(&r);
        }
}

/* The text of a sum over rows of what `make` makes: F stands for the operands' type, T for that which is summed. */
static void write_integer_sum(const char *make, const char *from, const char *to, const int *shape, str *s) {
    str_printf(s,
               "func.func @main(%%x: tensor<%dx%dx%s>, %%y: tensor<%dx%dx%s>) -> tensor<%dx%s> {\n"
               "%%i = stablehlo.constant dense<5> : tensor<%s>\n",
               shape[0], shape[1], from, shape[0], shape[1], from, shape[0], to, to);
    for (const char *c = make; *c; c++)
        if (*c == 'F' || *c == 'T' || *c == 'B')
            str_printf(s, "tensor<%dx%dx%s>", shape[0], shape[1], *c == 'F' ? from : *c == 'T' ? to : "i1");
        else
            str_printf(s, "%c", *c);
    str_printf(s,
               "%%r = stablehlo.reduce(%%v init: %%i) applies stablehlo.add across dimensions = [1] : "
               "(tensor<%dx%dx%s>, tensor<%s>) -> tensor<%dx%s>\nreturn %%r : tensor<%dx%s>\n}\n",
               shape[0], shape[1], to, to, shape[0], to, shape[0], to);
}

/* Sums of integers that a loop makes: of what is true, bytes, products that wrap; with machine code and without it. */
static void sums_of_integers(void **state) {
    (void)state;
    static const int shapes[][2] = {{600, 16}, {300, 64}, {129, 65},  {40, 257},
                                    {9, 1000}, {3, 4096}, {70, 4104}, {1, 70001}};
    static const char *const types[] = {"i32", "ui32"};
    static const struct {
        const char *from, *make;
    } makes[] = {
        {"f32", "%b = stablehlo.compare LE, %x, %y : (F, F) -> B\n%v = stablehlo.convert %b : (B) -> T\n"},
        {"i8", "%v = stablehlo.convert %x : (F) -> T\n"},
        {"i1", "%b = stablehlo.and %x, %y : F\n%v = stablehlo.convert %b : (F) -> T\n"},
        {"ui8", "%v = stablehlo.convert %y : (F) -> T\n"},
        {NULL, "%c = stablehlo.constant dense<1000000007> : T\n%p = stablehlo.multiply %x, %c : T\n"
               "%v = stablehlo.add %p, %y : T\n"},
        {NULL, "%c = stablehlo.constant dense<3> : T\n%v = stablehlo.divide %x, %c : T\n"},
    };
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (size_t k = 0; k < BASE_COUNT(makes) * BASE_COUNT(types); k++) {
            const char *type = types[k / BASE_COUNT(makes)], *from = makes[k % BASE_COUNT(makes)].from;
            str text = STR_INIT;
            write_integer_sum(makes[k % BASE_COUNT(makes)].make, from ? from : type, type, shapes[i], &text);
            const char *name = str_cstr(&text);
            check(name, name, 0);
            run_result code = run(name, name, 3);
            setenv("XT_PASSES", "-jit", 1);
            run_result none = run(name, name, 1);
            unsetenv("XT_PASSES");
            if (code.loops != 1) fail_msg("%s: what is summed is written first", name);
            assert_memory_equal(code.out[0].data, none.out[0].data, ir_type_bytes(code.out[0].type));
            run_free(&code);
            run_free(&none);
            str_free(&text);
        }
}

/* Folds in machine code and without it: the same bits, zeros of both signs and NaN among the numbers. */
static void bits_with_and_without_code(void **state) {
    (void)state;
    static const int shapes[][2] = {{300, 64}, {129, 65}, {40, 257}, {20, 768}, {3, 4096}, {70, 4097}, {1, 70001}};
    static const char *const folds[] = {"add", "maximum", "minimum", "multiply"}, *const makes[] = {"multiply %x, %y",
                                                                                                    "multiply %x, %o",
                                                                                                    "add %l, %y",
                                                                                                    "multiply %x, %g"};
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (size_t k = 0; k < BASE_COUNT(folds) * BASE_COUNT(makes); k++) {
            char text[2048], name[128], full[64], row[64];
            snprintf(full, sizeof full, "tensor<%dx%dxf32>", shapes[i][0], shapes[i][1]);
            snprintf(row, sizeof row, "tensor<%dxf32>", shapes[i][0]);
            snprintf(name, sizeof name, "%s of %s, %s", folds[k % 4], makes[k / 4], full);
            snprintf(text, sizeof text,
                     "func.func @main(%%x: %s, %%y: %s, %%s: %s) -> %s {\n"
                     "%%i = stablehlo.constant dense<-0.0> : tensor<f32>\n"
                     "%%o = stablehlo.constant dense<0.0> : %s\n"
                     "%%g = stablehlo.broadcast_in_dim %%s, dims = [0] : (%s) -> %s\n"
                     "%%l = stablehlo.log %%x : %s\n%%v = stablehlo.%s : %s\n"
                     "%%r = stablehlo.reduce(%%v init: %%i) applies stablehlo.%s across dimensions = [1] : (%s, "
                     "tensor<f32>) -> %s\nreturn %%r : %s\n}\n",
                     full, full, row, row, full, row, full, full, makes[k / 4], full, folds[k % 4], full, row, row);
            run_result code = run(name, text, 2);
            setenv("XT_PASSES", "-jit", 1);
            run_result none = run(name, text, 1);
            unsetenv("XT_PASSES");
            assert_int_equal(code.loops, 1);
            const float *a = code.out[0].data, *b = none.out[0].data;
            for (int r = 0; r < shapes[i][0]; r++)
                if (memcmp(&a[r], &b[r], sizeof *a) != 0 && (a[r] == a[r] || b[r] == b[r]))
                    fail_msg("%s: row %d is %.9g with machine code, %.9g without", name, r, (double)a[r], (double)b[r]);
            run_free(&code);
            run_free(&none);
        }
}

/* What others read as well stays in the caches where it is small, and is computed once. */
static void a_small_array_is_made_once(void **state) {
    (void)state;
    const char *text = "func.func @main(%x: tensor<100x200xf32>) -> (tensor<100xf32>, tensor<100x200xf32>) {\n"
                       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                       "%e = stablehlo.exponential %x : tensor<100x200xf32>\n"
                       "%r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : "
                       "(tensor<100x200xf32>, tensor<f32>) -> tensor<100xf32>\n"
                       "return %r, %e : tensor<100xf32>, tensor<100x200xf32>\n}\n";
    run_result r = run("a small array", text, 1);
    assert_int_equal(r.loops, 0);
    run_free(&r);
}

int main(void) {
    unsetenv("XT_CPU_SMALL"); /* which makes another program of a softmax; the test that is about that sets it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_of_a_vocabulary),    cmocka_unit_test(softmax_of_a_vocabulary_by_tiles),
        cmocka_unit_test(what_is_worth_it),           cmocka_unit_test(rows_of_every_length),
        cmocka_unit_test(bits_with_and_without_code), cmocka_unit_test(sums_of_integers),
        cmocka_unit_test(a_small_array_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
