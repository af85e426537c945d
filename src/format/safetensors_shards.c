/* Writing weights as shards with an index. All shards lie under temporary names until the last byte is written, then
 * they and at last the index get theirs: a save that fails leaves what was there. */
#include <errno.h>
#include <unistd.h>

#include "format/safetensors_int.h"

typedef struct declared {
    char *name;
    xt_dtype dtype;
    int rank;
    int64_t dims[8];
    size_t part;
} declared;
struct st_set {
    char *path;
    uint64_t max, total;
    cJSON *meta;
    declared *tensors;
    size_t n, cap, given; /* given: tensors whose data came */
    st_writer **parts;
    size_t n_parts;
};

void st_set_abandon(st_set *w) {
    if (!w) return;
    for (size_t i = 0; w->parts && i < w->n_parts; i++) st_abandon(w->parts[i]);
    for (size_t i = 0; i < w->n; i++) base_free(w->tensors[i].name);
    cJSON_Delete(w->meta);
    base_free(w->parts);
    base_free(w->tensors);
    base_free(w->path);
    base_free(w);
}

xt_status st_set_create(const char *path, uint64_t max_bytes, st_set **out) {
    static const char ending[] = ".safetensors";
    size_t n = strlen(path), k = sizeof ending - 1;
    *out = NULL;
    if (max_bytes && (n <= k || strcmp(path + n - k, ending) != 0))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: shards are named after a file NAME.safetensors", path);
    st_set *w = base_calloc(1, sizeof *w);
    if (!w) return status_oom(sizeof *w, path);
    w->path = base_strdup(path);
    w->meta = cJSON_CreateObject();
    w->max = max_bytes;
    if (!w->path || !w->meta) {
        st_set_abandon(w);
        return status_oom(n, path);
    }
    *out = w;
    return NULL;
}

xt_status st_set_meta(st_set *w, const char *key, const char *value) {
    return cJSON_AddStringToObject(w->meta, key, value) ? NULL : status_oom(strlen(value), w->path);
}

xt_status st_set_declare(st_set *w, const char *name, xt_dtype t, int rank, const int64_t *dims) {
    declared d = {.dtype = t, .rank = rank};
    if (rank > (int)BASE_COUNT(d.dims))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s has %d dims; files hold at most 8", w->path, name,
                          rank);
    for (int i = 0; i < rank; i++) d.dims[i] = dims[i];
    d.name = base_strdup(name);
    if (d.name && VEC_PUSH(w->tensors, w->n, w->cap, d)) return NULL;
    base_free(d.name);
    return status_oom(sizeof d, w->path);
}

/* Which tensors go together: in their order, as many as fit. */
static xt_status divide(st_set *w) {
    uint64_t in_part = 0;
    size_t part = 0;
    for (size_t i = 0; i < w->n; i++) {
        declared *d = &w->tensors[i];
        int64_t count;
        size_t bytes;
        if (!dims_count(d->dims, (size_t)d->rank, &count) || !size_mul((size_t)count, xt_dtype_size(d->dtype), &bytes))
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s: its size overflows", w->path, d->name);
        if (w->max && in_part && in_part + bytes > w->max) {
            part++;
            in_part = 0;
        }
        d->part = part;
        in_part += bytes;
        w->total += bytes;
    }
    w->n_parts = part + 1;
    return NULL;
}

static void name_part(const st_set *w, size_t part, str *out) {
    size_t stem = strlen(w->path) - (w->n_parts > 1 ? strlen(".safetensors") : 0);
    str_appendn(out, w->path, stem);
    if (w->n_parts > 1) str_printf(out, "-%05zu-of-%05zu.safetensors", part + 1, w->n_parts);
}

/* *at: its first tensor, then that of the next part. */
static xt_status open_part(st_set *w, size_t part, size_t *at) {
    str name = STR_INIT;
    name_part(w, part, &name);
    xt_status s = name.failed ? status_oom(name.len, w->path) : st_create(str_cstr(&name), &w->parts[part]);
    str_free(&name);
    const cJSON *e;
    cJSON_ArrayForEach(e, w->meta) if (!s) s = st_meta(w->parts[part], e->string, e->valuestring);
    if (!s) s = st_with_sums(w->parts[part]);
    for (; *at < w->n && w->tensors[*at].part == part && !s; ++*at) {
        const declared *d = &w->tensors[*at];
        s = st_declare(w->parts[part], d->name, d->dtype, d->rank, d->dims);
    }
    return s;
}

static xt_status open_parts(st_set *w) {
    size_t at = 0;
    if (w->parts) return NULL;
    XT_TRY(divide(w));
    w->parts = base_calloc(w->n_parts, sizeof *w->parts);
    if (!w->parts) return status_oom(w->n_parts * sizeof *w->parts, w->path);
    for (size_t i = 0; i < w->n_parts; i++) XT_TRY(open_part(w, i, &at));
    return NULL;
}

xt_status st_set_data(st_set *w, const void *data, size_t n) {
    XT_TRY(open_parts(w));
    if (w->given == w->n) return status_new(XT_INTERNAL, NULL, "%s: more data than tensors", w->path);
    return st_data(w->parts[w->tensors[w->given++].part], data, n);
}

static xt_status write_index(const st_set *w) {
    cJSON *json = cJSON_CreateObject(), *meta = cJSON_AddObjectToObject(json, "metadata"),
          *where = cJSON_AddObjectToObject(json, "weight_map");
    bool ok = meta && where && cJSON_AddNumberToObject(meta, "total_size", (double)w->total);
    for (size_t i = 0; i < w->n && ok; i++) {
        str name = STR_INIT;
        name_part(w, w->tensors[i].part, &name);
        const char *slash = strrchr(str_cstr(&name), '/');
        ok = !name.failed && cJSON_AddStringToObject(where, w->tensors[i].name, slash ? slash + 1 : str_cstr(&name));
        str_free(&name);
    }
    char *text = ok ? cJSON_Print(json) : NULL;
    str path = STR_INIT;
    str_printf(&path, "%s" ST_INDEX, w->path);
    xt_status s = text && !path.failed ? file_write_all(str_cstr(&path), text, strlen(text)) : status_oom(64, w->path);
    str_free(&path);
    cJSON_free(text);
    cJSON_Delete(json);
    return s;
}

/* Shards take the places of an earlier set's one by one: its index goes first, so that nobody who comes meanwhile, or
 * after this was killed, reads some of the one and some of the other. */
static xt_status forget_index(const st_set *w) {
    str path = STR_INIT;
    str_printf(&path, "%s" ST_INDEX, w->path);
    xt_status s = path.failed ? status_oom(64, w->path) : NULL;
    if (!s && unlink(str_cstr(&path)) != 0 && errno != ENOENT)
        s = status_errno("cannot remove the index of earlier shards,", str_cstr(&path));
    str_free(&path);
    return s;
}

xt_status st_set_commit(st_set *w) {
    xt_status s = open_parts(w);
    if (!s && w->given != w->n) s = status_new(XT_INTERNAL, NULL, "%s: not all tensors have data", w->path);
    if (!s && w->n_parts > 1 && !rehearsal_on()) s = forget_index(w);
    for (size_t i = 0; i < w->n_parts && !s; i++) {
        st_writer *part = w->parts[i];
        w->parts[i] = NULL;
        s = st_commit(part);
    }
    if (!s && w->n_parts > 1 && !rehearsal_on()) {
        s = write_index(w);
        /* A reader of the folder would take it before the index. */
        if (!s && unlink(w->path) != 0 && errno != ENOENT) s = status_errno("cannot remove", w->path);
    }
    st_set_abandon(w);
    return s;
}
