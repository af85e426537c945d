/* The caches of programs: in memory with its limit, on disk with its checks. The disk tests use folders of their
 * own below /tmp. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

#include "said.h"

static void expect_said(const char *words) {
    if (!strstr(said, words)) fail_msg("expected \"%s\" in: %s", words, said);
}

static int64_t count(const char *name) {
    return xt_counter(name);
}

static void finish(void) {
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("executable"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

static double sum_of(int n) {
    float a[16];
    for (int i = 0; i < n; i++) a[i] = 1;
    double v = xt_item(xt_mul_scalar(xt_sum(xt_from_array(a, XT_F32, n)), 2));
    assert_true(xt_mark_step());
    return v;
}

/* --- in memory --- */
static void entries(void **state) {
    (void)state;
    int64_t evictions = count("evictions"), again = count("recompiles"), compiles = count("compiles");
    setenv("XT_CACHE_ENTRIES", "3", 1);
    for (int i = 0; i < 12; i++) assert_true(sum_of(1 + i % 3) == 2 * (1 + i % 3));
    assert_int_equal(count("evictions") - evictions, 0);
    assert_int_equal(count("compiles") - compiles, 3);
    setenv("XT_CACHE_ENTRIES", "2", 1);
    /* each pushes out the one that comes next but one */
    for (int i = 0; i < 12; i++) assert_true(sum_of(4 + i % 3) == 2 * (4 + i % 3));
    assert_int_equal(count("recompiles") - again, 9);
    said[0] = 0;
    xt_set_sink(sink, NULL);
    xt_cost_summary();
    xt_set_sink(NULL, NULL);
    char words[100];
    snprintf(words, sizeof words,
             "%lld evictions caused 9 recompiles and 0 loads from disk; raise XT_CACHE_ENTRIES to 6",
             (long long)(count("evictions") - evictions));
    expect_said(words);
    unsetenv("XT_CACHE_ENTRIES");
    finish();
}

static xt_tensor twice(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return xt_mul_scalar(in[0], 2);
}

static void a_step_whose_program_went(void **state) {
    (void)state;
    setenv("XT_CACHE_ENTRIES", "2", 1);
    float one = 1;
    xt_tensor x = xt_keep(xt_from_array(&one, XT_F32, 1));
    xt_step *f = xt_compile(twice);
    for (int i = 0; i < 3; i++) assert_true(xt_item(xt_call(f, x)) == 2);
    for (int n = 2; n < 5; n++) sum_of(n);
    assert_true(xt_item(xt_call(f, x)) == 2);
    assert_int_equal(xt_step_traces(f), 2);
    assert_int_equal(xt_step_programs(f), 1);
    assert_non_null(strstr(xt_step_reason(f), "evicted"));
    xt_drop(x);
    unsetenv("XT_CACHE_ENTRIES");
    finish();
}

/* --- on disk --- */
static char root[64], dir[128];

static void new_folder(const char *name) {
    if (!root[0]) {
        strcpy(root, "/tmp/xtrain_cache_XXXXXX");
        assert_non_null(mkdtemp(root));
    }
    snprintf(dir, sizeof dir, "%s/%s", root, name);
    setenv("XT_CACHE_DIR", dir, 1);
    setenv("XT_CACHE", "on", 1);
    said[0] = 0;
    xt_set_sink(sink, NULL);
}

static int files(char *last, size_t n) {
    int found = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (!strstr(e->d_name, ".xtc")) continue;
        found++;
        if (last) snprintf(last, n, "%s/%s", dir, e->d_name);
    }
    if (d) closedir(d);
    return found;
}

/* One program in a process that has none in memory: what it cost. */
static void once(int n, int64_t *out_compiles, int64_t *out_hits) {
    int64_t compiles = count("compiles"), hits = count("disk_hits");
    assert_true(sum_of(n) == 2.0 * n);
    *out_compiles = count("compiles") - compiles;
    *out_hits = count("disk_hits") - hits;
    finish();
}

static void expect_cost(int n, int64_t compiles, int64_t hits) {
    int64_t c, h;
    once(n, &c, &h);
    if (c != compiles || h != hits)
        fail_msg("%lld compiles and %lld loads instead of %lld and %lld; said: %s", (long long)c, (long long)h,
                 (long long)compiles, (long long)hits, said);
}

