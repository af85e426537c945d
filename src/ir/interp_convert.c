/* Element conversions between all dtypes, and the rounding rules of the small floats.
 *
 * Rules: to bool is "not zero" (NaN is true); int to int wraps; float to int truncates, saturates, and gives 0 for NaN;
 * to a narrower float rounds to nearest even exactly once, also from f64 and 64-bit ints (values pass through f32
 * rounded to odd, which keeps the second rounding honest: Boldo & Melquiond, "When double rounding is odd", 2005). A
 * complex source gives its real part, a complex destination gets a zero imaginary part. Overflow of a small float:
 * infinity where the format has one, else NaN, else the largest finite value; formats without NaN store -0 for it. */
#include "ir/interp_int.h"

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

/* --- Formats below 32 bits --- */
typedef struct small_float {
    int mantissa, bias;
    unsigned inf, nan; /* bit patterns without sign; 0 = the format has none */
    unsigned max; /* bits of the largest finite value */
    unsigned sign; /* 0 = unsigned format */
    bool fnuz; /* the pattern of -0 is the only NaN */
} small_float;

static const small_float *small_format(xt_dtype t) {
    static const small_float formats[XT_DTYPE_COUNT] = {
        [XT_F16] = {10, 15, 0x7c00, 0x7e00, 0x7bff, 0x8000, false},
        [XT_BF16] = {7, 127, 0x7f80, 0x7fc0, 0x7f7f, 0x8000, false},
        [XT_F8E5M2] = {2, 15, 0x7c, 0x7e, 0x7b, 0x80, false},
        [XT_F8E4M3] = {3, 7, 0x78, 0x7c, 0x77, 0x80, false},
        [XT_F8E3M4] = {4, 3, 0x70, 0x78, 0x6f, 0x80, false},
        [XT_F8E4M3FN] = {3, 7, 0, 0x7f, 0x7e, 0x80, false},
        [XT_F8E4M3B11FNUZ] = {3, 11, 0, 0x80, 0x7f, 0x80, true},
        [XT_F8E4M3FNUZ] = {3, 8, 0, 0x80, 0x7f, 0x80, true},
        [XT_F8E5M2FNUZ] = {2, 16, 0, 0x80, 0x7f, 0x80, true},
        [XT_F4E2M1FN] = {1, 1, 0, 0, 0x7, 0x8, false},
        [XT_F6E2M3FN] = {3, 1, 0, 0, 0x1f, 0x20, false},
        [XT_F6E3M2FN] = {2, 3, 0, 0, 0x1f, 0x20, false},
    };
    return formats[t].mantissa ? &formats[t] : NULL;
}

static double small_decode(const small_float *f, unsigned bits) {
    unsigned mag = bits & (f->sign - 1);
    double sign = bits & f->sign ? -1.0 : 1.0;
    if (f->fnuz && bits == f->nan) return NAN;
    if (f->inf && mag == f->inf) return sign * INFINITY;
    if (!f->fnuz && f->nan && mag > f->max) return NAN;
    int e = (int)(mag >> f->mantissa);
    unsigned m = mag & ((1u << f->mantissa) - 1);
    return sign * ldexp(e ? (double)(m | 1u << f->mantissa) : (double)m, (e ? e : 1) - f->bias - f->mantissa);
}

static unsigned small_encode(const small_float *f, double v) {
    unsigned sign = signbit(v) ? f->sign : 0;
    if (isnan(v)) return f->fnuz ? f->nan : f->nan ? f->nan | sign : f->sign;
    double a = fabs(v);
    unsigned mag;
    if (isinf(a)) {
        mag = f->max + 1;
    } else if (a == 0) {
        mag = 0;
    } else {
        int e = ilogb(a), least = 1 - f->bias;
        if (e < least) e = least;
        /* One rounding after an exact scaling; a carry out of the mantissa lands in the exponent field by itself. */
        mag = ((unsigned)(e - least) << f->mantissa) + (unsigned)rint(ldexp(a, f->mantissa - e));
    }
    if (mag > f->max) {
        if (f->inf)
            mag = f->inf;
        else if (f->fnuz)
            return f->nan;
        else
            mag = f->nan ? f->nan : f->max;
    }
    if (f->fnuz && mag == 0) return 0;
    return mag | sign;
}

