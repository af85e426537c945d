/* The engine's clock and its time limits: the real one, as ranks are other processes. */
#include "coll/core/group.h"

int64_t coll_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double coll_default_timeout(void) {
    int64_t seconds;
    return env_int("XT_TIMEOUT", 1, &seconds) ? (double)seconds : 300.0;
}

int64_t coll_deadline(double seconds) {
    if (!(seconds > 0)) seconds = coll_default_timeout();
    if (seconds > 1e9) seconds = 1e9; /* 30 years: INFINITY means no limit */
    return coll_now() + (int64_t)(seconds * 1e9);
}
