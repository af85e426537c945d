/* Fuzz target of what the launchers of several hosts say to each other: the first byte picks it, the rest is
 *  0: an order to a node. What is obeyed has no word that a shell would read as more, and no folder but a run's.
 *  1: what guests of node 0 send who know nothing. None comes in.
 *  2: frames of a node that knows the secret: of each a byte for its kind, one for its number, two for its size, the
 *     body. It comes in by a right introduction or not at all.
 *  3: what a node gets from whoever listens at node 0's place. It is not let in. */
#include <sys/socket.h>

#include <xtrain/xtrain.h>

#define CLI_WRITES
#include "cli/nodes/nodes_int.h"
#include "fuzz.h"

static const uint8_t key[NODES_DIGEST] = {1, 2, 3};

double nodes_now(void) {
    return 0;
}

bool nodes_command_text(char *const *argv, nodes_bytes *out) {
    return nodes_bytes_add(out, argv[0], strlen(argv[0]) + 1);
}

void cli_fprintf(FILE *to, const char *format, ...) { /* what node 0 says of strangers */
    (void)to, (void)format;
}

static void order(const char *text, size_t n) {
    nodes_order o;
    char why[300] = "";
    if (!nodes_order_read(text, n, &o, why, sizeof why)) {
        if (!*why) abort(); /* not without a word */
        return;
    }
    const char *tail = o.kind == ORDER_DAEMON ? strrchr(o.argv[0], '/') : NULL;
    if (o.kind == ORDER_DAEMON && strcmp(tail ? tail + 1 : o.argv[0], "orted") != 0) abort();
    for (int i = 0; o.kind == ORDER_DAEMON && o.argv[i]; i++)
        if (strpbrk(o.argv[i], "$`\\\n\"")) abort();
    if (o.kind != ORDER_DAEMON && (strstr(o.folder, "..") || strncmp(strrchr(o.folder, '/'), "/xtrain-run-", 12) != 0))
        abort();
    free(o.text);
}

static int connected(nodes_lead_state *s) {
    int fds[2];
    nodes_guest g = {.link = malloc(sizeof *g.link)};
    if (!g.link || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0) abort();
    nodes_link_begin(g.link, fds[0], true, key);
    s->guests[s->n_guests++] = g;
    return fds[1];
}

static void turns(nodes_lead_state *s) {
    for (int turn = 0; turn < 4; turn++) {
        for (int k = 1; k < s->run->most; k++)
            if (s->nodes[k].link) table_node(s, k);
        for (int i = s->n_guests - 1; i >= 0; i--) table_guest(s, i);
    }
}

static void strangers(nodes_lead_state *s, const uint8_t *data, size_t n) {
    int fd = connected(s);
    for (size_t at = 0; at < n; at += 97) { /* in pieces, between which node 0 looks at them */
        if (send(fd, data + at, n - at < 97 ? n - at : 97, MSG_NOSIGNAL) < 0) break;
        turns(s);
    }
    close(fd);
    turns(s);
    if (table_here(s) != 1 || s->n_guests) abort();
}

static void member(nodes_lead_state *s, const uint8_t *data, size_t n) {
    nodes_link l;
    nodes_frame f;
    nodes_link_begin(&l, connected(s), false, key);
    for (int turn = 0; turn < 4; turn++) {
        nodes_link_pump(&l);
        turns(s);
    }
    if (!l.opened) abort();
    for (size_t size; n >= 4; data += 4 + size, n -= 4 + size) {
        size = data[2] | (size_t)data[3] << 8;
        if (size > n - 4) size = n - 4;
        nodes_link_send(&l, (nodes_kind)data[0], data[1] | (uint32_t)(data[1] & 0x80) << 24, data + 4, size);
        turns(s);
        nodes_link_pump(&l);
        while (nodes_link_take(&l, &f)) free(f.body);
    }
    for (int k = 1; k < s->run->most; k++) /* whatever it says of itself, as a node it has what nodes have */
        if (s->nodes[k].link && (s->nodes[k].slots < 1 || s->nodes[k].slots > NODES_RANKS_MAX)) abort();
    nodes_link_end(&l);
    turns(s);
    if (table_here(s) != 1 || s->n_guests) abort();
}

static void leader(const uint8_t *data, size_t n) {
    int fds[2];
    nodes_link l;
    nodes_frame f;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0) abort();
    nodes_link_begin(&l, fds[0], false, key);
    for (size_t at = 0; at < n; at += 97) {
        if (send(fds[1], data + at, n - at < 97 ? n - at : 97, MSG_NOSIGNAL) < 0) break;
        nodes_link_pump(&l);
        if (nodes_link_take(&l, &f) || l.opened) abort();
    }
    nodes_link_end(&l);
    close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static char *argv[] = {"true", NULL};
    if (n == 0) return 0;
    nodes_run run = {.least = 3, .most = 3, .slots = 1, .argv = argv, .cwd = "/"};
    memcpy(run.key, key, sizeof key);
    nodes_lead_state s = {.run = &run, .listener = -1, .agents_listener = -1};
    if (!table_init(&s)) abort();
    switch (data[0] % 4) {
    case 0: order((const char *)data + 1, n - 1); break;
    case 1: strangers(&s, data + 1, n - 1); break;
    case 2: member(&s, data + 1, n - 1); break;
    case 3: leader(data + 1, n - 1); break;
    }
    relay_close(&s);
    table_free(&s);
    return 0;
}
