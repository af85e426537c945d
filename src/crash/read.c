/* Reading black boxes: the folder they lie in, which of them belong to a living process, and moving those of the dead
 * into their crash folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "crash/crash.h"
#include "base/private_file.h"
#include "base/process.h"
#include "base/shown.h"

static pthread_mutex_t folder_lock = PTHREAD_MUTEX_INITIALIZER;
static char folder_asked[400], folder_real[400]; /* as it was named; what it is without links */
static const char *folder_bad = "it is not looked at yet";

static const char *settle(const char *now) {
    char real[PATH_MAX];
    const char *why = private_path_problem(now, 077, real);
    if (!why && strlen(real) >= sizeof folder_real) why = "its path is too long";
    if (!why) memcpy(folder_real, real, strlen(real) + 1);
    return why;
}

/* Ours alone: the files name programs and paths, and are read without further questions. */
const char *blackbox_folder(void) {
    char now[sizeof folder_asked];
    const char *given = env_get("XT_STATUS_DIR"), *run = getenv("XDG_RUNTIME_DIR");
    if (given)
        snprintf(now, sizeof now, "%s", given);
    else if (run && *run && access(run, W_OK) == 0)
        snprintf(now, sizeof now, "%s/xtrain", run);
    else
        snprintf(now, sizeof now, "/tmp/xtrain-%d", (int)geteuid());
    pthread_mutex_lock(&folder_lock);
    if (strcmp(now, folder_asked) != 0) {
        struct stat st;
        xt_status made = file_make_dirs(now, 0700);
        snprintf(folder_asked, sizeof folder_asked, "%s", now);
        if (lstat(now, &st) == 0 && S_ISLNK(st.st_mode))
            folder_bad = "it is a symbolic link";
        else if (made && lstat(now, &st) != 0)
            folder_bad = "it cannot be made";
        else
            folder_bad = settle(now);
        xt_status_free(made);
    }
    const char *bad = folder_bad;
    pthread_mutex_unlock(&folder_lock);
    return bad ? NULL : folder_real;
}

const char *blackbox_folder_problem(char *out_folder, size_t n) {
    pthread_mutex_lock(&folder_lock);
    snprintf(out_folder, n, "%s", folder_asked);
    const char *why = folder_bad;
    pthread_mutex_unlock(&folder_lock);
    return why;
}

/* A box in a crash folder may be anybody's: what is shown of it moves no cursor, and a name forges no line. Paths that
 * are opened stay as they are. */
static void terminate(char *text, size_t n, const char *kept) {
    text[n - 1] = '\0';
    if (kept) text_hide(text, kept);
}
#define PATH(field) terminate(field, sizeof(field), NULL)
#define NAME(field) terminate(field, sizeof(field), "")
#define LINES(field) terminate(field, sizeof(field), "\n\t")

/* Namespaces of one kernel may have names of their own and yet the same processes; a host that was started anew has the
 * same name and other processes, of which those of the file are none. */
static void judge(box_file *f) {
    const blackbox *b = &f->box;
    char host[sizeof b->host], domain[sizeof b->domain];
    struct timespec now;
    process_host(host, sizeof host);
    process_domain(domain, sizeof domain);
    clock_gettime(CLOCK_REALTIME, &now);
    f->elsewhere = b->host[0] && strcmp(b->host, host) != 0 && strcmp(b->domain, domain) != 0;
    f->silent_s = f->elsewhere ? (double)now.tv_sec - (double)b->began_unix_s - box_seconds(b->began_ns, b->beat_ns)
                               : box_seconds(b->beat_ns, clock_ns());
    if (f->elsewhere)
        f->alive = b->state == BOX_RUNNING && f->silent_s < BOX_SILENT_S;
    else
        f->alive = process_alive(b->pid, b->start_ticks);
}

