/* See checkpoint_shards.h. Names of shards are read from files that anybody may have written, so what is removed must
 * be a name that shard_path makes, of a regular file in the checkpoint's own folder. */
#include "train/checkpoint_shards.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/look.h"
#include "base/private_file.h"
#include "coll/coll.h"
#include "format/safetensors.h"

enum { LOOK_US = 20000, WORD = 16, OLD_S = 3600 };

static const char ending[] = ".safetensors", index_ending[] = ".safetensors.index.json", hex[] = "0123456789abcdef";

int shard_writer(shard_loads *l, size_t bytes) {
    int least = 0;
    for (int r = 1; r < l->count; r++)
        if (l->bytes[r] < l->bytes[least]) least = r;
    if (l->count) l->bytes[least] += (int64_t)bytes;
    return least;
}

/* --- names --- */

xt_status shard_plan_make(const char *path, int count, shard_plan *out) {
    uint64_t word;
    if (getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word) return status_errno("reading random bytes", "");
    out->count = count;
    int n = snprintf(out->stem, sizeof out->stem, "%s-%016llx", path, (unsigned long long)word);
    if (n > 0 && (size_t)n < sizeof out->stem - 64) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL, "%s: the name is too long for the names of its shards", path);
}

xt_status shard_path(const shard_plan *p, int rank, str *out) {
    str_clear(out);
    str_printf(out, "%s-%05d-of-%05d%s", p->stem, rank + 1, p->count, ending);
    return out->failed ? status_oom(out->len, p->stem) : NULL;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "FILE.ckpt-WORD": how long that is at the begin of a shard's or an index's name; 0: it is none. */
static size_t stem_of(const char *name) {
    const char *dash = strstr(name, ".ckpt-");
    for (const char *next = dash; next; next = strstr(next + 1, ".ckpt-")) dash = next;
    if (!dash || dash == name || name[0] == '.' || strchr(name, '/')) return 0;
    const char *word = dash + strlen(".ckpt-"), *rest = word + WORD;
    int at, of, end = 0;
    if (strspn(word, hex) != WORD) return 0;
    bool shard = sscanf(rest, "-%5d-of-%5d%n", &at, &of, &end) == 2 && end == 15 && strcmp(rest + end, ending) == 0;
    return shard || strcmp(rest, index_ending) == 0 ? (size_t)(rest - name) : 0;
}

xt_status shard_list(const shard_plan *p, str *out) {
    str one = STR_INIT;
    xt_status s = NULL;
    for (int r = 0; r < p->count && !s; r++) {
        s = shard_path(p, r, &one);
        str_printf(out, "%s%s", r ? "\n" : "", base_name(str_cstr(&one)));
    }
    str_free(&one);
    return s ? s : out->failed ? status_oom(out->len, p->stem) : NULL;
}

/* --- the last step of a save --- */

static xt_status wait_for(const char *path, int rank, int64_t until) {
    while (file_is_missing(path)) {
        if (clock_ns() > until)
            return status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "rank %d has not written its shard %s within the time limit (XT_TIMEOUT); shards need a "
                              "folder that all ranks share",
                              rank, path);
        usleep(LOOK_US);
    }
    return NULL;
}

static xt_status add_to_index(const char *path, cJSON *where, double *total) {
    st_file *f = NULL;
    XT_TRY(st_open(path, &f)); /* all of it is there: its size is compared with its header */
    bool ok = true;
    for (size_t i = 0; i < st_count(f) && ok; i++) {
        const st_entry *e = st_at(f, i);
        *total += (double)(e->end - e->begin);
        ok = cJSON_AddStringToObject(where, e->name, base_name(path));
    }
    st_close(f);
    return ok ? NULL : status_oom(64, path);
}

static xt_status write_index(const shard_plan *p, const cJSON *json) {
    char *text = cJSON_Print(json);
    str path = STR_INIT;
    str_printf(&path, "%s%s", p->stem, index_ending);
    xt_status s = text && !path.failed ? file_write_all(str_cstr(&path), text, strlen(text)) : status_oom(64, p->stem);
    str_free(&path);
    cJSON_free(text);
    return s;
}

