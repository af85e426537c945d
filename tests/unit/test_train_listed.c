/* A checkpoint that somebody else made: the list of kept files in it is a claim. Each row puts something into the way
 * of the run that resumes, lists it with a score so bad that it is the first file to go, and looks whether it is still
 * there. The forger is a callback of the name model_checkpoint, so the library itself writes the forged file, checksums
 * and all. */
#include "train_kept_test.h"

#include <fcntl.h>

#include "train/checkpoint_listed.h"

static char evil[64];
static const char *forged; /* what the forger lists */

static size_t forge(char *buf, size_t n, void *user) {
    (void)user;
    return (size_t)snprintf(buf, n, "%s", forged);
}

static int fit(int64_t epochs, const char *resume, const char *save, const char *filename) {
    static const xt_callback_desc forger = {
        .struct_size = sizeof forger, .name = "model_checkpoint", .save_state = forge};
    xt_trainer *t = kept_trainer(epochs, resume);
    if (save)
        xt_trainer_add(t, xt_callback_new(&forger, NULL));
    else
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = kept, .filename = filename));
    int code = kept_fit(t);
    if (save && code == 0) {
        xt_status s = xt_trainer_save(t, save);
        if (s) fail_msg("%s", xt_status_message(s));
    }
    xt_finish();
    return code;
}

enum kind { TEXT, CHECKPOINT, LINK, FOLDER, FIFO, LINKED_FOLDER, NOTHING };
static const struct row {
    const char *name; /* in `dir` */
    const char *json; /* how the list has it; %s is the folder; NULL: as name */
    enum kind kind;
    const char *filename, *says; /* NULL: nothing */
} rows[] = {
    {"precious.txt", "%s/kept/../precious.txt", TEXT, NULL, "does not end in .ckpt"},
    {"precious.ckpt", "%s/kept/../precious.ckpt", CHECKPOINT, NULL, "leads out of the folder"},
    {"precious.ckpt", "%s/kept/./../precious.ckpt", CHECKPOINT, "{epoch}/{step}", "leads out of the folder"},
    {"precious.ckpt", NULL, CHECKPOINT, NULL, NULL}, /* another run's: read at most, and no reason to warn */
    {"precious.txt", NULL, TEXT, NULL, "does not end in .ckpt"},
    {"kept/notes.txt", NULL, TEXT, NULL, "does not end in .ckpt"},
    {"kept/epoch=9-step=9.ckpt", NULL, TEXT, NULL, "no checkpoint of a trainer"},
    {"kept/mine.ckpt", NULL, CHECKPOINT, NULL, "no name that this xt_model_checkpoint gives"},
    {"kept/for-the-paper.ckpt", NULL, CHECKPOINT, NULL, "no name that this"},
    {"kept/x-best.ckpt", NULL, CHECKPOINT, NULL, "no name that this"},
    {"kept/user-step=3.ckpt", NULL, CHECKPOINT, NULL, "no name that this"},
    {"kept/epoch=1e5-step=7.ckpt", NULL, CHECKPOINT, NULL, "no name that this"},
    {"kept/epoch=9-step=9.ckpt", NULL, LINK, NULL, "it is a symbolic link"},
    {"kept/epoch=9-step=9.ckpt", NULL, FOLDER, NULL, "it is a folder"},
    {"kept/epoch=9-step=9.ckpt", NULL, FIFO, NULL, "it is no regular file"},
    {"elsewhere.ckpt", NULL, FIFO, NULL, "it is no regular file"},
    {"kept/sub/epoch=9.ckpt", NULL, LINKED_FOLDER, "sub/{epoch}", "it is a symbolic link"},
    {"kept/epoch=9\nxtrain: all is well-step=9.ckpt", "%s/kept/epoch=9\\nxtrain: all is well-step=9.ckpt", CHECKPOINT,
     NULL, "epoch=9\\x0axtrain: all is well-step=9.ckpt"},
    {"kept/epoch=9\033[2J-step=9.ckpt", "%s/kept/epoch=9\\u001b[2J-step=9.ckpt", CHECKPOINT, NULL, "epoch=9\\x1b[2J"},
    {"kept/gone.ckpt", NULL, NOTHING, NULL, "no name that this"},
    {"kept/epoch=9-step=9.ckpt", NULL, NOTHING, NULL, NULL},
};

