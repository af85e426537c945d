/* Names of checkpoints among processes: one has a name at a time, whoever is killed leaves nothing that stands in the
 * way, and what is no claim is left alone. */
#include "train/checkpoint_claim.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char folder[] = "/tmp/xt-claim-XXXXXX";

static int in_child(int (*f)(const char *), const char *path) {
    int status = 0;
    pid_t p = fork();
    if (p == 0) _exit(f(path));
    assert_int_equal(waitpid(p, &status, 0), p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int claims(const char *path) {
    return (int)checkpoint_claim(path);
}

/* As another program: a forked child has its parent's list. */
static int claims_anew(const char *path) {
    char line[4200];
    snprintf(line, sizeof line, "flock -n %s.tmp.claim true", path);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int is_killed(const char *path) {
    if (checkpoint_claim(path) != CLAIM_FIRST) return 9;
    raise(SIGKILL);
    return 0;
}

static void one_at_a_time(void **state) {
    (void)state;
    char path[200], file[220];
    snprintf(path, sizeof path, "%s/a.ckpt", folder);
    snprintf(file, sizeof file, "%s.tmp.claim", path);
    assert_int_equal(in_child(claims, path), CLAIM_FIRST);
    assert_int_equal(checkpoint_claim(path), CLAIM_FIRST); /* a process that has ended has none */
    assert_int_equal(checkpoint_claim(path), CLAIM_ADDED);
    assert_int_equal(in_child(claims_anew, path), 1);
    checkpoint_unclaim(path);
    assert_int_equal(in_child(claims_anew, path), 1);
    checkpoint_unclaim(path);
    assert_int_equal(access(file, F_OK), -1);
    checkpoint_unclaim(path); /* nothing */
}

static void what_the_killed_leave(void **state) {
    (void)state;
    char path[200], link[220];
    struct stat st;
    snprintf(path, sizeof path, "%s/killed.ckpt", folder);
    assert_int_equal(in_child(is_killed, path), 128 + SIGKILL);
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(fstatat(fd, "killed.ckpt.tmp.claim", &st, 0), 0);
    snprintf(path, sizeof path, "%s/held.ckpt", folder);
    assert_int_equal(checkpoint_claim(path), CLAIM_FIRST);
    int full = openat(fd, "full.ckpt.tmp.claim", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(full, "x", 1), 1);
    close(full);
    snprintf(link, sizeof link, "%s/link.ckpt.tmp.claim", folder);
    assert_int_equal(symlink("full.ckpt.tmp.claim", link), 0);
    static const char *const names[] = {"killed.ckpt.tmp.claim", "held.ckpt.tmp.claim", "full.ckpt.tmp.claim",
                                        "link.ckpt.tmp.claim",   "full.ckpt",           ".tmp.claim"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) checkpoint_claim_sweep(fd, names[i]);
    for (int i = 0; i < 4; i++) assert_int_equal(fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW), i == 0 ? -1 : 0);
    checkpoint_unclaim(path);
    unlinkat(fd, names[2], 0);
    unlinkat(fd, names[3], 0);
    close(fd);
}

/* Each takes the first name that is free, so many times: nobody makes a file that another one has made. */
enum { WORKERS = 4, TIMES = 60 };
static int takes_many(const char *of) {
    for (int k = 0; k < TIMES; k++)
        for (int v = 0;; v++) {
            char path[220];
            snprintf(path, sizeof path, "%s/many-v%d.ckpt", of, v);
            if (!checkpoint_claim(path)) continue;
            if (access(path, F_OK) == 0) {
                checkpoint_unclaim(path);
                continue;
            }
            usleep(50);
            int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
            checkpoint_unclaim(path);
            if (fd < 0) return 1;
            close(fd);
            break;
        }
    return 0;
}

static void nobody_takes_what_is_taken(void **state) {
    (void)state;
    pid_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        if ((workers[i] = fork()) == 0) _exit(takes_many(folder));
    for (int i = 0; i < WORKERS; i++) {
        int status;
        assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    int files = 0, claims_left = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) {
        files += strncmp(e->d_name, "many-v", 6) == 0 && !strstr(e->d_name, ".claim");
        claims_left += strstr(e->d_name, ".claim") != NULL;
    }
    closedir(d);
    assert_int_equal(files, WORKERS * TIMES);
    assert_int_equal(claims_left, 0);
}

static int remove_folder(void **state) {
    (void)state;
    char line[64];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time), cmocka_unit_test(what_the_killed_leave),
                                       cmocka_unit_test(nobody_takes_what_is_taken)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
