/* One run of Open MPI's mpirun, a child that is watched here; which hosts it gets, and whether it is started again, is
 * decided above (supervise.c).
 *  - A host that is lost, or a network, is noticed by the keep-alives of mpirun's own connections within ten seconds.
 *    After a rank has failed mpirun gives the others a SIGTERM and a SIGKILL, with a pause before each on its own host
 *    and on the others: three pauses of two seconds.
 *  - A signal from outside goes to the ranks of this host first: a trainer's ranks agree on it, save and end. So they
 *    have five seconds; mpirun, whose pauses are shorter, gets it then.
 *  - A rank that failed is told of by mpirun itself. An end of mpirun's own is told of here: a signal, or a code
 * without a word of a rank. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/private_file.h"
#include "base/process.h"
#include "crash/crash.h"
#include "dist/dist_int.h"
#include "dist/supervise.h"

extern char **environ;

/* Open MPI carries only its own variables to other hosts; these go along by -x. */
static bool travels(const char *entry) {
    static const char *const names[] = {"XT_", "PJRT_", "CPU_NUM_DEVICES=", "OMP_NUM_THREADS=", "LD_LIBRARY_PATH="};
    static const char *const own[] = {
        /* a rank's own, and what no rank is to know */
        "XT_SECRET=", "XT_RANK=", "XT_WORLD_SIZE=", "XT_LOCAL_RANK=", "XT_LOCAL_SIZE=", "XT_RENDEZVOUS="};
    for (size_t i = 0; i < BASE_COUNT(own); i++)
        if (strncmp(entry, own[i], strlen(own[i])) == 0) return false;
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* Open MPI's settings where the user has none: a pause before a signal, in seconds; when a silent connection between
 * mpirun and a host is asked whether it is there, how often, how many times. And no copy of the machine's topology in
 * shared memory: the address that Open MPI 4.1 picks for it is sometimes in use, and one in thirty of its daemons died
 * there by SIGSEGV; a rank that wants the topology finds it by itself. */
static const char *const defaults[][2] = {
    {"OMPI_MCA_odls_base_sigkill_timeout", "2"}, {"OMPI_MCA_oob_tcp_keepalive_time", "4"},
    {"OMPI_MCA_oob_tcp_keepalive_intvl", "2"},   {"OMPI_MCA_oob_tcp_keepalive_probes", "2"},
    {"OMPI_MCA_rtc_hwloc_vmhole", "none"},
};

xt_status mpirun_find(char **out) {
    return status_context(launch_find_program("mpirun", out),
                          "several hosts start their ranks by Open MPI (Debian: openmpi-bin)");
}

static xt_status run_mpirun(const mpirun_group *group) {
    char **args = NULL, *mpirun = NULL, *name = NULL, *const *argv = group->argv;
    size_t count = 0, cap = 0;
    char number[16];
    XT_TRY(mpirun_find(&mpirun));
    xt_status st = NULL;
    snprintf(number, sizeof number, "%d", group->n);
    char *fixed[] = {
        mpirun, "-np", number, "--host", (char *)group->hosts, geteuid() == 0 ? "--allow-run-as-root" : NULL};
    bool ok = true;
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
        for (size_t i = 0; i < BASE_COUNT(defaults); i++) env_default(defaults[i][0], defaults[i][1]);
        fflush(NULL);
        execv(mpirun, args);
        st = status_errno("running", mpirun);
    }
    base_free(args);
    base_free(mpirun);
    return st;
}

/* --- watching it --- */

enum { SIGNAL_GRACE_MS = 5000, POLL_MS = 20, FOLD_MS = 1000 /* over a network words come later */ };
#define LONGEST ((size_t)64 << 10) /* of a line that is kept until it is whole */

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static volatile sig_atomic_t signals[NSIG]; /* how often each came */

static void note_signal(int sig) {
    signals[sig]++;
}

