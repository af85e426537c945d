/* Resizing images: nearest, linear and cubic interpolation dim after dim, and the moves between channels and pixels.
 *
 * Output row i of a dim comes from position p of the input: p = i*s with corners aligned (s = (in-1)/(out-1)) and for
 * nearest (s = in/out or 1/scale), (i+1/2)*s for the exact nearest, else p = s*(i+1/2) - 1/2. Positions are arithmetic
 * recorded as ops, f64 for f64 and else f32, in PyTorch's order, so the same rows are chosen to the last bit.
 *
 * What PyTorch makes of a scale depends on the mode (whole_step): its kernels for CPUs take a dim whose size stays, or
 * doubles, by the sizes in some modes, whatever the scale. Where its forward and its gradient disagree (cubic, and
 * nearest in one and three dims) the gradient here is the forward's own. */
#include <math.h>

#include "ops/expr.h"

typedef struct axis_map {
    ir_builder *b;
    size_t axis;
    int64_t in, out;
    double scale; /* the step in the input for one row of output */
    ir_value *data; /* the same, once it changes from step to step; NULL: a constant */
    bool corners, middle; /* middle: of the exact nearest */
    bool antialias;
    const ir_type *rows; /* f32 or f64 [out] */
} axis_map;

static ir_value *constant(const axis_map *m, double v) {
    return ir_splat(m->b, m->rows, v);
}

static ir_value *scale_of(const axis_map *m) {
    return m->data ? ir_broadcast_scalar(m->b, m->data, m->rows) : constant(m, m->scale);
}

/* The rows `at` (whole numbers) of x along the axis, kept inside. */
static ir_value *rows_at(const axis_map *m, ir_value *x, ir_value *at) {
    ir_builder *b = m->b;
    size_t rank = x->type->rank, k = 0;
    int64_t offset[XT_MAX_RANK], sizes[XT_MAX_RANK], axis = (int64_t)m->axis;
    at = ir_minimum(b, ir_maximum(b, at, constant(m, 0)), constant(m, (double)(m->in - 1)));
    at = at ? ir_convert(b, at, XT_I32) : NULL;
    for (size_t i = 0; i < rank; i++) {
        sizes[i] = i == m->axis ? 1 : x->type->dims[i];
        if (i != m->axis) offset[k++] = (int64_t)i;
    }
    ir_gather_dims d = {.n_offset = rank - 1,
                        .offset = offset,
                        .n_collapsed = 1,
                        .collapsed = &axis,
                        .n_index_map = 1,
                        .index_map = &axis,
                        .index_vector_dim = 1};
    return at ? ops_gather(b, x, at, &d, sizes) : NULL;
}

static ir_value *nearest(const axis_map *m, ir_value *x) {
    ir_builder *b = m->b;
    size_t rank = x->type->rank;
    if (!m->data && m->out % m->in == 0 && m->scale == (double)m->in / (double)m->out && rank < XT_MAX_RANK) {
        /* each row some times: no lookup */
        int64_t wide[XT_MAX_RANK], joined[XT_MAX_RANK], at[XT_MAX_RANK];
        for (size_t i = 0, j = 0; i < rank; i++) {
            joined[i] = i == m->axis ? m->out : x->type->dims[i];
            at[i] = (int64_t)j;
            wide[j++] = x->type->dims[i];
            if (i == m->axis) wide[j++] = m->out / m->in;
        }
        x = ir_broadcast_in_dim(b, x, ir_tensor(x->type->dtype, rank + 1, wide), rank, at);
        return x ? ir_reshape(b, x, rank, joined) : NULL;
    }
    ir_value *i = ir_iota(b, m->rows, 0);
    if (m->middle) i = ir_add(b, i, constant(m, 0.5));
    return rows_at(m, x, ir_floor(b, ir_multiply(b, i, scale_of(m))));
}

static ir_value *position(const axis_map *m) {
    ir_builder *b = m->b;
    ir_value *i = ir_iota(b, m->rows, 0);
    if (m->corners) return ir_multiply(b, i, scale_of(m));
    return ir_subtract(b, ir_multiply(b, ir_add(b, i, constant(m, 0.5)), scale_of(m)), constant(m, 0.5));
}

