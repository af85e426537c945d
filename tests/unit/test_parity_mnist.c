/* The MNIST network follows PyTorch's loss for 100 steps to 1e-4 relative, from the same weights and batches (tests/parity/mnist.py has the formula that
 * makes both). Rounding differs between convolution kernels and grows from step to step, hence the bound. */
#include "parity.h"

enum { STEPS = 100, BATCH = 128, PIXELS = 784, KINDS = 20 };

static float mixed(uint64_t i, uint64_t salt) {
    uint32_t h = (uint32_t)((i + 1) * 2654435761u + salt * 40503u);
    h = (h ^ h >> 15) * 2246822519u;
    h ^= h >> 13;
    return (float)(h >> 8) * 0x1p-24f;
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static void begin(xt_module *m) {
    static const struct {
        const char *name;
        int64_t dims[4];
        int fan_in;
    } rows[] = {{"conv1.weight", {10, 1, 5, 5}, 25}, {"conv1.bias", {10}, 25}, {"conv2.weight", {20, 10, 5, 5}, 250}, {"conv2.bias", {20}, 250},
                {"fc1.weight", {50, 320}, 320},      {"fc1.bias", {50}, 320},  {"fc2.weight", {10, 50}, 50},          {"fc2.bias", {10}, 50}};
    static float v[50 * 320];
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        size_t rank = 0;
        while (rank < 4 && rows[k].dims[rank]) rank++;
        const ir_type *t = ir_tensor(XT_F32, rank, rows[k].dims);
        for (int64_t i = 0; i < t->count; i++) v[i] = (2 * mixed((uint64_t)i, k) - 1) / (float)sqrt(rows[k].fan_in);
        assert_null(nn_preload(m, rows[k].name, t, v));
    }
}

static void make_batch(int step, float *x, int64_t *labels) {
    memset(x, 0, BATCH * PIXELS * sizeof *x);
    for (int n = 0; n < BATCH; n++) {
        int kind = (int)(mixed((uint64_t)n, 2000 + (uint64_t)step) * (float)KINDS);
        labels[n] = kind % 10;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                x[n * PIXELS + (kind % 4 + 6 * i) * 28 + kind % 3 + 6 * j] = mixed((uint64_t)(i * 5 + j), 1000 + (uint64_t)kind);
    }
}

static void follows_pytorch(void **state) {
    (void)state;
    parity_file *f = parity_open("mnist");
    const parity_tensor *want = parity_get(f, "mnist/losses");
    static float x[BATCH * PIXELS];
    int64_t labels[BATCH];
    xt_module *m = xt_module_new(net, NULL);
    begin(m);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01, .momentum = 0.5);
    xt_tensor losses[STEPS];
    for (int step = 0; step < STEPS; step++) {
        make_batch(step, x, labels);
        losses[step] = xt_keep(xt_nll_loss(xt_forward(m, xt_from_array(x, XT_F32, BATCH, 1, 28, 28)), xt_from_array(labels, XT_I64, BATCH)));
        xt_backward(losses[step]);
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) fail_msg("%s", xt_status_message(xt_error()));
    }
    double worst = 0;
    for (int step = 0; step < STEPS; step++) {
        double got = xt_item(losses[step]), w = parity_element(want, step), off = fabs(got - w) / w;
        worst = fmax(worst, off);
        if (!(off <= 1e-4)) fail_msg("step %d: loss %.8g, PyTorch has %.8g (relative difference %.2g)", step, got, w, off);
        xt_drop(losses[step]);
    }
    print_message("largest relative difference of a loss: %.2g\n", worst);
    parity_close(f, "mnist/bn1.running_mean", xt_module_find(m, "bn1.running_mean"), 1e-4, 0);
    parity_close(f, "mnist/bn2.running_var", xt_module_find(m, "bn2.running_var"), 1e-3, 0);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
