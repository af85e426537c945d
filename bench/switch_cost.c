/* What the diagnostic switches cost.    switch_cost [STEPS]; switch_cost always
 * The best time of a step of eleven operations on eight numbers, with its value asked for; run it under each variable: XT_DEBUG=exec switch_cost. The numbers in
 * `xtrain explain switches` come from here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/diag.h"
#include <xtrain/xtrain.h>

/* What is always on, apart: a small step looks at the clock 14 times and adds to counters 18 times (counted with a debugger), and closes its timers once. */
static void always_on(void) {
    enum { ROUNDS = 200000, CLOCKS = 14, COUNTERS = 18 };
    int64_t best = INT64_MAX;
    for (int again = 0; again < 10; again++) {
        int64_t began = clock_ns();
        for (int i = 0; i < ROUNDS / 10; i++) {
            for (int k = 0; k < CLOCKS; k++) clock_ns();
            for (int k = 0; k < COUNTERS; k++) counter_add(k % 2 ? COUNTER_trace_ns : COUNTER_execute_ns, 1);
            diag_time_step(6000);
        }
        int64_t ns = clock_ns() - began;
        if (ns < best) best = ns;
    }
    printf("%.3f us a step\n", (double)best / 1e3 / (ROUNDS / 10));
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "always") == 0) return always_on(), 0;
    int steps = argc > 1 ? atoi(argv[1]) : 4000;
    int64_t best = INT64_MAX;
    static float data[8];
    for (int i = 0; i < steps; i++) {
        int64_t began = clock_ns();
        xt_tensor x = xt_from_array(data, XT_F32, 8);
        for (int k = 0; k < 5; k++) x = xt_add(xt_mul(x, x), x);
        xt_when_ready(xt_sum(x), NULL, NULL);
        if (!xt_mark_step()) break;
        int64_t ns = clock_ns() - began;
        if (i > 50 && ns < best) best = ns;
    }
    printf("%.2f us\n", (double)best / 1e3);
    return xt_finish();
}
