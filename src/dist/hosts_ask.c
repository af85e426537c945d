/* Asking hosts: one command on all of them at once, by the way that mpirun reaches them. What an agent says on stderr
 * is the reason where it fails: its last line, as a rule ssh's. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dist/dist_int.h"
#include "dist/hosts.h"

enum { POLL_US = 10000, WHY_BYTES = 200 };

/* --- is it this machine? --- */

static bool same_address(const struct sockaddr *a, const struct sockaddr *b) {
    if (!a || !b || a->sa_family != b->sa_family) return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr, sizeof(struct in_addr)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

bool host_is_here(const char *name) {
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    size_t n = strcspn(own, ".");
    if (strcmp(name, "localhost") == 0 || strcmp(name, own) == 0 || (strlen(name) == n && strncmp(name, own, n) == 0))
        return true;
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct ifaddrs *mine = NULL;
    bool is = false;
    if (getaddrinfo(name, NULL, &want, &found) != 0) return false;
    if (getifaddrs(&mine) == 0)
        for (const struct addrinfo *a = found; a; a = a->ai_next)
            for (const struct ifaddrs *i = mine; i; i = i->ifa_next) is = is || same_address(a->ai_addr, i->ifa_addr);
    if (mine) freeifaddrs(mine);
    freeaddrinfo(found);
    return is;
}

/* --- the way to it --- */

/* "ssh -x : rsh" is Open MPI's form: the first of them that is there, with its arguments. */
static xt_status agent_words(char *words, size_t size, char **argv, size_t room, size_t *out_n) {
    const char *list = getenv("OMPI_MCA_plm_rsh_agent");
    snprintf(words, size, "%s", list && *list ? list : "ssh");
    char *after = NULL;
    for (char *one = strtok_r(words, ":", &after); one; one = strtok_r(NULL, ":", &after)) {
        char *inner = NULL, *program = NULL;
        size_t n = 0;
        for (char *w = strtok_r(one, " ", &inner); w && n + 1 < room; w = strtok_r(NULL, " ", &inner)) argv[n++] = w;
        xt_status st = n ? launch_find_program(argv[0], &program) : NULL;
        bool there = n && !st;
        xt_status_free(st);
        base_free(program);
        if (there) {
            *out_n = n;
            return NULL;
        }
    }
    return status_new(XT_NOT_FOUND, NULL,
                      "'%s', which reaches other hosts, was not found; install openssh-client, or set "
                      "OMPI_MCA_plm_rsh_agent",
                      list && *list ? list : "ssh");
}

static bool is_ssh(const char *program) {
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, "ssh") == 0;
}

static void run_command(const char *name, const char *command, char **agent, size_t n, int err) {
    int null = open("/dev/null", O_RDWR);
    char *here[] = {"/bin/sh", "-c", (char *)command, NULL};
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    dup2(err, STDERR_FILENO);
    if (host_is_here(name)) execv(here[0], here);
    if (is_ssh(agent[0])) { /* nobody is there to type a password */
        static char *const quiet[] = {"-o", "BatchMode=yes", "-o", "ConnectTimeout=5"};
        for (size_t i = 0; i < BASE_COUNT(quiet); i++) agent[n++] = quiet[i];
    }
    agent[n++] = (char *)name;
    agent[n++] = (char *)command;
    agent[n] = NULL;
    execvp(agent[0], agent);
    _exit(127);
}

/* --- asking --- */

typedef struct question {
    host *h;
    pid_t pid;
    int err; /* a memory file: what the command says */
    int status;
} question;

static void last_line(int fd, char *out, size_t n) {
    char text[2048];
    off_t size = lseek(fd, 0, SEEK_END), at = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
    ssize_t got = size > 0 ? pread(fd, text, sizeof text - 1, at) : 0;
    text[got > 0 ? got : 0] = 0;
    for (ssize_t i = got; i > 0 && strchr("\r\n ", text[i - 1]); i--) text[i - 1] = 0;
    const char *line = strrchr(text, '\n');
    snprintf(out, n, "%.*s", (int)n - 1, line ? line + 1 : text);
}

static void settle(question *q, bool late, int limit_ms) {
    char why[WHY_BYTES] = "";
    if (late)
        snprintf(why, sizeof why, "nothing for %g s", limit_ms * 1e-3);
    else
        last_line(q->err, why, sizeof why);
    base_free(q->h->why);
    q->h->why = NULL;
    q->h->answers = !late && WIFEXITED(q->status) && WEXITSTATUS(q->status) == 0;
    if (!q->h->answers && *why) q->h->why = base_strdup(why);
    close(q->err);
    q->pid = 0;
}

static xt_status begin(question *q, const char *command, char *const *agent, size_t n) {
    char *argv[24];
    memcpy(argv, agent, n * sizeof *argv);
    q->err = memfd_create("xtrain-agent", MFD_CLOEXEC);
    if (q->err < 0) return status_errno("making memory for", "an agent's messages");
    fflush(NULL);
    q->pid = fork();
    if (q->pid == 0) run_command(q->h->name, command, argv, n, q->err);
    if (q->pid > 0) return NULL;
    close(q->err);
    return status_errno("starting", agent[0]);
}

static void wait_all(question *all, size_t n, int limit_ms) {
    int64_t until = clock_ns() + (int64_t)limit_ms * 1000000;
    for (size_t open = n; open > 0;) {
        bool late = clock_ns() > until;
        open = 0;
        for (size_t i = 0; i < n; i++) {
            question *q = &all[i];
            if (q->pid <= 0) continue;
            pid_t ended = waitpid(q->pid, &q->status, WNOHANG);
            if (ended == 0 && !late) {
                open++;
                continue;
            }
            kill(-q->pid, SIGKILL); /* also what an agent that has ended left behind */
            if (ended == 0)
                while (waitpid(q->pid, &q->status, 0) < 0 && errno == EINTR) continue;
            settle(q, ended == 0, limit_ms);
        }
        if (open) usleep(POLL_US);
    }
}

xt_status hosts_ask(host_list *l, bool taken_only, const char *command, int limit_ms) {
    char words[1024], *agent[12] = {"ssh"};
    size_t n = 1, asked = 0;
    question *all = base_calloc(l->n + 1, sizeof *all);
    if (!all) return status_oom(l->n * sizeof *all, "a list of hosts");
    bool far = false;
    for (size_t i = 0; i < l->n; i++) far = far || !host_is_here(l->all[i].name);
    xt_status st = far ? agent_words(words, sizeof words, agent, BASE_COUNT(agent), &n) : NULL;
    for (size_t i = 0; i < l->n && !st; i++) {
        if (taken_only && !l->all[i].taken) continue;
        all[asked].h = &l->all[i];
        st = begin(&all[asked], command, agent, n);
        asked += !st;
    }
    wait_all(all, asked, limit_ms);
    base_free(all);
    return st;
}
