/* See private_file.h. */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* O_NONBLOCK: opening a FIFO that nobody writes would wait for good. On a regular file it has no effect. */
static int open_regular(int folder, const char *name, int flags, struct stat *out) {
    struct stat st;
    file_keep_standard();
    int fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
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

int file_open_regular(int folder, const char *name, struct stat *out) {
    return open_regular(folder, name, O_RDONLY, out);
}

int file_open_lock(int folder, const char *name, bool make) {
    return open_regular(folder, name, O_RDWR | (make ? O_CREAT : 0), NULL);
}

const char *file_open_problem(int error) {
    if (error == ELOOP) return "it is a symbolic link";
    if (error == EISDIR) return "it is a folder";
    if (error == ENODEV || error == ENXIO) return "it is no regular file";
    return strerror(error);
}

/* A pipe without a name has a path in /proc that leads nowhere. */
static bool is_unnamed_pipe(const char *path, const struct stat *st) {
    char real[PATH_MAX];
    return S_ISFIFO(st->st_mode) && !realpath(path, real);
}

static xt_status no_input(const char *path, const struct stat *st) {
    return status_new(XT_INVALID_ARGUMENT, NULL, "cannot read %s: %s; a regular file is expected", path,
                      file_kind_problem(st));
}

/* A name that is not there is looked for in a folder that the user may not think of. */
static xt_status cannot_open(const char *path) {
    char here[PATH_MAX];
    bool absent = errno == ENOENT;
    xt_status s = status_errno("cannot open", *path ? path : "a file without a name");
    if (!absent || *path == '/' || !*path || !getcwd(here, sizeof here)) return s;
    xt_status more = status_new(status_code(s), NULL, "%s (looked for in %s; give the whole path of one elsewhere)",
                                status_text(s), here);
    xt_status_free(s);
    return more;
}

/* Looked at twice, as another may take its place before it is opened. */
xt_status file_open_input(const char *path, bool pipes, int *out_fd, struct stat *out) {
    struct stat st;
    *out_fd = -1;
    if (stat(path, &st) != 0) return cannot_open(path);
    bool pipe = pipes && is_unnamed_pipe(path, &st);
    if (!S_ISREG(st.st_mode) && !pipe) return no_input(path, &st);
    file_keep_standard();
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return status_errno("cannot open", path);
    xt_status s = fstat(fd, &st) != 0                                     ? status_errno("cannot open", path)
                  : S_ISREG(st.st_mode) || (pipe && S_ISFIFO(st.st_mode)) ? NULL
                                                                          : no_input(path, &st);
    int now = s ? -1 : fcntl(fd, F_GETFL);
    if (now >= 0) fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    if (s)
        close(fd);
    else
        *out_fd = fd;
    if (out) *out = st;
    return s;
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
    file_keep_standard();
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return reason(errno);
    int error = write_all(fd, data, n);
    if (close(fd) != 0 && !error) error = errno;
    if (!error && renameat(folder, temporary, folder, name) != 0) error = errno;
    if (error) unlinkat(folder, temporary, 0);
    return error ? reason(error) : NULL;
}

bool private_file_append(int folder, const char *name, const void *data, size_t n) {
    struct stat st;
    int fd = openat(folder, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool done = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && write(fd, data, n) == (ssize_t)n;
    if (fd >= 0) close(fd);
    return done;
}

/* Whoever owns "/" can do anything here; in a user namespace that is nobody. */
static bool trusted_owner(uid_t uid) {
    struct stat top;
    return uid == geteuid() || uid == 0 || (stat("/", &top) == 0 && uid == top.st_uid);
}

/* A folder above a safe one, which nobody else can put another in the place of. */
static const char *parent_problem(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0) return "a parent folder cannot be read";
    if (!S_ISDIR(st.st_mode)) return "a parent folder is being exchanged";
    if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)) return "others may write a parent folder";
    return trusted_owner(st.st_uid) ? NULL : "a parent folder belongs to another user";
}

/* The path is resolved once; what is looked at from there on, and what the caller uses, has no links. From the top
 * down: below a folder that is safe nothing is exchanged any more. */
const char *private_path_problem(const char *dir, mode_t others, char *out_real) {
    struct stat st;
    char real[PATH_MAX];
    if (stat(dir, &st) != 0) return "it cannot be read";
    if (!realpath(dir, real)) return "its path cannot be resolved";
    const char *above = strcmp(real, "/") == 0 ? NULL : parent_problem("/");
    for (char *slash = strchr(real + 1, '/'); slash && !above; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        above = parent_problem(real);
        *slash = '/';
    }
    const char *why = lstat(real, &st) != 0 ? "it cannot be read" : stat_problem(&st, others);
    if (!why && !above && out_real) memcpy(out_real, real, strlen(real) + 1);
    return why ? why : above;
}

