/* The protocol buffer wire format, against bytes written by hand and against itself; hostile bytes end the walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/proto.h"

static void test_known_bytes(void **state) {
    (void)state;
    str build = STR_INIT, options = STR_INIT;
    proto_int(&build, 4, 1);
    proto_int(&build, 5, 1);
    proto_message(&options, 3, &build);
    assert_int_equal(options.len, 6);
    assert_memory_equal(options.data, "\x1a\x04\x20\x01\x28\x01", 6); /* the smallest compile options */
    str_clear(&options);
    proto_int(&options, 1, -1);
    assert_int_equal(options.len, 11);
    assert_memory_equal(options.data, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    str_free(&build), str_free(&options);
}

static void test_round_trip(void **state) {
    (void)state;
    str s = STR_INIT;
    proto_int(&s, 1, 300);
    proto_float(&s, 2, 1.5f);
    proto_double(&s, 3, -2.25);
    proto_bytes(&s, 400, "hello", 5);
    proto_reader r = proto_read(s.data, s.len);
    proto_field f;
    assert_true(proto_next(&r, &f) && f.number == 1 && f.wire == PROTO_VARINT && f.value == 300);
    assert_true(proto_next(&r, &f) && f.number == 2 && f.wire == PROTO_FIXED32 && f.value == 0x3fc00000);
    double d;
    assert_true(proto_next(&r, &f) && f.number == 3 && f.wire == PROTO_FIXED64);
    memcpy(&d, &f.value, sizeof d);
    assert_true(d == -2.25);
    assert_true(proto_next(&r, &f) && f.number == 400 && f.size == 5 && memcmp(f.data, "hello", 5) == 0);
    assert_false(proto_next(&r, &f));
    assert_false(r.bad);
    /* every proper prefix either ends at a field's end or is bad */
    int ends = 0;
    for (size_t n = 0; n < s.len; n++) {
        r = proto_read(s.data, n);
        while (proto_next(&r, &f)) continue;
        if (!r.bad) ends++;
    }
    assert_int_equal(ends, 4); /* empty, after 1, 2 and 3 */
    str_free(&s);
}

static void test_hostile(void **state) {
    (void)state;
    static const char *const bad[] = {"\x07",
                                      "\x03",
                                      "\x00\x01",
                                      "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                      ("\x0a\x05"
                                       "ab"),
                                      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    static const size_t size[] = {1, 1, 2, 11, 4, 13};
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        proto_reader r = proto_read(bad[i], size[i]);
        proto_field f;
        while (proto_next(&r, &f)) continue;
        assert_true(r.bad);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_bytes), cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
