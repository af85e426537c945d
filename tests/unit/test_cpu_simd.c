/* The vector loops of each instruction set this machine has: elementary functions against double precision, and every
 * set against the base. */
#include "cpu_differential.h"

#include "cpu/vector/fold.h"
#include "cpu/vector/simd.h"

static double exact_logistic(double x) {
    return 1 / (1 + exp(-x));
}
static double exact_rsqrt(double x) {
    return 1 / sqrt(x);
}

static double ulp(float x) {
    int e;
    frexpf(x == 0 ? 1e-38f : x, &e);
    return ldexp(1.0, e - 24);
}

/* Over the floats themselves (every 977th bit pattern), so that all magnitudes are met; results that are denormal are
 * left out: the device flushes them. */
static void functions_are_accurate(void **state) {
    (void)state;
    static const struct {
        const char *name;
        vprog_op op;
        double (*exact)(double);
        double limit;
    } rows[] = {{"exp", VPROG_EXP, exp, 2},
                {"expm1", VPROG_EXPM1, expm1, 4},
                {"log", VPROG_LOG, log, 2},
                {"log1p", VPROG_LOG1P, log1p, 4},
                {"tanh", VPROG_TANH, tanh, 2},
                {"logistic", VPROG_LOGISTIC, exact_logistic, 3},
                {"rsqrt", VPROG_RSQRT, exact_rsqrt, 2},
                {"sin", VPROG_SIN, sin, 1},
                {"cos", VPROG_COS, cos, 1},
                {"tan", VPROG_TAN, tan, 1.5}};
    enum { N = 4096 };
    static float x[N], y[N];
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        double worst = 0;
        float at = 0;
        for (uint64_t bits = 0; bits < (UINT64_C(1) << 32);) {
            for (int i = 0; i < N; i++, bits += 977) {
                uint32_t u = (uint32_t)(bits & 0xffffffffu);
                memcpy(&x[i], &u, 4);
            }
            simd_get()->ops[rows[k].op][VPROG_F32](y, x, NULL, NULL, N);
            for (int i = 0; i < N; i++) {
                double want = rows[k].exact((double)x[i]);
                if (fabs((double)x[i]) < 1.2e-38 && x[i] != 0) continue;
                if (isnan(want)) {
                    if (!isnan(y[i])) fail_msg("%s(%g) is %g, expected NaN", rows[k].name, (double)x[i], (double)y[i]);
                    continue;
                }
                if (fabs(want) < 1.2e-38) continue;
                if (isinf((float)want) || isinf(y[i])) { /* the limit of the range may be off by the last step only */
                    if (!(isinf(y[i]) && fabs(want) > 3.4e38))
                        fail_msg("%s(%g) is %g, expected %g", rows[k].name, (double)x[i], (double)y[i], want);
                    continue;
                }
                double err = fabs((double)y[i] - want) / ulp((float)want);
                if (err > worst) worst = err, at = x[i];
            }
        }
        if (worst > rows[k].limit)
            fail_msg("%s is off by %.2f ULP at %.9g, limit %g", rows[k].name, worst, (double)at, rows[k].limit);
    }
}

