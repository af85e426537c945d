/* Element-wise reduction of n arrays, always folded in rank order, so the result has the same bits on every rank and
 * in every run.
 *
 * Work goes in blocks that fit the first-level cache: the accumulator is a local block, so dst may be any of the
 * sources. f16 and bf16 are widened to f32 for the whole fold and rounded once. Integer sums and products wrap. min and
 * max give NaN when either is NaN, as StableHLO's minimum and maximum do. bool is a byte 0/1: sum = max = or, prod =
 * min = and. Complex types only sum. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* gcc vectorises these loops only from -O3 on */
#endif

#include "coll/core/group.h"

enum { BLOCK = 1024 };

typedef void (*fold_fn)(void *acc, const void *src, size_t n);

#define FOLD(name, T, expr)                                                    \
    static void name(void *restrict acc, const void *restrict src, size_t n) { \
        T *restrict x = acc;                                                   \
        const T *restrict y = src;                                             \
        for (size_t i = 0; i < n; i++) {                                       \
            T a = x[i], b = y[i];                                              \
            x[i] = (T)(expr);                                                  \
        }                                                                      \
    }
#define FOLD_BITS(U)                            \
    FOLD(sum_##U, U, (uint64_t)a + (uint64_t)b) \
    FOLD(prod_##U, U, (uint64_t)a *(uint64_t)b) \
    FOLD(and_##U, U, a &b)                      \
    FOLD(or_##U, U, a | b)
#define FOLD_ORDER(T)               \
    FOLD(min_##T, T, b < a ? b : a) \
    FOLD(max_##T, T, b > a ? b : a)
#define FOLD_FLOAT(T)                         \
    FOLD(sum_##T, T, a + b)                   \
    FOLD(prod_##T, T, a *b)                   \
    FOLD(min_##T, T, b < a || b != b ? b : a) \
    FOLD(max_##T, T, b > a || b != b ? b : a)

FOLD_BITS(uint8_t)
FOLD_BITS(uint16_t)
FOLD_BITS(uint32_t)
FOLD_BITS(uint64_t)
FOLD_ORDER(uint8_t)
FOLD_ORDER(uint16_t)
FOLD_ORDER(uint32_t)
FOLD_ORDER(uint64_t)
FOLD_ORDER(int8_t)
FOLD_ORDER(int16_t)
FOLD_ORDER(int32_t)
FOLD_ORDER(int64_t)
FOLD_FLOAT(float)
FOLD_FLOAT(double)

static void widen_bf16(float *dst, const uint16_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)src[i] << 16;
        memcpy(&dst[i], &u, sizeof u);
    }
}

/* Round to nearest even; a NaN stays a (quiet) NaN. */
static void narrow_bf16(uint16_t *dst, const float *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &src[i], sizeof u);
        uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16, nan = (u >> 16) | 0x40u;
        dst[i] = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

/* The exponent is moved by a multiplication: it also normalises subnormals, which integer shifts alone cannot. */
static void widen_f16(float *dst, const uint16_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t h = src[i], sign = (h & 0x8000u) << 16, rest = (h & 0x7fffu) << 13;
        float f;
        if ((h & 0x7c00u) == 0x7c00u) rest |= 0x7f800000u;
        memcpy(&f, &rest, sizeof f);
        if ((h & 0x7c00u) != 0x7c00u) f *= 0x1p112f;
        uint32_t u;
        memcpy(&u, &f, sizeof u);
        u |= sign;
        memcpy(&dst[i], &u, sizeof u);
    }
}

static uint16_t narrow_one_f16(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    uint32_t sign = (u >> 16) & 0x8000u, mag = u & 0x7fffffffu;
    if (mag > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (mag >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* rounds to 65536 or more */
    if (mag < 0x38800000u) { /* subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low mantissa bits */
        float m;
        memcpy(&m, &mag, sizeof m);
        m += 0.5f;
        memcpy(&mag, &m, sizeof mag);
        return (uint16_t)(sign | (mag - 0x3f000000u));
    }
    mag += 0xfffu + ((mag >> 13) & 1u);
    return (uint16_t)(sign | ((mag - 0x38000000u) >> 13));
}

static void narrow_f16(uint16_t *dst, const float *src, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = narrow_one_f16(src[i]);
}

enum { OPS = COLL_OR + 1 };
typedef struct reduce_row {
    fold_fn fold[OPS];
    uint8_t width, parts; /* bytes of what fold works on; such parts an element has */
    void (*widen)(float *dst, const uint16_t *src, size_t n);
    void (*narrow)(uint16_t *dst, const float *src, size_t n);
} reduce_row;

#define ROW_INT(U, T)                                                                \
    {                                                                                \
        .fold = {[COLL_SUM] = sum_##U, [COLL_PROD] = prod_##U, [COLL_MIN] = min_##T, \
                 [COLL_MAX] = max_##T, [COLL_AND] = and_##U,   [COLL_OR] = or_##U},  \
        .width = sizeof(T), .parts = 1                                               \
    }
#define ROW_FLOAT(T)                                                                                    \
    .fold = {[COLL_SUM] = sum_##T, [COLL_PROD] = prod_##T, [COLL_MIN] = min_##T, [COLL_MAX] = max_##T}, \
    .width = sizeof(T), .parts = 1

static const reduce_row rows[XT_DTYPE_COUNT] = {
    [XT_BOOL] = {.fold = {[COLL_SUM] = or_uint8_t,
                          [COLL_PROD] = and_uint8_t,
                          [COLL_MIN] = and_uint8_t,
                          [COLL_MAX] = or_uint8_t,
                          [COLL_AND] = and_uint8_t,
                          [COLL_OR] = or_uint8_t},
                 .width = 1,
                 .parts = 1},
    [XT_I8] = ROW_INT(uint8_t, int8_t),
    [XT_I16] = ROW_INT(uint16_t, int16_t),
    [XT_I32] = ROW_INT(uint32_t, int32_t),
    [XT_I64] = ROW_INT(uint64_t, int64_t),
    [XT_U8] = ROW_INT(uint8_t, uint8_t),
    [XT_U16] = ROW_INT(uint16_t, uint16_t),
    [XT_U32] = ROW_INT(uint32_t, uint32_t),
    [XT_U64] = ROW_INT(uint64_t, uint64_t),
    [XT_F32] = {ROW_FLOAT(float)},
    [XT_F64] = {ROW_FLOAT(double)},
    [XT_F16] = {ROW_FLOAT(float), .widen = widen_f16, .narrow = narrow_f16},
    [XT_BF16] = {ROW_FLOAT(float), .widen = widen_bf16, .narrow = narrow_bf16},
    [XT_C64] = {.fold = {[COLL_SUM] = sum_float}, .width = sizeof(float), .parts = 2},
    [XT_C128] = {.fold = {[COLL_SUM] = sum_double}, .width = sizeof(double), .parts = 2},
};

const char *reduce_name(coll_op op) {
    static const char *const names[OPS] = {"sum", "prod", "min", "max", "and", "or"};
    return (unsigned)op < OPS ? names[op] : "?";
}

xt_status reduce_check(coll_op op, xt_dtype t) {
    if ((unsigned)op < OPS && (unsigned)t < XT_DTYPE_COUNT && rows[t].fold[op]) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "all_reduce(%s) of %s is not defined; sum, prod, min and max work on integers, f16, bf16, f32, "
                      "f64 and bool, and/or on "
                      "integers and bool, sum on complex",
                      reduce_name(op), xt_dtype_name(t));
}

static void fold_half(const reduce_row *row, coll_op op, uint16_t *dst, const void *const *src, int n, size_t count) {
    float acc[BLOCK], next[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t len = count - at < BLOCK ? count - at : BLOCK;
        row->widen(acc, (const uint16_t *)src[0] + at, len);
        for (int r = 1; r < n; r++) {
            row->widen(next, (const uint16_t *)src[r] + at, len);
            row->fold[op](acc, next, len);
        }
        row->narrow(dst + at, acc, len);
    }
}

void reduce_fold(coll_op op, xt_dtype t, void *dst, const void *const *src, int n, size_t count) {
    const reduce_row *row = &rows[t];
    if (row->widen) {
        fold_half(row, op, dst, src, n, count);
        return;
    }
    union {
        double align;
        char bytes[BLOCK * sizeof(double)];
    } acc;
    count *= row->parts;
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t len = count - at < BLOCK ? count - at : BLOCK, offset = at * row->width;
        memcpy(acc.bytes, (const char *)src[0] + offset, len * row->width);
        for (int r = 1; r < n; r++) row->fold[op](acc.bytes, (const char *)src[r] + offset, len);
        memcpy((char *)dst + offset, acc.bytes, len * row->width);
    }
}

void coll_scale_half(void *data, xt_dtype t, size_t count, float factor) {
    const reduce_row *row = &rows[t];
    float x[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? count - at : BLOCK;
        uint16_t *p = (uint16_t *)data + at;
        row->widen(x, p, n);
        for (size_t i = 0; i < n; i++) x[i] *= factor;
        row->narrow(p, x, n);
    }
}
