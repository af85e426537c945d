/* Positions as sines and cosines: added (Vaswani et al. 2017), of any numbers (time steps of diffusion), and as turns
 * of pairs (Su et al. 2021). Angles are computed in f32, those of f64 numbers in f64. */
#include <math.h>

#include "nn/nn.h"
#include "ops/expr.h"

/* base^(-2i/dim) for i < dim/2, along the last dim of a type. step: the log of base^(-2/dim) */
static ir_value *rates(ir_builder *b, const ir_type *type, ex_number step) {
    ir_value *i = type ? ir_iota(b, type, (int64_t)type->rank - 1) : NULL;
    return i ? ir_exponential(b, ir_multiply(b, i, ex_of(b, i, step))) : NULL;
}

static double step_of(double base, double dim) {
    return -2 * log(base) / dim;
}

/* t [...] against rates: [...,half]. */
static ir_value *angles_of(ir_builder *b, ir_value *t, int64_t half, ex_number step) {
    int64_t dims[XT_MAX_RANK + 1], axes[XT_MAX_RANK];
    if (!t || t->type->rank + 1 > XT_MAX_RANK) return NULL;
    for (uint32_t i = 0; i < t->type->rank; i++) dims[i] = t->type->dims[axes[i] = i];
    dims[t->type->rank] = half;
    const ir_type *type = ir_tensor(t->type->dtype, t->type->rank + 1, dims);
    ir_value *rate = rates(b, type, step);
    return rate ? ir_multiply(b, ir_broadcast_in_dim(b, t, type, t->type->rank, axes), rate) : NULL;
}

/* 0, 1, ..., n-1 as floats. */
static ir_value *count(ir_builder *b, xt_dtype dtype, int64_t n) {
    return ir_iota(b, ir_tensor(dtype, 1, &n), 0);
}

xt_tensor xt_sinusoidal_positions_at(const xt_src *src, int64_t length, int64_t dim) {
    if (length < 1 || dim < 2 || dim % 2)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_sinusoidal_positions: %lld positions of width %lld; at least one, of an even width",
                          (long long)length, (long long)dim);
    ir_builder *b = lazy_begin(src);
    int64_t column[3] = {length, dim / 2, 1}, all[2] = {length, dim};
    ir_value *a = angles_of(b, count(b, XT_F32, length), dim / 2, ex_constant(step_of(10000, (double)dim))),
             *pair[2] = {0};
    if (a) {
        pair[0] = ir_reshape(b, ir_sine(b, a), 3, column);
        pair[1] = ir_reshape(b, ir_cosine(b, a), 3, column);
    }
    ir_value *both = pair[0] && pair[1] ? ir_concatenate(b, 2, pair, 2) : NULL;
    return lazy_wrap(both ? ir_reshape(b, both, 2, all) : NULL, "xt_sinusoidal_positions");
}

xt_tensor xt_sinusoidal_embedding_at(const xt_src *src, xt_tensor t, int64_t dim, xt_sinusoidal_opts o) {
    static const char *const what = "xt_sinusoidal_embedding";
    const ir_type *type = lazy_type(t);
    xt_dtype wide = type && type->dtype == XT_F64 ? XT_F64 : XT_F32;
    double width = (double)(dim / 2) - o.downscale_freq_shift;
    if (!type || ir_dtype_is_complex(type->dtype) || type->dtype == XT_BOOL || type->rank + 1 > XT_MAX_RANK)
        return nn_bad_input(src, what, "", t, "numbers of at most 7 dims are needed");
    if (dim < 2 || !(o.max_period > 0) || !(width > 0))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: %lld numbers for each, max_period %g, downscale_freq_shift %g: at least 2, a period above "
            "0, and a shift below half of them",
            what, (long long)dim, o.max_period, o.downscale_freq_shift);
    bool moves = ops_number_moves(src, what, o.max_period);
    moves |= ops_number_moves(src, what, o.downscale_freq_shift);
    ex_number step = ex_derived(src, wide, moves, step_of(o.max_period, 2 * width)),
              scale = ex_given(src, what, wide, o.scale);
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(t);
    v = v ? ir_convert(b, v, wide) : NULL;
    ir_value *a = angles_of(b, v, dim / 2, step), *parts[3] = {0};
    if (a && !ex_always(scale, 1)) a = ir_multiply(b, a, ex_of(b, a, scale));
    if (!a) return lazy_wrap(NULL, what);
    bool flip = o.flip_sin_to_cos == XT_ON;
    parts[flip] = ir_sine(b, a);
    parts[!flip] = ir_cosine(b, a);
    int64_t last[XT_MAX_RANK + 1];
    memcpy(last, a->type->dims, a->type->rank * sizeof *last);
    last[a->type->rank - 1] = 1;
    if (dim % 2) parts[2] = ir_splat(b, ir_tensor(a->type->dtype, a->type->rank, last), 0);
    if (!parts[0] || !parts[1]) return lazy_wrap(NULL, what);
    return lazy_wrap(ir_concatenate(b, dim % 2 ? 3 : 2, parts, (int64_t)a->type->rank - 1), what);
}

