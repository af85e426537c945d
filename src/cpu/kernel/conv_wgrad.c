/* The gradient of a convolution's kernel without a transform: for each tap the sum over pixels of products of what the
 * tap reads and what comes from above, a product of matrices [features in x pixels] x [pixels x features out]. Where
 * windows have strides or one tap there is no Winograd, and oneDNN takes up to half as long again because it makes sums
 * for each thread and adds them up.
 *
 * Pixels are taken in runs: their pairs are laid out for every tap, then all products of the run add to sums that stay
 * for the whole call, run after run. Tasks own their sums, so results do not depend on the number of threads. */
#include "cpu/kernel/conv_wgrad.h"
#include "cpu/kernel/kernel.h"

#include "cpu/vector/move.h"
#include "cpu/vector/wino.h"

enum {
    ROWS = 64 /* features in of a task */,
    PIXELS_A_TASK = 32,
    SKEW = 160 /* elements: taps do not lie powers of two apart */
};

typedef struct conv_wgrad_state {
    conv_wgrad_problem p;
    int64_t taps, total, run; /* pixels; pixels of a run, an even number */
    size_t at[3]; /* parts of scratch: what taps read, what comes from above, sums */
} conv_wgrad_state;

typedef struct conv_wgrad_call {
    const conv_wgrad_state *s;
    const wino_ops *ops;
    const uint16_t *image, *from_above;
    uint16_t *out, *read, *above; /* read: [tap][pixel / 2][in][2]; above: [pixel / 2][out][2] */
    float *sums; /* [tap][out / 64][in][64] */
    int64_t begin; /* first pixel of the run */
} conv_wgrad_call;

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
static int64_t tap_step(const conv_wgrad_state *s) {
    return s->run * s->p.in[0] + SKEW;
}

/* Task: some pixels of one tap, or (the last) of what comes from above. */
static void lay_out(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const conv_wgrad_call *c = ctx;
    const conv_wgrad_state *s = c->s;
    const conv_wgrad_problem *p = &s->p;
    static const int64_t dense[2] = {1, 1};
    const wino_tiles positions = {p->n, p->out[1], p->out[2]};
    for (int64_t t = begin; t < end; t++) {
        int64_t tap = t % (s->taps + 1), at = t / (s->taps + 1) * PIXELS_A_TASK,
                to = at + PIXELS_A_TASK < s->run ? at + PIXELS_A_TASK : s->run;
        wino_image i = {p->in[0], p->in[1], p->in[2], tap / p->size[1] - p->low[0], tap % p->size[1] - p->low[1]},
                   o = {p->out[0], p->out[1], p->out[2], 0, 0};
        if (tap == s->taps)
            c->ops->pixels(&positions, &o, dense, c->from_above, c->begin + at, c->begin + to,
                           c->above + at * p->out[0]);
        else
            c->ops->pixels(&positions, &i, p->stride, c->image, c->begin + at, c->begin + to,
                           c->read + tap * tap_step(s) + at * p->in[0]);
    }
}

static void products(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const conv_wgrad_call *c = ctx;
    const conv_wgrad_state *s = c->s;
    int64_t features = s->p.in[0], blocks = divide_up(features, ROWS), columns = s->p.out[0] / WINO_COLUMNS;
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t % blocks * ROWS
        , o = t / blocks % columns, tap = t / blocks / columns;
        c->ops->product(c->read + tap * tap_step(s) + 2 * i, 2, 2 * features, c->above + o * 2 * WINO_COLUMNS,
                        2 * s->p.out[0], c->sums + ((tap * columns + o) * features + i) * WINO_COLUMNS, WINO_COLUMNS,
                        i + ROWS < features ? ROWS : features - i, s->run / 2, c->begin > 0);
    }
}

/* Features in [begin, end) of 64 features out each; 16 of these at a time, whose kernels lie far apart and all fall
 * into a few sets of the first-level cache. */
static void finish(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const conv_wgrad_call *c = ctx;
    const conv_wgrad_state *s = c->s;
    const conv_wgrad_problem *p = &s->p;
    int64_t columns = p->out[0] / WINO_COLUMNS;
    for (int64_t f = 0; f < WINO_COLUMNS; f += 16)
        for (int64_t t = begin; t < end; t++)
            for (int64_t tap = 0; tap < s->taps; tap++)
                c->ops->spread(c->sums + (tap * columns * p->in[0] + t) * WINO_COLUMNS + f, p->w_step[0],
                               c->out + (t / p->in[0] * WINO_COLUMNS + f) * p->w_step[0] + t % p->in[0] * p->w_step[1] +
                                   tap / p->size[1] * p->w_step[2] + tap % p->size[1] * p->w_step[3]);
}

static xt_status conv_wgrad_run(const cpu_call *call) {
    const conv_wgrad_state *s = call->thunk->state;
    const cpu_team *team = &call->device->team;
    char *scratch = call->scratch;
    int64_t columns = s->p.out[0] / WINO_COLUMNS;
    conv_wgrad_call c = {.s = s,
                         .ops = wino_get(),
                         .image = call->in[0],
                         .from_above = call->in[1],
                         .out = (uint16_t *)call->out[0] + s->p.w_at,
                         .read = (uint16_t *)(void *)(scratch + s->at[0]),
                         .above = (uint16_t *)(void *)(scratch + s->at[1]),
                         .sums = (float *)(void *)(scratch + s->at[2])};
    cpu_clear_run(team, call->out[0], s->p.zeros);
    for (c.begin = 0; c.begin < s->total; c.begin += s->run) {
        team_for(team, (s->taps + 1) * divide_up(s->run, PIXELS_A_TASK), 1, lay_out, &c);
        team_for(team, s->taps * columns * divide_up(s->p.in[0], ROWS), 1, products, &c);
    }
    team_for(team, columns * s->p.in[0], 16, finish, &c);
    return NULL;
}
static const cpu_kernel conv_wgrad_kernel = {"gemm-conv-weights", conv_wgrad_run, NULL, false};

static size_t part(size_t *scratch, int64_t elements, size_t elem) {
    size_t at = *scratch;
    *scratch += ((size_t)elements * elem + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

xt_status cpu_build_conv_wgrad(cpu_builder *b, const conv_wgrad_problem *p, const ir_op *op,
                               const ir_value *const in[2]) {
    conv_wgrad_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->p = *p;
    s->taps = p->size[0] * p->size[1];
    s->total = p->n * p->out[1] * p->out[2];
    int64_t most = ((int64_t)4 << 20) / (2 * (s->taps * p->in[0] + p->out[0]));
    int64_t runs = divide_up(s->total, most > 64 ? most : 64);
    s->run = divide_up(divide_up(s->total, runs), 2) * 2;
    size_t scratch = 0;
    s->at[0] = part(&scratch, s->taps * tap_step(s), 2);
    s->at[1] = part(&scratch, s->run * p->out[0], 2);
    s->at[2] = part(&scratch, s->taps * p->in[0] * p->out[0], 4);
    cpu_thunk_desc d = {.kernel = &conv_wgrad_kernel,
                        .op = op,
                        .in = in,
                        .n_in = 2,
                        .n_out = 1,
                        .in_blocked = 3,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
