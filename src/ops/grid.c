/* Sampling images and volumes at computed places (Jaderberg et al. 2015, spatial transformers): x [N,C,H,W], grid
 * [N,P,Q,2] of (x, y) from -1 to 1, or x [N,C,D,H,W], grid [N,P,Q,R,3] of (x, y, z). Every pixel that a place touches
 * is gathered and weighted; gradients reach the image by way of the gather and the grid by way of the weights. */
#include <math.h>

#include "ops/expr.h"

enum { SPATIAL = 3, TAPS = 4 };

typedef struct sampler {
    ir_builder *b;
    ir_value *x; /* [N,spatial,C] */
    int n; /* how many spatial dims */
    int64_t channels, size[SPATIAL];
    const ir_type *places; /* [N,P,Q] or [N,P,Q,R] */
    xt_grid_opts o;
} sampler;

/* The pixels along one dim that a place touches, and how much each counts. */
typedef struct taps {
    int n;
    ir_value *at[TAPS], *weight[TAPS]; /* whole numbers as floats; no weight: 1 */
} taps;

/* -1 .. 1 as positions of pixels. */
static ir_value *to_pixels(const sampler *s, ir_value *at, int64_t size) {
    ir_builder *b = s->b;
    if (s->o.align_corners) return ex_times(b, ex_plus(b, at, 1), (double)(size - 1) / 2);
    return ex_over(b, ex_plus(b, ex_times(b, ex_plus(b, at, 1), (double)size), -1), 2);
}
/* A place outside is moved to the edge, and has no slope there. */
static ir_value *to_edge(const sampler *s, ir_value *at, int64_t size) {
    ir_builder *b = s->b;
    ir_value *low = ex_is(b, at, IR_LE, 0), *high = ex_is(b, at, IR_GE, (double)(size - 1));
    return ex_keep(b, ir_not(b, low), ex_keep(b, ir_not(b, high), at, (double)(size - 1)), 0);
}
/* Mirrors at `low` and `low + span`: how far behind the first one, and every second picture is turned round. */
static ir_value *reflected(const sampler *s, ir_value *at, int64_t size) {
    ir_builder *b = s->b;
    double low = s->o.align_corners ? 0 : -0.5, span = (double)(s->o.align_corners ? size - 1 : size);
    if (span == 0) return ex_num(b, at, 0);
    ir_value *far = ir_abs(b, ex_plus(b, at, -low)), *whole = ex_detach(b, ir_floor(b, ex_over(b, far, span)));
    ir_value *rest = ir_subtract(b, far, ex_times(b, whole, span));
    ir_value *turned = ex_is(b, ir_remainder(b, whole, ex_num(b, whole, 2)), IR_EQ, 1);
    return ex_plus(b, ex_pick(b, turned, ir_subtract(b, ex_num(b, rest, span), rest), rest), low);
}
static ir_value *inside(const sampler *s, ir_value *at, int64_t size) {
    if (s->o.padding == XT_GRID_ZEROS) return at;
    return to_edge(s, s->o.padding == XT_GRID_REFLECTION ? reflected(s, at, size) : at, size);
}

