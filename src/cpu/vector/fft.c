/* Plans of Fourier transforms: twiddles are calculated in double and rounded once. */
#include "cpu/vector/fft.h"

#include <math.h>

#include "cpu/vector/simd.h"

const fft_fns *fft_get(void) {
#if defined(__x86_64__)
    if (simd_level() == 2) return &fft_avx512;
    if (simd_level() == 1) return &fft_avx2;
#endif
    return &fft_base;
}

/* e^(-2 pi i k / n), the angle reduced before it is rounded. */
static void root(int64_t k, int64_t n, double out[2]) {
    double angle = -2 * M_PI * (double)(k % n) / (double)n;
    out[0] = cos(angle);
    out[1] = sin(angle);
}

static void put(void *table, bool wide, size_t at, const double v[2]) {
    for (int k = 0; k < 2; k++) {
        if (wide)
            ((double *)table)[2 * at + (size_t)k] = v[k];
        else
            ((float *)table)[2 * at + (size_t)k] = (float)v[k];
    }
}

void *fft_turns(int64_t n, bool wide) {
    void *table = base_malloc((size_t)(n / 4 + 1) * 2 * (wide ? sizeof(double) : sizeof(float)));
    for (int64_t k = 0; table && k <= n / 4; k++) {
        double v[2];
        root(k, n, v);
        put(table, wide, (size_t)k, v);
    }
    return table;
}

static int radix_of(int64_t n) {
    if (n % 4 == 0) return 4;
    if (n % 2 == 0) return 2;
    for (int r = 3; r <= FFT_MAX_RADIX; r += 2)
        if (n % r == 0) return r;
    return 0;
}

/* The passes of a length without large primes; false otherwise. */
static bool make_passes(fft_plan *p, size_t *out_entries) {
    int64_t left = p->n, s = 1;
    *out_entries = 0;
    while (left > 1) {
        int r = radix_of(left);
        if (!r || p->n_passes == FFT_MAX_PASSES) return false;
        p->passes[p->n_passes++] = (fft_pass){r, left, s, *out_entries};
        *out_entries += (size_t)(left / r * (r - 1)) + (size_t)r;
        left /= r;
        s *= r;
    }
    return true;
}

static void fill_twiddles(fft_plan *p) {
    double v[2];
    for (int i = 0; i < p->n_passes; i++) {
        const fft_pass *q = &p->passes[i];
        size_t at = q->twiddles;
        for (int64_t k = 0; k < q->n / q->radix; k++)
            for (int j = 1; j < q->radix; j++) {
                root(k * j, q->n, v);
                put(p->table, p->wide, at++, v);
            }
        for (int j = 0; j < q->radix; j++) {
            root(j, q->radix, v);
            put(p->table, p->wide, at++, v);
        }
    }
}

/* e^(-i pi k^2 / n) for k < n, and the spectrum of its conjugate, repeated around inner->n and divided by it. */
static xt_status make_bluestein(fft_plan *p) {
    int64_t m = 1;
    size_t pair = p->wide ? 2 * sizeof(double) : 2 * sizeof(float);
    while (m < 2 * p->n - 1) m *= 2;
    XT_TRY(fft_plan_new(m, true, &p->inner)); /* wide while the spectrum is made */
    p->chirp = base_calloc((size_t)p->n, pair);
    p->spectrum = base_calloc((size_t)m, pair);
    double *work = base_aligned(64, fft_work_bytes(p->inner));
    if (!p->chirp || !p->spectrum || !work) {
        base_free(work);
        return status_oom((size_t)m * pair, "a Fourier transform");
    }
    double *re = work, *im = work + m * FFT_LANES;
    memset(work, 0, 2 * (size_t)m * FFT_LANES * sizeof *work);
    for (int64_t k = 0; k < p->n; k++) {
        double v[2];
        root((int64_t)((uint64_t)k * (uint64_t)k % (2 * (uint64_t)p->n)), 2 * p->n, v);
        put(p->chirp, p->wide, (size_t)k, v);
        re[k * FFT_LANES] = v[0], im[k * FFT_LANES] = -v[1];
        if (k) re[(m - k) * FFT_LANES] = v[0], im[(m - k) * FFT_LANES] = -v[1];
    }
    const double *got = fft_run(p->inner, work, false);
    for (int64_t k = 0; k < m; k++) {
        double v[2] = {got[k * FFT_LANES] / (double)m, got[(m + k) * FFT_LANES] / (double)m};
        put(p->spectrum, p->wide, (size_t)k, v);
    }
    base_free(work);
    if (p->wide) return NULL;
    fft_plan_free(p->inner);
    p->inner = NULL;
    return fft_plan_new(m, false, &p->inner);
}

