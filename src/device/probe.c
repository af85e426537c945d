/* What a plugin can do here, asked in a throw-away child process with a time limit: a plugin without its hardware may
 * print, take locks, wait for a network or abort. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device_int.h"

enum { LIMIT_MS = 60000 };

static void text(char *dst, size_t n, const char *src) {
    size_t len = strcspn(src, "\n");
    snprintf(dst, n, "%.*s", (int)(len < n ? len : n - 1), src);
}

static void tell(int fd, const device_probe_result *r) {
    if (write(fd, r, sizeof *r) != (ssize_t)sizeof *r) _exit(1); /* smaller than what a pipe takes at once */
}

static void problem(device_probe_result *r, xt_status s) {
    text(r->problem, sizeof r->problem, status_message(s));
    xt_status_free(s);
}

static void child(device_probe_result *r, int fd) {
    const device_plugin *plugin;
    device_client *c;
    device_memory m;
    str names = STR_INIT, packages = STR_INIT;
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
    xt_status s = device_plugin_load(r->path, &plugin);
    if (s)
        problem(r, s);
    else {
        r->loads = true;
        r->api_major = plugin->api->pjrt_api_version.major_version;
        r->api_minor = plugin->api->pjrt_api_version.minor_version;
        memcpy(r->stablehlo, plugin->stablehlo, sizeof r->stablehlo);
    }
    if (!s) text(r->problem, sizeof r->problem, "it did not answer within a minute");
    tell(fd, r);
    if (s) _exit(0);
    s = device_open(&(device_open_opts){.spec = r->path}, &c);
    if (!s) s = device_memory_stats(c, &m);
    if (s)
        problem(r, s);
    else {
        const device_info *i = device_get_info(c);
        r->opens = true;
        r->problem[0] = 0;
        r->devices = i->n_addressable;
        r->memory_limit = m.limit;
        r->memory_in_use = m.in_use;
        text(r->platform, sizeof r->platform, i->platform);
        text(r->kind, sizeof r->kind, i->device_kind);
    }
    if (r->loads && plugin->family == DEVICE_FAMILY_CUDA && device_cuda_missing(r->path, &names, &packages) > 0)
        snprintf(r->missing, sizeof r->missing, "%s; install them with: pip install%s", str_cstr(&names),
                 str_cstr(&packages));
    tell(fd, r);
    _exit(0); /* no clean-up: a plugin's threads may hang in it */
}

/* Reads answers until the child ends; the last whole one stands. */
static void listen_to(int fd, pid_t pid, device_probe_result *out) {
    device_probe_result r;
    size_t got = 0;
    int64_t end = clock_ns() + LIMIT_MS * (int64_t)1000000;
    for (;;) {
        int64_t left = (end - clock_ns()) / 1000000;
        struct pollfd f = {fd, POLLIN, 0};
        int ready = left > 0 ? poll(&f, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) break;
        ssize_t n = read(fd, (char *)&r + got, sizeof r - got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        if ((got += (size_t)n) < sizeof r) continue;
        *out = r;
        got = 0;
    }
    kill(pid, SIGKILL);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
}

xt_status device_probe(const char *spec, device_probe_result *out) {
    int fd[2];
    char *path;
    *out = (device_probe_result){.memory_limit = -1, .memory_in_use = -1};
    XT_TRY(device_find_plugin(spec, &path));
    snprintf(out->path, sizeof out->path, "%s", path);
    base_free(path);
    if (pipe2(fd, O_CLOEXEC) != 0) return status_errno("making a pipe", "");
    text(out->problem, sizeof out->problem, "the plugin ended the process that loaded it");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(out, fd[1]);
    }
    close(fd[1]);
    if (pid > 0) listen_to(fd[0], pid, out);
    close(fd[0]);
    return pid < 0 ? status_errno("starting a process", "") : NULL;
}
