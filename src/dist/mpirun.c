/* Ranks on several hosts: Open MPI's mpirun starts them, a child that is watched here.
 *  - A host that is lost, or a network, is noticed by the keep-alives of mpirun's own connections within ten seconds.
 *    After a rank has failed mpirun gives the others a SIGTERM and a SIGKILL, with a pause before each on its own host
 *    and on the others: three pauses of two seconds.
 *  - A signal from outside goes to the ranks of this host first: a trainer's ranks agree on it, save and end. So they
 *    have five seconds; mpirun, whose pauses are shorter, gets it then.
 *  - With restarts mpirun is started again while it ends badly: rank 0 notes its checkpoints in a file of the working
 *    folder, which all hosts must share, as they must the checkpoints; the next ranks are told the last one by a
 *    variable. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dist/dist_int.h"
#include "dist/restart.h"

extern char **environ;

/* "a,b" without slots would mean one rank a host: the ranks are spread evenly. */
static xt_status host_list(const char *hosts, int n, str *out) {
    int count = 1;
    for (const char *p = hosts; *p; p++) count += *p == ',';
    if (!*hosts)
        return status_new(XT_INVALID_ARGUMENT, NULL, "--host: a list of hosts is expected, \"a,b\" or \"a:4,b:4\"");
    if (strchr(hosts, ':')) {
        str_append(out, hosts);
        return NULL;
    }
    for (size_t len; *hosts; hosts += len + (hosts[len] == ',')) {
        len = strcspn(hosts, ",");
        str_printf(out, "%s%.*s:%d", out->len ? "," : "", (int)len, hosts, (n + count - 1) / count);
    }
    return NULL;
}

/* Open MPI carries only its own variables to other hosts; these go along by -x. */
static bool travels(const char *entry) {
    static const char *const names[] = {"XT_", "PJRT_", "CPU_NUM_DEVICES=", "OMP_NUM_THREADS=", "LD_LIBRARY_PATH="};
    static const char *const own[] = {
        "XT_RANK=", "XT_WORLD_SIZE=", "XT_LOCAL_RANK=", "XT_LOCAL_SIZE=", "XT_RENDEZVOUS="};
    for (size_t i = 0; i < BASE_COUNT(own); i++)
        if (strncmp(entry, own[i], strlen(own[i])) == 0) return false;
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* Open MPI's settings where the user has none: a pause before a signal, in seconds; when a silent connection between
 * mpirun and a host is asked whether it is there, how often, how many times. */
static const char *const defaults[][2] = {
    {"OMPI_MCA_odls_base_sigkill_timeout", "2"},
    {"OMPI_MCA_oob_tcp_keepalive_time", "4"},
    {"OMPI_MCA_oob_tcp_keepalive_intvl", "2"},
    {"OMPI_MCA_oob_tcp_keepalive_probes", "2"},
};

static xt_status run_mpirun(int n, char *const *argv, const char *hosts) {
    char **args = NULL, *mpirun = NULL, *name = NULL;
    size_t count = 0, cap = 0;
    str list = STR_INIT, number = STR_INIT;
    if (n < 1) return status_new(XT_INVALID_ARGUMENT, NULL, "--host needs the number of ranks: -n N");
    XT_TRY(status_context(launch_find_program("mpirun", &mpirun),
                          "--host starts the ranks by Open MPI (Debian: openmpi-bin)"));
    xt_status st = host_list(hosts, n, &list);
    str_printf(&number, "%d", n);
    char *fixed[] = {mpirun, "-np", number.data, "--host", list.data, geteuid() == 0 ? "--allow-run-as-root" : NULL};
    bool ok = !list.failed && !number.failed;
    for (size_t i = 0; i < BASE_COUNT(fixed) && ok; i++)
        if (fixed[i]) ok = VEC_PUSH(args, count, cap, fixed[i]);
    if (ok && env_get("XT_LOG_DIR"))
        ok = VEC_PUSH(args, count, cap, "--output-filename") &&
             VEC_PUSH(args, count, cap, (char *)env_get("XT_LOG_DIR"));
    for (char **e = environ; ok && e && *e; e++) {
        if (!travels(*e)) continue;
        ok = (name = base_strndup(*e, strcspn(*e, "="))) && VEC_PUSH(args, count, cap, "-x") &&
             VEC_PUSH(args, count, cap, name);
    }
    for (size_t i = 0; ok && argv[i]; i++) ok = VEC_PUSH(args, count, cap, argv[i]);
    if (ok) ok = VEC_PUSH(args, count, cap, NULL);
    if (!st && !ok) st = status_oom(4096, "mpirun's arguments");
    if (!st) {
        for (size_t i = 0; i < BASE_COUNT(defaults); i++) setenv(defaults[i][0], defaults[i][1], 0);
        fflush(NULL);
        execv(mpirun, args);
        st = status_errno("running", mpirun);
    }
    base_free(args);
    str_free(&list);
    str_free(&number);
    base_free(mpirun);
    return st;
}

/* --- watching it --- */

enum { SIGNAL_GRACE_MS = 5000, POLL_US = 20000 };

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static volatile sig_atomic_t signals[NSIG]; /* how often each came */

static void note_signal(int sig) {
    signals[sig]++;
}

/* The parent of a process, 0 when it cannot be read; the name in front may hold anything. */
static pid_t parent_of(const char *pid) {
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    const char *p = strrchr(text, ')');
    return p && p[1] == ' ' ? (pid_t)strtol(p + 3, NULL, 10) : 0;
}

/* Its children: the ranks of this host. How many there are. */
static int signal_ranks(pid_t mpirun, int sig) {
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || parent_of(e->d_name) != mpirun) continue;
        n += kill((pid_t)strtol(e->d_name, NULL, 10), sig) == 0;
    }
    if (d) closedir(d);
    return n;
}

