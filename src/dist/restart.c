/* What restart.h says. The launcher makes a memory file of one fixed record, a path and its end; ranks reach it through
 * /proc/PID/fd/N, as they do their shared memory. Only rank 0 writes checkpoints, so there is one writer, and it is
 * gone before the next group reads. */
#include "dist/restart.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xtrain/dist.h>

xt_status restart_open(restart_file *out) {
    out->fd = memfd_create("xtrain-restart", MFD_CLOEXEC);
    if (out->fd < 0 || ftruncate(out->fd, PATH_MAX) != 0)
        return status_errno("making the memory that outlives the ranks", "");
    snprintf(out->name, sizeof out->name, "/proc/%d/fd/%d", (int)getpid(), out->fd);
    return NULL;
}

xt_status restart_open_shared(restart_file *out) {
    char here[sizeof out->name - 64];
    if (!getcwd(here, sizeof here)) return status_errno("finding the working folder", "");
    uint32_t any = 0; /* a name that nobody can have put a link under */
    if (getrandom(&any, sizeof any, 0) != (ssize_t)sizeof any) return status_errno("reading random bytes", "");
    snprintf(out->name, sizeof out->name, "%s/.xtrain-restart-%d-%08x", here, (int)getpid(), any);
    out->fd = open(out->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return out->fd >= 0 ? NULL : status_errno("making the file in which rank 0 notes its checkpoints", out->name);
}

void restart_say(const char *who, const restart_file *f, int restarts, int max_restarts) {
    char from[PATH_MAX];
    bool there = restart_read(f, from, sizeof from);
    log_msg(XT_SEV_WARNING, "%s: restart %d of %d, %s%s", who, restarts, max_restarts,
            there ? "from " : "from the beginning: no checkpoint was complete", there ? from : "");
}

void restart_close(restart_file *f) {
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

bool restart_read(const restart_file *f, char *out, size_t n) {
    ssize_t got = pread(f->fd, out, n - 1, 0);
    out[got > 0 ? got : 0] = 0;
    return out[0] != 0;
}

/* The record of this run, never what somebody put in its place: this user's, or (a server may give root's files to
 * nobody) of the folder's owner. The memory file of a launcher is reached through a link of the kernel's. */
static int open_record(const char *name, int flags) {
    struct stat st, folder;
    const char *slash = strrchr(name, '/');
    char dir[PATH_MAX];
    int fd = open(name, flags | O_CLOEXEC | O_NONBLOCK | (strncmp(name, "/proc/", 6) == 0 ? 0 : O_NOFOLLOW));
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == geteuid() || (stat(dir, &folder) == 0 && folder.st_uid == st.st_uid));
    if (fd >= 0 && !ours) close(fd);
    return ours ? fd : -1;
}

void restart_note(const char *checkpoint) {
    const char *name = env_get("XT_RESTART_FILE");
    char record[PATH_MAX] = "";
    if (!name || !checkpoint) return;
    if (checkpoint[0] != '/' &&
        (!getcwd(record, sizeof record - 1) || strlen(record) + strlen(checkpoint) + 2 > sizeof record))
        return;
    if (record[0]) strcat(record, "/");
    strncat(record, checkpoint, sizeof record - strlen(record) - 1);
    int fd = open_record(name, O_WRONLY);
    if (fd < 0) return; /* the launcher is gone, and so shall we be */
    if (pwrite(fd, record, sizeof record, 0) < 0)
        log_msg(XT_SEV_WARNING, "the launcher could not be told of the checkpoint %s", checkpoint);
    close(fd);
}

void restart_check(void) {
    static bool told;
    const char *name = env_get("XT_RESTART_FILE");
    char host[65] = "";
    if (told || !name || access(name, W_OK) == 0) return;
    told = true;
    gethostname(host, sizeof host - 1);
    log_msg(XT_SEV_WARNING,
            "rank %d on host %s cannot reach %s, where rank 0 notes its checkpoints: started again after a failure, "
            "this run would not find them; with --host, --max-restarts needs a working folder "
            "that all hosts share, for checkpoints too",
            world_get()->rank, host, name);
}

int xt_restarts(void) {
    int64_t n;
    return env_int("XT_RESTARTS", &n) && n > 0 ? (int)n : 0;
}

char *restart_point(void) {
    const char *name = env_get("XT_RESTART_FILE"), *from = env_get("XT_RESTART_FROM");
    char record[PATH_MAX];
    if (!name || xt_restarts() == 0) return NULL;
    if (from) return base_strdup(from);
    restart_file f = {.fd = open_record(name, O_RDONLY)};
    bool there = f.fd >= 0 && restart_read(&f, record, sizeof record);
    restart_close(&f);
    return there ? base_strdup(record) : NULL;
}
