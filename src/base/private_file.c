/* See private_file.h. */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* O_NONBLOCK: opening a FIFO that nobody writes would wait for good. On a regular file it has no effect. */
int file_open_regular(int folder, const char *name, struct stat *out) {
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    int error = fstat(fd, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : !S_ISREG(st.st_mode) ? ENODEV : 0;
    if (error) {
        close(fd);
        errno = error;
        return -1;
    }
    if (out) *out = st;
    return fd;
}

const char *file_open_problem(int error) {
    if (error == ELOOP) return "it is a symbolic link";
    if (error == EISDIR) return "it is a folder";
    if (error == ENODEV || error == ENXIO) return "it is no regular file";
    return strerror(error);
}

/* strerror is not for signal handlers. */
static const char *reason(int error) {
    const char *text =
        error == ELOOP || error == ENOTDIR ? "something that is no folder has its name" : strerrordesc_np(error);
    return text ? text : "an unknown error";
}

static const char *stat_problem(const struct stat *st, mode_t others) {
    if (!S_ISDIR(st->st_mode)) return "it is not a folder";
    if (st->st_uid != geteuid()) return "it belongs to another user";
    if (st->st_mode & others & 022) return "others may write it; chmod 700 it";
    return st->st_mode & others ? "others may enter it; chmod 700 it" : NULL;
}

const char *private_dir_problem(int fd, mode_t others) {
    struct stat st;
    return fstat(fd, &st) != 0 ? reason(errno) : stat_problem(&st, others);
}

int private_dir_open(int parent, const char *name, mode_t others, const char **out_why) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *out_why = fd < 0 ? reason(errno) : private_dir_problem(fd, others);
    if (fd >= 0 && *out_why) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int private_dir_make(int parent, const char *name, const char **out_why) {
    if (mkdirat(parent, name, 0700) == 0 || errno == EEXIST) return private_dir_open(parent, name, 077, out_why);
    *out_why = reason(errno);
    return -1;
}

static int write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
        p += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

const char *private_file_write(int folder, const char *name, const void *data, size_t n) {
    char temporary[NAME_MAX + 1];
    size_t len = strlen(name);
    if (len + 5 > sizeof temporary) return reason(ENAMETOOLONG);
    memcpy(temporary, name, len);
    memcpy(temporary + len, ".new", 5);
    unlinkat(folder, temporary, 0); /* of one that was killed here */
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return reason(errno);
    int error = write_all(fd, data, n);
    if (close(fd) != 0 && !error) error = errno;
    if (!error && renameat(folder, temporary, folder, name) != 0) error = errno;
    if (error) unlinkat(folder, temporary, 0);
    return error ? reason(error) : NULL;
}

/* Whoever owns "/" can do anything here; in a user namespace that is nobody. */
static bool trusted_owner(uid_t uid) {
    struct stat top;
    return uid == geteuid() || uid == 0 || (stat("/", &top) == 0 && uid == top.st_uid);
}

const char *private_path_problem(const char *dir, mode_t others) {
    struct stat st;
    char parent[PATH_MAX];
    if (stat(dir, &st) != 0) return "it cannot be read";
    const char *why = stat_problem(&st, others);
    if (why) return why;
    if (!realpath(dir, parent)) return "its path cannot be resolved";
    for (char *slash = strrchr(parent, '/'); slash; slash = strrchr(parent, '/')) {
        *slash = 0;
        if (stat(*parent ? parent : "/", &st) != 0) return "a parent folder cannot be read";
        if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)) return "others may write a parent folder";
        if (!trusted_owner(st.st_uid)) return "a parent folder belongs to another user";
        if (!*parent) break;
    }
    return NULL;
}

/* Where link fd, of the name `path`, points to; the last part need not exist. */
static char *target_of(int fd, const char *path) {
    char link[PATH_MAX], real[PATH_MAX];
    ssize_t n = readlinkat(fd, "", link, sizeof link - 1);
    const char *slash = strrchr(path, '/');
    str target = STR_INIT;
    if (n <= 0) return NULL;
    link[n] = 0;
    if (link[0] != '/' && slash) str_appendn(&target, path, (size_t)(slash - path) + 1);
    str_append(&target, link);
    char *out = target.failed ? NULL : base_strdup(realpath(str_cstr(&target), real) ? real : str_cstr(&target));
    str_free(&target);
    return out;
}

/* The link is looked at and read through one descriptor, so that it is one link. */
xt_status file_output_target(const char *path, char **out) {
    struct stat st;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is_link = fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
    bool foreign = is_link && !trusted_owner(st.st_uid);
    *out = foreign ? NULL : is_link ? target_of(fd, path) : base_strdup(path);
    if (fd >= 0) close(fd);
    if (foreign)
        return status_new(XT_PERMISSION_DENIED, NULL,
                          "cannot write %s: it is a symbolic link that another user (uid %u) made; remove it, or write "
                          "into a folder that only you may write",
                          path, (unsigned)st.st_uid);
    return *out ? NULL : status_oom(strlen(path), "a file name");
}

static _Atomic int fails;
void file_allocate_fails(int error) {
    atomic_store(&fails, error);
}

/* What posix_fallocate of a file system without it comes to: bytes that are written have their place. */
static int write_zeros(int fd, size_t bytes) {
    static const char zeros[1 << 14];
    for (size_t at = 0; at < bytes;) {
        size_t n = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        ssize_t wrote = pwrite(fd, zeros, n, (off_t)at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
        at += (size_t)wrote;
    }
    return 0;
}

int file_allocate(int fd, size_t bytes) {
    int error = atomic_load(&fails);
    while (!error && (error = fallocate(fd, 0, 0, (off_t)bytes) == 0 ? 0 : errno) == EINTR) error = 0;
    return error == EOPNOTSUPP || error == ENOSYS ? write_zeros(fd, bytes) : error;
}

void str_append_name(str *to, const char *name) {
    enum { SHOWN = 200 };
    size_t n = strlen(name);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c < 0x20 || c == 0x7f)
            str_printf(to, "\\x%02x", c);
        else
            str_putc(to, name[i]);
    }
    if (n > SHOWN) str_printf(to, "... (%zu characters)", n);
}
