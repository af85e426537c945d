/* Node 0's table of nodes: who is there, who has been, who may come in. A connection is a guest until it has shown that
 * it knows the secret and said who it is; at most 64 are, each for ten seconds, and the oldest of them goes where more
 * come. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

enum { GUEST_S = 10, STRANGERS_TOLD = 10 };

bool table_init(nodes_lead_state *s) {
    s->nodes = calloc((size_t)s->run->most, sizeof *s->nodes);
    if (!s->nodes || !nodes_command_text(s->run->argv, &s->command)) return false;
    node *own = &s->nodes[0];
    own->came = true;
    own->slots = s->run->slots;
    gethostname(own->host, sizeof own->host - 1);
    snprintf(own->address, sizeof own->address, "%.63s", s->run->host);
    return true;
}

static void end_link(nodes_link **l) {
    if (!*l) return;
    nodes_link_end(*l);
    free(*l);
    *l = NULL;
}

void table_free(nodes_lead_state *s) {
    for (int i = 0; i < s->n_guests; i++) end_link(&s->guests[i].link);
    for (int k = 0; s->nodes && k < s->run->most; k++) end_link(&s->nodes[k].link);
    free(s->nodes);
    s->nodes = NULL;
    nodes_bytes_free(&s->command);
}

int table_here(const nodes_lead_state *s) {
    int n = 1;
    for (int k = 1; k < s->run->most; k++) n += s->nodes[k].link != NULL;
    return n;
}

/* --- guests --- */

static void leave(nodes_lead_state *s, int i) {
    end_link(&s->guests[i].link);
    s->guests[i] = s->guests[--s->n_guests];
}

static void tell_stranger(nodes_lead_state *s, const nodes_guest *g, const char *why) {
    if (s->strangers == STRANGERS_TOLD) return;
    s->strangers++;
    cli_fprintf(stderr, "xtrain launch: %s was refused: %s\n", g->address, why);
}

/* Guests are as many as may be: who has shown nothing for longest goes, since a node shows the secret within a moment.
 * So connections that say nothing, however many, keep no node out. */
static bool make_room(nodes_lead_state *s) {
    int oldest = -1;
    if (s->n_guests < (int)(sizeof s->guests / sizeof s->guests[0])) return true;
    for (int i = 0; i < s->n_guests; i++) {
        const nodes_link *l = s->guests[i].link;
        if (!l->opened && (oldest < 0 || l->began < s->guests[oldest].link->began)) oldest = i;
    }
    if (oldest < 0) return false;
    tell_stranger(s, &s->guests[oldest], "it has said nothing, and others wait");
    leave(s, oldest);
    return true;
}

