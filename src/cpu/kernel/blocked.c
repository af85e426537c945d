/* Batch norm (with relu, residual, masks and conversions to bf16 around it) and pooling on blocked images.
 *
 * A tensor [N, C/16, H, W, 16] (with AVX2: 8 for 16) is N * C/16 tiles. Sums are made per tile and joined over N in
 * double, in order, so results do not depend on the number of threads. Feature blocks are handled a few at a time, so
 * that the second look at a tile finds it in cache. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/layout.h"
#include "cpu/vector/access.h"
#include "cpu/vector/blk.h"
#include "cpu/vector/fold.h"

#include <math.h>

#define BATCH_BYTES ((int64_t)6 << 20) /* of one operand between the two looks at it */

typedef struct extent { /* of an image */
    int64_t n, blocks, pixels, block; /* block: features of one */
} extent;
static extent extent_of(const ir_type *t, int feature) {
    int64_t c = t->dims[feature];
    return (extent){t->dims[0], c / layout_block(), t->count / (t->dims[0] * c), layout_block()};
}

/* --- batch norm --- */
enum { NOT_THERE = -1 };
typedef struct norm_state {
    extent e;
    bool grad, relu;
    double epsilon;
    bool half_x, half_residual, half_g[2], half_z;
    int residual, g[2], z, offset; /* which input, or NOT_THERE */
    int out, narrow, masked; /* which output */
} norm_state;
/* Inputs: x, scale, then offset (training) or mean and variance (grad), then the others. Outputs: mean and variance
 * (training) or the gradients of scale and offset (grad), then the others. */
enum { IN_X, IN_SCALE, IN_OFFSET, IN_MEAN = IN_OFFSET, IN_VAR };

typedef struct norm_run {
    const norm_state *s;
    const cpu_call *c;
    const blk_ops *ops;
    double *parts; /* [blocks][N][2][block] */
    float *a, *b, *shift, *relu_a; /* [C] */
    const float *mean;
    int64_t first; /* feature block of the batch that is being handled */
} norm_run;

static blk_in input(const norm_run *r, int i, bool half, int64_t tile) {
    if (i == NOT_THERE) return (blk_in){NULL, false};
    return (blk_in){(const char *)r->c->in[i] + tile * r->s->e.pixels * r->s->e.block * (half ? 2 : 4), half};
}
static void *output(const norm_run *r, int i, size_t elem, int64_t tile) {
    return i == NOT_THERE ? NULL : (char *)r->c->out[i] + (size_t)(tile * r->s->e.pixels * r->s->e.block) * elem;
}

/* Task t of a batch: image t % N of feature block first + t / N. */
static blk_norm tile_of(const norm_run *r, int64_t t, int64_t *out_block) {
    const norm_state *s = r->s;
    int64_t block = r->first + t / s->e.n, image = t % s->e.n, tile = image * s->e.blocks + block,
            at = block * s->e.block;
    *out_block = block;
    return (blk_norm){.n = s->e.pixels,
                      .x = input(r, IN_X, s->half_x, tile),
                      .residual = input(r, s->residual, s->half_residual, tile),
                      .g = {input(r, s->g[0], s->half_g[0], tile), input(r, s->g[1], s->half_g[1], tile)},
                      .z = input(r, s->z, s->half_z, tile),
                      .relu = s->relu,
                      .out = output(r, s->out, sizeof(float), tile),
                      .masked = output(r, s->masked, sizeof(float), tile),
                      .narrow = output(r, s->narrow, sizeof(uint16_t), tile),
                      .mean = r->mean + at,
                      .a = r->a + at,
                      .b = r->b + at,
                      .shift = r->shift + at,
                      .relu_a = r->relu_a + at,
                      .relu_shift = s->offset == NOT_THERE ? NULL : (const float *)r->c->in[s->offset] + at};
}

static double *part_of(const norm_run *r, int64_t block, int64_t image) {
    return r->parts + (block * r->s->e.n + image) * 2 * r->s->e.block;
}

static void look(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const norm_run *r = ctx;
    for (int64_t t = begin; t < end; t++) {
        int64_t block;
        blk_norm n = tile_of(r, t, &block);
        double *p = part_of(r, block, t % r->s->e.n);
        if (r->s->grad)
            r->ops->grad_sums(&n, p, p + r->s->e.block);
        else
            r->ops->stats(n.x, n.n, p, p + r->s->e.block);
    }
}