static void done_with_disk(void) {
    xt_set_sink(NULL, NULL);
    setenv("XT_CACHE", "off", 1);
}

/* What a program costs is booked, storing and loading too: what is left over is called the program's own work. */
static int64_t compiling, lowering;
static void on_event(void *user, const lazy_event *e) {
    (void)user;
    if (e->source != LAZY_FROM_MEMORY) compiling += e->compile_ns + e->store_ns, lowering += e->lower_ns + e->disk_ns;
}

static void second_start(void **state) {
    (void)state;
    struct stat st;
    new_folder("a/b");
    int64_t compiled = count("compile_ns"), lowered = count("lower_ns");
    compiling = lowering = 0;
    expect_cost(3, 1, 0);
    assert_true(compiling > 0 && count("compile_ns") - compiled == compiling);
    assert_true(lowering > 0 && count("lower_ns") - lowered == lowering);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(files(NULL, 0), 1);
    expect_cost(3, 0, 1);
    setenv("XT_CACHE", "readonly", 1);
    expect_cost(3, 0, 1);
    expect_cost(4, 1, 0);
    assert_int_equal(files(NULL, 0), 1); /* not written */
    setenv("XT_CACHE", "off", 1);
    expect_cost(3, 1, 0);
    setenv("XT_CACHE", "sometimes", 1);
    expect_cost(3, 1, 0);
    expect_said("XT_CACHE=sometimes");
    done_with_disk();
}

/* Damages the one file, runs, and expects a report, a compile, and a good file again. */
static void damaged(const char *how, void (*damage)(const char *path), const char *words) {
    char path[512];
    new_folder(how);
    expect_cost(5, 1, 0);
    assert_int_equal(files(path, sizeof path), 1);
    damage(path);
    said[0] = 0;
    expect_cost(5, 1, 0);
    expect_said(words);
    expect_said(path);
    said[0] = 0;
    expect_cost(5, 0, 1);
    assert_null(strstr(said, "not usable"));
}

static void flip(const char *path, long at, int whence) {
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, whence);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 0x40, f);
    fclose(f);
}
static void flip_end(const char *path) {
    flip(path, -20, SEEK_END);
}
static void flip_magic(const char *path) {
    flip(path, 3, SEEK_SET);
}
static void flip_key(const char *path) {
    flip(path, 10, SEEK_SET);
}
static void cut(const char *path) {
    assert_int_equal(truncate(path, 100), 0);
}
static void empty(const char *path) {
    assert_int_equal(truncate(path, 0), 0);
}

static void corrupt_entries(void **state) {
    (void)state;
    damaged("flipped", flip_end, "its checksum is wrong");
    damaged("magic", flip_magic, "no cache file of this version");
    damaged("key", flip_key, "it holds another program");
    damaged("cut", cut, "its size is wrong");
    damaged("empty", empty, "it is cut off");
    done_with_disk();
}

static void refused(const char *words) {
    said[0] = 0;
    expect_cost(6, 1, 0);
    expect_said("the compile cache");
    expect_said(words);
    assert_int_equal(files(NULL, 0), 0);
}

static void folders_that_are_not_safe(void **state) {
    (void)state;
    new_folder("open");
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    refused("others may enter it; chmod 700 it");

    new_folder("parent");
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 0777), 0); /* and not sticky */
    strcat(dir, "/cache");
    setenv("XT_CACHE_DIR", dir, 1);
    refused("others may write a parent folder");

    new_folder("file");
    FILE *f = fopen(dir, "w");
    assert_non_null(f);
    fclose(f);
    refused(dir);

    if (geteuid() == 0) {
        new_folder("theirs");
        assert_int_equal(mkdir(dir, 0700), 0);
        assert_int_equal(chown(dir, 12345, 12345), 0);
        refused("it belongs to another user");
    }
    new_folder("missing");
    setenv("XT_CACHE", "readonly", 1);
    refused("it does not exist");
    done_with_disk();
}

