/* wino.h for f32 on AVX-512: forward, and gradients of images. */
#include "cpu/vector/wino.h"

#include "cpu/vector/simd.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
#include <immintrin.h>

typedef float element;
static inline __m512 load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void store(float *p, __m512 v) {
    _mm512_storeu_ps(p, v);
}
#include "cpu/vector/wino.inc"

static void input(const wino_tiles *t, const wino_image *i, const void *src, int64_t from, int64_t to, bool paired,
                  int64_t point_step, void *out) {
    (void)paired;
    tile_points(t, i, src, from, to, point_step, out);
}

static void kernel(const void *kernels, int64_t out_step, int64_t in_step, const int64_t tap_step[2], bool flipped,
                   int64_t columns, int64_t point_step, void *points) {
    const float *w = kernels;
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                  apart = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int32_t)out_step));
    /* 16 kernels at a time, which may lie far apart: all 64 fall into too few sets of the first-level cache */
    for (int64_t o = 0; o < columns; o += LANES)
        for (int64_t i = 0; i < LANES; i++) {
            const float *from = w + o * out_step + i * in_step;
            __m512 g[9], u[4][4];
            for (int tap = 0; tap < 9; tap++)
                g[flipped ? 8 - tap : tap] =
                    _mm512_i32gather_ps(apart, from + tap / 3 * tap_step[0] + tap % 3 * tap_step[1], sizeof *from);
            kernel_points(g, u);
            for (int p = 0; p < WINO_POINTS; p++)
                store((float *)points + p * point_step + i * columns + o, u[p / 4][p % 4]);
        }
}

/* ROWS x VECTORS sums stay in registers, of up to LONGEST products: the rounding of a sum grows with its length, so
 * longer ones are made of several. */
enum { LONGEST = 64 };
#define PRODUCT(ROWS, VECTORS)                                                                                 \
    static void product_##ROWS                                                                                 \
    ##_##VECTORS(const float *a, int64_t a_row, int64_t a_k, const float *b, int64_t b_k, float *c, int64_t k, \
                 bool add) {                                                                                   \
        for (int64_t end; k > 0; k -= LONGEST, add = true) {                                                   \
            __m512 s[ROWS][VECTORS];                                                                           \
            for (int r = 0; r < ROWS; r++)                                                                     \
                for (int v = 0; v < VECTORS; v++) s[r][v] = _mm512_setzero_ps();                               \
            end = k < LONGEST ? k : LONGEST;                                                                   \
            for (int64_t i = 0; i < end; i++, a += a_k, b += b_k) {                                            \
                __m512 bv[VECTORS];                                                                            \
                for (int v = 0; v < VECTORS; v++) bv[v] = _mm512_loadu_ps(b + v * LANES);                      \
                for (int r = 0; r < ROWS; r++) {                                                               \
                    __m512 av = _mm512_set1_ps(a[r * a_row]);                                                  \
                    for (int v = 0; v < VECTORS; v++) s[r][v] = _mm512_fmadd_ps(av, bv[v], s[r][v]);           \
                }                                                                                              \
            }                                                                                                  \
            for (int r = 0; r < ROWS; r++)                                                                     \
                for (int v = 0; v < VECTORS; v++) {                                                            \
                    float *at = c + (r * VECTORS + v) * LANES;                                                 \
                    _mm512_storeu_ps(at, add ? _mm512_add_ps(_mm512_loadu_ps(at), s[r][v]) : s[r][v]);         \
                }                                                                                              \
        }                                                                                                      \
    }
PRODUCT(6, 4)
PRODUCT(4, 4)
PRODUCT(2, 4)
PRODUCT(1, 4)
PRODUCT(12, 2)
PRODUCT(4, 2)
PRODUCT(1, 2)
PRODUCT(12, 1)
PRODUCT(4, 1)
PRODUCT(1, 1)

typedef struct part { /* so many rows at a time */
    int64_t rows;
    void (*run)(const float *a, int64_t a_row, int64_t a_k, const float *b, int64_t b_k, float *c, int64_t k, bool add);
} part;

static void product(const void *a, int64_t a_row, int64_t a_k, const void *b, int64_t b_k, float *c, int64_t columns,
                    int64_t rows, int64_t k, bool add) {
    static const part wide[] = {{6, product_6_4}, {4, product_4_4}, {2, product_2_4}, {1, product_1_4}},
                      half[] = {{12, product_12_2}, {4, product_4_2}, {1, product_1_2}},
                      narrow[] = {{12, product_12_1}, {4, product_4_1}, {1, product_1_1}};
    const part *p = columns == 4 * LANES ? wide : columns == 2 * LANES ? half : narrow;
    for (int64_t r = 0; r < rows; r += p->rows) {
        while (p->rows > rows - r) p++;
        p->run((const float *)a + r * a_row, a_row, a_k, b, b_k, c + r * columns, k, add);
    }
}

static const wino_ops ops = {
    .elem = sizeof(element), .pack = 1, .input = input, .output = output, .kernel = kernel, .product = product};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

const wino_ops *wino_get_f32(void) {
#if defined(__x86_64__)
    if (simd_level() == 2) return &ops;
#endif
    return NULL;
}