/* Both coordinates from the floats themselves; zeros, infinities and NaN meet each other, bit for bit as C has it. */
static void angles_are_accurate(void **state) {
    (void)state;
    enum { N = 4096, ROUNDS = 256 };
    static float x[N], y[N], got[N];
    static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 3e38f, -2e-38f, INFINITY, -INFINITY, NAN};
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (uint64_t k = 0; k < 2 * ROUNDS; k++) {
        for (size_t i = 0; i < N; i++) {
            uint64_t bits = rng_bits(8, k / 2, i);
            uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32), near = 0x3f800000u;
            if (k / 2 % 2) low = near + low % (1u << 23), high = near + high % (1u << 23); /* angles of all octants */
            memcpy(&x[i], &low, 4);
            memcpy(&y[i], &high, 4);
            if (k / 2 % 4 == 3) x[i] = bits & 2 ? -x[i] * 0.3f : x[i] * 0.3f, y[i] = bits & 4 ? -y[i] : y[i];
            if (fabsf(x[i]) < 1.2e-38f) x[i] = 0;
            if (fabsf(y[i]) < 1.2e-38f) y[i] = 0;
            if (k < 2) x[i] = special[i / 9 % 9], y[i] = special[i % 9];
        }
        sets[k % 2]->ops[VPROG_ATAN2][VPROG_F32](got, y, x, NULL, N);
        for (int i = 0; i < N; i++) {
            double want = atan2((double)y[i], (double)x[i]);
            if (isnan(want) ? isnan(got[i]) : fabs(want) < 1.2e-38 && want != 0) continue;
            bool right = want == 0 ? got[i] == 0 : fabs((double)got[i] - want) <= 0.502 * ulp((float)want);
            if (!right || !signbit(got[i]) != !signbit(want))
                fail_msg("atan2(%.9g, %.9g) (%s) is %.9g, expected %.9g", (double)y[i], (double)x[i], sets[k % 2]->name,
                         (double)got[i], want);
        }
    }
}

/* f64 against numbers of 64 bits' precision: from the least to the largest, and around 1, where log is small. */
static void wide_functions_are_accurate(void **state) {
    (void)state;
    static const struct {
        const char *name;
        vprog_op op;
        long double (*exact)(long double);
        double least, most, limit;
    } rows[] = {{"exp", VPROG_EXP, expl, -708, 709.7, 2},
                {"exp", VPROG_EXP, expl, -1e-3, 1e-3, 2},
                {"log", VPROG_LOG, logl, 0.5, 2, 2},
                {"log", VPROG_LOG, logl, 1e-300, 1e-290, 2},
                {"log", VPROG_LOG, logl, 3, 1e300, 2}};
    enum { N = 100001 };
    static double x[N], y[N];
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (size_t k = 0; k < 2 * BASE_COUNT(rows); k++) {
        size_t j = k / 2;
        for (int i = 0; i < N; i++)
            x[i] = rows[j].least +
                   (rows[j].most - rows[j].least) * ((double)(rng_bits(7, j, (uint64_t)i) >> 11) * 0x1p-53);
        sets[k % 2]->ops[rows[j].op][VPROG_F64](y, x, NULL, NULL, N);
        for (int i = 0; i < N; i++) {
            long double want = rows[j].exact((long double)x[i]);
            int e;
            frexpl(want, &e);
            double err = (double)(fabsl((long double)y[i] - want) / ldexpl(1, e - 53));
            if (!(err <= rows[j].limit))
                fail_msg("%s of f64 (%s) is off by %.2f ULP at %.17g", rows[j].name, sets[k % 2]->name, err, x[i]);
        }
    }
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 710, -746, 1e308, -1e308, -1, 1};
    for (size_t i = 0; i < BASE_COUNT(special); i++)
        for (int k = 0; k < 4; k++) {
            double got, want = k < 2 ? exp(special[i]) : log(special[i]);
            sets[k % 2]->ops[k < 2 ? VPROG_EXP : VPROG_LOG][VPROG_F64](&got, &special[i], NULL, NULL, 1);
            if (!(got == want || (isnan(got) && isnan(want))) && !close_enough(want, got, 1e-15))
                fail_msg("%s of %g is %.17g, expected %.17g", k < 2 ? "exp" : "log", special[i], got, want);
        }
}

/* What an element gives does not depend on its neighbours, of which one may be too large for the vectors' reduction. */
static void large_angles_change_no_others(void **state) {
    (void)state;
    static const vprog_op ops[] = {VPROG_SIN, VPROG_COS, VPROG_TAN};
    static const float large[] = {3e6f, 1e30f, -2e9f, INFINITY, NAN};
    enum { N = 1003 };
    static float x[N], alone[N], beside[N];
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (int k = 0; k < 2 * 3 * (int)BASE_COUNT(large); k++) {
        const vprog_fn fn = sets[k % 2]->ops[ops[k / 2 % 3]][VPROG_F32];
        float odd = large[k / 6];
        for (int i = 0; i < N; i++) x[i] = (float)i * 0.37f - 200;
        fn(alone, x, NULL, NULL, N);
        x[500] = odd;
        fn(beside, x, NULL, NULL, N);
        assert_memory_equal(alone, beside, 500 * sizeof *x);
        assert_memory_equal(alone + 501, beside + 501, (N - 501) * sizeof *x);
        double want = k / 2 % 3 == 0 ? sin((double)odd) : k / 2 % 3 == 1 ? cos((double)odd) : tan((double)odd);
        assert_true(close_enough(want, (double)beside[500], 1e-6));
    }
}

