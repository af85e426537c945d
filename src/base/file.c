/* Whole files in, whole files out. A file_writer fills a temporary file in the target's own folder and renames it over
 * the target only when every byte is on the disk, so a reader or a crash sees the old content or the new, never a
 * mixture. Targets that are no regular files (/dev/stdout, a pipe) cannot be renamed over and are written directly. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/look.h"
#include "base/file_place.h"
#include "base/private_file.h"
#include "base/process.h"
#include "base/shown.h"
#include "base/unfinished.h"

enum { BUFFER_SIZE = 1 << 16, READ_STEP = 1 << 16 };

struct file_writer {
    char *target, *temporary; /* temporary is NULL when the target is written directly */
    int fd, unfinished; /* its number, -1: none */
    size_t buffered;
    char buffer[BUFFER_SIZE];
};

/* Reads to the end; sizes from stat are a hint only (/proc files say 0, a growing log grows). */
static xt_status read_fd(int fd, const char *path, size_t hint, char **out_data, size_t *out_size) {
    size_t cap = hint + 1 < READ_STEP ? READ_STEP : hint + 2, len = 0;
    char *data = base_malloc(cap);
    if (!data) return status_oom(cap, path);
    for (;;) {
        if (len + 1 == cap) {
            char *grown = size_mul(cap, 2, &cap) ? base_realloc(data, cap) : NULL;
            if (!grown) {
                base_free(data);
                return status_oom(cap, path);
            }
            data = grown;
        }
        ssize_t n = read(fd, data + len, cap - len - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            xt_status s = status_errno("cannot read", path);
            base_free(data);
            return s;
        }
        if (n == 0) break;
        len += (size_t)n;
    }
    data[len] = '\0';
    *out_data = data;
    *out_size = len;
    return NULL;
}

xt_status file_read_all(const char *path, char **out_data, size_t *out_size) {
    struct stat st;
    *out_data = NULL;
    *out_size = 0;
    int fd;
    XT_TRY(file_open_input(path, true, &fd, &st));
    size_t hint = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 0;
    xt_status s = read_fd(fd, path, hint, out_data, out_size);
    close(fd);
    return s;
}

static xt_status write_fd(int fd, const char *path, const char *p, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return status_errno("cannot write", path);
        p += wrote;
        n -= (size_t)wrote;
    }
    return NULL;
}

static void writer_free(file_writer *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->temporary) unlink(w->temporary);
    unfinished_drop(w->unfinished);
    base_free(w->temporary);
    base_free(w->target);
    base_free(w);
}

/* No file can be made at target. */
static xt_status no_file(const char *target) {
    const char *slash = strrchr(target, '/');
    char folder[PATH_MAX];
    struct stat st;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - target) + (slash == target) : 1,
             slash ? target : ".");
    if (stat(folder, &st) == 0)
        return status_new(XT_PERMISSION_DENIED, NULL, "%s cannot be written: no file can be made in %s", target,
                          folder);
    return status_new(XT_NOT_FOUND, NULL,
                      "cannot write %s: there is no folder %s; make it first (mkdir -p), or name another", target,
                      folder);
}

/* --- what killed processes were writing --- */
enum { LEAVING_MS = 1000 /* so long a process that is on its way out is waited for */ };
typedef enum leftover { NO_LEFTOVER, IN_USE, ABANDONED } leftover;

/* "model.safetensors.tmp.4711.88125.0": the third file of a process and its start (process_ticks); earlier versions
 * wrote no start. */
static bool parse_temporary(const char *name, int *out_pid, uint64_t *out_ticks) {
    const char *tail = NULL;
    uint64_t numbers[3] = {0};
    int n = 0;
    for (const char *p = name; (p = strstr(p, ".tmp.")); p++) tail = p + 5;
    for (; tail && *tail >= '0' && *tail <= '9' && n < 3; n++) {
        char *end;
        numbers[n] = strtoull(tail, &end, 10);
        tail = *end == '.' ? end + 1 : end;
    }
    *out_pid = numbers[0] <= INT_MAX ? (int)numbers[0] : 0;
    *out_ticks = n == 3 ? numbers[1] : 0;
    return n >= 2 && !*tail && *out_pid;
}

/* This user's, of a process that is gone from this machine. Who writes holds a lock on the file, by which a process of
 * another machine or container, with any number, is seen. */
