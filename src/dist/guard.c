/* Whether this process may fork ranks. A fork copies one thread and all memory: an open device, other threads and an
 * initialised MPI would reach the ranks broken, which shows minutes later as a hang. So the fork is refused, with the
 * line that is in the way. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "dist/dist_int.h"
#include "lazy/lazy.h"

/* ThreadSanitizer has one or two of its own, without a name of theirs, which it starts anew in a forked process. */
static bool is_the_sanitizers(const char *name) {
    char *program = NULL;
    size_t size;
    if (!BUILT_WITH_TSAN) return false;
    xt_status st = file_read_all("/proc/self/comm", &program, &size);
    bool is = !st && strcspn(program, "\n") == strlen(name) && strncmp(program, name, strlen(name)) == 0;
    xt_status_free(st);
    base_free(program);
    return is;
}

/* Names of this process's other threads: "omp (3), xt-loader (1)" would be long; the first few distinct
 * ones say enough. */
static int other_threads(str *names) {
    DIR *dir = opendir("/proc/self/task");
    int n = 0, own = (int)syscall(SYS_gettid);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[300], *text = NULL;
        size_t size;
        if (e->d_name[0] == '.' || atoi(e->d_name) == own) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        xt_status st = file_read_all(path, &text, &size);
        if (!st) text[strcspn(text, "\n")] = 0;
        if (st || !is_the_sanitizers(text)) {
            n++;
            if (!st && (!names->len || (names->len < 80 && !strstr(str_cstr(names), text))))
                str_printf(names, "%s%s", names->len ? ", " : "", text);
        }
        xt_status_free(st);
        base_free(text);
    }
    if (dir) closedir(dir);
    return n;
}

/* Asked through the program's own symbols: nothing is loaded for the question. */
static bool mpi_is_up(void) {
    int (*initialized)(int *) = NULL, (*finalized)(int *) = NULL, up = 0, down = 0;
    *(void **)&initialized = dlsym(RTLD_DEFAULT, "MPI_Initialized");
    *(void **)&finalized = dlsym(RTLD_DEFAULT, "MPI_Finalized");
    if (!initialized || !finalized) return false;
    initialized(&up);
    finalized(&down);
    return up && !down;
}

static void find_obstacle(str *out) {
    src_id where = 0;
    char line[512];
    if (lazy_device_is_open(&where)) {
        str_append(out, "its device is open");
        if (where) str_printf(out, " since %s", src_text(where, line, sizeof line));
        return;
    }
    if (mpi_is_up()) {
        str_append(out, "MPI_Init was called in it, which a fork breaks");
        return;
    }
    str names = STR_INIT;
    int n = other_threads(&names);
    if (n > 0)
        str_printf(out, "it has %d other thread%s (%s): a loader, a thread team or another library's", n,
                   n == 1 ? "" : "s", str_cstr(&names));
    str_free(&names);
}

xt_status guard_fork(const xt_src *src, int n, xt_rank_fn fn) {
    str obstacle = STR_INIT;
    find_obstacle(&obstacle);
    if (!obstacle.len) return NULL;
    char *advice = symbol_advice(fn);
    xt_status st = status_new(XT_FAILED_PRECONDITION, src,
                              "%d ranks cannot be forked from this process: %s. Call xt_launch before the first "
                              "tensor, loader or thread, or start fresh "
                              "processes%s",
                              n, str_cstr(&obstacle), advice ? advice : "");
    base_free(advice);
    str_free(&obstacle);
    return st;
}
