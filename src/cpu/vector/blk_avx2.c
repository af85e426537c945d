/* The loops of blk.h for x86 machines with AVX2. */
#if defined(__x86_64__)
#define LANES 8
#define BLK_NAME blk_avx2
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma")
#endif
#include "cpu/vector/blk.h"
typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t vmask __attribute__((vector_size(32), may_alias)); /* all bits of a lane, or none */
typedef vmask places;
static inline vec vec_load(const float *p) {
    return *(const vec *)p;
}
static inline void vec_store(float *p, vec v) {
    *(vec *)p = v;
}
static inline vec vec_all(float x) {
    return (vec)_mm256_set1_ps(x);
}
static inline vec vec_select(vmask m, vec yes, vec no) {
    return (vec)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)m);
}
static inline vec vec_load_half(const uint16_t *p) {
    return (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16);
}
static inline void vec_store_half(uint16_t *p, vec v) {
    __m256i u = (__m256i)v, top = _mm256_srli_epi32(u, 16), odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
    __m256i r = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    r = _mm256_blendv_epi8(r, _mm256_or_si256(top, _mm256_set1_epi32(0x40)), (__m256i)(v != v));
    r = _mm256_permute4x64_epi64(_mm256_packus_epi32(r, r), 0x8); /* packing goes by halves of 128 bits */
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(r));
}
static inline vec vec_fma(vec a, vec b, vec c) {
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
/* Of two zeros the instruction gives the second one: the bits that both orders have make +0 of +0 and -0. */
static inline vec vec_larger(vec a, vec b) {
    __m256 x = (__m256)a, y = (__m256)b;
    return (vec)_mm256_and_ps(_mm256_max_ps(x, y), _mm256_max_ps(y, x));
}
static inline vmask mask_none(void) {
    return (vmask){0};
}
static inline bool mask_any(vmask m) {
    return _mm256_movemask_ps((__m256)m) != 0;
}
static inline vmask mask_le(vec a, vec b) {
    return (vmask)(a <= b);
}
static inline vmask mask_gt(vec a, vec b) {
    return (vmask)(a > b);
}
static inline vmask mask_not_ge(vec a, vec b) {
    return ~(vmask)(a >= b);
}
static inline vmask mask_unordered(vec a, vec b) {
    return (vmask)(a != a) | (vmask)(b != b);
}
static inline places places_all(int x) {
    return (places)_mm256_set1_epi32(x);
}
static inline places places_select(vmask m, places yes, places no) {
    return (yes & m) | (no & ~m);
}
static inline vmask mask_same(places a, places b) {
    return (vmask)(a == b);
}
#include "cpu/vector/blk.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int blk_avx2_is_for_x86;
#endif
