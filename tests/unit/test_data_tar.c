/* Tar shards: forged and hostile files, samples, the sampler's order over ranks, and resuming. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/data.h"
#include "data/loader_int.h"
#include "format/png.h"
#include <xtrain/xtrain.h>

static char dir[64];

static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_tar_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[128];
    xt_clear_error();
    xt_finish();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) || live_get(LIVE_dataset) || live_get(LIVE_loader);
}

static const char *in_dir(const char *name) {
    static char path[4][256];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

/* --- writing --- */
static void sum(char *block) {
    unsigned total = 0;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < 512; i++) total += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", total);
}

/* A header of a type; `size` may be a lie. */
static void header(str *tar, const char *name, char type, int64_t size) {
    char block[512] = {0};
    memcpy(block, name, strnlen(name, 100));
    snprintf(block + 100, 8, "%07o", 0644);
    snprintf(block + 124, 12, "%011llo", (unsigned long long)size);
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    block[156] = type;
    sum(block);
    str_appendn(tar, block, sizeof block);
}

static void bytes(str *tar, const void *data, size_t n) {
    static const char zeros[512];
    str_appendn(tar, data, n);
    str_appendn(tar, zeros, (512 - n % 512) % 512);
}

static void add(str *tar, const char *name, const void *data, size_t n) {
    header(tar, name, '0', (int64_t)n);
    bytes(tar, data, n);
}

static void add_text(str *tar, const char *name, const char *text) {
    add(tar, name, text, strlen(text));
}

static const char *save(str *tar, const char *name, bool ended) {
    static const char zeros[1024];
    const char *path = in_dir(name);
    if (ended) str_appendn(tar, zeros, sizeof zeros);
    assert_null(file_write_all(path, tar->data, tar->len));
    str_free(tar);
    *tar = (str)STR_INIT;
    return path;
}

/* --- reading --- */
static xt_status number(void *user, const xt_tar_sample *s, void *x, void *y) {
    int k = xt_tar_find(s, "txt;text");
    (void)user;
    if (k < 0) return xt_status_new(XT_NOT_FOUND, "no text");
    assert_true(((const char *)s->data[k])[s->sizes[k]] == 0);
    *(float *)x = (float)atof(s->data[k]);
    if (y) *(int64_t *)y = s->n;
    return NULL;
}

static xt_dataset *numbers(const char *pattern) {
    return xt_tar_dataset(pattern, .decode = number, .x = {XT_F32, {0}}, .y = {XT_I64, {0}});
}

static void refused(xt_dataset *d, const char *part) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (d || !strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);
    xt_clear_error();
}

/* Shard k of n samples from `from` on, each the number of its key. */
static void shard(int k, int from, int n) {
    str tar = STR_INIT;
    char name[64], text[32];
    for (int i = from; i < from + n; i++) {
        snprintf(name, sizeof name, "d/%06d.txt", i);
        snprintf(text, sizeof text, "%d\n", i);
        add_text(&tar, name, text);
        snprintf(name, sizeof name, "d/%06d.Seg.png", i);
        add_text(&tar, name, "not looked at");
    }
    snprintf(name, sizeof name, "s-%03d.tar", k);
    save(&tar, name, true);
}

static void samples_are_groups(void **state) {
    (void)state;
    uint8_t rgb[2 * 3 * 3];
    for (int i = 0; i < 18; i++) rgb[i] = (uint8_t)(i * 13);
    str png = STR_INIT, tar = STR_INIT;
    assert_null(png_encode_rgb(2, 3, rgb, &png));
    header(&tar, "train/", '5', 0);
    add(&tar, "train/a.PNG", png.data, png.len);
    add_text(&tar, "train/a.cls", " 7\n");
    add_text(&tar, "README", "left out");
    add_text(&tar, "train/._a.png", "left out");
    header(&tar, "link.png", '2', 99); /* a link's size is none */
    add(&tar, "train/b.v1.png", "x", 1); /* its extension is v1.png */
    add(&tar, "train/b.png", png.data, png.len);
    add_text(&tar, "train/b.cls", "-3");
    const char *path = save(&tar, "p.tar", true);
    xt_dataset *d = xt_tar_dataset(path, .side = 2);
    assert_non_null(d);
    assert_int_equal(xt_dataset_count(d), 2);
    assert_int_equal(xt_tar_shards(d), 1);
    float x[3 * 2 * 2];
    int64_t y;
    assert_null(xt_dataset_get(d, 1, x, &y));
    assert_int_equal(y, -3);
    assert_null(xt_dataset_get(d, 0, x, &y));
    assert_int_equal(y, 7);
    /* of three rows the first two: round(0.5) of Python is 0 */
    assert_float_equal(x[0], rgb[0] / 255.0, 1e-6);
    xt_dataset_free(d);
    refused(xt_tar_dataset(path, .side = 2, .label = "json"), "p.tar, sample train/a: it has no file .json");
    refused(xt_tar_dataset(path, .side = 0), ".side = 0");
    str_free(&png);
}

