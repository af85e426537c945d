/* The guide on training: a program whose settings come from the command line or a file. ./settings --help; ./settings
 * --config run.json --model.lr 0.1 */
#include <xtrain/xtrain.h>

static double lr;

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
    xt_log("train/loss", loss);
    return loss;
}
static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    return xt_adam(net, .lr = lr);
}
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_log_softmax(xt_linear(m, "fc", xt_flatten(x, 1), 10), -1);
}

int main(int argc, char **argv) {
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .limit_train_batches = 0.1, .max_time = "10min");
    xt_trainer_args(t, argc, argv);
    lr = xt_trainer_number(t, "model.lr", 0.01); /* --model.lr 0.1, or "model": {"lr": 0.1} in the file */
    int64_t batch = (int64_t)xt_trainer_number(t, "data.batch", 128);
    xt_task task = {.net = net, .training_step = training_step, .configure_optimizers = configure};
    return xt_fit(t, &task, xt_mnist_loader("train", batch));
}
