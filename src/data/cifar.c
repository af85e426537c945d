/* CIFAR-10 and CIFAR-100 (Krizhevsky 2009), binary version: records of one label byte (CIFAR-100: coarse, then fine),
 * then 3072 bytes of a picture, channel by channel, row by row. */
#include "base/look.h"
#include "data/data.h"

enum { PIXELS = 3 * 32 * 32, MOST_FILES = 5 };
typedef struct cifar_kind {
    const char *function, *folder;
    int label_bytes, classes;
    struct {
        const char *split, *files[MOST_FILES + 1];
    } splits[2];
} cifar_kind;
static const cifar_kind ten = {
    "xt_cifar10",
    "cifar-10-batches-bin",
    1,
    10,
    {{"train", {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}},
     {"test", {"test_batch.bin"}}}};
static const cifar_kind hundred = {
    "xt_cifar100", "cifar-100-binary", 2, 100, {{"train", {"train.bin"}}, {"test", {"test.bin"}}}};

typedef struct cifar {
    const cifar_kind *kind;
    char *records; /* of all files */
    int64_t count;
} cifar;

static void cifar_free(void *user) {
    cifar *c = user;
    base_free(c->records);
    base_free(c);
}

static xt_status get(void *user, int64_t i, void *x, void *y) {
    const cifar *c = user;
    const uint8_t *r = (const uint8_t *)c->records + i * (c->kind->label_bytes + PIXELS);
    if (y) *(int64_t *)y = r[c->kind->label_bytes - 1];
    float *out = x;
    for (int k = 0; k < PIXELS; k++) out[k] = (float)r[c->kind->label_bytes + k] / 255.0f;
    return NULL;
}

static xt_status append(cifar *c, const char *path) {
    char *data = NULL;
    size_t n = 0, record = (size_t)c->kind->label_bytes + PIXELS, have = (size_t)c->count * record;
    XT_TRY(file_read_all(path, &data, &n));
    xt_status s = n == 0 || n % record
                      ? status_new(XT_DATA_LOSS, NULL,
                                   "%s has %zu bytes; records of %zu are expected, so it ends inside record %zu", path,
                                   n, record, n / record)
                      : NULL;
    for (size_t at = (size_t)c->kind->label_bytes - 1; !s && at < n; at += record)
        if ((uint8_t)data[at] >= c->kind->classes)
            s = status_new(XT_DATA_LOSS, NULL, "%s: label %d at offset %zu; classes are 0 to %d", path,
                           (uint8_t)data[at], at, c->kind->classes - 1);
    char *all = s ? NULL : base_realloc(c->records, have + n);
    if (all) {
        c->records = all;
        memcpy(all + have, data, n);
        c->count += (int64_t)(n / record);
    } else if (!s)
        s = status_oom(have + n, "CIFAR's pictures");
    base_free(data);
    return s;
}

static char *find(const char *dir, const char *folder, const char *file) {
    char *path = path_join(dir, file);
    if (path && !file_is_missing(path)) return path;
    base_free(path);
    char *inner = path_join(dir, folder);
    path = inner ? path_join(inner, file) : NULL;
    base_free(inner);
    return path;
}

static xt_dataset *open_cifar(const cifar_kind *kind, const char *dir, const char *split) {
    int which = split && strcmp(split, "train") == 0 ? 0 : split && strcmp(split, "test") == 0 ? 1 : -1;
    if (!dir || which < 0)
        return data_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                                    "%s: a folder and the split \"train\" or \"test\" are needed", kind->function),
                         NULL);
    cifar *c = base_calloc(1, sizeof *c);
    if (!c) return data_fail(status_oom(sizeof *c, "a dataset"), NULL);
    c->kind = kind;
    xt_status s = NULL;
    for (int k = 0; !s && kind->splits[which].files[k]; k++) {
        char *path = find(dir, kind->folder, kind->splits[which].files[k]);
        s = path ? append(c, path) : status_oom(64, "a path");
        base_free(path);
    }
    if (s) {
        cifar_free(c);
        return data_fail(status_context(s, "%s", kind->function), NULL);
    }
    return data_make((xt_dataset_desc){.count = c->count,
                                       .x = {XT_F32, {3, 32, 32}},
                                       .y = {XT_I64, {0}},
                                       .get = get,
                                       .free_user = cifar_free,
                                       .user = c,
                                       .name = kind->function + 3});
}

xt_dataset *xt_cifar10_at(const xt_src *src, const char *dir, const char *split) {
    SRC_CALLED_FROM(src);
    return open_cifar(&ten, dir, split);
}
xt_dataset *xt_cifar100_at(const xt_src *src, const char *dir, const char *split) {
    SRC_CALLED_FROM(src);
    return open_cifar(&hundred, dir, split);
}
