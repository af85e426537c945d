/* wino.h for bf16 on AVX-512 with products of bf16. */
#include "cpu/vector/wino.h"

#include "cpu/vector/simd.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")
#endif
#include <immintrin.h>

typedef uint16_t element;
static inline __m512 widen(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
static inline __m512 load(const uint16_t *p) {
    return widen(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline __m256i narrow(__m512 v) {
    return (__m256i)_mm512_cvtneps_pbh(v);
}
static inline void store(uint16_t *p, __m512 v) {
    _mm256_storeu_si256((__m256i *)(void *)p, narrow(v));
}
#include "cpu/vector/wino.inc"

/* Two values side by side in each lane: what one step of a product reads. */
ALWAYS __m512i interleave(__m512i first_then_second) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, first_then_second);
}
ALWAYS __m512i pair(__m512 first, __m512 second) {
    return interleave((__m512i)_mm512_cvtne2ps_pbh(second, first));
}

ALWAYS void gradient_points(const wino_image *i, const uint16_t *plane, place at, __m512 d[4][4]) {
    bool row = at.y + 1 < i->h, column = at.x + 1 < i->w;
    const uint16_t *first = plane + (at.y * i->w + at.x) * LANES, *below = first + i->w * LANES;
    __m512 zero = _mm512_setzero_ps();
    d[0][0] = load(first), d[0][1] = column ? load(first + LANES) : zero;
    d[1][0] = row ? load(below) : zero, d[1][1] = row && column ? load(below + LANES) : zero;
    for (int c = 0; c < 2; c++) {
        __m512 a = d[0][c], b = d[1][c];
        d[1][c] = _mm512_add_ps(a, b), d[2][c] = _mm512_sub_ps(a, b), d[3][c] = _mm512_sub_ps(zero, b);
    }
    for (int r = 0; r < 4; r++) {
        __m512 a = d[r][0], b = d[r][1];
        d[r][1] = _mm512_add_ps(a, b), d[r][2] = _mm512_sub_ps(a, b), d[r][3] = _mm512_sub_ps(zero, b);
    }
}

/* The points of two tiles; beyond the last one they are zeros. */
ALWAYS void paired_points(const wino_tiles *t, const wino_image *i, const void *src, int64_t from, int64_t to,
                          bool gradient, int64_t point_step, uint16_t *out) {
    for (int64_t block = 0; block < i->c / LANES; block++) {
        place at = place_of(t, i, from);
        pixel_columns k = {.there = false};
        for (int64_t tile = from; tile < to; tile += 2) {
            __m512 d[2][4][4];
            for (int n = 0; n < 2; n++) {
                if (at.image >= t->n)
                    for (int p = 0; p < WINO_POINTS; p++) d[n][p / 4][p % 4] = _mm512_setzero_ps();
                else if (gradient)
                    gradient_points(i, plane_of(i, src, at, block), at, d[n]);
                else
                    input_points(i, plane_of(i, src, at, block), at, &k, d[n]);
                k.there = step(t, i, &at);
            }
            uint16_t *o = out + ((tile - from) / 2 * i->c + block * LANES) * 2;
            for (int p = 0; p < WINO_POINTS; p++)
                _mm512_storeu_si512(o + p * point_step, pair(d[0][p / 4][p % 4], d[1][p / 4][p % 4]));
        }
    }
}

static void input(const wino_tiles *t, const wino_image *i, const void *src, int64_t from, int64_t to, bool paired,
                  int64_t point_step, void *out) {
    if (paired)
        paired_points(t, i, src, from, to, false, point_step, out);
    else
        tile_points(t, i, src, from, to, point_step, out);
}

static void gradient(const wino_tiles *t, const wino_image *i, const void *src, int64_t from, int64_t to,
                     int64_t point_step, void *out) {
    paired_points(t, i, src, from, to, true, point_step, out);
}

/* Where a position's pixel lies in its image's first block; negative: outside. */
ALWAYS int64_t pixel_at(const wino_tiles *t, const wino_image *i, const int64_t stride[2], int64_t position) {
    int64_t per = t->rows * t->cols, rest = position % per, y = rest / t->cols * stride[0] + i->y0,
            x = rest % t->cols * stride[1] + i->x0;
    if (position >= t->n * per || y < 0 || y >= i->h || x < 0 || x >= i->w) return -1;
    return ((position / per * (i->c / LANES) * i->h + y) * i->w + x) * LANES;
}

static void pixels(const wino_tiles *t, const wino_image *i, const int64_t stride[2], const uint16_t *src, int64_t from,
                   int64_t to, uint16_t *out) {
    int64_t step = i->h * i->w * LANES;
    for (int64_t position = from; position < to; position += 2) {
        int64_t a = pixel_at(t, i, stride, position), b = pixel_at(t, i, stride, position + 1);
        for (int64_t block = 0; block < i->c / LANES; block++, out += 2 * LANES) {
            __m256i first = _mm256_setzero_si256(), second = first;
            if (a >= 0) first = _mm256_loadu_si256((const __m256i *)(const void *)(src + a + block * step));
            if (b >= 0) second = _mm256_loadu_si256((const __m256i *)(const void *)(src + b + block * step));
            _mm512_storeu_si512(out, interleave(_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1)));
        }
    }
}