static void names_of_many_shards(void **state) {
    (void)state;
    shard(9, 0, 3);
    shard(10, 3, 1);
    shard(11, 4, 2);
    xt_dataset *d = numbers(in_dir("s-{009..011}.tar"));
    assert_int_equal(xt_dataset_count(d), 6);
    assert_int_equal(xt_tar_shards(d), 3);
    float x;
    int64_t y;
    for (int i = 5; i >= 0; i--) {
        assert_null(xt_dataset_get(d, i, &x, &y));
        assert_true(x == (float)i && y == 2);
    }
    xt_dataset_free(d);
    char both[600];
    snprintf(both, sizeof both, "%s::%s", in_dir("s-{011,010}.tar"), in_dir("s-0{9..9}.tar"));
    refused(numbers(both), "s-09.tar");
    snprintf(both, sizeof both, "%s::%s", in_dir("s-{011,010}.tar"), in_dir("s-0{09..9}.tar"));
    d = numbers(both);
    assert_int_equal(xt_dataset_count(d), 6);
    assert_null(xt_dataset_get(d, 3, &x, &y));
    assert_true(x == 0);
    xt_dataset_free(d);
    refused(numbers(in_dir("s-{011.tar")), "braces");
    refused(numbers(in_dir("s-{3..1}.tar")), "ends before it begins");
    refused(numbers(in_dir("s-012.tar")), "s-012.tar");
    refused(numbers(""), "pattern");
}

static void long_names_and_sizes(void **state) {
    (void)state;
    char name[300], record[400];
    str tar = STR_INIT;
    memset(name, 'n', 250);
    strcpy(name + 250, ".txt");
    header(&tar, "././@LongLink", 'L', 255); /* GNU's */
    bytes(&tar, name, 255);
    add_text(&tar, "short.txt", "1");
    int n = snprintf(record, sizeof record, "%d path=%s\n", 4 + 5 + 254 + 1, name); /* "264 path=...\n" */
    assert_int_equal(n, 264);
    name[0] = record[9] = 'm';
    strcat(record, "12 size=001\n");
    header(&tar, "pax", 'x', n + 12);
    bytes(&tar, record, (size_t)n + 12);
    header(&tar, "short.txt", '0', 0777); /* pax's size counts */
    bytes(&tar, "2", 1);
    const char *path = save(&tar, "l.tar", true);
    xt_dataset *d = numbers(path);
    assert_int_equal(xt_dataset_count(d), 2);
    float x;
    assert_null(xt_dataset_get(d, 1, &x, NULL));
    assert_true(x == 2);
    xt_dataset_free(d);
}

