/* Whole files: reading, replacing in one step, folders; and that whatever fails, the old file stays. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dirent.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/private_file.h"
#include "base/process.h"

static char folder[64];

static char *in_folder(const char *name) {
    char *path = path_join(folder, name);
    assert_non_null(path);
    return path;
}

static void assert_content(const char *path, const char *expected) {
    char *data;
    size_t n;
    assert_null(file_read_all(path, &data, &n));
    assert_int_equal(n, strlen(expected));
    assert_string_equal(data, expected);
    base_free(data);
}

static int entries(void) {
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/xt_file_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void write_and_read_back(void **state) {
    (void)state;
    char *path = in_folder("a.bin");
    size_t n = 300001, got;
    char *data = base_malloc(n), *back;
    for (size_t i = 0; i < n; i++) data[i] = (char)(i * 31 >> 3);
    file_writer *w;
    assert_null(file_writer_open(path, &w));
    for (size_t at = 0, step = 1; at < n; at += step, step = step * 3 % 100003 + 1) {
        if (step > n - at) step = n - at;
        assert_null(file_writer_write(w, data + at, step));
    }
    assert_false(file_exists(path)); /* not before the commit */
    assert_null(file_writer_commit(w));
    assert_null(file_read_all(path, &back, &got));
    assert_int_equal(got, n);
    assert_memory_equal(back, data, n);
    assert_int_equal(back[n], 0);
    base_free(back);
    base_free(data);
    assert_int_equal(unlink(path), 0);
    base_free(path);
    assert_int_equal(entries(), 0);
}

static void what_cannot_be_read(void **state) {
    (void)state;
    char *data;
    size_t n;
    char *path = in_folder("missing");
    xt_status s = file_read_all(path, &data, &n);
    assert_int_equal(xt_status_code(s), XT_NOT_FOUND);
    assert_non_null(strstr(xt_status_message(s), path));
    xt_status_free(s);
    base_free(path);
    s = file_read_all(folder, &data, &n);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    assert_null(data);
    xt_status_free(s);
    assert_null(file_read_all("/proc/self/status", &data, &n)); /* says its size is 0 */
    assert_true(n > 100 && strlen(data) == n);
    base_free(data);
}

/* A child that is killed in the middle of writing `path`, and nobody has waited for it. */
static pid_t killed_while_writing(const char *path) {
    pid_t pid = fork();
    siginfo_t how;
    if (pid == 0) {
        file_writer *w;
        if (!file_writer_open(path, &w)) kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
    assert_true(how.si_code == CLD_KILLED && how.si_status == SIGKILL);
    return pid;
}

static void what_a_killed_run_was_writing_is_removed(void **state) {
    (void)state;
    char *path = in_folder("out"), *other = in_folder("out2");
    char held[300], living[300];
    pid_t dead = killed_while_writing(path), dead_too = killed_while_writing(other);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    assert_int_equal(waitpid(dead_too, NULL, 0), dead_too);
    assert_int_equal(entries(), 2);
    /* one that a process holds whose number means nothing here, and one of a process that lives */
    snprintf(held, sizeof held, "%s.tmp.%ld.99", path, (long)dead);
    snprintf(living, sizeof living, "%s.tmp.%ld.7", path, (long)getppid());
    int fd = open(held, O_WRONLY | O_CREAT | O_EXCL, 0600), other_fd = open(living, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0 && other_fd >= 0 && flock(fd, LOCK_SH) == 0);
    assert_null(file_write_all(path, "new", 3));
    assert_content(path, "new");
    assert_true(file_exists(held) && file_exists(living));
    assert_int_equal(entries(), 4); /* with what was written of the other file */
    close(fd);
    close(other_fd);
    assert_null(file_write_all(other, "new", 3));
    assert_int_equal(entries(), 4);
    const char *const made[] = {path, other, held, living};
    for (int i = 0; i < 4; i++) assert_int_equal(unlink(made[i]), 0);
    base_free(path);
    base_free(other);
    assert_int_equal(entries(), 0);
}

static void make_empty(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* A number that means something is not yet the process: a zombie has its number still, another process, also this one,
 * may have got it since, as the start tells that stands beside it. */
static void the_dead_are_known_by_more_than_their_number(void **state) {
    (void)state;
    char *path = in_folder("zombies");
    char name[300];
    pid_t zombie = killed_while_writing(path);
    const pid_t others[] = {getppid(), getpid()};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s.tmp.%ld.%llu.0", path, (long)others[i],
                 (unsigned long long)process_ticks(others[i]) - 1);
        make_empty(name);
    }
    assert_int_equal(entries(), 3);
    assert_null(file_write_all(path, "new", 3));
    assert_int_equal(entries(), 1);
    assert_int_equal(waitpid(zombie, NULL, 0), zombie);
    for (int i = 0; i < 2; i++) { /* of those that live nothing goes */
        snprintf(name, sizeof name, "%s.tmp.%ld.%llu.77", path, (long)others[i],
                 (unsigned long long)process_ticks(others[i]));
        make_empty(name);
        assert_false(file_is_abandoned(AT_FDCWD, name));
        assert_null(file_write_all(path, "new", 3));
        assert_int_equal(entries(), 2);
        assert_int_equal(unlink(name), 0);
    }
    assert_int_equal(unlink(path), 0);
    base_free(path);
}

