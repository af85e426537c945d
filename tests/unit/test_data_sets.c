/* Datasets of files and of datasets: values, counts, and one sentence for each bad input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "format/npy.h"
#include "format/png.h"
#include "format/room.h"
#include "format/safetensors.h"

static char dir[64];

static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_data_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[128];
    xt_clear_error();
    xt_finish();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) || live_get(LIVE_dataset) != 0;
}

static const char *in_dir(const char *name) {
    static char path[4][256];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

static void put_file(const char *name, const void *data, size_t n) {
    assert_null(file_write_all(in_dir(name), data, n));
}

/* `d` must be NULL, with an error that says `part`. */
static void refused(xt_dataset *d, const char *part) {
    assert_null(d);
    const char *text = xt_status_message(xt_error());
    if (!strstr(text, part)) fail_msg("'%s' is not in: %s", part, text);
    xt_clear_error();
}

static xt_dataset *numbers(int64_t n) { /* x = i as [1,1], y = -i */
    static float x[64];
    static int64_t y[64];
    for (int i = 0; i < 64; i++) x[i] = (float)i, y[i] = -i;
    return xt_array_dataset(x, (xt_spec){XT_F32, {1, 1}}, y, (xt_spec){XT_I64, {0}}, n);
}

static int64_t at(xt_dataset *d, int64_t i) {
    float x;
    int64_t y;
    assert_null(xt_dataset_get(d, i, &x, &y));
    assert_true((float)-y == x);
    return (int64_t)x;
}

static xt_status twice(void *user, int64_t i, const void *x_in, const void *y_in, void *x, void *y) {
    float v = *(const float *)x_in;
    ((double *)x)[0] = 2.0 * (double)v;
    ((double *)x)[1] = *(int *)user;
    *(int32_t *)y = (int32_t)(*(const int64_t *)y_in + i);
    return NULL;
}

static void datasets_of_datasets(void **state) {
    (void)state;
    int tag = 7;
    double x[2];
    int32_t y;
    xt_dataset *d = xt_map_dataset(numbers(10), (xt_spec){XT_F64, {2}}, (xt_spec){XT_I32, {0}}, twice, &tag);
    assert_int_equal(xt_dataset_count(d), 10);
    assert_null(xt_dataset_get(d, 4, x, &y));
    assert_true(x[0] == 8 && x[1] == 7 && y == 0);
    xt_dataset_free(d);

    int64_t picks[] = {9, 0, 9}, wrong[] = {3, 10};
    d = xt_subset(numbers(10), picks, 3);
    assert_true(xt_dataset_count(d) == 3 && at(d, 0) == 9 && at(d, 1) == 0 && at(d, 2) == 9);
    xt_dataset_free(d);
    refused(xt_subset(numbers(10), wrong, 2), "index 1 is 10");

    xt_dataset *parts[] = {numbers(3), xt_subset(numbers(10), picks, 0), numbers(2)};
    d = xt_concat_datasets(3, parts);
    assert_true(xt_dataset_count(d) == 5 && at(d, 2) == 2 && at(d, 3) == 0 && at(d, 4) == 1);
    xt_status s = xt_dataset_get(d, 5, x, NULL);
    assert_int_equal(xt_status_code(s), XT_OUT_OF_RANGE);
    xt_status_free(s);
    xt_dataset_free(d);
    xt_dataset *other[] = {numbers(3), xt_drawn_digits(2, 1)};
    refused(xt_concat_datasets(2, other), "other specs");
}

