/* xtrain __agent SOCKET HOST COMMAND...: what mpirun runs in place of ssh. It hands the command to the launcher that
 * waits at the socket, shows what comes back, and ends as the command did; the launcher gone, as where ssh has lost its
 * host. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

enum { LOST = 255 };

static bool send_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool read_all(int fd, void *to, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t k = recv(fd, (char *)to + at, n - at, 0);
        if (k <= 0) return false;
        at += (size_t)k;
    }
    return true;
}

/* The listener's owner is this user, or somebody has taken the name. */
static int reach(const char *name) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred who;
    socklen_t n = sizeof who;
    size_t length = strlen(name);
    if (length + 1 > sizeof at.sun_path) return -1;
    memcpy(at.sun_path + 1, name, length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ours =
        fd >= 0 &&
        connect(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
    if (!ours && fd >= 0) close(fd);
    return ours ? fd : -1;
}

static int run_agent(int argc, char **argv) {
    nodes_bytes command = {0};
    if (argc < 4) {
        cli_fprintf(stderr, "usage: xtrain __agent SOCKET HOST COMMAND (mpirun calls it)\n");
        return 2;
    }
    /* A signal to mpirun's children is meant for the ranks among them; this one lives as long as its order. */
    for (int i = 0; i < NODES_PASSED_ON; i++) signal(nodes_passed_on[i], SIG_IGN);
    int fd = reach(argv[1]);
    bool sent = fd >= 0 && nodes_bytes_add(&command, argv[2], strlen(argv[2]) + 1) &&
                nodes_command_text(argv + 3, &command) && send_all(fd, command.p, command.n);
    nodes_bytes_free(&command);
    if (!sent) return cli_fail("launch", "node 0's launcher cannot be reached any more"), LOST;
    for (agent_head h; read_all(fd, &h, sizeof h);) {
        char bytes[4096];
        if (h.kind == 'e') return (int)(h.n & 255);
        for (size_t k; h.n > 0; h.n -= (uint32_t)k) {
            k = h.n < sizeof bytes ? h.n : sizeof bytes;
            if (!read_all(fd, bytes, k)) return LOST;
            cli_text(stderr, bytes, k);
        }
    }
    return LOST;
}

const cli_command cli_agent = {"__agent", NULL, run_agent};
