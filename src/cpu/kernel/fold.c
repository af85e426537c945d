/* reduce by any region, of any number of operands (argmax and its kin), and of the element types kernel/reduce.c
 * leaves: the region runs over rows.
 *
 * Dims, merged where neighbours are both kept or both reduced, alternate. Where the innermost are kept, a row of
 * results folds row after row. Where they are reduced, a row of partial results does, and is folded in halves at the
 * end (folds that simd.h has are of a whole run at once); short innermost dims are gathered, so that a row is
 * many results' elements (those folds take short runs that lie one behind the other as they are). Regions that are not
 * known to commute (an argmax keeps the left one of two NaN; pairs that compose) meet elements in their order, as the
 * specification asks: a row of partial results then has a stretch of neighbours behind each, and neighbours are folded
 * at the end. Few results of much work are made in `parts` pieces, by a rule that looks at shapes only. Initial values
 * join once, at the end. f16 accumulates in f32. */
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/region_order.h"
#include "cpu/kernel/region_rows.h"
#include "cpu/vector/fold.h"
#include "cpu/vector/fold_axes.h"

enum { MOST = 8, ROW = ROWS_MOST, SHORTEST_RUN = 32 };

typedef struct fold_state {
    region_rows region;
    size_t n, row_bytes; /* operands; of one thread */
    size_t elem[MOST], memory[MOST]; /* of an accumulator; of an operand's element */
    bool widen; /* f16 operands are folded as f32 */
    bool gathered;
    void (*whole)(void *out, const void *x, int64_t n); /* the fold of a run, where simd.h has it; or NULL */
    /* of many short runs, one behind the other; or NULL */
    void (*short_runs)(void *out, const void *x, int64_t rows, int64_t n);
    region_order order;
    xt_dtype type[MOST];
    fold_axes axes;
    int64_t parts, outputs;
    size_t partial_at[MOST]; /* [parts][outputs] in the scratch memory */
} fold_state;
typedef struct fold_run {
    const fold_state *s;
    void *const *in, *const *out;
    char *scratch, *threads;
    rows_eval *evals;
} fold_run;

typedef struct rows { /* one thread's */
    char *acc[MOST], *next[MOST];
    rows_eval *eval;
    void *args[2 * MOST], *results[MOST];
} rows;
static void rows_begin(const fold_run *r, int thread, rows *w) {
    char *p = r->threads + (size_t)thread * r->s->row_bytes;
    for (size_t j = 0; j < r->s->n; j++) {
        w->acc[j] = p;
        w->next[j] = p + ROW * ROWS_ELEM;
        p += 2 * ROW * ROWS_ELEM;
    }
    w->eval = &r->evals[thread];
}

/* Elements at, at + step, ... of operand j as a row of accumulators' type: where they lie, or in `into`. */
static const char *row_of(const fold_run *r, size_t j, int64_t at, int64_t step, int64_t n, char *into) {
    const fold_state *s = r->s;
    const char *src = (const char *)r->in[j] + (size_t)at * s->memory[j];
    if (step != 1) {
        view v = {.n = 1, .dims = {n}, .strides = {step}};
        int c = s->memory[j] == 1 ? 0 : s->memory[j] == 2 ? 1 : s->memory[j] == 4 ? 2 : 3;
        char *to = s->widen ? into + ROW * 4 : into; /* widened below, from the far end of the room */
        if (s->memory[j] <= 8) simd_get()->gather[c](to, src, &v, 0, n);
        for (int64_t i = 0; s->memory[j] > 8 && i < n; i++)
            memcpy(to + (size_t)i * s->memory[j], src + (size_t)(i * step) * s->memory[j], s->memory[j]);
        src = to;
    }
    if (!s->widen) return src;
    simd_get()->ops[VPROG_LOAD_F16][VPROG_F32](into, src, NULL, NULL, n);
    return into;
}

/* acc = region(acc, x) for n lanes. */
static void join(const fold_state *s, rows *w, int64_t n, const char *const *x) {
    for (size_t j = 0; j < s->n; j++) {
        w->args[j] = w->results[j] = w->acc[j];
        w->args[s->n + j] = (void *)(uintptr_t)x[j];
    }
    rows_eval_run(w->eval, n, w->args, w->results);
}

