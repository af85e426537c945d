/* Reductions of f32 and bf16 by add, multiply, maximum or minimum, over any dims.
 *
 * The operand's dims, merged where neighbours are both kept or both reduced, alternate between kept and reduced. If the
 * innermost are reduced, each output is a fold of contiguous runs; if they are kept, runs are folded into rows of
 * outputs. Short runs that lie next to those of other outputs, with more to reduce around them (the channels of a
 * group), are folded as rows too, place by place, and each run of the row that is left at the end. When there are few
 * outputs the reduced index space is cut into `parts` pieces by a rule that looks at shapes only, and the pieces'
 * results are folded in order: the answer does not depend on the number of threads. Sums of bf16 are kept in f32. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/fold.h"
#include "cpu/vector/fold_axes.h"

enum {
    ROW_TILE = 1024,
    SHORT = 64,
    MOST_ABREAST = 64, /* numbers of a row that is made longer */
    LEAST_ABREAST = 8 /* rows of a tile, for that */
};

typedef struct reduce_state {
    fold_op fold;
    bool half;
    fold_axes axes;
    int64_t parts, tiles; /* tiles of a kept run */
    bool split_run; /* parts are pieces of the run, else of the outer reduced space */
    bool whole; /* rows side by side, a task each */
    int64_t nested; /* length of the runs in a row of outputs that are folded at the end; 0: none */
} reduce_state;

typedef struct reduce_run {
    const reduce_state *s;
    const simd_ops *simd;
    const char *src;
    float *partial; /* inner reduced: [keep][parts]; else [parts][keep * run] */
} reduce_run;

static const float *row_at(const reduce_run *r, int64_t at, int64_t n, float *buf) {
    if (!r->s->half) return (const float *)r->src + at;
    r->simd->ops[VPROG_LOAD_BF16][VPROG_F32](buf, (const uint16_t *)r->src + at, NULL, NULL, n);
    return buf;
}

static float fold_run(const reduce_run *r, int64_t at, int64_t n) {
    const reduce_state *s = r->s;
    if (!s->half) return r->simd->fold[s->fold]((const float *)r->src + at, n);
    float buf[ROW_TILE], acc = cpu_fold_neutral(s->fold);
    for (int64_t i = 0; i < n; i += ROW_TILE) {
        int64_t m = n - i < ROW_TILE ? n - i : ROW_TILE;
        acc = cpu_fold_two(s->fold, acc, r->simd->fold[s->fold](row_at(r, at + i, m, buf), m));
    }
    return acc;
}

static void scalars(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reduce_run *r = ctx;
    const reduce_state *s = r->s;
    for (int64_t t = begin; t < end; t++) {
        int64_t k = t / s->parts, p = t % s->parts;
        int64_t base = cpu_fold_at(k, s->axes.n_keep, s->axes.keep_dims, s->axes.keep_strides);
        int64_t red0 = s->split_run ? 0 : s->axes.red * p / s->parts,
                red1 = s->split_run ? s->axes.red : s->axes.red * (p + 1) / s->parts;
        int64_t run0 = s->split_run ? s->axes.run * p / s->parts : 0,
                run1 = s->split_run ? s->axes.run * (p + 1) / s->parts : s->axes.run;
        float acc = cpu_fold_neutral(s->fold);
        for (int64_t i = red0; i < red1 && run1 > run0; i++)
            acc = cpu_fold_two(
                s->fold, acc,
                fold_run(r, base + cpu_fold_at(i, s->axes.n_red, s->axes.red_dims, s->axes.red_strides) + run0,
                         run1 - run0));
        r->partial[t] = acc;
    }
}

