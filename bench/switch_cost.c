/* What the diagnostic switches cost.    switch_cost [STEPS]
 * The best time of a step of eleven operations on eight numbers, with its value asked for; run it under each variable: XT_DEBUG=exec switch_cost. The numbers in
 * `xtrain explain switches` come from here. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include <xtrain/xtrain.h>

int main(int argc, char **argv) {
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
