/* Whether a process lives. A pid alone does not say: it stays with a process that is dead until somebody waits for it
 * (a zombie; an init that never does keeps it for ever), and is given to another one later. So who notes a process for
 * others, in a file's name, in shared memory, notes its start with it:
 *
 *     note(getpid(), process_ticks(getpid()));
 *     ... if (!process_alive(pid, ticks)) ... what it left is nobody's
 *
 * These allocate nothing and may be called from any thread and from handlers of signals. Processes of another machine,
 * or of another pid namespace, cannot be judged: whoever may share a file with those looks at process_space, or at a
 * lock. */
#ifndef XT_SRC_BASE_PROCESS_H
#define XT_SRC_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct process_seen {
    int parent, threads;
    char state; /* R, S, D, T, ..., Z and X: dead, as far as this thread, the first, goes */
    bool leaves; /* the first thread is on its way out: of a kill, or by pthread_exit, which the others outlive */
    uint64_t ticks; /* when it began, in clock ticks since the machine did */
} process_seen;

bool process_look(int pid, process_seen *out); /* false: there is none, or no /proc */
uint64_t process_ticks(int pid); /* 0: not known */
bool process_alive(int pid, uint64_t ticks); /* 0: not known, any process of that number is it */
/* As process_alive; one that is on its way out is waited for, that long at most. A killed process with much memory
 * takes its time, and holds its locks until then. */
bool process_stays_alive(int pid, uint64_t ticks, int wait_ms);
uint64_t process_space(void); /* the pid namespace that this process's numbers are of; 0: not known */
/* A text that is the same for two processes which see each other's numbers: of the kernel's boot and process_space. */
void process_domain(char *out, size_t n);
void process_host(char *out, size_t n); /* this host's name; "?" when it has none */

#endif
