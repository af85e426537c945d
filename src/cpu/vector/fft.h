/* Fourier transforms of many lines abreast: element k of FFT_LANES lines lies side by side, so every pass is plain
 * loops over contiguous memory whatever the radix. Real and imaginary parts are kept apart; an inverse transform is a
 * forward one with the parts exchanged.
 *
 * Passes are Stockham's (no bit reversal): radix 4, 2, 3, 5 and small odd primes. Lengths with larger prime factors go
 * through a convolution of a power of two (Bluestein 1970). Compiled once per instruction set (fft_*.c include
 * fft.inc), picked as the vector loops are. */
#ifndef XT_SRC_CPU_VECTOR_FFT_H
#define XT_SRC_CPU_VECTOR_FFT_H

#include "base/base.h"

enum { FFT_LANES = 16, FFT_MAX_PASSES = 64, FFT_MAX_RADIX = 13 };

typedef struct fft_pass {
    int radix;
    int64_t n, s; /* of the sequences that are left, and how many of them lie between neighbours */
    size_t twiddles; /* in the plan's table: [n / radix][radix - 1] pairs */
} fft_pass;
typedef struct fft_plan {
    int64_t n;
    bool wide; /* f64 */
    int n_passes;
    fft_pass passes[FFT_MAX_PASSES];
    void *table; /* twiddles of all passes, float or double pairs */
    struct fft_plan *inner; /* Bluestein: of length inner->n */
    void *chirp, *spectrum; /* n pairs; inner->n pairs */
} fft_plan;
xt_status fft_plan_new(int64_t n, bool wide, fft_plan **out);
void fft_plan_free(fft_plan *p);
size_t fft_work_bytes(const fft_plan *p); /* memory that one block of lanes needs, its data included */
/* Transforms the block at the start of `work`: re[n][FFT_LANES], then im. Gives where the result lies: its re, im
 * follows n * FFT_LANES later. */
void *fft_run(const fft_plan *p, void *work, bool inverse);

/* e^(-2 pi i k / n) for k <= n / 4, of the plan's type: base_free. NULL without memory. */
void *fft_turns(int64_t n, bool wide);

/* Per instruction set. x and y are two blocks of data (re, im); the result's block is returned. */
typedef struct fft_fns {
    void (*pass_f32)(const fft_pass *p, const float *w, const float *xr, const float *xi, float *yr, float *yi);
    void (*pass_f64)(const fft_pass *p, const double *w, const double *xr, const double *xi, double *yr, double *yi);
    /* The spectrum (h + 1 rows) of real lines from the transform of their pairs (h rows), and twice that from it; w:
     * fft_turns. */
    void (*split_f32)(int64_t h, const float *w, const float *z, float *x);
    void (*split_f64)(int64_t h, const double *w, const double *z, double *x);
    void (*merge_f32)(int64_t h, const float *w, const float *x, float *z);
    void (*merge_f64)(int64_t h, const double *w, const double *x, double *z);
    /* n elements, `step` pairs apart, of FFT_LANES lines that lie side by side; and back times `scale`. */
    void (*load_rows_f32)(const float *src, int64_t step, int64_t n, float *re, float *im);
    void (*load_rows_f64)(const double *src, int64_t step, int64_t n, double *re, double *im);
    void (*store_rows_f32)(float *dst, int64_t step, int64_t n, const float *re, const float *im, float scale);
    void (*store_rows_f64)(double *dst, int64_t step, int64_t n, const double *re, const double *im, double scale);
    /* Pairs k .. k + 7 of FFT_LANES lines to the block re, im, and back times `scale`; NULL: element by element. */
    void (*load8_f32)(const float *const line[FFT_LANES], float *re, float *im);
    void (*store8_f32)(float *const line[FFT_LANES], const float *re, const float *im, float scale);
} fft_fns;
const fft_fns *fft_get(void); /* of this machine */
extern const fft_fns fft_base;
#if defined(__x86_64__)
extern const fft_fns fft_avx2, fft_avx512;
#endif

#endif
