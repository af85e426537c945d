/* The MNIST network on real digits for 100 steps: writes the batches, the initial weights and the losses for
 * mnist_digits.py, which compiles and runs this. usage: mnist_digits DIR_WITH_IDX_FILES; writes x.bin, y.bin,
 * init.safetensors into the current folder, losses to stdout. */
#include <stdio.h>

#include <xtrain/xtrain.h>

enum { STEPS = 100, BATCH = 128, SAMPLES = 8960 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static void print(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)bytes, (void)dtype;
    printf("%.9g\n", *(const float *)data);
}

static void write_samples(xt_dataset *d) {
    static float x[28 * 28];
    int64_t y;
    FILE *fx = fopen("x.bin", "wb"), *fy = fopen("y.bin", "wb");
    for (int64_t i = 0; fx && fy && i < SAMPLES && !xt_dataset_get(d, i, x, &y); i++) {
        fwrite(x, sizeof x, 1, fx);
        fwrite(&y, sizeof y, 1, fy);
    }
    if (fx) fclose(fx);
    if (fy) fclose(fy);
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: mnist_digits DIR\n"), 2;
    xt_seed(1);
    xt_dataset *digits = xt_mnist_dataset(argv[1]);
    if (!digits) return xt_finish();
    write_samples(digits);
    xt_module *m = xt_module_new(net, NULL);
    if (xt_module_build(m, (xt_spec){XT_F32, {BATCH, 1, 28, 28}}) || xt_save(m, "init.safetensors")) return xt_finish();
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = xt_loader_new(digits, .batch = BATCH, .limit = SAMPLES / BATCH);
    for (int step = 0; step < STEPS;)
        for (xt_batch b; step < STEPS && xt_next(loader, &b); step++) {
            xt_tensor loss = xt_nll_loss(xt_forward(m, b.x), b.y);
            xt_backward(loss);
            xt_optimizer_step(sgd);
            xt_when_ready(loss, print, NULL);
        }
    return xt_finish();
}
