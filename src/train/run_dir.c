/* runs/NAME/version_N: each fit that writes files gets a folder of its own. mkdir decides races: of two programs that
 * start together, each gets its own number. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/look.h"
#include "train/checkpoint.h"
#include "train/logger.h"
#include "train/train_int.h"

static int64_t version_of(const char *entry) {
    int64_t n;
    return strncmp(entry, "version_", 8) == 0 && parse_i64(entry + 8, &n) && n >= 0 ? n : -1;
}

static xt_status next_free(const char *run, int64_t *out) {
    DIR *d;
    *out = 0;
    XT_TRY(file_look_into(run, &d));
    for (struct dirent *e; d && (e = readdir(d));)
        if (version_of(e->d_name) >= *out) *out = version_of(e->d_name) + 1;
    if (d) closedir(d);
    return NULL;
}

xt_status run_dir_make(const char *runs, const char *name, char **out) {
    char *run = path_join(runs, name);
    if (!run) return status_oom(strlen(runs), "a run's folder");
    xt_status s = file_make_dirs(run, 0755);
    int64_t n = 0;
    *out = NULL;
    if (!s) s = next_free(run, &n);
    for (; !s && !*out; n++) {
        char version[64];
        snprintf(version, sizeof version, "version_%lld", (long long)n);
        char *dir = path_join(run, version);
        if (!dir)
            s = status_oom(64, "a run's folder");
        else if (mkdir(dir, 0755) == 0)
            *out = dir;
        else {
            if (errno != EEXIST) s = status_errno("cannot make", dir);
            base_free(dir);
        }
    }
    base_free(run);
    return s;
}

/* Whether one of the library's files holds nothing but what it begins with. */
static bool is_bare(const char *dir, const char *entry) {
    /* of rows the others tell as well */
    if (strcmp(entry, "config.json") == 0 || strncmp(entry, "events.out.tfevents.", 20) == 0) return true;
    struct stat st;
    char *path = path_join(dir, entry);
    bool bare = false;
    if (path && stat(path, &st) == 0) {
        if (strcmp(entry, "checkpoints") == 0) bare = S_ISDIR(st.st_mode) && st.st_nlink <= 2;
        if (strcmp(entry, "metrics.jsonl") == 0) bare = st.st_size == 0;
        if (strcmp(entry, "metrics.csv") == 0) bare = st.st_size <= (off_t)strlen(LOGGER_CSV_HEAD);
    }
    base_free(path);
    return bare;
}

static bool each_entry(const char *dir, bool removes) {
    DIR *d = opendir(dir);
    bool all = d != NULL;
    for (struct dirent *e; d && all && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *path = removes ? path_join(dir, e->d_name) : NULL;
        all = removes ? path && remove(path) == 0 : is_bare(dir, e->d_name);
        base_free(path);
    }
    if (d) closedir(d);
    return all;
}

bool run_dir_unmake(const char *dir) {
    return each_entry(dir, false) && each_entry(dir, true) && rmdir(dir) == 0;
}

typedef struct newest {
    char *path;
    struct timespec at;
} newest;

/* What a fit leaves to go on from. */
static xt_status consider(newest *n, const char *folder) {
    static const char *const names[] = {"last.ckpt", "on_exception.ckpt"};
    xt_status s = NULL;
    for (size_t i = 0; !s && i < BASE_COUNT(names); i++) {
        char *path = path_join(folder, names[i]);
        struct stat st;
        bool there = false;
        s = path ? file_look(path, &st, &there) : status_oom(strlen(folder), "a checkpoint's name");
        bool newer = there && !checkpoint_rehearsed(path) &&
                     (!n->path || st.st_mtim.tv_sec > n->at.tv_sec ||
                      (st.st_mtim.tv_sec == n->at.tv_sec && st.st_mtim.tv_nsec > n->at.tv_nsec));
        if (newer) {
            base_free(n->path);
            n->path = path;
            n->at = st.st_mtim;
        } else
            base_free(path);
    }
    return s;
}

xt_status run_dir_last(const char *asked, const char *runs, const char *name, const char *also, char **out_checkpoint) {
    char *run = path_join(runs, name);
    newest n = {0};
    DIR *d = NULL;
    xt_status s = run ? NULL : status_oom(strlen(runs), "a run's folder");
    *out_checkpoint = NULL;
    if (!s && also) s = consider(&n, also);
    if (!s) s = file_look_into(run, &d);
    for (struct dirent *e; !s && d && (e = readdir(d));) {
        if (version_of(e->d_name) < 0) continue;
        str folder = STR_INIT;
        str_printf(&folder, "%s/%s/checkpoints", run, e->d_name);
        s = consider(&n, str_cstr(&folder));
        str_free(&folder);
    }
    if (d) closedir(d);
    if (!s && !n.path)
        s = status_new(XT_NOT_FOUND, NULL,
                       "%s: no %s/%s/version_*/checkpoints/last.ckpt%s%s%s; give the checkpoint's path", asked, runs,
                       name, also ? " and no " : "", also ? also : "", also ? "/last.ckpt" : "");
    char *newer = NULL;
    if (!s && strstr(n.path, "/last.ckpt")) s = checkpoint_after_last(n.path, &newer);
    base_free(run);
    if (!s) *out_checkpoint = newer ? newer : n.path;
    if (*out_checkpoint != n.path) base_free(n.path);
    return s;
}