static void write_text(const char *path) {
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0 && write(fd, "precious", 8) == 8);
    close(fd);
}

static void copy(const char *from, const char *to) {
    char *data;
    size_t n;
    assert_null(file_read_all(from, &data, &n));
    assert_null(file_write_all(to, data, n));
    base_free(data);
}

static char *path_of(const char *name) {
    char *p = path_join(dir, name);
    assert_non_null(p);
    return p;
}

static void put(const struct row *r, const char *path) {
    char *target = path_of("target.ckpt"), *folder = path_of("target"), *inner = path_of("target/epoch=9.ckpt"),
         *link = path_of("kept/sub");
    switch (r->kind) {
    case TEXT: write_text(path); break;
    case CHECKPOINT: copy(evil, path); break;
    case LINK:
        copy(evil, target);
        assert_int_equal(symlink(target, path), 0);
        break;
    case FOLDER: assert_int_equal(mkdir(path, 0700), 0); break;
    case FIFO: assert_int_equal(mkfifo(path, 0600), 0); break;
    case LINKED_FOLDER:
        assert_int_equal(mkdir(folder, 0700), 0);
        copy(evil, inner);
        assert_int_equal(symlink(folder, link), 0);
        break;
    case NOTHING: break;
    }
    base_free(target);
    base_free(folder);
    base_free(inner);
    base_free(link);
}

static void clean(void) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/*; mkdir %s", dir, kept);
    assert_int_equal(system(command), 0);
}

static void names_are_claims(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const struct row *r = &rows[i];
        char *path = path_of(r->name), json[512];
        struct stat before, after;
        int n = snprintf(json, sizeof json,
                         "{\"monitor\":\"loss\",\"best\":{\"path\":\"%s/kept/../"
                         "precious.txt\",\"score\":-1e30},\"files\":[{\"score\":1e30,\"path\":\"",
                         dir);
        if (r->json)
            n += snprintf(json + n, sizeof json - (size_t)n, r->json, dir);
        else
            n += snprintf(json + n, sizeof json - (size_t)n, "%s", path);
        snprintf(json + n, sizeof json - (size_t)n, "\"}]}");
        clean();
        forged = json;
        assert_int_equal(fit(1, NULL, evil, NULL), 0);
        put(r, path);
        bool there = lstat(path, &before) == 0;
        alarm(30); /* a FIFO is not waited for */
        assert_int_equal(fit(3, evil, NULL, r->filename), 0);
        alarm(0);
        if (there && (lstat(path, &after) != 0 || before.st_ino != after.st_ino || before.st_size != after.st_size))
            fail_msg("row %zu: %s was removed\n%s", i, path, told);
        if (r->says && !strstr(told, r->says)) fail_msg("row %zu, %s: \"%s\" is not said:\n%s", i, path, r->says, told);
        if (strstr(told, "\nxtrain: all is well")) fail_msg("a forged line:\n%s", told);
        if (!r->says && strstr(told, "not used")) fail_msg("row %zu: %s", i, told);
        base_free(path);
    }
}

