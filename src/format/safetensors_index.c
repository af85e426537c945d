/* Weights in several files, by an index or by a file that names shards. NAME.safetensors.index.json says in which shard
 * each tensor lies, as Hugging Face's library writes it. Nothing in the index is trusted: a shard is a name within the
 * index's own folder, and each tensor must be in the shard that is named for it and in no other. */
#include <sys/stat.h>

#include "base/look.h"
#include "base/private_file.h"
#include "format/safetensors_int.h"

bool st_is_index(const char *path) {
    size_t n = strlen(path), k = strlen(ST_INDEX);
    return n > k && strcmp(path + n - k, ST_INDEX) == 0;
}

xt_status st_in_folder(const char *dir, char **out) {
    static const char *const names[] = {"model.safetensors", "model.safetensors" ST_INDEX};
    xt_status s = NULL;
    *out = NULL;
    for (size_t i = 0; !s && !*out && i < BASE_COUNT(names); i++) {
        struct stat st;
        bool there = false;
        char *path = path_join(dir, names[i]);
        s = path ? file_look(path, &st, &there) : status_oom(strlen(dir), "a file's name");
        if (there)
            *out = path;
        else
            base_free(path);
    }
    return s;
}

/* A name, not a way: neither a folder of another place nor a hidden file. */
static bool is_plain_name(const char *name) {
    return name && *name && name[0] != '.' && !strchr(name, '/') && strlen(name) < 256;
}

/* A shard is one file: what it says of shards of its own is not followed, as they could be itself. */
static xt_status open_alone(const st_file *f, const char *path, st_file **out) {
    int fd;
    XT_TRY(file_open_input(path, false, &fd, NULL));
    XT_TRY(st_open_fd(fd, path, out));
    if (!st_get_meta(*out, ST_SHARDS)) return NULL;
    st_close(*out);
    *out = NULL;
    return status_new(XT_DATA_LOSS, NULL, "%s: its shard %s has shards; tensors are expected there", f->path, path);
}

/* tensor: for whose sake; NULL: of a list of shards. */
static xt_status open_part(st_file *f, const char *tensor, const char *name, st_file **out) {
    const char *slash = strrchr(f->path, '/');
    *out = NULL;
    if (!tensor && !is_plain_name(name))
        return status_new(XT_DATA_LOSS, NULL,
                          "%s: its list of shards has \"%.200s\"; the name of a file beside it is "
                          "expected",
                          f->path, name);
    if (!is_plain_name(name))
        return status_new(XT_DATA_LOSS, NULL,
                          "%s: tensor %.200s is said to be in \"%.200s\"; the name of a file beside the index is "
                          "expected, without a folder",
                          f->path, tensor, name ? name : "");
    str path = STR_INIT;
    str_printf(&path, "%.*s%s", slash ? (int)(slash - f->path + 1) : 0, f->path, name);
    struct stat st;
    bool there = false;
    xt_status s = path.failed ? status_oom(path.len, f->path) : file_look(str_cstr(&path), &st, &there);
    if (!s && !tensor && !there)
        s = status_new(XT_NOT_FOUND, NULL,
                       "%s is not there, which holds a part of %s; shards go where their .ckpt file goes",
                       str_cstr(&path), f->path);
    if (!s && !there)
        s = status_new(XT_NOT_FOUND, NULL,
                       "%s is not there, and %s says that tensor %.200s is in it; was the folder copied or downloaded "
                       "whole?",
                       str_cstr(&path), f->path, tensor);
    if (!s) s = st_is_index(name) ? status_new(XT_DATA_LOSS, NULL, "%s: a shard is an index", f->path) : NULL;
    if (!s) s = open_alone(f, str_cstr(&path), out);
    str_free(&path);
    if (!s && !VEC_PUSH(f->parts, f->n_parts, f->cap_parts, *out)) {
        st_close(*out);
        *out = NULL;
        s = status_oom(sizeof *out, f->path);
    }
    return s;
}

static xt_status take_entries(st_file *f, const st_file *part) {
    for (size_t i = 0; i < part->n; i++) {
        const st_entry *e = &part->entries[i], *twin = st_find(f, e->name);
        if (strcmp(e->name, ST_SUMS) == 0) continue;
        if (twin)
            return status_new(XT_DATA_LOSS, NULL,
                              "%s: tensor %.200s is in %s and in %s; which one is meant is not known", f->path, e->name,
                              twin->file->path, part->path);
        if (!VEC_PUSH(f->entries, f->n, f->cap, *e) ||
            !map_put(f->by_name, e->name, strlen(e->name), (void *)(uintptr_t)f->n, NULL))
            return status_oom(sizeof *e, f->path);
    }
    f->header = hash_mix(f->header, part->header);
    return NULL;
}

xt_status st_open_shards(st_file *f, const char *list) {
    xt_status s = NULL;
    hash128 own = f->header; /* which the file's own sums are compared with */
    for (size_t n; *list && !s; list += n + (list[n] == '\n')) {
        st_file *part;
        n = strcspn(list, "\n");
        char *name = base_strndup(list, n);
        s = name ? open_part(f, NULL, name, &part) : status_oom(n, f->path);
        if (!s) s = take_entries(f, part);
        base_free(name);
    }
    f->header = own;
    return s;
}

/* Each shard is opened once, in the order in which the index first names it. */
static xt_status open_parts(st_file *f, const cJSON *where, map *opened) {
    const cJSON *item;
    cJSON_ArrayForEach(item, where) {
        const char *name = cJSON_GetStringValue(item);
        st_file *part = name ? map_get(opened, name, strlen(name)) : NULL;
        if (!part) {
            XT_TRY(open_part(f, item->string, name, &part));
            XT_TRY(take_entries(f, part));
            if (!map_put(opened, name, strlen(name), part, NULL)) return status_oom(64, f->path);
        }
        if (!st_find(part, item->string))
            return status_new(XT_DATA_LOSS, NULL, "%s: tensor %.200s is said to be in %s, which does not hold it",
                              f->path, item->string, part->path);
    }
    return NULL;
}

static xt_status read_index(st_file *f) {
    char *text;
    size_t n;
    XT_TRY(file_read_all(f->path, &text, &n));
    f->json = cJSON_ParseWithLength(text, n);
    base_free(text);
    const cJSON *where = cJSON_GetObjectItemCaseSensitive(f->json, "weight_map");
    if (!cJSON_IsObject(where))
        return status_new(
            XT_DATA_LOSS, NULL,
            "%s has no object \"weight_map\"; an index of Hugging Face's, tensors and the files that hold "
            "them, is expected",
            f->path);
    map *opened = map_new();
    xt_status s = opened ? open_parts(f, where, opened) : status_oom(64, f->path);
    map_free(opened, NULL);
    return s;
}

xt_status st_open_index(const char *path, st_file **out) {
    st_file *f = base_calloc(1, sizeof *f);
    xt_status s = NULL;
    *out = NULL;
    if (!f || !(f->path = base_strdup(path)) || !(f->by_name = map_new())) s = status_oom(sizeof *f, path);
    if (!s) s = read_index(f);
    if (s)
        st_close(f);
    else
        *out = f;
    return s;
}
