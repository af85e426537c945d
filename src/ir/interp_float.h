/* Float helpers that several kernels share: bits, total order, maximum and minimum by StableHLO's rules. */
#ifndef XT_SRC_IR_INTERP_FLOAT_H
#define XT_SRC_IR_INTERP_FLOAT_H

#include <stdint.h>
#include <string.h>

typedef float f32;
typedef double f64;

static inline int32_t bits_f32(f32 v) {
    int32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}
static inline int64_t bits_f64(f64 v) {
    int64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}
static inline f32 from_bits_f32(int32_t u) {
    f32 v;
    memcpy(&v, &u, sizeof v);
    return v;
}
static inline f64 from_bits_f64(int64_t u) {
    f64 v;
    memcpy(&v, &u, sizeof v);
    return v;
}
/* Keys whose signed order is the total order of the floats. */
static inline int32_t total_f32(f32 v) {
    int32_t u = bits_f32(v);
    return u ^ (int32_t)((uint32_t)(u >> 31) >> 1);
}
static inline int64_t total_f64(f64 v) {
    int64_t u = bits_f64(v);
    return u ^ (int64_t)((uint64_t)(u >> 63) >> 1);
}

/* Equal values may still differ in the sign of zero: and-ing bits prefers +0, or-ing prefers -0. The selection moves
 * bits, which compilers turn into vector code. */
#define MIN_MAX(T, I)                                          \
    static inline T max_##T(T a, T b) {                        \
        I x = bits_##T(a), y = bits_##T(b), r = a > b ? x : y; \
        r = a == b ? x & y : r;                                \
        return from_bits_##T(a != a ? x : r);                  \
    }                                                          \
    static inline T min_##T(T a, T b) {                        \
        I x = bits_##T(a), y = bits_##T(b), r = a < b ? x : y; \
        r = a == b ? x | y : r;                                \
        return from_bits_##T(a != a ? x : r);                  \
    }
MIN_MAX(f32, int32_t)
MIN_MAX(f64, int64_t)

#endif
