/* Products with narrow matrices for x86 machines with AVX2; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/vector/narrow.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#endif
#define NARROW_NAME narrow_avx2
#define VECTOR 32
enum { LANES = VECTOR / 4, WIDE = 2 };
typedef float vec __attribute__((vector_size(VECTOR), aligned(4), may_alias)); /* wherever floats lie */

static inline vec from_bf16(const uint16_t *p) {
    return (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
}
static inline vec from_f16(const uint16_t *p) {
    return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline vec from_i8(const int8_t *p) {
    return (vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
static inline void from_u4(const uint8_t *p, vec *low, vec *high) {
    const __m256i eight = _mm256_set1_epi32(8), bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
    *low = (vec)_mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_and_si256(bytes, _mm256_set1_epi32(15)), eight));
    *high = (vec)_mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bytes, 4), eight));
}
typedef uint32_t words __attribute__((vector_size(VECTOR), aligned(1), may_alias));
static inline vec lowest_u4(words w) {
    const __m256i low = _mm256_and_si256((__m256i)w, _mm256_set1_epi32(15));
    return (vec)_mm256_cvtepi32_ps(_mm256_sub_epi32(low, _mm256_set1_epi32(8)));
}
static inline vec spread(const float *f, int64_t per) {
    if (per >= LANES) return (vec)_mm256_set1_ps(*f);
    return (vec)_mm256_set_m128(_mm_set1_ps(f[1]), _mm_set1_ps(f[0])); /* per is 4 */
}
#include "cpu/vector/narrow.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int narrow_avx2_is_for_x86;
#endif
