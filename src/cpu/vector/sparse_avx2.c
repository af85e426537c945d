/* Sums of gathered rows for x86 machines with AVX2; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include "cpu/vector/sparse.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#endif
#define SPARSE_NAME sparse_avx2
#define VECTOR 32
#include "cpu/vector/sparse.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int sparse_avx2_is_for_x86;
#endif
