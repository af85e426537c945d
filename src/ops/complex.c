/* Complex numbers and Fourier transforms (definitions as in NumPy and PyTorch: the forward transform has e^-2 pi i k n
 * / N and no factor). */
#include <math.h>

#include "ops/expr.h"

/* Real and imaginary parts of f32 or f64; narrower floats go to f32. */
static ir_value *make_complex(ir_builder *b, ir_value *x, ir_value *y) {
    if (x && y && x->type->dtype != XT_F64 && x->type->dtype != XT_F32) {
        x = ir_convert(b, x, XT_F32);
        y = ir_convert(b, y, XT_F32);
    }
    return ir_complex(b, x, y);
}
static ir_value *make_polar(ir_builder *b, ir_value *size, ir_value *angle) {
    return make_complex(b, ir_multiply(b, size, ir_cosine(b, angle)), ir_multiply(b, size, ir_sine(b, angle)));
}
static ir_value *make_real(ir_builder *b, ir_value *x) {
    return ir_dtype_is_complex(x->type->dtype) ? ir_real(b, x) : ops_copy(b, x);
}
static ir_value *make_imag(ir_builder *b, ir_value *x) {
    return ir_dtype_is_complex(x->type->dtype) ? ir_imag(b, x) : ir_splat(b, x->type, 0);
}
/* Of a real number: 0 or pi. */
static ir_value *make_angle(ir_builder *b, ir_value *x) {
    if (ir_dtype_is_complex(x->type->dtype)) return ir_atan2(b, ir_imag(b, x), ir_real(b, x));
    ir_value *a = ex_keep(b, ir_not(b, ex_is(b, x, IR_LT, 0)), ex_num(b, x, 0), M_PI);
    return ex_pick(b, ir_compare(b, IR_EQ, x, x), a, x);
}
OPS_BINARY(xt_complex, xt_complex_at, REAL, make_complex)
OPS_BINARY(xt_polar, xt_polar_at, REAL, make_polar)
OPS_UNARY(xt_angle, xt_angle_at, FLOAT, make_angle)
OPS_UNARY(xt_imag, xt_imag_at, IS, make_imag)
OPS_UNARY(xt_real, xt_real_at, IS, make_real)

xt_tensor xt_view_as_real_at(const xt_src *src, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_view_as_real");
    if (!ir_dtype_is_complex(v->type->dtype) || v->type->rank == XT_MAX_RANK)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_view_as_real: x is %s %s; a complex tensor with room for one more dim is needed",
                          xt_dtype_name(v->type->dtype), ops_shape(v->type, &shape));
    int64_t last = v->type->rank;
    ir_value *parts[2] = {ops_unsqueeze(b, ir_real(b, v), last), ops_unsqueeze(b, ir_imag(b, v), last)};
    return lazy_wrap(parts[0] && parts[1] ? ir_concatenate(b, 2, parts, last) : NULL, "xt_view_as_real");
}
xt_tensor xt_view_as_complex_at(const xt_src *src, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_view_as_complex");
    int64_t last = (int64_t)v->type->rank - 1;
    if (last < 0 || v->type->dims[last] != 2 || (v->type->dtype != XT_F32 && v->type->dtype != XT_F64))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_view_as_complex: x is %s %s; f32 or f64 with a last dim of 2 is needed",
                          xt_dtype_name(v->type->dtype), ops_shape(v->type, &shape));
    ir_value *re = ops_squeeze(b, ops_part(b, v, last, 0, 1), last),
             *im = ops_squeeze(b, ops_part(b, v, last, 1, 2), last);
    return lazy_wrap(ir_complex(b, re, im), "xt_view_as_complex");
}

/* --- Fourier --- */
typedef struct transform {
    const char *what;
    ir_fft_type type;
    bool inverse;
} transform;

/* Cuts or fills up the last axis to n. */
static ir_value *to_length(ir_builder *b, ir_value *v, int64_t n) {
    int64_t last = (int64_t)v->type->rank - 1, own = v->type->dims[last], none[XT_MAX_RANK] = {0},
            high[XT_MAX_RANK] = {0};
    if (own == n) return v;
    if (own > n) return ops_part(b, v, last, 0, n);
    high[last] = n - own;
    return ir_pad(b, v, ir_splat(b, ir_scalar(v->type->dtype), 0), none, high, none);
}

static ir_value *swap_last(ir_builder *b, ir_value *v, int64_t a) {
    int64_t perm[XT_MAX_RANK], last = v ? (int64_t)v->type->rank - 1 : 0;
    if (!v || a == last) return v;
    for (int64_t i = 0; i <= last; i++) perm[i] = i == a ? last : i == last ? a : i;
    return ir_transpose(b, v, (size_t)last + 1, perm);
}

/* The factor that a norm puts on a transform that comes without one (forward) or with 1/n (inverse). */
static double factor(const transform *f, xt_fft_norm norm, double n) {
    if (norm == XT_FFT_ORTHO) return f->inverse ? sqrt(n) : 1 / sqrt(n);
    if (norm == XT_FFT_FORWARD) return f->inverse ? n : 1 / n;
    return 1;
}

