/* Fits on several ranks for tests/cli/ranks_train.sh: ranks_train MODE [trainer options]. Every rank prints one line:
 * what it ended with. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

#include "weights_sum.h"

static const char *mode;
static int n_args;
static char **args;
static bool is(const char *m) {
    return strcmp(mode, m) == 0;
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_linear(m, "fc1", x, 8);
    if (!is("plain")) x = xt_batch_norm(m, "bn", x);
    return xt_linear(m, "fc2", xt_relu(x), 3);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    /* data of this rank alone */
    if (is("spike") && (getenv("OFTEN") ? b.index % 2 == 1 && b.index > 4 : b.index == 12) && xt_rank() == 1)
        loss = xt_add(loss, xt_scalar(1000, XT_F32));
    else if (is("spike"))
        loss = xt_add(loss, xt_scalar(0, XT_F32));
    xt_log("train/loss", loss, .on_step = XT_ON, .on_epoch = XT_ON, .sync_dist = XT_ON);
    if (strncmp(mode, "options", 7) == 0) { /* "options-A": A alone */
        xt_tensor out = xt_sum(xt_square(xt_module_find(m, "fc1.weight")));
        const char *which = mode[7] ? mode + 8 : "ABC";
        if (strchr(which, 'A') && b.index % 2 == 1)
            xt_log("A", xt_add(loss, out), .on_epoch = XT_ON, .sync_dist = XT_ON);
        if (strchr(which, 'B') && b.index % 3 == 2)
            xt_log("B", out, .on_epoch = XT_ON, .reduce = XT_MAX, .sync_dist = XT_ON);
        if (strchr(which, 'C') && b.index % 5 == 4)
            xt_log_metric("C", xt_accuracy(xt_forward(m, b.x), b.y), .on_epoch = XT_ON, .sync_dist = XT_ON);
    }
    if (is("merge")) {
        xt_tensor mine = xt_scalar(1 + xt_rank(), XT_F32), at = xt_scalar((double)b.index + xt_rank(), XT_F32);
        xt_log("sum", mine, .on_step = XT_ON, .on_epoch = XT_ON, .reduce = XT_SUM, .sync_dist = XT_ON);
        xt_log("mean", mine, .on_step = XT_ON, .on_epoch = XT_ON, .sync_dist = XT_ON);
        xt_log("two", xt_scalar(2, XT_F32), .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_SUM, .sync_dist = XT_ON);
        xt_log("at", at, .on_step = XT_ON, .on_epoch = XT_ON, .sync_dist = XT_ON);
        xt_log("max", at, .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_MAX, .sync_dist = XT_ON);
        xt_log("min", at, .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_MIN, .sync_dist = XT_ON);
    }
    bool left_out = is("left_out") || (is("left_out_alone") && xt_rank() == 1);
    return left_out && b.index == 2 ? (xt_tensor){0} : loss;
}
/* Early stopping sees a value that only rank 1 makes worse: all stop together. */
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    xt_log("val/loss", is("early") ? xt_scalar(xt_rank() == 1 ? 1 : 1 / (1.0 + (double)b.epoch), XT_F32) : loss,
           .sync_dist = is("early") ? XT_OFF : XT_ON);
    xt_log_metric("val/acc", xt_accuracy(xt_forward(m, b.x), b.y), .sync_dist = XT_ON);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}
static xt_trainer *now;
static void batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m;
    (void)loss;
    (void)user;
    if (is("alone") && b->epoch == 1 && b->index == 3) {
        setenv("XT_TIMEOUT", "3", 1); /* not earlier: on a loaded machine ranks in no trouble are late too */
        xt_status s = xt_rank() == 0 ? xt_trainer_save(now, "alone.ckpt") : NULL;
        if (s) fprintf(stderr, "%s\n", xt_status_message(s));
        xt_status_free(s);
    }
    if (is("signal") && xt_rank() == 1 && b->epoch == 1 && b->index == 3) raise(SIGTERM);
}
static xt_loader *data(int64_t samples) {
    static float x[96][6];
    static int64_t y[96];
    for (int i = 0; i < 96; i++) {
        for (int k = 0; k < 6; k++) x[i][k] = (float)((i * 7 + k * 13) % 29) / 29.0f;
        y[i] = i % 3;
    }
    const char *batch = getenv("BATCH");
    return xt_loader_new(
        xt_array_dataset(x, (xt_spec){XT_F32, {6}}, y, (xt_spec){XT_I64, {0}}, is("spike") ? 96 : samples),
        .batch = is("spike") ? 2
                 : batch     ? atoi(batch)
                             : 4,
        .shuffle = is("order") ? XT_ON : XT_OFF);
}

static int train(int rank, void *arg) {
    (void)arg;
    xt_task task = {.net = net,
                    .training_step = train_step,
                    .validation_step = val_step,
                    .configure_optimizers = configure,
                    .on_train_batch_end = batch_end};
    xt_trainer *t = xt_trainer_new(.max_epochs = is("early") ? 9 : 2, .log_every_n_steps = 1, .loggers = "csv",
                                   .progress_bar = XT_OFF, .model_summary = XT_OFF, .seed = 5);
    xt_trainer_args(t, n_args, args);
    now = t;
    if (is("averages") || is("order")) xt_trainer_add(t, xt_weight_averaging(.decay = 0.9));
    if (is("swa"))
        xt_trainer_add(t, xt_weight_averaging(.swa = XT_ON, .start_epoch = 1, .swa_lr = 0.005, .anneal_epochs = 1));
    if (is("early")) xt_trainer_add(t, xt_early_stopping(.monitor = "val/loss", .patience = 2));
    if (is("spike")) xt_trainer_add(t, xt_spike_detection(.window = 4));
    if (getenv("KEEP"))
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = getenv("KEEP"), .every_n_steps = 3, .save_top_k = 1));
    int code = xt_fit(t, &task, data(48), is("swa") || is("spike") ? NULL : data(24));
    xt_module *m = xt_trainer_module(t);
    unsigned long long sum = weights_sum(code ? NULL : m, "running_"); /* without a rank's own statistics */
    if (!sum) return 1;
    printf("rank %d of %d: code %d, step %lld, epoch %lld, weights %016llx, loss %.7g\n", rank, xt_world_size(), code,
           (long long)xt_trainer_global_step(t), (long long)xt_trainer_epoch(t), sum,
           xt_trainer_metric(t, "train/loss_epoch", true));
    if (strncmp(mode, "options", 7) == 0)
        printf("rank %d: %lld programs\n", rank, (long long)xt_trainer_result(t).compiles);
    fflush(stdout);
    int finished = xt_finish();
    return code ? code : finished;
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "averages";
    args = argv + 1;
    n_args = argc - 1;
    return xt_launch(train, NULL);
}
