/* MNIST from IDX files in the usual folders. Pixels become (p / 255 - 0.1307) / 0.3081, the mean and deviation of the
 * training set. */
#include "base/look.h"
#include "data/data.h"

#include "format/idx.h"

#include <stdlib.h>

typedef struct mnist {
    idx_array images, labels;
    int64_t first;
} mnist;

static void mnist_free(void *user) {
    mnist *m = user;
    if (!m) return;
    idx_free(&m->images);
    idx_free(&m->labels);
    base_free(m);
}

static xt_status get(void *user, int64_t i, void *x, void *y) {
    const mnist *m = user;
    int64_t n = m->images.dims[1] * m->images.dims[2];
    const uint8_t *src = m->images.data + (m->first + i) * n;
    float *dst = x;
    for (int64_t k = 0; k < n; k++) dst[k] = ((float)src[k] / 255.0f - 0.1307f) / 0.3081f;
    if (y) *(int64_t *)y = m->labels.data[m->first + i];
    return NULL;
}

/* "DIR/train-images-idx3-ubyte" or the same with .gz, there or under MNIST/raw; NULL when there is none. */
static char *find(const char *dir, const char *set, const char *kind) {
    static const char *const folders[] = {"", "MNIST/raw/", "raw/"}, *const ends[] = {"", ".gz"},
                             *const marks[] = {"-", "."};
    for (size_t f = 0; f < BASE_COUNT(folders); f++)
        for (size_t d = 0; d < BASE_COUNT(marks); d++)
            for (size_t e = 0; e < BASE_COUNT(ends); e++) {
                char name[128];
                snprintf(name, sizeof name, "%s%s-%s%sidx%c-ubyte%s", folders[f], set, kind, marks[d],
                         kind[0] == 'i' ? '3' : '1', ends[e]);
                char *path = path_join(dir, name);
                if (path && !file_is_missing(path)) return path;
                base_free(path);
            }
    return NULL;
}

static xt_status read_set(const char *dir, const char *set, mnist *m) {
    char *images = find(dir, set, "images"), *labels = find(dir, set, "labels");
    xt_status s = NULL;
    if (!images || !labels)
        s = status_new(XT_NOT_FOUND, NULL, "%s: %s-%s-idx%c-ubyte (plain or .gz, also under MNIST/raw/) is missing",
                       dir, set, images ? "labels" : "images", images ? '1' : '3');
    if (!s) s = idx_read(images, 3, &m->images);
    if (!s) s = idx_read(labels, 1, &m->labels);
    if (!s && m->images.dims[0] != m->labels.dims[0])
        s = status_new(XT_DATA_LOSS, NULL, "%s: its header (offset 4) says %lld labels, but %s has %lld images", labels,
                       (long long)m->labels.dims[0], images, (long long)m->images.dims[0]);
    if (!s && (m->images.dims[1] != 28 || m->images.dims[2] != 28))
        s = status_new(XT_DATA_LOSS, NULL, "%s: its header (offset 8) says %lldx%lld pixels; 28x28 are expected",
                       images, (long long)m->images.dims[1], (long long)m->images.dims[2]);
    for (int64_t i = 0; !s && i < m->labels.dims[0]; i++)
        if (m->labels.data[i] > 9)
            s = status_new(XT_DATA_LOSS, NULL, "%s: label %d at offset %lld; digits are 0 to 9", labels,
                           m->labels.data[i], (long long)(8 + i));
    base_free(images);
    base_free(labels);
    return s;
}

static bool has_set(const char *dir, const char *set) {
    char *a = find(dir, set, "images"), *b = find(dir, set, "labels");
    bool both = a || b; /* one without the other is an error that read_set explains */
    base_free(a);
    base_free(b);
    return both;
}

static xt_status open_files(const char *dir, bool train, xt_dataset **out) {
    bool has_train = has_set(dir, "train"), has_test = has_set(dir, "t10k");
    if (!has_train && !has_test)
        return status_new(XT_NOT_FOUND, NULL,
                          "%s holds no MNIST: train-images-idx3-ubyte and train-labels-idx1-ubyte, or the t10k- pair "
                          "(plain or .gz, also under MNIST/raw/) are looked for",
                          dir);
    mnist *m = base_calloc(1, sizeof *m);
    if (!m) return status_oom(sizeof *m, "a dataset");
    bool split = !(has_train && has_test); /* one set only: its first 90 % train */
    xt_status s = read_set(dir, split ? (has_train ? "train" : "t10k") : train ? "train" : "t10k", m);
    if (s) {
        mnist_free(m);
        return s;
    }
    int64_t all = m->images.dims[0], cut = split ? all * 9 / 10 : all, count = all;
    if (split) {
        m->first = train ? 0 : cut;
        count = train ? cut : all - cut;
    }
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = count,
                         .x = {XT_F32, {1, 28, 28}},
                         .y = {XT_I64, {0}},
                         .get = get,
                         .free_user = mnist_free,
                         .user = m,
                         .name = train ? "mnist train" : "mnist test"};
    *out = xt_dataset_new_at(NULL, &d);
    if (!*out) mnist_free(m);
    return *out ? NULL : status_oom(sizeof *m, "a dataset");
}

xt_status xt_mnist_open(const char *dir, const char *split, xt_dataset **out) {
    *out = NULL;
    bool train = split && strcmp(split, "train") == 0;
    if (!train && !(split && strcmp(split, "test") == 0))
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_mnist_open: split is \"%s\"; \"train\" or \"test\"",
                          split ? split : "NULL");
    if (dir) return open_files(dir, train, out);
    *out = train ? xt_drawn_digits_at(NULL, 20000, 1) : xt_drawn_digits_at(NULL, 4000, 2);
    return *out ? NULL : status_clone(lazy_pending());
}

xt_dataset *xt_mnist_dataset_at(const xt_src *src, const char *dir) {
    SRC_CALLED_FROM(src);
    xt_dataset *d;
    xt_status s = xt_mnist_open(dir, "train", &d);
    if (s) lazy_fail(s);
    return d;
}

xt_loader *xt_mnist_loader_at(const xt_src *src, const char *split, int64_t batch) {
    xt_dataset *d;
    xt_status s = xt_mnist_open(env_get("XT_MNIST_DIR"), split, &d);
    if (s) {
        lazy_fail(status_at(s, src));
        return NULL;
    }
    bool train = strcmp(split, "train") == 0;
    return xt_loader_opt(src, d, XT_OPTS(xt_loader_opts, .batch = batch, .shuffle = train ? XT_ON : XT_OFF));
}
