/* Writing safetensors: the header is known once all tensors are declared; the data follows in the same order. */
#include "format/safetensors.h"

#include <cjson/cJSON.h>

#include "base/private_file.h"
#include "base/shown.h"
#include "format/safetensors_int.h"

static const struct {
    xt_dtype t;
    const char *name;
} names[] = {{XT_BOOL, "BOOL"}, {XT_I8, "I8"},   {XT_I16, "I16"},   {XT_I32, "I32"},        {XT_I64, "I64"},
             {XT_U8, "U8"},     {XT_U16, "U16"}, {XT_U32, "U32"},   {XT_U64, "U64"},        {XT_F16, "F16"},
             {XT_F32, "F32"},   {XT_F64, "F64"}, {XT_BF16, "BF16"}, {XT_F8E5M2, "F8_E5M2"}, {XT_F8E4M3FN, "F8_E4M3"}};

const char *st_dtype_name(xt_dtype t) {
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (names[i].t == t) return names[i].name;
    return NULL;
}

xt_dtype st_dtype_from(const char *name) {
    for (size_t i = 0; name && i < BASE_COUNT(names); i++)
        if (strcmp(names[i].name, name) == 0) return names[i].t;
    return XT_DTYPE_NONE;
}

struct st_writer {
    file_writer *file;
    cJSON *json, *meta;
    map *names; /* of the tensors that are declared */
    uint64_t declared, written;
    bool header_done;
    hash128 header;
    bool with_sums;
    st_sums sums;
    size_t sums_at; /* in the file */
    char *path;
};

void st_abandon(st_writer *w) {
    if (!w) return;
    if (w->file) file_writer_abandon(w->file);
    cJSON_Delete(w->json);
    cJSON_Delete(w->meta);
    map_free(w->names, NULL);
    base_free(w->path);
    base_free(w);
}

xt_status st_create(const char *path, st_writer **out) {
    *out = NULL;
    st_writer *w = base_calloc(1, sizeof *w);
    if (!w) return status_oom(sizeof *w, path);
    w->json = cJSON_CreateObject();
    w->meta = cJSON_CreateObject();
    w->names = map_new();
    w->path = base_strdup(path);
    xt_status s =
        w->json && w->meta && w->names && w->path ? file_writer_open(path, &w->file) : status_oom(sizeof *w, path);
    if (!s && !cJSON_AddStringToObject(w->meta, "format", "pt")) s = status_oom(8, path);
    if (s) {
        st_abandon(w);
        return s;
    }
    *out = w;
    return NULL;
}

xt_status st_meta(st_writer *w, const char *key, const char *value) {
    if (cJSON_GetObjectItemCaseSensitive(w->meta, key))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: metadata \"%s\" is given twice", w->path, key);
    return cJSON_AddStringToObject(w->meta, key, value) ? NULL : status_oom(strlen(value), w->path);
}

bool st_may_be_called(const char *name) {
    return strcmp(name, ST_METADATA) != 0 && text_is_utf8(name, strlen(name));
}

xt_status st_declare(st_writer *w, const char *name, xt_dtype t, int rank, const int64_t *dims) {
    int64_t count;
    size_t bytes;
    const char *dtype = st_dtype_name(t);
    if (!dtype)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s has dtype %s, for which safetensors has no name",
                          w->path, name, xt_dtype_name(t));
    if (!st_may_be_called(name))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: no tensor can be called %s: the format has that name for something else, or it is no "
                          "UTF-8; give it another",
                          w->path, name);
    if (!dims_count(dims, (size_t)rank, &count) || !size_mul((size_t)count, xt_dtype_size(t), &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s: its size overflows", w->path, name);
    if (map_get(w->names, name, strlen(name)))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: two tensors are called %s", w->path, name);
    if (!map_put(w->names, name, strlen(name), w, NULL)) return status_oom(strlen(name), w->path);
    cJSON *item = cJSON_AddObjectToObject(w->json, name), *shape = item ? cJSON_AddArrayToObject(item, "shape") : NULL,
          *offsets = item ? cJSON_AddArrayToObject(item, "data_offsets") : NULL;
    bool ok = item && shape && offsets && cJSON_AddStringToObject(item, "dtype", dtype);
    for (int i = 0; ok && i < rank; i++) ok = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)dims[i]));
    ok = ok && cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)w->declared)) &&
         cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)(w->declared + bytes)));
    w->declared += bytes;
    return ok ? NULL : status_oom(64, w->path);
}

/* The sums are known when all is written: as many zeros keep their place. */
xt_status st_with_sums(st_writer *w) {
    char zeros[ST_SUMS_TEXT + 1];
    if (!file_writer_patches(w->file)) return NULL;
    memset(zeros, '0', ST_SUMS_TEXT);
    zeros[ST_SUMS_TEXT] = 0;
    w->with_sums = true;
    XT_TRY(st_meta(w, ST_SUMMED, ST_SUMS));
    return st_meta(w, ST_SUMS, zeros);
}

static xt_status write_sums(st_writer *w) {
    char text[2 * 33];
    hash_hex(w->sums.data, text);
    hash_hex(w->header, text + ST_SUMS_TEXT / 2);
    return file_writer_patch(w->file, w->sums_at, text, ST_SUMS_TEXT);
}

static xt_status write_header(st_writer *w) {
    if (w->header_done) return NULL;
    w->header_done = true;
    cJSON_AddItemToObject(w->json, ST_METADATA, w->meta);
    w->meta = NULL;
    char *text = cJSON_PrintUnformatted(w->json);
    if (!text) return status_oom(64, w->path);
    size_t n = strlen(text), padded = (n + 7) / 8 * 8; /* the format asks for spaces up to 8 bytes */
    unsigned char raw[8];
    w->header = hash_bytes(text, n, (hash128){0, 0});
    const char *sums = w->with_sums ? strstr(text, ST_SUMS_BEGIN) : NULL;
    w->sums_at = sums ? 8 + (size_t)(sums - text) + sizeof ST_SUMS_BEGIN - 1 : 0;
    for (int i = 0; i < 8; i++) raw[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    xt_status s = file_writer_write(w->file, raw, 8);
    if (!s) s = file_writer_write(w->file, text, n);
    if (!s) s = file_writer_write(w->file, "        ", padded - n);
    cJSON_free(text);
    return s;
}

xt_status st_data(st_writer *w, const void *data, size_t n) {
    XT_TRY(write_header(w));
    w->written += n;
    if (w->with_sums) w->sums.data = hash_bytes(data, n, w->sums.data);
    return file_writer_write(w->file, data, n);
}

hash128 st_written_header(const st_writer *w) {
    return w->header;
}

xt_status st_commit(st_writer *w) {
    xt_status s = write_header(w);
    if (!s && w->written != w->declared)
        s = status_new(XT_INTERNAL, NULL, "%s: %llu bytes declared, %llu written", w->path,
                       (unsigned long long)w->declared, (unsigned long long)w->written);
    if (!s && w->sums_at) s = write_sums(w);
    if (!s) {
        s = file_writer_commit(w->file);
        w->file = NULL;
    }
    st_abandon(w);
    return s;
}
