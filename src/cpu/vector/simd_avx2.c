/* The vector loops for x86 machines with AVX2; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>

#define SIMD_F16C
#define SIMD_LANES 2
#define SIMD_NAME simd_avx2
#define SIMD_TEXT "avx2"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#endif
#include "cpu/vector/simd.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int simd_avx2_is_for_x86;
#endif