/* Every f16 there is, to f32 and back, and its neighbours between two of them: the widest set against the base. */
static void halves_agree(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    static uint16_t h[N], base[N], best[N];
    static float wide[N], other[N], between[N];
    for (int i = 0; i < N; i++) h[i] = (uint16_t)i;
    simd_base.ops[VPROG_LOAD_F16][VPROG_F32](wide, h, NULL, NULL, N);
    simd_get()->ops[VPROG_LOAD_F16][VPROG_F32](other, h, NULL, NULL, N);
    for (int i = 0; i < N; i++)
        if (!(wide[i] == other[i] || (isnan(wide[i]) && isnan(other[i]))) || signbit(wide[i]) != signbit(other[i]))
            fail_msg("f16 0x%04x is %g, expected %g", (unsigned)i, (double)other[i], (double)wide[i]);
    for (int k = -1; k <= 1; k++) {
        for (int i = 0; i < N; i++) {
            float next = wide[(i + 1) % N], middle = (wide[i] + next) / 2;
            between[i] = k < 0 ? nextafterf(middle, -INFINITY) : k > 0 ? nextafterf(middle, INFINITY) : middle;
        }
        simd_base.ops[VPROG_STORE_F16][VPROG_F32](base, between, NULL, NULL, N);
        simd_get()->ops[VPROG_STORE_F16][VPROG_F32](best, between, NULL, NULL, N);
        assert_memory_equal(base, best, sizeof base);
        simd_base.ops[VPROG_ROUND_F16][VPROG_F32](wide, between, NULL, NULL, N);
        simd_get()->ops[VPROG_ROUND_F16][VPROG_F32](other, between, NULL, NULL, N);
        for (int i = 0; i < N; i++)
            if (!(wide[i] == other[i] || (isnan(wide[i]) && isnan(other[i]))))
                fail_msg("%.9g rounds to %g, expected %g", (double)between[i], (double)other[i], (double)wide[i]);
        simd_base.ops[VPROG_LOAD_F16][VPROG_F32](wide, h, NULL, NULL, N);
    }
}

