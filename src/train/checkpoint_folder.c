/* What an earlier run leaves in a folder of checkpoints: its last.ckpt, and a killed one files that were being written,
 * and a newest checkpoint that is not last.ckpt yet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/look.h"
#include "base/saved.h"
#include "base/private_file.h"
#include "format/safetensors.h"
#include "train/checkpoint.h"
#include "train/checkpoint_claim.h"
#include "train/checkpoint_shards.h"

/* Of a checkpoint, its shards and their index. */
static bool is_temporary(const char *name) {
    const char *checkpoint = strstr(name, ".ckpt");
    return checkpoint && strstr(checkpoint, ".tmp.");
}

void checkpoint_folder_sweep(const char *folder, bool nobodys) {
    int n = 0;
    DIR *d = rehearsal_skips() ? NULL : opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        checkpoint_claim_sweep(dirfd(d), e->d_name);
        n += is_temporary(e->d_name) && file_is_abandoned(dirfd(d), e->d_name) && unlinkat(dirfd(d), e->d_name, 0) == 0;
    }
    if (d) n += shards_sweep(dirfd(d), nobodys);
    if (d) closedir(d);
    if (n) log_msg(XT_SEV_INFO, "%s: %d unfinished checkpoint%s of a killed run removed", folder, n, n == 1 ? "" : "s");
}

static bool names_version(str *to, const char *last, int v) {
    size_t stem = strlen(last) - strlen(".ckpt");
    str_clear(to);
    str_printf(to, "%.*s-v%d.ckpt", (int)stem, last, v);
    return !to->failed;
}

/* A second name, so that last.ckpt is there at every moment and is replaced in one step; a new name where the file
 * system has no links. */
xt_status checkpoint_keep_last(const char *last) {
    str kept = STR_INIT;
    bool done = false, there;
    int failed = 0;
    struct stat st;
    if (rehearsal_skips()) return NULL;
    XT_TRY(file_look(last, &st, &there));
    if (!there) return NULL;
    for (int v = 1; !done && !failed && names_version(&kept, last, v); v++) {
        done = link(last, str_cstr(&kept)) == 0;
        if (!done && errno != EEXIST && !file_exists(str_cstr(&kept))) {
            done = rename(last, str_cstr(&kept)) == 0;
            failed = done ? 0 : errno;
        }
    }
    if (done)
        log_msg(XT_SEV_INFO, "%s of an earlier run, which this one does not go on from, is kept as %s", last,
                str_cstr(&kept));
    xt_status s = done      ? NULL
                  : !failed ? status_oom(kept.len, "a checkpoint's name")
                            : status_new(XT_UNKNOWN, NULL,
                                         "%s of an earlier run cannot be kept as %s: %s; choose another dirpath", last,
                                         str_cstr(&kept), strerror(failed));
    str_free(&kept);
    return s;
}

/* The optimizer steps behind a checkpoint; -1: it is none of a trainer. */
static int64_t steps_of(const char *path) {
    st_file *f = NULL;
    xt_status s = st_open(path, &f);
    int64_t n = -1;
    if (!s) s = saved_text("global_step", st_get_meta(f, "global_step"), 0, SAVED_COUNT, &n);
    st_close(f);
    xt_status_free(s);
    return n;
}

/* Only what is younger is opened. Where all went well that is nothing: last.ckpt is another name of the newest file, or
 * was written behind it. */
xt_status checkpoint_after_last(const char *last, char **out) {
    struct stat of_last, st;
    const char *slash = strrchr(last, '/');
    char *folder = slash ? base_strndup(last, (size_t)(slash - last)) : base_strdup("."), *best = NULL;
    DIR *d = NULL;
    bool there = false;
    xt_status s = folder ? file_look(last, &of_last, &there) : status_oom(strlen(last), "a checkpoint's name");
    if (!s && there) s = file_look_into(folder, &d);
    int64_t most = -2;
    for (struct dirent *e; !s && d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        char *path = n > 5 && strcmp(e->d_name + n - 5, ".ckpt") == 0 ? path_join(folder, e->d_name) : NULL;
        there = false;
        if (path) s = file_look(path, &st, &there);
        bool younger = there && !(st.st_ino == of_last.st_ino && st.st_dev == of_last.st_dev) &&
                       (st.st_mtim.tv_sec > of_last.st_mtim.tv_sec ||
                        (st.st_mtim.tv_sec == of_last.st_mtim.tv_sec && st.st_mtim.tv_nsec > of_last.st_mtim.tv_nsec));
        if (younger && most == -2) most = steps_of(last);
        int64_t steps = younger && most >= 0 ? steps_of(path) : -1;
        if (steps > most && steps > 0) {
            base_free(best);
            best = path;
            most = steps;
        } else
            base_free(path);
    }
    if (d) closedir(d);
    base_free(folder);
    if (s) { /* one that cannot be looked at may be the newest */
        base_free(best);
        best = NULL;
    }
    if (best)
        log_msg(XT_SEV_INFO, "%s is newer than %s, whose run ended before it had that name: going on from it", best,
                last);
    *out = best;
    return s;
}
