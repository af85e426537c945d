/* A connection between node 0 and another node.
 *  1. Both sides show that they know the secret before either believes anything: node 0 sends a random number, the
 * other answers with one of its own and HMAC(secret, "client", both), node 0 with HMAC(secret, "server", both). Of
 * whoever cannot do that, 64 bytes are read and nothing is answered but "no".
 *  2. From then on each message carries HMAC(key, its number, head, body) with a key for each direction that is made of
 *     the secret and both random numbers: nothing can be changed, left out, repeated or sent back. It can be read: no
 *     secrets travel.
 *  3. Nothing waits: what comes and goes is kept in buffers, and nodes_link_pump moves what can be moved. A peer whose
 *     machine is gone is noticed by the kernel's keep-alive within ten seconds. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

static const char greeting[] = "xtrain-nodes 1\n"; /* the protocol and its version */
enum { GREETING = sizeof greeting - 1, PROOF = NODES_NONCE + NODES_DIGEST, ANSWER = 1 + NODES_DIGEST };
typedef struct head {
    uint32_t n, kind, number; /* little-endian */
} head;

bool nodes_bytes_add(nodes_bytes *b, const void *p, size_t n) {
    if (b->n + n > b->room) {
        size_t room = (b->n + n) * 2 + 256;
        char *more = realloc(b->p, room);
        if (!more) return false;
        b->p = more;
        b->room = room;
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
    return true;
}

void nodes_bytes_drop(nodes_bytes *b, size_t n) {
    b->n -= n;
    if (b->n) memmove(b->p, b->p + n, b->n);
}

void nodes_bytes_free(nodes_bytes *b) {
    free(b->p);
    *b = (nodes_bytes){0};
}

static bool lose(nodes_link *l, const char *why) {
    if (l->state != LINK_LOST) snprintf(l->why, sizeof l->why, "%s", why);
    l->state = LINK_LOST;
    return false;
}

static void append(nodes_link *l, const void *p, size_t n) {
    if (l->state != LINK_LOST && !nodes_bytes_add(&l->out, p, n)) lose(l, "there is no memory for a message");
}

/* --- the secret --- */

static void mix(const nodes_link *l, const uint8_t *key, const char *what, uint8_t out[NODES_DIGEST]) {
    const nodes_piece pieces[] = {{what, strlen(what)}, {l->nonce[0], NODES_NONCE}, {l->nonce[1], NODES_NONCE}};
    nodes_hmac(key, pieces, 3, out);
}

static void open_link(nodes_link *l) {
    mix(l, l->key, "xtrain from node 0", l->seal[l->server ? 0 : 1]);
    mix(l, l->key, "xtrain to node 0", l->seal[l->server ? 1 : 0]);
    l->state = LINK_OPEN;
    l->opened = true;
}

static bool greet(nodes_link *l) { /* the client, who has node 0's number */
    uint8_t proof[NODES_DIGEST];
    if (l->in.n < GREETING + NODES_NONCE) return true;
    if (memcmp(l->in.p, greeting, GREETING) != 0)
        return lose(l, "what answers there is no launcher of this version of xtrain");
    memcpy(l->nonce[0], l->in.p + GREETING, NODES_NONCE);
    nodes_bytes_drop(&l->in, GREETING + NODES_NONCE);
    mix(l, l->key, "xtrain client", proof);
    append(l, l->nonce[1], NODES_NONCE);
    append(l, proof, sizeof proof);
    l->state = LINK_PROVING;
    return true;
}

static bool check_server(nodes_link *l) {
    uint8_t proof[NODES_DIGEST];
    l->bad_secret = l->in.n > 0 && l->in.p[0] != 1;
    if (l->bad_secret) return lose(l, "node 0 has another secret");
    if (l->in.n < ANSWER) return true;
    mix(l, l->key, "xtrain server", proof);
    l->bad_secret = !nodes_same(proof, (const uint8_t *)l->in.p + 1, sizeof proof);
    if (l->bad_secret) return lose(l, "what answers there does not know the secret");
    nodes_bytes_drop(&l->in, ANSWER);
    open_link(l);
    return true;
}

static bool check_client(nodes_link *l) {
    uint8_t proof[NODES_DIGEST], yes = 1;
    static const uint8_t no = 0;
    if (l->in.n < PROOF) return true;
    memcpy(l->nonce[1], l->in.p, NODES_NONCE);
    mix(l, l->key, "xtrain client", proof);
    if (!nodes_same(proof, (const uint8_t *)l->in.p + NODES_NONCE, sizeof proof)) {
        l->bad_secret = true;
        if (send(l->fd, &no, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return lose(l, "it does not know the secret");
        return lose(l, "it does not know the secret");
    }
    nodes_bytes_drop(&l->in, PROOF);
    mix(l, l->key, "xtrain server", proof);
    append(l, &yes, 1);
    append(l, proof, sizeof proof);
    open_link(l);
    return true;
}

bool nodes_link_begin(nodes_link *l, int fd, bool server, const uint8_t *key) {
    static const int on = 1, idle_s = 4, every_s = 2, times = 2, unheard_ms = 10000;
    *l = (nodes_link){.fd = fd, .server = server, .key = key, .began = nodes_now()};
    l->heard = l->began;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof unheard_ms);
    if (getrandom(l->nonce[server ? 0 : 1], NODES_NONCE, 0) != NODES_NONCE) return lose(l, "there is no randomness");
    if (server) {
        append(l, greeting, GREETING);
        append(l, l->nonce[0], NODES_NONCE);
    }
    return true;
}

void nodes_link_end(nodes_link *l) {
    if (l->fd >= 0) close(l->fd);
    nodes_bytes_free(&l->in);
    nodes_bytes_free(&l->out);
    l->fd = -1;
    l->state = LINK_LOST;
}

/* --- moving --- */

static bool advance(nodes_link *l) {
    if (l->state == LINK_GREETING) {
        if (!(l->server ? check_client(l) : greet(l))) return false;
    }
    return l->state != LINK_PROVING || check_server(l);
}

/* Before the secret is shown no more is read than that takes. */
static bool read_some(nodes_link *l) {
    char bytes[16384];
    for (;;) {
        size_t most = l->state == LINK_OPEN ? sizeof bytes : 128;
        ssize_t n = recv(l->fd, bytes, most, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (n == 0) return lose(l, "it has closed the connection");
        if (n < 0) return lose(l, strerror(errno));
        l->heard = nodes_now();
        if (!nodes_bytes_add(&l->in, bytes, (size_t)n)) return lose(l, "there is no memory for a message");
        if (!advance(l)) return false;
        if (l->in.n > NODES_BODY_MAX + 4096) return true; /* whole frames first */
    }
}

static bool write_some(nodes_link *l) {
    while (l->out.n) {
        ssize_t n = send(l->fd, l->out.p, l->out.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (n < 0) return lose(l, strerror(errno));
        nodes_bytes_drop(&l->out, (size_t)n);
    }
    return true;
}

bool nodes_link_pump(nodes_link *l) {
    if (l->state == LINK_LOST) return false;
    bool there = read_some(l);
    return there ? write_some(l) : false;
}

short nodes_link_wants(const nodes_link *l) {
    return (short)(POLLIN | (l->out.n ? POLLOUT : 0));
}

/* --- messages --- */

static void seal(nodes_link *l, int side, const head *h, const void *body, size_t n, uint8_t out[NODES_DIGEST]) {
    uint64_t number = htole64(l->count[side]++);
    const nodes_piece pieces[] = {{&number, sizeof number}, {h, sizeof *h}, {body, n}};
    nodes_hmac(l->seal[side], pieces, 3, out);
}

void nodes_link_send(nodes_link *l, nodes_kind kind, uint32_t number, const void *body, size_t n) {
    uint8_t mac[NODES_DIGEST];
    if (l->state != LINK_OPEN) return;
    if (n > NODES_BODY_MAX) n = NODES_BODY_MAX;
    head h = {htole32((uint32_t)n), htole32((uint32_t)kind), htole32(number)};
    seal(l, 0, &h, body, n, mac);
    append(l, &h, sizeof h);
    append(l, body, n);
    append(l, mac, sizeof mac);
    write_some(l);
}

bool nodes_link_take(nodes_link *l, nodes_frame *out) {
    head h;
    uint8_t mac[NODES_DIGEST];
    if (!l->opened || l->spoilt || l->in.n < sizeof h) return false; /* what came before a loss still counts */
    memcpy(&h, l->in.p, sizeof h);
    size_t n = le32toh(h.n), all = sizeof h + n + sizeof mac;
    l->spoilt = n > NODES_BODY_MAX;
    if (l->spoilt) return lose(l, "a message of it is larger than any that a launcher sends");
    if (l->in.n < all) return false;
    seal(l, 1, &h, l->in.p + sizeof h, n, mac);
    l->spoilt = !nodes_same(mac, (const uint8_t *)l->in.p + sizeof h + n, sizeof mac);
    if (l->spoilt) return lose(l, "a message of it was changed on its way");
    *out = (nodes_frame){.kind = (nodes_kind)le32toh(h.kind), .number = le32toh(h.number), .n = n};
    out->body = malloc(n + 1);
    if (!out->body) return lose(l, "there is no memory for a message");
    memcpy(out->body, l->in.p + sizeof h, n);
    out->body[n] = 0;
    nodes_bytes_drop(&l->in, all);
    return true;
}