static void spread(const float *sums, int64_t out_step, uint16_t *out) {
    uint16_t half[LANES];
    store(half, _mm512_loadu_ps(sums));
    for (int64_t lane = 0; lane < LANES; lane++) out[lane * out_step] = half[lane];
}

/* Taps 0 to 7 of 16 kernels whose beginnings lie `step` apart, lane by lane: 8 x 16 halves turned over in registers. */
ALWAYS void read_taps(const uint16_t *w, int64_t step, __m256i t[8]) {
    __m256i a[8], b[8];
    for (int k = 0; k < 8; k++) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(w + k * step)),
                high = _mm_loadu_si128((const __m128i *)(const void *)(w + (k + 8) * step));
        a[k] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
    for (int k = 0; k < 4; k++) {
        b[2 * k] = _mm256_unpacklo_epi16(a[2 * k], a[2 * k + 1]);
        b[2 * k + 1] = _mm256_unpackhi_epi16(a[2 * k], a[2 * k + 1]);
    }
    for (int k = 0; k < 2; k++)
        for (int h = 0; h < 2; h++) {
            a[4 * k + 2 * h] = _mm256_unpacklo_epi32(b[4 * k + h], b[4 * k + 2 + h]);
            a[4 * k + 2 * h + 1] = _mm256_unpackhi_epi32(b[4 * k + h], b[4 * k + 2 + h]);
        }
    for (int k = 0; k < 4; k++) {
        t[2 * k] = _mm256_unpacklo_epi64(a[k], a[4 + k]);
        t[2 * k + 1] = _mm256_unpackhi_epi64(a[k], a[4 + k]);
    }
}

static void kernel(const void *kernels, int64_t out_step, int64_t in_step, const int64_t tap_step[2], bool flipped,
                   int64_t columns, int64_t point_step, void *points) {
    (void)tap_step;
    const uint16_t *w = kernels;
    uint16_t *out = points;
    for (int64_t i = 0; i < LANES; i += 2)
        for (int64_t o = 0; o < columns; o += LANES) {
            __m512 g[9], u[2][4][4];
            for (int k = 0; k < 2; k++) {
                const uint16_t *from = w + o * out_step + (i + k) * in_step;
                uint16_t last[LANES];
                __m256i t[8];
                read_taps(from, out_step, t);
                for (int64_t lane = 0; lane < LANES; lane++) last[lane] = from[lane * out_step + 8];
                for (int tap = 0; tap < 8; tap++) g[flipped ? 8 - tap : tap] = widen(t[tap]);
                g[flipped ? 0 : 8] = load(last);
                kernel_points(g, u[k]);
            }
            for (int p = 0; p < WINO_POINTS; p++)
                _mm512_storeu_si512(out + p * point_step + (i / 2 * columns + o) * 2,
                                    pair(u[0][p / 4][p % 4], u[1][p / 4][p % 4]));
        }
}

