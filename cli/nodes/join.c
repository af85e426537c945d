/* A node that is not the first: it comes to node 0, waits, does what orders.c lets it do, and ends with the run.
 *  1. It opens no port: the connection is its own.
 *  2. All that it starts ends with it or with its connection: it is the parent of whatever loses its own.
 *  3. Each wait has a limit: for node 0 to answer and to let it in, and for any word of it afterwards. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

enum { TURN_MS = 100, DIAL_MS = 5000, AGAIN_MS = 500, TAKEN_S = 15, WELCOME_S = 15, TELL_S = 3, SILENT_S = 60 };
enum { DAEMONS = 16, FOLDERS = 64, GRACE_S = 5, GONE = -1 };

typedef struct daemon_process {
    pid_t pid; /* 0: none */
    uint32_t number;
    int err;
} daemon_process;
typedef struct member {
    const nodes_run *run;
    nodes_link link;
    daemon_process daemons[DAEMONS];
    char *folders[FOLDERS]; /* that were made and not yet removed */
    int sent[NSIG]; /* signals that node 0 was told of */
    char leader[80];
} member;

static int ending_signal(int times) {
    for (int i = 0; i < 4; i++)
        if (nodes_signals[nodes_passed_on[i]] >= times) return nodes_passed_on[i];
    return 0;
}

/* --- coming to node 0 --- */

static int try_address(const struct addrinfo *a, int *failed) {
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    socklen_t n = sizeof error;
    struct pollfd p = {fd, POLLOUT, 0};
    if (fd < 0) return -1;
    bool there = connect(fd, a->ai_addr, a->ai_addrlen) == 0;
    *failed = errno;
    if (!there && errno == EINPROGRESS) {
        int ready = poll(&p, 1, DIAL_MS);
        *failed = ETIMEDOUT;
        if (ready == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0) *failed = error;
        there = ready == 1 && *failed == 0;
    }
    if (there) return fd;
    close(fd);
    return -1;
}

/* A name is looked up again each time: it may come to exist while this waits. */
static int dial(const nodes_run *run, char *why, size_t room) {
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int code = getaddrinfo(run->host, run->port, &want, &found), failed = 0, fd = -1;
    if (code) snprintf(why, room, "%s", gai_strerror(code));
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) fd = try_address(a, &failed);
    if (!code && fd < 0) snprintf(why, room, "%s", strerror(failed));
    if (found) freeaddrinfo(found);
    return fd;
}

static void introduce(member *m) {
    nodes_bytes b = {0}, command = {0};
    char numbers[4][16], host[80] = "";
    const int values[] = {m->run->rank, m->run->least, m->run->most, m->run->slots};
    for (int i = 0; i < 4; i++) snprintf(numbers[i], sizeof numbers[i], "%d", values[i]);
    gethostname(host, sizeof host - 1);
    bool ok = nodes_command_text(m->run->argv, &command);
    const char *fields[NODES_JOIN_FIELDS] = {xt_version(), numbers[0], numbers[1],  numbers[2],
                                             numbers[3],   host,       m->run->cwd, ok ? command.p : ""};
    for (int i = 0; i < NODES_JOIN_FIELDS; i++) ok = ok && nodes_bytes_add(&b, fields[i], strlen(fields[i]) + 1);
    if (ok) nodes_link_send(&m->link, NODES_JOIN, 0, b.p, b.n);
    nodes_bytes_free(&b);
    nodes_bytes_free(&command);
}

typedef enum welcome { WELCOME, NOT_YET, TAKEN, NEVER } welcome;

/* The secret, the introduction, and what node 0 says to it. */
static welcome be_let_in(member *m, int fd, char *why, size_t room) {
    double until = nodes_now() + WELCOME_S;
    bool said = false;
    nodes_frame f;
    nodes_link_begin(&m->link, fd, false, m->run->key);
    while (nodes_now() < until && !ending_signal(1)) {
        struct pollfd p = {m->link.fd, nodes_link_wants(&m->link), 0};
        poll(&p, 1, TURN_MS);
        bool there = nodes_link_pump(&m->link);
        if (m->link.opened && !said) introduce(m);
        said = m->link.opened;
        if (nodes_link_take(&m->link, &f)) {
            bool in = f.kind == NODES_WELCOME, taken = f.kind == NODES_REFUSED && f.number == 1;
            snprintf(in ? m->leader : why, in ? sizeof m->leader : room, "%s", f.body);
            free(f.body);
            return in ? WELCOME : taken ? TAKEN : NEVER;
        }
        if (there) continue;
        snprintf(why, room, "%s", m->link.why);
        return m->link.bad_secret ? NEVER : NOT_YET;
    }
    snprintf(why, room, "it does not answer");
    return NOT_YET;
}

static int give_up(const member *m, const char *why) {
    return cli_fail("launch",
                    "after %.0f s (XT_TIMEOUT) node 0 has not answered at %s port %s: %s. Expected there is the same "
                    "command with --node-rank 0, on the host that --rendezvous names",
                    m->run->limit, m->run->host, m->run->port, why);
}

