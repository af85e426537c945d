/* Shared by the reader and the writer: the dtype names of the format. */
#ifndef XT_SRC_FORMAT_SAFETENSORS_INT_H
#define XT_SRC_FORMAT_SAFETENSORS_INT_H

#include <stdatomic.h>

#include <cjson/cJSON.h>

#include "format/safetensors.h"

struct st_file {
    FILE *f; /* NULL where the tensors lie in parts */
    char *path;
    uint64_t size, data; /* file size, offset of the data */
    hash128 header;
    cJSON *meta; /* detached __metadata__ */
    cJSON *json; /* owns the names */
    st_entry *entries; /* of an index: all of its parts', in the parts' order */
    size_t n, cap;
    map *by_name;
    struct st_file **parts; /* of an index, or of a file with shards: these */
    size_t n_parts, cap_parts;
    atomic_int more; /* references beside the first */
    int64_t changed[2]; /* when the file was written last: seconds and nanoseconds */
};

#define ST_METADATA "__metadata__" /* beside the tensors: what is no tensor */
/* Sums in the metadata: two hashes as text, behind these characters of the header (nobody puts a space there). */
#define ST_SUMMED "checksums" /* metadata: there are some, also where a bit of their name has turned */
#define ST_SUMS_BEGIN "\"" ST_SUMS "\":\""
enum { ST_SUMS_TEXT = 64 };

/* safetensors_index.c */
#define ST_INDEX ".index.json"
bool st_is_index(const char *path);
xt_status st_open_index(const char *path, st_file **out);
xt_status st_open_shards(st_file *f, const char *list); /* those of f, whose own tensors are read */
/* dir/model.safetensors, or its index where there is none; base_free. NULL, and no error: neither is there. */
xt_status st_in_folder(const char *dir, char **out);

const char *st_dtype_name(xt_dtype t); /* NULL when the format has none */
xt_dtype st_dtype_from(const char *name); /* XT_DTYPE_NONE when unknown; NULL is unknown */

#endif