/* JSON has names that C has not, and names longer than any file's. */
static void names_that_no_file_has(void **state) {
    (void)state;
    str json = STR_INIT;
    clean();
    str_printf(&json,
               "{\"files\":[{\"score\":1e30,\"path\":\"%s/kept/"
               "epoch=9-step=9.ckpt\\u0000x\"},{\"path\":\"\"},{\"path\":7},{},3,{\"path\":\"%s/kept/",
               dir, dir);
    for (int i = 0; i < 6000; i++) str_putc(&json, 'x');
    str_append(&json, ".ckpt\"}]}");
    forged = str_cstr(&json);
    assert_int_equal(fit(1, NULL, evil, NULL), 0);
    char *path = path_of("kept/epoch=9-step=9.ckpt");
    write_text(path);
    fit(3, evil, NULL, NULL); /* cJSON may refuse the whole state for its NUL: then the run says so and ends */
    assert_int_equal(access(path, F_OK), 0);
    assert_true(strlen(told) < 4000);
    base_free(path);
    str_free(&json);
}

/* What the saver itself wrote is still replaced, and a name that the list has twice counts once. */
static void own_files_go(void **state) {
    (void)state;
    char json[512], want[160];
    clean();
    snprintf(json, sizeof json,
             "{\"files\":[{\"path\":\"%s/epoch=0-step=2.ckpt\",\"score\":-2},{\"path\":\"%s/"
             "epoch=0-step=2.ckpt\",\"score\":-2}]}",
             kept, kept);
    forged = json;
    assert_int_equal(fit(1, NULL, evil, NULL), 0);
    snprintf(want, sizeof want, "%s/epoch=0-step=2.ckpt", kept);
    copy(evil, want);
    assert_int_equal(fit(2, evil, NULL, NULL), 0);
    assert_int_equal(access(want, F_OK), -1);
    assert_non_null(strstr(told, "the list has it twice"));
    snprintf(want, sizeof want, "%s/epoch=1-step=4.ckpt", kept);
    assert_int_equal(access(want, F_OK), 0);
}

/* Looked at when the list was read, and exchanged before the file goes. */
static void exchanged_files_stay(void **state) {
    (void)state;
    char path[128], target[128];
    const char *why;
    clean();
    forged = "{}";
    assert_int_equal(fit(1, NULL, evil, NULL), 0);
    snprintf(path, sizeof path, "%s/epoch=0-step=2.ckpt", kept);
    snprintf(target, sizeof target, "%s/target.ckpt", dir);
    copy(evil, path);
    copy(evil, target);
    assert_int_equal(checkpoint_listed(kept, "{epoch}-{step}", true, path, &why), LISTED_OWN);
    assert_int_equal(checkpoint_listed(kept, "{epoch}-{step}-v1", true, path, &why), LISTED_REFUSED);
    /* no wildcards of the user's */
    assert_int_equal(checkpoint_listed(kept, "[e]poch=?-{step}", true, path, &why), LISTED_REFUSED);
    assert_int_equal(unlink(path) | symlink(target, path), 0);
    assert_string_equal(checkpoint_remove(path, strlen(kept)), "it is a symbolic link");
    assert_int_equal(unlink(path), 0);
    write_text(path);
    assert_string_equal(checkpoint_remove(path, strlen(kept)), "it is no checkpoint of a trainer");
    assert_int_equal(access(path, F_OK) | access(target, F_OK), 0);
    assert_null(checkpoint_remove(target, strlen(dir)));
    assert_int_equal(access(target, F_OK), -1);
    assert_null(checkpoint_remove(target, strlen(dir))); /* the user was faster */
}