void table_accept(nodes_lead_state *s) {
    struct sockaddr_storage from;
    socklen_t n = sizeof from;
    int fd = accept4(s->listener, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    nodes_guest g = {.link = malloc(sizeof *g.link)};
    if (!g.link || !make_room(s)) { /* it tries again */
        free(g.link);
        close(fd);
        return;
    }
    if (getnameinfo((struct sockaddr *)&from, n, g.address, sizeof g.address, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(g.address, sizeof g.address, "unknown");
    nodes_link_begin(g.link, fd, true, s->run->key);
    s->guests[s->n_guests++] = g;
}

static void refuse(nodes_lead_state *s, int i, bool taken, const char *why) {
    nodes_link *l = s->guests[i].link;
    nodes_link_send(l, NODES_REFUSED, taken, why, strlen(why));
    nodes_link_pump(l);
    leave(s, i);
}

static bool read_joiner(const nodes_frame *f, nodes_joiner *out) {
    const char **fields = &out->version, *p = f->body, *end = f->body + f->n;
    for (int i = 0; i < NODES_JOIN_FIELDS; i++) {
        size_t n = strnlen(p, (size_t)(end - p));
        if (p + n >= end) return false;
        fields[i] = p;
        p += n + 1;
    }
    return p == end;
}

/* A number that a node says of itself; -1: it is none that a launcher has. */
static int number_of(const char *text) {
    char *end;
    long n = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    return n >= 0 && !*end && n <= NODES_RANKS_MAX ? (int)n : -1;
}

/* What makes one run of several commands; false with a sentence. */
static bool agrees(const nodes_lead_state *s, const nodes_joiner *j, char *why, size_t room) {
    const nodes_run *run = s->run;
    int rank = number_of(j->rank), slots = number_of(j->slots);
    *why = 0;
    if (strcmp(j->version, xt_version()) != 0)
        snprintf(why, room, "it has xtrain %s, node 0 %s; all hosts need the same", j->version, xt_version());
    else if (number_of(j->least) != run->least || number_of(j->most) != run->most)
        snprintf(why, room, "it was started with --nnodes %s:%s, node 0 with %d:%d", j->least, j->most, run->least,
                 run->most);
    else if (rank < 1 || rank >= run->most)
        snprintf(why, room, "its --node-rank is %s; 1 to %d are expected", j->rank, run->most - 1);
    else if (slots < 0 || slots > NODES_RANKS_MAX || !slots != !s->nodes[0].slots)
        snprintf(why, room, "it has %s ranks and node 0 %d: -n, or --nproc-per-node, must be given to all or to none",
                 j->slots, s->nodes[0].slots);
    else if (s->fixed && slots != s->nodes[rank].slots)
        snprintf(why, room, "it has %s ranks, and the run goes on with %d on that node", j->slots,
                 s->nodes[rank].slots);
    else if (strcmp(j->command, s->command.p) != 0)
        snprintf(why, room, "it is to run '%.200s', node 0 '%.200s'; all hosts need the same command", j->command,
                 s->command.p);
    else if (strcmp(j->cwd, run->cwd) != 0)
        snprintf(why, room,
                 "it was started in %.200s, node 0 in %.200s; ranks run in a folder of the same name on all "
                 "hosts",
                 j->cwd, run->cwd);
    return !*why;
}

static void come_in(nodes_lead_state *s, int i, const nodes_joiner *j) {
    char why[700], text[800];
    bool good = agrees(s, j, why, sizeof why);
    int rank = number_of(j->rank);
    node *k = good ? &s->nodes[rank] : NULL;
    if (k && k->link) {
        snprintf(text, sizeof text, "node %d is %s (%s) already", rank, k->host, k->address);
        refuse(s, i, true, text);
        return;
    }
    if (!good) {
        cli_fprintf(stderr, "xtrain launch: node %s (%s, %s) is refused: %s\n", j->rank, j->host, s->guests[i].address,
                    why);
        snprintf(text, sizeof text, "node 0 (%s) refuses this node: %s", s->nodes[0].host, why);
        refuse(s, i, false, text);
        return;
    }
    k->link = s->guests[i].link;
    s->guests[i].link = NULL;
    snprintf(k->host, sizeof k->host, "%.79s", j->host);
    snprintf(k->address, sizeof k->address, "%s", s->guests[i].address);
    memset(k->signals, 0, sizeof k->signals);
    k->slots = number_of(j->slots);
    leave(s, i);
    nodes_link_send(k->link, NODES_WELCOME, 0, s->nodes[0].host, strlen(s->nodes[0].host));
    if (k->came) cli_fprintf(stderr, "xtrain launch: node %d (%s, %s) is back\n", rank, k->host, k->address);
    k->came = true;
}

void table_guest(nodes_lead_state *s, int i) {
    nodes_guest *g = &s->guests[i];
    nodes_frame f;
    nodes_joiner j;
    bool there = nodes_link_pump(g->link);
    if (nodes_link_take(g->link, &f)) {
        if (f.kind == NODES_JOIN && read_joiner(&f, &j))
            come_in(s, i, &j);
        else
            leave(s, i);
        free(f.body);
        return;
    }
    bool late = nodes_now() - g->link->began > GUEST_S;
    if (there && !late) return;
    if (g->link->bad_secret || late) tell_stranger(s, g, late ? "it has said nothing for 10 s" : g->link->why);
    leave(s, i);
}

/* --- nodes --- */

void table_lose(nodes_lead_state *s, int k, const char *why) {
    node *n = &s->nodes[k];
    snprintf(n->gone, sizeof n->gone, "%s", why);
    end_link(&n->link);
    relay_lost(s, k);
}

void table_node(nodes_lead_state *s, int k) {
    node *n = &s->nodes[k];
    nodes_frame f;
    bool there = nodes_link_pump(n->link);
    while (nodes_link_take(n->link, &f)) {
        if (f.kind == NODES_SAYS || f.kind == NODES_ENDED) relay_answer(s, k, &f);
        if (f.kind == NODES_SIGNAL && f.number < NSIG) n->signals[f.number]++;
        free(f.body);
    }
    if (!there || n->link->state == LINK_LOST) table_lose(s, k, n->link->why);
}

/* mpirun gets an address a node: it resolves nothing, and two nodes never have one name. Where a node's own is shared
 * with another (behind one address, or on one machine) it is one of the block that no host can have. */
void table_fix(nodes_lead_state *s) {
    struct in_addr any;
    s->fixed = true;
    for (int k = 0; k < s->run->most; k++) {
        node *n = &s->nodes[k];
        bool own = k == 0 || (n->came && inet_pton(AF_INET, n->address, &any) == 1 && strncmp(n->address, "127.", 4));
        for (int i = 0; i < s->run->most && own && k; i++) own = i == k || strcmp(s->nodes[i].address, n->address) != 0;
        if (own)
            snprintf(n->name, sizeof n->name, "%s", k ? n->address : "localhost");
        else
            snprintf(n->name, sizeof n->name, "240.0.%d.%d", k >> 8, k & 255);
        if (!n->came) n->slots = s->nodes[0].slots;
    }
}

void table_tell(const nodes_lead_state *s, bool missing, char *out, size_t room) {
    size_t at = 0;
    *out = 0;
    for (int k = 0; k < s->run->most && at + 64 < room; k++) {
        const node *n = &s->nodes[k];
        bool here = k == 0 || n->link;
        if (here == missing) continue;
        int wrote = snprintf(out + at, room - at, n->came ? "%snode %d (%s, %s)" : "%snode %d", at ? ", " : "", k,
                             n->host, n->address);
        at += (size_t)wrote < room - at ? (size_t)wrote : room - at - 1;
    }
    if (at + 64 >= room) snprintf(out + room - 8, 8, ", ...");
}
