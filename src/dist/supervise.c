/* The life of a run on several hosts: the hosts are asked whether they answer, mpirun starts the ranks on those that
 * do, and after a failure all of that happens again, from the last checkpoint.
 *
 * Each host has a folder of the run for as long as the launcher lives (`run_folder`): Open MPI's session and its shared
 * memory lie in it, and the note of the last checkpoint, so that whatever is killed in whatever order, one `rm` leaves
 * nothing. It is made with the question whether the host answers, and removed at the end. On the launcher's host a lock
 * says that the launcher lives; a folder without a live one is left from a launcher that was killed, and goes with the
 * next. */
#include "dist/supervise.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dist/dist_int.h"
#include "dist/restart.h"

enum { ASK_MS = 15000, CLEAN_MS = 10000, AGAIN_US = 2000000, LOOK_US = 50000, DEFAULT_LIMIT_S = 300 };

static const char folder_prefix[] = "xtrain-run";

typedef struct run_folder {
    char path[128];
    int lock; /* -1: none */
} run_folder;

static const char *folder_root(void) {
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static xt_status ask_here(const char *command) {
    host_list here = {0};
    xt_status st = hosts_parse("localhost", &here);
    if (!st) st = hosts_ask(&here, false, command, CLEAN_MS);
    hosts_free(&here);
    return st;
}

/* Folders of this user's whose launcher has gone. */
static void sweep(const char *root) {
    char own[48];
    str command = STR_INIT;
    snprintf(own, sizeof own, "%s-%u-", folder_prefix, (unsigned)geteuid());
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        struct stat st;
        if (strncmp(e->d_name, own, strlen(own)) != 0 || strspn(e->d_name + strlen(own), "0123456789abcdef") != 16)
            continue;
        snprintf(path, sizeof path, "%s/%s/lock", root, e->d_name);
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) continue;
        if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
            str_printf(&command, "%s%s/%s", command.len ? " " : "rm -rf ", root, e->d_name);
        close(fd);
    }
    if (d) closedir(d);
    if (command.len && !command.failed) xt_status_free(ask_here(str_cstr(&command)));
    str_free(&command);
}

static xt_status folder_make(run_folder *f) {
    uint64_t any;
    char lock[160];
    f->lock = -1;
    if (getrandom(&any, sizeof any, 0) != (ssize_t)sizeof any) return status_errno("reading random bytes", "");
    sweep(folder_root());
    snprintf(f->path, sizeof f->path, "%s/%s-%u-%016llx", folder_root(), folder_prefix, (unsigned)geteuid(),
             (unsigned long long)any);
    if (mkdir(f->path, 0700) != 0) return status_errno("making the run's folder", f->path);
    snprintf(lock, sizeof lock, "%s/lock", f->path);
    f->lock = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return f->lock >= 0 && flock(f->lock, LOCK_EX | LOCK_NB) == 0 ? NULL : status_errno("locking", lock);
}

/* On all hosts that ever answered: one that was dropped may have come back. */
static void folder_remove(run_folder *f, host_list *l) {
    char command[192];
    if (!f->path[0]) return;
    snprintf(command, sizeof command, "rm -rf %s", f->path);
    for (size_t i = 0; i < l->n; i++) l->all[i].taken = l->all[i].answers;
    xt_status_free(hosts_ask(l, true, command, CLEAN_MS)); /* what cannot be reached goes with its host */
    xt_status_free(ask_here(command));
    if (f->lock >= 0) close(f->lock);
}

/* --- which hosts --- */

static bool pause_unless_told(int us) {
    for (; us > 0 && !mpirun_signal_seen(); us -= LOOK_US) usleep(LOOK_US);
    return !mpirun_signal_seen();
}

static xt_status too_few(const supervise_job *job, int64_t limit_s) {
    str silent = STR_INIT;
    hosts_tell_silent(job->hosts, &silent);
    int least = job->choice.least ? job->choice.least : (int)job->hosts->n, n = 0;
    for (size_t i = 0; i < job->hosts->n; i++) n += job->hosts->all[i].answers;
    xt_status st = status_new(XT_UNAVAILABLE, NULL, "%d of %zu hosts answer, and the run needs %d; no answer: %s%s", n,
                              job->hosts->n, least, str_cstr(&silent),
                              job->elastic ? "" : "; with --hosts MIN:MAX it goes on with those that do");
    str_free(&silent);
    return limit_s ? status_context(st, "after %lld s", (long long)limit_s) : st;
}

