/* Integer products for any machine of the architecture. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#define INT_GEMM_NAME int_gemm_base
#define VECTOR 16
#define TILE_ROWS 4
#if defined(__x86_64__)
#include <emmintrin.h>
#define MADD(x, y) _mm_madd_epi16((__m128i)(x), (__m128i)(y))
#else
/* The low and the high halves apart, each brought down with its sign. */
#define MADD(x, y) \
    ((uvec32)(((vec32)(x) << 16 >> 16) * ((vec32)(y) << 16 >> 16)) + (uvec32)(((vec32)(x) >> 16) * ((vec32)(y) >> 16)))
#endif
#include "cpu/vector/int_gemm.inc"
