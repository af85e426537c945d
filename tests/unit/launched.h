/* For tests of xt_launch: a launch in a process of its own (also of one rank, for a process with an open device starts
 * none), which can leave nothing behind in the test's. */
#ifndef XT_TESTS_LAUNCHED_H
#define XT_TESTS_LAUNCHED_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xtrain/xtrain.h>

/* What the launch of n ranks returned, or 1000 + signal. The variable that gives the count stays set. */
static inline int launched(int n, xt_rank_fn fn, void *arg) {
    char count[16];
    snprintf(count, sizeof count, "%d", n);
    setenv("CPU_NUM_DEVICES", count, 1);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(xt_launch(fn, arg));
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#endif
