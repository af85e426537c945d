/* Whether a process lives, by /proc/PID/stat, and by kill(PID, 0) where there is no /proc. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FIELD_STATE = 3, FIELD_PARENT = 4, FIELD_FLAGS = 9, FIELD_THREADS = 20, FIELD_TICKS = 22, FIELD_PENDING = 31 };
enum { LOOK_MS = 5 };
#define EXITING 0x4u /* the kernel's PF_EXITING */
#define KILLED (1u << (SIGKILL - 1)) /* a signal that waits for the thread to run */

static bool read_stat(int pid, char *out, size_t n) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t got;
    do got = read(fd, out, n - 1);
    while (got < 0 && errno == EINTR);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The name in field 2 may hold anything, so we count from its ')'. */
bool process_look(int pid, process_seen *out) {
    char text[1024];
    if (pid <= 0 || !read_stat(pid, text, sizeof text)) return false;
    char *p = strrchr(text, ')');
    if (!p || p[1] != ' ' || !p[2]) return false;
    *out = (process_seen){.state = p[2]};
    p++;
    for (int field = FIELD_STATE; field <= FIELD_PENDING; field++) {
        unsigned long long v = field == FIELD_STATE ? 0 : strtoull(p + 1, NULL, 10);
        if (field == FIELD_PARENT) out->parent = (int)v;
        if (field == FIELD_FLAGS) out->leaves = (v & EXITING) != 0;
        if (field == FIELD_PENDING) out->leaves = out->leaves || (v & KILLED) != 0;
        if (field == FIELD_THREADS) out->threads = (int)v;
        if (field == FIELD_TICKS) out->ticks = v;
        if (field < FIELD_PENDING && !(p = strchr(p + 1, ' '))) return false;
    }
    return true;
}

void process_host(char *out, size_t n) {
    if (gethostname(out, n) != 0) snprintf(out, n, "?");
    out[n - 1] = '\0'; /* a name that was cut need not be terminated */
}

/* The kernel's boot, and the namespace of processes. */
void process_domain(char *out, size_t n) {
    char boot[40] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, boot, sizeof boot - 1) : 0;
    if (fd >= 0) close(fd);
    boot[got > 0 ? got : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(out, n, "%s %llu", boot, (unsigned long long)process_space());
}

uint64_t process_ticks(int pid) {
    process_seen seen;
    return process_look(pid, &seen) ? seen.ticks : 0;
}

/* A process whose first thread has ended by pthread_exit looks like a zombie, but for its other threads. */
static bool is_dead(const process_seen *p) {
    return (p->state == 'Z' || p->state == 'X' || p->state == 'x') && p->threads <= 1;
}

bool process_alive(int pid, uint64_t ticks) {
    return process_stays_alive(pid, ticks, 0);
}

bool process_stays_alive(int pid, uint64_t ticks, int wait_ms) {
    process_seen p;
    if (pid <= 0) return false;
    for (int waited = 0; process_look(pid, &p); waited += LOOK_MS) {
        if (is_dead(&p) || (ticks && p.ticks && p.ticks != ticks)) return false;
        bool ends = p.leaves || p.state == 'Z';
        if (!ends || waited >= wait_ms) return true;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    return kill(pid, 0) == 0 || errno == EPERM; /* gone, or there is no /proc: then the pid alone has to do */
}

uint64_t process_space(void) {
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}
