/* Attention tile by tile (attn.h): against the whole matrices and against the interpreter, on one thread and two, in
 * both layouts of heads, with masks of all kinds; what must stay whole stays whole; and the memory it takes. Programs
 * are long enough for the stage to act, few heads keep them quick. */
#include <math.h>

#include "cpu/plan/attention/attn.h"
#include "cpu_check.h"

/* BLIND: row 3 may see nothing; DRAWN: by numbers that are made of positions; VECTORS: causal, by positions of one dim;
 * ADDED: causal, a matrix of 0 and what hides; TIMES: scores m - big (1 - m); DRAWN_CAUSAL: both, by two masks; MATRIX,
 * BIAS, KEYS: arguments, a boolean or a number for each pair, a boolean for each key. */
typedef enum mask_kind {
    PLAIN,
    CAUSAL,
    GIVEN,
    BLIND,
    DRAWN,
    VECTORS,
    ADDED,
    TIMES,
    DRAWN_CAUSAL,
    MATRIX,
    BIAS,
    KEYS
} mask_kind;
typedef struct row {
    const char *name, *dtype;
    int64_t B, H, T, S, D;
    mask_kind mask;
    bool backward, finite; /* finite: what may not be seen counts as -1e30, else -inf */
    double tol;
    double hidden; /* 0: as finite says */
    bool cut; /* tiles leave hidden columns out, and that is right for all of them */
} row;

static const row rows[] = {
    {"forward", "f32", 1, 2, 700, 800, 16, PLAIN, false, true, 1e-5},
    {"causal, rows that no tile divides", "f32", 1, 3, 601, 640, 16, CAUSAL, true, true, 1e-4, 0, true},
    {"one head", "f32", 1, 1, 1030, 1100, 8, GIVEN, true, true, 1e-4, 0, true},
    {"a matrix of booleans", "f32", 2, 2, 601, 640, 16, MATRIX, true, true, 1e-4, 0, true},
    {"a matrix of booleans, infinite", "f32", 2, 2, 720, 770, 16, MATRIX, true, false, 1e-4, 0, true},
    {"numbers to add", "f32", 2, 2, 720, 770, 16, BIAS, true, true, 1e-4, -1e9, true},
    {"numbers to add, bf16", "bf16", 2, 2, 720, 770, 16, BIAS, true, false, 2e-2, 0, true},
    {"padded keys", "f32", 2, 2, 720, 770, 16, KEYS, true, false, 1e-4, 0, true},
    {"infinite masks", "f32", 2, 1, 720, 770, 16, CAUSAL, true, false, 1e-4, 0, true},
    {"iotas of one dim", "f32", 1, 2, 770, 720, 16, VECTORS, true, false, 1e-4, 0, true},
    {"the least float", "f32", 1, 2, 760, 720, 16, CAUSAL, true, true, 1e-4, -3.4028234663852886e38, true},
    {"an added mask", "f32", 1, 2, 760, 720, 16, ADDED, true, false, 1e-4, 0, true},
    {"an added mask of -1e9", "f32", 1, 2, 760, 720, 16, ADDED, true, true, 1e-4, -1e9, true},
    {"scores times a mask", "f32", 1, 2, 760, 720, 16, TIMES, true, true, 1e-4, -1e9, true},
    {"a mask that hides nothing: -1", "f32", 1, 2, 760, 720, 16, CAUSAL, true, true, 1e-4, -1},
    {"causal and drawn by chance", "f32", 1, 2, 760, 720, 16, DRAWN_CAUSAL, true, true, 1e-4, 0, true},
    {"a row that sees nothing: NaN", "f32", 1, 2, 720, 770, 16, BLIND, true, false, 1e-4},
    {"a row that sees nothing: an even spread", "f32", 1, 2, 720, 770, 16, BLIND, true, true, 1e-4},
    {"drawn by chance", "f32", 2, 2, 530, 540, 16, DRAWN, true, true, 1e-4},
    {"bf16", "bf16", 1, 2, 730, 770, 32, CAUSAL, true, true, 2e-2, 0, true},
    {"bf16, infinite", "bf16", 1, 2, 730, 770, 32, CAUSAL, true, false, 2e-2, 0, true},
};

