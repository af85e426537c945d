/* packed.h for aarch64, whose every processor has 32 registers of 4 floats: a tile is made in strips of 8 rows and 12
 * columns, 24 sums, beside which one row of a strip and eight numbers of A have room. */
#include "cpu/vector/packed.h"

#if defined(__aarch64__)
#include "cpu/vector/fused.h"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#include <arm_neon.h>

enum { LANES = 4, STRIP = 12, VECTORS = STRIP / LANES, LINE = 64, AHEAD_STEPS = 8 };

static void pack_a(const float *a, int64_t row, int64_t col, int64_t rows, int64_t k, float *out) {
    if (rows < PACKED_ROWS) memset(out, 0, (size_t)(k * PACKED_ROWS) * sizeof *out);
    if (row == 1) {
        for (int64_t p = 0; p < k; p++) memcpy(out + p * PACKED_ROWS, a + p * col, (size_t)rows * sizeof *out);
        return;
    }
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < rows; i++) out[p * PACKED_ROWS + i] = a[i * row + p];
}

static void pack_b(const float *b, int64_t row, int64_t col, int64_t cols, int64_t k, float *out) {
    if (cols < PACKED_COLUMNS) memset(out, 0, (size_t)(k * PACKED_COLUMNS) * sizeof *out);
    if (col == 1) {
        for (int64_t p = 0; p < k; p++) memcpy(out + p * PACKED_COLUMNS, b + p * row, (size_t)cols * sizeof *out);
        return;
    }
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < cols; j++) out[p * PACKED_COLUMNS + j] = b[j * col + p];
}

static packed_ahead one_line(packed_ahead w) {
    __builtin_prefetch(w.at, 0, 2);
    if (w.left > 0) {
        w.at += LINE;
        w.left--;
        if (--w.in_row == 0) w.at += w.jump, w.in_row = w.row;
    }
    return w;
}

/* Sums of a strip; the pragmas make gcc unroll before it decides what lives in registers. */
#define EACH_ROW _Pragma("GCC unroll 8") for (int r = 0; r < PACKED_ROWS; r++)
#define EACH_VECTOR _Pragma("GCC unroll 3") for (int v = 0; v < VECTORS; v++)
static void strip(int64_t k, const float *a, const float *b, float32x4_t s[PACKED_ROWS][VECTORS]) {
    float32x4_t sum[PACKED_ROWS][VECTORS];
    EACH_ROW EACH_VECTOR sum[r][v] = vdupq_n_f32(0);
    for (; k > 0; k--, a += PACKED_ROWS, b += PACKED_COLUMNS) {
        float32x4_t of_a[2] = {vld1q_f32(a), vld1q_f32(a + LANES)}, of_b[VECTORS];
        EACH_VECTOR of_b[v] = vld1q_f32(b + v * LANES);
        EACH_ROW EACH_VECTOR sum[r][v] += of_b[v] * of_a[r / LANES][r % LANES];
    }
    EACH_ROW EACH_VECTOR s[r][v] = sum[r][v];
}

static void tile(int64_t k, const float *a, const float *b, float *c, int64_t c_row, int64_t rows, int64_t cols,
                 bool add, packed_ahead *ahead) {
    for (int64_t p = 0; p < k; p += AHEAD_STEPS) *ahead = one_line(*ahead);
    for (int64_t j = 0; j < cols; j += STRIP) {
        float32x4_t s[PACKED_ROWS][VECTORS];
        int64_t have = cols - j < STRIP ? cols - j : STRIP;
        strip(k, a, b + j, s);
        for (int64_t r = 0; r < rows; r++) {
            float sums[STRIP], *at = c + r * c_row + j;
            memcpy(sums, s[r], sizeof sums);
            for (int64_t i = 0; i < have; i++) at[i] = add ? at[i] + sums[i] : sums[i];
        }
    }
}

const packed_ops packed_neon = {pack_a, pack_b, tile};
#else
typedef int packed_neon_is_for_arm;
#endif
