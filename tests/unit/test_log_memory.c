/* A first step that logs, in which the n-th allocation fails: it is an error that says so, with its line, or all is
 * well; never another reason, none at all, or a crash at the next step. Each n has a process of its own, as what was
 * made once (types, tables) stays for good. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <xtrain/xtrain.h>

#include "base/base.h"
#include "base/fault.h"

enum { UNMET = 10, WELL, TOLD, WRONG };
static char first[512];
static xt_code code;

static void note(xt_status s, void *user) {
    (void)user;
    if (first[0]) return;
    snprintf(first, sizeof first, "%s", xt_status_message(s));
    code = xt_status_code(s);
}

static bool log_step(xt_tensor x) {
    xt_tensor loss = xt_sum(xt_mul_scalar(x, 3));
    xt_log("loss", loss, .on_step = XT_ON, .on_epoch = XT_ON);
    xt_log("least", loss, .reduce = XT_MIN);
    xt_log("number", xt_full(2, XT_F32), .reduce = XT_LAST);
    return xt_mark_step();
}

static int one(int64_t n) {
    xt_on_error(note, NULL);
    xt_tensor x = xt_keep(xt_ones(XT_F32, 4));
    if (!xt_mark_step() || !xt_wait()) return WRONG;
    uint64_t before = base_failed_here().count;
    base_fail_alloc_after(n);
    bool ok = log_step(x);
    base_fail_alloc_after(-1);
    bool met = base_failed_here().count != before;
    ok = xt_wait() && ok;
    xt_clear_error();
    if (!log_step(x) || !xt_wait()) { /* the next one is well, whatever the first has met */
        fprintf(stderr, "allocation %lld: the step behind it fails: %s\n", (long long)n, first);
        return WRONG;
    }
    if (ok && !first[0]) return met ? WELL : UNMET;
    if (code == XT_RESOURCE_EXHAUSTED && strstr(first, "memory") && strstr(first, "bytes")) return TOLD;
    fprintf(stderr, "allocation %lld: %s\n", (long long)n, first);
    return WRONG;
}

static void each_failed_allocation_is_told(void **state) {
    (void)state;
    int told = 0, bad = 0, unmet = 0;
    for (int64_t n = 1; unmet < 3 && n < 5000; n += n < 120 ? 1 : 3) {
        int status;
        pid_t pid = fork();
        if (pid == 0) _exit(one(n));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        int how = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        if (how < UNMET || how == WRONG) fprintf(stderr, "allocation %lld: it ends with %d\n", (long long)n, how);
        told += how == TOLD;
        bad += how < UNMET || how == WRONG;
        unmet += how == UNMET; /* those of other threads count for the first number, not here */
    }
    assert_int_equal(bad, 0);
    assert_true(told > 50 && unmet >= 3);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_CACHE", "off", 1);
    setenv("XT_POSTMORTEM", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_failed_allocation_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
