/* Files that others have a hand in: space that is there before a file is mapped, and files that are not what their name
 * says. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xtrain/xtrain.h>

#include "crash/crash.h"
#include "base/private_file.h"
#include "base/shown.h"
#include "coll/shm/segment.h"

static char dir[] = "/tmp/xt-private-XXXXXX", told[1 << 12];

static void sink(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    size_t at = strlen(told);
    snprintf(told + at, sizeof told - at, "%.*s\n", (int)n, text);
}

static char *in_dir(const char *name) {
    static char path[4][128];
    static int at;
    snprintf(path[at = (at + 1) % 4], sizeof path[0], "%s/%s", dir, name);
    return path[at];
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) n++;
    return n;
}

static void space_is_there(void **state) {
    (void)state;
    static const int errors[] = {0, EOPNOTSUPP};
    for (size_t i = 0; i < BASE_COUNT(errors); i++) {
        struct stat st;
        int fd = open(in_dir("space"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        file_allocate_fails(errors[i]);
        assert_int_equal(file_allocate(fd, 300001), 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, 300001);
        assert_true(st.st_blocks * 512 >= 300001);
        close(fd);
    }
    file_allocate_fails(ENOSPC);
    assert_int_equal(file_allocate(-1, 1), ENOSPC);
    file_allocate_fails(0);
    assert_int_equal(file_allocate(-1, 1), EBADF);
}

/* Said once, and the callers of the box live without it. */
static void no_room_no_box(void **state) {
    (void)state;
    setenv("XT_STATUS_DIR", in_dir("status"), 1);
    file_allocate_fails(ENOSPC);
    assert_null(blackbox_get());
    blackbox_note(BOX_STEP, 0, 1, 0, 0);
    blackbox_report("nobody reads it");
    blackbox_value("loss", 1);
    blackbox_at_rest(true);
    assert_null(blackbox_dump("why"));
    blackbox_close(true);
    file_allocate_fails(0);
    assert_int_equal(count(told, "status: No space left on device; the run goes on without a status file"), 1);
    assert_int_equal(rmdir(in_dir("status")), 0); /* nothing in it */
}

static void only_regular_files(void **state) {
    (void)state;
    struct stat st;
    close(open(in_dir("file"), O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink("file", in_dir("link")) | mkfifo(in_dir("fifo"), 0600) | mkdir(in_dir("folder"), 0700), 0);
    static const char *const names[] = {"link", "fifo", "folder", "none"}, *const why[] = {"it is a symbolic link",
                                                                                           "it is no regular file",
                                                                                           "it is a folder",
                                                                                           "No such file or directory"};
    alarm(20); /* a FIFO is not waited for */
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        assert_int_equal(file_open_regular(AT_FDCWD, in_dir(names[i]), &st), -1);
        assert_string_equal(file_open_problem(errno), why[i]);
    }
    alarm(0);
    int fd = file_open_regular(AT_FDCWD, in_dir("file"), &st);
    assert_true(fd >= 0 && S_ISREG(st.st_mode));
    close(fd);
}

static void names_are_shown_whole_or_cut(void **state) {
    (void)state;
    char long_name[400];
    str s = STR_INIT;
    str_append_name(&s, "a\nb\033[2J\x7f");
    assert_string_equal(str_cstr(&s), "a\\x0ab\\x1b[2J\\x7f");
    str_clear(&s);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    str_append_name(&s, long_name);
    assert_true(s.len < 230 && strstr(str_cstr(&s), "... (399 characters)"));
    str_free(&s);
}

/* Whatever a file's name, a header or a rank's message brings with it: no status and no message of the library has it.
 * Text in other scripts stays as it is. */
static void no_message_moves_a_cursor(void **state) {
    (void)state;
    static const char name[] = "gr\xc3\xbc\xc3\x9f\x1b]0;title\x07\r\b\xc2\x9b"
                               "2J\x7f\tend";
    static const char shown[] = "gr\xc3\xbc\xc3\x9f\\x1b]0;title\\x07\\x0d\\x08\\xc2\\x9b2J\\x7f\tend";
    xt_status s = status_new(XT_DATA_LOSS, NULL, "tensor %s: bad\nsecond line", name);
    s = status_context(s, "file %s", name);
    const char *text = xt_status_message(s);
    assert_int_equal(count(text, shown), 2);
    assert_non_null(strstr(text, "bad\nsecond line"));
    assert_null(strpbrk(text, "\x1b\x07\r\b\x7f"));
    *told = 0;
    log_msg(XT_SEV_WARNING, "metric %s", name);
    log_once("no_message_moves_a_cursor", XT_SEV_WARNING, "rank %s", name);
    assert_int_equal(count(told, shown), 2);
    assert_null(strpbrk(told, "\x1b\x07\r\b\x7f"));
    *told = 0;
    xt_status_free(s);
    assert_null(xt_csv_dataset(in_dir("\x1b[2J.csv")));
    assert_non_null(strstr(xt_status_message(xt_error()), "\\x1b[2J.csv"));
    xt_clear_error();
}

