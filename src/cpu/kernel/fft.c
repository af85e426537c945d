/* fft: one dim after the other, blocks of FFT_LANES lines over all threads (fft.h). A dim with few, long lines is a
 * matrix of n1 x n2: its columns are transformed, turned by w^(column * frequency), and its rows are transformed
 * (Bailey, "FFTs in external or hierarchical memory", 1990).
 *
 * The last dim may be real or half a spectrum on one side: RFFT keeps the first half, IRFFT completes it
 * by symmetry. */
#include <math.h>

#include "cpu/kernel/kernel.h"
#include "cpu/vector/fft.h"

typedef enum line_kind { LINE_COMPLEX, LINE_REAL, LINE_HALF } line_kind;
/* A real line as one of pairs (fft.inc): the spectrum is split from theirs, or merged into it before. */
typedef enum half_line { HALF_NONE, HALF_SPLIT, HALF_MERGE } half_line;
typedef struct stage { /* the transform of one dim */
    /* rows: of length n2 of a cut line, whose columns `plan` transforms; NULL: lines are whole */
    fft_plan *plan, *rows;
    int64_t n, outer, inner;
    int64_t from_n, to_n; /* elements of a line in memory */
    line_kind from, to;
    bool inverse;
    half_line half; /* n, from_n and to_n are then of pairs */
    void *turns;
} stage;
typedef struct fft_state {
    bool wide;
    int n_stages;
    stage stages[VIEW_MAX];
    bool keeps_temp; /* IRFFT of several dims: all but the last stage work on a copy of the operand */
    size_t temp_bytes, line_at, work_at, work_bytes; /* in the scratch memory; one work block a thread */
} fft_state;

/* Element k of each lane, a cache line of a lane at a time where lines follow one another: lanes are then a power of
 * two apart, more of them than a set of the cache holds. */
#define EACH(tile, first, count, lanes, body)              \
    for (int64_t k0 = (first); k0 < (count); k0 += (tile)) \
        for (int64_t l = 0; l < (lanes); l++)              \
            for (int64_t k = k0; k < (count) && k < k0 + (tile); k++) body

typedef struct stage_run {
    const stage *s;
    const fft_state *f;
    const void *src;
    void *dst, *line; /* line: the cut line between its two halves, [k1][n2] pairs */
    char *work;
    int64_t which; /* the cut line */
} stage_run;

/* Lines that lie side by side, as all lanes of a block do that come from the same place of the outer dims. */
static bool side_by_side(const stage *s, const int64_t *base, int64_t lanes) {
    return lanes == FFT_LANES && s->inner > 1 && base[FFT_LANES - 1] - base[0] == FFT_LANES - 1;
}

/* `n` elements of whole blocks of pairs: rows of them, or, in f32, lines that follow one another, turned over in
 * registers as far as these are full. How many of them; the others are moved element by element. */
