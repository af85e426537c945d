/* Batch normalisation of f32: training, its gradient, inference. The operand is [outer, C, inner] around the feature
 * dim. With inner > 1 each feature is a set of contiguous runs; with inner = 1 rows of features are handled whole. Sums
 * over many runs are kept in double. */
#include "cpu/kernel/kernel.h"

#include <math.h>

typedef struct norm {
    int64_t outer, c, inner;
    double epsilon;
} norm;

#define ROWS_PER_PART 256 /* inner = 1: rows are summed in pieces of this many, then the pieces in double */

typedef struct norm_run {
    const norm *n;
    const simd_ops *simd;
    const float *x, *dy;
    float *out;
    float *mean, *var; /* [C] */
    float *a, *b, *shift; /* [C] factors of the second pass */
    float *sum_dy, *sum_dev; /* [C]: gradient of offset; sum of (x - mean) * dy */
    float *parts; /* inner = 1: [parts][2][C] */
    bool second; /* the pass that needs the mean */
} norm_run;

static int64_t part_count(const norm *n) {
    return (n->outer + ROWS_PER_PART - 1) / ROWS_PER_PART;
}

/* --- sums --- */
static void stats_by_feature(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const norm_run *r = ctx;
    const norm *n = r->n;
    double count = (double)n->outer * (double)n->inner;
    for (int64_t c = begin; c < end; c++) {
        double sum = 0, dev = 0;
        for (int64_t o = 0; o < n->outer; o++)
            sum += (double)r->simd->fold[FOLD_SUM](r->x + (o * n->c + c) * n->inner, n->inner);
        r->mean[c] = (float)(sum / count);
        for (int64_t o = 0; o < n->outer; o++)
            dev += r->simd->square_dev(r->x + (o * n->c + c) * n->inner, r->mean[c], n->inner);
        r->var[c] = (float)(dev / count);
    }
}

static void grad_sums_by_feature(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const norm_run *r = ctx;
    const norm *n = r->n;
    for (int64_t c = begin; c < end; c++) {
        double sum = 0, dev = 0;
        for (int64_t o = 0; o < n->outer; o++) {
            int64_t at = (o * n->c + c) * n->inner;
            sum += (double)r->simd->fold[FOLD_SUM](r->dy + at, n->inner);
            dev += r->simd->dev_dot(r->x + at, r->mean[c], r->dy + at, n->inner);
        }
        r->sum_dy[c] = (float)sum;
        r->sum_dev[c] = (float)dev;
    }
}

/* One piece of rows into parts[p]: sums of x (or dy), or of what needs the mean. */
static void sums_by_row(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const norm_run *r = ctx;
    const norm *n = r->n;
    for (int64_t p = begin; p < end; p++) {
        float *plain = r->parts + p * 2 * n->c, *dev = plain + n->c;
        int64_t stop = (p + 1) * ROWS_PER_PART < n->outer ? (p + 1) * ROWS_PER_PART : n->outer;
        memset(plain, 0, 2 * (size_t)n->c * sizeof *plain);
        for (int64_t o = p * ROWS_PER_PART; o < stop; o++) {
            const float *x = r->x + o * n->c;
            if (r->dy) {
                r->simd->fold_rows[FOLD_SUM](plain, r->dy + o * n->c, n->c);
                r->simd->dev_dot_rows(dev, x, r->mean, r->dy + o * n->c, n->c);
            } else if (r->second) {
                r->simd->square_dev_rows(dev, x, r->mean, n->c);
            } else {
                r->simd->fold_rows[FOLD_SUM](plain, x, n->c);
            }
        }
    }
}

/* out[c] = sum over parts of slot `which`, times factor. */
static void join_parts(const norm_run *r, int which, double factor, float *out) {
    const norm *n = r->n;
    for (int64_t c = 0; c < n->c; c++) {
        double s = 0;
        for (int64_t p = 0; p < part_count(n); p++) s += (double)r->parts[(p * 2 + which) * n->c + c];
        out[c] = (float)(s * factor);
    }
}

static void batch_stats(norm_run *r, const cpu_team *team) {
    const norm *n = r->n;
    if (n->inner > 1) {
        team_for(team, n->c, 16384 / (n->outer * n->inner) + 1, stats_by_feature, r);
        return;
    }
    double share = 1.0 / (double)n->outer;
    team_for(team, part_count(n), 1, sums_by_row, r);
    join_parts(r, 0, share, r->mean);
    r->second = true;
    team_for(team, part_count(n), 1, sums_by_row, r);
    join_parts(r, 1, share, r->var);
}

/* --- second pass: out = (x - mean) * a + shift, or dy * a + (x - mean) * b + shift --- */
static void apply(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const norm_run *r = ctx;
    const norm *n = r->n;
    for (int64_t t = begin; t < end; t++) {
        if (n->inner == 1) {
            int64_t at = t * n->c;
            if (r->dy)
                r->simd->affine2_rows(r->out + at, r->dy + at, r->a, r->x + at, r->mean, r->b, r->shift, n->c);
            else
                r->simd->affine_rows(r->out + at, r->x + at, r->mean, r->a, r->shift, n->c);
            continue;
        }
        int64_t at = t * n->inner, c = t % n->c;
        if (r->dy)
            r->simd->affine2(r->out + at, r->dy + at, r->a[c], r->x + at, r->mean[c], r->b[c], r->shift[c], n->inner);
        else
            r->simd->affine(r->out + at, r->x + at, r->mean[c], r->a[c], r->shift[c], n->inner);
    }
}

