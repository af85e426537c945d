/* Starting ranks, passing on their output, and seeing that all of them end.
 *
 * Invariants:
 *  1. No rank outlives the launcher. Each asks the kernel for SIGKILL at its death, which also covers the time
 *     before (2) exists.
 *  2. Nor do the ranks' own children: each rank leads a process group, and a watcher process, which notices by a pipe
 *     that the launcher is gone, kills the groups.
 *  3. The first rank that fails is shown first: its remaining output, then what became of it, before the others are
 *     told to end.
 *  4. Between fork and exec of a fresh rank only async-signal-safe calls are made, as the launcher may have threads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/private_file.h"
#include "crash/crash.h"
#include "coll/coll.h"
#include "dist/dist_int.h"
#include "dist/restart.h"
#include "lazy/lazy.h"

enum {
    GRACE_MS = 1000, /* from SIGTERM to SIGKILL after a failure: all have ended within two seconds */
    SIGNAL_GRACE_MS = 5000, /* after a signal to all or one of them: time for a last checkpoint */
    POLL_MS = 500,
    FOLD_MS = 300, /* so long a line waits for the other ranks to say it too */
    POLL_BLIND_MS = 20, /* without pidfds, ended ranks are looked for this often */
};

typedef struct rank_process {
    pid_t pid;
    int pidfd, status;
    int log; /* its file of --log-dir; -1: none */
    bool ended;
    output_stream out, err;
} rank_process;

typedef struct launcher {
    const spawn_job *job;
    int n, started, live;
    char *rendezvous;
    rank_process *ranks;
    struct pollfd *polls;
    pid_t self, watcher;
    int watcher_pipe;
    int first; /* the first rank that failed; -1 = none */
    int forwarded; /* the signal passed on last; 0 = none */
    bool told_late; /* who has not ended after it */
    const restart_file *restart; /* NULL: there is no second time */
    int restarts; /* before this time */
    int64_t kill_at; /* when SIGKILL follows; 0 = no end is under way */
    int64_t oom_before;
} launcher;

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile sig_atomic_t signal_seen; /* since the last look; 0 = none */

static void on_signal(int sig) {
    signal_seen = sig;
}

/* Ranks react to these even where the launcher's parent ignores them, as a script's shell does with Ctrl-C for what it
 * runs in the background: the launcher passes them on, so ranks that ignored them would have to be killed. nohup's
 * SIGHUP stays ignored, by all. */
static const int never_ignored[] = {SIGINT, SIGTERM, SIGQUIT};

typedef struct signal_state {
    struct sigaction old[BASE_COUNT(passed_on)], old_child, old_pipe;
    sigset_t mask;
} signal_state;

/* Signals are let in only while the launcher polls, so none is missed between a look and a wait. */
static void signals_take(signal_state *s) {
    struct sigaction act = {.sa_handler = on_signal}, child = {.sa_handler = SIG_DFL}, pipe = {.sa_handler = SIG_IGN};
    sigset_t block;
    sigemptyset(&block);
    signal_seen = 0;
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) {
        sigaction(passed_on[i], NULL, &s->old[i]);
        if (passed_on[i] == SIGHUP && s->old[i].sa_handler == SIG_IGN) continue;
        sigaddset(&block, passed_on[i]);
        sigaction(passed_on[i], &act, NULL);
    }
    sigaction(SIGCHLD, &child, &s->old_child); /* an ignored SIGCHLD would lose the exit codes */
    sigaction(SIGPIPE, &pipe, &s->old_pipe); /* who stops reading (| head) ends no run */
    pthread_sigmask(SIG_BLOCK, &block, &s->mask);
}

static void signals_give_back(const signal_state *s) {
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) sigaction(passed_on[i], &s->old[i], NULL);
    sigaction(SIGCHLD, &s->old_child, NULL);
    sigaction(SIGPIPE, &s->old_pipe, NULL);
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- in the child --- */

