/* The public side of black boxes: programs that run, and what dead ones were doing. */
#include "diag/diag.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct listing {
    xt_process *out;
    int max, n;
} listing;

static bool list(void *user, const box_file *f) {
    listing *l = user;
    const blackbox *b = &f->box;
    if (!f->alive) {
        if (b->state == BOX_ENDED && !f->elsewhere)
            unlink(f->path); /* a killed one stays for its next start and for postmortem */
        return true;
    }
    if (b->state == BOX_CRASHED) return true;
    if (l->n < l->max) {
        xt_process *p = &l->out[l->n];
        memset(p, 0, sizeof *p);
        p->pid = b->pid;
        p->rank = b->rank;
        p->world = b->world;
        p->alive = true;
        p->launcher = b->parent;
        snprintf(p->host, sizeof p->host, "%s", b->host);
        snprintf(p->program, sizeof p->program, "%s", b->program);
        snprintf(p->device, sizeof p->device, "%s", b->device);
        snprintf(p->place, sizeof p->place, "%s", b->place);
        snprintf(p->loss_name, sizeof p->loss_name, "%s", b->loss_name);
        p->step = b->step;
        p->epoch = b->epoch;
        p->compiles = b->counters[COUNTER_compiles];
        p->device_bytes = b->device_bytes;
        p->peak_bytes = b->device_peak;
        p->limit_bytes = b->device_limit;
        p->rss_bytes = b->rss;
        p->loss = b->loss;
        p->steps_per_s = b->step_rate;
        p->idle_share = b->idle_share;
        p->seconds = f->silent_s;
        p->n_history = (int)b->n_history;
        memcpy(p->history, b->history, sizeof p->history);
    }
    l->n++;
    return true;
}

int xt_processes(xt_process *out, int max) {
    listing l = {.out = out, .max = out ? max : 0};
    const char *folder = blackbox_folder();
    if (folder) blackbox_each(folder, list, &l);
    return l.n;
}

/* --- postmortem --- */
typedef struct telling {
    str text;
    int n;
    char folder[512];
} telling;

static bool tell(void *user, const box_file *f) {
    telling *t = user;
    if (t->n++) str_append(&t->text, "\n----------\n");
    blackbox_explain(f, &t->text);
    return true;
}

/* A dead program's box that nobody has moved yet, whose crash folder is to lie in `folder`. */
static bool move_lost(void *user, const box_file *f) {
    telling *t = user;
    char made[600];
    if (!f->alive && !f->elsewhere && f->box.state != BOX_ENDED && strcmp(f->box.folder, t->folder) == 0)
        blackbox_salvage(f, made, sizeof made);
    return true;
}

/* The newest xt-crash-* in dir that is this user's, or of whom the folder belongs to: in one such as /tmp anybody can
 * leave one. */
static bool newest_crash(const char *dir, char *out, size_t n) {
    DIR *d = opendir(dir);
    struct timespec best = {0};
    struct stat around;
    uid_t owner = d && fstat(dirfd(d), &around) == 0 ? around.st_uid : geteuid();
    bool found = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        char path[600];
        if (strncmp(e->d_name, "xt-crash-", 9) != 0) continue;
        snprintf(path, sizeof path, "%.300s/%s", dir, e->d_name);
        if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != owner)) continue;
        if (found && (st.st_mtim.tv_sec < best.tv_sec ||
                      (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec <= best.tv_nsec)))
            continue;
        best = st.st_mtim;
        found = true;
        snprintf(out, n, "%s", path);
    }
    if (d) closedir(d);
    return found;
}

xt_status xt_postmortem(const char *dir, char **out_text) {
    if (!out_text) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_postmortem: out_text is NULL");
    *out_text = NULL;
    telling t = {.text = STR_INIT};
    char real[4096], crash[700];
    if (!dir || !*dir) dir = env_get("XT_POSTMORTEM_DIR"); /* where this user's programs leave theirs */
    if (!dir || !*dir) dir = ".";
    if (!realpath(dir, real)) return status_errno("opening", dir);
    snprintf(t.folder, sizeof t.folder, "%.500s", real);
    const char *status = blackbox_folder();
    if (status) blackbox_each(status, move_lost, &t);
    blackbox_each(real, tell, &t);
    if (t.n == 0 && newest_crash(real, crash, sizeof crash)) blackbox_each(crash, tell, &t);
    if (t.n == 0 || t.text.failed) {
        xt_status s = t.text.failed ? status_oom(t.text.len, "a report")
                                    : status_new(XT_NOT_FOUND, NULL,
                                                 "%s holds no state of a dead program: a folder xt-crash-PID, or one "
                                                 "that has such folders, is expected",
                                                 dir);
        str_free(&t.text);
        return s;
    }
    *out_text = t.text.data;
    return NULL;
}
