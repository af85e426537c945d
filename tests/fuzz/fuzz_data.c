/* Fuzz target of data sets: the first byte picks what kind the files are, the rest is a file of a folder (CSV, npy,
 * safetensors, PNG in a folder of classes, CIFAR's and MNIST's files, text). A data set that opens gives each sample
 * or an error. */
#include <sys/stat.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "fuzz.h"

static char folder[64];
static const char *const files[] = {"d.csv",
                                    "x.npy",
                                    "y.npy",
                                    "t.safetensors",
                                    "images/a/1.png",
                                    "test_batch.bin",
                                    "train-images-idx3-ubyte",
                                    "train-labels-idx1-ubyte",
                                    "d.txt",
                                    "images/b/2.png"};
enum { FILES = sizeof files / sizeof *files };

static void forget(xt_status error, void *user) {
    (void)error, (void)user;
}
static void silent(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)text, (void)n, (void)user;
}

static void path_of(const char *name, char out[128]) {
    snprintf(out, 128, "%s/%s", folder, name);
}

static void remove_files(void) {
    char path[128];
    for (int i = 0; i < FILES; i++) path_of(files[i], path), unlink(path);
}
static void remove_folder(void) {
    static const char *const inner[] = {"images/a", "images/b", "images", ""};
    char path[128];
    remove_files();
    for (int i = 0; i < 4; i++) path_of(inner[i], path), rmdir(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static const char *const inner[] = {"images", "images/a", "images/b"};
    char path[128];
    xt_set_sink(silent, NULL);
    xt_on_error(forget, NULL);
    snprintf(folder, sizeof folder, "/tmp/xt-fuzz-XXXXXX");
    if (!mkdtemp(folder)) abort();
    for (int i = 0; i < 3; i++) path_of(inner[i], path), mkdir(path, 0700);
    atexit(remove_folder);
    return 0;
}

static void put(const char *name, const void *data, size_t n) {
    char path[128];
    path_of(name, path);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

/* The first and last samples, into memory of just their size. */
static void look_at(xt_dataset *d) {
    if (!d) {
        if (!xt_error()) abort(); /* NULL without a word */
        xt_clear_error();
        return;
    }
    int64_t n = xt_dataset_count(d), size[2];
    xt_spec spec[2] = {xt_dataset_x(d), xt_dataset_y(d)};
    for (int i = 0; i < 2; i++) {
        size[i] = (int64_t)xt_dtype_size(spec[i].dtype);
        for (int k = 0; k < 8 && spec[i].dims[k] > 0 && spec[i].dtype; k++) size[i] *= spec[i].dims[k];
    }
    for (int64_t i = 0; i < n && size[0] + size[1] < 1 << 20; i = i == 7 && n > 16 ? n - 8 : i + 1) {
        void *x = malloc((size_t)size[0] + 1), *y = malloc((size_t)size[1] + 1);
        if (!x || !y) abort();
        xt_status_free(xt_dataset_get(d, i, x, spec[1].dtype ? y : NULL));
        free(x), free(y);
    }
    xt_dataset_free(d);
    xt_clear_error();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char path[128], second[128];
    if (n < 2) return 0;
    const uint8_t *p = data + 2;
    size_t left = n - 2, half = left * data[1] / 256;
    switch (data[0] % 9) {
    case 0:
    case 1:
        put("d.csv", p, left);
        path_of("d.csv", path);
        look_at(data[0] % 9 ? xt_csv_dataset(path, .y = "b*", .header = data[1] & 1 ? XT_ON : XT_OFF)
                            : xt_csv_dataset(path, .separator = data[1] & 1 ? ';' : ','));
        break;
    case 2:
        put("x.npy", p, half);
        put("y.npy", p + half, left - half);
        path_of("x.npy", path), path_of("y.npy", second);
        look_at(xt_npy_dataset(path, half < left ? second : NULL));
        break;
    case 3:
        put("t.safetensors", p, left);
        path_of("t.safetensors", path);
        look_at(xt_safetensors_dataset(path, "x", data[1] & 1 ? "y" : NULL));
        break;
    case 4:
        put("images/a/1.png", p, half);
        put("images/b/2.png", p + half, left - half);
        path_of("images", path);
        look_at(xt_image_folder(path, 1 + data[1] % 16));
        break;
    case 5:
        put("test_batch.bin", p, left);
        look_at(xt_cifar10(folder, "test"));
        break;
    case 6: {
        xt_dataset *d = NULL;
        put("train-images-idx3-ubyte", p, half);
        put("train-labels-idx1-ubyte", p + half, left - half);
        xt_status_free(xt_mnist_open(folder, "train", &d));
        if (d) look_at(d);
        break;
    }
    case 7:
        put("d.txt", p, left);
        path_of("d.txt", path);
        look_at(xt_text_dataset(path, 1 + data[1] % 9, data[1] / 16));
        break;
    default:
        put("images/a/1.png", p, left); /* one class alone */
        path_of("images", path);
        look_at(xt_image_folder(path, 4));
    }
    remove_files();
    return 0;
}