bool blackbox_load(const char *path, box_file *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->path, sizeof out->path, "%s", path);
    int fd = file_open_regular(AT_FDCWD, path, NULL);
    if (fd < 0) return false;
    blackbox *b = &out->box;
    size_t at = 0;
    for (ssize_t n; at < sizeof *b && (n = read(fd, (char *)b + at, sizeof *b - at)) != 0; at += (size_t)n)
        if (n < 0) break;
    close(fd);
    if (at != sizeof *b || memcmp(b->magic, "xtbox003", sizeof b->magic) != 0 || b->size != sizeof *b) return false;
    PATH(b->oom_file), PATH(b->folder);
    NAME(b->host), NAME(b->domain), NAME(b->program), NAME(b->device), NAME(b->loss_name), NAME(b->place),
        NAME(b->recording), NAME(b->note);
    LINES(b->versions), LINES(b->batch), LINES(b->last_error), LINES(b->report);
    for (int i = 0; i < BOX_PLACES; i++) NAME(b->places[i]);
    if (b->n_rows < 0 || b->n_rows > BOX_ROWS) b->n_rows = 0;
    if (b->n_history < 0 || b->n_history > BOX_HISTORY) b->n_history = 0;
    if (b->n_places < 0 || b->n_places >= BOX_PLACES) b->n_places = 0;
    for (int i = 0; i < BOX_HISTORY; i++)
        if (b->history[i] < 0) b->history[i] = 0;
    for (int i = 0; i < BOX_ROWS; i++) NAME(b->rows[i].role), NAME(b->rows[i].where), NAME(b->rows[i].path);
    judge(out);
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

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

/* The file stays until the folder is complete: whoever is killed while saving leaves it to the next one. Locked, so
 * that one at a time saves it. */
static int take(const char *path) {
    struct stat st;
    int fd = file_open_regular(AT_FDCWD, path, NULL);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
    close(fd); /* somebody else was faster */
    return -1;
}

/* Where the program would have left it; when that folder is gone or not to be written, here. */
static int open_place(crash_place *p, const blackbox *b, const char **out_why) {
    int pid = b->world > 1 ? (int)b->parent : (int)b->pid;
    if (b->folder[0]) xt_status_free(file_make_dirs(b->folder, 0700));
    crash_place_open(p, b->folder, pid);
    int fd = crash_folder_make(p, out_why);
    if (fd >= 0) return fd;
    char here[500];
    crash_place_open(p, getcwd(here, sizeof here) ? here : "", pid);
    return crash_folder_make(p, out_why);
}

bool blackbox_salvage(const box_file *f, char *out, size_t n) {
    char state[32], report[32];
    const char *why = NULL;
    int lock = take(f->path);
    if (lock < 0) return false;
    box_file *copy = base_malloc(sizeof *copy);
    if (!copy) {
        close(lock);
        return false;
    }
    *copy = *f;
    blackbox *b = &copy->box;
    if (b->state == BOX_REPORTED) b->state = BOX_RUNNING; /* killed while it wrote a report */
    /* later kills are not this program's */
    if (b->state == BOX_RUNNING) b->oom_kills_end = crash_oom_kills_in(b->oom_file);
    bool ranks = b->world > 1;
    crash_place place = {.folder = -1};
    int folder = open_place(&place, b, &why);
    snprintf(state, sizeof state, ranks ? "rank%d.xtbox" : "state.xtbox", b->rank);
    snprintf(report, sizeof report, ranks ? "report-rank%d.txt" : "report.txt", b->rank);
    str text = STR_INIT;
    blackbox_explain(copy, &text);
    if (folder >= 0) why = private_file_write(folder, state, b, sizeof *b);
    if (!why) why = private_file_write(folder, report, str_cstr(&text), text.len);
    if (folder >= 0) close(folder);
    if (why) {
        crash_folder_unmake(&place);
        log_once("salvage", XT_SEV_WARNING, "no report of an earlier run is written: %s: %s; its state stays in %s",
                 place.path, why, f->path);
    } else {
        crash_folders_ready();
        crash_folder_note(place.path);
        unlink(f->path);
    }
    snprintf(out, n, "%s", why ? "" : place.path);
    crash_place_close(&place);
    str_free(&text);
    base_free(copy);
    close(lock);
    bool ok = !why;
    return ok;
}