/* Tasks are results, of rows that lie one behind the other; narrow ones are made wide many at a time. */
static void whole_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reduce_run *r = ctx;
    const reduce_state *s = r->s;
    const int64_t run = s->axes.run, most = ROW_TILE / run, step = !s->half ? end - begin : most ? most : 1;
    float buf[ROW_TILE];
    for (int64_t k = begin; k < end; k += step) {
        int64_t n = end - k < step ? end - k : step;
        if (s->half && most == 0) {
            r->partial[k] = fold_run(r, k * run, run);
            continue;
        }
        const float *x = row_at(r, k * run, n * run, buf);
        if (run <= SHORT)
            r->simd->fold_short[s->fold](r->partial + k, x, n, run);
        else
            for (int64_t j = 0; j < n; j++) r->partial[k + j] = r->simd->fold[s->fold](x + j * run, run);
    }
}

/* acc joined by `count` rows of n, `step` apart. */
static void fold_stack(const reduce_run *r, float *acc, int64_t at, int64_t step, int64_t count, int64_t n,
                       float *buf) {
    if (!r->s->half) {
        r->simd->fold_stack[r->s->fold](acc, (const float *)(const void *)r->src + at, step, count, n);
        return;
    }
    for (; count > 0; count--, at += step) r->simd->fold_rows[r->s->fold](acc, row_at(r, at, n, buf), n);
}

/* Rows are folded in groups of 64 before they join the total, which keeps long sums accurate. The reduced dims but the
 * last are walked; rows of the last lie at one distance. */
static void fold_groups(const reduce_run *r, float *acc, int64_t base, int64_t from, int64_t to, int64_t n) {
    const fold_axes *a = &r->s->axes;
    float buf[ROW_TILE], group[ROW_TILE], neutral = cpu_fold_neutral(r->s->fold);
    int64_t last = a->n_red ? a->red_dims[a->n_red - 1] : 1, step = a->n_red ? a->red_strides[a->n_red - 1] : 0;
    while (from < to) {
        int64_t stop = from + 64 < to ? from + 64 : to;
        for (int64_t j = 0; j < n; j++) group[j] = neutral;
        while (from < stop) {
            int64_t count = last - from % last < stop - from ? last - from % last : stop - from;
            fold_stack(r, group, base + cpu_fold_at(from, a->n_red, a->red_dims, a->red_strides), step, count, n, buf);
            from += count;
        }
        r->simd->fold_rows[r->s->fold](acc, group, n);
    }
}

/* Short rows one behind the other are longer ones, as many as fit, whose pieces are folded at the end. */
static void fold_short_rows(const reduce_run *r, float *acc, int64_t base, int64_t from, int64_t to) {
    const int64_t run = r->s->axes.run, abreast = ROW_TILE / run, n = abreast * run;
    float buf[ROW_TILE], group[ROW_TILE], all[ROW_TILE], neutral = cpu_fold_neutral(r->s->fold);
    for (int64_t j = 0; j < n; j++) all[j] = neutral;
    while (to - from >= abreast) {
        int64_t count = (to - from) / abreast < 64 ? (to - from) / abreast : 64;
        for (int64_t j = 0; j < n; j++) group[j] = neutral;
        fold_stack(r, group, base + from * run, n, count, n, buf);
        r->simd->fold_rows[r->s->fold](all, group, n);
        from += count * abreast;
    }
    fold_stack(r, all, base + from * run, 0, to > from, (to - from) * run, buf);
    r->simd->fold_stack[r->s->fold](acc, all, run, abreast, run);
}

