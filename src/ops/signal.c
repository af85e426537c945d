/* Signals: window functions, frequencies, real transforms over several axes, and the short-time Fourier transform
 * (definitions as in PyTorch). */
#include <math.h>

#include "ops/expr.h"

/* --- windows --- */
/* a - b cos(2 pi i / m) + c cos(4 pi i / m): m is the length for a periodic window, one less for a symmetric one. */
xt_tensor xt_window_at(const xt_src *src, xt_window_kind kind, int64_t n, bool symmetric, xt_dtype dtype) {
    static const struct { double a, b, c; } terms[] = {{0.5, 0.5, 0}, {0.54, 0.46, 0}, {0.42, 0.5, 0.08}};
    ir_builder *b = lazy_begin(src);
    if ((unsigned)kind >= BASE_COUNT(terms) || n < 1 || !ir_dtype_is_float(dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_window: kind %d, %lld elements of %s: an xt_window_kind, at least 1, and floats",
                          (int)kind, (long long)n, xt_dtype_name(dtype));
    xt_dtype work = dtype == XT_F64 ? XT_F64 : XT_F32;
    ir_value *i = ir_iota(b, ir_tensor(work, 1, &n), 0);
    int64_t m = symmetric ? n - 1 : n;
    if (n == 1) return lazy_wrap(ir_splat(b, ir_tensor(dtype, 1, &n), 1), "xt_window");
    ir_value *angle = ex_times(b, i, 2 * M_PI / (double)m);
    ir_value *w = ir_subtract(b, ex_num(b, i, terms[kind].a), ex_times(b, ir_cosine(b, angle), terms[kind].b));
    if (terms[kind].c) w = ir_add(b, w, ex_times(b, ir_cosine(b, ex_times(b, angle, 2)), terms[kind].c));
    return lazy_wrap(w ? ir_convert(b, w, dtype) : NULL, "xt_window");
}

/* --- frequencies --- */
/* 0, 1, ..., -2, -1 over n d: the frequencies of a transform of n samples d apart. half: those of a real one. */
xt_tensor xt_fftfreq_at(const xt_src *src, int64_t n, double d, bool half) {
    ir_builder *b = lazy_begin(src);
    if (n < 1 || !(d != 0))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_fftfreq: %lld samples %g apart: at least one, and a distance other than 0", (long long)n,
                          d);
    int64_t count = half ? n / 2 + 1 : n;
    ir_value *i = ir_iota(b, ir_tensor(XT_F32, 1, &count), 0);
    if (!half) i = ex_pick(b, ex_is(b, i, IR_GE, (double)((n + 1) / 2)), ex_plus(b, i, -(double)n), i);
    ex_number step = ex_given(src, "xt_fftfreq", XT_F32, 1 / ((double)n * d));
    return lazy_wrap(ir_multiply(b, i, ex_of(b, i, step)), "xt_fftfreq");
}

/* --- real transforms over several axes --- */
/* The last axis by the real transform, the others by the complex one, and back in the opposite order. */
static bool named_axes(const xt_src *src, const char *what, xt_tensor x, xt_list axes, size_t *n, int64_t *a,
                       xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    if (!t) {
        lazy_begin(src);
        lazy_value(x);
        *out = lazy_wrap(NULL, what);
        return false;
    }
    if (!ops_axes(src, what, t, axes, n, a, out)) return false;
    if (*n > 0) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x has no dims to transform", what);
    return false;
}
xt_tensor xt_rfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    size_t n;
    int64_t a[XT_MAX_RANK];
    xt_tensor failed;
    if (!named_axes(src, "xt_rfftn", x, axes, &n, a, &failed)) return failed;
    x = xt_rfft_at(src, x, (int)a[n - 1], o);
    for (size_t i = n - 1; i-- > 0;) x = xt_fft_at(src, x, (int)a[i], XT_OPTS(xt_fft_opts, .norm = o.norm));
    return x;
}
xt_tensor xt_irfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    size_t n;
    int64_t a[XT_MAX_RANK];
    xt_tensor failed;
    if (!named_axes(src, "xt_irfftn", x, axes, &n, a, &failed)) return failed;
    for (size_t i = 0; i + 1 < n; i++) x = xt_ifft_at(src, x, (int)a[i], XT_OPTS(xt_fft_opts, .norm = o.norm));
    return xt_irfft_at(src, x, (int)a[n - 1], o);
}

/* --- short-time Fourier transform --- */
/* Frames of n_fft samples, hop apart, times the window, each transformed: [...,samples] -> [...,frequencies,frames]. */
xt_tensor xt_stft_at(const xt_src *src, xt_tensor x, int64_t n_fft, xt_stft_opts o) {
    const char *what = "xt_stft";
    const ir_type *t = lazy_type(x), *tw = xt_is_none(o.window) ? NULL : lazy_type(o.window);
    ops_text sx, sw;
    int64_t hop = o.hop != -1 ? o.hop : n_fft / 4, length = o.win_length != -1 ? o.win_length : n_fft, half = n_fft / 2;
    if (t && (t->rank < 1 || t->rank >= XT_MAX_RANK || !ir_dtype_is_float(t->dtype) || n_fft < 1 || hop < 1 ||
              length < 1 || length > n_fft || (tw && (tw->rank != 1 || tw->dims[0] != length))))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x %s %s, n_fft %lld, .hop %lld, .win_length %lld, .window %s: floats [...,samples], a "
                          "hop of at least 1, and a window of "
                          ".win_length elements, at most n_fft",
                          what, xt_dtype_name(t->dtype), ops_shape(t, &sx), (long long)n_fft, (long long)hop,
                          (long long)length, tw ? ops_shape(tw, &sw) : "none");
    if (o.center != XT_OFF)
        x = xt_pad_at(src, x, (xt_list){2, {half, half}},
                      (xt_pad_opts){.mode = o.zero_pad ? XT_PAD_CONSTANT : XT_PAD_REFLECT});
    xt_tensor frames = xt_unfold_axis_at(src, x, -1, n_fft, hop), window = o.window;
    if (length < n_fft || tw) {
        xt_dtype dtype = t ? t->dtype : XT_F32;
        if (!tw) window = xt_full_at(src, 1, dtype, (int64_t[]){length, 0});
        int64_t before = (n_fft - length) / 2;
        frames =
            xt_mul_at(src, frames,
                      xt_pad_at(src, window, (xt_list){2, {before, n_fft - length - before}}, XT_OPTS(xt_pad_opts, )));
    }
    xt_fft_opts fft = XT_OPTS(xt_fft_opts, .norm = o.normalized ? XT_FFT_ORTHO : XT_FFT_BACKWARD);
    xt_tensor f = o.two_sided ? xt_fft_at(src, frames, -1, fft) : xt_rfft_at(src, frames, -1, fft);
    return xt_transpose_at(src, f, -1, -2);
}