/* Which names a saver gives, by its pattern: those that are its own are not there (gone), any other is refused. */
static const struct name_row {
    const char *pattern, *name;
    bool bare, own;
} names[] = {
    {"{epoch}-{step}", "epoch=1-step=6", false, true},
    {"{epoch}-{step}", "epoch=999-step=123456789", false, true},
    {"{epoch}-{step}", "epoch=1-step=6-v2", false, true},
    {"{epoch}-{step}", "epoch=1-step=6-v12", false, true},
    {"{epoch}-{step}", "epoch=1-step=6-v0", false, false},
    {"{epoch}-{step}", "epoch=1-step=6-v02", false, false},
    {"{epoch}-{step}", "epoch=1-step=6-v", false, false},
    {"{epoch}-{step}", "epoch=1-step=6-v1-v2", false, false},
    {"{epoch}-{step}", "epoch=1-step=6x", false, false},
    {"{epoch}-{step}", "epoch=1-x-step=6", false, false},
    {"{epoch}-{step}", "epoch=01-step=6", false, false},
    {"{epoch}-{step}", "epoch=-1-step=6", false, false},
    {"{epoch}-{step}", "epoch= 1-step=6", false, false},
    {"{epoch}-{step}", "epoch=0x1-step=6", false, false},
    {"{epoch}-{step}", "epoch=nan-step=6", false, false},
    {"{epoch}-{step}", "epoch=-step=", false, false},
    {"{epoch}-{step}", "epoch=1e5-step=7", false, false},
    {"{epoch}-{step}", "user-step=3", false, false},
    {"{epoch}-{step}", "for-the-paper", false, false},
    {"{epoch}-{step}", "x-best", false, false},
    {"{epoch}-{step}", "mine-2", false, false},
    {"{epoch}-{step}", "1-6", false, false},
    {"{epoch}-{step}", "1-6", true, true},
    {"{epoch}-{step}", "epoch=1-step=6", true, false},
    {"{epoch}-{step}", "mine-2", true, false},
    {"{epoch}{step}", "12", true, true},
    {"{epoch}{step}", "1", true, false},
    {"{epoch:03d}", "epoch=007", false, true},
    {"{epoch:03d}", "epoch=1234", false, true},
    {"{epoch:03d}", "epoch=7", false, false},
    {"{epoch:3d}|", "epoch=  7|", false, true},
    {"{epoch:-3d}|", "epoch=7  |", false, true},
    {"best", "best", false, true},
    {"best", "best-v1", false, true},
    {"best", "Best", false, false},
    {"best", "best2", false, false},
    {"sub/{val/acc:.3f}", "sub/val_acc=0.981", false, true},
    {"sub/{val/acc:.3f}", "sub/val_acc=-0.981", false, true},
    {"sub/{val/acc:.3f}", "sub/val_acc=nan", false, true},
    {"sub/{val/acc:.3f}", "sub/val_acc=-inf", false, true},
    {"sub/{val/acc:.3f}", "sub/val_acc=0.9811", false, false},
    {"sub/{val/acc:.3f}", "sub/val_acc=fine", false, false},
    {"sub/{val/acc:.3f}", "sub/val_acc=infinity", false, false},
    {"sub/{val/acc:.3f}", "sub/other/val_acc=0.981", false, false},
    {"{loss}", "loss=1.234e-05", false, true},
    {"{loss}", "loss=0.25", false, true},
    {"{loss}", "loss=0.250", false, false},
    {"{loss:e}", "loss=2.500000e-01", false, true},
    {"{loss:+.1f}", "loss=+0.2", false, true},
    {"{loss:.17g}", "loss=0.10000000000000001", false, true},
};

static void only_names_that_are_given(void **state) {
    (void)state;
    clean();
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        const struct name_row *r = &names[i];
        char path[256];
        const char *why;
        snprintf(path, sizeof path, "%s/%s.ckpt", kept, r->name);
        if (checkpoint_listed(kept, r->pattern, !r->bare, path, &why) != (r->own ? LISTED_GONE : LISTED_REFUSED))
            fail_msg("%s of %s: %s", r->name, r->pattern, why ? why : "(own)");
    }
}

static int listed_setup(void **state) {
    if (kept_setup(state)) return -1;
    snprintf(evil, sizeof evil, "%s/evil.ckpt", dir);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_claims), cmocka_unit_test(names_that_no_file_has),
                                       cmocka_unit_test(own_files_go), cmocka_unit_test(exchanged_files_stay),
                                       cmocka_unit_test(only_names_that_are_given)};
    return cmocka_run_group_tests(tests, listed_setup, kept_teardown);
}
