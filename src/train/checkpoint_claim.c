/* A claim is a lock (flock) on NAME.ckpt.tmp.claim. Whoever gets the lock looks whether the file is still the one of
 * that name: who had it before removes it, and then the lock is on nothing that another process would meet. */
#include "train/checkpoint_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"

static const char suffix[] = ".tmp.claim";

typedef struct claim {
    char *path, *file;
    int fd; /* -1: no lock could be had */
    int times;
} claim;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static claim *claims;
static size_t n_claims, cap_claims;

typedef enum named { NAMED_NOT, NAMED_STILL, NAMED_UNKNOWN } named; /* unknown: it cannot be looked at */

static named is_named(int folder, const char *name, int fd) {
    struct stat a, b;
    if (fstat(fd, &a) != 0) return NAMED_UNKNOWN;
    if (fstatat(folder, name, &b, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? NAMED_NOT : NAMED_UNKNOWN;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? NAMED_STILL : NAMED_NOT;
}

/* False: another process has it. *out_fd -1: there is no lock to be had here, or nothing will be written. */
static bool take(const char *file, int *out_fd) {
    if (rehearsal_on()) return true;
    for (;;) {
        int fd = *out_fd = file_open_lock(AT_FDCWD, file, true);
        if (fd < 0) return true;
        bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        bool theirs = !locked && errno == EWOULDBLOCK;
        if (locked && is_named(AT_FDCWD, file, fd) != NAMED_NOT) return true;
        close(fd);
        *out_fd = -1;
        if (!locked) return !theirs;
    }
}

static claim *claim_of(const char *path) {
    for (size_t i = 0; i < n_claims; i++)
        if (strcmp(claims[i].path, path) == 0) return &claims[i];
    return NULL;
}

claim_made checkpoint_claim(const char *path) {
    pthread_mutex_lock(&lock);
    claim *known = claim_of(path), fresh = {.fd = -1, .times = 1};
    claim_made made = known ? CLAIM_ADDED : CLAIM_FIRST;
    if (known) {
        known->times++;
    } else {
        str file = STR_INIT;
        str_printf(&file, "%s%s", path, suffix);
        fresh.file = file.data;
        fresh.path = base_strdup(path);
        if (!file.failed && fresh.path && !take(fresh.file, &fresh.fd)) made = CLAIM_NONE;
        bool kept = !file.failed && fresh.path && made && VEC_PUSH(claims, n_claims, cap_claims, fresh);
        if (!kept) {
            if (fresh.fd >= 0) close(fresh.fd);
            base_free(fresh.path);
            str_free(&file);
        }
    }
    pthread_mutex_unlock(&lock);
    return made;
}

void checkpoint_unclaim(const char *path) {
    pthread_mutex_lock(&lock);
    claim *known = claim_of(path);
    if (known && --known->times == 0) {
        if (known->fd >= 0) {
            unlink(known->file);
            close(known->fd);
        }
        base_free(known->path);
        base_free(known->file);
        *known = claims[--n_claims];
        if (!n_claims) {
            base_free(claims);
            claims = NULL;
            cap_claims = 0;
        }
    }
    pthread_mutex_unlock(&lock);
}

void checkpoint_claim_sweep(int folder, const char *name) {
    size_t n = strlen(name), tail = sizeof suffix - 1;
    if (n <= tail || strcmp(name + n - tail, suffix) != 0) return;
    int fd = file_open_lock(folder, name, false);
    if (fd < 0) return;
    struct stat st;
    bool empty = fstat(fd, &st) == 0 && st.st_size == 0;
    if (empty && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(folder, name, fd) == NAMED_STILL)
        unlinkat(folder, name, 0);
    close(fd);
}