static void take_in(const fold_run *r, rows *w, int64_t at, int64_t step, int64_t n, bool first) {
    const fold_state *s = r->s;
    const char *x[MOST];
    for (size_t j = 0; j < s->n; j++) {
        x[j] = row_of(r, j, at, step, n, w->next[j]);
        if (first) memcpy(w->acc[j], x[j], (size_t)n * s->elem[j]);
    }
    if (!first) join(s, w, n, x);
}

/* Folds lanes [0, n) into the first. */
static void halve(const fold_state *s, rows *w, int64_t n) {
    while (n > 1) {
        int64_t h = n / 2;
        const char *x[MOST];
        for (size_t j = 0; j < s->n; j++) x[j] = w->acc[j] + (size_t)(n - h) * s->elem[j];
        join(s, w, h, x);
        n -= h;
    }
}

static void give(const fold_run *r, rows *w, int64_t part, int64_t output, int64_t n) {
    const fold_state *s = r->s;
    for (size_t j = 0; j < s->n; j++)
        memcpy(r->scratch + s->partial_at[j] + (size_t)(part * s->outputs + output) * s->elem[j], w->acc[j],
               (size_t)n * s->elem[j]);
}

/* --- in order --- */
static void pick_every_other(const fold_state *s, size_t j, char *to, const char *from, int64_t n) {
    view v = {.n = 1, .dims = {n}, .strides = {2}};
    size_t e = s->elem[j];
    int c = e == 1 ? 0 : e == 2 ? 1 : e == 4 ? 2 : 3;
    if (e <= 8) simd_get()->gather[c](to, from, &v, 0, n);
    for (int64_t i = 0; e > 8 && i < n; i++) memcpy(to + (size_t)i * e, from + (size_t)(2 * i) * e, e);
}

/* Folds lanes [0, n) into the first, neighbours with neighbours. */
static void pair_up(const fold_state *s, rows *w, int64_t n) {
    while (n > 1) {
        int64_t h = n / 2;
        for (size_t j = 0; j < s->n; j++) {
            size_t e = s->elem[j];
            char *left = w->next[j], *right = w->next[j] + ROW / 2 * ROWS_ELEM;
            pick_every_other(s, j, left, w->acc[j], h);
            pick_every_other(s, j, right, w->acc[j] + e, h);
            if (n % 2) memmove(w->acc[j] + (size_t)h * e, w->acc[j] + (size_t)(n - 1) * e, e);
            w->args[j] = left;
            w->args[s->n + j] = right;
            w->results[j] = w->acc[j];
        }
        rows_eval_run(w->eval, h, w->args, w->results);
        n -= h;
    }
}

/* The elements of [at, at + n), each lane some neighbours; what is left over is less than a lane has lanes and goes
 * round again. */
static void fold_in_order(const fold_run *r, rows *w, int64_t at, int64_t n, char (*total)[ROWS_ELEM], bool *begun) {
    enum { DEEP = 8 };
    const fold_state *s = r->s;
    while (n > 0) {
        int64_t lanes = n <= 2 * DEEP ? n : n / DEEP < ROW ? n / DEEP : ROW, deep = n / lanes;
        for (int64_t i = 0; i < deep; i++) take_in(r, w, at + i, deep, lanes, i == 0);
        pair_up(s, w, lanes);
        for (size_t j = 0; j < s->n; j++) {
            if (!*begun) memcpy(total[j], w->acc[j], s->elem[j]);
            w->args[j] = w->results[j] = total[j];
            w->args[s->n + j] = w->acc[j];
        }
        if (*begun) rows_eval_run(w->eval, 1, w->args, w->results);
        *begun = true;
        at += lanes * deep;
        n -= lanes * deep;
    }
}

