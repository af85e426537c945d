/* Gradients accumulated in a plain loop: a batch that does not fit is taken in parts. Gradients add up over boundaries
 * until the optimizer's step consumes them. */
#include "check.h"

enum { BATCH = 32, PARTS = 4, UPDATES = 6, WIDE = 5 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 16)), 1);
}

static float x[UPDATES][BATCH][WIDE], y[UPDATES][BATCH][1];

/* Samples from..from+n of update k's batch. */
static xt_tensor loss_of(xt_module *m, int k, int from, int n) {
    return xt_mse_loss(xt_forward(m, xt_from_array(x[k][from], XT_F32, n, WIDE)),
                       xt_from_array(y[k][from], XT_F32, n, 1));
}

static void train_in_parts(xt_module *m, xt_optimizer *opt) {
    for (int i = 0; i < UPDATES * PARTS; i++) {
        int k = i / PARTS, part = i % PARTS;
        xt_tensor loss = loss_of(m, k, part * (BATCH / PARTS), BATCH / PARTS);
        xt_backward(xt_div(loss, PARTS)); /* a mean of means; no xt_zero_grad */
        if (part == PARTS - 1) xt_optimizer_step(opt);
        xt_mark_step();
    }
}

static void train_whole(xt_module *m, xt_optimizer *opt) {
    for (int k = 0; k < UPDATES; k++) {
        xt_backward(loss_of(m, k, 0, BATCH));
        xt_optimizer_step(opt);
        xt_mark_step();
    }
}

int main(void) {
    float weight[2][16 * WIDE];
    for (int k = 0; k < UPDATES; k++)
        for (int i = 0; i < BATCH; i++) {
            for (int j = 0; j < WIDE; j++) x[k][i][j] = sinf((float)(k * 31 + i * 7 + j * 3));
            y[k][i][0] = x[k][i][0] * x[k][i][1];
        }
    for (int parts = 0; parts < 2; parts++) {
        xt_seed(1);
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *sgd = xt_sgd(m, .lr = 0.1, .momentum = 0.9);
        int64_t before = programs();
        if (parts)
            train_in_parts(m, sgd);
        else
            train_whole(m, sgd);
        xt_wait();
        check_programs(parts ? "in parts" : "whole", programs() - before, parts ? 3 : 1);
        xt_read(xt_module_find(m, "in.weight"), weight[parts], sizeof weight[parts]);
        xt_mark_step();
    }
    check_close("weights trained in parts and whole", weight[1], weight[0], 16 * WIDE, 1e-6);
    return xt_finish() || faults;
}