static void random_splits(void **state) {
    (void)state;
    xt_dataset *part[2], *again[2], *bad[2];
    int64_t lengths[] = {14, 6}, short_ones[] = {14, 5};
    assert_null(xt_random_split(numbers(20), 2, lengths, 3, part));
    assert_null(xt_random_split(numbers(20), 2, lengths, 3, again));
    int seen[20] = {0}, moved = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < lengths[k]; i++) {
            seen[at(part[k], i)]++;
            moved += at(part[k], i) != i;
            assert_int_equal(at(part[k], i), at(again[k], i));
        }
    for (int i = 0; i < 20; i++) assert_int_equal(seen[i], 1);
    assert_true(moved > 10);
    for (int k = 0; k < 2; k++) xt_dataset_free(part[k]), xt_dataset_free(again[k]);
    xt_status s = xt_random_split(numbers(20), 2, short_ones, 3, bad);
    assert_non_null(strstr(xt_status_message(s), "add up to 19"));
    xt_status_free(s);
}

static void specs_that_do_not_fit(void **state) {
    (void)state;
    static float x[4][6];
    static int64_t y[4];
    xt_spec good = {XT_F32, {6}}, label = {XT_I64, {0}}, none = {0};
    refused(xt_array_dataset(x, (xt_spec){.dims = {6}}, y, label, 4),
            "the spec of x is {no dtype, {6}}: it has no dtype that holds numbers; expected the dtype and dims of one "
            "sample, without the batch's: (xt_spec){XT_F32, {1, 28, 28}}");
    refused(xt_array_dataset(x, (xt_spec){XT_F32, {0, 6}}, y, label, 4),
            "the spec of x is {f32, {0, 6}}: a dim of 0 ends the dims, and there are more behind it");
    refused(xt_array_dataset(x, (xt_spec){XT_F32, {-1, 6}}, y, label, 4), "{f32, {-1, 6}}: a dim is negative");
    refused(xt_array_dataset(x, good, y, none, 4), "the spec of y is {no dtype, {0}}");
    refused(xt_array_dataset(x, good, NULL, label, 4), "y has a spec and is NULL");
    refused(xt_array_dataset(NULL, good, y, label, 4), "x is NULL; an array of 4 samples is expected");
    refused(xt_map_dataset(numbers(1), (xt_spec){XT_F32, {0, 2}}, none, twice, NULL), "a dim of 0 ends the dims");
}

