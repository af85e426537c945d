/* OpenMP's runtime binds the thread that loads it where OMP_PROC_BIND or OMP_PLACES say so: threads of the library may
 * use all processors all the same, there are as many of them, and so does a program that is run next. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpus.h"
#include <xtrain/xtrain.h>

static int processors(pid_t thread) {
    cpu_set_t set;
    return sched_getaffinity(thread, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

/* What a process has behind its first step: threads, and the least that one of them may use, besides the program's own,
 * which OpenMP binds where it is linked to the program. */
static int count(void) {
    xt_tensor x = xt_randn(XT_F32, 512, 512);
    xt_item(xt_sum(xt_matmul(x, x)));
    int threads = 0, least = cpus_count();
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        pid_t thread = (pid_t)atoi(e->d_name);
        int n = processors(thread);
        threads++;
        if (thread != getpid() && n > 0 && n < least) least = n;
    }
    if (d) closedir(d);
    printf("%d threads, %d processors at least, %d counted\n", threads, least, cpus_count());
    return xt_finish();
}

static void said_with(const char *name, const char *value, char *out, size_t room) {
    int fd[2], status;
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], STDOUT_FILENO);
        setenv(name, value, 1);
        execl("/proc/self/exe", "test_cpus", "count", (char *)NULL);
        _exit(99);
    }
    close(fd[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(fd[0], out + n, room - 1 - n)) > 0;) n += (size_t)got;
    out[n] = 0;
    close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void bound_by_openmp(void **state) {
    (void)state;
    char plain[256], bound[256], want[256];
    said_with("OMP_PROC_BIND", "false", plain, sizeof plain);
    const char *const values[] = {"true", "close", "spread"};
    for (int i = 0; i < 3; i++) {
        said_with("OMP_PROC_BIND", values[i], bound, sizeof bound);
        assert_string_equal(bound, plain);
    }
    said_with("OMP_PLACES", "cores", bound, sizeof bound);
    assert_string_equal(bound, plain);
    int threads = 0;
    assert_int_equal(sscanf(plain, "%d", &threads), 1);
    snprintf(want, sizeof want, "%d threads, %d processors at least, %d counted\n", threads, processors(0),
             processors(0));
    assert_string_equal(plain, want);
}

static void *waits(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return gate;
}
static void *leaves(void *unused) {
    pthread_exit(unused);
}

/* What those are for that have not ended, however they end; more than are noted by name are counted. */
static void told_while_at_work(void **state) {
    (void)state;
    enum { MANY = 300 };
    static pthread_t threads[MANY];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    assert_null(cpus_at_work());
    pthread_mutex_lock(&gate);
    assert_int_equal(cpus_start(&threads[0], "a thread that waits", waits, &gate), 0);
    assert_string_equal(cpus_at_work(), "a thread that waits");
    for (int i = 1; i < MANY; i++) assert_int_equal(cpus_start(&threads[i], "another", waits, &gate), 0);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < MANY; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &gate);
    }
    assert_null(cpus_at_work());
    assert_int_equal(cpus_start(&threads[0], "a thread that leaves", leaves, NULL), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_null(cpus_at_work());
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "count") == 0) return count();
    setenv("XT_SUMMARY", "off", 1);
    const char *const others[] = {"OMP_PLACES", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND"}; /* of the environments */
    for (int i = 0; i < 3; i++) unsetenv(others[i]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(bound_by_openmp), cmocka_unit_test(told_while_at_work)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
