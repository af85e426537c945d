/* xt_launch as a user sees it: the table of rank counts with its messages, output, exit codes, dead ranks, signals,
 * orphans. Each case runs in a process of its own, with its output caught; ranks are forked from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "dist/dist_int.h"

#include "patience.h"

typedef struct result {
    int code; /* 1000 + signal when killed */
    char out[65536], err[65536];
    double seconds;
} result;
static result r;

typedef int (*body_fn)(void);

static void slurp(FILE *f, char *to, size_t n) {
    rewind(f);
    to[fread(to, 1, n - 1, f)] = 0;
    fclose(f);
}

static const char *const cleared[] = {"CPU_NUM_DEVICES", "TPU_NUM_DEVICES", "CUDA_VISIBLE_DEVICES",
                                      "XT_DEVICE",       "PJRT_DEVICE",     "XT_TIMEOUT",
                                      "XT_THREADS"};

static pid_t start(body_fn body, const char *env, FILE *out, FILE *err) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(240);
    for (size_t i = 0; i < BASE_COUNT(cleared); i++) unsetenv(cleared[i]);
    char *copy = strdup(env), *save = NULL;
    for (char *e = strtok_r(copy, " ", &save); e; e = strtok_r(NULL, " ", &save)) putenv(e);
    dup2(fileno(out), 1);
    dup2(fileno(err), 2);
    world_set(NULL);
    int code = body();
    fflush(NULL);
    _exit(code);
}

/* env: "A=1 B=2" */
static void run(body_fn body, const char *env) {
    FILE *out = tmpfile(), *err = tmpfile();
    int status;
    double began = monotonic_now();
    pid_t pid = start(body, env, out, err);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    r.seconds = monotonic_now() - began;
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    slurp(out, r.out, sizeof r.out);
    slurp(err, r.err, sizeof r.err);
}

static void has(const char *where, const char *text) {
    if (!strstr(where, text)) fail_msg("'%s' not found in:\n%s", text, where);
}

static int count_of(const char *where, const char *text) {
    int n = 0;
    while ((where = strstr(where, text))) n++, where++;
    return n;
}

/* --- the table --- */

static int hello(int rank, void *arg) {
    (void)arg;
    printf("hello from rank %d of %d\n", rank, xt_world_size());
    return 0;
}

static int unset(void) {
    return xt_launch(hello, NULL);
}
static int one(void) {
    return xt_launch(hello, NULL, .nprocs = 1);
}
static int two(void) {
    return xt_launch(hello, NULL, .nprocs = 2);
}
static int eight(void) {
    return xt_launch(hello, NULL, .nprocs = 8);
}
static int minus(void) {
    return xt_launch(hello, NULL, .nprocs = -1);
}

static void rows_that_run(void **state) {
    (void)state;
    run(unset, "");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "hello from rank 0 of 1\n");
    assert_string_equal(r.err, "");
    run(unset, "CPU_NUM_DEVICES=4");
    assert_int_equal(r.code, 0);
    for (int i = 0; i < 4; i++) {
        char line[64];
        snprintf(line, sizeof line, "[rank %d] hello from rank %d of 4\n", i, i);
        has(r.out, line);
    }
    assert_int_equal(count_of(r.out, "\n"), 4);
    assert_string_equal(r.err, "");
    run(one, "CPU_NUM_DEVICES=4");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "hello from rank 0 of 1\n");
    assert_string_equal(r.err, "");
    run(two, "CPU_NUM_DEVICES=2");
    assert_int_equal(r.code, 0);
    has(r.out, "[rank 1] hello from rank 1 of 2\n");
    has(r.err, "xt_launch: nprocs = 2 need not be given");
    assert_int_equal(count_of(r.err, "\n"), 1);
}

/* Lightning's own cases for eight XLA devices: all or one run, any other number is refused; a single device is
 * XT_LOCAL_RANK's business. */