/* --- pictures --- */
static void augmentation(void **state) {
    (void)state;
    static float picture[2][4][5], out[2][4][5];
    for (int i = 0; i < 40; i++) ((float *)picture)[i] = (float)(i + 1);
    float mean[] = {1, 2}, std[] = {2, 4}, bad[] = {1, 0};
    xt_spec spec = {XT_F32, {2, 4, 5}};
    xt_dataset *d = xt_augment(xt_array_dataset(picture, spec, NULL, (xt_spec){0}, 1), .mean = mean, .std = std);
    assert_null(xt_dataset_get(d, 0, out, NULL));
    for (int i = 0; i < 40; i++)
        assert_true(fabsf(((float *)out)[i] - (((float *)picture)[i] - mean[i / 20]) / std[i / 20]) < 1e-6f);
    xt_dataset_free(d);
    refused(xt_augment(xt_array_dataset(picture, spec, NULL, (xt_spec){0}, 1), .std = bad), "std[1] = 0");
    refused(xt_augment(xt_array_dataset(picture, spec, NULL, (xt_spec){0}, 1), .crop_padding = 4), "crop_padding = 4");
    refused(xt_augment(xt_map_dataset(numbers(1), (xt_spec){XT_F32, {2}}, (xt_spec){0}, twice, NULL), .flip = XT_ON),
            "no pictures");

    /* Through a loader: each epoch draws anew, two loaders with the same seed draw alike, and every picture is a
     * shifted, perhaps mirrored one. */
    static float seen[2][6][2][4][5];
    for (int run = 0; run < 2; run++) {
        d = xt_augment(xt_array_dataset(picture, spec, NULL, (xt_spec){0}, 1), .crop_padding = 2, .flip = XT_ON);
        xt_loader *l = xt_loader_new(d, .batch = 1, .seed = 9, .workers = 1 + run);
        for (int e = 0; e < 6; e++)
            for (xt_batch b; xt_next(l, &b);) assert_true(xt_read(b.x, seen[run][e], sizeof seen[run][e]));
        xt_loader_free(l);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    int different = 0;
    for (int e = 0; e < 6; e++) {
        different += memcmp(seen[0][e], seen[0][0], sizeof seen[0][e]) != 0;
        bool found = false;
        for (int down = -2; down <= 2; down++)
            for (int right = -2; right <= 2; right++)
                for (int flip = 0; flip < 2; flip++) {
                    bool same = true;
                    for (int c = 0; c < 2; c++)
                        for (int r = 0; r < 4; r++)
                            for (int q = 0; q < 5; q++) {
                                int fr = r + down, fq = (flip ? 4 - q : q) + right;
                                float want = fr >= 0 && fr < 4 && fq >= 0 && fq < 5 ? picture[c][fr][fq] : 0;
                                same &= seen[0][e][c][r][q] == want;
                            }
                    found |= same;
                }
        assert_true(found);
    }
    assert_true(different > 0);
}

static void image_folders(void **state) {
    (void)state;
    mkdir(in_dir("dogs"), 0755);
    mkdir(in_dir("cats"), 0755);
    uint8_t rgb[4 * 6 * 3]; /* 6 wide, 4 high: red grows to the right */
    for (int i = 0; i < 24; i++) rgb[3 * i] = (uint8_t)(i % 6 * 10), rgb[3 * i + 1] = 100, rgb[3 * i + 2] = 255;
    assert_null(png_write_rgb(in_dir("dogs/b.png"), 6, 4, rgb));
    assert_null(png_write_rgb(in_dir("cats/a.png"), 6, 4, rgb));
    put_file("cats/notes.txt", "x", 1);
    xt_dataset *d = xt_image_folder(dir, 4);
    assert_int_equal(xt_dataset_count(d), 2);
    assert_string_equal(xt_image_folder_class(d, 0), "cats");
    assert_string_equal(xt_image_folder_class(d, 1), "dogs");
    assert_null(xt_image_folder_class(d, 2));
    float x[3][4][4];
    int64_t y;
    assert_null(xt_dataset_get(d, 1, x, &y));
    assert_int_equal(y, 1);
    /* one column is cut off on each side */
    for (int q = 0; q < 4; q++) assert_true(fabsf(x[0][2][q] - (float)(q + 1) * 10 / 255) < 1e-6f);
    assert_true(fabsf(x[1][0][0] - 100.0f / 255) < 1e-6f && x[2][3][3] == 1);
    xt_dataset_free(d);
    d = xt_image_folder(dir, 2);
    float half[3][2][2];
    assert_null(xt_dataset_get(d, 0, half, &y));
    /* as bytes, of all pixels below, and a column of three cut off behind: round(0.5) of Python is 0 */
    assert_true(y == 0 && half[0][0][0] == 7.0f / 255 && half[0][1][1] == 25.0f / 255);
    xt_dataset_free(d);
    put_file("cats/broken.png", "\x89PNG no more", 12);
    d = xt_image_folder(dir, 2);
    xt_status s = xt_dataset_get(d, 1, half, &y);
    assert_non_null(strstr(xt_status_message(s), "broken.png is no PNG picture"));
    xt_status_free(s);
    xt_dataset_free(d);
    put_file("cats/another.JPEG", "\xff\xd8\xff no more", 11);
    put_file("cats/one.jpg", "GIF89a", 6); /* the bytes count, not the name */
    d = xt_image_folder(dir, 2);
    assert_int_equal(xt_dataset_count(d), 5);
    s = xt_dataset_get(d, 1, half, &y); /* damaged, or of a build without libjpeg */
    assert_non_null(strstr(xt_status_message(s), "another.JPEG is "));
    xt_status_free(s);
    s = xt_dataset_get(d, 3, half, &y);
    assert_non_null(strstr(xt_status_message(s), "one.jpg is no picture"));
    xt_status_free(s);
    xt_dataset_free(d);
    refused(xt_image_folder(in_dir("none"), 2), "there is no folder");
    assert_int_equal(symlink("loop", in_dir("loop")), 0); /* a class that cannot be looked into is not left out */
    refused(xt_image_folder(dir, 2), "Too many levels of symbolic links");
    assert_int_equal(unlink(in_dir("loop")), 0);
    refused(xt_image_folder(in_dir("dogs"), 2), "has no pictures");
}

static void cifar(void **state) {
    (void)state;
    static uint8_t record[3 * 3073];
    for (int i = 0; i < 3; i++) {
        record[i * 3073] = (uint8_t)(i + 4);
        for (int k = 0; k < 3072; k++) record[i * 3073 + 1 + k] = (uint8_t)(k + i);
    }
    mkdir(in_dir("cifar-10-batches-bin"), 0755);
    for (int k = 1; k <= 5; k++) {
        char name[64];
        snprintf(name, sizeof name, "cifar-10-batches-bin/data_batch_%d.bin", k);
        put_file(name, record, k == 5 ? sizeof record : 3073);
    }
    put_file("test_batch.bin", record, sizeof record);
    static float x[3072];
    int64_t y;
    xt_dataset *d = xt_cifar10(dir, "train");
    assert_int_equal(xt_dataset_count(d), 7);
    assert_null(xt_dataset_get(d, 6, x, &y));
    assert_true(y == 6 && fabsf(x[100] - 102.0f / 255) < 1e-6f);
    xt_dataset_free(d);
    d = xt_cifar10(dir, "test");
    assert_int_equal(xt_dataset_count(d), 3);
    xt_dataset_free(d);
    put_file("test.bin", record, 2 * 3074 > sizeof record ? 3074 : 2 * 3074); /* labels: 4, then 0 */
    d = xt_cifar100(dir, "test");
    assert_null(xt_dataset_get(d, 0, x, &y));
    assert_true(y == 0 && fabsf(x[0] - 1.0f / 255) < 1e-6f);
    xt_dataset_free(d);
    put_file("test_batch.bin", record, 3000);
    refused(xt_cifar10(dir, "test"), "ends inside record 0");
    record[3073] = 10;
    put_file("test_batch.bin", record, sizeof record);
    refused(xt_cifar10(dir, "test"), "label 10 at offset 3073");
    refused(xt_cifar10(dir, "validation"), "the split");
    refused(xt_cifar100(dir, "train"), "train.bin");
}

static xt_dataset *csv(const char *text, xt_csv_opts o) {
    put_file("t.csv", text, strlen(text));
    return xt_csv_dataset_opt(XT_HERE, in_dir("t.csv"), o);
}
#define CSV(text, ...) csv(text, XT_OPTS(xt_csv_opts, __VA_ARGS__))

static void files_of_numbers(void **state) {
    (void)state;
    static const char houses[] = "\xef\xbb\xbfrooms, age ,\"name, quoted\",price\r\n"
                                 "3,10.5,\"a \"\"b\"\"\",100\r\n"
                                 "\r\n"
                                 "4,1e1,\"two\n"
                                 "lines\",-7\n"
                                 "\"5\",.25,x,9";
    float x[3];
    int64_t y;
    xt_dataset *d = CSV(houses, .x = "age,rooms", .y = "price");
    if (!d) fail_msg("%s", xt_status_message(xt_error()));
    assert_int_equal(xt_dataset_count(d), 3);
    assert_true(xt_dataset_x(d).dims[0] == 2 && xt_dataset_x(d).dims[1] == 0 && xt_dataset_y(d).dtype == XT_I64 &&
                xt_dataset_y(d).dims[0] == 0);
    assert_null(xt_dataset_get(d, 2, x, &y)); /* in any order */
    assert_true(x[0] == 0.25f && x[1] == 5 && y == 9);
    assert_null(xt_dataset_get(d, 0, x, &y));
    assert_true(x[0] == 10.5f && x[1] == 3 && y == 100);
    assert_null(xt_dataset_get(d, 1, x, &y));
    assert_true(x[0] == 10 && x[1] == 4 && y == -7);
    xt_dataset_free(d);

    double wide[2], label;
    int32_t whole[3];
    d = CSV("p0;p1;y\n1;2;0.5\n3;4;1", .separator = ';', .y = "y", .x_dtype = XT_F64); /* x: what is not y */
    float half;
    assert_null(xt_dataset_get(d, 0, wide, &half));
    assert_true(wide[0] == 1 && wide[1] == 2 && half == 0.5f && xt_dataset_y(d).dtype == XT_F32);
    xt_dataset_free(d);
    /* a pattern */
    d = CSV("1,2,3\n4,5,6\n", .header = XT_OFF, .x = "[01]", .y = "2", .x_dtype = XT_I32, .y_dtype = XT_F64);
    assert_int_equal(xt_dataset_count(d), 2);
    assert_null(xt_dataset_get(d, 1, whole, &label));
    assert_true(whole[0] == 4 && whole[1] == 5 && label == 6);
    xt_dataset_free(d);

    refused(CSV(houses, .x = "age,rooms,name*"),
            "t.csv:2:8: the value of column \"name, quoted\" (a \"b\") is no number");
    refused(CSV("a,b\n1,2\n3,\n", .x = "a,b"), "t.csv:3:3: the value of column \"b\" is missing");
    refused(CSV("a,b\n1,2\n\n3,NaN\n"), "t.csv:4:3: the value of column \"b\" is missing");
    refused(CSV("a,b\n1,2\n3\n"), "t.csv:3:1: this row has 1 fields, the first has 2");
    refused(CSV("a;b\n1;2,5\n"), "(1;2) is no number; is another .separator meant?");
    refused(CSV("a,b\n1.5,2\n", .x_dtype = XT_I64), "t.csv:2:1: the value of column \"a\" (1.5) is no whole number");
    refused(CSV("rooms,age\n1,2\n", .x = "romms"), "did you mean \"rooms\"?");
    refused(CSV("rooms,age\n1,2\n", .x = "age,a*"), "\"age\" stands twice in .x");
    refused(CSV("1,2\n3,4\n"), ".header = XT_OFF");
    refused(CSV("a,b\n"), "has no rows");
    refused(CSV(""), "is empty");
    refused(CSV("a\n1\n", .x_dtype = XT_BF16), ".x_dtype");
    refused(xt_csv_dataset(dir), "it is a folder; a regular file is expected");
    refused(xt_csv_dataset(in_dir("none.csv"), .y = "y"), "No such file");
}

/* Rows around the pieces that the file is read in, and a file that loses its end. */
static void a_long_file_of_numbers(void **state) {
    (void)state;
    enum { ROWS = 60000 };
    str text = STR_INIT;
    str_append(&text, "i,square\n");
    for (int i = 0; i < ROWS; i++) str_printf(&text, "%d,%.*f\n", i, i % 9, (double)i * i);
    put_file("long.csv", text.data, text.len);
    xt_dataset *d = xt_csv_dataset(in_dir("long.csv"), .y = "i");
    assert_int_equal(xt_dataset_count(d), ROWS);
    float x;
    int64_t y;
    for (int i = ROWS - 1; i >= 0; i -= 7) {
        assert_null(xt_dataset_get(d, i, &x, &y));
        assert_true(y == i && x == (float)((double)i * i));
    }
    assert_int_equal(truncate(in_dir("long.csv"), (off_t)text.len - 40), 0);
    xt_status s = xt_dataset_get(d, ROWS - 1, &x, &y);
    assert_non_null(strstr(xt_status_message(s), "has become shorter"));
    xt_status_free(s);
    xt_dataset_free(d);
    str_clear(&text);
    str_append(&text, "a,b\n1,2\n3,\"4\n"); /* a quote that nobody closes takes the rest of the file for one row */
    while (text.len < (size_t)5 << 20) str_append(&text, "5,6 and a good many characters to fill the file with\n");
    put_file("open.csv", text.data, text.len);
    refused(xt_csv_dataset(in_dir("open.csv")),
            "open.csv:3:1: the row that begins here has not ended after 4 MiB; is a quote not closed?");
    str_free(&text);
}

/* A picture's sides have no limit of their own; what a few bytes cannot hold, and what there is no memory for, is
 * refused before memory is taken. */
static void pictures_of_any_size(void **state) {
    (void)state;
    enum { WIDE = 40000 };
    static uint8_t rgb[3 * WIDE];
    int w = 0, h = 0;
    uint8_t *got = NULL;
    str file = STR_INIT;
    for (int i = 0; i < 3 * WIDE; i++) rgb[i] = (uint8_t)(i % 251);
    assert_null(png_encode_rgb(WIDE, 1, rgb, &file));
    put_file("wide.png", file.data, file.len);
    xt_status s = png_read_rgb(in_dir("wide.png"), &w, &h, &got);
    if (s) fail_msg("%s", xt_status_message(s));
    assert_true(w == WIDE && h == 1 && memcmp(got, rgb, sizeof rgb) == 0);
    base_free(got);

    room_is(1 << 16);
    s = png_read_rgb(in_dir("wide.png"), &w, &h, &got);
    assert_true(xt_status_code(s) == XT_RESOURCE_EXHAUSTED && strstr(xt_status_message(s), "wide.png") && !got);
    xt_status_free(s);
    room_is(0);

    unsigned char *head = (unsigned char *)file.data + 12; /* "IHDR", width, height, ..., its checksum */
    head[4] = head[8] = 0, head[5] = head[9] = 0, head[6] = head[10] = 0x7f, head[7] = head[11] = 0xff;
    uint32_t sum = (uint32_t)crc32(0, head, 17);
    for (int i = 0; i < 4; i++) head[17 + i] = (unsigned char)(sum >> (24 - 8 * i));
    put_file("forged.png", file.data, 100);
    s = png_read_rgb(in_dir("forged.png"), &w, &h, &got);
    assert_non_null(strstr(xt_status_message(s), "said to be 32767 x 32767 pixels, more than a file of 100 bytes"));
    assert_null(got);
    xt_status_free(s);
    str_free(&file);
}

static double time_of_columns(int n) {
    struct timespec t[2];
    double best = 1e9;
    str text = STR_INIT, list = STR_INIT;
    for (int i = 0; i < n; i++) str_printf(&list, "%sc%d", i ? "," : "", i);
    str_appendn(&text, list.data, list.len);
    for (int i = 0; i < n; i++) str_append(&text, i ? ",1" : "\n1");
    put_file("wide.csv", text.data, text.len);
    for (int run = 0; run < 3; run++) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[0]);
        xt_dataset *d = xt_csv_dataset(in_dir("wide.csv"), .x = str_cstr(&list));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[1]);
        if (!d) fail_msg("%s", xt_status_message(xt_error()));
        assert_int_equal(xt_dataset_x(d).dims[0], n);
        xt_dataset_free(d);
        double took = (double)(t[1].tv_sec - t[0].tv_sec) + (double)(t[1].tv_nsec - t[0].tv_nsec) * 1e-9;
        if (took < best) best = took;
    }
    str_free(&text);
    str_free(&list);
    return best;
}

