/* Node 0: waits until the nodes have come, has a child of its own start the ranks on them (xt_launch_on_hosts, whose
 * mpirun gets this command as its agent), and carries orders, answers and signals until that child has ended. */
#include <errno.h>
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

enum { QUEUE = 1024, TURN_MS = 100, ALIVE_S = 5, LAST_CALL_S = 15, FIRST_NEWS_S = 10, NEWS_S = 60, PARTING_S = 5 };

/* --- the socket --- */

static int cannot_listen(const nodes_run *run, int failed) {
    const char *cure = failed == EADDRNOTAVAIL
                           ? "; it is no address of this machine, and --rendezvous names one of node 0's, which this "
                             "is (--node-rank 0)"
                       : failed == EADDRINUSE ? "; another program listens there, or another run: choose another port"
                                              : "";
    return cli_fail("launch", "listening at %s port %s: %s%s", run->host, run->port, strerror(failed), cure);
}

/* At the one address that is named, never at all of them. */
static int listen_there(const nodes_run *run, int *out) {
    static const int on = 1;
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int code = getaddrinfo(run->host, run->port, &want, &found), failed = EADDRNOTAVAIL;
    if (code) return cli_fail("launch", "--rendezvous %s: %s", run->host, gai_strerror(code));
    *out = -1;
    for (const struct addrinfo *a = found; a && *out < 0; a = a->ai_next) {
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, QUEUE) == 0) {
            *out = fd;
            break;
        }
        failed = errno;
        close(fd);
    }
    freeaddrinfo(found);
    return *out >= 0 ? 0 : cannot_listen(run, failed);
}

/* --- one turn: whatever has come is dealt with --- */

static void tell_alive(nodes_lead_state *s) {
    if (nodes_now() - s->told_alive < ALIVE_S) return;
    s->told_alive = nodes_now();
    for (int k = 1; k < s->run->most; k++)
        if (s->nodes[k].link) nodes_link_send(s->nodes[k].link, NODES_ALIVE, 0, "", 0);
}

static size_t fill(const nodes_lead_state *s, struct pollfd *p) {
    size_t n = 0;
    p[n++] = (struct pollfd){s->listener, POLLIN, 0};
    p[n++] = (struct pollfd){s->agents_listener, POLLIN, 0};
    for (int k = 1; k < s->run->most; k++)
        p[n++] = (struct pollfd){s->nodes[k].link ? s->nodes[k].link->fd : -1,
                                 s->nodes[k].link ? nodes_link_wants(s->nodes[k].link) : (short)0, 0};
    for (int i = 0; i < s->n_guests; i++)
        p[n++] = (struct pollfd){s->guests[i].link->fd, nodes_link_wants(s->guests[i].link), 0};
    for (size_t i = 0; i < s->n_agents; i++)
        p[n++] = (struct pollfd){s->agents[i].fd, (short)(POLLIN | (s->agents[i].out.n ? POLLOUT : 0)), 0};
    return n;
}

/* What came along with its introduction, and a loss that a send has met, poll does not tell. */
static bool has_news(const nodes_link *l, short events) {
    return l && (events || l->in.n || l->state == LINK_LOST);
}

static bool turn(nodes_lead_state *s) {
    size_t room = 2 + (size_t)s->run->most + (size_t)s->n_guests + s->n_agents;
    struct pollfd *p = calloc(room, sizeof *p);
    if (!p) return false;
    size_t n_agents = s->n_agents, n = fill(s, p), first_agent = n - n_agents;
    int n_guests = s->n_guests;
    poll(p, n, TURN_MS);
    for (size_t i = 0; i < n_agents; i++) relay_agent(s, i, p[first_agent + i].revents);
    for (int k = 1; k < s->run->most; k++)
        if (has_news(s->nodes[k].link, p[1 + k].revents)) table_node(s, k);
    for (int i = n_guests - 1; i >= 0; i--)
        table_guest(s, i); /* from the end, as those that leave are filled from there */
    if (p[0].revents) table_accept(s);
    if (p[1].revents) relay_accept(s);
    relay_sweep(s);
    tell_alive(s);
    free(p);
    return true;
}

