/* One compilation for a topology. Our own compiler is called here. A foreign one runs in a child process: it may print,
 * take locks, keep gigabytes or abort, and its dump folder tells when memory is known, after which making code is only
 * time (minutes for a large program on a TPU). */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/plan.h"

typedef struct answer { /* what a child writes, whole; once for the topology, and again when it has compiled */
    int code; /* xt_code; 0 = ok */
    char message[4000];
    plan_compiled result;
} answer;
enum { DEFAULT_LIMIT_S = 300 };

static const device_exec_stats no_stats = {-1, -1, -1, -1, -1, -1, -1, -1};

static void copy_text(char *dst, size_t n, const char *src) {
    size_t len = strcspn(src, "\n");
    snprintf(dst, n, "%.*s", (int)(len < n ? len : n - 1), src);
}

static void take_info(const device_topology_info *i, plan_compiled *out) {
    out->devices = i->devices;
    out->hosts = i->processes;
    out->memory_bytes = i->memory_bytes;
    out->chip = i->chip;
    out->ours = strcmp(i->platform, "xtrain_cpu") == 0;
    if (out->ours) { /* what a CPU device may use: the limit it is given, or the host's memory shared by the devices */
        const char *limit = env_get("XT_MEMORY_LIMIT");
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        if (!limit || !parse_bytes(limit, &out->memory_bytes))
            out->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page / i->devices : -1;
    }
    copy_text(out->device, sizeof out->device, out->ours ? "CPU of this host" : i->kind);
    snprintf(out->compiler, sizeof out->compiler, "%s (PJRT %d.%d, StableHLO %lld.%lld.%lld)", i->platform,
             i->api_major, i->api_minor, (long long)i->stablehlo[0], (long long)i->stablehlo[1],
             (long long)i->stablehlo[2]);
}

static xt_status compile_on(device_topology *t, const plan_program *p, const char *dump_dir, plan_compiled *out) {
    device_plan_exec *e = NULL;
    int64_t began = clock_ns();
    xt_status s = device_topology_compile(
        t, p->text, p->size, &(device_plan_opts){.num_partitions = p->partitions, .dump_dir = dump_dir}, &e);
    out->compile_ms = (double)(clock_ns() - began) / 1e6;
    out->fits = !s;
    if (!s)
        device_plan_exec_get_stats(e, &out->stats);
    else if (status_code(s) == XT_RESOURCE_EXHAUSTED) {
        copy_text(out->verdict, sizeof out->verdict, status_text(s));
        xt_status_free(s);
        s = NULL;
    }
    device_plan_exec_free(e);
    return s;
}

/* p NULL: the topology only. */
static xt_status compile_here(const plan_program *p, const char *topology, const char *dump_dir, plan_compiled *out) {
    device_topology *t;
    XT_TRY(device_topology_open(topology, &t));
    take_info(device_topology_get_info(t), out);
    xt_status s = p ? compile_on(t, p, dump_dir, out) : NULL;
    device_topology_close(t);
    return s;
}

/* --- the child --- */
static void send(int fd, answer *a, xt_status s) {
    a->code = (int)status_code(s);
    if (s) snprintf(a->message, sizeof a->message, "%s", status_text(s));
    const char *at = (const char *)a;
    for (size_t left = sizeof *a; left > 0;) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1);
        at += n;
        left -= (size_t)n;
    }
}

/* Ends without clean-up: a plugin's threads may hang in it. */
static void child(const plan_program *p, const char *topology, const char *dump_dir, int fd) {
    answer *a = base_calloc(1, sizeof *a);
    device_topology *t = NULL;
    str log = STR_INIT;
    if (dump_dir) str_printf(&log, "%s/compiler.log", dump_dir);
    int to = open(dump_dir ? str_cstr(&log) : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644),
        in = open("/dev/null", O_RDONLY);
    if (in >= 0) dup2(in, 0);
    if (to >= 0) dup2(to, 1), dup2(to, 2);
    env_set("XT_POSTMORTEM", "off"); /* one that is ended for being late is no crash of the user's */
    env_default("TF_CPP_MIN_LOG_LEVEL", "2"); /* XLA's name for how much its plugins print */
    if (!a) _exit(2);
    a->result.stats = no_stats;
    xt_status s = device_topology_open(topology, &t);
    if (!s) take_info(device_topology_get_info(t), &a->result);
    send(fd, a, s);
    if (!s && p) send(fd, a, compile_on(t, p, dump_dir, &a->result));
    _exit(0);
}

/* Memory is settled when the compiler has written the program as it is after buffer assignment: then the files about
 * buffers are complete. */
static bool memory_known(const char *dump_dir) {
    glob_t g;
    if (!dump_dir) return false;
    str pattern = STR_INIT;
    str_printf(&pattern, "%s/*after_optimizations_after_buffer_assignment.txt", dump_dir);
    bool there = glob(str_cstr(&pattern), 0, NULL, &g) == 0;
    if (there) globfree(&g);
    str_free(&pattern);
    return there;
}

