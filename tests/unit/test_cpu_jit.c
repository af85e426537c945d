/* Machine code against the vector program's own loops: every instruction it takes, on edge values, from memory, from
 * one element and from a constant, at lengths around a vector's; then runs of instructions with more pointers and more
 * values alive than there are registers. */
#include "cpu/vector/jit.h"
#include "cpu/vector/vprog.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu_levels.h"

enum { MOST = 70 };
static const int64_t lengths[] = {1, 3, 15, 16, 17, 31, 32, 33, 48, 70};

static bool can(void) {
    if (jit_is_on()) return true;
    skip(); /* another machine, or switched off */
    return false;
}

static uint32_t edge(uint64_t seed, int64_t i) {
    static const uint32_t edges[] = {0,           0x80000000u, 0x3f800000u, 0xbf800000u, 0x7f800000u, 0xff800000u,
                                     0x7fc00001u, 0xffc00000u, 0x7f800001u, 0x00000001u, 0x807fffffu, 0x00800000u,
                                     0x7f7fffffu, 0x3f808000u, 0x3f818000u, 0x40490fdbu, 31u,         32u,
                                     0x4f000000u, 0xcf000000u, 0x42fe8000u, 0xc3004000u, 0x437f8000u, 0x477ff000u,
                                     0x33000001u, 0x7c017c00u};
    uint64_t r = rng_bits(seed, 7, (uint64_t)i);
    return r % 3 ? edges[(r >> 8) % BASE_COUNT(edges)] : (uint32_t)(r >> 20);
}

/* Both NaN counts as equal where the operands of a sum or a product may change places. */
static bool same(const void *a, const void *b, size_t elem, int64_t n, bool floats) {
    for (int64_t i = 0; i < n; i++) {
        if (!memcmp((const char *)a + (size_t)i * elem, (const char *)b + (size_t)i * elem, elem)) continue;
        float x = 0, y = 0;
        if (floats && elem == 4) memcpy(&x, (const char *)a + 4 * i, 4), memcpy(&y, (const char *)b + 4 * i, 4);
        if (!(floats && elem == 4 && isnan(x) && isnan(y))) return false;
    }
    return true;
}

static size_t result_size(vprog_op op, vprog_type t) {
    if (op == VPROG_STORE_BF16 || op == VPROG_STORE_F16) return 2;
    if (op == VPROG_CONVERT + VPROG_I8 || op == VPROG_CONVERT + VPROG_U8) return 1;
    if (op >= VPROG_EQ && op <= VPROG_LT) return 1;
    return t == VPROG_B1 && op < VPROG_CONVERT ? 1 : 4;
}

static vprog_type operand_type(vprog_op op, vprog_type t, int k) {
    if (op == VPROG_LOAD_BF16 || op == VPROG_LOAD_F16) return VPROG_U16;
    return op == VPROG_SELECT && k == 0 ? VPROG_B1 : t;
}

static void one_instruction(vprog_op op, vprog_type t, jit_source_kind kinds[3], uint64_t seed) {
    uint32_t data[3][MOST], got[MOST], want[MOST];
    jit_source src[3];
    void *ptr[4];
    for (int k = 0; k < 3; k++) {
        vprog_type ot = operand_type(op, t, k);
        size_t elem = vprog_type_size(ot);
        src[k] = (jit_source){.kind = kinds[k], .type = ot, .ptr = (uint32_t)k};
        for (int64_t i = 0; i < MOST; i++) {
            uint32_t v = edge(seed + (uint64_t)k, kinds[k] == JIT_VECTOR ? i : 0);
            if (ot == VPROG_B1) v &= 1;
            if (ot == VPROG_U16) v >>= 16;
            /* little endian, as the machines with this code are */
            memcpy((char *)data[k] + (size_t)i * elem, &v, elem);
        }
        memcpy(src[k].splat, data[k], elem);
        ptr[k] = data[k];
    }
    ptr[3] = got;
    jit_ins ins = {.op = op, .type = t, .x = ~0, .y = ~1, .z = ~2, .store = 3};
    jit_code *code = jit_compile(src, 3, &ins, 1);
    assert_non_null(code);
    size_t elem = result_size(op, t);
    for (size_t l = 0; l < BASE_COUNT(lengths); l++) {
        memset(got, 0x55, sizeof got);
        memset(want, 0x55, sizeof want);
        jit_function(code)(ptr, lengths[l]);
        simd_get()->ops[op][t](want, data[0], data[1], data[2], lengths[l]);
        if (!same(got, want, elem, lengths[l], t == VPROG_F32 || op == VPROG_CONVERT + VPROG_F32) ||
            memcmp((char *)got + elem * (size_t)lengths[l], (char *)want + elem * (size_t)lengths[l],
                   sizeof got - elem * (size_t)lengths[l]))
            fail_msg("instruction %d of type %d, %lld elements", (int)op, (int)t, (long long)lengths[l]);
    }
    jit_release(code);
}