static void kernel_gradient(const float *m, int64_t point_step, int64_t out_step, void *out) {
    uint16_t *dw = out;
    __m512 half = _mm512_set1_ps(0.5f);
    for (int64_t o = 0; o < WINO_COLUMNS; o += LANES) {
        __m512 s[3][4], d[9];
        uint16_t taps[9][LANES];
        for (int c = 0; c < 4; c++) {
            const float *z = m + o + c * point_step;
            __m512 r1 = _mm512_loadu_ps(z + 4 * point_step), r2 = _mm512_loadu_ps(z + 8 * point_step);
            __m512 sum = _mm512_mul_ps(half, _mm512_add_ps(r1, r2));
            s[0][c] = _mm512_add_ps(_mm512_loadu_ps(z), sum);
            s[1][c] = _mm512_mul_ps(half, _mm512_sub_ps(r1, r2));
            s[2][c] = _mm512_add_ps(_mm512_loadu_ps(z + 12 * point_step), sum);
        }
        for (int r = 0; r < 3; r++) {
            __m512 sum = _mm512_mul_ps(half, _mm512_add_ps(s[r][1], s[r][2]));
            d[3 * r] = _mm512_add_ps(s[r][0], sum);
            d[3 * r + 1] = _mm512_mul_ps(half, _mm512_sub_ps(s[r][1], s[r][2]));
            d[3 * r + 2] = _mm512_add_ps(s[r][3], sum);
        }
        for (int tap = 0; tap < 9; tap++) store(taps[tap], d[tap]);
        for (int64_t lane = 0; lane < LANES; lane++)
            for (int tap = 0; tap < 9; tap++) dw[(o + lane) * out_step + tap] = taps[tap][lane];
    }
}

/* ROWS x 64 sums stay in registers. */
#define VECTORS (WINO_COLUMNS / LANES)
#define PRODUCT(ROWS)                                                                                                 \
    static void product_##ROWS(const uint16_t *a, int64_t a_row, int64_t a_k, const uint16_t *b, int64_t b_k,         \
                               float *c, int64_t c_row, int64_t k, bool add)                                          \
    {                                                                                                                 \
        __m512 s[ROWS][VECTORS];                                                                                      \
        for (int r = 0; r < ROWS; r++)                                                                                \
            for (int v = 0; v < VECTORS; v++)                                                                         \
                s[r][v] = add ? _mm512_loadu_ps(c + r * c_row + v * LANES) : _mm512_setzero_ps();                     \
        for (int64_t i = 0; i < k; i++, a += a_k, b += b_k) {                                                         \
            __m512i bv[VECTORS];                                                                                      \
            for (int v = 0; v < VECTORS; v++) bv[v] = _mm512_loadu_si512(b + v * 2 * LANES);                          \
            for (int r = 0; r < ROWS; r++) {                                                                          \
                int32_t two;                                                                                          \
                memcpy(&two, a + r * a_row, sizeof two);                                                              \
                __m512i av = _mm512_set1_epi32(two);                                                                  \
                for (int v = 0; v < VECTORS; v++) s[r][v] = _mm512_dpbf16_ps(s[r][v], (__m512bh)av, (__m512bh)bv[v]); \
            }                                                                                                         \
        }                                                                                                             \
        for (int r = 0; r < ROWS; r++)                                                                                \
            for (int v = 0; v < VECTORS; v++) _mm512_storeu_ps(c + r * c_row + v * LANES, s[r][v]);                   \
    }
PRODUCT(6)
PRODUCT(4)
PRODUCT(2)
PRODUCT(1)

static void product(const void *left, int64_t a_row, int64_t a_k, const void *b, int64_t b_k, float *c, int64_t columns,
                    int64_t rows, int64_t k, bool add) {
    const uint16_t *a = left;
    while (rows > 0) {
        int n = rows >= 6 ? 6 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
        (n == 6   ? product_6
         : n == 4 ? product_4
         : n == 2 ? product_2
                  : product_1)(a, a_row, a_k, b, b_k, c, columns, k, add);
        a += n * a_row;
        c += n * columns;
        rows -= n;
    }
}

static const wino_ops ops = {sizeof(element), 2,      input,  gradient, output, kernel,
                             kernel_gradient, pixels, spread, product};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

const wino_ops *wino_get(void) {
#if defined(__x86_64__)
    if (simd_has_bf16()) return &ops;
#endif
    return NULL;
}
