/* Sampling images at computed places (Jaderberg et al. 2015, spatial transformers): x [N,C,H,W], grid [N,P,Q,2] of (x,
 * y) from -1 to 1. Every corner of a place is gathered and weighted; gradients reach the image by way of the gather and
 * the grid by way of the weights. */
#include <math.h>

#include "ops/expr.h"

typedef struct sampler {
    ir_builder *b;
    ir_value *x; /* [N,H,W,C] */
    int64_t n, c, h, w, p, q;
    xt_grid_opts o;
} sampler;

/* -1 .. 1 as positions of pixels. */
static ir_value *to_pixels(sampler *s, ir_value *at, int64_t size) {
    ir_builder *b = s->b;
    if (s->o.align_corners) return ex_times(b, ex_plus(b, at, 1), (double)(size - 1) / 2);
    return ex_over(b, ex_plus(b, ex_times(b, ex_plus(b, at, 1), (double)size), -1), 2);
}
/* With border padding a place outside is moved to the edge, and has no slope there. */
static ir_value *to_edge(sampler *s, ir_value *at, int64_t size) {
    ir_builder *b = s->b;
    if (s->o.padding != XT_GRID_BORDER) return at;
    ir_value *low = ex_is(b, at, IR_LE, 0), *high = ex_is(b, at, IR_GE, (double)(size - 1));
    return ex_keep(b, ir_not(b, low), ex_keep(b, ir_not(b, high), at, (double)(size - 1)), 0);
}

/* The pixels at whole positions [N,P,Q], zero where they are outside: [N,P,Q,C]. */
static ir_value *pixels(sampler *s, ir_value *iy, ir_value *ix) {
    ir_builder *b = s->b;
    if (!iy || !ix) return NULL;
    int64_t dims[4] = {s->n, s->p, s->q, 1}, sizes[4] = {1, 1, 1, s->c}, offset = 3, axes[3] = {0, 1, 2};
    ir_value *inside = ir_and(b, ir_and(b, ex_is(b, iy, IR_GE, 0), ex_is(b, iy, IR_LT, (double)s->h)),
                              ir_and(b, ex_is(b, ix, IR_GE, 0), ex_is(b, ix, IR_LT, (double)s->w)));
    ir_value *row = ir_convert(b, ex_keep(b, inside, iy, 0), XT_I32),
             *column = ir_convert(b, ex_keep(b, inside, ix, 0), XT_I32);
    if (!row || !column) return NULL;
    ir_value *at[3] = {ir_reshape(b, ir_iota(b, row->type, 0), 4, dims), ir_reshape(b, row, 4, dims),
                       ir_reshape(b, column, 4, dims)};
    if (!at[0] || !at[1] || !at[2]) return NULL;
    ir_gather_dims d = {.n_offset = 1,
                        .offset = &offset,
                        .n_collapsed = 3,
                        .collapsed = axes,
                        .n_index_map = 3,
                        .index_map = axes,
                        .index_vector_dim = 3};
    ir_value *v = ops_gather(b, s->x, ir_concatenate(b, 3, at, 3), &d, sizes);
    return v ? ex_keep(b, ops_spread(b, inside, v->type, 3), v, 0) : NULL;
}

static ir_value *bilinear(sampler *s, ir_value *y, ir_value *x) {
    ir_builder *b = s->b;
    ir_value *y0 = ir_floor(b, y), *x0 = ir_floor(b, x), *wy = ir_subtract(b, y, y0), *wx = ir_subtract(b, x, x0),
             *sum = NULL;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            ir_value *v = pixels(s, ex_plus(b, y0, i), ex_plus(b, x0, j));
            ir_value *weight = ir_multiply(b, i ? wy : ir_subtract(b, ex_num(b, wy, 1), wy),
                                           j ? wx : ir_subtract(b, ex_num(b, wx, 1), wx));
            ir_value *part = v ? ir_multiply(b, v, ops_spread(b, weight, v->type, 3)) : NULL;
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
    if (t->rank != 4 || tg->rank != 4 || tg->dims[3] != 2 || tg->dims[0] != t->dims[0] || t->count == 0 ||
        !ir_dtype_is_float(t->dtype) || tg->dtype != t->dtype || (unsigned)o.padding > XT_GRID_BORDER)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s %s, grid %s %s, .padding %d: floats [N,C,H,W] and [N,P,Q,2] of one dtype, and an xt_grid_padding",
            what, xt_dtype_name(t->dtype), ops_shape(t, &sx), xt_dtype_name(tg->dtype), ops_shape(tg, &sg),
            (int)o.padding);
    s.n = t->dims[0], s.c = t->dims[1], s.h = t->dims[2], s.w = t->dims[3], s.p = tg->dims[1], s.q = tg->dims[2];
    int64_t channels_last[4] = {0, 2, 3, 1}, channels_first[4] = {0, 3, 1, 2};
    s.x = ops_widen(b, ir_transpose(b, v, 4, channels_last));
    g = ops_widen(b, g);
    ir_value *px = to_edge(&s, to_pixels(&s, ops_squeeze(b, ops_part(b, g, 3, 0, 1), 3), s.w), s.w);
    ir_value *py = to_edge(&s, to_pixels(&s, ops_squeeze(b, ops_part(b, g, 3, 1, 2), 3), s.h), s.h);
    ir_value *r =
        o.nearest ? pixels(&s, ir_round_nearest_even(b, py), ir_round_nearest_even(b, px)) : bilinear(&s, py, px);
    r = r ? ir_transpose(b, r, 4, channels_first) : NULL;
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
