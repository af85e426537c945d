/* reduce_window by any region, of any number of operands and any element type, with any strides, padding and dilations;
 * select_and_scatter likewise. What kernel/pool.c and kernel/scan.c have no loops for. Running folds go through
 * kernel/running.c.
 *
 * reduce_window: results are made ROWS_MOST at a time; for each place of the window one row of what lies under it is
 * gathered, padding and holes as the initial value, and the region combines rows. Long sums and products of narrow
 * floats run in f32 and are rounded once.
 *
 * select_and_scatter: which element a window chooses is worked out window by window (a row of windows at a time, all
 * threads), left to right, staying with the one held while select(held, next); then the sources are folded in at the
 * chosen places in their order, threads dividing the places. */
#include "cpu/kernel/index.h"
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/region_rows.h"
#include "cpu/kernel/running.h"

enum { LONG_FOLD = 64 };

typedef struct window {
    int n;
    int64_t in[VIEW_MAX], out[VIEW_MAX], size[VIEW_MAX], stride[VIEW_MAX], low[VIEW_MAX], base[VIEW_MAX], dil[VIEW_MAX],
        step[VIEW_MAX];
    int64_t places, count; /* of a window; windows */
} window;

static int64_t int_or(const ir_op *op, ir_attr_key k, int i, int64_t fallback) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    return v && (size_t)i < n ? v[i] : fallback;
}

static bool read_window(const ir_op *op, const ir_type *in, const ir_type *out, window *w) {
    *w = (window){.n = (int)in->rank, .places = 1, .count = out->count};
    if (in->rank == 0 || in->rank > VIEW_MAX || in->count <= 0 || out->count <= 0) return false;
    int64_t step = 1;
    for (int i = w->n - 1; i >= 0; i--) {
        w->in[i] = in->dims[i];
        w->out[i] = out->dims[i];
        w->size[i] = int_or(op, IR_A_window_dimensions, i, 1);
        w->stride[i] = int_or(op, IR_A_window_strides, i, 1);
        w->low[i] = int_or(op, IR_A_padding, 2 * i, 0);
        w->base[i] = int_or(op, IR_A_base_dilations, i, 1);
        w->dil[i] = int_or(op, IR_A_window_dilations, i, 1);
        w->step[i] = step;
        step *= w->in[i];
        w->places *= w->size[i];
    }
    return true;
}

static bool next_place(const window *w, int64_t *k) {
    for (int i = w->n - 1; i >= 0; i--) {
        if (++k[i] < w->size[i]) return true;
        k[i] = 0;
    }
    return false;
}

/* at[i]: the operand element under place k of windows [first, first + n), -1 in padding and holes. */
static void under(const window *w, const int64_t *k, int64_t first, int64_t n, int64_t *at) {
    int last = w->n - 1;
    int64_t width = w->out[last];
    while (n > 0) {
        int64_t col = first % width, rest = first / width, run = width - col < n ? width - col : n, base = 0;
        bool inside = true;
        for (int d = last - 1; d >= 0; d--) {
            int64_t p = rest % w->out[d] * w->stride[d] + k[d] * w->dil[d] - w->low[d];
            rest /= w->out[d];
            inside = inside && p >= 0 && p % w->base[d] == 0 && p / w->base[d] < w->in[d];
            base += p / w->base[d] * w->step[d];
        }
        int64_t p = col * w->stride[last] + k[last] * w->dil[last] - w->low[last];
        for (int64_t i = 0; i < run; i++, p += w->stride[last]) {
            int64_t q = w->base[last] == 1 ? p : p / w->base[last];
            bool here = inside && p >= 0 && q < w->in[last] && (w->base[last] == 1 || p % w->base[last] == 0);
            at[i] = here ? base + q : -1;
        }
        at += run;
        first += run;
        n -= run;
    }
}

/* dst[i] = src[at[i]], or *other where at[i] < 0. */
#define PICK(T)                                                                                              \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = at[i] < 0 ? *(const T *)other : ((const T *)src)[at[i]]; \
    break
