/* Products in whole numbers for x86 machines with AVX512; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/vector/grouped.h"
#if defined(__clang__)
#pragma clang attribute push(                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#define GROUPED_NAME grouped_avx512
#define VECTOR 64
enum { ROWS = 6 };
typedef int32_t ints __attribute__((vector_size(VECTOR), aligned(4), may_alias));

static inline ints pairs_added(ints sum, ints a, ints b) {
    return sum + (ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
static inline ints repeated(const int16_t *pair) {
    int32_t word;
    memcpy(&word, pair, sizeof word);
    return (ints)_mm512_set1_epi32(word);
}
#include "cpu/vector/grouped.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int grouped_avx512_is_for_x86;
#endif