/* x times a weight per row of the axis. */
static ir_value *weighted(const axis_map *m, ir_value *x, ir_value *weight) {
    int64_t axis = (int64_t)m->axis;
    if (!x || !weight) return NULL;
    return ir_multiply(m->b, x, ir_broadcast_in_dim(m->b, ir_convert(m->b, weight, x->type->dtype), x->type, 1, &axis));
}

static ir_value *linear(const axis_map *m, ir_value *x) {
    ir_builder *b = m->b;
    ir_value *p = position(m);
    if (p && !m->corners) p = ir_maximum(b, p, constant(m, 0));
    ir_value *first = p ? ir_floor(b, p) : NULL, *t = first ? ir_subtract(b, p, first) : NULL;
    if (!t) return NULL;
    ir_value *low = weighted(m, rows_at(m, x, first), ir_subtract(b, constant(m, 1), t));
    ir_value *high = weighted(m, rows_at(m, x, ir_add(b, first, constant(m, 1))), t);
    return low && high ? ir_add(b, low, high) : NULL;
}

/* a + t*(b + t*(c + t*d)) */
static ir_value *cubic_polynomial(const axis_map *m, ir_value *t, const double c[4]) {
    ir_value *r = constant(m, c[3]);
    for (int i = 2; i >= 0 && r; i--) r = ir_add(m->b, ir_multiply(m->b, r, t), constant(m, c[i]));
    return r;
}

/* Keys' convolution kernel (1981) with a = -3/4: the four neighbours' weights as polynomials of the fraction t. */
static ir_value *cubic(const axis_map *m, ir_value *x) {
    static const double a = -0.75;
    const double weights[4][4] = {{0, a, -2 * a, a}, {1, 0, -a - 3, a + 2}, {0, -a, 2 * a + 3, -a - 2}, {0, 0, a, -a}};
    ir_builder *b = m->b;
    ir_value *p = position(m), *first = p ? ir_floor(b, p) : NULL, *t = first ? ir_subtract(b, p, first) : NULL,
             *sum = NULL;
    for (int k = 0; k < 4 && t; k++) {
        ir_value *term =
            weighted(m, rows_at(m, x, ir_add(b, first, constant(m, k - 1))), cubic_polynomial(m, t, weights[k]));
        sum = sum && term ? ir_add(b, sum, term) : term;
    }
    return sum;
}

/* How much an element at this distance counts, of a triangle and of Keys' kernel with a = -1/2 (as Pillow has it). */
static ir_value *filter(const axis_map *m, ir_value *far, xt_resize mode) {
    static const double near_by[4] = {1, 0, -2.5, 1.5}, behind[4] = {2, -4, 2.5, -0.5};
    ir_builder *b = m->b;
    far = ir_abs(b, far);
    if (mode == XT_LINEAR) return ir_maximum(b, ir_subtract(b, ex_num(b, far, 1), far), ex_num(b, far, 0));
    ir_value *r[2];
    for (int k = 0; k < 2; k++) {
        const double *c = k ? behind : near_by;
        r[k] = ex_num(b, far, c[3]);
        for (int i = 2; i >= 0; i--) r[k] = ex_plus(b, ir_multiply(b, r[k], far), c[i]);
    }
    return ex_pick(b, ex_is(b, far, IR_LT, 1), r[0], ex_keep(b, ex_is(b, far, IR_LT, 2), r[1], 0));
}

