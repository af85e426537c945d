/* Files that are being written under another name beside their place, for the signals that end a process: a table in
 * static memory, as a handler may read no other. While one is there, and nobody else has an idea of the signal, ours
 * removes it and lets the signal end the process as it would have. */
#include "base/unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 32, LONGEST = 1024, FREE = 0, FILLED, NAMED };
static struct {
    atomic_int state;
    pid_t owner; /* a child that was forked meanwhile leaves its parent's alone */
    bool folder;
    char name[LONGEST];
} table[MOST];
/* No lock, which a child might inherit: where two threads begin and end at once the handler may stand too long, which
 * changes nothing, or be missing, and the next writer of that file sweeps. */
static atomic_int named;
/* All that end a process and are no fault of its own code: what those leave is looked at. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGVTALRM, SIGUSR1, SIGUSR2, SIGXCPU};

/* A folder of files: by the system call, as opendir takes memory. */
static void remove_files(const char *name) {
    _Alignas(uint64_t) char entries[4096];
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    long n = 0;
    while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(entries + at);
            unlinkat(fd, e->d_name, 0); /* "." and ".." refuse */
            at += e->d_reclen;
        }
    if (fd >= 0) close(fd);
    rmdir(name);
}

void unfinished_remove(void) {
    int saved = errno;
    for (int i = 0; i < MOST; i++) {
        if (atomic_load(&table[i].state) != NAMED || table[i].owner != getpid()) continue;
        if (table[i].folder)
            remove_files(table[i].name);
        else
            unlink(table[i].name);
    }
    errno = saved;
}

static void on_signal(int sig) {
    struct sigaction now;
    /* Called by a handler that was put in our place later (a fit's): what happens next is its affair. */
    if (sigaction(sig, NULL, &now) == 0 && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != on_signal)) return;
    unfinished_remove();
    signal(sig, SIG_DFL);
    raise(sig);
}

bool unfinished_is_handler(void (*handler)(int)) {
    return handler == on_signal;
}

static void replace(int sig, void (*from)(int), void (*to)(int)) {
    struct sigaction now, act = {.sa_handler = to};
    sigemptyset(&act.sa_mask);
    if (sigaction(sig, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == from)
        sigaction(sig, &act, NULL);
}

static void watch(bool on) {
    for (size_t i = 0; i < BASE_COUNT(signals); i++)
        replace(signals[i], on ? SIG_DFL : on_signal, on ? on_signal : SIG_DFL);
}

int unfinished_add(const char *name, bool folder) {
    size_t n = strlen(name);
    int i = 0, expected = FREE;
    if (n >= LONGEST) return -1;
    while (i < MOST && !atomic_compare_exchange_strong(&table[i].state, &expected, FILLED)) i++, expected = FREE;
    if (i == MOST) return -1;
    memcpy(table[i].name, name, n + 1);
    table[i].owner = getpid();
    table[i].folder = folder;
    atomic_store(&table[i].state, NAMED);
    if (atomic_fetch_add(&named, 1) == 0) watch(true);
    return i;
}

void unfinished_drop(int i) {
    if (i < 0) return;
    atomic_store(&table[i].state, FREE);
    if (atomic_fetch_sub(&named, 1) == 1) watch(false);
}
