/* A training function for clusters that run Ray: an exported symbol of a shared library, so that any process can
 * call it by name.
 *
 *     cc -shared -fPIC train_module.c -o train_module.so $(pkg-config --cflags --libs xtrain)
 *     python3 main.py 2          starts two ranks; each learns y = 3 a - 2 b from its own share of the data */
#include <xtrain/xtrain.h>

#include <stdio.h>

static xt_tensor line(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}

/* Row i of an endless table: a and b in [-1, 1), and their y. */
static void row(int i, float *x, float *y) {
    x[0] = (float)(i * 37 % 64) / 32 - 1;
    x[1] = (float)(i * 23 % 64) / 32 - 1;
    *y = 3 * x[0] - 2 * x[1];
}

int train(int rank, void *arg) {
    enum { BATCH = 16, STEPS = 200 };
    (void)arg;
    xt_module *net = xt_module_new(line, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.2);
    for (int step = 0; step < STEPS; step++) {
        float x[BATCH][2], y[BATCH][1];
        for (int i = 0; i < BATCH; i++) row((step * xt_world_size() + rank) * BATCH + i, x[i], y[i]);
        xt_tensor loss =
            xt_mse_loss(xt_forward(net, xt_from_array(x, XT_F32, BATCH, 2)), xt_from_array(y, XT_F32, BATCH, 1));
        xt_backward(loss);
        xt_optimizer_step(sgd); /* averages the gradients over the ranks */
        if (step == STEPS - 1) printf("rank %d of %d: loss %.4f\n", rank, xt_world_size(), xt_item(loss));
        xt_mark_step();
    }
    return xt_finish();
}
