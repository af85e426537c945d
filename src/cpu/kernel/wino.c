/* 3x3 convolutions by Winograd's F(2x2,3x3): forward, gradient of the image (the same with the kernel turned around)
 * and, of bf16, gradient of the kernel. oneDNN has Winograd's algorithm for f32 only, as F(4x4,3x3), which is as exact
 * as a direct convolution in gradients of kernels alone (conv_form.c).
 *
 * Forward: the kernel's points are made first, by all threads; then each task takes a run of tiles through all
 * three steps in memory of its own thread, sized to its cache. Kernel gradient: runs of tiles one after the
 * other, each transformed and then multiplied by all threads; sums go over runs in order. Neither depends on the
 * number of threads. */
#include "cpu/kernel/wino.h"
#include "cpu/kernel/kernel.h"

#include "cpu/vector/wino.h"

typedef struct wino_state {
    wino_tiles tiles;
    wino_image in, out; /* out: of the gradient of the kernel, what comes from above */
    const wino_ops *ops;
    int64_t total, run; /* tiles; tiles handled at once */
    int64_t columns; /* features out of a product */
    int64_t out_step, in_step, tap_step[2]; /* of the kernel in memory */
    bool flipped;
    size_t at[3]; /* parts of scratch */
    conv_direct *direct;
} wino_state;

static void wino_free(void *state) {
    wino_state *s = state;
    conv_direct_free(s->direct);
    base_free(s);
}

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
/* Runs of about equal size, an even number of them where there are several: most teams are. */
static int64_t cut(int64_t total, int64_t most, int64_t multiple) {
    int64_t runs = divide_up(total, most);
    if (runs > 1) runs += runs & 1;
    return divide_up(divide_up(total, runs), multiple) * multiple;
}

/* The 16 points of a tile lie so far apart; not by powers of two, which all fall into the same few lines of a cache. */
enum { SKEW_BYTES = 320 };
static int64_t v_step(const wino_state *s) {
    return s->run * s->in.c + SKEW_BYTES / (int64_t)s->ops->elem;
}
static int64_t u_step(const wino_state *s) { /* kernel gradient */
    return s->run * s->out.c + SKEW_BYTES / 2;
}
static int64_t k_step(const wino_state *s) { /* forward: of the kernel, for the features out of a product */
    return s->in.c * s->columns + SKEW_BYTES / (int64_t)s->ops->elem;
}
static int64_t m_step(const wino_state *s, bool weights) {
    return (weights ? s->in.c * s->out.c : s->run * s->columns) + SKEW_BYTES / 4;
}

typedef struct wino_call {
    const wino_state *s;
    const wino_ops *ops;
    const char *image, *from_above, *w;
    char *out, *u, *v;
    float *m;
    int64_t begin; /* kernel gradient: first tile of the run */
    _Atomic bool spoilt; /* forward: Inf or NaN came out */
} wino_call;

/* --- forward --- */
/* u: [out / columns][point][in / pack][columns][pack]; v, a thread's: [point][tile][in]; m, a thread's:
 * [point][tile][columns] */
static void kernels(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wino_call *c = ctx;
    const wino_state *s = c->s;
    const int64_t blocks = s->in.c / 16, elem = (int64_t)s->ops->elem;
    for (int64_t t = begin; t < end; t++) {
        int64_t o = t / blocks, i = t % blocks * 16;
        c->ops->kernel(c->w + (o * s->columns * s->out_step + i * s->in_step) * elem, s->out_step, s->in_step,
                       s->tap_step, s->flipped, s->columns, k_step(s),
                       c->u + (o * WINO_POINTS * k_step(s) + i * s->columns) * elem);
    }
}

