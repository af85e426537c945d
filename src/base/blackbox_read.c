/* Reading black boxes: the folder they lie in, which of them belong to a living process, and moving those of the dead into their crash folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/blackbox.h"

/* Ours alone: the files name programs and paths, and are read without further questions. */
static bool safe(const char *dir) {
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

const char *blackbox_folder(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char dir[400];
    char now[400];
    const char *given = env_get("XT_STATUS_DIR"), *run = getenv("XDG_RUNTIME_DIR");
    if (given) snprintf(now, sizeof now, "%s", given);
    else if (run && *run && access(run, W_OK) == 0) snprintf(now, sizeof now, "%s/xtrain", run);
    else snprintf(now, sizeof now, "/tmp/xtrain-%d", (int)geteuid());
    pthread_mutex_lock(&lock);
    if (strcmp(now, dir) != 0) {
        xt_status_free(file_make_dirs(now, 0700));
        snprintf(dir, sizeof dir, "%s", safe(now) ? now : "");
    }
    pthread_mutex_unlock(&lock);
    return dir[0] ? dir : NULL;
}

static uint64_t ticks_of(int pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    char *p = strrchr(text, ')');
    if (p && (p[2] == 'Z' || p[2] == 'X')) return 0; /* dead, and not waited for yet */
    for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void terminate(char *text, size_t n) { text[n - 1] = '\0'; }
#define TERMINATE(field) terminate(field, sizeof(field))

bool blackbox_load(const char *path, box_file *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->path, sizeof out->path, "%s", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    blackbox *b = &out->box;
    size_t at = 0;
    for (ssize_t n; at < sizeof *b && (n = read(fd, (char *)b + at, sizeof *b - at)) != 0; at += (size_t)n)
        if (n < 0) break;
    close(fd);
    if (at != sizeof *b || memcmp(b->magic, "xtbox002", sizeof b->magic) != 0 || b->size != sizeof *b) return false;
    TERMINATE(b->oom_file), TERMINATE(b->program), TERMINATE(b->folder), TERMINATE(b->device), TERMINATE(b->versions), TERMINATE(b->batch), TERMINATE(b->loss_name), TERMINATE(b->place), TERMINATE(b->note);
    TERMINATE(b->last_error), TERMINATE(b->report);
    for (int i = 0; i < BOX_PLACES; i++) TERMINATE(b->places[i]);
    if (b->n_rows < 0 || b->n_rows > BOX_ROWS) b->n_rows = 0;
    if (b->n_history < 0 || b->n_history > BOX_HISTORY) b->n_history = 0;
    if (b->n_places < 0 || b->n_places >= BOX_PLACES) b->n_places = 0;
    for (int i = 0; i < BOX_ROWS; i++) TERMINATE(b->rows[i].role), TERMINATE(b->rows[i].where), TERMINATE(b->rows[i].path);
    uint64_t ticks = ticks_of(b->pid);
    out->alive = ticks != 0 && ticks == b->start_ticks;
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void blackbox_each(const char *folder, bool (*visit)(void *user, const box_file *f), void *user) {
    char **names = NULL;
    size_t n = 0, cap = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len < 7 || strcmp(e->d_name + len - 6, ".xtbox") != 0) continue;
        char *path = path_join(folder, e->d_name);
        if (path && !VEC_PUSH(names, n, cap, path)) base_free(path);
    }
    if (d) closedir(d);
    if (n) qsort(names, n, sizeof *names, by_name);
    box_file *f = n ? base_malloc(sizeof *f) : NULL; /* a hundred kilobytes: not for a thread's stack */
    bool go = f != NULL;
    for (size_t i = 0; i < n; i++) {
        if (go && blackbox_load(names[i], f)) go = visit(user, f);
        base_free(names[i]);
    }
    base_free(names);
    base_free(f);
}

/* The file stays until the folder is complete: whoever is killed while saving leaves it to the next one. Locked, so that one at a time saves it. */
static int take(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
    close(fd); /* somebody else was faster */
    return -1;
}

bool blackbox_salvage(const box_file *f, char *out, size_t n) {
    char state[700], report[700];
    int lock = take(f->path);
    if (lock < 0) return false;
    box_file *copy = base_malloc(sizeof *copy);
    if (!copy) {
        close(lock);
        return false;
    }
    *copy = *f;
    blackbox *b = &copy->box;
    if (b->state == BOX_RUNNING) b->oom_kills_end = base_oom_kills_in(b->oom_file); /* later kills are not this program's */
    bool ranks = b->world > 1;
    snprintf(out, n, "%s/xt-crash-%d", b->folder, ranks ? (int)b->parent : (int)b->pid);
    xt_status s = file_make_dirs(out, 0700);
    if (s) { /* its folder is gone: the working folder takes it */
        xt_status_free(s);
        snprintf(out, n, "xt-crash-%d", ranks ? (int)b->parent : (int)b->pid);
        s = file_make_dirs(out, 0700);
    }
    if (ranks) {
        snprintf(state, sizeof state, "%s/rank%d.xtbox", out, b->rank);
        snprintf(report, sizeof report, "%s/report-rank%d.txt", out, b->rank);
    } else {
        snprintf(state, sizeof state, "%s/state.xtbox", out);
        snprintf(report, sizeof report, "%s/report.txt", out);
    }
    str text = STR_INIT;
    blackbox_explain(copy, &text);
    if (!s) s = file_write_all(state, b, sizeof *b);
    if (!s) s = file_write_all(report, str_cstr(&text), text.len);
    crash_folders_ready();
    if (!s) crash_folder_note(out);
    str_free(&text);
    base_free(copy);
    unlink(f->path);
    close(lock);
    bool ok = !s;
    xt_status_free(s);
    return ok;
}
