/* One compilation for a topology. Our own compiler is called here. A foreign one runs in a child process: it may print, take locks, keep gigabytes or abort, and its
 * dump folder tells when memory is known, after which making code is only time (minutes for a large program on a TPU). */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/plan.h"

typedef struct answer { /* what a child writes, whole */
    int code; /* xt_code; 0 = ok */
    char message[4000];
    plan_compiled result;
} answer;

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
        if (!limit || !parse_bytes(limit, &out->memory_bytes)) out->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page / i->devices : -1;
    }
    copy_text(out->device, sizeof out->device, out->ours ? "CPU of this host" : i->kind);
    snprintf(out->compiler, sizeof out->compiler, "%s (PJRT %d.%d, StableHLO %lld.%lld.%lld)", i->platform, i->api_major, i->api_minor, (long long)i->stablehlo[0],
             (long long)i->stablehlo[1], (long long)i->stablehlo[2]);
}

/* p NULL: the topology only. */
static xt_status compile_here(const plan_program *p, const char *topology, const char *dump_dir, plan_compiled *out) {
    device_topology *t;
    device_plan_exec *e = NULL;
    XT_TRY(device_topology_open(topology, &t));
    take_info(device_topology_get_info(t), out);
    xt_status s = NULL;
    if (p) {
        int64_t began = clock_ns();
        s = device_topology_compile(t, p->text, p->size, &(device_plan_opts){.num_partitions = p->partitions, .dump_dir = dump_dir}, &e);
        out->compile_ms = (double)(clock_ns() - began) / 1e6;
        out->fits = !s;
        out->stats = (device_exec_stats){-1, -1, -1, -1, -1, -1, -1, -1};
        if (!s) device_plan_exec_get_stats(e, &out->stats);
        else if (xt_status_code(s) == XT_RESOURCE_EXHAUSTED) {
            copy_text(out->verdict, sizeof out->verdict, status_text(s));
            xt_status_free(s);
            s = NULL;
        }
    }
    device_plan_exec_free(e);
    device_topology_close(t);
    return s;
}

/* --- the child -------------------------------------------------------------------------------------------------------------------------- */
static void child(const plan_program *p, const char *topology, const char *dump_dir, int fd) {
    answer *a = base_calloc(1, sizeof *a);
    str log = STR_INIT;
    if (dump_dir) str_printf(&log, "%s/compiler.log", dump_dir);
    int to = open(dump_dir ? str_cstr(&log) : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644), in = open("/dev/null", O_RDONLY);
    if (in >= 0) dup2(in, 0);
    if (to >= 0) dup2(to, 1), dup2(to, 2);
    setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0); /* XLA's name for how much its plugins print */
    if (!a) _exit(2);
    xt_status s = compile_here(p, topology, dump_dir, &a->result);
    a->code = (int)xt_status_code(s);
    if (s) snprintf(a->message, sizeof a->message, "%s", status_text(s));
    const char *at = (const char *)a;
    for (size_t left = sizeof *a; left > 0;) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1);
        at += n;
        left -= (size_t)n;
    }
    _exit(0); /* no clean-up: a plugin's threads may hang in it */
}

/* Memory is settled when the compiler has written the program as it is after buffer assignment: then the files about buffers are complete. */
static bool memory_known(const char *dump_dir) {
    glob_t g;
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
    xt_status s = status_new(XT_INTERNAL, NULL, "the compiler for %s died (%s %d)%s%s", topology, WIFSIGNALED(status) ? "signal" : "exit",
                             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), n ? "; the last it said: " : "", n ? last : "");
    base_free(log);
    str_free(&path);
    return s;
}

/* Reads the answer, or with `quick` ends the child once the memory is known. */
static xt_status wait_child(pid_t pid, int fd, const char *topology, const char *dump_dir, bool quick, answer *a) {
    char *at = (char *)a;
    size_t got = 0;
    bool cut = false;
    int64_t began = clock_ns();
    while (got < sizeof *a) {
        struct pollfd f = {fd, POLLIN, 0};
        int ready = poll(&f, 1, quick ? 50 : 1000);
        if (ready < 0 && errno != EINTR) break;
        if (ready > 0) {
            ssize_t n = read(fd, at + got, sizeof *a - got);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) break;
            got += (size_t)n;
        } else if (quick && memory_known(dump_dir)) {
            usleep(200000); /* what is being written is finished */
            kill(pid, SIGKILL);
            cut = true;
            break;
        }
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (cut) {
        *a = (answer){.result = {.fits = true, .cut = true, .stats = {-1, -1, -1, -1, -1, -1, -1, -1}, .compile_ms = (double)(clock_ns() - began) / 1e6}};
        return NULL;
    }
    if (got < sizeof *a) return died(status, topology, dump_dir);
    a->message[sizeof a->message - 1] = 0;
    return a->code ? status_new((xt_code)a->code, NULL, "%s", a->message) : NULL;
}

static xt_status compile_away(const plan_program *p, const char *topology, const char *dump_dir, bool quick, plan_compiled *out) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return status_errno("making a pipe", "");
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        close(fd[0]), close(fd[1]);
        return status_errno("starting the compiler's process", "");
    }
    if (pid == 0) {
        close(fd[0]);
        child(p, topology, dump_dir, fd[1]);
    }
    close(fd[1]);
    answer *a = base_calloc(1, sizeof *a);
    xt_status s = a ? wait_child(pid, fd[0], topology, dump_dir, quick && p && dump_dir, a) : status_oom(sizeof *a, "an answer");
    close(fd[0]);
    if (!s) *out = a->result;
    base_free(a);
    return s;
}

static bool is_ours(const char *topology) { return strncmp(topology, "cpu", 3) == 0 && (!topology[3] || topology[3] == ':'); }

xt_status plan_topology(const char *topology, plan_compiled *out) {
    *out = (plan_compiled){.memory_bytes = -1};
    return is_ours(topology) ? compile_here(NULL, topology, NULL, out) : compile_away(NULL, topology, NULL, false, out);
}

xt_status plan_compile(const plan_program *p, const char *topology, const char *dump_dir, bool quick, plan_compiled *out) {
    *out = (plan_compiled){.memory_bytes = -1};
    if (is_ours(topology)) return compile_here(p, topology, dump_dir, out);
    XT_TRY(compile_away(p, topology, dump_dir, quick, out));
    if (!out->cut) return NULL;
    plan_compiled about; /* the child was ended before it could tell what it compiled for */
    XT_TRY(plan_topology(topology, &about));
    about.fits = true;
    about.cut = true;
    about.stats = out->stats;
    about.compile_ms = out->compile_ms;
    *out = about;
    return NULL;
}
