/* What node 0 and the others share, and which of them this is. */
#include "cli/nodes/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/nodes/nodes_int.h"

double nodes_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool nodes_find_program(const char *name, char *out, size_t room) {
    const char *dirs = strchr(name, '/') ? NULL : getenv("PATH");
    snprintf(out, room, "%s", name);
    if (strchr(name, '/')) return access(name, X_OK) == 0;
    for (size_t n; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        if (n && snprintf(out, room, "%.*s/%s", (int)n, dirs, name) < (int)room && access(out, X_OK) == 0) return true;
    }
    return false;
}

const int nodes_passed_on[NODES_PASSED_ON] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
volatile sig_atomic_t nodes_signals[NSIG];

static void note_signal(int sig) {
    nodes_signals[sig]++;
}

void nodes_take_signals(void) {
    struct sigaction act = {.sa_handler = note_signal};
    for (int i = 0; i < NODES_PASSED_ON; i++) {
        struct sigaction old;
        sigaction(nodes_passed_on[i], NULL, &old);
        bool kept = nodes_passed_on[i] == SIGHUP && old.sa_handler == SIG_IGN; /* nohup */
        if (!kept) sigaction(nodes_passed_on[i], &act, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* who stops reading (| head) ends no run */
}

void nodes_default_signals(void) {
    for (int i = 0; i < NODES_PASSED_ON; i++) {
        struct sigaction now;
        sigaction(nodes_passed_on[i], NULL, &now);
        if (now.sa_handler == note_signal) signal(nodes_passed_on[i], SIG_DFL);
    }
    signal(SIGPIPE, SIG_DFL);
}

bool nodes_command_text(char *const *argv, nodes_bytes *out) {
    for (int i = 0; argv[i]; i++)
        if ((i && !nodes_bytes_add(out, " ", 1)) || !nodes_bytes_add(out, argv[i], strlen(argv[i]))) return false;
    return nodes_bytes_add(out, "", 1);
}

int nodes_launch(const nodes_opts *o, char **argv) {
    nodes_run run;
    char program[4096];
    if (getenv("XT_RANK") || getenv("OMPI_COMM_WORLD_RANK")) /* a rank starts no more */
        return xt_launch_program(0, argv, NULL, 0);
    nodes_forget_schedulers();
    int code = nodes_settle(o, argv, &run);
    if (code) return code;
    if (run.most == 1) return xt_launch_program(o->n ? o->n : run.slots, argv, NULL, o->max_restarts);
    if (!nodes_find_program(argv[0], program, sizeof program))
        return cli_fail("launch", "running '%s': %s", argv[0],
                        strchr(argv[0], '/') ? strerror(errno) : "it was not found in PATH");
    return run.rank == 0 ? nodes_lead(&run) : nodes_join(&run);
}
