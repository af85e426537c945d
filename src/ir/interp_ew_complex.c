/* Elementwise kernels of c64 and c128. C's own complex arithmetic carries the rules for infinities (C11 annex G). */
#include "ir/interp_loops.h"

#include <complex.h>
#include <tgmath.h>

typedef float complex c64;
typedef double complex c128;

/* X(op, arity, operand, result, expr) with R the real type; `a`, `b` the operands. */
#define FUNCTIONS(X, C, R)                          \
    X(cbrt, 1, C, C, pow(a, (C)(1.0 / 3)))          \
    X(cosine, 1, C, C, cos(a))                      \
    X(exponential, 1, C, C, exp(a))                 \
    X(exponential_minus_one, 1, C, C, expm1_##C(a)) \
    X(log, 1, C, C, log(a))                         \
    X(log_plus_one, 1, C, C, log1p_##C(a))          \
    X(logistic, 1, C, C, 1 / (1 + exp(-a)))         \
    X(rsqrt, 1, C, C, 1 / sqrt(a))                  \
    X(sign, 1, C, C, sign_##C(a))                   \
    X(sine, 1, C, C, sin(a))                        \
    X(sqrt, 1, C, C, sqrt(a))                       \
    X(tan, 1, C, C, tan(a))                         \
    X(tanh, 1, C, C, tanh(a))                       \
    X(chlo_tan, 1, C, C, tan(a))                    \
    X(chlo_acos, 1, C, C, acos(a))                  \
    X(chlo_acosh, 1, C, C, acosh(a))                \
    X(chlo_asin, 1, C, C, asin(a))                  \
    X(chlo_asinh, 1, C, C, asinh(a))                \
    X(chlo_atan, 1, C, C, atan(a))                  \
    X(chlo_atanh, 1, C, C, atanh(a))                \
    X(chlo_sinh, 1, C, C, sinh(a))                  \
    X(chlo_cosh, 1, C, C, cosh(a))                  \
    X(abs, 1, C, R, fabs(a))                        \
    X(divide, 2, C, C, a / b)                       \
    X(power, 2, C, C, power_##C(a, b))              \
    X(atan2, 2, C, C, -(C)I *log((b + (C)I * a) / sqrt(a * a + b * b)))
#define ARITHMETIC(X, C, R)                      \
    X(negate, 1, C, C, -a)                       \
    X(chlo_conj, 1, C, C, conj(a))               \
    X(chlo_square, 1, C, C, a *a)                \
    X(real, 1, C, R, creal(a))                   \
    X(imag, 1, C, R, cimag(a))                   \
    X(add, 2, C, C, a + b)                       \
    X(subtract, 2, C, C, a - b)                  \
    X(multiply, 2, C, C, a *b)                   \
    X(maximum, 2, C, C, after_##C(a, b) ? a : b) \
    X(minimum, 2, C, C, after_##C(a, b) ? b : a) \
    X(complex, 2, R, C, pair_##C(a, b))

#define HELPERS(C, R)                                                                               \
    /* Parts are written one by one: a + I*b would turn an infinite b into NaN in the real part. */ \
    static C pair_##C(R re, R im) {                                                                 \
        C z;                                                                                        \
        ((R *)&z)[0] = re;                                                                          \
        ((R *)&z)[1] = im;                                                                          \
        return z;                                                                                   \
    }                                                                                               \
    /* Ordered by real part, then by imaginary part. */                                             \
    static bool after_##C(C a, C b) {                                                               \
        return creal(a) != creal(b) ? creal(a) > creal(b) : cimag(a) > cimag(b);                    \
    }
HELPERS(c64, float)
HELPERS(c128, double)

static c128 sign_c128(c128 a) {
    double m = fabs(a);
    return m == 0 ? (c128)0 : pair_c128(creal(a) / m, cimag(a) / m);
}
/* e^(x+iy) - 1 without cancellation: the cosine's distance from 1 is 2 sin^2(y/2). */
static c128 expm1_c128(c128 a) {
    double x = creal(a), y = cimag(a), half = sin(y / 2);
    return pair_c128(expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y));
}
static c128 log1p_c128(c128 a) {
    double x = creal(a), y = cimag(a);
    double re = fabs(x) < 1 && fabs(y) < 1 ? log1p(x * (2 + x) + y * y) / 2 : log(hypot(1 + x, y));
    return pair_c128(re, atan2(y, 1 + x));
}
static c128 power_c128(c128 a, c128 b) {
    if (creal(a) == 0 && cimag(a) == 0)
        return creal(b) == 0 && cimag(b) == 0 ? (c128)1 : creal(b) > 0 ? (c128)0 : pow(a, b);
    return pow(a, b);
}

#define LOOP_32(op, arity, T, R, expr) \
    LOOP                               \
    ##arity(op##_32, T, R, expr)
#define LOOP_64(op, arity, T, R, expr) \
    LOOP                               \
    ##arity(op##_64, T, R, expr)
/* Functions of c64 are worked out in double and rounded once: near a zero of a logarithm or a power, f32 parts lose
 * the small part. */
#define STORED_c128 c64
#define STORED_double float
#define FUNCTION_32(op, arity, T, R, expr) WIDE##arity(op##_32, STORED_##T, T, STORED_##R, expr)
FUNCTIONS(FUNCTION_32, c128, double)
ARITHMETIC(LOOP_32, c64, float)
FUNCTIONS(LOOP_64, c128, double)
ARITHMETIC(LOOP_64, c128, double)
LOOP2(eq_32, c64, uint8_t, a == b)
LOOP2(ne_32, c64, uint8_t, a != b)
LOOP2(eq_64, c128, uint8_t, a == b)
LOOP2(ne_64, c128, uint8_t, a != b)

ew_fn ew_complex(ir_opcode code, xt_dtype t, int cmp) {
#define ENTRY_32(op, arity, T, R, expr) [OP_##op] = op##_32,
#define ENTRY_64(op, arity, T, R, expr) [OP_##op] = op##_64,
    static const ew_fn ops[2][OP_COUNT] = {{FUNCTIONS(ENTRY_32, c64, float) ARITHMETIC(ENTRY_32, c64, float)},
                                           {FUNCTIONS(ENTRY_64, c128, double) ARITHMETIC(ENTRY_64, c128, double)}};
    int wide = t == XT_C128 || (code == OP_complex && t == XT_F64);
    if (cmp == IR_EQ) return wide ? eq_64 : eq_32;
    if (cmp == IR_NE) return wide ? ne_64 : ne_32;
    return cmp < 0 ? ops[wide][code] : NULL;
}
