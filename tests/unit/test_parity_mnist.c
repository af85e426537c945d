/* The MNIST network follows PyTorch's loss for 100 steps, from the same weights and batches (tests/parity/mnist.py has
 * the formula that makes both).
 *
 * Rounding differs between convolution kernels, and where a window's two largest values or a ReLU's input tie within
 * it, gradients pass elsewhere and the runs drift apart, from a step on that the kernels decide. So the bound is
 * measured: the network is trained again from weights moved by their last bit, and PyTorch may be no further than a few
 * times what that makes by the same step. Until a tie comes that is less than 1e-5. */
#include "parity.h"

#define LEAST 1e-5 /* relative: rounding where no tie has come yet */
#define TIMES 4 /* what other kernels may differ by, in nudges of one bit: these round in every step, not only once */
/* the bound up to step EARLY is at most this: a wrong gradient or update leaves PyTorch there by more */
#define SHARP 2e-5
enum { NUDGES = 4, EARLY = 10, STEPS = 100, BATCH = 128, PIXELS = 784, KINDS = 20 };

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

/* nudge: each weight is moved by about the last of its 24 bits, as another order of sums would; 0: the weights
 * as they are. */
static void begin(xt_module *m, int nudge) {
    static const struct {
        const char *name;
        int64_t dims[4];
        int fan_in;
    } rows[] = {{"conv1.weight", {10, 1, 5, 5}, 25},   {"conv1.bias", {10}, 25},
                {"conv2.weight", {20, 10, 5, 5}, 250}, {"conv2.bias", {20}, 250},
                {"fc1.weight", {50, 320}, 320},        {"fc1.bias", {50}, 320},
                {"fc2.weight", {10, 50}, 50},          {"fc2.bias", {10}, 50}};
    static float v[50 * 320];
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        size_t rank = 0;
        while (rank < 4 && rows[k].dims[rank]) rank++;
        const ir_type *t = ir_tensor(XT_F32, rank, rows[k].dims);
        for (int64_t i = 0; i < t->count; i++) {
            v[i] = (2 * mixed((uint64_t)i, k) - 1) / (float)sqrt(rows[k].fan_in);
            if (nudge)
                v[i] *= mixed((uint64_t)i, 5000 + k + 100 * (uint64_t)nudge) < 0.5f ? 1 - 0x1p-23f : 1 + 0x1p-23f;
        }
        assert_null(nn_preload(m->root, rows[k].name, t, v));
    }
}

static void make_batch(int step, float *x, int64_t *labels) {
    memset(x, 0, BATCH * PIXELS * sizeof *x);
    for (int n = 0; n < BATCH; n++) {
        int kind = (int)(mixed((uint64_t)n, 2000 + (uint64_t)step) * (float)KINDS);
        labels[n] = kind % 10;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                x[n * PIXELS + (kind % 4 + 6 * i) * 28 + kind % 3 + 6 * j] =
                    mixed((uint64_t)(i * 5 + j), 1000 + (uint64_t)kind);
    }
}

static xt_module *train(int nudge, double got[STEPS]) {
    static float x[BATCH * PIXELS];
    int64_t labels[BATCH];
    xt_module *m = xt_module_new(net, NULL);
    begin(m, nudge);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01, .momentum = 0.5);
    xt_tensor losses[STEPS];
    for (int step = 0; step < STEPS; step++) {
        make_batch(step, x, labels);
        losses[step] = xt_keep(xt_nll_loss(xt_forward(m, xt_from_array(x, XT_F32, BATCH, 1, 28, 28)),
                                           xt_from_array(labels, XT_I64, BATCH)));
        xt_backward(losses[step]);
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) fail_msg("%s", xt_status_message(xt_error()));
    }
    for (int step = 0; step < STEPS; step++) {
        got[step] = xt_item(losses[step]);
        xt_drop(losses[step]);
    }
    return m;
}

/* How far the last bit of the weights moves the loss by each step: the most of NUDGES runs. */
static void measure_rounding(const double plain[STEPS], double nudged[NUDGES][STEPS], double moved[STEPS]) {
    double most = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int n = 0; n < NUDGES; n++) most = fmax(most, fabs(nudged[n][step] - plain[step]) / plain[step]);
        moved[step] = most;
    }
    for (int step = 0; step < STEPS; step += 9)
        print_message("the last bit moves the loss of step %d by %.2g\n", step, moved[step]);
    if (moved[EARLY] > SHARP / TIMES)
        fail_msg("the last bit of the weights moves the loss by %.2g in %d steps: this shows nothing", moved[EARLY],
                 EARLY);
}

static void follows_pytorch(void **state) {
    (void)state;
    parity_file *f = parity_open("mnist");
    const parity_tensor *want = parity_get(f, "mnist/losses");
    double got[STEPS], nudged[NUDGES][STEPS], moved[STEPS], worst = 0;
    for (int n = 0; n < NUDGES; n++) {
        train(n + 1, nudged[n]);
        assert_int_equal(xt_finish(), 0);
    }
    xt_module *m = train(0, got);
    measure_rounding(got, nudged, moved);
    for (int step = 0; step < STEPS; step++) {
        double w = parity_element(want, step), off = fabs(got[step] - w) / w, bound = fmax(LEAST, TIMES * moved[step]);
        worst = fmax(worst, off);
        if (!(off <= bound))
            fail_msg("step %d: loss %.8g, PyTorch has %.8g (relative difference %.2g, rounding explains %.2g)", step,
                     got[step], w, off, bound);
    }
    print_message("largest relative difference of a loss: %.2g\n", worst);
    double drift = TIMES * moved[STEPS - 1];
    parity_close(f, "mnist/bn1.running_mean", xt_module_find(m, "bn1.running_mean"), fmax(1e-4, drift), 0);
    parity_close(f, "mnist/bn2.running_var", xt_module_find(m, "bn2.running_var"), fmax(1e-3, drift), 0);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