/* scores = q k^T scale, masked; p = softmax; y = p v; backward: with dy = y * y, the gradients of q, k and v. */
static void write_program(const row *r, str *s) {
    char full[64], rows_[64], q[64], k[64], pred[64], mask[64];
    snprintf(full, sizeof full, "tensor<%dx%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->T, (int)r->S, r->dtype);
    snprintf(pred, sizeof pred, "tensor<%dx%dx%dx%dxi1>", (int)r->B, (int)r->H, (int)r->T, (int)r->S);
    snprintf(rows_, sizeof rows_, "tensor<%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->T, r->dtype);
    snprintf(q, sizeof q, "tensor<%dx%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->T, (int)r->D, r->dtype);
    snprintf(k, sizeof k, "tensor<%dx%dx%dx%dx%s>", (int)r->B, (int)r->H, (int)r->S, (int)r->D, r->dtype);
#define P(...) str_printf(s, __VA_ARGS__)
#define BIN(res, op, a, b) P("%%%s = stablehlo.%s %%%s, %%%s : %s\n", res, op, a, b, full)
    snprintf(mask, sizeof mask, "tensor<%dx1x%dx%dx%s>", (int)r->B,
             r->mask == MATRIX || r->mask == BIAS ? (int)r->T : 1, (int)r->S, r->mask == BIAS ? r->dtype : "i1");
    P("func.func @main(%%q: %s, %%k: %s, %%v: %s, %%m: %s) -> (%s%s%s%s%s%s%s) {\n", q, k, k, mask, q,
      r->backward ? ", " : "", r->backward ? q : "", r->backward ? ", " : "", r->backward ? k : "",
      r->backward ? ", " : "", r->backward ? k : "");
    P("%%zero = stablehlo.constant dense<0.0> : tensor<%s>\n"
      "%%low = stablehlo.constant dense<%s> : tensor<%s>\n",
      r->dtype, r->dtype[0] == 'b' ? "0xFF80" : "0xFF800000", r->dtype);
    char hidden[48];
    snprintf(hidden, sizeof hidden,
             r->finite            ? "%.17e"
             : r->dtype[0] == 'b' ? "0xFF80"
                                  : "0xFF800000",
             r->hidden < 0 ? r->hidden : -1e30);
    P("%%scale = stablehlo.constant dense<0.25> : %s\n"
      "%%hidden = stablehlo.constant dense<%s> : %s\n",
      full, hidden, full);
    P("%%dots = stablehlo.dot_general %%q, %%k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (%s, "
      "%s) -> %s\n",
      q, k, full);
    BIN("scores", "multiply", "dots", "scale");
    int T = (int)r->T, S = (int)r->S;
    if (r->mask == VECTORS) {
        P("%%ci = stablehlo.iota dim = 0 : tensor<%dxi32>\n%%cj = stablehlo.iota dim = 0 : tensor<%dxi32>\n", T, S);
        P("%%i = stablehlo.broadcast_in_dim %%ci, dims = [2] : (tensor<%dxi32>) -> tensor<%dx%dx%dx%dxi32>\n", T,
          (int)r->B, (int)r->H, T, S);
        P("%%j = stablehlo.broadcast_in_dim %%cj, dims = [3] : (tensor<%dxi32>) -> tensor<%dx%dx%dx%dxi32>\n", S,
          (int)r->B, (int)r->H, T, S);
        P("%%see = stablehlo.compare GE, %%i, %%j : (tensor<%dx%dx%dx%dxi32>, tensor<%dx%dx%dx%dxi32>) -> %s\n",
          (int)r->B, (int)r->H, T, S, (int)r->B, (int)r->H, T, S, pred);
    } else if (r->mask == CAUSAL || r->mask == ADDED || r->mask == TIMES || r->mask == DRAWN_CAUSAL) {
        P("%%i = stablehlo.iota dim = 0 : tensor<%dx%dxi32>\n"
          "%%j = stablehlo.iota dim = 1 : tensor<%dx%dxi32>\n",
          T, S, T, S);
        P("%%c = stablehlo.compare GE, %%i, %%j : (tensor<%dx%dxi32>, tensor<%dx%dxi32>) -> tensor<%dx%dxi1>\n", T, S,
          T, S, T, S);
        P("%%%s = stablehlo.broadcast_in_dim %%c, dims = [2, 3] : (tensor<%dx%dxi1>) -> %s\n",
          r->mask == DRAWN_CAUSAL ? "past" : "see", T, S, pred);
    } else if (r->mask == BLIND) {
        P("%%i = stablehlo.iota dim = 0 : tensor<%dxi32>\n"
          "%%three = stablehlo.constant dense<3> : tensor<%dxi32>\n",
          T, T);
        P("%%c = stablehlo.compare NE, %%i, %%three : (tensor<%dxi32>, tensor<%dxi32>) -> tensor<%dxi1>\n", T, T, T);
        P("%%see = stablehlo.broadcast_in_dim %%c, dims = [2] : (tensor<%dxi1>) -> %s\n", T, pred);
    } else if (r->mask == GIVEN || r->mask == MATRIX || r->mask == KEYS || r->mask == BIAS)
        P("%%%s = stablehlo.broadcast_in_dim %%m, dims = [0, 1, 2, 3] : (%s) -> %s\n", r->mask == BIAS ? "mask" : "see",
          mask, r->mask == BIAS ? full : pred);
    if (r->mask == DRAWN || r->mask == DRAWN_CAUSAL) { /* words in blocks of four, as Philox makes them */
        int blocks = (int)(r->B * r->H * r->T * r->S / 4);
        P("%%at = stablehlo.iota dim = 0 : tensor<%dxui32>\n"
          "%%do = stablehlo.constant dense<2654435761> : tensor<%dxui32>\n"
          "%%dw = stablehlo.multiply %%at, %%do : tensor<%dxui32>\n",
          blocks, blocks, blocks);
        P("%%dw2 = stablehlo.xor %%dw, %%do : tensor<%dxui32>\n"
          "%%da = stablehlo.reshape %%dw : (tensor<%dxui32>) -> tensor<%dx1xui32>\n",
          blocks, blocks, blocks);
        P("%%db = stablehlo.reshape %%dw2 : (tensor<%dxui32>) -> tensor<%dx1xui32>\n", blocks, blocks);
        P("%%four = stablehlo.concatenate %%da, %%db, %%db, %%da, dim = 1 : (tensor<%dx1xui32>, tensor<%dx1xui32>, "
          "tensor<%dx1xui32>, tensor<%dx1xui32>) -> tensor<%dx4xui32>\n",
          blocks, blocks, blocks, blocks, blocks);
        P("%%df = stablehlo.reshape %%four : (tensor<%dx4xui32>) -> tensor<%dx%dx%dx%dxui32>\n", blocks, (int)r->B,
          (int)r->H, T, S);
        P("%%dh = stablehlo.constant dense<1000000000> : tensor<%dx%dx%dx%dxui32>\n", (int)r->B, (int)r->H, T, S);
        P("%%%s = stablehlo.compare GE, %%df, %%dh : (tensor<%dx%dx%dx%dxui32>, tensor<%dx%dx%dx%dxui32>) -> %s\n",
          r->mask == DRAWN_CAUSAL ? "luck" : "see", (int)r->B, (int)r->H, T, S, (int)r->B, (int)r->H, T, S, pred);
    }
    if (r->mask == DRAWN_CAUSAL) P("%%see = stablehlo.and %%past, %%luck : %s\n", pred);
    if (r->mask == ADDED || r->mask == TIMES) {
        P("%%zeros = stablehlo.constant dense<0.0> : %s\n%%ones = stablehlo.constant dense<1.0> : %s\n", full, full);
        P("%%mask = stablehlo.select %%see, %%%s, %%%s : %s, %s\n", r->mask == ADDED ? "zeros" : "ones",
          r->mask == ADDED ? "hidden" : "zeros", pred, full);
    }
    if (r->mask == ADDED || r->mask == BIAS) {
        BIN("s", "add", "mask", "scores");
    } else if (r->mask == TIMES) {
        BIN("kept", "multiply", "scores", "mask");
        BIN("gone", "subtract", "ones", "mask");
        BIN("big", "multiply", "gone", "hidden");
        BIN("s", "add", "kept", "big");
    } else if (r->mask == PLAIN)
        P("%%s = stablehlo.add %%scores, %%scores : %s\n", full);
    else
        P("%%s = stablehlo.select %%see, %%scores, %%hidden : %s, %s\n", pred, full);
    P("%%top = stablehlo.reduce(%%s init: %%low) applies stablehlo.maximum across dimensions = [3] : (%s, tensor<%s>) "
      "-> %s\n",
      full, r->dtype, rows_);
    P("%%tops = stablehlo.broadcast_in_dim %%top, dims = [0, 1, 2] : (%s) -> %s\n", rows_, full);
    BIN("x", "subtract", "s", "tops");
    P("%%e = stablehlo.exponential %%x : %s\n", full);
    P("%%sum = stablehlo.reduce(%%e init: %%zero) applies stablehlo.add across dimensions = [3] : (%s, tensor<%s>) -> "
      "%s\n",
      full, r->dtype, rows_);
    P("%%sums = stablehlo.broadcast_in_dim %%sum, dims = [0, 1, 2] : (%s) -> %s\n", rows_, full);
    BIN("p", "divide", "e", "sums");
    P("%%y = stablehlo.dot_general %%p, %%v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (%s, %s) "
      "-> %s\n",
      full, k, q);
    if (r->backward) {
        P("%%dy = stablehlo.multiply %%y, %%y : %s\n", q);
        P("%%dv = stablehlo.dot_general %%p, %%dy, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : "
          "(%s, %s) -> %s\n",
          full, q, k);
        P("%%dp = stablehlo.dot_general %%dy, %%v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : "
          "(%s, %s) -> %s\n",
          q, k, full);
        BIN("pd", "multiply", "p", "dp");
        P("%%r = stablehlo.reduce(%%pd init: %%zero) applies stablehlo.add across dimensions = [3] : (%s, tensor<%s>) "
          "-> %s\n",
          full, r->dtype, rows_);
        P("%%n = stablehlo.negate %%r : %s\n"
          "%%rs = stablehlo.broadcast_in_dim %%n, dims = [0, 1, 2] : (%s) -> %s\n",
          rows_, rows_, full);
        BIN("u", "add", "dp", "rs");
        BIN("w", "multiply", "u", "p");
        BIN("ds", "multiply", "w", "scale");
        P("%%dq = stablehlo.dot_general %%ds, %%k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : "
          "(%s, %s) -> %s\n",
          full, k, q);
        P("%%dk = stablehlo.dot_general %%ds, %%q, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : "
          "(%s, %s) -> %s\n",
          full, q, k);
        P("return %%y, %%dq, %%dk, %%dv : %s, %s, %s, %s\n}\n", q, q, k, k);
    } else
        P("return %%y : %s\n}\n", q);
}

/* Later batch elements see less: of the keys before a query, or before the end. */
static void fill_mask(const row *r, array *m) {
    int64_t rows_of = m->type->dims[2];
    for (int64_t i = 0; i < m->type->count; i++) {
        int64_t s = i % r->S, t = i / r->S % rows_of, b = i / r->S / rows_of;
        bool see = r->mask == KEYS
        ? s < r->S / (2 + b) : s <= t / (1 + b);
        array_set(m, i, r->mask != BIAS ? see : see ? 0.25 : r->finite ? r->hidden : -INFINITY);
    }
}

typedef struct result {
    array out[8];
    size_t n, tiles, skips, arena;
    long long shortened, redone; /* tiles, as a profile tells */
} result;

static void count_tiles(const cpu_thunk *t, result *r) {
    if (strcmp(t->kernel->name, "attention") != 0) return;
    long long shortened, all, redone;
    str told = STR_INIT;
    t->kernel->report(t->state, &told);
    if (sscanf(str_cstr(&told), "%lld of %lld tiles without their last columns, %lld of them computed again",
               &shortened, &all, &redone) != 3)
        fail_msg("%s", str_cstr(&told));
    assert_true(redone <= shortened && shortened <= all && all > 0);
    r->tiles++;
    r->shortened += shortened;
    r->redone += redone;
    str_free(&told);
}

/* `poison`: an element of input `poisoned` that is not 0. */
static result run_with(const row *r, const char *text, int threads, size_t poisoned, int64_t at, float poison) {
    result a = {0};
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[8] = {0};
    int from[8];
    heap h = {0};
    cpu_alloc mem = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), r->name);
    expect_ok(cpu_device_new(threads, NULL, &d), r->name);
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), r->name);
        fill_random(&in[i], 100 + i);
        if (i == 3 && (r->mask == MATRIX || r->mask == BIAS || r->mask == KEYS)) fill_mask(r, &in[i]);
        if (poison != 0 && i == poisoned) array_set(&in[i], at, (double)poison);
    }
    for (const attn_call *t = e->tiles; t; t = t->next) a.skips += t->n_skips;
    a.n = cpu_exec_outputs(e);
    a.arena = e->plan.arena_bytes;
    expect_ok(cpu_run(e, d, &mem, in, NULL, a.out, from), r->name);
    for (size_t t = 0; t < e->plan.n_thunks; t++) count_tiles(&e->plan.thunks[t], &a);
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    return a;
}
static result run(const row *r, const char *text, int threads) {
    return run_with(r, text, threads, 0, 0, 0);
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
        result one = run(r, str_cstr(&text), 1);
        if (r->cut && r->mask != GIVEN && !one.shortened) fail_msg("%s: no tile left columns out", r->name);
        if (r->cut != (one.skips > 0)) fail_msg("%s: %zu sorts of tiles leave columns out", r->name, one.skips);
        if (r->mask != DRAWN_CAUSAL && one.redone) /* there, chance leaves some early rows nothing to see */
            fail_msg("%s: %lld tiles were computed again", r->name, one.redone);
        result two = run(r, str_cstr(&text), 2);
        setenv("XT_PASSES", "-tile", 1);
        result whole = run(r, str_cstr(&text), 2);
        unsetenv("XT_PASSES");
        if (one.tiles != (r->backward ? 2u : 1u)) fail_msg("%s: %zu chains", r->name, one.tiles);
        assert_int_equal(whole.tiles, 0);
        compare_results(r->name, one.n, whole.out, one.out, r->tol);
        for (size_t j = 0; j < one.n; j++)
            if (memcmp(one.out[j].data, two.out[j].data, ir_type_bytes(one.out[j].type)) != 0)
                fail_msg("%s: other bits on two threads", r->name);
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

/* Where what is hidden matters after all, the tile is computed whole. */
static void hidden_columns_that_matter(void **state) {
    (void)state;
    static const struct {
        const char *name;
        mask_kind mask;
        bool finite;
        double hidden;
        size_t input; /* q, k, v */
        int64_t row;
        float value;
    } all[] = {
        {"NaN in a late value", CAUSAL, true, 0, 2, 700, NAN},
        {"Inf in a late value", CAUSAL, false, 0, 2, 700, INFINITY},
        {"NaN in a late key, selected away", CAUSAL, true, 0, 1, 700, NAN},
        {"NaN in a late key, added to", ADDED, false, 0, 1, 700, NAN},
        {"Inf in a late key, added to", ADDED, false, 0, 1, 700, INFINITY},
        {"a key larger than the mask", ADDED, true, -1e5, 1, 700, 1e9f},
        {"scores below the mask", CAUSAL, true, -1e5, 1, 0, -3e9f},
        {"NaN in an early query", CAUSAL, true, 0, 0, 5, NAN},
        {"NaN in a late value, a given mask", MATRIX, true, 0, 2, 700, NAN},
        {"Inf in a late key, given numbers", BIAS, false, 0, 1, 700, INFINITY},
        {"a key larger than given numbers", BIAS, true, -1e5, 1, 700, 1e9f},
    };
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        row r = {all[i].name, "f32", 1, 1, 1040, 1010, 8, all[i].mask, true, all[i].finite, 1e-4, all[i].hidden, true};
        str text = STR_INIT;
        write_program(&r, &text);
        result tiles = run_with(&r, str_cstr(&text), 2, all[i].input, all[i].row * r.D + 3, all[i].value);
        if (!tiles.skips || !tiles.redone) fail_msg("%s: nothing was computed again", r.name);
        setenv("XT_PASSES", "-tile", 1);
        result whole = run_with(&r, str_cstr(&text), 2, all[i].input, all[i].row * r.D + 3, all[i].value);
        unsetenv("XT_PASSES");
        compare_results(r.name, tiles.n, whole.out, tiles.out, r.tol);
        result_free(&tiles);
        result_free(&whole);
        str_free(&text);
    }
}

