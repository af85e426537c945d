/* Pictures in one folder a class. Names are read and sorted once, so labels and indices are the same on every machine;
 * pictures are decoded when they are asked for. */
#include <dirent.h>
#include <stdlib.h>

#include "base/look.h"
#include "data/data.h"
#include "format/image.h"

typedef struct image_file {
    char *path;
    int64_t label;
} image_file;
typedef struct folder {
    char **classes;
    size_t n_classes, cap_classes;
    image_file *files;
    size_t n_files, cap_files;
    int side;
} folder;

static void folder_free(void *user) {
    folder *f = user;
    for (size_t i = 0; i < f->n_classes; i++) base_free(f->classes[i]);
    for (size_t i = 0; i < f->n_files; i++) base_free(f->files[i].path);
    base_free(f->classes);
    base_free(f->files);
    base_free(f);
}

/* --- the picture --- */
static xt_status get(void *user, int64_t i, void *x, void *y) {
    const folder *f = user;
    int width, height;
    uint8_t *rgb;
    XT_TRY(image_read_rgb(f->files[i].path, &width, &height, &rgb));
    xt_status s = image_scale_and_cut(rgb, width, height, f->side, x);
    base_free(rgb);
    if (y) *(int64_t *)y = f->files[i].label;
    return s;
}

/* --- the folders --- */
static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}
static int by_path(const void *a, const void *b) {
    return strcmp(((const image_file *)a)->path, ((const image_file *)b)->path);
}

static xt_status list_classes(folder *f, const char *dir) {
    DIR *d;
    xt_status s = NULL;
    XT_TRY(file_look_into(dir, &d));
    if (!d) return status_new(XT_NOT_FOUND, NULL, "there is no folder %s", dir);
    for (struct dirent *e; !s && (e = readdir(d));) {
        char *name = e->d_name[0] == '.' ? NULL : base_strdup(e->d_name), *path = name ? path_join(dir, name) : NULL;
        DIR *inner = NULL;
        if (path) s = file_look_into(path, &inner); /* a class that is left out would number the others anew */
        if (inner && !VEC_PUSH(f->classes, f->n_classes, f->cap_classes, name))
            s = status_oom(sizeof name, "the classes");
        else if (inner)
            name = NULL;
        if (inner) closedir(inner);
        base_free(path);
        base_free(name);
    }
    closedir(d);
    if (f->n_classes) qsort(f->classes, f->n_classes, sizeof *f->classes, by_name);
    return s;
}

static xt_status list_files(folder *f, const char *dir, int64_t label) {
    char *path = path_join(dir, f->classes[label]);
    DIR *d = NULL;
    xt_status s = path ? file_look_into(path, &d) : status_oom(strlen(dir), "a folder's name");
    if (!s && !d) s = status_new(XT_NOT_FOUND, NULL, "the folder of class %s is there no more", f->classes[label]);
    for (struct dirent *e; !s && (e = readdir(d));) {
        if (e->d_name[0] == '.' || !image_is_name(e->d_name)) continue;
        image_file file = {path_join(path, e->d_name), label};
        if (!file.path || !VEC_PUSH(f->files, f->n_files, f->cap_files, file)) {
            base_free(file.path);
            s = status_oom(sizeof file, "the list of pictures");
        }
    }
    if (d) closedir(d);
    base_free(path);
    return s;
}

xt_dataset *xt_image_folder_at(const xt_src *src, const char *dir, int side) {
    SRC_CALLED_FROM(src);
    if (!dir || side < 1 || side > 1 << 14)
        return data_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                                    "xt_image_folder: side = %d; a folder and a side from 1 to %d are needed", side,
                                    1 << 14),
                         NULL);
    folder *f = base_calloc(1, sizeof *f);
    if (!f) return data_fail(status_oom(sizeof *f, "a dataset"), NULL);
    f->side = side;
    xt_status s = list_classes(f, dir);
    for (size_t k = 0; !s && k < f->n_classes; k++) s = list_files(f, dir, (int64_t)k);
    if (!s && f->n_files == 0)
        s = status_new(XT_NOT_FOUND, NULL,
                       "%s has no pictures: one folder a class with .png or .jpg files in it is expected", dir);
    if (s) {
        folder_free(f);
        return data_fail(status_context(s, "xt_image_folder"), NULL);
    }
    qsort(f->files, f->n_files, sizeof *f->files, by_path);
    return data_make((xt_dataset_desc){.count = (int64_t)f->n_files,
                                       .x = {XT_F32, {3, side, side}},
                                       .y = {XT_I64, {0}},
                                       .get = get,
                                       .free_user = folder_free,
                                       .user = f,
                                       .name = dir});
}

const char *xt_image_folder_class(const xt_dataset *d, int64_t label) {
    const folder *f = d && d->d.get == get ? d->d.user : NULL;
    return f && label >= 0 && (size_t)label < f->n_classes ? f->classes[label] : NULL;
}
