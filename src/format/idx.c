/* Reading IDX files. zlib's gz functions read plain files as they are, so both kinds take one path. */
#include "format/idx.h"

#include "format/room.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "base/private_file.h"

enum { TYPE_UBYTE = 8 };
static const int64_t MAX_BYTES = INT64_MAX;

/* Fills dst; the error says where the data ends. */
static xt_status read_exactly(gzFile f, const char *path, int64_t offset, void *dst, int64_t n, const char *what) {
    char *at = dst;
    int64_t got = 0;
    while (got < n) {
        int64_t left = n - got;
        int k = gzread(f, at + got, (unsigned)(left > (1 << 24) ? 1 << 24 : left));
        if (k < 0) {
            int code;
            const char *why = gzerror(f, &code);
            return status_new(XT_DATA_LOSS, NULL,
                              "%s: the gzip data is damaged at offset %lld of the uncompressed file, in the %s: %s",
                              path, (long long)(offset + got), what, code == Z_ERRNO ? strerror(errno) : why);
        }
        if (k == 0) {
            int code;
            gzerror(f, &code);
            return status_new(XT_DATA_LOSS, NULL,
                              "%s: ends at offset %lld, in the %s: %lld bytes were expected there, %lld are left%s",
                              path, (long long)(offset + got), what, (long long)n, (long long)got,
                              code == Z_BUF_ERROR ? " (the gzip file is cut off)" : "");
        }
        got += k;
    }
    return NULL;
}

static int64_t big_endian(const uint8_t *p) {
    return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | p[3];
}

static xt_status read_header(gzFile f, const char *path, int rank, idx_array *out) {
    uint8_t head[4 + 16];
    XT_TRY(read_exactly(f, path, 0, head, 4, "magic number"));
    if (head[0] || head[1] || head[2] != TYPE_UBYTE || head[3] != rank)
        return status_new(XT_DATA_LOSS, NULL,
                          "%s: the magic number at offset 0 is %02x %02x %02x %02x, but 00 00 08 %02x (unsigned bytes "
                          "of %d dims) was expected: it is no IDX file of %s",
                          path, head[0], head[1], head[2], head[3], rank, rank, rank == 3 ? "images" : "labels");
    XT_TRY(read_exactly(f, path, 4, head + 4, 4 * rank, "sizes"));
    out->rank = rank;
    int64_t total = 1;
    for (int i = 0; i < rank; i++) {
        out->dims[i] = big_endian(head + 4 + 4 * i);
        if (out->dims[i] == 0 || total > MAX_BYTES / out->dims[i])
            return status_new(XT_DATA_LOSS, NULL, "%s: size %lld at offset %d makes no sense", path,
                              (long long)out->dims[i], 4 + 4 * i);
        total *= out->dims[i];
    }
    return NULL;
}

/* No memory is asked for that the file cannot fill: deflate makes at most 1032 bytes of one. */
static xt_status check_size(const char *path, int64_t n) {
    enum { MOST_FOR_ONE = 1032 };
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || n / MOST_FOR_ONE <= st.st_size) return NULL;
    return status_new(XT_DATA_LOSS, NULL,
                      "%s: its sizes speak of %lld bytes, more than a file of %lld holds even if compressed", path,
                      (long long)n, (long long)st.st_size);
}

static xt_status read_body(gzFile f, const char *path, idx_array *out) {
    int64_t n = 1, offset = 4 + 4 * out->rank;
    for (int i = 0; i < out->rank; i++) n *= out->dims[i];
    XT_TRY(check_size(path, n));
    XT_TRY(room_for((uint64_t)n, "its array", path));
    out->data = base_malloc((size_t)n);
    if (!out->data) return status_oom((size_t)n, path);
    XT_TRY(read_exactly(f, path, offset, out->data, n, "data"));
    uint8_t extra;
    int k = gzread(f, &extra, 1);
    if (k > 0)
        return status_new(XT_DATA_LOSS, NULL, "%s: goes on after offset %lld, where its sizes say it ends", path,
                          (long long)(offset + n));
    if (k < 0)
        return status_new(XT_DATA_LOSS, NULL,
                          "%s: the gzip data is damaged after offset %lld (its checksum does not match)", path,
                          (long long)(offset + n));
    return NULL;
}

xt_status idx_read(const char *path, int rank, idx_array *out) {
    int fd;
    memset(out, 0, sizeof *out);
    XT_TRY(file_open_input(path, true, &fd, NULL));
    gzFile f = gzdopen(fd, "rb");
    if (!f) {
        close(fd);
        return status_oom(1 << 17, path);
    }
    gzbuffer(f, 1 << 17);
    xt_status s = read_header(f, path, rank, out);
    if (!s) s = read_body(f, path, out);
    int closed = gzclose_r(f);
    if (!s && closed != Z_OK) s = status_new(XT_DATA_LOSS, NULL, "%s: the gzip file is cut off after its data", path);
    if (s) idx_free(out);
    return s;
}

void idx_free(idx_array *a) {
    base_free(a->data);
    a->data = NULL;
}
