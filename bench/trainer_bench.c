/* What the Trainer costs over the plain loop.    trainer_bench [STEPS [ROUNDS]]
 * The MNIST step (batch 128, f32) in both, in turns: same network, same batches, same optimizer; the Trainer with its logs (CSV, TensorBoard, a row every 50
 * steps) and its lines of progress. Timed from the 20th batch to the completion of the last, so that compiling is not in it. Prints milliseconds a step of
 * each round, and the ratio of the medians and of the fastest rounds; on a loaded machine believe the latter. */
#include <stdio.h>
#include <stdlib.h>

#include "lazy/lazy.h"
#include "models/models.h"
#include <xtrain/xtrain.h>

enum { BATCH = 128, FIRST = 20, MOST = 64 };
static const model *mnist;
static model_options options;
static int64_t began_ns, ended_ns;

static void mute(xt_severity sev, const char *text, size_t n, void *user) {
    (void)user;
    if (sev == XT_SEV_ERROR) fwrite(text, 1, n, stderr);
}

static xt_loader *data(int64_t steps) {
    return xt_sample_loader(.batch = BATCH, .count = steps, .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
}

static double plain(int64_t steps) {
    xt_module *net = xt_module_new(mnist->net, &options);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = data(steps);
    for (xt_batch b; xt_next(loader, &b);) {
        if (b.index == FIRST) began_ns = clock_ns();
        xt_backward(mnist->loss(xt_forward(net, b.x), b.y));
        xt_optimizer_step(sgd);
    }
    lazy_drain();
    ended_ns = clock_ns();
    xt_loader_free(loader);
    xt_optimizer_free(sgd);
    xt_module_free(net);
    return (double)(ended_ns - began_ns) / 1e6 / (double)(steps - FIRST);
}

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    if (b.index == FIRST) began_ns = clock_ns();
    xt_tensor loss = mnist->loss(xt_forward(net, b.x), b.y);
    xt_log("train/loss", loss);
    return loss;
}
static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    return xt_sgd(net, .lr = 0.01, .momentum = 0.5);
}
static void train_end(xt_module *net, void *user) {
    (void)net;
    (void)user;
    ended_ns = clock_ns();
}

static double trainer(int64_t steps, const char *dir) {
    xt_module *net = xt_module_new(mnist->net, &options);
    xt_task task = {.module = net, .training_step = training_step, .configure_optimizers = configure, .on_train_end = train_end};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir);
    int code = xt_fit(t, &task, data(steps));
    xt_trainer_free(t);
    xt_module_free(net);
    return code ? 0 : (double)(ended_ns - began_ns) / 1e6 / (double)(steps - FIRST);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int64_t steps = argc > 1 ? atoll(argv[1]) : 400;
    int rounds = argc > 2 ? atoi(argv[2]) : 7;
    double loop[MOST], fit[MOST];
    char dir[] = "/tmp/xt_trainer_bench_XXXXXX", command[128], why[256];
    mnist = model_find("mnist");
    if (steps < 2 * FIRST || rounds < 1 || rounds > MOST || !mkdtemp(dir) || !model_settle(mnist, &options, why, sizeof why)) {
        fprintf(stderr, "trainer_bench [STEPS [ROUNDS]]: at least %d steps, 1 to %d rounds\n", 2 * FIRST, MOST);
        return 2;
    }
    setenv("XT_SUMMARY", "off", 1);
    xt_set_sink(mute, NULL);
    plain(2 * FIRST);
    trainer(2 * FIRST, dir); /* both compiled */
    for (int r = 0; r < rounds; r++) {
        loop[r] = plain(steps);
        fit[r] = trainer(steps, dir);
        printf("round %d: plain loop %.4f ms a step, Trainer %.4f ms, %+.2f %%\n", r + 1, loop[r], fit[r], 100 * (fit[r] / loop[r] - 1));
    }
    qsort(loop, (size_t)rounds, sizeof *loop, by_value);
    qsort(fit, (size_t)rounds, sizeof *fit, by_value);
    printf("medians %.4f and %.4f ms: %+.2f %%; fastest %.4f and %.4f ms: %+.2f %%\n", loop[rounds / 2], fit[rounds / 2], 100 * (fit[rounds / 2] / loop[rounds / 2] - 1), loop[0], fit[0],
           100 * (fit[0] / loop[0] - 1));
    snprintf(command, sizeof command, "rm -rf %s", dir);
    int code = xt_finish();
    return system(command) ? 1 : code;
}
