/* Files and folders beside other users', and names that were read from files.
 *
 * Two kinds of things are not trusted: what stands in a file (anybody may have written the file), and what stands in a folder that others may write. A name
 * out of a file is opened relative to a folder that is already open, never through a symbolic link, never waits (a FIFO), and counts only as a regular
 * file. The functions below are the one place that does this.
 *
 *     struct stat st;
 *     int fd = file_open_regular(folder, name, &st);
 *     if (fd < 0) return file_open_problem(errno);
 */
#ifndef XT_SRC_BASE_PRIVATE_FILE_H
#define XT_SRC_BASE_PRIVATE_FILE_H

#include <sys/stat.h>

#include "base/base.h"

/* Opens `name` in `folder` (AT_FDCWD: the working folder) for reading: a regular file, no symbolic link, without waiting. -1: errno says why; EISDIR,
 * ENODEV (a FIFO, socket or device) and ELOOP (a symbolic link) are findings of this function too. `out` may be NULL. */
int file_open_regular(int folder, const char *name, struct stat *out);
const char *file_open_problem(int error); /* "it is a symbolic link", ...; what strerror says for the rest */

/* Makes a new file `bytes` long with every byte on the medium, or in the memory of its file system. A hole in a file that is mapped is a SIGBUS at the first
 * store for which the medium has no room; so no file is mapped for writing before this. Gives 0 or an error number: ENOSPC, EDQUOT, EFBIG, ... */
int file_allocate(int fd, size_t bytes);
void file_allocate_fails(
    int error); /* test hook: every file_allocate fails so, without an attempt; EOPNOTSUPP: as on a file system that cannot; 0 = off */

/* `name` for a message: control characters as \xNN, the end of a long one left out. A name out of a file can neither forge a line nor flood the screen. */
void str_append_name(str *to, const char *name);

#endif