static float bits_float(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static inline uint16_t bf16_of(float f) {
    uint32_t u = float_bits(f);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : rounded);
}

/* No step makes a subnormal f32, so that the result holds under flush-to-zero. */
static inline float f16_to_float(uint16_t h) {
    uint32_t mag = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t sub = float_bits(bits_float(mag + (113u << 23)) - 0x1p-14f);
    uint32_t u = mag < 0x00800000 ? sub : mag + (112u << 23);
    u = mag >= 0x0f800000 ? mag | 0x7f800000 : u;
    return bits_float(u | sign);
}

/* After F. Giesen's float->half: the hardware adder does the rounding of subnormals, integer arithmetic that
 * of the rest. */
static inline uint16_t f16_of(float f) {
    uint32_t u = float_bits(f), sign = u & 0x80000000, a = u ^ sign;
    uint32_t sub = float_bits(bits_float(a) + 0.5f) - 0x3f000000; /* below 2^-14: half an ulp of the sum is 2^-25 */
    uint32_t norm = (a + 0xc8000fff + (a >> 13 & 1)) >> 13;
    uint32_t r = a < 0x38800000 ? sub : norm;
    r = a >= 0x47800000 ? 0x7c00 : r;
    r = a > 0x7f800000 ? 0x7e00 : r;
    return (uint16_t)(r | sign >> 16);
}

/* f64 to f32 such that a later rounding to at most 22 bits gives what one rounding would have given. */
static float odd_float(double d) {
    float f = (float)d;
    if (isnan(d) || (double)f == d || isinf(d)) return f;
    if (isinf(f)) return copysignf(0x1.fffffep127f, f); /* odd mantissa already */
    uint32_t u = float_bits(f);
    if (!(u & 1)) u += fabs((double)f) < fabs(d) ? 1 : (uint32_t)-1;
    return bits_float(u);
}

/* An integer rounded to odd: 53 bits are exact; above, 51 are kept and the lowest of them is sticky. */
static double odd_double(uint64_t v) {
    if (v < 1ull << 53) return (double)v;
    int shift = 0;
    while (v >> shift >= 1ull << 51) shift++;
    uint64_t kept = v >> shift, lost = v & ((1ull << shift) - 1);
    return ldexp((double)(kept | (lost != 0)), shift);
}

/* f8E8M0FNU: a power of two, 0xff for NaN; no zero and no sign, so what is not above zero is NaN. A number half way
 * goes up, as in ml_dtypes and XLA. */
static uint8_t e8m0_of(double v) {
    if (!(v > 0) || isinf(v)) return 0xff;
    if (v < 0x1p-127) return 0;
    int e = ilogb(v);
    if (v >= ldexp(1.5, e)) e++;
    return e > 127 ? 0xff : (uint8_t)(e + 127);
}

double round_to_precision(double v, int exponent_bits, int mantissa_bits) {
    if (isnan(v) && mantissa_bits == 0) return copysign(INFINITY, v); /* no mantissa, no NaN */
    if (isnan(v) || isinf(v) || v == 0) return v;
    int bias = (1 << (exponent_bits - 1)) - 1, e = ilogb(v);
    if (e < 1 - bias) return copysign(0.0, v);
    if (mantissa_bits < 52) v = ldexp(rint(ldexp(v, mantissa_bits - e)), e - mantissa_bits);
    return ilogb(v) > bias ? copysign(INFINITY, v) : v;
}

/* --- Integers of less than a byte --- */
bool dtype_is_subbyte(xt_dtype t) {
    return t == XT_I4 || t == XT_U4 || t == XT_I2 || t == XT_U2 || t == XT_I1 || t == XT_U1;
}