/* Means over what an output element covers: weights [out,in], which sum to 1 for each. */
static ir_value *covered(const axis_map *m, ir_value *x, xt_resize mode) {
    ir_builder *b = m->b;
    int64_t dims[2] = {m->out, m->in}, one = 1, zero = 0, rank = (int64_t)x->type->rank, axis = (int64_t)m->axis;
    const ir_type *plane = ir_tensor(m->rows->dtype, 2, dims);
    ir_value *step = m->data ? ir_broadcast_scalar(b, m->data, plane) : ir_splat(b, plane, m->scale);
    ir_value *centre = ir_multiply(b, ex_plus(b, ir_iota(b, plane, 0), 0.5), step);
    ir_value *wide = ir_maximum(b, step, ex_num(b, step, 1)), *reach = ex_times(b, wide, mode == XT_LINEAR ? 1 : 2);
    ir_value *at = ir_iota(b, plane, 1);
    /* The elements from the first to the last one that PyTorch looks at, which is less than the whole filter. */
    ir_value *first = ir_floor(b, ex_plus(b, ir_subtract(b, centre, reach), 0.5)),
             *end = ir_floor(b, ex_plus(b, ir_add(b, centre, reach), 0.5));
    ir_value *looked = ir_and(b, ir_compare(b, IR_GE, at, first), ir_compare(b, IR_LT, at, end));
    ir_value *w = filter(m, ir_divide(b, ex_plus(b, ir_subtract(b, at, centre), 0.5), wide), mode);
    w = ex_keep(b, looked, w, 0);
    ir_value *total = ops_sum(b, w, 1, &one);
    w = total ? ir_divide(b, w, ir_broadcast_in_dim(b, total, plane, 1, &zero)) : NULL;
    w = w ? ir_convert(b, w, x->type->dtype) : NULL;
    ir_value *r = ir_dot_general(b, x, w, 0, NULL, NULL, 1, &axis, &one, ops_precision(x->type->dtype));
    /* The axis stands last. */
    int64_t perm[XT_MAX_RANK];
    for (int64_t i = 0; i < rank; i++) perm[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
    return r ? ir_transpose(b, r, (size_t)rank, perm) : NULL;
}

/* By the sizes, which make whole steps, and not by the scale. */
static bool whole_step(xt_resize mode, int64_t in, int64_t out) {
    return (mode == XT_NEAREST && (out == in || out == 2 * in)) || (mode == XT_LINEAR && out == in);
}

static ir_value *resize(const axis_map *m, ir_value *x, xt_resize mode) {
    if (!m->data && m->in == m->out && (m->corners || m->scale == 1)) return x;
    if (m->antialias) return covered(m, x, mode);
    return mode == XT_LINEAR ? linear(m, x) : mode == XT_CUBIC ? cubic(m, x) : nearest(m, x);
}

static bool resize_fits(const xt_src *src, const ir_type *t, const xt_interpolate_opts *o, xt_tensor *out) {
    ops_text sx;
    *out = (xt_tensor){0};
    bool sized = false, scaled = o->scale != 0;
    for (int i = 0; i < OPS_SPATIAL; i++) sized |= o->sizes[i] != 0;
    if (t->rank < 3 || t->rank > 5 || !ir_dtype_is_float(t->dtype) || t->count == 0)
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_interpolate: x is %s %s; floats [N,C,...] with one to three dims behind C are needed",
                          xt_dtype_name(t->dtype), ops_shape(t, &sx));
    else if (sized == scaled || !(o->scale >= 0))
        *out =
            lazy_error(src, XT_INVALID_ARGUMENT,
                       "xt_interpolate: scale %g and %s sizes: exactly one of .scale (positive) and .sizes is needed",
                       o->scale, sized ? "given" : "no");
    else if (o->mode == XT_CUBIC && t->rank != 4)
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_interpolate: .mode = XT_CUBIC for x %s: it is for [N,C,H,W], the others for all ranks",
                          ops_shape(t, &sx));
    else if (o->antialias && t->rank != 4)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_interpolate: .antialias = true for x %s: it is for [N,C,H,W]",
                          ops_shape(t, &sx));
    return !out->slot;
}

/* Of a dim of `in` rows. */
static int64_t size_of(const xt_interpolate_opts *o, int at, int64_t in) {
    if (o->scale > 0) return (int64_t)floor((double)in * o->scale);
    return o->sizes[at] ? o->sizes[at] : o->sizes[0];
}

