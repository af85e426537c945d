/* Leaks on purpose: each step keeps a tensor and none is given back. The ledger names the line. */
#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 2048));
    return xt_linear(m, "fc2", x, 10);
}

static xt_tensor history[1000];

int main(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
    xt_loader *digits = xt_mnist_loader("train", 512);
    for (xt_batch b; xt_next(digits, &b) && b.index < 100;) {
        xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
        history[b.index] = xt_keep(xt_softmax(out, 1)); /* kept for ever: this is the leak */
        xt_backward(loss);
        xt_optimizer_step(adam);
        if (b.index == 20) xt_memory_report();
    }
    return xt_finish();
}
