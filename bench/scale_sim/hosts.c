/* Namespaces by the ip command, entered by setns. Everything here runs as root or says that it cannot. */
#include "bench/scale_sim/hosts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGS = 40 };

static scale_hosts *in_use; /* what the end of this process takes away */

/* The host number n is the bridge. */
static void name_of(const scale_hosts *h, int k, char out[32]) {
    snprintf(out, 32, "xs%d.%d", h->id, k);
}

static int ip(const char *args) {
    char line[512];
    snprintf(line, sizeof line, "ip %s >/dev/null 2>&1", args);
    return system(line);
}

static int make_host(const scale_hosts *h, int k) {
    char name[32], hub[32], line[256];
    name_of(h, k, name);
    name_of(h, h->n, hub);
    snprintf(line, sizeof line, "netns add %s", name);
    int bad = ip(line);
    snprintf(line, sizeof line, "link add eth0 netns %s type veth peer name p%d netns %s", name, k, hub);
    bad = bad || ip(line);
    snprintf(line, sizeof line, "-n %s addr add 10.79.0.%d/24 dev eth0", name, k + 1);
    bad = bad || ip(line);
    snprintf(line, sizeof line, "-n %s link set lo up", name);
    bad = bad || ip(line);
    snprintf(line, sizeof line, "-n %s link set eth0 up", name);
    bad = bad || ip(line);
    snprintf(line, sizeof line, "-n %s link set p%d master hub up", hub, k);
    return bad || ip(line);
}

static int make_hub(const scale_hosts *h) {
    char hub[32], line[256];
    name_of(h, h->n, hub);
    snprintf(line, sizeof line, "netns add %s", hub);
    int bad = ip(line);
    snprintf(line, sizeof line, "-n %s link add name hub type bridge", hub);
    bad = bad || ip(line);
    snprintf(line, sizeof line, "-n %s link set hub up", hub);
    return bad || ip(line);
}

static void at_exit(void) {
    if (in_use) scale_hosts_free(in_use);
}

static void on_signal(int sig) {
    (void)sig;
    exit(1); /* between measurements this process only waits */
}

bool scale_hosts_make(int n, const char *program, scale_hosts *out) {
    *out = (scale_hosts){.n = n, .id = (int)getpid()};
    if (!realpath(program, out->program) && readlink("/proc/self/exe", out->program, sizeof out->program - 1) < 0)
        return perror("scale_sim"), false;
    if (system("command -v mpirun >/dev/null && command -v ip >/dev/null") != 0) {
        fprintf(stderr, "scale_sim: no hosts: mpirun and ip (Debian: openmpi-bin, iproute2) are expected\n");
        return false;
    }
    in_use = out;
    atexit(at_exit);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    int bad = make_hub(out);
    for (int k = 0; k < n && !bad; k++) bad = make_host(out, k);
    if (!bad) return true;
    fprintf(stderr, "scale_sim: no hosts: network namespaces are not permitted here (try it as root)\n");
    scale_hosts_free(out);
    return false;
}

void scale_hosts_free(scale_hosts *h) {
    char name[32], line[256];
    in_use = NULL;
    for (int k = 0; k <= h->n; k++) {
        name_of(h, k, name);
        snprintf(line, sizeof line, "ip netns pids %s 2>/dev/null | xargs -r kill -9 2>/dev/null", name);
        if (system(line) != 0) continue; /* the namespace is not there */
        snprintf(line, sizeof line, "netns del %s", name);
        ip(line);
    }
}

static bool enter(int id, int k) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/run/netns/xs%d.%d", id, k);
    int fd = open(path, O_RDONLY | O_CLOEXEC), n = snprintf(name, sizeof name, "host-%d", k);
    bool ok =
        fd >= 0 && setns(fd, CLONE_NEWNET) == 0 && unshare(CLONE_NEWUTS) == 0 && sethostname(name, (size_t)n) == 0;
    if (!ok) perror("scale_sim: entering a host");
    if (fd >= 0) close(fd);
    return ok;
}

/* PROGRAM --agent ID [-options] ADDRESS COMMAND...: as mpirun calls its remote shell. */
int scale_hosts_agent(int argc, char **argv) {
    char line[32768] = "";
    int id = atoi(argv[2]), at = 3, k = 0;
    while (at < argc && argv[at][0] == '-') at++;
    if (at + 1 >= argc || sscanf(argv[at], "10.79.0.%d", &k) != 1) return 255;
    for (int i = at + 1; i < argc; i++) {
        size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "%s%s", used ? " " : "", argv[i]);
    }
    if (!enter(id, k - 1)) return 255;
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    return 255;
}

static void become_mpirun(const scale_hosts *h, int hosts, int ranks, const char *const *args, int to) {
    char list[64 * 24] = "", agent[4200], count[16];
    const char *argv[MOST_ARGS] = {"mpirun", "--host", list, "-np", count, "--bind-to", "none", h->program};
    int n = 8;
    for (int k = 0; k < hosts; k++) {
        size_t used = strlen(list);
        int here = ranks / hosts + (k < ranks % hosts);
        snprintf(list + used, sizeof list - used, "%s10.79.0.%d:%d", used ? "," : "", k + 1, here);
    }
    snprintf(count, sizeof count, "%d", ranks);
    snprintf(agent, sizeof agent, "%s %s %d", h->program, SCALE_AGENT, h->id);
    while (*args && n < MOST_ARGS - 1) argv[n++] = *args++;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv("OMPI_MCA_plm_rsh_agent", agent, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
    setenv("OMPI_MCA_btl_tcp_if_include", "10.79.0.0/24", 1);
    setenv("OMPI_MCA_oob_tcp_if_include", "10.79.0.0/24", 1);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    if (enter(h->id, 0)) execvp("mpirun", (char *const *)argv);
    _exit(127);
}

pid_t scale_hosts_start(const scale_hosts *h, int hosts, int ranks, const char *const *args, FILE **out_text) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return perror("scale_sim: pipe"), -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) become_mpirun(h, hosts, ranks, args, fds[1]);
    close(fds[1]);
    *out_text = pid > 0 ? fdopen(fds[0], "r") : NULL;
    return *out_text ? pid : (close(fds[0]), -1);
}