/* Special operands and lengths that leave remainders; wider sets may contract a*b+c, so floats get a tolerance. */
static void instruction_sets_agree(void **state) {
    (void)state;
    enum { N = 201 };
    static const float special[] = {0.0f,  -0.0f, INFINITY, -INFINITY, NAN,    1.0f,    -1.0f, 0.5f,
                                    -2.5f, 1e30f, -1e-30f,  127.5f,    128.0f, -129.0f, 3e9f};
    static union {
        float f[N];
        uint64_t words[N];
        uint8_t bytes[8 * N];
    } a, b, c, want, got;
    const simd_ops *best = simd_get();
    for (int op = VPROG_ADD; op < VPROG_OP_COUNT; op++)
        for (int t = 0; t < VPROG_TYPE_COUNT; t++) {
            if (!simd_base.ops[op][t]) {
                assert_null(best->ops[op][t]);
                continue;
            }
            for (int i = 0; i < N; i++) {
                uint64_t r = rng_bits((uint64_t)op, (uint64_t)t, (uint64_t)i),
                         q = rng_bits((uint64_t)op, (uint64_t)t, (uint64_t)i + 1000);
                a.words[i] = r, b.words[i] = i % 3 ? q : q % 70, c.words[i] = r ^ q;
            }
            if (t == VPROG_F32)
                for (int i = 0; i < N; i++)
                    a.f[i] = special[i % 15], b.f[i] = i % 2 ? special[i / 15] : (float)i / 7 - 9, c.f[i] = (float)i;
            if (t == VPROG_F64)
                for (int i = 0; i < N; i++) {
                    double x = (double)special[i % 15], y = (double)special[i / 15];
                    memcpy(&a.words[i], &x, 8);
                    memcpy(&b.words[i], &y, 8);
                }
            bool pred = op == VPROG_SELECT || t == VPROG_B1;
            for (int i = 0; i < 8 * N && pred; i++) a.bytes[i] &= 1;
            for (int i = 0; i < 8 * N && t == VPROG_B1; i++) b.bytes[i] &= 1, c.bytes[i] &= 1;
            memset(&want, 0, sizeof want);
            memset(&got, 0, sizeof got);
            simd_base.ops[op][t](&want, &a, &b, &c, N);
            best->ops[op][t](&got, &a, &b, &c, N);
            bool real = (t == VPROG_F32 && op < VPROG_CONVERT && op != VPROG_STORE_BF16 && op != VPROG_STORE_F16 &&
                         !(op >= VPROG_EQ && op <= VPROG_LT)) &&
                        op != VPROG_IS_FINITE;
            for (int i = 0; i < N; i++) {
                if (real && (want.f[i] == got.f[i] || (isnan(want.f[i]) && isnan(got.f[i])) ||
                             fabsf(want.f[i] - got.f[i]) <= 3e-6f * (1 + fabsf(want.f[i]))))
                    continue;
                if (!real && memcmp(want.bytes + 8 * i, got.bytes + 8 * i, 8) == 0) continue;
                double x, y;
                memcpy(&x, &want.words[i], 8);
                memcpy(&y, &got.words[i], 8);
                if (t == VPROG_F64 && (fabs(x - y) <= 1e-12 * (1 + fabs(x)) || (isnan(x) && isnan(y)))) continue;
                fail_msg("instruction %d of type %d, element %d: base and %s differ", op, t, i, best->name);
            }
        }
}

/* Whole numbers of `bytes` bytes, as 64 bits hold them. */
static int64_t whole_at(const void *p, int i, int bytes, bool has_sign) {
    uint64_t u = 0;
    memcpy(&u, (const char *)p + i * bytes, (size_t)bytes);
    int shift = 64 - 8 * bytes;
    return has_sign ? (int64_t)(u << shift) >> shift : (int64_t)u;
}

/* Against C's operators: a divisor for each element, and one for all, which every set has another loop for. Dividends
 * lie at multiples of the divisor and beside them, where a quotient that is rounded the wrong way shows. */
static void integers_divide(void **state) {
    (void)state;
    enum { N = 77 };
    static const vprog_type types[] = {VPROG_I8, VPROG_I16, VPROG_I32, VPROG_U8, VPROG_U16, VPROG_U32};
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (int k = 0; k < 6; k++)
        for (int round = 0; round < 4000; round++) {
            const int bytes = 1 << k % 3;
            const bool has_sign = k < 3, one = round % 2;
            uint32_t a[N] = {0}, b[N] = {0}, q[N], r[N], mask = UINT32_MAX >> (32 - 8 * bytes);
            for (int i = 0; i < N; i++) {
                uint64_t x = rng_bits((uint64_t)k, (uint64_t)round, (uint64_t)i),
                         y = rng_bits((uint64_t)k, (uint64_t)round, one ? N : (uint64_t)i + 2 * N);
                uint32_t by = (uint32_t)(y >> 8) >> (y & 31), times = (uint32_t)(x >> 16) >> (x & 31),
                         dividend = by * (uint32_t)(times % (mask / (by & mask ? by & mask : 1) + UINT64_C(1))) +
                                    (uint32_t)(x >> 60) % 3 - 1;
                if (x >> 40 & 1 && has_sign) dividend = 0 - dividend;
                if (y >> 40 & 1 && has_sign) by = 0 - by;
                memcpy((char *)a + i * bytes, &dividend, (size_t)bytes);
                memcpy((char *)b + i * bytes, &by, (size_t)bytes);
            }
            for (int set = 0; set < 2; set++) {
                sets[set]->ops[VPROG_DIV][types[k]](q, a, b, NULL, N);
                sets[set]->ops[VPROG_REM][types[k]](r, a, b, NULL, N);
                for (int i = 0; i < N; i++) {
                    int64_t x = whole_at(a, i, bytes, has_sign), y = whole_at(b, i, bytes, has_sign),
                            quotient = y == 0 ? -1 : x / y, rest = y == 0 ? x : x % y;
                    if ((uint32_t)whole_at(q, i, bytes, false) == ((uint32_t)quotient & mask) &&
                        (uint32_t)whole_at(r, i, bytes, false) == ((uint32_t)rest & mask))
                        continue;
                    fail_msg("%s, type %d, %s: %lld by %lld", sets[set]->name, (int)types[k],
                             one ? "one divisor" : "many", (long long)x, (long long)y);
                }
            }
        }
}

