/* Convolutions of f32 whose batch is the innermost dim (layout.c arranges that where channels are too few for oneDNN's
 * vectors): one image a lane, direct, on the loops of chwn.h. Two forms:
 *   rows      images in, images out: forward and data gradient alike. For each position of the result the taps that
 *             meet a real element form an arithmetic progression in each dim (any stride, padding, dilation of either
 *             side), so nothing is multiplied by padding. The kernel is packed by blocks of output channels first,
 *             turned around if asked.
 *   weights   the sum over images: one vector of sums per element of the result, folded at the end. Columns whose
 *             windows reach the same part of the kernel form segments; inside one no bounds are checked.
 * Every element of the result is one task's, or the sum of `parts` tasks' in their order, and parts follow from
 * shapes alone. */
#include "cpu/kernel/conv_read.h"
#include "cpu/kernel/kernel.h"
#include "cpu/vector/chwn.h"

enum { LEAST_IMAGES = 4, KERNEL_MAX = 64 /* positions of a kernel whose gradient's sums stay on the stack */ };

typedef struct axis { /* one spatial dim; absent ones have size 1 */
    int64_t in, kernel, out, stride, low, in_dil, kernel_dil;
    int64_t in_s, kernel_s, out_s; /* element strides */
} axis;
typedef struct chwn_state {
    axis y, x;
    int64_t images, in_channels, channels; /* channels: of the result */
    int64_t in_c, out_c; /* element strides of channels */
    int64_t w_i, w_o; /* of the kernel's (weights form: the result's) */
    int64_t block, blocks; /* output channels a register block; the last may have fewer */
    bool flip;
    chwn_line *lines; /* rows: [out y][out x] lines */
    struct segment *segments; /* weights */
    int64_t n_segments, parts;
} chwn_state;

static void chwn_free(void *state) {
    chwn_state *s = state;
    base_free(s->lines);
    base_free(s->segments);
    base_free(s);
}

static axis axis_of(const conv *c, int i) {
    if (i < 0) return (axis){.in = 1, .kernel = 1, .out = 1, .stride = 1, .in_dil = 1, .kernel_dil = 1};
    int64_t l = c->lhs_s[i], r = c->rhs_s[i], o = c->out_s[i];
    return (axis){.in = c->lhs->dims[l],
                  .kernel = c->rhs->dims[r],
                  .out = c->out->dims[o],
                  .stride = c->stride[i],
                  .low = c->low[i],
                  .in_dil = c->lhs_dil[i],
                  .kernel_dil = c->rhs_dil[i],
                  .in_s = c->lv.strides[l],
                  .kernel_s = c->rv.strides[r],
                  .out_s = c->ov.strides[o]};
}

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static void cut_channels(chwn_state *s, int64_t most) {
    s->blocks = divide_up(s->channels, most);
    s->block = divide_up(s->channels, s->blocks);
    s->blocks = divide_up(s->channels, s->block);
}
static int64_t block_size(const chwn_state *s, int64_t b) {
    int64_t left = s->channels - b * s->block;
    return left < s->block ? left : s->block;
}

/* --- rows --- */
static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

static chwn_line line_at(const axis *a, int64_t out) {
    int64_t g = common_divisor(a->in_dil, a->kernel_dil), step = a->in_dil / g, in_step = a->kernel_dil / g;
    chwn_line l = {.k_step = (int32_t)step, .in_step = (int32_t)in_step};
    for (int64_t k = 0; k < a->kernel; k++) {
        int64_t at = out * a->stride + k * a->kernel_dil - a->low;
        if (at < 0 || at % a->in_dil || at / a->in_dil >= a->in) continue;
        l.k = (int32_t)k;
        l.in = (int32_t)(at / a->in_dil);
        int64_t by_kernel = (a->kernel - 1 - k) / step, by_in = (a->in - 1 - l.in) / in_step;
        l.n = (int32_t)(1 + (by_kernel < by_in ? by_kernel : by_in));
        break;
    }
    return l;
}

typedef struct rows_run {
    const chwn_state *s;
    const chwn_ops *ops;
    const float *in, *kernel;
    float *weights, *out;
} rows_run;

/* Channel i of block b: [kernel rows][kernel columns][block]. */
static void pack_kernel(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rows_run *r = ctx;
    const chwn_state *s = r->s;
    int64_t window = s->y.kernel * s->x.kernel;
    for (int64_t t = begin; t < end; t++) {
        int64_t b = t / s->in_channels, i = t % s->in_channels, n = block_size(s, b);
        float *to = r->weights + (b * s->block * s->in_channels + i * n) * window;
        for (int64_t y = 0; y < s->y.kernel; y++)
            for (int64_t x = 0; x < s->x.kernel; x++, to += n) {
                int64_t ky = s->flip ? s->y.kernel - 1 - y : y, kx = s->flip ? s->x.kernel - 1 - x : x;
                const float *from =
                    r->kernel + b * s->block * s->w_o + i * s->w_i + ky * s->y.kernel_s + kx * s->x.kernel_s;
                for (int64_t o = 0; o < n; o++) to[o] = from[o * s->w_o];
            }
    }
}

