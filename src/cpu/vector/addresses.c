#include "cpu/vector/addresses.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

bool addresses_are_free(size_t bytes) {
    struct rlimit most;
    if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return true;
    mallopt(M_ARENA_MAX, 1); /* else each thread's first allocation reserves 128 MiB, if only for a moment */
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    munmap(p, bytes);
    return true;
}