/* A view of random dims and strides, its least element at 0. */
static view random_view(uint64_t seed, int64_t *out_span) {
    static const int64_t steps[] = {0, 1, 1, 2, 3, 4, -1, -2, 5, 17};
    static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 40};
    uint64_t g = rng_bits(seed, 7, 0);
    view v = {.n = 1 + (int)(g % 4)};
    int64_t last = 0;
    for (int k = 0; k < v.n; k++) {
        uint64_t h = rng_bits(seed, 8, (uint64_t)k);
        v.dims[k] = widths[h % BASE_COUNT(widths)];
        v.strides[k] = steps[(h >> 8) % BASE_COUNT(steps)];
        int64_t reach = v.strides[k] * (v.dims[k] - 1);
        if (reach < 0) v.offset -= reach;
        last += reach > 0 ? reach : 0;
    }
    *out_span = v.offset + last + 1;
    return v;
}

/* Windows on arrays, from any element to any other, by each set: short rows, repeated ones, steps with an order of
 * their own and others. */
static void windows_are_read_in_order(void **state) {
    (void)state;
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (uint64_t round = 0; round < 3000; round++) {
        int64_t span, count = 1;
        view v = random_view(round, &span);
        for (int k = 0; k < v.n; k++) count *= v.dims[k];
        int64_t begin = (int64_t)(rng_bits(round, 9, 0) % (uint64_t)count),
                n = 1 + (int64_t)(rng_bits(round, 9, 1) % (uint64_t)(count - begin));
        if (n > 4000) n = 4000;
        uint8_t *src = base_malloc((size_t)span * 8), *dst = base_malloc((size_t)n * 8 + 8);
        assert_non_null(src);
        assert_non_null(dst);
        for (int64_t i = 0; i < span * 8; i++) src[i] = (uint8_t)rng_bits(round, 10, (uint64_t)i);
        for (int which = 0; which < 8; which++) {
            size_t elem = (size_t)1 << which % 4;
            memset(dst, 0xa5, (size_t)n * 8 + 8);
            sets[which / 4]->gather[which % 4](dst, src, &v, begin, n);
            for (int64_t i = 0; i < n; i++) {
                int64_t rest = begin + i, at = v.offset;
                for (int k = v.n - 1; k >= 0; k--) {
                    at += rest % v.dims[k] * v.strides[k];
                    rest /= v.dims[k];
                }
                if (memcmp(dst + (size_t)i * elem, src + (size_t)at * elem, elem) != 0)
                    fail_msg("%s, view %d: element %d of %zu bytes", sets[which / 4]->name, (int)round, (int)i, elem);
            }
            for (int i = 0; i < 8; i++) assert_int_equal(dst[(size_t)n * elem + (size_t)i], 0xa5);
        }
        base_free(src);
        base_free(dst);
    }
}