static void become_rank(const launcher *l, int rank, int out, int err, const signal_state *s) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->self) _exit(1); /* the launcher died before the line above */
    setpgid(0, 0);
    signals_give_back(s);
    for (size_t i = 0; i < BASE_COUNT(never_ignored); i++) {
        struct sigaction now;
        if (sigaction(never_ignored[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            signal(never_ignored[i], SIG_DFL);
    }
    if (rank != 0 || isatty(STDIN_FILENO)) {
        int null = open("/dev/null", O_RDONLY);
        if (null >= 0) dup2(null, STDIN_FILENO);
        if (null > 0) close(null);
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
}

static void run_program(char *const *argv, char **env) {
    static const char text[] = "cannot run the program: exec failed\n";
    cpus_unbind();
    execve(argv[0], argv, env);
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(126);
    _exit(126);
}

static void leave(int code) {
    fflush(NULL);
    coll_run_group_close();
    blackbox_close(true);
    _exit(code & 0xff ? code & 0xff : code != 0); /* exit handlers belong to the program that forked us */
}

static void run_function(const launcher *l, const env_list *env, int out, int err) {
    for (int r = 0; r < l->started; r++) { /* the other ranks' pipes, which exec would have closed */
        close(l->ranks[r].out.from);
        close(l->ranks[r].err.from);
        if (l->ranks[r].pidfd >= 0) close(l->ranks[r].pidfd);
        if (l->ranks[r].log >= 0) close(l->ranks[r].log);
    }
    close(out);
    close(err);
    for (size_t i = 0; i < env->n; i++) env_put(env->items[i]);
    setvbuf(stdout, NULL, _IOLBF, 0); /* a pipe is the launcher's matter; users expect lines as they come */
    world_set(NULL);
    coll_run_group_forget();
    lazy_exit_by(leave);
    int code = run_here(l->job->fn, l->job->arg);
    lazy_check_finished();
    char how[COLL_END_SIZE];
    snprintf(how, sizeof how, "has returned %d from its function after %lld steps", code,
             (long long)counter_get(COUNTER_steps));
    coll_run_leaving(COLL_OWN_END, how);
    leave(code);
}

/* --- starting --- */

typedef struct rank_pipes {
    int out[2], err[2];
} rank_pipes;

static void close_pipes(rank_pipes *p) {
    int *all[] = {&p->out[0], &p->out[1], &p->err[0], &p->err[1]};
    for (size_t i = 0; i < BASE_COUNT(all); i++)
        if (*all[i] >= 0) close(*all[i]);
}

static xt_status open_pipes(rank_pipes *p) {
    *p = (rank_pipes){{-1, -1}, {-1, -1}};
    file_keep_standard();
    if (pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0 && fcntl(p->out[0], F_SETFL, O_NONBLOCK) == 0 &&
        fcntl(p->err[0], F_SETFL, O_NONBLOCK) == 0)
        return NULL;
    return status_errno("making a pipe for", "a rank's output");
}

static xt_status fork_rank(launcher *l, int rank, const env_list *env, char **merged, const signal_state *s) {
    rank_pipes p;
    xt_status st = open_pipes(&p);
    if (!st) {
        fflush(NULL); /* else both processes would write what is buffered */
        pid_t pid = fork();
        if (pid == 0) {
            become_rank(l, rank, p.out[1], p.err[1], s);
            if (l->job->argv) run_program(l->job->argv, merged);
            run_function(l, env, p.out[1], p.err[1]);
        }
        if (pid < 0)
            st = status_errno("starting", "a rank");
        else {
            rank_process *r = &l->ranks[rank];
            setpgid(pid, pid); /* both sides do it, so that neither depends on the other's speed */
            r->pid = pid;
            r->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
            output_open(&r->out, p.out[0], STDOUT_FILENO, rank, l->n > 1, r->log);
            output_open(&r->err, p.err[0], STDERR_FILENO, rank, l->n > 1, r->log);
            p.out[0] = p.err[0] = -1;
            coll_announce(l->rendezvous, rank, pid);
            l->started++;
            l->live++;
        }
    }
    close_pipes(&p);
    return st;
}

static xt_status start_rank(launcher *l, int rank, const signal_state *s) {
    env_list env = {0};
    char **merged = NULL;
    xt_status st = output_log_open(rank, &l->ranks[rank].log);
    if (!st) st = rank_env(l->job->plan, l->rendezvous, l->job->timeout, rank, &env);
    if (!st && l->restart) {
        env_add(&env, "XT_RESTART_FILE", "%s", l->restart->name);
        env_add(&env, "XT_RESTARTS", "%d", l->restarts);
    }
    if (!st && (env.failed || !(merged = env_merge(&env)))) st = status_oom(4096, "a rank's environment");
    if (!st) st = fork_rank(l, rank, &env, merged, s);
    base_free(merged);
    env_free(&env);
    return st;
}

/* --- the watcher (invariant 2) --- */

static void watch(const launcher *l, int from) {
    int32_t gone;
    const pid_t parent = getppid();
    setpgid(0, 0); /* Ctrl-C is not for us */
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) signal(passed_on[i], SIG_IGN);
    dup2(from, 0);
    for (int fd = 1; fd < 3; fd++) close(fd); /* whoever reads the launcher's output must see it end */
    syscall(SYS_close_range, 3u, ~0u, 0u);
    prctl(PR_SET_NAME, "xtrain-watcher");
    for (;;) {
        ssize_t n = read(0, &gone, sizeof gone);
        if (n < 0 && getppid() == parent) { /* a read that fails does not say that the launcher has gone */
            usleep(1000);
            continue;
        }
        if (n != (ssize_t)sizeof gone) break;
        if (gone < 0) _exit(0);
        l->ranks[gone].pid = 0; /* our copy: a pid that is free again must not be killed */
    }
    for (int r = 0; r < l->n; r++)
        if (l->ranks[r].pid > 0) kill(-l->ranks[r].pid, SIGKILL);
    _exit(0);
}

/* Without it (no process to be had) invariant 1 still holds; so its failure is no failure of the launch. */
static void start_watcher(launcher *l) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return;
    l->watcher = fork();
    if (l->watcher == 0) {
        close(fds[1]);
        watch(l, fds[0]);
    }
    close(fds[0]);
    if (l->watcher > 0)
        l->watcher_pipe = fds[1];
    else
        close(fds[1]);
}

static void tell_watcher(launcher *l, int32_t what) {
    if (l->watcher_pipe >= 0 && write(l->watcher_pipe, &what, sizeof what) < 0) l->watcher = 0;
}

static void stop_watcher(launcher *l) {
    if (l->watcher_pipe < 0) return;
    tell_watcher(l, -1);
    close(l->watcher_pipe);
    while (l->watcher > 0 && waitpid(l->watcher, NULL, 0) < 0 && errno == EINTR) continue;
}

/* --- watching and ending --- */

static void signal_all(launcher *l, int sig) {
    for (int r = 0; r < l->started; r++)
        if (!l->ranks[r].ended) kill(-l->ranks[r].pid, sig);
}

static void end_all(launcher *l, int sig, int grace_ms) {
    signal_all(l, sig);
    signal_all(l, SIGCONT); /* a stopped rank would not hear it */
    l->kill_at = now_ms() + grace_ms;
}

/* A trainer that was told to stop saves and ends with 128 + the signal; its ranks have agreed on that, so the others
 * are about to end by themselves. */
static bool stopped_in_order(int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + 32;
}

static void report_first(launcher *l, int rank) {
    rank_process *p = &l->ranks[rank];
    char note[512];
    str text = STR_INIT;
    output_finish(&p->out);
    output_finish(&p->err);
    output_fold_flush(STDERR_FILENO, 0); /* what it said comes before what became of it */
    str_printf(&text, "%s: rank %d (pid %d)", l->job->who, rank, (int)p->pid);
    describe_end(p->status, l->oom_before, &text);
    if (WIFSIGNALED(p->status) && coll_last_note(l->rendezvous, rank, note, sizeof note))
        str_printf(&text, "; last seen at %s", note);
    char folder[600];
    if (WIFSIGNALED(p->status) && salvage_rank(p->pid, true, folder, sizeof folder))
        str_printf(&text, "; its last state: xtrain postmortem %s", folder);
    if (l->live)
        str_printf(&text, stopped_in_order(p->status) ? "; the other %d will end too" : "; ending the other %d",
                   l->live);
    log_msg(XT_SEV_ERROR, "%s", str_cstr(&text));
    str_free(&text);
}

static void fail_first(launcher *l, int rank) {
    l->first = rank;
    if (l->forwarded) return; /* they end because they were told to */
    report_first(l, rank);
    if (stopped_in_order(l->ranks[rank].status))
        l->kill_at = now_ms() + SIGNAL_GRACE_MS;
    else
        end_all(l, SIGTERM, GRACE_MS);
    kill(-l->ranks[rank].pid, SIGTERM); /* what the failed rank itself has started */
}

/* For the ranks that go on: an _exit, or a signal, leaves no word of its own. */
static void announce_end(const launcher *l, int rank) {
    str how = STR_INIT;
    describe_end(l->ranks[rank].status, l->oom_before, &how);
    if (WIFEXITED(l->ranks[rank].status)) str_append(&how, ", without xt_finish()");
    coll_announce_end(l->rendezvous, rank, how.len ? how.data + 1 : ""); /* after the space that it begins with */
    str_free(&how);
}

static void reap(launcher *l) {
    int failed = -1;
    for (int r = l->started - 1; r >= 0; r--) {
        int status;
        rank_process *p = &l->ranks[r];
        if (p->ended || waitpid(p->pid, &status, WNOHANG) != p->pid) continue;
        p->status = status;
        p->ended = true;
        l->live--;
        if (p->pidfd >= 0) close(p->pidfd);
        p->pidfd = -1;
        tell_watcher(l, r);
        announce_end(l, r);
        /* a killed one is the cause */
        if (status != 0 && (failed < 0 || !WIFEXITED(status) || WIFEXITED(l->ranks[failed].status))) failed = r;
    }
    if (failed >= 0 && l->first < 0) fail_first(l, failed);
}

static void pass_signal_on(launcher *l) {
    int sig = signal_seen;
    if (!sig) return;
    signal_seen = 0;
    bool again = l->forwarded != 0;
    l->forwarded = sig;
    log_msg(XT_SEV_WARNING, "%s: %s, %s", l->job->who, strsignal(sig),
            again ? "again: killing the ranks" : "passed on to the ranks");
    end_all(l, again ? SIGKILL : sig, SIGNAL_GRACE_MS);
}

/* Ranks that a signal was passed on to, and that are about to be killed: where each was, as nothing else will say. */
static void tell_late(launcher *l) {
    str text = STR_INIT;
    for (int r = 0; r < l->started; r++) {
        char note[512];
        if (l->ranks[r].ended) continue;
        str_printf(&text, "%srank %d (pid %d)", text.len ? "; " : "", r, (int)l->ranks[r].pid);
        if (coll_last_note(l->rendezvous, r, note, sizeof note)) str_printf(&text, ", last seen at %s", note);
    }
    if (text.len)
        log_msg(XT_SEV_WARNING, "%s: not ended %d s after the signal, and killed: %s", l->job->who,
                SIGNAL_GRACE_MS / 1000, str_cstr(&text));
    str_free(&text);
}

static int fill_polls(launcher *l, bool *out_blind) {
    int n = 0;
    *out_blind = false;
    for (int r = 0; r < l->started; r++) {
        rank_process *p = &l->ranks[r];
        int fds[] = {p->out.from, p->err.from, p->ended ? -1 : p->pidfd};
        for (size_t i = 0; i < BASE_COUNT(fds); i++)
            if (fds[i] >= 0) l->polls[n++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        if (!p->ended && p->pidfd < 0) *out_blind = true;
    }
    return n;
}

static void wait_for_news(launcher *l, const sigset_t *mask) {
    bool blind;
    int n = fill_polls(l, &blind);
    int64_t ms = blind ? POLL_BLIND_MS : POLL_MS;
    if (l->kill_at && l->kill_at - now_ms() < ms) ms = l->kill_at - now_ms();
    if (output_fold_waits() && ms > FOLD_MS) ms = FOLD_MS;
    if (ms < 1) ms = 1;
    struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    ppoll(l->polls, (nfds_t)n, &limit, mask);
}

static void wait_all(launcher *l, const sigset_t *mask) {
    while (l->live > 0) {
        wait_for_news(l, mask);
        reap(l); /* before the output: invariant 3 */
        for (int r = 0; r < l->started; r++) {
            output_pump(&l->ranks[r].out);
            output_pump(&l->ranks[r].err);
        }
        output_fold_flush(STDERR_FILENO, FOLD_MS);
        pass_signal_on(l);
        if (!l->kill_at || now_ms() < l->kill_at) continue;
        if (l->forwarded && l->first < 0 && !l->told_late) tell_late(l);
        l->told_late = true;
        end_all(l, SIGKILL, GRACE_MS);
    }
    for (int r = 0; r < l->started; r++) {
        output_finish(&l->ranks[r].out);
        output_finish(&l->ranks[r].err);
        /* ended by us, not lost */
        if (l->first >= 0 && WIFSIGNALED(l->ranks[r].status)) salvage_rank(l->ranks[r].pid, false, NULL, 0);
        if (l->first >= 0) kill(-l->ranks[r].pid, SIGKILL); /* children that ignored the SIGTERM; ESRCH as a rule */
    }
}

static int exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static xt_status start_and_wait(launcher *l, int *out_code) {
    signal_state signals;
    xt_status st = NULL;
    signals_take(&signals);
    output_fold_ranks(l->n);
    for (int r = 0; r < l->n && !st; r++) st = start_rank(l, r, &signals);
    if (st) {
        l->first = 0; /* those that did start end because of this, which st says */
        end_all(l, SIGKILL, GRACE_MS);
    } else {
        start_watcher(l);
    }
    wait_all(l, &signals.mask);
    output_fold_end(STDERR_FILENO);
    stop_watcher(l);
    signals_give_back(&signals);
    *out_code = l->first >= 0 ? exit_code(l->ranks[l->first].status) : 0;
    /* Killed by us because it did not end in time: the signal from outside is the cause. */
    if (l->forwarded && *out_code == 128 + SIGKILL) *out_code = 128 + l->forwarded;
    if (!*out_code && output_lost()) *out_code = 1;
    return st;
}

/* One group, from its start to its end. */
static xt_status spawn_group(const spawn_job *job, const restart_file *restart, int restarts, int *out_code,
                             bool *out_told) {
    launcher l = {.job = job,
                  .n = job->plan->n,
                  .first = -1,
                  .watcher_pipe = -1,
                  .self = getpid(),
                  .oom_before = crash_oom_kills(),
                  .restart = restart,
                  .restarts = restarts};
    l.ranks = base_calloc((size_t)l.n, sizeof *l.ranks);
    for (int r = 0; r < l.n && l.ranks; r++) l.ranks[r].log = -1;
    l.polls = base_calloc((size_t)l.n * 3, sizeof *l.polls);
    xt_status st =
        l.ranks && l.polls ? coll_create(l.n, &l.rendezvous) : status_oom((size_t)l.n * sizeof *l.ranks, "the ranks");
    if (!st) st = start_and_wait(&l, out_code);
    *out_told = l.forwarded != 0;
    for (int r = 0; r < l.n && l.ranks; r++)
        if (l.ranks[r].log >= 0) close(l.ranks[r].log);
    coll_destroy(l.rendezvous);
    base_free(l.rendezvous);
    base_free(l.ranks);
    base_free(l.polls);
    return st;
}

xt_status spawn_ranks(const spawn_job *job, int *out_code) {
    restart_file file = {.fd = -1};
    bool told = false; /* a signal from outside ends the run; it is no failure to recover from */
    if (job->max_restarts > 0) XT_TRY(restart_open(&file));
    xt_status st = spawn_group(job, job->max_restarts > 0 ? &file : NULL, 0, out_code, &told);
    for (int k = 1; k <= job->max_restarts && !st && *out_code && !told; k++) {
        restart_say(job->who, &file, k, job->max_restarts);
        st = spawn_group(job, &file, k, out_code, &told);
    }
    restart_close(&file);
    return st;
}
