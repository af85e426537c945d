/* See memory_limit.h. Advice to raise a limit that was not met would send the user the wrong way. */
#include "lazy/core/memory_limit.h"

#include <stdio.h>
#include <sys/resource.h>

/* 0: there is none. */
static double group_limit(void) {
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
    unsigned long long n = 0;
    bool found = f && fscanf(f, "%llu", &n) == 1; /* "max" is no number */
    if (f) fclose(f);
    return found ? (double)n : 0;
}

void lazy_append_memory_limit(str *out, const char *text) {
    struct rlimit addresses;
    double group = group_limit(), mib = 1 << 20;
    if (strstr(text, "XT_MEMORY_LIMIT"))
        str_append(out, "a larger XT_MEMORY_LIMIT");
    else if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
        str_printf(out, "a higher ulimit -v, which allows this process %.0f MiB of addresses",
                   (double)addresses.rlim_cur / mib);
    else if (group > 0)
        str_printf(out, "more memory for this container or job, whose limit (memory.max) is %.0f MiB", group / mib);
    else
        str_append(out, "a device or machine with more memory");
}
