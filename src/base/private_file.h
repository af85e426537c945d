/* Files and folders beside other users', and names that were read from files.
 *
 * Two kinds of things are not trusted: what stands in a file (anybody may have written the file), and what stands in a
 * folder that others may write. A name out of a file is opened relative to a folder that is already open, never through
 * a symbolic link, never waits (a FIFO), and counts only as a regular file. The functions below are the one place that
 * does this.
 *
 *     struct stat st;
 *     int fd = file_open_regular(folder, name, &st);
 *     if (fd < 0) return file_open_problem(errno);
 */
#ifndef XT_SRC_BASE_PRIVATE_FILE_H
#define XT_SRC_BASE_PRIVATE_FILE_H

#include <sys/stat.h>

#include "base/base.h"

/* Opens `name` in `folder` (AT_FDCWD: the working folder) for reading: a regular file, no symbolic link, without
 * waiting. -1: errno says why; EISDIR, ENODEV (a FIFO, socket or device) and ELOOP (a symbolic link) are findings of
 * this function too. `out` may be NULL. */
int file_open_regular(int folder, const char *name, struct stat *out);
/* A file that is there for its lock (flock) alone; `make`: with mode 0600 where there is none. Otherwise as above. */
int file_open_lock(int folder, const char *name, bool make);
const char *file_open_problem(int error); /* "it is a symbolic link", ...; what strerror says for the rest */

/* Opens a file that the user named, for reading: a regular file, whatever links lead to it. Anything else (a folder, a
 * FIFO, a socket, a device) is refused by name before it is opened: opening a FIFO waits for a writer, opening a device
 * may do anything. `pipes`: for whoever reads from front to back; a pipe without a name (the shell's <(command),
 * /dev/stdin) has been opened by somebody else already, so nothing waits. `out` may be NULL. */
xt_status file_open_input(const char *path, bool pipes, int *out_fd, struct stat *out);

/* A folder of this user's alone, by its descriptor: what is made relative to it is where it was meant to be, whoever
 * renames what in the folders above. `others`: permissions that group and others must not have (022: to write; 077:
 * none at all). These four are safe in signal handlers. -1, with the reason. */
const char *private_dir_problem(int fd, mode_t others);
int private_dir_open(int parent, const char *name, mode_t others, const char **out_why);
int private_dir_make(int parent, const char *name, const char **out_why); /* 0700, or there already and 077 */
/* The whole file, 0600, or the one before: under another name, made anew (no link is followed), and renamed. NULL:
 * done, else why not. */
const char *private_file_write(int folder, const char *name, const void *data, size_t n);
/* A few bytes at the end of a regular file that is there, in one write, which those of other processes do not part.
 * False: there is none, or they are not there whole. */
bool private_file_append(int folder, const char *name, const void *data, size_t n);
/* Why the folder of this path may be exchanged or written by others: its own mode and owner (as above), or a folder
 * above it that others may write (sticky ones, as /tmp, are fine) or that belongs to somebody else. NULL: it is safe,
 * and `out_real` (PATH_MAX characters, or NULL) is its path without links. That is the path to use: `dir` itself may
 * lead through a link that somebody turns elsewhere later. */
const char *private_path_problem(const char *dir, mode_t others, char *out_real);

/* Where a file or folder that the program was told to write really goes, without links: through symbolic links of this
 * user's and root's (as everywhere), not through those that another user made, who could name any file of this user's;
 * neither at the path's end nor on its way. What does not exist yet is no error. base_free(*out). */
xt_status file_output_target(const char *path, char **out);

/* Before a file is opened whose contents matter: a closed descriptor of 0, 1 and 2 is taken, so that the file does not
 * get its number, and with it what is printed there. When the library is loaded, too. */
void file_keep_standard(void);

/* Opens such a target for writing where it may be no regular file, without waiting for somebody who reads it (a FIFO
 * that nobody reads is ENXIO); writing waits as usual. `flags`: O_CREAT, O_APPEND, ... -1: errno says why. */
int file_open_output(const char *target, int flags);
/* `name` in `folder` is what a file_writer of a process that is gone had written; it can be removed. A process that is
 * dying is waited for, for a second. */
bool file_is_abandoned(int folder, const char *name);
bool file_writer_patches(const file_writer *w); /* not where it writes into a pipe or a device, which has no "before" */
xt_status file_output_failed(const char *path); /* of errno */
const char *file_kind_problem(const struct stat *st); /* NULL: a regular file; else "it is a device", ... */

/* Makes a new file `bytes` long with every byte on the medium, or in the memory of its file system. A hole in a file
 * that is mapped is a SIGBUS at the first store for which the medium has no room; so no file is mapped for writing
 * before this. Gives 0 or an error number: ENOSPC, EDQUOT, EFBIG, ... */
int file_allocate(int fd, size_t bytes);
void file_allocate_fails(int error); /* test hook: every file_allocate fails so, without an attempt; EOPNOTSUPP: as on a
                                        file system that cannot; 0 = off */

#endif
