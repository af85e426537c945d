/* Fuzz target of the readers of files: the first byte picks one, the rest is the file's bytes. safetensors, PNG, IDX
 * (plain or gzip), TensorBoard's event files, and what a dead process leaves. Each ends in a status or in values that
 * are freed; a few bytes never ask for much memory. */
#include "crash/crash.h"
#include "format/event.h"
#include "format/idx.h"
#include "format/png.h"
#include "format/safetensors.h"
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
    xt_status s = png_read_rgb(path, &width, &height, &rgb);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char path[64];
    int fd = n ? fuzz_file(data + 1, n - 1, path) : -1;
    if (fd < 0) return 0;
    switch (data[0] % 6) {
    case 0: tensors(path); break;
    case 1: picture(path); break;
    case 2: idx(path, 1); break;
    case 3: idx(path, 3); break;
    case 4: events(data + 1, n - 1); break;
    case 5: left_behind(path); break;
    }
    close(fd);
    return 0;
}
