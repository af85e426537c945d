/* Products on packed panels for any machine of the architecture. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#define PANEL_GEMM_NAME panel_gemm_base
#define VECTOR 16
#define TILE_ROWS 4
#if defined(__x86_64__)
#include <emmintrin.h>
#define MADD(x, y) _mm_madd_epi16((__m128i)(x), (__m128i)(y))
#elif defined(__aarch64__)
#include <arm_neon.h>
static inline int32x4_t sums_of_pairs(int16x8_t x, int16x8_t y) {
    return vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
#define MADD(x, y) sums_of_pairs((int16x8_t)(x), (int16x8_t)(y))
#else
/* The low and the high halves apart, each brought down with its sign. */
#define MADD(x, y) \
    ((uvec32)(((vec32)(x) << 16 >> 16) * ((vec32)(y) << 16 >> 16)) + (uvec32)(((vec32)(x) >> 16) * ((vec32)(y) >> 16)))
#endif
#include "cpu/vector/panel_gemm.inc"
