/* Matrix-vector products for x86 machines with AVX2; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#endif
#define MATVEC_NAME matvec_avx2
#define VECTOR 32
#include "cpu/vector/matvec.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int matvec_avx2_is_for_x86;
#endif
