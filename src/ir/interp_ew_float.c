/* Elementwise kernels of f32 and f64: one row per op, one loop per row and type. The narrower floats come here as f32
 * (interp_elementwise.c).
 *
 * NaN and zero rules of StableHLO: maximum and minimum give NaN when either side is NaN and order -0 below +0;
 * comparisons with NaN are false except NE; TOTALORDER compares sign-magnitude bits, -NaN < -inf < ... < -0 < +0 < ...
 * < inf < NaN; sign and the rounding ops keep -0 and NaN. */
/* Before the includes: an inline helper compiled under other rules would take its caller's loop along. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

#include "ir/interp_float.h"
#include "ir/interp_loops.h"

#include <tgmath.h>

/* In f64, where the difference has bits to spare; below 1e-4 the cubic term is under half an ulp. Twice as
 * fast as tanhf. */
static inline f32 tanh_f32(f32 a) {
    return fabs(a) < 1e-4f ? a : (f32)(1 - 2 / (exp(2 * (f64)a) + 1));
}
static inline f64 tanh_f64(f64 a) {
    return tanh(a);
}

/* X(op, arity, value of a, b, c): the type-generic functions of <tgmath.h> pick the width. */
#define FLOAT_OPS(X, T)                             \
    X(abs, 1, T, fabs(a))                           \
    X(negate, 1, T, -a)                             \
    X(cbrt, 1, T, cbrt(a))                          \
    X(ceil, 1, T, ceil(a))                          \
    X(cosine, 1, T, cos(a))                         \
    X(exponential, 1, T, exp(a))                    \
    X(exponential_minus_one, 1, T, expm1(a))        \
    X(floor, 1, T, floor(a))                        \
    X(log, 1, T, log(a))                            \
    X(log_plus_one, 1, T, log1p(a))                 \
    X(logistic, 1, T, 1 / (1 + exp(-a)))            \
    X(real, 1, T, a)                                \
    X(imag, 1, T, 0 * (a == a))                     \
    X(round_nearest_afz, 1, T, round(a))            \
    X(round_nearest_even, 1, T, rint(a))            \
    X(rsqrt, 1, T, 1 / sqrt(a))                     \
    X(sign, 1, T, a > 0 ? (T)1 : a < 0 ? (T)-1 : a) \
    X(sine, 1, T, sin(a))                           \
    X(sqrt, 1, T, sqrt(a))                          \
    X(tan, 1, T, tan(a))                            \
    X(tanh, 1, T, tanh_##T(a))                      \
    X(chlo_erf, 1, T, erf(a))                       \
    X(chlo_erfc, 1, T, erfc(a))                     \
    X(chlo_square, 1, T, a *a)                      \
    X(chlo_conj, 1, T, a)                           \
    X(chlo_acos, 1, T, acos(a))                     \
    X(chlo_acosh, 1, T, acosh(a))                   \
    X(chlo_asin, 1, T, asin(a))                     \
    X(chlo_asinh, 1, T, asinh(a))                   \
    X(chlo_atan, 1, T, atan(a))                     \
    X(chlo_atanh, 1, T, atanh(a))                   \
    X(chlo_sinh, 1, T, sinh(a))                     \
    X(chlo_cosh, 1, T, cosh(a))                     \
    X(chlo_tan, 1, T, tan(a))                       \
    X(add, 2, T, a + b)                             \
    X(subtract, 2, T, a - b)                        \
    X(multiply, 2, T, a *b)                         \
    X(divide, 2, T, a / b)                          \
    X(remainder, 2, T, fmod(a, b))                  \
    X(maximum, 2, T, max_##T(a, b))                 \
    X(minimum, 2, T, min_##T(a, b))                 \
    X(power, 2, T, pow(a, b))                       \
    X(atan2, 2, T, atan2(a, b))                     \
    X(chlo_next_after, 2, T, nextafter(a, b))       \
    X(clamp, 3, T, min_##T(max_##T(b, a), c))
/* X(op, arity, T, predicate) */
#define PREDICATES(X, T)                          \
    X(is_finite, 1, T, a - a == 0)                \
    X(chlo_is_inf, 1, T, a - a != 0 && a == a)    \
    X(chlo_is_pos_inf, 1, T, a - a != 0 && a > 0) \
    X(chlo_is_neg_inf, 1, T, a - a != 0 && a < 0)
#define COMPARISONS(X, T)                           \
    X(eq, 2, T, a == b)                             \
    X(ne, 2, T, a != b)                             \
    X(ge, 2, T, a >= b)                             \
    X(gt, 2, T, a > b)                              \
    X(le, 2, T, a <= b)                             \
    X(lt, 2, T, a < b)                              \
    X(total_eq, 2, T, total_##T(a) == total_##T(b)) \
    X(total_ne, 2, T, total_##T(a) != total_##T(b)) \
    X(total_ge, 2, T, total_##T(a) >= total_##T(b)) \
    X(total_gt, 2, T, total_##T(a) > total_##T(b))  \
    X(total_le, 2, T, total_##T(a) <= total_##T(b)) \
    X(total_lt, 2, T, total_##T(a) < total_##T(b))

#define VALUE_LOOP(op, arity, T, expr) \
    LOOP                               \
    ##arity(T##_##op, T, T, expr)
#define PREDICATE_LOOP(op, arity, T, expr) \
    LOOP                                   \
    ##arity(T##_##op, T, uint8_t, expr)
FLOAT_OPS(VALUE_LOOP, f32)
PREDICATES(PREDICATE_LOOP, f32)
COMPARISONS(PREDICATE_LOOP, f32)
FLOAT_OPS(VALUE_LOOP, f64)
PREDICATES(PREDICATE_LOOP, f64)
COMPARISONS(PREDICATE_LOOP, f64)

static void reduce_precision_f32(const ew *e, int64_t n, const void *const *in, void *out) {
    const f32 *x = in[0];
    f32 *r = out;
    for (int64_t i = 0; i < n; i++) r[i] = (f32)round_to_precision(x[i], e->exponent_bits, e->mantissa_bits);
}
static void reduce_precision_f64(const ew *e, int64_t n, const void *const *in, void *out) {
    const f64 *x = in[0];
    f64 *r = out;
    for (int64_t i = 0; i < n; i++) r[i] = round_to_precision(x[i], e->exponent_bits, e->mantissa_bits);
}

ew_fn ew_float(ir_opcode code, xt_dtype t, int cmp, bool total_order) {
#define ENTRY(op, arity, T, expr) [OP_##op] = T##_##op,
    static const ew_fn ops[2][OP_COUNT] = {
        {FLOAT_OPS(ENTRY, f32) PREDICATES(ENTRY, f32)[OP_reduce_precision] = reduce_precision_f32},
        {FLOAT_OPS(ENTRY, f64) PREDICATES(ENTRY, f64)[OP_reduce_precision] = reduce_precision_f64},
    };
#define LIST(op, arity, T, expr) T##_##op,
    static const ew_fn cmps[2][12] = {{COMPARISONS(LIST, f32)}, {COMPARISONS(LIST, f64)}}; /* in ir_cmp_dir's order */
    int wide = t == XT_F64;
    return cmp < 0 ? ops[wide][code] : cmps[wide][cmp + (total_order ? 6 : 0)];
}
