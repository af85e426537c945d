/* What the recipes of doc/porting.md share: numbers that are compared, and the programs that were compiled for them. */
#ifndef PORTING_CHECK_H
#define PORTING_CHECK_H

#include <math.h>
#include <stdio.h>
#include <xtrain/xtrain.h>

static int faults;

static inline void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "yes" : "NO");
    faults += !ok;
}

/* The largest difference; two that are not numbers never agree. */
static inline void check_close(const char *what, const float *got, const float *want, size_t n, double most) {
    double far = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= far)) far = fabs((double)got[i] - want[i]);
    printf("%s: differ by %g at most\n", what, far);
    faults += !(far <= most);
}

/* Compiled or taken from the cache on disk. */
static inline int64_t programs(void) {
    return xt_counter("compiles") + xt_counter("disk_hits");
}

static inline void check_programs(const char *what, int64_t got, int64_t want) {
    printf("%s: %lld program%s\n", what, (long long)got, got == 1 ? "" : "s");
    faults += got != want;
}

#endif