xt_status shard_gather(const shard_plan *p) {
    int64_t until = clock_ns() + (int64_t)(coll_default_timeout() * 1e9);
    double total = 0;
    str path = STR_INIT;
    cJSON *json = cJSON_CreateObject(), *meta = cJSON_AddObjectToObject(json, "metadata"),
          *where = cJSON_AddObjectToObject(json, "weight_map");
    xt_status s = where ? NULL : status_oom(64, p->stem);
    for (int r = 0; r < p->count && !s; r++) {
        s = shard_path(p, r, &path);
        if (!s) s = wait_for(str_cstr(&path), r, until);
        if (!s) s = add_to_index(str_cstr(&path), where, &total);
    }
    if (!s && !cJSON_AddNumberToObject(meta, "total_size", total)) s = status_oom(64, p->stem);
    if (!s) s = write_index(p, json);
    cJSON_Delete(json);
    str_free(&path);
    return s;
}

/* --- removing --- */

char *shards_of(int folder, const char *name) {
    st_file *f = NULL;
    int fd = file_open_regular(folder, name, NULL);
    if (fd < 0) return NULL;
    xt_status s = st_open_fd(fd, name, &f);
    const char *list = s ? NULL : st_get_meta(f, ST_SHARDS);
    char *copy = list ? base_strdup(list) : NULL;
    xt_status_free(s);
    st_close(f);
    return copy;
}

static bool remove_regular(int folder, const char *name) {
    struct stat st;
    return stem_of(name) && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           unlinkat(folder, name, 0) == 0;
}

/* Of a descriptor that may be a path only. */
static DIR *open_folder(int folder) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && fd >= 0) close(fd);
    return d;
}

static size_t first_stem(const char *list) {
    char first[NAME_MAX + 1];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(list, "\n"), list);
    return stem_of(first);
}

/* The stems that the checkpoints of a folder name: keys of `named`. */
static bool named_stems(DIR *d, map *named) {
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        st_file *f = NULL;
        int fd = n > 5 && strcmp(e->d_name + n - 5, ".ckpt") == 0 ? file_open_regular(dirfd(d), e->d_name, NULL) : -1;
        if (fd < 0) continue;
        xt_status s = st_open_fd(fd, e->d_name, &f);
        const char *list = s ? NULL : st_get_meta(f, ST_SHARDS);
        size_t stem = list ? first_stem(list) : 0;
        if (stem) ok = map_put(named, list, stem, (void *)1, NULL);
        xt_status_free(s);
        st_close(f);
    }
    return ok;
}

static void remove_listed(int folder, const char *list) {
    char name[NAME_MAX + 1], index[NAME_MAX + 1] = "";
    for (size_t n; list && *list; list += n + (list[n] == '\n')) {
        n = strcspn(list, "\n");
        if (n >= sizeof name) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, list);
        size_t stem = stem_of(name);
        if (stem && stem + sizeof index_ending < sizeof index)
            snprintf(index, sizeof index, "%.*s%s", (int)stem, name, index_ending);
        remove_regular(folder, name);
    }
    if (index[0]) remove_regular(folder, index);
}

void shards_remove(int folder, const char *list) {
    DIR *d = list ? open_folder(folder) : NULL;
    map *named = map_new();
    if (d && named && named_stems(d, named) && !map_get(named, list, first_stem(list))) remove_listed(folder, list);
    if (d) closedir(d);
    map_free(named, NULL);
}

int shards_sweep(int folder, bool nobodys) {
    int n = 0;
    time_t before = time(NULL) - (nobodys ? 0 : OLD_S);
    DIR *d = open_folder(folder);
    map *named = map_new();
    if (d && named && named_stems(d, named)) {
        rewinddir(d);
        for (struct dirent *e; (e = readdir(d));) {
            size_t stem = stem_of(e->d_name);
            struct stat st;
            bool old = stem && !map_get(named, e->d_name, stem) &&
                       fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime <= before;
            n += old && remove_regular(folder, e->d_name);
        }
    }
    if (d) closedir(d);
    map_free(named, NULL);
    return n;
}
