/* What a checkpoint holds, in host memory, and its file: metadata and tensors, in the order in which they were added.
 */
#include "train/checkpoint.h"

#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"

typedef struct part {
    char *name;
    xt_dtype dtype;
    int rank;
    int64_t dims[XT_MAX_RANK];
    void *data;
    lazy_whole *shared; /* whose bytes data are; NULL: data are the part's own */
    size_t bytes;
} part;
struct snapshot {
    char **meta; /* key, value, key, value */
    size_t n_meta, cap_meta;
    part *parts;
    size_t n, cap;
    int64_t rows; /* of the logs, that are of this state */
};

snapshot *snapshot_new(void) {
    return base_calloc(1, sizeof(snapshot));
}

void snapshot_note_rows(snapshot *s) {
    s->rows = log_rows_issued();
}

void snapshot_free(snapshot *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n_meta; i++) base_free(s->meta[i]);
    for (size_t i = 0; i < s->n; i++) {
        base_free(s->parts[i].name);
        if (!s->parts[i].shared) base_free(s->parts[i].data);
        lazy_whole_release(s->parts[i].shared);
    }
    base_free(s->meta);
    base_free(s->parts);
    base_free(s);
}

xt_status snapshot_add_meta(snapshot *s, const char *key, const char *value) {
    char *k = base_strdup(key), *v = base_strdup(value);
    if (k && v && VEC_PUSH(s->meta, s->n_meta, s->cap_meta, k)) {
        if (VEC_PUSH(s->meta, s->n_meta, s->cap_meta, v)) return NULL;
        s->n_meta--;
    }
    base_free(k);
    base_free(v);
    return status_oom(strlen(value), key);
}

xt_status snapshot_add(snapshot *s, const char *name, const ir_type *type, void *data, size_t bytes) {
    part p = {.name = base_strdup(name), .dtype = type->dtype, .rank = (int)type->rank, .data = data, .bytes = bytes};
    memcpy(p.dims, type->dims, type->rank * sizeof *p.dims);
    if (p.name && VEC_PUSH(s->parts, s->n, s->cap, p)) return NULL;
    base_free(p.name);
    base_free(data);
    return status_oom(bytes, name);
}

xt_status snapshot_add_tensor(snapshot *s, const char *name, xt_tensor tensor) {
    const ir_type *type = lazy_type(tensor);
    if (!type) return status_new(XT_FAILED_PRECONDITION, NULL, "tensor %s is gone", name);
    size_t n = ir_type_bytes(type);
    lazy_whole *shared = lazy_state_whole(tensor); /* what a mesh's ranks brought together */
    if (shared) {
        part p = {.name = base_strdup(name),
                  .dtype = type->dtype,
                  .rank = (int)type->rank,
                  .data = shared->bytes,
                  .shared = shared,
                  .bytes = n};
        memcpy(p.dims, type->dims, type->rank * sizeof *p.dims);
        if (p.name && VEC_PUSH(s->parts, s->n, s->cap, p)) return NULL;
        base_free(p.name);
        lazy_whole_release(shared);
        return status_oom(n, name);
    }
    void *data = base_malloc(n + 1);
    xt_status st = data ? lazy_state_read(tensor, data, n) : status_oom(n, name);
    if (!st) return snapshot_add(s, name, type, data, n);
    base_free(data);
    return st;
}

xt_status snapshot_each_name(const snapshot *s, snapshot_tensor_fn fn, void *user) {
    for (size_t i = 0; i < s->n; i++) XT_TRY(fn(user, s->parts[i].name, (xt_tensor){0}));
    return NULL;
}

/* --- writing --- */
static xt_status make_folder_of(const char *path) {
    char *folder = base_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    xt_status s = folder ? NULL : status_oom(strlen(path), path);
    if (slash && slash != folder) {
        *slash = 0;
        s = file_make_dirs(folder, 0755);
    }
    base_free(folder);
    return s;
}

static xt_status write_parts(const snapshot *s, st_writer *w) {
    for (size_t i = 0; i < s->n_meta; i += 2) XT_TRY(st_meta(w, s->meta[i], s->meta[i + 1]));
    for (size_t i = 0; i < s->n; i++)
        XT_TRY(st_declare(w, s->parts[i].name, s->parts[i].dtype, s->parts[i].rank, s->parts[i].dims));
    st_sums sums = {0};
    int64_t words = sizeof sums / sizeof(uint64_t);
    XT_TRY(st_declare(w, CHECKPOINT_CHECKSUM, XT_U64, 1, &words));
    for (size_t i = 0; i < s->n; i++) {
        XT_TRY(st_data(w, s->parts[i].data, s->parts[i].bytes));
        sums.data = hash_bytes(s->parts[i].data, s->parts[i].bytes, sums.data);
    }
    XT_TRY(st_data(w, "", 0)); /* the header is written, whatever parts there are */
    sums.header = st_written_header(w);
    return st_data(w, &sums, sizeof sums);
}

/* A shard is weights like any others: its sums stand where readers of weights do not stumble over them. */
static xt_status write_plain(const snapshot *s, st_writer *w) {
    XT_TRY(st_with_sums(w));
    for (size_t i = 0; i < s->n; i++)
        XT_TRY(st_declare(w, s->parts[i].name, s->parts[i].dtype, s->parts[i].rank, s->parts[i].dims));
    for (size_t i = 0; i < s->n; i++) XT_TRY(st_data(w, s->parts[i].data, s->parts[i].bytes));
    return NULL;
}

static xt_status write_file(const snapshot *s, const char *path, xt_status (*parts)(const snapshot *, st_writer *)) {
    XT_TRY(make_folder_of(path));
    st_writer *w;
    XT_TRY(st_create(path, &w));
    xt_status e = parts(s, w);
    if (!e) return status_context(st_commit(w), "saving %s", path);
    st_abandon(w);
    return status_context(e, "saving %s", path);
}

xt_status snapshot_write(const snapshot *s, const char *path) {
    log_wait_rows(s->rows);
    return write_file(s, path, write_parts);
}

xt_status snapshot_write_shard(const snapshot *s, const char *path) {
    return write_file(s, path, write_plain);
}