/* Sixteen times as many columns cost about sixteen times as much, be the cache they no longer fit into shared with
 * others; what compares each name with all others would take 256 times. */
static void many_columns(void **state) {
    (void)state;
    double some = time_of_columns(1 << 12), all = time_of_columns(1 << 16);
    if (all > 64 * some) fail_msg("%.4f s for 4,096 columns, %.4f s for 65,536", some, all);
}

/* --- files of arrays and text --- */
static void put_npy(const char *name, xt_dtype t, int rank, const int64_t *dims, const void *data, size_t bytes) {
    xt_array a = {.dtype = t, .rank = rank, .data = (void *)data, .bytes = bytes};
    memcpy(a.dims, dims, (size_t)rank * sizeof *dims);
    str s = STR_INIT;
    assert_null(npy_header(&a, &s));
    str_appendn(&s, data, bytes);
    put_file(name, s.data, s.len);
    str_free(&s);
}

static void files_of_arrays(void **state) {
    (void)state;
    float x[3][2] = {{1, 2}, {3, 4}, {5, 6}}, got[2];
    int64_t y[3] = {7, 8, 9}, dims[] = {3, 2}, label;
    put_npy("x.npy", XT_F32, 2, dims, x, sizeof x);
    put_npy("y.npy", XT_I64, 1, dims, y, sizeof y);
    put_npy("y2.npy", XT_I64, 1, dims + 1, y, 2 * sizeof *y);
    xt_dataset *d = xt_npy_dataset(in_dir("x.npy"), in_dir("y.npy"));
    assert_int_equal(xt_dataset_count(d), 3);
    assert_null(xt_dataset_get(d, 1, got, &label));
    assert_true(got[0] == 3 && got[1] == 4 && label == 8);
    xt_dataset_free(d);
    refused(xt_npy_dataset(in_dir("x.npy"), in_dir("y2.npy")), "x has 3 samples, y has 2");
    refused(xt_npy_dataset(in_dir("z.npy"), NULL), "z.npy");

    st_writer *w;
    assert_null(st_create(in_dir("a.safetensors"), &w));
    assert_null(st_declare(w, "images", XT_F32, 2, dims));
    assert_null(st_declare(w, "labels", XT_I64, 1, dims));
    assert_null(st_data(w, x, sizeof x));
    assert_null(st_data(w, y, sizeof y));
    assert_null(st_commit(w));
    d = xt_safetensors_dataset(in_dir("a.safetensors"), "images", "labels");
    assert_null(xt_dataset_get(d, 2, got, &label));
    assert_true(got[1] == 6 && label == 9 && xt_dataset_x(d).dims[0] == 2 && xt_dataset_x(d).dims[1] == 0);
    xt_dataset_free(d);
    refused(xt_safetensors_dataset(in_dir("a.safetensors"), "image", NULL), "has no tensor image");
}

