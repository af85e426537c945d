/* Prints the losses of 40 training steps of the MNIST network on drawn digits, to 9 digits: what the plugin tests compare between devices. */
#include <stdio.h>

#include <xtrain/xtrain.h>

static xt_tensor mnist_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static void put(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)bytes;
    (void)dtype;
    printf("%d %.9g\n", (int)(intptr_t)user, (double)*(const float *)data);
}

int main(void) {
    xt_module *net = xt_module_new(mnist_net, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(5120, 1), .batch = 128, .shuffle = XT_ON);
    for (xt_batch b; xt_next(loader, &b);) {
        xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(sgd);
        xt_when_ready(loss, put, (void *)(intptr_t)b.index);
    }
    return xt_finish();
}
