/* Trains the MNIST network on all devices: nothing but xt_launch is new. The loader shards, the optimizer step averages
 * the gradients. CPU_NUM_DEVICES=2 ./mnist_multi, xtrain launch -n 2 -- ./mnist_multi and mpirun -np 2 ./mnist_multi do
 * the same. ./mnist_multi BATCH STEPS (per rank) for experiments: 64 on two ranks trains as 128 on one. */
#include <stdlib.h>

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

static xt_module *net;
static xt_optimizer *sgd;

/* Recorded once, then only its program runs: a rank has one core for the recording as well. */
static xt_tensor training_step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    xt_tensor loss = xt_nll_loss(xt_forward(net, in[0]), in[1]);
    xt_backward(loss);
    xt_optimizer_step(sgd);
    return loss;
}

static int train(int rank, void *arg) {
    char **argv = arg;
    int64_t batch = argv[1] ? atoll(argv[1]) : 128,
            steps = argv[1] && argv[2] ? atoll(argv[2]) : 60000 / batch / xt_world_size();
    (void)rank;
    net = xt_module_new(mnist_net, NULL);
    sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = xt_sample_loader(.batch = batch, .count = steps, .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
    xt_step *step = xt_compile(training_step);
    for (xt_batch b; xt_next(loader, &b);) {
        xt_tensor loss = xt_call(step, b.x, b.y);
        if (b.index % 100 == 0 || b.index + 1 == steps)
            xt_master_printf("step %lld of %lld on %d ranks: loss %t\n", (long long)b.index, (long long)steps,
                             xt_world_size(), loss);
    }
    return xt_finish();
}

int main(int argc, char **argv) {
    (void)argc;
    return xt_launch(train, argv);
}
