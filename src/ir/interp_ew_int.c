/* Elementwise kernels of the integers and bool: one row per op, one loop per row and type.
 *
 * Arithmetic wraps: it is done in an unsigned type of at least 32 bits and cut. x / 0 = -1 (all ones), x % 0 = x,
 * INT_MIN / -1 = INT_MIN, INT_MIN % -1 = 0; shifts by the width or more (a negative amount counts as large) give 0, or
 * copies of the sign for the arithmetic one; a negative exponent gives 0 but for bases 1 and -1. Integers of less than
 * a byte come here as i8 or u8 (interp_elementwise.c). */
#include "ir/interp_loops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* By squaring, modulo 2^64; every narrower result is its low bits. */
static uint64_t power_bits(uint64_t base, uint64_t exponent) {
    uint64_t r = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) r *= base;
    return r;
}
static int64_t power_signed(int64_t base, int64_t exponent) {
    if (exponent >= 0) return (int64_t)power_bits((uint64_t)base, (uint64_t)exponent);
    if (base == 1) return 1;
    return base == -1 ? (exponent & 1 ? -1 : 1) : 0;
}

/* X(op, arity, T, U, C, W, expr): T the type, U its unsigned, C an unsigned to calculate in, W the width in bits. */
#define COMMON_OPS(X, T, U, C, W)                                                      \
    X(not, 1, T, U, C, W, ~(C)a)                                                       \
    X(popcnt, 1, T, U, C, W, __builtin_popcountll((U)a))                               \
    X(count_leading_zeros, 1, T, U, C, W, (U)a ? __builtin_clzll((U)a) - (64 - W) : W) \
    X(negate, 1, T, U, C, W, (C)0 - (C)a)                                              \
    X(chlo_square, 1, T, U, C, W, (C)a *(C)a)                                          \
    X(chlo_conj, 1, T, U, C, W, a)                                                     \
    X(real, 1, T, U, C, W, a)                                                          \
    X(add, 2, T, U, C, W, (C)a + (C)b)                                                 \
    X(subtract, 2, T, U, C, W, (C)a - (C)b)                                            \
    X(multiply, 2, T, U, C, W, (C)a *(C)b)                                             \
    X(and, 2, T, U, C, W, a &b)                                                        \
    X(or, 2, T, U, C, W, a | b)                                                        \
    X(xor, 2, T, U, C, W, a ^ b)                                                       \
    X(maximum, 2, T, U, C, W, a > b ? a : b)                                           \
    X(minimum, 2, T, U, C, W, a < b ? a : b)                                           \
    X(shift_left, 2, T, U, C, W, (U)b < W ? (C)a << ((U)b & (W - 1)) : 0)              \
    X(shift_right_logical, 2, T, U, C, W, (U)b < W ? (U)a >> ((U)b & (W - 1)) : 0)     \
    X(clamp, 3, T, U, C, W, (b > a ? b : a) < c ? (b > a ? b : a) : c)
#define SIGNED_OPS(X, T, U, C, W)                                                 \
    X(abs, 1, T, U, C, W, a < 0 ? (C)0 - (C)a : (C)a)                             \
    X(sign, 1, T, U, C, W, (a > 0) - (a < 0))                                     \
    X(divide, 2, T, U, C, W, b == 0 ? (C)-1 : b == -1 ? (C)0 - (C)a : (C)(a / b)) \
    X(remainder, 2, T, U, C, W, b == 0 ? a : b == -1 ? 0 : a % b)                 \
    X(power, 2, T, U, C, W, power_signed(a, b))                                   \
    X(shift_right_arithmetic, 2, T, U, C, W, a >> ((U)b < W ? (U)b : W - 1))
#define UNSIGNED_OPS(X, T, U, C, W)             \
    X(abs, 1, T, U, C, W, a)                    \
    X(sign, 1, T, U, C, W, a != 0)              \
    X(divide, 2, T, U, C, W, b ? a / b : (T)-1) \
    X(remainder, 2, T, U, C, W, b ? a % b : a)  \
    X(power, 2, T, U, C, W, power_bits(a, b))   \
    X(shift_right_arithmetic, 2, T, U, C, W, arithmetic_u(a, b, W))
#define COMPARISONS(X, T) \
    X(eq, T, a == b) X(ne, T, a != b) X(ge, T, a >= b) X(gt, T, a > b) X(le, T, a <= b) X(lt, T, a < b)
/* The upper half of the product needs a type of twice the width. */
#define MULHI(T, D, W) LOOP2(T##_chlo_mulhi, T, T, ((D)a * (D)b) >> W)

/* Unsigned operands shift as if their top bit were a sign. */
static inline uint64_t arithmetic_u(uint64_t a, uint64_t b, int width) {
    int64_t v = (int64_t)(a << (64 - width)) >> (64 - width);
    return (uint64_t)(v >> (b < (uint64_t)width ? b : (uint64_t)width - 1));
}

