/* Hostile IDX files: sizes that the file cannot fill are refused before memory is asked for them (found by
 * tests/fuzz/fuzz_files.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "format/idx.h"

static void refused(const uint8_t *bytes, size_t n, int rank, const char *word) {
    char path[] = "/tmp/xt_idx_XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    idx_array a;
    xt_status s = idx_read(path, rank, &a);
    remove(path);
    assert_int_equal(xt_status_code(s), XT_DATA_LOSS);
    if (!strstr(xt_status_message(s), word)) fail_msg("'%s' does not say '%s'", xt_status_message(s), word);
    assert_null(a.data);
    xt_status_free(s);
}

static void test_hostile_sizes(void **state) {
    (void)state;
    static const uint8_t huge[20] = {0, 0, 8, 3, 0, 0, 0xff, 0xff, 0, 0, 0x01, 0, 0, 0, 0x00, 0xff, 1, 2, 3, 4},
                         cut[] = {0, 0, 8, 1, 0, 0, 0, 9, 1, 2, 3}, zero[] = {0, 0, 8, 1, 0, 0, 0, 0};
    refused(huge, sizeof huge, 3, "even if compressed");
    refused(cut, sizeof cut, 1, "ends at offset 11");
    refused(zero, sizeof zero, 1, "makes no sense");
    refused(cut, sizeof cut, 3, "magic number");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hostile_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
