/* The mistake that makes other frameworks recompile: a value is read before its step has ended. Here it costs a wait,
 * and is named. */
#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 64));
    return xt_linear(m, "fc2", x, 10);
}

int main(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.05);
    xt_loader *digits = xt_mnist_loader("train", 128);
    double sum = 0;
    for (xt_batch b; xt_next(digits, &b) && b.index < 20;) {
        xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
        sum += xt_item(loss); /* early: the step has not ended */
        xt_backward(loss);
        xt_optimizer_step(sgd);
    }
    return xt_finish() || sum <= 0;
}