#define VALUE_LOOP(op, arity, T, U, C, W, expr) \
    LOOP                                        \
    ##arity(T##_##op, T, T, expr)
#define COMPARE_LOOP(dir, T, expr) LOOP2(T##_##dir, T, uint8_t, expr)
#define SIGNED(T, U, C, W)             \
    COMMON_OPS(VALUE_LOOP, T, U, C, W) \
    SIGNED_OPS(VALUE_LOOP, T, U, C, W) \
    COMPARISONS(COMPARE_LOOP, T)
#define UNSIGNED(T, C, W)                \
    COMMON_OPS(VALUE_LOOP, T, T, C, W)   \
    UNSIGNED_OPS(VALUE_LOOP, T, T, C, W) \
    COMPARISONS(COMPARE_LOOP, T)
SIGNED(int8_t, uint8_t, uint32_t, 8)
SIGNED(int16_t, uint16_t, uint32_t, 16)
SIGNED(int32_t, uint32_t, uint32_t, 32)
SIGNED(int64_t, uint64_t, uint64_t, 64)
UNSIGNED(uint8_t, uint32_t, 8)
UNSIGNED(uint16_t, uint32_t, 16)
UNSIGNED(uint32_t, uint32_t, 32)
UNSIGNED(uint64_t, uint64_t, 64)
__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;
MULHI(int8_t, int32_t, 8)
MULHI(int16_t, int32_t, 16)
MULHI(int32_t, int64_t, 32)
MULHI(int64_t, wide_signed, 64)
MULHI(uint8_t, uint32_t, 8)
MULHI(uint16_t, uint32_t, 16)
MULHI(uint32_t, uint64_t, 32)
MULHI(uint64_t, wide_unsigned, 64)

/* bool: add is or, multiply is and. */
LOOP1(bool_not, uint8_t, uint8_t, !a)
LOOP2(bool_and, uint8_t, uint8_t, a &b)
LOOP2(bool_or, uint8_t, uint8_t, a | b)
LOOP2(bool_xor, uint8_t, uint8_t, a ^ b)
LOOP3(bool_clamp, uint8_t, uint8_t, (a | b) & c)

ew_fn ew_int(ir_opcode code, xt_dtype t, int cmp) {
#define ENTRY(op, arity, T, U, C, W, expr) [OP_##op] = T##_##op,
#define S_ROW(T, U, C, W)                \
    {                                    \
        COMMON_OPS(ENTRY, T, U, C, W)    \
        SIGNED_OPS(ENTRY, T, U, C, W)    \
        [OP_chlo_mulhi] = T##_chlo_mulhi \
    }
#define U_ROW(T, C, W)                   \
    {                                    \
        COMMON_OPS(ENTRY, T, T, C, W)    \
        UNSIGNED_OPS(ENTRY, T, T, C, W)  \
        [OP_chlo_mulhi] = T##_chlo_mulhi \
    }
    static const ew_fn ops[XT_U64 + 1][OP_COUNT] = {
        [XT_BOOL] = {[OP_not] = bool_not,
                     [OP_and] = bool_and,
                     [OP_or] = bool_or,
                     [OP_xor] = bool_xor,
                     [OP_add] = bool_or,
                     [OP_multiply] = bool_and,
                     [OP_maximum] = bool_or,
                     [OP_minimum] = bool_and,
                     [OP_clamp] = bool_clamp},
        [XT_I8] = S_ROW(int8_t, uint8_t, uint32_t, 8),
        [XT_I16] = S_ROW(int16_t, uint16_t, uint32_t, 16),
        [XT_I32] = S_ROW(int32_t, uint32_t, uint32_t, 32),
        [XT_I64] = S_ROW(int64_t, uint64_t, uint64_t, 64),
        [XT_U8] = U_ROW(uint8_t, uint32_t, 8),
        [XT_U16] = U_ROW(uint16_t, uint32_t, 16),
        [XT_U32] = U_ROW(uint32_t, uint32_t, 32),
        [XT_U64] = U_ROW(uint64_t, uint64_t, 64),
    };
#define LIST(dir, T, expr) T##_##dir,
    static const ew_fn cmps[XT_U64 + 1][6] = {
        [XT_BOOL] = {COMPARISONS(LIST, uint8_t)}, [XT_I8] = {COMPARISONS(LIST, int8_t)},
        [XT_I16] = {COMPARISONS(LIST, int16_t)},  [XT_I32] = {COMPARISONS(LIST, int32_t)},
        [XT_I64] = {COMPARISONS(LIST, int64_t)},  [XT_U8] = {COMPARISONS(LIST, uint8_t)},
        [XT_U16] = {COMPARISONS(LIST, uint16_t)}, [XT_U32] = {COMPARISONS(LIST, uint32_t)},
        [XT_U64] = {COMPARISONS(LIST, uint64_t)},
    };
    if (t < XT_BOOL || t > XT_U64) return NULL;
    return cmp < 0 ? ops[t][code] : cmps[t][cmp];
}