static void sizes_of_complex_numbers(void **state) {
    (void)state;
    static const float parts[] = {0.0f,     -0.0f, 1.0f,   -3.0f,    4.0f,      1e-30f, 1e-38f, 3e38f,
                                  -2.5e38f, 1e19f, 1e-20f, INFINITY, -INFINITY, NAN,    0.3f,   7e5f};
    enum { N = BASE_COUNT(parts), ALL = N * N };
    const simd_ops *sets[] = {&simd_base, simd_get()};
    float z[2 * ALL], got[ALL];
    for (int i = 0; i < ALL; i++) z[2 * i] = parts[i / N], z[2 * i + 1] = parts[i % N];
    for (int set = 0; set < 2; set++) {
        sets[set]->abs_c64(got, z, ALL);
        for (int i = 0; i < ALL; i++) {
            float want = (float)hypot((double)z[2 * i], (double)z[2 * i + 1]);
            if (got[i] == want || (isnan(got[i]) && isnan(want)) || fabsf(got[i] - want) <= 1.2e-7f * want) continue;
            fail_msg("%s: |%g + %gi| is %g, expected %g", sets[set]->name, (double)z[2 * i], (double)z[2 * i + 1],
                     (double)got[i], (double)want);
        }
    }
}

/* Each part two products and a sum, each rounded: to the bit, with what overflows and what cancels. */
static void products_of_complex_numbers(void **state) {
    (void)state;
    static const float parts[] = {0.0f, -0.0f, 1.0f, -3.0f, 1e-30f, 3e38f, INFINITY, -INFINITY, NAN, 31234.567f};
    enum { N = BASE_COUNT(parts), ALL = N * N * N * N };
    static float a[2 * ALL], b[2 * ALL], got[2 * ALL];
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (int i = 0; i < ALL; i++) {
        a[2 * i] = parts[i % N], a[2 * i + 1] = parts[i / N % N];
        b[2 * i] = parts[i / N / N % N], b[2 * i + 1] = parts[i / N / N / N];
    }
    for (int set = 0; set < 2; set++) {
        bool any = sets[set]->mul_c64(got, a, b, ALL);
        assert_true(any);
        for (int i = 0; i < ALL; i++) {
            volatile float xu = a[2 * i] * b[2 * i], yv = a[2 * i + 1] * b[2 * i + 1];
            volatile float xv = a[2 * i] * b[2 * i + 1], yu = a[2 * i + 1] * b[2 * i];
            float want[2] = {xu - yv, xv + yu}, alone[2];
            bool nan = sets[set]->mul_c64(alone, a + 2 * i, b + 2 * i, 1);
            assert_int_equal(nan, isnan(want[0]) || isnan(want[1]));
            if (!nan && (memcmp(alone, want, sizeof want) != 0 || memcmp(got + 2 * i, want, sizeof want) != 0))
                fail_msg("%s: product %d is %g + %gi, expected %g + %gi", sets[set]->name, i, (double)got[2 * i],
                         (double)got[2 * i + 1], (double)want[0], (double)want[1]);
        }
    }
}

/* Against f64's, over ordinary operands to 1 unit in the last place, and exactly on all pairs of special ones. */
static void powers_are_accurate(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    static const float special[] = {0.0f,     -0.0f,     1.0f, -1.0f, 2.0f,        -2.0f, 0.5f,    -0.5f, 3.0f,
                                    INFINITY, -INFINITY, NAN,  2.5f,  16777215.0f, 1e30f, -1e-30f, -3.0f, 16777216.0f};
    static float x[N], y[N], got[N];
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (int set = 0; set < 2; set++) {
        const vprog_fn power = sets[set]->ops[VPROG_POW][VPROG_F32];
        for (int i = 0; i < N; i++) {
            x[i] = (float)exp(((double)(rng_bits(3, 1, (uint64_t)i) >> 11) * 0x1p-53 - 0.5) * 40);
            y[i] = (float)(((double)(rng_bits(3, 2, (uint64_t)i) >> 11) * 0x1p-53 - 0.5) * 8);
        }
        power(got, x, y, NULL, N);
        for (int i = 0; i < N; i++) {
            double want = pow((double)x[i], (double)y[i]);
            if (want > 3.4e38 || want < 1.2e-38) continue;
            if (fabs((double)got[i] - want) > ulp((float)want))
                fail_msg("%s: %.9g ^ %.9g is %.9g, expected %.9g", sets[set]->name, (double)x[i], (double)y[i],
                         (double)got[i], want);
        }
        for (size_t i = 0; i < BASE_COUNT(special) * BASE_COUNT(special); i++) {
            float a = special[i / BASE_COUNT(special)], b = special[i % BASE_COUNT(special)], r;
            power(&r, &a, &b, NULL, 1);
            float want = (float)pow((double)a, (double)b);
            if (isnan(want) ? isnan(r) : close_enough((double)want, (double)r, 1e-7) && signbit(want) == signbit(r))
                continue;
            if (fabsf(want) < 1.2e-38f && fabsf(r) < 1.2e-38f && signbit(want) == signbit(r)) continue;
            fail_msg("%s: %g ^ %g is %g, expected %g", sets[set]->name, (double)a, (double)b, (double)r, (double)want);
        }
    }
}

