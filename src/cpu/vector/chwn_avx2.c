/* The loops of chwn.h for x86 machines with AVX2. */
#if defined(__x86_64__)
#define LANES 8
#define CHWN_BLOCK 6
#define GRAD_ACCUMULATORS 12
#define CHWN_NAME chwn_avx2
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif
#include "cpu/vector/chwn.h"
typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
static inline __m256i first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vec vec_load_part(const float *p, int64_t n) {
    return (vec)_mm256_maskload_ps(p, first(n));
}
static inline void vec_store_part(float *p, vec v, int64_t n) {
    _mm256_maskstore_ps(p, first(n), (__m256)v);
}
static inline float vec_sum(vec v) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}
/* The instructions give their second operand when either is NaN or both are zero: of both orders, the bits that both or
 * that one has make +0 or -0 of two zeros. */
static inline vec vec_max(vec a, vec b) {
    __m256 x = (__m256)a, y = (__m256)b, larger = _mm256_and_ps(_mm256_max_ps(x, y), _mm256_max_ps(y, x));
    return (vec)_mm256_blendv_ps(larger, _mm256_add_ps(x, y), _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}
static inline vec vec_min(vec a, vec b) {
    __m256 x = (__m256)a, y = (__m256)b, smaller = _mm256_or_ps(_mm256_min_ps(x, y), _mm256_min_ps(y, x));
    return (vec)_mm256_blendv_ps(smaller, _mm256_add_ps(x, y), _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}
static inline vec vec_choose_ge(vec a, vec b, vec x, vec y) {
    return (vec)_mm256_blendv_ps((__m256)y, (__m256)x, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GE_OQ));
}
static inline vec vec_choose_eq(vec a, vec b, vec x) {
    return (vec)_mm256_and_ps((__m256)x, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ));
}
#include "cpu/vector/chwn.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int chwn_avx2_is_for_x86;
#endif