static void pick(size_t elem, void *dst, const void *src, const int64_t *at, const void *other, int64_t n) {
    switch (elem) {
    case 1: PICK(uint8_t);
    case 2: PICK(uint16_t);
    case 4: PICK(uint32_t);
    case 8: PICK(uint64_t);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)dst + (size_t)i * elem, at[i] < 0 ? other : (const char *)src + (size_t)at[i] * elem, elem);
    }
}

/* --- reduce_window --- */
typedef struct window_state {
    region_rows region;
    window w;
    size_t n, elem[FOLD_MOST]; /* operands; bytes in memory */
    xt_dtype wide; /* narrow floats that are folded in f32: their type */
    bool runs; /* a running fold, of this shape */
    running shape;
} window_state;
typedef struct window_run {
    const window_state *s;
    const cpu_call *call;
    rows_eval *evals;
    char *rows; /* per thread: 2 n rows and one more */
} window_run;

static size_t rows_bytes(const window_state *s) {
    return (2 * s->n + 1) * ROWS_MOST * ROWS_ELEM;
}

static void window_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const window_run *r = ctx;
    const window_state *s = r->s;
    char *rows = r->rows + (size_t)thread * rows_bytes(s), *spare = rows + 2 * s->n * ROWS_MOST * ROWS_ELEM;
    void *args[2 * FOLD_MOST];
    for (size_t j = 0; j < 2 * s->n; j++) args[j] = rows + j * ROWS_MOST * ROWS_ELEM;
    for (int64_t first = begin; first < end; first += ROWS_MOST) {
        int64_t n = end - first < ROWS_MOST ? end - first : ROWS_MOST, at[ROWS_MOST], k[VIEW_MAX] = {0};
        for (size_t j = 0; j < s->n; j++) {
            const void *init = r->call->in[s->n + j];
            fill_elems(s->wide ? spare : args[j], n, init, s->elem[j]);
            if (s->wide) convert_elems(n, s->wide, spare, XT_F32, args[j]);
        }
        do {
            under(&s->w, k, first, n, at);
            for (size_t j = 0; j < s->n; j++) {
                pick(s->elem[j], s->wide ? spare : args[s->n + j], r->call->in[j], at, r->call->in[s->n + j], n);
                if (s->wide) convert_elems(n, s->wide, spare, XT_F32, args[s->n + j]);
            }
            rows_eval_run(&r->evals[thread], n, args, args);
        } while (next_place(&s->w, k));
        for (size_t j = 0; j < s->n; j++) {
            char *to = (char *)r->call->out[j] + (size_t)first * s->elem[j];
            if (s->wide)
                convert_elems(n, XT_F32, args[j], s->wide, to);
            else
                memcpy(to, args[j], (size_t)n * s->elem[j]);
        }
    }
}

static running_fold running_fold_of(const window_state *s) {
    running_fold f = {.shape = &s->shape, .region = &s->region, .n = s->n, .wide = s->wide};
    memcpy(f.elem, s->elem, sizeof f.elem);
    return f;
}

static xt_status window_run_op(const cpu_call *c) {
    const window_state *s = c->thunk->state;
    if (s->runs) {
        running_fold f = running_fold_of(s);
        bool done;
        XT_TRY(running_run(&f, c, c->scratch, &done));
        if (done) return NULL;
    }
    window_run r = {.s = s, .call = c, .rows = c->scratch};
    XT_TRY(rows_evals_new(&s->region, c, &r.evals));
    int64_t grain = 16384 / (s->w.places + 1);
    team_for(&c->device->team, s->w.count, grain < 64 ? 64 : grain > ROWS_MOST ? ROWS_MOST : grain, window_chunk, &r);
    rows_evals_free(r.evals, c);
    return NULL;
}
static const cpu_kernel window_kernel = {"reduce-window-any", window_run_op, region_state_free, true},
                        running_kernel = {"running-fold", window_run_op, region_state_free, true};

/* A long sum or product of floats narrower than f32. */
static bool folds_wide(const ir_op *op, const window *w, ir_opcode *code) {
    xt_dtype t = op->in[0]->type->dtype;
    return op->n_in == 2 && w->places > LONG_FOLD && ir_dtype_is_float(t) && dtype_compute(t) != t &&
           region_is_binary(&op->regions[0], code) && (*code == OP_add || *code == OP_multiply);
}

