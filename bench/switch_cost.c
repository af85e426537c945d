/* What the diagnostic switches cost.
 *
 *     switch_cost all; switch_cost always; switch_cost small|train [STEPS]
 *
 * `small` is a step of eleven operations on eight numbers with its value asked for, `train` a training step of a small
 * network (64 - 256 - 10, 128 samples, SGD): the best time of many. `all` runs both under each switch, in processes of
 * their own, three times in turn, and prints what each adds at best; the numbers in `xtrain --help` and `xtrain explain
 * switches` come from here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag/diag.h"
#include <xtrain/xtrain.h>

static float data[8];
static bool one_step(void) {
    xt_tensor x = xt_from_array(data, XT_F32, 8);
    for (int k = 0; k < 5; k++) x = xt_add(xt_mul(x, x), x);
    xt_when_ready(xt_sum(x), NULL, NULL);
    return xt_mark_step();
}

static int64_t reads;
static int64_t counted(void *user) {
    (void)user;
    return ++reads;
}

/* --- a training step --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_linear(m, "out", xt_relu(xt_linear(m, "in", x, 256)), 10);
}
static xt_module *module;
static xt_optimizer *sgd;
static float batch[128 * 64];

/* The smallest step that trains: two inputs, one output, eight samples. */
static xt_tensor line(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_linear(m, "fc", x, 1);
}
static bool least_step(void) {
    static xt_module *m;
    static xt_optimizer *o;
    if (!m) {
        m = xt_module_new(line, NULL);
        o = xt_sgd(m, .lr = 1e-3);
    }
    xt_tensor loss = xt_mean(xt_square(xt_forward(m, xt_from_array(batch, XT_F32, 8, 2))));
    xt_log("train/loss", loss);
    xt_backward(loss);
    xt_optimizer_step(o);
    return xt_mark_step();
}

static bool train_step(void) {
    if (!module) {
        module = xt_module_new(net, NULL);
        sgd = xt_sgd(module, .lr = 1e-3);
    }
    xt_tensor loss = xt_mean(xt_square(xt_forward(module, xt_from_array(batch, XT_F32, 128, 64))));
    xt_when_ready(loss, NULL, NULL);
    xt_backward(loss);
    xt_optimizer_step(sgd);
    return xt_mark_step() && xt_wait(); /* the whole step, not only its start */
}

/* What is always on, apart: as often as a step does it, the clock is read (counted with a clock of our own), counters
 * are added to (18 times in the small step, counted with a debugger), and its timers are closed once. */
static void always_on(const char *name, bool (*step)(void)) {
    enum { ROUNDS = 20000, STEPS = 100, COUNTERS = 18 };
    static const counter touched[] = {COUNTER_trace_ns,   COUNTER_hash_ns,    COUNTER_upload_ns,
                                      COUNTER_execute_ns, COUNTER_executions, COUNTER_device_bytes};
    for (int i = 0; i < STEPS; i++) step();
    reads = 0;
    clock_set_fake(counted, NULL);
    for (int i = 0; i < STEPS; i++) step();
    clock_set_fake(NULL, NULL);
    int64_t best = INT64_MAX, per_step = reads / STEPS, at[STEPS];
    for (int i = 0; i < STEPS; i++) { /* one by one: programs read the clock around what they measure */
        at[i] = clock_ns();
        step();
        at[i] = clock_ns() - at[i];
        if (at[i] < best) best = at[i];
    }
    int64_t whole = best;
    best = INT64_MAX;
    for (int again = 0; again < 10; again++) {
        int64_t began = clock_ns();
        for (int i = 0; i < ROUNDS; i++) {
            for (int64_t k = 0; k < per_step; k++) clock_ns();
            for (int k = 0; k < COUNTERS; k++) counter_add(touched[k % (int)BASE_COUNT(touched)], 1);
            diag_time_step(6000);
        }
        int64_t ns = clock_ns() - began;
        if (ns < best) best = ns;
    }
    printf("%s: %.3f us a step with %lld readings of the clock, %.1f %% of a step of %.2f us\n", name,
           (double)best / 1e3 / ROUNDS, (long long)per_step, 100.0 * (double)best / ROUNDS / (double)whole,
           (double)whole / 1e3);
}

static int one(bool train, int steps) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < steps; i++) {
        int64_t began = clock_ns();
        if (!(train ? train_step() : one_step())) break;
        int64_t ns = clock_ns() - began;
        if (i > 50 && ns < best) best = ns;
    }
    printf("%.3f us\n", (double)best / 1e3);
    fflush(stdout);
    return xt_finish();
}

/* --- all switches --- */
static const struct {
    const char *name, *env;
} switches[] = {
    {"(none)", ""},
    {"XT_DEBUG=compile", "XT_DEBUG=compile"},
    {"XT_DEBUG=exec", "XT_DEBUG=exec"},
    {"XT_DEBUG=read", "XT_DEBUG=read"},
    {"XT_DEBUG=nan", "XT_DEBUG=nan"},
    {"XT_DEBUG=eager", "XT_DEBUG=eager"},
    {"XT_PROFILE=FILE, every step", "XT_PROFILE=/tmp/switch_cost.json XT_PROFILE_STEPS=1-100000"},
    {"XT_EVENTS=FILE", "XT_EVENTS=/tmp/switch_cost.events"},
    {"XT_METRICS=FILE", "XT_METRICS=/tmp/switch_cost.metrics"},
    {"XT_WATCHDOG=60", "XT_WATCHDOG=60"},
    {"XT_WATCHDOG=off", "XT_WATCHDOG=off"},
    {"XT_POSTMORTEM=off", "XT_POSTMORTEM=off"},
};
enum { SWITCHES = sizeof switches / sizeof *switches, TURNS = 3 };

static double time_under(const char *self, const char *env, const char *what) {
    char command[1200];
    double us = -1;
    snprintf(command, sizeof command, "env XT_SUMMARY=off XT_CACHE=off %s %s %s 1500 2>/dev/null", env, self, what);
    FILE *p = popen(command, "r");
    if (!p || fscanf(p, "%lf", &us) != 1) us = -1;
    if (p) pclose(p);
    return us;
}

static int all(void) {
    static const char *const what[] = {"small", "train"};
    double best[SWITCHES][2];
    char self[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return 1;
    self[n] = '\0';
    for (int turn = 0; turn < TURNS; turn++)
        for (int k = 0; k < SWITCHES; k++)
            for (int w = 0; w < 2; w++) {
                double us = time_under(self, switches[k].env, what[w]);
                if (us > 0 && (turn == 0 || us < best[k][w])) best[k][w] = us;
            }
    printf("%-30s %26s %28s\n", "switch", "eleven ops on 8 numbers", "a training step");
    for (int k = 0; k < SWITCHES; k++) {
        printf("%-30s", switches[k].name);
        for (int w = 0; w < 2; w++)
            printf(" %9.2f us %+8.2f us %+6.1f %%", best[k][w], best[k][w] - best[0][w],
                   100 * (best[k][w] / best[0][w] - 1));
        putchar('\n');
    }
    remove("/tmp/switch_cost.json");
    remove("/tmp/switch_cost.events");
    remove("/tmp/switch_cost.metrics");
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "small";
    if (strcmp(what, "always") == 0) {
        always_on("eleven ops on eight numbers", one_step);
        always_on("the smallest training step", least_step);
        always_on("a training step of a small network", train_step);
        return xt_finish();
    }
    if (strcmp(what, "all") == 0) return all();
    return one(strcmp(what, "train") == 0, argc > 2 ? atoi(argv[2]) : 4000);
}
