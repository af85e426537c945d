/* The library's way of reading and writing files, for models and commands, which see the public API alone. */
#include "base/private_file.h"

xt_status xt_read_file(const char *path, char **out, size_t *n) {
    return file_read_all(path, out, n);
}

xt_status xt_open_file(const char *path, int *out_fd) {
    return file_open_input(path, false, out_fd, NULL);
}

/* In a rehearsal too: what a program hands over by itself is none of the zeros that the dry device computes, or its own
 * business; the page of `xtrain plan --html` is made while such a device is open. */
xt_status xt_write_file(const char *path, const void *data, size_t n) {
    return file_put(path, data, n);
}

xt_status xt_make_folder(const char *path, bool *out_made) {
    if (!*path) return status_new(XT_INVALID_ARGUMENT, NULL, "a folder without a name; a path is expected");
    return file_put_dirs(path, 0777, out_made);
}
