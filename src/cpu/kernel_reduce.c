/* Reductions of f32 and bf16 by add, multiply, maximum or minimum, over any dims.
 *
 * The operand's dims, merged where neighbours are both kept or both reduced, alternate between kept and reduced. If the innermost are
 * reduced, each output is a fold of contiguous runs; if they are kept, runs are folded into rows of outputs. When there are few outputs the
 * reduced index space is cut into `parts` pieces by a rule that looks at shapes only, and the pieces' results are folded in order: the answer
 * does not depend on the number of threads. Sums of bf16 are kept in f32. */
#include "cpu/kernel_reduce.h"

#define ROW_TILE 1024

typedef struct reduce_state {
    fold_op fold;
    bool half, inner_reduced;
    int n_keep, n_red; /* outer dims of each kind */
    int64_t keep_dims[VIEW_MAX], keep_strides[VIEW_MAX], red_dims[VIEW_MAX], red_strides[VIEW_MAX];
    int64_t run; /* length of the innermost dim */
    int64_t keep, red; /* products of the outer dims */
    int64_t parts, tiles; /* tiles of a kept run */
    bool split_run; /* parts are pieces of the run, else of the outer reduced space */
} reduce_state;

bool cpu_fold_of(const ir_region *r, fold_op *out) {
    const ir_block *b = r->block;
    const ir_op *o = b ? b->first : NULL;
    if (!o || b->n_args != 2 || o->n_in != 2 || o->n_out != 1 || !o->next || o->next->n_in != 1 || o->next->in[0] != &o->out[0]) return false;
    if (!((o->in[0] == b->args[0] && o->in[1] == b->args[1]) || (o->in[0] == b->args[1] && o->in[1] == b->args[0]))) return false;
    switch ((int)o->code) {
    case OP_add: *out = FOLD_SUM; return true;
    case OP_multiply: *out = FOLD_PROD; return true;
    case OP_maximum: *out = FOLD_MAX; return true;
    case OP_minimum: *out = FOLD_MIN; return true;
    default: return false;
    }
}

float cpu_fold_two(fold_op f, float a, float b) {
    if (f == FOLD_SUM) return a + b;
    if (f == FOLD_PROD) return a * b;
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return (f == FOLD_MAX) == !__builtin_signbit(a) ? a : b; /* -0 lies below +0 */
    return f == FOLD_MAX ? (a > b ? a : b) : (a < b ? a : b);
}
float cpu_fold_neutral(fold_op f) {
    static const float neutral[FOLD_COUNT] = {[FOLD_SUM] = 0.0f, [FOLD_PROD] = 1.0f, [FOLD_MAX] = -__builtin_inff(), [FOLD_MIN] = __builtin_inff()};
    return neutral[f];
}

typedef struct reduce_run {
    const reduce_state *s;
    const simd_ops *simd;
    const char *src;
    float *partial; /* inner reduced: [keep][parts]; else [parts][keep * run] */
} reduce_run;

static int64_t offset_of(int64_t index, int n, const int64_t *dims, const int64_t *strides) {
    int64_t at = 0;
    for (int i = n - 1; i >= 0; i--) {
        at += index % dims[i] * strides[i];
        index /= dims[i];
    }
    return at;
}

static const float *row_at(const reduce_run *r, int64_t at, int64_t n, float *buf) {
    if (!r->s->half) return (const float *)r->src + at;
    r->simd->tape[TAPE_LOAD_BF16][TAPE_F32](buf, (const uint16_t *)r->src + at, NULL, NULL, n);
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
        int64_t base = offset_of(k, s->n_keep, s->keep_dims, s->keep_strides);
        int64_t red0 = s->split_run ? 0 : s->red * p / s->parts, red1 = s->split_run ? s->red : s->red * (p + 1) / s->parts;
        int64_t run0 = s->split_run ? s->run * p / s->parts : 0, run1 = s->split_run ? s->run * (p + 1) / s->parts : s->run;
        float acc = cpu_fold_neutral(s->fold);
        for (int64_t i = red0; i < red1 && run1 > run0; i++)
            acc = cpu_fold_two(s->fold, acc, fold_run(r, base + offset_of(i, s->n_red, s->red_dims, s->red_strides) + run0, run1 - run0));
        r->partial[t] = acc;
    }
}

/* Rows are folded in groups of 64 before they join the total, which keeps long sums accurate. */
static void rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reduce_run *r = ctx;
    const reduce_state *s = r->s;
    float buf[ROW_TILE], group[ROW_TILE];
    for (int64_t t = begin; t < end; t++) {
        int64_t p = t / (s->keep * s->tiles), k = t / s->tiles % s->keep, tile = t % s->tiles;
        int64_t at = tile * ROW_TILE, n = s->run - at < ROW_TILE ? s->run - at : ROW_TILE;
        int64_t base = offset_of(k, s->n_keep, s->keep_dims, s->keep_strides) + at;
        float *acc = r->partial + p * s->keep * s->run + k * s->run + at, neutral = cpu_fold_neutral(s->fold);
        for (int64_t i = 0; i < n; i++) acc[i] = neutral;
        int64_t red1 = s->red * (p + 1) / s->parts;
        for (int64_t i = s->red * p / s->parts; i < red1;) {
            int64_t stop = i + 64 < red1 ? i + 64 : red1;
            for (int64_t j = 0; j < n; j++) group[j] = neutral;
            for (; i < stop; i++)
                r->simd->fold_rows[s->fold](group, row_at(r, base + offset_of(i, s->n_red, s->red_dims, s->red_strides), n, buf), n);
            r->simd->fold_rows[s->fold](acc, group, n);
        }
    }
}

