/* What the diagnostic switches cost.    switch_cost [STEPS]; switch_cost always
 * The best time of a step of eleven operations on eight numbers, with its value asked for; run it under each variable: XT_DEBUG=exec switch_cost. The numbers in
 * `xtrain explain switches` come from here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What is always on, apart: as often as the small step does it, the clock is read (counted with a clock of our own), counters are added to (18 times, counted
 * with a debugger), and its timers are closed once. */
static void always_on(void) {
    enum { ROUNDS = 20000, STEPS = 100, COUNTERS = 18 };
    static const counter touched[] = {COUNTER_trace_ns, COUNTER_hash_ns, COUNTER_upload_ns, COUNTER_execute_ns, COUNTER_executions, COUNTER_device_bytes};
    for (int i = 0; i < STEPS; i++) one_step();
    clock_set_fake(counted, NULL);
    for (int i = 0; i < STEPS; i++) one_step();
    clock_set_fake(NULL, NULL);
    int64_t best = INT64_MAX, per_step = reads / STEPS, at[STEPS];
    for (int i = 0; i < STEPS; i++) { /* one by one: programs read the clock around what they measure */
        at[i] = clock_ns();
        one_step();
        at[i] = clock_ns() - at[i];
        if (at[i] < best) best = at[i];
    }
    int64_t step = best;
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
    printf("%.3f us a step with %lld readings of the clock, %.1f %% of a step of %.2f us\n", (double)best / 1e3 / ROUNDS, (long long)per_step, 100.0 * (double)best / ROUNDS / (double)step,
           (double)step / 1e3);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "always") == 0) return always_on(), 0;
    int steps = argc > 1 ? atoi(argv[1]) : 4000;
    int64_t best = INT64_MAX;
    for (int i = 0; i < steps; i++) {
        int64_t began = clock_ns();
        if (!one_step()) break;
        int64_t ns = clock_ns() - began;
        if (i > 50 && ns < best) best = ns;
    }
    printf("%.2f us\n", (double)best / 1e3);
    return xt_finish();
}
