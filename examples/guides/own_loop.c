/* Logging in a loop of one's own: rows every 50 steps in runs/default/version_N, values printed when they arrive,
 * nothing waits. */
#include <stdio.h>

#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 64));
    return xt_linear(m, "fc2", x, 10);
}

/* Runs on a reader thread when the value is there. */
static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)bytes, (void)dtype;
    *(float *)user = *(const float *)data;
}

int main(void) {
    static float newest;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.05, .momentum = 0.9);
    xt_loader *digits = xt_mnist_loader("train", 64);
    for (xt_batch b; xt_next(digits, &b) && b.index < 200;) {
        xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
        xt_log("train/loss", loss); /* a tensor of one element */
        xt_log_metric("train/acc", xt_accuracy(out, b.y)); /* hits over samples */
        /* a number of the host: data, never a constant of the program */
        xt_log_value("lr", xt_optimizer_lr(sgd));
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (b.index % 100 == 0) xt_master_printf("step %lld: loss %t\n", (long long)b.index, loss);
        xt_when_ready(loss, arrived, &newest);
    }
    xt_wait();
    printf("newest loss %s 2.3\n", newest < 2.3f ? "below" : "above");
    return xt_finish();
}
