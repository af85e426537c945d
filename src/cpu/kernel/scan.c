/* Running folds (cumulative sums, products, maxima, minima): a reduce_window whose window is as long as the operand's
 * dim and padded on one side, so that each result folds all that lies before it (or behind it).
 *
 * The operand is [outer, n, inner]. With inner > 1, rows of accumulators run along n. With inner 1, four rows go
 * abreast, since one running sum waits for itself; a single long row is cut into segments of a fixed length, whose
 * totals are folded first. Sums and products of f32 accumulate in f64 in long rows; in short ones they are the
 * interpreter's, step for step. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#include "cpu/kernel/running.h"

#include <math.h>

enum { COLUMNS = 256, SEGMENT = 4096, ABREAST = 4, SHORT = 256 };

typedef struct lane { /* one running fold along a contiguous run; step -1 runs backwards */
    const void *src;
    void *dst;
    double start; /* its first accumulator, whatever its type: bits */
} lane;
typedef struct scan_fns {
    void (*rows)(const void *src, void *dst, int64_t n, int64_t stride, int64_t width,
                 bool reverse); /* [n, width <= COLUMNS] of row stride `stride` */
    void (*lanes)(const lane *l, int64_t n, bool reverse); /* ABREAST of them */
    double (*total)(const void *src, int64_t n); /* the fold of a segment, as bits */
    double (*join)(double a, double b);
} scan_fns;

/* T elements, A accumulators. */
#define SCAN(name, T, A, first, expr)                                                                             \
    static inline A name##_op(A a, A b) {                                                                         \
        return (A)(expr);                                                                                         \
    }                                                                                                             \
    static double name##_bits(A a) {                                                                              \
        double d = 0;                                                                                             \
        memcpy(&d, &a, sizeof a);                                                                                 \
        return d;                                                                                                 \
    }                                                                                                             \
    static A name##_of(double d) {                                                                                \
        A a;                                                                                                      \
        memcpy(&a, &d, sizeof a);                                                                                 \
        return a;                                                                                                 \
    }                                                                                                             \
    static void name##_rows(const void *src, void *dst, int64_t n, int64_t stride, int64_t width, bool reverse) { \
        A acc[COLUMNS];                                                                                           \
        for (int64_t j = 0; j < width; j++) acc[j] = (A)(first);                                                  \
        for (int64_t k = 0; k < n; k++) {                                                                         \
            int64_t at = (reverse ? n - 1 - k : k) * stride;                                                      \
            const T *x = (const T *)src + at;                                                                     \
            T *y = (T *)dst + at;                                                                                 \
            for (int64_t j = 0; j < width; j++) {                                                                 \
                acc[j] = name##_op(acc[j], (A)x[j]);                                                              \
                y[j] = (T)acc[j];                                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }                                                                                                             \
    static void name##_lanes(const lane *l, int64_t n, bool reverse) {                                            \
        const T *x0 = l[0].src, *x1 = l[1].src, *x2 = l[2].src, *x3 = l[3].src;                                   \
        T *y0 = l[0].dst, *y1 = l[1].dst, *y2 = l[2].dst, *y3 = l[3].dst;                                         \
        A a0 = name##_of(l[0].start), a1 = name##_of(l[1].start), a2 = name##_of(l[2].start),                     \
          a3 = name##_of(l[3].start);                                                                             \
        for (int64_t k = 0; k < n; k++) {                                                                         \
            int64_t i = reverse ? n - 1 - k : k;                                                                  \
            a0 = name##_op(a0, (A)x0[i]), a1 = name##_op(a1, (A)x1[i]), a2 = name##_op(a2, (A)x2[i]),             \
            a3 = name##_op(a3, (A)x3[i]);                                                                         \
            y0[i] = (T)a0, y1[i] = (T)a1, y2[i] = (T)a2, y3[i] = (T)a3;                                           \
        }                                                                                                         \
    }                                                                                                             \
    static double name##_total(const void *src, int64_t n) {                                                      \
        const T *x = src;                                                                                         \
        A a[8], t = (A)(first);                                                                                   \
        int64_t i = 0;                                                                                            \
        for (int j = 0; j < 8; j++) a[j] = (A)(first);                                                            \
        for (; i + 8 <= n; i += 8)                                                                                \
            for (int j = 0; j < 8; j++) a[j] = name##_op(a[j], (A)x[i + j]);                                      \
        for (; i < n; i++) t = name##_op(t, (A)x[i]);                                                             \
        for (int j = 0; j < 8; j++) t = name##_op(t, a[j]);                                                       \
        return name##_bits(t);                                                                                    \
    }                                                                                                             \
    static double name##_join(double a, double b) {                                                               \
        return name##_bits(name##_op(name##_of(a), name##_of(b)));                                                \
    }
