/* Complex numbers and Fourier transforms. What ops.h says of all holds here. */
#ifndef XTRAIN_FOURIER_H
#define XTRAIN_FOURIER_H

#include <xtrain/lists.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Complex numbers and Fourier transforms --- */
#define xt_complex(x, y) xt_complex_at(XT_HERE, x, y) /* real and imaginary part, f32 or f64 */
#define xt_polar(size, angle) xt_polar_at(XT_HERE, size, angle) /* size e^(i angle), complex */
#define xt_real(x) xt_real_at(XT_HERE, x) /* the real parts, [...] */
#define xt_imag(x) xt_imag_at(XT_HERE, x) /* the imaginary parts, [...] */
#define xt_conj(x) xt_conj_at(XT_HERE, x) /* with the imaginary parts negated */
#define xt_angle(x) xt_angle_at(XT_HERE, x) /* atan2(imag, real), radians */
#define xt_view_as_real(x) xt_view_as_real_at(XT_HERE, x) /* [...] complex -> [...,2] */
#define xt_view_as_complex(x) xt_view_as_complex_at(XT_HERE, x) /* [...,2] -> [...] */
XT_API xt_tensor xt_complex_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_complex)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_polar_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_polar)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_real_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_real)(xt_tensor x);
XT_API xt_tensor xt_imag_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_imag)(xt_tensor x);
XT_API xt_tensor xt_conj_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_conj)(xt_tensor x);
XT_API xt_tensor xt_angle_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_angle)(xt_tensor x);
XT_API xt_tensor xt_view_as_real_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_view_as_real)(xt_tensor x);
XT_API xt_tensor xt_view_as_complex_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_view_as_complex)(xt_tensor x);
/* Which direction of a Fourier transform is divided by n. */
typedef enum xt_fft_norm {
    XT_FFT_BACKWARD, /* the inverse */
    XT_FFT_ORTHO, /* both, by the root of n */
    XT_FFT_FORWARD /* the forward one */
} xt_fft_norm;
#define XT_DEFAULTS_xt_fft_opts(is) is(n, -1)
XT_DEFAULTS_OF(xt_fft_opts)
typedef struct XT_OPTIONS_ xt_fft_opts {
    size_t struct_size XT_SIZE(xt_fft_opts);
    int64_t n XT_IS(xt_fft_opts, n); /* the axis is cut or filled up to it; -1 = its size (irfft: 2 (size - 1)) */
    xt_fft_norm norm XT_ZERO; /* which direction is divided by n; default the inverse */
    /* of several axes: the size of each, as .n of one; beside XT_ALL_AXES those of the last axes, which alone are
     * transformed */
    int64_t s[XT_MAX_RANK] XT_ZERO;
} xt_fft_opts;
/* xt_fft(x, axis, .n, .norm) */
/* along one axis: sum of x[n] e^(-2 pi i k n / N) */
#define xt_fft(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fft(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_fft_at, xt_fft_opts, x, __VA_ARGS__, ))
/* xt_ifft(x, axis, .n, .norm) */
/* the way back from xt_fft, divided by N */
#define xt_ifft(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_ifft(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_ifft_at, xt_fft_opts, x, __VA_ARGS__, ))
/* xt_rfft(x, axis, .n, .norm) */
/* of real x: the N / 2 + 1 terms that tell the others */
#define xt_rfft(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_rfft(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_rfft_at, xt_fft_opts, x, __VA_ARGS__, ))
/* xt_irfft(x, axis, .n, .norm) */
/* the way back from xt_rfft, real */
#define xt_irfft(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_irfft(x, axis, ...): axis is missing"), \
     XT_OPT2N_(xt_irfft_at, xt_fft_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_fft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_ifft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_rfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);
XT_API xt_tensor xt_irfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o);

/* Over several axes, one after the other, xt_fftn(x, axes, .norm, .s = {8, 8}); the zero frequency moved to the middle
 * and back. */
#define xt_fftn(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fftn(x, axes, ...): axes is missing"), \
     XT_OPT2L_(xt_fftn_at, xt_fft_opts, x, __VA_ARGS__, ))
/* the way back from xt_fftn */
#define xt_ifftn(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_ifftn(x, axes, ...): axes is missing"), \
     XT_OPT2L_(xt_ifftn_at, xt_fft_opts, x, __VA_ARGS__, ))
/* the last axis real, .n is about it */
#define xt_rfftn(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_rfftn(x, axes, ...): axes is missing"), \
     XT_OPT2L_(xt_rfftn_at, xt_fft_opts, x, __VA_ARGS__, ))