static void text_windows(void **state) {
    (void)state;
    put_file("t.txt", "hello world", 11);
    int64_t x[4], y[4];
    xt_dataset *d = xt_text_dataset(in_dir("t.txt"), 4, 3);
    assert_int_equal(xt_dataset_count(d), 3); /* at 0, 3, 6: 6 + 4 + 1 = 11 */
    assert_null(xt_dataset_get(d, 2, x, y));
    for (int k = 0; k < 4; k++) assert_true(x[k] == "worl"[k] && y[k] == "orld"[k]);
    xt_dataset_free(d);
    d = xt_text_dataset(in_dir("t.txt"), 10, 0);
    assert_int_equal(xt_dataset_count(d), 1);
    xt_dataset_free(d);
    refused(xt_text_dataset(in_dir("t.txt"), 11, 0), "has 11 bytes");
    refused(xt_text_dataset(in_dir("t.txt"), 0, 0), "seq 0");
}

static void files_of_tokens(void **state) {
    (void)state;
    uint16_t small[10];
    int32_t wide[10];
    int64_t x[9], y[9];
    for (int i = 0; i < 10; i++) small[i] = (uint16_t)(40000 + i), wide[i] = -i;
    put_file("t.bin", small, sizeof small);
    xt_dataset *d = xt_token_dataset(in_dir("t.bin"), 4, .stride = 3);
    assert_int_equal(xt_dataset_count(d), 2); /* at 0 and 3: 3 + 4 + 1 = 8, and 6 + 4 + 1 > 10 */
    assert_null(xt_dataset_get(d, 1, x, y));
    for (int k = 0; k < 4; k++) assert_true(x[k] == 40003 + k && y[k] == 40004 + k);
    xt_dataset_free(d);
    d = xt_token_dataset(in_dir("t.bin"), 4, .jitter = XT_ON);
    bool moved = false;
    for (int i = 0; i < 2; i++) { /* the second window has no room behind 9 */
        assert_null(xt_dataset_get(d, i % (int)xt_dataset_count(d), x, NULL));
        assert_true(x[0] >= 40000 && x[0] <= 40005 && x[3] == x[0] + 3);
    }
    xt_loader *l = xt_loader_new(d, .batch = 1);
    int64_t n = xt_loader_batches(l), first = -1;
    for (int e = 0; e < 8; e++)
        for (xt_batch b; xt_next(l, &b);) {
            assert_true(xt_read(b.x, x, 4 * sizeof *x));
            moved = moved || (b.index == 0 && first >= 0 && x[0] != first);
            if (b.index == 0) first = x[0];
        }
    assert_true(moved && n == 2); /* at other places in other epochs */
    xt_loader_free(l);
    put_file("w.bin", wide, sizeof wide);
    d = xt_token_dataset(in_dir("w.bin"), 9, .dtype = XT_I32);
    assert_null(xt_dataset_get(d, 0, x, y));
    for (int k = 0; k < 9; k++) assert_true(x[k] == -k && y[k] == -k - 1);
    xt_dataset_free(d);
    refused(xt_token_dataset(in_dir("t.bin"), 10), "has 10 tokens");
    refused(xt_token_dataset(in_dir("t.bin"), 0), "seq 0");
    refused(xt_token_dataset(in_dir("t.bin"), 4, .stride = 0), ".stride 0");
    refused(xt_token_dataset(in_dir("t.bin"), 4, .dtype = XT_F32), ".dtype is f32");
    refused(xt_token_dataset(in_dir("no.bin"), 4), "no.bin");
    put_file("odd.bin", small, 7);
    refused(xt_token_dataset(in_dir("odd.bin"), 1), "no whole number of tokens");
}

