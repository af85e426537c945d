/* What tests/cli/ranks_options.py runs on two ranks: a Trainer whose options and callbacks come from the command line,
 * and on rank 1 one more, from OTHER ("--OPTION VALUE"). --model.with says what the network, the step and the
 * optimizers are of. */
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
enum { BATCH_NORM = 1, DROPOUT = 2, PLATEAU = 4, MANUAL = 8, METRICS = 16, EACH_STEP = 32 };
static float x[64][6];
static int64_t y[64];
static int with;
static xt_running *running;
static xt_optimizer *first, *second;
static xt_tensor net(xt_module *m, xt_tensor t, void *user) {
    (void)user;
    t = xt_linear(m, "in", t, 8);
    if (with & BATCH_NORM) t = xt_batch_norm(m, "bn", t);
    if (with & DROPOUT) t = xt_dropout(m, t, 0.3);
    return xt_linear(m, "out", xt_relu(t), 3);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
    xt_log("train/loss", loss, .on_step = XT_ON, .on_epoch = XT_ON, .sync_dist = XT_ON);
    if (with & METRICS) {
        xt_log_metric("accuracy", xt_accuracy(out, b.y), .on_epoch = XT_ON);
        xt_log("running", xt_running_mean(running, loss), .reduce = XT_LAST);
    }
    if (with & MANUAL) {
        xt_backward(loss);
        xt_optimizer_step(first);
        if (b.index % 2) xt_optimizer_step(second);
    }
    return loss;
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y), .sync_dist = XT_ON);
}
static int configure(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)max, (void)user;
    out[0] = first = xt_adamw(m, .lr = 0.02);
    if (with & MANUAL) {
        out[1] = second = xt_sgd(m, .lr = 0.02, .momentum = 0.9);
        xt_optimizer_group(first, "in.*", .frozen = XT_ON);
        xt_optimizer_group(second, "out.*", .frozen = XT_ON);
    }
    if (with & PLATEAU) xt_plateau_schedule(first, .monitor = "val/loss", .patience = 0);
    if (with & EACH_STEP) xt_exponential_schedule(first, .gamma = 0.9, .interval = XT_EACH_STEP);
    return with & MANUAL ? 2 : 1;
}
int main(int argc, char **argv) {
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 6; k++) x[i][k] = (float)((i * 7 + k * i * 3 + k) % 13) / 13;
        y[i] = i * 7 % 13 / 5;
    }
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .log_every_n_steps = 2, .loggers = "csv", .model_summary = XT_OFF);
    xt_trainer_args(t, argc, argv);
    char *other = xt_rank() == 1 ? getenv("OTHER") : NULL, *value = other ? strchr(other, ' ') : NULL;
    if (value) {
        *value = 0;
        xt_trainer_args(t, 3, (char *[]){argv[0], other, value + 1});
    }
    with = (int)xt_trainer_number(t, "model.with", 0);
    if (with & METRICS) running = xt_running_new(5);
    xt_task task = {.net = net,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .configure_several = configure,
                    .manual_optimization = with & MANUAL};
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {6}}, y, (xt_spec){XT_I64, {0}}, 50),
               *v = xt_array_dataset(x, (xt_spec){XT_F32, {6}}, y, (xt_spec){XT_I64, {0}}, 30);
    int rc = xt_fit(t, &task, xt_loader_new(d, .batch = 5, .shuffle = XT_ON), xt_loader_new(v, .batch = 7));
    return xt_finish() || rc;
}