xt_status fft_plan_new(int64_t n, bool wide, fft_plan **out) {
    fft_plan *p = *out = base_calloc(1, sizeof *p);
    size_t entries;
    if (!p) return status_oom(sizeof *p, "a Fourier transform");
    p->n = n;
    p->wide = wide;
    xt_status s = NULL;
    if (make_passes(p, &entries)) {
        p->table = base_calloc(entries + 1, wide ? 2 * sizeof(double) : 2 * sizeof(float));
        if (!p->table) s = status_oom(entries * sizeof(double), "a Fourier transform");
        if (!s) fill_twiddles(p);
    } else {
        p->n_passes = 0;
        s = make_bluestein(p);
    }
    if (!s) return NULL;
    fft_plan_free(p);
    *out = NULL;
    return s;
}

void fft_plan_free(fft_plan *p) {
    if (!p) return;
    fft_plan_free(p->inner);
    base_free(p->table);
    base_free(p->chirp);
    base_free(p->spectrum);
    base_free(p);
}

size_t fft_work_bytes(const fft_plan *p) {
    int64_t n = p->inner ? p->inner->n : p->n;
    return 4 * (size_t)n * FFT_LANES * (p->wide ? sizeof(double) : sizeof(float));
}

#define RUN(T, t)                                                                                                \
    static T *run_##t(const fft_plan *p, T *work, bool inverse) {                                                \
        int64_t n = p->n * FFT_LANES;                                                                            \
        T *x = work, *y = work + 2 * n;                                                                          \
        for (int i = 0; i < p->n_passes; i++) {                                                                  \
            T *xr = inverse ? x + n : x, *xi = inverse ? x : x + n, *yr = inverse ? y + n : y,                   \
              *yi = inverse ? y : y + n, *swap = x;                                                              \
            fft_get()->pass_##t(&p->passes[i], (const T *)p->table + 2 * p->passes[i].twiddles, xr, xi, yr, yi); \
            x = y;                                                                                               \
            y = swap;                                                                                            \
        }                                                                                                        \
        return x;                                                                                                \
    }                                                                                                            \
    /* x times chirp, convolved with the chirp's conjugate, times chirp. */                                      \
    static T *bluestein_##t(const fft_plan *p, T *work, bool inverse) {                                          \
        int64_t n = p->n, m = p->inner->n;                                                                       \
        const T *c = p->chirp, *b = p->spectrum;                                                                 \
        T *re = work, *im = work + m * FFT_LANES, *given = work + 2 * m * FFT_LANES;                             \
        memcpy(given, work, 2 * (size_t)(n * FFT_LANES) * sizeof *work);                                         \
        const T *gr = inverse ? given + n * FFT_LANES : given, *gi = inverse ? given : given + n * FFT_LANES;    \
        for (int64_t k = 0; k < n; k++)                                                                          \
            for (int64_t j = k * FFT_LANES; j < (k + 1) * FFT_LANES; j++) {                                      \
                re[j] = gr[j] * c[2 * k] - gi[j] * c[2 * k + 1];                                                 \
                im[j] = gr[j] * c[2 * k + 1] + gi[j] * c[2 * k];                                                 \
            }                                                                                                    \
        memset(re + n * FFT_LANES, 0, (size_t)((m - n) * FFT_LANES) * sizeof *re);                               \
        memset(im + n * FFT_LANES, 0, (size_t)((m - n) * FFT_LANES) * sizeof *im);                               \
        T *x = run_##t(p->inner, work, false), *xr = x, *xi = x + m * FFT_LANES;                                 \
        for (int64_t k = 0; k < m; k++)                                                                          \
            for (int64_t j = k * FFT_LANES; j < (k + 1) * FFT_LANES; j++) {                                      \
                T r = xr[j] * b[2 * k] - xi[j] * b[2 * k + 1];                                                   \
                xi[j] = xr[j] * b[2 * k + 1] + xi[j] * b[2 * k];                                                 \
                xr[j] = r;                                                                                       \
            }                                                                                                    \
        if (x != work) memcpy(work, x, 2 * (size_t)(m * FFT_LANES) * sizeof *work);                              \
        x = run_##t(p->inner, work, true), xr = x, xi = x + m * FFT_LANES;                                       \
        T *to = x == work ? work + 2 * m * FFT_LANES : work, *yr = inverse ? to + n * FFT_LANES : to,            \
          *yi = inverse ? to : to + n * FFT_LANES;                                                               \
        for (int64_t k = 0; k < n; k++)                                                                          \
            for (int64_t j = k * FFT_LANES; j < (k + 1) * FFT_LANES; j++) {                                      \
                yr[j] = xr[j] * c[2 * k] - xi[j] * c[2 * k + 1];                                                 \
                yi[j] = xr[j] * c[2 * k + 1] + xi[j] * c[2 * k];                                                 \
            }                                                                                                    \
        return to;                                                                                               \
    }
RUN(float, f32)
RUN(double, f64)

void *fft_run(const fft_plan *p, void *work, bool inverse) {
    if (p->wide) return p->inner ? bluestein_f64(p, work, inverse) : run_f64(p, work, inverse);
    return p->inner ? bluestein_f32(p, work, inverse) : run_f32(p, work, inverse);
}
