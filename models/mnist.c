/* The MNIST network of PyTorch's basic example with batch norm: two convolutions, two linear layers. */
#include "models/models.h"

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

static xt_spec image(int64_t side, int64_t seq) {
    (void)side;
    (void)seq;
    return (xt_spec){XT_F32, {1, 28, 28}};
}

static xt_tensor loss(xt_tensor out, xt_tensor y) {
    return xt_nll_loss(out, y);
}
static xt_optimizer *optimizer(xt_module *net, double lr) {
    return xt_sgd(net, .lr = lr >= 0 ? lr : 0.05, .momentum = 0.9, .weight_decay = 5e-4);
}

const model model_mnist = {.name = "mnist",
                           .help = "digits, 28x28: two convolutions, two linear layers (21,900 parameters)",
                           .net = mnist_net,
                           .x = image,
                           .y = model_label,
                           .loss = loss,
                           .optimizer = optimizer,
                           .batch = 128,
                           .epochs = 3,
                           .config = &model_mnist.own,
                           .classifies = true};