static void every_instruction(void **state) {
    (void)state;
    if (!can()) return;
    size_t taken = 0;
    for (int op = 1; op < VPROG_OP_COUNT; op++)
        for (int t = 0; t < VPROG_TYPE_COUNT; t++) {
            if (!jit_takes((vprog_op)op, (vprog_type)t)) continue;
            assert_non_null(simd_get()->ops[op][t]);
            taken++;
            for (int k = 0; k < 27; k++)
                one_instruction((vprog_op)op, (vprog_type)t,
                                (jit_source_kind[3]){(jit_source_kind)(k % 3), (jit_source_kind)(k / 3 % 3),
                                                     (jit_source_kind)(k / 9)},
                                (uint64_t)(op * 31 + k));
        }
    assert_true(taken > 50);
}

/* Sums of 40 arrays by 41 pointers, into the first of them; then as many values alive at once as there are, which one
 * piece cannot hold. */
static void many_pointers_and_values(void **state) {
    (void)state;
    if (!can()) return;
    enum { N = 40 };
    static float data[N][MOST], out[MOST];
    jit_source src[N];
    jit_ins ins[2 * N];
    void *ptr[N + 1];
    for (int s = 0; s < N; s++) {
        src[s] = (jit_source){.kind = JIT_VECTOR, .type = VPROG_F32, .ptr = (uint32_t)s};
        ptr[s] = data[s];
        for (int i = 0; i < MOST; i++) data[s][i] = (float)(s * MOST + i);
    }
    ptr[N] = out;
    for (int s = 1; s < N; s++)
        ins[s - 1] = (jit_ins){
            .op = VPROG_ADD, .type = VPROG_F32, .x = s == 1 ? ~0 : s - 2, .y = ~s, .store = s == N - 1 ? N : -1};
    jit_code *code = jit_compile(src, N, ins, N - 1), *again = jit_compile(src, N, ins, N - 1);
    assert_non_null(code);
    assert_ptr_equal(code, again); /* equal code is kept once */
    jit_function(code)(ptr, MOST);
    for (int i = 0; i < MOST; i++) assert_float_equal(out[i], N * (N - 1) / 2 * MOST + N * i, 0);
    ptr[N] = data[0]; /* over an operand */
    jit_function(code)(ptr, MOST);
    assert_memory_equal(data[0], out, sizeof out);
    jit_release(code);
    jit_release(again);
    int n = 0;
    for (int s = 0; s < N; s++) ins[n++] = (jit_ins){.op = VPROG_NEG, .type = VPROG_F32, .x = ~s, .store = -1};
    for (int s = 0; s + 1 < N; s++, n++)
        ins[n] = (jit_ins){
            .op = VPROG_ADD, .type = VPROG_F32, .x = s == 0 ? 0 : n - 1, .y = s + 1, .store = s == N - 2 ? N : -1};
    assert_null(jit_compile(src, N, ins, (size_t)n));
}

