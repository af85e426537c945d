/* Values that other files and other machines depend on: hashes, random numbers, dtypes; and the
 * process-wide numbers. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/tally.h"

static void assert_hash(const char *text, hash128 seed, const char *hex) {
    char got[33];
    hash_hex(hash_bytes(text, strlen(text), seed), got);
    assert_string_equal(got, hex);
}

/* MurmurHash3_x64_128's published values, then our own frozen ones: they are in files, so they may never change. */
static void hashes_are_frozen(void **state) {
    (void)state;
    hash128 zero = {0, 0};
    assert_hash("", zero, "00000000000000000000000000000000");
    assert_hash("hello", zero, "cbd8a7b341bd9b025b1e906a48ae1d19");
    assert_hash("The quick brown fox jumps over the lazy dog", zero, "e34bbc7bbc071b6c7a433ca9c49a9347");
    char got[33];
    hash_hex(hash_mix((hash128){1, 2}, (hash128){3, 4}), got);
    assert_string_equal(got, "9b256edb6d4978cb9827de87577d1617");
    hash_hex(hash_mix((hash128){3, 4}, (hash128){1, 2}), got);
    assert_string_not_equal(got, "9b256edb6d4978cb9827de87577d1617");
    assert_true(hash_equal((hash128){1, 2}, (hash128){1, 2}));
    assert_false(hash_equal((hash128){1, 2}, (hash128){1, 3}));
}

/* Every length up to 40, at every alignment, every single bit flipped: no two hashes are equal. */
static void hashes_differ(void **state) {
    (void)state;
    unsigned char bytes[64] = {0};
    map *seen = map_new();
    for (size_t n = 0; n <= 40; n++) {
        for (size_t bit = 0; bit <= n * 8; bit++) {
            unsigned char *at = bytes + bit % 8;
            if (bit < n * 8) at[bit / 8] ^= (unsigned char)(1u << bit % 8);
            hash128 h = hash_bytes(at, n, (hash128){7, 7});
            assert_null(map_get(seen, &h, sizeof h));
            assert_true(map_put(seen, &h, sizeof h, seen, NULL));
            memset(bytes, 0, sizeof bytes);
        }
    }
    map_free(seen, NULL);
}

