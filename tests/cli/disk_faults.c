/* A disk that fails once: preloaded, it lets the n-th call of those that change files below FAULT_FOLDER fail with
 * FAULT_ERROR (an error number), n = FAULT_AT, and with FAULT_STAYS all after it. FAULT_COUNT: a file that gets the
 * number of such calls at the end. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long calls;

static int below(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int fd_below(int fd) {
    char link[64], path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 0 && below(path);
}

static int fails(int is_below) {
    const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERROR");
    if (!is_below) return 0;
    long n = ++calls, from = at ? atol(at) : 0;
    if (!from || n < from || (n > from && !getenv("FAULT_STAYS"))) return 0;
    errno = error ? atoi(error) : EIO;
    return 1;
}

static __attribute__((destructor)) void tell(void) {
    const char *file = getenv("FAULT_COUNT");
    FILE *f = file ? fopen(file, "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", calls);
    fclose(f);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_FD(type, name, parameters, arguments)                      \
    type name parameters {                                            \
        return fails(fd_below(fd)) ? (type)-1 : NEXT(name) arguments; \
    }
ON_FD(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
ON_FD(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
ON_FD(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
ON_FD(int, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
#define ON_PATH(name, parameters, path, arguments)             \
    int name parameters {                                      \
        return fails(below(path)) ? -1 : NEXT(name) arguments; \
    }
ON_PATH(rename, (const char *from, const char *to), to, (from, to))
ON_PATH(link, (const char *from, const char *to), to, (from, to))
ON_PATH(mkdir, (const char *path, mode_t mode), path, (path, mode))

#define OPENS(name)                                                                   \
    int name(const char *path, int flags, ...) {                                      \
        va_list list;                                                                 \
        va_start(list, flags);                                                        \
        mode_t mode = va_arg(list, mode_t);                                           \
        va_end(list);                                                                 \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && fails(below(path))) return -1; \
        return NEXT(name)(path, flags, mode);                                         \
    }
OPENS(open)
OPENS(open64)
#define MAPS(name, offset)                                                             \
    void *name(void *at, size_t n, int prot, int flags, int fd, offset from) {         \
        if (fd >= 0 && (flags & MAP_SHARED) && fails(fd_below(fd))) return MAP_FAILED; \
        return NEXT(name)(at, n, prot, flags, fd, from);                               \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
