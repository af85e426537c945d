/* See private_file.h. */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
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
