/* Fuzz target of the readers of files: the first byte picks one, the rest is the file's bytes. safetensors, pictures
 * (PNG, JPEG), IDX (plain or gzip), TensorBoard's event files, what a dead process leaves, and tar shards. Each ends in
 * a status or in values that are freed; a few bytes never ask for much memory. */
#include <fcntl.h>
#include <unistd.h>

#include "crash/crash.h"
#include "format/event.h"
#include "format/idx.h"
#include "format/image.h"
#include "format/safetensors.h"
#include "format/tar.h"
#include "fuzz.h"

static void tensors(const char *path) {
    st_file *f = NULL;
    xt_status s = st_open(path, &f);
    if ((s != NULL) != (f == NULL)) abort();
    for (size_t i = 0; !s && i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        if (e->end < e->begin || st_find(f, e->name) == NULL) abort();
        char *bytes = malloc((size_t)(e->end - e->begin) + 1); /* the header was checked against the file's size */
        if (bytes) xt_status_free(st_read(f, e, bytes, (size_t)(e->end - e->begin)));
        free(bytes);
    }
    if (!s) st_get_meta(f, "version");
    st_close(f);
    xt_status_free(s);
}

static void picture(const char *path) {
    int width, height;
    uint8_t *rgb = NULL;
    xt_status s = image_read_rgb(path, &width, &height, &rgb);
    if (!s && (width <= 0 || height <= 0 || !rgb)) abort();
    if (!s) base_free(rgb);
    xt_status_free(s);
}

static void idx(const char *path, int rank) {
    idx_array a = {0};
    xt_status s = idx_read(path, rank, &a);
    if (!s) idx_free(&a);
    xt_status_free(s);
}

static void scalar(void *user, double wall, int64_t step, const char *tag, double value) {
    *(double *)user += wall + (double)step + (double)strlen(tag) + value;
}

static void events(const uint8_t *data, size_t n) {
    event_reader r = {data, data + n};
    bool more = true;
    double sum = 0;
    for (xt_status s = NULL; more && !s;) {
        const void *record;
        size_t size;
        s = event_next(&r, &more, &record, &size);
        if (!s && more) s = event_scalars(record, size, scalar, &sum);
        if (s) more = false;
        xt_status_free(s);
        s = NULL;
    }
    xt_status_free(event_scalars(data, n, scalar, &sum)); /* records without their checksums */
}

static void left_behind(const char *path) {
    static box_file f;
    str text = STR_INIT;
    if (blackbox_load(path, &f)) blackbox_explain(&f, &text);
    str_free(&text);
}

/* Every member lies in the file, has a name, and can be read. */
typedef struct archive {
    const char *path;
    int fd;
    int64_t bytes;
} archive;

static xt_status member(void *user, const tar_member *m) {
    const archive *a = user;
    char first, last;
    if (m->at < 512 || m->size < 0 || m->size > a->bytes - m->at || !m->name[0] || m->name[0] == '/') abort();
    if (m->size == 0) return NULL;
    XT_TRY(tar_read(a->path, a->fd, m->at, &first, 1));
    return tar_read(a->path, a->fd, m->at + m->size - 1, &last, 1);
}

static void shard(const char *path, int64_t n) {
    archive a = {path, open(path, O_RDONLY | O_CLOEXEC), n};
    int64_t left_out = 0;
    if (a.fd < 0) return;
    xt_status_free(tar_each(path, a.fd, n, member, &a, &left_out));
    if (left_out < 0) abort();
    close(a.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char path[64];
    int fd = n ? fuzz_file(data + 1, n - 1, path) : -1;
    if (fd < 0) return 0;
    switch (data[0] % 7) {
    case 0: tensors(path); break;
    case 1: picture(path); break;
    case 2: idx(path, 1); break;
    case 3: idx(path, 3); break;
    case 4: events(data + 1, n - 1); break;
    case 5: left_behind(path); break;
    case 6: shard(path, (int64_t)n - 1); break;
    }
    close(fd);
    return 0;
}