/* The n-th allocation of planning fails: an error, or the plan. */
static void without_memory(void **state) {
    (void)state;
    static const row r = {"memory", "f32", 4, 2, 520, 530, 8, MATRIX, false, true, 1e-4, 0, true};
    str text = STR_INIT;
    write_program(&r, &text);
    int fails = 0, went = 0;
    for (int64_t n = 1; went < 20; n += 3) {
        cpu_exec *e = NULL;
        base_fail_alloc_after(n);
        xt_status s = cpu_compile(str_cstr(&text), text.len, &(cpu_compile_opts){.threads = 2}, &e);
        base_fail_alloc_after(-1);
        if (s) assert_null(e);
        fails += s != NULL;
        went = s ? 0 : went + 1;
        xt_status_free(s);
        if (e) cpu_exec_free(e);
    }
    assert_true(fails > 100);
    str_free(&text);
}

/* Off, all columns are computed. */
static void skips_can_be_switched_off(void **state) {
    (void)state;
    static const row r = {"off", "f32", 1, 1, 1030, 1030, 8, CAUSAL, true, true, 1e-5, 0, true};
    str text = STR_INIT;
    write_program(&r, &text);
    result on = run(&r, str_cstr(&text), 2);
    setenv("XT_PASSES", "-tile_cut", 1);
    result off = run(&r, str_cstr(&text), 2);
    unsetenv("XT_PASSES");
    assert_true(on.skips > 0 && off.skips == 0 && off.tiles == 2);
    compare_results(r.name, on.n, off.out, on.out, r.tol);
    result_free(&on);
    result_free(&off);
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
    str_printf(&with,
               "%s-> (tensor<1x2x730x16xf32>, tensor<1x2x730x740xf32>) {%sreturn %%y, %%p : tensor<1x2x730x16xf32>, "
               "tensor<1x2x730x740xf32>\n"
               "}\n",
               text.data, arrow + strlen("-> (tensor<1x2x730x16xf32>) {"));
    result a = run(&r, str_cstr(&with), 2);
    assert_int_equal(a.tiles, 0);
    result_free(&a);
    str_free(&text);
    str_free(&with);
}

