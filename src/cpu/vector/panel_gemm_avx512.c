/* Products on packed panels for x86 machines with AVX512; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(                                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#define PANEL_GEMM_NAME panel_gemm_avx512
#define VECTOR 64
#define TILE_ROWS 12
#define MADD(x, y) _mm512_madd_epi16((__m512i)(x), (__m512i)(y))
#define FMA_F64(sum, x, y) ((dvec64)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(sum)))
#include "cpu/vector/panel_gemm.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int panel_gemm_avx512_is_for_x86;
#endif
