/* A process that may have few addresses (ulimit -v): however far it comes, it ends with a sentence and an exit code,
 * never by a signal. Each child has a little more than the one before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitizers.h"
#include <xtrain/xtrain.h>

enum { STEP = 6, MOST = 186 }; /* MiB */

static long addresses(void) { /* bytes that this process has mapped */
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static int train(void) {
    xt_tensor x = xt_randn(XT_F32, 2, 8, 24, 24), w = xt_randn(XT_F32, 16, 8, 3, 3);
    xt_tensor y = xt_conv2d_fn(x, w, (xt_tensor){0}, .stride = 2), a = xt_cast(xt_randn(XT_F32, 64, 96), XT_BF16);
    xt_tensor z = xt_matmul(a, xt_cast(xt_randn(XT_F32, 96, 64), XT_BF16));
    float v = xt_item(xt_add(xt_sum(y), xt_sum(xt_cast(z, XT_F32))));
    return xt_error() || v != v ? 1 : 0;
}

/* The exit status of a child that may have `mib` more than it has. */
static int child(int mib, char *said, size_t room) {
    int out[2], status;
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        rlim_t most = (rlim_t)addresses() + ((rlim_t)mib << 20);
        dup2(out[1], 2);
        if (setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) != 0) _exit(99);
        exit(train());
    }
    close(out[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(out[0], said + n, room - 1 - n)) > 0;) n += (size_t)got;
    said[n] = 0;
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void ends_with_a_sentence(void **state) {
    (void)state;
    static char said[1 << 16];
    int failed = 0, good = 0;
    if (BUILT_WITH_ASAN || BUILT_WITH_TSAN) skip(); /* the sanitizer maps terabytes */
    for (int mib = 0; mib <= MOST && good < 2; mib += STEP) {
        int status = child(mib, said, sizeof said);
        if (WIFSIGNALED(status)) fail_msg("%d MiB: signal %d: %s", mib, WTERMSIG(status), said);
        if (WEXITSTATUS(status) && !strstr(said, "test_few_addresses.c:"))
            fail_msg("%d MiB: exit %d without a sentence: %s", mib, WEXITSTATUS(status), said);
        if (WEXITSTATUS(status))
            failed++;
        else
            good++;
    }
    assert_true(failed > 3);
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_POSTMORTEM", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_with_a_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
