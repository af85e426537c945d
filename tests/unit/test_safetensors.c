/* Weights in files: each bit of a file that xt_save wrote counts, and of two values under one name none is taken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
                 "\"shape\" twice"},
                {"{" WEIGHT ",\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[44,56]}}",
                 "tensor fc.weight and of fc.bias overlap"}};
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

/* --- shards --- */
static char folder[64];

static const char *in_folder(const char *name) {
    static char full[4][160];
    static int at;
    snprintf(full[at = (at + 1) % 4], sizeof full[0], "%s/%s", folder, name);
    return full[at];
}

static int folder_setup(void **state) {
    snprintf(folder, sizeof folder, "/tmp/xt-shards-XXXXXX");
    return setup(state) || !mkdtemp(folder);
}
static int folder_teardown(void **state) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) | teardown(state);
}

static void values(xt_module *m, float out[15]) {
    assert_true(xt_read(xt_module_find(m, "fc.weight"), out, 48));
    assert_true(xt_read(xt_module_find(m, "fc.bias"), out + 12, 12));
}

static void write_text(const char *at, const char *text) {
    FILE *f = fopen(at, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void fails(xt_status s, const char *with) {
    if (!s || !strstr(xt_status_message(s), with)) fail_msg("'%s' was not said: %s", with, xt_status_message(s));
    xt_status_free(s);
}

#define INDEX "model.safetensors.index.json"
#define WEIGHT_FILE "model-00001-of-00002.safetensors"
#define BIAS_FILE "model-00002-of-00002.safetensors"

static void shards_are_one_file(void **state) {
    (void)state;
    xt_module *m = built();
    float was[15], now[15];
    values(m, was);
    assert_null(xt_save(m, in_folder("model.safetensors")));
    assert_null(xt_save_with(m, in_folder("model.safetensors"), .max_shard_size = 50));
    assert_int_equal(access(in_folder("model.safetensors"), F_OK), -1); /* readers would take it before the index */
    assert_int_equal(access(in_folder(BIAS_FILE), F_OK), 0);
    const char *const ways[] = {in_folder(INDEX), folder};
    for (int i = 0; i < 2; i++) {
        xt_mark_step();
        xt_init_zeros(m, "*");
        assert_null(xt_load(m, ways[i]));
        values(m, now);
        assert_memory_equal(was, now, sizeof was);
    }
    assert_null(xt_convert_weights(folder, in_folder("whole.safetensors"), .rename = "fc.*=head.*.x"));
    fails(xt_load(m, in_folder("whole.safetensors")), "holds no tensor fc.weight");
    xt_mark_step();
    xt_init_zeros(m, "*");
    assert_null(xt_load_with(m, in_folder("whole.safetensors"), .rename = "none=some,head.*.x=fc.*"));
    values(m, now);
    assert_memory_equal(was, now, sizeof was);
    fails(xt_load_with(m, in_folder("whole.safetensors"), .rename = "head.*.x=fc.weight"), "two of its tensors");
    fails(xt_load_with(m, in_folder("whole.safetensors"), .rename = "head=*"), "'head=*' is no rule");
    fails(xt_convert_weights(folder, in_folder("none.safetensors"), .keep = "x*"), "none of its 2 tensors");
    assert_int_equal(access(in_folder("none.safetensors"), F_OK), -1);
}

static void floats_convert(void **state) {
    (void)state;
    xt_module *m = built();
    float was[15], now[15];
    values(m, was);
    assert_null(xt_save(m, in_folder("f32.safetensors")));
    static const xt_dtype dtypes[] = {XT_BF16, XT_F16};
    for (int i = 0; i < 2; i++) {
        assert_null(xt_convert_weights(in_folder("f32.safetensors"), in_folder("narrow.safetensors"),
                                       .dtype = dtypes[i], .max_shard_size = 24));
        assert_null(xt_load(m, in_folder("narrow.safetensors.index.json")));
        values(m, now);
        for (int k = 0; k < 15; k++) { /* rounded to the nearest: half a unit of the last bit */
            float most = fabsf(was[k]) * (i ? 0x1p-11f : 0x1p-8f) + 0x1p-25f;
            if (!(fabsf(was[k] - now[k]) <= most)) fail_msg("%.9g became %.9g", (double)was[k], (double)now[k]);
        }
    }
    assert_null(
        xt_convert_weights(in_folder("f32.safetensors"), in_folder("turned.safetensors"), .transposed = "*.weight"));
    fails(xt_load(m, in_folder("turned.safetensors")), "fc.weight");
    assert_null(xt_load_with(m, in_folder("turned.safetensors"), .transposed = "*.weight"));
    values(m, now);
    assert_memory_equal(was, now, sizeof was);
}

static void an_index_is_not_trusted(void **state) {
    (void)state;
    xt_module *m = built();
    assert_null(xt_save_with(m, in_folder("model.safetensors"), .max_shard_size = 50));
    static const struct {
        const char *index, *said;
    } rows[] = {{"{\"weight_map\": {\"fc.weight\": \"" WEIGHT_FILE "\", \"fc.bias\": \"" BIAS_FILE "\"}}", NULL},
                {"{\"weight_map\": {\"fc.weight\": \"" WEIGHT_FILE "\", \"fc.bias\": \"gone.safetensors\"}}",
                 "gone.safetensors is not there"},
                {"{\"weight_map\": {\"fc.weight\": \"" WEIGHT_FILE "\", \"fc.bias\": \"" WEIGHT_FILE "\"}}",
                 "tensor fc.bias is said to be in"},
                {"{\"weight_map\": {\"fc.weight\": \"../model.safetensors\"}}", "without a folder"},
                {"{\"weight_map\": {\"fc.weight\": \"/etc/passwd\"}}", "without a folder"},
                {"{\"weight_map\": {\"fc.weight\": \".\"}}", "without a folder"},
                {"{\"weight_map\": {\"fc.weight\": 3}}", "without a folder"},
                {"{\"weight_map\": {\"fc.weight\": \"" INDEX "\"}}", "a shard is an index"},
                {"{\"weight_map\": []}", "no object \"weight_map\""},
                {"not json", "no object \"weight_map\""},
                {"{\"weight_map\": {\"fc.weight\": \"" WEIGHT_FILE "\"}}", "holds no tensor fc.bias"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        write_text(in_folder(INDEX), rows[i].index);
        if (rows[i].said)
            fails(xt_load(m, folder), rows[i].said);
        else
            assert_null(xt_load(m, folder));
    }
    assert_null(xt_save(m, in_folder("twin.safetensors")));
    write_text(in_folder(INDEX),
               "{\"weight_map\": {\"fc.weight\": \"" WEIGHT_FILE "\", \"fc.bias\": \"twin.safetensors\"}}");
    fails(xt_load(m, folder), "twin.safetensors; which one is meant");
}

/* A file without tensors that names shards. */
static void write_list(const char *name, const char *list) {
    char json[400];
    uint64_t n = (uint64_t)snprintf(json, sizeof json, "{\"__metadata__\": {\"xtrain:shards\": \"%s\"}}", list);
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    assert_true(fwrite(&n, sizeof n, 1, f) == 1 && fwrite(json, n, 1, f) == 1 && fclose(f) == 0);
}

/* Nor is a checkpoint's list of shards: names beside it, each of one file with tensors of its own. */
static void a_list_of_shards_is_not_trusted(void **state) {
    (void)state;
    xt_module *m = built();
    assert_null(xt_save_with(m, in_folder("model.safetensors"), .max_shard_size = 50));
    assert_null(xt_save(m, in_folder("all.safetensors")));
    write_list("other.ckpt", "one.ckpt");
    static const struct {
        const char *list, *said;
    } rows[] = {{WEIGHT_FILE "\\n" BIAS_FILE, NULL},
                {WEIGHT_FILE, "holds no tensor fc.bias"},
                {WEIGHT_FILE "\\n" WEIGHT_FILE, "which one is meant"},
                {WEIGHT_FILE "\\nall.safetensors", "which one is meant"},
                {WEIGHT_FILE "\\ngone.safetensors", "gone.safetensors is not there"},
                {"one.ckpt", "has shards"},
                {"other.ckpt", "has shards"},
                {"other.ckpt\\nother.ckpt", "has shards"},
                {"../all.safetensors", "beside it is expected"},
                {"/etc/passwd", "beside it is expected"},
                {INDEX, "a shard is an index"},
                {".", "beside it is expected"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        write_list("one.ckpt", rows[i].list);
        if (rows[i].said)
            fails(xt_load(m, in_folder("one.ckpt")), rows[i].said);
        else
            assert_null(xt_load(m, in_folder("one.ckpt")));
    }
    write_text(in_folder(INDEX), "{\"weight_map\": {\"fc.weight\": \"one.ckpt\"}}");
    write_list("one.ckpt", "one.ckpt");
    fails(xt_load(m, folder), "has shards");
    assert_true(mkdir(in_folder("sub"), 0700) == 0 &&
                rename(in_folder("all.safetensors"), in_folder("sub/model.safetensors")) == 0);
    write_list("one.ckpt", "sub");
    fails(xt_load(m, in_folder("one.ckpt")), "folder");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_bit_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(twins_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(shards_are_one_file, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(floats_convert, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(an_index_is_not_trusted, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(a_list_of_shards_is_not_trusted, folder_setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
