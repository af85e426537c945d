/* A system that refuses once: preloaded, it lets the n-th call (n = FAULT_AT, with FAULT_STAYS all after it too) of the
 * function FAULT_CALL fail that xtrain's own code makes, with the error that such a call fails with. FAULT_COUNT: a
 * file that gets the number of such calls at the end. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic long calls;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

static int is_due(const char *name, void *caller) {
    const char *wanted = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *slash;
    Dl_info object;
    if (!wanted || strcmp(wanted, name) != 0 || !dladdr(caller, &object)) return 0;
    slash = strrchr(object.dli_fname, '/');
    if (!strstr(slash ? slash : object.dli_fname, "xtrain")) return 0;
    long n = ++calls, from = at ? atol(at) : 0;
    return from && (n == from || (n > from && getenv("FAULT_STAYS")));
}

static __attribute__((destructor)) void tell(void) {
    const char *file = getenv("FAULT_COUNT");
    FILE *f = file && calls ? fopen(file, "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", calls);
    fclose(f);
}

#define FAILS(type, name, parameters, arguments, error)            \
    type name parameters {                                         \
        if (is_due(#name, CALLER)) return errno = error, (type)-1; \
        return NEXT(name) arguments;                               \
    }
FAILS(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), EIO)
FAILS(ssize_t, pread64, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at), EIO)
FAILS(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), EIO)
FAILS(int, fstat, (int fd, struct stat *st), (fd, st), EIO)
FAILS(int, stat, (const char *path, struct stat *st), (path, st), EACCES)
FAILS(int, pipe, (int fds[2]), (fds), EMFILE)
FAILS(int, pipe2, (int fds[2], int flags), (fds, flags), EMFILE)
FAILS(int, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE)
FAILS(pid_t, fork, (void), (), EAGAIN)
FAILS(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from), (at, n, prot, flags, fd, from),
      ENOMEM)
FAILS(void *, mmap64, (void *at, size_t n, int prot, int flags, int fd, off64_t from), (at, n, prot, flags, fd, from),
      ENOMEM)
FAILS(int, mprotect, (void *at, size_t n, int prot), (at, n, prot), ENOMEM)

#define OPENS(name)                                           \
    int name(const char *path, int flags, ...) {              \
        va_list list;                                         \
        va_start(list, flags);                                \
        mode_t mode = va_arg(list, mode_t);                   \
        va_end(list);                                         \
        if (is_due(#name, CALLER)) return errno = EMFILE, -1; \
        return NEXT(name)(path, flags, mode);                 \
    }
OPENS(open)
OPENS(open64)
#define OPENATS(name)                                         \
    int name(int folder, const char *path, int flags, ...) {  \
        va_list list;                                         \
        va_start(list, flags);                                \
        mode_t mode = va_arg(list, mode_t);                   \
        va_end(list);                                         \
        if (is_due(#name, CALLER)) return errno = EMFILE, -1; \
        return NEXT(name)(folder, path, flags, mode);         \
    }
OPENATS(openat)
OPENATS(openat64)
#define FOPENS(name)                                                    \
    FILE *name(const char *path, const char *mode) {                    \
        if (is_due(#name, CALLER)) return errno = EMFILE, (FILE *)NULL; \
        return NEXT(name)(path, mode);                                  \
    }
FOPENS(fopen)
FOPENS(fopen64)
size_t fread(void *p, size_t size, size_t n, FILE *f) {
    if (is_due("fread", CALLER)) {
        f->_flags |= 0x20; /* glibc's: ferror sees it */
        return errno = EIO, 0;
    }
    return NEXT(fread)(p, size, n, f);
}
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *user) {
    if (is_due("pthread_create", CALLER)) return EAGAIN;
    return NEXT(pthread_create)(t, a, fn, user);
}
/* dlerror says something then. */
void *dlopen(const char *path, int flags) {
    if (is_due("dlopen", CALLER)) path = "/there/is/no/such/library.so";
    return NEXT(dlopen)(path, flags);
}