static xt_tensor fourier(const xt_src *src, const transform *f, xt_tensor x, int axis, xt_fft_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    if (!v) return lazy_wrap(NULL, f->what);
    if (!ops_axis(src, f->what, v->type, axis, &a, &failed)) return failed;
    xt_dtype t = v->type->dtype;
    bool to_real = f->type == IR_IRFFT, from_real = f->type == IR_RFFT;
    int64_t own = v->type->dims[a], n = o.n != -1 ? o.n : to_real ? 2 * (own - 1) : own;
    if (n < 1 || own < 1 || (from_real && ir_dtype_is_complex(t)) || (unsigned)o.norm > XT_FFT_FORWARD)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x is %s %s, .n %lld, .norm %d: %s, a length of at least 1 and an xt_fft_norm", f->what,
                          xt_dtype_name(t), ops_shape(v->type, &shape), (long long)n, (int)o.norm,
                          from_real ? "a real tensor" : "a tensor");
    bool wide = t == XT_F64 || t == XT_C128;
    v = ir_convert(b, v, from_real ? (wide ? XT_F64 : XT_F32) : wide ? XT_C128 : XT_C64);
    v = swap_last(b, v, a);
    v = v ? to_length(b, v, to_real ? n / 2 + 1 : n) : NULL;
    if (!v) return lazy_wrap(NULL, f->what);
    ir_attr attrs[] = {ir_attr_enum(IR_A_fft_type, f->type), ir_attr_ints(b, IR_A_fft_length, 1, &n)};
    ir_op *op = ir_build(b, OP_fft, 1, &v, 2, attrs, 0, NULL, 0, NULL);
    ir_value *r = op ? &op->out[0] : NULL;
    double k = factor(f, o.norm, (double)n);
    if (k != 1) r = ex_times(b, r, k);
    return lazy_wrap(swap_last(b, r, a), f->what);
}
xt_tensor xt_fft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o) {
    return fourier(src, &(transform){"xt_fft", IR_FFT, false}, x, axis, o);
}
xt_tensor xt_ifft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o) {
    return fourier(src, &(transform){"xt_ifft", IR_IFFT, true}, x, axis, o);
}
xt_tensor xt_rfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o) {
    return fourier(src, &(transform){"xt_rfft", IR_RFFT, false}, x, axis, o);
}
xt_tensor xt_irfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o) {
    return fourier(src, &(transform){"xt_irfft", IR_IRFFT, true}, x, axis, o);
}

bool ops_fft_axes(const xt_src *src, const char *what, const ir_type *t, xt_list axes, const xt_fft_opts *o, size_t *n,
                  int64_t *out_axes, int64_t *out_sizes, xt_tensor *out) {
    int given = 0;
    ops_text shape;
    *out = (xt_tensor){0};
    while (given < XT_MAX_RANK && o->s[given]) given++;
    if (given && axes.n == 0 && given <= (int)t->rank)
        for (; axes.n < given; axes.n++) axes.v[axes.n] = axes.n - given;
    if (!ops_axes(src, what, t, axes, n, out_axes, out)) return false;
    if (*n == 0)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x has no dims to transform", what);
    else if (given && given != (int)*n)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d sizes in .s for %d axes of x %s: one for each is needed",
                          what, given, (int)*n, ops_shape(t, &shape));
    for (size_t i = 0; i < *n; i++) out_sizes[i] = given ? o->s[i] : o->n;
    return !out->slot;
}

static xt_tensor over_axes(const xt_src *src, const transform *f, xt_tensor x, xt_list axes, xt_fft_opts o) {
    const ir_type *t = lazy_type(x);
    size_t n = 0;
    int64_t a[XT_MAX_RANK], sizes[XT_MAX_RANK];
    xt_tensor failed;
    if (!t) return fourier(src, f, x, 0, o);
    if (!ops_fft_axes(src, f->what, t, axes, &o, &n, a, sizes, &failed)) return failed;
    for (size_t i = 0; i < n; i++) {
        o.n = sizes[i];
        x = fourier(src, f, x, (int)a[i], o);
    }
    return x;
}
xt_tensor xt_fftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    return over_axes(src, &(transform){"xt_fftn", IR_FFT, false}, x, axes, o);
}
xt_tensor xt_ifftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    return over_axes(src, &(transform){"xt_ifftn", IR_IFFT, true}, x, axes, o);
}

static xt_tensor shifted(const xt_src *src, const char *what, xt_tensor x, xt_list axes, bool back) {
    const ir_type *t = lazy_type(x);
    size_t n = 0;
    int64_t a[XT_MAX_RANK];
    xt_tensor failed;
    if (t && !ops_axes(src, what, t, axes, &n, a, &failed)) return failed;
    xt_list shifts = {(int)n, {0}}, where = {(int)n, {0}};
    for (size_t i = 0; i < n; i++) {
        where.v[i] = a[i];
        shifts.v[i] = back ? (t->dims[a[i]] + 1) / 2 : t->dims[a[i]] / 2;
    }
    return xt_roll_at(src, x, shifts, where);
}
xt_tensor xt_fftshift_at(const xt_src *src, xt_tensor x, xt_list axes) {
    return shifted(src, "xt_fftshift", x, axes, false);
}
xt_tensor xt_ifftshift_at(const xt_src *src, xt_tensor x, xt_list axes) {
    return shifted(src, "xt_ifftshift", x, axes, true);
}
OPS_PLAIN_UNARY(xt_view_as_real, xt_view_as_real_at)
OPS_PLAIN_UNARY(xt_view_as_complex, xt_view_as_complex_at)