static leftover leftover_of(int folder, const char *name) {
    int pid;
    uint64_t ticks;
    struct stat st;
    if (!parse_temporary(name, &pid, &ticks)) return NO_LEFTOVER;
    if (pid == (int)getpid() && (!ticks || ticks == process_ticks(pid))) return NO_LEFTOVER;
    if (process_stays_alive(pid, ticks, LEAVING_MS)) return IN_USE;
    int fd = file_open_regular(folder, name, &st);
    bool ours = fd >= 0 && st.st_uid == geteuid(), free = ours && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return free ? ABANDONED : ours ? IN_USE : NO_LEFTOVER;
}

bool file_is_abandoned(int folder, const char *name) {
    return leftover_of(folder, name) == ABANDONED;
}

/* Targets of this process that were looked at, nearly all: what others left of one is looked for when it is first
 * written. Folders of many files are listed once a minute at most, or each of a thousand pictures would list those
 * before it; what is left there of a target is then found by a later write, or by the next run. */
enum { MANY_FILES = 1000, LISTED_S = 60 };
static _Atomic uint64_t looked_at[256];
static struct {
    _Atomic uint64_t folder;
    _Atomic int64_t until;
} large[16];

static uint64_t name_hash(const char *name) {
    return hash_bytes(name, strlen(name), (hash128){0}).lo | 1;
}

/* Removes what dead processes left of this target: a run that is killed while it writes is started again, and writes
 * the same file. Where another process seems to be at it, which may be dying, the next write looks again. */
static void sweep(const char *target) {
    uint64_t hash = name_hash(target);
    _Atomic uint64_t *look = &looked_at[hash / 2 % BASE_COUNT(looked_at)];
    if (atomic_load(look) == hash) return;
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    size_t n = strlen(name), files = 0;
    char *folder = slash ? base_strndup(target, (size_t)(slash - target) + (slash == target)) : base_strdup(".");
    uint64_t of = folder ? name_hash(folder) : 0;
    size_t at = of / 2 % BASE_COUNT(large);
    bool later = !folder || (atomic_load(&large[at].folder) == of && clock_ns() < atomic_load(&large[at].until));
    DIR *d = later ? NULL : opendir(folder);
    if (d) atomic_store(look, hash);
    for (struct dirent *e; d && (e = readdir(d)); files++) {
        if (strncmp(e->d_name, name, n) != 0 || strncmp(e->d_name + n, ".tmp.", 5) != 0) continue;
        leftover is = leftover_of(dirfd(d), e->d_name);
        if (is == ABANDONED && unlinkat(dirfd(d), e->d_name, 0) == 0)
            log_msg(XT_SEV_INFO, "%s: what a killed run had written of it (%s) is removed", target, e->d_name);
        if (is == IN_USE) atomic_store(look, 0);
    }
    if (files >= MANY_FILES) {
        atomic_store(&large[at].until, clock_ns() + LISTED_S * INT64_C(1000000000));
        atomic_store(&large[at].folder, of);
    }
    if (d) closedir(d);
    base_free(folder);
}

/* Makes a file of a new name and marks it as one that is being written. False: somebody who swept took it for abandoned
 * before it was marked. */
static bool open_marked(file_writer *w, const char *name, mode_t mode) {
    struct stat st;
    /* A file of that name can only be the rest of a dead process with our pid. */
    unlink(name);
    file_keep_standard();
    w->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (w->fd < 0) return true;
    flock(w->fd, LOCK_SH | LOCK_NB);
    if (fstat(w->fd, &st) != 0 || st.st_nlink > 0) return true;
    close(w->fd);
    w->fd = -1;
    return false;
}

static xt_status open_temporary(file_writer *w, mode_t mode) {
    static _Atomic unsigned serial;
    str name = STR_INIT;
    sweep(w->target);
    do {
        str_clear(&name);
        str_printf(&name, "%s.tmp.%ld.%llu.%u", w->target, (long)getpid(),
                   (unsigned long long)process_ticks((int)getpid()), atomic_fetch_add(&serial, 1));
        if (name.failed) {
            str_free(&name);
            return status_oom(strlen(w->target), "a file name");
        }
        w->unfinished = unfinished_add(name.data, false);
        if (open_marked(w, name.data, mode)) break;
        unfinished_drop(w->unfinished);
        w->unfinished = -1;
    } while (true);
    if (w->fd < 0) {
        xt_status s = errno == ENOENT ? no_file(w->target) : status_errno("cannot create", name.data);
        str_free(&name);
        return s;
    }
    w->temporary = name.data;
    return NULL;
}