static void ordered_runs(void *ctx, int64_t begin, int64_t end, int thread) {
    const fold_run *r = ctx;
    const fold_state *s = r->s;
    rows w;
    rows_begin(r, thread, &w);
    for (int64_t t = begin; t < end; t++) {
        _Alignas(16) char total[MOST][ROWS_ELEM];
        bool begun = false;
        int64_t k = t / s->parts, p = t % s->parts,
                base = cpu_fold_at(k, s->axes.n_keep, s->axes.keep_dims, s->axes.keep_strides);
        int64_t all = s->axes.red * s->axes.run, from = all * p / s->parts, to = all * (p + 1) / s->parts;
        while (from < to) {
            int64_t within = from % s->axes.run,
                    n = s->axes.run - within < to - from ? s->axes.run - within : to - from;
            fold_in_order(r, &w,
                          base + cpu_fold_at(from / s->axes.run, s->axes.n_red, s->axes.red_dims, s->axes.red_strides) +
                              within,
                          n, total, &begun);
            from += n;
        }
        for (size_t j = 0; j < s->n; j++) memcpy(w.acc[j], total[j], s->elem[j]);
        give(r, &w, p, k, 1);
    }
}

/* A float among the results is NaN or a zero. */
static bool is_special(const fold_state *s, const rows *w) {
    for (size_t j = 0; j < s->n; j++) {
        double v = 1;
        if (ir_dtype_is_float(s->type[j])) convert_elems(1, s->type[j], w->acc[j], XT_F64, &v);
        if (v != v || v == 0) return true;
    }
    return false;
}

/* Elements [at, at + n) join the fold in the first lane. */
static void add_run(const fold_run *r, rows *w, int64_t at, int64_t n, bool first) {
    const char *x[MOST] = {w->next[0]};
    r->s->whole(first ? w->acc[0] : w->next[0], (const char *)r->in[0] + (size_t)at * r->s->elem[0], n);
    if (!first) join(r->s, w, 1, x);
}

/* One result of each task: runs of the innermost dim, ROW lanes at a time. */
static void reduced_runs(void *ctx, int64_t begin, int64_t end, int thread) {
    const fold_run *r = ctx;
    const fold_state *s = r->s;
    rows w;
    rows_begin(r, thread, &w);
    for (int64_t t = begin; t < end; t++) {
        int64_t k = t / s->parts, p = t % s->parts,
                base = cpu_fold_at(k, s->axes.n_keep, s->axes.keep_dims, s->axes.keep_strides), lanes = 0;
        int64_t total = s->axes.red * s->axes.run, from = total * p / s->parts, to = total * (p + 1) / s->parts;
        while (from < to) {
            int64_t within = from % s->axes.run, n = s->axes.run - within;
            if (n > ROW && !s->whole) n = ROW;
            if (n > to - from) n = to - from;
            int64_t at =
                base + cpu_fold_at(from / s->axes.run, s->axes.n_red, s->axes.red_dims, s->axes.red_strides) + within;
            if (s->whole) {
                add_run(r, &w, at, n, lanes == 0);
                lanes = 1;
            } else if (n <= lanes || lanes == 0) {
                take_in(r, &w, at, 1, n, lanes == 0);
                if (lanes == 0) lanes = n;
            } else { /* a longer row than those before: its lanes beyond them begin anew */
                take_in(r, &w, at, 1, lanes, false);
                n = lanes;
            }
            from += n;
        }
        halve(s, &w, lanes);
        give(r, &w, p, k, 1);
        if (s->order == ORDER_SPECIAL && is_special(s, &w)) ordered_runs(ctx, t, t + 1, thread);
    }
}