/* 0: node 0 has let this node in. */
static int come(member *m) {
    double began = nodes_now(), taken = 0;
    char why[800] = "";
    for (bool told = false;;) {
        int fd = dial(m->run, why, sizeof why), sig;
        welcome w = fd < 0 ? NOT_YET : be_let_in(m, fd, why, sizeof why);
        double now = nodes_now();
        if (w == WELCOME) return 0;
        if (fd >= 0) nodes_link_end(&m->link);
        if ((sig = ending_signal(1))) return 128 + sig;
        taken = w != TAKEN ? 0 : taken ? taken : now;
        if (w == NEVER || (taken && now - taken > TAKEN_S)) return cli_fail("launch", "node %d: %s", m->run->rank, why);
        if (now - began > m->run->limit) return give_up(m, why);
        if (!told && now - began > TELL_S) {
            cli_fprintf(stderr, "xtrain launch: node %d waits for node 0 at %s port %s (%s)\n", m->run->rank,
                        m->run->host, m->run->port, why);
            told = true;
        }
        usleep(AGAIN_MS * 1000);
    }
}

/* --- orders --- */

static void put_in_front(const char *name, const char *folder) {
    const char *now = getenv(name);
    char value[8192];
    if (!folder) return;
    snprintf(value, sizeof value, "%s%s%s", folder, now && *now ? ":" : "", now && *now ? now : "");
    setenv(name, value, 1);
}

static void become_daemon(const nodes_order *o, int err, pid_t launcher) {
    char program[4096];
    int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it then ends its ranks */
    if (getppid() != launcher) _exit(1);
    setpgid(0, 0);
    nodes_default_signals();
    put_in_front("PATH", o->path);
    put_in_front("LD_LIBRARY_PATH", o->library_path);
    bool there =
        nodes_find_program(o->argv[0], program, sizeof program) || nodes_find_program("orted", program, sizeof program);
    dup2(null, STDIN_FILENO);
    dup2(err, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (there) execv(program, o->argv);
    cli_fprintf(stderr, "orted was not found in PATH (Debian: openmpi-bin)\n");
    fflush(stderr);
    _exit(127);
}

static void answer(member *m, uint32_t number, int code, const char *why) {
    char text[16];
    snprintf(text, sizeof text, "%d", code);
    if (*why) {
        nodes_link_send(&m->link, NODES_SAYS, number, why, strlen(why));
        nodes_link_send(&m->link, NODES_SAYS, number, "\n", 1);
    }
    nodes_link_send(&m->link, NODES_ENDED, number, text, strlen(text));
}

static bool start_daemon(member *m, const nodes_order *o, uint32_t number, char *why, size_t room) {
    int ends[2];
    daemon_process *d = NULL;
    pid_t launcher = getpid();
    for (int i = 0; i < DAEMONS && !d; i++)
        if (!m->daemons[i].pid) d = &m->daemons[i];
    if (!d || pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(why, room, "starting orted: %s", d ? strerror(errno) : "too many of them run already");
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) become_daemon(o, ends[1], launcher);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        snprintf(why, room, "starting orted: %s", strerror(errno));
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *d = (daemon_process){pid, number, ends[0]};
    return true;
}

/* What was made and not removed is, when the run is over for this node. */
static void remember(member *m, const char *folder, bool made) {
    int room = -1;
    for (int i = 0; i < FOLDERS; i++) {
        bool is = m->folders[i] && strcmp(m->folders[i], folder) == 0;
        if (is && made) return;
        if (is) {
            free(m->folders[i]);
            m->folders[i] = NULL;
        }
        if (!m->folders[i]) room = i;
    }
    if (made && room >= 0) m->folders[room] = strdup(folder);
}

static void obey(member *m, const nodes_frame *f) {
    nodes_order o;
    char why[300] = "";
    if (!nodes_order_read(f->body, f->n, &o, why, sizeof why)) {
        cli_fprintf(stderr, "xtrain launch: node %d: an order of node 0: %s\n", m->run->rank, why);
        answer(m, f->number, 126, why);
        return;
    }
    if (o.kind == ORDER_DAEMON) {
        if (!start_daemon(m, &o, f->number, why, sizeof why)) answer(m, f->number, 126, why);
    } else {
        bool make = o.kind == ORDER_MAKE_FOLDER;
        bool done = (make ? nodes_folder_make : nodes_folder_remove)(o.folder, why, sizeof why);
        if (done) remember(m, o.folder, make);
        answer(m, f->number, !done, why);
    }
    free(o.text);
}

/* --- what it has started --- */

static void pass_says(member *m, daemon_process *d) {
    char bytes[8192];
    for (ssize_t n; d->err >= 0 && (n = read(d->err, bytes, sizeof bytes)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return;
        nodes_link_send(&m->link, NODES_SAYS, d->number, bytes, (size_t)n);
    }
}

/* Also what a daemon left behind, which is this process's child then. */
static void reap(member *m) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < DAEMONS; i++) {
            daemon_process *d = &m->daemons[i];
            if (d->pid != pid) continue;
            pass_says(m, d);
            close(d->err);
            answer(m, d->number, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "");
            *d = (daemon_process){0};
        }
}