static void forward(void *ctx, int64_t begin, int64_t end, int thread) {
    wino_call *c = ctx;
    const wino_state *s = c->s;
    const int64_t elem = (int64_t)s->ops->elem, pack = s->ops->pack, m_point = m_step(s, false),
                  v_point = v_step(s) * elem, k_point = k_step(s) * elem;
    char *v = c->v + thread * WINO_POINTS * v_point;
    float *m = c->m + thread * WINO_POINTS * m_point;
    for (int64_t t = begin; t < end; t++) {
        int64_t from = t * s->run, to = from + s->run < s->total ? from + s->run : s->total;
        c->ops->input(&s->tiles, &s->in, c->image, from, to, false, v_step(s), v);
        for (int64_t o = 0; o < s->out.c / s->columns; o++) {
            for (int64_t p = 0; p < WINO_POINTS; p++)
                c->ops->product(v + p * v_point, s->in.c, pack, c->u + (o * WINO_POINTS + p) * k_point,
                                pack * s->columns, m + p * m_point, s->columns, to - from, s->in.c / pack, false);
            if (c->ops->output(&s->tiles, &s->out, m, m_point, from, to, o * s->columns, s->columns, c->out))
                c->spoilt = true;
        }
    }
}

static xt_status forward_run(const cpu_call *call) {
    const wino_state *s = call->thunk->state;
    char *scratch = call->scratch;
    wino_call c = {.s = s,
                   .ops = s->ops,
                   .image = call->in[0],
                   .w = call->in[1],
                   .out = call->out[0],
                   .u = scratch + s->at[0],
                   .v = scratch + s->at[1],
                   .m = (float *)(void *)(scratch + s->at[2])};
    team_for(&call->device->team, s->out.c / s->columns * (s->in.c / 16), 4, kernels, &c);
    team_for(&call->device->team, divide_up(s->total, s->run), 1, forward, &c);
    return c.spoilt ? conv_direct_run(s->direct, call) : NULL;
}

/* --- gradient of the kernel --- */
enum { TILES_A_TASK = 32 };
/* v: [point][tile / 2][in][2]; u: [point][tile / 2][out][2]; m: [point][out / 64][in][64]; points lie steps apart */
static void transforms(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wino_call *c = ctx;
    const wino_state *s = c->s;
    const int64_t elem = (int64_t)s->ops->elem;
    for (int64_t t = begin; t < end; t++) {
        int64_t at = t / 2 * TILES_A_TASK, to = at + TILES_A_TASK < s->run ? at + TILES_A_TASK : s->run;
        if (t % 2)
            c->ops->gradient(&s->tiles, &s->out, c->from_above, c->begin + at, c->begin + to, u_step(s),
                             c->u + at * s->out.c * elem);
        else
            c->ops->input(&s->tiles, &s->in, c->image, c->begin + at, c->begin + to, true, v_step(s),
                          c->v + at * s->in.c * elem);
    }
}

static void products(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wino_call *c = ctx;
    const wino_state *s = c->s;
    const int64_t columns = s->out.c / WINO_COLUMNS, elem = (int64_t)s->ops->elem;
    for (int64_t t = begin; t < end; t++) {
        int64_t p = t / columns, o = t % columns;
        c->ops->product(c->v + p * v_step(s) * elem, 2, 2 * s->in.c,
                        c->u + (p * u_step(s) + o * 2 * WINO_COLUMNS) * elem, 2 * s->out.c,
                        c->m + p * m_step(s, true) + o * s->in.c * WINO_COLUMNS, WINO_COLUMNS, s->in.c, s->run / 2,
                        c->begin > 0);
    }
}

static void kernel_gradients(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wino_call *c = ctx;
    const wino_state *s = c->s;
    for (int64_t t = begin; t < end; t++) {
        int64_t o = t / s->in.c * WINO_COLUMNS, i = t % s->in.c;
        c->ops->kernel_gradient(c->m + t * WINO_COLUMNS, m_step(s, true), s->out_step,
                                c->out + (o * s->out_step + i * s->in_step) * (int64_t)s->ops->elem);
    }
}