static void apply(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const norm_run *r = ctx;
    for (int64_t t = begin; t < end; t++) {
        int64_t block;
        blk_norm n = tile_of(r, t, &block);
        if (r->s->grad)
            r->ops->grad_apply(&n);
        else
            r->ops->apply(&n);
    }
}

static float slope(float scale, float var, double epsilon) {
    return (float)((double)scale / sqrt((double)var + epsilon));
}

/* The mean and variance of feature f from those of its tiles, all of the same size (Chan, Golub, LeVeque 1979). */
static void join_stats(const norm_run *r, int64_t f) {
    const extent *e = &r->s->e;
    int64_t block = f / e->block, lane = f % e->block;
    double mean = 0, m2 = 0, count = (double)e->n * (double)e->pixels;
    for (int64_t i = 0; i < e->n; i++) mean += part_of(r, block, i)[lane];
    mean /= (double)e->n;
    for (int64_t i = 0; i < e->n; i++) {
        const double *p = part_of(r, block, i);
        double d = p[lane] - mean;
        m2 += p[e->block + lane] + d * d * (double)e->pixels;
    }
    float *out_mean = r->c->out[0], *out_var = r->c->out[1];
    const float *scale = r->c->in[IN_SCALE], *offset = r->c->in[IN_OFFSET];
    out_mean[f] = (float)mean;
    out_var[f] = (float)(m2 / count);
    r->a[f] = slope(scale[f], out_var[f], r->s->epsilon);
    r->shift[f] = offset[f];
}

static void join_grad(const norm_run *r, int64_t f) {
    const extent *e = &r->s->e;
    int64_t block = f / e->block, lane = f % e->block;
    double sum = 0, dev = 0, count = (double)e->n * (double)e->pixels;
    for (int64_t i = 0; i < e->n; i++) {
        const double *p = part_of(r, block, i);
        sum += p[lane];
        dev += p[e->block + lane];
    }
    const float *scale = r->c->in[IN_SCALE], *var = r->c->in[IN_VAR];
    double inv = 1.0 / sqrt((double)var[f] + r->s->epsilon), a = (double)scale[f] * inv;
    ((float *)r->c->out[0])[f] = (float)(dev * inv);
    ((float *)r->c->out[1])[f] = (float)sum;
    r->a[f] = (float)a;
    r->b[f] = (float)(-a * inv * inv * dev / count);
    r->shift[f] = (float)(-a * sum / count);
}

static xt_status norm_kernel_run(const cpu_call *c) {
    const norm_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    int64_t features = s->e.blocks * s->e.block, tile_bytes = s->e.pixels * s->e.block * 4;
    double *parts = c->scratch;
    float *f = (float *)(parts + s->e.blocks * s->e.n * 2 * s->e.block);
    norm_run r = {.s = s,
                  .c = c,
                  .ops = blk_get(),
                  .parts = parts,
                  .a = f,
                  .b = f + features,
                  .shift = f + 2 * features,
                  .relu_a = f + 3 * features};
    r.mean = s->grad ? c->in[IN_MEAN] : c->out[0];
    for (int64_t k = 0; s->offset != NOT_THERE && k < features; k++)
        r.relu_a[k] = slope(((const float *)c->in[IN_SCALE])[k], ((const float *)c->in[IN_VAR])[k], s->epsilon);
    int64_t batch = BATCH_BYTES / (tile_bytes * s->e.n) + 1, grain = 16384 / tile_bytes + 1;
    for (r.first = 0; r.first < s->e.blocks; r.first += batch) {
        int64_t last = r.first + batch < s->e.blocks ? r.first + batch : s->e.blocks, tasks = (last - r.first) * s->e.n;
        team_for(team, tasks, grain, look, &r);
        for (int64_t k = r.first * s->e.block; k < last * s->e.block; k++) {
            if (s->grad)
                join_grad(&r, k);
            else
                join_stats(&r, k);
        }
        if (s->out != NOT_THERE || s->narrow != NOT_THERE) team_for(team, tasks, grain, apply, &r);
    }
    return NULL;
}
/* The images, tile behind tile. */
static cpu_access image_access(const extent *e, uint32_t arg, size_t elem) {
    return (cpu_access){
        .arg = arg, .elem = elem, .at = {.n = 1, .dims = {e->n * e->blocks * e->pixels * e->block}, .strides = {1}}};
}
/* Images first, then scale, offset or mean and variance, and the two results of that size. */
static bool norm_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const norm_state *s = t->state;
    const extent features = {1, s->e.blocks, 1, s->e.block};
    const int args[] = {IN_X, s->residual, s->g[0], s->g[1], s->z, s->out, s->narrow, s->masked};
    const bool half[] = {s->half_x, s->half_residual, s->half_g[0], s->half_g[1], s->half_z, false, true, false};
    enum { FIRST_OUT = 5 };
    for (uint32_t i = 0; i < BASE_COUNT(args); i++) {
        if (args[i] == NOT_THERE || k-- > 0) continue;
        *out = image_access(&s->e, (uint32_t)args[i] + (i < FIRST_OUT ? 0 : t->n_in), half[i] ? 2 : 4);
        return true;
    }
    uint32_t n = s->grad ? IN_VAR : IN_OFFSET; /* inputs behind x */
    if (k >= n + 2) return false;
    *out = image_access(&features, k < n ? IN_SCALE + k : t->n_in + k - n, sizeof(float));
    return true;
}
static const cpu_kernel norm_kernel = {"batch-norm", norm_kernel_run, NULL, false, .access = norm_access};
static const cpu_kernel norm_grad_kernel = {"batch-norm-grad", norm_kernel_run, NULL, false, .access = norm_access};