static void size_cap(void **state) {
    (void)state;
    new_folder("capped");
    setenv("XT_CACHE_BYTES", "1", 1); /* only the newest stays */
    for (int n = 1; n < 5; n++) expect_cost(n, 1, 0);
    assert_int_equal(files(NULL, 0), 1);
    unsetenv("XT_CACHE_BYTES");
    done_with_disk();
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* What the files have together is read off a file of sizes, and counted anew where that says nothing. */
static int64_t bytes_of_files(void) {
    int64_t total = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[512];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (strstr(e->d_name, ".xtc") && stat(path, &st) == 0) total += st.st_size;
    }
    if (d) closedir(d);
    return total;
}

/* The numbers behind the file's first eight bytes. */
static int sizes_there(int64_t *out, int most) {
    char path[200], magic[8];
    snprintf(path, sizeof path, "%s/sizes", dir);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(magic, 1, 8, f), 8);
    assert_memory_equal(magic, "xtsizes1", 8);
    int n = (int)fread(out, sizeof *out, most, f);
    fclose(f);
    return n;
}

static void write_sizes(const char *magic, const void *data, size_t n) {
    char path[200];
    snprintf(path, sizeof path, "%s/sizes", dir);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(magic, 1, strlen(magic), f), strlen(magic));
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static void sizes_of_files(void **state) {
    (void)state;
    enum { RECORDS = 5000 };
    static int64_t v[RECORDS], zeros[RECORDS];
    struct {
        const char *name, *magic;
        int64_t v[2];
        size_t bytes;
    } bad[] = {
        {"cut", "xtsizes1", {7}, 11},
        {"empty", "", {0}, 0},
        {"another file", "xtsizes2", {7}, 8},
        {"negative", "xtsizes1", {-5}, 8},
        {"overflow", "xtsizes1", {INT64_MAX, INT64_MAX}, 16},
        {"too large", "xtsizes1", {INT64_MAX / 2}, 8},
    };
    new_folder("sizes");
    expect_cost(1, 1, 0);
    assert_int_equal(sizes_there(v, RECORDS), 1);
    assert_int_equal(v[0], bytes_of_files());
    expect_cost(2, 1, 0);
    assert_int_equal(sizes_there(v, RECORDS), 2); /* nothing was counted */
    assert_int_equal(v[0] + v[1], bytes_of_files());
    int next = 3;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_sizes(bad[i].magic, bad[i].v, bad[i].bytes);
        expect_cost(next++, 1, 0);
        int n = sizes_there(v, RECORDS);
        if (n != 1 || v[0] != bytes_of_files()) fail_msg("%s: not counted anew", bad[i].name);
    }
    write_sizes("xtsizes1", zeros, sizeof zeros); /* more than anybody wants to add up */
    expect_cost(next++, 1, 0);
    assert_int_equal(sizes_there(v, RECORDS), 1);
    assert_int_equal(v[0], bytes_of_files());

    char path[200], precious[200]; /* somebody's link is not written through */
    snprintf(path, sizeof path, "%s/sizes", dir);
    snprintf(precious, sizeof precious, "%s/precious", dir);
    assert_int_equal(rename(path, precious), 0);
    assert_int_equal(symlink(precious, path), 0);
    int64_t before = v[0];
    expect_cost(next++, 1, 0);
    assert_int_equal(sizes_there(v, RECORDS), 1);
    assert_int_equal(v[0], bytes_of_files());
    assert_int_equal(rename(precious, path), 0);
    assert_int_equal(sizes_there(v, RECORDS), 1);
    assert_int_equal(v[0], before);

    int64_t gone, bytes;
    assert_null(xt_cache_prune(&gone, &bytes, .max_bytes = 0));
    assert_int_equal(sizes_there(v, RECORDS), 1);
    assert_int_equal(v[0], 0);
    assert_int_equal(gone, next - 1);
    done_with_disk();
}

int main(void) {
    lazy_on_event(on_event, NULL);
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),
        cmocka_unit_test(a_step_whose_program_went),
        cmocka_unit_test(second_start),
        cmocka_unit_test(corrupt_entries),
        cmocka_unit_test(folders_that_are_not_safe),
        cmocka_unit_test(sizes_of_files),
        cmocka_unit_test(size_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