static int64_t rows_tasks(const chwn_state *s, const chwn_ops *ops, int64_t b) {
    return divide_up(s->images, (int64_t)ops->vectors[block_size(s, b)] * ops->lanes) * s->y.out;
}

/* Tasks count blocks of channels, then of images, then rows. All blocks but the last have as many. */
static void conv_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rows_run *r = ctx;
    const chwn_state *s = r->s;
    int64_t window = s->y.kernel * s->x.kernel, whole = rows_tasks(s, r->ops, 0) * (s->blocks - 1);
    for (int64_t t = begin; t < end; t++) {
        int64_t per = rows_tasks(s, r->ops, t < whole ? 0 : s->blocks - 1);
        int64_t b = t < whole ? t / per : s->blocks - 1, rest = t < whole ? t % per : t - whole, n = block_size(s, b);
        int64_t y = rest % s->y.out, images = (int64_t)r->ops->vectors[n] * r->ops->lanes,
                image = rest / s->y.out * images;
        chwn_conv c = {.in = r->in + image,
                       .in_c = s->in_c,
                       .in_y = s->y.in_s,
                       .in_x = s->x.in_s,
                       .channels = s->in_channels,
                       .weights = r->weights + b * s->block * s->in_channels * window,
                       .w_c = window * n,
                       .w_y = s->x.kernel * n,
                       .w_x = n,
                       .y = s->lines[y],
                       .x = s->lines + s->y.out,
                       .columns = s->x.out,
                       .out = r->out + b * s->block * s->out_c + y * s->y.out_s + image,
                       .out_c = s->out_c,
                       .out_x = s->x.out_s,
                       .n = s->images - image < images ? s->images - image : images};
        r->ops->conv[n](&c);
    }
}

static xt_status rows_kernel_run(const cpu_call *c) {
    const chwn_state *s = c->thunk->state;
    rows_run r = {s, chwn_get(), c->in[0], c->in[1], c->scratch, c->out[0]};
    int64_t window = s->y.kernel * s->x.kernel,
            tasks = rows_tasks(s, r.ops, 0) * (s->blocks - 1) + rows_tasks(s, r.ops, s->blocks - 1);
    team_for(&c->device->team, s->blocks * s->in_channels, 8192 / (window * s->block) + 1, pack_kernel, &r);
    double work = c->thunk->flops / (double)tasks;
    team_for(&c->device->team, tasks, (int64_t)(500e3 / (work + 1)) + 1, conv_rows, &r);
    return NULL;
}
static const cpu_kernel rows_kernel = {"chwn-conv", rows_kernel_run, chwn_free, true};

static bool is_rows(const conv *c) {
    return c->lv.strides[c->lhs_b] == 1 && c->ov.strides[c->out_b] == 1 && c->out->dims[c->out_b] >= LEAST_IMAGES &&
           c->lhs->dims[c->lhs_b] == c->out->dims[c->out_b];
}

static xt_status lower_rows(cpu_builder *b, const ir_op *op, const conv *c, chwn_state *s, bool *out_done) {
    const ir_value *plain = conv_unreversed(c, op->in[1]), *in[2] = {op->in[0], plain ? plain : op->in[1]};
    s->flip = conv_is_straight(c) ? plain != NULL : plain == NULL;
    s->images = c->out->dims[c->out_b];
    s->in_channels = c->lhs->dims[c->lhs_f];
    s->channels = c->out->dims[c->out_f];
    s->in_c = c->lv.strides[c->lhs_f];
    s->out_c = c->ov.strides[c->out_f];
    s->w_i = c->rv.strides[c->rhs_i];
    s->w_o = c->rv.strides[c->rhs_o];
    cut_channels(s, chwn_get()->block_max);
    s->lines = base_calloc((size_t)(s->y.out + s->x.out), sizeof *s->lines);
    if (!s->lines) {
        chwn_free(s);
        return status_oom(0, "a plan");
    }
    for (int64_t y = 0; y < s->y.out; y++) s->lines[y] = line_at(&s->y, y);
    for (int64_t x = 0; x < s->x.out; x++) s->lines[s->y.out + x] = line_at(&s->x, x);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &rows_kernel,
                        .op = op,
                        .n_in = 2,
                        .in = in,
                        .n_out = 1,
                        .scratch_bytes = ir_type_bytes(c->rhs),
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}

