/* Convolutions of one feature with one kernel (signals, blurs), f32: oneDNN's kernels for wide vectors have their lanes
 * along features, of which there is one. Here they lie along the last spatial dim: a row of results is the sum of
 * multiples of windows on a row of the image, which is what across() of matvec.h adds up. Rows are cut into tiles;
 * each is brought into scratch memory with its padding, so that windows reach over no edge. */
#include "cpu/kernel/conv_read.h"
#include "cpu/vector/matvec.h"

enum { TILE = 2048 };

typedef struct line_state {
    conv c;
    int64_t batch, batch_step, out_batch_step; /* images; elements from one to the next */
    int64_t rows, taps, tiles; /* results' rows of an image; kernel places of a row; pieces of a row of results */
    int64_t kernel_rows, line; /* line: elements of scratch memory of a thread */
} line_state;

typedef struct line_run {
    const line_state *s;
    const float *image, *kernel;
    float *out, *lines;
} line_run;

/* The row of the image that kernel row k meets at row `row` of the results; NULL: it lies in the padding. */
static const float *row_under(const conv *c, const float *image, int64_t row, int64_t k) {
    for (int d = c->n - 2; d >= 0; d--) {
        int64_t n = c->ov.dims[c->out_s[d]], o = row % n, of = c->rv.dims[c->rhs_s[d]], at = k % of;
        int64_t p = o * c->stride[d] + (c->reverse[d] ? of - 1 - at : at) * c->rhs_dil[d] - c->low[d];
        if (p < 0 || p >= c->lv.dims[c->lhs_s[d]]) return NULL;
        image += p * c->lv.strides[c->lhs_s[d]];
        row /= n, k /= of;
    }
    return image;
}

/* n elements from place `from` on; what lies beside the row is 0. */
static void bring(float *line, const float *row, int64_t width, int64_t from, int64_t n) {
    int64_t begin = from < 0 ? -from : 0, end = width - from < n ? width - from : n;
    if (begin > n) begin = n;
    if (end < begin) end = begin;
    memset(line, 0, (size_t)begin * sizeof *line);
    memcpy(line + begin, row + from + begin, (size_t)(end - begin) * sizeof *line);
    memset(line + end, 0, (size_t)(n - end) * sizeof *line);
}

static void tiles(void *ctx, int64_t begin, int64_t end, int thread) {
    const line_run *r = ctx;
    const line_state *s = r->s;
    const conv *c = &s->c;
    const int last = c->n - 1;
    const int64_t width = c->lv.dims[c->lhs_s[last]], out_width = c->ov.dims[c->out_s[last]], by = c->rhs_dil[last];
    float *line = r->lines + thread * s->line;
    for (int64_t t = begin; t < end; t++) {
        int64_t at = t % s->tiles * TILE, row = t / s->tiles % s->rows, q = t / s->tiles / s->rows,
                n = out_width - at < TILE ? out_width - at : TILE;
        float *out = r->out + q * s->out_batch_step + row * out_width + at;
        for (int64_t i = 0; i < n; i++) out[i] = 0;
        for (int64_t k = 0; k < s->kernel_rows; k++) {
            const float *from = row_under(c, r->image + q * s->batch_step, row, k), *x = r->kernel + k * s->taps;
            if (!from) continue;
            bring(line, from, width, at - c->low[last], n + (s->taps - 1) * by);
            bool back = c->reverse[last];
            matvec_loops()->across(out, line, by, back ? x + s->taps - 1 : x, back ? -1 : 1, s->taps, n, false);
        }
    }
}

static xt_status line_run_op(const cpu_call *c) {
    const line_state *s = c->thunk->state;
    line_run r = {s, c->in[0], c->in[1], c->out[0], c->scratch};
    int64_t each = TILE * s->taps * s->kernel_rows;
    team_for(&c->device->team, s->batch * s->rows * s->tiles, 65536 / each + 1, tiles, &r);
    return NULL;
}
static void line_free(void *state) {
    base_free(state);
}
static const cpu_kernel line_kernel = {"line-conv", line_run_op, line_free, true};

/* Spatial dims lie row-major, the last with no gaps. */
static bool is_rows(const view *v, const int64_t *spatial, int n) {
    int64_t step = 1;
    for (int d = n - 1; d >= 0; d--) {
        if (v->dims[spatial[d]] != 1 && v->strides[spatial[d]] != step) return false;
        step *= v->dims[spatial[d]];
    }
    return true;
}

static bool takes(const conv *c) {
    enum { LEAST_RESULTS = 64, MOST_TAPS = 4096 }; /* a row's: shorter ones are no vectors, longer sums lose bits */
    const int last = c->n - 1;
    for (int d = 0; d < c->n; d++)
        if (c->lhs_dil[d] != 1) return false;
    return c->lhs->dtype == XT_F32 && c->rhs->dtype == XT_F32 && c->out->dtype == XT_F32 && c->groups == 1 &&
           c->batch_groups == 1 && c->lhs->dims[c->lhs_f] == 1 && c->out->dims[c->out_f] == 1 && c->stride[last] == 1 &&
           c->ov.dims[c->out_s[last]] >= LEAST_RESULTS && c->rv.dims[c->rhs_s[last]] <= MOST_TAPS &&
           is_rows(&c->lv, c->lhs_s, c->n) && is_rows(&c->rv, c->rhs_s, c->n) && is_rows(&c->ov, c->out_s, c->n);
}

CPU_LOWER(conv_line) {
    conv c;
    if (!conv_read(op, &c) || !takes(&c)) return NULL;
    line_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    const int last = c.n - 1;
    s->c = c;
    s->batch = c.lhs->dims[c.lhs_b];
    s->batch_step = c.lv.strides[c.lhs_b], s->out_batch_step = c.ov.strides[c.out_b];
    s->rows = s->kernel_rows = 1;
    for (int d = 0; d < last; d++) s->rows *= c.ov.dims[c.out_s[d]], s->kernel_rows *= c.rv.dims[c.rhs_s[d]];
    s->taps = c.rv.dims[c.rhs_s[last]];
    s->tiles = (c.ov.dims[c.out_s[last]] + TILE - 1) / TILE;
    s->line = (TILE + (s->taps - 1) * c.rhs_dil[last] + 15) / 16 * 16;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &line_kernel,
                        .op = op,
                        .n_in = 2,
                        .n_out = 1,
                        .scratch_bytes = (size_t)(s->line * cpu_build_threads(b)) * sizeof(float),
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