/* --- rotary --- */
/* Where the rows of x [...,T,D] stand, as floats that broadcast to [...,T]; NULL after an error. */
static ir_value *places(const xt_src *src, const ir_type *x, const xt_rotary_opts *o) {
    int64_t T = x->dims[x->rank - 2];
    xt_dtype wide = x->dtype == XT_F64 ? XT_F64 : XT_F32;
    ops_text sx, sp;
    if (xt_is_none(o->positions)) {
        bool constant;
        ir_value *from = ops_number(src, "xt_rotary", wide, o->offset, &constant);
        ir_builder *b = lazy_begin(src);
        ir_value *t = count(b, wide, T);
        if (constant && o->offset == 0) return t;
        return from && t ? ir_add(b, t, ir_broadcast_scalar(b, from, t->type)) : NULL;
    }
    ir_builder *b = lazy_begin(src);
    ir_value *p = lazy_value(o->positions);
    if (!p) return NULL;
    bool fits = p->type->rank < x->rank && !ir_dtype_is_complex(p->type->dtype) && p->type->dtype != XT_BOOL;
    for (uint32_t i = 0; fits && i < p->type->rank; i++) {
        int64_t have = p->type->dims[p->type->rank - 1 - i];
        fits = have == 1 || have == x->dims[x->rank - 2 - i];
    }
    if (fits) return ir_convert(b, p, p->type->dtype == XT_F64 ? XT_F64 : wide);
    lazy_error(src, XT_INVALID_ARGUMENT,
               "xt_rotary: .positions are %s %s, but numbers that broadcast to the rows of x, %s, are needed",
               xt_dtype_name(p->type->dtype), ops_shape(p->type, &sp), ops_dims(x->rank - 1, x->dims, &sx));
    return NULL;
}

/* The two halves of each pair, [...,D/2]. */
static void split(const xt_src *src, xt_tensor x, bool interleaved, int64_t half, xt_tensor out[2]) {
    for (int k = 0; k < 2; k++)
        out[k] = interleaved ? xt_slice_step_at(src, x, -1, k, 2 * half, 2)
                             : xt_slice_at(src, x, -1, k * half, (k + 1) * half);
}

static xt_tensor join(const xt_src *src, const ir_type *t, bool interleaved, const xt_tensor parts[2]) {
    int64_t dims[XT_MAX_RANK + 1] = {0};
    if (!interleaved) return xt_concat_at(src, 2, parts, -1);
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    return xt_reshape_at(src, xt_stack_at(src, 2, parts, -1), dims);
}

xt_tensor xt_rotary_opt(const xt_src *src, xt_tensor x, double base, xt_rotary_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 2 || !ir_dtype_is_float(t->dtype) || t->dims[t->rank - 1] % 2 || t->count == 0 || base < 0)
        return nn_bad_input(src, "xt_rotary", "", x, "floats [...,T,D] with even D and a positive base are needed");
    int64_t half = t->dims[t->rank - 1] / 2;
    bool interleaved = o.interleaved == XT_ON;
    ir_value *p = places(src, t, &o);
    base = base > 0 ? base : 10000;
    ex_number step = ex_made(src, "xt_rotary", p ? p->type->dtype : XT_F32, base, step_of(base, (double)(2 * half)));
    ir_builder *b = lazy_begin(src);
    ir_value *a = angles_of(b, p, half, step);
    xt_tensor c = xt_cast_at(src, lazy_wrap(a ? ir_cosine(b, a) : NULL, "xt_rotary"), t->dtype), pair[2];
    b = lazy_begin(src);
    xt_tensor s = xt_cast_at(src, lazy_wrap(a ? ir_sine(b, a) : NULL, "xt_rotary"), t->dtype);
    split(src, x, interleaved, half, pair);
    xt_tensor turned[2] = {xt_sub__at(src, xt_mul_at(src, pair[0], c), xt_mul_at(src, pair[1], s)),
                           xt_add_at(src, xt_mul_at(src, pair[1], c), xt_mul_at(src, pair[0], s))};
    return join(src, t, interleaved, turned);
}

xt_tensor xt_rotary_at(const xt_src *src, xt_tensor x, double base) {
    return xt_rotary_opt(src, x, base, XT_OPTS(xt_rotary_opts, ));
}
