/* Signals: window functions, frequencies, real transforms over several axes, and the short-time Fourier transform
 * (definitions as in PyTorch). */
#include <math.h>

#include <xtrain/names.h>
#include <xtrain/special.h>

#include "ops/expr.h"

/* --- windows --- */
/* a - b cos(2 pi i / m) + c cos(4 pi i / m) - d cos(6 pi i / m) */
static ir_value *cosines(ir_builder *b, ir_value *i, double m, const double terms[4]) {
    ir_value *angle = ex_times(b, i, 2 * M_PI / m), *w = ex_num(b, i, terms[0]);
    for (int k = 1; k < 4; k++)
        if (terms[k]) w = ir_add(b, w, ex_times(b, ir_cosine(b, ex_times(b, angle, k)), k % 2 ? -terms[k] : terms[k]));
    return w;
}

/* i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to 1 */
static ir_value *kaiser(const xt_src *src, ir_value *x, ex_number beta) {
    ir_builder *b = lazy_begin(src);
    ir_value *most = ex_of(b, x, beta), *square = ir_multiply(b, x, x);
    ir_value *inside = ir_maximum(b, ir_subtract(b, ex_num(b, x, 1), square), ex_num(b, x, 0));
    ir_value *at[2] = {ir_multiply(b, most, ir_sqrt(b, inside)), most};
    for (int k = 0; k < 2; k++) at[k] = lazy_value(xt_i0_at(src, lazy_wrap(at[k], "xt_window")));
    return ir_divide(lazy_begin(src), at[0], at[1]);
}

/* What a periodic window lacks of a symmetric one is its last element: m is the number of steps between both ends. */
xt_tensor xt_window_at(const xt_src *src, xt_window_kind kind, int64_t n, bool symmetric, xt_dtype dtype,
                       xt_window_opts o) {
    static const char *const what = "xt_window";
    static const double terms[][4] = {[XT_WINDOW_HANN] = {0.5, 0.5},
                                      [XT_WINDOW_BLACKMAN] = {0.42, 0.5, 0.08},
                                      [XT_WINDOW_NUTTALL] = {0.3635819, 0.4891775, 0.1365995, 0.0106411}};
    ir_builder *b = lazy_begin(src);
    if ((unsigned)kind > XT_WINDOW_NUTTALL || n < 1 || !ir_dtype_is_float(dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_window: kind %d, %lld elements of %s: an xt_window_kind, at least 1, and floats",
                          (int)kind, (long long)n, xt_dtype_name(dtype));
    if (!(o.std > 0) || !(o.tau > 0))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_window: .std = %g, .tau = %g: both above 0 are expected", o.std,
                          o.tau);
    if (n == 1) return lazy_wrap(ir_splat(b, ir_tensor(dtype, 1, &n), 1), what);
    xt_dtype work = dtype == XT_F64 ? XT_F64 : XT_F32;
    ir_value *i = ir_iota(b, ir_tensor(work, 1, &n), 0), *w = NULL;
    double m = (double)(symmetric ? n - 1 : n);
    ir_value *middle = ex_plus(b, i, -m / 2), *x = ex_over(b, middle, m / 2); /* from -1 to 1 */
    switch (kind) {
    case XT_WINDOW_HAMMING: {
        ex_number alpha = ex_given(src, what, work, o.alpha);
        ir_value *share = ex_of(b, i, alpha), *wave = ir_cosine(b, ex_times(b, i, 2 * M_PI / m));
        w = ir_subtract(b, share, ir_multiply(b, ir_subtract(b, ex_num(b, i, 1), share), wave));
        break;
    }
    case XT_WINDOW_BARTLETT: w = ir_subtract(b, ex_num(b, i, 1), ir_abs(b, x)); break;
    case XT_WINDOW_COSINE: w = ir_sine(b, ex_times(b, ex_plus(b, i, 0.5), M_PI / (m + 1))); break;
    case XT_WINDOW_KAISER: w = kaiser(src, x, ex_given(src, what, work, o.beta)); break;
    case XT_WINDOW_GAUSSIAN: {
        ir_value *far = ir_divide(b, middle, ex_of(b, i, ex_given(src, what, work, o.std)));
        w = ir_exponential(b, ex_times(b, ir_multiply(b, far, far), -0.5));
        break;
    }
    case XT_WINDOW_EXPONENTIAL: {
        ir_value *far = ir_divide(b, ir_abs(b, middle), ex_of(b, i, ex_given(src, what, work, o.tau)));
        w = ir_exponential(b, ir_negate(b, far));
        break;
    }
    default: w = cosines(b, i, m, terms[kind]); break;
    }
    return lazy_wrap(w ? ir_convert(lazy_begin(src), w, dtype) : NULL, what);
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
    bool data = ex_given(src, "xt_fftfreq", XT_F32, d).data != NULL;
    ex_number step = ex_derived(src, XT_F32, data, 1 / ((double)n * d));
    return lazy_wrap(ir_multiply(b, i, ex_of(b, i, step)), "xt_fftfreq");
}

