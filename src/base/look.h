/* Looking for files, and reading them, where "there is none" and "it cannot be seen" are two answers: a folder that may
 * not be looked into, or a disk that fails, is told by its name and its reason, and never taken for absence. */
#ifndef XT_SRC_BASE_LOOK_H
#define XT_SRC_BASE_LOOK_H

#include <dirent.h>
#include <sys/stat.h>

#include "base/base.h"

bool file_is_absent(int error); /* an errno: there is no such name, rather than that it could not be looked for */
/* There is none. One that cannot be looked at is not missing: whoever opens it says why. */
bool file_is_missing(const char *path);
/* What the name leads to; *out_there false, and no error: nothing. */
xt_status file_look(const char *path, struct stat *out, bool *out_there);
/* closedir; NULL, and no error: there is no folder of that name. */
xt_status file_look_into(const char *folder, DIR **out);
/* n bytes at `at`, or as many as there are until the file's end. */
xt_status file_read_at(int fd, const char *path, void *to, size_t n, int64_t at, size_t *out_got);

#endif
