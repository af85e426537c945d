/* A training loop on a plugin of which one call fails, each in turn: the program ends with an error that names a line
 * of it, or goes on with the right losses where the call was not needed; nothing crashes, hangs or is left. Each call's
 * run is a process of its own, so here every seventh call has its turn, and all of them in tests/slow/faults.sh
 * (FAULT_EVERY=1). */
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { STEPS = 3, WIDE = 8 };
static char plugin[4200];

typedef struct outcome { /* of a process; zeros when it died */
    long calls;
    int last; /* line of the loop */
    int64_t left;
    bool failed;
    float losses[STEPS];
    char error[1000];
} outcome;

enum { FIRST_LINE = __LINE__ }; /* of the program under test: its network and its loop */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_gelu(xt_linear(m, "in", x, WIDE)), 1);
}

static void train(outcome *o) {
    static float data[4][WIDE] = {{1, 2, 3}, {-1, 0.5f, 4}, {2, 2, -2}, {0, 1, 1}};
    xt_seed(5);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adam(m, .lr = 0.01);
    for (int i = 0; i < STEPS; i++) {
        xt_tensor x = xt_from_array(data, XT_F32, 4, WIDE);
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, x)));
        xt_backward(loss);
        xt_optimizer_step(adam);
        double v = xt_item(loss);
        if (xt_error()) break;
        o->losses[i] = (float)v;
    }
    o->last = __LINE__;
}

static void child(int fd) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "optimizer", "graph", "event"};
    outcome o = {0};
    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    atomic_long *calls = lib ? dlsym(lib, "fault_calls") : NULL;
    if (!calls) _exit(9);
    train(&o);
    if (xt_error()) snprintf(o.error, sizeof o.error, "%s", xt_status_message(xt_error()));
    o.failed = xt_error() != NULL;
    xt_clear_error();
    xt_finish();
    o.calls = *calls;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) o.left += xt_live_objects(kinds[k]);
    if (write(fd, &o, sizeof o) != sizeof o) _exit(8);
    exit(0); /* the leak check of AddressSanitizer, if it is there */
}

/* at 0: nothing fails. Gives the status of the process. */
static int run(long at, outcome *out) {
    int fd[2], status = 0;
    char text[24];
    memset(out, 0, sizeof *out);
    snprintf(text, sizeof text, "%ld", at);
    setenv("FAULT_AT", text, 1);
    assert_int_equal(pipe(fd), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        alarm(60); /* a hang is a death */
        child(fd[1]);
    }
    close(fd[1]);
    size_t got = 0;
    for (ssize_t n; got < sizeof *out && (n = read(fd[0], (char *)out + got, sizeof *out - got)) > 0;) got += (size_t)n;
    close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* "test_device_fault_steps.c:46", a line of the network or the loop */
static bool names_the_program(const outcome *o) {
    static const char file[] = "test_device_fault_steps.c:";
    for (const char *p = o->error; (p = strstr(p, file));) {
        p += sizeof file - 1;
        int line = atoi(p);
        if (line >= FIRST_LINE && line <= o->last) return true;
    }
    return false;
}

static void each_call_in_turn(void **state) {
    (void)state;
    outcome whole, o;
    assert_int_equal(run(0, &whole), 0);
    assert_false(whole.failed);
    assert_int_equal(whole.left, 0);
    assert_true(whole.calls > 60);
    assert_true(whole.losses[STEPS - 1] < whole.losses[0] && whole.losses[0] > 0);
    const char *every = getenv("FAULT_EVERY");
    long failed = 0, stride = every ? atol(every) : 7, turns = 0;
    for (long n = 1; n <= whole.calls; n += stride, turns++) {
        int status = run(n, &o);
        if (status != 0)
            fail_msg("call %ld fails: the program dies, %s %d", n, WIFSIGNALED(status) ? "signal" : "exit code",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        if (o.left != 0) fail_msg("call %ld fails: %lld objects are left", n, (long long)o.left);
        if (o.failed && !names_the_program(&o)) fail_msg("call %ld fails: no line of the program in '%s'", n, o.error);
        if (!o.failed && memcmp(o.losses, whole.losses, sizeof o.losses) != 0)
            fail_msg("call %ld fails: other losses and no error", n);
        failed += o.failed;
    }
    print_message("%ld calls, %ld of them failed in turn, %ld of these were needed\n", whole.calls, turns, failed);
    assert_true(failed > 8); /* of a step's calls most give something back, and nobody needs those */
}

int main(int argc, char **argv) {
    (void)argc;
    const char *dir = getenv("XT_PLUGIN_DIR"), *slash = strrchr(argv[0], '/');
    char of[4300];
    int n = dir ? (int)strlen(dir) : slash ? (int)(slash - argv[0]) : 1;
    snprintf(plugin, sizeof plugin, "%.*s/fault_plugin.so", n, dir ? dir : slash ? argv[0] : ".");
    snprintf(of, sizeof of, "%.*s/pjrt_plugin_xtrain_cpu.so", n, plugin);
    setenv("FAULT_OF", of, 1);
    setenv("XT_DEVICE", plugin, 1);
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_POSTMORTEM", "off", 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_call_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
