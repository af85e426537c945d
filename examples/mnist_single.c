/* Trains the MNIST network on one device: 468 steps on a batch of zeros, one compile, 468 executions.
 * With xt_mnist_dataset(dir) and xt_loader_new(ds, .batch = 128, .shuffle = XT_ON) it trains on real digits. */
#include <xtrain/xtrain.h>

/* x: [N,1,28,28] -> log-probabilities [N,10] */
static xt_tensor mnist_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

int main(void) {
    xt_module *net = xt_module_new(mnist_net, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = xt_sample_loader(.batch = 128, .count = 60000 / 128 / xt_world_size(),
                                         .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
    for (xt_batch b; xt_next(loader, &b);) {
        xt_backward(xt_nll_loss(xt_forward(net, b.x), b.y));
        xt_optimizer_step(sgd);
    }
    return xt_finish();
}