/* What could not be judged at the first write of a file is looked at again at the next. */
static void what_was_held_is_looked_at_again(void **state) {
    (void)state;
    char *path = in_folder("again");
    char held[300];
    pid_t dead = killed_while_writing(path);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    snprintf(held, sizeof held, "%s.tmp.%ld.1.99", path, (long)dead);
    int fd = open(held, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0 && flock(fd, LOCK_SH) == 0); /* as a dying process does, until it is dead */
    for (int i = 0; i < 2; i++) {
        assert_null(file_write_all(path, "new", 3));
        assert_int_equal(entries(), 2);
    }
    close(fd);
    assert_null(file_write_all(path, "new", 3));
    assert_int_equal(entries(), 1);
    assert_int_equal(unlink(path), 0);
    base_free(path);
}

static int64_t clock_base;

static int64_t minutes_from_now(void *user) {
    return clock_base + *(const int64_t *)user * INT64_C(60000000000);
}

/* A folder of many files is not listed for each new name in it, and nothing is left there for long. */
static void a_full_folder_is_listed_now_and_then(void **state) {
    (void)state;
    int64_t minutes = 0;
    clock_base = clock_ns();
    clock_set_fake(minutes_from_now, &minutes);
    for (int i = 0; i < 1100; i++) {
        char name[32];
        snprintf(name, sizeof name, "full/%d", i);
        char *path = in_folder(name);
        if (i == 0) assert_null(file_make_dirs(path, 0700)), assert_int_equal(rmdir(path), 0);
        make_empty(path);
        base_free(path);
    }
    char *first = in_folder("full/first"), *second = in_folder("full/second");
    pid_t dead[2] = {killed_while_writing(first), killed_while_writing(second)};
    for (int i = 0; i < 2; i++) assert_int_equal(waitpid(dead[i], NULL, 0), dead[i]);
    struct {
        const char *path;
        int64_t minutes;
        int left;
    } writes[] = {{first, 0, 1}, {second, 0, 1}, {second, 2, 0}};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        minutes = writes[i].minutes;
        assert_null(file_write_all(writes[i].path, "new", 3));
        assert_content(writes[i].path, "new");
        char *full = in_folder("full");
        int left = 0;
        DIR *d = opendir(full);
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));) left += strstr(e->d_name, ".tmp.") != NULL;
        closedir(d);
        assert_int_equal(left, writes[i].left);
        if (i == 2) {
            d = opendir(full);
            for (struct dirent *e; (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0);
            closedir(d);
            assert_int_equal(rmdir(full), 0);
        }
        base_free(full);
    }
    clock_set_fake(NULL, NULL);
    base_free(first);
    base_free(second);
}