static int64_t load_block_f32(const stage *s, const float *src, const int64_t *base, int64_t lanes, int64_t n,
                              float *work) {
    const fft_fns *f = fft_get();
    int64_t k = 0;
    if (s->from != LINE_COMPLEX) return 0;
    if (side_by_side(s, base, lanes)) {
        f->load_rows_f32(src + 2 * base[0], s->inner, n, work, work + n * FFT_LANES);
        return n;
    }
    if (!f->load8_f32 || lanes != FFT_LANES || s->inner != 1) return 0;
    for (; k + 8 <= n; k += 8) {
        const float *line[FFT_LANES];
        for (int l = 0; l < FFT_LANES; l++) line[l] = src + 2 * (base[l] + k);
        f->load8_f32(line, work + k * FFT_LANES, work + (n + k) * FFT_LANES);
    }
    return k;
}
/* im lies `rows` rows behind re. */
static int64_t store_block_f32(const stage *s, float *dst, const int64_t *base, int64_t lanes, int64_t rows,
                               const float *y, float scale) {
    const fft_fns *f = fft_get();
    int64_t k = 0;
    if (s->to != LINE_COMPLEX) return 0;
    if (side_by_side(s, base, lanes)) {
        f->store_rows_f32(dst + 2 * base[0], s->inner, s->to_n, y, y + rows * FFT_LANES, scale);
        return s->to_n;
    }
    if (!f->store8_f32 || lanes != FFT_LANES || s->inner != 1) return 0;
    for (; k + 8 <= s->to_n; k += 8) {
        float *line[FFT_LANES];
        for (int l = 0; l < FFT_LANES; l++) line[l] = dst + 2 * (base[l] + k);
        f->store8_f32(line, y + k * FFT_LANES, y + (rows + k) * FFT_LANES, scale);
    }
    return k;
}
static int64_t load_block_f64(const stage *s, const double *src, const int64_t *base, int64_t lanes, int64_t n,
                              double *work) {
    if (s->from != LINE_COMPLEX || !side_by_side(s, base, lanes)) return 0;
    fft_get()->load_rows_f64(src + 2 * base[0], s->inner, n, work, work + n * FFT_LANES);
    return n;
}
static int64_t store_block_f64(const stage *s, double *dst, const int64_t *base, int64_t lanes, int64_t rows,
                               const double *y, double scale) {
    if (s->to != LINE_COMPLEX || !side_by_side(s, base, lanes)) return 0;
    fft_get()->store_rows_f64(dst + 2 * base[0], s->inner, s->to_n, y, y + rows * FFT_LANES, scale);
    return s->to_n;
}

