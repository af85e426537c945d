/* Sums of gathered rows for x86 machines with AVX512; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include "cpu/vector/sparse.h"
#if defined(__clang__)
#pragma clang attribute push(                                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#define SPARSE_NAME sparse_avx512
#define VECTOR 64
#include "cpu/vector/sparse.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int sparse_avx512_is_for_x86;
#endif
