/* Tar files without compression: the places of their regular files, by which the files are read later, in any order.
 * ustar, pax (path, size) and GNU's long names and sizes; nothing is ever unpacked. The reader is our own, as libraries
 * of archives go from front to back, and a dataset wants sample i. It is strict: checksums, sizes within the file,
 * names that stay below their folder, and the two blocks of zeros at the end, without which a file is cut. */
#ifndef XT_SRC_FORMAT_TAR_H
#define XT_SRC_FORMAT_TAR_H

#include "base/base.h"

typedef struct tar_member {
    const char *name; /* valid during the call */
    int64_t at, size; /* of its bytes in the file */
} tar_member;
/* Calls fn with each regular file, in order; its error ends the reading. Folders, links, devices and FIFOs are left out
 * and counted in *out_left_out. `path` is for messages, `fd` a regular file of `bytes` bytes. */
xt_status tar_each(const char *path, int fd, int64_t bytes, xt_status (*fn)(void *user, const tar_member *m),
                   void *user, int64_t *out_left_out);
/* pread, whole or an error with the path. */
xt_status tar_read(const char *path, int fd, int64_t at, void *to, size_t n);

#endif
