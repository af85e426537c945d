/* src/base/process.c: who lives, with real processes that are dead, dying, stopped, or have another's number. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/sanitizers.h"

#include "base/base.h"
#include "base/process.h"

static pid_t child(void (*life)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        life();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}
static void ends(void) {}
static void waits(void) {
    for (;;) pause();
}

static void wait_for_state(pid_t pid, char state) {
    process_seen seen = {0};
    for (int i = 0; i < 5000 && seen.state != state; i++) {
        assert_true(process_look(pid, &seen));
        if (seen.state != state) usleep(1000);
    }
    assert_int_equal(seen.state, state);
}

static void reap(pid_t pid) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void this_process_lives(void **state) {
    (void)state;
    process_seen seen;
    uint64_t ticks = process_ticks(getpid());
    assert_true(ticks > 0);
    assert_true(process_alive(getpid(), ticks) && process_alive(getpid(), 0));
    assert_true(process_look(getpid(), &seen));
    assert_int_equal(seen.parent, getppid());
    assert_true(seen.threads >= 1 && !seen.leaves && seen.state == 'R' && seen.ticks == ticks);
    assert_true(process_alive(1, 0)); /* another user's, where this is no container */
    assert_false(process_alive(0, 0) || process_alive(-1, 0) || process_look(-1, &seen));
    assert_int_equal(process_ticks(-5), 0);
    assert_true(process_space() != 0);
}

static void a_zombie_is_dead(void **state) {
    (void)state;
    pid_t pid = child(ends);
    wait_for_state(pid, 'Z');
    assert_int_equal(kill(pid, 0), 0); /* its number is taken still */
    assert_false(process_alive(pid, 0));
    assert_false(process_alive(pid, process_ticks(pid)));
    reap(pid);
    assert_false(process_alive(pid, 0));
}

static void one_that_is_stopped_lives(void **state) {
    (void)state;
    pid_t pid = child(waits);
    kill(pid, SIGSTOP);
    wait_for_state(pid, 'T');
    assert_true(process_alive(pid, process_ticks(pid)));
    reap(pid);
    assert_false(process_alive(pid, 0));
}

/* The number is a living process's, which began later than the one that was noted. The kernel gives a number out again
 * when it is asked to, or when it has come round; the name of the process may hold anything. */
static void a_number_that_was_given_out_again_is_not_the_old_process(void **state) {
    (void)state;
    pid_t old = child(waits);
    uint64_t ticks = process_ticks(old);
    reap(old);
    usleep(30000); /* some clock ticks */
    pid_t pid = old;
    char text[32];
    int fd = open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 100; i++) {
        int n = snprintf(text, sizeof text, "%d", (int)old - 1);
        if (pwrite(fd, text, (size_t)n, 0) != n) break;
        if ((pid = child(waits)) == old) break;
        reap(pid);
        pid = 0;
    }
    if (fd >= 0) close(fd);
    if (fd < 0 || pid != old ||
        !process_alive(pid, 0)) { /* not permitted: any other process, with the old one's start */
        pid = child(waits);
        assert_true(process_ticks(pid) != ticks);
    }
    assert_true(process_alive(pid, 0));
    assert_false(process_alive(pid, ticks));
    assert_true(process_alive(pid, process_ticks(pid)));
    reap(pid);
}

static void *sleeps_on(void *user) {
    (void)user;
    waits();
    return NULL;
}
static void first_thread_ends(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, sleeps_on, NULL) == 0) pthread_exit(NULL);
}

static void a_process_outlives_its_first_thread(void **state) {
    (void)state;
    pid_t pid = child(first_thread_ends);
    wait_for_state(pid, 'Z');
    assert_true(process_alive(pid, process_ticks(pid)));
    int64_t began = clock_ns();
    assert_true(process_stays_alive(pid, 0, 60));
    assert_true(clock_ns() - began >= 60000000);
    reap(pid);
    assert_false(process_alive(pid, 0));
}

/* A killed process that has touched much memory takes a while; it is waited for, and not longer. */
static void holds_much(void) {
    size_t n = (size_t)256 << 20;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) _exit(1);
    for (size_t i = 0; i < n; i += 4096) p[i] = 1;
    waits();
}

static void a_dying_process_is_waited_for(void **state) {
    (void)state;
    pid_t pid = child(holds_much);
    wait_for_state(pid, 'S');
    int64_t began = clock_ns();
    assert_true(process_stays_alive(pid, 0, 20000)); /* it does not die: nobody waits */
    assert_true(clock_ns() - began < 10000000000);
    kill(pid, SIGKILL);
    assert_false(process_stays_alive(pid, 0, 20000)); /* also before it has run to die */
    reap(pid);
}

static void names_change_nothing(void) {
    int fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, ") Z 1 2 (x", 10) != 10) _exit(1);
    close(fd);
    waits();
}
static void the_name_may_hold_anything(void **state) {
    (void)state;
    pid_t pid = child(names_change_nothing);
    wait_for_state(pid, 'S');
    process_seen seen;
    assert_true(process_look(pid, &seen) && seen.parent == getpid() && seen.threads == (BUILT_WITH_TSAN ? 2 : 1));
    assert_true(process_alive(pid, process_ticks(pid)));
    reap(pid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_lives),
        cmocka_unit_test(a_zombie_is_dead),
        cmocka_unit_test(one_that_is_stopped_lives),
        cmocka_unit_test(a_number_that_was_given_out_again_is_not_the_old_process),
        cmocka_unit_test(a_process_outlives_its_first_thread),
        cmocka_unit_test(a_dying_process_is_waited_for),
        cmocka_unit_test(the_name_may_hold_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