static int ending_signal(void) {
    for (int i = 0; i < 4; i++)
        if (nodes_signals[nodes_passed_on[i]]) return nodes_passed_on[i];
    return 0;
}

/* --- until the nodes have come --- */

static int too_few(const nodes_lead_state *s) {
    char here[2000], missing[2000];
    table_tell(s, false, here, sizeof here);
    table_tell(s, true, missing, sizeof missing);
    return cli_fail(
        "launch",
        "after %.0f s (XT_TIMEOUT) %d of %d nodes have come: %s; not yet: %s. On each of them the same "
        "command is expected with its own --node-rank and the same secret, and that %s port %s can be reached "
        "from there",
        s->run->limit, table_here(s), s->run->least, here, missing, s->run->host, s->run->port);
}

static void tell_news(const nodes_lead_state *s, double since) {
    char missing[2000];
    table_tell(s, true, missing, sizeof missing);
    cli_fprintf(stderr, "xtrain launch: after %.0f s %d of %d nodes have come; not yet: %s\n", nodes_now() - since,
                table_here(s), s->run->most, missing);
}

/* 0, or the exit code of a run that does not start. */
static int gather(nodes_lead_state *s) {
    double began = nodes_now(), enough = 0, news = began + FIRST_NEWS_S;
    char here[2000];
    for (;;) {
        int n = table_here(s), sig = ending_signal();
        double now = nodes_now();
        if (n == s->run->most) break;
        enough = n < s->run->least ? 0 : enough ? enough : now;
        if (enough && now - enough > LAST_CALL_S) break;
        if (sig) {
            cli_fprintf(stderr, "xtrain launch: %s while it waited for nodes\n", strsignal(sig));
            return 128 + sig;
        }
        if (!enough && now - began > s->run->limit) return too_few(s);
        if (now > news) {
            tell_news(s, began);
            news = now + NEWS_S;
        }
        if (!turn(s)) return cli_fail("launch", "there is no memory");
    }
    table_tell(s, false, here, sizeof here);
    cli_fprintf(stderr, "xtrain launch: %d nodes have come in %.1f s: %s\n", table_here(s), nodes_now() - began, here);
    table_fix(s);
    return 0;
}

/* --- the run --- */

static bool host_list(const nodes_lead_state *s, nodes_bytes *out) {
    char one[96];
    for (int k = 0; k < s->run->most; k++) {
        const node *n = &s->nodes[k];
        int length = snprintf(one, sizeof one, n->slots ? "%s%s:%d" : "%s%s", k ? "," : "", n->name, n->slots);
        if (!nodes_bytes_add(out, one, (size_t)length)) return false;
    }
    return nodes_bytes_add(out, "", 1);
}

/* What has mpirun come to this launcher, start every daemon itself, all at once, and stay to see them end. A user's own
 * settings of these would lead past the nodes. */
static void set_agent(const nodes_lead_state *s, pid_t launcher) {
    char agent[160], limit[32];
    static const char *const settings[][2] = {{"OMPI_MCA_plm", "rsh"},
                                              {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
                                              {"OMPI_MCA_plm_rsh_num_concurrent", "4096"},
                                              {"OMPI_MCA_orte_leave_session_attached", "1"},
                                              {"OMPI_MCA_ras", "^slurm,tm,gridengine,loadleveler,alps,lsf"}};
    snprintf(agent, sizeof agent, "/proc/%d/exe __agent %s", (int)launcher, s->agents_name);
    snprintf(limit, sizeof limit, "%.0f", s->run->limit);
    setenv("OMPI_MCA_plm_rsh_agent", agent, 1);
    setenv("OMPI_MCA_orte_startup_timeout", limit, 0);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) setenv(settings[i][0], settings[i][1], 1);
}