static pid_t parent_of(const char *pid) {
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    const char *p = strrchr(text, ')'); /* the name in front may hold anything */
    return p && p[1] == ' ' ? (pid_t)strtol(p + 3, NULL, 10) : 0;
}

static int signal_children(int sig) {
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == getpid())
            n += kill((pid_t)strtol(e->d_name, NULL, 10), sig) == 0;
    if (d) closedir(d);
    return n;
}

/* Daemons end by themselves when mpirun has; `told`: not any more. What is left then is killed, and so is what it
 * leaves to this process. */
static void end_daemons(member *m, bool told) {
    double until = nodes_now() + GRACE_S;
    if (told) signal_children(SIGTERM);
    for (;;) {
        reap(m);
        bool late = nodes_now() > until;
        int left = signal_children(late ? SIGKILL : 0);
        if (!left || nodes_now() > until + GRACE_S) break;
        usleep(20000);
    }
    reap(m);
    for (int i = 0; i < FOLDERS; i++) {
        char why[300];
        if (m->folders[i]) nodes_folder_remove(m->folders[i], why, sizeof why);
        free(m->folders[i]);
        m->folders[i] = NULL;
    }
}

/* --- a node's life --- */

static void pass_signals(member *m) {
    for (int i = 0; i < NODES_PASSED_ON; i++) {
        int sig = nodes_passed_on[i];
        for (; m->sent[sig] < nodes_signals[sig]; m->sent[sig]++) {
            cli_fprintf(stderr, "xtrain launch: node %d: %s, passed on to node 0 (%s)\n", m->run->rank, strsignal(sig),
                        m->leader);
            nodes_link_send(&m->link, NODES_SIGNAL, (uint32_t)sig, "", 0);
        }
    }
}

static void wait_for_news(member *m) {
    struct pollfd p[1 + DAEMONS] = {{m->link.fd, nodes_link_wants(&m->link), 0}};
    for (int i = 0; i < DAEMONS; i++) p[1 + i] = (struct pollfd){m->daemons[i].pid ? m->daemons[i].err : -1, POLLIN, 0};
    if (poll(p, 1 + DAEMONS, TURN_MS) <= 0) return;
    for (int i = 0; i < DAEMONS; i++)
        if (m->daemons[i].pid && p[1 + i].revents & POLLIN)
            pass_says(m, &m->daemons[i]);
        else if (p[1 + i].revents & POLLHUP)
            usleep(1000); /* its end is reaped in a moment */
}

/* The run's exit code; GONE: the connection is lost, why says how. */
static int serve(member *m, char *why, size_t room) {
    double silent = m->run->limit > SILENT_S ? m->run->limit : SILENT_S;
    for (nodes_frame f;;) {
        wait_for_news(m);
        reap(m);
        pass_signals(m);
        bool there = nodes_link_pump(&m->link);
        while (nodes_link_take(&m->link, &f)) {
            int over = f.kind == NODES_OVER ? (int)(f.number & 255) : GONE;
            if (f.kind == NODES_ORDER) obey(m, &f);
            if (over != GONE) snprintf(why, room, "%s", f.body);
            free(f.body);
            if (over != GONE) return over;
        }
        int sig = ending_signal(3);
        if (sig) return 128 + sig;
        if (!there) snprintf(why, room, "%s", m->link.why);
        bool late = nodes_now() - m->link.heard > silent;
        if (late) snprintf(why, room, "nothing was heard of it for %.0f s", silent);
        if (!there || late) return GONE;
    }
}

static int live(member *m) {
    for (;;) {
        char why[800] = "";
        int code = come(m);
        if (code) return code;
        cli_fprintf(stderr, "xtrain launch: node %d has come to node 0 (%s)\n", m->run->rank, m->leader);
        code = serve(m, why, sizeof why);
        end_daemons(m, code == GONE || *why);
        nodes_link_end(&m->link);
        if (code == GONE)
            cli_fprintf(stderr,
                        "xtrain launch: node %d has lost node 0 (%s at %s port %s): %s; its ranks are ended%s\n",
                        m->run->rank, m->leader, m->run->host, m->run->port, why,
                        m->run->max_restarts ? ", and it comes again" : "");
        else if (*why)
            cli_fprintf(stderr, "xtrain launch: node %d: %s\n", m->run->rank, why);
        else if (code)
            cli_fprintf(stderr, "xtrain launch: node %d: the run has ended with exit code %d\n", m->run->rank, code);
        if (code != GONE) return code;
        if (!m->run->max_restarts) return 1;
    }
}

int nodes_join(const nodes_run *run) {
    member m = {.run = run, .link.fd = -1};
    char orted[4096];
    if (!nodes_find_program("orted", orted, sizeof orted))
        return cli_fail("launch", "orted was not found in PATH: it starts a node's ranks (Debian: openmpi-bin)");
    nodes_take_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int code = live(&m);
    nodes_link_end(&m.link);
    return code;
}
