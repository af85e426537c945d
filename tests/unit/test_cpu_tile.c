/* Attention tile by tile (tile.h): against the whole matrices and against the interpreter, on one thread and two, in both layouts of heads, with masks of all kinds; what
 * must stay whole stays whole; and the memory it takes. Programs are long enough for the stage to act, few heads keep them quick. */
#include "cpu_check.h"

typedef enum mask_kind { PLAIN, CAUSAL, GIVEN, BLIND, DRAWN } mask_kind; /* BLIND: row 3 may see nothing; DRAWN: by numbers that are made of positions */
typedef struct row {
    const char *name, *dtype;
    int64_t B, H, T, S, D;
    mask_kind mask;
    bool backward, finite; /* finite: what may not be seen counts as -1e30, else -inf */
    double tol;
} row;

static const row rows[] = {
    {"forward", "f32", 1, 2, 700, 800, 16, PLAIN, false, true, 1e-5},
    {"causal, rows that no tile divides", "f32", 1, 3, 601, 640, 16, CAUSAL, true, true, 1e-4},
    {"one head", "f32", 1, 1, 1030, 1100, 8, GIVEN, true, true, 1e-4},
    {"infinite masks", "f32", 2, 1, 720, 770, 16, CAUSAL, true, false, 1e-4},
    {"a row that sees nothing: NaN", "f32", 1, 2, 720, 770, 16, BLIND, true, false, 1e-4},
    {"a row that sees nothing: an even spread", "f32", 1, 2, 720, 770, 16, BLIND, true, true, 1e-4},
    {"drawn by chance", "f32", 2, 2, 530, 540, 16, DRAWN, true, true, 1e-4},
    {"bf16", "bf16", 1, 2, 730, 770, 32, CAUSAL, true, true, 2e-2},
};