static xt_status died(int status, const char *topology, const char *dump_dir) {
    char *log = NULL;
    size_t n = 0;
    str path = STR_INIT;
    if (dump_dir) {
        str_printf(&path, "%s/compiler.log", dump_dir);
        xt_status_free(file_read_all(str_cstr(&path), &log, &n));
    }
    const char *last = n > 600 ? log + n - 600 : log;
    xt_status s = status_new(
        XT_INTERNAL, NULL, "the compiler for %s died (%s %d)%s%s", topology, WIFSIGNALED(status) ? "signal" : "exit",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), n ? "; the last it said: " : "", n ? last : "");
    base_free(log);
    str_free(&path);
    return s;
}

typedef struct wait_for {
    int fd;
    const char *topology, *dump_dir;
    bool quick;
    int64_t began, limit_ns; /* of the whole compilation */
} wait_for;
typedef enum wait_end { WAIT_ANSWERED, WAIT_MEMORY_KNOWN, WAIT_LATE, WAIT_GONE } wait_end;

/* Until an answer is read whole, the memory is known and that is enough, time is up, or the child is gone. */
static wait_end wait_answer(const wait_for *w, answer *a) {
    char *at = (char *)a;
    for (size_t got = 0; got < sizeof *a;) {
        struct pollfd f = {w->fd, POLLIN, 0};
        int ready = poll(&f, 1, 50);
        if (ready < 0 && errno != EINTR) return WAIT_GONE;
        if (ready > 0) {
            ssize_t n = read(w->fd, at + got, sizeof *a - got);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return WAIT_GONE;
            got += (size_t)n;
        } else if (w->quick && memory_known(w->dump_dir)) {
            usleep(200000); /* what is being written is finished */
            return WAIT_MEMORY_KNOWN;
        } else if (clock_ns() - w->began > w->limit_ns)
            return WAIT_LATE;
    }
    a->message[sizeof a->message - 1] = 0;
    return WAIT_ANSWERED;
}

/* The child's words, or what its dump folder has when it is ended before it had any. */
static xt_status wait_child(const wait_for *w, pid_t pid, bool compiles, answer *a) {
    wait_end end = wait_answer(w, a);
    plan_compiled about = a->result;
    if (end == WAIT_ANSWERED && !a->code && compiles) end = wait_answer(w, a);
    if (end != WAIT_ANSWERED) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (end == WAIT_GONE) return died(status, w->topology, w->dump_dir);
    if (end == WAIT_ANSWERED) return a->code ? status_new((xt_code)a->code, NULL, "%s", a->message) : NULL;
    double seconds = (double)(clock_ns() - w->began) / 1e9;
    if (end == WAIT_LATE && !memory_known(w->dump_dir))
        return status_new(XT_DEADLINE_EXCEEDED, NULL,
                          "the compiler for %s was ended after %.0f s, before it knew the program's memory; a longer "
                          "--time-limit (compile_limit_s) gives it more",
                          w->topology, seconds);
    a->result = about;
    a->result.fits = true;
    a->result.cut = true;
    a->result.late = end == WAIT_LATE;
    a->result.compile_ms = seconds * 1e3;
    return NULL;
}

static xt_status compile_away(const plan_program *p, const char *topology, const plan_compile_opts *o,
                              plan_compiled *out) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return status_errno("making a pipe", "");
    fflush(NULL);
    pid_t self = getpid(), pid = fork();
    if (pid < 0) {
        close(fd[0]), close(fd[1]);
        return status_errno("starting the compiler's process", "");
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a plan that is interrupted leaves no compiler behind */
        if (getppid() != self) _exit(1);
        close(fd[0]);
        child(p, topology, o->dump_dir, fd[1]);
    }
    close(fd[1]);
    wait_for w = {fd[0],       topology,
                  o->dump_dir, o->quick && p && o->dump_dir,
                  clock_ns(),  (int64_t)((o->limit_s > 0 ? o->limit_s : DEFAULT_LIMIT_S) * 1e9)};
    answer *a = base_calloc(1, sizeof *a);
    xt_status s = a ? wait_child(&w, pid, p != NULL, a) : status_oom(sizeof *a, "an answer");
    close(fd[0]);
    if (!s) *out = a->result;
    base_free(a);
    return s;
}

static bool is_ours(const char *topology) {
    return strncmp(topology, "cpu", 3) == 0 && (!topology[3] || topology[3] == ':');
}

xt_status plan_topology(const char *topology, plan_compiled *out) {
    *out = (plan_compiled){.memory_bytes = -1};
    return is_ours(topology) ? compile_here(NULL, topology, NULL, out)
                             : compile_away(NULL, topology, &(plan_compile_opts){0}, out);
}

xt_status plan_compile(const plan_program *p, const char *topology, const plan_compile_opts *o, plan_compiled *out) {
    *out = (plan_compiled){.memory_bytes = -1, .stats = no_stats};
    return is_ours(topology) ? compile_here(p, topology, o->dump_dir, out) : compile_away(p, topology, o, out);
}
