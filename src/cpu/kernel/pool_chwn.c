/* Windows over one or two dims with many neighbouring elements behind each position (the batch in [C,H,W,N], features
 * in [N,H,W,C]): every vector is a piece of so many windows at the same place. Gradients of windows that overlap are
 * added in the order of the windows. */
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/window.h"
#include "cpu/vector/chwn.h"

enum { LEAST_RUN = 16, WINDOW_MAX = 64, GRAD_PIECE = 64 /* elements of a run that one task of a gradient takes */ };

typedef struct axis {
    int64_t in, out, size, stride, dil, low;
} axis;
typedef struct chwn_window {
    int64_t planes, run; /* dims before and behind the window's */
    axis y, x;
    fold_op fold;
    bool disjoint; /* windows lie side by side without gaps: each element of the operand is in one */
} chwn_window;

static axis axis_of(const window *w, int i) {
    if (i < 0) return (axis){1, 1, 1, 1, 1, 0};
    return (axis){w->in[i], w->out[i], w->size[i], w->stride[i], w->dil[i], w->low[i]};
}
static bool is_whole(const axis *a) {
    return a->size == a->stride && a->dil == 1 && a->low == 0 && a->in == a->out * a->size;
}

static bool read_chwn(const window *w, chwn_window *out) {
    int first = 0, end = w->n;
    *out = (chwn_window){.planes = 1, .run = 1, .fold = w->fold};
#define UNTOUCHED(i) (w->size[i] == 1 && w->stride[i] == 1 && w->low[i] == 0 && w->in[i] == w->out[i])
    while (first < end && UNTOUCHED(first)) out->planes *= w->in[first++];
    while (end > first && UNTOUCHED(end - 1)) out->run *= w->in[--end];
#undef UNTOUCHED
    if (end - first < 1 || end - first > 2 || out->run < LEAST_RUN) return false;
    out->y = axis_of(w, end - first == 2 ? first : -1);
    out->x = axis_of(w, end - 1);
    out->disjoint = is_whole(&out->y) && is_whole(&out->x);
    return out->y.size * out->x.size <= WINDOW_MAX;
}

typedef struct window_run {
    const chwn_window *w;
    const chwn_ops *ops;
    const float *in, *src;
    float *out;
    float init;
} window_run;

/* Positions inside the operand that the window of output (y, x) covers, in elements of a plane, row by row. */
static int cover(const chwn_window *w, int64_t oy, int64_t ox, int64_t at[WINDOW_MAX]) {
    int n = 0;
    for (int64_t ky = 0; ky < w->y.size; ky++) {
        int64_t y = oy * w->y.stride + ky * w->y.dil - w->y.low;
        if (y < 0 || y >= w->y.in) continue;
        for (int64_t kx = 0; kx < w->x.size; kx++) {
            int64_t x = ox * w->x.stride + kx * w->x.dil - w->x.low;
            if (x >= 0 && x < w->x.in) at[n++] = (y * w->x.in + x) * w->run;
        }
    }
    return n;
}

static void pool(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    const chwn_window *w = r->w;
    int64_t at[WINDOW_MAX];
    const float *rows[WINDOW_MAX];
    for (int64_t t = begin; t < end; t++) {
        const float *in = r->in + t / w->y.out * w->y.in * w->x.in * w->run;
        for (int64_t x = 0; x < w->x.out; x++) {
            int n = cover(w, t % w->y.out, x, at);
            for (int k = 0; k < n; k++) rows[k] = in + at[k];
            r->ops->pool[w->fold](r->out + (t * w->x.out + x) * w->run, rows, n, r->init, w->run);
        }
    }
}

static xt_status pool_run(const cpu_call *c) {
    const chwn_window *w = c->thunk->state;
    window_run r = {.w = w, .ops = chwn_get(), .in = c->in[0], .out = c->out[0], .init = *(const float *)c->in[1]};
    team_for(&c->device->team, w->planes * w->y.out, 32768 / (w->x.out * w->run * w->y.size * w->x.size) + 1, pool, &r);
    return NULL;
}
static const cpu_kernel pool_kernel = {"chwn-pool", pool_run, NULL, true};