/* The known-answer vectors of Random123's kat_vectors for philox4x32-10. */
static void philox_known_answers(void **state) {
    (void)state;
    uint32_t out[4];
    philox4x32(0, 0, 0, out);
    assert_memory_equal(out, ((uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), sizeof out);
    philox4x32(UINT64_MAX, UINT64_MAX, UINT64_MAX, out);
    assert_memory_equal(out, ((uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}), sizeof out);
    philox4x32(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, out);
    assert_memory_equal(out, ((uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}), sizeof out);
}

static void draws_have_their_distribution(void **state) {
    (void)state;
    enum { N = 200000 };
    double mean = 0, square = 0, normal_mean = 0, normal_square = 0, neighbours = 0;
    float before = 0;
    for (uint64_t i = 0; i < N; i++) {
        float u = rng_uniform(42, 1, i), z = rng_normal(42, 2, i);
        assert_true(u >= 0 && u < 1 && isfinite(z));
        mean += u;
        square += (double)u * u;
        normal_mean += z;
        normal_square += (double)z * z;
        neighbours += (double)z * before;
        before = z;
    }
    /* Four standard errors each: 1/sqrt(12 N), sqrt(4/45/N), 1/sqrt(N), sqrt(2/N), 1/sqrt(N). */
    assert_true(fabs(mean / N - 0.5) < 0.0026);
    assert_true(fabs(square / N - 1.0 / 3) < 0.0027);
    assert_true(fabs(normal_mean / N) < 0.009);
    assert_true(fabs(normal_square / N - 1) < 0.0127);
    assert_true(fabs(neighbours / N) < 0.009);
}

static void draws_are_frozen(void **state) {
    (void)state;
    assert_true(rng_bits(0, 0, 0) == 0xe169c58d6627e8d5);
    assert_true(rng_bits(0, 0, 1) == 0x9b00dbd8bc57ac4c);
    assert_true(rng_uniform(0, 0, 0) == (float)(0x6627e8d5 >> 8) / 16777216.0f);
    assert_true(rng_uniform(0, 0, 3) == (float)(0x9b00dbd8 >> 8) / 16777216.0f);
    double radius = sqrt(-2 * log((0x6627e8d5 + 0.5) / 4294967296.0)),
           angle = 2 * acos(-1.0) * (0xe169c58d / 4294967296.0);
    assert_true(fabs(rng_normal(0, 0, 0) - radius * cos(angle)) < 1e-6);
    assert_true(fabs(rng_normal(0, 0, 1) - radius * sin(angle)) < 1e-6);
    static float u[3000], z[3000], part[3000];
    rng_fill_uniform(7, 5, 0, 3000, u);
    rng_fill_normal(7, 5, 0, 3000, z);
    for (uint64_t i = 0; i < 3000; i++) {
        assert_true(u[i] == rng_uniform(7, 5, i));
        assert_true(fabs(z[i] - rng_normal(7, 5, i)) < 2e-6); /* f32 against f64 */
    }
    for (size_t first = 0; first < 600; first += 97) { /* the same numbers in any pieces */
        rng_fill_normal(7, 5, first, 1000 + first, part);
        assert_memory_equal(part, z + first, (1000 + first) * sizeof *part);
    }
    assert_true(rng_bits(0, 1, 0) != rng_bits(0, 0, 0) && rng_bits(1, 0, 0) != rng_bits(0, 0, 0));
}

static void dtypes(void **state) {
    (void)state;
    assert_string_equal(xt_dtype_name(XT_F32), "f32");
    assert_string_equal(xt_dtype_name(XT_BOOL), "bool");
    assert_string_equal(xt_dtype_name(XT_F8E4M3B11FNUZ), "f8e4m3b11fnuz");
    assert_string_equal(xt_dtype_name((xt_dtype)-5), "none");
    assert_string_equal(xt_dtype_name(XT_DTYPE_COUNT), "none");
    assert_int_equal(xt_dtype_size(XT_C128), 16);
    assert_int_equal(xt_dtype_size(XT_BF16), 2);
    assert_int_equal(xt_dtype_size(XT_I4), 1);
    for (int t = 0; t < XT_DTYPE_COUNT; t++) {
        assert_non_null(xt_dtype_name((xt_dtype)t));
        for (int u = 0; u < t; u++) assert_string_not_equal(xt_dtype_name((xt_dtype)t), xt_dtype_name((xt_dtype)u));
        assert_int_equal(xt_dtype_size((xt_dtype)t) == 0, t == XT_DTYPE_NONE || t == XT_TOKEN);
    }
}

static void *count_up(void *user) {
    (void)user;
    for (int i = 0; i < 10000; i++) {
        counter_add(COUNTER_log_rows, 1);
        counter_max(COUNTER_device_peak_bytes, i);
        live_add(LIVE_array, 1);
        live_add(LIVE_array, -1);
    }
    return NULL;
}

static void numbers_of_the_process(void **state) {
    (void)state;
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    assert_int_equal(counter_get(COUNTER_log_rows), 40000);
    assert_int_equal(counter_get(COUNTER_device_peak_bytes), 9999);
    assert_int_equal(live_get(LIVE_array), 0);
    assert_string_equal(counter_name(COUNTER_compile_ns), "compile_ns");
    assert_string_equal(counter_unit(COUNTER_compile_ns), "ns");
    for (int c = 0; c < COUNTER_COUNT; c++) assert_true(strlen(counter_help((counter)c)) > 5);
    live_add(LIVE_buffer, 3);
    assert_int_equal(xt_live_objects("buffer"), 3);
    assert_int_equal(xt_live_objects("no such kind"), 0);
    assert_int_equal(xt_live_objects(NULL), 0);
    live_add(LIVE_buffer, -3);
    assert_string_equal(xt_version(), XT_VERSION);
}

static int64_t stopped_clock(void *user) {
    return *(int64_t *)user;
}

static void clock_can_be_faked(void **state) {
    (void)state;
    int64_t a = clock_ns(), now = 77;
    assert_true(a > 0 && clock_ns() >= a);
    clock_set_fake(stopped_clock, &now);
    assert_int_equal(clock_ns(), 77);
    now = 78;
    assert_int_equal(clock_ns(), 78);
    clock_set_fake(NULL, NULL);
    assert_true(clock_ns() >= a);
}

static int64_t system_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Long enough for the processor's counter to have taken over, and for its rate to be measured again. */
static void clock_is_the_systems(void **state) {
    (void)state;
    int64_t began = system_clock(), before = clock_ns(), far = 0;
    for (int64_t low = began; low - began < 160000000;) {
        low = system_clock();
        int64_t now = clock_ns(), high = system_clock(), off = now < low ? low - now : now > high ? now - high : 0;
        if (off > far) far = off;
        assert_true(now >= before);
        before = now;
    }
    if (far > 5000) fail_msg("the clock is %lld ns away from the system's", (long long)far);
}

enum { TIMES = 20000, OTHERS = 3 };
static void *count_rows(void *unused) {
    (void)unused;
    for (int i = 0; i < TIMES; i++) {
        counter_add(COUNTER_log_rows, 1);
        live_add(LIVE_graph, i % 2 ? -1 : 1);
    }
    return NULL;
}

/* The owner of the tallies and threads that are not lose nothing. */
static void numbers_of_many_threads(void **state) {
    (void)state;
    pthread_t others[OTHERS];
    int64_t rows = counter_get(COUNTER_log_rows), graphs = live_get(LIVE_graph);
    tally_own();
    for (int i = 0; i < OTHERS; i++) assert_int_equal(pthread_create(&others[i], NULL, count_rows, NULL), 0);
    count_rows(NULL);
    for (int i = 0; i < OTHERS; i++) pthread_join(others[i], NULL);
    assert_int_equal(counter_get(COUNTER_log_rows) - rows, TIMES * (OTHERS + 1));
    assert_int_equal(live_get(LIVE_graph), graphs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_frozen),
        cmocka_unit_test(hashes_differ),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(draws_are_frozen),
        cmocka_unit_test(draws_have_their_distribution),
        cmocka_unit_test(dtypes),
        cmocka_unit_test(numbers_of_the_process),
        cmocka_unit_test(clock_can_be_faked),
        cmocka_unit_test(clock_is_the_systems),
        cmocka_unit_test(numbers_of_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
