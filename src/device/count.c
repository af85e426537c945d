/* How many devices a spec offers on this host, without opening one in this process: a launcher must know before its
 * ranks exist, and a device that was opened here could not be opened by them.
 *
 * The environment speaks first, then the system's own files; a plugin we know nothing about is asked by a child process
 * that is thrown away. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device_int.h"

const char *device_fs_root = "";

enum { CHILD_LIMIT_MS = 120000 };

/* 1: set and read into *out; 0: unset; an error for what is no count. */
static xt_status count_from_env(const char *name, bool *out_set, int *out) {
    const char *text = getenv(name);
    *out_set = text && *text;
    if (!*out_set) return NULL;
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno || *end || v < 1 || v > 4096)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s is '%s': expected a number of devices from 1 to 4096", name,
                          text);
    *out = (int)v;
    return NULL;
}

/* Entries of a comma-separated list of devices; as CUDA does, the list ends at the first -1. An empty list hides
 * every device. */
int device_count_list(const char *text) {
    int n = 0;
    while (text && *text) {
        size_t len = strcspn(text, ",");
        if (len == 0 || *text == '-') break;
        n++;
        text += len + (text[len] == ',');
    }
    return n;
}

/* Entries of folder `dir` whose name is `prefix` followed by `digits` only, or by anything when digits is false. */
static int count_entries(const char *dir, const char *prefix, bool digits) {
    str path = STR_INIT;
    str_printf(&path, "%s%s", device_fs_root, dir);
    DIR *d = opendir(str_cstr(&path));
    str_free(&path);
    int n = 0;
    size_t skip = strlen(prefix);
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *rest = e->d_name + skip;
        if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, skip) != 0) continue;
        if (digits && (!*rest || rest[strspn(rest, "0123456789")])) continue;
        n++;
    }
    if (d) closedir(d);
    return n;
}

static xt_status count_tpu(int *out, const char **out_source) {
    bool set;
    *out_source = "TPU_NUM_DEVICES";
    XT_TRY(count_from_env("TPU_NUM_DEVICES", &set, out));
    if (set) return NULL;
    const char *chips = getenv("TPU_VISIBLE_CHIPS");
    if (chips && *chips) {
        *out_source = "TPU_VISIBLE_CHIPS";
        *out = device_count_list(chips);
        return NULL;
    }
    *out_source = "/dev/accel*";
    if ((*out = count_entries("/dev", "accel", true)) > 0) return NULL;
    if ((*out = count_entries("/dev/vfio", "", true)) > 0)
        *out_source = "/dev/vfio";
    else
        *out_source = "/dev/accel* and /dev/vfio";
    return NULL;
}

static void count_cuda(int *out, const char **out_source) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible) {
        *out_source = "CUDA_VISIBLE_DEVICES";
        *out = device_count_list(visible);
        return;
    }
    *out_source = "/proc/driver/nvidia/gpus";
    *out = count_entries("/proc/driver/nvidia/gpus", "", false);
}

/* --- the child that opens an unknown plugin --- */
typedef struct answer {
    int count; /* < 0: `message` says why not */
    int code;
    char message[4000];
} answer;

static void child(const char *spec, int fd) {
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
    answer a = {.count = -1};
    device_client *c = NULL;
    xt_status s = device_open(&(device_open_opts){.spec = spec}, &c);
    if (s) {
        a.code = status_code(s);
        snprintf(a.message, sizeof a.message, "%s", status_message(s));
    } else
        a.count = device_get_info(c)->n_addressable;
    ssize_t n = write(fd, &a, sizeof a);
    _exit(n == (ssize_t)sizeof a ? 0 : 1); /* no clean-up: plugins' threads may hang in it */
}

/* Reads the whole answer or gives up at the time limit. */
static bool wait_answer(int fd, answer *out) {
    size_t got = 0;
    int64_t limit = clock_ns() + (int64_t)CHILD_LIMIT_MS * 1000000;
    while (got < sizeof *out) {
        int64_t left = (limit - clock_ns()) / 1000000;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = left <= 0 ? 0 : poll(&p, 1, (int)left);
        if (rc < 0 && errno == EINTR) continue;
        if (rc <= 0) return false;
        ssize_t n = read(fd, (char *)out + got, sizeof *out - got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

static xt_status count_by_child(const char *spec, int *out, const char **out_source) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return status_errno("making a pipe for", "device counting");
    pid_t pid = fork();
    if (pid == 0) child(spec, fds[1]);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return status_errno("starting a process for", "device counting");
    }
    answer a = {0};
    bool ok = wait_answer(fds[0], &a);
    close(fds[0]);
    if (!ok) kill(pid, SIGKILL);
    int how = 0;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;
    *out_source = "the plugin, asked in a process of its own";
    if (!ok)
        return status_new(XT_UNAVAILABLE, NULL,
                          "the plugin %s did not tell its number of devices: the process that opened it %s", spec,
                          WIFSIGNALED(how) && WTERMSIG(how) != SIGKILL ? strsignal(WTERMSIG(how)) : "gave no answer");
    a.message[sizeof a.message - 1] = '\0';
    if (a.count < 0) return status_new((xt_code)a.code, NULL, "counting the devices of %s: %s", spec, a.message);
    *out = a.count;
    return NULL;
}

xt_status device_count(const char *spec, int *out_count, const char **out_source) {
    const char *source = "default";
    bool set;
    *out_count = 1;
    *out_source = source;
    spec = device_spec(spec);
    if (rehearsal_is(spec)) { /* one process, which pretends to have the devices */
        *out_source = "a rehearsal";
        return NULL;
    }
    switch (device_family_of_spec(spec)) {
    case DEVICE_FAMILY_CPU:
    case DEVICE_FAMILY_XLA_CPU:
        XT_TRY(count_from_env("CPU_NUM_DEVICES", &set, out_count));
        if (set) *out_source = "CPU_NUM_DEVICES";
        return NULL;
    case DEVICE_FAMILY_TPU: return count_tpu(out_count, out_source);
    case DEVICE_FAMILY_CUDA: count_cuda(out_count, out_source); return NULL;
    case DEVICE_FAMILY_UNKNOWN: break;
    }
    char *path;
    XT_TRY(device_find_plugin(spec, &path)); /* a wrong name is told as such, not by a child */
    xt_status s = count_by_child(path, out_count, out_source);
    base_free(path);
    return s;
}