#define MAX_NAN (a != a ? a : b != b ? b : a > b ? a : b > a ? b : signbit(a) ? b : a)
#define MIN_NAN (a != a ? a : b != b ? b : a < b ? a : b < a ? b : signbit(a) ? a : b)
#define FLOAT_SCANS(t, T)                   \
    SCAN(add_##t, T, double, 0, a + b)      \
    SCAN(mul_##t, T, double, 1, a *b)       \
    SCAN(max_##t, T, T, -INFINITY, MAX_NAN) \
    SCAN(min_##t, T, T, INFINITY, MIN_NAN)
FLOAT_SCANS(f32, float)
SCAN(add_short, float, float, 0, a + b)
SCAN(mul_short, float, float, 1, a *b)
FLOAT_SCANS(f64, double)
/* Integers fold without a sign where they may wrap: the bits are the same. */
#define INT_SCANS(t, T, U, least, most)       \
    SCAN(add_##t, U, U, 0, a + b)             \
    SCAN(mul_##t, U, U, 1, a *b)              \
    SCAN(max_##t, T, T, least, a > b ? a : b) \
    SCAN(min_##t, T, T, most, a < b ? a : b)
INT_SCANS(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
INT_SCANS(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)
INT_SCANS(u32, uint32_t, uint32_t, 0, UINT32_MAX)
INT_SCANS(u64, uint64_t, uint64_t, 0, UINT64_MAX)

#define FNS(n) \
    { n##_rows, n##_lanes, n##_total, n##_join }
#define FNS_ROW(t) \
    { FNS(add_##t), FNS(mul_##t), FNS(max_##t), FNS(min_##t) }
enum { FOLDS = 4 };
static const ir_opcode fold_ops[FOLDS] = {OP_add, OP_multiply, OP_maximum, OP_minimum};
static const scan_fns *fns_of(xt_dtype t, int fold, int64_t n) {
    static const scan_fns short_f32[] = {FNS(add_short), FNS(mul_short)};
    if (t == XT_F32 && n <= SHORT && fold_ops[fold] != OP_maximum && fold_ops[fold] != OP_minimum)
        return &short_f32[fold];
    static const scan_fns f32[] = FNS_ROW(f32), f64[] = FNS_ROW(f64), i32[] = FNS_ROW(i32), i64[] = FNS_ROW(i64),
                          u32[] = FNS_ROW(u32), u64[] = FNS_ROW(u64);
    switch ((int)t) {
    case XT_F32: return &f32[fold];
    case XT_F64: return &f64[fold];
    case XT_I32: return &i32[fold];
    case XT_I64: return &i64[fold];
    case XT_U32: return &u32[fold];
    case XT_U64: return &u64[fold];
    default: return NULL;
    }
}

typedef struct scan_state {
    const scan_fns *f;
    int64_t outer, n, inner, segments, segment; /* segments of one row, when inner is 1 */
    size_t elem;
    bool reverse;
} scan_state;
typedef struct scan_run {
    const scan_state *s;
    const char *src;
    char *dst;
    double *totals; /* [outer][segments]: first of each segment, then its start */
} scan_run;

static void scan_columns(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const scan_run *r = ctx;
    const scan_state *s = r->s;
    int64_t tiles = (s->inner + COLUMNS - 1) / COLUMNS;
    for (int64_t k = begin; k < end; k++) {
        int64_t col = k % tiles * COLUMNS, width = s->inner - col < COLUMNS ? s->inner - col : COLUMNS;
        size_t at = (size_t)(k / tiles * s->n * s->inner + col) * s->elem;
        s->f->rows(r->src + at, r->dst + at, s->n, s->inner, width, s->reverse);
    }
}

/* Segment q in running order: the last comes first when running backwards. */
static int64_t segment_at(const scan_state *s, int64_t q, int64_t *length) {
    int64_t from = (q % s->segments) * s->segment;
    *length = s->n - from < s->segment ? s->n - from : s->segment;
    return q / s->segments * s->n + (s->reverse ? s->n - from - *length : from);
}

static void sum_segments(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const scan_run *r = ctx;
    for (int64_t q = begin; q < end; q++) {
        int64_t n, at = segment_at(r->s, q, &n);
        r->totals[q] = r->s->f->total(r->src + (size_t)at * r->s->elem, n);
    }
}

static void scan_segments(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const scan_run *r = ctx;
    const scan_state *s = r->s;
    double none = s->f->total(r->src, 0);
    for (int64_t q = begin; q < end; q += ABREAST) {
        lane l[ABREAST];
        int64_t n[ABREAST], same = 1;
        for (int i = 0; i < ABREAST; i++) {
            int64_t k = q + i < end ? q + i : end - 1, at = segment_at(s, k, &n[i]);
            l[i] = (lane){r->src + (size_t)at * s->elem, r->dst + (size_t)at * s->elem,
                          s->segments > 1 ? r->totals[k] : none};
            same = same && n[i] == n[0];
        }
        if (same && q + ABREAST <= end) {
            s->f->lanes(l, n[0], s->reverse);
            continue;
        }
        for (int64_t i = 0; i < ABREAST && q + i < end; i++) {
            lane alone[ABREAST] = {l[i], l[i], l[i], l[i]}; /* four times the same, to the same place */
            s->f->lanes(alone, n[i], s->reverse);
        }
    }
}

static xt_status scan_run_op(const cpu_call *c) {
    const scan_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    scan_run r = {s, c->in[0], c->out[0], c->scratch};
    if (s->inner > 1) {
        int64_t tiles = (s->inner + COLUMNS - 1) / COLUMNS, work = s->n * (s->inner < COLUMNS ? s->inner : COLUMNS);
        team_for(team, s->outer * tiles, 32768 / (work + 1) + 1, scan_columns, &r);
        return NULL;
    }
    if (s->segments > 1) {
        team_for(team, s->outer * s->segments, 4, sum_segments, &r);
        for (int64_t o = 0; o < s->outer; o++) {
            double start = s->f->total(r.src, 0);
            for (int64_t k = 0; k < s->segments; k++) {
                double total = r.totals[o * s->segments + k];
                r.totals[o * s->segments + k] = start;
                start = s->f->join(start, total);
            }
        }
    }
    int64_t per = 16384 / (s->segment + 1) + 1;
    team_for(team, s->outer * s->segments, (per + ABREAST - 1) / ABREAST * ABREAST, scan_segments, &r);
    return NULL;
}
static const cpu_kernel scan_kernel = {"scan", scan_run_op, NULL, true};

/* The constant changes nothing that it is folded with. */
static bool is_identity(ir_opcode code, xt_dtype t, const void *p) {
    int64_t i = 0;
    double v = 0;
    memcpy(&i, p, xt_dtype_size(t) < 8 ? xt_dtype_size(t) : 8);
    if (t == XT_F32) v = (double)*(const float *)p;
    if (t == XT_F64) v = *(const double *)p;
    bool floats = t == XT_F32 || t == XT_F64;
    switch ((int)code) {
    case OP_add: return floats ? v == 0 : i == 0;
    case OP_multiply: return floats ? v == 1 : i == 1;
    case OP_maximum:
        return floats ? v == -INFINITY : t == XT_I32 ? (int32_t)i == INT32_MIN : t == XT_I64 ? i == INT64_MIN : i == 0;
    default:
        return floats        ? v == INFINITY
               : t == XT_I32 ? (int32_t)i == INT32_MAX
               : t == XT_I64 ? i == INT64_MAX
               : t == XT_U32 ? i == UINT32_MAX
                             : i == -1;
    }
}

CPU_LOWER(scan) {
    const ir_type *t = op->in[0]->type;
    const ir_block *region = op->regions[0].block;
    const ir_op *o = region ? region->first : NULL;
    int64_t dim;
    bool reverse = false;
    int fold = 0;
    if (op->n_in != 2 || !o || o->n_in != 2 || o->n_out != 1 || region->n_args != 2 || !o->next || o->next->n_in != 1 ||
        o->next->in[0] != &o->out[0])
        return NULL;
    if (o->in[0] == o->in[1] || o->in[0]->def || o->in[1]->def || o->in[0]->block != region ||
        o->in[1]->block != region)
        return NULL;
    while (fold < FOLDS && fold_ops[fold] != o->code) fold++;
    const void *init = cpu_build_splat(b, op->in[1]);
    if (fold == FOLDS || t->count <= 0 || !fns_of(t->dtype, fold, 0) || !init ||
        !is_identity(o->code, t->dtype, init) || !running_dim(op, &dim, &reverse))
        return NULL;
    scan_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = (scan_state){.f = fns_of(t->dtype, fold, t->dims[dim]),
                      .outer = 1,
                      .n = t->dims[dim],
                      .inner = 1,
                      .segments = 1,
                      .elem = xt_dtype_size(t->dtype),
                      .reverse = reverse};
    for (int64_t d = 0; d < dim; d++) s->outer *= t->dims[d];
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) s->inner *= t->dims[d];
    s->segment = s->n;
    if (s->inner == 1 && s->outer < 8 * ABREAST && s->n >= 2 * SEGMENT) {
        s->segment = SEGMENT;
        s->segments = (s->n + SEGMENT - 1) / SEGMENT;
    }
    size_t scratch = s->segments > 1 ? (size_t)(s->outer * s->segments) * sizeof(double) : 0;
    uint64_t in_place = 0; /* a lane that is run four times would read what it has written */
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &scan_kernel,
                        .op = op,
                        .n_in = 1,
                        .n_out = 1,
                        .in_place = &in_place,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = (double)t->count};
    return cpu_build_thunk(b, &d);
}
