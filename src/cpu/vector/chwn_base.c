/* The loops of chwn.h for any machine of the architecture. */
#include "cpu/vector/fused.h"

#define LANES 4
#define CHWN_BLOCK 6
#define GRAD_ACCUMULATORS 12
#define CHWN_NAME chwn_base
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#include "cpu/vector/chwn.h"
typedef float vec __attribute__((vector_size(16), aligned(4), may_alias));
static inline vec vec_load_part(const float *p, int64_t n) {
    vec v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}
static inline void vec_store_part(float *p, vec v, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
static inline float vec_sum(vec v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
typedef int32_t bits __attribute__((vector_size(16)));
static inline vec choose(bits mask, vec x, vec y) {
    return (vec)(((bits)x & mask) | ((bits)y & ~mask));
}
static inline vec vec_choose_ge(vec a, vec b, vec x, vec y) {
    return choose((bits)(a >= b), x, y);
}
static inline vec vec_choose_eq(vec a, vec b, vec x) {
    return (vec)((bits)x & (bits)(a == b));
}
static inline vec vec_max(vec a, vec b) {
    return choose((bits)(a != a), a, choose((bits)(a == b), (vec)((bits)a & (bits)b), choose((bits)(a > b), a, b)));
}
static inline vec vec_min(vec a, vec b) {
    return choose((bits)(a != a), a, choose((bits)(a == b), (vec)((bits)a | (bits)b), choose((bits)(a < b), a, b)));
}
#include "cpu/vector/chwn.inc"
