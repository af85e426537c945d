/* The smaller of what the machine has available and what the memory cgroup leaves: a container sees the machine's
 * figure, and is killed at its own. */
#include "format/room.h"

#include <stdatomic.h>

static _Atomic uint64_t pretended;

void room_is(uint64_t bytes) {
    atomic_store(&pretended, bytes);
}

/* The number in a file of /sys that has nothing else; "max", or no file: UINT64_MAX. */
static uint64_t number_in(const char *path) {
    FILE *f = fopen(path, "re");
    unsigned long long n = 0;
    bool found = f && fscanf(f, "%llu", &n) == 1;
    if (f) fclose(f);
    return found ? n : UINT64_MAX;
}

static uint64_t left_in(const char *most, const char *used) {
    uint64_t limit = number_in(most), now = number_in(used);
    if (limit == UINT64_MAX || now == UINT64_MAX) return UINT64_MAX;
    return limit > now ? limit - now : 0;
}

static uint64_t available(void) {
    char line[128];
    unsigned long long kib = 0;
    bool found = false;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && !found && fgets(line, sizeof line, f)) found = sscanf(line, "MemAvailable: %llu", &kib) == 1;
    if (f) fclose(f);
    return found ? kib * 1024 : UINT64_MAX;
}

/* A cgroup counts cached files as used, which the kernel gives up first: its figure is no reason to refuse less than a
 * quarter of its limit. */
static uint64_t left_in_cgroup(void) {
    uint64_t limit = number_in("/sys/fs/cgroup/memory.max");
    uint64_t left = left_in("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
    return limit != UINT64_MAX && left < limit / 4 ? limit / 4 : left;
}

uint64_t room_at_hand(void) {
    uint64_t told = atomic_load(&pretended), machine = available(), group = left_in_cgroup();
    return told ? told : machine < group ? machine : group;
}

xt_status room_for(uint64_t bytes, const char *what, const char *path) {
    enum { SMALL = 64 << 20 }; /* not worth a look */
    if (bytes <= SMALL && !atomic_load(&pretended)) return NULL;
    uint64_t room = room_at_hand();
    if (bytes <= room) return NULL;
    return status_new(XT_RESOURCE_EXHAUSTED, NULL,
                      "%s: %s needs %.1f MiB of memory, and %.1f MiB are at hand; is the file meant?", path, what,
                      (double)bytes / 1048576, (double)room / 1048576);
}