/* One output row of one plane, windows disjoint: writes all it covers. */
static void scatter_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    const chwn_window *w = r->w;
    int64_t at[WINDOW_MAX];
    const float *rows[WINDOW_MAX];
    float *to[WINDOW_MAX];
    for (int64_t t = begin; t < end; t++) {
        int64_t plane = t / w->y.out * w->y.in * w->x.in * w->run;
        for (int64_t x = 0; x < w->x.out; x++) {
            int n = cover(w, t % w->y.out, x, at);
            for (int k = 0; k < n; k++) rows[k] = r->in + plane + at[k], to[k] = r->out + plane + at[k];
            r->ops->pool_grad(to, rows, n, r->src + (t * w->x.out + x) * w->run, w->run, false);
        }
    }
}

/* One piece of the run of one plane. */
static void scatter_pieces(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    const chwn_window *w = r->w;
    int64_t at[WINDOW_MAX], pieces = (w->run + GRAD_PIECE - 1) / GRAD_PIECE, area = w->y.in * w->x.in;
    const float *rows[WINDOW_MAX];
    float *to[WINDOW_MAX];
    for (int64_t t = begin; t < end; t++) {
        int64_t p = t / pieces, from = t % pieces * GRAD_PIECE,
                count = w->run - from < GRAD_PIECE ? w->run - from : GRAD_PIECE;
        int64_t plane = p * area * w->run + from;
        for (int64_t i = 0; i < area; i++)
            for (int64_t k = 0; k < count; k++) r->out[plane + i * w->run + k] = r->init;
        for (int64_t y = 0; y < w->y.out; y++)
            for (int64_t x = 0; x < w->x.out; x++) {
                int n = cover(w, y, x, at);
                for (int k = 0; k < n; k++) rows[k] = r->in + plane + at[k], to[k] = r->out + plane + at[k];
                if (n)
                    r->ops->pool_grad(to, rows, n, r->src + ((p * w->y.out + y) * w->x.out + x) * w->run + from, count,
                                      true);
            }
    }
}

static xt_status scatter_run(const cpu_call *c) {
    const chwn_window *w = c->thunk->state;
    window_run r = {
        .w = w, .ops = chwn_get(), .in = c->in[0], .src = c->in[1], .out = c->out[0], .init = *(const float *)c->in[2]};
    if (w->disjoint && r.init == 0) {
        team_for(&c->device->team, w->planes * w->y.out, 32768 / (w->x.in * w->y.size * w->run) + 1, scatter_rows, &r);
        return NULL;
    }
    int64_t pieces = (w->run + GRAD_PIECE - 1) / GRAD_PIECE;
    team_for(&c->device->team, w->planes * pieces, 32768 / (w->y.in * w->x.in * GRAD_PIECE) + 1, scatter_pieces, &r);
    return NULL;
}
static const cpu_kernel scatter_kernel = {"chwn-pool-grad", scatter_run, NULL, true};

static xt_status emit(cpu_builder *b, const ir_op *op, const window *w, const cpu_kernel *k, size_t n_in,
                      bool *out_done) {
    chwn_window l;
    if (!read_chwn(w, &l)) return NULL;
    chwn_window *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = l;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = k, .op = op, .n_in = n_in, .n_out = 1, .state = s, .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}

xt_status cpu_lower_chwn_window(cpu_builder *b, const ir_op *op, const window *w, bool *out_done) {
    return emit(b, op, w, &pool_kernel, 2, out_done);
}
xt_status cpu_lower_chwn_scatter(cpu_builder *b, const ir_op *op, const window *w, bool *out_done) {
    return emit(b, op, w, &scatter_kernel, 3, out_done);
}