CPU_LOWER(window_any) {
    size_t n = op->n_in / 2;
    window w;
    ir_opcode code;
    if (n == 0 || n > FOLD_MOST || op->out[0].type->kind != IR_TENSOR ||
        !read_window(op, op->in[0]->type, op->out[0].type, &w))
        return NULL;
    for (size_t j = 0; j < n; j++)
        if (op->in[n + j]->type->dtype != op->in[j]->type->dtype || op->out[j].type->dtype != op->in[j]->type->dtype)
            return NULL;
    window_state *s = base_calloc(1, sizeof *s);
    captured outside = {0};
    bool ok = true;
    if (!s) return status_oom(sizeof *s, "a plan");
    s->w = w;
    s->n = n;
    for (size_t j = 0; j < n; j++) s->elem[j] = xt_dtype_size(op->in[j]->type->dtype);
    xt_status st = captured_collect(op, &outside) ? NULL : status_oom(0, "a plan");
    if (!st && folds_wide(op, &w, &code)) {
        s->wide = op->in[0]->type->dtype;
        st = region_rows_binary(code, XT_F32, &s->region);
    } else if (!st) {
        st = region_rows_make(cpu_build_module(b), op->regions[0].block, &outside, op->n_in, &s->region, &ok);
    }
    base_free(outside.values);
    if (st || !ok) {
        region_state_free(s);
        return st;
    }
    *out_done = true;
    s->runs = running_of(op, &s->shape);
    running_fold f = running_fold_of(s);
    size_t any = rows_bytes(s) * (size_t)cpu_build_threads(b),
           steps = s->runs ? running_scratch(&f, cpu_build_threads(b)) : 0;
    cpu_thunk_desc d = {.kernel = s->runs ? &running_kernel : &window_kernel,
                        .op = op,
                        .n_out = op->n_out,
                        .scratch_bytes = any > steps ? any : steps,
                        .state = s,
                        .flops = s->runs ? (double)op->in[0]->type->count : cpu_op_flops(op)};
    return region_rows_thunk(b, &s->region, &d);
}

/* --- select_and_scatter --- */
typedef struct select_state {
    window w;
    region_rows select, combine;
    size_t elem; /* of the operand */
    size_t out_elem;
    index_fold fold; /* a combination that has a loop of its own; scatter NULL: none */
    int64_t elements; /* of the operand */
} select_state;
typedef struct select_run {
    const select_state *s;
    const cpu_call *call;
    rows_eval *evals;
    char *rows; /* per thread: held, next */
    int64_t *chosen; /* per window */
    int64_t pieces;
    rows_fold **folds; /* per piece */
} select_run;

static void choose_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const select_run *r = ctx;
    const select_state *s = r->s;
    char *held = r->rows + (size_t)thread * 2 * ROWS_MOST * ROWS_ELEM, *next = held + ROWS_MOST * ROWS_ELEM;
    void *args[2] = {held, next};
    uint8_t keep[ROWS_MOST];
    void *const flags[1] = {keep};
    static const char zeros[ROWS_ELEM];
    for (int64_t first = begin; first < end; first += ROWS_MOST) {
        int64_t n = end - first < ROWS_MOST ? end - first : ROWS_MOST, at[ROWS_MOST], k[VIEW_MAX] = {0},
                *chosen = r->chosen + first;
        for (int64_t i = 0; i < n; i++) chosen[i] = -1;
        memset(held, 0, (size_t)n * s->elem);
        do {
            under(&s->w, k, first, n, at);
            pick(s->elem, next, r->call->in[0], at, zeros, n);
            rows_eval_run(&r->evals[thread], n, args, flags);
            for (int64_t i = 0; i < n; i++) {
                if (at[i] < 0 || (chosen[i] >= 0 && keep[i])) continue;
                chosen[i] = at[i];
                memcpy(held + (size_t)i * s->elem, next + (size_t)i * s->elem, s->elem);
            }
        } while (next_place(&s->w, k));
    }
}