xt_tensor xt_interpolate_at(const xt_src *src, xt_tensor x, xt_interpolate_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *y = v;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_interpolate");
    if (!resize_fits(src, v->type, &o, &failed)) return failed;
    int64_t sizes[OPS_SPATIAL + 1] = {0};
    for (size_t i = 2; i < v->type->rank; i++) {
        ops_text sx;
        sizes[i - 2] = size_of(&o, (int)i - 2, v->type->dims[i]);
        if (sizes[i - 2] < 1 || sizes[i - 2] > INT32_MAX)
            return lazy_error(src, XT_INVALID_ARGUMENT, "xt_interpolate: x %s would have %lld rows in dim %d",
                              ops_shape(v->type, &sx), (long long)sizes[i - 2], (int)i);
    }
    if (o.mode == XT_AREA) return xt_adaptive_pool_at(src, true, (int)v->type->rank - 2, x, sizes);
    xt_dtype t = v->type->dtype;
    if (xt_dtype_size(t) < 4 && (o.mode == XT_LINEAR || o.mode == XT_CUBIC)) y = ir_convert(b, v, XT_F32);
    for (size_t i = 2; i < v->type->rank && y; i++) {
        int64_t in = v->type->dims[i], out = sizes[i - 2];
        bool corners = o.align_corners == XT_ON,
             scaled = o.scale > 0 && !corners && (o.antialias || !whole_step(o.mode, in, out));
        axis_map m = {.b = b,
                      .axis = i,
                      .in = in,
                      .out = out,
                      .scale = corners  ? (out > 1 ? (double)(in - 1) / (double)(out - 1) : 0)
                               : scaled ? 1 / o.scale
                                        : (double)in / (double)out,
                      .corners = corners,
                      .middle = o.mode == XT_NEAREST_EXACT,
                      .antialias = o.antialias,
                      .rows = ir_tensor(t == XT_F64 ? XT_F64 : XT_F32, 1, &out)};
        if (scaled && m.rows)
            m.data = ex_derived(src, m.rows->dtype,
                                ops_sized_number_moves(src, "xt_interpolate", ops_sizes(in, out), o.scale), m.scale)
                         .data;
        y = resize(&m, y, o.mode);
    }
    y = y ? ir_convert(b, y, t) : NULL;
    return lazy_wrap(y == v ? ops_copy(b, v) : y, "xt_interpolate");
}

/* --- pixels and channels --- */
static xt_tensor move_pixels(const xt_src *src, const char *what, bool shuffle, xt_tensor x, int r) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text sx;
    if (!v) return lazy_wrap(NULL, what);
    const ir_type *t = v->type;
    size_t lead = t->rank >= 3 ? t->rank - 3 : 0;
    int64_t c = t->rank >= 3 ? t->dims[lead] : 0, h = c ? t->dims[lead + 1] : 0, w = c ? t->dims[lead + 2] : 0;
    bool fits = t->rank >= 3 && lead + 5 <= XT_MAX_RANK && r >= 1 &&
                (shuffle ? c % ((int64_t)r * r) == 0 : h % r == 0 && w % r == 0);
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s with factor %d: [...,C,H,W] is needed, %s", what,
                          ops_shape(t, &sx), r,
                          shuffle ? "C divisible by the factor's square" : "H and W divisible by the factor");
    int64_t split[XT_MAX_RANK], joined[XT_MAX_RANK], perm[XT_MAX_RANK];
    for (size_t i = 0; i < lead; i++) {
        split[i] = joined[i] = t->dims[i];
        perm[i] = (int64_t)i;
    }
    /* [C,r,r,H,W] -> [C,H,r,W,r] and the way back */
    const int64_t parts[2][5] = {{c, h / r, r, w / r, r}, {c / ((int64_t)r * r), r, r, h, w}},
                  order[2][5] = {{0, 2, 4, 1, 3}, {0, 3, 1, 4, 2}};
    const int64_t result[2][3] = {{c * r * r, h / r, w / r}, {c / ((int64_t)r * r), h * r, w * r}};
    for (size_t i = 0; i < 5; i++) {
        split[lead + i] = parts[shuffle][i];
        perm[lead + i] = (int64_t)lead + order[shuffle][i];
        if (i < 3) joined[lead + i] = result[shuffle][i];
    }
    v = ir_reshape(b, v, lead + 5, split);
    v = v ? ir_transpose(b, v, lead + 5, perm) : NULL;
    return lazy_wrap(v ? ir_reshape(b, v, t->rank, joined) : NULL, what);
}

xt_tensor xt_pixel_shuffle_at(const xt_src *src, xt_tensor x, int r) {
    return move_pixels(src, "xt_pixel_shuffle", true, x, r);
}
xt_tensor xt_pixel_unshuffle_at(const xt_src *src, xt_tensor x, int r) {
    return move_pixels(src, "xt_pixel_unshuffle", false, x, r);
}