/* --- real transforms over several axes --- */
/* The last axis by the real transform, the others by the complex one, and back in the opposite order. */
typedef struct sized_axes {
    size_t n;
    int64_t axis[XT_MAX_RANK], size[XT_MAX_RANK];
} sized_axes;

static bool named_axes(const xt_src *src, const char *what, xt_tensor x, xt_list axes, const xt_fft_opts *o,
                       sized_axes *a, xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    if (!t) {
        lazy_begin(src);
        lazy_value(x);
        *out = lazy_wrap(NULL, what);
        return false;
    }
    if (!ops_fft_axes(src, what, t, axes, o, &a->n, a->axis, a->size, out)) return false;
    /* .n is the last axis's. */
    for (size_t i = 0; i + 1 < a->n && !o->s[0]; i++) a->size[i] = -1;
    return true;
}
static xt_fft_opts of_axis(const sized_axes *a, size_t i, const xt_fft_opts *o) {
    return XT_OPTS(xt_fft_opts, .n = a->size[i], .norm = o->norm);
}
xt_tensor xt_rfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    sized_axes a;
    xt_tensor failed;
    if (!named_axes(src, "xt_rfftn", x, axes, &o, &a, &failed)) return failed;
    x = xt_rfft_at(src, x, (int)a.axis[a.n - 1], of_axis(&a, a.n - 1, &o));
    for (size_t i = a.n - 1; i-- > 0;) x = xt_fft_at(src, x, (int)a.axis[i], of_axis(&a, i, &o));
    return x;
}
xt_tensor xt_irfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    sized_axes a;
    xt_tensor failed;
    if (!named_axes(src, "xt_irfftn", x, axes, &o, &a, &failed)) return failed;
    for (size_t i = 0; i + 1 < a.n; i++) x = xt_ifft_at(src, x, (int)a.axis[i], of_axis(&a, i, &o));
    return xt_irfft_at(src, x, (int)a.axis[a.n - 1], of_axis(&a, a.n - 1, &o));
}

/* --- short-time Fourier transform --- */
/* The window, or ones, in the middle of n_fft samples. */
static xt_tensor whole_window(const xt_src *src, xt_tensor window, int64_t length, int64_t n_fft, xt_dtype dtype) {
    if (xt_is_none(window)) window = xt_full_at(src, 1, dtype, (int64_t[]){length, 0});
    int64_t before = (n_fft - length) / 2;
    return xt_pad_at(src, window, (xt_list){2, {before, n_fft - length - before}}, XT_OPTS(xt_pad_opts, ));
}

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
    xt_tensor frames = xt_unfold_axis_at(src, x, -1, n_fft, hop);
    if (length < n_fft || tw)
        frames = xt_mul_at(src, frames, whole_window(src, o.window, length, n_fft, t ? t->dtype : XT_F32));
    xt_fft_opts fft = XT_OPTS(xt_fft_opts, .norm = o.normalized ? XT_FFT_ORTHO : XT_FFT_BACKWARD);
    xt_tensor f = o.two_sided ? xt_fft_at(src, frames, -1, fft) : xt_rfft_at(src, frames, -1, fft);
    return xt_transpose_at(src, f, -1, -2);
}

/* Frames [...,frames,n] added up, hop apart: [...,(frames - 1) hop + n]. Each frame is cut into pieces of hop samples,
 * and pieces of one number lie side by side. */