typedef struct norm_lists { /* the thunk's operands and results while they are collected */
    const ir_value *in[10], *out[6];
    uint64_t in_place[6];
    size_t n_in, n_out;
    uint64_t in_blocked, out_blocked;
} norm_lists;

static int take_input(norm_lists *l, const ir_value *v, bool *out_half) {
    if (!v) return NOT_THERE;
    *out_half = v->type->dtype == XT_BF16;
    l->in_blocked |= 1ull << l->n_in;
    l->in[l->n_in++] = v;
    return (int)l->n_in - 1;
}
static int take_output(norm_lists *l, const ir_value *v, uint64_t in_place) {
    if (!v) return NOT_THERE;
    l->out_blocked |= 1ull << l->n_out;
    l->in_place[l->n_out] = in_place;
    l->out[l->n_out++] = v;
    return (int)l->n_out - 1;
}
static uint64_t bit(int i) {
    return i == NOT_THERE ? 0 : 1ull << i;
}

xt_status blocked_norm(cpu_builder *b, const norm_fusion *f) {
    const ir_op *op = f->norm;
    const ir_attr *eps = ir_attr_find(op, IR_A_epsilon);
    const ir_value *z = f->z;
    norm_lists l = {0};
    norm_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->e = extent_of(op->in[0]->type, layout_feature(b, op->in[0]));
    s->grad = op->code == OP_batch_norm_grad;
    s->relu = f->relu;
    s->epsilon = eps ? eps->v.f : 0;
    if (z && !build_info(b, z)->has_blk && build_info(b, z)->stand_in) z = build_info(b, z)->stand_in;
    take_input(&l, f->x, &s->half_x);
    for (uint32_t i = 1; i < (s->grad ? 4u : 3u); i++) l.in[l.n_in++] = op->in[i];
    s->residual = take_input(&l, f->residual, &s->half_residual);
    for (int i = 0; i < 2; i++) s->g[i] = take_input(&l, f->g[i], &s->half_g[i]);
    s->z = take_input(&l, z, &s->half_z);
    s->offset = NOT_THERE;
    if (f->offset) {
        s->offset = (int)l.n_in;
        l.in[l.n_in++] = f->offset;
    }
    for (uint32_t i = 1; i < 3; i++) l.out[l.n_out++] = &op->out[i];
    /* Second looks read each element right before they write it; a kept gradient is written by the first. */
    s->masked = take_output(&l, f->masked, bit(s->g[0]) | bit(s->g[1]));
    s->out = take_output(&l, f->out, bit(IN_X) | bit(s->residual) | (f->masked ? 0 : bit(s->g[0]) | bit(s->g[1])));
    s->narrow = take_output(&l, f->narrow,
                            f->out ? 0 : bit(IN_X) | bit(s->residual) | (f->masked ? 0 : bit(s->g[0]) | bit(s->g[1])));
    const ir_op *covered[1 + BASE_COUNT(f->covers)] = {op};
    size_t n_covered = 1;
    double flops = cpu_op_flops(op);
    for (size_t i = 0; i < f->n_covers; i++) {
        covered[n_covered++] = f->covers[i]->def;
        flops += cpu_op_flops(f->covers[i]->def);
    }
    size_t scratch = (size_t)(s->e.blocks * s->e.n) * 2 * s->e.block * sizeof(double) +
                     (size_t)s->e.blocks * 4 * s->e.block * sizeof(float);
    cpu_thunk_desc d = {.kernel = s->grad ? &norm_grad_kernel : &norm_kernel,
                        .op = op,
                        .in = l.in,
                        .n_in = l.n_in,
                        .out = l.out,
                        .n_out = l.n_out,
                        .in_place = l.in_place,
                        .in_blocked = l.in_blocked,
                        .out_blocked = l.out_blocked,
                        .ops = covered,
                        .n_ops = n_covered,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = flops};
    return cpu_build_thunk(b, &d);
}

