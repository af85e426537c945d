/* Reading safetensors. Nothing in the file is trusted: the header's size, every shape and every offset is checked
 * against the file's own size. */
#include "format/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/look.h"
#include "base/private_file.h"
#include "format/safetensors_int.h"

static const uint64_t MAX_HEADER = 100u << 20;

st_file *st_retain(st_file *f) {
    atomic_fetch_add(&f->more, 1);
    return f;
}

void st_close(st_file *f) {
    if (!f || atomic_fetch_sub(&f->more, 1) > 0) return;
    if (f->f) fclose(f->f);
    for (size_t i = 0; i < f->n_parts; i++) st_close(f->parts[i]);
    base_free(f->parts);
    cJSON_Delete(f->json);
    cJSON_Delete(f->meta);
    map_free(f->by_name, NULL);
    base_free(f->entries);
    base_free(f->path);
    base_free(f);
}

static xt_status bad(const st_file *f, const char *name, const char *why) {
    return status_new(XT_DATA_LOSS, NULL, "%s: tensor %s: %s", f->path, name, why);
}

static bool as_u64(const cJSON *j, uint64_t *out) {
    if (!cJSON_IsNumber(j) || j->valuedouble < 0 || j->valuedouble > 9007199254740992.0 ||
        j->valuedouble != (double)(uint64_t)j->valuedouble)
        return false;
    *out = (uint64_t)j->valuedouble;
    return true;
}

static xt_status parse_entry(st_file *f, const cJSON *item) {
    st_entry e = {.name = item->string,
                  .dtype = st_dtype_from(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "dtype")))};
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape"),
                *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets"), *d;
    uint64_t begin, end, v;
    if (e.dtype == XT_DTYPE_NONE) return bad(f, e.name, "its dtype is none this version reads");
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > 8)
        return bad(f, e.name, "its shape is no list of at most 8 sizes");
    cJSON_ArrayForEach(d, shape) {
        if (!as_u64(d, &v)) return bad(f, e.name, "its shape holds something that is no size");
        e.dims[e.rank++] = (int64_t)v;
    }
    if (cJSON_GetArraySize(offsets) != 2 || !as_u64(cJSON_GetArrayItem(offsets, 0), &begin) ||
        !as_u64(cJSON_GetArrayItem(offsets, 1), &end))
        return bad(f, e.name, "data_offsets is no pair of offsets");
    int64_t count;
    size_t bytes;
    if (!dims_count(e.dims, (size_t)e.rank, &count) || !size_mul((size_t)count, xt_dtype_size(e.dtype), &bytes))
        return bad(f, e.name, "its size overflows");
    if (begin > end || end > f->size - f->data)
        return bad(f, e.name, "its data lies outside the file: the file is cut off or damaged");
    if (end - begin != bytes) return bad(f, e.name, "its data_offsets do not fit its shape");
    e.begin = f->data + begin;
    e.end = f->data + end;
    e.file = f;
    if (!VEC_PUSH(f->entries, f->n, f->cap, e) ||
        !map_put(f->by_name, e.name, strlen(e.name), (void *)(uintptr_t)f->n, NULL))
        return status_oom(sizeof e, f->path);
    return NULL;
}

/* Of two values under one name one reader takes the first and another the last: the file would be two files. */
static xt_status no_twins(const st_file *f, const cJSON *object) {
    const cJSON *item;
    map *seen = cJSON_IsObject(object) ? map_new() : NULL;
    xt_status s = cJSON_IsObject(object) && !seen ? status_oom(64, f->path) : NULL;
    cJSON_ArrayForEach(item, object) {
        if (s || !seen) break;
        size_t n = strlen(item->string);
        if (map_get(seen, item->string, n))
            s = status_new(XT_DATA_LOSS, NULL, "%s: the header has \"%.200s\" twice; which one is meant is not known",
                           f->path, item->string);
        else if (!map_put(seen, item->string, n, (void *)1, NULL))
            s = status_oom(64, f->path);
    }
    map_free(seen, NULL);
    return s;
}