/* A row of results of each task: `gathered` results lie apart in the operand, else side by side. */
static void kept_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const fold_run *r = ctx;
    const fold_state *s = r->s;
    int64_t width = s->gathered ? s->axes.keep_dims[s->axes.n_keep - 1] : s->axes.run, tiles = (width + ROW - 1) / ROW;
    int64_t step = s->gathered ? s->axes.keep_strides[s->axes.n_keep - 1] : 1, outer_keep = s->outputs / width,
            reduced = s->gathered ? s->axes.red * s->axes.run : s->axes.red;
    int keeps = s->gathered ? s->axes.n_keep - 1 : s->axes.n_keep;
    rows w;
    rows_begin(r, thread, &w);
    for (int64_t t = begin; t < end; t++) {
        int64_t p = t / (outer_keep * tiles), k = t / tiles % outer_keep, col = t % tiles * ROW,
                n = width - col < ROW ? width - col : ROW;
        int64_t base = cpu_fold_at(k, keeps, s->axes.keep_dims, s->axes.keep_strides) + col * step,
                from = reduced * p / s->parts, to = reduced * (p + 1) / s->parts;
        if (s->short_runs) {
            s->short_runs(w.acc[0], (const char *)r->in[0] + (size_t)base * s->elem[0], n, reduced);
            from = to;
        }
        for (int64_t i = from; i < to; i++) {
            int64_t at = s->gathered
                             ? cpu_fold_at(i / s->axes.run, s->axes.n_red, s->axes.red_dims, s->axes.red_strides) +
                                   i % s->axes.run
                             : cpu_fold_at(i, s->axes.n_red, s->axes.red_dims, s->axes.red_strides);
            take_in(r, &w, base + at, step, n, i == from);
        }
        give(r, &w, p, k * width + col, n);
    }
}

/* Initial values, then the parts in order. */
static void combine(void *ctx, int64_t begin, int64_t end, int thread) {
    const fold_run *r = ctx;
    const fold_state *s = r->s;
    rows w;
    rows_begin(r, thread, &w);
    for (int64_t at = begin; at < end; at += ROW) {
        int64_t n = end - at < ROW ? end - at : ROW;
        const char *x[MOST];
        for (size_t j = 0; j < s->n; j++) {
            const void *init = r->in[s->n + j];
            float wide;
            if (s->widen) {
                simd_get()->ops[VPROG_LOAD_F16][VPROG_F32](&wide, init, NULL, NULL, 1);
                init = &wide;
            }
            for (int64_t i = 0; i < n; i++) memcpy(w.acc[j] + (size_t)i * s->elem[j], init, s->elem[j]);
        }
        for (int64_t p = 0; p < s->parts; p++) {
            for (size_t j = 0; j < s->n; j++)
                x[j] = r->scratch + s->partial_at[j] + (size_t)(p * s->outputs + at) * s->elem[j];
            join(s, &w, n, x);
        }
        for (size_t j = 0; j < s->n; j++) {
            char *to = (char *)r->out[j] + (size_t)at * s->memory[j];
            if (s->widen)
                simd_get()->ops[VPROG_STORE_F16][VPROG_F32](to, w.acc[j], NULL, NULL, n);
            else
                memcpy(to, w.acc[j], (size_t)n * s->elem[j]);
        }
    }
}

