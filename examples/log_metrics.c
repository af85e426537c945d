/* Logging in training and validation with the Trainer. Logs, bar and checkpoints cost no compile: one program for
 * training, one for validation. Try --max_epochs 5, --precision bf16, --help; rows are in
 * runs/default/version_N/metrics.csv and TensorBoard's event file beside it. */
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

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(net, b.x), loss = xt_nll_loss(out, b.y);
    xt_log("train/loss", loss);
    xt_log_metric("train/acc", xt_accuracy(out, b.y));
    return loss;
}

static void validation_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(net, b.x);
    xt_log("val/loss", xt_nll_loss(out, b.y), .sync_dist = XT_ON, .prog_bar = XT_ON);
    /* what decides which checkpoints stay is that of all ranks */
    xt_log_metric("val/acc", xt_accuracy(out, b.y), .sync_dist = XT_ON);
}

static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    return xt_adamw(net, .lr = 1e-3);
}

int main(int argc, char **argv) {
    xt_task task = {.net = mnist_net,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .log_every_n_steps = 10);
    xt_trainer_args(t, argc, argv); /* --max_epochs 5 --precision bf16 ... */
    xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/acc", .mode = XT_MAX, .save_top_k = 2));
    return xt_fit(t, &task, xt_mnist_loader("train", 128), xt_mnist_loader("test", 512));
}