/* Its children: the ranks of this host. How many there are. */
static int signal_ranks(pid_t mpirun, int sig) {
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        process_seen p;
        int pid = (int)strtol(e->d_name, NULL, 10);
        if (process_look(pid, &p) && p.parent == mpirun) n += kill(pid, sig) == 0;
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

/* What comes from mpirun goes on through this process: mpirun ends its ranks when nobody reads its output any more, the
 * launcher goes on (| head). */
typedef struct passage {
    int from, to; /* from < 0: at its end */
    int failures; /* of reads, one after the other */
    bool names_rank; /* mpirun has said which rank failed */
    output_stream *ranks; /* [n_ranks], of stderr: whose lines are folded; NULL: bytes go on as they are */
    int n_ranks;
    bool raw; /* in a line that is none of the library's */
    str line; /* the beginning of one that may be */
    size_t kept; /* how much of its last words may begin such a message */
    char last[32];
} passage;

/* The words of Open MPI 4 and 5 for a rank that failed, also where they come in two pieces. The last are of a message
 * in front of the one with its name, which does not always follow. */
static void look_for_rank(passage *p, const char *bytes, size_t n) {
    static const char *const words[] = {"process rank ", "Process name: [", "MPI_ABORT was invoked",
                                        " process returned"};
    char seam[2 * sizeof p->last];
    size_t k = n < sizeof p->last ? n : sizeof p->last, all = p->kept + k;
    memcpy(seam, p->last, p->kept);
    memcpy(seam + p->kept, bytes, k);
    for (size_t i = 0; i < BASE_COUNT(words) && !p->names_rank; i++)
        p->names_rank = memmem(bytes, n, words[i], strlen(words[i])) || memmem(seam, all, words[i], strlen(words[i]));
    const char *end = n < sizeof p->last ? seam + all : bytes + n;
    p->kept = n < sizeof p->last && all < sizeof p->last ? all : sizeof p->last;
    memcpy(p->last, end - p->kept, p->kept);
}

static void write_on(passage *p, const char *bytes, size_t n) {
    if (p->to >= 0 && !output_write(p->to, bytes, n)) p->to = -1;
}

/* How long the "[rank 12] " is that the text begins with, 0: it has no such beginning, -1: it may still become one. */
static int rank_prefix(const str *line, int *out_rank) {
    static const char word[] = "[rank ";
    const char *p = str_cstr(line);
    size_t fixed = sizeof word - 1, n = line->len < fixed ? line->len : fixed, digits;
    if (memcmp(p, word, n) != 0) return 0;
    if (line->len <= fixed) return -1;
    digits = strspn(p + fixed, "0123456789");
    if (!digits || digits > 6) return 0;
    const char *end = p + fixed + digits;
    if (!*end || (end[0] == ']' && !end[1])) return -1;
    *out_rank = atoi(p + fixed);
    return end[0] == ']' && end[1] == ' ' ? (int)(fixed + digits + 2) : 0;
}

/* A whole line of the library in some rank: shown once for all that say it. */
static void pass_line(passage *p, str *out) {
    int rank = -1, prefix = rank_prefix(&p->line, &rank);
    size_t end = p->line.len;
    while (end && (p->line.data[end - 1] == '\n' || p->line.data[end - 1] == '\r')) end--;
    bool known = prefix > 0 && rank < p->n_ranks && end >= (size_t)prefix;
    if (!known || !output_fold(&p->ranks[rank], p->line.data + prefix, end - (size_t)prefix, true, out))
        str_appendn(out, p->line.data, p->line.len);
    str_clear(&p->line);
}

/* What the program writes goes on as it comes, behind what waits: nobody knows of which rank it is. */
static void pass_bytes(passage *p, const char *bytes, size_t n, str *out) {
    for (size_t i = 0; i < n; i++) {
        bool ends = bytes[i] == '\n' || bytes[i] == '\r';
        int rank;
        if (p->raw) {
            str_putc(out, bytes[i]);
            p->raw = !ends;
            continue;
        }
        str_putc(&p->line, bytes[i]);
        if (p->line.failed || (rank_prefix(&p->line, &rank) == 0 || p->line.len > LONGEST)) {
            write_on(p, str_cstr(out), out->len);
            str_clear(out);
            output_fold_flush(p->to, 0);
            str_appendn(out, str_cstr(&p->line), p->line.len);
            str_clear(&p->line);
            p->raw = !ends;
        } else if (ends)
            pass_line(p, out);
    }
}

static bool pass_output(passage *p) {
    char bytes[16384];
    ssize_t n = p->from >= 0 ? read(p->from, bytes, sizeof bytes) : -1;
    if (n > 0) look_for_rank(p, bytes, (size_t)n);
    if (p->from >= 0 && output_ended(n, &p->failures, -1)) {
        close(p->from);
        p->from = -1;
    }
    if (n <= 0) return false;
    if (!p->ranks) {
        write_on(p, bytes, (size_t)n);
        return true;
    }
    str out = STR_INIT;
    pass_bytes(p, bytes, (size_t)n, &out);
    write_on(p, str_cstr(&out), out.len);
    str_free(&out);
    return true;
}

/* What the ranks' libraries say goes to stderr. */
static void fold_begin(passage *p, int ranks) {
    p->ranks = base_calloc((size_t)ranks, sizeof *p->ranks);
    if (!p->ranks) return; /* then every rank's lines are shown */
    p->n_ranks = ranks;
    for (int r = 0; r < ranks; r++) output_open(&p->ranks[r], -1, p->to, r, true, -1);
    output_fold_ranks(ranks);
}

static void fold_end(passage *p) {
    if (!p->ranks) return;
    write_on(p, str_cstr(&p->line), p->line.len);
    output_fold_end(STDERR_FILENO);
    output_fold_ranks(0);
    str_free(&p->line);
    base_free(p->ranks);
}

static void wait_for_news(const passage *p, int ms) {
    struct pollfd polls[] = {{p[0].from, POLLIN, 0}, {p[1].from, POLLIN, 0}}; /* poll leaves what is below 0 alone */
    poll(polls, 2, ms);
}

static void start_child(const mpirun_group *group, int out, int err) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* mpirun then ends its ranks */
    setpgid(0, 0); /* Ctrl-C comes by way of the launcher */
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) signal(passed_on[i], SIG_DFL);
    if (isatty(STDIN_FILENO)) {
        int null = open("/dev/null", O_RDONLY);
        if (null >= 0) dup2(null, STDIN_FILENO);
    }
    for (size_t i = 0; i < group->n_env; i++) env_set(group->env[i][0], group->env[i][1]);
    xt_status st = run_mpirun(group);
    log_msg(XT_SEV_ERROR, "xtrain launch: %s", status_message(st));
    _exit(1);
}

