/* Windows over f32: reduce_window by max, min, sum or product, and max pooling's gradient (select_and_scatter by GE and
 * add). Rows of the result are made one by one: the window's positions in the outer dims pick source rows, the
 * innermost dim is a strided loop. */
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/window.h"

static void ints_or(const ir_op *op, ir_attr_key k, int n, int64_t fallback, int64_t *out) {
    size_t have;
    const int64_t *v = ir_get_ints(op, k, &have);
    for (int i = 0; i < n; i++) out[i] = v && (size_t)i < have ? v[i] : fallback;
}

bool window_read(const ir_op *op, const ir_type *in, const ir_type *out, window *w) {
    int64_t base[VIEW_MAX];
    size_t np;
    w->n = (int)in->rank;
    if (in->rank == 0 || in->rank > VIEW_MAX || in->dtype != XT_F32 || in->count <= 0 || out->count <= 0) return false;
    ints_or(op, IR_A_window_dimensions, w->n, 1, w->size);
    ints_or(op, IR_A_window_strides, w->n, 1, w->stride);
    ints_or(op, IR_A_window_dilations, w->n, 1, w->dil);
    ints_or(op, IR_A_base_dilations, w->n, 1, base);
    const int64_t *pad = ir_get_ints(op, IR_A_padding, &np);
    w->pair = w->n >= 2;
    for (int i = 0; i < w->n; i++) {
        bool last_two = i >= w->n - 2;
        w->in[i] = in->dims[i];
        w->out[i] = out->dims[i];
        w->low[i] = pad ? pad[2 * i] : 0;
        if (base[i] != 1) return false;
        w->pair = w->pair && w->low[i] == 0 && (!pad || pad[2 * i + 1] == 0) && w->dil[i] == 1 &&
                  w->size[i] == (last_two ? 2 : 1) && w->stride[i] == (last_two ? 2 : 1);
    }
    return true;
}

typedef struct window_run {
    const window *w;
    const simd_ops *simd;
    const float *in, *src;
    float *out;
    float init;
    int planes; /* select_and_scatter: leading dims with windows of one */
} window_run;

/* --- reduce_window --- */
/* acc[o] = fold(acc[o], row[o * stride + shift]) for the outputs whose position is inside the row. */
static void fold_shifted(const window_run *r, float *acc, const float *row, int64_t shift) {
    const window *w = r->w;
    int k = w->n - 1;
    int64_t s = w->stride[k], first = shift < 0 ? (-shift + s - 1) / s : 0,
            last = w->in[k] - 1 - shift < 0 ? -1 : (w->in[k] - 1 - shift) / s;
    if (last >= w->out[k]) last = w->out[k] - 1;
    if (first > last) return;
    if (s == 1) {
        r->simd->fold_rows[w->fold](acc + first, row + first + shift, last - first + 1);
        return;
    }
    r->simd->fold_steps[w->fold](acc + first, row + first * s + shift, s, last - first + 1);
}

/* A source row at all places of the window in it. */
static void fold_along(const window_run *r, float *acc, const float *row) {
    const window *w = r->w;
    int k = w->n - 1;
    for (int64_t j = 0; j < w->size[k]; j++) fold_shifted(r, acc, row, j * w->dil[k] - w->low[k]);
}

/* Extremes have no order: the rows under a window fold to one, element by element, before steps are taken along it. */
enum { DOWN_MOST = 2048 };
static bool folds_down(const window *w) {
    int64_t rows = 1;
    for (int i = 0; i < w->n - 1; i++) rows *= w->size[i];
    return (w->fold == FOLD_MAX || w->fold == FOLD_MIN) && rows > 1 && w->size[w->n - 1] > 1 &&
           w->in[w->n - 1] <= DOWN_MOST;
}
static void fold_down(const window_run *r, float *whole, const float *row, bool *none) {
    int64_t n = r->w->in[r->w->n - 1];
    if (*none)
        memcpy(whole, row, (size_t)n * sizeof *whole);
    else
        r->simd->fold_rows[r->w->fold](whole, row, n);
    *none = false;
}