/* The pixels at whole positions, one a dim, zero where they are outside: [places,C]. */
static ir_value *pixels(const sampler *s, ir_value *const at[SPATIAL]) {
    ir_builder *b = s->b;
    ir_value *there = NULL, *index[SPATIAL + 1];
    int64_t dims[SPATIAL + 2], sizes[SPATIAL + 2], axes[SPATIAL + 1], offset = s->n + 1;
    for (int i = 0; i < s->n; i++) {
        ir_value *in = ir_and(b, ex_is(b, at[i], IR_GE, 0), ex_is(b, at[i], IR_LT, (double)s->size[i]));
        there = there ? ir_and(b, there, in) : in;
    }
    memcpy(dims, s->places->dims, (size_t)(s->n + 1) * sizeof *dims);
    dims[s->n + 1] = 1;
    for (int i = 0; i <= s->n; i++) {
        sizes[i] = 1, axes[i] = i;
        ir_value *row = i ? ir_convert(b, ex_keep(b, there, at[i - 1], 0), XT_I32)
                          : ir_iota(b, ir_with_dtype(s->places, XT_I32), 0);
        index[i] = row ? ir_reshape(b, row, (size_t)s->n + 2, dims) : NULL;
        if (!index[i]) return NULL;
    }
    sizes[s->n + 1] = s->channels;
    ir_gather_dims d = {.n_offset = 1,
                        .offset = &offset,
                        .n_collapsed = (size_t)s->n + 1,
                        .collapsed = axes,
                        .n_index_map = (size_t)s->n + 1,
                        .index_map = axes,
                        .index_vector_dim = s->n + 1};
    ir_value *v = ops_gather(b, s->x, ir_concatenate(b, (size_t)s->n + 1, index, s->n + 1), &d, sizes);
    return v ? ex_keep(b, ops_spread(b, there, v->type, s->n + 1), v, 0) : NULL;
}

static taps linear(const sampler *s, ir_value *at) {
    ir_builder *b = s->b;
    ir_value *first = ir_floor(b, at), *t = ir_subtract(b, at, first);
    return (taps){2, {first, ex_plus(b, first, 1)}, {ir_subtract(b, ex_num(b, t, 1), t), t}};
}

/* Keys' convolution kernel (1981) with a = -3/4. Places may lie outside, their pixels are moved inside one by one. */
static taps cubic(const sampler *s, ir_value *at, int64_t size) {
    static const double a = -0.75;
    static const double weights[TAPS][4] = {
        {0, a, -2 * a, a}, {1, 0, -a - 3, a + 2}, {0, -a, 2 * a + 3, -a - 2}, {0, 0, a, -a}};
    ir_builder *b = s->b;
    ir_value *first = ir_floor(b, at), *t = ir_subtract(b, at, first);
    taps r = {.n = TAPS};
    for (int k = 0; k < TAPS; k++) {
        r.at[k] = inside(s, ex_plus(b, first, k - 1), size);
        r.weight[k] = ex_num(b, t, weights[k][3]);
        for (int i = 2; i >= 0; i--) r.weight[k] = ex_plus(b, ir_multiply(b, r.weight[k], t), weights[k][i]);
    }
    return r;
}

static taps taps_of(const sampler *s, ir_value *at, int64_t size) {
    at = to_pixels(s, at, size);
    if (s->o.bicubic) return cubic(s, at, size);
    at = inside(s, at, size);
    return s->o.nearest ? (taps){.n = 1, .at = {ir_round_nearest_even(s->b, at)}} : linear(s, at);
}

/* The sum over all pixels that a place touches. */
static ir_value *sampled(const sampler *s, const taps t[SPATIAL]) {
    ir_builder *b = s->b;
    int count = 1;
    ir_value *sum = NULL;
    for (int i = 0; i < s->n; i++) count *= t[i].n;
    for (int k = 0; k < count; k++) {
        ir_value *at[SPATIAL], *weight = NULL;
        for (int i = s->n - 1, rest = k; i >= 0; rest /= t[i--].n) at[i] = t[i].at[rest % t[i].n];
        for (int i = s->n - 1, rest = k; i >= 0; rest /= t[i--].n) {
            ir_value *own = t[i].weight[rest % t[i].n];
            weight = weight ? ir_multiply(b, own, weight) : own;
        }
        ir_value *part = pixels(s, at);
        if (part && weight) part = ir_multiply(b, part, ops_spread(b, weight, part->type, s->n + 1));
        sum = sum ? ir_add(b, sum, part) : part;
    }
    return sum;
}

