/* Products in whole numbers for x86 machines with AVX2; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/vector/grouped.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
#define GROUPED_NAME grouped_avx2
#define VECTOR 32
enum { ROWS = 4 };
typedef int32_t ints __attribute__((vector_size(VECTOR), aligned(4), may_alias));

static inline ints pairs_added(ints sum, ints a, ints b) {
    return sum + (ints)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
static inline ints repeated(const int16_t *pair) {
    int32_t word;
    memcpy(&word, pair, sizeof word);
    return (ints)_mm256_set1_epi32(word);
}
#include "cpu/vector/grouped.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int grouped_avx2_is_for_x86;
#endif