static void window_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    const window *w = r->w;
    int outer = w->n - 1;
    int64_t at[VIEW_MAX], k[VIEW_MAX] = {0};
    float whole[DOWN_MOST];
    bool down = folds_down(w);
    for (int64_t t = begin; t < end; t++) {
        float *acc = r->out + t * w->out[outer];
        int64_t rest = t;
        for (int i = outer - 1; i >= 0; i--) {
            at[i] = rest % w->out[i];
            rest /= w->out[i];
        }
        for (int64_t i = 0; i < w->out[outer]; i++) acc[i] = r->init;
        bool none = true; /* of the rows under the window has been met */
        for (;;) {
            int64_t row = 0;
            bool inside = true;
            for (int i = 0; i < outer; i++) {
                int64_t p = at[i] * w->stride[i] + k[i] * w->dil[i] - w->low[i];
                inside = inside && p >= 0 && p < w->in[i];
                row = row * w->in[i] + p;
            }
            if (inside && down)
                fold_down(r, whole, r->in + row * w->in[outer], &none);
            else if (inside)
                fold_along(r, acc, r->in + row * w->in[outer]);
            int i = outer - 1;
            for (; i >= 0; i--) {
                if (++k[i] < w->size[i]) break;
                k[i] = 0;
            }
            if (i < 0) break;
        }
        if (down && !none) fold_along(r, acc, whole);
    }
}

/* Pairs of rows lie one after the other through the whole array when both dims are even. */
static bool has_even_pairs(const window *w) {
    return w->pair && w->in[w->n - 1] % 2 == 0 && w->in[w->n - 2] % 2 == 0;
}
static int64_t count_pairs(const window *w) {
    int64_t pairs = 1;
    for (int i = 0; i < w->n - 1; i++) pairs *= w->out[i];
    return pairs;
}

static void pool_pairs(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    int64_t width = r->w->in[r->w->n - 1];
    r->simd->pool2(r->out + begin * width / 2, r->in + begin * width * 2, width, end - begin);
}

static xt_status reduce_window_run(const cpu_call *c) {
    const window *w = c->thunk->state;
    window_run r = {w, simd_get(), c->in[0], NULL, c->out[0], *(const float *)c->in[1], 0};
    if (has_even_pairs(w) && w->fold == FOLD_MAX && r.init == cpu_fold_neutral(FOLD_MAX)) {
        team_for(&c->device->team, count_pairs(w), 32768 / w->in[w->n - 1] + 1, pool_pairs, &r);
        return NULL;
    }
    int64_t n_rows = 1, cost = w->out[w->n - 1];
    for (int i = 0; i < w->n - 1; i++) n_rows *= w->out[i];
    for (int i = 0; i < w->n; i++) cost *= w->size[i];
    team_for(&c->device->team, n_rows, 16384 / (cost + 1) + 1, window_rows, &r);
    return NULL;
}
static const cpu_kernel reduce_window_kernel = {"reduce-window", reduce_window_run, NULL, true};

/* Padding reads as the initial value, which a sum or a product folds in once more for each place there; the loops here
 * leave padding out. */
static bool padding_counts(const ir_op *op, fold_op fold) {
    const ir_literal *init =
        op->in[1]->def && op->in[1]->def->code == OP_constant ? ir_get_literal(op->in[1]->def) : NULL;
    size_t np;
    const int64_t *pad = ir_get_ints(op, IR_A_padding, &np);
    bool padded = false;
    for (size_t i = 0; pad && i < np; i++) padded = padded || pad[i] > 0;
    return padded && (fold == FOLD_SUM || fold == FOLD_PROD) &&
           !(init && *(const float *)init->data == cpu_fold_neutral(fold));
}