static void rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reduce_run *r = ctx;
    const reduce_state *s = r->s;
    bool short_ones = s->axes.n_red == 1 && s->axes.red_strides[0] == s->axes.run && s->axes.run <= MOST_ABREAST &&
                      s->axes.red / s->parts * s->axes.run >= LEAST_ABREAST * ROW_TILE;
    for (int64_t t = begin; t < end; t++) {
        int64_t p = t / (s->axes.keep * s->tiles), k = t / s->tiles % s->axes.keep, tile = t % s->tiles;
        int64_t at = tile * ROW_TILE, n = s->axes.run - at < ROW_TILE ? s->axes.run - at : ROW_TILE;
        int64_t base = cpu_fold_at(k, s->axes.n_keep, s->axes.keep_dims, s->axes.keep_strides) + at;
        int64_t from = s->axes.red * p / s->parts, to = s->axes.red * (p + 1) / s->parts;
        float *acc = r->partial + p * s->axes.keep * s->axes.run + k * s->axes.run + at,
              neutral = cpu_fold_neutral(s->fold);
        for (int64_t i = 0; i < n; i++) acc[i] = neutral;
        if (short_ones)
            fold_short_rows(r, acc, base, from, to);
        else
            fold_groups(r, acc, base, from, to, n);
    }
}

typedef struct combine_run {
    const reduce_state *s;
    const float *partial;
    float init;
    void *out;
} combine_run;
static void store(const combine_run *c, int64_t at, const float *acc, int64_t n) {
    if (c->s->half)
        simd_get()->ops[VPROG_STORE_BF16][VPROG_F32]((uint16_t *)c->out + at, acc, NULL, NULL, n);
    else
        memcpy((float *)c->out + at, acc, (size_t)n * sizeof *acc);
}

/* The initial value, then the parts in order; where the results of a part lie side by side, a tile at a time. */
static void combine(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const combine_run *c = ctx;
    const reduce_state *s = c->s;
    const simd_ops *simd = simd_get();
    float acc[ROW_TILE];
    bool apart = s->axes.inner_reduced && s->parts > 1;
    int64_t step = s->axes.inner_reduced ? 0 : s->axes.keep * s->axes.run;
    for (int64_t i = begin; i < end; i += ROW_TILE) {
        int64_t n = end - i < ROW_TILE ? end - i : ROW_TILE;
        for (int64_t k = 0; k < n; k++) acc[k] = c->init;
        for (int64_t k = 0; apart && k < n; k++)
            for (int64_t p = 0; p < s->parts; p++)
                acc[k] = cpu_fold_two(s->fold, acc[k], c->partial[(i + k) * s->parts + p]);
        for (int64_t p = 0; !apart && p < s->parts; p++) simd->fold_rows[s->fold](acc, c->partial + p * step + i, n);
        store(c, i, acc, n);
    }
}

/* Rows of runs: the parts of a run in order, then the run. */
static void combine_nested(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const combine_run *c = ctx;
    const reduce_state *s = c->s;
    const simd_ops *simd = simd_get();
    float row[ROW_TILE], folded[ROW_TILE], acc[ROW_TILE], neutral = cpu_fold_neutral(s->fold);
    int64_t tile = ROW_TILE / s->nested, step = s->axes.keep * s->axes.run;
    for (int64_t i = begin; i < end; i += tile) {
        int64_t n = end - i < tile ? end - i : tile, m = n * s->nested;
        for (int64_t k = 0; k < m; k++) row[k] = neutral;
        for (int64_t k = 0; k < n; k++) acc[k] = c->init;
        for (int64_t p = 0; p < s->parts; p++) simd->fold_rows[s->fold](row, c->partial + p * step + i * s->nested, m);
        simd->fold_short[s->fold](folded, row, n, s->nested);
        simd->fold_rows[s->fold](acc, folded, n);
        store(c, i, acc, n);
    }
}

/* What is folded is the answer: there are no parts, and the initial value leaves every number as it is (0 does not, of
 * a sum that is -0). */
static bool is_answer(const reduce_state *s, float init) {
    return s->parts == 1 && !s->half && !s->nested && s->fold != FOLD_SUM && init == cpu_fold_neutral(s->fold);
}