/* Lines of one type, element by element. `at`: element of a line; `base`: where the line begins, in elements. */
#define IO(T, t)                                                                                                      \
    static void load_##t(const stage *s, const T *src, int64_t base, int64_t at, T *re, T *im) {                      \
        if (s->from == LINE_REAL) {                                                                                   \
            *re = src[base + at * s->inner];                                                                          \
            *im = 0;                                                                                                  \
            return;                                                                                                   \
        }                                                                                                             \
        bool mirrored = at >= s->from_n;                                                                              \
        const T *p = src + 2 * (base + (mirrored ? s->n - at : at) * s->inner);                                       \
        *re = p[0];                                                                                                   \
        *im = mirrored ? -p[1] : p[1];                                                                                \
        if (s->from == LINE_HALF && (at == 0 || 2 * at == s->n))                                                      \
            *im = 0; /* the spectrum of a real signal has a real first and middle */                                  \
    }                                                                                                                 \
    static void store_##t(const stage *s, T *dst, int64_t base, int64_t at, T re, T im, T scale) {                    \
        if (at >= s->to_n) return;                                                                                    \
        if (s->to == LINE_REAL) {                                                                                     \
            dst[base + at * s->inner] = re * scale;                                                                   \
            return;                                                                                                   \
        }                                                                                                             \
        T *p = dst + 2 * (base + at * s->inner);                                                                      \
        p[0] = re * scale;                                                                                            \
        p[1] = im * scale;                                                                                            \
    }                                                                                                                 \
    /* Blocks of whole lines. */                                                                                      \
    static void lines_##t(void *ctx, int64_t begin, int64_t end, int thread) {                                        \
        const stage_run *r = ctx;                                                                                     \
        const stage *s = r->s;                                                                                        \
        T *work = (T *)(void *)(r->work + (size_t)thread * r->f->work_bytes),                                         \
          *side = work + fft_work_bytes(s->plan) / sizeof *work;                                                      \
        int64_t lines = s->outer * s->inner, n = s->n, in = s->half == HALF_MERGE ? n + 1 : n;                        \
        T scale = s->inverse ? 1 / (T)(s->half ? 2 * n : n) : 1, *into = s->half == HALF_MERGE ? side : work;         \
        for (int64_t block = begin; block < end; block++) {                                                           \
            int64_t first = block * FFT_LANES, lanes = lines - first < FFT_LANES ? lines - first : FFT_LANES;         \
            int64_t from[FFT_LANES], to[FFT_LANES], rows = n;                                                         \
            for (int64_t l = 0; l < lanes; l++) {                                                                     \
                from[l] = (first + l) / s->inner * s->from_n * s->inner + (first + l) % s->inner;                     \
                to[l] = (first + l) / s->inner * s->to_n * s->inner + (first + l) % s->inner;                         \
            }                                                                                                         \
            if (lanes < FFT_LANES) memset(into, 0, 2 * (size_t)(in * FFT_LANES) * sizeof *into);                      \
            int64_t tile = s->inner == 1 ? 8 : 1, done = load_block_##t(s, r->src, from, lanes, in, into);            \
            EACH(tile, done, in, lanes,                                                                               \
                 load_##t(s, r->src, from[l], k, &into[k * FFT_LANES + l], &into[(in + k) * FFT_LANES + l]));         \
            if (s->half == HALF_MERGE) fft_get()->merge_##t(n, s->turns, side, work);                                 \
            const T *y = fft_run(s->plan, work, s->inverse);                                                          \
            if (s->half == HALF_SPLIT) fft_get()->split_##t(n, s->turns, y, side), y = side, rows = n + 1;            \
            done = store_block_##t(s, r->dst, to, lanes, rows, y, scale);                                             \
            EACH(tile, done, s->to_n, lanes,                                                                          \
                 store_##t(s, r->dst, to[l], k, y[k * FFT_LANES + l], y[(rows + k) * FFT_LANES + l], scale));         \
        }                                                                                                             \
    }                                                                                                                 \
    /* Columns of a cut line into r->line, turned. */                                                                 \
    static void columns_##t(void *ctx, int64_t begin, int64_t end, int thread) {                                      \
        const stage_run *r = ctx;                                                                                     \
        const stage *s = r->s;                                                                                        \
        T *work = (T *)(void *)(r->work + (size_t)thread * r->f->work_bytes), *line = r->line;                        \
        int64_t n1 = s->plan->n, n2 = s->rows->n,                                                                     \
                base = r->which / s->inner * s->from_n * s->inner + r->which % s->inner;                              \
        for (int64_t block = begin; block < end; block++) {                                                           \
            int64_t first = block * FFT_LANES, lanes = n2 - first < FFT_LANES ? n2 - first : FFT_LANES;               \
            if (lanes < FFT_LANES) memset(work, 0, 2 * (size_t)(n1 * FFT_LANES) * sizeof *work);                      \
            for (int64_t k = 0; k < n1; k++)                                                                          \
                for (int64_t l = 0; l < lanes; l++)                                                                   \
                    load_##t(s, r->src, base, k *n2 + first + l, &work[k * FFT_LANES + l],                            \
                             &work[(n1 + k) * FFT_LANES + l]);                                                        \
            const T *y = fft_run(s->plan, work, s->inverse);                                                          \
            double wr[FFT_LANES], wi[FFT_LANES], sr[FFT_LANES], si[FFT_LANES];                                        \
            for (int64_t l = 0; l < lanes; l++) {                                                                     \
                double angle = (s->inverse ? 2 : -2) * M_PI * (double)(first + l) / (double)s->n;                     \
                wr[l] = 1, wi[l] = 0, sr[l] = cos(angle), si[l] = sin(angle);                                         \
            }                                                                                                         \
            for (int64_t k = 0; k < n1; k++)                                                                          \
                for (int64_t l = 0; l < lanes; l++) {                                                                 \
                    double a = (double)y[k * FFT_LANES + l], b = (double)y[(n1 + k) * FFT_LANES + l], t = wr[l];      \
                    line[2 * (k * n2 + first + l)] = (T)(a * wr[l] - b * wi[l]);                                      \
                    line[2 * (k * n2 + first + l) + 1] = (T)(a * wi[l] + b * wr[l]);                                  \
                    wr[l] = wr[l] * sr[l] - wi[l] * si[l];                                                            \
                    wi[l] = t * si[l] + wi[l] * sr[l];                                                                \
                }                                                                                                     \
        }                                                                                                             \
    }                                                                                                                 \
    static void rows_##t(void *ctx, int64_t begin, int64_t end, int thread) {                                         \
        const stage_run *r = ctx;                                                                                     \
        const stage *s = r->s;                                                                                        \
        T *work = (T *)(void *)(r->work + (size_t)thread * r->f->work_bytes), scale = s->inverse ? 1 / (T)s->n : 1;   \
        const T *line = r->line;                                                                                      \
        int64_t n1 = s->plan->n, n2 = s->rows->n,                                                                     \
                base = r->which / s->inner * s->to_n * s->inner + r->which % s->inner;                                \
        for (int64_t block = begin; block < end; block++) {                                                           \
            int64_t first = block * FFT_LANES, lanes = n1 - first < FFT_LANES ? n1 - first : FFT_LANES;               \
            if (lanes < FFT_LANES) memset(work, 0, 2 * (size_t)(n2 * FFT_LANES) * sizeof *work);                      \
            EACH(8, 0, n2, lanes, {                                                                                   \
                work[k * FFT_LANES + l] = line[2 * ((first + l) * n2 + k)];                                           \
                work[(n2 + k) * FFT_LANES + l] = line[2 * ((first + l) * n2 + k) + 1];                                \
            });                                                                                                       \
            const T *y = fft_run(s->rows, work, s->inverse);                                                          \
            for (int64_t k = 0; k < n2; k++)                                                                          \
                for (int64_t l = 0; l < lanes; l++)                                                                   \
                    store_##t(s, r->dst, base, first + l + n1 * k, y[k * FFT_LANES + l], y[(n2 + k) * FFT_LANES + l], \
                              scale);                                                                                 \
        }                                                                                                             \
    }
