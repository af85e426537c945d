/* Time limits of tests are for a quiet machine. patience(limit) stretches one by how much slower processes start and
 * wake up right now. */
#ifndef XT_TESTS_PATIENCE_H
#define XT_TESTS_PATIENCE_H

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline double monotonic_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Children that sleep a millisecond one after the other; 40 ms in all on two quiet cores, sanitizers included. */
static inline double patience(double limit) {
    enum { CHILDREN = 20 };
    double began = monotonic_now(), quiet = 0.04;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            usleep(1000);
            _exit(0);
        }
        if (pid > 0) waitpid(pid, NULL, 0);
    }
    double slower = (monotonic_now() - began) / quiet;
    return limit * (slower > 1 ? slower : 1);
}

#endif
