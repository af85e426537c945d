/* Folders that a killed run left: its unfinished files go, and a checkpoint that is further than last.ckpt is what a
 * run goes on from. */
#include "train_kept_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/process.h"

static int fit(int64_t epochs, const char *resume) {
    xt_trainer *t = kept_trainer(epochs, resume);
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = kept, .save_top_k = -1));
    int code = kept_fit(t);
    xt_finish();
    return code;
}

static char *in_kept(const char *name) {
    static char path[4][128];
    static int at;
    snprintf(path[at = (at + 1) % 4], sizeof path[0], "%s/%s", kept, name);
    return path[at];
}
static void touch(const char *path) {
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void unfinished_files_of_the_dead_go(void **state) {
    (void)state;
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    char gone[64], alive[64];
    snprintf(gone, sizeof gone, "epoch=1-step=4.ckpt.tmp.%d.3", (int)dead);
    snprintf(alive, sizeof alive, "last.ckpt.tmp.%d.0", (int)getppid());
    mkdir(kept, 0700);
    touch(in_kept(gone));
    touch(in_kept(alive));
    touch(in_kept("mine.tmp.1"));
    assert_int_equal(fit(1, NULL), 0);
    assert_int_equal(access(in_kept(gone), F_OK), -1);
    assert_int_equal(access(in_kept(alive), F_OK), 0);
    assert_int_equal(access(in_kept("mine.tmp.1"), F_OK), 0);
    assert_non_null(strstr(told, "1 unfinished checkpoint of a killed run removed"));
    assert_int_equal(unlink(in_kept(alive)) | unlink(in_kept("mine.tmp.1")), 0);
}

/* A run that is started again while the killed one is still dying: at its end it looks once more, there and in the
 * folder that it goes on from. */
static pid_t dying;
static void dies(xt_trainer *t, bool ok, void *user) {
    (void)t, (void)ok, (void)user;
    kill(dying, SIGKILL); /* and nobody waits for it */
}
static void those_who_die_meanwhile_are_found_at_the_end(void **state) {
    (void)state;
    static const xt_callback_desc killer = {.struct_size = sizeof killer, .name = "killer", .fit_end = dies};
    char first[64], from[128], left[128];
    snprintf(first, sizeof first, "%s", kept);
    snprintf(from, sizeof from, "%s", in_kept("last.ckpt"));
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        if ((dying = fork()) == 0)
            for (;;) pause();
        snprintf(left, sizeof left, "%s/epoch=9-step=40.ckpt.tmp.%d.%llu.3", first, (int)dying,
                 (unsigned long long)process_ticks(dying));
        touch(left);
        snprintf(kept, sizeof kept, elsewhere ? "%s/beside" : "%s/kept", dir);
        xt_trainer *t = kept_trainer(2 + elsewhere, from);
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = kept, .save_top_k = -1));
        xt_trainer_add(t, xt_callback_new(&killer, NULL));
        assert_int_equal(kept_fit(t), 0);
        xt_finish();
        snprintf(kept, sizeof kept, "%s", first);
        assert_int_equal(access(left, F_OK), -1);
        assert_non_null(strstr(told, "1 unfinished checkpoint of a killed run removed"));
        assert_int_equal(waitpid(dying, NULL, 0), dying);
    }
}

/* A run that goes on in a folder of its own removes them from the one that it goes on from. */
static void also_where_the_run_goes_on_from(void **state) {
    (void)state;
    char there[128], before[64];
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    snprintf(before, sizeof before, "%s", kept);
    snprintf(there, sizeof there, "%s/last.ckpt.tmp.%d.0", kept, (int)dead);
    touch(there);
    assert_int_equal(access(in_kept("last.ckpt"), F_OK), 0); /* of the fit before */
    char from[128];
    snprintf(from, sizeof from, "%s", in_kept("last.ckpt"));
    snprintf(kept, sizeof kept, "%s/other", dir);
    assert_int_equal(fit(2, from), 0);
    snprintf(kept, sizeof kept, "%s", before);
    assert_int_equal(access(there, F_OK), -1);
    assert_non_null(strstr(told, "1 unfinished checkpoint of a killed run removed"));
    assert_int_equal(fit(2, "bset"), 1);
    if (!strstr(
            told,
            "resume = bset (--resume): a checkpoint, a folder with one, last or best is needed (did you mean best?): "))
        fail_msg("%s", told);
}