static int by_place(const void *a, const void *b) {
    const st_entry *x = *(const st_entry *const *)a, *y = *(const st_entry *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Each byte belongs to one tensor: otherwise writing one would change another. */
static xt_status no_overlap(const st_file *f) {
    const st_entry **sorted = base_malloc((f->n ? f->n : 1) * sizeof *sorted);
    if (!sorted) return status_oom(f->n * sizeof *sorted, f->path);
    for (size_t i = 0; i < f->n; i++) sorted[i] = &f->entries[i];
    qsort(sorted, f->n, sizeof *sorted, by_place);
    xt_status s = NULL;
    for (size_t i = 1; i < f->n && !s; i++)
        if (sorted[i]->begin < sorted[i - 1]->end)
            s = status_new(
                XT_DATA_LOSS, NULL,
                "%s: the data of tensor %.200s and of %.200s overlap (bytes %llu to %llu, and from %llu on): "
                "the file is damaged",
                f->path, sorted[i - 1]->name, sorted[i]->name, (unsigned long long)sorted[i - 1]->begin,
                (unsigned long long)sorted[i - 1]->end, (unsigned long long)sorted[i]->begin);
    base_free(sorted);
    return s;
}

static xt_status read_exactly(const st_file *f, uint64_t at, void *dst, size_t n) {
    size_t got;
    XT_TRY(file_read_at(fileno(f->f), f->path, dst, n, (int64_t)at, &got));
    return got == n ? NULL
                    : status_new(XT_DATA_LOSS, NULL, "%s: it ends before the %llu bytes that it had when it was opened",
                                 f->path, (unsigned long long)f->size);
}

static xt_status parse_header(st_file *f) {
    unsigned char raw[8];
    XT_TRY(read_exactly(f, 0, raw, sizeof raw));
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) n = n << 8 | raw[i];
    if (n > MAX_HEADER || n > f->size - 8)
        return status_new(
            XT_DATA_LOSS, NULL,
            "%s: the header at offset 0 claims %llu bytes, the file has %llu: cut off, or no safetensors file", f->path,
            (unsigned long long)n, (unsigned long long)f->size);
    char *text = base_malloc(n + 1);
    if (!text) return status_oom(n, f->path);
    xt_status s = read_exactly(f, 8, text, n);
    if (s) {
        base_free(text);
        return s;
    }
    text[n] = 0;
    errno = 0; /* the parser says nothing of memory; malloc does */
    f->json = cJSON_ParseWithLength(text, n);
    bool memory = f->json || errno != ENOMEM;
    size_t said = n;
    while (said && text[said - 1] == ' ') said--;
    char *sums = strstr(text, ST_SUMS_BEGIN);
    if (sums && strspn(sums += sizeof ST_SUMS_BEGIN - 1, "0123456789abcdef") == ST_SUMS_TEXT)
        memset(sums, '0', ST_SUMS_TEXT);
    f->header = hash_bytes(text, said, (hash128){0, 0});
    base_free(text);
    if (!memory) return status_oom(n, f->path);
    if (!cJSON_IsObject(f->json))
        return status_new(XT_DATA_LOSS, NULL, "%s: the header (offset 8, %llu bytes) is no JSON object", f->path,
                          (unsigned long long)n);
    f->data = 8 + n;
    const cJSON *item;
    XT_TRY(no_twins(f, f->json));
    cJSON_ArrayForEach(item, f->json) XT_TRY(no_twins(f, item));
    f->meta = cJSON_DetachItemFromObjectCaseSensitive(f->json, ST_METADATA);
    cJSON_ArrayForEach(item, f->json) XT_TRY(parse_entry(f, item));
    return no_overlap(f);
}

xt_status st_open_fd(int fd, const char *path, st_file **out) {
    *out = NULL;
    st_file *f = base_calloc(1, sizeof *f);
    if (!f || !(f->path = base_strdup(path)) || !(f->by_name = map_new())) {
        close(fd);
        st_close(f);
        return status_oom(sizeof *f, path);
    }
    xt_status s = NULL;
    f->f = fdopen(fd, "rb");
    if (!f->f) {
        s = status_errno("cannot read", path);
        close(fd);
    }
    struct stat st;
    if (!s && fstat(fd, &st) != 0) s = status_errno("cannot look at", path);
    if (!s) {
        f->changed[0] = (int64_t)st.st_mtim.tv_sec;
        f->changed[1] = (int64_t)st.st_mtim.tv_nsec;
        f->size = (uint64_t)st.st_size;
        s = f->size < 8 ? status_new(XT_DATA_LOSS, NULL, "%s: %llu bytes are no safetensors file", path,
                                     (unsigned long long)f->size)
                        : parse_header(f);
    }
    if (s) {
        st_close(f);
        return s;
    }
    *out = f;
    return NULL;
}

xt_status st_open(const char *path, st_file **out) {
    int fd;
    struct stat st;
    bool there;
    *out = NULL;
    XT_TRY(file_look(path, &st, &there));
    if (there && S_ISDIR(st.st_mode)) {
        char *inside;
        XT_TRY(st_in_folder(path, &inside));
        xt_status s = inside ? st_open(inside, out) : NULL;
        base_free(inside);
        if (s || *out) return s;
    }
    if (st_is_index(path)) return st_open_index(path, out);
    XT_TRY(file_open_input(path, false, &fd, NULL));
    XT_TRY(st_open_fd(fd, path, out));
    const char *shards = st_get_meta(*out, ST_SHARDS);
    xt_status s = shards ? st_open_shards(*out, shards) : NULL;
    if (s) {
        st_close(*out);
        *out = NULL;
    }
    return s;
}

hash128 st_header(const st_file *f) {
    return f->header;
}
int st_descriptor(const st_file *f) {
    return f->f ? fileno(f->f) : -1;
}
size_t st_count(const st_file *f) {
    return f->n;
}
const st_entry *st_at(const st_file *f, size_t i) {
    return i < f->n ? &f->entries[i] : NULL;
}
const st_entry *st_find(const st_file *f, const char *name) {
    uintptr_t i = (uintptr_t)map_get(f->by_name, name, strlen(name));
    return i ? &f->entries[i - 1] : NULL;
}
const char *st_get_meta(const st_file *f, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(f->meta, key));
}

