/* Products on packed panels for x86 machines with AVX2; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#endif
#define PANEL_GEMM_NAME panel_gemm_avx2
#define VECTOR 32
#define TILE_ROWS 6
#define MADD(x, y) _mm256_madd_epi16((__m256i)(x), (__m256i)(y))
#include "cpu/vector/panel_gemm.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int panel_gemm_avx2_is_for_x86;
#endif
