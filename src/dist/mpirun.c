/* Ranks on several hosts: Open MPI's mpirun starts them. Without restarts mpirun takes this process over. With restarts
 * it is a child, started again while it ends badly: rank 0 notes its checkpoints in a file of the working folder, which
 * all hosts must share, as they must the checkpoints; the next ranks are told the last one by a variable. */
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
        /* seconds between mpirun's SIGTERM and SIGKILL: a checkpoint's time, as xt_launch gives it (its own: 1) */
        setenv("OMPI_MCA_odls_base_sigkill_timeout", "5", 0);
        fflush(NULL);
        execv(mpirun, args); /* takes this process over: signals and exit code are mpirun's */
        st = status_errno("running", mpirun);
    }
    base_free(args);
    str_free(&list);
    str_free(&number);
    base_free(mpirun);
    return st;
}

/* --- starting again --- */

static volatile sig_atomic_t child, told; /* mpirun's pid; the signal passed on to it, 0 = none */

static void pass_on(int sig) {
    told = sig;
    if (child > 0) kill((pid_t)child, sig);
}

static void start_child(int n, char *const *argv, const char *hosts, const restart_file *f, int restarts) {
    char number[16], from[4096];
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* mpirun then ends its ranks */
    snprintf(number, sizeof number, "%d", restarts);
    setenv("XT_RESTART_FILE", f->name, 1);
    setenv("XT_RESTARTS", number, 1);
    if (restart_read(f, from, sizeof from)) setenv("XT_RESTART_FROM", from, 1);
    xt_status st = run_mpirun(n, argv, hosts);
    log_msg(XT_SEV_ERROR, "xtrain launch: %s", status_message(st));
    _exit(1);
}

static xt_status run_child(int n, char *const *argv, const char *hosts, const restart_file *f, int restarts,
                           int *out_code) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) return status_errno("starting", "mpirun");
    if (pid == 0) start_child(n, argv, hosts, f, restarts);
    child = pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    child = 0;
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return NULL;
}

xt_status mpirun_launch(int n, char *const *argv, const char *hosts, int max_restarts, int *out_code) {
    static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction act = {.sa_handler = pass_on}, old[BASE_COUNT(passed_on)];
    restart_file f;
    if (max_restarts == 0) return run_mpirun(n, argv, hosts);
    XT_TRY(restart_open_shared(&f));
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) sigaction(passed_on[i], &act, &old[i]);
    told = 0;
    xt_status st = run_child(n, argv, hosts, &f, 0, out_code);
    for (int k = 1; k <= max_restarts && !st && *out_code && !told; k++) {
        restart_say("xtrain launch", &f, k, max_restarts);
        st = run_child(n, argv, hosts, &f, k, out_code);
    }
    for (size_t i = 0; i < BASE_COUNT(passed_on); i++) sigaction(passed_on[i], &old[i], NULL);
    unlink(f.name);
    restart_close(&f);
    return st;
}