static void scatter_piece(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const select_run *r = ctx;
    const select_state *s = r->s;
    const char *src = r->call->in[1];
    for (int64_t p = begin; p < end; p++) {
        int64_t low = s->elements / r->pieces * p,
                high = p + 1 == r->pieces ? s->elements : s->elements / r->pieces * (p + 1);
        char *dst = r->call->out[0];
        for (int64_t i = low; i < high; i++) memcpy(dst + (size_t)i * s->out_elem, r->call->in[2], s->out_elem);
        if (s->fold.scatter) {
            s->fold.scatter(dst, src, 1, r->chosen, s->w.count, low, high);
            continue;
        }
        for (int64_t i = 0; i < s->w.count; i++) {
            const char *x = src + (size_t)i * s->out_elem;
            if (r->chosen[i] >= low && r->chosen[i] < high) rows_fold_put(r->folds[p], r->chosen[i], &x);
        }
        rows_fold_flush(r->folds[p]);
    }
}

static size_t chosen_bytes(const select_state *s) {
    return ((size_t)s->w.count * sizeof(int64_t) + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

static xt_status select_run_op(const cpu_call *c) {
    const select_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    select_run r = {.s = s,
                    .call = c,
                    .chosen = c->scratch,
                    .rows = (char *)c->scratch + chosen_bytes(s),
                    .pieces = s->w.count < 4096 ? 1 : team->threads};
    XT_TRY(rows_evals_new(&s->select, c, &r.evals));
    char *dst = c->out[0];
    xt_status st = NULL;
    r.folds = base_calloc((size_t)r.pieces, sizeof(rows_fold *));
    if (!r.folds) st = status_oom(sizeof(rows_fold *), "select_and_scatter");
    for (int64_t p = 0; p < r.pieces && !st && !s->fold.scatter; p++)
        st = rows_fold_new(&s->combine, c, 1, &s->out_elem, &dst, &r.folds[p]);
    if (!st) {
        int64_t grain = 16384 / (s->w.places + 1);
        team_for(team, s->w.count, grain < 64 ? 64 : grain > ROWS_MOST ? ROWS_MOST : grain, choose_chunk, &r);
        team_for(team, r.pieces, 1, scatter_piece, &r);
    }
    for (int64_t p = 0; r.folds && p < r.pieces; p++) rows_fold_free(r.folds[p]);
    base_free(r.folds);
    rows_evals_free(r.evals, c);
    return st;
}
static void select_free_state(void *state) {
    select_state *s = state;
    if (s) region_rows_deinit(&s->select), region_rows_deinit(&s->combine);
    base_free(s);
}
static const cpu_kernel select_kernel = {"select-and-scatter-any", select_run_op, select_free_state, true};

CPU_LOWER(select_any) {
    const ir_type *t = op->in[0]->type, *out = op->out[0].type;
    window w;
    if (!read_window(op, t, op->in[1]->type, &w) || op->in[1]->type->dtype != out->dtype ||
        op->in[2]->type->dtype != out->dtype)
        return NULL;
    select_state *s = base_calloc(1, sizeof *s);
    captured outside = {0};
    bool ok = false, both = false;
    if (!s) return status_oom(sizeof *s, "a plan");
    s->w = w;
    s->elem = xt_dtype_size(t->dtype);
    s->out_elem = xt_dtype_size(out->dtype);
    s->elements = t->count;
    if (!index_fold_of(&op->regions[1], out->dtype, &s->fold)) s->fold.scatter = NULL;
    xt_status st = captured_collect(op, &outside) ? NULL : status_oom(0, "a plan");
    if (!st) st = region_rows_make(cpu_build_module(b), op->regions[0].block, &outside, op->n_in, &s->select, &ok);
    if (!st) st = region_rows_make(cpu_build_module(b), op->regions[1].block, &outside, op->n_in, &s->combine, &both);
    base_free(outside.values);
    if (st || !ok || !both) {
        select_free_state(s);
        return st;
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &select_kernel,
                        .op = op,
                        .n_out = 1,
                        .scratch_bytes = chosen_bytes(s) + 2 * ROWS_MOST * ROWS_ELEM * (size_t)cpu_build_threads(b),
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return region_rows_thunk(b, &s->select, &d);
}