/* --- weights --- */
typedef struct segment { /* columns of the gradient [at, at + width) that all meet kernel columns [k, k + n) */
    int64_t at, width, k, n;
} segment;

typedef struct weights_run {
    const chwn_state *s;
    const chwn_ops *ops;
    const float *in, *dy;
    float *out, *parts;
} weights_run;

/* The kernel positions that column x of the gradient meets. In this form `kernel` is the larger window (the gradient's
 * own extent) and `out` the kernel whose gradient is made. */
static void reach(const axis *a, int64_t x, int64_t *first, int64_t *end) {
    *first = *end = 0;
    for (int64_t k = 0; k < a->out; k++) {
        int64_t at = k * a->stride + x * a->kernel_dil - a->low;
        if (at < 0 || at >= a->in) continue;
        if (*end == 0) *first = k;
        *end = k + 1;
    }
}

static bool cut_segments(chwn_state *s, int64_t most) {
    size_t n = 0, cap = 0;
    for (int64_t x = 0, next; x < s->x.kernel; x = next) {
        int64_t k0, k1, a, b;
        reach(&s->x, x, &k0, &k1);
        for (next = x + 1; next < s->x.kernel; next++) {
            reach(&s->x, next, &a, &b);
            if (a != k0 || b != k1) break;
        }
        int64_t pieces = divide_up(k1 - k0, most);
        for (int64_t p = 0; p < pieces; p++) {
            int64_t from = k0 + (k1 - k0) * p / pieces, to = k0 + (k1 - k0) * (p + 1) / pieces;
            segment g = {x, next - x, from, to - from};
            if (!VEC_PUSH(s->segments, n, cap, g)) return false;
        }
    }
    s->n_segments = (int64_t)n;
    return true;
}

/* Rows [from, to) of the gradient for one block of output channels and one input channel. */
static void sum_rows(const weights_run *r, int64_t b, int64_t i, int64_t from, int64_t to, float *sums) {
    const chwn_state *s = r->s;
    int64_t n = block_size(s, b);
    for (int64_t ky = 0; ky < s->y.out; ky++) {
        int64_t first = from, end = to; /* rows whose input row exists */
        while (first < end && ky * s->y.stride + first * s->y.kernel_dil < s->y.low) first++;
        while (end > first && ky * s->y.stride + (end - 1) * s->y.kernel_dil - s->y.low >= s->y.in) end--;
        for (int64_t g = 0; g < s->n_segments && first < end; g++) {
            const segment *c = &s->segments[g];
            int64_t in_y = ky * s->y.stride + first * s->y.kernel_dil - s->y.low,
                    in_x = c->k * s->x.stride + c->at * s->x.kernel_dil - s->x.low;
            chwn_grad a = {.in = r->in + i * s->in_c + in_y * s->y.in_s + in_x * s->x.in_s,
                           .in_k = s->x.stride * s->x.in_s,
                           .in_x = s->x.kernel_dil * s->x.in_s,
                           .in_y = s->y.kernel_dil * s->y.in_s,
                           .dy = r->dy + b * s->block * s->out_c + first * s->y.kernel_s + c->at * s->x.kernel_s,
                           .dy_c = s->out_c,
                           .dy_x = s->x.kernel_s,
                           .dy_y = s->y.kernel_s,
                           .width = c->width,
                           .height = end - first,
                           .n = s->images,
                           .sums = sums + (ky * s->x.out + c->k) * n * r->ops->lanes};
            r->ops->grad[c->n][n](&a);
        }
    }
}

enum { CACHED_BYTES = 256 << 10 }; /* of the gradient: what all kernel rows read again stays in a core's own cache */

/* Tasks count parts, then blocks, then input channels. */
static void sum_weights(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const weights_run *r = ctx;
    const chwn_state *s = r->s;
    float sums[KERNEL_MAX * CHWN_BLOCK_MAX * 16] __attribute__((aligned(64)));
    int64_t window = s->y.out * s->x.out, row_bytes = s->block * s->x.kernel * s->images * (int64_t)sizeof(float);
    int64_t rows = row_bytes < CACHED_BYTES ? CACHED_BYTES / row_bytes : 1;
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t % s->in_channels, b = t / s->in_channels % s->blocks, p = t / s->in_channels / s->blocks,
                n = block_size(s, b);
        int64_t stop = s->y.kernel * (p + 1) / s->parts;
        memset(sums, 0, (size_t)(window * n * r->ops->lanes) * sizeof *sums);
        for (int64_t y = s->y.kernel * p / s->parts; y < stop; y += rows)
            sum_rows(r, b, i, y, y + rows < stop ? y + rows : stop, sums);
        float *to = r->parts + ((p * s->channels + b * s->block) * s->in_channels + i * n) * window; /* [window][n] */
        r->ops->fold(sums, window * n, to);
    }
}