/* In the child. Its copies of the connections are closed: a launcher that is killed is lost to its nodes at once. */
static void run_group(nodes_lead_state *s, pid_t launcher) {
    nodes_bytes hosts = {0};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launcher) _exit(1);
    setpgid(0, 0); /* Ctrl-C comes by way of the launcher */
    nodes_default_signals();
    close(s->listener);
    close(s->agents_listener);
    for (int k = 1; k < s->run->most; k++)
        if (s->nodes[k].link) close(s->nodes[k].link->fd);
    for (int i = 0; i < s->n_guests; i++) close(s->guests[i].link->fd);
    set_agent(s, launcher);
    int code = 1;
    if (host_list(s, &hosts))
        code = xt_launch_on_hosts(s->run->argv, .n = s->run->n, .hosts = hosts.p, .min_hosts = s->run->least,
                                  .max_hosts = s->run->most, .max_restarts = s->run->max_restarts);
    nodes_bytes_free(&hosts);
    fflush(NULL);
    _exit(code);
}

/* A signal that all nodes get at once (srun, a pod's end) is one: it is passed on when some node has it more often than
 * it was passed on. */
static void pass_signals(nodes_lead_state *s, pid_t group) {
    for (int i = 0; i < NODES_PASSED_ON; i++) {
        int sig = nodes_passed_on[i], most = 0, whose = 0;
        s->nodes[0].signals[sig] = nodes_signals[sig];
        for (int k = 0; k < s->run->most; k++)
            if (s->nodes[k].signals[sig] > most) most = s->nodes[whose = k].signals[sig];
        for (; s->passed[sig] < most; s->passed[sig]++) {
            if (whose)
                cli_fprintf(stderr, "xtrain launch: %s on node %d (%s)\n", strsignal(sig), whose, s->nodes[whose].host);
            kill(group, sig);
        }
    }
}

static int run(nodes_lead_state *s) {
    int status = 0;
    pid_t launcher = getpid();
    fflush(NULL);
    pid_t group = fork();
    if (group == 0) run_group(s, launcher);
    if (group < 0) return cli_fail("launch", "starting a process: %s", strerror(errno));
    for (;;) {
        pid_t ended = waitpid(group, &status, WNOHANG);
        if (ended == group || (ended < 0 && errno != EINTR)) break;
        pass_signals(s, group);
        if (!turn(s)) usleep(TURN_MS * 1000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The nodes clean up and close. */
static void part(nodes_lead_state *s, int code, const char *why) {
    double began = nodes_now();
    for (int k = 1; k < s->run->most; k++)
        if (s->nodes[k].link) nodes_link_send(s->nodes[k].link, NODES_OVER, (uint32_t)code, why, strlen(why));
    while (table_here(s) > 1 && nodes_now() - began < PARTING_S && turn(s)) continue;
}

int nodes_lead(const nodes_run *run_of) {
    nodes_lead_state s = {.run = run_of, .listener = -1, .agents_listener = -1};
    char mpirun[4096];
    if (!nodes_find_program("mpirun", mpirun, sizeof mpirun))
        return cli_fail("launch", "mpirun was not found in PATH: several hosts start their ranks by Open MPI (Debian: "
                                  "openmpi-bin)");
    nodes_take_signals();
    int code = listen_there(run_of, &s.listener);
    if (!code && (!table_init(&s) || !relay_open(&s)))
        code = cli_fail("launch", "the nodes' tables: %s", strerror(errno));
    if (!code) {
        cli_fprintf(stderr, "xtrain launch: node 0 (%s) waits for %d others at %s port %s\n", s.nodes[0].host,
                    run_of->most - 1, run_of->host, run_of->port);
        bool started = !(code = gather(&s));
        if (started) code = run(&s);
        part(&s, code, started ? "" : "not all nodes came in time; node 0 says which");
    }
    relay_close(&s);
    table_free(&s);
    if (s.listener >= 0) close(s.listener);
    return code;
}