/* Killed between the newest file and its second name: last.ckpt is the one before. */
static void what_is_further_than_last_is_taken(void **state) {
    (void)state;
    char first[128];
    snprintf(first, sizeof first, "%s", in_kept("epoch=0-step=2.ckpt"));
    assert_int_equal(fit(3, "last"), 0);
    for (int named = 0; named < 2; named++) {
        unlink(in_kept("last.ckpt"));
        assert_int_equal(link(first, in_kept("last.ckpt")), 0);
        assert_int_equal(fit(named ? 5 : 4, named ? kept : "last"), 0);
        if (!strstr(told, named ? "epoch=3-step=8.ckpt is newer than " : "epoch=2-step=6.ckpt is newer than "))
            fail_msg("%s", told);
    }
    assert_int_equal(fit(6, "last"), 0); /* nothing to tell where all is well */
    assert_null(strstr(told, "is newer than"));
    assert_int_equal(access(in_kept("epoch=5-step=12.ckpt"), F_OK), 0);
}

/* A run that begins anew in a folder of an earlier one's leaves it its last.ckpt, under a name of its own; what
 * is resumed is still last.ckpt, also where the earlier run is further, and a run that goes on from it writes
 * no third file. */
static void the_last_of_an_earlier_run_stays(void **state) {
    (void)state;
    struct stat old, now;
    assert_int_equal(stat(in_kept("last.ckpt"), &old), 0); /* of six epochs */
    char want[512];
    snprintf(want, sizeof want, "%s of an earlier run, which this one does not go on from, is kept as %s",
             in_kept("last.ckpt"), in_kept("last-v1.ckpt"));
    assert_int_equal(access(in_kept("last-v1.ckpt"), F_OK), -1); /* the fits before resumed */
    assert_int_equal(fit(1, NULL), 0);
    if (!strstr(told, want)) fail_msg("%s", told);
    assert_int_equal(stat(in_kept("last-v1.ckpt"), &now), 0);
    assert_true(now.st_ino == old.st_ino);
    for (int64_t epochs = 2; epochs < 5; epochs++) {
        assert_int_equal(fit(epochs, epochs == 2 ? "last" : epochs == 3 ? kept : in_kept("last.ckpt")), 0);
        assert_null(strstr(told, "earlier run"));
        if (strstr(told, "is newer than") || strstr(told, "nothing to do")) fail_msg("%s", told);
        assert_int_equal(access(in_kept("last-v2.ckpt"), F_OK), -1);
    }
    assert_int_equal(stat(in_kept("last.ckpt"), &old), 0);
    assert_int_equal(fit(7, in_kept("last-v1.ckpt")), 0); /* the first run goes on, and the second one's stays */
    assert_int_equal(stat(in_kept("last-v2.ckpt"), &now), 0);
    assert_true(now.st_ino == old.st_ino);
    assert_int_equal(access(in_kept("epoch=6-step=14.ckpt"), F_OK), 0);
    assert_int_equal(stat(in_kept("last.ckpt"), &now), 0);
    assert_true(now.st_ino != old.st_ino);
}

static void a_missing_folder_is_named(void **state) {
    (void)state;
    char want[256], path[128];
    xt_module *m = xt_module_new(net, NULL);
    xt_status s = xt_module_build(m, (xt_spec){XT_F32, {1, 2}});
    assert_null(s);
    snprintf(path, sizeof path, "%s/nowhere/w.safetensors", dir);
    snprintf(want, sizeof want, "cannot write %s: there is no folder %s/nowhere; make it first", path, dir);
    s = xt_save(m, path);
    if (!s || !strstr(xt_status_message(s), want)) fail_msg("%s", s ? xt_status_message(s) : "saved");
    xt_status_free(s);
    xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unfinished_files_of_the_dead_go),
                                       cmocka_unit_test(also_where_the_run_goes_on_from),
                                       cmocka_unit_test(those_who_die_meanwhile_are_found_at_the_end),
                                       cmocka_unit_test(what_is_further_than_last_is_taken),
                                       cmocka_unit_test(the_last_of_an_earlier_run_stays),
                                       cmocka_unit_test(a_missing_folder_is_named)};
    return cmocka_run_group_tests(tests, kept_setup, kept_teardown);
}
