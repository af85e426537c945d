/* Allocation, arena, strings, vectors and maps, each also with the n-th allocation failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

static void the_nth_allocation_fails_once(void **state) {
    (void)state;
    base_fail_alloc_after(2);
    void *a = base_malloc(8), *b = base_malloc(8), *c = base_malloc(8);
    base_fail_alloc_after(-1);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    base_free(a);
    base_free(c);
}

static void sizes_do_not_wrap(void **state) {
    (void)state;
    size_t n;
    assert_true(size_mul(3, 4, &n) && n == 12);
    assert_false(size_mul(SIZE_MAX / 2, 3, &n));
    assert_true(size_add(SIZE_MAX - 1, 1, &n));
    assert_false(size_add(SIZE_MAX, 1, &n));
    assert_null(base_calloc(SIZE_MAX / 2, 3));
    void *p = base_aligned(64, 100);
    assert_int_equal((uintptr_t)p % 64, 0);
    base_free(p);
    p = base_malloc(0);
    assert_non_null(p);
    base_free(p);
}

static void dims_multiply(void **state) {
    (void)state;
    int64_t n;
    assert_true(dims_count((int64_t[]){2, 3, 4}, 3, &n) && n == 24);
    assert_true(dims_count(NULL, 0, &n) && n == 1);
    assert_true(dims_count((int64_t[]){INT64_MAX, INT64_MAX, 0}, 3, &n) && n == 0);
    assert_false(dims_count((int64_t[]){INT64_MAX, 2}, 2, &n));
    assert_false(dims_count((int64_t[]){0, -1}, 2, &n));
}

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    arena *a = arena_new();
    for (int round = 0; round < 3; round++) {
        for (size_t i = 1; i < 400; i++) {
            unsigned char *p = arena_alloc(a, i * 7);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t k = 0; k < i * 7; k++) assert_int_equal(p[k], 0);
            memset(p, 0xff, i * 7);
        }
        unsigned char *large = arena_alloc(a, 3 << 20);
        assert_int_equal(large[(3 << 20) - 1], 0);
        assert_true(arena_bytes(a) > 3 << 20);
        arena_reset(a);
        assert_int_equal(arena_bytes(a), 0);
    }
    assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(arena_strdup(a, "tensor"), "tensor");
    assert_memory_equal(arena_copy(a, "ab", 2), "ab", 2);
    assert_null(arena_alloc(a, SIZE_MAX - 4));
    arena_free(a);
    arena_free(NULL);
}

static void arena_survives_a_failed_block(void **state) {
    (void)state;
    arena *a = arena_new();
    char *first = arena_strdup(a, "kept");
    base_fail_alloc_after(1);
    assert_null(arena_alloc(a, 100000));
    base_fail_alloc_after(-1);
    assert_non_null(arena_alloc(a, 100000));
    assert_string_equal(first, "kept");
    arena_free(a);
}

static void str_grows(void **state) {
    (void)state;
    str s = STR_INIT;
    assert_string_equal(str_cstr(&s), "");
    for (int i = 0; i < 1000; i++) str_printf(&s, "%d,", i % 10);
    assert_int_equal(s.len, 2000);
    str_clear(&s);
    str_append(&s, "a");
    str_putc(&s, 'b');
    str_appendn(&s, "cde", 2);
    assert_string_equal(str_cstr(&s), "abcd");
    str_clear(&s);
    str_printf(&s, "%0500d|%g", 0, 0.5); /* longer than the formatting buffer */
    assert_int_equal(s.len, 504);
    assert_string_equal(str_cstr(&s) + 500, "|0.5");
    str_free(&s);
}

static void str_drops_what_has_no_room(void **state) {
    (void)state;
    str s = STR_INIT;
    str_append(&s, "kept");
    char lengthy[300];
    memset(lengthy, 'y', sizeof lengthy);
    base_fail_alloc_after(1);
    str_appendn(&s, lengthy, sizeof lengthy);
    base_fail_alloc_after(-1);
    assert_true(s.failed);
    assert_string_equal(str_cstr(&s), "kept");
    base_fail_alloc_after(1);
    str_printf(&s, "%.*s", (int)sizeof lengthy, lengthy);
    base_fail_alloc_after(-1);
    assert_string_equal(str_cstr(&s), "kept");
    str_free(&s);
    assert_false(s.failed);
}