/* Layers of a wide network over many rows look like attention but for what comes out, which is as large as the matrix
 * between: nothing would be saved, and products of all layers computed again. */
static void wide_layers_stay_products(void **state) {
    (void)state;
    static const char text[] = "func.func @main(%x: tensor<8192x64xf32>, %a: tensor<64x512xf32>, %b: "
                               "tensor<512x512xf32>, %dy: tensor<8192x3xf32>, %c: tensor<3x512xf32>) -> "
                               "(tensor<8192x512xf32>, tensor<512x512xf32>) {\n"
                               "%0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : "
                               "(tensor<8192x64xf32>, tensor<64x512xf32>) -> tensor<8192x512xf32>\n"
                               "%1 = stablehlo.tanh %0 : tensor<8192x512xf32>\n"
                               "%2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : "
                               "(tensor<8192x512xf32>, tensor<512x512xf32>) -> tensor<8192x512xf32>\n"
                               "%3 = stablehlo.dot_general %dy, %c, contracting_dims = [1] x [0] : "
                               "(tensor<8192x3xf32>, tensor<3x512xf32>) -> tensor<8192x512xf32>\n"
                               "%4 = stablehlo.multiply %3, %1 : tensor<8192x512xf32>\n"
                               "%5 = stablehlo.dot_general %1, %4, contracting_dims = [0] x [0] : "
                               "(tensor<8192x512xf32>, tensor<8192x512xf32>) -> tensor<512x512xf32>\n"
                               "return %2, %5 : tensor<8192x512xf32>, tensor<512x512xf32>\n}\n";
    static const row r = {.name = "wide layers"};
    result a = run(&r, text, 2);
    assert_int_equal(a.tiles, 0);
    assert_true(a.arena < (size_t)4 * 8192 * 512 * 4);
    result_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_agree_with_the_whole), cmocka_unit_test(tiles_agree_with_the_interpreter),
        cmocka_unit_test(hidden_columns_that_matter), cmocka_unit_test(without_memory),
        cmocka_unit_test(skips_can_be_switched_off),  cmocka_unit_test(memory_is_linear),
        cmocka_unit_test(what_is_read_stays_whole),   cmocka_unit_test(wide_layers_stay_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