/* scores = q k^T scale, masked; p = softmax; y = p v; backward: with dy = y * y, the gradients of q, k and v. */
static void write_program(const row *r, str *s) {
    char full[64], rows_[64], q[64], k[64], pred[64];
    snprintf(full, sizeof full, "tensor<%dx%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->T, (int)r->S, r->dtype);
    snprintf(pred, sizeof pred, "tensor<%dx%dx%dx%dxi1>", (int)r->B, (int)r->H, (int)r->T, (int)r->S);
    snprintf(rows_, sizeof rows_, "tensor<%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->T, r->dtype);
    snprintf(q, sizeof q, "tensor<%dx%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->T, (int)r->D, r->dtype);
    snprintf(k, sizeof k, "tensor<%dx%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->S, (int)r->D, r->dtype);
#define P(...) str_printf(s, __VA_ARGS__)
#define BIN(res, op, a, b) P("%%%s = stablehlo.%s %%%s, %%%s : %s\n", res, op, a, b, full)
    P("func.func @main(%%q: %s, %%k: %s, %%v: %s, %%m: tensor<%dx1x1x%dxi1>) -> (%s%s%s%s%s%s%s) {\n", q, k, k, (int)r->B, (int)r->S, q, r->backward ? ", " : "",
      r->backward ? q : "", r->backward ? ", " : "", r->backward ? k : "", r->backward ? ", " : "", r->backward ? k : "");
    P("%%zero = stablehlo.constant dense<0.0> : tensor<%s>\n%%low = stablehlo.constant dense<%s> : tensor<%s>\n", r->dtype, r->dtype[0] == 'b' ? "0xFF80" : "0xFF800000", r->dtype);
    P("%%scale = stablehlo.constant dense<0.25> : %s\n%%hidden = stablehlo.constant dense<%s> : %s\n", full,
      r->finite ? "-1.0e30" : r->dtype[0] == 'b' ? "0xFF80" : "0xFF800000", full);
    P("%%dots = stablehlo.dot_general %%q, %%k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (%s, %s) -> %s\n", q, k, full);
    BIN("scores", "multiply", "dots", "scale");
    int T = (int)r->T, S = (int)r->S;
    if (r->mask == CAUSAL) {
        P("%%i = stablehlo.iota dim = 0 : tensor<%dx%dxi32>\n%%j = stablehlo.iota dim = 1 : tensor<%dx%dxi32>\n", T, S, T, S);
        P("%%c = stablehlo.compare GE, %%i, %%j : (tensor<%dx%dxi32>, tensor<%dx%dxi32>) -> tensor<%dx%dxi1>\n", T, S, T, S, T, S);
        P("%%see = stablehlo.broadcast_in_dim %%c, dims = [2, 3] : (tensor<%dx%dxi1>) -> %s\n", T, S, pred);
    } else if (r->mask == BLIND) {
        P("%%i = stablehlo.iota dim = 0 : tensor<%dxi32>\n%%three = stablehlo.constant dense<3> : tensor<%dxi32>\n", T, T);
        P("%%c = stablehlo.compare NE, %%i, %%three : (tensor<%dxi32>, tensor<%dxi32>) -> tensor<%dxi1>\n", T, T, T);
        P("%%see = stablehlo.broadcast_in_dim %%c, dims = [2] : (tensor<%dxi1>) -> %s\n", T, pred);
    } else if (r->mask == GIVEN) {
        P("%%see = stablehlo.broadcast_in_dim %%m, dims = [0, 1, 2, 3] : (tensor<%dx1x1x%dxi1>) -> %s\n", (int)r->B, S, pred);
    }
    if (r->mask == DRAWN) { /* words in blocks of four, as Philox makes them */
        int blocks = (int)(r->B * r->H * r->T * r->S / 4);
        P("%%at = stablehlo.iota dim = 0 : tensor<%dxui32>\n%%do = stablehlo.constant dense<2654435761> : tensor<%dxui32>\n%%dw = stablehlo.multiply %%at, %%do : tensor<%dxui32>\n", blocks, blocks, blocks);
        P("%%dw2 = stablehlo.xor %%dw, %%do : tensor<%dxui32>\n%%da = stablehlo.reshape %%dw : (tensor<%dxui32>) -> tensor<%dx1xui32>\n", blocks, blocks, blocks);
        P("%%db = stablehlo.reshape %%dw2 : (tensor<%dxui32>) -> tensor<%dx1xui32>\n", blocks, blocks);
        P("%%four = stablehlo.concatenate %%da, %%db, %%db, %%da, dim = 1 : (tensor<%dx1xui32>, tensor<%dx1xui32>, tensor<%dx1xui32>, tensor<%dx1xui32>) -> tensor<%dx4xui32>\n", blocks, blocks, blocks, blocks,
          blocks);
        P("%%df = stablehlo.reshape %%four : (tensor<%dx4xui32>) -> tensor<%dx%dx%dx%dxui32>\n", blocks, (int)r->B, (int)r->H, T, S);
        P("%%dh = stablehlo.constant dense<1000000000> : tensor<%dx%dx%dx%dxui32>\n", (int)r->B, (int)r->H, T, S);
        P("%%see = stablehlo.compare GE, %%df, %%dh : (tensor<%dx%dx%dx%dxui32>, tensor<%dx%dx%dx%dxui32>) -> %s\n", (int)r->B, (int)r->H, T, S, (int)r->B, (int)r->H, T, S, pred);
    }
    if (r->mask == PLAIN)
        P("%%s = stablehlo.add %%scores, %%scores : %s\n", full);
    else
        P("%%s = stablehlo.select %%see, %%scores, %%hidden : %s, %s\n", pred, full);
    P("%%top = stablehlo.reduce(%%s init: %%low) applies stablehlo.maximum across dimensions = [3] : (%s, tensor<%s>) -> %s\n", full, r->dtype, rows_);
    P("%%tops = stablehlo.broadcast_in_dim %%top, dims = [0, 1, 2] : (%s) -> %s\n", rows_, full);
    BIN("x", "subtract", "s", "tops");
    P("%%e = stablehlo.exponential %%x : %s\n", full);
    P("%%sum = stablehlo.reduce(%%e init: %%zero) applies stablehlo.add across dimensions = [3] : (%s, tensor<%s>) -> %s\n", full, r->dtype, rows_);
    P("%%sums = stablehlo.broadcast_in_dim %%sum, dims = [0, 1, 2] : (%s) -> %s\n", rows_, full);
    BIN("p", "divide", "e", "sums");
    P("%%y = stablehlo.dot_general %%p, %%v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (%s, %s) -> %s\n", full, k, q);
    if (r->backward) {
        P("%%dy = stablehlo.multiply %%y, %%y : %s\n", q);
        P("%%dv = stablehlo.dot_general %%p, %%dy, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (%s, %s) -> %s\n", full, q, k);
        P("%%dp = stablehlo.dot_general %%dy, %%v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (%s, %s) -> %s\n", q, k, full);
        BIN("pd", "multiply", "p", "dp");
        P("%%r = stablehlo.reduce(%%pd init: %%zero) applies stablehlo.add across dimensions = [3] : (%s, tensor<%s>) -> %s\n", full, r->dtype, rows_);
        P("%%n = stablehlo.negate %%r : %s\n%%rs = stablehlo.broadcast_in_dim %%n, dims = [0, 1, 2] : (%s) -> %s\n", rows_, rows_, full);
        BIN("u", "add", "dp", "rs");
        BIN("w", "multiply", "u", "p");
        BIN("ds", "multiply", "w", "scale");
        P("%%dq = stablehlo.dot_general %%ds, %%k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (%s, %s) -> %s\n", full, k, q);
        P("%%dk = stablehlo.dot_general %%ds, %%q, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (%s, %s) -> %s\n", full, q, k);
        P("return %%y, %%dq, %%dk, %%dv : %s, %s, %s, %s\n}\n", q, q, k, k);
    } else
        P("return %%y : %s\n}\n", q);
}

typedef struct result {
    array out[8];
    size_t n, tiles, arena;
} result;

static result run(const row *r, const char *text, int threads) {
    result a = {0};
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[8] = {0};
    int from[8];
    heap h = {0};
    cpu_alloc mem = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), r->name);
    expect_ok(cpu_device_new(threads, NULL, &d), r->name);
    for (size_t t = 0; t < e->plan.n_thunks; t++) a.tiles += strcmp(e->plan.thunks[t].kernel->name, "tiles") == 0;
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), r->name);
        fill_random(&in[i], 100 + i);
    }
    a.n = cpu_exec_outputs(e);
    a.arena = e->plan.arena_bytes;
    expect_ok(cpu_run(e, d, &mem, in, NULL, a.out, from), r->name);
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    return a;
}
static void result_free(result *r) {
    for (size_t i = 0; i < r->n; i++) base_free(r->out[i].data);
}