static void vectors_push(void **state) {
    (void)state;
    int *items = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < 1000; i++) assert_true(VEC_PUSH(items, n, cap, i));
    for (int i = 0; i < 1000; i++) assert_int_equal(items[i], i);
    while (n < cap) assert_true(VEC_PUSH(items, n, cap, 0));
    base_fail_alloc_after(1);
    assert_false(VEC_PUSH(items, n, cap, 0));
    base_fail_alloc_after(-1);
    assert_int_equal(n, cap);
    assert_int_equal(items[999], 999);
    assert_false(vec_grow((void **)&items, &cap, SIZE_MAX / 2, sizeof *items));
    base_free(items);
}

/* Against a plain array of flags: puts, replacements and removals of 200 keys in a fixed scrambled order. */
static void map_agrees_with_an_array(void **state) {
    (void)state;
    enum { KEYS = 200 };
    map *m = map_new();
    intptr_t expected[KEYS] = {0};
    uint32_t x = 12345;
    for (int step = 1; step <= 20000; step++) {
        x = x * 1664525u + 1013904223u;
        int key = (int)((x >> 16) % KEYS);
        if ((x >> 8) % 3) {
            void *old = NULL;
            assert_true(map_put(m, &key, sizeof key, (void *)(intptr_t)step, &old));
            assert_int_equal((intptr_t)old, expected[key]);
            expected[key] = step;
        } else {
            assert_int_equal((intptr_t)map_remove(m, &key, sizeof key), expected[key]);
            expected[key] = 0;
        }
    }
    size_t alive = 0;
    for (int key = 0; key < KEYS; key++) {
        assert_int_equal((intptr_t)map_get(m, &key, sizeof key), expected[key]);
        alive += expected[key] != 0;
    }
    assert_int_equal(map_count(m), alive);
    map_free(m, NULL);
}

static void map_keeps_the_order_of_insertion(void **state) {
    (void)state;
    map *m = map_new();
    char key[8];
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_true(map_put(m, key, strlen(key), base_strdup(key), NULL));
    }
    base_free(map_remove(m, "k3", 2));
    assert_null(map_remove(m, "k3", 2));
    assert_true(map_put(m, "", 0, base_strdup(""), NULL)); /* the empty key is a key */
    size_t iter = 0, n = 0, seen = 0;
    const void *at;
    void *value;
    int next = 0;
    while (map_next(m, &iter, &at, &n, &value)) {
        if (next == 3) next++;
        key[0] = '\0';
        if (next < 100) snprintf(key, sizeof key, "k%d", next);
        assert_int_equal(n, strlen(key));
        assert_memory_equal(at, key, n);
        assert_string_equal(value, key);
        next++;
        seen++;
    }
    assert_int_equal(seen, 100);
    assert_int_equal(map_count(m), 100);
    map_free(m, base_free);
    map_free(NULL, NULL);
}

static void map_put_fails_whole(void **state) {
    (void)state;
    map *m = map_new();
    int added = 0, failures = 0;
    for (int i = 0; i < 300; i++) {
        base_fail_alloc_after(1 + i % 3);
        bool ok = map_put(m, &i, sizeof i, m, NULL);
        base_fail_alloc_after(-1);
        added += ok;
        failures += !ok;
        assert_int_equal(map_get(m, &i, sizeof i) == m, ok);
        assert_int_equal(map_count(m), added);
    }
    assert_true(failures > 50 && added > 50);
    map_free(m, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_allocation_fails_once),
        cmocka_unit_test(sizes_do_not_wrap),
        cmocka_unit_test(dims_multiply),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_survives_a_failed_block),
        cmocka_unit_test(str_grows),
        cmocka_unit_test(str_drops_what_has_no_room),
        cmocka_unit_test(vectors_push),
        cmocka_unit_test(map_agrees_with_an_array),
        cmocka_unit_test(map_keeps_the_order_of_insertion),
        cmocka_unit_test(map_put_fails_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