static void apply_all(norm_run *r, const cpu_team *team) {
    const norm *n = r->n;
    if (n->inner == 1)
        team_for(team, n->outer, 16384 / n->c + 1, apply, r);
    else
        team_for(team, n->outer * n->c, 16384 / n->inner + 1, apply, r);
}

/* --- ops --- */
static norm_run start(const cpu_call *c) {
    const norm *n = c->thunk->state;
    float *f = c->scratch;
    return (norm_run){.n = n,
                      .simd = simd_get(),
                      .x = c->in[0],
                      .a = f,
                      .b = f + n->c,
                      .shift = f + 2 * n->c,
                      .sum_dev = f + 3 * n->c,
                      .parts = f + 4 * n->c};
}

static xt_status training_run(const cpu_call *call) {
    norm_run r = start(call);
    const float *scale = call->in[1];
    r.out = call->out[0];
    r.mean = call->out[1];
    r.var = call->out[2];
    r.shift = call->in[2];
    batch_stats(&r, &call->device->team);
    for (int64_t c = 0; c < r.n->c; c++) r.a[c] = (float)((double)scale[c] / sqrt((double)r.var[c] + r.n->epsilon));
    apply_all(&r, &call->device->team);
    return NULL;
}

static xt_status inference_run(const cpu_call *call) {
    norm_run r = start(call);
    const float *scale = call->in[1], *var = call->in[4];
    r.out = call->out[0];
    r.shift = call->in[2];
    r.mean = call->in[3];
    for (int64_t c = 0; c < r.n->c; c++) r.a[c] = (float)((double)scale[c] / sqrt((double)var[c] + r.n->epsilon));
    apply_all(&r, &call->device->team);
    return NULL;
}

static xt_status grad_run(const cpu_call *call) {
    norm_run r = start(call);
    const norm *n = r.n;
    const cpu_team *team = &call->device->team;
    const float *scale = call->in[1], *var = call->in[3];
    float *d_scale = call->out[1];
    r.mean = call->in[2];
    r.dy = call->in[4];
    r.out = call->out[0];
    r.sum_dy = call->out[2];
    if (n->inner > 1) {
        team_for(team, n->c, 16384 / (n->outer * n->inner) + 1, grad_sums_by_feature, &r);
    } else {
        team_for(team, part_count(n), 1, sums_by_row, &r);
        join_parts(&r, 0, 1.0, r.sum_dy);
        join_parts(&r, 1, 1.0, r.sum_dev);
    }
    double count = (double)n->outer * (double)n->inner;
    for (int64_t c = 0; c < n->c; c++) {
        double inv = 1.0 / sqrt((double)var[c] + n->epsilon), a = (double)scale[c] * inv;
        d_scale[c] = (float)((double)r.sum_dev[c] * inv);
        r.a[c] = (float)a;
        r.b[c] = (float)(-a * inv * inv * (double)r.sum_dev[c] / count);
        r.shift[c] = (float)(-a * (double)r.sum_dy[c] / count);
    }
    apply_all(&r, team);
    return NULL;
}

static const cpu_kernel training_kernel = {"batch-norm", training_run, NULL, true};
static const cpu_kernel grad_kernel = {"batch-norm-grad", grad_run, NULL, true};
static const cpu_kernel inference_kernel = {"batch-norm-apply", inference_run, NULL, true};

static xt_status lower(cpu_builder *b, const ir_op *op, const cpu_kernel *k, uint64_t in_place, bool *out_done) {
    const ir_type *t = op->in[0]->type;
    int64_t f = ir_get_int(op, IR_A_feature_index, 0);
    const ir_attr *eps = ir_attr_find(op, IR_A_epsilon);
    if (t->dtype != XT_F32 || t->count <= 0) return NULL;
    norm *n = base_calloc(1, sizeof *n);
    if (!n) return status_oom(sizeof *n, "a plan");
    *n = (norm){.outer = 1, .c = t->dims[f], .inner = 1, .epsilon = eps ? eps->v.f : 0};
    for (int64_t i = 0; i < f; i++) n->outer *= t->dims[i];
    for (uint32_t i = (uint32_t)f + 1; i < t->rank; i++) n->inner *= t->dims[i];
    size_t scratch = (size_t)n->c * 4 * sizeof(float);
    if (n->inner == 1) scratch += (size_t)(part_count(n) * 2 * n->c) * sizeof(float);
    const uint64_t each[3] = {in_place, 0, 0};
    *out_done = true;
    cpu_thunk_desc d = {.kernel = k,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = op->n_out,
                        .in_place = each,
                        .scratch_bytes = scratch,
                        .state = n,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}

/* The second pass reads each element right before it writes it, so the operand's (or the gradient's) memory may become
 * the result's. */
CPU_LOWER(batch_norm_training) {
    return lower(b, op, &training_kernel, 1, out_done);
}
CPU_LOWER(batch_norm_grad) {
    return lower(b, op, &grad_kernel, 1 | 16, out_done);
}
CPU_LOWER(batch_norm_inference) {
    return lower(b, op, &inference_kernel, 1, out_done);
}
