/* packed.h for AVX-512. */
#include "cpu/vector/packed.h"
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

#define LANES 16
#define LINE 64
#define AHEAD_STEPS 8 /* steps of k for each line that is fetched ahead */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS __mmask16 first(int64_t n) {
    return n >= LANES ? (__mmask16)0xffff : n <= 0 ? (__mmask16)0 : (__mmask16)((1u << n) - 1);
}

/* r[i][j] becomes r[j][i]. */
ALWAYS void transpose16(__m512 r[LANES]) {
    __m512 t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4)
        for (int j = 0; j < 2; j++) {
            __m512d x = _mm512_castps_pd(t[i + j]), y = _mm512_castps_pd(t[i + j + 2]);
            r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
            r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
        }
    for (int j = 0; j < 4; j++) { /* r[4 i + j]: quarter q has column 4 q + j of rows 4 i to 4 i + 3 */
        __m512 x = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88), y = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);
        __m512 z = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88), w = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
        t[j] = _mm512_shuffle_f32x4(x, z, 0x88);
        t[4 + j] = _mm512_shuffle_f32x4(y, w, 0x88);
        t[8 + j] = _mm512_shuffle_f32x4(x, z, 0xdd);
        t[12 + j] = _mm512_shuffle_f32x4(y, w, 0xdd);
    }
    for (int i = 0; i < LANES; i++) r[i] = t[i];
}

static void pack_a(const float *a, int64_t row, int64_t col, int64_t rows, int64_t k, float *out) {
    if (row == 1) {
        __mmask8 mask = (__mmask8)first(rows);
        for (int64_t p = 0; p < k; p++)
            _mm256_storeu_ps(out + p * PACKED_ROWS, _mm256_maskz_loadu_ps(mask, a + p * col));
        return;
    }
    for (int64_t p = 0; p < k; p += LANES) {
        __m512 r[LANES];
        __mmask16 mask = first(k - p);
        for (int i = 0; i < LANES; i++)
            r[i] = i < rows ? _mm512_maskz_loadu_ps(mask, a + i * row + p) : _mm512_setzero_ps();
        transpose16(r);
        for (int i = 0; i < LANES && i < k - p; i++)
            _mm256_storeu_ps(out + (p + i) * PACKED_ROWS, _mm512_castps512_ps256(r[i]));
    }
}

static void pack_b(const float *b, int64_t row, int64_t col, int64_t cols, int64_t k, float *out) {
    for (int64_t j = 0; j < PACKED_COLUMNS && j < cols; j += LANES) {
        if (col == 1) {
            __mmask16 mask = first(cols - j);
            for (int64_t p = 0; p < k; p++)
                _mm512_storeu_ps(out + p * PACKED_COLUMNS + j, _mm512_maskz_loadu_ps(mask, b + p * row + j));
            continue;
        }
        for (int64_t p = 0; p < k; p += LANES) {
            __m512 r[LANES];
            __mmask16 mask = first(k - p);
            for (int i = 0; i < LANES; i++)
                r[i] = j + i < cols ? _mm512_maskz_loadu_ps(mask, b + (j + i) * col + p) : _mm512_setzero_ps();
            transpose16(r);
            for (int i = 0; i < LANES && i < k - p; i++) _mm512_storeu_ps(out + (p + i) * PACKED_COLUMNS + j, r[i]);
        }
    }
}

/* 8 x 16 V sums stay in registers; V is known when this is inlined. The pragmas make gcc unroll before it decides what
 * lives in registers. */
ALWAYS void tile_of(const int V, int64_t k, const float *a, const float *b, float *c, int64_t c_row, int64_t rows,
                    int64_t cols, bool add, packed_ahead *ahead) {
    __m512 s[PACKED_ROWS][PACKED_COLUMNS / LANES];
    __mmask16 last = first(cols - (V - 1) * LANES);
    packed_ahead w = *ahead;
    for (int64_t r = 0; r < rows; r++)
        for (int v = 0; v < V; v++) _mm_prefetch((const char *)(c + r * c_row + v * LANES), _MM_HINT_T0);
#pragma GCC unroll 8
    for (int r = 0; r < PACKED_ROWS; r++)
#pragma GCC unroll 3
        for (int v = 0; v < V; v++) s[r][v] = _mm512_setzero_ps();
    for (int64_t p = k; p > 0; p -= AHEAD_STEPS) {
        _mm_prefetch(w.at, _MM_HINT_T1);
        if (w.left > 0) {
            w.at += LINE;
            w.left--;
            if (--w.in_row == 0) w.at += w.jump, w.in_row = w.row;
        }
        for (int64_t q = p < AHEAD_STEPS ? p : AHEAD_STEPS; q > 0; q--, a += PACKED_ROWS, b += PACKED_COLUMNS) {
            __m512 bv[PACKED_COLUMNS / LANES];
#pragma GCC unroll 3
            for (int v = 0; v < V; v++) bv[v] = _mm512_loadu_ps(b + v * LANES);
#pragma GCC unroll 8
            for (int r = 0; r < PACKED_ROWS; r++) {
                __m512 av = _mm512_set1_ps(a[r]);
#pragma GCC unroll 3
                for (int v = 0; v < V; v++) s[r][v] = _mm512_fmadd_ps(av, bv[v], s[r][v]);
            }
        }
    }
    *ahead = w;
#pragma GCC unroll 8
    for (int r = 0; r < PACKED_ROWS; r++)
#pragma GCC unroll 3
        for (int v = 0; v < V; v++) {
            float *at = c + r * c_row + v * LANES;
            __mmask16 m = r >= rows ? (__mmask16)0 : v < V - 1 ? (__mmask16)0xffff : last;
            if (add) s[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(m, at), s[r][v]);
            _mm512_mask_storeu_ps(at, m, s[r][v]);
        }
}

static void tile(int64_t k, const float *a, const float *b, float *c, int64_t c_row, int64_t rows, int64_t cols,
                 bool add, packed_ahead *ahead) {
    if (cols > 2 * LANES)
        tile_of(3, k, a, b, c, c_row, rows, cols, add, ahead);
    else if (cols > LANES)
        tile_of(2, k, a, b, c, c_row, rows, cols, add, ahead);
    else
        tile_of(1, k, a, b, c, c_row, rows, cols, add, ahead);
}

static const packed_ops ops = {pack_a, pack_b, tile};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

const packed_ops *packed_get(void) {
#if defined(__x86_64__)
    if (simd_level() == 2) return &ops;
#elif defined(__aarch64__)
    return &packed_neon;
#endif
    return NULL;
}
