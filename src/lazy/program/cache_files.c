/* The files of the compile cache: listing, checking and removing them. What is in a file and who may write it is
 * cache_disk.c's. */
#include <xtrain/doctor.h>

#include "base/private_file.h"
#include "lazy/program/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEFTOVER_S = 3600 }; /* a writer needs milliseconds */

typedef struct entry {
    char *path, *name; /* name: the end of path */
    int64_t used, size;
    bool leftover; /* a temporary file */
} entry;

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}

static int by_age(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

/* Oldest first. */
static entry *list(const char *dir, size_t *out_n) {
    entry *files = NULL;
    size_t n = 0, room = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;
        entry f = {.leftover = strstr(e->d_name, ".xtc.tmp.") != NULL};
        if (!f.leftover && !ends_with(e->d_name, ".xtc")) continue;
        f.path = path_join(dir, e->d_name);
        if (!f.path || stat(f.path, &st) != 0 || !S_ISREG(st.st_mode)) {
            base_free(f.path);
            continue;
        }
        f.name = f.path + strlen(f.path) - strlen(e->d_name);
        f.used = (int64_t)st.st_mtim.tv_sec;
        f.size = (int64_t)st.st_size;
        if (!VEC_PUSH(files, n, room, f)) base_free(f.path);
    }
    if (d) closedir(d);
    if (n) qsort(files, n, sizeof *files, by_age);
    *out_n = n;
    return files;
}

static void free_list(entry *files, size_t n) {
    for (size_t i = 0; i < n; i++) base_free(files[i].path);
    base_free(files);
}

/* Removes the files used last before all others until at most `cap` bytes are left; the newest `keep` stay. What is
 * left is what the cache's size is from here on. */
static void shrink(const char *dir, entry *files, size_t n, int64_t cap, size_t keep, int64_t *out_files,
                   int64_t *out_bytes) {
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) total += files[i].leftover ? 0 : files[i].size;
    for (size_t i = 0; i + keep < n && total > cap; i++) {
        if (files[i].leftover || !files[i].size || unlink(files[i].path) != 0) continue;
        total -= files[i].size;
        ++*out_files;
        *out_bytes += files[i].size;
    }
    lazy_cache_counted(dir, total);
}

void lazy_cache_enforce_cap(const char *dir, int64_t added) {
    int64_t cap = (int64_t)2 << 30, gone = 0, bytes = 0;
    const char *text = env_get("XT_CACHE_BYTES");
    if (text && !parse_bytes(text, &cap))
        log_once("XT_CACHE_BYTES", XT_SEV_WARNING, "XT_CACHE_BYTES=%s is no size (300M, 2GiB); 2 GiB is used", text);
    int64_t total = lazy_cache_add(dir, added);
    if (total >= 0 && total <= cap) return;
    size_t n;
    entry *files = list(dir, &n);
    /* Some room is left, so that the next program does not list them again. */
    int64_t held = 0;
    for (size_t i = 0; i < n; i++) {
        if (!files[i].leftover)
            held += files[i].size;
        else if (file_is_abandoned(AT_FDCWD, files[i].path))
            unlink(files[i].path);
    }
    shrink(dir, files, n, held > cap ? cap - cap / 8 : cap, 1, &gone, &bytes);
    free_list(files, n);
}

/* --- for people: xtrain cache --- */
static xt_status open_cache(char **out_dir) {
    char why[256];
    char *dir = lazy_cache_folder(why, sizeof why);
    xt_status s = NULL;
    if (why[0])
        s = status_new(dir ? XT_PERMISSION_DENIED : XT_NOT_FOUND, NULL, "the compile cache%s%s: %s", dir ? " " : "",
                       dir ? dir : "", why);
    else if (!file_exists(dir))
        s = status_new(XT_NOT_FOUND, NULL,
                       "there is no compile cache yet: %s does not exist; the first program that is compiled makes it",
                       dir);
    if (s)
        base_free(dir);
    else
        *out_dir = dir;
    return s;
}

static bool key_of(const char *name, hash128 *out) {
    char hex[33];
    memset(out, 0, sizeof *out);
    if (strlen(name) != 32 + strlen(".xtc")) return false;
    for (int i = 0; i < 32; i++) {
        const char *at = strchr("0123456789abcdef", name[i]);
        if (!at || !*at) return false;
    }
    memcpy(hex, name, 16);
    hex[16] = '\0';
    out->lo = strtoull(hex, NULL, 16);
    memcpy(hex, name + 16, 17);
    hex[16] = '\0';
    out->hi = strtoull(hex, NULL, 16);
    return true;
}

static const char *problem_of(const entry *f) {
    hash128 key;
    if (f->leftover) return "a writer ended in the middle of it";
    if (!key_of(f->name, &key)) return "its name is no key";
    char *data = NULL;
    size_t n = 0;
    xt_status s = file_read_all(f->path, &data, &n);
    const char *why = s ? "it cannot be read" : lazy_cache_damage(data, n, key);
    xt_status_free(s);
    base_free(data);
    return why;
}

xt_status xt_cache_each(bool verify, bool (*visit)(void *user, const xt_cache_file *f), void *user) {
    char *dir = NULL;
    size_t n;
    XT_TRY(open_cache(&dir));
    entry *files = list(dir, &n);
    for (size_t i = n; i-- > 0;) { /* newest first */
        if (files[i].leftover && time(NULL) - files[i].used < LEFTOVER_S) continue; /* being written */
        xt_cache_file f = {
            .bytes = files[i].size, .used = files[i].used, .problem = verify ? problem_of(&files[i]) : NULL};
        snprintf(f.name, sizeof f.name, "%s", files[i].name);
        if (!visit(user, &f)) break;
    }
    free_list(files, n);
    base_free(dir);
    return NULL;
}

xt_status xt_cache_prune_opt(int64_t *out_files, int64_t *out_bytes, xt_cache_prune_opts o) {
    int64_t gone = 0, bytes = 0;
    char *dir = NULL;
    size_t n;
    if (out_files) *out_files = 0;
    if (out_bytes) *out_bytes = 0;
    if (o.max_bytes < -1 || !(o.older_days >= 0 || o.older_days == -1))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_cache_prune: .max_bytes %lld, .older_days %g: not negative, or -1 for no limit",
                          (long long)o.max_bytes, o.older_days);
    XT_TRY(open_cache(&dir));
    entry *files = list(dir, &n);
    for (size_t i = 0; i < n; i++) {
        double age_s = (double)(time(NULL) - files[i].used);
        bool old = o.older_days >= 0 && age_s >= o.older_days * 86400;
        bool goes = files[i].leftover ? age_s >= LEFTOVER_S : old || (o.damaged && problem_of(&files[i]));
        if (!goes || unlink(files[i].path) != 0) continue;
        gone++;
        bytes += files[i].size;
        files[i].size = 0; /* gone */
    }
    shrink(dir, files, n, o.max_bytes >= 0 ? o.max_bytes : INT64_MAX, 0, &gone, &bytes);
    free_list(files, n);
    base_free(dir);
    if (out_files) *out_files = gone;
    if (out_bytes) *out_bytes = bytes;
    return NULL;
}