typedef struct combine_run {
    const reduce_state *s;
    const float *partial;
    float init;
    void *out;
} combine_run;
static void combine(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const combine_run *c = ctx;
    const reduce_state *s = c->s;
    const tape_fn narrow = simd_get()->tape[TAPE_STORE_BF16][TAPE_F32];
    int64_t step = s->inner_reduced ? 1 : s->keep * s->run;
    for (int64_t i = begin; i < end; i++) {
        const float *p = s->inner_reduced ? c->partial + i * s->parts : c->partial + i;
        float acc = c->init;
        for (int64_t k = 0; k < s->parts; k++) acc = cpu_fold_two(s->fold, acc, p[k * step]);
        if (s->half)
            narrow((uint16_t *)c->out + i, &acc, NULL, NULL, 1);
        else
            ((float *)c->out)[i] = acc;
    }
}

static xt_status reduce_run_op(const cpu_call *c) {
    const reduce_state *s = c->thunk->state;
    reduce_run r = {s, simd_get(), c->in[0], c->scratch};
    const cpu_team *team = &c->device->team;
    int64_t work = s->red * s->run;
    if (s->inner_reduced) {
        int64_t per = work / s->parts;
        team_for(team, s->keep * s->parts, per > 16384 ? 1 : 16384 / (per + 1) + 1, scalars, &r);
    } else {
        int64_t per = s->red / s->parts * (s->run < ROW_TILE ? s->run : ROW_TILE);
        team_for(team, s->parts * s->keep * s->tiles, per > 16384 ? 1 : 16384 / (per + 1) + 1, rows, &r);
    }
    combine_run m = {s, c->scratch, 0.0f, c->out[0]};
    if (s->half)
        r.simd->tape[TAPE_LOAD_BF16][TAPE_F32](&m.init, c->in[1], NULL, NULL, 1);
    else
        m.init = *(const float *)c->in[1];
    team_for(team, s->inner_reduced ? s->keep : s->keep * s->run, 8192, combine, &m);
    return NULL;
}
static const cpu_kernel reduce_kernel = {"reduce", reduce_run_op, NULL, true};

/* Merges dims, sets everything but the parts. */
static void classify(const ir_type *t, const int64_t *dims, size_t n_dims, reduce_state *s) {
    int64_t size[VIEW_MAX], stride[VIEW_MAX], step = 1;
    bool red[VIEW_MAX];
    int n = 0; /* merged dims, innermost first */
    for (int i = (int)t->rank - 1; i >= 0; i--) {
        bool is_red = false;
        for (size_t k = 0; k < n_dims; k++) is_red = is_red || dims[k] == i;
        if (t->dims[i] == 1) continue;
        if (n > 0 && red[n - 1] == is_red) {
            size[n - 1] *= t->dims[i];
        } else {
            size[n] = t->dims[i];
            stride[n] = step;
            red[n++] = is_red;
        }
        step *= t->dims[i];
    }
    s->run = n ? size[0] : 1;
    s->inner_reduced = n == 0 || red[0];
    s->keep = s->red = 1;
    for (int i = n - 1; i > 0; i--) { /* outermost first */
        if (red[i]) {
            s->red_dims[s->n_red] = size[i], s->red_strides[s->n_red++] = stride[i], s->red *= size[i];
        } else {
            s->keep_dims[s->n_keep] = size[i], s->keep_strides[s->n_keep++] = stride[i], s->keep *= size[i];
        }
    }
}

CPU_LOWER(reduce) {
    const ir_type *t = op->in[0]->type;
    size_t n_dims;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n_dims);
    fold_op f;
    if (op->n_in != 2 || (t->dtype != XT_F32 && t->dtype != XT_BF16) || t->rank > VIEW_MAX || t->count <= 0 || op->out[0].type->dtype != t->dtype)
        return NULL;
    if (op->in[1]->type->dtype != t->dtype || !cpu_fold_of(&op->regions[0], &f)) return NULL;
    reduce_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->fold = f;
    s->half = t->dtype == XT_BF16;
    classify(t, dims, n_dims, s);
    s->tiles = (s->run + ROW_TILE - 1) / ROW_TILE;
    int64_t tasks = s->inner_reduced ? s->keep : s->keep * s->tiles, work = t->count;
    s->parts = 1;
    if (tasks < 64 && work > 32768) {
        int64_t want = work / 16384 / tasks + 1;
        s->split_run = s->inner_reduced && s->red < want;
        int64_t most = s->inner_reduced ? (s->split_run ? s->run / 1024 + 1 : s->red) : s->red;
        s->parts = want > 64 ? 64 : want;
        if (s->parts > most) s->parts = most;
        if (s->parts < 1) s->parts = 1;
    }
    size_t scratch = (size_t)(s->parts * s->keep * (s->inner_reduced ? 1 : s->run)) * sizeof(float);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &reduce_kernel, .op = op, .n_in = 2, .n_out = 1, .scratch_bytes = scratch, .state = s, .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