int8_t wrap_subbyte(xt_dtype t, int v) {
    int bits = ir_dtype_bits(t), mask = (1 << bits) - 1;
    v &= mask;
    if (ir_dtype_is_signed(t) && v >> (bits - 1)) v -= mask + 1;
    return (int8_t)v;
}

xt_dtype dtype_compute(xt_dtype t) {
    if (dtype_is_subbyte(t)) return ir_dtype_is_signed(t) ? XT_I8 : XT_U8;
    return small_format(t) || t == XT_F8E8M0FNU ? XT_F32 : t;
}

/* --- Between the types the machine has --- */
typedef void (*convert_fn)(int64_t n, const void *src, void *dst);

#define LOOP(name, S, D, expr)                                \
    static void name(int64_t n, const void *src, void *dst) { \
        const S *s = src;                                     \
        D *d = dst;                                           \
        INTERP_IVDEP                                          \
        for (int64_t i = 0; i < n; i++) {                     \
            S a = s[i];                                       \
            d[i] = (D)(expr);                                 \
        }                                                     \
    }
#define PLAIN(S, s, D, d) LOOP(s##_to_##d, S, D, a)
#define NONZERO(S, s) LOOP(s##_to_pred, S, uint8_t, a != 0)
#define SATURATE(S, s, D, d, low, high_excl, high) \
    LOOP(s##_to_##d, S, D, a != a ? 0 : a <= (S)(low) ? low : a >= (S)(high_excl) ? high : (D)a)

#define TO_INTS(S, s)          \
    PLAIN(S, s, int8_t, i8)    \
    PLAIN(S, s, int16_t, i16)  \
    PLAIN(S, s, int32_t, i32)  \
    PLAIN(S, s, int64_t, i64)  \
    PLAIN(S, s, uint8_t, u8)   \
    PLAIN(S, s, uint16_t, u16) \
    PLAIN(S, s, uint32_t, u32) \
    PLAIN(S, s, uint64_t, u64)
#define TO_INTS_SATURATED(S, s)                                \
    SATURATE(S, s, int8_t, i8, INT8_MIN, 0x1p7, INT8_MAX)      \
    SATURATE(S, s, int16_t, i16, INT16_MIN, 0x1p15, INT16_MAX) \
    SATURATE(S, s, int32_t, i32, INT32_MIN, 0x1p31, INT32_MAX) \
    SATURATE(S, s, int64_t, i64, INT64_MIN, 0x1p63, INT64_MAX) \
    SATURATE(S, s, uint8_t, u8, 0, 0x1p8, UINT8_MAX)           \
    SATURATE(S, s, uint16_t, u16, 0, 0x1p16, UINT16_MAX)       \
    SATURATE(S, s, uint32_t, u32, 0, 0x1p32, UINT32_MAX)       \
    SATURATE(S, s, uint64_t, u64, 0, 0x1p64, UINT64_MAX)
#define FROM_INT(S, s)      \
    NONZERO(S, s)           \
    TO_INTS(S, s)           \
    PLAIN(S, s, float, f32) \
    PLAIN(S, s, double, f64)
FROM_INT(int8_t, i8)
FROM_INT(int16_t, i16)
FROM_INT(int32_t, i32)
FROM_INT(int64_t, i64)
FROM_INT(uint8_t, u8)
FROM_INT(uint16_t, u16)
FROM_INT(uint32_t, u32)
FROM_INT(uint64_t, u64)
TO_INTS(uint8_t, pred)
PLAIN(uint8_t, pred, float, f32)
PLAIN(uint8_t, pred, double, f64)
NONZERO(uint8_t, pred)
NONZERO(float, f32)
TO_INTS_SATURATED(float, f32)
PLAIN(float, f32, float, f32)
PLAIN(float, f32, double, f64)
NONZERO(double, f64)
TO_INTS_SATURATED(double, f64)
PLAIN(double, f64, float, f32)
PLAIN(double, f64, double, f64)
/* Small floats that are frequent enough for loops of their own. */
LOOP(bf16_to_f32, uint16_t, float, bits_float((uint32_t)a << 16))
LOOP(f32_to_bf16, float, uint16_t, bf16_of(a))
LOOP(f16_to_f32, uint16_t, float, f16_to_float(a))
LOOP(f32_to_f16, float, uint16_t, f16_of(a))

static convert_fn native_convert(xt_dtype from, xt_dtype to) {
#define ROW(T, s)                \
    [T] = {                      \
        [XT_BOOL] = s##_to_pred, \
        [XT_I8] = s##_to_i8,     \
        [XT_I16] = s##_to_i16,   \
        [XT_I32] = s##_to_i32,   \
        [XT_I64] = s##_to_i64,   \
        [XT_U8] = s##_to_u8,     \
        [XT_U16] = s##_to_u16,   \
        [XT_U32] = s##_to_u32,   \
        [XT_U64] = s##_to_u64,   \
        [XT_F32] = s##_to_f32,   \
        [XT_F64] = s##_to_f64    \
    }
    static const convert_fn fns[XT_DTYPE_COUNT][XT_DTYPE_COUNT] = {
        ROW(XT_BOOL, pred), ROW(XT_I8, i8),   ROW(XT_I16, i16), ROW(XT_I32, i32), ROW(XT_I64, i64), ROW(XT_U8, u8),
        ROW(XT_U16, u16),   ROW(XT_U32, u32), ROW(XT_U64, u64), ROW(XT_F32, f32), ROW(XT_F64, f64),
    };
    return fns[from][to];
}

/* --- Everything else, by way of a type the machine has --- */
/* Brings n <= INTERP_CHUNK elements into the machine type that holds them exactly; gives that type. Bits of real parts
 * for complex. */
static xt_dtype load_native(int64_t n, xt_dtype t, const void *src, void *tmp) {
    const uint8_t *bytes = src;
    const small_float *f = small_format(t);
    if (t == XT_F16)
        f16_to_f32(n, src, tmp);
    else if (t == XT_BF16)
        bf16_to_f32(n, src, tmp);
    else if (f)
        for (int64_t i = 0; i < n; i++) ((float *)tmp)[i] = (float)small_decode(f, bytes[i]);
    else if (t == XT_F8E8M0FNU)
        for (int64_t i = 0; i < n; i++) ((float *)tmp)[i] = bytes[i] == 0xff ? NAN : (float)ldexp(1.0, bytes[i] - 127);
    else if (t == XT_C64)
        for (int64_t i = 0; i < n; i++) ((float *)tmp)[i] = ((const float *)src)[2 * i];
    else if (t == XT_C128)
        for (int64_t i = 0; i < n; i++) ((double *)tmp)[i] = ((const double *)src)[2 * i];
    else
        memcpy(tmp, src, (size_t)n * xt_dtype_size(t));
    if (f || t == XT_F8E8M0FNU || t == XT_C64) return XT_F32;
    if (t == XT_C128) return XT_F64;
    return dtype_compute(t);
}

/* Narrow floats from a machine type: every source is first brought to a double that rounds the same way. */
static void store_small(int64_t n, xt_dtype from, const void *src, xt_dtype to, void *dst) {
    if (from == XT_F32 && to == XT_BF16) {
        f32_to_bf16(n, src, dst);
        return;
    }
    if (from == XT_F32 && to == XT_F16) {
        f32_to_f16(n, src, dst);
        return;
    }
    double wide[INTERP_CHUNK];
    if (from == XT_I64)
        for (int64_t i = 0; i < n; i++) {
            int64_t v = ((const int64_t *)src)[i];
            double m = odd_double(v < 0 ? -(uint64_t)v : (uint64_t)v);
            wide[i] = v < 0 ? -m : m;
        }
    else if (from == XT_U64)
        for (int64_t i = 0; i < n; i++) wide[i] = odd_double(((const uint64_t *)src)[i]);
    else
        native_convert(from, XT_F64)(n, src, wide);
    const small_float *f = small_format(to);
    for (int64_t i = 0; i < n; i++) {
        if (to == XT_BF16)
            ((uint16_t *)dst)[i] = bf16_of(odd_float(wide[i]));
        else if (to == XT_F16)
            ((uint16_t *)dst)[i] = f16_of(odd_float(wide[i]));
        else
            ((uint8_t *)dst)[i] = f ? (uint8_t)small_encode(f, wide[i]) : e8m0_of(wide[i]);
    }
}

static void store_subbyte(int64_t n, xt_dtype from, const void *src, xt_dtype to, int8_t *dst) {
    if (from != XT_F32 && from != XT_F64) {
        native_convert(from, XT_I8)(n, src, dst);
        for (int64_t i = 0; i < n; i++) dst[i] = wrap_subbyte(to, dst[i]);
        return;
    }
    int32_t whole[INTERP_CHUNK];
    int bits = ir_dtype_bits(to);
    bool is_signed = ir_dtype_is_signed(to);
    int low = is_signed ? -(1 << (bits - 1)) : 0, high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    native_convert(from, XT_I32)(n, src, whole);
    for (int64_t i = 0; i < n; i++) dst[i] = (int8_t)(whole[i] < low ? low : whole[i] > high ? high : whole[i]);
}

static void store_native(int64_t n, xt_dtype from, const void *src, xt_dtype to, void *dst) {
    if (to == XT_C64) {
        float re[INTERP_CHUNK], *d = dst;
        native_convert(from, XT_F32)(n, src, re);
        for (int64_t i = 0; i < n; i++) d[2 * i] = re[i], d[2 * i + 1] = 0;
    } else if (to == XT_C128) {
        double re[INTERP_CHUNK], *d = dst;
        native_convert(from, XT_F64)(n, src, re);
        for (int64_t i = 0; i < n; i++) d[2 * i] = re[i], d[2 * i + 1] = 0;
    } else if (dtype_is_subbyte(to)) {
        store_subbyte(n, from, src, to, dst);
    } else if (dtype_compute(to) != to) {
        store_small(n, from, src, to, dst);
    } else {
        native_convert(from, to)(n, src, dst);
    }
}

static void complex_to_complex(int64_t n, xt_dtype from, const void *src, void *dst) {
    if (from == XT_C64)
        f32_to_f64(2 * n, src, dst);
    else
        f64_to_f32(2 * n, src, dst);
}

void convert_elems(int64_t n, xt_dtype from, const void *src, xt_dtype to, void *dst) {
    if (n <= 0) return;
    if (from == to) {
        memmove(dst, src, (size_t)n * xt_dtype_size(to));
        return;
    }
    convert_fn direct = native_convert(from, to);
    if (from == XT_BF16 && to == XT_F32) direct = bf16_to_f32;
    if (from == XT_F16 && to == XT_F32) direct = f16_to_f32;
    if (from == XT_F32 && to == XT_BF16) direct = f32_to_bf16;
    if (from == XT_F32 && to == XT_F16) direct = f32_to_f16;
    if (direct) {
        direct(n, src, dst);
        return;
    }
    if (ir_dtype_is_complex(from) && ir_dtype_is_complex(to)) {
        complex_to_complex(n, from, src, dst);
        return;
    }
    double tmp[INTERP_CHUNK]; /* also holds ints and floats: only its bytes matter */
    const char *s = src;
    char *d = dst;
    for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
        int64_t k = n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK;
        xt_dtype native = load_native(k, from, s + (size_t)at * xt_dtype_size(from), tmp);
        store_native(k, native, tmp, to, d + (size_t)at * xt_dtype_size(to));
    }
}
