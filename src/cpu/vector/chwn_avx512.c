/* The loops of chwn.h for x86 machines with AVX512. */
#if defined(__x86_64__)
#define LANES 16
#define CHWN_BLOCK 12
#define GRAD_ACCUMULATORS 25
#define CHWN_NAME chwn_avx512
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#include "cpu/vector/chwn.h"
typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
static inline vec vec_load_part(const float *p, int64_t n) {
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}
static inline void vec_store_part(float *p, vec v, int64_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
}
static inline float vec_sum(vec v) {
    return _mm512_reduce_add_ps((__m512)v);
}
/* Of two zeros the larger is +0. Where either is NaN the instruction gives the other one. */
static inline vec vec_max(vec a, vec b) {
    __m512 x = (__m512)a, y = (__m512)b;
    return (vec)_mm512_mask_add_ps(_mm512_range_ps(x, y, 5), _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q), x, y);
}
static inline vec vec_min(vec a, vec b) {
    __m512 x = (__m512)a, y = (__m512)b;
    return (vec)_mm512_mask_add_ps(_mm512_range_ps(x, y, 4), _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q), x, y);
}
static inline vec vec_choose_ge(vec a, vec b, vec x, vec y) {
    return (vec)_mm512_mask_mov_ps((__m512)y, _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ), (__m512)x);
}
static inline vec vec_choose_eq(vec a, vec b, vec x) {
    return (vec)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ), (__m512)x);
}
#include "cpu/vector/chwn.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int chwn_avx512_is_for_x86;
#endif