static int asked;
static int ask(void) {
    return xt_launch(hello, NULL, .nprocs = asked);
}
static void eight_devices(void **state) {
    (void)state;
    static const struct {
        int nprocs, ranks; /* 0: refused */
    } rows[] = {{1, 1}, {8, 8}, {2, 0}, {5, 0}, {10, 0}, {9, 0}, {-1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        asked = rows[i].nprocs;
        run(ask, "CPU_NUM_DEVICES=8");
        assert_int_equal(r.code, rows[i].ranks ? 0 : 1);
        assert_int_equal(count_of(r.out, "hello from rank"), rows[i].ranks);
        if (!rows[i].ranks) has(r.err, "nprocs is");
    }
}

static void rows_that_refuse(void **state) {
    (void)state;
    run(eight, "CPU_NUM_DEVICES=4");
    assert_int_equal(r.code, 1);
    assert_string_equal(r.out, "");
    has(r.err, "test_dist_launch.c:");
    has(r.err, "xt_launch: nprocs is 8, but this host offers 4 CPU devices (CPU_NUM_DEVICES=4).");
    has(r.err, "set CPU_NUM_DEVICES=8 to have 8");
    run(eight, "");
    has(r.err, "offers 1 CPU device (the default; CPU_NUM_DEVICES is not set)");
    run(minus, "CPU_NUM_DEVICES=4");
    assert_int_equal(r.code, 1);
    has(r.err, "nprocs is -1");
    run(eight, "XT_DEVICE=TPU TPU_NUM_DEVICES=4");
    assert_int_equal(r.code, 1);
    has(r.err, "offers 4 TPU devices (TPU_NUM_DEVICES=4)");
    has(r.err, "set TPU_NUM_DEVICES=8");
    run(eight, "PJRT_DEVICE=CUDA CUDA_VISIBLE_DEVICES=3,5");
    assert_int_equal(r.code, 1);
    has(r.err, "offers 2 CUDA devices (CUDA_VISIBLE_DEVICES=3,5)");
    has(r.err, "set CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7");
    run(unset, "CPU_NUM_DEVICES=many");
    assert_int_equal(r.code, 1);
    has(r.err, "CPU_NUM_DEVICES is 'many'");
}

static int nested(int rank, void *arg) {
    (void)arg;
    return rank == 1 ? xt_launch(hello, NULL, .nprocs = 8) : 0;
}
static int launch_nested(void) {
    return xt_launch(nested, NULL);
}

static void a_rank_never_starts_more(void **state) {
    (void)state;
    run(launch_nested, "CPU_NUM_DEVICES=2");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "[rank 1] hello from rank 1 of 2\n");
    run(eight, "XT_RANK=0 XT_WORLD_SIZE=3");
    assert_string_equal(r.out, "hello from rank 0 of 3\n");
    run(unset, "XT_RANK=5 XT_WORLD_SIZE=3");
    assert_int_equal(r.code, 1);
    has(r.err, "XT_RANK");
}

/* --- what a rank sees --- */

static int show_env(int rank, void *arg) {
    static const char *const names[] = {"XT_RANK",
                                        "XT_WORLD_SIZE",
                                        "XT_LOCAL_RANK",
                                        "XT_LOCAL_SIZE",
                                        "CPU_NUM_DEVICES",
                                        "CUDA_VISIBLE_DEVICES",
                                        "TPU_VISIBLE_CHIPS",
                                        "TPU_PROCESS_BOUNDS",
                                        "TPU_CHIPS_PER_PROCESS_BOUNDS",
                                        "TPU_PROCESS_ADDRESSES",
                                        "TPU_PROCESS_PORT",
                                        "CLOUD_TPU_TASK_ID",
                                        "TPU_NUM_DEVICES",
                                        "XT_DEVICE"};
    (void)arg;
    if (rank != 1) return 0;
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (getenv(names[i])) printf("%s=%s\n", names[i], getenv(names[i]));
    printf("%d %d %d %d\n", xt_rank(), xt_local_rank(), xt_world_size(), xt_device_count());
    return 0;
}
static int launch_env(void) {
    return xt_launch(show_env, NULL);
}
static int launch_tpu(void) {
    return xt_launch(show_env, NULL, .device = "TPU");
}

static int launch_four_tpus(void) {
    return xt_launch(show_env, NULL, .nprocs = 4, .device = "TPU");
}

