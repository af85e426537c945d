/* A run for tests/examples/killed.sh: every optimizer step leaves a checkpoint, so it can be killed anywhere and go on.
 * Prints a hash of the final state. KILLED_MODE=all: windows of three micro-batches, two optimizers (one for each
 * layer), an average of the weights and spike detection. KILLED_RANKS=N: on N ranks. KILLED_WAITS: files are
 * written by the thread that trains. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

#include "weights_sum.h"

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_dropout(m, xt_relu(xt_batch_norm(m, "bn", xt_linear(m, "fc1", x, 16))), 0.25);
    return xt_linear(m, "fc2", x, 3);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
    xt_log("train/loss", loss, .on_step = XT_ON, .on_epoch = XT_ON);
    xt_log_metric("train/acc", xt_accuracy(out, b.y), .on_epoch = XT_ON);
    return loss;
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y));
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_adam(m, .lr = 0.01);
    xt_step_schedule(o, .step_size = 7, .gamma = 0.9);
    return o;
}
/* Each trains one layer and leaves the other alone. */
static int configure_two(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)user;
    if (max < 2) return 0;
    out[0] = xt_adam(m, .lr = 0.01);
    out[1] = xt_sgd(m, .lr = 0.05, .momentum = 0.9);
    xt_optimizer_group(out[0], "fc2.*", .frozen = XT_ON);
    xt_optimizer_group(out[1], "fc1.*", .frozen = XT_ON);
    xt_optimizer_group(out[1], "bn.*", .frozen = XT_ON);
    xt_step_schedule(out[0], .step_size = 7, .gamma = 0.9);
    return 2;
}
static xt_loader *data(int64_t samples, xt_switch shuffle) {
    static float x[192][6];
    static int64_t y[192];
    for (int i = 0; i < 192; i++) {
        for (int k = 0; k < 6; k++) x[i][k] = (float)((i * 7 + k * 13) % 29) / 29.0f;
        y[i] = i % 3;
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {6}}, y, (xt_spec){XT_I64, {0}}, samples), .batch = 8,
                         .shuffle = shuffle);
}

static int n_args;
static char **args;

static int train(int rank, void *arg) {
    const char *mode = getenv("KILLED_MODE");
    bool all = mode && strcmp(mode, "all") == 0;
    (void)arg;
    xt_task task = {.net = net, .training_step = train_step, .validation_step = val_step};
    if (all)
        task.configure_several = configure_two;
    else
        task.configure_optimizers = configure;
    xt_trainer *t = xt_trainer_new(.max_epochs = 25, .accumulate_grad_batches = all ? 3 : 2, .log_every_n_steps = 1,
                                   .val_every = "9steps", .loggers = "csv", .progress_bar = XT_OFF, .seed = 11);
    xt_trainer_args(t, n_args, args);
    if (all) xt_trainer_add(t, xt_weight_averaging(.decay = 0.95));
    if (all) xt_trainer_add(t, xt_spike_detection(.window = 8));
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = getenv("KILLED_DIR"), .every_n_steps = 1,
                                          .background = getenv("KILLED_WAITS") ? XT_OFF : XT_ON));
    int code = xt_fit(t, &task, data(192, XT_ON), data(64, XT_OFF));
    if (code) return code;
    xt_module *m = xt_trainer_module(t);
    unsigned long long sum = weights_sum(m, NULL);
    if (!sum) return 1;
    if (rank == 0) printf("weights %016llx\n", sum);
    fflush(stdout);
    return xt_finish();
}

int main(int argc, char **argv) {
    n_args = argc;
    args = argv;
    return getenv("KILLED_RANKS") ? xt_launch(train, NULL) : train(0, NULL);
}