static xt_status reduce_run_op(const cpu_call *c) {
    const reduce_state *s = c->thunk->state;
    combine_run m = {s, c->scratch, 0.0f, c->out[0]};
    if (s->half)
        simd_get()->ops[VPROG_LOAD_BF16][VPROG_F32](&m.init, c->in[1], NULL, NULL, 1);
    else
        m.init = *(const float *)c->in[1];
    const bool answer = is_answer(s, m.init);
    reduce_run r = {s, simd_get(), c->in[0], answer ? c->out[0] : c->scratch};
    const cpu_team *team = &c->device->team;
    int64_t work = s->axes.red * s->axes.run;
    if (s->whole) {
        team_for(team, s->axes.keep, 16384 / s->axes.run + 1, whole_rows, &r);
    } else if (s->axes.inner_reduced) {
        int64_t per = work / s->parts;
        team_for(team, s->axes.keep * s->parts, per > 16384 ? 1 : 16384 / (per + 1) + 1, scalars, &r);
    } else {
        int64_t per = s->axes.red / s->parts * (s->axes.run < ROW_TILE ? s->axes.run : ROW_TILE);
        team_for(team, s->parts * s->axes.keep * s->tiles, per > 16384 ? 1 : 16384 / (per + 1) + 1, rows, &r);
    }
    if (answer) return NULL;
    if (s->nested)
        team_for(team, s->axes.keep * s->axes.run / s->nested, ROW_TILE, combine_nested, &m);
    else
        team_for(team, s->axes.inner_reduced ? s->axes.keep : s->axes.keep * s->axes.run, 8192, combine, &m);
    return NULL;
}
static const cpu_kernel reduce_kernel = {"reduce", reduce_run_op, NULL, true};

/* Makes rows of outputs of short runs: the dim that is kept next to them joins them. */
static void nest(reduce_state *s) {
    fold_axes *a = &s->axes;
    int last = a->n_keep - 1;
    if (!a->inner_reduced || a->run > SHORT || a->n_red == 0 || last < 0 || a->keep_strides[last] != a->run) return;
    s->nested = a->run;
    a->inner_reduced = false;
    a->run *= a->keep_dims[last];
    a->keep /= a->keep_dims[last];
    a->n_keep = last;
}

CPU_LOWER(reduce) {
    const ir_type *t = op->in[0]->type;
    size_t n_dims;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n_dims);
    fold_op f;
    if (op->n_in != 2 || (t->dtype != XT_F32 && t->dtype != XT_BF16) || t->rank > VIEW_MAX || t->count <= 0 ||
        op->out[0].type->dtype != t->dtype)
        return NULL;
    if (op->in[1]->type->dtype != t->dtype || !cpu_fold_of(&op->regions[0], &f)) return NULL;
    reduce_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->fold = f;
    s->half = t->dtype == XT_BF16;
    cpu_fold_axes(t, dims, n_dims, &s->axes);
    nest(s);
    s->tiles = (s->axes.run + ROW_TILE - 1) / ROW_TILE;
    int64_t tasks = s->axes.inner_reduced ? s->axes.keep : s->axes.keep * s->tiles, work = t->count;
    s->parts = 1;
    if (tasks < 64 && work > 32768 && !cpu_build_exec(b)->is_tile) { /* a tile has one thread */
        /* A part of kept rows has a row of results of its own, which is written and read again. */
        int64_t want = work / (s->axes.inner_reduced ? 16384 : 65536) / tasks + 1;
        s->split_run = s->axes.inner_reduced && s->axes.red < want;
        int64_t most = s->axes.inner_reduced ? (s->split_run ? s->axes.run / 1024 + 1 : s->axes.red) : s->axes.red;
        s->parts = want > 64 ? 64 : want;
        if (s->parts > most) s->parts = most;
        if (s->parts < 1) s->parts = 1;
    }
    s->whole = s->axes.inner_reduced && s->axes.n_red == 0 && s->axes.n_keep == 1 && s->parts == 1;
    size_t scratch = (size_t)(s->parts * s->axes.keep * (s->axes.inner_reduced ? 1 : s->axes.run)) * sizeof(float);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &reduce_kernel,
                        .op = op,
                        .n_in = 2,
                        .n_out = 1,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