xt_status st_read(st_file *f, const st_entry *e, void *dst, size_t n) {
    if (n != e->end - e->begin)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s has %llu bytes, %zu were asked for", f->path,
                          e->name, (unsigned long long)(e->end - e->begin), n);
    return read_exactly(e->file, e->begin, dst, n);
}

xt_status st_read_part(const st_entry *e, uint64_t at, void *dst, size_t n) {
    const st_file *in = e->file;
    if (at > e->end - e->begin || n > e->end - e->begin - at)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s has %llu bytes, %zu from %llu on were asked for",
                          in->path, e->name, (unsigned long long)(e->end - e->begin), n, (unsigned long long)at);
    return read_exactly(in, e->begin + at, dst, n);
}

xt_status st_check_unchanged(const st_entry *e) {
    const st_file *in = e->file;
    struct stat st;
    if (fstat(fileno(in->f), &st) != 0) return status_errno("cannot read", in->path);
    if ((uint64_t)st.st_size == in->size && (int64_t)st.st_mtim.tv_sec == in->changed[0] &&
        (int64_t)st.st_mtim.tv_nsec == in->changed[1])
        return NULL;
    return status_new(
        XT_DATA_LOSS, NULL,
        "%s was written over after it was loaded and before its tensor %s was used; large tensors are read "
        "at their first use. Write another file and rename it, or load behind that",
        in->path, e->name);
}

/* --- checksums --- */
static bool sums_of(st_file *f, st_sums *out, const st_entry **out_own, xt_status *s) {
    const char *text = st_get_meta(f, ST_SUMS);
    const st_entry *own = *out_own = st_find(f, ST_SUMS);
    size_t n = own ? (size_t)(own->end - own->begin) : 0;
    *out = (st_sums){.header = f->header};
    *s = NULL;
    if (n == sizeof out->data || n == sizeof *out) return !(*s = st_read(f, own, out, n));
    unsigned long long w[4];
    if (!text || strlen(text) != ST_SUMS_TEXT ||
        sscanf(text, "%16llx%16llx%16llx%16llx", &w[0], &w[1], &w[2], &w[3]) != 4)
        return false;
    *out = (st_sums){.data = {w[0], w[1]}, .header = {w[2], w[3]}};
    return true;
}

static xt_status differs(const st_file *f, const char *what) {
    return status_new(XT_DATA_LOSS, NULL,
                      "%s: the %s does not match its checksum: the file is damaged; nothing was loaded%s", f->path,
                      what,
                      st_get_meta(f, ST_SUMS) ? " (if another program wrote it anew: without \"" ST_SUMS
                                                "\" in its metadata it is loaded as it is)"
                                              : "");
}

static xt_status check_parts(st_file *f, bool *out_has) {
    *out_has = true;
    for (size_t i = 0; i < f->n_parts; i++) {
        bool has;
        XT_TRY(st_check_sums(f->parts[i], &has));
        *out_has = *out_has && has;
    }
    return NULL;
}

xt_status st_check_sums(st_file *f, bool *out_has) {
    st_sums want;
    const st_entry *own;
    xt_status s;
    hash128 sum = {0, 0};
    if (f->n_parts) XT_TRY(check_parts(f, out_has));
    if (!f->f || (f->n_parts && !*out_has)) return NULL; /* an index has none of its own */
    *out_has = sums_of(f, &want, &own, &s);
    if (!*out_has && !s && st_get_meta(f, ST_SUMMED)) return differs(f, "name of the checksums");
    if (!*out_has) return s;
    for (size_t i = 0; i < f->n; i++) {
        const st_entry *e = &f->entries[i];
        size_t n = (size_t)(e->end - e->begin);
        if (e == own || e->file != f) continue;
        void *data = base_malloc(n + 1);
        s = data ? st_read(f, e, data, n) : status_oom(n, f->path);
        if (!s) sum = hash_bytes(data, n, sum);
        base_free(data);
        XT_TRY(s);
    }
    if (!hash_equal(want.header, f->header)) return differs(f, "header (names, shapes, the run's position)");
    return hash_equal(sum, want.data) ? NULL : differs(f, "data");
}