IO(float, f32)
IO(double, f64)

static int64_t blocks(int64_t lines) {
    return (lines + FFT_LANES - 1) / FFT_LANES;
}

static void run_stage(const cpu_team *team, stage_run *r) {
    const stage *s = r->s;
    bool wide = r->f->wide;
    if (!s->rows) {
        team_for(team, blocks(s->outer * s->inner), 2048 / (s->n + 1) + 1, wide ? lines_f64 : lines_f32, r);
        return;
    }
    for (r->which = 0; r->which < s->outer * s->inner; r->which++) {
        team_for(team, blocks(s->rows->n), 1, wide ? columns_f64 : columns_f32, r);
        team_for(team, blocks(s->plan->n), 1, wide ? rows_f64 : rows_f32, r);
    }
}

static xt_status fft_run_op(const cpu_call *c) {
    const fft_state *f = c->thunk->state;
    char *scratch = c->scratch;
    const void *src = c->in[0];
    for (int i = 0; i < f->n_stages; i++) {
        bool last = i == f->n_stages - 1;
        void *dst = f->keeps_temp && !last ? (void *)scratch : c->out[0];
        stage_run r = {.s = &f->stages[i],
                       .f = f,
                       .src = src,
                       .dst = dst,
                       .line = scratch + f->line_at,
                       .work = scratch + f->work_at};
        run_stage(&c->device->team, &r);
        src = dst;
    }
    return NULL;
}
static void fft_free(void *state) {
    fft_state *f = state;
    for (int i = 0; f && i < f->n_stages; i++) {
        fft_plan_free(f->stages[i].plan);
        fft_plan_free(f->stages[i].rows);
        base_free(f->stages[i].turns);
    }
    base_free(f);
}
static const cpu_kernel fft_kernel = {"fft", fft_run_op, fft_free, true};

/* A divisor of n near its root, both parts of small primes; 0: none worth it. */
static int64_t cut_of(int64_t n) {
    for (int64_t d = (int64_t)sqrt((double)n); d >= FFT_LANES; d--) {
        if (n % d) continue;
        int64_t rest = n;
        for (int64_t p = 2; p <= FFT_MAX_RADIX; p++)
            while (rest % p == 0) rest /= p;
        return rest == 1 ? d : 0;
    }
    return 0;
}

