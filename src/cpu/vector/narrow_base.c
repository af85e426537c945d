/* Products with narrow matrices for any machine of the architecture. */
#include "cpu/vector/fused.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#include <math.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "cpu/vector/narrow.h"

#define NARROW_NAME narrow_base
#define VECTOR 16
enum { LANES = VECTOR / 4, WIDE = 1 };
typedef float vec __attribute__((vector_size(VECTOR), aligned(4), may_alias)); /* wherever floats lie */
typedef uint32_t bits __attribute__((vector_size(VECTOR)));

#if defined(__aarch64__)
static inline vec from_bf16(const uint16_t *p) {
    return (vec)vshll_n_u16(vld1_u16(p), 16);
}
static inline vec from_f16(const uint16_t *p) {
    return (vec)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline float32x4_t of_bytes(int32_t four, int8_t less) {
    int8x8_t bytes = vsub_s8(vreinterpret_s8_s32(vdup_n_s32(four)), vdup_n_s8(less));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}
static inline int32_t four_at(const void *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return four;
}
static inline vec from_i8(const int8_t *p) {
    return (vec)of_bytes(four_at(p), 0);
}
static inline void from_u4(const uint8_t *p, vec *low, vec *high) {
    int32_t four = four_at(p);
    *low = (vec)of_bytes(four & 0x0f0f0f0f, 8);
    *high = (vec)of_bytes(four >> 4 & 0x0f0f0f0f, 8);
}
#else
static inline vec from_bf16(const uint16_t *p) {
    bits u;
    for (int i = 0; i < LANES; i++) u[i] = (uint32_t)p[i] << 16;
    return (vec)u;
}
/* Subnormal numbers are multiples of 2^-24; what was infinite or none stays so. */
static inline vec from_f16(const uint16_t *p) {
    vec v;
    for (int i = 0; i < LANES; i++) {
        union {
            uint32_t u;
            float f;
        } x;
        uint32_t exponent = p[i] >> 10 & 31, digits = p[i] & 1023;
        x.u = exponent == 31 ? 0x7f800000u | digits << 13 : (exponent + 112) << 23 | digits << 13;
        if (!exponent) x.f = (float)digits * 0x1p-24f;
        v[i] = p[i] >> 15 ? -x.f : x.f;
    }
    return v;
}
static inline vec from_i8(const int8_t *p) {
    vec v;
    for (int i = 0; i < LANES; i++) v[i] = p[i];
    return v;
}
static inline void from_u4(const uint8_t *p, vec *low, vec *high) {
    for (int i = 0; i < LANES; i++) (*low)[i] = (float)((p[i] & 15) - 8), (*high)[i] = (float)((p[i] >> 4) - 8);
}
#endif
typedef uint32_t words __attribute__((vector_size(VECTOR), aligned(1), may_alias));
static inline vec lowest_u4(words w) {
    typedef int32_t numbers __attribute__((vector_size(VECTOR)));
    return __builtin_convertvector((numbers)(w & 15) - 8, vec);
}
static inline vec spread(const float *f, int64_t per) { /* at least LANES */
    (void)per;
    return (vec){f[0], f[0], f[0], f[0]};
}
#include "cpu/vector/narrow.inc"