static void abandoned_and_failed_writes_leave_the_old_file(void **state) {
    (void)state;
    char *path = in_folder("kept");
    assert_null(file_write_all(path, "old", 3));
    assert_int_equal(chmod(path, 0640), 0);
    file_writer *w;
    assert_null(file_writer_open(path, &w));
    assert_null(file_writer_write(w, "new", 3));
    file_writer_abandon(w);
    file_writer_abandon(NULL);
    assert_content(path, "old");
    assert_int_equal(entries(), 1);

    /* A disk that is full, as a limit of the size of files: the write inside commit fails. */
    struct rlimit before, small = {.rlim_cur = 1000};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    static char large[200000];
    assert_null(file_writer_open(path, &w));
    setrlimit(RLIMIT_FSIZE, &small);
    xt_status s = file_writer_write(w, large, sizeof large);
    if (!s)
        s = file_writer_commit(w);
    else
        file_writer_abandon(w);
    assert_int_equal(xt_status_code(s), XT_UNAVAILABLE);
    xt_status_free(s);
    assert_null(file_writer_open(path, &w));
    assert_null(file_writer_write(w, large, 2000)); /* buffered: only the commit notices */
    s = file_writer_commit(w);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(xt_status_code(s), XT_UNAVAILABLE);
    xt_status_free(s);
    assert_content(path, "old");
    assert_int_equal(entries(), 1);

    assert_null(file_write_all(path, "newer", 5));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* the replaced file's mode */
    assert_content(path, "newer");
    unlink(path);
    base_free(path);
}

static void odd_targets(void **state) {
    (void)state;
    char *path = in_folder("real"), *link = in_folder("link");
    assert_null(file_write_all(path, "1", 1));
    assert_int_equal(symlink("real", link), 0);
    assert_null(file_write_all(link, "22", 2)); /* the file behind the link is replaced */
    assert_content(path, "22");
    char target[8];
    assert_int_equal(readlink(link, target, sizeof target), 4);
    assert_null(file_write_all("/dev/null", "x", 1));
    struct stat st;
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    xt_status s = file_write_all(folder, "x", 1);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    xt_status_free(s);
    s = file_write_all("/nonexistent/folder/x", "x", 1);
    assert_int_equal(xt_status_code(s), XT_NOT_FOUND);
    xt_status_free(s);
    unlink(path);
    unlink(link);
    base_free(path);
    base_free(link);
}

static void folders(void **state) {
    (void)state;
    char *deep = in_folder("a/b//c/"), *file = in_folder("file"), *below = in_folder("file/x");
    assert_null(file_make_dirs(deep, 0700));
    assert_null(file_make_dirs(deep, 0700));
    assert_null(file_make_dirs("/", 0700));
    assert_null(file_make_dirs("", 0700));
    struct stat st;
    assert_true(stat(deep, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    assert_null(file_write_all(file, "x", 1));
    xt_status s = file_make_dirs(below, 0700);
    assert_int_equal(xt_status_code(s), XT_ALREADY_EXISTS);
    xt_status_free(s);
    base_free(deep);
    base_free(file);
    base_free(below);
}

static void paths_join(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"a", "/b", "/b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char *p = path_join(rows[i][0], rows[i][1]);
        assert_string_equal(p, rows[i][2]);
        base_free(p);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    char *path = in_folder("scarce"), *data = NULL;
    size_t size;
    assert_null(file_write_all(path, "old", 3));
    int files = entries();
    bool done = false;
    for (int n = 1; !done; n++) {
        assert_true(n < 50);
        base_fail_alloc_after(n);
        xt_status s = file_write_all(path, "new", 3);
        base_fail_alloc_after(-1);
        done = s == NULL;
        if (s) assert_content(path, "old");
        if (s) assert_int_equal(xt_status_code(s), XT_RESOURCE_EXHAUSTED);
        xt_status_free(s);
        assert_int_equal(entries(), files);
    }
    done = false;
    for (int n = 1; !done; n++) {
        base_fail_alloc_after(n);
        xt_status s = file_read_all(path, &data, &size);
        base_fail_alloc_after(-1);
        done = s == NULL;
        if (s) assert_null(data);
        xt_status_free(s);
    }
    assert_string_equal(data, "new");
    base_free(data);
    base_free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_and_read_back),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(what_a_killed_run_was_writing_is_removed),
        cmocka_unit_test(the_dead_are_known_by_more_than_their_number),
        cmocka_unit_test(what_was_held_is_looked_at_again),
        cmocka_unit_test(a_full_folder_is_listed_now_and_then),
        cmocka_unit_test(abandoned_and_failed_writes_leave_the_old_file),
        cmocka_unit_test(odd_targets),
        cmocka_unit_test(folders),
        cmocka_unit_test(paths_join),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