/* Each row: a text, as a terminal shows it, as JSON, and with marks in place. */
static void texts_are_shown_as_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown, *json, *hidden;
    } rows[] = {
        {"", "", "\"\"", ""},
        {"a\nb\tc", "a\nb\tc", "\"a\\u000ab\\u0009c\"", "a\nb\tc"},
        {"\"\\<", "\"\\<", "\"\\\"\\\\\\u003c\"", "\"\\<"},
        {"\xe2\x80\xae!", "\\xe2\\x80\\xae!", "\"\\u202e!\"", "??\?!"}, /* right to left from here */
        {"\xd8\x9c", "\\xd8\\x9c", "\"\\u061c\"", "??"},
        {"\xe2\x81\xa9", "\\xe2\\x81\\xa9", "\"\\u2069\"", "???"},
        {"\x9b"
         "1m",
         "\\x9b1m", "\"\\ufffd1m\"", "?1m"}, /* C1 where characters are bytes */
        {"\xe2\x82", "\\xe2\\x82", "\"\\ufffd\\ufffd\"", "??"}, /* cut */
        {"\xc0\xaf", "\\xc0\\xaf", "\"\\ufffd\\ufffd\"", "??"}, /* too long for what it is */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\"\\ufffd\\ufffd\\ufffd\"", "???"}, /* half of a pair */
        {"\xe4\xb8\xad\xf0\x9f\x99\x82", "\xe4\xb8\xad\xf0\x9f\x99\x82", "\"\xe4\xb8\xad\xf0\x9f\x99\x82\"",
         "\xe4\xb8\xad\xf0\x9f\x99\x82"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str s = STR_INIT;
        char text[64];
        str_append_shown(&s, rows[i].text, strlen(rows[i].text), "\n\t");
        assert_string_equal(str_cstr(&s), rows[i].shown);
        str_clear(&s);
        str_append_json(&s, rows[i].text);
        assert_string_equal(str_cstr(&s), rows[i].json);
        str_free(&s);
        snprintf(text, sizeof text, "%s", rows[i].text);
        text_hide(text, "\n\t");
        assert_string_equal(text, rows[i].hidden);
        assert_int_equal(text_is_plain(rows[i].text, strlen(rows[i].text), "\n\t"),
                         strcmp(rows[i].text, rows[i].shown) == 0);
    }
}

/* Of a progress line only the repaint at its front and the erasing at its end are its own. */
static void a_progress_line_repaints_itself_alone(void **state) {
    (void)state;
    static const char line[] = "\rloss\x1b[2J\r 1\x1b[K\n";
    *told = 0;
    log_raw(XT_SEV_PROGRESS, line, sizeof line - 1);
    assert_string_equal(told, "\rloss\\x1b[2J\\x0d 1\x1b[K\n\n");
    *told = 0;
    log_raw(XT_SEV_INFO, line, sizeof line - 1);
    assert_string_equal(told, "\\x0dloss\\x1b[2J\\x0d 1\\x1b[K\n\n");
    *told = 0;
}

/* A dump's name begins with that of a module, which stands in a file. */
static void a_dump_stays_in_its_folder(void **state) {
    (void)state;
    char long_name[400];
    assert_null(file_dump(in_dir("dumps"), "../../a/b\x1b.mlir", "x", 1));
    assert_true(file_exists(in_dir("dumps/_._.._a_b_.mlir")));
    assert_null(file_dump(in_dir("dumps"), "/b.mlir", "x", 1));
    assert_true(file_exists(in_dir("dumps/_b.mlir")));
    memset(long_name, 'x', sizeof long_name);
    memcpy(long_name + sizeof long_name - 6, ".mlir", 6);
    assert_null(file_dump(in_dir("dumps"), long_name, "x", 1));
}

/* What a path comes to; NULL where a link of another user is on its way, which the message names. */
static char *goes_to(const char *path, const char *named) {
    static char text[512];
    char *out;
    xt_status s = file_output_target(path, &out);
    if (s && !(strstr(xt_status_message(s), named) && strstr(xt_status_message(s), "link")))
        fail_msg("%s: %s", path, xt_status_message(s));
    snprintf(text, sizeof text, "%s", out ? out : "");
    base_free(out);
    bool bad = s != NULL;
    xt_status_free(s);
    return bad ? NULL : text;
}