static xt_status weights_run(const cpu_call *call) {
    const wino_state *s = call->thunk->state;
    const cpu_team *team = &call->device->team;
    char *scratch = call->scratch;
    wino_call c = {.s = s,
                   .ops = s->ops,
                   .image = call->in[0],
                   .from_above = call->in[1],
                   .out = call->out[0],
                   .u = scratch + s->at[0],
                   .v = scratch + s->at[1],
                   .m = (float *)(void *)(scratch + s->at[2])};
    for (c.begin = 0; c.begin < s->total; c.begin += s->run) {
        team_for(team, 2 * divide_up(s->run, TILES_A_TASK), 1, transforms, &c);
        team_for(team, WINO_POINTS * (s->out.c / WINO_COLUMNS), 1, products, &c);
    }
    team_for(team, s->out.c / WINO_COLUMNS * s->in.c, 16, kernel_gradients, &c);
    return conv_direct_unless_finite(s->direct, call);
}

static const cpu_kernel forward_kernel = {"winograd-conv", forward_run, wino_free, .onednn = true};
static const cpu_kernel data_kernel = {"winograd-conv-data", forward_run, wino_free, .onednn = true};
static const cpu_kernel weights_kernel = {"winograd-conv-weights", weights_run, wino_free, .onednn = true};

static size_t part(size_t *scratch, int64_t elements, size_t elem) {
    size_t at = *scratch;
    *scratch += ((size_t)elements * elem + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

xt_status cpu_build_wino(cpu_builder *b, const wino_problem *p, const ir_op *op, const ir_value *const in[2]) {
    wino_state *s = base_calloc(1, sizeof *s);
    if (!s) {
        conv_direct_free(p->direct);
        return status_oom(sizeof *s, "a plan");
    }
    s->direct = p->direct;
    int64_t threads = cpu_build_threads(b), c_in = p->in.c, c_out = p->out.c;
    size_t scratch = 0;
    bool weights = p->form == WINO_WEIGHTS;
    s->ops = p->half ? wino_get() : wino_get_f32();
    for (s->columns = WINO_COLUMNS; p->out.c % s->columns;) s->columns /= 2;
    s->in = (wino_image){p->in.c, p->in.h, p->in.w, p->y0, p->x0};
    s->out = (wino_image){p->out.c, p->out.h, p->out.w, 0, 0};
    s->tiles = (wino_tiles){p->n, divide_up(p->out.h, 2), divide_up(p->out.w, 2)};
    s->total = p->n * s->tiles.rows * s->tiles.cols;
    s->flipped = p->form == WINO_DATA;
    s->out_step = p->out_step;
    s->in_step = p->in_step;
    memcpy(s->tap_step, p->tap_step, sizeof s->tap_step);
    if (weights) {
        int64_t most = ((int64_t)4 << 20) / (WINO_POINTS * 2 * (c_in + c_out));
        s->run = cut(s->total, most > 64 ? most : 64, 2);
        s->at[0] = part(&scratch, WINO_POINTS * u_step(s), 2);
        s->at[1] = part(&scratch, WINO_POINTS * v_step(s), 2);
        s->at[2] = part(&scratch, WINO_POINTS * m_step(s, true), 4);
    } else {
        const int64_t elem = (int64_t)s->ops->elem;
        int64_t most = ((int64_t)512 << 10) / (WINO_POINTS * elem * c_in);
        s->run = cut(s->total, most < 48 ? 48 : most > 256 ? 256 : most, 6);
        s->at[0] = part(&scratch, c_out / s->columns * WINO_POINTS * k_step(s), s->ops->elem);
        s->at[1] = part(&scratch, threads * WINO_POINTS * v_step(s), s->ops->elem);
        s->at[2] = part(&scratch, threads * WINO_POINTS * m_step(s, false), 4);
    }
    cpu_thunk_desc d = {.kernel = weights                ? &weights_kernel
                                  : p->form == WINO_DATA ? &data_kernel
                                                         : &forward_kernel,
                        .op = op,
                        .in = in,
                        .n_in = 2,
                        .n_out = 1,
                        .in_blocked = weights ? 3 : 1,
                        .out_blocked = !weights,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
