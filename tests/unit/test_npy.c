/* npy files: what numpy writes is read, what we write numpy would read, and hostile headers are named errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fault.h"
#include "format/npy.h"

/* A version-`major` file with this header text and n data bytes. */
static str file_with(int major, const char *header, const void *data, size_t n) {
    str f = STR_INIT;
    size_t h = strlen(header);
    char size[4] = {(char)(h & 255), (char)(h >> 8), 0, 0}, version[2] = {(char)major, 0};
    str_appendn(&f, "\x93NUMPY", 6);
    str_appendn(&f, version, 2);
    str_appendn(&f, size, major == 1 ? 2 : 4);
    str_append(&f, header);
    str_appendn(&f, data, n);
    return f;
}

static void every_dtype_round_trips(void **state) {
    (void)state;
    static const xt_dtype types[] = {XT_BOOL, XT_I8,  XT_I16, XT_I32, XT_I64,  XT_U8,  XT_U16,  XT_U32,
                                     XT_U64,  XT_F16, XT_F32, XT_F64, XT_BF16, XT_C64, XT_C128, XT_F8E4M3FN};
    char path[] = "/tmp/xt_npy_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t k = 0; k < BASE_COUNT(types); k++) {
        uint8_t raw[6 * 16];
        for (size_t i = 0; i < sizeof raw; i++) raw[i] = types[k] == XT_BOOL ? i & 1 : (uint8_t)(i * 37);
        xt_array a = {.dtype = types[k], .rank = 2, .dims = {2, 3}, .data = raw, .bytes = 6 * xt_dtype_size(types[k])},
                 b;
        assert_null(xt_npy_write(path, &a));
        assert_null(xt_npy_read(path, &b));
        assert_int_equal(b.dtype, types[k]);
        assert_int_equal(b.rank, 2);
        assert_int_equal(b.dims[1], 3);
        assert_int_equal(b.bytes, a.bytes);
        assert_memory_equal(b.data, raw, a.bytes);
        xt_array_free(&b);
    }
    xt_array scalar = {.dtype = XT_I64, .data = &(int64_t){42}, .bytes = 8}, back;
    assert_null(xt_npy_write(path, &scalar));
    assert_null(xt_npy_read(path, &back));
    assert_int_equal(back.rank, 0);
    assert_int_equal(*(int64_t *)back.data, 42);
    xt_array_free(&back);
    unlink(path);
}

static void the_header_is_numpys(void **state) {
    (void)state;
    str h = STR_INIT;
    xt_array a = {.dtype = XT_F32, .rank = 1, .dims = {3}};
    assert_null(npy_header(&a, &h));
    assert_int_equal(h.len % 64, 0);
    assert_memory_equal(h.data, "\x93NUMPY\1\0", 8);
    assert_memory_equal(h.data + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 57);
    assert_int_equal(h.data[h.len - 1], '\n');
    str_free(&h);
}

static void other_layouts_are_read(void **state) {
    (void)state;
    static const int16_t fortran[] = {1, 4, 2, 5, 3, 6};
    static const uint8_t big[] = {0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe};
    xt_array a;
    str f = file_with(2, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}", fortran, sizeof fortran);
    assert_null(npy_decode(f.data, f.len, "f", &a));
    for (int i = 0; i < 6; i++) assert_int_equal(((int16_t *)a.data)[i], i + 1);
    xt_array_free(&a);
    str_free(&f);
    f = file_with(3, "{\"shape\": (2L,), \"descr\": \">i4\", \"fortran_order\": False, }\n", big, sizeof big);
    assert_null(npy_decode(f.data, f.len, "f", &a));
    assert_int_equal(((int32_t *)a.data)[0], 258);
    assert_int_equal(((int32_t *)a.data)[1], -2);
    xt_array_free(&a);
    str_free(&f);
    f = file_with(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\5\0", 2);
    assert_null(npy_decode(f.data, f.len, "f", &a));
    assert_int_equal(((uint8_t *)a.data)[0], 1);
    xt_array_free(&a);
    str_free(&f);
}

static void hostile_headers_are_errors(void **state) {
    (void)state;
    static const struct {
        const char *header, *message;
    } rows[] = {
        {"", "expected '{'"},
        {"{'descr': '<f4', 'fortran_order': False}", "the keys descr, fortran_order and shape"},
        {"{'descr': '<f4', 'descr': '<f4'}", "once each"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': ()}", "element type '<f3' is none of"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': ()}", "element type '|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "structured array"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", "expected True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "expected a dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "fits in 64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "more elements than any memory"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "but 4 follow"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
         "at most 32 dimensions"},
        {"{'descr': '<f4", "the npy header ends"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str f = file_with(1, rows[i].header, "\0\0\0\0", 4);
        xt_array a;
        xt_status s = npy_decode(f.data, f.len, "bad.npy", &a);
        if (!s || !strstr(xt_status_message(s), rows[i].message))
            fail_msg("row %zu: \"%s\" lacks \"%s\"", i, xt_status_message(s), rows[i].message);
        assert_null(a.data);
        xt_status_free(s);
        for (size_t n = 0; n < f.len; n++) { /* cut anywhere: an error, no crash */
            char *cut = malloc(n + 1);
            memcpy(cut, f.data, n);
            s = npy_decode(cut, n, "cut.npy", &a);
            assert_non_null(s);
            xt_status_free(s);
            free(cut);
        }
        str_free(&f);
    }
    xt_array a;
    xt_status s = npy_decode("hello, world", 12, "x.npy", &a);
    assert_non_null(strstr(xt_status_message(s), "not an npy file"));
    xt_status_free(s);
    s = npy_decode("\x93NUMPY\x07\0\0\0\0\0", 12, "x.npy", &a);
    assert_non_null(strstr(xt_status_message(s), "npy version 7.0"));
    xt_status_free(s);
    s = xt_npy_read("/nonexistent/x.npy", &a);
    assert_non_null(s);
    xt_status_free(s);
}

/* Memory that ran out for good is an error, whichever allocation was the first. */
static void without_memory_a_header_ends(void **state) {
    (void)state;
    const xt_array a = {XT_F32, 8, {123456, 234567, 345678, 456789, 567891, 678912, 789123, 891234}, NULL, 0};
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        str head = STR_INIT;
        base_fail_alloc_from(n);
        xt_status s = npy_header(&a, &head);
        base_fail_alloc_from(-1);
        failed = s != NULL;
        if (!s) assert_int_equal(head.len % 64, 0);
        if (s) assert_int_equal(xt_status_code(s), XT_RESOURCE_EXHAUSTED);
        xt_status_free(s);
        str_free(&head);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_dtype_round_trips),
                                       cmocka_unit_test(the_header_is_numpys), cmocka_unit_test(other_layouts_are_read),
                                       cmocka_unit_test(hostile_headers_are_errors),
                                       cmocka_unit_test(without_memory_a_header_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