static xt_tensor overlapped(const xt_src *src, xt_tensor x, int64_t n, int64_t hop) {
    const ir_type *t = lazy_type(x);
    if (!t) return lazy_failed_tensor(src);
    int64_t pieces = (n + hop - 1) / hop, frames = t->dims[t->rank - 2], dims[XT_MAX_RANK + 1] = {0};
    memcpy(dims, t->dims, (t->rank - 2) * sizeof *dims);
    dims[t->rank - 2] = frames * hop;
    x = xt_pad_at(src, x, (xt_list){2, {0, pieces * hop - n}}, XT_OPTS(xt_pad_opts, ));
    xt_tensor sum = {0};
    for (int64_t k = 0; k < pieces; k++) {
        xt_tensor piece = xt_reshape_at(src, xt_slice_at(src, x, -1, k * hop, (k + 1) * hop), dims);
        piece = xt_pad_at(src, piece, (xt_list){2, {k * hop, (pieces - 1 - k) * hop}}, XT_OPTS(xt_pad_opts, ));
        sum = k ? xt_add_at(src, sum, piece) : piece;
    }
    return xt_slice_at(src, sum, -1, 0, (frames - 1) * hop + n);
}

xt_tensor xt_istft_at(const xt_src *src, xt_tensor x, int64_t n_fft, xt_istft_opts o) {
    const ir_type *t = lazy_type(x), *tw = xt_is_none(o.window) ? NULL : lazy_type(o.window);
    ops_text sx, sw;
    int64_t hop = o.hop != -1 ? o.hop : n_fft / 4, length = o.win_length != -1 ? o.win_length : n_fft,
            frequencies = o.two_sided ? n_fft : n_fft / 2 + 1;
    if (!t || (!xt_is_none(o.window) && !tw)) return lazy_failed_tensor(src);
    if (t->rank < 2 || !ir_dtype_is_complex(t->dtype) || n_fft < 1 || hop < 1 || length < 1 || length > n_fft ||
        t->dims[t->rank - 2] != frequencies || t->dims[t->rank - 1] < 1 || (o.length < 1 && o.length != -1) ||
        (tw && (tw->rank != 1 || tw->dims[0] != length)))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_istft: x %s %s, n_fft %lld, .hop %lld, .win_length %lld, .window %s, .length %lld: complex "
            "[...,%lld frequencies,frames], a hop of at least 1, a window of .win_length elements, at most "
            "n_fft, and a length of at least 1 or -1",
            xt_dtype_name(t->dtype), ops_shape(t, &sx), (long long)n_fft, (long long)hop, (long long)length,
            tw ? ops_shape(tw, &sw) : "none", (long long)o.length, (long long)frequencies);
    xt_dtype real = t->dtype == XT_C128 ? XT_F64 : XT_F32;
    xt_fft_opts fft = XT_OPTS(xt_fft_opts, .n = n_fft, .norm = o.normalized ? XT_FFT_ORTHO : XT_FFT_BACKWARD);
    int64_t frames = t->dims[t->rank - 1], all = (frames - 1) * hop + n_fft;
    xt_tensor f = xt_transpose_at(src, x, -1, -2), window = whole_window(src, o.window, length, n_fft, real);
    /* a real signal's other half says nothing new */
    f = xt_irfft_at(src, o.two_sided ? xt_slice_at(src, f, -1, 0, n_fft / 2 + 1) : f, -1, fft);
    xt_tensor y = overlapped(src, xt_mul_at(src, f, window), n_fft, hop);
    xt_tensor squares = xt_broadcast_to_at(src, xt_square_at(src, window), (int64_t[]){frames, n_fft, 0});
    squares = overlapped(src, squares, n_fft, hop);
    int64_t start = o.center != XT_OFF ? n_fft / 2 : 0, end = o.center != XT_OFF ? all - n_fft / 2 : all;
    if (o.length != -1) end = start + o.length;
    int64_t stop = end < all ? end : all; /* cut first: the ends that go may have no window over them */
    y = xt_div_at(src, xt_slice_at(src, y, -1, start, stop), xt_slice_at(src, squares, -1, start, stop));
    return end > all ? xt_pad_at(src, y, (xt_list){2, {0, end - all}}, XT_OPTS(xt_pad_opts, )) : y;
}