static void environment_of_ranks(void **state) {
    (void)state;
    run(launch_env, "CPU_NUM_DEVICES=3");
    assert_string_equal(r.out, "[rank 1] XT_RANK=1\n"
                               "[rank 1] XT_WORLD_SIZE=3\n"
                               "[rank 1] XT_LOCAL_RANK=1\n"
                               "[rank 1] XT_LOCAL_SIZE=3\n"
                               "[rank 1] CPU_NUM_DEVICES=1\n[rank 1] 1 1 3 3\n");
    run(launch_env, "XT_DEVICE=CUDA CUDA_VISIBLE_DEVICES=7,GPU-abc,2");
    has(r.out, "CUDA_VISIBLE_DEVICES=GPU-abc\n");
    run(launch_tpu, "TPU_NUM_DEVICES=4");
    has(r.out, "TPU_VISIBLE_CHIPS=1\n");
    has(r.out, "TPU_PROCESS_BOUNDS=2,2,1\n");
    has(r.out, "TPU_CHIPS_PER_PROCESS_BOUNDS=1,1,1\n");
    has(r.out, "TPU_PROCESS_ADDRESSES=localhost:8476,localhost:8477,localhost:8478,localhost:8479\n");
    has(r.out, "TPU_PROCESS_PORT=8477\n");
    has(r.out, "CLOUD_TPU_TASK_ID=1\n");
    has(r.out, "XT_DEVICE=TPU\n");
    run(launch_tpu, "TPU_NUM_DEVICES=2 TPU_VISIBLE_CHIPS=5,7");
    has(r.out, "TPU_VISIBLE_CHIPS=7\n");
    run(launch_four_tpus, "TPU_VISIBLE_CHIPS=0,1");
    assert_int_equal(r.code, 1);
    has(r.err, "nprocs is 4, but this host offers 2 TPU devices (TPU_VISIBLE_CHIPS=0,1).");
    has(r.err, "or set TPU_VISIBLE_CHIPS=0,1,2,3 to have 4");
    run(launch_four_tpus, "TPU_NUM_DEVICES=4 TPU_VISIBLE_CHIPS=0,1");
    assert_int_equal(r.code, 1);
    has(r.err, "TPU_VISIBLE_CHIPS=0,1 names 2 chips, and 4 processes need 4: name as many there, or unset it");
    run(launch_tpu, "TPU_NUM_DEVICES=3");
    assert_int_equal(r.code, 1);
    has(r.err, "3 TPU chips do not form a box");
}

static int mixed(int rank, void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        FILE *to = i % 2 ? stdout : stderr;
        fprintf(to, "rank %d", rank);
        fflush(to);
        usleep(500);
        fprintf(to, " line %d\n", i);
        fflush(to);
    }
    printf("\r\rbar 1\rbar 2\r");
    fflush(stdout);
    return 0;
}
static int launch_mixed(void) {
    return xt_launch(mixed, NULL);
}

static void lines_are_whole(void **state) {
    (void)state;
    run(launch_mixed, "CPU_NUM_DEVICES=3");
    assert_int_equal(r.code, 0);
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < 20; i++) {
            char line[80];
            snprintf(line, sizeof line, "[rank %d] rank %d line %d\n", rank, rank, i);
            has(i % 2 ? r.out : r.err, line);
        }
    has(r.out, "[rank 2] bar 1\n");
    has(r.out, "[rank 2] bar 2\n");
    assert_int_equal(count_of(r.out, "\n"), 36);
    assert_int_equal(count_of(r.err, "\n"), 30);
}

/* --- failures --- */

static int seven(int rank, void *arg) {
    (void)arg;
    if (rank == 1) {
        fprintf(stderr, "rank 1 found a fault\n");
        return 7;
    }
    for (;;) pause();
    return 0;
}
static int launch_seven(void) {
    return xt_launch(seven, NULL);
}

static void first_exit_code_is_kept(void **state) {
    (void)state;
    run(launch_seven, "CPU_NUM_DEVICES=4");
    assert_int_equal(r.code, 7);
    assert_true(r.seconds < patience(2));
    has(r.err, "ended with exit code 7; ending the other 3");
    assert_true(strstr(r.err, "[rank 1] rank 1 found a fault") == r.err);
    assert_int_equal(count_of(r.err, "\n"), 2);
}

