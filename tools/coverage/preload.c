/* Preloaded while coverage is measured. Counters are written by exit handlers, so a process that ends by _exit (a
 * forked rank does) or becomes another program by exec would leave nothing: here it writes those of all its libraries
 * first. What ends by a signal is still not counted. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MODULES = 256 };
static void (*dumps[MODULES])(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void replace(void (*from)(void), void (*to)(void)) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MODULES; i++)
        if (dumps[i] == from) {
            dumps[i] = to;
            break;
        }
    pthread_mutex_unlock(&lock);
}

void coverage_offer(void (*dump)(void)) {
    replace(NULL, dump);
}

void coverage_withdraw(void (*dump)(void)) {
    replace(dump, NULL);
}

/* Without the lock: another thread may have held it at the fork. */
static void dump_all(void) {
    for (int i = 0; i < MODULES; i++)
        if (dumps[i]) dumps[i]();
}

void _exit(int code) {
    dump_all();
    for (;;) syscall(SYS_exit_group, code);
}

void _Exit(int code) {
    _exit(code);
}

typedef int (*exec_fn)(const char *, char *const *);
typedef int (*exec_env_fn)(const char *, char *const *, char *const *);

int execv(const char *path, char *const *argv) {
    dump_all();
    return ((exec_fn)dlsym(RTLD_NEXT, "execv"))(path, argv);
}

int execvp(const char *file, char *const *argv) {
    dump_all();
    return ((exec_fn)dlsym(RTLD_NEXT, "execvp"))(file, argv);
}

int execve(const char *path, char *const *argv, char *const *env) {
    dump_all();
    return ((exec_env_fn)dlsym(RTLD_NEXT, "execve"))(path, argv, env);
}
