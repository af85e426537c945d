/* Throughput with gradient accumulation: four micro-batches of 32 make one optimizer step; rates are of completed work
 * on the device, in windows of 100 steps. Periods carry their unit: --log_every_n_steps counts optimizer steps and is
 * always valid, --log_every_n_batches counts micro-batches and must be a multiple of the accumulation (try
 * --log_every_n_batches 6). */
#include <xtrain/xtrain.h>

/* x: [N,784] -> log-probabilities [N,10] */
static xt_tensor mlp(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 128));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
    xt_log("train/loss", loss, .prog_bar = XT_ON);
    return loss;
}

static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    return xt_sgd(net, .lr = 0.05, .momentum = 0.9);
}

int main(int argc, char **argv) {
    xt_task task = {.net = mlp, .training_step = training_step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .accumulate_grad_batches = 4, .log_every_n_steps = 10);
    xt_trainer_args(t, argc, argv);
    xt_trainer_add(t, xt_throughput_monitor(.window = 100));
    return xt_fit(t, &task, xt_mnist_loader("train", 32));
}