/* Through a symbolic link the file it names is replaced, not the link. */
static xt_status open_target(file_writer *w, const char *path) {
    struct stat st;
    XT_TRY(file_output_target(path, &w->target));
    bool exists = stat(w->target, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return status_new(XT_INVALID_ARGUMENT, NULL, "cannot write %s: it is a folder", path);
    if (exists && !S_ISREG(st.st_mode)) {
        w->fd = file_open_output(w->target, 0);
        return w->fd < 0 ? file_output_failed(path) : NULL;
    }
    XT_TRY(open_temporary(w, 0666));
    return exists && fchmod(w->fd, st.st_mode & 07777) != 0 ? status_errno("cannot set the mode of", w->temporary)
                                                            : NULL;
}

static xt_status writer_open(const char *path, file_writer **out) {
    *out = NULL;
    file_writer *w = base_malloc(sizeof *w);
    if (!w) return status_oom(sizeof *w, "a file writer");
    w->fd = w->unfinished = -1;
    w->buffered = 0;
    w->target = w->temporary = NULL;
    xt_status s = open_target(w, path);
    if (s)
        writer_free(w);
    else
        *out = w;
    return s;
}

xt_status file_writer_open(const char *path, file_writer **out) {
    return writer_open(rehearsal_skips() ? "/dev/null" : path, out);
}

static xt_status flush(file_writer *w) {
    xt_status s = write_fd(w->fd, w->target, w->buffer, w->buffered);
    w->buffered = 0;
    return s;
}

xt_status file_writer_write(file_writer *w, const void *p, size_t n) {
    if (n <= BUFFER_SIZE - w->buffered) {
        if (n) memcpy(w->buffer + w->buffered, p, n);
        w->buffered += n;
        return NULL;
    }
    XT_TRY(flush(w));
    if (n >= BUFFER_SIZE) return write_fd(w->fd, w->target, p, n);
    memcpy(w->buffer, p, n);
    w->buffered = n;
    return NULL;
}

bool file_writer_patches(const file_writer *w) {
    return w->temporary != NULL;
}

xt_status file_writer_patch(file_writer *w, size_t at, const void *p, size_t n) {
    XT_TRY(flush(w));
    for (size_t done = 0; done < n;) {
        ssize_t wrote = pwrite(w->fd, (const char *)p + done, n - done, (off_t)(at + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return status_errno("cannot write", w->target);
        done += (size_t)wrote;
    }
    return NULL;
}

/* Some file systems cannot do it, or not for this user: nothing can be done then, and nothing is wrong. */
static bool is_refusal(int e) {
    return e == EINVAL || e == EOPNOTSUPP || e == ENOSYS || e == EROFS || e == EBADF || e == EACCES || e == EPERM;
}

/* The rename itself survives a power cut only when the folder is on the disk. The file is whole, so where that cannot
 * be had nothing has failed, but it is told. */
static void sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? base_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : base_strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0 && fsync(fd) != 0 && !is_refusal(errno)) {
        xt_status s = status_errno("cannot sync the folder", folder);
        log_msg(XT_SEV_WARNING, "%s is written, but may be gone after a power cut: %s", path, status_message(s));
        xt_status_free(s);
    }
    if (fd >= 0) close(fd);
    base_free(folder);
}

/* The file gets its name. */
static xt_status finish(file_writer *w, bool waits) {
    xt_status s = flush(w);
    if (!s && w->temporary) {
        if (waits && fsync(w->fd) != 0) s = status_errno("cannot sync", w->target);
        int fd = w->fd;
        w->fd = -1;
        if (close(fd) != 0 && !s) s = status_errno("cannot close", w->target); /* NFS and quotas report here */
        if (!s && rename(w->temporary, w->target) != 0) s = status_errno("cannot replace", w->target);
        if (!s) {
            base_free(w->temporary);
            w->temporary = NULL;
            if (waits) sync_folder(w->target);
        }
    }
    writer_free(w);
    return s;
}

xt_status file_writer_commit(file_writer *w) {
    return finish(w, true);
}
xt_status file_writer_place(file_writer *w) {
    return finish(w, false);
}

void file_writer_abandon(file_writer *w) {
    if (w) writer_free(w);
}

static xt_status write_whole(file_writer *w, const void *p, size_t n) {
    xt_status s = file_writer_write(w, p, n);
    if (s) {
        file_writer_abandon(w);
        return s;
    }
    return file_writer_commit(w);
}

xt_status file_write_all(const char *path, const void *p, size_t n) {
    file_writer *w;
    XT_TRY(file_writer_open(path, &w));
    return write_whole(w, p, n);
}

xt_status file_put(const char *path, const void *p, size_t n) {
    file_writer *w;
    XT_TRY(writer_open(path, &w));
    return write_whole(w, p, n);
}

/* Another process may make the same folder at the same time: existing is success if it is a folder. */
static xt_status make_dir(const char *path, unsigned mode, bool *out_made) {
    struct stat st;
    *out_made = mkdir(path, (mode_t)mode) == 0;
    if (*out_made) return NULL;
    int e = errno;
    bool there;
    XT_TRY(file_look(path, &st, &there));
    if (there && S_ISDIR(st.st_mode)) return NULL;
    if (there)
        return status_new(XT_ALREADY_EXISTS, NULL, "cannot create the folder %s: a file of that name exists", path);
    errno = e;
    return status_errno("cannot create the folder", path);
}

xt_status file_put_dirs(const char *path, unsigned mode, bool *out_made) {
    xt_status s = NULL;
    char *copy;
    bool made = false;
    if (out_made) *out_made = false;
    if (!*path) return NULL;
    XT_TRY(file_output_target(path, &copy)); /* neither made nor used through another user's link */
    for (char *p = copy + 1; *p && !s; p++) {
        if (*p != '/') continue;
        *p = '\0';
        s = make_dir(copy, mode, &made);
        *p = '/';
    }
    if (!s) s = make_dir(copy, mode, &made);
    if (out_made) *out_made = !s && made;
    base_free(copy);
    return s;
}

xt_status file_make_dirs(const char *path, unsigned mode) {
    return rehearsal_on() ? NULL : file_put_dirs(path, mode, NULL);
}

/* Names of dumps begin with those of modules, which stand in files: they name something in this folder and nowhere
 * else, and the end, which says what it is, is kept of a long one. */
static char *dump_path(const char *dir, const char *name) {
    enum { LONGEST = 200 };
    size_t n = strlen(name);
    char one[LONGEST + 1];
    snprintf(one, sizeof one, "%s", n > LONGEST ? name + n - LONGEST : name);
    text_hide(one, "");
    for (char *c = one; *c; c++)
        if (*c == '/' || *c == '?' || (*c == '.' && c == one)) *c = '_';
    return path_join(dir, one);
}

xt_status file_dump(const char *dir, const char *name, const void *p, size_t n) {
    file_writer *w = NULL;
    char *path = dump_path(dir, name);
    xt_status s = path ? file_put_dirs(dir, 0777, NULL) : status_oom(strlen(dir), "a dump");
    if (!s) s = writer_open(path, &w);
    base_free(path);
    return s ? s : write_whole(w, p, n);
}

bool file_is_absent(int error) {
    return error == ENOENT || error == ENOTDIR;
}

bool file_is_missing(const char *path) {
    struct stat st;
    return stat(path, &st) != 0 && file_is_absent(errno);
}

xt_status file_look(const char *path, struct stat *out, bool *out_there) {
    *out_there = stat(path, out) == 0;
    return *out_there || file_is_absent(errno) ? NULL : status_errno("cannot look at", path);
}

xt_status file_look_into(const char *folder, DIR **out) {
    *out = opendir(folder);
    return *out || file_is_absent(errno) ? NULL : status_errno("cannot look into the folder", folder);
}

xt_status file_read_at(int fd, const char *path, void *to, size_t n, int64_t at, size_t *out_got) {
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, (char *)to + got, n - got, (off_t)at + (off_t)got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return status_errno("cannot read", path);
        if (k == 0) break;
        got += (size_t)k;
    }
    *out_got = got;
    return NULL;
}

bool file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

char *path_join(const char *a, const char *b) {
    if (!*a || *b == '/') return base_strdup(b);
    str joined = STR_INIT;
    str_append(&joined, a);
    if (joined.len && joined.data[joined.len - 1] != '/') str_putc(&joined, '/');
    str_append(&joined, b);
    if (!joined.failed) return joined.data;
    str_free(&joined);
    return NULL;
}