/* --- pooling --- */
typedef struct window_state {
    blk_window w;
    extent in, out;
} window_state;

static int64_t int_at(const ir_op *op, ir_attr_key k, size_t i, int64_t fallback) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    return v && i < n ? v[i] : fallback;
}

static bool read_window(const ir_op *op, int feature, window_state *s) {
    bool grad = op->code == OP_select_and_scatter;
    const ir_type *in = op->in[0]->type, *out = grad ? op->in[1]->type : op->out[0].type;
    fold_op fold = FOLD_MAX;
    int space = 0;
    if (in->kind != IR_TENSOR || in->rank != 4 || in->count <= 0 || out->count <= 0 || in->dtype != XT_F32 ||
        out->dtype != XT_F32 || op->n_out != 1)
        return false;
    if (grad ? !cpu_selects_largest(op)
             : op->n_in != 2 || !cpu_fold_of(&op->regions[0], &fold) || (fold != FOLD_MAX && fold != FOLD_SUM))
        return false;
    for (int i = 0; i < 4; i++) {
        int64_t size = int_at(op, IR_A_window_dimensions, (size_t)i, 1),
                stride = int_at(op, IR_A_window_strides, (size_t)i, 1);
        int64_t low = int_at(op, IR_A_padding, 2 * (size_t)i, 0);
        if (int_at(op, IR_A_base_dilations, (size_t)i, 1) != 1) return false;
        if (i == 0 || i == feature) {
            if (size != 1 || stride != 1 || low != 0 || in->dims[i] != out->dims[i]) return false;
            continue;
        }
        s->w.in[space] = in->dims[i];
        s->w.out[space] = out->dims[i];
        s->w.size[space] = size;
        s->w.stride[space] = stride;
        s->w.dil[space] = int_at(op, IR_A_window_dilations, (size_t)i, 1);
        s->w.low[space++] = low;
    }
    s->w.sum = fold == FOLD_SUM;
    s->in = extent_of(in, feature);
    s->out = extent_of(out, feature);
    return in->dims[feature] % layout_block() == 0;
}

bool blocked_window_ok(const ir_op *op, int feature) {
    window_state s;
    return read_window(op, feature, &s);
}

typedef struct window_run {
    const window_state *s;
    const cpu_call *c;
    float init;
} window_run;

static void windows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    const window_state *s = r->s;
    bool grad = r->c->thunk->n_in == 3;
    for (int64_t t = begin; t < end; t++) {
        int64_t large = t * s->in.pixels * s->in.block, small = t * s->out.pixels * s->out.block;
        blk_in x = {(const float *)r->c->in[0] + large, false};
        if (grad)
            blk_get()->pool_grad(&s->w, x, (blk_in){(const float *)r->c->in[1] + small, false}, r->init,
                                 (float *)r->c->out[0] + large);
        else
            blk_get()->pool(&s->w, x, r->init, (float *)r->c->out[0] + small);
    }
}

static xt_status windows_run(const cpu_call *c) {
    const window_state *s = c->thunk->state;
    window_run r = {s, c, *(const float *)c->in[c->thunk->n_in - 1]};
    team_for(&c->device->team, s->in.n * s->in.blocks, 4096 / s->in.pixels + 1, windows, &r);
    return NULL;
}
static bool windows_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const window_state *s = t->state;
    if (k >= t->n_in) return false; /* the last input is the initial value */
    bool grad = t->n_in == 3, result = k + 1 == t->n_in;
    *out = image_access(result != grad && k ? &s->out : &s->in, result ? t->n_in : k, sizeof(float));
    return true;
}
static const cpu_kernel pool_kernel = {"pool", windows_run, NULL, false, .access = windows_access};
static const cpu_kernel pool_grad_kernel = {"pool-grad", windows_run, NULL, false, .access = windows_access};

xt_status blocked_window(cpu_builder *b, const ir_op *op) {
    bool grad = op->code == OP_select_and_scatter;
    window_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    read_window(op, layout_feature(b, op->in[0]), s);
    cpu_thunk_desc d = {.kernel = grad ? &pool_grad_kernel : &pool_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = 1,
                        .in_blocked = grad ? 3 : 1,
                        .out_blocked = 1,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
