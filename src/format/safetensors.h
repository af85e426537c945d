/* safetensors: u64 little-endian header size, a JSON object name -> {dtype, shape, data_offsets}, then the data. Names
 * and layout are PyTorch's and Hugging Face's, so files go both ways. */
#ifndef XT_SRC_FORMAT_SAFETENSORS_H
#define XT_SRC_FORMAT_SAFETENSORS_H

#include "base/base.h"

/* Checksums of the library's own: a tensor of this name (checkpoints, whose data is in memory before it is written), or
 * metadata of this name (xt_save: other programs then see the module's tensors alone). */
#define ST_SUMS "xtrain:checksum"
typedef struct st_sums { /* older files have the first only */
    hash128 data, header; /* header: names, shapes and metadata, with zeros where the sums themselves stand */
} st_sums;

/* Metadata of a file whose other tensors lie in shards beside it: their names, a line each. st_open opens them too, and
 * the tensors are then one file's; st_open_fd, which knows no folder, does not. */
#define ST_SHARDS "xtrain:shards"

/* Writing: declare all tensors, then give their bytes in the same order. The file appears whole at st_commit,
 * or not at all. */
typedef struct st_writer st_writer;
xt_status st_create(const char *path, st_writer **out);
xt_status st_meta(st_writer *w, const char *key, const char *value); /* __metadata__ entries: versions, step */
bool st_may_be_called(const char *name); /* a tensor of a file may: UTF-8, and no word of the format's */
xt_status st_declare(st_writer *w, const char *name, xt_dtype t, int rank, const int64_t *dims);
xt_status st_data(st_writer *w, const void *data, size_t n);
/* hash of the header's text (names, shapes, __metadata__) without the spaces at its end; once data was given */
hash128 st_written_header(const st_writer *w);
/* The file gets checksums in its metadata: before the first data; every tensor's data is then given by one call.
 * None where the target is no file (a pipe). */
xt_status st_with_sums(st_writer *w);
xt_status st_commit(st_writer *w); /* frees w, also on failure */
void st_abandon(st_writer *w);

/* Writing one file, or shards of at most `max_bytes` of data (a larger tensor has one of its own) with an index:
 * NAME.safetensors becomes NAME-00001-of-00003.safetensors, ..., and NAME.safetensors.index.json, which is written
 * last; a NAME.safetensors that was there goes then. max_bytes 0, or all within one: NAME.safetensors itself. Used as a
 * writer is; each file has checksums. */
typedef struct st_set st_set;
xt_status st_set_create(const char *path, uint64_t max_bytes, st_set **out);
xt_status st_set_meta(st_set *w, const char *key, const char *value);
xt_status st_set_declare(st_set *w, const char *name, xt_dtype t, int rank, const int64_t *dims);
xt_status st_set_data(st_set *w, const void *data, size_t n); /* of one tensor, whole */
xt_status st_set_commit(st_set *w); /* frees w, also on failure */
void st_set_abandon(st_set *w);

/* Reading: the header is checked whole (sizes, overlaps, range) before anything is given out; the data is
 * read on demand.
 *
 * A path may also be an index of Hugging Face's (NAME.safetensors.index.json), whose shards lie beside it, or a folder
 * with a model.safetensors or its index: their tensors are then one file's. */
typedef struct st_file st_file;
typedef struct st_entry {
    const st_file *file; /* that holds it */
    const char *name;
    xt_dtype dtype;
    int rank;
    int64_t dims[8];
    uint64_t begin, end; /* in the file */
} st_entry;
xt_status st_open(const char *path, st_file **out); /* to be closed once, and once for each st_retain */
xt_status st_open_fd(int fd, const char *path,
                     st_file **out); /* takes the descriptor over, also on failure; path is for messages */
void st_close(st_file *f);
st_file *st_retain(st_file *f); /* f */
size_t st_count(const st_file *f);
const st_entry *st_at(const st_file *f, size_t i);
const st_entry *st_find(const st_file *f, const char *name); /* NULL when absent */
const char *st_get_meta(const st_file *f, const char *key); /* NULL when absent */
hash128 st_header(const st_file *f); /* the same hash of what was read */
int st_descriptor(const st_file *f); /* of the file itself, for pread; -1: its tensors lie in others */
/* Reads all data once, in file order, and compares. *out_has: the file has sums; without any it is no error. */
xt_status st_check_sums(st_file *f, bool *out_has);
xt_status st_read(st_file *f, const st_entry *e, void *dst, size_t n);
/* n bytes of a tensor from its byte `at` on; several threads may. Whoever reads long after opening asks first whether
 * the file is the one that was opened: written over in place it is an error. */
xt_status st_read_part(const st_entry *e, uint64_t at, void *dst, size_t n);
xt_status st_check_unchanged(const st_entry *e);

#endif