typedef struct watched {
    pid_t pid;
    int told; /* the signal from outside that ends the run; 0 = none */
    int64_t mpirun_at; /* when mpirun gets it too; 0: it has, or none is under way */
} watched;

static void pass_on(watched *w) {
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) {
        int sig = passed_on[i];
        if (!signals[sig]) continue;
        signals[sig] = 0;
        if (sig == SIGUSR1 || sig == SIGUSR2) { /* mpirun gives these to all ranks */
            kill(w->pid, sig);
            continue;
        }
        bool again = w->told != 0;
        w->told = sig;
        log_msg(XT_SEV_WARNING, "xtrain launch: %s, %s", strsignal(sig),
                again ? "again: ending the ranks" : "passed on to the ranks of this host");
        int ranks = again ? 0 : signal_ranks(w->pid, sig);
        w->mpirun_at = clock_ns() + (ranks ? (int64_t)SIGNAL_GRACE_MS * 1000000 : 0);
    }
    if (!w->mpirun_at || clock_ns() < w->mpirun_at) return;
    w->mpirun_at = 0;
    kill(w->pid, SIGTERM);
}

static void start_child(int n, char *const *argv, const char *hosts, const restart_file *f, int restarts) {
    char number[16], from[4096];
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* mpirun then ends its ranks */
    setpgid(0, 0); /* Ctrl-C comes by way of the launcher */
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) signal(passed_on[i], SIG_DFL);
    if (isatty(STDIN_FILENO)) {
        int null = open("/dev/null", O_RDONLY);
        if (null >= 0) dup2(null, STDIN_FILENO);
    }
    if (f) {
        snprintf(number, sizeof number, "%d", restarts);
        setenv("XT_RESTART_FILE", f->name, 1);
        setenv("XT_RESTARTS", number, 1);
        if (restart_read(f, from, sizeof from)) setenv("XT_RESTART_FROM", from, 1);
    }
    xt_status st = run_mpirun(n, argv, hosts);
    log_msg(XT_SEV_ERROR, "xtrain launch: %s", status_message(st));
    _exit(1);
}

/* f: NULL where it is not started again. */
static xt_status run_child(int n, char *const *argv, const char *hosts, const restart_file *f, int restarts,
                           int *out_code, int *out_told) {
    int status = 0;
    fflush(NULL);
    watched w = {.pid = fork()};
    if (w.pid < 0) return status_errno("starting", "mpirun");
    if (w.pid == 0) start_child(n, argv, hosts, f, restarts);
    for (;;) {
        pid_t ended = waitpid(w.pid, &status, WNOHANG);
        if (ended == w.pid || (ended < 0 && errno != EINTR)) break;
        pass_on(&w);
        usleep(POLL_US);
    }
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (w.told && *out_code == 1) *out_code = 128 + w.told; /* mpirun's code for its own signal */
    *out_told = w.told;
    return NULL;
}

xt_status mpirun_launch(int n, char *const *argv, const char *hosts, int max_restarts, int *out_code) {
    struct sigaction act = {.sa_handler = note_signal}, old[BASE_COUNT(passed_on)];
    restart_file f = {.fd = -1};
    int told = 0;
    if (max_restarts) XT_TRY(restart_open_shared(&f));
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) {
        signals[passed_on[i]] = 0;
        sigaction(passed_on[i], NULL, &old[i]);
        if (passed_on[i] != SIGHUP || old[i].sa_handler != SIG_IGN) sigaction(passed_on[i], &act, NULL);
    }
    xt_status st = run_child(n, argv, hosts, max_restarts ? &f : NULL, 0, out_code, &told);
    for (int k = 1; k <= max_restarts && !st && *out_code && !told; k++) {
        restart_say("xtrain launch", &f, k, max_restarts);
        st = run_child(n, argv, hosts, &f, k, out_code, &told);
    }
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) sigaction(passed_on[i], &old[i], NULL);
    if (max_restarts) unlink(f.name);
    if (max_restarts) restart_close(&f);
    return st;
}