/* The same many values in a vector program, which cuts them into pieces, mixed with instructions that have no code. */
static void programs_cut_long_runs(void **state) {
    (void)state;
    enum { N = 40, COUNT = 5000 };
    static float data[N][COUNT], out[COUNT];
    void *in[N], *outs[1] = {out};
    vprog_builder *b = vprog_begin(COUNT);
    int v[N], sum = -1;
    for (int s = 0; s < N; s++) {
        vprog_source src = {.kind = VPROG_DIRECT, .in = (uint32_t)s, .elem = 4};
        in[s] = data[s];
        for (int i = 0; i < COUNT; i++) data[s][i] = (float)((s + i) % 17) / 4;
        v[s] = vprog_emit(b, VPROG_NEG, VPROG_F32, vprog_load(b, &src, VPROG_F32), -1, -1);
        if (s % 10 == 9) v[s] = vprog_emit(b, VPROG_EXP, VPROG_F32, v[s], -1, -1);
    }
    for (int s = 0; s < N; s++) sum = s == 0 ? v[0] : vprog_emit(b, VPROG_ADD, VPROG_F32, sum, v[s], -1);
    vprog_store(b, sum, 0, XT_F32);
    vprog *t = NULL;
    uint64_t in_place;
    assert_null(vprog_finish(b, 1, &t, &in_place));
    cpu_team team = {.threads = 1};
    void *scratch = base_aligned(64, vprog_scratch_bytes(t, 1) + 64);
    assert_null(vprog_run(t, &team, in, outs, scratch));
    for (int i = 0; i < COUNT; i++) {
        float want = 0, x;
        for (int s = 0; s < N; s++) {
            x = -data[s][i];
            if (s % 10 == 9) simd_get()->ops[VPROG_EXP][VPROG_F32](&x, &x, NULL, NULL, 1);
            want = s == 0 ? x : want + x;
        }
        assert_memory_equal(&want, &out[i], sizeof want);
    }
    base_free(scratch);
    vprog_free(t);
}

/* Values in turns of which each has one lie behind each other in the result, so they are written there by what computes
 * them and no register holds them; a value that has two turns, one as it was loaded, and one that is stored besides. */
static void one_turn_each(void **state) {
    (void)state;
    enum { COUNT = 5003, PARTS = 4 };
    static float x[COUNT], out[PARTS * COUNT], sum[COUNT];
    void *in[1] = {x}, *outs[2] = {out, sum};
    for (int i = 0; i < COUNT; i++) x[i] = (float)(i % 29) / 4;
    vprog_builder *b = vprog_begin(COUNT);
    const vprog_source src = {.kind = VPROG_DIRECT, .in = 0, .elem = 4};
    const int loaded = vprog_load(b, &src, VPROG_F32), minus = vprog_emit(b, VPROG_NEG, VPROG_F32, loaded, -1, -1),
              twice = vprog_emit(b, VPROG_ADD, VPROG_F32, loaded, loaded, -1);
    const vprog_part parts[PARTS] = {{minus, XT_F32}, {loaded, XT_F32}, {twice, XT_F32}, {minus, XT_F32}};
    vprog_interleave(b, PARTS, parts, COUNT, 0);
    vprog_store(b, twice, 1, XT_F32);
    vprog *t = NULL;
    uint64_t in_place[2] = {~UINT64_C(0), 0};
    assert_null(vprog_finish(b, 2, &t, in_place));
    assert_int_equal(in_place[0], 0);
    assert_int_equal(vprog_scratch_bytes(t, 1), 0);
    cpu_team team = {.threads = 1};
    assert_null(vprog_run(t, &team, in, outs, NULL));
    for (int i = 0; i < COUNT; i++) {
        const float want[PARTS] = {-x[i], x[i], x[i] + x[i], -x[i]};
        for (int k = 0; k < PARTS; k++) assert_memory_equal(&out[k * COUNT + i], &want[k], sizeof want[k]);
        assert_memory_equal(&sum[i], &want[2], sizeof want[2]);
    }
    vprog_free(t);
}

/* Folds of x * y + z against simd.h's folds of the same numbers, bit for bit; of all lengths around the registers that
 * they take. Extremes that are 0 or NaN ask for another look, so there it is enough that they say so. */
