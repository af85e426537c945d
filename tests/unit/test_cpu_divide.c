/* Quotients and remainders of integers by constants, which become products (vector/vprog_divide.c): every small
 * divisor, powers of two and their neighbours, the ends of the types and divisors drawn at random, against C's, for
 * dividends that lie at and around multiples of the divisor, powers of two and the ends. In all instruction sets, in
 * machine code and without it, on one thread and on three. */
#include "cpu_check.h"
#include "cpu_levels.h"

enum { N = 5003 };

/* A number of `bits` bits around a power of two, a multiple of d, an end, or any. */
static uint64_t dividend(uint64_t d, int bits, uint64_t i) {
    uint64_t r = rng_bits(d, 3, i), near = (r >> 8 & 3) - 1, all = UINT64_MAX >> (64 - bits);
    switch (r & 3) {
    case 0: return (((uint64_t)1 << (r >> 16) % (unsigned)bits) + near) & all;
    case 1: return ((d ? (r >> 32) % (all / d) * d : 0) + near) & all;
    case 2: return (near + (r >> 4 & 1 ? all >> 1 : 0)) & all;
    default: return rng_bits(d, 4, i) & all;
    }
}

/* As StableHLO and XLA have it: by 0 it is all ones, and the least number by -1 is itself. */
static void expected(bool has_sign, int bits, uint64_t x, uint64_t y, uint64_t *q, uint64_t *r) {
    if (!has_sign) {
        *q = y ? x / y : UINT64_MAX;
        *r = y ? x % y : x;
        return;
    }
    int64_t a = (int64_t)(x << (64 - bits)) >> (64 - bits), b = (int64_t)(y << (64 - bits)) >> (64 - bits);
    *q = b == 0 ? UINT64_MAX : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
    *r = b == 0 ? (uint64_t)a : b == -1 ? 0 : (uint64_t)(a % b);
}

static uint64_t element(const array *a, int64_t i, int bits) {
    uint32_t narrow;
    uint64_t all;
    memcpy(&narrow, (const char *)a->data + 4 * i, sizeof narrow);
    if (bits == 32) return narrow;
    memcpy(&all, (const char *)a->data + 8 * i, sizeof all);
    return all;
}

static void divide_by(const char *type, bool has_sign, int bits, uint64_t d, int threads) {
    char text[900], number[32], full[32];
    int64_t with_sign = (int64_t)(d << (64 - bits)) >> (64 - bits);
    if (has_sign)
        snprintf(number, sizeof number, "%lld", (long long)with_sign);
    else
        snprintf(number, sizeof number, "%llu", (unsigned long long)d);
    snprintf(full, sizeof full, "tensor<%dx%s>", N, type);
    snprintf(text, sizeof text,
             "func.func @main(%%x: %s) -> (%s, %s, %s) {\n%%d = stablehlo.constant dense<%s> : %s\n"
             "%%q = stablehlo.divide %%x, %%d : %s\n%%r = stablehlo.remainder %%x, %%d : %s\n"
             "%%s = stablehlo.add %%q, %%r : %s\nreturn %%q, %%r, %%s : %s, %s, %s\n}\n",
             full, full, full, full, number, full, full, full, full, full, full, full);
    cpu_exec *e = NULL;
    cpu_device *dev = NULL;
    array in = {0}, out[3] = {0};
    int from[3];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), text);
    expect_ok(cpu_device_new(threads, NULL, &dev), text);
    expect_ok(array_new(cpu_exec_input_type(e, 0), &in), text);
    for (int64_t i = 0; i < N; i++) {
        uint64_t v = dividend(has_sign && with_sign < 0 ? 0 - (uint64_t)with_sign : d, bits, (uint64_t)i);
        memcpy((char *)in.data + bits / 8 * i, &v, (size_t)bits / 8); /* little endian */
    }
    expect_ok(cpu_run(e, dev, &a, &in, NULL, out, from), text);
    for (int64_t i = 0; i < N; i++) {
        uint64_t x = element(&in, i, bits), q, r, all = UINT64_MAX >> (64 - bits);
        expected(has_sign, bits, x, d, &q, &r);
        if (element(&out[0], i, bits) != (q & all) || element(&out[1], i, bits) != (r & all) ||
            element(&out[2], i, bits) != ((q + r) & all))
            fail_msg("%s: %llx by %llx is %llx and %llx, expected %llx and %llx", type, (unsigned long long)x,
                     (unsigned long long)d, (unsigned long long)element(&out[0], i, bits),
                     (unsigned long long)element(&out[1], i, bits), (unsigned long long)(q & all),
                     (unsigned long long)(r & all));
    }
    for (int j = 0; j < 3; j++) heap_free(&h, out[j].data, ir_type_bytes(out[j].type));
    array_free(&in);
    cpu_device_free(dev);
    cpu_exec_free(e);
}

static void divide_by_all(bool code) {
    static const struct {
        const char *name;
        bool has_sign;
        int bits;
    } types[] = {{"i32", true, 32}, {"ui32", false, 32}, {"i64", true, 64}, {"ui64", false, 64}};
    if (!code) setenv("XT_PASSES", "-jit", 1);
    for (size_t t = 0; t < BASE_COUNT(types); t++) {
        const int bits = types[t].bits;
        const uint64_t all = UINT64_MAX >> (64 - bits);
        for (int k = 0; k < 90; k++) {
            uint64_t d = k < 20 ? (uint64_t)k : rng_bits(7, (uint64_t)bits, (uint64_t)k) >> (k % bits);
            if (k >= 20 && k < 60) d = ((uint64_t)1 << (k * 5 % bits)) + (uint64_t)(k % 3) - 1;
            divide_by(types[t].name, types[t].has_sign, bits, d & all, k % 2 ? 3 : 1);
            divide_by(types[t].name, types[t].has_sign, bits, (0 - d) & all, 1); /* below 0, or the largest */
        }
    }
    unsetenv("XT_PASSES");
}

static void as_machine_code(void **state) {
    (void)state;
    divide_by_all(true);
}
static void by_loops(void **state) {
    (void)state;
    divide_by_all(false);
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_machine_code),
        cmocka_unit_test(by_loops),
        cmocka_unit_test(other_instruction_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
