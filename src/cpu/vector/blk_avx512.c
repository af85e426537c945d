/* The loops of blk.h for x86 machines with AVX-512. */
#if defined(__x86_64__)
#define LANES 16
#define BLK_NAME blk_avx512
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
#include "cpu/vector/blk.h"
typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
typedef __mmask16 vmask;
typedef __m512i places;
static inline vec vec_load(const float *p) {
    return *(const vec *)p;
}
static inline void vec_store(float *p, vec v) {
    *(vec *)p = v;
}
static inline vec vec_all(float x) {
    return (vec)_mm512_set1_ps(x);
}
static inline vec vec_load_half(const uint16_t *p) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return (vec)_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
static inline void vec_store_half(uint16_t *p, vec v) {
    __m512i u = (__m512i)v, odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    __m512i r = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    __m512i nan = _mm512_or_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(0x40));
    r = _mm512_mask_mov_epi32(r, _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q), nan);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(r));
}
static inline vec vec_fma(vec a, vec b, vec c) {
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static inline vec vec_larger(vec a, vec b) {
    return (vec)_mm512_range_ps((__m512)a, (__m512)b, 5);
}
static inline vmask mask_none(void) {
    return 0;
}
static inline bool mask_any(vmask m) {
    return m != 0;
}
static inline vmask mask_le(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
}
static inline vmask mask_gt(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
}
static inline vmask mask_not_ge(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NGE_UQ);
}
static inline vmask mask_unordered(vec a, vec b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
}
static inline vec vec_select(vmask m, vec yes, vec no) {
    return (vec)_mm512_mask_mov_ps((__m512)no, m, (__m512)yes);
}
static inline places places_all(int x) {
    return _mm512_set1_epi32(x);
}
static inline places places_select(vmask m, places yes, places no) {
    return _mm512_mask_mov_epi32(no, m, yes);
}
static inline vmask mask_same(places a, places b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
#include "cpu/vector/blk.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int blk_avx512_is_for_x86;
#endif