xt_tensor xt_grid_sample_at(const xt_src *src, xt_tensor x, xt_tensor grid, xt_grid_opts o) {
    const char *what = "xt_grid_sample";
    sampler s = {.b = lazy_begin(src), .o = o};
    ir_builder *b = s.b;
    ir_value *v = lazy_value(x), *g = lazy_value(grid);
    ops_text sx, sg;
    if (!v || !g) return lazy_wrap(NULL, what);
    const ir_type *t = v->type, *tg = g->type;
    s.n = (int)t->rank - 2;
    if ((s.n != 2 && s.n != 3) || tg->rank != t->rank || tg->dims[s.n + 1] != s.n || tg->dims[0] != t->dims[0] ||
        t->count == 0 || !ir_dtype_is_float(t->dtype) || tg->dtype != t->dtype ||
        (unsigned)o.padding > XT_GRID_REFLECTION)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x %s %s, grid %s %s, .padding %d: floats [N,C,H,W] and [N,P,Q,2], or [N,C,D,H,W] and "
                          "[N,P,Q,R,3], of one dtype, and an xt_grid_padding",
                          what, xt_dtype_name(t->dtype), ops_shape(t, &sx), xt_dtype_name(tg->dtype),
                          ops_shape(tg, &sg), (int)o.padding);
    if (o.bicubic && s.n != 2)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: .bicubic = true for x %s: it is for [N,C,H,W], the others for volumes, too", what,
                          ops_shape(t, &sx));
    int64_t channels_last[SPATIAL + 2] = {0}, channels_first[SPATIAL + 2] = {0, s.n + 1};
    for (int i = 0; i < s.n; i++) {
        s.size[i] = t->dims[2 + i];
        channels_last[1 + i] = 2 + i;
        channels_first[2 + i] = 1 + i;
    }
    channels_last[s.n + 1] = 1;
    s.channels = t->dims[1];
    s.x = ops_widen(b, ir_transpose(b, v, t->rank, channels_last));
    g = ops_widen(b, g);
    taps along[SPATIAL];
    for (int i = 0; i < s.n; i++) { /* x, which runs along the last dim, is first in the grid */
        ir_value *at = ops_squeeze(b, ops_part(b, g, s.n + 1, s.n - 1 - i, s.n - i), s.n + 1);
        if (!at) return lazy_wrap(NULL, what);
        s.places = at->type;
        along[i] = taps_of(&s, at, s.size[i]);
    }
    ir_value *r = sampled(&s, along);
    r = r ? ir_transpose(b, r, t->rank, channels_first) : NULL;
    return lazy_wrap(ops_narrow(b, r, t->dtype), what);
}

/* theta [N,2,3]: row-wise affine maps of the places (x, y, 1) of an image of height x width. */
xt_tensor xt_affine_grid_at(const xt_src *src, xt_tensor theta, int64_t height, int64_t width, bool align_corners) {
    const char *what = "xt_affine_grid";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(theta);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, what);
    const ir_type *t = v->type;
    if (t->rank != 3 || t->dims[1] != 2 || t->dims[2] != 3 || height < 1 || width < 1 || !ir_dtype_is_float(t->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: theta %s %s, %lldx%lld: floats [N,2,3] and a size of at least 1x1", what,
                          xt_dtype_name(t->dtype), ops_shape(t, &shape), (long long)height, (long long)width);
    int64_t dims[3] = {height, width, 1}, size[2] = {width, height};
    const ir_type *plane = ir_tensor(t->dtype, 3, dims);
    ir_value *base[3];
    for (int i = 0; i < 2; i++) { /* x runs along columns, y along rows */
        double n = (double)size[i], step = align_corners ? (n > 1 ? 2 / (n - 1) : 0) : 2 / n,
               first = align_corners ? (n > 1 ? -1 : 0) : 1 / n - 1;
        base[i] = ex_plus(b, ex_times(b, ir_iota(b, plane, 1 - i), step), first);
    }
    base[2] = ir_splat(b, plane, 1);
    if (!base[0] || !base[1]) return lazy_wrap(NULL, what);
    xt_tensor places = lazy_wrap(ir_concatenate(b, 3, base, 2), what); /* [H,W,3] */
    xt_tensor pair[2] = {places, theta};
    return xt_einsum_at(src, "hwk,njk->nhwj", 2, pair);
}