/* What stands beside a file, and a file that is not what it was. */
static void files_of_tokens_and_their_vocabulary(void **state) {
    (void)state;
    uint32_t wide[6] = {1, 70000, 3, 4, 5, 6};
    int64_t x[2], y[2];
    put_file("t.bin", wide, sizeof wide);
    put_file("t.bin.json", "{\"dtype\": \"u32\", \"tokens\": 6, \"vocab\": 70000}", 46);
    xt_dataset *d = xt_token_dataset(in_dir("t.bin"), 2);
    assert_int_equal(xt_dataset_count(d), 2);
    xt_status s = xt_dataset_get(d, 0, x, y);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "token 1 is 70000; the vocabulary's are 0 to 69999"));
    xt_status_free(s);
    assert_null(xt_dataset_get(d, 1, x, y));
    assert_true(x[0] == 3 && x[1] == 4 && y[0] == 4 && y[1] == 5);
    assert_int_equal(truncate(in_dir("t.bin"), 12), 0);
    s = xt_dataset_get(d, 1, x, y);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "has become shorter"));
    xt_status_free(s);
    xt_dataset_free(d);
    put_file("t.bin.json", "{\"dtype\": \"f32\"}", 16);
    refused(xt_token_dataset(in_dir("t.bin"), 2), "does not say");
    d = xt_token_dataset(in_dir("t.bin"), 2, .dtype = XT_U32); /* said by the program */
    assert_int_equal(xt_dataset_count(d), 1);
    xt_dataset_free(d);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(datasets_of_datasets),  TEST(random_splits),
        TEST(specs_that_do_not_fit), TEST(augmentation),
        TEST(image_folders),         TEST(cifar),
        TEST(files_of_arrays),       TEST(text_windows),
        TEST(files_of_numbers),      TEST(a_long_file_of_numbers),
        TEST(many_columns),          TEST(pictures_of_any_size),
        TEST(files_of_tokens),       TEST(files_of_tokens_and_their_vocabulary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