/* A path on its way: what was walked and has no links, and what is still to walk. */
typedef struct walk {
    char done[PATH_MAX], rest[2 * PATH_MAX];
    int links;
} walk;

/* The link w->done, of `base` characters without its last part, is replaced by what it says. A link in /proc that names
 * no path (a pipe, a file that was removed) leads to its file only as it is. False: it stays a part of the path. */
static bool follow(walk *w, size_t base) {
    char text[PATH_MAX], further[2 * PATH_MAX];
    struct stat st;
    ssize_t n = readlink(w->done, text, sizeof text - 1);
    if (n <= 0) return false;
    text[n] = 0;
    if (strncmp(w->done, "/proc/", 6) == 0 && (text[0] != '/' || lstat(text, &st) != 0)) return false;
    int length = snprintf(further, sizeof further, "%s/%s", text, w->rest);
    if (length < 0 || (size_t)length >= sizeof further) return false;
    memcpy(w->rest, further, (size_t)length + 1);
    w->done[text[0] == '/' ? 0 : base] = 0;
    if (text[0] == '/') strcpy(w->done, "/");
    return true;
}

/* Takes the next part of the rest over; 0: there is none. */
static size_t next_part(walk *w) {
    size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/"), at = strlen(w->done);
    if (!n || at + n + 2 > sizeof w->done) return 0;
    if (at && w->done[at - 1] != '/') w->done[at++] = '/';
    memcpy(w->done + at, w->rest + skip, n);
    w->done[at + n] = 0;
    memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
    return n;
}

static xt_status foreign_link(const char *path, const char *link, uid_t owner) {
    bool itself = strcmp(path, link) == 0;
    return status_new(
        XT_PERMISSION_DENIED, NULL,
        "cannot write %s: %s is a symbolic link that another user (uid %u) made; remove it, or write into "
        "a folder that only you may write",
        path, itself ? "it" : link, (unsigned)owner);
}

/* Every part is looked at, not the last alone: whoever makes a link of a folder on the way says where the file goes as
 * well. */
xt_status file_output_target(const char *path, char **out) {
    enum { MAX_LINKS = 40 };
    *out = NULL;
    if (!*path)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the path to be written is empty: a file's name is expected");
    walk *w = strlen(path) < PATH_MAX ? base_calloc(1, sizeof *w) : NULL;
    if (!w)
        return strlen(path) < PATH_MAX
                   ? status_oom(sizeof *w, "a file name")
                   : status_new(XT_INVALID_ARGUMENT, NULL, "a file's name of %zu characters is too long: less than %d",
                                strlen(path), PATH_MAX);
    strcpy(w->rest, path);
    if (path[0] == '/') strcpy(w->done, "/");
    xt_status s = NULL;
    for (size_t base = strlen(w->done); !s && next_part(w); base = strlen(w->done)) {
        struct stat st;
        if (lstat(w->done, &st) != 0 || !S_ISLNK(st.st_mode)) continue;
        if (!trusted_owner(st.st_uid))
            s = foreign_link(path, w->done, st.st_uid);
        else if (++w->links > MAX_LINKS)
            s = status_new(XT_INVALID_ARGUMENT, NULL, "cannot write %s: its symbolic links lead in a circle", path);
        else
            follow(w, base);
    }
    if (!s && !(*out = base_strdup(w->links ? w->done : path))) s = status_oom(strlen(path), "a file name");
    base_free(w);
    return s;
}

int file_open_output(const char *target, int flags) {
    file_keep_standard();
    int fd = open(target, flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
    if (fd < 0 && errno == ELOOP && strncmp(target, "/proc/", 6) == 0) /* where /dev/stdout leads: it has no path */
        fd = open(target, flags | O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    int now = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (now >= 0) fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    return fd;
}

xt_status file_output_failed(const char *path) {
    if (errno != ENXIO) return status_errno("cannot open", path);
    return status_new(
        XT_UNAVAILABLE, NULL,
        "cannot write %s: it is a FIFO or socket that nobody reads; start its reader first, or name a file", path);
}

const char *file_kind_problem(const struct stat *st) {
    if (S_ISREG(st->st_mode)) return NULL;
    return S_ISDIR(st->st_mode)                           ? "it is a folder"
           : S_ISFIFO(st->st_mode)                        ? "it is a FIFO"
           : S_ISSOCK(st->st_mode)                        ? "it is a socket"
           : S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? "it is a device"
                                                          : "it is no regular file";
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