/* Until enough hosts answer, within XT_TIMEOUT where the run may go on with some of them. */
static xt_status find_hosts(const supervise_job *job, const run_folder *f, str *out_text, int *out_ranks) {
    char command[192];
    int64_t limit = DEFAULT_LIMIT_S;
    env_int("XT_TIMEOUT", 1, &limit);
    int64_t until = clock_ns() + limit * 1000000000;
    snprintf(command, sizeof command, "mkdir -p -m 700 %s", f->path);
    for (bool told = false, enough = false;; told = true) {
        XT_TRY(hosts_ask(job->hosts, false, command, ASK_MS));
        str_clear(out_text);
        XT_TRY(hosts_choose(job->hosts, &job->choice, &enough, out_text, out_ranks));
        if (enough) break;
        bool over = clock_ns() > until;
        xt_status few = too_few(job, job->elastic && over ? limit : 0);
        if (!job->elastic || over) return few;
        if (!told) log_msg(XT_SEV_WARNING, "xtrain launch: %s; waiting for them", status_message(few));
        xt_status_free(few);
        if (!pause_unless_told(AGAIN_US)) return status_new(XT_CANCELLED, NULL, "stopped while it waited for hosts");
    }
    str text = STR_INIT;
    hosts_tell(job->hosts, *out_ranks, &text);
    if (job->elastic) log_msg(XT_SEV_INFO, "xtrain launch: %s", str_cstr(&text));
    str_free(&text);
    return NULL;
}

/* --- one group after the other --- */

typedef struct run {
    const supervise_job *job;
    run_folder folder;
    restart_file note;
    int restarts, told;
} run;

static xt_status run_group(run *r, int *out_code) {
    char number[16], local[160];
    str hosts = STR_INIT;
    snprintf(number, sizeof number, "%d", r->restarts);
    snprintf(local, sizeof local, "%s/restart", r->folder.path);
    const char *env[5][2] = {{"OMPI_MCA_orte_tmpdir_base", r->folder.path},
                             {"OMPI_MCA_btl_vader_backing_directory", r->folder.path},
                             {"XT_RESTART_FILE", r->note.name},
                             {"XT_RESTART_LOCAL", local},
                             {"XT_RESTARTS", number}};
    mpirun_group group = {
        .argv = r->job->argv, .env = (const char *const(*)[2])env, .n_env = r->job->max_restarts ? BASE_COUNT(env) : 2};
    xt_status st = find_hosts(r->job, &r->folder, &hosts, &group.n);
    group.hosts = str_cstr(&hosts);
    if (!st) st = mpirun_run(&group, out_code, &r->told);
    if (st && mpirun_signal_seen()) { /* told while it waited for hosts */
        r->told = mpirun_signal_seen();
        *out_code = 128 + r->told;
        xt_status_free(st);
        st = NULL;
    }
    str_free(&hosts);
    return st;
}

static xt_status run_all(run *r, int *out_code) {
    int most = r->job->max_restarts;
    XT_TRY(folder_make(&r->folder));
    if (most) XT_TRY(restart_open_shared(&r->note));
    xt_status st = run_group(r, out_code);
    for (r->restarts = 1; r->restarts <= most && !st && *out_code && !r->told; r->restarts++) {
        restart_say("xtrain launch", &r->note, r->restarts, most);
        st = run_group(r, out_code);
    }
    return st;
}

xt_status supervise(const supervise_job *job, int *out_code) {
    run r = {.job = job, .folder.lock = -1, .note.fd = -1};
    char *mpirun = NULL;
    XT_TRY(mpirun_find(&mpirun));
    base_free(mpirun);
    mpirun_signals_take();
    xt_status st = run_all(&r, out_code);
    folder_remove(&r.folder, job->hosts);
    mpirun_signals_give_back();
    if (r.note.fd >= 0) unlink(r.note.name);
    restart_close(&r.note);
    return st;
}