/* the way back from xt_rfftn, real */
#define xt_irfftn(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_irfftn(x, axes, ...): axes is missing"), \
     XT_OPT2L_(xt_irfftn_at, xt_fft_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_rfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_irfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
/* f32 [n]: frequencies of n samples d apart */
/* xt_fftfreq(n, d = 1) */
#define xt_fftfreq(...) XT_FFTFREQ_(__VA_ARGS__, 1, )
#define XT_FFTFREQ_(n, d, ...) (XT_LAST_(1, __VA_ARGS__), xt_fftfreq_at(XT_HERE, XT_NUMBER_(n), XT_NUMBER_(d), false))
/* xt_rfftfreq(n, d = 1): f32 [n/2+1] */
#define xt_rfftfreq(...) XT_RFFTFREQ_(__VA_ARGS__, 1, )
#define XT_RFFTFREQ_(n, d, ...) (XT_LAST_(1, __VA_ARGS__), xt_fftfreq_at(XT_HERE, XT_NUMBER_(n), XT_NUMBER_(d), true))
XT_API xt_tensor xt_fftfreq_at(const xt_src *src, int64_t n, double d, bool half);
/* torch.signal.windows: [n], of floats. PyTorch's stft takes periodic ones (symmetric false), whose next element
 * would be the first again. xt_window(XT_WINDOW_KAISER, 400, false, XT_F32, .beta = 14) */
typedef enum xt_window_kind {
    XT_WINDOW_HANN, /* (1 - cos) / 2 */
    XT_WINDOW_HAMMING, /* .alpha */
    XT_WINDOW_BLACKMAN, /* 0.42 - 0.5 cos + 0.08 cos 2 */
    XT_WINDOW_BARTLETT, /* a triangle */
    XT_WINDOW_COSINE, /* half a sine */
    XT_WINDOW_KAISER, /* .beta */
    XT_WINDOW_GAUSSIAN, /* .std */
    XT_WINDOW_EXPONENTIAL, /* .tau */
    XT_WINDOW_NUTTALL /* three cosines: the smallest side lobes */
} xt_window_kind;
#define XT_DEFAULTS_xt_window_opts(is) is(alpha, 0.54) is(beta, 12) is(std, 1) is(tau, 1)
XT_DEFAULTS_OF(xt_window_opts)
typedef struct XT_OPTIONS_ xt_window_opts {
    size_t struct_size XT_SIZE(xt_window_opts);
    double alpha XT_IS(xt_window_opts, alpha); /* alpha - (1 - alpha) cos */
    double beta XT_IS(xt_window_opts, beta); /* the larger, the smaller the ends */
    double std XT_IS(xt_window_opts, std), tau XT_IS(xt_window_opts, tau); /* in elements; above 0 */
} xt_window_opts;
#define xt_window(kind, n, symmetric, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_window(kind, n, symmetric, dtype, ...): dtype is missing"), \
     XT_WINDOW_(kind, n, symmetric, __VA_ARGS__, ))
#define XT_WINDOW_(kind, n, symmetric, dtype, ...)                                                    \
    xt_window_at(XT_HERE, XT_WORD_(xt_window_kind, kind), XT_NUMBER_(n), symmetric, XT_DTYPE_(dtype), \
                 XT_OPTS(xt_window_opts, __VA_ARGS__))
XT_API xt_tensor xt_window_at(const xt_src *src, xt_window_kind kind, int64_t n, bool symmetric, xt_dtype dtype,
                              xt_window_opts o);
#define XT_DEFAULTS_xt_stft_opts(is) is(hop, -1) is(win_length, -1) is(center, XT_ON)
XT_DEFAULTS_OF(xt_stft_opts)
typedef struct XT_OPTIONS_ xt_stft_opts {
    size_t struct_size XT_SIZE(xt_stft_opts);
    int64_t hop XT_IS(xt_stft_opts, hop); /* -1 = n_fft / 4 */
    int64_t win_length XT_IS(xt_stft_opts, win_length); /* -1 = n_fft; a shorter window stands in the middle */
    xt_tensor window XT_ZERO; /* [win_length]; none: ones */
    xt_switch center XT_IS(xt_stft_opts, center); /* default on: frames are centred, the ends padded by n_fft / 2 */
    bool zero_pad XT_ZERO; /* with zeros; default: reflected */
    bool normalized XT_ZERO; /* divided by sqrt(n_fft) */
    bool two_sided XT_ZERO; /* n_fft frequencies; default n_fft / 2 + 1 */
} xt_stft_opts;
/* xt_stft(x, n_fft, .hop): [...,samples] -> complex [...,frequencies,frames] */
#define xt_stft(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_stft(x, n_fft, ...): n_fft is missing"), \
     XT_OPT2N_(xt_stft_at, xt_stft_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_stft_at(const xt_src *src, xt_tensor x, int64_t n_fft, xt_stft_opts o);
/* frequency 0 moves to the middle of each axis */
#define xt_fftshift(x, axes) xt_fftshift_at(XT_HERE, x, XT_AXES_OF_(axes))
#define xt_ifftshift(x, axes) xt_ifftshift_at(XT_HERE, x, XT_AXES_OF_(axes)) /* the way back from xt_fftshift */
XT_API xt_tensor xt_fftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_ifftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o);
XT_API xt_tensor xt_fftshift_at(const xt_src *src, xt_tensor x, xt_list axes);
XT_API xt_tensor xt_ifftshift_at(const xt_src *src, xt_tensor x, xt_list axes);

#ifdef __cplusplus
}
#endif
#endif
