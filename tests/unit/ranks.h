/* For tests with several ranks: forks them, gives each its rank, waits with a limit, and gives back the exit codes. A
 * rank reports a failed check by its exit code, since cmocka's own jumps must not leave a child. */
#ifndef XT_TESTS_RANKS_H
#define XT_TESTS_RANKS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/coll.h"

#define RANK_CHECK(cond)                                                                    \
    do {                                                                                    \
        if (!(cond)) {                                                                      \
            fprintf(stderr, "rank check failed at %s:%d: %s\n", __FILE__, __LINE__, #cond); \
            _exit(99);                                                                      \
        }                                                                                   \
    } while (0)
#define RANK_OK(expr)                                                                        \
    do {                                                                                     \
        xt_status rank_st_ = (expr);                                                         \
        if (rank_st_) {                                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, xt_status_message(rank_st_)); \
            _exit(98);                                                                       \
        }                                                                                    \
    } while (0)

typedef void (*rank_body)(const char *name, int rank, int size, void *arg);

static inline pid_t start_rank(const char *name, int rank, int size, rank_body body, void *arg) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(240);
        body(name, rank, size, arg);
        _exit(0);
    }
    return pid;
}

/* Runs `size` ranks of body over a group named by coll_create; codes[r] is the exit code or 1000 + signal. */
static inline void run_ranks(int size, rank_body body, void *arg, int *codes) {
    char *name = NULL;
    pid_t pids[64];
    xt_status st = coll_create(size, &name);
    if (st) {
        fprintf(stderr, "%s\n", xt_status_message(st));
        exit(97);
    }
    for (int r = 0; r < size; r++) pids[r] = start_rank(name, r, size, body, arg);
    for (int r = 0; r < size; r++) {
        int status = 0;
        waitpid(pids[r], &status, 0);
        codes[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    coll_destroy(name);
    base_free(name);
}

#endif