static void join_parts(const weights_run *r) {
    const chwn_state *s = r->s;
    int64_t window = s->y.out * s->x.out, all = s->channels * s->in_channels * window;
    for (int64_t p = 1; p < s->parts; p++)
        for (int64_t e = 0; e < all; e++) r->parts[e] += r->parts[p * all + e];
    const float *from = r->parts;
    for (int64_t b = 0; b < s->blocks; b++)
        for (int64_t i = 0; i < s->in_channels; i++)
            for (int64_t y = 0; y < s->y.out; y++)
                for (int64_t x = 0; x < s->x.out; x++) {
                    float *to = r->out + b * s->block * s->w_o + i * s->w_i + y * s->y.out_s + x * s->x.out_s;
                    for (int64_t o = 0; o < block_size(s, b); o++) to[o * s->w_o] = *from++;
                }
}

static xt_status weights_kernel_run(const cpu_call *c) {
    const chwn_state *s = c->thunk->state;
    weights_run r = {s, chwn_get(), c->in[0], c->in[1], c->out[0], c->scratch};
    int64_t tasks = s->parts * s->blocks * s->in_channels;
    double work = c->thunk->flops / (double)tasks;
    team_for(&c->device->team, tasks, (int64_t)(500e3 / (work + 1)) + 1, sum_weights, &r);
    join_parts(&r);
    return NULL;
}
static const cpu_kernel weights_kernel = {"chwn-conv-weights", weights_kernel_run, chwn_free, true};

/* The batch is what is summed over, and far more positions are summed than made: a plain convolution of channels-last
 * images has the same strides. */
static bool is_weights(const conv *c) {
    int64_t window = 1, result = 1;
    for (int i = 0; i < c->n; i++) {
        window *= c->rhs->dims[c->rhs_s[i]];
        result *= c->out->dims[c->out_s[i]];
        if (c->lhs_dil[i] != 1) return false;
    }
    return c->lv.strides[c->lhs_f] == 1 && c->rv.strides[c->rhs_i] == 1 && conv_is_straight(c) &&
           c->lhs->dims[c->lhs_f] >= LEAST_IMAGES && result <= KERNEL_MAX && window >= 2 * result;
}

static xt_status lower_weights(cpu_builder *b, const ir_op *op, const conv *c, chwn_state *s, bool *out_done) {
    enum { TASKS = 32, PARTS = 16 };
    s->images = c->lhs->dims[c->lhs_f];
    s->in_channels = c->lhs->dims[c->lhs_b];
    s->channels = c->rhs->dims[c->rhs_o];
    s->in_c = c->lv.strides[c->lhs_b];
    s->out_c = c->rv.strides[c->rhs_o];
    s->w_i = c->ov.strides[c->out_b];
    s->w_o = c->ov.strides[c->out_f];
    /* fewer columns allow more channels, so all segments fit */
    int64_t columns = divide_up(s->x.out, divide_up(s->x.out, CHWN_COLUMNS_MAX));
    cut_channels(s, chwn_get()->grad_block[columns]);
    s->parts = divide_up(TASKS, s->blocks * s->in_channels);
    if (s->parts > PARTS) s->parts = PARTS;
    if (s->parts > s->y.kernel) s->parts = s->y.kernel;
    if (!cut_segments(s, columns)) {
        chwn_free(s);
        return status_oom(0, "a plan");
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &weights_kernel,
                        .op = op,
                        .n_in = 2,
                        .n_out = 1,
                        .scratch_bytes = (size_t)s->parts * ir_type_bytes(c->out),
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}

xt_status cpu_lower_conv_chwn(cpu_builder *b, const ir_op *op, const conv *c, bool *out_done) {
    if (c->n > 2 || c->lhs->dtype != XT_F32 || c->rhs->dtype != XT_F32 || c->out->dtype != XT_F32 || c->groups != 1 ||
        c->batch_groups != 1)
        return NULL;
    if (!conv_is_straight(c) && !conv_is_reversed(c)) return NULL;
    bool weights = is_weights(c);
    if (!weights && !is_rows(c)) return NULL;
    chwn_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->y = axis_of(c, c->n == 2 ? 0 : -1);
    s->x = axis_of(c, c->n - 1);
    return weights ? lower_weights(b, op, c, s, out_done) : lower_rows(b, op, c, s, out_done);
}