static void folds(void **state) {
    (void)state;
    if (!can()) return;
    enum { LONGEST = 300 };
    static float data[3][LONGEST], value[LONGEST];
    float got;
    jit_source src[3];
    for (int s = 0; s < 3; s++) src[s] = (jit_source){.kind = JIT_VECTOR, .type = VPROG_F32, .ptr = (uint32_t)s};
    const jit_ins ins[2] = {{.op = VPROG_MUL, .type = VPROG_F32, .x = ~0, .y = ~1, .store = -1},
                            {.op = VPROG_ADD, .type = VPROG_F32, .x = 0, .y = ~2, .store = -1}};
    size_t looks = 0, compared = 0;
    for (int f = 0; f < FOLD_COUNT; f++)
        for (int64_t n = 1; n <= LONGEST; n++) {
            if (!jit_folds_length(n)) continue;
            const jit_fold fold = {.op = (fold_op)f, .value = 1, .result = 3};
            jit_code *code = jit_compile_fold(src, 3, ins, 2, &fold);
            assert_non_null(code);
            for (int64_t i = 0; i < n; i++) {
                uint64_t r = rng_bits((uint64_t)n, (uint64_t)f, (uint64_t)i);
                data[0][i] = (float)(int)(r % 2001) / 1000 - (n % 7 == 0 && f == FOLD_MAX ? 2.0f : 1.0f);
                data[1][i] = f == FOLD_PROD ? 1e-3f : 1.0f + (float)(r >> 32 & 3);
                data[2][i] = f == FOLD_PROD ? 1.0f : n % 7 == 0 ? -0.0f : 0.0f;
                if (n % 5 == 0 && r >> 40 == 0) data[0][i] = NAN;
                if (n % 11 == 0 && i == n / 2) data[0][i] = NAN;
                value[i] = data[0][i] * data[1][i] + data[2][i];
            }
            void *ptr[4] = {data[0], data[1], data[2], &got};
            jit_function(code)(ptr, n);
            float want = simd_get()->fold[f](value, n);
            bool look = (f == FOLD_MAX || f == FOLD_MIN) && !(got < 0) && !(got > 0);
            looks += look;
            compared += !look;
            if (look ? want == want && want != 0 : !same(&got, &want, sizeof got, 1, true))
                fail_msg("fold %d of %lld: %g, expected %g", f, (long long)n, (double)got, (double)want);
            jit_release(code);
        }
    assert_true(looks > (simd_level() == 2 ? 20 : 2) && compared > (simd_level() == 2 ? 1000 : 100));
}

/* Sums of products of integers, which wrap. */
static void sums_of_integers(void **state) {
    (void)state;
    if (!can() || simd_level() == 2) return;
    enum { LONGEST = 296 };
    static uint32_t data[2][LONGEST];
    for (int t = 0; t < 2; t++)
        for (int64_t n = 8; n <= LONGEST; n += 8) {
            vprog_type type = t ? VPROG_U32 : VPROG_I32;
            jit_source src[2] = {{.kind = JIT_VECTOR, .type = type, .ptr = 0},
                                 {.kind = JIT_VECTOR, .type = type, .ptr = 1}};
            const jit_ins ins = {.op = VPROG_MUL, .type = type, .x = ~0, .y = ~1, .store = -1};
            const jit_fold fold = {.op = FOLD_SUM, .type = type, .value = 0, .result = 2};
            jit_code *code = jit_compile_fold(src, 2, &ins, 1, &fold);
            assert_non_null(code);
            uint32_t got, want = 0;
            for (int64_t i = 0; i < n; i++) {
                data[0][i] = (uint32_t)rng_bits((uint64_t)n, 1, (uint64_t)i);
                data[1][i] = (uint32_t)rng_bits((uint64_t)n, 2, (uint64_t)i);
                want += data[0][i] * data[1][i];
            }
            jit_function(code)((void *[3]){data[0], data[1], &got}, n);
            assert_int_equal(got, want);
            jit_release(code);
        }
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction),      cmocka_unit_test(many_pointers_and_values),
        cmocka_unit_test(programs_cut_long_runs), cmocka_unit_test(folds),
        cmocka_unit_test(sums_of_integers),       cmocka_unit_test(one_turn_each),
        cmocka_unit_test(other_instruction_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