CPU_LOWER(reduce_window) {
    window w = {0};
    if (op->n_in != 2 || op->out[0].type->dtype != XT_F32 || !window_read(op, op->in[0]->type, op->out[0].type, &w) ||
        !cpu_fold_of(&op->regions[0], &w.fold) || padding_counts(op, w.fold))
        return NULL;
    XT_TRY(cpu_lower_chwn_window(b, op, &w, out_done));
    if (*out_done) return NULL;
    window *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = w;
    *out_done = true;
    cpu_thunk_desc d = {
        .kernel = &reduce_window_kernel, .op = op, .n_in = 2, .n_out = 1, .state = s, .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}

/* --- select_and_scatter --- */
static void scatter_pairs(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    int64_t width = r->w->in[r->w->n - 1];
    r->simd->pool2_grad(r->out + begin * width * 2, r->in + begin * width * 2, r->src + begin * width / 2, width,
                        end - begin);
}

/* The place in the plane that the window at `at` selects, or -1 when it lies in the padding altogether. */
static int64_t select_in(const window_run *r, const float *in, const int64_t *at) {
    const window *w = r->w;
    int64_t k[VIEW_MAX] = {0}, best = -1;
    for (;;) {
        int64_t p = 0;
        bool inside = true;
        for (int i = r->planes; i < w->n; i++) {
            int64_t q = at[i] * w->stride[i] + k[i] - w->low[i];
            inside = inside && q >= 0 && q < w->in[i];
            p = p * w->in[i] + q;
        }
        if (inside && (best < 0 || !(in[best] >= in[p]))) best = p;
        int i = w->n - 1;
        for (; i >= r->planes; i--) {
            if (++k[i] < w->size[i]) break;
            k[i] = 0;
        }
        if (i < r->planes) return best;
    }
}

/* One plane of rows and columns, the window in both: no odometer, and padding cuts the window once per output. */
static void scatter_plane(const window_run *r, const float *in, const float *src, float *out) {
    const window *w = r->w;
    int y = w->n - 2, x = w->n - 1;
    int64_t rows = w->in[y], cols = w->in[x];
    for (int64_t i = 0; i < rows * cols; i++) out[i] = r->init;
    for (int64_t oy = 0; oy < w->out[y]; oy++) {
        int64_t y0 = oy * w->stride[y] - w->low[y], y1 = y0 + w->size[y];
        if (y0 < 0) y0 = 0;
        if (y1 > rows) y1 = rows;
        for (int64_t ox = 0; ox < w->out[x]; ox++) {
            int64_t x0 = ox * w->stride[x] - w->low[x], x1 = x0 + w->size[x];
            if (x0 < 0) x0 = 0;
            if (x1 > cols) x1 = cols;
            if (y0 >= y1 || x0 >= x1) continue;
            int64_t best = y0 * cols + x0;
            float most = in[best];
            for (int64_t j = y0; j < y1; j++)
                for (int64_t k = x0; k < x1; k++) {
                    float v = in[j * cols + k];
                    bool keep = most >= v;
                    best = keep ? best : j * cols + k;
                    most = keep ? most : v;
                }
            out[best] += src[oy * w->out[x] + ox];
        }
    }
}

static void scatter_planes(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const window_run *r = ctx;
    const window *w = r->w;
    int64_t in_size = 1, out_size = 1;
    for (int i = r->planes; i < w->n; i++) in_size *= w->in[i], out_size *= w->out[i];
    for (int64_t t = begin; t < end; t++) {
        const float *in = r->in + t * in_size, *src = r->src + t * out_size;
        float *out = r->out + t * in_size;
        if (r->planes == w->n - 2) {
            scatter_plane(r, in, src, out);
            continue;
        }
        for (int64_t i = 0; i < in_size; i++) out[i] = r->init;
        int64_t at[VIEW_MAX] = {0};
        for (int64_t o = 0; o < out_size; o++) {
            int64_t p = select_in(r, in, at);
            if (p >= 0) out[p] += src[o];
            for (int i = w->n - 1; i >= r->planes; i--) {
                if (++at[i] < w->out[i]) break;
                at[i] = 0;
            }
        }
    }
}

static int plane_dims(const window *w) {
    int p = 0;
    while (p < w->n && w->size[p] == 1 && w->stride[p] == 1 && w->low[p] == 0 && w->in[p] == w->out[p]) p++;
    return p;
}

static xt_status select_and_scatter_run(const cpu_call *c) {
    const window *w = c->thunk->state;
    window_run r = {w, simd_get(), c->in[0], c->in[1], c->out[0], *(const float *)c->in[2], plane_dims(w)};
    if (has_even_pairs(w) && r.init == 0.0f) {
        team_for(&c->device->team, count_pairs(w), 16384 / w->in[w->n - 1] + 1, scatter_pairs, &r);
        return NULL;
    }
    int64_t planes = 1, cost = 1;
    for (int i = 0; i < r.planes; i++) planes *= w->in[i];
    for (int i = r.planes; i < w->n; i++) cost *= w->in[i];
    team_for(&c->device->team, planes, 16384 / (cost + 1) + 1, scatter_planes, &r);
    return NULL;
}
static const cpu_kernel select_and_scatter_kernel = {"select-and-scatter", select_and_scatter_run, NULL, true};

/* compare GE of the two arguments, in this order. */
CPU_LOWER(select_and_scatter) {
    window w = {0};
    if (!window_read(op, op->in[0]->type, op->in[1]->type, &w) || !cpu_selects_largest(op)) return NULL;
    XT_TRY(cpu_lower_chwn_scatter(b, op, &w, out_done));
    if (*out_done) return NULL;
    window *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = w;
    *out_done = true;
    cpu_thunk_desc d = {
        .kernel = &select_and_scatter_kernel, .op = op, .n_in = 3, .n_out = 1, .state = s, .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