static void tell_end(int status, int64_t oom_before, bool names_rank) {
    str text = STR_INIT;
    bool killed = WIFSIGNALED(status);
    if (!killed && (WEXITSTATUS(status) == 0 || names_rank)) return;
    describe_end(status, oom_before, &text);
    log_msg(XT_SEV_ERROR, "xtrain launch: mpirun%s%s", str_cstr(&text),
            killed ? "; its ranks end with it, and --max-restarts N starts them again"
                   : " and names no rank that failed: the failure is its own, before the ranks started or beside them; "
                     "what it says stands above, and `mpirun -np 1 true` shows whether it works here");
    str_free(&text);
}

xt_status mpirun_run(const mpirun_group *group, int *out_code, int *out_told) {
    int64_t oom_before = crash_oom_kills();
    int status = 0, out[2] = {-1, -1}, err[2] = {-1, -1};
    fflush(NULL);
    file_keep_standard();
    bool piped = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    watched w = {.pid = piped ? fork() : -1};
    if (w.pid == 0) start_child(group, out[1], err[1]);
    int failed = errno, ends[] = {out[1], err[1], w.pid < 0 ? out[0] : -1, w.pid < 0 ? err[0] : -1};
    for (size_t i = 0; i < BASE_COUNT(ends); i++)
        if (ends[i] >= 0) close(ends[i]);
    errno = failed;
    if (w.pid < 0) return status_errno("starting", "mpirun");
    passage p[] = {{.from = out[0], .to = STDOUT_FILENO}, {.from = err[0], .to = STDERR_FILENO}};
    fold_begin(&p[1], group->n);
    for (int i = 0; i < 2; i++) fcntl(p[i].from, F_SETFL, O_NONBLOCK);
    for (bool over = false, more = true; !over || more;) {
        pid_t ended = over ? w.pid : waitpid(w.pid, &status, WNOHANG);
        over = ended == w.pid || (ended < 0 && errno != EINTR);
        more = pass_output(&p[0]);
        more = pass_output(&p[1]) || more;
        output_fold_flush(STDERR_FILENO, FOLD_MS);
        if (!over) pass_on(&w);
        if (!over && !more) wait_for_news(p, POLL_MS);
    }
    for (int i = 0; i < 2; i++)
        if (p[i].from >= 0) close(p[i].from); /* a daemon that outlives mpirun may have the other end */
    fold_end(&p[1]);
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (w.told && *out_code == 1) *out_code = 128 + w.told; /* mpirun's code for its own signal */
    *out_told = w.told;
    if (!w.told) tell_end(status, oom_before, p[1].names_rank);
    if (!*out_code && output_lost()) *out_code = 1;
    return NULL;
}

/* --- the launcher's own signals --- */

static struct sigaction old[BASE_COUNT(passed_on)], old_pipe;

void mpirun_signals_take(void) {
    struct sigaction act = {.sa_handler = note_signal}, pipe = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) {
        signals[passed_on[i]] = 0;
        sigaction(passed_on[i], NULL, &old[i]);
        if (passed_on[i] != SIGHUP || old[i].sa_handler != SIG_IGN) sigaction(passed_on[i], &act, NULL);
    }
    sigaction(SIGPIPE, &pipe, &old_pipe); /* who stops reading (| head) ends no run; mpirun inherits it */
}

void mpirun_signals_give_back(void) {
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) sigaction(passed_on[i], &old[i], NULL);
    sigaction(SIGPIPE, &old_pipe, NULL);
}

int mpirun_signal_seen(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < BASE_COUNT(ending); i++)
        if (signals[ending[i]]) return ending[i];
    return 0;
}