static int killed(int rank, void *arg) {
    (void)arg;
    if (rank == 2) {
        usleep(200000);
        raise(SIGKILL);
    }
    xt_status st = xt_barrier(30);
    if (st) fprintf(stderr, "%s\n", xt_status_message(st));
    for (;;) pause(); /* whoever is first to notice, these are ended by the launcher */
    return 0;
}
static int launch_killed(void) {
    return xt_launch(killed, NULL);
}

static void a_killed_rank_ends_all(void **state) {
    (void)state;
    run(launch_killed, "CPU_NUM_DEVICES=3");
    assert_int_equal(r.code, 128 + SIGKILL);
    assert_true(r.seconds < patience(2.2));
    has(r.err, "xt_launch: rank 2 (pid ");
    has(r.err, "was killed by SIGKILL");
    has(r.err, "ending the other 2");
}

static int stubborn(int rank, void *arg) {
    (void)arg;
    signal(SIGTERM, SIG_IGN);
    usleep(rank ? 0 : 100000);
    if (rank == 0) abort();
    for (;;) pause();
    return 0;
}
static int launch_stubborn(void) {
    return xt_launch(stubborn, NULL);
}

static void those_that_ignore_sigterm_are_killed(void **state) {
    (void)state;
    run(launch_stubborn, "CPU_NUM_DEVICES=3");
    assert_int_equal(r.code, 128 + SIGABRT);
    assert_true(r.seconds < patience(2.1));
    has(r.err, "was ended by signal 6 (Aborted)");
}

static int late(int rank, void *arg) {
    (void)arg;
    xt_status st = xt_barrier(60); /* line of the last place rank 1 was seen at */
    if (st) return 9;
    while (rank == 1) pause();
    st = xt_barrier(0.2);
    fprintf(stderr, "%s\n", xt_status_message(st));
    xt_status_free(st);
    return st ? 3 : 0;
}
static int launch_late(void) {
    return xt_launch(late, NULL);
}

static void barrier_names_the_missing(void **state) {
    (void)state;
    run(launch_late, "CPU_NUM_DEVICES=2");
    assert_int_equal(r.code, 3);
    has(r.err, "rank 0 waits in xt_barrier at ");
    has(r.err, "did not come: rank 1 (pid ");
    has(r.err, "last seen at xt_barrier at ");
    assert_int_equal(count_of(r.err, "test_dist_launch.c:"), 3); /* whose error, where rank 0 waits, where rank 1 was */
}

static int late_of_three(int rank, void *arg) {
    if (xt_barrier(60)) return 9;
    while (rank == 1) pause();
    xt_status st = xt_barrier(*(const double *)arg);
    fprintf(stderr, "%s\n", xt_status_message(st));
    xt_status_free(st);
    return st ? 3 : 0;
}
static double seconds_to_come; /* for the ranks that do */
static int launch_late_of_three(void) {
    return xt_launch(late_of_three, &seconds_to_come);
}

static void barrier_says_where_all_are(void **state) {
    (void)state;
    for (seconds_to_come = 1; seconds_to_come < 60; seconds_to_come *= 3) {
        /* a starved rank comes too late: more time then */
        run(launch_late_of_three, "CPU_NUM_DEVICES=3");
        if (strstr(r.err, "; waiting too: rank ")) break;
    }
    has(r.err, "; waiting too: rank ");
    const char *others = strstr(r.err, "; waiting too: rank ");
    has(others, " in xt_barrier at ");
    assert_true(others[strlen("; waiting too: rank ")] != '1');
}

static int absent(int rank, void *arg) {
    (void)arg;
    while (rank == 1) pause(); /* never joins the run */
    double began = monotonic_now();
    xt_status st = xt_barrier(0.3);
    double took = monotonic_now() - began;
    fprintf(stderr, "%s\n", xt_status_message(st));
    bool timely = xt_status_code(st) == XT_DEADLINE_EXCEEDED && took > 0.25 && took < patience(3);
    xt_status_free(st);
    return timely ? 6 : 0;
}
static int launch_absent(void) {
    return xt_launch(absent, NULL);
}