/* Rows at any distance, folded four at a time, are what one after the other gives. */
static void stacked_rows_fold_in_order(void **state) {
    (void)state;
    enum { N = 37, STEP = 41, ROWS = 11 };
    static float x[STEP * ROWS];
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (int i = 0; i < STEP * ROWS; i++) x[i] = i % 17 == 3 ? NAN : i % 5 ? (float)i * 0.37f - 50 : -0.0f;
    for (int k = 0; k < 2 * FOLD_COUNT; k++)
        for (int64_t rows = 0; rows <= ROWS; rows++)
            for (int64_t n = 1; n <= N; n += 6) {
                float want[N], got[N];
                for (int i = 0; i < N; i++) want[i] = got[i] = (float)(i - 9);
                for (int64_t r = 0; r < rows; r++) sets[k % 2]->fold_rows[k / 2](want, x + r * STEP, n);
                sets[k % 2]->fold_stack[k / 2](got, x, STEP, rows, n);
                for (int i = 0; i < N; i++)
                    if (memcmp(&want[i], &got[i], 4) != 0 && !(isnan(want[i]) && isnan(got[i])))
                        fail_msg("fold %d of %s: %lld rows of %lld", k / 2, sets[k % 2]->name, (long long)rows,
                                 (long long)n);
            }
}

/* Short rows side by side, of each length, some with NaN or zeros of both signs: against a fold in f64, or for extremes
 * by the rules; and each row gives the same bits alone as among others. */
static void check_short_rows(const simd_ops *set, fold_op f, int64_t rows, int64_t n, int kind) {
    enum { MOST = 13 * 64 };
    static float x[MOST], got[64], alone;
    for (int64_t i = 0; i < rows * n; i++) {
        uint64_t r = rng_bits((uint64_t)f, (uint64_t)n, (uint64_t)i);
        x[i] = 0.5f + (float)(r % 1000) / 1000;
        if (f != FOLD_PROD && r >> 20 & 1) x[i] = -x[i];
        if (kind == 1 && (r >> 30) % 5 == 0) x[i] = NAN;
        if (kind == 2) x[i] = f == FOLD_MIN ? fabsf(x[i]) : -fabsf(x[i]);
        if (kind == 2 && (r >> 40) % 3 == 0) x[i] = r >> 50 & 1 ? 0.0f : -0.0f;
    }
    for (int i = 0; i < 64; i++) got[i] = 77;
    set->fold_short[f](got, x, rows, n);
    for (int64_t k = 0; k < rows; k++) {
        double sum = f == FOLD_PROD ? 1 : 0;
        float extreme = cpu_fold_neutral(f);
        for (int64_t i = k * n; i < (k + 1) * n; i++) {
            sum = f == FOLD_PROD ? sum * (double)x[i] : sum + (double)x[i];
            extreme = cpu_fold_two(f, extreme, x[i]);
        }
        bool is_extreme = f == FOLD_MAX || f == FOLD_MIN;
        bool same = isnan(is_extreme ? (double)extreme : sum) ? isnan(got[k]) != 0
                    : is_extreme                              ? memcmp(&extreme, &got[k], 4) == 0
                                                              : close_enough(sum, (double)got[k], 1e-5);
        set->fold_short[f](&alone, x + k * n, 1, n);
        if (!same || (memcmp(&alone, &got[k], 4) != 0 && !isnan(alone)))
            fail_msg("fold %d of %s: row %lld of %lld of %lld numbers, kind %d: %.9g, expected %.9g, alone %.9g",
                     (int)f, set->name, (long long)k, (long long)rows, (long long)n, kind, (double)got[k],
                     is_extreme ? (double)extreme : sum, (double)alone);
    }
    assert_true(got[rows] == 77);
}
static void short_rows_fold(void **state) {
    (void)state;
    const simd_ops *sets[] = {&simd_base, simd_get()};
    for (int k = 0; k < 2 * FOLD_COUNT; k++)
        for (int64_t n = 1; n <= 64; n++)
            for (int64_t rows = 1; rows <= 13; rows += n % 4 + 1)
                for (int kind = 0; kind < 3; kind++) check_short_rows(sets[k % 2], (fold_op)(k / 2), rows, n, kind);
}

