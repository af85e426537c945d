/* Products with narrow matrices for x86 machines with AVX512; simd.c asks the processor before using them. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "cpu/vector/narrow.h"
#if defined(__clang__)
#pragma clang attribute push(                                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#define NARROW_NAME narrow_avx512
#define VECTOR 64
enum { LANES = VECTOR / 4, WIDE = 4 };
typedef float vec __attribute__((vector_size(VECTOR), aligned(4), may_alias)); /* wherever floats lie */

static inline vec from_bf16(const uint16_t *p) {
    return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
}
static inline vec from_f16(const uint16_t *p) {
    return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline vec from_i8(const int8_t *p) {
    return (vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
/* A permutation looks at the low four bits of each index. */
static inline void from_u4(const uint8_t *p, vec *low, vec *high) {
    const __m512 numbers = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    *low = (vec)_mm512_permutexvar_ps(bytes, numbers);
    *high = (vec)_mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), numbers);
}
typedef uint32_t words __attribute__((vector_size(VECTOR), aligned(1), may_alias));
static inline vec lowest_u4(words w) {
    const __m512 numbers = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    return (vec)_mm512_permutexvar_ps((__m512i)w, numbers);
}
static inline vec spread(const float *f, int64_t per) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (per >= LANES) return (vec)_mm512_set1_ps(*f);
    if (per == 4)
        return (vec)_mm512_permutexvar_ps(_mm512_srli_epi32(lanes, 2), _mm512_castps128_ps512(_mm_loadu_ps(f)));
    return (vec)_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(f[0]), _mm512_set1_ps(f[1])); /* per is 8 */
}
#include "cpu/vector/narrow.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int narrow_avx512_is_for_x86;
#endif