static xt_status add_stage(fft_state *f, int64_t *dims, size_t rank, size_t d, int64_t n, line_kind from, line_kind to,
                           int64_t to_n, bool inverse) {
    stage *s = &f->stages[f->n_stages++];
    *s = (stage){
        .n = n, .outer = 1, .inner = 1, .from_n = dims[d], .to_n = to_n, .from = from, .to = to, .inverse = inverse};
    for (size_t k = 0; k < d; k++) s->outer *= dims[k];
    for (size_t k = d + 1; k < rank; k++) s->inner *= dims[k];
    dims[d] = to_n;
    int64_t lines = s->outer * s->inner, n1 = (lines < FFT_LANES && n >= 512) || n >= 65536 ? cut_of(n) : 0;
    if (n1) XT_TRY(fft_plan_new(n / n1, f->wide, &s->rows));
    if (!n1 && n % 2 == 0 && (from == LINE_REAL || to == LINE_REAL)) {
        s->half = from == LINE_REAL ? HALF_SPLIT : HALF_MERGE;
        s->from = s->to = LINE_COMPLEX;
        s->n = n / 2;
        if (from == LINE_REAL) s->from_n = s->n;
        if (to == LINE_REAL) s->to_n = s->n;
        s->turns = fft_turns(n, f->wide);
        if (!s->turns) return status_oom((size_t)n, "a Fourier transform");
    }
    return fft_plan_new(n1 ? n1 : s->n, f->wide, &s->plan);
}

static xt_status add_stages(fft_state *f, const ir_op *op, size_t n) {
    const ir_type *in = op->in[0]->type, *out = op->out[0].type;
    int64_t kind = ir_get_int(op, IR_A_fft_type, IR_FFT), dims[VIEW_MAX];
    size_t rank = in->rank, last = rank - 1;
    memcpy(dims, in->dims, rank * sizeof *dims);
    bool inverse = kind == IR_IFFT || kind == IR_IRFFT;
    if (kind == IR_RFFT)
        XT_TRY(add_stage(f, dims, rank, last, dims[last], LINE_REAL, LINE_COMPLEX, out->dims[last], false));
    for (size_t k = kind == IR_FFT || kind == IR_IFFT ? 0 : 1; k < n; k++)
        XT_TRY(add_stage(f, dims, rank, last - k, dims[last - k], LINE_COMPLEX, LINE_COMPLEX, dims[last - k], inverse));
    if (kind == IR_IRFFT)
        XT_TRY(add_stage(f, dims, rank, last, out->dims[last], LINE_HALF, LINE_REAL, out->dims[last], true));
    f->keeps_temp = kind == IR_IRFFT && n > 1;
    return NULL;
}

CPU_LOWER(fft) {
    const ir_type *in = op->in[0]->type, *out = op->out[0].type;
    size_t n;
    ir_get_ints(op, IR_A_fft_length, &n);
    if (n == 0 || n > in->rank || in->rank > VIEW_MAX || in->count <= 0 || out->count <= 0) return NULL;
    fft_state *f = base_calloc(1, sizeof *f);
    if (!f) return status_oom(sizeof *f, "a plan");
    f->wide = in->dtype == XT_F64 || in->dtype == XT_C128;
    xt_status st = add_stages(f, op, n);
    if (st) {
        fft_free(f);
        return st;
    }
    double flops = 0;
    size_t elem = f->wide ? 16 : 8, line = 0;
    for (int i = 0; i < f->n_stages; i++) {
        const stage *s = &f->stages[i];
        size_t first = fft_work_bytes(s->plan) + (s->half ? 2 * (size_t)(s->n + 1) * FFT_LANES * elem / 2 : 0),
               second = s->rows ? fft_work_bytes(s->rows) : 0;
        if (first > f->work_bytes) f->work_bytes = first;
        if (second > f->work_bytes) f->work_bytes = second;
        if (s->rows && (size_t)s->n * elem > line) line = (size_t)s->n * elem;
        flops += 5 * (double)(s->outer * s->inner) * (double)s->n * log2((double)s->n + 1);
    }
    if (f->keeps_temp) f->temp_bytes = ((size_t)in->count * elem + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    f->line_at = f->temp_bytes;
    f->work_at = f->line_at + (line + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &fft_kernel,
                        .op = op,
                        .n_in = 1,
                        .n_out = 1,
                        .scratch_bytes = f->work_at + f->work_bytes * (size_t)cpu_build_threads(b),
                        .state = f,
                        .flops = flops};
    return cpu_build_thunk(b, &d);
}