static void hostile_files(void **state) {
    (void)state;
    static const struct {
        const char *name;
        char type;
        int64_t size;
        const char *said;
    } rows[] = {{"../x.txt", '0', 1, "leads out"},
                {"/etc/x.txt", '0', 1, "leads out"},
                {"a/../../x.txt", '0', 1, "leads out"},
                {"x.txt", '0', 1 << 20, "the file is cut"},
                {"x.txt", '0', 0777777777777, "is cut"},
                {"x.txt", 'S', 1, "sparse"},
                {"", '0', 1, "no name"},
                {"x", 'x', 1 << 21, "byte 1024: it has 2097152 bytes"},
                {"x", 'x', 4, "pax records are damaged"},
                {"x", 'L', 0, "of that length is none"},
                {"a\x1b[2J.txt/..", '0', 1, "\\x1b"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str tar = STR_INIT;
        add_text(&tar, "ok.txt", "1");
        header(&tar, rows[i].name, rows[i].type, rows[i].size);
        bytes(&tar, "12345", 5);
        add_text(&tar, "after.txt", "1");
        refused(numbers(save(&tar, "h.tar", true)), rows[i].said);
    }
    str tar = STR_INIT;
    add_text(&tar, "ok.txt", "1");
    refused(numbers(save(&tar, "cut.tar", false)), "no block of zeros");
    add_text(&tar, "ok.txt", "1");
    tar.data[3] ^= 1;
    refused(numbers(save(&tar, "sum.tar", true)), "checksum");
    add_text(&tar, "ok.txt", "1");
    add_text(&tar, "ok.TXT", "1");
    refused(numbers(save(&tar, "twice.tar", true)), "two files .txt");
    static const char *const compressed[][2] = {{"\x1f\x8b", "by gzip"},
                                                {"\x28\xb5\x2f\xfd", "by zstd"},
                                                {"BZh", "by bzip2"},
                                                {"\xfd\x37zXZ", "by xz"},
                                                {"\x04\x22\x4d\x18", "by lz4"}};
    for (size_t i = 0; i < BASE_COUNT(compressed); i++)
        for (size_t size = 120; size <= 600; size += 480) { /* a small shard is less than a block */
            str_append(&tar, compressed[i][0]);
            while (tar.len < size) str_putc(&tar, 'z');
            refused(numbers(save(&tar, "z.tar.gz", false)), compressed[i][1]);
        }
    refused(numbers(save(&tar, "empty.tar", true)), "has no samples");
    refused(numbers(dir), "a folder");
}

static void changed_behind_the_index(void **state) {
    (void)state;
    shard(0, 0, 2);
    xt_dataset *d = numbers(in_dir("s-000.tar"));
    assert_int_equal(truncate(in_dir("s-000.tar"), 700), 0);
    float x;
    xt_status s = xt_dataset_get(d, 1, &x, NULL);
    assert_non_null(strstr(xt_status_message(s), "has changed since it was opened"));
    xt_status_free(s);
    xt_dataset_free(d);
}

/* --- the sampler --- */
enum { SHARDS = 7, MOST = 200 };
static int sizes[SHARDS] = {5, 11, 1, 8, 8, 20, 3}; /* 56 */

static xt_dataset *seven(void) {
    int from = 0;
    for (int k = 0; k < SHARDS; from += sizes[k++]) shard(k, from, sizes[k]);
    return numbers(in_dir("s-{000..006}.tar"));
}

static int shard_of(int64_t i) {
    int k = 0;
    while (i >= sizes[k]) i -= sizes[k++];
    return k;
}

static void each_rank_reads_its_shards(void **state) {
    (void)state;
    xt_dataset *d = seven();
    int64_t order[MOST], again[MOST];
    for (int buffer = 1; buffer <= 6; buffer += 5)
        for (int64_t parts = 1; parts <= 3; parts++) {
            xt_sampler *made = xt_tar_sampler(d, .buffer = buffer);
            const xt_sampler_desc s = made->of->d;
            xt_epoch e = {3, 2, 56, 4 * parts, parts};
            assert_int_equal(s.count, 56);
            assert_null(s.order(s.user, &e, order));
            assert_null(s.order(s.user, &e, again));
            assert_memory_equal(order, again, 56 * sizeof *order);
            int seen[56] = {0}, owner[SHARDS], foreign = 0;
            for (int k = 0; k < SHARDS; k++) owner[k] = -1;
            for (int i = 0; i < 56; i++) {
                seen[order[i]]++;
                if (i >= 56 / e.batch * e.batch) continue;
                int part = (int)(i % e.batch / 4), k = shard_of(order[i]);
                if (owner[k] < 0) owner[k] = part;
                foreign += owner[k] != part;
                if (buffer == 1 && i > 0 && parts == 1 && shard_of(order[i - 1]) == k)
                    assert_int_equal(order[i], order[i - 1] + 1); /* in its order within a shard */
            }
            for (int i = 0; i < 56; i++) assert_int_equal(seen[i], 1);
            assert_true(foreign <= 20); /* only what one rank's longer shards had left */
            e.epoch = 3;
            assert_null(s.order(s.user, &e, again));
            assert_memory_not_equal(order, again, 56 * sizeof *order);
            xt_sampler_free(made);
        }
    xt_dataset_free(d);
    assert_null(xt_tar_sampler(NULL, .buffer = 1));
    xt_clear_error();
    d = xt_drawn_digits(4, 0);
    assert_null(xt_tar_sampler(d));
    refused(NULL, "is no tar dataset");
    xt_dataset_free(d);
}

static int64_t read_all(xt_loader *l, float *out) {
    int64_t n = 0;
    for (xt_batch b; xt_next(l, &b); n += b.size) assert_true(xt_read(b.x, out + n, (size_t)b.size * sizeof *out));
    assert_null(xt_error());
    return n;
}

/* Any number of workers gives the same, and a loader that is set to a batch goes on as the unbroken one. */
static void resumes_bit_for_bit(void **state) {
    (void)state;
    float whole[2 * MOST], rest[MOST];
    for (int workers = 1; workers <= 3; workers += 2) {
        xt_dataset *d = seven();
        xt_loader *l = xt_loader_new(d, .batch = 5, .workers = workers, .seed = 9, .drop_last = XT_OFF,
                                     .sampler = xt_tar_sampler(d, .buffer = 10));
        int64_t n = read_all(l, workers == 1 ? whole : whole + MOST);
        assert_int_equal(n, 56);
        xt_loader_set_epoch(l, 0, 4);
        assert_int_equal(read_all(l, rest), 36);
        assert_memory_equal(rest, whole + 20, 36 * sizeof *rest);
        xt_loader_free(l);
    }
    assert_memory_equal(whole, whole + MOST, 56 * sizeof *whole);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
int main(void) {
    const struct CMUnitTest tests[] = {TEST(samples_are_groups),       TEST(names_of_many_shards),
                                       TEST(long_names_and_sizes),     TEST(hostile_files),
                                       TEST(changed_behind_the_index), TEST(each_rank_reads_its_shards),
                                       TEST(resumes_bit_for_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