/* By the definition: the nearest multiple of the distance between f16 numbers of that exponent, ties to
 * the even one. */
static float nearest_f16(float x) {
    if (isnan(x) || fabsf(x) < ldexpf(1.0f, -40)) return isnan(x) ? x : copysignf(0.0f, x);
    if (fabsf(x) >= 65520.0f) return copysignf(INFINITY, x);
    int e = ilogbf(x) < -14 ? -14 : ilogbf(x);
    return copysignf(ldexpf(rintf(ldexpf(x, 10 - e)), e - 10), x);
}
static void narrow_floats_round_to_nearest_even(void **state) {
    (void)state;
    enum { N = 4096 };
    static float x[N], back[N];
    static uint16_t h[N];
    for (uint64_t bits = 0; bits < (UINT64_C(1) << 32);) {
        for (int i = 0; i < N; i++, bits += 6151) {
            uint32_t u = (uint32_t)(bits & 0xffffffffu);
            memcpy(&x[i], &u, 4);
        }
        simd_get()->ops[VPROG_STORE_F16][VPROG_F32](h, x, NULL, NULL, N);
        simd_get()->ops[VPROG_LOAD_F16][VPROG_F32](back, h, NULL, NULL, N);
        for (int i = 0; i < N; i++) {
            float w = nearest_f16(x[i]);
            if (isnan(x[i]) ? !isnan(back[i]) : w != back[i])
                fail_msg("f16 of %.9g is %.9g, expected %.9g", (double)x[i], (double)back[i], (double)w);
        }
        simd_get()->ops[VPROG_STORE_BF16][VPROG_F32](h, x, NULL, NULL, N);
        for (int i = 0; i < N; i++) {
            uint32_t u;
            memcpy(&u, &x[i], 4);
            uint32_t up = (u + 0x7fff + (u >> 16 & 1)) >> 16;
            if (!isnan(x[i]) && h[i] != up) fail_msg("bf16 of %.9g", (double)x[i]);
            if (isnan(x[i]) && ((h[i] & 0x7f80) != 0x7f80 || !(h[i] & 0x7f))) fail_msg("bf16 of a NaN is no NaN");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_are_accurate),
                                       cmocka_unit_test(angles_are_accurate),
                                       cmocka_unit_test(wide_functions_are_accurate),
                                       cmocka_unit_test(products_of_complex_numbers),
                                       cmocka_unit_test(powers_are_accurate),
                                       cmocka_unit_test(stacked_rows_fold_in_order),
                                       cmocka_unit_test(short_rows_fold),
                                       cmocka_unit_test(halves_agree),
                                       cmocka_unit_test(large_angles_change_no_others),
                                       cmocka_unit_test(instruction_sets_agree),
                                       cmocka_unit_test(integers_divide),
                                       cmocka_unit_test(windows_are_read_in_order),
                                       cmocka_unit_test(sizes_of_complex_numbers),
                                       cmocka_unit_test(narrow_floats_round_to_nearest_even)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