/* The time limit counts for ranks that have not joined yet too, not XT_TIMEOUT. */
static void barrier_does_not_wait_for_the_absent(void **state) {
    (void)state;
    run(launch_absent, "CPU_NUM_DEVICES=2 XT_TIMEOUT=100");
    assert_int_equal(r.code, 6);
    has(r.err, "rank 1");
    has(r.err, "which has not joined the run");
    assert_true(r.seconds < patience(5));
}

static int early(int rank, void *arg) {
    (void)arg;
    if (rank == 1) return 0;
    xt_status st = xt_barrier(30);
    fprintf(stderr, "%s\n", xt_status_message(st));
    return st ? 4 : 0;
}
static int launch_early(void) {
    return xt_launch(early, NULL);
}

static void a_rank_that_leaves_early(void **state) {
    (void)state;
    run(launch_early, "CPU_NUM_DEVICES=2");
    assert_int_equal(r.code, 4);
    assert_true(r.seconds < patience(2));
    has(r.err, "rank 1 (pid ");
    has(r.err, "while rank 0 waits in the start of the run");
}

/* --- what stands in the way of a fork --- */

static void *idle(void *arg) {
    (void)arg;
    prctl(PR_SET_NAME, "my-worker");
    for (;;) pause();
    return NULL;
}
static int with_thread(void) {
    pthread_t t;
    pthread_create(&t, NULL, idle, NULL);
    usleep(50000);
    return xt_launch(hello, NULL);
}

static void threads_are_refused(void **state) {
    (void)state;
    run(with_thread, "CPU_NUM_DEVICES=2");
    assert_int_equal(r.code, 1);
    assert_string_equal(r.out, "");
    has(r.err, "2 ranks cannot be forked from this process: it has 1 other thread (my-worker)");
    has(r.err, ".module");
    run(with_thread, ""); /* one rank needs no fork */
    assert_int_equal(r.code, 0);
}

static int bad_arguments(void) {
    int code = xt_launch(NULL, NULL);
    code += xt_launch(hello, NULL, .module = "x.so", .symbol = "f");
    code += xt_launch(NULL, &r, .module = "x.so", .symbol = "f");
    code += xt_launch(NULL, NULL, .module = "./none.so", .symbol = "f");
    code += xt_launch(hello, NULL, .symbol = "f");
    return code;
}

static void arguments_are_checked(void **state) {
    (void)state;
    run(bad_arguments, "");
    assert_int_equal(r.code, 5);
    has(r.err, "no function to run");
    has(r.err, "both a function and .module");
    has(r.err, "arg points into this process");
    has(r.err, "none.so");
    has(r.err, ".symbol and .arg_text need .module");
}

/* --- signals and orphans --- */

static int with_child(int rank, void *arg) {
    (void)arg;
    if (rank == 0 && fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        prctl(PR_SET_NAME, "grandchild");
        printf("pid %d\n", (int)getpid());
        for (;;) pause();
    }
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    for (;;) pause();
    return 0;
}
static int launch_with_child(void) {
    return xt_launch(with_child, NULL);
}

static int read_pids(FILE *f, pid_t *pids, int want) {
    for (int wait = 0; wait < 3000; wait++, usleep(10000)) {
        char text[4096] = "";
        ssize_t got = pread(fileno(f), text, sizeof text - 1, 0);
        int n = 0;
        for (char *at = text; got > 0 && (at = strstr(at, "pid ")); at++)
            if (n < want && strchr(at, '\n')) pids[n++] = atoi(at + 4);
        if (n == want) return n;
    }
    return 0;
}

/* A zombie nobody reaps (its parent is the test's init) counts as gone. */
static bool gone(pid_t pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return true;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    char *state = n ? strrchr(text, ')') : NULL;
    return state && state[2] == 'Z';
}

static double until_gone(const pid_t *pids, int n) {
    double began = monotonic_now();
    for (;;) {
        int left = 0;
        for (int i = 0; i < n; i++) left += !gone(pids[i]);
        if (!left || monotonic_now() - began > 30) return monotonic_now() - began;
        usleep(5000);
    }
}