static void every_part_of_a_path_is_looked_at(void **state) {
    (void)state;
    assert_int_equal(mkdir(in_dir("real"), 0700) | symlink("real", in_dir("mine")) |
                         symlink("mine/over", in_dir("twice")) | symlink("circle", in_dir("circle")) |
                         symlink(in_dir("real"), in_dir("theirs")) | symlink("theirs", in_dir("through")),
                     0);
    static const char *const rows[][2] = {{"real/f", "real/f"},         {"mine/f", "real/f"},
                                          {"mine/sub/f", "real/sub/f"}, {"real/../mine//f", "real/../real/f"},
                                          {"twice", "real/over"},       {"twice/f", "real/over/f"},
                                          {"none/f", "none/f"},         {"mine/", "real"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const char *to = goes_to(in_dir(rows[i][0]), "nothing");
        if (!to || strcmp(to, in_dir(rows[i][1])) != 0) fail_msg("%s: %s", rows[i][0], to ? to : "an error");
    }
    assert_null(goes_to(in_dir("circle/f"), "circle"));
    assert_string_equal(goes_to("relative/name", ""), "relative/name");
    char *none = NULL;
    xt_status empty = file_output_target("", &none);
    assert_non_null(strstr(xt_status_message(empty), "the path to be written is empty"));
    assert_null(none);
    xt_status_free(empty);
    if (geteuid() != 0) return; /* only root gives a link away */
    assert_int_equal(lchown(in_dir("theirs"), 65534, 65534), 0);
    static const char *const refused[] = {"theirs",  "theirs/f",  "theirs/sub/f",
                                          "through", "through/f", "real/../theirs/f"};
    for (size_t i = 0; i < BASE_COUNT(refused); i++) {
        if (goes_to(in_dir(refused[i]), "theirs")) fail_msg("%s is followed", refused[i]);
        xt_status s = file_make_dirs(in_dir(refused[i]), 0700);
        assert_int_equal(xt_status_code(s), XT_PERMISSION_DENIED);
        xt_status_free(s);
        s = file_write_all(in_dir(refused[i]), "x", 1);
        assert_int_equal(xt_status_code(s), XT_PERMISSION_DENIED);
        xt_status_free(s);
    }
    assert_int_equal(rmdir(in_dir("real")), 0); /* nothing in it */
}

/* A link is resolved once, by the function that finds the folder safe. */
static void a_safe_folder_has_no_links(void **state) {
    (void)state;
    char real[PATH_MAX] = "untouched";
    assert_int_equal(mkdir(in_dir("safe"), 0700) | symlink("safe", in_dir("to-safe")) | mkdir(in_dir("open"), 0777) |
                         chmod(in_dir("open"), 0777) | mkdir(in_dir("open/below"), 0700) |
                         symlink("open/below", in_dir("to-below")),
                     0);
    assert_string_equal(private_path_problem(in_dir("open"), 077, real), "others may write it; chmod 700 it");
    assert_string_equal(private_path_problem(in_dir("to-below"), 077, real), "others may write a parent folder");
    assert_string_equal(real, "untouched");
    assert_null(private_path_problem(in_dir("to-safe"), 077, real));
    assert_string_equal(real, in_dir("safe"));
}

/* The ranks' memory under a word of theirs, with a header that says the parts lie behind the file's end, and one that
 * is cut off. */
static void a_forged_segment_is_refused(void **state) {
    (void)state;
    char word[64], path[128];
    segment s;
    const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(word, sizeof word, "forged-%d", (int)getpid());
    snprintf(path, sizeof path, "%s/xtrain-%u-%s", shm, (unsigned)geteuid(), word);
    assert_null(segment_attach(word, 0, 2, coll_now() + 1000000000, &s));
    seg_header h = *s.head;
    segment_detach(&s);
    static const size_t lengths[] = {sizeof h, 4096, 100, 1};
    for (size_t i = 0; i < BASE_COUNT(lengths); i++) {
        unlink(path);
        h.bytes = lengths[i];
        int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
        assert_true(fd >= 0 && write(fd, &h, lengths[i] < sizeof h ? lengths[i] : sizeof h) > 0 &&
                    ftruncate(fd, (off_t)lengths[i]) == 0);
        close(fd);
        xt_status st = segment_attach(word, 0, 2, coll_now() + 1000000000, &s);
        if (lengths[i] < sizeof h) { /* its maker was killed: made anew */
            assert_null(st);
            segment_detach(&s);
        } else {
            assert_non_null(st);
            assert_non_null(strstr(xt_status_message(st), "was not made by this version"));
        }
        xt_status_free(st);
    }
    unlink(path);
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    setenv("XT_SUMMARY", "off", 1);
    xt_set_sink(sink, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(space_is_there),
                                       cmocka_unit_test(no_room_no_box),
                                       cmocka_unit_test(only_regular_files),
                                       cmocka_unit_test(every_part_of_a_path_is_looked_at),
                                       cmocka_unit_test(a_safe_folder_has_no_links),
                                       cmocka_unit_test(names_are_shown_whole_or_cut),
                                       cmocka_unit_test(texts_are_shown_as_text),
                                       cmocka_unit_test(a_progress_line_repaints_itself_alone),
                                       cmocka_unit_test(a_dump_stays_in_its_folder),
                                       cmocka_unit_test(no_message_moves_a_cursor),
                                       cmocka_unit_test(a_forged_segment_is_refused)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char remove[128];
    snprintf(remove, sizeof remove, "rm -rf %s", dir);
    return system(remove) ? 1 : failed;
}
