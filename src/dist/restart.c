/* What restart.h says. The launcher makes a memory file of one fixed record, a path and its end; ranks reach it through
 * /proc/PID/fd/N, as they do their shared memory. Only rank 0 writes checkpoints, so there is one writer, and it is
 * gone before the next group reads.
 *
 * Over several hosts there are two records, as hosts may share a folder or not: a file in the launcher's working folder
 * (XT_RESTART_FILE), and one in the run's folder on rank 0's own host (XT_RESTART_LOCAL), which rank 0 makes. The next
 * ranks look at both, each on its host, and agree on the checkpoint that is furthest (train/checkpoint_hosts.c). */
#include "dist/restart.h"
#include "base/private_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xtrain/dist.h>

xt_status restart_open(restart_file *out) {
    file_keep_standard();
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
    file_keep_standard();
    out->fd = open(out->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    out->shared = true;
    return out->fd >= 0 ? NULL : status_errno("making the file in which rank 0 notes its checkpoints", out->name);
}

void restart_say(const char *who, const restart_file *f, int restarts, int max_restarts) {
    char from[PATH_MAX];
    bool there = restart_read(f, from, sizeof from);
    log_msg(XT_SEV_WARNING, "%s: restart %d of %d, %s%s", who, restarts, max_restarts,
            there       ? "from "
            : f->shared ? "from the beginning: no checkpoint was complete, or only on another host"
                        : "from the beginning: no checkpoint was complete",
            there ? from : "");
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
    int fd = open(name, flags | O_CLOEXEC | O_NONBLOCK | (strncmp(name, "/proc/", 6) == 0 ? 0 : O_NOFOLLOW), 0600);
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == geteuid() || (stat(dir, &folder) == 0 && folder.st_uid == st.st_uid));
    if (fd >= 0 && !ours) close(fd);
    return ours ? fd : -1;
}

static void note_in(const char *name, int flags, const char record[PATH_MAX]) {
    int fd = name ? open_record(name, O_WRONLY | flags) : -1;
    if (fd < 0) return; /* the launcher is gone, and so shall we be; or that folder is on another host */
    if (pwrite(fd, record, PATH_MAX, 0) < 0)
        log_msg(XT_SEV_WARNING, "the launcher could not be told of the checkpoint %s", record);
    close(fd);
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
    note_in(name, 0, record);
    note_in(env_get("XT_RESTART_LOCAL"), O_CREAT, record);
}

void restart_check(void) {
    static bool told;
    const char *name = env_get("XT_RESTART_FILE"), *local = env_get("XT_RESTART_LOCAL"),
               *slash = local ? strrchr(local, '/') : NULL;
    char host[65] = "", folder[PATH_MAX] = "";
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - local), local);
    if (told || !name || access(name, W_OK) == 0 || (slash && access(folder, W_OK) == 0)) return;
    told = true;
    gethostname(host, sizeof host - 1);
    log_msg(XT_SEV_WARNING,
            "rank %d on host %s can write neither %s nor the run's folder%s%s, where checkpoints are noted: started "
            "again after a failure, this run would not find those of this host",
            world_get()->rank, host, name, slash ? " " : "", folder);
}

int xt_restarts(void) {
    int64_t n;
    return env_int("XT_RESTARTS", 0, &n) ? (int)n : 0;
}

static char *read_from(const char *name) {
    char record[PATH_MAX];
    restart_file f = {.fd = name ? open_record(name, O_RDONLY) : -1};
    bool there = f.fd >= 0 && restart_read(&f, record, sizeof record);
    restart_close(&f);
    return there ? base_strdup(record) : NULL;
}

void restart_points(char *out[RESTART_POINTS]) {
    out[0] = out[1] = NULL;
    if (xt_restarts() == 0) return;
    out[0] = read_from(env_get("XT_RESTART_FILE"));
    out[1] = read_from(env_get("XT_RESTART_LOCAL"));
}
