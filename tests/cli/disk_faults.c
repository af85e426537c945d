/* A disk that fails once: preloaded, it lets the n-th call of those that change files below FAULT_FOLDER fail with
 * FAULT_ERROR (an error number), n = FAULT_AT, and with FAULT_STAYS all after it but
 * removals (a full disk lets files go). With FAULT_SIGNAL the call does not
 * fail: the process sends itself that signal there (SIGKILL, SIGSTOP), a write in its middle. FAULT_COUNT: a file that
 * gets the number of such calls at the end. FAULT_TRACE: a file that gets the call's name for each of them. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic long calls;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

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

/* A name beside a folder's descriptor. */
static int at_below(int folder, const char *path) {
    return path && (path[0] == '/' || folder == AT_FDCWD ? below(path) : fd_below(folder));
}

static void trace(long n, const char *name) {
    const char *file = getenv("FAULT_TRACE");
    char line[80];
    int fd = file ? NEXT(open)(file, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0) return;
    int len = snprintf(line, sizeof line, "%d %ld %s\n", (int)getpid(), n, name);
    if (NEXT(write)(fd, line, (size_t)len) != len) abort();
    close(fd);
}

/* Half of what is to be written, where a signal comes in the middle of it; 0: none comes. */
static size_t half(size_t n) {
    return getenv("FAULT_SIGNAL") ? n / 2 : 0;
}

static int is_due(int is_below, const char *name) {
    const char *at = getenv("FAULT_AT");
    if (!is_below) return 0;
    long n = ++calls, from = at ? atol(at) : 0;
    trace(n, name);
    return from && (n == from || (n > from && getenv("FAULT_STAYS")));
}

/* Of the call that is due: the signal comes, or it fails. */
static int fails_now(void) {
    const char *error = getenv("FAULT_ERROR"), *number = getenv("FAULT_SIGNAL");
    if (number) {
        kill(getpid(), atoi(number));
        return 0; /* after a stop it goes on */
    }
    errno = error ? atoi(error) : EIO;
    return 1;
}
static int fails(int is_below, const char *name) {
    return is_due(is_below, name) && fails_now();
}
static int removal_fails(int is_below, const char *name) {
    return is_due(is_below, name) && !getenv("FAULT_STAYS") && fails_now();
}

static __attribute__((destructor)) void tell(void) {
    const char *file = getenv("FAULT_COUNT");
    FILE *f = file ? fopen(file, "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", calls);
    fclose(f);
}

ssize_t write(int fd, const void *p, size_t n) {
    size_t first = 0;
    if (is_due(fd_below(fd), "write")) {
        if (half(n)) {
            ssize_t wrote = NEXT(write)(fd, p, half(n));
            first = wrote > 0 ? (size_t)wrote : 0;
        }
        if (fails_now()) return -1;
    }
    ssize_t rest = NEXT(write)(fd, (const char *)p + first, n - first);
    return rest < 0 && !first ? rest : (ssize_t)first + (rest > 0 ? rest : 0);
}
#define PWRITES(name, offset)                                                                                \
    ssize_t name(int fd, const void *p, size_t n, offset at) {                                               \
        if (is_due(fd_below(fd), #name) && ((half(n) && NEXT(name)(fd, p, half(n), at) < 0) || fails_now())) \
            return -1;                                                                                       \
        return NEXT(name)(fd, p, n, at);                                                                     \
    }
PWRITES(pwrite, off_t)
PWRITES(pwrite64, off64_t)

#define ON_FD(type, name, parameters, arguments)                             \
    type name parameters {                                                   \
        return fails(fd_below(fd), #name) ? (type)-1 : NEXT(name) arguments; \
    }
ON_FD(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t n), (fd, n))
ON_FD(int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FD(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
ON_FD(int, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
/* These give the error itself. */
#define ALLOCATES(name, offset)                                            \
    int name(int fd, offset at, offset n) {                                \
        return fails(fd_below(fd), #name) ? errno : NEXT(name)(fd, at, n); \
    }
ALLOCATES(posix_fallocate, off_t)
ALLOCATES(posix_fallocate64, off64_t)

#define ON_PATH(name, parameters, is_below, arguments) ON_PATH_IF(fails, name, parameters, is_below, arguments)
#define ON_PATH_IF(fails, name, parameters, is_below, arguments)   \
    int name parameters {                                          \
        return fails(is_below, #name) ? -1 : NEXT(name) arguments; \
    }
ON_PATH(rename, (const char *from, const char *to), below(to), (from, to))
ON_PATH(renameat, (int a, const char *from, int b, const char *to), at_below(b, to), (a, from, b, to))
ON_PATH(link, (const char *from, const char *to), below(to), (from, to))
ON_PATH(linkat, (int a, const char *from, int b, const char *to, int f), at_below(b, to), (a, from, b, to, f))
ON_PATH(symlink, (const char *from, const char *to), below(to), (from, to))
ON_PATH_IF(removal_fails, unlink, (const char *path), below(path), (path))
ON_PATH_IF(removal_fails, unlinkat, (int a, const char *path, int f), at_below(a, path), (a, path, f))
ON_PATH_IF(removal_fails, rmdir, (const char *path), below(path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), below(path), (path, mode))
ON_PATH(mkdirat, (int a, const char *path, mode_t mode), at_below(a, path), (a, path, mode))

#define OPENS(name, first, path_below, arguments)                                           \
    int name(first const char *path, int flags, ...) {                                      \
        va_list list;                                                                       \
        va_start(list, flags);                                                              \
        mode_t mode = va_arg(list, mode_t);                                                 \
        va_end(list);                                                                       \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && fails(path_below, #name)) return -1; \
        return NEXT(name) arguments;                                                        \
    }
#define NO_FOLDER
#define FOLDER int folder,
OPENS(open, NO_FOLDER, below(path), (path, flags, mode))
OPENS(open64, NO_FOLDER, below(path), (path, flags, mode))
OPENS(openat, FOLDER, at_below(folder, path), (folder, path, flags, mode))
OPENS(openat64, FOLDER, at_below(folder, path), (folder, path, flags, mode))
#define FOPENS(name)                                                                        \
    FILE *name(const char *path, const char *mode) {                                        \
        return mode[0] != 'r' && fails(below(path), #name) ? NULL : NEXT(name)(path, mode); \
    }
FOPENS(fopen)
FOPENS(fopen64)
#define MAPS(name, offset)                                                                    \
    void *name(void *at, size_t n, int prot, int flags, int fd, offset from) {                \
        if (fd >= 0 && (flags & MAP_SHARED) && fails(fd_below(fd), #name)) return MAP_FAILED; \
        return NEXT(name)(at, n, prot, flags, fd, from);                                      \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
