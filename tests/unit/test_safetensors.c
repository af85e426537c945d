/* Weights in files: each bit of a file that xt_save wrote counts, and of two values under one name none is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

static char path[64];

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 3);
}

static int setup(void **state) {
    (void)state;
    setenv("XT_SUMMARY", "off", 1);
    snprintf(path, sizeof path, "/tmp/xt-weights-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    return fd < 0;
}
static int teardown(void **state) {
    (void)state;
    xt_finish();
    return unlink(path);
}

static xt_module *built(void) {
    xt_module *m = xt_module_new(net, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, 4}}));
    return m;
}

/* What was said, "" where the file was loaded. */
static const char *loaded(xt_module *m, xt_switch strict) {
    static char said[600];
    xt_status s = strict == XT_OFF ? xt_load_with(m, path, .strict = XT_OFF) : xt_load(m, path);
    snprintf(said, sizeof said, "%s", xt_status_message(s));
    xt_status_free(s);
    return said;
}

static void put(const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void each_bit_counts(void **state) {
    (void)state;
    xt_module *m = built();
    char *data;
    size_t n;
    assert_null(xt_save(m, path));
    assert_null(file_read_all(path, &data, &n));
    assert_non_null(strstr(data + 8, "\"xtrain:checksum\""));
    assert_string_equal(loaded(m, XT_ON), "");
    assert_string_equal(loaded(m, XT_OFF), "");
    for (size_t at = 0; at < n; at++)
        for (int strict = 0; strict < 2; strict++) {
            bool padding = data[at] == ' '; /* behind the header: not part of it */
            data[at] ^= 1 << at % 7;
            put(data, n);
            if (!*loaded(m, strict ? XT_ON : XT_OFF) && !padding)
                fail_msg("bit %zu of byte %zu (of %zu) was taken", at % 7, at, n);
            data[at] ^= 1 << at % 7;
        }
    put(data, n);
    assert_string_equal(loaded(m, XT_ON), "");
    base_free(data);
}

/* A file as another program writes it: without checksums, or with two of something. */
static void foreign(const char *header) {
    char data[1024] = {0};
    uint64_t n = strlen(header);
    memcpy(data, &n, 8);
    memcpy(data + 8, header, n);
    put(data, 8 + n + 60);
}

#define BIAS "\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[48,60]}"
#define WEIGHT "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[3,4],\"data_offsets\":[0,48]}"

static void twins_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *header, *said;
    } rows[] = {{"{" WEIGHT "," BIAS "}", NULL},
                {"{\"__metadata__\":{\"a\":\"1\"}," WEIGHT "," BIAS "}", NULL},
                {"{" WEIGHT "," BIAS "," WEIGHT "}", "\"fc.weight\" twice"},
                {"{\"__metadata__\":{\"a\":\"1\"},\"__metadata__\":{}," WEIGHT "," BIAS "}", "\"__metadata__\" twice"},
                {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}," WEIGHT "," BIAS "}", "\"a\" twice"},
                {"{" WEIGHT ",\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"shape\":[3],\"data_offsets\":[48,60]}}",
                 "\"shape\" twice"}};
    xt_module *m = built();
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        foreign(rows[i].header);
        const char *said = loaded(m, XT_ON);
        if (!rows[i].said)
            assert_string_equal(said, "");
        else if (!strstr(said, rows[i].said))
            fail_msg("%s: \"%s\" was not said: %s", rows[i].header, rows[i].said, said);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(each_bit_counts, setup, teardown),
                                       cmocka_unit_test_setup_teardown(twins_are_refused, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