static xt_status fold_run_op(const cpu_call *c) {
    const fold_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    size_t partial = s->partial_at[s->n - 1] + (size_t)(s->parts * s->outputs) * s->elem[s->n - 1];
    fold_run r = {
        s, c->in, c->out, c->scratch, (char *)c->scratch + (partial + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN, NULL};
    int64_t work = s->axes.red * s->axes.run / (s->axes.inner_reduced ? s->parts : 1);
    XT_TRY(rows_evals_new(&s->region, c, &r.evals));
    if (s->axes.inner_reduced && !s->gathered) {
        team_for(team, s->axes.keep * s->parts, 16384 / (work + 1) + 1,
                 s->order == ORDER_KEPT ? ordered_runs : reduced_runs, &r);
    } else {
        int64_t width = s->gathered ? s->axes.keep_dims[s->axes.n_keep - 1] : s->axes.run,
                tiles = (width + ROW - 1) / ROW;
        work = s->axes.keep * s->axes.run * s->axes.red / (s->parts * (s->outputs / width) * tiles);
        team_for(team, s->parts * (s->outputs / width) * tiles, 16384 / (work + 1) + 1, kept_rows, &r);
    }
    team_for(team, s->outputs, 16 * ROW, combine, &r);
    rows_evals_free(r.evals, c);
    return NULL;
}
static const cpu_kernel fold_kernel = {"fold", fold_run_op, region_state_free, true};

/* Everything that follows from the shape alone, but for the parts. */
static void classify(const ir_type *t, const int64_t *dims, size_t n_dims, fold_state *s) {
    fold_axes *a = &s->axes;
    cpu_fold_axes(t, dims, n_dims, a);
    s->gathered = a->inner_reduced && a->run < 64 && a->n_keep > 0 && a->keep_dims[a->n_keep - 1] >= 16;
    s->outputs = a->keep * (a->inner_reduced ? 1 : a->run);
}

static xt_status make_region(const cpu_builder *builder, const ir_op *op, fold_state *s, bool *ok) {
    const ir_block *b = op->regions[0].block;
    const ir_op *o = b ? b->first : NULL;
    captured outside = {0};
    bool simple = s->n == 1 && o && o->n_in == 2 && o->n_out == 1 && b->n_args == 2 && o->next && o->next->n_in == 1 &&
                  o->next->in[0] == &o->out[0] && !o->in[0]->def && !o->in[1]->def && o->in[0] != o->in[1];
    if (simple && op->in[0]->type->dtype == XT_F16) {
        s->widen = true;
        s->elem[0] = sizeof(float);
        XT_TRY(region_rows_binary(o->code, XT_F32, &s->region));
        *ok = s->region.t != NULL;
        return NULL;
    }
    xt_status st = captured_collect(op, &outside)
                       ? region_rows_make(cpu_build_module(builder), b, &outside, op->n_in, &s->region, ok)
                       : status_oom(0, "a plan");
    base_free(outside.values);
    return st;
}

CPU_LOWER(fold) {
    const ir_type *t = op->in[0]->type;
    size_t n_dims, n = op->n_in / 2, scratch = 0;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n_dims);
    if (n == 0 || n > MOST || t->count <= 0 || t->rank > VIEW_MAX || op->out[0].type->count <= 0) return NULL;
    fold_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->n = n;
    for (size_t j = 0; j < n; j++) {
        s->memory[j] = s->elem[j] = xt_dtype_size(op->in[j]->type->dtype);
        bool same =
            op->in[n + j]->type->dtype == op->in[j]->type->dtype && op->out[j].type->dtype == op->in[j]->type->dtype;
        if (same && op->in[j]->type->count == t->count) continue;
        base_free(s);
        return NULL;
    }
    bool ok = false;
    fold_op known;
    vprog_type v;
    if (n == 1 && t->dtype != XT_F16 && cpu_fold_of(&op->regions[0], &known) && vprog_type_of(t->dtype, &v))
        s->whole = simd_get()->run[known][v], s->short_runs = simd_get()->short_runs[known][v];
    xt_status st = make_region(b, op, s, &ok);
    if (st || !ok) {
        region_state_free(s);
        return st;
    }
    classify(t, dims, n_dims, s);
    if (s->axes.run < SHORTEST_RUN) s->whole = NULL;
    if (!s->gathered || s->axes.n_red || s->axes.keep_strides[s->axes.n_keep - 1] != s->axes.run) s->short_runs = NULL;
    s->order = region_order_of(op->regions[0].block, n);
    for (size_t j = 0; j < n; j++) s->type[j] = op->in[j]->type->dtype;
    int64_t tasks = s->axes.inner_reduced && !s->gathered ? s->axes.keep : s->outputs / ROW + 1;
    s->parts = 1;
    if (tasks < 16 && t->count > 65536 && !s->short_runs) {
        int64_t most = s->axes.inner_reduced && !s->gathered ? s->axes.red * s->axes.run / (4 * ROW)
                       : s->gathered                         ? s->axes.red * s->axes.run / 4
                                                             : s->axes.red / 4;
        s->parts = most < 1 ? 1 : most > 16 ? 16 : most;
    }
    for (size_t j = 0; j < n; j++) {
        s->partial_at[j] = scratch;
        scratch += (size_t)(s->parts * s->outputs) * s->elem[j];
        if (j + 1 < n) scratch = (scratch + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    }
    s->row_bytes = n * 2 * ROW * ROWS_ELEM;
    scratch = (scratch + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN + s->row_bytes * (size_t)cpu_build_threads(b);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &fold_kernel,
                        .op = op,
                        .n_out = op->n_out,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = (double)t->count};
    return region_rows_thunk(b, &s->region, &d);
}
