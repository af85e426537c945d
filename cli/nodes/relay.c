/* What mpirun wants to run on a node: its agents (agent.c) come to a socket of this launcher's, say the node and the
 * command, and get back what the command says and how it ended. Only processes of this user are listened to. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

enum { QUEUE = 4096, ASKED_MAX = 65536, NO_SUCH_HOST = 255 }; /* 255: as ssh, where the host cannot be reached */

/* An abstract name: it is in no folder, so nothing of it is left behind. */
bool relay_open(nodes_lead_state *s) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    uint64_t any;
    if (getrandom(&any, sizeof any, 0) != sizeof any) return false;
    int n = snprintf(s->agents_name, sizeof s->agents_name, "xtrain-nodes-%d-%016llx", (int)getpid(),
                     (unsigned long long)any);
    memcpy(at.sun_path + 1, s->agents_name, (size_t)n);
    s->agents_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return s->agents_listener >= 0 && bind(s->agents_listener, (struct sockaddr *)&at, length) == 0 &&
           listen(s->agents_listener, QUEUE) == 0;
}

void relay_accept(nodes_lead_state *s) {
    struct ucred who;
    socklen_t n = sizeof who;
    int fd = accept4(s->agents_listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    bool ours = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
    if (ours && s->n_agents == s->agents_room) {
        size_t room = s->agents_room * 2 + 64;
        nodes_agent *more = realloc(s->agents, room * sizeof *more);
        ours = more != NULL;
        if (more) {
            s->agents = more;
            s->agents_room = room;
        }
    }
    if (!ours) {
        close(fd);
        return;
    }
    s->agents[s->n_agents++] = (nodes_agent){.fd = fd, .node = -1};
}

static void tell(nodes_agent *a, char kind, const char *bytes, size_t n) {
    agent_head h = {(uint32_t)kind, (uint32_t)n};
    if (!nodes_bytes_add(&a->out, &h, sizeof h) || !nodes_bytes_add(&a->out, bytes, n)) a->over = true;
}

static void end(nodes_agent *a, uint32_t code) {
    agent_head h = {'e', code};
    if (a->over || !nodes_bytes_add(&a->out, &h, sizeof h)) return;
    a->over = true;
}

static void unreachable(nodes_lead_state *s, nodes_agent *a) {
    char text[600];
    const node *n = &s->nodes[a->node];
    if (!n->came)
        snprintf(text, sizeof text, "node %d has not come to %s port %s\n", a->node, s->run->host, s->run->port);
    else
        snprintf(text, sizeof text, "node %d (%s) has gone: %s\n", a->node, n->host, n->gone);
    tell(a, 's', text, strlen(text));
    end(a, NO_SUCH_HOST);
}

/* "name\0command\0" and the end of what it says. */
static void take_order(nodes_lead_state *s, nodes_agent *a) {
    const char *name = a->in.p;
    size_t n = a->in.n ? strnlen(name, a->in.n) : 0;
    if (n + 2 > a->in.n || name[a->in.n - 1] != 0) return;
    a->asked = true;
    for (int k = 1; k < s->run->most; k++)
        if (strcmp(s->nodes[k].name, name) == 0) a->node = k;
    if (a->node < 0) {
        static const char none[] = "the run has no node of that name\n";
        tell(a, 's', none, sizeof none - 1);
        end(a, NO_SUCH_HOST);
        return;
    }
    if (!s->nodes[a->node].link) {
        unreachable(s, a);
        return;
    }
    a->number = ++s->orders;
    nodes_link_send(s->nodes[a->node].link, NODES_ORDER, a->number, name + n + 1, a->in.n - n - 2);
}

void relay_agent(nodes_lead_state *s, size_t i, short events) {
    nodes_agent *a = &s->agents[i];
    char bytes[8192];
    if (events & (POLLIN | POLLHUP | POLLERR)) {
        ssize_t n = recv(a->fd, bytes, sizeof bytes, 0);
        if (n > 0 && !a->asked && a->in.n + (size_t)n <= ASKED_MAX && nodes_bytes_add(&a->in, bytes, (size_t)n))
            take_order(s, a);
        bool gone = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
        if (gone || a->in.n > ASKED_MAX) {
            a->over = true; /* nobody is there to be told */
            a->out.n = 0;
        }
    }
}

/* Each agent by its order: what it was sent, and those that are over. */
void relay_sweep(nodes_lead_state *s) {
    for (size_t i = 0; i < s->n_agents;) {
        nodes_agent *a = &s->agents[i];
        while (a->out.n) {
            ssize_t n = send(a->fd, a->out.p, a->out.n, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) break;
            if (n < 0) {
                a->over = true;
                a->out.n = 0;
                break;
            }
            nodes_bytes_drop(&a->out, (size_t)n);
        }
        if (!a->over || a->out.n) {
            i++;
            continue;
        }
        close(a->fd);
        nodes_bytes_free(&a->in);
        nodes_bytes_free(&a->out);
        s->agents[i] = s->agents[--s->n_agents];
    }
}

void relay_answer(nodes_lead_state *s, int k, const nodes_frame *f) {
    for (size_t i = 0; i < s->n_agents; i++) {
        nodes_agent *a = &s->agents[i];
        if (a->node != k || a->number != f->number || !a->asked || a->over) continue;
        if (f->kind == NODES_SAYS)
            tell(a, 's', f->body, f->n);
        else
            end(a, (uint32_t)atoi(f->body));
    }
}

void relay_lost(nodes_lead_state *s, int k) {
    for (size_t i = 0; i < s->n_agents; i++)
        if (s->agents[i].node == k && s->agents[i].asked && !s->agents[i].over) unreachable(s, &s->agents[i]);
}

void relay_close(nodes_lead_state *s) {
    for (size_t i = 0; i < s->n_agents; i++) {
        close(s->agents[i].fd);
        nodes_bytes_free(&s->agents[i].in);
        nodes_bytes_free(&s->agents[i].out);
    }
    free(s->agents);
    s->agents = NULL;
    s->n_agents = s->agents_room = 0;
    if (s->agents_listener >= 0) close(s->agents_listener);
    s->agents_listener = -1;
}