static void tiles_agree_with_the_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const row *r = &rows[i];
        str text = STR_INIT;
        write_program(r, &text);
        result one = run(r, str_cstr(&text), 1), two = run(r, str_cstr(&text), 2);
        setenv("XT_PASSES", "-tile", 1);
        result whole = run(r, str_cstr(&text), 2);
        unsetenv("XT_PASSES");
        if (one.tiles != (r->backward ? 2u : 1u)) fail_msg("%s: %zu chains", r->name, one.tiles);
        assert_int_equal(whole.tiles, 0);
        compare_results(r->name, one.n, whole.out, one.out, r->tol);
        for (size_t j = 0; j < one.n; j++)
            if (memcmp(one.out[j].data, two.out[j].data, ir_type_bytes(one.out[j].type)) != 0) fail_msg("%s: other bits on two threads", r->name);
        if (one.arena >= whole.arena) fail_msg("%s: %zu bytes in tiles, %zu whole", r->name, one.arena, whole.arena);
        result_free(&one);
        result_free(&two);
        result_free(&whole);
        str_free(&text);
    }
}

static void tiles_agree_with_the_interpreter(void **state) {
    (void)state;
    static const row r = {"the interpreter", "f32", 1, 2, 729, 730, 8, CAUSAL, true, true, 1e-4};
    str text = STR_INIT;
    write_program(&r, &text);
    differ(r.name, str_cstr(&text), r.tol, 2, false);
    str_free(&text);
}

/* Memory grows with T, not with its square. */
static void memory_is_linear(void **state) {
    (void)state;
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        row r = {"memory", "f32", 1, 8, 1024 << i, 1024 << i, 32, CAUSAL, true, true, 0};
        str text = STR_INIT;
        cpu_exec *e = NULL;
        write_program(&r, &text);
        expect_ok(cpu_compile(str_cstr(&text), text.len, &(cpu_compile_opts){.threads = 2}, &e), "memory");
        bytes[i] = e->plan.arena_bytes;
        cpu_exec_free(e);
        str_free(&text);
    }
    assert_true(bytes[0] < 24 << 20);
    assert_true((double)bytes[1] < 2.1 * (double)bytes[0]);
}

/* A matrix that the program gives back, or sums over heads, has to be there. */
static void what_is_read_stays_whole(void **state) {
    (void)state;
    static const row r = {"read", "f32", 1, 2, 730, 740, 16, CAUSAL, false, true, 0};
    static const char *const back = "return %y : tensor<1x2x730x16xf32>\n}\n";
    str text = STR_INIT, with = STR_INIT;
    write_program(&r, &text);
    char *at = strstr(text.data, back);
    assert_non_null(at);
    *at = 0;
    char *arrow = strstr(text.data, "-> (tensor<1x2x730x16xf32>) {");
    assert_non_null(arrow);
    *arrow = 0;
    str_printf(&with, "%s-> (tensor<1x2x730x16xf32>, tensor<1x2x730x740xf32>) {%sreturn %%y, %%p : tensor<1x2x730x16xf32>, tensor<1x2x730x740xf32>\n}\n", text.data,
               arrow + strlen("-> (tensor<1x2x730x16xf32>) {"));
    result a = run(&r, str_cstr(&with), 2);
    assert_int_equal(a.tiles, 0);
    result_free(&a);
    str_free(&text);
    str_free(&with);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_agree_with_the_whole),
        cmocka_unit_test(tiles_agree_with_the_interpreter),
        cmocka_unit_test(memory_is_linear),
        cmocka_unit_test(what_is_read_stays_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
