/* Making crash folders, and their life. They lie where programs run, which may be a folder that others write too: so
 * nothing that is there already is used but what is this user's alone, and everything goes through descriptors.
 *
 * How long they stay: each xt-crash-PID that a program of this user leaves is noted in a list beside the status files,
 * one for each program's name; a program that starts keeps the newest XT_POSTMORTEM_KEEP (20; 0 = all) of those that
 * runs of the same program left and removes the others of them, with a line that says so. So no folder is searched,
 * whatever working folders runs had, and what another program left is not this one's to remove.
 *
 * Only what the library wrote is removed: the reports and boxes in a folder of that name which is this user's own; a
 * folder in which something else lies stays. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/crash.h"
#include "base/private_file.h"

enum { KEEP = 20 };

/* --- making one --- */
void crash_place_open(crash_place *p, const char *folder, int pid) {
    struct stat st;
    uint32_t any = 0;
    crash_place_close(p);
    *p = (crash_place){.folder = folder[0] ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1};
    if (p->folder >= 0 && fstat(p->folder, &st) == 0) {
        p->device = (int64_t)st.st_dev;
        p->inode = (int64_t)st.st_ino;
    }
    if (getrandom(&any, sizeof any, GRND_NONBLOCK) != (ssize_t)sizeof any) any = (uint32_t)clock_ns();
    snprintf(p->random, sizeof p->random, "-%08x", any);
    snprintf(p->name, sizeof p->name, "xt-crash-%d", pid);
    snprintf(p->path, sizeof p->path, "%.500s/%s", folder, p->name);
    p->parent = strnlen(folder, 500);
}

/* A program that closes all descriptors, as daemons do, may have given the number to another file. */
static bool still_open(const crash_place *p) {
    struct stat st;
    return p->folder >= 0 && fstat(p->folder, &st) == 0 && (int64_t)st.st_dev == p->device &&
           (int64_t)st.st_ino == p->inode;
}

void crash_place_close(crash_place *p) {
    if (p->path[0] && still_open(p)) close(p->folder);
    p->folder = -1;
}

/* No snprintf: it is not for signal handlers. */
static void add_random(crash_place *p) {
    size_t n = strlen(p->name), m = strlen(p->random);
    if (n + m >= sizeof p->name || p->parent + 1 + n + m >= sizeof p->path) return;
    memcpy(p->name + n, p->random, m + 1);
    memcpy(p->path + p->parent + 1 + n, p->random, m + 1);
    p->random[0] = 0;
}

int crash_folder_make(crash_place *p, const char **out_why) {
    if (!still_open(p)) {
        *out_why = "the folder that it would be in is not open";
        return -1;
    }
    int fd = private_dir_make(p->folder, p->name, out_why);
    if (fd < 0 && p->random[0] &&
        faccessat(p->folder, p->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) { /* something else has the name: left alone */
        add_random(p);
        fd = private_dir_make(p->folder, p->name, out_why);
    }
    return fd;
}

void crash_folder_unmake(const crash_place *p) {
    if (still_open(p)) unlinkat(p->folder, p->name, AT_REMOVEDIR);
}

/* --- the list --- */
static char list_path[480];

static const char *list_file(void) {
    const char *folder = blackbox_folder();
    if (!folder) return NULL;
    snprintf(list_path, sizeof list_path, "%s/crash-folders-%.64s", folder, program_invocation_short_name);
    return list_path;
}

void crash_folders_ready(void) {
    (void)list_file();
}

/* From a signal handler too, after crash_folders_ready: one write of a whole line. */
void crash_folder_note(const char *folder) {
    char line[620];
    size_t n = 0;
    for (; folder[n] && n < sizeof line - 2; n++) line[n] = folder[n];
    line[n++] = '\n';
    int fd = list_path[0] ? open(list_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd < 0) return;
    ssize_t wrote = write(fd, line, n);
    (void)wrote; /* a folder that is not in the list stays */
    close(fd);
}

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static bool written_by_us(const char *name) {
    return (strncmp(name, "report", 6) == 0 && (ends_in(name, ".txt") || ends_in(name, ".txt.new"))) ||
           ends_in(name, ".xtbox") || ends_in(name, ".xtbox.new");
}

static bool remove_folder(const char *path) {
    const char *base = strrchr(path, '/'), *why;
    if (path[0] != '/' || strncmp(base + 1, "xt-crash-", 9) != 0) return false;
    int dir = private_dir_open(AT_FDCWD, path, 022, &why);
    DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (written_by_us(e->d_name)) unlinkat(dir, e->d_name, 0);
    if (d)
        closedir(d);
    else if (dir >= 0)
        close(dir);
    return rmdir(path) == 0;
}

static int64_t limit(void) {
    int64_t keep;
    return env_int("XT_POSTMORTEM_KEEP", 0, &keep) ? keep : KEEP;
}

/* The last mention of a folder counts: it was written again. Gives those that are still there, oldest first. */
static size_t read_list(const char *text, char ***out) {
    char **all = NULL;
    size_t n = 0, cap = 0;
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        char *one = len ? base_strndup(p, len) : NULL;
        p += len + (p[len] == '\n');
        struct stat st;
        if (!one || lstat(one, &st) != 0) {
            base_free(one);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            if (strcmp(all[i], one) == 0) {
                base_free(all[i]);
                memmove(all + i, all + i + 1, (--n - i) * sizeof *all);
                break;
            }
        if (!VEC_PUSH(all, n, cap, one)) base_free(one);
    }
    *out = all;
    return n;
}

static void tell_removed(const str *names, int64_t removed, int64_t keep) {
    log_msg(XT_SEV_INFO, "%lld old crash folder%s removed, the newest %lld stay (XT_POSTMORTEM_KEEP=N, 0 = all):%s",
            (long long)removed, removed == 1 ? "" : "s", (long long)keep, str_cstr(names));
}

static void prune(int fd, const char *path, int64_t keep) {
    char *text = NULL;
    size_t size = 0;
    xt_status s = file_read_all(path, &text, &size);
    char **all = NULL;
    size_t n = s ? 0 : read_list(text, &all), from = n > (size_t)keep ? n - (size_t)keep : 0;
    xt_status_free(s);
    base_free(text);
    str rest = STR_INIT, names = STR_INIT;
    int64_t removed = 0;
    for (size_t i = 0; i < n; i++) {
        bool gone = i < from && remove_folder(all[i]);
        removed += gone;
        if (gone && removed <= 3)
            str_printf(&names, "%s %s", removed > 1 ? "," : "", all[i]);
        else if (gone && removed == 4)
            str_append(&names, ", ...");
        if (i >= from) str_printf(&rest, "%s\n", all[i]); /* one that something else lies in is not ours any more */
        base_free(all[i]);
    }
    base_free(all);
    bool kept = !from || rest.failed ||
                (ftruncate(fd, 0) == 0 && pwrite(fd, str_cstr(&rest), rest.len, 0) == (ssize_t)rest.len);
    if (!kept) log_msg(XT_SEV_WARNING, "%s: %s; crash folders it named are not cleaned up", path, strerror(errno));
    if (removed) tell_removed(&names, removed, keep);
    str_free(&rest);
    str_free(&names);
}

void crash_folders_prune(void) {
    const char *path = list_file();
    int64_t keep = limit();
    struct stat st;
    /* A line has more than 11 characters: most starts look at nothing but the size. */
    if (!path || keep == 0 || lstat(path, &st) != 0 || st.st_size < 11 * keep) return;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) prune(fd, path, keep); /* else another program is at it */
    close(fd);
}