static void end_by(int sig, double limit, int want) {
    FILE *out = tmpfile(), *err = tmpfile();
    pid_t pids[4] = {0};
    int status;
    pid_t launcher = start(launch_with_child, "CPU_NUM_DEVICES=3", out, err);
    assert_int_equal(read_pids(out, pids, 4), 4);
    kill(launcher, sig);
    waitpid(launcher, &status, 0);
    double took = until_gone(pids, 4);
    assert_true(took < patience(limit));
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), want);
    slurp(out, r.out, sizeof r.out);
    slurp(err, r.err, sizeof r.err);
}

static void a_killed_launcher_leaves_no_orphan(void **state) {
    (void)state;
    end_by(SIGKILL, 1, 1000 + SIGKILL);
}

static void signals_reach_all(void **state) {
    (void)state;
    end_by(SIGINT, 2, 128 + SIGINT);
    has(r.err, "Interrupt, passed on to the ranks");
    assert_int_equal(count_of(r.err, "\n"), 1);
    end_by(SIGTERM, 2, 128 + SIGTERM);
}

/* --- symbols --- */

static const char module_source[] =
    "int train(int r, void *a) { return r + (a != 0); }\n"
    "static __attribute__((noinline, used)) int hidden_by_static(int r, void *a) { return r - (a != 0); }\n"
    "__attribute__((visibility(\"hidden\"))) int hidden(int r, void *a) { return r + (a == 0); }\n"
    "int calls(int (*f)(int), int x);\n"
    "int outer(int r, void *a) { int nested(int x) { return x + r; } return calls(nested, 1) + (a != 0); }\n"
    "__asm__(\".globl _Z3cppiPv\\n.type _Z3cppiPv, @function\\n_Z3cppiPv: ret\\n\");\n";

static void refused_symbol(const char *module, const char *symbol, const char *part) {
    xt_status st = symbol_check(module, symbol);
    assert_non_null(st);
    has(xt_status_message(st), part);
    xt_status_free(st);
}

static void symbols_are_explained(void **state) {
    (void)state;
    char dir[] = "/tmp/xt-symbol-XXXXXX", command[512], so[64], program[64];
    assert_non_null(mkdtemp(dir));
    snprintf(so, sizeof so, "%s/m.so", dir);
    snprintf(program, sizeof program, "%s/p", dir);
    snprintf(command, sizeof command,
             "cd %s && cat > m.c && gcc -w -O1 -shared -fPIC m.c -o m.so && echo 'int main(void){return 0;}' | gcc -xc "
             "- -pie -fPIE -o p",
             dir);
    FILE *pipe = popen(command, "w");
    fputs(module_source, pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_null(symbol_check(so, "train"));
    refused_symbol(
        so, "hidden_by_static",
        "is static, or hidden by -fvisibility=hidden: other processes cannot reach it by name; remove `static`");
    refused_symbol(so, "hidden", "hidden by -fvisibility=hidden");
    refused_symbol(so, "nested", "is a nested function");
    refused_symbol(so, "cpp", "has C++ linkage (_Z3cppiPv): declare it extern \"C\"");
    refused_symbol(so, "trian", "exports no function 'trian'; did you mean train? it exports");
    refused_symbol(so, "", "without the symbol");
    refused_symbol(program, "main", "is a program; put the training function into a shared library");
    refused_symbol("/etc/passwd", "f", "is not a shared library");
    refused_symbol("/none/m.so", "f", "/none/m.so");
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_run),
        cmocka_unit_test(rows_that_refuse),
        cmocka_unit_test(eight_devices),
        cmocka_unit_test(a_rank_never_starts_more),
        cmocka_unit_test(environment_of_ranks),
        cmocka_unit_test(lines_are_whole),
        cmocka_unit_test(first_exit_code_is_kept),
        cmocka_unit_test(a_killed_rank_ends_all),
        cmocka_unit_test(those_that_ignore_sigterm_are_killed),
        cmocka_unit_test(barrier_names_the_missing),
        cmocka_unit_test(barrier_says_where_all_are),
        cmocka_unit_test(barrier_does_not_wait_for_the_absent),
        cmocka_unit_test(a_rank_that_leaves_early),
        cmocka_unit_test(threads_are_refused),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(a_killed_launcher_leaves_no_orphan),
        cmocka_unit_test(signals_reach_all),
        cmocka_unit_test(symbols_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
